// The two shapes of a pair in motion: positions, support points, extents.
#include "certificate.h"
#include "toi_constants.h"
#include "toi_pair.h"

int sprag_insert(double *key, int *count, int most, double value, void *entry, size_t size)
{
    int at = *count;
    while (at > 0 && key[at - 1] < value) {
        at--;
    }
    if (at == most) {
        return most;
    }
    *count += *count < most;
    size_t behind = (size_t)(*count - 1 - at);
    char *from = (char *)entry + (size_t)at * size;
    memmove(key + at + 1, key + at, behind * sizeof *key);
    memmove(from + size, from, behind * size);
    key[at] = value;
    return at;
}

void sprag_turned(const double w[3], double t, const double a[3], double out[3])
{
    double rate = norm3(w), half = rate > 0 ? sin(rate * t / 2) / rate : 0;
    double sine = rate > 0 ? sin(rate * t) / rate : 0, wa[3], wwa[3];
    cross3(w, a, wa);
    cross3(w, wa, wwa);
    for (int k = 0; k < 3; k++) {
        out[k] = a[k] + sine * wa[k] + 2 * half * half * wwa[k];
    }
}

sprag_result sprag_carried_gap(const sprag_carried pair[2], double t, double reach, sprag_gap *gap)
{
    sprag_pose pose[2];
    sprag_carried_at(&pair[0], t, &pose[0]);
    sprag_carried_at(&pair[1], t, &pose[1]);
    const sprag_shape *const shape[2] = {pair[0].shape, pair[1].shape};
    const sprag_pose *const where[2] = {&pose[0], &pose[1]};
    const sprag_gap_query query = {.reach = reach};
    return sprag_gap_find(shape, where, &query, NULL, gap, NULL);
}

void sprag_approach_at(sprag_approach *a, double begin, double length)
{
    for (int b = 0; b < 2 && begin != a->begin; b++) {
        sprag_side *side = &a->side[b];
        sprag_motion motion = {.pose.position = {0}};
        sprag_pose pose;
        memcpy(motion.pose.position, side->start, sizeof side->start);
        memcpy(motion.pose.rotation, side->start_rotation, sizeof side->start_rotation);
        memcpy(motion.velocity, side->velocity, sizeof side->velocity);
        if (begin == 0) {
            pose = motion.pose;
        } else {
            sprag_motion_at(&motion, begin, &pose);
        }
        memcpy(side->x, pose.position, sizeof side->x);
        memcpy(side->rotation, pose.rotation, sizeof side->rotation);
    }
    a->begin = begin;
    a->length = length;
}

static sprag_core core_of(const sprag_side *side)
{
    static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    return (sprag_core){
        side->shape, identity, {side->origin[0], side->origin[1], side->origin[2]}, NULL};
}

void sprag_side_vertex(const sprag_side *side, int vertex, double r[3])
{
    sprag_core core = core_of(side);
    if (vertex == SPRAG_NO_VERTEX) {
        memcpy(r, side->origin, sizeof side->origin);
        return;
    }
    sprag_core_vertex(&core, vertex, r);
}

int sprag_side_support(const sprag_side *side, const double direction[3], double r[3])
{
    sprag_core core = core_of(side);
    if (side->shape->kind == SPRAG_PLANE) {
        memcpy(r, side->origin, 3 * sizeof *r);
        return SPRAG_NO_VERTEX;
    }
    return sprag_core_support(&core, direction, r);
}

static double reach_of(const sprag_side *side)
{
    const sprag_shape *shape = side->shape;
    double own = 0, most = 0;
    switch (shape->kind) {
    case SPRAG_CAPSULE:
        own = shape->half[2];
        break;
    case SPRAG_CYLINDER:
        own = hypot(shape->half[2], shape->radius);
        break;
    case SPRAG_BOX:
        own = norm3(shape->half);
        break;
    case SPRAG_POLYTOPE:
        for (int i = 0; i < shape->polytope->vertices; i++) {
            double r[3] = {side->origin[0], side->origin[1], side->origin[2]};
            add_scaled(r, 1, shape->polytope->vertex[i], 3);
            double square = dot3(r, r);
            most = square > most ? square : most;
        }
        return sqrt(most);
    case SPRAG_SPHERE:
    case SPRAG_PLANE:
    case SPRAG_SHAPE_KINDS:
        break;
    }
    return norm3(side->origin) + own;
}

void sprag_side_make(const sprag_carried *carried, const double *near, double horizon,
                     sprag_side *side)
{
    sprag_pose pose;
    double from[3];
    memset(side->velocity, 0, sizeof side->velocity);
    side->shape = carried->shape;
    if (carried->motion) {
        const double *R = carried->motion->pose.rotation;
        memcpy(side->velocity, carried->motion->velocity, sizeof side->velocity);
        mul33(R, carried->mount.position, pose.position);
        add_scaled(pose.position, 1, carried->motion->pose.position, 3);
        mul33_33(R, carried->mount.rotation, pose.rotation);
    } else {
        pose = carried->mount;
    }
    bool turns = norm3(side->velocity + 3) * horizon >= SPRAG_TOI_STILL;
    if (turns) {
        memcpy(side->start, carried->motion->pose.position, sizeof side->start);
    } else {
        memset(side->velocity + 3, 0, 3 * sizeof *side->velocity);
        memcpy(side->start, near ? near : pose.position, sizeof side->start);
    }
    memcpy(side->start_rotation, pose.rotation, sizeof pose.rotation);
    memcpy(side->x, side->start, sizeof side->x);
    memcpy(side->rotation, pose.rotation, sizeof pose.rotation);
    subtract3(pose.position, side->start, from);
    mul33_transposed(pose.rotation, from, side->origin);
    sprag_core core = {.shape = side->shape};
    side->margin = sprag_core_margin(&core);
    side->reach = reach_of(side);
}
