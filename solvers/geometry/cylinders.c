// Choices of features, Newton's method for each, cutting planes around them.
#include "cylinders.h"

#include <float.h>
#include <math.h>

#include "linalg.h"

enum {
    HULL_MAX = 4,
    CHOICES_MAX = 256,
    NEWTON_MAX = 48,
    HALVINGS_MAX = 24,
    STALLS_MAX = 6,
    STALLS_INSIDE = 2, // EPA asks often, and for no more digits than it has itself
    RESTARTS_MAX = 2,
    CUTS_MAX = 32
};

// The part of a core that is in play: vertices, and for a cylinder its caps' radius and axis.
typedef struct hull {
    int count;
    double at[HULL_MAX][3];
    double about[HULL_MAX][3]; // the same from the core's own centre: edges keep their digits
    int id[HULL_MAX];
    double radius;                // 0: none
    double axis[3], across[2][3]; // of the caps
} hull;

// Vertices that are active, by their places in the hull.
typedef struct feature {
    int count, pick[3];
} feature;

typedef struct choice {
    feature feature[2];
    double normal[3], height;
} choice;

// ---- heights

// P n / |P n| and |P n|, by axes across: what is left of n may be small.
static double radial(const hull *h, const double n[3], double p[3])
{
    double x = dot3(h->across[0], n), y = dot3(h->across[1], n), length = sqrt(x * x + y * y);
    for (int k = 0; k < 3; k++) {
        p[k] = length > 0 ? (x * h->across[0][k] + y * h->across[1][k]) / length : 0;
    }
    return length;
}

static double rim_height(const hull *h, const double n[3])
{
    double p[3];
    return h->radius > 0 ? h->radius * radial(h, n, p) : 0;
}

static double height(const hull hull[2], const double n[3])
{
    double least = INFINITY, most = -INFINITY;
    for (int i = 0; i < hull[0].count; i++) {
        least = fmin(least, dot3(n, hull[0].at[i]));
    }
    for (int i = 0; i < hull[1].count; i++) {
        most = fmax(most, dot3(n, hull[1].at[i]));
    }
    return least - most - rim_height(&hull[0], n) - rim_height(&hull[1], n);
}

// The smooth one, without regard to vertices that are not active.
static double smooth_height(const hull hull[2], const double c[3], const double n[3])
{
    return dot3(n, c) - rim_height(&hull[0], n) - rim_height(&hull[1], n);
}

// ---- Newton's method on the unit sphere, or on its circle at right angles to an edge

static bool onto(double n[3], const double *edge)
{
    if (edge) {
        double ee = dot3(edge, edge);
        for (int i = 0; i < 2; i++) {
            add_scaled(n, -dot3(edge, n) / ee, edge, 3);
        }
    }
    return normalise3(n);
}

// The height has a kink where the normal is a cylinder's axis, and steps towards the wrong side of
// it get ever shorter: across it, if it is higher there.
static void leave_axis(const hull hull[2], int side, const double c[3], double n[3])
{
    double p[3], to[3] = {c[0], c[1], c[2]};
    if (!(hull[side].radius > 0) || radial(&hull[side], n, p) > 1e-3) {
        return;
    }
    if (hull[!side].radius > 0) {
        radial(&hull[!side], n, p);
        add_scaled(to, -hull[!side].radius, p, 3);
    }
    if (radial(&hull[side], to, p) <= hull[side].radius) {
        return; // a cap
    }
    double here = smooth_height(hull, c, n);
    for (double far = 0.5; far > 1e-9; far /= 2) {
        double moved[3];
        for (int k = 0; k < 3; k++) {
            moved[k] = copysign(1, dot3(n, hull[side].axis)) * hull[side].axis[k] + far * p[k];
        }
        normalise3(moved);
        if (smooth_height(hull, c, moved) > here) {
            memcpy(n, moved, sizeof moved);
            return;
        }
    }
}
// The height about a normal, to second order.
typedef struct slopes {
    double t[2][3]; // tangents; on an edge there is but one
    double s;       // height
    double b[2];    // its slopes
    double M[3];    // 00, 01, 11: of the rims; the Hessian on the sphere is -(M + s)
} slopes;

static void set_tangents(const double n[3], const double *edge, double t[2][3])
{
    int least = fabs(n[0]) < fabs(n[1]) ? (fabs(n[0]) < fabs(n[2]) ? 0 : 2)
                                        : (fabs(n[1]) < fabs(n[2]) ? 1 : 2);
    double other[3] = {least == 0, least == 1, least == 2};
    cross3(edge ? edge : other, n, t[0]);
    normalise3(t[0]);
    memset(t[1], 0, sizeof t[1]);
    if (!edge) {
        cross3(n, t[0], t[1]);
    }
}

// false: the normal is along an axis, that is a cap.
static bool set_slopes(const hull hull[2], const double c[3], const double *edge, const double n[3],
                       slopes *at)
{
    double g[3] = {c[0], c[1], c[2]};
    set_tangents(n, edge, at->t);
    memset(at->M, 0, sizeof at->M);
    for (int side = 0; side < 2; side++) {
        if (hull[side].radius > 0) {
            double p[3], q[3], length = radial(&hull[side], n, p);
            if (!(length > 1e-12)) {
                return false;
            }
            cross3(hull[side].axis, p, q);
            add_scaled(g, -hull[side].radius, p, 3);
            double stiff = hull[side].radius / length;
            double q0 = dot3(q, at->t[0]), q1 = dot3(q, at->t[1]);
            at->M[0] += stiff * q0 * q0;
            at->M[1] += stiff * q0 * q1;
            at->M[2] += stiff * q1 * q1;
        }
    }
    at->s = dot3(g, n);
    for (int k = 0; k < 2; k++) {
        at->b[k] = dot3(g, at->t[k]);
    }
    return true;
}

// Newton's; where the Hessian is not negative, only uphill. Returns its length.
static double newton_step(const slopes *at, bool on_edge, double step[2])
{
    const double *M = at->M, *b = at->b, s = at->s;
    double d0 = M[0] + s, d1 = M[2] + s;
    bool definite = d0 > 0 && (on_edge || d0 * d1 - M[1] * M[1] > 0);
    if (!definite) {
        d0 = M[0] + fabs(s) + DBL_MIN;
        d1 = M[2] + fabs(s) + DBL_MIN;
    }
    double det = on_edge ? d0 : d0 * d1 - M[1] * M[1];
    step[0] = on_edge ? b[0] / d0 : (d1 * b[0] - M[1] * b[1]) / det;
    step[1] = on_edge ? 0 : (d0 * b[1] - M[1] * b[0]) / det;
    return hypot(step[0], step[1]);
}

typedef enum climb { UPHILL, TRUSTED, STALLED, LOST } climb;

// Uphill, until steps are so short that heights cannot tell: then they are taken on trust, or,
// where they had to be halved for it, it stalls.
static climb go_uphill(const hull hull[2], const double c[3], const double *edge, double size,
                       const slopes *at, double n[3])
{
    double step[2], length = newton_step(at, edge, step), moved[3];
    if (!isfinite(length)) {
        return LOST;
    }
    double part = length > 1 ? 1 / length : 1, before = smooth_height(hull, c, n);
    for (int halving = 0; halving <= HALVINGS_MAX; halving++, part /= 2) {
        memcpy(moved, n, sizeof moved);
        add_scaled(moved, part * step[0], at->t[0], 3);
        add_scaled(moved, part * step[1], at->t[1], 3);
        if (!onto(moved, edge)) {
            return LOST;
        }
        double change = smooth_height(hull, c, moved) - before;
        bool tiny = part * length < 1e-6 && change >= -16 * DBL_EPSILON * size;
        if (change > 0 || tiny) {
            memcpy(n, moved, sizeof moved);
            return !tiny ? UPHILL : halving == 0 ? TRUSTED : STALLED;
        }
    }
    return LOST;
}

static bool maximise(const hull hull[2], const double c[3], const double *edge, double size,
                     int stalls, double n[3])
{
    slopes at;
    int trusted = 0, stalled = 0;
    bool good = onto(n, edge);
    for (int i = 0; i < NEWTON_MAX && good; i++) {
        for (int side = 0; side < 2 && !edge; side++) {
            leave_axis(hull, side, c, n);
        }
        good = set_slopes(hull, c, edge, n, &at);
        if (good && hypot(at.b[0], at.b[1]) <= DBL_EPSILON * size) {
            return true;
        }
        climb went = good ? go_uphill(hull, c, edge, size, &at, n) : LOST;
        trusted += went == TRUSTED;
        stalled += went == STALLED;
        good = went != LOST;
        if (trusted == 2 || stalled == stalls) {
            return true;
        }
    }
    return false;
}

// A start for two features that are no edges: each rim in turn is put where it is nearest to the
// other feature. Exact at once if there is one rim.
static void approach(const hull hull[2], const double c[3], double n[3])
{
    int rims = (hull[0].radius > 0) + (hull[1].radius > 0);
    for (int i = 0; i < (rims > 1 ? 6 : 1); i++) {
        int side = rims > 1 ? i & 1 : hull[1].radius > 0;
        double to[3] = {c[0], c[1], c[2]}, p[3];
        if (hull[!side].radius > 0) {
            radial(&hull[!side], n, p);
            add_scaled(to, -hull[!side].radius, p, 3);
        }
        // In the plane of axis and rim point, whatever rounding leaves of the gap.
        double out = radial(&hull[side], to, p) - hull[side].radius;
        double up = dot3(hull[side].axis, to), far = hypot(out, up);
        for (int k = 0; k < 3 && out > 0; k++) {
            n[k] = (up * hull[side].axis[k] + out * p[k]) / far;
        }
    }
}

// ---- choices

typedef struct choices {
    int count;
    double near[3], cosine; // only normals within this of that one
    double highest;         // m
    choice choice[CHOICES_MAX];
} choices;

static void consider(const hull hull[2], const feature *f, const double n[3], double size,
                     choices *all)
{
    double h = height(hull, n);
    if (!(dot3(n, n) > 0.5) || dot3(n, all->near) < all->cosine) {
        return;
    }
    if (h >= all->highest - 16 * DBL_EPSILON * size && all->count < CHOICES_MAX) {
        all->choice[all->count++] =
            (choice){.feature = {f[0], f[1]}, .normal = {n[0], n[1], n[2]}, .height = h};
        all->highest = fmax(all->highest, h);
    }
}

static int edges_of(const hull *h, const feature *f, double edge[][3])
{
    for (int i = 1; i < f->count; i++) {
        subtract3(h->about[f->pick[i]], h->about[f->pick[0]], edge[i - 1]);
    }
    return f->count - 1;
}

static void try_choice(const hull hull[2], const feature f[2], const double guess[3], double size,
                       choices *all)
{
    double edge[4][3], n[3] = {guess[0], guess[1], guess[2]}, c[3];
    int edges = edges_of(&hull[0], &f[0], edge);
    edges += edges_of(&hull[1], &f[1], edge + edges);
    int stalls = all->cosine > 0 ? STALLS_INSIDE : STALLS_MAX;
    if (edges < 2) {
        subtract3(hull[0].at[f[0].pick[0]], hull[1].at[f[1].pick[0]], c);
        // Heights have a kink where a normal passes a cylinder's axis: who is caught there starts
        // again on the side that the other feature is on.
        bool rims = !edges && hull[0].radius > 0 && hull[1].radius > 0;
        bool found = (edges || rims) && maximise(hull, c, edges ? edge[0] : NULL, size, stalls, n);
        consider(hull, f, n, size, all);
        for (int i = 0; !edges && !found && i < RESTARTS_MAX; i++) {
            approach(hull, c, n);
            found = maximise(hull, c, NULL, size, stalls, n);
            consider(hull, f, n, size, all);
        }
    } else if (edges == 2 && sprag_across(edge[0], edge[1], n)) {
        consider(hull, f, n, size, all);
        consider(hull, f, (double[]){-n[0], -n[1], -n[2]}, size, all);
    }
}

// ---- witness points

static double clamp(double x, double lo, double hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

// Where the two features come nearest: the edges are gone along to where what is left of c is along
// the normal.
static void smooth_points(const hull hull[2], const choice *best, double point[2][3])
{
    double edge[4][3], rest[3], t[2] = {0, 0};
    const feature *f = best->feature;
    int first = edges_of(&hull[0], &f[0], edge), edges = first;
    edges += edges_of(&hull[1], &f[1], edge + first);
    for (int side = 0; side < 2; side++) {
        double p[3];
        memcpy(point[side], hull[side].at[f[side].pick[0]], sizeof point[side]);
        if (hull[side].radius > 0) {
            radial(&hull[side], best->normal, p);
            add_scaled(point[side], side ? hull[side].radius : -hull[side].radius, p, 3);
        }
    }
    subtract3(point[1], point[0], rest);
    if (edges == 1) {
        t[0] = dot3(rest, edge[0]) / dot3(edge[0], edge[0]);
    } else if (edges == 2) {
        double a = dot3(edge[0], edge[0]), aside[3];
        memcpy(aside, edge[1], sizeof aside);
        add_scaled(aside, -dot3(edge[0], edge[1]) / a, edge[0], 3);
        add_scaled(aside, -dot3(edge[0], aside) / a, edge[0], 3);
        double b = dot3(aside, aside);
        t[1] = b > 0 ? dot3(rest, aside) / b : 0;
        t[0] = (dot3(rest, edge[0]) - t[1] * dot3(edge[0], edge[1])) / a;
    }
    if (edges == 2 && first != 1) { // a face: inside its triangle
        double sign = first ? 1 : -1, u = clamp(sign * t[0], 0, 1), v = clamp(sign * t[1], 0, 1);
        double over = u + v > 1 ? u + v : 1;
        t[0] = sign * u / over;
        t[1] = sign * v / over;
    }
    if (edges == 2 &&
        first == 1) { // where nearly parallel edges cross is loose: from one to the other
        double r[3], cross[3], lever[3];
        cross3(edge[0], edge[1], cross);
        cross3(rest, edge[1], lever);
        double across = dot3(cross, cross);
        t[0] = clamp(across > 0 ? dot3(lever, cross) / across : 0.5, 0, 1);
        for (int i = 1; i < 4; i++) {
            int to = i & 1;
            memcpy(r, rest, sizeof r);
            add_scaled(r, -t[!to], edge[!to], 3);
            t[to] = dot3(r, edge[to]) / dot3(edge[to], edge[to]);
            t[to] = to ? clamp(t[to], -1, 0) : clamp(t[to], 0, 1);
        }
    }
    for (int i = 0; i < edges; i++) { // rest = sum of t edge on side 0, of -t edge on side 1
        bool one = i >= first;
        add_scaled(point[one], clamp(one ? -t[i] : t[i], 0, 1), edge[i], 3);
    }
}

// A cap against whatever it rests on: the point of that nearest to the cap's centre, if it is on
// the cap.
static void cap_points(const hull hull[2], const choice *best, double size, double point[2][3])
{
    const double *n = best->normal;
    int cap = hull[0].radius > 0 && fabs(dot3(hull[0].axis, n)) > 1 - DBL_EPSILON * 8 ? 0 : 1;
    const struct hull *disc = &hull[cap], *other = &hull[!cap];
    double sign = cap ? 1 : -1, p[3]; // the cap looks along sign n
    int top = disc->count > 1 && sign * dot3(n, disc->at[1]) > sign * dot3(n, disc->at[0]);
    double reach = other->radius > 0 ? radial(other, n, p) : 1;
    bool flat = reach < 1e-12; // two caps
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
        if (other->radius > 0 && !flat) {
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
    if (flat && far > 0) { // move to where the two discs overlap most
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

static double miss(const hull hull[2], const choice *c, double size, double point[2][3])
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

// ---- the best choice

enum { SUBSETS_MAX = 1 << HULL_MAX };

// A vertex that is so far above the foremost that no normal within the cone can lower it to there
// is not active.
static int active_bits(const hull *h, const choices *all, double sign)
{
    double sine = all->cosine > 0 ? sqrt(1 - all->cosine * all->cosine) : 1;
    int lowest = 0, bits = 0;
    for (int i = 1; i < h->count; i++) {
        lowest =
            sign * dot3(all->near, h->at[i]) < sign * dot3(all->near, h->at[lowest]) ? i : lowest;
    }
    for (int i = 0; i < h->count; i++) {
        double up[3];
        subtract3(h->at[i], h->at[lowest], up);
        bits |= (sign * dot3(all->near, up) <= sine * norm3(up)) << i;
    }
    return bits;
}

// Sets of up to three vertices of a hull, the likely ones first: the end of a cylinder that is
// foremost along the guess, then its side; of other hulls all that GJK has found to matter.
static int likely_features(const hull *h, const double guess[3], double sign, int bits,
                           feature found[SUBSETS_MAX])
{
    int count = 0;
    bool round = h->radius > 0;
    int last = round && sign * dot3(guess, h->at[1]) < sign * dot3(guess, h->at[0]);
    for (int k = 0; k < 3; k++) {
        int size = round ? k + 1 : 3 - k;
        for (int i = 1; i < 1 << h->count; i++) {
            int set = last ? (1 << h->count) - i : i; // of two: 2 1 before 1, or the other way
            if (__builtin_popcount((unsigned)set) == size && !(set & ~bits)) {
                feature *f = &found[count++];
                f->count = 0;
                for (int v = 0; v < h->count; v++) {
                    if (set >> v & 1) {
                        f->pick[f->count++] = v;
                    }
                }
            }
        }
    }
    return count;
}

static void try_caps(const hull hull[2], double size, choices *all)
{
    const feature none[2] = {{0}, {0}};
    for (int side = 0; side < 2; side++) {
        if (hull[side].radius > 0) { // the other feature is what supports it
            const double *u = hull[side].axis;
            consider(hull, none, u, size, all);
            consider(hull, none, (double[]){-u[0], -u[1], -u[2]}, size, all);
        }
    }
}

// The highest; of those that are as high to rounding the one whose features do come that near.
// Returns by how far they do not.
static double best_of(const hull hull[2], const choices *all, double size, choice *best,
                      double point[2][3])
{
    double least = INFINITY;
    best->height = -INFINITY;
    for (int i = 0; i < all->count; i++) {
        if (all->choice[i].height >= all->highest - 16 * DBL_EPSILON * size) {
            double on[2][3], off = miss(hull, &all->choice[i], size, on);
            if (off < least) {
                least = off;
                *best = all->choice[i];
                memcpy(point, on, sizeof on);
            }
        }
    }
    return least;
}

// Apart, points that are no farther from each other than the height end it: nothing is higher.
static double best_choice(const hull hull[2], const double guess[3], const sprag_rims *rims,
                          double size, choice *best, double point[2][3])
{
    choices all;
    feature likely[2][SUBSETS_MAX];
    int count[2];
    bool local = rims->cosine > 0;
    all.count = 0;
    all.highest = -INFINITY;
    all.cosine = rims->cosine;
    memcpy(all.near, local ? rims->near : guess, sizeof all.near);
    for (int side = 0; side < 2; side++) {
        double sign = side ? -1 : 1;
        int bits = local ? active_bits(&hull[side], &all, sign) : (1 << HULL_MAX) - 1;
        count[side] = likely_features(&hull[side], guess, sign, bits, likely[side]);
    }
    try_caps(hull, size, &all);
    int known = 0;
    double highest = all.highest;
    for (int i = 0; i < count[0]; i++) {
        for (int j = 0; j < count[1]; j++) {
            const feature f[2] = {likely[0][i], likely[1][j]};
            try_choice(hull, f, guess, size, &all);
            if (!local && all.highest > 0 && (all.highest > highest || !known)) {
                double off = best_of(hull, &all, size, best, point);
                if (off <= 8 * DBL_EPSILON * size) {
                    return off;
                }
                highest = all.highest;
                known = 1;
            }
        }
    }
    return best_of(hull, &all, size, best, point);
}

// ---- cutting planes

static void add_vertex(const sprag_core *core, hull *h, int id, const double at[3])
{
    const sprag_core centred = {core->shape, core->rotation, {0, 0, 0}, NULL};
    sprag_core_vertex(&centred, id, h->about[h->count]);
    memcpy(h->at[h->count], at, sizeof h->at[0]);
    h->id[h->count++] = id;
}

static void open_hull(const sprag_core *core, int side, const sprag_pair_vertex *vertex, int count,
                      hull *h)
{
    *h = (hull){0};
    if (core->shape->kind == SPRAG_CYLINDER) {
        h->radius = core->shape->radius;
        sprag_core_axis(core, h->axis);
        for (int k = 0; k < 3; k++) {
            h->across[0][k] = core->rotation[3 * k];
            h->across[1][k] = core->rotation[3 * k + 1];
        }
        h->count = 2;
        for (int i = 0; i < 2; i++) {
            memcpy(h->at[i], core->at, sizeof h->at[i]);
            add_scaled(h->about[i], i ? core->shape->half[2] : -core->shape->half[2], h->axis, 3);
            add_scaled(h->at[i], 1, h->about[i], 3);
            h->id[i] = i;
        }
        return;
    }
    for (int i = 0; i < count && h->count < HULL_MAX; i++) {
        bool known = false;
        for (int k = 0; k < h->count; k++) {
            known |= h->id[k] == vertex[i].id[side];
        }
        if (!known) {
            add_vertex(core, h, vertex[i].id[side], vertex[i].point[side]);
        }
    }
}

// Drops what is not active, so that there is room for one more. A cap's choice names nothing: then
// the vertex that is highest above the normal goes.
static void make_room(hull *h, const feature *active, const double n[3], double sign)
{
    if (h->count < HULL_MAX) {
        return;
    }
    int gone = 0;
    for (int i = 1; i < h->count; i++) {
        if (sign * dot3(n, h->at[i]) > sign * dot3(n, h->at[gone])) {
            gone = i;
        }
    }
    for (int i = 0; active->count && i < h->count; i++) {
        bool used = false;
        for (int k = 0; k < active->count; k++) {
            used |= active->pick[k] == i;
        }
        if (!used) {
            gone = i;
            break;
        }
    }
    h->count--;
    memmove(h->at[gone], h->at[h->count], sizeof h->at[0]);
    memmove(h->about[gone], h->about[h->count], sizeof h->about[0]);
    h->id[gone] = h->id[h->count];
}

void sprag_rims_polish(const sprag_core core[2], const sprag_pair_vertex *vertex, int count,
                       double size, sprag_rims *rims)
{
    hull hull[2];
    choice best;
    open_hull(&core[0], 0, vertex, count, &hull[0]);
    open_hull(&core[1], 1, vertex, count, &hull[1]);
    double kept = -INFINITY, guess[3];
    memcpy(guess, rims->normal, sizeof guess);
    rims->closed = false;
    for (int cut = 0; cut < CUTS_MAX && !rims->closed; cut++) {
        sprag_pair_vertex v;
        rims->error = best_choice(hull, guess, rims, size, &best, rims->point);
        if (!(best.height > -INFINITY)) {
            break;
        }
        memcpy(guess, best.normal, sizeof guess);
        double bound = sprag_pair_support(core, best.normal, &v);
        if (bound > kept) {
            kept = bound;
            memcpy(rims->normal, best.normal, sizeof rims->normal);
        }
        rims->closed = true;
        for (int side = 0; side < 2; side++) {
            bool known = hull[side].radius > 0;
            for (int i = 0; i < hull[side].count; i++) {
                known |= hull[side].id[i] == v.id[side];
            }
            if (!known && best.height - bound > 4 * DBL_EPSILON * size) {
                rims->closed = false;
                make_room(&hull[side], &best.feature[side], best.normal, side ? -1 : 1);
                add_vertex(&core[side], &hull[side], v.id[side], v.point[side]);
            }
        }
    }
    rims->bound = kept;
}
