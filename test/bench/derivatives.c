// Price of sprag_world_linearize: time of A and B of an arm in steps of the same arm under
// stribeck, without collision detection. MuJoCo's mjd_transitionFD, which takes differences of
// whole steps, takes 2 nv + nu of its steps. Arms hang on motorised hinges, of which the last link
// lies on the floor. Links are boxes of 1 kg: stout ones, and thin ones, whose inertia is so small
// that joints draw them tight (load_stiffness.c).
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

static void price(line_fn *line, const char *name, const char *method, int links, double width)
{
    arm a = {.world = dWorldCreate(),
             .space = dSimpleSpaceCreate(NULL),
             .contacts = dJointGroupCreate(0)};
    double *A = bench_allocate((size_t)(144 * links * links), sizeof *A);
    double *B = bench_allocate((size_t)(72 * links * links), sizeof *B);
    double of_step[TIMED], of_matrices[TIMED];
    const bool balls = width == 0;
    bench_configure(a.world, method, 20);
    dWorldSetGravity(a.world, 0, 0, -9.81);
    if (balls) {
        add_balls(&a, links);
    }
    while (a.links < links) {
        add_link(&a, width);
    }
    if (!balls) {
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
    line("%s|%d|%.4g|%.4g|%.3g|%d", name, links, step, matrices, matrices / step,
         (balls ? 18 : 3) * links);
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
    line("arm|links|us a step|us A and B|in steps|2 nv + nu");
    for (int links = 3; links <= LINKS_MAX; links *= 2) {
        price(line, "stout", "method=stribeck", links, 0.2);
        price(line, "thin", "method=stribeck", links, 0.02);
    }
    for (int balls = 2; balls <= LINKS_MAX; balls *= 6) {
        price(line, "balls, ess", soft, balls, 0);
    }
}
