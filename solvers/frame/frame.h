// A frame: one step of the caller for a group of bodies, as the methods see it that work within a
// step (advance.h, compliant.h): bodies that move, shapes on them, pairs of shapes that may meet,
// and the calls by which the method asks for surfaces, joint rows and stops, and reports events.
#ifndef SPRAG_FRAME_H
#define SPRAG_FRAME_H

#include "gap.h"
#include "motion.h"
#include "problem.h"

typedef struct sprag_mover {
    double mass;        // kg; 0: keeps its velocity whatever pushes it (kinematic)
    double inertia[9];  // kg m^2, about the centre of mass, in the axes of the body
    sprag_pose pose;    // of the centre of mass
    double velocity[6]; // m/s, rad/s, world axes
    double force[6];    // N, N m, world axes, the same for the whole frame
    bool gyroscopic;    // its angular momentum, not its angular velocity, stays without torque
    bool capped;        // turns no faster than that, however fast its angular velocity:
    double cap;         // rad/s
    double path, turn;  // m, rad, set: how far it has gone in the frame
    bool pushed;        // set: out of an overlap, in the frame
} sprag_mover;

typedef struct sprag_collider {
    int body; // of the movers, or SPRAG_STATIC
    sprag_shape shape;
    sprag_pose mount; // in the axes of the body; in the world if static
    const void *mesh; // that it is a triangle of, with its first face outside; NULL: of none
} sprag_collider;

// What a pair's contacts are made of; each of them is a sprag_contact with these.
typedef struct sprag_surface {
    sprag_friction slide;
    sprag_turning turning;
    double direction[3];    // first tangent, world axes; zero: any
    double bounce;          // restitution, 0 to 1
    double bounce_speed;    // m/s of approach, below which nothing bounces
    double compliance;      // m/s per N, as sprag_contact's
    double velocity_normal; // m/s, of separation, that the contact drives to (ODE's motionN)
    // of contacts that yield (compliant.h); stiffness and dissipation by Hunt and Crossley's law:
    double stiffness;   // N/m, of a point; 0: erp and compliance, of a whole step, tell it
    double dissipation; // s/m
    double stiction;    // m/s, slip that counts as sticking; 0: as the options say
    double erp;         // share of an overlap that a step takes back
} sprag_surface;

typedef enum sprag_pair_state {
    SPRAG_PAIR_UNKNOWN,  // nobody has been asked: at the first touch `touch` is
    SPRAG_PAIR_ACCEPTED, // has a surface
    SPRAG_PAIR_DECLINED, // may overlap
} sprag_pair_state;

// Of a pair, set and used by compliant.h from frame to frame.
typedef struct sprag_compliant_memory {
    long frame;          // number of the last frame that had the pair
    int end_points;      // points that overlapped at the end of it; 0 unless it was integrated
    int start_points;    // the same of the frame before; -1: unknown
    int implicit_frames; // frames still to be solved by the implicit step, without a try
    int implicit_series; // how many the last series of such frames had
    bool too_deep;       // overlapped by more than its motion explains
    double impact_speed; // m/s of approach, when the pair touched
} sprag_compliant_memory;

// Points of a pair's contacts and the forces there, to start the next solve from.
typedef struct sprag_pair_memory {
    sprag_gap_memory gap;
    int count;
    double point[SPRAG_MANIFOLD_MAX]
                [3]; // m, from the centre of the body of collider[0], world axes
    double force[SPRAG_MANIFOLD_MAX][3]; // N, on it
    int closed;                          // points that touched at the end of the last frame
    bool slips, held;                    // held: the last solve had a force between them
    double reach;                        // m, at which they were in contact
    sprag_compliant_memory compliant;
} sprag_pair_memory;

typedef struct sprag_pair {
    int collider[2];           // [0] on a mover, [1] on a mover or static
    sprag_pair_memory *memory; // of the caller; all zero: nothing is known
    sprag_pair_state state;
    sprag_surface surface; // ACCEPTED
    // set:
    double gap;           // m, at least that at the end
    bool overlapped;      // at the start of the frame, or was squeezed; pushed out, not certified
    bool asked;           // not set: is the impulse wanted? advance.h tells it always
    double impulse[2][6]; // N s and N m s, of the frame, on both bodies, each about its own centre
} sprag_pair;

typedef enum sprag_event_kind {
    SPRAG_CONTACT_MADE,
    SPRAG_CONTACT_LOST,
    SPRAG_LIMIT_REACHED,
    SPRAG_SLIP_BEGINS,
    SPRAG_SLIP_ENDS,
    SPRAG_STALLED,
} sprag_event_kind;

typedef struct sprag_event {
    sprag_event_kind kind;
    int pair;         // -1: none
    int stop;         // of the stops that `coordinates` tells, where it is asked
    double time;      // s, from the start of the frame
    double point[3];  // m
    double normal[3]; // unit, into the body of collider[0]
    double speed;     // m/s, of approach along the normal, or of slip; rad/s or m/s of a limit
} sprag_event;

// A stop of a joint's coordinate (an angle, a distance), which has a row.
typedef struct sprag_stop {
    int row;
    double sign;       // 1: a lower stop, the rate of `inside` is J v; -1: an upper one, -J v
    double inside;     // rad or m, how far from the stop the coordinate is; negative: past it
    double erp;        // share of what is past it that a step takes back
    double compliance; // as a row's
    double bounce;     // restitution
    double fudge;      // share of its force that a motor has which drives away from it
} sprag_stop;

typedef struct sprag_frame_calls {
    void *data;
    // A pair without a surface touches: fills in pair->surface and returns true, or declines.
    bool (*touch)(void *data, int pair, double gap, double time);
    // Joint rows, of bodies where they are now; *row is the caller's, until the next call. Returns
    // how many, or -1: no memory. NULL: there are none.
    int (*rows)(void *data, const sprag_mover *body, double step, const sprag_row **row);
    // As rows, for who tells by himself when stops act (compliant.h): of stops there are no rows,
    // but every coordinate with stops has one, of its motor or without any force, and its stops are
    // in *stop; both in the same order whenever it is asked. -1 also: there are others. NULL: as
    // rows.
    int (*coordinates)(void *data, const sprag_mover *body, double step, const sprag_row **row,
                       const sprag_stop **stop, int *stops);
    // The earliest time (s, at most `horizon`) at which a joint meets a stop that it is not at.
    // NULL: no joint has one.
    double (*next_limit)(void *data, const sprag_motion *motion, double horizon);
    // Called after every solve, to spoil its velocities: what is certified holds all the same. NULL
    // but in tests.
    void (*disturb)(void *data, int bodies, double (*velocity)[6]);
    void (*event)(void *data, const sprag_event *event); // NULL: nobody listens
    // After every sub-step: forces of rows (N, N m) and given contacts (N), and the share of the
    // frame that they acted for.
    void (*carried)(void *data, const double *row_force, const double (*contact_force)[6],
                    double share);
} sprag_frame_calls;

typedef struct sprag_frame {
    double step; // s
    long number; // from 1, one more every time; the same if a frame is tried again
    int bodies, colliders, pairs, contacts;
    sprag_mover *body; // moved
    const sprag_collider *collider;
    sprag_pair *pair;             // every two that may meet within the step
    const sprag_contact *contact; // of what has no shape: as they are, all the frame
    double recovery;              // of an overlap, the share that a frame takes back
    double recovery_speed;        // m/s, at most
    // set, of the last sub-step:
    int touching; // points of contact
    int rows;
} sprag_frame;

#endif
