// One step of an ODE world by a method that works within the step: its bodies are put into groups
// that may meet within the step, each group goes through its frame (solvers/advance/advance.h, or
// solvers/compliant/compliant.h for compliant contacts), and the result goes back into ODE.
#ifndef SPRAG_FRAME_STEP_H
#define SPRAG_FRAME_STEP_H

#include "advance.h"
#include "compliant.h"
#include "geom_pairs.h"
#include "island.h"
#include "pair_answers.h"

// An event as the program gets it. Geoms and bodies: NULL, none.
typedef struct ode_event {
    sprag_event_kind kind;
    dGeomID geom[2]; // the normal points into the body of the first, which moves
    dBodyID body[2];
    dJointID joint; // of a limit; NULL: none
    double time;    // s, from the start of the step
    double position[3], normal[3];
    double speed; // m/s
} ode_event;

typedef struct ode_advance {
    // ---- by the caller: the step
    dWorldID world;
    dReal step;
    bool quick;  // forces that a moved callback adds within an island are lost, as in QuickStep
    long number; // of the step, from 1
    const ode_islands *islands;
    ode_geometry *geometry;
    ode_warm_start *memory;     // of rows
    const ode_collision *calls; // of the program, since its last step
    int call_count;
    sprag_advance_options options;
    const sprag_compliant_options *compliant; // NULL: contacts are rigid
    const ode_stiffness *stiffness;           // of compliant contacts whose surface has none
    sprag_scratch *scratch; // [4]: of the step, of a group, of its frame, of its solves
    double reach;           // m, gap up to which pairs touched at the program's last calls
    double foreseen; // m, gap up to which pairs counted as touching there in advance; 0: none did
    bool compares;   // compare the normals of the program's contacts with those of the geoms
    bool wakes;      // end the call if sleeping bodies may be hit: see `sleeper`

    // ---- by the caller: calls; NULL: not wanted, unless said otherwise
    void *data;
    // Has the program been asked about these two since its last step? If they touched then and it
    // made no contact, it wants none.
    bool (*offered)(void *data, dGeomID a, dGeomID b);
    // Asks the program now, with both where they are, `gap` (m) apart. Returns the contact joint
    // that it made, or NULL. NULL: the program must not be asked within a step; pairs that it has
    // not been asked about slide without friction.
    dJointID (*ask)(void *data, const ode_pair *pair, double gap);
    void (*event)(void *data, const ode_event *event);
    // The step begins anew, because a body moved farther than its reach: events are void.
    void (*anew)(void *data);
    // A pair has a force across a gap of more than that: it rolls or pivots.
    void (*held)(void *data, const ode_pair *pair, double reach);

    // ---- by the step: what the caller still has to do
    dBodyID *sleeper; // to be enabled; if there are any, the step has not been taken
    int sleepers;
    bool *stock; // of the islands: to be stepped by stock, or by the implicit step (compliant)

    // ---- by the step: statistics
    sprag_advance_stats stats;             // add up
    sprag_compliant_stats compliant_stats; // likewise
    sprag_compliant_reason left_because;   // of the last group that was left to an implicit step
    int left;                              // such groups of this step
    int failed;                            // groups that stock must step
    int bodies, groups, contacts, rows;
    int given;          // contacts without shapes
    double penetration; // m, at the start
    double fastest;     // m/s, of any point of a body, at the end
    int invalid_forces, frozen_bodies, dropped_contacts;

    // ---- by the step: examples for warnings, the first of each kind; NULL: none
    dBodyID invalid_force, nonfinite_body;
    dBodyID left_body[SPRAG_COMPLIANT_REASONS]; // of the first group left for each reason
    dGeomID overlap[2];                         // that overlap at the start
    dGeomID without_distance;  // a mesh or heightfield, whose contacts are taken as given
    dJointID untold;           // a joint for whole steps only, so that its group was left
    dJointID soft;             // a contact whose own ERP, CFM or stiffness has no effect
    dJointID mixed;            // its surface differs from that of its geoms' first contact
    dJointID turned;           // its normal differs from that of the geoms
    dJointID invalid_surface;  // its physical parameters cannot be used
    const char *surface_error; // and the reason
    dJointID invalid_contact;  // without a usable normal, point or depth
} ode_advance;

// SPRAG_OK or SPRAG_NO_MEMORY; then nothing has moved.
sprag_result sprag_ode_advance(ode_advance *advance);

// ---- joint stops (limits.c)

// Puts a body where it is at a time.
typedef void ode_place_fn(void *data, dBodyID body, double time);

// s, at most `horizon`: the earliest time at which a joint goes past a stop that it has not
// reached. Leaves the bodies where it has placed them last. *which: the joint, if there is one.
double sprag_ode_next_limit(const dJointID *joint, int joints, double horizon, ode_place_fn *place,
                            void *data, dJointID *which);

// Has the joint a stop?
bool sprag_ode_has_limit(dJointID joint);

// Rows (6 at most) and stops (6 at most) of a joint as sprag_frame_calls' coordinates has them:
// stops have no rows, but every coordinate with stops has one. -1: ODE does not give them.
int sprag_ode_pull_coordinates(sprag_row *to, sprag_stop *stop, int *stops, dJointID joint,
                               dWorldID world, dReal step, const ode_index *index,
                               const ode_warm_start *memory);

#endif
