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
    double turn[3], R[9];
    scale3(t, w, turn);
    sprag_exponential(turn, R);
    mul33(R, a, out);
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
        sprag_motion_at(&a->side[b].motion, begin, &a->side[b].now);
    }
    a->begin = begin;
    a->length = length;
}

void sprag_side_vertex(const sprag_side *side, int vertex, double r[3])
{
    const sprag_shape *shape = side->core.shape;
    memcpy(r, side->core.at, sizeof side->core.at);
    if (vertex != SPRAG_NO_VERTEX && shape->kind == SPRAG_POLYTOPE) {
        add_scaled(r, 1, shape->polytope->vertex[vertex], 3);
    } else if (vertex != SPRAG_NO_VERTEX && shape->kind == SPRAG_CAPSULE) {
        r[2] += vertex ? shape->half[2] : -shape->half[2];
    }
    for (int k = 0; k < 3 && shape->kind == SPRAG_BOX; k++) {
        r[k] += vertex >> k & 1 ? shape->half[k] : -shape->half[k];
    }
}

double sprag_core_farthest(const sprag_core *core, const double from[3])
{
    const sprag_shape *shape = core->shape;
    double off[3], at[3], most = 0;
    subtract3(core->at, from, off);
    if (shape->kind == SPRAG_CYLINDER) {
        return norm3(off) + hypot(shape->half[2], shape->radius);
    }
    if (shape->kind == SPRAG_BOX) {
        mul33_transposed(core->rotation, off, at);
        for (int k = 0; k < 3; k++) {
            at[k] = fabs(at[k]) + shape->half[k];
        }
        return norm3(at);
    }
    if (shape->kind == SPRAG_POLYTOPE && shape->polytope->radius > 0) {
        mul33(core->rotation, shape->polytope->centre, at);
        add_scaled(off, 1, at, 3);
        return norm3(off) + shape->polytope->radius;
    }
    for (int i = 0; i < sprag_core_vertices(core); i++) {
        sprag_core_vertex(core, i, at);
        subtract3(at, from, off);
        most = fmax(most, dot3(off, off));
    }
    return sqrt(most);
}

void sprag_side_make(const sprag_carried *carried, const double *near, double horizon,
                     sprag_side *side)
{
    static const double here[3] = {0}, own[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    sprag_carried_at(carried, 0, &side->now);
    side->core = (sprag_core){.shape = carried->shape, .rotation = own};
    side->motion = (sprag_motion){.pose = side->now};
    if (carried->motion) {
        const sprag_motion *of = carried->motion;
        const bool turns = sprag_carried_spin(carried) * horizon >= SPRAG_TOI_STILL;
        memcpy(side->motion.velocity, of->velocity, (turns ? 6 : 3) * sizeof *of->velocity);
        near = turns ? of->pose.position : near;
    }
    memcpy(side->motion.pose.position, near, sizeof side->motion.pose.position);
    sprag_pose_local(&side->motion.pose, side->now.position, side->core.at);
    side->now = side->motion.pose;
    side->margin = sprag_core_margin(&side->core);
    side->reach = sprag_core_farthest(&side->core, here);
}
