// Joint rows in continuous time. ODE's row J v + CFM lambda = b, at the end of a step, is what
//
//     d(J v)/dt = (b - CFM lambda - J v) / h        b = ERP / h times the error, and what drives it
//
// tends to, and for a rigid joint that is right J v = 0 for ever. So lambda is of
//
//     (J W J' + CFM / h) lambda = (b - J v) / h - J' v - J a
//
// with W the inverse mass, a the accelerations without joints and J' the rate of J along the
// motion, by a central difference. A row that hardly yields has the b of the start of the frame all
// through it, less CFM p / h, where p is the impulse by which stops.c gives it the speed of
// ODE's step then: its error decays as it does by ODE's steps. A row that yields as fast as a frame
// resolves is the spring and damper that ODE's steps tend to,
// lambda = (b - h b' - J v) / CFM, where b - h b' is of the error and (1 - ERP) J v.
//
// A motor is a row with lambda between its bounds: the solution between them is unique and
// continuous in the state. From v0, at the start of the frame and after an impact, it wants the
// acceleration that brings it to its speed in a step,
//
//     d(J v)/dt = s + (v0 + s t - J v) 3 / h       s = (b - CFM lambda - v0) / h
//
// where the second part is for what has pushed it off that line by more than its bounds (3 is what
// a single step of the integrator bears).
#include <math.h>
#include <string.h>

#include "compliant_rows.h"
#include "linalg.h"
#include "mover.h"

enum { MOST_ROWS = 512 };

bool compliant_ask(compliant_run *run, const double *x, double t)
{
    sprag_frame *frame = run->frame;
    const sprag_frame_calls *calls = run->calls;
    const double cost = 2; // of a row, in looks at two balls
    compliant_joints *j = run->joints;
    int stops = 0, rows;
    run->work += cost * run->rows;
    for (int i = 0; i < frame->bodies; i++) {
        sprag_mover *body = &frame->body[i];
        sprag_motion motion = {.pose = run->pose[i]};
        memcpy(motion.velocity, x + COMPLIANT_STATES * i + COMPLIANT_VELOCITY,
               sizeof motion.velocity);
        memcpy(body->velocity, motion.velocity, sizeof body->velocity);
        body->pose = run->pose[i];
        if (t != 0) {
            sprag_mover_cap(&run->frame->body[i], motion.velocity + 3);
            sprag_motion_at(&motion, t, &body->pose);
        }
    }
    rows = calls->coordinates ? calls->coordinates(calls->data, frame->body, frame->step, &j->row,
                                                   &j->stop, &stops)
                              : calls->rows(calls->data, frame->body, frame->step, &j->row);
    return rows == run->rows && stops == run->stops;
}

double compliant_along(const sprag_row *row, const double *x)
{
    double sum = 0;
    for (int side = 0; side < 2; side++) {
        if (row->body[side] != SPRAG_STATIC) {
            sum += dot6(row->jacobian[side],
                        x + COMPLIANT_STATES * row->body[side] + COMPLIANT_VELOCITY);
        }
    }
    return sum;
}

bool compliant_ask_rows(compliant_run *run, const double *x)
{
    compliant_joints *j = run->joints;
    double span = 2e-4 * run->frame->step;
    for (int sign = 1; sign >= -1 && run->rows > 0; sign -= 2) {
        if (!compliant_ask(run, x, sign * span)) {
            return false;
        }
        for (int i = 0; i < run->rows; i++) {
            double speed = compliant_along(&j->row[i], x);
            j->rate[i] = sign > 0 ? speed : (j->rate[i] - speed) / (2 * span);
            double bias = j->row[i].bias;
            j->drift[i] = sign > 0 ? bias : (j->drift[i] - bias) / (2 * span);
        }
    }
    return compliant_ask(run, x, 0);
}

// ---- what they want

void compliant_set_motors(compliant_run *run)
{
    compliant_joints *j = run->joints;
    for (int i = 0; i < run->rows; i++) {
        if (j->rule[i] == COMPLIANT_MOTOR) {
            double speed = compliant_along(&j->row[i], run->x), wanted = j->row[i].bias;
            wanted = fabs(wanted) > 1e100 ? copysign(1e100, wanted) : wanted;
            j->gain[i] = (wanted - speed) / run->frame->step;
            j->goal[i] = speed - j->gain[i] * run->time;
        }
    }
}

// The acceleration that it wants, CFM apart.
static double wanted(const compliant_run *run, const compliant_line *l, const double *x,
                     double time)
{
    const compliant_joints *j = run->joints;
    double h = run->frame->step, speed = l->sign * compliant_along(&j->row[l->row], x);
    switch (l->stop >= 0 ? COMPLIANT_SOFT : j->rule[l->row]) {
    case COMPLIANT_SOFT:
        return (l->bias - speed) / h;
    case COMPLIANT_HARD:
        return (j->goal[l->row] - speed) / h;
    case COMPLIANT_SPRING: // no line
    case COMPLIANT_MOTOR:
        break;
    }
    double gain = j->gain[l->row];
    return gain + COMPLIANT_CATCH_UP * (j->goal[l->row] + gain * time - speed) / h;
}

static void set_springs(compliant_run *run, const double *x, double *f)
{
    compliant_joints *j = run->joints;
    for (int i = 0; i < run->rows; i++) {
        const sprag_row *row = &j->row[i];
        j->force[i] = 0;
        if (j->rule[i] == COMPLIANT_SPRING) {
            double drive = row->bias - run->frame->step * j->drift[i] - compliant_along(row, x);
            double force = drive / row->compliance;
            j->force[i] = clamp(force, row->lo, row->hi);
            compliant_push_along(j, i, j->force[i], f);
        }
    }
}

bool compliant_constrain(compliant_run *run, const double *x, const double *label, double *f)
{
    compliant_joints *j = run->joints;
    double time = x[COMPLIANT_STATES * run->frame->bodies];
    compliant_set_lines(run, label, COMPLIANT_OF_FORCES);
    compliant_set_matrix(run, time);
    set_springs(run, x, f);
    for (int i = 0; i < j->lines; i++) {
        const compliant_line *l = &j->line[i];
        j->right[i] = wanted(run, l, x, time) -
                      l->sign * (j->rate[l->row] + compliant_along(&j->row[l->row], f));
    }
    return compliant_push(j, f);
}

bool compliant_tell_rows(compliant_run *run, const double *side, double share)
{
    compliant_problem(run).field(run, run->x, side, run->f);
    if (!isfinite(run->f[0])) {
        return false;
    }
    run->frame->rows = run->rows;
    if (run->calls->add_forces) {
        run->calls->add_forces(run->calls->data, run->joints->force, NULL, share);
    }
    return true;
}

// ---- at the start of a frame

static void set_rules(compliant_run *run)
{
    compliant_joints *j = run->joints;
    for (int i = 0; i < run->rows; i++) {
        const sprag_row *row = &j->row[i];
        bool lower = isfinite(row->lo), upper = isfinite(row->hi);
        j->rule[i] = lower && upper                                        ? COMPLIANT_MOTOR
                     : !compliant_hardly_yields(run, row, row->compliance) ? COMPLIANT_SPRING
                     : lower || upper                                      ? COMPLIANT_SOFT
                                                                           : COMPLIANT_HARD;
        j->goal[i] = row->bias;
        j->share[i] = 1;
    }
    compliant_set_motors(run);
}

static bool take(compliant_run *run)
{
    sprag_scratch *s = run->scratch;
    compliant_joints *j = run->joints;
    size_t room = (size_t)run->rows + (size_t)run->stops, most = room * (room + 1) / 2;
    j->rate = SPRAG_TAKE(s, run->rows, double);
    j->drift = SPRAG_TAKE(s, run->rows, double);
    j->nearer = SPRAG_TAKE(s, run->stops, double);
    j->parting = SPRAG_TAKE(s, run->stops, double);
    j->rule = SPRAG_TAKE(s, run->rows, compliant_rule);
    j->goal = SPRAG_TAKE(s, run->rows, double);
    j->gain = SPRAG_TAKE(s, run->rows, double);
    j->share = SPRAG_TAKE(s, run->rows, double);
    j->yield = SPRAG_TAKE(s, room, double);
    j->yielded = SPRAG_TAKE(s, run->rows, *j->yielded);
    j->force = SPRAG_TAKE(s, run->rows, double);
    j->line = SPRAG_TAKE(s, room, compliant_line);
    j->first = SPRAG_TAKE(s, room, int);
    j->start = SPRAG_TAKE(s, room, size_t);
    j->body_line = SPRAG_TAKE(s, run->frame->bodies, int);
    j->A = SPRAG_TAKE(s, most + room, double);
    j->L = SPRAG_TAKE(s, most + room, double);
    j->b = SPRAG_TAKE(s, room, double);
    j->right = SPRAG_TAKE(s, room, double);
    run->met = SPRAG_TAKE(s, run->stops, int);
    return !s->failed;
}

bool compliant_take_rows(compliant_run *run, sprag_compliant_reason *why)
{
    const sprag_frame_calls *calls = run->calls;
    compliant_joints *j = run->joints = SPRAG_TAKE(run->scratch, 1, compliant_joints);
    *why = SPRAG_COMPLIANT_JOINTS;
    if (!j || (calls->next_limit && !calls->coordinates)) {
        return false;
    }
    run->rows = calls->coordinates
                    ? calls->coordinates(calls->data, run->frame->body, run->frame->step, &j->row,
                                         &j->stop, &run->stops)
                    : calls->rows(calls->data, run->frame->body, run->frame->step, &j->row);
    if (run->rows < 0 || run->rows + run->stops > MOST_ROWS || !take(run)) {
        return false;
    }
    set_rules(run);
    return true;
}

// Of the bodies of a row that is made so much faster.
static double body_speed(const compliant_run *run, const sprag_row *row, double speed)
{
    double yielded[2][6], sum = compliant_row_inverse_mass(run, row), fastest = 0;
    compliant_yield_of(run, row, yielded);
    for (int side = 0; side < 2 && speed > 0 && sum > 0; side++) {
        double turned = row->body[side] == SPRAG_STATIC
                            ? 0
                            : compliant_gyration(run, row->body[side]) * norm3(yielded[side] + 3);
        fastest = fmax(fastest, speed / sum * (norm3(yielded[side]) + turned));
    }
    return fastest;
}

double compliant_row_speed(compliant_run *run)
{
    compliant_joints *j = run->joints;
    double fastest = 0;
    for (int i = 0; i < run->rows; i++) {
        const sprag_row *row = &j->row[i];
        double wanted = fabs(row->bias - compliant_along(row, run->x));
        double force = fmax(fabs(row->lo), fabs(row->hi));
        double most = force * compliant_row_inverse_mass(run, row) * run->frame->step;
        fastest = fmax(fastest, body_speed(run, row, fmin(wanted, most)));
    }
    for (int s = 0; s < run->stops; s++) {
        const sprag_row *row = &j->row[j->stop[s].row];
        fastest = fmax(fastest, body_speed(run, row, compliant_stop_bias(run, &j->stop[s])));
    }
    return fastest;
}

// Is it another one where its bodies get to in the frame, once they have the speed that it wants?
static bool turns_away(compliant_run *run, int which, double bias)
{
    const double same = 0.9;
    compliant_joints *j = run->joints;
    const sprag_row row = j->row[which];
    double added[2][6], *x = run->f, sum = compliant_row_inverse_mass(run, &row);
    double change = bias - compliant_along(&row, run->x);
    bool turns = false;
    memcpy(x, run->x, (size_t)run->frame->bodies * COMPLIANT_STATES * sizeof *x);
    compliant_yield_of(run, &row, added);
    for (int side = 0; side < 2; side++) {
        if (row.body[side] != SPRAG_STATIC) {
            add_scaled(x + COMPLIANT_STATES * row.body[side] + COMPLIANT_VELOCITY, change / sum,
                       added[side], 6);
        }
    }
    for (int k = 2; k >= 0 && !turns; k--) { // ends where it is
        double yield = 0;
        turns = !compliant_ask(run, x, k * run->frame->step / 2);
        for (int side = 0; side < 2 && !turns; side++) {
            yield += dot6(j->row[which].jacobian[side], added[side]);
        }
        turns = turns || yield < same * sum || yield > sum / same;
    }
    return turns;
}

// Held to a speed meanwhile, it would drive its bodies on and on.
static bool is_apart(compliant_run *run, int which, double bias, double much)
{
    const double little = 0.02; // rad, in the frame
    const sprag_row *row = &run->joints->row[which];
    double yielded[2][6], sum = compliant_row_inverse_mass(run, row);
    compliant_yield_of(run, row, yielded);
    double turn =
        fabs(bias) * run->frame->step * fmax(norm3(yielded[0] + 3), norm3(yielded[1] + 3));
    return turn > much * sum || (turn > little * sum && turns_away(run, which, bias));
}

bool compliant_is_apart(compliant_run *run)
{
    const double far = 0.3; // rad: an angle that has gone once around, from one stop past the other
    compliant_joints *j = run->joints;
    for (int i = 0; i < run->rows; i++) {
        bool holds = j->rule[i] == COMPLIANT_HARD || j->rule[i] == COMPLIANT_SOFT;
        if (holds && is_apart(run, i, j->row[i].bias, INFINITY)) {
            return true;
        }
    }
    for (int s = 0; s < run->stops; s++) {
        double bias = compliant_stop_bias(run, &j->stop[s]);
        if (bias > 0 && is_apart(run, j->stop[s].row, j->stop[s].sign * bias, far)) {
            return true;
        }
    }
    return false;
}
