// One geom of any class -> a shape, or a mesh of triangles, with its pose and bounds. Public
// functions of ODE describe spheres, boxes, capsules, cylinders, planes and triangle meshes. Convex
// geoms and heightfields are read from ODE's own structs (geom_layout.h); if their layout is
// another, such geoms are of an unknown shape.
#include "geometry_cache.h"

#include <math.h>

#include "geom_layout.h"
#include "linalg.h"
#include "motion.h"
#include "ode.h"

void sprag_ode_set_plane(const double normal[3], double rotation[9])
{
    double x[3], y[3];
    sprag_any_across(normal, x);
    cross3(normal, x, y);
    for (int k = 0; k < 3; k++) {
        rotation[3 * k] = x[k];
        rotation[3 * k + 1] = y[k];
        rotation[3 * k + 2] = normal[k];
    }
}

// Sets the shape of a geom by its radius, length or sides. false: it has none of these.
static bool measure(dGeomID id, sprag_shape *s)
{
    dVector3 sides;
    dReal length;
    switch (dGeomGetClass(id)) {
    case dSphereClass:
        *s = (sprag_shape){.kind = SPRAG_SPHERE, .radius = dGeomSphereGetRadius(id)};
        return true;
    case dBoxClass:
        dGeomBoxGetLengths(id, sides);
        *s = (sprag_shape){.kind = SPRAG_BOX, .half = {sides[0] / 2, sides[1] / 2, sides[2] / 2}};
        return true;
    case dCapsuleClass:
        s->kind = SPRAG_CAPSULE;
        dGeomCapsuleGetParams(id, &s->radius, &length);
        s->half[2] = length / 2;
        return true;
    case dCylinderClass:
        s->kind = SPRAG_CYLINDER;
        dGeomCylinderGetParams(id, &s->radius, &length);
        s->half[2] = length / 2;
        return true;
    default:
        return false;
    }
}

static bool has_size(const sprag_shape *s)
{
    const bool across = s->kind == SPRAG_BOX ? s->half[0] > 0 && s->half[1] > 0 : s->radius > 0;
    const bool along = s->kind == SPRAG_BOX || s->kind == SPRAG_CYLINDER; // else it may be a ball
    return across && (!along || s->half[2] > 0);
}

bool sprag_ode_has_size(dGeomID id)
{
    sprag_shape s;
    return !measure(id, &s) || has_size(&s);
}

// Sets the shape and the kind. false: no memory.
static bool set_shape(ode_geometry *g, dGeomID id, ode_geom *geom)
{
    sprag_shape *s = &geom->shape;
    dVector4 plane;
    if (measure(id, s)) {
        geom->kind = has_size(s) ? ODE_GEOM_SHAPE : ODE_GEOM_NONE;
        return true;
    }
    switch (dGeomGetClass(id)) {
    case dPlaneClass:
        *s = (sprag_shape){.kind = SPRAG_PLANE};
        dGeomPlaneGetParams(id, plane);
        sprag_ode_set_plane(plane, geom->pose.rotation);
        scale3(plane[3], plane, geom->pose.position);
        geom->kind = ODE_GEOM_SHAPE;
        return true;
    case dConvexClass:
        *s = (sprag_shape){.kind = SPRAG_POLYTOPE};
        if (!sprag_ode_convex(id) || sprag_ode_convex(id)->point_count == 0) {
            geom->kind = ODE_GEOM_UNKNOWN;
            return true;
        }
        s->polytope = sprag_ode_polytope_of(g, id);
        geom->kind = s->polytope ? ODE_GEOM_SHAPE : ODE_GEOM_NONE;
        return s->polytope;
    case dTriMeshClass:
        geom->mesh = sprag_ode_mesh_of(g, id);
        geom->kind = geom->mesh ? ODE_GEOM_MESH : ODE_GEOM_NONE;
        return geom->mesh;
    case dHeightfieldClass:
        geom->kind = sprag_ode_heights(id) ? ODE_GEOM_MESH : ODE_GEOM_UNKNOWN;
        return true;
    case dRayClass:
        geom->kind = ODE_GEOM_NONE;
        return true;
    default:
        geom->kind = ODE_GEOM_UNKNOWN;
        return true;
    }
}

// The box around a box that is turned, by R (along: 3) or by its inverse (1), and then moved by
// `at`.
static void turn_box(const double R[9], int along, const double box[6], const double at[3],
                     double out[6])
{
    for (int k = 0; k < 3; k++) {
        double lo = at[k], hi = lo;
        for (int j = 0; j < 3; j++) {
            const double r = R[along * k + (4 - along) * j];
            if (r != 0) { // bounds may be infinite
                lo += fmin(r * box[j], r * box[j + 3]);
                hi += fmax(r * box[j], r * box[j + 3]);
            }
        }
        out[k] = lo;
        out[k + 3] = hi;
    }
}

void sprag_ode_set_bounds(ode_geom *geom)
{
    if (geom->kind == ODE_GEOM_SHAPE) {
        sprag_shape_bounds(&geom->shape, &geom->pose, geom->bounds);
        return;
    }
    double local[6]; // of a mesh
    if (dGeomGetClass(geom->geom) == dHeightfieldClass) {
        sprag_ode_field_bounds(geom->geom, local);
    } else {
        sprag_ode_mesh_bounds(geom->mesh, local);
    }
    turn_box(geom->pose.rotation, 3, local, geom->pose.position, geom->bounds);
}

// ODE has deprecated geom transforms, but programs still use them.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static dGeomID inside_transform(dGeomID id, bool *names_itself)
{
    *names_itself = dGeomTransformGetInfo(id);
    return dGeomTransformGetGeom(id);
}

#pragma GCC diagnostic pop

bool sprag_ode_geom_of(ode_geometry *g, dGeomID id, ode_geom *geom)
{
    static const sprag_pose still = {{0, 0, 0}, {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    *geom = (ode_geom){
        .id = id, .geom = id, .named = id, .body = dGeomGetBody(id), .triangle = -1, .pose = still};
    if (!dGeomIsEnabled(id)) {
        return true;
    }
    sprag_pose outer = still, own;
    while (dGeomGetClass(geom->geom) == dGeomTransformClass) {
        const sprag_pose around = outer;
        sprag_ode_set_pose(&own, dGeomGetPosition(geom->geom), dGeomGetRotation(geom->geom));
        sprag_pose_on(&around, &own, &outer);
        bool names_itself;
        geom->geom = inside_transform(geom->geom, &names_itself);
        if (!geom->geom) {
            return true;
        }
        geom->named = names_itself ? geom->named : geom->geom;
    }
    int class = dGeomGetClass(geom->geom);
    bool placed =
        class != dPlaneClass && (class != dHeightfieldClass || sprag_ode_is_placeable(geom->geom));
    if (placed) {
        sprag_ode_set_pose(&own, dGeomGetPosition(geom->geom), dGeomGetRotation(geom->geom));
        geom->pose = own;
        if (geom->geom != id) {
            sprag_pose_on(&outer, &own, &geom->pose);
        }
    }
    return set_shape(g, geom->geom, geom);
}

void sprag_ode_pose_before(const ode_geom *of, double time, sprag_pose *before)
{
    sprag_motion motion;
    sprag_carried carried = {.mount = of->pose};
    if (of->body && dBodyIsEnabled(of->body)) {
        sprag_ode_read_pose(of->body, &motion.pose);
        sprag_ode_read_velocity(of->body, motion.velocity);
        sprag_pose_in(&motion.pose, &of->pose, &carried.mount);
        carried.motion = &motion;
    }
    sprag_carried_at(&carried, -time, before);
}

bool sprag_ode_triangles_in(const ode_geom *geom, const double local[6], double most, double flat,
                            ode_box_fn *skips, ode_triangle_fn *found, void *data)
{
    if (dGeomGetClass(geom->geom) == dHeightfieldClass) {
        return sprag_ode_field_triangles(geom->geom, local, most, flat, skips, found, data);
    }
    sprag_ode_mesh_triangles(geom->mesh, local, geom->turned, skips, found, data);
    return true;
}

bool sprag_ode_triangles(const ode_geom *geom, const double bounds[6], double most,
                         ode_triangle_fn *found, void *data)
{
    static const double none[3] = {0};
    double from[6], local[6];
    for (int k = 0; k < 6; k++) {
        from[k] = bounds[k] - geom->pose.position[k % 3];
    }
    turn_box(geom->pose.rotation, 1, from, none, local);
    for (int k = 0; k < 3; k++) {
        const double rounding = 1e-12 * fmax(fabs(local[k]), fabs(local[k + 3]));
        local[k] -= rounding;
        local[k + 3] += rounding;
    }
    return sprag_ode_triangles_in(geom, local, most, 0, NULL, found, data);
}
