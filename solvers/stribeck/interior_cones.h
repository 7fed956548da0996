// The kernels of the interior-point method (interior.c), over all cones and over all points. Cones,
// s[0] >= |s[1 ... axes]|, have duals z in the scaling of Nesterov and Todd: four at once,
// component by component.
#ifndef SPRAG_INTERIOR_CONES_H
#define SPRAG_INTERIOR_CONES_H

#include "lanes.h"
#include "linalg.h"
#include "system.h"
#include "vectors6.h"

// s[0] = constant + by[0] p[0], s[1 + k] = by[1 + k] p[at[1 + k]]. Fewer than two components: `by`
// and the rest of s, z and w are 0, so that all cones have the same size.
typedef struct limit {
    double *p, *dp; // of a point (six) or a row: impulses, N s (N m s), and their change
    double *e;      // of the same: A' of what the cones want, m/s
    int point;      // -1: of a row
    bool alone;     // no other one has its components
    int at[3];      // components of s in p
    double constant, by[3];
} limit;

// Lanes without a limit have s = z = (1, 0, 0), which nothing changes.
typedef struct cones {
    lanes s[3], z[3], ds[3], dz[3];
    lanes w[3], root;          // W = root (2 v v' - J) of Nesterov and Todd, by w = (w0, w1)
    lanes l[3];                // W^-1 s = W z
    lanes K[3][3];             // A' W^-2 A of the components, the lower half
    lanes x[3];                // W^-1 k + z; of those that `follow`, A' z at the end of the update
    lanes by[3], inverse_mass; // 1/kg, of the normal or the row
    lane_mask follow[3];       // dz is that of x
    lane_mask used;
} cones;

INLINE void determinant(const lanes x[3], lanes *d)
{
    lanes tail = x[1] * x[1] + x[2] * x[2];
    root_of(&tail);
    *d = (x[0] - tail) * (x[0] + tail);
}

// W x, or, inverse, W^-1 x
INLINE void apply(const cones *c, bool inverse, const lanes x[3], lanes y[3])
{
    double sign = inverse ? -1 : 1;
    lanes along = c->w[1] * x[1] + c->w[2] * x[2];
    lanes share = x[0] * sign + along / (1 + c->w[0]);
    lanes size = inverse ? 1 / c->root : c->root;
    y[0] = size * (c->w[0] * x[0] + sign * along);
    for (int k = 1; k < 3; k++) {
        y[k] = size * (x[k] + share * c->w[k]);
    }
}

// Jordan's product.
INLINE void multiply(const lanes x[3], const lanes y[3], lanes xy[3])
{
    dot_of(x, y, &xy[0]);
    for (int k = 1; k < 3; k++) {
        xy[k] = x[0] * y[k] + y[0] * x[k];
    }
}

// y with l o y = x
INLINE void divide(const lanes l[3], const lanes x[3], lanes y[3])
{
    lanes along, d;
    dot_of(l, x, &along);
    determinant(l, &d);
    y[0] = (2 * l[0] * x[0] - along) / d;
    for (int k = 1; k < 3; k++) {
        y[k] = (x[k] - y[0] * l[k]) / l[0];
    }
}

// The largest a up to *most at which x + a dx is in the cone, x inside.
INLINE void shorten(const lanes x[3], const lanes dx[3], lanes *most)
{
    const lanes before = *most;
    lanes end[3], square, A, B, C;
    for (int k = 0; k < 3; k++) {
        end[k] = x[k] + before * dx[k];
    }
    dot_of(end, end, &square);
    const lane_mask outside = ~((end[0] > 0) & (2 * end[0] * end[0] > square));
    if (!any(&outside)) { // mostly: no root is needed
        return;
    }
    dot_of(dx, dx, &A);
    dot_of(x, dx, &B);
    A = 2 * dx[0] * dx[0] - A;
    B = 2 * x[0] * dx[0] - B;
    determinant(x, &C);
    const lanes discriminant = B * B - A * C, tip = -x[0] / dx[0];
    *most = SELECT((dx[0] < 0) & (tip < *most), tip, *most);
    lanes size = SELECT(discriminant > 0, discriminant, zeros);
    root_of(&size);
    const lane_mask sign = (lane_mask)B & INT64_MIN, real = ~(discriminant < 0);
    const lanes q = -(B + (lanes)((lane_mask)size | sign)), roots[2] = {q / A, C / q};
    for (int k = 0; k < 2; k++) {
        *most = SELECT(real & (roots[k] > 0) & (roots[k] < *most), roots[k], *most);
    }
    *most = SELECT(outside, *most, before);
}

// ---- all cones

// Duals where x[0] > 0: on the central path at x[0].
static inline void centre_duals(cones *c, int count)
{
    for (; count-- > 0; c++) {
        lanes d;
        determinant(c->s, &d);
        for (int k = 0; k < 3; k++) {
            const lanes z = (k ? -c->x[0] : c->x[0]) / d * c->s[k];
            c->z[k] = SELECT(c->x[0] > 0, z, c->z[k]);
        }
    }
}

// Sets the scaling, and K. false: rounding has brought s or z to the boundary.
SPRAG_VECTORS
static bool scale_cones(cones *c, int count)
{
    lane_mask lost = {0};
    for (; count-- > 0; c++) {
        lanes s, z, both;
        determinant(c->s, &s);
        determinant(c->z, &z);
        lost |= ~((s > 0) & (z > 0));
        root_of(&s);
        root_of(&z);
        dot_of(c->s, c->z, &both);
        both = both / (s * z);
        lanes half = 2 * (1 + both);
        root_of(&half);
        half = 1 / half;
        for (int k = 0; k < 3; k++) {
            c->w[k] = half * (c->s[k] / s + (k ? -c->z[k] : c->z[k]) / z);
        }
        c->root = s / z;
        root_of(&c->root);
        apply(c, false, c->z, c->l);
        const lanes size = 1 / (c->root * c->root);
        for (int i = 0; i < 3; i++) {
            for (int j = 0; j <= i; j++) {
                lanes entry = (i > 0 && j == 0 ? -2.0 : 2.0) * c->w[i] * c->w[j];
                entry = i != j ? entry : i == 0 ? entry - 1 : entry + 1;
                c->K[i][j] = c->by[i] * c->by[j] * size * entry;
            }
        }
    }
    return !any(&lost);
}

// Sets dz = W^-1 k, where W^-1 ds + W dz = k leads to the central path at mu, or to its end
// (predicts), and x.
SPRAG_VECTORS
static void want(cones *c, int count, bool predicts, double mu)
{
    for (; count-- > 0; c++) {
        lanes x[3], k[3];
        multiply(c->l, c->l, x);
        for (int j = 0; j < 3; j++) {
            x[j] = -x[j];
        }
        if (!predicts) {
            lanes ds[3], dz[3], product[3];
            apply(c, true, c->ds, ds);
            apply(c, false, c->dz, dz);
            multiply(ds, dz, product);
            for (int j = 0; j < 3; j++) {
                x[j] += (j == 0 ? mu : 0) - product[j];
            }
        }
        divide(c->l, x, k);
        apply(c, true, k, c->dz);
        for (int j = 0; j < 3; j++) {
            c->x[j] = c->dz[j] + c->z[j];
        }
    }
}

// Sets dz = W^-1 k - W^-2 ds, where dz holds W^-1 k. Near the boundary of the cone W^-2 is so large
// that dz would be rounding: A' z = u + Y p + lag gives it where it has one solution.
SPRAG_VECTORS
static void set_dual_changes(cones *c, int count)
{
    for (; count-- > 0; c++) {
        lanes x[3], y[3];
        apply(c, true, c->ds, x);
        apply(c, true, x, y);
        for (int k = 0; k < 3; k++) {
            const lanes by = SELECT(c->follow[k], c->by[k], ones);
            const lanes dz = SELECT(c->follow[k], c->x[k] / by - c->z[k], c->dz[k] - y[k]);
            c->dz[k] = SELECT(c->used, dz, zeros);
        }
    }
}

// The largest share of the update, up to `most`, that leaves all s and z in their cones.
SPRAG_VECTORS
static double longest_share(const cones *c, int count, double most)
{
    lanes share = most * ones;
    for (; count-- > 0; c++) {
        shorten(c->s, c->ds, &share);
        shorten(c->z, c->dz, &share);
    }
    for (int l = 0; l < LANES; l++) {
        most = fmin(most, share[l]);
    }
    return most;
}

// The largest product of 2 s'z and the inverse mass, J/kg.
SPRAG_VECTORS
static double largest_gap(const cones *c, int count)
{
    lanes largest = {0};
    double most = 0;
    for (; count-- > 0; c++) {
        lanes gap;
        dot_of(c->s, c->z, &gap);
        gap = 2 * gap * c->inverse_mass;
        largest = SELECT(gap > largest, gap, largest);
    }
    for (int l = 0; l < LANES; l++) {
        most = fmax(most, largest[l]);
    }
    return most;
}

// ---- one of them

// A p
static inline void set_image(const limit *of, const double *p, double s[3])
{
    for (int k = 0; k < 3; k++) {
        s[k] = of->by[k] * p[of->at[k]];
    }
}

// to += A' x of a lane
static inline void add_adjoint(const limit *of, const lanes x[3], int l, double *to)
{
    for (int k = 0; k < 3; k++) {
        to[of->at[k]] += of->by[k] * x[k][l];
    }
}

// X = A^-1 of the first n rows and columns, symmetric positive definite. false in a lane: it is
// not.
INLINE void invert_rows(lanes A[6][6], int n, lanes D[6][6], lane_mask *positive)
{
    lanes X[6][6];
    for (int i = 0; i < n; i++) { // A becomes its factor, with the inverse of its diagonal
        for (int j = 0; j <= i; j++) {
            lanes sum = A[i][j];
            for (int k = 0; k < j; k++) {
                sum -= A[i][k] * A[j][k];
            }
            if (i == j) {
                *positive &= sum > 0;
                root_of(&sum);
            }
            A[i][j] = i == j ? 1 / sum : sum * A[j][j];
        }
    }
    for (int j = 0; j < n; j++) {
        X[j][j] = A[j][j];
        for (int i = j + 1; i < n; i++) {
            lanes sum = {0};
            for (int k = j; k < i; k++) {
                sum -= A[i][k] * X[k][j];
            }
            X[i][j] = sum * A[i][i];
        }
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++) {
            lanes sum = {0};
            for (int k = i; k < n; k++) {
                sum += X[k][i] * X[k][j];
            }
            D[i][j] = D[j][i] = sum;
        }
    }
}

// ---- a solve

typedef struct interior {
    sprag_system *system;
    double scale, stiction; // m/s
    limit *limit;
    int limits, batches;
    cones *cones; // batches
    double (*p)[6], (*dp)[6], (*c)[6], (*e)[6], (*yield)[6], (*rest)[6], (*D)[6][6];
    bool (*free)[6]; // points: impulses that their laws leave free
    double *row_p, *row_dp, *row_c, *row_e, *row_rest, *row_D;
} interior;

// ---- points: matrices

// Adds Y and the cones of a point to a lane. *next: its first limit, and the first of the next.
static void add_stiffness(const interior *in, int i, int *next, int l, lanes A[6][6])
{
    for (; *next < in->limits && in->limit[*next].point == i; ++*next) {
        const int *at = in->limit[*next].at;
        const cones *c = &in->cones[*next / LANES];
        for (int j = 0; j < 3; j++) {
            for (int k = 0; k <= j; k++) {
                A[at[j]][at[k]][l] += c->K[j][k][*next % LANES];
            }
        }
    }
}

// D of a few points of n impulses each, with 0 where a point has none.
INLINE bool set_matrices(interior *in, int first, int count, int n, int *next)
{
    lanes A[6][6] = {{{0}}}, D[6][6];
    lane_mask positive = (lane_mask)(zeros == zeros);
    for (int l = 0; l < LANES; l++) {
        for (int k = 0; k < n; k++) {
            A[k][k][l] = l < count && in->free[first + l][k] ? in->yield[first + l][k] : 1;
        }
        if (l < count) {
            add_stiffness(in, first + l, next, l, A);
        }
    }
    invert_rows(A, n, D, &positive);
    for (int l = 0; l < count; l++) {
        const bool *free = in->free[first + l];
        for (int j = 0; j < n; j++) {
            for (int k = 0; k < n; k++) {
                in->D[first + l][j][k] = j != k || free[k] ? D[j][k][l] : 0;
            }
            if (n == 3) {
                in->D[first + l][j][3] = 0; // which times multiplies by
            }
        }
    }
    positive = ~positive;
    return !any(&positive);
}

SPRAG_VECTORS
static bool set_point_matrices(interior *in, int *next)
{
    const sprag_point *point = in->system->point;
    bool done = true;
    for (int i = 0, count; i < in->system->points && done; i += count) {
        for (count = 1; count < LANES && i + count < in->system->points; count++) {
            if (point[i + count].dim != point[i].dim) {
                break;
            }
        }
        done = point[i].dim == 3 ? set_matrices(in, i, count, 3, next)
                                 : set_matrices(in, i, count, 6, next);
    }
    return done;
}

// ---- points: updates

// y = D x. D is symmetric, and 0 where a point of three impulses has none.
INLINE void times(const double D[6][6], int dim, const double *x, vector6 *y)
{
    *y = (vector6){{0}, {0}};
    for (int i = 0; i < dim; i++) {
        y->a += x[i] * *(const sprag_four *)D[i];
        if (dim == 6) {
            y->b += x[i] * *(const sprag_two *)(D[i] + 4);
        }
    }
}

// c = D (e - rest)
INLINE void take_wanted(const interior *in, int i, int dim)
{
    double *e = in->e[i];
    vector6 wanted;
    load6(&wanted, e);
    subtract6(&wanted, 1, in->rest[i]);
    store6(e, &wanted);
    times((const double(*)[6])in->D[i], dim, e, &wanted);
    store6(in->c[i], &wanted);
}

SPRAG_VECTORS
static void take_all_wanted(const interior *in)
{
    for (int i = 0; i < in->system->points; i++) {
        if (in->system->point[i].dim == 3) {
            take_wanted(in, i, 3);
        } else {
            take_wanted(in, i, 6);
        }
    }
}

// dp = c - D du
INLINE void take_change(const interior *in, int i, int dim)
{
    vector6 fall, change;
    times((const double(*)[6])in->D[i], dim, in->system->slip_change[i], &fall);
    load6(&change, in->c[i]);
    change.a -= fall.a;
    change.b -= fall.b;
    store6(in->dp[i], &change);
}

SPRAG_VECTORS
static void take_all_changes(const interior *in)
{
    for (int i = 0; i < in->system->points; i++) {
        if (in->system->point[i].dim == 3) {
            take_change(in, i, 3);
        } else {
            take_change(in, i, 6);
        }
    }
}

#endif
