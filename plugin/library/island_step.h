// One island by the implicit Stribeck method, in two halves: solve_island may run in any thread and
// writes nothing into ODE but velocities and accumulators of the island's bodies; finish_island
// runs in the calling thread.
#ifndef SPRAG_ISLAND_STEP_H
#define SPRAG_ISLAND_STEP_H

#include "workers.h"
#include "world.h"

// Takes the memory in which step_island steps any of the islands, one after the other; or any that
// the world can have. Before anything is written: what is half done cannot be taken back. false: no
// memory.
bool reserve_for_islands(const world_state *w, const ode_islands *islands);
bool reserve_for_world(const world_state *w);

// Pulls an island with joints out of ODE, solves it and writes the new velocities back.
// to->feedback is set by the caller. If the solve fails, ODE's state is as before, except that
// invalid forces are zero.
void solve_island(const step_context *c, const ode_island *island, sprag_scratch *scratch,
                  solved_island *to);

// Prints warnings, counts, draws random numbers, writes joint feedback, moves the bodies and calls
// their moved callbacks. An island that cannot be posed is stepped by ODE; of one whose solution is
// not finite, the bodies move freely. false: ODE has no memory.
bool finish_island(const step_context *c, const solved_island *from);

// Both halves, or the motion of a body without joints, after reserve_for_islands. false: ODE has no
// memory.
bool step_island(const step_context *c, const ode_island *island);

// The softness of the island's contacts (sprag_softness_for_sweeps, unless the effort is exact).
double island_softness(const world_state *w, const sprag_problem *problem);

// Draws from ODE's random number generator as dWorldQuickStep does for an island with so many rows:
// it shuffles the rows every eighth iteration. Programs that draw from the generator get the same
// numbers with and without sprag.
void draw_as_quick_step(dWorldID id, int rows);

#endif
