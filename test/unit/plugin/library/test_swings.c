// Pendulums at ordinary steps: with stribeck.arcs=1 they keep their energy and their joints stay
// shut; without, those under load do.
#include <math.h>
#include <stdbool.h>

#include <ode/ode.h>

#include "body_motion.h"
#include "chance.h"
#include "sprag.h"
#include "suite.h"

static const double length = 0.5, gravity = 9.81; // m, m/s^2

typedef struct pendulum {
    dWorldID world;
    dBodyID body;
    dJointID joint;
} pendulum;

static dJointID join(dWorldID world, dJointType type, dBodyID body)
{
    dJointID joint;
    if (type == dJointTypeBall) {
        joint = dJointCreateBall(world, 0);
        dJointAttach(joint, body, 0);
        dJointSetBallAnchor(joint, 0, 0, 0);
    } else if (type == dJointTypeHinge) {
        joint = dJointCreateHinge(world, 0);
        dJointAttach(joint, body, 0);
        dJointSetHingeAnchor(joint, 0, 0, 0);
        dJointSetHingeAxis(joint, 0, 1, 0);
    } else {
        joint = dJointCreateUniversal(world, 0);
        dJointAttach(joint, 0, body);
        dJointSetUniversalAnchor(joint, 0, 0, 0);
        dJointSetUniversalAxis1(joint, 1, 0, 0);
        dJointSetUniversalAxis2(joint, 0, 1, 0);
    }
    return joint;
}

// A cube of 1 kg, level with its joint, that turns about it.
static pendulum hang(dJointType type, double side, double turn, bool arcs)
{
    dMass m;
    pendulum p = {.world = dWorldCreate()};
    dWorldSetGravity(p.world, 0, 0, -gravity);
    sprag_world_configure(p.world, arcs ? "stribeck.arcs=1" : "stribeck.arcs=0");
    dMassSetBoxTotal(&m, 1, side, side, side);
    p.body = dBodyCreate(p.world);
    dBodySetMass(p.body, &m);
    dBodySetPosition(p.body, length, 0, 0);
    dBodySetLinearVel(p.body, 0, 0, -turn * length);
    dBodySetAngularVel(p.body, 0, turn, 0);
    p.joint = join(p.world, type, p.body);
    return p;
}

static double gap(const pendulum *p)
{
    dVector3 at;
    dBodyGetRelPointPos(p->body, -length, 0, 0, at);
    return sqrt(dCalcVectorDot3(at, at));
}

// J; the velocity is that of the middle of a step.
static double energy(const pendulum *p, double step)
{
    dMass m;
    dBodyGetMass(p->body, &m);
    const dReal *v = dBodyGetLinearVel(p->body), *w = dBodyGetAngularVel(p->body);
    double height = dBodyGetPosition(p->body)[2] - step / 2 * v[2];
    dVector3 down;
    dWorldGetGravity(p->world, down);
    return 0.5 * m.mass * dCalcVectorDot3(v, v) + 0.5 * m.I[0] * dCalcVectorDot3(w, w) -
           m.mass * down[2] * height;
}

static double swing(pendulum *p, double step, bool quick, double *widest)
{
    double first = energy(p, step);
    for (int i = 0; i * step < 10; i++) {
        (quick ? dWorldQuickStep : dWorldStep)(p->world, step);
        *widest = fmax(*widest, gap(p));
    }
    return energy(p, step) - first;
}

// Changes of energy in 10 s, relative to the way down, and gaps: [0] of ODE's tangents.
typedef struct swings {
    double change[2], gap[2];
} swings;

static swings swing_both(dJointType type, double turn, double down, double step, bool quick,
                         bool finite)
{
    swings s = {0};
    for (int arcs = 0; arcs < 2; arcs++) {
        pendulum p = hang(type, 0.2, turn, arcs);
        dWorldSetGravity(p.world, 0, 0, -down);
        dBodySetFiniteRotationMode(p.body, finite);
        s.change[arcs] = swing(&p, step, quick, &s.gap[arcs]);
        dWorldDestroy(p.world);
    }
    return s;
}

START_TEST(swings_keep_their_energy)
{
    static const dJointType type[] = {dJointTypeBall, dJointTypeHinge, dJointTypeUniversal};
    static const double step[] = {0.005, 0.01}, lost[] = {0.01, 0.05}, widest[] = {4e-4, 1.5e-3};
    const double all = gravity * length;
    for (int k = 0; k < 4; k++) {
        swings s = swing_both(type[_i], 3, gravity, step[k % 2], _i == 2, k / 2);
        ck_assert_double_lt(s.change[1], 1e-3 * all);
        ck_assert_double_gt(s.change[1], -lost[k % 2] * all);
        ck_assert_double_lt(s.gap[1], widest[k % 2]);
        ck_assert_double_lt(4 * s.gap[1], s.gap[0]);
        ck_assert_double_gt(s.change[1], s.change[0] / 4);
    }
}
END_TEST

START_TEST(whirls_keep_their_energy)
{
    for (int finite = 0; finite < 2; finite++) {
        swings s = swing_both(dJointTypeBall, 4, 0, 0.01, false, finite);
        const double first = 0.5 * 16 * (length * length + 1 / 150.0); // J
        ck_assert_double_lt(s.change[1], 1e-6 * first);
        ck_assert_double_gt(s.change[1], -0.02 * first);
        ck_assert_double_lt(4 * s.gap[1], s.gap[0]);
        ck_assert_double_gt(s.change[1], s.change[0] / 4);
    }
}
END_TEST

// So light for their size that they have inertia added, from the second step on.
START_TEST(whirls_under_load_win_nothing)
{
    static const double turn[] = {9, 20}, step[] = {0.01, 0.005};
    for (int k = 0; k < 4; k++) {
        pendulum p = hang(dJointTypeBall, 0.1, turn[k % 2], false);
        double widest = 0, first = energy(&p, 0);
        dWorldSetGravity(p.world, 0, 0, 0);
        dBodySetFiniteRotationMode(p.body, k / 2);
        double change = swing(&p, step[k % 2], false, &widest);
        ck_assert_double_lt(change, 1e-4 * first);
        ck_assert_double_gt(change, -0.03 * first);
        dWorldDestroy(p.world);
    }
}
END_TEST

// Three beads on distances between the two loads of a bolas, which turns by 0.7 and 0.9 rad a step:
// the circle is looked ahead by less than its whole arc there, and the distances stay apart. The
// joints open by less than twice what the tangent of the first step opens them.
START_TEST(fast_bolas_do_not_collapse)
{
    enum { N = 5 };
    const double step = 0.01, turn = 0.7 + 0.2 * _i; // rad a step
    dWorldID world = dWorldCreate();
    dBodyID body[N];
    double widest = 0, kinetic[2] = {0};
    for (int i = 0; i < N; i++) {
        dMass m;
        double x = i - (N - 1) / 2.0;
        dMassSetSphereTotal(&m, i % (N - 1) ? 1 : 1000, 0.05);
        body[i] = dBodyCreate(world);
        dBodySetMass(body[i], &m);
        dBodySetPosition(body[i], x, 0, 0);
        dBodySetLinearVel(body[i], 0, turn / step * x, 0);
        if (i > 0) {
            dJointID joint = dJointCreateDBall(world, 0);
            dJointAttach(joint, body[i - 1], body[i]);
            dJointSetDBallAnchor1(joint, x - 1, 0, 0);
            dJointSetDBallAnchor2(joint, x, 0, 0);
        }
        kinetic[0] += kinetic_energy(body[i]);
    }
    for (int n = 0; n < 100; n++) {
        dWorldStep(world, step);
        for (int i = 1; i < N; i++) {
            dVector3 apart;
            dSubtractVectors3(apart, dBodyGetPosition(body[i]), dBodyGetPosition(body[i - 1]));
            widest = fmax(widest, fabs(dCalcVectorLength3(apart) - 1));
        }
    }
    for (int i = 0; i < N; i++) {
        kinetic[1] += kinetic_energy(body[i]);
    }
    dWorldDestroy(world);
    ck_assert_double_lt(widest, 2 * (sqrt(1 + turn * turn) - 1));
    ck_assert_double_lt(kinetic[1], kinetic[0]);
    ck_assert_double_gt(kinetic[1], 0.3 * kinetic[0]);
}
END_TEST

// Something without mass stands in the way of a point of the body, and throws it back.
static void throw_back(const pendulum *p, const double point[3], dJointGroupID group)
{
    dVector3 v;
    dContact contact = {.surface = {.mode = dContactBounce, .bounce = 1}};
    dBodyGetRelPointPos(p->body, point[0], point[1], point[2], contact.geom.pos);
    dBodyGetRelPointVel(p->body, point[0], point[1], point[2], v);
    const double speed = sqrt(dCalcVectorDot3(v, v));
    for (int k = 0; k < 3; k++) {
        contact.geom.normal[k] = -v[k] / speed;
    }
    dJointAttach(dJointCreateContact(p->world, group, &contact), p->body, 0);
}

// Bodies that whirl by up to 7 rad a step and are thrown back every few steps. Their joint opens as
// far as it is long, so that mending it brings in some. With the inertia that holds joints under
// load, what throws them back would double their energy again and again, to 1e18 times.
START_TEST(rebounds_on_a_joint_win_little)
{
    chance c = {(uint64_t)_i + 1};
    double point[3], turn = chance_power(&c, 0.5, 2), step = chance_between(&c, 0.002, 0.02);
    pendulum p = hang(dJointTypeBall, chance_between(&c, 0.05, 0.3), turn, false);
    dJointGroupID group = dJointGroupCreate(0);
    int every = 2 + (int)chance_between(&c, 0, 3);
    double most = 0, y = chance_between(&c, -0.3, 0.3) * turn;
    for (int k = 0; k < 3; k++) {
        point[k] = chance_between(&c, -0.3, 0.3);
    }
    dWorldSetGravity(p.world, 0, 0, 0);
    dBodySetAngularVel(p.body, 0.2 * turn, turn, y);
    dBodySetLinearVel(p.body, 0, y * length, -turn * length);
    double first = energy(&p, 0);
    for (int i = 1; i <= 60; i++) {
        if (i % every == 0) {
            throw_back(&p, point, group);
        }
        dWorldStep(p.world, step);
        dJointGroupEmpty(group);
        most = fmax(most, energy(&p, 0));
    }
    ck_assert_double_lt(most, 1.2 * first);
    dJointGroupDestroy(group);
    dWorldDestroy(p.world);
}
END_TEST

// ---- winches and springs

// A load of 20 kg on four light links of 0.2 kg, with a ball above that the program hoists: by the
// anchor of its joint, by the stop of a slider, by a body that it moves; or as the tip of a boom,
// by the stop of its hinge, or by a mast that it turns.
typedef enum winch_kind { BY_ANCHOR, BY_STOP, BY_BODY, BY_BOOM, BY_MAST } winch_kind;

static const double boom = 1; // m

typedef struct winch {
    dWorldID world;
    dBodyID top, load, mast;
    dJointID joint;
} winch;

static dBodyID add_ball(dWorldID world, double mass, double z)
{
    dMass m;
    dBodyID body = dBodyCreate(world);
    dMassSetSphereTotal(&m, mass, 0.05);
    dBodySetMass(body, &m);
    dBodySetPosition(body, 0, 0, z);
    return body;
}

static dBodyID hang_on_links(dWorldID world, dBodyID above, double z, double mass)
{
    enum { LINKS = 4 };
    for (int i = 0; i <= LINKS; i++) {
        dBodyID body = add_ball(world, i < LINKS ? 0.2 : mass, z - (i < LINKS ? 0.1 : 0.05));
        dJointID joint = dJointCreateBall(world, 0);
        dJointAttach(joint, body, above);
        dJointSetBallAnchor(joint, 0, 0, z);
        above = body;
        z -= 0.2;
    }
    return above;
}

static winch make_winch(winch_kind kind)
{
    winch w = {.world = dWorldCreate()};
    dWorldSetGravity(w.world, 0, 0, -gravity);
    w.top = add_ball(w.world, 0.2, 0);
    if (kind == BY_ANCHOR) {
        w.joint = dJointCreateBall(w.world, 0);
        dJointAttach(w.joint, w.top, 0);
        dJointSetBallAnchor(w.joint, 0, 0, 0);
    } else if (kind == BY_STOP) {
        w.joint = dJointCreateSlider(w.world, 0);
        dJointAttach(w.joint, w.top, 0);
        dJointSetSliderAxis(w.joint, 0, 0, 1);
        dJointSetSliderParam(w.joint, dParamLoStop, 0);
    } else if (kind == BY_BODY) {
        dBodySetKinematic(w.top);
    } else {
        dBodySetPosition(w.top, -boom / 2, 0, 0);
        dMass m;
        dMassSetBoxTotal(&m, 2, boom, 0.1, 0.1);
        dBodySetMass(w.top, &m);
        if (kind == BY_BOOM) {
            w.joint = dJointCreateHinge(w.world, 0);
            dJointAttach(w.joint, w.top, 0);
            dJointSetHingeAnchor(w.joint, -boom, 0, 0);
            dJointSetHingeAxis(w.joint, 0, -1, 0);
            dJointSetHingeParam(w.joint, dParamLoStop, 0);
        } else {
            w.mast = add_ball(w.world, 1, 0);
            dBodySetPosition(w.mast, -boom, 0, 0);
            dBodySetKinematic(w.mast);
            w.joint = dJointCreateFixed(w.world, 0);
            dJointAttach(w.joint, w.top, w.mast);
            dJointSetFixed(w.joint);
        }
    }
    w.load = hang_on_links(w.world, w.top, 0, 20);
    return w;
}

static void hoist(const winch *w, winch_kind kind, double height)
{
    if (kind == BY_ANCHOR) {
        dJointSetBallAnchor2(w->joint, 0, 0, height);
    } else if (kind == BY_STOP) {
        dJointSetSliderParam(w->joint, dParamLoStop, height);
    } else if (kind == BY_BODY) {
        dBodySetPosition(w->top, 0, 0, height);
    } else if (kind == BY_BOOM) {
        dJointSetHingeParam(w->joint, dParamLoStop, asin(height / boom));
    } else {
        dMatrix3 turned;
        dRFromAxisAndAngle(turned, 0, -1, 0, asin(height / boom));
        dBodySetRotation(w->mast, turned);
    }
}

// The load follows, five steps late by ODE's ERP of 0.2. A stop does not hold it back: it flies up
// where the hoisting ends.
START_TEST(winches_hoist)
{
    static const double steps[] = {0.001, 0.01, 1.0 / 60}, speed = 0.3;
    const winch_kind kind = (winch_kind)(_i / 3);
    const double step = steps[_i % 3];
    winch w = make_winch(kind);
    const double start = dBodyGetPosition(w.load)[2];
    for (double t = 0; t < 1.6; t += step) {
        const double height = speed * fmin(fmax(t - 0.3, 0), 0.8);
        hoist(&w, kind, height);
        dWorldStep(w.world, step);
        const double late = start + height - dBodyGetPosition(w.load)[2];
        ck_assert_double_le(late, 5 * speed * step + 1e-3);
        ck_assert_double_ge(late, -speed * speed / (2 * gravity) - 1e-3);
    }
    ck_assert_double_eq_tol(dBodyGetPosition(w.load)[2], start + 0.8 * speed, 1e-3);
    dWorldDestroy(w.world);
}
END_TEST

// A load on a cable of twelve thin links is thrown up and falls back: the cable jerks tight, and
// holds. Joints exert no torque about the axis of such a link, so none spins. With forces that turn
// the links among those that load them, these came to spin by 1 to 100 rad/s, and in longer runs by
// 4 rad a step: then joints stayed apart by 0.1 to 0.9 m.
START_TEST(jerks_spin_no_link)
{
    enum { LINKS = 12 };
    static const double steps[] = {0.005, 0.01, 1.0 / 60}, loads[] = {50, 200, 500};
    const double step = steps[_i % 3], length = 1.0 / 6, radius = 0.02;
    dWorldID world = dWorldCreate();
    dWorldSetGravity(world, 0, 0, -gravity);
    dMass m;
    dMassSetCapsuleTotal(&m, 0.3, 3, radius, length - 2 * radius);
    dBodyID link[LINKS], above = 0, load = add_ball(world, loads[_i / 3], -LINKS * length - 0.4);
    dJointID joint[LINKS + 1];
    for (int i = 0; i <= LINKS; i++) {
        dBodyID body = i < LINKS ? link[i] = dBodyCreate(world) : load;
        if (i < LINKS) {
            dBodySetMass(body, &m);
            dBodySetPosition(body, 0, 0, -(i + 0.5) * length);
            dBodySetLinearVel(body, 0.3 * sin(i), 0.3 * cos(2 * i), 0);
        }
        joint[i] = dJointCreateBall(world, 0);
        dJointAttach(joint[i], body, above);
        dJointSetBallAnchor(joint[i], 0, 0, -i * length);
        above = body;
    }
    dBodySetLinearVel(load, 0.2, 0, 1.5);
    double spin = 0, widest = 0;
    for (double t = 0; t < 6; t += step) {
        dWorldStep(world, step);
        for (int i = 0; i < LINKS; i++) {
            dVector3 axis;
            dBodyVectorToWorld(link[i], 0, 0, 1, axis);
            spin = fmax(spin, fabs(dCalcVectorDot3(axis, dBodyGetAngularVel(link[i]))));
        }
        for (int i = 0; i <= LINKS && t > 3; i++) {
            widest = fmax(widest, joint_gap(joint[i]));
        }
    }
    ck_assert_double_lt(spin, 0.5);
    ck_assert_double_lt(widest, 0.002);
    dWorldDestroy(world);
}
END_TEST

// A load of 50 kg on a light rod, let go below rest on a spring (5000 N/m) that an ERP and a CFM
// make of a ball joint. It swings as under stock: an implicit step damps it.
START_TEST(springs_carry_loads)
{
    enum { SWINGS = 2, STEPS = 120 };
    const double step = 0.01, stiffness = 5000, damping = 50;
    double height[SWINGS][STEPS];
    for (int i = 0; i < SWINGS; i++) {
        dWorldID world = dWorldCreate();
        dWorldSetGravity(world, 0, 0, -gravity);
        sprag_world_configure(world, i ? "" : "method=ode");
        dWorldSetERP(world, step * stiffness / (step * stiffness + damping));
        dWorldSetCFM(world, 1e-10);
        dBodyID rod = add_ball(world, 0.2, -0.1), load = add_ball(world, 50, -0.2);
        dJointID spring = dJointCreateBall(world, 0), hook = dJointCreateBall(world, 0);
        dJointAttach(spring, rod, 0);
        dJointSetBallAnchor(spring, 0, 0, 0);
        dJointSetBallParam(spring, dParamCFM, 1 / (step * stiffness + damping));
        dJointAttach(hook, load, rod);
        dJointSetBallAnchor(hook, 0, 0, -0.2);
        dBodySetPosition(rod, 0, 0, -0.4);
        dBodySetPosition(load, 0, 0, -0.5);
        for (int k = 0; k < STEPS; k++) {
            dWorldStep(world, step);
            height[i][k] = dBodyGetPosition(load)[2];
        }
        dWorldDestroy(world);
    }
    double highest = -1;
    for (int k = 0; k < STEPS; k++) {
        ck_assert_double_eq_tol(height[1][k], height[0][k], 1e-6);
        highest = fmax(highest, height[1][k]);
    }
    ck_assert_double_gt(highest, -0.2); // above rest, at -0.298
}
END_TEST

static double height_on_stop(const char *options, double erp, double cfm)
{
    winch w = make_winch(BY_STOP);
    sprag_world_configure(w.world, options);
    dJointSetSliderParam(w.joint, dParamLoStop, -0.3);
    dJointSetSliderParam(w.joint, dParamStopERP, erp);
    dJointSetSliderParam(w.joint, dParamStopCFM, cfm);
    for (int i = 0; i < 400; i++) {
        dWorldStep(w.world, 0.01);
    }
    const double height = dBodyGetPosition(w.load)[2];
    dWorldDestroy(w.world);
    return height;
}

// A load falls by 30 cm, until a stop catches the top of its links. It passes the stop, hard or
// soft, and comes back to rest on it, as under stock.
START_TEST(stops_catch_loads)
{
    static const double erp[] = {0.2, 0.8}, cfm[] = {1e-10, 2e-5, 1e-3};
    const double stock = height_on_stop("method=ode", erp[_i % 2], cfm[_i / 2]);
    ck_assert_double_eq_tol(height_on_stop("", erp[_i % 2], cfm[_i / 2]), stock, 1e-4);
}
END_TEST

// ---- loads that fall

// Chains of rods of 0.1 kg and 0.2 m, almost level, with 20 kg at the end.
typedef enum fall_kind { CAPPED, MENDED_SLOWLY, ON_SOFT_STOPS } fall_kind;

enum { RODS_MAX = 8 };

typedef struct fall {
    dWorldID world;
    dBodyID rod[RODS_MAX];
    int rods;
    double step;
} fall;

static const double rod_length = 0.2; // m

// start, end: of the rod below.
static void hang_rod(const fall *f, fall_kind kind, int i, const double start[3],
                     const double end[3])
{
    dJointID joint;
    dBodyID rod = f->rod[i], above = i ? f->rod[i - 1] : 0;
    const double middle[3] = {(start[0] + end[0]) / 2, 0, (start[2] + end[2]) / 2},
                 way[3] = {end[0] - start[0], 0, end[2] - start[2]};
    if (kind == MENDED_SLOWLY) { // from where the rod is to where the one above is
        joint = dJointCreateDBall(f->world, 0);
        dJointAttach(joint, above, rod);
        dJointSetDBallAnchor1(joint, middle[0], 0, middle[2]);
        dJointSetDBallAnchor2(joint, middle[0] - (i ? way[0] : way[0] / 2), 0,
                              middle[2] - (i ? way[2] : way[2] / 2));
    } else if (kind == ON_SOFT_STOPS && i % 2) {
        joint = dJointCreateSlider(f->world, 0);
        dJointAttach(joint, rod, above);
        dJointSetSliderAxis(joint, way[0], 0, way[2]);
        dJointSetSliderParam(joint, dParamLoStop, -0.05);
        dJointSetSliderParam(joint, dParamHiStop, 0.05);
    } else {
        joint = dJointCreateBall(f->world, 0);
        dJointAttach(joint, rod, above);
        dJointSetBallAnchor(joint, start[0], 0, start[2]);
    }
}

static fall let_fall(fall_kind kind, double slope)
{
    fall f = {.world = dWorldCreate(),
              .rods = kind == CAPPED ? 5 : RODS_MAX,
              .step = kind == ON_SOFT_STOPS ? 1 / 60.0 : 0.01};
    dWorldSetGravity(f.world, 0, 0, -gravity);
    dWorldSetERP(f.world, kind == ON_SOFT_STOPS ? 0.8 : 0.2);
    dWorldSetCFM(f.world, kind == ON_SOFT_STOPS ? 1e-5 : 1e-10);
    double start[3] = {0}, end[3] = {0};
    for (int i = 0; i < f.rods; i++) {
        dMass m;
        dMatrix3 R;
        end[0] += rod_length * cos(slope), end[2] -= rod_length * sin(slope);
        const bool last = i == f.rods - 1;
        dMassSetBoxTotal(&m, last ? 20 : 0.1, last ? 0.2 : 0.05, last ? 0.2 : 0.05, rod_length);
        dBodyID rod = f.rod[i] = dBodyCreate(f.world);
        dBodySetMass(rod, &m);
        dBodySetPosition(rod, (start[0] + end[0]) / 2, 0, (start[2] + end[2]) / 2);
        dRFromAxisAndAngle(R, 0, 1, 0, M_PI / 2 + slope);
        dBodySetRotation(rod, R);
        if (kind == CAPPED) {
            dBodySetMaxAngularSpeed(rod, 3);
        }
        hang_rod(&f, kind, i, start, end);
        start[0] = end[0], start[2] = end[2];
    }
    dWorldSetERP(f.world, kind == CAPPED ? 0.2 : 0.8); // joints keep the world's of their start
    return f;
}

// J; velocities are those of the middle of a step.
static double energy_of_fall(const fall *f)
{
    double sum = 0;
    for (int i = 0; i < f->rods; i++) {
        dMass m;
        dBodyGetMass(f->rod[i], &m);
        const double height =
            dBodyGetPosition(f->rod[i])[2] - f->step / 2 * dBodyGetLinearVel(f->rod[i])[2];
        sum += kinetic_energy(f->rod[i]) + m.mass * gravity * height;
    }
    return sum;
}

// What ODE does to the turns after the solve, an ERP of the joints below the world's, and stops as
// soft as the world's CFM: nothing of it counts as opened by the program, or as a spring's. Under
// stock they win hundreds of times the way down.
START_TEST(loads_fall_and_win_nothing)
{
    const fall_kind kind = (fall_kind)(_i / 4);
    fall f = let_fall(kind, 0.05 * (_i % 4));
    const double first = energy_of_fall(&f), all = 20 * gravity * f.rods * rod_length;
    for (int i = 0; i * f.step < 5; i++) {
        dWorldStep(f.world, f.step);
        ck_assert_double_lt(energy_of_fall(&f) - first, 0.01 * all);
    }
    dWorldDestroy(f.world);
}
END_TEST

// What a small cube on a long arm weighs at once is more than the last forces tell: its joint
// is solved again, by the forces of the solution.
START_TEST(a_sudden_load_wins_little)
{
    static const struct {
        double step, down, turn;
    } cases[] = {{0.01, 150, 3}, {0.01, 150, 6}, {1.0 / 60, 50, 3}, {1.0 / 60, 50, 6}};
    const double step = cases[_i].step, down = cases[_i].down;
    double most = 0;
    pendulum p = hang(dJointTypeBall, 0.05, -cases[_i].turn, false);
    dWorldSetGravity(p.world, 0, 0, 0);
    for (int i = 0; i < 20; i++) {
        dWorldStep(p.world, step);
    }
    dWorldSetGravity(p.world, 0, 0, -down);
    const double first = energy(&p, step);
    for (int i = 0; i < 400; i++) {
        dWorldStep(p.world, step);
        most = fmax(most, energy(&p, step) - first);
    }
    dWorldDestroy(p.world);
    ck_assert_double_lt(most, 0.02 * down * length);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("swings");
    dInitODE2(0);
    ADD_TESTS(suite, "joints", {swings_keep_their_energy, 3}, {whirls_keep_their_energy, 1},
              {whirls_under_load_win_nothing, 1}, {rebounds_on_a_joint_win_little, 300},
              {fast_bolas_do_not_collapse, 2});
    ADD_TESTS(suite, "loads", {winches_hoist, 15}, {jerks_spin_no_link, 9},
              {springs_carry_loads, 1}, {stops_catch_loads, 6}, {loads_fall_and_win_nothing, 12},
              {a_sudden_load_wins_little, 4});
    return run_suite(suite);
}
