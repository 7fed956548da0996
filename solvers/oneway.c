#include "solvers/oneway.h"

#include <math.h>

static void give(sprag_point *point, double impulse)
{
    point->law = SPRAG_GIVEN;
    point->given = point->guess = impulse;
}

// Explicit forces. Returns whether these are all.
static bool give_by_stiffness(sprag_system *system)
{
    bool all = true;
    sprag_system_place(system, system->start);
    for (int i = 0; i < system->points; i++) {
        sprag_point *point = &system->point[i];
        if (point->law == SPRAG_HUNT_CROSSLEY) {
            double damping = fmax(0, 1 - point->dissipation * system->slip[i][SPRAG_NORMAL]);
            give(point, system->step * point->stiffness * damping * fmax(0, point->penetration));
        }
        all &= point->law == SPRAG_GIVEN;
    }
    return all;
}

static bool is_bounded_by_normal(const sprag_cone *cone)
{
    return !cone->force && !isinf(cone->coefficient);
}

// Forces of the rigid contacts, in a step without the friction that they would bound.
static sprag_result give_by_solving(sprag_phases *w)
{
    sprag_system *system = w->system;
    double *coefficient = SPRAG_TAKE(system->scratch, system->cones, double);
    if (system->scratch->failed) {
        return SPRAG_NO_MEMORY;
    }
    for (int c = 0; c < system->cones; c++) {
        sprag_cone *cone = &system->cone[c];
        coefficient[c] = cone->coefficient;
        cone->coefficient = is_bounded_by_normal(cone) ? 0 : cone->coefficient;
    }
    sprag_result result = sprag_phases_run(w);
    for (int c = 0; c < system->cones; c++) {
        system->cone[c].coefficient = coefficient[c];
    }
    for (int i = 0; i < system->points; i++) {
        give(&system->point[i], system->impulse[i][SPRAG_NORMAL]);
    }
    return result;
}

sprag_result sprag_oneway_run(sprag_phases *w)
{
    bool known = give_by_stiffness(w->system);
    w->system->convex = true; // no friction changes a normal force
    char phase = w->stats.phase;
    if (!known) {
        sprag_result result = give_by_solving(w);
        if (result != SPRAG_OK) {
            return result;
        }
        phase = w->stats.phase;
    }
    sprag_result result = sprag_phases_run(w);
    w->stats.phase = phase > w->stats.phase ? phase : w->stats.phase; // '-' comes before all
    return result;
}
