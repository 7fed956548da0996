// dCollide by sprag's own geometry kernel: geoms that are close, though they do not overlap, have
// contacts of depth 0.
#include <math.h>
#include <string.h>

#include "geom_pairs.h"
#include "linalg.h"

enum { CONTACTS_MASK = 0xffff }; // of the flags of dCollide: the most contacts

// Two points are one contact where they and their normals agree up to these: relative to the
// smaller geom, and the length of the difference of unit normals. Greater: contacts at the edges of
// small triangles merge; smaller: points on a common edge of two triangles are counted twice.
static const double POINT_TOLERANCE = 1e-7, NORMAL_TOLERANCE = 1e-3;

// Depths that differ by less than this share of the distance from the middle of all points do not
// decide which points are kept. Greater: the deepest point may be left out; smaller: geoms at rest
// change their points by rounding.
static const double DEEPER = 1e-3;

// m: a point this near to a triangle is on it. Greater: corners of small triangles share what is
// apart; smaller: edges count as seen from the side by rounding.
static const double SAME_POINT = 1e-9;

// Sine. Triangles within this angle of a plane are in it. Greater: bodies that land roll away;
// smaller: rounding.
static const double FLAT = 1e-6;

typedef struct point {
    double at[3], normal[3]; // m, unit
    double gap;              // m
    int triangle[2];         // of the sides, as ODE's contacts name them
} point;

typedef struct points { // in scratch
    sprag_scratch *scratch;
    point *point;
    int count, room;
    double together;        // m, apart by less: one point
    double (*corner)[3][3]; // m, world, of the triangles of a mesh in all pairs; NULL: not known
} points;

static bool is_same(const points *all, const point *a, const point *b)
{
    for (int k = 0; k < 3; k++) {
        if (!(fabs(a->at[k] - b->at[k]) <= all->together)) {
            return false;
        }
    }
    double apart[3] = {a->normal[0] - b->normal[0], a->normal[1] - b->normal[1],
                       a->normal[2] - b->normal[2]};
    return dot3(apart, apart) <= NORMAL_TOLERANCE * NORMAL_TOLERANCE;
}

// A point that two triangles share gets the number that the program's merge callback chooses.
static void merge(point *kept, const point *new, const ode_pair *pair)
{
    for (int i = 0; i < 2; i++) {
        dGeomID mesh = pair->side[i]->geom;
        dTriTriMergeCallback *callback =
            kept->triangle[i] != new->triangle[i] && dGeomGetClass(mesh) == dTriMeshClass
                ? dGeomTriMeshGetTriMergeCallback(mesh)
                : NULL;
        if (callback) {
            kept->triangle[i] = callback(mesh, kept->triangle[i], new->triangle[i]);
        }
    }
}

static bool add(points *all, const point *new, const ode_pair *pair)
{
    for (int i = 0; i < all->count; i++) {
        if (is_same(all, &all->point[i], new)) {
            merge(&all->point[i], new, pair);
            return true;
        }
    }
    if (all->count == all->room) {
        int room = all->room ? 2 * all->room : SPRAG_MANIFOLD_MAX;
        point *wider = SPRAG_TAKE(all->scratch, room, point);
        if (!wider) {
            return false;
        }
        if (all->count) {
            memcpy(wider, all->point, (size_t)all->count * sizeof *wider);
        }
        all->point = wider;
        all->room = room;
    }
    all->point[all->count++] = *new;
    return true;
}

static int named_triangle(const ode_side *side)
{
    return side->triangle >= 0 && dGeomGetClass(side->geom) != dHeightfieldClass ? side->triangle
                                                                                 : -1;
}

static void corners_of(const ode_side *triangle, double corner[3][3])
{
    for (int k = 0; k < 3; k++) {
        mul33(triangle->pose.rotation, triangle->shape.polytope->vertex[k], corner[k]);
        add_scaled(corner[k], 1, triangle->pose.position, 3);
    }
}

static bool find_corners(points *all, const ode_pairs *pairs, int side)
{
    all->corner = SPRAG_TAKE_RAW(all->scratch, pairs->count, *all->corner);
    for (int i = 0; i < pairs->count && all->corner; i++) {
        corners_of(pairs->pair[i].side[side], all->corner[i]);
    }
    return all->corner;
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

// Is the normal of a pair with a triangle one of the mesh, at this point of it? Then no triangle
// that has the point is in front of the plane through it. Else an edge or a corner is touched from
// the side, within the surface. corner: of all triangles.
static bool is_of_surface(const double (*corner)[3][3], int triangles, int side,
                          const sprag_gap *gap)
{
    const double *at = gap->point[side], sign = side ? 1 : -1;
    bool in_front = false;
    for (int i = 0; i < triangles && !in_front; i++) {
        const bool near = is_in_box_of(corner[i], at);
        bool before = false;
        for (int k = 0; k < 3 && near && !before; k++) {
            double to[3];
            subtract3(corner[i][k], at, to);
            before = sign * dot3(gap->normal, to) > FLAT * norm3(to);
        }
        in_front = before && sprag_triangle_has(corner[i], at, SAME_POINT);
    }
    return !in_front;
}

// The gap and the manifold by the front of the triangle, where that is touched.
static void take_front(const ode_pair *pair, const double corner[3][3], int side, double reach,
                       sprag_gap *gap, sprag_manifold *manifold)
{
    const sprag_shape *shape[2] = {&pair->side[0]->shape, &pair->side[1]->shape};
    const sprag_pose *pose[2] = {&pair->side[0]->pose, &pair->side[1]->pose};
    int kept = 0;
    sprag_gap_by_front(shape, pose, side, true, reach, gap, manifold);
    for (int i = 0; i < manifold->count; i++) {
        if (sprag_triangle_has(corner, manifold->point[i][side], SAME_POINT)) {
            memcpy(manifold->point[kept], manifold->point[i], sizeof manifold->point[i]);
            manifold->gap[kept++] = manifold->gap[i];
        }
    }
    manifold->count = kept;
}

// Adds the points of one pair. It uses no memory of the last time: the answer depends on the geoms
// alone. false: the kernel finds none, or no memory.
static bool add_points(points *all, const ode_pairs *pairs, int which, double reach)
{
    const ode_pair *pair = &pairs->pair[which];
    ode_pair fresh = *pair;
    fresh.memory = NULL;
    const sprag_gap_query query = {reach, reach};
    sprag_gap gap;
    sprag_manifold manifold = {0};
    sprag_result result = sprag_ode_gap(&fresh, &query, &gap, &manifold);
    // An error of a tenth of the reach cannot be told from the gap that counts as touching.
    bool usable = result == SPRAG_OK || (result == SPRAG_NOT_CONVERGED && gap.error < reach / 10);
    if (!usable) {
        return false;
    }
    if (gap.beyond || !(gap.distance <= reach)) {
        return true;
    }
    int side = pair->side[1]->triangle >= 0;
    const bool on_mesh = pair->side[side]->triangle >= 0 && pair->side[!side]->triangle < 0;
    if (on_mesh && !all->corner && !find_corners(all, pairs, side)) {
        return false;
    }
    const double(*corner)[3][3] = (const double(*)[3][3])all->corner;
    if (on_mesh && !is_of_surface(corner, pairs->count, side, &gap)) {
        take_front(pair, corner[which], side, reach, &gap, &manifold);
    } else if (manifold.count == 0) {
        manifold.count = 1;
        memcpy(manifold.point[0], gap.point, sizeof gap.point);
        manifold.gap[0] = gap.distance;
    }
    // ODE's balls roll on the surface of boxes and meshes, and on their own on planes and fields.
    const bool ball = on_mesh && pair->side[!side]->shape.kind == SPRAG_SPHERE;
    const int own = dGeomGetClass(pair->side[side]->geom) == dTriMeshClass ? side : !side;
    for (int i = 0; i < manifold.count; i++) {
        point new = {.gap = manifold.gap[i]};
        double finite = 0 * new.gap;
        for (int k = 0; k < 3; k++) {
            const double *on[2] = {manifold.point[i][0], manifold.point[i][1]};
            new.at[k] = ball ? on[own][k] : (on[0][k] + on[1][k]) / 2;
            new.normal[k] = gap.normal[k];
            finite += 0 * new.at[k] + 0 * new.normal[k];
        }
        for (int k = 0; k < 2; k++) {
            new.triangle[k] = named_triangle(pair->side[k]);
        }
        if (finite == 0 && new.gap <= reach && !add(all, &new, pair)) {
            return false;
        }
    }
    return true;
}

static double distance_squared(const point *a, const point *b)
{
    double d[3] = {a->at[0] - b->at[0], a->at[1] - b->at[1], a->at[2] - b->at[2]};
    return dot3(d, d);
}

static void swap(point *a, point *b)
{
    point kept = *a;
    *a = *b;
    *b = kept;
}

// Brings the points to keep to the front: first the deepest one, then each time the one that is
// farthest from those that are kept already. Where depths differ by less than DEEPER of the
// distance from the middle, the outermost one is first, so that geoms at rest keep their points.
static void choose(points *all, int most)
{
    point middle = {0};
    for (int i = 0; i < all->count; i++) {
        add_scaled(middle.at, 1.0 / all->count, all->point[i].at, 3);
    }
    for (int kept = 0; kept < most; kept++) {
        int best = kept;
        double farthest = -INFINITY;
        for (int i = kept; i < all->count; i++) {
            const point *one = &all->point[i];
            double far = kept ? INFINITY : DEEPER * sqrt(distance_squared(one, &middle)) - one->gap;
            for (int j = 0; j < kept; j++) {
                far = fmin(far, distance_squared(one, &all->point[j]));
            }
            if (far > farthest) {
                farthest = far;
                best = i;
            }
        }
        swap(&all->point[kept], &all->point[best]);
    }
}

static void put(const point *from, const ode_pair *pair, dContactGeom *to)
{
    *to = (dContactGeom){.depth = fmax(0, -from->gap),
                         .g1 = pair->side[0]->geom,
                         .g2 = pair->side[1]->geom,
                         .side1 = from->triangle[0],
                         .side2 = from->triangle[1]};
    memcpy(to->pos, from->at, sizeof from->at);
    memcpy(to->normal, from->normal, sizeof from->normal);
}

// Calls the program's callback for all triangles at once, as ODE does unless both geoms are meshes.
// false: no memory.
static bool list_triangles(const ode_pairs *pairs, sprag_scratch *scratch)
{
    const ode_pair *first = pairs->count > 0 ? &pairs->pair[0] : NULL;
    int side = first && first->side[1]->triangle >= 0;
    dGeomID mesh = first ? first->side[side]->geom : NULL;
    bool one = mesh && first->side[side]->triangle >= 0 && first->side[!side]->triangle < 0;
    dTriArrayCallback *callback =
        one && dGeomGetClass(mesh) == dTriMeshClass ? dGeomTriMeshGetArrayCallback(mesh) : NULL;
    if (callback) {
        int *number = SPRAG_TAKE(scratch, pairs->count, int);
        if (!number) {
            return false;
        }
        for (int i = 0; i < pairs->count; i++) {
            number[i] = pairs->pair[i].side[side]->triangle;
        }
        callback(mesh, first->side[!side]->geom, number, pairs->count);
    }
    return true;
}

double sprag_ode_size_of_smaller(dGeomID a, dGeomID b)
{
    dReal of_a[6], of_b[6];
    double size[2] = {0};
    dGeomGetAABB(a, of_a);
    dGeomGetAABB(b, of_b);
    for (int k = 0; k < 3; k++) {
        size[0] = fmax(size[0], of_a[2 * k + 1] - of_a[2 * k]);
        size[1] = fmax(size[1], of_b[2 * k + 1] - of_b[2 * k]);
    }
    return fmin(size[0], size[1]);
}

int sprag_ode_collide_within(ode_geometry *geometry, sprag_scratch *scratch, dGeomID a, dGeomID b,
                             double reach, int flags, dContactGeom *contact, int skip)
{
    ode_pairs pairs;
    points all = {.scratch = scratch,
                  .together = POINT_TOLERANCE * sprag_ode_size_of_smaller(a, b)};
    int most = flags & CONTACTS_MASK;
    bool any = (unsigned)flags & CONTACTS_UNIMPORTANT;
    if (sprag_ode_pairs_of_two(geometry, a, b, 2 * reach, scratch, &pairs) != SPRAG_OK ||
        !list_triangles(&pairs, scratch)) {
        return -1;
    }
    for (int i = 0; i < pairs.count && !(any && all.count >= most); i++) {
        const ode_pair *pair = &pairs.pair[i];
        bool mesh = pair->side[0]->triangle >= 0 || pair->side[1]->triangle >= 0;
        if (!add_points(&all, &pairs, i, reach) && (!mesh || scratch->failed)) {
            return -1; // a triangle that the kernel cannot use is left out
        }
    }
    if (all.count > most) {
        if (!any) {
            choose(&all, most);
        }
        all.count = most;
    }
    for (int i = 0; i < all.count; i++) {
        put(&all.point[i], &pairs.pair[0],
            (dContactGeom *)(void *)((char *)contact + (size_t)i * (size_t)skip));
    }
    return all.count;
}
