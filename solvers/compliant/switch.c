// Decides whether the implicit step solves the rest of the frame, because it cannot be integrated
// or because the integration would take longer.
#include <math.h>

#include "compliant_joints.h"
#include "linalg.h"

// Work that the rest of the frame demands.
typedef struct demand {
    double rate;         // 1/s, largest of the forces of a pair
    double steps;        // by the rates of the forces: explicit steps are stable up to 3 / rate
    double bounce_steps; // for friction within rebounds, which are short and which an implicit step
                         // would end
    double field_cost;   // evaluations, of f
    double guard_cost;   // evaluations, of all guards
} demand;

// Friction within an impact lasts no longer than the impact. At the turning point of a rebound all
// of its speed is in the spring.
static void add_steps(demand *d, const compliant_run *run, int guard, const compliant_contact *c)
{
    const compliant_law *law = &run->guards.law[guard];
    bool rebounds = law->hunt_crossley && compliant_surface(run, guard)->bounce > 0;
    double left = run->frame->step - run->time;
    double frequency = sqrt(fmax(law->stiffness, 1e-300) / law->effective_mass);
    double speed = rebounds ? hypot(c->approach, frequency * c->deepest) : fabs(c->approach);
    bool impact = speed > COMPLIANT_IMPACT * run->sizes.change;
    double duration = impact ? fmin(left, acos(-1) / frequency) : left;
    double normal = c->rate * left / COMPLIANT_STABLE_STEP;
    double friction = c->slip_rate * duration / COMPLIANT_STABLE_STEP;
    bool short_lived = rebounds && impact;
    d->steps = fmax(d->steps, normal + (short_lived ? 0 : friction));
    d->bounce_steps = fmax(d->bounce_steps, short_lived ? friction : 0);
}

static void add_pair(demand *d, compliant_run *run, int guard)
{
    const compliant_law *law = &run->guards.law[guard];
    compliant_contact contact;
    compliant_find_contact(run, run->state.x, guard, COMPLIANT_RATES, &contact);
    d->field_cost += run->guards.cost[guard];
    d->rate = fmax(d->rate, contact.rate + contact.slip_rate);
    add_steps(d, run, guard, &contact);
    run->stats->stiffness = fmax(run->stats->stiffness, law->stiffness);
}

// Sets the limit of steps. Large groups may take few, or none: the implicit step is faster there.
static bool is_too_much(compliant_run *run, const demand *d)
{
    const int limit = run->options->steps;
    double most = limit + run->guards.pairs + fmin(d->bounce_steps, COMPLIANT_BOUNCE_STEPS * limit);
    double step_cost =
        COMPLIANT_FIELDS_PER_STEP * d->field_cost + COMPLIANT_PASSES_PER_STEP * d->guard_cost + 1;
    double affordable = COMPLIANT_PLANNED_WORK * compliant_max_work(run) / step_cost;
    run->budget.max_steps = (long)fmax((double)run->budget.max_steps,
                                       fmax(COMPLIANT_STEPS_MIN, fmin(most, affordable)));
    return d->field_cost > 0 &&
           (affordable < COMPLIANT_STEPS_MIN || d->steps > fmin(affordable, limit));
}

// Tests whether nothing moves, and will not by its forces, compared with what gravity does in a
// frame: the implicit step then replaces many explicit ones.
static bool is_at_rest(compliant_run *run, double steps)
{
    const double still = COMPLIANT_STILL * run->sizes.change, left = run->frame->step - run->time;
    bool rests = steps > COMPLIANT_RESTING_STEPS && run->stops == 0;
    for (int i = 0; i < run->frame->bodies && rests; i++) {
        rests = compliant_fastest_point(run, i, compliant_velocity_of(run->state.x, i)) <= still;
    }
    if (rests) {
        compliant_set_known_labels(run);
        compliant_field(run, run->state.x, run->guards.known_label, run->state.f);
        rests = isfinite(run->state.f[0]);
    }
    for (int i = 0; i < run->frame->bodies && rests; i++) {
        rests =
            left * compliant_fastest_point(run, i, compliant_velocity_of(run->state.f, i)) <= still;
    }
    return rests;
}

// Does the frame belong to a series that skips the integration?
static bool skips(const compliant_run *run, int guard)
{
    return compliant_pair(run, guard)->memory->compliant.implicit_frames > 0;
}

// A spring that the integrator need not, or cannot, follow holds as a constraint that yields as
// much: N = k x where nothing moves.
void compliant_hold_spring(compliant_run *run, int guard)
{
    run->guards.law[guard].status = COMPLIANT_RIGID_PAIR;
    run->guards.label[guard] = run->guards.known_label[guard] = 0;
    run->guards.ends_integration[guard] = true;
}

static void hold_springs(compliant_run *run)
{
    compliant_set_known_labels(run);
    for (int g = 0; g < run->guards.pairs; g++) {
        if (run->guards.known_label[g] != 0 && compliant_acts(&run->guards.law[g])) {
            compliant_hold_spring(run, g);
        }
    }
}

// Evaluates all pairs. Returns whether one of them cannot be integrated, for *reason.
static bool evaluate_pairs(compliant_run *run, demand *d, double band,
                           sprag_compliant_reason *reason)
{
    const compliant_guards *guards = &run->guards;
    double left = run->frame->step - run->time, touch = compliant_touch_distance(run);
    for (int g = 0; g < guards->pairs; g++) {
        const compliant_law *law = &guards->law[g];
        double gap = guards->gap[g];
        if (run->time == 0 && compliant_is_deep(run, g)) {
            compliant_hold_spring(run, g);
        }
        if (run->time == 0 && gap <= touch && compliant_is_rigid(run, g) && skips(run, g)) {
            *reason = SPRAG_COMPLIANT_STEP_LIMIT;
            return true;
        }
        if (isnan(gap)) {
            *reason = SPRAG_COMPLIANT_INTEGRATOR_STOPPED;
            return true;
        }
        guards->band[g] = fmax(COMPLIANT_BAND_MIN, band * run->sizes.fastest * left);
        bool is_far = gap > run->sizes.fastest * left;
        d->guard_cost += is_far ? COMPLIANT_COST_FAR_PAIR : guards->cost[g];
        double label = guards->label[g];
        if (isnan(label) ? gap > 0 : label == 0) {
            continue;
        }
        if (law->status == COMPLIANT_IMPLICIT) {
            *reason = law->reason;
            return true;
        }
        if (compliant_acts(law)) {
            add_pair(d, run, g);
        }
    }
    return false;
}

bool compliant_needs_implicit_step(compliant_run *run, double *rate, sprag_compliant_reason *reason)
{
    demand d = {0};
    double band = COMPLIANT_BAND * sqrt(run->options->tolerance); // a projection is accurate there
    compliant_place(run, run->state.x);
    if (run->time > 0) {
        compliant_update_gaps(run);
    }
    if (evaluate_pairs(run, &d, band, reason)) {
        return true;
    }
    if (is_at_rest(run, d.steps) || is_too_much(run, &d)) {
        hold_springs(run);
        d = (demand){0};
        if (evaluate_pairs(run, &d, band, reason)) {
            return true;
        }
    }
    *rate = d.rate;
    run->budget.expected_steps = d.steps + d.bounce_steps;
    compliant_set_stop_bands(run, band * (run->frame->step - run->time));
    *reason = SPRAG_COMPLIANT_STIFF;
    return is_too_much(run, &d);
}
