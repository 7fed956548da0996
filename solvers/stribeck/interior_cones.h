// The kernels of the interior-point method (interior.c). Points that follow each other and are
// bounded alike, or rows, go four at once, component by component. Cones, s[0] >= |s[1 ... axes]|,
// have duals z in the scaling of Nesterov and Todd.
#ifndef SPRAG_INTERIOR_CONES_H
#define SPRAG_INTERIOR_CONES_H

#include "lanes.h"
#include "linalg.h"
#include "system.h"

// A cone of friction, or the bound of a normal or a row, of each of four: s[0] = constant + by[0]
// p[0], s[k] = by[k] p[at[k]]. Fewer than two axes: `by` and the rest of s, z and w are 0. Lanes
// without one have s = z = (1, 0, 0), which nothing changes.
typedef struct cones {
    int at[3]; // components of s in p
    lanes s[3], z[3], ds[3], dz[3];
    lanes w[3], root; // W = root (2 v v' - J) of Nesterov and Todd, by w = (w0, w1)
    lanes l[3];       // W^-1 s = W z
    // 1 / root, 1 / (1 + w0), 1 / l0, 1 / (l0^2 - |l1|^2)
    lanes inverse_root, inverse_w, inverse_l, inverse_square;
    lanes by[3], constant;
    lanes shape[2], lag; // of friction that the normal impulse bounds; else 0
    lane_mask follow[3]; // dz is that of the laws: no other cone has the component
    lane_mask used;
} cones;

// Points, or rows.
typedef struct batch {
    struct batch *next;
    int n; // impulses of each: 3 or 6 of points, 1 of rows
    int first, count;
    int cones;
    cones *cone;
    lanes inverse_mass;   // 1/kg, of the normal or the row
    lanes *p, *dp;        // impulses, N s (N m s), and their change
    lanes *yield;         // m/s per N s
    lanes *rest, *change; // u + Y p, m/s, and its change
    lanes lag;            // which De Saxce and Feng add to the normal velocity
    lanes *D;             // (Y + A' W^-2 A)^-1, the lower half row by row; 0 where not free
    lane_mask free[6];    // impulses that their laws leave free
} batch;

// Sums over cones: a share x of an update leaves s'z at sum[0] + x sum[1] + x^2 sum[2].
typedef struct gaps {
    lanes sum[3];
    lanes share; // the largest that leaves all s and z in their cones
} gaps;

// Component of s[k] in the n of p: known to the compiler but where rolling adds cones.
INLINE int component(const cones *c, int n, int k)
{
    return n == 3 ? k : n == 1 ? 0 : c->at[k];
}

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
    lanes share = x[0] * sign + along * c->inverse_w;
    lanes size = inverse ? c->inverse_root : c->root;
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
INLINE void divide(const cones *c, const lanes x[3], lanes y[3])
{
    lanes along;
    dot_of(c->l, x, &along);
    y[0] = (2 * c->l[0] * x[0] - along) * c->inverse_square;
    for (int k = 1; k < 3; k++) {
        y[k] = (x[k] - y[0] * c->l[k]) * c->inverse_l;
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

// Duals where x > 0: on the central path at x.
INLINE void centre_duals(cones *c, const lanes *x)
{
    lanes d;
    determinant(c->s, &d);
    for (int k = 0; k < 3; k++) {
        const lanes z = (k ? -*x : *x) / d * c->s[k];
        c->z[k] = SELECT(*x > 0, z, c->z[k]);
    }
}

// Sets the scaling, and adds A' W^-2 A to the lower half of A. *lost: rounding has brought s or z
// to the boundary.
INLINE void scale_cones(cones *c, int n, lanes A[6][6], lane_mask *lost)
{
    lanes s, z, both;
    determinant(c->s, &s);
    determinant(c->z, &z);
    *lost |= ~((s > 0) & (z > 0));
    root_of(&s);
    root_of(&z);
    dot_of(c->s, c->z, &both);
    const lanes of_s = 1 / s, of_z = 1 / z;
    c->inverse_square = of_s * of_z; // l is as far from the boundary as s and z in the mean
    lanes half = 2 * (1 + both * c->inverse_square);
    root_of(&half);
    half = 1 / half;
    for (int k = 0; k < 3; k++) {
        c->w[k] = half * (c->s[k] * of_s + (k ? -c->z[k] : c->z[k]) * of_z);
    }
    const lanes size = z * of_s; // 1 / root^2
    c->root = s * of_z;
    root_of(&c->root);
    c->inverse_root = c->root * size;
    c->inverse_w = 1 / (1 + c->w[0]);
    apply(c, false, c->z, c->l);
    c->inverse_l = 1 / c->l[0];
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j <= i; j++) {
            lanes entry = (i > 0 && j == 0 ? -2.0 : 2.0) * c->w[i] * c->w[j];
            entry = i != j ? entry : i == 0 ? entry - 1 : entry + 1;
            A[component(c, n, i)][component(c, n, j)] += c->by[i] * c->by[j] * size * entry;
        }
    }
}

// Sets dz = W^-1 k, where W^-1 ds + W dz = k leads to the central path at mu, or to its end
// (predicts), and adds A' (dz + z) to e.
INLINE void want(cones *c, int n, bool predicts, double mu, lanes e[6])
{
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
    divide(c, x, k);
    apply(c, true, k, c->dz);
    for (int j = 0; j < 3; j++) {
        e[component(c, n, j)] += c->by[j] * (c->dz[j] + c->z[j]);
    }
}

// Sets ds, and dz = W^-1 k - W^-2 ds, where dz holds W^-1 k. Near the boundary of the cone W^-2 is
// so large that dz would be rounding: A' z = u + Y p + lag = x gives it where it has one solution.
INLINE void set_changes(cones *c, int n, const lanes *dp, const lanes x[6])
{
    lanes y[3], t[3];
    for (int k = 0; k < 3; k++) {
        c->ds[k] = c->by[k] * dp[component(c, n, k)];
    }
    apply(c, true, c->ds, t);
    apply(c, true, t, y);
    for (int k = 0; k < 3; k++) {
        const lanes by = SELECT(c->follow[k], c->by[k], ones);
        const lanes dz =
            SELECT(c->follow[k], x[component(c, n, k)] / by - c->z[k], c->dz[k] - y[k]);
        c->dz[k] = SELECT(c->used, dz, zeros);
    }
}

INLINE void add_gaps(const cones *c, gaps *g)
{
    lanes ends[2], middle, other;
    dot_of(c->s, c->z, &ends[0]);
    dot_of(c->s, c->dz, &middle);
    dot_of(c->ds, c->z, &other);
    dot_of(c->ds, c->dz, &ends[1]);
    middle = middle + other;
    g->sum[0] += SELECT(c->used, ends[0], zeros);
    g->sum[1] += middle;
    g->sum[2] += ends[1];
    shorten(c->s, c->ds, &g->share);
    shorten(c->z, c->dz, &g->share);
}

// Sets s where p is.
INLINE void set_slacks(cones *c, int n, const lanes *p)
{
    for (int k = 0; k < 3; k++) {
        c->s[k] = c->by[k] * p[component(c, n, k)];
    }
    c->s[0] += c->constant;
}

// Adds what friction adds to the normal velocity.
INLINE void add_lag(const cones *c, int n, const lanes *rest, lanes *lag)
{
    const lanes a = c->shape[0] * rest[component(c, n, 1)];
    const lanes b = c->shape[1] * rest[component(c, n, 2)];
    lanes size = a * a + b * b;
    root_of(&size);
    *lag += c->lag * size;
}

// ---- matrices of points and rows

// D = A^-1 of the first n rows and columns, symmetric positive definite, in lower halves row by
// row. false in a lane: it is not.
INLINE void invert_rows(lanes A[6][6], int n, lanes *D, lane_mask *positive)
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
            *D++ = sum;
        }
    }
}

// Entry of a lower half.
INLINE int entry(int i, int j)
{
    return i > j ? i * (i + 1) / 2 + j : j * (j + 1) / 2 + i;
}

// y = D x
INLINE void times(const lanes *D, int n, const lanes *x, lanes *y)
{
    for (int i = 0; i < n; i++) {
        y[i] = D[entry(i, 0)] * x[0];
        for (int j = 1; j < n; j++) {
            y[i] += D[entry(i, j)] * x[j];
        }
    }
}

// ---- batches. n is that of the batch, known to the compiler.

// Sets D. *lost: it is not.
INLINE void set_matrix(batch *b, int n, lane_mask *lost)
{
    lanes A[6][6];
    lane_mask positive = (lane_mask)(zeros == zeros);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) {
            A[i][j] = zeros;
        }
        A[i][i] = SELECT(b->free[i], b->yield[i], ones);
    }
    for (int i = 0; i < b->cones; i++) {
        scale_cones(&b->cone[i], n, A, lost);
    }
    invert_rows(A, n, b->D, &positive);
    *lost |= ~positive;
    for (int i = 0; i < n; i++) {
        b->D[entry(i, i)] = SELECT(b->free[i], b->D[entry(i, i)], zeros);
    }
}

// Loads the numbers of the points, or rows, from arrays of six, or one.
INLINE void load(const batch *b, int n, const double *from, lanes *to)
{
    const int wide = n == 1 ? 1 : 6;
    from += wide * b->first;
    if (n == 3 && b->count == LANES) {
        lanes four[LANES];
        load_four((const void *[]){from, from + 6, from + 12, from + 18}, 0, four);
        memcpy(to, four, 3 * sizeof *to);
        return;
    }
    for (int i = 0; i < n; i++) {
        to[i] = zeros;
        for (int l = 0; l < b->count; l++) {
            to[i][l] = from[wide * l + i];
        }
    }
}

INLINE void store(const batch *b, int n, const lanes *from, double *to)
{
    const int wide = n == 1 ? 1 : 6;
    to += wide * b->first;
    if (n == 3) {
        lanes four[LANES] = {from[0], from[1], from[2], zeros};
        transpose(four);
        for (int l = 0; l < b->count; l++) {
            memcpy(to + 6 * l, &four[l], sizeof four[l]);
        }
        return;
    }
    for (int l = 0; l < b->count; l++) {
        for (int i = 0; i < n; i++) {
            to[wide * l + i] = from[i][l];
        }
    }
}

// D of one point, or row, of the batch.
INLINE void unpack(const batch *b, int n, double G[LANES][6][6])
{
    for (int i = 0; i < n && n == 3; i++) {
        lanes row[LANES] = {b->D[entry(i, 0)], b->D[entry(i, 1)], b->D[entry(i, 2)], zeros};
        transpose(row);
        for (int l = 0; l < LANES; l++) {
            memcpy(G[l][i], &row[l], sizeof row[l]);
        }
    }
    for (int i = 0; i < n && n != 3; i++) {
        for (int j = 0; j < n; j++) {
            for (int l = 0; l < LANES; l++) {
                G[l][i][j] = b->D[entry(i, j)][l];
            }
        }
    }
}

// dp = D (A' (W^-1 k + z) - u - Y p - lag): the duals cancel.
INLINE void take_wanted(batch *b, int n, bool predicts, double mu)
{
    lanes e[6];
    for (int i = 0; i < n; i++) {
        e[i] = -b->rest[i];
    }
    e[0] -= b->lag;
    for (int i = 0; i < b->cones; i++) {
        want(&b->cone[i], n, predicts, mu, e);
    }
    times(b->D, n, e, b->dp);
}

// dp -= D du, and all other changes.
INLINE void take_changes(batch *b, int n, const lanes *du, gaps *g)
{
    lanes fall[6], x[6];
    times(b->D, n, du, fall);
    for (int i = 0; i < n; i++) {
        b->dp[i] -= fall[i];
        b->change[i] = SELECT(b->free[i], du[i] + b->yield[i] * b->dp[i], zeros);
        x[i] = b->rest[i] + b->change[i];
    }
    x[0] += b->lag;
    for (int i = 0; i < b->cones; i++) {
        set_changes(&b->cone[i], n, b->dp, x);
        add_gaps(&b->cone[i], g);
    }
}

// Takes a share of the update. gap: the largest product of 2 s'z and the inverse mass, J/kg;
// lack: of points, the largest error of the laws themselves, m/s.
INLINE void move(batch *b, int n, double share, lanes *gap, lanes *lack)
{
    lanes e[6], lag = zeros;
    for (int i = 0; i < n; i++) {
        b->p[i] += share * b->dp[i];
        b->rest[i] += share * b->change[i];
        e[i] = -b->rest[i];
    }
    for (int i = 0; i < b->cones; i++) {
        cones *c = &b->cone[i];
        lanes product;
        set_slacks(c, n, b->p);
        for (int k = 0; k < 3; k++) {
            c->z[k] += share * c->dz[k];
            e[component(c, n, k)] += c->by[k] * c->z[k];
        }
        dot_of(c->s, c->z, &product);
        product = 2 * product * b->inverse_mass;
        *gap = LARGER(product, *gap);
        add_lag(c, n, b->rest, &lag);
    }
    b->lag = lag;
    e[0] -= lag;
    for (int i = 0; i < n && n > 1 && i < 3; i++) {
        const lanes apart = ABS(e[i]);
        *lack = LARGER(apart, *lack);
    }
}

#endif
