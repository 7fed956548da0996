// Linear systems with bounds on the unknowns, of symmetric positive definite matrices within their
// envelope: A lambda + w = right with lo <= lambda <= hi, w = 0 between the bounds, w >= 0 at the
// upper and w <= 0 at the lower one.
#ifndef SPRAG_ROW_SOLVER_H
#define SPRAG_ROW_SOLVER_H

#include <stdbool.h>
#include <stddef.h>

typedef enum compliant_bound {
    COMPLIANT_BETWEEN,
    COMPLIANT_AT_LOWER,
    COMPLIANT_AT_UPPER
} compliant_bound;

// A row of a joint that acts, or an active stop.
typedef struct compliant_active_row {
    int row, stop;      // index of the row; of the stop, -1: none
    double sign;        // of the stop: lambda acts along sign J
    double compliance;  // m/s per N, CFM
    double lo, hi;      // N, N m
    compliant_bound at; // by the solver; kept as its first guess
    bool yielding;      // has twice the compliance of its bodies
} compliant_active_row;

typedef struct compliant_row_system {
    int count;
    bool has_bounds; // of any row
    compliant_active_row *row;
    int *first;       // rows: first column of the envelope
    size_t *start;    // rows: index of their first entry in A
    size_t entries;   // of A
    double *A;        // lower half, row by row
    double *factor;   // as A; scratch of the solver
    double **line;    // rows: theirs in `factor`, less `first`
    double *yield;    // rows, part of the diagonal of A: their compliance
    double *softness; // rows, part of the diagonal of A; 0 of rows with bounds
    bool dependent;   // softness is expected to count
    bool soft;        // it did in the last solution
    double *right;    // right side
    double *solution; // lambda
    double *aim;      // right side with what the softness takes; scratch of the solver
    double *excess;   // A lambda - aim; likewise
    double exchanged; // entries that the last solution factorized again, for other bounds
} compliant_row_system;

static inline double *compliant_entry(const compliant_row_system *s, double *A, int i, int k)
{
    return A + s->start[i] + (k - s->first[i]);
}

// At least one row. Solves without softness, and with it where rows depend so much on one another
// that it counts; then as if there were none, but where it alone decides. false: rows depend on one
// another, and have no softness.
bool compliant_solve_rows(compliant_row_system *system);

#endif
