// The loop: project where a guard's band is reached, else step, and end the step where it crosses a
// guard. With what all parts of it use: the field, pieces of trajectory, arriving at a point.
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ess_run.h"

// ---- small things

void sprag_ess_end(sprag_ess_run *run, sprag_ess_stop stop, int guard, const char *format, ...)
{
    if (!sprag_ess_going(run)) {
        return;
    }
    run->stats->stop = stop;
    run->stats->stop_guard = guard;
    if (run->message && run->message_size > 0) {
        va_list args;
        va_start(args, format);
        int length = vsnprintf(run->message, (size_t)run->message_size, format, args);
        va_end(args);
        if (length >= 0 && length < run->message_size) {
            snprintf(run->message + length, (size_t)(run->message_size - length), ", at %g s",
                     run->time);
        }
    }
}

bool sprag_ess_going(const sprag_ess_run *run)
{
    return run->stats->stop == SPRAG_ESS_DONE;
}

bool sprag_ess_finite(const double *x, int count)
{
    double sum = 0; // of zeros, or NAN
    for (int i = 0; i < count; i++) {
        sum += x[i] - x[i];
    }
    return sum == 0;
}

double sprag_ess_norm(const sprag_ess_run *run, const double *error)
{
    const sprag_ess_options *o = run->options;
    double sum = 0;
    for (int first = 0; first < run->size; first += run->states) {
        for (int i = 0; i < run->states; i++) {
            double scale = o->scale ? o->scale[i] : 1, y = fabs(run->y[first + i]);
            double e =
                error[first + i] / (o->absolute_tolerance * scale + o->relative_tolerance * y);
            sum += e * e;
        }
    }
    return sqrt(sum / run->size);
}

// Of a central difference from y along v: neither rounding nor the third derivative prevails.
static double difference(const double *y, const double *v, int count)
{
    double wide = 0, far = 1;
    for (int i = 0; i < count; i++) {
        wide = fmax(wide, fabs(v[i]));
        far = fmax(far, fabs(y[i]));
    }
    return wide > 0 ? cbrt(DBL_EPSILON) * far / wide : 1;
}

// D_x f v
static void tangent(sprag_ess_run *run, const double *y, const double *v, double *Df)
{
    const sprag_ess_problem *p = run->problem;
    if (p->tangent) {
        p->tangent(p->user, y, run->guards.label, v, Df);
        return;
    }
    double step = difference(y, v, run->states), *x = run->shifted;
    double *f[2] = {Df, run->shifted + run->states};
    for (int s = 0; s < 2; s++) {
        for (int i = 0; i < run->states; i++) {
            x[i] = y[i] + (s ? -step : step) * v[i];
        }
        p->field(p->user, x, run->guards.label, f[s]);
        run->stats->field_values++;
    }
    for (int i = 0; i < run->states; i++) {
        Df[i] = (f[0][i] - f[1][i]) / (2 * step);
    }
}

static void value(void *data, const double *y, double *f)
{
    sprag_ess_value(data, y, f);
}

void sprag_ess_value(sprag_ess_run *run, const double *y, double *f)
{
    const sprag_ess_problem *p = run->problem;
    p->field(p->user, y, run->guards.label, f);
    run->stats->field_values++;
    for (int d = 1; d <= run->directions; d++) {
        size_t at = (size_t)d * (size_t)run->states;
        tangent(run, y, y + at, f + at);
    }
}

// Of x alone, or with its directions, then by differences.
static void tangent_of_all(void *data, const double *y, const double *v, double *Df)
{
    sprag_ess_run *run = data;
    if (run->directions == 0) {
        tangent(run, y, v, Df);
        return;
    }
    double step = difference(y, v, run->size);
    for (int s = 1; s >= -1; s -= 2) {
        double *f = s > 0 ? Df : run->full;
        for (int i = 0; i < run->size; i++) {
            run->middle[i] = y[i] + s * step * v[i];
        }
        sprag_ess_value(run, run->middle, f);
    }
    for (int i = 0; i < run->size; i++) {
        Df[i] = (Df[i] - run->full[i]) / (2 * step);
    }
}

// ---- pieces of trajectory

sprag_ess_piece sprag_ess_line(const sprag_ess_run *run, double length)
{
    return (sprag_ess_piece){.states = run->states,
                             .size = run->size,
                             .start = run->time,
                             .length = length,
                             .y = run->y,
                             .f = run->f,
                             .room = run->room,
                             .kink_time = run->kink_time,
                             .kink = run->kink,
                             .full = run->full};
}

void sprag_ess_path(const sprag_ess_piece *piece, double t, double *y)
{
    if (piece->smooth) {
        piece->smooth->between(piece->room, piece->size, t / piece->step, y);
    } else {
        for (int i = 0; i < piece->size; i++) {
            double bend = piece->bend ? piece->bend[i] : 0;
            y[i] = piece->y[i] + t * (piece->f[i] + t * bend);
        }
    }
    int j = piece->kinks;
    while (j > 0 && piece->kink_time[j - 1] >= t) {
        j--;
    }
    if (j > 0) {
        size_t n = (size_t)piece->states;
        const double *change = piece->kink + (size_t)(j - 1) * 2 * n, *moment = change + n;
        for (size_t i = 0; i < n; i++) {
            y[i] += t * change[i] - moment[i];
        }
    }
}

void sprag_ess_piece_at(const sprag_ess_piece *piece, double time, double *x)
{
    double t = fmin(fmax(time - piece->start, 0), piece->length);
    sprag_ess_path(piece, t, piece->full);
    memcpy(x, piece->full, (size_t)piece->states * sizeof *x);
}

void sprag_ess_emit(sprag_ess_run *run, sprag_ess_piece *piece)
{
    sprag_ess_output *out = run->output;
    double from = run->time;
    run->time = fmax(from, piece->start + piece->length);
    if (!out) {
        return;
    }
    while (out->reached < out->times && out->time[out->reached] <= run->time) {
        sprag_ess_piece_at(piece, out->time[out->reached],
                           out->state + (size_t)out->reached * (size_t)run->states);
        out->reached++;
    }
    if (out->observe && run->time > from) {
        out->observe(out->user, from, run->time, piece);
    }
}

// ---- a point of the trajectory

static void bad_value(sprag_ess_run *run, const char *what, const double *x, int count)
{
    for (int i = 0; i < count; i++) {
        if (!isfinite(x[i])) {
            sprag_ess_end(run, SPRAG_ESS_BAD_VALUE, SPRAG_ESS_NO_GUARD, "%s[%d] is %g", what, i,
                          x[i]);
        }
    }
}

// Too short a while says nothing about rates.
static bool is_short(const sprag_ess_run *run, double since)
{
    return run->step_before > 0 && since <= 0.1 * run->options->step;
}

// So many times the way just gone is what a projection may reach; of rates that the way does not
// say enough of, forever.
static double soon(const sprag_ess_run *run, double way)
{
    const sprag_ess_options *o = run->options;
    return o->trust_eps || o->strict || way == 0 ? INFINITY : 1.25 * run->step / way;
}

void sprag_ess_look(sprag_ess_run *run, const double *y, double since)
{
    bool more = is_short(run, since);
    const double *before = more ? run->h_before : run->h;
    run->next.soon = soon(run, more ? run->step_before + since : since);
    sprag_guards_values(&run->guards, y, run->h_end);
    sprag_guards_scan(&run->guards, before, NULL, run->h_end, &run->next);
}

// What is next is here, without guards that are not watched any more.
static void turn_to_next(sprag_ess_run *run)
{
    sprag_scan here = run->next;
    run->next = run->here;
    run->here = here;
    run->here.nears = 0;
    for (int i = 0; i < here.nears; i++) {
        int k = here.near[i];
        here.near[run->here.nears] = k;
        run->here.nears += run->guards.sign[k] != 0;
        if (!isfinite(run->h[k])) {
            sprag_ess_end(run, SPRAG_ESS_BAD_VALUE, k, "h[%d] is %g", k, run->h[k]);
        }
    }
}

void sprag_ess_arrive(sprag_ess_run *run, double since)
{
    double *h = run->h;
    run->h = run->h_end;
    run->h_end = h;
    if (!is_short(run, since)) {
        run->h_end = run->h_before;
        run->h_before = h;
        run->step_before = 0;
    }
    run->step_before += since;
    if (!sprag_ess_finite(run->f, run->size)) {
        bad_value(run, "f", run->f, run->states);
        bad_value(run, "D f v", run->f, run->size);
    }
    turn_to_next(run);
}

static void check_rows(sprag_ess_run *run)
{
    if (run->guards.bad_row != SPRAG_ESS_NO_GUARD) {
        sprag_ess_end(run, SPRAG_ESS_BAD_VALUE, run->guards.bad_row,
                      "row of guard %d has a column or a value that cannot be",
                      run->guards.bad_row);
    }
}

// Below a guard that counts as crossed for good.
static void check_labels(sprag_ess_run *run)
{
    const sprag_guards *g = &run->guards;
    for (int k = 0; g->any_final && k < g->count; k++) {
        if (g->final[k] && g->label[k] == 1 && run->band[k] > 0 && run->h[k] < -run->band[k]) {
            sprag_ess_end(run, SPRAG_ESS_MISMATCH, k, "guard %d counts as crossed, but h is %g", k,
                          run->h[k]);
        }
    }
}

// Guards that the flow is beyond, though their labels say before: errors of projections leave it
// there, or it is the guard that was just crossed, the other way round. Those that are approached
// become candidates, others are left alone until they have been seen from the front.
static void find_overdue(sprag_ess_run *run)
{
    sprag_guards *g = &run->guards;
    run->candidates = 0;
    for (int i = 0; i < run->here.nears; i++) {
        int k = run->here.near[i];
        if (g->sign[k] * run->h[k] > 0) {
            sprag_guards_unseen(g, k);
        }
    }
    for (int i = 0; i < g->listed; i++) {
        int k = g->list[i];
        double side = sprag_guards_side(g, k), s = side * run->h[k];
        if (s < 0) {
            sprag_guards_seen(g, k);
            i--;
        } else {
            double rate = side * sprag_guards_rate(g, run->y, k, run->f);
            if (rate > 0) {
                sprag_ess_offer(run, k, 0, rate, s);
            }
        }
    }
}

// Crosses them at once. true if there were any.
static bool catch_up(sprag_ess_run *run)
{
    find_overdue(run);
    if (run->candidates == 0) {
        return false;
    }
    sprag_ess_piece here = sprag_ess_line(run, 0);
    long before = run->stats->events;
    sprag_ess_cross(run, &here, false);
    run->stats->overdue += run->stats->events - before;
    return true;
}

// ---- steps

// Hairer, Norsett, Wanner, section II.4: with a memory of the last error.
static double step_factor(const sprag_ess_run *run, double error)
{
    double memory = 0.04, power = 1.0 / run->smooth->order - 0.75 * memory;
    double last = fmax(run->last_error, 1e-4);
    double factor = 0.9 * exp(memory * log(last) - power * log(fmax(error, 1e-10)));
    return fmin(fmax(factor, 0.2), 10);
}

static bool is_enough(sprag_ess_run *run)
{
    const sprag_ess_problem *p = run->problem;
    if (p->enough && p->enough(p->user, run->time)) {
        sprag_ess_end(run, SPRAG_ESS_MANY_STEPS, SPRAG_ESS_NO_GUARD, "it is enough");
    }
    return !sprag_ess_going(run);
}

// To y1, f1, with the error allowed; returns the length of the step, 0: none could be taken.
static double take_step(sprag_ess_run *run)
{
    const sprag_ess_options *o = run->options;
    for (;;) {
        double left = run->end - run->time, step = fmin(run->step, left);
        // No sliver at the end; time must change.
        step = left - step < 1e-6 * step ? left : step;
        if (!(run->time + step > run->time)) {
            sprag_ess_end(run, SPRAG_ESS_TINY_STEP, SPRAG_ESS_NO_GUARD,
                          "a step of %g s is still too long", run->step);
            return 0;
        }
        sprag_result result = run->smooth->step(&run->field, run->room, step, run->y, run->f,
                                                run->y1, run->f1, run->error);
        bool finite = result == SPRAG_OK && sprag_ess_finite(run->y1, run->size) &&
                      sprag_ess_finite(run->f1, run->size);
        if (!o->adaptive && finite) {
            return step;
        }
        if (!o->adaptive) {
            sprag_ess_end(run, SPRAG_ESS_TINY_STEP, SPRAG_ESS_NO_GUARD, "a step of %g s %s", step,
                          result == SPRAG_OK ? "leads to what is not finite" : "has no solution");
            return 0;
        }
        double error = finite ? sprag_ess_norm(run, run->error) : INFINITY;
        double factor = error < INFINITY ? step_factor(run, error) : 0.2;
        if (error <= 1) {
            // A step cut at the end says nothing against longer ones.
            run->step =
                fmin(o->step, step < run->step ? fmax(run->step, step * factor) : step * factor);
            run->last_error = error;
            return step;
        }
        run->step = step * fmin(factor, 0.9);
        run->stats->rejected++;
        if (is_enough(run)) {
            return 0;
        }
    }
}

// Guards that are reached in several pairs of intervals, once. Returns how many all are.
static int join(sprag_ess_run *run, int all, int more)
{
    for (int i = all, end = all + more; i < end; i++) {
        int k = run->reached[i];
        if (!run->marked[k]) {
            run->marked[k] = true;
            run->reached[all++] = k;
        }
    }
    return all;
}

// h at the ends and between, and the guards to look at.
static void sample(sprag_ess_run *run, double length)
{
    double **h = run->h_sample;
    sprag_scan *next = &run->next;
    int last = run->options->samples + 1, all = 0;
    for (int i = 1; i < last && run->guards.count > 0; i++) {
        run->smooth->between(run->room, run->size, (double)i / last, run->middle);
        sprag_guards_values(&run->guards, run->middle, h[i]);
    }
    sprag_guards_values(&run->guards, run->y1, h[last]);
    next->soon = soon(run, 2 * length / last);
    next->edges = run->options->trust_eps;
    for (int i = 2; i <= last; i++) {
        next->reached = run->reached + all;
        sprag_guards_scan(&run->guards, h[i - 2], h[i - 1], h[i], next);
        all = last > 2 ? join(run, all, next->reaches) : next->reaches;
    }
    for (int i = 0; i < all && last > 2; i++) {
        run->marked[run->reached[i]] = false;
    }
    run->reaches = all;
}

static void accept_whole(sprag_ess_run *run, sprag_ess_piece *piece)
{
    bool last = piece->length == run->end - run->time;
    sprag_ess_emit(run, piece);
    run->time = last ? run->end : run->time;
    double *y = run->y, *f = run->f, *h = run->h_before;
    sprag_scan here = run->here;
    run->y = run->y1;
    run->y1 = y;
    run->f = run->f1;
    run->f1 = f;
    run->h_before = run->h;
    run->h = run->h_end;
    run->h_end = h;
    run->here = run->next;
    run->next = here;
    run->step_before = piece->length;
}

static void step(sprag_ess_run *run)
{
    double length = take_step(run);
    if (length == 0) {
        return;
    }
    run->stats->steps++;
    run->h_sample[0] = run->h;
    run->h_sample[run->options->samples + 1] = run->h_end;
    sample(run, length);
    double entry = sprag_ess_locate(run, length);
    sprag_ess_piece piece = sprag_ess_line(run, entry * length);
    piece.smooth = run->smooth;
    piece.step = length;
    if (!sprag_ess_going(run)) {
        return;
    }
    if (run->candidates > 0) {
        sprag_ess_cross(run, &piece, false);
        // Where event follows upon event, most of a long step is thrown away, time and again.
        double soon = fmax(4 * piece.length, 0.2 * length);
        run->step =
            run->options->adaptive && run->room_for == 1 ? fmin(run->step, soon) : run->step;
    } else if (entry < 1) {
        sprag_ess_path(&piece, piece.length, run->y1);
        sprag_ess_emit(run, &piece);
        memcpy(run->y, run->y1, (size_t)run->size * sizeof *run->y);
        sprag_ess_value(run, run->y, run->f);
        sprag_ess_look(run, run->y, piece.length);
        sprag_ess_arrive(run, piece.length);
    } else {
        accept_whole(run, &piece);
    }
}

void sprag_ess_loop(sprag_ess_run *run)
{
    long turns = 0;
    while (sprag_ess_going(run) && run->time < run->end) {
        if (turns++ == run->options->max_steps) {
            sprag_ess_end(run, SPRAG_ESS_MANY_STEPS, SPRAG_ESS_NO_GUARD, "%ld steps", turns - 1);
            return;
        }
        if (is_enough(run)) {
            return;
        }
        check_labels(run);
        check_rows(run);
        if (!sprag_ess_going(run) || catch_up(run)) {
            continue;
        }
        if (run->options->mode == SPRAG_ESS_LOCATE || !sprag_ess_project(run)) {
            if (sprag_ess_going(run)) {
                step(run);
            }
        }
    }
}

// ---- the start

// Events to resolve together: as many as use, but of many states each takes its room.
static int group_room(const sprag_ess_problem *p)
{
    enum { DOUBLES = 1 << 16, LEAST = 8 };
    int room = DOUBLES / p->states;
    room = room > SPRAG_ESS_GROUP ? SPRAG_ESS_GROUP : room < LEAST ? LEAST : room;
    return room > p->guards ? p->guards : room;
}

static void take_group(sprag_ess_run *run, sprag_scratch *scratch)
{
    const sprag_ess_problem *p = run->problem;
    int room = p->jump && run->directions == 0 ? group_room(p) : 1;
    run->row_room = (size_t)(p->row_entries ? p->row_entries : p->states);
    run->group = 8;
    run->room_for = room > 1 ? room : 1;
    size_t group = (size_t)run->room_for, n = (size_t)run->states;
    run->ahead = SPRAG_TAKE(scratch, p->guards, sprag_ess_ahead);
    run->bracket = SPRAG_TAKE(scratch, group, sprag_ess_bracket);
    run->candidate = SPRAG_TAKE(scratch, group, sprag_ess_candidate);
    run->line = SPRAG_TAKE(scratch, group, int);
    run->active = SPRAG_TAKE(scratch, group, sprag_ess_moved);
    run->crossed = SPRAG_TAKE(scratch, group, sprag_ess_moved);
    run->kink_time = SPRAG_TAKE(scratch, group, double);
    if (group > 1) {
        run->column = SPRAG_TAKE(scratch, group * run->row_room, int);
        run->value = SPRAG_TAKE(scratch, group * run->row_room, double);
        run->steep = SPRAG_TAKE(scratch, n, double);
        run->kink = SPRAG_TAKE(scratch, group * 2 * n, double);
    }
}

bool sprag_ess_take(sprag_ess_run *run, double *label, sprag_scratch *scratch)
{
    const sprag_ess_problem *p = run->problem;
    int m = p->guards;
    size_t size = (size_t)run->size;
    run->field = (sprag_field){run->size, run, value, tangent_of_all};
    double **vector[] = {&run->y,     &run->f,      &run->y1,   &run->f1,  &run->error,
                         &run->point, &run->middle, &run->bend, &run->full};
    for (size_t i = 0; i < sizeof vector / sizeof *vector; i++) {
        *vector[i] = SPRAG_TAKE(scratch, size, double);
    }
    run->shifted = SPRAG_TAKE(scratch, 2 * (size_t)run->states, double);
    run->room = SPRAG_TAKE(scratch, run->smooth->room(run->size), double);
    int blocks = sprag_guards_room(m);
    run->h = SPRAG_TAKE(scratch, blocks, double);
    run->h_before = SPRAG_TAKE(scratch, blocks, double);
    run->h_end = SPRAG_TAKE(scratch, blocks, double);
    for (int i = 1; i <= run->options->samples; i++) {
        run->h_sample[i] = SPRAG_TAKE(scratch, blocks, double);
    }
    run->here.near = SPRAG_TAKE(scratch, (size_t)m + 1, int);
    run->next.near = SPRAG_TAKE(scratch, (size_t)m + 1, int);
    run->reached = SPRAG_TAKE(scratch, 2 * (size_t)m + 1, int);
    run->marked = SPRAG_TAKE(scratch, m, bool);
    run->label = SPRAG_TAKE(scratch, m, double);
    run->zeno_since = SPRAG_TAKE(scratch, m, double);
    run->zeno_count = SPRAG_TAKE(scratch, m, int);
    take_group(run, scratch);
    double *none = SPRAG_TAKE(scratch, m, double), *band = SPRAG_TAKE(scratch, m, double);
    if (scratch->failed) {
        return false;
    }
    for (int k = 0; k < m; k++) {
        band[k] = p->eps ? p->eps[k] : run->options->eps;
    }
    run->band = band;
    return sprag_guards_take(&run->guards, p, label,
                             run->options->mode == SPRAG_ESS_LOCATE ? none : band, run->stats,
                             scratch) &&
           (run->directions == 0 ||
            sprag_corner_take(&run->corner, &run->guards, SPRAG_ESS_CORNER, run->directions,
                              &run->stats->field_values, scratch));
}

// Labels that are not given: the side that x is on; on the guard, where the flow leads.
static void choose_labels(sprag_ess_run *run)
{
    sprag_guards *g = &run->guards;
    int undecided = 0, *on_it = run->reached;
    double far = 1; // without rows, h is thought to change as fast as x
    for (int i = 0; i < run->states; i++) {
        far = fmax(far, fabs(run->y[i]));
    }
    sprag_guards_values(g, run->y, run->h);
    for (int k = 0; k < g->count; k++) {
        if (!isnan(g->label[k])) {
            continue;
        }
        double rounding = g->problem->row ? 0 : 4 * DBL_EPSILON * far;
        int entries = sprag_guards_row(g, run->y, k);
        for (int i = 0; i < entries; i++) {
            rounding += 4 * DBL_EPSILON * fabs(g->value[i] * run->y[g->column[i]]);
        }
        bool on = fabs(run->h[k]) <= rounding;
        g->label[k] = !on && run->h[k] > 0 ? 1 : 0;
        if (on) {
            on_it[undecided++] = k;
        }
    }
    if (undecided > 0) {
        sprag_ess_value(run, run->y, run->f);
    }
    for (int i = 0; i < undecided; i++) {
        run->marked[i] = sprag_guards_rate(g, run->y, on_it[i], run->f) >= 0;
    }
    for (int i = 0; i < undecided; i++) {
        g->label[on_it[i]] = run->marked[i] ? 1 : 0;
        run->marked[i] = false;
    }
}

static void check_start(sprag_ess_run *run)
{
    const sprag_guards *g = &run->guards;
    for (int k = 0; k < g->count; k++) {
        if (g->armed[k] && run->band[k] > 0 && sprag_guards_side(g, k) * run->h[k] > run->band[k]) {
            sprag_ess_end(run, SPRAG_ESS_MISMATCH, k, "guard %d: label is %g, but h is %g", k,
                          g->label[k], run->h[k]);
        }
    }
}

static double first_step(const sprag_ess_run *run)
{
    const sprag_ess_options *o = run->options;
    if (!o->adaptive || o->first_step > 0) {
        return o->adaptive ? fmin(o->first_step, o->step) : o->step;
    }
    double far = sprag_ess_norm(run, run->y), fast = sprag_ess_norm(run, run->f);
    double step = far > 1e-5 && fast > 1e-5 ? 0.01 * far / fast : 1e-6;
    return fmin(step, o->step);
}

void sprag_ess_begin(sprag_ess_run *run, const double *x)
{
    sprag_ess_output *out = run->output;
    size_t n = (size_t)run->states;
    memcpy(run->y, x, n * sizeof *x);
    if (run->directions > 0) {
        memcpy(run->y + n, out->direction, (size_t)run->directions * n * sizeof *x);
    }
    choose_labels(run);
    sprag_guards_arm_all(&run->guards);
    sprag_ess_value(run, run->y, run->f);
    sprag_ess_look(run, run->y, 0);
    sprag_ess_arrive(run, 0);
    check_start(run);
    run->step = first_step(run);
    if (out) {
        out->reached = 0;
        while (sprag_ess_going(run) && out->reached < out->times &&
               out->time[out->reached] <= run->time) {
            memcpy(out->state + (size_t)out->reached++ * n, x, n * sizeof *x);
        }
    }
}
