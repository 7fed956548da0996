// The bodies of a step: from ODE, and back into ODE.
#include "frame_run.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "box.h"
#include "mover.h"

body_state *step_body_of(const step *s, dBodyID body)
{
    int i = sprag_ode_index_of(&s->index, body);
    return i == SPRAG_STATIC || s->body[i].frozen ? NULL : &s->body[i];
}

static void note_invalid_force(ode_advance *a, dBodyID id)
{
    a->warnings.invalid_force = a->results.invalid_forces++ ? a->warnings.invalid_force : id;
}

// The rest of the state is set where it is used first.
static void pull_body(step *s, int i, dBodyID id, int island, const dReal *gravity)
{
    body_state *b = &s->body[i];
    ode_advance *a = s->a;
    b->id = id;
    b->island = island;
    // Forces of fluids have a rule of their own (fluids.c).
    b->held = dBodyGetNumJoints(id) > 0 || (a->input.fluids && a->input.fluids->now.count > 0);
    b->kicked = b->frozen = b->has_given[0] = b->has_given[1] = false;
    b->radius = 0;
    if (!sprag_ode_pull_mover(&b->start, id, gravity)) {
        note_invalid_force(a, id);
        sprag_ode_empty_accumulators(id);
    }
    memcpy(b->velocity, b->start.velocity, sizeof b->velocity);
    memcpy(b->acting, b->start.force, sizeof b->acting);
    sprag_ode_read_accumulators(id, b->force);
    sprag_ode_empty_accumulators(
        id); // forces that callbacks add during the step act in the next one
    double acceleration = sprag_mover_acceleration(&b->start);
    double h = a->input.step, spin = 0, turned[3], inverse[9];
    bool driven = dot3(b->start.force + 3, b->start.force + 3) > 0;
    if (driven && b->start.mass > 0 && invert33(b->start.inertia, inverse) != 0) {
        mul33(inverse, b->start.force + 3, turned); // size, whatever the axes
        spin = frame_reach_force * norm3(turned) * h;
    }
    b->reach =
        (frame_stray_speed * norm3(b->start.velocity) + frame_reach_force * acceleration * h) * h +
        frame_reach_margin * a->input.options.epsilon;
    b->swerve = (frame_swerve * norm3(b->start.velocity + 3) + spin) * h;
}

bool body_kick_of_torque(const body_state *b, dReal step, double W[9])
{
    double inverse[9];
    if (invert33(b->start.inertia, inverse) == 0) {
        return false;
    }
    turn33(b->start.pose.rotation, inverse, W);
    for (int k = 0; k < 9; k++) {
        W[k] *= step;
    }
    return true;
}

// Under stock x(n+1) = x(n) + h (v(n) + h F(n) / m), and springs and controllers that the program
// makes of F gain nothing. On a parabola under F(n) they would gain energy in each step. Where F
// pushes, the weight acts at once, too, so that a body hovers where F balances it.
void body_kick(body_state *b, dReal step)
{
    double W[9], turn[3];
    const bool kicks = !b->held && b->start.mass > 0;
    if (kicks == b->kicked) {
        return;
    }
    b->kicked = kicks;
    memcpy(b->start.velocity, b->velocity, sizeof b->velocity);
    memcpy(b->start.force, b->acting, sizeof b->acting);
    if (kicks && dot3(b->force, b->force) > 0) {
        add_scaled(b->start.velocity, step / b->start.mass, b->acting, 3);
        memset(b->start.force, 0, 3 * sizeof *b->start.force);
    }
    if (kicks && dot3(b->acting + 3, b->acting + 3) > 0 && body_kick_of_torque(b, step, W)) {
        mul33(W, b->acting + 3, turn);
        add_scaled(b->start.velocity + 3, 1, turn, 3);
        memset(b->start.force + 3, 0, 3 * sizeof *b->start.force);
    }
}

// An island with a body whose state is not finite stays where it is.
static bool is_usable(ode_advance *a, dBodyID const *body, int bodies)
{
    for (int i = 0; i < bodies; i++) {
        if (!sprag_ode_body_is_finite(body[i])) {
            a->warnings.nonfinite_body =
                a->results.frozen_bodies ? a->warnings.nonfinite_body : body[i];
            a->results.frozen_bodies += bodies;
            return false;
        }
    }
    return true;
}

bool step_pull_bodies(step *s)
{
    const ode_islands *islands = s->a->input.islands;
    dVector3 gravity;
    dWorldGetGravity(s->a->input.world, gravity);
    int n = 0;
    for (ode_island_walk walk = {.islands = islands}; sprag_ode_next_island(&walk);) {
        n += walk.island.bodies;
        s->joints += walk.island.joints;
    }
    s->bodies = s->a->results.bodies = n;
    s->body = SPRAG_TAKE_RAW(s->scratch, n, body_state);
    s->leader = SPRAG_TAKE(s->scratch, islands->count, int);
    if (s->scratch->failed || !sprag_ode_index_bodies(&s->index, islands->bodies, n, s->scratch)) {
        return false;
    }
    int b = 0;
    for (ode_island_walk walk = {.islands = islands}; sprag_ode_next_island(&walk);) {
        const ode_island *at = &walk.island;
        int number = (int)walk.next - 1;
        bool usable = is_usable(s->a, at->body, at->bodies);
        for (int k = 0; k < at->bodies; k++, b++) {
            if (usable) {
                pull_body(s, b, at->body[k], number, gravity);
            } else {
                s->body[b] = (body_state){.id = at->body[k], .island = number, .frozen = true};
            }
        }
    }
    return true;
}

static bool is_at(dBodyID id, const sprag_pose *pose)
{
    sprag_pose now;
    sprag_ode_read_pose(id, &now);
    return memcmp(&now, pose, sizeof now) == 0;
}

// ODE gets that of the two quaternions of a rotation which is nearer to the body's last one, as
// under stock: programs interpolate between them.
static void turn_to(dBodyID id, const double rotation[9])
{
    dMatrix3 R;
    dQuaternion before;
    memcpy(before, dBodyGetQuaternion(id), sizeof before);
    for (int i = 0; i < 3; i++) {
        memcpy(R + 4 * i, rotation + 3 * i, 3 * sizeof *R);
        R[4 * i + 3] = 0;
    }
    dBodySetRotation(id, R);
    dReal *q = (dReal *)(uintptr_t)dBodyGetQuaternion(id); // in place: R keeps its bits
    if (q[0] * before[0] + q[1] * before[1] + q[2] * before[2] + q[3] * before[3] < 0) {
        for (int k = 0; k < 4; k++) {
            q[k] = -q[k];
        }
    }
}

void step_place(dBodyID id, const sprag_pose *pose)
{
    sprag_pose now;
    sprag_ode_read_pose(id, &now);
    dBodySetPosition(id, pose->position[0], pose->position[1], pose->position[2]);
    if (memcmp(now.rotation, pose->rotation, sizeof now.rotation) != 0) {
        turn_to(id, pose->rotation);
    }
}

double body_radius(dBodyID body)
{
    double radius = 0;
    for (dGeomID geom = dBodyGetFirstGeom(body); geom; geom = dBodyGetNextGeom(geom)) {
        double box[6];
        sprag_ode_read_bounds(geom, box);
        radius = fmax(radius, sprag_box_farthest(box, dBodyGetPosition(body)));
    }
    return radius;
}

double body_strayed(const step *s, const body_state *b)
{
    double kick[3];
    subtract3(b->start.velocity, b->velocity, kick);
    const double strayed = b->mover->strayed + s->a->input.step * norm3(kick);
    subtract3(b->start.velocity + 3, b->velocity + 3, kick);
    const double swerved = b->mover->swerved + s->a->input.step * norm3(kick);
    const double farther =
        fmin(swerved, 2) - fmin(b->swerve, 2); // a point moves by at most the diameter
    return strayed + (farther > 0 ? farther * body_radius(b->id) : 0);
}

void step_restore(const step *s)
{
    for (int i = 0; i < s->bodies; i++) {
        const body_state *b = &s->body[i];
        if (!b->frozen) {
            step_place(b->id, &b->start.pose);
            sprag_ode_set_velocity(b->id, b->velocity);
        }
    }
}

static void return_forces(const body_state *b)
{
    double force[6];
    sprag_ode_read_accumulators(b->id, force);
    add_scaled(force, 1, b->force, 6);
    sprag_ode_set_accumulators(b->id, force);
}

void step_return_forces(const step *s)
{
    for (int i = 0; i < s->bodies; i++) {
        if (!s->body[i].frozen) {
            return_forces(&s->body[i]);
        }
    }
}

void body_expose(const body_state *b, const sprag_mover *as)
{
    step_place(b->id, &as->pose);
    sprag_ode_set_velocity(b->id, as->velocity);
}

void body_observe(body_state *b, const sprag_mover *exposed)
{
    double now[6];
    sprag_ode_read_velocity(b->id, now);
    for (int part = 0; part < 2; part++) {
        size_t size = 3 * sizeof *now;
        if (memcmp(now + 3 * part, exposed->velocity + 3 * part, size) != 0) {
            memcpy(b->given + 3 * part, now + 3 * part, size);
            b->has_given[part] = true;
        }
    }
}

static void set_given_velocity(const body_state *b)
{
    double v[6];
    if (!b->has_given[0] && !b->has_given[1]) {
        return;
    }
    sprag_ode_read_velocity(b->id, v);
    for (int part = 0; part < 2; part++) {
        memcpy(v + 3 * part, (b->has_given[part] ? b->given : v) + 3 * part, 3 * sizeof *v);
    }
    sprag_ode_set_velocity(b->id, v);
}

static void expose_velocity(body_state *b, const double v[6])
{
    memcpy(b->exposed_velocity, v, sizeof b->exposed_velocity);
    sprag_ode_set_velocity(b->id, v);
}

// Puts the body where it was before the step: for the solver that steps it instead, and for moved
// callbacks of other bodies.
static void expose_start(body_state *b)
{
    step_place(b->id, &b->start.pose);
    sprag_ode_read_pose(b->id, &b->exposed_pose); // ODE may have rounded it
    expose_velocity(b, b->velocity);
}

// Puts the forces of this step in place of those for the next one.
static void expose_forces(const step *s, body_state *b)
{
    if (s->a->results.remaining[b->island] && !b->frozen) {
        return_forces(b);
        return;
    }
    sprag_ode_read_accumulators(b->id, b->next_force);
    memcpy(b->exposed_force, b->force, sizeof b->exposed_force);
    sprag_ode_set_accumulators(b->id, b->exposed_force);
}

// Adds the weight, as stock does for all bodies of an island before any of its moved callbacks.
static void expose_weight(body_state *b)
{
    sprag_ode_set_accumulators(b->id, b->exposed_force);
    sprag_ode_add_weight(b->id);
    sprag_ode_read_accumulators(b->id, b->exposed_force);
}

// Adds the change of velocity that moved callbacks of other bodies have made.
static void observe_velocity(body_state *b)
{
    double now[6];
    sprag_ode_read_velocity(b->id, now);
    for (int k = 0; k < 6; k++) {
        b->mover->velocity[k] += now[k] - b->exposed_velocity[k];
    }
    memcpy(b->exposed_velocity, now, sizeof now);
}

static void apply_added_force(const step *s, body_state *b)
{
    if (!sprag_ode_apply_added_force(b->id, b->exposed_force, s->a->input.step,
                                     b->mover->velocity)) {
        note_invalid_force(s->a, b->id);
    }
}

// Calls ODE's own dxStepBody, over no time, for geoms, moved callback and damping. A body that a
// moved callback has put elsewhere moves on from there, for a whole step. A body that is pushed out
// of an overlap gets no speed by that; its idle count starts at zero, so that it does not fall
// asleep.
static void push_body(const step *s, body_state *b, bool called)
{
    bool elsewhere = called && !is_at(b->id, &b->exposed_pose);
    if (b->mover->pushed && dBodyGetAutoDisableFlag(b->id) && dBodyIsEnabled(b->id)) {
        dBodyEnable(b->id); // resets the idle count
    }
    if (!elsewhere) {
        step_place(b->id, &b->mover->pose);
    }
    sprag_ode_set_velocity(b->id, b->mover->velocity);
    sprag_ode_step_body(b->id, elsewhere ? s->a->input.step : 0);
    sprag_ode_set_accumulators(
        b->id, b->next_force); // as in stock, forces that its own callback adds are lost
    set_given_velocity(b);
    double turning = norm3(b->mover->velocity + 3) * b->radius;
    s->a->results.fastest = fmax(s->a->results.fastest, norm3(b->mover->velocity) + turning);
}

// As under stock, all bodies of an island have their weight before its first moved callback and,
// under QuickStep, their new velocity; there, forces that a callback adds within the island are
// lost.
static void push_island(const step *s, body_state *first, int bodies, bool called)
{
    for (body_state *b = first; b < first + bodies && called; b++) {
        observe_velocity(b);
        apply_added_force(s, b);
        expose_weight(b);
        if (s->a->input.quick) {
            expose_velocity(b, b->mover->velocity);
        }
    }
    for (body_state *b = first; b < first + bodies; b++) {
        if (called) {
            observe_velocity(b);
        }
        if (called && !s->a->input.quick) {
            apply_added_force(s, b);
        }
        push_body(s, b, called);
    }
}

static void end_fluids(const step *s)
{
    ode_fluids *fluids = s->a->input.fluids;
    for (int i = 0; fluids && i < fluids->now.count; i++) {
        ode_fluid_body *of = sprag_ode_set_value(&fluids->now, i);
        const body_state *b = step_body_of(s, of->id);
        bool moved = b && !s->a->results.remaining[b->island];
        of->flown = moved ? b->mover->flown : 0;
        sprag_ode_read_velocity(of->id, of->velocity);
    }
}

void step_push(const step *s)
{
    const ode_islands *islands = s->a->input.islands;
    const bool called = sprag_ode_any_calls_back(islands->bodies, s->bodies);
    for (int i = 0; i < s->bodies; i++) {
        body_state *b = &s->body[i];
        if (!b->frozen && (called || s->a->results.remaining[b->island])) {
            expose_start(b);
        }
        expose_forces(s, b);
    }
    body_state *first = s->body;
    for (ode_island_walk walk = {.islands = islands}; sprag_ode_next_island(&walk);) {
        int bodies = walk.island.bodies;
        bool remains = s->a->results.remaining[walk.next - 1];
        for (int k = 0; k < bodies && remains; k++) {
            set_given_velocity(&first[k]);
        }
        if (!first->frozen && !remains) {
            push_island(s, first, bodies, called);
        }
        first += bodies;
    }
    end_fluids(s);
}
