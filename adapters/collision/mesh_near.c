// Looks into the tree of a mesh, or the cells of a heightfield, in the axes of the mesh, where its
// triangles are.
#include "mesh_near.h"

#include <math.h>
#include <string.h>

#include "box.h"
#include "geometry_cache.h"
#include "motion.h"
#include "ode.h"
#include "tolerances.h"

typedef struct search {
    const sprag_shape *shape;
    sprag_pose pose;  // of the shape in the axes of the mesh
    double reach;     // m
    bool boxed;       // is_box_apart knows the shape
    double bounds[6]; // m, of the shape in the axes of the mesh, with the reach
    double along[9];  // sizes of the components of its rotation
    ode_near_mode mode;
    sprag_scratch *scratch;
    ode_near *near;
    bool full; // the list; further triangles are not looked at
} search;

// Is the triangle in the plane of the first one, with its front on the same side?
static bool is_level(const ode_near *near, const ode_triangle *t)
{
    const ode_triangle *first = &near->triangle[0];
    bool level = dot3(first->normal, t->normal) > 0;
    for (int k = 0; k < 3 && level; k++) {
        double from[3];
        subtract3(t->corner[k], first->corner[0], from);
        level = fabs(dot3(near->normal, from)) <= ODE_SAME_POINT;
    }
    return level;
}

// m, the middle and half lengths of a box.
static void middle_of(const double box[6], double middle[3], double half[3])
{
    for (int k = 0; k < 3; k++) {
        half[k] = (box[k + 3] - box[k]) / 2;
        middle[k] = box[k] + half[k];
    }
}

// Is a box farther than the reach from the shape? at, half: m, its middle and half lengths along
// the axes of the shape.
static bool is_box_apart(const search *s, const double at[3], const double half[3])
{
    const sprag_shape *shape = s->shape;
    const bool box = shape->kind == SPRAG_BOX, cylinder = shape->kind == SPRAG_CYLINDER;
    const double far = s->reach + (box || cylinder ? 0 : shape->radius);
    double out[3];
    for (int k = 0; k < 3; k++) {
        out[k] = sprag_larger(0, fabs(at[k]) - half[k] - (box || k == 2 ? shape->half[k] : 0));
    }
    const double across = sqrt(out[0] * out[0] + out[1] * out[1]);
    const double beyond = sprag_larger(0, across - (cylinder ? shape->radius : 0));
    return beyond * beyond + out[2] * out[2] > far * far;
}

// Is the triangle, or its box along the axes of the shape, farther than the reach?
static bool is_apart(const search *s, const ode_triangle *t)
{
    double from[3], local[3][3], box[6], middle[3], half[3];
    if (!s->boxed) {
        return false;
    }
    if (s->shape->kind == SPRAG_SPHERE) {
        return !sprag_triangle_has(t->corner, s->pose.position, s->shape->radius + s->reach);
    }
    for (int i = 0; i < 3; i++) {
        subtract3(t->corner[i], s->pose.position, from);
        mul33_transposed(s->pose.rotation, from, local[i]);
    }
    sprag_triangle_box((const double(*)[3])local, box);
    middle_of(box, middle, half);
    return is_box_apart(s, middle, half);
}

// Are all triangles in a box (m) farther than the reach, and none of them needed? If all before
// were in one plane, the whole of that may be.
static bool skips(const void *data, const double box[6])
{
    const search *s = data;
    double half[3], middle[3], local[3], wide[3];
    if (!s->boxed || (s->near->is_flat && s->mode == ODE_NEAR_MERGED)) {
        return false;
    }
    middle_of(box, middle, half);
    subtract3(middle, s->pose.position, middle);
    mul33_transposed(s->pose.rotation, middle, local);
    mul33_transposed(s->along, half, wide);
    return is_box_apart(s, local, wide);
}

static void keep_near(search *s)
{
    ode_near *near = s->near;
    int left = 0;
    for (int i = 0; i < near->count; i++) {
        if (!is_apart(s, &near->triangle[i])) {
            near->triangle[left++] = near->triangle[i];
        }
    }
    near->count = left;
}

// None is looked at closely as long as all are in one plane, and the list has room.
static void add(void *data, int number, const double corner[3][3])
{
    search *s = data;
    ode_near *near = s->near;
    if (s->mode == ODE_NEAR_MERGED && near->is_flat && near->count == ODE_MOST_TRIANGLES) {
        near->is_flat = false;
        keep_near(s);
    }
    s->full |= near->count == ODE_MOST_TRIANGLES;
    if (s->full) {
        return;
    }
    ode_triangle *all =
        sprag_scratch_widen(s->scratch, near->triangle, near->count, &near->room, 256, sizeof *all);
    if (!all) {
        return;
    }
    near->triangle = all;
    ode_triangle *t = &near->triangle[near->count];
    double edge[2][3];
    memcpy(t->corner, corner, sizeof t->corner);
    subtract3(corner[1], corner[0], edge[0]);
    subtract3(corner[2], corner[0], edge[1]);
    cross3(edge[0], edge[1], t->normal);
    t->number = number;
    if (near->is_flat && near->count == 0) {
        memcpy(near->normal, t->normal, sizeof t->normal);
        near->is_flat = normalise3(near->normal);
    }
    if (near->is_flat && !is_level(near, t)) {
        near->is_flat = false;
        keep_near(s);
        near->triangle[near->count] = *t;
    }
    near->count += near->is_flat || !is_apart(s, t);
}

// ---- triangles that fill their plane

int sprag_ode_cut(double (*point)[3], int count, const double origin[3], const double inwards[3])
{
    double kept[ODE_CUT_MOST][3];
    int left = 0;
    for (int i = 0; i < count; i++) {
        const double *a = point[i], *b = point[(i + 1) % count];
        double from[2][3], along[3];
        subtract3(a, origin, from[0]);
        subtract3(b, origin, from[1]);
        const double in = dot3(inwards, from[0]), next = dot3(inwards, from[1]);
        if (in >= 0) {
            memcpy(kept[left++], a, sizeof kept[0]);
        }
        if ((in < 0) != (next < 0)) {
            subtract3(b, a, along);
            memcpy(kept[left], a, sizeof kept[0]);
            add_scaled(kept[left++], in / (in - next), along, 3);
        }
    }
    memcpy(point, kept, (size_t)left * sizeof kept[0]);
    return left;
}

// m^2, twice the area of a triangle within the bounds, seen against its normal.
static double area_within(const double corner[3][3], const double bounds[6], const double normal[3])
{
    double p[ODE_CUT_MOST][3], box[6], from[2][3], area[3], sum = 0;
    int count = 3;
    memcpy(p, corner, 3 * sizeof *p);
    sprag_triangle_box(corner, box);
    for (int k = 0; k < 6; k++) {
        double inwards[3] = {0};
        inwards[k % 3] = k < 3 ? 1 : -1;
        if (inwards[k % 3] * (bounds[k] - box[k]) > 0) {
            count = sprag_ode_cut(p, count, bounds + k / 3 * 3, inwards);
        }
    }
    for (int i = 2; i < count; i++) {
        subtract3(p[i - 1], p[0], from[0]);
        subtract3(p[i], p[0], from[1]);
        cross3(from[0], from[1], area);
        sum += dot3(area, normal);
    }
    return sum;
}

// A triangle around the part of the plane that is in the bounds.
static void set_patch(const search *s, ode_triangle *patch)
{
    const double *b = s->bounds, *n = s->near->normal;
    const int least = fabs(n[0]) < 0.5 ? 0 : 1;
    double middle[3], across[2][3] = {{least == 0, least == 1, 0}}, half[3], from[3];
    for (int k = 0; k < 3; k++) {
        middle[k] = (b[k] + b[k + 3]) / 2;
        half[k] = (b[k + 3] - b[k]) / 2;
    }
    subtract3(middle, s->near->triangle[0].corner[0], from);
    add_scaled(middle, -dot3(n, from), n, 3);
    add_scaled(across[0], -dot3(n, across[0]), n, 3);
    normalise3(across[0]);
    cross3(n, across[0], across[1]);
    *patch = (ode_triangle){.number = ODE_PATCH, .normal = {n[0], n[1], n[2]}};
    for (int i = 0; i < 3; i++) {
        const double far = 2 * norm3(half), angle = 2 * M_PI * i / 3;
        memcpy(patch->corner[i], middle, sizeof middle);
        add_scaled(patch->corner[i], far * cos(angle), across[0], 3);
        add_scaled(patch->corner[i], far * sin(angle), across[1], 3);
    }
}

// Do the triangles fill their plane where the shape may go, of which that is the patch?
static bool fill(const search *s, const ode_triangle *patch)
{
    const ode_near *near = s->near;
    const double whole = area_within(patch->corner, s->bounds, near->normal);
    double sum = 0;
    for (int i = 0; i < near->count; i++) {
        sum += area_within(near->triangle[i].corner, s->bounds, near->normal);
    }
    return whole > 0 && fabs(sum - whole) <= SPRAG_TRIANGLE_FILLS * whole;
}

// One triangle takes the place of those that fill their plane.
static void merge(search *s)
{
    ode_triangle patch;
    set_patch(s, &patch);
    if (s->near->triangle[0].number == ODE_PATCH || fill(s, &patch)) {
        s->near->triangle[0] = patch;
        s->near->count = 1;
    }
    keep_near(s);
    s->near->is_flat = false;
}

double sprag_ode_move_half(ode_geom *shape, const double way[3], const ode_motion *motion)
{
    static const sprag_pose own = {.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    const bool ball = shape->shape.kind == SPRAG_SPHERE,
               round = shape->shape.kind == SPRAG_CAPSULE || shape->shape.kind == SPRAG_CYLINDER;
    sprag_motion path = {.pose = shape->pose, .velocity = {way[0], way[1], way[2]}};
    sprag_carried carried = {.motion = &path};
    double centre[3], bounds[6], turn[3];
    if (shape->body) {
        sprag_ode_read_pose(shape->body, &path.pose);
        memcpy(path.velocity + 3, motion->turn, sizeof motion->turn);
    }
    sprag_pose_local(&shape->pose, path.pose.position, centre);
    sprag_pose_in(&path.pose, &shape->pose, &carried.mount);
    mul33_transposed(shape->pose.rotation, path.velocity + 3, turn);
    sprag_carried_at(&carried, 0.5, &shape->pose);
    sprag_shape_bounds(&shape->shape, &own, bounds);
    const double off = ball ? norm3(centre) : hypot(centre[0], centre[1]),
                 far = ball ? off : sprag_box_farthest(bounds, centre),
                 about = round ? fabs(turn[2]) : 0,
                 across = round ? hypot(turn[0], turn[1]) : norm3(turn);
    return 0.5 * norm3(way) +
           fmin(0.5 * (about * off + across * far) + motion->swerve * far, 2 * far);
}

bool sprag_ode_triangles_near(const ode_geom *mesh, const ode_geom *shape, double reach,
                              ode_near_mode mode, sprag_scratch *scratch, ode_near *near)
{
    search s = {
        .shape = &shape->shape, .reach = reach, .mode = mode, .scratch = scratch, .near = near};
    *near = (ode_near){.is_flat = mode != ODE_NEAR_EACH};
    sprag_pose_in(&mesh->pose, &shape->pose, &s.pose);
    s.boxed = s.shape->kind <= SPRAG_BOX;
    if (s.shape->kind == SPRAG_SPHERE) { // the axes of the mesh are its own
        memcpy(s.pose.rotation, (double[9]){1, 0, 0, 0, 1, 0, 0, 0, 1}, sizeof s.pose.rotation);
    }
    sprag_shape_bounds(s.shape, &s.pose, s.bounds);
    sprag_box_grow(s.bounds, reach);
    for (int k = 0; k < 9; k++) {
        s.along[k] = fabs(s.pose.rotation[k]);
    }
    const double flat = mode == ODE_NEAR_ONE || mode == ODE_NEAR_MERGED ? ODE_SAME_POINT : 0;
    const bool found =
        sprag_ode_triangles_in(mesh, s.bounds, ODE_MOST_TRIANGLES, flat, skips, add, &s);
    if (mode == ODE_NEAR_MERGED && near->is_flat && near->count > 0) {
        merge(&s);
    }
    return found && !s.full && !scratch->failed;
}
