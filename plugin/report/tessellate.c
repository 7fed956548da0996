#include "tessellate.h"

#include <math.h>
#include <stdlib.h>

#include "array.h"
#include "linalg.h"

enum { AROUND = 24, ALONG = 12 }; // pieces of a round shape

static int add_vertex(tessellation *t, double x, double y, double z, double nx, double ny,
                      double nz)
{
    float(*vertex)[3] = array_widen(t->vertex, t->vertices, &t->vertex_room, sizeof *vertex);
    float(*normal)[3] = array_widen(t->normal, t->vertices, &t->normal_room, sizeof *normal);
    t->vertex = vertex ? vertex : t->vertex;
    t->normal = normal ? normal : t->normal;
    if (!vertex || !normal) {
        t->failed = true;
        return 0;
    }
    float at[3] = {(float)x, (float)y, (float)z}, out[3] = {(float)nx, (float)ny, (float)nz};
    for (int k = 0; k < 3; k++) {
        t->vertex[t->vertices][k] = at[k];
        t->normal[t->vertices][k] = out[k];
    }
    return t->vertices++;
}

static void add_triangle(tessellation *t, int a, int b, int c)
{
    uint32_t(*all)[3] = array_widen(t->triangle, t->triangles, &t->triangle_room, sizeof *all);
    if (!all) {
        t->failed = true;
        return;
    }
    t->triangle = all;
    t->triangle[t->triangles][0] = (uint32_t)a;
    t->triangle[t->triangles][1] = (uint32_t)b;
    t->triangle[t->triangles++][2] = (uint32_t)c;
}

static void add_square(tessellation *t, const double corner[4][3])
{
    double u[3], v[3], n[3];
    for (int k = 0; k < 3; k++) {
        u[k] = corner[1][k] - corner[0][k];
        v[k] = corner[2][k] - corner[0][k];
    }
    cross3(u, v, n);
    double length = norm3(n);
    int first = t->vertices;
    for (int i = 0; i < 4; i++) {
        add_vertex(t, corner[i][0], corner[i][1], corner[i][2], n[0] / length, n[1] / length,
                   n[2] / length);
    }
    add_triangle(t, first, first + 1, first + 2);
    add_triangle(t, first, first + 2, first + 3);
}

static void add_box(tessellation *t, const double size[3])
{
    for (int axis = 0; axis < 3; axis++) {
        for (int side = -1; side <= 1; side += 2) {
            double corner[4][3];
            int u = (axis + 1) % 3, v = (axis + 2) % 3;
            static const int sign[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};
            for (int i = 0; i < 4; i++) {
                corner[i][axis] = side * size[axis] / 2;
                corner[i][u] = side * sign[i][0] * size[u] / 2;
                corner[i][v] = sign[i][1] * size[v] / 2;
            }
            add_square(t, (const double(*)[3])corner);
        }
    }
}

// Rings of vertices about z, joined by triangles. radius, z: of a ring; slope: its normal's radius
// and height.
static void add_ring(tessellation *t, double radius, double z, double out, double up, bool joined)
{
    int first = t->vertices;
    for (int i = 0; i <= AROUND; i++) {
        double angle = 2 * M_PI * i / AROUND, c = cos(angle), s = sin(angle);
        add_vertex(t, radius * c, radius * s, z, out * c, out * s, up);
    }
    for (int i = 0; joined && i < AROUND; i++) {
        int above = first + i, below = above - AROUND - 1;
        add_triangle(t, below, below + 1, above + 1);
        add_triangle(t, below, above + 1, above);
    }
}

// A sphere whose halves are `length` apart.
static void add_capsule(tessellation *t, double radius, double length)
{
    for (int i = 0; i <= ALONG; i++) {
        double angle = M_PI * i / ALONG - M_PI / 2, c = cos(angle), s = sin(angle);
        double end = i * 2 < ALONG ? -length / 2 : length / 2;
        if (i * 2 == ALONG && length > 0) {
            add_ring(t, radius, -length / 2, 1, 0, true);
        }
        add_ring(t, radius * c, end + radius * s, c, s, i > 0);
    }
}

static void add_cylinder(tessellation *t, double radius, double length)
{
    add_ring(t, 0, -length / 2, 0, -1, false);
    add_ring(t, radius, -length / 2, 0, -1, true);
    add_ring(t, radius, -length / 2, 1, 0, false);
    add_ring(t, radius, length / 2, 1, 0, true);
    add_ring(t, radius, length / 2, 0, 1, false);
    add_ring(t, 0, length / 2, 0, 1, true);
}

static void add_mesh(tessellation *t, const film_shape *shape)
{
    for (uint32_t i = 0; i < shape->shape.triangles; i++) {
        const uint32_t *of = shape->triangle[i].vertex;
        double corner[3][3], u[3], v[3], n[3];
        for (int c = 0; c < 3; c++) {
            for (int k = 0; k < 3; k++) {
                corner[c][k] = (double)shape->vertex[of[c]].at[k];
            }
        }
        for (int k = 0; k < 3; k++) {
            u[k] = corner[1][k] - corner[0][k];
            v[k] = corner[2][k] - corner[0][k];
        }
        cross3(u, v, n);
        double length = norm3(n);
        if (length > 0) { // others have no side that could be seen
            int first = t->vertices;
            for (int c = 0; c < 3; c++) {
                add_vertex(t, corner[c][0], corner[c][1], corner[c][2], n[0] / length,
                           n[1] / length, n[2] / length);
            }
            add_triangle(t, first, first + 1, first + 2);
        }
    }
}

void tessellate(tessellation *t, const film_shape *shape, double extent)
{
    const double *size = shape->shape.size;
    const double square[4][3] = {
        {-extent, -extent, 0}, {extent, -extent, 0}, {extent, extent, 0}, {-extent, extent, 0}};
    t->vertices = t->triangles = 0;
    switch (shape->shape.kind) {
    case SPRAG_RECORDED_SPHERE:
        add_capsule(t, size[0], 0);
        break;
    case SPRAG_RECORDED_BOX:
        add_box(t, size);
        break;
    case SPRAG_RECORDED_CAPSULE:
        add_capsule(t, size[0], size[1]);
        break;
    case SPRAG_RECORDED_CYLINDER:
        add_cylinder(t, size[0], size[1]);
        break;
    case SPRAG_RECORDED_PLANE:
        add_square(t, square);
        break;
    case SPRAG_RECORDED_MESH:
        add_mesh(t, shape);
        break;
    default:
        break;
    }
}

void tessellation_free(tessellation *t)
{
    free(t->vertex);
    free(t->normal);
    free(t->triangle);
    *t = (tessellation){0};
}
