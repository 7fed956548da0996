// Support functions, bounds and faces.
#include "shape.h"

#include <float.h>
#include <math.h>
#include <stddef.h>

#include "linalg.h"
#include "tolerances.h"

// ---- faces

void sprag_any_across(const double a[3], double across[3])
{
    bool first = fabs(a[0]) < fabs(a[1]); // the lesser of two is at most 0.71 of the length
    cross3((double[]){first, !first, 0}, a, across);
    normalise3(across);
}

bool sprag_across(const double e[3], const double f[3], double normal[3])
{
    cross3(e, f, normal);
    double ee = dot3(e, e), ff = dot3(f, f);
    double nn = dot3(normal, normal), least = 16 * DBL_EPSILON * DBL_EPSILON * ee * ff;
    if (!(nn > least) || !normalise3(normal)) {
        return false;
    }
    if (nn > SPRAG_ACROSS_SQUARE * ee * ff) {
        return true;
    }
    // The cross product of nearly parallel edges has a large relative error. Making it orthogonal
    // to both edges again leaves only an error that turns it about the normal's plane.
    double rest[3] = {f[0], f[1], f[2]};
    add_scaled(rest, -dot3(e, f) / ee, e, 3);
    add_scaled(normal, -dot3(e, normal) / ee, e, 3);
    double rr = dot3(rest, rest);
    if (rr > 0) {
        add_scaled(normal, -dot3(rest, normal) / rr, rest, 3);
    }
    return normalise3(normal);
}

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

// Turns the normal outwards; false: vertices are on both sides of the plane.
static bool is_outside(const double (*vertex)[3], int vertices, const double *on, double tolerance,
                       double normal[3])
{
    double above = 0, below = 0;
    for (int i = 0; i < vertices; i++) {
        double from[3];
        subtract3(vertex[i], on, from);
        double height = dot3(normal, from);
        above = height > above ? height : above;
        below = height < below ? height : below;
    }
    if (above > tolerance && below < -tolerance) {
        return false;
    }
    if (above > -below) {
        for (int k = 0; k < 3; k++) {
            normal[k] = -normal[k];
        }
    }
    return true;
}

sprag_polytope sprag_polytope_make(const double (*vertex)[3], int vertices, const unsigned *loop,
                                   int faces, int *start, double (*normal)[3])
{
    sprag_polytope made = {.vertices = vertices, .vertex = vertex};
    double size = 0;
    for (int i = 0; i < vertices; i++) {
        for (int k = 0; k < 3; k++) {
            size = fmax(size, fabs(vertex[i][k]));
        }
    }
    int at = 0;
    for (int i = 0; i < faces; i++) {
        unsigned count = loop[at];
        start[i] = at;
        for (unsigned k = 1; k <= count; k++) {
            if (loop[at + (int)k] >= (unsigned)vertices) {
                return made;
            }
        }
        if (count < 3 || !loop_normal(vertex, loop + at + 1, count, normal[i]) ||
            !is_outside(vertex, vertices, vertex[loop[at + 1]], SPRAG_POLYTOPE_PLANAR * size,
                        normal[i])) {
            return made;
        }
        at += (int)count + 1;
    }
    made.faces = faces;
    made.loop = loop;
    made.start = start;
    made.normal = (const double(*)[3])normal;
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

// ---- cores

int sprag_core_vertices(const sprag_core *core)
{
    switch (core->shape->kind) {
    case SPRAG_SPHERE:
        return 1;
    case SPRAG_CAPSULE:
        return 2;
    case SPRAG_BOX:
        return 8;
    case SPRAG_POLYTOPE:
        return core->shape->polytope->vertices;
    case SPRAG_CYLINDER:
    case SPRAG_PLANE:
    case SPRAG_SHAPE_KINDS:
        break;
    }
    return 0;
}

static void place_point(const sprag_core *core, const double local[3], double point[3])
{
    mul33(core->rotation, local, point);
    add_scaled(point, 1, core->at, 3);
}

static void along_axis(const sprag_core *core, double z, double point[3])
{
    for (int k = 0; k < 3; k++) {
        point[k] = core->at[k] + z * core->rotation[3 * k + 2];
    }
}

void sprag_core_vertex(const sprag_core *core, int vertex, double point[3])
{
    const sprag_shape *shape = core->shape;
    if (shape->kind == SPRAG_SPHERE) {
        memcpy(point, core->at, 3 * sizeof *point);
    } else if (shape->kind == SPRAG_CAPSULE) {
        along_axis(core, vertex ? shape->half[2] : -shape->half[2], point);
    } else if (shape->kind == SPRAG_BOX) { // at +half where a bit of the number is set
        double local[3];
        for (int k = 0; k < 3; k++) {
            local[k] = vertex >> k & 1 ? shape->half[k] : -shape->half[k];
        }
        place_point(core, local, point);
    } else {
        place_point(core, shape->polytope->vertex[vertex], point);
    }
}

static int farthest(const double (*vertex)[3], int vertices, const double d[3])
{
    int found = 0;
    double most = dot3(vertex[0], d);
    for (int i = 1; i < vertices; i++) {
        double along = dot3(vertex[i], d);
        if (along > most) {
            most = along;
            found = i;
        }
    }
    return found;
}

// Climbs from vertex to vertex while a neighbour is farther along d.
static int climb(const sprag_polytope *p, int from, const double d[3])
{
    double most = dot3(p->vertex[from], d);
    for (int at = -1; at != from;) {
        at = from;
        for (int i = p->links.first[at]; i < p->links.first[at + 1]; i++) {
            double along = dot3(p->vertex[p->links.near[i]], d);
            if (along > most) {
                most = along;
                from = p->links.near[i];
            }
        }
    }
    return from;
}

static int farthest_vertex(const sprag_polytope *p, int *last, const double d[3])
{
    bool known = last && *last >= 0;
    int found = !p->links.first || p->vertices <= SPRAG_SUPPORT_FEW ||
                        (!known && p->vertices <= SPRAG_SUPPORT_SOME)
                    ? farthest(p->vertex, p->vertices, d)
                    : climb(p, known ? *last : 0, d);
    if (last) {
        *last = found;
    }
    return found;
}

static void cylinder_support(const sprag_core *core, const double d[3], double point[3])
{
    const sprag_shape *shape = core->shape;
    const double *R = core->rotation;
    double local[3];
    mul33_transposed(R, d, local);
    along_axis(core, local[2] > 0 ? shape->half[2] : -shape->half[2], point);
    double length = sqrt(local[0] * local[0] + local[1] * local[1]);
    for (int k = 0; k < 3 && length > 0; k++) {
        point[k] += shape->radius / length * (R[3 * k] * local[0] + R[3 * k + 1] * local[1]);
    }
}

int sprag_core_support(const sprag_core *core, const double direction[3], double point[3])
{
    const sprag_shape *shape = core->shape;
    double local[3];
    int vertex = 0;
    switch (shape->kind) {
    case SPRAG_SPHERE:
        break;
    case SPRAG_CAPSULE:
        sprag_core_axis(core, local);
        vertex = dot3(local, direction) > 0;
        break;
    case SPRAG_BOX:
        mul33_transposed(core->rotation, direction, local);
        vertex = (local[0] > 0) | (local[1] > 0) << 1 | (local[2] > 0) << 2;
        break;
    case SPRAG_POLYTOPE:
        mul33_transposed(core->rotation, direction, local);
        vertex = farthest_vertex(shape->polytope, core->last, local);
        break;
    case SPRAG_CYLINDER:
        cylinder_support(core, direction, point);
        return SPRAG_NO_VERTEX;
    case SPRAG_PLANE:
    case SPRAG_SHAPE_KINDS:
        return SPRAG_NO_VERTEX;
    }
    sprag_core_vertex(core, vertex, point);
    return vertex;
}

// ---- bounds

static double farthest_along(const sprag_polytope *p, const double d[3])
{
    return dot3(p->vertex[farthest_vertex(p, NULL, d)], d);
}

// Entry i of a row of the rotation is the component of local axis i along the world axis.
void sprag_shape_bounds(const sprag_shape *shape, const sprag_pose *pose, double bounds[6])
{
    for (int k = 0; k < 3; k++) {
        const double *row = pose->rotation + 3 * k;
        double x = pose->position[k], lo = 0, hi = 0;
        switch (shape->kind) {
        case SPRAG_SPHERE:
            hi = shape->radius;
            lo = -hi;
            break;
        case SPRAG_CAPSULE:
            hi = shape->radius + fabs(row[2]) * shape->half[2];
            lo = -hi;
            break;
        case SPRAG_CYLINDER:
            hi = shape->radius * hypot(row[0], row[1]) + fabs(row[2]) * shape->half[2];
            lo = -hi;
            break;
        case SPRAG_BOX:
            hi = fabs(row[0]) * shape->half[0] + fabs(row[1]) * shape->half[1] +
                 fabs(row[2]) * shape->half[2];
            lo = -hi;
            break;
        case SPRAG_POLYTOPE:
            hi = farthest_along(shape->polytope, row);
            lo = -farthest_along(shape->polytope, (double[]){-row[0], -row[1], -row[2]});
            break;
        case SPRAG_PLANE:
            lo = row[2] == -1 ? 0 : -INFINITY;
            hi = row[2] == 1 ? 0 : INFINITY;
            break;
        case SPRAG_SHAPE_KINDS:
            break;
        }
        bounds[k] = x + lo;
        bounds[3 + k] = x + hi;
    }
}

bool sprag_shape_face(const sprag_shape *shape, int face, double normal[3])
{
    const bool polytope = shape->kind == SPRAG_POLYTOPE;
    const int faces = polytope                        ? shape->polytope->faces
                      : shape->kind == SPRAG_BOX      ? 6
                      : shape->kind == SPRAG_CYLINDER ? 2
                                                      : 0;
    for (int k = 0; k < 3 && face < faces; k++) {
        const bool along = faces == 2 ? k == 2 : k == face / 2;
        normal[k] = polytope ? shape->polytope->normal[face][k] : along ? 1 - 2 * (face % 2) : 0;
    }
    return face < faces;
}

static double width_of_polytope(const sprag_polytope *p)
{
    double least = INFINITY;
    for (int f = 0, last = SPRAG_NO_VERTEX; f < p->faces; f++) {
        const double *n = p->normal[f], back[3] = {-n[0], -n[1], -n[2]};
        const double *on = p->vertex[p->loop[p->start[f] + 1]];
        least = fmin(least, dot3(on, n) + dot3(p->vertex[farthest_vertex(p, &last, back)], back));
    }
    return p->faces > 0 ? least : 0;
}

double sprag_shape_width(const sprag_shape *shape)
{
    static const sprag_pose own = {.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    double bounds[6], least = INFINITY;
    if (shape->kind == SPRAG_POLYTOPE) {
        return width_of_polytope(shape->polytope);
    }
    sprag_shape_bounds(shape, &own, bounds);
    for (int k = 0; k < 3; k++) {
        least = fmin(least, bounds[3 + k] - bounds[k]);
    }
    return least;
}
