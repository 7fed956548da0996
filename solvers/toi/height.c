// The height of the point that blocks a pair above its plane, at other velocities than those of the
// certificate: where it reaches the level, the event is.
#include "certificate.h"
#include "toi_pair.h"

// The place at t of a point of a body that is given at the start.
static void carried_point(const sprag_carried *carried, const double start[3], double t,
                          double point[3])
{
    memcpy(point, start, 3 * sizeof *point);
    if (carried->motion) {
        const sprag_motion *motion = carried->motion;
        double from[3];
        subtract3(start, motion->pose.position, from);
        sprag_turned(motion->velocity + 3, t, from, point);
        add_scaled(point, 1, motion->pose.position, 3);
        add_scaled(point, t, motion->velocity, 3);
    }
}

static void turned_with(const sprag_carried *carried, double t, double direction[3])
{
    double start[3];
    if (carried->motion) {
        memcpy(start, direction, sizeof start);
        sprag_turned(carried->motion->velocity + 3, t, start, direction);
    }
}

// The normal of the plane at t.
static void normal_at(const sprag_carried pair[2], const sprag_certificate *c, double t,
                      double normal[3])
{
    const sprag_kept_plane *plane = &c->plane;
    double e[2][3], across[3];
    memcpy(normal, c->normal, sizeof c->normal);
    if (plane->kind == SPRAG_CARRIED_PLANE) {
        turned_with(&pair[plane->carrier], t, normal);
    }
    for (int b = 0; b < 2 && plane->kind == SPRAG_EDGES_PLANE; b++) {
        sprag_side side;
        double local[2][3] = {{0}, {0, 0, 1}};
        sprag_side_make(&pair[b], NULL, 0, &side);
        for (int i = 0; i < 2 && plane->end[b][0] != SPRAG_NO_VERTEX; i++) {
            sprag_side_vertex(&side, plane->end[b][i], local[i]);
        }
        subtract3(local[1], local[0], across);
        mul33(side.start_rotation, across, e[b]);
        turned_with(&pair[b], t, e[b]);
    }
    if (plane->kind == SPRAG_EDGES_PLANE && sprag_across(e[0], e[1], across)) {
        for (int k = 0; k < 3; k++) {
            normal[k] = plane->sign * across[k];
        }
    }
}

double sprag_certificate_height(const sprag_carried pair[2], const sprag_certificate *c, double t)
{
    double normal[3], point[2][3], radii = 0;
    normal_at(pair, c, t, normal);
    for (int b = 0; b < 2; b++) { // a round side is followed by its core
        const sprag_shape *shape = pair[b].shape;
        bool round = shape->kind == SPRAG_SPHERE || shape->kind == SPRAG_CAPSULE;
        double start[3], radius = round ? shape->radius : 0, sign = b ? -1 : 1;
        memcpy(start, c->point, sizeof start);
        add_scaled(start, sign * (radius + (b == c->side ? 0 : c->height)), c->normal, 3);
        carried_point(&pair[b], start, t, point[b]);
        radii += radius;
    }
    subtract3(point[0], point[1], point[0]);
    return dot3(normal, point[0]) - radii;
}
