// sprag: a better contact step for Open Dynamics Engine worlds.
//
// A program needs none of this to use sprag: loaded with LD_PRELOAD, or linked before -lode, it
// takes over dWorldStep and dWorldQuickStep. These calls are for programs that want to choose a
// method per world, to read what a step did, or to step without taking anything over.
#ifndef SPRAG_H
#define SPRAG_H

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

// Sets options of one world, over those of SPRAG_OPTIONS: "name=value,name=value", later wins.
// Returns 1, or 0 when the string cannot be read: then nothing has changed and sprag_error() tells
// where and why. `sprag options` lists the names, their meaning, units and defaults.
SPRAG_API int sprag_world_configure(dWorldID world, const char *options);

// Why the last sprag_world_configure or sprag_world_stats of this thread returned 0; "" if it did
// not.
SPRAG_API const char *sprag_error(void);

// Steps the world by its method, as dWorldStep does. step: s, positive. Returns 1, or 0 when ODE
// could not get the memory. For programs that do not want dWorldStep itself taken over; under
// method=ode it is dWorldStep.
SPRAG_API int sprag_world_step(dWorldID world, dReal step);

// What happens within a step, under method=advance and method=ess.
typedef enum sprag_event_name {
    SPRAG_EVENT_CONTACT_MADE,
    SPRAG_EVENT_CONTACT_LOST,
    SPRAG_EVENT_LIMIT_REACHED, // of a joint
    SPRAG_EVENT_SLIP_BEGINS,
    SPRAG_EVENT_SLIP_ENDS,
    SPRAG_EVENT_STALLED, // no sub-step could be certified; the bodies around stood still for it
    SPRAG_EVENT_KINDS
} sprag_event_name;

typedef struct sprag_world_event {
    sprag_event_name kind;
    dGeomID geom[2]; // NULL: none
    dBodyID body[2];
    dJointID joint;     // of a limit; NULL: none
    double time;        // s, from the start of the step
    double position[3]; // m
    double normal[3];   // unit, into the first body
    double speed;       // m/s, of approach, or of slip
} sprag_world_event;

// The events of the last step of a world, in their order in every group of bodies that may meet.
// Fills in at most `room` of them and returns how many there were; 0 when there is nothing to tell.
SPRAG_API int sprag_world_events(dWorldID world, sprag_world_event *events, int room);

// What the steps of one world did. Sums and maxima run over the islands of the last step, except
// for the time and the counters at the end, which run over the life of the world. A stock method
// tells time, step, steps and solve_us only; its strategy is SPRAG_STRATEGY_NONE and the rest 0.
typedef struct sprag_world_statistics {
    double time;             // s, simulated by the steps so far
    double step;             // s, the last step
    int bodies;              // stepped, that is enabled
    int islands;             //
    int contacts;            // contact joints that were solved
    int rows;                // scalar equations of the other joints
    int dropped;             // contacts without a usable normal, left out
    sprag_strategy strategy; // the largest that an island needed
    int iterations;          // Newton iterations, sum
    int factorizations;      // sum
    int sweeps;              // Gauss-Seidel sweeps, sum
    double residual;    // momentum, relative to the island's impulses, largest; after Gauss-Seidel
                        // what the last sweep changed, no bound of the error
    double penetration; // m, largest
    double bound_error; // |friction bound used - mu * normal force| / max(mu * normal force),
                        // largest; 0 unless friction bounds were frozen or the scheme is one-way
    double stiction;    // m/s, largest stiction tolerance used
    double stiction_least;                  // m/s
    double stiffness_least, stiffness_most; // N/m, effective, of the contacts' normals
    double damping_least, damping_most;     // N s/m, likewise
    double pull_us, solve_us, push_us;      // microseconds of the last step
    long steps;                             // steps so far
    long fallbacks;                         // islands that ODE had to step, so far
    long bad_forces;   // bodies whose force was not finite, or too large, and was taken as zero, so
                       // far
    long held;         // bodies left where they were because their state was not finite, so far
    long odd_surfaces; // contacts whose physical parameters contradict ODE's or are no numbers, so
                       // far
    // method=advance, so far:
    long substeps;         // of all groups of bodies
    long limited;          // that something ended before the end of the step
    long changes;          // of the number of contact points of a group
    long overlaps;         // pairs that overlapped, by more than epsilon, at the start of a step
    long squeezed;         // pairs that came to overlap within one: between kinematic bodies
    long asked;            // times that the program's callback was asked within a step
    long without_geometry; // steps before which the program made no collision call
    double least_gap;      // m, of pairs that are kept apart; 0: none has come near
    double largest_gap;    // m, of a pair in contact: what pivots is lifted a little
    double stalled;        // s, in which a group stood still
    // method=ess, so far:
    long ess_steps;     // of the integrator, of all groups of bodies
    long ess_events;    // contacts made and broken
    long ess_projected; // of them, by projection; the others by location
    long ess_left;      // groups and steps that were the implicit Stribeck step's from their start
    long ess_switched;  // that became so on the way
    long events[SPRAG_EVENT_KINDS];
} sprag_world_statistics;

// Fills in *statistics. Returns 1, or 0 when sprag has not stepped this world (then all is zero).
SPRAG_API int sprag_world_stats(dWorldID world, sprag_world_statistics *statistics);

// ---- Physical parameters of one contact, for method=stribeck
//
// To be set after surface.mode has been assigned, before dJointCreateContact. They are inline: a
// program that sets them needs nothing but this header, and under stock ODE, which ignores these
// bits and reads the fields under bits of its own only, the contact is as if they had not been set.
// Each takes the place of ODE's parameter in the same field, whose bit it clears; where that bit is
// set again afterwards, ODE's parameter counts, and sprag says so once. A value that is negative or
// not finite counts as not set, likewise.

enum {
    SPRAG_CONTACT_STIFFNESS = 0x10000,   // value in soft_cfm
    SPRAG_CONTACT_DISSIPATION = 0x20000, // in soft_erp
    SPRAG_CONTACT_STICTION = 0x40000     // in motionN
};

// Normal force stiffness x (1 - dissipation vn), x: m of overlap, vn: m/s of separation, both at
// the end of the step, and never negative (Hunt and Crossley): in place of ERP and CFM, of the
// contact surface layer and of the largest correcting velocity. stiffness: N/m; 0: ODE's ERP and
// CFM, also in a world with stribeck.stiffness. What is stiffer than 1e6 m / step^2, m being the
// mass that the contact moves, counts as that; the statistics tell what was in effect. A contact
// that bounces (dContactBounce, faster than bounce_vel) does so by ODE's law, as does an island
// that falls back to ODE.
static inline void sprag_surface_set_stiffness(dSurfaceParameters *surface, dReal stiffness)
{
    surface->mode =
        (surface->mode & ~(dContactSoftCFM | dContactSoftERP)) | SPRAG_CONTACT_STIFFNESS;
    surface->soft_cfm = stiffness;
}

// dissipation: s/m; not set: that of the world. It means something only with a stiffness, the
// contact's or the world's.
static inline void sprag_surface_set_dissipation(dSurfaceParameters *surface, dReal dissipation)
{
    surface->mode =
        (surface->mode & ~(dContactSoftCFM | dContactSoftERP)) | SPRAG_CONTACT_DISSIPATION;
    surface->soft_erp = dissipation;
}

// tolerance: m/s, slip that counts as sticking, at rest and in motion; 0: as the options say.
static inline void sprag_surface_set_stiction(dSurfaceParameters *surface, dReal tolerance)
{
    surface->mode = (surface->mode & ~dContactMotionN) | SPRAG_CONTACT_STICTION;
    surface->motionN = tolerance;
}

// "0.1.0"
SPRAG_API const char *sprag_version(void);

#ifdef __cplusplus
}
#endif

#endif
