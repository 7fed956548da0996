// Price of sprag_world_linearize: time of A and B of an arm in steps of the same arm under
// stribeck, without collision detection. MuJoCo's mjd_transitionFD, which takes differences of
// whole steps, takes 2 nv + nu of its steps. Arms hang on motorised hinges, of which the last link
// lies on the floor. Links are boxes of 1 kg: stout ones, and thin ones, whose inertia is so small
// that joints draw them tight (load_stiffness.c). A car rolls on four hinge2s, two of them locked;
// a pole stands on a cart; a leg under a body on a slider pushes the floor.
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "join_contacts.h"
#include "sprag.h"

enum { LINKS_MAX = 12, SETTLE = 600, TIMED = 50 };

static const double STEP = 0.01, LENGTH = 0.3; // s, m

typedef struct arm {
    dWorldID world;
    dSpaceID space;
    dJointGroupID contacts;
    dBodyID link[LINKS_MAX];
    int links;
} arm;

static void add_link(arm *a, double width)
{
    const double x = LENGTH * a->links, z = 0.3 - 0.018 * a->links;
    dMass mass;
    dBodyID link = dBodyCreate(a->world);
    dMassSetBoxTotal(&mass, 1, LENGTH, width, width);
    dBodySetMass(link, &mass);
    dBodySetPosition(link, x + LENGTH / 2, 0, z);
    dJointID joint = dJointCreateHinge(a->world, 0);
    dJointAttach(joint, a->links ? a->link[a->links - 1] : NULL, link);
    dJointSetHingeAnchor(joint, x, 0, z);
    dJointSetHingeAxis(joint, 0, 1, 0);
    dJointSetHingeParam(joint, dParamFMax, 20);
    dJointSetHingeParam(joint, dParamVel, 0);
    a->link[a->links++] = link;
}

static dBodyID add_body(arm *a, double mass, double x, double z, const double side[3])
{
    dMass m;
    dBodyID body = a->link[a->links++] = dBodyCreate(a->world);
    dMassSetBoxTotal(&m, mass, side[0], side[1], side[2]);
    dBodySetMass(body, &m);
    dBodySetPosition(body, x, 0, z);
    return body;
}

static dJointID add_hinge(const arm *a, dBodyID first, dBodyID second, double x, double z)
{
    dJointID joint = dJointCreateHinge(a->world, 0);
    dJointAttach(joint, first, second);
    dJointSetHingeAnchor(joint, x, 0, z);
    dJointSetHingeAxis(joint, 0, 1, 0);
    return joint;
}

static void add_slider(const arm *a, dBodyID body, double x, double z)
{
    dJointID joint = dJointCreateSlider(a->world, 0);
    dJointAttach(joint, body, NULL);
    dJointSetSliderAxis(joint, x, 0, z);
}

static void add_car(arm *a)
{
    dBodyID chassis = add_body(a, 10, 0, 0.5, (const double[3]){1.6, 0.8, 0.2});
    for (int i = 0; i < 4; i++) {
        const double x = i < 2 ? 0.6 : -0.6, y = i % 2 ? 0.5 : -0.5, radius = 0.3;
        dMass mass;
        dBodyID wheel = a->link[a->links++] = dBodyCreate(a->world);
        dMassSetSphereTotal(&mass, 1, radius);
        dBodySetMass(wheel, &mass);
        dBodySetPosition(wheel, x, y, radius);
        dGeomSetBody(dCreateSphere(a->space, radius), wheel);
        dJointID joint = dJointCreateHinge2(a->world, 0);
        dJointAttach(joint, chassis, wheel);
        dJointSetHinge2Anchor(joint, x, y, radius);
        dJointSetHinge2Axes(joint, (const dVector3){0, 0, 1}, (const dVector3){0, 1, 0});
        dJointSetHinge2Param(joint, dParamLoStop, i < 2 ? -0.5 : 0);
        dJointSetHinge2Param(joint, dParamHiStop, i < 2 ? 0.5 : 0);
        dJointSetHinge2Param(joint, dParamFMax, i < 2 ? 10 : 0);
        dJointSetHinge2Param(joint, dParamSuspensionERP, 0.4);
        dJointSetHinge2Param(joint, dParamSuspensionCFM, 2e-3);
        dJointSetHinge2Param(joint, dParamVel2, 3);
        dJointSetHinge2Param(joint, dParamFMax2, i < 2 ? 2 : 0);
    }
}

static void add_cart(arm *a)
{
    dBodyID cart = add_body(a, 1, 0, 1, (const double[3]){0.4, 0.2, 0.1});
    add_slider(a, cart, 1, 0);
    add_hinge(a, cart, add_body(a, 0.3, 0.1, 1.5, (const double[3]){0.05, 0.05, 1}), 0, 1);
}

static void add_leg(arm *a)
{
    const double thick[3] = {0.06, 0.06, 0.3};
    dBodyID trunk = add_body(a, 5, 0, 0.72, (const double[3]){0.3, 0.2, 0.1});
    dBodyID thigh = add_body(a, 1, 0.07, 0.53, thick), shank = add_body(a, 0.5, 0.07, 0.2, thick);
    add_slider(a, trunk, 0, 1);
    for (int i = 0; i < 2; i++) {
        dJointID joint = add_hinge(a, i ? thigh : trunk, i ? shank : thigh, 0.07, i ? 0.37 : 0.69);
        dJointSetHingeParam(joint, dParamFMax, 40);
        dJointSetHingeParam(joint, dParamVel, 0);
    }
    dGeomID foot = dCreateSphere(a->space, 0.05);
    dGeomSetBody(foot, shank);
    dGeomSetOffsetPosition(foot, 0, 0, -0.15);
}

static void touch(void *data, dGeomID a, dGeomID b)
{
    const arm *s = data;
    join_contacts(s->world, s->contacts, a, b, 8,
                  (dSurfaceParameters){.mode = dContactApprox1, .mu = 0.5}, NULL);
}

static void collide(arm *a)
{
    dJointGroupEmpty(a->contacts);
    dSpaceCollide(a->space, a, touch);
}

// A row of balls that press on one another and slide over the floor, in soft contact.
static void add_balls(arm *a, int balls)
{
    for (int i = 0; i < balls; i++) {
        dMass mass;
        dBodyID ball = dBodyCreate(a->world);
        dMassSetSphereTotal(&mass, 1, 0.1);
        dBodySetMass(ball, &mass);
        dBodySetPosition(ball, 0.1995 * i, 0, 0.0995);
        dBodySetLinearVel(ball, 50 - 0.1 * i, 0, 0);
        dGeomSetBody(dCreateSphere(a->space, 0.1), ball);
        a->link[a->links++] = ball;
    }
}

// add: what is no arm; width: m, of the links of an arm. by_differences: 2 nv + nu.
static void price(line_fn *line, const char *name, const char *method, int links, double width,
                  void (*add)(arm *), int by_differences)
{
    arm a = {.world = dWorldCreate(),
             .space = dSimpleSpaceCreate(NULL),
             .contacts = dJointGroupCreate(0)};
    double *A = bench_allocate((size_t)(144 * links * links), sizeof *A);
    double *B = bench_allocate((size_t)(72 * links * links), sizeof *B);
    double of_step[TIMED], of_matrices[TIMED];
    const bool balls = width == 0 && !add;
    bench_configure(a.world, method, 20);
    dWorldSetGravity(a.world, 0, 0, -9.81);
    if (balls) {
        add_balls(&a, links);
    }
    if (add) {
        add(&a);
    }
    while (a.links < links) {
        add_link(&a, width);
    }
    if (!balls && !add) {
        dGeomSetBody(dCreateSphere(a.space, 0.1), a.link[links - 1]);
    }
    dCreatePlane(a.space, 0, 0, 1, 0);
    for (int i = balls ? -5 : -SETTLE; i < TIMED; i++) {
        collide(&a);
        double start = bench_cpu_us();
        if (i >= 0) {
            if (!sprag_world_linearize(a.world, STEP, a.link, links, A, B)) {
                fprintf(stderr, "bench: %s\n", sprag_error());
                exit(EXIT_FAILURE);
            }
            of_matrices[i] = bench_cpu_us() - start;
        }
        bench_world_step(a.world, STEP); // warms up what the matrices have pushed out of caches
        if (i >= 0) {
            collide(&a);
            start = bench_cpu_us();
            bench_world_step(a.world, STEP);
            of_step[i] = bench_cpu_us() - start;
        }
    }
    double step = bench_median(of_step, TIMED), matrices = bench_median(of_matrices, TIMED);
    line("%s|%d|%.4g|%.4g|%.3g|%d", name, links, step, matrices, matrices / step, by_differences);
    free(A);
    free(B);
    dJointGroupDestroy(a.contacts);
    dSpaceDestroy(a.space);
    dWorldDestroy(a.world);
}

void bench_derivatives(line_fn *line)
{
    static const char soft[] = "method=ess,advance.callbacks=before,stribeck.stiffness=2e4,"
                               "stribeck.dissipation=0.5,stribeck.stiction_tolerance=1e-2";
    line("scene|bodies|us a step|us A and B|in steps|2 nv + nu");
    for (int links = 3; links <= LINKS_MAX; links *= 2) {
        price(line, "stout", "method=stribeck", links, 0.2, NULL, 3 * links);
        price(line, "thin", "method=stribeck", links, 0.02, NULL, 3 * links);
    }
    price(line, "car", "method=stribeck", 5, 0, add_car, 2 * 14 + 4);
    price(line, "cart and pole", "method=stribeck", 2, 0, add_cart, 2 * 2 + 1);
    price(line, "leg", "method=stribeck", 3, 0, add_leg, 2 * 3 + 2);
    for (int balls = 2; balls <= LINKS_MAX; balls *= 6) {
        price(line, "balls, ess", soft, balls, 0, NULL, 18 * balls);
    }
}
