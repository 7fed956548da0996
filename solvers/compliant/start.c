// Joint rows at the start of a frame, and their forces at its end. At the start, rigid rows and
// stops that hardly yield take the speed b - CFM (lambda + p / h), with lambda their force at the
// current velocities and p the impulse that gives them this speed.
#include <math.h>
#include <string.h>

#include "compliant_joints.h"

bool compliant_report_row_forces(compliant_run *run, const double *label, double share)
{
    bool known = compliant_has_forces(run, run->state.x, label);
    if (!known) {
        compliant_field(run, run->state.x, label, run->state.f);
    }
    if (!known && !isfinite(run->state.f[0])) {
        return false;
    }
    compliant_report_rows(run, share);
    return true;
}

// Sets yield speeds, by the forces that keep the current velocities of rigid rows and stops.
// Returns the largest of these rows, m/s or rad/s. The equations of the rows are those of the last
// evaluation.
static double set_yield_speeds(compliant_run *run)
{
    compliant_joints *j = run->joints;
    double most = 0;
    memset(j->yield_speed, 0, (size_t)(run->rows + run->stops) * sizeof *j->yield_speed);
    for (int i = 0; i < j->active.count; i++) {
        const compliant_active_row *row = &j->active.row[i];
        double yield = row->compliance * j->active.solution[i];
        j->yield_speed[row->stop >= 0 ? run->rows + row->stop : row->row] = yield;
        bool counts = row->stop >= 0 || j->rule[row->row] == COMPLIANT_RIGID;
        most = counts ? fmax(most, fabs(yield)) : most;
    }
    return most;
}

// Evaluates the forces that keep the current velocities.
static bool evaluate_forces(compliant_run *run, const double *label)
{
    compliant_joints *j = run->joints;
    for (int i = 0; i < run->rows; i++) {
        bool rigid = j->rule[i] == COMPLIANT_RIGID;
        j->target_speed[i] =
            rigid ? compliant_row_velocity(&j->row[i], run->state.x) : j->target_speed[i];
    }
    for (int s = 0; s < run->stops; s++) {
        j->separation_speed[s] = compliant_stop_velocity(run, s);
    }
    compliant_field(run, run->state.x, label, run->state.f);
    return isfinite(run->state.f[0]);
}

static bool solve_again(compliant_run *run, bool as_if_rigid)
{
    run->joints->as_if_rigid = as_if_rigid;
    compliant_set_matrix(run, run->time);
    run->joints->as_if_rigid = false;
    return run->joints->active.count == 0 || compliant_solve_rows(&run->joints->active);
}

// Yield speeds are those of rigid rows, except where rows contradict one another: CFM alone keeps
// their forces finite, so it stays. false: there are no forces.
static bool choose_yield_speeds(compliant_run *run, const double *label)
{
    if (!evaluate_forces(run, label)) {
        return false;
    }
    double first = set_yield_speeds(run);
    if (first > COMPLIANT_YIELD_MIN * run->sizes.fastest) {
        bool contradict =
            !solve_again(run, true) || set_yield_speeds(run) > COMPLIANT_CONTRADICTION * first;
        if (contradict) {
            bool good = solve_again(run, false);
            set_yield_speeds(run);
            return good;
        }
    }
    return true;
}

// m/s or rad/s. A stop that is passed goes back as by a step of ODE, during the whole frame.
static double separation_speed(const compliant_run *run, int which)
{
    const sprag_stop *stop = &run->joints->stop[which];
    double rebound = -fmin(fmax(stop->bounce, 0), 1) * compliant_stop_velocity(run, which);
    return fmax(compliant_stop_bias(run, stop), rebound);
}

static bool set_targets(compliant_run *run, const double *label)
{
    compliant_joints *j = run->joints;
    compliant_place(run, run->state.x);
    if (!compliant_evaluate_rows(run, run->state.x) || !choose_yield_speeds(run, label) ||
        !compliant_evaluate_rows(run, run->state.x)) {
        return false;
    }
    for (int i = 0; i < run->rows; i++) {
        j->target_speed[i] = j->rule[i] == COMPLIANT_RIGID ? j->row[i].bias : j->target_speed[i];
    }
    for (int s = 0; s < run->stops; s++) {
        j->separation_speed[s] = label[run->guards.pairs + s] != 0 ? separation_speed(run, s) : 0;
    }
    return true;
}

static void start_stops(compliant_run *run, const double *label)
{
    compliant_joints *j = run->joints;
    j->active_for_forces = false; // forces of motors change
    for (int s = 0; s < run->stops; s++) {
        const sprag_stop *stop = &j->stop[s];
        double hysteresis = compliant_stop_hysteresis(run, s);
        j->hysteresis[s] = stop->inside < hysteresis ? hysteresis : 0;
        if (label[run->guards.pairs + s] != 0 && stop->sign * j->row[stop->row].bias > 0) {
            j->force_share[stop->row] = stop->fudge; // for the whole frame
        }
    }
}

bool compliant_start_rows(compliant_run *run, const double *label)
{
    compliant_joints *j = run->joints;
    compliant_row_system *s = &j->active;
    start_stops(run, label);
    if (!set_targets(run, label)) {
        return false;
    }
    compliant_set_active_rows(run, label + run->guards.pairs, COMPLIANT_FOR_START);
    compliant_set_matrix(run, 0);
    for (int i = 0; i < s->count; i++) {
        const compliant_active_row *row = &s->row[i];
        double target =
            row->stop >= 0 ? compliant_active_bias(run, row) - j->yield_speed[run->rows + row->stop]
                           : j->target_speed[row->row] - j->yield_speed[row->row];
        s->right[i] = target - row->sign * compliant_row_velocity(&j->row[row->row], run->state.x);
    }
    if (!compliant_apply_impulses(run)) {
        return false;
    }
    for (int i = 0; i < s->count; i++) { // rows keep the speed that they have now
        const compliant_active_row *row = &s->row[i];
        double *target =
            row->stop >= 0 ? &j->separation_speed[row->stop] : &j->target_speed[row->row];
        *target -= row->compliance * s->solution[i] / run->frame->step;
    }
    return true;
}
