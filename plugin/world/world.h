// State per world, found by the dWorldID that the program already has.
//
// Threads may make, step and destroy different worlds at the same time; each world is used by one
// thread at a time.
#ifndef SPRAG_WORLD_H
#define SPRAG_WORLD_H

#include <stdbool.h>

#include <uthash.h>

#include "record.h"
#include "settings.h"
#include "sprag.h"

typedef struct workers workers;
typedef struct frame_state frame_state;

// Forces of a step by another method, for the next one (plugin/compare).
typedef struct world_memory {
    char *bytes;
    size_t length;
} world_memory;

// Places of the bodies, from the newest to the oldest, at samples of a comparison of whole
// runs (plugin/compare/creep.c).
typedef struct world_place {
    dBodyID body;
    double position[3]; // m
} world_place;

typedef struct world_places {
    double time; // s
    int bodies;
    world_place *place;
} world_places;

typedef struct world_way {
    world_places *sample;
    int count, room;
} world_way;

typedef struct world_state {
    dWorldID id;
    int number;        // 1 for the first world that the process steps, or collides under a method
                       // that keeps distance, and so on; names the world in messages and files
    settings settings; // from the environment, then from sprag_world_configure
    unsigned warned;   // bits 1 << warning, set by warn_first
    bool can_find_islands;      // set by step.c: within dWorldStep islands can be found again
    const void *step_frame;     // stack frame of step_islands for the world; NULL: it is not called
    workers *workers;           // made with the world
    ode_warm_start *warm_start; // contact forces of the last step, to start the next solve from
    frame_state *frame; // made by the first step of a method that keeps distance; NULL before
    sprag_scratch linearize_scratch[3]; // of all bodies, of those that are joined, of a trial
    ode_record *record; // collision calls since the last step; NULL until the world's method
                        // keeps distance
    sprag_world_statistics statistics;
    world_memory *memory; // of each method of a comparison; NULL: none so far
    int memories;
    world_way way; // of a comparison of whole runs
    bool answers;  // it has been counted as one for which sprag answers collision calls
    bool is_trial; // a step in a child that a comparison has forked: it must leave no trace
    UT_hash_handle hh;
} world_state;

// A step under way. Set by step_islands.
typedef struct step_context {
    world_state *world;
    dReal step;   // s
    stock called; // the stepper that the program called
} step_context;

// Makes the state with the settings of the environment if there is none. NULL: no memory.
world_state *world_find_or_make(dWorldID id);
world_state *world_find(dWorldID id); // NULL: no state

// To be called when a world is destroyed: the next world may get the same address.
void world_forget(dWorldID id);

// Forgets what is kept from step to step. false: no memory; then nothing is forgotten.
bool world_forget_steps(world_state *world);

// To be called when the method of a world may have changed. false: no memory.
bool world_update_record(world_state *world);

// Whether collision calls of some world are recorded (settings_record), or may be.
bool world_any_is_recorded(void);

// Whether sprag answers collision calls of some world (settings_collide), or may do so.
bool world_any_collides(void);

// The state of a world for which sprag answers collision calls: by its settings, or for a
// comparison in place with a method that does. It is made if the environment asks for one of the
// two. The last answer is kept per thread. NULL: ODE answers, or ODE or memory lack.
world_state *world_that_collides(dWorldID id);

// The record of a world; NULL: its calls are not recorded, or no memory.
ode_record *world_record(const world_state *world);

// Removes a geom or space, and all geoms in it, from the records of all worlds. To be called before
// it is destroyed.
void world_records_forget(dGeomID id);

#endif
