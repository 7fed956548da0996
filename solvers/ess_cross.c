// Crossing guards along a piece of trajectory, earliest first.
//
// Where the problem knows the jump J of f at a guard, the piece goes on behind it with J added to
// its velocity, and further guards are crossed with no other evaluation of f: the projection of a
// corner (Council, Revzen, Burden, section 2), on a curved path. What this leaves out is D f times
// the displacement; the f that is evaluated at the end shows how much that is, and with too much of
// it half of the events are left to the next piece.
#include <math.h>
#include <string.h>

#include "solvers/ess_run.h"

void sprag_ess_offer(sprag_ess_run *run, int guard, double time, double rate, double reach)
{
    int place = run->candidates, entries = run->guards.entries;
    if (place == run->room_for) {
        place = 0;
        for (int i = 1; i < run->candidates; i++) {
            place = run->candidate[i].time >= run->candidate[place].time ? i : place;
        }
        if (time >= run->candidate[place].time) {
            return;
        }
    } else {
        run->candidates++;
    }
    double side = sprag_guards_side(&run->guards, guard);
    run->candidate[place] = (sprag_ess_candidate){guard, entries, side, time, rate, reach};
    if (run->room_for > 1) {
        size_t at = (size_t)place * run->row_room, count = (size_t)entries;
        memcpy(run->column + at, run->guards.column, count * sizeof *run->column);
        memcpy(run->value + at, run->guards.value, count * sizeof *run->value);
    }
}

// Sums of J and of t J up to a kink.
static double *kink(sprag_ess_run *run, int i)
{
    return run->kink + (size_t)i * 2 * (size_t)run->states;
}

static void add_kink(sprag_ess_run *run, sprag_ess_piece *piece, double t, const double *change)
{
    int n = run->states;
    double *sum = kink(run, piece->kinks);
    const double *before = piece->kinks > 0 ? kink(run, piece->kinks - 1) : NULL;
    for (int i = 0; i < n; i++) {
        sum[i] = change[i] + (before ? before[i] : 0);
        sum[n + i] = t * change[i] + (before ? before[n + i] : 0);
    }
    piece->kinks++;
}

// How fast a change of f turns a candidate towards its guard.
static double turn(sprag_ess_run *run, int i, const double *x, const double *change)
{
    const sprag_ess_candidate *c = &run->trial[i];
    if (!run->problem->row) {
        return c->side * sprag_guards_rate(&run->guards, x, c->guard, change);
    }
    const int *column = run->column + (size_t)i * run->row_room;
    const double *value = run->value + (size_t)i * run->row_room;
    double rate = 0;
    for (int e = 0; e < c->entries; e++) {
        rate += value[e] * change[column[e]];
    }
    return c->side * rate;
}

// The candidate that comes first, by index where several do; -1: none is left. Before that all are
// turned by a change of f (NULL: none) at x and time t.
static int next_one(sprag_ess_run *run, double t, const double *x, const double *change)
{
    int best = -1;
    for (int i = 0; i < run->candidates; i++) {
        sprag_ess_candidate *c = &run->trial[i];
        if (c->time == INFINITY) {
            continue;
        }
        if (change) {
            double rate = c->rate + turn(run, i, x, change), left = c->time - t;
            c->time = !(rate > 0) ? INFINITY : left > 0 ? t + left * c->rate / rate : t;
            c->rate = rate;
        }
        const sprag_ess_candidate *b = &run->trial[best < 0 ? i : best];
        if (c->time < b->time || (c->time == b->time && c->guard <= b->guard)) {
            best = c->time < INFINITY ? i : best;
        }
    }
    return best;
}

// Newton on the piece as it is by now; predictions are of a piece without its last kinks. INFINITY:
// it does not converge.
static double refine(sprag_ess_run *run, const sprag_ess_piece *piece, const sprag_ess_candidate *c,
                     double since)
{
    enum { ROUNDS = 4 };
    double t = c->time;
    for (int round = 0; round < ROUNDS; round++) {
        sprag_ess_path(piece, t, run->point);
        double change = -c->side * sprag_guards_value(&run->guards, run->point, c->guard) / c->rate;
        if (!isfinite(change)) {
            return INFINITY;
        }
        t = fmax(since, t + change);
        if (fabs(change) <= 1e-8 * piece->length || t == since) { // converges quadratically
            return t;
        }
    }
    return INFINITY;
}

static bool ends(const sprag_ess_run *run, int guard)
{
    return run->problem->last && run->problem->last[guard];
}

// Goes through at most `most` candidates: their order, times, kinks and labels; the point of the
// last is left in y1. Returns how many.
static int go_through(sprag_ess_run *run, sprag_ess_piece *piece, int most, bool projected)
{
    sprag_guards *g = &run->guards;
    bool straight = projected && run->options->mode == SPRAG_ESS_FIRST, last = false;
    int events = 0;
    memcpy(run->trial, run->candidate, (size_t)run->candidates * sizeof *run->trial);
    piece->kinks = 0;
    int i = next_one(run, 0, NULL, NULL);
    for (; !last && events < most && i >= 0; events++) {
        sprag_ess_candidate *c = &run->trial[i];
        double since = events > 0 ? run->kink_time[events - 1] : 0, t = fmax(since, c->time);
        t = events > 0 && !straight ? refine(run, piece, c, since) : t;
        if (events > 0 && !(t <= piece->length)) {
            break;
        }
        sprag_ess_path(piece, t, run->y1);
        run->kink_time[events] = t;
        run->order[events] = i;
        c->time = INFINITY;
        // What a reset arms is no candidate yet.
        last = g->reset_start[c->guard] < g->reset_start[c->guard + 1] || ends(run, c->guard);
        if (most > 1) {
            double *change = run->error;
            run->problem->jump(run->problem->user, run->y1, g->label, c->guard, change);
            add_kink(run, piece, t, change);
            last |= c->rate + turn(run, i, run->y1, change) < 0; // may be sliding
            i = next_one(run, t, run->y1, change);
        }
        sprag_guards_relabel(g, c->guard, g->label);
    }
    return events;
}

// f at the end of several events, as the piece has it: by a difference, and kinks.
static void end_velocity(sprag_ess_run *run, const sprag_ess_piece *piece, int events, double *v)
{
    double t = run->kink_time[events - 1], span = 1e-4 * piece->length;
    double before = fmax(0, t - span), after = fmin(piece->length, before + 2 * span);
    sprag_ess_piece smooth = *piece;
    smooth.kinks = 0;
    sprag_ess_path(&smooth, after, v);
    sprag_ess_path(&smooth, before, run->point);
    for (int i = 0; i < run->states; i++) {
        v[i] = (v[i] - run->point[i]) / (after - before) + kink(run, events - 1)[i];
    }
}

// Several events: is what the piece leaves out within the tolerance? f1 is f at the end.
static bool group_is_good(sprag_ess_run *run, const sprag_ess_piece *piece, int events)
{
    double span = run->kink_time[events - 1] - run->kink_time[0];
    if (events == 1 || span == 0) {
        return true;
    }
    end_velocity(run, piece, events, run->error);
    for (int i = 0; i < run->states; i++) {
        run->error[i] = span / 2 * (run->f1[i] - run->error[i]);
    }
    return sprag_ess_norm(run, run->error) <= 1;
}

static void restore_labels(sprag_ess_run *run)
{
    memcpy(run->guards.label, run->label, (size_t)run->guards.count * sizeof *run->label);
}

// The flow leads from the last guard back to it. With the label of before, too? Then the guard was
// not reached, or touched, and what is left to say about the rates is 0; else f points at it from
// both sides, and there is nowhere to go but along it.
static double rate_before(sprag_ess_run *run, int events, double side)
{
    int guard = run->trial[run->order[events - 1]].guard;
    restore_labels(run);
    for (int e = 0; e < events - 1; e++) {
        sprag_guards_relabel(&run->guards, run->trial[run->order[e]].guard, run->guards.label);
    }
    sprag_ess_value(run, run->y1, run->error);
    return fmax(0, side * sprag_guards_rate(&run->guards, run->y1, guard, run->error));
}

// Of an event: the candidate's, or, where it was located, by a difference along the piece.
static double rate_at(sprag_ess_run *run, const sprag_ess_piece *piece, int e, double side)
{
    const sprag_ess_candidate *c = &run->trial[run->order[e]];
    if (!piece->smooth) {
        return c->rate;
    }
    sprag_ess_piece before = *piece;
    before.kinks = e < piece->kinks ? e : piece->kinks;
    double span = 1e-5 * piece->step, h[2];
    for (int s = 0; s < 2; s++) {
        sprag_ess_path(&before, run->kink_time[e] + (s ? span : -span), run->point);
        h[s] = side * sprag_guards_value(&run->guards, run->point, c->guard);
    }
    return (h[1] - h[0]) / (2 * span);
}

static void record(sprag_ess_run *run, const sprag_ess_piece *piece, int e, bool projected)
{
    const sprag_ess_candidate *c = &run->trial[run->order[e]];
    sprag_ess_stats *stats = run->stats;
    sprag_ess_output *out = run->output;
    double time = piece->start + run->kink_time[e], window = run->options->zeno_time;
    double side = sprag_guards_side(&run->guards, c->guard);
    if (out && out->event && stats->events < out->event_room) {
        out->event[stats->events] = (sprag_ess_event){.time = time,
                                                      .guard = c->guard,
                                                      .direction = side > 0 ? 1 : -1,
                                                      .rate = side * rate_at(run, piece, e, side),
                                                      .projected = projected};
        if (out->event_state) {
            sprag_ess_path(piece, run->kink_time[e], run->full);
            memcpy(out->event_state + (size_t)stats->events * (size_t)run->states, run->full,
                   (size_t)run->states * sizeof *run->full);
        }
    }
    if (stats->events > 0) {
        stats->smallest_gap = fmin(stats->smallest_gap, time - run->last_event);
    }
    run->last_event = time;
    stats->events++;
    projected ? stats->projected++ : stats->located++;
    window = window > 0 ? window : run->options->step;
    if (run->zeno_count[c->guard] == 0 || time - run->zeno_since[c->guard] > window) {
        run->zeno_since[c->guard] = time;
        run->zeno_count[c->guard] = 0;
    }
    if (++run->zeno_count[c->guard] > run->options->zeno_events) {
        sprag_ess_end(run, SPRAG_ESS_ZENO, c->guard,
                      "guard %d is crossed more than %d times in %g s", c->guard,
                      run->options->zeno_events, window);
    }
}

// Directions through a guard that is crossed at y1. Guards that are crossed within corner_time are
// one corner: directions are taken back to before its first guard, and through all.
static void turn_directions(sprag_ess_run *run, int guard, double time)
{
    sprag_corner *corner = &run->corner;
    size_t n = (size_t)run->states, bytes = (size_t)run->directions * n * sizeof(double);
    if (bytes == 0) {
        return;
    }
    bool same = corner->guards > 0 && corner->guards < corner->room &&
                time - corner->time <= run->options->corner_time;
    for (int i = 0; i < corner->guards; i++) {
        same &= corner->guard[i] != guard;
    }
    if (!same) {
        sprag_corner_move(corner, run->y1, run->guards.label);
        memcpy(corner->arrived, run->y1 + n, bytes);
        corner->time = time;
    }
    corner->guard[corner->guards++] = guard;
    run->stats->corners += corner->guards == 2;
    memcpy(run->y1 + n, corner->arrived, bytes);
    for (int d = 0; d < run->directions; d++) {
        if (!sprag_corner_map(corner, run->y1 + n * (size_t)(1 + d))) {
            sprag_ess_end(run, SPRAG_ESS_NOT_LIVE, guard,
                          "guard %d: direction %d is led to it by none of the fields around", guard,
                          d);
        }
    }
}

bool sprag_ess_cross(sprag_ess_run *run, sprag_ess_piece *piece, bool projected)
{
    sprag_guards *g = &run->guards;
    int most = run->candidates, events;
    memcpy(run->label, g->label, (size_t)g->count * sizeof *run->label);
    for (;;) {
        events = go_through(run, piece, most, projected);
        sprag_ess_value(run, run->y1, run->f1);
        if (group_is_good(run, piece, events)) {
            run->group = events == run->group ? 2 * run->group : run->group;
            break;
        }
        most = run->group = (events + 1) / 2;
        restore_labels(run);
    }
    run->group = run->group < 2 ? 2 : run->group > run->room_for ? run->room_for : run->group;
    const sprag_ess_candidate *last = &run->trial[run->order[events - 1]];
    restore_labels(run);
    double side = sprag_guards_side(g, last->guard), before = 0;
    double after = side * sprag_guards_rate(g, run->y1, last->guard, run->f1);
    if (after < 0) {
        before = rate_before(run, events, side);
        restore_labels(run);
        if (before == 0 && projected) {
            return false;
        }
    }
    piece->length = run->kink_time[events - 1];
    for (int e = 0; e < events; e++) {
        int guard = run->trial[run->order[e]].guard;
        record(run, piece, e, projected);
        turn_directions(run, guard, piece->start + piece->length);
        sprag_guards_cross(g, guard);
    }
    sprag_ess_stats *stats = run->stats;
    stats->largest_group = events > stats->largest_group ? events : stats->largest_group;
    sprag_ess_emit(run, piece);
    double *y = run->y, *f = run->f;
    run->y = run->y1;
    run->y1 = y;
    run->f = run->f1;
    run->f1 = f;
    if (run->directions > 0) { // they were turned since
        sprag_ess_value(run, run->y, run->f);
    }
    sprag_ess_arrive(run, piece->length);
    if (ends(run, last->guard)) {
        sprag_ess_end(run, SPRAG_ESS_LAST_EVENT, last->guard, "guard %d is crossed", last->guard);
    }
    if (before > 0 && sprag_ess_going(run)) {
        sprag_ess_end(run, SPRAG_ESS_SLIDING, last->guard,
                      "guard %d: f points at it from both sides, at rates %g and %g", last->guard,
                      before, after);
    }
    return true;
}
