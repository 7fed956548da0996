// What is known of pairs of geoms.
#ifndef SPRAG_PAIR_ANSWERS_H
#define SPRAG_PAIR_ANSWERS_H

#include <stdbool.h>

#include <ode/ode.h>

#include "scratch.h"

typedef struct ode_pair_answer {
    dGeomID geom[2];
    dJointID joint; // the first contact joint that the program made; its feedback is the pair's
    bool accepted;
    bool paired; // the kernel knows both, and the joint is between their bodies
    int next;    // of the same slot
} ode_pair_answer;

typedef struct ode_pair_answers {
    ode_pair_answer *answer;
    int count, room;
    int *slot; // first, from 1
    int slots;
    sprag_scratch *scratch;
} ode_pair_answers;

bool sprag_ode_pair_answers_make(ode_pair_answers *answers, int expected, sprag_scratch *scratch);
ode_pair_answer *sprag_ode_pair_answer_find(const ode_pair_answers *answers, dGeomID a, dGeomID b);

// The one that is there, or a new one; NULL: no memory.
ode_pair_answer *sprag_ode_pair_answer_add(ode_pair_answers *answers, dGeomID a, dGeomID b);

#endif
