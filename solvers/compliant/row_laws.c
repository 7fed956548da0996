// Joint rows that move with their bodies, by the laws of the caller (sprag_row_law). The caller
// gives rows and laws once a frame, and Jacobians and J' v follow from the poses and velocities of
// a state. If d turns with angular velocity w, d' = w x d, and
//
//     POINT   J' v = d.(w0 x (w0 x r0) - w1 x (w1 x r1)) + d'.(u0 - u1)
//     SLIDE   J' v = d'.(v0 - v1) + (c' x d + c x d').(w0 + w1) / 2
//     TURN    J' v = d'.(w0 - w1)
//     CROSS   as TURN, with d' of d = n / |n|, n = a0 x a1: (n' - d (d.n')) / |n|
//
// A coordinate with stops has the rate J v: the angle of a marker of the one body about d in the
// other, or d.(x0 - x1).
#include <math.h>
#include <string.h>

#include "compliant_joints.h"
#include "linalg.h"
#include "mover.h"

// The row laws of a frame, in the axes of the bodies.
typedef struct compliant_moving_row {
    sprag_row_kind kind;
    int carrier;
    double direction[3];
    double vector[2][3]; // as the law's; of TURN, [1] is the marker of the carrier
    bool same_points;    // as those of the row before
    double start;        // rad or m, coordinate at the start of the frame
} compliant_moving_row;

// Bodies of a row at a state.
typedef struct sides {
    const double *rotation[2]; // NULL: static
    double x[2][3], v[2][3], w[2][3];
} sides;

// Points of the last row of kind POINT.
typedef struct points {
    double arm[2][3], velocity[3], acceleration[3]; // of the points; relative
} points;

static void find_sides(const compliant_run *run, const double *x, const sprag_row *row, sides *s)
{
    for (int side = 0; side < 2; side++) {
        int body = row->body[side];
        memset(s->x[side], 0, sizeof s->x[side]);
        memset(s->v[side], 0, sizeof s->v[side]);
        memset(s->w[side], 0, sizeof s->w[side]);
        s->rotation[side] = NULL;
        if (body != SPRAG_STATIC) {
            const double *of = x + COMPLIANT_STATES * body;
            s->rotation[side] = run->state.pose[body].rotation;
            memcpy(s->x[side], of, sizeof s->x[side]);
            memcpy(s->v[side], of + COMPLIANT_VELOCITY, sizeof s->v[side]);
            memcpy(s->w[side], of + COMPLIANT_SPIN, sizeof s->w[side]);
            sprag_mover_cap(&run->frame->body[body], s->w[side]);
        }
    }
}

static void turn(const sides *s, int side, const double *own, double *turned)
{
    if (side >= 0 && s->rotation[side]) {
        mul33(s->rotation[side], own, turned);
    } else {
        memcpy(turned, own, 3 * sizeof *own);
    }
}

static void turn_back(const sides *s, int side, const double *turned, double *own)
{
    if (side >= 0 && s->rotation[side]) {
        mul33_transposed(s->rotation[side], turned, own);
    } else {
        memcpy(own, turned, 3 * sizeof *own);
    }
}

static void find_points(const compliant_moving_row *m, const sides *s, points *p)
{
    double turning[2][3], outward[2][3];
    for (int side = 0; side < 2; side++) {
        turn(s, side, m->vector[side], p->arm[side]);
        cross3(s->w[side], p->arm[side], turning[side]);
        cross3(s->w[side], turning[side], outward[side]);
    }
    for (int k = 0; k < 3; k++) {
        p->velocity[k] = s->v[0][k] + turning[0][k] - s->v[1][k] - turning[1][k];
        p->acceleration[k] = outward[0][k] - outward[1][k];
    }
}

// The direction d of a row, and d'.
static void find_direction(const compliant_moving_row *m, const sides *s, double *d, double *rate)
{
    if (m->kind == SPRAG_ROW_CROSS) {
        double axis[2][3], turning[2][3], part[2][3];
        for (int side = 0; side < 2; side++) {
            turn(s, side, m->vector[side], axis[side]);
            cross3(s->w[side], axis[side], turning[side]);
        }
        cross3(axis[0], axis[1], d);
        cross3(turning[0], axis[1], part[0]);
        cross3(axis[0], turning[1], part[1]);
        double length = norm3(d);
        for (int k = 0; k < 3; k++) {
            d[k] /= length;
            rate[k] = (part[0][k] + part[1][k]) / length;
        }
        add_scaled(rate, -dot3(d, rate), d, 3);
        return;
    }
    turn(s, m->carrier, m->direction, d);
    memset(rate, 0, 3 * sizeof *rate);
    if (m->carrier >= 0) {
        cross3(s->w[m->carrier], d, rate);
    }
}

static void find_centres(const sides *s, double *c, double *rate)
{
    for (int k = 0; k < 3; k++) {
        c[k] = s->rotation[1] ? s->x[1][k] - s->x[0][k] : 0;
        rate[k] = s->rotation[1] ? s->v[1][k] - s->v[0][k] : 0;
    }
}

// J of side 0 is (straight d, turned), that of side 1 (-straight d, opposite turned).
static void set_jacobian(sprag_row *row, const double *d, const double *turned[2],
                         const double sign[2], bool straight)
{
    for (int side = 0; side < 2; side++) {
        if (row->body[side] == SPRAG_STATIC) {
            continue;
        }
        for (int k = 0; k < 3; k++) {
            row->jacobian[side][k] = !straight ? 0 : side ? -d[k] : d[k];
            row->jacobian[side][3 + k] = sign[side] * turned[side][k];
        }
    }
}

// Sets the row's J and returns J' v. p: points of the rows so far.
static double move_row(const compliant_moving_row *m, const sides *s, points *p, sprag_row *row)
{
    double d[3], rate[3], one[2][3], c[3], c_rate[3], part[2][3], value = 0;
    find_direction(m, s, d, rate);
    switch (m->kind) {
    case SPRAG_ROW_POINT:
        if (!m->same_points) {
            find_points(m, s, p);
        }
        cross3(p->arm[0], d, one[0]);
        cross3(p->arm[1], d, one[1]);
        set_jacobian(row, d, (const double *[2]){one[0], one[1]}, (const double[2]){1, -1}, true);
        return dot3(d, p->acceleration) + dot3(rate, p->velocity);
    case SPRAG_ROW_SLIDE:
        find_centres(s, c, c_rate);
        cross3(c, d, one[0]);
        cross3(c_rate, d, part[0]);
        cross3(c, rate, part[1]);
        for (int k = 0; k < 3; k++) {
            value += rate[k] * (s->v[0][k] - s->v[1][k]) +
                     (part[0][k] + part[1][k]) * (s->w[0][k] + s->w[1][k]) / 2;
        }
        set_jacobian(row, d, (const double *[2]){one[0], one[0]}, (const double[2]){0.5, 0.5},
                     true);
        return value;
    case SPRAG_ROW_TURN:
    case SPRAG_ROW_CROSS:
        break;
    }
    set_jacobian(row, d, (const double *[2]){d, d}, (const double[2]){1, -1}, false);
    return dot3(rate, s->w[0]) - dot3(rate, s->w[1]);
}

void compliant_move_rows(compliant_run *run, const double *x)
{
    compliant_joints *j = run->joints;
    sides s;
    points p = {.velocity = {0}};
    if (j->has_moved && memcmp(x, j->moved_x, compliant_state_bytes(run)) == 0) {
        return;
    }
    memcpy(j->moved_x, x, compliant_state_bytes(run));
    j->has_moved = true;
    j->has_forces = false;
    run->budget.work += COMPLIANT_COST_ROW * run->rows;
    for (int i = 0; i < run->rows; i++) {
        sprag_row *row = &j->moved_row[i];
        if (i == 0 || memcmp(row->body, row[-1].body, sizeof row->body) != 0) {
            find_sides(run, x, row, &s);
        }
        j->jacobian_rate[i] = move_row(&j->moving[i], &s, &p, row);
    }
}

// ---- stops

static double coordinate(const compliant_run *run, const double *x, int which)
{
    const compliant_moving_row *m = &run->joints->moving[which];
    double d[3], rate[3], marker[3], own[3], across[3];
    sides s;
    find_sides(run, x, &run->joints->moved_row[which], &s);
    find_direction(m, &s, d, rate);
    if (m->kind == SPRAG_ROW_SLIDE) {
        return dot3(d, s.x[0]) - dot3(d, s.x[1]);
    }
    turn(&s, !m->carrier, m->vector[0], marker);
    turn(&s, m->carrier, m->vector[1], own);
    cross3(d, own, across);
    double angle = atan2(dot3(marker, across), dot3(marker, own));
    return m->carrier ? angle : -angle;
}

void compliant_move_stops(compliant_run *run, const double *x)
{
    compliant_joints *j = run->joints;
    for (int s = 0; s < run->stops; s++) {
        sprag_stop *stop = &j->moved_stop[s];
        double change = coordinate(run, x, stop->row) - j->moving[stop->row].start;
        stop->inside = j->first_inside[s] + stop->sign * change;
    }
}

// ---- start of a frame

static void start_row(const compliant_run *run, const sprag_row_law *law, int which)
{
    compliant_moving_row *m = &run->joints->moving[which];
    const sprag_row *row = &run->joints->row[which];
    double d[3];
    sides s;
    find_sides(run, run->state.x, row, &s);
    bool turns = law->kind == SPRAG_ROW_TURN;
    memcpy(d, row->jacobian[0] + (turns ? 3 : 0), sizeof d);
    *m = (compliant_moving_row){.kind = law->kind, .carrier = law->carrier};
    turn_back(&s, m->carrier, d, m->direction);
    for (int side = 0; side < 2; side++) {
        turn_back(&s, turns ? !m->carrier : side, law->vector[side], m->vector[side]);
    }
    if (turns && m->carrier >= 0) { // the marker is across the axis, whatever the joint's error
        double own[3];
        memcpy(own, law->vector[0], sizeof own);
        add_scaled(own, -dot3(own, d), d, 3);
        normalise3(own);
        turn_back(&s, !m->carrier, own, m->vector[0]);
        turn_back(&s, m->carrier, own, m->vector[1]);
    }
    m->same_points = which > 0 && law->kind == SPRAG_ROW_POINT && law[-1].kind == law->kind &&
                     memcmp(row->body, row[-1].body, sizeof row->body) == 0 &&
                     memcmp(law->vector, law[-1].vector, sizeof law->vector) == 0;
}

// Rows that follow their error need its value at every state.
static bool is_frozen(const compliant_joints *j, int row)
{
    return j->rule[row] == COMPLIANT_RIGID || j->rule[row] == COMPLIANT_MOTOR;
}

static bool is_same(const sprag_row *row, const sprag_row *moved)
{
    double size = 0;
    for (int side = 0; side < 2; side++) {
        for (int k = 0; k < 6; k++) {
            double entry = fabs(row->jacobian[side][k]);
            size = entry > size ? entry : size;
        }
    }
    for (int side = 0; side < 2; side++) {
        for (int k = 0; k < 6; k++) { // a direction that is no number is not the same either
            double apart = fabs(row->jacobian[side][k] - moved->jacobian[side][k]);
            if (!(apart <= COMPLIANT_SAME_JACOBIAN * size)) {
                return false;
            }
        }
    }
    return true;
}

static bool take_laws(compliant_run *run, const sprag_row_law *law)
{
    compliant_joints *j = run->joints;
    memcpy(j->moved_row, j->row, (size_t)run->rows * sizeof *j->row);
    for (int i = 0; i < run->rows; i++) {
        if (!is_frozen(j, i)) {
            return false;
        }
        start_row(run, &law[i], i);
    }
    compliant_move_rows(run, run->state.x);
    for (int i = 0; i < run->rows; i++) {
        if (!is_same(&j->row[i], &j->moved_row[i])) {
            return false;
        }
    }
    for (int s = 0; s < run->stops; s++) {
        sprag_row_kind kind = j->moving[j->stop[s].row].kind;
        if (kind != SPRAG_ROW_TURN && kind != SPRAG_ROW_SLIDE) {
            return false;
        }
        j->moved_stop[s] = j->stop[s];
        j->first_inside[s] = j->stop[s].inside;
        j->moving[j->stop[s].row].start = coordinate(run, run->state.x, j->stop[s].row);
    }
    return true;
}

// Bodies are placed at state.x, for which the caller has given the rows. Without laws the caller
// gives them at every state.
bool compliant_start_laws(compliant_run *run)
{
    compliant_joints *j = run->joints;
    sprag_scratch *s = run->scratch;
    sprag_row_law *law = SPRAG_TAKE(s, run->rows, sprag_row_law);
    j->moving = SPRAG_TAKE(s, run->rows, compliant_moving_row);
    j->moved_row = SPRAG_TAKE(s, run->rows, sprag_row);
    j->moved_stop = SPRAG_TAKE(s, run->stops, sprag_stop);
    j->first_inside = SPRAG_TAKE(s, run->stops, double);
    j->moved_x = SPRAG_TAKE_RAW(s, compliant_state_bytes(run) / sizeof(double), double);
    if (s->failed) {
        return false;
    }
    if (run->calls->row_laws && run->calls->row_laws(run->calls->data, run->rows, law) &&
        take_laws(run, law)) {
        j->row = j->moved_row;
        j->stop = j->moved_stop;
        j->has_laws = true;
    }
    return true;
}
