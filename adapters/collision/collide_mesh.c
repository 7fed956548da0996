// dCollide of a shape with a triangle mesh or a heightfield.
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

// The number of a triangle that has a point (m, world) of the patch that takes its place.
static int number_at(const ode_mesh_collision *c, const double world[3])
{
    const ode_near *near = &c->near[c->side];
    double at[3];
    int i = 0;
    sprag_pose_local(&c->geom[c->side].pose, world, at);
    while (i < near->count - 1 &&
           !sprag_triangle_has(near->triangle[i].corner, at, 2 * SPRAG_TRIANGLE_OFF)) {
        i++;
    }
    return near->triangle[i].number;
}

// Point i of a manifold alone.
static sprag_manifold point_of(const sprag_manifold *manifold, int i)
{
    sprag_manifold one = {.count = 1, .gap[0] = manifold->gap[i]};
    memcpy(one.point[0], manifold->point[i], sizeof one.point[0]);
    return one;
}

void sprag_ode_add_mesh_points(ode_mesh_collision *c, int number, const sprag_gap *gap,
                               const sprag_manifold *manifold)
{
    int named[2] = {-1, -1};
    if (number == ODE_PATCH && manifold->count > 1) { // each is on a triangle of its own
        for (int i = 0; i < manifold->count; i++) {
            const sprag_manifold one = point_of(manifold, i);
            sprag_ode_add_mesh_points(c, number, gap, &one);
        }
        return;
    }
    if (number == ODE_PATCH) {
        number = number_at(c, manifold->count ? manifold->point[0][c->side] : gap->point[c->side]);
    }
    named[c->side] = sprag_ode_named_triangle(c->geom[c->side].named, number);
    if (c->piece) {
        named[!c->side] = sprag_ode_named_triangle(c->geom[!c->side].named, c->piece->number);
    }
    sprag_ode_add_points(c->all, gap, manifold, named, c->spot);
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
// ODE does. false: no memory.
static bool ask_program(ode_mesh_collision *c, dTriCallback *one, dTriArrayCallback *array)
{
    ode_near *near = &c->near[c->side];
    int left = 0;
    for (int i = 0; i < near->count && one; i++) {
        if (one(c->geom[c->side].geom, c->geom[!c->side].geom, near->triangle[i].number)) {
            near->triangle[left++] = near->triangle[i];
        }
    }
    near->count = one ? left : near->count;
    near->faces = one ? left : near->faces;
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

static void collide_faces(ode_mesh_collision *c, int most, bool any)
{
    const ode_near *near = &c->near[c->side];
    for (int i = 0; i < near->faces && !(any && c->all->count >= most); i++) {
        sprag_ode_collide_triangle(c, &near->face[i]);
    }
}

// Is the plane of a mesh as wide about the deepest point as that is deep? Else the way out of an
// overlap may lead over its rim.
static bool is_wide(const ode_mesh_collision *c)
{
    const ode_points *all = c->all;
    const ode_point *deepest = all->point;
    for (int i = 1; i < all->count; i++) {
        deepest = all->point[i].gap < deepest->gap ? &all->point[i] : deepest;
    }
    if (all->count == 0 || deepest->gap >= -2 * all->reach) {
        return true;
    }
    ode_near near;
    ode_geom about = {.kind = ODE_GEOM_SHAPE,
                      .shape = {.kind = SPRAG_SPHERE, .radius = -deepest->gap},
                      .pose.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    memcpy(about.pose.position, deepest->at, sizeof deepest->at);
    return sprag_ode_triangles_near(&c->geom[c->side], &about, 0, true, all->scratch, &near) &&
           near.face == &near.patch;
}

bool sprag_ode_collide_mesh(ode_points *all, const ode_geom geom[2], int side, int most, bool any)
{
    ode_mesh_collision c = {.all = all, .geom = geom, .side = side};
    // ODE's balls roll on the surface of boxes and meshes, and on their own on planes and fields.
    const int own = dGeomGetClass(all->geom[side]) == dTriMeshClass ? side : !side;
    if (geom[!side].shape.kind == SPRAG_SPHERE) {
        c.spot = own ? ODE_SPOT_ON_1 : ODE_SPOT_ON_0;
    }
    dTriCallback *one = NULL;
    dTriArrayCallback *array = NULL;
    bool heard = false; // the program chooses triangles, or numbers for points of several
    if (dGeomGetClass(geom[side].geom) == dTriMeshClass) {
        one = dGeomTriMeshGetCallback(geom[side].geom);
        array = dGeomTriMeshGetArrayCallback(geom[side].geom);
        heard = one || array || dGeomTriMeshGetTriMergeCallback(geom[side].geom);
    }
    const double reach = 2 * all->reach;
    ode_near *near = &c.near[side];
    if (!sprag_ode_triangles_near(&geom[side], &geom[!side], reach, !heard, all->scratch, near) ||
        !ask_program(&c, one, array)) {
        return false;
    }
    collide_faces(&c, most, any);
    if (near->face == &near->patch && !is_wide(&c)) {
        all->count = 0;
        if (!sprag_ode_triangles_near(&geom[side], &geom[!side], reach, false, all->scratch,
                                      near)) {
            return false;
        }
        collide_faces(&c, most, any);
    }
    if (!heard && near->faces > 1) { // edges within a face make points within it
        sprag_ode_keep_outlines(all);
    }
    return true;
}
