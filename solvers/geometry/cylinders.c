// Searches the highest slab over all choices of features, and adds cutting planes.
#include "cylinders.h"

#include <float.h>
#include <math.h>

#include "linalg.h"
#include "slab.h"
#include "tolerances.h"

// ---- one choice of features

typedef struct search {
    sprag_slab_cone cone;
    double highest; // m, the largest height so far
    int *work;      // heights tried
    int count;      // of `slab`: as high as `highest` was, to rounding, when added
    sprag_slab slab[SPRAG_SLABS_MAX];
} search;

static void add_slab(const sprag_slab_hull hull[2], const sprag_slab_feature *f, const double n[3],
                     double size, search *all)
{
    double h = sprag_slab_height(hull, n);
    if (!(dot3(n, n) > 0.5) || dot3(n, all->cone.near) < all->cone.cosine) {
        return;
    }
    if (h >= all->highest - 16 * DBL_EPSILON * size && all->count < SPRAG_SLABS_MAX) {
        all->slab[all->count++] =
            (sprag_slab){.feature = {f[0], f[1]}, .normal = {n[0], n[1], n[2]}, .height = h};
        all->highest = fmax(all->highest, h);
    }
}

static void try_features(const sprag_slab_hull hull[2], const sprag_slab_feature f[2],
                         const double guess[3], double size, search *all)
{
    double edge[4][3], n[3] = {guess[0], guess[1], guess[2]}, c[3];
    int edges = sprag_slab_edges(&hull[0], &f[0], edge);
    ++*all->work;
    edges += sprag_slab_edges(&hull[1], &f[1], edge + edges);
    if (edges < 2) {
        subtract3(hull[0].at[f[0].pick[0]], hull[1].at[f[1].pick[0]], c);
        // The height is not smooth where the normal is a cylinder's axis. A search that ends there
        // starts again on the side of the axis where the other feature is.
        bool two_rims = !edges && hull[0].radius > 0 && hull[1].radius > 0;
        bool found = (edges || two_rims) && sprag_slab_maximise(hull, c, edges ? edge[0] : NULL,
                                                                size, &all->cone, n, all->work);
        add_slab(hull, f, n, size, all);
        for (int i = 0; !edges && !found && i < SPRAG_SLAB_RESTARTS; i++) {
            sprag_slab_start(hull, c, n);
            found = sprag_slab_maximise(hull, c, NULL, size, &all->cone, n, all->work);
            add_slab(hull, f, n, size, all);
        }
    } else if (edges == 2 && sprag_across(edge[0], edge[1], n)) {
        add_slab(hull, f, n, size, all);
        add_slab(hull, f, (double[]){-n[0], -n[1], -n[2]}, size, all);
    }
}

// ---- the best choice

enum { SUBSETS_MAX = 1 << SPRAG_SLAB_VERTICES };

// Bits of the vertices that may be active: a normal within the cone exists along which they are
// foremost.
static int active_bits(const sprag_slab_hull *h, const search *all, double sign)
{
    double sine = all->cone.cosine > 0 ? sqrt(1 - all->cone.cosine * all->cone.cosine) : 1;
    int lowest = 0, bits = 0;
    for (int i = 1; i < h->count; i++) {
        lowest = sign * dot3(all->cone.near, h->at[i]) < sign * dot3(all->cone.near, h->at[lowest])
                     ? i
                     : lowest;
    }
    for (int i = 0; i < h->count; i++) {
        double up[3];
        subtract3(h->at[i], h->at[lowest], up);
        bits |= (sign * dot3(all->cone.near, up) <= sine * norm3(up)) << i;
    }
    return bits;
}

// Lists the sets of up to three vertices of a hull, likely ones first: for a cylinder the cap in
// front, then its side, or first its side where the guess is across its axis; for other cores the
// largest sets first. sign: 1 for core 0, -1 for core 1.
// bits: vertices that may be active.
static int likely_features(const sprag_slab_hull *h, const double guess[3], double sign, int bits,
                           sprag_slab_feature found[SUBSETS_MAX])
{
    int count = 0;
    bool round = h->radius > 0;
    int last = round && sign * dot3(guess, h->at[1]) < sign * dot3(guess, h->at[0]);
    bool caps = round && fabs(dot3(guess, h->axis)) > SPRAG_SLAB_ACROSS;
    for (int k = 0; k < 3; k++) {
        int size = caps ? k + 1 : 3 - k;
        for (int i = 1; i < 1 << h->count; i++) {
            int set = last ? (1 << h->count) - i : i; // two caps: the one in front first
            if (__builtin_popcount((unsigned)set) == size && !(set & ~bits)) {
                sprag_slab_feature *f = &found[count++];
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

static void try_caps(const sprag_slab_hull hull[2], double size, search *all)
{
    const sprag_slab_feature none[2] = {{0}, {0}};
    for (int side = 0; side < 2; side++) {
        if (hull[side].radius > 0) { // the other core may touch it by any feature
            const double *u = hull[side].axis;
            add_slab(hull, none, u, size, all);
            add_slab(hull, none, (double[]){-u[0], -u[1], -u[2]}, size, all);
        }
    }
}

// The highest slab; of those that are equally high to rounding, the one whose points miss least.
// Returns by how far (m) they miss.
static double best_of(const sprag_slab_hull hull[2], const search *all, double size,
                      sprag_slab *best, double point[2][3])
{
    double least = INFINITY;
    best->height = -INFINITY;
    for (int i = 0; i < all->count; i++) {
        if (all->slab[i].height >= all->highest - 16 * DBL_EPSILON * size) {
            double on[2][3], off = sprag_slab_points(hull, &all->slab[i], size, on);
            if (off < least) {
                least = off;
                *best = all->slab[i];
                memcpy(point, on, sizeof on);
            }
        }
    }
    return least;
}

// The highest slab over all choices of features. Cores that are apart end the search with points at
// the distance of the height, since no slab is higher than the distance.
static double best_slab(const sprag_slab_hull hull[2], const double guess[3],
                        sprag_cylinders *found, double size, sprag_slab *best, double point[2][3])
{
    search all;
    sprag_slab_feature likely[2][SUBSETS_MAX];
    int count[2];
    bool local = found->cosine > 0;
    all.count = 0;
    all.work = &found->work;
    all.highest = -INFINITY;
    all.cone.cosine = found->cosine;
    memcpy(all.cone.near, local ? found->near : guess, sizeof all.cone.near);
    for (int side = 0; side < 2; side++) {
        double sign = side ? -1 : 1;
        int bits = local ? active_bits(&hull[side], &all, sign) : (1 << SPRAG_SLAB_VERTICES) - 1;
        count[side] = likely_features(&hull[side], guess, sign, bits, likely[side]);
    }
    try_caps(hull, size, &all);
    int known = 0;
    double highest = all.highest;
    for (int i = 0; i < count[0]; i++) {
        for (int j = 0; j < count[1]; j++) {
            const sprag_slab_feature f[2] = {likely[0][i], likely[1][j]};
            try_features(hull, f, guess, size, &all);
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

static void add_vertex(const sprag_core *core, sprag_slab_hull *h, int id, const double at[3])
{
    const sprag_core centred = {core->shape, core->rotation, {0, 0, 0}, NULL};
    sprag_core_vertex(&centred, id, h->about[h->count]);
    memcpy(h->at[h->count], at, sizeof h->at[0]);
    h->id[h->count++] = id;
}

static void set_hull(const sprag_core *core, int side, const sprag_pair_vertex *vertex, int count,
                     sprag_slab_hull *h)
{
    *h = (sprag_slab_hull){0};
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
    for (int i = 0; i < count && h->count < SPRAG_SLAB_VERTICES; i++) {
        bool known = false;
        for (int k = 0; k < h->count; k++) {
            known |= h->id[k] == vertex[i].id[side];
        }
        if (!known) {
            add_vertex(core, h, vertex[i].id[side], vertex[i].point[side]);
        }
    }
}

static bool is_active(const sprag_slab_feature *active, int vertex)
{
    bool picked = false;
    for (int k = 0; k < active->count; k++) {
        picked |= active->pick[k] == vertex;
    }
    return picked;
}

// Drops the first vertex that is not active, so that there is room for one more.
static void make_room(sprag_slab_hull *h, const sprag_slab_feature *active)
{
    if (h->count < SPRAG_SLAB_VERTICES) {
        return;
    }
    int dropped = 0;
    while (is_active(active, dropped)) { // fewer are active than there are
        dropped++;
    }
    h->count--;
    memmove(h->at[dropped], h->at[h->count], sizeof h->at[0]);
    memmove(h->about[dropped], h->about[h->count], sizeof h->about[0]);
    h->id[dropped] = h->id[h->count];
}

void sprag_cylinders_separate(const sprag_core core[2], const sprag_pair_vertex *vertex, int count,
                              double size, sprag_cylinders *found)
{
    sprag_slab_hull hull[2];
    sprag_slab best;
    set_hull(&core[0], 0, vertex, count, &hull[0]);
    set_hull(&core[1], 1, vertex, count, &hull[1]);
    double kept = -INFINITY, guess[3];
    memcpy(guess, found->normal, sizeof guess);
    found->closed = false;
    for (int cut = 0; cut < SPRAG_SLAB_CUTS && !found->closed; cut++) {
        sprag_pair_vertex v;
        found->error = best_slab(hull, guess, found, size, &best, found->point);
        if (!(best.height > -INFINITY)) {
            break;
        }
        memcpy(guess, best.normal, sizeof guess);
        double bound = sprag_pair_support(core, best.normal, &v);
        if (bound > kept) {
            kept = bound;
            memcpy(found->normal, best.normal, sizeof found->normal);
        }
        found->closed = true;
        for (int side = 0; side < 2; side++) {
            bool known = hull[side].radius > 0;
            for (int i = 0; i < hull[side].count; i++) {
                known |= hull[side].id[i] == v.id[side];
            }
            if (!known && best.height - bound > 4 * DBL_EPSILON * size) {
                found->closed = false;
                make_room(&hull[side], &best.feature[side]);
                add_vertex(&core[side], &hull[side], v.id[side], v.point[side]);
            }
        }
    }
    found->bound = kept;
}
