// Flat floors of every kind that ODE has, with their top at z = 0.
#ifndef FLOORS_H
#define FLOORS_H

#include <math.h>
#include <ode/ode.h>

enum { PLANE, BOX, MESH, HEIGHTFIELD, FLOORS };

// Data that outlive the geom of a floor; NULL: none.
typedef struct floor_data {
    dTriMeshDataID mesh;
    dHeightfieldDataID field;
} floor_data;

static inline dReal floor_height(void *data, int x, int z)
{
    (void)data, (void)x, (void)z;
    return 0;
}

// The mesh has a seam.
static inline floor_data add_floor(dSpaceID space, int kind)
{
    static const float vertex[] = {-50, -50, 0, 50, -50, 0, 50, 50, 0, -50, 50, 0};
    static const dTriIndex index[] = {0, 1, 2, 0, 2, 3};
    floor_data data = {0};
    dMatrix3 R;
    switch (kind) {
    case PLANE:
        dCreatePlane(space, 0, 0, 1, 0);
        break;
    case BOX:
        dGeomSetPosition(dCreateBox(space, 100, 100, 2), 0, 0, -1);
        break;
    case MESH:
        data.mesh = dGeomTriMeshDataCreate();
        dGeomTriMeshDataBuildSingle(data.mesh, vertex, 3 * sizeof(float), 4, index, 6,
                                    3 * sizeof(dTriIndex));
        dCreateTriMesh(space, data.mesh, NULL, NULL, NULL);
        break;
    default:
        data.field = dGeomHeightfieldDataCreate();
        dGeomHeightfieldDataBuildCallback(data.field, NULL, floor_height, 20, 20, 11, 11, 1, 0, 1,
                                          0);
        dGeomHeightfieldDataSetBounds(data.field, -1, 1);
        dRFromAxisAndAngle(R, 1, 0, 0, acos(-1) / 2);
        dGeomSetRotation(dCreateHeightfield(space, data.field, 1), R);
        break;
    }
    return data;
}

// After the space is destroyed.
static inline void free_floor(floor_data data)
{
    if (data.mesh) {
        dGeomTriMeshDataDestroy(data.mesh);
    }
    if (data.field) {
        dGeomHeightfieldDataDestroy(data.field);
    }
}

#endif
