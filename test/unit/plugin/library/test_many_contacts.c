// A box on hundreds of contacts that the program makes: it stands as on few, its feedback bears its
// weight, and friction that is a force adds up.
#include <check.h>
#include <math.h>
#include <string.h>

#include "program_world.h"
#include "sprag.h"
#include "suite.h"

enum { SIDE = 20, MANY = SIDE * SIDE, METHODS = 3 };

static const char *const methods[METHODS] = {"method=stribeck", "method=advance", "method=ess"};
static const double step = 0.01, weight = 9.81; // s; N, of 1 kg

typedef struct table {
    dWorldID world;
    dSpaceID space;
    dGeomID far[2];
    dJointGroupID contacts;
    dBodyID box, ground; // NULL: static
    dJointFeedback feedback[MANY];
} table;

static void open_table(table *t, const char *method)
{
    dMass mass;
    dInitODE2(0);
    t->world = dWorldCreate();
    t->space = dSimpleSpaceCreate(0);
    t->contacts = dJointGroupCreate(0);
    t->box = dBodyCreate(t->world);
    dWorldSetGravity(t->world, 0, 0, -weight);
    dMassSetBoxTotal(&mass, 1, 1, 1, 1);
    dBodySetMass(t->box, &mass);
    dBodySetPosition(t->box, 0, 0, 0.5);
    t->far[0] = dCreateSphere(t->space, 0.1);
    t->far[1] = dCreatePlane(t->space, 0, 0, 1, -100);
    ck_assert(sprag_world_configure(t->world, method));
}

static void close_table(table *t)
{
    destroy_world(t->world, t->space, t->contacts);
    dCloseODE();
}

// Contacts of a grid on the lower face of the box with the plane z = 0, which is no geom.
static void step_on_grid(table *t, dSurfaceParameters surface)
{
    dContactGeom none;
    dCollide(t->far[0], t->far[1], 1, &none, sizeof none); // the program has collision
    for (int i = 0; i < MANY; i++) {
        dContact contact = {.surface = surface};
        dVector3 at;
        double x = i % SIDE / (SIDE - 1.0) - 0.5, y = i / SIDE / (SIDE - 1.0) - 0.5;
        dBodyGetRelPointPos(t->box, x, y, -0.5, at);
        contact.geom.depth = -at[2];
        contact.geom.normal[2] = 1;
        memcpy(contact.geom.pos, at, sizeof at);
        dJointID joint = dJointCreateContact(t->world, t->contacts, &contact);
        dJointAttach(joint, t->box, t->ground);
        dJointSetFeedback(joint, &t->feedback[i]);
        t->feedback[i] = (dJointFeedback){.f1 = {NAN, NAN, NAN}};
    }
    ck_assert(dWorldStep(t->world, step));
    dJointGroupEmpty(t->contacts);
}

static void sum_feedback(const table *t, double sum[3], int *acting)
{
    *acting = 0;
    for (int k = 0; k < 3; k++) {
        sum[k] = 0;
        for (int i = 0; i < MANY; i++) {
            ck_assert_double_finite(t->feedback[i].f1[k]);
            sum[k] += t->feedback[i].f1[k];
            *acting += k == 2 && t->feedback[i].f1[k] > 0;
        }
    }
}

START_TEST(it_stands)
{
    table t;
    double sum[3];
    int acting;
    sprag_world_statistics s = {.struct_size = sizeof s};
    const dSurfaceParameters surface = {.mode = dContactApprox1, .mu = 0.5};
    open_table(&t, methods[_i]);
    for (int k = 0; k < 100; k++) {
        dBodyAddForce(t.box, 0.4 * weight, 0, 0);
        step_on_grid(&t, surface);
    }
    sum_feedback(&t, sum, &acting);
    ck_assert_double_eq_tol(sum[2], weight, 1e-3);
    ck_assert_double_eq_tol(sum[0], -0.4 * weight, 1e-3);
    ck_assert_int_le(acting, 40);
    ck_assert(sprag_world_stats(t.world, &s));
    ck_assert_int_le(s.contacts, 40);
    ck_assert_double_eq_tol(dBodyGetPosition(t.box)[2], 0.5, 1e-4);
    ck_assert_double_lt(fabs(dBodyGetPosition(t.box)[0]), 1e-4);
    close_table(&t);
}
END_TEST

// 400 contacts that hold 0.01 N each: 4 N.
START_TEST(bounded_friction_adds_up)
{
    table t;
    const dSurfaceParameters surface = {.mode = 0, .mu = 0.01};
    open_table(&t, methods[_i]);
    for (int k = 0; k < 100; k++) {
        dBodyAddForce(t.box, 3.9, 0, 0);
        step_on_grid(&t, surface);
    }
    ck_assert_double_lt(fabs(dBodyGetPosition(t.box)[0]), 1e-3);
    for (int k = 0; k < 100; k++) {
        dBodyAddForce(t.box, 4.5, 0, 0);
        step_on_grid(&t, surface);
    }
    ck_assert_double_eq_tol(dBodyGetLinearVel(t.box)[0], 0.5, 0.02);
    close_table(&t);
}
END_TEST

// They turn together: rounding tells the velocities of their points apart.
START_TEST(what_turns_with_it_has_as_few)
{
    table t;
    dMass mass;
    sprag_world_statistics s = {.struct_size = sizeof s};
    open_table(&t, methods[_i]);
    t.ground = dBodyCreate(t.world);
    dMassSetBoxTotal(&mass, 100, 4, 4, 1);
    dBodySetMass(t.ground, &mass);
    dBodySetKinematic(t.ground);
    dBodySetPosition(t.ground, -0.7, 0, -0.5);
    dBodySetAngularVel(t.ground, 0, 0, 1);
    dBodySetAngularVel(t.box, 0, 0, 1);
    dBodySetLinearVel(t.box, 0, 0.7, 0);
    for (int k = 0; k < 100; k++) {
        step_on_grid(&t, (dSurfaceParameters){.mode = dContactApprox1, .mu = 0.5});
        ck_assert(sprag_world_stats(t.world, &s));
        ck_assert_int_le(s.contacts, 40);
    }
    dVector3 at;
    const dReal *x = dBodyGetPosition(t.box);
    dBodyGetPosRelPoint(t.ground, x[0], x[1], x[2], at);
    ck_assert_double_le(hypot(at[0] - 0.7, at[1]), 1e-3);
    close_table(&t);
}
END_TEST

static void near_geoms(void *data, dGeomID a, dGeomID b)
{
    const table *t = data;
    dContact contact[8] = {{.surface = {.mode = dContactApprox1, .mu = 0.5}}};
    const int count = dCollide(a, b, 8, &contact[0].geom, sizeof contact[0]);
    for (int i = 0; i < count; i++) {
        contact[i].surface = contact[0].surface;
        dJointID joint = dJointCreateContact(t->world, t->contacts, &contact[i]);
        dJointAttach(joint, dGeomGetBody(a), dGeomGetBody(b));
    }
}

// A flat mesh of 9 cells to a side of the box: its corners alone carry it.
START_TEST(a_fine_mesh_has_as_few_as_a_plane)
{
    enum { CELLS = 13, CORNERS = CELLS + 1 };
    static float corner[CORNERS * CORNERS][3];
    static dTriIndex triangle[2 * CELLS * CELLS][3];
    table t;
    sprag_world_statistics s = {.struct_size = sizeof s};
    open_table(&t, "method=advance");
    dGeomDisable(t.far[0]);
    for (int i = 0; i < CORNERS * CORNERS; i++) {
        corner[i][0] = (float)(i % CORNERS) / 9 - 0.73F;
        corner[i][1] = (float)(i / CORNERS) / 9 - 0.71F;
    }
    for (int i = 0; i < CELLS * CELLS; i++) {
        const dTriIndex a = (dTriIndex)(i / CELLS * CORNERS + i % CELLS), b = a + CORNERS;
        memcpy(triangle[2 * i], (dTriIndex[3]){a, a + 1, b}, sizeof triangle[0]);
        memcpy(triangle[2 * i + 1], (dTriIndex[3]){a + 1, b + 1, b}, sizeof triangle[0]);
    }
    dTriMeshDataID data = dGeomTriMeshDataCreate();
    dGeomTriMeshDataBuildSingle(data, corner, sizeof corner[0], CORNERS * CORNERS, triangle,
                                3 * 2 * CELLS * CELLS, sizeof triangle[0]);
    dCreateTriMesh(t.space, data, NULL, NULL, NULL);
    dGeomSetBody(dCreateBox(t.space, 1, 1, 1), t.box);
    dBodySetPosition(t.box, 0, 0, 0.501);
    for (int k = 0; k < 40; k++) {
        dSpaceCollide(t.space, &t, near_geoms);
        ck_assert(dWorldStep(t.world, step));
        dJointGroupEmpty(t.contacts);
        ck_assert(sprag_world_stats(t.world, &s));
        ck_assert_int_le(s.contacts, 8);
    }
    ck_assert_int_ge(s.contacts, 4);
    ck_assert_double_eq_tol(dBodyGetPosition(t.box)[2], 0.5, 1e-6);
    close_table(&t);
    dGeomTriMeshDataDestroy(data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("many contacts");
    ADD_TESTS(suite, "all", {it_stands, METHODS}, {bounded_friction_adds_up, METHODS},
              {what_turns_with_it_has_as_few, METHODS}, {a_fine_mesh_has_as_few_as_a_plane, 1});
    return run_suite(suite);
}
