// The running ODE: which one it is, its layout and private functions, its islands and threads.
#ifndef SPRAG_ODE_H
#define SPRAG_ODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ode/ode.h>

#include "shape.h"

// ---- runtime.c: the ODE that we serve

// To be called before any other of ODE's functions, wherever a program calls us, with an object of
// ODE's (NULL: none at hand) and an address in the caller's code. NULL: go on; otherwise the
// function `name` of another ODE, which the call is meant for.
void *sprag_ode_runtime_redirect(const void *object, const void *caller, const char *name);

void *sprag_ode_runtime_symbol(const char *name); // not in the archive

// Of the ODE that we serve: another one when that has been closed. What is known of an ODE is of
// one number.
unsigned sprag_ode_runtime_number(void);

typedef struct ode_once {
    _Atomic(unsigned) looked_at; // its number
} ode_once;

// Looks at it once; `look` may not call this.
void sprag_ode_once(ode_once *once, void look(void));

// A function that we call by its name and this ODE lacks; NULL: none.
const char *sprag_ode_runtime_missing(void);

// ---- internals.c: the functions of ODE 0.16 that are no public API, and the real ones behind
// those that we stand in for

// dxWorldProcessIslandsInfo, as ODE lays it out.
typedef struct ode_islands {
    size_t count;
    const unsigned *sizes; // bodies, joints of each island
    dBodyID const *bodies;
    dJointID const *joints;
} ode_islands;

typedef struct ode_island {
    int bodies, joints;
    dBodyID const *body;
    dJointID const *joint;
} ode_island;

typedef struct ode_row_count { // dxJoint::Info1
    unsigned char rows, unbounded;
} ode_row_count;

// NULL when the running ODE has all that we need, in the layout that we know; otherwise what is
// missing. Looked at once per process, at the first step, in a world of its own.
const char *sprag_ode_unsupported(void);

// ODE's own start of a step: auto-disable, wake-up, islands; and working memory in which either
// stock stepper can take an island. quick: the one that the program called. false: no memory.
bool sprag_ode_find_islands(dWorldID world, dReal step, bool quick, ode_islands *islands);

// Stock ODE steps this one island, and nothing else.
bool sprag_ode_step_island(dWorldID world, const ode_island *island, dReal step, bool quick);

// ---- threads.c: the program's own threads

// Threads in which stock would step the islands of a world: those of the threading implementation
// that the program has set, up to dWorldSetStepIslandsProcessingMaxThreadCount. 1: none is set.
int sprag_ode_threads(dWorldID world);

// Calls job(data, 0) here and job(data, 1) to job(data, jobs - 1) in these threads, and waits for
// them. ODE must have found the world's islands before. false: not all have been called.
bool sprag_ode_run(dWorldID world, int jobs, void (*job)(void *data, int number), void *data);

// As sprag_ode_process_islands, for one island, in one thread: QuickStep in several is not
// reproducible. One after the other, where worlds have nothing but ODE's default in common.
bool sprag_ode_process_one(dWorldID world, const ode_islands *one, dReal step, void *stepper,
                           void *max_calls);
void sprag_ode_lock_default(bool hold); // around a fork, before all other locks

// Is the program called when this body has moved? So we say where ODE does not tell.
bool sprag_ode_calls_back(dBodyID body);

// Of the check at start: are worlds and bodies laid out as we know them? Else there is one thread.
void sprag_ode_check_threads(dWorldID world);

// Likewise, of a body: is its moved callback where we know it? set: dBodySetMovedCallback, the real
// one, for other preloaded libraries need not see the body.
void sprag_ode_check_callback(dBodyID body, void set(dBodyID, void (*)(dBodyID)));

// ---- internals.c

// Stock's own functions, whoever stands in for them.
int sprag_ode_world_step(dWorldID world, dReal step, bool quick);
void sprag_ode_world_destroy(dWorldID world);
void sprag_ode_message(const char *text); // to the program's handler, or stderr
bool sprag_ode_process_islands(dWorldID world, const ode_islands *islands, dReal step,
                               void *stepper, void *max_calls);

int sprag_ode_collide(dGeomID a, dGeomID b, int flags, dContactGeom *contact, int skip);
void sprag_ode_space_collide(dSpaceID space, void *data, dNearCallback *callback);
void sprag_ode_space_collide2(dGeomID a, dGeomID b, void *data, dNearCallback *callback);
void sprag_ode_override_collider(int i, int j, dColliderFn *collider);
void sprag_ode_geom_destroy(dGeomID geom);
void sprag_ode_space_destroy(dSpaceID space);
void sprag_ode_body_destroy(dBodyID body);
void sprag_ode_joint_destroy(dJointID joint);
void sprag_ode_joint_group_empty(dJointGroupID group);
void sprag_ode_joint_group_destroy(dJointGroupID group);

// Has the program said how geoms of these classes collide?
bool sprag_ode_is_overridden(dGeomID a, dGeomID b);

// Is this what dWorldQuickStep hands to dxProcessIslands?
bool sprag_ode_is_quick_stepper(void *stepper);

// Enabled and attached: what was so when ODE made the islands a callback within the step may have
// let go of.
bool sprag_ode_joint_acts(dJointID joint);

void sprag_ode_step_body(dBodyID body, dReal step);
ode_row_count sprag_ode_count_rows(dJointID joint); // getInfo1
void sprag_ode_get_rows(dJointID joint, dReal rate, dReal erp, dReal *J1, dReal *J2, dReal *rhs_cfm,
                        dReal *lo_hi, int *findex); // getInfo2: 6 and 2 reals a row
const dContact *sprag_ode_contact_of(dJointID joint);

// Of the list that all spaces have; NULL if ODE does not tell.
dGeomID sprag_ode_listed_geom(dSpaceID space, int index);

// Of a heightfield's samples, scaled, if ODE tells.
bool sprag_ode_has_heights(void);
dReal sprag_ode_height(dHeightfieldDataID data, int x, int z);

// The bodies of a joint as ODE stores them: [0] is never NULL. reversed: attached as (0, body).
void sprag_ode_joint_bodies(dJointID joint, dBodyID body[2], bool *reversed);

// ---- poses.c

void sprag_ode_read_pose(dBodyID body, sprag_pose *pose);
void sprag_ode_set_pose(sprag_pose *pose, const dReal *at, const dReal *R);

#endif
