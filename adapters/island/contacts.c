// Contact joints -> contacts, with the meaning that dxJointContact::getInfo2 gives to every surface
// parameter; only the friction bound is a cone (an ellipse) where ODE has a pyramid.
#include <math.h>
#include <string.h>

#include "island.h"
#include "kinematics.h"

// The ERP from which on the solver may soften a contact fully. Softness lets a contact sink, and
// ERP lifts it again; at ODE's default of 0.2 both are in balance. Greater: contacts with the
// default are harder and solved less easily; smaller: contacts with a small ERP sink deeper.
static const double ERP_FULL_SOFTENING = 0.2;

// Crushed contacts: the one place where sprag departs from the friction that the program asks for.
// A contact is crushed if it is deeper than CRUSHED_DEPTH times the distance from the body's centre
// to the contact (the greater of both bodies), and is pushed apart at the greatest speed that the
// world allows (dWorldSetContactMaxCorrectingVel). If its friction coefficient is infinite, it gets
// CRUSHED_FRICTION times the normal force instead: bodies that were made inside one another could
// otherwise never slide apart. The consequence: a contact that was never to slip can slip while it
// is that deep; neither a message nor a statistic says so. Finite coefficients stay as they are.
// With a greater CRUSHED_DEPTH such bodies stay locked more often; a greater CRUSHED_FRICTION holds
// them longer.
static const double CRUSHED_DEPTH = 0.1, CRUSHED_FRICTION = 0.3;

// Shares of the speed at which a contact was stopped. What is left of its gap, times the step,
// beyond what turns leave: larger: rebounds across gaps; smaller: none where sweeps have not
// converged. And a change of its approach that the step has not made: larger: a body that the
// program has stopped rebounds; smaller: none does that the program holds in a plane.
static const double REACHED = 0.01, AS_LEFT = 0.1;

// Normal velocity of the contact point before the step, m/s, positive when the bodies separate.
static double separation_speed(const sprag_contact *to, const ode_state *const state[2])
{
    const double *velocity[2] = {state[0]->velocity, state[1] ? state[1]->velocity : NULL};
    double u[3];
    relative_velocity(velocity, (const double(*)[3])to->arm, u);
    return dot3(to->frame[0], u);
}

// m/s, by which bodies come nearer faster in a step in which nothing touches them: by a change of
// their angular velocity, or of their linear one.
static double gain_of(const sprag_body *bodies, const sprag_contact *contact, bool turning)
{
    double gain = 0;
    for (int side = 0; side < 2; side++) {
        if (contact->body[side] != SPRAG_STATIC) {
            const sprag_body *body = &bodies[contact->body[side]];
            double change[6], turned[3];
            for (int k = 0; k < 6; k++) {
                change[k] = body->free_velocity[k] - body->velocity[k];
            }
            cross3(change + 3, contact->arm[side], turned);
            gain += (side ? 1 : -1) * dot3(contact->frame[0], turning ? turned : change);
        }
    }
    return gain;
}

// A body that reaches another one within a step is stopped there, and rebounds in the next step,
// with the energy that it came with. That is another speed than it had where it turns in between,
// as the impulse then acts on another mass. A step of the length h with the acceleration a keeps
// v^2 - a h v + 2 a x, at the gap x that opens at v: from the speed u on, a stop at the gap takes
// u^2 + a h u - (l^2 - a h l) of it, l = gap / h, and a rebound at r from u on gives r^2 + a h r -
// (u^2 + a h u). A gyroscopic torque does no work: u has what it adds.
double sprag_ode_taken_by_stop(const sprag_body *bodies, const sprag_contact *contact, double step,
                               double speed)
{
    const double left = contact->gap / step, gain = gain_of(bodies, contact, false);
    const double w = sprag_ode_inverse_mass_of_contact(bodies, contact);
    const double freely = speed + gain_of(bodies, contact, true);
    const double taken = freely * (freely + gain) - left * (left - gain);
    return w > 0 ? fmax(0, taken / w) : 0;
}

// The point of a gap is that of the joint's first body, at the start of the step. That of the
// second body meets it at the time t at which the gap closes, and is t (first - second velocity)
// away now: gap = t (rate + t slant) with the rates of both levers.
static void part_levers(sprag_contact *to, bool reversed, const ode_state *const state[2],
                        double step)
{
    const int second = reversed ? 0 : 1;
    double d[3] = {0}, turned[3];
    for (int side = 0; side < 2 && state[second]; side++) {
        if (state[side]) {
            add_scaled(d, side == second ? -1 : 1, state[side]->velocity, 3);
        }
    }
    if (!state[second]) {
        return;
    }
    cross3(state[second]->velocity + 3, d, turned);
    double rate = -separation_speed(to, state);
    double slant = (reversed ? -1 : 1) * dot3(to->frame[0], turned);
    double square = rate * rate + 4 * slant * to->gap;
    if (rate > 0 && square > 0) {
        double t = 2 * to->gap / (rate + sqrt(square));
        add_scaled(to->arm[second], fmin(t, step), d, 3);
    }
}

ode_setting sprag_ode_setting(dWorldID world, dReal step)
{
    return (ode_setting){.step = step,
                         .erp = dWorldGetERP(world),
                         .cfm = dWorldGetCFM(world),
                         .surface_layer = dWorldGetContactSurfaceLayer(world),
                         .correcting_velocity = dWorldGetContactMaxCorrectingVel(world)};
}

static bool surface_drives(const dSurfaceParameters *surface, double motion)
{
    return motion != 0 || (surface->mode & dContactBounce && surface->bounce > 1);
}

// approach: m/s, at which the bodies come nearer; motion: m/s, of the surface along the normal.
static void set_rebound(sprag_contact *to, const dSurfaceParameters *surface, double approach,
                        double motion)
{
    const double rebound = surface->bounce * approach + motion;
    if (approach > surface->bounce_vel && rebound > to->bias && isfinite(rebound)) {
        to->bias = rebound;
        to->recovery = surface_drives(surface, motion) ? 0 : fmax(0, rebound);
        to->rebounds = true;
        to->softening = 0; // it would reduce the rebound
        to->stiffness = 0; // the rebound is ODE's, whatever the stiffness
    }
}

// Is the contact where the last step has stopped it, and do its bodies move as that left them?
// Their turn has changed the approach, and the gap that was to be closed. u: m/s, at the contact.
static bool is_stopped(const sprag_contact *contact, const sprag_body *bodies, double step,
                       const double u[3], const ode_stop *stop)
{
    const double speed = sqrt(sprag_ode_inverse_mass_of_contact(bodies, contact) * stop->alone);
    double turned = 0; // m/s
    for (int side = 0; side < 2; side++) {
        if (contact->body[side] != SPRAG_STATIC) {
            const double turn = step * norm3(bodies[contact->body[side]].velocity + 3);
            turned += turn * (turn / step * norm3(contact->arm[side]) + norm3(u));
        }
    }
    return speed > 0 && contact->gap <= step * (turned + REACHED * speed) &&
           -dot3(contact->frame[0], u) >= stop->left - turned - AS_LEFT * speed;
}

void sprag_ode_rebound_from_stop(sprag_contact *to, dJointID joint, double cfm,
                                 const sprag_body *bodies, double step, const ode_stop *stop)
{
    dSurfaceParameters room;
    const dSurfaceParameters *surface = sprag_ode_contact_surface(joint, &room);
    if (!(surface->mode & dContactBounce && surface->bounce_vel >= 0)) {
        return;
    }
    sprag_surface read;
    double u[3];
    sprag_ode_read_surface(&read, surface, cfm);
    sprag_contact_velocity(to, bodies->velocity, sizeof *bodies, u);
    double approach = read.velocity_normal - dot3(to->frame[0], u);
    const bool stopped = sprag_ode_contact_geom(joint)->side1 != ODE_SIDE_ASIDE &&
                         is_stopped(to, bodies, step, u, stop);
    if (to->gap > 0 && !stopped) {
        return;
    }
    if (stopped) {
        const double half = gain_of(bodies, to, false) / 2;
        const double freely = approach + gain_of(bodies, to, true);
        const double given = sprag_ode_inverse_mass_of_contact(bodies, to) * stop->alone;
        approach = sqrt(fmax(0, half * half + freely * (freely + 2 * half) + given)) - half;
    }
    set_rebound(to, surface, approach, read.velocity_normal);
    to->returns = to->rebounds && stopped ? stop->work : 0;
}

static double closing_of(const sprag_contact *contact, const double *velocity, size_t bytes)
{
    double u[3];
    sprag_contact_velocity(contact, velocity, bytes, u);
    return -dot3(contact->frame[0], u);
}

double sprag_ode_closing_before(const ode_problem *pulled, int i)
{
    return closing_of(&pulled->contact[i], pulled->body->velocity, sizeof *pulled->body);
}

static double closing_after(const ode_problem *pulled, int i)
{
    return closing_of(&pulled->contact[i], *pulled->solution.velocity,
                      sizeof *pulled->solution.velocity);
}

double sprag_ode_taken_by_force(const ode_problem *pulled, int i, double force)
{
    return pulled->problem.step * force *
           (sprag_ode_closing_before(pulled, i) + closing_after(pulled, i)) / 2;
}

// J, that the normal force of a contact has taken.
static double taken_by(const ode_problem *pulled, int i)
{
    const double force = pulled->solution.contact_force[i][0];
    return pulled->spent ? pulled->spent_work[i] +
                               sprag_ode_taken_by_force(pulled, i, force - pulled->spent[i][0])
                         : sprag_ode_taken_by_force(pulled, i, force);
}

// A contact that has acted across its gap is one that the step has stopped.
static bool is_stop(const ode_problem *pulled, int i)
{
    return pulled->approach && pulled->approach[i] > 0 && pulled->solution.contact_force[i][0] > 0;
}

double sprag_ode_share_of_stops(const ode_problem *pulled)
{
    double taken = 0, won = 0, left = 0;
    for (int i = 0; i < pulled->problem.contacts && pulled->approach; i++) {
        if (is_stop(pulled, i)) {
            const double work = taken_by(pulled, i);
            taken += fmax(0, work);
            left += work;
        } else if (!(pulled->contact[i].stiffness > 0)) {
            won += fmax(0, -taken_by(pulled, i) - pulled->contact[i].returns);
        }
    }
    return taken > 0 && isfinite(taken) ? clamp((left - won) / taken, 0, 1) : 0;
}

void sprag_ode_expect_rebounds(ode_problem *pulled, sprag_scratch *scratch)
{
    const int bodies = pulled->problem.bodies;
    for (int i = 0; i < pulled->problem.contacts; i++) {
        const sprag_contact *contact = &pulled->contact[i];
        if (!is_stop(pulled, i)) {
            continue;
        }
        pulled->rebound = pulled->rebound ? pulled->rebound : SPRAG_TAKE(scratch, bodies, double);
        const double w = sprag_ode_inverse_mass_of_contact(pulled->body, contact);
        dSurfaceParameters room;
        const double bounce = sprag_ode_contact_surface(pulled->contact_joint[i], &room)->bounce;
        const double taken = sqrt(w * pulled->approach[i]),
                     left = fmax(0, closing_after(pulled, i));
        const double speed = taken + fmax(0, bounce - 1) * (taken + left);
        for (int side = 0; side < 2 && pulled->rebound && isfinite(speed); side++) {
            const int b = contact->body[side];
            if (b != SPRAG_STATIC && pulled->body[b].mass > 0 && speed > pulled->rebound[b]) {
                pulled->rebounds += !(pulled->rebound[b] > 0);
                pulled->rebound[b] = speed;
            }
        }
    }
}

ode_stop sprag_ode_stop_of(const ode_problem *pulled, int i, double share)
{
    if (!is_stop(pulled, i)) {
        return (ode_stop){0};
    }
    return (ode_stop){.alone = pulled->approach[i],
                      .left = closing_after(pulled, i),
                      .work = share * fmax(0, taken_by(pulled, i))};
}

static void set_normal_law(sprag_contact *to, const dSurfaceParameters *surface,
                           const sprag_surface *read, const ode_setting *setting,
                           const ode_state *const state[2], ode_approach *stop, bool ahead)
{
    int mode = surface->mode;
    double erp = positive(mode & dContactSoftERP ? surface->soft_erp : setting->erp);
    to->erp = isfinite(erp) ? erp : 0;
    const bool hard = ahead && stop;
    to->softening = hard ? 0 : sprag_smaller(erp / ERP_FULL_SOFTENING, 1);
    to->stiffness = hard ? 0 : to->stiffness;
    double depth = positive(-to->gap - setting->surface_layer);
    double motion = read->velocity_normal;
    const double moves =
        ahead ? sprag_smaller(motion, 0) : motion; // across a gap no surface pushes
    double rate = ahead ? -to->gap / setting->step : erp / setting->step * depth;
    to->bias = sprag_smaller(rate + moves, setting->correcting_velocity);
    to->compliance = read->compliance;
    if (mode & dContactBounce && surface->bounce_vel >= 0) {
        const double approach = motion - separation_speed(to, state);
        if (stop && ahead) { // its restitution follows in the next step
            stop->taken = sprag_ode_taken_by_stop(stop->body, to, setting->step, approach);
        } else if (ahead && surface->bounce > 0 && fmax(0, approach) >= surface->bounce_vel) {
            to->compliance = INFINITY; // no force: it rebounds by ODE's law, from an overlap
        } else if (!ahead && !stop) {
            set_rebound(to, surface, approach, motion);
        }
    }
    if (to->stiffness > 0) {
        to->bias = moves;
    }
    to->bias = isfinite(to->bias) ? to->bias : 0;
    to->recovery = surface_drives(surface, motion) ? 0 : positive(to->bias);
}

static bool is_crushed(const sprag_contact *to, const ode_setting *setting)
{
    if (to->bias < setting->correcting_velocity) {
        return false;
    }
    double reach = norm3(to->arm[0]);
    if (to->body[1] != SPRAG_STATIC) {
        reach = fmax(reach, norm3(to->arm[1]));
    }
    return -to->gap > CRUSHED_DEPTH * reach;
}

static void limit_friction_of_crushed(sprag_friction *slide)
{
    for (int axis = 0; axis < 2; axis++) {
        if (isinf(slide->coefficient[axis])) {
            slide->coefficient[axis] = CRUSHED_FRICTION;
            slide->force[axis] = false;
        }
    }
}

void sprag_ode_bound_friction_ahead(sprag_friction *friction)
{
    for (int axis = 0; axis < 2; axis++) {
        if (friction->force[axis] || isinf(friction->coefficient[axis])) {
            friction->coefficient[axis] = 0;
            friction->force[axis] = false;
        }
    }
}

static const sprag_turning *copy_turning(const sprag_turning *turning, sprag_scratch *scratch)
{
    sprag_turning *kept = SPRAG_TAKE(scratch, 1, sprag_turning);
    if (kept) {
        *kept = *turning;
    }
    return kept;
}

// NULL: static. own: room for the state of a body that is not in the index.
static const ode_state *state_of(const ode_index *index, int i, dBodyID body, ode_state *own)
{
    if (index->state && i != SPRAG_STATIC) {
        return &index->state[i];
    }
    if (body) {
        sprag_ode_read_state(own, body);
    }
    return body ? own : NULL;
}

// Does a contact with a gap act within it?
static bool is_ahead(const dContactGeom *geom, const ode_stiffness *stiffness)
{
    return stiffness && (stiffness->speculative || sprag_ode_is_gap(geom));
}

bool sprag_ode_pull_contact(sprag_contact *to, const ode_contact_view *view,
                            const ode_setting *setting, const ode_stiffness *stiffness,
                            const ode_index *index, ode_approach *approach, sprag_scratch *scratch,
                            const char **surface_error)
{
    const dContactGeom *geom = view->geom;
    const dSurfaceParameters *surface = view->surface;
    const ode_state *state[2];
    ode_state own[2];
    *surface_error = NULL;
    if (!sprag_ode_contact_frame(to->frame, view) || !isfinite(geom->depth) ||
        !isfinite(dot3(geom->pos, geom->pos))) {
        *to = (sprag_contact){0};
        return false;
    }
    to->gap = -geom->depth;
    for (int side = 0; side < 2; side++) {
        to->body[side] = sprag_ode_index_of(index, view->body[side]);
        state[side] = state_of(index, to->body[side], view->body[side], &own[side]);
        for (int k = 0; state[side] && k < 3; k++) {
            to->arm[side][k] = geom->pos[k] - state[side]->position[k];
        }
    }
    const bool ahead = to->gap > 0 && is_ahead(geom, stiffness);
    const bool aside = ahead && geom->side1 == ODE_SIDE_ASIDE;
    if (aside) { // no levers: no spin is to close its gap
        memset(to->arm, 0, sizeof to->arm);
    } else if (ahead) {
        part_levers(to, view->reversed, state, setting->step);
    }
    *surface_error = sprag_ode_pull_surface(to, surface, stiffness);
    sprag_surface read;
    sprag_ode_read_surface(&read, surface, setting->cfm);
    set_normal_law(to, surface, &read, setting, state, approach, ahead);
    to->guess[0] = -1;
    if (aside) { // with friction, forces could wedge across it
        return true;
    }
    to->slide = read.slide;
    if (surface->mode & dContactRolling) {
        to->turning = copy_turning(&read.turning, scratch);
    }
    if (is_crushed(to, setting)) {
        limit_friction_of_crushed(&to->slide);
    }
    return true;
}

// Would the gap close within the step if nothing pushed at it?
static bool closes_freely(const sprag_contact *contact, const sprag_problem *problem)
{
    double u[3];
    sprag_contact_velocity(contact, problem->body->free_velocity, sizeof *problem->body, u);
    return contact->gap + problem->step * dot3(contact->frame[0], u) < 0;
}

void sprag_ode_wait_for_touch(sprag_contact *contact, dJointID joint,
                              const ode_stiffness *stiffness, const sprag_problem *problem,
                              sprag_scratch *scratch)
{
    if (!is_ahead(sprag_ode_contact_geom(joint), stiffness) ||
        (contact->guess[0] > 0 && closes_freely(contact, problem))) {
        return;
    }
    sprag_ode_bound_friction_ahead(&contact->slide);
    if (contact->turning) {
        sprag_turning bounded = *contact->turning;
        sprag_ode_bound_friction_ahead(&bounded.roll);
        sprag_ode_bound_friction_ahead(&bounded.spin);
        contact->turning = copy_turning(&bounded, scratch);
    }
}
