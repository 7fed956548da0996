// Convex shapes in a pose. A shape is a core (a point, a segment, a box, a polytope or a cylinder)
// and all points within `radius` of it; the radius of a cylinder is part of its core. The
// half-space has no core.
#ifndef SPRAG_SHAPE_H
#define SPRAG_SHAPE_H

#include <stdbool.h>

typedef enum sprag_shape_kind {
    SPRAG_SPHERE,
    SPRAG_CAPSULE,  // along its z axis
    SPRAG_CYLINDER, // along its z axis
    SPRAG_BOX,
    SPRAG_POLYTOPE,    // also the triangle
    SPRAG_PLANE,       // the half-space below z = 0
    SPRAG_SHAPE_KINDS, // their number
} sprag_shape_kind;

// The neighbours in a polytope; sprag_polytope_link sets them in the caller's memory.
typedef struct sprag_links {
    const int *first;         // edges of vertex v: first[v] to first[v + 1]; NULL: no links
    const int *near;          // of an edge: the vertex where it ends
    const int *side;          // of an edge: the face on its left
    const int *outline_start; // of a face: where the outline of its plane starts
    const int *outline;       // there: the number of vertices, then the vertices in order
} sprag_links;

// A view: the caller owns the arrays. Without faces (0) the manifold is the nearest points alone.
typedef struct sprag_polytope {
    int vertices, faces;
    const double (*vertex)[3]; // m
    const unsigned *loop;      // of a face: the number of vertices, then the vertices,
                               // counter-clockwise seen from outside
    const int *start;          // of a face: its place in loop
    const double (*normal)[3]; // of a face: unit, outwards
    sprag_links links;         // without them, searches compare all vertices and faces
    double centre[3], radius;  // m, of a ball around the vertices; radius 0: none
} sprag_polytope;

typedef struct sprag_shape {
    sprag_shape_kind kind; // decides which of the others are used
    double radius;         // m, of a sphere, capsule or cylinder
    double half[3];        // m, half lengths of a box; [2]: of a capsule's core or a cylinder
    const sprag_polytope *polytope; // of a polytope
} sprag_shape;

typedef struct sprag_pose {
    double position[3]; // m
    double rotation[9]; // world = rotation local + position
} sprag_pose;

// A polytope from its vertices (m) and the loops of its faces; start and normal have room for
// `faces` entries and stay in use. A loop that runs clockwise gets its normal turned. The result
// has no faces if they are not those of a convex body with these vertices.
sprag_polytope sprag_polytope_make(const double (*vertex)[3], int vertices, const unsigned *loop,
                                   int faces, int *start, double (*normal)[3]);

// Links, for polytopes with many vertices or with faces cut into pieces: the neighbours of each
// vertex, and the outline of each plane. room: sprag_polytope_links() ints, which stay in use. The
// polytope stays without links if its faces do not close, leave vertices out or are not convex to
// rounding: a search from neighbour to neighbour could then end too early.
int sprag_polytope_links(const sprag_polytope *polytope);
void sprag_polytope_link(sprag_polytope *polytope, int *room);

// A triangle as a polytope of two faces; room for 2 normals, which stay in use.
sprag_polytope sprag_triangle_make(const double (*vertex)[3], double (*normal)[3]);

// Bounding box along the world's axes, lo[3] and hi[3], m; infinite where the shape is.
void sprag_shape_bounds(const sprag_shape *shape, const sprag_pose *pose, double bounds[6]);

// m, least width of the shape; of a polytope, across one of its faces (0: it has none).
double sprag_shape_width(const sprag_shape *shape);

// ---- cores, in world axes about a point near the pair

typedef struct sprag_core {
    const sprag_shape *shape;
    const double *rotation; // of its pose
    double at[3];           // m, position of its pose relative to that point
    int *last;              // in, out: vertex of the last support point, where the next search
                            // starts; NULL or -1: none
} sprag_core;

enum { SPRAG_NO_VERTEX = -1 };

// Radius (m) that the shape adds to its core.
static inline double sprag_core_margin(const sprag_core *core)
{
    sprag_shape_kind kind = core->shape->kind;
    return kind == SPRAG_SPHERE || kind == SPRAG_CAPSULE ? core->shape->radius : 0;
}

// Number of vertices; 0 for a cylinder and a half-space.
int sprag_core_vertices(const sprag_core *core);

void sprag_core_vertex(const sprag_core *core, int vertex, double point[3]);

// The support point: the point (m) farthest along a direction of any length. Returns its vertex, or
// SPRAG_NO_VERTEX.
int sprag_core_support(const sprag_core *core, const double direction[3], double point[3]);

// The z axis of a shape, unit.
static inline void sprag_core_axis(const sprag_core *core, double axis[3])
{
    for (int k = 0; k < 3; k++) {
        axis[k] = core->rotation[3 * k + 2];
    }
}

// Outward normal of a flat face, unit, in the axes of the shape. false: it has no more.
bool sprag_shape_face(const sprag_shape *shape, int face, double normal[3]);

// Unit vector orthogonal to two edges, to rounding even if they are nearly parallel. false: they
// are parallel to rounding.
bool sprag_across(const double e[3], const double f[3], double normal[3]);

// Any unit vector orthogonal to a vector that is not zero, to rounding.
void sprag_any_across(const double a[3], double across[3]);

#endif
