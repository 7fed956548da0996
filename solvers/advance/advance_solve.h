// The contact problem of one sub-step (solve.c), as contacts.c fills it, and problems of rates.
#ifndef SPRAG_ADVANCE_SOLVE_H
#define SPRAG_ADVANCE_SOLVE_H

#include "advance_run.h"
#include "softness.h"

// A problem of rates (projection.c) changes velocities at once, without forces.
typedef struct advance_problem { // in the scratch of the solve
    sprag_problem problem;       // contacts: those of the frame, then one of each point
    sprag_solution solution;
    sprag_body *body;
    sprag_contact *contact;
    sprag_row *row;      // the run's, with room for more behind them
    sprag_softness soft; // of none of rates
    struct {             // by impact.c, likewise
        bool acts;
        double *row_force;        // N, N m, impulses over the sub-step
        double (*given_force)[6]; // N, likewise
    } impact;
} advance_problem;

// Takes a problem of the attempt's length with room for contacts and rows, which has none yet. The
// arrays are not set. false: no memory.
bool advance_take_problem(advance_run *run, int contacts, int rows, advance_problem *p);

// Solves contacts within the work that is left; in a coarse plan by so many sweeps, unless 0.
// stats: of the problem of the sub-step, which has a memory, and a guess in the solution's velocity
// if the attempt has one. NULL: of rates. false: no solution.
bool advance_solve_contacts(advance_run *run, const sprag_problem *problem, int sweeps,
                            sprag_solution *solution, sprag_stats *stats);

// ---- contacts.c

// The contact of a point. The bodies of the problem are set.
void advance_set_contact(const advance_run *run, const advance_point *point,
                         const advance_problem *p, sprag_contact *to);

// Bodies, arms, frame and friction of it.
void advance_place_contact(const advance_run *run, const advance_point *point, sprag_contact *to);

// 1/kg, along the normal.
double advance_inverse_mass(const advance_run *run, const sprag_body *body,
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

// Do bodies come to contacts or stops that have a restitution?
bool advance_bounces(const advance_run *run, const advance_problem *p);

// m/s, at which the bodies of a point come nearer.
double advance_point_approach(const advance_run *run, const advance_problem *p, int i);

// Makes bodies bounce, if they do: changes the velocities of the problem's bodies.
void advance_impact(advance_run *run, advance_problem *p, bool bounces);

// ---- flight.c

// Sets the lag of bodies that no contact and no row holds, after the solve.
void advance_set_flight(advance_run *run, const advance_problem *p);

// ---- middles.c

// Sets the velocities behind the impacts at the start of the sub-step, and how long forces act.
void advance_start_velocities(advance_run *run, advance_problem *p);

// After the solve: makes the forces of rows those of their impulses over the time that they act.
void advance_keep_middles(advance_run *run, const advance_problem *p);

// ---- loads.c

// Adds inertia to bodies where a group settles.
void advance_hold_loads(const advance_run *run, const advance_problem *p);

// ---- chords.c

// Makes rows that hold a point hold it where its chords end.
void advance_hold_on_chords(advance_run *run, const advance_problem *p);

// After a solve: sets the attempt's chords.
void advance_weigh_chords(advance_run *run, const advance_problem *p);

// Takes the chords from assemblies in which they win too much. false: no change.
bool advance_drop_chords(advance_run *run, const advance_problem *p);

// ---- projection.c

// Takes a problem of rates, with the frame's bodies at rest until advance_start_rates. false: no
// memory.
bool advance_take_rates(advance_run *run, int contacts, advance_problem *r);
void advance_start_rates(advance_problem *r, int body, const double v[6]);

// Sets the joint rows, of wanted bodies (NULL: of all), and, as the first contacts, the given ones,
// which keep the rates that they have.
void advance_keep_rates(const advance_run *run, const bool *wanted, advance_problem *r);

// Sets the push: the displacement, as a velocity, that takes back a share of each overlap, and
// opens gaps.
void advance_push_out(advance_run *run, const advance_problem *p);

#endif
