// dCollide by sprag's own geometry kernel: geoms that are close, though they do not overlap, have
// contacts of depth 0. Where contacts of the last step have opened, their depth is negative.
#include <math.h>

#include "box.h"
#include "contact_points.h"
#include "geometry_cache.h"
#include "motion.h"
#include "ode.h"
#include "speculate.h"

enum { CONTACTS_MASK = 0xffff }; // of the flags of dCollide: the most contacts

// Relative to the smaller geom: points that are no farther apart are one. Greater: contacts of
// small triangles merge; smaller: points on a common edge of two triangles are counted twice.
static const double POINT_TOLERANCE = 1e-7;

// Two shapes, which may be on their ways (ahead). gap, open: what sprag_ode_speculate_shapes() is
// to know. false: stock is to answer.
static bool collide_shapes(ode_points *all, const ode_geom geom[2], const ode_meeting *ahead,
                           sprag_gap *gap, bool *open)
{
    static const int none[2] = {-1, -1};
    const double within = ahead ? ahead->within : 0;
    const sprag_gap_query query = {fmax(all->last->contacts > 0 ? all->gaps : all->reach, within),
                                   fmax(all->gaps, within)};
    const sprag_shape *shape[2] = {&geom[0].shape, &geom[1].shape};
    const sprag_pose *pose[2] = {&geom[0].pose, &geom[1].pose};
    sprag_manifold manifold = {0};
    const sprag_result result = sprag_gap_find(shape, pose, &query, NULL, gap, &manifold);
    const bool apart = result == SPRAG_NOT_CONVERGED && gap->distance > all->gaps;
    if (!apart && !sprag_ode_is_usable(result, gap, all->reach)) {
        return false;
    }
    for (int i = 0; i < manifold.count; i++) {
        *open |= manifold.gap[i] > all->reach;
    }
    if (!gap->beyond) {
        sprag_ode_add_points(all, gap, &manifold, none, ODE_SPOT_BETWEEN);
    }
    return true;
}

double sprag_ode_size_of_smaller(dGeomID a, dGeomID b)
{
    double box[2][6], side[2][2];
    for (int i = 0; i < 2; i++) {
        sprag_ode_read_bounds(i ? b : a, box[i]);
        sprag_box_sides(box[i], side[i]);
    }
    return fmin(side[0][1], side[1][1]);
}

// Is a closed mesh of a body, whose triangles face inwards, a solid that is turned inside out? Not
// for what is within it: it may be a drum.
static bool is_turned(const ode_geom *mesh, const ode_geom *other)
{
    if (!mesh->mesh || !mesh->body || dBodyIsKinematic(mesh->body) || !mesh->mesh->inside_out) {
        return false;
    }
    ode_geom of = *other;
    double box[6], side[2], centre[3], middle[3], diagonal[3];
    bool in = true;
    sprag_ode_set_bounds(&of);
    sprag_ode_mesh_bounds(mesh->mesh, box);
    subtract3(box + 3, box, diagonal);
    for (int k = 0; k < 3; k++) {
        centre[k] = 0.5 * (of.bounds[k] + of.bounds[k + 3]);
    }
    sprag_pose_local(&mesh->pose, centre, middle);
    sprag_box_sides(of.bounds, side);
    for (int k = 0; k < 3; k++) {
        in &= middle[k] > box[k] && middle[k] < box[k + 3];
    }
    return !(in && side[1] < norm3(diagonal));
}

int sprag_ode_collide_within(ode_geometry *geometry, sprag_scratch *scratch, dGeomID a, dGeomID b,
                             const ode_reach *reach, const ode_last_step *last,
                             const ode_ahead *ahead, int flags, dContactGeom *contact, int skip)
{
    ode_geom geom[2];
    ode_meeting meeting;
    sprag_gap gap;
    bool open = false;
    const int room = flags & CONTACTS_MASK, most = room < reach->points ? room : reach->points;
    const bool any = (unsigned)flags & CONTACTS_UNIMPORTANT;
    if (sprag_ode_two_geoms(geometry, a, b, geom) != SPRAG_OK) {
        return -1;
    }
    for (int side = 0; side < 2; side++) {
        geom[side].turned = is_turned(&geom[side], &geom[!side]);
    }
    const bool mesh[2] = {geom[0].kind == ODE_GEOM_MESH, geom[1].kind == ODE_GEOM_MESH};
    const bool shapes = !mesh[0] && !mesh[1];
    ode_points all = {.scratch = scratch,
                      .geom = {geom[0].named, geom[1].named},
                      .last = last,
                      .reach = reach->touching,
                      .gaps = fmax(reach->touching, shapes ? reach->gaps : 0),
                      .together = POINT_TOLERANCE * sprag_ode_size_of_smaller(a, b)};
    if (ahead && shapes) {
        sprag_ode_set_meeting(&meeting, geom, ahead);
    }
    if (!(shapes               ? collide_shapes(&all, geom, ahead ? &meeting : NULL, &gap, &open)
          : mesh[0] && mesh[1] ? sprag_ode_collide_meshes(&all, geom, most, any)
                               : sprag_ode_collide_mesh(&all, geom, mesh[1], most, any)) ||
        scratch->failed) {
        return -1;
    }
    sprag_ode_touching_first(&all, last->contacts < most ? last->contacts : most);
    if (all.count > most) {
        if (!any) {
            sprag_ode_choose_points(&all, most);
        }
        all.count = most;
    }
    for (int i = 0; i < all.count; i++) {
        sprag_ode_put_point(&all, &all.point[i],
                            (dContactGeom *)(void *)((char *)contact + (size_t)i * (size_t)skip));
    }
    if (ahead && shapes) {
        all.count +=
            sprag_ode_speculate_shapes(&meeting, &gap, open, room, contact, skip, all.count);
    } else if (ahead) {
        all.count +=
            sprag_ode_speculate(geometry, scratch, a, b, ahead, room, contact, skip, all.count);
    }
    return all.count;
}
