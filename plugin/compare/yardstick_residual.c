// The residual of the contact problem as ODE states it (sprag_problem_residual without softness):
// velocities as they are after the step, impulses from the joint feedback.
#include <math.h>

#include "linalg.h"
#include "residual.h"
#include "yardstick_parts.h"

enum { ROWS_MAX = 6 };
// Relative to a row's own size: what is left of it beside the rows before, below which it is one of
// them.
static const double dependent = 1e-10;

static void read_contact(const yardstick *y, int i, double force[6])
{
    const sprag_contact *c = &y->pulled.contact[i];
    const dJointFeedback *feedback = yardstick_forces(y->pulled.contact_joint[i]);
    double by_force[3], torque[3];
    cross3(c->arm[0], feedback->f1, by_force);
    subtract3(feedback->t1, by_force, torque);
    for (int k = 0; k < 3; k++) {
        force[k] = dot3(c->frame[k], feedback->f1);
        force[3 + k] = c->turning ? dot3(c->frame[(k + 1) % 3], torque) : 0;
    }
}

// The forces p of the rows of one joint, from J' p = the joint's forces, by J J' p = J J' p.
// Rows that depend on others get 0.
static void read_rows(const yardstick *y, int first, int count, double *p)
{
    const dJointFeedback *feedback = yardstick_forces(y->pulled.row_joint[first]);
    double L[ROWS_MAX][ROWS_MAX] = {{0}}, wrench[2][6];
    for (int k = 0; k < 3; k++) {
        wrench[0][k] = feedback->f1[k], wrench[0][3 + k] = feedback->t1[k];
        wrench[1][k] = feedback->f2[k], wrench[1][3 + k] = feedback->t2[k];
    }
    for (int i = 0; i < count; i++) {
        const sprag_row *row = &y->pulled.row[first + i];
        bool joins = row->body[1] != SPRAG_STATIC;
        p[i] = dot6(row->jacobian[0], wrench[0]) + (joins ? dot6(row->jacobian[1], wrench[1]) : 0);
        for (int k = 0; k <= i; k++) {
            const sprag_row *other = &y->pulled.row[first + k];
            double own = dot6(row->jacobian[0], other->jacobian[0]) +
                         (joins ? dot6(row->jacobian[1], other->jacobian[1]) : 0);
            double sum = own;
            for (int m = 0; m < k; m++) {
                sum -= L[i][m] * L[k][m];
            }
            if (k < i) {
                L[i][k] = L[k][k] > 0 ? sum / L[k][k] : 0;
            } else {
                L[i][i] = sum > dependent * own ? sqrt(sum) : 0;
            }
        }
        for (int m = 0; m < i; m++) {
            p[i] -= L[i][m] * p[m];
        }
        p[i] = L[i][i] > 0 ? p[i] / L[i][i] : 0;
    }
    for (int i = count - 1; i >= 0; i--) {
        for (int m = i + 1; m < count; m++) {
            p[i] -= L[m][i] * p[m];
        }
        p[i] = L[i][i] > 0 ? p[i] / L[i][i] : 0;
    }
}

// false: damping has changed a velocity.
static bool fix_bodies(yardstick *y, double *mass)
{
    bool known = true;
    for (int i = 0; i < y->all.bodies; i++) {
        bool moved = yardstick_is_moved(y, i);
        known &= !moved || !yardstick_is_damped(y, i);
        mass[i] = y->pulled.body[i].mass;
        y->pulled.body[i].mass = moved ? mass[i] : 0;
    }
    return known;
}

static void release_bodies(yardstick *y, const double *mass)
{
    for (int i = 0; i < y->all.bodies; i++) {
        y->pulled.body[i].mass = mass[i];
    }
}

double yardstick_residual(yardstick *y)
{
    const sprag_problem *problem = &y->pulled.problem;
    if (!yardstick_read(y)) {
        return NAN;
    }
    double *mass = SPRAG_TAKE(&y->scratch, y->all.bodies + 1, double);
    double(*contact_force)[6] = SPRAG_TAKE(&y->scratch, problem->contacts, double[6]);
    double *row_force = SPRAG_TAKE(&y->scratch, problem->rows + ROWS_MAX, double);
    if (y->scratch.failed) {
        return NAN;
    }
    for (int i = 0; i < problem->contacts; i++) {
        read_contact(y, i, contact_force[i]);
    }
    for (int i = 0, count; i < problem->rows; i += count) {
        for (count = 1; count < ROWS_MAX && i + count < problem->rows &&
                        y->pulled.row_joint[i + count] == y->pulled.row_joint[i];) {
            count++;
        }
        read_rows(y, i, count, row_force + i);
    }
    const sprag_solution solution = {y->velocity, contact_force, row_force, NULL};
    double residual = NAN;
    if (fix_bodies(y, mass)) {
        residual =
            sprag_problem_residual(problem, &solution, (sprag_shares){0}, &y->scratch).relative;
    }
    release_bodies(y, mass);
    return residual;
}
