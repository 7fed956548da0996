// One plane whose normal n turns at a constant rate. Seen from side b it is a unit vector m_b(t)
// that starts at n and turns by the difference of the spins; the separation along it is
//
//     n.(x0 - x1) + min over r of side 0 of r.m_0(t) - max over r of side 1 of r.m_1(t)
//
// where m_b is constant for the side that carries the plane. Both parts have Taylor series with
// bounded remainders; each vertex is a polynomial, and the few that can reach the level within the
// expansion are followed.
//
// Round shapes: core points, with the level raised by the radius. A cylinder's caps reach half
// |m_z| + radius |m_xy| down; the second term is a root, bounded from above by a tangent.
#include "toi_pair.h"

// The series of m in the axes of the shape, downwards as the side sees it.
static void normal_seen_by(const sprag_approach *a, const sprag_plane *plane, const double n[3],
                           int b, sprag_series3 *m)
{
    const sprag_side *side = &a->side[b];
    double of[3], from[3];
    scale3(a->length, plane->spin, of);
    scale3(a->length, side->motion.velocity + 3, from);
    sprag_turning turning;
    sprag_series3 world;
    sprag_turning_set(of, from, &turning);
    sprag_turning_apply(&turning, n, &world);
    int terms = turning.terms == 0 ? 1 : SPRAG_TERMS;
    memset(m, 0, sizeof *m);
    for (int k = 0; k < terms; k++) {
        mul33_transposed(side->now.rotation, world.c[k], m->c[k]);
        scale3(b ? -1 : 1, m->c[k], m->c[k]);
    }
    m->remainder = world.remainder;
}

static double evaluate(const double *c, double u)
{
    return c[0] + u * (c[1] + u * (c[2] + u * (c[3] + u * c[4])));
}

// ---- round sides: up to two features, a point or rim each

typedef struct feature {
    sprag_series height; // m, of the feature
    double r[3];         // m, in the axes of the shape; of a rim: its centre
} feature;

static void across_square(const sprag_series3 *m, sprag_series *q)
{
    sprag_series x = sprag_series_component(m, 0), y = sprag_series_component(m, 1);
    sprag_series_multiply(&x, &x, q);
    sprag_series_multiply(&y, &y, &x);
    sprag_series_add(q, 1, &x);
}

// When the axis is nearly in the plane, 1 - z^2 changes slowly however fast the body spins.
static bool rim_root(const sprag_series3 *m, sprag_series *root)
{
    sprag_series q, z = sprag_series_component(m, 2);
    if (fabs(z.c[0]) < SPRAG_TOI_ROOT_AXIS) {
        sprag_series_multiply(&z, &z, &q);
        for (int k = 0; k < SPRAG_TERMS; k++) {
            q.c[k] = (k == 0) - q.c[k];
        }
    } else {
        across_square(m, &q);
    }
    return sprag_series_root(&q, root);
}

// rooted: the heights are those of the lowest points; false: of the centres of rims, whose root is
// too near to 0.
static int round_features(const sprag_side *side, const sprag_series3 *m, feature f[2],
                          bool *rooted)
{
    const sprag_shape *shape = side->core.shape;
    const int count = shape->kind == SPRAG_SPHERE ? 1 : 2;
    const bool rim = shape->kind == SPRAG_CYLINDER;
    sprag_series root;
    *rooted = !rim || rim_root(m, &root);
    for (int i = 0; i < count; i++) {
        memset(&f[i].height, 0, sizeof f[i].height);
        memcpy(f[i].r, side->core.at, sizeof f[i].r);
        f[i].r[2] += count == 1 ? 0 : i ? shape->half[2] : -shape->half[2];
        sprag_series_dot(&f[i].height, 1, f[i].r, m);
        if (rim && *rooted) {
            sprag_series_add(&f[i].height, -shape->radius, &root);
        }
    }
    return count;
}

// The point of a feature that is lowest at the time u.
static void set_feature_point(const sprag_side *side, const feature *f, const sprag_series3 *m,
                              double u, double point[3])
{
    const sprag_series x = sprag_series_component(m, 0), y = sprag_series_component(m, 1);
    const double across[2] = {evaluate(x.c, u), evaluate(y.c, u)};
    const double length = sqrt(across[0] * across[0] + across[1] * across[1]);
    memcpy(point, f->r, sizeof f->r);
    if (side->core.shape->kind == SPRAG_CYLINDER && length > 0) {
        add_scaled(point, -side->core.shape->radius / length, across, 2);
    }
}

// ---- a cylinder that nearly stands on the plane: the root is near 0, so the height is followed
// times that root

// The part of the expansion during which, for a line s(u) > 0 close to the root,
//
//     2 s (h - level) - radius (s^2 + q) >= 0
static double safe_part_flat_rim(const sprag_side *side, const sprag_series3 *m,
                                 const sprag_series *height, double until)
{
    sprag_series q, s = {.remainder = 0}, f, ss;
    double radius = side->core.shape->radius;
    if (!(height->c[0] > 0)) {
        return 0;
    }
    across_square(m, &q);
    double first = sqrt(q.c[0]), last = sqrt(fmax(evaluate(q.c, until), 0));
    double room = height->c[0] / radius; // s(0) costs half of its height
    double least = SPRAG_TOI_FLAT_LEAST * room;
    s.c[0] = fmax(first, fmin(SPRAG_TOI_FLAT_LAST * last, SPRAG_TOI_FLAT_ROOM * room)) + least;
    s.c[1] = (last + least - s.c[0]) / until;
    double scale = fmax(s.c[0], s.c[0] + until * s.c[1]);
    sprag_series_multiply(&s, height, &f);
    sprag_series_multiply(&s, &s, &ss);
    sprag_series_add(&ss, 1, &q);
    for (int k = 0; k < SPRAG_TERMS; k++) {
        f.c[k] = (2 * f.c[k] - radius * ss.c[k]) / scale;
    }
    f.remainder = (2 * f.remainder + radius * ss.remainder) / scale;
    return sprag_series_positive(&f, until);
}

static double safe_part_round(const sprag_approach *a, sprag_plane *plane, const sprag_series3 m[2],
                              const sprag_series *base)
{
    feature f[2][2] = {0};
    int count[2] = {1, 1}, flat = -1;
    double until = 1;
    for (int b = 0; b < 2; b++) {
        bool rooted = true;
        if (b != plane->carrier) {
            count[b] = round_features(&a->side[b], &m[b], f[b], &rooted);
        }
        flat = rooted ? flat : b;
    }
    if (flat >= 0 && plane->carrier < 0) {
        return 0;
    }
    for (int i = 0; i < count[0] * count[1] && until > 0; i++) {
        const feature *const of[2] = {&f[0][i / count[1]], &f[1][i % count[1]]};
        const double before = until;
        sprag_series height = *base;
        sprag_series_add(&height, 1, &of[0]->height);
        sprag_series_add(&height, 1, &of[1]->height);
        until = flat < 0 ? sprag_series_positive(&height, until)
                         : safe_part_flat_rim(&a->side[flat], &m[flat], &height, until);
        for (int b = 0; b < 2 && until < before; b++) {
            if (b != plane->carrier) {
                plane->side = plane->carrier < 0 ? 0 : b;
                set_feature_point(&a->side[b], of[b], &m[b], until, plane->point[b]);
            }
        }
    }
    return until;
}

// ---- vertices

double sprag_vertices_safe_part(const sprag_side *side, const sprag_series3 *m,
                                const sprag_series *base, const int skip[2], double until,
                                double point[3])
{
    const int vertices = sprag_core_vertices(&side->core);
    double drop = base->remainder, second = 0;
    for (int k = 2; k < SPRAG_TERMS; k++) {
        drop -= fmin(base->c[k], 0);
        second += norm3(m->c[k]);
    }
    drop += side->reach * (second + m->remainder);
    for (int i = 0; i < vertices && until > 0; i++) {
        double r[3];
        sprag_side_vertex(side, i, r);
        double h = base->c[0] + dot3(r, m->c[0]), rate = base->c[1] + dot3(r, m->c[1]);
        if (h + fmin(rate, 0) > drop || i == skip[0] || i == skip[1]) {
            continue;
        }
        sprag_series height = {.c = {h, rate}};
        for (int k = 2; k < SPRAG_TERMS; k++) {
            height.c[k] = base->c[k] + dot3(r, m->c[k]);
        }
        height.remainder = base->remainder + norm3(r) * m->remainder;
        double before = until;
        until = sprag_series_positive(&height, until);
        if (until < before) {
            memcpy(point, r, sizeof r);
        }
    }
    return until;
}

double sprag_plane_safe_part(const sprag_approach *a, sprag_plane *plane)
{
    const sprag_side *side = a->side;
    double n[3], d[3], v[3], spin[3];
    sprag_series3 line, m[2];
    sprag_series base = {.remainder = 0};
    sprag_turned(plane->spin, a->begin, plane->normal, n);
    for (int k = 0; k < 3; k++) {
        d[k] = side[0].now.position[k] - side[1].now.position[k];
        v[k] = a->length * (side[0].motion.velocity[k] - side[1].motion.velocity[k]);
        spin[k] = a->length * plane->spin[k];
    }
    sprag_series_line(d, v, spin, &line);
    sprag_series_dot(&base, 1, n, &line);
    base.c[0] -= a->level + side[0].margin + side[1].margin;
    for (int b = 0; b < 2; b++) {
        if (b == plane->carrier) {
            base.c[0] -= plane->support;
        } else {
            normal_seen_by(a, plane, n, b, &m[b]);
        }
    }
    sprag_shape_kind kind = side[plane->carrier == 0].core.shape->kind;
    if (kind == SPRAG_BOX || kind == SPRAG_POLYTOPE) {
        static const int none[2] = {SPRAG_NO_VERTEX, SPRAG_NO_VERTEX};
        const int b = plane->side = plane->carrier == 0;
        return sprag_vertices_safe_part(&side[b], &m[b], &base, none, 1, plane->point[b]);
    }
    return safe_part_round(a, plane, m, &base);
}
