// Errors of joints. The right side of an equality row is its velocity plus ERP / h times its error,
// so that rows asked for with an ERP of 1 and of 0 differ by the error over h. Rows of springs,
// stops and motors have an ERP of their own or none, and do not differ. Joints of some types have
// an ERP of their own for all their rows, which contain nothing but errors.
#include <math.h>

#include "linalg.h"
#include "yardstick_parts.h"

typedef struct rows {
    dReal J[2][6 * ODE_ROWS_MAX], rhs_cfm[2 * ODE_ROWS_MAX], lo_hi[2 * ODE_ROWS_MAX];
    int findex[ODE_ROWS_MAX];
} rows;

static void ask(rows *r, int count, dJointID joint, dReal rate, dReal erp)
{
    *r = (rows){.rhs_cfm = {0}};
    const ode_rows to_fill = {count, r->J[0], r->J[1], r->rhs_cfm, r->lo_hi, r->findex};
    sprag_ode_get_rows(joint, rate, erp, &to_fill);
}

static void add_joint(const yardstick *y, dJointID joint, double most[2])
{
    rows with, without;
    int count = sprag_ode_count_rows(joint).rows;
    if (count == 0 || count > ODE_ROWS_MAX) { // dxJointNull's getInfo2 must never be called
        return;
    }
    // Errors of a joint whose own ERP is 0 are in none of its rows.
    dReal own = sprag_ode_own_erp(joint), erp = own > 0 ? own : 1;
    ask(&with, count, joint, 1 / y->step, 1);
    ask(&without, count, joint, 1 / y->step, 0);
    for (int k = 0; k < count; k++) {
        const dReal *J = &with.J[0][6 * k];
        double along = norm3(J), about = norm3(J + 3);
        double rest = own > 0 ? 0 : without.rhs_cfm[2 * k];
        double error = fabs(with.rhs_cfm[2 * k] - rest) * y->step / erp;
        if (along > 0 || about > 0) {
            int turned = along == 0;
            most[turned] = fmax(most[turned], error / (turned ? about : along));
        }
    }
}

void yardstick_joints(const yardstick *y, double value[SAMPLE_VALUES])
{
    double most[2] = {0, 0};
    int joints = 0;
    for (int j = 0; j < y->all.joints; j++) {
        dBodyID body[2];
        bool reversed;
        sprag_ode_joint_bodies(y->joint[j], body, &reversed);
        if (dJointGetType(y->joint[j]) != dJointTypeContact &&
            (dBodyIsEnabled(body[0]) || (body[1] && dBodyIsEnabled(body[1])))) {
            add_joint(y, y->joint[j], most);
            joints++;
        }
    }
    if (joints > 0) {
        value[SAMPLE_JOINT_GAP] = most[0];
        value[SAMPLE_JOINT_TURN] = most[1];
    }
}
