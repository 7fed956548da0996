// Projection onto guards whose bands the flow is in (Anderson, Revzen, listing 1): an Euler step
// that ends on the guard, or a step of the midpoint rule, whose path is a parabola. f at half the
// time also tells whether to trust the projection: how much the rate changes on the way, and how
// far the ends of both paths are apart.
#include <math.h>
#include <string.h>

#include "ess_run.h"

static void refuse_candidate(sprag_ess_run *run, sprag_ess_candidate *c, sprag_ess_refusal why)
{
    run->stats->refused[why]++;
    if (c) {
        c->time = INFINITY;
    }
}

// Queues the guards in their bands by the time to reach them, estimated from the change of h on the
// way so far; without such an estimate all have time 0.
static void queue_guards(sprag_ess_run *run)
{
    const sprag_guards *g = &run->guards;
    const sprag_scan *here = &run->now.scan;
    run->stats->refused[SPRAG_ESS_RECEDING] += here->receding;
    run->stats->refused[SPRAG_ESS_TOO_LONG] += here->slow;
    run->queue.count = 0;
    for (int i = 0; i < here->due_count; i++) {
        int k = here->due[i];
        double side = g->sign[k], s = side * run->now.h[k], gain = s - side * run->before.h[k];
        if (side != 0 && s >= -g->eps[k] * SPRAG_GUARDS_EDGE) {
            double t = here->lookahead < INFINITY ? -s * run->before.since / gain : 0;
            sprag_ess_push(run, (sprag_ess_pending){t, k, 0});
        }
    }
}

static void try_guard(sprag_ess_run *run, int guard, double longest)
{
    sprag_guards *g = &run->guards;
    double side = g->sign[guard], s = side * run->now.h[guard];
    double rate = side * sprag_guards_rate(g, run->now.y, guard, run->now.f), t = -s / rate;
    if (!(rate > 0)) {
        refuse_candidate(run, NULL, SPRAG_ESS_RECEDING);
    } else if (t > longest) {
        refuse_candidate(run, NULL, SPRAG_ESS_TOO_LONG);
    } else if (t > run->end - run->time) {
        refuse_candidate(run, NULL, SPRAG_ESS_PAST_END);
    } else {
        sprag_ess_add_candidate(run, guard, sprag_ess_larger(0, t), rate, s);
    }
}

static double latest_time(const sprag_ess_run *run)
{
    double t = -INFINITY;
    for (int i = 0; i < run->group.candidates; i++) {
        double ti = run->group.candidate[i].time;
        t = ti < INFINITY ? sprag_ess_larger(t, ti) : t;
    }
    return t;
}

// Corrects a candidate for the curvature of its path: h = s + r t + r' t^2 / 2, and the projection
// ends at its root.
static void correct_candidate(sprag_ess_run *run, sprag_ess_candidate *c, double length,
                              double error)
{
    double t = c->time, part = length > 0 ? t / length : 0;
    if (!run->options->trust_eps && error * part * part > 1) {
        refuse_candidate(run, c, SPRAG_ESS_INACCURATE);
        return;
    }
    double rate = sprag_guards_side(&run->guards, c->guard) *
                  sprag_guards_rate(&run->guards, run->work.middle, c->guard, run->next.y);
    if (!(fabs(rate - c->rate) * part <= c->rate * SPRAG_ESS_GRAZING_CHANGE)) {
        refuse_candidate(run, c, SPRAG_ESS_GRAZING);
    } else if (run->options->mode == SPRAG_ESS_MIDPOINT && length > 0) {
        double bend = 2 * (rate - c->rate) / length, r = c->rate;
        t = -2 * c->value / (r + sqrt(sprag_ess_larger(0, r * r - 2 * bend * c->value)));
        c->time = t;
        c->rate = r + bend * t;
        if (t > run->end - run->time) {
            refuse_candidate(run, c, SPRAG_ESS_PAST_END);
        }
    }
}

// Makes candidates of the earliest guards, of as many as can be resolved together. If that is one,
// some are tried: the order of the queue is an estimate.
static void choose_candidates(sprag_ess_run *run, double longest)
{
    bool many = run->group.room > 1;
    int most = many ? run->group.target : SPRAG_ESS_SOME;
    run->group.candidates = 0;
    for (int looked = 0; run->queue.count > 0 && sprag_ess_is_running(run); looked++) {
        double t = run->queue.entry[0].time;
        double far = !many && run->group.candidates > 0
                         ? SPRAG_ESS_SOME_TIME * run->group.candidate[0].time
                         : INFINITY;
        if (t > 0 && (looked >= most || t > far)) {
            return;
        }
        try_guard(run, sprag_ess_pop(run).guard, longest);
    }
}

bool sprag_ess_project(sprag_ess_run *run)
{
    double longest = run->options->trust_eps ? INFINITY : run->step;
    queue_guards(run);
    choose_candidates(run, longest);
    if (run->group.candidates == 0 || !sprag_ess_is_running(run)) {
        return false;
    }
    double length = latest_time(run);
    for (int i = 0; i < run->size; i++) {
        run->work.middle[i] = run->now.y[i] + length / 2 * run->now.f[i];
    }
    sprag_ess_value(run, run->work.middle, run->next.y);
    if (!sprag_ess_finite(run->next.y, run->size)) {
        refuse_candidate(run, NULL, SPRAG_ESS_INACCURATE);
        return false;
    }
    for (int i = 0; i < run->size; i++) {
        run->work.error[i] = length * (run->next.y[i] - run->now.f[i]);
        run->work.bend[i] = length > 0 ? (run->next.y[i] - run->now.f[i]) / length : 0;
    }
    double error = sprag_ess_norm(run, run->work.error);
    for (int i = 0; i < run->group.candidates; i++) {
        correct_candidate(run, &run->group.candidate[i], length, error);
    }
    length = latest_time(run);
    if (!(length >= 0)) {
        return false;
    }
    sprag_ess_piece piece = sprag_ess_line(run, length);
    piece.bend = run->options->mode == SPRAG_ESS_FIRST ? NULL : run->work.bend;
    return sprag_ess_is_clear(run, &piece) && sprag_ess_cross(run, &piece, true);
}
