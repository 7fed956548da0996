// Rows of contact surfaces, in the order of contact.h and of what the world says of contacts.
#include "surfaces.h"

// ---- mu

enum { LOADS = 4, ANGLES = 3 };

static void friction_cone(support_run *run)
{
    for (int i = 0; i < LOADS; i++) {
        for (int k = 0; k < ANGLES; k++) {
            scene *s = scene_open(run, NULL);
            dBodyID block = scene_block_on_plane(s);
            s->contact.surface.mu = MU;
            for (int n = 0; n < STEPS; n++) {
                push(block, load[i] * MU * MASS * G, angle[k]);
                scene_step(s);
            }
            support_report_vector(run, dBodyGetLinearVel(block));
            scene_close(s);
        }
    }
}

static void friction_cone_expected(support_run *run)
{
    for (int i = 0; i < LOADS; i++) {
        for (int k = 0; k < ANGLES; k++) {
            double speed = fmax(0, load[i] - 1) * MU * G * STEPS * H;
            dVector3 v = {speed * cos(angle[k]), speed * sin(angle[k]), 0};
            support_report_vector(run, v);
        }
    }
}

// From 2 m/s at several angles: speed after a quarter of a second, and where it has stopped.
static void sliding_stop(support_run *run)
{
    for (int k = 0; k < ANGLES; k++) {
        scene *s = scene_open(run, NULL);
        dBodyID block = scene_block_on_plane(s);
        s->contact.surface.mu = MU;
        dBodySetLinearVel(block, 2 * cos(angle[k]), 2 * sin(angle[k]), 0);
        scene_run(s, 25);
        support_report_vector(run, dBodyGetLinearVel(block));
        scene_run(s, 25);
        support_report(run, hypot(dBodyGetPosition(block)[0], dBodyGetPosition(block)[1]));
        support_report_vector(run, dBodyGetLinearVel(block));
        scene_close(s);
    }
}

static void sliding_stop_expected(support_run *run)
{
    for (int k = 0; k < ANGLES; k++) {
        double speed = 2 - MU * G * 0.25;
        dVector3 v = {speed * cos(angle[k]), speed * sin(angle[k]), 0}, rest = {0};
        support_report_vector(run, v);
        support_report(run, 2 * 2 / (2 * MU * G));
        support_report_vector(run, rest);
    }
}

static void soft_sliding(support_run *run)
{
    for (int k = 0; k < ANGLES; k++) {
        scene *s = scene_open(run, NULL);
        dBodyID block = scene_block_on_plane(s);
        soften(s);
        s->contact.surface.mu = MU;
        dBodySetPosition(block, 0, 0, 0.1 - MASS * G / 4e5);
        dBodySetLinearVel(block, 2 * cos(angle[k]), 2 * sin(angle[k]), 0);
        scene_run(s, 25);
        support_report_vector(run, dBodyGetLinearVel(block));
        support_report(run, hypot(dBodyGetPosition(block)[0], dBodyGetPosition(block)[1]));
        scene_close(s);
    }
}

static void soft_sliding_expected(support_run *run)
{
    for (int k = 0; k < ANGLES; k++) {
        double speed = 2 - MU * G * 0.25;
        dVector3 v = {speed * cos(angle[k]), speed * sin(angle[k]), 0};
        support_report_vector(run, v);
        support_report(run, 2 * 0.25 - MU * G * 0.25 * 0.25 / 2);
    }
}

static void no_friction(support_run *run)
{
    static const double mu[] = {0, -1};
    for (int i = 0; i < 2; i++) {
        scene *s = scene_open(run, NULL);
        dBodyID block = scene_block_on_plane(s);
        s->contact.surface.mu = mu[i];
        dBodySetLinearVel(block, 1, 2, 0);
        scene_run(s, STEPS);
        support_report_vector(run, dBodyGetLinearVel(block));
        scene_close(s);
    }
}

static void no_friction_expected(support_run *run)
{
    for (int i = 0; i < 2; i++) {
        dVector3 v = {1, 2, 0};
        support_report_vector(run, v);
    }
}

static void infinite_friction(support_run *run)
{
    for (int k = 0; k < ANGLES; k++) {
        scene *s = scene_open(run, NULL);
        dBodyID block = scene_block_on_plane(s);
        s->contact.surface.mu = dInfinity;
        for (int n = 0; n < STEPS; n++) {
            push(block, 20 * MASS * G, angle[k]);
            scene_step(s);
        }
        support_report_vector(run, dBodyGetLinearVel(block));
        scene_close(s);
    }
}

static void rest_expected(support_run *run)
{
    for (int k = 0; k < ANGLES; k++) {
        dVector3 rest = {0};
        support_report_vector(run, rest);
    }
}

// ---- mu2, fdir1, dContactApprox1: how fast it slows down along each of two directions

static double slowed(scene *s, double x, double y)
{
    dBodyID block = scene_block_on_plane(s);
    dBodySetLinearVel(block, 4 * x, 4 * y, 0);
    scene_run(s, 20);
    const dReal *v = dBodyGetLinearVel(block);
    double rate = (4 - (v[0] * x + v[1] * y)) / (20 * H);
    scene_close(s);
    return rate;
}

// Without fdir1 the first direction is dPlaneSpace's, for this plane -y.
static void two_coefficients(support_run *run)
{
    for (int axis = 0; axis < 2; axis++) {
        scene *s = scene_open(run, NULL);
        s->contact.surface.mode |= dContactMu2;
        s->contact.surface.mu = 0.2;
        s->contact.surface.mu2 = 0.6;
        support_report(run, slowed(s, axis, !axis));
    }
}

static void two_coefficients_expected(support_run *run)
{
    support_report(run, 0.2 * G);
    support_report(run, 0.6 * G);
}

static void first_direction(support_run *run)
{
    static const double c = 0.8, d = 0.6;
    for (int axis = 0; axis < 2; axis++) {
        scene *s = scene_open(run, NULL);
        s->contact.surface.mode |= dContactMu2 | dContactFDir1;
        s->contact.surface.mu = 0.2;
        s->contact.surface.mu2 = 0.6;
        s->contact.fdir1[0] = c;
        s->contact.fdir1[1] = d;
        support_report(run, axis ? slowed(s, -d, c) : slowed(s, c, d));
    }
}

// Zero, too long, out of the plane: friction that is the same along both axes knows no direction.
static void odd_direction(support_run *run)
{
    static const dVector3 odd[] = {{0, 0, 0}, {3, 4, 0}, {0, 0, 1}, {0.8, 0.6, 5}};
    for (int i = 0; i < 4; i++) {
        scene *s = scene_open(run, NULL);
        s->contact.surface.mode |= dContactFDir1;
        s->contact.surface.mu = MU;
        memcpy(s->contact.fdir1, odd[i], sizeof odd[i]);
        support_report(run, slowed(s, 0.8, 0.6));
        if (i % 2) { // along it
            double along = i == 1 ? 0.6 : 0.8, across = 1.4 - along;
            s = scene_open(run, NULL);
            s->contact.surface.mode |= dContactFDir1 | dContactMu2;
            s->contact.surface.mu = 0.2;
            s->contact.surface.mu2 = 0.6;
            memcpy(s->contact.fdir1, odd[i], sizeof odd[i]);
            support_report(run, slowed(s, along, across));
        }
    }
}

static void odd_direction_expected(support_run *run)
{
    for (int i = 0; i < 4; i++) {
        support_report(run, MU * G);
        if (i % 2) {
            support_report(run, 0.2 * G);
        }
    }
}

// Along an axis without its bit mu is a force, of each contact.
static void approximations(support_run *run)
{
    static const int mode[] = {dContactApprox1, dContactApprox1_1, dContactApprox1_2,
                               dContactApprox0};
    for (int i = 0; i < 4; i++) {
        for (int axis = 0; axis < 2; axis++) {
            scene *s = scene_open(run, NULL);
            s->contact.surface.mode = mode[i] | dContactFDir1;
            s->contact.surface.mu = MU;
            s->contact.fdir1[0] = 1;
            support_report(run, slowed(s, !axis, axis));
        }
    }
}

static void approximations_expected(support_run *run)
{
    const double share = MU * G, force = 4 * MU / MASS;
    const double rate[] = {share, share, share, force, force, share, force, force};
    for (int i = 0; i < 8; i++) {
        support_report(run, rate[i]);
    }
}

// ---- bounce

static double rebound(const support_run *run, bool flat, double bounce, double least, double speed)
{
    scene *s = scene_open(run, NULL);
    dWorldSetGravity(s->world, 0, 0, 0);
    dCreatePlane(s->space, 0, 0, 1, 0);
    dGeomID geom = flat ? dCreateBox(s->space, 0.4, 0.4, 0.2) : dCreateSphere(s->space, 0.1);
    dBodyID ball = scene_body(s, geom, 0, 0, 0.15);
    s->contact.surface.mode |= dContactBounce;
    s->contact.surface.bounce = bounce;
    s->contact.surface.bounce_vel = least;
    dBodySetLinearVel(ball, 0.5, 0, -speed);
    scene_run(s, 20);
    double out = dBodyGetLinearVel(ball)[2];
    scene_close(s);
    return out;
}

static const double restitution[] = {0.2, 0.3, 0.8, 1};

enum { RESTITUTIONS = sizeof restitution / sizeof restitution[0] };

// A ball, and a block on four corners.
static void bouncing(support_run *run)
{
    for (int i = 0; i < 2 * RESTITUTIONS; i++) {
        support_report(run, rebound(run, i & 1, restitution[i / 2], 0.1, 2));
    }
}

static void bouncing_expected(support_run *run)
{
    for (int i = 0; i < 2 * RESTITUTIONS; i++) {
        support_report(run, restitution[i / 2] * 2);
    }
}

// Slower than bounce_vel, and with a bounce_vel below 0, that ODE takes for none.
static void bounce_threshold(support_run *run)
{
    support_report(run, rebound(run, false, 0.8, 1, 1.1));
    support_report(run, rebound(run, false, 0.8, 1, 0.9));
    support_report(run, rebound(run, false, 0.8, -1, 0.9));
}

static void bounce_threshold_expected(support_run *run)
{
    support_report(run, 0.8 * 1.1);
    support_report(run, 0);
    support_report(run, 0);
}

// ---- the normal: ERP, CFM, layer, correcting speed

static const double softness[][2] = {{0.2, 1e-3}, {0.8, 1e-2}, {0.5, 1e-4}}; // ERP, CFM

static void soft_contact(support_run *run)
{
    for (int i = 0; i < 3; i++) {
        scene *s = scene_open(run, NULL);
        s->contact.surface.mode |= dContactSoftERP | dContactSoftCFM;
        s->contact.surface.soft_erp = softness[i][0];
        s->contact.surface.soft_cfm = softness[i][1];
        support_report(run, sunk(s) * 1e3);
    }
}

// h F CFM / ERP, in mm
static void soft_contact_expected(support_run *run)
{
    for (int i = 0; i < 3; i++) {
        support_report(run, MASS * G * H * softness[i][1] / softness[i][0] * 1e3);
    }
}

static void soft_world(support_run *run)
{
    for (int i = 0; i < 3; i++) {
        scene *s = scene_open(run, NULL);
        dWorldSetERP(s->world, softness[i][0]);
        dWorldSetCFM(s->world, softness[i][1]);
        support_report(run, sunk(s) * 1e3);
    }
}

static void surface_layer(support_run *run)
{
    static const double depth[] = {0.005, 0.01, 0.02};
    for (int i = 0; i < 3; i++) {
        scene *s = scene_open(run, NULL);
        dBodyID block = scene_block_on_plane(s);
        dWorldSetContactSurfaceLayer(s->world, 0.01);
        dBodySetPosition(block, 0, 0, 0.1 - depth[i]);
        scene_run(s, 100);
        support_report(run, 0.1 - dBodyGetPosition(block)[2]);
        scene_close(s);
    }
}

// Bodies within the layer stay there; deeper ones rise to it.
static void surface_layer_expected(support_run *run)
{
    support_report(run, 0.005);
    support_report(run, 0.01);
    support_report(run, 0.01);
}

static void soft_layer(support_run *run)
{
    for (int i = 0; i < 2; i++) {
        scene *s = scene_open(run, NULL);
        dWorldSetContactSurfaceLayer(s->world, 0.01);
        s->contact.surface.mode |= dContactSoftERP | dContactSoftCFM;
        s->contact.surface.soft_erp = softness[i][0];
        s->contact.surface.soft_cfm = softness[i][1];
        support_report(run, sunk(s) * 1e3);
    }
}

static void soft_layer_expected(support_run *run)
{
    for (int i = 0; i < 2; i++) {
        support_report(run, 10 + MASS * G * H * softness[i][1] / softness[i][0] * 1e3);
    }
}

// Returns the speed at which a block leaves the plane that it overlaps by 1 cm.
static double pushed_out(const support_run *run, double erp, double most, int steps)
{
    scene *s = scene_open(run, NULL);
    dWorldSetGravity(s->world, 0, 0, 0);
    dWorldSetERP(s->world, erp);
    dWorldSetContactMaxCorrectingVel(s->world, most);
    dBodyID block = scene_block_on_plane(s);
    dBodySetPosition(block, 0, 0, 0.09);
    scene_run(s, steps);
    double speed = (dBodyGetPosition(block)[2] - 0.09) / (steps * H);
    scene_close(s);
    return speed;
}

static void recovery(support_run *run)
{
    static const double erp[] = {0.1, 0.2, 0.8};
    for (int i = 0; i < 3; i++) {
        support_report(run, pushed_out(run, erp[i], dInfinity, 1));
    }
}

static void recovery_expected(support_run *run)
{
    support_report(run, 0.1);
    support_report(run, 0.2);
    support_report(run, 0.8);
}

static void correcting_speed(support_run *run)
{
    support_report(run, pushed_out(run, 0.5, 0.05, 1));
    support_report(run, pushed_out(run, 0.5, 0.05, 10));
}

static void correcting_speed_expected(support_run *run)
{
    support_report(run, 0.05);
    support_report(run, 0.05);
}

// ---- moving surfaces, slip

static void moving_surface(support_run *run)
{
    for (int i = 0; i < 8; i++) {
        int axis = i & 1;
        scene *s = scene_open(run, NULL);
        dBodyID block = i & 4 ? scene_block(s, 0, 0) : scene_block_on_plane(s);
        if (i & 4) {
            dCreatePlane(s->space, 0, 0, 1, 0);
        }
        s->turned = i & 2;
        s->contact.surface.mode |= dContactFDir1 | (axis ? dContactMotion2 : dContactMotion1);
        s->contact.surface.mu = MU;
        s->contact.surface.motion1 = s->contact.surface.motion2 = 1;
        s->contact.fdir1[0] = 1;
        scene_run(s, 10);
        support_report_vector(run, dBodyGetLinearVel(block));
        scene_run(s, 40);
        support_report_vector(run, dBodyGetLinearVel(block));
        scene_close(s);
    }
}

static void moving_surface_expected(support_run *run)
{
    for (int i = 0; i < 8; i++) {
        dVector3 start = {0}, end = {0};
        start[i & 1] = MU * G * 10 * H;
        end[i & 1] = 1;
        support_report_vector(run, start);
        support_report_vector(run, end);
    }
}

// Its normal speed, while it touches.
static void moving_normal(support_run *run)
{
    static const double speed[] = {0.05, 0.5};
    for (int i = 0; i < 2; i++) {
        scene *s = scene_open(run, NULL);
        dBodyID block = scene_block_on_plane(s);
        s->contact.surface.mode |= dContactMotionN;
        s->contact.surface.motionN = speed[i];
        scene_step(s);
        support_report_vector(run, dBodyGetLinearVel(block));
        scene_close(s);
    }
}

static void moving_normal_expected(support_run *run)
{
    dVector3 slow = {0, 0, 0.05}, fast = {0, 0, 0.5};
    support_report_vector(run, slow);
    support_report_vector(run, fast);
}

static const double share[] = {0.2, 0.8}; // of the friction

// Under a force it creeps, at slip times the force on the contact.
static void force_dependent_slip(support_run *run)
{
    for (int i = 0; i < 4; i++) {
        int axis = i & 1;
        scene *s = scene_open(run, NULL);
        dBodyID ball = scene_body(s, dCreateSphere(s->space, 0.1), 0, 0, 0.1);
        dCreatePlane(s->space, 0, 0, 1, 0);
        s->contact.surface.mode |= dContactFDir1 | dContactSlip1 | dContactSlip2;
        s->contact.surface.mu = 1;
        s->contact.surface.slip1 = 0.05;
        s->contact.surface.slip2 = 0.1;
        s->contact.fdir1[0] = 1;
        for (int n = 0; n < 10 * STEPS; n++) {
            push(ball, share[i / 2] * MASS * G, axis * acos(0));
            scene_step(s);
        }
        support_report_vector(run, dBodyGetLinearVel(ball));
        scene_close(s);
    }
}

static void force_dependent_slip_expected(support_run *run)
{
    for (int i = 0; i < 4; i++) {
        dVector3 v = {0};
        v[i & 1] = (i & 1 ? 0.1 : 0.05) * share[i / 2] * MASS * G;
        support_report_vector(run, v);
    }
}

// As rails and sledges have it: held along one axis, free along the other.
static void infinite_and_none(support_run *run)
{
    for (int axis = 0; axis < 2; axis++) {
        scene *s = scene_open(run, NULL);
        dBodyID block = scene_block_on_plane(s);
        s->contact.surface.mode |= dContactFDir1 | dContactMu2;
        s->contact.surface.mu = axis ? 0 : dInfinity;
        s->contact.surface.mu2 = axis ? dInfinity : 0;
        s->contact.fdir1[0] = 1;
        for (int n = 0; n < STEPS; n++) {
            push(block, 4, 0.3);
            scene_step(s);
        }
        support_report_vector(run, dBodyGetLinearVel(block));
        scene_close(s);
    }
}

static void infinite_and_none_expected(support_run *run)
{
    dVector3 first = {0, 4 * sin(0.3) / MASS * STEPS * H, 0};
    dVector3 second = {4 * cos(0.3) / MASS * STEPS * H, 0, 0};
    support_report_vector(run, first);
    support_report_vector(run, second);
}

// As cars have it: slip under unbounded friction.
static void slip_of_cars(support_run *run)
{
    scene *s = scene_open(run, NULL);
    dBodyID block = scene_block_on_plane(s);
    s->contact.surface.mode |= dContactSlip1 | dContactSlip2;
    s->contact.surface.mu = dInfinity;
    s->contact.surface.slip1 = s->contact.surface.slip2 = 0.1;
    for (int n = 0; n < 10 * STEPS; n++) {
        push(block, 30, 0.3);
        scene_step(s);
    }
    support_report_vector(run, dBodyGetLinearVel(block));
    scene_close(s);
}

static void slip_of_cars_expected(support_run *run)
{
    const double speed = 0.1 * 30 / 4;
    dVector3 v = {speed * cos(0.3), speed * sin(0.3), 0};
    support_report_vector(run, v);
}

// ---- rolling and spinning friction: rates of what turns on the spot, without sliding friction

static dBodyID turning_block(scene *s, int axis)
{
    dMass mass;
    dBodyID ball = scene_body(s, dCreateSphere(s->space, 0.1), 0, 0, 0.1);
    dCreatePlane(s->space, 0, 0, 1, 0);
    dMassSetParameters(&mass, MASS, 0, 0, 0, 0.1, 0.1, 0.1, 0, 0, 0);
    dBodySetMass(ball, &mass);
    dBodySetAngularVel(ball, 4 * (axis == 0), 4 * (axis == 1), 4 * (axis == 2));
    return ball;
}

static void rolling_friction(support_run *run)
{
    static const int mode[] = {
        dContactApprox1 | dContactRolling, dContactApprox1 | dContactRolling | dContactAxisDep,
        dContactRolling | dContactAxisDep, dContactApprox1_N | dContactRolling};
    for (int i = 0; i < 4; i++) {
        for (int axis = 0; axis < 3; axis++) {
            scene *s = scene_open(run, NULL);
            dBodyID ball = turning_block(s, axis);
            s->contact.surface.mode = mode[i] | dContactFDir1;
            s->contact.surface.rho = 0.01;
            s->contact.surface.rho2 = 0.02;
            s->contact.surface.rhoN = 0.03;
            s->contact.fdir1[0] = 1;
            scene_run(s, 20);
            support_report_vector(run, dBodyGetAngularVel(ball));
            scene_close(s);
        }
    }
}

static void rolling_friction_expected(support_run *run)
{
    const double N = MASS * G;
    const double torque[][3] = {{0.01 * N, 0.01 * N, 0.01 * N},
                                {0.01 * N, 0.02 * N, 0.03 * N},
                                {0.01, 0.02, 0.03},
                                {0.01, 0.01, 0.01 * N}};
    for (int i = 0; i < 4; i++) {
        for (int axis = 0; axis < 3; axis++) {
            dVector3 w = {0};
            w[axis] = 4 - torque[i][axis] / 0.1 * 20 * H;
            support_report_vector(run, w);
        }
    }
}

// A ball that rolls comes to rest.
static void rolling_stop(support_run *run)
{
    scene *s = scene_open(run, NULL);
    dCreatePlane(s->space, 0, 0, 1, 0);
    dBodyID ball = scene_free_body(s, dCreateSphere(s->space, 0.1), 0, 0, 0.1);
    s->contact.surface.mode |= dContactRolling;
    s->contact.surface.mu = 1;
    s->contact.surface.rho = 0.002;
    dBodySetLinearVel(ball, 1, 0, 0);
    dBodySetAngularVel(ball, 0, 10, 0);
    scene_run(s, STEPS);
    support_report_vector(run, dBodyGetLinearVel(ball));
    scene_close(s);
}

static void rolling_stop_expected(support_run *run)
{
    dVector3 v = {1 - 0.02 * G / 1.4 * STEPS * H, 0, 0};
    support_report_vector(run, v);
}

static void infinite_rolling(support_run *run)
{
    for (int axis = 0; axis < 3; axis++) {
        scene *s = scene_open(run, NULL);
        dBodyID ball = turning_block(s, axis);
        s->contact.surface.mode |= dContactRolling;
        s->contact.surface.rho = dInfinity;
        scene_run(s, 20);
        support_report_vector(run, dBodyGetAngularVel(ball));
        scene_close(s);
    }
}

// ---- all of friction again, where contacts are soft

static void soft_friction(support_run *run)
{
    for (int i = 0; i < 5; i++) {
        scene *s = scene_open(run, NULL);
        dBodyID block = scene_block_on_plane(s);
        soften(s);
        s->contact.surface.mode |= dContactFDir1 | dContactMu2;
        s->contact.surface.mu = s->contact.surface.mu2 = 0.6;
        s->contact.surface.motion1 = s->contact.surface.motion2 = 1;
        s->contact.surface.slip1 = s->contact.surface.slip2 = 0.2;
        s->contact.fdir1[0] = 1;
        dBodySetPosition(block, 0, 0, 0.1 - MASS * G / 4e5);
        if (i == 0) {
            s->contact.surface.mu = 0.3;
            dBodySetLinearVel(block, 3, 0, 0);
        } else if (i == 1) {
            s->contact.surface.mode |= dContactMotion1;
        } else if (i == 2) {
            s->contact.surface.mode |= dContactMotion2;
            s->turned = true;
        } else if (i == 3) {
            s->contact.surface.mode &= ~dContactApprox1_1;
            dBodySetLinearVel(block, 3, 0, 0);
        } else {
            s->contact.surface.mode |= dContactSlip1 | dContactSlip2;
        }
        for (int n = 0; n < (i < 4 ? 10 : 500); n++) {
            push(block, i < 4 ? 0 : 2, 0);
            scene_step(s);
        }
        support_report_vector(run, dBodyGetLinearVel(block));
        scene_close(s);
    }
}

static void soft_friction_expected(support_run *run)
{
    const double t = 10 * H;
    const dVector3 v[] = {{3 - 0.3 * G * t, 0, 0},
                          {0.6 * G * t, 0, 0},
                          {0, 0.6 * G * t, 0},
                          {3 - 4 * 0.6 / MASS * t, 0, 0},
                          {0.2 * 2 / 4, 0, 0}};
    for (int i = 0; i < 5; i++) {
        support_report_vector(run, v[i]);
    }
}

const support_row support_surfaces[] = {
    {"`mu`: a block under less force than friction, and more, in several directions",
     friction_cone,
     friction_cone_expected,
     {NEAR(1e-6, SMOOTH), EXACT, NEAR(1e-6, SMOOTH)}},
    {"`mu`: speed of a sliding body, and where it stops",
     sliding_stop,
     sliding_stop_expected,
     {NEAR(0.011, "first order in the step"), NEAR(5e-5, "stops within a third of a step"),
      NEAR(0.011, "first order in the step")}},
    {"`mu` on soft contacts",
     soft_sliding,
     soft_sliding_expected,
     {NEAR(0.007, "first order in the step"), NEAR(3e-5, SMOOTH),
      NEAR_SAYING(0.007, "rigid; first order in the step, with a message", SOFT)}},
    {"`mu` 0 and negative", no_friction, no_friction_expected, {EXACT, EXACT, EXACT}},
    {"`mu = dInfinity`",
     infinite_friction,
     rest_expected,
     {NEAR(1e-8, SMOOTH), NEAR(2e-08, HELD), NEAR(1e-8, SMOOTH)}},
    {"`dInfinity` along one axis, 0 along the other",
     infinite_and_none,
     infinite_and_none_expected,
     {EXACT, EXACT, EXACT}},
    {"`dContactMu2` (`dContactAxisDep`), `mu2`",
     two_coefficients,
     two_coefficients_expected,
     {NEAR(5e-7, SMOOTH), NEAR(5e-09, HELD), NEAR(5e-9, SMOOTH)}},
    {"`dContactFDir1`, `fdir1`",
     first_direction,
     two_coefficients_expected,
     {NEAR(5e-7, SMOOTH), NEAR(5e-09, HELD), NEAR(5e-9, SMOOTH)}},
    {"`fdir1` of any length, not perpendicular, or zero: its direction counts, if any",
     odd_direction,
     odd_direction_expected,
     {NEAR(5e-7, SMOOTH), NEAR(5e-09, HELD), NEAR(5e-9, SMOOTH)}},
    {"`dContactApprox0`, `dContactApprox1_1`, `_2`, `dContactApprox1`",
     approximations,
     approximations_expected,
     {NEAR(5e-7, SMOOTH), NEAR_SAYING(5e-06, HELD ", with a message", "reached its limit of steps"),
      EXACT}},
    {"`dContactBounce`, `bounce`",
     bouncing,
     bouncing_expected,
     {NEAR(5e-6, FLOOR), EXACT, NEAR(5e-6, FLOOR)}},
    {"`bounce_vel`",
     bounce_threshold,
     bounce_threshold_expected,
     {NEAR(0.1, "as stock, ERP adds speed to overlapping bodies"), EXACT, NEAR(5e-6, FLOOR)}},
    {"`dContactSoftERP`, `dContactSoftCFM`: depth under load",
     soft_contact,
     soft_contact_expected,
     {EXACT, AT_REST, REFUSED("rigid", SOFT)}},
    {"World's ERP and CFM: depth under load",
     soft_world,
     soft_contact_expected,
     {EXACT, AT_REST, REFUSED("rigid", WORLD)}},
    {"`dWorldSetContactSurfaceLayer`",
     surface_layer,
     surface_layer_expected,
     {NEAR(5e-5, FLOOR), REFUSED("depth counts from where geoms touch", WORLD),
      REFUSED("rigid", WORLD)}},
    {"the same under soft contacts",
     soft_layer,
     soft_layer_expected,
     {EXACT, REFUSED("depth counts from where geoms touch", WORLD), REFUSED("rigid", SOFT)}},
    {"ERP: overlapping bodies move apart",
     recovery,
     recovery_expected,
     {NEAR(1e-4, FLOOR), NEAR_SAYING(0.014, HELD ", with a message", "reached its limit of steps"),
      NEAR_SAYING(1e-4, APART ", with a message", OVERLAP)}},
    {"`dWorldSetContactMaxCorrectingVel`",
     correcting_speed,
     correcting_speed_expected,
     {NEAR(5e-6, FLOOR), NEAR_SAYING(0.0051, HELD ", with a message", "reached its limit of steps"),
      NEAR_SAYING(1e-7, APART ", with a message", OVERLAP)}},
    {"`dContactMotion1`, `dContactMotion2`, attached either way",
     moving_surface,
     moving_surface_expected,
     {NEAR(5e-6, SMOOTH), NEAR(1e-07, HELD), NEAR(2e-8, SMOOTH)}},
    {"`dContactMotionN`",
     moving_normal,
     moving_normal_expected,
     {NEAR(2e-4, FLOOR), NEAR(0.1, "the body leaves the surface within the step"),
      NEAR(5e-7, APART)}},
    {"`dContactSlip1`, `dContactSlip2`, at a fifth and at four fifths of the friction",
     force_dependent_slip,
     force_dependent_slip_expected,
     {EXACT, EXACT, EXACT}},
    {"Slip under `mu = dInfinity`",
     slip_of_cars,
     slip_of_cars_expected,
     {NEAR(5e-9, SMOOTH), NEAR(1e-6, HELD), EXACT}},
    {"`dContactRolling`, `rho`, `rho2`, `rhoN`, `dContactApprox1_N`",
     rolling_friction,
     rolling_friction_expected,
     {NEAR(5e-7, SMOOTH), EXACT, NEAR(5e-8, SMOOTH)}},
    {"`rho`: a ball that rolls slows down",
     rolling_stop,
     rolling_stop_expected,
     {NEAR(1e-8, SMOOTH), NEAR(1e-08, HELD), NEAR(2e-6, SMOOTH)}},
    {"`rho = dInfinity`", infinite_rolling, rest_expected, {EXACT, EXACT, EXACT}},
    {"`mu`, `mu2`, motion, slip, `dContactApprox1` bits on soft contacts",
     soft_friction,
     soft_friction_expected,
     {NEAR(5e-9, SMOOTH), NEAR(3e-5, SMOOTH), NEAR_SAYING(2e-8, "rigid, with a message", SOFT)}},
    {0},
};
