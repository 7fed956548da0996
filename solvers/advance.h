// Conservative advancement: a frame (one step of the caller) of a group of bodies, in sub-steps
// that end before anything changes that the sub-step was solved for. Each sub-step: the contacts
// that are closed and the joint rows give the velocity at its end (stribeck.h, hardly yielding);
// a certificate (certify.h) tells how long moving on at that velocity keeps every pair apart; no
// body moves farther than that. Whatever the contact solve returns, nothing interpenetrates. Of
// many bodies, and of what is jammed, no event is waited for: what comes in the sub-step is met by
// contacts made beforehand, and what the solve leaves is taken out of the motion (advance_heap.c).
//
// Drumwright: True Rigidity: Interpenetration-free Multi-Body Simulation with Polytopic Contact.
#ifndef SPRAG_ADVANCE_H
#define SPRAG_ADVANCE_H

#include "solvers/certify.h"
#include "solvers/problem.h"
#include "solvers/scratch.h"
#include "solvers/stribeck.h"

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
    // of contacts that yield (comply.h); stiffness and dissipation by Hunt and Crossley's law:
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
    // of comply.h:
    long frame;       // number of the last one that this is of
    int ended;        // points that overlapped at its end; 0 if it was not integrated
    int touched;      // that of the one before; -1: unknown
    int wait, waited; // frames that are for the implicit step yet, and were last time
    bool deep;        // overlapped more than its motion tells
    double met;       // m/s, speed at which it was
} sprag_pair_memory;

typedef struct sprag_advance_pair {
    int collider[2];
    sprag_pair_memory *memory; // of the caller; all zero: nothing is known
    sprag_pair_state state;
    sprag_surface surface; // ACCEPTED
    // set:
    double gap;          // m, at least that at the end
    bool overlapped;     // at the start of the frame, or was squeezed; pushed out, not certified
    bool asked;          // not set: is the impulse wanted? advance.h tells it always
    double impulse[3];   // N s, of the frame, on the body of collider[0]
    double moment[2][3]; // N m s, on both, each about its own centre
} sprag_advance_pair;

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

typedef struct sprag_advance_calls {
    void *data;
    // A pair without a surface touches: fills in pair->surface and returns true, or declines.
    bool (*touch)(void *data, int pair, double gap, double time);
    // Joint rows, of bodies where they are now; *row is the caller's, until the next call. Returns
    // how many, or -1: no memory. NULL: there are none.
    int (*rows)(void *data, const sprag_mover *body, double step, const sprag_row **row);
    // As rows, for who tells by himself when stops act (comply.h): of stops there are no rows, but
    // every coordinate with stops has one, of its motor or without any force, and its stops are in
    // *stop; both in the same order whenever it is asked. -1 also: there are others. NULL: as rows.
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
} sprag_advance_calls;

typedef struct sprag_frame {
    double step; // s
    long number; // from 1, one more every time; the same if a frame is tried again
    int bodies, colliders, pairs, contacts;
    sprag_mover *body; // moved
    const sprag_collider *collider;
    sprag_advance_pair *pair;     // every two that may meet within the step
    const sprag_contact *contact; // of what has no shape: as they are, all the frame
    double recovery;              // of an overlap, the share that a frame takes back
    double recovery_speed;        // m/s, at most
    // set, of the last sub-step:
    int touching; // points of contact
    int rows;
} sprag_frame;

typedef struct sprag_advance_options {
    double epsilon;  // m: at most so far apart is closed; contacts keep half of it
    double shortest; // of the frame: no sub-step is planned shorter; what comes sooner is
                     // made a contact beforehand
    int substeps;    // of a frame, aimed at: where many bodies meet, sub-steps are so much
                     // longer; 0: 200 / bodies, at most 100; of more than 20 bodies 1
    double error;    // m, of a frame: a sub-step and its two halves, which are what is kept,
                     // may differ by its share; 0: not asked
    int checks;      // 1: least separation of all pairs, three times in a sub-step
    sprag_stribeck_options solver;
} sprag_advance_options;

sprag_advance_options sprag_advance_defaults(void);

// Adds what acts at a point on collider[0]; centre: of the bodies, NULL: static.
void sprag_advance_add_impulse(sprag_advance_pair *pair, const double at[3],
                               const double *const centre[2], const double impulse[3],
                               const double turning[3]);

typedef struct sprag_advance_stats { // add up over frames
    long frames, substeps;
    long limited; // sub-steps that an event ended
    long changes; // sub-steps after which the number of contacts was another
    long events[SPRAG_STALLED + 1];
    double least_step;   // s
    double least_gap;    // m, certified pairs, at the start of sub-steps and, with checks, within
    double largest_gap;  // m, of a pair with contacts
    double stalled;      // s
    long overlaps;       // pairs that overlapped, by more than epsilon, at the start of a frame
    long squeezed;       // pairs that came to overlap in a frame: between kinematic bodies
    long solves, failed; // of contacts; failed: bodies went on without impulses, as far as certain
    double
        energy_gain;   // J, that a solve without restitution, motors and given contacts added, most
    double error;      // m, largest between a sub-step and its halves
    sprag_stats solve; // of the last
} sprag_advance_stats;

// Moves the bodies through the frame. SPRAG_OK, SPRAG_BAD_PROBLEM, SPRAG_NO_MEMORY; then the bodies
// are where they were.
// scratch: [0] of the frame, [1] of its solves. options, calls, stats: NULL for defaults, for none.
sprag_result sprag_advance(sprag_frame *frame, const sprag_advance_options *options,
                           const sprag_advance_calls *calls, sprag_scratch scratch[2],
                           sprag_advance_stats *stats);

#endif
