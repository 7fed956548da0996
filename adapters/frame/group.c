// A group of islands -> the frame of the method.
#include "frame_run.h"

#include <math.h>

#include "linalg.h"
#include "motion.h"

// Sorts numbers by their groups, of which there are so many; -1: of none.
static bool sort(const int *group, int count, int groups, sorted *to, sprag_scratch *scratch)
{
    to->at = SPRAG_TAKE(scratch, groups + 2, int);
    to->index = SPRAG_TAKE_RAW(scratch, count, int);
    for (int i = 0; i < count && !scratch->failed; i++) {
        to->at[group[i] + 2] += group[i] >= 0;
    }
    for (int i = 0; i < groups && !scratch->failed; i++) {
        to->at[i + 2] += to->at[i + 1];
    }
    for (int i = 0; i < count && !scratch->failed; i++) {
        if (group[i] >= 0) {
            to->index[to->at[group[i] + 1]++] = i;
        }
    }
    return !scratch->failed;
}

bool step_sort_members(step *s, members *m)
{
    const int groups = (int)s->a->input.islands->count;
    int *of_body = SPRAG_TAKE_RAW(s->scratch, s->bodies, int), b = 0;
    int *of_joint = SPRAG_TAKE_RAW(s->scratch, s->joints, int), j = 0;
    ode_island_walk walk = {.islands = s->a->input.islands};
    while (!s->scratch->failed && sprag_ode_next_island(&walk)) {
        const int leader = sprag_leader_of(s->leader, (int)walk.next - 1);
        for (int end = b + walk.island.bodies; b < end; b++) {
            of_body[b] = leader;
        }
        for (int end = j + walk.island.joints; j < end; j++) {
            of_joint[j] = leader;
        }
    }
    return sort(of_body, b, groups, &m->bodies, s->scratch) &&
           sort(of_joint, j, groups, &m->joints, s->scratch) &&
           sort(s->pair_group, s->pairs.count, groups, &m->pairs, s->scratch);
}

bool step_leads(step *s, const members *m, int island)
{
    return s->leader[island] == island && !s->body[*sorted_of(&m->bodies, island)].frozen;
}

static void set_collider(sprag_collider *to, const step *s, const ode_geom *side)
{
    body_state *b = step_mover_of(s, side);
    to->shape = side->shape;
    to->mesh = side->triangle >= 0 ? (const void *)side->id : NULL;
    if (!b) {
        to->body = SPRAG_STATIC;
        to->mount = side->pose;
        return;
    }
    to->body = b->local;
    sprag_pose_in(&b->start.pose, &side->pose, &to->mount);
    b->radius = fmax(b->radius, sprag_collider_radius(to));
}

static int collider_of(group *g, const ode_geom *side)
{
    int *known = &g->s->collider[side->number];
    if (*known >= g->frame.colliders || g->side[*known] != side) {
        *known = g->frame.colliders++;
        g->side[*known] = side;
        set_collider(&g->collider[*known], g->s, side);
    }
    return *known;
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
    return (given->g1 == pair->side[0]->named ? along : -along) < frame_same_normal;
}

static void set_pair(group *g, int i, const ode_pair *source)
{
    sprag_pair *pair = &g->frame.pair[i];
    step *s = g->s;
    g->source[i] = source;
    *pair = (sprag_pair){.memory = source->memory};
    for (int side = 0; side < 2; side++) {
        pair->collider[side] = collider_of(g, source->side[side]);
    }
    const pair_answer *known = step_answer_for(s, source);
    if (known) {
        pair->state = known->accepted && known->paired ? SPRAG_PAIR_ACCEPTED : SPRAG_PAIR_DECLINED;
        group_set_surface(s, pair, source, known);
        if (s->a->input.compares_normals && !s->a->warnings.other_normal && known->joint &&
            known->paired && has_other_normal(s, source, known->joint)) {
            s->a->warnings.other_normal = known->joint;
        }
    }
}

static bool set_bodies(group *g, const members *m)
{
    step *s = g->s;
    const int bodies = sorted_count(&m->bodies, g->leader), *of = sorted_of(&m->bodies, g->leader);
    sprag_scratch *scratch = s->a->input.scratch + 1;
    g->frame.bodies = bodies;
    g->frame.body = SPRAG_TAKE_RAW(scratch, bodies, sprag_mover);
    g->state = SPRAG_TAKE_RAW(scratch, bodies, body_state *);
    for (int i = 0; i < bodies && !scratch->failed; i++) {
        body_state *b = &s->body[of[i]];
        b->local = i;
        g->state[i] = b;
        g->frame.body[i] = b->start;
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

// j: number of a contact joint.
static bool is_given(const step *s, int j)
{
    dJointID joint = s->a->input.islands->joints[j];
    const pair_answer *answer = sprag_ode_set_value(&s->answers, s->answer_of[j]);
    return !answer ||
           (!answer->paired && !is_out_of_reach(s, joint, sprag_ode_contact_geom(joint)));
}

static void add_given(group *g, dJointID joint)
{
    step *s = g->s;
    const char *surface_error;
    ode_contact_view view;
    sprag_contact *contact = &g->contact[g->frame.contacts];
    *contact = (sprag_contact){0};
    if (sprag_ode_count_rows(joint).rows == 0) {
        return;
    }
    ode_setting setting = sprag_ode_setting(s->a->input.world, s->a->input.step);
    sprag_ode_view_contact(sprag_ode_layout(), joint, &view);
    if (!sprag_ode_pull_contact(contact, &view, &setting, NULL, &s->index, NULL,
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
    int left = sprag_reduce_contacts(g->contact, g->frame.contacts, &kept, scratch);
    for (int i = 0; kept && i < left; i++) {
        g->contact_joint[i] = g->contact_joint[kept[i]];
    }
    g->frame.contacts = left;
}

static void set_lag(group *g, dJointID joint)
{
    const double lag = sprag_ode_warm_start_lag(g->s->a->input.warm_start, joint);
    for (int side = 0; side < 2; side++) {
        const body_state *b = step_body_of(g->s, dJointGetBody(joint, side));
        if (b) {
            g->frame.body[b->local].lag = fmax(g->frame.body[b->local].lag, lag);
        }
    }
}

// Contact joints without a pair of shapes become given contacts; other joints have rows.
static void set_joints(group *g, const members *m)
{
    step *s = g->s;
    const int joints = sorted_count(&m->joints, g->leader), *of = sorted_of(&m->joints, g->leader);
    sprag_scratch *scratch = s->a->input.scratch + 1;
    g->contact = SPRAG_TAKE_RAW(scratch, joints, sprag_contact);
    g->contact_joint = SPRAG_TAKE_RAW(scratch, joints, dJointID);
    g->joint = SPRAG_TAKE_RAW(scratch, joints, dJointID);
    g->known = SPRAG_TAKE(scratch, joints, known_forces);
    g->limited = SPRAG_TAKE_RAW(scratch, joints, ode_limited);
    for (int i = 0; i < joints && !scratch->failed; i++) {
        dJointID joint = s->a->input.islands->joints[of[i]];
        if (dJointGetType(joint) != dJointTypeContact) {
            g->joint[g->joints++] = joint;
            set_lag(g, joint);
            if (sprag_ode_has_limit(joint)) {
                g->limited[g->limits++].joint = joint;
            }
        } else if (is_given(s, of[i])) {
            add_given(g, joint);
        }
    }
    reduce_given(g, scratch);
    g->contact_wrench = SPRAG_TAKE(scratch, g->frame.contacts, *g->contact_wrench);
    g->joint_wrench = SPRAG_TAKE(scratch, g->joints, *g->joint_wrench);
    g->row = SPRAG_TAKE_RAW(scratch, 6 * g->joints, sprag_row);
    g->row_joint = SPRAG_TAKE_RAW(scratch, 6 * g->joints, int);
    g->stop = SPRAG_TAKE_RAW(scratch, 6 * g->joints, sprag_stop);
    g->stop_joint = SPRAG_TAKE_RAW(scratch, 6 * g->joints, dJointID);
}

static void set_pairs(group *g, const members *m)
{
    step *s = g->s;
    const int pairs = sorted_count(&m->pairs, g->leader), *of = sorted_of(&m->pairs, g->leader);
    sprag_scratch *scratch = s->a->input.scratch + 1;
    g->frame.pairs = pairs;
    g->frame.pair = SPRAG_TAKE_RAW(scratch, pairs, sprag_pair);
    g->frame.collider = g->collider = SPRAG_TAKE_RAW(scratch, 2 * pairs, sprag_collider);
    g->side = SPRAG_TAKE_RAW(scratch, 2 * pairs, const ode_geom *);
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
    sprag_scratch *scratch = s->a->input.scratch + 1;
    *g = (group){.s = s, .leader = leader};
    if (!set_bodies(g, m)) {
        return false;
    }
    if (sorted_count(&m->joints, leader) > 0) {
        set_joints(g, m);
    }
    if (sorted_count(&m->pairs, leader) > 0) {
        set_pairs(g, m);
    }
    set_frame(g);
    return !scratch->failed;
}
