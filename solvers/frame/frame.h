// A frame: one step of the caller for a group of bodies, for the methods that work within a step
// (advance.h, compliant.h). It has bodies that move, shapes on them, pairs of shapes that may meet,
// and the calls by which the method asks for surfaces, joint rows and stops, and reports events.
#ifndef SPRAG_FRAME_H
#define SPRAG_FRAME_H

#include "gap.h"
#include "motion.h"
#include "problem.h"

typedef struct sprag_mover {
    // by the caller:
    double mass;        // kg; 0: keeps its velocity whatever pushes it (kinematic)
    double inertia[9];  // kg m^2, about the centre of mass, in the axes of the body
    sprag_pose pose;    // of the centre of mass; moved by the method
    double velocity[6]; // m/s, rad/s, world axes; changed by the method
    double force[6];    // N, N m, world axes, constant in the frame but for what rows add
    bool gyroscopic;    // has gyroscopic torque: without torque its angular momentum is constant
    bool capped;        // turns no faster than `cap`, however fast its angular velocity
    double cap;         // rad/s
    double lag; // s, by which its velocity is older than its pose; 0: unknown. Of bodies on joints;
                // changed by advance.h
    // by the method, over the frame:
    double strayed; // m, from the way that its velocity at the start leads
    double swerved; // rad, that it has turned off the way of its angular velocity at the start
    double flown;   // s, in which `force` has moved it along a parabola
    bool pushed;    // out of an overlap
} sprag_mover;

typedef struct sprag_collider {
    int body; // of the movers, or SPRAG_STATIC
    sprag_shape shape;
    sprag_pose mount; // in the axes of the body; in the world if static
    const void *mesh; // whose triangle the shape is, with its first face outside; NULL: no mesh
} sprag_collider;

// The surface of a pair; each of its contacts is a sprag_contact with it (pair_contact.h).
typedef struct sprag_surface {
    sprag_friction slide;
    sprag_turning turning;
    double direction[3];    // first tangent, world axes; zero: any
    double bounce;          // restitution, 0 to 1
    double bounce_speed;    // m/s of approach, below which nothing bounces
    double velocity_normal; // m/s, of separation, that the contact drives to (ODE's motionN)
    // of compliant.h; stiffness and dissipation by the law of Hunt and Crossley:
    double compliance;  // m/s per N, as sprag_contact's
    double stiffness;   // N/m, of a point; 0: given by erp and compliance
    double dissipation; // s/m
    double stiction;    // m/s, slip that counts as sticking; 0: as the options say
    double erp;         // share of an overlap that a step takes back
} sprag_surface;

typedef enum sprag_pair_state {
    SPRAG_PAIR_UNKNOWN,  // calls->ask_pair decides when the pair touches first; compliant.h then
                         // sets the state
    SPRAG_PAIR_ACCEPTED, // has a surface
    SPRAG_PAIR_DECLINED, // may overlap
} sprag_pair_state;

// Memory of a pair, set and used by compliant.h from frame to frame.
typedef struct sprag_compliant_memory {
    long frame;          // number of the last frame that had the pair
    int end_points;      // points that overlapped at the end of it; 0 unless it was integrated
    int start_points;    // the same of the frame before; -1: unknown
    int implicit_frames; // frames still to be solved by the implicit step, without a try
    int implicit_series; // how many the last series of such frames had
    int ended_early;     // tries in a row that did not come to the end of the frame
    bool too_deep;       // overlapped by more than its motion explains
    double impact_speed; // m/s of approach, when the pair touched
} sprag_compliant_memory;

// Memory of a contact point.
typedef struct sprag_point_memory {
    double at[3];    // m, from the centre of the body of collider[0], world axes
    double force[3]; // N, on that body
} sprag_point_memory;

// From frame to frame: the last contacts of a pair, to start the next solve from. By the method.
typedef struct sprag_pair_memory {
    sprag_gap_memory gap;
    double normal[3]; // unit, into shape 0, world axes: of the last gap; 0: none
    int closed;       // points in contact at the end of the last frame
    bool slips;
    bool active;  // the last solve had a force between the bodies
    double reach; // m, gap up to which the pair was in contact
    sprag_compliant_memory compliant;
    int count;                                    // points
    sprag_point_memory point[SPRAG_MANIFOLD_MAX]; // the last field: a copy may end behind `count`
} sprag_pair_memory;

typedef struct sprag_pair {
    // by the caller:
    int collider[2];           // [0] on a mover, [1] on a mover or static
    sprag_pair_memory *memory; // never NULL; all zero: nothing is known
    sprag_pair_state state;
    sprag_surface surface; // ACCEPTED
    bool wants_impulse;    // compliant.h sets the impulse only then
    // by the method, over the frame:
    bool overlapped;      // at the start of a sub-step: pushed out, not certified
    bool began_deep;      // at the start of the frame, counted in the statistics' overlaps
    double impulse[2][6]; // N s and N m s, on both bodies, each about its own centre
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
    int stop;         // LIMIT_REACHED: of the stops of `coordinates`, where that is used
    double time;      // s, from the start of the frame
    double point[3];  // m
    double normal[3]; // unit, into the body of collider[0]
    double speed;     // m/s, of approach along the normal, or of slip; rad/s or m/s of a limit
} sprag_event;

// A stop of a joint's coordinate (an angle, a distance), which has a row.
typedef struct sprag_stop {
    int row;
    double sign;       // 1: a lower stop, the rate of `inside` is J v; -1: an upper one, -J v
    double inside;     // rad or m, distance of the coordinate from the stop; negative: past it
    double erp;        // share of the distance past it that a step takes back
    double compliance; // as a row's
    double bounce;     // restitution
    double fudge;      // share of its force that a motor has which drives away from it
} sprag_stop;

// The way in which the Jacobian of a row moves with its bodies. d is its direction, of unit length,
// u the velocity of a point of each body, c the vector from the centre of body 0 to that of body 1
// (0 where that is static):
typedef enum sprag_row_kind {
    SPRAG_ROW_POINT, // J v = d.(u0 - u1)
    SPRAG_ROW_SLIDE, // J v = d.(v0 - v1) + (c x d).(w0 + w1) / 2
    SPRAG_ROW_TURN,  // J v = d.(w0 - w1)
    SPRAG_ROW_CROSS, // as TURN, along the cross product of an axis of each body
} sprag_row_kind;

typedef struct sprag_row_law {
    sprag_row_kind kind;
    int carrier;         // side of the body that d turns with; -1: d is fixed (not of CROSS)
    double vector[2][3]; // world axes. POINT: m, from each centre to the point; CROSS: the axes;
                         // TURN with stops: [0] is fixed in the other body, and not along d
} sprag_row_law;

// The calls of a method to its caller. Each may be NULL, unless the method says otherwise.
typedef struct sprag_frame_calls {
    void *data;
    // A pair of unknown state touches: sets pair->surface and returns true, or returns false.
    bool (*ask_pair)(void *data, int pair, double gap, double time);
    // Joint rows, with the bodies where they are; *row is the caller's, until the next call. A stop
    // bounces by its bias, or by `bounce` if the method heeds that (advance.h).
    // Returns their number, or -1: no memory.
    int (*rows)(void *data, const sprag_mover *body, double step, const sprag_row **row);
    // Like `rows`, for a method that decides itself when stops act (compliant.h). Stops have no
    // rows of their own: every coordinate with stops has a row, of its motor or without force, and
    // its stops are in *stop. The order is the same in every call. Returns -1 also if a joint
    // cannot be described so. NULL: `rows` is called.
    int (*coordinates)(void *data, const sprag_mover *body, double step, const sprag_row **row,
                       const sprag_stop **stop, int *stops);
    // The laws of the rows of the last call of `coordinates`, with the bodies where they were; they
    // hold in the whole frame. false: a row has none. NULL: as false.
    bool (*row_laws)(void *data, int rows, sprag_row_law *law);
    // s, at most `horizon`: the earliest time at which a joint reaches a stop.
    double (*next_limit)(void *data, const sprag_motion *motion, double horizon);
    // Called after every solve, to change its velocities: certificates hold all the same. Tests.
    void (*disturb)(void *data, int bodies, double (*velocity)[6]);
    void (*event)(void *data, const sprag_event *event);
    // After every sub-step: forces of rows (N, N m) and given contacts (N), and the share of the
    // frame that they acted for. row: with the Jacobians that the forces acted along.
    void (*add_forces)(void *data, const sprag_row *row, const double *row_force,
                       const double (*contact_force)[6], double share);
} sprag_frame_calls;

typedef struct sprag_frame {
    // by the caller:
    double step; // s
    long number; // from 1, one more every time; the same if a frame is tried again
    int bodies, colliders, pairs, contacts;
    sprag_mover *body;
    const sprag_collider *collider;
    sprag_pair *pair;             // every two that may meet within the step
    const sprag_contact *contact; // given contacts, of bodies without shapes: constant in the frame
    double recovery;              // share of an overlap that a frame takes back
    double recovery_speed;        // m/s, at which it does so at most
    sprag_memory memory;          // of the contact solves; after the frame: for those of the next
    double integrator_step; // s, that an integrator tries first; after the frame: that it would try
                            // next; 0: unknown
    // by the method, of the last sub-step:
    int touching; // contact points
    int rows;
} sprag_frame;

static inline const sprag_collider *sprag_collider_of(const sprag_frame *frame, int pair, int side)
{
    return &frame->collider[frame->pair[pair].collider[side]];
}

// m, of the shape about the centre of its body.
double sprag_collider_radius(const sprag_collider *collider);

bool sprag_collider_is_triangle(const sprag_collider *collider); // of a mesh

// Corners (m, world axes) of a triangle where it is.
void sprag_triangle_corners(const sprag_collider *triangle, const sprag_pose *pose,
                            double corner[3][3]);

// The side of a pair that is a triangle of a mesh; -1: none, or both are.
int sprag_pair_triangle(const sprag_frame *frame, int pair);
// Are both pairs triangles of one mesh with the same other body, or of the same two meshes? Such
// pairs follow one another.
bool sprag_pairs_of_mesh(const sprag_frame *frame, int a, int b);

// Are all numbers finite, all masses >= 0, and do all pairs have colliders, [0] on a mover?
bool sprag_frame_is_good(const sprag_frame *frame);

#endif
