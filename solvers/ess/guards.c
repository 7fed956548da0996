#include "ess_guards.h"

#include <float.h>
#include <math.h>

static const double not_watched = -1e300; // depth, units of h: no value is in the band

int sprag_guards_room(int guards)
{
    return (guards + SPRAG_SCAN_BLOCK - 1) / SPRAG_SCAN_BLOCK * SPRAG_SCAN_BLOCK;
}

// Sorts the entries of the reset matrix by the guard that is crossed: a counting sort.
static void sort_resets(sprag_guards *g)
{
    const sprag_ess_problem *p = g->problem;
    for (int i = 0; i < p->resets; i++) {
        g->reset_start[p->reset[i].crossed + 1]++;
    }
    for (int k = 0; k < g->count; k++) {
        g->reset_start[k + 1] += g->reset_start[k];
    }
    for (int i = p->resets; i-- > 0;) { // backwards: each start ends where its entries begin
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
                        .unseen = SPRAG_TAKE(scratch, m, bool),
                        .sign = SPRAG_TAKE(scratch, blocks, double),
                        .depth = SPRAG_TAKE(scratch, blocks, double),
                        .unseen_list = SPRAG_TAKE(scratch, m, int),
                        .unseen_place = SPRAG_TAKE(scratch, m, int),
                        .reset = SPRAG_TAKE(scratch, problem->resets, int),
                        .reset_start = SPRAG_TAKE(scratch, (size_t)m + 1, int),
                        .permanent = SPRAG_TAKE(scratch, m, bool),
                        .row.column = SPRAG_TAKE(scratch, entries ? entries : problem->states, int),
                        .row.value =
                            SPRAG_TAKE(scratch, entries ? entries : problem->states, double),
                        .point = SPRAG_TAKE(scratch, problem->states, double),
                        .passes = &stats->guard_passes,
                        .values = &stats->guard_values,
                        .rows = &stats->rows,
                        .row.bad = SPRAG_ESS_NO_GUARD};
    if (scratch->failed) {
        return false;
    }
    sort_resets(g);
    for (int k = m; k < blocks; k++) {
        g->depth[k] = not_watched;
    }
    for (int k = 0; k < m; k++) {
        g->permanent[k] = !problem->two_way || !problem->two_way[k];
    }
    for (int i = 0; i < problem->resets; i++) {
        g->permanent[problem->reset[i].guard] &= !problem->reset[i].arm;
    }
    for (int k = 0; k < m; k++) {
        g->any_permanent |= g->permanent[k];
    }
    return true;
}

static bool two_way(const sprag_ess_problem *problem, int guard)
{
    return problem->two_way && problem->two_way[guard];
}

static void watch(sprag_guards *g, int guard)
{
    bool on = g->armed[guard] && !g->unseen[guard];
    g->sign[guard] = on ? sprag_guards_side(g, guard) : 0;
    g->depth[guard] = on ? g->eps[guard] * SPRAG_GUARDS_EDGE * SPRAG_GUARDS_EDGE : not_watched;
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
    g->row.entries = 0;
    if (!p->row) {
        return 0;
    }
    int most = p->row_entries ? p->row_entries : p->states;
    int entries = p->row(p->user, x, guard, g->row.column, g->row.value);
    ++*g->rows;
    bool good = entries >= 0 && entries <= most;
    double sum = 0; // 0, or NAN if a value is not finite
    for (int i = 0; i < entries && good; i++) {
        good = (unsigned)g->row.column[i] < (unsigned)p->states;
        sum += g->row.value[i] - g->row.value[i];
    }
    if (!good || sum != 0) {
        g->row.bad = guard;
        return 0;
    }
    return g->row.entries = entries;
}

// A central difference along w; its step keeps half of the digits of x.
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
        rate += g->row.value[i] * w[g->row.column[i]];
    }
    return rate;
}

void sprag_guards_seen(sprag_guards *g, int guard)
{
    if (g->unseen[guard]) {
        int last = g->unseen_list[--g->unseen_count];
        g->unseen_list[g->unseen_place[guard]] = last;
        g->unseen_place[last] = g->unseen_place[guard];
        g->unseen[guard] = false;
    }
    watch(g, guard);
}

void sprag_guards_unseen(sprag_guards *g, int guard)
{
    if (!g->unseen[guard]) {
        g->unseen[guard] = true;
        g->unseen_place[guard] = g->unseen_count;
        g->unseen_list[g->unseen_count++] = guard;
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
        sprag_guards_seen(g, guard); // it is crossed from its other side from now on
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
