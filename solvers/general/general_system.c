#include "general_system.h"

static void prepare_point(const sprag_general_problem *p, const sprag_general_options *options,
                          sprag_system *system, int i)
{
    const double mu = p->friction[i];
    const bool given = p->normal_force;
    sprag_point *point = &system->point[i];
    *point = (sprag_point){.dim = 3, .cone = i, .cones = 1};
    if (given) {
        point->law = SPRAG_GIVEN;
        point->given = p->step * p->normal_force[i];
    } else {
        point->law = SPRAG_HUNT_CROSSLEY;
        point->penetration = p->penetration[i];
        point->stiffness = p->stiffness[i];
        point->dissipation = p->dissipation[i];
    }
    system->cone[i] = (sprag_cone){.first = SPRAG_SLIDE,
                                   .axes = 2,
                                   .coefficient = mu,
                                   .shape = {1, 1},
                                   .of_stiction = 1,
                                   .quadratic = true,
                                   .softening = options->relative_tolerance};
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
