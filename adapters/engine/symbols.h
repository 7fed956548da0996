// Functions of the running ODE by their names in its symbol table: those that libsprag interposes,
// whose plain names would lead back into libsprag, those that are no public API, and those that
// some releases lack. Each returns NULL where the running ODE has no such function.
#ifndef SPRAG_SYMBOLS_H
#define SPRAG_SYMBOLS_H

#include "ode.h"

typedef size_t estimate_fn(dBodyID const *, unsigned, dJointID const *, unsigned);
typedef bool reallocate_fn(dWorldID, ode_islands *, dReal, estimate_fn *);
typedef bool process_fn(dWorldID, const ode_islands *, dReal, void *, void *);
typedef void process_in_arena_fn(dWorldID, const ode_islands *, dReal, void *);
typedef void world_fn(dWorldID);
typedef void step_body_fn(dBodyID, dReal);
typedef void opaque_fn(void); // a function that only ODE itself calls
typedef void count_fn(dJointID, ode_row_count *);
typedef void override_fn(int, int, dColliderFn *);
typedef int configuration_fn(const char *);
typedef dWorldID world_create_fn(void);
typedef dBodyID body_create_fn(dWorldID);
typedef dJointID contact_create_fn(dWorldID, dJointGroupID, const dContact *);
typedef dJointID joint_create_fn(dWorldID, dJointGroupID);
typedef void set_moved_fn(dBodyID, void (*)(dBodyID));

// The parts of a step: dxReallocateWorldProcessContext, dxProcessIslands and what is passed to
// them.
reallocate_fn *sprag_real_reallocate(void);
process_fn *sprag_real_process_islands(void);
process_in_arena_fn *sprag_real_process_in_arena(void); // of before 0.13
opaque_fn *sprag_real_step_island(void);
opaque_fn *sprag_real_quick_island(void);
estimate_fn *sprag_real_step_memory(void);
estimate_fn *sprag_real_quick_memory(void);
opaque_fn *sprag_real_step_calls(void);
opaque_fn *sprag_real_quick_calls(void);
step_body_fn *sprag_real_step_body(void);
world_fn *sprag_real_clean_up(void); // dxCleanupWorldProcessContext, of before 0.13

// dFluidDynamicsStep of Webots' fork: its dWorldStep begins with it.
typedef int fluid_step_fn(dWorldID);
fluid_step_fn *sprag_real_fluid_step(void);

// getInfo1 and getInfo2 of a contact and of a ball joint, which the check of the layout calls. The
// arguments of getInfo2 depend on the release (family.c).
count_fn *sprag_real_contact_count(void);
opaque_fn *sprag_real_contact_rows_in_pairs(void);
opaque_fn *sprag_real_contact_rows_in_arrays(void);
opaque_fn *sprag_real_contact_rows_in_struct(void);
count_fn *sprag_real_ball_count(void);
opaque_fn *sprag_real_ball_rows_in_pairs(void);
opaque_fn *sprag_real_ball_rows_in_arrays(void);
opaque_fn *sprag_real_ball_rows_in_struct(void);

override_fn *sprag_real_override(void); // dSetColliderOverride
configuration_fn *sprag_real_is_configured(void);

// For the world of the check at start-up: other preloaded libraries must not see it.
world_create_fn *sprag_real_world_create(void);
body_create_fn *sprag_real_body_create(void);
contact_create_fn *sprag_real_contact_create(void);
joint_create_fn *sprag_real_ball_create(void);
set_moved_fn *sprag_real_set_moved_callback(void);

// The joint types that are joints of two bodies, by number from 0: creates one. NULL: the running
// ODE has no such type. *type: its number in dJointType.
enum { ODE_JOINT_TYPES = 15 };
dJointID sprag_real_create_joint(int number, dWorldID world, int *type);

// ODE's threads, of 0.13 and later.
typedef dThreadingImplementationID self_threaded_fn(void);
typedef void free_threads_fn(dThreadingImplementationID);
typedef const dThreadingFunctionsInfo *functions_of_threads_fn(dThreadingImplementationID);
typedef void set_threads_fn(dWorldID, const dThreadingFunctionsInfo *, dThreadingImplementationID);
typedef unsigned island_threads_fn(dWorldID);
typedef void set_island_threads_fn(dWorldID, unsigned);
self_threaded_fn *sprag_real_self_threaded(void);
free_threads_fn *sprag_real_free_threads(void);
functions_of_threads_fn *sprag_real_functions_of_threads(void);
set_threads_fn *sprag_real_set_threads(void);
island_threads_fn *sprag_real_island_threads(void);
set_island_threads_fn *sprag_real_set_island_threads(void);

// A function that must be there, and its name for messages.
typedef struct sprag_symbol {
    const void *address;
    const char *name;
} sprag_symbol;

#define SPRAG_SYMBOL(function, name)                                                               \
    {                                                                                              \
        (void *)(intptr_t)(function), name                                                         \
    }

// The name of the first one without an address; NULL: none.
const char *sprag_first_missing(const sprag_symbol *needed, size_t count);

// The first public function that sprag needs and the running ODE lacks; NULL: it has them all.
const char *sprag_real_missing(void);

// Has the running ODE this public function of some releases or forks?
typedef enum ode_mark {
    ODE_MARK_WEBOTS,
    ODE_MARK_GAZEBO,
    ODE_MARK_16,
    ODE_MARK_15,
    ODE_MARK_14,
    ODE_MARK_13,
    ODE_MARK_12,
    ODE_MARKS
} ode_mark;
bool sprag_real_has(ode_mark mark);

#endif
