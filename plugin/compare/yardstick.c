#include "yardstick_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "linalg.h"

// ---- bodies and joints of the world

static bool owns(dBodyID body, dJointID joint)
{
    dBodyID bodies[2];
    bool reversed;
    sprag_ode_joint_bodies(joint, bodies, &reversed);
    return bodies[0] == body && sprag_ode_joint_acts(joint);
}

// Counts bodies and joints, and lists them where there is room.
static void list(yardstick *y, dBodyID *body, dJointID *joint)
{
    y->all.bodies = y->all.joints = 0;
    for (dBodyID b = sprag_ode_newest_body(y->world); b; b = sprag_ode_older_body(b)) {
        for (int i = 0; i < dBodyGetNumJoints(b); i++) {
            dJointID j = dBodyGetJoint(b, i);
            if (owns(b, j)) {
                if (joint) {
                    joint[y->all.joints] = j;
                }
                y->all.joints++;
            }
        }
        if (body) {
            body[y->all.bodies] = b;
        }
        y->all.bodies++;
    }
}

static int by_address(const void *a, const void *b)
{
    const dJointID *p = a, *q = b;
    return (*p > *q) - (*p < *q);
}

static bool take_lists(yardstick *y)
{
    list(y, NULL, NULL);
    size_t bodies = (size_t)y->all.bodies + 1, joints = (size_t)y->all.joints + 1;
    y->body = calloc(bodies, sizeof *y->body);
    y->joint = calloc(joints, sizeof *y->joint);
    y->sorted = calloc(joints, sizeof *y->sorted);
    y->velocity = calloc(bodies, sizeof *y->velocity);
    y->own = calloc(joints, sizeof *y->own);
    y->feedback = calloc(joints, sizeof *y->feedback);
    if (!y->body || !y->joint || !y->sorted || !y->velocity || !y->own || !y->feedback) {
        return false;
    }
    list(y, y->body, y->joint);
    y->all.body = y->body;
    y->all.joint = y->joint;
    memcpy(y->sorted, y->joint, (size_t)y->all.joints * sizeof *y->sorted);
    qsort(y->sorted, (size_t)y->all.joints, sizeof *y->sorted, by_address);
    return true;
}

static bool is_of(const yardstick *y, dJointID joint)
{
    return bsearch(&joint, y->sorted, (size_t)y->all.joints, sizeof joint, by_address);
}

// ---- energy

static double energy_of(dBodyID body, const dReal *gravity)
{
    dMass mass;
    dVector3 w, momentum;
    const dReal *v = dBodyGetLinearVel(body), *turning = dBodyGetAngularVel(body);
    const dReal *x = dBodyGetPosition(body);
    dBodyGetMass(body, &mass);
    dBodyVectorFromWorld(body, turning[0], turning[1], turning[2], w);
    dMultiply0_331(momentum, mass.I, w);
    return (mass.mass * dot3(v, v) + dot3(w, momentum)) / 2 -
           (dBodyGetGravityMode(body) ? mass.mass * dot3(gravity, x) : 0);
}

static double energy_of_all(const yardstick *y)
{
    dVector3 gravity;
    double sum = 0;
    dWorldGetGravity(y->world, gravity);
    for (int i = 0; i < y->all.bodies; i++) {
        sum += dBodyIsKinematic(y->body[i]) ? 0 : energy_of(y->body[i], gravity);
    }
    return sum;
}

static bool is_driven_contact(const sprag_contact *contact, dJointID joint)
{
    const sprag_friction *slide = &contact->slide;
    dSurfaceParameters room;
    const bool moves = slide->velocity[0] != 0 || slide->velocity[1] != 0;
    return contact->stiffness > 0 || (moves && !contact->on_chords) ||
           (sprag_ode_contact_surface(joint, &room)->mode & dContactMotionN);
}

// false: forces of the program, motors, stops, springs or moving surfaces may do work.
static bool is_closed(const yardstick *y)
{
    const ode_problem *p = &y->pulled;
    dReal cfm = dWorldGetCFM(y->world);
    bool closed = true;
    for (int i = 0; i < y->all.bodies; i++) {
        const double *v = p->body[i].velocity, *f = p->force[i];
        closed &= dot6(f, f) == 0 && (p->body[i].mass > 0 || dot6(v, v) == 0);
    }
    for (int i = 0; i < p->problem.contacts; i++) {
        closed &= !is_driven_contact(&p->contact[i], p->contact_joint[i]);
    }
    for (int i = 0; i < p->problem.rows; i++) {
        const sprag_row *row = &p->row[i];
        closed &= isinf(row->lo) && isinf(row->hi) && row->compliance == cfm;
    }
    return closed;
}

// ---- forces

static void watch_forces(yardstick *y)
{
    for (int i = 0; i < y->all.joints; i++) {
        y->own[i] = dJointGetFeedback(y->joint[i]);
        if (!y->own[i] || !y->is_program) {
            dJointSetFeedback(y->joint[i], &y->feedback[i]);
        }
    }
}

const dJointFeedback *yardstick_forces(dJointID joint)
{
    static const dJointFeedback none;
    dBodyID body[2];
    bool reversed;
    sprag_ode_joint_bodies(joint, body, &reversed);
    bool acts = (body[0] && dBodyIsEnabled(body[0])) || (body[1] && dBodyIsEnabled(body[1]));
    return acts ? dJointGetFeedback(joint) : &none;
}

// The step may have destroyed joints.
void yardstick_end(yardstick *y)
{
    for (dJointID j = sprag_ode_newest_joint(y->world); j && !y->has_ended;
         j = sprag_ode_older_joint(j)) {
        const dJointFeedback *feedback = dJointGetFeedback(j);
        if (feedback >= y->feedback && feedback < y->feedback + y->all.joints) {
            dJointSetFeedback(j, y->own[feedback - y->feedback]);
        }
    }
    y->has_ended = true;
}

// m/s, the largest change of velocity of a body that no force explains. Bodies with damping are
// left out.
static double unexplained(const yardstick *y)
{
    const ode_problem *p = &y->pulled;
    double(*rest)[3] = calloc((size_t)y->all.bodies, sizeof *rest), most = 0;
    for (int i = 0; rest && i < y->all.bodies; i++) {
        for (int k = 0; k < 3; k++) {
            rest[i][k] = p->body[i].mass * (y->velocity[i][k] - p->body[i].free_velocity[k]);
        }
    }
    for (int j = 0; rest && j < y->all.joints; j++) {
        const dReal *force[2] = {y->feedback[j].f1, y->feedback[j].f2};
        dBodyID body[2];
        bool reversed;
        sprag_ode_joint_bodies(y->joint[j], body, &reversed);
        for (int side = 0; side < 2; side++) {
            int i = sprag_ode_index_of(&y->index, body[side]);
            if (i != SPRAG_STATIC) {
                add_scaled(rest[i], -y->step, force[side], 3);
            }
        }
    }
    for (int i = 0; rest && i < y->all.bodies; i++) {
        if (p->body[i].mass > 0 && yardstick_is_moved(y, i) && !yardstick_is_damped(y, i)) {
            most = fmax(most, norm3(rest[i]) / p->body[i].mass);
        }
    }
    free(rest);
    return rest ? most : NAN;
}

// ---- bodies and joints after the step

// Joints that act and were not there before the step. disables: disables them.
static int find_new_joints(const yardstick *y, bool disables)
{
    int found = 0;
    for (int i = 0; i < y->all.bodies; i++) {
        for (int k = 0; k < dBodyGetNumJoints(y->body[i]); k++) {
            dJointID joint = dBodyGetJoint(y->body[i], k);
            if (owns(y->body[i], joint) && !is_of(y, joint)) {
                found++;
                if (disables) {
                    dJointDisable(joint);
                }
            }
        }
    }
    return found;
}

void yardstick_disable_new_joints(const yardstick *y)
{
    find_new_joints(y, true);
}

// ODE's lists keep their order.
static bool has_all(const yardstick *y)
{
    int bodies = 0, joints = 0;
    for (dBodyID b = sprag_ode_newest_body(y->world); b; b = sprag_ode_older_body(b)) {
        bodies += bodies < y->all.bodies && y->body[bodies] == b;
    }
    for (dJointID j = sprag_ode_newest_joint(y->world); j; j = sprag_ode_older_joint(j)) {
        joints += is_of(y, j);
    }
    return bodies == y->all.bodies && joints == y->all.joints;
}

bool yardstick_read(yardstick *y)
{
    if (!y->is_read && has_all(y)) {
        for (int i = 0; i < y->all.bodies; i++) {
            sprag_ode_read_velocity(y->body[i], y->velocity[i]);
        }
        y->is_read = true;
    }
    return y->is_read && find_new_joints(y, false) == 0;
}

// ---- all

yardstick *yardstick_begin(dWorldID world, dReal step, bool is_program)
{
    yardstick *y = sprag_ode_newest_body(world) ? calloc(1, sizeof *y) : NULL;
    if (!y) {
        return NULL;
    }
    y->world = world;
    y->step = step;
    y->is_program = is_program;
    if (!take_lists(y) ||
        sprag_ode_pull(&y->pulled, world, &y->all, step, NULL, NULL, &y->scratch) != SPRAG_OK ||
        !sprag_ode_index_bodies(&y->index, y->body, y->all.bodies, &y->scratch)) {
        y->has_ended = true; // not begun
        yardstick_free(y);
        return NULL;
    }
    y->is_closed = is_closed(y);
    sprag_ode_restore(&y->pulled);
    y->energy = energy_of_all(y);
    watch_forces(y);
    return y;
}

void yardstick_count(const yardstick *y, sample_state *state)
{
    state->bodies = y->all.bodies;
    state->contacts = y->pulled.problem.contacts;
    state->joint_rows = y->pulled.problem.rows;
}

dBodyID const *yardstick_bodies(const yardstick *y, int *count)
{
    *count = y->all.bodies;
    return y->body;
}

static double mean_speed(const yardstick *y)
{
    double sum = 0;
    int moving = 0;
    for (int i = 0; i < y->all.bodies; i++) {
        bool counts = y->pulled.body[i].mass > 0;
        sum += counts ? norm3(y->velocity[i]) : 0;
        moving += counts;
    }
    return moving ? sum / moving : 0;
}

// Asking a motor at its stop for rows adds forces to its bodies.
static void measure_joints(const yardstick *y, double value[SAMPLE_VALUES])
{
    double(*force)[6] = calloc((size_t)y->all.bodies, sizeof *force);
    for (int i = 0; force && i < y->all.bodies; i++) {
        sprag_ode_read_accumulators(y->body[i], force[i]);
    }
    if (force) {
        yardstick_joints(y, value);
    }
    for (int i = 0; force && i < y->all.bodies; i++) {
        sprag_ode_set_accumulators(y->body[i], force[i]);
    }
    free(force);
}

void yardstick_measure(yardstick *y, double value[SAMPLE_VALUES])
{
    for (int i = 0; i < SAMPLE_VALUES; i++) {
        value[i] = NAN;
    }
    const bool knows_forces = yardstick_read(y);
    if (!y->is_read) {
        return;
    }
    value[SAMPLE_ENERGY] = energy_of_all(y);
    value[SAMPLE_SPEED] = mean_speed(y);
    value[SAMPLE_ENERGY_MADE] = y->is_closed ? fmax(0, value[SAMPLE_ENERGY] - y->energy) : NAN;
    yardstick_contacts(y, value);
    if (knows_forces) {
        value[SAMPLE_MOMENTUM] = y->is_program ? NAN : unexplained(y);
        value[SAMPLE_RESIDUAL] = yardstick_residual(y);
    }
    yardstick_depth(y, value);
    measure_joints(y, value);
}

void yardstick_free(yardstick *y)
{
    if (y) {
        yardstick_end(y);
        sprag_scratch_free(&y->scratch);
        free(y->body);
        free(y->joint);
        free(y->sorted);
        free(y->velocity);
        free(y->own);
        free(y->feedback);
        free(y);
    }
}
