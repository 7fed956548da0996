// Problems of the general solver, whose results and work are hashed. All are sparse: the bits of
// dense ones are those of LAPACK.
#include "bits.h"

#include <string.h>

#include "general.h"
#include "problems_general.h"

const bits_problem bits_problems[] = {
    {"bodies", BODIES, 30, 20, .hard = true, .step = 1e-2},
    {"soft", BODIES, 12, 8, .step = 1e-2},
    {"fine", BODIES, 60, 40, .hard = true, .step = 1e-4},
    {"stack", STACK, 60, 40, .hard = true, .step = 1e-3},
    {"one-way", BODIES, 60, 40, .one_way = true, .hard = true, .step = 1e-2},
    {"few", BODIES, 60, 40, .hard = true, .step = 1e-2, .most = 30},
    {"turns", BODIES, 30, 20, .hard = true, .step = 1e-2, .theta = 0.2, .stiction = 1e-6},
    {0},
};

static void add_stats(uint64_t *hash, const sprag_stats *stats)
{
    const double numbers[] = {stats->strategy,       stats->iterations,  stats->sweeps,
                              stats->factorizations, stats->convergence, stats->residual,
                              stats->stiction,       stats->gap};
    bits_add(hash, numbers, sizeof numbers / sizeof *numbers);
    for (int i = 0; i < stats->iterations && i < stats->history_room; i++) {
        const sprag_iteration *it = &stats->history[i];
        const double update[] = {it->strategy, it->stiction, it->length, it->slip, it->convergence};
        bits_add(hash, update, sizeof update / sizeof *update);
    }
}

uint64_t bits_solve(const bits_problem *p, unsigned seed)
{
    enum { HISTORY = 2000 };
    static sprag_iteration history[HISTORY];
    static sprag_scratch scratch;
    uint64_t hash = fnv_of_nothing, random = seed;
    sprag_general_options options = sprag_general_defaults();
    sprag_stats stats = {.history = history, .history_room = HISTORY};
    made m = draw_problem((family)p->family, p->velocities, p->contacts, p->step, p->one_way,
                          p->hard, &random);
    options.max_iterations = p->most ? p->most : options.max_iterations;
    options.theta_max = p->theta > 0 ? p->theta : options.theta_max;
    options.stiction_tolerance = p->stiction > 0 ? p->stiction : options.stiction_tolerance;
    const double result = made_solve(&m, &options, &scratch, &stats);
    const sprag_general_solution *s = &m.solution;
    bits_add(&hash, &result, 1);
    bits_add(&hash, s->velocity, p->velocities);
    bits_add(&hash, s->normal_velocity, p->contacts);
    bits_add(&hash, s->tangent_velocity, 2 * p->contacts);
    bits_add(&hash, s->normal_force, p->contacts);
    bits_add(&hash, s->friction_force, 2 * p->contacts);
    bits_add(&hash, s->generalized_friction, p->velocities);
    bits_add(&hash, s->generalized_force, p->velocities);
    add_stats(&hash, &stats);
    made_free(&m);
    return hash;
}
