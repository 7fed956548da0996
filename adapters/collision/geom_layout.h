// ODE's private structs of convex geoms and heightfields, which have no public functions that read
// them. Geoms of known content show at start-up whether the layout is as declared here.
#ifndef SPRAG_GEOM_LAYOUT_H
#define SPRAG_GEOM_LAYOUT_H

#include <stdbool.h>

#include <ode/ode.h>

typedef struct dx_convex { // of dxConvex, behind dxGeom
    const dReal *planes, *points;
    const unsigned *polygons;
    unsigned plane_count, point_count;
} dx_convex;

typedef struct dx_heights { // dxHeightfieldData
    dReal width, depth, sample_width, sample_depth, aspect, per_width, per_depth;
    dReal half_width, half_depth, min, max, thickness, scale, offset;
    int width_samples, depth_samples, copied, wrapped, mode;
} dx_heights;

// NULL: ODE has another layout.
const dx_convex *sprag_ode_convex(dGeomID id);
const dx_heights *sprag_ode_heights(dGeomID heightfield);

// A heightfield may be made without a place of its own.
bool sprag_ode_is_placeable(dGeomID id);

#endif
