// Names of bodies, geoms and joints in messages.
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "describe.h"
#include "ode.h"
#include "suite.h"

static char text[DESCRIPTION_MAX];

static void setup(void)
{
    dInitODE();
    ck_assert_ptr_null(sprag_ode_unsupported());
}

static void teardown(void)
{
    dCloseODE();
}

// The oldest body of a world is number 1, and bodies move up when an older one is destroyed.
START_TEST(bodies_have_numbers)
{
    enum { COUNT = 5 };
    char start[16];
    dBodyID body[COUNT];
    dWorldID world = dWorldCreate(), other = dWorldCreate();
    for (int i = 0; i < COUNT; i++) {
        dBodyCreate(other);
        body[i] = dBodyCreate(world);
        dBodySetPosition(body[i], i, 0.5, -2);
    }
    for (int i = 0; i < COUNT; i++) {
        snprintf(start, sizeof start, "body %d (", i + 1);
        ck_assert_ptr_eq(strstr(describe_body(text, body[i]), start), text);
    }
    dBodyDestroy(body[1]);
    ck_assert_ptr_eq(strstr(describe_body(text, body[0]), "body 1 ("), text);
    ck_assert_ptr_eq(strstr(describe_body(text, body[2]), "body 2 (without geom, at (2, 0.5, -2)"),
                     text);
    ck_assert_ptr_null(strstr(text, "data"));
    ck_assert_str_eq(describe_body(text, NULL), "the static environment");
    dWorldDestroy(world);
    dWorldDestroy(other);
}
END_TEST

START_TEST(shapes_and_joints_have_names)
{
    dWorldID world = dWorldCreate();
    dBodyID body = dBodyCreate(world);
    dGeomID ball = dCreateSphere(NULL, 1), floor = dCreatePlane(NULL, 0, 0, 1, 0);
    dJointID hinge = dJointCreateHinge(world, NULL);
    dGeomSetBody(ball, body);
    dBodySetData(body, &world);
    dGeomSetData(floor, &world);
    ck_assert_ptr_eq(strstr(describe_body(text, body), "body 1 (sphere, at (0, 0, 0)"), text);
    ck_assert_ptr_nonnull(strstr(text, ", data 0x"));
    ck_assert_ptr_eq(strstr(describe_geom(text, ball), "the sphere of body 1 (at"), text);
    ck_assert_ptr_eq(strstr(describe_geom(text, floor), "the static plane 0x"), text);
    ck_assert_ptr_nonnull(strstr(text, ", data 0x"));
    ck_assert_ptr_eq(strstr(describe_joint(text, hinge), "hinge joint 0x"), text);
    dGeomDestroy(ball);
    dGeomDestroy(floor);
    dWorldDestroy(world);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("describe");
    ADD_TESTS_WITH(suite, "all", setup, teardown, {bodies_have_numbers, 1},
                   {shapes_and_joints_have_names, 1});
    return run_suite(suite);
}
