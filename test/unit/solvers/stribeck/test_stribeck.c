// Properties of every solution of implicit Stribeck: momentum, the laws, dissipation, symmetries.
// A refused problem leaves the solution unchanged.
#include <check.h>

#include "problems.h"
#include "stribeck.h"
#include "stribeck_cases.h"
#include "stribeck_constants.h"

static scene t; // a second scene, to compare with
#include "suite.h"

// ---- nothing to solve

START_TEST(an_empty_problem_needs_no_strategy)
{
    open_scene(&s);
    solve(&s);
    ck_assert_int_eq(s.stats.strategy, SPRAG_STRATEGY_NONE);
}
END_TEST

START_TEST(bodies_fall_freely)
{
    chance c = {1};
    open_scene(&s);
    for (int b = 0; b < 5; b++) {
        add_cube(&s, uniform(&c, 0.1, 10));
        s.body[b].velocity[0] = uniform(&c, -1, 1), s.body[b].velocity[4] = uniform(&c, -1, 1);
    }
    fall(&s);
    s.stats.strategy = SPRAG_STRATEGY_NEWTON; // of an earlier solve
    solve(&s);
    ck_assert_int_eq(s.stats.strategy, SPRAG_STRATEGY_NONE);
    ck_assert_int_eq(s.stats.iterations, 0);
    for (int b = 0; b < 5; b++) {
        ck_assert_mem_eq(s.velocity[b], s.body[b].free_velocity, sizeof s.velocity[b]);
    }
}
END_TEST

// A contact that the bodies do not reach within the step; the bias is how fast they may close.
START_TEST(contact_out_of_reach_gives_no_force)
{
    sprag_contact *contact = puck(MU);
    contact->bias = -0.2;
    s.body[0].free_velocity[0] = 1;
    solve(&s);
    ck_assert_double_eq(fn(0), 0);
    ck_assert_double_eq(ft(0), 0);
    ck_assert_mem_eq(s.velocity[0], s.body[0].free_velocity, sizeof s.velocity[0]);
}
END_TEST

// ---- properties of every solution

// Not every one has a root that a strategy finds: the nearest of their results is the solution.
static void solve_pile(void)
{
    const sprag_stribeck_options options = alike();
    ck_assert_str_eq(sprag_result_name(solve_with(&s, &options)), "ok");
    ck_assert_double_le(s.stats.residual, 0.05);
    if (s.stats.strategy <= SPRAG_STRATEGY_CONTINUATION) {
        ck_assert_double_le(s.stats.convergence, TOLERANCE);
        ck_assert_double_le(momentum_error(&s), 2 * TOLERANCE);
        check_laws(&s);
    }
}

START_TEST(piles_are_solved)
{
    for (int bias = 0; bias < 2; bias++) {
        open_pile(&s, _i, bias);
        solve_pile();
    }
}
END_TEST

// Motors, limits and hinges between random bodies of a pile: each row by its law.
START_TEST(piles_with_rows_are_solved)
{
    chance c = {(uint64_t)_i};
    open_pile(&s, _i, true);
    int bodies = s.problem.bodies;
    for (int i = 0; i < bodies; i++) {
        int a = pick(&c, bodies), b = pick(&c, bodies + 1) - 1;
        sprag_row *row = add_row(&s, a, b == a ? SPRAG_STATIC : b);
        for (int k = 0; k < 12; k++) {
            row->jacobian[k / 6][k % 6] = row->body[k / 6] == SPRAG_STATIC ? 0 : uniform(&c, -1, 1);
        }
        row->bias = uniform(&c, -1, 1);
        row->hi = i % 4 ? uniform(&c, 0, 30) : INFINITY;
        row->lo = i % 2 ? -row->hi : i % 4 ? 0 : -INFINITY;
    }
    solve_pile();
    for (int i = 0; i < s.problem.rows; i++) {
        const sprag_row *row = &s.row[i];
        sprag_row linear = *row;
        double rate = 0, force = s.row_force[i];
        ck_assert_double_ge(force, row->lo * (1 + 1e-15));
        ck_assert_double_le(force, row->hi * (1 + 1e-15));
        for (int side = 0; side < 2; side++) {
            if (row->body[side] != SPRAG_STATIC) {
                rate += dot(row->jacobian[side], s.velocity[row->body[side]], 6);
            }
            memset(linear.jacobian[side] + 3, 0, 3 * sizeof(double));
        }
        double yield = ROW_SOFTNESS * inverse_mass(&linear);
        double wanted = (row->bias - rate) / yield / STEP;
        double expected = fmin(fmax(wanted, row->lo), row->hi);
        if (s.stats.strategy <= SPRAG_STRATEGY_CONTINUATION) {
            ck_assert_double_eq_tol(yield * STEP * force, yield * STEP * expected, 1e-11);
        }
    }
}
END_TEST

// Without biases nothing drives: |v|^2 + |v - v*|^2 <= |v*|^2 in the metric of M, as for every
// implicit step.
START_TEST(piles_gain_no_energy)
{
    double energy = 0, change = 0;
    open_pile(&s, _i, false);
    solve(&s);
    energy = kinetic_energy(&s, false);
    for (int b = 0; b < s.problem.bodies; b++) {
        double dv[6], p[6];
        for (int k = 0; k < 6; k++) {
            dv[k] = s.velocity[b][k] - s.body[b].free_velocity[k];
        }
        momentum(&s.body[b], dv, p);
        change += dot(p, dv, 6) / 2;
    }
    ck_assert_double_le(energy + change, kinetic_energy(&s, true) * (1 + 1e-5));
}
END_TEST

// Two bodies that meet in the void keep their momentum, and their angular momentum about any point.
START_TEST(collision_conserves_momentum)
{
    chance c = {(uint64_t)_i};
    static const double at[2][3] = {{0.3, -0.2, 1},
                                    {0.1, 0.4, -0.5}}; // of the centres, from the contact
    double n[3], total[2][6] = {{0}};
    random_direction(&c, n);
    open_scene(&s);
    add_cube(&s, 1);
    add_cube(&s, 5);
    sprag_contact *contact = add_contact(&s, 0, 1, n);
    contact->slide.coefficient[0] = contact->slide.coefficient[1] = 0.7;
    sprag_turning *turning = turning_of(&s, contact);
    turning->roll.coefficient[0] = turning->roll.coefficient[1] = 0.1;
    turning->spin.coefficient[0] = 0.1;
    for (int b = 0; b < 2; b++) {
        for (int k = 0; k < 3; k++) {
            contact->arm[b][k] = -at[b][k];
            s.body[b].velocity[k] = (b ? 3 : -3) * n[k] + uniform(&c, -1, 1);
            s.body[b].velocity[3 + k] = uniform(&c, -1, 1);
        }
        memcpy(s.body[b].free_velocity, s.body[b].velocity, sizeof s.body[b].velocity);
    }
    solve(&s);
    ck_assert_double_gt(fn(0), 0);
    ck_assert_double_gt(fabs(s.contact_force[0][5]), 0);
    for (int end = 0; end < 2; end++) {
        for (int b = 0; b < 2; b++) {
            double p[6], moment[3];
            momentum(&s.body[b], end ? s.velocity[b] : s.body[b].velocity, p);
            cross(at[b], p, moment);
            for (int k = 0; k < 3; k++) {
                total[end][k] += p[k];
                total[end][3 + k] += p[3 + k] + moment[k];
            }
        }
    }
    for (int k = 0; k < 6; k++) {
        ck_assert_double_eq_tol(total[0][k], total[1][k], 1e-4);
    }
}
END_TEST

START_TEST(same_input_same_bits)
{
    open_pile(&s, _i, true);
    t = s;
    t.solution = (sprag_solution){t.velocity, t.contact_force, t.row_force, NULL};
    solve(&s);
    sprag_scratch other = {0};
    sprag_scratch_take(&other, 12345, 1);
    memset(t.velocity, 0x55, sizeof t.velocity); // what is not read cannot matter
    memset(t.contact_force, 0x55, sizeof t.contact_force);
    ck_assert_int_eq(sprag_stribeck_solve(&t.problem, NULL, &other, &t.solution, &t.stats),
                     SPRAG_OK);
    sprag_scratch_free(&other);
    size_t bodies = (size_t)s.problem.bodies, contacts = (size_t)s.problem.contacts;
    ck_assert_mem_eq(s.velocity, t.velocity, bodies * sizeof *s.velocity);
    ck_assert_mem_eq(s.contact_force, t.contact_force, contacts * sizeof *s.contact_force);
    ck_assert_int_eq(s.stats.iterations, t.stats.iterations);
}
END_TEST

// In a mirror x and the turns about y and z change their signs, and nothing else.
START_TEST(mirrored_pile_is_mirrored)
{
    static const double sign[6] = {-1, 1, 1, 1, -1, -1};
    double expected[BODIES_MAX][6];
    open_pile(&s, _i, true);
    solve(&s);
    for (int b = 0; b < s.problem.bodies; b++) {
        sprag_body *body = &s.body[b];
        for (int k = 0; k < 6; k++) {
            body->velocity[k] *= sign[k];
            body->free_velocity[k] *= sign[k];
            expected[b][k] = sign[k] * s.velocity[b][k];
        }
        body->inertia[1] *= -1;
        body->inertia[2] *= -1;
        body->inertia[3] *= -1;
        body->inertia[6] *= -1;
    }
    for (int i = 0; i < s.problem.contacts; i++) {
        for (int k = 0; k < 3; k++) {
            s.contact[i].frame[k][0] *= -1;
        }
        s.contact[i].arm[0][0] *= -1;
        s.contact[i].arm[1][0] *= -1;
    }
    solve(&s);
    expect_same_velocities((const double(*)[6])s.velocity, (const double(*)[6])expected, 1e-12);
}
END_TEST

// Units of mass are arbitrary: by a power of two, to the last bit.
START_TEST(heavier_pile_moves_alike)
{
    double expected[BODIES_MAX][6];
    open_pile(&s, _i, true);
    solve(&s);
    memcpy(expected, s.velocity, sizeof expected);
    double force = fn(0);
    for (int b = 0; b < s.problem.bodies; b++) {
        s.body[b].mass *= 0x1p20;
        for (int k = 0; k < 9; k++) {
            s.body[b].inertia[k] *= 0x1p20;
        }
    }
    solve(&s);
    ck_assert_double_eq(fn(0), 0x1p20 * force);
    ck_assert_mem_eq(s.velocity, expected, (size_t)s.problem.bodies * sizeof *expected);
}
END_TEST

// The order of bodies and contacts, and which of a pair comes first, are the caller's business.
// Where friction is weak there is one solution, and both find it.
START_TEST(permuted_pile_is_permuted)
{
    chance c = {(uint64_t)_i};
    int place[BODIES_MAX];
    sprag_stribeck_options options = sprag_stribeck_defaults();
    options.tolerance = 1e-10;
    open_scene(&s);
    add_pile(&s, (uint64_t)_i, 8, 0.1, 1, true);
    t = s;
    t.problem.body = t.body;
    t.problem.contact = t.contact;
    t.solution = (sprag_solution){t.velocity, t.contact_force, t.row_force, NULL};
    for (int b = 0; b < s.problem.bodies; b++) {
        int other = pick(&c, b + 1);
        place[b] = place[other];
        place[other] = b;
    }
    for (int b = 0; b < s.problem.bodies; b++) {
        t.body[place[b]] = s.body[b];
    }
    for (int i = 0; i < s.problem.contacts; i++) {
        sprag_contact *contact = &t.contact[s.problem.contacts - 1 - i];
        *contact = s.contact[i];
        for (int side = 0; side < 2; side++) {
            int b = s.contact[i].body[side];
            contact->body[side] = b == SPRAG_STATIC ? b : place[b];
        }
        if (contact->body[1] != SPRAG_STATIC && i % 2) { // normal and a tangent turn with the sides
            for (int side = 0; side < 2; side++) {
                contact->body[side] = place[s.contact[i].body[1 - side]];
                memcpy(contact->arm[side], s.contact[i].arm[1 - side], sizeof contact->arm[side]);
            }
            for (int k = 0; k < 6; k++) {
                contact->frame[k / 3][k % 3] *= -1;
            }
        }
    }
    ck_assert_int_eq(solve_with(&s, &options), SPRAG_OK);
    ck_assert_int_eq(solve_with(&t, &options), SPRAG_OK);
    for (int b = 0; b < s.problem.bodies; b++) {
        for (int k = 0; k < 6; k++) {
            ck_assert_double_eq_tol(t.velocity[place[b]][k], s.velocity[b][k], 1e-7);
        }
    }
}
END_TEST

START_TEST(scratch_stops_growing)
{
    long allocations = 0;
    open_pile(&s, 59, true);
    for (int round = 0; round < 5; round++) {
        solve(&s);
        if (round == 0) {
            allocations = scratch.allocations;
        }
        ck_assert_int_eq(scratch.allocations, allocations);
    }
}
END_TEST

// A solver leaves in the scratch what it has found there, and adds to it.
START_TEST(scratch_may_be_in_use)
{
    puck(MU);
    int *mine = SPRAG_TAKE(&scratch, 3, int);
    memcpy(mine, (int[]){1, 2, 3}, 3 * sizeof(int));
    ck_assert_int_eq(sprag_stribeck_solve(&s.problem, NULL, &scratch, &s.solution, NULL), SPRAG_OK);
    ck_assert_mem_eq(mine, ((int[]){1, 2, 3}), 3 * sizeof(int));
}
END_TEST

// ---- refused problems leave the solution unchanged

static void expect_untouched(sprag_result expected)
{
    memset(s.velocity, 0x55, sizeof s.velocity);
    memset(s.contact_force, 0x55, sizeof s.contact_force);
    memset(s.row_force, 0x55, sizeof s.row_force);
    t = s;
    sprag_result result = solve_with(&s, NULL);
    ck_assert_int_ne(result, SPRAG_OK);
    if (expected != SPRAG_OK) {
        ck_assert_str_eq(sprag_result_name(result), sprag_result_name(expected));
    }
    ck_assert_mem_eq(s.velocity, t.velocity, sizeof s.velocity);
    ck_assert_mem_eq(s.contact_force, t.contact_force, sizeof s.contact_force);
    ck_assert_mem_eq(s.row_force, t.row_force, sizeof s.row_force);
}

static const struct {
    size_t where;
    double value;
} spoils[] = {
    {offsetof(scene, problem.step), 0},
    {offsetof(scene, problem.step), NAN},
    {offsetof(scene, body[0].mass), -1},
    {offsetof(scene, body[0].inertia[0]), 0},
    {offsetof(scene, body[0].velocity[2]), NAN},
    {offsetof(scene, body[0].free_velocity[4]), INFINITY},
    {offsetof(scene, contact[3].frame[0][2]), 0.5},
    {offsetof(scene, contact[3].bias), NAN},
    {offsetof(scene, contact[1].compliance), -1},
    {offsetof(scene, contact[1].slide.coefficient[0]), NAN},
    {offsetof(scene, row[0].jacobian[0][0]), NAN},
    {offsetof(scene, row[0].lo), 40},
    {offsetof(scene, row[0].lo), INFINITY},
    {offsetof(scene, row[0].hi), -INFINITY},
};

enum { SPOILS = sizeof spoils / sizeof spoils[0] };

START_TEST(bad_problem_leaves_the_solution_alone)
{
    motorised_cube();
    memcpy((char *)&s + spoils[_i].where, &spoils[_i].value, sizeof(double));
    expect_untouched(SPRAG_BAD_PROBLEM);
}
END_TEST

START_TEST(bad_indices_leave_the_solution_alone)
{
    motorised_cube();
    *(_i ? &s.contact[2].body[0] : &s.row[0].body[1]) = 1;
    expect_untouched(SPRAG_BAD_PROBLEM);
}
END_TEST

START_TEST(no_strategy_leaves_the_solution_alone)
{
    sprag_stribeck_options options = sprag_stribeck_defaults();
    options.direct_work = options.sweeps = 0;
    puck(MU);
    memset(s.velocity, 0x55, sizeof s.velocity);
    t = s;
    ck_assert_str_eq(sprag_result_name(solve_with(&s, &options)), "not converged");
    ck_assert_mem_eq(s.velocity, t.velocity, sizeof s.velocity);
    ck_assert_mem_eq(s.contact_force, t.contact_force, sizeof s.contact_force);
}
END_TEST

static void open_stack_of_two(void)
{
    open_scene(&s);
    add_cube(&s, 1);
    add_cube(&s, 1);
    fall(&s);
    stand(&s, 0, SPRAG_STATIC, 0.5);
    stand(&s, 1, 0, 0.5);
}

// The next step, from the velocities and forces of the last; the push acts on the last body.
static void go_on(double push)
{
    for (int b = 0; b < s.problem.bodies; b++) {
        memcpy(s.body[b].velocity, s.solution.velocity[b], sizeof s.body[b].velocity);
    }
    fall(&s);
    s.body[s.problem.bodies - 1].free_velocity[0] += push;
    for (int i = 0; i < s.problem.contacts; i++) {
        memcpy(s.contact[i].guess, s.solution.contact_force[i], sizeof s.contact[i].guess);
    }
}

START_TEST(what_balances_is_kept_until_it_is_pushed)
{
    sprag_memory memory = {0};
    sprag_stribeck_options options = sprag_stribeck_defaults();
    options.exact = false;
    options.memory = &memory;
    _i == 0 ? open_stack_of_two() : puck(MU); // by known forces, by sweeps
    for (int i = 0; i < 10; i++) {
        ck_assert_int_eq(solve_with(&s, &options), SPRAG_OK);
        if (i < 9) {
            go_on(0);
        }
    }
    const sprag_stats before = s.stats;
    ck_assert_int_eq(before.strategy, SPRAG_STRATEGY_KEPT);
    ck_assert_double_lt(before.residual, STRIBECK_FORCE_KNOWN * options.tolerance);
    for (int b = 0; b < s.problem.bodies; b++) {
        ck_assert_mem_eq(s.velocity[b], s.body[b].velocity, sizeof s.velocity[b]);
    }
    go_on(1e-6 * G * STEP); // friction holds it
    ck_assert_int_eq(solve_with(&s, &options), SPRAG_OK);
    ck_assert_int_ne(s.stats.strategy, SPRAG_STRATEGY_KEPT);
    ck_assert_double_eq(s.stats.stiffness[1], before.stiffness[1]);
    ck_assert_double_eq_tol(s.stats.stiction, before.stiction, 1e-6 * before.stiction);
}
END_TEST

// A light cube that is pressed and one without friction stand on a third: what the last loses in a
// step may not follow from the load of the first.
START_TEST(a_slow_push_starts_what_stands_beside_a_load)
{
    enum { STEPS = 200 };
    const double push = 1e-3 * STEP; // m/s a step
    sprag_memory memory = {0};
    sprag_stribeck_options options = sprag_stribeck_defaults();
    options.exact = false;
    options.memory = &memory;
    open_stack_of_two();
    s.body[1].mass = 0.01;
    for (int k = 0; k < 9; k++) {
        s.body[1].inertia[k] *= 0.01;
    }
    add_cube(&s, 1);
    stand(&s, 2, 0, 0);
    for (int i = 0; i < STEPS; i++) {
        if (i > 0) {
            go_on(0);
        } else {
            fall(&s);
        }
        s.body[1].free_velocity[2] -= 1e5 * STEP;
        s.body[2].free_velocity[0] += i < STEPS / 2 ? 0 : push;
        ck_assert_int_eq(solve_with(&s, &options), SPRAG_OK);
    }
    ck_assert_double_eq_tol(s.velocity[2][0], STEPS / 2 * push, 0.01 * STEPS / 2 * push);
}
END_TEST

// Not exactly. What the direct strategies solve they solve the next time, too; where they fail,
// the sweeps pay for it, with a smaller share of their work after each failure.
START_TEST(an_island_remembers_what_solved_it)
{
    sprag_memory memory = {0};
    sprag_stribeck_options options = sprag_stribeck_defaults();
    options.exact = false;
    options.direct_work = 1e-9; // no newton
    options.sweeps = 50;
    options.memory = &memory;
    open_stack_of_two();
    ck_assert_int_eq(sprag_stribeck_solve(&s.problem, &options, &scratch, &s.solution, &s.stats),
                     SPRAG_OK);
    ck_assert_int_eq(s.stats.strategy, SPRAG_STRATEGY_WARM_NEWTON);
    ck_assert_int_eq(memory.last, SPRAG_STRATEGY_WARM_NEWTON);
    ck_assert_double_eq(memory.known.left, 0);
    options.max_iterations = 0; // too few
    s.body[1].free_velocity[0] += 10;
    enum { TRIES = STRIBECK_MOST_FAILURES + 2 };
    double direct = 0, swept[TRIES] = {0};
    for (int i = 0, tries = 0; tries < TRIES; i++) {
        ck_assert_int_lt(i, 1000);
        double before = memory.known.left;
        sprag_scratch_reset(&scratch);
        ck_assert_int_eq(
            sprag_stribeck_solve(&s.problem, &options, &scratch, &s.solution, &s.stats), SPRAG_OK);
        ck_assert_int_eq(s.stats.strategy, SPRAG_STRATEGY_GAUSS_SEIDEL);
        if (before < 0) {
            ck_assert_int_eq(s.stats.iterations, 0);
            swept[tries - 1] += s.stats.sweep_work;
        } else {
            direct = direct > 0 ? direct : -memory.known.left;
            tries++;
        }
    }
    for (int i = 1; i < TRIES - 1; i++) { // within one solve's sweeps
        double share = ldexp(1, -(i < STRIBECK_MOST_FAILURES ? i + 1 : STRIBECK_MOST_FAILURES));
        ck_assert_double_ge(swept[i] * share, 0.9 * direct);
        ck_assert_double_le((swept[i] - s.stats.sweep_work) * share, 1.1 * direct);
    }
}
END_TEST

// What the island carries is known from one step to the next: a direct method finds it, and from
// the third solve on no update, or one, holds it; no creep in any.
START_TEST(known_forces_hold_what_rests)
{
    sprag_stribeck_options options = sprag_stribeck_defaults();
    options.exact = false;
    options.direct_work = 1e-9; // no newton
    options.sweeps = 50;
    open_stack_of_two();
    stand(&s, 1, 0, 0.5);
    double fall_speed = -s.body[0].free_velocity[2];
    for (int i = 0; i < 2; i++) {
        s.body[i].free_velocity[0] = 0.25 * fall_speed;
    }
    for (int i = 0; i < 3; i++) {
        sprag_scratch_reset(&scratch);
        ck_assert_int_eq(
            sprag_stribeck_solve(&s.problem, &options, &scratch, &s.solution, &s.stats), SPRAG_OK);
        if (i == 0) {
            ck_assert_int_eq(s.stats.strategy, SPRAG_STRATEGY_WARM_NEWTON);
        }
        if (i == 2) {
            ck_assert_int_le(s.stats.iterations, 1);
        }
        const double *v = s.solution.velocity[0], slip = v[0] - 0.5 * v[4]; // at the ground
        ck_assert_double_ge(slip, 0);
        ck_assert_double_lt(slip, 1e-7 * fall_speed);
        for (int k = 0; k < s.problem.contacts; k++) {
            memcpy(s.contact[k].guess, s.contact_force[k], sizeof s.contact[k].guess);
        }
        memcpy(s.body[0].velocity, s.velocity[0], sizeof s.body[0].velocity);
        memcpy(s.body[1].velocity, s.velocity[1], sizeof s.body[1].velocity);
    }
}
END_TEST

// Solves share the work: it is taken from what is left, and then each is a few sweeps.
START_TEST(without_work_left_a_solve_is_a_few_sweeps)
{
    double left = 1;
    sprag_stribeck_options options = sprag_stribeck_defaults();
    options.work_left = &left;
    open_pile(&s, 0, false);
    ck_assert_int_eq(sprag_stribeck_solve(&s.problem, &options, &scratch, &s.solution, &s.stats),
                     SPRAG_OK);
    ck_assert_int_gt(s.stats.iterations + s.stats.sweeps, 0);
    ck_assert_double_lt(left, 0);
    for (int i = 0; i < 2; i++) {
        double before = left;
        sprag_scratch_reset(&scratch);
        ck_assert_int_eq(
            sprag_stribeck_solve(&s.problem, &options, &scratch, &s.solution, &s.stats), SPRAG_OK);
        ck_assert_int_eq(s.stats.iterations, 0);
        ck_assert_int_le(s.stats.sweeps, STRIBECK_POOR_SWEEPS);
        ck_assert_double_eq(before - left, (double)s.stats.sweeps * s.problem.contacts);
        ck_assert_double_lt(s.stats.residual, 1);
    }
}
END_TEST

START_TEST(sweeps_of_a_budget_are_charged_once)
{
    double left = 1e6;
    sprag_memory memory = {.known.left = -1e9, .interior = -1e9}; // no direct strategy
    sprag_stribeck_options options = sprag_stribeck_defaults();
    options.work_left = &left;
    options.exact = false;
    options.sweeps = 50;
    options.memory = &memory;
    open_pile(&s, 0, false);
    ck_assert_int_eq(sprag_stribeck_solve(&s.problem, &options, &scratch, &s.solution, &s.stats),
                     SPRAG_OK);
    ck_assert_int_eq(s.stats.iterations, 0);
    ck_assert_double_gt(s.stats.sweep_work, 0);
    ck_assert_double_eq(1e6 - left, s.stats.sweep_work);
}
END_TEST

// One contact is solved by a sweep or two: no direct method follows.
START_TEST(what_sweeps_solve_is_solved)
{
    sprag_stribeck_options options = sprag_stribeck_defaults();
    options.exact = false;
    puck(0.5);
    ck_assert_int_eq(solve_with(&s, &options), SPRAG_OK);
    ck_assert_int_eq(s.stats.factorizations + s.stats.iterations, 0);
}
END_TEST

// What stands as its known forces say needs no update, but its matrix is made.
START_TEST(a_solve_without_updates_is_charged_for_its_matrix)
{
    double left = 0;
    sprag_memory memory = {.last = SPRAG_STRATEGY_WARM_NEWTON};
    sprag_stribeck_options options = sprag_stribeck_defaults();
    options.exact = false;
    options.work_left = &left;
    options.memory = &memory;
    open_stack_of_two();
    for (int i = 0; i < 4; i++) {
        left = 1e6;
        memory.rests = false;
        sprag_scratch_reset(&scratch);
        ck_assert_int_eq(
            sprag_stribeck_solve(&s.problem, &options, &scratch, &s.solution, &s.stats), SPRAG_OK);
        for (int k = 0; k < s.problem.contacts; k++) {
            memcpy(s.contact[k].guess, s.contact_force[k], sizeof s.contact[k].guess);
        }
        for (int k = 0; k < s.problem.bodies; k++) {
            memcpy(s.body[k].velocity, s.velocity[k], sizeof s.body[k].velocity);
        }
    }
    ck_assert_int_eq(s.stats.iterations, 0);
    ck_assert_double_ge(1e6 - left, s.problem.contacts);
}
END_TEST

// Of moments of inertia whose product overflows there is no inverse.
START_TEST(what_the_scratch_held_does_not_matter)
{
    double velocity[2][6];
    for (int i = 0; i < 2; i++) {
        enum { BYTES = 1 << 15 };
        sprag_scratch_reset(&scratch);
        memset(sprag_scratch_take(&scratch, BYTES, 1), i ? 0x3f : 0, BYTES);
        sprag_scratch_reset(&scratch);
        open_stack_of_two();
        stand(&s, 1, 0, 0.5);
        s.body[0].inertia[0] = s.body[0].inertia[4] = s.body[0].inertia[8] = 1e150;
        sprag_stribeck_options options = sprag_stribeck_defaults();
        ck_assert_int_eq(
            sprag_stribeck_solve(&s.problem, &options, &scratch, &s.solution, &s.stats), SPRAG_OK);
        memcpy(velocity[i], s.velocity[1], sizeof velocity[i]);
    }
    ck_assert_mem_eq(velocity[0], velocity[1], sizeof velocity[0]);
}
END_TEST

START_TEST(options_and_stats_may_be_missing)
{
    sprag_stribeck_options options = sprag_stribeck_defaults();
    double expected[6];
    motorised_cube();
    ck_assert_int_eq(solve_with(&s, &options), SPRAG_OK);
    memcpy(expected, s.velocity[0], sizeof expected);
    ck_assert_int_eq(sprag_stribeck_solve(&s.problem, NULL, &scratch, &s.solution, NULL), SPRAG_OK);
    ck_assert_mem_eq(s.velocity[0], expected, sizeof expected);
}
END_TEST

// ---- energy of what contacts ask for

static double energy_of(const scene *of, const double v[6])
{
    const sprag_body *body = &of->body[0];
    double sum = body->mass * dot(v, v, 3);
    for (int k = 0; k < 3; k++) {
        sum += body->inertia[4 * k] * v[3 + k] * v[3 + k];
    }
    return sum / 2;
}

static void limit_energy(void)
{
    ck_assert_int_eq(sprag_stribeck_limit_energy(&s.problem, NULL, &scratch, &s.solution, &s.stats),
                     SPRAG_OK);
}

// A cube between two planes, at an angle to its way out, recovers at r from either: it leaves at
// r / sin(angle), with the energy m r^2 / 2 sin^2(angle). Both together may win m r^2. Planes of a
// kinematic body that does not move are static, too.
START_TEST(recovery_of_a_wedged_cube_does_not_drive_it)
{
    enum { ANGLES = 4 };
    static const double angles[ANGLES] = {0.05, 0.1, 0.2, 1.2};
    const double angle = angles[_i % ANGLES];
    const double r = 0.5, mass = 2, sine = sin(angle), cosine = cos(angle);
    open_scene(&s);
    add_cube(&s, mass);
    const int wedge = _i < ANGLES ? SPRAG_STATIC : add_cube(&s, 0);
    for (int side = -1; side <= 1; side += 2) {
        sprag_contact *contact = add_contact(&s, 0, wedge, (double[]){side * cosine, 0, sine});
        contact->gap = -0.01;
        contact->bias = contact->recovery = r;
    }
    solve(&s);
    double first = energy_of(&s, s.velocity[0]);
    limit_energy();
    double last = energy_of(&s, s.velocity[0]);
    if (angle > 1) {
        ck_assert_double_eq(last, first);
        return;
    }
    ck_assert_double_gt(first, 3 * mass * r * r);
    ck_assert_double_eq_tol(last, mass * r * r, 1e-3 * mass * r * r);
    double impulse = 0;
    for (int i = 0; i < 2; i++) {
        impulse += STEP * sine * s.contact_force[i][0];
    }
    ck_assert_double_eq_tol(s.velocity[0][2], impulse / mass, 1e-9);
}
END_TEST

// The same beside a cube on a spring, whose work is its own: the spring throws it up at 0.9 m/s.
START_TEST(a_spring_beside_does_not_count_as_recovery)
{
    const double r = 0.5, mass = 2, sine = sin(0.1), cosine = cos(0.1), k = 1e5, depth = 0.01;
    open_scene(&s);
    s.problem.step = 1e-3;
    add_cube(&s, mass);
    for (int side = -1; side <= 1; side += 2) {
        sprag_contact *contact =
            add_contact(&s, 0, SPRAG_STATIC, (double[]){side * cosine, 0, sine});
        contact->bias = contact->recovery = r;
    }
    sprag_contact *spring = add_ground(&s, add_cube(&s, 1), 0);
    spring->gap = -depth;
    spring->stiffness = k;
    solve(&s);
    const double thrown = s.velocity[1][2];
    ck_assert_double_gt(thrown, 0.5 * s.problem.step * k * depth);
    limit_energy();
    ck_assert_double_eq_tol(energy_of(&s, s.velocity[0]), mass * r * r, 1e-3 * mass * r * r);
    ck_assert_double_eq_tol(s.velocity[1][2], thrown, 1e-9);
}
END_TEST

// The same, a little soft: what counts is how far it yields in a step, however long that is.
START_TEST(recovery_is_limited_at_any_step)
{
    static const double step[] = {1e-3, STEP, 1};
    const double r = 0.5, mass = 2, sine = sin(0.1), cosine = cos(0.1), yield = 0.02 / mass;
    open_scene(&s);
    s.problem.step = step[_i];
    add_cube(&s, mass);
    for (int side = -1; side <= 1; side += 2) {
        sprag_contact *contact =
            add_contact(&s, 0, SPRAG_STATIC, (double[]){side * cosine, 0, sine});
        contact->bias = contact->recovery = r;
        contact->compliance = yield * step[_i];
    }
    solve(&s);
    ck_assert_double_gt(energy_of(&s, s.velocity[0]), 3 * mass * r * r);
    ck_assert_int_eq(sprag_stribeck_limit_energy(&s.problem, NULL, &scratch, &s.solution, NULL),
                     SPRAG_OK);
    ck_assert_double_eq_tol(energy_of(&s, s.velocity[0]), mass * r * r, 1e-3 * mass * r * r);
}
END_TEST

// A rod of 1 m hits the ground with one end, sliding, and rebounds at the speed that it came with.
// Newton's law would add energy where friction turns the slip around (Kane, Levinson: Dynamics).
START_TEST(a_rebound_with_friction_wins_nothing)
{
    enum { ANGLES = 12 };
    double most = 0;
    for (int i = 1; i < ANGLES; i++) {
        double angle = M_PI / 2 * i / ANGLES, free = 0;
        open_scene(&s);
        add_box(&s, 1, 1, 0.05, 0.05);
        sprag_contact *contact = add_ground(&s, 0, 0.8);
        contact->arm[0][0] = cos(angle) / 2;
        contact->arm[0][2] = -sin(angle) / 2;
        contact->bias = contact->recovery = 1;
        contact->softening = 0;
        s.body[0].velocity[0] = s.body[0].free_velocity[0] = -1;
        s.body[0].velocity[2] = s.body[0].free_velocity[2] = -1;
        free = energy_of(&s, s.body[0].velocity);
        solve(&s);
        most = fmax(most, energy_of(&s, s.velocity[0]) / free);
        limit_energy();
        ck_assert_double_le(energy_of(&s, s.velocity[0]), (1 + 1e-3) * free);
        ck_assert_double_gt(s.velocity[0][2], -1);
    }
    ck_assert_double_gt(most, 1.05); // by Newton's law
}
END_TEST

// A row moves a cube along x, on a steep plane from which it is to rebound, too. Without that it
// goes b / tan(angle) up. The rebound pushes it along the row, which may do no more work for that:
// the cube wins m r^2 / 2.
START_TEST(a_rebound_draws_no_work_from_a_row)
{
    const double angle = 0.1, r = 2, b = 0.5, mass = 2, sine = sin(angle), cosine = cos(angle);
    open_scene(&s);
    add_cube(&s, mass);
    add_axis_row(&s, 0, 0)->bias = b;
    sprag_contact *contact = add_contact(&s, 0, SPRAG_STATIC, (double[]){-cosine, 0, sine});
    contact->bias = contact->recovery = r;
    contact->softening = 0;
    solve(&s);
    const double up = b * cosine / sine, own = mass * r * r / 2;
    const double most = mass * (b * b + up * up) / 2 + own;
    ck_assert_double_gt(energy_of(&s, s.velocity[0]), 10 * most);
    limit_energy();
    ck_assert_double_eq_tol(energy_of(&s, s.velocity[0]), most, 1e-2 * own);
    ck_assert_double_eq_tol(fmax(s.velocity[0][0], s.row_rate[0]), b, 1e-5 * b);
}
END_TEST

// Contacts ask for r of a cube under gravity, far from its centre, so that they win little alone.
// An overlap may lift what rests on it; a rebound may not hold up what rises already, nor may an
// overlap beside it.
START_TEST(overlaps_lift_and_rebounds_do_not)
{
    const double r = _i == 0 ? 0.03 : 0.2;
    open_scene(&s);
    add_cube(&s, 2);
    s.body[0].velocity[2] = _i == 0 ? 0 : r;
    fall(&s);
    for (int k = 0; k < 2; k++) {
        sprag_contact *contact = add_ground(&s, 0, 0);
        contact->arm[0][0] = k ? 20 : -20;
        contact->bias = contact->recovery = r;
        contact->softening = 0;
        contact->rebounds = _i > k;
    }
    solve(&s);
    ck_assert_double_eq_tol(s.velocity[0][2], r, 1e-6);
    limit_energy();
    ck_assert_double_eq_tol(s.velocity[0][2], _i == 0 ? r : r - G * STEP, 1e-2 * G * STEP);
}
END_TEST

// ---- the system underneath

// If squares overflow, the result is right or not ok; if no strategy may run, it is not ok.
START_TEST(unsolved_is_never_ok)
{
    static const double beyond[] = {1e160, 1e300};
    scene s;
    sprag_scratch own = {0};
    for (int i = 0; i < 2; i++) {
        open_scene(&s);
        add_cube(&s, 2);
        add_ground(&s, 0, 0.5);
        s.body[0].velocity[1] = beyond[i];
        fall(&s);
        if (sprag_stribeck_solve(&s.problem, NULL, &own, &s.solution, &s.stats) == SPRAG_OK) {
            ck_assert_double_eq(s.velocity[0][1], beyond[i]);
            ck_assert_double_eq_tol(s.contact_force[0][0], 2 * G / (1 + SOFTNESS), 1e-9);
            ck_assert_double_lt(s.stats.residual, 1e-9);
        }
    }
    sprag_stribeck_options options = sprag_stribeck_defaults();
    options.direct_work = options.sweeps = 0;
    open_scene(&s);
    add_cube(&s, 2);
    add_ground(&s, 0, 0.5);
    fall(&s);
    ck_assert_int_eq(sprag_stribeck_solve(&s.problem, &options, &own, &s.solution, &s.stats),
                     SPRAG_NOT_CONVERGED);
    sprag_scratch_free(&own);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stribeck");
    ADD_CASE(suite, "normal", {an_empty_problem_needs_no_strategy, 1}, {bodies_fall_freely, 1},
             {contact_out_of_reach_gives_no_force, 1});
    ADD_CASE(suite, "every solution", {piles_are_solved, PILES}, {piles_gain_no_energy, PILES},
             {piles_with_rows_are_solved, PILES / 4}, {collision_conserves_momentum, 20},
             {same_input_same_bits, 24}, {mirrored_pile_is_mirrored, 24},
             {heavier_pile_moves_alike, 24}, {permuted_pile_is_permuted, 20},
             {scratch_stops_growing, 1}, {scratch_may_be_in_use, 1});
    ADD_CASE(suite, "refused", {bad_problem_leaves_the_solution_alone, SPOILS},
             {bad_indices_leave_the_solution_alone, 2}, {no_strategy_leaves_the_solution_alone, 1},
             {unsolved_is_never_ok, 1}, {options_and_stats_may_be_missing, 1});
    ADD_CASE(suite, "energy", {recovery_of_a_wedged_cube_does_not_drive_it, 8},
             {recovery_is_limited_at_any_step, 3}, {a_spring_beside_does_not_count_as_recovery, 1},
             {a_rebound_with_friction_wins_nothing, 1}, {a_rebound_draws_no_work_from_a_row, 1},
             {overlaps_lift_and_rebounds_do_not, 3});
    ADD_CASE(suite, "budget", {an_island_remembers_what_solved_it, 1},
             {known_forces_hold_what_rests, 1}, {what_balances_is_kept_until_it_is_pushed, 2},
             {a_slow_push_starts_what_stands_beside_a_load, 1},
             {without_work_left_a_solve_is_a_few_sweeps, 1},
             {a_solve_without_updates_is_charged_for_its_matrix, 1},
             {sweeps_of_a_budget_are_charged_once, 1}, {what_the_scratch_held_does_not_matter, 1},
             {what_sweeps_solve_is_solved, 1});
    return run_suite(suite);
}
