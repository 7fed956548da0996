// One step of an ODE world by a method that works within the step (frame_step.h), as its parts see
// it: frame_step.c goes through the step, derivative.c differentiates it, frame_bodies.c takes
// bodies from ODE and puts them back, pairs.c finds the pairs, group.c makes the frame of a group,
// callbacks.c answers the method's calls, feedback.c writes forces back, limits.c finds joint
// stops.
#ifndef SPRAG_FRAME_RUN_H
#define SPRAG_FRAME_RUN_H

#include "frame_constants.h"
#include "frame_step.h"
#include "sets.h"
#include "unions.h"

// A body of the step. Poses and velocities are kept here: ODE has them only while a joint or a
// callback of the program looks at them (body_expose), and at the end.
typedef struct body_state {
    // by step_pull_bodies:
    dBodyID id;
    int island;
    bool frozen;        // its island has a body whose state is not finite: it stays where it is
    sprag_mover start;  // with what the program's forces do at once
    double velocity[6]; // m/s, rad/s, without that
    double acting[6];   // N, N m, weight and forces of the program
    double force[6];    // N, N m, accumulators at the start of the step, which are then emptied
    // by step_pull_bodies and pairs.c:
    double reach, swerve; // m, rad: pairs are searched for as if it strayed and swerved no farther
                          // from the way that its velocity leads
    bool held;            // it has a joint, or something is right beside it at the start
    bool kicked;          // what the program pushes or turns, it does at once
    // by group.c and frame_step.c:
    int local;          // index in its group
    double radius;      // m, of its shapes about its centre
    sprag_mover *mover; // of the group's frame, at its end
    double sought;      // m, its reach before pairs.c or frame_step.c changed it
    // by callbacks.c:
    double before_rows[6]; // N, N m, accumulators before joints are asked for rows
    double given[6];       // m/s, rad/s, velocity that a callback within the step has set: it holds
    bool has_given[2];     // from the end of the step on; of the linear and the angular velocity
    // by step_push:
    double next_force[6];       // N, N m, accumulators that callbacks left for the next step
    double exposed_force[6];    // N, N m, accumulators as moved callbacks see them
    double exposed_velocity[6]; // m/s, rad/s, likewise
    sprag_pose exposed_pose;    // likewise
} body_state;

// The program's answer for two geoms: whether they are to have contacts, and with which surface.
typedef struct pair_answer {
    // Set by the step, from the program's contact joints or when it asks the program:
    dJointID joint; // the first contact joint; it has the surface, and the feedback of the pair
    bool accepted;  // the program wants contacts
    bool paired;    // sprag finds the pair's distance, and the joint is between the geoms' bodies
    double force[2][6]; // N, N m, on the joint's bodies: by group_write_forces
} pair_answer;

typedef struct step { // in the scratch of the step
    ode_advance *a;
    sprag_scratch *scratch;
    bool failed; // no memory
    // by step_pull_bodies:
    ode_index index;
    body_state *body;
    int bodies, joints;
    // by pairs.c:
    ode_set answers; // a pair_answer by two geoms, in either order; callbacks.c adds to them
    ode_pairs pairs;
    int *answer_of;  // joints: index of the answer for a contact's geoms; -1: none
    int *leader;     // islands: the first of their groups, by union
    int *pair_group; // pairs: the leading island of their group, -1: none
    int *collider;   // sides of pairs: place in the frame of the group that had them last
} step;

typedef struct known_forces { // of the rows of a joint, N or N m
    double force[6];
    int rows;
} known_forces;

// A group and its frame, in the scratch of the group.
typedef struct group {
    step *s;
    int leader;          // island
    sprag_result result; // of the method, by frame_step.c
    // by group_make:
    sprag_frame frame;
    body_state **state;       // of the bodies
    sprag_collider *collider; // one for each side of the pairs
    const ode_geom **side;    // of the colliders
    const ode_pair **source;  // of the pairs
    sprag_contact *contact;   // given contacts
    dJointID *contact_joint;  // of these
    dJointID *joint;          // with rows
    ode_limited *limited;     // those with stops
    known_forces *known;      // of the joints, by callbacks.c: of the last sub-step
    int joints, limits;
    // by callbacks.c, with room for 6 of each joint:
    sprag_row *row;
    int *row_joint; // rows: which of the joints
    sprag_stop *stop;
    dJointID *stop_joint; // of the stops
    // by callbacks.c:
    double (*contact_wrench)[2][6]; // N, N m, mean over the frame
    double (*joint_wrench)[2][6];   // likewise
    const sprag_motion *motion;     // while limits are searched for
    dJointID at_limit;              // the joint whose stop was found last
} group;

// Indices, sorted by group: those of a group i from at[i] on, before at[i + 1].
typedef struct sorted {
    int *index, *at;
} sorted;

static inline const int *sorted_of(const sorted *s, int group)
{
    return s->index + s->at[group];
}

static inline int sorted_count(const sorted *s, int group)
{
    return s->at[group + 1] - s->at[group];
}

typedef struct members { // of the groups, each that of its leading island
    sorted bodies, pairs, joints;
} members;

// ---- frame_bodies.c

bool step_pull_bodies(step *s); // false: no memory

body_state *step_body_of(const step *s, dBodyID body); // NULL: does not move

// The body of a pair's side; NULL: does not move.
static inline body_state *step_mover_of(const step *s, const ode_geom *side)
{
    return side->moves ? &s->body[side->mover] : NULL;
}

// A body that has the rotation already keeps its quaternion: ODE would compute it again.
void step_place(dBodyID id, const sprag_pose *pose);

// Puts pose and velocity into ODE before a callback of the program; takes the velocity that the
// callback has set after it.
void body_expose(const body_state *b, const sprag_mover *as);
void body_observe(body_state *b, const sprag_mover *exposed);

// Has the program's forces act at once on a body that nothing holds, and on no other.
void body_kick(body_state *b, dReal step);

// The matrix W of a kick, v(0) = v + W F: the 3 x 3 block of a torque (s / kg m^2).
bool body_kick_of_torque(const body_state *b, dReal step, double W[9]);

double body_radius(dBodyID body); // m, about its centre, of all its geoms

// m, by which it has strayed from its way: more than its reach, if it outran.
double body_strayed(const step *s, const body_state *b);

void step_restore(const step *s);       // puts bodies where they started
void step_return_forces(const step *s); // puts their forces back, for a step that is not taken
void step_push(const step *s);          // moves bodies to the end of the step

// ---- pairs.c

// NULL: none yet.
static inline pair_answer *step_answer_of(const step *s, dGeomID a, dGeomID b)
{
    const int i = sprag_ode_set_find(&s->answers, sprag_ode_pair_key(a, b, NULL));
    return sprag_ode_set_value(&s->answers, i);
}

static inline pair_answer *step_answer_for(const step *s, const ode_pair *pair)
{
    return step_answer_of(s, pair->side[0]->named, pair->side[1]->named);
}

// The answer for two geoms that have one, or else a new one, all zero; NULL: no memory.
pair_answer *step_add_answer(step *s, dGeomID a, dGeomID b);

bool step_pull_answers(step *s); // contact joints of the program; false: no memory

// Pairs, and the groups that they unite islands to. false: no memory.
bool step_find_pairs(step *s);

// Are there pairs that were not found, of bodies whose reach has grown? Sets `outrun` of the
// islands that lead their groups, and puts all bodies where they started.
bool step_meets_more(step *s, bool *outrun);

// Were the shapes so near each other (m) at the start of the step?
bool step_was_within(const ode_pair *pair, double reach);

// Finds sleeping bodies that others may touch within the step: ODE wakes them at the start of a
// step only, and until then they would be as heavy as a wall. false: no memory.
bool step_find_sleepers(step *s);

// ---- group.c

bool step_sort_members(step *s, members *m); // false: no memory
bool group_make(group *g, step *s, const members *m, int leader);

// Does a group lead with this island, whose bodies move?
bool step_leads(step *s, const members *m, int island);

// ---- callbacks.c

// Takes the surface of the pair from the program's contact joint.
void group_set_surface(const step *s, sprag_pair *pair, const ode_pair *of,
                       const pair_answer *answer);

// The method's calls for a group.
sprag_frame_calls group_calls(group *g);

// ---- feedback.c

// Joint feedback, forces of rows for the next step, and pairs that are active across a gap.
void group_write_forces(const group *g, const members *m);

#endif
