#include "boxes.h"

#include <float.h>
#include <math.h>

#include "gjk.h"
#include "linalg.h"
#include "tolerances.h"

typedef struct relative {
    const double *half[2];
    double C[3][3], Q[3][3]; // rotation of box 1 in the axes of box 0, and its absolute values
    double at[3];            // m, centre of box 1 in the axes of box 0
} relative;

static void column(const double *rotation, int i, double sign, double v[3])
{
    for (int k = 0; k < 3; k++) {
        v[k] = sign * rotation[3 * k + i];
    }
}

// The nearest points of the two edges that face each other across the normal. false: the edges are
// not as near as the bound.
static bool edge_points(const sprag_core core[2], int i, int j, double rounding, sprag_boxes *found)
{
    const double *n = found->normal;
    double axis[2][3], middle[2][3], between[3];
    const double against[3] = {-n[0], -n[1], -n[2]};
    const int along[2] = {i, j};
    for (int side = 0; side < 2; side++) {
        const double *half = core[side].shape->half;
        column(core[side].rotation, along[side], 1, axis[side]);
        int vertex = sprag_core_support(&core[side], side ? n : against, middle[side]);
        bool at_top = vertex >> along[side] & 1;
        add_scaled(middle[side], at_top ? -half[along[side]] : half[along[side]], axis[side], 3);
    }
    // Nearly parallel edges cross at no exact point; the point of the second edge is therefore
    // found from that of the first.
    subtract3(middle[1], middle[0], between);
    double cross[3], lever[3], t[2], off[3];
    cross3(axis[0], axis[1], cross);
    cross3(between, axis[1], lever);
    t[0] = clamp(dot3(lever, cross) / dot3(cross, cross), -core[0].shape->half[i],
                 core[0].shape->half[i]);
    add_scaled(between, -t[0], axis[0], 3);
    t[1] = clamp(-dot3(axis[1], between), -core[1].shape->half[j], core[1].shape->half[j]);
    for (int side = 0; side < 2; side++) {
        memcpy(found->point[side], middle[side], sizeof middle[side]);
        add_scaled(found->point[side], t[side], axis[side], 3);
    }
    subtract3(found->point[0], found->point[1], off);
    add_scaled(off, -found->bound, n, 3);
    return norm3(off) <= 2 * rounding;
}

// Whether the face across an axis (0 to 2 of box 0, 3 to 5 of box 1) is parallel to one of the
// other box.
static bool are_level(const relative *f, int best)
{
    double sum = 0, most = 0;
    for (int k = 0; k < 3; k++) {
        double q = best < 3 ? f->Q[best][k] : f->Q[k][best - 3];
        sum += q;
        most = q > most ? q : most;
    }
    return sum - most <= 8 * DBL_EPSILON;
}

// The corner of the other box that is nearest to the face of this side across axis i. false: it is
// not above the face.
static bool corner_points(const sprag_core core[2], int side, int i, sprag_boxes *found)
{
    const double *n = found->normal, *R = core[side].rotation, *half = core[side].shape->half;
    const double back[3] = {-n[0], -n[1], -n[2]};
    double *corner = found->point[!side], from[3], local[3];
    sprag_core_support(&core[!side], side ? back : n, corner);
    memcpy(found->point[side], corner, sizeof found->point[side]);
    add_scaled(found->point[side], side ? -found->bound : found->bound, n, 3);
    subtract3(corner, core[side].at, from);
    mul33_transposed(R, from, local);
    int j = i < 2 ? i + 1 : 0, k = j < 2 ? j + 1 : 0;
    return fabs(local[j]) <= half[j] && fabs(local[k]) <= half[k];
}

// The separation along the cross product of edges i and j, evaluated by the corners, which holds
// for any normal. -INFINITY: the edges are parallel.
static double crossing(const sprag_core core[2], int i, int j, double n[3])
{
    double e[3], g[3], between[3];
    sprag_pair_vertex corners;
    column(core[0].rotation, i, 1, e);
    column(core[1].rotation, j, 1, g);
    if (!sprag_across(e, g, n)) {
        return -INFINITY;
    }
    subtract3(core[0].at, core[1].at, between);
    if (dot3(n, between) < 0) {
        n[0] = -n[0], n[1] = -n[1], n[2] = -n[2];
    }
    return sprag_pair_support(core, n, &corners);
}

// Tries the nine cross products of edges against the best face direction (best: 0 to 5): in the
// axes of box 0 first, then the largest once more by its corners. Nearly parallel edges lose digits
// in those axes and are all done by corners. Returns the best direction; 6 and more: edges.
static int cross_edges(const sprag_core core[2], const relative *f, double rounding, int best,
                       sprag_boxes *found, double normal[3])
{
    const double shallow = SPRAG_BOXES_SHALLOW;
    const double *a = f->half[0], *b = f->half[1], *p = f->at;
    double highest = found->bound, n[3];
    int top = -1;
    for (int i = 0; i < 3; i++) {
        int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
        for (int j = 0; j < 3; j++) {
            int j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            double square = f->C[i1][j] * f->C[i1][j] + f->C[i2][j] * f->C[i2][j];
            double s = fabs(p[i2] * f->C[i1][j] - p[i1] * f->C[i2][j]) -
                       (a[i1] * f->Q[i2][j] + a[i2] * f->Q[i1][j]) -
                       (b[j1] * f->Q[i][j2] + b[j2] * f->Q[i][j1]);
            if (square > shallow * shallow) {
                if (s * fabs(s) > highest * fabs(highest) * square) { // s / sqrt(square) > highest
                    highest = s / sqrt(square);
                    top = 3 * i + j;
                }
            } else if (square > DBL_EPSILON * DBL_EPSILON) {
                s = crossing(core, i, j, n);
                if (s > found->bound + rounding) {
                    found->bound = s;
                    memcpy(normal, n, sizeof n);
                    best = 6 + 3 * i + j;
                }
            }
        }
    }
    if (top >= 0) {
        double s = crossing(core, top / 3, top % 3, n);
        if (s > found->bound + rounding) {
            found->bound = s;
            memcpy(normal, n, sizeof n);
            best = 6 + top;
        }
    }
    return best;
}

// Least distance (m) of a point of a box from the ends of its axes, except one axis.
static double inset(const sprag_core *core, const double point[3], int but)
{
    double from[3], local[3], least = INFINITY;
    subtract3(point, core->at, from);
    mul33_transposed(core->rotation, from, local);
    for (int k = 0; k < 3; k++) {
        double in = core->shape->half[k] - fabs(local[k]);
        least = k != but && in < least ? in : least;
    }
    return least;
}

static int foremost_axis(const sprag_core *core, const double n[3])
{
    double local[3];
    mul33_transposed(core->rotation, n, local);
    double x = fabs(local[0]), y = fabs(local[1]), z = fabs(local[2]);
    return x >= y && x >= z ? 0 : y >= z ? 1 : 2;
}

// Whether no other pair of points is within `rise` (m) of the nearest pair: along faces and edges
// the boxes separate faster.
static bool is_only_pair(const sprag_core core[2], const relative *f, int best, double rise,
                         const sprag_boxes *found)
{
    if (best < 6) { // along the edges that leave the corner
        int side = best < 3 ? 0 : 1, axis = best % 3;
        double far = inset(&core[side], found->point[side], axis), slope = INFINITY;
        for (int k = 0; k < 3; k++) {
            double q = side ? f->Q[k][axis] : f->Q[axis][k], length = 2 * f->half[!side][k];
            slope = q < slope ? q : slope;
            far = length < far ? length : far;
        }
        return slope * far > rise;
    }
    int i = (best - 6) / 3,
        j = (best - 6) % 3; // along the edges that cross, above the other's face
    int top[2] = {foremost_axis(&core[0], found->normal), foremost_axis(&core[1], found->normal)};
    double rate[2] = {f->Q[i][top[1]], f->Q[top[0]][j]}, far = INFINITY;
    for (int side = 0; side < 2; side++) {
        double from[3], axis[3], on = f->half[side][side ? j : i];
        subtract3(found->point[side], core[side].at, from);
        column(core[side].rotation, side ? j : i, 1, axis);
        on -= fabs(dot3(axis, from));
        far = on < far ? on : far;
        for (int k = 0; k < 3; k++) {
            far = 2 * f->half[side][k] < far ? 2 * f->half[side][k] : far;
        }
    }
    return fmin(rate[0], rate[1]) * far > rise;
}

static void set_relative(const sprag_core core[2], relative *f)
{
    double d[3];
    for (int side = 0; side < 2; side++) {
        f->half[side] = core[side].shape->half;
    }
    subtract3(core[1].at, core[0].at, d);
    mul33_transposed(core[0].rotation, d, f->at);
}

// Centre of box 1 along its own axis j, m.
static double along_second(const relative *f, int j)
{
    return f->at[0] * f->C[0][j] + f->at[1] * f->C[1][j] + f->at[2] * f->C[2][j];
}

// Tries the axes of the faces; computes C and Q on the way. Returns the best axis, 3 to 5 of box 1.
// rounding: m, of the separations.
static int cross_faces(const sprag_core core[2], double reach, relative *f, sprag_boxes *found,
                       double *rounding)
{
    const double *a = f->half[0], *b = f->half[1], *p = f->at;
    const double *A = core[0].rotation, *B = core[1].rotation;
    double size = 0;
    int best = 0;
    found->bound = -INFINITY;
    for (int i = 0; i < 3 && found->bound <= reach; i++) {
        for (int j = 0; j < 3; j++) {
            f->C[i][j] = A[i] * B[j] + A[3 + i] * B[3 + j] + A[6 + i] * B[6 + j];
            f->Q[i][j] = fabs(f->C[i][j]);
        }
        double s = fabs(p[i]) - a[i] - (b[0] * f->Q[i][0] + b[1] * f->Q[i][1] + b[2] * f->Q[i][2]);
        if (s > found->bound) {
            found->bound = s;
            best = i;
        }
        size += a[i] + b[i] + fabs(p[i]);
    }
    *rounding = 4 * DBL_EPSILON * size;
    for (int j = 0; j < 3 && found->bound <= reach; j++) {
        double s = fabs(along_second(f, j)) - b[j] -
                   (a[0] * f->Q[0][j] + a[1] * f->Q[1][j] + a[2] * f->Q[2][j]);
        if (s > found->bound + *rounding) {
            found->bound = s;
            best = 3 + j;
        }
    }
    return best;
}

// Parallel edges, or a face that is deep: the nearest points are those of the manifold.
static void clip_faces(const sprag_core core[2], double rounding, double most, bool level,
                       sprag_boxes *found, sprag_manifold *m)
{
    double enough = found->bound + (found->bound > 0 ? rounding : 64 * rounding);
    sprag_manifold_clip(core, found->normal, fmax(most, enough), m);
    for (int i = 0; i < m->count && !found->has_points; i++) {
        if (m->gap[i] <= enough) {
            found->has_points = found->bound <= 0 || level || m->count > 2;
            memcpy(found->point, m->point[i], sizeof found->point);
        }
    }
}

void sprag_boxes_separate(const sprag_core core[2], double reach, double most, sprag_boxes *found,
                          sprag_manifold *manifold)
{
    relative f;
    double rounding, normal[3] = {0};
    set_relative(core, &f);
    int best = cross_faces(core, reach, &f, found, &rounding);
    if (found->bound <= reach) {
        best = cross_edges(core, &f, rounding, best, found, normal);
    }
    if (best < 3) {
        column(core[0].rotation, best, f.at[best] > 0 ? -1 : 1, found->normal);
    } else if (best < 6) {
        column(core[1].rotation, best - 3, along_second(&f, best - 3) > 0 ? -1 : 1, found->normal);
    } else {
        memcpy(found->normal, normal, sizeof normal);
    }
    found->beyond = found->bound > reach;
    found->has_points = false;
    if (found->beyond) {
        return;
    }
    if (best >= 6) {
        found->has_points = edge_points(core, (best - 6) / 3, (best - 6) % 3, rounding, found);
    } else {
        found->has_points = corner_points(core, best < 3 ? 0 : 1, best % 3, found);
    }
    if (found->has_points && manifold && is_only_pair(core, &f, best, most - found->bound, found)) {
        manifold->count = found->bound <= most;
        memcpy(manifold->point[0], found->point, sizeof found->point);
        manifold->gap[0] = found->bound;
        return;
    }
    bool level = best < 6 && are_level(&f, best);
    sprag_manifold unwanted;
    if (manifold || !(found->has_points || (found->bound > 0 && !level))) {
        clip_faces(core, rounding, most, level, found, manifold ? manifold : &unwanted);
    }
}
