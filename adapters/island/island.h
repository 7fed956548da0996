// One island of an ODE world: ODE in, problem out, and back.
#ifndef SPRAG_ISLAND_H
#define SPRAG_ISLAND_H

#include "frame.h"
#include "hash.h"
#include "ode.h"
#include "problem.h"
#include "scratch.h"
#include "warm_start.h"

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

// ---- surface_ode.c: the rest of it, with the meaning that ODE gives it

// All but the direction.
void sprag_ode_read_surface(sprag_surface *to, const dSurfaceParameters *surface,
                            dReal cfm_of_world);

// Of a contact joint, for a pair whose side 0 is of the body side_0 (NULL: static). The direction
// is set wherever it makes a difference, to fdir1 or to what ODE would take.
void sprag_ode_surface_of(sprag_surface *to, dJointID joint, dWorldID world, dBodyID side_0);

// ---- contact_frame.c

// Bodies of a contact joint in the order of sprag_ode_joint_bodies, and its axes: the unit normal
// into body[0] and two tangents, the first one along fdir1 if that is set. false: the normal has no
// usable length; the frame is undefined.
bool sprag_ode_contact_frame(double frame[3][3], dJointID joint, dBodyID body[2]);

// ---- pull.c, bodies.c, contacts.c, joints.c, push.c: one island

typedef struct ode_problem {
    sprag_problem problem;   // a view of the arrays below
    sprag_solution solution; // for the solver to fill in
    ode_island island;
    sprag_body *body;
    sprag_contact *contact;
    sprag_row *row;
    dJointID *contact_joint;   // of the contacts
    ode_warm_key *claim;       // likewise
    dJointID *row_joint;       // of the rows; a joint's rows follow one another
    int *rows_of;              // of the island's joints: rows that stock would have solved
    int stock_rows;            // their sum
    bool wants_feedback;       // a joint that has rows
    double (*force)[6];        // accumulators of the bodies before the pull
    double penetration;        // m, largest
    int dropped_contacts;      // contacts without a usable normal, point or depth
    dJointID invalid_contact;  // the first of them
    int invalid_surfaces;      // contacts whose physical parameters cannot be taken as they are
    dJointID invalid_surface;  // the first of them
    const char *surface_error; // and what is wrong with it
    int invalid_forces;        // bodies whose accumulated force was not finite, and taken as zero
    dBodyID invalid_force;     // the first of them
    dBodyID nonfinite_body;    // a body whose state is not finite: the island cannot be stepped
} ode_problem;

// Asks every joint once (getInfo1, getInfo2). memory: NULL for none. stiffness: of the world, NULL
// for ODE's own. SPRAG_OK, SPRAG_NO_MEMORY, or SPRAG_BAD_PROBLEM if there is an unusable body.
sprag_result sprag_ode_pull(ode_problem *pulled, dWorldID world, const ode_island *island,
                            dReal step, const ode_stiffness *stiffness, ode_warm_start *memory,
                            sprag_scratch *scratch);

// The force of a joint that wants feedback, computed by sprag_ode_push_velocities.
typedef struct ode_feedback {
    dJointID joint;
    double wrench[2][6]; // N, N m: on the joint's bodies, in the order of sprag_ode_joint_bodies
} ode_feedback;

// A step of an island, in this order. Several threads may do the first at once, each for other
// islands: velocities, and what is remembered of forces (memory: NULL for nothing). feedback: room
// for one of each joint; returns how many are told, for the second: joints of several islands may
// share a dJointFeedback, the last island's is left in it, as by stock. The third is ODE's own
// integration, with geoms and moved callbacks, and empties the accumulators; force: room for one of
// each body, if what a callback adds to those moved later is to act, NULL: it is lost.
int sprag_ode_push_velocities(const ode_problem *pulled, ode_warm_start *memory,
                              ode_feedback *feedback);
void sprag_ode_push_feedback(const ode_feedback *feedback, int count);
void sprag_ode_move(const ode_island *island, dReal step, double (*force)[6]);

// Accumulators as they were before the pull, for stock to take the step.
void sprag_ode_restore(const ode_problem *pulled);

// Steps a body that no joint touches, at once. *invalid_force: its accumulated force was not
// finite, and was taken as zero. Returns false, and does nothing, if its state is not finite.
bool sprag_ode_step_free(dBodyID body, dWorldID world, dReal step, bool *invalid_force);

// Leaves the bodies where they are and empties their accumulators.
void sprag_ode_freeze(const ode_island *island);

// ---- feedback.c: the only writer of dJointFeedback. Joints without feedback are ignored.

void sprag_ode_feedback_clear(dJointID joint);
void sprag_ode_feedback_add(dJointID joint, const double wrench[2][6]); // as ode_feedback's

// The same for a contact between two geoms; wrench[0] acts on the body side_0 (NULL: static).
void sprag_ode_feedback_add_pair(dJointID joint, dBodyID side_0, const double wrench[2][6]);

// Of every joint of the island that has rows and wants feedback. Returns their number.
int sprag_ode_feedback_of_island(const ode_problem *pulled, ode_feedback *to);

// ---- between pull.c, push.c and their parts

void sprag_ode_set_velocity(dBodyID body, const double velocity[6]);
void sprag_ode_read_velocity(dBodyID body, double velocity[6]);
void sprag_ode_read_accumulators(dBodyID body, double force[6]);
void sprag_ode_set_accumulators(dBodyID body, const double force[6]);
void sprag_ode_empty_accumulators(dBodyID body);
void sprag_ode_add_weight(dBodyID body); // as stock does, before a moved callback may ask

// Adds to a velocity of the body what forces that moved callbacks of other bodies have added to its
// accumulators, since those were `before`, do in a step: as in dWorldStep they change the velocity
// at once, and not the motion of the step. false: they are not finite, or too large.
bool sprag_ode_apply_added_force(dBodyID body, const double before[6], dReal step,
                                 double velocity[6]);
void sprag_ode_integrate(dBodyID body, dReal step); // with geoms and moved callback; empties them
void sprag_ode_warm_start_store(ode_warm_start *memory, const ode_problem *pulled);

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

// A parameter that must not be negative; ODE takes a negative mu as 0 as well.
static inline double positive(double x)
{
    return x > 0 ? x : 0;
}

bool sprag_ode_body_is_finite(dBodyID id);

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
    int i = sprag_ode_hash_slot(sprag_ode_hash(0, (uintptr_t)body), index->mask);
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

// Fills in one contact that is all zero; false, and it stays so, if it is to be dropped.
// *surface_error: NULL, or what is wrong with its surface. Rolling friction is put into the
// scratch.
bool sprag_ode_pull_contact(sprag_contact *to, dJointID joint, const ode_setting *setting,
                            const ode_stiffness *stiffness, const ode_index *index,
                            sprag_scratch *scratch, const char **surface_error);

// Appends the rows of one joint; returns their number.
int sprag_ode_pull_rows(sprag_row *to, dJointID joint, int rows, dWorldID world, dReal step,
                        const ode_index *index, const ode_warm_start *memory);

#endif
