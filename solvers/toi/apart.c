// A bound of second order for shapes that stay well apart. A plane that one of them carries
// supports it at all times; each point of the other comes down to that plane by what it does now,
// which is linear in the point, and by what both motions curve.
#include "certificate.h"

#include <float.h>

#include "core_gap.h"

typedef struct moving {  // a shape
    sprag_core core;     // about the position of shape 0
    double centre[3];    // m, of its body
    const double *v, *w; // m/s, rad/s, of its body
    double spin;         // rad/s
} moving;

static moving moving_of(const sprag_carried *carried, const sprag_core *core, const double at[3])
{
    static const double still[6];
    const double *v = carried->motion ? carried->motion->velocity : still;
    moving m = {.core = *core, .v = v, .w = v + 3, .spin = norm3(v + 3)};
    if (carried->motion) {
        subtract3(carried->motion->pose.position, at, m.centre);
    }
    return m;
}

// m, how far a core reaches along a direction of any length, times that length. ends: of a cylinder
// the middles of its ends alone.
static double highest(const sprag_core *core, const double d[3], bool ends)
{
    const sprag_shape *shape = core->shape;
    const double at = dot3(d, core->at);
    double local[3];
    if (shape->kind == SPRAG_POLYTOPE) {
        sprag_core_support(core, d, local);
        return dot3(d, local);
    }
    if (shape->kind == SPRAG_SPHERE || shape->kind == SPRAG_PLANE) {
        return at;
    }
    mul33_transposed(core->rotation, d, local);
    const double high = at + shape->half[2] * fabs(local[2]);
    if (shape->kind == SPRAG_BOX) {
        return high + shape->half[0] * fabs(local[0]) + shape->half[1] * fabs(local[1]);
    }
    return shape->kind == SPRAG_CYLINDER && !ends
               ? high + shape->radius * sqrt(local[0] * local[0] + local[1] * local[1])
               : high;
}

// m, of a core, or of the axis of a cylinder, about a point.
static double farthest(const sprag_core *core, const double from[3])
{
    const sprag_shape *shape = core->shape;
    const double *half = shape->half;
    double off[3], at[3], most = 0;
    if (shape->kind != SPRAG_POLYTOPE) {
        subtract3(core->at, from, off);
        return norm3(off) + (shape->kind == SPRAG_SPHERE ? 0
                             : shape->kind == SPRAG_BOX  ? norm3(half)
                                                         : half[2]);
    }
    for (int i = 0; i < shape->polytope->vertices; i++) {
        sprag_core_vertex(core, i, at);
        subtract3(at, from, off);
        most = fmax(most, dot3(off, off));
    }
    return sqrt(most);
}

// m, by which the rim of a cylinder reaches beyond the middle of its end, at most, while its axis
// turns. bend: 1/s^2, by which the cosine of axis and plane may curve.
static double rim_of(const moving *of, const moving *carrier, const double out[3], double bend,
                     double t)
{
    double axis[3], w[3], turned[3];
    if (of->core.shape->kind != SPRAG_CYLINDER) {
        return 0;
    }
    sprag_core_axis(&of->core, axis);
    subtract3(of->w, carrier->w, w);
    cross3(w, axis, turned);
    const double along = fabs(dot3(out, axis)) - (fabs(dot3(out, turned)) + bend * t / 2) * t;
    return of->core.shape->radius * sqrt(fmax(0, 1 - fmax(0, along) * fmax(0, along)));
}

// A half-space has a plane of its own only.
static bool supports(const sprag_core *core, const double out[3])
{
    double axis[3];
    sprag_core_axis(core, axis);
    return core->shape->kind != SPRAG_PLANE || dot3(axis, out) > 1 - 4 * DBL_EPSILON;
}

// Do all points of a shape stay above the plane that the other one carries? out: its normal.
static bool stays_above(const moving *of, const moving *carrier, const double out[3], double level,
                        double t)
{
    double v[3], turn[2][3], down[3] = {-out[0], -out[1], -out[2]};
    if (of->core.shape->kind == SPRAG_PLANE || !supports(&carrier->core, out)) {
        return false;
    }
    cross3(of->w, out, turn[0]);
    cross3(carrier->w, out, turn[1]);
    subtract3(of->v, carrier->v, v);
    const double rate = dot3(out, v) + dot3(turn[0], of->centre) - dot3(turn[1], carrier->centre);
    double least = -highest(&of->core, down, true);
    add_scaled(down, t, turn[0], 3);
    add_scaled(down, -t, turn[1], 3);
    least = fmin(least, rate * t - highest(&of->core, down, true));
    const double both = of->spin + carrier->spin;
    double below = highest(&carrier->core, out, false) + level + sprag_core_margin(&of->core) +
                   sprag_core_margin(&carrier->core) + rim_of(of, carrier, out, both * both, t);
    if (!(least > below)) {
        return false;
    }
    const double reach = of->spin > 0 ? farthest(&of->core, of->centre) : 0,
                 far = carrier->spin > 0 ? farthest(&of->core, carrier->centre) : 0,
                 speed = norm3(v) + of->spin * reach, tilt = norm3(turn[1]),
                 curve = carrier->spin * tilt * (far + speed * t) + 2 * tilt * speed +
                         of->spin * (norm3(turn[0]) + of->spin * tilt * t) * reach;
    return least - curve * t * t / 2 > below;
}

bool sprag_stay_apart(const sprag_carried pair[2], const sprag_pose *const pose[2],
                      const double normal[3], double level, double horizon)
{
    const sprag_shape *const shape[2] = {pair[0].shape, pair[1].shape};
    sprag_core core[2];
    double back[3];
    if (!sprag_cores_set(shape, pose, core)) {
        return false;
    }
    const moving m[2] = {moving_of(&pair[0], &core[0], pose[0]->position),
                         moving_of(&pair[1], &core[1], pose[0]->position)};
    scale3(-1, normal, back);
    return stays_above(&m[0], &m[1], normal, level, horizon) ||
           stays_above(&m[1], &m[0], back, level, horizon);
}
