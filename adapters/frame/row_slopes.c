// Derivatives of ODE's joint rows by the poses of their bodies: of J by the laws of row_laws.c, of
// the bias, which mends errors at a rate k, by the errors that ODE measures. With the turns t and
// ways x of the bodies, and k times the errors found from the biases themselves,
//
//     a point's distance along d     bias' = -k J.(x, t)
//     two axes off a right angle     bias' = -k |a0 x a1| d.(t0 - t1)
//     orientations, as 2 k v of a    bias' = k s (t1 - t0) + (t0 + t1) x bias / 2
//       quaternion (s, v)
//     an axis of each body, along    bias' = k (t0 x a0) x a1.d + k a0 x (t1 x a1).d + e.(t0 x d)
//       d across it; e = k a0 x a1
//     a point off the axis of a      bias' = k d.(x1 - x0 + t1 x o) + k (t0 x d).g
//       slider, o from centre 1, g
//       from centre 0
//     a way g along a d that turns   bias' = -k J.(x, t) + k (t0 x d).g
//       with body 0
//     two axes at an angle p, of     bias' = -k cos(p - p0) d.(t0 - t1)
//       which p0 is right
//
// Rows of motors have a constant bias. Of a stop, at the rate k, it follows the coordinate:
//
//     hinge, g along the turn        bias' = -k g.(t0 - t1)
//       between the bodies
//     hinge2, of its first axis      bias' = -k (a0 - (a0.a1) a1).(t0 - t1) / |a0 x a1|^2
//     slider                         bias' = -k d.(x0 - x1 - t1 x o) + k (t0 x d).g
#include <math.h>
#include <string.h>

#include "frame_step.h"
#include "linalg.h"

enum { TURN = 3 }; // the coordinates of a body: its way, its turn

typedef struct rows_of_joint {
    dJointID joint;
    dBodyID body[2];
    bool reversed; // the program has attached it the other way round, as ODE tells its coordinate
    const sprag_row *row;
    bool two; // bodies
    double k; // 1/s, of the rows that hold the bodies together
    const sprag_row_law *law;
    sprag_row_slopes (*slopes)[2];
} rows_of_joint;

static const double *direction_of(const rows_of_joint *r, int i)
{
    const bool turns = r->law[i].kind == SPRAG_ROW_TURN || r->law[i].kind == SPRAG_ROW_CROSS;
    return r->row[i].jacobian[0] + (turns ? TURN : 0);
}

// ---- J

// The derivatives of a vector by ways or turns along the axes: [k][i] of entry k by axis i.
typedef double by_axes[3][3];

// To the entries of a side from `first` on, by the coordinates from `by` on.
static void add_entries(sprag_row_slopes *s, int side, int first, int by, double factor,
                        const by_axes x)
{
    for (int k = 0; k < 3; k++) {
        add_scaled(s->jacobian[side][first + k] + by, factor, x[k], 3);
    }
}

// Adds entries by a turn that are the same on both sides but for their sign.
static void add_opposite(sprag_row_slopes *s, int first, const by_axes x)
{
    add_entries(s, 0, first, TURN, 1, x);
    add_entries(s, 1, first, TURN, -1, x);
}

// t x d of a turn t, or of a way.
static void set_turned(const double *d, by_axes x)
{
    const by_axes turned = {{0, d[2], -d[1]}, {-d[2], 0, d[0]}, {d[1], -d[0], 0}};
    memcpy(x, turned, sizeof turned);
}

// (t x a) x d
static void set_turned_lever(const double *a, const double *d, by_axes x)
{
    const double along = dot3(a, d);
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 3; i++) {
            x[k][i] = a[k] * d[i] - (k == i ? along : 0);
        }
    }
}

static void find_centres(const rows_of_joint *r, double c[3])
{
    memset(c, 0, 3 * sizeof *c);
    if (r->body[1]) {
        subtract3(dBodyGetPosition(r->body[1]), dBodyGetPosition(r->body[0]), c);
    }
}

// Levers are half of c x d, on both sides.
static void add_slide(const rows_of_joint *r, sprag_row_slopes *s, int side, const double *d)
{
    double c[3];
    by_axes x;
    set_turned(d, x);
    for (int of = 0; of < 2 && r->two; of++) {
        add_entries(s, of, TURN, 0, side ? 0.5 : -0.5, x);
    }
    if (side == 0) {
        add_opposite(s, 0, x);
        find_centres(r, c);
        set_turned_lever(d, c, x); // c x (t x d), but for its sign
        add_entries(s, 0, TURN, TURN, -0.5, x);
        add_entries(s, 1, TURN, TURN, -0.5, x);
    }
}

static void add_cross(const sprag_row_law *law, sprag_row_slopes *s, int side, const double *d)
{
    double n[3];
    by_axes x;
    cross3(law->vector[0], law->vector[1], n);
    const double length = side ? -norm3(n) : norm3(n);
    set_turned_lever(law->vector[side], law->vector[!side], x);
    for (int i = 0; i < 3; i++) {
        const double along = x[0][i] * d[0] + x[1][i] * d[1] + x[2][i] * d[2];
        for (int k = 0; k < 3; k++) {
            x[k][i] = (x[k][i] - along * d[k]) / length;
        }
    }
    add_opposite(s, TURN, x);
}

static void set_jacobian(const rows_of_joint *r, int i, int side)
{
    const sprag_row_law *law = &r->law[i];
    const double *d = direction_of(r, i);
    sprag_row_slopes *s = &r->slopes[i][side];
    by_axes x;
    switch (law->kind) {
    case SPRAG_ROW_POINT:
        set_turned_lever(law->vector[side], d, x);
        add_entries(s, side, TURN, TURN, side ? -1 : 1, x);
        if (law->carrier == side) {
            set_turned(d, x);
            add_opposite(s, 0, x);
            for (int of = 0; of < 2; of++) { // r x (t x d), but for its sign
                set_turned_lever(d, law->vector[of], x);
                add_entries(s, of, TURN, TURN, of ? 1 : -1, x);
            }
        }
        return;
    case SPRAG_ROW_SLIDE:
        add_slide(r, s, side, d);
        return;
    case SPRAG_ROW_CROSS:
        add_cross(law, s, side, d);
        return;
    case SPRAG_ROW_TURN:
        if (law->carrier == side) {
            set_turned(d, x);
            add_opposite(s, TURN, x);
        }
    }
}

// ---- biases

static void set_along_row(const rows_of_joint *r, int i, double k)
{
    for (int side = 0; side < 2; side++) {
        for (int c = 0; c < 6; c++) {
            r->slopes[i][side].bias[c] = -k * r->row[i].jacobian[side][c];
        }
    }
}

static void set_points(const rows_of_joint *r, double k)
{
    for (int i = 0; i < 3; i++) {
        set_along_row(r, i, k);
    }
}

static void set_right_angle(const rows_of_joint *r)
{
    double n[3];
    cross3(r->law[3].vector[0], r->law[3].vector[1], n);
    set_along_row(r, 3, r->k * norm3(n));
}

// Slopes of a vector of three rows.
static void set_orientation(const rows_of_joint *r, int first)
{
    double bias[3];
    by_axes x;
    for (int k = 0; k < 3; k++) {
        bias[k] = r->row[first + k].bias;
    }
    const double share = sqrt(fmax(0, r->k * r->k - dot3(bias, bias) / 4)); // k s
    set_turned(bias, x);
    for (int side = 0; side < 2; side++) {
        for (int k = 0; k < 3; k++) {
            double *to = r->slopes[first + k][side].bias + TURN;
            add_scaled(to, 0.5, x[k], 3);
            to[k] += side ? share : -share;
        }
    }
}

// The rows 3 and 4 of a hinge or slider span the plane across its axis. Returns the axis, and k
// times the error, which is in that plane.
static void find_plane(const rows_of_joint *r, double axis[3], double error[3])
{
    const double *p = direction_of(r, 3), *q = direction_of(r, 4);
    cross3(p, q, axis);
    memset(error, 0, 3 * sizeof *error);
    add_scaled(error, r->row[3].bias, p, 3);
    add_scaled(error, r->row[4].bias, q, 3);
}

// The axis of a hinge, unit, and k times that of the other body. One in the world is as long as the
// program has given it.
static void find_axes(const rows_of_joint *r, double axis[3], double other[3], double error[3])
{
    find_plane(r, axis, error);
    if (r->two) {
        cross3(error, axis, other);
        add_scaled(other, sqrt(fmax(0, r->k * r->k - dot3(error, error))), axis, 3);
    } else {
        scale3(r->k, sprag_ode_axis_in_world(r->joint), other);
    }
}

static void set_axes(const rows_of_joint *r)
{
    double axis[3], other[3], error[3], part[3], by[2][3];
    find_axes(r, axis, other, error);
    for (int i = 3; i < 5; i++) {
        const double *d = direction_of(r, i);
        cross3(other, d, part);
        cross3(axis, part, by[0]);
        cross3(d, error, part);
        add_scaled(by[0], 1, part, 3);
        cross3(d, axis, part);
        cross3(other, part, by[1]);
        for (int side = 0; side < 2; side++) {
            memcpy(r->slopes[i][side].bias + TURN, by[side], sizeof by[side]);
        }
    }
}

// k times the way from centre 0 to the point that is on the axis, and from centre 1.
static void find_slider_point(const rows_of_joint *r, double from[2][3])
{
    const double position = dJointGetSliderPosition(r->joint);
    double axis[3], centres[3];
    find_plane(r, axis, from[0]);
    add_scaled(from[0], r->k * (r->reversed ? position : -position), axis, 3);
    find_centres(r, centres);
    memcpy(from[1], from[0], sizeof from[1]);
    add_scaled(from[1], -r->k, centres, 3);
}

// A row by the way of that point. k: of the row, share: of r->k.
static void set_slider_row(const rows_of_joint *r, int i, double k, double share)
{
    const double *d = direction_of(r, i);
    double from[2][3], by[2][3];
    find_slider_point(r, from);
    cross3(d, from[0], by[0]);
    cross3(from[1], d, by[1]);
    for (int side = 0; side < 2; side++) {
        double *to = r->slopes[i][side].bias;
        add_scaled(to + TURN, share, by[side], 3);
        add_scaled(to, side ? k : -k, d, 3);
    }
}

// The first axis carries its row and two across it.
static void set_hinge2(const rows_of_joint *r, double own)
{
    dVector3 anchor[2];
    double way[3], by[3];
    dJointGetHinge2Anchor(r->joint, anchor[0]);
    dJointGetHinge2Anchor2(r->joint, anchor[1]);
    subtract3(anchor[1], anchor[0], way);
    for (int i = 0; i < 3; i++) {
        const double k = i == 0 ? own : r->k;
        set_along_row(r, i, k);
        cross3(direction_of(r, i), way, by);
        add_scaled(r->slopes[i][0].bias + TURN, k, by, 3);
    }
    const double bias = r->row[3].bias;
    set_along_row(r, 3, sqrt(fmax(0, r->k * r->k - bias * bias)));
}

// ---- stops

static bool is_locked(dJointID joint)
{
    return sprag_ode_limit_parameter(joint, dParamLoStop) ==
           sprag_ode_limit_parameter(joint, dParamHiStop);
}

// Neither bounces, which depends on the velocity, nor has a motor, which pushes the bodies.
static bool is_plain_stop(dJointID joint)
{
    return is_locked(joint) || (!(sprag_ode_limit_parameter(joint, dParamBounce) > 0) &&
                                !(sprag_ode_limit_parameter(joint, dParamFMax) > 0));
}

// A row about the first axis, by the turn of body 0 less that of body 1 along g.
static void set_turned_stop(const rows_of_joint *r, int i, double k, const double g[3])
{
    for (int side = 0; side < 2; side++) {
        add_scaled(r->slopes[i][side].bias + TURN, side ? k : -k, g, 3);
    }
}

// rad: below, the turn of a hinge is about its axis. ODE's angle has a kink at 0: turns across the
// axis change it by their size, with the sign of what is along the axis, which no matrix has.
static const double LEAST_TURN = 1e-6;

// ODE's angle of a hinge is that of the whole turn between the bodies, which a turn g follows:
// about the axis a0, and from a0 to a1. Its quaternion is (c0 c1, c0 s1 a0 + s0 c1 n + s0 s1 n x
// a0), n across both axes, with the cosines and sines of half the angles from a0 to a1 and about
// a0.
static void find_turn_of_hinge(const rows_of_joint *r, double g[3])
{
    const double angle = dJointGetHingeAngle(r->joint), turn = r->reversed ? angle : -angle;
    double axis[2][3], error[3], n[3], part[3], c0, c1, s1;
    find_axes(r, axis[0], axis[1], error);
    normalise3(axis[1]);
    cross3(axis[0], axis[1], n);
    cross3(n, axis[0], part);
    c0 = sqrt(0.5 + 0.5 * dot3(axis[0], axis[1]));
    c1 = fmin(1, cos(turn / 2) / c0);
    s1 = copysign(sqrt(1 - c1 * c1), turn);
    add_scaled(g, c0 * s1, axis[0], 3);
    add_scaled(g, c1 / (2 * c0), n, 3);
    add_scaled(g, s1 / (2 * c0), part, 3);
    const double length = norm3(g);
    for (int k = 0; k < 3; k++) {
        g[k] = fabs(turn) > LEAST_TURN ? g[k] / copysign(length, turn) : axis[0][k];
    }
}

static void set_stop(const rows_of_joint *r, int i, double k)
{
    dVector3 axis[2];
    double g[3] = {0}, cosine;
    switch ((int)dJointGetType(r->joint)) {
    case dJointTypeHinge:
        find_turn_of_hinge(r, g);
        set_turned_stop(r, i, k, g);
        return;
    case dJointTypeHinge2:
        dJointGetHinge2Axis1(r->joint, axis[0]);
        dJointGetHinge2Axis2(r->joint, axis[1]);
        cosine = dot3(axis[0], axis[1]);
        add_scaled(g, 1 / (1 - cosine * cosine), axis[0], 3);
        add_scaled(g, -cosine / (1 - cosine * cosine), axis[1], 3);
        set_turned_stop(r, i, k, g);
        return;
    case dJointTypeSlider:
        set_slider_row(r, i, k, k / r->k);
    }
}

// The rows that hold the bodies together; returns their number. 0: not known.
static int set_biases(const rows_of_joint *r, double step)
{
    const double own = sprag_ode_own_erp(r->joint) / step;
    switch ((int)dJointGetType(r->joint)) {
    case dJointTypeBall:
        set_points(r, own);
        return 3;
    case dJointTypeFixed:
        set_points(r, own);
        set_orientation(r, 3);
        return 6;
    case dJointTypeHinge:
        if (!r->two && !sprag_ode_axis_in_world(r->joint)) {
            return 0;
        }
        set_points(r, r->k);
        set_axes(r);
        return 5;
    case dJointTypeHinge2:
        set_hinge2(r,
                   dJointGetHinge2Param(r->joint, sprag_ode_parameter(dParamSuspensionERP)) / step);
        return 4;
    case dJointTypeUniversal:
        set_points(r, r->k);
        set_right_angle(r);
        return 4;
    case dJointTypeSlider:
        set_orientation(r, 0);
        set_slider_row(r, 3, r->k, 1);
        set_slider_row(r, 4, r->k, 1);
        return 5;
    default:
        return 0;
    }
}

// Sets the biases of a row of a motor or stop. false: not known.
static bool set_bias(const rows_of_joint *r, int i, double step)
{
    const int type = (int)dJointGetType(r->joint);
    const bool known = type == dJointTypeHinge2 ||
                       ((type == dJointTypeHinge || type == dJointTypeSlider) && r->k > 0);
    const bool drives = r->row[i].lo < 0 && r->row[i].hi > 0;
    const bool second = r->law[i].carrier == 1; // axis of a hinge2, without stops
    if (drives && (isfinite(r->row[i].hi) || (known && (second || !is_locked(r->joint))))) {
        return true;
    }
    if (known) {
        set_stop(r, i, sprag_ode_stop_erp(r->joint) / step);
    }
    return known && is_plain_stop(r->joint);
}

// ODE chooses the axes p and q of a hinge's plane anew, so that p is across x or z: beside its turn
// t with body 0, the plane's axes turn in it by f, with f q = -(t x p) along x or z.
static void follow_plane(const rows_of_joint *r)
{
    double axis[3], unit[3] = {0}, turn[3], along;
    const double *p = direction_of(r, 3), *q = direction_of(r, 4);
    cross3(p, q, axis);
    const int across = fabs(axis[2]) > M_SQRT1_2 ? 0 : 2;
    unit[across] = 1;
    along = -1 / q[across];
    cross3(p, unit, turn);
    for (int i = 0; i < 2; i++) {
        sprag_row_slopes *s = &r->slopes[3 + i][0];
        const sprag_row *other = &r->row[4 - i];
        const double sign = i == 0 ? along : -along;
        for (int side = 0; side < 2; side++) {
            for (int k = 0; k < 3; k++) {
                add_scaled(s->jacobian[side][TURN + k] + TURN,
                           sign * other->jacobian[side][TURN + k], turn, 3);
            }
        }
        add_scaled(s->bias + TURN, sign * other->bias, turn, 3);
    }
}

bool sprag_ode_row_slopes(sprag_row_slopes (*slopes)[2], const sprag_row *row, int rows,
                          dJointID joint, dWorldID world, double step)
{
    sprag_row_law law[ODE_ROWS_MAX];
    if (!sprag_ode_row_laws(law, row, rows, joint)) {
        return false;
    }
    rows_of_joint r = {.joint = joint,
                       .row = row,
                       .two = row->body[1] != SPRAG_STATIC,
                       .k = dWorldGetERP(world) / step,
                       .law = law,
                       .slopes = slopes};
    sprag_ode_joint_bodies(joint, r.body, &r.reversed);
    memset(slopes, 0, (size_t)rows * sizeof *slopes);
    int holding = set_biases(&r, step);
    for (int i = holding; i < rows; i++) {
        if (holding == 0 || !set_bias(&r, i, step)) {
            return false;
        }
    }
    for (int i = 0; i < rows; i++) {
        for (int side = 0; side < (r.two ? 2 : 1); side++) {
            set_jacobian(&r, i, side);
        }
    }
    if (dJointGetType(joint) == dJointTypeHinge) {
        follow_plane(&r);
    }
    return holding > 0;
}
