// Triangles of one mesh near one body. Adjacent triangles share an edge. If they lie in one plane
// or form a valley, that edge is a seam and not an edge of the surface: a body that slides or rolls
// over it must not catch there. This file therefore leaves out contacts at seams, but never
// certificates.
#include <math.h>
#include <string.h>

#include "advance_run.h"
#include "linalg.h"
#include "pair_contact.h"
#include "reduce.h"
#include "tolerances.h"

// ---- triangles in the axes of their mesh

// NULL: it is none, or has no front.
static const sprag_polytope *facet_of(const advance_run *run, int pair)
{
    const advance_near *of = &run->near[pair];
    const sprag_polytope *f = of->triangle < 0 ? NULL : of->shape[of->triangle]->polytope;
    return f && f->faces == 2 ? f : NULL;
}

// Do two triangles of a mesh lie in one plane?
static bool are_level(const advance_run *run, const sprag_polytope *f, const sprag_polytope *g)
{
    const double near = 0.1 * run->options->epsilon;
    bool level = f && g && dot3(f->normal[0], g->normal[0]) > 0;
    for (int i = 0; i < 3 && level; i++) {
        double from[3];
        subtract3(g->vertex[i], f->vertex[0], from);
        level = fabs(dot3(f->normal[0], from)) <= near + SPRAG_TRIANGLE_FLAT * norm3(from);
    }
    return level;
}

// A normal into shape 0 as one away from the mesh, in its axes.
static void turn_from_mesh(const advance_near *of, const double normal[3], double up[3])
{
    mul33_transposed(of->pose[of->triangle]->rotation, normal, up);
    scale3(of->triangle ? 1 : -1, up, up);
}

// ---- seams

// The triangles of the pair's mesh by their boxes; NULL: no memory. It is the same for all pairs of
// the mesh, in all of the frame.
static const sprag_tree *tree_of(advance_run *run, int pair)
{
    static const sprag_pose own = {.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    const int first = run->near[pair].mesh, count = run->near[first].mesh_end - first;
    sprag_tree **tree = &run->near[first].tree;
    if (*tree) {
        return *tree;
    }
    const sprag_scratch before = *run->solving;
    sprag_tree *made = SPRAG_TAKE_RAW(run->scratch, 1, sprag_tree);
    int *order = SPRAG_TAKE_RAW(run->scratch, count, int);
    double(*bounds)[6] = SPRAG_TAKE_RAW(run->scratch, 2 * count, *bounds);
    double(*box)[6] = SPRAG_TAKE_RAW(run->solving, count, *box);
    if (!advance_has_memory(run)) {
        return NULL;
    }
    for (int i = 0; i < count; i++) {
        const advance_near *of = &run->near[first + i];
        sprag_shape_bounds(of->shape[of->triangle], &own, box[i]);
    }
    *made = (sprag_tree){count, order, bounds};
    sprag_tree_build(made, (const double(*)[6])box);
    sprag_scratch_release(run->solving, &before);
    *tree = made;
    return made;
}

typedef struct rising {
    advance_run *run;
    int pair, count;       // pairs found so far, in run->listed
    const double *at, *up; // m, 1, in the axes of the mesh
} rising;

static void add_rising(void *data, int box)
{
    rising *r = data;
    const int pair = r->run->near[r->pair].mesh + box;
    const sprag_polytope *f = pair == r->pair ? NULL : facet_of(r->run, pair);
    const double near = 0.1 * r->run->options->epsilon;
    if (f && sprag_triangle_rises(f->vertex, r->at, r->up, near) &&
        sprag_triangle_has(f->vertex, r->at, near)) {
        r->run->listed[r->count++] = pair;
    }
}

// Lists the other triangles of the pair's mesh that have a point (m, in the axes of the mesh), and
// rise above the plane through it. Returns how many.
static int list_rising(advance_run *run, int pair, const double at[3], const double up[3])
{
    const double near = 0.1 * run->options->epsilon;
    const double about[6] = {at[0] - near, at[1] - near, at[2] - near,
                             at[0] + near, at[1] + near, at[2] + near};
    const sprag_tree *tree = tree_of(run, pair);
    rising r = {run, pair, 0, at, up};
    if (tree) {
        sprag_tree_find(tree, about, NULL, add_rising, &r);
    }
    return r.count;
}

// The point lies on a seam if another triangle that contains it rises above the plane of contact:
// then the other body is nearer to that triangle.
advance_seam advance_find_seam(advance_run *run, int pair)
{
    const advance_near *of = &run->near[pair];
    const sprag_polytope *f = facet_of(run, pair);
    double up[3], at[3];
    advance_seam seam = ADVANCE_NO_SEAM;
    if (!f) {
        return seam;
    }
    turn_from_mesh(of, of->gap.normal, up);
    if (dot3(up, f->normal[0]) > 1 - 1e-12) {
        return seam;
    }
    sprag_pose_local(of->pose[of->triangle], of->gap.point[of->triangle], at);
    const int count = list_rising(run, pair, at, up);
    for (int i = 0; i < count && seam != ADVANCE_LEVEL_SEAM; i++) {
        seam = are_level(run, f, facet_of(run, run->listed[i])) ? ADVANCE_LEVEL_SEAM : ADVANCE_SEAM;
    }
    return seam;
}

// The corner of a triangle that reaches farthest in a direction.
static const double *corner_along(const sprag_polytope *f, const double up[3])
{
    int best = 0;
    for (int k = 1; k < 3; k++) {
        double from[3];
        subtract3(f->vertex[k], f->vertex[best], from);
        best = dot3(up, from) > 0 ? k : best;
    }
    return f->vertex[best];
}

// Turns a plane towards the normal of the gap until it separates the shapes by the level: by the
// least part that does so, of 1, 1/2, 1/4 and so on.
static void turn_to_level(const advance_run *run, const advance_near *of, double plane[3])
{
    static const double least = 1e-6;
    const double from[3] = {plane[0], plane[1], plane[2]};
    double turned[3], part = 1;
    if (sprag_gap_along(of->shape, of->pose, from) >= run->level) {
        return;
    }
    do {
        memcpy(plane, part < 1 ? turned : of->gap.normal, sizeof turned);
        part /= 2;
        for (int k = 0; k < 3; k++) {
            turned[k] = (1 - part) * from[k] + part * of->gap.normal[k];
        }
    } while (part > least && normalise3(turned) &&
             sprag_gap_along(of->shape, of->pose, turned) >= run->level);
}

double advance_lowest_along(const advance_run *run, int pair, const double normal[3], double height,
                            double horizon)
{
    const advance_near *near = &run->near[pair];
    const double rate = advance_rate(near, (const double(*)[3])near->gap.point, normal);
    return height + horizon * fmin(0, rate);
}

typedef struct best_plane {
    double normal[3], lowest; // into shape 0; m
    int carrier;
} best_plane;

// face: of a side, outwards, in its axes. least: m, by which its plane is to separate the shapes
// now.
static void try_face(const advance_run *run, int pair, int side, const double face[3], double least,
                     double horizon, best_plane *best)
{
    const advance_near *of = &run->near[pair];
    double n[3];
    mul33(of->pose[side]->rotation, face, n);
    scale3(side ? 1 : -1, n, n);
    const double height = sprag_gap_along(of->shape, of->pose, n),
                 lowest = advance_lowest_along(run, pair, n, height, horizon);
    if (height >= least && lowest > best->lowest) {
        *best = (best_plane){{n[0], n[1], n[2]}, lowest, side};
    }
}

int advance_other_plane(advance_run *run, int pair, double horizon, double plane[3])
{
    const advance_near *of = &run->near[pair];
    const sprag_polytope *f = facet_of(run, pair);
    best_plane best = {.lowest = -INFINITY, .carrier = -1};
    double up[3], face[3];
    if (!f) {
        return -1;
    }
    turn_from_mesh(of, of->certificate.normal, up);
    const int count = list_rising(run, pair, corner_along(f, up), up), other = !of->triangle;
    for (int i = 0; i < count; i++) {
        const sprag_polytope *rising = facet_of(run, run->listed[i]);
        try_face(run, pair, of->triangle, rising->normal[0], -INFINITY, horizon, &best);
    }
    for (int i = 0; i < ADVANCE_MOST_FACES && sprag_shape_face(of->shape[other], i, face); i++) {
        try_face(run, pair, other, face, -run->options->epsilon, horizon, &best);
    }
    if (best.carrier >= 0) {
        memcpy(plane, best.normal, sizeof best.normal);
        turn_to_level(run, of, plane);
    }
    return best.carrier;
}

// ---- walls

static double height_over(const sprag_polytope *f, const double at[3])
{
    double from[3];
    subtract3(at, f->vertex[0], from);
    return dot3(f->normal[0], from);
}

// If the centre of the shape is behind the triangle, and nearer to the front of one that faces the
// other way, the shape came through that one.
bool advance_is_far_side(const advance_run *run, int pair)
{
    const advance_near *of = &run->near[pair];
    const sprag_polytope *f = facet_of(run, pair);
    double centre[3], foot[3];
    if (!f) {
        return false;
    }
    sprag_pose_local(of->pose[of->triangle], of->pose[!of->triangle]->position, centre);
    const double depth = -height_over(f, centre);
    bool behind = false;
    for (int i = of->mesh; i < run->near[of->mesh].mesh_end && depth > 0 && !behind; i++) {
        const sprag_polytope *other = facet_of(run, i);
        const double height = other ? height_over(other, centre) : -1;
        if (height >= 0 && height < depth && dot3(f->normal[0], other->normal[0]) < -0.5) {
            memcpy(foot, centre, sizeof foot);
            add_scaled(foot, -height, other->normal[0], 3);
            behind = sprag_triangle_has(other->vertex, foot, 0.1 * run->options->epsilon);
        }
    }
    return behind;
}

// Along the normal by the front, and by the back, what a shape must go to leave a triangle is minus
// its height.
bool advance_lies_behind(const advance_run *run, int pair)
{
    const advance_near *of = &run->near[pair];
    double out[3];
    return of->triangle >= 0 && sprag_triangle_way_out(of->shape, of->pose, of->triangle, out) &&
           sprag_gap_against(of->shape, of->pose, out) >=
               SPRAG_TRIANGLE_LAID * sprag_gap_along(of->shape, of->pose, out);
}

// ---- meshes that cross

static bool cross(const advance_run *run, int pair)
{
    const advance_near *near = &run->near[pair];
    const sprag_gap_query query = {run->options->epsilon, 0};
    sprag_gap gap;
    return sprag_gap_find(near->shape, near->pose, &query, NULL, &gap, NULL) != SPRAG_BAD_PROBLEM &&
           !gap.beyond && gap.distance < 0;
}

// Do the two meshes of a pair cross now?
static bool meshes_cross(advance_run *run, int pair)
{
    const int first = run->near[pair].mesh;
    if (run->crossing_first != first) {
        run->crossing_first = first;
        run->crosses = false;
        for (int i = first; i < run->near[first].mesh_end && !run->crosses; i++) {
            run->crosses = cross(run, i);
        }
    }
    return run->crosses;
}

// Two triangles of crossing meshes that are near each other, back to back, have passed through each
// other. Contacts between their two sides would keep them there.
bool advance_is_through(advance_run *run, int pair)
{
    const advance_near *near = &run->near[pair];
    const sprag_gap *gap = &near->gap;
    if (gap->beyond || !(gap->distance >= 0) || gap->distance > 2 * run->options->epsilon) {
        return false;
    }
    for (int side = 0; side < 2; side++) {
        double out[3];
        if (!sprag_collider_is_triangle(sprag_collider_of(run->frame, pair, side)) ||
            !sprag_triangle_way_out(near->shape, near->pose, side, out) ||
            dot3(out, gap->normal) > -advance_facing) {
            return false;
        }
    }
    return meshes_cross(run, pair);
}

// ---- points that several triangles have

bool advance_has_point(const advance_run *run, int pair, const double at[2][3],
                       const double normal[3])
{
    const double near = advance_same_point, alike = advance_same_normal;
    int side = run->near[pair].triangle;
    for (int i = run->points.count - 1; i >= 0 && side >= 0; i--) {
        const advance_point *point = &run->points.point[i];
        if (run->near[point->pair].mesh != run->near[pair].mesh) {
            break;
        }
        int other = run->near[point->pair].triangle;
        double apart[3], turned[3], sign = side == other ? 1 : -1;
        subtract3(point->at[!other], at[!side], apart);
        for (int k = 0; k < 3; k++) {
            turned[k] = point->normal[k] - sign * normal[k];
        }
        if (dot3(apart, apart) <= near * near && dot3(turned, turned) <= alike * alike) {
            return true;
        }
    }
    return false;
}

// ---- many points

static void drop_points(advance_run *run, const bool *keeps)
{
    advance_point *point = run->points.point;
    int left = 0;
    for (int i = 0; i < run->points.count; i++) {
        if (keeps[i]) {
            point[left++] = point[i];
        } else {
            run->near[point[i].pair].points--;
        }
    }
    run->points.count = left;
}

// A few stay of those by the hundred. They do not stand for the others: how many there were
// depends on how finely the meshes are divided.
static void drop_many(advance_run *run, bool *keeps)
{
    const sprag_frame *frame = run->frame;
    const int count = run->points.count;
    int *kept = NULL;
    sprag_contact *contact = SPRAG_TAKE_RAW(run->solving, count, sprag_contact);
    for (int i = 0; i < count && contact; i++) {
        const advance_point *point = &run->points.point[i];
        sprag_pair_contact(frame, &frame->pair[point->pair], point->at[0], point->normal,
                           &contact[i]);
        contact[i].gap = point->gap;
    }
    const int left = contact ? sprag_reduce_contacts(contact, count, &kept, run->solving) : 0;
    if (kept && !run->solving->failed) {
        memset(keeps, false, (size_t)count * sizeof *keeps);
        for (int i = 0; i < left; i++) {
            keeps[kept[i]] = true;
        }
        drop_points(run, keeps);
    }
}

// Drops those of many points of one body and one mesh that are within the outline of others in one
// plane and at the same height above it.
static void drop_level(advance_run *run, bool *keeps)
{
    const sprag_outline by = {advance_same_point, advance_same_normal, advance_same_point};
    const advance_point *point = run->points.point;
    const int count = run->points.count;
    sprag_outline_point *level = SPRAG_TAKE_RAW(run->solving, count, sprag_outline_point);
    for (int first = 0, end; first < count && level; first = end) {
        const advance_near *of = &run->near[point[first].pair];
        for (end = first; end < count && run->near[point[end].pair].mesh == of->mesh; end++) {
            memcpy(level[end].at, point[end].at[of->triangle > 0], sizeof level->at);
            memcpy(level[end].normal, point[end].normal, sizeof level->normal);
            level[end].gap = point[end].gap;
        }
        const bool many = of->triangle >= 0 && end - first > ADVANCE_MANY;
        if (many) {
            sprag_find_corners(level + first, end - first, &by);
        }
        for (int i = first; i < end; i++) {
            keeps[i] = !many || level[i].state == SPRAG_CORNER;
        }
    }
    if (level) {
        drop_points(run, keeps);
    }
}

void advance_thin_out(advance_run *run)
{
    bool *keeps = SPRAG_TAKE_RAW(run->solving, run->points.count, bool);
    if (run->points.count > ADVANCE_MANY && keeps) {
        if (run->points.count > SPRAG_REDUCE_FROM) {
            drop_many(run, keeps);
        }
        drop_level(run, keeps);
    }
    advance_has_memory(run);
}

// A triangle without points, because another triangle has them or they were removed, is active if
// its mesh is; and so are all triangles in the plane of one that is.
void advance_share_active(advance_run *run)
{
    for (int first = 0, end; first < run->frame->pairs; first = end) {
        int active = 0;
        end = run->near[first].mesh_end;
        for (int i = first; i < end; i++) { // those first
            run->listed[active] = i;
            active += run->near[i].memory->active;
        }
        for (int i = first; i < end && active > 0 && end - first > 1; i++) {
            advance_near *near = &run->near[i];
            const sprag_polytope *f = isinf(near->clear) ? NULL : facet_of(run, i);
            bool shares = near->memory->active || (near->closed && near->points == 0);
            for (int k = 0; k < active && f && !shares; k++) {
                shares = are_level(run, facet_of(run, run->listed[k]), f);
            }
            near->memory->active = shares;
        }
    }
}
