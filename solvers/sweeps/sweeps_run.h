// The state of a solve by sweeps; only this room includes it.
#ifndef SPRAG_SWEEPS_RUN_H
#define SPRAG_SWEEPS_RUN_H

#include "batches.h"
#include "linalg.h"
#include "problem.h"
#include "softness.h"

typedef struct sweeps_mechanisms sweeps_mechanisms; // mechanisms.h
typedef struct sweeps_port sweeps_port;
typedef struct sweeps_single sweeps_single; // singles.h

struct sweeps {
    const sprag_problem *problem;
    sprag_softness soft;
    int nodes;            // bodies that move; node `nodes` is static
    int *node_of;         // bodies: their node
    int *body_of;         // nodes: their body
    batch_velocity *free; // nodes + 1: v*
    batch_velocity *mass; // nodes + 1: 1/kg, then the inverse inertia as in a batch, of which only
                          // the symmetric part
    double (*inverse)[9]; // nodes: the whole inverse inertia, 1/(kg m^2), world axes
    double *spin; // nodes + 1: square of the gyroscopic terms (spin.h) in its inertia, as a share
                  // of the symmetric part; 0: it is symmetric
    batch *batch; // first those whose second bodies do not move, last those with mechanisms
    int batches, grounded_batches, free_batches; // grounded, or free: up to there
    bool *paired;            // free batches: it is one of two that are treated side by side
    batch_link *link;        // of the others
    bool without_mechanisms; // all rows are swept
    bool *left;              // rows of the problem: it has left its bounds
    sweeps_mechanisms *mechanisms;
    sweeps_port *port;
    int ports;
    batch_row *row; // joint rows with bounds, those of wide mechanisms, those of single contacts
    int rows, lone_rows, single_rows; // rows: of joints; lone_rows: of those with bounds
    sweeps_single *single;            // contacts that are in no batch
    int singles;
    bool *is_single; // contacts
    batch_unknowns x;
    double *before; // unknowns before the last sweep
    double *push;   // what the last acceleration added
    double scale;   // sqrt(kg) m/s: the momentum that changes are measured by
};

// The node of a body of the problem; the static node for SPRAG_STATIC and kinematic bodies.
static inline int node_of(const sweeps *s, int body)
{
    return body == SPRAG_STATIC ? s->nodes : s->node_of[body];
}

// joint_rows.c: sprag_row_yield.
double sweeps_row_yield(const sweeps *s, const sprag_row *row);

// sweeps.c: sets a row whose offset is set, and its impulse (N s).
void sweeps_set_row(sweeps *s, batch_row *to, const int body[2], const double J[2][6],
                    double impulse);
// After mechanisms_factor: adds to the inverse mass what mechanisms leave of it. Returns the
// inverse mass as if no row held their bodies, 1/kg.
double sweeps_add_mechanisms(const sweeps *s, batch_row *row);

// J M^-1 J' of a row at one node, 1/kg.
static inline double node_inverse_mass(const sweeps *s, int node, const double J[6])
{
    const double *mass = s->mass[node], *I = mass + 1;
    return mass[0] * dot3(J, J) + I[0] * J[3] * J[3] + I[1] * J[4] * J[4] + I[2] * J[5] * J[5] +
           2 * (I[3] * J[3] * J[4] + I[4] * J[3] * J[5] + I[5] * J[4] * J[5]);
}

#endif
