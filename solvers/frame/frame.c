// The check of a frame; pairs of triangles.
#include "frame.h"

#include <math.h>

#include "linalg.h"

static bool is_pair_good(const sprag_frame *frame, const sprag_pair *pair)
{
    for (int side = 0; side < 2; side++) {
        int c = pair->collider[side], least = side == 0 ? 0 : SPRAG_STATIC;
        if (c < 0 || c >= frame->colliders || frame->collider[c].body < least ||
            frame->collider[c].body >= frame->bodies) {
            return false;
        }
    }
    return true;
}

bool sprag_frame_is_good(const sprag_frame *frame)
{
    double sum = 0; // 0, or not a number
    for (int i = 0; i < frame->bodies; i++) {
        const sprag_mover *b = &frame->body[i];
        for (int k = 0; k < 9; k++) {
            sum += 0 * b->inertia[k] + 0 * b->pose.rotation[k] + 0 * b->pose.position[k % 3] +
                   0 * b->velocity[k % 6] + 0 * b->force[k % 6];
        }
        if (!(b->mass >= 0) || !isfinite(b->mass)) {
            return false;
        }
    }
    for (int i = 0; i < frame->pairs; i++) {
        if (!is_pair_good(frame, &frame->pair[i])) {
            return false;
        }
    }
    return sum == 0 && frame->step > 0 && isfinite(frame->step);
}

static const sprag_collider *collider_of(const sprag_frame *frame, int pair, int side)
{
    return &frame->collider[frame->pair[pair].collider[side]];
}

double sprag_collider_radius(const sprag_collider *collider)
{
    double bounds[6], corner[3];
    sprag_shape_bounds(&collider->shape, &collider->mount, bounds);
    for (int k = 0; k < 3; k++) {
        corner[k] = fmax(fabs(bounds[k]), fabs(bounds[k + 3]));
    }
    return norm3(corner);
}

bool sprag_collider_is_triangle(const sprag_collider *c)
{
    return c->mesh && c->shape.kind == SPRAG_POLYTOPE && c->shape.polytope->vertices == 3;
}

void sprag_triangle_corners(const sprag_collider *triangle, const sprag_pose *pose,
                            double corner[3][3])
{
    for (int i = 0; i < 3; i++) {
        mul33(pose->rotation, triangle->shape.polytope->vertex[i], corner[i]);
        add_scaled(corner[i], 1, pose->position, 3);
    }
}

int sprag_pair_triangle(const sprag_frame *frame, int pair)
{
    bool mesh[2] = {sprag_collider_is_triangle(collider_of(frame, pair, 0)),
                    sprag_collider_is_triangle(collider_of(frame, pair, 1))};
    return mesh[0] == mesh[1] ? -1 : mesh[1];
}

bool sprag_pairs_of_mesh(const sprag_frame *frame, int a, int b)
{
    int side[2] = {sprag_pair_triangle(frame, a), sprag_pair_triangle(frame, b)};
    if (side[0] < 0 || side[1] < 0) {
        return false;
    }
    const sprag_collider *first = collider_of(frame, a, side[0]),
                         *second = collider_of(frame, b, side[1]);
    return first->mesh == second->mesh && first->body == second->body &&
           collider_of(frame, a, !side[0])->body == collider_of(frame, b, !side[1])->body;
}
