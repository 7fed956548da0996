// Rows of spaces, of rays, and of shapes that a program builds, moves, turns and changes, in the
// order of collision_space.h, collision.h, collision_trimesh.h.
#include "support_scene.h"

// ---- spaces

// Two blocks: one is let alone; the other's geom is taken out of its space, put into another that
// lies in it, and back.
static void space_members(support_run *run)
{
    scene *s = scene_open(run, NULL);
    dBodyID still = scene_block_on_plane(s), block = scene_block(s, 1, 0);
    dGeomID geom = dBodyGetFirstGeom(block);
    dSpaceID inner = dSimpleSpaceCreate(s->space);
    scene_run(s, 10);
    support_report(run, dBodyGetPosition(block)[2]);
    dSpaceRemove(s->space, geom);
    support_report(run, dSpaceQuery(s->space, geom));
    scene_run(s, 10);
    support_report(run, dBodyGetLinearVel(block)[2]);
    for (int i = 0; i < 2; i++) {
        dSpaceID space = i ? s->space : inner;
        dSpaceAdd(space, geom);
        support_report(run, dSpaceQuery(space, geom) + dSpaceQuery(i ? inner : s->space, geom));
        dBodySetPosition(block, 1, 0, 0.1 - 1e-8);
        dBodySetLinearVel(block, 0, 0, 0);
        scene_run(s, 10);
        support_report(run, dBodyGetPosition(block)[2]);
        dSpaceRemove(space, geom);
    }
    support_report(run, dBodyGetPosition(still)[2]);
    dGeomDestroy(geom);
    scene_close(s);
}

static void space_members_expected(support_run *run)
{
    const double right[] = {0.1, 0, -G * 10 * H, 1, 0.1, 1, 0.1, 0.1};
    for (int i = 0; i < 8; i++) {
        support_report(run, right[i]);
    }
}

// Lets through whatever it is not given in a space.
static void near_space(void *data, dGeomID a, dGeomID b)
{
    if (dGeomIsSpace(a) != dGeomIsSpace(b)) {
        dSpaceCollide2(a, b, data, scene_near);
    }
}

// A block and the ground in two spaces: of equal level both are opened, else the higher one.
static void sublevels(support_run *run)
{
    for (int i = 0; i < 4; i++) {
        scene *s = scene_open(run, NULL);
        dSpaceID other = dSimpleSpaceCreate(NULL);
        dCreatePlane(other, 0, 0, 1, 0);
        dBodyID block = scene_block(s, 0, 0);
        dSpaceSetSublevel(s->space, i & 1);
        dSpaceSetSublevel(other, i >> 1);
        for (int n = 0; n < 10; n++) {
            scene_empty(s);
            dSpaceCollide2((dGeomID)s->space, (dGeomID)other, s, near_space);
            dWorldStep(s->world, H);
        }
        support_report(run, dBodyGetLinearVel(block)[2]);
        scene_close(s);
        dSpaceDestroy(other);
    }
}

static void sublevels_expected(support_run *run)
{
    for (int i = 0; i < 4; i++) {
        support_report(run, i == 1 || i == 2 ? 0 : -G * 10 * H);
    }
}

// A block's space is destroyed: its geom with it, or not and given to another one.
static void space_cleanup(support_run *run)
{
    for (int mode = 0; mode < 2; mode++) {
        scene *s = scene_open(run, NULL);
        dSpaceID inner = dSimpleSpaceCreate(s->space);
        dBodyID still = scene_block_on_plane(s), block = scene_block(s, 1, 0);
        dGeomID geom = dBodyGetFirstGeom(block);
        dSpaceSetCleanup(inner, mode);
        dSpaceRemove(s->space, geom);
        dSpaceAdd(inner, geom);
        scene_run(s, 10);
        dSpaceDestroy(inner);
        support_report(run, dBodyGetFirstGeom(block) == geom);
        if (!mode) {
            dSpaceAdd(s->space, geom);
        }
        scene_run(s, 10);
        support_report(run, dBodyGetLinearVel(block)[2]);
        support_report(run, dBodyGetPosition(still)[2]);
        scene_close(s);
    }
}

static void space_cleanup_expected(support_run *run)
{
    const double right[] = {1, 0, 0.1, 0, -G * 10 * H, 0.1};
    for (int i = 0; i < 6; i++) {
        support_report(run, right[i]);
    }
}

static dGeomID sheet(scene *s, double z)
{
    static dReal points[2][12];
    static const dTriIndex index[] = {0, 1, 3, 0, 3, 2};
    dReal *at = points[s->meshes];
    for (int i = 0; i < 4; i++) {
        at[3 * i] = i & 1 ? 2 : -2;
        at[3 * i + 1] = i & 2 ? 2 : -2;
        at[3 * i + 2] = z;
    }
    return scene_mesh(s, at, 4, index, 6);
}

// Balls and boxes on a mesh, in a space whose caches the program cleans, and whose geoms it makes
// clean itself.
static void hash_space(support_run *run)
{
    for (int i = 0; i < 2; i++) {
        scene *s = scene_open(run, NULL);
        dSpaceDestroy(s->space);
        s->space = dHashSpaceCreate(NULL);
        dHashSpaceSetLevels(s->space, -2, 1 + 4 * i);
        dSpaceSetManualCleanup(s->space, i);
        sheet(s, 0);
        dBodyID ball = scene_body(s, dCreateSphere(s->space, 0.1), 0.3, -0.2, 0.1 - 1e-8);
        dBodyID block = scene_block(s, -0.4, 0.7);
        for (int n = 0; n < 50; n++) {
            dSpaceClean(s->space);
            scene_step(s);
        }
        support_report(run, dBodyGetPosition(ball)[2]);
        support_report(run, dBodyGetPosition(block)[2]);
        scene_close(s);
    }
}

static void hash_space_expected(support_run *run)
{
    support_report_pairs(run, 2, 0.1, 0.1);
}

// ---- rays

// A car on rays, that the program turns into contacts of springs: h F CFM / ERP deep.
static void near_wheel(void *data, dGeomID a, dGeomID b)
{
    scene *s = data;
    dContactGeom geom[4];
    if (dGeomGetClass(b) == dRayClass) {
        dGeomID ray = b;
        b = a;
        a = ray;
    }
    if (dGeomGetClass(a) != dRayClass || dGeomGetClass(b) == dRayClass ||
        dGeomGetBody(b) == s->data) {
        return;
    }
    int count = dCollide(a, b, 4, geom, sizeof *geom);
    for (int i = 0; i < count; i++) {
        geom[i].depth = dGeomRayGetLength(a) - geom[i].depth;
        for (int k = 0; k < 3; k++) {
            geom[i].normal[k] = k == 2;
        }
        scene_join(s, &geom[i], s->data, NULL);
    }
}

static const double CAR = 0.5; // m, above what its rays meet, unloaded

static dBodyID car_on(scene *s, dGeomID ray[4])
{
    dBodyID car = scene_free_body(s, dCreateBox(s->space, 1, 0.5, 0.1), 0, 0, CAR);
    s->contact.surface.mode |= dContactSoftERP | dContactSoftCFM;
    s->contact.surface.soft_erp = 0.2;
    s->contact.surface.soft_cfm = 0.01;
    s->contact.surface.mu = 1;
    s->data = car;
    for (int i = 0; i < 4; i++) {
        ray[i] = dCreateRay(s->space, CAR);
    }
    return car;
}

static void down(dGeomID ray, dBodyID car, int i)
{
    dMatrix3 R;
    dRFromAxisAndAngle(R, 1, 0, 0, acos(-1));
    dGeomSetBody(ray, car);
    dGeomSetOffsetPosition(ray, i & 1 ? 0.4 : -0.4, i & 2 ? 0.2 : -0.2, 0);
    dGeomSetOffsetRotation(ray, R);
}

static void drive(scene *s, int steps)
{
    for (int n = 0; n < steps; n++) {
        scene_empty(s);
        dSpaceCollide(s->space, s, near_wheel);
        dWorldStep(s->world, s->step);
    }
}

static double sag(void)
{
    return H * MASS * G / 4 * 0.01 / 0.2;
}

static void wheel_rays(support_run *run)
{
    scene *s = scene_open(run, NULL);
    dGeomID ray[4];
    dCreatePlane(s->space, 0, 0, 1, 0);
    dBodyID car = car_on(s, ray);
    for (int i = 0; i < 4; i++) {
        down(ray[i], car, i);
    }
    drive(s, 300);
    support_report(run, dBodyGetPosition(car)[2]);
    support_report_vector(run, dBodyGetLinearVel(car));
    scene_close(s);
}

static void wheel_rays_expected(support_run *run)
{
    dVector3 rest = {0};
    support_report(run, CAR - sag());
    support_report_vector(run, rest);
}

// Not of the car: the program puts them under it, and makes them longer.
static void moved_rays(support_run *run)
{
    scene *s = scene_open(run, NULL);
    dGeomID ray[4];
    sheet(s, 0);
    dBodyID car = car_on(s, ray);
    for (int n = 0; n < 300; n++) {
        for (int i = 0; i < 4; i++) {
            dVector3 from;
            dBodyGetRelPointPos(car, i & 1 ? 0.4 : -0.4, i & 2 ? 0.2 : -0.2, 0, from);
            dGeomRaySet(ray[i], from[0], from[1], from[2], 0, 0, -2);
            dGeomRaySetLength(ray[i], CAR + 0.1);
        }
        drive(s, 1);
    }
    support_report(run, dBodyGetPosition(car)[2]);
    scene_close(s);
}

static void moved_rays_expected(support_run *run)
{
    support_report(run, CAR + 0.1 - sag());
}

// ---- rays on a mesh: two floors, 1 mm one above the other

static const double STOREY = 0.001;

static int refuse_upper(dGeomID mesh, dGeomID ray, int triangle, dReal u, dReal v)
{
    (void)ray;
    return u >= 0 && v >= 0 && u + v <= 1 && mesh && triangle < 2;
}

// The upper one, which faces down if asked for, is the second.
static dGeomID floors(scene *s, bool faces_down)
{
    static const dReal points[] = {-2, -2, 0,     2, -2, 0,     -2, 2, 0,     2, 2, 0,
                                   -2, -2, 0.001, 2, -2, 0.001, -2, 2, 0.001, 2, 2, 0.001};
    static const dTriIndex up[] = {0, 1, 3, 0, 3, 2, 4, 5, 7, 4, 7, 6},
                           turned[] = {0, 1, 3, 0, 3, 2, 4, 7, 5, 4, 6, 7};
    return scene_mesh(s, points, 8, faces_down ? turned : up, 12);
}

enum { BOTH, CLOSEST, FIRST, CULLED, CULLED_OLD, REFUSED_BY_CALL, RAY_CASES };

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static void set_ray(dGeomID ray, int which)
{
    dGeomRaySetClosestHit(ray, which == CLOSEST);
    dGeomRaySetFirstContact(ray, which == FIRST);
    dGeomRaySetBackfaceCull(ray, which == CULLED);
    if (which == CULLED_OLD) {
        dGeomRaySetParams(ray, 0, 1);
    }
}

#pragma GCC diagnostic pop

static void ray_flags(support_run *run)
{
    for (int which = 0; which < RAY_CASES; which++) {
        scene *s = scene_open(run, NULL);
        dGeomID ray[4], mesh = floors(s, which == CULLED || which == CULLED_OLD);
        dBodyID car = car_on(s, ray);
        if (which == REFUSED_BY_CALL) {
            dGeomTriMeshSetRayCallback(mesh, refuse_upper);
        }
        for (int i = 0; i < 4; i++) {
            down(ray[i], car, i);
            set_ray(ray[i], which);
        }
        drive(s, 300);
        double z = dBodyGetPosition(car)[2] - CAR + sag();
        support_report(run, which == FIRST ? z * (z - STOREY) / STOREY : z); // of either floor
        support_report(run, s->joints);
        scene_close(s);
    }
}

static void ray_flags_expected(support_run *run)
{
    const double right[RAY_CASES] = {(sag() + STOREY) / 2, STOREY};
    for (int which = 0; which < RAY_CASES; which++) {
        support_report(run, right[which]);
        support_report(run, which == BOTH ? 8 : 4);
    }
}

// ---- shapes that move and change

// A block set down on its side by its geom, which lies 0.05 m beside its body; and up again.
static void posed_geoms(support_run *run)
{
    scene *s = scene_open(run, NULL);
    dBodyID block = scene_block_on_plane(s);
    dGeomID geom = dBodyGetFirstGeom(block);
    dMatrix3 upright;
    dQuaternion q;
    dGeomSetOffsetPosition(geom, 0.05, 0, 0);
    scene_run(s, 10);
    dQFromAxisAndAngle(q, 0, 1, 0, acos(0)); // its x axis down
    dGeomSetQuaternion(geom, q);
    dGeomSetPosition(geom, 1, 0, 0.2 - 1e-8);
    scene_run(s, 10);
    support_report_vector(run, dBodyGetPosition(block));
    dRSetIdentity(upright);
    dGeomSetRotation(geom, upright);
    dGeomSetPosition(geom, 1, 0, 0.1 - 1e-8);
    scene_run(s, 10);
    support_report_vector(run, dBodyGetPosition(block));
    scene_close(s);
}

static void posed_geoms_expected(support_run *run)
{
    support_report_vector(run, (dReal[]){1, 0, 0.25});
    support_report_vector(run, (dReal[]){0.95, 0, 0.1});
}

// A box of 0.2 x 0.2 x 2 half m as points and triangles.
typedef struct brick {
    dReal point[24], plane[24];
} brick;

static const unsigned brick_faces[30] = {4, 1, 3, 7, 5, 4, 2, 0, 4, 6, 4, 3, 2, 6, 7,
                                         4, 0, 1, 5, 4, 4, 4, 5, 7, 6, 4, 2, 3, 1, 0};
static const dTriIndex brick_triangles[36] = {1, 3, 7, 1, 7, 5, 2, 0, 4, 2, 4, 6, 3, 2, 6, 3, 6, 7,
                                              0, 1, 5, 0, 5, 4, 4, 5, 7, 4, 7, 6, 2, 3, 1, 2, 1, 0};

static void set_brick(brick *b, double half)
{
    static const int axis[6] = {0, 0, 1, 1, 2, 2};
    *b = (brick){.point = {0}};
    for (int i = 0; i < 8; i++) {
        b->point[3 * i] = i & 1 ? 0.1 : -0.1;
        b->point[3 * i + 1] = i & 2 ? 0.1 : -0.1;
        b->point[3 * i + 2] = i & 4 ? half : -half;
    }
    for (int i = 0; i < 6; i++) {
        b->plane[4 * i + axis[i]] = i & 1 ? -1 : 1;
        b->plane[4 * i + 3] = axis[i] < 2 ? 0.1 : half;
    }
}

static const double LOW = 0.09; // m, half as high as what changes, from 0.1

static brick bricks[2];

static dGeomID make_changing(scene *s, int class)
{
    switch (class) {
    case dBoxClass:
        return dCreateBox(s->space, 0.4, 0.4, 0.2);
    case dCapsuleClass:
        return dCreateCapsule(s->space, 0.1, 0.4);
    case dCylinderClass:
        return dCreateCylinder(s->space, 0.15, 0.2);
    case dConvexClass:
        return dCreateConvex(s->space, bricks[0].plane, 6, bricks[0].point, 8, brick_faces);
    case dTriMeshClass:
        return scene_mesh(s, bricks[0].point, 8, brick_triangles, 36);
    default:
        return dCreateSphere(s->space, 0.1);
    }
}

static void change(scene *s, dGeomID geom)
{
    dGeomID other;
    switch (dGeomGetClass(geom)) {
    case dBoxClass:
        dGeomBoxSetLengths(geom, 0.4, 0.4, 2 * LOW);
        break;
    case dCapsuleClass:
        dGeomCapsuleSetParams(geom, LOW, 0.4);
        break;
    case dCylinderClass:
        dGeomCylinderSetParams(geom, 0.15, 2 * LOW);
        break;
    case dConvexClass:
        dGeomSetConvex(geom, bricks[1].plane, 6, bricks[1].point, 8, brick_faces);
        break;
    case dTriMeshClass:
        other = scene_mesh(s, bricks[1].point, 8, brick_triangles, 36);
        dGeomTriMeshSetData(geom, dGeomTriMeshGetData(other));
        dGeomDestroy(other);
        break;
    default:
        dGeomSphereSetRadius(geom, LOW);
        break;
    }
}

// Bodies that rest on a plane become lower and rest again.
static void changed_shapes(support_run *run)
{
    static const int class[] = {dSphereClass,   dBoxClass,    dCapsuleClass,
                                dCylinderClass, dConvexClass, dTriMeshClass};
    for (int i = 0; i < 2; i++) {
        set_brick(&bricks[i], i ? LOW : 0.1);
    }
    for (int i = 0; i < 6; i++) {
        scene *s = scene_open(run, NULL);
        dQuaternion q;
        dCreatePlane(s->space, 0, 0, 1, 0);
        dGeomID geom = make_changing(s, class[i]);
        dBodyID body = scene_body(s, geom, 0, 0, 0.1 - 1e-8);
        dQFromAxisAndAngle(q, 0, 1, 0, class[i] == dCapsuleClass ? acos(0) : 0);
        dBodySetQuaternion(body, q);
        scene_run(s, 20);
        support_report(run, dBodyGetPosition(body)[2]);
        change(s, geom);
        scene_run(s, 100);
        support_report(run, dBodyGetPosition(body)[2]);
        scene_close(s);
    }
}

static void changed_shapes_expected(support_run *run)
{
    support_report_pairs(run, 6, 0.1, LOW);
}

static dHeightfieldDataID field_at(double z)
{
    static const double flat[9] = {0};
    dHeightfieldDataID data = dGeomHeightfieldDataCreate();
    dGeomHeightfieldDataBuildDouble(data, flat, 1, 4, 4, 3, 3, 1, z, 1, 0);
    return data;
}

static void changed_field(support_run *run)
{
    scene *s = scene_open(run, NULL);
    dHeightfieldDataID first = field_at(0);
    dMatrix3 R;
    s->field = field_at(-0.01);
    dGeomID field = dCreateHeightfield(s->space, first, 1);
    dRFromAxisAndAngle(R, 1, 0, 0, acos(0)); // its y axis up
    dGeomSetRotation(field, R);
    dBodyID body = scene_body(s, dCreateSphere(s->space, 0.1), 0.3, 0.2, 0.1 - 1e-8);
    scene_run(s, 20);
    support_report(run, dBodyGetPosition(body)[2]);
    dGeomHeightfieldSetHeightfieldData(field, s->field);
    scene_run(s, 100);
    support_report(run, dBodyGetPosition(body)[2]);
    scene_close(s);
    dGeomHeightfieldDataDestroy(first);
}

static void changed_field_expected(support_run *run)
{
    support_report_pairs(run, 1, 0.1, 0.09);
}

// ---- meshes: what they are built of

enum {
    SINGLE,
    SINGLE_NORMALS,
    DOUBLE_NORMALS,
    SIMPLE,
    SIMPLE_NORMALS,
    EDGES,
    EDGES_AND_ANGLES,
    NORMALS,
    FLAGS,
    BUFFER,
    BUILDS
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

// With every edge and vertex in use.
static void set_flags(dTriMeshDataID data, bool old)
{
    static unsigned char use[2] = {0x3f, 0x3f};
    unsigned char *found = NULL;
    int length = 0;
    if (old) {
        dGeomTriMeshDataSetBuffer(data, use);
        dGeomTriMeshDataGetBuffer(data, &found, &length);
    } else {
        dsizeint size = 0;
        dGeomTriMeshDataSet(data, dTRIMESHDATA_USE_FLAGS, use);
        found = dGeomTriMeshDataGet2(data, dTRIMESHDATA_USE_FLAGS, &size);
        length = (int)size;
    }
    ck_assert(found == use && length == 2);
}

#pragma GCC diagnostic pop

static dReal up[8] = {0, 0, 1, 0, 0, 0, 1, 0};

static void finish(dTriMeshDataID data, int how)
{
    const unsigned edges = 1u << dTRIDATAPREPROCESS_BUILD_CONCAVE_EDGES,
                   angles = 1u << dTRIDATAPREPROCESS_BUILD_FACE_ANGLES;
    switch (how) {
    case EDGES_AND_ANGLES:
        dGeomTriMeshDataPreprocess2(data, edges | angles, NULL);
        break;
    case NORMALS:
        dGeomTriMeshDataSet(data, dTRIMESHDATA_FACE_NORMALS, up);
        dGeomTriMeshDataPreprocess(data);
        break;
    case FLAGS:
    case BUFFER:
        set_flags(data, how == BUFFER);
        break;
    default:
        dGeomTriMeshDataPreprocess(data);
        break;
    }
}

static dTriMeshDataID built(int how)
{
    static const dTriIndex index[6] = {0, 1, 3, 0, 3, 2};
    static const float single[16] = {-2, -2, 0, 0, 2, -2, 0, 0, -2, 2, 0, 0, 2, 2, 0, 0};
    static const double points[16] = {-2, -2, 0, 0, 2, -2, 0, 0, -2, 2, 0, 0, 2, 2, 0, 0};
    const int step = 3 * sizeof *index, near = 4 * sizeof *single, far = 4 * sizeof *points;
    dTriMeshDataID data = dGeomTriMeshDataCreate();
    switch (how) {
    case SINGLE:
        dGeomTriMeshDataBuildSingle(data, single, near, 4, index, 6, step);
        return data;
    case SINGLE_NORMALS:
        dGeomTriMeshDataBuildSingle1(data, single, near, 4, index, 6, step, up);
        break;
    case DOUBLE_NORMALS:
        dGeomTriMeshDataBuildDouble1(data, points, far, 4, index, 6, step, up);
        break;
    case SIMPLE:
        dGeomTriMeshDataBuildSimple(data, points, 4, index, 6);
        return data;
    case SIMPLE_NORMALS:
        dGeomTriMeshDataBuildSimple1(data, points, 4, index, 6, (const int *)(const void *)up);
        break;
    default:
        dGeomTriMeshDataBuildDouble(data, points, far, 4, index, 6, step);
        break;
    }
    finish(data, how);
    return data;
}

// A capsule that lies on it, which takes the edges in use, and a mesh on mesh.
static void mesh_builds(support_run *run)
{
    set_brick(&bricks[0], 0.1);
    for (int how = 0; how < BUILDS; how++) {
        scene *s = scene_open(run, NULL);
        dQuaternion q;
        s->mesh[s->meshes++] = built(how);
        dCreateTriMesh(s->space, s->mesh[0], NULL, NULL, NULL);
        dGeomID cube = scene_mesh(s, bricks[0].point, 8, brick_triangles, 36);
        dBodyID upper = scene_body(s, cube, 0.7, 0.9, 0.1 + 0.0005);
        dBodyID body = scene_body(s, dCreateCapsule(s->space, 0.1, 0.4), 0.3, -0.6, 0.1 - 1e-8);
        dQFromAxisAndAngle(q, 0, 1, 0, acos(0));
        dBodySetQuaternion(body, q);
        scene_run(s, 50);
        support_report(run, dBodyGetPosition(body)[2]);
        support_report(run, dBodyGetPosition(upper)[2]);
        scene_close(s);
    }
}

static void mesh_builds_expected(support_run *run)
{
    support_report_pairs(run, BUILDS, 0.1, 0.1);
}

// Meshes that overlap, by rounding or by a program that is not exact. sprag pushes them apart, and
// they can be thrown away afterwards.
static void mesh_in_mesh(support_run *run)
{
    static const double deep[] = {1e-9, 1e-7, 1e-4, 1e-3}; // m
    set_brick(&bricks[0], 0.1);
    for (int i = 0; i < 4; i++) {
        scene *s = scene_open(run, NULL);
        dQuaternion q;
        sheet(s, 0);
        dGeomID cube = scene_mesh(s, bricks[0].point, 8, brick_triangles, 36);
        dBodyID body = scene_body(s, cube, 0.73, 0.41, 0.1 - deep[i]);
        dQFromAxisAndAngle(q, 0, 0, 1, 0.3);
        dBodySetQuaternion(body, q);
        scene_run(s, 100);
        support_report(run, dBodyGetPosition(body)[2]);
        dBodySetLinearVel(body, 0, 0, 1);
        scene_run(s, 5);
        support_report(run, dBodyGetLinearVel(body)[2]);
        scene_close(s);
    }
}

static void mesh_in_mesh_expected(support_run *run)
{
    support_report_pairs(run, 4, 0.1, 1 - G * 5 * H);
}

// ---- meshes: what they keep, and what they merge

static dGeomID grid(scene *s)
{
    enum { SIDE = 9 };
    static dReal points[3 * SIDE * SIDE];
    static dTriIndex index[6 * (SIDE - 1) * (SIDE - 1)], *to;
    to = index;
    for (int i = 0; i < SIDE * SIDE; i++) {
        int row = i / SIDE, column = i % SIDE;
        points[3 * i] = 0.3 * column - 1.2;
        points[3 * i + 1] = 0.3 * row - 1.2;
        if (row < SIDE - 1 && column < SIDE - 1) {
            const int corner[6] = {i, i + 1, i + SIDE + 1, i, i + SIDE + 1, i + SIDE};
            for (int k = 0; k < 6; k++) {
                *to++ = (dTriIndex)corner[k];
            }
        }
    }
    return scene_mesh(s, points, SIDE * SIDE, index, 6 * (SIDE - 1) * (SIDE - 1));
}

// A ball, a capsule and a box slide over 64 squares.
static void sliding(support_run *run, const int *class, int count, bool remembers)
{
    for (int i = 0; i < count; i++) {
        scene *s = scene_open(run, NULL);
        dGeomID mesh = grid(s), geom = make_changing(s, class[i]);
        dBodyID body = scene_body(s, geom, -0.5, 0.1, 0.1 - 1e-8);
        dQuaternion q;
        dQFromAxisAndAngle(q, 0, 1, 0, class[i] == dCapsuleClass ? acos(0) : 0);
        dBodySetQuaternion(body, q);
        dBodySetLinearVel(body, 1, 0, 0);
        dGeomTriMeshEnableTC(mesh, class[i], remembers);
        scene_run(s, 50);
        dGeomTriMeshClearTCCache(mesh);
        scene_run(s, 50);
        support_report(run, dBodyGetPosition(body)[0]);
        support_report(run, dBodyGetPosition(body)[2]);
        support_report(run, dGeomTriMeshIsTCEnabled(mesh, class[i]));
        scene_close(s);
    }
}

static void slides_expected(support_run *run, int count, bool remembers)
{
    for (int i = 0; i < count; i++) {
        support_report_pairs(run, 1, 0.5, 0.1);
        support_report(run, remembers);
    }
}

// The mesh remembers what was near.
static void coherence(support_run *run)
{
    sliding(run, (const int[]){dSphereClass, dCapsuleClass}, 2, true);
}

static void coherence_expected(support_run *run)
{
    slides_expected(run, 2, true);
}

static void inner_edges(support_run *run)
{
    sliding(run, (const int[]){dSphereClass, dCapsuleClass, dBoxClass}, 3, false);
}

static void inner_edges_expected(support_run *run)
{
    slides_expected(run, 3, false);
}

enum { BOTH_TRIANGLES = 77 };

static int merged(dGeomID mesh, int first, int second)
{
    (void)mesh;
    return first + second == 1 ? BOTH_TRIANGLES : -1;
}

static void slip_on_edge(scene *s, dContact *contact)
{
    (void)s;
    const dContactGeom *geom = &contact->geom;
    int triangle = dGeomGetClass(geom->g1) == dTriMeshClass ? geom->side1 : geom->side2;
    contact->surface.mu = triangle == BOTH_TRIANGLES ? 0.1 : 0.5;
}

static void merge(dGeomID mesh, int how)
{
    int size = sizeof how;
    ck_assert(dGeomLowLevelControl(mesh, dGeomColliderControlClass,
                                   dGeomColliderSetMergeSphereContactsControlCode, &how, &size));
}

// A ball that does not turn slides along the edge of two triangles, and beside it: the program
// has their contacts merged, and tells by the number that it gives them where the ball is.
static void merged_triangles(support_run *run)
{
    for (int i = 0; i < 2; i++) {
        scene *s = scene_open(run, NULL);
        dGeomID mesh = sheet(s, 0);
        merge(mesh, dGeomColliderMergeContactsValue_Full);
        dGeomTriMeshSetTriMergeCallback(mesh, merged);
        s->alter = slip_on_edge;
        dBodyID body = scene_body(s, dCreateSphere(s->space, 0.1), 0.5 * i, 0, 0.1 - 1e-8);
        dBodySetLinearVel(body, sqrt(0.5), sqrt(0.5), 0);
        scene_run(s, 10);
        support_report(run, hypot(dBodyGetLinearVel(body)[0], dBodyGetLinearVel(body)[1]));
        support_report(run, dBodyGetPosition(body)[2]);
        scene_close(s);
    }
}

static void merged_triangles_expected(support_run *run)
{
    support_report_pairs(run, 1, 1 - 0.1 * G * 10 * H, 0.1);
    support_report_pairs(run, 1, 1 - 0.5 * G * 10 * H, 0.1);
}

static dGeomID groove(scene *s)
{
    static const dReal points[18] = {-2, -1, 1, 2, -1, 1, -2, 0, 0, 2, 0, 0, -2, 1, 1, 2, 1, 1};
    static const dTriIndex index[12] = {0, 1, 3, 0, 3, 2, 2, 3, 5, 2, 5, 4};
    return scene_mesh(s, points, 6, index, 12);
}

// A ball slides in a groove of a right angle: on its two sides, or on one point of a merged
// normal.
static void merged_normals(support_run *run)
{
    for (int how = dGeomColliderMergeContactsValue_None;
         how <= dGeomColliderMergeContactsValue_Full; how++) {
        scene *s = scene_open(run, NULL);
        merge(groove(s), how);
        s->contact.surface.mu = 0.5;
        dBodyID body = scene_body(s, dCreateSphere(s->space, 0.1), 0, 0, 0.1 * sqrt(2) - 1e-8);
        dBodySetLinearVel(body, 1, 0, 0);
        scene_run(s, 3);
        support_report(run, dBodyGetLinearVel(body)[0]);
        support_report(run, dBodyGetPosition(body)[2]);
        scene_close(s);
    }
}

static void merged_normals_expected(support_run *run)
{
    for (int i = 0; i < 3; i++) {
        support_report_pairs(run, 1, 1 - 0.5 * (i ? 1 : sqrt(2)) * G * 3 * H, 0.1 * sqrt(2));
    }
}

const support_row support_shapes[] = {
    {"`dSpaceAdd`, `dSpaceRemove`, `dSpaceQuery`",
     space_members,
     space_members_expected,
     {NEAR(5e-6, FLOOR), NEAR(1e-07, HELD), NEAR(1e-6, APART)}},
    {"`dSpaceSetSublevel`",
     sublevels,
     sublevels_expected,
     {NEAR(5e-6, FLOOR), NEAR(1e-07, HELD), EXACT}},
    {"`dSpaceSetCleanup`, `dSpaceDestroy`",
     space_cleanup,
     space_cleanup_expected,
     {NEAR(5e-6, FLOOR), NEAR(1e-07, HELD), NEAR(1e-6, APART)}},
    {"`dHashSpaceSetLevels`, `dSpaceClean`, `dSpaceSetManualCleanup`",
     hash_space,
     hash_space_expected,
     {NEAR(5e-6, FLOOR), EXACT, NEAR(1e-6, APART)}},
    {"Rays that the program uses as wheels",
     wheel_rays,
     wheel_rays_expected,
     {EXACT, AS_STRIBECK(GIVEN), EXACT}},
    {"`dGeomRaySet`, `dGeomRaySetLength`",
     moved_rays,
     moved_rays_expected,
     {EXACT, AS_STRIBECK(GIVEN), EXACT}},
    {"`dGeomRaySetClosestHit`, `...FirstContact`, `...BackfaceCull`, `...Params`, "
     "`dGeomTriMeshSetRayCallback`",
     ray_flags,
     ray_flags_expected,
     {NEAR(5e-9, FLOOR), AS_STRIBECK(GIVEN), NEAR(5e-9, "the program's contacts")}},
    {"`dGeomSetPosition`, `...Rotation`, `...Quaternion` of geoms with a body",
     posed_geoms,
     posed_geoms_expected,
     {NEAR(5e-6, FLOOR), NEAR(5e-09, HELD), NEAR(1e-6, APART)}},
    {"Shapes that change: `dGeomBoxSetLengths`, `dGeomCapsuleSetParams`, "
     "`dGeomCylinderSetParams`, `dGeomSetConvex`, `dGeomTriMeshSetData`",
     changed_shapes,
     changed_shapes_expected,
     {NEAR(5e-6, FLOOR), NEAR(5e-09, HELD), NEAR(1e-6, APART)}},
    {"`dGeomHeightfieldSetHeightfieldData`",
     changed_field,
     changed_field_expected,
     {NEAR(5e-6, FLOOR), EXACT, NEAR(1e-6, APART)}},
    {"`dGeomTriMeshDataBuildSingle`, `...Double`, `...Simple`, with normals, preprocessed, with "
     "flags of edges",
     mesh_builds,
     mesh_builds_expected,
     {NEAR(5e-6, FLOOR), NEAR_SAYING(5e-8, MESHES_ALONE, NO_DISTANCE), NEAR(1e-6, APART)}},
    {"Meshes placed inside meshes, which push them out",
     mesh_in_mesh,
     mesh_in_mesh_expected,
     {NEAR(5e-6, FLOOR), EXACT_SAYING(MESHES_ALONE, NO_DISTANCE),
      NEAR_SAYING(1e-6, APART ", with a message", "overlap at the start")}},
    {"`dGeomTriMeshEnableTC`, `dGeomTriMeshClearTCCache`",
     coherence,
     coherence_expected,
     {NEAR(5e-6, FLOOR), EXACT, NEAR(1e-6, APART)}},
    {"A box that slides over the inner edges of a flat mesh",
     inner_edges,
     inner_edges_expected,
     {NEAR(1e-5, FLOOR), EXACT, NEAR(1e-6, APART)}},
    {"`dGeomTriMeshSetTriMergeCallback`",
     merged_triangles,
     merged_triangles_expected,
     {NEAR(1e-5, FLOOR), NEAR(5e-08, HELD), NEAR(1e-6, APART)}},
    {"`dGeomLowLevelControl`: normals of a ball's contacts",
     merged_normals,
     merged_normals_expected,
     {NEAR(1e-4, FLOOR), NEAR(0.1, "contacts of its own, one of each triangle"),
      NEAR(0.1, "contacts of its own, one of each triangle")}},
    {0},
};
