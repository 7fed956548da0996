// dCollide of two meshes, of which one may be a heightfield. Triangles that lie on each other meet
// as faces do. Of others, each is a shape for the other mesh (collide_mesh.c).
#include <math.h>
#include <string.h>

#include "box.h"
#include "contact_points.h"
#include "motion.h"

// Cosine between the normals of two triangles that lie on each other. Greater: bodies that are a
// little askew have points at their lowest edge only, and rock; smaller: faces have the normals of
// what pokes into them.
static const double FACES_LOOK = 0.999;

// Relative to the smaller mesh: a face that is so deep beneath a sheet still lies on it. Greater:
// more pairs of triangles to look at; smaller: bodies that fall fast on a sheet touch it with their
// sides.
static const double FACE_DEPTH = 0.02;

typedef struct two_meshes {
    ode_mesh_collision c;
    ode_geom geom[2];   // side 0: a piece of its mesh
    ode_triangle moved; // the piece in the axes of side 1
    double (*box)[6];   // m, of the triangles of side 1, in its axes
} two_meshes;

// Are all corners of a triangle farther (m) than this from the plane of another, on one side of it?
static bool is_on_one_side(const ode_triangle *of, const ode_triangle *other, double far)
{
    const double most = far * norm3(of->normal);
    double lo = INFINITY, hi = -INFINITY;
    for (int k = 0; k < 3; k++) {
        double from[3];
        subtract3(other->corner[k], of->corner[0], from);
        const double height = dot3(of->normal, from);
        lo = height < lo ? height : lo;
        hi = height > hi ? height : hi;
    }
    return lo > most || hi < -most;
}

// Do two triangles look at each other as faces do?
static bool are_faces(const ode_triangle *a, const ode_triangle *b)
{
    const double along = dot3(a->normal, b->normal);
    return along < 0 && along * along > FACES_LOOK * FACES_LOOK * dot3(a->normal, a->normal) *
                                            dot3(b->normal, b->normal);
}

// Adds the corners of what the piece and a triangle of the mesh share, if the middle of that leaves
// the mesh through the triangle: else the mesh is overlapped from another side.
static void collide_faces(two_meshes *m, const ode_triangle *triangle)
{
    const sprag_pose *pose = &m->geom[1].pose;
    const double length = norm3(triangle->normal);
    double point[ODE_CUT_MOST][3], height[ODE_CUT_MOST], middle[3] = {0}, deep = 0, normal[3];
    int count = 3;
    memcpy(point, m->moved.corner, sizeof m->moved.corner);
    for (int edge = 0; edge < 3 && count > 0; edge++) {
        double along[3], inwards[3];
        subtract3(triangle->corner[(edge + 1) % 3], triangle->corner[edge], along);
        cross3(triangle->normal, along, inwards);
        count = sprag_ode_cut(point, count, triangle->corner[edge], inwards);
    }
    for (int i = 0; i < count; i++) {
        double from[3];
        subtract3(point[i], triangle->corner[0], from);
        height[i] = dot3(triangle->normal, from) / length;
        deep -= height[i] / count;
        add_scaled(middle, 1.0 / count, point[i], 3);
    }
    const bool meet = !(deep > ODE_SAME_POINT && sprag_ode_leaves_elsewhere(&m->c, middle, deep));
    mul33(pose->rotation, triangle->normal, normal);
    for (int i = 0; i < count && meet; i++) {
        sprag_gap gap = {.distance = height[i]};
        sprag_pose_world(pose, point[i], gap.point[0]);
        for (int k = 0; k < 3; k++) {
            gap.normal[k] = normal[k] / length;
            gap.point[1][k] = gap.point[0][k] - height[i] * gap.normal[k];
        }
        sprag_ode_add_mesh_points(&m->c, triangle->number, &gap, &(sprag_manifold){0});
    }
}

// Adds the points of the piece and the mesh of side 1.
static void collide_piece(two_meshes *m, int most, bool any)
{
    const ode_near *near = &m->c.near[1];
    const double far = 2 * m->c.all->reach;
    double box[6];
    sprag_triangle_box((const double(*)[3])m->moved.corner, box);
    sprag_box_grow(box, far);
    for (int i = 0; i < near->count && !(any && m->c.all->count >= most); i++) {
        const ode_triangle *triangle = &near->triangle[i];
        if (are_faces(&m->moved, triangle)) {
            collide_faces(m, triangle);
        } else if (sprag_boxes_overlap(box, m->box[i]) &&
                   !is_on_one_side(&m->moved, triangle, far) &&
                   !is_on_one_side(triangle, &m->moved, far)) {
            sprag_ode_collide_triangle(&m->c, triangle);
        }
    }
}

// Lists the triangles of both meshes in the box that their boxes share. false: no memory, or too
// many.
static bool find_both(two_meshes *m)
{
    const double reach = FACE_DEPTH * sprag_ode_size_of_smaller(m->geom[0].geom, m->geom[1].geom);
    sprag_scratch *scratch = m->c.all->scratch;
    ode_geom shared = {.kind = ODE_GEOM_SHAPE,
                       .shape = {.kind = SPRAG_BOX},
                       .pose.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    bool apart = false;
    sprag_ode_set_bounds(&m->geom[0]);
    sprag_ode_set_bounds(&m->geom[1]);
    for (int k = 0; k < 3; k++) {
        const double lo = fmax(m->geom[0].bounds[k], m->geom[1].bounds[k]);
        const double hi = fmin(m->geom[0].bounds[k + 3], m->geom[1].bounds[k + 3]);
        shared.pose.position[k] = (lo + hi) / 2;
        shared.shape.half[k] = fmax(0, (hi - lo) / 2);
        apart |= !(hi + reach >= lo);
    }
    for (int side = 0; side < 2 && !apart; side++) {
        if (!sprag_ode_triangles_near(&m->geom[side], &shared, reach, ODE_NEAR_FLAT, scratch,
                                      &m->c.near[side])) {
            return false;
        }
    }
    const ode_near *near = &m->c.near[1];
    m->box = SPRAG_TAKE_RAW(scratch, near->count, double[6]);
    for (int i = 0; i < near->count && m->box; i++) {
        sprag_triangle_box((const double(*)[3])near->triangle[i].corner, m->box[i]);
    }
    return !scratch->failed;
}

// Makes a triangle of mesh 0 the shape that meets mesh 1.
static void take_piece(two_meshes *m, const ode_triangle *piece, const sprag_polytope *polytope)
{
    const sprag_pose *pose = &m->geom[0].pose;
    double world[3];
    m->c.piece = piece;
    m->geom[0].shape = (sprag_shape){.kind = SPRAG_POLYTOPE, .polytope = polytope};
    for (int k = 0; k < 3; k++) {
        sprag_pose_world(pose, piece->corner[k], world);
        sprag_pose_local(&m->geom[1].pose, world, m->moved.corner[k]);
    }
    mul33(pose->rotation, piece->normal, world);
    mul33_transposed(m->geom[1].pose.rotation, world, m->moved.normal);
}

bool sprag_ode_collide_meshes(ode_points *all, const ode_geom geom[2], int most, bool any)
{
    two_meshes m = {.c = {.all = all, .side = 1}, .geom = {geom[0], geom[1]}};
    m.c.geom = m.geom;
    const bool stored = find_both(&m);
    const ode_near *pieces = &m.c.near[0];
    if ((double)pieces->count * m.c.near[1].count > ODE_MOST_TRIANGLES) {
        return false;
    }
    m.geom[0].kind = ODE_GEOM_SHAPE;
    for (int i = 0; i < pieces->count && stored && !(any && all->count >= most); i++) {
        double normal[2][3];
        const sprag_polytope polytope = sprag_triangle_make(pieces->triangle[i].corner, normal);
        take_piece(&m, &pieces->triangle[i], &polytope);
        collide_piece(&m, most, any);
    }
    // Edges within a face make points within it, which come and go as the bodies turn by rounding.
    sprag_ode_keep_outlines(all);
    // ODE answers where meshes overlap and no point counts: its depths may be wrong, but they part.
    // A depth of both meshes that holds however deep they overlap would make that unnecessary.
    return stored && !(all->count == 0 && all->left_out);
}
