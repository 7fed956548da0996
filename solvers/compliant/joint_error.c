// Joints that are so far apart that their rows turn while bodies go back: a row that is held to a
// speed meanwhile would drive its bodies on and on.
#include <math.h>
#include <string.h>

#include "compliant_joints.h"
#include "linalg.h"

// Evaluates the row where its bodies get to within the frame, once they have the speed that it
// wants; at the end where they are.
static bool turns_away(compliant_run *run, int which, double bias)
{
    const double same = COMPLIANT_SAME_ROW;
    compliant_joints *j = run->joints;
    const sprag_row row = j->row[which];
    double response[2][6], *x = run->state.f, sum = compliant_row_inverse_mass(run, &row);
    double change = bias - compliant_row_velocity(&row, run->state.x);
    bool turns = false;
    memcpy(x, run->state.x, (size_t)run->frame->bodies * COMPLIANT_STATES * sizeof *x);
    compliant_row_response(run, &row, response);
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
    const sprag_row *row = &run->joints->row[which];
    double response[2][6], sum = compliant_row_inverse_mass(run, row);
    compliant_row_response(run, row, response);
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
