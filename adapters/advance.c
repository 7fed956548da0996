// The step: pull bodies, find what may meet, advance group by group, write back.
#include "adapters/advance.h"

#include <math.h>
#include <string.h>

#include "solvers/linalg.h"

// A body, in the step.
typedef struct rider {
    dBodyID id;
    int island;
    sprag_mover start;
    sprag_mover mover;
    double force[6];    // of the program, before joints are asked
    double reach, turn; // m, rad: it is assumed to go no farther
    double radius;      // m, of its shapes about its centre
    int local;          // in its group, when that is advanced
    bool alone;         // no pair
    bool held;          // its island has a body whose state is not finite
} rider;

typedef struct step {
    ode_advance *a;
    sprag_scratch *scratch;
    ode_index index;
    rider *rider;
    int riders;
    int *leader; // islands: of their groups, by union
    ode_touches touches;
    ode_pairs pairs;
    int *pair_group; // island that leads it, of the pairs; -1: none
    bool failed;
} step;

// A group, in its frame.
typedef struct group {
    step *s;
    sprag_frame frame;
    sprag_mover *body;
    rider **rider;
    sprag_collider *collider;
    sprag_advance_pair *pair;
    const ode_pair **source;
    sprag_contact *contact;
    double (*contact_wrench)[2][6];
    dJointID *contact_joint, *joint, *limited;
    double (*joint_wrench)[2][6];
    int joints, limits, row_room;
    sprag_row *row;
    int *row_joint; // which of the joints
    double *row_force;
    const sprag_motion *motion; // while limits are looked for
    dJointID at_limit;          // the first found last
} group;

// ---- bodies

// NULL: does not move.
static rider *rider_of(const step *s, dBodyID body)
{
    int i = sprag_ode_index_of(&s->index, body);
    return i == SPRAG_STATIC || s->rider[i].held ? NULL : &s->rider[i];
}

static void pull_rider(step *s, int i, dBodyID id, int island, const dReal *gravity)
{
    rider *r = &s->rider[i];
    ode_advance *a = s->a;
    *r = (rider){.id = id, .island = island, .alone = true};
    memcpy(r->force, dBodyGetForce(id), 3 * sizeof(dReal));
    memcpy(r->force + 3, dBodyGetTorque(id), 3 * sizeof(dReal));
    if (!sprag_ode_pull_mover(&r->start, id, gravity)) {
        a->bad_force = a->bad_forces++ ? a->bad_force : id;
        memset(r->force, 0, sizeof r->force);
    }
    double acceleration = r->start.mass > 0 ? norm3(r->start.force) / r->start.mass : 0;
    double h = a->step, spin = 0, turned[3], inverse[9];
    if (r->start.mass > 0 && invert33(r->start.inertia, inverse) != 0) {
        mul33(inverse, r->start.force + 3, turned); // size, whatever the axes
        spin = 2 * norm3(turned) * h;
    }
    r->reach =
        (1.5 * norm3(r->start.velocity) + 2 * acceleration * h) * h + 10 * a->options.epsilon;
    r->turn = 1.5 * (norm3(r->start.velocity + 3) + spin) * h;
}

// An island with a body whose state is not finite stays where it is.
static bool is_usable(ode_advance *a, dBodyID const *body, int bodies)
{
    for (int i = 0; i < bodies; i++) {
        if (!sprag_ode_body_is_usable(body[i])) {
            a->unusable = a->held_bodies ? a->unusable : body[i];
            a->held_bodies += bodies;
            return false;
        }
    }
    return true;
}

static bool pull_bodies(step *s)
{
    const ode_islands *islands = s->a->islands;
    dVector3 gravity;
    dWorldGetGravity(s->a->world, gravity);
    int n = 0;
    for (size_t i = 0; i < islands->count; i++) {
        n += (int)islands->sizes[2 * i];
    }
    s->riders = s->a->bodies = n;
    s->rider = SPRAG_TAKE(s->scratch, n, rider);
    s->leader = SPRAG_TAKE(s->scratch, islands->count, int);
    if (s->scratch->failed || !sprag_ode_index_bodies(&s->index, islands->bodies, n, s->scratch)) {
        return false;
    }
    for (int island = 0, b = 0; island < (int)islands->count; island++) {
        int bodies = (int)islands->sizes[2 * island];
        bool usable = is_usable(s->a, islands->bodies + b, bodies);
        for (int k = 0; k < bodies; k++, b++) {
            if (usable) {
                pull_rider(s, b, islands->bodies[b], island, gravity);
            } else {
                s->rider[b] = (rider){.id = islands->bodies[b], .island = island, .held = true};
            }
        }
    }
    return true;
}

// ---- what the program said

static bool joins_geoms(const dContact *contact)
{
    return contact->geom.g1 && contact->geom.g2;
}

static bool pull_touches(step *s)
{
    const ode_islands *islands = s->a->islands;
    int joints = 0;
    for (size_t i = 0; i < islands->count; i++) {
        joints += (int)islands->sizes[2 * i + 1];
    }
    if (!sprag_ode_touches_make(&s->touches, joints, s->scratch)) {
        return false;
    }
    for (int j = 0; j < joints; j++) {
        dJointID joint = islands->joints[j];
        if (dJointGetType(joint) != dJointTypeContact) {
            continue;
        }
        const dContact *contact = sprag_ode_contact_of(joint);
        if (!joins_geoms(contact)) {
            continue;
        }
        ode_touch *touch = sprag_ode_touch_add(&s->touches, contact->geom.g1, contact->geom.g2);
        if (!touch) {
            return false;
        }
        if (!touch->joint) {
            touch->joint = joint;
            touch->paired = false;
            touch->accepted = true;
        }
    }
    return true;
}

// ---- what may meet

static void reach_of(void *data, dBodyID body, ode_motion *motion)
{
    const step *s = data;
    const rider *r = rider_of(s, body);
    if (r) {
        motion->slack = r->reach;
        motion->turn = r->turn;
    }
}

static int leader_of(step *s, int island)
{
    while (s->leader[island] != island) {
        s->leader[island] = s->leader[s->leader[island]];
        island = s->leader[island];
    }
    return island;
}

static void unite(step *s, int a, int b)
{
    a = leader_of(s, a);
    b = leader_of(s, b);
    s->leader[a > b ? a : b] = a < b ? a : b; // the first one leads
}

static bool is_between(dJointID joint, const ode_pair *pair)
{
    dBodyID a = dJointGetBody(joint, 0), b = dJointGetBody(joint, 1);
    dBodyID c = pair->side[0]->body, d = pair->side[1]->body;
    return (a == c && b == d) || (a == d && b == c);
}

// Triangles have a front, and no distance that is smooth.
static bool has_distance(step *s, const ode_pair *pair)
{
    for (int side = 0; side < 2 && s->a->comply; side++) {
        if (pair->side[side]->triangle >= 0) {
            s->a->without_distance = pair->side[side]->geom;
            return false;
        }
    }
    return true;
}

// A program may put the contact of two geoms between other bodies than theirs: then it is theirs.
static bool counts(step *s, const ode_pair *pair)
{
    if (!has_distance(s, pair)) {
        return false;
    }
    ode_touch *touch = sprag_ode_touch_of(&s->touches, pair->side[0]->geom, pair->side[1]->geom);
    if (touch && (!touch->joint || is_between(touch->joint, pair))) {
        touch->paired = true;
    }
    return !touch || (touch->accepted && touch->paired);
}

static void lead_pairs(step *s)
{
    for (int i = 0; i < (int)s->a->islands->count; i++) {
        s->leader[i] = i;
    }
    for (int i = 0; i < s->pairs.count; i++) {
        const ode_pair *pair = &s->pairs.pair[i];
        rider *r[2] = {rider_of(s, pair->side[0]->body), rider_of(s, pair->side[1]->body)};
        s->pair_group[i] = -1;
        if (!counts(s, pair) || (!r[0] && !r[1])) {
            continue;
        }
        for (int side = 0; side < 2; side++) {
            if (r[side]) {
                r[side]->alone = false;
                s->pair_group[i] = r[side]->island;
            }
        }
        if (r[0] && r[1]) {
            unite(s, r[0]->island, r[1]->island);
        }
    }
    for (int i = 0; i < s->pairs.count; i++) {
        s->pair_group[i] = s->pair_group[i] < 0 ? -1 : leader_of(s, s->pair_group[i]);
    }
}

// What is hit may become as fast as what hits it. false: nobody reaches farther than before.
static bool widen_reach(step *s)
{
    double *fastest = SPRAG_TAKE(s->scratch, s->a->islands->count, double);
    int *bodies = SPRAG_TAKE(s->scratch, s->a->islands->count, int);
    bool wider = false;
    if (s->scratch->failed) {
        return false;
    }
    for (int i = 0; i < s->riders; i++) {
        const rider *r = &s->rider[i];
        int group = leader_of(s, r->island);
        double speed = r->reach / s->a->step;
        fastest[group] = fmax(fastest[group], speed);
        bodies[group] += !r->alone;
    }
    for (int i = 0; i < s->riders; i++) {
        rider *r = &s->rider[i];
        int group = leader_of(s, r->island);
        double reach = fastest[group] * s->a->step;
        if (!r->alone && bodies[group] > 1 && r->start.mass > 0 && reach > 1.01 * r->reach) {
            r->reach = reach;
            wider = true;
        }
    }
    return wider;
}

static bool find_pairs(step *s)
{
    enum { PASSES = 3 };
    for (int pass = 0; pass < PASSES; pass++) {
        sprag_result result =
            sprag_ode_find_pairs(s->a->geometry, s->a->calls, s->a->call_count, reach_of, s,
                                 4 * s->a->options.epsilon, s->scratch, &s->pairs);
        s->pair_group = SPRAG_TAKE(s->scratch, s->pairs.count, int);
        if (result != SPRAG_OK || s->scratch->failed) {
            return false;
        }
        lead_pairs(s);
        // Reach is what the pairs were found with.
        if (pass + 1 == PASSES || !widen_reach(s)) {
            break;
        }
    }
    return !s->scratch->failed;
}

// ---- a group in its frame: what the solver asks for

static void place(dBodyID id, const sprag_pose *pose)
{
    dMatrix3 R;
    for (int i = 0; i < 3; i++) {
        memcpy(R + 4 * i, pose->rotation + 3 * i, 3 * sizeof *R);
        R[4 * i + 3] = 0;
    }
    dBodySetPosition(id, pose->position[0], pose->position[1], pose->position[2]);
    dBodySetRotation(id, R);
}

// To the bit: what has not been moved must not be put back, for ODE then makes its quaternion anew.
static bool is_at(dBodyID id, const sprag_pose *pose)
{
    const dReal *R = dBodyGetRotation(id);
    bool same = memcmp(dBodyGetPosition(id), pose->position, sizeof pose->position) == 0;
    for (int i = 0; i < 3; i++) {
        same &= memcmp(R + 4 * i, pose->rotation + 3 * i, 3 * sizeof *R) == 0;
    }
    return same;
}

// ODE sees the bodies where they are in the frame.
static void show(const group *g)
{
    for (int i = 0; i < g->frame.bodies; i++) {
        if (!is_at(g->rider[i]->id, &g->body[i].pose)) {
            place(g->rider[i]->id, &g->body[i].pose);
        }
        sprag_ode_set_velocity(g->rider[i]->id, g->body[i].velocity);
    }
}

static bool row_room(group *g, int rows)
{
    if (rows > g->row_room) {
        int room = rows + 16;
        sprag_row *row = SPRAG_TAKE(g->s->a->scratch + 1, room, sprag_row);
        int *joint = SPRAG_TAKE(g->s->a->scratch + 1, room, int);
        double *force = SPRAG_TAKE(g->s->a->scratch + 1, room, double);
        if (g->s->a->scratch[1].failed) {
            return false;
        }
        g->row = row;
        g->row_joint = joint;
        g->row_force = force;
        g->row_room = room;
    }
    return true;
}

// Joints at their powered stops push bodies while they are asked.
static void take_forces(group *g)
{
    for (int i = 0; i < g->frame.bodies; i++) {
        rider *r = g->rider[i];
        const dReal *f = dBodyGetForce(r->id), *t = dBodyGetTorque(r->id);
        for (int k = 0; k < 3; k++) {
            g->body[i].force[k] = r->start.force[k] + (f[k] - r->force[k]);
            g->body[i].force[3 + k] = r->start.force[3 + k] + (t[k] - r->force[3 + k]);
        }
    }
}

static void restore_forces(const group *g)
{
    for (int i = 0; i < g->frame.bodies; i++) {
        const double *f = g->rider[i]->force;
        dBodySetForce(g->rider[i]->id, f[0], f[1], f[2]);
        dBodySetTorque(g->rider[i]->id, f[3], f[4], f[5]);
    }
}

static int pull_rows(void *data, const sprag_mover *body, double step, const sprag_row **row)
{
    group *g = data;
    (void)body;
    int rows = 0, most = 0;
    if (g->joints == 0) {
        return 0;
    }
    show(g);
    restore_forces(g);
    for (int j = 0; j < g->joints; j++) {
        most += sprag_ode_count_rows(g->joint[j]).rows;
    }
    if (!row_room(g, most)) {
        return -1;
    }
    for (int j = 0; j < g->joints; j++) {
        int count = sprag_ode_count_rows(g->joint[j]).rows;
        int more = count > 0
                       ? sprag_ode_pull_rows(&g->row[rows], g->joint[j], count, g->s->a->world,
                                             step, &g->s->index, g->s->a->memory)
                       : 0;
        for (int k = 0; k < more; k++, rows++) {
            g->row_joint[rows] = j;
            for (int side = 0; side < 2; side++) {
                int *b = &g->row[rows].body[side];
                *b = *b == SPRAG_STATIC ? *b : g->s->rider[*b].local;
            }
        }
    }
    take_forces(g);
    *row = g->row;
    return rows;
}

static void carried(void *data, const double *row_force, const double (*contact_force)[6],
                    double share)
{
    group *g = data;
    for (int i = 0; i < g->frame.rows; i++) {
        g->row_force[i] = row_force[i];
        for (int side = 0; side < 2; side++) {
            add_scaled(g->joint_wrench[g->row_joint[i]][side], share * row_force[i],
                       g->row[i].jacobian[side], 6);
        }
    }
    for (int i = 0; i < g->frame.contacts; i++) {
        double wrench[2][6];
        sprag_contact_wrench(&g->contact[i], contact_force[i], wrench);
        add_scaled(g->contact_wrench[i][0], share, wrench[0], 6);
        add_scaled(g->contact_wrench[i][1], share, wrench[1], 6);
    }
}

static void place_at(void *data, dBodyID body, double t)
{
    const group *g = data;
    const rider *r = rider_of(g->s, body);
    if (r) {
        sprag_pose pose;
        sprag_motion_at(&g->motion[r->local], t, &pose);
        place(body, &pose);
    }
}

static double next_limit(void *data, const sprag_motion *motion, double horizon)
{
    group *g = data;
    g->motion = motion;
    return sprag_ode_next_limit(g->limited, g->limits, horizon, place_at, g, &g->at_limit);
}

static void set_yield(const step *s, sprag_surface *to, const dSurfaceParameters *surface)
{
    sprag_contact contact = {.stiffness = 0};
    double erp = surface->mode & dContactSoftERP ? surface->soft_erp : dWorldGetERP(s->a->world);
    sprag_ode_pull_surface(&contact, surface, s->a->stiffness);
    to->stiffness = contact.stiffness;
    to->dissipation = contact.dissipation;
    to->stiction = contact.stiction;
    to->erp = erp > 0 && isfinite(erp) ? erp : 0;
}

// Takes the surface of the pair from the program's contact joint.
static void set_surface(const step *s, sprag_advance_pair *pair, const ode_pair *of,
                        const ode_touch *touch)
{
    if (touch->accepted && touch->joint) {
        const int mode = sprag_ode_contact_of(touch->joint)->surface.mode;
        sprag_ode_surface_of(&pair->surface, touch->joint, s->a->world, of->side[0]->body);
        pair->asked = dJointGetFeedback(touch->joint) != NULL;
        if (s->a->comply) {
            set_yield(s, &pair->surface, &sprag_ode_contact_of(touch->joint)->surface);
            return;
        }
        pair->surface.compliance = 0; // what yields would interpenetrate
        s->a->soft = mode & (dContactSoftCFM | dContactSoftERP) ? touch->joint : s->a->soft;
    }
}

static bool take_answer(step *s, sprag_advance_pair *pair, const ode_pair *of, dJointID joint)
{
    ode_touch *touch = sprag_ode_touch_add(&s->touches, of->side[0]->geom, of->side[1]->geom);
    if (!touch) {
        s->failed = true;
        return false;
    }
    touch->joint = joint;
    touch->accepted = joint != NULL;
    touch->paired = true;
    set_surface(s, pair, of, touch);
    return touch->accepted;
}

// Were they so near each other (m) at the start of the step?
static bool was_within(const ode_pair *pair, double reach)
{
    const ode_side *const *side = pair->side;
    const sprag_shape *shape[2] = {&side[0]->shape, &side[1]->shape};
    const sprag_pose *pose[2] = {&side[0]->pose, &side[1]->pose};
    const sprag_gap_query query = {reach, 0};
    sprag_gap gap;
    return reach > 0 &&
           sprag_gap_find(shape, pose, &query, NULL, &gap, NULL) != SPRAG_BAD_PROBLEM &&
           !gap.beyond && gap.distance <= reach;
}

static bool touch(void *data, int i, double gap, double time)
{
    group *g = data;
    const ode_pair *source = g->source[i];
    const ode_touch *known =
        sprag_ode_touch_of(&g->s->touches, source->side[0]->geom, source->side[1]->geom);
    ode_advance *a = g->s->a;
    if (known) { // another triangle, or an earlier pass
        set_surface(g->s, &g->pair[i], source, known);
        return known->accepted && known->paired;
    }
    bool offered = a->offered(a->data, source->side[0]->id, source->side[1]->id);
    if (offered && ((time == 0 && gap <= a->reach) || was_within(source, a->foreseen))) {
        return take_answer(g->s, &g->pair[i], source, NULL);
    }
    if (!a->ask) {
        g->pair[i].surface = (sprag_surface){.bounce = 0};
        return true;
    }
    for (int side = 0; side < 2; side++) {
        rider *r = rider_of(g->s, source->side[side]->body);
        if (r) {
            place(r->id, &g->body[r->local].pose);
            sprag_ode_set_velocity(r->id, g->body[r->local].velocity);
        }
    }
    return take_answer(g->s, &g->pair[i], source, a->ask(a->data, source, gap));
}

static void tell(void *data, const sprag_event *event)
{
    const group *g = data;
    ode_event told = {.kind = event->kind, .time = event->time, .speed = event->speed};
    memcpy(told.position, event->point, sizeof told.position);
    memcpy(told.normal, event->normal, sizeof told.normal);
    if (event->kind == SPRAG_LIMIT_REACHED) {
        told.joint = g->at_limit;
        told.body[0] = dJointGetBody(g->at_limit, 0);
        told.body[1] = dJointGetBody(g->at_limit, 1);
    }
    for (int side = 0; side < 2 && event->pair >= 0; side++) {
        told.geom[side] = g->source[event->pair]->side[side]->geom;
        told.body[side] = g->source[event->pair]->side[side]->body;
    }
    g->s->a->event(g->s->a->data, &told);
}

// ---- making a group

static bool in_group(step *s, int island, int group)
{
    return leader_of(s, island) == group;
}

typedef struct counted {
    int bodies, pairs, joints, contacts;
} counted;

// Bodies, pairs and joints of every group, one after the other, by counting.
typedef struct members {
    counted *of; // islands that lead
    int *body, *pair, *joint;
    int *body_at, *pair_at, *joint_at; // first of each
} members;

static int start_at(int *at, const counted *of, int islands, int which)
{
    int sum = 0;
    for (int i = 0; i < islands; i++) {
        at[i] = sum;
        sum += which == 0 ? of[i].bodies : which == 1 ? of[i].pairs : of[i].joints;
    }
    return sum;
}

static bool sort_members(step *s, members *m)
{
    const ode_islands *islands = s->a->islands;
    int n = (int)islands->count;
    m->of = SPRAG_TAKE(s->scratch, n, counted);
    m->body_at = SPRAG_TAKE(s->scratch, n, int);
    m->pair_at = SPRAG_TAKE(s->scratch, n, int);
    m->joint_at = SPRAG_TAKE(s->scratch, n, int);
    if (s->scratch->failed) {
        return false;
    }
    for (int i = 0; i < n; i++) {
        counted *c = &m->of[leader_of(s, i)];
        c->bodies += (int)islands->sizes[2 * i];
        c->joints += (int)islands->sizes[2 * i + 1];
    }
    for (int i = 0; i < s->pairs.count; i++) {
        if (s->pair_group[i] >= 0) {
            m->of[s->pair_group[i]].pairs++;
        }
    }
    m->body = SPRAG_TAKE(s->scratch, start_at(m->body_at, m->of, n, 0), int);
    m->pair = SPRAG_TAKE(s->scratch, start_at(m->pair_at, m->of, n, 1), int);
    m->joint = SPRAG_TAKE(s->scratch, start_at(m->joint_at, m->of, n, 2), int);
    if (s->scratch->failed) {
        return false;
    }
    for (int i = 0, b = 0, j = 0; i < n; i++) {
        int group = leader_of(s, i);
        for (unsigned k = 0; k < islands->sizes[2 * i]; k++) {
            m->body[m->body_at[group]++] = b++;
        }
        for (unsigned k = 0; k < islands->sizes[2 * i + 1]; k++) {
            m->joint[m->joint_at[group]++] = j++;
        }
    }
    for (int i = 0; i < s->pairs.count; i++) {
        if (s->pair_group[i] >= 0) {
            m->pair[m->pair_at[s->pair_group[i]]++] = i;
        }
    }
    for (int i = 0; i < n; i++) {
        m->body_at[i] -= m->of[i].bodies;
        m->pair_at[i] -= m->of[i].pairs;
        m->joint_at[i] -= m->of[i].joints;
    }
    return true;
}

static void set_collider(sprag_collider *to, const step *s, const ode_side *side)
{
    rider *r = rider_of(s, side->body);
    to->shape = side->shape;
    to->mesh = side->triangle >= 0 ? (const void *)side->id : NULL;
    if (!r) {
        to->body = SPRAG_STATIC;
        to->mount = side->pose;
        return;
    }
    const sprag_pose *body = &r->start.pose;
    double from[3];
    to->body = r->local;
    subtract3(side->pose.position, body->position, from);
    mul33_transposed(body->rotation, from, to->mount.position);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            double sum = 0;
            for (int k = 0; k < 3; k++) {
                sum += body->rotation[3 * k + i] * side->pose.rotation[3 * k + j];
            }
            to->mount.rotation[3 * i + j] = sum;
        }
    }
}

static void widen_radius(const step *s, const sprag_collider *collider, dBodyID body)
{
    rider *r = rider_of(s, body);
    double bounds[6], corner[3];
    if (r) {
        sprag_shape_bounds(&collider->shape, &collider->mount, bounds);
        for (int k = 0; k < 3; k++) {
            corner[k] = fmax(fabs(bounds[k]), fabs(bounds[k + 3]));
        }
        r->radius = fmax(r->radius, norm3(corner));
    }
}

static void set_pair(group *g, int i, const ode_pair *source)
{
    sprag_advance_pair *pair = &g->pair[i];
    step *s = g->s;
    g->source[i] = source;
    *pair = (sprag_advance_pair){.collider = {2 * i, 2 * i + 1}, .memory = source->memory};
    for (int side = 0; side < 2; side++) {
        set_collider(&g->collider[2 * i + side], s, source->side[side]);
        widen_radius(s, &g->collider[2 * i + side], source->side[side]->body);
    }
    dGeomID geom[2] = {source->side[0]->geom, source->side[1]->geom};
    const ode_touch *known = sprag_ode_touch_of(&s->touches, geom[0], geom[1]);
    if (known) {
        pair->state = known->accepted && known->paired ? SPRAG_PAIR_ACCEPTED : SPRAG_PAIR_DECLINED;
        set_surface(s, pair, source, known);
    }
}

static void set_bodies(group *g, const members *m, int leader)
{
    step *s = g->s;
    g->frame.bodies = m->of[leader].bodies;
    for (int i = 0; i < g->frame.bodies; i++) {
        rider *r = &s->rider[m->body[m->body_at[leader] + i]];
        r->local = i;
        g->rider[i] = r;
        g->body[i] = r->start;
    }
}

// The program was asked beforehand about two geoms that do not come near each other in this step.
static bool is_out_of_reach(const step *s, dJointID joint, const dContact *contact)
{
    dGeomID a = contact->geom.g1, b = contact->geom.g2;
    dBodyID first = dJointGetBody(joint, 0), second = dJointGetBody(joint, 1);
    dBodyID of_a = dGeomGetBody(a), of_b = dGeomGetBody(b);
    bool theirs = (first == of_a && second == of_b) || (first == of_b && second == of_a);
    return theirs && !s->a->ask && s->a->offered(s->a->data, a, b) && !(contact->geom.depth > 0);
}

static bool is_given(const step *s, dJointID joint)
{
    const dContact *contact = sprag_ode_contact_of(joint);
    const ode_touch *touch =
        joins_geoms(contact) ? sprag_ode_touch_of(&s->touches, contact->geom.g1, contact->geom.g2)
                             : NULL;
    if (touch && !touch->paired && is_out_of_reach(s, joint, contact)) {
        return false;
    }
    return !touch || !touch->paired;
}

// Contacts that no pair of ours stands for are taken as they are; the other joints are rows.
static void set_joints(group *g, const members *m, int leader)
{
    step *s = g->s;
    const char *oddity;
    for (int i = 0; i < m->of[leader].joints; i++) {
        int j = m->joint[m->joint_at[leader] + i];
        dJointID joint = s->a->islands->joints[j];
        if (dJointGetType(joint) != dJointTypeContact) {
            g->joint[g->joints++] = joint;
            if (sprag_ode_has_limit(joint)) {
                g->limited[g->limits++] = joint;
            }
        } else if (is_given(s, joint)) {
            sprag_contact *contact = &g->contact[g->frame.contacts];
            if (sprag_ode_count_rows(joint).rows > 0 &&
                sprag_ode_pull_contact(contact, joint, s->a->world, s->a->step, NULL, &s->index,
                                       &oddity)) {
                for (int side = 0; side < 2; side++) {
                    int *b = &contact->body[side];
                    *b = *b == SPRAG_STATIC ? *b : s->rider[*b].local;
                }
                g->contact_joint[g->frame.contacts++] = joint;
                s->a->penetration = fmax(s->a->penetration, -contact->gap);
            }
        }
    }
}

static bool make_group(group *g, step *s, const members *m, int leader)
{
    const counted *of = &m->of[leader];
    sprag_scratch *scratch = s->a->scratch + 1;
    sprag_scratch_reset(scratch);
    *g = (group){.s = s};
    g->body = SPRAG_TAKE(scratch, of->bodies, sprag_mover);
    g->rider = SPRAG_TAKE(scratch, of->bodies, rider *);
    g->pair = SPRAG_TAKE(scratch, of->pairs, sprag_advance_pair);
    g->source = SPRAG_TAKE(scratch, of->pairs, const ode_pair *);
    g->collider = SPRAG_TAKE(scratch, 2 * of->pairs, sprag_collider);
    g->contact = SPRAG_TAKE(scratch, of->joints, sprag_contact);
    g->contact_wrench = SPRAG_TAKE(scratch, of->joints, *g->contact_wrench);
    g->joint_wrench = SPRAG_TAKE(scratch, of->joints, *g->joint_wrench);
    g->contact_joint = SPRAG_TAKE(scratch, of->joints, dJointID);
    g->joint = SPRAG_TAKE(scratch, of->joints, dJointID);
    g->limited = SPRAG_TAKE(scratch, of->joints, dJointID);
    if (scratch->failed || !row_room(g, 6 * of->joints)) {
        return false;
    }
    set_bodies(g, m, leader);
    set_joints(g, m, leader);
    for (int i = 0; i < of->pairs; i++) {
        set_pair(g, i, &s->pairs.pair[m->pair[m->pair_at[leader] + i]]);
    }
    g->frame = (sprag_frame){.step = s->a->step,
                             .bodies = of->bodies,
                             .colliders = 2 * of->pairs,
                             .pairs = of->pairs,
                             .contacts = g->frame.contacts,
                             .body = g->body,
                             .collider = g->collider,
                             .pair = g->pair,
                             .contact = g->contact,
                             .recovery = dWorldGetERP(s->a->world),
                             .recovery_speed = dWorldGetContactMaxCorrectingVel(s->a->world)};
    return true;
}

// ---- back into ODE

static void write_pair_feedback(const group *g)
{
    double rate = 1 / g->s->a->step;
    for (int i = 0; i < g->frame.pairs; i++) {
        const ode_pair *source = g->source[i];
        const ode_touch *touch =
            sprag_ode_touch_of(&g->s->touches, source->side[0]->geom, source->side[1]->geom);
        dJointFeedback *feedback = touch && touch->joint ? dJointGetFeedback(touch->joint) : NULL;
        if (!feedback) {
            continue;
        }
        // impulse: on the body of side 0, about its centre; ODE's first body is that of the joint
        const double *p = g->pair[i].impulse;
        dBodyID body[2];
        bool reversed;
        sprag_ode_joint_bodies(touch->joint, body, &reversed);
        double wrench[2][6] = {{0}}, arm[3] = {0, 0, 0}, turned[3];
        bool swapped = body[0] != source->side[0]->body;
        rider *r[2] = {rider_of(g->s, source->side[0]->body),
                       rider_of(g->s, source->side[1]->body)};
        const double *c0 = r[0] ? r[0]->start.pose.position : (const double[3]){0, 0, 0};
        const double *c1 = r[1] ? r[1]->start.pose.position : c0;
        subtract3(c0, c1, arm);
        cross3(arm, p, turned);
        for (int k = 0; k < 3; k++) {
            wrench[swapped][k] = p[k] * rate;
            wrench[swapped][3 + k] = p[3 + k] * rate;
            wrench[!swapped][k] = -p[k] * rate;
            wrench[!swapped][3 + k] = -(p[3 + k] + turned[k]) * rate;
        }
        sprag_ode_add_feedback(feedback, wrench, body[1] != NULL);
    }
}

static void add_wrench(dJointID joint, const double wrench[2][6])
{
    dJointFeedback *feedback = dJointGetFeedback(joint);
    if (feedback) {
        sprag_ode_clear_feedback(joint);
        sprag_ode_add_feedback(feedback, wrench,
                               dJointGetBody(joint, 0) && dJointGetBody(joint, 1));
    }
}

// All other contact joints of the group had their force told as their pair's first one's.
static void clear_contacts(const group *g, const members *m, int leader)
{
    for (int i = 0; i < m->of[leader].joints; i++) {
        dJointID joint = g->s->a->islands->joints[m->joint[m->joint_at[leader] + i]];
        if (dJointGetType(joint) == dJointTypeContact) {
            sprag_ode_clear_feedback(joint);
        }
    }
}

static void write_feedback(const group *g)
{
    for (int j = 0; j < g->joints; j++) {
        add_wrench(g->joint[j], (const double(*)[6])g->joint_wrench[j]);
    }
    for (int i = 0; i < g->frame.contacts; i++) {
        add_wrench(g->contact_joint[i], (const double(*)[6])g->contact_wrench[i]);
    }
    write_pair_feedback(g);
}

static void remember_rows(const group *g)
{
    for (int i = 0, row = 0; i < g->frame.rows; i++) {
        row = i == 0 || g->row_joint[i] != g->row_joint[i - 1] ? 0 : row + 1;
        sprag_ode_remember_row(g->s->a->memory, g->joint[g->row_joint[i]], row, g->row_force[i]);
    }
}

// ODE's own dxStepBody, over no time: geoms, moved callback, damping.
static void push_rider(const rider *r)
{
    place(r->id, &r->mover.pose);
    sprag_ode_set_velocity(r->id, r->mover.velocity);
    sprag_ode_step_body(r->id, 0);
    sprag_ode_empty_accumulators(r->id);
}

// ---- the step

static void tell_held(const group *g)
{
    const ode_advance *a = g->s->a;
    for (int i = 0; i < g->frame.pairs && a->held; i++) {
        const sprag_pair_memory *memory = g->pair[i].memory;
        if (memory->held && memory->reach > a->reach) {
            a->held(a->data, g->source[i], memory->reach);
        }
    }
}

// m, about its centre, of all its geoms; more than that is as good as all.
static double radius_of(dBodyID body)
{
    const dReal *centre = dBodyGetPosition(body);
    double radius = 0;
    for (dGeomID geom = dBodyGetFirstGeom(body); geom; geom = dBodyGetNextGeom(geom)) {
        dReal box[6];
        double corner[3];
        dGeomGetAABB(geom, box);
        for (int k = 0; k < 3; k++) {
            corner[k] = fmax(fabs(box[2 * k] - centre[k]), fabs(box[2 * k + 1] - centre[k]));
        }
        radius = fmax(radius, norm3(corner));
    }
    return radius;
}

// Has a body gone farther than pairs were looked for? Joints and impacts make it faster, also what
// had nothing around.
static bool outruns(rider *r, const sprag_mover *moved)
{
    double turned = fmin(moved->turn, 2) - fmin(r->turn, 2); // a point goes no farther than across
    double gone = moved->path + (turned > 0 ? turned * radius_of(r->id) : 0);
    if (gone > r->reach) {
        r->reach = 2 * gone;
        return true;
    }
    return false;
}

// Where reach cannot be foreseen, the group stands still.
static void stand_still(group *g)
{
    for (int i = 0; i < g->frame.bodies; i++) {
        g->rider[i]->mover = g->rider[i]->start;
    }
    g->s->a->stats.stalled += g->s->a->step;
}

static void advance_group(step *s, const members *m, int leader, bool last, bool *again)
{
    group g;
    ode_advance *a = s->a;
    if (!make_group(&g, s, m, leader)) {
        s->failed = true;
        return;
    }
    const sprag_advance_calls calls = {.data = &g,
                                       .touch = touch,
                                       .rows = g.joints ? pull_rows : NULL,
                                       .next_limit = g.limits ? next_limit : NULL,
                                       .event = a->event ? tell : NULL,
                                       .carried = carried};
    sprag_scratch_reset(a->scratch + 2);
    sprag_result result =
        a->comply ? sprag_comply(&g.frame, a->comply, &calls, a->scratch + 2, &a->comply_stats,
                                 &a->left_because)
                  : sprag_advance(&g.frame, &a->options, &calls, a->scratch + 2, &a->stats);
    if (result == SPRAG_NO_MEMORY || s->failed) {
        s->failed = true;
        return;
    }
    bool outrun = false;
    for (int i = 0; i < g.frame.bodies; i++) {
        outrun |= outruns(g.rider[i], &g.body[i]);
        g.rider[i]->mover = g.body[i];
    }
    *again |= outrun;
    if (outrun && last) {
        stand_still(&g);
    } else if (result != SPRAG_OK) {
        a->failed++;
        a->left += a->comply && result == SPRAG_NOT_CONVERGED;
        for (int i = 0; i < (int)a->islands->count; i++) {
            a->stock[i] |= in_group(s, i, leader);
        }
    } else if (last || !*again) {
        tell_held(&g);
        clear_contacts(&g, m, leader);
        write_feedback(&g);
        remember_rows(&g);
        a->contacts += g.frame.touching + g.frame.contacts;
        a->rows += g.frame.rows;
        a->given += g.frame.contacts;
    }
    restore_forces(&g);
}

static bool advance_groups(step *s, bool last, bool *again)
{
    members m;
    if (!sort_members(s, &m)) {
        return false;
    }
    s->a->groups = 0;
    for (int i = 0; i < (int)s->a->islands->count && !s->failed; i++) {
        if (leader_of(s, i) == i && !s->rider[m.body[m.body_at[i]]].held) {
            s->a->groups++;
            advance_group(s, &m, i, last, again);
        }
    }
    return !s->failed;
}

static void restore(const step *s)
{
    for (int i = 0; i < s->riders; i++) {
        const rider *r = &s->rider[i];
        if (!r->held) {
            place(r->id, &r->start.pose);
            sprag_ode_set_velocity(r->id, r->start.velocity);
        }
    }
}

static void push(const step *s)
{
    for (int i = 0; i < s->riders; i++) {
        const rider *r = &s->rider[i];
        if (r->held) {
            sprag_ode_empty_accumulators(r->id);
        } else if (s->a->stock[r->island]) {
            if (!is_at(r->id, &r->start.pose)) {
                place(r->id, &r->start.pose);
            }
            sprag_ode_set_velocity(r->id, r->start.velocity);
        } else {
            push_rider(r);
            double turning = norm3(r->mover.velocity + 3) * r->radius;
            s->a->fastest = fmax(s->a->fastest, norm3(r->mover.velocity) + turning);
        }
    }
}

// ---- what sleeps

// The body that sleeps in a pair where the other one may reach it within the step, NULL: none.
static dBodyID sleeper_of(const step *s, const ode_pair *pair)
{
    for (int side = 0; side < 2; side++) {
        const rider *r = rider_of(s, pair->side[side]->body);
        dBodyID other = pair->side[!side]->body;
        if (!r || !other || dBodyIsEnabled(other) || dBodyIsKinematic(other) ||
            dBodyGetWorld(other) != s->a->world) {
            continue;
        }
        double h = s->a->step, mass = r->start.mass;
        double fall = mass > 0 ? norm3(r->start.force) / mass * h : 0;
        double turn = norm3(r->start.velocity + 3) * radius_of(r->id);
        if (was_within(pair, (1.1 * (norm3(r->start.velocity) + turn) + 2 * fall) * h)) {
            return other;
        }
    }
    return NULL;
}

// ODE wakes a body when something touches it at the start of a step. What is to touch it within the
// step would meet a wall, and lose its momentum to it.
static bool find_sleepers(step *s)
{
    ode_advance *a = s->a;
    a->sleeper = SPRAG_TAKE(s->scratch, s->pairs.count, dBodyID);
    for (int i = 0; i < s->pairs.count && a->sleeper; i++) {
        const ode_pair *pair = &s->pairs.pair[i];
        const ode_touch *known =
            sprag_ode_touch_of(&s->touches, pair->side[0]->geom, pair->side[1]->geom);
        dBodyID sleeper = !known || known->accepted ? sleeper_of(s, pair) : NULL;
        if (sleeper) {
            a->sleeper[a->sleepers++] = sleeper;
        }
    }
    return a->sleeper || s->pairs.count == 0;
}

static bool run(step *s)
{
    enum { ATTEMPTS = 5 };
    sprag_advance_stats before = s->a->stats;
    sprag_comply_stats comply_before = s->a->comply_stats;
    bool again = true;
    if (!pull_bodies(s) || !pull_touches(s)) {
        return false;
    }
    for (int i = 0; i < ATTEMPTS && again; i++) {
        if (i > 0) {
            restore(s);
        }
        again = false;
        s->a->stats = before;
        s->a->comply_stats = comply_before;
        s->a->left = 0;
        s->a->contacts = s->a->rows = s->a->given = s->a->failed = 0;
        memset(s->a->stock, 0, s->a->islands->count * sizeof *s->a->stock);
        if (i > 0 && s->a->anew) {
            s->a->anew(s->a->data);
        }
        if (!find_pairs(s) || (i == 0 && s->a->wakes && !find_sleepers(s))) {
            return false;
        }
        if (s->a->sleepers > 0) {
            return true;
        }
        if (!advance_groups(s, i + 1 == ATTEMPTS, &again)) {
            return false;
        }
        again &= i + 1 < ATTEMPTS;
    }
    return true;
}

sprag_result sprag_ode_advance(ode_advance *a)
{
    step s = {.a = a, .scratch = &a->scratch[0]};
    a->stock = SPRAG_TAKE(s.scratch, a->islands->count, bool);
    if (!a->stock || !run(&s)) {
        if (s.rider && s.index.body) {
            restore(&s);
        }
        return SPRAG_NO_MEMORY;
    }
    if (a->sleepers == 0) {
        push(&s);
    }
    return SPRAG_OK;
}
