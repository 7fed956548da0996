// Contacts that are swept one at a time, because no batch has their laws: with rolling or spinning
// friction, with Hunt and Crossley's law, or with axes of friction that are bounded one by one.
// Their laws are those of local_law.h. So are contacts of bodies whose inertia has gyroscopic terms
// (spin.h): those of batches are symmetric. Only this room includes it.
#ifndef SPRAG_SINGLES_H
#define SPRAG_SINGLES_H

#include "scratch.h"
#include "sweeps_run.h"

struct sweeps_single {
    int contact;        // of the problem
    int row;            // of the sweeps: normal, slide 0 1; if it turns: roll 0 1, spin
    double yield;       // m/s per N s, of the normal
    double slip;        // m/s, before the step
    double stiction;    // m/s
    double lever;       // m, per rad of rolling
    double coupling[2]; // 1/kg, 1/(kg m^2): of the axes of slide and of roll with one another
};

// Finds them.
bool singles_find(sweeps *s, sprag_scratch *scratch);

// Sets their rows and expected impulses; after the unknowns have room.
void singles_set_rows(sweeps *s);

// After the factorization of mechanisms: masses, yields, slip. Raises the fastest slip.
void singles_prepare(sweeps *s, const batch_velocity *start, batch_slips *slips);

// Sets the stiction tolerances.
void singles_set_stiction(sweeps *s, const sprag_stiction *stiction, batch_slips *slips);

// All of them once. Returns the sum of w dp^2.
double singles_sweep(sweeps *s);

// Writes their forces.
void singles_write(const sweeps *s, sprag_solution *solution);

#endif
