// The sides of triangles: by which of them a shape that overlaps a triangle leaves it. A mesh is
// solid behind its triangles for what comes from their front, a sheet for what comes from their
// back.
#include <math.h>
#include <string.h>

#include "contact_points.h"
#include "motion.h"
#include "ode.h"
#include "tolerances.h"

sprag_result sprag_ode_gap(const ode_pair *pair, const sprag_gap_query *query, sprag_gap *gap,
                           sprag_manifold *manifold)
{
    const sprag_shape *shape[2] = {&pair->side[0]->shape, &pair->side[1]->shape};
    const sprag_pose *pose[2] = {&pair->side[0]->pose, &pair->side[1]->pose};
    sprag_result result =
        sprag_gap_find(shape, pose, query, pair->memory ? &pair->memory->gap : NULL, gap, manifold);
    for (int side = 0; side < 2 && result != SPRAG_BAD_PROBLEM; side++) {
        if (pair->side[side]->triangle >= 0 && pair->side[!side]->triangle < 0) {
            sprag_gap_by_front(shape, pose, side, false, query->margin, gap, manifold);
        }
    }
    return result;
}

// Cosine: directions so near to a normal are along it.
static const double MOSTLY = 0.5;

// A contact led a shape out of a triangle if the shape reaches behind the contact's place by this
// share of what it reaches behind the triangle: by half of its depth, in the middle of an overlap,
// less what it has left since. Greater: what is thrown up after it has landed falls through;
// smaller: what stands on a floor is thrown up through a ramp above it.
static const double HARDLY = 0.1;

// Takes a place (m) of the last step to where it is now, on the mesh.
static void carry(const ode_mesh_collision *c, const double then[3], double now[3])
{
    sprag_pose before;
    double local[3];
    sprag_ode_pose_before(&c->geom[c->side], c->all->last->length, &before);
    sprag_pose_local(&before, then, local);
    sprag_pose_world(&c->geom[c->side].pose, local, now);
}

// Did a contact of the last step lead a shape this way, behind whose place it reaches by more than
// `least` (m), and not whole?
static bool has_led(const ode_mesh_collision *c, const sprag_shape *const shape[2],
                    const sprag_pose *const pose[2], const double way[3], double least)
{
    static const sprag_shape point = {.kind = SPRAG_SPHERE};
    const ode_last_step *last = c->all->last;
    const sprag_shape *one[2] = {shape[0], shape[1]};
    const sprag_pose *there[2] = {pose[0], pose[1]};
    sprag_pose at = {.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    one[c->side] = &point;
    there[c->side] = &at;
    bool led = false;
    for (int i = 0; i < last->contacts && !led; i++) {
        const double *out = last->normal[i];
        if (dot3(way, out) > MOSTLY) {
            carry(c, last->position[i], at.position);
            led = sprag_gap_along(one, there, out) < -least &&
                  (isinf(least) || sprag_gap_against(one, there, out) < 0);
        }
    }
    return led;
}

// Is most of the width of a shape behind a triangle of the other one? out: by its front.
static bool is_mostly_behind(const sprag_shape *const shape[2], const sprag_pose *const pose[2],
                             const double out[3])
{
    return sprag_gap_along(shape, pose, out) < sprag_gap_against(shape, pose, out);
}

bool sprag_ode_is_behind(const ode_mesh_collision *c, const sprag_shape *const shape[2],
                         const sprag_pose *const pose[2], const sprag_gap *found)
{
    static const sprag_gap_query always = {INFINITY, 0};
    double out[3], back[3];
    if (dGeomGetClass(c->geom[c->side].geom) != dTriMeshClass ||
        !sprag_triangle_way_out(shape, pose, c->side, out) ||
        dot3(out, found->normal) > 1 - SPRAG_TRIANGLE_ALONG ||
        !is_mostly_behind(shape, pose, out) ||
        has_led(c, shape, pose, out, -HARDLY * sprag_gap_along(shape, pose, out))) {
        return false;
    }
    sprag_pose before[2];
    const sprag_pose *const then[2] = {&before[0], &before[1]};
    sprag_gap gap;
    for (int side = 0; side < 2; side++) {
        sprag_ode_pose_before(&c->geom[side], 2 * c->all->last->length, &before[side]);
    }
    const sprag_result result = sprag_gap_find(shape, then, &always, NULL, &gap, NULL);
    if (sprag_ode_is_usable(result, &gap, c->all->reach) && gap.distance > 0) {
        sprag_triangle_way_out(shape, then, c->side, out);
        return is_mostly_behind(shape, then, out);
    }
    scale3(-1, out, back);
    return has_led(c, shape, pose, back, -INFINITY) ||
           gap.distance >= SPRAG_TRIANGLE_LAID * sprag_gap_along(shape, pose, out);
}
