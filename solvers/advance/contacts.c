// Contact points -> contacts of the sub-step's problem.
#include <math.h>

#include "advance_solve.h"
#include "kinematics.h"
#include "pair_contact.h"
#include "stiction.h"

// force: N, on body 0.
static void set_guess(sprag_contact *contact, const double force[3])
{
    mul33(*contact->frame, force, contact->guess);
    contact->guess[0] = fmax(0, contact->guess[0]);
}

// Sets the guess to the force of the last attempt, or to that of the nearest point of the last
// sub-step.
static void recall(const advance_run *run, const advance_point *point, sprag_contact *contact)
{
    const sprag_frame *frame = run->frame;
    const sprag_pair_memory *memory = run->near[point->pair].memory;
    if (point->has_guess) {
        set_guess(contact, point->wrench[0]);
        return;
    }
    if (memory->count == 0) {
        return;
    }
    double nearest = INFINITY, from[3];
    int best = 0;
    subtract3(point->at[0], frame->body[contact->body[0]].pose.position, from);
    for (int i = 0; i < memory->count; i++) {
        double d[3];
        subtract3(memory->point[i].at, from, d);
        if (dot3(d, d) < nearest) {
            nearest = dot3(d, d);
            best = i;
        }
    }
    // A pair with more points than before has no more force.
    double share = (double)memory->count / fmax(memory->count, run->near[point->pair].points);
    double force[3];
    scale3(share, memory->point[best].force, force);
    set_guess(contact, force);
}

double advance_inverse_mass(const advance_run *run, const sprag_body *body,
                            const sprag_contact *contact)
{
    double sum = 0;
    for (int side = 0; side < 2; side++) {
        int b = contact->body[side];
        double J[6];
        if (b != SPRAG_STATIC && body[b].mass > 0) {
            point_jacobian(contact->arm[side], contact->frame[0], J);
            sum += inverse_mass_along(1 / body[b].mass, run->inverse[b], J);
        }
    }
    return sum;
}

// m, by which the contact yields to its expected force in the sub-step: the softness of the solve
// would let bodies at rest sink.
static double yield_of(const advance_run *run, const sprag_contact *contact,
                       const advance_problem *p)
{
    double yield =
        sprag_contact_yield(&p->soft, contact, advance_inverse_mass(run, p->body, contact));
    double step = p->problem.step;
    return contact->guess[0] > 0 && isfinite(yield) ? yield * contact->guess[0] * step * step : 0;
}

// Is the dip of a point left to the projection of a coarse plan? That has no friction, and takes
// what rests on a body that swings a little farther in each sub-step. So what settles makes up by
// its velocities for dips that throw nothing higher than epsilon.
static bool ignores_dip(const advance_run *run, const advance_point *point, double step)
{
    const double fastest = sqrt(2 * run->acceleration * run->options->epsilon);
    return run->attempt.ignore_dips && !(run->settling && point->dip <= fastest * step);
}

// m/s, least normal velocity at the end of the sub-step: the gap goes down to the target within the
// sub-step, but for the dip of the curved motion. Of a gap below the target only what the contact
// has yielded is made up for: a velocity for the rest, which projection.c opens, would
// press bodies against one another that hardly fit between others.
static double bias_of(const advance_run *run, const advance_point *point,
                      const sprag_contact *contact, const advance_problem *p)
{
    double step = p->problem.step;
    const sprag_surface *surface = &run->frame->pair[point->pair].surface;
    double missing = run->target - point->gap;
    if (missing > 0) {
        const double slow = sprag_stiction_of(p->soft.scale, 0, 0).moving;
        const double kept =
            sprag_contact_rests(&p->problem, contact, slow) ? 1 : advance_kept_yield;
        missing = fmin(missing, kept * yield_of(run, contact, p));
    }
    const bool pushed = advance_is_pushed(run, point);
    missing = pushed ? 0 : missing;
    missing += ignores_dip(run, point, step) && !pushed ? 0 : point->dip;
    // A dip is not made up for within a sub-step shorter than the shortest: that would take
    // a large velocity. Error control may make all sub-steps that short.
    double shortest = advance_is_controlled(run) ? 1 : run->options->shortest;
    double time = missing > 0 ? fmax(step, shortest * run->frame->step) : step;
    double bias = missing / time;
    double motion = surface->velocity_normal;
    return motion != 0 ? fmax(bias, motion) : bias;
}

void advance_place_contact(const advance_run *run, const advance_point *point, sprag_contact *to)
{
    const sprag_pair *pair = &run->frame->pair[point->pair];
    double at[3];
    for (int k = 0; k < 3; k++) {
        at[k] = 0.5 * (point->at[0][k] + point->at[1][k]);
    }
    sprag_pair_contact(run->frame, pair, at, point->normal, to);
    for (int side = 0; side < 2 && point->speculative; side++) { // they meet later
        if (to->body[side] != SPRAG_STATIC) {
            subtract3(point->at[side], run->frame->body[to->body[side]].pose.position,
                      to->arm[side]);
        }
    }
}

void advance_set_contact(const advance_run *run, const advance_point *point,
                         const advance_problem *p, sprag_contact *to)
{
    advance_place_contact(run, point, to);
    to->gap = fmax(point->gap, 0);
    recall(run, point, to);
    to->bias = bias_of(run, point, to, p);
}
