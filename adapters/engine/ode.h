// The running ODE: which one it is, its private functions and structs, its islands and threads.
#ifndef SPRAG_ODE_H
#define SPRAG_ODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <ode/ode.h>

#include "shape.h"

// ---- runtime.c: the ODE that sprag serves

// To be called first in every interposed function, with an object of ODE (NULL: the call has none)
// and an address in the caller's code. NULL: the call is for the runtime. Otherwise: the function
// `name` of another ODE in the program, to which the call is to be passed on.
void *sprag_ode_runtime_redirect(const void *object, const void *caller, const char *name);

void *sprag_ode_runtime_symbol(const char *name); // not in libsprag.a

// The number of the runtime, from 1: it grows when the runtime is closed and another takes its
// place. Results of checks on one runtime do not hold for the next.
unsigned sprag_ode_runtime_number(void);

typedef struct ode_once {
    _Atomic(unsigned) done_for; // number of the runtime; 0: not done
} ode_once;

// Calls run() once for each runtime; run() must not call this.
void sprag_ode_once(ode_once *once, void run(void));

// The first ODE function that sprag calls by its plain name and the runtime lacks; NULL: none.
const char *sprag_ode_runtime_missing(void);

// ---- check.c

// NULL if the runtime has all that sprag needs, in the layout that sprag knows; otherwise the name
// of what is missing. The check runs once for each runtime, at its first step, in a world of its
// own.
const char *sprag_ode_unsupported(void);

// The release or fork that the runtime seems to be, by its public functions.
const char *sprag_ode_seems_to_be(void);

// ---- islands.c: a step of ODE in parts

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

// The first part of a step of ODE: auto-disable, wake-up, islands; and working memory in which
// dWorldQuickStep can take an island. false: no memory.
bool sprag_ode_find_islands(dWorldID world, dReal step, ode_islands *islands);

// ODE's own steppers do this before they find islands, and after the step.
void sprag_ode_begin_step(dWorldID world, bool quick);
void sprag_ode_end_step(dWorldID world);

// Does sprag_ode_begin_step add forces of fluids?
bool sprag_ode_has_fluids(bool quick);

// Visits the islands of a step one after the other, from {.islands = ...} on.
typedef struct ode_island_walk {
    const ode_islands *islands;
    size_t next; // number of the next island
    ode_island island;
} ode_island_walk;

// false: there is no further island.
static inline bool sprag_ode_next_island(ode_island_walk *walk)
{
    const ode_islands *is = walk->islands;
    ode_island *at = &walk->island;
    if (walk->next == is->count) {
        return false;
    }
    at->body = walk->next ? at->body + at->bodies : is->bodies;
    at->joint = walk->next ? at->joint + at->joints : is->joints;
    at->bodies = (int)is->sizes[2 * walk->next];
    at->joints = (int)is->sizes[2 * walk->next + 1];
    walk->next++;
    return true;
}

// Stock ODE steps this one island and nothing else. quick: the program called dWorldQuickStep,
// which draws random numbers. memory_of_step: dWorldStep has found the islands, and taken memory
// for itself alone. false: no memory.
bool sprag_ode_step_island(dWorldID world, const ode_island *island, dReal step, bool quick,
                           bool memory_of_step);

// dxProcessIslands. stepper, max_calls: as dWorldStep and dWorldQuickStep pass them.
bool sprag_ode_process_islands(dWorldID world, const ode_islands *islands, dReal step,
                               void *stepper, void *max_calls);

// The lock of sprag_ode_step_island in worlds that share ODE's default threading implementation.
// Taken around a fork, before all other locks.
void sprag_ode_lock_default(bool lock);
void sprag_ode_renew_default_lock(void); // in a forked child, which cannot release it

// Is this the stepper that dWorldQuickStep passes to dxProcessIslands?
bool sprag_ode_is_quick_stepper(void *stepper);

void sprag_ode_step_body(dBodyID body, dReal step); // dxStepBody

// ---- threads.c: the program's own threads

// Threads in which stock would step the islands of a world: those of the threading implementation
// that the program has set, up to dWorldSetStepIslandsProcessingMaxThreadCount. 1: none is set.
int sprag_ode_threads(dWorldID world);

// Is the world's threading implementation ODE's default? It is one for all worlds, and fails when
// two threads step at once. true also where ODE's layout is another.
bool sprag_ode_uses_default_threads(dWorldID world);

// Gives a world that has the program's threads one of its own instead, for good.
void sprag_ode_use_one_thread(dWorldID world);

// Calls job(data, 0) here and job(data, 1) to job(data, jobs - 1) in these threads, and waits for
// them. ODE must have found the world's islands before. false: not all have been called.
bool sprag_ode_run(dWorldID world, int jobs, void (*job)(void *data, int number), void *data);

// ---- symbols.c: the functions of ODE behind those that libsprag interposes

int sprag_ode_world_step(dWorldID world, dReal step, bool quick);
void sprag_ode_world_destroy(dWorldID world);
void sprag_ode_world_delete(dWorldID world); // the destructor of dxWorld
void sprag_ode_message(const char *text);    // to the program's message handler, or stderr
int sprag_ode_collide(dGeomID a, dGeomID b, int flags, dContactGeom *contact, int skip);
void sprag_ode_space_collide(dSpaceID space, void *data, dNearCallback *callback);
void sprag_ode_space_collide2(dGeomID a, dGeomID b, void *data, dNearCallback *callback);
void sprag_ode_geom_destroy(dGeomID geom);
void sprag_ode_space_destroy(dSpaceID space);
void sprag_ode_body_destroy(dBodyID body);
void sprag_ode_joint_destroy(dJointID joint);
void sprag_ode_joint_group_empty(dJointGroupID group);
void sprag_ode_joint_group_destroy(dJointGroupID group);

// The functions by which a program gives a mesh other triangles, as CHANGE(name, parameters,
// arguments). sprag_ode_name is the function of ODE; an ODE without meshes has none.
#define ODE_MESH_ARRAYS                                                                            \
    dTriMeshDataID g, const void *at, int stride, int vertices, const void *index, int indices,    \
        int width
#define ODE_MESH_SIMPLE                                                                            \
    dTriMeshDataID g, const dReal *at, int vertices, const dTriIndex *index, int indices
#define ODE_MESH_CHANGES(CHANGE)                                                                   \
    CHANGE(dGeomTriMeshDataUpdate, (dTriMeshDataID g), (g))                                        \
    CHANGE(dGeomTriMeshDataBuildSingle, (ODE_MESH_ARRAYS),                                         \
           (g, at, stride, vertices, index, indices, width))                                       \
    CHANGE(dGeomTriMeshDataBuildDouble, (ODE_MESH_ARRAYS),                                         \
           (g, at, stride, vertices, index, indices, width))                                       \
    CHANGE(dGeomTriMeshDataBuildSingle1, (ODE_MESH_ARRAYS, const void *normals),                   \
           (g, at, stride, vertices, index, indices, width, normals))                              \
    CHANGE(dGeomTriMeshDataBuildDouble1, (ODE_MESH_ARRAYS, const void *normals),                   \
           (g, at, stride, vertices, index, indices, width, normals))                              \
    CHANGE(dGeomTriMeshDataBuildSimple, (ODE_MESH_SIMPLE), (g, at, vertices, index, indices))      \
    CHANGE(dGeomTriMeshDataBuildSimple1, (ODE_MESH_SIMPLE, const int *normals),                    \
           (g, at, vertices, index, indices, normals))
#define ODE_DECLARE_CHANGE(name, parameters, arguments) void sprag_ode_##name parameters;
ODE_MESH_CHANGES(ODE_DECLARE_CHANGE)

// A geom in the list that every kind of space has; NULL if the runtime has no such function.
dGeomID sprag_ode_listed_geom(dSpaceID space, int index);

// The function of a sample of a heightfield, scaled (m); NULL if the runtime has none.
typedef dReal ode_height_fn(dHeightfieldDataID data, int x, int z);
ode_height_fn *sprag_ode_height(void);

// ---- overrides.c

// dSetColliderOverride.
void sprag_ode_override_collider(int i, int j, dColliderFn *collider);

// Has the program set a collider for the classes of these geoms?
bool sprag_ode_is_overridden(dGeomID a, dGeomID b);

// ---- layout.c: ODE's private structs

typedef struct ode_row_count { // dxJoint::Info1
    unsigned char rows, unbounded;
} ode_row_count;

// Enabled and attached to a body? A callback within the step may have disabled or detached a joint
// after ODE made the islands.
bool sprag_ode_joint_acts(dJointID joint);

ode_row_count sprag_ode_count_rows(dJointID joint); // getInfo1

enum { ODE_ROWS_MAX = 6 }; // of a joint

// dContactGeom.side1 of contacts that sprag's dCollide finds where geoms do not overlap. Negative
// depths of other contacts touch, as in ODE.
enum { ODE_SIDE_OF_GAP = -2 };

// The same, of contacts without force that geoms have where only something else may turn them
// towards one another.
enum { ODE_SIDE_ASIDE = -3 };

typedef struct ode_rows {
    int count;
    dReal *J1, *J2;         // 6 a row
    dReal *rhs_cfm, *lo_hi; // 2 a row
    int *findex;
} ode_rows;

// getInfo2. The caller has set what ODE's steppers set before they ask a joint.
void sprag_ode_get_rows(dJointID joint, dReal rate, dReal erp, const ode_rows *rows);

// The ERP that a joint has for all its rows. 0: it has none, or none but 0.
dReal sprag_ode_own_erp(dJointID joint);

// The ERP of its stop, of several that of its way, or of its first axis. 0: it has none, or none
// but 0.
dReal sprag_ode_stop_erp(dJointID joint);

// The number of a parameter of joints, of those from dParamLoStop to dParamERP, in the running ODE.
int sprag_ode_parameter(int parameter);

// The axis of a hinge of a body and the world, there, as the program gave it: of any length. Errors
// of the axes are in proportion to it. NULL: ODE's layout is unknown.
const dReal *sprag_ode_axis_in_world(dJointID hinge);

// The anchors (m) of a joint that holds a distance (DBall, DHinge), of the bodies in the order of
// sprag_ode_joint_bodies. false: it is none.
bool sprag_ode_distance_anchors(dJointID joint, dVector3 anchor[2]);

// The parts of a contact joint's dContact. `room` is for an ODE whose surfaces lack some fields.
const dContactGeom *sprag_ode_contact_geom(dJointID joint);
const dReal *sprag_ode_contact_direction(dJointID joint); // fdir1
const dSurfaceParameters *sprag_ode_contact_surface(dJointID joint, dSurfaceParameters *room);

// The bodies of a joint as ODE stores them: [0] is never NULL. reversed: attached as (0, body).
void sprag_ode_joint_bodies(dJointID joint, dBodyID body[2], bool *reversed);

// Does the program have a moved callback for this body, for any of these? true also if ODE's layout
// is unknown.
bool sprag_ode_calls_back(dBodyID body);
bool sprag_ode_any_calls_back(dBodyID const *body, int bodies);

// Times that dWorldQuickStep shuffles the rows of an island in so many iterations. A shuffle draws
// a random number for every row but the first.
int sprag_ode_shuffles(int iterations);

// ---- body_number.c

// 1 for the oldest body that its world still has, and so on. 0: ODE's list of bodies has an unknown
// layout. Takes time in proportion to the number of bodies.
int sprag_ode_body_number(dBodyID body);

// The bodies of a world, from the newest to the oldest; NULL: no more, or the layout of ODE's list
// is unknown.
dBodyID sprag_ode_newest_body(dWorldID world);
dBodyID sprag_ode_older_body(dBodyID body);

// The joints likewise, also those without effect.
dJointID sprag_ode_newest_joint(dWorldID world);
dJointID sprag_ode_older_joint(dJointID joint);

bool sprag_ode_lists_are_known(void);

// Check the layout with the only two joints, and the only two bodies, of a world.
void sprag_ode_check_joint_list(dJointID older, dJointID newer);
void sprag_ode_check_body_list(dBodyID older, dBodyID newer);

// A dMatrix3, row by row without its padding.
static inline void sprag_ode_pack(const dReal *rows_of_4, double *rows_of_3)
{
    for (int i = 0; i < 3; i++) {
        memcpy(rows_of_3 + 3 * i, rows_of_4 + 4 * i, 3 * sizeof *rows_of_3);
    }
}

// ---- poses.c

void sprag_ode_read_pose(dBodyID body, sprag_pose *pose);
void sprag_ode_set_pose(sprag_pose *pose, const dReal *at, const dReal *R);
void sprag_ode_read_velocity(dBodyID body, double velocity[6]);
void sprag_ode_read_bounds(dGeomID geom, double bounds[6]); // m, lo and hi

#endif
