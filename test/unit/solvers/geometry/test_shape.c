// Links between neighbouring vertices of a polytope: distances along them are those of a search
// over all vertices. Directions across a vector.
#include <check.h>
#include <math.h>
#include <stdio.h>

#include "chance.h"
#include "gap.h"
#include "linalg.h"
#include "shape_bounds.h"
#include "suite.h"

// ---- rest: what lies, stands or leans on each other, a little out of line

// A ball of a thousand corners, and a cube whose sides are fields of triangles: what the links find
// is what a look at everything finds, and a field is one face.
enum { BALL_ROWS = 32, BALL_COLUMNS = 32, BALL_VERTICES = (BALL_ROWS - 1) * BALL_COLUMNS + 2 };
enum { FIELD = 13 }; // cells along a side

typedef struct large {
    double vertex[1200][3], normal[2100][3];
    unsigned loop[9000];
    int start[2100], links[40000];
    sprag_polytope bare, linked;
} large;

static large ball, field;

static void close_large(large *l, int vertices, int faces)
{
    l->bare = sprag_polytope_make((const double(*)[3])l->vertex, vertices, l->loop, faces, l->start,
                                  l->normal);
    ck_assert_int_eq(l->bare.faces, faces);
    l->linked = l->bare;
    ck_assert_int_le(sprag_polytope_links(&l->bare), 40000);
    sprag_polytope_link(&l->linked, l->links);
    ck_assert(l->linked.links.first);
}

static void make_ball(void)
{
    int at = 0, faces = 0;
    for (int v = 0; v < BALL_VERTICES; v++) {
        int row = v == 0 ? 0 : v == BALL_VERTICES - 1 ? BALL_ROWS : 1 + (v - 1) / BALL_COLUMNS;
        double polar = M_PI * row / BALL_ROWS,
               turn = 2 * M_PI * ((v - 1) % BALL_COLUMNS) / BALL_COLUMNS;
        ball.vertex[v][0] = 0.5 * sin(polar) * cos(turn);
        ball.vertex[v][1] = 0.5 * sin(polar) * sin(turn);
        ball.vertex[v][2] = 0.5 * cos(polar);
    }
    for (int row = 0; row < BALL_ROWS; row++) {
        for (int c = 0; c < BALL_COLUMNS; c++, faces++) {
            unsigned next = (unsigned)((c + 1) % BALL_COLUMNS), here = (unsigned)c;
            unsigned up = row ? 1 + (unsigned)((row - 1) * BALL_COLUMNS) : 0;
            unsigned down = 1 + (unsigned)(row * BALL_COLUMNS);
            bool last = row == BALL_ROWS - 1;
            ball.loop[at++] = row == 0 || last ? 3 : 4;
            ball.loop[at++] = row ? up + here : 0;
            ball.loop[at++] = last ? BALL_VERTICES - 1 : down + here;
            if (!last) {
                ball.loop[at++] = down + next;
            }
            if (row) {
                ball.loop[at++] = up + next;
            }
        }
    }
    close_large(&ball, BALL_VERTICES, faces);
}

static int field_vertex(const int at[3], int *vertices)
{
    for (int v = 0; v < *vertices; v++) {
        bool same = true;
        for (int k = 0; k < 3; k++) {
            same &= lround((field.vertex[v][k] + 0.5) * FIELD) == at[k];
        }
        if (same) {
            return v;
        }
    }
    for (int k = 0; k < 3; k++) {
        field.vertex[*vertices][k] = (double)at[k] / FIELD - 0.5;
    }
    return (*vertices)++;
}

static void make_field(void)
{
    int at = 0, faces = 0, vertices = 0;
    for (int side = 0; side < 6; side++) {
        int i = side / 2, j = (i + 1) % 3, k = (i + 2) % 3;
        for (int cell = 0; cell < FIELD * FIELD; cell++) {
            unsigned corner[4];
            for (int c = 0; c < 4; c++) {
                int x[3];
                x[i] = side % 2 ? FIELD : 0;
                x[j] = cell / FIELD + (c == 1 || c == 2);
                x[k] = cell % FIELD + (c > 1);
                corner[c] = (unsigned)field_vertex(x, &vertices);
            }
            static const int half[2][3] = {{0, 1, 2}, {0, 2, 3}};
            for (int h = 0; h < 2; h++, faces++) {
                field.loop[at++] = 3;
                for (int c = 0; c < 3; c++) { // three sides the wrong way round
                    field.loop[at++] = corner[half[h][c]];
                }
            }
        }
    }
    close_large(&field, vertices, faces);
    for (int f = 0; f < faces; f++) {
        ck_assert_int_eq(field.linked.links.outline[field.linked.links.outline_start[f]], 4);
    }
}

START_TEST(search_along_links_agrees_with_search_of_all_vertices)
{
    static thing t[2];
    make_ball();
    make_field();
    const sprag_polytope *p[2][2] = {{&ball.bare, &ball.linked}, {&field.bare, &field.linked}};
    dice = 87;
    for (int i = 0; i < 4000; i++) {
        int first = pick(2), second = pick(3); // or a box
        sprag_gap gap[3];
        sprag_gap_memory memory = {0};
        for (int side = 0; side < 2; side++) {
            make_thing(&t[side], SPRAG_BOX);
        }
        put_near(t, 1);
        for (int look = 0; look < 3; look++) { // at all; along links; with a memory of it
            t[0].shape = (sprag_shape){.kind = SPRAG_POLYTOPE, .polytope = p[first][look > 0]};
            if (second < 2) {
                t[1].shape = (sprag_shape){.kind = SPRAG_POLYTOPE, .polytope = p[second][look > 0]};
            }
            ck_assert_int_ne(find(t, look ? &memory : NULL, &gap[look], NULL, 0),
                             SPRAG_BAD_PROBLEM);
            double off = fabs(gap[look].distance - gap[0].distance);
            ck_assert_double_le(off, 1e-14 + gap[look].error + gap[0].error);
        }
    }
    // One on the other: the whole side, though it is of many triangles.
    const sprag_shape cube = {.kind = SPRAG_POLYTOPE, .polytope = &field.linked};
    const sprag_shape box = {SPRAG_BOX, 0, {2, 2, 0.5}, 0}, plane = {.kind = SPRAG_PLANE};
    for (int i = 0; i < 3; i++) {
        const sprag_shape *shape[2] = {&cube, i == 0 ? &box : i == 1 ? &plane : &cube};
        const sprag_pose pose[2] = {{{0, 0, 1 + 1e-6}, {1, 0, 0, 0, 1, 0, 0, 0, 1}},
                                    {{0, 0, i == 1 ? 0.5 : 0}, {1, 0, 0, 0, 1, 0, 0, 0, 1}}};
        const sprag_pose *poses[2] = {&pose[0], &pose[1]};
        sprag_gap gap;
        sprag_manifold m;
        ck_assert_int_eq(
            sprag_gap_find(shape, poses, &(sprag_gap_query){INFINITY, 1.5e-6}, NULL, &gap, &m),
            SPRAG_OK);
        ck_assert_double_eq_tol(gap.distance, 1e-6, 1e-15);
        ck_assert_double_eq_tol(gap.normal[2], 1, 1e-15);
        ck_assert_int_eq(m.count, 4);
        ck_assert_double_eq_tol(area_of(&m, gap.normal), 1, 1e-14);
    }
    // A corner that no face has, a face that is missing: no links.
    sprag_polytope open = field.bare;
    open.faces--;
    sprag_polytope_link(&open, field.links);
    ck_assert(!open.links.first);
}
END_TEST

// A ball of any size has links, and one with a dent of a billionth of it has none.
START_TEST(ball_around_the_vertices_has_one_on_it)
{
    make_ball();
    make_field();
    const sprag_polytope *of[] = {&ball.bare, &field.bare};
    for (int i = 0; i < 2; i++) {
        double farthest = 0;
        for (int v = 0; v < of[i]->vertices; v++) {
            double from[3];
            subtract3(of[i]->vertex[v], of[i]->centre, from);
            farthest = fmax(farthest, norm3(from));
        }
        ck_assert_double_eq_tol(of[i]->radius, farthest, 1e-15);
    }
    ck_assert_double_eq_tol(ball.bare.radius, 0.5, 1e-15);
}
END_TEST

START_TEST(links_know_no_size)
{
    static double vertex[BALL_VERTICES][3];
    make_ball();
    for (int i = 0; i < 6; i++) {
        const bool dent = i % 2;
        sprag_polytope p = ball.bare;
        for (int v = 0; v < BALL_VERTICES; v++) {
            for (int k = 0; k < 3; k++) {
                vertex[v][k] = ldexp(ball.vertex[v][k], 30 * (i / 2 - 1));
            }
        }
        vertex[40][2] *= dent ? 1 - 1e-9 : 1;
        p.vertex = (const double(*)[3])vertex;
        sprag_polytope_link(&p, ball.links);
        ck_assert_int_eq(p.links.first != NULL, !dent);
    }
}
END_TEST

START_TEST(no_turn_is_the_identity)
{
    static const double none[3], identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    double R[9];
    sprag_exponential(none, R);
    ck_assert_mem_eq(R, identity, sizeof R);
}
END_TEST

// ---- directions across

// Along each axis, both ways, a little out of it or not; in the planes between them; anywhere.
START_TEST(any_vector_has_a_unit_vector_across)
{
    chance c = {81};
    for (int i = 0; i < 3000; i++) {
        double a[3], across[3];
        for (int k = 0; k < 3; k++) {
            int part = i < 27 ? (i / (k == 0 ? 1 : k == 1 ? 3 : 9)) % 3 - 1 : 0;
            a[k] = i < 27 ? part : chance_between(&c, -1, 1) * chance_power(&c, -9, 0);
        }
        if (dot3(a, a) > 0) {
            sprag_any_across(a, across);
            ck_assert_double_eq_tol(dot3(across, across), 1, 1e-15);
            ck_assert_double_le(fabs(dot3(across, a)), 1e-15 * sqrt(dot3(a, a)));
        }
    }
}
END_TEST

// Of a cube of 1 m whose sides are of many triangles, with links and without, and of a triangle.
START_TEST(width_is_the_least_across_a_face)
{
    double normal[2][3], corner[3][3] = {{0, 0, 1}, {1, 0, 2}, {0, 3, 1}};
    make_field();
    const sprag_polytope triangle = sprag_triangle_make((const double(*)[3])corner, normal);
    const sprag_polytope *of[] = {&field.bare, &field.linked, &triangle};
    const double width[] = {1, 1, 0};
    for (int i = 0; i < 3; i++) {
        const sprag_shape shape = {.kind = SPRAG_POLYTOPE, .polytope = of[i]};
        ck_assert_double_eq_tol(sprag_shape_width(&shape), width[i], 1e-15);
    }
    ck_assert_double_eq(sprag_shape_width(&(sprag_shape){SPRAG_BOX, 0, {3, 2, 0.5}, 0}), 1);
    ck_assert_double_eq(sprag_shape_width(&(sprag_shape){SPRAG_CYLINDER, 3, {0, 0, 2}, 0}), 4);
    ck_assert_double_eq(sprag_shape_width(&(sprag_shape){SPRAG_CAPSULE, 3, {0, 0, 2}, 0}), 6);
}
END_TEST

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ); // tests that fail end their process
    Suite *suite = suite_create("shape");
    TCase *exact =
        ADD_TESTS(suite, "exact", {search_along_links_agrees_with_search_of_all_vertices, 1},
                  {ball_around_the_vertices_has_one_on_it, 1}, {links_know_no_size, 1},
                  {any_vector_has_a_unit_vector_across, 1}, {no_turn_is_the_identity, 1},
                  {width_is_the_least_across_a_face, 1});
    tcase_add_unchecked_fixture(exact, make_pool, NULL);
    return run_suite(suite);
}
