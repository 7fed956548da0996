// A group of islands -> the frame of the method.
#include "frame_run.h"

#include <math.h>

#include "linalg.h"
#include "motion.h"

static int start_at(int *at, const counted *of, int islands, int which)
{
    int sum = 0;
    for (int i = 0; i < islands; i++) {
        at[i] = sum;
        sum += which == 0 ? of[i].bodies : which == 1 ? of[i].pairs : of[i].joints;
    }
    return sum;
}

bool step_sort_members(step *s, members *m)
{
    const ode_islands *islands = s->a->input.islands;
    int n = (int)islands->count;
    m->of = SPRAG_TAKE(s->scratch, n, counted);
    m->body_at = SPRAG_TAKE(s->scratch, n, int);
    m->pair_at = SPRAG_TAKE(s->scratch, n, int);
    m->joint_at = SPRAG_TAKE(s->scratch, n, int);
    if (s->scratch->failed) {
        return false;
    }
    for (ode_island_walk walk = {.islands = islands}; sprag_ode_next_island(&walk);) {
        counted *c = &m->of[step_leader_of(s, (int)walk.next - 1)];
        c->bodies += walk.island.bodies;
        c->joints += walk.island.joints;
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
    int b = 0, j = 0;
    for (ode_island_walk walk = {.islands = islands}; sprag_ode_next_island(&walk);) {
        int group = step_leader_of(s, (int)walk.next - 1);
        for (int k = 0; k < walk.island.bodies; k++) {
            m->body[m->body_at[group]++] = b++;
        }
        for (int k = 0; k < walk.island.joints; k++) {
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
    body_state *b = step_body_of(s, side->body);
    to->shape = side->shape;
    to->mesh = side->triangle >= 0 ? (const void *)side->id : NULL;
    if (!b) {
        to->body = SPRAG_STATIC;
        to->mount = side->pose;
        return;
    }
    to->body = b->local;
    sprag_pose_in(&b->start.pose, &side->pose, &to->mount);
}

static void widen_radius(const step *s, const sprag_collider *collider, dBodyID body)
{
    body_state *b = step_body_of(s, body);
    if (b) {
        b->radius = fmax(b->radius, sprag_collider_radius(collider));
    }
}

// Does the program's contact have another normal than the geoms? Triangles have several normals.
static bool has_other_normal(const step *s, const ode_pair *pair, dJointID joint)
{
    const dContactGeom *given = sprag_ode_contact_geom(joint);
    const double reach = frame_normal_reach * s->a->input.reach; // m
    ode_pair fresh = *pair;
    fresh.memory = NULL;
    const sprag_gap_query query = {reach, 0};
    sprag_gap gap;
    if (pair->side[0]->triangle >= 0 || pair->side[1]->triangle >= 0 ||
        sprag_ode_gap(&fresh, &query, &gap, NULL) != SPRAG_OK || gap.beyond) {
        return false;
    }
    double along = dot3(gap.normal, given->normal) / norm3(given->normal);
    return (given->g1 == pair->side[0]->geom ? along : -along) < frame_same_normal;
}

static void set_pair(group *g, int i, const ode_pair *source)
{
    sprag_pair *pair = &g->pair[i];
    step *s = g->s;
    g->source[i] = source;
    *pair = (sprag_pair){.collider = {2 * i, 2 * i + 1}, .memory = source->memory};
    for (int side = 0; side < 2; side++) {
        set_collider(&g->collider[2 * i + side], s, source->side[side]);
        widen_radius(s, &g->collider[2 * i + side], source->side[side]->body);
    }
    dGeomID geom[2] = {source->side[0]->geom, source->side[1]->geom};
    const ode_pair_answer *known = sprag_ode_pair_answer_find(&s->answers, geom[0], geom[1]);
    if (known) {
        pair->state = known->accepted && known->paired ? SPRAG_PAIR_ACCEPTED : SPRAG_PAIR_DECLINED;
        group_set_surface(s, pair, source, known);
        if (s->a->input.compares_normals && !s->a->warnings.other_normal && known->joint &&
            known->paired && has_other_normal(s, source, known->joint)) {
            s->a->warnings.other_normal = known->joint;
        }
    }
}

static bool set_bodies(group *g, const members *m, int leader)
{
    step *s = g->s;
    const int bodies = m->of[leader].bodies;
    sprag_scratch *scratch = s->a->input.scratch + 1;
    g->frame.bodies = bodies;
    g->frame.body = g->body = SPRAG_TAKE_RAW(scratch, bodies, sprag_mover);
    g->state = SPRAG_TAKE_RAW(scratch, bodies, body_state *);
    for (int i = 0; i < bodies && !scratch->failed; i++) {
        body_state *b = &s->body[m->body[m->body_at[leader] + i]];
        b->local = i;
        g->state[i] = b;
        g->body[i] = b->start;
    }
    return !scratch->failed;
}

// Did the program make this contact in advance, for geoms that do not come near each other in this
// step? Nothing is read from geoms that were not offered: the program may have destroyed them.
static bool is_out_of_reach(const step *s, dJointID joint, const dContactGeom *contact)
{
    dGeomID a = contact->g1, b = contact->g2;
    if (s->a->calls.ask || contact->depth > 0 || !s->a->calls.was_offered(s->a->calls.data, a, b)) {
        return false;
    }
    dBodyID first = dJointGetBody(joint, 0), second = dJointGetBody(joint, 1);
    dBodyID of_a = dGeomGetBody(a), of_b = dGeomGetBody(b);
    return (first == of_a && second == of_b) || (first == of_b && second == of_a);
}

static bool is_given(const step *s, dJointID joint)
{
    const dContactGeom *contact = sprag_ode_contact_geom(joint);
    const ode_pair_answer *answer =
        step_joins_geoms(contact)
            ? sprag_ode_pair_answer_find(&s->answers, contact->g1, contact->g2)
            : NULL;
    if (answer && !answer->paired && is_out_of_reach(s, joint, contact)) {
        return false;
    }
    return !answer || !answer->paired;
}

static void add_given(group *g, dJointID joint)
{
    step *s = g->s;
    const char *surface_error;
    sprag_contact *contact = &g->contact[g->frame.contacts];
    *contact = (sprag_contact){0};
    if (sprag_ode_count_rows(joint).rows == 0) {
        return;
    }
    ode_setting setting = sprag_ode_setting(s->a->input.world, s->a->input.step);
    if (!sprag_ode_pull_contact(contact, joint, &setting, NULL, &s->index, NULL,
                                s->a->input.scratch + 1, &surface_error)) {
        s->a->warnings.invalid_contact =
            s->a->results.dropped_contacts++ ? s->a->warnings.invalid_contact : joint;
        return;
    }
    if (isinf(contact->compliance)) { // by an infinite CFM; no force, as in stock
        return;
    }
    if (surface_error) {
        s->a->warnings.invalid_surface = joint;
        s->a->warnings.surface_error = surface_error;
    }
    for (int side = 0; side < 2; side++) {
        int *b = &contact->body[side];
        *b = *b == SPRAG_STATIC ? *b : s->body[*b].local;
    }
    g->contact_joint[g->frame.contacts++] = joint;
    s->a->results.penetration = fmax(s->a->results.penetration, -contact->gap);
}

static void reduce_given(group *g, sprag_scratch *scratch)
{
    int *kept;
    int left = sprag_ode_reduce_contacts(g->contact, g->frame.contacts, &kept, scratch);
    for (int i = 0; kept && i < left; i++) {
        g->contact_joint[i] = g->contact_joint[kept[i]];
    }
    g->frame.contacts = left;
}

// Contact joints without a pair of shapes become given contacts; other joints have rows.
static void set_joints(group *g, const members *m, int leader)
{
    step *s = g->s;
    const int joints = m->of[leader].joints;
    sprag_scratch *scratch = s->a->input.scratch + 1;
    g->contact = SPRAG_TAKE_RAW(scratch, joints, sprag_contact);
    g->contact_joint = SPRAG_TAKE_RAW(scratch, joints, dJointID);
    g->joint = SPRAG_TAKE_RAW(scratch, joints, dJointID);
    g->limited = SPRAG_TAKE_RAW(scratch, joints, dJointID);
    for (int i = 0; i < joints && !scratch->failed; i++) {
        int j = m->joint[m->joint_at[leader] + i];
        dJointID joint = s->a->input.islands->joints[j];
        if (dJointGetType(joint) != dJointTypeContact) {
            g->joint[g->joints++] = joint;
            if (sprag_ode_has_limit(joint)) {
                g->limited[g->limits++] = joint;
            }
        } else if (is_given(s, joint)) {
            add_given(g, joint);
        }
    }
    reduce_given(g, scratch);
    g->contact_wrench = SPRAG_TAKE(scratch, g->frame.contacts, *g->contact_wrench);
    g->joint_wrench = SPRAG_TAKE(scratch, g->joints, *g->joint_wrench);
    g->stop = SPRAG_TAKE_RAW(scratch, 6 * g->joints, sprag_stop);
    g->stop_joint = SPRAG_TAKE_RAW(scratch, 6 * g->joints, dJointID);
}

static void set_pairs(group *g, const members *m, int leader)
{
    step *s = g->s;
    const int pairs = m->of[leader].pairs, *of = m->pair + m->pair_at[leader];
    sprag_scratch *scratch = s->a->input.scratch + 1;
    g->frame.pairs = pairs;
    g->frame.colliders = 2 * pairs;
    g->frame.pair = g->pair = SPRAG_TAKE_RAW(scratch, pairs, sprag_pair);
    g->frame.collider = g->collider = SPRAG_TAKE_RAW(scratch, 2 * pairs, sprag_collider);
    g->source = SPRAG_TAKE_RAW(scratch, pairs, const ode_pair *);
    for (int i = 0; i < pairs && !scratch->failed; i++) {
        set_pair(g, i, &s->pairs.pair[of[i]]);
    }
}

static void set_frame(group *g)
{
    const ode_advance_input *in = &g->s->a->input;
    sprag_frame *f = &g->frame;
    dBodyID first = g->state[0]->id;
    f->step = in->step;
    f->number = in->number;
    f->memory = sprag_ode_warm_start_island(in->warm_start, first);
    f->integrator_step = sprag_ode_warm_start_integrator_step(in->warm_start, first);
    f->contact = g->contact;
    f->recovery = dWorldGetERP(in->world);
    f->recovery_speed = dWorldGetContactMaxCorrectingVel(in->world);
}

bool group_make(group *g, step *s, const members *m, int leader)
{
    const counted *of = &m->of[leader];
    sprag_scratch *scratch = s->a->input.scratch + 1;
    sprag_scratch_reset(scratch);
    *g = (group){.s = s};
    if (!set_bodies(g, m, leader)) {
        return false;
    }
    if (of->joints > 0) {
        set_joints(g, m, leader);
    }
    if (of->pairs > 0) {
        set_pairs(g, m, leader);
    }
    set_frame(g);
    return !scratch->failed;
}
