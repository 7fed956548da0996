// The check of a frame; pairs of triangles.
#include "frame.h"

#include <math.h>
#include <stddef.h>

#include "box.h"
#include "linalg.h"
#include "vectors6.h"

// The numbers of a mover by the caller lie one after another, from `mass` to `force`.
enum { MOVER_NUMBERS = offsetof(sprag_mover, gyroscopic) / sizeof(double) };
_Static_assert(MOVER_NUMBERS % 4 == 2, "pairs of numbers, two at a time, and one");

static bool is_pair_good(const sprag_frame *frame, const sprag_pair *pair)
{
    for (int side = 0; side < 2; side++) {
        int c = pair->collider[side], least = side == 0 ? 0 : SPRAG_STATIC;
        if (c < 0 || c >= frame->colliders || frame->collider[c].body < least ||
            frame->collider[c].body >= frame->bodies) {
            return false;
        }
    }
    return pair->memory;
}

bool sprag_frame_is_good(const sprag_frame *frame)
{
    sprag_two sum = {0, 0}, odd = {0, 0}; // 0, or not a number
    for (int i = 0; i < frame->bodies; i++) {
        const sprag_two *number = (const sprag_two *)&frame->body[i];
        sum += 0 * number[0];
        for (int k = 1; k < MOVER_NUMBERS / 2; k += 2) {
            odd += 0 * number[k];
            sum += 0 * number[k + 1];
        }
        if (!(frame->body[i].mass >= 0)) {
            return false;
        }
    }
    for (int i = 0; i < frame->pairs; i++) {
        if (!is_pair_good(frame, &frame->pair[i])) {
            return false;
        }
    }
    sum += odd;
    return sum[0] + sum[1] == 0 && frame->step > 0 && isfinite(frame->step);
}

double sprag_collider_radius(const sprag_collider *collider)
{
    static const double centre[3] = {0};
    double bounds[6];
    if (collider->shape.kind == SPRAG_SPHERE) {
        return norm3(collider->mount.position) + collider->shape.radius;
    }
    sprag_shape_bounds(&collider->shape, &collider->mount, bounds);
    return sprag_box_farthest(bounds, centre);
}

bool sprag_collider_is_triangle(const sprag_collider *c)
{
    return c->mesh && c->shape.kind == SPRAG_POLYTOPE && c->shape.polytope->vertices == 3;
}

void sprag_triangle_corners(const sprag_collider *triangle, const sprag_pose *pose,
                            double corner[3][3])
{
    for (int i = 0; i < 3; i++) {
        sprag_pose_world(pose, triangle->shape.polytope->vertex[i], corner[i]);
    }
}

int sprag_pair_triangle(const sprag_frame *frame, int pair)
{
    bool mesh[2] = {sprag_collider_is_triangle(sprag_collider_of(frame, pair, 0)),
                    sprag_collider_is_triangle(sprag_collider_of(frame, pair, 1))};
    return mesh[0] == mesh[1] ? -1 : mesh[1];
}

// Are both on one body, and triangles of one mesh or no triangles?
static bool are_alike(const sprag_collider *a, const sprag_collider *b)
{
    const bool triangle = sprag_collider_is_triangle(a);
    return a->body == b->body && triangle == sprag_collider_is_triangle(b) &&
           (!triangle || a->mesh == b->mesh);
}

bool sprag_pairs_of_mesh(const sprag_frame *frame, int a, int b)
{
    const sprag_collider *first[2] = {sprag_collider_of(frame, a, 0),
                                      sprag_collider_of(frame, a, 1)};
    const sprag_collider *second[2] = {sprag_collider_of(frame, b, 0),
                                       sprag_collider_of(frame, b, 1)};
    bool same = false;
    for (int side = 0; side < 2 && !same; side++) {
        same = are_alike(first[0], second[side]) && are_alike(first[1], second[!side]);
    }
    return same && (sprag_collider_is_triangle(first[0]) || sprag_collider_is_triangle(first[1]));
}
