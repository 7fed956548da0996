// Joints that are no contacts -> rows. ODE's own getInfo2 gives them as J v = c - cfm lambda with
// lo <= lambda <= hi.
#include <math.h>
#include <string.h>

#include "island.h"
#include "island_constants.h"
#include "loads.h"

// m/s or rad/s. A row that wants a greater velocity is solved as the force that it may have at
// most, and is dropped if that is infinite.
static const double ROW_SPEED_MAX = 1e100;

static bool row_is_good(const sprag_row *row)
{
    double square =
        product6(row->jacobian[0], row->jacobian[0]) + product6(row->jacobian[1], row->jacobian[1]);
    return square > 0 && isfinite(square) && fabs(row->bias) <= ROW_SPEED_MAX &&
           row->compliance >= 0 && isfinite(row->compliance) && row->lo <= row->hi;
}

// A motor that wants an unlimited velocity always acts with its full force.
static void make_force_of_motor(sprag_row *row)
{
    if (fabs(row->bias) > ROW_SPEED_MAX && isfinite(row->lo) && isfinite(row->hi)) {
        row->lo = row->hi = row->bias > 0 ? row->hi : row->lo;
        row->bias = 0;
    }
}

// Motors and stops are behind the rows that hold its bodies together.
static int holding_rows_of(dJointID joint)
{
    switch ((int)dJointGetType(joint)) {
    case dJointTypeAMotor:
    case dJointTypeLMotor:
        return 0;
    case dJointTypePU:
    case dJointTypePlane2D:
        return 3;
    case dJointTypeUniversal:
    case dJointTypeHinge2:
    case dJointTypePR:
    case dJointTypePiston:
        return 4;
    case dJointTypeHinge:
    case dJointTypeSlider:
        return 5;
    default:
        return ODE_ROWS_MAX;
    }
}

// Its first three rows hold a point, and none behind them has a linear part.
static bool holds_point(dJointID joint)
{
    switch ((int)dJointGetType(joint)) {
    case dJointTypeBall:
    case dJointTypeHinge:
    case dJointTypeUniversal:
    case dJointTypeHinge2:
    case dJointTypeFixed:
        return true;
    default:
        return false;
    }
}

// Rows that hold the bodies of the joint together, and stops, bring in nothing; others are springs,
// motors, those of infinite force too, and stops that are locked.
static bool drives(const sprag_row *row, bool holding, bool stop)
{
    return sprag_row_holds(row) ? !holding || row->compliance > load_spring : !stop;
}

int sprag_ode_pull_rows(sprag_row *to, dJointID joint, int rows, dWorldID world, dReal step,
                        const ode_index *index, const ode_warm_start *warm_start,
                        ode_mending *mending)
{
    dReal J[2][6 * ODE_ROWS_MAX], rhs_cfm[2 * ODE_ROWS_MAX], lo_hi[2 * ODE_ROWS_MAX];
    int findex[ODE_ROWS_MAX];
    dReal cfm = dWorldGetCFM(world);
    if (rows == 0) {
        return 0; // as ODE, which ends the program where a null joint is asked
    }
    memset(J, 0, sizeof J);
    for (int k = 0; k < rows; k++) {
        rhs_cfm[2 * k] = 0;
        rhs_cfm[2 * k + 1] = cfm;
        lo_hi[2 * k] = -dInfinity;
        lo_hi[2 * k + 1] = dInfinity;
        findex[k] = -1; // only contacts set another value
    }
    const ode_rows to_fill = {rows, J[0], J[1], rhs_cfm, lo_hi, findex};
    sprag_ode_get_rows(joint, 1 / step, dWorldGetERP(world), &to_fill);
    dBodyID body[2];
    bool reversed;
    sprag_ode_joint_bodies(joint, body, &reversed); // ODE's rows are in this order too
    const int of_body[2] = {sprag_ode_index_of(index, body[0]), sprag_ode_index_of(index, body[1])};
    const int holding = holding_rows_of(joint);
    static const dReal none[6];
    int good = 0, at = -1;
    for (int k = 0; k < rows; k++) {
        sprag_row *row = &to[good];
        row->body[0] = of_body[0], row->body[1] = of_body[1];
        row->bias = rhs_cfm[2 * k];
        row->compliance = rhs_cfm[2 * k + 1];
        row->lo = lo_hi[2 * k];
        row->hi = lo_hi[2 * k + 1];
        row->guess = row->bounce = row->length = 0;
        row->holds_point = k == 0 && holds_point(joint);
        if (warm_start) {
            row->guess = sprag_ode_warm_start_row(warm_start, joint, good, &at,
                                                  mending ? &mending[good] : NULL);
        } else if (mending) {
            mending[good] = (ode_mending){.expected = NAN};
        }
        memcpy(row->jacobian[0], J[0] + 6 * k, sizeof row->jacobian[0]);
        memcpy(row->jacobian[1], body[1] ? J[1] + 6 * k : none, sizeof row->jacobian[1]);
        make_force_of_motor(row);
        const bool stop = sprag_row_is_stop(row);
        row->drives = drives(row, k < holding, stop);
        if (mending) {
            mending[good].stop_erp = stop ? sprag_ode_stop_erp(joint) : 0;
        }
        good += row_is_good(row);
    }
    if (good > 0 && good < rows) { // it may be without the two behind it
        to[0].holds_point = false;
    }
    return good;
}
