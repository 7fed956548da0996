// The plane across two edges: its normal N = eA x eB turns with both. In the axes of shape 0, where
// eB and its points turn by the difference of the spins, with y = x1 - x0,
//
//     N.(pA - pB) = -eB.((y - rA) x eA) - eA.(eB x rB)       eB x rB turns as a whole
//
// must stay above level |N|, |N|^2 = 1 - (eA.eB)^2, and all other vertices on their own sides: N.(a
// - rA) = eB.((a - rA) x eA) >= 0, and N.(rB - b) = -(eB x (b - rB)).eA' >= 0 where eA' is the
// first edge as the second shape sees it. The ends of the edges are skipped by their numbers, not
// by their heights. A capsule's segment and a cylinder's axis are edges with a radius.
#include "toi_pair.h"

// m, about an edge of the shape.
static double radius_of(const sprag_shape *shape)
{
    return shape->kind == SPRAG_CAPSULE || shape->kind == SPRAG_CYLINDER ? shape->radius : 0;
}

typedef struct edge {
    double r[3], e[3]; // of one end: m, relative to x; unit direction: in world axes
    double length;     // m; INFINITY: an axis without ends
} edge;

// An edge at the start of the expansion.
static void find_edge(const sprag_side *side, const int end[2], edge *to)
{
    double from[3], along[3] = {0, 0, 1};
    sprag_side_vertex(side, end[0], from);
    mul33(side->now.rotation, from, to->r);
    if (end[0] != SPRAG_NO_VERTEX) {
        sprag_side_vertex(side, end[1], along);
        subtract3(along, from, along);
    }
    mul33(side->now.rotation, along, to->e);
    to->length = end[0] == SPRAG_NO_VERTEX ? INFINITY : norm3(along);
    normalise3(to->e);
}

static void find_edges(const sprag_approach *a, const sprag_plane *plane, edge of[2])
{
    for (int b = 0; b < 2; b++) {
        find_edge(&a->side[b], plane->end[b], &of[b]);
    }
}

// m, from a point of the second edge to one of the first.
static void find_way(const sprag_approach *a, const edge *first, const edge *second, double way[3])
{
    subtract3(a->side[0].now.position, a->side[1].now.position, way);
    add_scaled(way, 1, first->r, 3);
    add_scaled(way, -1, second->r, 3);
}

static void dot_series(const sprag_series3 *f, const sprag_series3 *g, sprag_series *fg)
{
    memset(fg, 0, sizeof *fg);
    for (int i = 0; i < 3; i++) {
        const sprag_series x = sprag_series_component(f, i), y = sprag_series_component(g, i);
        sprag_series product;
        sprag_series_multiply(&x, &y, &product);
        sprag_series_add(fg, 1, &product);
    }
}

// The part of the expansion, at most `until`, during which the vertices of side b stay on their own
// side. own: its edge. other: the other edge as b sees it (world axes at the start).
static double safe_part_behind(const sprag_approach *a, sprag_plane *plane, int b, const edge *own,
                               const sprag_series3 *other, double until)
{
    const sprag_side *side = &a->side[b];
    sprag_series3 m = {.remainder = other->remainder};
    double r[3];
    for (int k = 0; k < SPRAG_TERMS; k++) { // (g x e).other = g.(e x other)
        double world[3], local[3];
        cross3(own->e, other->c[k], world);
        mul33_transposed(side->now.rotation, world, local);
        add_scaled(m.c[k], plane->sign, local, 3);
    }
    mul33_transposed(side->now.rotation, own->r, r);
    sprag_series base = {.c = {SPRAG_TOI_SLACK * side->reach * norm3(m.c[0])}};
    sprag_series_dot(&base, -1, r, &m);
    const double before = until;
    until = sprag_vertices_safe_part(side, &m, &base, plane->end[b], until, plane->point[b]);
    if (until < before) {
        plane->side = b;
        sprag_side_vertex(&a->side[!b], plane->end[!b][0], plane->point[!b]);
    }
    return until;
}

// The two edges of a plane at the start of the expansion.
typedef struct crossing {
    edge of[2];
    double w[2][3];        // rad, by which the shapes turn within the expansion
    sprag_turning turning; // of shape 1 as shape 0 sees it
    sprag_series3 other;   // direction of the second edge as shape 0 sees it
} crossing;

static void set_crossing(const sprag_approach *a, const sprag_plane *plane, crossing *c)
{
    find_edges(a, plane, c->of);
    for (int b = 0; b < 2; b++) {
        scale3(a->length, a->side[b].motion.velocity + 3, c->w[b]);
    }
    sprag_turning_set(c->w[1], c->w[0], &c->turning);
    sprag_turning_apply(&c->turning, c->of[1].e, &c->other);
}

// The distance of the edges, m, times |N|.
static void separation(const sprag_approach *a, const crossing *c, double sign, sprag_series *f)
{
    const sprag_side *side = a->side;
    double k[3], d[3], v[3], to[3];
    subtract3(side[1].now.position, side[0].now.position, to);
    subtract3(to, c->of[0].r, d);
    for (int i = 0; i < 3; i++) {
        v[i] = a->length * (side[1].motion.velocity[i] - side[0].motion.velocity[i]);
    }
    // y - rA: y turns with shape 0, in which rA is constant.
    sprag_series3 line, kappa, crossed;
    sprag_series_line(to, v, c->w[0], &line);
    memcpy(line.c[0], d, sizeof d);
    cross3(c->of[1].e, c->of[1].r, k);
    sprag_turning_apply(&c->turning, k, &kappa);
    for (int i = 0; i < SPRAG_TERMS; i++) {
        cross3(line.c[i], c->of[0].e, crossed.c[i]);
    }
    crossed.remainder = line.remainder;
    dot_series(&c->other, &crossed, f);
    sprag_series_dot(f, 1, c->of[0].e, &kappa);
    for (int i = 0; i < SPRAG_TERMS; i++) {
        f->c[i] *= -sign;
    }
}

// |N|^2
static void square_normal(const crossing *c, sprag_series *q)
{
    sprag_series z = {.remainder = 0};
    sprag_series_dot(&z, 1, c->of[0].e, &c->other);
    sprag_series_multiply(&z, &z, q);
    for (int i = 0; i < SPRAG_TERMS; i++) {
        q->c[i] = (i == 0) - q->c[i];
    }
}

// The point where the first edge passes the second at the start, within its ends.
static void set_crossing_point(const sprag_approach *a, const crossing *c, sprag_plane *plane)
{
    const edge *first = &c->of[0], *second = &c->of[1];
    double n[3], way[3], across[3], at[3];
    plane->side = 0;
    cross3(first->e, second->e, n);
    if (isfinite(first->length) && dot3(n, n) > 0) {
        find_way(a, first, second, way);
        cross3(second->e, way, across);
        memcpy(at, first->r, sizeof at);
        add_scaled(at, clamp(dot3(across, n) / dot3(n, n), 0, first->length), first->e, 3);
        mul33_transposed(a->side[0].now.rotation, at, plane->point[0]);
    }
}

double sprag_crossing_safe_part(const sprag_approach *a, sprag_plane *plane)
{
    const sprag_side *side = a->side;
    crossing c;
    sprag_series f, q, root;
    set_crossing(a, plane, &c);
    separation(a, &c, plane->sign, &f);
    square_normal(&c, &q);
    for (int b = 0; b < 2; b++) {
        mul33_transposed(side[b].now.rotation, c.of[b].r, plane->point[b]);
    }
    double radii = radius_of(side[0].core.shape) + radius_of(side[1].core.shape);
    if (!sprag_series_root(&q, &root)) {
        if (radii > 0) {
            return 0;
        }
        root = (sprag_series){.c = {1}};
    }
    sprag_series_add(&f, -a->level - radii, &root);
    double until = sprag_series_positive(&f, 1);
    if (until < 1) {
        set_crossing_point(a, &c, plane);
    }
    if (until > 0) { // e x other is along N for either: eA x eB, and eB x eA on the other side
        sprag_turning back;
        sprag_series3 alpha;
        sprag_turning_set(c.w[0], c.w[1], &back);
        sprag_turning_apply(&back, c.of[0].e, &alpha);
        until = safe_part_behind(a, plane, 0, &c.of[0], &c.other, until);
        until = safe_part_behind(a, plane, 1, &c.of[1], &alpha, until);
    }
    return until;
}

// ---- the edges that may cross

// Edges of the core that are farthest along a direction (world): all segments between the farthest
// vertices; one that is no edge fails because of the other vertices. Returns their number.
static int find_lowest(const sprag_side *side, const double down[3], int edge[SPRAG_TOI_EDGES][2])
{
    const int vertices = sprag_core_vertices(&side->core);
    double local[3], low[SPRAG_TOI_LOWEST];
    int vertex[SPRAG_TOI_LOWEST], count = 0, edges = 0;
    if (side->core.shape->kind == SPRAG_CYLINDER) {
        edge[0][0] = edge[0][1] = SPRAG_NO_VERTEX;
        return 1;
    }
    mul33_transposed(side->now.rotation, down, local);
    for (int i = 0; i < vertices; i++) {
        double r[3];
        sprag_side_vertex(side, i, r);
        int at =
            sprag_insert(low, &count, SPRAG_TOI_LOWEST, dot3(r, local), vertex, sizeof *vertex);
        if (at < SPRAG_TOI_LOWEST) {
            vertex[at] = i;
        }
    }
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < i; j++) {
            const int bits = vertex[i] ^ vertex[j]; // of a box: one along each axis
            if (side->core.shape->kind != SPRAG_BOX || (bits & (bits - 1)) == 0) {
                edge[edges][0] = vertex[j];
                edge[edges++][1] = vertex[i];
            }
        }
    }
    return edges;
}

bool sprag_crossing_normal(const sprag_approach *a, const sprag_plane *plane, double normal[3])
{
    edge of[2];
    const bool turned = plane->sign < 0;
    find_edges(a, plane, of);
    return sprag_across(of[turned].e, of[!turned].e, normal);
}

// Does the first edge pass the second one within its ends, seen along n, or by `room` (m) beside?
static bool reaches_across(const edge *first, const edge *second, const double way[3],
                           const double n[3], double room)
{
    double across[3];
    cross3(n, second->e, across);
    const double from = dot3(across, way), to = from + first->length * dot3(across, first->e);
    return isinf(first->length) || (fmin(from, to) <= room && fmax(from, to) >= -room);
}

int sprag_crossings_find(const sprag_approach *a, const double normal[3],
                         sprag_plane plane[SPRAG_CROSSINGS])
{
    const sprag_side *side = a->side;
    const double against[3] = {-normal[0], -normal[1], -normal[2]};
    const double radii = radius_of(side[0].core.shape) + radius_of(side[1].core.shape);
    const double least = radii > 0 ? SPRAG_TOI_EDGES_ANGLE_ROUND : SPRAG_TOI_EDGES_ANGLE;
    int end[2][SPRAG_TOI_EDGES][2], found = 0;
    double near[SPRAG_CROSSINGS]; // m, less than 0: the distances
    double drift = SPRAG_TOI_DRIFT * (side[0].reach + side[1].reach);
    edge of[2][SPRAG_TOI_EDGES];
    const int count[2] = {find_lowest(&side[0], against, end[0]),
                          find_lowest(&side[1], normal, end[1])};
    for (int b = 0; b < 2; b++) {
        const double *v = side[b].motion.velocity;
        drift += a->length * (norm3(v) + norm3(v + 3) * side[b].reach);
        for (int i = 0; i < count[b]; i++) {
            find_edge(&side[b], end[b][i], &of[b][i]);
        }
    }
    for (int i = 0; i < count[0]; i++) {
        for (int j = 0; j < count[1]; j++) {
            const edge *s = &of[0][i], *t = &of[1][j];
            double n[3], way[3], back[3];
            cross3(s->e, t->e, n);
            const double length = norm3(n), along = dot3(n, normal), sign = along > 0 ? 1 : -1;
            if (length < least || fabs(along) < SPRAG_TOI_EDGES_FACING * length) {
                continue;
            }
            find_way(a, s, t, way);
            for (int k = 0; k < 3; k++) {
                n[k] *= sign / length;
                back[k] = -way[k];
            }
            const double apart = dot3(n, way) - radii;
            if (!(apart >= a->level) || !reaches_across(s, t, way, n, drift) ||
                !reaches_across(t, s, back, n, drift)) {
                continue;
            }
            int at = sprag_insert(near, &found, SPRAG_CROSSINGS, -apart, plane, sizeof *plane);
            if (at < SPRAG_CROSSINGS) {
                sprag_plane *to = &plane[at];
                *to = (sprag_plane){.crossing = true, .carrier = -1, .sign = sign};
                memcpy(to->end[0], end[0][i], sizeof end[0][i]);
                memcpy(to->end[1], end[1][j], sizeof end[1][j]);
                memcpy(to->normal, n, sizeof n);
            }
        }
    }
    return found;
}
