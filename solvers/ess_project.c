// Projection onto guards whose bands the flow is in (Anderson, Revzen, listing 1), as an Euler step
// that ends on the guard, or as a step of the midpoint rule, whose path is a parabola. The value of
// f half way also tells whether to trust either: how much the rate changes on the way, and how far
// apart their ends are.
#include <math.h>
#include <string.h>

#include "solvers/ess_run.h"

static void refuse(sprag_ess_run *run, sprag_ess_candidate *c, sprag_ess_refusal why)
{
    run->stats->refused[why]++;
    if (c) {
        c->time = INFINITY;
    }
}

// Guards in their bands whose rates are worth a row of Dh, left in place of all that are near.
// Where it may, the step that led here tells which are left or far away.
static int sort_out(sprag_ess_run *run, double longest)
{
    const sprag_guards *g = &run->guards;
    const sprag_ess_options *o = run->options;
    bool any_rate = o->trust_eps || o->strict || run->step_before == 0;
    int kept = 0, left = 0, far = 0;
    for (int i = 0; i < run->nears; i++) {
        int k = run->near[i];
        double side = g->sign[k], s = side * run->h[k], gain = s - side * run->h_before[k];
        if (side == 0 || s < -g->eps[k] * SPRAG_GUARDS_EDGE) {
            continue;
        }
        bool leaves = !any_rate && gain <= 0;
        bool is_far = !any_rate && !leaves && -s * run->step_before > 4 * longest * gain;
        left += leaves;
        far += is_far;
        run->near[kept] = k;
        kept += !leaves && !is_far;
    }
    run->stats->refused[SPRAG_ESS_RECEDING] += left;
    run->stats->refused[SPRAG_ESS_TOO_LONG] += far;
    return kept;
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
        sprag_ess_offer(run, guard, fmax(0, t), rate, s);
    }
}

static double latest(const sprag_ess_run *run)
{
    double t = -INFINITY;
    for (int i = 0; i < run->candidates; i++) {
        double ti = run->candidate[i].time;
        t = ti < INFINITY ? fmax(t, ti) : t;
    }
    return t;
}

// h along the parabola: s + r t + r' t^2 / 2, and the projection of a candidate goes to its root.
static void correct(sprag_ess_run *run, sprag_ess_candidate *c, double length, double error)
{
    double t = c->time, part = length > 0 ? t / length : 0;
    double rate = sprag_guards_side(&run->guards, c->guard) *
                  sprag_guards_rate(&run->guards, run->middle, c->guard, run->y1);
    if (!(fabs(rate - c->rate) * part <= c->rate / 8)) { // half that a parabola's top has
        refuse(run, c, SPRAG_ESS_GRAZING);
    } else if (!run->options->trust_eps && error * part * part > 1) {
        refuse(run, c, SPRAG_ESS_INACCURATE);
    } else if (run->options->mode == SPRAG_ESS_MIDPOINT && length > 0) {
        double bend = 2 * (rate - c->rate) / length, r = c->rate;
        t = -2 * c->reach / (r + sqrt(fmax(0, r * r - 2 * bend * c->reach)));
        c->time = t;
        c->rate = r + bend * t;
        if (t > run->end - run->time) {
            refuse(run, c, SPRAG_ESS_PAST_END);
        }
    }
}

// Guards outside their bands that the way to the last candidate leads across: where they are, that
// way is wrong.
static bool jumps_over(sprag_ess_run *run, const sprag_ess_piece *piece)
{
    sprag_guards *g = &run->guards;
    sprag_ess_path(piece, piece->length, run->middle);
    sprag_guards_values(g, run->middle, run->h_end);
    int count = sprag_guards_scan(g, run->h_end, run->h_end, run->h_end, run->found);
    for (int i = 0; i < count; i++) {
        int k = run->found[i];
        bool beyond = g->sign[k] * run->h_end[k] > 0;
        for (int c = 0; c < run->candidates && beyond; c++) {
            beyond = run->candidate[c].guard != k;
        }
        if (beyond) {
            return true;
        }
    }
    return false;
}

bool sprag_ess_project(sprag_ess_run *run)
{
    double longest = run->options->trust_eps ? INFINITY : run->step;
    run->candidates = 0;
    run->nears = sort_out(run, longest);
    for (int i = 0; i < run->nears && sprag_ess_going(run); i++) {
        look_at(run, run->near[i], longest);
    }
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
    if (jumps_over(run, &piece)) {
        refuse(run, NULL, SPRAG_ESS_NOT_FIRST);
        return false;
    }
    if (!sprag_ess_cross(run, &piece, true)) {
        refuse(run, NULL, SPRAG_ESS_GRAZING);
        return false;
    }
    return true;
}
