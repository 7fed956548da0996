// One frame of conservative advancement, as its parts see it (advance.h): advance_pairs.c finds
// what is near and for how long it stays apart, advance_contacts.c solves for velocities,
// advance_plan.c chooses the sub-step, advance.c goes through the frame.
#ifndef SPRAG_ADVANCE_RUN_H
#define SPRAG_ADVANCE_RUN_H

#include "solvers/advance.h"

// A pair, as it is now.
typedef struct advance_near {
    sprag_carried carried[2];
    double radius[2]; // m, of the shapes about the centres of their bodies
    double clear;     // m, the gap is at least that
    bool fresh;       // gap is that of now
    bool closed;      // has points
    int points;       // that it is closed at
    bool was_closed, slips;
    bool held;        // the last solve had a force between them
    sprag_gap gap;
    sprag_certificate certificate; // of the last solve; time INFINITY: none was needed
} advance_near;

// Where two bodies touch, or are about to.
typedef struct advance_point {
    int pair;
    double at[2][3];  // m, on either shape
    double normal[3]; // into shape 0
    double gap;       // m
    double dip;       // m, by which its height is expected to fall short within the sub-step
    bool captured;    // not closed yet
    bool tried;       // force is that of another attempt at this sub-step
    double force[3];  // N, on shape 0, world axes
    double normal_force; // N
    double approach;  // m/s, before
    double slip[2];   // m/s, before and after
} advance_point;

typedef struct advance_run {
    sprag_frame *frame;
    const sprag_advance_options *options;
    const sprag_advance_calls *calls;
    sprag_scratch *scratch, *solving;
    sprag_advance_stats *stats;
    double level, target, floor; // m, m, s
    double time, left;           // s
    double acceleration;         // m/s^2, largest by forces
    advance_near *near;          // pairs
    sprag_pose *pose;            // colliders, now
    sprag_motion *motion;        // bodies, of the sub-step that is planned
    double (*inertia)[9];        // bodies, world axes
    double (*solved)[6];         // bodies, velocity at the end of it
    double (*pushed)[6];         // bodies, what an overlap adds to the motion
    bool pushes;
    bool bounces;
    advance_point *point;
    int points, point_room, closed_points; // closed ones first
    int last_points;                       // closed ones, of the last sub-step that had any
    const sprag_row *row;
    int rows;
    double *row_force;             // N, of the last solve
    double (*given_force)[6];      // N, likewise
    int row_room;
    double trial;                  // s, that it has been solved for
    double safe;                   // s, certain of that
    int blocking;                  // pair, -1: none
    bool at_limit;                 // of a joint, then
    double (*trial_velocity)[6];   // 2 bodies
    int *blocked;                  // pairs
    bool failed;                   // the solve
    bool calm;                     // the solve asks for no speed to make up for curving
    double free_energy, energy;    // J, of bodies, without contacts and as solved
    double credit;                 // J, that sub-steps so far have lost
    bool tried;                    // solved is that of another attempt at this sub-step
} advance_run;

// ---- advance_pairs.c

// Gaps and points of what may meet within `reach` s; asks about what touches for the first time.
sprag_result advance_scan(advance_run *run, double reach);

// Sets safe and blocking, for the motion of the last solve, and the certificates of the pairs: for
// how long, `horizon` at most. blocked_only: of those that were blocked the last time.
void advance_certify(advance_run *run, double horizon, bool blocked_only);

// Would the motions keep these pairs apart for t?
bool advance_safe(advance_run *run, const int *pair, int pairs, double t);

// All pairs have moved by t.
void advance_move_pairs(advance_run *run, double t);

// Least separation of certified pairs, t after the start of the sub-step.
double advance_least_gap(const advance_run *run, double t);

// Room for another point; NULL: no memory.
advance_point *advance_add_point(advance_run *run);

// Does the pair have a surface? Asks if nobody has yet.
bool advance_accepts(advance_run *run, int pair);

// ---- advance_contacts.c

// Velocities at the end of a sub-step of length t: solved, motion. NO_MEMORY, or OK, with failed.
sprag_result advance_solve(advance_run *run, double t);

// The motion that goes with the last solve.
void advance_set_motion(advance_run *run);

// ---- advance_plan.c

// Chooses and solves the next sub-step, at most `longest`: trial, safe, motion. to_the_end: as
// long as that, whatever is met.
sprag_result advance_plan(advance_run *run, double longest, bool to_the_end);

#endif
