// The contact problem of one sub-step (solve.c), as contacts.c fills it and push_out.c uses it
// again.
#ifndef SPRAG_ADVANCE_SOLVE_H
#define SPRAG_ADVANCE_SOLVE_H

#include "advance_run.h"
#include "softness.h"

typedef struct advance_problem { // in the scratch of the solve
    sprag_problem problem;       // contacts: those of the frame, then one of each point
    sprag_solution solution;
    sprag_softness soft;
    sprag_body *body;
    sprag_contact *contact;
    sprag_row *row; // the run's, with room for more behind them; NULL: there are no more
    struct {        // by impact.c
        bool acts;
        double *row_force;        // N, N m, impulses over the sub-step
        double (*given_force)[6]; // N, likewise
    } impact;
} advance_problem;

// Solves contacts within the work that is left; unless `exactly`, in a coarse plan, by sweeps.
// warm: the solution's velocity on entry is a guess. memory: of such problems, NULL: none.
sprag_result advance_solve_contacts(advance_run *run, const sprag_problem *problem, bool warm,
                                    bool exactly, sprag_memory *memory, sprag_solution *solution,
                                    sprag_stats *stats);

// ---- contacts.c

// The contact of a point. The bodies of the problem are set.
void advance_set_contact(const advance_run *run, const advance_point *point,
                         const advance_problem *p, sprag_contact *to);

// 1/kg, along the normal.
double advance_inverse_mass(const advance_run *run, const advance_problem *p,
                            const sprag_contact *contact);

// ---- friction.c

// N, by which rounding may press two bodies on each other at a contact.
double advance_rounding_force(const advance_problem *p, const sprag_contact *contact);

// Takes the friction from pairs that have it only while they are pressed on each other.
void advance_start_friction(advance_run *run, const advance_problem *p);

// Gives it to those that are, and takes it from those that are not, by the forces of the last
// solve. false: no change.
bool advance_choose_friction(advance_run *run, const advance_problem *p);

static inline void advance_remove_friction(sprag_contact *contact)
{
    contact->slide = (sprag_friction){0};
    contact->turning = NULL;
}

// Is friction bounded by a force of its own, or by nothing?
bool advance_is_unbounded(const sprag_friction *f);

// ---- impact.c

// Makes bodies bounce: changes the velocities of the problem's bodies.
sprag_result advance_impact(advance_run *run, advance_problem *p);

// ---- flight.c

// Sets the lag of bodies that no contact and no row holds, after the solve.
void advance_set_flight(advance_run *run, const advance_problem *p);

// ---- spinners.c

// Makes the problem of bodies that spin fast that of the frame which follows their axes.
void advance_spin(advance_run *run, advance_problem *p);

// After the solve and advance_set_flight: makes the angular velocities of these bodies those at the
// end of the sub-step, and sets the lag by which the mean of the sub-step differs.
void advance_turn_with_axes(advance_run *run);

// ---- push_out.c

// Does a pair overlap, or have less than its gap?
bool advance_must_push(const advance_run *run);

// Sets pushed: the displacement, as a velocity, that takes back a share of each overlap, and
// opens gaps. The
// contacts and velocities of the problem are changed.
sprag_result advance_push_out(advance_run *run, advance_problem *p);

#endif
