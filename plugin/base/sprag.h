// sprag: a better contact step for Open Dynamics Engine worlds.
//
// A program needs none of this to use sprag: loaded with LD_PRELOAD, or linked before -lode, sprag
// takes over dWorldStep and dWorldQuickStep. These functions are for programs that choose a method
// per world, read statistics, or step without a function of ODE being taken over.
//
// Threads: different threads may call these functions for different worlds at the same time. Calls
// for one world must not overlap, as with ODE's own functions. sprag_error belongs to the thread.
//
// Versions: MAJOR.MINOR.PATCH. Within a MAJOR, which is also the number of the soname, functions
// and enumerators are only added, and sprag_world_statistics only grows, at its end; `struct_size`
// lets a program and a library of different MINOR versions work together. sprag_world_event does
// not change. Before 1.0 a new MINOR may break these rules; CHANGELOG.md then says how.
#ifndef SPRAG_H
#define SPRAG_H

#include <stddef.h>

#include <ode/ode.h>

#include "sprag_strategy.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SPRAG_API __attribute__((visibility("default")))
#else
#define SPRAG_API
#endif

// Sets options of one world, on top of those of SPRAG_OPTIONS: "name=value,name=value"; of two
// values for one name the later one counts. `sprag options` lists names, meaning, units, ranges and
// defaults. Returns 1. Returns 0 and changes nothing if the world or the string is NULL, a name or
// value is wrong, a callback calls it within a step of the world, or memory is lacking;
// sprag_error() then says which.
SPRAG_API int sprag_world_configure(dWorldID world, const char *options);

// Forgets what sprag keeps of a world from step to step: the forces from which a step starts, and
// what it has measured of contacts and loads. The next step then follows from the bodies, joints
// and geoms alone. For a program that puts a state back and steps again, as predictive control
// does: without this call the second motion may differ from the first as much as two solves within
// their tolerance do. Options and statistics stay. Returns 1; 0 if the world is NULL, a callback
// calls it within a step of the world, or memory is lacking: then nothing is forgotten.
SPRAG_API int sprag_world_forget(dWorldID world);

// One line on why the last call of this thread that may fail returned 0; "" if it returned 1. The
// text is valid until the thread's next such call.
SPRAG_API const char *sprag_error(void);

// Steps the world by its method, in place of dWorldStep; under method=ode it is dWorldStep. For
// programs that do not want dWorldStep itself to be taken over. step: s, positive. Returns 1, or 0
// if ODE could not get memory, if a collision callback calls it in the middle of a step, or a moved
// callback in one of its world by method=advance or method=ess; the world is then not stepped.
SPRAG_API int sprag_world_step(dWorldID world, dReal step);

// Events within a step, under method=advance and method=ess.
typedef enum sprag_event_name {
    SPRAG_EVENT_CONTACT_MADE,
    SPRAG_EVENT_CONTACT_LOST,
    SPRAG_EVENT_LIMIT_REACHED, // a joint has reached a stop
    SPRAG_EVENT_SLIP_BEGINS,
    SPRAG_EVENT_SLIP_ENDS,
    SPRAG_EVENT_STALLED, // no sub-step without overlap was found; bodies did not move for some time
    SPRAG_EVENT_KINDS
} sprag_event_name;

typedef struct sprag_world_event {
    sprag_event_name kind;
    dGeomID geom[2];    // NULL: none
    dBodyID body[2];    // NULL: none
    dJointID joint;     // of SPRAG_EVENT_LIMIT_REACHED; else NULL
    double time;        // s, from the start of the step
    double position[3]; // m
    double normal[3];   // unit vector, into the first body
    double speed;       // m/s, of approach or of slip
} sprag_world_event;

// Copies the first `room` events of the last step of a world to `events` and returns how many the
// step had; 0 if sprag has not stepped the world by method=advance or method=ess. Events are sorted
// by time within each group of bodies that may touch. Geoms, bodies and joints are those of the
// step: the program may have destroyed them since. events: NULL to count only.
SPRAG_API int sprag_world_events(dWorldID world, sprag_world_event *events, int room);

// Why method=ess leaves a step of a group, or the rest of it, to the implicit Stribeck step.
typedef enum sprag_ess_reason {
    SPRAG_ESS_JOINTS,  // more than 512 rows, or joints with stops that it does not evaluate itself
    SPRAG_ESS_GIVEN,   // contacts without a signed distance
    SPRAG_ESS_SURFACE, // rolling, spinning or unbounded friction, or motionN, of surfaces with a
                       // stiffness that bounce
    SPRAG_ESS_STIFF,   // more integrator steps than ess.steps, by the rates of the forces
    SPRAG_ESS_JOINT_ERROR, // a joint that is far out of place
    SPRAG_ESS_LIMIT,       // the integrator has reached its limit of steps or work
    SPRAG_ESS_STOPPED,     // contacts chattered, or values were not finite
    SPRAG_ESS_REASONS
} sprag_ess_reason;

// Statistics of the steps of one world. Where the comments do not say "so far", sums and
// extremes run over the islands of the last step; "so far" means over the life of the world. Of a
// step by one of ODE's steppers only time, step, steps and solve_us are known: its strategy is
// SPRAG_STRATEGY_NONE, and values of one step are 0.
typedef struct sprag_world_statistics {
    size_t struct_size; // bytes; set it to sizeof(sprag_world_statistics) before sprag_world_stats
    double time;        // s, simulated so far
    double step;        // s, length of the last step
    int bodies;         // enabled bodies
    int islands;        // islands, or groups of bodies that may touch within the step
    int contacts;       // contact joints that were solved
    int rows;           // scalar equations of the other joints
    int dropped;        // contacts ignored because their normal, point or depth is unusable
    sprag_strategy strategy; // the last resort that an island needed
    int iterations;          // Newton iterations, sum
    int factorizations;      // of matrices, sum
    int sweeps;              // Gauss-Seidel sweeps, sum
    double residual; // error of the solved equations (momentum, contacts, friction, rows), relative
                     // to what the step changes there, largest: 0 solved, 1 nothing solved
    double penetration; // m, deepest overlap
    double bound_error; // |friction bound used - mu * normal force| / max(mu * normal force),
                        // largest; 0 unless friction bounds were frozen or stribeck.scheme=one-way
    double stiction;    // m/s, largest slip speed that counted as sticking
    double stiction_least;                  // m/s, smallest
    double stiffness_least, stiffness_most; // N/m, effective stiffness of contacts along the normal
    double damping_least, damping_most;     // N s/m, effective damping of contacts along the normal
    double pull_us;      // microseconds to read bodies, contacts and joints out of ODE
    double solve_us;     // microseconds to solve; of method=advance and method=ess the whole step
    double push_us;      // microseconds for the rest of the step
    long steps;          // so far
    long fallbacks;      // islands that have no finite solution, whose bodies moved freely, or that
                         // ODE had to step for lack of memory, so far
    long invalid_forces; // bodies whose force or torque was not finite, or too large, and was taken
                         // as zero, so far
    long frozen;         // bodies that did not move because their state was not finite, so far
    long invalid_surfaces; // contacts whose surface parameters contradict each other or are not
                           // finite, so far
    // method=advance, so far:
    long substeps;        // sub-steps, of all groups of bodies
    long shortened;       // sub-steps that an event ended before the end of the step
    long contact_changes; // changes of the number of contact points of a group
    long overlaps;  // pairs with an overlap of more than advance.epsilon at the start of a step
    long squeezed;  // pairs that came to overlap within a step, between kinematic bodies
    long callbacks; // calls of the program's collision callback within a step
    long without_geometry; // steps before which sprag saw no collision call
    double least_gap;      // m, smallest gap of a pair that is kept apart; 0: none has come close
    double largest_gap;    // m, largest gap of a pair in contact
    double stalled;        // s, in which a group of bodies did not move
    // method=ess, so far:
    long ess_steps;  // steps of the integrator, of all groups of bodies
    long ess_events; // contacts made and lost
    long
        ess_projected; // those of ess_events that were taken by projection; the others were located
    long ess_declined; // steps of groups that the implicit Stribeck step took from their start on
    long ess_switched; // steps of groups that it took from a later time on
    long ess_whole;    // steps of groups with contacts that the integrator took from start to end
    long ess_left[SPRAG_ESS_REASONS]; // ess_declined + ess_switched, by reason
    long events[SPRAG_EVENT_KINDS];   // by kind, so far
    // stribeck.speculative, so far:
    long unsearched; // searches for a touch of two geoms within the step that ended early, as a
                     // step has a bounded number of gaps for them
} sprag_world_statistics;

// Copies the statistics of a world, at most statistics->struct_size bytes; a longer struct, of a
// program that is newer than the library, is filled up with zeros. Returns 1. Returns 0 if
// `statistics` is NULL or its struct_size is not the size of a statistics struct (then it is left
// as it is), or if sprag has not stepped the world (then it is zero but for struct_size);
// sprag_error() then says which.
SPRAG_API int sprag_world_stats(dWorldID world, sprag_world_statistics *statistics);

// Derivatives of the step that dWorldStep(world, step) would take from here:
//
//     d state' = A d state + B d force
//
// Call it where dWorldStep would be called: forces are set and contact joints are made. Nothing
// moves. The state of a body has 12 entries: position (m), turn (rad, a rotation vector in world
// axes, by which its rotation is multiplied from the left), velocity (m/s), angular velocity
// (rad/s, world axes). Its force has 6: force (N) and torque (N m) about its centre, world axes, as
// dBodyAddForce and dBodyAddTorque add them.
//
// body: `bodies` bodies, in the order of the rows and columns. Bodies that joints or contacts join
// must be listed together. A: (12 bodies) x (12 bodies), B: (12 bodies) x (6 bodies), row by row.
// step: s, positive.
//
// Contacts move with their geoms: dCollide finds them for displaced bodies. Motors and the
// program's own forces count as constant. At a kink (a contact that is just touched, a slip that
// begins, a motor at its bound) the derivative is of one side. `effort` decides the softness of
// contacts in islands of more than ten bodies, as in a step; whatever it is, the solution is exact.
//
// Under method=stribeck, by the implicit function theorem on the converged contact problem: one
// factorisation, closed forms of bodies and of balls, hinges between bodies, hinge2s, sliders,
// universals and fixed joints, and differences of what contacts and other joints do alone. Where
// joints draw an island so tight that its bodies get inertia (loads), these are known, too, if
// nothing but points, which form no loop and tie all to the world, holds its bodies together. Else
// the differences are of the whole problem, and take several times as long.
//
// Under method=ess, by variational equations along the step and the saltation matrix where soft
// contacts are made and broken: of groups without joints that the integrator takes as a whole,
// without rigid contacts. A stiction that the fastest motion sets counts as constant. Each
// evaluation of the forces comes with 36 more for each body of the group.
//
// Returns 1. Returns 0 where there is no derivative; sprag_error() then says why, and A and B have
// no meaning: within a step of the world; other methods; bodies that are kinematic, disabled or
// damped, or have finite rotation; under stribeck, bodies that spin fast, forces that are not
// finite, stribeck.speculative=1, contacts that are not dCollide's or are of geom transforms, that
// go with the slightest motion, or that win energy which the step takes back, joints whose arc
// begins or ends with it (stribeck.arcs, loads), a problem that is not solved; under ess, joints,
// impacts, rigid contacts, geoms that touch without a contact joint (advance.callbacks=before),
// frames that the implicit step would take.
SPRAG_API int sprag_world_linearize(dWorldID world, dReal step, const dBodyID *body, int bodies,
                                    double *A, double *B);

// ---- Physical parameters of one contact, for method=stribeck
//
// Set them after surface.mode has been assigned and before dJointCreateContact. They are inline: a
// program that sets them needs only this header, and without sprag the contact is as if they had
// not been set, because ODE ignores these bits. Each uses the field of one of ODE's parameters and
// clears its bit. If the program sets that bit again, ODE's parameter counts. A value that is
// negative or not finite counts as not set. In both cases sprag prints one warning per world.

enum {
    SPRAG_CONTACT_STIFFNESS = 0x10000,   // value in soft_cfm
    SPRAG_CONTACT_DISSIPATION = 0x20000, // in soft_erp
    SPRAG_CONTACT_STICTION = 0x40000     // in motionN
};

// Normal force stiffness x (1 - dissipation vn), x: m of overlap, vn: m/s of separation, both at
// the end of the step, and never negative (Hunt and Crossley): in place of ERP and CFM, of the
// contact surface layer and of the largest correcting velocity. stiffness: N/m; 0: ODE's ERP and
// CFM, also in a world with stribeck.stiffness. The stiffness is limited to 1e6 m / step^2, m being
// the mass that the contact moves; the statistics contain the stiffness in effect. A contact that
// bounces (dContactBounce, faster than bounce_vel) follows ODE's law, as does an island that ODE
// has to step.
static inline void sprag_surface_set_stiffness(dSurfaceParameters *surface, dReal stiffness)
{
    surface->mode =
        (surface->mode & ~(dContactSoftCFM | dContactSoftERP)) | SPRAG_CONTACT_STIFFNESS;
    surface->soft_cfm = stiffness;
}

// dissipation: s/m; not set: stribeck.dissipation. It has an effect only together with a stiffness,
// of the contact or of the world.
static inline void sprag_surface_set_dissipation(dSurfaceParameters *surface, dReal dissipation)
{
    surface->mode =
        (surface->mode & ~(dContactSoftCFM | dContactSoftERP)) | SPRAG_CONTACT_DISSIPATION;
    surface->soft_erp = dissipation;
}

// tolerance: m/s, slip speed that counts as sticking, at rest and in motion: friction is
// proportional to slip up to it, and at its bound beyond. 0: the options
// stribeck.stiction_tolerance and stribeck.stiction_at_rest.
static inline void sprag_surface_set_stiction(dSurfaceParameters *surface, dReal tolerance)
{
    surface->mode = (surface->mode & ~dContactMotionN) | SPRAG_CONTACT_STICTION;
    surface->motionN = tolerance;
}

// The version of the library: "0.1.0".
SPRAG_API const char *sprag_version(void);

#ifdef __cplusplus
}
#endif

#endif
