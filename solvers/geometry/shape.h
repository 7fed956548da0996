// Convex shapes in a pose. A shape is a core (a point, a segment, a box, a polytope, a cylinder)
// with all that lies within `radius` of it; for the cylinder the radius is its own, and nothing is
// added. The half-space has no core.
#ifndef SPRAG_SHAPE_H
#define SPRAG_SHAPE_H

#include <stdbool.h>

typedef enum sprag_shape_kind {
    SPRAG_SPHERE,
    SPRAG_CAPSULE,  // along its z axis
    SPRAG_CYLINDER, // along its z axis
    SPRAG_BOX,
    SPRAG_POLYTOPE, // also the triangle
    SPRAG_PLANE,    // all that is below z = 0
    SPRAG_SHAPE_KINDS,
} sprag_shape_kind;

// A view: the caller owns the arrays. Faces may be missing (0): then there is no manifold but the
// nearest points.
typedef struct sprag_polytope {
    int vertices, faces;
    const double (*vertex)[3]; // m
    const unsigned *loop;      // of each face: how many vertices, and which, counter-clockwise seen
                               // from outside
    const int *start;          // of the faces, in loop
    const double (*normal)[3]; // of the faces, outwards
    // Links (sprag_polytope_link); NULL: none, and everything is a look at all vertices and faces.
    const int *first; // of the vertices and one more, in near and side: edges that start there
    const int *near, *side;   // where an edge ends; the face on its left
    const int *outline, *rim; // of the faces, in rim: how many vertices has the plane of which the
                              // face is a part, and which, in order
} sprag_polytope;

typedef struct sprag_shape {
    sprag_shape_kind kind;
    double radius;                  // m, sphere, capsule, cylinder
    double half[3];                 // m, box; [2]: capsule (without its ends), cylinder
    const sprag_polytope *polytope; // polytope
} sprag_shape;

typedef struct sprag_pose {
    double position[3]; // m
    double rotation[9]; // world = rotation local + position
} sprag_pose;

// Starts and normals of the faces that `loop` lists; room for `faces` of each. Loops that run the
// wrong way round get their normal turned. Without faces if they are not those of a convex body
// that has these vertices.
sprag_polytope sprag_polytope_make(const double (*vertex)[3], int vertices, const unsigned *loop,
                                   int faces, int *start, double (*normal)[3]);

// For polytopes with many vertices, or with faces in pieces: who is next to whom, and which faces
// lie in one plane. room: ints, sprag_polytope_links() of them. Without links if the faces do not
// close or leave vertices out, or where it is not convex to rounding: then nobody may climb from
// vertex to vertex.
int sprag_polytope_links(const sprag_polytope *polytope);
void sprag_polytope_link(sprag_polytope *polytope, int *room);

// Both sides of three points; room for 2 normals.
sprag_polytope sprag_triangle_make(const double (*vertex)[3], double (*normal)[3]);

// Box along the axes of the world, lo[3] and hi[3]; infinite where the shape is.
void sprag_shape_bounds(const sprag_shape *shape, const sprag_pose *pose, double bounds[6]);

// ---- cores, as the algorithms see them: in the axes of the world, relative to some point near

typedef struct sprag_core {
    const sprag_shape *shape;
    const double *rotation;
    double at[3]; // m
    int *last;    // vertex that supported last, where the next search starts; NULL, -1: anywhere
} sprag_core;

enum { SPRAG_NO_VERTEX = -1 };

// What is added to the core all round.
static inline double sprag_core_margin(const sprag_core *core)
{
    sprag_shape_kind kind = core->shape->kind;
    return kind == SPRAG_SPHERE || kind == SPRAG_CAPSULE ? core->shape->radius : 0;
}

// How many vertices a core has; 0 for a cylinder.
int sprag_core_vertices(const sprag_core *core);

void sprag_core_vertex(const sprag_core *core, int vertex, double point[3]);

// The farthest point along a direction of any length; returns which vertex, or SPRAG_NO_VERTEX.
int sprag_core_support(const sprag_core *core, const double direction[3], double point[3]);

// The z axis of a shape.
static inline void sprag_core_axis(const sprag_core *core, double axis[3])
{
    for (int k = 0; k < 3; k++) {
        axis[k] = core->rotation[3 * k + 2];
    }
}

// Unit vector across two edges, however thin the angle between them: at right angles to both to
// rounding. false: they are parallel to rounding.
bool sprag_across(const double e[3], const double f[3], double normal[3]);

#endif
