// Guards that are crossed within a step, found on its dense output: by their signs at its ends and
// at samples between; by the top of a parabola through three of these where that may be beyond the
// guard, a touch; and then by a root.
#include <float.h>
#include <math.h>

#include "solvers/ess_run.h"

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

// Root between low, where the guard is not yet crossed, and high, where it is; at its upper end.
// Regula falsi that halves the weight of an end which stays (Illinois), then bisection.
static double root(const probe *p, double low, double at_low, double high, double at_high)
{
    enum { FALSI = 40, ROUNDS = 100 };
    double least = 4 * DBL_EPSILON;
    int moved = 0; // the end that moved last: -1 low, 1 high
    for (int round = 0; round < ROUNDS && high - low > least; round++) {
        double part = high - at_high * (high - low) / (at_high - at_low);
        part = fmin(fmax(part, low + least / 2), high - least / 2);
        part = round < FALSI ? part : (low + high) / 2;
        double s = probe_at(p, part);
        if (s > 0) {
            at_low *= moved > 0 ? 0.5 : 1;
            moved = 1;
            high = part;
            at_high = s;
        } else {
            at_high *= moved < 0 ? 0.5 : 1;
            moved = -1;
            low = part;
            at_low = s;
        }
    }
    return high;
}

// Is there a point beyond the guard between two samples that are not? Looks around the highest of
// ever nearer points, as long as their second difference leaves room for one. `high` is that point.
static bool touch(const probe *p, double from, double to, double *high, double *at_high)
{
    enum { POINTS = 8, LEVELS = 4 };
    for (int level = 0; level < LEVELS; level++) {
        double s[POINTS + 1], width = (to - from) / POINTS;
        int best = 0;
        for (int i = 0; i <= POINTS; i++) {
            s[i] = probe_at(p, from + i * width);
            best = s[i] > s[best] ? i : best;
        }
        *high = from + best * width;
        *at_high = s[best];
        if (s[best] > 0) {
            return true;
        }
        int middle = best == 0 ? 1 : best == POINTS ? POINTS - 1 : best;
        double bend = fabs(s[middle - 1] - 2 * s[middle] + s[middle + 1]);
        if (s[best] + bend <= 0) {
            return false;
        }
        to = fmin(to, *high + width);
        from = fmax(from, *high - width);
    }
    return false;
}

typedef struct found { // where a guard is first reached
    bool any;
    double low, at_low, high, at_high;
} found;

// By samples s 0..last at equal distances; from the first that is not beyond the level on.
static found bracket(const probe *p, const double *s, int last, bool fresh)
{
    found f = {0};
    double level = p->level;
    int i = 0;
    while (fresh && i <= last && !(s[i] < 0)) { // must be seen before the guard first
        i++;
    }
    for (int start = i++; i <= last; i++) {
        double low = (double)(i - 1) / last, high = (double)i / last;
        if (s[i] > level) {
            return (found){true, low, s[i - 1] - level, high, s[i] - level};
        }
        if (i - start < 2) {
            continue;
        }
        double most = fmax(s[i], fmax(s[i - 1], s[i - 2])) - level;
        double bend = fabs(s[i] - 2 * s[i - 1] + s[i - 2]), at = (double)(i - 2) / last;
        if (most + bend > 0 && touch(p, at, high, &f.high, &f.at_high)) {
            f.any = true;
            f.low = at;
            f.at_low = s[i - 2] - level;
            p->run->stats->touches++;
            return f;
        }
    }
    return f;
}

// Its rate where it is reached, by a difference along the step.
static double rate_at(const probe *p, double part, double step)
{
    double span = 1e-6;
    return (probe_at(p, part + span) - probe_at(p, part - span)) / (2 * span * step);
}

static void look_at(sprag_ess_run *run, int guard, double step, double *entry, double *earliest)
{
    const sprag_guards *g = &run->guards;
    bool fresh = g->fresh[guard];
    probe p = {run, guard, sprag_guards_side(g, guard), 0};
    int last = run->options->samples + 1;
    double s[SPRAG_ESS_SAMPLES + 2];
    for (int i = 0; i <= last; i++) {
        s[i] = p.side * run->h_sample[i][guard];
        if (!isfinite(s[i])) {
            sprag_ess_end(run, SPRAG_ESS_BAD_VALUE, guard, "h[%d] is %g", guard, s[i]);
            return;
        }
    }
    // The edge of its band counts where projections start there, unless one was refused within.
    bool edge = run->options->trust_eps && g->eps[guard] > 0 && !fresh &&
                s[0] < -g->eps[guard] * (1 + 1e-9);
    p.level = edge ? -g->eps[guard] : 0;
    found f = bracket(&p, s, last, fresh);
    double until = edge ? *entry : run->room_for > 1 ? 1 : *earliest;
    if (!f.any || f.low >= until || (f.high > until && probe_at(&p, until) <= 0)) {
        return; // not, or others come first
    }
    double part = root(&p, f.low, f.at_low, f.high, f.at_high);
    if (edge) {
        *entry = fmin(*entry, part);
        return;
    }
    *earliest = fmin(*earliest, part);
    double rate = rate_at(&p, part, step);
    run->guards.entries = 0;
    if (run->room_for > 1) {
        run->smooth->between(run->room, run->size, part, run->point);
        sprag_guards_row(&run->guards, run->point, guard);
    }
    sprag_ess_offer(run, guard, part * step, rate, 0);
}

double sprag_ess_locate(sprag_ess_run *run, double step)
{
    double entry = 1, earliest = 1;
    run->candidates = 0;
    for (int i = 0; i < run->founds; i++) {
        look_at(run, run->found[i], step, &entry, &earliest);
    }
    for (int i = 0; i < run->guards.listed; i++) {
        look_at(run, run->guards.list[i], step, &entry, &earliest);
    }
    bool any = false;
    for (int i = 0; i < run->candidates; i++) {
        sprag_ess_candidate *c = &run->candidate[i];
        c->time = entry < 1 && c->time >= entry * step ? INFINITY : c->time;
        any |= c->time < INFINITY;
    }
    run->candidates = any ? run->candidates : 0;
    return entry;
}
