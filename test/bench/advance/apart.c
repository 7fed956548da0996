// Distance of two solids by brute force over their features: the direction that separates them
// most, among all that can be it for two boxes. It shares no code with solvers/geometry/gap.c.
#include <math.h>

#include "bench_advance.h"

static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static double column_dot(const solid *s, int k, const double *n)
{
    return s->R[k] * n[0] + s->R[3 + k] * n[1] + s->R[6 + k] * n[2];
}

// Of a unit direction: how far the solid reaches along it, from its `at`.
static double reach(const solid *s, const double *n)
{
    double local[3], most = -INFINITY;
    for (int k = 0; k < 3; k++) {
        local[k] = column_dot(s, k, n);
    }
    if (s->kind == SOLID_BALL) {
        return s->radius;
    }
    if (s->kind == SOLID_BOX) {
        return fabs(local[0]) * s->half[0] + fabs(local[1]) * s->half[1] +
               fabs(local[2]) * s->half[2];
    }
    for (int i = 0; i < s->points; i++) {
        most = fmax(most, dot(local, s->point + 3 * i));
    }
    return most;
}

double solid_radius(const solid *s)
{
    double most = 0;
    switch (s->kind) {
    case SOLID_PLANE:
        return INFINITY;
    case SOLID_BALL:
        return s->radius;
    case SOLID_BOX:
        return sqrt(dot(s->half, s->half));
    case SOLID_POINTS:
        for (int i = 0; i < s->points; i++) {
            most = fmax(most, dot(s->point + 3 * i, s->point + 3 * i));
        }
    }
    return sqrt(most);
}

// Separation along n, whichever way round.
static double along(const solid *a, const solid *b, const double *n)
{
    double back[3] = {-n[0], -n[1], -n[2]}, from[3];
    for (int k = 0; k < 3; k++) {
        from[k] = b->at[k] - a->at[k];
    }
    double way = dot(n, from);
    return fmax(way - reach(a, n) - reach(b, back), -way - reach(a, back) - reach(b, n));
}

static double above_plane(const solid *plane, const solid *s)
{
    double down[3], from[3];
    for (int k = 0; k < 3; k++) {
        down[k] = -plane->R[3 * k + 2];
        from[k] = s->at[k] - plane->at[k];
    }
    return -dot(down, from) - reach(s, down);
}

static double ball_box(const solid *ball, const solid *box)
{
    double from[3], square = 0, inside = -INFINITY;
    for (int k = 0; k < 3; k++) {
        from[k] = ball->at[k] - box->at[k];
    }
    for (int k = 0; k < 3; k++) {
        double beyond = fabs(column_dot(box, k, from)) - box->half[k];
        inside = fmax(inside, beyond);
        square += beyond > 0 ? beyond * beyond : 0;
    }
    return (inside > 0 ? sqrt(square) : inside) - ball->radius;
}

// best, or more if the direction (of any length) separates more.
static double better(const solid *a, const solid *b, const double *direction, double best)
{
    double length = sqrt(dot(direction, direction));
    if (length < 1e-9) {
        return best; // parallel edges: a face tells as much
    }
    const double n[3] = {direction[0] / length, direction[1] / length, direction[2] / length};
    return fmax(best, along(a, b, n));
}

static double of_axes(const solid *a, const solid *b)
{
    double best = -INFINITY, line[3], axis[2][3][3];
    for (int k = 0; k < 3; k++) {
        line[k] = b->at[k] - a->at[k];
        for (int i = 0; i < 3; i++) {
            axis[0][k][i] = a->R[3 * i + k];
            axis[1][k][i] = b->R[3 * i + k];
        }
    }
    best = better(a, b, line, best);
    for (int k = 0; k < 3; k++) {
        best = better(a, b, axis[0][k], better(a, b, axis[1][k], best));
        for (int i = 0; i < 3; i++) {
            const double *p = axis[0][k], *q = axis[1][i];
            const double across[3] = {p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2],
                                      p[0] * q[1] - p[1] * q[0]};
            best = better(a, b, across, best);
        }
    }
    return best;
}

double solid_apart(const solid *a, const solid *b)
{
    if (b->kind == SOLID_PLANE || (b->kind == SOLID_BALL && a->kind == SOLID_BOX)) {
        const solid *swap = a;
        a = b;
        b = swap;
    }
    if (a->kind == SOLID_PLANE) {
        return b->kind == SOLID_PLANE ? INFINITY : above_plane(a, b);
    }
    if (a->kind == SOLID_BALL && b->kind == SOLID_BALL) {
        const double line[3] = {b->at[0] - a->at[0], b->at[1] - a->at[1], b->at[2] - a->at[2]};
        return sqrt(dot(line, line)) - a->radius - b->radius;
    }
    return a->kind == SOLID_BALL && b->kind == SOLID_BOX ? ball_box(a, b) : of_axes(a, b);
}

// ---- exact distances, of boxes that are apart: corners to boxes, edges to edges

static void corner_of(const solid *box, int corner, double p[3])
{
    for (int i = 0; i < 3; i++) {
        p[i] = box->at[i];
        for (int k = 0; k < 3; k++) {
            p[i] += box->R[3 * i + k] * (corner >> k & 1 ? box->half[k] : -box->half[k]);
        }
    }
}

static double between_zero_and_one(double x)
{
    return fmin(fmax(x, 0), 1);
}

// Of two segments p + s u and q + t v, s and t in [0,1].
static double segments(const double *p, const double *u, const double *q, const double *v)
{
    double r[3], way[3];
    for (int k = 0; k < 3; k++) {
        r[k] = q[k] - p[k];
    }
    double uu = dot(u, u), vv = dot(v, v), uv = dot(u, v), ur = dot(u, r), vr = dot(v, r);
    double across = uu * vv - uv * uv;
    double s = across > 1e-12 * uu * vv ? between_zero_and_one((ur * vv - vr * uv) / across) : 0;
    double t = between_zero_and_one((s * uv - vr) / vv);
    s = between_zero_and_one((t * uv + ur) / uu);
    for (int k = 0; k < 3; k++) {
        way[k] = r[k] + t * v[k] - s * u[k];
    }
    return sqrt(dot(way, way));
}

static double corners_to(const solid *box, const solid *other)
{
    double least = INFINITY;
    for (int corner = 0; corner < 8; corner++) {
        solid point = {.kind = SOLID_BALL};
        corner_of(box, corner, point.at);
        least = fmin(least, ball_box(&point, other));
    }
    return least;
}

// Edge 0 to 11: along axis edge / 4, from one of the four corners there.
static void edge_of(const solid *box, int edge, double from[3], double along_it[3])
{
    int axis = edge / 4, a = (axis + 1) % 3, b = (axis + 2) % 3;
    int corner = (edge & 1) << a | (edge >> 1 & 1) << b;
    corner_of(box, corner, from);
    for (int i = 0; i < 3; i++) {
        along_it[i] = 2 * box->half[axis] * box->R[3 * i + axis];
    }
}

double solid_boxes_distance(const solid *a, const solid *b)
{
    double least = fmin(corners_to(a, b), corners_to(b, a));
    for (int i = 0; i < 12; i++) {
        double p[3], u[3], q[3], v[3];
        edge_of(a, i, p, u);
        for (int k = 0; k < 12; k++) {
            edge_of(b, k, q, v);
            least = fmin(least, segments(p, u, q, v));
        }
    }
    return least;
}

// ---- chance: splitmix64

double chance_between(chance *c, double low, double high)
{
    uint64_t z = c->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return low + (high - low) * (double)((z ^ (z >> 31)) >> 11) / 9007199254740992.0;
}

void chance_turn_by(const double q[4], double R[9])
{
    const double w = q[0], x = q[1], y = q[2], z = q[3];
    const double turn[9] = {
        1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
        2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
        2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)};
    for (int k = 0; k < 9; k++) {
        R[k] = turn[k];
    }
}

void chance_turn(chance *c, double R[9])
{
    double q[4], length = 0;
    for (int k = 0; k < 4; k++) {
        q[k] = chance_between(c, -1, 1);
        length += q[k] * q[k];
    }
    for (int k = 0; k < 4; k++) {
        q[k] /= sqrt(length);
    }
    chance_turn_by(q, R);
}
