// Resets of the state: the flow reaches guard h at x- and goes on from x+ = R(x-). A direction v
// reaches the guard later by dt = -Dh v / (Dh f-), so behind it is
//
//     v+ = DR (v + dt f-) - dt f+
//
// the saltation matrix DR + (f+ - DR f-) Dh / (Dh f-) (Burden, Sastry, Koditschek, Revzen: SIAM J.
// Appl. Dyn. Syst. 15, 2016, section 7.3; Leine, Nijmeijer: Dynamics and Bifurcations of Non-Smooth
// Mechanical Systems, 2004, equation 7.65).
#include <math.h>
#include <string.h>

#include "ess_run.h"

// v = DR v at x: by the problem's tangent, or by a central difference.
static void map_tangent(sprag_ess_run *run, const double *x, int guard, double *v)
{
    const sprag_ess_problem *p = run->problem;
    int n = run->states;
    double *near = run->work.shifted, *at = near + n;
    if (p->reset_tangent) {
        p->reset_tangent(p->user, x, run->guards.label, guard, v, near);
        memcpy(v, near, (size_t)n * sizeof *v);
        return;
    }
    double step = sprag_ess_difference(x, v, n);
    for (int s = 1; s >= -1; s -= 2) {
        for (int i = 0; i < n; i++) {
            near[i] = x[i] + s * step * v[i];
        }
        p->reset_map(p->user, near, run->guards.label, guard, s > 0 ? run->work.full : at);
    }
    for (int i = 0; i < n; i++) {
        v[i] = (run->work.full[i] - at[i]) / (2 * step);
    }
}

bool sprag_ess_has_map(const sprag_ess_run *run, int guard)
{
    const sprag_ess_problem *p = run->problem;
    return p->reset_map && (!p->is_mapped || p->is_mapped[guard]);
}

void sprag_ess_cross_and_map(sprag_ess_run *run, int guard)
{
    const sprag_ess_problem *p = run->problem;
    sprag_guards *g = &run->guards;
    int n = run->states;
    double *x = run->work.middle, *f = run->work.error, *after = run->next.y;
    memcpy(x, after, (size_t)n * sizeof *x);
    p->field(p->user, x, g->label, f);
    run->stats->field_values++;
    double rate = run->directions > 0 ? sprag_guards_rate(g, x, guard, f) : NAN;
    if (rate == 0) {
        sprag_ess_end(run, SPRAG_ESS_NOT_LIVE, guard, "guard %d: the field does not lead to it",
                      guard);
        return;
    }
    for (int d = 0; d < run->directions; d++) {
        double *v = after + (size_t)n * (size_t)(1 + d);
        double delay = -sprag_guards_rate(g, x, guard, v) / rate;
        run->work.delay[d] = delay;
        for (int i = 0; i < n; i++) {
            v[i] += delay * f[i];
        }
        map_tangent(run, x, guard, v);
    }
    p->reset_map(p->user, x, g->label, guard, after);
    for (int i = 0; i < n; i++) {
        if (!isfinite(after[i])) {
            sprag_ess_end(run, SPRAG_ESS_BAD_VALUE, guard, "reset_map of guard %d: x[%d] is %g",
                          guard, i, after[i]);
            memcpy(after, x, (size_t)n * sizeof *x);
            return;
        }
    }
    sprag_guards_cross(g, guard);
    sprag_ess_value(run, after, run->next.f);
    for (int d = 0; d < run->directions; d++) {
        for (int i = 0; i < n; i++) {
            after[n * (1 + d) + i] -= run->work.delay[d] * run->next.f[i];
        }
    }
    run->corner.guards = 0;
    run->before.since = 0; // h jumps: its change tells no rate
    sprag_ess_scan_at(run, after, 0);
}
