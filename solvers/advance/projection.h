// The projection of a motion (projection.c): the motion is changed by as little as possible so that
// it keeps constraints between bodies.
#ifndef SPRAG_ADVANCE_PROJECTION_H
#define SPRAG_ADVANCE_PROJECTION_H

#include "advance_run.h"

// A constraint on the motion, of a point, a given contact or a joint row: its rate is to be at
// least (with lo < 0: exactly) the target, by a force between lo and hi. Where it is not, it is
// brought to the wanted rate.
typedef struct advance_constraint {
    int body[2]; // SPRAG_STATIC: none
    double jacobian[2][6];
    double response[2][6];   // inverse mass times jacobian
    double inverse_mass;     // along the jacobian, 1/kg or 1/(kg m^2)
    double target, wanted;   // m/s, rad/s
    double short_by, off_by; // m/s, rad/s: less short of the target, and a force that is off by
                             // less, is left alone
    double lo, hi;
    bool presses; // along a normal: it is a contact
    double force;
    int next[2]; // constraint of the same body, -1: none
    bool queued;
} advance_constraint;

typedef struct advance_projection { // in the scratch of the solve
    advance_run *run;
    advance_constraint *constraint;
    int constraints, room;
    int *of_point;             // points: their constraints
    int points;                // that have one
    int *first;                // bodies: the first of their constraints
    bool *moved;               // bodies: their motion has changed since their pairs were certified
    int *queue, head, waiting; // constraints to be relaxed, a ring
    long budget;               // rates of constraints that the queue may still find
    long rates;                // that have been found
    double tolerance, excess;  // m/s, of violations; that points are separated by beyond the target
    double (*solved)[6];       // m/s, rad/s, bodies: the motion before the projection
    // of assemblies (advance_run), at their first bodies:
    double *speed;    // m/s, of that motion, fastest
    double *farthest; // m/s, that the projection may change it by
    double *share;    // of the change, that it keeps to that by
} advance_projection;

// Takes the scratch for `room` constraints. false: no memory.
bool advance_projection_take(advance_projection *p);

// Adds a constraint; NULL: no room. The caller sets the jacobian, then attaches the constraint to
// its bodies.
advance_constraint *advance_constraint_add(advance_projection *p, int body0, int body1);
void advance_constraint_attach(advance_projection *p, advance_constraint *l);

// m/s, rad/s, of the present motion.
double advance_constraint_rate(const advance_projection *p, const advance_constraint *l);

// Queues a constraint if it is violated.
void advance_constraint_queue(advance_projection *p, int i);

// Queues all violated constraints; all have been added.
void advance_projection_begin(advance_projection *p);

// Solves all constraints if there are joints. Otherwise, and where that fails, relaxes the queue,
// within the budget. A body moves no farther than its limit.
void advance_project(advance_projection *p);

#endif
