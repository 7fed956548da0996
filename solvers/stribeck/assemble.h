// A contact problem of bodies as a system in the space of bodies.
#ifndef SPRAG_ASSEMBLE_H
#define SPRAG_ASSEMBLE_H

#include "problem.h"
#include "softness.h"
#include "space6.h"
#include "stiction.h"
#include "stribeck.h"

// Sets *system from the problem. *node_of: bodies, the node of each body, SPRAG_NOWHERE for
// kinematic ones. SPRAG_NO_MEMORY.
sprag_result sprag_assemble(sprag_system *system, const sprag_problem *problem,
                            const sprag_softness *softness, sprag_scratch *scratch, int **node_of);

// Sets the velocities of bodies without contacts and rows.
void sprag_assemble_free(const sprag_problem *problem, const sprag_solution *solution);

// Writes velocities v (size of the system, m/s, rad/s) and the impulses of the system as a
// solution.
void sprag_assemble_solution(const sprag_system *system, const sprag_problem *problem,
                             const int *node_of, const double *v, sprag_solution *solution);

// Numbers of the whole problem that the laws of each contact and row depend on.
typedef struct sprag_scales {
    sprag_softness soft;
    sprag_stiction stiction;
    double fastest; // m/s, fastest slip of a contact before the step
} sprag_scales;

static inline sprag_shares sprag_stribeck_shares(const sprag_stribeck_options *options)
{
    return (sprag_shares){options->softness, options->row_softness, options->friction_softness};
}

// The scales of a problem, but for its fastest slip, which is 0.
sprag_scales sprag_stribeck_scales(const sprag_problem *problem,
                                   const sprag_stribeck_options *options);

// The system of a problem, or of a part of one, whose scales are given, with the laws of its
// contacts; raises their fastest slip to that of this system. *at_rest: m/s, the stiction tolerance
// that the last evaluation of a solve has. SPRAG_OK, SPRAG_NO_MEMORY.
sprag_result sprag_stribeck_assemble(const sprag_problem *problem, sprag_scales *scales,
                                     sprag_scratch *scratch, sprag_system *system, int **node_of,
                                     double *at_rest);

// Sets v and the impulses of the system from a solution.
void sprag_assemble_start(sprag_system *system, const sprag_problem *problem, const int *node_of,
                          const sprag_solution *solution, double *v);

#endif
