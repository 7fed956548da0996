// The fastest motion that a frame may have, by closed forms, and the units of its states.
#include <math.h>

#include "compliant_joints.h"
#include "suite.h"

static const double STEP = 0.01;

enum { PINNED, MOVED, BODIES, STATES = COMPLIANT_STATES * BODIES };

typedef struct scene {
    sprag_mover body[BODIES];
    sprag_frame frame;
    sprag_row row;
    sprag_stop stop;
    double response[2][6], x[STATES + 1], scale[STATES + 1];
    compliant_joints joints;
    compliant_run run;
} scene;

// A body without mass and one of 2 kg at rest, whose inertia is least about one axis and largest
// about the next.
static void open_scene(scene *s, int least)
{
    *s = (scene){.body = {[MOVED] = {.mass = 2}}, .frame = {.step = STEP, .bodies = BODIES}};
    for (int k = 0; k < 3; k++) {
        s->body[MOVED].inertia[4 * k] = k == least ? 0.02 : k == (least + 1) % 3 ? 0.18 : 0.08;
    }
    s->frame.body = s->body;
    s->joints.row = &s->row;
    s->joints.stop = &s->stop;
    s->joints.response = &s->response;
    s->run.frame = &s->frame;
    s->run.joints = &s->joints;
    s->run.state.x = s->x;
    s->run.sizes.scale = s->scale;
}

static double fastest(scene *s)
{
    s->run.sizes.fastest = s->run.sizes.change = s->run.sizes.step_range = 0;
    compliant_set_scale(&s->run);
    return s->run.sizes.fastest;
}

// In a step h a force F changes the velocity by F h / m, and a torque T that of a point at the
// least radius of gyration r, 0.1 m, by T h / (m r). A spin counts at the largest radius, 0.3 m.
START_TEST(bodies_move_as_fast_as_forces_make_them)
{
    scene s;
    open_scene(&s, _i);
    sprag_mover *m = &s.body[MOVED];
    ck_assert_double_eq(fastest(&s), 1e-9); // what rests
    m->force[3 + _i] = -0.4;
    ck_assert_double_eq_tol(fastest(&s), 0.4 * STEP / (2 * 0.1), 1e-15);
    ck_assert_double_eq(s.run.sizes.change, 0);
    m->force[0] = -6, m->force[1] = 8;
    ck_assert_double_eq_tol(fastest(&s), 5 * STEP, 1e-15);
    ck_assert_double_eq_tol(s.run.sizes.change, 5 * STEP, 1e-15);
    m->velocity[_i] = -0.2;
    ck_assert_double_eq_tol(fastest(&s), 0.2 + 5 * STEP, 1e-15);
    m->velocity[3] = 2, m->velocity[4] = 1, m->velocity[5] = -2;
    ck_assert_double_eq_tol(fastest(&s), 0.3 * 3, 1e-15);
    // of two bodies that may get twice as fast, with a point twice the radius away
    ck_assert_double_eq_tol(s.run.sizes.step_range, 4 * STEP * (0.9 + 4 * 0.9), 1e-15);
    s.body[PINNED].velocity[3] = -3; // its size is unknown
    ck_assert_double_eq_tol(fastest(&s), 3, 1e-15);
}
END_TEST

START_TEST(states_have_the_units_of_the_motion)
{
    scene s;
    open_scene(&s, 0);
    sprag_mover *m = &s.body[MOVED];
    m->velocity[2] = 3;
    const double *scale = s.scale + COMPLIANT_STATES * MOVED;
    for (int spins = 0; spins < 2; spins++) {
        m->velocity[4] = spins ? 200 : 0;
        const double speed = spins ? 60 : 3, spin = spins ? 200 : 10;
        ck_assert_double_eq_tol(fastest(&s), speed, 1e-13);
        for (int k = 0; k < 3; k++) {
            ck_assert_double_eq_tol(scale[k], speed * STEP, 1e-13);
            ck_assert_double_eq_tol(scale[COMPLIANT_VELOCITY + k], speed, 1e-13);
            ck_assert_double_eq_tol(scale[COMPLIANT_SPIN + k], spin, 1e-13);
        }
        for (int k = 0; k < 4; k++) {
            ck_assert_double_eq_tol(scale[COMPLIANT_QUATERNION + k], spins ? 1 : 0.1, 1e-15);
        }
        ck_assert_double_eq(s.scale[STATES], STEP);
    }
}
END_TEST

// A row gives a body at rest its own speed, or what its force can; a stop, what takes it back. What
// turns moves by the largest radius of gyration.
START_TEST(rows_move_what_rests)
{
    scene s;
    open_scene(&s, 0);
    const int axis = 3 * _i;
    s.row =
        (sprag_row){.body = {SPRAG_STATIC, MOVED}, .bias = -0.6, .lo = -INFINITY, .hi = INFINITY};
    s.row.jacobian[1][axis] = 1;
    s.response[1][axis] = _i ? 1 / 0.02 : 1 / 2.0;
    s.run.rows = 1;
    const double radius = _i ? 0.3 : 1, response = s.response[1][axis];
    ck_assert_double_eq_tol(fastest(&s), radius * 0.6, 1e-15);
    s.x[COMPLIANT_STATES * MOVED + (_i ? COMPLIANT_SPIN : COMPLIANT_VELOCITY)] = 0.1;
    ck_assert_double_eq_tol(fastest(&s), radius * 0.7, 1e-15);
    s.row.lo = -0.3, s.row.hi = 0.2;
    ck_assert_double_eq_tol(fastest(&s), radius * response * 0.3 * STEP, 1e-15);
    s.stop = (sprag_stop){.sign = 1, .erp = 0.2, .inside = -0.05};
    s.run.stops = 1;
    ck_assert_double_eq_tol(fastest(&s), radius * 0.2 * 0.05 / STEP, 1e-14);
}
END_TEST

// A share of the way within the step, and no less than rounding.
START_TEST(touch_has_a_distance)
{
    scene s;
    const sprag_compliant_options options = {.tolerance = 1e-4};
    open_scene(&s, 0);
    s.run.options = &options;
    s.body[MOVED].velocity[0] = 3e6;
    ck_assert_double_eq(fastest(&s), 3e6);
    ck_assert_double_eq_tol(compliant_touch_distance(&s.run), COMPLIANT_BAND * 1e-2 * 3e6 * STEP,
                            1e-12);
    s.body[MOVED].velocity[0] = 0;
    ck_assert_double_eq(fastest(&s), 1e-9);
    ck_assert_double_eq(compliant_touch_distance(&s.run), COMPLIANT_BAND_MIN);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scale");
    ADD_TESTS(suite, "all", {bodies_move_as_fast_as_forces_make_them, 3},
              {states_have_the_units_of_the_motion, 1}, {rows_move_what_rests, 2},
              {touch_has_a_distance, 1});
    return run_suite(suite);
}
