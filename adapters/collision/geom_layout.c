// Reads ODE's private structs of geoms (geom_layout.h).
#include "geom_layout.h"

#include <string.h>

#include "ode.h"
#include "trial_memory.h"

// Places in dxGeom of ODE 0.16 in double precision, in bytes, and a bit of its flags.
enum { GEOM_FLAGS = 12, GEOM_END = 160, PLACEABLE = 8 };

static bool convex_known, heights_known;

static const dx_convex *convex_at(dGeomID id)
{
    return (const dx_convex *)(const void *)((const char *)id + GEOM_END);
}

static const dx_heights *heights_at(dHeightfieldDataID id)
{
    return (const dx_heights *)(const void *)id;
}

bool sprag_ode_is_placeable(dGeomID id)
{
    int flags;
    memcpy(&flags, (const char *)id + GEOM_FLAGS, sizeof flags);
    return flags & PLACEABLE;
}

static bool check_flags(void)
{
    dGeomID plane = dCreatePlane(NULL, 0, 0, 1, 0), sphere = dCreateSphere(NULL, 1);
    bool known = sprag_ode_is_placeable(sphere) && !sprag_ode_is_placeable(plane);
    sprag_ode_geom_destroy(sphere);
    sprag_ode_geom_destroy(plane);
    return known;
}

// Without planes at first: for the edges of polygons ODE takes C++'s memory, which a trial does not
// have, and throws.
static bool check_convex(void)
{
    static const dReal planes[] = {0, 0, 1, 0}, points[] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
    static const unsigned polygons[] = {3, 0, 1, 2};
    dGeomID convex = dCreateConvex(NULL, planes, 0, points, 3, polygons);
    dGeomSetConvex(convex, planes, 1, points, 3, polygons);
    const dx_convex made = {planes, points, polygons, 1, 3};
    bool known = !memcmp(convex_at(convex), &made, sizeof made);
    sprag_ode_geom_destroy(convex);
    return known;
}

// In room of ours, where ODE would take C++'s memory: zeros are what its constructor writes, and
// what builds the data takes none.
static bool check_heights(void)
{
    static const double heights[] = {1, 2, 3, 4, 5, 6};
    static union {
        dx_heights of;
        char room[4096];
    } made;
    dHeightfieldDataID data = (dHeightfieldDataID)(void *)&made;
    dGeomHeightfieldDataBuildDouble(data, heights, 0, 4, 10, 3, 2, 2, 0.5, 0.25, 1);
    dx_heights of = made.of; // with what is not read
    of.width = 4, of.depth = 10, of.sample_width = 2, of.sample_depth = 10;
    of.half_width = 2, of.half_depth = 5, of.thickness = 0.25, of.scale = 2, of.offset = 0.5;
    of.width_samples = 3, of.depth_samples = 2, of.wrapped = 1;
    ode_height_fn *height = sprag_ode_height();
    return height && !memcmp(&of, &made.of, sizeof of) && height(data, 1, 0) == 4.5;
}

static void check_layout(void)
{
    sprag_ode_begin_trial();
    bool flags_known = dCheckConfiguration("ODE_double_precision") && check_flags();
    convex_known = flags_known && check_convex();
    heights_known = flags_known && check_heights();
    sprag_ode_end_trial();
}

static void check_once(void)
{
    static ode_once once;
    sprag_ode_once(&once, check_layout);
}

const dx_convex *sprag_ode_convex(dGeomID id)
{
    check_once();
    return convex_known ? convex_at(id) : NULL;
}

const dx_heights *sprag_ode_heights(dGeomID heightfield)
{
    check_once();
    dHeightfieldDataID data = dGeomHeightfieldGetHeightfieldData(heightfield);
    return heights_known && data ? heights_at(data) : NULL;
}
