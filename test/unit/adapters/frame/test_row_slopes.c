// Derivatives of joint rows by the poses: of which motors and stops they are known.
#include <check.h>

#include "frame_step.h"
#include "islands.h"

typedef struct joint_case {
    dReal motor, stop[2], bounce; // N m or N, the most of the motor; rad or m
} joint_case;

enum { TYPES = 4 };

static const struct type {
    dJointID (*create)(dWorldID world, dJointGroupID group);
    void (*set)(dJointID joint, int parameter, dReal value);
} types[TYPES] = {{dJointCreateHinge, dJointSetHingeParam},
                  {dJointCreateSlider, dJointSetSliderParam},
                  {dJointCreateHinge2, dJointSetHinge2Param},
                  {dJointCreateUniversal, dJointSetUniversalParam}};

static bool are_known(const struct type *type, const joint_case *of, dReal erp, bool second)
{
    sprag_row_slopes slopes[6][2];
    const int group = second ? dParamLoStop2 - dParamLoStop : 0;
    dWorldID world = dWorldCreate();
    dWorldSetERP(world, erp);
    dJointID joint = type->create(world, 0);
    dJointAttach(joint, create_body(world, 1, 0, 0, 0), create_body(world, 2, 1, 0, 0));
    type->set(joint, dParamFMax + group, of->motor);
    if (of->stop[0] != 0 || of->stop[1] != 0) {
        type->set(joint, dParamLoStop + group, of->stop[0]);
        type->set(joint, dParamHiStop + group, of->stop[1]);
        type->set(joint, dParamLoStop + group, of->stop[0]);
    }
    type->set(joint, dParamBounce + group, of->bounce);
    pull p = pull_world(world);
    const bool known =
        sprag_ode_row_slopes(slopes, p.ode.problem.row, p.ode.problem.rows, joint, world, step);
    release(&p);
    dWorldDestroy(world);
    return known;
}

// Those of a motor are, with a bounded force of every joint; without a bound, they are where ODE's
// error of the axis is, and no stop locks it. Those of a stop are where it neither bounces nor has
// a motor, or is a lock. A cross joint's stops have none.
START_TEST(motors_and_stops_have_slopes)
{
    static const joint_case bounded = {.motor = 5}, free = {.motor = dInfinity},
                            stop = {.stop = {0.1, 0.5}}, bounces = {0, {0.1, 0.5}, 0.5},
                            driven = {.motor = 5, .stop = {0.1, 0.5}}, lock = {0, {0.1, 0.1}, 0.5};
    for (int i = 0; i < TYPES; i++) {
        const bool cross = i == 3;
        ck_assert(are_known(&types[i], &bounded, 0.2, false));
        ck_assert(are_known(&types[i], &free, 0.2, false) == !cross);
        ck_assert(are_known(&types[i], &stop, 0.2, false) == !cross);
        ck_assert(are_known(&types[i], &lock, 0.2, false) == !cross);
        ck_assert(!are_known(&types[i], &bounces, 0.2, false));
        ck_assert(!are_known(&types[i], &driven, 0.2, false));
    }
    ck_assert(are_known(&types[2], &free, 0.2, true));
    ck_assert(!are_known(&types[0], &stop, 0, false) && are_known(&types[0], &bounded, 0, false));
}
END_TEST

int main(void)
{
    start_ode();
    Suite *suite = suite_create("row slopes");
    ADD_TESTS(suite, "all", {motors_and_stops_have_slopes, 1});
    return run_suite(suite);
}
