// dCollide of a shape with a triangle mesh or a heightfield. If all triangles near the shape are in
// one plane, this is that of the plane, as long as its points are on the triangles.
#include "contact_points.h"

#include <math.h>
#include <string.h>

#include "motion.h"
#include "ode.h"
#include "tolerances.h"

// Cosine between the way out of a mesh and a triangle of the other one that looks against it.
// Greater: meshes that overlap deeply have too few points, or none; smaller: triangles rub on what
// is beside them.
static const double LOOKS = 0.2;

// Cosine between the shortest way out of an overlap and that by the back of a triangle, which
// counts then, too. Greater: boxes that lie askew on the back of a wall that moves pass it;
// smaller: what is beside an edge leaves by a back that it does not lie on.
static const double NEARLY_FLAT = 0.9;

// ---- one plane

static void set_plane(const ode_mesh_collision *c, sprag_pose *plane)
{
    const sprag_pose *pose = &c->geom[c->side].pose;
    double n[3];
    mul33(pose->rotation, c->near[c->side].normal, n);
    sprag_ode_set_plane(n, plane->rotation);
    sprag_pose_world(pose, c->near[c->side].triangle[0].corner[0], plane->position);
}

typedef struct question { // which triangle has a point?
    double at[3];         // m, in the axes of the mesh
    int number;           // the first one that is found; -1: none
    double corner[3][3];  // its, m
} question;

static void ask(void *data, int number, const double corner[3][3])
{
    question *q = data;
    if (q->number < 0 && sprag_triangle_has(corner, q->at, ODE_SAME_POINT)) {
        q->number = number;
        memcpy(q->corner, corner, sizeof q->corner);
    }
}

// Looks for a triangle that has a point (m, world).
static question triangle_at(const ode_mesh_collision *c, const double at[3])
{
    double bounds[6];
    question q = {.number = -1};
    sprag_pose_local(&c->geom[c->side].pose, at, q.at);
    for (int k = 0; k < 3; k++) {
        bounds[k] = q.at[k] - ODE_SAME_POINT;
        bounds[k + 3] = q.at[k] + ODE_SAME_POINT;
    }
    (void)sprag_ode_triangles_in(&c->geom[c->side], bounds, INFINITY, 0, NULL, ask, &q);
    return q;
}

// Is the surface as wide about a point (m, world) as that point is deep? Else the way out of an
// overlap may lead over its rim. near: a triangle that may have all of it.
static bool is_wide(const ode_mesh_collision *c, const sprag_pose *plane, const double at[3],
                    double depth, const double near[3][3])
{
    bool wide = true;
    for (int i = 0; i < 4 && wide && depth > 0; i++) {
        double aside[3], local[3];
        for (int k = 0; k < 3; k++) {
            aside[k] = at[k] + (i % 2 ? depth : -depth) * plane->rotation[3 * k + i / 2];
        }
        sprag_pose_local(&c->geom[c->side].pose, aside, local);
        wide = sprag_triangle_has(near, local, ODE_SAME_POINT) || triangle_at(c, aside).number >= 0;
    }
    return wide;
}

// The gap of the shape and the half-space behind the plane, or, turned, the one in front of it.
// false: the kernel cannot use it.
static bool find_plane_gap(const ode_mesh_collision *c, const sprag_pose *plane, bool turned,
                           sprag_gap *gap, sprag_manifold *manifold)
{
    static const sprag_shape half_space = {.kind = SPRAG_PLANE};
    const sprag_gap_query query = {c->all->reach, c->all->reach};
    const ode_geom *other = &c->geom[!c->side];
    const sprag_shape *shape[2] = {&other->shape, &other->shape};
    const sprag_pose *pose[2] = {&other->pose, &other->pose};
    sprag_pose side = *plane;
    for (int k = 0; k < 3 && turned; k++) {
        side.rotation[3 * k + 1] *= -1;
        side.rotation[3 * k + 2] *= -1;
    }
    shape[c->side] = &half_space;
    pose[c->side] = &side;
    return sprag_gap_find(shape, pose, &query, NULL, gap, manifold) == SPRAG_OK;
}

// Looks for a triangle that has a point of the shape, somewhere between those that are farthest
// behind the plane and in front of it. A shape that is behind the plane, or goes past the rim or
// through a hole, overlaps none.
static question find_cut(const ode_mesh_collision *c, const sprag_gap *front, const sprag_gap *back)
{
    const double share = front->distance / (front->distance + back->distance);
    const double *from = front->point[!c->side], *to = back->point[!c->side];
    double at[3];
    for (int k = 0; k < 3; k++) {
        at[k] = from[k] + share * (to[k] - from[k]);
    }
    return triangle_at(c, at);
}

// The shapes and poses of the sides, the mesh's as a triangle of it.
typedef struct two_sides {
    double normal[2][3];
    sprag_polytope polytope;
    sprag_shape flat;
    const sprag_shape *shape[2];
    const sprag_pose *pose[2];
} two_sides;

static void set_sides(const ode_mesh_collision *c, const double corner[3][3], two_sides *s)
{
    s->polytope = sprag_triangle_make(corner, s->normal);
    s->flat = (sprag_shape){.kind = SPRAG_POLYTOPE, .polytope = &s->polytope};
    for (int side = 0; side < 2; side++) {
        s->shape[side] = side == c->side ? &s->flat : &c->geom[side].shape;
        s->pose[side] = &c->geom[side].pose;
    }
}

void sprag_ode_add_mesh_points(ode_mesh_collision *c, int number, const sprag_gap *gap,
                               const sprag_manifold *manifold)
{
    int named[2] = {-1, -1};
    named[c->side] = sprag_ode_named_triangle(c->geom[c->side].named, number);
    if (c->piece) {
        named[!c->side] = sprag_ode_named_triangle(c->geom[!c->side].named, c->piece->number);
    }
    sprag_ode_add_points(c->all, gap, manifold, named, c->spot);
}

// Point i of a manifold alone.
static sprag_manifold point_of(const sprag_manifold *manifold, int i)
{
    sprag_manifold one = {.count = 1, .gap[0] = manifold->gap[i]};
    memcpy(one.point[0], manifold->point[i], sizeof one.point[0]);
    return one;
}

// Takes, for a shape that overlaps the half-space behind the plane, the side by which it leaves.
// gap, manifold: of the front; changed to those of the back. false: the shape does not cross the
// plane on a triangle, the way out may lead over a rim, or the kernel cannot tell.
static bool take_side(const ode_mesh_collision *c, const sprag_pose *plane, sprag_gap *gap,
                      sprag_manifold *manifold)
{
    sprag_gap back;
    if (!find_plane_gap(c, plane, true, &back, NULL) || back.beyond) {
        return false;
    }
    const question cut = find_cut(c, gap, &back);
    if (cut.number < 0) {
        return false;
    }
    if (back.distance > gap->distance) {
        two_sides s;
        set_sides(c, cut.corner, &s);
        if (sprag_ode_is_behind(c, s.shape, s.pose, &back) &&
            !find_plane_gap(c, plane, true, gap, manifold)) {
            return false;
        }
    }
    return is_wide(c, plane, gap->point[c->side], -gap->distance, (const double(*)[3])cut.corner);
}

// Adds the points of the plane of all triangles. false: they are not in one, it ends where the
// shape is, or the shape does not cross it there.
static bool collide_plane(ode_mesh_collision *c)
{
    const int side = c->side, kept = c->all->count;
    sprag_pose plane;
    sprag_gap gap;
    sprag_manifold manifold;
    if (c->geom[!side].shape.kind == SPRAG_PLANE || !c->near[side].is_flat) {
        return false;
    }
    set_plane(c, &plane);
    if (!find_plane_gap(c, &plane, false, &gap, &manifold)) {
        return false;
    }
    bool whole = gap.distance >= 0 || take_side(c, &plane, &gap, &manifold);
    for (int i = 0; i < manifold.count && whole; i++) { // none, if the gap is beyond the reach
        const sprag_manifold one = point_of(&manifold, i);
        const int number = triangle_at(c, one.point[0][side]).number;
        whole = number >= 0;
        sprag_ode_add_mesh_points(c, number, &gap, &one);
    }
    c->all->count = whole ? c->all->count : kept;
    return whole;
}

// ---- triangles

// Is the normal of a gap with a triangle one of its mesh, at this point of it? Then it is that of
// the front, or no triangle that has the point is in front of the plane through it. Else an edge or
// a corner is touched from the side, within the surface.
static bool is_of_surface(const ode_mesh_collision *c, int side, const ode_triangle *triangle,
                          const sprag_gap *gap)
{
    const ode_near *near = &c->near[side];
    double at[3], normal[3];
    bool in_front = false;
    sprag_pose_local(&c->geom[side].pose, gap->point[side], at);
    mul33_transposed(c->geom[side].pose.rotation, gap->normal, normal);
    scale3(side ? 1 : -1, normal, normal);
    if (dot3(normal, triangle->normal) > (1 - SPRAG_TRIANGLE_ALONG) * norm3(triangle->normal)) {
        return true;
    }
    for (int i = 0; i < near->count && !in_front; i++) {
        const double(*corner)[3] = near->triangle[i].corner;
        in_front = sprag_triangle_has(corner, at, ODE_SAME_POINT) &&
                   sprag_triangle_rises(corner, at, normal, ODE_SAME_POINT);
    }
    return !in_front;
}

// May a shape that is a triangle of a mesh have this gap? The triangle looks against its normal, or
// that is one of the surface there.
static bool is_of_piece(const ode_mesh_collision *c, const sprag_gap *gap)
{
    if (!c->piece) {
        return true;
    }
    double normal[3];
    mul33_transposed(c->geom[!c->side].pose.rotation, gap->normal, normal);
    const double against = (c->side ? -1 : 1) * dot3(normal, c->piece->normal);
    return against > LOOKS * norm3(c->piece->normal) || is_of_surface(c, !c->side, c->piece, gap);
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
                 most = best->length + ODE_SAME_POINT;
    const bool in_front = height > ODE_SAME_POINT * sqrt(square);
    if ((in_front && through) || height * height > most * most * square) {
        return;
    }
    sprag_triangle_nearest(corner, at, nearest);
    subtract3(nearest, at, between);
    const double length = norm3(between);
    if (length < best->length - ODE_SAME_POINT) {
        *best = (way){triangle, {nearest[0], nearest[1], nearest[2]}, length, in_front};
    } else if (length <= most) {
        best->in_front |= in_front;
    }
}

bool sprag_ode_leaves_elsewhere(const ode_mesh_collision *c, const double at[3], double length)
{
    const ode_near *near = &c->near[c->side];
    way out = {.length = length - ODE_SAME_POINT};
    for (int i = 0; i < near->count; i++) {
        take_shorter(&out, &near->triangle[i], at, false);
    }
    return out.triangle;
}

// Adds a point of the shape that is so deep (m) beneath a triangle, with the shortest way out of
// the mesh. A point that is not beneath the triangle, not in the mesh, or on its surface, adds
// nothing. through: the shape is behind the triangle, so it may have come through a thin wall: the
// far side of the wall, in front of which the point is, does not count.
static void add_beneath(ode_mesh_collision *c, const ode_triangle *triangle, const double *world,
                        double depth, bool through)
{
    const ode_near *near = &c->near[c->side];
    double at[3], outwards[3];
    way out = {.length = INFINITY};
    sprag_pose_local(&c->geom[c->side].pose, world, at);
    take_shorter(&out, triangle, at, through);
    if (!(out.length <= depth + ODE_SAME_POINT)) {
        return;
    }
    for (int i = 0; i < near->count; i++) {
        take_shorter(&out, &near->triangle[i], at, through);
    }
    subtract3(out.to, at, at);
    if (out.in_front || !(out.length > ODE_SAME_POINT) || !normalise3(at)) {
        return;
    }
    mul33(c->geom[c->side].pose.rotation, at, outwards);
    sprag_gap gap = {.distance = -out.length};
    for (int k = 0; k < 3; k++) {
        gap.normal[k] = c->side ? outwards[k] : -outwards[k];
        gap.point[!c->side][k] = world[k];
        gap.point[c->side][k] = world[k] + out.length * outwards[k];
    }
    if (is_of_piece(c, &gap)) {
        sprag_ode_add_mesh_points(c, out.triangle->number, &gap, &(sprag_manifold){0});
    } else {
        c->all->left_out = true;
    }
}

// Is a point of a manifold by the front on the triangle, and no deeper there than the shapes are?
static bool is_on_triangle(const ode_mesh_collision *c, const ode_triangle *triangle,
                           const sprag_manifold *manifold, int i, double most)
{
    double at[3];
    sprag_pose_local(&c->geom[c->side].pose, manifold->point[i][c->side], at);
    return manifold->gap[i] < 0 && -manifold->gap[i] <= most + ODE_SAME_POINT &&
           sprag_triangle_has(triangle->corner, at, ODE_SAME_POINT);
}

typedef struct way_out { // of an overlap
    sprag_gap gap;
    sprag_manifold manifold;
    bool front; // of the triangle; else it is the shortest one
} way_out;

// Adds the points of the shape that are beneath the front of a triangle. found: the shortest way
// out.
static void leave_by_front(ode_mesh_collision *c, const ode_triangle *triangle,
                           const sprag_shape *const shape[2], const sprag_pose *const pose[2],
                           const sprag_gap *found, way_out *out)
{
    const sprag_gap *gap = &out->gap;
    const sprag_manifold *manifold = &out->manifold;
    const bool through = out->front && gap->distance >= SPRAG_TRIANGLE_LONGER * found->distance &&
                         dot3(found->normal, gap->normal) < SPRAG_TRIANGLE_BACK;
    const bool front = out->front || sprag_gap_by_front(shape, pose, c->side, true, c->all->reach,
                                                        &out->gap, &out->manifold);
    // The shortest way out leads to the front, not the back: points no deeper than it need no
    // other, also where they lie on a side of the mesh, as the corners of a cube of triangles do.
    const bool ahead = !c->piece && dot3(found->normal, gap->normal) >= 0;
    for (int i = 0; i < manifold->count && front; i++) {
        if (ahead && is_on_triangle(c, triangle, manifold, i, -found->distance)) {
            const sprag_manifold one = point_of(manifold, i);
            sprag_ode_add_mesh_points(c, triangle->number, gap, &one);
        } else {
            add_beneath(c, triangle, manifold->point[i][!c->side], -manifold->gap[i], through);
        }
    }
}

// Adds the points of a shape that leaves a triangle by its back. found: the shortest way out; a
// face of a shape that lies nearly flat on the back has another one.
static void leave_by_back(ode_mesh_collision *c, const ode_triangle *triangle,
                          const sprag_gap *found)
{
    double turned[3][3];
    two_sides sides;
    way_out out = {.gap = *found};
    for (int i = 0; i < 3; i++) {
        memcpy(turned[i], triangle->corner[2 - i], sizeof turned[i]);
    }
    set_sides(c, (const double(*)[3])turned, &sides);
    const bool flat = sprag_gap_by_front(sides.shape, sides.pose, c->side, true, c->all->reach,
                                         &out.gap, &out.manifold) &&
                      dot3(out.gap.normal, found->normal) > NEARLY_FLAT;
    for (int i = 0; i < out.manifold.count && flat; i++) {
        if (is_on_triangle(c, triangle, &out.manifold, i, INFINITY)) {
            const sprag_manifold one = point_of(&out.manifold, i);
            sprag_ode_add_mesh_points(c, triangle->number, &out.gap, &one);
        }
    }
}

// Neither of two triangles has an inside: the shortest way out counts if it leads to the fronts of
// both, and its normal is one of both surfaces.
void sprag_ode_collide_triangle(ode_mesh_collision *c, const ode_triangle *triangle)
{
    two_sides sides;
    set_sides(c, triangle->corner, &sides);
    const sprag_shape *const *shape = sides.shape;
    const sprag_pose *const *pose = sides.pose;
    const double margin = c->all->reach;
    const sprag_gap_query query = {margin, margin};
    way_out found = {.front = false}, out[2];
    bool front = false;
    const sprag_result result =
        sprag_gap_find(shape, pose, &query, NULL, &found.gap, &found.manifold);
    if (!sprag_ode_is_usable(result, &found.gap, margin) || found.gap.beyond) {
        return;
    }
    const bool behind =
        !c->piece && found.gap.distance < 0 && sprag_ode_is_behind(c, shape, pose, &found.gap);
    for (int k = 0; k < (c->piece ? 2 : 1) && !behind; k++) {
        out[k] = found;
        out[k].front = sprag_gap_by_front(shape, pose, k ? !c->side : c->side, false, margin,
                                          &out[k].gap, &out[k].manifold);
        front |= out[k].front;
    }
    if (!front && is_of_surface(c, c->side, triangle, &found.gap) && is_of_piece(c, &found.gap)) {
        sprag_ode_add_mesh_points(c, triangle->number, &found.gap, &found.manifold);
        return;
    }
    if (behind) {
        leave_by_back(c, triangle, &found.gap);
    } else {
        leave_by_front(c, triangle, shape, pose, &found.gap, &out[0]);
    }
    if (c->piece) { // the points of the triangle in the mesh of the piece
        ode_mesh_collision turned = *c;
        turned.side = !c->side;
        turned.piece = triangle;
        leave_by_front(&turned, c->piece, shape, pose, &found.gap, &out[1]);
    }
}

// ---- callbacks

// Asks the program's callback about each triangle, and gives them to the one for all at once, as
// ODE does. heard: it chooses triangles, or numbers for points of several. false: no memory.
static bool ask_program(ode_mesh_collision *c, bool *heard)
{
    dGeomID mesh = c->geom[c->side].geom, other = c->geom[!c->side].geom;
    ode_near *near = &c->near[c->side];
    *heard = false;
    if (dGeomGetClass(mesh) != dTriMeshClass) {
        return true;
    }
    dTriCallback *one = dGeomTriMeshGetCallback(mesh);
    dTriArrayCallback *array = dGeomTriMeshGetArrayCallback(mesh);
    *heard = one || dGeomTriMeshGetTriMergeCallback(mesh);
    int left = 0;
    for (int i = 0; i < near->count && one; i++) {
        if (one(mesh, other, near->triangle[i].number)) {
            near->triangle[left++] = near->triangle[i];
        }
    }
    near->count = one ? left : near->count;
    if (array && near->count) {
        int *number = SPRAG_TAKE(c->all->scratch, near->count, int);
        if (!number) {
            return false;
        }
        for (int i = 0; i < near->count; i++) {
            number[i] = near->triangle[i].number;
        }
        array(c->geom[c->side].named, c->geom[!c->side].named, number, near->count);
    }
    return true;
}

static bool list_near(ode_mesh_collision *c, ode_near_mode mode)
{
    return sprag_ode_triangles_near(&c->geom[c->side], &c->geom[!c->side], 2 * c->all->reach, mode,
                                    c->all->scratch, &c->near[c->side]);
}

bool sprag_ode_collide_mesh(ode_points *all, const ode_geom geom[2], int side, int most, bool any)
{
    ode_mesh_collision c = {.all = all, .geom = geom, .side = side};
    // ODE's balls roll on the surface of boxes and meshes, and on their own on planes and fields.
    const int own = dGeomGetClass(all->geom[side]) == dTriMeshClass ? side : !side;
    if (geom[!side].shape.kind == SPRAG_SPHERE) {
        c.spot = own ? ODE_SPOT_ON_1 : ODE_SPOT_ON_0;
    }
    ode_near *near = &c.near[side];
    bool heard;
    if (!list_near(&c, ODE_NEAR_ONE) || !ask_program(&c, &heard)) {
        return false;
    }
    if (near->count == 0 || (!heard && collide_plane(&c))) {
        return true;
    }
    if (near->triangle[0].number == ODE_PATCH && !list_near(&c, ODE_NEAR_EACH)) {
        return false;
    }
    for (int i = 0; i < near->count && !(any && all->count >= most); i++) {
        sprag_ode_collide_triangle(&c, &near->triangle[i]);
    }
    return true;
}
