// Pairs that may meet within a step: the program's answers about them, the groups that they unite
// islands to, and the sleeping bodies that they wake.
#include "frame_run.h"

#include <math.h>
#include <string.h>

#include "box.h"
#include "linalg.h"
#include "mover.h"

// Fields that the mode does not use may differ.
static bool surfaces_differ(const step *s, dJointID a, dJointID b)
{
    dSurfaceParameters room[2];
    const dSurfaceParameters *first = sprag_ode_contact_surface(a, &room[0]);
    const dSurfaceParameters *second = sprag_ode_contact_surface(b, &room[1]);
    if (memcmp(first, second, sizeof *first) == 0) {
        return false;
    }
    sprag_surface read[2];
    sprag_ode_read_surface(&read[0], first, dWorldGetCFM(s->a->input.world));
    sprag_ode_read_surface(&read[1], second, dWorldGetCFM(s->a->input.world));
    return memcmp(&read[0], &read[1], sizeof *read) != 0;
}

pair_answer *step_add_answer(step *s, dGeomID a, dGeomID b)
{
    const int known = s->answers.count,
              i = sprag_ode_set_add(&s->answers, sprag_ode_pair_key(a, b, NULL));
    pair_answer *answer = sprag_ode_set_value(&s->answers, i);
    if (i == known) {
        *answer = (pair_answer){.joint = NULL};
    }
    return answer;
}

bool step_pull_answers(step *s)
{
    const ode_islands *islands = s->a->input.islands;
    const dContactGeom *last = NULL; // contacts of two geoms follow one another
    pair_answer *answer = NULL;
    s->answers = (ode_set){.scratch = s->scratch, .size = sizeof(pair_answer)};
    s->answer_of = SPRAG_TAKE_RAW(s->scratch, s->joints, int);
    for (int j = 0; j < s->joints && s->answer_of; j++) {
        dJointID joint = islands->joints[j];
        s->answer_of[j] = -1;
        if (dJointGetType(joint) != dJointTypeContact) {
            continue;
        }
        const dContactGeom *contact = sprag_ode_contact_geom(joint);
        if (!contact->g1 || !contact->g2) {
            continue;
        }
        if (!last || contact->g1 != last->g1 || contact->g2 != last->g2) {
            answer = step_add_answer(s, contact->g1, contact->g2);
        }
        if (!answer) {
            return false;
        }
        last = contact;
        s->answer_of[j] = (int)(answer - (pair_answer *)s->answers.value);
        if (!answer->joint) {
            answer->joint = joint;
            answer->paired = false;
            answer->accepted = true;
        } else if (!s->a->warnings.other_surface && surfaces_differ(s, answer->joint, joint)) {
            s->a->warnings.other_surface = joint;
        }
    }
    return s->answer_of || s->joints == 0;
}

static bool motion_of(void *data, dBodyID body, ode_motion *motion)
{
    const step *s = data;
    const body_state *b = step_body_of(s, body);
    if (b) {
        scale3(s->a->input.step, b->velocity, motion->shift);
        motion->slack = b->reach;
        scale3(s->a->input.step, b->velocity + 3, motion->turn);
        motion->swerve = b->swerve;
        motion->mover = (int)(b - s->body);
    }
    return b != NULL;
}

static bool is_between(dJointID joint, const ode_pair *pair)
{
    dBodyID a = dJointGetBody(joint, 0), b = dJointGetBody(joint, 1);
    dBodyID c = pair->side[0]->body, d = pair->side[1]->body;
    return (a == c && b == d) || (a == d && b == c);
}

// Is the pair ours? If the program has put the contact of two geoms between other bodies, it is a
// given contact. Triangles alone do not tell the way out of two meshes that overlap.
static bool is_ours(step *s, const ode_pair *pair)
{
    const ode_geom *const *side = pair->side;
    if (s->a->input.compliant && side[0]->triangle >= 0 && side[1]->triangle >= 0) {
        s->a->warnings.without_distance = side[0]->named;
        return false;
    }
    pair_answer *answer = step_answer_for(s, pair);
    if (answer && (!answer->joint || is_between(answer->joint, pair))) {
        answer->paired = true;
    }
    return !answer || (answer->accepted && answer->paired);
}

// Can nothing push either body? What the program moves passes through what it moves, and through
// static geoms, as under ODE.
static bool is_immovable(const body_state *b, dBodyID other)
{
    return !(b->start.mass > 0) && (!other || dBodyIsKinematic(other));
}

// The moving bodies of a pair that counts. false: it does not.
static bool movers_of(step *s, const ode_pair *pair, body_state *b[2])
{
    for (int side = 0; side < 2; side++) {
        b[side] = step_mover_of(s, pair->side[side]);
    }
    return is_ours(s, pair) && b[0] && !is_immovable(b[0], pair->side[1]->body);
}

// Bodies in flight that meet nothing go in one group: each frame costs as much as a few bodies.
static void unite_flights(step *s, const bool *meets)
{
    const body_state *b = s->body;
    int first = -1;
    for (ode_island_walk walk = {.islands = s->a->input.islands}; sprag_ode_next_island(&walk);) {
        const int i = (int)walk.next - 1;
        if (walk.island.joints == 0 && !meets[i] && !b->frozen && b->start.mass >= 0) {
            first = first < 0 ? i : first;
            sprag_unite(s->leader, first, i);
        }
        b += walk.island.bodies;
    }
}

// meets: islands, zeroed.
static void group_pairs(step *s, bool *meets)
{
    for (int i = 0; i < (int)s->a->input.islands->count; i++) {
        s->leader[i] = i;
    }
    for (int i = 0; i < s->pairs.count; i++) {
        body_state *b[2];
        s->pair_group[i] = -1;
        if (!movers_of(s, &s->pairs.pair[i], b)) {
            continue;
        }
        s->pair_group[i] = b[0]->island;
        meets[b[0]->island] = true;
        if (b[1]) {
            meets[b[1]->island] = true;
            sprag_unite(s->leader, b[0]->island, b[1]->island);
        }
    }
    if (!s->a->input.compliant) { // whose frames have a step of their own
        unite_flights(s, meets);
    }
    for (int i = 0; i < s->pairs.count; i++) {
        s->pair_group[i] = s->pair_group[i] < 0 ? -1 : sprag_leader_of(s->leader, s->pair_group[i]);
    }
}

static sprag_result find_pairs(step *s, bool again, ode_pairs *pairs)
{
    const ode_advance_input *in = &s->a->input;
    return sprag_ode_find_pairs(in->geometry, in->collision, in->collision_calls, motion_of, s,
                                frame_pair_margin * in->options.epsilon, again, s->scratch, pairs);
}

// Can the shapes meet, by the ways of their bodies along the gap between them? The search asks that
// of boxes.
static bool may_meet(const step *s, const ode_pair *pair)
{
    double reach = 0, way[3] = {0, 0, 0};
    for (int side = 0; side < 2; side++) {
        const body_state *b = step_mover_of(s, pair->side[side]);
        if (b) {
            const double h = s->a->input.step, turn = h * norm3(b->velocity + 3) + b->swerve;
            reach += b->reach + fmin(turn, 2) * body_radius(b->id);
            add_scaled(way, side ? -h : h, b->velocity, 3);
        }
    }
    const sprag_gap_query query = {reach + norm3(way), 0};
    sprag_gap gap;
    return sprag_ode_gap(pair, &query, &gap, NULL) == SPRAG_BAD_PROBLEM ||
           (!gap.beyond && gap.distance <= fmax(0, -dot3(way, gap.normal)) + reach);
}

bool step_meets_more(step *s, bool *outrun)
{
    const sprag_scratch before = *s->scratch;
    ode_pairs pairs;
    body_state *b[2];
    bool more = false;
    step_restore(s);
    s->failed |= find_pairs(s, true, &pairs) != SPRAG_OK;
    for (int i = 0; i < pairs.count && !s->failed; i++) {
        const ode_pair *pair = &pairs.pair[i];
        const bool is_new = !pair->memory && movers_of(s, pair, b) && may_meet(s, pair);
        for (int side = 0; side < 2 && is_new; side++) {
            const bool farther = b[side] && b[side]->reach > b[side]->sought;
            outrun[farther ? sprag_leader_of(s->leader, b[side]->island) : 0] |= farther;
            more |= farther;
        }
    }
    sprag_scratch_release(s->scratch, &before);
    return more;
}

// A body that touches something, or would by its weight within the step, is held.
static void kick_bodies(step *s)
{
    const double h = s->a->input.step;
    dVector3 gravity;
    dWorldGetGravity(s->a->input.world, gravity);
    const double near = 2 * s->a->input.options.epsilon + 0.5 * norm3(gravity) * h * h;
    for (int i = 0; i < s->pairs.count; i++) {
        const ode_pair *pair = &s->pairs.pair[i];
        body_state *b[2] = {step_mover_of(s, pair->side[0]), step_mover_of(s, pair->side[1])};
        const bool loose = (b[0] && !b[0]->held) || (b[1] && !b[1]->held),
                   beside = loose && s->pair_group[i] >= 0 && step_was_within(pair, near);
        for (int side = 0; side < 2 && beside; side++) {
            if (b[side]) {
                b[side]->held = true;
            }
        }
    }
    for (int i = 0; i < s->bodies; i++) {
        body_kick(&s->body[i], h);
    }
}

// Joints and contacts can give a body the speed of anything in its island.
static void widen_reaches(step *s)
{
    double *most = SPRAG_TAKE(s->scratch, s->a->input.islands->count, double);
    for (int i = 0; i < s->bodies && most; i++) {
        body_state *b = &s->body[i];
        b->sought = b->reach;
        most[b->island] = fmax(most[b->island], b->reach);
    }
    for (int i = 0; i < s->bodies && most; i++) {
        body_state *b = &s->body[i];
        b->reach = b->start.mass > 0 ? most[b->island] : b->reach;
    }
}

// Meshes have too many triangles within the reach of a fast island: each body is taken to stray by
// its own speed only, as long as none strays farther (outruns).
static sprag_result find_near(step *s)
{
    for (int i = 0; i < s->bodies; i++) {
        s->body[i].reach = s->body[i].sought;
    }
    sprag_ode_pair_memories_undo(s->a->input.geometry);
    return find_pairs(s, false, &s->pairs);
}

bool step_find_pairs(step *s)
{
    widen_reaches(s);
    sprag_result result = find_pairs(s, false, &s->pairs);
    result = s->pairs.crowded[0] && !s->scratch->failed ? find_near(s) : result;
    s->pair_group = SPRAG_TAKE(s->scratch, s->pairs.count, int);
    s->collider = SPRAG_TAKE(s->scratch, s->pairs.sides, int);
    bool *meets = SPRAG_TAKE(s->scratch, s->a->input.islands->count, bool);
    if (result != SPRAG_OK || s->scratch->failed) {
        return false;
    }
    group_pairs(s, meets);
    memcpy(s->a->warnings.crowded, s->pairs.crowded, sizeof s->pairs.crowded);
    kick_bodies(s);
    return true;
}

bool step_was_within(const ode_pair *pair, double reach)
{
    const ode_geom *const *side = pair->side;
    const sprag_shape *shape[2] = {&side[0]->shape, &side[1]->shape};
    const sprag_pose *pose[2] = {&side[0]->pose, &side[1]->pose};
    const sprag_gap_query query = {reach, 0};
    double box[6];
    sprag_gap gap;
    memcpy(box, side[0]->bounds, sizeof box);
    sprag_box_grow(box, reach);
    return reach > 0 && sprag_boxes_overlap(box, side[1]->bounds) &&
           sprag_gap_find(shape, pose, &query, NULL, &gap, NULL) != SPRAG_BAD_PROBLEM &&
           !gap.beyond;
}

// The sleeping body of a pair, if the other one may reach it within the step; NULL: none.
static dBodyID sleeper_of(const step *s, const ode_pair *pair)
{
    const body_state *b = step_mover_of(s, pair->side[0]);
    dBodyID other = pair->side[1]->body;
    if (!b || !other || dBodyIsEnabled(other) || dBodyIsKinematic(other) ||
        dBodyGetWorld(other) != s->a->input.world) {
        return NULL;
    }
    double h = s->a->input.step, fall = sprag_mover_acceleration(&b->start) * h;
    double turn = norm3(b->start.velocity + 3) * body_radius(b->id);
    bool may_reach = step_was_within(
        pair,
        (frame_waking_speed * (norm3(b->start.velocity) + turn) + frame_reach_force * fall) * h);
    return may_reach ? other : NULL;
}

bool step_find_sleepers(step *s)
{
    ode_advance *a = s->a;
    a->results.sleeper = SPRAG_TAKE(s->scratch, s->pairs.count, dBodyID);
    for (int i = 0; i < s->pairs.count && a->results.sleeper; i++) {
        const ode_pair *pair = &s->pairs.pair[i];
        const pair_answer *known = step_answer_for(s, pair);
        dBodyID sleeper = !known || known->accepted ? sleeper_of(s, pair) : NULL;
        if (sleeper) {
            a->results.sleeper[a->results.sleepers++] = sleeper;
        }
    }
    return a->results.sleeper || s->pairs.count == 0;
}
