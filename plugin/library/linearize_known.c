// Derivatives of the residual with respect to states that are known: by bodies, by the rows of most
// joints (row_slopes.c), and by the loads of joints that hold a point (load_stiffness.c).
#include <string.h>

#include "linalg.h"
#include "linearize_run.h"
#include "loads.h"
#include "mover.h"

// Adds the derivatives of a body's momentum balance, I (v - w) but for constant terms, by its turn,
// with which I turns, and by its velocities. w is the angular velocity w0 before the step after the
// gyroscopic torque, by which I dw = (I + h slope) dw0.
void linearize_add_body(component *c, int i)
{
    const sprag_body *body = &c->alone_body[i];
    const double *I = body->inertia, *v = c->pulled.solution.velocity[i] + 3,
                 *w = body->velocity + 3;
    double G[9] = {0}, gain[3], balance[3], inverse[9];
    if (dBodyGetGyroscopicMode(c->body[i])) {
        sprag_gyroscopic_slope(I, c->of[i]->velocity + 3, c->step, G);
    }
    for (int k = 0; k < 9; k++) {
        G[k] = I[k] + c->step * G[k];
    }
    subtract3(v, w, gain);
    mul33(I, gain, balance);
    const bool wants_rates = c->rate && invert33(I, inverse) != 0;
    for (int k = 0; k < 3; k++) {
        const double axis[3] = {k == 0, k == 1, k == 2};
        double turned[3], spun[3], of_v[3], of_w0[3], of_balance[3], rate[2][3];
        cross3(axis, v, turned);
        cross3(axis, c->of[i]->velocity + 3, spun);
        cross3(axis, balance, of_balance);
        mul33(I, turned, of_v);
        mul33(G, spun, of_w0);
        linearize_entry(c, i, k, i)[VELOCITY + k] += body->mass;
        for (int j = 0; j < 3; j++) {
            double *entry = linearize_entry(c, i, 3 + j, i);
            entry[TURN + k] += of_v[j] - of_balance[j] - of_w0[j];
            entry[SPIN + k] += G[3 * j + k];
        }
        if (wants_rates) {
            const double column[3] = {G[k], G[3 + k], G[6 + k]};
            cross3(axis, w, turned);
            mul33(inverse, of_w0, rate[0]);
            mul33(inverse, column, rate[1]);
            for (int j = 0; j < 3; j++) {
                c->rate[i][j][k] = turned[j] - rate[0][j];
                c->rate[i][j][3 + k] = rate[1][j];
            }
        }
    }
}

// Adds the derivatives of a row by six states of the body on a side, from `first` on.
static void add_slopes(component *c, int row, int by, const sprag_row_slopes *slopes, int first)
{
    const int *body = c->pulled.row[row].body;
    double *to[2] = {NULL};
    for (int of = 0; of < 2 && body[of] >= 0; of++) {
        to[of] = linearize_entry(c, body[of], 0, body[by]) + first;
    }
    double slip[6];
    sprag_derivative_take_row(&c->derivative, row, slopes, to, STATES * (size_t)c->bodies, slip);
    add_scaled(c->slip[row][by] + first, 1, slip, 6);
}

void linearize_add_rows(component *c, const link *l, const sprag_row_slopes (*slopes)[2])
{
    const int *body = linearize_bodies_of(c, l);
    for (int i = 0; i < 2 * l->rows; i++) {
        if (body[i % 2] >= 0) {
            add_slopes(c, l->row + i / 2, i % 2, &slopes[i / 2][i % 2], POSITION);
        }
    }
}

// ---- loads

// Loads turn with the axes of rows without linear parts, if a body carries them.
void linearize_turn_axes(component *c, const link *l, const sprag_row_slopes (*slopes)[2])
{
    const int *body = linearize_bodies_of(c, l);
    for (int i = 0; i < 12; i++) {
        const int by = i / 6, of = i / 3 % 2, k = i % 3;
        double torque[3] = {0};
        for (int j = l->row; j < l->row + l->rows; j++) {
            for (int e = 0; e < 3 && sprag_ode_turns(&c->alone_row[j]); e++) {
                torque[e] += c->pulled.row[j].guess *
                             slopes[j - l->row][by].jacobian[of][TURN + e][TURN + k];
            }
        }
        if (body[by] >= 0 && body[of] >= 0 && norm3(torque) > 0) {
            ode_turned_load *to = &c->turned[by == of ? 3 * body[of] + k : c->turneds++];
            to->body = body[of], to->by = body[by], to->axis = k;
            add_scaled(to->torque, 1, torque, 3);
        }
    }
}

bool linearize_keeps_directions(const sprag_row_slopes (*slopes)[2], int rows)
{
    bool all = true;
    for (int i = 0; i < 12 * rows; i++) {
        const double *of = slopes[i / 12][i / 6 % 2].jacobian[i / 3 % 2][i % 3];
        all &= of[TURN] == 0 && of[TURN + 1] == 0 && of[TURN + 2] == 0;
    }
    return all;
}

// Adds what a vector by the angular velocities w of a body is by its turn and those before the
// step.
static void add_rate(const component *c, int body, const double by[3], double *turn, double *spin)
{
    for (int k = 0; k < 3; k++) {
        add_scaled(turn, by[k], c->rate[body][k], 3);
        add_scaled(spin, by[k], c->rate[body][k] + 3, 3);
    }
}

// Adds the derivatives of the looks ahead, and of the pull A (v - kept w) on bodies under load.
void linearize_add_loads(component *c)
{
    for (int j = 0; j < c->pulled.loadeds; j++) {
        double ahead[3][2][6];
        const ode_loaded_joint *joint = &c->pulled.loaded[j];
        const int rows = sprag_ode_ahead_slopes(&c->pulled, joint, c->turning, ahead);
        for (int i = 0; i < rows; i++) {
            const int *body = joint->row[i].body;
            for (int by = 0; by < 2 && body[by] >= 0; by++) {
                sprag_row_slopes turn = {.bias = {0}}, spin = {.bias = {0}};
                memcpy(turn.bias + 3, ahead[i][by], 3 * sizeof(double));
                add_rate(c, body[by], ahead[i][by] + 3, turn.bias + 3, spin.bias + 3);
                add_slopes(c, joint->first + i, by, &turn, POSITION);
                add_slopes(c, joint->first + i, by, &spin, VELOCITY);
            }
        }
    }
    for (int i = 0; i < c->pulled.stiffened_bodies; i++) {
        const ode_stiffened_body *of = &c->pulled.stiffened_body[i];
        for (int k = 0; k < 3; k++) {
            double *entry = linearize_entry(c, of->body, 3 + k, of->body), by[3] = {0};
            add_scaled(by, of->kept, of->added + 3 * k, 3);
            add_rate(c, of->body, by, entry + TURN, entry + SPIN);
        }
    }
    sprag_ode_turn_loads(&c->pulled, c->turned, c->turneds);
    for (int i = 0; i < c->turneds; i++) {
        const ode_turned_load *of = &c->turned[i];
        for (int k = 0; k < 3; k++) {
            linearize_entry(c, of->body, 3 + k, of->by)[TURN + of->axis] -= of->balance[k];
        }
    }
}
