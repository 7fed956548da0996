// Guards whose speed the caller bounds: |h(t1) - h(t0)| <= bound (t1 - t0) along the trajectory.
// Between two points at which h is a and b, both before the guard, h stays below
// (a + b + bound (t1 - t0)) / 2 (Piyavskii 1972, Shubert 1972: search by a Lipschitz constant).
// Intervals for which this is more than the tolerance of the guard's label are halved, the earlier
// half first. So crossings are found in their order, however fast h oscillates.
//
// Cost: at a crossing at rate r about bound / r values of h for each halving; on a way on which h
// stays within the tolerance of 0, its length times bound / tolerance / 2.
#include <math.h>

#include "ess_run.h"

// Moves `low` on to the last point known to be before the first one at which sign s > level; that
// is `beyond`. false: there is none up to `high`, or as of sprag_ess_first_crossing.
static bool advance(sprag_ess_way *way, double sign, double level, sprag_ess_place *low,
                    sprag_ess_place high, sprag_ess_place *beyond)
{
    sprag_ess_place end[SPRAG_ESS_HALVINGS] = {high};
    int depth = 1;
    while (depth > 0 && !sprag_ess_is_stopped(way->run)) {
        sprag_ess_place to = end[depth - 1];
        double a = sign * low->s - level, b = sign * to.s - level, room = 2 * way->tolerance;
        double reach = way->most * (to.part - low->part), middle = (low->part + to.part) / 2;
        way->too_fast |= !(fabs(b - a) <= reach + way->tolerance);
        if (way->too_fast) {
            return false;
        }
        bool narrow = reach <= room || depth == SPRAG_ESS_HALVINGS ||
                      !(middle > low->part && middle < to.part);
        if (b > 0 && narrow) {
            *beyond = to;
            return true;
        }
        if (narrow || (b <= 0 && a + b + reach <= room)) {
            *low = to;
            depth--;
        } else {
            end[depth++] = (sprag_ess_place){middle, way->at(way->data, middle)};
        }
    }
    return false;
}

bool sprag_ess_first_crossing(sprag_ess_way *way, const double *s, int last, bool fresh,
                              sprag_ess_place *low, sprag_ess_place *beyond)
{
    *low = (sprag_ess_place){0, s[0]};
    for (int i = 1; i <= last; i++) {
        sprag_ess_place to = {(double)i / last, s[i]};
        if (fresh) { // it must first be seen before 0, by more than the tolerance
            fresh = low->s >= -way->tolerance && !advance(way, -1, way->tolerance, low, to, beyond);
            if (fresh) {
                continue;
            }
            *low = low->s < -way->tolerance ? *low : *beyond;
        }
        if (advance(way, 1, 0, low, to, beyond)) {
            return true;
        }
    }
    return false;
}

// ---- steps

int sprag_ess_add_bounded(sprag_ess_run *run, double length, int count)
{
    const sprag_guards *g = &run->guards;
    const double *bound = run->problem->rate_bound;
    int last = run->options->samples + 1, all = count;
    for (int i = 0; i < count; i++) {
        run->work.marked[run->samples.reached[i]] = true;
    }
    for (int k = 0; k < g->count; k++) {
        double edge = run->samples.to_edges ? g->eps[k] : 0, highest = -INFINITY;
        for (int i = 1; i <= last && g->sign[k] != 0; i++) {
            double s = g->sign[k] * (run->samples.h[i - 1][k] + run->samples.h[i][k]);
            highest = fmax(highest, s + bound[k] * length / last);
        }
        if (bound[k] < INFINITY && highest + 2 * edge > 0 && !run->work.marked[k]) {
            run->samples.reached[all++] = k;
        }
    }
    for (int i = 0; i < count; i++) {
        run->work.marked[run->samples.reached[i]] = false;
    }
    return all;
}

void sprag_ess_end_too_fast(sprag_ess_run *run, int guard)
{
    sprag_ess_end(run, SPRAG_ESS_BAD_VALUE, guard, "h[%d] changes faster than its rate_bound of %g",
                  guard, run->problem->rate_bound[guard]);
}

// ---- projections

typedef struct projected { // h of a guard along a projection
    sprag_ess_run *run;
    const sprag_ess_piece *piece;
    int guard;
    double side;
} projected;

static double along_projection(const void *data, double part)
{
    const projected *p = data;
    sprag_ess_path(p->piece, part * p->piece->length, p->run->work.point);
    return p->side * sprag_guards_value(&p->run->guards, p->run->work.point, p->guard);
}

// Whether the projection crosses a guard, or the one it leads to and back.
static bool crosses(sprag_ess_run *run, const sprag_ess_piece *piece, int guard)
{
    sprag_guards *g = &run->guards;
    projected p = {run, piece, guard, sprag_guards_side(g, guard)};
    sprag_ess_way way = {run,
                         along_projection,
                         &p,
                         run->problem->rate_bound[guard] * piece->length,
                         run->label_tolerance[guard],
                         false};
    if (!g->armed[guard] ||
        (!g->unseen[guard] && p.side * run->now.h[guard] + way.most <= way.tolerance)) {
        return false;
    }
    double s[2] = {along_projection(&p, 0), along_projection(&p, 1)};
    sprag_ess_place low, beyond, back, end = {1, s[1]};
    bool any = sprag_ess_first_crossing(&way, s, 1, g->unseen[guard], &low, &beyond);
    if (any && guard == run->group.candidate[0].guard) { // it is to end beyond
        any = advance(&way, -1, way.tolerance, &beyond, end, &back);
    }
    if (way.too_fast) {
        sprag_ess_end_too_fast(run, guard);
    }
    return any;
}

bool sprag_ess_is_clear(sprag_ess_run *run, const sprag_ess_piece *piece)
{
    const double *bound = run->problem->rate_bound;
    for (int k = 0; bound && k < run->guards.count && piece->length > 0; k++) {
        if (bound[k] < INFINITY && crosses(run, piece, k)) {
            run->stats->refused[SPRAG_ESS_NOT_FIRST]++;
            return false;
        }
    }
    return sprag_ess_is_running(run);
}
