// One step of an ODE world by a method that works within the step: its bodies are put into groups
// that may meet within the step, each group goes through its frame (solvers/advance/advance.h, or
// solvers/compliant/compliant.h for compliant contacts), and the result goes back into ODE.
#ifndef SPRAG_FRAME_STEP_H
#define SPRAG_FRAME_STEP_H

#include "advance.h"
#include "compliant.h"
#include "derivative.h"
#include "fluids.h"
#include "geom_pairs.h"
#include "island.h"

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

// Set by the caller.
typedef struct ode_advance_input {
    dWorldID world;
    dReal step;  // s
    bool quick;  // forces that a moved callback adds within an island are lost, as in QuickStep
    long number; // of the step, from 1
    const ode_islands *islands;
    ode_geometry *geometry;
    ode_fluids *fluids;             // by sprag_ode_fluids_begin_step; NULL: none
    ode_warm_start *warm_start;     // of rows
    const ode_collision *collision; // calls of the program since its last step
    int collision_calls;
    sprag_advance_options options;
    const sprag_compliant_options *compliant; // NULL: contacts are rigid
    const ode_stiffness *stiffness;           // of compliant contacts whose surface has none
    sprag_scratch *scratch;                   // [4]: of the step, a group, its frame, its solves
    double reach;      // m, gap up to which pairs counted as touching in the program's last calls
    double look_ahead; // m, the same for pairs that were offered in advance; 0: none were
    bool compares_normals; // of the program's contacts with those of the geoms
    bool finds_sleepers;   // end the step at once if it may hit sleeping bodies
} ode_advance_input;

// Functions of the caller, called within the step with `data`. All but was_offered may be NULL.
typedef struct ode_advance_calls {
    void *data;
    // Has a collision call offered these two geoms to the program since its last step? If they
    // touched then and the program made no contact, it wants none.
    bool (*was_offered)(void *data, dGeomID a, dGeomID b);
    // Calls the program's near callback, with both bodies at their present places and `gap` (m)
    // between the geoms. Returns the first contact joint that the callback makes, or NULL. If ask
    // is NULL, pairs that were not offered slide without friction.
    dJointID (*ask)(void *data, const ode_pair *pair, double gap);
    void (*event)(void *data, const ode_event *event);
    // The step starts again, because a body has moved farther than its reach: all events so far are
    // void.
    void (*restart)(void *data);
    // A pair has a force although its gap may be greater than the reach: it rolls or pivots.
    // gap: m, up to which it has one.
    void (*active_across_gap)(void *data, const ode_pair *pair, double gap);
} ode_advance_calls;

// Set by the step. Counts and lengths are those of the whole step.
typedef struct ode_advance_results {
    // for the caller to do:
    dBodyID *sleeper; // bodies to enable; if there are any, the step has not been taken
    int sleepers;
    bool *remaining; // islands to be stepped by the implicit step
    // for statistics:
    sprag_advance_stats stats;
    sprag_compliant_stats compliant_stats;
    int bodies, groups, contacts, rows;
    int given_contacts; // of contacts: without shapes
    double penetration; // m, at the start
    double fastest;     // m/s, of any point of a body, at the end
    int invalid_forces, frozen_bodies, dropped_contacts;
} ode_advance_results;

// Set by the step: the first body, geom or contact that each warning is about; NULL: none.
typedef struct ode_advance_warnings {
    dBodyID invalid_force, nonfinite_body;
    dBodyID implicit_body[SPRAG_COMPLIANT_REASONS]; // of a group left to the implicit step
    dGeomID overlap[2];                             // geoms that overlap at the start
    dGeomID crowded[2];        // with too many triangles: their contacts are taken as given
    dGeomID without_distance;  // a mesh or heightfield, whose contacts are taken as given
    dJointID whole_step_joint; // has no rows within a step: the implicit step takes its group
    dJointID soft;             // a contact whose own ERP, CFM or stiffness has no effect
    dJointID other_surface;    // its surface differs from that of its geoms' first contact
    dJointID other_normal;     // its normal differs from that of the geoms
    dJointID invalid_surface;  // its physical parameters cannot be used
    const char *surface_error; // the reason
    dJointID invalid_contact;  // without a usable normal, point or depth
} ode_advance_warnings;

typedef struct ode_advance {
    ode_advance_input input;
    ode_advance_calls calls;
    ode_advance_results results;
    ode_advance_warnings warnings;
} ode_advance;

// SPRAG_OK or SPRAG_NO_MEMORY; then nothing has moved.
sprag_result sprag_ode_advance(ode_advance *advance);

// Derivatives of the step of compliant contacts that would be taken, of `bodies` bodies
// (sprag_world_linearize). NULL, or the reason why there are none. Nothing moves.
const char *sprag_ode_differentiate(ode_advance *advance, const dBodyID *body, int bodies,
                                    double *A, double *B);

// ---- joint stops (limits.c)

// Puts a body where it is at a time.
typedef void ode_place_fn(void *data, dBodyID body, double time);

enum { ODE_MOST_COORDINATES = 3 };

typedef struct ode_limited {
    dJointID joint;                     // with a stop
    double value[ODE_MOST_COORDINATES]; // rad or m, at the start of a sub-step
} ode_limited;

// Has the joint a stop?
bool sprag_ode_has_limit(dJointID joint);

// A parameter of the first coordinate of a joint whose type has stops.
dReal sprag_ode_limit_parameter(dJointID joint, int parameter);

// Sets the values, with the bodies where they are in ODE.
void sprag_ode_read_limited(ode_limited *limited);

// s, at most `horizon`: the earliest time at which the joint goes past a stop that it has not
// reached. turn: rad/s, of its bodies against each other, at most: angles far from their stops are
// passed over. Leaves the bodies where it has placed them last.
double sprag_ode_next_limit(const ode_limited *limited, double horizon, double turn,
                            ode_place_fn *place, void *data);

// Rows (6 at most) and stops (6 at most) of a joint as sprag_frame_calls' coordinates has them:
// stops have no rows, but every coordinate with stops has one. -1: ODE does not give them.
int sprag_ode_pull_coordinates(sprag_row *to, sprag_stop *stop, int *stops, dJointID joint,
                               dWorldID world, dReal step, const ode_index *index,
                               const ode_warm_start *memory);

// Rows of a joint whose stops bounce by their row's `bounce`, not by its bias.
int sprag_ode_pull_bouncing_rows(sprag_row *to, dJointID joint, dWorldID world, dReal step,
                                 const ode_index *index, const ode_warm_start *memory);

// ---- row_laws.c

// The laws by which the rows of a joint move (sprag_frame_calls' row_laws). false: they are not
// known, or these are not all rows of its type.
bool sprag_ode_row_laws(sprag_row_law *law, const sprag_row *row, int rows, dJointID joint);

// ---- row_slopes.c

// The derivatives of a joint's rows by the poses of its bodies [0] and [1]. false: they are not
// known, as where a stop acts.
bool sprag_ode_row_slopes(sprag_row_slopes (*slopes)[2], const sprag_row *row, int rows,
                          dJointID joint, dWorldID world, double step);

#endif
