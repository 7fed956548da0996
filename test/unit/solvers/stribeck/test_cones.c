// The laws of cones, four at a time, against those of single points (laws.h).
#include <check.h>
#include <math.h>

#include "laws.h"
#include "problems.h"
#include "suite.h"

enum { POINTS = 7, LAWS = 7, SEEDS = 10 * LAWS }; // points: the last four are not full

#define STICTION 1e-3 // m/s

static sprag_point points[POINTS];
static sprag_cone cones[3 * POINTS];
static sprag_system sys;
static double own[POINTS][6], u[POINTS][6], p[POINTS][6], w[POINTS][6], normal[POINTS];
static double impulse[POINTS][6], slope[POINTS][6][6];
static sprag_scratch scratch;

static void add_cone(chance *c, sprag_point *point, int first, int axes, int kind)
{
    sprag_cone *cone = &cones[sys.cones++];
    *cone = (sprag_cone){.first = first,
                         .axes = axes,
                         .coefficient = uniform(c, 0.1, 1.5),
                         .shape = {1, axes == 2 ? uniform(c, 0.3, 1) : 0},
                         .slip_yield = uniform(c, 1e-7, 1e-6),
                         .of_stiction = uniform(c, 0.5, 1),
                         .stiction = uniform(c, 0, 2 * STICTION)};
    cone->linear = kind == 1;
    cone->creeps = kind == 2;
    cone->force = kind == 3;
    point->law = kind == 4 ? SPRAG_GIVEN : SPRAG_SPRING;
    cone->slip_yield *= kind == 2 || kind == 5 ? 1e5 : 1; // creeps beyond the stiction tolerance
    if (kind == 6 && axes == 1) {
        cone->coefficient = INFINITY;
    }
    point->cones++;
    for (int k = first; k < first + axes; k++) {
        own[point - points][k] = uniform(c, 0.5, 2);
        own[point - points][k] = own[point - points][first];
    }
}

// Impulses at the bounds of the cones, where they neither hold nor slide.
static void go_to_edges(chance *c, int i)
{
    for (int k = points[i].cone; k < points[i].cone + points[i].cones; k++) {
        const sprag_cone *cone = &cones[k];
        double share[2] = {0};
        for (int a = 0; a < cone->axes; a++) {
            share[a] = p[i][cone->first + a] / cone->shape[a];
        }
        const double bound = cone->coefficient * (cone->force ? STEP : normal[i]);
        const double scale = bound / hypot(share[0], share[1]) * (1 + 1e-9 * uniform(c, -1, 1));
        for (int a = 0; a < cone->axes && isfinite(bound); a++) {
            p[i][cone->first + a] *= scale;
            u[i][cone->first + a] *= 1e-9;
        }
    }
}

// Each point pushes, some not; it has one cone, or axes of their own, and some resist turning.
static void open_points(int seed)
{
    chance c = {(uint64_t)seed + 1};
    const int kind = seed % LAWS;
    sys = (sprag_system){.step = STEP, .points = POINTS, .point = points, .cone = cones};
    memset(own, 0, sizeof own);
    memset(impulse, 0, sizeof impulse);
    memset(slope, 0, sizeof slope);
    for (int i = 0; i < POINTS; i++) {
        points[i] = (sprag_point){
            .dim = i % 3 ? 3 : 6, .cone = sys.cones, .given = 1, .yield = 1e-3, .inverse_mass = 1};
        if (i % 2) {
            add_cone(&c, &points[i], SPRAG_SLIDE, 2, kind);
        } else {
            add_cone(&c, &points[i], SPRAG_SLIDE, 1, kind);
            add_cone(&c, &points[i], SPRAG_SLIDE + 1, 1, kind);
        }
        if (i % 3 == 0) {
            add_cone(&c, &points[i], SPRAG_SPIN, 1, kind);
        }
        const double size = pow(10, uniform(&c, -2, 1)), speed = pow(10, uniform(&c, -5, 0));
        for (int k = 0; k < 6; k++) {
            u[i][k] = speed * uniform(&c, -1, 1);
            p[i][k] = k < points[i].dim ? size * uniform(&c, -1, 1) : 0;
            w[i][k] = u[i][k];
        }
        w[i][SPRAG_NORMAL] = i == 3 ? 1 : -uniform(&c, 1e-4, 1e-2);
        normal[i] = sprag_normal_impulse(&sys, &points[i], w[i][SPRAG_NORMAL],
                                         &slope[i][SPRAG_NORMAL][SPRAG_NORMAL]);
        impulse[i][SPRAG_NORMAL] = normal[i];
        if (seed >= SEEDS) {
            go_to_edges(&c, i);
        }
    }
    sprag_cones of;
    sprag_cones_take(&of, &sys, (const double(*)[6])own, &scratch);
    sprag_cones_solve(&of, STICTION, normal, (const double(*)[6])u, (const double(*)[6])p, w,
                      impulse, slope);
    sprag_scratch_free(&scratch);
}

START_TEST(impulses_and_slopes_are_those_of_single_points)
{
    open_points(_i);
    for (int i = 0; i < POINTS; i++) {
        double alone[6], of_one[6][6];
        sprag_point_law(&sys, i, w[i], STICTION, NULL, alone, of_one);
        for (int k = 0; k < points[i].dim; k++) {
            ck_assert_double_eq(impulse[i][k], alone[k]);
            for (int j = 0; j < points[i].dim; j++) {
                ck_assert_double_eq(slope[i][k][j], of_one[k][j]);
            }
        }
    }
}
END_TEST

START_TEST(slips_solve_the_law_of_their_point)
{
    open_points(_i);
    for (int c = 0, i = 0; c < sys.cones; c++) {
        i += i + 1 < POINTS && c >= points[i + 1].cone;
        for (int k = cones[c].first; k < cones[c].first + cones[c].axes; k++) {
            const double left = own[i][k] * (p[i][k] - impulse[i][k]), right = u[i][k] - w[i][k];
            const bool solved = points[i].law == SPRAG_SPRING;
            const double size = own[i][k] * fabs(p[i][k]) + fabs(u[i][k]);
            ck_assert_double_eq_tol(solved ? left : 0, right, 1e-6 * size);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cones");
    ADD_TESTS(suite, "cones", {impulses_and_slopes_are_those_of_single_points, 2 * SEEDS},
              {slips_solve_the_law_of_their_point, 2 * SEEDS});
    return run_suite(suite);
}
