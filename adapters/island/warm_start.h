// Forces of the last step, to start the next one from.
#ifndef SPRAG_WARM_START_H
#define SPRAG_WARM_START_H

#include "ode.h"
#include "problem.h"

typedef struct ode_memory ode_memory;

ode_memory *sprag_ode_memory_make(void); // NULL: no memory
void sprag_ode_memory_free(ode_memory *memory);

// What a contact is known by from step to step.
typedef struct ode_claim {
    uintptr_t key[3];
    double position[3]; // m
    double sign;        // of the pair: 1, -1
    int run;            // what is remembered of the pair
} ode_claim;

// Of a contact whose frame is known; all but the run.
void sprag_ode_claim_force(ode_claim *claim, dJointID joint, const sprag_contact *contact);

// Sets the guesses of the contacts of an island.
void sprag_ode_recall_contacts(ode_memory *memory, ode_claim *claim, const dJointID *joint,
                               sprag_contact *contact, int contacts);

// N or N m; 0 if unknown. row: from 0.
double sprag_ode_recall_row(const ode_memory *memory, dJointID joint, int row);

void sprag_ode_remember_row(ode_memory *memory, dJointID joint, int row, double force);

// From here to the closing several threads may recall and remember, each for other islands, of so
// many joints together. false: no memory, one thread only.
bool sprag_ode_memory_open(ode_memory *memory, long joints);
void sprag_ode_memory_close(ode_memory *memory);

// What has been remembered since the last call becomes the last step.
void sprag_ode_memory_turn(ode_memory *memory);

#endif
