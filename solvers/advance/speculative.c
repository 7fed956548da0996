// Speculative contacts for pairs that block a sub-step, and dips: a contact is solved for straight
// motion, but points on turning bodies move along curves, so contacts ask for the difference.
#include <math.h>
#include <string.h>

#include "advance_run.h"
#include "linalg.h"

// A point that a body carries.
typedef struct arm {
    const sprag_motion *motion; // NULL: static
    double at[3];               // m, world axes, at the start of the sub-step
} arm;

// World position of the point when the body is at `pose`.
static void arm_at(const arm *arm, const sprag_pose *pose, double point[3])
{
    if (!arm->motion) {
        memcpy(point, arm->at, sizeof arm->at);
        return;
    }
    double local[3], from[3];
    subtract3(arm->at, arm->motion->pose.position, from);
    mul33_transposed(arm->motion->pose.rotation, from, local);
    mul33(pose->rotation, local, point);
    add_scaled(point, 1, pose->position, 3);
}

static bool is_round(const sprag_carried *carried)
{
    return carried->shape->kind == SPRAG_SPHERE || carried->shape->kind == SPRAG_CAPSULE;
}

// Poses of the bodies of a pair within the sub-step.
typedef struct course {
    const advance_near *near; // NULL: of none yet
    sprag_pose middle[2], end[2];
} course;

static void follow(const advance_run *run, const advance_near *near, course *c)
{
    for (int side = 0; side < 2 && c->near != near; side++) {
        if (near->carried[side].motion) {
            sprag_motion_at(near->carried[side].motion, 0.5 * run->attempt.length,
                            &c->middle[side]);
            sprag_motion_at(near->carried[side].motion, run->attempt.length, &c->end[side]);
        }
    }
    c->near = near;
}

// m, height of point 0 above point 1 in these poses, along the normal, which turns with side
// `carrier`; -1: with none. A round side touches with another point at every moment: the centre of
// its curvature is followed instead, and from there a point as deep as the other body reaches, in a
// direction that does not turn. Where the surface is flatter than that body is large, other places
// of it touch next, and get contacts of their own.
static double height_at(const advance_near *near, const advance_point *point, int carrier,
                        const sprag_pose pose[2])
{
    double at[2][3], normal[3], turned[3], sum = 0;
    memcpy(normal, point->normal, sizeof normal);
    for (int side = 0; side < 2; side++) {
        const double most = near->radius[!side] > 0 ? near->radius[!side] : INFINITY; // 0: still
        const double radius =
            is_round(&near->carried[side]) ? near->carried[side].shape->radius : 0;
        const double followed = fmin(radius, most), sign = side ? -1 : 1;
        arm arm = {near->carried[side].motion, {0}};
        memcpy(arm.at, point->at[side], sizeof arm.at);
        add_scaled(arm.at, sign * radius, point->normal, 3);
        arm_at(&arm, &pose[side], at[side]);
        add_scaled(at[side], sign * (followed - radius), point->normal, 3);
        sum += followed;
    }
    if (carrier >= 0 && near->carried[carrier].motion) {
        mul33_transposed(near->carried[carrier].motion->pose.rotation, point->normal, turned);
        mul33(pose[carrier].rotation, turned, normal);
    }
    subtract3(at[0], at[1], turned);
    return dot3(normal, turned) - sum;
}

// m, by which the middle of the motion, at this height, is too low. What is pushed out has no level
// to stay above.
static double dip_of_middle(const advance_run *run, const advance_point *point, double middle)
{
    return advance_is_pushed(run, point)
               ? 0
               : fmax(0, 2 * (middle + run->level) - point->gap - run->target);
}

// m, by which the height at the end, or in the middle, is less than that of straight motion.
static double dip_along(const advance_run *run, const course *c, const advance_point *point,
                        int carrier)
{
    double t = run->attempt.length,
           rate = advance_rate(c->near, (const double(*)[3])point->at, point->normal);
    double end = point->gap + rate * t - height_at(c->near, point, carrier, c->end);
    double middle = point->gap + 0.5 * rate * t - height_at(c->near, point, carrier, c->middle);
    return fmax(end, dip_of_middle(run, point, middle));
}

// m, of a side, from where the other body may touch: a round one is followed no deeper than that
// (height_at).
static double reach_of(const advance_near *near, int side)
{
    const double other = near->radius[!side];
    return is_round(&near->carried[side]) && other > 0 ? fmin(near->radius[side], other)
                                                       : near->radius[side];
}

// m, upper bound of what centripetal acceleration, and sliding along a turning body, curve the
// motion of the pair by within the sub-step. The surface of a ball stays where it is as it turns.
static double largest_curve(const advance_run *run, const advance_near *near)
{
    double turn = 0, curve = 0, slide[3] = {0, 0, 0};
    for (int side = 0; side < 2; side++) {
        const sprag_carried *carried = &near->carried[side];
        if (carried->motion) {
            double w = advance_is_centred_ball(carried) ? 0 : norm3(carried->motion->velocity + 3);
            turn += w;
            curve += w * w * reach_of(near, side);
            add_scaled(slide, side ? -1 : 1, carried->motion->velocity, 3);
        }
    }
    for (int side = 0; side < 2; side++) {
        curve += near->carried[side].motion ? turn * turn * reach_of(near, side) : 0;
    }
    return (curve + 2 * turn * norm3(slide)) * run->attempt.length * run->attempt.length;
}

// Of the separating plane that blocks the pair, or else of the side that gives the smaller dip. A
// round side carries no plane.
static double dip_of(const advance_run *run, const advance_near *near, const advance_point *point,
                     course *course)
{
    const sprag_certificate *c = &near->certificate;
    if (largest_curve(run, near) <= advance_straight * run->level) {
        return dip_of_middle(run, point, 0);
    }
    bool blocked =
        c->time > 0 && c->time < INFINITY && c->side >= 0 && !is_round(&near->carried[!c->side]);
    double least = INFINITY;
    follow(run, near, course);
    for (int carrier = 0; carrier < 2; carrier++) {
        if (!is_round(&near->carried[carrier]) && (!blocked || carrier != c->side)) {
            least = fmin(least, dip_along(run, course, point, carrier));
        }
    }
    return least < INFINITY ? least : dip_along(run, course, point, -1);
}

advance_point *advance_blocking_point(const advance_run *run, int pair)
{
    static const double aligned = 1 - 1e-4;
    const sprag_certificate *c = &run->near[pair].certificate;
    double size = 1e-6 + 1e-3 * fmax(run->near[pair].radius[0], run->near[pair].radius[1]);
    advance_point *best = NULL;
    double nearest = size * size;
    for (int i = 0; i < run->points.count; i++) {
        advance_point *point = &run->points.point[i];
        double d[3];
        subtract3(point->at[c->side], c->point, d);
        if (point->pair == pair && dot3(d, d) < nearest &&
            dot3(point->normal, c->normal) > aligned) {
            nearest = dot3(d, d);
            best = point;
        }
    }
    return best;
}

void advance_begin_attempt(advance_run *run, double length)
{
    run->points.count = run->points.closed;
    run->attempt.length = length;
    course course = {NULL};
    for (int i = 0; i < run->points.count; i++) {
        run->points.point[i].dip =
            dip_of(run, &run->near[run->points.point[i].pair], &run->points.point[i], &course);
    }
}

bool advance_update_dips(advance_run *run, int pair, int *at)
{
    bool changed = false;
    course course = {NULL};
    double small = 0.1 * run->options->epsilon;
    for (; *at < run->points.closed && run->points.point[*at].pair == pair; ++*at) {
        advance_point *point = &run->points.point[*at];
        double dip = dip_of(run, &run->near[pair], point, &course);
        changed |= dip > point->dip + small;
        point->dip = fmax(point->dip, dip);
    }
    return changed;
}

// m, upper bound of a dip: a larger one would ask for a separation that cannot be reached.
static double largest_dip(const advance_run *run, int pair)
{
    return largest_curve(run, &run->near[pair]) + ADVANCE_BAND * run->options->epsilon;
}

// The point that what blocks a pair comes down to: of the plane, or of a round side, whose plane
// does not turn with it, of its surface.
static void point_below(const advance_near *near, double at[3])
{
    const sprag_certificate *c = &near->certificate;
    const int side = !c->side;
    const sprag_carried *carried = &near->carried[side];
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

int advance_add_speculative(advance_run *run, int pair)
{
    const sprag_certificate c = run->near[pair].certificate;
    advance_point *known = advance_blocking_point(run, pair);
    advance_point *point = known ? known : advance_add_point(run);
    if (known) {
        double dip = known->dip + fmax(fmin(run->target, known->gap) - c.lowest, 0);
        known->dip = fmin(dip, fmax(known->dip, largest_dip(run, pair)));
    } else if (point) {
        point->pair = pair;
        point->speculative = true;
        point->gap = c.height;
        memcpy(point->normal, c.normal, sizeof point->normal);
        memcpy(point->at[c.side], c.point, sizeof c.point);
        point_below(&run->near[pair], point->at[!c.side]);
    }
    return point ? (int)(point - run->points.point) : -1;
}
