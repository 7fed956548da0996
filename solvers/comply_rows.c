// Joint rows and stops in continuous time. ODE's row J v + CFM lambda = b, at the end of a step, is
// what
//
//     d(J v)/dt = (b - CFM lambda - J v) / h        b = ERP / h times the error, and what drives it
//
// tends to, and for a rigid joint that is right J v = 0 for ever. So lambda is of
//
//     (J W J' + CFM / h) lambda = (b - J v) / h - J' v - J a
//
// with W the inverse mass, a the accelerations without joints and J' the rate of J along the
// motion, by a central difference. A stop that has been met is such a row that only pushes. When a
// stop is met velocities jump, by impulses p of its row and of those that hold:
//
//     (J W J' + CFM / h) p = -J v of stops, times 1 + restitution of the one that is met; 0 of rows
//
// which is what a step of ODE takes away there. So do they at the start of the frame, for rows that
// hardly yield: to b - CFM lambda, which then is that of the start, and which they keep.
//
// A row that yields as fast as a frame resolves is the spring and damper that ODE's steps tend to,
// lambda = (b - h b' - J v) / CFM (by ERP the error of the end of a step has (1 - ERP) J v). A
// motor is a row with lambda between its bounds: the solution between them is unique and continuous
// in the state. From v0, at the start of the frame and after an impact, it wants the acceleration
// that brings it to its speed in a step,
//
//     d(J v)/dt = s + (v0 + s t - J v) 3 / h       s = (b - CFM lambda - v0) / h
//
// where the second part is for what it has been pushed off that line by more than its bounds (3 is
// what a single step of the integrator bears).
//
// The matrix is kept and factorised within its envelope: rows of chains are narrow.
#include <math.h>
#include <string.h>

#include "solvers/comply_run.h"
#include "solvers/linalg.h"

enum { MOST_ROWS = 512, CATCH_UP = 3 };

// m or rad: a stop that bodies rest on counts as so much nearer, lest rounding take them off it.
static const double NEARER = 1e-11;

typedef enum bound { FREE, AT_LOWER, AT_UPPER } bound;
typedef enum rule { SOFT, HARD, SPRING, MOTOR } rule;

// A row of the matrix: one that was asked for, or a stop on it.
typedef struct line {
    int row, stop; // -1: none
    double sign, bias, compliance, lo, hi;
    bound at;
    bool soft; // yields twice as much as by its bodies
} line;

struct comply_joints {
    const sprag_row *row; // as last asked
    const sprag_stop *stop;
    double *nearer; // stops, m or rad
    double *drift;  // rows, b'
    double *rate;   // rows, J' v
    rule *rule;     // rows
    double *goal;   // rows: the speed that is kept, or wanted at the start of the frame
    double *gain;   // rows: its rate
    double *yield;  // rows: m/s, by CFM
    double (*yielded)[2][6];
    double *force; // rows
    int lines, room;
    line *line;
    int *first;        // lines, first column of the envelope
    size_t *start;     // lines, of theirs
    int *body_line;    // bodies, first line of each
    double *A, *L, *b; // b: right side, then lambda
    double *right;
};

// Puts the movers where the state is, t (s) later along its velocities, and asks for rows there.
static bool ask(comply_run *run, const double *x, double t)
{
    sprag_frame *frame = run->frame;
    const sprag_advance_calls *calls = run->calls;
    comply_joints *j = run->joints;
    int stops = 0, rows;
    for (int i = 0; i < frame->bodies; i++) {
        sprag_mover *body = &frame->body[i];
        sprag_motion motion = {.pose = run->pose[i]};
        memcpy(motion.velocity, x + COMPLY_STATES * i + COMPLY_VELOCITY, sizeof motion.velocity);
        memcpy(body->velocity, motion.velocity, sizeof body->velocity);
        body->pose = run->pose[i];
        if (t != 0) {
            comply_cap_spin(run, i, motion.velocity + 3);
            sprag_motion_at(&motion, t, &body->pose);
        }
    }
    rows = calls->coordinates ? calls->coordinates(calls->data, frame->body, frame->step, &j->row,
                                                   &j->stop, &stops)
                              : calls->rows(calls->data, frame->body, frame->step, &j->row);
    return rows == run->rows && stops == run->stops;
}

// J of a row times the velocities in a state, or the accelerations in its rate.
static double along(const sprag_row *row, const double *x)
{
    double sum = 0;
    for (int side = 0; side < 2; side++) {
        if (row->body[side] != SPRAG_STATIC) {
            sum += dot6(row->jacobian[side], x + COMPLY_STATES * row->body[side] + COMPLY_VELOCITY);
        }
    }
    return sum;
}

bool comply_ask_rows(comply_run *run, const double *x)
{
    comply_joints *j = run->joints;
    double span = 2e-4 * run->frame->step;
    for (int sign = 1; sign >= -1 && run->rows > 0; sign -= 2) {
        if (!ask(run, x, sign * span)) {
            return false;
        }
        for (int i = 0; i < run->rows; i++) {
            double speed = along(&j->row[i], x);
            j->rate[i] = sign > 0 ? speed : (j->rate[i] - speed) / (2 * span);
            double bias = j->row[i].bias;
            j->drift[i] = sign > 0 ? bias : (j->drift[i] - bias) / (2 * span);
        }
    }
    return ask(run, x, 0);
}

// ---- the matrix

// W J' of a row: accelerations of its bodies.
static void yield_of(const comply_run *run, const sprag_row *row, double yielded[2][6])
{
    for (int side = 0; side < 2; side++) {
        memset(yielded[side], 0, sizeof yielded[side]);
        if (row->body[side] != SPRAG_STATIC) {
            comply_accelerate(run, row->body[side], row->jacobian[side], yielded[side]);
        }
    }
}

// 1/kg, or 1 / (kg m^2).
static double inverse_mass(const comply_run *run, const sprag_row *row)
{
    double yielded[2][6], sum = 0;
    yield_of(run, row, yielded);
    for (int side = 0; side < 2; side++) {
        sum += dot6(row->jacobian[side], yielded[side]);
    }
    return sum;
}

// Against the mass: such rows are constraints, the others springs.
static bool hardly_yields(const comply_run *run, const sprag_row *row, double compliance)
{
    return compliance <= 1e-3 * run->frame->step * inverse_mass(run, row);
}

static void push_along(const comply_joints *j, int row, double force, double *f)
{
    for (int side = 0; side < 2; side++) {
        int body = j->row[row].body[side];
        if (body != SPRAG_STATIC) {
            add_scaled(f + COMPLY_STATES * body + COMPLY_VELOCITY, force, j->yielded[row][side], 6);
        }
    }
}

static void add_line(comply_joints *j, line added)
{
    const sprag_row *row = &j->row[added.row];
    int i = j->lines++;
    j->first[i] = i;
    for (int side = 0; side < 2; side++) {
        int body = row->body[side];
        if (body != SPRAG_STATIC) {
            j->body_line[body] = j->body_line[body] < 0 ? i : j->body_line[body];
            j->first[i] = j->body_line[body] < j->first[i] ? j->body_line[body] : j->first[i];
        }
    }
    j->line[i] = added;
    j->start[i] = i == 0 ? 0 : j->start[i - 1] + (size_t)(i - 1 - j->first[i - 1] + 1);
}

static void add_stop(const comply_run *run, int which)
{
    comply_joints *j = run->joints;
    const sprag_stop *s = &j->stop[which];
    double bias = -fmin(s->erp, 1) / run->frame->step * s->inside;
    add_line(j, (line){s->row, which, s->sign, bias, s->compliance, 0, INFINITY, FREE, false});
}

static bool stop_hardly_yields(const comply_run *run, int which)
{
    const sprag_stop *stop = &run->joints->stop[which];
    return hardly_yields(run, &run->joints->row[stop->row], stop->compliance);
}

typedef enum lines_of { OF_FORCES, OF_IMPACT, OF_START } lines_of;

static bool is_line(const comply_joints *j, int row, const sprag_stop *at, lines_of of)
{
    const sprag_row *r = &j->row[row];
    bool acts = j->rule[row] == HARD || (j->rule[row] == SOFT && of != OF_START) ||
                (j->rule[row] == MOTOR && of == OF_FORCES);
    return acts && (r->lo != 0 || r->hi != 0) && (of == OF_FORCES || !at);
}

// A motor that drives away from a stop has a share of its force there; one of unbounded force that
// drives into it yields as its bodies do. Of bounded forces there are no impulses.
static void add_row(comply_joints *j, int row, const sprag_stop *at, lines_of of)
{
    const sprag_row *r = &j->row[row];
    bool bounded = j->rule[row] == MOTOR, away = at && at->sign * r->bias > 0;
    double share = away ? at->fudge : 1;
    if (share > 0 && is_line(j, row, at, of)) {
        line added = {row,
                      -1,
                      1,
                      r->bias,
                      r->compliance,
                      share * r->lo,
                      share * r->hi,
                      FREE,
                      at && !away && !bounded};
        add_line(j, added);
    }
}

// label: of the stops.
static void set_lines(comply_run *run, const double *label, lines_of of)
{
    comply_joints *j = run->joints;
    j->lines = 0;
    for (int i = 0; i < run->frame->bodies; i++) {
        j->body_line[i] = -1;
    }
    for (int i = 0, s = 0; i < run->rows; i++) {
        const sprag_stop *at = NULL;
        int first = s;
        for (; s < run->stops && j->stop[s].row == i; s++) {
            at = label[s] != 0 ? &j->stop[s] : at;
        }
        add_row(j, i, at, of);
        for (int k = first; k < s; k++) {
            if (label[k] != 0 && (of != OF_START || stop_hardly_yields(run, k))) {
                add_stop(run, k);
            }
        }
    }
}

static double *entry(const comply_joints *j, double *A, int i, int k)
{
    return A + j->start[i] + (k - j->first[i]);
}

// Bounded rows always yield a little: a motor that drives into its stop has the same row. time: s,
// in the frame.
static void set_matrix(comply_run *run, double time)
{
    comply_joints *j = run->joints;
    double h = run->frame->step;
    for (int i = 0; i < run->rows; i++) {
        yield_of(run, &j->row[i], j->yielded[i]);
    }
    for (int i = 0; i < j->lines; i++) {
        const line *own = &j->line[i];
        const sprag_row *row = &j->row[own->row];
        for (int k = j->first[i]; k <= i; k++) {
            const line *with = &j->line[k];
            const sprag_row *other = &j->row[with->row];
            double sum = 0;
            for (int a = 0; a < 2; a++) {
                for (int b = 0; b < 2; b++) {
                    if (row->body[a] != SPRAG_STATIC && row->body[a] == other->body[b]) {
                        sum += dot6(row->jacobian[a], j->yielded[with->row][b]);
                    }
                }
            }
            *entry(j, j->A, i, k) = own->sign * with->sign * sum;
        }
        double *diagonal = entry(j, j->A, i, i), least = isfinite(own->lo) || isfinite(own->hi);
        bool drives = own->stop < 0 && j->rule[own->row] == MOTOR;
        double yield = own->compliance / h * (drives ? 1 + CATCH_UP * time / h : 1);
        *diagonal *= own->soft ? 2 : 1;
        *diagonal += fmax(yield, 1e-10 * least * *diagonal);
    }
}

// L L' = A of the free lines; the others have a row of the identity. false: there is a row that is
// not independent, and has no CFM.
static bool factor(comply_joints *j)
{
    for (int i = 0; i < j->lines; i++) {
        double *row = entry(j, j->L, i, j->first[i]) - j->first[i];
        const double *from = entry(j, j->A, i, j->first[i]) - j->first[i];
        bool held = j->line[i].at != FREE;
        double own = held ? 1 : from[i], pivot = own;
        for (int k = j->first[i]; k < i; k++) {
            const double *other = entry(j, j->L, k, j->first[k]) - j->first[k];
            double sum = held || j->line[k].at != FREE ? 0 : from[k];
            int start = j->first[i] > j->first[k] ? j->first[i] : j->first[k];
            for (int l = start; l < k; l++) {
                sum -= row[l] * other[l];
            }
            row[k] = sum / other[k];
            pivot -= row[k] * row[k];
        }
        if (!(pivot > 1e-13 * own)) {
            return false;
        }
        row[i] = sqrt(pivot);
    }
    return true;
}

static void solve(comply_joints *j, double *b)
{
    for (int i = 0; i < j->lines; i++) {
        const double *row = entry(j, j->L, i, j->first[i]) - j->first[i];
        for (int k = j->first[i]; k < i; k++) {
            b[i] -= row[k] * b[k];
        }
        b[i] /= row[i];
    }
    for (int i = j->lines; i-- > 0;) {
        const double *row = entry(j, j->L, i, j->first[i]) - j->first[i];
        b[i] /= row[i];
        for (int k = j->first[i]; k < i; k++) {
            b[k] -= row[k] * b[i];
        }
    }
}

// ---- between bounds

// What those at bounds do to the others' right sides; b of those at bounds is their force.
static void set_sides(comply_joints *j)
{
    for (int i = 0; i < j->lines; i++) {
        const line *l = &j->line[i];
        j->b[i] = l->at == FREE ? j->right[i] : l->at == AT_LOWER ? l->lo : l->hi;
    }
    for (int i = 0; i < j->lines; i++) {
        for (int k = j->first[i]; k < i; k++) {
            bool held[2] = {j->line[i].at != FREE, j->line[k].at != FREE};
            if (held[0] != held[1]) {
                int to = held[0] ? k : i, from = held[0] ? i : k;
                const line *l = &j->line[from];
                j->b[to] -= *entry(j, j->A, i, k) * (l->at == AT_LOWER ? l->lo : l->hi);
            }
        }
    }
}

// A lambda - right, of all lines.
static void excess(comply_joints *j, double *w)
{
    for (int i = 0; i < j->lines; i++) {
        w[i] = -j->right[i];
    }
    for (int i = 0; i < j->lines; i++) {
        for (int k = j->first[i]; k <= i; k++) {
            double a = *entry(j, j->A, i, k);
            w[i] += a * j->b[k];
            w[k] += k < i ? a * j->b[i] : 0;
        }
    }
}

// Where a line belongs, by its force or by its excess.
static bound belongs(const comply_joints *j, const double *w, int i)
{
    const line *l = &j->line[i];
    switch (l->at) {
    case FREE:
        return j->b[i] < l->lo ? AT_LOWER : j->b[i] > l->hi ? AT_UPPER : FREE;
    case AT_LOWER:
        return w[i] < 0 ? FREE : AT_LOWER;
    case AT_UPPER:
        return w[i] > 0 ? FREE : AT_UPPER;
    }
    return FREE;
}

// Principal pivoting: all that are on the wrong side at once, and where that does not get nearer,
// the last of them alone, which ends (Judice, Pires: A block principal pivoting algorithm for large
// scale strictly monotone linear complementarity problems, 1994). L holds no factor afterwards.
static bool solve_bounded(comply_joints *j)
{
    enum { TRIES = 3 };
    int fewest = j->lines + 1, tries = TRIES;
    for (int pass = 0; pass < 50 + 4 * j->lines; pass++) {
        int wrong = 0, last = -1;
        if (!factor(j)) {
            return false;
        }
        set_sides(j);
        solve(j, j->b);
        double *w = j->L;
        bool bounded = false;
        for (int i = 0; i < j->lines; i++) {
            bounded |= isfinite(j->line[i].lo) || isfinite(j->line[i].hi);
        }
        if (!bounded) {
            return true;
        }
        excess(j, w);
        for (int i = 0; i < j->lines; i++) {
            if (belongs(j, w, i) != j->line[i].at) {
                wrong++;
                last = i;
            }
        }
        if (wrong == 0) {
            return true;
        }
        tries = wrong < fewest ? TRIES : tries - 1;
        fewest = wrong < fewest ? wrong : fewest;
        for (int i = tries > 0 ? 0 : last; i <= last; i++) {
            j->line[i].at = belongs(j, w, i);
        }
    }
    return false;
}

// ---- what they do

// By forces, of the rates f; or by impulses, of the state.
static bool push(comply_joints *j, double *f)
{
    if (!solve_bounded(j)) {
        return false;
    }
    for (int i = 0; i < j->lines; i++) {
        double force = j->line[i].sign * j->b[i];
        j->force[j->line[i].row] += force;
        push_along(j, j->line[i].row, force, f);
    }
    return true;
}

// The acceleration that it wants, CFM apart.
static double wanted(const comply_run *run, const line *l, const double *x, double time)
{
    const comply_joints *j = run->joints;
    double h = run->frame->step, speed = l->sign * along(&j->row[l->row], x);
    switch (l->stop >= 0 ? SOFT : j->rule[l->row]) {
    case SOFT:
        return (l->bias - speed) / h;
    case HARD:
        return (j->goal[l->row] - speed) / h;
    case SPRING: // no line
    case MOTOR:
        break;
    }
    double gain = j->gain[l->row];
    return gain + CATCH_UP * (j->goal[l->row] + gain * time - speed) / h;
}

static void set_springs(comply_run *run, const double *x, double *f)
{
    comply_joints *j = run->joints;
    for (int i = 0; i < run->rows; i++) {
        const sprag_row *row = &j->row[i];
        j->force[i] = 0;
        if (j->rule[i] == SPRING) {
            double drive = row->bias - run->frame->step * j->drift[i] - along(row, x);
            double force = drive / row->compliance;
            j->force[i] = fmin(fmax(force, row->lo), row->hi);
            push_along(j, i, j->force[i], f);
        }
    }
}

bool comply_constrain(comply_run *run, const double *x, const double *label, double *f)
{
    comply_joints *j = run->joints;
    double time = x[COMPLY_STATES * run->frame->bodies];
    set_lines(run, label, OF_FORCES);
    set_matrix(run, time);
    set_springs(run, x, f);
    for (int i = 0; i < j->lines; i++) {
        const line *l = &j->line[i];
        j->right[i] =
            wanted(run, l, x, time) - l->sign * (j->rate[l->row] + along(&j->row[l->row], f));
    }
    return push(j, f);
}

const double *comply_row_forces(const comply_run *run)
{
    return run->joints->force;
}

// ---- stops as guards

bool comply_past_stops(comply_run *run, const double *x, const int *stop, int count, double *h)
{
    if (!ask(run, x, 0)) {
        return false;
    }
    for (int i = 0; i < count; i++) {
        int which = stop ? stop[i] : i;
        h[i] = run->joints->nearer[which] - run->joints->stop[which].inside;
    }
    return true;
}

int comply_stop_row(comply_run *run, const double *x, int which, int *column, double *value)
{
    int entries = 0;
    if (!ask(run, x, 0)) {
        return -1;
    }
    const sprag_stop *stop = &run->joints->stop[which];
    const sprag_row *row = &run->joints->row[stop->row];
    for (int side = 0; side < 2; side++) {
        int body = row->body[side];
        if (body == SPRAG_STATIC) {
            continue;
        }
        const double *q = x + COMPLY_STATES * body + COMPLY_QUATERNION;
        for (int k = 0; k < 7; k++) {
            column[entries + k] = COMPLY_STATES * body + k;
        }
        for (int k = 0; k < 3; k++) {
            value[entries + k] = -stop->sign * row->jacobian[side][k];
        }
        comply_turn_row(q, row->jacobian[side] + 3, -stop->sign, value + entries + 3);
        entries += 7;
    }
    return entries;
}

void comply_set_band(comply_run *run, double time)
{
    comply_joints *j = run->joints;
    for (int s = 0; s < run->stops; s++) {
        const sprag_row *row = &j->row[j->stop[s].row];
        double speed = 0;
        for (int side = 0; side < 2; side++) {
            if (row->body[side] != SPRAG_STATIC) {
                const double *scale = run->scale + COMPLY_STATES * row->body[side];
                speed += norm3(row->jacobian[side]) * scale[COMPLY_VELOCITY] +
                         norm3(row->jacobian[side] + 3) * scale[COMPLY_SPIN];
            }
        }
        run->eps[run->guards + s] = fmax(1e-12, time * speed);
    }
}

// ---- impacts

// Motors go on from the speeds that they have now.
static void set_motors(comply_run *run)
{
    comply_joints *j = run->joints;
    for (int i = 0; i < run->rows; i++) {
        if (j->rule[i] == MOTOR) {
            double speed = along(&j->row[i], run->x);
            j->gain[i] = (j->row[i].bias - speed) / run->frame->step;
            j->goal[i] = speed - j->gain[i] * run->time;
        }
    }
}

// What they make of velocities; told as forces over the frame.
static bool strike(comply_run *run)
{
    memset(run->joints->force, 0, (size_t)run->rows * sizeof *run->joints->force);
    if (!push(run->joints, run->x)) {
        return false;
    }
    set_motors(run);
    run->frame->rows = run->rows;
    if (run->calls->carried) {
        run->calls->carried(run->calls->data, run->joints->force, NULL, 1 / run->frame->step);
    }
    return true;
}

bool comply_meet_stop(comply_run *run, int which, const double *label)
{
    enum { BOUNCES = 20 }; // of a stop in a frame; then it stays
    comply_joints *j = run->joints;
    comply_place(run, run->x);
    if (!ask(run, run->x, 0)) {
        return false;
    }
    set_lines(run, label, OF_IMPACT);
    set_matrix(run, 0);
    double bounce = run->met[which]++ < BOUNCES ? fmin(fmax(j->stop[which].bounce, 0), 1) : 0;
    for (int i = 0; i < j->lines; i++) {
        const line *l = &j->line[i];
        double more = l->stop == which ? 1 + bounce : l->stop >= 0;
        j->right[i] = -more * l->sign * along(&j->row[l->row], run->x);
        j->right[i] = more > 0 ? j->right[i] : 0;
    }
    j->nearer[which] = bounce > 0 ? 0 : NEARER;
    return strike(run);
}

void comply_leave_stop(comply_run *run, int which)
{
    run->joints->nearer[which] = 0;
}

bool comply_is_at(const comply_run *run, int which)
{
    return run->joints->stop[which].inside <= 0.01 * run->eps[run->guards + which];
}

double comply_goes_on(const comply_run *run, int which)
{
    const sprag_stop *stop = &run->joints->stop[which];
    double speed = -stop->sign * along(&run->joints->row[stop->row], run->x);
    bool near = comply_is_at(run, which) && -stop->inside <= run->eps[run->guards + which];
    return near && speed > 1e-9 * run->fastest ? speed : 0;
}

bool comply_is_past(const comply_run *run, int which)
{
    return run->joints->stop[which].inside <= 0;
}

// ---- at the start of a frame

// What CFM lets rows go on at, by their forces now. false: there are none.
static bool set_yields(comply_run *run, const double *label)
{
    comply_joints *j = run->joints;
    double most = 0;
    for (int i = 0; i < run->rows; i++) {
        most = j->rule[i] == HARD ? fmax(most, j->row[i].compliance) : most;
    }
    if (most > 0) {
        comply_problem(run).field(run, run->x, label, run->f);
        for (int i = 0; i < run->rows; i++) {
            j->yield[i] = j->row[i].compliance * j->force[i];
        }
    }
    return most == 0 || isfinite(run->f[0]);
}

bool comply_start_rows(comply_run *run, const double *label)
{
    comply_joints *j = run->joints;
    for (int s = 0; s < run->stops; s++) {
        j->nearer[s] = j->stop[s].inside < NEARER ? NEARER : 0;
    }
    comply_place(run, run->x);
    if (!set_yields(run, label) || !ask(run, run->x, 0)) {
        return false;
    }
    set_lines(run, label + run->guards, OF_START);
    set_matrix(run, 0);
    for (int i = 0; i < j->lines; i++) {
        const line *l = &j->line[i];
        double goal = l->stop >= 0 ? 0 : j->goal[l->row] - j->yield[l->row];
        j->right[i] = goal - l->sign * along(&j->row[l->row], run->x);
    }
    return strike(run);
}

static void set_rules(comply_run *run)
{
    comply_joints *j = run->joints;
    for (int i = 0; i < run->rows; i++) {
        const sprag_row *row = &j->row[i];
        bool lower = isfinite(row->lo), upper = isfinite(row->hi);
        double yield = row->compliance / run->frame->step, own = inverse_mass(run, row);
        j->rule[i] = lower && upper                                                ? MOTOR
                     : CATCH_UP * yield > own                                      ? SPRING
                     : lower || upper || !hardly_yields(run, row, row->compliance) ? SOFT
                                                                                   : HARD;
        j->goal[i] = row->bias;
    }
    set_motors(run);
}

static bool take(comply_run *run)
{
    sprag_scratch *s = run->scratch;
    comply_joints *j = run->joints;
    size_t room = (size_t)run->rows + (size_t)run->stops, most = room * (room + 1) / 2;
    j->rate = SPRAG_TAKE(s, run->rows, double);
    j->drift = SPRAG_TAKE(s, run->rows, double);
    j->nearer = SPRAG_TAKE(s, run->stops, double);
    j->rule = SPRAG_TAKE(s, run->rows, rule);
    j->goal = SPRAG_TAKE(s, run->rows, double);
    j->gain = SPRAG_TAKE(s, run->rows, double);
    j->yield = SPRAG_TAKE(s, run->rows, double);
    j->yielded = SPRAG_TAKE(s, run->rows, *j->yielded);
    j->force = SPRAG_TAKE(s, run->rows, double);
    j->line = SPRAG_TAKE(s, room, line);
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

bool comply_take_rows(comply_run *run, sprag_comply_reason *why)
{
    const sprag_advance_calls *calls = run->calls;
    comply_joints *j = run->joints = SPRAG_TAKE(run->scratch, 1, comply_joints);
    *why = SPRAG_COMPLY_JOINTS;
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

double comply_row_speed(comply_run *run)
{
    comply_joints *j = run->joints;
    double fastest = 0;
    for (int i = 0; i < run->rows; i++) {
        const sprag_row *row = &j->row[i];
        double yielded[2][6], sum = inverse_mass(run, row);
        double wanted = fabs(row->bias - along(row, run->x));
        double force = fmax(fabs(row->lo), fabs(row->hi));
        yield_of(run, row, yielded);
        wanted = sum > 0 ? fmin(wanted, force * sum * run->frame->step) : 0;
        for (int side = 0; side < 2 && wanted > 0; side++) {
            double turned = row->body[side] == SPRAG_STATIC
                                ? 0
                                : comply_gyration(run, row->body[side]) * norm3(yielded[side] + 3);
            fastest = fmax(fastest, wanted / sum * (norm3(yielded[side]) + turned));
        }
    }
    return fastest;
}
