// The ODE that runs is one whose layout sprag knows.
#include "ode.h"
#include "start.h"
#include "suite.h"

START_TEST(the_running_ode_is_the_known_one)
{
    start_ode();
    ck_assert_ptr_null(sprag_ode_unsupported());
    dCloseODE();
}
END_TEST

// Objects that are not neighbours in the world's list do not prove how it is linked.
START_TEST(lists_are_known_by_neighbours)
{
    enum { JOINTS = 3 };
    dJointID joint[JOINTS];
    start_ode();
    ck_assert_ptr_null(sprag_ode_unsupported());
    dWorldID world = dWorldCreate();
    for (int i = 0; i < JOINTS; i++) {
        joint[i] = dJointCreateBall(world, 0);
    }
    ck_assert(sprag_ode_lists_are_known());
    ck_assert_ptr_eq(sprag_ode_newest_joint(world), joint[2]);
    ck_assert_ptr_eq(sprag_ode_older_joint(joint[2]), joint[1]);
    sprag_ode_check_joint_list(joint[0], joint[2]);
    ck_assert(!sprag_ode_lists_are_known());
    ck_assert_ptr_null(sprag_ode_newest_joint(world));
    sprag_ode_check_joint_list(joint[1], joint[2]); // the first one is not the oldest
    ck_assert(!sprag_ode_lists_are_known());
    sprag_ode_check_joint_list(joint[0], joint[1]); // the world points to neither
    ck_assert(!sprag_ode_lists_are_known());
    dWorldDestroy(world);
    dCloseODE();
}
END_TEST

static int touches_nowhere(dGeomID a, dGeomID b, int flags, dContactGeom *contact, int skip)
{
    (void)a, (void)b, (void)flags, (void)contact, (void)skip;
    return 0;
}

// Either way round, of the first class, too.
START_TEST(replaced_colliders_are_known)
{
    start_ode();
    ck_assert_ptr_null(sprag_ode_unsupported());
    dGeomID ball = dCreateSphere(NULL, 1), box = dCreateBox(NULL, 1, 1, 1);
    ck_assert(!sprag_ode_is_overridden(ball, box));
    sprag_ode_override_collider(dSphereClass, dBoxClass, touches_nowhere);
    ck_assert(sprag_ode_is_overridden(ball, box) && sprag_ode_is_overridden(box, ball));
    ck_assert(!sprag_ode_is_overridden(ball, ball) && !sprag_ode_is_overridden(box, box));
    dGeomDestroy(ball);
    dGeomDestroy(box);
    dCloseODE();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("runtime");
    ADD_TESTS(suite, "all", {the_running_ode_is_the_known_one, 1},
              {lists_are_known_by_neighbours, 1}, {replaced_colliders_are_known, 1});
    return run_suite(suite);
}
