// Rebound of springs with force k x (1 + d v), v the speed of approach: in units of the speed of
// impact v0, with D = d v0,
//
//     v dv / (1 + D v) = -k x dx / m
//
// An impact at v = 1 ends at v = -e for the D with log((1 + D) / (1 - D e)) = D (1 + e).
#include "compliant_run.h"

#include <math.h>

#include "compliant_constants.h"

double compliant_dissipation_number(double e)
{
    double lo = 0, hi = fmin(COMPLIANT_DISSIPATION_MAX, 1 / e);
    for (int i = 0; i < 60 && e < 1; i++) {
        double middle = (lo + hi) / 2, left = 1 - e * middle;
        *(log((1 + middle) / left) < middle * (1 + e) ? &lo : &hi) = middle;
    }
    return e < 1 ? lo : 0;
}

// Integral of v / (1 + D v) from 0 to v; by its series where D v is small.
static double energy(double D, double v)
{
    double z = D * v;
    return fabs(z) < 1e-2 ? v * v * (1.0 / 2 - z / 3 + z * z / 4 - z * z * z / 5)
                          : v / D - log1p(z) / (D * D);
}

// A constant push a changes the equation to v dv = (a - x (1 + D v)) dx, in units of the impact. To
// first order the restitution falls by a times
//
//     (1 - D e) / e  integral of -v / (x (1 + D v)^2) dv, from -e to 1
//
// by the midpoint rule in the angle of v = middle + reach sin(angle).
static double restitution_loss(double D, double e)
{
    enum { POINTS = 32 };
    double middle = (1 - e) / 2, reach = (1 + e) / 2, sum = 0, all = energy(D, 1);
    for (int i = 0; i < POINTS; i++) {
        double angle = acos(-1) * ((i + 0.5) / POINTS - 0.5), v = middle + reach * sin(angle);
        double x = sqrt(fmax(1e-300, 2 * (all - energy(D, v)))), left = 1 + D * v;
        sum -= v * reach * cos(angle) / (x * left * left);
    }
    return (1 - D * e) / e * sum * acos(-1) / POINTS;
}

double compliant_pushed_dissipation_number(double e, double push)
{
    const double least = COMPLIANT_PUSH_RESTITUTION_MIN, most = COMPLIANT_PUSH_MAX;
    double aim = e, number = compliant_dissipation_number(e);
    push = fmin(fmax(push, -most), most);
    for (int i = 0; i < 3 && e >= least && e < 1 && push != 0; i++) {
        aim = fmin(fmax(e + push * restitution_loss(number, aim), least), 1);
        number = compliant_dissipation_number(aim);
    }
    return number;
}
