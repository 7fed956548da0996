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

// ---- seams

typedef struct facet { // a triangle where it is
    double front[3], corner[3][3];
} facet;

// false: it has no front.
static bool facet_of(const advance_run *run, int pair, facet *f)
{
    const int side = run->near[pair].triangle;
    const sprag_pose *pose = run->near[pair].pose[side];
    sprag_triangle_corners(sprag_collider_of(run->frame, pair, side), pose, f->corner);
    return sprag_gap_front(run->near[pair].shape[side], pose, f->front);
}

// Do two triangles of a mesh lie in one plane?
static bool are_level(const advance_run *run, int a, int b)
{
    facet f, g;
    const double near = 0.1 * run->options->epsilon;
    bool level = facet_of(run, a, &f) && facet_of(run, b, &g) && dot3(f.front, g.front) > 0;
    for (int i = 0; i < 3 && level; i++) {
        double from[3];
        subtract3(g.corner[i], f.corner[0], from);
        level = fabs(dot3(f.front, from)) <= near + SPRAG_TRIANGLE_FLAT * norm3(from);
    }
    return level;
}

// A normal into shape 0 as one away from the mesh, or back.
static void turn_from_mesh(const advance_near *of, const double normal[3], double up[3])
{
    scale3(of->triangle ? 1 : -1, normal, up);
}

// Has a triangle of the mesh a point (m; local: in the axes of the mesh), and rises above the plane
// through it?
static bool rises_at(const advance_run *run, int pair, const double at[3], const double local[3],
                     const double up[3], facet *f)
{
    const advance_near *of = &run->near[pair];
    const double near = 0.1 * run->options->epsilon;
    return sprag_triangle_is_about(of->shape[of->triangle]->polytope->vertex, local, 2 * near) &&
           facet_of(run, pair, f) &&
           sprag_triangle_rises((const double(*)[3])f->corner, at, up, near) &&
           sprag_triangle_has((const double(*)[3])f->corner, at, near);
}

// The point lies on a seam if another triangle that contains it rises above the plane of contact:
// then the other body is nearer to that triangle.
advance_seam advance_find_seam(const advance_run *run, int pair)
{
    const advance_near *of = &run->near[pair];
    double up[3], local[3];
    advance_seam seam = ADVANCE_NO_SEAM;
    facet f;
    if (of->triangle < 0 || !facet_of(run, pair, &f)) {
        return seam;
    }
    const double *at = of->gap.point[of->triangle];
    turn_from_mesh(of, of->gap.normal, up);
    if (dot3(up, f.front) > 1 - 1e-12) {
        return seam;
    }
    sprag_pose_local(of->pose[of->triangle], at, local);
    for (int i = of->mesh[0]; i < of->mesh[1] && seam != ADVANCE_LEVEL_SEAM; i++) {
        if (i != pair && rises_at(run, i, at, local, up, &f)) {
            seam = are_level(run, pair, i) ? ADVANCE_LEVEL_SEAM : ADVANCE_SEAM;
        }
    }
    return seam;
}

// The corner of a triangle that reaches farthest in a direction.
static const double *corner_along(const facet *f, const double up[3])
{
    int best = 0;
    for (int k = 1; k < 3; k++) {
        double from[3];
        subtract3(f->corner[k], f->corner[best], from);
        best = dot3(up, from) > 0 ? k : best;
    }
    return f->corner[best];
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

bool advance_plane_at_seam(const advance_run *run, int pair, double plane[3])
{
    const advance_near *of = &run->near[pair];
    double up[3], local[3], normal[3], farthest = -INFINITY;
    facet f, other;
    if (of->triangle < 0 || !facet_of(run, pair, &f)) {
        return false;
    }
    turn_from_mesh(of, of->certificate.normal, up);
    const double *at = corner_along(&f, up);
    sprag_pose_local(of->pose[of->triangle], at, local);
    for (int i = of->mesh[0]; i < of->mesh[1]; i++) {
        if (i == pair || !rises_at(run, i, at, local, up, &other)) {
            continue;
        }
        turn_from_mesh(of, other.front, normal);
        const double apart = sprag_gap_along(of->shape, of->pose, normal);
        if (apart > farthest) {
            farthest = apart;
            memcpy(plane, normal, sizeof normal);
        }
    }
    if (farthest > -INFINITY) {
        turn_to_level(run, of, plane);
    }
    return farthest > -INFINITY;
}

// ---- walls

static double height_over(const advance_run *run, int pair, const double at[3], facet *f)
{
    double from[3];
    if (!facet_of(run, pair, f)) {
        return NAN;
    }
    subtract3(at, f->corner[0], from);
    return dot3(f->front, from);
}

// If the centre of the shape is behind the triangle, and nearer to the front of one that faces the
// other way, the shape came through that one.
bool advance_is_far_side(advance_run *run, int pair)
{
    const advance_near *of = &run->near[pair];
    facet own, other;
    double foot[3];
    if (of->triangle < 0) {
        return false;
    }
    const double *centre = of->pose[!of->triangle]->position;
    double depth = -height_over(run, pair, centre, &own);
    bool behind = false;
    for (int i = of->mesh[0]; i < of->mesh[1] && depth > 0 && !behind; i++) {
        double height = height_over(run, i, centre, &other);
        if (height >= 0 && height < depth && dot3(own.front, other.front) < -0.5) {
            memcpy(foot, centre, sizeof foot);
            add_scaled(foot, -height, other.front, 3);
            behind = sprag_triangle_has((const double(*)[3])other.corner, foot,
                                        0.1 * run->options->epsilon);
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
    const int *of = run->near[pair].mesh;
    if (run->crossing_first != of[0]) {
        run->crossing_first = of[0];
        run->crosses = false;
        for (int i = of[0]; i < of[1] && !run->crosses; i++) {
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
        if (run->near[point->pair].mesh[0] != run->near[pair].mesh[0]) {
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
        for (end = first; end < count && run->near[point[end].pair].mesh[0] == of->mesh[0]; end++) {
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
        end = run->near[first].mesh[1];
        for (int i = first; i < end; i++) { // those first
            run->active[active] = i;
            active += run->near[i].memory->active;
        }
        const int planes = run->near[first].triangle < 0 ? 0 : active;
        for (int i = first; i < end && active > 0 && end - first > 1; i++) {
            advance_near *near = &run->near[i];
            bool shares = near->memory->active || (near->closed && near->points == 0);
            for (int k = 0; k < planes && !shares && !isinf(near->clear); k++) {
                shares = are_level(run, run->active[k], i);
            }
            near->memory->active = shares;
        }
    }
}
