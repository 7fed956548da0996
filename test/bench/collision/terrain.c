// Bodies that roll, slide and lie on meshes and heightfields: collision by sprag's geometry beside
// ODE's own, and steps beside dWorldStep. Each method steps a world of its own, so contacts differ.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "scene.h"

enum { BODIES = 12, STEPS = 150, BEFORE = 30 }; // BEFORE: steps that are not timed

static const double step = 0.01;

typedef enum shape { BALL, CYLINDER, CAPSULE, BOX, SHAPES } shape;
typedef enum ground { MESH, FIELD, GROUNDS } ground;

typedef struct terrain {
    dWorldID world;
    dSpaceID space; // of the bodies
    dJointGroupID contacts;
    dGeomID ground;
    dTriMeshDataID mesh;
    dHeightfieldDataID field;
    float *height; // m, of samples, x first; or vertices
    dTriIndex *index;
} terrain;

static double hill(double x, double y, bool flat)
{
    return flat ? 0 : 0.1 * sin(2 * M_PI * x / 3) * cos(2 * M_PI * y / 3);
}

static void make_mesh(terrain *t, double cell, int cells, bool flat)
{
    const int side = cells + 1;
    int used = 0;
    t->height = bench_allocate((size_t)side * (size_t)side * 3, sizeof *t->height);
    t->index = bench_allocate((size_t)cells * (size_t)cells * 6, sizeof *t->index);
    for (int i = 0; i < side * side; i++) {
        const double x = cell * (i / side - 0.5 * cells), y = cell * (i % side - 0.5 * cells);
        t->height[3 * i] = (float)x;
        t->height[3 * i + 1] = (float)y;
        t->height[3 * i + 2] = (float)hill(x, y, flat);
    }
    for (int i = 0; i < cells * cells; i++) {
        const int a = i / cells * side + i % cells, b = a + side;
        const int corner[6] = {a, b, b + 1, a, b + 1, a + 1};
        for (int k = 0; k < 6; k++) {
            t->index[used++] = (dTriIndex)corner[k];
        }
    }
    t->mesh = dGeomTriMeshDataCreate();
    dGeomTriMeshDataBuildSingle(t->mesh, t->height, 3 * sizeof *t->height, side * side, t->index,
                                used, 3 * sizeof *t->index);
    t->ground = dCreateTriMesh(NULL, t->mesh, NULL, NULL, NULL);
}

static void make_field(terrain *t, double cell, int cells, bool flat)
{
    const int side = cells + 1;
    dMatrix3 up;
    t->height = bench_allocate((size_t)side * (size_t)side, sizeof *t->height);
    for (int i = 0; i < side * side; i++) {
        const double x = cell * (i % side - 0.5 * cells), y = -cell * (i / side - 0.5 * cells);
        t->height[i] = (float)hill(x, y, flat);
    }
    t->field = dGeomHeightfieldDataCreate();
    dGeomHeightfieldDataBuildSingle(t->field, t->height, 0, cell * cells, cell * cells, side, side,
                                    1, 0, 1, 0);
    dGeomHeightfieldDataSetBounds(t->field, -1, 1);
    t->ground = dCreateHeightfield(NULL, t->field, 1);
    dRFromAxisAndAngle(up, 1, 0, 0, M_PI / 2);
    dGeomSetRotation(t->ground, up);
}

static void add_body(terrain *t, shape shape, int i)
{
    dBodyID body = dBodyCreate(t->world);
    dMass mass;
    dMatrix3 lying, turned, both;
    dGeomID geom;
    switch (shape) {
    case CYLINDER:
        dMassSetCylinderTotal(&mass, 1, 3, 0.3, 0.2);
        geom = dCreateCylinder(t->space, 0.3, 0.2);
        break;
    case CAPSULE:
        dMassSetCapsuleTotal(&mass, 1, 3, 0.2, 0.5);
        geom = dCreateCapsule(t->space, 0.2, 0.5);
        break;
    case BOX:
        dMassSetBoxTotal(&mass, 1, 0.6, 0.4, 0.3);
        geom = dCreateBox(t->space, 0.6, 0.4, 0.3);
        break;
    case BALL:
    case SHAPES:
    default:
        dMassSetSphereTotal(&mass, 1, 0.3);
        geom = dCreateSphere(t->space, 0.3);
        break;
    }
    dBodySetMass(body, &mass);
    dGeomSetBody(geom, body);
    dBodySetPosition(body, 1.37 * (i % 4) - 2.1, 1.61 * (i / 4) - 1.7, 0.45);
    dRFromAxisAndAngle(lying, 1, 0, 0, shape == BOX ? 0 : M_PI / 2);
    dRFromAxisAndAngle(turned, 0, 0, 1, 0.7 * i);
    dMultiply0_333(both, turned, lying);
    dBodySetRotation(body, both);
}

static void open_terrain(terrain *t, ground ground, double cell, bool flat, shape shape)
{
    *t = (terrain){.world = dWorldCreate(), .contacts = dJointGroupCreate(0)};
    t->space = dSimpleSpaceCreate(NULL);
    dWorldSetGravity(t->world, 0, 0, -SPRAG_GRAVITY);
    (ground == MESH ? make_mesh : make_field)(t, cell, (int)(10 / cell), flat);
    for (int i = 0; i < BODIES; i++) {
        add_body(t, shape, i);
    }
}

static void close_terrain(terrain *t)
{
    dJointGroupDestroy(t->contacts);
    dGeomDestroy(t->ground);
    dSpaceDestroy(t->space);
    dWorldDestroy(t->world);
    if (t->mesh) {
        dGeomTriMeshDataDestroy(t->mesh);
    } else {
        dGeomHeightfieldDataDestroy(t->field);
    }
    free(t->height);
    free(t->index);
}

static void join(void *data, dGeomID a, dGeomID b)
{
    const terrain *t = data;
    dContact contact[16] = {{.surface = {.mode = dContactApprox1, .mu = 0.8}}};
    const int count = dCollide(a, b, 16, &contact[0].geom, sizeof *contact);
    for (int i = 0; i < count; i++) {
        contact[i].surface = contact[0].surface;
        dJointAttach(dJointCreateContact(t->world, t->contacts, &contact[i]), dGeomGetBody(a),
                     dGeomGetBody(b));
    }
}

// us per body: [0] of collision, [1] of the step.
static void measure(const char *options, ground ground, double cell, bool flat, shape shape,
                    double us[2])
{
    terrain t;
    open_terrain(&t, ground, cell, flat, shape);
    bench_configure(t.world, options, 20);
    us[0] = us[1] = 0;
    for (int i = 0; i < STEPS; i++) {
        const double start = bench_cpu_us();
        dSpaceCollide2((dGeomID)t.space, t.ground, &t, join);
        const double between = bench_cpu_us();
        bench_world_step(t.world, step);
        if (i >= BEFORE) {
            us[0] += (between - start) / (STEPS - BEFORE) / BODIES;
            us[1] += (bench_cpu_us() - between) / (STEPS - BEFORE) / BODIES;
        }
        dJointGroupEmpty(t.contacts);
    }
    close_terrain(&t);
}

void bench_terrain(line_fn *line)
{
    static const char *const ground_name[] = {"mesh", "heightfield"};
    static const char *const shape_name[] = {"ball", "cylinder", "capsule", "box"};
    static const double cell[] = {0.05, 0.3, 1, 5}; // m
    double worst = 0, dearest[SHAPES] = {0}, rigid[SHAPES] = {0};
    line("ground|cells, m|shape|collision, us per body|by ODE|ratio|step, us per body|"
         "stribeck / dWorldStep|ess / dWorldStep|advance, both, us per body|/ stock");
    for (int g = 0; g < GROUNDS; g++) {
        for (int f = 0; f < 2; f++) {
            for (int s = 0; s < SHAPES; s++) {
                for (int c = 0; c < 4; c++) {
                    double stock[2], ours[2], ess[2], advance[2];
                    measure("method=ode-step", g, cell[c], f, s, stock);
                    measure("method=stribeck", g, cell[c], f, s, ours);
                    measure("method=ess", g, cell[c], f, s, ess);
                    measure("method=advance", g, cell[c], f, s, advance);
                    const double ratio = ours[0] / stock[0];
                    const double both = advance[0] + advance[1];
                    const double times = both / (stock[0] + stock[1]);
                    line("%s, %s|%g|%s|%.2f|%.2f|%.1f|%.2f|%.1f|%.0f|%.1f|%.1f", ground_name[g],
                         f ? "flat" : "hills", cell[c], shape_name[s], ours[0], stock[0], ratio,
                         ours[1], ours[1] / stock[1], ess[1] / stock[1], both, times);
                    rigid[s] = fmax(rigid[s], times);
                    worst = fmax(worst, ratio);
                    dearest[s] = fmax(dearest[s], ess[1] / stock[1]);
                }
            }
        }
    }
    bench_at_most("collision on terrain, times ODE's, worst", worst, 3);
    for (int s = 0; s < SHAPES; s++) {
        char figure[64];
        snprintf(figure, sizeof figure, "step of a %s under ess, times dWorldStep's",
                 shape_name[s]);
        bench_at_most(figure, dearest[s], 25);
        snprintf(figure, sizeof figure, "%s under advance, collision and step, times stock's",
                 shape_name[s]);
        bench_at_most(figure, rigid[s], 5);
    }
}
