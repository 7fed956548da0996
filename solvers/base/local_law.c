#include "local_law.h"

#include <math.h>

static inline double larger(double a, double b)
{
    return a > b ? a : b;
}

static inline double smaller(double a, double b)
{
    return a < b ? a : b;
}

// The smaller root p of Hunt and Crossley's k (1 - d u)(x - h u) = p, u = free + w p.
static double spring(const sprag_softness *soft, const sprag_contact *contact, double free,
                     double w)
{
    double step = soft->step, d = contact->dissipation;
    double k = step * sprag_contact_stiffness(soft, contact, w);
    double a = 1 - d * free, b = -contact->gap - step * free;
    if (a <= 0 || b <= 0) {
        return 0;
    }
    double A = k * d * w * step * w, B = 1 + k * (d * w * b + step * w * a);
    return 2 * k * a * b / (B + sqrt(fmax(0, B * B - 4 * A * k * a * b)));
}

double sprag_local_normal(const sprag_softness *soft, const sprag_contact *contact, double free,
                          double w, double yield)
{
    if (contact->stiffness > 0) {
        return spring(soft, contact, free, w);
    }
    return larger(0, (contact->bias - free) / (w + yield));
}

bool sprag_local_is_cone(const sprag_friction *f)
{
    return f->slip[0] == f->slip[1] && f->force[0] == f->force[1] && !isinf(f->coefficient[0]) &&
           !isinf(f->coefficient[1]);
}

double sprag_local_normal_gap(const sprag_softness *soft, const sprag_contact *contact, double u,
                              double w, double yield, double p)
{
    double y = larger(yield, SPRAG_SOFT_LEAST * w), short_of = contact->bias - u;
    p = larger(0, p);
    if (contact->stiffness > 0) {
        double a = 1 - contact->dissipation * u, step = soft->step;
        y = 1 / (step * step * sprag_contact_stiffness(soft, contact, w));
        short_of = larger(0, a) * (-contact->gap / step - u);
    }
    return short_of > 0 ? (short_of - y * p) * (short_of - y * p) / (2 * y)
                        : p * (y * p / 2 - short_of);
}

// m/s, m/s per N s, N s: slips beyond what the axes yield, their yields, and what bounds them.
static void set_axes(const sprag_softness *soft, const sprag_friction *f,
                     const sprag_local_axes *of, const double *w, const double *u, const double *p,
                     double s[2], double yield[2], double bound[2])
{
    for (int k = 0; k < of->axes; k++) {
        int axis = of->first + k;
        double coefficient = smaller(f->coefficient[axis], 1e100);
        yield[k] = larger(f->slip[axis] / soft->step, soft->row * w[k]);
        bound[k] = isinf(f->coefficient[axis])
                       ? INFINITY
                       : coefficient * (f->force[axis] ? soft->step : of->normal);
        bound[k] = bound[k] > SPRAG_LEAST_FRICTION ? bound[k] : 0;
        yield[k] += of->stiction > 0 && bound[k] > 0 ? of->stiction / bound[k] : 0;
        s[k] = u[k] - f->velocity[axis] + yield[k] * p[k];
    }
}

double sprag_local_friction_gap(const sprag_softness *soft, const sprag_friction *f,
                                const sprag_local_axes *of, const double *w, const double *u,
                                const double *p, double yield)
{
    double s[2] = {0}, own[2], bound[2] = {0}, square = 0, sum = 0;
    const bool cone = sprag_local_is_cone(f);
    set_axes(soft, f, of, w, u, p, s, own, bound);
    for (int k = 0; k < of->axes; k++) {
        if (isinf(bound[k])) {
            sum += s[k] * s[k] / (2 * larger(yield, SPRAG_SOFT_LEAST * w[k]));
        } else {
            square += bound[k] * s[k] * bound[k] * s[k];
            sum += p[k] * s[k] + (cone ? 0 : bound[k] * fabs(s[k]));
        }
    }
    return larger(0, sum + (cone ? sqrt(square) : 0)); // rounding
}

void sprag_local_friction(const sprag_softness *soft, const sprag_friction *f,
                          const sprag_local_axes *of, const double *w, const double *u,
                          const double *p, double *wanted)
{
    double s[2] = {0}, yield[2], bound[2] = {0}, stiffest[2] = {0}, square = 0;
    bool cone = of->axes == 2 && sprag_local_is_cone(f);
    set_axes(soft, f, of, w, u, p, s, yield, bound);
    for (int k = 0; k < of->axes; k++) {
        double scale = cone ? smaller(f->coefficient[of->first + k], 1e100) : 1;
        stiffest[k] = scale * scale * (w[k] + yield[k] + of->coupling);
    }
    double most = larger(stiffest[0], stiffest[1]);
    for (int k = 0; k < of->axes; k++) {
        double scale = cone ? smaller(f->coefficient[of->first + k], 1e100) : 1;
        double rho = cone ? most : stiffest[k];
        wanted[k] = rho > 0 ? p[k] - scale * scale * s[k] / rho : 0;
        double share = bound[k] > 0 ? wanted[k] / bound[k] : 0;
        square += share * share;
    }
    double shrink = cone && square > 1 ? 1 / sqrt(square) : 1;
    for (int k = 0; k < of->axes; k++) {
        wanted[k] = smaller(larger(shrink * wanted[k], -bound[k]), bound[k]);
    }
}
