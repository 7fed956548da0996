#include "continuation.h"

#include <math.h>
#include <string.h>

#include "general_constants.h"
#include "laws.h"
#include "linalg.h"

// A direction of the path, of length 1: change of v and of t.
typedef struct direction {
    double *v; // size
    double t;
} direction;

typedef struct path {
    sprag_system *system;
    const sprag_newton_limits *limits;
    sprag_stats *stats;
    sprag_newton_state *state;
    double t;         // logarithm of the stiction tolerance (m/s) at state->v
    double wanted;    // m/s, the tolerance at the end of the path
    double tolerance; // momentum residual of a point of the path
    int most;         // factorisations in *stats at which it is given up
    double unit;      // sqrt(kg) m/s, length of a change of v that counts as much as 1 of t
    double *base;     // size: last point of the path
    double base_t;    // of it
    double *response; // size: dv/dt
    direction along, ahead;
} path;

static double dot(const path *p, const double *x, const double *y)
{
    double sum = 0;
    for (int i = 0; i < p->system->size; i++) {
        double weight = p->system->weight[i] * p->unit;
        sum += x[i] / weight * (y[i] / weight);
    }
    return sum;
}

static double cosine(const path *p, const direction *a, const direction *b)
{
    return dot(p, a->v, b->v) + a->t * b->t;
}

static double evaluate(path *p)
{
    sprag_system_place(p->system, p->state->v);
    return sprag_system_residual(p->system, p->state->v, exp(p->t), NULL);
}

static bool factor(path *p)
{
    if (p->stats->factorizations >= p->most) {
        return false;
    }
    p->stats->factorizations++;
    return sprag_system_factor(p->system, exp(p->t), NULL, false) == SPRAG_OK;
}

// response = dv/dt along the roots: -(dr/dv)^-1 dr/dt. Friction depends on slip / tolerance alone,
// so that its change with t is that of a slip that shrinks. The impulses are overwritten.
static void respond(path *p)
{
    sprag_system *system = p->system;
    for (int i = 0; i < system->points; i++) {
        const double *slip = system->slip[i];
        double G[6][6], *change = system->impulse[i];
        sprag_point_law(system, i, slip, exp(p->t), NULL, change, G);
        change[SPRAG_NORMAL] = 0;
        for (int k = SPRAG_SLIDE; k < SPRAG_ROLL; k++) {
            change[k] = G[k][SPRAG_SLIDE] * slip[SPRAG_SLIDE] +
                        G[k][SPRAG_SLIDE + 1] * slip[SPRAG_SLIDE + 1];
        }
    }
    system->space->gather(system, p->response);
    system->space->solve(system, false, p->response);
}

// The direction of the path through (v, t). Returns false if it has none.
static bool find_direction(path *p, direction *d)
{
    if (!isfinite(evaluate(p)) || !factor(p)) {
        return false;
    }
    respond(p);
    double length = sqrt(dot(p, p->response, p->response) + 1);
    d->t = -p->system->space->orientation(p->system) / length;
    for (int i = 0; i < p->system->size; i++) {
        d->v[i] = d->t * p->response[i];
    }
    return isfinite(length);
}

// Goes along one direction.
static void go(path *p, const direction *d, double stride)
{
    add_scaled(p->state->v, stride, d->v, p->system->size);
    p->t += stride * d->t;
}

static void go_back(path *p)
{
    memcpy(p->state->v, p->base, (size_t)p->system->size * sizeof *p->base);
    p->t = p->base_t;
}

// Newton's method to the path, at right angles to a direction. Returns the number of updates; -1 if
// it fails.
static int correct(path *p, const direction *d)
{
    sprag_system *system = p->system;
    double *dv = p->state->dv, first = evaluate(p), residual = first;
    for (int updates = 0; isfinite(residual); updates++) {
        if (residual <= p->tolerance) {
            return updates;
        }
        bool grows = updates > 1 && residual > 2 * first;
        if (updates == GENERAL_CORRECTIONS || grows || !factor(p)) {
            break;
        }
        sprag_system_update(system, dv);
        respond(p);
        double dt = -dot(p, d->v, dv) / (d->t + dot(p, d->v, p->response));
        add_scaled(dv, dt, p->response, system->size);
        p->t += dt;
        sprag_system_change(system, dv);
        sprag_system_move(system, p->state->v, 1, dv);
        residual = sprag_system_residual(system, p->state->v, exp(p->t), NULL);
        p->stats->convergence = residual;
        sprag_system_log(system, exp(p->t), p->stats);
    }
    return -1;
}

// Newton's method at one stiction tolerance. Only iterates of the wanted one may be the best.
static sprag_result newton(path *p, double stiction, int most, int patience)
{
    sprag_newton_limits limits = *p->limits;
    int left = p->most - p->stats->factorizations;
    limits.iterations = most < left ? most : left;
    limits.patience = patience;
    double *best = p->state->best;
    p->state->best = stiction == p->wanted ? best : NULL;
    sprag_system_place(p->system, p->state->v);
    p->stats->convergence = sprag_system_residual(p->system, p->state->v, stiction, NULL);
    sprag_result result = sprag_newton(p->system, &limits, stiction, p->state, p->stats);
    p->state->best = best;
    return result;
}

static double fastest_slip(const sprag_system *system)
{
    double most = 0;
    for (int i = 0; i < system->points; i++) {
        const double *slip = system->slip[i];
        most = fmax(most, hypot(slip[SPRAG_SLIDE], slip[SPRAG_SLIDE + 1]));
    }
    return most;
}

// Solves the problem with a large stiction tolerance, and sets t and the unit of length. Friction
// of 1e100 m/s is none; that problem is convex.
static bool begin(path *p)
{
    sprag_system *system = p->system;
    bool convex = system->convex;
    memcpy(p->state->v, system->free, (size_t)system->size * sizeof *p->state->v);
    sprag_system_place(system, system->free);
    double fastest = fmax(p->wanted, fastest_slip(system));
    system->convex = true;
    newton(p, 1e100, GENERAL_FIRST_UPDATES, GENERAL_NEWTON_PATIENCE);
    system->convex = convex;
    p->t = log(GENERAL_SOFTEST * fmax(fastest, fastest_slip(system)));
    if (newton(p, exp(p->t), GENERAL_FIRST_UPDATES, GENERAL_NEWTON_PATIENCE) != SPRAG_OK) {
        return false;
    }
    for (int i = 0; i < system->size; i++) {
        p->base[i] = p->state->v[i] - system->free[i];
    }
    p->unit = 1;
    p->unit = fmax(sqrt(dot(p, p->base, p->base)) + system->momentum, p->wanted);
    return isfinite(p->unit);
}

typedef enum stride_result { ARRIVED, ADVANCED, FAILED } stride_result;

// The rest of a stride, from where its direction leads. Sets the length of the next one.
static stride_result finish_stride(path *p, const direction *d, double *stride)
{
    int updates = correct(p, d);
    if (updates >= 0) {
        *stride *= updates <= GENERAL_EASY ? GENERAL_GROWTH : GENERAL_SLOW_GROWTH;
    }
    return updates >= 0 ? ADVANCED : FAILED;
}

// One stride from the last point of the path.
static stride_result try_stride(path *p, double *stride)
{
    double reach = (log(p->wanted) - p->base_t) / p->along.t;
    if (p->along.t < 0 && reach <= *stride) {
        *stride = reach;
        go(p, &p->along, reach);
        return newton(p, p->wanted, GENERAL_LAST_UPDATES, GENERAL_LAST_PATIENCE) == SPRAG_OK
                   ? ARRIVED
                   : FAILED;
    }
    go(p, &p->along, *stride);
    return finish_stride(p, &p->along, stride);
}

// The same where a stride of this length has failed. Behind a kink the path has another direction:
// then the stride goes as far in that one, after the first has led past the kink.
static stride_result try_kink(path *p, double *stride)
{
    go(p, &p->along, *stride);
    if (find_direction(p, &p->ahead) && cosine(p, &p->along, &p->ahead) < GENERAL_KINK) {
        go(p, &p->ahead, *stride);
        return finish_stride(p, &p->ahead, stride);
    }
    go_back(p);
    return try_stride(p, stride);
}

// Makes one stride, shorter and shorter until it succeeds.
static stride_result advance(path *p, double *stride)
{
    memcpy(p->base, p->state->v, (size_t)p->system->size * sizeof *p->base);
    p->base_t = p->t;
    if (!find_direction(p, &p->along)) {
        return FAILED;
    }
    stride_result result = try_stride(p, stride);
    while (result == FAILED && *stride > GENERAL_STRIDE_LEAST &&
           p->stats->factorizations < p->most) {
        *stride *= GENERAL_SHRINK;
        go_back(p);
        result = try_kink(p, stride);
    }
    return result;
}

static bool follow(path *p)
{
    stride_result result = begin(p) ? ADVANCED : FAILED;
    double stride = GENERAL_STRIDE, lost = p->t + GENERAL_LOST;
    while (result == ADVANCED && p->t < lost) {
        result = advance(p, &stride);
    }
    return result == ARRIVED;
}

sprag_result sprag_continuation(sprag_system *system, const sprag_newton_limits *limits,
                                double stiction, sprag_newton_state *state, sprag_stats *stats)
{
    path p = {.system = system,
              .limits = limits,
              .stats = stats,
              .state = state,
              .wanted = stiction,
              .tolerance = GENERAL_PATH_TOLERANCE,
              .base = SPRAG_TAKE(system->scratch, system->size, double),
              .response = SPRAG_TAKE(system->scratch, system->size, double),
              .along.v = SPRAG_TAKE(system->scratch, system->size, double),
              .ahead.v = SPRAG_TAKE(system->scratch, system->size, double)};
    if (system->scratch->failed) {
        return SPRAG_NO_MEMORY;
    }
    bool arrived = false;
    while (!arrived && stats->factorizations < limits->iterations) {
        int left = limits->iterations - stats->factorizations, share = left / GENERAL_SHARE;
        p.most = stats->factorizations + (share > GENERAL_SHARE_LEAST ? share : left);
        arrived = follow(&p);
        p.tolerance = fmax(p.tolerance * GENERAL_CARE, limits->tolerance);
    }
    return arrived ? SPRAG_OK : SPRAG_NOT_CONVERGED;
}
