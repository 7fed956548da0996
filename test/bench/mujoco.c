// A scene stepped by MuJoCo in ODE's place: what is in ODE's world (spheres, boxes and planes, one
// geom a body, no joints) is given to MuJoCo as XML, and after each step poses and velocities are
// written back, so that whoever looks at the scene sees MuJoCo's.
//
// Masses, sizes, friction, gravity and step are ODE's. Contacts are MuJoCo's own, and about as
// many: of the same poses both say the same of spheres, but between boxes MuJoCo's depth is one
// half to three quarters of ODE's. Counted is mj_step without its collision detection, by its own
// timers, which are set to processor time: kinematics, inertia, constraints, solver, integration.
// Writing back is not.
//
// Contacts are as hard as MuJoCo offers and its solvers bear: solref's time constant at its lower
// bound of two steps, critically damped, which corrects depth about as fast as ODE's ERP of 0.2;
// solimp constant at 0.99 (from 0.999 on Newton ends with momentum that is off, see there). Cones
// are elliptic, condim is 3. Solver, impratio and noslip are the caller's; all else is default.
//
// MuJoCo's convex friction lifts sliding contacts: in the shaken scene they separate at about mu
// times their slip, are lost, and sink in again, so there are fewer and deeper contacts than
// elsewhere.
//
// Some of its arrays have rows for all contacts and columns for all velocities, and the bytes of
// all are counted in an int: 1000 bodies do not fit into version 2.2.2.
#define _DEFAULT_SOURCE 1 // open_memstream
#include "bench.h"

#ifdef BENCH_MUJOCO
#include <mujoco/mujoco.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scene.h"

static const double hardness = 0.99; // 1 is rigid

// In MuJoCo, body i + 1 is the scene's body i, all of whose coordinates are those of free joint i.
struct mujoco {
    mjModel *model;
    mjData *data;
    sprag_script script; // without ODE's collision
    sprag_model scene;
};

static void fail(const char *message)
{
    fprintf(stderr, "bench: MuJoCo: %s\n", message);
    exit(EXIT_FAILURE);
}

// Without a handler MuJoCo writes its warnings to a file. Its data counts them.
static void ignore(const char *message)
{
    (void)message;
}

// ---- the scene as XML

static void write_vector(FILE *xml, const char *name, const double *v, int length)
{
    fprintf(xml, " %s='", name);
    for (int k = 0; k < length; k++) {
        fprintf(xml, "%.17g ", v[k]);
    }
    fputs("'", xml);
}

// Of two geoms MuJoCo takes the greater friction: each gets the least that it has with any other.
static void write_friction(FILE *xml, const sprag_scene *scene, dGeomID geom)
{
    double least = dInfinity;
    for (int i = 0; i < dSpaceGetNumGeoms(scene->space); i++) {
        dGeomID other = dSpaceGetGeom(scene->space, i);
        if (other != geom && (dGeomGetBody(geom) || dGeomGetBody(other))) {
            least = dMin(least, bench_surface(scene, geom, other).mu);
        }
    }
    if (scene->model->script->surface) {
        fprintf(xml, " friction='%.17g 0 0'", least);
    }
}

static void write_shape(FILE *xml, dGeomID geom)
{
    if (dGeomGetClass(geom) == dSphereClass) {
        fprintf(xml, " type='sphere' size='%.17g'", dGeomSphereGetRadius(geom));
    } else if (dGeomGetClass(geom) == dBoxClass) {
        dVector3 side;
        dGeomBoxGetLengths(geom, side);
        fputs(" type='box'", xml);
        write_vector(xml, "size", (const double[3]){side[0] / 2, side[1] / 2, side[2] / 2}, 3);
    } else {
        fail("there is a geom that is neither sphere nor box");
    }
}

static void write_fixed(FILE *xml, const sprag_scene *scene, dGeomID geom)
{
    fputs("<geom", xml);
    write_friction(xml, scene, geom);
    if (dGeomGetClass(geom) == dPlaneClass) {
        dVector4 plane; // normal and offset
        dGeomPlaneGetParams(geom, plane);
        fputs(" type='plane' size='0 0 1'", xml);
        write_vector(xml, "zaxis", plane, 3);
        dScaleVector3(plane, plane[3]);
        write_vector(xml, "pos", plane, 3);
    } else {
        dQuaternion turned;
        dGeomGetQuaternion(geom, turned);
        write_shape(xml, geom);
        write_vector(xml, "pos", dGeomGetPosition(geom), 3);
        write_vector(xml, "quat", turned, 4);
    }
    fputs("/>\n", xml);
}

static void write_body(FILE *xml, const sprag_scene *scene, dBodyID body)
{
    dMass mass;
    dBodyGetMass(body, &mass);
    fputs("<body><freejoint/><geom", xml);
    write_shape(xml, dBodyGetFirstGeom(body));
    write_friction(xml, scene, dBodyGetFirstGeom(body));
    fprintf(xml, " mass='%.17g'/></body>\n", mass.mass);
}

static void write_scene(FILE *xml, const sprag_scene *scene, const char *options, int contacts)
{
    enum { ROWS = 3 }; // of a contact
    fprintf(xml, "<mujoco><option timestep='%.17g' cone='elliptic' %s/>\n", scene->step, options);
    fprintf(xml, "<size nconmax='%d' njmax='%d'/>\n", contacts, ROWS * contacts);
    fprintf(xml, "<default><geom condim='3' friction='%.17g 0 0' solref='%.17g 1' ",
            scene->model->script->friction, 2 * scene->step);
    fprintf(xml, "solimp='%g %g 1'/></default>\n<worldbody>\n", hardness, hardness);
    for (int i = 0; i < dSpaceGetNumGeoms(scene->space); i++) {
        dGeomID geom = dSpaceGetGeom(scene->space, i);
        if (!dGeomGetBody(geom)) {
            write_fixed(xml, scene, geom);
        }
    }
    for (int i = 0; i < scene->bodies; i++) {
        write_body(xml, scene, scene->body[i]);
    }
    fputs("</worldbody></mujoco>\n", xml);
}

static mjModel *load(char *xml, size_t length)
{
    static const char name[] = "scene.xml";
    char message[256];
    mjVFS *files = bench_allocate(1, sizeof *files);
    mj_defaultVFS(files);
    if (mj_makeEmptyFileVFS(files, name, (int)length)) {
        fail("no room for the scene");
    }
    memcpy(files->filedata[0], xml, length);
    mjModel *model = mj_loadXML(name, files, message, sizeof message);
    if (!model) {
        fail(message);
    }
    mj_deleteVFS(files);
    free(files);
    return model;
}

// ---- state: MuJoCo turns bodies in their own frames

static void read_state(mjData *data, const sprag_scene *scene)
{
    for (int i = 0; i < scene->bodies; i++) {
        dBodyID body = scene->body[i];
        const dReal *w = dBodyGetAngularVel(body);
        mjtNum *q = data->qpos + 7 * i, *v = data->qvel + 6 * i;
        dVector3 turning;
        dBodyVectorFromWorld(body, w[0], w[1], w[2], turning);
        mju_copy(q, dBodyGetPosition(body), 3);
        mju_copy(q + 3, dBodyGetQuaternion(body), 4);
        mju_copy(v, dBodyGetLinearVel(body), 3);
        mju_copy(v + 3, turning, 3);
    }
}

static void write_state(const mjData *data, const sprag_scene *scene)
{
    for (int i = 0; i < scene->bodies; i++) {
        dBodyID body = scene->body[i];
        const mjtNum *q = data->qpos + 7 * i, *v = data->qvel + 6 * i;
        dVector3 w;
        dBodySetPosition(body, q[0], q[1], q[2]);
        dBodySetQuaternion(body, q + 3);
        dBodySetLinearVel(body, v[0], v[1], v[2]);
        dBodyVectorToWorld(body, v[3], v[4], v[5], w);
        dBodySetAngularVel(body, w[0], w[1], w[2]);
    }
}

// ---- a step

// The forces of the program are those of one step.
static void give_forces(mjData *data, const sprag_scene *scene)
{
    for (int i = 0; i < scene->bodies; i++) {
        mjtNum *to = data->xfrc_applied + 6 * (i + 1);
        mju_copy3(to, dBodyGetForce(scene->body[i]));
        mju_copy3(to + 3, dBodyGetTorque(scene->body[i]));
        dBodySetForce(scene->body[i], 0, 0, 0);
        dBodySetTorque(scene->body[i], 0, 0, 0);
    }
}

static dBodyID body_of(const struct mujoco *m, const sprag_scene *scene, int geom)
{
    int body = m->model->geom_bodyid[geom];
    return body ? scene->body[body - 1] : NULL;
}

// Of the step that was: normals point from the first geom to the second, forces are on that.
static void tell_contacts(const struct mujoco *m, const sprag_scene *scene)
{
    for (int i = 0; i < m->data->ncon; i++) {
        const mjContact *c = &m->data->contact[i];
        residue_contact seen = {.body = {body_of(m, scene, c->geom2), body_of(m, scene, c->geom1)},
                                .depth = -c->dist,
                                .friction = c->friction[0]};
        mjtNum force[6];
        mj_contactForce(m->model, m->data, i, force);
        mju_copy3(seen.point, c->pos);
        mju_copy3(seen.normal, c->frame);
        mju_rotVecMatT(seen.force, force, c->frame);
        residue_add(&seen);
    }
}

static double lasted(const mjData *data)
{
    return data->timer[mjTIMER_STEP].duration - data->timer[mjTIMER_POS_COLLISION].duration;
}

void bench_mujoco_step(bench_scene *b)
{
    struct mujoco *m = b->mujoco;
    sprag_scene *scene = &b->scene;
    dVector3 gravity;
    dWorldGetGravity(scene->world, gravity);
    mju_copy3(m->model->opt.gravity, gravity);
    give_forces(m->data, scene);
    double before = lasted(m->data);
    mj_step(m->model, m->data);
    bench_stepper_us = lasted(m->data) - before;

    const mjWarningStat *warned = m->data->warning;
    if (warned[mjWARN_CONTACTFULL].number || warned[mjWARN_CNSTRFULL].number) {
        fail("more contacts than there is room for");
    }
    scene->nonfinite += warned[mjWARN_BADQPOS].number || warned[mjWARN_BADQVEL].number ||
                        warned[mjWARN_BADQACC].number; // it has put all back to the start
    scene->touching = m->data->ncon;
    tell_contacts(m, scene);
    write_state(m->data, scene);
}

bool bench_has_mujoco(void)
{
    return true;
}

void bench_mujoco_print_version(void)
{
    printf("# MuJoCo %s\n", mj_versionString());
}

void bench_mujoco_open(bench_scene *b, const char *options, int contacts)
{
    sprag_scene *scene = &b->scene;
    char *xml;
    size_t length;
    FILE *file = open_memstream(&xml, &length);
    if (!file) {
        fail("no memory");
    }
    mju_user_error = fail;
    mju_user_warning = ignore;
    mjcb_time = bench_cpu_us;
    write_scene(file, scene, options, 2 * contacts + 100);
    fclose(file);

    struct mujoco *m = bench_allocate(1, sizeof *m);
    m->model = load(xml, length);
    m->data = mj_makeData(m->model);
    m->script = *scene->model->script;
    m->script.contacts = 0;
    m->scene = *scene->model;
    m->scene.script = &m->script;
    read_state(m->data, scene);
    scene->model = &m->scene;
    b->mujoco = m;
    free(xml);
}

void bench_mujoco_close(bench_scene *b)
{
    if (b->mujoco) {
        mj_deleteData(b->mujoco->data);
        mj_deleteModel(b->mujoco->model);
        free(b->mujoco);
        b->mujoco = NULL;
    }
}

#else // not installed: nobody asks for it

bool bench_has_mujoco(void)
{
    return false;
}

void bench_mujoco_print_version(void)
{
}

void bench_mujoco_open(bench_scene *b, const char *options, int contacts)
{
    (void)b;
    (void)options;
    (void)contacts;
}

void bench_mujoco_step(bench_scene *b)
{
    (void)b;
}

void bench_mujoco_close(bench_scene *b)
{
    (void)b;
}

#endif
