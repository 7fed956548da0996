// A bound of second order for shapes that stay well apart. A plane that one of them carries
// supports it at all times; each point of the other comes down to that plane by what it does now,
// which is linear in the point, and by what both motions curve.
#include "certificate.h"

#include <float.h>

#include "core_gap.h"
#include "toi_pair.h"

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
    const double spin = sprag_carried_spin(carried);
    moving m = {.core = *core, .v = v, .w = spin > 0 ? v + 3 : still, .spin = spin};
    if (carried->motion) {
        subtract3(carried->motion->pose.position, at, m.centre);
    }
    return m;
}

// m, how far a core reaches along a direction of any length, times that length.
static double highest(const sprag_core *core, const double d[3])
{
    double point[3] = {core->at[0], core->at[1], core->at[2]};
    sprag_core_support(core, d, point);
    return dot3(d, point);
}

// Do all points of a shape stay above the plane that the other one carries? out: its normal.
static bool stays_above(const moving *of, const moving *carrier, const double out[3], double level,
                        double t)
{
    double v[3], axis[3], turn[2][3], down[3] = {-out[0], -out[1], -out[2]};
    sprag_core_axis(&carrier->core, axis);
    if (of->core.shape->kind == SPRAG_PLANE ||
        (carrier->core.shape->kind == SPRAG_PLANE && dot3(axis, out) < 1 - 4 * DBL_EPSILON)) {
        return false; // a half-space has a plane of its own only
    }
    cross3(of->w, out, turn[0]);
    cross3(carrier->w, out, turn[1]);
    subtract3(of->v, carrier->v, v);
    const double rate = dot3(out, v) + dot3(turn[0], of->centre) - dot3(turn[1], carrier->centre);
    double least = -highest(&of->core, down);
    add_scaled(down, t, turn[0], 3);
    add_scaled(down, -t, turn[1], 3);
    least = fmin(least, rate * t - highest(&of->core, down)) - level -
            sprag_core_margin(&of->core) - sprag_core_margin(&carrier->core) -
            highest(&carrier->core, out);
    if (!(least > 0)) {
        return false;
    }
    const double reach = of->spin > 0 ? sprag_core_farthest(&of->core, of->centre) : 0,
                 far = carrier->spin > 0 ? sprag_core_farthest(&of->core, carrier->centre) : 0,
                 speed = norm3(v) + of->spin * reach, tilt = norm3(turn[1]),
                 curve = carrier->spin * tilt * (far + speed * t) + 2 * tilt * speed +
                         of->spin * (norm3(turn[0]) + of->spin * tilt * t) * reach;
    return least > curve * t * t / 2;
}

bool sprag_stay_apart(const sprag_carried pair[2], const sprag_pose *const pose[2],
                      const double normal[3], double level, double horizon)
{
    const sprag_shape *const shape[2] = {pair[0].shape, pair[1].shape};
    const double back[3] = {-normal[0], -normal[1], -normal[2]};
    sprag_core core[2];
    if (!sprag_cores_set(shape, pose, core)) {
        return false;
    }
    const moving m[2] = {moving_of(&pair[0], &core[0], pose[0]->position),
                         moving_of(&pair[1], &core[1], pose[0]->position)};
    return stays_above(&m[0], &m[1], normal, level, horizon) ||
           stays_above(&m[1], &m[0], back, level, horizon);
}
