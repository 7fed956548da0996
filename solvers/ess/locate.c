// Guards that are crossed within a step, found on its dense output: by their signs at its ends and
// at samples between; where a parabola through three of these may touch the guard, by its top; then
// by a root.
#include <float.h>
#include <math.h>

#include "ess_run.h"

typedef struct probe { // h of one guard, in the direction of its crossing, minus a level (h's
                       // units)
    sprag_ess_run *run;
    int guard;
    double side, level;
} probe;

static double probe_at(const probe *p, double part)
{
    sprag_ess_run *run = p->run;
    const sprag_ess_problem *problem = run->problem;
    int range[2 * SPRAG_ESS_RANGES] = {0, run->size};
    int ranges = problem->reads ? problem->reads(problem->user, p->guard, range) : 1;
    for (int i = 0; i < ranges; i++) {
        run->smooth->between(run->work.smooth, run->size, part, range[2 * i], range[2 * i + 1],
                             run->work.point);
    }
    return p->side * sprag_guards_value(&run->guards, run->work.point, p->guard) - p->level;
}

typedef sprag_ess_bracket bracket;

// Root in a bracket: secants from the guess with its slope, bisection where they leave the bracket.
// The result may be on either side of the guard.
static double root(const probe *p, bracket *b, double tolerance)
{
    double low = b->low, high = b->high, part = b->guess, slope = b->slope, last = 0, at_last = 0;
    // If the guard was just crossed in the other direction, h is rounding there and falls at first.
    double behind = low + SPRAG_ESS_BEHIND;
    if (b->at_low > -SPRAG_ESS_JUST * b->at_high && behind < high && probe_at(p, behind) <= 0) {
        low = behind;
    }
    for (int round = 0; high - low > DBL_EPSILON; round++) {
        part = part > low && part < high && round < SPRAG_ESS_SECANTS ? part : (low + high) / 2;
        double s = probe_at(p, part);
        if (s > 0) {
            high = part;
        } else {
            low = part;
        }
        double moved = round > 0 ? fabs(part - last) : INFINITY;
        slope = round > 0 && s != at_last ? (s - at_last) / (part - last) : slope;
        last = part;
        at_last = s;
        double change = slope > 0 ? -s / slope : INFINITY;
        part += change;
        // The next change of a secant is about this one times the last; a margin is added.
        bool settled = fabs(change) <= SPRAG_ESS_SETTLED * moved &&
                       SPRAG_ESS_MARGIN * moved * fabs(change) <= tolerance;
        if (settled || fabs(change) <= tolerance) {
            break;
        }
    }
    b->slope = slope > 0 ? slope : b->slope;
    return fmin(fmax(part, low), high);
}

static void between_points(bracket *b, double low, double at_low, double high, double at_high)
{
    double slope = (at_high - at_low) / (high - low);
    *b = (bracket){.low = low,
                   .at_low = at_low,
                   .high = high,
                   .at_high = at_high,
                   .guess = low - at_low / slope,
                   .slope = slope};
}

// Looks for a point beyond the guard between two samples that are before it: around the highest of
// ever nearer points and at the top of a parabola there, while their second difference leaves room
// for one.
static bool find_touch(const probe *p, double from, double to, bracket *found)
{
    for (int level = 0; level < SPRAG_ESS_TOUCH_LEVELS; level++) {
        double s[SPRAG_ESS_TOUCH_POINTS + 1], width = (to - from) / SPRAG_ESS_TOUCH_POINTS;
        int best = 0;
        for (int i = 0; i <= SPRAG_ESS_TOUCH_POINTS; i++) {
            s[i] = probe_at(p, from + i * width);
            if (s[i] > 0) { // s[0] is not positive
                between_points(found, from + (i - 1) * width, s[i - 1], from + i * width, s[i]);
                return true;
            }
            best = s[i] > s[best] ? i : best;
        }
        int middle = best == 0                        ? 1
                     : best == SPRAG_ESS_TOUCH_POINTS ? SPRAG_ESS_TOUCH_POINTS - 1
                                                      : best;
        double bend = s[middle - 1] - 2 * s[middle] + s[middle + 1];
        double away = (s[middle - 1] - s[middle + 1]) / (2 * bend); // of the top, in widths
        if (bend < 0 && fabs(away) < 1) {
            double top = from + (middle + away) * width, low = from + (middle - (away < 0)) * width;
            double at_top = probe_at(p, top);
            if (at_top > 0 && top > low) {
                between_points(found, low, s[middle - (away < 0)], top, at_top);
                return true;
            }
        }
        if (s[best] + fabs(bend) <= 0) {
            return false;
        }
        double center = from + best * width;
        to = fmin(to, center + width);
        from = fmax(from, center - width);
    }
    return false;
}

// A bracket between sample `low` and the next of three samples s, with a guess by the parabola
// through them. The first of the three is number `first` of last + 1.
static bracket guess_between(const double s[3], int first, int low, int last)
{
    double left = s[1] - s[0], right = s[2] - s[1], bend = (right - left) / 2; // in samples
    double slope = (low == 0 ? left : right) - bend; // at the lower sample
    double there =
        sqrt(sprag_ess_larger(0, slope * slope - 4 * bend * s[low])); // slope at the root
    // The root where s grows; just behind another crossing s falls at first.
    double ahead = slope > 0 ? -2 * s[low] / (slope + there) : (there - slope) / (2 * bend);
    double width = 1.0 / last, part = (first + low) * width, next = (first + low + 1) * width;
    return (bracket){.low = part,
                     .at_low = s[low],
                     .high = next,
                     .at_high = s[low + 1],
                     .slope = there * last,
                     .guess = isfinite(ahead) ? part + ahead * width : next};
}

// An unseen guard that is beyond at all samples: the flow was before it at first, for a time that
// the parabola through the first two samples tells, with the rate at the start. Where that is too
// short to see h change its sign, as between the last bounces of a ball, it is the time itself.
static bool find_return(const probe *p, const double *s, int last, bracket *found)
{
    sprag_ess_run *run = p->run;
    double width = 1.0 / last;
    double rate = p->side * sprag_guards_rate(&run->guards, run->now.y, p->guard, run->now.f) *
                  run->samples.length;
    double bend = ((s[1] - s[0]) / width - rate) / width, back = -rate / bend;
    if (!(rate <= 0) || !(bend > 0) || !(back < width)) {
        return false; // it does not come back within the first two samples
    }
    double middle = back / 2, at_middle = probe_at(p, middle);
    *found = (bracket){.low = back, .high = back, .guess = back, .slope = -rate};
    if (at_middle <= 0) {
        found->low = middle, found->at_low = at_middle;
        found->high = width, found->at_high = s[1];
    }
    return true;
}

// A bracket of the first root by samples s[0..last] at equal distances, minus the level. false: the
// guard is not reached.
static bool find_bracket(const probe *p, const double *s, int last, bracket *found)
{
    int i = 0;
    while (i <= last && !(s[i] <= 0)) {
        i++;
    }
    if (i > last) {
        return find_return(p, s, last, found);
    }
    for (int start = i++; i <= last; i++) {
        int first = i < 2 ? 0 : i - 2;
        if (s[i] > 0) {
            *found = guess_between(s + first, first, i - 1 - first, last);
            return true;
        }
        if (i - start < 2) {
            continue;
        }
        double most = fmax(s[i], fmax(s[i - 1], s[i - 2]));
        double bend = fabs(s[i] - 2 * s[i - 1] + s[i - 2]);
        bool inside =
            fabs(s[i] - s[i - 2]) < 3 * bend; // the top of the parabola is inside, or near
        if (inside && most + bend / 4 > 0 &&
            find_touch(p, (double)first / last, (first + 2.0) / last, found)) {
            found->touch = true;
            return true;
        }
    }
    return false;
}

static double along_step(const void *data, double part)
{
    return probe_at(data, part);
}

// A bracket of the first root of a guard with a bound on its speed.
static bool find_bounded(const probe *p, const double *s, int last, bool fresh, bracket *found)
{
    sprag_ess_run *run = p->run;
    sprag_ess_way way = {run,
                         along_step,
                         p,
                         run->problem->rate_bound[p->guard] * run->samples.length,
                         run->label_tolerance[p->guard],
                         false};
    sprag_ess_place low, beyond;
    bool any = sprag_ess_first_crossing(&way, s, last, fresh, &low, &beyond);
    if (way.too_fast) {
        sprag_ess_end_too_fast(run, p->guard);
    } else if (any) {
        between_points(found, low.part, low.s, beyond.part, beyond.s);
    }
    return any;
}

// Searches a bracket by the samples of one guard. false: the step does not reach it.
static bool bracket_guard(sprag_ess_run *run, int guard, bracket *found)
{
    const sprag_guards *g = &run->guards;
    int last = run->options->samples + 1;
    bool fresh = g->unseen[guard];
    double side = fresh ? sprag_guards_side(g, guard) : g->sign[guard], eps = g->eps[guard];
    // The root of the band's edge is searched where projections start there, unless one was refused
    // inside the band.
    bool edge = run->samples.to_edges && eps > 0 && !fresh &&
                side * run->samples.h[0][guard] < -eps * SPRAG_GUARDS_EDGE;
    probe p = {run, guard, side, edge ? -eps : 0};
    double s[SPRAG_ESS_SAMPLES + 2], highest = -INFINITY, bend = 0, sum = 0;
    for (int i = 0; i <= last; i++) {
        s[i] = run->problem->has_bounds ? probe_at(&p, (double)i / last)
                                        : side * run->samples.h[i][guard] - p.level;
        sum += s[i] - s[i];
        highest = s[i] > highest ? s[i] : highest;
        double here = i < 2 ? 0 : fabs(s[i] - s[i - 1] - (s[i - 1] - s[i - 2]));
        bend = here > bend ? here : bend;
    }
    if (sum != 0) {
        sprag_ess_end(run, SPRAG_ESS_BAD_VALUE, guard, "h[%d] is not finite within a step", guard);
        return false;
    }
    const double *bound = run->problem->rate_bound;
    bool is_bounded = bound && bound[guard] < INFINITY;
    if (side == 0 || (!is_bounded && highest + bend / 4 <= 0)) {
        return false; // it is not watched, or in its band, but not crossed
    }
    // A touch that leads less than the tolerance beyond may still show in the samples.
    bool any =
        (is_bounded && find_bounded(&p, s, last, fresh, found)) || find_bracket(&p, s, last, found);
    found->guard = guard;
    found->edge = edge;
    return any;
}

static void queue_guards(sprag_ess_run *run)
{
    const int *which = run->samples.reached;
    int count = run->samples.reached_count;
    bracket extra;
    run->queue.count = 0;
    for (int i = 0; i < count + run->guards.unseen_count; i++) {
        int guard = i < count ? which[i] : run->guards.unseen_list[i - count],
            place = run->queue.count;
        if (i < count && run->guards.unseen[guard]) {
            continue; // it is in the list of unseen guards, too
        }
        bracket *b = place < run->group.room ? &run->queue.bracket[place] : &extra;
        if (bracket_guard(run, guard, b)) {
            sprag_ess_push(run, (sprag_ess_pending){b->guess, guard, place});
        }
    }
}

// Solves for the root (a part of the step) of a guard in the queue, and its slope there. edge: it
// is the root of the band's edge.
static double solve(sprag_ess_run *run, int guard, int place, double tolerance, double *slope,
                    bool *edge)
{
    const sprag_guards *g = &run->guards;
    bracket again, *b = place < run->group.room ? &run->queue.bracket[place] : &again;
    if (b == &again && !bracket_guard(run, guard, b)) {
        *slope = 0; // it was there before: the run has ended since
        *edge = false;
        return 1;
    }
    probe p = {run, guard, sprag_guards_side(g, guard), b->edge ? -g->eps[guard] : 0};
    double part = root(&p, b, b->edge ? SPRAG_ESS_EXACT : tolerance);
    run->stats->touches += b->touch;
    *slope = b->slope;
    *edge = b->edge;
    return part;
}

static void add_located(sprag_ess_run *run, int guard, double time, double rate)
{
    run->guards.row.entries = 0;
    if (run->group.room > 1) {
        sprag_guards_row(&run->guards, run->work.point, guard);
    }
    sprag_ess_add_candidate(run, guard, time, rate, 0);
}

// Solves the earliest candidate exactly; the others were solved roughly.
static void solve_first(sprag_ess_run *run, double step)
{
    for (;;) {
        sprag_ess_candidate *first = run->group.candidate;
        for (int i = 1; i < run->group.candidates; i++) {
            first = run->group.candidate[i].time < first->time ? &run->group.candidate[i] : first;
        }
        if (first->exact) {
            return;
        }
        bool edge;
        first->time =
            step * solve(run, first->guard, run->group.room, SPRAG_ESS_EXACT, &first->rate, &edge);
        first->rate /= step;
        first->exact = true;
    }
}

double sprag_ess_locate(sprag_ess_run *run, double step)
{
    bool many = run->group.room > 1, edge;
    int most = many ? run->group.target : SPRAG_ESS_SOME, looked = 0;
    double entry = 1, first = 1, slope;
    queue_guards(run);
    run->group.candidates = 0;
    for (; run->queue.count > 0 && looked < most; looked++) {
        double guess = run->queue.entry[0].time;
        if (guess >= entry || (!many && guess >= first + SPRAG_ESS_LATER)) {
            break;
        }
        sprag_ess_pending next = sprag_ess_pop(run);
        bool exact = !many || looked == 0;
        double part = solve(run, next.guard, next.place, exact ? SPRAG_ESS_EXACT : SPRAG_ESS_ROUGH,
                            &slope, &edge);
        if (edge) {
            entry = fmin(entry, part);
        } else {
            add_located(run, next.guard, part * step, slope / step);
            run->group.candidate[run->group.candidates - 1].exact = exact;
            first = fmin(first, part);
        }
    }
    int kept = 0;
    for (int i = 0; i < run->group.candidates; i++) {
        sprag_ess_candidate *c = &run->group.candidate[i];
        kept += c->time < entry * step;
        c->time = c->time < entry * step ? c->time : INFINITY;
    }
    if (kept == 0) {
        run->group.candidates = 0;
        return entry;
    }
    solve_first(run, step);
    return run->queue.count > 0 ? fmin(entry, run->queue.entry[0].time) : entry;
}
