// Joint rows in continuous time. ODE's row J v + CFM lambda = b, at the end of a step, is what
//
//     d(J v)/dt = (b - CFM lambda - J v) / h        b = ERP / h times the error, and what drives it
//
// tends to, and for a rigid joint that is right J v = 0 for ever. So lambda is of
//
//     (J W J' + CFM / h) lambda = (b - J v) / h - J' v - J a
//
// with W the inverse mass, a the accelerations without joints and J' the rate of J along the
// motion, by a central difference.
#include <math.h>
#include <string.h>

#include "solvers/comply_run.h"
#include "solvers/linalg.h"

enum { MOST_ROWS = 128 }; // the matrix is dense

// Puts the movers where the state is, t (s) later along its velocities, and asks for rows there.
static int ask(comply_run *run, const double *x, double t, const sprag_row **row)
{
    sprag_frame *frame = run->frame;
    for (int i = 0; i < frame->bodies; i++) {
        sprag_mover *body = &frame->body[i];
        sprag_motion motion = {.pose = run->pose[i]};
        memcpy(motion.velocity, x + COMPLY_STATES * i + COMPLY_VELOCITY, sizeof motion.velocity);
        memcpy(body->velocity, motion.velocity, sizeof body->velocity);
        body->pose = run->pose[i];
        if (t != 0) {
            sprag_motion_at(&motion, t, &body->pose);
        }
    }
    return run->calls->rows(run->calls->data, frame->body, frame->step, row);
}

static double along(const sprag_row *row, const double *x, int first, int states)
{
    double sum = 0;
    for (int side = 0; side < 2; side++) {
        if (row->body[side] != SPRAG_STATIC) {
            sum += dot6(row->jacobian[side], x + states * row->body[side] + first);
        }
    }
    return sum;
}

bool comply_take_rows(comply_run *run, sprag_comply_reason *why)
{
    const sprag_row *row;
    int rows = run->calls->rows(run->calls->data, run->frame->body, run->frame->step, &row);
    *why = SPRAG_COMPLY_JOINTS;
    if (rows < 0 || rows > MOST_ROWS || run->calls->next_limit) {
        return false;
    }
    for (int i = 0; i < rows; i++) {
        if (isfinite(row[i].lo) || isfinite(row[i].hi)) {
            return false;
        }
    }
    size_t n = (size_t)rows;
    run->rows = rows;
    run->matrix = SPRAG_TAKE(run->scratch, n * n, double);
    run->rate = SPRAG_TAKE(run->scratch, n, double);
    run->lambda = SPRAG_TAKE(run->scratch, n, double);
    run->yielded = SPRAG_TAKE(run->scratch, n, *run->yielded);
    return !run->scratch->failed;
}

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

// Of the lower half. false: there is a row that is not independent, and has no CFM.
static bool factor(double *A, int n)
{
    for (int j = 0; j < n; j++) {
        double *row = A + (size_t)j * (size_t)n, own = row[j];
        for (int k = 0; k < j; k++) {
            const double *other = A + (size_t)k * (size_t)n;
            double sum = row[k];
            for (int l = 0; l < k; l++) {
                sum -= row[l] * other[l];
            }
            row[k] = sum / other[k];
            row[j] -= row[k] * row[k];
        }
        if (!(row[j] > 1e-13 * own)) {
            return false;
        }
        row[j] = sqrt(row[j]);
    }
    return true;
}

static void solve(const double *A, int n, double *b)
{
    for (int i = 0; i < n; i++) {
        const double *row = A + (size_t)i * (size_t)n;
        for (int k = 0; k < i; k++) {
            b[i] -= row[k] * b[k];
        }
        b[i] /= row[i];
    }
    for (int i = n; i-- > 0;) {
        for (int k = i + 1; k < n; k++) {
            b[i] -= A[(size_t)k * (size_t)n + (size_t)i] * b[k];
        }
        b[i] /= A[(size_t)i * (size_t)n + (size_t)i];
    }
}

static void set_matrix(comply_run *run, const sprag_row *row)
{
    int n = run->rows;
    for (int i = 0; i < n; i++) {
        yield_of(run, &row[i], run->yielded[i]);
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++) {
            double sum = i == j ? row[i].compliance / run->frame->step : 0;
            for (int a = 0; a < 2; a++) {
                for (int b = 0; b < 2; b++) {
                    if (row[i].body[a] != SPRAG_STATIC && row[i].body[a] == row[j].body[b]) {
                        sum += dot6(row[i].jacobian[a], run->yielded[j][b]);
                    }
                }
            }
            run->matrix[(size_t)i * (size_t)n + (size_t)j] = sum;
        }
    }
}

bool comply_constrain(comply_run *run, const double *x, double *f)
{
    double h = run->frame->step, span = 2e-4 * h;
    const sprag_row *row;
    for (int sign = 1; sign >= -1 && run->rows > 0; sign -= 2) {
        if (ask(run, x, sign * span, &row) != run->rows) {
            return false;
        }
        for (int i = 0; i < run->rows; i++) {
            double speed = along(&row[i], x, COMPLY_VELOCITY, COMPLY_STATES);
            run->rate[i] = sign > 0 ? speed : (run->rate[i] - speed) / (2 * span);
        }
    }
    if (ask(run, x, 0, &row) != run->rows) {
        return false;
    }
    set_matrix(run, row);
    for (int i = 0; i < run->rows; i++) {
        if (isfinite(row[i].lo) || isfinite(row[i].hi)) {
            return false;
        }
        double error = row[i].bias - along(&row[i], x, COMPLY_VELOCITY, COMPLY_STATES);
        run->lambda[i] =
            error / h - run->rate[i] - along(&row[i], f, COMPLY_VELOCITY, COMPLY_STATES);
    }
    if (!factor(run->matrix, run->rows)) {
        return false;
    }
    solve(run->matrix, run->rows, run->lambda);
    for (int i = 0; i < run->rows; i++) {
        for (int side = 0; side < 2; side++) {
            if (row[i].body[side] != SPRAG_STATIC) {
                add_scaled(f + COMPLY_STATES * row[i].body[side] + COMPLY_VELOCITY, run->lambda[i],
                           run->yielded[i][side], 6);
            }
        }
    }
    return true;
}
