// One step of an ordinary differential equation y' = f(y), f smooth: what an event-selected system
// is between its events. Any one-step method with an error estimate and a dense output fits.
#ifndef SPRAG_SMOOTH_H
#define SPRAG_SMOOTH_H

#include <stddef.h>

#include "result.h"

typedef struct sprag_field {
    int size; // of y
    void *data;
    void (*value)(void *data, const double *y, double *f);
    // D f v; v and the result have the size of y.
    void (*tangent)(void *data, const double *y, const double *v, double *Dfv);
} sprag_field;

typedef struct sprag_smooth {
    const char *name;
    int order;                // the error estimate is O(step^order)
    size_t (*room)(int size); // doubles that a step and its dense output live in

    // From y, where f = f(y), to y1 and f1 = f(y1), with an estimate of the error of y1. Values
    // that are not finite are no fault of the method: the caller looks at them.
    // SPRAG_SINGULAR where an equation of the step cannot be solved.
    sprag_result (*step)(const sprag_field *field, double *room, double step, const double *y,
                         const double *f, double *y1, double *f1, double *error);

    // Dense output: y at a part 0..1 of the last step.
    void (*between)(const double *room, int size, double part, double *y);
} sprag_smooth;

extern const sprag_smooth sprag_dopri5; // explicit, order 5(4); the default

#endif
