// Signed distances, normals and manifolds, without ODE, against what is known otherwise.
//
// Apart: pairs that are put together from the answer. A feature of each shape, a direction in its
// normal cone, a gap; then the distance is that gap and the normal that direction, by convexity, up
// to the rounding of the poses, which is done in long double again. Random poses: bounds from both
// sides, by planes and by points that are inside. Overlap: brute force over all facets that the
// difference of two polytopes can have; directions without number for cylinders.
//
// Errors. Poses are doubles: they say distances to a few units in the last place of the largest
// coordinate L (about body 0), and normals to that over what holds them: for two points the gap
// between them, for a face or an edge its own size S over its width; of two edges that are nearly
// parallel nobody can tell from afar which parts are nearest, so L over length and sine of the
// angle. So
//     distance: 1e-12 relative to it, plus 4 eps L
//     normal:   1e-12, plus 64 eps (L / gap, S / width, L / (length sine))
#include <check.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gap.h"
#include "suite.h"
#include "tree.h"

typedef long double real;

// ---- chance

static uint64_t dice;

static double fraction(void) // [0, 1)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    uint64_t x = (dice ^ dice >> 32) * 0x9e3779b97f4a7c15u;
    return (double)(x >> 11) / 9007199254740992.0;
}

static double between(double low, double high)
{
    return low + (high - low) * fraction();
}

static int pick(int count)
{
    return (int)(count * fraction());
}

static double power(double low, double high) // of ten
{
    return pow(10, between(low, high));
}

// ---- long double vectors

static real dot(const real *a, const real *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross(const real *a, const real *b, real *c)
{
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

static void add(real *a, real s, const real *b)
{
    for (int k = 0; k < 3; k++) {
        a[k] += s * b[k];
    }
}

static void minus(const real *a, const real *b, real *c)
{
    for (int k = 0; k < 3; k++) {
        c[k] = a[k] - b[k];
    }
}

static real length(const real *a)
{
    return sqrtl(dot(a, a));
}

static void unit(real *a)
{
    real l = length(a);
    for (int k = 0; k < 3; k++) {
        a[k] /= l;
    }
}

static void widen(const double *a, real *b)
{
    for (int k = 0; k < 3; k++) {
        b[k] = a[k];
    }
}

static void random_unit(real *a)
{
    do {
        for (int k = 0; k < 3; k++) {
            a[k] = between(-1, 1);
        }
    } while (dot(a, a) > 1 || dot(a, a) < 0.01L);
    unit(a);
}

static void random_across(const real *a, real *b)
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

static void add_edges(solid *s)
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
static void hull_of(solid *s, int vertices)
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

static void prism_of(solid *s, int corners, double size)
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

static void make_pool(void)
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

static double size_of(const thing *t)
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

static void make_box_solid(thing *t)
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

static void make_thing(thing *t, sprag_shape_kind kind)
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

static void set_rotation(thing *t, const real R[3][3])
{
    for (int i = 0; i < 9; i++) {
        t->pose.rotation[i] = (double)R[i / 3][i % 3];
        t->R[i / 3][i % 3] = t->pose.rotation[i];
    }
}

static void set_position(thing *t, const real *at)
{
    for (int k = 0; k < 3; k++) {
        t->pose.position[k] = (double)at[k];
        t->at[k] = t->pose.position[k];
    }
}

static void frame_of(const real *x, real F[3][3]) // columns: x, two across
{
    real y[3], z[3];
    random_across(x, y);
    cross(x, y, z);
    for (int k = 0; k < 3; k++) {
        F[k][0] = x[k], F[k][1] = y[k], F[k][2] = z[k];
    }
}

// A rotation that takes one unit vector to another, and turns about it by chance.
static void set_rotation_taking(thing *t, const real *from, const real *to)
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

static void set_random_rotation(thing *t)
{
    real from[3], to[3];
    random_unit(from);
    random_unit(to);
    set_rotation_taking(t, from, to);
}

static void turn(const thing *t, const real *local, real *world)
{
    for (int i = 0; i < 3; i++) {
        world[i] = dot(t->R[i], local);
    }
}

static void place(const thing *t, const real *local, real *world)
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

static bool polytope_feature(const solid *s, int flat, feature *f)
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

static bool random_feature(const thing *t, feature *f)
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

static long pairs, misses, astray;
enum { SHOWN = 5 }; // of the misses

static const double eps = DBL_EPSILON;

static double reach_of(const thing t[2])
{
    double centre = 0;
    for (int k = 0; k < 3; k++) {
        centre = fmax(centre, fabs(t[1].pose.position[k] - t[0].pose.position[k]));
    }
    return centre + size_of(&t[0]) + size_of(&t[1]);
}

static sprag_result find(const thing t[2], sprag_gap_memory *memory, sprag_gap *gap,
                         sprag_manifold *manifold, double margin)
{
    const sprag_shape *shape[2] = {&t[0].shape, &t[1].shape};
    const sprag_pose *pose[2] = {&t[0].pose, &t[1].pose};
    return sprag_gap_find(shape, pose, &(sprag_gap_query){INFINITY, margin}, memory, gap, manifold);
}

// Of one kind of pair, what is worst: relative to distance and size, to the distance alone where
// poses say it to 1e-13, to what is allowed; the normal, where poses hold it.
typedef struct worst {
    double sized, relative, share, normal, normal_share;
    long relative_pairs, normal_pairs, misses;
} worst;

static worst worst_so_far;

static void raise_worst(double *most, double value)
{
    *most = value > *most || isnan(value) ? value : *most;
}

static void expect(const thing t[2], const sprag_gap *gap, real distance, const real *normal,
                   real condition, const char *what)
{
    double L = reach_of(t), off = (double)fabsl(gap->distance - distance);
    double allowed = 1e-12 * (double)fabsl(distance) + 4 * eps * L;
    real n[3];
    widen(gap->normal, n);
    add(n, -1, normal);
    double turned = (double)length(n), may = 1e-12 + 64 * eps * (double)condition;
    worst *w = &worst_so_far;
    pairs++;
    raise_worst(&w->sized, off / (double)(fabsl(distance) + L));
    raise_worst(&w->share, off / allowed);
    raise_worst(&w->normal_share, turned / may);
    if (eps * L < 1e-13 * (double)fabsl(distance)) {
        w->relative_pairs++;
        raise_worst(&w->relative, off / (double)fabsl(distance));
    }
    if (eps * (double)condition < 1e-14) {
        w->normal_pairs++;
        raise_worst(&w->normal, turned);
    }
    if (!(off <= allowed) || !(turned <= may)) {
        w->misses++;
        if (misses++ < SHOWN) {
            printf("%s: kinds %d %d, gap %.17Lg found %.17g error %.2g, normal off %.2g "
                   "(allowed %.2g, %.2g)\n",
                   what, (int)t[0].shape.kind, (int)t[1].shape.kind, distance, gap->distance,
                   gap->error, turned, allowed, may);
        }
    }
}

// ---- apart, put together from the answer

static void build_pair(thing t[2], sprag_shape_kind k0, sprag_shape_kind k1, real gap, feature f[2],
                       real *distance, real *normal, real *condition)
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

static bool no_pair(int k0, int k1)
{
    return k0 == SPRAG_PLANE && k1 == SPRAG_PLANE;
}

// SPRAG_PAIRS=1000000 test_gaps: so many of each kind of pair, and what is worst of each.
static bool is_long(void)
{
    return getenv("SPRAG_PAIRS") != NULL;
}

static long pairs_of_each(void)
{
    return is_long() ? strtol(getenv("SPRAG_PAIRS"), NULL, 10) : 20000;
}

static void print_worst(int k0, int k1, long each, long failed)
{
    static const char *const name[] = {"sphere", "capsule", "cylinder", "box", "convex", "plane"};
    const worst *w = &worst_so_far;
    if (!k0 && !k1) {
        printf("gaps log-uniform, 1e-12 to 1e3 m; worst of each kind of pair. distance: error over "
               "distance and size; over distance alone,\nwhere eps size < 1e-13 distance (pairs); "
               "over 1e-12 distance + 4 eps size. normal: error, where poses hold it to\n1e-14 "
               "(pairs); over what is allowed\n%-18s %8s %9s %9s %8s %6s %9s %8s %6s %6s %6s\n",
               "pair", "pairs", "d/(d+L)", "d/d", "pairs", "share", "normal", "pairs", "share",
               "missed", "failed");
    }
    printf("%-8s-%-9s %8ld %9.1e %9.1e %8ld %6.3f %9.1e %8ld %6.3f %6ld %6ld\n", name[k0], name[k1],
           each, w->sized, w->relative, w->relative_pairs, w->share, w->normal, w->normal_pairs,
           w->normal_share, w->misses, failed);
    fflush(stdout);
}

START_TEST(distance_and_normal_are_those_that_the_pair_was_made_from)
{
    static thing t[2];
    long each = pairs_of_each(), failed = 0;
    dice = 77;
    for (int k0 = 0; k0 < SPRAG_SHAPE_KINDS; k0++) {
        for (int k1 = 0; k1 < SPRAG_SHAPE_KINDS; k1++) {
            long failed_before = failed;
            worst_so_far = (worst){0};
            for (long i = 0; i < each && !no_pair(k0, k1); i++) {
                feature f[2];
                real distance, normal[3], condition;
                sprag_gap gap;
                build_pair(t, (sprag_shape_kind)k0, (sprag_shape_kind)k1, power(-12, 3), f,
                           &distance, normal, &condition);
                sprag_result result = find(t, NULL, &gap, NULL, 0);
                failed += result != SPRAG_OK;
                char what[64];
                snprintf(what, sizeof what, "made of %d %d", f[0].flat, f[1].flat);
                expect(t, &gap, distance, normal, condition, what);
            }
            if (is_long() && !no_pair(k0, k1)) {
                print_worst(k0, k1, each, failed - failed_before);
            }
        }
    }
    ck_assert_int_eq(misses, 0);
    ck_assert_int_eq(failed, 0);
}
END_TEST

// ---- supports, by all vertices

typedef struct skeleton { // of the core
    int vertices, edges, faces;
    real vertex[VERTICES_MAX][3], edge[EDGES_MAX][3], face[FACES_MAX][3]; // world
    real radius;                                                          // round about it
    bool cylinder;
    real axis[3], half, rim;
} skeleton;

static void skeleton_of(const thing *t, skeleton *k)
{
    real local[3] = {0, 0, 0};
    *k = (skeleton){.cylinder = t->shape.kind == SPRAG_CYLINDER};
    if (t->s) {
        const sprag_polytope *p = &t->s->polytope;
        for (int i = 0; i < p->vertices; i++) {
            widen(p->vertex[i], local);
            place(t, local, k->vertex[k->vertices++]);
        }
        for (int i = 0; i < t->s->edges; i++) {
            const int *e = t->s->edge[i];
            minus(k->vertex[e[0]], k->vertex[e[1]], k->edge[k->edges++]);
        }
        for (int f = 0; f < p->faces; f++) {
            const unsigned *loop = p->loop + p->start[f];
            real e[3], g[3], out[3], world[3];
            minus(k->vertex[loop[2]], k->vertex[loop[1]], e);
            minus(k->vertex[loop[3]], k->vertex[loop[2]], g);
            cross(e, g, k->face[k->faces]);
            unit(k->face[k->faces]);
            widen(p->normal[f], out);
            turn(t, out, world);
            if (dot(world, k->face[k->faces]) < 0) {
                for (int c = 0; c < 3; c++) {
                    k->face[k->faces][c] *= -1;
                }
            }
            k->faces++;
        }
        return;
    }
    k->radius = k->cylinder ? 0 : t->shape.radius;
    k->rim = k->cylinder ? t->shape.radius : 0;
    k->half = t->shape.half[2];
    local[2] = 1;
    turn(t, local, k->axis);
    for (int i = 0; i < (t->shape.kind == SPRAG_SPHERE ? 1 : 2); i++) {
        memcpy(k->vertex[k->vertices], t->at, sizeof t->at);
        add(k->vertex[k->vertices++], i ? k->half : -k->half, k->axis);
    }
    if (k->vertices > 1) {
        memcpy(k->edge[k->edges++], k->axis, sizeof k->axis);
    }
    if (k->cylinder) {
        memcpy(k->face[k->faces++], k->axis, sizeof k->axis);
    }
}

static real farthest(const skeleton *k, const real *n)
{
    real most = -INFINITY, across[3];
    for (int i = 0; i < k->vertices; i++) {
        most = fmaxl(most, dot(n, k->vertex[i]));
    }
    cross(n, k->axis, across);
    return most + k->radius + k->rim * length(across) / (k->rim > 0 ? length(k->axis) : 1);
}

// min n.a - max n.b, of the shapes
static real separation(const skeleton k[2], const real *n)
{
    const real against[3] = {-n[0], -n[1], -n[2]};
    return -farthest(&k[0], against) - farthest(&k[1], n);
}

// ---- overlap

static void raise_to(const skeleton k[2], const real *n, real *best)
{
    real u[3] = {n[0], n[1], n[2]};
    if (length(u) > 1e-12L) {
        unit(u);
        *best = fmaxl(*best, separation(k, u));
        for (int c = 0; c < 3; c++) {
            u[c] = -u[c];
        }
        *best = fmaxl(*best, separation(k, u));
    }
}

// The best on the circle at right angles to e: a scan, then golden sections round its maxima.
static void scan_circle(const skeleton k[2], const real *e, real *best)
{
    enum { SCAN = 240, NARROW = 70 };
    real F[3][3], n[3], height[SCAN];
    real axis[3] = {e[0], e[1], e[2]};
    unit(axis);
    frame_of(axis, F);
    for (int i = 0; i < SCAN; i++) {
        real t = 2 * (real)M_PI * i / SCAN;
        for (int c = 0; c < 3; c++) {
            n[c] = cosl(t) * F[c][1] + sinl(t) * F[c][2];
        }
        height[i] = separation(k, n);
    }
    for (int i = 0; i < SCAN; i++) {
        if (height[i] < height[(i + 1) % SCAN] || height[i] < height[(i + SCAN - 1) % SCAN] ||
            height[i] < *best - 0.05L) {
            continue;
        }
        real lo = 2 * (real)M_PI * (i - 1) / SCAN, hi = 2 * (real)M_PI * (i + 1) / SCAN;
        for (int j = 0; j < NARROW; j++) {
            real t[2] = {hi - 0.618033988749894848L * (hi - lo),
                         lo + 0.618033988749894848L * (hi - lo)},
                 h[2];
            for (int m = 0; m < 2; m++) {
                for (int c = 0; c < 3; c++) {
                    n[c] = cosl(t[m]) * F[c][1] + sinl(t[m]) * F[c][2];
                }
                h[m] = separation(k, n);
                *best = fmaxl(*best, h[m]);
            }
            *(h[0] > h[1] ? &hi : &lo) = t[h[0] < h[1]];
        }
    }
}

// Two rims: a scan of the sphere, then ever smaller steps across.
static void scan_sphere(const skeleton k[2], real *best)
{
    enum { SCAN = 2000, TRIES = 8 };
    static real n[SCAN][3], height[SCAN];
    for (int i = 0; i < SCAN; i++) {
        real z = 1 - (2 * i + 1) / (real)SCAN, r = sqrtl(1 - z * z), t = 2.399963229728653L * i;
        n[i][0] = r * cosl(t), n[i][1] = r * sinl(t), n[i][2] = z;
        height[i] = separation(k, n[i]);
    }
    for (int tries = 0; tries < TRIES; tries++) {
        int top = 0;
        for (int i = 1; i < SCAN; i++) {
            top = height[i] > height[top] ? i : top;
        }
        real at[3] = {n[top][0], n[top][1], n[top][2]}, h = height[top], F[3][3];
        for (int i = 0; i < SCAN; i++) { // the next try starts elsewhere
            height[i] = dot(n[i], at) > 0.97L ? -INFINITY : height[i];
        }
        frame_of(at, F);
        for (real step = 0.05L; step > 1e-9L;) {
            bool better = false;
            for (int d = 0; d < 8; d++) {
                real to[3] = {at[0], at[1], at[2]};
                for (int c = 0; c < 3; c++) {
                    to[c] += step * (cosl(d * (real)M_PI / 4) * F[c][1] +
                                     sinl(d * (real)M_PI / 4) * F[c][2]);
                }
                unit(to);
                real there = separation(k, to);
                if (there > h) {
                    h = there;
                    memcpy(at, to, sizeof to);
                    better = true;
                }
            }
            step *= better ? 1 : 0.5L;
        }
        *best = fmaxl(*best, h);
    }
}

static real best_separation(const skeleton k[2])
{
    real best = -INFINITY, n[3];
    bool curved = k[0].cylinder || k[1].cylinder;
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < k[side].faces; i++) {
            raise_to(k, k[side].face[i], &best);
        }
        for (int i = 0; k[side].cylinder && i < k[!side].vertices; i++) { // side against vertex
            minus(k[!side].vertex[i], k[side].vertex[0], n);
            add(n, -dot(n, k[side].axis), k[side].axis);
            raise_to(k, n, &best);
        }
    }
    for (int i = 0; i < k[0].edges; i++) {
        for (int j = 0; j < k[1].edges; j++) {
            cross(k[0].edge[i], k[1].edge[j], n);
            raise_to(k, n, &best);
        }
    }
    for (int side = 0; curved && side < 2; side++) {
        for (int i = 0; i < k[side].edges; i++) {
            scan_circle(k, k[side].edge[i], &best);
        }
    }
    if (k[0].cylinder && k[1].cylinder) {
        scan_sphere(k, &best);
    }
    return best;
}

// How far a point is outside, at least; 0 on the shape, up to rounding.
static real outside(const thing *t, const skeleton *k, const double *x)
{
    real p[3], from[3], far = -INFINITY;
    widen(x, p);
    if (t->shape.kind == SPRAG_SPHERE || t->shape.kind == SPRAG_CAPSULE) {
        minus(p, t->at, from);
        real z = fmaxl(-k->half, fminl(k->half, dot(from, k->axis)));
        add(from, -z, k->axis);
        return length(from) - k->radius;
    }
    if (k->cylinder) {
        minus(p, t->at, from);
        real z = dot(from, k->axis);
        add(from, -z, k->axis);
        return fmaxl(fabsl(z) - k->half, length(from) - k->rim);
    }
    for (int f = 0; f < k->faces; f++) {
        minus(p, k->vertex[t->s->polytope.loop[t->s->polytope.start[f] + 1]], from);
        far = fmaxl(far, dot(k->face[f], from));
    }
    for (int e = 0; e < k->edges && k->vertices == 3; e++) { // a triangle has sides as well
        const int *edge = t->s->edge[e];
        real out[3], to[3];
        cross(k->edge[e], k->face[0], out);
        unit(out);
        minus(k->vertex[3 - edge[0] - edge[1]], k->vertex[edge[0]], to);
        minus(p, k->vertex[edge[0]], from);
        far = fmaxl(far, dot(out, to) > 0 ? -dot(out, from) : dot(out, from));
    }
    return far;
}

static void put_near(thing t[2], double nearness)
{
    real at[2][3];
    for (int side = 0; side < 2; side++) {
        set_random_rotation(&t[side]);
        random_unit(at[side]);
    }
    real far = nearness * fraction() * (size_of(&t[0]) + size_of(&t[1]));
    for (int k = 0; k < 3; k++) {
        at[1][k] = at[0][k] + at[1][k] * far;
    }
    set_position(&t[0], at[0]);
    set_position(&t[1], at[1]);
}

// The gap is what its normal and its points say; and what brute force says, if they overlap.
static void check_near(const thing t[2], const char *what, bool brute)
{
    static skeleton k[2];
    sprag_gap gap;
    double L = reach_of(t);
    sprag_result result = find(t, NULL, &gap, NULL, 0);
    real n[3], between[3], a[3], b[3];
    skeleton_of(&t[0], &k[0]);
    skeleton_of(&t[1], &k[1]);
    widen(gap.normal, n);
    widen(gap.point[0], a);
    widen(gap.point[1], b);
    minus(a, b, between);
    real allowed = 1e-12L * fabsl(gap.distance) + 8 * eps * L;
    real off = fabsl(separation(k, n) - gap.distance), shy = 0, apart = 0;
    // How well points can be told from the normal: corners slide.
    real loose = 1e-9L * L;
    for (int side = 0; side < 2; side++) {
        apart = fmaxl(apart, outside(&t[side], &k[side], gap.point[side]));
    }
    add(between, -gap.distance, n);
    if (brute && gap.distance < 0) {
        real best = best_separation(k); // of a difference without volume there are no facets
        shy = best > -INFINITY ? best - gap.distance : 0;
    }
    pairs++;
    // Only skins overlap, or the search was not as fine: then the gap may be better.
    bool better =
        gap.distance + (double)(k[0].radius + k[1].radius) > 0 || k[0].cylinder || k[1].cylinder;
    // Coaxial cylinders have a circle of ways out, and too many facets for EPA.
    bool ok = result == SPRAG_OK || (result == SPRAG_NOT_CONVERGED && gap.error < 1e-3 * L);
    if (gap.distance < 1e-12 * L && apart > 1e-9L * L) { // deep inside, points may be off
        astray++;
        apart = 0;
    }
    if (!ok || !(off <= allowed) || !(fabsl(length(n) - 1) <= 4 * eps) || !(apart <= 1e-9L * L) ||
        !(length(between) <= loose) || !(shy <= allowed) || !(better || shy >= -allowed)) {
        if (misses++ < SHOWN) {
            printf("%s: kinds %d %d, gap %g result %d error %g, plane off %Lg, short by %Lg (%Lg), "
                   "points outside by %Lg, miss %Lg of %g\n",
                   what, (int)t[0].shape.kind, (int)t[1].shape.kind, gap.distance, (int)result,
                   gap.error, off, shy, allowed, apart, length(between), L);
        }
    }
}

static void check_all_near(const char *what, bool curved, int each, bool brute)
{
    static thing t[2];
    for (int k0 = 0; k0 < SPRAG_PLANE; k0++) {
        for (int k1 = 0; k1 < SPRAG_PLANE; k1++) {
            bool round = k0 == SPRAG_CYLINDER || k1 == SPRAG_CYLINDER;
            for (int i = 0; i < each && round == curved; i++) {
                make_thing(&t[0], (sprag_shape_kind)k0);
                make_thing(&t[1], (sprag_shape_kind)k1);
                put_near(t, i % 2 ? 0.5 : 1);
                check_near(t, what, brute);
            }
        }
    }
}

START_TEST(depth_of_polytopes_is_the_least_over_all_facets)
{
    dice = 78;
    check_all_near("facets", false, 600, true);
    ck_assert_int_eq(misses, 0);
    ck_assert_int_le(astray, pairs / 5000);
}
END_TEST

START_TEST(depth_of_cylinders_is_the_least_that_a_search_finds)
{
    dice = 79;
    check_all_near("search", true, 40, true);
    ck_assert_int_eq(misses, 0);
    ck_assert_int_le(astray, pairs / 5000);
}
END_TEST

START_TEST(normal_and_points_bear_the_distance_out)
{
    dice = 80;
    check_all_near("polytopes", false, 8000, false);
    check_all_near("curved", true, 8000, false);
    ck_assert_int_eq(misses, 0);
    ck_assert_int_le(astray, pairs / 5000);
}
END_TEST

// ---- ties: what meets in lattice points, along axes

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
            for (int i = 0; i < 2000; i++) {
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
START_TEST(what_has_no_extent_is_a_point_an_edge_a_face)
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

START_TEST(numbers_that_make_no_sense_are_told)
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

// ---- manifolds

// Area of the polygon that the points make, seen along the normal.
static double area_of(const sprag_manifold *m, const double *normal)
{
    real sum[3] = {0, 0, 0}, n[3], p[3][3], e[3], f[3], c[3];
    widen(normal, n);
    for (int i = 1; i + 1 < m->count; i++) {
        widen(m->point[0][0], p[0]);
        widen(m->point[i][0], p[1]);
        widen(m->point[i + 1][0], p[2]);
        minus(p[1], p[0], e);
        minus(p[2], p[0], f);
        cross(e, f, c);
        add(sum, 0.5L, c);
    }
    return (double)fabsl(dot(sum, n));
}

typedef struct resting {
    sprag_shape shape[2];
    double turn;   // rad, of the upper one about z
    double height; // m, of its centre, at gap 0
    int points;
    double area; // m^2
} resting;

static const resting rests[] = {
    {{{SPRAG_BOX, 0, {0.5, 0.4, 0.3}, 0}, {SPRAG_PLANE, 0, {0}, 0}}, 0.3, 0.3, 4, 0.8},
    {{{SPRAG_BOX, 0, {0.5, 0.5, 0.5}, 0}, {SPRAG_BOX, 0, {0.5, 0.5, 0.5}, 0}}, 0, 1, 4, 1},
    {{{SPRAG_BOX, 0, {0.5, 0.5, 0.5}, 0}, {SPRAG_BOX, 0, {0.5, 0.5, 0.5}, 0}},
     M_PI / 4,
     1,
     8,
     0.8284271247461901},
    {{{SPRAG_BOX, 0, {0.2, 0.2, 0.5}, 0}, {SPRAG_BOX, 0, {0.5, 0.5, 0.5}, 0}}, 1, 1, 4, 0.16},
    {{{SPRAG_CYLINDER, 0.5, {0, 0, 0.5}, 0}, {SPRAG_PLANE, 0, {0}, 0}},
     0.3,
     0.5,
     8,
     8 * 0.3535533905932738 * 0.25},
    {{{SPRAG_CYLINDER, 0.5, {0, 0, 0.5}, 0}, {SPRAG_BOX, 0, {1, 1, 0.5}, 0}},
     0.3,
     1,
     8,
     8 * 0.3535533905932738 * 0.25},
    {{{SPRAG_SPHERE, 0.5, {0}, 0}, {SPRAG_BOX, 0, {1, 1, 0.5}, 0}}, 0, 1, 1, 0},
};

START_TEST(manifolds_are_what_the_faces_have_in_common)
{
    static const double gaps[] = {-1e-3, 0, 1e-9, 5e-3};
    const resting *r = &rests[_i];
    for (int order = 0; order < 2; order++) {
        for (int g = 0; g < 4; g++) {
            double c = cos(r->turn), s = sin(r->turn);
            const sprag_pose up = {{0.1, -0.05, r->height + gaps[g]}, {c, -s, 0, s, c, 0, 0, 0, 1}};
            const sprag_pose down = {{0.1, -0.05, 0}, {1, 0, 0, 0, 1, 0, 0, 0, 1}};
            const sprag_shape *shape[2] = {&r->shape[order], &r->shape[!order]};
            const sprag_pose *pose[2] = {order ? &down : &up, order ? &up : &down};
            sprag_gap gap;
            sprag_manifold m;
            sprag_gap_query query = {INFINITY, 0.01};
            ck_assert_int_eq(sprag_gap_find(shape, pose, &query, NULL, &gap, &m), SPRAG_OK);
            ck_assert_double_eq_tol(gap.distance, gaps[g], 1e-15);
            ck_assert_double_eq_tol(gap.normal[2], order ? -1 : 1, 1e-15);
            ck_assert_int_eq(m.count, r->points);
            ck_assert_double_eq_tol(area_of(&m, gap.normal), r->area, 1e-14);
            for (int i = 0; i < m.count; i++) {
                ck_assert_double_eq_tol(m.gap[i], gaps[g], 1e-15);
                ck_assert_double_eq_tol(m.point[i][order][2] - m.point[i][!order][2], gaps[g],
                                        1e-15);
            }
            query.margin = gaps[g] - 1e-4;
            ck_assert_int_eq(sprag_gap_find(shape, pose, &query, NULL, &gap, &m), SPRAG_OK);
            ck_assert_int_eq(m.count, 0);
        }
    }
}
END_TEST

// Lying on its side: a line.
START_TEST(round_sides_rest_on_two_points)
{
    const sprag_shape lying[2] = {{SPRAG_CAPSULE, 0.25, {0, 0, 0.5}, 0},
                                  {SPRAG_CYLINDER, 0.25, {0, 0, 0.5}, 0}};
    const sprag_shape below[3] = {
        {.kind = SPRAG_PLANE}, {SPRAG_BOX, 0, {2, 2, 1}, 0}, {SPRAG_CAPSULE, 0.25, {0, 0, 2}, 0}};
    const double under[3] = {0, -1, -0.25};
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 3; j++) {
            const sprag_pose up = {{0, 0, 0.2501}, {0, 0, 1, 1, 0, 0, 0, 1, 0}};
            sprag_pose down = {{0, 0, under[j]}, {1, 0, 0, 0, 1, 0, 0, 0, 1}};
            if (j == 2) {
                memcpy(down.rotation, up.rotation, sizeof down.rotation);
            }
            const sprag_shape *shape[2] = {&lying[i], &below[j]};
            const sprag_pose *pose[2] = {&up, &down};
            const sprag_gap_query query = {INFINITY, 0.01};
            sprag_gap gap;
            sprag_manifold m;
            ck_assert_int_eq(sprag_gap_find(shape, pose, &query, NULL, &gap, &m), SPRAG_OK);
            ck_assert_double_eq_tol(gap.distance, 1e-4, 1e-15);
            ck_assert_int_eq(m.count, 2);
            ck_assert_double_eq_tol(fabs(m.point[0][0][0] - m.point[1][0][0]), 1, 1e-14);
        }
    }
}
END_TEST

// Any pair at any gap: the points are on the shapes, as far apart along the normal as is said, the
// nearest of them as near as the shapes are.
START_TEST(manifold_points_are_on_the_shapes)
{
    static thing t[2];
    static skeleton k[2];
    dice = 84;
    long several = 0;
    for (int i = 0; i < 60000; i++) {
        sprag_shape_kind kind[2] = {(sprag_shape_kind)pick(SPRAG_PLANE),
                                    (sprag_shape_kind)pick(SPRAG_PLANE)};
        feature f[2];
        real distance, normal[3], condition;
        build_pair(t, kind[0], kind[1], power(-9, -2), f, &distance, normal, &condition);
        double margin = 2 * (double)distance + 1e-3, L = reach_of(t);
        sprag_gap gap;
        sprag_manifold m;
        ck_assert_int_eq(find(t, NULL, &gap, &m, margin), SPRAG_OK);
        skeleton_of(&t[0], &k[0]);
        skeleton_of(&t[1], &k[1]);
        ck_assert_int_ge(m.count, 1);
        several += m.count > 1;
        double nearest = INFINITY;
        for (int p = 0; p < m.count; p++) {
            real a[3], b[3], between_[3], n[3];
            widen(m.point[p][0], a);
            widen(m.point[p][1], b);
            widen(gap.normal, n);
            minus(a, b, between_);
            nearest = fmin(nearest, m.gap[p]);
            ck_assert_double_le(m.gap[p], margin);
            ck_assert_double_eq_tol((double)dot(n, between_), m.gap[p], 1e-12 * L);
            for (int side = 0; side < 2; side++) {
                ck_assert_double_le((double)outside(&t[side], &k[side], m.point[p][side]),
                                    1e-12 * L);
            }
        }
        ck_assert_double_eq_tol(nearest, (double)distance, 1e-9 * L);
    }
    ck_assert_int_gt(several, 5000);
}
END_TEST

// ---- rest: what lies, stands or leans on each other, a little out of line

// The polygon that a solid turns up (sign 1) or down, if it turns one: corners within `level` (m)
// of the foremost.
static int turned_up(const skeleton *k, const thing *t, int sign, real level, real (*corner)[2])
{
    real most = -INFINITY;
    int count = 0, best = -1;
    for (int i = 0; i < k->vertices; i++) {
        most = fmaxl(most, sign * k->vertex[i][2]);
    }
    const sprag_polytope *p = &t->s->polytope;
    for (int f = 0; f < p->faces; f++) {
        bool all = true;
        for (unsigned i = 1; i <= p->loop[p->start[f]]; i++) {
            all &= sign * k->vertex[p->loop[(unsigned)p->start[f] + i]][2] > most - level;
        }
        best = all && (best < 0 || sign * k->face[f][2] > sign * k->face[best][2]) ? f : best;
    }
    if (best < 0) {
        return 0;
    }
    const int *outline =
        p->first ? p->rim + p->outline[best] : (const int *)p->loop + p->start[best];
    for (int i = 1; i <= *outline; i++, count++) {
        corner[count][0] = k->vertex[outline[i]][0];
        corner[count][1] = k->vertex[outline[i]][1];
    }
    return count;
}

static real left_of(const real *a, const real *b, const real *p)
{
    return (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]);
}

// By how far p is inside a polygon, either way round.
static real within(const real (*c)[2], int count, const real *p)
{
    real least = INFINITY, area = 0;
    for (int i = 1; i + 1 < count; i++) {
        area += left_of(c[0], c[i], c[i + 1]);
    }
    for (int i = 0; i < count; i++) {
        const real *a = c[i], *b = c[(i + 1) % count];
        real side = left_of(a, b, p) / hypotl(b[0] - a[0], b[1] - a[1]);
        least = fminl(least, area > 0 ? side : -side);
    }
    return least;
}

static bool is_met(const sprag_manifold *m, const real *at)
{
    for (int i = 0; i < m->count; i++) {
        if (hypotl(m->point[i][1][0] - at[0], m->point[i][1][1] - at[1]) < 1e-6L) {
            return true;
        }
    }
    return false;
}

// Height of the plane through three corners of a face there.
static real gap_at(const skeleton k[2], const thing t[2], const real *at)
{
    real height[2] = {INFINITY, -INFINITY};
    for (int side = 0; side < 2; side++) {
        const sprag_polytope *p = &t[side].s->polytope;
        for (int f = 0; f < p->faces; f++) {
            const real *n = k[side].face[f], *v = k[side].vertex[p->loop[p->start[f] + 1]];
            if ((side ? n[2] : -n[2]) > 0.5L) {
                real z = v[2] - (n[0] * (at[0] - v[0]) + n[1] * (at[1] - v[1])) / n[2];
                height[side] = side ? fmaxl(z, height[1]) : fminl(z, height[0]);
            }
        }
    }
    return height[0] - height[1];
}

// Corners that both polygons have in common must be there, if they are within the margin for sure.
static int count_lost(const skeleton k[2], const thing t[2], const sprag_manifold *m, double margin)
{
    real c[2][VERTICES_MAX][2], at[2];
    int count[2], lost = 0;
    for (int side = 0; side < 2; side++) {
        count[side] = turned_up(&k[side], &t[side], side ? 1 : -1, 0.02L, c[side]);
    }
    if (count[0] < 3 || count[1] < 3) {
        return 0;
    }
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < count[side]; i++) {
            const real *p = c[side][i];
            bool in = within((const real(*)[2])c[!side], count[!side], p) > 2e-6L;
            lost += in && gap_at(k, t, p) < 0.99L * margin && !is_met(m, p);
        }
    }
    for (int i = 0; i < count[0]; i++) {
        for (int j = 0; j < count[1]; j++) {
            const real *a = c[0][i], *b = c[0][(i + 1) % count[0]];
            const real *p = c[1][j], *q = c[1][(j + 1) % count[1]];
            real x = left_of(p, q, a), y = left_of(p, q, b);
            real e = hypotl(q[0] - p[0], q[1] - p[1]), f = hypotl(b[0] - a[0], b[1] - a[1]);
            real thin = 1e-3L * e * f; // lines that are nearly parallel cross anywhere
            if (x * y < 0 && left_of(a, b, p) * left_of(a, b, q) < 0 && fabsl(x - y) > thin) {
                for (int d = 0; d < 2; d++) {
                    at[d] = a[d] + (b[d] - a[d]) * x / (x - y);
                }
                lost += gap_at(k, t, at) < 0.99L * margin && !is_met(m, at);
            }
        }
    }
    return lost;
}

static void multiply(const real A[3][3], const real B[3][3], real C[3][3])
{
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            C[i][j] = A[i][0] * B[0][j] + A[i][1] * B[1][j] + A[i][2] * B[2][j];
        }
    }
}

static void about(int axis, real angle, real R[3][3])
{
    int j = (axis + 1) % 3, k = (axis + 2) % 3;
    memset(R, 0, 9 * sizeof(real));
    R[axis][axis] = 1;
    R[j][j] = R[k][k] = cosl(angle);
    R[k][j] = sinl(angle);
    R[j][k] = -sinl(angle);
}

// flat: 2 a face, 1 an edge, 0 a corner is turned up, or down.
static void pose_feature(int flat, real yaw, real out, real R[3][3])
{
    static const real lean[3][2] = {{0.6L, 0.7L}, {0.6L, 0}, {0, 0}};
    real A[3][3], B[3][3], C[3][3];
    about(0, lean[flat][0], A);
    about(1, lean[flat][1], B);
    multiply((const real(*)[3])A, (const real(*)[3])B, C);
    about(2, yaw, A);
    multiply((const real(*)[3])A, (const real(*)[3])C, B);
    real u[3], axis = pick(3); // out of line
    random_unit(u);
    about((int)axis, out * u[0], A);
    multiply((const real(*)[3])A, (const real(*)[3])B, R);
    about(((int)axis + 1) % 3, out * u[1], A);
    multiply((const real(*)[3])A, (const real(*)[3])R, C);
    memcpy(R, C, sizeof C);
}

// The middle of what is foremost.
static void foremost(const skeleton *k, int sign, real *at)
{
    real most = -INFINITY, sum = 0, low[3] = {0, 0, -sign};
    low[2] = sign;
    most = farthest(k, low);
    memset(at, 0, 3 * sizeof *at);
    for (int i = 0; i < k->vertices; i++) {
        if (sign * k->vertex[i][2] > most - k->rim - k->radius - 1e-4L) {
            add(at, 1, k->vertex[i]);
            sum++;
        }
    }
    for (int c = 0; c < 2; c++) {
        at[c] = sum > 0 ? at[c] / sum : 0;
    }
    at[2] = sign * most;
}

// Which kinds: box, cube of faces, cube of triangles, cylinder, plane, triangle.
static solid cubes[2];
static int cube_links[2][400];

static void make_cubes(void)
{
    static const unsigned quads[] = {4, 0, 4, 6, 2, 4, 1, 3, 7, 5, 4, 0, 1, 5, 4,
                                     4, 2, 6, 7, 3, 4, 0, 2, 3, 1, 4, 4, 5, 7, 6};
    thing box = {.shape = {.kind = SPRAG_BOX, .half = {0.4, 0.5, 0.3}}};
    make_box_solid(&box);
    for (int i = 0; i < 2; i++) {
        solid *s = &cubes[i];
        memcpy(s->vertex, box.own.vertex, sizeof s->vertex);
        int at = 0, faces = 0;
        for (int f = 0; f < 30; f += 5) {
            for (int half = 0; half < (i ? 2 : 1); half++) {
                unsigned corners = i ? 3 : 4;
                s->loop[at++] = corners;
                for (unsigned c = 0; c < corners; c++) {
                    s->loop[at++] = quads[(unsigned)f + 1 + (c + 2 * (unsigned)half) % 4];
                }
                faces++;
            }
        }
        s->polytope = sprag_polytope_make((const double(*)[3])s->vertex, 8, s->loop, faces,
                                          s->start, s->normal);
        add_edges(s);
        ck_assert_int_le(sprag_polytope_links(&s->polytope), 400);
        sprag_polytope_link(&s->polytope, cube_links[i]);
        ck_assert(s->polytope.first);
    }
}

static void make_resting(thing *t, int which)
{
    *t = (thing){.s = NULL};
    if (which == 0 || which == 3) {
        make_thing(t, which ? SPRAG_CYLINDER : SPRAG_BOX);
        if (pick(2)) { // as others are
            for (int k = 0; k < 3; k++) {
                t->shape.half[k] = 0.5;
            }
            t->shape.radius = which ? 0.5 : 0;
        }
        if (!which) {
            make_box_solid(t);
        }
    } else if (which < 3) {
        t->s = &cubes[which - 1];
        t->shape = (sprag_shape){.kind = SPRAG_POLYTOPE, .polytope = &t->s->polytope};
    } else if (which == 4) {
        t->shape.kind = SPRAG_PLANE;
    } else {
        t->s = &solids[1 + 4 * pick(POOL / 4)]; // in the plane of three random points
        t->shape = (sprag_shape){.kind = SPRAG_POLYTOPE, .polytope = &t->s->polytope};
    }
}

static const int resting_pairs[][2] = {{0, 0}, {0, 1}, {1, 1}, {2, 0}, {2, 2}, {3, 0}, {0, 3},
                                       {3, 3}, {3, 2}, {0, 4}, {2, 4}, {3, 4}, {0, 5}, {2, 5}};

START_TEST(what_rests_a_little_out_of_line_has_all_its_points)
{
    static thing t[2];
    static skeleton k[2];
    const double margin = 1.5e-6;
    long bad = 0, several = 0, loose = 0;
    dice = 86 + (uint64_t)_i;
    make_cubes();
    for (int i = 0; i < 8000; i++) {
        const int *which = resting_pairs[_i];
        real R[3][3], at[2][3], yaw = pick(2) ? (real)M_PI_2 * pick(4) : between(0, 6.3);
        real out = pick(4) ? power(-12, -3) : 0;
        double wanted = power(-7.7, -6);
        int flat[2] = {pick(3), pick(3)};
        make_resting(&t[0], which[0]);
        make_resting(&t[1], which[1]);
        for (int side = 0; side < 2; side++) {
            const real origin[3] = {0, 0, 0};
            if (which[side] == 5) { // its face up
                real n[3], up[3] = {0, 0, 1};
                widen(t[side].s->polytope.normal[0], n);
                set_rotation_taking(&t[side], n, up);
            } else {
                pose_feature(which[side] == 4 ? 2 : flat[side], side ? 0 : yaw, side ? 0 : out, R);
                set_rotation(&t[side], (const real(*)[3])R);
            }
            set_position(&t[side], origin);
            skeleton_of(&t[side], &k[side]);
            foremost(&k[side], side ? 1 : -1, at[side]);
            if (which[side] == 4) {
                memset(at[side], 0, sizeof at[side]);
            }
        }
        minus(at[1], at[0], at[0]);
        at[0][2] += wanted;
        for (int c = 0; c < 2 && pick(3); c++) { // or right above
            at[0][c] += between(-0.2, 0.2);
        }
        set_position(&t[0], at[0]);
        skeleton_of(&t[0], &k[0]);

        sprag_gap gap;
        sprag_manifold m;
        sprag_result result = find(t, NULL, &gap, &m, margin);
        const sprag_shape *shape[2] = {&t[0].shape, &t[1].shape};
        const sprag_pose *pose[2] = {&t[0].pose, &t[1].pose};
        double L = reach_of(t), along = sprag_gap_along(shape, pose, gap.normal), off = 0, nearest;
        real n[3], a[3], b[3];
        widen(gap.normal, n);
        widen(gap.point[0], a);
        widen(gap.point[1], b);
        minus(a, b, a);
        add(a, -gap.distance, n);
        bool plane = which[1] == 4;
        for (int side = 0; side < (plane ? 1 : 2); side++) {
            off = fmax(off, (double)outside(&t[side], &k[side], gap.point[side]));
        }
        nearest = INFINITY;
        for (int p = 0; p < m.count; p++) {
            real x[3], y[3];
            widen(m.point[p][0], x);
            widen(m.point[p][1], y);
            minus(x, y, x);
            nearest = fmin(nearest, m.gap[p]);
            off = fmax(off, fabs((double)dot(n, x) - m.gap[p]));
            for (int side = 0; side < (plane ? 1 : 2); side++) {
                off = fmax(off, (double)outside(&t[side], &k[side], m.point[p][side]));
            }
            off = m.gap[p] <= margin ? off : INFINITY;
        }
        int lost = t[0].s && t[1].s && result == SPRAG_OK ? count_lost(k, t, &m, margin) : 0;
        several += m.count > 2;
        bool near = gap.distance <= margin;
        // Round things roll along the gap for less than can be told.
        bool round = which[0] == 3 || which[1] == 3;
        real astride = round ? gap.error + 1e-10L * L +
                                   sqrtl(8 * (gap.error + 8 * eps * L) * fabsl(gap.distance))
                             : 1e-12L * L;
        // Rims and edges that nearly lie in each other may leave the distance open, and say so.
        if (round && gap.error > 1e-10 * L && gap.error < 1e-8 * L) {
            loose++;
            result = SPRAG_OK;
            gap.error = 0;
            astride = INFINITY;
            off = 0;
        }
        bool ok = result == SPRAG_OK && fabsl(length(n) - 1) <= 4 * eps &&
                  along >= gap.distance - 1e-12 * L && length(a) <= astride &&
                  off <= (round ? gap.error : 0) + 1e-12 * L && gap.error <= 1e-10 * L &&
                  (m.count > 0) == near && !lost &&
                  (!near || fabs(nearest - gap.distance) <= 1e-9 * L);
        if (!ok && bad++ < SHOWN) {
            printf(
                "%d on %d, features %d %d yaw %Lg out %Lg: result %d distance %g (above %g) along "
                "%g error %g, points miss %Lg, off %g, of %d %d lost, nearest %g\n",
                which[0], which[1], flat[0], flat[1], yaw, out, (int)result, gap.distance, wanted,
                along - gap.distance, gap.error, length(a), off, m.count, lost,
                nearest - gap.distance);
        }
    }
    ck_assert_int_eq(bad, 0);
    ck_assert_int_le(loose, 8);
    ck_assert_int_gt(several, 400);
}
END_TEST

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
    ck_assert(l->linked.first);
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
        ck_assert_int_eq(field.linked.rim[field.linked.outline[f]], 4);
    }
}

START_TEST(links_find_what_a_look_at_everything_does)
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
    // A corner that no face has, a face that is missing, a dent: no links.
    sprag_polytope open = field.bare;
    open.faces--;
    sprag_polytope_link(&open, field.links);
    ck_assert(!open.first);
    ball.vertex[40][2] *= 1 - 1e-9;
    sprag_polytope_link(&ball.bare, ball.links);
    ck_assert(!ball.bare.first);
}
END_TEST

// One in the other, one on the other, side by side: cylinders with one axis or nearly, on each
// other or on what is flat. Out of line by an angle, distances are by as much of the size.
START_TEST(cylinders_in_line_come_apart)
{
    static thing t[2];
    static skeleton k[2];
    static const sprag_shape_kind kinds[] = {SPRAG_CYLINDER, SPRAG_CAPSULE, SPRAG_BOX};
    long bad = 0;
    dice = 101;
    for (int i = 0; i < 12000; i++) {
        sprag_shape_kind kind = kinds[i % 3];
        make_thing(&t[0], SPRAG_CYLINDER);
        make_thing(&t[1], kind);
        double r0 = t[0].shape.radius, h0 = t[0].shape.half[2], h1 = t[1].shape.half[2];
        double r1 = kind == SPRAG_BOX ? 0 : t[1].shape.radius;
        double skin = kind == SPRAG_CAPSULE ? r1 : 0, out = pick(3) ? power(-16, -3) : 0;
        real R[3][3], world[3][3], leaning[3][3], from[3], at[3] = {0, 0, 0}, u[3];
        double up = pick(3) ? between(-1, 1) * (h0 + h1) : pick(2) ? h0 + h1 + skin : 0;
        double aside = kind == SPRAG_BOX || pick(2) ? 0
                       : pick(3)                    ? fraction() * (r0 + r1)
                                                    : r0 + r1;
        up *= kind == SPRAG_BOX && fabs(up) < 0.98 * (h0 + h1) ? (h0 + h1) * 0.98 / fabs(up) : 1;
        up = isfinite(up) ? up : h0 + h1;
        about(2, between(0, 6.3), R);
        set_rotation(&t[0], (const real(*)[3])R);
        random_unit(u);
        about(0, out * u[0], world);
        multiply((const real(*)[3])world, (const real(*)[3])R, leaning);
        set_rotation(&t[1], (const real(*)[3])leaning);
        set_position(&t[0], at);
        from[0] = aside, from[1] = 0, from[2] = up;
        set_position(&t[1], from);
        double along = fabs(up) - h0 - h1 - skin, across = aside - r0 - r1;
        if (kind == SPRAG_BOX) { // lies on it: the side is farther
            across = -r0 - fmin(t[1].shape.half[0], t[1].shape.half[1]);
        } else if (kind == SPRAG_CAPSULE && along + skin > 0 && aside > r0) {
            continue; // past the rim
        }
        double expected = fmax(along, across), L = reach_of(t);
        sprag_gap gap;
        sprag_manifold m;
        sprag_result result = find(t, NULL, &gap, &m, 0.01);
        skeleton_of(&t[0], &k[0]);
        skeleton_of(&t[1], &k[1]);
        real n[3];
        widen(gap.normal, n);
        double held = (double)separation(k, n);
        bool ok =
            (result == SPRAG_OK || (result == SPRAG_NOT_CONVERGED && gap.error <= 8 * out * L)) &&
            fabsl(length(n) - 1) <= 4 * eps && fabs(held - gap.distance) <= 1e-12 * L &&
            fabs(gap.distance - expected) <= 3 * out * L + 1e-12 * L && m.count > 0;
        for (int side = 0; side < 2; side++) {
            ok &= outside(&t[side], &k[side], gap.point[side]) <= 3 * out * L + 1e-9 * L;
        }
        if (!ok && bad++ < SHOWN) {
            printf(
                "kind %d up %g aside %g out %g: result %d distance %g expected %g held %g error %g "
                "normal %g %g %g, %d points, outside %Lg %Lg\n",
                (int)kind, up, aside, out, (int)result, gap.distance, expected, held, gap.error,
                gap.normal[0], gap.normal[1], gap.normal[2], m.count,
                outside(&t[0], &k[0], gap.point[0]), outside(&t[1], &k[1], gap.point[1]));
        }
    }
    ck_assert_int_eq(bad, 0);
}
END_TEST

// ---- which boxes overlap

static bool met[120][120];

static void mark(void *data, int i, int j)
{
    ck_assert_int_lt(i, j);
    ck_assert(!met[i][j]);
    met[i][j] = true;
    ++*(int *)data;
}

START_TEST(overlaps_are_all_there_are)
{
    sprag_scratch scratch = {0};
    dice = 85;
    for (int round = 0; round < 300; round++) {
        double box[120][6];
        int count = pick(121), found = 0, expected = 0;
        for (int i = 0; i < count; i++) {
            double size = power(-2, 1);
            for (int k = 0; k < 3; k++) { // some on a lattice, where they touch; some without end
                double lo = round % 2 ? pick(6) : between(0, 6);
                box[i][k] = pick(40) ? lo : -INFINITY;
                box[i][k + 3] = pick(40) ? lo + (round % 2 ? 1 : size) : INFINITY;
            }
        }
        memset(met, 0, sizeof met);
        ck_assert(sprag_overlaps((const double(*)[6])box, count, mark, &found, &scratch));
        for (int i = 0; i < count; i++) {
            for (int j = i + 1; j < count; j++) {
                bool overlap = sprag_boxes_overlap(box[i], box[j]);
                expected += overlap;
                ck_assert_int_eq(met[i][j], overlap);
            }
        }
        ck_assert_int_eq(found, expected);
        sprag_scratch_reset(&scratch);
    }
    sprag_scratch_free(&scratch);
}
END_TEST

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ); // tests that fail end their process
    Suite *suite = suite_create("gaps");
    TCase *exact = tcase_create("exact");
    tcase_add_unchecked_fixture(exact, make_pool, NULL);
    tcase_set_timeout(exact, is_long() ? 36000 : 120);
    tcase_add_test(exact, distance_and_normal_are_those_that_the_pair_was_made_from);
    if (is_long()) {
        suite_add_tcase(suite, exact);
        return run_suite(suite);
    }
    tcase_add_test(exact, depth_of_polytopes_is_the_least_over_all_facets);
    tcase_add_test(exact, depth_of_cylinders_is_the_least_that_a_search_finds);
    tcase_add_test(exact, normal_and_points_bear_the_distance_out);
    tcase_add_test(exact, ties_have_a_normal_too);
    tcase_add_test(exact, what_has_no_extent_is_a_point_an_edge_a_face);
    tcase_add_test(exact, numbers_that_make_no_sense_are_told);
    tcase_add_test(exact, memory_does_not_change_the_answer);
    tcase_add_test(exact, reach_gives_a_bound);
    tcase_add_loop_test(exact, manifolds_are_what_the_faces_have_in_common, 0,
                        sizeof rests / sizeof *rests);
    tcase_add_test(exact, round_sides_rest_on_two_points);
    tcase_add_test(exact, manifold_points_are_on_the_shapes);
    tcase_add_loop_test(exact, what_rests_a_little_out_of_line_has_all_its_points, 0,
                        sizeof resting_pairs / sizeof *resting_pairs);
    tcase_add_test(exact, links_find_what_a_look_at_everything_does);
    tcase_add_test(exact, cylinders_in_line_come_apart);
    tcase_add_test(exact, overlaps_are_all_there_are);
    suite_add_tcase(suite, exact);
    return run_suite(suite);
}
