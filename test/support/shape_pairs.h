// Pairs of shapes for the tests of distances and contact points: random numbers, a pool of
// polytopes, poses that are known in long double.
//
// Tolerances. A pose in doubles gives a distance to a few units in the last place of the largest
// coordinate L (about body 0). It gives a normal to that error over the length that determines the
// normal: the gap between two points, or the width of a face or edge relative to its size S. For
// two nearly parallel edges the nearest parts are uncertain: L over length times sine of the angle.
//     distance: 1e-12 relative, plus 4 eps L
//     normal:   1e-12, plus 64 eps (L / gap, S / width, L / (length sine))
#ifndef TEST_SHAPE_PAIRS_H
#define TEST_SHAPE_PAIRS_H

#include <check.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "gap.h"
#include "suite.h"

typedef long double real;

// ---- chance

static uint64_t dice;

static inline double fraction(void) // [0, 1)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    uint64_t x = (dice ^ dice >> 32) * 0x9e3779b97f4a7c15u;
    return (double)(x >> 11) / 9007199254740992.0;
}

static inline double between(double low, double high)
{
    return low + (high - low) * fraction();
}

static inline int pick(int count)
{
    return (int)(count * fraction());
}

static inline double power(double low, double high) // of ten
{
    return pow(10, between(low, high));
}

// ---- long double vectors

static inline real dot(const real *a, const real *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline void cross(const real *a, const real *b, real *c)
{
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

static inline void add(real *a, real s, const real *b)
{
    for (int k = 0; k < 3; k++) {
        a[k] += s * b[k];
    }
}

static inline void minus(const real *a, const real *b, real *c)
{
    for (int k = 0; k < 3; k++) {
        c[k] = a[k] - b[k];
    }
}

static inline real length(const real *a)
{
    return sqrtl(dot(a, a));
}

static inline void unit(real *a)
{
    real l = length(a);
    for (int k = 0; k < 3; k++) {
        a[k] /= l;
    }
}

static inline void widen(const double *a, real *b)
{
    for (int k = 0; k < 3; k++) {
        b[k] = a[k];
    }
}

static inline void random_unit(real *a)
{
    do {
        for (int k = 0; k < 3; k++) {
            a[k] = between(-1, 1);
        }
    } while (dot(a, a) > 1 || dot(a, a) < 0.01L);
    unit(a);
}

static inline void random_across(const real *a, real *b)
{
    real c[3];
    do {
        random_unit(c);
        cross(a, c, b);
    } while (length(b) < 0.1L);
    unit(b);
}

// ---- shapes, from a pool that is made once

enum { POOL = 64, VERTICES_MAX = 64, FACES_MAX = 160, LOOP_MAX = 800, EDGES_MAX = 320 };

typedef struct solid {
    double vertex[VERTICES_MAX][3], normal[FACES_MAX][3];
    unsigned loop[LOOP_MAX];
    int start[FACES_MAX], edge[EDGES_MAX][2], edges;
    sprag_polytope polytope;
} solid;

static solid solids[POOL], box_solid;

static inline void add_edges(solid *s)
{
    const sprag_polytope *p = &s->polytope;
    s->edges = 0;
    for (int f = 0; f < p->faces; f++) {
        const unsigned *loop = p->loop + p->start[f] + 1, count = p->loop[p->start[f]];
        for (unsigned i = 0; i < count; i++) {
            int from = (int)loop[i], to = (int)loop[(i + 1) % count];
            bool known = false;
            for (int e = 0; e < s->edges; e++) {
                known |= (s->edge[e][0] == from && s->edge[e][1] == to) ||
                         (s->edge[e][0] == to && s->edge[e][1] == from);
            }
            if (!known && s->edges < EDGES_MAX) {
                s->edge[s->edges][0] = from;
                s->edge[s->edges++][1] = to;
            }
        }
    }
}

// All triples that have every vertex on one side. Vertices are in general position.
static inline void hull_of(solid *s, int vertices)
{
    int at = 0, faces = 0;
    for (int i = 0; i < vertices; i++) {
        for (int j = 0; j < vertices; j++) {
            for (int k = 0; k < vertices; k++) {
                if (i > j || i > k || i == j || i == k || j == k) {
                    continue;
                }
                double e[3], f[3], n[3];
                bool outside = true;
                for (int c = 0; c < 3; c++) {
                    e[c] = s->vertex[j][c] - s->vertex[i][c];
                    f[c] = s->vertex[k][c] - s->vertex[i][c];
                }
                for (int c = 0; c < 3; c++) {
                    n[c] = e[(c + 1) % 3] * f[(c + 2) % 3] - e[(c + 2) % 3] * f[(c + 1) % 3];
                }
                for (int m = 0; m < vertices && outside; m++) {
                    double h = 0;
                    for (int c = 0; c < 3; c++) {
                        h += n[c] * (s->vertex[m][c] - s->vertex[i][c]);
                    }
                    outside = m == i || m == j || m == k || h < 0;
                }
                if (outside && faces < FACES_MAX) {
                    s->loop[at++] = 3;
                    s->loop[at++] = (unsigned)i;
                    s->loop[at++] = (unsigned)j;
                    s->loop[at++] = (unsigned)k;
                    faces++;
                }
            }
        }
    }
    s->polytope = sprag_polytope_make((const double(*)[3])s->vertex, vertices, s->loop, faces,
                                      s->start, s->normal);
    ck_assert_int_eq(s->polytope.faces, faces);
    add_edges(s);
}

static inline void prism_of(solid *s, int corners, double size)
{
    int at = 0, height = pick(2) ? 1 : 3;
    for (int i = 0; i < corners; i++) {
        double turn = 2 * M_PI * (i + 0.3 * fraction()) / corners;
        for (int top = 0; top < 2; top++) {
            double *v = s->vertex[2 * i + top];
            v[0] = size * cos(turn), v[1] = size * sin(turn), v[2] = (top - 0.4) * size / height;
        }
    }
    for (int top = 0; top < 2; top++) {
        s->loop[at++] = (unsigned)corners;
        for (int i = 0; i < corners; i++) {
            s->loop[at++] = (unsigned)(2 * (top ? i : corners - 1 - i) + top);
        }
    }
    for (int i = 0; i < corners; i++) {
        int j = (i + 1) % corners;
        const unsigned face[5] = {4, (unsigned)(2 * i), (unsigned)(2 * j), (unsigned)(2 * j + 1),
                                  (unsigned)(2 * i + 1)};
        memcpy(s->loop + at, face, sizeof face);
        at += 5;
    }
    s->polytope = sprag_polytope_make((const double(*)[3])s->vertex, 2 * corners, s->loop,
                                      corners + 2, s->start, s->normal);
    ck_assert_int_eq(s->polytope.faces, corners + 2);
    add_edges(s);
}

static inline void make_pool(void)
{
    dice = 4;
    for (int i = 0; i < POOL; i++) {
        solid *s = &solids[i];
        double size = power(-1, 0.3);
        if (i % 4 == 0) {
            prism_of(s, 3 + pick(6), size);
            continue;
        }
        int vertices = i % 4 == 1 ? 3 : i == 2 ? 40 : 4 + pick(12);
        double wide[3] = {size * between(0.3, 1), size * between(0.3, 1), size * between(0.3, 1)};
        for (int v = 0; v < vertices; v++) {
            real u[3];
            random_unit(u);
            for (int k = 0; k < 3; k++) {
                s->vertex[v][k] = wide[k] * (double)u[k] + 0.1 * size;
            }
        }
        if (vertices > 3) {
            hull_of(s, vertices);
        } else {
            s->polytope = sprag_triangle_make((const double(*)[3])s->vertex, s->normal);
            add_edges(s);
        }
    }
}

typedef struct thing {
    sprag_shape shape;
    sprag_pose pose;
    solid own;      // a box's vertices and faces, as a polytope
    const solid *s; // NULL: not a polytope
    real R[3][3], at[3];
} thing;

static inline double size_of(const thing *t)
{
    double size = 0;
    if (t->s) {
        for (int i = 0; i < t->s->polytope.vertices; i++) {
            for (int k = 0; k < 3; k++) {
                size = fmax(size, 2 * fabs(t->s->polytope.vertex[i][k]));
            }
        }
        return size;
    }
    return t->shape.kind == SPRAG_PLANE ? 0 : t->shape.radius + t->shape.half[2];
}

static inline void make_box_solid(thing *t)
{
    static const unsigned loop[] = {4, 0, 4, 6, 2, 4, 1, 3, 7, 5, 4, 0, 1, 5, 4,
                                    4, 2, 6, 7, 3, 4, 0, 2, 3, 1, 4, 4, 5, 7, 6};
    for (int i = 0; i < 8; i++) {
        for (int k = 0; k < 3; k++) {
            t->own.vertex[i][k] = i >> k & 1 ? t->shape.half[k] : -t->shape.half[k];
        }
    }
    t->own.polytope = sprag_polytope_make((const double(*)[3])t->own.vertex, 8, loop, 6,
                                          t->own.start, t->own.normal);
    if (!box_solid.edges) {
        box_solid.polytope = t->own.polytope;
        add_edges(&box_solid);
    }
    t->own.edges = box_solid.edges;
    memcpy(t->own.edge, box_solid.edge, 12 * sizeof t->own.edge[0]);
    t->s = &t->own;
}

static inline void make_thing(thing *t, sprag_shape_kind kind)
{
    t->shape = (sprag_shape){.kind = kind};
    t->s = NULL;
    if (kind == SPRAG_SPHERE || kind == SPRAG_CAPSULE || kind == SPRAG_CYLINDER) {
        t->shape.radius = power(-1.5, 0.3);
        t->shape.half[2] = kind == SPRAG_SPHERE ? 0 : power(-1.5, 0.3);
    } else if (kind == SPRAG_BOX) {
        for (int k = 0; k < 3; k++) {
            t->shape.half[k] = power(-1.5, 0.3);
        }
        make_box_solid(t);
    } else if (kind == SPRAG_POLYTOPE) {
        t->s = &solids[pick(POOL)];
        t->shape.polytope = &t->s->polytope;
    }
}

// ---- poses: rounded to double, and known in long double as they were rounded

static inline void set_rotation(thing *t, const real R[3][3])
{
    for (int i = 0; i < 9; i++) {
        t->pose.rotation[i] = (double)R[i / 3][i % 3];
        t->R[i / 3][i % 3] = t->pose.rotation[i];
    }
}

static inline void set_position(thing *t, const real *at)
{
    for (int k = 0; k < 3; k++) {
        t->pose.position[k] = (double)at[k];
        t->at[k] = t->pose.position[k];
    }
}

static inline void frame_of(const real *x, real F[3][3]) // columns: x, two across
{
    real y[3], z[3];
    random_across(x, y);
    cross(x, y, z);
    for (int k = 0; k < 3; k++) {
        F[k][0] = x[k], F[k][1] = y[k], F[k][2] = z[k];
    }
}

// A rotation that takes one unit vector to another, and turns about it by chance.
static inline void set_rotation_taking(thing *t, const real *from, const real *to)
{
    real F[3][3], T[3][3], R[3][3];
    frame_of(from, F);
    frame_of(to, T);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            R[i][j] = dot(T[i], F[j]);
        }
    }
    set_rotation(t, (const real(*)[3])R);
}

static inline void set_random_rotation(thing *t)
{
    real from[3], to[3];
    random_unit(from);
    random_unit(to);
    set_rotation_taking(t, from, to);
}

static inline void turn(const thing *t, const real *local, real *world)
{
    for (int i = 0; i < 3; i++) {
        world[i] = dot(t->R[i], local);
    }
}

static inline void place(const thing *t, const real *local, real *world)
{
    turn(t, local, world);
    add(world, 1, t->at);
}

// ---- features: where a shape can be touched, and from where

typedef struct feature {
    int flat;       // 0 a point, 1 an edge, 2 a face
    real point[3];  // local, on the core
    real normal[3]; // local, outwards, unit
    real edge[3];   // local, unit, of an edge
    real width;     // m, of a face or an edge
    real radius;    // m, of what is round about the core
} feature;

static inline bool polytope_feature(const solid *s, int flat, feature *f)
{
    const sprag_polytope *p = &s->polytope;
    int on[VERTICES_MAX], count = 0;
    real v[VERTICES_MAX][3], a[3], b[3];
    for (int i = 0; i < p->vertices; i++) {
        widen(p->vertex[i], v[i]);
    }
    f->width = INFINITY;
    if (flat == 0) {
        random_unit(f->normal);
    } else if (flat == 1) {
        const int *edge = s->edge[pick(s->edges)];
        on[count++] = edge[0];
        on[count++] = edge[1];
        minus(v[edge[1]], v[edge[0]], f->edge);
        f->width = length(f->edge);
        unit(f->edge);
        random_across(f->edge, f->normal);
    } else {
        const unsigned *loop = p->loop + p->start[pick(p->faces)];
        for (unsigned i = 0; i < *loop; i++) {
            on[count++] = (int)loop[i + 1];
        }
        minus(v[on[1]], v[on[0]], a);
        minus(v[on[2]], v[on[1]], b);
        cross(a, b, f->normal);
        f->width = length(f->normal) / fmaxl(length(a), length(b));
        unit(f->normal);
    }
    if (!count) { // the foremost vertex
        on[count++] = 0;
        for (int i = 1; i < p->vertices; i++) {
            on[0] = dot(f->normal, v[i]) > dot(f->normal, v[on[0]]) ? i : on[0];
        }
    }
    for (int i = 0; i < p->vertices; i++) { // nothing else may be near
        bool listed = false;
        for (int k = 0; k < count; k++) {
            listed |= on[k] == i;
        }
        if (!listed && dot(f->normal, v[i]) > dot(f->normal, v[on[0]]) - 1e-3L) {
            return false;
        }
    }
    real sum = 0, weight[VERTICES_MAX];
    memset(f->point, 0, sizeof f->point);
    for (int i = 0; i < count; i++) {
        sum += weight[i] = between(0.05, 1);
    }
    for (int i = 0; i < count; i++) {
        add(f->point, weight[i] / sum, v[on[i]]);
    }
    return true;
}

static inline bool random_feature(const thing *t, feature *f)
{
    static const real z[3] = {0, 0, 1};
    const sprag_shape *s = &t->shape;
    real up = pick(2) ? 1 : -1, slope = between(0.05, 1.5);
    *f = (feature){.flat = pick(3), .width = INFINITY};
    if (t->s) {
        return polytope_feature(t->s, f->flat, f);
    }
    switch (s->kind) {
    case SPRAG_SPHERE:
        f->flat = 0;
        f->radius = s->radius;
        random_unit(f->normal);
        return true;
    case SPRAG_CAPSULE:
    case SPRAG_CYLINDER:
        random_across(z, f->normal);
        if (f->flat == 1) {
            f->radius = s->radius;
            f->width = 2 * (real)s->half[2];
            memcpy(f->edge, z, sizeof f->edge);
            f->point[2] = s->half[2] * between(-0.95, 0.95);
            return true;
        }
        f->point[2] = up * s->half[2];
        if (s->kind == SPRAG_CYLINDER) {
            add(f->point, f->flat ? s->radius * fraction() : s->radius, f->normal);
        } else {
            f->flat = 0;
            f->radius = s->radius;
        }
        f->width = f->flat ? INFINITY : f->width;
        for (int k = 0; k < 2; k++) {
            f->normal[k] *= f->flat ? 0 : cosl(slope);
        }
        f->normal[2] = up * (f->flat ? 1 : sinl(slope));
        return true;
    default:
        f->flat = 2;
        f->point[0] = between(-10, 10);
        f->point[1] = between(-10, 10);
        f->normal[2] = 1;
        return true;
    }
}

// ---- comparing

enum { SHOWN = 5 }; // of the misses

static const double eps = DBL_EPSILON;

static inline double reach_of(const thing t[2])
{
    double centre = 0;
    for (int k = 0; k < 3; k++) {
        centre = fmax(centre, fabs(t[1].pose.position[k] - t[0].pose.position[k]));
    }
    return centre + size_of(&t[0]) + size_of(&t[1]);
}

static inline sprag_result find(const thing t[2], sprag_gap_memory *memory, sprag_gap *gap,
                                sprag_manifold *manifold, double margin)
{
    const sprag_shape *shape[2] = {&t[0].shape, &t[1].shape};
    const sprag_pose *pose[2] = {&t[0].pose, &t[1].pose};
    return sprag_gap_find(shape, pose, &(sprag_gap_query){INFINITY, margin}, memory, gap, manifold);
}

// ---- apart, put together from the answer

static inline void build_pair(thing t[2], sprag_shape_kind k0, sprag_shape_kind k1, real gap,
                              feature f[2], real *distance, real *normal, real *condition)
{
    const sprag_shape_kind kind[2] = {k0, k1};
    for (int side = 0; side < 2; side++) {
        make_thing(&t[side], kind[side]);
        while (!random_feature(&t[side], &f[side])) {
            make_thing(&t[side], kind[side]);
        }
    }
    real n[3], to[3], origin[3] = {between(-10, 10), between(-10, 10), between(-10, 10)};
    set_random_rotation(&t[0]);
    set_position(&t[0], origin);
    turn(&t[0], f[0].normal, n);
    for (int k = 0; k < 3; k++) {
        n[k] = -n[k];
    }
    set_rotation_taking(&t[1], f[1].normal, n);
    real a[3], b[3], at[3], e[2][3], v[3];
    place(&t[0], f[0].point, a);
    turn(&t[1], f[1].point, b);
    minus(a, b, at);
    add(at, -gap - f[0].radius - f[1].radius, n);
    set_position(&t[1], at);

    // As rounded.
    place(&t[1], f[1].point, b);
    minus(a, b, v);
    real held[2] = {f[0].width, f[1].width};
    turn(&t[0], f[0].edge, e[0]);
    turn(&t[1], f[1].edge, e[1]);
    real own = size_of(&t[0]) + size_of(&t[1]);
    *condition = 0;
    for (int side = 0; side < 2; side++) {
        if (f[side].flat == 2) {
            turn(&t[side], f[side].normal, to);
            for (int k = 0; k < 3; k++) {
                n[k] = side ? to[k] : -to[k];
            }
            unit(n);
            *condition = fmaxl(own / held[side], *condition);
        }
    }
    if (f[0].flat == 1 && f[1].flat == 1) {
        cross(e[0], e[1], to);
        *condition = reach_of(t) / (fminl(held[0], held[1]) * length(to));
        unit(to);
        real sign = dot(to, n) < 0 ? -1 : 1;
        for (int k = 0; k < 3; k++) {
            n[k] = sign * to[k];
        }
    } else if (f[0].flat < 2 && f[1].flat < 2) {
        for (int side = 0; side < 2; side++) {
            if (f[side].flat == 1) {
                add(v, -dot(e[side], v) / dot(e[side], e[side]), e[side]);
                *condition = fmaxl(own / held[side], *condition);
            }
        }
        *condition += reach_of(t) / length(v);
        memcpy(n, v, sizeof v);
        unit(n);
    }
    *distance = dot(n, v) - f[0].radius - f[1].radius;
    memcpy(normal, n, sizeof n);
}

#endif
