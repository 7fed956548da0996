// The table of models, and the functions of all scenes: collision, step, records of energy and
// penetration.
#include "models.h"
#include "scene.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONTACTS_MAX = 16, SIZES_MAX = 64, NAME_MAX_LENGTH = 48 };

// A body farther away was thrown out of its scene; coordinates in ODE's collision would overflow.
static const double world_extent = 1e6; // m

// A solver that creates no energy still has rounding errors.
static const double good_energy_gain = 1e-6; // of the first energy

const sprag_model sprag_models[] = {
    // name, summary, step, seconds, settled, driven, size, script
    {"slope", "box at rest on a 20 deg slope, mu 0.5", 0.01, 10, 1, 0, 0, &sprag_slope, 0},
    {"push", "four boxes pushed at 0, 15, 30, 45 deg, mu 0.5", 0.01, 16, 1, 1, 0, &sprag_push, 0},
    {"slide", "box that slides to rest, mu 0.3", 0.01, 2, 0, 0, 0, &sprag_slide, 0},
    {"gripper", "cube of 0.5 kg held by two fingers, mu 0.8", 0.01, 30, 1, 1, 0, &sprag_gripper, 0},
    {"stack", "ten equal boxes", 0.01, 10, 1, 0, 0, &sprag_stack, 0},
    {"stack-geometric", "ten boxes, 1 kg to 1000 kg on top", 0.01, 10, 1, 0, 0,
     &sprag_stack_geometric, 0},
    {"stack-heavy-top", "nine boxes of 1 kg under one of 1000 kg", 0.01, 10, 1, 0, 0,
     &sprag_stack_heavy_top, 0},
    {"heavy", "1 kg box under a box of 100 kg", 0.01, 10, 1, 0, 0, &sprag_heavy, 0},
    {"bounce", "ball dropped from 1 m, restitution 0.8", 0.01, 2, 0, 0, 0, &sprag_bounce, 0},
    {"wall", "balls at 5, 20, 50, 100 m/s against a 10 cm wall", 0.01, 1, 0, 0, 0, &sprag_wall, 0},
    {"rolling", "SimBenchmark: plate with 25 balls, pushed along y", 0.001, 4, 0, 1, 0,
     &sprag_rolling, 0},
    {"rolling-xy", "the same, pushed at 60 deg", 0.001, 4, 0, 1, 0, &sprag_rolling_xy, 0},
    {"bouncing", "SimBenchmark: 49 balls dropped from 5 m, elastic", 0.01, 4, 0, 1, 0,
     &sprag_bouncing, 0},
    {"666", "SimBenchmark: 6 x 6 x 6 balls without friction", 0.01, 1, 0, 0, 0, &sprag_666, 0},
    {"elastic-666", "the same, elastic, from 1 m", 0.01, 1, 0, 1, 0, &sprag_elastic_666, 0},
    {"kapla", "SimBenchmark: tower of 102 blocks, mu 0.64", 0.01, 1, 0, 0, 0, &sprag_kapla, 0},
    {"chain", "20 links on ball joints, falling from the horizontal", 0.01, 5, 0, 0, 0,
     &sprag_chain, 0},
    {"chain-hinge", "the same on hinges about y and z in turn", 0.01, 5, 0, 0, 0,
     &sprag_chain_hinge, 0},
    {"car", "four sprung wheels, driven and steered", 0.01, 12, 1, 1, 0, &sprag_car, 0},
    {"legs", "quadruped that trots, feet of 1000 vertices", 0.01, 6, 2, 1, 0, &sprag_legs, 0},
    {"pile", "spheres and boxes in a bin; pile:500 for another number", 0.01, 3, 2, 0, 100,
     &sprag_pile, 0},
    {"bowl", "spheres and boxes in a bowl; bowl:300", 0.01, 1, 0.5, 0, 60, &sprag_bowl, 0},
    {"dominoes", "a row on a curve, the first one falls; dominoes:60", 0.01, 1.5, 0, 0, 20,
     &sprag_dominoes, 0},
    {"jenga", "tower of 18 layers with gaps", 0.01, 1, 0.5, 0, 54, &sprag_jenga, 0},
    {"wreck", "500 kg on a chain against a wall of bricks; wreck:200", 0.01, 1, 0, 0, 40,
     &sprag_wreck, 0},
    {"ragdolls", "figures of eleven bodies fall on each other; ragdolls:12", 0.01, 1, 0, 0, 4,
     &sprag_ragdolls, 0},
    {"yard", "car drives into 30 crates and brakes, a ragdoll falls on them", 0.01, 2, 0, 1, 46,
     &sprag_yard, 0},
    {"rope", "50 links and a load of so many links, at 45 deg; rope:10", 0.01, 10, 0, 1, 1000,
     &sprag_rope, 0},
    {"bridge", "50 hinged planks under a load of so many planks; bridge:100", 0.01, 10, 0, 1, 1000,
     &sprag_bridge, 0},
    {"crane", "trolley that starts at once, 100 kg on a cable of 5 kg", 0.01, 10, 0, 1, 0,
     &sprag_crane, 0},
    {"gyroscope", "disc of 100 rad/s on a level arm", 0.01, 20, 0, 1, 0, &sprag_gyroscope, 0},
    {"top", "disc of 60 rad/s above a round tip, mu 0.5", 0.01, 5, 1, 1, 0, &sprag_top, 0},
    {"balance", "pole on a cart, held up by a linear-quadratic regulator", 0.01, 8, 0, 1, 0,
     &sprag_balance, 0},
    {"arch", "half circle of nine stones, mu 0.8", 0.01, 10, 1, 0, 0, &sprag_arch, 0},
    {"peg", "pegs fall into holes with 2 um of play; peg:1000", 0.01, 0.3, 0, 0, 2, &sprag_peg, 0},
    {"cannon", "balls at 5, 20, 50, 100 m/s against hanging plates of 10 cm", 0.01, 1, 0, 1, 0,
     &sprag_cannon, 0},
    {0},
};

// A name like "pile:500" needs a row of its own that outlives the call.
static const sprag_model *sized(const sprag_model *model, long size, long seed)
{
    static sprag_model row[SIZES_MAX];
    static char name[SIZES_MAX][NAME_MAX_LENGTH];
    int i = 0;
    while (i < SIZES_MAX && row[i].name &&
           (row[i].script != model->script || row[i].size != size || row[i].seed != seed)) {
        i++;
    }
    if (i == SIZES_MAX) {
        return NULL;
    }
    if (!row[i].name) {
        snprintf(name[i], sizeof name[i], seed ? "%s:%ld:%ld" : "%s:%ld", model->name, size, seed);
        row[i] = *model;
        row[i].name = name[i];
        row[i].size = (int)size;
        row[i].seed = (unsigned)seed;
    }
    return &row[i];
}

int sprag_model_size_max(const sprag_model *model)
{
    return model->script->size_max ? model->script->size_max : 100000;
}

const sprag_model *sprag_model_find(const char *name)
{
    size_t length = strcspn(name, ":");
    const sprag_model *model = sprag_models;
    while (model->name &&
           (strlen(model->name) != length || strncmp(model->name, name, length) != 0)) {
        model++;
    }
    if (!model->name || !name[length]) {
        return model->name ? model : NULL;
    }
    char *end;
    long size = strtol(name + length + 1, &end, 10), seed = 0;
    bool good = model->size > 0 && end > name + length + 1 && size >= 1 &&
                size <= sprag_model_size_max(model);
    if (good && *end == ':') {
        const char *second = end + 1;
        seed = strtol(second, &end, 10);
        good = end > second && seed >= 0 && seed <= 1000000;
    }
    return good && !*end ? sized(model, size, seed) : NULL;
}

static dBodyID add_body(sprag_scene *scene, const dMass *mass, dGeomID geom, double x, double y,
                        double z)
{
    dBodyID body = dBodyCreate(scene->world);
    dBodySetMass(body, mass);
    dBodySetPosition(body, x, y, z);
    dGeomSetBody(geom, body);
    dBodyID *list = realloc(scene->body, ((size_t)scene->bodies + 1) * sizeof *list);
    if (list) {
        scene->body = list;
        scene->body[scene->bodies++] = body;
    } else {
        scene->failed = 1;
    }
    return body;
}

dBodyID sprag_scene_box(sprag_scene *scene, double mass, const double side[3], double x, double y,
                        double z)
{
    dMass m;
    dMassSetBoxTotal(&m, mass, side[0], side[1], side[2]);
    return add_body(scene, &m, dCreateBox(scene->space, side[0], side[1], side[2]), x, y, z);
}

dBodyID sprag_scene_cube(sprag_scene *scene, double mass, double side, double x, double y, double z)
{
    return sprag_scene_box(scene, mass, (const double[3]){side, side, side}, x, y, z);
}

dBodyID sprag_scene_ball(sprag_scene *scene, double mass, double radius, double x, double y,
                         double z)
{
    dMass m;
    dMassSetSphereTotal(&m, mass, radius);
    return add_body(scene, &m, dCreateSphere(scene->space, radius), x, y, z);
}

dBodyID sprag_scene_cylinder(sprag_scene *scene, double mass, double radius, double length,
                             double x, double y, double z)
{
    dMass m;
    dMassSetCylinderTotal(&m, mass, 3, radius, length);
    return add_body(scene, &m, dCreateCylinder(scene->space, radius, length), x, y, z);
}

dBodyID sprag_scene_capsule(sprag_scene *scene, double mass, double radius, double length, double x,
                            double y, double z)
{
    dMass m;
    dMassSetCapsuleTotal(&m, mass, 3, radius, length);
    return add_body(scene, &m, dCreateCapsule(scene->space, radius, length), x, y, z);
}

dJointID sprag_scene_wheel(sprag_scene *scene, dBodyID chassis, dBodyID wheel, double spring,
                           double damper)
{
    const double h = scene->step;
    const dReal *at = dBodyGetPosition(wheel);
    static const dVector3 up = {0, 0, 1}, left = {0, 1, 0};
    dJointID joint = dJointCreateHinge2(scene->world, 0);
    dJointAttach(joint, chassis, wheel);
    dJointSetHinge2Anchor(joint, at[0], at[1], at[2]);
    dJointSetHinge2Axes(joint, up, left);
    dJointSetHinge2Param(joint, dParamSuspensionERP, h * spring / (h * spring + damper));
    dJointSetHinge2Param(joint, dParamSuspensionCFM, 1 / (h * spring + damper));
    return joint;
}

// Knuth's MMIX generator.
double sprag_scene_draw(sprag_scene *scene, double low, double high)
{
    scene->random = scene->random * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (double)(scene->random >> 11) / 9007199254740992.0;
}

dGeomID sprag_scene_floor(sprag_scene *scene)
{
    return dCreatePlane(scene->space, 0, 0, 1, 0);
}

double sprag_scene_time(const sprag_scene *scene)
{
    return (double)scene->steps_done * scene->step;
}

int sprag_scene_reaches(const sprag_scene *scene, double t)
{
    return scene->steps_done == lround(t / scene->step);
}

double sprag_distance(const dReal *a, const dReal *b)
{
    return sqrt(pow(a[0] - b[0], 2) + pow(a[1] - b[1], 2) + pow(a[2] - b[2], 2));
}

// w . I w / 2 + m v . v / 2 - m g . x; the first term in body axes, in which ODE stores I.
static double energy_of(const sprag_scene *scene, dBodyID body)
{
    dMass m;
    dBodyGetMass(body, &m);
    dVector3 g, w, spin;
    dWorldGetGravity(scene->world, g);
    const dReal *x = dBodyGetPosition(body);
    const dReal *v = dBodyGetLinearVel(body);
    const dReal *turn = dBodyGetAngularVel(body);
    dBodyVectorFromWorld(body, turn[0], turn[1], turn[2], w);
    dMultiply0_331(spin, m.I, w);
    return dCalcVectorDot3(w, spin) / 2 + m.mass * dCalcVectorDot3(v, v) / 2 -
           m.mass * dCalcVectorDot3(g, x);
}

static double total_energy(const sprag_scene *scene)
{
    double sum = 0;
    for (int i = 0; i < scene->bodies; i++) {
        sum += energy_of(scene, scene->body[i]);
    }
    return sum;
}

static int is_finite(dBodyID body)
{
    const dReal *x = dBodyGetPosition(body);
    const dReal *v = dBodyGetLinearVel(body);
    const dReal *w = dBodyGetAngularVel(body);
    const dReal *q = dBodyGetQuaternion(body);
    int finite = isfinite(q[3]);
    for (int i = 0; i < 3; i++) {
        finite = finite && fabs(x[i]) < world_extent && isfinite(v[i]) && isfinite(w[i]) &&
                 isfinite(q[i]);
    }
    return finite;
}

// Near callback: makes contact joints for two geoms, as in any ODE program.
static void collide(void *data, dGeomID a, dGeomID b)
{
    sprag_scene *scene = data;
    const sprag_script *script = scene->model->script;
    dBodyID p = dGeomGetBody(a), q = dGeomGetBody(b);
    if ((!p && !q) || (p && q && dAreConnectedExcluding(p, q, dJointTypeContact))) {
        return;
    }
    dContact contact[CONTACTS_MAX] = {0};
    int count = dCollide(a, b, script->contacts, &contact[0].geom, sizeof contact[0]);
    for (int i = 0; i < count; i++) {
        dSurfaceParameters *surface = &contact[i].surface;
        surface->mode = dContactApprox1;
        surface->mu = script->friction;
        if (script->surface) {
            script->surface(scene, a, b, surface);
        }
        dJointAttach(dJointCreateContact(scene->world, scene->contacts, &contact[i]), p, q);
        double depth = contact[i].geom.depth;
        if (depth >= 0) { // else it is a gap
            scene->penetration = fmax(scene->penetration, depth);
            scene->mean_penetration += (depth - scene->mean_penetration) / ++scene->touching;
        }
    }
}

int sprag_scene_open(sprag_scene *scene, const sprag_model *model, double step)
{
    *scene = (sprag_scene){
        .model = model, .step = step > 0 ? step : model->step, .random = 1 + model->seed};
    if (model->script->data) {
        scene->data = calloc(1, model->script->data);
        if (!scene->data) {
            return 0;
        }
    }
    scene->world = dWorldCreate();
    scene->space = dHashSpaceCreate(NULL);
    scene->contacts = dJointGroupCreate(0);
    dWorldSetGravity(scene->world, 0, 0, -SPRAG_GRAVITY);
    model->script->open(scene);
    if (scene->failed) {
        sprag_scene_close(scene);
        return 0;
    }
    scene->energy = scene->first_energy = total_energy(scene);
    return 1;
}

void sprag_scene_step(sprag_scene *scene)
{
    const sprag_script *script = scene->model->script;
    if (scene->nonfinite) {
        return; // ODE's collision aborts the program on such values
    }
    if (script->before_step) {
        script->before_step(scene);
    }
    scene->penetration = scene->mean_penetration = scene->touching = 0;
    if (script->contacts) {
        dSpaceCollide(scene->space, scene, collide);
    }
    dWorldStep(scene->world, scene->step);
    dJointGroupEmpty(scene->contacts);
    scene->steps_done++;

    for (int i = 0; i < scene->bodies; i++) {
        scene->nonfinite += !is_finite(scene->body[i]);
    }
    if (scene->nonfinite) {
        return;
    }
    if (sprag_scene_time(scene) > scene->model->settled) {
        scene->worst_penetration = fmax(scene->worst_penetration, scene->penetration);
    }
    scene->energy = total_energy(scene);
    scene->energy_gain = fmax(scene->energy_gain, scene->energy - scene->first_energy);
    if (script->after_step) {
        script->after_step(scene);
    }
}

int sprag_scene_measure(const sprag_scene *scene, sprag_measure *measures)
{
    const sprag_model *model = scene->model;
    const sprag_script *script = model->script;
    int count = script->measure(scene, measures);
    if (script->contacts) {
        measures[count++] =
            (sprag_measure){"penetration", "m", scene->worst_penetration, 0,
                            script->penetration > 0 ? script->penetration : SPRAG_GOOD_LENGTH};
    }
    if (!model->driven) {
        measures[count++] = (sprag_measure){"energy growth", "J", scene->energy_gain, NAN,
                                            good_energy_gain * fabs(scene->first_energy)};
    }
    for (int i = 0; scene->nonfinite && i < count; i++) {
        measures[i].value = NAN;
    }
    return count;
}

void sprag_scene_close(sprag_scene *scene)
{
    if (scene->world) {
        dJointGroupDestroy(scene->contacts);
        dSpaceDestroy(scene->space);
        dWorldDestroy(scene->world);
    }
    free(scene->body);
    free(scene->data);
    *scene = (sprag_scene){0};
}
