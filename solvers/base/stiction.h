// Stiction tolerances (m/s, slip that counts as sticking) that options and surfaces leave to the
// solver. They follow from the problem, so that a change of units changes nothing.
#ifndef SPRAG_STICTION_H
#define SPRAG_STICTION_H

#include <math.h>

#include "linalg.h"

// Relative to the speed scale of the step: stiction tolerance of contacts that slide. Larger: fewer
// Newton updates, more creep below the Coulomb limit.
#define SPRAG_STICTION_MOVING 1e-3
// Relative to the speed scale: stiction tolerance of contacts at rest. Larger: faster creep on
// slopes. Smaller: forces at rest lose digits.
#define SPRAG_STICTION_AT_REST 1e-8
// Relative to a contact's own slip before the step: its stiction tolerance, between the two above.
#define SPRAG_STICTION_OWN 1e-3
// Relative to the fastest slip of the island: least stiction tolerance. Smaller: Newton needs more
// updates.
#define SPRAG_STICTION_LEAST 1e-6

typedef struct sprag_stiction {
    double moving;  // of contacts that slide
    double at_rest; // of contacts at rest, at most `moving`
} sprag_stiction;

// moving, at_rest: of the options; 0: shares of the speed scale (m/s).
static inline sprag_stiction sprag_stiction_of(double scale, double moving, double at_rest)
{
    moving = moving > 0 ? moving : SPRAG_STICTION_MOVING * scale;
    at_rest = at_rest > 0 ? at_rest : SPRAG_STICTION_AT_REST * scale;
    return (sprag_stiction){moving, fmin(at_rest, moving)};
}

// The tolerance of one contact or cone. surface: its own tolerance, 0 if it has none. slip,
// fastest: m/s before the step, its own and the island's fastest.
static inline double sprag_stiction_tolerance(const sprag_stiction *stiction, double surface,
                                              double slip, double fastest)
{
    double least = sprag_larger(stiction->at_rest, SPRAG_STICTION_LEAST * fastest);
    double own = sprag_smaller(sprag_larger(SPRAG_STICTION_OWN * slip, least), stiction->moving);
    return surface > 0 ? surface : own;
}

#endif
