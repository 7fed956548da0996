// ODE in, problem out, and back: all that this layer offers. It knows ODE's joints, flags and
// private steps; it knows no solver's method and no plugin.
#ifndef SPRAG_ODE_H
#define SPRAG_ODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ode/ode.h>

#include "solvers/advance.h"
#include "solvers/problem.h"
#include "solvers/scratch.h"

// ---- meet.c: the ODE that we serve

// To be called before any other of ODE's functions, wherever a program calls us, with an object of
// ODE's (NULL: none at hand) and an address in the caller's code. NULL: go on; otherwise the
// function `name` of another ODE, which the call is meant for.
void *sprag_ode_meet(const void *object, const void *caller, const char *name);

void *sprag_ode_symbol(const char *name); // not in the archive

// Of the ODE that we serve: another one when that has been closed. What is known of an ODE is of
// one number.
unsigned sprag_ode_number(void);

typedef struct ode_once {
    _Atomic(unsigned) looked_at; // its number
} ode_once;

// Looks at it once; `look` may not call this.
void sprag_ode_once(ode_once *once, void look(void));

// A function that we call by its name and this ODE lacks; NULL: none.
const char *sprag_ode_missing_call(void);

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

// ---- pool.c: the program's own threads

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
void sprag_ode_hold_default(bool hold); // around a fork, before all other locks

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

// ---- memory.c: forces of the last step, to start the next one from

typedef struct ode_memory ode_memory;

ode_memory *sprag_ode_memory_make(void); // NULL: no memory
void sprag_ode_memory_free(ode_memory *memory);

// What a contact is known by from step to step.
typedef struct ode_claim {
    uintptr_t key[3];
    double position[3]; // m
    double sign;        // of the pair: 1, -1
    int run;            // what is remembered of the pair
} ode_claim;

// Of a contact whose frame is known; all but the run.
void sprag_ode_claim_force(ode_claim *claim, dJointID joint, const sprag_contact *contact);

// Sets the guesses of the contacts of an island.
void sprag_ode_recall_contacts(ode_memory *memory, ode_claim *claim, const dJointID *joint,
                               sprag_contact *contact, int contacts);

// N or N m; 0 if unknown. row: from 0.
double sprag_ode_recall_row(const ode_memory *memory, dJointID joint, int row);

void sprag_ode_remember_row(ode_memory *memory, dJointID joint, int row, double force);

// From here to the closing several threads may recall and remember, each for other islands, of so
// many joints together. false: no memory, one thread only.
bool sprag_ode_memory_open(ode_memory *memory, long joints);
void sprag_ode_memory_close(ode_memory *memory);

// What has been remembered since the last call becomes the last step.
void sprag_ode_memory_turn(ode_memory *memory);

// ---- surface.c: physical parameters of a contact, in what ODE leaves free of its surface

// Bits of dSurfaceParameters.mode that ODE has no use for, and the fields that then hold a value,
// which ODE reads under its own bit only.
enum {
    ODE_SURFACE_STIFFNESS = 0x10000,   // soft_cfm, N/m; ODE's: dContactSoftCFM
    ODE_SURFACE_DISSIPATION = 0x20000, // soft_erp, s/m; ODE's: dContactSoftERP
    ODE_SURFACE_STICTION = 0x40000,    // motionN, m/s; ODE's: dContactMotionN
};

// The normal law of contacts whose surface has neither such parameters nor an ERP or CFM of its
// own.
typedef struct ode_stiffness {
    double stiffness;   // N/m; 0: the world's ERP and CFM
    double dissipation; // s/m
} ode_stiffness;

// Sets what a surface says of stiffness, dissipation and stiction. Returns NULL, or what is wrong
// with the surface and what is done about it, for a message.
const char *sprag_ode_pull_surface(sprag_contact *to, const dSurfaceParameters *surface,
                                   const ode_stiffness *of_world);

// ---- surface_of.c: the rest of it, with the meaning that ODE gives it

// All but the direction.
void sprag_ode_read_surface(sprag_surface *to, const dSurfaceParameters *surface,
                            dReal cfm_of_world);

// Of a contact joint, for a pair whose side 0 is of the body `first` (NULL: static). The direction
// is set wherever it makes a difference, to fdir1 or to what ODE would take.
void sprag_ode_surface_of(sprag_surface *to, dJointID joint, dWorldID world, dBodyID first);

// ---- pull.c, bodies.c, contacts.c, joints.c, push.c: one island

typedef struct ode_problem {
    sprag_problem problem;   // a view of the arrays below
    sprag_solution solution; // for the solver to fill in
    ode_island island;
    sprag_body *body;
    sprag_contact *contact;
    sprag_row *row;
    dJointID *contact_joint; // of the contacts
    ode_claim *claim;        // likewise
    dJointID *row_joint;     // of the rows; a joint's rows follow one another
    int *rows_of;            // of the island's joints: rows that stock would have solved
    int stock_rows;          // their sum
    bool wants_feedback;     // a joint that has rows
    double (*force)[6];      // accumulators of the bodies before the pull
    double penetration;      // m, largest
    int dropped;             // contacts without a usable normal, point or depth
    dJointID bad_contact;    // the first of them
    int odd_surfaces;        // contacts whose physical parameters cannot be taken as they are
    dJointID odd_surface;    // the first of them
    const char *oddity;      // and what is wrong with it
    int bad_forces;          // bodies whose accumulated force was not finite, and taken as zero
    dBodyID bad_force;       // the first of them
    dBodyID unusable;        // a body whose state is not finite: the island cannot be stepped
} ode_problem;

// Asks every joint once (getInfo1, getInfo2). memory: NULL for none. stiffness: of the world, NULL
// for ODE's own. SPRAG_OK, SPRAG_NO_MEMORY, or SPRAG_BAD_PROBLEM if there is an unusable body.
sprag_result sprag_ode_pull(ode_problem *pulled, dWorldID world, const ode_island *island,
                            dReal step, const ode_stiffness *stiffness, ode_memory *memory,
                            sprag_scratch *scratch);

// What a joint's feedback is to hold.
typedef struct ode_feedback {
    dJointFeedback *to;
    bool two;            // bodies
    double wrench[2][6]; // N, N m: on each
} ode_feedback;

// A step of an island, in this order. Several threads may do the first at once, each for other
// islands: velocities, and what is remembered of forces (memory: NULL for nothing). feedback: room
// for one of each joint; returns how many are told, for the second: joints of several islands may
// share a dJointFeedback, the last island's is left in it, as by stock. The third is ODE's own
// integration, with geoms and moved callbacks, and empties the accumulators; force: room for one of
// each body, if what a callback adds to those moved later is to act, NULL: it is lost.
int sprag_ode_push_velocities(const ode_problem *pulled, ode_memory *memory,
                              ode_feedback *feedback);
void sprag_ode_push_feedback(const ode_feedback *feedback, int count);
void sprag_ode_move(const ode_island *island, dReal step, double (*force)[6]);

// Accumulators as they were before the pull, for stock to take the step.
void sprag_ode_restore(const ode_problem *pulled);

// Steps a body that no joint touches, at once. *bad_force: its accumulated force was not finite,
// and was taken as zero. Returns false, and does nothing, if its state is not finite.
bool sprag_ode_step_free(dBodyID body, dWorldID world, dReal step, bool *bad_force);

// Leaves the bodies where they are and empties their accumulators.
void sprag_ode_hold(const ode_island *island);

// ---- between pull.c, push.c and their parts

void sprag_ode_set_velocity(dBodyID body, const double velocity[6]);
void sprag_ode_read_velocity(dBodyID body, double velocity[6]);
void sprag_ode_read_pose(dBodyID body, sprag_pose *pose);
void sprag_ode_set_pose(sprag_pose *pose, const dReal *at, const dReal *R);
void sprag_ode_read_accumulators(dBodyID body, double force[6]);
void sprag_ode_set_accumulators(dBodyID body, const double force[6]);
void sprag_ode_empty_accumulators(dBodyID body);
void sprag_ode_add_weight(dBodyID body); // as stock does, before a moved callback may ask
void sprag_ode_integrate(dBodyID body, dReal step); // with geoms and moved callback; empties them
void sprag_ode_add_feedback(dJointFeedback *to, const double wrench[2][6], bool two);
void sprag_ode_clear_feedback(dJointID joint);
void sprag_ode_remember(ode_memory *memory, const ode_problem *pulled);

// What lies far apart in memory is read a block at a time before it is used: so the processor waits
// for all of its lines at once. It drops most requests that only ask for lines.
enum { ODE_BLOCK = 16 };

static inline void sprag_ode_fetch(const void *from, const void *end)
{
    enum { LINE = 64 }; // bytes
    for (const volatile char *p = from; p < (const volatile char *)end; p += LINE) {
        (void)*p;
    }
    (void)((const volatile char *)end)[-1];
}

// Those of the block that starts at i, up to the accumulators.
static inline void sprag_ode_fetch_bodies(dBodyID const *body, int i, int count)
{
    for (int k = i; k < count && k < i + ODE_BLOCK; k++) {
        sprag_ode_fetch(body[k], dBodyGetTorque(body[k]) + 3);
    }
}

bool sprag_ode_body_is_usable(dBodyID id);
bool sprag_ode_is_moderate(const dReal *x, int n);

// What pushes a body, gravity included, and what it weighs, in its own axes; 0, a kinematic one.
// false: its accumulated force was not finite.
bool sprag_ode_pull_mover(sprag_mover *to, dBodyID id, const dReal *gravity);

// false: its accumulated force was not finite.
bool sprag_ode_pull_body(sprag_body *to, dBodyID id, const dReal *gravity, dReal step);

// Index of a body in its island, SPRAG_STATIC for NULL.
typedef struct ode_slot {
    dBodyID body; // NULL: free
    int index;
} ode_slot;

// Where a body is and how it moves, for the many contacts that ask.
typedef struct ode_state {
    double position[3]; // m
    double velocity[6]; // m/s, rad/s
} ode_state;

typedef struct ode_index {
    int mask; // slots less 1, a power of two less 1
    ode_slot *slot;
    ode_state *state; // of the bodies; NULL: ODE tells
} ode_index;

void sprag_ode_read_state(ode_state *to, dBodyID body);

static inline ode_slot *sprag_ode_slot_of(const ode_index *index, dBodyID body)
{
    uint64_t hash = (uint64_t)(uintptr_t)body * 0x9e3779b97f4a7c15u;
    int i = (int)((hash >> 32) & (uint64_t)index->mask);
    while (index->slot[i].body && index->slot[i].body != body) {
        i = (i + 1) & index->mask;
    }
    return &index->slot[i];
}

// false: no memory.
bool sprag_ode_index_bodies(ode_index *index, dBodyID const *body, int bodies,
                            sprag_scratch *scratch);

// SPRAG_STATIC also for a body that is not in it.
static inline int sprag_ode_index_of(const ode_index *index, dBodyID body)
{
    const ode_slot *slot = body ? sprag_ode_slot_of(index, body) : NULL;
    return slot && slot->body ? slot->index : SPRAG_STATIC;
}

// What a world says to all its contacts in a step.
typedef struct ode_setting {
    dReal step, erp, cfm, surface_layer, correcting_velocity; // s, 1, m/s per N, m, m/s
} ode_setting;

ode_setting sprag_ode_setting(dWorldID world, dReal step);

// Fills in one contact that is all zero; false, and it stays so, if it is to be dropped. *oddity:
// NULL, or what is wrong with its surface. Rolling friction is put into the scratch.
bool sprag_ode_pull_contact(sprag_contact *to, dJointID joint, const ode_setting *setting,
                            const ode_stiffness *stiffness, const ode_index *index,
                            sprag_scratch *scratch, const char **oddity);

// Appends the rows of one joint; returns their number.
int sprag_ode_pull_rows(sprag_row *to, dJointID joint, int rows, dWorldID world, dReal step,
                        const ode_index *index, const ode_memory *memory);

#endif
