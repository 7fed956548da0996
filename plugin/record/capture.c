#include "capture.h"

#include <math.h>

#include "frame_state.h"
#include "island.h"
#include "linalg.h"
#include "record_constants.h"

// Values of the identity of a body.
enum { BEFORE = 0, UNDESCRIBED = 3 }; // m, its place before the step; 1: no BODY has described it

// ---- bodies

static identity *see_body(capture *c, const world_state *w, dBodyID body, int64_t step)
{
    bool is_new;
    identity *i = identities_see(&c->bodies, body, (uint32_t)w->number, step, &is_new);
    c->failed |= !i;
    if (i && is_new) {
        i->value[UNDESCRIBED] = 1;
        memcpy(i->value + BEFORE, dBodyGetPosition(body), 3 * sizeof *i->value);
    }
    return i;
}

static bool list_bodies(capture *c, dWorldID world)
{
    c->count = 0;
    for (dBodyID b = sprag_ode_newest_body(world); b; b = sprag_ode_older_body(b)) {
        if (c->count == c->room) {
            int room = c->room ? 2 * c->room : 256;
            dBodyID *more = realloc(c->body, (size_t)room * sizeof *more);
            if (!more) {
                return false;
            }
            c->body = more;
            c->room = room;
        }
        c->body[c->count++] = b;
    }
    return true;
}

void capture_begin(capture *c, const world_state *w, int64_t step)
{
    c->failed |= !list_bodies(c, w->id);
    for (int k = c->count - 1; k >= 0; k--) {
        identity *i = see_body(c, w, c->body[k], step);
        if (i) {
            memcpy(i->value + BEFORE, dBodyGetPosition(c->body[k]), 3 * sizeof *i->value);
        }
    }
}

static void write_descriptions(capture *c, const world_state *w, int64_t step, frame_buffer *to)
{
    frame_buffer_table(to, "BODY", sizeof(sprag_recorded_body));
    for (int k = c->count - 1; k >= 0; k--) {
        identity *i = see_body(c, w, c->body[k], step);
        sprag_recorded_body *b = i && i->value[UNDESCRIBED] != 0 ? frame_buffer_add(to, 1) : NULL;
        if (b) {
            dMass mass;
            dBodyGetMass(c->body[k], &mass);
            *b = (sprag_recorded_body){.body = i->id, .world = i->world, .mass = mass.mass};
            for (int n = 0; n < 9; n++) {
                b->inertia[n] = mass.I[4 * (n / 3) + n % 3];
            }
            i->value[UNDESCRIBED] = 0;
        }
    }
}

static uint32_t number_of(const capture *c, dBodyID body)
{
    const identity *i = identities_find(&c->bodies, body);
    return i ? i->id : SPRAG_RECORDED_NONE;
}

static void write_poses(const capture *c, frame_buffer *to)
{
    frame_buffer_table(to, "POSE", sizeof(sprag_recorded_pose));
    sprag_recorded_pose *p = frame_buffer_add(to, (size_t)c->count);
    for (int k = c->count - 1; p && k >= 0; k--, p++) {
        dBodyID b = c->body[k];
        p->body = number_of(c, b);
        p->flags = (dBodyIsKinematic(b) ? SPRAG_RECORDED_KINEMATIC : 0) |
                   (dBodyIsEnabled(b) ? 0 : SPRAG_RECORDED_DISABLED);
        memcpy(p->position, dBodyGetPosition(b), sizeof p->position);
        memcpy(p->quaternion, dBodyGetQuaternion(b), sizeof p->quaternion);
        memcpy(p->velocity, dBodyGetLinearVel(b), sizeof p->velocity);
        memcpy(p->spin, dBodyGetAngularVel(b), sizeof p->spin);
    }
}

// ---- forces

bool capture_lend_feedback(force_pool *pool, dWorldID world)
{
    int joints = 0;
    for (dJointID j = sprag_ode_newest_joint(world); j; j = sprag_ode_older_joint(j)) {
        joints += !dJointGetFeedback(j);
    }
    pool->count = 0;
    if (joints > pool->room) {
        free(pool->force);
        pool->room = 0;
        pool->force = malloc(2 * (size_t)joints * sizeof *pool->force);
        if (!pool->force) {
            return false;
        }
        pool->room = 2 * joints;
    }
    for (dJointID j = sprag_ode_newest_joint(world); j; j = sprag_ode_older_joint(j)) {
        if (!dJointGetFeedback(j)) {
            pool->force[pool->count] = (dJointFeedback){.f1 = {0}};
            dJointSetFeedback(j, &pool->force[pool->count++]);
        }
    }
    return true;
}

static bool is_lent(const force_pool *pool, const dJointFeedback *feedback)
{
    return feedback >= pool->force && feedback < pool->force + pool->count;
}

void capture_return_feedback(const force_pool *pool, dWorldID world)
{
    for (dJointID j = sprag_ode_newest_joint(world); j && pool->count;
         j = sprag_ode_older_joint(j)) {
        if (is_lent(pool, dJointGetFeedback(j))) {
            dJointSetFeedback(j, NULL);
        }
    }
}

// Of a joint that was there before the step. The program's own feedback may be of an earlier step
// if no body of the joint is enabled.
static const dJointFeedback *feedback_of(dJointID joint, const dBodyID body[2],
                                         const force_pool *pool)
{
    const dJointFeedback *feedback = dJointGetFeedback(joint);
    bool solved = (body[0] && dBodyIsEnabled(body[0])) || (body[1] && dBodyIsEnabled(body[1]));
    return feedback && (is_lent(pool, feedback) || solved) ? feedback : NULL;
}

// ---- contacts

static void add_speed(const capture *c, dBodyID body, const double point[3], double sign,
                      double velocity[3])
{
    const identity *i = identities_find(&c->bodies, body);
    double arm[3], turning[3];
    if (!i) {
        return;
    }
    for (int k = 0; k < 3; k++) {
        arm[k] = point[k] - i->value[BEFORE + k];
    }
    cross3(dBodyGetAngularVel(body), arm, turning);
    add_scaled(velocity, sign, dBodyGetLinearVel(body), 3);
    add_scaled(velocity, sign, turning, 3);
}

static double slip_speed(const dSurfaceParameters *surface, const double frame[3][3],
                         const double velocity[3])
{
    int mode = surface->mode;
    double along = dot3(velocity, frame[1]) - (mode & dContactMotion1 ? surface->motion1 : 0);
    double across = dot3(velocity, frame[2]) - (mode & dContactMotion2 ? surface->motion2 : 0);
    return sqrt(along * along + across * across);
}

// Share of the friction bound along a tangent that is used.
static double share_of_bound(double force, double coefficient, bool of_normal, double normal)
{
    double bound = coefficient * (of_normal ? normal : 1);
    return bound > 0 ? fabs(force) / bound : INFINITY;
}

// used: share of the friction bound. m/s: speed of the slip, and the one that gravity gives in a
// step.
static sprag_recorded_state state_of(double normal, double used, double slip, double falling)
{
    bool slips = used >= SLIP_BOUND || (falling > 0 && slip > SLIP_SPEED * falling);
    return normal <= 0 ? SPRAG_RECORDED_OPEN : slips ? SPRAG_RECORDED_SLIP : SPRAG_RECORDED_STICK;
}

// Of the friction bounds, both tangents together. ODE bounds friction along each tangent, sprag by
// a cone.
static double share_of_bounds(const dSurfaceParameters *surface, const double frame[3][3],
                              const double force[3], bool ours)
{
    double normal = dot3(force, frame[0]);
    double second = surface->mode & dContactMu2 ? surface->mu2 : surface->mu;
    double along = share_of_bound(dot3(force, frame[1]), surface->mu,
                                  surface->mode & dContactApprox1_1, normal);
    double across =
        share_of_bound(dot3(force, frame[2]), second, surface->mode & dContactApprox1_2, normal);
    return ours ? sqrt(along * along + across * across) : fmax(along, across);
}

static void to_floats(float to[3], const double from[3])
{
    for (int k = 0; k < 3; k++) {
        to[k] = (float)from[k];
    }
}

static void write_contact(const capture *c, const world_state *w, dJointID joint,
                          const force_pool *pool, frame_buffer *to)
{
    dSurfaceParameters room;
    const dSurfaceParameters *surface = sprag_ode_contact_surface(joint, &room);
    const dContactGeom *contact = sprag_ode_contact_geom(joint);
    double frame[3][3], velocity[3] = {0};
    dBodyID body[2];
    sprag_ode_joint_bodies(joint, body, &(bool){false});
    if (!body[0] || !sprag_ode_contact_frame(frame, joint, body)) {
        return;
    }
    sprag_recorded_contact *out = frame_buffer_add(to, 1);
    if (!out) {
        return;
    }
    bool swapped = body[0] != dJointGetBody(joint, 0);
    *out = (sprag_recorded_contact){
        .body = {number_of(c, body[0]), number_of(c, body[1])},
        .geom = {shapes_number(&c->shapes, swapped ? contact->g2 : contact->g1),
                 shapes_number(&c->shapes, swapped ? contact->g1 : contact->g2)},
        .depth = (float)contact->depth,
        .friction = (float)surface->mu,
        .force = {NAN, NAN, NAN},
        .state = SPRAG_RECORDED_UNKNOWN};
    to_floats(out->position, contact->pos);
    to_floats(out->normal, frame[0]);
    add_speed(c, body[0], contact->pos, 1, velocity);
    add_speed(c, body[1], contact->pos, -1, velocity);
    out->slip = (float)slip_speed(surface, (const double(*)[3])frame, velocity);
    const dJointFeedback *feedback = feedback_of(joint, body, pool);
    if (feedback) {
        to_floats(out->force, feedback->f1);
        double used = share_of_bounds(surface, (const double(*)[3])frame, feedback->f1,
                                      w->settings.method->ours);
        out->state = state_of(dot3(feedback->f1, frame[0]), used, out->slip, c->falling);
    }
}

// ---- joints

static bool anchors_of(dJointID joint, dVector3 anchor[2])
{
    switch (dJointGetType(joint)) {
    case dJointTypeBall:
        dJointGetBallAnchor(joint, anchor[0]);
        dJointGetBallAnchor2(joint, anchor[1]);
        return true;
    case dJointTypeHinge:
        dJointGetHingeAnchor(joint, anchor[0]);
        dJointGetHingeAnchor2(joint, anchor[1]);
        return true;
    case dJointTypeHinge2:
        dJointGetHinge2Anchor(joint, anchor[0]);
        dJointGetHinge2Anchor2(joint, anchor[1]);
        return true;
    case dJointTypeUniversal:
        dJointGetUniversalAnchor(joint, anchor[0]);
        dJointGetUniversalAnchor2(joint, anchor[1]);
        return true;
    case dJointTypePiston:
        dJointGetPistonAnchor(joint, anchor[0]);
        dJointGetPistonAnchor2(joint, anchor[1]);
        return true;
    default:
        return false;
    }
}

static void write_joint(capture *c, const world_state *w, dJointID joint, int64_t step,
                        const force_pool *pool, frame_buffer *to)
{
    bool is_new, reversed;
    dBodyID body[2];
    dVector3 anchor[2];
    sprag_ode_joint_bodies(joint, body, &reversed);
    const identity *i = identities_see(&c->joints, joint, (uint32_t)w->number, step, &is_new);
    sprag_recorded_joint *out = i && body[0] ? frame_buffer_add(to, 1) : NULL;
    c->failed |= !i;
    if (!out) {
        return;
    }
    *out = (sprag_recorded_joint){.joint = i->id,
                                  .type = (uint32_t)dJointGetType(joint),
                                  .body = {number_of(c, body[0]), number_of(c, body[1])},
                                  .anchor = {{NAN, NAN, NAN}, {NAN, NAN, NAN}},
                                  .force = {NAN, NAN, NAN},
                                  .torque = {NAN, NAN, NAN}};
    if (anchors_of(joint, anchor)) {
        to_floats(out->anchor[0], anchor[0]);
        to_floats(out->anchor[1], anchor[1]);
    }
    const dJointFeedback *feedback = feedback_of(joint, body, pool);
    if (feedback) {
        to_floats(out->force, feedback->f1);
        to_floats(out->torque, feedback->t1);
    }
}

// ---- events

static uint32_t joint_number(const capture *c, dJointID joint)
{
    const identity *i = identities_find(&c->joints, joint);
    return i ? i->id : SPRAG_RECORDED_NONE;
}

static void write_events(const capture *c, const world_state *w, frame_buffer *to)
{
    int count = w->frame && w->settings.method->keeps_distance ? w->frame->events : 0;
    frame_buffer_table(to, "EVNT", sizeof(sprag_recorded_event));
    for (int k = 0; k < count; k++) {
        const sprag_world_event *e = &w->frame->event[k];
        sprag_recorded_event *out = frame_buffer_add(to, 1);
        if (out) {
            *out =
                (sprag_recorded_event){.kind = (uint32_t)e->kind,
                                       .body = {number_of(c, e->body[0]), number_of(c, e->body[1])},
                                       .geom = {shapes_number(&c->shapes, e->geom[0]),
                                                shapes_number(&c->shapes, e->geom[1])},
                                       .joint = joint_number(c, e->joint),
                                       .time = e->time,
                                       .speed = (float)e->speed};
            to_floats(out->position, e->position);
            to_floats(out->normal, e->normal);
        }
    }
}

// ---- the step

void capture_write(capture *c, const world_state *w, int64_t step, const force_pool *pool,
                   frame_buffer *to)
{
    dVector3 gravity;
    dWorldGetGravity(w->id, gravity);
    c->falling = norm3(gravity) * w->statistics.step;
    c->failed |= !list_bodies(c, w->id);
    write_descriptions(c, w, step, to);
    for (int k = c->count - 1; k >= 0; k--) {
        shapes_see_body(&c->shapes, c->body[k], number_of(c, c->body[k]), (uint32_t)w->number,
                        step);
    }
    shapes_write(&c->shapes, to, (uint32_t)w->number, step);
    write_poses(c, to);
    frame_buffer_table(to, "CONT", sizeof(sprag_recorded_contact));
    for (dJointID j = sprag_ode_newest_joint(w->id); j; j = sprag_ode_older_joint(j)) {
        if (dJointGetType(j) == dJointTypeContact) {
            write_contact(c, w, j, pool, to);
        }
    }
    frame_buffer_table(to, "JOIN", sizeof(sprag_recorded_joint));
    for (dJointID j = sprag_ode_newest_joint(w->id); j; j = sprag_ode_older_joint(j)) {
        if (dJointGetType(j) != dJointTypeContact) {
            write_joint(c, w, j, step, pool, to);
        }
    }
    write_events(c, w, to);
    capture_return_feedback(pool, w->id);
    to->failed |= c->failed;
}

void capture_clear(capture *c)
{
    identities_clear(&c->bodies);
    identities_clear(&c->joints);
    shapes_clear(&c->shapes);
}
