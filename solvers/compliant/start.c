// Joint rows at the start of a frame, and their forces at its end. At the start, rigid rows and
// stops that hardly yield take the speed b - CFM (lambda + p / h), with lambda their force at the
// current velocities and p the impulse that gives them this speed.
#include <math.h>
#include <string.h>

#include "compliant_joints.h"
#include "linalg.h"

// ---- joints that are so far apart that their rows turn while bodies go back: a row that is held
// to a speed meanwhile would drive its bodies on and on

// Evaluates the row where its bodies get to within the frame, once they have the speed that it
// wants; at the end where they are.
static bool turns_away(compliant_run *run, int which, double bias)
{
    const double same = COMPLIANT_SAME_ROW;
    compliant_joints *j = run->joints;
    const sprag_row row = j->row[which];
    double response[2][6], *x = run->state.f, sum = compliant_row_inverse_mass(run, which);
    double change = bias - compliant_row_velocity(&row, run->state.x);
    bool turns = false;
    memcpy(x, run->state.x, (size_t)run->frame->bodies * COMPLIANT_STATES * sizeof *x);
    memcpy(response, j->response[which], sizeof response);
    for (int side = 0; side < 2; side++) {
        if (row.body[side] != SPRAG_STATIC) {
            add_scaled(x + COMPLIANT_STATES * row.body[side] + COMPLIANT_VELOCITY, change / sum,
                       response[side], 6);
        }
    }
    for (int k = 2; k >= 0 && !turns; k--) {
        double effect = 0;
        turns = !compliant_ask_rows(run, x, k * run->frame->step / 2);
        for (int side = 0; side < 2 && !turns; side++) {
            effect += dot6(j->row[which].jacobian[side], response[side]);
        }
        turns = turns || effect < same * sum || effect > sum / same;
    }
    return turns;
}

// bias: m/s or rad/s, wanted. most: rad, turn within the frame that is always too far.
static bool is_too_far(compliant_run *run, int which, double bias, double most)
{
    const double(*response)[6] = (const double(*)[6])run->joints->response[which];
    double sum = compliant_row_inverse_mass(run, which);
    double turn =
        fabs(bias) * run->frame->step * fmax(norm3(response[0] + 3), norm3(response[1] + 3));
    return turn > most * sum || (turn > COMPLIANT_SMALL_TURN * sum && turns_away(run, which, bias));
}

bool compliant_has_joint_error(compliant_run *run)
{
    compliant_joints *j = run->joints;
    for (int i = 0; i < run->rows; i++) {
        bool holds = j->rule[i] == COMPLIANT_RIGID || j->rule[i] == COMPLIANT_ONE_SIDED;
        if (holds && is_too_far(run, i, j->row[i].bias, INFINITY)) {
            return true;
        }
    }
    for (int s = 0; s < run->stops; s++) {
        double bias = compliant_stop_bias(run, &j->stop[s]);
        if (bias > 0 &&
            is_too_far(run, j->stop[s].row, j->stop[s].sign * bias, COMPLIANT_WRAPPED_TURN)) {
            return true;
        }
    }
    return false;
}

// ---- start and end

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
// evaluation. *softest: the largest of what these rows yield by, relative to their inverse masses.
static double set_yield_speeds(compliant_run *run, double *softest)
{
    compliant_joints *j = run->joints;
    double most = 0;
    *softest = 0;
    memset(j->yield_speed, 0, (size_t)(run->rows + run->stops) * sizeof *j->yield_speed);
    for (int i = 0; i < j->active.count; i++) {
        const compliant_active_row *row = &j->active.row[i];
        double yield = row->compliance * j->active.solution[i];
        j->yield_speed[row->stop >= 0 ? run->rows + row->stop : row->row] = yield;
        bool counts = row->stop >= 0 || j->rule[row->row] == COMPLIANT_RIGID;
        if (counts) {
            double rigid = run->frame->step * compliant_row_inverse_mass(run, row->row);
            most = fmax(most, fabs(yield));
            *softest = rigid > 0 ? fmax(*softest, row->compliance / rigid) : *softest;
        }
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
    compliant_set_yields(run, run->time);
    run->joints->as_if_rigid = false;
    return compliant_solve_active(run);
}

// Yield speeds are those of rigid rows, except where rows contradict one another: CFM alone keeps
// their forces finite, so it stays. Then rigid forces are larger by the CFM over the softness of
// rows (row_matrix.c); otherwise by the CFM over what other rows leave of the inverse mass, as of a
// spring at a long lever. false: there are no forces.
static bool choose_yield_speeds(compliant_run *run, const double *label)
{
    if (!evaluate_forces(run, label)) {
        return false;
    }
    double softest, first = set_yield_speeds(run, &softest);
    double most = COMPLIANT_CONTRADICTION + COMPLIANT_LEVERAGE * softest;
    if (first > COMPLIANT_YIELD_MIN * run->options->tolerance * run->sizes.fastest) {
        bool contradict = !solve_again(run, true) || set_yield_speeds(run, &softest) > most * first;
        if (contradict) {
            bool good = solve_again(run, false);
            set_yield_speeds(run, &softest);
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
    s->dependent = s->soft; // for the whole frame
    compliant_set_active_rows(run, label + run->guards.pairs, COMPLIANT_FOR_START);
    compliant_set_yields(run, 0);
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
