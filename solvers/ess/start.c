// The start of an integration: memory, labels that are not given, the first step.
#include <float.h>
#include <math.h>
#include <string.h>

#include "ess_constants.h"
#include "ess_run.h"

// Room for the events that are resolved together; fewer if there are many states.
static int group_room(const sprag_ess_problem *p)
{
    int room = SPRAG_ESS_GROUP_DOUBLES / p->states;
    room = room > SPRAG_ESS_GROUP         ? SPRAG_ESS_GROUP
           : room < SPRAG_ESS_GROUP_LEAST ? SPRAG_ESS_GROUP_LEAST
                                          : room;
    return room > p->guards ? p->guards : room;
}

static void take_group(sprag_ess_run *run, sprag_scratch *scratch)
{
    const sprag_ess_problem *p = run->problem;
    // Kinks move the crossings of guards whose bounds were searched without them, and there are no
    // kinks behind a reset of the state.
    bool many = p->jump && run->directions == 0 && !p->rate_bound && !p->reset_map;
    int room = many ? group_room(p) : 1;
    run->group.row_room = (size_t)(p->row_entries ? p->row_entries : p->states);
    run->group.target = SPRAG_ESS_GROUP_FIRST;
    run->group.room = room > 1 ? room : 1;
    size_t group = (size_t)run->group.room, n = (size_t)run->states;
    run->queue.entry = SPRAG_TAKE(scratch, p->guards, sprag_ess_pending);
    run->queue.bracket = SPRAG_TAKE(scratch, group, sprag_ess_bracket);
    run->group.candidate = SPRAG_TAKE(scratch, group, sprag_ess_candidate);
    run->group.waiting = SPRAG_TAKE(scratch, group, int);
    run->group.active = SPRAG_TAKE(scratch, group, sprag_ess_moved);
    run->group.crossed = SPRAG_TAKE(scratch, group, sprag_ess_moved);
    run->group.kink_time = SPRAG_TAKE(scratch, group, double);
    if (group > 1) {
        run->group.column = SPRAG_TAKE_RAW(scratch, group * run->group.row_room, int);
        run->group.value = SPRAG_TAKE_RAW(scratch, group * run->group.row_room, double);
        run->group.largest = SPRAG_TAKE(scratch, n, double);
        run->group.kink = SPRAG_TAKE_RAW(scratch, group * 2 * n, double);
    }
}

bool sprag_ess_take(sprag_ess_run *run, double *label, sprag_scratch *scratch)
{
    const sprag_ess_problem *p = run->problem;
    int m = p->guards;
    size_t size = (size_t)run->size;
    sprag_ess_set_field(run);
    double **vector[] = {&run->now.y,       &run->now.f,      &run->next.y,
                         &run->next.f,      &run->work.error, &run->work.point,
                         &run->work.middle, &run->work.bend,  &run->work.full};
    for (size_t i = 0; i < sizeof vector / sizeof *vector; i++) {
        *vector[i] = SPRAG_TAKE_RAW(scratch, size, double);
    }
    run->work.shifted = SPRAG_TAKE_RAW(scratch, 2 * (size_t)run->states, double);
    run->work.delay = SPRAG_TAKE(scratch, run->directions, double);
    run->work.smooth = SPRAG_TAKE_RAW(scratch, run->smooth->room(run->size), double);
    int blocks = sprag_guards_room(m);
    run->now.h = SPRAG_TAKE(scratch, blocks, double);
    run->before.h = SPRAG_TAKE(scratch, blocks, double);
    run->next.h = SPRAG_TAKE(scratch, blocks, double);
    for (int i = 1; i <= run->options->samples; i++) {
        run->samples.h[i] = SPRAG_TAKE(scratch, blocks, double);
    }
    run->now.scan.due = SPRAG_TAKE(scratch, (size_t)m + 1, int);
    run->next.scan.due = SPRAG_TAKE(scratch, (size_t)m + 1, int);
    run->samples.reached = SPRAG_TAKE(scratch, 2 * (size_t)m + 1, int);
    run->work.marked = SPRAG_TAKE(scratch, m, bool);
    run->group.label = SPRAG_TAKE(scratch, m, double);
    run->zeno.since = SPRAG_TAKE(scratch, m, double);
    run->zeno.count = SPRAG_TAKE(scratch, m, int);
    take_group(run, scratch);
    double *none = SPRAG_TAKE(scratch, m, double), *band = SPRAG_TAKE(scratch, m, double);
    double *tolerance = SPRAG_TAKE(scratch, m, double);
    run->behind = SPRAG_TAKE(scratch, m, double);
    if (scratch->failed) {
        return false;
    }
    for (int k = 0; k < m; k++) {
        band[k] = p->eps ? p->eps[k] : run->options->eps;
        tolerance[k] = p->label_tolerance ? p->label_tolerance[k] : run->options->label_tolerance;
    }
    run->band = band;
    run->label_tolerance = tolerance;
    bool has_bands = run->options->mode != SPRAG_ESS_LOCATE || run->options->strict;
    run->samples.to_edges = run->options->trust_eps || run->options->strict;
    return sprag_guards_take(&run->guards, p, label, has_bands ? band : none, run->stats,
                             scratch) &&
           (run->directions == 0 ||
            sprag_corner_take(&run->corner, &run->guards, SPRAG_ESS_CORNER, run->directions,
                              &run->stats->field_values, scratch));
}

// Sets labels that are NAN to the side of the guard that x is on; on the guard, to the side that
// the flow leads to.
static void choose_labels(sprag_ess_run *run)
{
    sprag_guards *g = &run->guards;
    int undecided = 0, *on_it = run->samples.reached;
    double far = 1; // without rows, h is assumed to change as fast as x
    for (int i = 0; i < run->states; i++) {
        far = fmax(far, fabs(run->now.y[i]));
    }
    sprag_guards_values(g, run->now.y, run->now.h);
    for (int k = 0; k < g->count; k++) {
        if (!isnan(g->label[k])) {
            continue;
        }
        double rounding = g->problem->row ? 0 : 4 * DBL_EPSILON * far;
        int entries = sprag_guards_row(g, run->now.y, k);
        for (int i = 0; i < entries; i++) {
            rounding += 4 * DBL_EPSILON * fabs(g->row.value[i] * run->now.y[g->row.column[i]]);
        }
        bool on = fabs(run->now.h[k]) <= rounding;
        g->label[k] = !on && run->now.h[k] > 0 ? 1 : 0;
        if (on) {
            on_it[undecided++] = k;
        }
    }
    if (undecided > 0) {
        sprag_ess_value(run, run->now.y, run->now.f);
    }
    for (int i = 0; i < undecided; i++) {
        run->work.marked[i] = sprag_guards_rate(g, run->now.y, on_it[i], run->now.f) >= 0;
    }
    for (int i = 0; i < undecided; i++) {
        g->label[on_it[i]] = run->work.marked[i] ? 1 : 0;
        run->work.marked[i] = false;
    }
}

// Ends the run if the flow is beyond the band of a guard that can be crossed. A guard that is
// crossed for good may be before its guard as far as a projection may have left it.
static void check_start(sprag_ess_run *run)
{
    const sprag_guards *g = &run->guards;
    for (int k = 0; k < g->count; k++) {
        double h = run->now.h[k], far = fmax(run->band[k], run->label_tolerance[k]);
        run->behind[k] = h < 0 && h >= -run->band[k] ? -h : 0;
        if (g->armed[k] && sprag_guards_side(g, k) * h > far) {
            sprag_ess_end(run, SPRAG_ESS_MISMATCH, k, "guard %d: label is %g, but h is %g", k,
                          g->label[k], run->now.h[k]);
        }
    }
}

// s: a small part of |x| / |f|, both in units of the tolerance.
static double first_step(const sprag_ess_run *run)
{
    const sprag_ess_options *o = run->options;
    if (!o->adaptive || o->first_step > 0) {
        return o->adaptive ? fmin(o->first_step, o->step) : o->step;
    }
    double far = sprag_ess_norm(run, run->now.y), fast = sprag_ess_norm(run, run->now.f);
    double step = far > SPRAG_ESS_FIRST_LEAST && fast > SPRAG_ESS_FIRST_LEAST
                      ? SPRAG_ESS_FIRST_PART * far / fast
                      : SPRAG_ESS_FIRST_STEP;
    return fmin(step, o->step);
}

void sprag_ess_begin(sprag_ess_run *run, const double *x)
{
    sprag_ess_output *out = run->output;
    size_t n = (size_t)run->states;
    memcpy(run->now.y, x, n * sizeof *x);
    if (run->directions > 0) {
        memcpy(run->now.y + n, out->direction, (size_t)run->directions * n * sizeof *x);
    }
    choose_labels(run);
    sprag_guards_arm_all(&run->guards);
    sprag_ess_value(run, run->now.y, run->now.f);
    sprag_ess_scan_at(run, run->now.y, 0);
    sprag_ess_arrive(run, 0);
    check_start(run);
    run->step = first_step(run);
    if (out) {
        out->reached = 0;
        while (sprag_ess_is_running(run) && out->reached < out->times &&
               out->time[out->reached] <= run->time) {
            memcpy(out->state + (size_t)out->reached++ * n, x, n * sizeof *x);
        }
    }
}
