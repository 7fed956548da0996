// A frame (one step of the caller) of bodies with contacts that yield, integrated in continuous
// time as an event-selected system (ess.h): guards are the signed distances of the pairs, f the
// equations of motion with the forces of the pairs that overlap. The law of a point is the one that
// the implicit Stribeck step has (system.h, laws.h), at the velocity of now instead of that of the
// end of the step:
//
//     N = max(0, k x max(0, 1 - d u) - c u)        x overlap, u speed of separation
//     T = -mu N m(|s|) s / |s|                     s slip, m(s) = s / sqrt(s^2 + stiction^2)
//
// k and d are Hunt and Crossley's; or k = ERP / (h CFM) and c = (1 - ERP) / CFM are those of ODE's
// soft contacts; or, where a contact bounces, k is such that a bounce takes a quarter of the frame
// and c such that the rebound is as fast as asked for.
//
// What is too stiff to be resolved (a rigid contact, sticking friction, a heap at rest) goes
// through what is left of the frame in one implicit Stribeck step of the same law.
#ifndef SPRAG_COMPLIANT_H
#define SPRAG_COMPLIANT_H

#include "frame.h"
#include "scratch.h"
#include "stribeck.h"

typedef struct sprag_compliant_options {
    double tolerance; // of a step of the integrator, relative to what moves in the frame
    int steps; // of the integrator in a frame, at most, and one more for every pair; what needs
               // more is stiff. Also of its work, in looks at pairs and rows: 4000 for every step
    double stiction; // m/s, slip that counts as sticking; 0: 1/200 of the fastest motion
    sprag_stribeck_options solver;
} sprag_compliant_options;

// Tolerance 1e-9, 500 steps.
sprag_compliant_options sprag_compliant_defaults(void);

// Why a frame, or what was left of it, was left to the implicit step.
typedef enum sprag_compliant_reason {
    SPRAG_COMPLIANT_JOINTS, // more than 512 rows, or stops that nobody tells
    SPRAG_COMPLIANT_GIVEN,  // contacts that no pair stands for
    SPRAG_COMPLIANT_RIGID,  // a contact without a stiffness that a frame can resolve
    SPRAG_COMPLIANT_LAW,    // rolling or unbounded friction
    SPRAG_COMPLIANT_STIFF,  // rates of force or friction ask for more steps than allowed, or a heap
    SPRAG_COMPLIANT_DEEP,   // an overlap from the start that stiffness would throw out
    SPRAG_COMPLIANT_APART,  // so is a joint, which turns into another one on its way back
    SPRAG_COMPLIANT_RESTING, // nothing moves
    SPRAG_COMPLIANT_STEPS,   // so it turned out
    SPRAG_COMPLIANT_STOPPED, // the integrator ended for another reason: chatter, values not finite
    SPRAG_COMPLIANT_REASONS,
} sprag_compliant_reason;

const char *sprag_compliant_reason_name(sprag_compliant_reason reason);

typedef struct sprag_compliant_stats { // add up over frames
    long frames;                       // that were integrated, at least in part
    long steps, rejected;              // of the integrator
    long fields;                       // values of f
    long events;                       // made and broken contacts
    long projected;                    // of them, by projection
    long left;                         // frames that were left to the caller from their start
    long rests;                        // frames whose rest was solved here
    long because[SPRAG_COMPLIANT_REASONS];
    long kinds[SPRAG_STALLED + 1]; // events, as advance.h counts them
    double penetration;            // m, at events and ends of frames, largest
    double stiffness;              // N/m, of a pair that was integrated, largest
    sprag_stats solve;             // of the last rest
} sprag_compliant_stats;

// Moves the bodies through the frame; its `recovery_speed` counts, and `recovery` of surfaces.
// Calls: touch, event. SPRAG_OK; SPRAG_NOT_CONVERGED: the whole frame is for an implicit step by
// the caller, who knows its joints and contacts, *why tells for what reason; SPRAG_BAD_PROBLEM,
// SPRAG_NO_MEMORY. Unless it is OK bodies are where they were. scratch: [0] of the frame, [1] of
// the integration.
sprag_result sprag_compliant(sprag_frame *frame, const sprag_compliant_options *options,
                             const sprag_frame_calls *calls, sprag_scratch scratch[2],
                             sprag_compliant_stats *stats, sprag_compliant_reason *why);

#endif
