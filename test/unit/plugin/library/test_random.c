// Random worlds: bodies, geoms, joints of every type, surfaces of every mode, whatever a program
// may ask for. Nobody knows where they go, but the step must solve them, keep them finite, and do
// the same each time. Worlds that nothing drives keep their momentum and gain no energy.
#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "join_contacts.h"
#include "program_world.h"
#include "sprag.h"
#include "start.h"
#include "suite.h"
#include "worlds.h"

// ---- chance: the same worlds under every compiler, so one draw per statement

static uint64_t dice;

static double fraction(void) // [0, 1)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (double)(dice >> 11) / 9007199254740992.0;
}

static void seed(int number)
{
    dice = (uint64_t)number * 7919 + 1;
    for (int i = 0; i < 5; i++) {
        fraction();
    }
}

static bool chance(double probability)
{
    return fraction() < probability;
}

static int pick(int count)
{
    return (int)(count * fraction());
}

static double between(double low, double high)
{
    return low + (high - low) * fraction();
}

static double power(double low, double high) // of ten
{
    return pow(10, between(low, high));
}

static void fill(dReal *x, int n, double size)
{
    for (int k = 0; k < n; k++) {
        x[k] = between(-size, size);
    }
}

static void turn(dReal *q)
{
    fill(q, 4, 1);
    dNormalize4(q);
}

// ---- worlds

enum { BODIES_MAX = 25, CONTACTS_MAX = 16 };

typedef struct random_world {
    dWorldID id;
    dSpaceID space;
    dJointGroupID contacts;
    dSurfaceParameters surface;
    dReal step;      // s
    double residual; // largest that is good, where Newton ends
    bool quick;      // by dWorldQuickStep
    int bodies;
    dBodyID body[BODIES_MAX];
} random_world;

static void open_empty(random_world *w)
{
    *w = (random_world){.id = dWorldCreate(), .space = dSimpleSpaceCreate(0), .residual = 0.1};
    w->contacts = dJointGroupCreate(0);
}

static void close_world(random_world *w)
{
    destroy_world(w->id, w->space, w->contacts);
}

static void set_world(random_world *w)
{
    w->step = power(-3.5, -1.3);
    dWorldSetGravity(w->id, 0, 0, -9.81);
    if (chance(0.5)) {
        dWorldSetERP(w->id, between(0, 0.9));
    }
    if (chance(0.5)) {
        dWorldSetCFM(w->id, chance(0.2) ? 0 : power(-12, -3));
    }
    if (chance(0.3)) {
        dWorldSetContactSurfaceLayer(w->id, 1e-3);
    }
    if (chance(0.3)) {
        dWorldSetContactMaxCorrectingVel(w->id, between(0.1, 10));
    }
    dWorldSetAutoDisableFlag(w->id, chance(0.3));
}

static void set_surface(dSurfaceParameters *s)
{
    static const int often[] = {dContactApprox1_1, dContactApprox1_2, dContactApprox1_N};
    static const int seldom[] = {dContactMu2,     dContactFDir1,   dContactBounce,  dContactSoftERP,
                                 dContactSoftCFM, dContactMotion1, dContactMotion2, dContactMotionN,
                                 dContactSlip1,   dContactSlip2,   dContactRolling};
    for (size_t i = 0; i < sizeof often / sizeof often[0]; i++) {
        s->mode |= chance(0.7) ? often[i] : 0;
    }
    for (size_t i = 0; i < sizeof seldom / sizeof seldom[0]; i++) {
        s->mode |= chance(0.25) ? seldom[i] : 0;
    }
    s->mu = chance(0.15) ? dInfinity : between(0, 2);
    s->mu2 = chance(0.1) ? dInfinity : between(0, 2);
    s->rho = between(0, 0.1);
    s->rho2 = between(0, 0.1);
    s->rhoN = between(0, 0.1);
    s->bounce = between(0, 1);
    s->bounce_vel = between(0, 0.5);
    s->soft_erp = between(0, 1);
    s->soft_cfm = power(-9, -2);
    s->motion1 = between(-1, 1);
    s->motion2 = between(-1, 1);
    s->motionN = between(-0.1, 0.1);
    s->slip1 = power(-6, -1);
    s->slip2 = power(-6, -1);
}

static dGeomID create_shape(dSpaceID space, dMass *mass, double kilograms)
{
    double x = between(0.1, 0.5), y = between(0.1, 0.5), z = between(0.1, 0.5);
    switch (pick(4)) {
    case 0:
        dMassSetBoxTotal(mass, kilograms, x, y, z);
        return dCreateBox(space, x, y, z);
    case 1:
        dMassSetSphereTotal(mass, kilograms, x);
        return dCreateSphere(space, x);
    case 2:
        dMassSetCapsuleTotal(mass, kilograms, 3, x, y);
        return dCreateCapsule(space, x, y);
    default:
        dMassSetCylinderTotal(mass, kilograms, 3, x, y);
        return dCreateCylinder(space, x, y);
    }
}

// Near the origin, turned and moving anyhow; its mass is still to be set.
static dBodyID add_body(random_world *w)
{
    dReal x[3], q[4], v[3], spin[3];
    dBodyID body = w->body[w->bodies++] = dBodyCreate(w->id);
    fill(x, 3, 1);
    turn(q);
    fill(v, 3, 3);
    fill(spin, 3, 5);
    dBodySetPosition(body, x[0], x[1], x[2]);
    dBodySetQuaternion(body, q);
    dBodySetLinearVel(body, v[0], v[1], v[2]);
    dBodySetAngularVel(body, spin[0], spin[1], spin[2]);
    return body;
}

static void add_shaped_body(random_world *w, double decades)
{
    dMass mass;
    dBodyID body = add_body(w);
    const dReal *x = dBodyGetPosition(body);
    dBodySetPosition(body, x[0], x[1], 1.65 + 1.35 * x[2]);
    dGeomSetBody(create_shape(w->space, &mass, power(-decades / 2, decades / 2)), body);
    dBodySetMass(body, &mass);
    if (chance(0.08)) {
        dBodySetKinematic(body);
    }
    dBodySetGravityMode(body, !chance(0.1));
    dBodySetFiniteRotationMode(body, chance(0.2));
}

// ---- joints

typedef void set_vector(dJointID, dReal x, dReal y, dReal z);

// Placement of the joint types; a Hinge2 and the motors differ from the others. No transmission: if
// its bodies leave their axes, ODE ends the program.
typedef struct placing {
    int type;
    set_vector *anchor[2], *axis[3];
    bool passive; // without motors: forces that are equal and opposite, and do no work
} placing;

static const placing placings[] = {
    {dJointTypeBall, {dJointSetBallAnchor}, {0}, true},
    {dJointTypeHinge, {dJointSetHingeAnchor}, {dJointSetHingeAxis}, true},
    {dJointTypeSlider, {0}, {dJointSetSliderAxis}, true},
    {dJointTypeUniversal,
     {dJointSetUniversalAnchor},
     {dJointSetUniversalAxis1, dJointSetUniversalAxis2},
     true},
    {dJointTypeHinge2, {dJointSetHinge2Anchor}, {0}, true},
    {dJointTypeFixed, {0}, {0}, true},
    {dJointTypePR, {dJointSetPRAnchor}, {dJointSetPRAxis1, dJointSetPRAxis2}, true},
    {dJointTypePU,
     {dJointSetPUAnchor},
     {dJointSetPUAxis1, dJointSetPUAxis2, dJointSetPUAxis3},
     true},
    {dJointTypePiston, {dJointSetPistonAnchor}, {dJointSetPistonAxis}, true},
    {dJointTypeDBall, {dJointSetDBallAnchor1, dJointSetDBallAnchor2}, {0}, true},
    {dJointTypeDHinge,
     {dJointSetDHingeAnchor1, dJointSetDHingeAnchor2},
     {dJointSetDHingeAxis},
     true},
    {dJointTypePlane2D, {0}, {0}, false}, // to the world
    {dJointTypeAMotor, {0}, {0}, true},
    {dJointTypeLMotor, {0}, {0}, true},
    {dJointTypeNull, {0}, {0}, true},
};

enum { PLACINGS = sizeof placings / sizeof placings[0] };

static const joint_kind *kind_of(int type)
{
    const joint_kind *kind = joint_kinds;
    while (kind->type != type) {
        kind++;
    }
    return kind;
}

static void set_motor_axes(dJointID joint, dVector3 axis[3])
{
    bool angular = dJointGetType(joint) == dJointTypeAMotor;
    bool two = dJointGetBody(joint, 0) && dJointGetBody(joint, 1);
    int axes = 1 + pick(3);
    (angular ? dJointSetAMotorNumAxes : dJointSetLMotorNumAxes)(joint, axes);
    for (int k = 0; k < axes; k++) {
        int relative = pick(two ? 3 : 2); // to the world, the first body, the second
        (angular ? dJointSetAMotorAxis : dJointSetLMotorAxis)(joint, k, relative, axis[k][0],
                                                              axis[k][1], axis[k][2]);
    }
}

// Anchors near the first body, axes square to one another.
static void place(dJointID joint, const placing *how, const dReal *around)
{
    dQuaternion q;
    dMatrix3 R;
    dVector3 axis[3];
    turn(q);
    dRfromQ(R, q);
    memcpy(axis, R, sizeof axis);
    for (int k = 0; k < 2 && how->anchor[k]; k++) {
        dReal x[3];
        fill(x, 3, 0.1 + 0.5 * k);
        how->anchor[k](joint, around[0] + x[0], around[1] + x[1], around[2] + x[2]);
    }
    for (int k = 0; k < 3 && how->axis[k]; k++) {
        how->axis[k](joint, axis[k][0], axis[k][1], axis[k][2]);
    }
    switch (how->type) {
    case dJointTypeHinge2:
        dJointSetHinge2Axes(joint, axis[0], axis[1]);
        break;
    case dJointTypeFixed:
        dJointSetFixed(joint);
        break;
    case dJointTypeAMotor:
    case dJointTypeLMotor:
        set_motor_axes(joint, axis);
        break;
    default:
        break;
    }
}

static void set_limits_and_motors(dJointID joint, int motors)
{
    for (int group = 0; group < motors * dParamGroup; group += dParamGroup) {
        if (chance(0.4)) {
            set_parameter(joint, group + dParamHiStop, between(0, 1));
            set_parameter(joint, group + dParamLoStop, between(-1, 0));
            set_parameter(joint, group + dParamBounce, chance(0.5) ? between(0, 1) : 0);
            set_parameter(joint, group + dParamFudgeFactor, between(0, 1));
        }
        if (chance(0.2)) {
            set_parameter(joint, group + dParamStopERP, between(0, 0.9));
            set_parameter(joint, group + dParamStopCFM, power(-9, -2));
        }
        if (chance(0.4)) {
            set_parameter(joint, group + dParamFMax, power(-1, 3));
            set_parameter(joint, group + dParamVel, between(-3, 3));
        }
    }
    if (dJointGetType(joint) == dJointTypeHinge2) {
        dJointSetHinge2Param(joint, dParamSuspensionERP, 0.4);
        dJointSetHinge2Param(joint, dParamSuspensionCFM, 0.01);
    }
}

// Between two bodies, or a body and the world.
static void add_joint(random_world *w)
{
    const placing *how = &placings[pick(PLACINGS)];
    const joint_kind *kind = kind_of(how->type);
    dBodyID first = w->body[pick(w->bodies)], second = w->body[pick(w->bodies)];
    int like = first != second ? PAIR_PLAIN : chance(0.5) ? PAIR_TO_WORLD : PAIR_REVERSED;
    if (!kind_can_be(kind, like)) {
        return;
    }
    dJointID joint = create_joint(w->id, how->type);
    if (like == PAIR_REVERSED) {
        dJointAttach(joint, NULL, first);
    } else {
        dJointAttach(joint, first, like == PAIR_TO_WORLD ? NULL : second);
    }
    place(joint, how, dBodyGetPosition(first));
    set_limits_and_motors(joint, kind->motors);
}

// ---- anything goes

static void open_random(random_world *w, int number)
{
    seed(number);
    open_empty(w);
    set_world(w);
    set_surface(&w->surface);
    dCreatePlane(w->space, 0, 0, 1, 0);
    double decades = chance(0.3) ? 4 : 1; // of masses
    for (int left = 1 + pick(BODIES_MAX); left > 0; left--) {
        add_shaped_body(w, decades);
    }
    int joints = chance(0.3) ? 0 : pick(w->bodies + w->bodies / 4);
    for (int i = 0; i < joints; i++) {
        add_joint(w);
    }
}

static void touch(void *data, dGeomID a, dGeomID b)
{
    static const dReal along[3] = {1, 0, 0};
    const random_world *w = data;
    join_contacts(w->id, w->contacts, a, b, CONTACTS_MAX, w->surface, along);
}

static void advance(random_world *w)
{
    dSpaceCollide(w->space, w, touch);
    ck_assert_int_eq((w->quick ? dWorldQuickStep : dWorldStep)(w->id, w->step), 1);
    dJointGroupEmpty(w->contacts);
}

static void assert_stepped(const random_world *w, int n)
{
    sprag_world_statistics s = statistics_of(w->id);
    ck_assert_msg(s.fallbacks == 0, "step %d: left to ODE", n);
    ck_assert_msg(s.frozen == 0, "step %d: %ld bodies held", n, s.frozen);
    ck_assert_msg(s.invalid_forces == 0, "step %d: %ld bad forces", n, s.invalid_forces);
}

static bool is_solved(const random_world *w, const sprag_world_statistics *s)
{
    return s->residual <= (s->strategy >= SPRAG_STRATEGY_FROZEN_FRICTION ? 1 : w->residual);
}

static void assert_solved(const random_world *w, int n)
{
    sprag_world_statistics s = statistics_of(w->id);
    assert_stepped(w, n);
    ck_assert_msg(is_solved(w, &s), "step %d: residual %g after %s", n, s.residual,
                  sprag_strategy_name(s.strategy));
}

static bool is_finite(const random_world *w)
{
    bool finite = true;
    for (int i = 0; i < w->bodies; i++) {
        body_state b = state_of(w->body[i]);
        finite = finite && state_is_finite(&b);
    }
    return finite;
}

static void solve_random(random_world *w, int steps)
{
    for (int n = 0; n < steps; n++) {
        advance(w);
        assert_solved(w, n);
        ck_assert_msg(is_finite(w), "step %d: not finite", n);
    }
    close_world(w);
}

enum { RANDOM_WORLDS = 175, RANDOM_STEPS = 60, REPEATED = 7 };

START_TEST(random_worlds_are_solved)
{
    random_world w;
    open_random(&w, _i);
    ck_assert(sprag_world_configure(w.id, "effort=exact"));
    solve_random(&w, RANDOM_STEPS);
}
END_TEST

// Their large islands failed before, and left the next step to sweeps. That one step fails is
// chance: it does in 1 to 3 of 1000 worlds, and in others if rounding differs.
START_TEST(failures_are_not_held_against_exact_solves)
{
    static const int world[] = {582, 783, 831, 930};
    int unsolved = 0;
    random_world w;
    open_random(&w, world[_i]);
    ck_assert(sprag_world_configure(w.id, "effort=exact"));
    for (int n = 0; n < RANDOM_STEPS; n++) {
        advance(&w);
        assert_stepped(&w, n);
        sprag_world_statistics s = statistics_of(w.id);
        unsolved += !is_solved(&w, &s);
    }
    ck_assert_int_le(unsolved, 1);
    close_world(&w);
}
END_TEST

// Within a budget the residual is what it is, but no world is left to ODE.
START_TEST(random_worlds_are_stepped)
{
    random_world w;
    open_random(&w, _i);
    w.quick = _i % 2;
    for (int n = 0; n < RANDOM_STEPS; n++) {
        advance(&w);
        assert_stepped(&w, n);
        ck_assert_msg(is_finite(&w), "step %d: not finite", n);
    }
    close_world(&w);
}
END_TEST

// Every seventh world, twice side by side, so that nothing is at the same address.
START_TEST(random_worlds_repeat)
{
    random_world one, other;
    open_random(&one, REPEATED * _i);
    open_random(&other, REPEATED * _i);
    for (int n = 0; n < RANDOM_STEPS; n++) {
        advance(&one);
        advance(&other);
    }
    for (int i = 0; i < one.bodies; i++) {
        body_state a = state_of(one.body[i]), b = state_of(other.body[i]);
        ck_assert_msg(memcmp(&a, &b, sizeof a) == 0, "body %d", i);
    }
    close_world(&one);
    close_world(&other);
}
END_TEST

enum { SURFACE_WORLDS = 40, SURFACE_STEPS = 100 };

// Physical parameters, from next to nothing to more than rounding can tell from rigid: then that of
// a deep overlap shows, in 5 in 1000 of these.
START_TEST(random_stiffnesses_are_solved)
{
    random_world w;
    open_random(&w, _i);
    sprag_surface_set_stiffness(&w.surface, power(0, 13));
    sprag_surface_set_dissipation(&w.surface, chance(0.3) ? 0 : power(-3, 3));
    if (chance(0.5)) {
        sprag_surface_set_stiction(&w.surface, power(-9, -1));
    }
    ck_assert(sprag_world_configure(w.id, "effort=exact"));
    w.residual = 1; // smooth friction, stiction of 0.1 m/s, and rounding of stiffness
    solve_random(&w, SURFACE_STEPS);
}
END_TEST

START_TEST(random_worlds_are_solved_one_way)
{
    random_world w;
    open_random(&w, _i);
    ck_assert(sprag_world_configure(w.id, "stribeck.scheme=one-way"));
    w.residual = 2; // measured by the equations of the two-way scheme
    solve_random(&w, SURFACE_STEPS);
}
END_TEST

// ---- nothing drives

static void add_passive_joint(random_world *w, int first, int second, bool with_pu)
{
    const placing *how = &placings[pick(PLACINGS)];
    if (first != second && how->passive && (with_pu || how->type != dJointTypePU)) {
        dJointID joint = create_joint(w->id, how->type);
        dJointAttach(joint, w->body[first], w->body[second]);
        place(joint, how, dBodyGetPosition(w->body[first]));
    }
}

// Spheres, whose angular momentum does not change as they turn, without gravity; joints that mend
// no error. A joint whose anchors have come apart acts at two places, so it exerts a torque. In a
// steady world none does: the steps are short, no loop is closed, and there is no PU, whose two
// places part as it slides.
static void open_passive(random_world *w, int number, bool steady)
{
    seed(number);
    open_empty(w);
    w->step = steady ? power(-5, -4) : power(-4, -1.5);
    dWorldSetERP(w->id, 0);
    dWorldSetCFM(w->id, chance(0.5) ? 0 : power(-12, -5));
    for (int left = 2 + pick(12); left > 0; left--) {
        dMass mass;
        double kilograms = power(-0.5, 0.5);
        dMassSetSphereTotal(&mass, kilograms, between(0.1, 0.5));
        dBodySetMass(add_body(w), &mass);
    }
    for (int i = 1; i < w->bodies; i++) {
        add_passive_joint(w, i, pick(i), !steady);
    }
    for (int left = steady ? 0 : pick(4); left > 0; left--) {
        int first = pick(w->bodies);
        add_passive_joint(w, first, pick(w->bodies), true);
    }
}

// Of all bodies together, about the origin; size: of the parts, which may cancel.
typedef struct motion {
    double linear[3], angular[3];
    double linear_size, angular_size;
    double energy; // J
} motion;

static motion motion_of(const random_world *w)
{
    motion sum = {0};
    for (int i = 0; i < w->bodies; i++) {
        dMass mass;
        dVector3 orbital;
        const dReal *x = dBodyGetPosition(w->body[i]), *v = dBodyGetLinearVel(w->body[i]);
        const dReal *spin = dBodyGetAngularVel(w->body[i]);
        dBodyGetMass(w->body[i], &mass);
        dCalcVectorCross3(orbital, x, v);
        for (int k = 0; k < 3; k++) {
            double p = mass.mass * v[k], L = mass.mass * orbital[k] + mass.I[0] * spin[k];
            sum.linear[k] += p;
            sum.angular[k] += L;
            sum.linear_size += fabs(p);
            sum.angular_size += fabs(L);
            sum.energy += 0.5 * (p * v[k] + mass.I[0] * spin[k] * spin[k]);
        }
    }
    return sum;
}

static void assert_kept(const double *now, const double *start, double size, const char *what,
                        int n)
{
    for (int k = 0; k < 3; k++) {
        ck_assert_msg(fabs(now[k] - start[k]) <= 1e-6 * size, "step %d: %s[%d] from %.10g to %.10g",
                      n, what, k, start[k], now[k]);
    }
}

enum { PASSIVE_WORLDS = 200, PASSIVE_STEPS = 100 };

START_TEST(passive_worlds_keep_their_momentum)
{
    bool steady = _i % 2;
    random_world w;
    open_passive(&w, _i, steady);
    const motion start = motion_of(&w);
    double last[3] = {start.energy}; // J, before each of the last steps
    for (int n = 0; n < PASSIVE_STEPS; n++) {
        ck_assert_int_eq(dWorldStep(w.id, w.step), 1);
        assert_solved(&w, n);
        motion now = motion_of(&w);
        assert_kept(now.linear, start.linear, start.linear_size, "linear", n);
        if (n == 0 || steady) {
            assert_kept(now.angular, start.angular, start.angular_size, "angular", n);
        }
        // Inertia that joints under load have got takes energy, and gives it back in one of the
        // next steps, a tenth of all where a joint snaps. No step wins more than a hundredth
        // beyond.
        double most = steady ? last[0] : fmax(last[0], fmax(last[1], last[2]));
        ck_assert_msg(now.energy <= (1 + (steady ? 1e-6 : 1e-2)) * most &&
                          now.energy <= (1 + 1e-6) * start.energy,
                      "step %d: from %.10g J to %.10g J", n, most, now.energy);
        last[2] = last[1], last[1] = last[0], last[0] = now.energy;
    }
    close_world(&w);
}
END_TEST

// Two joints that hold one body at places 2 cm apart pull at it with loads that cancel: it comes to
// rest.
START_TEST(joints_that_disagree_are_solved)
{
    static const dReal length[] = {0.001, 0.01}, apart[] = {0.02, 0.1};
    dWorldID world = dWorldCreate();
    dBodyID body = dBodyCreate(world);
    for (int i = 0; i < 2; i++) {
        dBodySetPosition(body, apart[_i] * i, 0, 0);
        dJointID joint = dJointCreateFixed(world, 0);
        dJointAttach(joint, body, 0);
        dJointSetFixed(joint);
    }
    dBodySetLinearVel(body, 1, 2, 3);
    dBodySetAngularVel(body, 1, 2, 3);
    for (int i = 0; i < 300; i++) {
        sprag_world_statistics t = {.struct_size = sizeof t};
        ck_assert_int_eq(dWorldStep(world, length[_i]), 1);
        sprag_world_stats(world, &t);
        ck_assert_int_eq(t.fallbacks, 0);
        ck_assert_double_le(t.residual, 1e-6);
    }
    ck_assert_double_lt(dCalcVectorLength3(dBodyGetLinearVel(body)), 1e-12);
    dWorldDestroy(world);
}
END_TEST

// ---- weak motors

static void add_weak_motor(random_world *w, int type, dBodyID first, dBodyID second)
{
    dJointID motor = create_joint(w->id, type);
    dJointAttach(motor, first, second);
    place_joint(motor);
    for (int group = 0; group < 3 * dParamGroup; group += dParamGroup) {
        set_parameter(motor, group + dParamFMax, chance(0.5) ? 1e-5 : 1e-4);
        set_parameter(motor, group + dParamVel, chance(0.5) ? 0 : 0.1);
    }
}

enum { WEAK_FIRST = 100, WEAK_END = 155, WEAK_STEPS = 1500 };

// Motors that work against one another with next to no force: between the velocities at which one
// saturates this way and that lie 1e-13 m/s. In these worlds a search that went from one to the
// other found neither.
START_TEST(weak_motors_are_solved)
{
    random_world w;
    seed(_i);
    open_empty(&w);
    w.step = 0.05;
    for (int i = 0; i < 2; i++) {
        dReal v[6];
        dBodyID body = w.body[w.bodies++] = create_body(w.id, 1, 0.4 * i, 0.2 * i, 0.1 * i);
        fill(v, 6, power(-5, -3));
        dBodySetLinearVel(body, v[0], v[1], v[2]);
        dBodySetAngularVel(body, v[3], v[4], v[5]);
        add_weak_motor(&w, dJointTypeAMotor, body, NULL);
        add_weak_motor(&w, dJointTypeLMotor, body, NULL);
    }
    add_weak_motor(&w, dJointTypeAMotor, w.body[0], w.body[1]);
    if (_i % 2) {
        add_weak_motor(&w, dJointTypeLMotor, w.body[0], w.body[1]);
    }
    for (int n = 0; n < WEAK_STEPS; n++) {
        ck_assert_int_eq(dWorldStep(w.id, w.step), 1);
        assert_solved(&w, n);
    }
    ck_assert(is_finite(&w));
    close_world(&w);
}
END_TEST

static void setup(void)
{
    start_ode();
}

static void teardown(void)
{
    dCloseODE();
}

int main(void)
{
    Suite *suite = suite_create("random");
    TCase *random = ADD_TESTS(
        suite, "random", {random_worlds_are_solved, RANDOM_WORLDS},
        {failures_are_not_held_against_exact_solves, 4}, {random_worlds_are_stepped, RANDOM_WORLDS},
        {random_worlds_repeat, RANDOM_WORLDS / REPEATED},
        {random_stiffnesses_are_solved, SURFACE_WORLDS},
        {random_worlds_are_solved_one_way, SURFACE_WORLDS},
        {passive_worlds_keep_their_momentum, PASSIVE_WORLDS}, {joints_that_disagree_are_solved, 2});
    tcase_add_checked_fixture(random, setup, teardown);
    tcase_add_loop_test(random, weak_motors_are_solved, WEAK_FIRST, WEAK_END);
    return run_suite(suite);
}
