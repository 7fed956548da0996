#include "general_residual.h"

#include <float.h>
#include <math.h>

#include "chart.h"
#include "general_constants.h"
#include "vectors.h"

// Sums over one row, in parts that a compiler computes at once.
enum { LANES = 8 };

static double total(const double sum[LANES])
{
    double all = 0;
    for (int k = 0; k < LANES; k++) {
        all += sum[k];
    }
    return all;
}

// Sums of row x and row y.
SPRAG_VECTORS
static void products(const double *restrict row, const double *restrict x, const double *restrict y,
                     int n, double sums[2])
{
    double a[LANES] = {0}, b[LANES] = {0};
    int i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (int k = 0; k < LANES; k++) {
            a[k] += row[i + k] * x[i + k];
            b[k] += row[i + k] * y[i + k];
        }
    }
    for (; i < n; i++) {
        a[0] += row[i] * x[i];
        b[0] += row[i] * y[i];
    }
    sums[0] = total(a);
    sums[1] = total(b);
}

// Sums of row v and row row inverse; adds g row to sum. Reads the row once, as rows are long.
SPRAG_VECTORS
static void pass(const double *restrict row, const double *restrict v,
                 const double *restrict inverse, double g, double *restrict sum, int n, double *u,
                 double *w)
{
    double a[LANES] = {0}, b[LANES] = {0};
    int i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (int k = 0; k < LANES; k++) {
            double x = row[i + k];
            a[k] += x * v[i + k];
            b[k] += x * x * inverse[i + k];
            sum[i + k] += g * x;
        }
    }
    for (; i < n; i++) {
        a[0] += row[i] * v[i];
        b[0] += row[i] * row[i] * inverse[i];
        sum[i] += g * row[i];
    }
    *u = total(a);
    *w = total(b);
}

// The impulse g = dt k (1 - d u)(x - dt u) with u = free + w g, 0 where a factor is negative.
static double normal_balance(const sprag_general_problem *p, int c, double free, double w)
{
    double step = p->step, k = step * p->stiffness[c], d = p->dissipation[c];
    double a = 1 - d * free, b = p->penetration[c] - step * free;
    if (a <= 0 || b <= 0) {
        return 0;
    }
    double A = k * d * w * step * w, B = 1 + k * (d * w * b + step * w * a);
    return 2 * k * a * b / (B + sqrt(fmax(0, B * B - 4 * A * k * a * b)));
}

// m(rho) / rho and the derivative of m(rho) / rho * s by s.
static double friction_slope(const sprag_general_options *options, double s, double *derivative)
{
    double vs = options->stiction_tolerance, soft = options->relative_tolerance * vs;
    double rho = sqrt(s * s + soft * soft), inside = (2 - rho / vs) / vs;
    double ratio = rho < vs ? inside : 1 / rho;
    double fall = rho < vs ? 1 / (vs * vs * rho) : 1 / (rho * rho * rho);
    *derivative = ratio - fall * s * s;
    return ratio;
}

// The slip s at which s + w bound m(rho) / rho s = free: Newton's method between bounds.
static double slip_balance(const sprag_general_options *options, double free, double w,
                           double bound, double s)
{
    double low = 0, high = free;
    for (int it = 0; it < GENERAL_LOCAL_UPDATES; it++) {
        double derivative, ratio = friction_slope(options, s, &derivative);
        double error = s + w * bound * ratio * s - free;
        if (fabs(error) <= GENERAL_LOCAL_TOLERANCE * free) {
            break;
        }
        low = error < 0 ? s : low;
        high = error > 0 ? s : high;
        s -= error / (1 + w * bound * derivative);
        s = s > low && s < high ? s : low + (high - low) / 2;
    }
    return s;
}

static double normal_error(const sprag_general_problem *p, int c, double u, double w, double g)
{
    double wanted =
        p->normal_force ? p->step * p->normal_force[c] : normal_balance(p, c, u - w * g, w);
    return fabs(g - wanted) * sqrt(w);
}

static double friction_error(const sprag_general_problem *p, const sprag_general_options *options,
                             int c, const double u[2], double w, double normal, const double g[2])
{
    double bound = p->friction[c] * fmax(0, normal);
    double free[2] = {u[0] - w * g[0], u[1] - w * g[1]}, most = hypot(free[0], free[1]), unused;
    double s = slip_balance(options, most, w, bound, fmin(hypot(u[0], u[1]), most));
    double ratio = most > 0 ? bound * friction_slope(options, s, &unused) * s / most : 0;
    return hypot(g[0] + ratio * free[0], g[1] + ratio * free[1]) * sqrt(w);
}

// Adds the impulses of a contact to `sum` (nv). inverse: nv, 1 / diag(M).
static void measure_contact(const sprag_general_problem *p, const sprag_general_options *options,
                            const double *inverse, const sprag_general_solution *solution, int c,
                            double *sum, sprag_general_residual *r)
{
    double g[3] = {solution->normal_force[c], solution->friction_force[2 * c],
                   solution->friction_force[2 * c + 1]};
    double u[3], w[3];
    for (int k = 0; k < 3; k++) {
        g[k] *= p->step;
        pass(sprag_jacobian_row(p, c, k), solution->velocity, inverse, g[k], sum, p->velocities,
             &u[k], &w[k]);
    }
    double normal = normal_error(p, c, u[0], w[0], g[0]);
    double friction = friction_error(p, options, c, u + 1, fmax(w[1], w[2]), g[0], g + 1);
    r->normal = normal <= r->normal ? r->normal : normal; // a NaN stays
    r->friction = friction <= r->friction ? r->friction : friction;
}

sprag_general_residual sprag_general_measure(const sprag_general_problem *p,
                                             const sprag_general_options *options,
                                             const double *guess,
                                             const sprag_general_solution *solution, double *work)
{
    sprag_general_residual r = {0};
    int nv = p->velocities;
    double *impulse = work, *inverse = work + nv, all = 0, change = 0, contacts = 0, error = 0;
    for (int i = 0; i < nv; i++) {
        impulse[i] = 0;
        inverse[i] = 1 / p->mass[(size_t)i * (size_t)(nv + 1)];
    }
    for (int c = 0; c < p->contacts; c++) {
        measure_contact(p, options, inverse, solution, c, impulse, &r);
    }
    for (int i = 0; i < nv; i++) {
        double momentum = p->momentum[i], of[2];
        products(p->mass + (size_t)i * (size_t)nv, solution->velocity, guess, nv, of);
        double e = of[0] - momentum - impulse[i], moved = momentum - of[1];
        error += e * e * inverse[i];
        all += momentum * momentum * inverse[i];
        change += moved * moved * inverse[i];
        contacts += impulse[i] * impulse[i] * inverse[i];
    }
    double scale = fmax(sqrt(fmax(contacts, change)), GENERAL_CHANGE_LEAST * sqrt(all));
    scale = fmax(scale, DBL_MIN);
    r.momentum = sqrt(error) / scale;
    r.normal /= scale;
    r.friction /= scale;
    return r;
}

double sprag_general_error(const sprag_general_residual *r)
{
    double sum = r->momentum + r->normal + r->friction;
    return isfinite(sum) ? fmax(r->momentum, fmax(r->normal, r->friction)) : INFINITY;
}
