// Changes that a program makes to bodies in callbacks: those in moved callbacks take effect as
// under stock, those in near callbacks within a step as under stock before the next step. A program
// that stock survives when its callbacks destroy things survives under sprag.
#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "program_world.h"
#include "sprag.h"
#include "start.h"
#include "suite.h"

static const dReal step = 0.01; // s

typedef struct scene {
    dWorldID world;
    dSpaceID space;
    dJointGroupID contacts;
} scene;

static scene open_scene(const char *options)
{
    scene s = {dWorldCreate(), dSimpleSpaceCreate(0), dJointGroupCreate(0)};
    ck_assert_msg(sprag_world_configure(s.world, options), "%s", sprag_error());
    return s;
}

static void close_scene(scene *s)
{
    destroy_world(s->world, s->space, s->contacts);
}

static dBodyID add_ball(scene *s, double x, double z)
{
    dMass mass;
    dBodyID body = dBodyCreate(s->world);
    dMassSetSphereTotal(&mass, 2, 0.1);
    dBodySetMass(body, &mass);
    dBodySetPosition(body, x, 0, z);
    dGeomSetBody(dCreateSphere(s->space, 0.1), body);
    return body;
}

static void push(dBodyID body, double force, double torque)
{
    dBodySetForce(body, force, 0, 2 * force);
    dBodySetTorque(body, 0, torque, 0);
}

static void assert_near(const dReal *a, const dReal *b, const char *what, int i)
{
    for (int k = 0; k < 3; k++) {
        ck_assert_msg(fabs(a[k] - b[k]) <= 1e-12, "%s of body %d [%d]: %.15g, stock %.15g", what, i,
                      k, a[k], b[k]);
    }
}

// ---- moved callbacks

enum { BODIES = 4, METHODS = 3, STEPPERS = 2 };

static const char *const methods_[METHODS] = {"method=stribeck", "method=ess", "method=advance"};

static struct {
    dBodyID body[BODIES];
    int pusher;
    void (*does)(int);
    bool done;
    double force; // N
    double seen[BODIES];
} moved;

static void sets_force(int i)
{
    push(moved.body[i], moved.force + i, 0.1 * i + 0.2);
}

// By what it was, and what others see of it.
static void sets_velocity(int i)
{
    const dReal *v = dBodyGetLinearVel(moved.body[i]);
    moved.seen[i] = v[2];
    dBodySetLinearVel(moved.body[i], v[0] + 5, i, -3);
    dBodySetAngularVel(moved.body[i], 0, 2, 1);
}

static void sets_place(int i)
{
    moved.seen[i] = dBodyGetPosition(moved.body[i])[0];
    dBodySetPosition(moved.body[i], 10 * i, 3, 5);
    dBodySetLinearVel(moved.body[i], 0, 0, 1);
}

// That of one does it to all the others; once.
static void does_once(dBodyID body)
{
    if (body == moved.body[moved.pusher] && !moved.done) {
        moved.done = true;
        for (int i = 0; i < BODIES; i++) {
            if (i != moved.pusher || moved.does == sets_force) {
                moved.does(i);
            }
        }
    }
}

typedef struct pushed {
    dVector3 force[BODIES], torque[BODIES], velocity[BODIES], spin[BODIES], place[BODIES];
    double seen[BODIES];
} pushed;

static void nothing(void *data, dGeomID a, dGeomID b)
{
    (void)data, (void)a, (void)b;
}

// Two alone and two that a joint without rows makes an island of.
static void run_pushed(const char *options, void does(int), int pusher, bool quick, pushed seen[2])
{
    scene s = open_scene(options);
    dWorldSetGravity(s.world, 0, 0, -9.81);
    moved.pusher = pusher;
    moved.does = does;
    moved.done = false;
    moved.force = 7;
    memset(moved.seen, 0, sizeof moved.seen);
    for (int i = 0; i < BODIES; i++) {
        moved.body[i] = add_ball(&s, i, 0);
        dBodySetMovedCallback(moved.body[i], does_once);
        push(moved.body[i], 3 - i, 0.1);
    }
    dJointAttach(dJointCreateAMotor(s.world, 0), moved.body[1], moved.body[2]);
    for (int n = 0; n < 2; n++) {
        dSpaceCollide(s.space, NULL, nothing);
        ck_assert(quick ? dWorldQuickStep(s.world, step) : dWorldStep(s.world, step));
        for (int i = 0; i < BODIES; i++) {
            memcpy(seen[n].force[i], dBodyGetForce(moved.body[i]), sizeof(dReal[3]));
            memcpy(seen[n].torque[i], dBodyGetTorque(moved.body[i]), sizeof(dReal[3]));
            memcpy(seen[n].velocity[i], dBodyGetLinearVel(moved.body[i]), sizeof(dReal[3]));
            memcpy(seen[n].spin[i], dBodyGetAngularVel(moved.body[i]), sizeof(dReal[3]));
            memcpy(seen[n].place[i], dBodyGetPosition(moved.body[i]), sizeof(dReal[3]));
            seen[n].seen[i] = moved.seen[i];
        }
    }
    close_scene(&s);
}

START_TEST(forces_set_in_moved_callbacks_act_as_in_stock)
{
    const char *method = methods_[_i / BODIES % METHODS];
    const bool quick = _i / BODIES / METHODS;
    pushed ours[2] = {0}, stock[2] = {0};
    run_pushed(method, sets_force, _i % BODIES, quick, ours);
    run_pushed("method=ode", sets_force, _i % BODIES, quick, stock);
    for (int n = 0; n < 2; n++) {
        for (int i = 0; i < BODIES; i++) {
            assert_near(ours[n].force[i], stock[n].force[i], "force", i);
            assert_near(ours[n].torque[i], stock[n].torque[i], "torque", i);
            assert_near(ours[n].velocity[i], stock[n].velocity[i], "velocity", i);
            assert_near(ours[n].spin[i], stock[n].spin[i], "angular velocity", i);
        }
    }
}
END_TEST

// A body whose velocity is set before its own callback is called keeps it at the end of the step.
START_TEST(changes_in_moved_callbacks_take_effect_as_in_stock)
{
    const char *method = methods_[1 + _i / BODIES % 2];
    const bool quick = _i / BODIES / 2 % 2, places = _i / BODIES / 4;
    pushed ours[2] = {0}, stock[2] = {0};
    run_pushed(method, places ? sets_place : sets_velocity, _i % BODIES, quick, ours);
    run_pushed("method=ode", places ? sets_place : sets_velocity, _i % BODIES, quick, stock);
    for (int i = 0; i < BODIES; i++) {
        ck_assert_double_eq_tol(ours[0].seen[i], stock[0].seen[i], places ? 1e-4 : 1e-12);
        assert_near(ours[0].velocity[i], stock[0].velocity[i], "velocity", i);
        assert_near(ours[0].spin[i], stock[0].spin[i], "angular velocity", i);
        if (places && i != _i % BODIES) {
            ck_assert_double_eq_tol(ours[0].place[i][0], stock[0].place[i][0], 1e-12);
            ck_assert_double_eq_tol(ours[0].place[i][2], stock[0].place[i][2], 1e-12);
        }
    }
}
END_TEST

START_TEST(a_force_that_is_not_finite_is_left_out)
{
    scene s = open_scene(methods_[_i]);
    sprag_world_statistics told = {.struct_size = sizeof told};
    moved.pusher = 0;
    moved.does = sets_force;
    moved.done = false;
    moved.force = INFINITY;
    for (int i = 0; i < BODIES; i++) {
        moved.body[i] = add_ball(&s, i, 0);
        dBodySetMovedCallback(moved.body[i], does_once);
    }
    for (int n = 0; n < 2; n++) {
        dSpaceCollide(s.space, NULL, nothing);
        ck_assert(dWorldStep(s.world, step));
    }
    ck_assert(sprag_world_stats(s.world, &told));
    ck_assert_int_eq(told.invalid_forces, BODIES - 1);
    for (int i = 0; i < BODIES; i++) {
        ck_assert_double_eq(dBodyGetLinearVel(moved.body[i])[0], 0);
    }
    close_scene(&s);
}
END_TEST

// ---- near callbacks

typedef struct landing {
    scene scene;
    dBodyID ball, other;
    dVector3 seen;
    double force; // N; in the step it is set to that
    bool stepping, asked;
} landing;

static void sets_while_landing(void *data, dGeomID a, dGeomID b)
{
    landing *l = data;
    dContact contact = {.surface.mu = 0};
    if (dCollide(a, b, 1, &contact.geom, sizeof contact)) {
        dJointAttach(dJointCreateContact(l->scene.world, l->scene.contacts, &contact),
                     dGeomGetBody(a), dGeomGetBody(b));
        l->asked = l->stepping;
        memcpy(l->seen, dBodyGetForce(l->ball), sizeof(dReal[3]));
        push(l->ball, l->force, 0.3);
        push(l->other, l->force, 0.3);
    }
}

// Stock calls between steps, when accumulators are empty: what is set there is the force of the
// next step, whatever that of the step under way is.
START_TEST(forces_set_in_mid_step_are_the_next_steps)
{
    landing l = {.scene = open_scene(methods_[1 + _i / 2]), .force = _i % 2 ? 5 : 0};
    dCreatePlane(l.scene.space, 0, 0, 1, 0);
    l.ball = add_ball(&l.scene, 0, 0.105);
    l.other = add_ball(&l.scene, 3, 2);
    dBodySetLinearVel(l.ball, 0, 0, -1);
    push(l.ball, 3, 0);
    push(l.other, 3, 0.1);
    dSpaceCollide(l.scene.space, &l, sets_while_landing);
    l.stepping = true;
    ck_assert(dWorldStep(l.scene.world, step));
    ck_assert(l.asked);
    ck_assert_double_eq(l.seen[0], 0);
    ck_assert_double_eq(dBodyGetForce(l.ball)[0], l.force);
    ck_assert_double_eq(dBodyGetTorque(l.other)[1], 0.3);
    ck_assert_double_eq_tol(dBodyGetLinearVel(l.other)[0], step * 3 / 2, 1e-12);
    dSpaceCollide(l.scene.space, NULL, nothing);
    ck_assert(dWorldStep(l.scene.world, step));
    ck_assert_double_eq_tol(dBodyGetLinearVel(l.other)[0], step * (3 + l.force) / 2, 1e-12);
    ck_assert_double_eq(dBodyGetForce(l.ball)[0], 0);
    close_scene(&l.scene);
}
END_TEST

// A body that may hit a sleeping one wakes it, and the step starts again.
START_TEST(forces_outlast_a_waking)
{
    scene s = open_scene(methods_[1 + _i]);
    dBodyID flyer = add_ball(&s, 0, 0), sleeper = add_ball(&s, 0.2105, 0);
    dBodyDisable(sleeper);
    dBodySetLinearVel(flyer, 1, 0, 0);
    push(flyer, 3, 0.1);
    dSpaceCollide(s.space, NULL, nothing);
    ck_assert(dWorldStep(s.world, step));
    ck_assert(dBodyIsEnabled(sleeper));
    ck_assert_double_eq_tol(dBodyGetLinearVel(flyer)[0], 1 + step * 3 / 2, 1e-12);
    ck_assert_double_gt(dBodyGetAngularVel(flyer)[1], 0);
    close_scene(&s);
}
END_TEST

// ---- callbacks that destroy

enum { PARTS = 6, FRAMES = 12, FRAME_OF_ACT = 6 };

typedef enum act {
    DESTROYS_ITSELF,
    DESTROYS_NEXT,
    DESTROYS_LAST,
    DESTROYS_FAR,
    DESTROYS_OTHERS,
    DESTROYS_GEOM,
    DESTROYS_WORLD,
    DESTROYS_BARE,
    EMPTIES_GROUP,
    DESTROYS_JOINT,
    DESTROYS_OTHER_WORLD,
    ACTS
} act;

typedef enum place { MOVED, NEAR, NEAR_IN_STEP, PLACES } place;

static struct {
    scene scene;
    dWorldID other;      // of the same method
    dBodyID part[PARTS]; // NULL: destroyed
    dGeomID geom[PARTS];
    dBodyID bare; // without a geom, on a joint to part 0
    dJointID joint;
    act act;
    place place;
    int actor, frame;
    bool stepping, done;
} wreck;

static void destroy_part(int i)
{
    if (wreck.part[i]) {
        dGeomDestroy(wreck.geom[i]);
        dBodyDestroy(wreck.part[i]);
        wreck.part[i] = NULL;
    }
}

static void do_act(void)
{
    int i = wreck.actor;
    wreck.done = true;
    switch (wreck.act) {
    case DESTROYS_ITSELF:
        destroy_part(i);
        break;
    case DESTROYS_NEXT:
        destroy_part((i + 1) % PARTS);
        break;
    case DESTROYS_LAST:
        destroy_part((i + PARTS - 1) % PARTS);
        break;
    case DESTROYS_FAR:
        destroy_part((i + PARTS / 2) % PARTS);
        break;
    case DESTROYS_OTHERS:
        for (int k = 1; k < PARTS; k++) {
            destroy_part((i + k) % PARTS);
        }
        break;
    case DESTROYS_GEOM:
        dGeomDestroy(wreck.geom[i]);
        break;
    case DESTROYS_BARE:
        dBodyDestroy(wreck.bare);
        break;
    case EMPTIES_GROUP:
        dJointGroupEmpty(wreck.scene.contacts);
        break;
    case DESTROYS_JOINT:
        dJointDestroy(wreck.joint);
        break;
    case DESTROYS_WORLD:
        dWorldDestroy(wreck.scene.world);
        wreck.scene.world = NULL;
        break;
    case DESTROYS_OTHER_WORLD:
        dWorldDestroy(wreck.other);
        break;
    default:
        break;
    }
}

static void acts_when_moved(dBodyID body)
{
    if (!wreck.done && wreck.frame >= FRAME_OF_ACT && body == wreck.part[wreck.actor]) {
        do_act();
    }
}

static void acts_when_near(void *data, dGeomID a, dGeomID b)
{
    (void)data;
    dContact contact[4] = {
        {.surface.mu = 1}, {.surface.mu = 1}, {.surface.mu = 1}, {.surface.mu = 1}};
    dBodyID body[2] = {dGeomGetBody(a), dGeomGetBody(b)};
    int count = dCollide(a, b, 4, &contact->geom, sizeof contact[0]);
    for (int i = 0; i < count; i++) {
        dJointAttach(dJointCreateContact(wreck.scene.world, wreck.scene.contacts, &contact[i]),
                     body[0], body[1]);
    }
    dBodyID actor = wreck.part[wreck.actor];
    if (!wreck.done && wreck.place != MOVED && wreck.frame >= FRAME_OF_ACT &&
        wreck.stepping == (wreck.place == NEAR_IN_STEP) && (body[0] == actor || body[1] == actor)) {
        do_act();
    }
}

// Two balls on one another, two on a joint, one that falls, one that slides. The program ends with
// 0 if all that is left is finite.
static void run_wreck(const char *options)
{
    static const double where[PARTS][2] = {{0, 0.1}, {0.01, 0.3}, {2, 0.1},
                                           {2, 0.3}, {4, 0.12},   {6, 0.1}};
    wreck.scene = open_scene(options);
    wreck.other = dWorldCreate();
    ck_assert(sprag_world_configure(wreck.other, options));
    dBodyCreate(wreck.other);
    dWorldSetGravity(wreck.scene.world, 0, 0, -9.81);
    dCreatePlane(wreck.scene.space, 0, 0, 1, 0);
    for (int i = 0; i < PARTS; i++) {
        wreck.part[i] = add_ball(&wreck.scene, where[i][0], where[i][1]);
        wreck.geom[i] = dBodyGetFirstGeom(wreck.part[i]);
        if (wreck.place == MOVED) {
            dBodySetMovedCallback(wreck.part[i], acts_when_moved);
        }
    }
    dBodySetLinearVel(wreck.part[5], 1, 0, 0);
    wreck.joint = dJointCreateBall(wreck.scene.world, NULL);
    dJointAttach(wreck.joint, wreck.part[2], wreck.part[3]);
    dJointSetBallAnchor(wreck.joint, 2, 0, 0.2);
    wreck.bare = dBodyCreate(wreck.scene.world);
    dBodySetPosition(wreck.bare, 0, 0.5, 0.1);
    dJointAttach(dJointCreateBall(wreck.scene.world, NULL), wreck.bare, wreck.part[0]);
    for (wreck.frame = 0; wreck.frame < FRAMES && wreck.scene.world; wreck.frame++) {
        if (wreck.act != DESTROYS_OTHER_WORLD || !wreck.done) {
            dWorldStep(wreck.other, step);
        }
        dJointGroupEmpty(wreck.scene.contacts);
        dSpaceCollide(wreck.scene.space, NULL, acts_when_near);
        wreck.stepping = true;
        if (wreck.scene.world) {
            dWorldStep(wreck.scene.world, step);
        }
        wreck.stepping = false;
    }
    for (int i = 0; i < PARTS && wreck.scene.world; i++) {
        if (wreck.part[i] && !isfinite(dBodyGetPosition(wreck.part[i])[2])) {
            _exit(1);
        }
    }
}

static bool survives(const char *options)
{
    int status = 0;
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        alarm(60);
        fclose(stderr); // where ODE complains
        run_wreck(options);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Stock calls no near callback within a step: there it is compared with what the same does before.
START_TEST(what_stock_survives_does_not_end_the_program)
{
    int survived = 0;
    wreck.act = (act)(_i / PLACES);
    for (wreck.actor = 0; wreck.actor < PARTS; wreck.actor++) {
        wreck.place = _i % PLACES == MOVED ? MOVED : NEAR;
        if (!survives("method=ode")) {
            continue;
        }
        survived++;
        wreck.place = (place)(_i % PLACES);
        for (int i = 0; i < METHODS; i++) {
            ck_assert_msg(survives(methods_[i]), "act %d, place %d, by body %d, %s", wreck.act,
                          wreck.place, wreck.actor, methods_[i]);
        }
    }
    // Stock locks its spaces while it calls near callbacks.
    bool refused =
        wreck.act == DESTROYS_WORLD || (_i % PLACES != MOVED && wreck.act < DESTROYS_WORLD);
    ck_assert_int_eq(survived > 0, !refused);
}
END_TEST

static void setup(void)
{
    start_ode();
    dSetMessageHandler(quiet);
}

static void teardown(void)
{
    dCloseODE();
}

int main(void)
{
    Suite *suite = suite_create("callbacks");
    ADD_TESTS_WITH(suite, "forces", setup, teardown,
                   {forces_set_in_moved_callbacks_act_as_in_stock, BODIES * METHODS * STEPPERS},
                   {changes_in_moved_callbacks_take_effect_as_in_stock, BODIES * 2 * STEPPERS * 2},
                   {a_force_that_is_not_finite_is_left_out, METHODS},
                   {forces_set_in_mid_step_are_the_next_steps, 4},
                   {forces_outlast_a_waking, METHODS - 1});
    ADD_TESTS_WITH(suite, "destroys", setup, teardown,
                   {what_stock_survives_does_not_end_the_program, ACTS * PLACES});
    return run_suite_as(suite, CK_FORK); // what stock survives depends on the heap
}
