// One frame of conservative advancement, as its parts see it (advance.h): pairs.c finds
// what is near and for how long it stays apart, mesh.c what of a mesh, contacts.c
// solves for velocities, plan.c chooses the sub-step, blocking_contacts.c makes contacts of what
// is in its way, large_groups.c does both for many bodies, slow_down.c lets bodies go only a
// part of their way where nothing else helps, advance.c goes through the frame, error.c
// asks whether the sub-step is short enough to be accurate; paper.c has sub-steps of its own.
#ifndef SPRAG_ADVANCE_RUN_H
#define SPRAG_ADVANCE_RUN_H

#include "advance.h"
#include "certificate.h"

// A pair, as it is now.
typedef struct advance_near {
    sprag_carried carried[2];
    double radius[2]; // m, of the shapes about the centres of their bodies
    double clear;     // m, the gap is at least that
    bool fresh;       // gap is that of now
    bool closed;      // has points
    int points;       // that it is closed at
    bool was_closed, slips;
    bool held; // the last solve had a force between them
    sprag_gap gap;
    sprag_certificate certificate; // of the last solve; time INFINITY: none was needed
} advance_near;

// Where two bodies touch, or are about to.
typedef struct advance_point {
    int pair;
    double at[2][3];     // m, on either shape
    double normal[3];    // into shape 0
    double gap;          // m
    double dip;          // m, by which its height is expected to fall short within the sub-step
    bool captured;       // not closed yet
    bool tried;          // force is that of another attempt at this sub-step
    double wrench[2][6]; // N, N m, of the last solve, on both bodies (sprag_contact_wrench)
    double normal_force; // N
    double approach;     // m/s, before
    double slip[2];      // m/s, before and after
} advance_point;

enum { ADVANCE_BAND = 20 }; // epsilon; what blocks from so near is held off, not waited for

typedef struct advance_control advance_control;

typedef struct advance_run {
    sprag_frame *frame;
    const sprag_advance_options *options;
    const sprag_frame_calls *calls;
    sprag_scratch *scratch, *solving;
    sprag_mover *before; // bodies, at the start of the frame
    sprag_advance_stats *stats;
    double level, target, floor; // m, m, s
    double time, left;           // s
    int stalls;                  // of the frame so far
    bool hurries;                // it has cost enough: the rest is gone through as a heap
    bool settles;                // is slow enough, at the start of the frame, to be solved exactly
    double longest;              // s, that the sub-step is to be, or the rest of the frame
    double clock;                // s, that the last one has been
    sprag_event *told;           // events of a sub-step that may be taken back; NULL: nobody waits
    int tellings;
    advance_control *control; // NULL: errors are not asked for
    double acceleration;      // m/s^2, largest by forces
    advance_near *near;       // pairs
    sprag_pose *pose;         // colliders, now
    int looked_at[2];         // the first and the one behind the last pair of two meshes,
    bool crossed;             // which cross now
    sprag_motion *motion;     // bodies, of the sub-step that is planned
    double (*inertia)[9];     // bodies, world axes
    double (*solved)[6];      // bodies, velocity at the end of it
    double (*pushed)[6];      // bodies, what an overlap adds to the motion
    double deepest;           // m, of the overlaps that are pushed out
    bool pushes;
    double push_speed;      // m/s, of those at the last scan, at most
    long added, pushed_for; // points, ever; at the last push of this sub-step, 0: with what is
                            // closed alone, -1: there was none yet
    bool bounces;
    advance_point *point;
    int points, point_room, closed_points; // closed ones first
    int last_points;                       // closed ones, of the last sub-step that had any
    const sprag_row *row;
    int rows;
    double *row_force;        // N, of the last solve
    double (*given_force)[6]; // N, likewise
    int row_room;
    double trial;                // s, that it has been solved for
    double safe;                 // s, certain of that
    int blocking;                // pair, -1: none
    bool at_limit;               // of a joint, then
    double (*trial_velocity)[6]; // 2 bodies
    int *blocked;                // pairs
    double *share;               // bodies: of its path, that it goes; less than 1 where in the way
    bool *slowed;                // bodies
    int stood;                   // pair that made one of them go slower, -1: none
    bool failed;                 // the solve
    bool exactly;                // the next one, whatever it takes
    bool tried;                  // solved is that of another attempt at this sub-step
    bool calm;                   // the solve asks for no speed to make up for curving
    double free_energy,
        energy;    // J, of bodies, with what joint rows do but without contacts, and as solved
    double credit; // J, that sub-steps so far have lost
} advance_run;

// ---- advance.c

// kg m^2/s^2: a' M b of a body's velocities, M where it is now.
double advance_product(const advance_run *run, int i, const double *a, const double *b);

// m, about the centre of its body.
double advance_radius(const sprag_collider *collider);

// Sets what does not change in the frame; what is to be set before: frame, options, calls, scratch,
// solving, stats, level, target.
sprag_result advance_open(advance_run *run);

// The end of the frame; the bodies are where they were, unless the result is OK.
sprag_result advance_close(advance_run *run, sprag_result result);

// Joint rows and points that touch, with the bodies where they are.
sprag_result advance_look(advance_run *run, double longest);

// Forces of the last solve: impulses of the pairs, memory, what the caller is told.
void advance_remember(advance_run *run);

// Plans a sub-step, at most `longest`.
sprag_result advance_substep(advance_run *run, double longest, bool to_the_end);

// Makes it.
void advance_go(advance_run *run);

// ---- error.c

bool advance_take_control(advance_run *run); // false: no memory

// One or two sub-steps, made, as short as the error asks for.
sprag_result advance_controlled(advance_run *run, bool to_the_end);

// ---- pairs.c

// Gaps and points of what may meet within `reach` s; asks about what touches for the first time.
sprag_result advance_scan(advance_run *run, double reach);

// Sets safe and blocking, and the certificates of the pairs: for how long, `horizon` at most, the
// motion may go on. moved: of which bodies it has changed since; NULL: of all.
void advance_certify(advance_run *run, double horizon, const bool *moved);

// The same, but only of pairs that were blocked.
void advance_certify_blocked(advance_run *run, double horizon);

// m/s, along a normal into shape 0, of a point on each shape: positive apart.
double advance_rate(const advance_near *near, const double at[2][3], const double *normal);

// For how long the motions keep these pairs apart, `horizon` at most.
double advance_safe(const advance_run *run, const int *pair, int pairs, double horizon);

// All pairs have moved by t.
void advance_move_pairs(advance_run *run, double t);

// Least separation of certified pairs, t after the start of the sub-step.
double advance_least_gap(const advance_run *run, double t);

// Room for another point; NULL: no memory.
advance_point *advance_add_point(advance_run *run);

// Does the pair have a surface? Asks if nobody has yet.
bool advance_accepts(advance_run *run, int pair);

// ---- mesh.c

// Which side of the pair is a triangle of a mesh, -1: none, or both.
int advance_triangle(const advance_run *run, int pair);

// Behind the last of the pairs, from this one on, that are triangles of one mesh.
int advance_mesh_end(const advance_run *run, int pair);

// Is the normal at a point of the pair's triangle one that only a seam of its mesh has?
bool advance_is_seam(const advance_run *run, int pair, const double at[3], const double normal[3]);

// Is the pair's triangle the far side of a thin wall that the other shape is in from the near side?
bool advance_is_far_side(const advance_run *run, int pair);

// Has the pair's triangle of one mesh gone through that of the other, by little?
bool advance_is_through(advance_run *run, int pair);

// Has the mesh a point there already?
bool advance_has_point(const advance_run *run, int pair, const double at[2][3],
                       const double normal[3]);

// Leaves of many points on one plane those around it. false: no memory.
bool advance_thin_out(advance_run *run);

// Once it is known which pairs are held.
void advance_share_held(advance_run *run);

// ---- contacts.c

// Velocities at the end of a sub-step of length t: solved, motion. NO_MEMORY, or OK, with failed.
sprag_result advance_solve(advance_run *run, double t);

// How fast overlaps are pushed apart, m/s; 0: there are none.
double advance_push_speed(const advance_run *run);

// The motion that goes with the last solve.
void advance_set_motion(advance_run *run);

// ---- plan.c

// Chooses and solves the next sub-step, at most `longest`: trial, safe, motion. to_the_end: as
// long as that, whatever is met.
sprag_result advance_plan(advance_run *run, double longest, bool to_the_end);

// ---- blocking_contacts.c

// What touches, and what it will curve at about the speed that it has.
void advance_begin(advance_run *run, double length);

// The closed points follow the pairs' order: on to the first of a pair's.
static inline void advance_skip_points(const advance_run *run, int pair, int *at)
{
    while (*at < run->closed_points && run->point[*at].pair < pair) {
        ++*at;
    }
}

// Asks more of a pair's contacts, from *at on, where their own curving blocks it. false: it does
// not.
bool advance_correct(advance_run *run, int pair, int *at);

// Makes a contact of what blocks, or asks more of it if it is one. Returns the point, -1: no
// memory.
int advance_capture(advance_run *run, int pair);

// ---- large_groups.c

enum { ADVANCE_MANY = 20 }; // more bodies go through a frame as a heap

static inline bool advance_are_many(const advance_run *run)
{
    return run->frame->bodies > ADVANCE_MANY;
}

bool advance_is_heap(const advance_run *run);

// Solves, and sets motion, so that as much as possible is safe.
sprag_result advance_settle(advance_run *run, double longest);

// ---- slow_down.c

void advance_slow(advance_run *run);

#endif
