#include "best.h"

#include <math.h>
#include <string.h>

#include "stribeck_constants.h"

sprag_solution *sprag_best_room(sprag_best *best)
{
    const sprag_problem *problem = best->problem;
    sprag_solution *room = &best->room;
    if (!room->velocity) {
        room->velocity = SPRAG_TAKE_RAW(best->scratch, problem->bodies, double[6]);
        room->contact_force = SPRAG_TAKE_RAW(best->scratch, problem->contacts, double[6]);
        room->row_force = SPRAG_TAKE_RAW(best->scratch, problem->rows, double);
        room->row_rate =
            best->solution->row_rate ? SPRAG_TAKE_RAW(best->scratch, problem->rows, double) : NULL;
    }
    return best->scratch->failed ? NULL : room;
}

// Arrays without entries may be NULL.
static void copy(void *to, const void *from, int count, size_t size)
{
    if (count > 0) {
        memcpy(to, from, (size_t)count * size);
    }
}

// Two that are accepted are compared by their bounds on the error of velocities: in stacks a
// residual of 1e-4 may hide impulses that are far from carrying their loads.
static bool is_better(double residual, double gap, const sprag_stats *than)
{
    bool accepted = residual <= STRIBECK_ACCEPTED, was = than->residual <= STRIBECK_ACCEPTED;
    return accepted && was ? fmax(residual, gap) < fmax(than->residual, than->gap)
                           : residual < than->residual;
}

sprag_residual sprag_best_measure(const sprag_best *best)
{
    return best->sole
               ? (sprag_residual){.scale = 1}
               : sprag_problem_residual(best->problem, &best->room, best->soft, best->scratch);
}

void sprag_best_take(sprag_best *best, const sprag_residual *found, const sprag_stats *stats)
{
    const sprag_problem *problem = best->problem;
    const sprag_solution *from = &best->room, *to = best->solution;
    double gap = found->gap / found->scale;
    if (is_better(found->relative, gap, &best->stats)) {
        copy(to->velocity, from->velocity, problem->bodies, sizeof *to->velocity);
        copy(to->contact_force, from->contact_force, problem->contacts, sizeof *to->contact_force);
        copy(to->row_force, from->row_force, problem->rows, sizeof *to->row_force);
        copy(to->row_rate, from->row_rate, to->row_rate ? problem->rows : 0, sizeof *to->row_rate);
        best->stats = *stats;
        best->stats.residual = found->relative;
        best->stats.gap = gap;
        memcpy(best->stats.stiffness, found->stiffness, sizeof found->stiffness);
        memcpy(best->stats.damping, found->damping, sizeof found->damping);
    }
}

double sprag_best_offer(sprag_best *best, const sprag_stats *stats)
{
    const sprag_residual found = sprag_best_measure(best);
    sprag_best_take(best, &found, stats);
    return found.relative;
}
