// Supports and separations of shapes by all their vertices, and bounds of distances that they give.
#ifndef TEST_SHAPE_BOUNDS_H
#define TEST_SHAPE_BOUNDS_H

#include "shape_pairs.h"

static long pairs, misses, astray; // counted by check_near

// ---- supports, by all vertices

typedef struct skeleton { // of the core
    int vertices, edges, faces;
    real vertex[VERTICES_MAX][3], edge[EDGES_MAX][3], face[FACES_MAX][3]; // world
    real radius;                                                          // round about it
    bool cylinder;
    real axis[3], half, rim;
} skeleton;

static inline void skeleton_of(const thing *t, skeleton *k)
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

static inline real farthest(const skeleton *k, const real *n)
{
    real most = -INFINITY, across[3];
    for (int i = 0; i < k->vertices; i++) {
        most = fmaxl(most, dot(n, k->vertex[i]));
    }
    cross(n, k->axis, across);
    return most + k->radius + k->rim * length(across) / (k->rim > 0 ? length(k->axis) : 1);
}

// min n.a - max n.b, of the shapes
static inline real separation(const skeleton k[2], const real *n)
{
    const real against[3] = {-n[0], -n[1], -n[2]};
    return -farthest(&k[0], against) - farthest(&k[1], n);
}

// ---- overlap

static inline void raise_to(const skeleton k[2], const real *n, real *best)
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
static inline void scan_circle(const skeleton k[2], const real *e, real *best)
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
static inline void scan_sphere(const skeleton k[2], real *best)
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

static inline real best_separation(const skeleton k[2])
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

// Returns a lower bound of the distance from a point outside to the shape; 0 on the shape, up to
// rounding.
static inline real outside(const thing *t, const skeleton *k, const double *x)
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

static inline void put_near(thing t[2], double nearness)
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
static inline void check_near(const thing t[2], const char *what, bool brute)
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
    // Uncertainty of the points that belong to a normal: corners slide.
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

// ---- manifolds

// Area of the polygon that the points make, seen along the normal.
static inline double area_of(const sprag_manifold *m, const double *normal)
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

// ---- rest: what lies, stands or leans on each other, a little out of line

static inline void multiply(const real A[3][3], const real B[3][3], real C[3][3])
{
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            C[i][j] = A[i][0] * B[0][j] + A[i][1] * B[1][j] + A[i][2] * B[2][j];
        }
    }
}

static inline void about(int axis, real angle, real R[3][3])
{
    int j = (axis + 1) % 3, k = (axis + 2) % 3;
    memset(R, 0, 9 * sizeof(real));
    R[axis][axis] = 1;
    R[j][j] = R[k][k] = cosl(angle);
    R[k][j] = sinl(angle);
    R[j][k] = -sinl(angle);
}

#endif
