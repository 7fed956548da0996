// Result and statistics of one solve.
#ifndef SPRAG_RESULT_H
#define SPRAG_RESULT_H

#include "api.h"
#include "sprag_strategy.h"

SPRAG_BEGIN_C

typedef enum sprag_result {
    SPRAG_OK,
    SPRAG_NOT_CONVERGED,
    SPRAG_SINGULAR,
    SPRAG_BAD_PROBLEM,
    SPRAG_NO_MEMORY,
} sprag_result;

// "ok", "not converged", ...
SPRAG_SOLVER_API const char *sprag_result_name(sprag_result result);

// Writes one line on the fault to message (size bytes; NULL for none). Returns SPRAG_BAD_PROBLEM.
sprag_result sprag_bad_problem(char *message, int size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// One Newton update of the velocities.
typedef struct sprag_iteration {
    sprag_strategy strategy;
    double stiction;    // m/s, stiction tolerance of the update
    double length;      // share of the update that was taken, 0 to 1
    double slip;        // m/s, |Jt dv| of the whole update, over all contacts
    double convergence; // of sprag_stats, after the update
} sprag_iteration;

// Statistics of one solve. The strategies fill them in while they run; the caller sets the history.
typedef struct sprag_stats {
    sprag_iteration *history; // of the caller, for the first history_room updates; NULL: none
    int history_room;
    sprag_strategy strategy; // that ended the solve
    int iterations;          // Newton updates of all strategies
    int sweeps;              // of Gauss-Seidel
    double sweep_work;       // of the sweeps, in products of 6x6 blocks
    int factorizations;
    double residual; // of sprag_problem_residual, at the solution: the largest residual of a body,
                     // contact or row, relative to what the step changes; the general solver: that
                     // of general.h
    double convergence; // what the strategy itself drives to 0, relative to the impulses of the
                        // island: the error of momentum, or the change of the last sweep
    double gap;         // of sprag_problem_residual, at the solution, relative to its scale
    double bound_error; // largest |friction bound used - mu fn| / largest mu fn; 0 unless friction
                        // bounds are frozen or the scheme is one-way
    // Laws in effect, at the end of the solve
    double stiction;       // m/s, largest stiction tolerance
    double stiction_least; // m/s
    double stiffness[2];   // N/m, effective, of contact normals: least, most; 0: no contact
    double damping[2];     // N s/m, likewise
    double stiff_step; // one-way: largest step^2 stiffness / mass; an explicit force gains energy
                       // above about 1
} sprag_stats;

SPRAG_END_C

#endif
