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

// ---- joints

// Adds what a vector by the angular velocities w of a body is by its turn and those before the
// step.
static void add_rate(const component *c, int body, const double by[3], double *turn, double *spin)
{
    for (int k = 0; k < 3; k++) {
        add_scaled(turn, by[k], c->rate[body][k], 3);
        add_scaled(spin, by[k], c->rate[body][k] + 3, 3);
    }
}

// Adds how a joint looks ahead to the slopes of its rows; `more`, by velocities. Returns the number
// of these rows, which are the first ones.
static int look_ahead(const component *c, const ode_loaded_joint *joint,
                      sprag_row_slopes (*slopes)[2], double (*more)[2][6])
{
    double ahead[3][2][6];
    const int rows = sprag_ode_ahead_slopes(&c->pulled, joint, c->turning, ahead);
    memset(more, 0, (size_t)rows * sizeof *more);
    for (int i = 0; i < rows; i++) {
        const int *body = joint->row[i].body;
        for (int by = 0; by < 2 && body[by] >= 0; by++) {
            add_scaled(slopes[i][by].bias + TURN, 1, ahead[i][by], 3);
            add_rate(c, body[by], ahead[i][by] + 3, slopes[i][by].bias + TURN, more[i][by] + TURN);
        }
    }
    return rows;
}

void linearize_add_rows(component *c, const link *l, const ode_loaded_joint *joint,
                        sprag_row_slopes (*slopes)[2])
{
    double more[3][2][6];
    const int *body = linearize_bodies_of(c, l),
              ahead = joint ? look_ahead(c, joint, slopes, more) : 0;
    for (int i = 0; i < 2 * l->rows; i++) {
        const int row = i / 2, by = i % 2;
        sprag_columns *to[2] = {NULL};
        for (int of = 0; of < 2 && body[of] >= 0 && body[by] >= 0; of++) {
            to[of] = linearize_block(c, body[of], body[by]);
        }
        if (body[by] >= 0) {
            sprag_derivative_take_row(&c->derivative, l->row + row, &slopes[row][by],
                                      row < ahead ? more[row][by] : NULL, to,
                                      c->slip[l->row + row][by]);
        }
    }
}

// ---- loads

// Loads turn with the axes of rows without linear parts, if a body carries them.
void linearize_turn_axes(component *c, const link *l, const sprag_row_slopes (*slopes)[2])
{
    const int *body = linearize_bodies_of(c, l);
    for (int i = 0; i < 4; i++) {
        const int by = i / 2, of = i % 2;
        double torque[3][3] = {{0}}; // [entry][axis]
        for (int j = 0; j < l->rows && body[by] >= 0 && body[of] >= 0; j++) {
            const double(*J)[6] = slopes[j][by].jacobian[of] + TURN;
            const double force = c->pulled.row[l->row + j].guess;
            for (int e = 0; e < 3 && sprag_ode_turns(&c->alone_row[l->row + j]); e++) {
                add_scaled(torque[e], force, J[e] + TURN, 3);
            }
        }
        for (int k = 0; k < 3; k++) {
            const double of_axis[3] = {torque[0][k], torque[1][k], torque[2][k]};
            if (dot3(of_axis, of_axis) > 0) {
                ode_turned_load *to = &c->turned[by == of ? 3 * body[of] + k : c->turneds++];
                to->body = body[of], to->by = body[by], to->axis = k;
                add_scaled(to->torque, 1, of_axis, 3);
            }
        }
    }
}

bool linearize_keeps_directions(const sprag_row_slopes (*slopes)[2], int rows)
{
    bool all = true;
    for (int i = 0; i < 4 * rows; i++) {
        const double(*J)[6] = slopes[i / 4][i / 2 % 2].jacobian[i % 2];
        for (int e = 0; e < 3; e++) {
            all &= J[e][TURN] == 0 && J[e][TURN + 1] == 0 && J[e][TURN + 2] == 0;
        }
    }
    return all;
}

// Adds the derivatives of the pull A (v - kept w) on bodies under load.
void linearize_add_loads(component *c)
{
    for (int i = 0; i < LANES * c->pulled.stiffened_fours; i++) {
        const ode_stiffened_four *of = &c->pulled.stiffened_four[i / LANES];
        const int l = i % LANES, body = of->body[l];
        double A[9];
        sprag_ode_added(of, l, A);
        for (int k = 0; k < 3 && of->trace[l] > 0; k++) {
            double *entry = linearize_entry(c, body, 3 + k, body), by[3] = {0};
            add_scaled(by, of->kept[l], A + 3 * k, 3);
            add_rate(c, body, by, entry + TURN, entry + SPIN);
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
