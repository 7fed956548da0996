// Shapes as triangles: what they enclose, and that they lie on the shape and face outwards.
#include <math.h>

#include "linalg.h"
#include "suite.h"
#include "tessellate.h"

enum { AROUND = 24, BANDS = 12 }; // pieces of a circle, and of a half

static const double radius = 0.3, length = 0.7, box[3] = {0.2, 0.5, 1.1}; // m

static film_shape shape_of(uint32_t kind, double a, double b, double c)
{
    return (film_shape){.shape = {.kind = kind, .size = {a, b, c}}};
}

static void corners_of(const tessellation *t, int triangle, double at[3][3], double normal[3])
{
    double u[3], v[3];
    for (int c = 0; c < 3; c++) {
        ck_assert_uint_lt(t->triangle[triangle][c], (uint32_t)t->vertices);
        for (int k = 0; k < 3; k++) {
            at[c][k] = (double)t->vertex[t->triangle[triangle][c]][k];
        }
    }
    for (int k = 0; k < 3; k++) {
        u[k] = at[1][k] - at[0][k];
        v[k] = at[2][k] - at[0][k];
    }
    cross3(u, v, normal);
}

// Volume and area; a closed surface has no sum of its areas' vectors. Triangles face as their
// vertices' normals do, which are units.
static void measure(const tessellation *t, double *volume, double *area)
{
    double at[3][3], normal[3], sum[3] = {0, 0, 0}, across[3];
    *volume = *area = 0;
    for (int i = 0; i < t->triangles; i++) {
        corners_of(t, i, at, normal);
        cross3(at[1], at[2], across);
        *volume += dot3(at[0], across) / 6;
        *area += norm3(normal) / 2;
        add_scaled(sum, 1, normal, 3);
        for (int c = 0; c < 3 && norm3(normal) > 1e-6; c++) {
            const float *n = t->normal[t->triangle[i][c]];
            const double own[3] = {(double)n[0], (double)n[1], (double)n[2]};
            ck_assert_double_eq_tol(norm3(own), 1, 1e-6);
            ck_assert_double_gt(dot3(own, normal), 0.9 * norm3(normal));
        }
    }
    ck_assert_double_le(norm3(sum), 1e-6);
}

// Area of the polygon of a circle.
static double disc(double r)
{
    return AROUND * sin(2 * M_PI / AROUND) / 2 * r * r;
}

// Volume of the frustums between the polygons of a sphere.
static double ball(double r)
{
    double volume = 0;
    for (int i = 0; i < BANDS; i++) {
        double low = M_PI * i / BANDS - M_PI / 2, high = M_PI * (i + 1) / BANDS - M_PI / 2;
        double a = disc(r * cos(low)), b = disc(r * cos(high));
        volume += r * (sin(high) - sin(low)) * (a + b + sqrt(a * b)) / 3;
    }
    return volume;
}

START_TEST(solids_enclose_their_volume)
{
    const double side = 2 * radius * AROUND * sin(M_PI / AROUND) * length;
    const struct {
        film_shape shape;
        double volume, area; // 0: not compared
        int triangles;
    } all[] = {{shape_of(SPRAG_RECORDED_BOX, box[0], box[1], box[2]), box[0] * box[1] * box[2],
                2 * (box[0] * box[1] + box[1] * box[2] + box[2] * box[0]), 12},
               {shape_of(SPRAG_RECORDED_SPHERE, radius, 0, 0), ball(radius), 0, 2 * AROUND * BANDS},
               {shape_of(SPRAG_RECORDED_CAPSULE, radius, length, 0),
                ball(radius) + disc(radius) * length, 0, 2 * AROUND * (BANDS + 1)},
               {shape_of(SPRAG_RECORDED_CYLINDER, radius, length, 0), disc(radius) * length,
                2 * disc(radius) + side, 2 * 3 * AROUND}};
    tessellation t = {0};
    for (int i = 0; i < COUNT(all); i++) {
        double volume, area;
        tessellate(&t, &all[i].shape, 1);
        measure(&t, &volume, &area);
        ck_assert(!t.failed);
        ck_assert_double_eq_tol(volume, all[i].volume, 1e-6);
        ck_assert(all[i].area == 0 || fabs(area - all[i].area) < 1e-6);
        ck_assert_int_eq(t.triangles, all[i].triangles);
    }
    tessellation_free(&t);
    ck_assert_ptr_null(t.vertex);
}
END_TEST

// Vertices of a round shape: the nearest point of its axis is the radius away along the normal. A
// cylinder's ends face along the axis.
START_TEST(round_vertices_lie_on_the_shape)
{
    tessellation t = {0};
    for (uint32_t kind = SPRAG_RECORDED_SPHERE; kind <= SPRAG_RECORDED_CYLINDER; kind++) {
        if (kind == SPRAG_RECORDED_BOX) {
            continue;
        }
        double half = kind == SPRAG_RECORDED_SPHERE ? 0 : length / 2;
        film_shape shape = shape_of(kind, radius, 2 * half, 0);
        tessellate(&t, &shape, 1);
        for (int i = 0; i < t.vertices; i++) {
            const float *n = t.normal[i];
            const double at[3] = {(double)t.vertex[i][0], (double)t.vertex[i][1],
                                  (double)t.vertex[i][2]};
            double middle = fmax(-half, fmin(half, at[2]));
            if (kind == SPRAG_RECORDED_CYLINDER) {
                ck_assert_double_eq_tol(fabs(at[2]), half, 1e-7);
                if (n[2] != 0) {
                    ck_assert_double_eq((double)n[2], at[2] > 0 ? 1 : -1);
                    continue;
                }
            }
            ck_assert_double_eq_tol(at[0], radius * (double)n[0], 1e-7);
            ck_assert_double_eq_tol(at[1], radius * (double)n[1], 1e-7);
            ck_assert_double_eq_tol(at[2] - middle, radius * (double)n[2], 1e-7);
        }
    }
    tessellation_free(&t);
}
END_TEST

// A triangle that has no area is left out.
START_TEST(flat_shapes_keep_their_triangles)
{
    sprag_recorded_vertex vertex[] = {{{0, 0, 0}}, {{1, 0, 0}}, {{0, 2, 0}}, {{0, 0, 3}}};
    sprag_recorded_triangle triangle[] = {
        {{0, 2, 1}}, {{0, 1, 3}}, {{0, 0, 1}}, {{0, 3, 2}}, {{1, 2, 3}}};
    film_shape mesh = {.shape = {.kind = SPRAG_RECORDED_MESH,
                                 .vertices = COUNT(vertex),
                                 .triangles = COUNT(triangle)},
                       .vertex = vertex,
                       .triangle = triangle};
    film_shape plane = {.shape.kind = SPRAG_RECORDED_PLANE}, none = {.shape.kind = 99};
    tessellation t = {0};
    double volume, area, at[3][3], normal[3];
    tessellate(&t, &mesh, 1);
    measure(&t, &volume, &area);
    ck_assert_int_eq(t.triangles, 4);
    ck_assert_int_eq(t.vertices, 12);
    ck_assert_double_eq_tol(volume, 1, 1e-6);
    tessellate(&t, &none, 1);
    ck_assert_int_eq(t.triangles + t.vertices, 0);
    tessellate(&t, &plane, 5);
    ck_assert_int_eq(t.triangles, 2);
    ck_assert_int_eq(t.vertices, 4);
    for (int i = 0; i < t.triangles; i++) { // a half of the square each, that faces upwards
        corners_of(&t, i, at, normal);
        ck_assert_double_eq(normal[0], 0);
        ck_assert_double_eq(normal[1], 0);
        ck_assert_double_eq(normal[2], 100);
    }
    for (int i = 0; i < t.vertices; i++) {
        ck_assert_double_eq((double)fabsf(t.vertex[i][0]), 5);
        ck_assert_double_eq((double)fabsf(t.vertex[i][1]), 5);
        ck_assert_double_eq((double)t.vertex[i][2], 0);
        ck_assert_double_eq((double)t.normal[i][2], 1);
    }
    tessellation_free(&t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tessellate");
    ADD_TESTS(suite, "all", {solids_enclose_their_volume, 1}, {round_vertices_lie_on_the_shape, 1},
              {flat_shapes_keep_their_triangles, 1});
    return run_suite(suite);
}
