// Conservative advancement: a frame (one step of the caller) of a group of bodies, in sub-steps
// that end before anything changes that the sub-step was solved for. Each sub-step: the contacts
// that are closed and the joint rows give the velocity at its end (stribeck.h, hardly yielding);
// a certificate (certificate.h) tells how long moving on at that velocity keeps every pair apart;
// no body moves farther than that. Whatever the contact solve returns, nothing interpenetrates. Of
// many bodies, and of what is jammed, no event is waited for: what comes in the sub-step is met by
// contacts made beforehand, and what the solve leaves is taken out of the motion (large_groups.c).
//
// Drumwright: True Rigidity: Interpenetration-free Multi-Body Simulation with Polytopic Contact.
#ifndef SPRAG_ADVANCE_H
#define SPRAG_ADVANCE_H

#include "frame.h"
#include "scratch.h"
#include "stribeck.h"

typedef struct sprag_advance_options {
    double epsilon;  // m: at most so far apart is closed; contacts keep half of it
    double shortest; // of the frame: no sub-step is planned shorter; what comes sooner is
                     // made a contact beforehand
    int substeps;    // of a frame, aimed at: where many bodies meet, sub-steps are so much
                     // longer; 0: 200 / bodies, at most 100; of more than 20 bodies 1
    double error;    // m, of a frame: a sub-step and its two halves, which are what is kept,
                     // may differ by its share; 0: not asked
    int checks;      // 1: least separation of all pairs, three times in a sub-step
    sprag_stribeck_options solver;
} sprag_advance_options;

sprag_advance_options sprag_advance_defaults(void);

typedef struct sprag_advance_stats { // add up over frames
    long frames, substeps;
    long limited; // sub-steps that an event ended
    long changes; // sub-steps after which the number of contacts was another
    long events[SPRAG_STALLED + 1];
    double least_step;   // s
    double least_gap;    // m, certified pairs, at the start of sub-steps and, with checks, within
    double largest_gap;  // m, of a pair with contacts
    double stalled;      // s
    long overlaps;       // pairs that overlapped, by more than epsilon, at the start of a frame
    long squeezed;       // pairs that came to overlap in a frame: between kinematic bodies
    long solves, failed; // of contacts; failed: bodies went on without impulses, as far as certain
    double
        energy_gain;   // J, that a solve without restitution, motors and given contacts added, most
    double error;      // m, largest between a sub-step and its halves
    sprag_stats solve; // of the last
} sprag_advance_stats;

// Moves the bodies through the frame. SPRAG_OK, SPRAG_BAD_PROBLEM, SPRAG_NO_MEMORY; then the bodies
// are where they were.
// scratch: [0] of the frame, [1] of its solves. options, calls, stats: NULL for defaults, for none.
sprag_result sprag_advance(sprag_frame *frame, const sprag_advance_options *options,
                           const sprag_frame_calls *calls, sprag_scratch scratch[2],
                           sprag_advance_stats *stats);

#endif
