// Rows of joints in a frame, as their parts see them: rows.c what they want, row_matrix.c
// those that act and their matrix, row_forces.c their forces, stops.c stops and impacts.
#ifndef SPRAG_COMPLIANT_ROWS_H
#define SPRAG_COMPLIANT_ROWS_H

#include "compliant_run.h"

enum { COMPLIANT_CATCH_UP = 3 };

typedef enum compliant_bound {
    COMPLIANT_FREE,
    COMPLIANT_AT_LOWER,
    COMPLIANT_AT_UPPER
} compliant_bound;

typedef enum compliant_rule {
    COMPLIANT_SOFT,
    COMPLIANT_HARD,
    COMPLIANT_SPRING,
    COMPLIANT_MOTOR
} compliant_rule;

// A row of the matrix: one that was asked for, or a stop on it.
typedef struct compliant_line {
    int row, stop; // -1: none
    double sign, bias, compliance, lo, hi;
    compliant_bound at;
    bool soft; // yields twice as much as by its bodies
} compliant_line;

struct compliant_joints {
    const sprag_row *row; // as last asked
    const sprag_stop *stop;
    double *nearer;       // stops, m or rad
    double *parting;      // stops that hardly yield: speed that they push to
    double *drift;        // rows, b'
    double *rate;         // rows, J' v
    compliant_rule *rule; // rows
    double *goal;         // rows: the speed that is kept, or wanted at the start of the frame
    double *gain;         // rows: its rate
    double *yield;        // rows, then stops: m/s, by CFM
    double *share;        // rows, of the force of a motor in this frame
    double (*yielded)[2][6];
    double *force; // rows
    bool holding;  // as if nothing that is hard yielded
    int lines, room;
    compliant_line *line;
    int *first;        // lines, first column of the envelope
    size_t *start;     // lines, of theirs
    int *body_line;    // bodies, first line of each
    double *A, *L, *b; // b: right side, then lambda
    double *right;
};

// rows.c

// Puts the movers where the state is, t (s) later along its velocities, and asks for rows there.
bool compliant_ask(compliant_run *run, const double *x, double t);
// J of a row times the velocities in a state, or the accelerations in its rate.
double compliant_along(const sprag_row *row, const double *x);
void compliant_set_motors(compliant_run *run); // which go on from the speeds that they have now

// row_matrix.c

// W J' of a row: accelerations of its bodies.
void compliant_yield_of(const compliant_run *run, const sprag_row *row, double yielded[2][6]);
double compliant_row_inverse_mass(const compliant_run *run,
                                  const sprag_row *row); // 1/kg, 1/(kg m^2)
// Against the mass: such rows are constraints, the others springs.
double compliant_stop_bias(const compliant_run *run,
                           const sprag_stop *stop); // by how far it is past
bool compliant_hardly_yields(const compliant_run *run, const sprag_row *row, double compliance);
void compliant_push_along(const compliant_joints *j, int row, double force, double *f);

typedef enum compliant_lines_of {
    COMPLIANT_OF_FORCES,
    COMPLIANT_OF_IMPACT,
    COMPLIANT_OF_START
} compliant_lines_of;

void compliant_set_lines(compliant_run *run, const double *label,
                         compliant_lines_of of);            // label: of the stops
void compliant_set_matrix(compliant_run *run, double time); // s, in the frame

static inline double *compliant_entry(const compliant_joints *j, double *A, int i, int k)
{
    return A + j->start[i] + (k - j->first[i]);
}

// row_forces.c: solves for `right`, and adds what that does to f; by forces, of the rates f, or
// by impulses, of the state.
bool compliant_push(compliant_joints *j, double *f);

#endif
