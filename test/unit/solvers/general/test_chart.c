// Bodies that the general solver finds in a problem without bodies: by couplings of the mass matrix
// and by the velocities on which the same contacts act.
#include <check.h>

#include "chart.h"
#include "problems_general.h"
#include "space6.h"
#include "suite.h"

static sprag_scratch scratch;

static sprag_chart chart_of(const made *m)
{
    sprag_chart chart;
    sprag_scratch_reset(&scratch);
    ck_assert(sprag_chart_choose(&m->problem, &chart, &scratch));
    return chart;
}

enum { POINTS = 5, NV = 3 * POINTS };

// Points: velocity i is of point i % 5. Contacts: of 0, of 0 and 1, of 1 and 2; none of 3 and 4.
static made open_points(void)
{
    made m = make(NV, 3, 1e-3, true);
    for (int i = 0; i < NV; i++) {
        const int point = i % POINTS;
        m.mass[(NV + 1) * i] = 1 + point;
        m.normal[i] = point == 0;
        m.normal[NV + i] = point == 0 ? 1 : point == 1 ? -1 : 0;
        m.tangent[5 * NV + i] = point == 1 || point == 2;
    }
    return m;
}

// Points on which the same contacts act, here none, share a body if there is room.
START_TEST(points_are_found_by_their_contacts)
{
    static const int node[3][2] = {{0, SPRAG_NOWHERE}, {0, 1}, {1, 2}};
    made m = open_points();
    sprag_chart chart = chart_of(&m);
    ck_assert_int_eq(chart.nodes, 4);
    for (int i = 0; i < NV; i++) {
        const int point = i % POINTS, turn = i / POINTS;
        ck_assert_int_eq(chart.place[i], point < 3 ? 6 * point + turn : 15 + point + 2 * turn);
    }
    ck_assert_mem_eq(chart.node, node, sizeof node);
    made_free(&m);
}
END_TEST

// A contact of three, or a mass matrix that couples more than six velocities, have no bodies.
START_TEST(what_has_no_bodies_is_dense)
{
    made m = open_points();
    for (int i = 0; i < 3 && _i == 0; i++) {
        m.tangent[i] = 1;
    }
    for (int i = 1; i < 7 && _i == 1; i++) {
        m.mass[i] = m.mass[NV * i] = 0.1;
    }
    sprag_chart chart = chart_of(&m);
    ck_assert_int_eq(chart.nodes, 0);
    for (int i = 0; i < NV; i++) {
        ck_assert_int_eq(chart.place[i], i);
    }
    made_free(&m);
}
END_TEST

// Six that are coupled are one body, whatever their contacts.
START_TEST(coupled_velocities_share_a_body)
{
    made m = open_points();
    for (int i = 0; i < NV; i++) {
        for (int j = 0; j < NV; j++) {
            m.mass[NV * i + j] += i != j && i % POINTS < 2 && j % POINTS < 2 ? 0.1 : 0;
        }
    }
    sprag_chart chart = chart_of(&m);
    ck_assert_int_eq(chart.nodes, 3);
    for (int i = 0; i < NV; i++) {
        const int point = i % POINTS, turn = i / POINTS;
        ck_assert_int_eq(chart.place[i], point < 2    ? point + 2 * turn
                                         : point == 2 ? 6 + turn
                                                      : 9 + point + 2 * turn);
    }
    made_free(&m);
}
END_TEST

// Six in a row are a body, though further contacts act on some of them alone.
START_TEST(six_by_six_are_in_order)
{
    made m = make(12, 3, 1e-3, true);
    for (int i = 0; i < 12; i++) {
        m.mass[13 * i] = 1;
        m.normal[i] = 1;
    }
    m.normal[12] = m.normal[25] = 1;
    sprag_chart chart = chart_of(&m);
    for (int i = 0; i < 12; i++) {
        ck_assert_int_eq(chart.place[i], i);
    }
    ck_assert_int_eq(chart.nodes, 2);
    ck_assert_int_eq(chart.node[0][0], 0);
    ck_assert_int_eq(chart.node[0][1], 1);
    made_free(&m);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("chart");
    ADD_TESTS(suite, "bodies", {points_are_found_by_their_contacts, 1},
              {what_has_no_bodies_is_dense, 2}, {coupled_velocities_share_a_body, 1},
              {six_by_six_are_in_order, 1});
    int code = run_suite(suite);
    sprag_scratch_free(&scratch);
    return code;
}
