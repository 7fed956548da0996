// Worlds that no program should make: masses and lengths over many orders of magnitude, singular
// mechanisms, contacts by the dozen between the same two bodies, forces without measure, bodies
// that jump, are destroyed and disabled between steps. Some have heightfields, and bodies that are
// meshes and convex solids. From a seed alone.
#include "fuzz.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include <ode/ode.h>

#include "join_contacts.h"
#include "sprag.h"

enum { BODIES_MAX = 30, JOINTS_MAX = 40, CONTACTS_MAX = 64 };
enum { FORMS_MAX = BODIES_MAX + 2, VERTICES_MAX = 64, TRIANGLES_MAX = 120, SAMPLES_MAX = 400 };

// The numbers of a mesh, convex solid or heightfield, which ODE does not copy.
typedef struct form {
    dTriMeshDataID mesh;        // NULL: none
    dHeightfieldDataID heights; // NULL: none
    float vertex[VERTICES_MAX][3];
    dTriIndex triangle[TRIANGLES_MAX][3];
    dReal plane[6][4], corner[8][3], sample[SAMPLES_MAX];
} form;

typedef struct hostile {
    uint64_t dice;
    dWorldID world;
    dSpaceID space;
    dJointGroupID contacts;
    dBodyID body[BODIES_MAX];
    dJointID joint[JOINTS_MAX];
    dJointFeedback feedback[JOINTS_MAX];
    form form[FORMS_MAX];
    int forms;
    int bodies, joints, most_contacts;
    double wildness; // share of numbers that are out of all proportion
    dSurfaceParameters surface;
    double step; // s
    bool quick, closed;
} hostile;

// ---- chance: one draw a statement, so that all compilers make the same worlds

static double fraction(hostile *h)
{
    h->dice = h->dice * 6364136223846793005u + 1442695040888963407u;
    return (double)(h->dice >> 11) / 9007199254740992.0;
}

static bool chance(hostile *h, double probability)
{
    return fraction(h) < probability;
}

static int pick(hostile *h, int count)
{
    return (int)(count * fraction(h));
}

static double between(hostile *h, double low, double high)
{
    return low + (high - low) * fraction(h);
}

static double power(hostile *h, double low, double high) // of ten
{
    return pow(10, between(h, low, high));
}

static void fill(hostile *h, dReal *x, int n, double size)
{
    for (int k = 0; k < n; k++) {
        x[k] = between(h, -size, size);
    }
}

static dBodyID any_body(hostile *h)
{
    return h->bodies ? h->body[pick(h, h->bodies)] : NULL;
}

// ---- what there is

static void set_mass(hostile *h, dBodyID body, double size)
{
    dMass mass;
    double total = chance(h, h->wildness) ? power(h, -9, 9) : power(h, -1, 2);
    switch (pick(h, 3)) {
    case 0:
        dMassSetSphereTotal(&mass, total, size);
        break;
    case 1:
        dMassSetBoxTotal(&mass, total, size, size, size * power(h, -2, 0));
        break;
    default:
        dMassSetCapsuleTotal(&mass, total, 1 + pick(h, 3), size * 0.1, size);
        break;
    }
    dBodySetMass(body, &mass);
}

static void add_geom(hostile *h, dBodyID body, double size)
{
    dGeomID geom;
    double other = chance(h, h->wildness) ? size * power(h, -4, 2) : size;
    switch (pick(h, 4)) {
    case 0:
        geom = dCreateSphere(h->space, size / 2);
        break;
    case 1:
        geom = dCreateBox(h->space, size, other, size);
        break;
    case 2:
        geom = dCreateCapsule(h->space, size / 4, other);
        break;
    default:
        geom = dCreateCylinder(h->space, size / 2, other);
        break;
    }
    dGeomSetBody(geom, body);
}

// Leaves out the vertices that no triangle has, and returns the number of the others: ODE's
// preprocessing ends the program where there are more vertices than edges.
static int keep_used(form *f, int triangles)
{
    float all[VERTICES_MAX][3];
    int known[VERTICES_MAX] = {0}, used = 0; // 1 + new number
    memcpy(all, f->vertex, sizeof all);
    for (int i = 0; i < triangles; i++) {
        for (int k = 0; k < 3; k++) {
            int *number = &known[f->triangle[i][k]];
            if (!*number) {
                memcpy(f->vertex[used], all[f->triangle[i][k]], sizeof all[0]);
                *number = ++used;
            }
            f->triangle[i][k] = (dTriIndex)(*number - 1);
        }
    }
    return used;
}

// Triangles anywhere, some with no area, some twice or with both faces.
static dGeomID make_mesh(hostile *h, double size)
{
    form *f = &h->form[h->forms++];
    const int vertices = 3 + pick(h, VERTICES_MAX - 3), triangles = 1 + pick(h, TRIANGLES_MAX);
    const bool flat = chance(h, 0.2);
    for (int i = 0; i < vertices; i++) {
        dReal at[3];
        fill(h, at, 3, chance(h, h->wildness / 10) ? 1e3 * size : size / 2);
        for (int k = 0; k < 3; k++) {
            f->vertex[i][k] = flat && k == 2 ? 0 : (float)at[k];
        }
    }
    for (int i = 0; i < triangles; i++) {
        const bool turned = i > 0 && chance(h, 0.2);
        for (int k = 0; k < 3; k++) {
            f->triangle[i][k] = turned ? f->triangle[i - 1][2 - k] : (dTriIndex)pick(h, vertices);
        }
    }
    f->mesh = dGeomTriMeshDataCreate();
    dGeomTriMeshDataBuildSingle(f->mesh, f->vertex, sizeof f->vertex[0], keep_used(f, triangles),
                                f->triangle, 3 * triangles, sizeof f->triangle[0]);
    dGeomTriMeshDataPreprocess2(f->mesh, 1U << dTRIDATAPREPROCESS_BUILD_FACE_ANGLES, NULL);
    return dCreateTriMesh(h->space, f->mesh, NULL, NULL, NULL);
}

// A box, whose corners are not always where its planes meet.
static dGeomID make_convex(hostile *h, double size)
{
    static const unsigned polygons[] = {4, 0, 2, 6, 4, 4, 1, 5, 7, 3, 4, 0, 4, 5, 1,
                                        4, 2, 3, 7, 6, 4, 0, 1, 3, 2, 4, 4, 6, 7, 5};
    form *f = &h->form[h->forms++];
    const double other = chance(h, h->wildness) ? size * power(h, -4, 2) : size;
    const bool bent = chance(h, 0.2);
    for (int i = 0; i < 6; i++) {
        f->plane[i][i / 2] = i % 2 ? -1 : 1;
        f->plane[i][3] = (i / 2 == 2 ? other : size) / 2;
    }
    for (int i = 0; i < 8; i++) {
        dReal off[3];
        fill(h, off, 3, bent ? size / 10 : 0);
        for (int k = 0; k < 3; k++) {
            const double half = (k == 2 ? other : size) / 2;
            f->corner[i][k] = (i >> k & 1 ? -half : half) + off[k];
        }
    }
    return dCreateConvex(h->space, f->plane[0], 6, f->corner[0], 8, polygons);
}

// With an end: ODE itself takes minutes where a large geom is on small cells without end.
static dGeomID make_field(hostile *h)
{
    form *f = &h->form[h->forms++];
    const int wide = 2 + pick(h, 18), deep = 2 + pick(h, 18);
    const double size = chance(h, h->wildness) ? power(h, -2, 2) : 6;
    for (int i = 0; i < wide * deep; i++) {
        f->sample[i] = between(h, -0.3, 0.3);
    }
    dMatrix3 turn;
    dRFromAxisAndAngle(turn, 1, 0, 0, M_PI / 2);
    f->heights = dGeomHeightfieldDataCreate();
    dGeomHeightfieldDataBuildDouble(f->heights, f->sample, 0, size, size, wide, deep, 1, 0, 0.5, 0);
    dGeomID field = dCreateHeightfield(h->space, f->heights, 1);
    dGeomSetRotation(field, turn);
    return field;
}

static void destroy_geoms(dBodyID body)
{
    for (dGeomID g = dBodyGetFirstGeom(body); g;) {
        dGeomID next = dBodyGetNextGeom(g);
        dGeomDestroy(g);
        g = next;
    }
}

// By a die of their own: the rest of the world is that of the seed without them.
static void add_forms(hostile *h)
{
    const uint64_t dice = h->dice;
    h->dice = ~dice;
    if (chance(h, 0.5)) {
        make_field(h);
    }
    if (chance(h, 0.5)) {
        make_mesh(h, 3);
    }
    for (int i = 0; i < h->bodies; i++) {
        if (chance(h, 0.6)) {
            const double size = chance(h, h->wildness) ? power(h, -3, 2) : between(h, 0.2, 1);
            dGeomID geom = chance(h, 0.5) ? make_mesh(h, size) : make_convex(h, size);
            destroy_geoms(h->body[i]);
            dGeomSetBody(geom, h->body[i]);
        }
    }
    h->dice = dice;
}

static void destroy_forms(hostile *h)
{
    for (int i = 0; i < h->forms; i++) {
        if (h->form[i].mesh) {
            dGeomTriMeshDataDestroy(h->form[i].mesh);
        }
        if (h->form[i].heights) {
            dGeomHeightfieldDataDestroy(h->form[i].heights);
        }
    }
}

static void add_body(hostile *h)
{
    dReal x[4];
    dBodyID body = dBodyCreate(h->world);
    double size = chance(h, h->wildness) ? power(h, -3, 2) : between(h, 0.2, 1);
    set_mass(h, body, size);
    fill(h, x, 3, h->closed ? 6 : 1.5);
    dBodySetPosition(body, x[0], x[1], fabs(x[2]) + 0.3);
    fill(h, x, 4, 1);
    dNormalize4(x);
    dBodySetQuaternion(body, x);
    fill(h, x, 3, chance(h, h->wildness) ? 1e3 : 3);
    dBodySetLinearVel(body, x[0], x[1], x[2]);
    fill(h, x, 3, chance(h, h->wildness) ? 1e3 : 3);
    dBodySetAngularVel(body, x[0], x[1], x[2]);
    for (int n = pick(h, 3); n >= 0; n--) {
        add_geom(h, body, size);
    }
    if (chance(h, 0.1)) {
        dBodySetKinematic(body);
        if (h->closed) {
            dBodySetLinearVel(body, 0, 0, 0);
            dBodySetAngularVel(body, 0, 0, 0);
        }
    }
    if (chance(h, 0.1)) {
        dBodyDisable(body);
    }
    if (chance(h, 0.1)) {
        dBodySetGyroscopicMode(body, 0);
    }
    if (chance(h, 0.1)) {
        dBodySetLinearDamping(body, fraction(h));
    }
    h->body[h->bodies++] = body;
}

typedef dJointID joint_maker(dWorldID, dJointGroupID);
typedef void parameter_setter(dJointID, int, dReal);

static void add_joint(hostile *h)
{
    static joint_maker *const make[] = {
        dJointCreateBall,   dJointCreateHinge,  dJointCreateSlider, dJointCreateUniversal,
        dJointCreateHinge2, dJointCreateFixed,  dJointCreatePiston, dJointCreatePR,
        dJointCreatePU,     dJointCreateAMotor, dJointCreateLMotor, dJointCreateDBall};
    int type = pick(h, sizeof make / sizeof *make);
    dBodyID a = any_body(h), b = chance(h, 0.3) ? NULL : any_body(h);
    bool needs_two = make[type] == dJointCreateHinge2;
    // The others start with an error, which is energy.
    bool fits = type < 3 || make[type] == dJointCreateFixed || make[type] == dJointCreateAMotor;
    if (!a || a == b || (needs_two && !b) || (h->closed && !fits)) {
        return;
    }
    dJointID joint = make[type](h->world, 0);
    dReal at[3], axis[3], other[3];
    fill(h, at, 3, 2);
    fill(h, axis, 3, 1);
    fill(h, other, 3, 1);
    dJointAttach(joint, a, b);
    double lo = between(h, -3, 1), hi = chance(h, 0.9) ? lo + between(h, 0, 3) : lo - 1;
    double speed = between(h, -10, 10);
    double force = chance(h, h->wildness) ? dInfinity : power(h, -2, 5);
    if (h->closed) {
        lo = fmin(lo, 0);
        hi = fmax(hi, 0);
        speed = 0;
    }
    switch (type) {
    case 0:
        dJointSetBallAnchor(joint, at[0], at[1], at[2]);
        break;
    case 1:
        dJointSetHingeAnchor(joint, at[0], at[1], at[2]);
        dJointSetHingeAxis(joint, axis[0], axis[1], axis[2]);
        dJointSetHingeParam(joint, dParamLoStop, lo);
        dJointSetHingeParam(joint, dParamHiStop, hi);
        dJointSetHingeParam(joint, dParamVel, speed);
        dJointSetHingeParam(joint, dParamFMax, force);
        break;
    case 2:
        dJointSetSliderAxis(joint, axis[0], axis[1], axis[2]);
        dJointSetSliderParam(joint, dParamLoStop, lo);
        dJointSetSliderParam(joint, dParamHiStop, hi);
        dJointSetSliderParam(joint, dParamVel, speed);
        dJointSetSliderParam(joint, dParamFMax, force);
        break;
    case 3:
        dJointSetUniversalAnchor(joint, at[0], at[1], at[2]);
        dJointSetUniversalAxis1(joint, axis[0], axis[1], axis[2]);
        dJointSetUniversalAxis2(joint, other[0], other[1], other[2]);
        break;
    case 4:
        dJointSetHinge2Anchor(joint, at[0], at[1], at[2]);
        break;
    case 5:
        dJointSetFixed(joint);
        break;
    case 6:
        dJointSetPistonAxis(joint, axis[0], axis[1], axis[2]);
        dJointSetPistonParam(joint, dParamFMax, force);
        dJointSetPistonParam(joint, dParamVel, speed);
        break;
    case 9:
        dJointSetAMotorNumAxes(joint, 1);
        dJointSetAMotorAxis(joint, 0, 0, axis[0], axis[1], axis[2]);
        dJointSetAMotorParam(joint, dParamVel, speed);
        dJointSetAMotorParam(joint, dParamFMax, force);
        break;
    default:
        break;
    }
    if (chance(h, 0.3)) {
        dJointSetFeedback(joint, &h->feedback[h->joints]);
    }
    h->joint[h->joints++] = joint;
}

static void set_surface(hostile *h)
{
    static const int modes[] = {dContactMu2,     dContactFDir1,     dContactBounce,
                                dContactSoftERP, dContactSoftCFM,   dContactMotion1,
                                dContactMotionN, dContactSlip1,     dContactSlip2,
                                dContactRolling, dContactApprox1_N, dContactApprox1};
    dSurfaceParameters *s = &h->surface;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        s->mode |= chance(h, modes[i] == dContactApprox1 ? 0.8 : 0.2) ? modes[i] : 0;
    }
    s->mu = chance(h, 0.2) ? dInfinity : between(h, 0, 2);
    s->mu2 = chance(h, 0.2) ? dInfinity : between(h, 0, 2);
    s->rho = between(h, 0, 0.2);
    s->rho2 = between(h, 0, 0.2);
    s->rhoN = between(h, 0, 0.2);
    s->bounce = between(h, 0, 1.2);
    s->bounce_vel = between(h, 0, 0.5);
    s->soft_erp = between(h, 0, 1);
    s->soft_cfm = power(h, -12, 0);
    s->motion1 = between(h, -3, 3);
    s->motionN = between(h, -1, 1);
    s->slip1 = power(h, -6, 1);
    s->slip2 = power(h, -6, 1);
    if (h->closed) {
        s->mode &= ~(dContactMotion1 | dContactMotionN);
        s->bounce = fmin(s->bounce, 1);
    }
}

static void open_world(hostile *h, uint64_t seed, const char *method, fuzz_kind kind)
{
    *h = (hostile){.dice = seed * 7919 + 1, .world = dWorldCreate(), .closed = kind.closed};
    for (int i = 0; i < 5; i++) {
        fraction(h);
    }
    h->space = chance(h, 0.5) ? dSimpleSpaceCreate(0) : dHashSpaceCreate(0);
    h->contacts = dJointGroupCreate(0);
    h->wildness = chance(h, 0.5) ? 0.02 : 0.3;
    h->step = chance(h, 0.7) ? between(h, 0.001, 0.02) : power(h, -4, -1);
    h->quick = chance(h, 0.5);
    h->most_contacts = chance(h, 0.2) ? CONTACTS_MAX : 8;
    dWorldSetGravity(h->world, 0, 0, chance(h, 0.1) ? 100 : -9.81);
    if (chance(h, 0.5)) {
        dWorldSetERP(h->world, between(h, 0, 1));
        dWorldSetCFM(h->world, chance(h, 0.4) ? 0 : power(h, -12, -2));
    }
    if (h->closed) {
        dWorldSetContactMaxCorrectingVel(h->world, 0); // overlaps give none back
    }
    dWorldSetAutoDisableFlag(h->world, chance(h, 0.3));
    dCreatePlane(h->space, 0, 0, 1, 0);
    set_surface(h);
    for (int n = (int)power(h, 0, log10(BODIES_MAX)); n > 0; n--) {
        add_body(h);
    }
    for (int n = chance(h, 0.5) ? 0 : pick(h, 2 * h->bodies); n > 0 && h->joints < JOINTS_MAX;
         n--) {
        add_joint(h);
    }
    if (kind.formed) {
        add_forms(h);
    }
    sprag_world_configure(h->world, method);
}

// ---- a step

static void touch(void *data, dGeomID a, dGeomID b)
{
    static const dReal along[3] = {1, 0.5, 0};
    const hostile *h = data;
    join_contacts(h->world, h->contacts, a, b, h->most_contacts, h->surface, along);
}

static void destroy_body(hostile *h, int i)
{
    destroy_geoms(h->body[i]);
    dBodyDestroy(h->body[i]);
    h->body[i] = h->body[--h->bodies];
}

// What the program does between two steps.
static void meddle(hostile *h)
{
    dReal x[3];
    dBodyID body = any_body(h);
    if (!body) {
        return;
    }
    fill(h, x, 3, chance(h, h->wildness) ? 1e7 : 100);
    if (h->closed) {
        return;
    }
    if (chance(h, 0.3)) {
        dBodyAddForce(body, x[0], x[1], x[2]);
        dBodyAddTorque(body, x[2], x[0], x[1]);
    }
    if (chance(h, 0.03)) {
        dBodySetPosition(body, x[0] / 100, x[1] / 100, fabs(x[2]) / 100);
    }
    if (chance(h, 0.03)) {
        dBodyDisable(body);
    }
    if (chance(h, 0.03)) {
        dBodyEnable(body);
    }
    if (chance(h, 0.02)) {
        destroy_body(h, pick(h, h->bodies));
    }
    if (chance(h, 0.02) && h->joints > 0) {
        int i = pick(h, h->joints);
        dJointSetFeedback(h->joint[i], NULL); // those after it keep theirs
        dJointDestroy(h->joint[i]);
        h->joint[i] = h->joint[--h->joints];
    }
    if (chance(h, 0.02) && h->bodies < BODIES_MAX) {
        add_body(h);
    }
}

static double cpu_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

static bool is_finite(const hostile *h)
{
    for (int i = 0; i < h->bodies; i++) {
        double sum = 0;
        for (int k = 0; k < 4; k++) {
            sum += dBodyGetQuaternion(h->body[i])[k];
        }
        for (int k = 0; k < 3; k++) {
            sum += dBodyGetPosition(h->body[i])[k] + dBodyGetLinearVel(h->body[i])[k] +
                   dBodyGetAngularVel(h->body[i])[k];
        }
        if (!isfinite(sum)) {
            return false;
        }
    }
    return true;
}

// ODE's spaces end the program where a body is 2^31 of their least cells of 1/8 m away. Forces of
// 1e7 N on bodies of 1e-8 kg send them there.
static bool has_flown_away(const hostile *h)
{
    const double far = 1e8; // m
    bool any = false;
    for (int i = 0; i < h->bodies; i++) {
        any |= dCalcVectorLength3(dBodyGetPosition(h->body[i])) > far;
    }
    return any;
}

static uint64_t hash_of(uint64_t hash, const dReal *x, int n)
{
    for (int k = 0; k < n; k++) {
        uint64_t bits;
        memcpy(&bits, &x[k], sizeof bits);
        hash = (hash ^ bits) * 1099511628211u;
    }
    return hash;
}

static double kinetic_energy(const hostile *h)
{
    double energy = 0;
    for (int i = 0; i < h->bodies; i++) {
        dMass mass;
        dVector3 turn, spin;
        dBodyGetMass(h->body[i], &mass);
        const dReal *v = dBodyGetLinearVel(h->body[i]), *w = dBodyGetAngularVel(h->body[i]);
        dBodyVectorFromWorld(h->body[i], w[0], w[1], w[2], turn);
        dMultiply0_331(spin, mass.I, turn);
        energy += mass.mass / 2 * dCalcVectorDot3(v, v) + dCalcVectorDot3(turn, spin) / 2;
    }
    return energy;
}

static double total_energy(const hostile *h)
{
    double energy = kinetic_energy(h);
    dVector3 gravity;
    dWorldGetGravity(h->world, gravity);
    for (int i = 0; i < h->bodies; i++) {
        dMass mass;
        dBodyGetMass(h->body[i], &mass);
        energy -= mass.mass * dCalcVectorDot3(gravity, dBodyGetPosition(h->body[i]));
    }
    return energy;
}

// m/s, rad/s, at most, of the bodies of a hinge or slider in the direction of its motor. A slider's
// acts half way between them.
static double most_rate(dJointID joint)
{
    if (dJointGetType(joint) == dJointTypeHinge) {
        return fabs(dJointGetHingeAngleRate(joint));
    }
    dVector3 apart = {0};
    double turn = 0;
    for (int side = 0; side < 2; side++) {
        dBodyID body = dJointGetBody(joint, side);
        if (body) {
            dAddScaledVectors3(apart, apart, dBodyGetPosition(body), 1, side ? -1 : 1);
            turn += dCalcVectorLength3(dBodyGetAngularVel(body));
        }
    }
    return fabs(dJointGetSliderPositionRate(joint)) + dCalcVectorLength3(apart) / 2 * turn;
}

// J, most that motors at stops may have done in a step: ODE pushes the bodies against the stop with
// all of the motor's force (dxJointLimitMotor::addLimot), which is work where the stop gives way.
static double work_at_stops(const hostile *h, const bool *at_stop)
{
    double sum = 0;
    for (int j = 0; j < h->joints; j++) {
        dJointID joint = h->joint[j];
        if (at_stop[j]) {
            bool turns = dJointGetType(joint) == dJointTypeHinge;
            double force = turns ? dJointGetHingeParam(joint, dParamFMax)
                                 : dJointGetSliderParam(joint, dParamFMax);
            sum += force * most_rate(joint) * h->step;
        }
    }
    return sum;
}

static void find_stops(const hostile *h, bool *at_stop)
{
    for (int j = 0; j < h->joints; j++) {
        dJointID joint = h->joint[j];
        double at = 0, lo = -dInfinity, hi = dInfinity;
        if (dJointGetType(joint) == dJointTypeHinge) {
            at = dJointGetHingeAngle(joint);
            lo = dJointGetHingeParam(joint, dParamLoStop);
            hi = dJointGetHingeParam(joint, dParamHiStop);
        } else if (dJointGetType(joint) == dJointTypeSlider) {
            at = dJointGetSliderPosition(joint);
            lo = dJointGetSliderParam(joint, dParamLoStop);
            hi = dJointGetSliderParam(joint, dParamHiStop);
        }
        at_stop[j] = at <= lo || at >= hi;
    }
}

static uint64_t hash_of_state(const hostile *h)
{
    uint64_t hash = 14695981039346656037u;
    for (int i = 0; i < h->bodies; i++) {
        hash = hash_of(hash, dBodyGetPosition(h->body[i]), 3);
        hash = hash_of(hash, dBodyGetQuaternion(h->body[i]), 4);
        hash = hash_of(hash, dBodyGetLinearVel(h->body[i]), 3);
        hash = hash_of(hash, dBodyGetAngularVel(h->body[i]), 3);
    }
    return hash;
}

void fuzz_world(uint64_t seed, const char *method, fuzz_kind kind, volatile fuzz_run *to)
{
    static hostile h;
    open_world(&h, seed, method, kind);
    double start_energy = total_energy(&h), pushed = 0;
    for (int k = 0; k < FUZZ_STEPS && !to->nonfinite && !has_flown_away(&h); k++) {
        meddle(&h);
        to->most_energy = fmax(to->most_energy, kinetic_energy(&h));
        dSpaceCollide(h.space, &h, touch);
        bool at_stop[JOINTS_MAX] = {false};
        if (kind.closed) { // others lose bodies of their joints
            find_stops(&h, at_stop);
        }
        double start = cpu_ms();
        to->began_ms = start;
        if (h.quick) {
            dWorldQuickStep(h.world, h.step);
        } else {
            dWorldStep(h.world, h.step);
        }
        double ms = cpu_ms() - start;
        to->began_ms = 0;
        dJointGroupEmpty(h.contacts);
        to->worst_ms = ms > to->worst_ms ? ms : to->worst_ms;
        to->steps = k + 1;
        pushed += work_at_stops(&h, at_stop);
        to->gain = fmax(to->gain, total_energy(&h) - start_energy - pushed);
        if (!is_finite(&h)) {
            to->nonfinite = k + 1;
        }
    }
    sprag_world_statistics s = {.struct_size = sizeof s};
    if (sprag_world_stats(h.world, &s)) {
        to->fallbacks = s.fallbacks;
    }
    to->energy = kinetic_energy(&h);
    to->most_energy = fmax(to->most_energy, to->energy);
    to->hash = hash_of_state(&h);
    dJointGroupDestroy(h.contacts);
    dSpaceDestroy(h.space);
    destroy_forms(&h);
    dWorldDestroy(h.world);
    to->done = true;
}
