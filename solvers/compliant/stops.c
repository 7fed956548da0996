// Stops of joints as guards, and impacts. A stop that has been met is a row that only pushes. When
// it is met velocities jump, by impulses p of its row and of those that hold:
//
//     (J W J' + CFM / h) p = -J v of stops, times 1 + restitution of the one that is met; 0 of rows
//
// which is what a step of ODE takes away there. Stops that then part are left at once: held until
// they are measurably off, they would be met again faster than they were left, and two that take
// turns would do so without end. What parts too slowly to get off measurably stays. At the start of
// a frame rows and stops that hardly yield take the speed b - CFM (lambda + p / h), with lambda
// what holds them as they go then.
#include <math.h>
#include <string.h>

#include "compliant_rows.h"
#include "linalg.h"

// ---- guards

// m/s or rad/s, to measure the coordinate's by.
static double speed_scale(const compliant_run *run, int which)
{
    const compliant_joints *j = run->joints;
    const sprag_row *row = &j->row[j->stop[which].row];
    double speed = 0;
    for (int side = 0; side < 2; side++) {
        if (row->body[side] != SPRAG_STATIC) {
            const double *scale = run->scale + COMPLIANT_STATES * row->body[side];
            speed += norm3(row->jacobian[side]) * scale[COMPLIANT_VELOCITY] +
                     norm3(row->jacobian[side] + 3) * scale[COMPLIANT_SPIN];
        }
    }
    return speed;
}

// m or rad: a stop that bodies rest on counts as so much nearer, lest errors of the integration
// take them off it.
static double nearer(const compliant_run *run, int which)
{
    double error = run->options->tolerance * run->frame->step * speed_scale(run, which);
    return fmax(1e-11, 10 * error);
}

bool compliant_past_stops(compliant_run *run, const double *x, const int *stop, int count,
                          double *h)
{
    if (!compliant_ask(run, x, 0)) {
        return false;
    }
    for (int i = 0; i < count; i++) {
        int which = stop ? stop[i] : i;
        h[i] = run->joints->nearer[which] - run->joints->stop[which].inside;
    }
    return true;
}

int compliant_stop_row(compliant_run *run, const double *x, int which, int *column, double *value)
{
    int entries = 0;
    if (!compliant_ask(run, x, 0)) {
        return -1;
    }
    const sprag_stop *stop = &run->joints->stop[which];
    const sprag_row *row = &run->joints->row[stop->row];
    for (int side = 0; side < 2; side++) {
        int body = row->body[side];
        if (body == SPRAG_STATIC) {
            continue;
        }
        const double *q = x + COMPLIANT_STATES * body + COMPLIANT_QUATERNION;
        for (int k = 0; k < 7; k++) {
            column[entries + k] = COMPLIANT_STATES * body + k;
        }
        for (int k = 0; k < 3; k++) {
            value[entries + k] = -stop->sign * row->jacobian[side][k];
        }
        compliant_turn_row(q, row->jacobian[side] + 3, -stop->sign, value + entries + 3);
        entries += 7;
    }
    return entries;
}

void compliant_set_band(compliant_run *run, double time)
{
    for (int s = 0; s < run->stops; s++) {
        run->eps[run->guards + s] = fmax(1e-12, time * speed_scale(run, s));
    }
}

void compliant_leave_stop(compliant_run *run, int which)
{
    run->joints->nearer[which] = 0;
    run->joints->parting[which] = 0;
}

bool compliant_is_at(const compliant_run *run, int which)
{
    return run->joints->stop[which].inside <= 0.01 * run->eps[run->guards + which];
}

bool compliant_is_past(const compliant_run *run, int which)
{
    return run->joints->stop[which].inside <= 0;
}

static double parting_speed(const compliant_run *run, int which)
{
    const sprag_stop *stop = &run->joints->stop[which];
    return stop->sign * compliant_along(&run->joints->row[stop->row], run->x);
}

double compliant_goes_on(const compliant_run *run, int which)
{
    const sprag_stop *stop = &run->joints->stop[which];
    double speed = -parting_speed(run, which);
    bool near = compliant_is_at(run, which) && -stop->inside <= run->eps[run->guards + which];
    return near && speed > 1e-9 * run->fastest ? speed : 0;
}

// ---- impacts

// What they make of velocities; told as forces over the frame.
static bool strike(compliant_run *run)
{
    memset(run->joints->force, 0, (size_t)run->rows * sizeof *run->joints->force);
    if (!compliant_push(run->joints, run->x)) {
        return false;
    }
    compliant_set_motors(run);
    run->frame->rows = run->rows;
    if (run->calls->add_forces) {
        run->calls->add_forces(run->calls->data, run->joints->force, NULL, 1 / run->frame->step);
    }
    return true;
}

static bool lies_at(const compliant_run *run, int which)
{
    return fabs(run->joints->stop[which].inside) <= 0.5 * run->eps[run->guards + which];
}

// Leaves the stops that part, and tells whether others part by a little.
static bool leave_parted(compliant_run *run, double *label)
{
    const double flight = 1e-4; // of what counts as nearer: so high is none
    bool creeps = false;
    for (int s = 0; s < run->stops; s++) {
        double speed = parting_speed(run, s), scale = speed_scale(run, s);
        if (label[s] == 0 || !(speed > 0) || !lies_at(run, s)) {
            continue;
        }
        if (speed > sqrt(2 * flight * nearer(run, s) * scale / run->frame->step)) {
            label[s] = 0;
            compliant_leave_stop(run, s);
        } else {
            creeps = true;
        }
    }
    return creeps;
}

// Takes away what stops part by.
static bool hold(compliant_run *run, const double *label)
{
    compliant_joints *j = run->joints;
    compliant_set_lines(run, label, COMPLIANT_OF_IMPACT);
    compliant_set_matrix(run, 0);
    for (int i = 0; i < j->lines; i++) {
        compliant_line *l = &j->line[i];
        bool at = l->stop >= 0 && lies_at(run, l->stop);
        l->lo = at ? -INFINITY : l->lo;
        j->right[i] = at ? -parting_speed(run, l->stop) : 0;
    }
    return strike(run);
}

bool compliant_meet_stop(compliant_run *run, int which, double *label)
{
    enum { BOUNCES = 20 }; // of a stop in a frame; then it stays
    compliant_joints *j = run->joints;
    compliant_place(run, run->x);
    if (!compliant_ask(run, run->x, 0)) {
        return false;
    }
    compliant_set_lines(run, label, COMPLIANT_OF_IMPACT);
    compliant_set_matrix(run, 0);
    double bounce = run->met[which]++ < BOUNCES ? fmin(fmax(j->stop[which].bounce, 0), 1) : 0;
    for (int i = 0; i < j->lines; i++) {
        const compliant_line *l = &j->line[i];
        double more = l->stop == which ? 1 + bounce : l->stop >= 0;
        j->right[i] = -more * l->sign * compliant_along(&j->row[l->row], run->x);
        j->right[i] = more > 0 ? j->right[i] : 0;
    }
    j->nearer[which] = nearer(run, which);
    j->parting[which] = 0;
    return strike(run) && (!leave_parted(run, label) || hold(run, label));
}

// By the forces that hold rows as they go now. Returns the largest, m/s or rad/s, of a hard one.
static double yield_by(compliant_run *run, const double *label, bool holding)
{
    compliant_joints *j = run->joints;
    double most = 0;
    for (int i = 0; i < run->rows; i++) {
        bool hard = j->rule[i] == COMPLIANT_HARD;
        j->goal[i] = hard ? compliant_along(&j->row[i], run->x) : j->goal[i];
    }
    for (int s = 0; s < run->stops; s++) {
        j->parting[s] = parting_speed(run, s);
    }
    j->lines = 0;
    j->holding = holding;
    compliant_problem(run).field(run, run->x, label, run->f);
    j->holding = false;
    memset(j->yield, 0, (size_t)(run->rows + run->stops) * sizeof *j->yield);
    for (int i = 0; i < j->lines; i++) {
        const compliant_line *l = &j->line[i];
        double yield = l->compliance * j->b[i];
        j->yield[l->stop >= 0 ? run->rows + l->stop : l->row] = yield;
        most = l->stop >= 0 || j->rule[l->row] == COMPLIANT_HARD ? fmax(most, fabs(yield)) : most;
    }
    return isfinite(run->f[0]) ? most : NAN;
}

// What CFM lets rows and stops give way by. Rows that contradict one another are only held by CFM.
// false: there are no forces.
static bool set_yields(compliant_run *run, const double *label)
{
    const double little = 1e-10 * run->fastest, many = 3;
    double first = yield_by(run, label, false);
    double all = first > little ? yield_by(run, label, true) : first;
    return (all <= many * first || yield_by(run, label, false) >= 0) && first >= 0;
}

// What is past a stop goes back as by a step of ODE, all the frame.
static double parting(const compliant_run *run, int which)
{
    const sprag_stop *stop = &run->joints->stop[which];
    double rebound = -fmin(fmax(stop->bounce, 0), 1) * parting_speed(run, which);
    return fmax(compliant_stop_bias(run, stop), rebound);
}

static bool set_goals(compliant_run *run, const double *label)
{
    compliant_joints *j = run->joints;
    compliant_place(run, run->x);
    if (!compliant_ask(run, run->x, 0) || !set_yields(run, label) ||
        !compliant_ask(run, run->x, 0)) {
        return false;
    }
    for (int i = 0; i < run->rows; i++) {
        j->goal[i] = j->rule[i] == COMPLIANT_HARD ? j->row[i].bias : j->goal[i];
    }
    for (int s = 0; s < run->stops; s++) {
        j->parting[s] = label[run->guards + s] != 0 ? parting(run, s) : 0;
    }
    return true;
}

bool compliant_start_rows(compliant_run *run, const double *label)
{
    compliant_joints *j = run->joints;
    for (int s = 0; s < run->stops; s++) {
        const sprag_stop *stop = &j->stop[s];
        j->nearer[s] = stop->inside < nearer(run, s) ? nearer(run, s) : 0;
        if (label[run->guards + s] != 0 && stop->sign * j->row[stop->row].bias > 0) {
            j->share[stop->row] = stop->fudge; // of a motor that starts there, all the frame
        }
    }
    if (!set_goals(run, label)) {
        return false;
    }
    compliant_set_lines(run, label + run->guards, COMPLIANT_OF_START);
    compliant_set_matrix(run, 0);
    for (int i = 0; i < j->lines; i++) {
        const compliant_line *l = &j->line[i];
        double goal = l->stop >= 0 ? l->bias - j->yield[run->rows + l->stop]
                                   : j->goal[l->row] - j->yield[l->row];
        j->right[i] = goal - l->sign * compliant_along(&j->row[l->row], run->x);
    }
    if (!strike(run)) {
        return false;
    }
    for (int i = 0; i < j->lines; i++) { // which is where they go on
        const compliant_line *l = &j->line[i];
        double *goal = l->stop >= 0 ? &j->parting[l->stop] : &j->goal[l->row];
        *goal -= l->compliance * j->b[i] / run->frame->step;
    }
    return true;
}
