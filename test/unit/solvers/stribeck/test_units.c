// Other units of mass, length and time, powers of two times as large: the numbers change as their
// units say. No strategy has a tolerance of its own in kg, m or s.
#include <check.h>

#include "problems.h"
#include "stribeck.h"
#include "stribeck_cases.h"
#include "suite.h"

// Exponents of two, of mass, length and time.
typedef struct unit {
    int kg, m, s;
} unit;

static const unit speed = {0, 1, -1}, spin = {0, 0, -1}, force = {1, 1, -2}, torque = {1, 2, -2};

static void change(double *x, int count, unit of, unit by)
{
    for (int i = 0; i < count; i++) {
        x[i] = ldexp(x[i], of.kg * by.kg + of.m * by.m + of.s * by.s);
    }
}

static void change_friction(sprag_friction *f, bool turns, unit by)
{
    const unit creep = turns ? (unit){-1, -2, 1} : (unit){-1, 0, 1};
    for (int k = 0; k < 2; k++) {
        const unit most = turns ? torque : force, share = {0, turns, 0};
        change(&f->coefficient[k], 1, f->force[k] ? most : share, by);
    }
    change(f->velocity, 2, turns ? spin : speed, by);
    change(f->slip, 2, creep, by);
}

static void change_contact(sprag_contact *c, unit by)
{
    change(*c->arm, 6, (unit){0, 1, 0}, by);
    change(&c->gap, 1, (unit){0, 1, 0}, by);
    change(&c->bias, 1, speed, by);
    change(&c->recovery, 1, speed, by);
    change(&c->stiction, 1, speed, by);
    change(&c->compliance, 1, (unit){-1, 0, 1}, by);
    change(&c->stiffness, 1, (unit){1, 0, -2}, by);
    change(&c->dissipation, 1, (unit){0, -1, 1}, by);
    change(c->guess, 3, force, by);
    change_friction(&c->slide, false, by);
}

static void change_units(scene *to, unit by)
{
    change(&to->problem.step, 1, (unit){0, 0, 1}, by);
    for (int i = 0; i < to->problem.bodies; i++) {
        sprag_body *b = &to->body[i];
        change(&b->mass, 1, (unit){1, 0, 0}, by);
        change(b->inertia, 9, (unit){1, 2, 0}, by);
        change(b->velocity, 3, speed, by);
        change(b->velocity + 3, 3, spin, by);
        change(b->free_velocity, 3, speed, by);
        change(b->free_velocity + 3, 3, spin, by);
    }
    for (int i = 0; i < to->problem.contacts; i++) {
        change_contact(&to->contact[i], by);
        change_friction(&to->turning[i].roll, true, by);
        change_friction(&to->turning[i].spin, true, by);
    }
    for (int i = 0; i < to->problem.rows; i++) {
        sprag_row *row = &to->row[i];
        for (int side = 0; side < 2; side++) {
            change(row->jacobian[side] + 3, 3, (unit){0, 1, 0}, by);
        }
        change(&row->bias, 1, speed, by);
        change(&row->compliance, 1, (unit){-1, 0, 1}, by);
        change(&row->lo, 1, force, by);
        change(&row->hi, 1, force, by);
        change(&row->guess, 1, force, by);
    }
}

static void change_solution(scene *to, unit by)
{
    for (int i = 0; i < to->problem.bodies; i++) {
        change(to->velocity[i], 3, speed, by);
        change(to->velocity[i] + 3, 3, spin, by);
    }
    for (int i = 0; i < to->problem.contacts; i++) {
        change(to->contact_force[i], 3, force, by);
        change(to->contact_force[i] + 3, 3, torque, by);
    }
    change(to->row_force, to->problem.rows, force, by);
}

// Piles with every kind of friction, and rows.
static void open_heap(scene *to, int seed)
{
    chance c = {(uint64_t)seed};
    open_scene(to);
    add_pile(to, (uint64_t)seed, 3 + seed % 20, coefficients[seed % 4], speeds[seed / 4 % 4], true);
    for (int i = 0; i < to->problem.contacts; i++) {
        sprag_contact *contact = &to->contact[i];
        if (i % 3 == 0 && seed % 5 == 0) {
            contact->stiffness = uniform(&c, 1e3, 1e5);
            contact->dissipation = uniform(&c, 0, 2);
            contact->gap = -uniform(&c, 0, 0.01);
        }
        if (i % 4 == 1 && seed % 3 == 0) {
            sprag_turning *turning = turning_of(to, contact);
            turning->roll.coefficient[0] = turning->roll.coefficient[1] = 0.1;
            turning->spin.coefficient[0] = 0.05;
        }
        contact->slide.slip[0] = contact->slide.slip[1] = i % 5 == 2 ? 1e-3 : 0;
    }
    for (int i = 0; i < seed % 4; i++) {
        sprag_row *row = add_row(to, i % to->problem.bodies, SPRAG_STATIC);
        for (int k = 0; k < 6; k++) {
            row->jacobian[0][k] = uniform(&c, -1, 1);
        }
        row->bias = uniform(&c, -0.1, 0.1);
        row->compliance = i % 2 ? 1e-3 : 0;
        row->lo = i % 2 ? -20 : -INFINITY;
        row->hi = i % 2 ? 20 : INFINITY;
    }
}

static scene changed;

static void expect_same(const void *a, const void *b, int count, size_t size)
{
    ck_assert_mem_eq(a, b, (size_t)count * size);
}

START_TEST(units_change_no_digit)
{
    static const unit units[] = {{10, 0, 0}, {-10, 0, 0}, {0, 0, 8}, {0, 0, -8}};
    for (int seed = 0; seed < 60; seed++) {
        sprag_stribeck_options options = sprag_stribeck_defaults();
        options.exact = seed % 3 != 1;
        options.sweeps = seed % 3 == 2 ? 0 : options.sweeps;
        open_heap(&s, seed);
        open_heap(&changed, seed);
        change_units(&changed, units[_i]);
        ck_assert_int_eq(solve_with(&s, &options), solve_with(&changed, &options));
        change_solution(&s, units[_i]);
        expect_same(changed.velocity, s.velocity, s.problem.bodies, sizeof *s.velocity);
        expect_same(changed.contact_force, s.contact_force, s.problem.contacts,
                    sizeof *s.contact_force);
        expect_same(changed.row_force, s.row_force, s.problem.rows, sizeof *s.row_force);
        ck_assert_double_eq(changed.stats.residual, s.stats.residual);
    }
}
END_TEST

// Lengths and turns add up in another order.
START_TEST(a_unit_of_length_changes_rounding_alone)
{
    static const unit units[] = {{0, 8, 0}, {0, -8, 0}};
    for (int seed = 0; seed < 60; seed++) {
        open_heap(&s, seed);
        open_heap(&changed, seed);
        change_units(&changed, units[_i]);
        ck_assert_int_eq(solve_with(&s, NULL), solve_with(&changed, NULL));
        change_solution(&changed, (unit){0, -units[_i].m, 0});
        expect_same_velocities((const double(*)[6])changed.velocity, (const double(*)[6])s.velocity,
                               1e-6);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("units");
    ADD_CASE(suite, "units", {units_change_no_digit, 4},
             {a_unit_of_length_changes_rounding_alone, 2});
    return run_suite(suite);
}
