// Joint rows in continuous time. ODE's row J v + CFM lambda = b, at the end of a step, becomes
//
//     d(J v)/dt = (b - CFM lambda - J v) / h        b: ERP / h times the error, plus the drive
//
// For a rigid joint J v = 0 is its solution. With d(J v)/dt = J dv/dt + J' v the forces follow from
//
//     (J M^-1 J' + CFM / h) lambda = (b - J v) / h - J' v - J a
//
// with a the accelerations without joints and J' the rate of J along the motion, by the law of the
// row (row_laws.c) or by a central difference. The rules of rows:
// - rigid: keeps the speed that start.c gives it at the start of the frame, b - CFM p / h, where p
// is
//   that impulse: its error decays as by steps of ODE.
// - one-sided: as the equation says.
// - spring (a row that yields as fast as the integrator resolves): the spring and damper that ODE's
//   steps tend to, lambda = (b - h b' - J v) / CFM; b - h b' consists of the error and (1 - ERP) J
//   v.
// - motor: lambda between two bounds. From the speed v0, at the start of the frame, it follows the
//   acceleration s that reaches its speed in a step; after an impact that of its full force, if it
//   has its speed again within the frame, then 0,
//
//       d(J v)/dt = s + (v0 + s t - J v) 3 / h       s = (b - CFM lambda - v0) / h
//
//   The second part corrects deviations by forces beyond its bounds; 3 / h is the largest rate that
//   a single step of the integrator resolves.
#include <float.h>
#include <math.h>
#include <string.h>

#include "compliant_joints.h"
#include "linalg.h"
#include "mover.h"
#include "vectors6.h"

// ---- evaluation

static int ask_rows(compliant_run *run, int *stops)
{
    const sprag_frame_calls *calls = run->calls;
    const sprag_frame *frame = run->frame;
    compliant_joints *j = run->joints;
    *stops = 0;
    return calls->coordinates
               ? calls->coordinates(calls->data, frame->body, frame->step, &j->row, &j->stop, stops)
               : calls->rows(calls->data, frame->body, frame->step, &j->row);
}

bool compliant_ask_rows(compliant_run *run, const double *x, double t)
{
    int stops;
    run->budget.work += COMPLIANT_COST_ROW * run->rows + COMPLIANT_COST_ASKED * run->frame->bodies;
    for (int i = 0; i < run->frame->bodies; i++) {
        sprag_mover *body = &run->frame->body[i];
        sprag_motion motion = {.pose = run->state.pose[i]};
        memcpy(motion.velocity, x + COMPLIANT_STATES * i + COMPLIANT_VELOCITY,
               sizeof motion.velocity);
        memcpy(body->velocity, motion.velocity, sizeof body->velocity);
        body->pose = run->state.pose[i];
        if (t != 0) {
            sprag_mover_cap(body, motion.velocity + 3);
            sprag_motion_at(&motion, t, &body->pose);
        }
    }
    return ask_rows(run, &stops) == run->rows && stops == run->stops;
}

bool compliant_evaluate_rows(compliant_run *run, const double *x)
{
    if (!run->joints->has_laws) {
        return compliant_ask_rows(run, x, 0);
    }
    compliant_move_rows(run, x);
    compliant_move_stops(run, x);
    return true;
}

double compliant_row_velocity(const sprag_row *row, const double *x)
{
    double sum = 0;
    for (int side = 0; side < 2; side++) {
        if (row->body[side] != SPRAG_STATIC) {
            sum += product6(row->jacobian[side],
                            x + COMPLIANT_STATES * row->body[side] + COMPLIANT_VELOCITY);
        }
    }
    return sum;
}

bool compliant_evaluate_row_rates(compliant_run *run, const double *x)
{
    compliant_joints *j = run->joints;
    double span = COMPLIANT_ROW_DIFFERENCE * run->frame->step;
    if (j->has_laws) {
        return compliant_evaluate_rows(run, x);
    }
    for (int sign = 1; sign >= -1 && run->rows > 0; sign -= 2) {
        if (!compliant_ask_rows(run, x, sign * span)) {
            return false;
        }
        for (int i = 0; i < run->rows; i++) {
            double speed = compliant_row_velocity(&j->row[i], x), bias = j->row[i].bias;
            j->jacobian_rate[i] = sign > 0 ? speed : (j->jacobian_rate[i] - speed) / (2 * span);
            j->bias_rate[i] = sign > 0 ? bias : (j->bias_rate[i] - bias) / (2 * span);
        }
    }
    return compliant_ask_rows(run, x, 0);
}

// ---- forces

// m/s or rad/s: unbounded speeds must not make values that are not finite.
static double wanted_speed(const compliant_joints *j, int row)
{
    return clamp(j->row[row].bias, -1e100, 1e100);
}

// From now on a motor follows an acceleration.
static void set_motor(compliant_run *run, int row, double speed, double rate, double end)
{
    compliant_joints *j = run->joints;
    j->target_rate[row] = rate;
    j->target_speed[row] = speed - rate * run->time;
    j->target_end[row] = end;
    j->was_hit[row] = j->has_forces = false;
}

void compliant_set_motors(compliant_run *run)
{
    const compliant_joints *j = run->joints;
    for (int i = 0; i < run->rows; i++) {
        if (j->rule[i] == COMPLIANT_MOTOR) {
            double speed = compliant_row_velocity(&j->row[i], run->state.x);
            double rate = (wanted_speed(j, i) - speed) / run->frame->step;
            set_motor(run, i, speed, rate, INFINITY);
        }
    }
}

void compliant_hit_motors(compliant_run *run)
{
    compliant_joints *j = run->joints;
    for (int i = 0; i < run->rows; i++) {
        double speed = compliant_row_velocity(&j->row[i], run->state.x);
        double planned = j->target_speed[i] + j->target_rate[i] * run->time;
        j->was_hit[i] |= j->rule[i] == COMPLIANT_MOTOR &&
                         fabs(speed - planned) > COMPLIANT_MOTOR_HIT * hypot(speed, planned);
    }
}

// Demands more of the motors that were hit than they have. Returns whether there are any.
static bool demand_all(compliant_run *run)
{
    const compliant_joints *j = run->joints;
    bool any = false;
    for (int i = 0; i < run->rows; i++) {
        if (j->was_hit[i]) {
            double speed = compliant_row_velocity(&j->row[i], run->state.x);
            double change = wanted_speed(j, i) - speed;
            double most = compliant_row_inverse_mass(run, i) * fmax(-j->row[i].lo, j->row[i].hi);
            double rate = 10 * (most + fabs(change) / run->frame->step);
            set_motor(run, i, speed, copysign(rate, change), INFINITY);
            run->joints->was_hit[i] = any = true;
        }
    }
    return any;
}

bool compliant_plan_motors(compliant_run *run)
{
    const compliant_joints *j = run->joints;
    const double h = run->frame->step, late = h * (1 - COMPLIANT_PULL_SLIVER), *f = run->state.f;
    if (run->rows <= 0 || !demand_all(run)) {
        return true;
    }
    compliant_set_held_pairs(run);
    compliant_set_known_labels(run);
    run->held.observed = true;
    compliant_field(run, run->state.x, run->guards.known_label, run->state.f);
    run->held.observed = false;
    for (int i = 0; i < run->rows && isfinite(f[0]); i++) {
        if (j->was_hit[i]) {
            double speed = compliant_row_velocity(&j->row[i], run->state.x);
            double change = wanted_speed(j, i) - speed;
            double rate = compliant_row_velocity(&j->row[i], f) + j->jacobian_rate[i];
            double pull = change * rate > 0 ? fmax(change / rate, COMPLIANT_SHORTEST_PULL * h) : h;
            double end = run->time + pull;
            pull = end > late && end < h ? h - run->time : pull;
            set_motor(run, i, speed, change / pull, end > late ? INFINITY : end);
        }
    }
    return isfinite(f[0]);
}

double compliant_next_motor(const compliant_run *run)
{
    double next = INFINITY;
    for (int i = 0; i < run->rows; i++) {
        next = fmin(next, run->joints->target_end[i]);
    }
    return next;
}

void compliant_end_motors(compliant_run *run)
{
    for (int i = 0; i < run->rows; i++) {
        if (run->joints->target_end[i] <= run->time * (1 + 4 * DBL_EPSILON)) {
            set_motor(run, i, wanted_speed(run->joints, i), 0, INFINITY);
        }
    }
}

// Acceleration that an active row with a velocity demands, without CFM, m/s^2 or rad/s^2.
// per_step: 1 / h
static double demanded(const compliant_run *run, const compliant_active_row *row, double speed,
                       double per_step, double time)
{
    const compliant_joints *j = run->joints;
    double target = j->target_speed[row->row], rate = j->target_rate[row->row];
    switch (row->stop >= 0 ? COMPLIANT_ONE_SIDED : j->rule[row->row]) {
    case COMPLIANT_ONE_SIDED:
        return (compliant_active_bias(run, row) - speed) * per_step;
    case COMPLIANT_RIGID:
        return (target - speed) * per_step;
    case COMPLIANT_SPRING: // never active
    case COMPLIANT_MOTOR:
        break;
    }
    return rate + COMPLIANT_CATCH_UP * (target + rate * time - speed) * per_step;
}

static void apply_springs(compliant_run *run, const double *x, double *f)
{
    compliant_joints *j = run->joints;
    for (int i = 0; i < run->rows; i++) {
        const sprag_row *row = &j->row[i];
        j->force[i] = 0;
        if (j->rule[i] == COMPLIANT_SPRING) {
            double drive =
                row->bias - run->frame->step * j->bias_rate[i] - compliant_row_velocity(row, x);
            double force = drive / row->compliance;
            j->force[i] = clamp(force, row->lo, row->hi);
            compliant_apply_row(j, i, j->force[i], f);
        }
    }
}

static size_t label_bytes(const compliant_run *run)
{
    return (size_t)(run->guards.pairs + run->stops) * sizeof(double);
}

void compliant_demand(compliant_run *run, const double *x, const double *label, double *f)
{
    compliant_joints *j = run->joints;
    const double per_step = 1 / run->frame->step;
    double time = x[COMPLIANT_STATES * run->frame->bodies];
    compliant_set_active_rows(run, label + run->guards.pairs, COMPLIANT_FOR_FORCES);
    compliant_set_yields(run, time);
    apply_springs(run, x, f);
    for (int i = 0; i < j->active.count; i++) {
        const compliant_active_row *row = &j->active.row[i];
        const sprag_row *of = &j->row[row->row];
        double speed = row->sign * compliant_row_velocity(of, x);
        double without = compliant_row_velocity(of, f) + j->jacobian_rate[row->row];
        j->active.right[i] = demanded(run, row, speed, per_step, time) - row->sign * without;
    }
}

bool compliant_constrain(compliant_run *run, const double *x, const double *label, double *f)
{
    compliant_joints *j = run->joints;
    compliant_demand(run, x, label, f);
    if (!compliant_apply_rows(run, f)) {
        return false;
    }
    j->has_forces = j->has_laws;
    memcpy(j->force_label, label, label_bytes(run));
    return true;
}

bool compliant_has_forces(const compliant_run *run, const double *x, const double *label)
{
    const compliant_joints *j = run->joints;
    return j->has_forces && memcmp(x, j->moved_x, compliant_state_bytes(run)) == 0 &&
           memcmp(label, j->force_label, label_bytes(run)) == 0;
}

void compliant_report_rows(compliant_run *run, double share)
{
    run->frame->rows = run->rows;
    if (run->calls->add_forces) {
        run->calls->add_forces(run->calls->data, run->joints->row, run->joints->force, NULL, share);
    }
}

// ---- start of a frame

static void set_rules(compliant_run *run)
{
    compliant_joints *j = run->joints;
    for (int i = 0; i < run->rows; i++) {
        const sprag_row *row = &j->row[i];
        bool lower = isfinite(row->lo), upper = isfinite(row->hi);
        j->rule[i] = lower && upper                                      ? COMPLIANT_MOTOR
                     : !compliant_hardly_yields(run, i, row->compliance) ? COMPLIANT_SPRING
                     : lower || upper                                    ? COMPLIANT_ONE_SIDED
                                                                         : COMPLIANT_RIGID;
        j->target_speed[i] = row->bias;
        j->target_end[i] = INFINITY;
        j->force_share[i] = 1;
    }
    compliant_set_motors(run);
}

static bool allocate(compliant_run *run)
{
    sprag_scratch *s = run->scratch;
    compliant_joints *j = run->joints;
    compliant_row_system *a = &j->active;
    size_t room = (size_t)run->rows + (size_t)run->stops, entries = room * (room + 1) / 2;
    j->jacobian_rate = SPRAG_TAKE(s, run->rows, double);
    j->bias_rate = SPRAG_TAKE(s, run->rows, double);
    j->rule = SPRAG_TAKE(s, run->rows, compliant_rule);
    j->target_speed = SPRAG_TAKE(s, run->rows, double);
    j->target_rate = SPRAG_TAKE(s, run->rows, double);
    j->target_end = SPRAG_TAKE(s, run->rows, double);
    j->was_hit = SPRAG_TAKE(s, run->rows, bool);
    j->force_share = SPRAG_TAKE(s, run->rows, double);
    j->yield_speed = SPRAG_TAKE(s, room, double);
    j->hysteresis = SPRAG_TAKE(s, run->stops, double);
    j->separation_speed = SPRAG_TAKE(s, run->stops, double);
    j->hits = SPRAG_TAKE(s, run->stops, int);
    j->response = SPRAG_TAKE(s, run->rows, *j->response);
    j->first_of_body = SPRAG_TAKE(s, run->frame->bodies, int);
    j->force = SPRAG_TAKE(s, run->rows, double);
    j->inverse_mass = SPRAG_TAKE(s, run->frame->bodies, double);
    j->inverse_inertia = SPRAG_TAKE(s, run->frame->bodies, *j->inverse_inertia);
    j->active_label = SPRAG_TAKE(s, run->stops, double);
    j->force_label = SPRAG_TAKE(s, run->frame->pairs + run->stops, double);
    j->end_of_couplings = SPRAG_TAKE_RAW(s, room, int);
    a->row = SPRAG_TAKE(s, room, compliant_active_row);
    a->first = SPRAG_TAKE(s, room, int);
    a->start = SPRAG_TAKE(s, room, size_t);
    j->coupling = SPRAG_TAKE_RAW(s, 2 * entries, *j->coupling);
    a->line = SPRAG_TAKE_RAW(s, room, double *);
    a->A = SPRAG_TAKE_RAW(s, entries, double);
    a->factor = SPRAG_TAKE_RAW(s, entries + room, double);
    a->yield = SPRAG_TAKE(s, room, double);
    a->softness = SPRAG_TAKE(s, room, double);
    a->right = SPRAG_TAKE(s, room, double);
    a->solution = SPRAG_TAKE(s, room, double);
    a->aim = SPRAG_TAKE(s, room, double);
    a->excess = SPRAG_TAKE(s, room, double);
    return !s->failed;
}

bool compliant_start_joints(compliant_run *run, sprag_compliant_reason *reason)
{
    run->joints = SPRAG_TAKE(run->scratch, 1, compliant_joints);
    *reason = SPRAG_COMPLIANT_JOINTS;
    if (!run->joints || (run->calls->next_limit && !run->calls->coordinates)) {
        return false;
    }
    run->rows = ask_rows(run, &run->stops);
    if (run->rows < 0 || run->rows + run->stops > COMPLIANT_ROWS_MAX || !allocate(run)) {
        return false;
    }
    for (int i = 0; i < run->frame->bodies; i++) {
        double mass = run->frame->body[i].mass;
        run->joints->inverse_mass[i] = mass > 0 ? 1 / mass : 0;
    }
    compliant_set_responses(run);
    set_rules(run);
    return true;
}
