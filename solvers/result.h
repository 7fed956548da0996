// How a solve ended, and what it took.
#ifndef SPRAG_RESULT_H
#define SPRAG_RESULT_H

typedef enum sprag_result {
    SPRAG_OK,
    SPRAG_NOT_CONVERGED,
    SPRAG_SINGULAR,
    SPRAG_BAD_PROBLEM,
    SPRAG_NO_MEMORY,
} sprag_result;

// "ok", "not converged", ...
const char *sprag_result_name(sprag_result result);

typedef struct sprag_stats {
    char phase;     // of the implicit Stribeck method: '-' nothing to solve, 'A' direct, 'B'
                    // polished, 'C' continued, 'D' lagged
    int iterations; // Newton updates
    int factorizations;
    double residual;    // momentum, relative to the impulses of the island
    double bound_error; // largest |friction bound used - mu fn| / largest mu fn; 0 but for 'D'
    double stiction;    // m/s, stiction tolerance used
} sprag_stats;

#endif
