// How a solve ended, and what it took.
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
SPRAG_GENERAL_API const char *sprag_result_name(sprag_result result);

// SPRAG_BAD_PROBLEM, with a line in message (size bytes; NULL for none) on what is bad.
sprag_result sprag_bad_problem(char *message, int size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// One update of the velocities.
typedef struct sprag_iteration {
    sprag_strategy strategy;
    double stiction; // m/s, at this stage
    double length;   // part of the Newton update that was gone
    double slip;     // m/s, |Jt dv|, of the whole update, all contacts
    double residual; // after it
} sprag_iteration;

typedef struct sprag_stats {
    sprag_iteration *history; // of the caller, for the first history_room updates; NULL: none
    int history_room;
    sprag_strategy strategy; // the one that ended the solve
    int iterations;          // Newton updates
    int sweeps;
    int factorizations;
    double residual; // momentum, relative to the impulses of the island; of Gauss-Seidel, what the
                     // last sweep changed, on the same scale: no bound of the error
    double bound_error; // largest |friction bound used - mu fn| / largest mu fn; 0 but for frozen
                        // friction, interior point and one-way
    double stiction; // m/s, stiction tolerance used, largest
    double stiction_least;
    double stiffness[2]; // N/m, effective, of the contacts' normals: least, most; 0: no contact
    double damping[2];   // N s/m, likewise
    double stiff_step;   // one-way: largest step^2 stiffness / mass; an explicit force gains energy
                         // above 1 or so
} sprag_stats;

SPRAG_END_C

#endif
