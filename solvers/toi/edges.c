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

static bool is_round(const sprag_shape *shape)
{
    return shape->kind == SPRAG_CAPSULE || shape->kind == SPRAG_CYLINDER;
}

static double radius_of(const sprag_shape *shape)
{
    return is_round(shape) ? shape->radius : 0;
}

// r (m) of one end of an edge and its unit direction, in world axes at the start of the expansion.
static bool edge_of(const sprag_side *side, const int end[2], double r[3], double e[3])
{
    double from[3], to[3];
    if (end[0] == SPRAG_NO_VERTEX) {
        mul33(side->rotation, side->origin, r);
        for (int k = 0; k < 3; k++) {
            e[k] = side->rotation[3 * k + 2];
        }
        return true;
    }
    sprag_side_vertex(side, end[0], from);
    sprag_side_vertex(side, end[1], to);
    mul33(side->rotation, from, r);
    subtract3(to, from, to);
    mul33(side->rotation, to, e);
    return normalise3(e);
}

static void dot_series(const sprag_series3 *f, const sprag_series3 *g, sprag_series *fg)
{
    double sum_f = 0, sum_g = 0, beyond = 0;
    memset(fg, 0, sizeof *fg);
    for (int i = 0; i < SPRAG_TERMS; i++) {
        for (int j = 0; j < SPRAG_TERMS; j++) {
            double product = dot3(f->c[i], g->c[j]);
            if (i + j < SPRAG_TERMS) {
                fg->c[i + j] += product;
            } else {
                beyond += fabs(product);
            }
        }
        sum_f += norm3(f->c[i]);
        sum_g += norm3(g->c[i]);
    }
    fg->remainder = beyond + f->remainder * (sum_g + g->remainder) + g->remainder * sum_f;
}

// The part of the expansion, at most `until`, during which the vertices of side b stay on their own
// side. other: the other edge as b sees it (world axes at the start). e and r: its own edge.
static double safe_part_behind(const sprag_approach *a, sprag_plane *plane, int b,
                               const double r[3], const double e[3], const sprag_series3 *other,
                               double sign, double until)
{
    const sprag_side *side = &a->side[b];
    const sprag_shape *shape = side->shape;
    if (is_round(shape)) {
        return until;
    }
    int vertices = shape->kind == SPRAG_BOX ? 8 : shape->polytope->vertices;
    sprag_series3 turned;
    double local_r[3];
    for (int k = 0; k < SPRAG_TERMS; k++) { // (g x e).other = g.(e x other)
        double world[3];
        cross3(e, other->c[k], world);
        mul33_transposed(side->rotation, world, turned.c[k]);
    }
    turned.remainder = other->remainder;
    mul33_transposed(side->rotation, r, local_r);
    double change = sprag_series_change(&turned), height = norm3(turned.c[0]);
    double allowed = SPRAG_TOI_SLACK * side->reach * height;
    for (int i = 0; i < vertices; i++) {
        if (i == plane->end[b][0] || i == plane->end[b][1]) {
            continue;
        }
        double g[3];
        sprag_side_vertex(side, i, g);
        subtract3(g, local_r, g);
        double length = norm3(g), before = until;
        if (sign * dot3(g, turned.c[0]) + allowed > length * change) {
            continue;
        }
        sprag_series f = {.c = {allowed}};
        sprag_series_dot(&f, sign, g, &turned);
        until = sprag_series_positive(&f, until);
        if (until < before) {
            plane->side = b;
            sprag_side_vertex(side, i, plane->point[b]);
            sprag_side_vertex(&a->side[!b], plane->end[!b][0], plane->point[!b]);
        }
    }
    return until;
}

// The point (m) where the first edge passes the second at the start, within its ends.
static void crossing_point(const double rA[3], const double eA[3], const double rB[3],
                           const double eB[3], double length, double point[3])
{
    double n[3], from[3], side[3];
    cross3(eA, eB, n);
    subtract3(rB, rA, from);
    cross3(from, eB, side);
    double along = dot3(side, n) / dot3(n, n);
    along = along < 0 ? 0 : along > length ? length : along;
    memcpy(point, rA, 3 * sizeof *point);
    add_scaled(point, along, eA, 3);
}

// The two edges of a plane at the start of the expansion.
typedef struct crossing {
    double r[2][3], e[2][3]; // of each edge: m, a point of it relative to x; its unit direction
    double w[2][3];          // rad, by which the shapes turn within the expansion
    sprag_turning turning;   // of shape 1 as shape 0 sees it
    sprag_series3 other;     // direction of the second edge as shape 0 sees it
} crossing;

static bool set_crossing(const sprag_approach *a, const sprag_plane *plane, crossing *c)
{
    const sprag_side *side = a->side;
    for (int b = 0; b < 2; b++) {
        if (!edge_of(&side[b], plane->end[b], c->r[b], c->e[b])) {
            return false;
        }
        for (int k = 0; k < 3; k++) {
            c->w[b][k] = a->length * side[b].velocity[3 + k];
        }
    }
    sprag_turning_set(c->w[1], c->w[0], &c->turning);
    sprag_turning_apply(&c->turning, c->e[1], &c->other);
    return true;
}

// The distance of the edges, m, times |N|.
static void separation(const sprag_approach *a, const crossing *c, double sign, sprag_series *f)
{
    const sprag_side *side = a->side;
    double k[3], d[3], v[3];
    for (int i = 0; i < 3; i++) {
        d[i] = side[1].x[i] - side[0].x[i] - c->r[0][i];
        v[i] = a->length * (side[1].velocity[i] - side[0].velocity[i]);
    }
    // y - rA: y turns with shape 0, in which rA is constant.
    sprag_series3 line, kappa, crossed;
    const double to[3] = {d[0] + c->r[0][0], d[1] + c->r[0][1], d[2] + c->r[0][2]};
    sprag_series_line(to, v, c->w[0], &line);
    memcpy(line.c[0], d, sizeof d);
    cross3(c->e[1], c->r[1], k);
    sprag_turning_apply(&c->turning, k, &kappa);
    for (int i = 0; i < SPRAG_TERMS; i++) {
        cross3(line.c[i], c->e[0], crossed.c[i]);
    }
    crossed.remainder = line.remainder;
    dot_series(&c->other, &crossed, f);
    sprag_series_dot(f, 1, c->e[0], &kappa);
    for (int i = 0; i < SPRAG_TERMS; i++) {
        f->c[i] *= -sign;
    }
}

// |N|^2
static void square_normal(const crossing *c, sprag_series *q)
{
    sprag_series z = {.remainder = 0};
    sprag_series_dot(&z, 1, c->e[0], &c->other);
    sprag_series_multiply(&z, &z, q);
    for (int i = 0; i < SPRAG_TERMS; i++) {
        q->c[i] = (i == 0) - q->c[i];
    }
}

static void set_crossing_point(const sprag_approach *a, const crossing *c, sprag_plane *plane)
{
    const sprag_side *side = a->side;
    plane->side = 0;
    if (plane->end[0][0] != SPRAG_NO_VERTEX) {
        double from[3], length[3], x[3], end[3];
        sprag_side_vertex(&side[0], plane->end[0][0], from);
        sprag_side_vertex(&side[0], plane->end[0][1], length);
        subtract3(length, from, length);
        subtract3(side[1].x, side[0].x, end);
        add_scaled(end, 1, c->r[1], 3);
        crossing_point(c->r[0], c->e[0], end, c->e[1], norm3(length), x);
        mul33_transposed(side[0].rotation, x, plane->point[0]);
    }
}

double sprag_crossing_safe_part(const sprag_approach *a, sprag_plane *plane)
{
    const sprag_side *side = a->side;
    crossing c;
    sprag_series f, q, root;
    if (!set_crossing(a, plane, &c)) {
        return 0;
    }
    separation(a, &c, plane->sign, &f);
    square_normal(&c, &q);
    for (int b = 0; b < 2; b++) {
        mul33_transposed(side[b].rotation, c.r[b], plane->point[b]);
    }
    double radii = radius_of(side[0].shape) + radius_of(side[1].shape);
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
        sprag_turning_apply(&back, c.e[0], &alpha);
        until = safe_part_behind(a, plane, 0, c.r[0], c.e[0], &c.other, plane->sign, until);
        until = safe_part_behind(a, plane, 1, c.r[1], c.e[1], &alpha, plane->sign, until);
    }
    return until;
}

// ---- the edges that may cross

// The edges of a box that lie lowest: the four of a face, or one and its neighbours.
static int box_edges(const sprag_shape *shape, const double down[3], int edge[SPRAG_TOI_EDGES][2])
{
    double low[SPRAG_TOI_EDGES];
    int count = 0;
    for (int k = 0; k < 3; k++) {
        for (int vertex = 0; vertex < 8; vertex++) {
            if (vertex >> k & 1) {
                continue;
            }
            double reaches = -fabs(down[k]) * shape->half[k];
            for (int i = 0; i < 3; i++) {
                reaches += i == k ? 0 : (vertex >> i & 1 ? 1 : -1) * down[i] * shape->half[i];
            }
            int at = sprag_insert(low, &count, SPRAG_TOI_EDGES, reaches, edge, sizeof *edge);
            if (at < SPRAG_TOI_EDGES) {
                edge[at][0] = vertex;
                edge[at][1] = vertex | 1 << k;
            }
        }
    }
    return count;
}

// All segments between the lowest vertices; one that is no edge fails because of the other
// vertices.
static int polytope_edges(const sprag_polytope *p, const double down[3],
                          int edge[SPRAG_TOI_EDGES][2])
{
    double low[SPRAG_TOI_LOWEST];
    int vertex[SPRAG_TOI_LOWEST], count = 0, edges = 0;
    for (int i = 0; i < p->vertices; i++) {
        double reaches = dot3(p->vertex[i], down);
        int at = sprag_insert(low, &count, SPRAG_TOI_LOWEST, reaches, vertex, sizeof *vertex);
        if (at < SPRAG_TOI_LOWEST) {
            vertex[at] = i;
        }
    }
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < i; j++, edges++) {
            edge[edges][0] = vertex[j];
            edge[edges][1] = vertex[i];
        }
    }
    return edges;
}

// Edges of the core that are farthest along the direction down (world). Returns their number.
static int edges_near(const sprag_side *side, const double down[3], int edge[SPRAG_TOI_EDGES][2])
{
    const sprag_shape *shape = side->shape;
    double local[3];
    if (shape->kind == SPRAG_CYLINDER) {
        edge[0][0] = edge[0][1] = SPRAG_NO_VERTEX;
        return 1;
    }
    if (shape->kind == SPRAG_CAPSULE) {
        edge[0][0] = 0;
        edge[0][1] = 1;
        return 1;
    }
    if (shape->kind != SPRAG_BOX && shape->kind != SPRAG_POLYTOPE) {
        return 0;
    }
    mul33_transposed(side->rotation, down, local);
    if (shape->kind == SPRAG_BOX) {
        return box_edges(shape, local, edge);
    }
    return polytope_edges(shape->polytope, local, edge);
}

typedef struct segment {
    double r[3], e[3], length; // m, one end relative to x; its unit direction; m; in world axes
    bool usable, endless;      // it has a direction; it is an axis without ends
} segment;

static segment segment_of(const sprag_side *side, const int end[2])
{
    segment s = {.endless = end[0] == SPRAG_NO_VERTEX};
    s.usable = edge_of(side, end, s.r, s.e);
    if (!s.endless) {
        double from[3], to[3];
        sprag_side_vertex(side, end[0], from);
        sprag_side_vertex(side, end[1], to);
        subtract3(to, from, to);
        s.length = norm3(to);
    }
    return s;
}

// Whether t passes s, seen along n, within `room` (m). between: m, from s to t.
static bool reaches_across(const segment *s, const segment *t, const double between[3],
                           const double n[3], double room)
{
    double across[3];
    cross3(n, s->e, across);
    double low = dot3(across, between), high = low + t->length * dot3(across, t->e);
    return !(low > room && high > room) && !(low < -room && high < -room);
}

bool sprag_crossing_place(const sprag_approach *a, sprag_plane *plane)
{
    double r[2][3], e[2][3], between[3], radii = 0;
    for (int b = 0; b < 2; b++) {
        if (!edge_of(&a->side[b], plane->end[b], r[b], e[b])) {
            return false;
        }
        radii += radius_of(a->side[b].shape);
    }
    if (!sprag_across(e[0], e[1], plane->normal)) {
        return false;
    }
    for (int k = 0; k < 3; k++) {
        plane->normal[k] *= plane->sign;
        between[k] = r[0][k] - r[1][k] + a->side[0].x[k] - a->side[1].x[k];
    }
    return dot3(plane->normal, between) - radii >= a->level;
}

int sprag_crossings_find(const sprag_approach *a, const double normal[3],
                         sprag_plane plane[SPRAG_CROSSINGS])
{
    const sprag_side *side = a->side;
    const double against[3] = {-normal[0], -normal[1], -normal[2]};
    int edge[2][SPRAG_TOI_EDGES][2], found = 0;
    double drift = 0, radii = 0, near[SPRAG_CROSSINGS]; // m, less than 0: the distances
    segment segments[2][SPRAG_TOI_EDGES];
    int count[2] = {edges_near(&side[0], against, edge[0]), edges_near(&side[1], normal, edge[1])};
    for (int b = 0; b < 2; b++) {
        radii += radius_of(side[b].shape);
        drift += norm3(side[b].velocity) + norm3(side[b].velocity + 3) * side[b].reach;
        for (int i = 0; i < count[b]; i++) {
            segments[b][i] = segment_of(&side[b], edge[b][i]);
        }
    }
    drift = drift * a->length + SPRAG_TOI_DRIFT * (side[0].reach + side[1].reach);
    for (int i = 0; i < count[0]; i++) {
        for (int j = 0; j < count[1]; j++) {
            const segment *s = &segments[0][i], *t = &segments[1][j];
            double n[3], between[3], back[3];
            cross3(s->e, t->e, n);
            double length = norm3(n), along = dot3(n, normal);
            if (!s->usable || !t->usable ||
                length < (radii > 0 ? SPRAG_TOI_EDGES_ANGLE_ROUND : SPRAG_TOI_EDGES_ANGLE) ||
                fabs(along) < SPRAG_TOI_EDGES_FACING * length) {
                continue;
            }
            double sign = along > 0 ? 1 : -1;
            for (int k = 0; k < 3; k++) {
                n[k] *= sign / length;
                between[k] = s->r[k] - t->r[k] + side[0].x[k] - side[1].x[k];
                back[k] = -between[k];
            }
            double apart = dot3(n, between) - radii;
            if (!(apart >= a->level) || (!s->endless && !t->endless &&
                                         !(reaches_across(s, t, back, n, drift) &&
                                           reaches_across(t, s, between, n, drift)))) {
                continue;
            }
            int at = sprag_insert(near, &found, SPRAG_CROSSINGS, -apart, plane, sizeof *plane);
            if (at < SPRAG_CROSSINGS) {
                sprag_plane *to = &plane[at];
                *to = (sprag_plane){.crossing = true, .carrier = -1, .sign = sign};
                memcpy(to->end[0], edge[0][i], sizeof edge[0][i]);
                memcpy(to->end[1], edge[1][j], sizeof edge[1][j]);
                memcpy(to->normal, n, sizeof n);
            }
        }
    }
    return found;
}
