// Memory of a thread for collision calls of the program, and its calls under way.
#ifndef SPRAG_COLLIDE_THREAD_H
#define SPRAG_COLLIDE_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "geom_pairs.h"
#include "record.h"

typedef enum destroy_kind {
    DESTROY_BODY,
    DESTROY_GEOM,
    DESTROY_SPACE,
    DESTROY_JOINT,
    EMPTY_GROUP,
    DESTROY_GROUP,
    DESTROY_WORLD
} destroy_kind;

typedef struct destruction {
    destroy_kind kind;
    void *what;
} destruction;

// Made when a thread first needs it and freed when the thread ends.
typedef struct collide_context {
    // Geometry of one question. busy: in use; a collision callback of a geom's own class may then
    // collide geoms itself, and ODE answers that.
    ode_geometry *geometry;
    sprag_scratch scratch;
    bool busy;
    int traps;            // of the program, off while busy
    const void *asked;    // the world that was asked about last, its steps
    long asked_steps;     // then,
    long asked_destroyed; // and collide_destroyed_meshes
    ode_search search;    // for touches on triangles, since then

    // dSpaceCollide and dSpaceCollide2 calls under way, which may be nested
    ode_set offered;       // pairs given to their callbacks: two geoms and the number of the call
    uintptr_t calls;       // the last number that a call got
    int level;             // depth of nesting
    const void *outermost; // stack frame of the outermost call
    dGeomID (*close)[2];   // pairs within reach that the calls still have to offer
    int closes, close_room;

    // Destructions that wait for the end of the step
    destruction *destruction;
    int destructions, destruction_room;
} collide_context;

// Calls of the thread under way, as far as they need no memory.
typedef struct collide_state {
    int stock_depth;            // calls of ODE's dCollide under way
    const void *step_frame;     // stack frame of the function that the program called for the step
                                // under way; NULL: none is
    bool within_step;           // sprag moves the bodies in it, not ODE
    const ode_pair *asked_pair; // the program's callback is being called for it; NULL: none is
    double asked_gap;           // m, a little more than the gap of that pair
    const void *asked_frame;    // stack frame of that call
} collide_state;

extern _Thread_local collide_state collide_now;

collide_context *collide_context_get(void);     // NULL: no memory
collide_context *collide_context_if_made(void); // NULL: the thread has not needed it

// Between these two the context is busy, with its scratch empty at first.
void collide_begin(collide_context *c);
void collide_end(collide_context *c);

// Whether a call with the stack frame `from` is made from inside one with `frame` (NULL: false).
// Frames are compared, because a program can leave a callback by an exception or longjmp.
bool is_frame_inside(const void *from, const void *frame);

// Whether a call with the stack frame `from` comes out of a callback that a step has called.
bool is_in_step_callback(const void *from);

void warn_of_collide_memory(void);

#endif
