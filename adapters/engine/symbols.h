// Functions of the running ODE by their names in its symbol table: those that libsprag interposes,
// whose plain names would lead back into libsprag, and those of ODE 0.16 that are no public API.
// Each returns NULL where the running ODE has no such function.
#ifndef SPRAG_SYMBOLS_H
#define SPRAG_SYMBOLS_H

#include "ode.h"

typedef size_t estimate_fn(dBodyID const *, unsigned, dJointID const *, unsigned);
typedef bool reallocate_fn(dWorldID, ode_islands *, dReal, estimate_fn *);
typedef bool process_fn(dWorldID, const ode_islands *, dReal, void *, void *);
typedef void step_body_fn(dBodyID, dReal);
typedef void opaque_fn(void); // a function that only ODE itself calls
typedef void count_fn(dJointID, ode_row_count *);
typedef void rows_fn(dJointID, dReal, dReal, int, dReal *, dReal *, int, dReal *, dReal *, int *);
typedef void override_fn(int, int, dColliderFn *);
typedef int configuration_fn(const char *);
typedef dWorldID world_create_fn(void);
typedef dBodyID body_create_fn(dWorldID);
typedef dJointID contact_create_fn(dWorldID, dJointGroupID, const dContact *);
typedef dJointID joint_create_fn(dWorldID, dJointGroupID);
typedef void set_moved_fn(dBodyID, void (*)(dBodyID));

// Of a step: dxReallocateWorldProcessContext, dxProcessIslands and what is passed to them.
reallocate_fn *sprag_real_reallocate(void);
process_fn *sprag_real_process_islands(void);
opaque_fn *sprag_real_step_island(void);
opaque_fn *sprag_real_quick_island(void);
estimate_fn *sprag_real_step_memory(void);
estimate_fn *sprag_real_quick_memory(void);
opaque_fn *sprag_real_step_calls(void);
opaque_fn *sprag_real_quick_calls(void);
step_body_fn *sprag_real_step_body(void);

// getInfo1 and getInfo2 of a contact and of a ball joint, for the check of the layout.
count_fn *sprag_real_contact_count(void);
rows_fn *sprag_real_contact_rows(void);
count_fn *sprag_real_ball_count(void);
rows_fn *sprag_real_ball_rows(void);

override_fn *sprag_real_override(void); // dSetColliderOverride
configuration_fn *sprag_real_is_configured(void);

// For the world of the check at start-up: other preloaded libraries must not see it.
world_create_fn *sprag_real_world_create(void);
body_create_fn *sprag_real_body_create(void);
contact_create_fn *sprag_real_contact_create(void);
joint_create_fn *sprag_real_ball_create(void);
set_moved_fn *sprag_real_set_moved_callback(void);

// The first function that sprag needs and the running ODE lacks; NULL: it has them all.
const char *sprag_real_missing(void);

#endif
