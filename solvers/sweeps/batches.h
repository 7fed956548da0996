// Contacts in batches of four that share no moving body, so that a sweep can treat them at once:
// data and the vector kernels on it. Only this room includes it.
//
// The friction axes of a contact are scaled by the shape of its cone and turned so that their part
// of J M^-1 J' is diagonal: the cone is round then, and an impulse along one axis does not change
// the slip along the other.
#ifndef SPRAG_BATCHES_H
#define SPRAG_BATCHES_H

#include "lanes.h"
#include "stiction.h"

enum { BATCH_NUMBERS = 8 };
enum { BESIDE = 2 }; // batches of a colour that are treated side by side

// One entry a contact. `speed` changes from sweep to sweep. Unused lanes are
// zero and touch the static node.
typedef struct batch {
    lanes arm[2][3];       // m, centre of body to contact point
    lanes frame[3][3];     // normal (unit), friction axes (scaled and turned)
    lanes inertia[2][6];   // 1/(kg m^2), inverse, world axes: xx yy zz xy xz yz
    lanes inverse_mass[2]; // 1/kg
    lanes offset[3];       // m/s, added to J v: bias, surface motion, kinematic bodies
    lanes coupling[3];     // 1/kg, of the normal with itself and with both friction axes
    lanes give;            // kg, 1 / (yield + coupling[0]); 0: nothing moves
    lanes inverse_axis[2]; // 1/kg, of the friction axes
    lanes coefficient;     // of friction
    lanes bound;           // N s, of friction whose bound is a force; 0: the normal bounds it
    lanes stiction;        // m/s, slip up to which friction is in proportion to slip
    lanes creep;           // m/s per N s, least ratio of slip to impulse
    lanes speed;           // m/s, at which it slid last
    lane_mask bonded;      // infinite coefficient: friction has no bound
    lanes basis[2][2];     // friction axes in terms of those of the problem
    int32_t node[2][LANES];
    int32_t contact[LANES]; // of the problem; -1: unused
} batch;

// The sides of a batch that touch mechanisms. They have the static node in the batch.
typedef struct batch_link {
    int32_t port[2][LANES];   // -1: none
    int32_t node[2][LANES];   // of the bodies
    lanes inverse_mass[3][3]; // 1/kg, of the ports, in the frame of the problem
    lanes bare;               // 1/kg, of the normal, as if no row held the ports' bodies
    bool moves;               // the batch has nodes that move beside the ports
} batch_link;

// A joint row with bounds, or one of a wide mechanism (mechanisms.h).
typedef struct batch_row {
    int32_t node[2], port[2];
    int row;    // of the problem; -1: of a single contact
    bool moves; // it has a node that moves beside the ports
    double jacobian[2][6];
    double turn[2][6];   // M^-1 J'
    double inverse_mass; // J M^-1 J'
    // Added to it in a sweep, |K|^2 times the part of bodies with gyroscopic terms K as a share of
    // their inertia. They make rows push each other around: Gauss-Seidel wins energy where |K| > 1,
    // steps shorter by 1 + |K|^2 do not (projected gradients of a matrix 1 + K).
    double spin_mass;
    double offset, yield, lo, hi;
} batch_row;

// Velocities are rows of eight: vx vy vz 0 wx wy wz 0; the row after the last node is static.
typedef double batch_velocity[BATCH_NUMBERS];

static inline void batch_set_velocity(batch_velocity to, const double v[6])
{
    for (int k = 0; k < 6; k++) {
        to[k + k / 3] = v[k];
    }
}

// The unknowns lie one after the other, in whole vectors: velocities, impulses of the batches
// (three vectors each: normal, friction axes), impulses of rows, velocities J v of ports.
typedef struct batch_unknowns {
    batch_velocity *v;
    lanes (*impulse)[3];
    double *row_impulse;
    double *port;
    double *all;
    long velocities, count; // numbers
} batch_unknowns;

typedef struct sweeps sweeps;

// All rows and contacts once, one after the other. Returns |change|, sqrt(kg) m/s: the root of the
// sum of w dp^2 over all impulses, w the inverse mass of their direction.
double batches_sweep(sweeps *s);

// Velocities that go with the impulses: v* + M^-1 J' p. last: of the solve (mechanisms_balance).
void batches_balance(sweeps *s, bool last);

// x += push, push = share (push + x - before); before = x.
void batches_accelerate(sweeps *s, double share);

// Slips of the contacts that something moves, m/s.
typedef struct batch_slips {
    double fastest;     // slip before the step
    double least, most; // stiction tolerance; INFINITY and 0 without contacts
} batch_slips;

// Fills in batches whose `contact` and `node` are set. Leaves each contact's slip before the step
// in `speed`, and the tolerance that its surface sets in `stiction`. start: velocities before the
// step. Raises the fastest slip.
void batches_prepare(sweeps *s, const batch_velocity *start, batch_slips *slips);

// Sets the stiction tolerances, and widens their bounds. Then `speed` is free for the sweeps.
void batches_set_stiction(sweeps *s, const sprag_stiction *stiction, batch_slips *slips);

#endif
