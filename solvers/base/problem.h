// The contact problem of one island, in maximal coordinates: one step of rigid bodies under
// unilateral contacts with friction and under rows (scalar joint equations). Every solver takes
// this one struct. It is a view: the caller owns the arrays. A velocity is (vx vy vz wx wy wz), a
// force likewise (fx fy fz tx ty tz), in world axes, at the centre of mass.
#ifndef SPRAG_PROBLEM_H
#define SPRAG_PROBLEM_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "result.h"

enum { SPRAG_STATIC = -1 }; // the index of an immovable body

typedef struct sprag_body {
    double mass;             // kg; 0: kinematic, no force changes its velocity
    double inertia[9];       // kg m^2, about the centre of mass, world axes; with gyroscopic terms
                             // (spin.h) positive definite, but not symmetric
    double velocity[6];      // m/s, rad/s, at the start of the step; after the gyroscopic torque
                             // if free_velocity has one
    double free_velocity[6]; // at its end, without contact and row forces
    bool by_angle;           // the step turns it by the angle step w, and not by Cayley's map
} sprag_body;

// Dry friction along, or about, a pair of axes. Both coefficients 0: no friction.
typedef struct sprag_friction {
    double coefficient[2]; // of the normal force: 1 (about an axis: m); INFINITY: never slips
    double velocity[2];    // m/s (rad/s), slip without friction force: of a moving surface
    double slip[2];        // m/s per N (rad/s per N m), creep in proportion to the force
    bool force[2];         // coefficient is a force (N, N m) that the normal force does not bound
} sprag_friction;

// Friction against turning.
typedef struct sprag_turning {
    sprag_friction roll; // about the tangents
    sprag_friction spin; // about the normal: entry 0
} sprag_turning;

static inline bool sprag_turning_acts(const sprag_turning *t)
{
    return t->roll.coefficient[0] > 0 || t->roll.coefficient[1] > 0 || t->spin.coefficient[0] > 0;
}

// One contact point. The adapter fills it in before the solve; the solver only reads it.
typedef struct sprag_contact {
    int body[2];          // [0] a body, [1] a body or SPRAG_STATIC; the normal points into body[0]
    double arm[2][3];     // m, centre of body to contact point
    double frame[3][3];   // normal, tangent, tangent: unit rows
    double gap;           // m, negative when the bodies overlap
    double bias;          // m/s, normal velocity at which the normal force is 0
    double compliance;    // m/s per N, change of the normal velocity with the normal force
    double softening;     // share of the solver's softness option that applies, 0 to 1
    double erp;           // share of the overlap that bias removes in a step; only converts the
                          // compliance to a stiffness for the statistics
    double stiffness;     // N/m, k of Hunt and Crossley's law for the normal force,
                          // k max(0, 1 - d u) max(0, -gap - step u), u = normal velocity - bias;
                          // 0: compliance and softening apply
    double dissipation;   // s/m, d of that law
    double stiction;      // m/s, slip that counts as sticking; 0: the solver's choice
    sprag_friction slide; // along the tangents
    const sprag_turning *turning; // NULL: no rolling or spinning friction (few contacts have it)
    double recovery; // m/s, the part of bias that a rebound, an overlap or a chord asks for, and
                     // that must not drive (sprag_stribeck_limit_energy)
    bool rebounds;   // a rebound asks for recovery, which then lifts nothing against forces
    double returns;  // J, that such a rebound may win: what a stop has taken in the step before
    bool on_chords;  // slide.velocity is by the turn of both bodies, and drives nothing
    double guess[3]; // N, expected force along the frame, from the last step;
                     // negative normal: unknown
} sprag_contact;

// One scalar joint equation, lambda = clamp((bias - J v) / compliance, lo, hi)
typedef struct sprag_row {
    int body[2]; // [0] a body, [1] a body or SPRAG_STATIC
    double jacobian[2][6];
    double bias;       // m/s or rad/s
    double compliance; // m/s per N, rad/s per N m
    double lo, hi;     // N, N m; may be infinite
    double guess;      // N, N m, expected force, from the last step
    double bounce;     // restitution of a stop, whose bias is that of one that does not bounce; for
                       // the caller: solvers do not heed it
    double length;    // m, between the points whose distance it keeps; 0: it keeps another quantity
    bool drives;      // it may bring in energy, as a motor does; for accounts and impacts
    bool holds_point; // it and the two behind it hold a point: across one another, unit vectors
} sprag_row;

typedef struct sprag_problem {
    double step; // s
    int bodies, contacts, rows;
    const sprag_body *body;
    const sprag_contact *contact;
    const sprag_row *row;
    bool checked; // its maker has seen to it that sprag_problem_check finds nothing
} sprag_problem;

// Account of a method that may fail.
typedef struct sprag_account {
    double left;  // products of blocks; negative: what failed is not paid for, and the method waits
    int failures; // each success takes one away
} sprag_account;

// Memory of a solver of an island, from one solve to the next. All zero: nothing.
typedef struct sprag_memory {
    sprag_account known, root; // of Newton's method in known forces, and of what goes to a root
    sprag_account frozen;      // of frozen friction where an island settles
    double interior;           // products of blocks that the interior-point method may take
    double update;             // of a Newton update, the last time, in the same unit
    sprag_strategy last;       // strategy of the last solve
    bool runs;                 // the interior-point method solved it last, and goes first
    bool rests;                // the last solve took the forces before it without a change
} sprag_memory;

typedef struct sprag_solution {
    double (*velocity)[6];      // bodies, m/s, rad/s, at the end of the step
    double (*contact_force)[6]; // contacts: normal, slide 0 1 (N), roll 0 1, spin (N m), on body[0]
    double *row_force;          // rows, N, N m
    double *row_rate;           // rows, m/s, rad/s, J v with these velocities; NULL: not wanted
} sprag_solution;

// Checks all entries, unless they are checked. SPRAG_BAD_PROBLEM: one line in message (size bytes;
// NULL for none) names the first faulty entry.
sprag_result sprag_problem_check(const sprag_problem *problem, char *message, int size);

// The force of a contact on body[0] and body[1], as (force, torque) about their centres, N and N m.
void sprag_contact_wrench(const sprag_contact *contact, const double force[6], double wrench[2][6]);

// m/s, of its bodies at the point of a contact, side 0 relative to side 1. velocity: of the first
// body; those of the others are so many bytes apart.
void sprag_contact_velocity(const sprag_contact *contact, const double *velocity, size_t bytes,
                            double u[3]);

// m/s, of it along the normal.
double sprag_contact_rate(const sprag_contact *contact, const double *velocity, size_t bytes);

// m/s, by which the chord that a point of a body goes in a step (s) differs from its tangent w x
// arm. by_angle: of the body.
void sprag_bend(const double w[3], const double arm[3], double step, bool by_angle, double bend[3]);

// Friction against slip from the chords that the contact's points go in a step (s), and not from
// the tangents: a body that rests on one that turns would go outwards at h w^2 r / 2 otherwise, h
// being the step and r the distance of the bodies. body: of the problem, with the velocities before
// the step. Adds to slide.velocity.
void sprag_contact_slide_on_chords(sprag_contact *contact, const sprag_body *body, double step);

// The same, and along the normal: where the chords open the contact, the bodies may come as much
// nearer, so that they keep it; where they close it, as of a crate inside a drum, the bodies part
// as much. gaps_count: they do not, because gaps and dips of the contacts count what closes. Adds
// to slide.velocity and bias, and sets recovery.
void sprag_contact_on_chords(sprag_contact *contact, const sprag_body *body, double step,
                             bool gaps_count);

// J v of a row, m/s or rad/s. velocity, bytes: as of a contact.
double sprag_row_rate(const sprag_row *row, const double *velocity, size_t bytes);

// The lever r (m) from the centre of a body to the point that two or three rows hold. Their
// Jacobians are e and r x e with unit vectors e at right angles.
void sprag_rows_lever(const sprag_row *row, int rows, int side, double lever[3]);

// Does a row hold both ways, without a bound? Those of stops and motors do not.
static inline bool sprag_row_holds(const sprag_row *row)
{
    return row->lo < -DBL_MAX && row->hi > DBL_MAX;
}

// Is a row that of a stop, which pushes one way? It has one while it is passed by.
static inline bool sprag_row_is_stop(const sprag_row *row)
{
    return (row->lo == 0 && row->hi == INFINITY) || (row->lo == -INFINITY && row->hi == 0);
}

// Bodies with a mass.
int sprag_problem_moving(const sprag_problem *problem);

// Do they touch in chains and trees only, as in a stack? Then a factorization has no fill.
// Contacts of a pair follow each other.
bool sprag_problem_is_trees(const sprag_problem *problem);

// Have contacts a stiffness of their own? Sweeps converge slowly then, and what they leave throws
// bodies.
bool sprag_problem_is_stiff(const sprag_problem *problem);

// Do its bodies move on one another by less than `most` (m/s) before the step? What rolls does not
// rest, what lies on a moving surface does.
bool sprag_contact_rests(const sprag_problem *problem, const sprag_contact *contact, double most);

#endif
