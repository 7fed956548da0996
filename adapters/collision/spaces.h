// Spaces of ODE: the geoms in them, and the geoms that a collision call passes to its callback.
#ifndef SPRAG_SPACES_H
#define SPRAG_SPACES_H

#include <stdbool.h>

#include <ode/ode.h>

#include "scratch.h"

// One collision call of the program: dSpaceCollide(a), then b is NULL, or dSpaceCollide2(a, b),
// which also takes two geoms that are no spaces. Spaces inside take part with all that is in them,
// but not among themselves: the program's callback collides those by calls of its own.
typedef struct ode_collision {
    dGeomID a, b;
    dNearCallback *callback;
    void *data;
} ode_collision;

// dSpaceGetGeom for every kind of space. NULL: ODE does not give it.
dGeomID sprag_ode_geom_in(dSpaceID space, int index);

// ODE's test of the bits of two geoms.
static inline bool sprag_ode_bits_match(unsigned long category0, unsigned long collide0,
                                        unsigned long category1, unsigned long collide1)
{
    return (category0 & collide1) || (category1 & collide0);
}

// hash_spaces.c: of two geoms that dSpaceCollide(space) offers, the callback gets that of the lower
// place first. index: the geom's in the space. Quadtree and sweep-and-prune spaces have rules of
// their own, which no call of ODE tells: there the place is the index.
long sprag_ode_place_in(dSpaceID space, int index, dGeomID geom);

// Is a geom the other one, or somewhere in it?
bool sprag_ode_is_within(dGeomID id, dGeomID outer);

// The arguments with which a call's callback gets the geoms of a pair: the geoms themselves, or
// spaces that hold them. first: the geom on the call's first side. false: the call does not ask
// about the pair.
bool sprag_ode_callback_pair(const ode_collision *call, dGeomID first, dGeomID second,
                             dGeomID given[2]);

// hash_spaces.c: calls `found` for the pairs of geoms that dSpaceCollide(space) leaves out although
// their boxes overlap. `found` must not change the space. false: no memory.
bool sprag_ode_find_missed(dSpaceID space, dNearCallback *found, void *data,
                           sprag_scratch *scratch);

#endif
