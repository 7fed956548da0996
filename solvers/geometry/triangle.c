// Triangles of meshes. Their first face is the outside of the mesh: shapes that overlap a triangle
// are moved out by this front.
#include <math.h>

#include "core_gap.h"
#include "gap.h"
#include "linalg.h"
#include "tolerances.h"

bool sprag_gap_front(const sprag_shape *triangle, const sprag_pose *pose, double normal[3])
{
    bool flat = triangle->kind == SPRAG_POLYTOPE && triangle->polytope->faces == 2;
    if (flat) {
        mul33(pose->rotation, triangle->polytope->normal[0], normal);
    }
    return flat;
}

bool sprag_triangle_way_out(const sprag_shape *const shape[2], const sprag_pose *const pose[2],
                            int triangle, double out[3])
{
    const bool flat = sprag_gap_front(shape[triangle], pose[triangle], out);
    if (flat && !triangle) {
        scale3(-1, out, out);
    }
    return flat;
}

bool sprag_triangle_rises(const double corner[3][3], const double at[3], const double normal[3],
                          double near)
{
    for (int i = 0; i < 3; i++) {
        double to[3];
        subtract3(corner[i], at, to);
        if (dot3(normal, to) > near + SPRAG_TRIANGLE_FLAT * norm3(to)) {
            return true;
        }
    }
    return false;
}

bool sprag_triangle_nearest(const double corner[3][3], const double at[3], double nearest[3])
{
    double edge[3][3], normal[3], least = INFINITY;
    bool within = true;
    for (int i = 0; i < 3; i++) {
        subtract3(corner[(i + 1) % 3], corner[i], edge[i]);
    }
    cross3(edge[0], edge[1], normal);
    for (int i = 0; i < 3; i++) {
        double from[3], across[3];
        subtract3(at, corner[i], from);
        cross3(normal, edge[i], across);
        if (dot3(across, from) > 0) {
            continue; // another edge is nearer, or none
        }
        const double square = dot3(edge[i], edge[i]);
        double on[3], between[3];
        memcpy(on, corner[i], sizeof on);
        add_scaled(on, square > 0 ? clamp(dot3(from, edge[i]) / square, 0, 1) : 0, edge[i], 3);
        subtract3(at, on, between);
        within = false;
        if (dot3(between, between) < least) {
            least = dot3(between, between);
            memcpy(nearest, on, sizeof on);
        }
    }
    if (within) {
        double from[3];
        subtract3(at, corner[0], from);
        memcpy(nearest, at, 3 * sizeof *at);
        add_scaled(nearest, -dot3(normal, from) / dot3(normal, normal), normal, 3);
    }
    return within;
}

bool sprag_triangle_is_about(const double v[3][3], const double at[3], double near)
{
    for (int k = 0; k < 3; k++) {
        const double low = at[k] - near, high = at[k] + near;
        if ((v[0][k] < low && v[1][k] < low && v[2][k] < low) ||
            (v[0][k] > high && v[1][k] > high && v[2][k] > high)) {
            return false;
        }
    }
    return true;
}

bool sprag_triangle_has(const double corner[3][3], const double at[3], double near)
{
    double on[3], between[3];
    if (!sprag_triangle_is_about(corner, at, near)) {
        return false;
    }
    sprag_triangle_nearest(corner, at, on);
    subtract3(at, on, between);
    return dot3(between, between) <= near * near;
}

// The deepest point of the other shape and its projection onto the plane of the triangle.
static void deepest_point(const sprag_core core[2], int triangle, sprag_gap *gap)
{
    double *at = gap->point[!triangle], back[3];
    scale3(triangle ? -1 : 1, gap->normal, back);
    sprag_core_support(&core[!triangle], back, at);
    add_scaled(at, sprag_core_margin(&core[!triangle]), back, 3);
    memcpy(gap->point[triangle], at, sizeof gap->point[0]);
    add_scaled(gap->point[triangle], gap->distance, back, 3);
}

bool sprag_gap_by_front(const sprag_shape *const shape[2], const sprag_pose *const pose[2],
                        int triangle, bool always, double margin, sprag_gap *gap,
                        sprag_manifold *manifold)
{
    double normal[3];
    sprag_core core[2];
    if (gap->beyond || !(gap->distance < 0) ||
        !sprag_triangle_way_out(shape, pose, triangle, normal) ||
        !sprag_cores_set(shape, pose, core)) {
        return false;
    }
    double along = dot3(normal, gap->normal);
    if (along > 1 - SPRAG_TRIANGLE_ALONG || (along >= 0 && !always)) {
        return false;
    }
    double distance = sprag_gap_along(shape, pose, normal);
    if (!isfinite(distance)) {
        return false; // the other shape is a half-space
    }
    // The shape overlaps the edge from the side; the way out by the front would be much longer.
    if (along >= SPRAG_TRIANGLE_BACK && !always &&
        distance < SPRAG_TRIANGLE_LONGER * gap->distance) {
        return false;
    }
    gap->distance = distance;
    gap->error = 0;
    memcpy(gap->normal, normal, sizeof normal);
    deepest_point(core, triangle, gap);
    if (manifold) {
        manifold->count = 0;
        if (shape[!triangle]->kind != SPRAG_SPHERE) {
            sprag_manifold_clip(core, normal, margin, manifold);
        }
        if (manifold->count == 0) {
            manifold->count = 1;
            manifold->gap[0] = distance;
            memcpy(manifold->point[0], gap->point, sizeof gap->point);
        }
    }
    for (int side = 0; side < 2; side++) {
        add_scaled(gap->point[side], 1, pose[0]->position, 3);
        for (int i = 0; manifold && i < manifold->count; i++) {
            add_scaled(manifold->point[i][side], 1, pose[0]->position, 3);
        }
    }
    return true;
}

bool sprag_triangle_manifold(const sprag_shape *const shape[2], const sprag_pose *const pose[2],
                             int triangle, double margin, double normal[3],
                             sprag_manifold *manifold)
{
    sprag_core core[2];
    manifold->count = 0;
    if (!sprag_triangle_way_out(shape, pose, triangle, normal) ||
        !sprag_cores_set(shape, pose, core)) {
        return false;
    }
    sprag_manifold_clip(core, normal, margin, manifold);
    for (int i = 0; i < manifold->count; i++) {
        for (int side = 0; side < 2; side++) {
            add_scaled(manifold->point[i][side], 1, pose[0]->position, 3);
        }
    }
    return manifold->count > 0;
}
