// Support functions and bounds.
#include "shape.h"

#include <float.h>
#include <math.h>
#include <stddef.h>

#include "linalg.h"
#include "tolerances.h"

// ---- directions

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
