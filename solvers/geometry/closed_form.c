// Distances in closed form: to a half-space, from a point, between two parallel cylinders.
#include <float.h>
#include <math.h>

#include "core_gap.h"
#include "linalg.h"

// ---- half-spaces

void sprag_core_gap_plane(const sprag_core core[2], int plane, sprag_core_gap *a)
{
    double n[3], towards[3], from[3];
    sprag_core_axis(&core[plane], n);
    for (int k = 0; k < 3; k++) {
        towards[k] = -n[k];
        a->normal[k] = plane ? n[k] : -n[k];
    }
    sprag_core_support(&core[!plane], towards, a->point[!plane]);
    subtract3(a->point[!plane], core[plane].at, from);
    a->distance = dot3(n, from);
    memcpy(a->point[plane], a->point[!plane], sizeof a->point[0]);
    add_scaled(a->point[plane], -a->distance, n, 3);
}

// ---- a point

// Moves a point inside a box (`on`, in its axes) to its nearest face. n: the normal there. Returns
// minus the depth, m.
static double out_of_box(const double half[3], double on[3], double n[3])
{
    int axis = 0;
    for (int k = 1; k < 3; k++) {
        if (half[k] - fabs(on[k]) < half[axis] - fabs(on[axis])) {
            axis = k;
        }
    }
    double depth = half[axis] - fabs(on[axis]);
    n[axis] = copysign(1, on[axis]);
    on[axis] = n[axis] * half[axis];
    return -depth;
}

static double out_of_cylinder(double radius, double half, double on[3], double n[3])
{
    double r = hypot(on[0], on[1]);
    if (half - fabs(on[2]) < radius - r) {
        double depth = half - fabs(on[2]);
        n[2] = copysign(1, on[2]);
        on[2] = n[2] * half;
        return -depth;
    }
    n[0] = r > 0 ? on[0] / r : 1;
    n[1] = r > 0 ? on[1] / r : 0;
    on[0] = radius * n[0];
    on[1] = radius * n[1];
    return r - radius;
}

// Signed distance (m) of a point to a core other than a half-space; of polytopes, to a triangle. x:
// in, the point in the axes of the core; out, the nearest point of its surface. n: the unit normal
// there, outwards.
static double from_point(const sprag_shape *shape, double x[3], double n[3])
{
    const double at[3] = {x[0], x[1], x[2]};
    double r, distance, any[3] = {1, 0, 0}; // the normal on a point or a segment
    n[0] = n[1] = n[2] = 0;
    switch (shape->kind) {
    case SPRAG_CAPSULE:
        x[0] = x[1] = 0;
        x[2] = clamp(x[2], -shape->half[2], shape->half[2]);
        break;
    case SPRAG_BOX:
        for (int k = 0; k < 3; k++) {
            x[k] = clamp(x[k], -shape->half[k], shape->half[k]);
        }
        if (!memcmp(x, at, sizeof at)) {
            return out_of_box(shape->half, x, n);
        }
        break;
    case SPRAG_CYLINDER:
        r = hypot(x[0], x[1]);
        if (r <= shape->radius && fabs(x[2]) <= shape->half[2]) {
            return out_of_cylinder(shape->radius, shape->half[2], x, n);
        }
        if (r > shape->radius) {
            x[0] *= shape->radius / r;
            x[1] *= shape->radius / r;
            if (fabs(x[2]) <= shape->half[2]) {
                n[0] = at[0] / r;
                n[1] = at[1] / r;
                return r - shape->radius;
            }
        }
        x[2] = clamp(x[2], -shape->half[2], shape->half[2]);
        break;
    case SPRAG_POLYTOPE:
        memcpy(any, shape->polytope->normal[0], sizeof any);
        if (sprag_triangle_nearest(shape->polytope->vertex, at, x)) {
            subtract3(at, x, n);
            distance = dot3(any, n);
            for (int k = 0; k < 3; k++) {
                n[k] = copysign(1, distance) * any[k];
            }
            return fabs(distance);
        }
        break;
    case SPRAG_SPHERE:
    case SPRAG_PLANE:
    case SPRAG_SHAPE_KINDS:
        x[0] = x[1] = x[2] = 0;
        break;
    }
    subtract3(at, x, n);
    distance = norm3(n);
    if (!normalise3(n)) {
        memcpy(n, any, sizeof any);
    }
    return distance;
}

void sprag_core_gap_sphere(const sprag_core core[2], int sphere, sprag_core_gap *a)
{
    const sprag_core *other = &core[!sphere];
    double between[3], x[3], n[3];
    subtract3(core[sphere].at, other->at, between);
    mul33_transposed(other->rotation, between, x);
    a->distance = from_point(other->shape, x, n);
    mul33(other->rotation, x, a->point[!sphere]);
    add_scaled(a->point[!sphere], 1, other->at, 3);
    memcpy(a->point[sphere], core[sphere].at, sizeof a->point[0]);
    mul33(other->rotation, n, a->normal);
    for (int k = 0; k < 3 && sphere; k++) {
        a->normal[k] = -a->normal[k];
    }
}

// ---- cylinders, or one and a segment, with one direction

bool sprag_cores_parallel(const sprag_core core[2])
{
    double axis[2][3], across[3];
    for (int side = 0; side < 2; side++) {
        sprag_shape_kind kind = core[side].shape->kind;
        if (kind != SPRAG_CYLINDER && (kind != SPRAG_CAPSULE || !sprag_cores_curved(core))) {
            return false;
        }
        sprag_core_axis(&core[side], axis[side]);
    }
    cross3(axis[0], axis[1], across);
    return norm3(across) <= 4 * DBL_EPSILON;
}

double sprag_interval_gap(double half0, double half1, double at, double end[2])
{
    double far = fabs(at), lo = fmax(-half0, far - half1), hi = fmin(half0, far + half1);
    end[0] = end[1] = copysign((lo + hi) / 2, at);
    if (lo > hi) {
        end[0] = copysign(hi, at);
        end[1] = copysign(lo, at);
    }
    return far - half0 - half1;
}

// The cylinders are apart along the axis, across it or both, which gives the distance; if they
// overlap both ways, the shorter way out is the depth.
void sprag_core_gap_parallel(const sprag_core core[2], sprag_core_gap *a)
{
    double axis[3], out[3], between[3], half[2], radius[2], end[2][2];
    sprag_core_axis(&core[0], axis);
    for (int side = 0; side < 2; side++) {
        half[side] = core[side].shape->half[2];
        radius[side] = core[side].shape->kind == SPRAG_CYLINDER ? core[side].shape->radius : 0;
    }
    subtract3(core[1].at, core[0].at, between);
    double up = dot3(axis, between);
    memcpy(out, between, sizeof out);
    for (int i = 0; i < 2; i++) {
        add_scaled(out, -dot3(axis, out), axis, 3);
    }
    double across = norm3(out);
    if (!normalise3(out)) {
        for (int k = 0; k < 3; k++) {
            out[k] = core[0].rotation[3 * k];
        }
    }
    double along_gap = sprag_interval_gap(half[0], half[1], up, end[0]);
    double across_gap = sprag_interval_gap(radius[0], radius[1], across, end[1]);
    bool along = along_gap > 0 || along_gap >= across_gap;
    bool aside = across_gap > 0 || !along;
    if (along && along_gap <= 0) { // the cylinders leave each other through their caps
        end[0][0] = copysign(half[0], up);
        end[0][1] = up - copysign(half[1], up);
    } else if (aside && across_gap <= 0) {
        end[1][0] = radius[0];
        end[1][1] = across - radius[1];
    }
    double z = along ? along_gap : 0, r = aside ? across_gap : 0, far = hypot(z, r);
    a->distance = along && aside ? far : z + r;
    for (int k = 0; k < 3; k++) {
        double n = copysign(along ? fabs(z) : 0, -up) * axis[k] - (aside ? fabs(r) : 0) * out[k];
        a->normal[k] = far > 0 ? n / far : along ? copysign(1, -up) * axis[k] : -out[k];
        for (int side = 0; side < 2; side++) {
            a->point[side][k] = core[0].at[k] + end[0][side] * axis[k] + end[1][side] * out[k];
        }
    }
}
