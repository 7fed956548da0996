#include "capture.h"

#include <math.h>

#include "array.h"
#include "frame_state.h"
#include "island.h"
#include "linalg.h"

// Values of the identity of a body: m/s, rad/s, how it moves at the end of the step about its place
// at the start, at the origin; 1: no BODY has described it.
enum { MOTION = 0, UNDESCRIBED = 6 };

// ---- bodies

static bool list_bodies(capture *c, dWorldID world)
{
    c->count = 0;
    for (dBodyID b = sprag_ode_newest_body(world); b; b = sprag_ode_older_body(b)) {
        seen_body *all = array_widen(c->body, c->count, &c->room, sizeof *all);
        if (!all) {
            return false;
        }
        c->body = all;
        c->body[c->count++].body = b;
    }
    return true;
}

// Lists the bodies with their identities, which move when the table of them grows.
static void see_bodies(capture *c, const world_state *w, int64_t step)
{
    const identity *table;
    c->failed |= !list_bodies(c, w->id);
    do {
        table = c->bodies.item;
        for (int k = c->count - 1; k >= 0; k--) {
            bool is_new;
            identity *i =
                identities_see(&c->bodies, c->body[k].body, (uint32_t)w->number, step, &is_new);
            if (i && is_new) {
                i->value[UNDESCRIBED] = 1;
            }
            c->failed |= !i;
            c->body[k].identity = i;
        }
    } while (table != c->bodies.item && !c->failed);
}

static void write_descriptions(const capture *c, frame_buffer *to)
{
    frame_buffer_table(to, "BODY", sizeof(sprag_recorded_body));
    for (int k = c->count - 1; k >= 0; k--) {
        identity *i = c->body[k].identity;
        sprag_recorded_body *b = i->value[UNDESCRIBED] != 0 ? frame_buffer_add(to, 1) : NULL;
        if (b) {
            dMass mass;
            dBodyGetMass(c->body[k].body, &mass);
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
    return identities_find(&c->bodies, body)->id;
}

static void set_motion(double motion[6], const sprag_recorded_pose *pose, const double place[3])
{
    cross3(place, pose->spin, motion);
    add_scaled(motion, 1, pose->velocity, 3);
    memcpy(motion + 3, pose->spin, sizeof pose->spin);
}

static void write_poses(const capture *c, const step_start *start, frame_buffer *to)
{
    frame_buffer_table(to, "POSE", sizeof(sprag_recorded_pose));
    sprag_recorded_pose *p = frame_buffer_add(to, (size_t)c->count);
    p += p ? c->count : 0; // from the newest, as the bodies at the start
    for (int k = 0, next = 0; p && k < c->count; k++) {
        dBodyID b = c->body[k].body;
        identity *i = c->body[k].identity;
        p--;
        p->body = i->id;
        p->flags = (dBodyIsKinematic(b) ? SPRAG_RECORDED_KINEMATIC : 0) |
                   (dBodyIsEnabled(b) ? 0 : SPRAG_RECORDED_DISABLED);
        memcpy(p->position, dBodyGetPosition(b), sizeof p->position);
        memcpy(p->quaternion, dBodyGetQuaternion(b), sizeof p->quaternion);
        memcpy(p->velocity, dBodyGetLinearVel(b), sizeof p->velocity);
        memcpy(p->spin, dBodyGetAngularVel(b), sizeof p->spin);
        set_motion(i->value + MOTION, p, step_start_place(start, b, &next));
    }
}

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
                        const step_start *start, frame_buffer *to)
{
    bool is_new, reversed;
    dBodyID body[2];
    dVector3 anchor[2];
    sprag_ode_joint_bodies(joint, body, &reversed);
    const dJointFeedback *feedback =
        step_start_take(start, sprag_ode_feedback_of(sprag_ode_layout(), joint), body);
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
    if (feedback) {
        to_floats(out->force, feedback->f1);
        to_floats(out->torque, feedback->t1);
    }
}

// ---- events

static void write_events(const capture *c, const world_state *w, frame_buffer *to)
{
    int count = w->frame ? w->frame->events : 0;
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
                                       .joint = identities_find(&c->joints, e->joint)->id,
                                       .time = e->time,
                                       .speed = (float)e->speed};
            to_floats(out->position, e->position);
            to_floats(out->normal, e->normal);
        }
    }
}

// ---- the step

static void write_joints(capture *c, const world_state *w, int64_t step, const step_start *start,
                         frame_buffer *to)
{
    dVector3 gravity;
    dWorldGetGravity(w->id, gravity);
    const contacts_of contacts = {.world = w->id,
                                  .start = start,
                                  .bodies = &c->bodies,
                                  .shapes = &c->shapes,
                                  .falling = norm3(gravity) * w->statistics.step,
                                  .ours = w->settings.method->ours};
    if (!contacts_write(&contacts, &c->joint_list, to)) {
        step_start_return(start, w->id);
        c->failed = true;
    }
    frame_buffer_table(to, "JOIN", sizeof(sprag_recorded_joint));
    for (int k = 0; k < c->joint_list.count; k++) {
        write_joint(c, w, c->joint_list.joint[k], step, start, to);
    }
}

void capture_write(capture *c, const world_state *w, int64_t step, const step_start *start,
                   frame_buffer *to)
{
    see_bodies(c, w, step);
    if (c->failed) { // identities may have moved
        step_start_return(start, w->id);
        to->failed = true;
        return;
    }
    write_descriptions(c, to);
    for (int k = c->count - 1; k >= 0; k--) {
        shapes_see_body(&c->shapes, c->body[k].body, c->body[k].identity, step);
    }
    shapes_write(&c->shapes, to, (uint32_t)w->number, step);
    write_poses(c, start, to);
    write_joints(c, w, step, start, to);
    write_events(c, w, to);
    to->failed |= c->failed;
}

void capture_clear(capture *c)
{
    identities_clear(&c->bodies);
    identities_clear(&c->joints);
    shapes_clear(&c->shapes);
}
