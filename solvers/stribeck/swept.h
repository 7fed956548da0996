// Islands under a budget of sweeps.
#ifndef SPRAG_SWEPT_H
#define SPRAG_SWEPT_H

#include "stribeck.h"

// Can all contacts of the problem be swept, and do the options set a budget?
bool sprag_swept_applies(const sprag_problem *problem, const sprag_stribeck_options *options);

// Do bodies touch in chains and trees only, as in a stack? Then a factorization has no fill, and
// Newton's method is worth a try before the sweeps. Contacts of a pair must follow each other.
bool sprag_contacts_form_trees(const sprag_problem *problem);

// As sprag_stribeck_solve. Ends when the budget does, whatever the residual.
sprag_result sprag_swept_solve(const sprag_problem *problem, const sprag_stribeck_options *options,
                               sprag_scratch *scratch, sprag_solution *solution,
                               sprag_stats *stats);

#endif
