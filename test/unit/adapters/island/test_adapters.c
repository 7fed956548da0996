// Pull and push against ODE itself, without a solver and without the plugin: what is pulled is what
// stock ODE would have solved, what is pushed is what it would have done with the solution.
// dWorldStep is stock here.
#define _GNU_SOURCE 1
#include <check.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "start.h"
#include "suite.h"
#include "worlds.h"

static const dReal step = 0.01; // s

// ---- islands of a world, pulled

typedef struct pull {
    ode_islands islands;
    ode_island island;
    ode_problem ode;
    sprag_scratch scratch;
    sprag_result result;
} pull;

static ode_island island_at(const ode_islands *islands, size_t which)
{
    ode_island island = {.body = islands->bodies, .joint = islands->joints};
    ck_assert_uint_lt(which, islands->count);
    for (size_t i = 0;; i++) {
        island.bodies = (int)islands->sizes[2 * i];
        island.joints = (int)islands->sizes[2 * i + 1];
        if (i == which) {
            return island;
        }
        island.body += island.bodies;
        island.joint += island.joints;
    }
}

static pull pull_island(dWorldID world, size_t which, ode_warm_start *memory)
{
    pull p = {0};
    ck_assert(sprag_ode_find_islands(world, step, false, &p.islands));
    p.island = island_at(&p.islands, which);
    p.result = sprag_ode_pull(&p.ode, world, &p.island, step, NULL, memory, &p.scratch);
    return p;
}

static pull pull_world(dWorldID world)
{
    pull p = pull_island(world, 0, NULL);
    ck_assert_str_eq(sprag_result_name(p.result), "ok");
    return p;
}

static int index_of(const pull *p, dBodyID body)
{
    for (int i = 0; i < p->island.bodies; i++) {
        if (p->island.body[i] == body) {
            return i;
        }
    }
    return SPRAG_STATIC;
}

static void release(pull *p)
{
    sprag_scratch_free(&p->scratch);
}

static void assert_vectors(const double *a, const double *b, int n, double tolerance)
{
    for (int k = 0; k < n; k++) {
        ck_assert_double_eq_tol(a[k], b[k], tolerance * fmax(1, fabs(b[k])));
    }
}

static void assert_same_bits(const body_state *a, const body_state *b)
{
    ck_assert_mem_eq(a->x, b->x, sizeof a->x);
    ck_assert_mem_eq(a->q, b->q, sizeof a->q);
    ck_assert_mem_eq(a->v, b->v, sizeof a->v);
}

// ---- bodies

enum { GRAVITY = 1, GYROSCOPIC = 2, FORCES = 4, FINITE = 8, FLOATS = 16, FLYERS = 32 };

static dBodyID create_flyer(dWorldID world, int like)
{
    dMatrix3 turn;
    dBodyID body = create_body(world, 2.5, 1, 2, 3);
    dMass m;
    dMassSetParameters(&m, 2.5, 0, 0, 0, 0.3, 0.5, 0.7, 0.02, -0.03, 0.01);
    dBodySetMass(body, &m);
    dRFromAxisAndAngle(turn, 1, 2, -3, 0.7);
    dBodySetRotation(body, turn);
    dBodySetLinearVel(body, 0.3, -2, 1.5);
    dBodySetAngularVel(body, 7, -11, 5);
    dWorldSetGravity(world, 0.1, like & GRAVITY ? -0.2 : 0, like & GRAVITY ? -9.81 : 0);
    dBodySetGyroscopicMode(body, like & GYROSCOPIC);
    dBodySetGravityMode(body, !(like & FLOATS));
    if (like & FORCES) {
        dBodyAddForceAtRelPos(body, 3, -5, 7, 0.1, 0.2, 0.3);
        dBodyAddRelTorque(body, -2, 1, 4);
    }
    if (like & FINITE) {
        dBodySetFiniteRotationMode(body, 1);
        dBodySetFiniteRotationAxis(body, 0, 0, 1);
    }
    return body;
}

// v* = v + h M^-1 f is what a stock step makes of a free body; the linear part to the bit.
START_TEST(free_velocity_is_stock)
{
    dWorldID world[2] = {dWorldCreate(), dWorldCreate()};
    dBodyID body[2] = {create_flyer(world[0], _i), create_flyer(world[1], _i)};
    pull p = pull_world(world[0]);
    const sprag_body *b = &p.ode.problem.body[0];
    body_state before = state_of(body[0]);
    dWorldStep(world[1], step);
    body_state after = state_of(body[1]);
    ck_assert_mem_eq(b->velocity, before.v, sizeof before.v);
    ck_assert_mem_eq(b->free_velocity, after.v, sizeof(double[3]));
    assert_vectors(b->free_velocity + 3, after.v + 3, 3, 1e-14);
    ck_assert_double_eq(b->mass, 2.5);
    release(&p);
    dWorldDestroy(world[0]);
    dWorldDestroy(world[1]);
    (void)body;
}
END_TEST

// R I R', in world axes.
START_TEST(inertia_is_turned_into_world_axes)
{
    dWorldID world = dWorldCreate();
    dBodyID body = create_flyer(world, 0);
    dMass m;
    dBodyGetMass(body, &m);
    pull p = pull_world(world);
    const dReal *R = dBodyGetRotation(body);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            double sum = 0;
            for (int k = 0; k < 9; k++) {
                sum += R[4 * i + k / 3] * m.I[4 * (k / 3) + k % 3] * R[4 * j + k % 3];
            }
            ck_assert_double_eq_tol(p.ode.problem.body[0].inertia[3 * i + j], sum, 1e-15);
        }
    }
    release(&p);
    dWorldDestroy(world);
}
END_TEST

// What pushes it matters not: neither gravity nor force nor its own turning.
START_TEST(kinematic_body_keeps_its_velocity)
{
    dWorldID world = dWorldCreate();
    dBodyID body = create_flyer(world, GRAVITY | GYROSCOPIC | FORCES);
    dBodySetKinematic(body);
    pull p = pull_world(world);
    const sprag_body *b = &p.ode.problem.body[0];
    body_state before = state_of(body);
    ck_assert_double_eq(b->mass, 0);
    ck_assert_mem_eq(b->velocity, before.v, sizeof before.v);
    ck_assert_mem_eq(b->free_velocity, before.v, sizeof before.v);
    release(&p);
    dWorldDestroy(world);
}
END_TEST

// Moments that only just pass as a mass.
START_TEST(odd_inertia_turns_as_in_stock)
{
    static const double moment[][3] = {
        {1e-120, 1, 1}, {1e-9, 1, 1e9}, {1e-90, 1e-90, 1e-90}, {1e90, 1e90, 1e90}};
    for (int gyroscopic = 0; gyroscopic < 2; gyroscopic++) {
        dWorldID world[2] = {dWorldCreate(), dWorldCreate()};
        dBodyID body[2];
        for (int i = 0; i < 2; i++) {
            dMass m;
            body[i] = create_flyer(world[i], FORCES);
            dBodyGetMass(body[i], &m);
            memset(m.I, 0, sizeof m.I);
            for (int k = 0; k < 3; k++) {
                m.I[5 * k] = moment[_i][k];
            }
            dBodySetMass(body[i], &m);
            dBodySetGyroscopicMode(body[i], gyroscopic);
        }
        pull p = pull_world(world[0]);
        dWorldStep(world[1], step);
        body_state after = state_of(body[1]);
        assert_vectors(p.ode.problem.body[0].free_velocity, after.v, 6, 1e-12);
        release(&p);
        dWorldDestroy(world[0]);
        dWorldDestroy(world[1]);
    }
}
END_TEST

START_TEST(finds_a_body_that_is_not_finite)
{
    for (int what = 0; what < 4; what++) {
        dWorldID world = dWorldCreate();
        dBodyID body[3];
        for (int i = 0; i < 3; i++) {
            body[i] = create_body(world, 1, i, 0, 0);
            if (i) {
                dJointAttach(dJointCreateBall(world, 0), body[i], body[i - 1]);
            }
        }
        switch (what) {
        case 0:
            dBodySetLinearVel(body[1], 0, (dReal)NAN, 0);
            break;
        case 1:
            dBodySetAngularVel(body[1], (dReal)INFINITY, 0, 0);
            break;
        case 2:
            dBodySetPosition(body[1], 0, 0, (dReal)-INFINITY);
            break;
        default:
            dBodySetLinearVel(body[1], (dReal)NAN, (dReal)INFINITY, 0);
            break;
        }
        dBodyAddForce(body[0], 1, 2, 3);
        pull p = pull_island(world, 0, NULL);
        ck_assert_str_eq(sprag_result_name(p.result), sprag_result_name(SPRAG_BAD_PROBLEM));
        ck_assert_ptr_eq(p.ode.nonfinite_body, body[1]);
        body_state before = state_of(body[0]);
        sprag_ode_freeze(&p.island);
        body_state after = state_of(body[0]);
        assert_same_bits(&after, &before);
        ck_assert_double_eq(dBodyGetForce(body[0])[2], 0);
        release(&p);
        dWorldDestroy(world);
    }
}
END_TEST

// Gravity still acts.
START_TEST(takes_a_force_that_is_not_finite_as_zero)
{
    dWorldID world = dWorldCreate();
    dWorldSetGravity(world, 0, 0, -10);
    dBodyID body = create_body(world, 1, 0, 0, 0);
    if (_i) {
        dBodyAddTorque(body, 0, (dReal)(_i > 1 ? INFINITY : NAN), 0);
    } else {
        dBodyAddForce(body, (dReal)NAN, 0, 0);
    }
    dBodyAddForce(body, 0, 5, 0);
    pull p = pull_world(world);
    const double expected[6] = {0, 0, -0.1};
    ck_assert_ptr_eq(p.ode.invalid_force, body);
    ck_assert_ptr_null(p.ode.nonfinite_body);
    assert_vectors(p.ode.problem.body[0].free_velocity, expected, 6, 1e-16);
    release(&p);
    dWorldDestroy(world);
}
END_TEST

// ---- contacts

enum { CONTACT_ROWS = 6 };

// What getInfo1 and getInfo2 of the contact joint give.
typedef struct oracle {
    int rows, unbounded;
    double J[2][CONTACT_ROWS][6], rhs_cfm[CONTACT_ROWS][2], bound[CONTACT_ROWS][2];
    int findex[CONTACT_ROWS];
} oracle;

static oracle ask_contact(dJointID joint, dWorldID world)
{
    oracle o;
    memset(&o, 0, sizeof o);
    for (int k = 0; k < CONTACT_ROWS; k++) {
        o.rhs_cfm[k][1] = dWorldGetCFM(world);
        o.bound[k][0] = -dInfinity;
        o.bound[k][1] = dInfinity;
        o.findex[k] = -1;
    }
    ode_row_count count = sprag_ode_count_rows(joint);
    o.rows = count.rows;
    o.unbounded = count.unbounded;
    sprag_ode_get_rows(joint, 1 / step, dWorldGetERP(world), o.J[0][0], o.J[1][0], o.rhs_cfm[0],
                       o.bound[0], o.findex);
    return o;
}

static bool close_to(double a, double b)
{
    return a == b || fabs(a - b) <= 1e-13 * fmax(1, fmax(fabs(a), fabs(b)));
}

// Is the oracle's row a push along an axis through the contact point?
static bool is_slide(const sprag_contact *c, const double axis[3], const oracle *o, int row)
{
    for (int side = 0; side < 2; side++) {
        double sign = side ? -1 : 1, turn[3];
        dCalcVectorCross3(turn, c->arm[side], axis);
        for (int k = 0; k < 3 && c->body[side] != SPRAG_STATIC; k++) {
            if (!close_to(o->J[side][row][k], sign * axis[k]) ||
                !close_to(o->J[side][row][3 + k], sign * turn[k])) {
                return false;
            }
        }
    }
    return true;
}

// A torque about an axis?
static bool is_roll(const sprag_contact *c, const double axis[3], const oracle *o, int row)
{
    for (int side = 0; side < 2; side++) {
        double sign = side ? -1 : 1;
        for (int k = 0; k < 3 && c->body[side] != SPRAG_STATIC; k++) {
            if (o->J[side][row][k] != 0 || !close_to(o->J[side][row][3 + k], sign * axis[k])) {
                return false;
            }
        }
    }
    return true;
}

// Of one axis.
static bool friction_is(const sprag_friction *f, int i, const oracle *o, int row)
{
    return f->coefficient[i] == o->bound[row][1] && -f->coefficient[i] == o->bound[row][0] &&
           f->force[i] == (o->findex[row] < 0) && f->velocity[i] == o->rhs_cfm[row][0];
}

// NULL, or what of the contact is not as the oracle has it.
static const char *difference(const sprag_contact *c, const oracle *o, int mode)
{
    const double *n = c->frame[0];
    if (!is_slide(c, n, o, 0)) {
        return "normal";
    }
    if (!close_to(c->bias, o->rhs_cfm[0][0])) {
        return "bias";
    }
    if (c->compliance != o->rhs_cfm[0][1]) {
        return "compliance";
    }
    int row = 1;
    for (int i = 0; i < 2; i++) {
        if (c->slide.coefficient[i] > 0) {
            int slips = mode & (i ? dContactSlip2 : dContactSlip1);
            if (row >= o->rows || !is_slide(c, c->frame[1 + i], o, row)) {
                return "tangent";
            }
            if (!friction_is(&c->slide, i, o, row)) {
                return "friction";
            }
            if (c->slide.slip[i] != (slips ? o->rhs_cfm[row][1] : 0)) {
                return "slip";
            }
            row++;
        }
    }
    static const sprag_turning free_to_turn;
    const sprag_turning *turning = c->turning ? c->turning : &free_to_turn;
    for (int i = 0; i < 3; i++) {
        const sprag_friction *f = i < 2 ? &turning->roll : &turning->spin;
        if (f->coefficient[i % 2] > 0) {
            if (row >= o->rows || !is_roll(c, c->frame[(i + 1) % 3], o, row)) {
                return "rolling axis";
            }
            if (!friction_is(f, i % 2, o, row)) {
                return "rolling friction";
            }
            row++;
        }
    }
    for (; row < o->rows; row++) { // getInfo1 counts rows that getInfo2 leaves empty
        for (int k = 0; k < 6; k++) {
            if (o->J[0][row][k] != 0 || o->J[1][row][k] != 0) {
                return "number of rows";
            }
        }
    }
    return NULL;
}

typedef struct touching {
    dWorldID world;
    dBodyID body[2];
} touching;

static touching open_touching(void)
{
    touching t = {.world = dWorldCreate()};
    t.body[0] = create_body(t.world, 1, 0.1, 0.2, 0.3);
    t.body[1] = create_body(t.world, 2, -0.3, 0.1, -0.4);
    dBodySetLinearVel(t.body[0], 0.2, -0.3, -1.5);
    dBodySetAngularVel(t.body[0], 1, 2, -1);
    dBodySetLinearVel(t.body[1], 0.1, 0.4, 0.5);
    dBodySetAngularVel(t.body[1], -0.5, 0.3, 0.7);
    return t;
}

static dContact oblique_contact(int mode)
{
    dContact c;
    memset(&c, 0, sizeof c);
    c.surface = (dSurfaceParameters){.mode = mode,
                                     .mu = 0.5,
                                     .mu2 = 0.7,
                                     .rho = 0.01,
                                     .rho2 = 0.02,
                                     .rhoN = 0.03,
                                     .bounce = 0.6,
                                     .bounce_vel = 0.1,
                                     .soft_erp = 0.37,
                                     .soft_cfm = 1e-3,
                                     .motion1 = 0.3,
                                     .motion2 = -0.4,
                                     .motionN = 0.05,
                                     .slip1 = 2e-3,
                                     .slip2 = 3e-3};
    const double n[3] = {2.0 / 7, 3.0 / 7, 6.0 / 7}, t[3] = {6.0 / 7, 2.0 / 7, -3.0 / 7};
    for (int k = 0; k < 3; k++) {
        c.geom.pos[k] = 0.1 * k - 0.05;
        c.geom.normal[k] = n[k];
        c.fdir1[k] = t[k];
    }
    c.geom.depth = 0.003;
    return c;
}

static dJointID attach(const touching *t, const dContact *c, int how)
{
    dJointID joint = dJointCreateContact(t->world, 0, c);
    dJointAttach(joint, how == 2 ? NULL : t->body[0],
                 how == 0   ? t->body[1]
                 : how == 1 ? NULL
                            : t->body[0]);
    return joint;
}

static void compare_contact(const touching *t, const dContact *c, int how)
{
    dJointID joint = attach(t, c, how);
    pull p = pull_island(t->world, how == 0 ? 0 : t->body[0] == NULL, NULL);
    if (p.ode.problem.contacts == 0) { // the island of the other body
        release(&p);
        p = pull_island(t->world, 1, NULL);
    }
    oracle o = ask_contact(joint, t->world);
    ck_assert_int_eq(p.ode.problem.contacts, 1);
    ck_assert_int_eq(p.ode.stock_rows, o.rows);
    const sprag_contact *pulled = &p.ode.problem.contact[0];
    const char *different = difference(pulled, &o, c->surface.mode);
    ck_assert_msg(different == NULL, "mode %#x, attached %d, mu %g: %s", (unsigned)c->surface.mode,
                  how, c->surface.mu, different);
    ck_assert(pulled->gap == -c->geom.depth && pulled->guess[0] < 0);
    ck_assert(p.island.body[pulled->body[0]] == t->body[0]);
    release(&p);
    dJointDestroy(joint);
}

static const int mode_bits[] = {
    dContactAxisDep, dContactFDir1,     dContactBounce,    dContactSoftERP,   dContactSoftCFM,
    dContactMotion1, dContactMotion2,   dContactMotionN,   dContactSlip1,     dContactSlip2,
    dContactRolling, dContactApprox1_1, dContactApprox1_2, dContactApprox1_N,
};

enum { MODE_BITS = sizeof mode_bits / sizeof mode_bits[0] };

// Every combination of the bits, between two bodies, with the world and reversed.
START_TEST(contact_is_what_its_rows_say)
{
    touching t = open_touching();
    for (int bits = 0; bits < 1 << MODE_BITS; bits++) {
        int mode = 0;
        for (int i = 0; i < MODE_BITS; i++) {
            mode |= bits >> i & 1 ? mode_bits[i] : 0;
        }
        dContact c = oblique_contact(mode);
        compare_contact(&t, &c, _i);
    }
    dWorldDestroy(t.world);
}
END_TEST

// Depth, layer, correcting velocity, ERP, CFM, and the speed at which bodies meet.
START_TEST(bias_is_that_of_the_world)
{
    static const double depth[] = {-0.01, 0, 1e-4, 0.003, 0.5};
    static const double layer[] = {0, 1e-3}, most[] = {dInfinity, 0.2, 0};
    static const double meeting[] = {-5, -0.12, -0.03, 0, 3};
    static const int modes[] = {0, dContactBounce, dContactBounce | dContactMotionN,
                                dContactSoftERP | dContactSoftCFM, dContactMotionN};
    touching t = open_touching();
    for (int i = 0; i < 5 * 2 * 3 * 5 * 5 * 3; i++) {
        dContact c = oblique_contact(modes[i % 5]);
        double speed = meeting[i / 5 % 5];
        c.geom.depth = depth[i / 25 % 5];
        dWorldSetContactSurfaceLayer(t.world, layer[i / 125 % 2]);
        dWorldSetContactMaxCorrectingVel(t.world, most[i / 250 % 3]);
        dWorldSetERP(t.world, 0.1 + 0.1 * (i % 7));
        dWorldSetCFM(t.world, 1e-6 * (i % 3));
        dBodySetLinearVel(t.body[0], speed * 2 / 7, speed * 3 / 7, speed * 6 / 7);
        dBodySetAngularVel(t.body[0], 0, 0, 0);
        compare_contact(&t, &c, i / 750 % 3);
    }
    dWorldDestroy(t.world);
}
END_TEST

// Bounce begins above bounce_vel, never with a negative one.
START_TEST(bounces_above_the_threshold)
{
    static const double threshold[] = {0, 0.999, 1.001, 5, -1};
    static const double expected[] = {0.6, 0.6, 0, 0, 0};
    touching t = open_touching();
    dContact c = oblique_contact(dContactBounce);
    c.geom.depth = 0;
    c.surface.bounce_vel = threshold[_i];
    dBodySetLinearVel(t.body[0], -2.0 / 7, -3.0 / 7, -6.0 / 7);
    dBodySetAngularVel(t.body[0], 0, 0, 0);
    dBodyDestroy(t.body[1]);
    attach(&t, &c, 1);
    pull p = pull_world(t.world);
    ck_assert_double_eq_tol(p.ode.problem.contact[0].bias, expected[_i], 1e-15);
    ck_assert_double_eq(p.ode.problem.contact[0].softening == 0, expected[_i] > 0);
    release(&p);
    dWorldDestroy(t.world);
}
END_TEST

// Infinite, no, negative coefficients, of sliding and of rolling.
START_TEST(coefficients_are_those_of_the_rows)
{
    static const double value[] = {0, 0.3, dInfinity, -1};
    static const int modes[] = {0, dContactAxisDep, dContactRolling,
                                dContactRolling | dContactAxisDep | dContactApprox1};
    touching t = open_touching();
    for (int i = 0; i < 4 * 4 * 4 * 4 * 4 * 4; i++) {
        dContact c = oblique_contact(modes[i % 4]);
        c.surface.mu = value[i / 4 % 4];
        c.surface.mu2 = value[i / 16 % 4];
        c.surface.rho = value[i / 64 % 4];
        c.surface.rho2 = value[i / 256 % 4];
        c.surface.rhoN = value[i / 1024 % 4];
        dJointID joint = attach(&t, &c, 0);
        pull p = pull_world(t.world);
        oracle o = ask_contact(joint, t.world);
        ck_assert_int_eq(p.ode.problem.contacts, 1);
        const char *different = difference(&p.ode.problem.contact[0], &o, c.surface.mode);
        ck_assert_msg(different == NULL, "mode %#x mu %g %g rho %g %g %g: %s (%d rows)",
                      (unsigned)c.surface.mode, c.surface.mu, c.surface.mu2, c.surface.rho,
                      c.surface.rho2, c.surface.rhoN, different, o.rows);
        release(&p);
        dJointDestroy(joint);
    }
    dWorldDestroy(t.world);
}
END_TEST

static void assert_orthonormal(const sprag_contact *c)
{
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            ck_assert_double_eq_tol(dCalcVectorDot3(c->frame[i], c->frame[j]), i == j, 1e-14);
        }
    }
}

// A first direction that is not along the surface, of no length, or not a number, still gives a
// frame, and where it has a part along the surface the first tangent lies along that.
START_TEST(frame_is_orthonormal)
{
    static const double direction[][3] = {{1, 0, 0},   {3, 4, 12},   {0, 0, 0},  {2, 3, 6},
                                          {1e9, 0, 1}, {1e-3, 0, 0}, {NAN, 0, 0}};
    touching t = open_touching();
    dContact c = oblique_contact(dContactFDir1);
    for (int k = 0; k < 3; k++) {
        c.fdir1[k] = direction[_i][k];
        c.geom.normal[k] *= _i % 2 ? 1 : 1.5; // nor need the normal be of unit length
    }
    attach(&t, &c, 0);
    pull p = pull_world(t.world);
    ck_assert_int_eq(p.ode.problem.contacts, 1);
    const sprag_contact *pulled = &p.ode.problem.contact[0];
    assert_orthonormal(pulled);
    double length = sqrt(dCalcVectorDot3(c.fdir1, c.fdir1));
    double along = dCalcVectorDot3(c.fdir1, pulled->frame[0]);
    if (length > 0 && fabs(along) < 0.999 * length) { // t1 is fdir1 less its normal part
        double rest = sqrt(length * length - along * along);
        ck_assert_double_eq_tol(dCalcVectorDot3(c.fdir1, pulled->frame[1]) / rest, 1, 1e-12);
    }
    release(&p);
    dWorldDestroy(t.world);
}
END_TEST

// Infinite friction lets go of bodies deep inside one another, where the world wants them to part
// slowly.
START_TEST(crushed_bodies_slide_apart)
{
    static const struct {
        double depth, fastest, friction;
    } is[] = {{0.9, 0.1, 0.3}, {0.9, dInfinity, dInfinity}, {1e-3, 1e-6, dInfinity}};
    touching t = open_touching();
    dContact c = oblique_contact(0);
    c.surface.mu = dInfinity;
    c.geom.depth = is[_i].depth;
    dWorldSetContactMaxCorrectingVel(t.world, is[_i].fastest);
    attach(&t, &c, 0);
    pull p = pull_world(t.world);
    ck_assert(p.ode.problem.contact[0].slide.coefficient[0] == is[_i].friction);
    ck_assert_int_eq(p.ode.problem.contact[0].slide.force[0], isinf(is[_i].friction));
    release(&p);
    dWorldDestroy(t.world);
}
END_TEST

// What a surface cannot mean counts as not given; the contact still holds.
START_TEST(odd_surfaces_still_hold)
{
    touching t = open_touching();
    dContact c =
        oblique_contact(dContactSlip1 | dContactMotion1 | dContactSoftCFM | dContactMotionN);
    c.surface.mu = (dReal)NAN;
    c.surface.slip1 = -1;
    c.surface.motion1 = (dReal)NAN;
    c.surface.motionN = (dReal)INFINITY;
    c.surface.soft_cfm = (dReal)NAN;
    attach(&t, &c, 0);
    pull p = pull_world(t.world);
    ck_assert_int_eq(p.ode.dropped_contacts, 0);
    const sprag_contact *contact = &p.ode.problem.contact[0];
    ck_assert_double_eq(contact->slide.coefficient[0], 0);
    ck_assert_double_eq(contact->slide.slip[0], 0);
    ck_assert_double_eq(contact->slide.velocity[0], 0);
    ck_assert_double_eq(contact->compliance, 0);
    ck_assert(isfinite(contact->bias) && contact->bias >= 0);
    release(&p);
    dWorldDestroy(t.world);
}
END_TEST

// The other contacts and joints stay.
START_TEST(drops_what_cannot_be_a_contact)
{
    enum { DEGENERATE = 6 };
    touching t = open_touching();
    for (int i = 0; i < DEGENERATE; i++) {
        dContact c = oblique_contact(dContactSlip1 | dContactMotion1 | dContactSoftCFM);
        switch (i) {
        case 0:
            memset(c.geom.normal, 0, sizeof c.geom.normal);
            break;
        case 1:
            c.geom.normal[1] = (dReal)NAN;
            break;
        case 2:
            c.geom.normal[2] = (dReal)INFINITY;
            break;
        case 3:
            c.geom.pos[0] = (dReal)NAN;
            break;
        case 4:
            c.geom.pos[2] = (dReal)INFINITY;
            break;
        default:
            c.geom.depth = (dReal)NAN;
            break;
        }
        attach(&t, &c, 0);
    }
    dContact good = oblique_contact(0);
    dJointID joint = attach(&t, &good, 0);
    dJointID ball = dJointCreateBall(t.world, 0);
    dJointAttach(ball, t.body[0], t.body[1]);
    pull p = pull_world(t.world);
    ck_assert_int_eq(p.ode.dropped_contacts, DEGENERATE);
    ck_assert_int_eq(p.ode.problem.contacts, 1);
    ck_assert_ptr_eq(p.ode.contact_joint[0], joint);
    ck_assert_int_eq(p.ode.problem.rows, 3);
    ck_assert_double_eq(p.ode.penetration, good.geom.depth);
    ck_assert_int_eq(sprag_problem_check(&p.ode.problem, NULL, 0), SPRAG_OK);
    release(&p);
    dWorldDestroy(t.world);
}
END_TEST

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

static void assert_zero_force(dBodyID body)
{
    for (int k = 0; k < 3; k++) {
        ck_assert_double_eq(dBodyGetForce(body)[k], 0);
        ck_assert_double_eq(dBodyGetTorque(body)[k], 0);
    }
}

// In an equal world, asked by name, in a roomier layout.
static void compare_rows(const pair *other, const joint_kind *kind, const pull *p)
{
    enum { SKIP = 16, ROWS = 6 };
    dReal J[2][SKIP * ROWS] = {{0}}, rhs_cfm[SKIP * ROWS] = {0}, bound[SKIP * ROWS];
    int findex[ROWS];
    ode_row_count count = {0, 0};
    ode_islands islands;
    ck_assert(sprag_ode_find_islands(other->world, step, false, &islands));
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

// ---- push

static void push(const pull *p, ode_warm_start *memory)
{
    ode_feedback *feedback = calloc((size_t)p->ode.island.joints + 1, sizeof *feedback);
    ck_assert_ptr_nonnull(feedback);
    sprag_ode_push_feedback(feedback, sprag_ode_push_velocities(&p->ode, memory, feedback));
    sprag_ode_move(&p->ode.island, p->ode.problem.step, NULL);
    free(feedback);
}

typedef struct moves {
    int count;
    dBodyID last;
} moves;

static moves moved;

static void body_moved(dBodyID body)
{
    moved.count++;
    moved.last = body;
}

enum { DAMPED = 1, FINITE_FREE = 2, FINITE_AXIS = 4, CAPPED = 8, KINEMATIC = 16, PUSHES = 32 };

static dBodyID create_pushed(dWorldID world, int like)
{
    dBodyID body = create_flyer(world, GRAVITY | GYROSCOPIC | FORCES);
    dGeomID geom = dCreateBox(0, 1, 1, 1);
    dGeomSetBody(geom, body);
    dBodySetMovedCallback(body, body_moved);
    if (like & DAMPED) {
        dBodySetDamping(body, 0.05, 0.1);
        dBodySetLinearDampingThreshold(body, 0.01);
        dBodySetAngularDampingThreshold(body, 0.01);
    }
    dBodySetFiniteRotationMode(body, (like & (FINITE_FREE | FINITE_AXIS)) != 0);
    if (like & FINITE_AXIS) {
        dBodySetFiniteRotationAxis(body, 1, 0, 2);
    }
    if (like & CAPPED) {
        dBodySetMaxAngularSpeed(body, 2);
    }
    if (like & KINEMATIC) {
        dBodySetKinematic(body);
    }
    return body;
}

// Velocities of a solution, integrated by stock in a world without forces.
START_TEST(push_moves_bodies_as_stock)
{
    static const double v[6] = {1.25, -3.5, 0.75, 4, -5, 6};
    dWorldID world[2] = {dWorldCreate(), dWorldCreate()};
    dBodyID body[2] = {create_pushed(world[0], _i), create_pushed(world[1], _i)};
    pull p = pull_world(world[0]);
    memcpy(p.ode.solution.velocity[0], v, sizeof v);
    moved = (moves){0};
    push(&p, NULL);
    ck_assert_int_eq(moved.count, 1);
    ck_assert_ptr_eq(moved.last, body[0]);

    dWorldSetGravity(world[1], 0, 0, 0);
    dBodySetForce(body[1], 0, 0, 0);
    dBodySetTorque(body[1], 0, 0, 0);
    dBodySetGyroscopicMode(body[1], 0);
    dBodySetLinearVel(body[1], v[0], v[1], v[2]);
    dBodySetAngularVel(body[1], v[3], v[4], v[5]);
    dWorldStep(world[1], step);
    body_state ours = state_of(body[0]), stock = state_of(body[1]);
    assert_same_bits(&ours, &stock);
    ck_assert_mem_eq(dGeomGetPosition(dBodyGetFirstGeom(body[0])), ours.x, sizeof ours.x);
    assert_zero_force(body[0]);
    release(&p);
    for (int i = 0; i < 2; i++) {
        dGeomDestroy(dBodyGetFirstGeom(body[i]));
        dWorldDestroy(world[i]);
    }
}
END_TEST

// M^-1 g for one body.
static void yield_of(const sprag_body *b, const double g[6], double v[6])
{
    dMatrix3 I = {0}, inverse;
    for (int k = 0; k < 9; k++) {
        I[4 * (k / 3) + k % 3] = b->inertia[k];
    }
    memset(v, 0, sizeof(double[6]));
    if (b->mass > 0 && dInvertPDMatrix(I, inverse, 3)) {
        for (int k = 0; k < 3; k++) {
            v[k] = g[k] / b->mass;
        }
        dMultiply0_331(v + 3, inverse, g + 3);
    }
}

static double dot6(const double *a, const double *b)
{
    double sum = 0;
    for (int k = 0; k < 6; k++) {
        sum += a[k] * b[k];
    }
    return sum;
}

// (J M^-1 J' h + cfm) lambda = c - J v*: the joint's rows as equations, by elimination.
static void solve_rows(ode_problem *pulled)
{
    enum { ROWS = 6 };
    const sprag_problem *problem = &pulled->problem;
    int n = problem->rows;
    double A[ROWS][ROWS + 1] = {{0}}, yield[ROWS][2][6] = {{{0}}};
    for (int i = 0; i < n; i++) {
        const sprag_row *row = &problem->row[i];
        A[i][n] = row->bias;
        for (int side = 0; side < 2 && row->body[side] != SPRAG_STATIC; side++) {
            const sprag_body *b = &problem->body[row->body[side]];
            yield_of(b, row->jacobian[side], yield[i][side]);
            A[i][n] -= dot6(row->jacobian[side], b->free_velocity);
            for (int j = 0; j < n; j++) {
                A[j][i] += problem->step * dot6(problem->row[j].jacobian[side], yield[i][side]);
            }
        }
        A[i][i] += row->compliance;
    }
    for (int i = 0; i < n; i++) { // positive definite: no pivoting
        for (int j = 0; j < n; j++) {
            double factor = j == i ? 0 : A[j][i] / A[i][i];
            for (int k = i; k <= n && factor != 0; k++) {
                A[j][k] -= factor * A[i][k];
            }
        }
    }
    for (int i = 0; i < problem->bodies; i++) {
        memcpy(pulled->solution.velocity[i], problem->body[i].free_velocity, sizeof(double[6]));
    }
    for (int i = 0; i < n; i++) {
        double force = pulled->solution.row_force[i] = A[i][n] / A[i][i];
        for (int side = 0; side < 2 && problem->row[i].body[side] != SPRAG_STATIC; side++) {
            for (int k = 0; k < 6; k++) {
                pulled->solution.velocity[problem->row[i].body[side]][k] +=
                    problem->step * force * yield[i][side][k];
            }
        }
    }
}

// Joints that only hold: pulled, solved as equations and pushed, all is as after a stock step.
START_TEST(feedback_is_stock)
{
    static const int likes[] = {PAIR_PLAIN, PAIR_MOVED, PAIR_TO_WORLD | PAIR_MOVED,
                                PAIR_REVERSED | PAIR_MOVED | PAIR_SKEWED, PAIR_MOVED | PAIR_SKEWED};
    const joint_kind *kind = &joint_kinds[_i];
    for (size_t i = 0; i < sizeof likes / sizeof likes[0]; i++) {
        pair one, other;
        if (!kind_can_be(kind, likes[i])) {
            continue;
        }
        open_pair(&one, kind, likes[i]);
        open_pair(&other, kind, likes[i]);
        ask_feedback(&one);
        ask_feedback(&other);
        memset(&one.feedback, 0x40, sizeof one.feedback); // stays where stock leaves it alone
        memset(&other.feedback, 0x40, sizeof other.feedback);
        pull p = pull_world(one.world);
        solve_rows(&p.ode);
        push(&p, NULL);
        dWorldStep(other.world, step);
        const dReal *ours[4] = {one.feedback.f1, one.feedback.t1, one.feedback.f2, one.feedback.t2};
        const dReal *stock[4] = {other.feedback.f1, other.feedback.t1, other.feedback.f2,
                                 other.feedback.t2};
        double scale = 1e-6;
        for (int k = 0; k < 12; k++) {
            scale = fmax(scale, stock[k / 3][k % 3] < 10 ? fabs(stock[k / 3][k % 3]) : 1);
        }
        for (int k = 0; k < 12; k++) {
            ck_assert_msg(fabs(ours[k / 3][k % 3] - stock[k / 3][k % 3]) <= 1e-9 * fmax(1, scale),
                          "joint type %d, like %d, entry %d: %.17g, stock %.17g", kind->type,
                          likes[i], k, ours[k / 3][k % 3], stock[k / 3][k % 3]);
        }
        for (int k = 0; k < 2 && one.body[k]; k++) {
            body_state a = state_of(one.body[k]), b = state_of(other.body[k]);
            assert_vectors(a.v, b.v, 6, 1e-9);
            assert_vectors(a.x, b.x, 3, 1e-11);
            assert_zero_force(one.body[k]);
        }
        release(&p);
        close_pair(&one);
        close_pair(&other);
    }
}
END_TEST

// The wrench of the contact force, about each body's centre; the second body's is its reaction.
static void recall_contacts(ode_warm_start *memory, const dJointID *joint, sprag_contact *contact,
                            int contacts)
{
    ode_warm_key *claim = calloc((size_t)contacts, sizeof *claim);
    ck_assert_ptr_nonnull(claim);
    for (int i = 0; i < contacts; i++) {
        sprag_ode_warm_key_set(&claim[i], joint[i], &contact[i]);
    }
    sprag_ode_warm_start_contacts(memory, claim, joint, contact, contacts);
    free(claim);
}

START_TEST(contact_feedback_is_the_force)
{
    touching t = open_touching();
    dContact c = oblique_contact(0);
    dJointFeedback feedback;
    memset(&feedback, 0x40, sizeof feedback);
    dJointID joint = attach(&t, &c, 0);
    dJointSetFeedback(joint, &feedback);
    ode_warm_start *memory = sprag_ode_warm_start_make();
    pull p = pull_world(t.world);
    const sprag_contact *pulled = &p.ode.problem.contact[0];
    const double local[3] = {10, 2, -3};
    double force[3] = {0}, turn[3];
    memcpy(p.ode.solution.contact_force[0], local, sizeof local);
    for (int i = 0; i < 9; i++) {
        force[i % 3] += local[i / 3] * pulled->frame[i / 3][i % 3];
    }
    push(&p, memory);
    assert_vectors(feedback.f1, force, 3, 1e-14);
    dCalcVectorCross3(turn, pulled->arm[0], force);
    assert_vectors(feedback.t1, turn, 3, 1e-14);
    for (int k = 0; k < 3; k++) {
        force[k] = -force[k];
    }
    assert_vectors(feedback.f2, force, 3, 1e-14);
    dCalcVectorCross3(turn, pulled->arm[1], force);
    assert_vectors(feedback.t2, turn, 3, 1e-14);
    sprag_ode_warm_start_next_step(memory);
    sprag_contact again = *pulled;
    recall_contacts(memory, &joint, &again, 1);
    assert_vectors(again.guess, local, 3, 1e-14);
    release(&p);
    sprag_ode_warm_start_free(memory);
    dWorldDestroy(t.world);
}
END_TEST

// ---- memory

static dJointID contact_at(const touching *t, dGeomID g1, dGeomID g2, double x)
{
    dContact c = oblique_contact(0);
    c.geom.pos[0] = x;
    c.geom.g1 = g1;
    c.geom.g2 = g2;
    return attach(t, &c, 0);
}

static sprag_contact framed(dJointID joint)
{
    const dReal *normal = sprag_ode_contact_of(joint)->geom.normal;
    dVector3 n = {normal[0], normal[1], normal[2]}, t, s;
    sprag_contact contact = {0};
    dPlaneSpace(n, t, s);
    for (int k = 0; k < 3; k++) {
        contact.frame[0][k] = n[k];
        contact.frame[1][k] = t[k];
        contact.frame[2][k] = s[k];
    }
    return contact;
}

static void remember(ode_warm_start *memory, dJointID joint, double normal)
{
    sprag_contact contact = framed(joint);
    double force[1][6] = {{normal, -2 * normal, 3}};
    ode_warm_key claim;
    sprag_ode_warm_key_set(&claim, joint, &contact);
    const ode_problem one = {.problem = {.contacts = 1, .contact = &contact},
                             .solution = {.contact_force = force},
                             .claim = &claim};
    sprag_ode_warm_start_store(memory, &one);
}

// The normal force that one contact is given, -1: none known; along the tangents what goes with it.
static double recall(ode_warm_start *memory, dJointID joint)
{
    sprag_contact contact = framed(joint);
    recall_contacts(memory, &joint, &contact, 1);
    if (contact.guess[0] > 0) {
        ck_assert_double_eq_tol(contact.guess[1], -2 * contact.guess[0], 1e-12);
    }
    return contact.guess[0];
}

START_TEST(remembers_by_pair)
{
    touching t = open_touching();
    dGeomID a = dCreateSphere(0, 1), b = dCreateSphere(0, 1), other = dCreateSphere(0, 1);
    ode_warm_start *memory = sprag_ode_warm_start_make();
    ck_assert_double_eq(recall(memory, contact_at(&t, a, b, 0)), -1);
    remember(memory, contact_at(&t, a, b, 0), 10);
    remember(memory, contact_at(&t, 0, 0, 5), 30);
    ck_assert_double_eq(recall(memory, contact_at(&t, a, b, 0)), -1);
    sprag_ode_warm_start_next_step(memory);
    ck_assert_double_eq_tol(recall(memory, contact_at(&t, a, b, -9)), 10, 1e-12);
    dContact turned = oblique_contact(0); // the geoms the other way round
    turned.geom.g1 = b;
    turned.geom.g2 = a;
    for (int k = 0; k < 3; k++) {
        turned.geom.normal[k] *= -1;
    }
    ck_assert_double_eq_tol(recall(memory, attach(&t, &turned, 0)), 10, 1e-12);
    ck_assert_double_eq(recall(memory, contact_at(&t, a, other, 0)), -1);
    // Without geoms, by the bodies.
    ck_assert_double_eq_tol(recall(memory, contact_at(&t, 0, 0, 0)), 30, 1e-12);
    dJointID of_one = attach(&t, &(dContact){.geom = {.pos = {5}, .normal = {1}}}, 1);
    ck_assert_double_eq(recall(memory, of_one), -1);
    sprag_ode_warm_start_next_step(memory); // a step without contacts
    ck_assert_double_eq(recall(memory, contact_at(&t, a, b, 0)), -1);
    sprag_ode_warm_start_free(memory);
    dGeomDestroy(a);
    dGeomDestroy(b);
    dGeomDestroy(other);
    dWorldDestroy(t.world);
}
END_TEST

// What the contacts of a pair had goes to those that it has now, each force to the nearest.
START_TEST(forces_of_a_pair_go_to_the_nearest)
{
    static const double was[] = {0, 1, 5}, force[] = {10, 20, 40};
    static const double is[] = {0.4, 0.41, 4}, expected[] = {10, 20, 40};
    touching t = open_touching();
    dGeomID a = dCreateSphere(0, 1), b = dCreateSphere(0, 1);
    ode_warm_start *memory = sprag_ode_warm_start_make();
    dJointID joint[3];
    sprag_contact contact[3];
    for (int i = 0; i < 3; i++) {
        remember(memory, contact_at(&t, a, b, was[i]), force[i]);
    }
    sprag_ode_warm_start_next_step(memory);
    for (int i = 0; i < 3; i++) {
        joint[i] = contact_at(&t, a, b, is[i]);
        contact[i] = framed(joint[i]);
    }
    recall_contacts(memory, joint, contact, 3);
    for (int i = 0; i < 3; i++) {
        ck_assert_double_eq_tol(contact[i].guess[0], expected[i], 1e-12);
    }
    sprag_ode_warm_start_next_step(memory);
    for (int i = 0; i < 3; i++) {
        remember(memory, contact_at(&t, a, b, was[i]), force[i]);
    }
    sprag_ode_warm_start_next_step(memory);
    ck_assert_double_eq_tol(recall(memory, contact_at(&t, a, b, 9)), 70, 1e-12);
    sprag_ode_warm_start_free(memory);
    dGeomDestroy(a);
    dGeomDestroy(b);
    dWorldDestroy(t.world);
}
END_TEST

START_TEST(remembers_rows)
{
    touching t = open_touching();
    dJointID joint = contact_at(&t, 0, 0, 0), other = contact_at(&t, 0, 0, 0);
    ode_warm_start *memory = sprag_ode_warm_start_make();
    sprag_ode_warm_start_store_row(memory, joint, 0, 5);
    sprag_ode_warm_start_store_row(memory, joint, 1, -6);
    sprag_ode_warm_start_next_step(memory);
    ck_assert_double_eq(sprag_ode_warm_start_row(memory, joint, 0), 5);
    ck_assert_double_eq(sprag_ode_warm_start_row(memory, joint, 1), -6);
    ck_assert_double_eq(sprag_ode_warm_start_row(memory, joint, 2), 0);
    ck_assert_double_eq(sprag_ode_warm_start_row(memory, other, 0), 0);
    sprag_ode_warm_start_free(memory);
    dWorldDestroy(t.world);
}
END_TEST

// More contacts than the tables had room for at first.
START_TEST(remembers_many)
{
    enum { MANY = 1000 };
    touching t = open_touching();
    static sprag_contact contact[MANY];
    dJointID joint[MANY];
    ode_warm_start *memory = sprag_ode_warm_start_make();
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < MANY; i++) {
            if (round == 0) {
                // Never looked at: a number that tells pairs apart.
                joint[i] = contact_at(&t, (dGeomID)(uintptr_t)(64 + 16 * (i / 4)), NULL, i % 4);
            }
            remember(memory, joint[i], i + round + 1);
        }
        sprag_ode_warm_start_next_step(memory);
        for (int i = 0; i < MANY; i++) {
            contact[i] = framed(joint[i]);
        }
        recall_contacts(memory, joint, contact, MANY);
        for (int i = 0; i < MANY; i++) {
            ck_assert_double_eq_tol(contact[i].guess[0], i + round + 1, 1e-9);
        }
    }
    sprag_ode_warm_start_free(memory);
    dWorldDestroy(t.world);
}
END_TEST

// ---- islands

enum { LINKS = 300 };

// A chain of bodies on ball joints, each on a contact too.
static void add_chain(dWorldID world, dBodyID *body, int links, double y)
{
    dWorldSetGravity(world, 0, 0, -9.81);
    for (int i = 0; i < links; i++) {
        dContact c = oblique_contact(dContactApprox1);
        body[i] = create_body(world, 1 + i % 3, i, y, 0);
        c.geom.pos[0] = i;
        dJointAttach(dJointCreateContact(world, 0, &c), body[i], 0);
        if (i) {
            dJointID ball = dJointCreateBall(world, 0);
            dJointAttach(ball, body[i], body[i - 1]);
            dJointSetBallAnchor(ball, i - 0.5, y, 0);
        }
    }
}

START_TEST(finds_its_way_in_a_large_island)
{
    dBodyID body[LINKS];
    dWorldID world = dWorldCreate();
    add_chain(world, body, LINKS, 0);
    pull p = pull_world(world);
    ck_assert_int_eq(p.ode.problem.bodies, LINKS);
    ck_assert_int_eq(p.ode.problem.contacts, LINKS);
    ck_assert_int_eq(p.ode.problem.rows, 3 * (LINKS - 1));
    for (int i = 0; i < LINKS; i++) {
        const sprag_contact *c = &p.ode.problem.contact[i];
        ck_assert_ptr_eq(p.island.body[c->body[0]], dJointGetBody(p.ode.contact_joint[i], 0));
        ck_assert_int_eq(c->body[1], SPRAG_STATIC);
    }
    for (int i = 0; i < p.ode.problem.rows; i++) {
        for (int side = 0; side < 2; side++) {
            ck_assert_ptr_eq(p.island.body[p.ode.problem.row[i].body[side]],
                             dJointGetBody(p.ode.row_joint[i], side));
        }
    }
    release(&p);
    dWorldDestroy(world);
}
END_TEST

// One of two chains moves as if it were alone; the other one is left as it was.
START_TEST(stock_steps_one_island)
{
    enum { FEW = 6 };
    bool quick = _i;
    dWorldID world = dWorldCreate(), alone = dWorldCreate();
    dBodyID body[FEW], other[FEW], single[FEW];
    add_chain(world, body, FEW, 0);
    add_chain(world, other, FEW, 1);
    add_chain(alone, single, FEW, 0);
    ode_islands islands;
    ck_assert(sprag_ode_find_islands(world, step, quick, &islands));
    ck_assert_uint_eq(islands.count, 2);
    ode_island island = island_at(&islands, 0);
    for (int i = 0; i < island.bodies; i++) {
        if (island.body[i] == other[0]) {
            island = island_at(&islands, 1);
        }
    }
    body_state before = state_of(other[0]);
    dRandSetSeed(7);
    ck_assert(sprag_ode_step_island(world, &island, step, quick));
    unsigned long seed = dRandGetSeed();
    dRandSetSeed(7);
    ck_assert((quick ? dWorldQuickStep : dWorldStep)(alone, step));
    ck_assert_uint_eq(seed, dRandGetSeed());
    for (int i = 0; i < FEW; i++) {
        body_state ours = state_of(body[i]), stock = state_of(single[i]);
        assert_same_bits(&ours, &stock);
    }
    body_state after = state_of(other[0]);
    assert_same_bits(&after, &before);
    dWorldDestroy(world);
    dWorldDestroy(alone);
}
END_TEST

START_TEST(the_running_ode_is_the_known_one)
{
    ck_assert_ptr_null(sprag_ode_unsupported());
}
END_TEST

static void setup(void)
{
    dInitODE2(0);
    dAllocateODEDataForThread((unsigned)dAllocateMaskAll);
    dSetMessageHandler(quiet); // "inertia must be positive definite!"
}

int main(void)
{
    TCase *bodies = tcase_create("bodies"), *contacts = tcase_create("contacts");
    TCase *joints = tcase_create("joints"), *push = tcase_create("push");
    TCase *rest = tcase_create("memory and islands");
    TCase *const cases[] = {bodies, contacts, joints, push, rest};
    Suite *suite = suite_create("adapters");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        suite_add_tcase(suite, cases[i]);
        tcase_add_checked_fixture(cases[i], setup, dCloseODE);
        tcase_set_timeout(cases[i], 60);
    }
    tcase_add_loop_test(bodies, free_velocity_is_stock, 0, FLYERS);
    tcase_add_test(bodies, inertia_is_turned_into_world_axes);
    tcase_add_test(bodies, kinematic_body_keeps_its_velocity);
    tcase_add_loop_test(bodies, odd_inertia_turns_as_in_stock, 0, 4);
    tcase_add_test(bodies, finds_a_body_that_is_not_finite);
    tcase_add_loop_test(bodies, takes_a_force_that_is_not_finite_as_zero, 0, 3);
    tcase_add_loop_test(contacts, contact_is_what_its_rows_say, 0, 3);
    tcase_add_test(contacts, bias_is_that_of_the_world);
    tcase_add_loop_test(contacts, bounces_above_the_threshold, 0, 5);
    tcase_add_test(contacts, coefficients_are_those_of_the_rows);
    tcase_add_loop_test(contacts, frame_is_orthonormal, 0, 7);
    tcase_add_loop_test(contacts, crushed_bodies_slide_apart, 0, 3);
    tcase_add_test(contacts, odd_surfaces_still_hold);
    tcase_add_test(contacts, drops_what_cannot_be_a_contact);
    tcase_add_loop_test(joints, rows_are_those_of_the_joint, 0, JOINT_KINDS);
    tcase_add_loop_test(joints, motors_at_their_stops_push_the_bodies, 0, 3);
    tcase_add_loop_test(push, push_moves_bodies_as_stock, 0, PUSHES);
    tcase_add_loop_test(push, feedback_is_stock, 0, JOINT_KINDS);
    tcase_add_test(push, contact_feedback_is_the_force);
    tcase_add_test(rest, remembers_by_pair);
    tcase_add_test(rest, forces_of_a_pair_go_to_the_nearest);
    tcase_add_test(rest, remembers_rows);
    tcase_add_test(rest, remembers_many);
    tcase_add_test(rest, finds_its_way_in_a_large_island);
    tcase_add_loop_test(rest, stock_steps_one_island, 0, 2);
    tcase_add_test(rest, the_running_ode_is_the_known_one);

    return run_suite(suite);
}
