// Calling the program's collision callback in the middle of a step.
#ifndef SPRAG_COLLIDE_ASK_H
#define SPRAG_COLLIDE_ASK_H

#include "geom_pairs.h"
#include "world.h"

// Asks the program for contacts of a pair of geoms that touches in the middle of a step, with a gap
// of `gap` m. The caller has put geoms and bodies where they are at that time. pair: found by
// sprag_ode_find_pairs with the recorded calls. Recorded dSpaceCollide calls that concern the pair
// are repeated in their order until one makes contact joints. Returns the number of contact joints
// that the program has attached to the pair, and the first of them. 0: it wants none, or has
// destroyed one of the two in this step. -1: it cannot be asked: no recorded call concerns the pair
// any more, or the data of the callback does not exist any more.
//
// While the callback runs, steps are refused; destructions wait for the end of the step;
// dSpaceCollide and dSpaceCollide2 on spaces that contain the pair offer this pair only.
int collide_ask(world_state *world, const ode_pair *pair, double gap, dJointID *first);

// To be called at the start of a step: if the data of a callback does not exist any more, the world
// gets advance.callbacks=before.
void collide_check_data(world_state *world);

// Sets advance.callbacks=before for a world and prints the reason.
void ask_before_step(world_state *world, const char *why);

#endif
