// Support functions, bounds and faces.
#include "solvers/shape.h"

#include <float.h>
#include <math.h>
#include <stddef.h>

#include "solvers/linalg.h"

// ---- faces

bool sprag_across(const double e[3], const double f[3], double normal[3])
{
    cross3(e, f, normal);
    double ee = dot3(e, e), ff = dot3(f, f);
    double least = 16 * DBL_EPSILON * DBL_EPSILON * ee * ff;
    if (!(dot3(normal, normal) > least) || !normalise3(normal)) {
        return false;
    }
    // The cross product of nearly parallel edges is as wrong as they are near; once more against
    // each of them leaves only an error that turns within the plane at right angles to both.
    double rest[3] = {f[0], f[1], f[2]};
    add_scaled(rest, -dot3(e, f) / ee, e, 3);
    add_scaled(normal, -dot3(e, normal) / ee, e, 3);
    double rr = dot3(rest, rest);
    if (rr > 0) {
        add_scaled(normal, -dot3(rest, normal) / rr, rest, 3);
    }
    return normalise3(normal);
}

// Newell's normal of a loop; false: it has no area.
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

// Turns the normal outwards; false: there are vertices on both sides.
static bool is_outside(const double (*vertex)[3], int vertices, const double *on, double tolerance,
                       double normal[3])
{
    double above = 0, below = 0;
    for (int i = 0; i < vertices; i++) {
        double from[3];
        subtract3(vertex[i], on, from);
        double height = dot3(normal, from);
        above = fmax(above, height);
        below = fmin(below, height);
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
    static const double planar = 1e-6; // of the size
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
            !is_outside(vertex, vertices, vertex[loop[at + 1]], planar * size, normal[i])) {
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
    return (sprag_polytope){3, flat ? 2 : 0, vertex, loop, start, (const double(*)[3])normal};
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

static void place(const sprag_core *core, const double local[3], double point[3])
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
        place(core, local, point);
    } else {
        place(core, shape->polytope->vertex[vertex], point);
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

static void rim_support(const sprag_core *core, const double d[3], double point[3])
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
        vertex = farthest(shape->polytope->vertex, shape->polytope->vertices, local);
        break;
    case SPRAG_CYLINDER:
        rim_support(core, direction, point);
        return SPRAG_NO_VERTEX;
    case SPRAG_PLANE:
    case SPRAG_SHAPE_KINDS:
        return SPRAG_NO_VERTEX;
    }
    sprag_core_vertex(core, vertex, point);
    return vertex;
}

// ---- bounds

// Below, each entry of a row of the rotation is the part that one local axis has in a world axis.
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
            lo = INFINITY;
            hi = -INFINITY;
            for (int i = 0; i < shape->polytope->vertices; i++) {
                double along = dot3(row, shape->polytope->vertex[i]);
                lo = fmin(lo, along);
                hi = fmax(hi, along);
            }
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
