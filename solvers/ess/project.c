// Projection onto guards whose bands the flow is in (Anderson, Revzen, listing 1), as an Euler step
// that ends on the guard, or as a step of the midpoint rule, whose path is a parabola. The value of
// f half way also tells whether to trust either: how much the rate changes on the way, and how far
// apart their ends are.
#include <math.h>
#include <string.h>

#include "ess_run.h"

static void refuse(sprag_ess_run *run, sprag_ess_candidate *c, sprag_ess_refusal why)
{
    run->stats->refused[why]++;
    if (c) {
        c->time = INFINITY;
    }
}

// Puts guards that are in their bands in line, by what the way that led here says of their rates;
// where it says nothing, all are as near as can be.
static void line_up(sprag_ess_run *run)
{
    const sprag_guards *g = &run->guards;
    const sprag_scan *here = &run->here;
    run->stats->refused[SPRAG_ESS_RECEDING] += here->receding;
    run->stats->refused[SPRAG_ESS_TOO_LONG] += here->far;
    run->aheads = 0;
    for (int i = 0; i < here->nears; i++) {
        int k = here->near[i];
        double side = g->sign[k], s = side * run->h[k], gain = s - side * run->h_before[k];
        if (side != 0 && s >= -g->eps[k] * SPRAG_GUARDS_EDGE) {
            double t = here->soon < INFINITY ? -s * run->step_before / gain : 0;
            sprag_ess_push(run, (sprag_ess_ahead){t, k, 0});
        }
    }
}

static void look_at(sprag_ess_run *run, int guard, double longest)
{
    sprag_guards *g = &run->guards;
    const sprag_ess_options *o = run->options;
    double side = g->sign[guard], s = side * run->h[guard];
    double rate = side * sprag_guards_rate(g, run->y, guard, run->f), t = -s / rate;
    if (!(rate > 0)) {
        refuse(run, NULL, SPRAG_ESS_RECEDING);
        if (o->strict && !(run->problem->two_way && run->problem->two_way[guard])) {
            sprag_ess_end(run, SPRAG_ESS_NOT_LIVE, guard,
                          "guard %d recedes in its band, at a rate of %g", guard, rate);
        }
    } else if (t > longest) {
        refuse(run, NULL, SPRAG_ESS_TOO_LONG);
    } else if (t > run->end - run->time) {
        refuse(run, NULL, SPRAG_ESS_PAST_END);
    } else {
        sprag_ess_offer(run, guard, sprag_ess_larger(0, t), rate, s);
    }
}

static double latest(const sprag_ess_run *run)
{
    double t = -INFINITY;
    for (int i = 0; i < run->candidates; i++) {
        double ti = run->candidate[i].time;
        t = ti < INFINITY ? sprag_ess_larger(t, ti) : t;
    }
    return t;
}

// h along the parabola: s + r t + r' t^2 / 2, and the projection of a candidate goes to its root.
static void correct(sprag_ess_run *run, sprag_ess_candidate *c, double length, double error)
{
    double t = c->time, part = length > 0 ? t / length : 0;
    if (!run->options->trust_eps && error * part * part > 1) {
        refuse(run, c, SPRAG_ESS_INACCURATE);
        return;
    }
    double rate = sprag_guards_side(&run->guards, c->guard) *
                  sprag_guards_rate(&run->guards, run->middle, c->guard, run->y1);
    if (!(fabs(rate - c->rate) * part <= c->rate / 8)) { // half that a parabola's top has
        refuse(run, c, SPRAG_ESS_GRAZING);
    } else if (run->options->mode == SPRAG_ESS_MIDPOINT && length > 0) {
        double bend = 2 * (rate - c->rate) / length, r = c->rate;
        t = -2 * c->reach / (r + sqrt(sprag_ess_larger(0, r * r - 2 * bend * c->reach)));
        c->time = t;
        c->rate = r + bend * t;
        if (t > run->end - run->time) {
            refuse(run, c, SPRAG_ESS_PAST_END);
        }
    }
}

// The earliest become candidates, as many as can be resolved together. Where that is one, some are
// looked at: what puts them in line is not exact.
static void choose(sprag_ess_run *run, double longest)
{
    enum { SOME = 4 };
    bool many = run->room_for > 1;
    int most = many ? run->group : SOME;
    run->candidates = 0;
    for (int looked = 0; run->aheads > 0 && sprag_ess_going(run); looked++) {
        double t = run->ahead[0].time;
        double far = !many && run->candidates > 0 ? 2 * run->candidate[0].time : INFINITY;
        if (t > 0 && (looked >= most || t > far)) {
            return;
        }
        look_at(run, sprag_ess_pop(run).guard, longest);
    }
}

bool sprag_ess_project(sprag_ess_run *run)
{
    double longest = run->options->trust_eps ? INFINITY : run->step;
    line_up(run);
    choose(run, longest);
    if (run->candidates == 0 || !sprag_ess_going(run)) {
        return false;
    }
    double length = latest(run);
    for (int i = 0; i < run->size; i++) {
        run->middle[i] = run->y[i] + length / 2 * run->f[i];
    }
    sprag_ess_value(run, run->middle, run->y1);
    if (!sprag_ess_finite(run->y1, run->size)) {
        refuse(run, NULL, SPRAG_ESS_INACCURATE);
        return false;
    }
    for (int i = 0; i < run->size; i++) {
        run->error[i] = length * (run->y1[i] - run->f[i]);
        run->bend[i] = length > 0 ? (run->y1[i] - run->f[i]) / length : 0;
    }
    double error = sprag_ess_norm(run, run->error);
    for (int i = 0; i < run->candidates; i++) {
        correct(run, &run->candidate[i], length, error);
    }
    length = latest(run);
    if (!(length >= 0)) {
        return false;
    }
    sprag_ess_piece piece = sprag_ess_line(run, length);
    piece.bend = run->options->mode == SPRAG_ESS_FIRST ? NULL : run->bend;
    return sprag_ess_cross(run, &piece, true);
}
