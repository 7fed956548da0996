// Loads on joints: bodies and distances under load get inertia, joints look ahead, and rows mend
// what the program has opened. The parts of sprag_ode_stiffen and of what follows it (island.h).
#ifndef SPRAG_LOADS_H
#define SPRAG_LOADS_H

#include <stdint.h>
#include <string.h>

#include "island.h"
#include "lanes.h"
#include "unions.h"
#include "vectors6.h"

// Four bodies under load, number by number, with inertia that is added to their own
// (load_stiffness.c). Those of them that need none have the trace 0, and all else but the
// velocities is 0, too.
struct ode_stiffened_four {
    lanes added[6];  // kg m^2, the added inertia: xx, xy, xz, yy, yz, zz
    lanes trace;     // of it
    lanes kept;      // part of the body's own turn, before the step, that the target has
    lanes stored;    // J, what it has taken from the motion and may give back; < 0: has won
    lanes share;     // of the target and of the look ahead, in this step
    lanes target[3]; // rad/s, the angular velocity that it pulls the body towards; its rest is of
                     // the turn of the body's group
    lanes own[3];    // rad/s, before the step
    lanes free[3];   // rad/s, the free angular velocity without it
    int body[LANES]; // of the island
};

// Bodies that joints weld turn as one part (load_parts.c). Fields but the first are valid in the
// entry of the part's first body.
struct ode_part {
    int first;         // a body before this one that it turns with, or this one; -1: the world
    double mass;       // kg
    double centre[4];  // m
    double inertia[9]; // kg m^2, about the centre
    double trace;      // of the inertias of its bodies, each about its own centre
};

// A distance under load (load_distance.c): its anchors have an inertia against each other, across
// the distance, by the two rows from `row` on.
struct ode_stiffened_distance {
    dJointID joint;
    int row;              // of the two
    double added;         // kg
    double target[2];     // m/s, the velocities that it pulls the rows towards
    double stored, share; // as ode_stiffened_four's
};

// A joint. It has levers if its rows have two linear parts or more, or hold a distance.
struct ode_loaded_joint {
    int first, end;                 // all its rows
    int at;                         // the first one with a linear part
    sprag_row *row;                 // the same
    int rows;                       // to the last of these; 0: it has no levers
    int linear;                     // of which so many follow one another
    unsigned turning;               // bits: its rows without a linear part
    bool along_axes;                // its linear parts are x, y and z, and hold a point
    double lever[2][4];             // m, centre of the body to the anchor; 0 of the world's
    int part[2];                    // parts that its force loads; -1: none
    const double (*arm)[4];         // m, from their centres to where the force is a stiffness
    int older;                      // joint in the list of one of its parts; -1: none
    enum { NO_ARC, PART, ARC } arc; // how far it looks ahead
};

// The load on a part, in the entry of its first body.
struct ode_load {
    double moment[3][4]; // N m, sum of r f'
    double torque[4];    // N m, of the rows without a linear part
};

// The turn of a body within the step: see set_turn(). No vector lies across two lines of the cache.
struct ode_turn {
    double turn[4];    // rad/s
    double square;     // rad^2, of the angle in the step
    double sine;       // less 1
    double inward;     // s
    ode_spin *follows; // goes with its anchor; NULL: ODE moves it by its velocity
};

// ---- rows

// Has a row angular parts alone? Then the bits of its linear part are those of zeros, of any sign.
static inline bool sprag_ode_turns(const sprag_row *row)
{
    uint64_t x, y, z;
    memcpy(&x, &row->jacobian[0][0], sizeof x);
    memcpy(&y, &row->jacobian[0][1], sizeof y);
    memcpy(&z, &row->jacobian[0][2], sizeof z);
    return (x | y | z) << 1 == 0;
}

// J v of a row, m/s or rad/s. after: v of this solution; NULL: v before the step.
static inline double sprag_ode_rate(const ode_problem *pulled, const sprag_row *row,
                                    const sprag_solution *after)
{
    return after ? sprag_row_rate(row, *after->velocity, sizeof *after->velocity)
                 : sprag_row_rate(row, pulled->body->velocity, sizeof *pulled->body);
}

// ---- load_joints.c

// Adds up the loads on parts by the guesses of the rows. Before, if they are not known, finds the
// joints, and where they act. No memory: the scratch has failed.
void sprag_ode_find_loads(ode_problem *pulled, sprag_scratch *scratch);

// ---- load_inertia.c

// The added inertia of a body as a matrix.
static inline void sprag_ode_added(const ode_stiffened_four *f, int l, double A[9])
{
    A[0] = f->added[0][l], A[4] = f->added[3][l], A[8] = f->added[5][l];
    A[1] = A[3] = f->added[1][l], A[2] = A[6] = f->added[2][l], A[5] = A[7] = f->added[4][l];
}

// Adds inertia to the bodies that need it by their loads, and pulls them towards what their targets
// keep of their own turns.
void sprag_ode_stiffen_bodies(ode_problem *pulled, const ode_warm_start *warm_start,
                              sprag_scratch *scratch);

// Adds the common turns of groups to the targets, and to the free velocities by them.
void sprag_ode_set_targets(ode_problem *pulled, sprag_scratch *scratch);

// Has a joint exerted a force on a part in the last step, at a lever?
static inline bool sprag_ode_bears(const ode_load *load)
{
    bool any = false;
    for (int k = 0; k < 3 && !any; k++) {
        const double *moment = load->moment[k];
        any = moment[0] != 0 || moment[1] != 0 || moment[2] != 0;
    }
    return any;
}

// ---- load_parts.c

// Bodies that joints with levers join, in any way, are a group: a number, 0 of what joints tie to
// the world, or to what the program moves.
static inline int sprag_ode_group(const ode_problem *pulled, int body)
{
    return sprag_leader_of(pulled->group, body - SPRAG_STATIC);
}

// The first body of its part; -1: the world (SPRAG_STATIC).
static inline int sprag_ode_part(const ode_problem *pulled, int body)
{
    ode_part *part = pulled->part;
    int i = body;
    while (part && part[i + 1].first != i) {
        i = part[i + 1].first = part[part[i + 1].first + 1].first;
    }
    return i;
}

// Two bodies are welded. false: no memory.
bool sprag_ode_join_parts(ode_problem *pulled, const int body[2], sprag_scratch *scratch);

// Once all are joined, of bodies without added inertia.
void sprag_ode_measure_parts(ode_problem *pulled);

// ---- load_distance.c

// Adds inertia, as two rows, to the anchors of distances under load, and lets the row of such a
// joint look ahead. Nothing where the scratch has failed.
void sprag_ode_stiffen_distances(ode_problem *pulled, const ode_warm_start *warm_start,
                                 sprag_scratch *scratch);

// Have the loads on distances grown so much within the step that the added inertia is too small?
bool sprag_ode_distances_have_grown(const ode_problem *pulled);

// The lever (m) of a joint that holds a distance on body `side` of its row. false: it holds none.
bool sprag_ode_lever_of_distance(const ode_problem *pulled, int row, int side, double lever[3]);

// m/s^2, at which its anchors' motion across it, before the step, makes a distance longer.
double sprag_ode_swing_of_distance(const ode_problem *pulled, int row);

// ---- load_energy.c

// Puts what a solution has won into the accounts of the bodies and distances under load, and sets
// their shares in the next step. false: it is too much for that.
bool sprag_ode_charge_loads(ode_problem *pulled);

// ---- load_opened.c

// Finds what of the rows' bias the program has opened, before the first solve of a step.
void sprag_ode_find_opened(ode_problem *pulled);

// m/s, at which the solution mends the error of a row.
double sprag_ode_mending_rate(const ode_problem *pulled, int row);

// m/s, the part of it for what the program has opened.
double sprag_ode_mended(const ode_problem *pulled, int row);

// Rows ask for no velocity, but to mend what the program has opened, or what a stop's account
// holds. A stop throws its bodies back, at most as fast as they came.
void sprag_ode_mend_nothing(ode_problem *pulled);

// ---- warm_start.c

// Four numbers of the inertia that was added in the last step to a body, or to a distance: its
// trace (kg m^2; kg), what it has stored (J), the share of its target, and one that says nothing.
// *at: 0, then left by the call for the one before it.
const double *sprag_ode_warm_start_added(const ode_warm_start *warm, const void *of, int *at);

#endif
