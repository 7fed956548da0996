// The laws by which ODE's joint rows move with the bodies, by joint type. A row whose basis ODE
// chooses anew from the direction of an axis is taken to turn with the body of that axis: it spans
// the same with the rows beside it.
#include <math.h>
#include <string.h>

#include "frame_step.h"
#include "linalg.h"
#include "loads.h"

static const sprag_row_law fixed_turn = {.kind = SPRAG_ROW_TURN, .carrier = -1};

// Three rows with directions across each other hold a point.
static void set_points(sprag_row_law *law, const sprag_row *row, int carrier)
{
    double point[2][3];
    for (int side = 0; side < 2; side++) {
        sprag_rows_lever(row, 3, side, point[side]);
    }
    for (int k = 0; k < 3; k++) {
        law[k] = (sprag_row_law){.kind = SPRAG_ROW_POINT, .carrier = carrier};
        memcpy(law[k].vector, point, sizeof point);
    }
}

// A turn about an axis of body 0, with any marker across it.
static sprag_row_law turn_about(const double axis[3])
{
    sprag_row_law law = {.kind = SPRAG_ROW_TURN, .carrier = 0};
    const double across[3] = {fabs(axis[0]) < 0.6, fabs(axis[0]) >= 0.6, 0};
    cross3(axis, across, law.vector[0]);
    return law;
}

// Rows about one of two axes, of which each body has one: the other one is the marker of its angle.
static void set_turns(sprag_row_law *law, const sprag_row *row, int rows, dReal axis[2][4])
{
    for (int k = 0; k < rows; k++) {
        const double *about = row[k].jacobian[0] + 3;
        int carrier = fabs(dot3(about, axis[1])) > fabs(dot3(about, axis[0]));
        law[k] = (sprag_row_law){.kind = SPRAG_ROW_TURN, .carrier = carrier};
        memcpy(law[k].vector[0], axis[!carrier], sizeof law[k].vector[0]);
    }
}

// A point, and two axes, of which each body has one, that keep their angle.
static bool set_cross(sprag_row_law *law, const sprag_row *row, int rows, int carrier,
                      dReal axis[2][4])
{
    if (rows < 4) {
        return false;
    }
    const double *d = row[3].jacobian[0] + 3;
    double normal[3];
    cross3(axis[0], axis[1], normal);
    set_points(law, row, carrier);
    law[3] = (sprag_row_law){.kind = SPRAG_ROW_CROSS, .carrier = -1};
    for (int side = 0; side < 2; side++) {
        double sign = side == 0 && dot3(normal, d) < 0 ? -1 : 1;
        add_scaled(law[3].vector[side], sign, axis[side], 3);
    }
    set_turns(law + 4, row + 4, rows - 4, axis);
    return true;
}

// A point, and turns behind it: all of them, or those across axes of body 0.
static bool set_held(sprag_row_law *law, const sprag_row *row, int rows, int least, int most)
{
    if (rows < least || rows > most) {
        return false;
    }
    set_points(law, row, -1);
    for (int k = 3; k < rows; k++) {
        law[k] = least == 6 ? fixed_turn : turn_about(row[k].jacobian[0] + 3);
    }
    return true;
}

static bool set_slider(sprag_row_law *law, int rows)
{
    for (int k = 0; k < rows; k++) {
        law[k] = k < 3 ? fixed_turn : (sprag_row_law){.kind = SPRAG_ROW_SLIDE, .carrier = 0};
    }
    return rows >= 5;
}

bool sprag_ode_row_laws(sprag_row_law *law, const sprag_row *row, int rows, dJointID joint)
{
    dReal axis[2][4] = {{0}};
    dBodyID body[2];
    bool reversed; // ODE's rows are those of the bodies in this order, its axes are the program's
    sprag_ode_joint_bodies(joint, body, &reversed);
    switch ((int)dJointGetType(joint)) {
    case dJointTypeBall:
        return set_held(law, row, rows, 3, 3);
    case dJointTypeHinge:
        return set_held(law, row, rows, 5, 6);
    case dJointTypeSlider:
        return set_slider(law, rows);
    case dJointTypeFixed:
        return set_held(law, row, rows, 6, 6);
    case dJointTypeUniversal:
        dJointGetUniversalAxis1(joint, axis[reversed]);
        dJointGetUniversalAxis2(joint, axis[!reversed]);
        return set_cross(law, row, rows, -1, axis);
    case dJointTypeHinge2:
        dJointGetHinge2Axis1(joint, axis[0]);
        dJointGetHinge2Axis2(joint, axis[1]);
        return body[1] && set_cross(law, row, rows, 0, axis);
    default:
        return false;
    }
}
