// The parts of an integration that all files use: the norm, the field with its directions, pieces
// of trajectory, arriving at a point.
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ess_run.h"

// ---- ending, norm, field

void sprag_ess_end(sprag_ess_run *run, sprag_ess_stop stop, int guard, const char *format, ...)
{
    if (!sprag_ess_is_running(run)) {
        return;
    }
    run->stats->stop = stop;
    run->stats->stop_guard = guard;
    if (run->message && run->message_size > 0) {
        va_list args;
        va_start(args, format);
        const size_t size = (size_t)run->message_size,
                     length = (size_t)vsnprintf(run->message, size, format, args);
        va_end(args);
        if (length < size) {
            snprintf(run->message + length, size - length, ", at %g s", run->time);
        }
    }
}

bool sprag_ess_is_running(const sprag_ess_run *run)
{
    return run->stats->stop == SPRAG_ESS_DONE;
}

bool sprag_ess_is_stopped(sprag_ess_run *run)
{
    const sprag_ess_problem *p = run->problem;
    if (p->should_stop && p->should_stop(p->user, run->time)) {
        sprag_ess_end(run, SPRAG_ESS_MANY_STEPS, SPRAG_ESS_NO_GUARD, "the caller stopped it");
    }
    return !sprag_ess_is_running(run);
}

bool sprag_ess_finite(const double *x, int count)
{
    double sum = 0; // 0, or NAN if a value is not finite
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
            double scale = o->scale ? o->scale[i] : 1, y = fabs(run->now.y[first + i]);
            double e =
                error[first + i] / (o->absolute_tolerance * scale + o->relative_tolerance * y);
            sum += e * e;
        }
    }
    return sqrt(sum / run->size);
}

double sprag_ess_difference(const double *y, const double *v, int count)
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
    double step = sprag_ess_difference(y, v, run->states), *x = run->work.shifted;
    double *f[2] = {Df, run->work.shifted + run->states};
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

// D f v of y: by the problem's tangent if y is x alone; with directions, by differences.
static void tangent_of_all(void *data, const double *y, const double *v, double *Df)
{
    sprag_ess_run *run = data;
    if (run->directions == 0) {
        tangent(run, y, v, Df);
        return;
    }
    double step = sprag_ess_difference(y, v, run->size);
    for (int s = 1; s >= -1; s -= 2) {
        double *f = s > 0 ? Df : run->work.full;
        for (int i = 0; i < run->size; i++) {
            run->work.middle[i] = y[i] + s * step * v[i];
        }
        sprag_ess_value(run, run->work.middle, f);
    }
    for (int i = 0; i < run->size; i++) {
        Df[i] = (Df[i] - run->work.full[i]) / (2 * step);
    }
}

void sprag_ess_set_field(sprag_ess_run *run)
{
    run->field = (sprag_field){run->size, run, value, tangent_of_all};
}

// ---- pieces of trajectory

sprag_ess_piece sprag_ess_line(const sprag_ess_run *run, double length)
{
    return (sprag_ess_piece){.states = run->states,
                             .size = run->size,
                             .start = run->time,
                             .length = length,
                             .y = run->now.y,
                             .f = run->now.f,
                             .room = run->work.smooth,
                             .kink_time = run->group.kink_time,
                             .kink = run->group.kink,
                             .full = run->work.full};
}

void sprag_ess_path(const sprag_ess_piece *piece, double t, double *y)
{
    if (piece->smooth) {
        piece->smooth->between(piece->room, piece->size, t / piece->step, 0, piece->size, y);
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

// Whether the way from the last point is too short to tell the rates of guards.
static bool is_short(const sprag_ess_run *run, double since)
{
    return run->before.since > 0 && since <= SPRAG_ESS_SHORT_WAY * run->options->step;
}

double sprag_ess_lookahead(const sprag_ess_run *run, double way)
{
    const sprag_ess_options *o = run->options;
    return o->trust_eps || o->strict || way == 0 ? INFINITY : SPRAG_ESS_LOOKAHEAD * run->step / way;
}

void sprag_ess_scan_at(sprag_ess_run *run, const double *y, double since)
{
    bool more = is_short(run, since);
    const double *before = more ? run->before.h : run->now.h;
    run->next.scan.lookahead = sprag_ess_lookahead(run, more ? run->before.since + since : since);
    sprag_guards_values(&run->guards, y, run->next.h);
    sprag_guards_scan(&run->guards, before, NULL, run->next.h, &run->next.scan);
}

// Swaps the scans of now and next; drops guards that are no longer watched.
static void swap_scans(sprag_ess_run *run)
{
    sprag_scan here = run->next.scan;
    run->next.scan = run->now.scan;
    run->now.scan = here;
    run->now.scan.due_count = 0;
    for (int i = 0; i < here.due_count; i++) {
        int k = here.due[i];
        here.due[run->now.scan.due_count] = k;
        run->now.scan.due_count += run->guards.sign[k] != 0;
        if (!isfinite(run->now.h[k])) {
            sprag_ess_end(run, SPRAG_ESS_BAD_VALUE, k, "h[%d] is %g", k, run->now.h[k]);
        }
    }
}

void sprag_ess_arrive(sprag_ess_run *run, double since)
{
    double *h = run->now.h;
    run->now.h = run->next.h;
    run->next.h = h;
    if (!is_short(run, since)) {
        run->next.h = run->before.h;
        run->before.h = h;
        run->before.since = 0;
    }
    run->before.since += since;
    if (!sprag_ess_finite(run->now.f, run->size)) {
        bad_value(run, "f", run->now.f, run->states);
        bad_value(run, "D f v", run->now.f, run->size);
    }
    swap_scans(run);
}
