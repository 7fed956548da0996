// Conservative advancement: a frame (one step of the caller) of a group of bodies, in sub-steps
// that end before the set of contacts changes. In each sub-step the contacts of closed pairs and
// the joint rows give the velocities at its end (stribeck.h, nearly rigid). A certificate
// (certificate.h) bounds the time for which the bodies may move on at these velocities before any
// pair closes, and no body moves longer than that: whatever the contact solve returns, bodies do
// not penetrate. Once a frame has cost a certain work, where bodies overlap, and where the sub-step
// would be too short, no event ends it: pairs that may meet during the sub-step get contacts in
// advance, and approach that the solve leaves is removed from the motion (coarse.c).
//
// Drumwright: True Rigidity: Interpenetration-free Multi-Body Simulation with Polytopic Contact.
#ifndef SPRAG_ADVANCE_H
#define SPRAG_ADVANCE_H

#include "frame.h"
#include "scratch.h"
#include "stribeck.h"

typedef struct sprag_advance_options {
    double epsilon;  // m: pairs closer than this are in contact; contacts keep half of it
    double shortest; // share of the frame: no sub-step is planned shorter; events that come sooner
                     // get contacts in advance
    int substeps;    // of a frame, aimed at where many events come; 0: 200 / bodies, at most 100,
                     // and 1 for what is planned coarsely
    double error;    // m, of a frame: sub-steps are halved until their estimated errors are less
                     // than their share; 0: no error control
    double work;     // of a frame, in products of 6x6 blocks, more in proportion for more than 20
                 // bodies; once it is spent, solves are a few sweeps, and what half as much more
                 // does not take stands still
    int checks; // 1: measures the least separation of all pairs, three times in a sub-step
    sprag_stribeck_options solver;
} sprag_advance_options;

sprag_advance_options sprag_advance_defaults(void);

typedef struct sprag_advance_stats { // add up over frames
    long frames, substeps;
    long limited; // sub-steps that an event ended
    long changes; // sub-steps with another number of contacts than the one before
    long events[SPRAG_STALLED + 1];
    double least_step;  // s
    double least_gap;   // m, of certified pairs, at the start of sub-steps; with checks also within
    double largest_gap; // m, of a pair with contacts
    double stalled;     // s, in which bodies stood still because nothing else kept them apart
    long overlaps;      // pairs that overlapped, by more than epsilon, at the start of a frame
    long squeezed;      // pairs that came to overlap in a frame: between kinematic bodies
    long solves, failed; // of velocities; failed: bodies moved on without impulses, while safe
    double error;        // m, largest estimate of a sub-step
    double work;         // largest share of its work that a frame took
    sprag_stats solve;   // the last
} sprag_advance_stats;

// Moves the bodies through the frame. SPRAG_OK, SPRAG_BAD_PROBLEM, SPRAG_NO_MEMORY: then the bodies
// are where they were. scratch: [0] of the frame, [1] of its solves.
sprag_result sprag_advance(sprag_frame *frame, const sprag_advance_options *options,
                           const sprag_frame_calls *calls, sprag_scratch scratch[2],
                           sprag_advance_stats *stats);

#endif
