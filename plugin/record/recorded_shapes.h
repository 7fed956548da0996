// The geoms of a world, each recorded when it is new or has changed.
#ifndef SPRAG_RECORDED_SHAPES_H
#define SPRAG_RECORDED_SHAPES_H

#include "frame_buffer.h"
#include "geoms.h"
#include "identities.h"

typedef struct fresh_shape {
    sprag_recorded_shape shape;
    ode_geom geom;
} fresh_shape;

typedef struct shapes {
    identities known;
    ode_geometry *geometry; // of the fresh ones
    fresh_shape *fresh;     // new or changed in this step
    int fresh_count, fresh_room;
    dGeomID *root; // spaces whose geoms are looked through in this step
    int roots, root_room;
    dSpaceID last; // whose root is one of them
    bool failed;   // no memory
} shapes;

// Adds a space or geom that the program has collided since the last step.
void shapes_add_root(shapes *s, dGeomID id);
void shapes_forget_root(shapes *s, dGeomID id); // that is destroyed

// Finds the geoms of a body, and its space. Sets the first geom in the identity of the body.
void shapes_see_body(shapes *s, dBodyID body, identity *of, int64_t step);

// Adds the tables of shapes, corners and triangles, of the geoms seen and of those without a body
// in the roots, and forgets the roots.
void shapes_write(shapes *s, frame_buffer *to, uint32_t world, int64_t step);

// SPRAG_RECORDED_NONE: never seen.
uint32_t shapes_number(const shapes *s, dGeomID id);

void shapes_clear(shapes *s); // records all geoms again

#endif
