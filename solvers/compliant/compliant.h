// Compliant contacts in continuous time (`method=ess` of a world). sprag_compliant integrates a
// frame, one step of the caller, as an event-selected system (ess.h). The guards are the signed
// distances of the pairs. The right side f is the equations of motion with the contact forces of
// the pairs that overlap. The force at a point follows the law of the implicit Stribeck step
// (system.h, laws.h), evaluated at the current velocity instead of the velocity at the end of the
// step:
//
//     N = max(0, k x max(0, 1 - d u) - c u)        x overlap, u speed of separation
//     T = -mu N m(|s|) s / |s|                     s slip, m(s) = s / sqrt(s^2 + stiction^2)
//
// The surface of the pair gives k, d and c:
// - Hunt and Crossley's law: k and d as set, c = 0;
// - ODE's soft contact: k = ERP / (h CFM), c = (1 - ERP) / CFM, d = 0.
// Contacts without a stiffness that the integrator resolves are rigid: they are constraints while
// they hold (hold.c), with impulses where they are hit (impact.c).
//
// One implicit Stribeck step with the same law solves the rest of the frame when that would take
// too much work (stiff springs, many bodies).
#ifndef SPRAG_COMPLIANT_H
#define SPRAG_COMPLIANT_H

#include "frame.h"
#include "scratch.h"
#include "stribeck.h"

typedef struct sprag_compliant_options {
    double tolerance; // error of an integrator step, relative to the motion within the frame
    int steps;        // limit of integrator steps in a frame, plus one a pair. It also limits the
                      // work: 4000 evaluations of a pair of balls for each of these steps
    double stiction;  // m/s, slip that counts as sticking; 0: 1/200 of the fastest motion
    double work;      // share of the limits of work, of the integrator, and of implicit steps and
                      // impacts, which are a few sweeps each beyond; default: 1
    sprag_stribeck_options solver; // of the implicit step
} sprag_compliant_options;

// Tolerance 1e-6, 500 steps.
sprag_compliant_options sprag_compliant_defaults(void);

// Reasons to solve a frame, or the rest of it, by an implicit step.
typedef enum sprag_compliant_reason {
    SPRAG_COMPLIANT_JOINTS,             // more than 512 rows, or stops that `coordinates` lacks
    SPRAG_COMPLIANT_PROGRAM_CONTACTS,   // contacts given by the program, without shapes
    SPRAG_COMPLIANT_UNSUPPORTED_LAW,    // of surfaces with a stiffness that bounce: rolling,
                                        // spinning or unbounded friction; a driven bounce
    SPRAG_COMPLIANT_STIFF,              // of those: forces that need more steps than allowed
    SPRAG_COMPLIANT_JOINT_ERROR,        // a joint so far apart that its rows turn on the way back
    SPRAG_COMPLIANT_STEP_LIMIT,         // the integration reached the limit of steps or work
    SPRAG_COMPLIANT_INTEGRATOR_STOPPED, // chattering, or values that are not finite
    SPRAG_COMPLIANT_REASONS,
} sprag_compliant_reason;

// For messages: "a joint whose bodies are far out of place", ...
const char *sprag_compliant_reason_name(sprag_compliant_reason reason);

typedef struct sprag_compliant_stats {          // sums over frames, unless noted
    long declined_frames;                       // left to the caller as a whole
    long switched_frames;                       // whose rest one implicit step solved
    long whole_frames;                          // with contacts, integrated from start to end
    long reason_count[SPRAG_COMPLIANT_REASONS]; // of declined and switched frames
    long steps;                                 // of the integrator
    long field_evaluations;                     // of f
    long events, projected_events;              // contacts made and broken, stops reached; all,
                                                // and those found by projection
    long event_kinds[SPRAG_STALLED + 1];        // by sprag_event_kind
    double penetration;                         // m, largest at the ends of frames
    double stiffness;                           // N/m, largest of an integrated pair
    sprag_stats implicit_step;                  // of the last switched frame
} sprag_compliant_stats;

// Moves the bodies through the frame. Uses `recovery_speed` of the frame and the calls ask_pair,
// rows, coordinates, event and add_forces. SPRAG_OK; SPRAG_NOT_CONVERGED: the caller must solve the
// whole frame by an implicit step, for the reason *reason; SPRAG_BAD_PROBLEM; SPRAG_NO_MEMORY.
// Unless SPRAG_OK is returned, the bodies are where they were. scratch: [0] of the frame, [1] of
// the integration.
sprag_result sprag_compliant(sprag_frame *frame, const sprag_compliant_options *options,
                             const sprag_frame_calls *calls, sprag_scratch scratch[2],
                             sprag_compliant_stats *stats, sprag_compliant_reason *reason);

// Derivatives of a frame that the integrator takes as a whole, without joints and impacts: those of
// the state at its end by the state at its start, A (12 bodies x 12 bodies), and by forces that act
// during it, B (12 bodies x 6 bodies), row by row. State of a body: position (m), turn (rad, world
// axes), velocity, angular velocity. By variational equations and, at its events, the B-derivative
// (ess.h). Numbers that are set by the fastest motion of the frame (slip that sticks, where none is
// given) count as constant. Returns NULL, or the reason why there are none. Nothing moves.
const char *sprag_compliant_differentiate(sprag_frame *frame,
                                          const sprag_compliant_options *options,
                                          const sprag_frame_calls *calls, sprag_scratch scratch[2],
                                          double *A, double *B);

#endif
