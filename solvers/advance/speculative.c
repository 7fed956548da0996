// Speculative contacts for pairs that block a sub-step, and dips: a contact is solved for straight
// motion, but points on turning bodies move along curves, so contacts ask for the difference.
#include <math.h>
#include <string.h>

#include "advance_run.h"
#include "linalg.h"

static bool is_round(const sprag_carried *carried)
{
    return carried->shape->kind == SPRAG_SPHERE || carried->shape->kind == SPRAG_CAPSULE;
}

// The place of a point on the rim of a cylinder, in the axes of the shape; false: it is not there.
static bool on_rim(const sprag_carried *carried, const double at[3], double slack, double place[3])
{
    const sprag_shape *shape = carried->shape;
    sprag_pose pose;
    if (shape->kind != SPRAG_CYLINDER) {
        return false;
    }
    sprag_carried_at(carried, 0, &pose);
    sprag_pose_local(&pose, at, place);
    return fabs(hypot(place[0], place[1]) - shape->radius) < slack;
}

// m, by which the lowest point of a rim, along a normal after t (s), is below the point that was
// lowest: what rolls on its rim touches with another point at every moment. 0: the point was not
// the lowest, or another part of the rim comes down.
static double rim_drop(const advance_near *near, const advance_point *point, int side, double t,
                       const double normal[3])
{
    const sprag_carried *carried = near->carried[side];
    const double radius = carried->shape->radius, sign = side ? 1 : -1;
    const double *const along[2] = {point->normal, normal};
    double place[3], down[2][3], below[2], length[2];
    if (!on_rim(carried, point->at[side], advance_rim_slack * radius, place)) {
        return 0;
    }
    place[2] = 0;
    for (int i = 0; i < 2; i++) {
        sprag_pose pose;
        double from[3];
        sprag_carried_at(carried, i * t, &pose);
        const double axis[3] = {pose.rotation[2], pose.rotation[5], pose.rotation[8]};
        memcpy(down[i], along[i], sizeof down[i]);
        add_scaled(down[i], -dot3(axis, along[i]), axis, 3);
        mul33(pose.rotation, place, from);
        length[i] = norm3(down[i]);
        below[i] = radius * length[i] - sign * dot3(down[i], from);
    }
    const bool rolls = below[0] <= advance_rim_slack * radius * length[0] &&
                       dot3(down[0], down[1]) >= advance_rim_ahead * length[0] * length[1];
    return rolls ? below[1] : 0;
}

// m, heights of point 0 above point 1 after t (s) along the normal, which turns with side 0, with
// side 1, or with none. A round side touches with another point at every moment: the centre of its
// curvature is followed instead, and from there a point as deep as the other body reaches, in a
// direction that does not turn. Where the surface is flatter than that body is large, other places
// of it touch next, and get contacts of their own. Of a rim the lowest point is followed.
static void heights_at(const advance_near *near, const advance_point *point, double t,
                       double height[3])
{
    double normal[3][3], between[3], depth = 0;
    subtract3(point->at[0], point->at[1], between);
    for (int side = 0; side < 2; side++) {
        const sprag_motion *motion = near->carried[side]->motion;
        const double most = near->radius[!side] > 0 ? near->radius[!side] : INFINITY; // 0: still
        const double radius =
            is_round(near->carried[side]) ? near->carried[side]->shape->radius : 0;
        const double sign = side ? -1 : 1;
        memcpy(normal[side], point->normal, sizeof normal[side]);
        depth += fmin(radius, most);
        if (motion) {
            double turn[3], R[9], arm[3], turned[3];
            scale3(t, motion->velocity + 3, turn);
            sprag_exponential(turn, R);
            mul33(R, point->normal, normal[side]);
            subtract3(point->at[side], motion->pose.position, arm);
            add_scaled(arm, sign * radius, point->normal, 3);
            mul33(R, arm, turned);
            add_scaled(turned, -1, arm, 3);
            add_scaled(turned, t, motion->velocity, 3);
            add_scaled(between, sign, turned, 3);
        }
    }
    memcpy(normal[2], point->normal, sizeof normal[2]);
    add_scaled(between, depth, point->normal, 3);
    for (int i = 0; i < 3; i++) {
        height[i] = dot3(normal[i], between) - depth;
        for (int side = 0; side < 2; side++) {
            height[i] -= side == i ? 0 : rim_drop(near, point, side, t, normal[i]);
        }
    }
}

// m, upper bound of what centripetal acceleration, and sliding along a turning body, curve the
// motion of the pair by within the sub-step. The surface of a ball stays where it is as the ball
// turns, and a round side is followed no deeper than the other body reaches.
static double largest_curve(const advance_run *run, const advance_near *near)
{
    double turn = 0, curve = 0, reach = 0, slide[3] = {0}, t = run->attempt.length;
    for (int side = 0; side < 2; side++) {
        const sprag_carried *carried = near->carried[side];
        const double other = near->radius[!side], own = near->radius[side];
        const double depth = is_round(carried) && other > 0 ? fmin(own, other) : own;
        const double w = sprag_carried_spin(carried);
        turn += w;
        curve += w > 0 ? w * w * depth : 0;
        reach += depth;
        if (carried->motion) {
            add_scaled(slide, side ? -1 : 1, carried->motion->velocity, 3);
        }
    }
    curve += turn > 0 ? turn * turn * reach : 0;
    return (curve + 2 * turn * norm3(slide)) * t * t;
}

// m, by which the gap of a point at the end is less than by straight motion:
// above the separating plane that blocks the pair, or else of the side that gives the smaller dip.
// A round side carries no plane.
static double dip_of(const advance_run *run, const advance_point *point)
{
    const advance_near *near = &run->near[point->pair];
    const sprag_certificate *c = &near->certificate;
    if (largest_curve(run, near) <= advance_straight * run->level) {
        return 0;
    }
    const double t = run->attempt.length,
                 rate = advance_rate(near, (const double(*)[3])point->at, point->normal);
    const bool blocked =
        c->time > 0 && c->time < INFINITY && c->side >= 0 && !is_round(near->carried[!c->side]);
    double end[3], least = INFINITY;
    heights_at(near, point, t, end);
    for (int i = 0; i < 3; i++) {
        bool carries =
            i < 2 ? !is_round(near->carried[i]) && (!blocked || i != c->side) : isinf(least);
        if (carries) {
            least = fmin(least, fmax(point->gap + rate * t - end[i], 0));
        }
    }
    return least;
}

// Has a rim rolled on from this point to what blocks a pair?
static bool has_rolled_on(const advance_near *near, const advance_point *point, double size)
{
    const sprag_certificate *c = &near->certificate;
    const sprag_carried *carried = near->carried[c->side];
    const double radius = carried->shape->radius;
    double a[3], b[3];
    return on_rim(carried, point->at[c->side], size, a) && on_rim(carried, c->point, size, b) &&
           fabs(a[2] - b[2]) < size &&
           a[0] * b[0] + a[1] * b[1] > advance_rim_ahead * radius * radius;
}

// The point at the place and with the normal of what blocks a pair; NULL: no point. rolled: or at
// the place that a rim has rolled on from.
static advance_point *blocking_point(const advance_run *run, int pair, bool rolled)
{
    static const double aligned = 1 - 1e-4;
    const advance_near *near = &run->near[pair];
    const sprag_certificate *c = &near->certificate;
    double size = 1e-6 + 1e-3 * fmax(near->radius[0], near->radius[1]);
    advance_point *best = NULL;
    double nearest = size * size;
    for (int i = 0; i < run->points.count; i++) {
        advance_point *point = &run->points.point[i];
        double d[3];
        if (point->pair != pair || !(dot3(point->normal, c->normal) > aligned)) {
            continue;
        }
        subtract3(point->at[c->side], c->point, d);
        if (dot3(d, d) < nearest) {
            nearest = dot3(d, d);
            best = point;
        } else if (rolled && !best && has_rolled_on(near, point, size)) {
            best = point;
        }
    }
    return best;
}

void advance_begin_attempt(advance_run *run, double length)
{
    run->points.count = run->points.closed;
    run->attempt.length = length;
    for (int i = 0; i < run->points.count; i++) {
        run->points.point[i].dip = dip_of(run, &run->points.point[i]);
    }
}

// Increases the dips of a closed pair's points, from *at on, to those of the motion.
// false: no dip grew.
static bool update_dips(advance_run *run, int pair, int *at)
{
    bool changed = false;
    double small = 0.1 * run->options->epsilon;
    for (; *at < run->points.closed && run->points.point[*at].pair == pair; ++*at) {
        advance_point *point = &run->points.point[*at];
        double dip = dip_of(run, point);
        changed |= dip > point->dip + small;
        point->dip = fmax(point->dip, dip);
    }
    return changed;
}

// The point that what blocks a pair comes down to: of the plane, or of a round side, whose plane
// does not turn with it, of its surface.
static void point_below(const advance_near *near, double at[3])
{
    const sprag_certificate *c = &near->certificate;
    const int side = !c->side;
    const sprag_carried *carried = near->carried[side];
    memcpy(at, c->point, sizeof c->point);
    add_scaled(at, side ? -c->height : c->height, c->normal, 3);
    if (is_round(carried)) {
        sprag_pose pose;
        double from[3];
        sprag_carried_at(carried, 0, &pose);
        const double axis[3] = {pose.rotation[2], pose.rotation[5], pose.rotation[8]};
        const double half = carried->shape->kind == SPRAG_CAPSULE ? carried->shape->half[2] : 0;
        subtract3(at, pose.position, from);
        memcpy(at, pose.position, sizeof pose.position);
        add_scaled(at, clamp(dot3(axis, from), -half, half), axis, 3);
        add_scaled(at, side ? carried->shape->radius : -carried->shape->radius, c->normal, 3);
    }
}

// Makes a speculative point of what blocks a pair, or increases the dip of the point that is there,
// or has rolled on. NULL: no memory.
static advance_point *add_speculative(advance_run *run, int pair, bool rolled)
{
    const sprag_certificate c = run->near[pair].certificate;
    advance_point *known = blocking_point(run, pair, rolled);
    advance_point *point = known ? known : advance_add_point(run);
    if (known) {
        // A larger dip would ask for a separation that cannot be reached.
        double most = largest_curve(run, &run->near[pair]) + ADVANCE_BAND * run->options->epsilon;
        double dip = known->dip + fmax(fmin(run->target, known->gap) - c.lowest, 0);
        known->dip = fmin(dip, fmax(known->dip, most));
    } else if (point) {
        point->pair = pair;
        point->speculative = true;
        point->gap = c.height;
        memcpy(point->normal, c.normal, sizeof point->normal);
        memcpy(point->at[c.side], c.point, sizeof c.point);
        point_below(&run->near[pair], point->at[!c.side]);
    }
    return point;
}

// A body that rolls from triangle to triangle would have friction on both at once, which brakes it:
// the sub-step ends where it comes to the next one, unless that is too soon.
static bool must_wait(const advance_run *run, int pair)
{
    const sprag_certificate *c = &run->near[pair].certificate;
    return run->near[pair].triangle >= 0 && c->time > run->floor &&
           c->height > ADVANCE_FACET_BAND * run->options->epsilon;
}

bool advance_blocks_elsewhere(const advance_run *run, int pair)
{
    return run->near[pair].certificate.side >= 0 && !blocking_point(run, pair, true);
}

bool advance_meet_blocking(advance_run *run, double until, double highest, bool as_solved)
{
    bool changed = false, projected = isinf(highest);
    for (int i = 0, at = 0; i < run->frame->pairs; i++) {
        advance_near *near = &run->near[i];
        const sprag_certificate *c = &near->certificate;
        while (at < run->points.closed && run->points.point[at].pair < i) {
            at++;
        }
        if (!(c->time < until)) {
            continue;
        }
        // The points of a pair that blocks at another place would turn the body on into it.
        const bool dips = near->closed && (projected || !advance_blocks_elsewhere(run, i));
        const bool grew = dips && update_dips(run, i, &at);
        changed |= grew;
        if (!(grew && as_solved) &&
            (projected || (c->side >= 0 && c->height <= highest && !must_wait(run, i)))) {
            const bool accepted = advance_accepts(run, i);
            advance_point *point =
                accepted && c->side >= 0 ? add_speculative(run, i, !projected) : NULL;
            if (point && projected) {
                advance_raise_dip(run, point, c->lowest);
            } else if (!accepted) { // it does not block any more
                near->certificate.time = INFINITY;
            }
            changed |= point || !accepted;
        }
    }
    return changed;
}
