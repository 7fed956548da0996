// Crossing guards along a piece of trajectory, earliest first.
//
// Where the problem knows the jump J of f at a guard, the piece goes on behind it with J added to
// its velocity, and further guards are crossed with no other evaluation of f: the projection of a
// corner (Council, Revzen, Burden, section 2), on a curved path. What this leaves out is D f times
// the displacement; the f that is evaluated at the end shows how much that is, and with too much of
// it half of the events are left to the next piece.
#include <math.h>
#include <string.h>

#include "ess_run.h"

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
    run->candidate[place] = (sprag_ess_candidate){guard, entries, side, time, rate, reach, false};
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

// Dh v of a candidate, in the direction of its crossing.
static double along(sprag_ess_run *run, int place, const double *x, const double *v)
{
    const sprag_ess_candidate *c = &run->candidate[place];
    if (!run->problem->row) {
        return c->side * sprag_guards_rate(&run->guards, x, c->guard, v);
    }
    const int *column = run->column + (size_t)place * run->row_room;
    const double *value = run->value + (size_t)place * run->row_room;
    double rate = 0;
    for (int e = 0; e < c->entries; e++) {
        rate += value[e] * v[column[e]];
    }
    return c->side * rate;
}

// ---- the candidate that comes next. Kinks move all of them, but none by much: those that are too
// late to be next by the most that any can have moved wait, in the order that they began with.

typedef struct queue {
    int waits, count, actives; // of run->line; of run->active
    double rate;               // least of those that wait
    double reach, growth;      // of the way that kinks made any h go: now, and per second
} queue;

static bool comes_before(const sprag_ess_candidate *a, const sprag_ess_candidate *b)
{
    return a->time < b->time || (a->time == b->time && a->guard < b->guard);
}

static void sort(const sprag_ess_candidate *candidate, int *line, int count)
{
    for (int gap = count / 2; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11) { // Shell's
        for (int i = gap; i < count; i++) {
            int place = line[i], at = i;
            for (; at >= gap && comes_before(&candidate[place], &candidate[line[at - gap]]);
                 at -= gap) {
                line[at] = line[at - gap];
            }
            line[at] = place;
        }
    }
}

static void enter(sprag_ess_run *run, queue *q, int place)
{
    const sprag_ess_candidate *c = &run->candidate[place];
    run->active[q->actives++] = (sprag_ess_moved){place, c->time, c->rate};
}

static queue line_up(sprag_ess_run *run)
{
    enum { FEW = 12 };
    queue q = {0};
    double sum = 0;
    int left = 0;
    for (int i = 0; i < run->candidates; i++) {
        if (run->candidate[i].time < INFINITY) {
            sum += run->candidate[i].rate;
            run->line[left++] = i;
        }
    }
    // Slow ones are moved far; few are quickly moved.
    q.rate = sum / (4 * left);
    for (int i = 0; i < left; i++) {
        int place = run->line[i];
        if (run->candidate[place].rate >= q.rate && left > FEW) {
            run->line[q.count++] = place;
        } else {
            enter(run, &q, place);
        }
    }
    sort(run->candidate, run->line, q.count);
    if (run->problem->row && q.count > 1) {
        memset(run->steep, 0, (size_t)run->states * sizeof *run->steep);
        for (int i = 0; i < q.count; i++) {
            size_t at = (size_t)run->line[i] * run->row_room;
            for (int e = 0; e < run->candidate[run->line[i]].entries; e++) {
                double *steep = &run->steep[run->column[at + (size_t)e]];
                *steep = sprag_ess_larger(*steep, fabs(run->value[at + (size_t)e]));
            }
        }
    }
    return q;
}

// How a change of f at x and time t turns one.
static void turn(sprag_ess_run *run, sprag_ess_moved *a, double t, const double *x,
                 const double *change)
{
    double rate = a->rate + along(run, a->place, x, change), left = a->time - t;
    a->time = !(rate > 0) || a->time == INFINITY ? INFINITY
              : left > 0                         ? t + left * a->rate / rate
                                                 : t;
    a->rate = rate;
}

static void turn_all(sprag_ess_run *run, queue *q, double t, const double *x, const double *change,
                     const double *kinks)
{
    for (int i = 0; i < q->actives; i++) {
        turn(run, &run->active[i], t, x, change);
    }
    if (q->waits == q->count) {
        return;
    }
    q->reach = q->growth = run->problem->row ? 0 : INFINITY;
    for (int i = 0; i < run->states && run->problem->row; i++) {
        q->reach += run->steep[i] * fabs(t * kinks[i] - kinks[run->states + i]);
        q->growth += run->steep[i] * fabs(kinks[i]);
    }
}

// One that waited, moved by all kinks (NULL: none) up to time t at x.
static void wake(sprag_ess_run *run, queue *q, double t, const double *x, const double *kinks)
{
    enter(run, q, run->line[q->waits++]);
    sprag_ess_moved *a = &run->active[q->actives - 1];
    if (kinks) {
        double rate = a->rate + along(run, a->place, x, kinks);
        double left = a->rate * (a->time - t) + along(run, a->place, x, kinks + run->states) -
                      t * (rate - a->rate);
        a->time = !(rate > 0) ? INFINITY : left > 0 ? t + left / rate : t;
        a->rate = rate;
    }
}

static bool is_sooner(const sprag_ess_run *run, const sprag_ess_moved *a, const sprag_ess_moved *b)
{
    return a->time < b->time ||
           (a->time == b->time && run->candidate[a->place].guard < run->candidate[b->place].guard);
}

// Takes it out. false: none is left.
static bool next_one(sprag_ess_run *run, queue *q, double t, const double *x, const double *kinks,
                     sprag_ess_moved *next)
{
    sprag_ess_moved *active = run->active;
    int best = -1, i = 0;
    for (;;) {
        if (i == q->actives && q->waits < q->count) {
            double time = run->candidate[run->line[q->waits]].time;
            double moved = (q->reach + q->growth * sprag_ess_larger(0, time - t)) / q->rate;
            if (best >= 0 && time - moved > active[best].time) {
                break;
            }
            wake(run, q, t, x, kinks);
        } else if (i == q->actives) {
            break;
        } else if (active[i].time == INFINITY) { // turned away
            active[i] = active[--q->actives];
        } else {
            best = best < 0 || is_sooner(run, &active[i], &active[best]) ? i : best;
            i++;
        }
    }
    if (best < 0) {
        return false;
    }
    *next = active[best];
    active[best] = active[--q->actives];
    return true;
}

// Newton on the piece as it is by now; predictions are of a piece without its last kinks. The point
// is where it is found, within rounding of a step. INFINITY: it does not converge.
static double refine(sprag_ess_run *run, const sprag_ess_piece *piece, const sprag_ess_moved *a,
                     double since)
{
    enum { ROUNDS = 4 };
    const sprag_ess_candidate *c = &run->candidate[a->place];
    double t = a->time;
    for (int round = 0; round < ROUNDS; round++) {
        sprag_ess_path(piece, t, run->point);
        double change = -c->side * sprag_guards_value(&run->guards, run->point, c->guard) / a->rate;
        if (!isfinite(change)) {
            return INFINITY;
        }
        t = sprag_ess_larger(since, t + change);
        if (fabs(change) <= 1e-6 * piece->length) { // converges quadratically
            return t;
        }
        if (t == since) {
            sprag_ess_path(piece, t, run->point);
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
    const double *kinks = NULL, *x = run->y1;
    double since = 0;
    int events = 0;
    queue q = line_up(run);
    sprag_ess_moved next;
    piece->kinks = 0;
    while (!last && events < most && next_one(run, &q, since, x, kinks, &next)) {
        double t = sprag_ess_larger(since, next.time);
        bool refined = events > 0 && !straight;
        t = refined ? refine(run, piece, &next, since) : t;
        if (events > 0 && !(t <= piece->length)) {
            break;
        }
        x = refined ? run->point : run->y1;
        if (!refined) {
            sprag_ess_path(piece, t, run->y1);
        }
        int guard = run->candidate[next.place].guard;
        run->kink_time[events] = since = t;
        run->crossed[events] = next;
        // What a reset arms is no candidate yet.
        last = g->reset_start[guard] < g->reset_start[guard + 1] || ends(run, guard);
        if (most > 1) {
            double *change = run->error;
            run->problem->jump(run->problem->user, x, g->label, guard, change);
            add_kink(run, piece, t, change);
            kinks = kink(run, events);
            last |= next.rate + along(run, next.place, x, change) < 0; // may be sliding
            turn_all(run, &q, t, x, change, kinks);
        }
        sprag_guards_relabel(g, guard, g->label);
        events++;
    }
    if (x == run->point) {
        sprag_ess_path(piece, since, run->y1);
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

static const sprag_ess_candidate *crossed(const sprag_ess_run *run, int event)
{
    return &run->candidate[run->crossed[event].place];
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
    int guard = crossed(run, events - 1)->guard;
    restore_labels(run);
    for (int e = 0; e < events - 1; e++) {
        sprag_guards_relabel(&run->guards, crossed(run, e)->guard, run->guards.label);
    }
    sprag_ess_value(run, run->y1, run->error);
    return fmax(0, side * sprag_guards_rate(&run->guards, run->y1, guard, run->error));
}

// Of an event: the candidate's, or, where it was located, by a difference along the piece.
static double rate_at(sprag_ess_run *run, const sprag_ess_piece *piece, int e, double side)
{
    if (!piece->smooth) {
        return run->crossed[e].rate;
    }
    sprag_ess_piece before = *piece;
    before.kinks = e < piece->kinks ? e : piece->kinks;
    double span = 1e-5 * piece->step, h[2];
    for (int s = 0; s < 2; s++) {
        sprag_ess_path(&before, run->kink_time[e] + (s ? span : -span), run->point);
        h[s] = side * sprag_guards_value(&run->guards, run->point, crossed(run, e)->guard);
    }
    return (h[1] - h[0]) / (2 * span);
}

static void record(sprag_ess_run *run, const sprag_ess_piece *piece, int e, bool projected)
{
    const sprag_ess_candidate *c = crossed(run, e);
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

// Has the flow gone across a guard at h_end that is no candidate? Then it went the wrong way.
static bool jumped_over(sprag_ess_run *run)
{
    bool over = false;
    for (int i = 0; i < run->candidates; i++) {
        run->marked[run->candidate[i].guard] = true;
    }
    for (int i = 0; i < run->next.nears; i++) {
        int k = run->next.near[i];
        over |= !run->marked[k] && run->guards.sign[k] * run->h_end[k] > 0;
    }
    for (int i = 0; i < run->candidates; i++) {
        run->marked[run->candidate[i].guard] = false;
    }
    return over;
}

static int largest_group(sprag_ess_run *run, sprag_ess_piece *piece, bool projected)
{
    for (int most = run->candidates;;) {
        int events = go_through(run, piece, most, projected);
        sprag_ess_value(run, run->y1, run->f1);
        if (group_is_good(run, piece, events)) {
            int more = events == run->group ? 2 * run->group : run->group;
            run->group = more > run->room_for ? run->room_for : more < 2 ? 2 : more;
            return events;
        }
        most = run->group = (events + 1) / 2;
        restore_labels(run);
    }
}

// y1 and f1 are the point behind the events.
static void move_on(sprag_ess_run *run, sprag_ess_piece *piece)
{
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
}

bool sprag_ess_cross(sprag_ess_run *run, sprag_ess_piece *piece, bool projected)
{
    sprag_guards *g = &run->guards;
    memcpy(run->label, g->label, (size_t)g->count * sizeof *run->label);
    int events = largest_group(run, piece, projected);
    restore_labels(run);
    sprag_ess_look(run, run->y1, run->kink_time[events - 1]);
    if (projected && jumped_over(run)) {
        run->stats->refused[SPRAG_ESS_NOT_FIRST]++;
        return false;
    }
    int last = crossed(run, events - 1)->guard;
    double side = sprag_guards_side(g, last), before = 0;
    double after = side * sprag_guards_rate(g, run->y1, last, run->f1);
    if (after < 0) {
        before = rate_before(run, events, side);
        restore_labels(run);
        if (before == 0 && projected) {
            run->stats->refused[SPRAG_ESS_GRAZING]++;
            return false;
        }
    }
    piece->length = run->kink_time[events - 1];
    for (int e = 0; e < events; e++) {
        int guard = crossed(run, e)->guard;
        record(run, piece, e, projected);
        turn_directions(run, guard, piece->start + piece->length);
        sprag_guards_cross(g, guard);
    }
    sprag_ess_stats *stats = run->stats;
    stats->largest_group = events > stats->largest_group ? events : stats->largest_group;
    move_on(run, piece);
    if (ends(run, last)) {
        sprag_ess_end(run, SPRAG_ESS_LAST_EVENT, last, "guard %d is crossed", last);
    }
    if (before > 0 && sprag_ess_going(run)) {
        sprag_ess_end(run, SPRAG_ESS_SLIDING, last,
                      "guard %d: f points at it from both sides, at rates %g and %g", last, before,
                      after);
    }
    return true;
}
