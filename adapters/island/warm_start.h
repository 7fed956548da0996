// Forces of the last step, to start the next one from.
#ifndef SPRAG_WARM_START_H
#define SPRAG_WARM_START_H

#include "ode.h"
#include "problem.h"

typedef struct ode_warm_start ode_warm_start;

ode_warm_start *sprag_ode_warm_start_make(void); // NULL: no memory
void sprag_ode_warm_start_free(ode_warm_start *memory);

// What a contact is known by from step to step.
typedef struct ode_warm_key {
    uintptr_t key[3];
    double position[3]; // m
    double sign;        // of the pair: 1, -1
    int run;            // what is remembered of the pair
} ode_warm_key;

// Of a contact whose frame is known; all but the run.
void sprag_ode_warm_key_set(ode_warm_key *claim, dJointID joint, const sprag_contact *contact);

// Sets the guesses of the contacts of an island.
void sprag_ode_warm_start_contacts(ode_warm_start *memory, ode_warm_key *claim,
                                   const dJointID *joint, sprag_contact *contact, int contacts);

// N or N m; 0 if unknown. row: from 0.
double sprag_ode_warm_start_row(const ode_warm_start *memory, dJointID joint, int row);

void sprag_ode_warm_start_store_row(ode_warm_start *memory, dJointID joint, int row, double force);

// From here to the closing several threads may recall and remember, each for other islands, of so
// many joints together. false: no memory, one thread only.
bool sprag_ode_warm_start_begin_threads(ode_warm_start *memory, long joints);
void sprag_ode_warm_start_end_threads(ode_warm_start *memory);

// What has been remembered since the last call becomes the last step.
void sprag_ode_warm_start_next_step(ode_warm_start *memory);

#endif
