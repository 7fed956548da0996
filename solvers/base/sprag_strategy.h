// The strategies that the implicit Stribeck method solves an island with. Both sprag.h and the
// headers of the general solver are installed with this file.
#ifndef SPRAG_STRATEGY_NAME_H
#define SPRAG_STRATEGY_NAME_H

// From the cheapest and most exact to the last resort: statistics of several islands or steps
// report the largest.
typedef enum sprag_strategy {
    SPRAG_STRATEGY_NONE,            // no contact, no joint row: nothing was solved
    SPRAG_STRATEGY_KEPT,            // velocities and forces before the step, which still balance
    SPRAG_STRATEGY_NEWTON,          // Newton's method from the start or end of the free motion
    SPRAG_STRATEGY_WARM_NEWTON,     // Newton's method from the result of a cheaper strategy
    SPRAG_STRATEGY_CONTINUATION,    // Newton's method, from a large stiction tolerance down
    SPRAG_STRATEGY_FROZEN_FRICTION, // fixed friction bounds, corrected in a few passes
    SPRAG_STRATEGY_INTERIOR_POINT,  // along the central path of Coulomb's law, from any start
    SPRAG_STRATEGY_GAUSS_SEIDEL,    // contact after contact, until the velocities hardly change
    SPRAG_STRATEGY_STOCK,           // ODE's own step, for lack of memory
    SPRAG_STRATEGIES
} sprag_strategy;

// "none", "newton", "warm_newton", ...
static inline const char *sprag_strategy_name(sprag_strategy strategy)
{
    switch (strategy) {
    case SPRAG_STRATEGY_NONE:
        return "none";
    case SPRAG_STRATEGY_KEPT:
        return "kept";
    case SPRAG_STRATEGY_NEWTON:
        return "newton";
    case SPRAG_STRATEGY_WARM_NEWTON:
        return "warm_newton";
    case SPRAG_STRATEGY_CONTINUATION:
        return "continuation";
    case SPRAG_STRATEGY_FROZEN_FRICTION:
        return "frozen_friction";
    case SPRAG_STRATEGY_INTERIOR_POINT:
        return "interior_point";
    case SPRAG_STRATEGY_GAUSS_SEIDEL:
        return "gauss_seidel";
    case SPRAG_STRATEGY_STOCK:
        return "stock";
    case SPRAG_STRATEGIES:
        break;
    }
    return "unknown strategy";
}

#endif
