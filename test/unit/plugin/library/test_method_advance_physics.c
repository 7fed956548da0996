// method=advance against scenes with a known answer in closed form.
#include <check.h>
#include <math.h>
#include <string.h>

#include "advance_program.h"
#include "start.h"
#include "suite.h"

// ---- friction

static void add_wall(scene *s, double x) // its faces are 0.5 m from x
{
    dGeomSetPosition(dCreateBox(s->space, 1, 4, 40), x, 0, 0);
}

typedef struct slot {
    int walls;
    double play; // m, on each side
    double mu;
    int mode;
} slot;

static const slot slots[] = {
    {1, 0.5e-6, 1, 0},
    {1, 0.1e-6, HUGE_VAL, 0},
    {1, 0.3e-6, HUGE_VAL, dContactApprox1},
    {2, 0.5e-6, 1, 0},
    {2, 0.5e-6, HUGE_VAL, dContactApprox1},
    {2, 0.3e-6, 1, 0},
    {2, 0.3e-6, 0.5, dContactApprox1},
    {2, 0.1e-6, HUGE_VAL, 0},
    {2, 0.03e-6, 1, 0},
    {2, 0, 0.5, dContactApprox1},
    {2, 0, 1, 0},
};

enum { SLOTS = sizeof slots / sizeof slots[0] };

// Nothing presses the box on the walls, so it falls, as freely as ODE lets it, however narrow the
// slot is.
START_TEST(no_friction_without_normal_force)
{
    enum { FRAMES = 30 };
    const slot *slot = &slots[_i];
    scene *s = open_scene("method=advance");
    s->surface.mu = slot->mu;
    s->surface.mode = slot->mode;
    for (int i = 0; i < slot->walls; i++) {
        add_wall(s, (i ? -1 : 1) * (1 + slot->play));
    }
    dBodyID box = add_box(s, 0, 0, 0);
    for (int frame = 0; frame < FRAMES; frame++) {
        step(s);
        for (int i = 0; i < s->joints; i++) {
            ck_assert_double_lt(fabs(s->feedback[i].f1[0]), 1e-3);
        }
    }
    ck_assert_double_eq_tol(dBodyGetLinearVel(box)[2], -G * FRAMES * STEP, 1e-6);
    ck_assert_double_lt(fabs(dBodyGetPosition(box)[0]), 1e-6);
    close_scene(s);
}
END_TEST

// A contact that is pressed on has the friction of its surface, from its first step on. The box
// stops too slowly to tip over.
START_TEST(friction_with_normal_force)
{
    static const double mu[] = {1, HUGE_VAL}; // N
    scene *s = open_scene("method=advance");
    s->surface.mode = 0;
    s->surface.mu = mu[_i];
    add_floor(s);
    dBodyID box = add_box(s, 0, 0, 0.5 + REST);
    dBodySetLinearVel(box, 0.09, 0, 0);
    step(s);
    double left = _i ? 0 : 0.09 - s->joints * mu[_i] / 2 * STEP; // each point has it
    ck_assert_double_eq_tol(dBodyGetLinearVel(box)[0], left, 1e-4);
    close_scene(s);
}
END_TEST

int main(void)
{
    start_ode();
    dSetMessageHandler(quiet);
    Suite *suite = suite_create("method_advance_physics");
    TCase *friction = tcase_create("friction");
    tcase_add_loop_test(friction, no_friction_without_normal_force, 0, SLOTS);
    tcase_add_loop_test(friction, friction_with_normal_force, 0, 2);
    suite_add_tcase(suite, friction);
    return run_suite(suite);
}
