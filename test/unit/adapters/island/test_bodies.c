// Bodies that are pulled from ODE: free velocities, inertia, kinematic bodies, values that are not
// finite. dWorldStep is stock here: no solver and no plugin is linked.
#include <check.h>

#include "islands.h"
#include "suite.h"
#include "worlds.h"

// ---- bodies

// v* = v + h M^-1 f is what a stock step makes of a free body; the linear part to the bit. The
// gyroscopic torque is in both velocities: their difference is that of forces and gravity alone.
START_TEST(free_velocity_is_stock)
{
    dWorldID world[2] = {dWorldCreate(), dWorldCreate()};
    dBodyID body[2] = {create_flyer(world[0], _i), create_flyer(world[1], _i)};
    pull p = pull_world(world[0]);
    const sprag_body *b = &p.ode.problem.body[0];
    body_state before = state_of(body[0]);
    dWorldStep(world[1], step);
    body_state after = state_of(body[1]);
    ck_assert_mem_eq(b->velocity, before.v, _i & GYROSCOPIC ? sizeof(double[3]) : sizeof before.v);
    ck_assert_mem_eq(b->free_velocity, after.v, sizeof(double[3]));
    assert_vectors(b->free_velocity + 3, after.v + 3, 3, 1e-14);
    if (!(_i & FORCES)) {
        assert_vectors(b->velocity + 3, after.v + 3, 3, 1e-14);
    }
    ck_assert_double_eq(b->mass, 2.5);
    release(&p);
    dWorldDestroy(world[0]);
    dWorldDestroy(world[1]);
    (void)body;
}
END_TEST

// R I R', in world axes.
START_TEST(inertia_is_turned_into_world_axes)
{
    dWorldID world = dWorldCreate();
    dBodyID body = create_flyer(world, 0);
    dMass m;
    dBodyGetMass(body, &m);
    pull p = pull_world(world);
    const dReal *R = dBodyGetRotation(body);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            double sum = 0;
            for (int k = 0; k < 9; k++) {
                sum += R[4 * i + k / 3] * m.I[4 * (k / 3) + k % 3] * R[4 * j + k % 3];
            }
            ck_assert_double_eq_tol(p.ode.problem.body[0].inertia[3 * i + j], sum, 1e-15);
        }
    }
    release(&p);
    dWorldDestroy(world);
}
END_TEST

// Neither gravity nor forces nor its own rotation change the velocity of a kinematic body.
START_TEST(kinematic_body_keeps_its_velocity)
{
    dWorldID world = dWorldCreate();
    dBodyID body = create_flyer(world, GRAVITY | GYROSCOPIC | FORCES);
    dBodySetKinematic(body);
    pull p = pull_world(world);
    const sprag_body *b = &p.ode.problem.body[0];
    body_state before = state_of(body);
    ck_assert_double_eq(b->mass, 0);
    ck_assert_mem_eq(b->velocity, before.v, sizeof before.v);
    ck_assert_mem_eq(b->free_velocity, before.v, sizeof before.v);
    release(&p);
    dWorldDestroy(world);
}
END_TEST

// Moments that only just pass as a mass.
START_TEST(odd_inertia_turns_as_in_stock)
{
    static const double moment[][3] = {
        {1e-120, 1, 1}, {1e-9, 1, 1e9}, {1e-90, 1e-90, 1e-90}, {1e90, 1e90, 1e90}};
    for (int gyroscopic = 0; gyroscopic < 2; gyroscopic++) {
        dWorldID world[2] = {dWorldCreate(), dWorldCreate()};
        dBodyID body[2];
        for (int i = 0; i < 2; i++) {
            dMass m;
            body[i] = create_flyer(world[i], FORCES);
            dBodyGetMass(body[i], &m);
            memset(m.I, 0, sizeof m.I);
            for (int k = 0; k < 3; k++) {
                m.I[5 * k] = moment[_i][k];
            }
            dBodySetMass(body[i], &m);
            dBodySetGyroscopicMode(body[i], gyroscopic);
        }
        pull p = pull_world(world[0]);
        dWorldStep(world[1], step);
        body_state after = state_of(body[1]);
        assert_vectors(p.ode.problem.body[0].free_velocity, after.v, 6, 1e-12);
        release(&p);
        dWorldDestroy(world[0]);
        dWorldDestroy(world[1]);
    }
}
END_TEST

START_TEST(finds_a_body_that_is_not_finite)
{
    for (int what = 0; what < 4; what++) {
        dWorldID world = dWorldCreate();
        dBodyID body[3];
        for (int i = 0; i < 3; i++) {
            body[i] = create_body(world, 1, i, 0, 0);
            if (i) {
                dJointAttach(dJointCreateBall(world, 0), body[i], body[i - 1]);
            }
        }
        switch (what) {
        case 0:
            dBodySetLinearVel(body[1], 0, (dReal)NAN, 0);
            break;
        case 1:
            dBodySetAngularVel(body[1], (dReal)INFINITY, 0, 0);
            break;
        case 2:
            dBodySetPosition(body[1], 0, 0, (dReal)-INFINITY);
            break;
        default:
            dBodySetLinearVel(body[1], (dReal)NAN, (dReal)INFINITY, 0);
            break;
        }
        dBodyAddForce(body[0], 1, 2, 3);
        pull p = pull_island(world, 0, NULL);
        ck_assert_str_eq(sprag_result_name(p.result), sprag_result_name(SPRAG_BAD_PROBLEM));
        ck_assert_ptr_eq(p.ode.errors.nonfinite_body, body[1]);
        body_state before = state_of(body[0]);
        sprag_ode_freeze(&p.island);
        body_state after = state_of(body[0]);
        assert_same_bits(&after, &before);
        ck_assert_double_eq(dBodyGetForce(body[0])[2], 0);
        release(&p);
        dWorldDestroy(world);
    }
}
END_TEST

// Gravity still acts.
START_TEST(takes_a_force_that_is_not_finite_as_zero)
{
    dWorldID world = dWorldCreate();
    dWorldSetGravity(world, 0, 0, -10);
    dBodyID body = create_body(world, 1, 0, 0, 0);
    if (_i) {
        dBodyAddTorque(body, 0, (dReal)(_i > 1 ? INFINITY : NAN), 0);
    } else {
        dBodyAddForce(body, (dReal)NAN, 0, 0);
    }
    dBodyAddForce(body, 0, 5, 0);
    pull p = pull_world(world);
    const double expected[6] = {0, 0, -0.1};
    ck_assert_ptr_eq(p.ode.errors.invalid_force, body);
    ck_assert_ptr_null(p.ode.errors.nonfinite_body);
    assert_vectors(p.ode.problem.body[0].free_velocity, expected, 6, 1e-16);
    release(&p);
    dWorldDestroy(world);
}
END_TEST

// A force or torque of more than 1e150 is no input; no part of either acts, nor does gravity.
// Moments that have no inverse count as 1 kg m^2, as dBodySetMass has it.
START_TEST(movers_take_no_force_that_is_too_great)
{
    static const double size[] = {1e100, 1e149, 1e151, 1e200};
    const dReal gravity[3] = {0, 0, -10};
    for (int i = 0; i < 8; i++) {
        dWorldID world = dWorldCreate();
        dBodyID body = create_body(world, 1, 0, 0, 0);
        const bool good = i / 2 < 2;
        sprag_mover m;
        if (i % 2) {
            dBodyAddTorque(body, 0, -size[i / 2], 0);
        } else {
            dBodyAddForce(body, 0, -size[i / 2], 0);
        }
        ck_assert(sprag_ode_pull_mover(&m, body, gravity) == good);
        ck_assert_double_eq(m.force[i % 2 ? 4 : 1], good ? -size[i / 2] : 0);
        ck_assert_double_eq(m.force[2], good ? -10 : 0);
        dWorldDestroy(world);
    }
}
END_TEST

START_TEST(movers_without_an_inverse_turn_as_in_stock)
{
    dWorldID world = dWorldCreate();
    dBodyID body = create_body(world, 1, 0, 0, 0);
    const dReal gravity[3] = {0};
    dMass mass;
    sprag_mover m;
    dBodyGetMass(body, &mass);
    for (int k = 0; k < 3; k++) {
        mass.I[5 * k] = 1e-120;
    }
    dBodySetMass(body, &mass);
    ck_assert(sprag_ode_pull_mover(&m, body, gravity));
    for (int k = 0; k < 9; k++) {
        ck_assert_double_eq(m.inertia[k], k % 4 == 0);
    }
    dWorldDestroy(world);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bodies");
    ADD_TESTS_WITH(suite, "all", setup, dCloseODE, {free_velocity_is_stock, FLYERS},
                   {inertia_is_turned_into_world_axes, 1}, {kinematic_body_keeps_its_velocity, 1},
                   {odd_inertia_turns_as_in_stock, 4}, {finds_a_body_that_is_not_finite, 1},
                   {takes_a_force_that_is_not_finite_as_zero, 3},
                   {movers_take_no_force_that_is_too_great, 1},
                   {movers_without_an_inverse_turn_as_in_stock, 1});
    return run_suite(suite);
}
