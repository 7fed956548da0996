// The best solution of a solve so far, by sprag_problem_residual: every strategy offers what it has
// found, and what is not accepted is kept until something better is.
#ifndef SPRAG_BEST_H
#define SPRAG_BEST_H

#include "problem.h"
#include "residual.h"
#include "result.h"
#include "scratch.h"

typedef struct sprag_best {
    const sprag_problem *problem;
    sprag_shares soft;
    sprag_scratch *scratch;
    sprag_solution *solution; // of the caller; unchanged until something is better than nothing
    sprag_solution room;
    bool sole;         // there is one strategy, and nobody asks for its residual: it is 0
    sprag_stats stats; // of the strategy that found it; residual INFINITY: nothing yet
} sprag_best;

// Room for the next offer. NULL: no memory.
sprag_solution *sprag_best_room(sprag_best *best);

// Measures what the room holds.
sprag_residual sprag_best_measure(const sprag_best *best);

// Keeps what the room holds if it is better.
void sprag_best_take(sprag_best *best, const sprag_residual *found, const sprag_stats *stats);

// Both. Returns the residual.
double sprag_best_offer(sprag_best *best, const sprag_stats *stats);

#endif
