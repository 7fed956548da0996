// Memory with which the threads of a world step its islands. It is kept from step to step.
#ifndef SPRAG_WORKERS_H
#define SPRAG_WORKERS_H

#include <stdbool.h>
#include <stddef.h>

#include "island.h"
#include "scratch.h"
#include "stribeck.h"

// One thread: its scratch, reset after every island.
typedef struct thread_context {
    sprag_scratch scratch;
    char padding[128]; // keeps the contexts of two threads out of one cache line
} thread_context;

// An island after its solve and before its bodies move. Written by solve_island.
typedef struct solved_island {
    ode_problem pulled; // its arrays, in the thread's scratch, are invalid
    sprag_stats stats;
    sprag_result result;
    double pull_us, solve_us; // microseconds
    ode_feedback *feedback;   // room for one per joint; set by the caller
    int feedbacks;
    long unsearched; // pairs of geoms, for lack of work
    ode_spin *spin; // room for one per body; set by the caller
} solved_island;

// Consecutive islands that one thread solves.
typedef struct share {
    ode_island_walk from; // its next island is the share's first
    size_t end;           // the number of the island after the last one
    solved_island *to;    // for the share's first island with joints; the others follow
} share;

// The arrays only grow; `..._room` is the number of entries allocated. Only workers.c,
// island_step.c and island_threads.c use the fields.
typedef struct workers {
    thread_context *thread; // [0] belongs to the thread that calls for the step
    int threads;
    solved_island *solved;
    size_t solved_room;
    ode_feedback *feedback;
    size_t feedback_room;
    ode_spin *spin;
    size_t spin_room;
    double (*force)[6]; // N and N m, that moved callbacks add to the bodies of an island
    size_t force_room;
    share *share;
    size_t share_room;
} workers;

workers *workers_make(void); // NULL: no memory
void workers_free(workers *w);
const sprag_scratch *workers_scratch(const workers *w); // of the calling thread

// false: no memory
bool workers_reserve_push(workers *w, long joints, int bodies); // feedback, spin and force
bool workers_reserve_shares(workers *w, size_t islands, size_t shares);

// A context for every thread. All scratches get the size of the largest, because any thread may get
// the largest island. false: no memory.
bool workers_reserve_threads(workers *w, int threads);

#endif
