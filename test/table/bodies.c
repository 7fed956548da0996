// Rows of bodies: what moves them besides joints and contacts, and what sends them to sleep.
#include "bodies.h"

// ---- flights: a body on its own, turned and tumbling, with something set

enum { FLIGHT = 100 };

static void fly(support_run *run, flight_setting *set)
{
    dWorldID world = support_world(run, NULL);
    dBodyID body = start_flight(world, set);
    steps(world, FLIGHT);
    support_report_body(run, body);
    dWorldDestroy(world);
}

// d/dt of an attitude that is carried by w, rad/s.
static void turning(const double q[4], const double w[3], double rate[4])
{
    rate[0] = 0.5 * (-w[0] * q[1] - w[1] * q[2] - w[2] * q[3]);
    rate[1] = 0.5 * (w[0] * q[0] + w[1] * q[3] - w[2] * q[2]);
    rate[2] = 0.5 * (-w[0] * q[3] + w[1] * q[0] + w[2] * q[1]);
    rate[3] = 0.5 * (w[0] * q[2] - w[1] * q[1] + w[2] * q[0]);
}

// Angular velocity (rad/s) of `momentum` (kg m^2/s) at an attitude.
static void spin_of(const dMass *mass, const double q[4], const double momentum[3], double w[3])
{
    dMatrix3 r;
    double local[3];
    dQtoR(q, r);
    for (int i = 0; i < 3; i++) {
        local[i] =
            (r[i] * momentum[0] + r[4 + i] * momentum[1] + r[8 + i] * momentum[2]) / mass->I[5 * i];
    }
    for (int i = 0; i < 3; i++) {
        w[i] = r[4 * i] * local[0] + r[4 * i + 1] * local[1] + r[4 * i + 2] * local[2];
    }
}

// Motion of a body under gravity without torque, by Runge and Kutta's method in steps of 0.1 ms.
static void fly_expected(support_run *run, bool tumbles, double gravity)
{
    enum { PARTS = 10000 };
    support_run quiet_run = {.method = "ode"};
    dWorldID world = support_world(&quiet_run, NULL);
    dBodyID body = start_flight(world, NULL);
    const double t = FLIGHT * STEP, h = t / PARTS;
    double q[4], w[3], momentum[3];
    dVector3 v = {1, 2, 3 - gravity * t}, x = {1 * t, 2 * t, 1 + 3 * t - gravity * t * t / 2};
    dMass mass;
    dMatrix3 r, inertia, turned;
    dBodyGetMass(body, &mass);
    dBodyCopyQuaternion(body, q);
    dBodyCopyRotation(body, r);
    dMultiply2_333(turned, mass.I, r);
    dMultiply0_333(inertia, r, turned);
    dMultiply0_331(momentum, inertia, dBodyGetAngularVel(body));
    dCopyVector3(w, dBodyGetAngularVel(body));
    for (int i = 0; i < PARTS; i++) {
        static const double at[4] = {0, 0.5, 0.5, 1}, weight[4] = {1, 2, 2, 1};
        double rate[4] = {0}, sum[4] = {0}, moved[4];
        for (int stage = 0; stage < 4; stage++) {
            for (int k = 0; k < 4; k++) {
                moved[k] = q[k] + at[stage] * h * rate[k];
            }
            if (tumbles) {
                spin_of(&mass, moved, momentum, w);
            }
            turning(moved, w, rate);
            for (int k = 0; k < 4; k++) {
                sum[k] += weight[stage] * rate[k];
            }
        }
        for (int k = 0; k < 4; k++) {
            q[k] += h / 6 * sum[k];
        }
    }
    support_report_vector(run, v);
    support_report_vector(run, w);
    support_report_vector(run, x);
    for (int i = 0; i < 4; i++) {
        support_report(run, q[i]);
    }
    dWorldDestroy(world);
}

static void tumbling(support_run *run)
{
    fly(run, NULL);
}

static void tumbling_expected(support_run *run)
{
    fly_expected(run, true, GRAVITY);
}

static void gyroscopic_mode(support_run *run)
{
    fly(run, without_torque);
}

static void gyroscopic_mode_expected(support_run *run)
{
    fly_expected(run, false, 0);
}

static void finite_rotation(support_run *run)
{
    fly(run, turns_finitely);
}

static void turns_about_axis(dWorldID world, dBodyID body)
{
    turns_finitely(world, body);
    dBodySetFiniteRotationAxis(body, 0, 1, 0);
}

static void finite_rotation_axis(support_run *run)
{
    fly(run, turns_about_axis);
}

static void weightless(dWorldID world, dBodyID body)
{
    (void)world;
    dBodySetGravityMode(body, 0);
    dBodySetAngularVel(body, 0, 0, 0);
}

static void gravity_mode(support_run *run)
{
    fly(run, weightless);
}

static void is_kinematic(dWorldID world, dBodyID body)
{
    (void)world;
    dBodySetFiniteRotationMode(body, 1);
    dBodySetKinematic(body);
    dBodyAddForce(body, 100, 100, 100); // has no effect
    dBodyAddTorque(body, 100, 100, 100);
}

static void kinematic(support_run *run)
{
    fly(run, is_kinematic);
}

static void spins_too_fast(dWorldID world, dBodyID body)
{
    without_torque(world, body);
    dBodySetFiniteRotationMode(body, 1);
    dBodySetMaxAngularSpeed(body, 1);
}

static void max_angular_speed(support_run *run)
{
    fly(run, spins_too_fast);
}

static void is_damped(dWorldID world, dBodyID body)
{
    without_torque(world, body);
    dBodySetFiniteRotationMode(body, 1);
    dBodySetDamping(body, 0.01, 0.02);
    dBodySetLinearDampingThreshold(body, 2);
    dBodySetAngularDampingThreshold(body, 0.5);
}

// They go on from one step to the next: programs interpolate between them.
static void quaternions_go_on(support_run *run)
{
    dWorldID world = support_world(run, NULL);
    dBodyID body = start_flight(world, turns_finitely);
    dBodySetAngularVel(body, 12, -9, 15);
    for (int i = 0; i < 60; i++) {
        support_step(world, STEP);
        for (int k = 0; k < 4; k++) {
            support_report(run, dBodyGetQuaternion(body)[k]);
        }
    }
    dWorldDestroy(world);
}

static void damping(support_run *run)
{
    fly(run, is_damped);
}

// By each setter, of the world for a body that is made after, and of the body.
static void damping_by_each(support_run *run)
{
    dWorldID world = support_world(run, NULL);
    dWorldSetLinearDamping(world, 0.03);
    dWorldSetAngularDamping(world, 0.02);
    dWorldSetLinearDampingThreshold(world, 0.3);
    dWorldSetAngularDampingThreshold(world, 0.2);
    dBodyID body[] = {support_solid(world, 0, 0, 1), support_solid(world, 3, 0, 1)};
    dBodySetLinearDamping(body[1], 0.01);
    dBodySetAngularDamping(body[1], 0.04);
    for (int k = 0; k < 2; k++) {
        dBodySetGyroscopicMode(body[k], 0);
        dBodySetFiniteRotationMode(body[k], 1);
        dBodySetLinearVel(body[k], 1, 0, 0);
        dBodySetAngularVel(body[k], 0, 0.7, 0);
    }
    steps(world, 100);
    for (int k = 0; k < 2; k++) {
        support_report_body(run, body[k]);
    }
    dWorldDestroy(world);
}

static void world_is_damped(dWorldID world, dBodyID body)
{
    is_damped(world, body);
    dWorldSetDamping(world, 0.02, 0.01);
    dWorldSetMaxAngularSpeed(world, 1.2);
    dBodySetDampingDefaults(body);
}

static void damping_of_the_world(support_run *run)
{
    fly(run, world_is_damped);
}

// ---- forces

static void push_everywhere(dBodyID body, int i)
{
    switch (i % 8) {
    case 0:
        dBodyAddForce(body, 1, -2, 3);
        break;
    case 1:
        dBodyAddTorque(body, 0.01, 0.02, -0.03);
        break;
    case 2:
        dBodyAddRelForce(body, 2, 0, 1);
        break;
    case 3:
        dBodyAddRelTorque(body, 0.02, 0, 0.01);
        break;
    case 4:
        dBodyAddForceAtPos(body, 1, 1, 1, 0.1, 0.2, 1);
        break;
    case 5:
        dBodyAddForceAtRelPos(body, 0, 1, 0, 0.1, 0, 0);
        break;
    case 6:
        dBodyAddRelForceAtPos(body, 1, 0, 0, 0, 0.1, 1);
        break;
    default:
        dBodyAddRelForceAtRelPos(body, 0, 0, 1, 0, 0.1, 0);
        break;
    }
}

// Every way to add a force, what has added up, and that a step takes it.
static void accumulators(support_run *run)
{
    dWorldID world = support_world(run, NULL);
    dBodyID body = support_solid(world, 0, 0, 1);
    dBodySetGyroscopicMode(body, 0);
    for (int i = 0; i < 16; i++) {
        push_everywhere(body, i);
        push_everywhere(body, i + 3);
    }
    support_report_vector(run, dBodyGetForce(body));
    support_report_vector(run, dBodyGetTorque(body));
    support_step(world, STEP);
    support_report_vector(run, dBodyGetForce(body));
    support_report_vector(run, dBodyGetTorque(body));
    support_report_vector(run, dBodyGetLinearVel(body));
    support_report_vector(run, dBodyGetAngularVel(body));
    dBodySetForce(body, 3, 2, 1);
    support_step(world, STEP);
    support_report_vector(run, dBodyGetLinearVel(body));
    dWorldDestroy(world);
}

static void impulse_to_force(support_run *run)
{
    dVector3 force;
    dWorldID world = support_world(run, NULL);
    dBodyID body = support_solid(world, 0, 0, 1);
    dWorldImpulseToForce(world, STEP, 2, 4, -6, force);
    dBodyAddForce(body, force[0], force[1], force[2]);
    support_step(world, STEP);
    support_report_vector(run, dBodyGetLinearVel(body));
    dWorldDestroy(world);
}

static void change_of_mass(support_run *run)
{
    dMass mass;
    dWorldID world = support_world(run, NULL);
    dBodyID body = support_solid(world, 0, 0, 1);
    dMassSetParameters(&mass, 3, 0, 0, 0, 0.3, 0.4, 0.5, 0.02, -0.03, 0.01);
    dBodySetGyroscopicMode(body, 0);
    for (int i = 0; i < 20; i++) {
        push_everywhere(body, i);
        support_step(world, 0.001);
        if (i == 10) {
            dBodySetMass(body, &mass);
        }
    }
    support_report_vector(run, dBodyGetLinearVel(body));
    support_report_vector(run, dBodyGetAngularVel(body));
    dWorldDestroy(world);
}

// Kept by what is asleep, taken from what is kinematic.
static void forces_without_effect(support_run *run)
{
    dWorldID world = support_world(run, NULL);
    dBodyID asleep = support_solid(world, 0, 0, 1), carried = support_solid(world, 3, 0, 1);
    dBodyDisable(asleep);
    dBodySetKinematic(carried);
    for (int i = 0; i < 3; i++) {
        push_everywhere(asleep, 0);
        push_everywhere(asleep, 1);
        push_everywhere(carried, 0);
        push_everywhere(carried, 1);
        support_step(world, STEP);
        support_report_vector(run, dBodyGetForce(asleep));
        support_report_vector(run, dBodyGetTorque(asleep));
        support_report_vector(run, dBodyGetForce(carried));
        support_report_vector(run, dBodyGetTorque(carried));
    }
    dBodySetDynamic(carried);
    dBodyEnable(asleep);
    support_step(world, STEP);
    support_report_vector(run, dBodyGetLinearVel(asleep));
    support_report_vector(run, dBodyGetLinearVel(carried));
    dWorldDestroy(world);
}

// Kinematic for a while, in flight: forces mean something again afterwards.
static void kinematic_for_a_while(support_run *run)
{
    dWorldID world = support_world(run, NULL);
    dBodyID body = start_flight(world, turns_finitely);
    for (int i = 0; i < 15; i++) {
        if (i == 5) {
            dBodySetKinematic(body);
        } else if (i == 10) {
            dBodySetDynamic(body);
        }
        dBodyAddForce(body, 3, 2, 1);
        support_step(world, STEP);
        support_report(run, dBodyIsKinematic(body));
        support_report_vector(run, dBodyGetLinearVel(body));
    }
    support_report_vector(run, dBodyGetPosition(body));
    dWorldDestroy(world);
}

static void kinematic_for_a_while_expected(support_run *run)
{
    static const double a[] = {1.5, 1, 0.5}; // m/s^2
    double v[3] = {1, 2, 3}, x[3] = {0, 0, 1};
    for (int i = 0; i < 15; i++) {
        bool carried = i >= 5 && i < 10;
        for (int k = 0; k < 3; k++) {
            double more = carried ? 0 : a[k] * STEP;
            x[k] += (v[k] + more / 2) * STEP;
            v[k] += more;
        }
        support_report(run, carried);
        support_report_vector(run, v);
    }
    support_report_vector(run, x);
}

// The middle one of three on joints.
static void destroyed_between_steps(support_run *run)
{
    dBodyID body[3];
    dWorldID world = support_world(run, NULL);
    dWorldSetGravity(world, 0, 0, -GRAVITY);
    for (int k = 0; k < 3; k++) {
        body[k] = support_solid(world, 0, 0, 3 - k);
        dBodySetGyroscopicMode(body[k], 0);
        dJointID joint = dJointCreateFixed(world, 0);
        dJointAttach(joint, body[k], k ? body[k - 1] : NULL);
        dJointSetFixed(joint);
    }
    steps(world, 3);
    dBodyDestroy(body[1]);
    steps(world, 10);
    support_report_vector(run, dBodyGetLinearVel(body[0]));
    support_report_vector(run, dBodyGetLinearVel(body[2]));
    support_report(run, dBodyGetNumJoints(body[0]) + 10 * dBodyGetNumJoints(body[2]));
    dWorldDestroy(world);
}

static void put_elsewhere(support_run *run)
{
    dWorldID world = support_world(run, NULL);
    dBodyID body = start_flight(world, without_torque);
    dQuaternion q = {0.5, 0.5, 0.5, 0.5};
    steps(world, 5);
    dBodySetPosition(body, 5, 6, 7);
    dBodySetQuaternion(body, q);
    dBodySetLinearVel(body, 0, 0, 0);
    dBodySetAngularVel(body, 0, 0, 0);
    dBodySetGravityMode(body, 0);
    steps(world, 5);
    support_report_body(run, body);
    dWorldDestroy(world);
}

const support_row support_bodies[] = {
    {"free flight, gyroscopic torque", tumbling, tumbling_expected, {AS_STOCK, EXACT, EXACT}},
    {"`dBodySetGyroscopicMode`",
     gyroscopic_mode,
     gyroscopic_mode_expected,
     {AS_STOCK, EXACT, EXACT}},
    {"`dBodySetFiniteRotationMode`",
     finite_rotation,
     gyroscopic_mode_expected,
     {AS_STOCK, EXACT, EXACT}},
    {"`dBodySetFiniteRotationAxis`",
     finite_rotation_axis,
     gyroscopic_mode_expected,
     {AS_STOCK, EXACT, EXACT}},
    {"quaternions, turn after turn", quaternions_go_on, NULL, {AS_STOCK, AS_STOCK, AS_STOCK}},
    {"`dBodySetGravityMode`", gravity_mode, NULL, {AS_STOCK, AS_STOCK, AS_STOCK}},
    {"kinematic bodies", kinematic, NULL, {AS_STOCK, AS_STOCK, AS_STOCK}},
    {"max angular speed", max_angular_speed, NULL, {AS_STOCK, AS_STOCK, AS_STOCK}},
    {"damping, thresholds", damping, NULL, {AS_STOCK, AS_STOCK, AS_STOCK}},
    {"damping, by each setter", damping_by_each, NULL, {AS_STOCK, AS_STOCK, AS_STOCK}},
    {"damping, of the world", damping_of_the_world, NULL, {AS_STOCK, AS_STOCK, AS_STOCK}},
    {"force accumulators", accumulators, NULL, {AS_STOCK, AS_STOCK, AS_STOCK}},
    {"forces on disabled and on kinematic bodies",
     forces_without_effect,
     NULL,
     {AS_STOCK, AS_STOCK, AS_STOCK}},
    {"`dBodySetKinematic`, `dBodySetDynamic` in flight",
     kinematic_for_a_while,
     kinematic_for_a_while_expected,
     {AS_STOCK, EXACT, EXACT}},
    {"destroyed between steps, with its joints",
     destroyed_between_steps,
     NULL,
     {AS_STOCK, AS_STOCK, AS_STOCK}},
    {"`dWorldImpulseToForce`", impulse_to_force, NULL, {AS_STOCK, AS_STOCK, AS_STOCK}},
    {"`dBodySetMass`, any inertia",
     change_of_mass,
     NULL,
     {AS_STOCK, AS_STOCK, AS_STOCK}},
    {"position and velocity set by the program",
     put_elsewhere,
     NULL,
     {AS_STOCK, AS_STOCK, AS_STOCK}},
    {0},
};
