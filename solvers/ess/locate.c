// Guards that are crossed within a step, found on its dense output: by their signs at its ends and
// at samples between; by the top of a parabola through three of these where that may be beyond the
// guard, a touch; and then by a root.
#include <float.h>
#include <math.h>

#include "ess_run.h"

typedef struct probe { // h of one guard, in the direction of its crossing, minus a level
    sprag_ess_run *run;
    int guard;
    double side, level;
} probe;

static double probe_at(const probe *p, double part)
{
    sprag_ess_run *run = p->run;
    run->smooth->between(run->room, run->size, part, run->point);
    return p->side * sprag_guards_value(&run->guards, run->point, p->guard) - p->level;
}

typedef sprag_ess_bracket bracket;

// Root in a bracket: secants from the guess with its slope, bisection where they leave it. May be
// on either side of the guard.
static double root(const probe *p, bracket *b, double tolerance)
{
    enum { SECANTS = 12, ROUNDS = 100 };
    double low = b->low, high = b->high, part = b->guess, slope = b->slope, last = 0, at_last = 0;
    // Just crossed the other way: h is rounding there, and falls first.
    double behind = low + 1e-6;
    if (b->at_low > -1e-9 * b->at_high && probe_at(p, behind) <= 0) {
        low = behind;
    }
    for (int round = 0; round < ROUNDS && high - low > DBL_EPSILON; round++) {
        part = part > low && part < high && round < SECANTS ? part : (low + high) / 2;
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
        // A secant's next change is about this one times the last; here with some margin.
        bool settled = fabs(change) <= 0.01 * moved && 10 * moved * fabs(change) <= tolerance;
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

// Is there a point beyond the guard between two samples that are not? Looks around the highest of
// ever nearer points and at the top of a parabola there, as long as their second difference leaves
// room for one.
static bool touch(const probe *p, double from, double to, bracket *found)
{
    enum { POINTS = 8, LEVELS = 6 };
    for (int level = 0; level < LEVELS; level++) {
        double s[POINTS + 1], width = (to - from) / POINTS;
        int best = 0;
        for (int i = 0; i <= POINTS; i++) {
            s[i] = probe_at(p, from + i * width);
            if (s[i] > 0) { // s[0] is not
                between_points(found, from + (i - 1) * width, s[i - 1], from + i * width, s[i]);
                return true;
            }
            best = s[i] > s[best] ? i : best;
        }
        int middle = best == 0 ? 1 : best == POINTS ? POINTS - 1 : best;
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

// Between samples `low` and the next of three, the first of which is number `first` of last + 1:
// by the parabola through them.
static bracket guess_between(const double s[3], int first, int low, int last)
{
    double left = s[1] - s[0], right = s[2] - s[1], bend = (right - left) / 2; // in samples
    double slope = (low == 0 ? left : right) - bend; // at the lower sample
    double there =
        sqrt(sprag_ess_larger(0, slope * slope - 4 * bend * s[low])); // slope at the root
    // The root where s grows; just behind another crossing s falls first.
    double ahead = slope > 0 ? -2 * s[low] / (slope + there) : (there - slope) / (2 * bend);
    double width = 1.0 / last, part = (first + low) * width, next = (first + low + 1) * width;
    return (bracket){.low = part,
                     .at_low = s[low],
                     .high = next,
                     .at_high = s[low + 1],
                     .slope = there * last,
                     .guess = isfinite(ahead) ? part + ahead * width : next};
}

// A fresh guard that no sample sees from before: it leads there at first, perhaps not for long.
static bool find_return(const probe *p, double at_high, int last, bracket *found)
{
    static const double part[] = {1e-6, 1e-4, 1e-2};
    for (int i = 0; i < 3; i++) {
        double s = probe_at(p, part[i]);
        if (s <= 0) {
            between_points(found, part[i], s, 1.0 / last, at_high);
            return true;
        }
    }
    return false;
}

// By samples s 0..last at equal distances, minus the level; from the first that is before it on.
// false: it is not reached.
static bool find_bracket(const probe *p, const double *s, int last, bracket *found)
{
    int i = 0;
    while (i <= last && !(s[i] <= 0)) {
        i++;
    }
    if (i > last) {
        return find_return(p, s[1], last, found);
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
        bool inside = fabs(s[i] - s[i - 2]) < 3 * bend; // the top of a parabola, or near
        if (inside && most + bend / 4 > 0 &&
            touch(p, (double)first / last, (first + 2.0) / last, found)) {
            found->touch = true;
            return true;
        }
    }
    return false;
}

// What the samples of a guard say about the step just taken.
static bool look_at(sprag_ess_run *run, int guard, bracket *found)
{
    const sprag_guards *g = &run->guards;
    int last = run->options->samples + 1;
    bool fresh = g->fresh[guard];
    double side = fresh ? sprag_guards_side(g, guard) : g->sign[guard], eps = g->eps[guard];
    // The edge of its band counts where projections start there, unless one was refused within.
    bool edge = run->options->trust_eps && eps > 0 && !fresh &&
                side * run->h_sample[0][guard] < -eps * SPRAG_GUARDS_EDGE;
    probe p = {run, guard, side, edge ? -eps : 0};
    double s[SPRAG_ESS_SAMPLES + 2], highest = -INFINITY, bend = 0, sum = 0;
    for (int i = 0; i <= last; i++) {
        s[i] = side * run->h_sample[i][guard] - p.level;
        sum += s[i] - s[i];
        highest = s[i] > highest ? s[i] : highest;
        double here = i < 2 ? 0 : fabs(s[i] - s[i - 1] - (s[i - 1] - s[i - 2]));
        bend = here > bend ? here : bend;
    }
    if (sum != 0) {
        sprag_ess_end(run, SPRAG_ESS_BAD_VALUE, guard, "h[%d] is not finite within a step", guard);
        return false;
    }
    if (highest + bend / 4 <= 0) {
        return false; // in its band, nothing else
    }
    bool any = find_bracket(&p, s, last, found);
    found->guard = guard;
    found->edge = edge;
    return any;
}

static void line_up(sprag_ess_run *run)
{
    const int *which = run->reached;
    int count = run->reaches;
    bracket extra;
    run->aheads = 0;
    for (int i = 0; i < count + run->guards.listed; i++) {
        int guard = i < count ? which[i] : run->guards.list[i - count], place = run->aheads;
        if (i < count && run->guards.fresh[guard]) {
            continue; // it is in the list, too
        }
        bracket *b = place < run->room_for ? &run->bracket[place] : &extra;
        if (look_at(run, guard, b)) {
            sprag_ess_push(run, (sprag_ess_ahead){b->guess, guard, place});
        }
    }
}

// Tolerances of roots, parts of a step: they converge quadratically. Crossing many finds them
// again, all but the first.
#define EXACT 1e-9
#define ROUGH 1e-4

// The root of one that is ahead, and its rate there. edge: it is that of its band.
static double solve(sprag_ess_run *run, int guard, int place, double tolerance, double *slope,
                    bool *edge)
{
    const sprag_guards *g = &run->guards;
    bracket again, *b = place < run->room_for ? &run->bracket[place] : &again;
    if (b == &again) {
        look_at(run, guard, b);
    }
    probe p = {run, guard, sprag_guards_side(g, guard), b->edge ? -g->eps[guard] : 0};
    double part = root(&p, b, b->edge ? EXACT : tolerance);
    run->stats->touches += b->touch;
    *slope = b->slope;
    *edge = b->edge;
    return part;
}

static void offer(sprag_ess_run *run, int guard, double time, double rate)
{
    run->guards.entries = 0;
    if (run->room_for > 1) {
        sprag_guards_row(&run->guards, run->point, guard);
    }
    sprag_ess_offer(run, guard, time, rate, 0);
}

// The earliest of many, which were solved roughly.
static void solve_first(sprag_ess_run *run, double step)
{
    for (;;) {
        sprag_ess_candidate *first = run->candidate;
        for (int i = 1; i < run->candidates; i++) {
            first = run->candidate[i].time < first->time ? &run->candidate[i] : first;
        }
        if (first->exact) {
            return;
        }
        bool edge;
        first->time = step * solve(run, first->guard, run->room_for, EXACT, &first->rate, &edge);
        first->rate /= step;
        first->exact = true;
    }
}

double sprag_ess_locate(sprag_ess_run *run, double step)
{
    enum { SOME = 4 }; // where one is wanted: guesses are not exact
    bool many = run->room_for > 1, edge;
    int most = many ? run->group : SOME, looked = 0;
    double entry = 1, first = 1, slope;
    line_up(run);
    run->candidates = 0;
    for (; run->aheads > 0 && looked < most; looked++) {
        double guess = run->ahead[0].time;
        if (guess >= entry || (!many && guess >= first + 0.01)) {
            break;
        }
        sprag_ess_ahead next = sprag_ess_pop(run);
        bool exact = !many || looked == 0;
        double part = solve(run, next.guard, next.place, exact ? EXACT : ROUGH, &slope, &edge);
        if (edge) {
            entry = fmin(entry, part);
        } else {
            offer(run, next.guard, part * step, slope / step);
            run->candidate[run->candidates - 1].exact = exact;
            first = fmin(first, part);
        }
    }
    int kept = 0;
    for (int i = 0; i < run->candidates; i++) {
        sprag_ess_candidate *c = &run->candidate[i];
        kept += c->time < entry * step;
        c->time = c->time < entry * step ? c->time : INFINITY;
    }
    if (kept == 0) {
        run->candidates = 0;
        return entry;
    }
    solve_first(run, step);
    return fmin(entry, looked == most && run->aheads > 0 ? run->ahead[0].time : 1);
}
