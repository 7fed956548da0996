// Chooses the algorithm by the kinds of the shapes, adds their radii and completes the manifold:
// closed forms for half-spaces, spheres (not to all polytopes) and parallel cylinders, 15
// directions for two boxes, a search for anything else.
#include "gap.h"

#include <float.h>
#include <math.h>

#include "boxes.h"
#include "core_gap.h"
#include "linalg.h"
#include "tolerances.h"

static void two_boxes(const sprag_core core[2], double reach, double margin, sprag_core_gap *a,
                      sprag_manifold *manifold)
{
    sprag_boxes boxes;
    sprag_boxes_separate(core, reach, margin, &boxes, manifold);
    memcpy(a->normal, boxes.normal, sizeof a->normal);
    memcpy(a->point, boxes.point, sizeof a->point);
    a->distance = boxes.bound;
    a->beyond = boxes.beyond;
    a->has_manifold = boxes.has_points && manifold;
    if (!boxes.beyond && !boxes.has_points) {
        sprag_gjk gjk = {.simplex.count = 0};
        memcpy(gjk.normal, boxes.normal, sizeof gjk.normal);
        sprag_core_gap_search(core, reach, &gjk, a);
    }
}

// ---- manifold

// Drops pairs of points that are farther apart than the margin, and adds the nearest points if no
// pair is as near as they are.
static void keep_within_margin(const sprag_core_gap *a, double radii, double margin,
                               sprag_manifold *m)
{
    int left = 0;
    double nearest = INFINITY;
    for (int i = 0; i < m->count; i++) {
        if (m->gap[i] <= margin) {
            nearest = m->gap[i] < nearest ? m->gap[i] : nearest;
            if (left < i) {
                m->gap[left] = m->gap[i];
                memcpy(m->point[left], m->point[i], sizeof m->point[0]);
            }
            left++;
        }
    }
    m->count = left;
    double distance = a->distance - radii;
    if (distance <= margin && nearest > distance + SPRAG_GAP_TOLERABLE * a->size) {
        int at = left < SPRAG_MANIFOLD_MAX ? m->count++ : left - 1;
        memcpy(m->point[at], a->point, sizeof m->point[0]);
        m->gap[at] = distance;
    }
}

// ---- one pair

// The vertex from which a search among the vertices of a polytope may start; -1: unknown.
static int known_vertex(const sprag_core core[2], int side, const sprag_gap_memory *memory)
{
    bool known = memory && memory->count && core[side].shape->kind == SPRAG_POLYTOPE;
    int vertex = known ? memory->vertex[0][side] : -1;
    if (vertex < 0) {
        return -1;
    }
    return vertex < sprag_core_vertices(&core[side]) ? vertex : -1;
}

// Has the distance of a point to it a closed form?
static bool is_simple(const sprag_shape *shape)
{
    return shape->kind != SPRAG_POLYTOPE ||
           (shape->polytope->vertices == 3 && shape->polytope->faces == 2);
}

// The distance of the cores. last: a vertex to start from of each.
static void measure(const sprag_core core[2], double reach, double margin, const int last[2],
                    sprag_gap_memory *memory, sprag_core_gap *a, sprag_manifold *manifold)
{
    const sprag_shape_kind kind[2] = {core[0].shape->kind, core[1].shape->kind};
    if (kind[0] == SPRAG_PLANE || kind[1] == SPRAG_PLANE) {
        sprag_core_gap_plane(core, kind[1] == SPRAG_PLANE, a);
        if (memory) {
            memory->count = 1;
            memcpy(memory->vertex[0], last, sizeof memory->vertex[0]);
        }
    } else if ((kind[0] == SPRAG_SPHERE && is_simple(core[1].shape)) ||
               (kind[1] == SPRAG_SPHERE && is_simple(core[0].shape))) {
        sprag_core_gap_sphere(core, kind[0] != SPRAG_SPHERE, a);
    } else if (kind[0] == SPRAG_BOX && kind[1] == SPRAG_BOX) {
        two_boxes(core, reach, margin, a, manifold);
    } else if (sprag_core_gap_triangle(core, reach, a) || sprag_core_gap_box(core, reach, a)) {
        return;
    } else if (sprag_cores_parallel(core)) {
        sprag_core_gap_parallel(core, a);
    } else {
        sprag_core_gap_warm(core, reach, memory, a);
    }
}

// Moves points from the cores to the surfaces and to the world, and completes the manifold.
static void to_world(const sprag_core core[2], const sprag_pose *pose, const sprag_gap_query *query,
                     sprag_core_gap *a, sprag_gap *gap, sprag_manifold *manifold)
{
    double margins[2] = {sprag_core_margin(&core[0]), sprag_core_margin(&core[1])};
    bool ball = core[0].shape->kind == SPRAG_SPHERE || core[1].shape->kind == SPRAG_SPHERE;
    add_scaled(a->point[0], -margins[0], a->normal, 3);
    add_scaled(a->point[1], margins[1], a->normal, 3);
    if (manifold) {
        if (!a->has_manifold && !ball) {
            sprag_manifold_clip(core, a->normal, query->margin, manifold);
        }
        keep_within_margin(a, margins[0] + margins[1], query->margin, manifold);
    }
    for (int side = 0; side < 2; side++) {
        memcpy(gap->point[side], a->point[side], sizeof a->point[0]);
        add_scaled(gap->point[side], 1, pose->position, 3);
        for (int i = 0; manifold && i < manifold->count; i++) {
            add_scaled(manifold->point[i][side], 1, pose->position, 3);
        }
    }
}

sprag_result sprag_gap_find(const sprag_shape *const shape[2], const sprag_pose *const pose[2],
                            const sprag_gap_query *query, sprag_gap_memory *memory, sprag_gap *gap,
                            sprag_manifold *manifold)
{
    sprag_core core[2];
    int last[2], none, *count = manifold ? &manifold->count : &none;
    sprag_core_gap a;
    a.distance = NAN;
    a.error = 0;
    a.work = gap->work = 0;
    a.beyond = a.has_manifold = false;
    *count = 0;
    if (!sprag_cores_set(shape, pose, core) ||
        (shape[0]->kind == SPRAG_PLANE && shape[1]->kind == SPRAG_PLANE)) {
        return SPRAG_BAD_PROBLEM;
    }
    for (int side = 0; side < 2; side++) {
        last[side] = known_vertex(core, side, memory);
        core[side].last = &last[side];
    }
    double radii = sprag_core_margin(&core[0]) + sprag_core_margin(&core[1]);
    a.size = norm3(core[1].at) + radii;
    measure(core, query->reach + radii, query->margin, last, memory, &a, manifold);
    if (!isfinite(a.distance)) {
        return SPRAG_BAD_PROBLEM;
    }
    gap->distance = a.distance - radii;
    gap->error = a.error;
    gap->work = a.work;
    gap->beyond = a.beyond || gap->distance > query->reach;
    memcpy(gap->normal, a.normal, sizeof gap->normal);
    if (gap->beyond) {
        *count = 0;
        return SPRAG_OK;
    }
    to_world(core, pose[0], query, &a, gap, manifold);
    return gap->error > SPRAG_GAP_TOLERABLE * (a.size + fabs(a.distance)) ? SPRAG_NOT_CONVERGED
                                                                          : SPRAG_OK;
}

double sprag_gap_along(const sprag_shape *const shape[2], const sprag_pose *const pose[2],
                       const double normal[3])
{
    sprag_core core[2];
    sprag_pair_vertex v;
    sprag_cores_set(shape, pose, core);
    for (int side = 0; side < 2; side++) {
        if (shape[side]->kind == SPRAG_PLANE) {
            double n[3], from[3];
            sprag_core_axis(&core[side], n);
            double sign = side ? 1 : -1;
            if (sign * dot3(n, normal) < 1 - 4 * DBL_EPSILON) {
                return -INFINITY; // a half-space is unbounded along all other normals
            }
            const double towards[3] = {-sign * normal[0], -sign * normal[1], -sign * normal[2]};
            sprag_core_support(&core[!side], towards, v.point[0]);
            subtract3(v.point[0], core[side].at, from);
            return sign * dot3(normal, from) - sprag_core_margin(&core[!side]);
        }
    }
    return sprag_pair_support(core, normal, &v) - sprag_core_margin(&core[0]) -
           sprag_core_margin(&core[1]);
}
