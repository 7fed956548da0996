// Rates of the velocities at the points of contacts that hold, without accelerations: J' v, along
// the frame of each contact, m/s^2. Points move over the bodies, and normals turn.
#include <math.h>
#include <string.h>

#include "compliant_run.h"
#include "kinematics.h"
#include "linalg.h"
#include "mover.h"

// ---- on faces, in closed form

// Is the normal that of a face of a side?
static bool has_face(const compliant_run *run, int guard, int side, const double n[3])
{
    const sprag_shape *shape = &compliant_collider(run, guard, side)->shape;
    const double small = COMPLIANT_SAME_NORMAL;
    sprag_pose room;
    double own[3], apart[3];
    mul33_transposed(compliant_shape_pose(run, guard, side, &room)->rotation, n, own);
    int across = (fabs(own[0]) > small) + (fabs(own[1]) > small);
    switch (shape->kind) {
    case SPRAG_PLANE:
        return true;
    case SPRAG_CYLINDER:
        return across == 0;
    case SPRAG_BOX:
        return across + (fabs(own[2]) > small) == 1;
    case SPRAG_POLYTOPE:
        for (int i = 0; i < shape->polytope->faces; i++) {
            memcpy(apart, own, sizeof apart);
            add_scaled(apart, side ? -1 : 1, shape->polytope->normal[i], 3);
            if (norm3(apart) <= small) {
                return true;
            }
        }
        return false;
    case SPRAG_SPHERE:
    case SPRAG_CAPSULE:
    case SPRAG_SHAPE_KINDS:
        break;
    }
    return false;
}

// Are all points on the rim of a cylinder? Else they are where its side or its cap is cut off.
static bool are_on_rim(const compliant_run *run, int guard, int side, const compliant_contact *c,
                       int first)
{
    const sprag_shape *shape = &compliant_collider(run, guard, side)->shape;
    const double near = COMPLIANT_SAME_NORMAL * (shape->radius + shape->half[2]);
    sprag_pose room;
    const sprag_pose *pose = compliant_shape_pose(run, guard, side, &room);
    bool on = shape->kind == SPRAG_CYLINDER;
    for (int i = first; i < run->held.points && on; i++) {
        const int at = run->held.of[i];
        double from[3], own[3];
        subtract3(c->at[at], pose->position, from);
        add_scaled(from, (side ? 0.5 : -0.5) * c->depth[at], c->gap.normal, 3);
        mul33_transposed(pose->rotation, from, own);
        on = fabs(hypot(own[0], own[1]) - shape->radius) <= near &&
             fabs(fabs(own[2]) - shape->half[2]) <= near;
    }
    return on;
}

// The side whose face the points lie on, while the other side has them at its corners, its rim, or
// as far as a radius below them, or has a face there, too; -1: none.
static int face_side(const compliant_run *run, int guard, const compliant_contact *c, int first)
{
    const double *n = c->gap.normal;
    for (int side = 1; side >= 0; side--) {
        sprag_shape_kind other = compliant_collider(run, guard, !side)->shape.kind;
        if (has_face(run, guard, side, n) &&
            ((other != SPRAG_CYLINDER && other != SPRAG_PLANE) || has_face(run, guard, !side, n) ||
             are_on_rim(run, guard, !side, c, first))) {
            return side;
        }
    }
    return -1;
}

// Velocity of a body, with the angular velocity that it turns with; 0 of a static one.
static void motion_of(const compliant_run *run, const double *x, int body, double v[6])
{
    memset(v, 0, 6 * sizeof *v);
    if (body != SPRAG_STATIC) {
        memcpy(v, compliant_velocity_of(x, body), 6 * sizeof *v);
        sprag_mover_cap(&run->frame->body[body], v + 3);
    }
}

// The speed of the foremost point p of a rim about the axis a of its cylinder, which has the
// angular velocity w, 1/s. With m = n - (n.a) a along p, it is  (n'.(a x p) + (n.a) (w.p)) / |m| -
// w.a. turn: that along the axis, rad/s; 0 of a level rim, or of no cylinder.
static void turn_of_rim(const compliant_run *run, int guard, int side, const double n[3],
                        const double turned[3], const double w[3], double turn[3])
{
    const sprag_shape *shape = &compliant_collider(run, guard, side)->shape;
    sprag_pose room;
    double p[3] = {n[0], n[1], n[2]}, axis[3], aside[3];
    memset(turn, 0, 3 * sizeof *turn);
    if (shape->kind != SPRAG_CYLINDER || has_face(run, guard, side, n)) {
        return;
    }
    const double *R = compliant_shape_pose(run, guard, side, &room)->rotation;
    for (int k = 0; k < 3; k++) {
        axis[k] = R[3 * k + 2];
    }
    const double along = dot3(n, axis);
    add_scaled(p, -along, axis, 3);
    const double length = norm3(p);
    normalise3(p);
    cross3(axis, p, aside);
    add_scaled(turn, (dot3(turned, aside) + along * dot3(w, p)) / length - dot3(w, axis), axis, 3);
}

// The rates of points on a face: the normal turns with it, and the points move with the other side,
// between whose point and that of the face they are.
static void set_face_rates(compliant_run *run, const double *x, int guard,
                           const compliant_contact *c, int face, int first)
{
    compliant_held *held = &run->held;
    const sprag_shape *shape = &compliant_collider(run, guard, !face)->shape;
    const int body = compliant_body(run, guard, !face);
    const bool round = shape->kind == SPRAG_SPHERE || shape->kind == SPRAG_CAPSULE;
    const double *n = c->gap.normal, radius = round ? shape->radius : 0, up = face ? 1 : -1;
    double v[2][6], turned[3], rolling[3];
    sprag_pose room;
    for (int side = 0; side < 2; side++) {
        motion_of(run, x, compliant_body(run, guard, side), v[side]);
    }
    cross3(v[face] + 3, n, turned);
    turn_of_rim(run, guard, !face, n, turned, v[!face] + 3, rolling);
    const sprag_pose *pose = compliant_shape_pose(run, guard, !face, &room);
    for (int i = first; i < held->points; i++) {
        const double *at = c->at[held->of[i]], apart = held->velocity[i][0];
        const double to_core = up * (radius - c->depth[held->of[i]] / 2);
        double arm[3] = {0}, moved[3], rim[3], u[3], over[3], rate[3] = {0};
        if (body != SPRAG_STATIC) {
            subtract3(at, run->state.pose[body].position, arm);
            add_scaled(arm, to_core, n, 3);
        }
        cross3(v[!face] + 3, arm, moved);
        add_scaled(moved, 1, v[!face], 3);
        add_scaled(moved, -to_core, turned, 3);
        add_scaled(moved, -up * apart / 2, n, 3);
        subtract3(at, pose->position, over);
        add_scaled(over, to_core, n, 3);
        cross3(rolling, over, rim);
        add_scaled(moved, 1, rim, 3);
        for (int side = 0; side < 2; side++) {
            const double *w = compliant_velocity_of(x, compliant_body(run, guard, side));
            double spun[3];
            subtract3(moved, v[side], over);
            if (w) {
                cross3(w + 3, over, spun);
                add_scaled(rate, side ? -1 : 1, spun, 3);
            }
        }
        compliant_velocity_at(run, x, guard, at, u);
        for (int k = 0; k < 3; k++) {
            held->rate[i][k] = dot3(held->contact[i].frame[k], rate);
        }
        held->rate[i][0] += dot3(turned, u);
    }
}

// ---- others, by a central difference

static void move(compliant_run *run, const double *x, int guard, double t)
{
    compliant_place_pair(run, x, guard);
    for (int side = 0; side < 2 && t != 0; side++) {
        int body = compliant_body(run, guard, side);
        if (body != SPRAG_STATIC) {
            sprag_motion motion = {.pose = run->state.pose[body]};
            memcpy(motion.velocity, compliant_velocity_of(x, body), sizeof motion.velocity);
            sprag_mover_cap(&run->frame->body[body], motion.velocity + 3);
            sprag_motion_at(&motion, t, &run->state.pose[body]);
        }
    }
}

static int nearest(const compliant_contact *c, const double at[3])
{
    double least = INFINITY;
    int best = 0;
    for (int i = 0; i < c->count; i++) {
        double apart[3];
        subtract3(c->at[i], at, apart);
        double square = dot3(apart, apart);
        best = square < least ? i : best;
        least = fmin(least, square);
    }
    return best;
}

static void add_differences(compliant_run *run, const double *x, int guard,
                            const compliant_contact *c, int first)
{
    const double span = COMPLIANT_ROW_DIFFERENCE * run->frame->step;
    compliant_held *held = &run->held;
    for (int sign = -1; sign <= 1; sign += 2) {
        compliant_contact moved;
        move(run, x, guard, sign * span);
        compliant_find_own_points(run, x, guard, &moved);
        for (int i = first; i < held->points && moved.count > 0; i++) {
            const sprag_contact *contact = &held->contact[i];
            double u[3];
            compliant_velocity_at(run, x, guard, moved.at[nearest(&moved, c->at[held->of[i]])], u);
            held->rate[i][0] += sign * dot3(moved.gap.normal, u) / (2 * span);
            for (int k = 1; k < 3; k++) {
                held->rate[i][k] += sign * dot3(contact->frame[k], u) / (2 * span);
            }
        }
    }
    move(run, x, guard, 0);
}

void compliant_set_held_rates(compliant_run *run, const double *x, int guard,
                              const compliant_contact *contact, int first)
{
    int face = face_side(run, guard, contact, first);
    if (face >= 0) {
        set_face_rates(run, x, guard, contact, face, first);
    } else {
        add_differences(run, x, guard, contact, first);
    }
}
