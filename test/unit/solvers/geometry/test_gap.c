// Distances of pairs on a lattice and of shapes without extent, refused numbers, warm starts, and
// bounds beyond the reach.
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core_gap.h"
#include "linalg.h"
#include "shape_bounds.h"
#include "suite.h"

// ---- ties: shapes that meet in lattice points, along axes

static void put_on_lattice(thing *t)
{
    real R[3][3] = {{0}};
    int first = pick(3), second = (first + 1 + pick(2)) % 3, third = 3 - first - second;
    real a = pick(2) ? 1 : -1, b = pick(2) ? 1 : -1;
    R[first][0] = a;
    R[second][1] = b;
    R[third][2] = ((second - first + 3) % 3 == 1 ? 1 : -1) * a * b;
    set_rotation(t, (const real(*)[3])R);
    const real at[3] = {0.5L * pick(5), 0.5L * pick(5), 0.5L * pick(5)};
    set_position(t, at);
}

static void make_lattice_thing(thing *t, sprag_shape_kind kind)
{
    make_thing(t, kind);
    if (kind == SPRAG_BOX) {
        for (int k = 0; k < 3; k++) {
            t->shape.half[k] = 0.5 * (1 + pick(2));
        }
        make_box_solid(t);
    } else if (kind != SPRAG_POLYTOPE) {
        t->shape.radius = 0.5 * (1 + pick(2));
        t->shape.half[2] = kind == SPRAG_SPHERE ? 0 : 0.5 * (1 + pick(2));
    } else { // a cube, an octahedron of its face centres, a triangle
        static solid cube, octahedron, triangle;
        solid *s = pick(3) ? pick(2) ? &cube : &octahedron : &triangle;
        if (!cube.edges) {
            thing box = {.shape = {.kind = SPRAG_BOX, .half = {0.5, 0.5, 0.5}}};
            make_box_solid(&box);
            memcpy(cube.vertex, box.own.vertex, sizeof cube.vertex);
            static const unsigned loop[] = {4, 0, 4, 6, 2, 4, 1, 3, 7, 5, 4, 0, 1, 5, 4,
                                            4, 2, 6, 7, 3, 4, 0, 2, 3, 1, 4, 4, 5, 7, 6};
            cube.polytope = sprag_polytope_make((const double(*)[3])cube.vertex, 8, loop, 6,
                                                cube.start, cube.normal);
            add_edges(&cube);
            for (int i = 0; i < 6; i++) {
                octahedron.vertex[i][i / 2] = i % 2 ? 1 : -1;
            }
            hull_of(&octahedron, 6);
            triangle.vertex[1][0] = triangle.vertex[2][1] = 1;
            triangle.polytope =
                sprag_triangle_make((const double(*)[3])triangle.vertex, triangle.normal);
            add_edges(&triangle);
        }
        t->s = s;
        t->shape.polytope = &s->polytope;
    }
}

START_TEST(ties_have_a_normal_too)
{
    static thing t[2];
    dice = 81;
    for (int k0 = 0; k0 < SPRAG_PLANE; k0++) {
        for (int k1 = 0; k1 < SPRAG_PLANE; k1++) {
            for (int i = 0; i < 1000; i++) {
                make_lattice_thing(&t[0], (sprag_shape_kind)k0);
                make_lattice_thing(&t[1], (sprag_shape_kind)k1);
                put_on_lattice(&t[0]);
                put_on_lattice(&t[1]);
                bool curved = k0 == SPRAG_CYLINDER || k1 == SPRAG_CYLINDER;
                check_near(t, "lattice", curved ? i < 4 : i % 4 == 0);
            }
        }
    }
    ck_assert_int_eq(misses, 0);
    ck_assert_int_le(astray, pairs / 5000);
}
END_TEST

// No size at all, in one direction or in any.
START_TEST(shapes_without_extent_are_points_edges_or_faces)
{
    static double vertex[4][3] = {{0, 0, 0}, {1, 0, 0}, {1, 0, 0}, {0, 0, 0}}, normal[2][3];
    const sprag_polytope line = sprag_triangle_make((const double(*)[3])vertex, normal);
    const sprag_polytope point = {.vertices = 4, .vertex = (const double(*)[3])vertex + 3};
    sprag_polytope dot_only = point;
    dot_only.vertices = 1;
    const sprag_shape shapes[] = {
        {.kind = SPRAG_POLYTOPE, .polytope = &line},
        {.kind = SPRAG_POLYTOPE, .polytope = &dot_only},
        {.kind = SPRAG_BOX, .half = {0.5, 0.5, 0}},
        {.kind = SPRAG_BOX, .half = {0.5, 0, 0}},
        {.kind = SPRAG_BOX},
        {.kind = SPRAG_SPHERE},
        {.kind = SPRAG_CAPSULE, .half = {0, 0, 0.5}},
        {.kind = SPRAG_CAPSULE, .radius = 0.5},
        {.kind = SPRAG_CYLINDER, .radius = 0.5},
        {.kind = SPRAG_CYLINDER, .half = {0, 0, 0.5}},
        {.kind = SPRAG_BOX, .half = {0.5, 0.5, 0.5}},
    };
    enum { SHAPES = sizeof shapes / sizeof *shapes };
    for (int i = 0; i < SHAPES; i++) {
        for (int j = 0; j < SHAPES; j++) {
            for (int k = 0; k < 3; k++) { // in each other, side by side, touching or nearly
                const sprag_pose pose[2] = {
                    {{0, 0, 0}, {1, 0, 0, 0, 1, 0, 0, 0, 1}},
                    {{0, k == 1 ? 3 : 0, k == 2 ? 1 : 0}, {0, -1, 0, 1, 0, 0, 0, 0, 1}}};
                const sprag_shape *shape[2] = {&shapes[i], &shapes[j]};
                const sprag_pose *poses[2] = {&pose[0], &pose[1]};
                const sprag_gap_query query = {INFINITY, 0.1};
                sprag_gap gap;
                sprag_manifold manifold;
                sprag_result result = sprag_gap_find(shape, poses, &query, NULL, &gap, &manifold);
                ck_assert_int_ne(result, SPRAG_BAD_PROBLEM);
                real n[3];
                widen(gap.normal, n);
                ck_assert_double_eq_tol((double)length(n), 1, 1e-15);
                double along = sprag_gap_along(shape, poses, gap.normal);
                ck_assert_double_eq_tol(along, gap.distance, 1e-14);
                ck_assert(k != 1 || gap.distance > 1);
                for (int c = 0; c < 3; c++) {
                    double miss = gap.point[0][c] - gap.point[1][c] - gap.distance * gap.normal[c];
                    ck_assert_double_eq_tol(miss, 0, 1e-12);
                }
            }
        }
    }
}
END_TEST

START_TEST(numbers_that_are_not_finite_are_refused)
{
    const sprag_shape ball = {.kind = SPRAG_SPHERE, .radius = 1}, floor = {.kind = SPRAG_PLANE};
    sprag_pose pose[2] = {{{0}, {1, 0, 0, 0, 1, 0, 0, 0, 1}}, {{3}, {1, 0, 0, 0, 1, 0, 0, 0, 1}}};
    const sprag_shape *two[2] = {&ball, &ball}, *floors[2] = {&floor, &floor};
    const sprag_pose *poses[2] = {&pose[0], &pose[1]};
    const sprag_gap_query query = {INFINITY, 0};
    sprag_gap gap;
    ck_assert_int_eq(sprag_gap_find(two, poses, &query, NULL, &gap, NULL), SPRAG_OK);
    ck_assert_double_eq(gap.distance, 1);
    ck_assert_double_eq(gap.normal[0], -1);
    ck_assert_int_eq(sprag_gap_find(floors, poses, &query, NULL, &gap, NULL), SPRAG_BAD_PROBLEM);
    pose[1].position[0] = NAN;
    ck_assert_int_eq(sprag_gap_find(two, poses, &query, NULL, &gap, NULL), SPRAG_BAD_PROBLEM);
    pose[1].position[0] = INFINITY;
    ck_assert_int_eq(sprag_gap_find(two, poses, &query, NULL, &gap, NULL), SPRAG_BAD_PROBLEM);
    pose[1].position[0] = 3;
    pose[1].rotation[4] = NAN;
    ck_assert_int_eq(sprag_gap_find(two, poses, &query, NULL, &gap, NULL), SPRAG_BAD_PROBLEM);
}
END_TEST

// Whatever is remembered, of this pair or of another, only the time it takes may differ.
START_TEST(memory_does_not_change_the_answer)
{
    static thing t[2];
    sprag_gap_memory memory = {0};
    dice = 82;
    for (int i = 0; i < 20000; i++) {
        sprag_gap fresh, warm;
        sprag_shape_kind kind[2] = {(sprag_shape_kind)pick(SPRAG_PLANE),
                                    (sprag_shape_kind)pick(SPRAG_PLANE)};
        make_thing(&t[0], kind[0]);
        make_thing(&t[1], kind[1]);
        put_near(t, 1.5);
        find(t, NULL, &fresh, NULL, 0);
        for (int again = 0; again < 2; again++) {
            find(t, &memory, &warm, NULL, 0);
            ck_assert_double_eq_tol(warm.distance, fresh.distance,
                                    1e-12 * fabs(fresh.distance) + 16 * eps * reach_of(t));
        }
    }
}
END_TEST

// Beyond the reach there is a bound, and it holds.
START_TEST(reach_gives_a_bound)
{
    static thing t[2];
    dice = 83;
    int beyond = 0;
    for (int i = 0; i < 20000; i++) {
        make_thing(&t[0], (sprag_shape_kind)pick(SPRAG_PLANE));
        make_thing(&t[1], (sprag_shape_kind)pick(SPRAG_SHAPE_KINDS));
        put_near(t, 2);
        const sprag_shape *shape[2] = {&t[0].shape, &t[1].shape};
        const sprag_pose *pose[2] = {&t[0].pose, &t[1].pose};
        sprag_gap full, near;
        const sprag_gap_query all = {INFINITY, 0}, some = {0.1, 0};
        ck_assert_int_eq(sprag_gap_find(shape, pose, &all, NULL, &full, NULL), SPRAG_OK);
        ck_assert_int_eq(sprag_gap_find(shape, pose, &some, NULL, &near, NULL), SPRAG_OK);
        ck_assert(near.beyond == (full.distance > 0.1));
        beyond += near.beyond;
        if (near.beyond) {
            ck_assert_double_gt(near.distance, 0.1);
            ck_assert_double_le(near.distance, full.distance + 1e-13);
            ck_assert_double_ge(sprag_gap_along(shape, pose, near.normal), near.distance - 1e-13);
        }
    }
    ck_assert_int_gt(beyond, 5000);
}
END_TEST

// Closed forms are taken where they are proven to be the distance: as a search finds it, overlaps
// among them, with points that far apart. Cylinders that are apart by no more than their size
// always have one.
START_TEST(triangles_in_closed_form_are_as_far_as_by_search)
{
    static const sprag_shape_kind kinds[] = {SPRAG_CAPSULE, SPRAG_CYLINDER, SPRAG_BOX,
                                             SPRAG_POLYTOPE};
    static thing t[2];
    static solid three;
    int closed = 0, overlapping = 0;
    dice = 84;
    for (int i = 0; i < 60000; i++) {
        const int side = pick(2); // of the triangle
        sprag_core core[2];
        make_thing(&t[!side], kinds[i % 4]);
        make_thing(&t[side], SPRAG_BOX);
        for (int v = 0; v < 9; v++) {
            three.vertex[v / 3][v % 3] = between(-2, 2);
        }
        three.polytope = sprag_triangle_make((const double(*)[3])three.vertex, three.normal);
        t[side].shape = (sprag_shape){.kind = SPRAG_POLYTOPE, .polytope = &three.polytope};
        put_near(t, 1);
        const sprag_shape *shape[2] = {&t[0].shape, &t[1].shape};
        const sprag_pose *pose[2] = {&t[0].pose, &t[1].pose};
        ck_assert(sprag_cores_set(shape, pose, core));
        const double size = norm3(core[1].at) + 8, skin = sprag_core_margin(&core[!side]);
        sprag_core_gap form = {.size = size}, search = {.size = size};
        sprag_core_gap_warm(core, INFINITY, NULL, &search);
        const bool has_form = sprag_core_gap_triangle(core, INFINITY, &form);
        const sprag_shape *other = core[!side].shape;
        const double far = other->radius + other->half[2];
        ck_assert(has_form || other->kind != SPRAG_CYLINDER || search.distance < 1e-6 ||
                  search.distance > far);
        if (has_form) {
            closed++;
            overlapping += form.distance < 0;
            double apart[3];
            subtract3(form.point[0], form.point[1], apart);
            add_scaled(apart, -form.distance, form.normal, 3);
            const double tolerance = 1e-11 * size + search.error;
            ck_assert_double_eq_tol(form.distance, search.distance, tolerance);
            ck_assert_double_le(norm3(apart), 1e-12 * size);
            ck_assert_double_eq_tol(norm3(form.normal), 1, 1e-14);
            ck_assert_double_eq_tol(sprag_gap_along(shape, pose, form.normal), form.distance - skin,
                                    1e-12 * size);
        }
    }
    ck_assert_int_gt(closed, 25000);
    ck_assert_int_gt(overlapping, 500);
}
END_TEST

// Boxes side by side that overlap by less than their edges, nearly parallel, differ: the way out is
// across two of those.
START_TEST(edges_that_are_nearly_parallel_count)
{
    static thing t[2];
    dice = 85;
    for (int i = 0; i < 1000; i++) {
        sprag_gap gap;
        real at[3] = {between(-2, 2), between(-1, 1), between(-1, 1)}, tilt = power(-5, -3);
        for (int side = 0; side < 2; side++) {
            real A[3][3], B[3][3], C[3][3];
            t[side].shape =
                (sprag_shape){.kind = SPRAG_BOX, .half = {1, power(-1.5, 0), power(-1.5, 0)}};
            make_box_solid(&t[side]);
            about(0, between(0, 6.3), A);
            about(1, side * tilt * between(-1, 1), B);
            multiply((const real(*)[3])B, (const real(*)[3])A, C);
            about(2, side * tilt * between(-1, 1), A);
            multiply((const real(*)[3])A, (const real(*)[3])C, B);
            set_rotation(&t[side], (const real(*)[3])B);
            set_position(&t[side], (const real[3]){0, 0, 0});
        }
        set_position(&t[1], at);
        find(t, NULL, &gap, NULL, 0);
        real n[3], closer = gap.distance + power(-8, -5);
        widen(gap.normal, n);
        add(at, closer, n);
        set_position(&t[1], at);
        check_near(t, "nearly parallel", true);
    }
    ck_assert_int_eq(misses, 0);
}
END_TEST

// ---- size: a power of two times as large, all lengths are so to the last bit

static void scale(double *x, int count, int exponent)
{
    for (int i = 0; i < count; i++) {
        x[i] = ldexp(x[i], exponent);
    }
}

static void scale_thing(const thing *t, int exponent, solid *s, thing *scaled)
{
    *scaled = *t;
    scale(&scaled->shape.radius, 1, exponent);
    scale(scaled->shape.half, 3, exponent);
    scale(scaled->pose.position, 3, exponent);
    if (t->shape.kind == SPRAG_POLYTOPE) {
        *s = *t->s;
        scale(s->vertex[0], 3 * VERTICES_MAX, exponent);
        s->polytope.vertex = (const double(*)[3])s->vertex;
        scaled->shape.polytope = &s->polytope;
    }
}

START_TEST(small_and_large_shapes_are_alike)
{
    static thing t[2], scaled[2];
    static solid s[2];
    dice = 83;
    for (int i = 0; i < 20000; i++) {
        const int exponent = i % 2 ? 20 : -20;
        const sprag_gap_query query = {i % 3 ? INFINITY : 0.1, between(0, 0.1)},
                              alike = {ldexp(query.reach, exponent), ldexp(query.margin, exponent)};
        sprag_gap gap[2];
        sprag_manifold manifold[2];
        const sprag_shape *shape[2][2];
        const sprag_pose *pose[2][2];
        for (int side = 0; side < 2; side++) {
            make_thing(&t[side], (sprag_shape_kind)pick(SPRAG_PLANE + side));
        }
        put_near(t, 1);
        for (int side = 0; side < 2; side++) {
            scale_thing(&t[side], exponent, &s[side], &scaled[side]);
            shape[0][side] = &t[side].shape, pose[0][side] = &t[side].pose;
            shape[1][side] = &scaled[side].shape, pose[1][side] = &scaled[side].pose;
        }
        memset(gap, 0, sizeof gap);
        memset(manifold, 0, sizeof manifold);
        ck_assert_int_eq(sprag_gap_find(shape[0], pose[0], &query, NULL, &gap[0], &manifold[0]),
                         sprag_gap_find(shape[1], pose[1], &alike, NULL, &gap[1], &manifold[1]));
        scale(&gap[0].distance, 1, exponent);
        scale(&gap[0].error, 1, exponent);
        scale(*gap[0].point, 6, exponent);
        scale(manifold[0].gap, SPRAG_MANIFOLD_MAX, exponent);
        scale(**manifold[0].point, 6 * SPRAG_MANIFOLD_MAX, exponent);
        ck_assert_double_eq(gap[1].distance, gap[0].distance);
        ck_assert_double_eq(gap[1].error, gap[0].error);
        ck_assert_mem_eq(gap[1].normal, gap[0].normal, sizeof gap[0].normal);
        ck_assert_mem_eq(gap[1].point, gap[0].point, sizeof gap[0].point);
        ck_assert_int_eq(gap[1].work, gap[0].work);
        ck_assert_int_eq(manifold[1].count, manifold[0].count);
        ck_assert_mem_eq(manifold[1].gap, manifold[0].gap, sizeof manifold[0].gap);
        ck_assert_mem_eq(manifold[1].point, manifold[0].point, sizeof manifold[0].point);
    }
}
END_TEST

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ); // tests that fail end their process
    Suite *suite = suite_create("gap");
    TCase *exact = ADD_TESTS(
        suite, "exact", {ties_have_a_normal_too, 1},
        {shapes_without_extent_are_points_edges_or_faces, 1},
        {numbers_that_are_not_finite_are_refused, 1}, {memory_does_not_change_the_answer, 1},
        {reach_gives_a_bound, 1}, {triangles_in_closed_form_are_as_far_as_by_search, 1},
        {edges_that_are_nearly_parallel_count, 1}, {small_and_large_shapes_are_alike, 1});
    tcase_add_unchecked_fixture(exact, make_pool, NULL);
    return run_suite(suite);
}
