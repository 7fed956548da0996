// The loop: projects if the flow is in the band of a guard, else takes a step and ends it where it
// crosses a guard.
#include <math.h>
#include <string.h>

#include "ess_constants.h"
#include "ess_run.h"

static void check_rows(sprag_ess_run *run)
{
    if (run->guards.row.bad != SPRAG_ESS_NO_GUARD) {
        sprag_ess_end(run, SPRAG_ESS_BAD_VALUE, run->guards.row.bad,
                      "row of guard %d has an invalid column or value", run->guards.row.bad);
    }
}

// Ends the run if the flow is below a guard that is labelled as crossed for good.
static void check_labels(sprag_ess_run *run)
{
    const sprag_guards *g = &run->guards;
    for (int k = 0; g->any_permanent && k < g->count; k++) {
        if (g->permanent[k] && g->label[k] == 1 &&
            run->now.h[k] < -run->label_tolerance[k] - run->behind[k]) {
            sprag_ess_end(run, SPRAG_ESS_MISMATCH, k, "guard %d counts as crossed, but h is %g", k,
                          run->now.h[k]);
        }
    }
}

// ---- strict: one-way guards are approached wherever the flow is in their bands

static void end_not_live(sprag_ess_run *run, int guard, double rate)
{
    sprag_ess_end(run, SPRAG_ESS_NOT_LIVE, guard, "guard %d recedes in its band, at a rate of %g",
                  guard, rate);
}

static bool must_be_live(const sprag_ess_run *run, int guard)
{
    const sprag_guards *g = &run->guards;
    double h = run->now.h[guard];
    return g->sign[guard] != 0 && h <= 0 && h >= -run->band[guard] * SPRAG_GUARDS_EDGE &&
           !(run->problem->two_way && run->problem->two_way[guard]);
}

static void check_rates(sprag_ess_run *run)
{
    for (int k = 0; k < run->guards.count; k++) {
        if (must_be_live(run, k)) {
            double rate = sprag_guards_rate(&run->guards, run->now.y, k, run->now.f);
            if (!(rate > 0)) {
                end_not_live(run, k, rate);
            }
        }
    }
}

// h must not fall from sample to sample, as far as the step is used (a part of it).
static void check_samples(sprag_ess_run *run, double used)
{
    int last = run->options->samples + 1;
    double **h = run->samples.h;
    for (int k = 0; k < run->guards.count; k++) {
        for (int i = 1; must_be_live(run, k) && i <= used * last; i++) {
            if (h[i][k] < h[i - 1][k]) {
                end_not_live(run, k, (h[i][k] - h[i - 1][k]) * last / run->samples.length);
            }
        }
    }
}

// ---- overdue guards

// Guards that the flow is beyond though their labels say before: errors of projections left it
// there, or it is the guard that was just crossed, in the other direction. Guards that are
// approached become candidates; others are ignored until the flow has been seen before them.
static void find_overdue(sprag_ess_run *run)
{
    sprag_guards *g = &run->guards;
    run->group.candidates = 0;
    for (int i = 0; i < run->now.scan.due_count; i++) {
        int k = run->now.scan.due[i];
        if (g->sign[k] * run->now.h[k] > 0) {
            sprag_guards_unseen(g, k);
        }
    }
    for (int i = 0; i < g->unseen_count; i++) {
        int k = g->unseen_list[i];
        double side = sprag_guards_side(g, k), s = side * run->now.h[k];
        if (s < 0) {
            sprag_guards_seen(g, k);
            i--;
        } else {
            double rate = side * sprag_guards_rate(g, run->now.y, k, run->now.f);
            if (rate > 0) {
                sprag_ess_add_candidate(run, k, 0, rate, s);
            }
        }
    }
}

// Crosses overdue guards at once. true: there were any.
static bool cross_overdue(sprag_ess_run *run)
{
    find_overdue(run);
    if (run->group.candidates == 0) {
        return false;
    }
    sprag_ess_piece here = sprag_ess_line(run, 0);
    long before = run->stats->events;
    sprag_ess_cross(run, &here, false);
    run->stats->overdue += run->stats->events - before;
    return true;
}

// ---- steps

// Factor of the next step. Without a memory of the last error (a PI controller): steps that the end
// cuts to the same length would then never become longer.
static double step_factor(const sprag_ess_run *run, double error)
{
    double power = 1.0 / run->smooth->order, least = SPRAG_ESS_ERROR_LEAST;
    double factor = SPRAG_ESS_SAFETY * pow(fmax(error, least), -power);
    return fmin(fmax(factor, SPRAG_ESS_SHRINK), SPRAG_ESS_GROW);
}

// Factor up to which the next step is stable. Errors do not tell: a step at the limit of stability
// leaves fast motions as they are, and beyond it they grow until their error is the tolerance.
static double stable_factor(sprag_ess_run *run, double step)
{
    const sprag_smooth *smooth = run->smooth;
    if (!smooth->apart) {
        return INFINITY;
    }
    smooth->apart(run->work.smooth, run->size, step, run->work.middle, run->work.error);
    double change = step * sprag_ess_norm(run, run->work.error);
    double most = smooth->stable * sprag_ess_norm(run, run->work.middle);
    return change > 0 ? fmax(most / change, SPRAG_ESS_SHRINK) : INFINITY;
}

// Length (s) of the next step. As many steps as lead to the end are equally long: a short last one
// costs as much as they do. None leaves a sliver before the end.
static double step_length(const sprag_ess_run *run, double left)
{
    double step = fmin(run->step, left);
    if (run->options->adaptive && step > 0) {
        return left / ceil(left / (step * (1 + SPRAG_ESS_SLIVER)));
    }
    return left - step < SPRAG_ESS_SLIVER * step ? left : step;
}

// Takes a step to run->next whose error is allowed. Returns its length (s); 0: no step was
// possible.
static double take_step(sprag_ess_run *run)
{
    const sprag_ess_options *o = run->options;
    for (bool again = false;; again = true) {
        double step = step_length(run, run->end - run->time);
        if (!(run->time + step > run->time)) { // every step must change the time
            sprag_ess_end(run, SPRAG_ESS_TINY_STEP, SPRAG_ESS_NO_GUARD,
                          "a step of %g s is still too long", run->step);
            return 0;
        }
        sprag_result result =
            run->smooth->step(&run->field, run->work.smooth, step, run->now.y, run->now.f,
                              run->next.y, run->next.f, run->work.error);
        bool finite = result == SPRAG_OK && sprag_ess_finite(run->next.y, run->size) &&
                      sprag_ess_finite(run->next.f, run->size);
        if (!o->adaptive && finite) {
            return step;
        }
        if (!o->adaptive) {
            sprag_ess_end(run, SPRAG_ESS_TINY_STEP, SPRAG_ESS_NO_GUARD, "a step of %g s %s", step,
                          result == SPRAG_OK ? "leads to what is not finite" : "has no solution");
            return 0;
        }
        double error = finite ? sprag_ess_norm(run, run->work.error) : INFINITY;
        double factor = error < INFINITY ? step_factor(run, error) : SPRAG_ESS_SHRINK;
        if (error <= 1) {
            factor = again ? fmin(factor, 1) : factor; // else a stiff f rejects every second step
            // A step that was cut does not make the next one shorter.
            run->step =
                fmin(o->step, step < run->step ? fmax(run->step, step * factor) : step * factor);
            run->step = fmin(run->step, step * stable_factor(run, step));
            return step;
        }
        run->step = step * fmin(factor, SPRAG_ESS_SAFETY);
        run->stats->rejected++;
        if (sprag_ess_is_stopped(run)) {
            return 0;
        }
    }
}

// Appends `more` guards that a further interval may reach to the `all` so far, each only once.
// Returns their number.
static int append_reached(sprag_ess_run *run, int all, int more)
{
    for (int i = all, end = all + more; i < end; i++) {
        int k = run->samples.reached[i];
        if (!run->work.marked[k]) {
            run->work.marked[k] = true;
            run->samples.reached[all++] = k;
        }
    }
    return all;
}

// Evaluates all guards at the samples of the step and lists those that it may reach.
static void sample_guards(sprag_ess_run *run, double length)
{
    double **h = run->samples.h;
    sprag_scan *next = &run->next.scan;
    int last = run->options->samples + 1, all = 0;
    for (int i = 1; i < last && run->guards.count > 0; i++) {
        run->smooth->between(run->work.smooth, run->size, (double)i / last, 0, run->size,
                             run->work.middle);
        sprag_guards_values(&run->guards, run->work.middle, h[i]);
    }
    sprag_guards_values(&run->guards, run->next.y, h[last]);
    next->lookahead = sprag_ess_lookahead(run, 2 * length / last);
    next->to_bands = run->samples.to_edges;
    for (int i = 2; i <= last; i++) {
        next->reached = run->samples.reached + all;
        sprag_guards_scan(&run->guards, h[i - 2], h[i - 1], h[i], next);
        all = last > 2 ? append_reached(run, all, next->reached_count) : next->reached_count;
    }
    for (int i = 0; i < all && last > 2; i++) {
        run->work.marked[run->samples.reached[i]] = false;
    }
    run->samples.length = length;
    run->samples.reached_count =
        run->problem->rate_bound ? sprag_ess_add_bounded(run, length, all) : all;
}

static void accept_whole(sprag_ess_run *run, sprag_ess_piece *piece)
{
    bool last = piece->length == run->end - run->time;
    sprag_ess_emit(run, piece);
    run->time = last ? run->end : run->time;
    double *y = run->now.y, *f = run->now.f, *h = run->before.h;
    sprag_scan here = run->now.scan;
    run->now.y = run->next.y;
    run->next.y = y;
    run->now.f = run->next.f;
    run->next.f = f;
    run->before.h = run->now.h;
    run->now.h = run->next.h;
    run->next.h = h;
    run->now.scan = run->next.scan;
    run->next.scan = here;
    run->before.since = piece->length;
}

static void advance_by_step(sprag_ess_run *run)
{
    double length = take_step(run);
    if (length == 0) {
        return;
    }
    run->stats->steps++;
    run->samples.h[0] = run->now.h;
    run->samples.h[run->options->samples + 1] = run->next.h;
    sample_guards(run, length);
    double entry = sprag_ess_locate(run, length);
    sprag_ess_piece piece = sprag_ess_line(run, entry * length);
    piece.smooth = run->smooth;
    piece.step = length;
    if (run->options->strict && sprag_ess_is_running(run)) {
        double first = entry * length;
        for (int i = 0; i < run->group.candidates; i++) {
            first = fmin(first, run->group.candidate[i].time);
        }
        check_samples(run, first / length);
    }
    if (!sprag_ess_is_running(run)) {
        return;
    }
    if (run->group.candidates > 0) {
        sprag_ess_cross(run, &piece, false);
        // If events are frequent, each event discards most of a long step.
        double longest = fmax(SPRAG_ESS_AFTER_EVENT * piece.length, SPRAG_ESS_AFTER_PART * length);
        run->step =
            run->options->adaptive && run->group.room == 1 ? fmin(run->step, longest) : run->step;
    } else if (entry < 1) {
        sprag_ess_path(&piece, piece.length, run->next.y);
        sprag_ess_emit(run, &piece);
        memcpy(run->now.y, run->next.y, (size_t)run->size * sizeof *run->now.y);
        sprag_ess_value(run, run->now.y, run->now.f);
        sprag_ess_scan_at(run, run->now.y, piece.length);
        sprag_ess_arrive(run, piece.length);
    } else {
        accept_whole(run, &piece);
    }
}

void sprag_ess_loop(sprag_ess_run *run)
{
    long turns = 0;
    while (sprag_ess_is_running(run) && run->time < run->end) {
        if (turns++ == run->options->max_steps) {
            sprag_ess_end(run, SPRAG_ESS_MANY_STEPS, SPRAG_ESS_NO_GUARD, "%ld steps", turns - 1);
            return;
        }
        if (sprag_ess_is_stopped(run)) {
            return;
        }
        check_labels(run);
        check_rows(run);
        if (!sprag_ess_is_running(run) || cross_overdue(run)) {
            continue;
        }
        if (run->options->strict) {
            check_rates(run);
        }
        if (run->options->mode == SPRAG_ESS_LOCATE || !sprag_ess_project(run)) {
            if (sprag_ess_is_running(run)) {
                advance_by_step(run);
            }
        }
    }
}
