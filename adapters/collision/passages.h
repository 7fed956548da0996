// Shapes that go through a mesh within a step: its triangles are sheets, and what overlaps one is
// moved out at the nearest side. Once the middle of a fast shape is through, that is the far side.
// Its path tells from which side it came, and there it is moved out until its middle is back.
#ifndef SPRAG_PASSAGES_H
#define SPRAG_PASSAGES_H

#include "geometry_cache.h"
#include "mesh_near.h"

typedef struct ode_passage {
    double out[3]; // unit, in the axes of the mesh: back to the side from which the shape came
    bool known;    // else the nearest side counts
} ode_passage;

// Looks for a triangle that the middle of the shape went through within the last step (s; 0:
// unknown), at the velocities that the bodies have now, or for a passage that was kept.
ode_passage sprag_ode_passage_find(const ode_geometry *geometry, const ode_geom *mesh,
                                   const ode_geom *shape, const ode_near *near, double step);

// Keeps it for the next call if the middle is not back, else forgets it. Without memory for it, the
// nearest side counts next time.
void sprag_ode_passage_keep(ode_geometry *geometry, const ode_geom *mesh, const ode_geom *shape,
                            const ode_near *near, const ode_passage *passage, bool is_through);

// The side of a triangle (normal: of its front, in the axes of the mesh) at which a shape is moved
// out.
static inline sprag_face sprag_ode_passage_side(const ode_passage *p, const double normal[3])
{
    const double along = p->out[0] * normal[0] + p->out[1] * normal[1] + p->out[2] * normal[2];
    return !p->known ? SPRAG_NEAREST_FACE : along < 0 ? SPRAG_BACK : SPRAG_FRONT;
}

#endif
