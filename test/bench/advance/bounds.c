// The paper's bound of the speed of a chain's last link along a direction (equations 11 to 14),
// against chains that move at constant joint rates from a base at constant velocity. "As drawn":
// links behind a sliding joint have no offset to the side. "Anywhere": with such offsets, which the
// equations do not include. The equations also omit the travel of the last joint, if it slides,
// from the levers of the joints before. "Mended": bounds.h.
#include <math.h>

#include "bench_advance.h"
#include "bounds.h"

enum { JOINTS = 6, TRIALS = 1000000, LOOKS = 4 };

typedef struct link {
    bool slides;
    double offset[3]; // m, of the joint, in the axes of the link before, from its frame
    double axis[3];   // unit
    double q, rate;   // rad or m, per s
} link;

typedef struct arm {
    int joints;
    link link[JOINTS];
    double velocity[6]; // of the base, at its frame
    double radius;      // m, the last link lies within twice that of its joint
    double point[3];    // m, of the last link
} arm;

static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static double size(const double *a)
{
    return sqrt(dot(a, a));
}

// v turned about a unit axis.
static void turned(const double axis[3], double angle, double v[3])
{
    double c = cos(angle), s = sin(angle), along = dot(axis, v) * (1 - c);
    const double across[3] = {axis[1] * v[2] - axis[2] * v[1], axis[2] * v[0] - axis[0] * v[2],
                              axis[0] * v[1] - axis[1] * v[0]};
    for (int k = 0; k < 3; k++) {
        v[k] = c * v[k] + s * across[k] + along * axis[k];
    }
}

// Computes the point at time t in the base's frame at 0, joint by joint from the last one inwards.
static void point_at(const arm *a, double t, double at[3])
{
    for (int k = 0; k < 3; k++) {
        at[k] = a->point[k];
    }
    for (int j = a->joints - 1; j >= 0; j--) {
        const link *l = &a->link[j];
        double q = l->q + t * l->rate;
        if (!l->slides) {
            turned(l->axis, q, at);
        }
        for (int k = 0; k < 3; k++) {
            at[k] += l->offset[k] + (l->slides ? q * l->axis[k] : 0);
        }
    }
    double spin = size(a->velocity + 3);
    if (spin > 0) {
        const double axis[3] = {a->velocity[3] / spin, a->velocity[4] / spin,
                                a->velocity[5] / spin};
        turned(axis, t * spin, at);
    }
    for (int k = 0; k < 3; k++) {
        at[k] += t * a->velocity[k];
    }
}

// m, in 1 s, along d. Equations 11 to 14 to the letter.
static double published(const arm *a, const double d[3])
{
    double sum = fabs(dot(a->velocity, d)), lever = 2 * a->radius; // gamma of the last joint
    for (int j = a->joints - 1; j >= 0; j--) {
        const link *l = &a->link[j];
        if (j < a->joints - 1) {
            lever += l->slides ? fabs(l->q) + fabs(l->rate) : size(a->link[j + 1].offset);
        }
        sum += fabs(l->rate) * (l->slides ? 1 : lever);
    }
    return sum + size(a->velocity + 3) * lever;
}

// The same by ours, which must hold.
static double mended(const arm *a, const double d[3])
{
    sprag_bound_joint joint[JOINTS];
    for (int j = 0; j < a->joints; j++) {
        const link *l = &a->link[j];
        const double *next = j + 1 < a->joints ? a->link[j + 1].offset : NULL;
        double along = next && l->slides ? dot(next, l->axis) : 0;
        double length = next ? sqrt(fmax(dot(next, next) - along * along, 0)) : 0;
        joint[j] = (sprag_bound_joint){l->slides ? SPRAG_BOUND_SLIDES : SPRAG_BOUND_TURNS,
                                       l->q + along, l->rate, length};
    }
    sprag_bound_chain chain = {.joints = a->joints, .joint = joint, .radius = a->radius};
    for (int k = 0; k < 6; k++) {
        chain.velocity[k] = a->velocity[k];
    }
    return sprag_bound_link(&chain, d);
}

static void unit(chance *c, double v[3])
{
    double length;
    do {
        for (int k = 0; k < 3; k++) {
            v[k] = chance_between(c, -1, 1);
        }
        length = size(v);
    } while (length > 1 || length < 0.1);
    for (int k = 0; k < 3; k++) {
        v[k] /= length;
    }
}

static arm random_arm(chance *c, bool as_drawn)
{
    arm a = {.joints = 1 + (int)chance_between(c, 0, JOINTS), .radius = chance_between(c, 0, 1)};
    bool fixed = chance_between(c, 0, 1) < 0.3;
    for (int k = 0; k < 6 && !fixed; k++) {
        a.velocity[k] = chance_between(c, -2, 2);
    }
    for (int j = 0; j < a.joints; j++) {
        link *l = &a.link[j];
        l->slides = chance_between(c, 0, 1) < 0.4;
        unit(c, l->axis);
        l->q = chance_between(c, -2, 2);
        l->rate = chance_between(c, -3, 3);
        bool offset = j > 0 && (!as_drawn || !a.link[j - 1].slides);
        for (int k = 0; k < 3 && offset; k++) {
            l->offset[k] = chance_between(c, -1, 1);
        }
    }
    double far = 2 * a.radius * chance_between(c, 0.9, 1);
    unit(c, a.point);
    for (int k = 0; k < 3; k++) {
        a.point[k] *= far;
    }
    return a;
}

typedef double bound_fn(const arm *, const double d[3]);

typedef struct trials {
    long violated;
    double most; // share of the bound, largest
} trials;

// Share of the bound that the point uses.
static double share_used(const arm *a, const double d[3], bound_fn *bound_of)
{
    double from[3], to[3], worst = 0, bound = bound_of(a, d);
    point_at(a, 0, from);
    for (int k = 1; k <= LOOKS; k++) {
        double t = (double)k / LOOKS;
        point_at(a, t, to);
        worst = fmax(worst, fabs(dot(to, d) - dot(from, d)) / (t * bound));
    }
    return worst;
}

static trials try_bounds(bool as_drawn, bound_fn *bound_of)
{
    chance c = {11};
    trials found = {0};
    for (long n = 0; n < TRIALS; n++) {
        arm a = random_arm(&c, as_drawn);
        double d[3];
        unit(&c, d);
        double used = share_used(&a, d, bound_of);
        found.violated += used > 1;
        found.most = fmax(found.most, used);
    }
    return found;
}

void part_bounds(bool full)
{
    (void)full;
    trials drawn = try_bounds(true, published), anywhere = try_bounds(false, published);
    trials ours = try_bounds(false, mended);
    row_scene("equations 11 to 14");
    row_report("trials", TRIALS);
    row_report("as drawn: violated", (double)drawn.violated);
    row_report("as drawn: share used, most", drawn.most);
    row_report("anywhere: violated", (double)anywhere.violated);
    row_report("anywhere: share used, most", anywhere.most);
    row_at_most("anywhere, mended: violated", (double)ours.violated, 0);
    row_report("anywhere, mended: share, most", ours.most);
}
