#include "general_system.h"

static void prepare_point(const sprag_general_problem *p, const sprag_general_options *options,
                          sprag_system *system, int i)
{
    sprag_point *point = &system->point[i];
    bool given = p->normal_force;
    point->dim = 3; // all else is zero
    point->cone = i;
    point->cones = 1;
    point->law = given ? SPRAG_GIVEN : SPRAG_HUNT_CROSSLEY;
    if (given) {
        point->given = point->guess[0] = p->step * p->normal_force[i];
    } else {
        double depth = p->penetration[i];
        point->penetration = depth;
        point->stiffness = p->stiffness[i];
        point->dissipation = p->dissipation[i];
        point->guess[0] = depth > 0 ? p->step * p->stiffness[i] * depth : 0;
    }
    double mu = p->friction[i];
    sprag_cone *cone = &system->cone[i];
    cone->first = SPRAG_SLIDE;
    cone->axes = 2;
    cone->coefficient = mu;
    cone->shape[0] = cone->shape[1] = cone->per_length = 1;
    cone->quadratic = true;
    cone->softening = options->relative_tolerance;
    system->convex &= given || mu == 0;
    system->curved |= !given;
}

sprag_result sprag_general_prepare(const sprag_general_problem *p,
                                   const sprag_general_options *options, const sprag_chart *chart,
                                   const double *guess, sprag_system *system,
                                   sprag_scratch *scratch)
{
    *system = (sprag_system){
        .step = p->step, .points = p->contacts, .cones = p->contacts, .convex = true};
    sprag_result result = sprag_chart_take(p, chart, system, scratch);
    if (result != SPRAG_OK || sprag_system_take(system, scratch) != SPRAG_OK) {
        return SPRAG_NO_MEMORY;
    }
    double *mass_diagonal = SPRAG_TAKE(scratch, system->size, double);
    if (!mass_diagonal) {
        return SPRAG_NO_MEMORY;
    }
    for (int i = 0; i < system->size; i++) {
        mass_diagonal[i] = 1;
    }
    for (int i = 0; i < p->velocities; i++) {
        mass_diagonal[chart->place[i]] = p->mass[(size_t)i * (size_t)(p->velocities + 1)];
        system->start[chart->place[i]] = guess[i];
    }
    for (int i = 0; i < p->contacts; i++) {
        prepare_point(p, options, system, i);
    }
    result = sprag_chart_free_velocity(p, chart, system);
    if (result == SPRAG_OK) {
        sprag_system_weigh(system, mass_diagonal, NULL);
    }
    return result;
}
