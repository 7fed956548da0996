// The search, and the nearest point of a simplex: that of the faces, edges and vertices whose
// Voronoi region holds the origin (Ericson: Real-Time Collision Detection, 5.1).
#include "gjk.h"

#include <float.h>
#include <math.h>
#include <stddef.h>

#include "linalg.h"
#include "tolerances.h"

double sprag_pair_support(const sprag_core core[2], const double direction[3],
                          sprag_pair_vertex *vertex)
{
    const double against[3] = {-direction[0], -direction[1], -direction[2]};
    vertex->id[0] = sprag_core_support(&core[0], against, vertex->point[0]);
    vertex->id[1] = sprag_core_support(&core[1], direction, vertex->point[1]);
    subtract3(vertex->point[0], vertex->point[1], vertex->at);
    return sprag_pair_height(vertex, direction);
}

// ---- nearest point of a simplex

typedef struct nearest {
    double squared; // m^2
    double at[3];
    int count, pick[3];
    double weight[3];
} nearest;

static void keep_if_nearer(nearest *best, const double at[3], int count, const int *pick,
                           const double *weight)
{
    double squared = dot3(at, at);
    if (squared < best->squared) {
        best->squared = squared;
        memcpy(best->at, at, sizeof best->at);
        best->count = count;
        memcpy(best->pick, pick, (size_t)count * sizeof *pick);
        memcpy(best->weight, weight, (size_t)count * sizeof *weight);
    }
}

static void try_vertex(const sprag_simplex *s, int i, nearest *best)
{
    keep_if_nearer(best, s->vertex[i].at, 1, &i, &(double){1});
}

static void try_edge(const sprag_simplex *s, int i, int j, nearest *best)
{
    const double *p = s->vertex[i].at, *q = s->vertex[j].at;
    double e[3], at[3];
    subtract3(q, p, e);
    double to_p = dot3(q, e), to_q = -dot3(p, e);
    if (!(to_q > 0)) {
        try_vertex(s, i, best);
    } else if (!(to_p > 0)) {
        try_vertex(s, j, best);
    } else {
        double ee = dot3(e, e), t = to_q / ee;
        const double *base = t < 0.5 ? p : q;
        memcpy(at, base, sizeof at);
        add_scaled(at, -dot3(base, e) / ee, e, 3);
        add_scaled(at, -dot3(at, e) / ee, e,
                   3); // the result may be small: make it orthogonal again
        keep_if_nearer(best, at, 2, (int[]){i, j}, (double[]){1 - t, t});
    }
}

static void try_face(const sprag_simplex *s, int i, int j, int k, nearest *best)
{
    const int corner[3] = {i, j, k};
    double e[3][3], normal[3], weight[3], sum = 0;
    for (int c = 0; c < 3; c++) { // the edge opposite to corner c
        subtract3(s->vertex[corner[(c + 2) % 3]].at, s->vertex[corner[(c + 1) % 3]].at, e[c]);
    }
    bool flat = !sprag_across(e[1], e[2], normal), outside = flat;
    for (int c = 0; c < 3 && !flat; c++) {
        double outwards[3];
        cross3(e[c], normal, outwards);
        weight[c] = dot3(outwards, s->vertex[corner[(c + 1) % 3]].at);
        outside |= weight[c] < 0;
        sum += weight[c];
    }
    if (outside) {
        for (int c = 0; c < 3; c++) {
            if (flat || weight[c] < 0) {
                try_edge(s, corner[(c + 1) % 3], corner[(c + 2) % 3], best);
            }
        }
        return;
    }
    double height = INFINITY, at[3];
    for (int c = 0; c < 3; c++) {
        double h = dot3(normal, s->vertex[corner[c]].at);
        height = fabs(h) < fabs(height) ? h : height;
        weight[c] = sum > 0 ? weight[c] / sum : c == 0;
    }
    for (int c = 0; c < 3; c++) {
        at[c] = height * normal[c];
    }
    keep_if_nearer(best, at, 3, corner, weight);
}

// Tries each face that separates the origin from the fourth vertex; all faces if the four vertices
// are flat. false: none does, the origin is inside.
static bool try_faces(const sprag_simplex *s, nearest *best)
{
    static const int face[4][4] = {{0, 1, 2, 3}, {0, 3, 1, 2}, {0, 2, 3, 1}, {1, 3, 2, 0}};
    bool outside = false;
    for (int f = 0; f < 4; f++) {
        const double *p = s->vertex[face[f][0]].at;
        double e[3], g[3], to_fourth[3], normal[3];
        subtract3(s->vertex[face[f][1]].at, p, e);
        subtract3(s->vertex[face[f][2]].at, p, g);
        subtract3(s->vertex[face[f][3]].at, p, to_fourth);
        cross3(e, g, normal);
        double fourth = dot3(normal, to_fourth), origin = -dot3(normal, p);
        double rounding = 8 * DBL_EPSILON * norm3(normal) * (norm3(to_fourth) + norm3(p));
        if (!(fabs(fourth) > rounding) || !(fourth > 0 ? origin > 0 : origin < 0)) {
            outside = true;
            try_face(s, face[f][0], face[f][1], face[f][2], best);
        }
    }
    return outside;
}

bool sprag_simplex_nearest(sprag_simplex *s, double at[3])
{
    nearest best = {.squared = INFINITY};
    switch (s->count) {
    case 1:
        try_vertex(s, 0, &best);
        break;
    case 2:
        try_edge(s, 0, 1, &best);
        break;
    case 3:
        try_face(s, 0, 1, 2, &best);
        break;
    default:
        if (!try_faces(s, &best)) {
            return false;
        }
    }
    int left = 0;
    bool needed[4] = {false, false, false, false};
    for (int i = 0; i < best.count; i++) {
        needed[best.pick[i]] = true;
        s->weight[best.pick[i]] = best.weight[i];
    }
    for (int i = 0; i < s->count; i++) {
        if (needed[i] && left < i) {
            s->vertex[left] = s->vertex[i];
            s->weight[left] = s->weight[i];
        }
        left += needed[i];
    }
    s->count = left;
    memcpy(at, best.at, sizeof best.at);
    return true;
}

void sprag_simplex_points(const sprag_simplex *s, double point[2][3])
{
    memset(point, 0, 2 * sizeof *point);
    for (int i = 0; i < s->count; i++) {
        add_scaled(point[0], s->weight[i], s->vertex[i].point[0], 3);
        add_scaled(point[1], s->weight[i], s->vertex[i].point[1], 3);
    }
}

void sprag_simplex_normal(const sprag_core core[2], const sprag_simplex *s, double normal[3])
{
    double e[2][3], at[3] = {s->vertex[0].at[0], s->vertex[0].at[1], s->vertex[0].at[2]}, n[3];
    for (int i = 1; i < s->count && i < 3; i++) {
        memset(e[i - 1], 0, sizeof e[0]);
        for (int side = 0; side < 2; side++) {
            const sprag_core centred = {core[side].shape, core[side].rotation, {0, 0, 0}, NULL};
            for (int end = 0; end < 2; end++) {
                double point[3];
                int id = s->vertex[end ? i : 0].id[side];
                if (id == SPRAG_NO_VERTEX) {
                    return;
                }
                sprag_core_vertex(&centred, id, point);
                add_scaled(e[i - 1], end == side ? -1 : 1, point, 3);
            }
        }
    }
    if (s->count == 3 && sprag_across(e[0], e[1], n)) {
        memcpy(at, n, sizeof at);
    } else if (s->count == 2) {
        double ee = dot3(e[0], e[0]);
        for (int i = 0; i < 2; i++) {
            add_scaled(at, -dot3(at, e[0]) / ee, e[0], 3);
        }
    } else if (s->count != 1) {
        return;
    }
    if (normalise3(at)) {
        const double sign = copysign(1, dot3(at, normal));
        for (int k = 0; k < 3; k++) {
            normal[k] = sign * at[k];
        }
    }
}

// ---- the search

static void update_size(sprag_gjk *gjk, const sprag_pair_vertex *v)
{
    double size = gjk->size;
    for (int i = 0; i < 6; i++) {
        double x = fabs(v->point[i / 3][i % 3]);
        size = x > size ? x : size;
    }
    gjk->size = size;
}

static void start_simplex(const sprag_core core[2], sprag_gjk *gjk)
{
    sprag_simplex *s = &gjk->simplex;
    gjk->bound = -INFINITY;
    gjk->distance = INFINITY;
    gjk->size = 0;
    int known = 0;
    for (int i = 0; i < s->count && i < 4; i++) {
        sprag_pair_vertex *v = &s->vertex[i];
        bool usable = true;
        for (int side = 0; side < 2 && usable; side++) {
            usable = v->id[side] >= 0 && v->id[side] < sprag_core_vertices(&core[side]);
            if (usable) {
                sprag_core_vertex(&core[side], v->id[side], v->point[side]);
            }
        }
        if (usable) {
            subtract3(v->point[0], v->point[1], v->at);
            update_size(gjk, v);
            s->vertex[known++] = *v;
        }
    }
    s->count = known;
    if (!known) {
        double none = dot3(gjk->normal, gjk->normal);
        if (!(none > 0) || !isfinite(none)) {
            memcpy(gjk->normal, (double[3]){0, 0, 1}, sizeof gjk->normal);
        }
        sprag_pair_support(core, gjk->normal, &s->vertex[0]);
        update_size(gjk, &s->vertex[0]);
        s->count = 1;
    }
}

static bool contains(const sprag_simplex *s, const sprag_pair_vertex *v)
{
    for (int i = 0; i < s->count; i++) {
        if (v->id[0] != SPRAG_NO_VERTEX && v->id[1] != SPRAG_NO_VERTEX
                ? s->vertex[i].id[0] == v->id[0] && s->vertex[i].id[1] == v->id[1]
                : !memcmp(s->vertex[i].at, v->at, sizeof v->at)) {
            return true;
        }
    }
    return false;
}

sprag_gjk_end sprag_gjk_find(const sprag_core core[2], double reach, sprag_gjk *gjk)
{
    bool curved = core[0].shape->kind == SPRAG_CYLINDER || core[1].shape->kind == SPRAG_CYLINDER;
    int most = curved ? SPRAG_GJK_CURVED : SPRAG_GJK_ITERATIONS;
    int turns = 0;
    sprag_simplex best = {.count = 0}; // that of the normal, once the bounds agree
    start_simplex(core, gjk);
    for (gjk->steps = 0; gjk->steps < most; gjk->steps++) {
        double at[3];
        sprag_pair_vertex v;
        if (!sprag_simplex_nearest(&gjk->simplex, at)) {
            if (gjk->bound > 0) { // the cores are apart: the four vertices are flat to rounding
                gjk->simplex.count--;
                break;
            }
            return SPRAG_GJK_INSIDE;
        }
        double distance = norm3(at);
        const double nearest[3] = {at[0], at[1], at[2]};
        bool closer = distance < gjk->distance;
        gjk->distance = distance;
        if (!normalise3(at)) {
            return SPRAG_GJK_INSIDE;
        }
        double bound = sprag_pair_support(core, at, &v);
        update_size(gjk, &v);
        double rounding = 16 * DBL_EPSILON * gjk->size;
        if (bound > gjk->bound - rounding) { // of equal bounds the last has the best direction
            gjk->bound = bound > gjk->bound ? bound : gjk->bound;
            memcpy(gjk->normal, at, sizeof at);
            if (distance - bound <= rounding) {
                best = gjk->simplex;
            }
        }
        if (gjk->bound > reach) {
            return SPRAG_GJK_BEYOND;
        }
        // The bounds may agree to rounding when the direction is exact to half the digits only: the
        // new vertex turns it by off / |aside|.
        double aside[3], off = distance - bound;
        subtract3(v.at, nearest, aside);
        double turn = SPRAG_GJK_TURN * norm3(aside);
        if (off <= rounding && rounding <= turn) {
            return SPRAG_GJK_APART;
        }
        bool turning = off <= rounding && turns++ < SPRAG_GJK_TURNS;
        if ((!closer && !turning) || contains(&gjk->simplex, &v)) {
            break;
        }
        gjk->simplex.weight[gjk->simplex.count] = 0;
        gjk->simplex.vertex[gjk->simplex.count++] = v;
    }
    if (best.count) { // later simplices are as near to rounding, but worse
        gjk->simplex = best;
    }
    return SPRAG_GJK_NEAR;
}
