// The distance of two cores by search: GJK when they are apart, EPA when they overlap, Newton's
// method where a cylinder takes part.
#include "core_gap.h"

#include <float.h>
#include <math.h>

#include "cylinders.h"
#include "epa.h"
#include "linalg.h"
#include "tolerances.h"

static double sum3(const double *a)
{
    return a[0] + a[1] + a[2];
}

bool sprag_cores_set(const sprag_shape *const shape[2], const sprag_pose *const pose[2],
                     sprag_core core[2])
{
    double sum[2];
    for (int side = 0; side < 2; side++) {
        const double *R = pose[side]->rotation;
        core[side].shape = shape[side];
        core[side].rotation = R;
        core[side].last = NULL;
        subtract3(pose[side]->position, pose[0]->position, core[side].at);
        sum[side] = (sum3(R) + sum3(R + 3)) + (sum3(R + 6) + sum3(core[side].at));
    }
    return isfinite(sum[0] + sum[1]);
}

// Length (m) by which the points are not `distance` apart along the normal.
static double point_error(const sprag_core_gap *a)
{
    double off[3];
    subtract3(a->point[0], a->point[1], off);
    add_scaled(off, -a->distance, a->normal, 3);
    return norm3(off);
}

// Bound (m) of the error of `distance`: the true distance is at most that of the points.
static double point_excess(const sprag_core_gap *a)
{
    double between[3];
    subtract3(a->point[0], a->point[1], between);
    double off = norm3(between) - fabs(a->distance);
    return off > 0 ? off : 0;
}

// Whether the shapes nearly touch. Then any two points of the surfaces seem `distance` apart.
static bool is_touching(const sprag_core core[2], const sprag_core_gap *a)
{
    return sprag_core_margin(&core[0]) + sprag_core_margin(&core[1]) == 0 &&
           fabs(a->distance) < 10 * SPRAG_GAP_TOLERABLE * a->size;
}

// Two caps that touch: the middle of their overlap, seen along the normal.
static void points_on_caps(const sprag_core core[2], sprag_core_gap *a)
{
    double cap[2][3], axis[3], out[3], end[2];
    for (int side = 0; side < 2; side++) {
        sprag_core_axis(&core[side], axis);
        double towards = side ? dot3(axis, a->normal) : -dot3(axis, a->normal);
        if (core[side].shape->kind != SPRAG_CYLINDER || fabs(towards) < SPRAG_GAP_CAP) {
            return;
        }
        memcpy(cap[side], core[side].at, sizeof cap[side]);
        add_scaled(cap[side], copysign(core[side].shape->half[2], towards), axis, 3);
    }
    subtract3(cap[1], cap[0], out);
    add_scaled(out, -dot3(out, a->normal), a->normal, 3);
    double far = norm3(out);
    if (!normalise3(out)) {
        return;
    }
    sprag_interval_gap(core[0].shape->radius, core[1].shape->radius, far, end);
    memcpy(a->point[0], cap[0], sizeof cap[0]);
    add_scaled(a->point[0], end[0], out, 3);
    memcpy(a->point[1], a->point[0], sizeof cap[0]);
    add_scaled(a->point[1], -a->distance, a->normal, 3);
}

// Replaces the nearest points by better ones: corners of the overlap of the two faces, or a support
// point and its projection onto a cap.
static void points_on_faces(const sprag_core core[2], sprag_core_gap *a)
{
    sprag_manifold m;
    sprag_core_gap best = *a;
    bool touching = is_touching(core, a);
    double least = touching ? INFINITY : point_error(a);
    sprag_manifold_clip(core, a->normal, a->distance + SPRAG_GAP_SLACK * a->size, &m);
    if (touching && m.count == 0) {
        points_on_caps(core, a);
        return;
    }
    for (int i = 0; i < m.count + (touching ? 0 : 2); i++) {
        if (i < m.count) {
            memcpy(best.point, m.point[i], sizeof best.point);
        } else {
            int cap = i - m.count;
            double towards[3] = {0}, from[3], axis[3], z;
            add_scaled(towards, cap ? -1 : 1, a->normal, 3);
            sprag_core_support(&core[!cap], towards, best.point[!cap]);
            memcpy(best.point[cap], best.point[!cap], sizeof best.point[cap]);
            add_scaled(best.point[cap], cap ? -a->distance : a->distance, a->normal, 3);
            subtract3(best.point[cap], core[cap].at, from);
            sprag_core_axis(&core[cap], axis);
            z = dot3(axis, from);
            if (core[cap].shape->kind != SPRAG_CYLINDER || fabs(z) > core[cap].shape->half[2] ||
                dot3(from, from) - z * z > core[cap].shape->radius * core[cap].shape->radius) {
                continue;
            }
        }
        if (point_error(&best) < least) {
            least = point_error(&best);
            memcpy(a->point, best.point, sizeof a->point);
        }
    }
}

static bool search_cylinders(const sprag_core core[2], const sprag_gjk *gjk, sprag_core_gap *a)
{
    sprag_cylinders found = {.cosine = -1};
    memcpy(found.normal, gjk->normal, sizeof found.normal);
    sprag_cylinders_separate(core, gjk->simplex.vertex, gjk->simplex.count, gjk->size, &found);
    a->work += found.work;
    double shallow = SPRAG_GAP_SHALLOW * gjk->size; // GJK may not have seen an overlap yet
    bool apart = found.bound > 0 || (gjk->distance < shallow && found.bound > -shallow);
    if (!found.closed || !apart || found.bound < gjk->bound - SPRAG_GAP_EXACT * gjk->size) {
        return false;
    }
    a->distance = found.bound;
    a->error = found.error;
    memcpy(a->normal, found.normal, sizeof a->normal);
    memcpy(a->point, found.point, sizeof a->point);
    if (a->error > SPRAG_GAP_EXACT * (a->size + a->distance)) {
        points_on_faces(core, a);
        a->error = point_excess(a);
        double off = gjk->distance - a->distance;
        if (a->error > SPRAG_GAP_EXACT * (a->size + a->distance) && off < a->error) {
            a->error = off > 0 ? off : 0;
            sprag_simplex_points(&gjk->simplex, a->point);
        }
    }
    return true;
}

static void try_direction(const sprag_core core[2], const double direction[3], sprag_epa *epa)
{
    for (int sign = -1; sign <= 1; sign += 2) {
        double n[3] = {sign * direction[0], sign * direction[1], sign * direction[2]};
        sprag_pair_vertex v;
        double bound = normalise3(n) ? sprag_pair_support(core, n, &v) : -INFINITY;
        if (bound > epa->bound) {
            epa->error = fmax(0, epa->error - (bound - epa->bound));
            epa->bound = bound;
            memcpy(epa->normal, n, sizeof n);
            memcpy(epa->point, v.point, sizeof v.point);
        }
    }
}

// Sine of the angle between a cylinder's axis and the nearest axis of the other core; 1 if the
// other core has no axis, or if the cylinder is not above the middle of that box face.
static double misalignment(const sprag_core *cylinder, const sprag_core *other)
{
    double axis[3], between[3], local[3], x[3], least = 1;
    sprag_core_axis(cylinder, axis);
    subtract3(cylinder->at, other->at, between);
    mul33_transposed(other->rotation, between, local);
    bool box = other->shape->kind == SPRAG_BOX;
    for (int i = box ? 0 : 2; i < 3 && other->shape->kind != SPRAG_POLYTOPE; i++) {
        double across[3];
        for (int k = 0; k < 3; k++) {
            x[k] = other->rotation[3 * k + i];
        }
        cross3(axis, x, across);
        bool above = true;
        for (int k = 0; k < 3 && box; k++) {
            above &= k == i || fabs(local[k]) <= other->shape->half[k];
        }
        double sine = norm3(across);
        least = above && sine < least ? sine : least;
    }
    return least;
}

// Tries the directions of cylinders that are parallel to an axis of the other core: along both
// cores' axes and across them. A misalignment (rad) changes the depth by no more than four times
// that of the size.
static void try_axes(const sprag_core core[2], double size, sprag_epa *epa)
{
    for (int side = 0; side < 2; side++) {
        const sprag_core *c = &core[side], *other = &core[!side];
        if (c->shape->kind != SPRAG_CYLINDER) {
            continue;
        }
        double axis[3], out[3];
        sprag_core_axis(c, axis);
        try_direction(core, axis, epa);
        subtract3(other->at, c->at, out);
        add_scaled(out, -dot3(axis, out), axis, 3);
        if (norm3(out) > DBL_EPSILON * size) {
            try_direction(core, out, epa);
        }
        for (int i = 0; i < 3; i++) {
            for (int k = 0; k < 3; k++) {
                axis[k] = other->rotation[3 * k + i];
            }
            try_direction(core, axis, epa);
        }
        epa->error = fmin(epa->error, 4 * misalignment(c, other) * size);
    }
}

static void search_inside(const sprag_core core[2], const sprag_gjk *gjk, sprag_core_gap *a)
{
    sprag_epa epa;
    sprag_epa_find(core, &gjk->simplex, gjk->size, &epa);
    a->work += epa.work;
    if (epa.error > SPRAG_GAP_TOLERABLE * a->size && sprag_cores_curved(core)) {
        try_axes(core, gjk->size, &epa);
    }
    a->distance = epa.bound;
    a->error = epa.error;
    memcpy(a->normal, epa.normal, sizeof a->normal);
    memcpy(a->point, epa.point, sizeof a->point);
    if (point_error(a) > SPRAG_GAP_EXACT * a->size ||
        is_touching(core, a)) { // a facet covers only a part of a cap
        points_on_faces(core, a);
    }
    if (point_error(a) >
        SPRAG_GAP_TOLERABLE * a->size) { // the deepest point and its projection along the normal
        const double against[3] = {-a->normal[0], -a->normal[1], -a->normal[2]};
        sprag_manifold m;
        int deepest = 0;
        sprag_manifold_clip(core, a->normal, INFINITY, &m);
        for (int i = 1; i < m.count; i++) {
            deepest = m.gap[i] < m.gap[deepest] ? i : deepest;
        }
        if (m.count) {
            memcpy(a->point[0], m.point[deepest][0], sizeof a->point[0]);
            add_scaled(a->point[0], sprag_core_margin(&core[0]), a->normal, 3);
        } else {
            sprag_core_support(&core[0], against, a->point[0]);
        }
        memcpy(a->point[1], a->point[0], sizeof a->point[0]);
        add_scaled(a->point[1], -a->distance, a->normal, 3);
    }
}

void sprag_core_gap_search(const sprag_core core[2], double reach, sprag_gjk *gjk,
                           sprag_core_gap *a)
{
    sprag_gjk_end end = sprag_gjk_find(core, reach, gjk);
    a->size = gjk->size;
    a->work += SPRAG_GAP_GJK_WORK * gjk->steps;
    if (end == SPRAG_GJK_BEYOND) {
        a->distance = gjk->bound;
        memcpy(a->normal, gjk->normal, sizeof a->normal);
        a->beyond = true;
        return;
    }
    if (end != SPRAG_GJK_INSIDE && sprag_cores_curved(core) && search_cylinders(core, gjk, a)) {
        return;
    }
    double off = gjk->distance - gjk->bound;
    bool unsure = end == SPRAG_GJK_NEAR && off > SPRAG_GAP_EXACT * (gjk->size + gjk->distance);
    if (unsure && !sprag_cores_curved(core) &&
        search_cylinders(core, gjk, a)) { // nearly parallel edges
        return;
    }
    if (end == SPRAG_GJK_INSIDE || (unsure && gjk->bound < SPRAG_GAP_UNSURE * gjk->size)) {
        search_inside(core, gjk, a);
        return;
    }
    a->distance = unsure ? gjk->bound : gjk->distance;
    a->error = unsure ? off : 0;
    memcpy(a->normal, gjk->normal, sizeof a->normal);
    if (!unsure && gjk->distance > SPRAG_GAP_FAR * (gjk->size - gjk->distance)) {
        sprag_simplex_normal(core, &gjk->simplex, a->normal);
    }
    sprag_simplex_points(&gjk->simplex, a->point);
}

static void load_memory(const sprag_core core[2], const sprag_gap_memory *memory, sprag_gjk *gjk)
{
    gjk->simplex.count = 0;
    if (memory && (memory->count || dot3(memory->normal, memory->normal) > 0)) {
        mul33(core[0].rotation, memory->normal, gjk->normal);
        for (int i = 0; i < memory->count; i++) {
            sprag_pair_vertex *v = &gjk->simplex.vertex[gjk->simplex.count++];
            v->id[0] = memory->vertex[i][0];
            v->id[1] = memory->vertex[i][1];
        }
    } else {
        subtract3(core[0].at, core[1].at, gjk->normal);
    }
}

static void store_memory(const sprag_core core[2], const sprag_gjk *gjk, const sprag_core_gap *a,
                         sprag_gap_memory *memory)
{
    mul33_transposed(core[0].rotation, a->normal, memory->normal);
    memory->count = 0;
    for (int i = 0; i < gjk->simplex.count && memory->count < 3; i++) {
        memory->vertex[memory->count][0] = gjk->simplex.vertex[i].id[0];
        memory->vertex[memory->count++][1] = gjk->simplex.vertex[i].id[1];
    }
}

void sprag_core_gap_warm(const sprag_core core[2], double reach, sprag_gap_memory *memory,
                         sprag_core_gap *a)
{
    sprag_gjk gjk;
    load_memory(core, memory, &gjk);
    sprag_core_gap_search(core, reach, &gjk, a);
    if (memory) {
        store_memory(core, &gjk, a, memory);
    }
}
