#include "frozen_friction.h"

#include <math.h>

#include "stribeck_constants.h"

sprag_result sprag_frozen_friction_solve(sprag_system *system, const double *bound, double stiction,
                                         double tolerance, int iterations, double *v, double *dv,
                                         sprag_stats *stats)
{
    int stalled = 0;
    sprag_system_place(system, v);
    stats->convergence = sprag_system_residual(system, v, stiction, bound);
    for (int it = 0; it < iterations && stalled < STRIBECK_STALL; it++) {
        if (stats->convergence <= tolerance) {
            return SPRAG_OK;
        }
        sprag_result result = sprag_system_factor(system, stiction, bound, true);
        stats->factorizations++;
        if (result != SPRAG_OK) {
            return result;
        }
        sprag_system_update(system, dv);
        double alpha = sprag_system_search(system, v, dv, stiction, bound);
        sprag_system_move(system, v, alpha, dv);
        double before = stats->convergence;
        stats->convergence = sprag_system_residual(system, v, stiction, bound);
        sprag_system_log(system, stiction, stats);
        if (!isfinite(stats->convergence)) {
            return SPRAG_SINGULAR;
        }
        // a full update that does not lower the residual shows the rounding error of stiff rows
        stalled = alpha == 1 && stats->convergence >= before ? stalled + 1 : 0;
    }
    return stats->convergence <= tolerance ? SPRAG_OK : SPRAG_NOT_CONVERGED;
}

sprag_result sprag_frozen_friction_solve_staged(sprag_system *system, const double *bound,
                                                double soft, double stiction, double tolerance,
                                                double *v, double *dv, sprag_stats *stats)
{
    for (double stage = soft; stage > 2 * stiction; stage *= STRIBECK_FROZEN_STAGE) {
        sprag_result result = sprag_frozen_friction_solve(
            system, bound, stage, fmax(STRIBECK_FROZEN_STAGE_TOLERANCE, tolerance),
            STRIBECK_FROZEN_FRICTION_ITERATIONS, v, dv, stats);
        if (result == SPRAG_SINGULAR || result == SPRAG_NO_MEMORY) {
            return result;
        }
    }
    return sprag_frozen_friction_solve(system, bound, stiction, tolerance,
                                       STRIBECK_FROZEN_FRICTION_ITERATIONS, v, dv, stats);
}
