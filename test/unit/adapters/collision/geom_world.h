// A world with one space, whose geoms the tests of adapters/collision read and search.
#ifndef TEST_GEOM_WORLD_H
#define TEST_GEOM_WORLD_H

#include <check.h>

#include "geometry_cache.h"

static dWorldID world;
static dSpaceID space;
static ode_geometry *geometry;
static sprag_scratch scratch;
static ode_pairs pairs;

static inline void open_world(void)
{
    dInitODE2(0);
    world = dWorldCreate();
    space = dHashSpaceCreate(NULL);
    geometry = sprag_ode_geometry_make();
    ck_assert_ptr_nonnull(geometry);
}

static inline void close_world(void)
{
    sprag_ode_geometry_free(geometry);
    sprag_scratch_free(&scratch);
    dSpaceDestroy(space);
    dWorldDestroy(world);
    dCloseODE();
}

static inline dGeomID on_body(dGeomID geom, double x, double y, double z)
{
    dGeomSetBody(geom, dBodyCreate(world));
    dGeomSetPosition(geom, x, y, z);
    return geom;
}

#endif
