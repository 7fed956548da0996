// What bodies hold between them while they move as one, as crates on a plate that turns freely: it
// does not slip, whatever the effort.
#include <check.h>

#include "surface_rig.h"

enum { EFFORTS = 3 };

static const char *const efforts[EFFORTS] = {"effort=fast", "effort=balanced", "effort=exact"};

// ---- two crates that are pressed on both sides of a plate, without gravity

static const struct plate {
    double speed, place, crate, mass; // rad/s, m from the middle, kg, kg
} plates[] = {
    {0.1, 0.8, 20, 5}, {1, 0.3, 1, 200}, {1, 0.8, 20, 5}, {1.9, 0.8, 5, 20}, {1.9, 0.8, 1, 200},
};

START_TEST(crates_on_a_plate_that_turns_freely_stay)
{
    const struct plate *p = &plates[_i / EFFORTS];
    const double height = 5, edge = 0.4, press = 100; // m, m, N
    const double middle = 2 * p->crate * p->place / (2 * p->crate + p->mass);
    rig r = open_rig(efforts[_i % EFFORTS], dContactApprox1);
    r.surface.mu = 0.6;
    dWorldSetGravity(r.world, 0, 0, 0);
    add_box(&r, p->mass, 3, 3, 0.1, height - 0.05);
    for (int side = -1; side <= 1; side += 2) {
        dBodyID crate = add_box(&r, p->crate, edge, edge, edge, 1);
        dBodySetPosition(crate, p->place, 0, height + side * (0.05 + edge / 2));
    }
    for (int b = 0; b < r.bodies; b++) { // about the centre of all
        dBodySetAngularVel(r.body[b], 0, 0, p->speed);
        dBodySetLinearVel(r.body[b], 0, p->speed * ((b ? p->place : 0) - middle), 0);
    }
    for (int i = 0; i < 500; i++) {
        for (int b = 1; b < r.bodies; b++) {
            dBodyAddForce(r.body[b], 0, 0, b == 1 ? press : -press);
        }
        step_rig(&r);
        for (int b = 1; b < r.bodies; b++) {
            const dReal *x = dBodyGetPosition(r.body[b]);
            dVector3 at;
            dBodyGetPosRelPoint(r.body[0], x[0], x[1], x[2], at);
            ck_assert_double_lt(hypot(at[0] - p->place, at[1]), 1e-6);
        }
    }
    close_rig(&r);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("grasp");
    ADD_TESTS_WITH(suite, "all", setup, dCloseODE,
                   {crates_on_a_plate_that_turns_freely_stay, EFFORTS * COUNT(plates)});
    return run_suite(suite);
}
