// Spaces of ODE (spaces.h).
#include "spaces.h"

#include "ode.h"

// Quadtree spaces end the program when they are asked for a geom by its index. The list that all
// spaces have holds their geoms too.
dGeomID sprag_ode_geom_in(dSpaceID space, int index)
{
    if (dSpaceGetClass(space) != dQuadTreeSpaceClass) {
        return dSpaceGetGeom(space, index);
    }
    return sprag_ode_listed_geom(space, index);
}

// The geom of a space that is, or holds, this one. NULL: this one is not in the space.
static dGeomID child_of(dGeomID space, dGeomID id)
{
    while (id && (dGeomID)dGeomGetSpace(id) != space) {
        id = (dGeomID)dGeomGetSpace(id);
    }
    return id;
}

bool sprag_ode_is_within(dGeomID id, dGeomID outer)
{
    return id == outer || child_of(outer, id);
}

// dSpaceCollide2 goes into the space of the higher sublevel, and passes the other one on as a
// whole.
static bool is_opened(dGeomID id, dGeomID other)
{
    return dGeomIsSpace(id) && (!dGeomIsSpace(other) || dSpaceGetSublevel((dSpaceID)id) >=
                                                            dSpaceGetSublevel((dSpaceID)other));
}

bool sprag_ode_callback_pair(const ode_collision *call, dGeomID first, dGeomID second,
                             dGeomID given[2])
{
    const dGeomID of[2] = {first, second}, asked[2] = {call->a, call->b ? call->b : call->a};
    for (int i = 0; i < 2; i++) {
        if (!sprag_ode_is_within(of[i], asked[i])) {
            return false;
        }
        given[i] = is_opened(asked[i], asked[!i]) ? child_of(asked[i], of[i]) : asked[i];
        if (!given[i]) {
            return false;
        }
    }
    return given[0] != given[1];
}
