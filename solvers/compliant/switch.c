// What cannot be integrated from here, or had better not be.
#include <math.h>

#include "compliant_run.h"
#include "linalg.h"

// Steps that pairs which touch may ask for: explicit ones are stable up to 3 / rate.
typedef struct demand {
    double steps;
    double bounce; // more, by friction in a rebound: it is short, and an implicit step would end it
} demand;

// Of an impact friction only lasts as long as that. Where it turns back, all its speed is in the
// spring.
static void add_demand(demand *to, const compliant_run *run, int guard, const compliant_contact *c)
{
    const compliant_law *law = &run->law[guard];
    bool rebounds = run->frame->pair[run->pair[guard]].surface.bounce > 0;
    double left = run->frame->step - run->time;
    double frequency = sqrt(fmax(law->stiffness, 1e-300) / law->effective);
    double speed = rebounds ? hypot(c->approach, frequency * c->deepest) : fabs(c->approach);
    bool strikes = speed > 2 * run->change;
    double lasts = strikes ? fmin(left, acos(-1) / frequency) : left;
    double normal = c->rate * left / 3, friction = c->slip_rate * lasts / 3;
    bool short_lived = rebounds && strikes;
    to->steps = fmax(to->steps, normal + (short_lived ? 0 : friction));
    to->bounce = fmax(to->bounce, short_lived ? friction : 0);
}

// Hulls that overlap take long.
double compliant_cost(const compliant_run *run, int guard)
{
    const sprag_frame *frame = run->frame;
    const sprag_pair *pair = &frame->pair[run->pair[guard]];
    double cost = 1;
    for (int side = 0; side < 2; side++) {
        sprag_shape_kind kind = frame->collider[pair->collider[side]].shape.kind;
        cost *= kind == SPRAG_POLYTOPE || kind == SPRAG_CYLINDER ? 10
                : kind == SPRAG_BOX || kind == SPRAG_CAPSULE     ? 3
                                                                 : 1;
    }
    return cost;
}

// Of a frame, in looks at two balls.
static double most_work(const compliant_run *run)
{
    return 4000.0 * run->options->steps;
}

// Work is counted, not timed: the same frame ends at the same place. What gets on by less than a
// quarter of what it would have to is given up before all is spent.
bool compliant_is_enough(void *user, double time)
{
    const double early = 0.1, slow = 0.25;
    const compliant_run *run = user;
    double spent = run->work / most_work(run);
    return spent > 1 || (spent > early && time < slow * spent * run->frame->step);
}

// Heaps are integrated in fewer steps, or not at all: an implicit step is sooner there.
static bool is_heap(compliant_run *run, double field_cost, double guard_cost, const demand *of)
{
    enum { FIELDS = 7, PASSES = 3, FEWEST = 20 }; // of a step
    const double longest = 20;                    // bounce, times ess.steps
    double most =
        run->options->steps + run->guards + fmin(of->bounce, longest * run->options->steps);
    double share = 0.5 * most_work(run) / (FIELDS * field_cost + PASSES * guard_cost + 1);
    run->steps = (long)fmax((double)run->steps, fmax(FEWEST, fmin(most, share)));
    return field_cost > 0 && (share < FEWEST || of->steps > fmin(share, run->options->steps));
}

static double fastest_point(const compliant_run *run, const double *rates, int body)
{
    const double *at = rates + COMPLIANT_STATES * body;
    return norm3(at + COMPLIANT_VELOCITY) + run->radius[body] * norm3(at + COMPLIANT_SPIN);
}

void compliant_set_sides(compliant_run *run)
{
    for (int g = 0; g < run->guards; g++) {
        run->side[g] = isnan(run->label[g]) ? run->seen[g] <= 0 : run->label[g];
    }
}

// Nothing moves, and by its forces nothing will, against what gravity makes of a frame. What an
// explicit method needs many steps for, an implicit one has in one.
static bool is_resting(compliant_run *run, double steps)
{
    const double still = 0.01 * run->change, few = 5, left = run->frame->step - run->time;
    bool rests = steps > few && run->stops == 0;
    for (int i = 0; i < run->frame->bodies && rests; i++) {
        rests = fastest_point(run, run->x, i) <= still;
    }
    if (rests) {
        compliant_set_sides(run);
        compliant_problem(run).field(run, run->x, run->side, run->f);
        rests = isfinite(run->f[0]);
    }
    for (int i = 0; i < run->frame->bodies && rests; i++) {
        rests = left * fastest_point(run, run->f, i) <= still;
    }
    return rests;
}

bool compliant_must_rest(compliant_run *run, double *rate, sprag_compliant_reason *why)
{
    const double glance = 0.1; // at a pair that is still far enough apart
    double left = run->frame->step - run->time, fastest = 0, cost[2] = {0, 0};
    demand of = {0, 0};
    double band = 0.5 * sqrt(run->options->tolerance); // from where a projection is good
    compliant_place(run, run->x);
    if (run->time > 0) {
        compliant_look_again(run);
    }
    for (int g = 0; g < run->guards; g++) {
        const compliant_law *law = &run->law[g];
        if (run->time == 0 && run->seen[g] <= 0 && compliant_is_deep(run, g)) {
            *why = SPRAG_COMPLIANT_DEEP_OVERLAP;
            return true;
        }
        if (isnan(run->seen[g])) {
            *why = SPRAG_COMPLIANT_INTEGRATOR_STOPPED;
            return true;
        }
        run->eps[g] = fmax(1e-12, band * run->fastest * left);
        bool touching = isnan(run->label[g]) ? run->seen[g] <= 0 : run->label[g] != 0;
        cost[1] += run->seen[g] > run->fastest * left ? glance : run->cost[g];
        if (touching && law->rigid) {
            *why = law->why;
            return true;
        }
        if (touching && compliant_acts(law)) {
            compliant_contact contact;
            compliant_touch(run, run->x, g, COMPLIANT_RATES, &contact);
            cost[0] += run->cost[g];
            fastest = fmax(fastest, contact.rate + contact.slip_rate);
            add_demand(&of, run, g, &contact);
            run->stats->stiffness = fmax(run->stats->stiffness, law->stiffness);
        }
    }
    *rate = fastest;
    run->expected = of.steps + of.bounce;
    *why = SPRAG_COMPLIANT_AT_REST;
    if (is_resting(run, of.steps)) {
        return true;
    }
    compliant_set_band(run, band * left);
    *why = SPRAG_COMPLIANT_STIFF;
    return is_heap(run, cost[0], cost[1], &of);
}
