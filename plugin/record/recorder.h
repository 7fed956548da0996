// The recording that the environment variable SPRAG_RECORD names: sprag_recording.h has the format.
#ifndef SPRAG_RECORDER_H
#define SPRAG_RECORDER_H

#include "world.h"

typedef struct recorded_step recorded_step;

// Before a step of the world. lends_feedback: ODE has not reserved the memory of the step yet, so
// joints may get a dJointFeedback for it. NULL: nothing is recorded.
recorded_step *recorder_begin(const world_state *w, bool lends_feedback);

// Right after it: its time ends here.
void recorder_taken(recorded_step *step);

// Writes a frame. taken: false if ODE has not stepped the world; nothing is written then. residual:
// of the step, for recorder_wants_residual; NULL: not measured.
void recorder_end(recorded_step *step, const world_state *w, stock called, bool taken,
                  const double *residual);

// Is a recording made, and SPRAG_RECORD_RESIDUAL set?
bool recorder_wants_residual(void);

// Was a recording asked for, and could not be written?
bool recorder_has_failed(void);

// A space or geom that the program collides, whose static geoms are recorded; and: one that is
// about to be destroyed.
void recorder_collides(dGeomID id);
void recorder_destroys(dGeomID id);

// A world is about to be destroyed: all its steps are to be in the file.
void recorder_write(void);

#endif
