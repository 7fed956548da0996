// One step of an ODE world (advance.h) as its parts see it: frame_bodies.c takes its bodies from
// ODE and puts them back, pairs.c finds what may meet, group.c makes the frame of a
// group, callbacks.c answers what the solver asks, feedback.c writes forces back,
// advance.c goes through the step.
#ifndef SPRAG_FRAME_RUN_H
#define SPRAG_FRAME_RUN_H

#include "frame_step.h"

// A body, in the step.
typedef struct rider {
    dBodyID id;
    int island;
    sprag_mover start;
    sprag_mover mover;
    double force[6];    // N, N m, accumulators at the start of the step; they are emptied
    double asked[6];    // before joints are asked
    double kept[6];     // at its end, for the next one
    double shown[6];    // then, to moved callbacks
    double seen[6];     // m/s, rad/s, its velocity, by these
    sprag_pose at;      // and where they see it
    double reach, turn; // m, rad: it is assumed to go no farther
    double radius;      // m, of its shapes about its centre
    int local;          // in its group, when that is advanced
    bool alone;         // no pair
    bool held;          // its island has a body whose state is not finite
    // A velocity that a callback has given it within the step holds from the end of the step on.
    // (It cannot move it: ODE's spaces are locked.)
    double given[6];
    bool driven[2]; // its velocity, its angular velocity
} rider;

typedef struct step {
    ode_advance *a;
    sprag_scratch *scratch;
    ode_index index;
    rider *rider;
    int riders;
    int *leader; // islands: of their groups, by union
    ode_pair_answers answers;
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
    sprag_pair *pair;
    const ode_pair **source;
    sprag_contact *contact;
    double (*contact_wrench)[2][6];
    dJointID *contact_joint, *joint, *limited;
    double (*joint_wrench)[2][6];
    int joints, limits, row_room;
    sprag_row *row;
    int *row_joint; // which of the joints
    double *row_force;
    sprag_stop *stop;           // room for 6 of each joint
    dJointID *stop_joint;       // of the stops
    const sprag_motion *motion; // while limits are looked for
    dJointID at_limit;          // the first found last
} group;

typedef struct counted {
    int bodies, pairs, joints;
} counted;

// Bodies, pairs and joints of every group, one after the other, by counting.
typedef struct members {
    counted *of; // islands that lead
    int *body, *pair, *joint;
    int *body_at, *pair_at, *joint_at; // first of each
} members;

// ---- frame_bodies.c

bool step_pull_bodies(step *s); // false: no memory

rider *step_rider_of(const step *s, dBodyID body); // NULL: does not move

void step_place(dBodyID id, const sprag_pose *pose);

// Leaves alone what is there to the bit: ODE would make its quaternion anew.
void step_put_back(dBodyID id, const sprag_pose *pose);

// Before a callback of the program is called, and after it.
void rider_show(const rider *r, const sprag_mover *as);
void rider_note(rider *r, const sprag_mover *shown);

double rider_radius(dBodyID body); // m, about its centre, of all its geoms

// Has a body gone farther than pairs were looked for? Joints and impacts make it faster, also what
// had nothing around.
bool rider_outruns(rider *r, const sprag_mover *moved);

void step_restore(const step *s);   // bodies to where they started
void step_give_back(const step *s); // their forces, if there has been no step
void step_push(const step *s);      // and to where they have come

// ---- pairs.c

bool step_joins_geoms(const dContact *contact);

bool step_pull_answers(step *s); // what the program said; false: no memory

// Pairs, and the groups that they unite islands to. false: no memory.
bool step_find_pairs(step *s);

int step_leader_of(step *s, int island);

// Were they so near each other (m) at the start of the step?
bool step_was_within(const ode_pair *pair, double reach);

// ODE wakes a body when something touches it at the start of a step. What is to touch it within the
// step would meet a wall, and lose its momentum to it. false: no memory.
bool step_find_sleepers(step *s);

// ---- group.c

bool step_sort_members(step *s, members *m); // false: no memory
bool group_make(group *g, step *s, const members *m, int leader);

// ---- callbacks.c

bool group_row_room(group *g, int rows); // false: no memory

// Takes the surface of the pair from the program's contact joint.
void group_set_surface(const step *s, sprag_pair *pair, const ode_pair *of,
                       const ode_pair_answer *answer);

// sprag_frame_calls, of a group:
int group_pull_rows(void *data, const sprag_mover *body, double step, const sprag_row **row);
int group_pull_coordinates(void *data, const sprag_mover *body, double step, const sprag_row **row,
                           const sprag_stop **stop, int *stops);
void group_add_forces(void *data, const double *row_force, const double (*contact_force)[6],
                      double share);
double group_next_limit(void *data, const sprag_motion *motion, double horizon);
bool group_ask_pair(void *data, int i, double gap, double time);
void group_report_event(void *data, const sprag_event *event);

// ---- feedback.c

// Feedback, what is remembered of rows, and what pairs were held across a gap.
void group_write_forces(const group *g, const members *m, int leader);

#endif
