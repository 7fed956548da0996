#include "interior_point.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "laws.h"
#include "linalg.h"
#include "stribeck_constants.h"

// A complementary pair: the distance of an impulse (N s) from its bound and the speed (m/s) away
// from it. Both are >= 0 and at the solution one of them is 0.
typedef struct couple {
    double impulse, speed;
    double impulse_change, speed_change;
} couple;

// Friction along the axes of a cone, in the metric of its shape: impulses p, |p| <= most, and
// slip = -(yield + slide) p, where slide is complementary to `left_of`.
typedef struct disc {
    double p[2], change[2]; // N s
    double most;            // N s; INFINITY: a bond
    double yield;           // m/s per N s
    double slide, slide_change;
    double ease[3]; // -d p / d slip: 0 0, 0 1, 1 1
} disc;

typedef struct interior_point {
    sprag_system *system;
    double speed;   // m/s, scale of what the step changes
    double energy;  // J, likewise
    double product; // J, that each starts with
    double target;  // J, that they go to
    int products;
    couple *normal;    // points
    double *slope;     // points: -d impulse / d slip of the normal
    disc *disc;        // cones
    couple (*stop)[2]; // equations: lower, upper
    double *row;       // equations: impulse
} interior_point;

static bool is_idle(const sprag_point *point)
{
    return !(point->inverse_mass > 0); // both bodies are immovable
}

static bool has_stop(const sprag_equation *equation, int upper)
{
    return isfinite(upper ? equation->hi : equation->lo);
}

static bool is_fixed(const sprag_equation *equation)
{
    return !(equation->hi > equation->lo) || !(equation->inverse_mass > 0);
}

// ---- friction

static double left_of(const disc *d)
{
    return 0.5 * (d->most * d->most - d->p[0] * d->p[0] - d->p[1] * d->p[1]);
}

static double along(const disc *d)
{
    return d->p[0] * d->change[0] + d->p[1] * d->change[1];
}

static double square(const disc *d)
{
    return d->change[0] * d->change[0] + d->change[1] * d->change[1];
}

// Target of slide * left, less the second-order terms of the last update.
static double aim_of(const interior_point *c, const disc *d)
{
    return c->target + d->slide_change * along(d) + 0.5 * d->slide * square(d);
}

static void linearise_disc(disc *d)
{
    double s = d->yield + d->slide, turn = isinf(d->most) ? 0 : d->slide / left_of(d);
    double x = d->p[0], y = d->p[1], inverse = 1 / (s * (s + turn * (x * x + y * y)));
    d->ease[0] = (s + turn * y * y) * inverse;
    d->ease[1] = -turn * x * y * inverse;
    d->ease[2] = (s + turn * x * x) * inverse;
}

static void ask_disc(const interior_point *c, const disc *d, const sprag_cone *cone,
                     const double *slip, double *asked)
{
    double back = isinf(d->most) ? 0 : aim_of(c, d) / left_of(d), r[2] = {0, 0};
    for (int k = 0; k < cone->axes; k++) {
        r[k] = cone->shape[k] * slip[cone->first + k] + (d->yield + back) * d->p[k];
    }
    for (int k = 0; k < cone->axes; k++) {
        asked[cone->first + k] = -cone->shape[k] * (d->ease[k] * r[0] + d->ease[k + 1] * r[1]);
    }
}

static void change_disc(const interior_point *c, disc *d, const sprag_cone *cone,
                        const double *asked, const double *slip_change)
{
    double aim = isinf(d->most) ? 0 : aim_of(c, d), u[2] = {0, 0};
    for (int k = 0; k < cone->axes; k++) {
        u[k] = cone->shape[k] * slip_change[cone->first + k];
    }
    for (int k = 0; k < cone->axes; k++) {
        d->change[k] =
            asked[cone->first + k] / cone->shape[k] - (d->ease[k] * u[0] + d->ease[k + 1] * u[1]);
    }
    if (!isinf(d->most)) {
        d->slide_change = (aim + d->slide * along(d)) / left_of(d) - d->slide;
    }
}

// ---- all laws, linear in the changes

// Target of the speed: the product less the second-order terms of the last update, per impulse.
static double target_speed(const interior_point *c, const couple *s)
{
    return (c->target - s->impulse_change * s->speed_change) / s->impulse;
}

static void change_couple(const interior_point *c, couple *s, double impulse_change)
{
    double aim = target_speed(c, s);
    s->impulse_change = impulse_change;
    s->speed_change = aim - s->speed - s->speed / s->impulse * impulse_change;
}

static double row_slope(const interior_point *c, int i)
{
    const sprag_equation *equation = &c->system->equation[i];
    double yield = equation->yield;
    for (int k = 0; k < 2; k++) {
        yield += has_stop(equation, k) ? c->stop[i][k].speed / c->stop[i][k].impulse : 0;
    }
    return is_fixed(equation) ? 0 : 1 / yield;
}

static sprag_result factor(interior_point *c)
{
    sprag_system *system = c->system;
    sprag_result result = system->space->begin(system, true);
    if (result != SPRAG_OK) {
        return result;
    }
    for (int i = 0; i < system->points; i++) {
        const sprag_point *point = &system->point[i];
        const couple *n = &c->normal[i];
        double G[6][6] = {{0}};
        if (is_idle(point)) {
            continue;
        }
        c->slope[i] = G[0][0] = n->impulse / (n->speed + point->yield * n->impulse);
        for (int j = point->cone; j < point->cone + point->cones; j++) {
            const sprag_cone *cone = &system->cone[j];
            int first = cone->first;
            linearise_disc(&c->disc[j]);
            for (int a = 0; a < cone->axes; a++) {
                for (int b = 0; b < cone->axes; b++) {
                    G[first + a][first + b] =
                        cone->shape[a] * cone->shape[b] * c->disc[j].ease[a + b];
                }
            }
        }
        system->space->add_point(system, i, (const double(*)[6])G, true);
    }
    for (int i = 0; i < system->equations; i++) {
        system->space->add_equation(system, i, row_slope(c, i), true);
    }
    return system->space->factor(system, true);
}

// Writes the changes of the impulses that the linearised laws give at the present speeds to the
// impulses of the system.
static void ask(interior_point *c)
{
    sprag_system *system = c->system;
    for (int i = 0; i < system->points; i++) {
        const sprag_point *point = &system->point[i];
        const couple *n = &c->normal[i];
        double *asked = system->impulse[i], *slip = system->slip[i];
        if (is_idle(point)) {
            continue;
        }
        asked[0] = -c->slope[i] * (slip[0] + point->yield * n->impulse - target_speed(c, n));
        for (int j = point->cone; j < point->cone + point->cones; j++) {
            ask_disc(c, &c->disc[j], &system->cone[j], slip, asked);
        }
    }
    for (int i = 0; i < system->equations; i++) {
        const sprag_equation *equation = &system->equation[i];
        double off = system->rate[i] + equation->yield * c->row[i];
        for (int k = 0; k < 2 && !is_fixed(equation); k++) {
            off += !has_stop(equation, k) ? 0 : (k ? 1 : -1) * target_speed(c, &c->stop[i][k]);
        }
        system->row_impulse[i] = -row_slope(c, i) * off;
    }
}

// The update that takes the products to their target.
static void update(interior_point *c, double *dv)
{
    sprag_system *system = c->system;
    ask(c);
    system->space->gather(system, dv);
    add_scaled(dv, -1, system->residual, system->size);
    system->space->solve(system, true, dv);
    memset(system->slip_change, 0, (size_t)system->points * sizeof *system->slip_change);
    memset(system->rate_change, 0, (size_t)system->equations * sizeof *system->rate_change);
    system->space->velocities(system, dv, system->slip_change, system->rate_change);
    for (int i = 0; i < system->points; i++) {
        const sprag_point *point = &system->point[i];
        const double *asked = system->impulse[i], *du = system->slip_change[i];
        if (is_idle(point)) {
            continue;
        }
        change_couple(c, &c->normal[i], asked[0] - c->slope[i] * du[0]);
        for (int j = point->cone; j < point->cone + point->cones; j++) {
            change_disc(c, &c->disc[j], &system->cone[j], asked, du);
        }
    }
    for (int i = 0; i < system->equations; i++) {
        double change = system->row_impulse[i] - row_slope(c, i) * system->rate_change[i];
        for (int k = 0; k < 2; k++) {
            if (has_stop(&system->equation[i], k) && !is_fixed(&system->equation[i])) {
                change_couple(c, &c->stop[i][k], k ? -change : change);
            }
        }
        system->row_impulse[i] = change;
    }
}

// ---- along an update

static double until_zero(double x, double change, double most)
{
    return x + most * change < 0 ? -x / change : most;
}

static double until_edge(const disc *d, double most)
{
    double a = square(d), b = along(d), left = 2 * left_of(d);
    if (a * most * most + 2 * b * most <= left) {
        return most;
    }
    double root = sqrt(b * b + a * left);
    return b > 0 ? left / (b + root) : (root - b) / a;
}

static double couple_limit(const couple *s, double most)
{
    return until_zero(s->speed, s->speed_change, until_zero(s->impulse, s->impulse_change, most));
}

// Returns the share of the update, at most 1, at which the first quantity reaches its bound.
static double longest(const interior_point *c)
{
    const sprag_system *system = c->system;
    double most = 1;
    for (int i = 0; i < system->points; i++) {
        const sprag_point *point = &system->point[i];
        most = couple_limit(&c->normal[i], most);
        for (int j = point->cone; j < point->cone + point->cones && !is_idle(point); j++) {
            const disc *d = &c->disc[j];
            most =
                isinf(d->most) ? most : until_zero(d->slide, d->slide_change, until_edge(d, most));
        }
    }
    for (int i = 0; i < system->equations; i++) {
        most = couple_limit(&c->stop[i][1], couple_limit(&c->stop[i][0], most));
    }
    return most;
}

static double couple_after(const couple *s, double part)
{
    return (s->impulse + part * s->impulse_change) * (s->speed + part * s->speed_change);
}

// Returns the sum of the products after a share of the update, J.
static double products_after(const interior_point *c, double part)
{
    const sprag_system *system = c->system;
    double sum = 0;
    for (int i = 0; i < system->points; i++) {
        const sprag_point *point = &system->point[i];
        sum += couple_after(&c->normal[i], part);
        for (int j = point->cone; j < point->cone + point->cones && !is_idle(point); j++) {
            const disc *d = &c->disc[j];
            double left = left_of(d) - part * along(d) - 0.5 * part * part * square(d);
            sum += isinf(d->most) ? 0 : (d->slide + part * d->slide_change) * left;
        }
    }
    for (int i = 0; i < system->equations; i++) {
        sum += couple_after(&c->stop[i][0], part) + couple_after(&c->stop[i][1], part);
    }
    return sum;
}

static void go_couple(couple *s, double part)
{
    s->impulse += part * s->impulse_change;
    s->speed += part * s->speed_change;
    s->impulse_change = s->speed_change = 0;
}

static void go(interior_point *c, double part, double *v, const double *dv)
{
    sprag_system *system = c->system;
    sprag_system_move(system, v, part, dv);
    for (int i = 0; i < system->points; i++) {
        go_couple(&c->normal[i], part);
    }
    for (int j = 0; j < system->cones; j++) {
        disc *d = &c->disc[j];
        for (int k = 0; k < 2; k++) {
            d->p[k] += part * d->change[k];
            d->change[k] = 0;
        }
        d->slide += part * d->slide_change;
        d->slide_change = 0;
    }
    for (int i = 0; i < system->equations; i++) {
        c->row[i] += part * system->row_impulse[i];
        go_couple(&c->stop[i][0], part);
        go_couple(&c->stop[i][1], part);
    }
}

// ---- start and end

// Sets the impulses of the system and returns the momentum balance, scaled as in
// sprag_system_residual.
static double balance(const interior_point *c, const double *v)
{
    sprag_system *system = c->system;
    double *r = system->residual, *change = system->work;
    memset(system->impulse, 0, (size_t)system->points * sizeof *system->impulse);
    for (int i = 0; i < system->points; i++) {
        const sprag_point *point = &system->point[i];
        system->impulse[i][SPRAG_NORMAL] = c->normal[i].impulse;
        for (int j = point->cone; j < point->cone + point->cones; j++) {
            const sprag_cone *cone = &system->cone[j];
            for (int k = 0; k < cone->axes; k++) {
                system->impulse[i][cone->first + k] = cone->shape[k] * c->disc[j].p[k];
            }
        }
    }
    if (system->equations) {
        memcpy(system->row_impulse, c->row, (size_t)system->equations * sizeof *c->row);
    }
    system->space->gather(system, r);
    double scale = fmax(fmax(system->momentum, sprag_system_weighed(system, r)), DBL_MIN);
    for (int i = 0; i < system->size; i++) {
        change[i] = v[i] - system->free[i];
    }
    system->space->momentum(system, change, system->momentum_change);
    for (int i = 0; i < system->size; i++) {
        r[i] = system->momentum_change[i] - r[i];
    }
    return sprag_system_weighed(system, r) / scale;
}

// The start is far inside all bounds and all its products are equal: from there the updates lead
// straight to the solution.
static void start_point(interior_point *c, int i, double bound, double stiction)
{
    const sprag_point *point = &c->system->point[i];
    double some = c->speed / point->inverse_mass; // N s
    c->normal[i].impulse = fmax(bound, STRIBECK_INTERIOR_START * some);
    c->normal[i].speed = c->product / c->normal[i].impulse;
    c->products++;
    for (int j = point->cone; j < point->cone + point->cones; j++) {
        const sprag_cone *cone = &c->system->cone[j];
        disc *d = &c->disc[j];
        if (isinf(cone->coefficient)) {
            *d = (disc){.most = INFINITY, .yield = cone->slip_yield};
            continue;
        }
        d->most = cone->coefficient *
                  (cone->force ? c->system->step : bound + STRIBECK_INTERIOR_LEAST_BOUND * some);
        d->yield =
            sprag_friction_yield(cone->slip_yield, sprag_cone_tolerance(cone, stiction), d->most);
        d->slide = c->product / left_of(d);
        c->products++;
    }
}

static void start_row(interior_point *c, int i)
{
    const sprag_equation *equation = &c->system->equation[i];
    double lo = equation->lo, hi = equation->hi;
    double room = fmin(c->speed / fmax(equation->inverse_mass, DBL_MIN),
                       STRIBECK_INTERIOR_ROW_ROOM * (hi - lo));
    c->row[i] = is_fixed(equation) ? lo : clamp(equation->guess, lo + room, hi - room);
    for (int k = 0; k < 2 && !is_fixed(equation); k++) {
        if (has_stop(equation, k)) {
            double impulse = k ? hi - c->row[i] : c->row[i] - lo;
            c->stop[i][k] = (couple){.impulse = impulse, .speed = c->product / impulse};
            c->products++;
        }
    }
}

// Sets the scales of speed and energy: from the change by forces in the step, or, without forces,
// from the speeds at contacts and rows.
static void set_scale(interior_point *c)
{
    const sprag_system *system = c->system;
    double mass = 0, lightest = 0, fastest = 0; // kg, 1/kg, m/s
    for (int i = 0; i < system->size; i++) {
        mass += 1 / (system->weight[i] * system->weight[i]);
    }
    for (int i = 0; i < system->points; i++) {
        lightest = fmax(lightest, system->point[i].inverse_mass);
        fastest = fmax(fastest, -system->slip[i][SPRAG_NORMAL]);
    }
    for (int i = 0; i < system->equations; i++) {
        const sprag_equation *equation = &system->equation[i];
        double rate = system->rate[i];
        lightest = fmax(lightest, equation->inverse_mass);
        fastest = fmax(fastest, fmax(equation->hi > 0 ? -rate : 0, equation->lo < 0 ? rate : 0));
    }
    c->speed = system->momentum / sqrt(mass);
    c->speed = c->speed > 0 ? c->speed : fastest;
    c->energy = mass * c->speed * c->speed;
    c->product = STRIBECK_INTERIOR_START * c->speed * c->speed / fmax(lightest, DBL_MIN);
}

static sprag_result start(interior_point *c, const double *bound, double stiction, const double *v)
{
    sprag_system *system = c->system;
    sprag_scratch *scratch = system->scratch;
    c->normal = SPRAG_TAKE(scratch, system->points, couple);
    c->slope = SPRAG_TAKE(scratch, system->points, double);
    c->disc = SPRAG_TAKE(scratch, system->cones, disc);
    c->stop = SPRAG_TAKE(scratch, system->equations, couple[2]);
    c->row = SPRAG_TAKE(scratch, system->equations, double);
    if (scratch->failed) {
        return SPRAG_NO_MEMORY;
    }
    sprag_system_place(system, v);
    set_scale(c);
    for (int i = 0; i < system->points; i++) {
        if (system->point[i].law != SPRAG_SPRING) {
            return SPRAG_NOT_CONVERGED;
        }
        if (!is_idle(&system->point[i])) {
            start_point(c, i, bound[i], stiction);
        }
    }
    for (int i = 0; i < system->equations; i++) {
        start_row(c, i);
    }
    return c->speed > 0 ? SPRAG_OK : SPRAG_NOT_CONVERGED;
}

sprag_result sprag_interior_point_solve(sprag_system *system, const double *bound, double stiction,
                                        int iterations, double *v, double *dv, sprag_stats *stats)
{
    interior_point c = {.system = system};
    sprag_result result = start(&c, bound, stiction, v);
    for (int it = 0; result == SPRAG_OK; it++) {
        stats->convergence = balance(&c, v);
        double sum = products_after(&c, 0);
        if (stats->convergence <= STRIBECK_INTERIOR_RESIDUAL &&
            sum <= STRIBECK_INTERIOR_GAP * c.energy) {
            return SPRAG_OK;
        }
        if (it >= iterations || !isfinite(sum + stats->convergence)) {
            return SPRAG_NOT_CONVERGED;
        }
        result = factor(&c);
        stats->factorizations++;
        if (result != SPRAG_OK) {
            break;
        }
        c.target = 0;
        update(&c, dv);
        double left = sum > 0 ? products_after(&c, longest(&c)) / sum : 0;
        c.target = c.products > 0 ? fmin(1, left * left * left) * sum / c.products : 0;
        update(&c, dv);
        go(&c, fmin(1, STRIBECK_INTERIOR_BACK * longest(&c)), v, dv);
        sprag_system_log(system, stiction, stats);
    }
    return result;
}
