// The gap of one pair.
#include "geom_pairs.h"

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
