// Random worlds: floors, geoms, joints and surfaces of every type that ODE has. Nothing is checked
// but that they go the same way each time.
#include "bits.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chance.h"
#include "sprag.h"
#include "worlds.h"

enum { CELLS = 8, SAMPLES = CELLS + 1, SURFACES = 3, CONTACTS_MAX = 12 };
enum { PRISMS = 4, SIDES_MAX = 12, MANY = 40 };

// The ground of meshes and heightfields.
static const double ground = 6; // m, its side

const bits_kind bits_stock = {
    "stock", "pbmh", "sbcyvxt", {2, 6}, 0, 0.5, 1, 2, 3, 20, BITS_PLAIN | BITS_CALM};

const bits_kind bits_kinds[] = {
    // name, floors, shapes, bodies, joints, apart, masses, speed, spin, steps, habits
    {"few", "pbmh", "sbcyvxg", {1, 4}, 0.3, 0.7, 1, 2, 3, 40, 0},
    {"some", "ppbmhn", "sbcyvxt", {5, 10}, 0.5, 0.5, 2, 3, 5, 20, 0},
    {"ground", "mh", "sbcyvxt", {3, 6}, 0, 1, 1, 1, 2, 30, 0},
    {"meshes", "mhb", "ttb", {2, 5}, 0, 0.35, 1, 1, 2, 20, BITS_PLAIN},
    {"dense", "pbm", "X", {1, 2}, 0, 0.5, 1, 1, 2, 10, BITS_PLAIN},
    {"upright", "pbmh", "bcyvs", {3, 12}, 0, 0.3, 1, 0, 0, 12, BITS_PLAIN},
    {"linked", "nnp", "bcs", {3, 10}, 1.3, 0.4, 3, 2, 8, 30, BITS_DECLINES},
    {"derived", "npb", "sbcy", {2, 6}, 0.8, 0.6, 1, 0.5, 0.5, 6, BITS_PLAIN | BITS_LINEAR},
    {"resting", "pbmh", "sbcyv", {2, 4}, 0.1, 0.6, 1, 0.01, 0.01, 12, BITS_PLAIN | BITS_LINEAR},
    {"soft", "p", "bbs", {2, 5}, 0, 0.36, 1, 1, 1, 12, BITS_PLAIN | BITS_LINEAR | BITS_SOFT},
    {"fast", "b", "sbcy", {2, 5}, 0.2, 1, 1, 40, 60, 20, 0},
    {"bouncy", "pbm", "sbcy", {2, 6}, 0.2, 0.5, 1, 3, 5, 20, BITS_PLAIN | BITS_BOUNCES},
    {"heap", "p", "sb", {40, 110}, 0.2, 0.32, 0.3, 0.2, 0.2, 8, 0},
    {"spread", "p", "sb", {40, 90}, 0.1, 0.8, 1, 1, 1, 10, BITS_THREADS},
    {"wall", "p", "b", {20, 50}, 0, 0.3, 1, 0, 0, 10, BITS_PLAIN},
    {0},
};

typedef struct bits_prism {
    dReal point[2 * SIDES_MAX][3], plane[SIDES_MAX + 2][4];
    unsigned face[7 * SIDES_MAX + 2];
} bits_prism;

typedef struct bits_world {
    bits_watch watch;
    const bits_kind *kind;
    chance dice;
    dSpaceID space, inner;
    dJointGroupID contacts;
    dSurfaceParameters surface[SURFACES];
    double length; // s, of a step
    bool quick;
    int habits;
    int most; // contacts of a pair
    dThreadingImplementationID threading;
    dThreadingThreadPoolID pool;
    dTriMeshDataID mesh, wedge;
    bits_prism prism[PRISMS];
    dHeightfieldDataID field;
    dJointFeedback contact_feedback[BITS_CONTACTS];
    int touching;
    float vertex[3 * SAMPLES * SAMPLES], height[SAMPLES * SAMPLES];
    dTriIndex index[6 * CELLS * CELLS];
} bits_world;

// ---- chance: one draw a statement, so that all compilers make the same worlds

static double between(bits_world *w, double low, double high)
{
    return chance_between(&w->dice, low, high);
}

static bool often(bits_world *w, double probability)
{
    return chance_fraction(&w->dice) < probability;
}

static int pick(bits_world *w, int count)
{
    return (int)(count * chance_fraction(&w->dice));
}

static double power(bits_world *w, double low, double high)
{
    return chance_power(&w->dice, low, high);
}

static void fill(bits_world *w, dReal *x, int n, double size)
{
    for (int k = 0; k < n; k++) {
        x[k] = between(w, -size, size);
    }
}

static void turn(bits_world *w, dReal *q)
{
    fill(w, q, 4, 1);
    q[0] += 1.5;
    dNormalize4(q);
}

// ---- floors

static void make_mesh(bits_world *w)
{
    int used = 0;
    for (int i = 0; i < SAMPLES * SAMPLES; i++) {
        w->vertex[3 * i] = (float)(ground * (i % SAMPLES / (double)CELLS - 0.5));
        w->vertex[3 * i + 1] = (float)(ground * (i / SAMPLES / (double)CELLS - 0.5));
        w->vertex[3 * i + 2] = w->height[i];
    }
    for (int i = 0; i < CELLS * CELLS; i++) {
        const int a = i / CELLS * SAMPLES + i % CELLS, b = a + SAMPLES;
        const int corner[6] = {a, a + 1, b + 1, a, b + 1, b};
        for (int k = 0; k < 6; k++) {
            w->index[used++] = (dTriIndex)corner[k];
        }
    }
    w->mesh = dGeomTriMeshDataCreate();
    dGeomTriMeshDataBuildSingle(w->mesh, w->vertex, 3 * sizeof(float), SAMPLES * SAMPLES, w->index,
                                used, 3 * sizeof(dTriIndex));
    dGeomTriMeshDataPreprocess2(w->mesh, 1u << dTRIDATAPREPROCESS_BUILD_FACE_ANGLES, NULL);
    dCreateTriMesh(w->space, w->mesh, NULL, NULL, NULL);
}

static void make_field(bits_world *w)
{
    dMatrix3 up;
    w->field = dGeomHeightfieldDataCreate();
    dGeomHeightfieldDataBuildSingle(w->field, w->height, 0, ground, ground, SAMPLES, SAMPLES, 1, 0,
                                    1, 0);
    dGeomHeightfieldDataSetBounds(w->field, -1, 1);
    dRFromAxisAndAngle(up, 1, 0, 0, M_PI / 2);
    dGeomSetRotation(dCreateHeightfield(w->space, w->field, 1), up);
}

static void make_floor(bits_world *w)
{
    const char *floors = w->kind->floors;
    const double bumps = often(w, 0.4) ? 0 : 0.15;
    for (int i = 0; i < SAMPLES * SAMPLES; i++) {
        w->height[i] = (float)between(w, -bumps, bumps);
    }
    switch (floors[pick(w, (int)strlen(floors))]) {
    case 'p':
        dCreatePlane(w->space, 0, 0, 1, 0);
        break;
    case 'b':
        dGeomSetPosition(dCreateBox(w->space, ground, ground, 0.2), 0, 0, -0.1);
        break;
    case 'm':
        make_mesh(w);
        break;
    case 'h':
        make_field(w);
        break;
    default:
        break;
    }
}

// ---- bodies

// A prism of 0.4 m on a polygon, whose faces are its sides, its bottom and its top.
static void make_prism(bits_prism *p, int sides)
{
    unsigned *face = p->face;
    for (int i = 0; i < sides; i++) {
        const double turn = 2 * M_PI * i / sides, out = turn + M_PI / sides;
        const unsigned next = (unsigned)((i + 1) % sides), above = (unsigned)sides;
        const dReal corner[3] = {0.2 * cos(turn), 0.2 * sin(turn), -0.2};
        const dReal plane[4] = {cos(out), sin(out), 0, 0.2 * cos(M_PI / sides)};
        const unsigned of_side[5] = {4, (unsigned)i, next, next + above, (unsigned)i + above};
        memcpy(p->point[i], corner, sizeof corner);
        memcpy(p->point[i + sides], corner, sizeof corner);
        p->point[i + sides][2] = 0.2;
        memcpy(p->plane[i], plane, sizeof plane);
        memcpy(face, of_side, sizeof of_side);
        face += 5;
    }
    for (int end = 0; end < 2; end++) {
        const dReal plane[4] = {0, 0, end ? 1 : -1, 0.2};
        memcpy(p->plane[sides + end], plane, sizeof plane);
        *face++ = (unsigned)sides;
        for (int i = 0; i < sides; i++) {
            *face++ = (unsigned)(end ? sides + i : sides - 1 - i);
        }
    }
}

static dGeomID create_convex(bits_world *w)
{
    static const int sides[PRISMS] = {3, 4, 5, 12};
    const int i = pick(w, PRISMS);
    make_prism(&w->prism[i], sides[i]);
    return dCreateConvex(w->inner, w->prism[i].plane[0], (unsigned)sides[i] + 2,
                         w->prism[i].point[0], 2 * (unsigned)sides[i], w->prism[i].face);
}

// A wedge of 0.4 m.
static dGeomID create_mesh(bits_world *w)
{
    static const float vertex[] = {-0.2f, -0.2f, -0.2f, 0.2f, -0.2f, -0.2f, 0,    0.2f, -0.2f,
                                   -0.2f, -0.2f, 0.2f,  0.2f, -0.2f, 0.2f,  0.0f, 0.2f, 0.1f};
    static const dTriIndex index[] = {0, 2, 1, 3, 4, 5, 0, 1, 4, 0, 4, 3,
                                      1, 2, 5, 1, 5, 4, 2, 0, 3, 2, 3, 5};
    if (!w->wedge) {
        w->wedge = dGeomTriMeshDataCreate();
        dGeomTriMeshDataBuildSingle(w->wedge, vertex, 3 * sizeof(float), 6, index, 24,
                                    3 * sizeof(dTriIndex));
        dGeomTriMeshDataPreprocess2(w->wedge, 1u << dTRIDATAPREPROCESS_BUILD_FACE_ANGLES, NULL);
    }
    return dCreateTriMesh(w->inner, w->wedge, NULL, NULL, NULL);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static dGeomID create_transform(bits_world *w, double x, double y, double size)
{
    dGeomID outer = dCreateGeomTransform(w->inner), inside = dCreateBox(NULL, x, y, size);
    dGeomTransformSetCleanup(outer, 1);
    dGeomSetPosition(inside, 0.1, 0, 0.05);
    dGeomTransformSetGeom(outer, inside);
    return outer;
}

#pragma GCC diagnostic pop

static dGeomID create_geom(bits_world *w, char shape, double size)
{
    const double x = size * between(w, 0.3, 1), y = size * between(w, 0.3, 1);
    switch (shape) {
    case 's':
        return dCreateSphere(w->inner, x / 2);
    case 'b':
        return dCreateBox(w->inner, x, y, size);
    case 'c':
        return dCreateCapsule(w->inner, x / 2, y);
    case 'y':
        return dCreateCylinder(w->inner, x / 2, y);
    case 't':
        return create_mesh(w);
    case 'g':
        return create_transform(w, x, y, size);
    default:
        return create_convex(w);
    }
}

static void set_mass(bits_world *w, dBodyID body, double size)
{
    dMass mass;
    const double kilograms = power(w, -w->kind->masses / 2, w->kind->masses / 2);
    const double y = size * between(w, 0.4, 1);
    if (often(w, 0.3)) {
        dMassSetSphereTotal(&mass, kilograms, size / 2);
    } else {
        dMassSetBoxTotal(&mass, kilograms, size, y, size);
    }
    dBodySetMass(body, &mass);
}

static void add_geoms(bits_world *w, dBodyID body, double size)
{
    const char *shapes = w->kind->shapes;
    const char shape = shapes[pick(w, (int)strlen(shapes))];
    const bool compound = shape == 'x' || shape == 'X';
    for (int n = shape == 'X' ? MANY : compound ? 2 + pick(w, 2) : 1; n > 0; n--) {
        dReal x[3], q[4];
        dGeomID geom = shape == 'X' ? create_geom(w, 'b', size / 3)
                                    : create_geom(w, compound ? "sbcy"[pick(w, 4)] : shape, size);
        dGeomSetBody(geom, body);
        if (compound) {
            fill(w, x, 3, size / 2);
            turn(w, q);
            dGeomSetOffsetPosition(geom, x[0], x[1], x[2]);
            dGeomSetOffsetQuaternion(geom, q);
        }
    }
}

static void set_ways(bits_world *w, dBodyID body)
{
    if (often(w, 0.05)) {
        dBodySetKinematic(body);
    }
    if (often(w, 0.05)) {
        dBodyDisable(body);
    }
    dBodySetGyroscopicMode(body, !often(w, 0.1));
    dBodySetGravityMode(body, !often(w, 0.05));
    if (often(w, 0.1)) {
        dBodySetFiniteRotationMode(body, 1);
        dBodySetFiniteRotationAxis(body, 0, 0, often(w, 0.5) ? 1 : 0);
    }
    if (often(w, 0.1)) {
        const double linear = between(w, 0, 0.1), angular = between(w, 0, 0.1);
        dBodySetLinearDamping(body, linear);
        dBodySetAngularDamping(body, angular);
    }
    if (often(w, 0.1)) {
        dBodySetMaxAngularSpeed(body, 5);
    }
}

// On a grid, each layer turned a little.
static void add_body(bits_world *w, int i, int side)
{
    dReal x[3], q[4], v[3], spin[3];
    dBodyID body = w->watch.body[w->watch.bodies++] = dBodyCreate(w->watch.world);
    const double apart = w->kind->apart, least = w->kind->habits & BITS_SOFT ? 1 : 0.6;
    const double size = apart * between(w, least, 1.05);
    const bool free = w->kind->speed > 0;
    set_mass(w, body, size);
    add_geoms(w, body, size);
    fill(w, x, 3, free ? 0.1 * apart : 0);
    turn(w, q);
    fill(w, v, 3, w->kind->speed);
    fill(w, spin, 3, w->kind->spin);
    dBodySetPosition(body, x[0] + apart * (i % side - 0.5 * (side - 1)),
                     x[1] + apart * (i / side % side - 0.5 * (side - 1)),
                     x[2] + apart * (0.5 + i / (side * side)));
    if (free && !often(w, 0.3)) {
        dBodySetQuaternion(body, q);
    }
    dBodySetLinearVel(body, v[0], v[1], v[2]);
    dBodySetAngularVel(body, spin[0], spin[1], spin[2]);
    if (!(w->kind->habits & BITS_PLAIN)) {
        set_ways(w, body);
    }
    if (w->kind->habits & BITS_LINEAR) { // bodies that tumble freely have no derivatives
        dBodySetGyroscopicMode(body, often(w, 0.05));
    }
}

// ---- joints

static void set_limits(bits_world *w, dJointID joint, int motors)
{
    for (int group = 0; group < motors * dParamGroup; group += dParamGroup) {
        const double play = often(w, 0.5) ? 0.5 : 0.01;
        const double high = between(w, 0, play), low = between(w, -play, 0);
        const double bounce = between(w, 0, 1), fudge = between(w, 0, 1);
        if (often(w, 0.4)) {
            set_parameter(joint, group + dParamHiStop, high);
            set_parameter(joint, group + dParamLoStop, low);
            set_parameter(joint, group + dParamBounce, often(w, 0.5) ? bounce : 0);
            set_parameter(joint, group + dParamFudgeFactor, fudge);
        }
        const double erp = between(w, 0, 0.9), cfm = power(w, -9, -2);
        if (often(w, 0.3)) {
            set_parameter(joint, group + dParamStopERP, erp);
            set_parameter(joint, group + dParamStopCFM, cfm);
        }
        const double force = power(w, -1, 3), speed = between(w, -3, 3);
        if (often(w, 0.4)) {
            set_parameter(joint, group + dParamFMax, force);
            set_parameter(joint, group + dParamVel, speed);
        }
    }
}

// The joints of worlds.h are placed around the origin: bodies go there for as long as that takes.
static void add_joint(bits_world *w)
{
    const joint_kind *kind = &joint_kinds[pick(w, JOINT_KINDS)];
    const int first = pick(w, w->watch.bodies), other = pick(w, w->watch.bodies);
    const int second = often(w, 0.5) && first > 0 ? first - 1 : other; // chains
    const int like = first != second ? PAIR_PLAIN : often(w, 0.5) ? PAIR_TO_WORLD : PAIR_REVERSED;
    dBodyID body[2] = {w->watch.body[first], first == second ? NULL : w->watch.body[second]};
    if (!kind_can_be(kind, like)) {
        return;
    }
    const dReal *at = dBodyGetPosition(body[0]);
    const dReal from[3] = {at[0], at[1], at[2]};
    for (int i = 0; i < w->watch.bodies; i++) {
        const dReal *x = dBodyGetPosition(w->watch.body[i]);
        dBodySetPosition(w->watch.body[i], x[0] - from[0], x[1] - from[1], x[2] - from[2]);
    }
    dJointID joint = create_joint(w->watch.world, kind->type);
    dJointAttach(joint, like == PAIR_REVERSED ? NULL : body[0],
                 like == PAIR_REVERSED ? body[0] : body[1]);
    place_joint(joint);
    set_limits(w, joint, kind->motors);
    dJointSetFeedback(joint, &w->watch.feedback[w->watch.joints++]);
    for (int i = 0; i < w->watch.bodies && body[1]; i++) {
        const dReal *x = dBodyGetPosition(w->watch.body[i]);
        dBodySetPosition(w->watch.body[i], x[0] + from[0], x[1] + from[1], x[2] + from[2]);
    }
}

// ---- surfaces

static void set_surface(bits_world *w, dSurfaceParameters *s)
{
    static const int modes[] = {dContactMu2,     dContactFDir1,   dContactBounce,  dContactSoftERP,
                                dContactSoftCFM, dContactMotion1, dContactMotion2, dContactMotionN,
                                dContactSlip1,   dContactSlip2,   dContactRolling};
    const bool soft = w->habits & BITS_SOFT, plain = often(w, 0.5);
    s->mode = often(w, 0.8) ? dContactApprox1 : 0;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        s->mode |= often(w, soft ? 0 : plain ? 0.03 : 0.25) ? modes[i] : 0;
    }
    s->mode |= w->habits & BITS_BOUNCES ? dContactBounce : 0;
    s->mu = between(w, 0, 1.2);
    s->mu = often(w, 0.1) ? dInfinity : s->mu;
    s->mu2 = between(w, 0, 1.2);
    s->rho = between(w, 0, 0.1);
    s->rho2 = between(w, 0, 0.1);
    s->rhoN = between(w, 0, 0.1);
    s->bounce = between(w, 0, 1);
    s->bounce_vel = between(w, 0, 0.5);
    s->soft_erp = between(w, 0, 1);
    s->soft_cfm = power(w, -9, -2);
    s->motion1 = between(w, -1, 1);
    s->motion2 = between(w, -1, 1);
    s->motionN = between(w, -0.1, 0.1);
    s->slip1 = power(w, -6, -1);
    s->slip2 = power(w, -6, -1);
    if (soft || often(w, 0.2)) {
        const double stiffness = power(w, 2, 7), dissipation = between(w, 0, 2);
        sprag_surface_set_stiffness(s, stiffness);
        sprag_surface_set_dissipation(s, dissipation);
    }
    if (often(w, 0.1)) {
        sprag_surface_set_stiction(s, 1e-3);
    }
}

static void touch(void *data, dGeomID a, dGeomID b)
{
    static const dReal along[3] = {0.6, 0.8, 0};
    bits_world *w = data;
    dContactGeom geom[CONTACTS_MAX];
    if (dGeomIsSpace(a) || dGeomIsSpace(b)) {
        dSpaceCollide2(a, b, data, touch);
        return;
    }
    dBodyID p = dGeomGetBody(a), q = dGeomGetBody(b);
    if (w->habits & BITS_DECLINES && p && q && dAreConnectedExcluding(p, q, dJointTypeContact)) {
        return;
    }
    const int count = dCollide(a, b, w->most, geom, sizeof *geom);
    for (int i = 0; i < count; i++) {
        const int classes = dGeomGetClass(a) + dGeomGetClass(b);
        dContact contact = {.geom = geom[i], .surface = w->surface[classes % SURFACES]};
        memcpy(contact.fdir1, along, sizeof along);
        bits_add(&w->watch.hash, geom[i].pos, 3);
        bits_add(&w->watch.hash, geom[i].normal, 3);
        bits_add(&w->watch.hash, &geom[i].depth, 1);
        if (w->habits & BITS_ALTERS) {
            contact.geom.depth += 1e-4 * (i % 3);
            contact.surface.mu *= 1 + 0.1 * (i % 2);
        }
        dJointID joint = dJointCreateContact(w->watch.world, w->contacts, &contact);
        dJointAttach(joint, p, q);
        if (w->touching < BITS_CONTACTS) {
            const int shared = w->habits & BITS_SHARES ? 0 : w->touching;
            dJointSetFeedback(joint, &w->contact_feedback[shared]);
            w->touching++;
        }
    }
}

// ---- worlds

static void set_world(bits_world *w)
{
    const double erp = between(w, 0.1, 0.9), cfm = power(w, -12, -3);
    w->length = between(w, 0.001, 0.0167);
    w->quick = often(w, 0.3);
    w->habits = w->kind->habits;
    for (int i = 0; i < BITS_HABITS && !(w->habits & BITS_CALM); i++) {
        w->habits |= often(w, 0.15) ? 1 << i : 0;
    }
    w->most = 4 + pick(w, CONTACTS_MAX - 3);
    dWorldSetGravity(w->watch.world, 0, 0, often(w, 0.1) ? 0 : -9.81);
    if (often(w, 0.4)) {
        dWorldSetERP(w->watch.world, erp);
        dWorldSetCFM(w->watch.world, often(w, 0.3) ? 0 : cfm);
    }
    if (often(w, 0.3)) {
        dWorldSetContactSurfaceLayer(w->watch.world, 1e-3);
    }
    if (often(w, 0.3)) {
        dWorldSetContactMaxCorrectingVel(w->watch.world, 0.5);
    }
    dWorldSetAutoDisableFlag(w->watch.world, often(w, 0.3));
    for (int i = 0; i < SURFACES; i++) {
        set_surface(w, &w->surface[i]);
    }
}

static bits_world *open_world(const bits_kind *kind, unsigned seed, const char *options)
{
    dRandSetSeed(seed);
    bits_world *w = calloc(1, sizeof *w);
    if (!w) {
        abort();
    }
    *w = (bits_world){.watch = {.world = dWorldCreate(), .hash = fnv_of_nothing},
                      .kind = kind,
                      .dice = {seed * 2654435761u + 1},
                      .contacts = dJointGroupCreate(0)};
    chance_fraction(&w->dice);
    w->space = often(w, 0.5) ? dSimpleSpaceCreate(NULL) : dHashSpaceCreate(NULL);
    w->inner = often(w, 0.8) ? w->space : dSimpleSpaceCreate(w->space);
    set_world(w);
    make_floor(w);
    const int bodies = kind->bodies[0] + pick(w, kind->bodies[1] - kind->bodies[0] + 1);
    const int side = bodies > 30 ? 4 : bodies > 4 ? 2 : 1;
    for (int i = 0; i < bodies; i++) {
        add_body(w, i, side);
    }
    for (int left = (int)(kind->joints * bodies + chance_fraction(&w->dice)); left > 0; left--) {
        add_joint(w);
    }
    if (!sprag_world_configure(w->watch.world, options)) {
        fprintf(stderr, "bits: %s: %s\n", options, sprag_error());
        exit(1);
    }
    return w;
}

static void close_world(bits_world *w)
{
    dJointGroupDestroy(w->contacts);
    dSpaceDestroy(w->space);
    dWorldDestroy(w->watch.world);
    if (w->mesh) {
        dGeomTriMeshDataDestroy(w->mesh);
    }
    if (w->wedge) {
        dGeomTriMeshDataDestroy(w->wedge);
    }
    if (w->field) {
        dGeomHeightfieldDataDestroy(w->field);
    }
    free(w);
}

// ---- what the program does between steps

static void push(bits_world *w)
{
    dReal force[3];
    dBodyID body = w->watch.body[pick(w, w->watch.bodies)];
    fill(w, force, 3, 20);
    dBodyAddForce(body, force[0], force[1], force[2]);
    dBodyAddTorque(body, 0.1 * force[1], 0.1 * force[2], 0.1 * force[0]);
}

static void give(bits_world *w)
{
    dBodyID body = w->watch.body[pick(w, w->watch.bodies)];
    dSurfaceParameters surface = w->surface[pick(w, SURFACES)];
    const double what = chance_fraction(&w->dice);
    if (what < 0.05) {
        touch_impossibly(w->watch.world, w->contacts, body);
        return;
    }
    if (what < 0.1) {
        surface.mu = -1;
    } else if (what < 0.15) {
        surface.mode |= SPRAG_CONTACT_DISSIPATION;
    } else if (what < 0.2) {
        surface.bounce = NAN;
    }
    touch_at_body(w->watch.world, w->contacts, body, surface);
}

static void destroy(bits_world *w)
{
    dBodyID body = w->watch.body[w->watch.bodies - 1];
    for (int i = dBodyGetNumJoints(body); i > 0; i--) {
        dJointSetFeedback(dBodyGetJoint(body, 0), NULL);
        dJointDestroy(dBodyGetJoint(body, 0));
    }
    for (dGeomID geom = dBodyGetFirstGeom(body), next; geom; geom = next) {
        next = dBodyGetNextGeom(geom);
        dGeomDestroy(geom);
    }
    dBodyDestroy(body);
    w->watch.bodies--;
}

static void meddle(bits_world *w)
{
    dReal x[3];
    dBodyID body = w->watch.body[pick(w, w->watch.bodies)];
    const dReal *at = dBodyGetPosition(body);
    const double what = chance_fraction(&w->dice);
    fill(w, x, 3, 0.2);
    if (what < 0.2) {
        dBodySetPosition(body, at[0] + x[0], at[1] + x[1], at[2] + x[2]);
    } else if (what < 0.4) {
        dBodySetLinearVel(body, 5 * x[0], 5 * x[1], 5 * x[2]);
    } else if (what < 0.5 && w->watch.bodies > 1) {
        destroy(w);
    } else if (what < 0.6) {
        dBodyDisable(body);
    } else if (what < 0.7) {
        dBodyEnable(body);
    } else if (what < 0.8 && dBodyGetNumJoints(body) > 0) {
        dJointDisable(dBodyGetJoint(body, 0));
    } else if (what > 0.95) {
        dBodyAddForce(body, dInfinity, 0, 0);
    }
}

static void prepare_step(bits_world *w)
{
    if (w->habits & BITS_PUSHES) {
        push(w);
    }
    if (w->habits & BITS_MEDDLES && often(w, 0.3)) {
        meddle(w);
    }
    w->touching = 0;
    dSpaceCollide(w->space, w, touch);
    if (w->habits & BITS_GIVES) {
        give(w);
    }
}

static void lift(dBodyID body)
{
    dBodyAddForce(body, 0, 0, 0.3);
}

static void slow(dBodyID body)
{
    const dReal *v = dBodyGetLinearVel(body);
    dBodySetLinearVel(body, 0.99 * v[0], 0.99 * v[1], v[2]);
}

static void start_threads(bits_world *w)
{
    w->threading = dThreadingAllocateMultiThreadedImplementation();
    w->pool = dThreadingAllocateThreadPool(2, 0, (unsigned)dAllocateMaskAll, NULL);
    dThreadingThreadPoolServeMultiThreadedImplementation(w->pool, w->threading);
    dWorldSetStepThreadingImplementation(
        w->watch.world, dThreadingImplementationGetFunctions(w->threading), w->threading);
}

static void end_threads(bits_world *w)
{
    dThreadingImplementationShutdownProcessing(w->threading);
    dThreadingFreeThreadPool(w->pool);
    dWorldSetStepThreadingImplementation(w->watch.world, NULL, NULL);
    dThreadingFreeImplementation(w->threading);
}

static bool is_near(const bits_world *w)
{
    bool near = true;
    for (int i = 0; i < w->watch.bodies; i++) {
        const double far = dCalcVectorLength3(dBodyGetPosition(w->watch.body[i]));
        const double fast = dCalcVectorLength3(dBodyGetLinearVel(w->watch.body[i]));
        near = near && far < 1e3 && fast < 1e6;
    }
    return near;
}

uint64_t bits_run(const bits_kind *kind, unsigned seed, const char *options)
{
    bits_world *w = open_world(kind, seed, options);
    if (w->habits & BITS_THREADS) {
        start_threads(w);
    }
    for (int i = 0; i < w->watch.bodies && w->habits & BITS_CALLS; i++) {
        dBodySetMovedCallback(w->watch.body[i], i % 2 ? slow : lift);
    }
    for (int n = 0; n < kind->steps && is_near(w); n++) {
        prepare_step(w);
        if (kind->habits & BITS_LINEAR && n % 3 == 2) {
            bits_add_derivatives(&w->watch, w->length);
        }
        (w->quick ? dWorldQuickStep : dWorldStep)(w->watch.world, w->length);
        bits_add_step(&w->watch);
        for (int i = 0; i < w->touching && i < BITS_CONTACTS; i++) {
            bits_add(&w->watch.hash, w->contact_feedback[i].f1, 3);
        }
        dJointGroupEmpty(w->contacts);
    }
    if (w->habits & BITS_THREADS) {
        end_threads(w);
    }
    const uint64_t hash = w->watch.hash;
    close_world(w);
    return hash;
}
