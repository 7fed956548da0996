// Collision under a method that keeps bodies apart (struct method, `collides`): stock finds nothing
// where bodies do not overlap, so dSpaceCollide, dSpaceCollide2 and dCollide answer by our own
// geometry, and what the program asked is recorded for the step. Worlds under other methods, and
// what stock's collision calls from inside itself, go straight to stock.
#ifndef SPRAG_COLLIDE_H
#define SPRAG_COLLIDE_H

#include "geom_pairs.h"
#include "plugin.h"
#include "record.h"

// ---- for the step

// What the program asked of this world since its last step: sprag_ode_recorded, ..._was_offered.
// NULL: its method does not collide, or there is no memory. The step need not turn it.
ode_record *collide_record(const world_state *world);

// Asks the program about a pair of geoms that touches in the middle of a step, `gap` (m) apart,
// with geoms and bodies where ODE has them now: whoever asks puts them there before. Recorded calls
// that ask about the pair are taken in their order until one leads to contact joints. pair: of
// sprag_ode_find_pairs with the recorded calls. Returns the number of contact joints that the
// program has attached to the pair, and the first of them; 0: declined, or the program has
// destroyed one of the two in this step; -1: nobody can be asked, because no call asks about the
// pair any more or what its callback was to be given is gone.
//
// While a callback runs: stepping is refused; dBodyDestroy, dGeomDestroy, dSpaceDestroy,
// dJointDestroy, dJointGroupEmpty and dJointGroupDestroy wait for the end of the step;
// dSpaceCollide and dSpaceCollide2 on spaces that hold the pair lead to the pair alone.
int collide_ask(world_state *world, const ode_pair *pair, double gap, dJointID *first);

// At the start of a step: can callbacks be asked within it? Before the first touch, for what
// touches then is let through.
void collide_look_at_data(world_state *world);

// Around every step: begin returns false if a callback is being asked, then there is no step.
// frame: of the function of ours that the program has called. end also turns the world's record
// (world: NULL for none).
typedef struct collide_step {
    const void *frame;
} collide_step;

bool collide_begin_step(collide_step *outer, const void *frame); // __builtin_frame_address(0)
void collide_end_step(const collide_step *outer, dWorldID world);

// ---- for interpose.c: the program's calls

int collide_geoms(dGeomID a, dGeomID b, int flags, dContactGeom *contact, int skip);
void collide_space(dSpaceID space, void *data, dNearCallback *callback);
void collide_two(dGeomID a, dGeomID b, void *data, dNearCallback *callback);

typedef enum doomed_kind {
    DOOMED_BODY,
    DOOMED_GEOM,
    DOOMED_SPACE,
    DOOMED_JOINT,
    DOOMED_GROUP_EMPTY, // what is in it
    DOOMED_GROUP
} doomed_kind;

void collide_destroy(doomed_kind kind, void *what);

#endif
