// Runs of contacts in the space of bodies, against each contact's own wrenches.
#include <check.h>

#include "assemble.h"
#include "problems.h"
#include "space6.h"
#include "stribeck_cases.h"
#include "suite.h"

enum { MANY = 30, NODES = 3, SIZE = 6 * NODES };

// Three bodies, the second far larger, and a kinematic one. Contacts of the same bodies follow each
// other, but some have points of their own on either side.
static void open_bodies(chance *c)
{
    static const double place[4][3] = {{0, 0, 0}, {40, -30, 5}, {0.5, 0.3, 1}, {-1, 0, 0}};
    open_scene(&s);
    for (int b = 0; b < 4; b++) {
        const double size = b == 1 ? 50 : 1;
        add_box(&s, b < 3 ? size : 0, size, 2 * size, size);
    }
    for (int i = 0; i < MANY; i++) {
        static const int pair[6][2] = {{0, 1}, {1, 2}, {2, 0}, {0, SPRAG_STATIC}, {2, 3}, {3, 1}};
        double n[3], at[3];
        random_direction(c, n);
        const int *body = pair[i / 5];
        sprag_contact *contact = add_contact(&s, body[0], body[1], n);
        set_kind(&s, contact, i % 4 == 3 ? 8 : 0);
        for (int k = 0; k < 3; k++) {
            at[k] = uniform(c, -1, 1);
        }
        for (int side = 0; side < 2; side++) {
            for (int k = 0; k < 3 && body[side] >= 0; k++) {
                contact->arm[side][k] = at[k] - place[body[side]][k];
            }
        }
        contact->arm[0][1] += i % 5 == 4 ? 0.1 : 0;
    }
    fall(&s);
}

// J of a point and side, from the wrenches of unit forces.
static void jacobian_of(int i, double J[2][6][6])
{
    for (int k = 0; k < 6; k++) {
        double force[6] = {0}, wrench[2][6];
        force[k] = 1;
        sprag_contact_wrench(&s.contact[i], force, wrench);
        for (int side = 0; side < 2; side++) {
            memcpy(J[side][k], wrench[side], sizeof J[side][k]);
        }
    }
}

static void assemble(sprag_system *system)
{
    sprag_stribeck_options options = sprag_stribeck_defaults();
    int *node_of;
    double at_rest;
    sprag_scales scales = sprag_stribeck_scales(&s.problem, &options);
    ck_assert_int_eq(
        sprag_stribeck_assemble(&s.problem, &scales, &scratch, system, &node_of, &at_rest),
        SPRAG_OK);
    ck_assert_int_eq(system->size, SIZE);
}

START_TEST(runs_are_those_of_one_place)
{
    chance c = {1};
    sprag_system system;
    open_bodies(&c);
    assemble(&system);
    const sprag_stencil *point = ((const sprag_space6 *)system.chart)->point;
    for (int i = 0; i < MANY; i++) {
        const bool fixed = i / 5 == 3 || i / 5 == 4 || i / 5 == 5; // arms of one side alone
        const int first = fixed ? i - i % 5 : i % 5 == 4 ? i : i - i % 5;
        ck_assert_int_eq(point[i].first, first);
        ck_assert_int_eq(point[first].run, fixed ? 5 : i % 5 == 4 ? 1 : 4);
    }
    sprag_scratch_reset(&scratch);
}
END_TEST

// slip = J v, and sums of J' p
START_TEST(runs_have_the_velocities_and_wrenches_of_their_points)
{
    chance c = {2};
    sprag_system system;
    double v[SIZE], expected[SIZE] = {0}, sum[SIZE], slip[MANY][6] = {{0}};
    open_bodies(&c);
    assemble(&system);
    for (int i = 0; i < SIZE; i++) {
        v[i] = uniform(&c, -1, 1);
    }
    system.space->velocities(&system, v, slip, NULL);
    for (int i = 0; i < MANY; i++) {
        double J[2][6][6];
        jacobian_of(i, J);
        for (int k = 0; k < system.point[i].dim; k++) {
            double u = 0, p = system.impulse[i][k] = uniform(&c, -1, 1);
            for (int side = 0; side < 2; side++) {
                const int b = s.contact[i].body[side];
                for (int a = 0; a < 6 && b >= 0 && b < NODES; a++) {
                    u += J[side][k][a] * v[6 * b + a];
                    expected[6 * b + a] += J[side][k][a] * p;
                }
            }
            ck_assert_double_eq_tol(slip[i][k], u, 1e-12 * 100);
        }
    }
    system.space->gather(&system, sum);
    for (int i = 0; i < SIZE; i++) {
        ck_assert_double_eq_tol(sum[i], expected[i], 1e-12 * 100);
    }
    sprag_scratch_reset(&scratch);
}
END_TEST

// (M + J' D J) x = b, symmetric or not; some points have no D, and once a whole run.
START_TEST(runs_have_the_matrix_of_their_points)
{
    const bool symmetric = _i % 2;
    chance c = {(uint64_t)_i};
    sprag_system system;
    double x[SIZE], b[SIZE], left[SIZE];
    open_bodies(&c);
    assemble(&system);
    for (int i = 0; i < SIZE; i++) {
        x[i] = b[i] = uniform(&c, -1, 1);
    }
    static double slope[MANY][6][6];
    ck_assert_int_eq(system.space->begin(&system, symmetric), SPRAG_OK);
    for (int i = 0; i < MANY; i++) {
        double(*D)[6] = slope[i];
        memset(D, 0, sizeof slope[i]);
        const bool none = (i >= 5 && i < 10) || i % 7 == 0, slides = i % 5 == 1;
        for (int j = slides; j < system.point[i].dim && !none; j++) {
            for (int k = slides; k <= j; k++) {
                D[j][k] = D[k][j] = (j == k ? 8 : 0) + uniform(&c, -1, 1);
                D[j][k] += symmetric ? 0 : uniform(&c, -1, 1);
            }
        }
        system.space->add_point(&system, i, (const double(*)[6])D, symmetric);
    }
    ck_assert_int_eq(system.space->factor(&system, symmetric), SPRAG_OK);
    system.space->solve(&system, symmetric, x);
    memset(left, 0, sizeof left);
    for (int i = 0; i < MANY; i++) {
        double J[2][6][6], u[6] = {0};
        jacobian_of(i, J);
        for (int k = 0; k < 2 * 36; k++) {
            const int side = k / 36, row = k / 6 % 6, of = s.contact[i].body[side];
            u[row] += of >= 0 && of < NODES ? J[side][row][k % 6] * x[6 * of + k % 6] : 0;
        }
        for (int k = 0; k < 2 * 36; k++) {
            const int side = k / 36, row = k / 6 % 6, of = s.contact[i].body[side];
            if (of >= 0 && of < NODES) {
                left[6 * of + k % 6] += J[side][row][k % 6] * dot(slope[i][row], u, 6);
            }
        }
    }
    for (int n = 0; n < NODES; n++) {
        for (int k = 0; k < 3; k++) {
            left[6 * n + k] += s.body[n].mass * x[6 * n + k];
            left[6 * n + 3 + k] += dot(s.body[n].inertia + 3 * k, x + 6 * n + 3, 3);
        }
    }
    for (int i = 0; i < SIZE; i++) {
        ck_assert_double_eq_tol(left[i], b[i], 1e-9);
    }
    sprag_scratch_reset(&scratch);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("space6");
    ADD_CASE(suite, "runs", {runs_are_those_of_one_place, 1},
             {runs_have_the_velocities_and_wrenches_of_their_points, 1},
             {runs_have_the_matrix_of_their_points, 8});
    return run_suite(suite);
}
