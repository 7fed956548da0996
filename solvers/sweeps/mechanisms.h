// Mechanisms: bodies held together by rows without bounds, or far from these. Their rows are not
// swept one by one. A mechanism moves as one thing: an impulse at one of its contacts changes the
// velocities at all of them, by
//
//     J A^-1 J',   A = M + sum Jr' Jr / yield
//
// A is factorized once a solve, A = L L'; the forward solves L^-1 J' of its ports give J A^-1 J'
// (compare Baraff: Linear-time dynamics using Lagrange multipliers, SIGGRAPH 1996, for the part of
// the constraints that hold; Featherstone: Rigid Body Dynamics Algorithms, 2008, ch. 8, for the
// factorization of trees without fill).
//
// A wide mechanism has so many ports that this matrix costs too much. Its bodies are swept as if
// nothing held them, and each sweep ends with all of its rows at once: block Gauss-Seidel, so that
// its joints hold however early the sweeps end. Only this room includes it.
#ifndef SPRAG_MECHANISMS_H
#define SPRAG_MECHANISMS_H

#include "blocks.h"
#include "scratch.h"
#include "sweeps_run.h"

// A contact or a bounded row as a mechanism has it: up to three rows over one or two of its bodies.
struct sweeps_port {
    int mechanism;
    int at;                   // first of its rows, of all ports
    int rows;                 // 1 or 3
    int node[2];              // of the sweeps; -1: none
    double jacobian[2][3][6]; // with the sign of the side
    int first, places;        // of `path`: the block rows of L^-1 J' that are not zero
    const double *impulse[3]; // N s, of the unknowns
};

typedef struct mechanism {
    int nodes, rows;          // that hold it
    int first, width, stride; // of its ports: first row, rows, rows in whole vectors
    int ports, *port;
    const int *node; // of the sweeps
    const int *row;  // of the problem
    bool wide;
    double share;     // of a step that its rows take at once: gyroscopic terms make it shorter
    double *delassus; // width x stride: J A^-1 J', 1/kg
    sprag_blocks blocks;
} mechanism;

// A row that holds a mechanism.
typedef struct mechanism_row {
    double still;      // bias - J v where its moving bodies stand still, m/s
    double yield, own; // m/s per N s; own: beyond the row's compliance
    double shift;      // m/s: own yield that is taken back, of the impulse before
    double impulse;    // N s, by mechanisms_balance
} mechanism_row;

struct sweeps_mechanisms {
    int count;
    mechanism *of;
    int *mechanism_of;     // nodes: -1 if no row holds them
    int *local;            // nodes: block row in the mechanism
    int *held;             // rows of the problem: a node that it holds, of a mechanism; -1: none
    bool *holds;           // rows of the problem: it holds a mechanism that is not wide
    int *swept;            // rows of the problem that hold a wide one: place among the swept rows
    double *wanted;        // rows of the problem that hold a wide one, N s
    mechanism_row *of_row; // rows of the problem that hold a mechanism
    double *work;          // 6 (nodes + 1) x SPRAG_FORWARD
    int *path;
    double (*forward)[6][SPRAG_FORWARD]; // of the path: one port a column
    int paths;
};

// The mechanism of a node, if it is not wide; -1: none.
static inline int mechanisms_of_node(const sweeps *s, int node)
{
    int of = s->mechanisms->count > 0 ? s->mechanisms->mechanism_of[node] : -1;
    return of >= 0 && !s->mechanisms->of[of].wide ? of : -1;
}

// Does a row of the problem hold a mechanism that is not wide? Then it is not swept.
static inline bool mechanisms_hold(const sweeps *s, int row)
{
    return s->mechanisms->count > 0 && s->mechanisms->holds[row];
}

// Finds the mechanisms. Rows that hold none of them are swept.
bool mechanisms_find(sweeps *s, sprag_scratch *scratch);

// Does a row of the problem hold a wide mechanism?
bool mechanisms_hold_wide(const sweeps *s, int row);

// Notes the motors that hold mechanisms and have left their bounds, or all. Are there any?
bool mechanisms_release(const sweeps *s, const sprag_solution *solution, bool all);

// The port of a contact or row at node[0] and node[1] (-1: not in a mechanism), which must belong
// to one mechanism. Returns its index.
int mechanisms_add_port(sweeps *s, int rows, const int node[2], const double (*jacobian)[3][6]);

// After all ports: factorizes, and sets the forward solves of all ports. SPRAG_SINGULAR,
// SPRAG_NO_MEMORY.
sprag_result mechanisms_factor(sweeps *s, sprag_scratch *scratch);

// J A^-1 J' of one port, 1/kg.
void mechanisms_port_inverse_mass(const sweeps *s, int port, double W[3][3]);

// Row 1 and 2 of a port become basis (row 1, row 2).
void mechanisms_turn_port(sweeps *s, int port, const double basis[2][2]);

// After all turns: sets J A^-1 J' between the ports.
bool mechanisms_couple(sweeps *s, sprag_scratch *scratch);

// Entries of the matrices J A^-1 J'.
double mechanisms_entries(const sweeps *s);

// Velocities that go with the impulses, of nodes and ports. Takes back the rows' own yield: at the
// forces of the moment if it is the last balance, else at those known before.
void mechanisms_balance(sweeps *s, bool last);

// N s, of a row that holds a mechanism, after mechanisms_balance.
double mechanisms_row_impulse(const sweeps *s, int row);

#endif
