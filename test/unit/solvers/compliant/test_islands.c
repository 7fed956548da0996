// Contacts that hold, island by island: closed forms of pucks on the ground.
#include <check.h>
#include <string.h>

#include "compliant_run.h"
#include "problems.h"
#include "suite.h"

static const double MASS = 2, MU = 0.5, YIELD = 1e-7;

static scene s;

static sprag_result solve_islands(void)
{
    static sprag_scratch scratch;
    double work = 1e6;
    sprag_stribeck_options options = sprag_stribeck_defaults();
    options.work_left = &work;
    options.softness = 0;
    options.warm = true;
    options.tolerance = 1e-8;
    options.stiction_tolerance = 1e-7;
    for (int b = 0; b < s.problem.bodies; b++) {
        memcpy(s.velocity[b], s.body[b].velocity, sizeof s.velocity[b]);
    }
    sprag_result result =
        compliant_island_forces(&s.problem, &options, &scratch, &s.solution, &s.stats);
    sprag_scratch_free(&scratch);
    return result;
}

// A puck on the ground, pushed by a share of the friction that it bears.
static void add_puck(int body, double share)
{
    sprag_contact *contact = add_ground(&s, body, MU);
    contact->compliance = YIELD * STEP / MASS;
    push(&s, body, share * MU * MASS * G, 0, 0);
}

// Some stick and some slide, one flies; a row drags two at once, and nothing pushes what does not
// move.
START_TEST(each_has_its_own_forces)
{
    enum { STICKS, SLIDES, FLIES, DRAGS, DRAGGED, KINEMATIC, BODIES };
    const double slide = MU * G * STEP;
    open_scene(&s);
    for (int b = 0; b < BODIES; b++) {
        add_cube(&s, b == KINEMATIC ? 0 : MASS);
    }
    fall(&s);
    add_puck(STICKS, 0.5);
    add_puck(DRAGGED, 0);
    add_puck(SLIDES, 3);
    add_puck(DRAGS, 4);
    add_ground(&s, KINEMATIC, MU);
    s.contact_force[4][0] = 1;
    sprag_row *row = add_row(&s, DRAGS, DRAGGED);
    row->jacobian[0][0] = 1;
    row->jacobian[1][0] = -1;
    ck_assert_str_eq(sprag_result_name(solve_islands()), "ok");
    ck_assert_double_eq_tol(s.velocity[STICKS][0], 0, 1e-6);
    ck_assert_double_eq_tol(s.velocity[SLIDES][0], 2 * slide, 1e-6);
    ck_assert_double_eq_tol(s.velocity[DRAGS][0], slide, 1e-6);
    ck_assert_double_eq_tol(s.velocity[DRAGGED][0], slide, 1e-6);
    ck_assert_double_eq_tol(s.velocity[FLIES][2], -G * STEP, 1e-15);
    ck_assert_double_eq_tol(s.row_force[0], -2 * MU * MASS * G, 1e-4);
    for (int i = 0; i < 4; i++) {
        ck_assert_double_eq_tol(s.contact_force[i][0], MASS * G, 1e-4);
    }
    ck_assert_double_eq_tol(s.contact_force[0][1], -0.5 * MU * MASS * G, 1e-4);
    ck_assert_double_eq(s.contact_force[4][0], 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("islands");
    ADD_TESTS(suite, "forces", {each_has_its_own_forces, 1});
    return run_suite(suite);
}
