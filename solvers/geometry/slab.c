// Heights of a slab, and Newton's method for the normal that makes them largest.
#include "slab.h"

#include <float.h>
#include <math.h>

#include "linalg.h"
#include "tolerances.h"

int sprag_slab_edges(const sprag_slab_hull *h, const sprag_slab_feature *f, double edge[][3])
{
    for (int i = 1; i < f->count; i++) {
        subtract3(h->about[f->pick[i]], h->about[f->pick[0]], edge[i - 1]);
    }
    return f->count - 1;
}

// ---- heights

double sprag_slab_radial(const sprag_slab_hull *h, const double n[3], double p[3])
{
    double x = dot3(h->across[0], n), y = dot3(h->across[1], n), length = sqrt(x * x + y * y);
    for (int k = 0; k < 3; k++) {
        p[k] = length > 0 ? (x * h->across[0][k] + y * h->across[1][k]) / length : 0;
    }
    return length;
}

static double radius_height(const sprag_slab_hull *h, const double n[3])
{
    double p[3];
    return h->radius > 0 ? h->radius * sprag_slab_radial(h, n, p) : 0;
}

double sprag_slab_height(const sprag_slab_hull hull[2], const double n[3])
{
    double least = INFINITY, most = -INFINITY;
    for (int i = 0; i < hull[0].count; i++) {
        least = fmin(least, dot3(n, hull[0].at[i]));
    }
    for (int i = 0; i < hull[1].count; i++) {
        most = fmax(most, dot3(n, hull[1].at[i]));
    }
    return least - most - radius_height(&hull[0], n) - radius_height(&hull[1], n);
}

// The height without vertices that are not active, which is smooth in n, and what n leaves of it.
typedef struct smooth {
    double s;                  // m
    double p[2][3], radial[2]; // of cylinders: as sprag_slab_radial returns them
} smooth;

static smooth smooth_height(const sprag_slab_hull hull[2], const double c[3], const double n[3])
{
    smooth at;
    double round[2] = {0};
    for (int side = 0; side < 2; side++) {
        if (hull[side].radius > 0) {
            at.radial[side] = sprag_slab_radial(&hull[side], n, at.p[side]);
            round[side] = hull[side].radius * at.radial[side];
        }
    }
    at.s = dot3(n, c) - round[0] - round[1];
    return at;
}

// ---- Newton's method on the unit sphere, or on its circle at right angles to an edge

static bool project_unit(double n[3], const double *edge)
{
    if (edge) {
        double ee = dot3(edge, edge);
        for (int i = 0; i < 2; i++) {
            add_scaled(n, -dot3(edge, n) / ee, edge, 3);
        }
    }
    return normalise3(n);
}

// The height is not smooth where the normal is a cylinder's axis, and steps towards it, or towards
// its wrong side, become ever shorter. Moves a normal near the axis to the side that the height
// rises to. true: it falls to all sides, so the cap touches and its slab is the highest.
static bool leave_axis(const sprag_slab_hull hull[2], int side, const double c[3], double n[3],
                       smooth *at)
{
    double axis[3] = {0}, p[3], to[3] = {c[0], c[1], c[2]};
    if (!(hull[side].radius > 0) || at->radial[side] > SPRAG_SLAB_NEAR_AXIS) {
        return false;
    }
    add_scaled(axis, copysign(1, dot3(n, hull[side].axis)), hull[side].axis, 3);
    if (hull[!side].radius > 0) {
        sprag_slab_radial(&hull[!side], axis, p);
        add_scaled(to, -hull[!side].radius, p, 3);
    }
    if (sprag_slab_radial(&hull[side], to, p) <= hull[side].radius) {
        return true;
    }
    for (double angle = SPRAG_SLAB_CROSS; angle > SPRAG_SLAB_CROSS_LEAST; angle /= 2) {
        double moved[3] = {axis[0], axis[1], axis[2]};
        add_scaled(moved, angle, p, 3);
        normalise3(moved);
        const smooth there = smooth_height(hull, c, moved);
        if (there.s > at->s) {
            memcpy(n, moved, sizeof moved);
            *at = there;
            break;
        }
    }
    return false;
}

// The height about a normal to second order.
typedef struct slopes {
    double t[2][3]; // unit, tangents of the sphere; on the circle of an edge only the first
    double s;       // m, height
    double b[2];    // m, its slopes along the tangents
    double M[3]; // m, entries 00, 01, 11 of the radii's part; the Hessian on the sphere is -(M + s)
} slopes;

static void set_tangents(const double n[3], const double *edge, double t[2][3])
{
    memset(t[1], 0, sizeof t[1]);
    if (edge) {
        cross3(edge, n, t[0]);
        normalise3(t[0]);
    } else {
        sprag_any_across(n, t[0]);
        cross3(n, t[0], t[1]);
    }
}

// false: the normal is along a cylinder's axis.
static bool set_slopes(const sprag_slab_hull hull[2], const double c[3], const double *edge,
                       const double n[3], const smooth *here, slopes *at)
{
    double g[3] = {c[0], c[1], c[2]};
    set_tangents(n, edge, at->t);
    memset(at->M, 0, sizeof at->M);
    for (int side = 0; side < 2; side++) {
        if (hull[side].radius > 0) {
            const double *p = here->p[side], length = here->radial[side];
            double q[3];
            if (!(length > SPRAG_SLAB_AT_AXIS)) {
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

// Newton's step, m per m along the tangents; where the Hessian is not negative definite, a step
// uphill. Returns its length, rad.
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

typedef enum progress { UPHILL, TRUSTED, STALLED, FAILED } progress;

// One damped Newton step. Steps too short for heights to tell progress from rounding are taken
// unchecked: TRUSTED if the full step was, STALLED if it had to be halved.
static progress go_uphill(const sprag_slab_hull hull[2], const double c[3], const double *edge,
                          double size, const slopes *at, double n[3], smooth *here, int *work)
{
    double step[2], length = newton_step(at, edge, step), moved[3];
    if (!isfinite(length)) {
        return FAILED;
    }
    double part = length > 1 ? 1 / length : 1;
    for (int halving = 0; halving <= SPRAG_SLAB_HALVINGS; halving++, part /= 2) {
        ++*work;
        memcpy(moved, n, sizeof moved);
        add_scaled(moved, part * step[0], at->t[0], 3);
        add_scaled(moved, part * step[1], at->t[1], 3);
        if (!project_unit(moved, edge)) {
            return FAILED;
        }
        const smooth there = smooth_height(hull, c, moved);
        double change = there.s - here->s;
        bool tiny = part * length < SPRAG_SLAB_TRUSTED && change >= -16 * DBL_EPSILON * size;
        if (change > 0 || tiny) {
            memcpy(n, moved, sizeof moved);
            *here = there;
            return !tiny ? UPHILL : halving == 0 ? TRUSTED : STALLED;
        }
    }
    return FAILED;
}

bool sprag_slab_maximise(const sprag_slab_hull hull[2], const double c[3], const double *edge,
                         double size, const sprag_slab_cone *cone, double n[3], int *work)
{
    const int stalls = cone->cosine > 0 ? SPRAG_SLAB_STALLS_INSIDE : SPRAG_SLAB_STALLS;
    slopes at;
    int trusted = 0, stalled = 0;
    bool good = project_unit(n, edge);
    smooth here = smooth_height(hull, c, n);
    for (int i = 0; i < SPRAG_SLAB_NEWTON && good; i++) {
        if (dot3(n, cone->near) < cone->cosine) {
            return true;
        }
        for (int side = 0; side < 2 && !edge; side++) {
            if (leave_axis(hull, side, c, n, &here)) {
                return true;
            }
        }
        good = set_slopes(hull, c, edge, n, &here, &at);
        if (good && hypot(at.b[0], at.b[1]) <= DBL_EPSILON * size) {
            return true;
        }
        progress made = good ? go_uphill(hull, c, edge, size, &at, n, &here, work) : FAILED;
        trusted += made == TRUSTED;
        stalled += made == STALLED;
        good = made != FAILED;
        if (trusted == 2 || stalled == stalls) {
            return true;
        }
    }
    return false;
}

void sprag_slab_start(const sprag_slab_hull hull[2], const double c[3], double n[3])
{
    int rims = (hull[0].radius > 0) + (hull[1].radius > 0);
    for (int i = 0; i < (rims > 1 ? 6 : 1); i++) {
        int side = rims > 1 ? i & 1 : hull[1].radius > 0;
        double to[3] = {c[0], c[1], c[2]}, p[3];
        if (hull[!side].radius > 0) {
            sprag_slab_radial(&hull[!side], n, p);
            add_scaled(to, -hull[!side].radius, p, 3);
        }
        // In the plane of the axis and the rim's nearest point; exact even for a small gap.
        double out = sprag_slab_radial(&hull[side], to, p) - hull[side].radius;
        double up = dot3(hull[side].axis, to), far = hypot(out, up);
        for (int k = 0; k < 3 && out > 0; k++) {
            n[k] = (up * hull[side].axis[k] + out * p[k]) / far;
        }
    }
}
