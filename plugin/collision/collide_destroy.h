// Destruction of bodies, geoms, spaces, joints and joint groups by the program.
#ifndef SPRAG_COLLIDE_DESTROY_H
#define SPRAG_COLLIDE_DESTROY_H

#include <stdbool.h>

#include "collide_thread.h"

// Destroys it now; or, if the program asks for it in a callback that a step has called, at the end
// of that step, because the step still uses it.
void collide_destroy(destroy_kind kind, void *what);

// Whether the end of the step will destroy it. NULL: false.
bool collide_will_destroy(const void *what);

// Geoms destroyed so far that are or may hold meshes: another one may be where they were.
long collide_destroyed_meshes(void);

// The end of a step: carries out what has waited for it.
void collide_destroy_waiting(void);

#endif
