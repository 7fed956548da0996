#include "limiter.h"

#include <math.h>

static double length(double x, double y)
{
    return sqrt(x * x + y * y);
}

// The alpha at which v + alpha dv has turned by theta, by the sine rule in the triangle of v and
// dv.
static double turn_limit(const double v[2], const double dv[2], double theta)
{
    double cross = fabs(v[0] * dv[1] - v[1] * dv[0]);
    double along = v[0] * dv[0] + v[1] * dv[1];
    double square = v[0] * v[0] + v[1] * v[1];
    double turned = cross * cos(theta) - along * sin(theta);
    double alpha = turned > 0 ? square * sin(theta) / turned : 1;
    return fmin(1, alpha);
}

double sprag_limit_slip(const double v[2], const double dv[2], double tolerance, double small,
                        double theta)
{
    double end[2] = {v[0] + dv[0], v[1] + dv[1]};
    double change = length(dv[0], dv[1]);
    double x = length(v[0], v[1]) / tolerance, x1 = length(end[0], end[1]) / tolerance;
    if (change < small * tolerance) {
        return 1;
    }
    if (x < small && x1 > 1) { // from rest to sliding: stop first where the law is steep
        return tolerance / (2 * change);
    }
    if (x > 1 && x1 < small) { // from sliding to rest, likewise
        return 1 - tolerance / (2 * change);
    }
    if (x < 1 || x1 < 1) {
        return 1;
    }
    double nearest = -(v[0] * dv[0] + v[1] * dv[1]) / (change * change);
    if (nearest > 0 && nearest < 1) {
        double miss = length(v[0] + nearest * dv[0], v[1] + nearest * dv[1]) / tolerance;
        if (miss < small) {
            return nearest - tolerance / (2 * change);
        }
        if (miss < 1) {
            return nearest;
        }
    }
    double cosine = (v[0] * end[0] + v[1] * end[1]) / (x * x1 * tolerance * tolerance);
    return cosine > cos(theta) ? 1 : turn_limit(v, dv, theta);
}
