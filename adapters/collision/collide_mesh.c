// dCollide of a shape with a triangle mesh or a heightfield. If all triangles near the shape are in
// one plane, this is that of the plane, as long as its points are on the triangles.
#include <math.h>
#include <string.h>

#include "contact_points.h"
#include "linalg.h"
#include "mesh_near.h"
#include "tolerances.h"

// m: a point this near to a triangle is on it. Greater: corners of small triangles share what is
// apart; smaller: edges count as seen from the side by rounding.
static const double SAME_POINT = 1e-9;

typedef struct collision { // of a shape and a mesh
    ode_points *all;
    const ode_geom *geom; // of both sides
    int side;             // of the mesh
    ode_near near;        // triangles of the mesh
    ode_spot spot;
} collision;

// The point in the axes of the mesh.
static void into_mesh(const collision *c, const double at[3], double local[3])
{
    const sprag_pose *pose = &c->geom[c->side].pose;
    double from[3];
    subtract3(at, pose->position, from);
    mul33_transposed(pose->rotation, from, local);
}

static bool is_in_box_of(const double corner[3][3], const double at[3])
{
    bool in = true;
    for (int k = 0; k < 3 && in; k++) {
        const double x = corner[0][k] - at[k], y = corner[1][k] - at[k], z = corner[2][k] - at[k];
        in = (x <= SAME_POINT || y <= SAME_POINT || z <= SAME_POINT) &&
             (x >= -SAME_POINT || y >= -SAME_POINT || z >= -SAME_POINT);
    }
    return in;
}

static bool has(const double corner[3][3], const double at[3])
{
    return is_in_box_of(corner, at) && sprag_triangle_has(corner, at, SAME_POINT);
}

// ---- one plane

static const sprag_shape half_space = {.kind = SPRAG_PLANE};

static void set_plane(const collision *c, sprag_pose *plane)
{
    const sprag_pose *pose = &c->geom[c->side].pose;
    double n[3], x[3], y[3];
    mul33(pose->rotation, c->near.normal, n);
    sprag_any_across(n, x);
    cross3(n, x, y);
    for (int k = 0; k < 3; k++) {
        plane->rotation[3 * k] = x[k];
        plane->rotation[3 * k + 1] = y[k];
        plane->rotation[3 * k + 2] = n[k];
    }
    mul33(pose->rotation, c->near.triangle[0].corner[0], plane->position);
    add_scaled(plane->position, 1, pose->position, 3);
}

typedef struct question { // which triangle has a point?
    double at[3];         // m, in the axes of the mesh
    int number;           // the first one that is found; -1: none
} question;

static void ask(void *data, int number, const double corner[3][3])
{
    question *q = data;
    if (q->number < 0 && has(corner, q->at)) {
        q->number = number;
    }
}

// The number of a triangle that has a point (m, world); -1: none.
static int triangle_at(const collision *c, const double at[3])
{
    double bounds[6];
    question q = {.number = -1};
    into_mesh(c, at, q.at);
    for (int k = 0; k < 3; k++) {
        bounds[k] = q.at[k] - SAME_POINT;
        bounds[k + 3] = q.at[k] + SAME_POINT;
    }
    sprag_ode_triangles_in(&c->geom[c->side], bounds, ask, &q);
    return q.number;
}

// Is the surface as wide about a point (m, world) as that point is deep? Else the way out of an
// overlap may lead over its rim.
static bool is_wide(const collision *c, const sprag_pose *plane, const double at[3], double depth)
{
    bool wide = true;
    for (int i = 0; i < 4 && wide && depth > 0; i++) {
        double aside[3];
        for (int k = 0; k < 3; k++) {
            aside[k] = at[k] + (i % 2 ? depth : -depth) * plane->rotation[3 * k + i / 2];
        }
        wide = triangle_at(c, aside) >= 0;
    }
    return wide;
}

// Is a point of the shape on a triangle, somewhere between its lowest point (m, so deep) and its
// highest? A shape that is behind the plane, or goes past the rim or through a hole, overlaps none.
static bool is_cut(const collision *c, const sprag_pose *plane, const double lowest[3],
                   double depth)
{
    static const sprag_gap_query touching = {0, 0};
    const ode_geom *other = &c->geom[!c->side];
    const sprag_shape *shape[2] = {&half_space, &other->shape};
    sprag_pose above = *plane; // the half-space turned over
    const sprag_pose *pose[2] = {&above, &other->pose};
    sprag_gap gap;
    double at[3], way[3];
    for (int k = 0; k < 3; k++) {
        above.rotation[3 * k + 1] *= -1;
        above.rotation[3 * k + 2] *= -1;
        at[k] = lowest[k];
    }
    if (!(depth > 0)) {
        return true;
    }
    if (sprag_gap_find(shape, pose, &touching, NULL, &gap, NULL) != SPRAG_OK || gap.beyond) {
        return false;
    }
    subtract3(gap.point[1], lowest, way);
    add_scaled(at, depth / (depth - gap.distance), way, 3);
    return triangle_at(c, at) >= 0;
}

// Adds points of the triangle of that number. false: no memory.
static bool add_points(collision *c, int number, const sprag_gap *gap,
                       const sprag_manifold *manifold)
{
    int named[2] = {-1, -1};
    named[c->side] = sprag_ode_named_triangle(c->geom[c->side].named, number);
    return sprag_ode_add_points(c->all, gap, manifold, named, c->spot);
}

// Point i of a manifold alone; none of an empty one.
static sprag_manifold point_of(const sprag_manifold *manifold, int i)
{
    sprag_manifold one = {.count = manifold->count ? 1 : 0, .gap[0] = manifold->gap[i]};
    memcpy(one.point[0], manifold->point[i], sizeof one.point[0]);
    return one;
}

// Adds the points of the plane of all triangles. false: they are not in one, it ends where the
// shape is, the shape does not cross it there, or no memory.
static bool collide_plane(collision *c)
{
    const sprag_gap_query query = {c->all->reach, c->all->reach};
    const int side = c->side, kept = c->all->count;
    const ode_geom *other = &c->geom[!side];
    if (other->shape.kind == SPRAG_PLANE || !c->near.is_flat) {
        return false;
    }
    sprag_pose plane;
    sprag_gap gap;
    sprag_manifold manifold;
    set_plane(c, &plane);
    const sprag_shape *shape[2] = {side ? &other->shape : &half_space,
                                   side ? &half_space : &other->shape};
    const sprag_pose *pose[2] = {side ? &other->pose : &plane, side ? &plane : &other->pose};
    if (sprag_gap_find(shape, pose, &query, NULL, &gap, &manifold) != SPRAG_OK) {
        return false;
    }
    bool whole = gap.beyond || (is_cut(c, &plane, gap.point[!side], -gap.distance) &&
                                is_wide(c, &plane, gap.point[side], -gap.distance));
    for (int i = 0; i < (manifold.count ? manifold.count : 1) && whole && !gap.beyond; i++) {
        const sprag_manifold one = point_of(&manifold, i);
        const int number = triangle_at(c, one.count ? one.point[0][side] : gap.point[side]);
        whole = number >= 0 && add_points(c, number, &gap, &one);
    }
    c->all->count = whole ? c->all->count : kept;
    return whole;
}

// ---- triangles

// Is the normal of a gap with a triangle one of the mesh, at this point of it? Then it is that of
// the front, or no triangle that has the point is in front of the plane through it. Else an edge or
// a corner is touched from the side, within the surface. A corner at the point itself does not
// count: the direction to it is rounding.
static bool is_of_surface(const collision *c, const ode_triangle *triangle, const sprag_gap *gap)
{
    double at[3], normal[3];
    into_mesh(c, gap->point[c->side], at);
    mul33_transposed(c->geom[c->side].pose.rotation, gap->normal, normal);
    const double out = c->side ? 1 : -1, along = out * dot3(normal, triangle->normal);
    bool in_front = false;
    if (along > (1 - SPRAG_TRIANGLE_ALONG) * norm3(triangle->normal)) {
        return true;
    }
    for (int i = 0; i < c->near.count && !in_front; i++) {
        const double(*corner)[3] = c->near.triangle[i].corner;
        const bool near = is_in_box_of(corner, at);
        bool before = false;
        for (int k = 0; k < 3 && near && !before; k++) {
            double to[3];
            subtract3(corner[k], at, to);
            const double height = out * dot3(normal, to), length = norm3(to);
            before = length > SAME_POINT && height > ODE_FLAT * length;
        }
        in_front = before && sprag_triangle_has(corner, at, SAME_POINT);
    }
    return !in_front;
}

typedef struct way { // to the mesh, from a point of the shape
    const ode_triangle *triangle;
    double to[3], length; // m, in the axes of the mesh
    bool in_front;        // of the triangle, or of another one as near
} way;

// Takes the way to a triangle, if it is shorter, from a point (m, in the axes of the mesh).
// through: only from behind.
static void take_shorter(way *best, const ode_triangle *triangle, const double at[3], bool through)
{
    double from[3], nearest[3], between[3];
    const double(*corner)[3] = triangle->corner;
    subtract3(at, corner[0], from);
    const double height = dot3(triangle->normal, from),
                 square = dot3(triangle->normal, triangle->normal),
                 most = best->length + SAME_POINT;
    const bool in_front = height > SAME_POINT * sqrt(square);
    if ((in_front && through) || height * height > most * most * square) {
        return;
    }
    sprag_triangle_nearest(corner, at, nearest);
    subtract3(nearest, at, between);
    const double length = norm3(between);
    if (length < best->length - SAME_POINT) {
        *best = (way){triangle, {nearest[0], nearest[1], nearest[2]}, length, in_front};
    } else if (length <= most) {
        best->in_front |= in_front;
    }
}

// Adds a point of the shape that is so deep (m) beneath a triangle, with the shortest way out of
// the mesh. A point that is not beneath the triangle, not in the mesh, or on its surface, adds
// nothing. through: the shape is behind the triangle, so it may have come through a thin wall: the
// far side of the wall, in front of which the point is, does not count. false: no memory.
static bool add_beneath(collision *c, const ode_triangle *triangle, const double *world,
                        double depth, bool through)
{
    double at[3], outwards[3];
    way out = {.length = INFINITY};
    into_mesh(c, world, at);
    take_shorter(&out, triangle, at, through);
    if (!(out.length <= depth + SAME_POINT)) {
        return true;
    }
    for (int i = 0; i < c->near.count; i++) {
        take_shorter(&out, &c->near.triangle[i], at, through);
    }
    subtract3(out.to, at, at);
    if (out.in_front || !(out.length > SAME_POINT) || !normalise3(at)) {
        return true;
    }
    mul33(c->geom[c->side].pose.rotation, at, outwards);
    sprag_gap gap = {.distance = -out.length};
    for (int k = 0; k < 3; k++) {
        gap.normal[k] = c->side ? outwards[k] : -outwards[k];
        gap.point[!c->side][k] = world[k];
        gap.point[c->side][k] = world[k] + out.length * outwards[k];
    }
    return add_points(c, out.triangle->number, &gap, &(sprag_manifold){0});
}

// Is a point of a manifold by the front on the triangle, and no deeper there than the shapes are?
static bool is_on_triangle(const collision *c, const ode_triangle *triangle,
                           const sprag_manifold *manifold, int i, double most)
{
    double at[3];
    into_mesh(c, manifold->point[i][c->side], at);
    return manifold->gap[i] < 0 && -manifold->gap[i] <= most + SAME_POINT &&
           sprag_triangle_has(triangle->corner, at, SAME_POINT);
}

// Adds the points of one triangle; none of one that the kernel cannot use. false: no memory.
static bool collide_triangle(collision *c, const ode_triangle *triangle)
{
    double normal[2][3];
    const double margin = c->all->reach;
    const sprag_polytope polytope = sprag_triangle_make(triangle->corner, normal);
    const sprag_shape flat = {.kind = SPRAG_POLYTOPE, .polytope = &polytope};
    const sprag_shape *shape[2] = {&c->geom[0].shape, &c->geom[1].shape};
    const sprag_pose *pose[2] = {&c->geom[0].pose, &c->geom[1].pose};
    const sprag_gap_query query = {margin, margin};
    sprag_gap gap;
    sprag_manifold manifold = {0};
    shape[c->side] = &flat;
    const sprag_result result = sprag_gap_find(shape, pose, &query, NULL, &gap, &manifold);
    if (!sprag_ode_is_usable(result, &gap, margin) || gap.beyond || !(gap.distance <= margin)) {
        return true;
    }
    const sprag_gap found = gap;
    bool front = sprag_gap_by_front(shape, pose, c->side, false, margin, &gap, &manifold);
    const bool through = front && gap.distance >= SPRAG_TRIANGLE_LONGER * found.distance &&
                         dot3(found.normal, gap.normal) < SPRAG_TRIANGLE_BACK;
    if (!front && is_of_surface(c, triangle, &gap)) {
        return add_points(c, triangle->number, &gap, &manifold);
    }
    front = front || sprag_gap_by_front(shape, pose, c->side, true, margin, &gap, &manifold);
    // The shortest way out leads to the front, not the back: points no deeper than it need no
    // other, also where they lie on a side of the mesh, as the corners of a cube of triangles do.
    const bool ahead = dot3(found.normal, gap.normal) >= 0;
    bool stored = true;
    for (int i = 0; i < manifold.count && front && stored; i++) {
        if (ahead && is_on_triangle(c, triangle, &manifold, i, -found.distance)) {
            const sprag_manifold one = point_of(&manifold, i);
            stored = add_points(c, triangle->number, &gap, &one);
        } else {
            stored =
                add_beneath(c, triangle, manifold.point[i][!c->side], -manifold.gap[i], through);
        }
    }
    return stored;
}

// ---- callbacks

// Asks the program's callback about each triangle, and gives them to the one for all at once, as
// ODE does. heard: there is any. false: no memory.
static bool ask_program(collision *c, bool *heard)
{
    dGeomID mesh = c->geom[c->side].geom, other = c->geom[!c->side].geom;
    *heard = false;
    if (dGeomGetClass(mesh) != dTriMeshClass) {
        return true;
    }
    dTriCallback *one = dGeomTriMeshGetCallback(mesh);
    dTriArrayCallback *array = dGeomTriMeshGetArrayCallback(mesh);
    *heard = one || array || dGeomTriMeshGetTriMergeCallback(mesh);
    int left = 0;
    for (int i = 0; i < c->near.count && one; i++) {
        if (one(mesh, other, c->near.triangle[i].number)) {
            c->near.triangle[left++] = c->near.triangle[i];
        }
    }
    c->near.count = one ? left : c->near.count;
    if (array && c->near.count) {
        int *number = SPRAG_TAKE(c->all->scratch, c->near.count, int);
        if (!number) {
            return false;
        }
        for (int i = 0; i < c->near.count; i++) {
            number[i] = c->near.triangle[i].number;
        }
        array(c->geom[c->side].named, c->geom[!c->side].named, number, c->near.count);
    }
    return true;
}

bool sprag_ode_collide_mesh(ode_points *all, const ode_geom geom[2], int side, int most, bool any)
{
    collision c = {.all = all, .geom = geom, .side = side};
    // ODE's balls roll on the surface of boxes and meshes, and on their own on planes and fields.
    const int own = dGeomGetClass(all->geom[side]) == dTriMeshClass ? side : !side;
    if (geom[!side].shape.kind == SPRAG_SPHERE) {
        c.spot = own ? ODE_SPOT_ON_1 : ODE_SPOT_ON_0;
    }
    bool heard;
    if (!sprag_ode_triangles_near(&geom[side], &geom[!side], 2 * all->reach, all->scratch,
                                  &c.near) ||
        !ask_program(&c, &heard)) {
        return false;
    }
    if (c.near.count == 0 || (!heard && collide_plane(&c))) {
        return true;
    }
    for (int i = 0; i < c.near.count && !(any && all->count >= most); i++) {
        if (!collide_triangle(&c, &c.near.triangle[i])) {
            return false;
        }
    }
    return !all->scratch->failed;
}
