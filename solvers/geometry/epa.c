// The growing polytope: facets and horizons. Facets converge slowly to the curved surface that a
// cylinder gives the difference, so a facet near that surface is refined by cylinders.h to the
// local maximum there.
#include "epa.h"

#include <float.h>
#include <math.h>

#include "cylinders.h"
#include "linalg.h"
#include "tolerances.h"

typedef struct facet {
    int vertex[3];    // counter-clockwise seen from outside
    double normal[3]; // unit, outwards
    double distance;  // m, of its plane from the origin; INFINITY: it has no area and only closes
                      // the surface
    bool settled;     // the surface behind it has been refined
} facet;

typedef struct hull {
    int vertices, facets;
    sprag_pair_vertex vertex[SPRAG_EPA_VERTICES];
    facet facet[SPRAG_EPA_FACETS];
} hull;

typedef struct edge {
    int from, to;
} edge;

static void add_facet(hull *h, int i, int j, int k)
{
    facet *f = &h->facet[h->facets++];
    double e[3], g[3], direction[3];
    const double *p = h->vertex[i].at;
    subtract3(h->vertex[j].at, p, e);
    subtract3(h->vertex[k].at, p, g);
    cross3(e, g, direction);
    *f = (facet){.vertex = {i, j, k}, .distance = INFINITY};
    if (sprag_across(e, g, f->normal)) {
        f->distance = fmin(dot3(f->normal, p), fmin(dot3(f->normal, h->vertex[j].at),
                                                    dot3(f->normal, h->vertex[k].at)));
    }
}

// ---- the first tetrahedron

static double distance_to_span(const hull *h, const sprag_pair_vertex *v)
{
    double e[3], f[3], g[3], n[3];
    subtract3(v->at, h->vertex[0].at, g);
    if (h->vertices == 1) {
        return norm3(g);
    }
    subtract3(h->vertex[1].at, h->vertex[0].at, e);
    if (h->vertices == 2) {
        add_scaled(g, -dot3(g, e) / dot3(e, e), e, 3);
        return norm3(g);
    }
    subtract3(h->vertex[2].at, h->vertex[0].at, f);
    return sprag_across(e, f, n) ? fabs(dot3(n, g)) : 0;
}

// Adds the support vertex along +-direction that is farthest from the span of the vertices so far.
// false: all are in the span.
static bool add_farthest(const sprag_core core[2], const double (*direction)[3], int directions,
                         double size, hull *h)
{
    double farthest = 64 * DBL_EPSILON * size;
    bool found = false;
    for (int i = 0; i < 2 * directions; i++) {
        double d[3] = {0};
        sprag_pair_vertex v;
        add_scaled(d, i & 1 ? -1 : 1, direction[i / 2], 3);
        sprag_pair_support(core, d, &v);
        double far = distance_to_span(h, &v);
        if (far > farthest) {
            farthest = far;
            h->vertex[h->vertices] = v;
            found = true;
        }
    }
    h->vertices += found;
    return found;
}

// Finds four vertices that span a volume. false: the difference has none; `flat` is then a
// direction across it.
static bool find_tetrahedron(const sprag_core core[2], const sprag_simplex *simplex, double size,
                             hull *h, double flat[3])
{
    const double axes[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    double e[3], f[3], d[2][3];
    h->vertices = h->facets = 0;
    for (int i = 0; i < simplex->count; i++) {
        if (!i || distance_to_span(h, &simplex->vertex[i]) > 64 * DBL_EPSILON * size) {
            h->vertex[h->vertices++] = simplex->vertex[i];
        }
    }
    memcpy(flat, axes[2], sizeof axes[2]);
    if (!h->vertices) {
        sprag_pair_support(core, flat, &h->vertex[h->vertices++]);
    }
    if (h->vertices == 1 && !add_farthest(core, axes, 3, size, h)) {
        return false;
    }
    subtract3(h->vertex[1].at, h->vertex[0].at, e);
    sprag_any_across(e, d[0]);
    cross3(e, d[0], d[1]);
    normalise3(d[1]);
    memcpy(flat, d[0], sizeof d[0]);
    if (h->vertices == 2 && !add_farthest(core, (const double(*)[3])d, 2, size, h)) {
        return false;
    }
    subtract3(h->vertex[2].at, h->vertex[0].at, f);
    sprag_across(e, f, d[0]);
    memcpy(flat, d[0], sizeof d[0]);
    return h->vertices > 3 || add_farthest(core, (const double(*)[3])d, 1, size, h);
}

static void close_tetrahedron(hull *h)
{
    double e[3], f[3], g[3], n[3];
    subtract3(h->vertex[1].at, h->vertex[0].at, e);
    subtract3(h->vertex[2].at, h->vertex[0].at, f);
    subtract3(h->vertex[3].at, h->vertex[0].at, g);
    cross3(e, f, n);
    if (dot3(n, g) > 0) { // the fourth vertex must be below the first three
        sprag_pair_vertex swapped = h->vertex[1];
        h->vertex[1] = h->vertex[2];
        h->vertex[2] = swapped;
    }
    add_facet(h, 0, 1, 2);
    add_facet(h, 0, 3, 1);
    add_facet(h, 1, 3, 2);
    add_facet(h, 2, 3, 0);
}

// ---- growth

static void add_edge(edge *horizon, int *count, int from, int to)
{
    for (int i = 0; i < *count; i++) {
        if (horizon[i].from == to && horizon[i].to == from) {
            horizon[i] = horizon[--*count];
            return;
        }
    }
    if (*count < SPRAG_EPA_FACETS) {
        horizon[(*count)++] = (edge){from, to};
    }
}

static bool share_an_edge(const facet *f, const facet *g)
{
    int shared = 0;
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) {
            shared += f->vertex[i] == g->vertex[k];
        }
    }
    return shared > 1;
}

// Marks the facets that the vertex is in front of, and those next to them that have it in their
// plane or have no area: the facets taken away must leave one hole. Returns their number.
static int facets_that_see(const hull *h, const sprag_pair_vertex *v, double tolerance, bool *sees)
{
    int flat[SPRAG_EPA_FACETS], flats = 0, seen[SPRAG_EPA_FACETS], count = 0;
    for (int i = 0; i < h->facets; i++) {
        const facet *f = &h->facet[i];
        double above = f->distance < INFINITY ? dot3(f->normal, v->at) - f->distance : 0;
        sees[i] = above > tolerance;
        if (sees[i]) {
            seen[count++] = i;
        } else if (above > -tolerance) {
            flat[flats++] = i;
        }
    }
    for (int k = 0; k < count; k++) { // the list grows during this loop
        for (int m = 0; m < flats; m++) {
            if (!sees[flat[m]] && share_an_edge(&h->facet[seen[k]], &h->facet[flat[m]])) {
                sees[flat[m]] = true;
                seen[count++] = flat[m];
            }
        }
    }
    return count;
}

// Removes the facets that see the vertex and closes the hole with facets to it. false: no facet
// sees it, or the arrays are full.
static bool grow(hull *h, const sprag_pair_vertex *v, double tolerance)
{
    static const int after[3] = {1, 2, 0};
    edge horizon[SPRAG_EPA_FACETS];
    bool sees[SPRAG_EPA_FACETS];
    int edges = 0, left = 0;
    if (h->vertices == SPRAG_EPA_VERTICES || !facets_that_see(h, v, tolerance, sees)) {
        return false;
    }
    for (int i = 0; i < h->facets; i++) {
        const facet *f = &h->facet[i];
        if (sees[i]) {
            for (int k = 0; k < 3; k++) {
                add_edge(horizon, &edges, f->vertex[k], f->vertex[after[k]]);
            }
        } else {
            h->facet[left++] = *f;
        }
    }
    if (left + edges > SPRAG_EPA_FACETS) {
        return false;
    }
    h->facets = left;
    h->vertex[h->vertices] = *v;
    for (int i = 0; i < edges; i++) {
        add_facet(h, horizon[i].from, horizon[i].to, h->vertices);
    }
    h->vertices++;
    return true;
}

static facet *nearest_facet(hull *h)
{
    facet *found = NULL;
    for (int i = 0; i < h->facets; i++) {
        facet *f = &h->facet[i];
        if (f->distance < INFINITY && !f->settled && (!found || f->distance < found->distance)) {
            found = f;
        }
    }
    return found;
}

// ---- the search

// The points of the cores at the origin's projection onto a facet. Returns the distance (m) of the
// projection from the facet.
static double facet_points(const hull *h, const facet *f, double point[2][3])
{
    sprag_simplex s = {.count = 3};
    double at[3];
    for (int k = 0; k < 3; k++) {
        s.vertex[k] = h->vertex[f->vertex[k]];
        double height = dot3(f->normal, s.vertex[k].at);
        add_scaled(s.vertex[k].at, -height, f->normal, 3);
    }
    sprag_simplex_nearest(&s, at);
    sprag_simplex_points(&s, point);
    return norm3(at);
}

// The points at the origin's projection onto the nearest plane, by the one of its facets that has
// it.
static void foot_points(const hull *h, double distance, double point[2][3])
{
    double least = INFINITY;
    for (int i = 0; i < h->facets && least > 0; i++) {
        double on[2][3];
        if (h->facet[i].distance <= distance) {
            double off = facet_points(h, &h->facet[i], on);
            if (off < least) {
                least = off;
                memcpy(point, on, sizeof on);
            }
        }
    }
}

// Refines a facet near a curved surface. false: it does not converge.

static bool refine(const sprag_core core[2], const hull *h, const facet *f, double size,
                   sprag_cylinders *found)
{
    sprag_pair_vertex corner[3];
    for (int k = 0; k < 3; k++) {
        corner[k] = h->vertex[f->vertex[k]];
        found->normal[k] = found->near[k] = -f->normal[k];
    }
    found->cosine = SPRAG_EPA_AROUND;
    sprag_cylinders_separate(core, corner, 3, size, found);
    return found->closed;
}

void sprag_epa_find(const sprag_core core[2], const sprag_simplex *simplex, double size,
                    sprag_epa *epa)
{
    bool curved = core[0].shape->kind == SPRAG_CYLINDER || core[1].shape->kind == SPRAG_CYLINDER;
    bool refined = false;
    double rounding = 16 * DBL_EPSILON * size;
    hull h;
    sprag_pair_vertex v;
    sprag_cylinders found = {.work = 0};
    epa->error = 0;
    epa->work = 0;
    if (!find_tetrahedron(core, simplex, size, &h, epa->normal)) {
        epa->bound = sprag_pair_support(core, epa->normal, &v);
        sprag_simplex touching = *simplex;
        double at[3];
        if (touching.count && sprag_simplex_nearest(&touching, at)) {
            sprag_simplex_points(&touching, epa->point);
        } else {
            memcpy(epa->point, v.point, sizeof v.point);
        }
        return;
    }
    close_tetrahedron(&h);
    epa->bound = -INFINITY;
    for (facet *f; (f = nearest_facet(&h));) {
        epa->work += h.facets;
        const double inwards[3] = {-f->normal[0], -f->normal[1], -f->normal[2]};
        double bound = sprag_pair_support(core, inwards, &v), off = -bound - f->distance;
        if (bound > epa->bound) {
            epa->bound = bound;
            memcpy(epa->normal, inwards, sizeof inwards);
            refined = false;
        }
        epa->error = fmax(0, -epa->bound - f->distance);
        if (epa->error <= rounding) {
            break;
        }
        if (curved && off < SPRAG_EPA_NEAR * size && refine(core, &h, f, size, &found)) {
            f->settled = true;
            if (found.bound >= epa->bound) {
                epa->bound = found.bound;
                memcpy(epa->normal, found.normal, sizeof found.normal);
                memcpy(epa->point, found.point, sizeof found.point);
                refined = true;
            }
            epa->error = found.error;
        } else if (!grow(&h, &v, 4 * rounding)) {
            break;
        }
    }
    epa->work += found.work;
    if (!refined) {
        foot_points(&h, rounding - epa->bound, epa->point);
    }
}
