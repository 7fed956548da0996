// The state of a solve by sweeps; only this room includes it.
#ifndef SPRAG_SWEEPS_RUN_H
#define SPRAG_SWEEPS_RUN_H

#include "batches.h"
#include "problem.h"
#include "softness.h"

typedef struct sweeps_mechanisms sweeps_mechanisms; // mechanisms.h
typedef struct sweeps_port sweeps_port;

struct sweeps {
    const sprag_problem *problem;
    sprag_softness soft;
    int nodes;            // bodies that move; node `nodes` is static
    int *node_of;         // bodies: their node
    int *body_of;         // nodes: their body
    batch_velocity *free; // nodes + 1: v*
    batch_velocity *mass; // nodes + 1: 1/kg, then the inverse inertia as in a batch
    batch *batch;         // first those without mechanisms
    int batches, free_batches;
    batch_link *link; // of the others
    sweeps_mechanisms *mechanisms;
    sweeps_port *port;
    int ports, port_rows; // port rows: in whole vectors a mechanism
    batch_row *row;
    int rows;
    batch_unknowns x;
    double *before; // unknowns before the last sweep
    double *push;   // what the last acceleration added
    double scale;   // sqrt(kg) m/s: the momentum that changes are measured by
};

#endif
