// The change of the forces of fluids that a step has missed: what the next step begins with.
#include <check.h>

#include "fluids.h"
#include "island.h"
#include "start.h"
#include "suite.h"
#include "worlds.h"

enum { BODIES = 4 };

static const double flown = 0.02; // s

// N and N m, of a body's number; the running ODE has no fluids, and adds none.
static void set_force(ode_fluid_body *of, int number)
{
    for (int k = 0; k < 6; k++) {
        of->force[k] = (number + 1) * (k + 1);
    }
}

static double speed_lost(int number, int k, double mass)
{
    return flown / 2 * (number + 1) * (k + 1) / mass;
}

static int number_of(dBodyID body)
{
    return (int)dBodyGetPosition(body)[0];
}

static dBodyID add_body(dWorldID world, int number)
{
    return create_body(world, 2, number, 0, 0);
}

static ode_fluid_body *body_at(const ode_fluids *fluids, int i)
{
    return sprag_ode_set_value(&fluids->now, i);
}

static void end_body(ode_fluid_body *of, double time)
{
    of->flown = time;
    sprag_ode_read_velocity(of->id, of->velocity);
}

static void begin(ode_fluids *fluids, dWorldID world)
{
    sprag_ode_fluids_begin_step(fluids, world, false);
    for (int i = 0; i < fluids->now.count; i++) {
        for (int k = 0; k < 6; k++) {
            ck_assert_double_eq(body_at(fluids, i)->force[k], 0);
        }
    }
}

// Bodies were pushed by forces that are gone. Half of that is what they have too much; less where
// they have flown for half of the step. None is missing of what is new, kinematic, or has another
// velocity than at the step's end, and once all is forgotten.
START_TEST(steps_begin_with_what_was_missed)
{
    static const dReal none[3];
    dWorldID world = dWorldCreate();
    dBodyID body[BODIES + 8];
    ode_fluids fluids = {0};
    for (int i = 0; i < BODIES; i++) {
        body[i] = add_body(world, i);
    }
    begin(&fluids, world);
    ck_assert_int_eq(fluids.now.count, BODIES);
    for (int i = 0; i < BODIES; i++) {
        ode_fluid_body *of = body_at(&fluids, i);
        const int number = number_of(of->id);
        ck_assert_ptr_eq(of->id, body[number]);
        set_force(of, number);
        end_body(of, number == 3 ? 0 : flown);
    }
    for (int i = BODIES; i < BODIES + 8; i++) { // more than there was room for
        body[i] = add_body(world, i);
    }
    dBodyDestroy(body[1]);
    dBodyAddForce(body[2], 10, 0, 0); // of the program
    begin(&fluids, world);
    ck_assert_int_eq(fluids.now.count, BODIES + 7);
    for (int i = 0; i < BODIES + 8; i++) {
        if (i != 1) {
            for (int k = 0; k < 3; k++) {
                ck_assert_double_eq_tol(dBodyGetLinearVel(body[i])[k],
                                        i < 3 ? -speed_lost(i, k, 2) : 0, 1e-12);
            }
            const bool turns = dot3(dBodyGetAngularVel(body[i]), dBodyGetAngularVel(body[i])) > 0;
            ck_assert(turns == (i < 3));
        }
    }
    ck_assert_double_eq(dBodyGetForce(body[2])[0], 10);

    for (int i = 0; i < fluids.now.count; i++) {
        ode_fluid_body *of = body_at(&fluids, i);
        set_force(of, 0);
        end_body(of, flown);
        memcpy(of->velocity, none, sizeof none); // of bodies 0 and 2 it was not that
    }
    dBodySetKinematic(body[3]);
    begin(&fluids, world);
    for (int i = 3; i < BODIES + 8; i++) {
        ck_assert_double_eq_tol(dBodyGetLinearVel(body[i])[0], i == 3 ? 0 : -speed_lost(0, 0, 2),
                                1e-12);
    }
    ck_assert_double_eq_tol(dBodyGetLinearVel(body[0])[0], -speed_lost(0, 0, 2), 1e-12);
    ck_assert_double_eq_tol(dBodyGetLinearVel(body[2])[0], -speed_lost(2, 0, 2), 1e-12);

    for (int i = 0; i < fluids.now.count; i++) {
        set_force(body_at(&fluids, i), 0);
        end_body(body_at(&fluids, i), flown);
    }
    sprag_ode_set_clear(&fluids.now);
    begin(&fluids, world);
    ck_assert_double_eq_tol(dBodyGetLinearVel(body[4])[0], -speed_lost(0, 0, 2), 1e-12);
    sprag_ode_set_free(&fluids.now);
    sprag_ode_set_free(&fluids.last);
    dWorldDestroy(world);
}
END_TEST

int main(void)
{
    start_ode();
    ck_assert_ptr_null(sprag_ode_unsupported()); // lists of bodies are known
    Suite *suite = suite_create("fluids");
    ADD_TESTS(suite, "all", {steps_begin_with_what_was_missed, 1});
    return run_suite(suite);
}
