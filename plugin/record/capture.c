#include "capture.h"

#include <math.h>

#include "frame_state.h"
#include "island.h"
#include "linalg.h"
#include "record_constants.h"

// Of the square of a unit vector's length.
static const double UNIT_ERROR = 1e-12;

// Values of the identity of a body: m/s, rad/s, how it moves at the end of the step about its place
// at the start, at the origin; 1: no BODY has described it.
enum { MOTION = 0, UNDESCRIBED = 6 };

// ---- bodies

bool capture_start(step_start *start, dWorldID world)
{
    start->bodies = 0;
    for (dBodyID b = sprag_ode_newest_body(world); b; b = sprag_ode_older_body(b)) {
        if (start->bodies == start->bodies_room) {
            int room = start->bodies_room ? 2 * start->bodies_room : 256;
            body_start *more = realloc(start->body, (size_t)room * sizeof *more);
            if (!more) {
                return false;
            }
            start->body = more;
            start->bodies_room = room;
        }
        body_start *to = &start->body[start->bodies++];
        to->body = b;
        memcpy(to->position, dBodyGetPosition(b), sizeof to->position);
    }
    return true;
}

static bool list_bodies(capture *c, dWorldID world)
{
    c->count = 0;
    for (dBodyID b = sprag_ode_newest_body(world); b; b = sprag_ode_older_body(b)) {
        if (c->count == c->room) {
            int room = c->room ? 2 * c->room : 256;
            seen_body *more = realloc(c->body, (size_t)room * sizeof *more);
            if (!more) {
                return false;
            }
            c->body = more;
            c->room = room;
        }
        c->body[c->count++].body = b;
    }
    return true;
}

// The place of a body at the start; of a new one, its place now. Bodies are asked for in the order
// of the lists, of which the program may have changed either end and any part.
static const double *place_at_start(const step_start *start, dBodyID body, int *next)
{
    for (int k = *next; k < start->bodies; k++) {
        if (start->body[k].body == body) {
            *next = k + 1;
            return start->body[k].position;
        }
    }
    return dBodyGetPosition(body);
}

static void set_motion(double motion[6], dBodyID body, const double place[3])
{
    const dReal *velocity = dBodyGetLinearVel(body), *spin = dBodyGetAngularVel(body);
    cross3(place, spin, motion);
    add_scaled(motion, 1, velocity, 3);
    memcpy(motion + 3, spin, 3 * sizeof *spin);
}

// Lists the bodies with their identities, which move when the table of them grows.
static void see_bodies(capture *c, const world_state *w, int64_t step, const step_start *start)
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
    for (int k = 0, next = 0; k < c->count && !c->failed; k++) {
        set_motion(c->body[k].identity->value + MOTION, c->body[k].body,
                   place_at_start(start, c->body[k].body, &next));
    }
}

static void write_descriptions(const capture *c, frame_buffer *to)
{
    frame_buffer_table(to, "BODY", sizeof(sprag_recorded_body));
    for (int k = c->count - 1; k >= 0; k--) {
        identity *i = c->body[k].identity;
        sprag_recorded_body *b = i && i->value[UNDESCRIBED] != 0 ? frame_buffer_add(to, 1) : NULL;
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

static uint32_t number_in(const identity *i)
{
    return i ? i->id : SPRAG_RECORDED_NONE;
}

static uint32_t number_of(const capture *c, dBodyID body)
{
    return number_in(identities_find(&c->bodies, body));
}

static void write_poses(const capture *c, frame_buffer *to)
{
    frame_buffer_table(to, "POSE", sizeof(sprag_recorded_pose));
    sprag_recorded_pose *p = frame_buffer_add(to, (size_t)c->count);
    for (int k = c->count - 1; p && k >= 0; k--, p++) {
        dBodyID b = c->body[k].body;
        p->body = number_in(c->body[k].identity);
        p->flags = (dBodyIsKinematic(b) ? SPRAG_RECORDED_KINEMATIC : 0) |
                   (dBodyIsEnabled(b) ? 0 : SPRAG_RECORDED_DISABLED);
        memcpy(p->position, dBodyGetPosition(b), sizeof p->position);
        memcpy(p->quaternion, dBodyGetQuaternion(b), sizeof p->quaternion);
        memcpy(p->velocity, dBodyGetLinearVel(b), sizeof p->velocity);
        memcpy(p->spin, dBodyGetAngularVel(b), sizeof p->spin);
    }
}

// ---- forces

// false: there is too little room. Reads no second force: f2 and t2 stay what they were.
static bool lend_feedback(step_start *start, dWorldID world)
{
    start->forces = 0;
    for (dJointID j = sprag_ode_newest_joint(world); j; j = sprag_ode_older_joint(j)) {
        if (!dJointGetFeedback(j)) {
            if (start->forces == start->forces_room) {
                return false;
            }
            dJointFeedback *force = &start->force[start->forces++];
            memset(force->f1, 0, sizeof force->f1);
            memset(force->t1, 0, sizeof force->t1);
            dJointSetFeedback(j, force);
        }
    }
    return true;
}

bool capture_lend_feedback(step_start *start, dWorldID world)
{
    while (!lend_feedback(start, world)) {
        capture_return_feedback(start, world);
        int room = start->forces_room ? 2 * start->forces_room : 256;
        free(start->force);
        start->force = calloc((size_t)room, sizeof *start->force);
        start->forces_room = start->force ? room : 0;
        start->forces = 0;
        if (!start->force) {
            return false;
        }
    }
    return true;
}

static bool is_lent(const step_start *start, const dJointFeedback *feedback)
{
    return feedback >= start->force && feedback < start->force + start->forces;
}

static void return_feedback(const step_start *start, dJointID joint)
{
    if (is_lent(start, dJointGetFeedback(joint))) {
        dJointSetFeedback(joint, NULL);
    }
}

void capture_return_feedback(const step_start *start, dWorldID world)
{
    for (dJointID j = sprag_ode_newest_joint(world); j && start->forces;
         j = sprag_ode_older_joint(j)) {
        return_feedback(start, j);
    }
}

// Takes the feedback of a joint back and returns the one to be read. NULL: the joint was not there
// before the step, or the program's own may be of an earlier step because no body is enabled.
static const dJointFeedback *take_feedback(dJointID joint, const dBodyID body[2],
                                           const step_start *start)
{
    const dJointFeedback *feedback = dJointGetFeedback(joint);
    if (is_lent(start, feedback)) {
        dJointSetFeedback(joint, NULL);
        return feedback;
    }
    bool known =
        feedback && ((body[0] && dBodyIsEnabled(body[0])) || (body[1] && dBodyIsEnabled(body[1])));
    return known ? feedback : NULL;
}

// ---- contacts

// A body and a geom of a contact, with their numbers. Contacts of a pair follow each other.
typedef struct contact_side {
    dBodyID body;
    dGeomID geom;
    uint32_t number, geom_number;
    const double *motion; // of the body's identity
} contact_side;

static void find_side(const capture *c, contact_side *side, dBodyID body, dGeomID geom)
{
    static const double rest[6];
    const identity *i = identities_find(&c->bodies, body);
    bool is_first = i && dBodyGetFirstGeom(body) == geom;
    uint32_t geom_number = is_first             ? i->geom
                           : side->geom == geom ? side->geom_number
                                                : shapes_number(&c->shapes, geom);
    *side = (contact_side){body, geom, number_in(i), geom_number, i ? i->value + MOTION : rest};
}

static inline void set_side(const capture *c, contact_side *side, dBodyID body, dGeomID geom)
{
    if (side->body != body || side->geom != geom || !side->motion) {
        find_side(c, side, body, geom);
    }
}

// m/s, of body 0 relative to body 1.
static void velocity_at(const contact_side side[2], const double point[3], double velocity[3])
{
    double motion[6];
    for (int k = 0; k < 6; k++) {
        motion[k] = side[0].motion[k] - side[1].motion[k];
    }
    cross3(motion + 3, point, velocity);
    add_scaled(velocity, 1, motion, 3);
}

// A contact joint while it is written.
typedef struct contact_view {
    dJointID joint;
    const dSurfaceParameters *surface;
    double normal[3]; // unit, into the first body
} contact_view;

// false: there is no direction.
static bool set_normal(contact_view *v, const dContactGeom *contact, bool swapped)
{
    double square = dot3(contact->normal, contact->normal);
    bool is_unit = fabs(square - 1) < UNIT_ERROR;
    double sign = swapped ? -1 : 1, scale = is_unit ? sign : sign / sqrt(square);
    for (int k = 0; k < 3; k++) {
        v->normal[k] = scale * contact->normal[k];
    }
    return square > 0 && isfinite(square);
}

// Both tangents of a contact cost more than the rest of it. Most contacts do without them.
static void along_tangents(const contact_view *v, const double vector[3], double part[2])
{
    double tangent[2][3];
    sprag_ode_contact_tangents(tangent, v->joint, v->normal);
    part[0] = dot3(vector, tangent[0]);
    part[1] = dot3(vector, tangent[1]);
}

static double slip_speed(const contact_view *v, const double velocity[3])
{
    int mode = v->surface->mode;
    double part[3] = {velocity[0], velocity[1], velocity[2]};
    if (!(mode & (dContactMotion1 | dContactMotion2))) {
        add_scaled(part, -dot3(velocity, v->normal), v->normal, 3);
        return norm3(part);
    }
    along_tangents(v, velocity, part);
    part[0] -= mode & dContactMotion1 ? v->surface->motion1 : 0;
    part[1] -= mode & dContactMotion2 ? v->surface->motion2 : 0;
    return sqrt(part[0] * part[0] + part[1] * part[1]);
}

// N, from which friction along a tangent counts as slipping.
static double slip_bound(double coefficient, bool of_normal, double normal)
{
    double bound = coefficient * (of_normal ? normal : 1);
    return bound > 0 ? SLIP_BOUND * bound : 0;
}

// Share of such a bound that is used.
static double share_of(double force, double bound)
{
    return bound > 0 ? fabs(force) / bound : INFINITY;
}

// Both tangents together. sprag bounds friction by a cone, ODE along each tangent: by a square, in
// which the circle of the cone lies, and which lies in one of sqrt(2) times its radius.
static bool is_at_bound(const contact_view *v, const double force[3], double normal, bool ours)
{
    const dSurfaceParameters *s = v->surface;
    double part[2], second = s->mode & dContactMu2 ? s->mu2 : s->mu;
    bool first_of_normal = s->mode & dContactApprox1_1;
    bool second_of_normal = s->mode & dContactApprox1_2;
    double bound = slip_bound(s->mu, first_of_normal, normal);
    if (second == s->mu && first_of_normal == second_of_normal) {
        double square = dot3(force, force) - normal * normal, least = bound * bound;
        if (ours || square < least || square > 2 * least) {
            return square >= least || least <= 0;
        }
    }
    along_tangents(v, force, part);
    double along = share_of(part[0], bound);
    double across = share_of(part[1], slip_bound(second, second_of_normal, normal));
    return (ours ? along * along + across * across : fmax(along, across)) >= 1;
}

// falling: m/s, the speed that gravity gives in a step.
static sprag_recorded_state state_of(const contact_view *v, const double force[3], double slip,
                                     double falling, bool ours)
{
    double normal = dot3(force, v->normal);
    if (!(normal > 0)) {
        return SPRAG_RECORDED_OPEN;
    }
    bool slips =
        (falling > 0 && slip > SLIP_SPEED * falling) || is_at_bound(v, force, normal, ours);
    return slips ? SPRAG_RECORDED_SLIP : SPRAG_RECORDED_STICK;
}

static void to_floats(float to[3], const double from[3])
{
    for (int k = 0; k < 3; k++) {
        to[k] = (float)from[k];
    }
}

static void write_contact(const capture *c, const world_state *w, dJointID joint,
                          contact_side side[2], const step_start *start, frame_buffer *to)
{
    dSurfaceParameters room;
    const dContactGeom *contact = sprag_ode_contact_geom(joint);
    contact_view v = {.joint = joint, .surface = sprag_ode_contact_surface(joint, &room)};
    dBodyID body[2];
    bool swapped;
    sprag_ode_joint_bodies(joint, body, &swapped);
    const dJointFeedback *feedback = take_feedback(joint, body, start);
    if (!body[0] || !set_normal(&v, contact, swapped)) {
        return;
    }
    sprag_recorded_contact *out = frame_buffer_add(to, 1);
    if (!out) {
        return;
    }
    set_side(c, &side[0], body[0], swapped ? contact->g2 : contact->g1);
    set_side(c, &side[1], body[1], swapped ? contact->g1 : contact->g2);
    double velocity[3];
    velocity_at(side, contact->pos, velocity);
    for (int k = 0; k < 2; k++) {
        out->body[k] = side[k].number;
        out->geom[k] = side[k].geom_number;
    }
    to_floats(out->position, contact->pos);
    to_floats(out->normal, v.normal);
    out->depth = (float)contact->depth;
    out->friction = (float)v.surface->mu;
    out->slip = (float)slip_speed(&v, velocity);
    if (feedback) {
        bool ours = w->settings.method->ours;
        to_floats(out->force, feedback->f1);
        out->state = state_of(&v, feedback->f1, out->slip, c->falling, ours);
    } else {
        out->force[0] = out->force[1] = out->force[2] = NAN;
        out->state = SPRAG_RECORDED_UNKNOWN;
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
                        const step_start *start, frame_buffer *to)
{
    bool is_new, reversed;
    dBodyID body[2];
    dVector3 anchor[2];
    sprag_ode_joint_bodies(joint, body, &reversed);
    const dJointFeedback *feedback = take_feedback(joint, body, start);
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

// false: no memory.
static bool keep_joint(capture *c, dJointID joint)
{
    if (c->joints_count == c->joints_room) {
        int room = c->joints_room ? 2 * c->joints_room : 64;
        dJointID *more = realloc(c->joint, (size_t)room * sizeof *more);
        if (!more) {
            return false;
        }
        c->joint = more;
        c->joints_room = room;
    }
    c->joint[c->joints_count++] = joint;
    return true;
}

// Contacts are many, and the list of joints is long: it is walked once.
static void write_joints(capture *c, const world_state *w, int64_t step, const step_start *start,
                         frame_buffer *to)
{
    const contact_side none = {.number = SPRAG_RECORDED_NONE, .geom_number = SPRAG_RECORDED_NONE};
    contact_side side[2] = {none, none};
    c->joints_count = 0;
    frame_buffer_table(to, "CONT", sizeof(sprag_recorded_contact));
    for (dJointID j = sprag_ode_newest_joint(w->id); j; j = sprag_ode_older_joint(j)) {
        if (dJointGetType(j) == dJointTypeContact) {
            write_contact(c, w, j, side, start, to);
        } else if (!keep_joint(c, j)) {
            return_feedback(start, j);
            c->failed = true;
        }
    }
    frame_buffer_table(to, "JOIN", sizeof(sprag_recorded_joint));
    for (int k = 0; k < c->joints_count; k++) {
        write_joint(c, w, c->joint[k], step, start, to);
    }
}

void capture_write(capture *c, const world_state *w, int64_t step, const step_start *start,
                   frame_buffer *to)
{
    dVector3 gravity;
    dWorldGetGravity(w->id, gravity);
    c->falling = norm3(gravity) * w->statistics.step;
    see_bodies(c, w, step, start);
    write_descriptions(c, to);
    for (int k = c->count - 1; k >= 0; k--) {
        identity *i = c->body[k].identity;
        uint32_t geom =
            shapes_see_body(&c->shapes, c->body[k].body, number_in(i), (uint32_t)w->number, step);
        if (i) {
            i->geom = geom;
        }
    }
    shapes_write(&c->shapes, to, (uint32_t)w->number, step);
    write_poses(c, to);
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
