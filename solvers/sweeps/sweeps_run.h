// The state of a solve by sweeps; only this room includes it.
#ifndef SPRAG_SWEEPS_RUN_H
#define SPRAG_SWEEPS_RUN_H

#include "batches.h"
#include "problem.h"
#include "softness.h"

struct sweeps {
    const sprag_problem *problem;
    sprag_softness soft;
    int nodes;            // bodies that move; node `nodes` is static
    int *node_of;         // bodies: their node
    batch_velocity *free; // nodes + 1: v*
    batch_velocity *mass; // nodes + 1: 1/kg, then the inverse inertia as in a batch
    batch *batch;
    int batches;
    batch_row *row;
    int rows;
    batch_unknowns x;
    double *before; // unknowns before the last sweep
    double *push;   // what the last acceleration added
    double scale;   // sqrt(kg) m/s: the momentum that changes are measured by
};

#endif
