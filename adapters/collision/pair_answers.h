// The program's answers for pairs of geoms within a step: whether they are to have contacts, and
// with which surface.
#ifndef SPRAG_PAIR_ANSWERS_H
#define SPRAG_PAIR_ANSWERS_H

#include "sets.h"

typedef struct ode_pair_answer {
    // Set by the step, from the program's contact joints or when it asks the program:
    dJointID joint; // the first contact joint; it has the surface, and the feedback of the pair
    bool accepted;  // the program wants contacts
    bool paired;    // sprag finds the pair's distance, and the joint is between the geoms' bodies
    double force[2][6]; // N, N m, on the joint's bodies: by group_write_forces
} ode_pair_answer;

typedef struct ode_pair_answers { // in the scratch of `pairs`
    ode_set pairs;                // of geoms, in either order
    ode_pair_answer *answer;      // of these
    int room;
} ode_pair_answers;

// NULL: there is none.
ode_pair_answer *sprag_ode_pair_answer_find(const ode_pair_answers *answers, dGeomID a, dGeomID b);

// The answer for a pair that has one, or else a new one; NULL: no memory.
ode_pair_answer *sprag_ode_pair_answer_add(ode_pair_answers *answers, dGeomID a, dGeomID b);

#endif
