// Polytopes: their faces, and the links by which searches go from vertex to vertex.
#include <float.h>
#include <math.h>
#include <stddef.h>

#include "linalg.h"
#include "shape.h"
#include "tolerances.h"
#include "vectors.h"

// ---- faces

// Newell's normal of a loop, unit; false: the loop has no area.
static bool loop_normal(const double (*vertex)[3], const unsigned *loop, unsigned count,
                        double normal[3])
{
    normal[0] = normal[1] = normal[2] = 0;
    const double *origin = vertex[loop[0]];
    for (unsigned i = 1; i + 1 < count; i++) {
        double e[3], f[3], area[3];
        subtract3(vertex[loop[i]], origin, e);
        subtract3(vertex[loop[i + 1]], origin, f);
        cross3(e, f, area);
        add_scaled(normal, 1, area, 3);
    }
    return normalise3(normal);
}

enum { FACES_AT_ONCE = 16 };

// Turns the normals of some faces outwards. false: vertices are on both sides of a plane.
SPRAG_VECTORS
static bool turn_outwards(const sprag_polytope *p, double tolerance, int first, int faces,
                          double (*normal)[3])
{
    double n[3][FACES_AT_ONCE] = {{0}}, on[FACES_AT_ONCE] = {0};
    double above[FACES_AT_ONCE] = {0}, below[FACES_AT_ONCE] = {0};
    for (int i = 0; i < faces; i++) {
        for (int k = 0; k < 3; k++) {
            n[k][i] = normal[first + i][k];
        }
        on[i] = dot3(normal[first + i], p->vertex[p->loop[p->start[first + i] + 1]]);
    }
    for (int v = 0; v < p->vertices; v++) {
        const double *x = p->vertex[v];
        for (int i = 0; i < FACES_AT_ONCE; i++) {
            const double height = n[0][i] * x[0] + n[1][i] * x[1] + n[2][i] * x[2] - on[i];
            above[i] = height > above[i] ? height : above[i];
            below[i] = height < below[i] ? height : below[i];
        }
    }
    for (int i = 0; i < faces; i++) {
        if (above[i] > tolerance && below[i] < -tolerance) {
            return false;
        }
        scale3(above[i] > -below[i] ? -1 : 1, normal[first + i], normal[first + i]);
    }
    return true;
}

// Sets the normals of the faces, of either sign. false: a face has none.
static bool set_normals(const sprag_polytope *p, int faces, int *start, double (*normal)[3])
{
    int at = 0;
    for (int i = 0; i < faces; i++) {
        const unsigned *loop = p->loop + at, count = *loop++;
        start[i] = at;
        for (unsigned k = 0; k < count; k++) {
            if (loop[k] >= (unsigned)p->vertices) {
                return false;
            }
        }
        if (count < 3 || !loop_normal(p->vertex, loop, count, normal[i])) {
            return false;
        }
        at += (int)count + 1;
    }
    return true;
}

// Sets the ball about the middle of the box around the vertices. Returns the size of the box (m)
// about the origin.
static double set_ball(sprag_polytope *p)
{
    double lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY};
    double square = 0, size = 0;
    for (int i = 0; i < p->vertices; i++) {
        for (int k = 0; k < 3; k++) {
            lo[k] = fmin(lo[k], p->vertex[i][k]);
            hi[k] = fmax(hi[k], p->vertex[i][k]);
        }
    }
    for (int k = 0; k < 3; k++) {
        p->centre[k] = (lo[k] + hi[k]) / 2;
        size = fmax(size, fmax(-lo[k], hi[k]));
    }
    for (int i = 0; i < p->vertices; i++) {
        double from[3];
        subtract3(p->vertex[i], p->centre, from);
        square = fmax(square, dot3(from, from));
    }
    p->radius = sqrt(square);
    return size;
}

sprag_polytope sprag_polytope_make(const double (*vertex)[3], int vertices, const unsigned *loop,
                                   int faces, int *start, double (*normal)[3])
{
    sprag_polytope made = {.vertices = vertices,
                           .vertex = vertex,
                           .loop = loop,
                           .start = start,
                           .normal = (const double(*)[3])normal};
    const double tolerance = SPRAG_POLYTOPE_PLANAR * set_ball(&made);
    bool good = set_normals(&made, faces, start, normal);
    for (int i = 0; i < faces && good; i += FACES_AT_ONCE) {
        const int some = faces - i < FACES_AT_ONCE ? faces - i : FACES_AT_ONCE;
        good = turn_outwards(&made, tolerance, i, some, normal);
    }
    made.faces = good ? faces : 0;
    return made;
}

sprag_polytope sprag_triangle_make(const double (*vertex)[3], double (*normal)[3])
{
    static const unsigned loop[] = {3, 0, 1, 2, 3, 0, 2, 1};
    static const int start[] = {0, 4};
    bool flat = loop_normal(vertex, loop + 1, 3, normal[0]);
    for (int k = 0; k < 3; k++) {
        normal[1][k] = -normal[0][k];
    }
    return (sprag_polytope){.vertices = 3,
                            .faces = flat ? 2 : 0,
                            .vertex = vertex,
                            .loop = loop,
                            .start = start,
                            .normal = (const double(*)[3])normal};
}

// ---- links, for polytopes with many vertices

static int corners_of(const sprag_polytope *p)
{
    int corners = 0;
    for (int f = 0; f < p->faces; f++) {
        corners += (int)p->loop[p->start[f]];
    }
    return corners;
}

int sprag_polytope_links(const sprag_polytope *p)
{
    return p->vertices + 1 + 3 * corners_of(p) + 3 * p->faces;
}

// Index of the edge from a to b; -1: none.
static int edge_of(const int *first, const int *near, int a, int b)
{
    for (int i = first[a]; i < first[a + 1]; i++) {
        if (near[i] == b) {
            return i;
        }
    }
    return -1;
}

// Lists the edges by their start, with the face on their left; clockwise loops are turned.
static void list_edges(const sprag_polytope *p, int *first, int *near, int *side)
{
    memset(first, 0, (size_t)(p->vertices + 1) * sizeof *first);
    for (int pass = 0; pass < 2; pass++) {
        for (int f = 0; f < p->faces; f++) {
            const unsigned *loop = p->loop + p->start[f], count = *loop++;
            double n[3];
            loop_normal(p->vertex, loop, count, n);
            bool turned = dot3(n, p->normal[f]) < 0;
            for (unsigned i = 0; i < count; i++) {
                int a = (int)loop[i], b = (int)loop[i + 1 < count ? i + 1 : 0];
                int from = turned ? b : a;
                if (pass) { // filled from the back: first[from] ends at the first edge of the
                            // vertex
                    int at = --first[from];
                    near[at] = turned ? a : b;
                    side[at] = f;
                } else {
                    first[from]++;
                }
            }
        }
        for (int v = 0; v < p->vertices && !pass; v++) {
            first[v + 1] += first[v];
        }
    }
    first[p->vertices] = corners_of(p);
}

// Whether a search may climb from neighbour to neighbour: each edge has its opposite, each vertex
// an edge, and no face rises above its neighbours' planes by more than rounding.
static bool is_convex(const sprag_polytope *p, const int *first, const int *near, const int *side)
{
    double size = 0;
    for (int v = 0; v < p->vertices; v++) {
        for (int k = 0; k < 3; k++) {
            size = fabs(p->vertex[v][k]) > size ? fabs(p->vertex[v][k]) : size;
        }
    }
    for (int v = 0; v < p->vertices; v++) {
        if (first[v] == first[v + 1]) {
            return false;
        }
        for (int i = first[v]; i < first[v + 1]; i++) {
            int other = edge_of(first, near, near[i], v);
            if (other < 0 || near[i] == v) {
                return false;
            }
            const unsigned *loop = p->loop + p->start[side[other]], count = *loop++;
            for (unsigned c = 0; c < count; c++) {
                double from[3];
                subtract3(p->vertex[loop[c]], p->vertex[v], from);
                if (dot3(p->normal[side[i]], from) > 64 * DBL_EPSILON * size) {
                    return false;
                }
            }
        }
    }
    return true;
}

// Whether only the face on the left of the edge belongs to the plane.
static bool is_border(const sprag_polytope *p, int from, int edge, const int *plane, int seed)
{
    int other = edge_of(p->links.first, p->links.near, p->links.near[edge], from);
    return plane[p->links.side[edge]] == seed && plane[p->links.side[other]] != seed;
}

// Follows the border of a plane from edge to edge; drops corners that are straight. Returns the
// number of corners, 0 if the border does not close.
static int follow_border(const sprag_polytope *p, const int *plane, int seed, int from, int edge,
                         int *outline)
{
    int start = from, count = 0, most = p->links.first[p->vertices];
    do {
        outline[count++] = from;
        int to = p->links.near[edge], next = -1;
        for (int i = p->links.first[to]; i < p->links.first[to + 1] && next < 0; i++) {
            next = is_border(p, to, i, plane, seed) ? i : -1;
        }
        if (next < 0 || count == most) {
            return 0;
        }
        from = to;
        edge = next;
    } while (from != start);
    int left = 0;
    for (int i = 0; i < count; i++) {
        double e[3], g[3], across[3];
        subtract3(p->vertex[outline[i]], p->vertex[left ? outline[left - 1] : outline[count - 1]],
                  e);
        subtract3(p->vertex[outline[i + 1 < count ? i + 1 : 0]], p->vertex[outline[i]], g);
        cross3(e, g, across);
        if (dot3(across, across) > SPRAG_OUTLINE_STRAIGHT * dot3(e, e) * dot3(g, g) ||
            count - i + left <= 3) {
            outline[left++] = outline[i];
        }
    }
    return left;
}

// Groups the faces by planes: plane[f] is the first face in the plane of face f.
static void find_planes(const sprag_polytope *p, int *plane, int *stack)
{
    for (int f = 0; f < p->faces; f++) {
        plane[f] = -1;
    }
    for (int seed = 0; seed < p->faces; seed++) {
        int waiting = 0;
        if (plane[seed] < 0) {
            plane[seed] = seed;
            stack[waiting++] = seed;
        }
        while (waiting) {
            int f = stack[--waiting];
            const unsigned *loop = p->loop + p->start[f], count = *loop++;
            for (unsigned i = 0; i < count; i++) {
                int a = (int)loop[i], b = (int)loop[i + 1 < count ? i + 1 : 0];
                for (int turn = 0; turn < 2; turn++) {
                    int n = p->links.side[edge_of(p->links.first, p->links.near, turn ? b : a,
                                                  turn ? a : b)];
                    double off[3];
                    subtract3(p->normal[n], p->normal[seed], off);
                    if (plane[n] < 0 &&
                        dot3(off, off) < SPRAG_POLYTOPE_FLAT * SPRAG_POLYTOPE_FLAT) {
                        plane[n] = seed;
                        stack[waiting++] = n;
                    }
                }
            }
        }
    }
}

// An edge of the face that is on the border of its plane, and its start; -1: none.
static int border_of(const sprag_polytope *p, int face, const int *plane, int *from)
{
    const unsigned *loop = p->loop + p->start[face], count = *loop++;
    for (unsigned i = 0; i < count; i++) {
        int a = (int)loop[i], b = (int)loop[i + 1 < count ? i + 1 : 0];
        for (int turn = 0; turn < 2; turn++) {
            *from = turn ? b : a;
            int edge = edge_of(p->links.first, p->links.near, *from, turn ? a : b);
            if (is_border(p, *from, edge, plane, plane[face])) {
                return edge;
            }
        }
    }
    return -1;
}

static void find_outlines(const sprag_polytope *p, const int *plane, int *outline_start,
                          int *outline)
{
    int used = 0;
    for (int f = 0; f < p->faces; f++) {
        outline_start[f] = -1;
    }
    for (int f = 0; f < p->faces; f++) {
        int from, edge = outline_start[plane[f]] < 0 ? border_of(p, f, plane, &from) : -1;
        if (edge >= 0) {
            int count = follow_border(p, plane, plane[f], from, edge, outline + used + 1);
            if (count > 2) {
                outline[used] = count;
                outline_start[plane[f]] = used;
                used += count + 1;
            }
        }
    }
    for (int f = p->faces - 1; f >= 0;
         f--) { // the first face of each plane comes last: others read its entry
        const unsigned *loop = p->loop + p->start[f];
        if (outline_start[plane[f]] >= 0) {
            outline_start[f] = outline_start[plane[f]];
        } else { // the border does not close: the face alone
            outline_start[f] = used;
            memcpy(outline + used, loop, (*loop + 1) * sizeof *outline);
            used += (int)*loop + 1;
        }
    }
}

void sprag_polytope_link(sprag_polytope *p, int *room)
{
    int corners = corners_of(p), *first = room, *near = first + p->vertices + 1;
    int *side = near + corners, *plane = side + corners, *outline_start = plane + p->faces;
    int *outline = outline_start + p->faces;
    p->links.first = NULL;
    if (!p->faces) {
        return;
    }
    list_edges(p, first, near, side);
    if (is_convex(p, first, near, side)) {
        p->links.first = first;
        p->links.near = near;
        p->links.side = side;
        p->links.outline_start = outline_start;
        p->links.outline = outline;
        find_planes(p, plane, outline);
        find_outlines(p, plane, outline_start, outline);
    }
}
