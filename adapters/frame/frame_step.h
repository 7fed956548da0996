// One step of an ODE world by conservative advancement: its bodies in groups that may meet within
// the step, each group through its frame (solvers/advance/advance.h; or
// solvers/compliant/compliant.h, where contacts yield), and back into ODE.
#ifndef SPRAG_FRAME_STEP_H
#define SPRAG_FRAME_STEP_H

#include "advance.h"
#include "compliant.h"
#include "geom_pairs.h"
#include "island.h"
#include "pair_answers.h"

// What happened, as a program can use it. Geoms and bodies: NULL, none.
typedef struct ode_event {
    sprag_event_kind kind;
    dGeomID geom[2]; // the normal points into the body of the first
    dBodyID body[2];
    dJointID joint; // of a limit; NULL: none
    double time;    // s, from the start of the step
    double position[3], normal[3];
    double speed; // m/s
} ode_event;

typedef struct ode_advance {
    dWorldID world;
    dReal step;
    bool quick;  // forces that a moved callback adds within an island are lost, as in QuickStep
    long number; // of the step, from 1
    const ode_islands *islands;
    ode_geometry *geometry;
    ode_warm_start *memory;     // of rows
    const ode_collision *calls; // of the program, since its last step
    int call_count;
    void *data;
    // Has the program been asked about these two since its last step? Where they touched then and
    // it made no contact, it wants none.
    bool (*offered)(void *data, dGeomID a, dGeomID b);
    double reach;    // m, at which pairs touched then
    double foreseen; // m, and at which they counted as touching all the same; 0: at none
    // Asks it now, with both where they are, `gap` (m) apart. The contact joint that it made, or
    // NULL. NULL: it must not be asked within a step; what it has not been asked about before
    // slides without friction.
    dJointID (*ask)(void *data, const ode_pair *pair, double gap);
    void (*event)(void *data, const ode_event *event);
    // The step begins anew, because a body went farther than was thought: nothing has happened yet.
    // NULL: nobody wants to know.
    void (*anew)(void *data);
    // A pair that a force acts between across a gap of more than that: it rolls or pivots. NULL: is
    // not wanted.
    void (*held)(void *data, const ode_pair *pair, double reach);
    sprag_advance_options options;
    const sprag_compliant_options *compliant; // contacts yield; NULL: they do not
    const ode_stiffness *stiffness;           // theirs, where their surface has none
    sprag_scratch *scratch; // [4]: of the step, of a group, of its frame, of its solves
    bool compares;          // the normals of the program's contacts with those of the geoms
    bool wakes; // bodies that sleep where something may hit them end the call: see `sleeper`
    // set:
    dBodyID *sleeper; // to be enabled before the step is taken: it has not been
    int sleepers;
    sprag_advance_stats stats;             // add up
    sprag_compliant_stats compliant_stats; // likewise
    sprag_compliant_reason left_because;   // of the last group that was left to an implicit step
    int left;                              // such groups of this step
    dJointID untold; // a joint for whole steps only, so that its group was left; NULL: none
    dGeomID
        without_distance; // a mesh or heightfield, whose contacts are taken as given; NULL: none
    int bodies, groups, contacts, rows, given; // given: contacts without shapes
    double penetration;                        // m, at the start
    double fastest;                            // m/s, of any point of a body, at the end
    int invalid_forces, frozen_bodies;
    dBodyID invalid_force, nonfinite_body;
    dBodyID left_body[SPRAG_COMPLIANT_REASONS]; // of the first group left for each reason
    dGeomID overlap[2];                         // the first two that overlap at the start
    // The first contact of each kind, NULL: there is none
    dJointID soft;   // its own ERP, CFM or stiffness has no meaning here
    dJointID mixed;  // its surface is not that of the first contact of its geoms, which counts
    dJointID turned; // its normal is not that of the geoms, which counts
    dJointID invalid_surface;  // its physical parameters cannot be taken as they are
    const char *surface_error; // and what is wrong with them
    dJointID invalid_contact;  // no usable normal, point or depth
    int dropped_contacts;
    int failed;  // groups that stock must step
    bool *stock; // of the islands: somebody else must step it: stock, or, where contacts yield,
                 // the implicit step
} ode_advance;

// SPRAG_OK or SPRAG_NO_MEMORY; then nothing has moved.
sprag_result sprag_ode_advance(ode_advance *advance);

// ---- joint stops (limits.c)

// The earliest time at most `horizon` at which a joint goes past a stop that it has not reached;
// bodies are put where `place` has them at a time. Leaves them there.
typedef void ode_place_fn(void *data, dBodyID body, double time);
// *which: the joint, if there is one.
double sprag_ode_next_limit(const dJointID *joint, int joints, double horizon, ode_place_fn *place,
                            void *data, dJointID *which);

// Has the joint a stop?
bool sprag_ode_has_limit(dJointID joint);

// Rows (6 at most) and stops (6 at most; `row` is of those rows) of a joint as
// solvers/compliant/compliant.h wants them: without the rows of stops, but with one for every
// coordinate that has some. -1: ODE does not give them.
int sprag_ode_pull_coordinates(sprag_row *to, sprag_stop *stop, int *stops, dJointID joint,
                               dWorldID world, dReal step, const ode_index *index,
                               const ode_warm_start *memory);

#endif
