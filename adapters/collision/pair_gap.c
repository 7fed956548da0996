// The gap of one pair.
#include <math.h>

#include "geom_pairs.h"
#include "linalg.h"

sprag_result sprag_ode_gap(const ode_pair *pair, const sprag_gap_query *query, sprag_gap *gap,
                           sprag_manifold *manifold)
{
    const sprag_shape *shape[2] = {&pair->side[0]->shape, &pair->side[1]->shape};
    const sprag_pose *pose[2] = {&pair->side[0]->pose, &pair->side[1]->pose};
    sprag_result result =
        sprag_gap_find(shape, pose, query, pair->memory ? &pair->memory->gap : NULL, gap, manifold);
    for (int side = 0; side < 2 && result != SPRAG_BAD_PROBLEM; side++) {
        if (pair->side[side]->triangle >= 0 && pair->side[!side]->triangle < 0) {
            sprag_gap_by_front(shape, pose, side, false, query->margin, gap, manifold);
        }
    }
    return result;
}

// Half of what a shape is wide along a direction of its own axes, m times the direction's length.
static double half_width(const sprag_shape *shape, const double n[3])
{
    double length = sqrt(dot3(n, n)), across = hypot(n[0], n[1]);
    switch (shape->kind) {
    case SPRAG_BOX:
        return shape->half[0] * fabs(n[0]) + shape->half[1] * fabs(n[1]) +
               shape->half[2] * fabs(n[2]);
    case SPRAG_CYLINDER:
        return shape->radius * across + shape->half[2] * fabs(n[2]);
    case SPRAG_CAPSULE:
        return shape->radius * length + shape->half[2] * fabs(n[2]);
    default:
        return INFINITY;
    }
}

bool sprag_ode_is_apart(const ode_side *other, const double triangle[3][3], double reach)
{
    const sprag_shape *shape = &other->shape;
    double corner[3][3], normal[3], edge[2][3];
    if (shape->kind > SPRAG_BOX) {
        return false;
    }
    if (shape->kind == SPRAG_SPHERE) {
        return !sprag_triangle_has(triangle, other->pose.position, shape->radius + reach);
    }
    for (int i = 0; i < 3; i++) {
        double at[3];
        subtract3(triangle[i], other->pose.position, at);
        mul33_transposed(other->pose.rotation, at, corner[i]);
    }
    for (int k = 0; k < 3; k++) {
        const double axis[3] = {k == 0, k == 1, k == 2};
        double half = half_width(shape, axis) + reach;
        double least = fmin(corner[0][k], fmin(corner[1][k], corner[2][k]));
        double most = fmax(corner[0][k], fmax(corner[1][k], corner[2][k]));
        edge[0][k] = corner[1][k] - corner[0][k];
        edge[1][k] = corner[2][k] - corner[0][k];
        if (least > half || most < -half) {
            return true;
        }
    }
    cross3(edge[0], edge[1], normal);
    return fabs(dot3(normal, corner[0])) >
           half_width(shape, normal) + reach * sqrt(dot3(normal, normal));
}
