// Crosses guards along a piece of trajectory, earliest first.
//
// If the problem gives the jump J of f at a guard, the piece continues behind it with J added to
// its velocity, and further guards are crossed without another evaluation of f: the projection of a
// corner (Council, Revzen, Burden, section 2), on a curved path. This neglects D f times the
// displacement. The f that is evaluated at the end shows how much that is; if it is too much, half
// of the events are left to the next piece.
#include <math.h>
#include <string.h>

#include "ess_run.h"
#include "linalg.h"

void sprag_ess_add_candidate(sprag_ess_run *run, int guard, double time, double rate, double value)
{
    int place = run->group.candidates, entries = run->guards.row.entries;
    if (place == run->group.room) {
        place = 0;
        for (int i = 1; i < run->group.candidates; i++) {
            place = run->group.candidate[i].time >= run->group.candidate[place].time ? i : place;
        }
        if (time >= run->group.candidate[place].time) {
            return;
        }
    } else {
        run->group.candidates++;
    }
    double side = sprag_guards_side(&run->guards, guard);
    run->group.candidate[place] =
        (sprag_ess_candidate){guard, entries, side, time, rate, value, false};
    if (run->group.room > 1) {
        size_t at = (size_t)place * run->group.row_room, count = (size_t)entries;
        memcpy(run->group.column + at, run->guards.row.column, count * sizeof *run->group.column);
        memcpy(run->group.value + at, run->guards.row.value, count * sizeof *run->group.value);
    }
}

// Sums of J and of t J after event i.
static double *kink(sprag_ess_run *run, int i)
{
    return run->group.kink + (size_t)i * 2 * (size_t)run->states;
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

// Dh v of a candidate, in the direction of its crossing, per s if v is a velocity.
static double along(sprag_ess_run *run, int place, const double *x, const double *v)
{
    const sprag_ess_candidate *c = &run->group.candidate[place];
    if (!run->problem->row) {
        return c->side * sprag_guards_rate(&run->guards, x, c->guard, v);
    }
    const int *column = run->group.column + (size_t)place * run->group.row_room;
    const double *value = run->group.value + (size_t)place * run->group.row_room;
    double rate = 0;
    for (int e = 0; e < c->entries; e++) {
        rate += value[e] * v[column[e]];
    }
    return c->side * rate;
}

// ---- the next candidate. Kinks change the times of all candidates, but of none by much:
// candidates that are too late to be next, by the largest change that is possible, wait in their
// first order.

typedef struct order {
    int actives;          // candidates in group.active
    int waits, count;     // place of the next candidate in group.waiting; their number there
    double rate;          // per s, least rate of those that wait
    double reach, growth; // units of h, bound of the change of any h by kinks: now; per s
} order;

static bool comes_before(const sprag_ess_candidate *a, const sprag_ess_candidate *b)
{
    return a->time < b->time || (a->time == b->time && a->guard < b->guard);
}

static void sort(const sprag_ess_candidate *candidate, int *line, int count)
{
    for (int gap = count; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11) { // Shell's
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

static void make_active(sprag_ess_run *run, order *q, int place)
{
    const sprag_ess_candidate *c = &run->group.candidate[place];
    run->group.active[q->actives++] = (sprag_ess_moved){place, c->time, c->rate};
}

static order sort_candidates(sprag_ess_run *run)
{
    order q = {0};
    double sum = 0;
    int left = 0;
    for (int i = 0; i < run->group.candidates; i++) {
        if (run->group.candidate[i].time < INFINITY) {
            sum += run->group.candidate[i].rate;
            run->group.waiting[left++] = i;
        }
    }
    // Kinks change the times of slow candidates most: those stay active, and all if there are few.
    q.rate = sum / (SPRAG_ESS_SLOW_RATE * left);
    for (int i = 0; i < left; i++) {
        int place = run->group.waiting[i];
        if (run->group.candidate[place].rate >= q.rate && left > SPRAG_ESS_FEW) {
            run->group.waiting[q.count++] = place;
        } else {
            make_active(run, &q, place);
        }
    }
    sort(run->group.candidate, run->group.waiting, q.count);
    if (run->problem->row && q.count > 1) {
        memset(run->group.largest, 0, (size_t)run->states * sizeof *run->group.largest);
        for (int i = 0; i < q.count; i++) {
            size_t at = (size_t)run->group.waiting[i] * run->group.row_room;
            for (int e = 0; e < run->group.candidate[run->group.waiting[i]].entries; e++) {
                double *largest = &run->group.largest[run->group.column[at + (size_t)e]];
                *largest = sprag_ess_larger(*largest, fabs(run->group.value[at + (size_t)e]));
            }
        }
    }
    return q;
}

// Updates the time and rate of a candidate for a jump `change` of f at x and time t.
static void update(sprag_ess_run *run, sprag_ess_moved *a, double t, const double *x,
                   const double *change)
{
    double rate = a->rate + along(run, a->place, x, change), left = a->time - t;
    a->time = !(rate > 0) || a->time == INFINITY ? INFINITY
              : left > 0                         ? t + left * a->rate / rate
                                                 : t;
    a->rate = rate;
}

static void update_all(sprag_ess_run *run, order *q, double t, const double *x,
                       const double *change, const double *kinks)
{
    for (int i = 0; i < q->actives; i++) {
        update(run, &run->group.active[i], t, x, change);
    }
    if (q->waits == q->count) {
        return;
    }
    q->reach = q->growth = run->problem->row ? 0 : INFINITY;
    for (int i = 0; i < run->states && run->problem->row; i++) {
        q->reach += run->group.largest[i] * fabs(t * kinks[i] - kinks[run->states + i]);
        q->growth += run->group.largest[i] * fabs(kinks[i]);
    }
}

// Makes the next waiting candidate active and updates it for all kinks (NULL: none) up to time t at
// x.
static void activate(sprag_ess_run *run, order *q, double t, const double *x, const double *kinks)
{
    make_active(run, q, run->group.waiting[q->waits++]);
    sprag_ess_moved *a = &run->group.active[q->actives - 1];
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
    return a->time < b->time || (a->time == b->time && run->group.candidate[a->place].guard <
                                                           run->group.candidate[b->place].guard);
}

// Takes the earliest candidate out. false: none is left.
static bool take_next(sprag_ess_run *run, order *q, double t, const double *x, const double *kinks,
                      sprag_ess_moved *next)
{
    sprag_ess_moved *active = run->group.active;
    int best = -1, i = 0;
    for (;;) {
        if (i == q->actives && q->waits < q->count) {
            double time = run->group.candidate[run->group.waiting[q->waits]].time;
            double moved = (q->reach + q->growth * sprag_ess_larger(0, time - t)) / q->rate;
            if (best >= 0 && time - moved > active[best].time) {
                break;
            }
            activate(run, q, t, x, kinks);
        } else if (i == q->actives) {
            break;
        } else if (active[i].time == INFINITY) { // kinks have turned the flow away from it
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

// Newton's method for the time of a candidate on the piece with its kinks so far (the prediction
// neglects the last one). The point is work.point. INFINITY: it does not converge.
static double refine_time(sprag_ess_run *run, const sprag_ess_piece *piece,
                          const sprag_ess_moved *a, double since)
{
    const sprag_ess_candidate *c = &run->group.candidate[a->place];
    double t = a->time;
    for (int round = 0; round < SPRAG_ESS_REFINEMENTS; round++) {
        sprag_ess_path(piece, t, run->work.point);
        double change =
            -c->side * sprag_guards_value(&run->guards, run->work.point, c->guard) / a->rate;
        if (!isfinite(change)) {
            return INFINITY;
        }
        t = sprag_ess_larger(since, t + change);
        if (fabs(change) <= SPRAG_ESS_REFINED * piece->length) {
            return t;
        }
        if (t == since) {
            sprag_ess_path(piece, t, run->work.point);
            return t;
        }
    }
    return INFINITY;
}

static bool is_terminal(const sprag_ess_run *run, int guard)
{
    return run->problem->terminal && run->problem->terminal[guard];
}

// Crosses at most `most` candidates: finds their order, times, kinks and labels, and leaves the
// point of the last in next.y. Returns their number.
static int cross_candidates(sprag_ess_run *run, sprag_ess_piece *piece, int most, bool projected)
{
    sprag_guards *g = &run->guards;
    bool straight = projected && run->options->mode == SPRAG_ESS_FIRST, last = false;
    const double *kinks = NULL, *x = run->next.y;
    double since = 0;
    int events = 0;
    order q = sort_candidates(run);
    sprag_ess_moved next;
    piece->kinks = 0;
    while (!last && events < most && take_next(run, &q, since, x, kinks, &next)) {
        double t = sprag_ess_larger(since, next.time);
        bool refined = events > 0 && !straight;
        t = refined ? refine_time(run, piece, &next, since) : t;
        if (events > 0 && !(t <= piece->length)) {
            break;
        }
        x = refined ? run->work.point : run->next.y;
        if (!refined) {
            sprag_ess_path(piece, t, run->next.y);
        }
        int guard = run->group.candidate[next.place].guard;
        run->group.kink_time[events] = since = t;
        run->group.crossed[events] = next;
        // A guard that a reset arms is not a candidate yet: the group ends here.
        last = g->reset_start[guard] < g->reset_start[guard + 1] || is_terminal(run, guard);
        if (most > 1) {
            double *change = run->work.error;
            run->problem->jump(run->problem->user, x, g->label, guard, change);
            add_kink(run, piece, t, change);
            kinks = kink(run, events);
            // f may point at the guard from both sides.
            last |= next.rate + along(run, next.place, x, change) < 0;
            update_all(run, &q, t, x, change, kinks);
        }
        sprag_guards_relabel(g, guard, g->label);
        events++;
    }
    if (x == run->work.point) {
        sprag_ess_path(piece, since, run->next.y);
    }
    return events;
}

// f at the end of several events, as the piece has it: by a difference, plus the kinks.
static void end_velocity(sprag_ess_run *run, const sprag_ess_piece *piece, int events, double *v)
{
    double t = run->group.kink_time[events - 1], span = SPRAG_ESS_SPAN_END * piece->length;
    double before = fmax(0, t - span), after = fmin(piece->length, before + 2 * span);
    sprag_ess_piece smooth = *piece;
    smooth.kinks = 0;
    sprag_ess_path(&smooth, after, v);
    sprag_ess_path(&smooth, before, run->work.point);
    for (int i = 0; i < run->states; i++) {
        v[i] = (v[i] - run->work.point[i]) / (after - before) + kink(run, events - 1)[i];
    }
}

// Adds what a group has neglected up to its end, work.error, to its path.
static void correct_path(sprag_ess_run *run, int events)
{
    const size_t n = (size_t)run->states;
    const double first = run->group.kink_time[0], last = run->group.kink_time[events - 1];
    for (int e = 0; e < events; e++) {
        double *change = kink(run, e), *moment = change + n;
        add_scaled(change, 1 / (last - first), run->work.error, run->states);
        add_scaled(moment, first / (last - first), run->work.error, run->states);
    }
    add_scaled(run->next.y, 1, run->work.error, run->states);
}

// Whether the part of f that a group of events neglects is within the tolerance; then adds its
// effect.
static bool is_group_accurate(sprag_ess_run *run, const sprag_ess_piece *piece, int events)
{
    double span = run->group.kink_time[events - 1] - run->group.kink_time[0];
    if (events == 1 || span == 0) {
        return true;
    }
    end_velocity(run, piece, events, run->work.error);
    for (int i = 0; i < run->states; i++) {
        run->work.error[i] = span / 2 * (run->next.f[i] - run->work.error[i]);
    }
    bool accurate = sprag_ess_norm(run, run->work.error) <= 1;
    if (accurate) {
        correct_path(run, events);
    }
    return accurate;
}

static const sprag_ess_candidate *crossed(const sprag_ess_run *run, int event)
{
    return &run->group.candidate[run->group.crossed[event].place];
}

static void restore_labels(sprag_ess_run *run)
{
    memcpy(run->guards.label, run->group.label,
           (size_t)run->guards.count * sizeof *run->group.label);
}

// Rate of the last guard before its event, called if the flow behind it leads back: positive if f
// points at the guard from both sides (sliding); 0 if the guard was not reached, or only touched.
static double rate_before(sprag_ess_run *run, int events, double side)
{
    int guard = crossed(run, events - 1)->guard;
    restore_labels(run);
    for (int e = 0; e < events - 1; e++) {
        sprag_guards_relabel(&run->guards, crossed(run, e)->guard, run->guards.label);
    }
    sprag_ess_value(run, run->next.y, run->work.error);
    return fmax(0, side * sprag_guards_rate(&run->guards, run->next.y, guard, run->work.error));
}

// Rate of an event: the candidate's, or, if it was located, by a difference along the piece.
static double rate_at(sprag_ess_run *run, const sprag_ess_piece *piece, int e, double side)
{
    if (!piece->smooth) {
        return run->group.crossed[e].rate;
    }
    sprag_ess_piece before = *piece;
    before.kinks = e < piece->kinks ? e : piece->kinks;
    double span = SPRAG_ESS_SPAN_RATE * piece->step, h[2];
    for (int s = 0; s < 2; s++) {
        sprag_ess_path(&before, run->group.kink_time[e] + (s ? span : -span), run->work.point);
        h[s] = side * sprag_guards_value(&run->guards, run->work.point, crossed(run, e)->guard);
    }
    return (h[1] - h[0]) / (2 * span);
}

static void record_event(sprag_ess_run *run, const sprag_ess_piece *piece, int e, bool projected)
{
    const sprag_ess_candidate *c = crossed(run, e);
    sprag_ess_stats *stats = run->stats;
    sprag_ess_output *out = run->output;
    double time = piece->start + run->group.kink_time[e], window = run->options->zeno_time;
    double side = sprag_guards_side(&run->guards, c->guard);
    if (out && out->event && stats->events < out->event_room) {
        out->event[stats->events] = (sprag_ess_event){.time = time,
                                                      .guard = c->guard,
                                                      .direction = side > 0 ? 1 : -1,
                                                      .rate = side * rate_at(run, piece, e, side),
                                                      .projected = projected};
        if (out->event_state) {
            sprag_ess_path(piece, run->group.kink_time[e], run->work.full);
            memcpy(out->event_state + (size_t)stats->events * (size_t)run->states, run->work.full,
                   (size_t)run->states * sizeof *run->work.full);
        }
    }
    if (stats->events > 0) {
        stats->smallest_gap = fmin(stats->smallest_gap, time - run->zeno.last_event);
    }
    run->zeno.last_event = time;
    stats->events++;
    projected ? stats->projected++ : stats->located++;
    window = window > 0 ? window : run->options->step;
    if (run->zeno.count[c->guard] == 0 || time - run->zeno.since[c->guard] > window) {
        run->zeno.since[c->guard] = time;
        run->zeno.count[c->guard] = 0;
    }
    if (++run->zeno.count[c->guard] > run->options->zeno_events) {
        sprag_ess_end(run, SPRAG_ESS_ZENO, c->guard,
                      "guard %d is crossed more than %d times in %g s", c->guard,
                      run->options->zeno_events, window);
    }
}

// Maps the directions through a guard that is crossed at next.y. Guards that are crossed within
// corner_time are one corner: directions are taken back to before its first guard, and mapped
// through all.
static void map_directions(sprag_ess_run *run, int guard, double time)
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
        sprag_corner_move(corner, run->next.y, run->guards.label);
        memcpy(corner->arrived, run->next.y + n, bytes);
        corner->time = time;
    }
    corner->guard[corner->guards++] = guard;
    run->stats->corners += corner->guards == 2;
    memcpy(run->next.y + n, corner->arrived, bytes);
    for (int d = 0; d < run->directions; d++) {
        if (!sprag_corner_map(corner, run->next.y + n * (size_t)(1 + d))) {
            sprag_ess_end(run, SPRAG_ESS_NOT_LIVE, guard,
                          "guard %d: no field around it leads direction %d to it", guard, d);
        }
    }
}

// Whether the flow has crossed a guard at next.h that is no candidate: then it went the wrong way.
static bool jumped_over(sprag_ess_run *run)
{
    bool over = false;
    for (int i = 0; i < run->group.candidates; i++) {
        run->work.marked[run->group.candidate[i].guard] = true;
    }
    for (int i = 0; i < run->next.scan.due_count; i++) {
        int k = run->next.scan.due[i];
        over |= !run->work.marked[k] && run->guards.sign[k] * run->next.h[k] > 0;
    }
    for (int i = 0; i < run->group.candidates; i++) {
        run->work.marked[run->group.candidate[i].guard] = false;
    }
    return over;
}

// Whether a projection ended so near to its last guard that crossing it here, and not on it,
// changes the state within the tolerance: h / rate is the time to the guard, and f jumps there.
static bool is_on_guard(sprag_ess_run *run, int events)
{
    const sprag_ess_moved *last = &run->group.crossed[events - 1];
    double late = run->next.h[crossed(run, events - 1)->guard] / last->rate;
    memset(run->work.error, 0, (size_t)run->size * sizeof *run->work.error);
    for (int i = 0; i < run->states; i++) {
        run->work.error[i] = late * (run->next.f[i] - run->now.f[i]);
    }
    return run->options->trust_eps || sprag_ess_norm(run, run->work.error) <= 1;
}

// Does a single located event end the integration? Then f behind it is of no use.
static bool ends(const sprag_ess_run *run, int events, bool projected)
{
    const int guard = crossed(run, events - 1)->guard;
    return events == 1 && !projected && run->directions == 0 && is_terminal(run, guard) &&
           !sprag_ess_has_map(run, guard);
}

static int largest_group(sprag_ess_run *run, sprag_ess_piece *piece, bool projected)
{
    for (int most = run->group.candidates;;) {
        int events = cross_candidates(run, piece, most, projected);
        if (ends(run, events, projected)) {
            memcpy(run->next.f, run->now.f, (size_t)run->size * sizeof *run->next.f);
        } else {
            sprag_ess_value(run, run->next.y, run->next.f);
        }
        bool good = is_group_accurate(run, piece, events);
        restore_labels(run);
        if (good) {
            sprag_ess_scan_at(run, run->next.y, run->group.kink_time[events - 1]);
        }
        // Kinks may hurry the flow across a guard that was not among the earliest without them.
        if (good && (events == 1 || !jumped_over(run))) {
            int more = events == run->group.target ? 2 * run->group.target : run->group.target;
            run->group.target = more > run->group.room ? run->group.room : more < 2 ? 2 : more;
            return events;
        }
        most = run->group.target = (events + 1) / 2;
    }
}

// Continues at run->next, which is the point behind the events. since: s, how long h has been
// smooth.
static void advance(sprag_ess_run *run, sprag_ess_piece *piece, double since)
{
    sprag_ess_emit(run, piece);
    double *y = run->now.y, *f = run->now.f;
    run->now.y = run->next.y;
    run->next.y = y;
    run->now.f = run->next.f;
    run->next.f = f;
    if (run->directions > 0) { // they were mapped since
        sprag_ess_value(run, run->now.y, run->now.f);
    }
    sprag_ess_arrive(run, since);
}

bool sprag_ess_cross(sprag_ess_run *run, sprag_ess_piece *piece, bool projected)
{
    sprag_guards *g = &run->guards;
    memcpy(run->group.label, g->label, (size_t)g->count * sizeof *run->group.label);
    int events = largest_group(run, piece, projected);
    if (projected && jumped_over(run)) {
        run->stats->refused[SPRAG_ESS_NOT_FIRST]++;
        return false;
    }
    if (projected && !is_on_guard(run, events)) {
        run->stats->refused[SPRAG_ESS_INACCURATE]++;
        return false;
    }
    int last = crossed(run, events - 1)->guard;
    double side = sprag_guards_side(g, last), before = 0;
    bool has_map = sprag_ess_has_map(run, last);
    double after = ends(run, events, projected)
                       ? 0
                       : side * sprag_guards_rate(g, run->next.y, last, run->next.f);
    if (after < 0) {
        before = rate_before(run, events, side);
        restore_labels(run);
        if (before == 0 && projected) {
            run->stats->refused[SPRAG_ESS_GRAZING]++;
            return false;
        }
    }
    piece->length = run->group.kink_time[events - 1];
    for (int e = 0; e < events; e++) {
        int guard = crossed(run, e)->guard;
        record_event(run, piece, e, projected);
        if (has_map) { // the only event
            sprag_ess_cross_and_map(run, guard);
        } else {
            map_directions(run, guard, piece->start + piece->length);
            sprag_guards_cross(g, guard);
        }
        run->behind[guard] = fmax(0, -run->next.h[guard]);
    }
    sprag_ess_stats *stats = run->stats;
    stats->largest_group = events > stats->largest_group ? events : stats->largest_group;
    advance(run, piece, has_map ? 0 : piece->length);
    if (is_terminal(run, last)) {
        sprag_ess_end(run, SPRAG_ESS_LAST_EVENT, last, "guard %d is crossed", last);
    }
    if (before > 0 && !has_map && sprag_ess_is_running(run)) {
        sprag_ess_end(run, SPRAG_ESS_SLIDING, last,
                      "guard %d: f points at it from both sides, at rates %g and %g", last, before,
                      after);
    }
    return true;
}
