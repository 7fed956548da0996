// The points at which the two features of a slab come nearest.
#include <float.h>
#include <math.h>

#include "linalg.h"
#include "slab.h"
#include "tolerances.h"

// Parts of the edges of one side, an edge or a face, at which it comes nearest to a vertex of the
// other: within the edge, or the triangle of the face. c: from there to the vertex.
static void find_parts_of_face(const double (*edge)[3], int edges, const double c[3], double t[2])
{
    double a = dot3(edge[0], edge[0]), u = dot3(c, edge[0]), v = 0;
    if (edges == 2) {
        double aside[3];
        memcpy(aside, edge[1], sizeof aside);
        add_scaled(aside, -dot3(edge[0], edge[1]) / a, edge[0], 3);
        add_scaled(aside, -dot3(edge[0], aside) / a, edge[0], 3); // what rounding left
        double b = dot3(aside, aside);
        v = b > 0 ? dot3(c, aside) / b : 0;
        u -= v * dot3(edge[0], edge[1]);
    }
    u = clamp(u / a, 0, 1);
    v = clamp(v, 0, 1);
    const double over = fmax(1, u + v);
    t[0] = u / over;
    t[1] = v / over;
}

// Parts of an edge of either side at which they come nearest to one another. c: from the start of
// the first to that of the second. Nearly parallel edges cross at no exact point: projects in turn.
static void find_parts_of_edges(const double (*edge)[3], const double c[3], double t[2])
{
    double cross[3], lever[3];
    cross3(edge[0], edge[1], cross);
    cross3(c, edge[1], lever);
    double across = dot3(cross, cross);
    t[0] = clamp(across > 0 ? dot3(lever, cross) / across : 0.5, 0, 1);
    for (int i = 1; i < 4; i++) {
        int to = i & 1;
        double r[3];
        memcpy(r, c, sizeof r);
        add_scaled(r, to ? -t[0] : t[1], edge[!to], 3);
        t[to] = clamp((to ? -1 : 1) * dot3(r, edge[to]) / dot3(edge[to], edge[to]), 0, 1);
    }
}

// The nearest points of two features with edges: along the edges up to where the rest of the
// distance is along the normal.
static void smooth_points(const sprag_slab_hull hull[2], const sprag_slab *best, double point[2][3])
{
    double edge[4][3], c[3], t[2];
    const sprag_slab_feature *f = best->feature;
    int first = sprag_slab_edges(&hull[0], &f[0], edge), edges = first;
    edges += sprag_slab_edges(&hull[1], &f[1], edge + first);
    for (int side = 0; side < 2; side++) {
        double p[3];
        memcpy(point[side], hull[side].at[f[side].pick[0]], sizeof point[side]);
        sprag_slab_radial(&hull[side], best->normal, p);
        add_scaled(point[side], side ? hull[side].radius : -hull[side].radius, p, 3);
    }
    if (edges == 2 && first == 1) {
        subtract3(point[1], point[0], c);
        find_parts_of_edges((const double(*)[3])edge, c, t);
    } else if (edges > 0) {
        subtract3(point[first > 0], point[first == 0], c);
        find_parts_of_face((const double(*)[3])edge, edges, c, t);
    }
    for (int i = 0; i < edges; i++) {
        add_scaled(point[i >= first], t[i], edge[i], 3);
    }
}

// A cap and a core that touches it: the nearest points of the core's front to the cap's centre, and
// the point of the cap next to it.
static void cap_points(const sprag_slab_hull hull[2], const sprag_slab *best, double size,
                       double point[2][3])
{
    const double *n = best->normal;
    int cap = fabs(dot3(hull[0].axis, n)) > 1 - DBL_EPSILON * 8 ? 0 : 1;
    const sprag_slab_hull *disc = &hull[cap], *other = &hull[!cap];
    double sign = cap ? 1 : -1, p[3]; // the cap looks along sign n
    int top = disc->count > 1 && sign * dot3(n, disc->at[1]) > sign * dot3(n, disc->at[0]);
    bool flat = sprag_slab_radial(other, n, p) < SPRAG_SLAB_AT_AXIS; // two caps, or no cylinder
    double extreme = -INFINITY;
    for (int i = 0; i < other->count; i++) {
        extreme = fmax(extreme, -sign * dot3(n, other->at[i]));
    }
    sprag_simplex s = {0};
    for (int i = 0; i < other->count && s.count < 3; i++) {
        double at[3];
        memcpy(at, other->at[i], sizeof at);
        if (-sign * dot3(n, at) < extreme - 64 * DBL_EPSILON * size) {
            continue;
        }
        if (!flat) {
            add_scaled(at, -sign * other->radius, p, 3);
        }
        sprag_pair_vertex *v = &s.vertex[s.count++];
        memcpy(v->point[0], at, sizeof at);
        subtract3(at, disc->at[top], v->at);
        add_scaled(v->at, -dot3(n, v->at), n, 3);
    }
    double across[3], on[2][3];
    sprag_simplex_nearest(&s, across);
    sprag_simplex_points(&s, on);
    double far = norm3(across);
    if (flat && far > 0) { // two discs: move to the middle of their overlap
        double pull = fmin(other->radius, far) / far;
        add_scaled(on[0], -pull, across, 3);
        add_scaled(across, -pull, across, 3);
    }
    far = norm3(across);
    memcpy(point[!cap], on[0], sizeof on[0]);
    memcpy(point[cap], disc->at[top], sizeof on[0]);
    if (far > 0) {
        add_scaled(point[cap], fmin(disc->radius, far) / far, across, 3);
    }
}

double sprag_slab_points(const sprag_slab_hull hull[2], const sprag_slab *c, double size,
                         double point[2][3])
{
    double off[3];
    if (c->feature[0].count) {
        smooth_points(hull, c, point);
    } else {
        cap_points(hull, c, size, point);
    }
    subtract3(point[0], point[1], off);
    add_scaled(off, -c->height, c->normal, 3);
    return norm3(off);
}
