// One step of a smooth ordinary differential equation y' = f(y): an event-selected system between
// its events. Any one-step method with an error estimate and a dense output can be used.
#ifndef SPRAG_SMOOTH_H
#define SPRAG_SMOOTH_H

#include <stddef.h>

#include "result.h"

SPRAG_BEGIN_C

typedef struct sprag_field {
    int size;   // of y
    void *data; // first argument of the callbacks
    void (*value)(void *data, const double *y, double *f);
    // D f v; v and the result have the size of y.
    void (*tangent)(void *data, const double *y, const double *v, double *Dfv);
} sprag_field;

typedef struct sprag_smooth {
    const char *name;
    int order;                // the error estimate is O(step^order)
    size_t (*room)(int size); // doubles that a step and its dense output need

    // A step (s) from y, where f = f(y), to y1 and f1 = f(y1), with an estimate of the error of y1.
    // Results may be not finite: the caller checks. Returns SPRAG_SINGULAR if an equation of the
    // step has no solution.
    sprag_result (*step)(const sprag_field *field, double *room, double step, const double *y,
                         const double *f, double *y1, double *f1, double *error);

    // Dense output: entries first to end - 1 of y at a part, 0 to 1, of the last step.
    void (*between)(const double *room, int size, double part, int first, int end, double *y);

    // Differences of y and of f between two points at the end of the last step, by which the rate
    // of f is told, and the step times that rate up to which the method is stable. NULL, 0: it is
    // stable whatever the step.
    void (*apart)(const double *room, int size, double step, double *y, double *f);
    double stable;
} sprag_smooth;

// Dormand and Prince's explicit method of order 5(4), the default (Hairer, Norsett, Wanner: Solving
// Ordinary Differential Equations I, 2nd ed., table II.5.2).
SPRAG_SOLVER_API extern const sprag_smooth sprag_dopri5;

// Tsitouras' explicit method of order 5(4) (2011). Errors of smooth equations are two to six times
// smaller in as many steps; but noise and kinks of f enter its error ten times as strongly.
SPRAG_SOLVER_API extern const sprag_smooth sprag_tsit5;

SPRAG_END_C

#endif
