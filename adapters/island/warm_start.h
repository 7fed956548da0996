// Warm start: the forces of the last step, from which the next solve starts.
#ifndef SPRAG_WARM_START_H
#define SPRAG_WARM_START_H

#include "layout.h"
#include "ode.h"
#include "problem.h"

typedef struct ode_warm_start ode_warm_start; // of one world

ode_warm_start *sprag_ode_warm_start_make(void); // NULL: no memory
void sprag_ode_warm_start_free(ode_warm_start *warm_start);

// A contact that the last step has stopped at its gap.
typedef struct ode_stop {
    double alone; // J, twice what that would have taken if nothing else had acted; 0: no stop
    double left;  // m/s, at which it closes then
    double work;  // J, what it has taken
} ode_stop;

// The key by which a contact is found again in the next step.
typedef struct ode_warm_key {
    // set by sprag_ode_warm_key_set:
    uintptr_t key[3];   // two geoms in the order of their addresses, and a body
    double position[3]; // m
    double sign;        // 1, or -1 if the contact's side 0 is the second of these geoms
    // set by sprag_ode_warm_start_contacts:
    int run; // index of the pair's entries; -1: none
    ode_stop stop;
} ode_warm_key;

// contact: with its frame.
void sprag_ode_warm_key_set(ode_warm_key *key, const ode_contact_view *of,
                            const sprag_contact *contact);

// Sets the guesses of the contacts of an island.
void sprag_ode_warm_start_contacts(ode_warm_start *warm_start, ode_warm_key *key,
                                   sprag_contact *contact, int contacts);

// The last step's contacts of two geoms, `most` at the most: their unit normals, into the first
// one, and positions (m), world axes. Returns their number.
int sprag_ode_warm_start_of_pair(const ode_warm_start *warm_start, dGeomID a, dGeomID b, int most,
                                 double (*normal)[3], double (*position)[3]);

// m/s, that a body may gain where the last step has stopped it; 0: nothing has. NULL: the most of
// all bodies.
double sprag_ode_warm_start_rebound(const ode_warm_start *warm_start, dBodyID body);

// The error that a row under load mends in the next step: its bias times the step, m or rad.
typedef struct ode_mending {
    double expected; // by the solution; NaN: the joint is new, or its island never was under load
    double opened;   // the part of it that the program has opened (load_opened.c)
    double before;   // m or rad, what it has mended in this step
    double stop_erp; // of a stop; 0: the row is none, or its ERP is 0
    double stored;   // J, in a stop's account (load_energy.c)
} ode_mending;

// Force of a joint's row (from 0) in the last step, N or N m; 0 if unknown. mending: NULL, or set
// to what was stored with it. *at: -1 for a joint's first row that is asked for, then kept.
double sprag_ode_warm_start_row(const ode_warm_start *warm_start, dJointID joint, int row, int *at,
                                ode_mending *mending);

// lag: s, of the velocities of its bodies (../../solvers/frame/frame.h).
void sprag_ode_warm_start_store_row(ode_warm_start *warm_start, dJointID joint, int row,
                                    double force, double lag);

// s, that was stored with a joint's first row; 0 if unknown.
double sprag_ode_warm_start_lag(const ode_warm_start *warm_start, dJointID joint);

// s, step that an integrator would have taken next at the end of the last step, of the group whose
// first body this is; 0 if unknown.
double sprag_ode_warm_start_integrator_step(const ode_warm_start *warm_start, dBodyID first);

void sprag_ode_warm_start_store_integrator_step(ode_warm_start *warm_start, dBodyID first,
                                                double step);

// Memory of the solver, of the island whose first body this is; zero if unknown.
sprag_memory sprag_ode_warm_start_island(const ode_warm_start *warm_start, dBodyID first);

// The same, of a group whose first body this is.
void sprag_ode_warm_start_store_group(ode_warm_start *warm_start, dBodyID first,
                                      const sprag_memory *memory);

// Between these two several threads may read and store, each for other islands, of so many joints
// together. false: no memory; one thread only.
bool sprag_ode_warm_start_begin_threads(ode_warm_start *warm_start, long joints);
void sprag_ode_warm_start_end_threads(ode_warm_start *warm_start);

// The forces that the next step reads, as bytes that another process forked from the same program
// can read: keys are addresses. room: 0 to ask for the length. Returns the length.
size_t sprag_ode_warm_start_write(const ode_warm_start *warm_start, void *to, size_t room);
// false: no memory, or not such bytes; the next step then starts without guesses.
bool sprag_ode_warm_start_read(ode_warm_start *warm_start, const void *from, size_t length);

// Ends a step: what has been stored since the last call is what the next step reads.
void sprag_ode_warm_start_next_step(ode_warm_start *warm_start);

#endif
