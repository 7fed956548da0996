// The program's answers for pairs of geoms within a step: whether they are to have contacts, and
// with which surface.
#ifndef SPRAG_PAIR_ANSWERS_H
#define SPRAG_PAIR_ANSWERS_H

#include <stdbool.h>

#include <ode/ode.h>

#include "scratch.h"

typedef struct ode_pair_answer {
    dGeomID geom[2]; // in either order
    // Set by the step, from the program's contact joints or when it asks the program:
    dJointID joint; // the first contact joint; it has the surface, and the feedback of the pair
    bool accepted;  // the program wants contacts
    bool paired;    // sprag finds the pair's distance, and the joint is between the geoms' bodies
    double force[2][6]; // N, N m, on the joint's bodies: by group_write_forces
    int next;           // 1 + index of the next answer of the same slot; 0: none
} ode_pair_answer;

typedef struct ode_pair_answers { // in scratch
    ode_pair_answer *answer;
    int count, room;
    int *slot; // 1 + index of an answer; 0: none
    int slots; // power of two
    sprag_scratch *scratch;
} ode_pair_answers;

// expected: pairs; there may be more. false: no memory.
bool sprag_ode_pair_answers_make(ode_pair_answers *answers, int expected, sprag_scratch *scratch);

ode_pair_answer *sprag_ode_pair_answer_find(const ode_pair_answers *answers, dGeomID a, dGeomID b);

// The answer for a pair that has one, or else a new one; NULL: no memory.
ode_pair_answer *sprag_ode_pair_answer_add(ode_pair_answers *answers, dGeomID a, dGeomID b);

#endif
