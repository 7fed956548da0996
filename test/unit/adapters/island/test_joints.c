// Joint rows that are pulled from ODE, against what stock ODE makes of the same joints.
#define _GNU_SOURCE 1
#include <check.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

#include "islands.h"
#include "suite.h"
#include "worlds.h"

// ---- islands of a world, pulled

static int index_of(const pull *p, dBodyID body)
{
    for (int i = 0; i < p->island.bodies; i++) {
        if (p->island.body[i] == body) {
            return i;
        }
    }
    return SPRAG_STATIC;
}

// ---- joints

typedef void count_fn(dJointID, ode_row_count *);
typedef void rows_fn(dJointID, dReal, dReal, int, dReal *, dReal *, int, dReal *, dReal *, int *);

// The exported function itself, not the virtual one.
static void *member(const joint_kind *kind, const char *function)
{
    char name[128];
    snprintf(name, sizeof name, "_ZN%s%s", kind->class, function);
    void *found = dlsym(RTLD_DEFAULT, name);
    ck_assert_msg(found != NULL, "no %s", name);
    return found;
}

// In an equal world, asked by name, in a roomier layout.
static void compare_rows(const pair *other, const joint_kind *kind, const pull *p)
{
    enum { SKIP = 16, ROWS = 6 };
    dReal J[2][SKIP * ROWS] = {{0}}, rhs_cfm[SKIP * ROWS] = {0}, bound[SKIP * ROWS];
    int findex[ROWS];
    ode_row_count count = {0, 0};
    ode_islands islands;
    ck_assert(sprag_ode_find_islands(other->world, step, &islands));
    for (int k = 0; k < ROWS; k++) {
        rhs_cfm[SKIP * k + 1] = dWorldGetCFM(other->world);
        bound[SKIP * k] = -dInfinity;
        bound[SKIP * k + 1] = dInfinity;
        findex[k] = -1;
    }
    ((count_fn *)(intptr_t)member(kind, "8getInfo1EPN7dxJoint5Info1E"))(other->joint, &count);
    ck_assert_int_eq(p->ode.stock_rows, count.rows);
    ck_assert_int_eq(p->ode.rows_of[0], count.rows);
    ck_assert_int_eq(p->ode.problem.rows, count.rows);
    if (count.rows == 0) {
        return;
    }
    ((rows_fn *)(intptr_t)member(kind, "8getInfo2EddiPdS0_iS0_S0_Pi"))(
        other->joint, 1 / step, dWorldGetERP(other->world), SKIP, J[0], J[1], SKIP, rhs_cfm, bound,
        findex);
    for (int k = 0; k < count.rows; k++) {
        const sprag_row *row = &p->ode.problem.row[k];
        ck_assert_mem_eq(row->jacobian[0], &J[0][SKIP * k], sizeof row->jacobian[0]);
        ck_assert_double_eq(row->bias, rhs_cfm[SKIP * k]);
        ck_assert_double_eq(row->compliance, rhs_cfm[SKIP * k + 1]);
        ck_assert(row->lo == bound[SKIP * k] && row->hi == bound[SKIP * k + 1]);
        ck_assert_int_eq(findex[k], -1);
        if (other->body[1]) {
            ck_assert_mem_eq(row->jacobian[1], &J[1][SKIP * k], sizeof row->jacobian[1]);
        }
    }
}

START_TEST(rows_are_those_of_the_joint)
{
    const joint_kind *kind = &joint_kinds[_i];
    for (int like = 0; like < 64; like++) {
        pair one, other;
        if (!kind_can_be(kind, like) || (like & PAIR_TO_WORLD && like & PAIR_REVERSED)) {
            continue;
        }
        open_pair(&one, kind, like);
        open_pair(&other, kind, like);
        pull p = pull_world(one.world);
        compare_rows(&other, kind, &p);
        for (int k = 0; k < p.ode.problem.rows; k++) {
            const sprag_row *row = &p.ode.problem.row[k];
            ck_assert_ptr_eq(p.ode.row_joint[k], one.joint);
            ck_assert_ptr_eq(p.island.body[row->body[0]], one.body[0]);
            ck_assert_int_eq(row->body[1], index_of(&p, one.body[1]));
        }
        ck_assert_int_eq(sprag_problem_check(&p.ode.problem, NULL, 0), SPRAG_OK);
        release(&p);
        close_pair(&one);
        close_pair(&other);
    }
}
END_TEST

// Accumulators that getInfo2 has changed: the pull sees them, restoring takes them back.
START_TEST(motors_at_their_stops_push_the_bodies)
{
    static const int types[] = {dJointTypeHinge, dJointTypeSlider, dJointTypeHinge2};
    const joint_kind *kind = joint_kinds;
    while (kind->type != types[_i]) {
        kind++;
    }
    pair p;
    open_pair(&p, kind, PAIR_MOTORS | PAIR_STOPS);
    for (int k = 0; k < kind->motors; k++) { // towards the stop that has been passed
        set_parameter(p.joint, k * dParamGroup + dParamVel, -1);
    }
    dBodySetForce(p.body[0], 1, 2, 3);
    dBodySetTorque(p.body[0], 0, 0, 0);
    dBodySetTorque(p.body[1], 4, 5, 6);
    pull pulled = pull_world(p.world);
    double added = 0;
    for (int k = 0; k < 3; k++) {
        added += fabs(dBodyGetForce(p.body[0])[k] - (1 + k)) + fabs(dBodyGetTorque(p.body[0])[k]) +
                 fabs(dBodyGetForce(p.body[1])[k]) + fabs(dBodyGetTorque(p.body[1])[k] - (4 + k));
    }
    ck_assert_double_gt(added, 0.1);
    const sprag_body *b = &pulled.ode.problem.body[index_of(&pulled, p.body[0])];
    ck_assert_double_eq_tol(b->free_velocity[0] - b->velocity[0],
                            step * dBodyGetForce(p.body[0])[0] / b->mass, 1e-14);
    sprag_ode_restore(&pulled.ode);
    const double force[3] = {1, 2, 3}, torque[3] = {4, 5, 6}, none[3] = {0};
    ck_assert_mem_eq(dBodyGetForce(p.body[0]), force, sizeof force);
    ck_assert_mem_eq(dBodyGetTorque(p.body[0]), none, sizeof none);
    ck_assert_mem_eq(dBodyGetForce(p.body[1]), none, sizeof none);
    ck_assert_mem_eq(dBodyGetTorque(p.body[1]), torque, sizeof torque);
    release(&pulled);
    close_pair(&p);
}
END_TEST

// A motor that wants more than 1e100 pushes with all its force, either way; without a bound of that
// its row is left out, and what then is left of a joint holds no point.
START_TEST(motors_without_a_speed_are_forces)
{
    static const double speed[] = {1e99, 1e101, -1e101, 1e101}, most[] = {5, 5, 5, dInfinity};
    for (int i = 0; i < 4; i++) {
        dWorldID world = dWorldCreate();
        dJointID joint = dJointCreateHinge(world, 0);
        dJointAttach(joint, create_body(world, 1, 0, 0, 0), create_body(world, 1, 1, 0, 0));
        dJointSetHingeParam(joint, dParamVel, speed[i]);
        dJointSetHingeParam(joint, dParamFMax, most[i]);
        pull p = pull_world(world);
        const sprag_row *row = p.ode.problem.row;
        ck_assert_int_eq(p.ode.problem.rows, i == 3 ? 5 : 6);
        ck_assert(row[0].holds_point == (i != 3));
        if (i < 3) {
            const double force = i == 2 ? -5 : 5;
            ck_assert_double_eq(fabs(row[5].bias), i ? 0 : 1e99);
            ck_assert_double_eq(row[5].hi, force);
            ck_assert_double_eq(row[5].lo, i ? force : -5);
        }
        release(&p);
        dWorldDestroy(world);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("joints");
    ADD_TESTS_WITH(suite, "all", setup, dCloseODE, {rows_are_those_of_the_joint, JOINT_KINDS},
                   {motors_at_their_stops_push_the_bodies, 3},
                   {motors_without_a_speed_are_forces, 1});
    return run_suite(suite);
}
