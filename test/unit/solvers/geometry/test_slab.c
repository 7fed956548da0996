// The points at which two features of a slab come nearest, by closed forms: vertices, edges and
// faces that are not square, rims and caps.
#include <math.h>
#include <string.h>

#include "linalg.h"
#include "slab.h"
#include "suite.h"

enum { GRID = 4 };

static const double UP[3] = {0, 0, 1}, HEIGHT = 0.25, ROUNDING = 1e-9;

static void add_vertex(sprag_slab_hull *h, double x, double y, double z)
{
    const double at[3] = {x, y, z};
    memcpy(h->at[h->count], at, sizeof at);
    memcpy(h->about[h->count++], at, sizeof at);
}

// The points of the lower and the upper hull, which is hull `over`: `low` and `high`.
static void check_points(const sprag_slab_hull *lower, const sprag_slab_hull *upper, int over,
                         bool caps, const double low[3], const double high[3])
{
    sprag_slab_hull hull[2];
    sprag_slab slab = {.normal = {0, 0, over ? -1 : 1}, .height = high[2] - low[2]};
    double point[2][3], apart[3], far;
    hull[over] = *upper;
    hull[!over] = *lower;
    for (int side = 0; side < 2 && !caps; side++) {
        slab.feature[side] = (sprag_slab_feature){hull[side].count, {0, 1, 2}};
    }
    far = sprag_slab_points((const sprag_slab_hull *)hull, &slab, 1, point);
    for (int k = 0; k < 3; k++) {
        ck_assert_double_eq_tol(point[!over][k], low[k], ROUNDING);
        ck_assert_double_eq_tol(point[over][k], high[k], ROUNDING);
    }
    subtract3(high, low, apart);
    add_scaled(apart, low[2] - high[2], UP, 3);
    ck_assert_double_eq_tol(far, norm3(apart), ROUNDING);
}

// Either hull is the first.
static void check(const sprag_slab_hull *lower, const sprag_slab_hull *upper, bool caps,
                  const double low[3], const double high[3])
{
    check_points(lower, upper, 0, caps, low, high);
    check_points(lower, upper, 1, caps, low, high);
}

// Above a triangle with edges (2, 0, 0) and (1, 3, 0): the foot, and where it is outside the
// triangle, one within.
START_TEST(a_vertex_is_over_its_foot)
{
    sprag_slab_hull face = {0};
    add_vertex(&face, 0, 0, 0), add_vertex(&face, 2, 0, 0), add_vertex(&face, 1, 3, 0);
    for (int i = -GRID; i <= 2 * GRID; i++) {
        for (int k = -GRID; k <= 2 * GRID; k++) {
            const double u = (double)i / GRID, v = (double)k / GRID;
            const double in[2] = {clamp(u, 0, 1), clamp(v, 0, 1)}, sum = fmax(1, in[0] + in[1]);
            const double foot[3] = {(2 * in[0] + in[1]) / sum, 3 * in[1] / sum, 0};
            const double at[3] = {2 * u + v, 3 * v, HEIGHT};
            sprag_slab_hull vertex = {0};
            add_vertex(&vertex, at[0], at[1], at[2]);
            check(&face, &vertex, false, foot, at);
        }
    }
}
END_TEST

// A sliver, whose edges are 1e-7 rad apart.
START_TEST(a_vertex_is_over_its_foot_on_a_sliver)
{
    static const double e[3] = {1 / 3.0, 5 / 7.0, 0},
                        f[3] = {0.3 - 1e-7 / 7, 4.5 / 7 + 1e-7 / 15, 0};
    sprag_slab_hull face = {0};
    add_vertex(&face, 0, 0, 0), add_vertex(&face, e[0], e[1], 0), add_vertex(&face, f[0], f[1], 0);
    for (int i = 0; i <= GRID; i++) {
        for (int k = 0; i + k <= GRID; k++) {
            double foot[3] = {0}, at[3];
            add_scaled(foot, (double)i / GRID, e, 3);
            add_scaled(foot, (double)k / GRID, f, 3);
            memcpy(at, foot, sizeof at);
            at[2] = HEIGHT;
            sprag_slab_hull vertex = {0};
            add_vertex(&vertex, at[0], at[1], at[2]);
            check(&face, &vertex, false, foot, at);
        }
    }
}
END_TEST

START_TEST(a_vertex_is_over_an_edge)
{
    sprag_slab_hull edge = {0};
    add_vertex(&edge, 0, 0, 0), add_vertex(&edge, 3, 4, 0);
    for (int i = -GRID; i <= 2 * GRID; i++) {
        const double u = (double)i / GRID, in = clamp(u, 0, 1);
        const double foot[3] = {3 * in, 4 * in, 0}, at[3] = {3 * u, 4 * u, HEIGHT};
        sprag_slab_hull vertex = {0};
        add_vertex(&vertex, at[0], at[1], at[2]);
        check(&edge, &vertex, false, foot, at);
    }
}
END_TEST

// Two edges cross where their parts are u and v, also where they are nearly parallel.
START_TEST(edges_meet_where_they_cross)
{
    static const double slope[] = {3, -1, 1e-3};
    for (int i = 0; i <= GRID; i++) {
        for (int k = 0; k <= GRID; k++) {
            const double u = (double)i / GRID, v = (double)k / GRID, x = 1, y = slope[_i];
            const double low[3] = {2 * u, 0, 0}, high[3] = {2 * u, 0, HEIGHT};
            sprag_slab_hull lower = {0}, upper = {0};
            add_vertex(&lower, 0, 0, 0), add_vertex(&lower, 2, 0, 0);
            add_vertex(&upper, 2 * u - v * x, -v * y, HEIGHT);
            add_vertex(&upper, 2 * u + (1 - v) * x, (1 - v) * y, HEIGHT);
            check(&lower, &upper, false, low, high);
        }
    }
}
END_TEST

// An edge that ends before it crosses is over the foot of its end; of parallel edges, the middle of
// hull 0's is over its foot.
START_TEST(edges_that_do_not_cross_end)
{
    sprag_slab_hull lower = {0}, upper = {0}, along = {0};
    add_vertex(&lower, 0, 0, 0), add_vertex(&lower, 2, 0, 0);
    add_vertex(&upper, 1, 1, HEIGHT), add_vertex(&upper, 1.5, 3, HEIGHT);
    check(&lower, &upper, false, (const double[3]){1, 0, 0}, (const double[3]){1, 1, HEIGHT});
    add_vertex(&along, 0.5, 0, HEIGHT), add_vertex(&along, 1.25, 0, HEIGHT);
    check_points(&lower, &along, 1, false, (const double[3]){1, 0, 0},
                 (const double[3]){1, 0, HEIGHT});
    check_points(&lower, &along, 0, false, (const double[3]){0.875, 0, 0},
                 (const double[3]){0.875, 0, HEIGHT});
}
END_TEST

static sprag_slab_hull cylinder(const double axis[3], const double at[3], double half,
                                double radius)
{
    sprag_slab_hull h = {.radius = radius};
    memcpy(h.axis, axis, sizeof h.axis);
    sprag_any_across(axis, h.across[0]);
    cross3(axis, h.across[0], h.across[1]);
    for (int end = -1; end <= 1; end += 2) {
        add_vertex(&h, at[0] + end * half * axis[0], at[1] + end * half * axis[1],
                   at[2] + end * half * axis[2]);
    }
    return h;
}

// A cylinder that lies on another, across it: they touch where their sides are nearest.
START_TEST(sides_meet_between_their_axes)
{
    static const double x[3] = {1, 0, 0}, y[3] = {0, 1, 0};
    const sprag_slab_hull lower = cylinder(x, (const double[3]){0.25, 0.5, -1}, 2, 1);
    const sprag_slab_hull upper = cylinder(y, (const double[3]){1, 0, HEIGHT + 0.5}, 2, 0.5);
    check(&lower, &upper, false, (const double[3]){1, 0.5, 0}, (const double[3]){1, 0.5, HEIGHT});
}
END_TEST

// Above the cap of a disc of radius 1 at (0.5, 0, 0): a vertex, two vertices at one height, whose
// edge is nearest to the disc's centre at a right angle, a side, and another cap.
START_TEST(caps_have_the_point_below)
{
    const sprag_slab_hull disc = cylinder(UP, (const double[3]){0.5, 0, -1}, 1, 1);
    sprag_slab_hull vertex = {0}, edge = {0};
    add_vertex(&vertex, 0.75, 0.5, HEIGHT), add_vertex(&vertex, 0, 0, HEIGHT + 1e-3);
    check(&disc, &vertex, true, (const double[3]){0.75, 0.5, 0},
          (const double[3]){0.75, 0.5, HEIGHT});
    vertex.at[0][0] = 3.5, vertex.at[0][1] = 4; // beyond the rim
    check(&disc, &vertex, true, (const double[3]){0.5 + 0.6, 0.8, 0},
          (const double[3]){3.5, 4, HEIGHT});
    add_vertex(&edge, 0.75, -3, HEIGHT), add_vertex(&edge, 0.75, 1, HEIGHT);
    check(&disc, &edge, true, (const double[3]){0.75, 0, 0}, (const double[3]){0.75, 0, HEIGHT});
    const sprag_slab_hull side =
        cylinder((const double[3]){0, 1, 0}, (const double[3]){1, 0, HEIGHT + 0.5}, 2, 0.5);
    check(&disc, &side, true, (const double[3]){1, 0, 0}, (const double[3]){1, 0, HEIGHT});
}
END_TEST

// A disc of which the hull has one cap, below the first three vertices of a square.
START_TEST(faces_have_the_point_over_the_cap)
{
    sprag_slab_hull square = {0}, disc = cylinder(UP, (const double[3]){0, 0, -2}, 1, 0.125);
    disc.at[0][2] = -1, disc.count = 1;
    for (int i = 0; i < 4; i++) {
        add_vertex(&square, i == 1 || i == 2, i > 1, HEIGHT - 1);
    }
    for (int i = 1; i < 2 * GRID; i++) {
        for (int k = 1; k < i; k++) {
            const double x = i / (2.0 * GRID), y = k / (2.0 * GRID);
            disc.at[0][0] = x, disc.at[0][1] = y;
            check(&disc, &square, true, (const double[3]){x, y, -1},
                  (const double[3]){x, y, HEIGHT - 1});
        }
    }
}
END_TEST

// Two discs touch at the point of the one that is nearest to the centre of the other, hull 0; those
// that do not overlap, at their rims.
START_TEST(caps_meet_where_both_are)
{
    static const double apart[] = {0, 0.25, 1.25, 3};
    static const double on_lower[2][4] = {{0, 0.25, 1, 1}, {0, 0, 0.75, 1}};
    static const double on_upper[2][4] = {{0, 0.25, 1, 2.5}, {0, 0, 0.75, 2.5}};
    const sprag_slab_hull lower = cylinder(UP, (const double[3]){0, 0, -1}, 1, 1);
    const sprag_slab_hull upper = cylinder(UP, (const double[3]){apart[_i], 0, 1 + HEIGHT}, 1, 0.5);
    for (int over = 0; over < 2; over++) {
        const double low[3] = {on_lower[over][_i]}, high[3] = {on_upper[over][_i], 0, HEIGHT};
        check_points(&lower, &upper, over, true, low, high);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("slab");
    ADD_TESTS(suite, "points", {a_vertex_is_over_its_foot, 1},
              {a_vertex_is_over_its_foot_on_a_sliver, 1}, {a_vertex_is_over_an_edge, 1},
              {edges_meet_where_they_cross, 3}, {edges_that_do_not_cross_end, 1},
              {sides_meet_between_their_axes, 1}, {caps_have_the_point_below, 1},
              {faces_have_the_point_over_the_cap, 1}, {caps_meet_where_both_are, 4});
    return run_suite(suite);
}
