// One pair: planes and spheres in closed form, two boxes by their 15 directions, anything else by
// GJK when apart, by EPA when not, and by Newton's method where a cylinder's rim is involved.
#include "gap.h"

#include <float.h>
#include <math.h>

#include "boxes.h"
#include "cylinders.h"
#include "epa.h"
#include "gjk.h"
#include "linalg.h"

// Errors relative to distance and size: what is worth a second way, what is worth being told.
static const double exact = 1e-12, tolerable = 1e-9;

// Multiple of the size from which bodies are far from each other.
static const double far = 4;

// Of two cores, in their own coordinates.
typedef struct answer {
    double distance, error, normal[3], point[2][3], size;
    bool beyond, whole; // whole: a manifold has been made
} answer;

static bool is_curved(const sprag_core core[2])
{
    return core[0].shape->kind == SPRAG_CYLINDER || core[1].shape->kind == SPRAG_CYLINDER;
}

// ---- half-spaces

static void from_plane(const sprag_core core[2], int plane, answer *a)
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

static double clamp(double x, double most)
{
    return x < -most ? -most : x > most ? most : x;
}

// Of all ways out of a box, the shortest.
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

// Signed distance of a point to a core other than a polytope. x: the point, in the core's axes,
// becomes the nearest one of its surface; n: outwards there, unit.
static double from_point(const sprag_shape *shape, double x[3], double n[3])
{
    const double at[3] = {x[0], x[1], x[2]};
    double r;
    n[0] = n[1] = n[2] = 0;
    switch (shape->kind) {
    case SPRAG_CAPSULE:
        x[0] = x[1] = 0;
        x[2] = clamp(x[2], shape->half[2]);
        break;
    case SPRAG_BOX:
        for (int k = 0; k < 3; k++) {
            x[k] = clamp(x[k], shape->half[k]);
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
        x[2] = clamp(x[2], shape->half[2]);
        break;
    case SPRAG_SPHERE:
    case SPRAG_POLYTOPE:
    case SPRAG_PLANE:
    case SPRAG_SHAPE_KINDS:
        x[0] = x[1] = x[2] = 0;
        break;
    }
    double distance;
    subtract3(at, x, n);
    distance = norm3(n);
    if (!normalise3(n)) { // on a point or on a segment: any way across
        memcpy(n, (double[3]){1, 0, 0}, 3 * sizeof *n);
    }
    return distance;
}

static void from_sphere(const sprag_core core[2], int sphere, answer *a)
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

static bool are_parallel(const sprag_core core[2])
{
    double axis[2][3], across[3];
    for (int side = 0; side < 2; side++) {
        sprag_shape_kind kind = core[side].shape->kind;
        if (kind != SPRAG_CYLINDER && (kind != SPRAG_CAPSULE || !is_curved(core))) {
            return false;
        }
        sprag_core_axis(&core[side], axis[side]);
    }
    cross3(axis[0], axis[1], across);
    return norm3(across) <= 4 * DBL_EPSILON;
}

// The middle of what two intervals have in common, or of the hole between them: about 0 and about
// `at`. Returns the hole's width, negative if they overlap.
static double between_intervals(double half0, double half1, double at, double end[2])
{
    double far = fabs(at), lo = fmax(-half0, far - half1), hi = fmin(half0, far + half1);
    end[0] = end[1] = copysign((lo + hi) / 2, at);
    if (lo > hi) {
        end[0] = copysign(hi, at);
        end[1] = copysign(lo, at);
    }
    return far - half0 - half1;
}

// What is apart, along and across the axis, is exact by itself; what overlaps both ways goes the
// shorter.
static void from_parallel(const sprag_core core[2], answer *a)
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
    double along_gap = between_intervals(half[0], half[1], up, end[0]);
    double across_gap = between_intervals(radius[0], radius[1], across, end[1]);
    bool along = along_gap > 0 || along_gap >= across_gap;
    bool aside = across_gap > 0 || !along;
    if (along && along_gap <= 0) { // through the caps, from one to the other
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

// ---- any two

// By how far the points are not `distance` apart along the normal.
static double missed(const answer *a)
{
    double off[3];
    subtract3(a->point[0], a->point[1], off);
    add_scaled(off, -a->distance, a->normal, 3);
    return norm3(off);
}

// What the points leave open: the shapes are not farther apart than those.
static double beyond_bound(const answer *a)
{
    double between[3];
    subtract3(a->point[0], a->point[1], between);
    double off = norm3(between) - fabs(a->distance);
    return off > 0 ? off : 0;
}

// So near that points which have nothing to do with it do not miss either.
static bool is_touching(const sprag_core core[2], const answer *a)
{
    return sprag_core_margin(&core[0]) + sprag_core_margin(&core[1]) == 0 &&
           fabs(a->distance) < 10 * tolerable * a->size;
}

// Caps that touch: the middle of what they have in common, seen along the normal.
static void meet_by_caps(const sprag_core core[2], answer *a)
{
    double cap[2][3], axis[3], out[3], end[2];
    for (int side = 0; side < 2; side++) {
        sprag_core_axis(&core[side], axis);
        double towards = side ? dot3(axis, a->normal) : -dot3(axis, a->normal);
        if (core[side].shape->kind != SPRAG_CYLINDER || fabs(towards) < 0.9) {
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
    between_intervals(core[0].shape->radius, core[1].shape->radius, far, end);
    memcpy(a->point[0], cap[0], sizeof cap[0]);
    add_scaled(a->point[0], end[0], out, 3);
    memcpy(a->point[1], a->point[0], sizeof cap[0]);
    add_scaled(a->point[1], -a->distance, a->normal, 3);
}

// Points that are, from where the faces across the normal overlap, or where a corner is above a
// cap.
static void meet_by_faces(const sprag_core core[2], answer *a)
{
    sprag_manifold m;
    answer best = *a;
    bool touching = is_touching(core, a);
    double least = touching ? INFINITY : missed(a);
    sprag_manifold_clip(core, a->normal, a->distance + 1e-6 * a->size, &m);
    if (touching && m.count == 0) {
        meet_by_caps(core, a);
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
        if (missed(&best) < least) {
            least = missed(&best);
            memcpy(a->point, best.point, sizeof a->point);
        }
    }
}

static bool by_rims(const sprag_core core[2], const sprag_gjk *gjk, answer *a)
{
    sprag_rims rims = {.cosine = -1};
    memcpy(rims.normal, gjk->normal, sizeof rims.normal);
    sprag_rims_polish(core, gjk->simplex.vertex, gjk->simplex.count, gjk->size, &rims);
    double shallow = 1e-7 * gjk->size; // GJK may not have seen an overlap yet
    bool apart = rims.bound > 0 || (gjk->distance < shallow && rims.bound > -shallow);
    if (!rims.closed || !apart || rims.bound < gjk->bound - exact * gjk->size) {
        return false;
    }
    a->distance = rims.bound;
    a->error = rims.error;
    memcpy(a->normal, rims.normal, sizeof a->normal);
    memcpy(a->point, rims.point, sizeof a->point);
    if (a->error > exact * (a->size + a->distance)) {
        meet_by_faces(core, a);
        a->error = beyond_bound(a);
        double off = gjk->distance - a->distance;
        if (a->error > exact * (a->size + a->distance) && off < a->error) {
            a->error = off > 0 ? off : 0;
            sprag_simplex_points(&gjk->simplex, a->point);
        }
    }
    return true;
}

static void try_way(const sprag_core core[2], const double direction[3], sprag_epa *epa)
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

// By how much (rad) a cylinder is out of line with an axis of the other body; 1: it has none, or
// the cylinder is not above its middle.
static double out_of_line(const sprag_core *cylinder, const sprag_core *other)
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

// Ways out that a cylinder has when it is in line with what it is in: by caps, by the other's
// faces, apart across the axes, of which coaxial ones have a whole circle. Out of line by an angle,
// depths are by no more than that of the size.
static void try_axes(const sprag_core core[2], double size, sprag_epa *epa)
{
    for (int side = 0; side < 2; side++) {
        const sprag_core *c = &core[side], *other = &core[!side];
        if (c->shape->kind != SPRAG_CYLINDER) {
            continue;
        }
        double axis[3], out[3];
        sprag_core_axis(c, axis);
        try_way(core, axis, epa);
        subtract3(other->at, c->at, out);
        add_scaled(out, -dot3(axis, out), axis, 3);
        if (norm3(out) > DBL_EPSILON * size) {
            try_way(core, out, epa);
        }
        for (int i = 0; i < 3; i++) {
            for (int k = 0; k < 3; k++) {
                axis[k] = other->rotation[3 * k + i];
            }
            try_way(core, axis, epa);
        }
        epa->error = fmin(epa->error, 4 * out_of_line(c, other) * size);
    }
}

static void by_epa(const sprag_core core[2], const sprag_gjk *gjk, answer *a)
{
    sprag_epa epa;
    sprag_epa_find(core, &gjk->simplex, gjk->size, &epa);
    if (epa.error > tolerable * a->size && is_curved(core)) {
        try_axes(core, gjk->size, &epa);
    }
    a->distance = epa.bound;
    a->error = epa.error;
    memcpy(a->normal, epa.normal, sizeof a->normal);
    memcpy(a->point, epa.point, sizeof a->point);
    if (missed(a) > exact * a->size || is_touching(core, a)) { // facets cover but a part of a cap
        meet_by_faces(core, a);
    }
    if (missed(a) > tolerable * a->size) { // the deepest point, and straight up from there
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

static void by_search(const sprag_core core[2], double reach, sprag_gjk *gjk, answer *a)
{
    sprag_gjk_end end = sprag_gjk_find(core, reach, gjk);
    a->size = gjk->size;
    if (end == SPRAG_GJK_BEYOND) {
        a->distance = gjk->bound;
        memcpy(a->normal, gjk->normal, sizeof a->normal);
        a->beyond = true;
        return;
    }
    if (end != SPRAG_GJK_INSIDE && is_curved(core) && by_rims(core, gjk, a)) {
        return;
    }
    double off = gjk->distance - gjk->bound;
    bool unsure = end == SPRAG_GJK_NEAR && off > exact * (gjk->size + gjk->distance);
    if (unsure && !is_curved(core) && by_rims(core, gjk, a)) { // nearly parallel edges
        return;
    }
    if (end == SPRAG_GJK_INSIDE || (unsure && gjk->bound < 1e-6 * gjk->size)) {
        by_epa(core, gjk, a);
        return;
    }
    a->distance = unsure ? gjk->bound : gjk->distance;
    a->error = unsure ? off : 0;
    memcpy(a->normal, gjk->normal, sizeof a->normal);
    if (!unsure && gjk->distance > far * (gjk->size - gjk->distance)) {
        sprag_simplex_normal(core, &gjk->simplex, a->normal);
    }
    sprag_simplex_points(&gjk->simplex, a->point);
}

static void recall(const sprag_core core[2], const sprag_gap_memory *memory, sprag_gjk *gjk)
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

static void remember(const sprag_core core[2], const sprag_gjk *gjk, const answer *a,
                     sprag_gap_memory *memory)
{
    mul33_transposed(core[0].rotation, a->normal, memory->normal);
    memory->count = 0;
    for (int i = 0; i < gjk->simplex.count && memory->count < 3; i++) {
        memory->vertex[memory->count][0] = gjk->simplex.vertex[i].id[0];
        memory->vertex[memory->count++][1] = gjk->simplex.vertex[i].id[1];
    }
}

static void any_two(const sprag_core core[2], double reach, sprag_gap_memory *memory, answer *a)
{
    sprag_gjk gjk;
    recall(core, memory, &gjk);
    by_search(core, reach, &gjk, a);
    if (memory) {
        remember(core, &gjk, a, memory);
    }
}

static void two_boxes(const sprag_core core[2], double reach, double margin, answer *a,
                      sprag_manifold *manifold)
{
    sprag_boxes boxes;
    sprag_boxes_separate(core, reach, margin, &boxes, manifold);
    memcpy(a->normal, boxes.normal, sizeof a->normal);
    memcpy(a->point, boxes.point, sizeof a->point);
    a->distance = boxes.bound;
    a->beyond = boxes.beyond;
    a->whole = boxes.met && manifold;
    if (!boxes.beyond && !boxes.met) {
        sprag_gjk gjk = {.simplex.count = 0};
        memcpy(gjk.normal, boxes.normal, sizeof gjk.normal);
        by_search(core, reach, &gjk, a);
    }
}

// ---- manifold

// Drops what is farther than the margin; the nearest points are among what is left.
static void complete(const answer *a, double radii, double margin, sprag_manifold *m)
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
    if (distance <= margin && nearest > distance + 1e-9 * a->size) {
        int at = left < SPRAG_MANIFOLD_MAX ? m->count++ : left - 1;
        memcpy(m->point[at], a->point, sizeof m->point[0]);
        m->gap[at] = distance;
    }
}

// ---- one pair

static double sum3(const double *a)
{
    return a[0] + a[1] + a[2];
}

static bool cores_of(const sprag_shape *const shape[2], const sprag_pose *const pose[2],
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

// Where a search among the vertices may start; negative: anywhere.
static int foremost_known(const sprag_core core[2], int side, const sprag_gap_memory *memory)
{
    bool known = memory && memory->count && core[side].shape->kind == SPRAG_POLYTOPE;
    int vertex = known ? memory->vertex[0][side] : -1;
    if (vertex < 0) {
        return -1;
    }
    return vertex < sprag_core_vertices(&core[side]) ? vertex : -1;
}

// Of the cores. last: foremost vertices.
static void measure(const sprag_core core[2], double reach, double margin, const int last[2],
                    sprag_gap_memory *memory, answer *a, sprag_manifold *manifold)
{
    const sprag_shape_kind kind[2] = {core[0].shape->kind, core[1].shape->kind};
    if (kind[0] == SPRAG_PLANE || kind[1] == SPRAG_PLANE) {
        from_plane(core, kind[1] == SPRAG_PLANE, a);
        if (memory) {
            memory->count = 1;
            memcpy(memory->vertex[0], last, sizeof memory->vertex[0]);
        }
    } else if ((kind[0] == SPRAG_SPHERE && kind[1] != SPRAG_POLYTOPE) ||
               (kind[1] == SPRAG_SPHERE && kind[0] != SPRAG_POLYTOPE)) {
        from_sphere(core, kind[0] != SPRAG_SPHERE, a);
    } else if (kind[0] == SPRAG_BOX && kind[1] == SPRAG_BOX) {
        two_boxes(core, reach, margin, a, manifold);
    } else if (are_parallel(core)) {
        from_parallel(core, a);
    } else {
        any_two(core, reach, memory, a);
    }
}

// From the surfaces, in the world.
static void tell(const sprag_core core[2], const sprag_pose *pose, const sprag_gap_query *query,
                 answer *a, sprag_gap *gap, sprag_manifold *manifold)
{
    double margins[2] = {sprag_core_margin(&core[0]), sprag_core_margin(&core[1])};
    bool ball = core[0].shape->kind == SPRAG_SPHERE || core[1].shape->kind == SPRAG_SPHERE;
    add_scaled(a->point[0], -margins[0], a->normal, 3);
    add_scaled(a->point[1], margins[1], a->normal, 3);
    if (manifold) {
        if (!a->whole && !ball) {
            sprag_manifold_clip(core, a->normal, query->margin, manifold);
        }
        complete(a, margins[0] + margins[1], query->margin, manifold);
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
    answer a;
    a.distance = NAN;
    a.error = 0;
    a.beyond = a.whole = false;
    *count = 0;
    if (!cores_of(shape, pose, core) ||
        (shape[0]->kind == SPRAG_PLANE && shape[1]->kind == SPRAG_PLANE)) {
        return SPRAG_BAD_PROBLEM;
    }
    for (int side = 0; side < 2; side++) {
        last[side] = foremost_known(core, side, memory);
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
    gap->beyond = a.beyond || gap->distance > query->reach;
    memcpy(gap->normal, a.normal, sizeof gap->normal);
    if (gap->beyond) {
        *count = 0;
        return SPRAG_OK;
    }
    tell(core, pose[0], query, &a, gap, manifold);
    return gap->error > tolerable * (a.size + fabs(a.distance)) ? SPRAG_NOT_CONVERGED : SPRAG_OK;
}

double sprag_gap_along(const sprag_shape *const shape[2], const sprag_pose *const pose[2],
                       const double normal[3])
{
    sprag_core core[2];
    sprag_pair_vertex v;
    cores_of(shape, pose, core);
    for (int side = 0; side < 2; side++) {
        if (shape[side]->kind == SPRAG_PLANE) {
            double n[3], from[3];
            sprag_core_axis(&core[side], n);
            double sign = side ? 1 : -1;
            if (sign * dot3(n, normal) < 1 - 4 * DBL_EPSILON) {
                return -INFINITY; // a half-space goes on for ever
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

// ---- meshes

bool sprag_gap_front(const sprag_shape *triangle, const sprag_pose *pose, double normal[3])
{
    bool flat = triangle->kind == SPRAG_POLYTOPE && triangle->polytope->faces == 2;
    if (flat) {
        mul33(pose->rotation, triangle->polytope->normal[0], normal);
    }
    return flat;
}

// The point of the other shape that is deepest, and straight above it.
static void deepest_point(const sprag_core core[2], int triangle, const double front[3],
                          sprag_gap *gap)
{
    const double back[3] = {-front[0], -front[1], -front[2]};
    double *at = gap->point[!triangle];
    sprag_core_support(&core[!triangle], back, at);
    add_scaled(at, sprag_core_margin(&core[!triangle]), back, 3);
    memcpy(gap->point[triangle], at, sizeof gap->point[0]);
    add_scaled(gap->point[triangle], -gap->distance, front, 3);
}

void sprag_gap_by_front(const sprag_shape *const shape[2], const sprag_pose *const pose[2],
                        int triangle, bool always, double margin, sprag_gap *gap,
                        sprag_manifold *manifold)
{
    double front[3], normal[3];
    sprag_core core[2];
    if (gap->beyond || !(gap->distance < 0) ||
        !sprag_gap_front(shape[triangle], pose[triangle], front) || !cores_of(shape, pose, core)) {
        return;
    }
    for (int k = 0; k < 3; k++) {
        normal[k] = triangle ? front[k] : -front[k];
    }
    double along = dot3(normal, gap->normal);
    if (along > 1 - 1e-12 || (along >= 0 && !always)) {
        return;
    }
    double distance = sprag_gap_along(shape, pose, normal);
    if (!isfinite(distance)) {
        return; // of a half-space
    }
    // What is over an edge is not behind it, if by the front would be a long way.
    const double back = -0.5, longer = 10;
    if (along >= back && !always && distance < longer * gap->distance) {
        return;
    }
    gap->distance = distance;
    gap->error = 0;
    memcpy(gap->normal, normal, sizeof normal);
    deepest_point(core, triangle, front, gap);
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
}
