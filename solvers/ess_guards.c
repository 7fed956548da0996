#include "solvers/ess_guards.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "solvers/vectors.h"

enum { BLOCK = 16 };                      // of guards that are scanned at once
static const double NOT_WATCHED = -1e300; // how far they are from their bands

int sprag_guards_room(int guards)
{
    return (guards + BLOCK - 1) / BLOCK * BLOCK;
}

// By which crossing: the entries of the reset matrix, counting sort.
static void sort_resets(sprag_guards *g)
{
    const sprag_ess_problem *p = g->problem;
    for (int i = 0; i < p->resets; i++) {
        g->reset_start[p->reset[i].crossed + 1]++;
    }
    for (int k = 0; k < g->count; k++) {
        g->reset_start[k + 1] += g->reset_start[k];
    }
    for (int i = p->resets; i-- > 0;) { // from behind, so that starts end where they began
        g->reset[--g->reset_start[p->reset[i].crossed + 1]] = i;
    }
    for (int k = 0; k < g->count; k++) {
        g->reset_start[k] = g->reset_start[k + 1];
    }
    g->reset_start[g->count] = p->resets;
}

bool sprag_guards_take(sprag_guards *g, const sprag_ess_problem *problem, double *label,
                       const double *eps, sprag_ess_stats *stats, sprag_scratch *scratch)
{
    int m = problem->guards, blocks = sprag_guards_room(m),
        entries = problem->row ? problem->row_entries : 0;
    *g = (sprag_guards){.problem = problem,
                        .count = m,
                        .label = label,
                        .eps = eps,
                        .armed = SPRAG_TAKE(scratch, m, bool),
                        .fresh = SPRAG_TAKE(scratch, m, bool),
                        .sign = SPRAG_TAKE(scratch, blocks, double),
                        .depth = SPRAG_TAKE(scratch, blocks, double),
                        .list = SPRAG_TAKE(scratch, m, int),
                        .place = SPRAG_TAKE(scratch, m, int),
                        .reset = SPRAG_TAKE(scratch, problem->resets, int),
                        .reset_start = SPRAG_TAKE(scratch, (size_t)m + 1, int),
                        .final = SPRAG_TAKE(scratch, m, bool),
                        .column = SPRAG_TAKE(scratch, entries ? entries : problem->states, int),
                        .value = SPRAG_TAKE(scratch, entries ? entries : problem->states, double),
                        .point = SPRAG_TAKE(scratch, problem->states, double),
                        .passes = &stats->guard_passes,
                        .values = &stats->guard_values,
                        .rows = &stats->rows,
                        .bad_row = SPRAG_ESS_NO_GUARD};
    if (scratch->failed) {
        return false;
    }
    sort_resets(g);
    for (int k = m; k < blocks; k++) {
        g->depth[k] = NOT_WATCHED;
    }
    for (int k = 0; k < m; k++) {
        g->final[k] = !problem->two_way || !problem->two_way[k];
    }
    for (int i = 0; i < problem->resets; i++) {
        g->final[problem->reset[i].guard] &= !problem->reset[i].arm;
    }
    for (int k = 0; k < m; k++) {
        g->any_final |= g->final[k];
    }
    return true;
}

static bool two_way(const sprag_ess_problem *problem, int guard)
{
    return problem->two_way && problem->two_way[guard];
}

double sprag_guards_side(const sprag_guards *g, int guard)
{
    return two_way(g->problem, guard) && g->label[guard] != 0 ? -1 : 1;
}

static void watch(sprag_guards *g, int guard)
{
    bool on = g->armed[guard] && !g->fresh[guard];
    g->sign[guard] = on ? sprag_guards_side(g, guard) : 0;
    g->depth[guard] = on ? g->eps[guard] * SPRAG_GUARDS_EDGE * SPRAG_GUARDS_EDGE : NOT_WATCHED;
}

void sprag_guards_arm_all(sprag_guards *g)
{
    for (int k = 0; k < g->count; k++) {
        g->armed[k] = two_way(g->problem, k) || g->label[k] == 0;
        watch(g, k);
    }
}

void sprag_guards_values(sprag_guards *g, const double *x, double *h)
{
    if (g->count > 0) {
        g->problem->guard(g->problem->user, x, NULL, g->count, h);
        ++*g->passes;
    }
}

double sprag_guards_value(sprag_guards *g, const double *x, int guard)
{
    double h = NAN;
    g->problem->guard(g->problem->user, x, &guard, 1, &h);
    ++*g->values;
    return h;
}

int sprag_guards_row(sprag_guards *g, const double *x, int guard)
{
    const sprag_ess_problem *p = g->problem;
    g->entries = 0;
    if (!p->row) {
        return 0;
    }
    int most = p->row_entries ? p->row_entries : p->states;
    int entries = p->row(p->user, x, guard, g->column, g->value);
    ++*g->rows;
    bool good = entries >= 0 && entries <= most;
    for (int i = 0; good && i < entries; i++) {
        good = g->column[i] >= 0 && g->column[i] < p->states && isfinite(g->value[i]);
    }
    if (!good) {
        g->bad_row = guard;
        return 0;
    }
    return g->entries = entries;
}

// Central, along w; its step leaves half of the digits of x to the difference.
static double rate_by_difference(sprag_guards *g, const double *x, int guard, const double *w)
{
    int n = g->problem->states;
    double wide = 0, far = 1;
    for (int i = 0; i < n; i++) {
        wide = fmax(wide, fabs(w[i]));
        far = fmax(far, fabs(x[i]));
    }
    if (wide == 0) {
        return 0;
    }
    double step = cbrt(DBL_EPSILON) * far / wide, h[2];
    for (int s = 0; s < 2; s++) {
        for (int i = 0; i < n; i++) {
            g->point[i] = x[i] + (s ? -step : step) * w[i];
        }
        h[s] = sprag_guards_value(g, g->point, guard);
    }
    return (h[0] - h[1]) / (2 * step);
}

double sprag_guards_rate(sprag_guards *g, const double *x, int guard, const double *w)
{
    if (!g->problem->row) {
        return rate_by_difference(g, x, guard, w);
    }
    int entries = sprag_guards_row(g, x, guard);
    double rate = 0;
    for (int i = 0; i < entries; i++) {
        rate += g->value[i] * w[g->column[i]];
    }
    return rate;
}

void sprag_guards_seen(sprag_guards *g, int guard)
{
    if (g->fresh[guard]) {
        int last = g->list[--g->listed];
        g->list[g->place[guard]] = last;
        g->place[last] = g->place[guard];
        g->fresh[guard] = false;
    }
    watch(g, guard);
}

void sprag_guards_unseen(sprag_guards *g, int guard)
{
    if (!g->fresh[guard]) {
        g->fresh[guard] = true;
        g->place[guard] = g->listed;
        g->list[g->listed++] = guard;
        watch(g, guard);
    }
}

void sprag_guards_relabel(const sprag_guards *g, int guard, double *label)
{
    label[guard] = two_way(g->problem, guard) ? 1 - label[guard] : 1;
    for (int i = g->reset_start[guard]; i < g->reset_start[guard + 1]; i++) {
        const sprag_ess_reset *reset = &g->problem->reset[g->reset[i]];
        if (reset->arm && !two_way(g->problem, reset->guard)) {
            label[reset->guard] = 0;
        }
    }
}

static void disarm(sprag_guards *g, int guard)
{
    g->armed[guard] = false;
    sprag_guards_seen(g, guard);
}

static void arm(sprag_guards *g, int guard)
{
    g->armed[guard] = true;
    sprag_guards_unseen(g, guard);
}

void sprag_guards_cross(sprag_guards *g, int guard)
{
    sprag_guards_relabel(g, guard, g->label);
    if (two_way(g->problem, guard)) {
        sprag_guards_seen(g, guard); // from its other side from now on
        arm(g, guard);
    } else {
        disarm(g, guard);
    }
    for (int i = g->reset_start[guard]; i < g->reset_start[guard + 1]; i++) {
        const sprag_ess_reset *reset = &g->problem->reset[g->reset[i]];
        if (reset->arm) {
            arm(g, reset->guard);
        } else {
            disarm(g, reset->guard);
        }
    }
}

// ---- the scan: of all guards after every step, so written for the compiler to vectorise

typedef union block {
    double value[BLOCK];
    uint64_t bits[BLOCK];
} block;

// 0, or what is more, or NAN.
static inline double above(double value)
{
    return value + fabs(value);
}

static inline bool any(const block *above)
{
    uint64_t bits = 0; // a sum would have to be in order
    for (int i = 0; i < BLOCK; i++) {
        bits |= above->bits[i];
    }
    return bits != 0;
}

static inline int list_block(const block *above, int first, int *found)
{
    bool any_of = any(above);
    int count = 0;
    for (int i = 0; any_of && i < BLOCK; i++) {
        found[count] = first + i; // there is room for one more
        count += above->bits[i] != 0;
    }
    return count;
}

// Guards that are left out, lane by lane: as numbers, which any processor has vectors of.
typedef struct tally {
    double left[BLOCK], receding[BLOCK];
} tally;

static void add_up(const tally *t, sprag_scan *scan)
{
    double left = 0, receding = 0;
    for (int i = 0; i < BLOCK; i++) {
        left += t->left[i];
        receding += t->receding[i];
    }
    scan->receding = (long)receding;
    scan->far = (long)(left - receding);
}

// Of a block: guards in their bands that are beyond, or will be in `soon` times what led from
// `before` to here; the others are counted.
static inline void list_near(const double *restrict sign, const double *restrict depth,
                             const double *restrict before, const double *restrict here, int first,
                             sprag_scan *scan, tally *restrict t)
{
    block near;
    double all = scan->soon < INFINITY ? 0 : INFINITY, soon = all > 0 ? 0 : scan->soon;
    for (int i = 0; i < BLOCK; i++) {
        double s = sign[i] * here[i], gain = s - sign[i] * before[i], ahead = soon * gain;
        double in_band = above(s + depth[i]), reach = above(s + (ahead > all ? ahead : all));
        near.value[i] = in_band < reach ? in_band : reach;
        double left = in_band > 0 ? 1 : 0, recedes = gain > 0 ? 0 : 1;
        left = reach > 0 ? 0 : left;
        t->left[i] += left;
        t->receding[i] += left * recedes;
    }
    scan->nears += list_block(&near, first, scan->near + scan->nears);
}

// By how much h may get beyond the guard on its way: its highest value, extended by a quarter of
// the second difference, twice what a parabola reaches between. Then by how much beyond the near
// edge of its band.
SPRAG_VECTORS
static void scan_way(const double *restrict sign, const double *restrict depth,
                     const double *restrict start, const double *restrict middle,
                     const double *restrict end, int count, sprag_scan *scan)
{
    tally t = {0};
    for (int first = 0; first < count; first += BLOCK) {
        block reached, beyond;
        for (int i = 0; i < BLOCK; i++) {
            int k = first + i;
            double s0 = sign[k] * start[k], s1 = sign[k] * middle[k], s2 = sign[k] * end[k];
            double ends = s0 > s2 ? s0 : s2, bend = fabs(start[k] + end[k] - 2 * middle[k]);
            double most = (ends > s1 ? ends : s1) + 0.25 * bend;
            reached.value[i] = above(most);
            beyond.value[i] = above(most + depth[k]);
        }
        if (any(&beyond)) {
            scan->reaches +=
                list_block(scan->edges ? &beyond : &reached, first, scan->reached + scan->reaches);
            list_near(sign + first, depth + first, start + first, end + first, first, scan, &t);
        }
    }
    add_up(&t, scan);
}

SPRAG_VECTORS
static void scan_point(const double *restrict sign, const double *restrict depth,
                       const double *restrict before, const double *restrict here, int count,
                       sprag_scan *scan)
{
    tally t = {0};
    for (int first = 0; first < count; first += BLOCK) {
        block beyond;
        for (int i = 0; i < BLOCK; i++) {
            beyond.value[i] = above(sign[first + i] * here[first + i] + depth[first + i]);
        }
        if (any(&beyond)) {
            list_near(sign + first, depth + first, before + first, here + first, first, scan, &t);
        }
    }
    add_up(&t, scan);
}

void sprag_guards_scan(const sprag_guards *g, const double *start, const double *middle,
                       const double *end, sprag_scan *scan)
{
    scan->nears = scan->reaches = 0;
    if (middle) {
        scan_way(g->sign, g->depth, start, middle, end, g->count, scan);
    } else {
        scan_point(g->sign, g->depth, start, end, g->count, scan);
    }
}
