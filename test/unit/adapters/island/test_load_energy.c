// The account of the energy that the inertia of a loaded joint has taken, and may give back.
#include <check.h>
#include <math.h>

#include "island.h"
#include "loads.h"
#include "suite.h"

static const double LEFT = 0.1; // J, in the account before the step

// A body that spins about z, slower after the step, with an added inertia of 1 kg m^2 that pulls it
// towards another spin, and a row with an impulse of 1 N s. The row mends an error by twice the
// body's velocity in the middle of the step.
typedef struct step_of_joint {
    sprag_body body[2];
    sprag_row row;
    ode_stiffened_four stiffened;
    double velocity[2][6], row_force[1], ahead[1];
    ode_mending mending[1];
    dJointID joint[1];
    ode_problem pulled;
} step_of_joint;

static const double BEFORE = 1, AFTER = 0.9; // rad/s

static dWorldID world;
static dJointID ball; // whose row it is

static void setup(void)
{
    dInitODE2(0);
    world = dWorldCreate();
    ball = dJointCreateBall(world, 0);
}

static void teardown(void)
{
    dWorldDestroy(world);
    dCloseODE();
}

static void take_step(step_of_joint *s, double target, double mends)
{
    *s = (step_of_joint){.body = {{.mass = 1, .inertia = {2, 0, 0, 0, 2, 0, 0, 0, 2}}},
                         .row = {.body = {0, SPRAG_STATIC},
                                 .jacobian = {{1}},
                                 .bias = mends,
                                 .lo = -INFINITY,
                                 .hi = INFINITY},
                         .stiffened = {.added = {{1}, {0}, {0}, {1}, {0}, {1}},
                                       .trace = {3},
                                       .kept = {target / BEFORE},
                                       .target = {{0}, {0}, {target}},
                                       .own = {{0}, {0}, {BEFORE}},
                                       .free = {{0}, {0}, {AFTER + (AFTER - target)}},
                                       .stored = {LEFT}},
                         .velocity = {{mends / 2 + 0.5, 0, 0, 0, 0, AFTER}},
                         .row_force = {100},
                         .joint = {ball}};
    s->body[0].velocity[0] = s->body[0].free_velocity[0] = mends / 2 - 0.5;
    s->body[0].velocity[5] = BEFORE;
    s->body[0].free_velocity[5] = AFTER; // what `free` becomes by the added inertia and its target
    s->pulled = (ode_problem){
        .problem = {.step = 0.01, .bodies = 1, .rows = 1, .body = s->body, .row = &s->row},
        .solution = {.velocity = s->velocity, .row_force = s->row_force},
        .body = s->body,
        .row = &s->row,
        .row_joint = s->joint,
        .stiffened_four = &s->stiffened,
        .stiffened_fours = 1,
        .stiffened_bodies = 1,
        .joint_rows = 1,
        .ahead = s->ahead,
        .mending = s->mending};
}

// J, that the added inertia brings into a step.
static double brought_in(double target)
{
    return (target - AFTER) * (BEFORE + AFTER) / 2;
}

// What a row takes out as it mends makes room; what it brings in takes room.
START_TEST(an_account_keeps_what_inertia_takes)
{
    static const double mends[] = {-0.2, 0, 0.2};
    const double target = 0.5, taken = -brought_in(target), mending = mends[_i] / 2;
    step_of_joint s;
    take_step(&s, target, mends[_i]);
    sprag_ode_charge_loads(&s.pulled);
    ck_assert_double_eq_tol(s.stiffened.stored[0], LEFT - mending + taken, 1e-12);
}
END_TEST

// What a body brings in that the program moves is its own.
START_TEST(an_account_leaves_out_what_pushes)
{
    const double speed = 0.1, target = 0.5;
    step_of_joint s;
    take_step(&s, target, 0);
    s.body[1].velocity[0] = s.velocity[1][0] = speed;
    s.row.body[1] = 1;
    s.row.jacobian[1][0] = -1;
    s.pulled.problem.bodies = 2;
    sprag_ode_charge_loads(&s.pulled);
    ck_assert_double_eq_tol(s.stiffened.stored[0], LEFT + speed - brought_in(target), 1e-12);
}
END_TEST

// It holds no more than the inertia does, and is overdrawn by no more.
START_TEST(an_account_is_full)
{
    step_of_joint s;
    take_step(&s, _i ? 4 : -2, 0);
    sprag_ode_charge_loads(&s.pulled);
    ck_assert_double_eq_tol(s.stiffened.stored[0], (_i ? -1 : 1) * pow((BEFORE + AFTER) / 2, 2),
                            1e-12);
}
END_TEST

// With its share, the next step would win what is left; the share does not pass the whole.
START_TEST(a_share_pays_for_what_was_won)
{
    static const double mends[] = {-3, -0.6, 0, 0.2}, target = 1.2;
    step_of_joint s;
    take_step(&s, target, mends[_i]);
    s.stiffened.share[0] = 0.5;
    sprag_ode_charge_loads(&s.pulled);
    double won = brought_in(target) + mends[_i] / 2, left = LEFT - won;
    double driven = target * (BEFORE + AFTER) / 2;
    double share = 0.5 * (1 + (left - fmax(0, won)) / driven);
    ck_assert_double_eq_tol(s.stiffened.share[0], fmin(1, share), 1e-12);
    ck_assert(_i == 0 ? share > 1 : share < 1);
}
END_TEST

// Nor does it vanish.
START_TEST(a_share_never_vanishes)
{
    step_of_joint s;
    take_step(&s, 1.2, 100);
    s.stiffened.share[0] = 1;
    sprag_ode_charge_loads(&s.pulled);
    ck_assert_double_gt(s.stiffened.share[0], 0);
    ck_assert_double_lt(s.stiffened.share[0], 0.1);
}
END_TEST

// A step that wins more than a hundredth of the energy, beside what is in the account, is not taken
// by its accounts; nor if rows alone bring it in.
START_TEST(much_is_too_much)
{
    static const double mends[] = {0.6, 0.7, 100, 100}, target[] = {1.2, 1.2, 1.2, 0};
    const double energy = 50, most = LEFT + 0.01 * energy; // J
    step_of_joint s;
    take_step(&s, target[_i], mends[_i]);
    s.body[0].velocity[1] = s.body[0].free_velocity[1] = s.velocity[0][1] = sqrt(2 * energy);
    bool much = brought_in(target[_i]) + mends[_i] / 2 > most;
    ck_assert(much == (_i > 0));
    ck_assert(sprag_ode_charge_loads(&s.pulled) != much);
}
END_TEST

// A ball of a part that reaches over kilometres: the part's stiffness and inertia are beyond what
// can be added to the ball's own, about an axis at a slant to the frame of the world.
START_TEST(a_body_takes_what_counts_beside_its_own)
{
    static const double own = 0.004;                                           // kg m^2
    static const double lever[3] = {480, 600, 640}, force[3] = {8e9, 0, -6e9}; // m, N
    sprag_body body = {.mass = 1, .inertia = {own, 0, 0, 0, own, 0, 0, 0, own}};
    ode_part part[2] = {{.first = -1},
                        {.inertia = {1e6, 0, 0, 0, 1e6, 0, 0, 0, 1e6}, .trace = 6 * own}};
    ode_load load = {0};
    dBodyID none = NULL;
    ode_problem pulled = {.problem = {.step = 0.01, .bodies = 1, .body = &body},
                          .island = {.body = &none, .bodies = 1},
                          .body = &body,
                          .part = part,
                          .load = &load};
    for (int i = 0; i < 9; i++) {
        const int a = i / 3, b = i % 3;
        load.moment[a][b] = 0.5 * (lever[a] * force[b] + lever[b] * force[a]);
    }
    ode_warm_start *unknown = sprag_ode_warm_start_make();
    sprag_scratch scratch = {0};
    sprag_ode_stiffen_bodies(&pulled, unknown, &scratch);
    ck_assert_int_eq(pulled.stiffened_bodies, 1);
    ck_assert_int_eq(sprag_problem_check(&pulled.problem, NULL, 0), SPRAG_OK);
    ck_assert_double_eq_tol(pulled.stiffened_four->trace[0], 1e5 * own, 1e-6);
    sprag_scratch_free(&scratch);
    sprag_ode_warm_start_free(unknown);
}
END_TEST

// The slightest turn leaves nothing of it.
START_TEST(inertia_that_ends_has_finite_slopes)
{
    ode_turned_load turned = {.body = 0, .by = 0, .axis = 0};
    ode_load none = {0};
    step_of_joint s;
    take_step(&s, 0.5, 0);
    s.pulled.load = &none;
    sprag_ode_turn_loads(&s.pulled, &turned, 1);
    for (int k = 0; k < 3; k++) {
        ck_assert(isfinite(turned.balance[k]));
        ck_assert_double_lt(turned.added[4 * k], 0);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("load_energy");
    ADD_TESTS_WITH(suite, "all", setup, teardown, {an_account_keeps_what_inertia_takes, 3},
                   {an_account_leaves_out_what_pushes, 1}, {an_account_is_full, 2},
                   {a_share_pays_for_what_was_won, 4}, {a_share_never_vanishes, 1},
                   {much_is_too_much, 4}, {a_body_takes_what_counts_beside_its_own, 1},
                   {inertia_that_ends_has_finite_slopes, 1});
    return run_suite(suite);
}
