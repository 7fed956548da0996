// The contact problem of one sub-step (solve.c), as contacts.c fills it and push_out.c uses it
// again.
#ifndef SPRAG_ADVANCE_SOLVE_H
#define SPRAG_ADVANCE_SOLVE_H

#include "advance_run.h"

typedef struct advance_problem { // in the scratch of the solve
    sprag_problem problem;       // contacts: those of the frame, then one of each point
    sprag_solution solution;
    sprag_body *body;
    sprag_contact *contact;
    sprag_row *row; // the run's, with room for more behind them; NULL: there are no more
} advance_problem;

typedef enum advance_moment {
    ADVANCE_BEFORE, // the start of the sub-step
    ADVANCE_FREE,   // its end, if no contact and no row acted
    ADVANCE_AFTER,  // its end, as solved
} advance_moment;

// m/s, of the bodies of a contact at its point, side 0 relative to side 1.
void advance_velocity_at(const advance_problem *p, const sprag_contact *contact,
                         advance_moment moment, double u[3]);

// Options of the contact solve for a large group: exact where the bodies settle and the
// factorization costs little more than sweeps, else sweeps.
sprag_stribeck_options advance_large_group_options(const advance_run *run);

// ---- contacts.c

// The contact of a point. The bodies of the problem are set.
void advance_set_contact(advance_run *run, const advance_point *point, const advance_problem *p,
                         sprag_contact *to);

// ---- push_out.c

bool advance_any_overlap(const advance_run *run);

// Sets pushed: the displacement, as a velocity, that takes back a share of each overlap. The
// contacts and velocities of the problem are changed.
sprag_result advance_push_out(advance_run *run, advance_problem *p);

#endif
