// The record of collision calls: kept until the step, whatever is destroyed; and the near callback
// can be asked again in the middle of a step.
#include <check.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "allocations.h"
#include "collide_ask.h"
#include "collision_scene.h"
#include "start.h"
#include "step_guard.h"

// ---- a world, and what its callback was given

static int queries;

static void query(void *data, dGeomID a, dGeomID b)
{
    (void)data, (void)a, (void)b;
    queries++;
}

// ---- records

START_TEST(worlds_have_records_of_their_own)
{
    scene a = open_scene("method=advance"), b = open_scene("method=advance");
    add_floor(a.space), add_floor(b.space);
    add_box(&a, a.space, 0, gap), add_box(&b, b.space, 0, gap);
    for (int frame = 0; frame < 3; frame++) { // each in turn
        collide(&a);
        ck_assert_int_eq(recorded(&a), 1);
        ck_assert_int_eq(dWorldStep(a.world, 1e-9), 1);
        ck_assert_int_eq(recorded(&a), 0);
        collide(&b);
        ck_assert_int_eq(recorded(&a), 0);
        ck_assert_int_eq(recorded(&b), 1);
        ck_assert_int_eq(dWorldQuickStep(b.world, 1e-9), 1);
        ck_assert_int_eq(recorded(&b), 0);
    }
    collide(&a), collide(&b); // first all calls, then all steps
    ck_assert_int_eq(recorded(&a), 1);
    ck_assert_int_eq(dWorldStep(a.world, 1e-9), 1);
    ck_assert_int_eq(recorded(&b), 1);
    int count;
    ck_assert_ptr_eq(sprag_ode_recorded(record_of(&b), &count)->a, (dGeomID)b.space);
    ck_assert_int_eq(dWorldStep(b.world, 1e-9), 1);
    dGeomID visitor = add_box(&b, a.space, 5, gap); // one space for both
    a.declines = true;
    collide(&a);
    ck_assert_int_eq(recorded(&a), 1);
    ck_assert_int_eq(recorded(&b), 1);
    ck_assert_int_eq(dWorldStep(a.world, 1e-9), 1);
    ck_assert_int_eq(recorded(&b), 1);
    dGeomDestroy(visitor);
    close_scene(&a);
    close_scene(&b);
}
END_TEST

// Boxes of 0.2 to 2.8 m stand on others of these sizes. ODE offers those that overlap; those that
// rest at a gap come in the same order, which decides what motion1 of a belt means.
START_TEST(offers_pairs_in_the_order_of_ode)
{
    enum { SIDES = 5 };
    static const double side[SIDES] = {0.2, 0.4, 0.9, 1.3, 2.8};
    scene s = open_scene("method=advance");
    dSpaceID space = _i ? dHashSpaceCreate(NULL) : dSimpleSpaceCreate(NULL);
    dGeomID lower[SIDES * SIDES], upper[SIDES * SIDES], first[SIDES * SIDES];
    if (_i == 2) {
        dHashSpaceSetLevels(space, -1, 1); // the largest are in no cell
    }
    for (int i = 0; i < SIDES * SIDES; i++) {
        const double below = side[i % SIDES], above = side[i / SIDES];
        lower[i] = dCreateBox(space, below, below, below);
        upper[i] = on_body(&s, dCreateBox(space, above, above, above), 0, 0, 0);
        dGeomSetPosition(lower[i], 10 * i, 0, -below / 2);
    }
    for (int apart = 0; apart < 2; apart++) {
        for (int i = 0; i < SIDES * SIDES; i++) {
            const double z = side[i / SIDES] / 2 + (apart ? gap : -gap);
            dBodySetPosition(dGeomGetBody(upper[i]), 10 * i, 0, z);
        }
        start_frame(&s);
        dSpaceCollide(space, &s, touch);
        ck_assert_int_eq(s.calls, SIDES * SIDES);
        for (int i = 0; i < SIDES * SIDES; i++) {
            ck_assert_int_eq(times_given(&s, lower[i], upper[i]), 1);
            for (int k = 0; k < s.calls; k++) {
                if (s.given[k][0] == lower[i] || s.given[k][1] == lower[i]) {
                    ck_assert(apart == 0 || s.given[k][0] == first[i]);
                    first[i] = s.given[k][0];
                }
            }
        }
    }
    dSpaceDestroy(space);
    close_scene(&s);
}
END_TEST

// As by ODE. A capsule without length is a ball.
START_TEST(geoms_without_size_are_not_offered)
{
    static const char *const options[] = {"method=ode-step", "stribeck.speculative=1",
                                          "method=advance"};
    scene s = open_scene(options[_i]);
    dGeomID floor = add_floor(s.space);
    const dGeomID geom[] = {dCreateSphere(s.space, 0),        dCreateBox(s.space, 0.2, 0.2, 0),
                            dCreateCylinder(s.space, 0.1, 0), dCreateCapsule(s.space, 0, 0.2),
                            dCreateCapsule(s.space, 0.1, 0),  dCreateSphere(s.space, 0.1)};
    enum { GEOMS = sizeof geom / sizeof geom[0], WITH_SIZE = 2 };
    for (int i = 0; i < GEOMS; i++) {
        on_body(&s, geom[i], 2 * i, 0, -0.05);
    }
    collide(&s);
    for (int i = 0; i < GEOMS; i++) {
        ck_assert_int_eq(times_given(&s, floor, geom[i]), i >= GEOMS - WITH_SIZE);
    }
    close_scene(&s);
}
END_TEST

START_TEST(offered_pairs_are_on_record_until_the_step)
{
    scene s = open_scene("method=advance");
    dGeomID floor = add_floor(s.space), rests = add_box(&s, s.space, 0, gap);
    dGeomID deep = add_box(&s, s.space, 3, -0.1), far = add_box(&s, s.space, 6, 1);
    collide(&s);
    const ode_record *r = record_of(&s);
    ck_assert(sprag_ode_was_offered(r, floor, rests));
    ck_assert(sprag_ode_was_offered(r, deep, floor));
    ck_assert(!sprag_ode_was_offered(r, floor, far));
    ck_assert(!sprag_ode_was_offered(r, deep, rests));
    ck_assert_int_eq(dWorldStep(s.world, 0.01), 1);
    ck_assert(!sprag_ode_was_offered(r, floor, rests));
    close_scene(&s);
}
END_TEST

START_TEST(destroyed_geoms_leave_the_record)
{
    scene s = open_scene("method=advance");
    dSpaceID inner = dHashSpaceCreate(s.space);
    dSpaceSetCleanup(inner, _i);
    dGeomID floor = add_floor(s.space), box[40];
    for (int i = 0; i < 40; i++) {
        box[i] = add_box(&s, i % 2 ? inner : s.space, 2 * i, gap);
    }
    s.declines = true;
    for (int i = 0; i < 40; i++) {
        start_frame(&s);
        dSpaceCollide2(box[i], floor, &s, touch);
    }
    ck_assert_int_eq(recorded(&s), 40);
    dGeomDestroy(box[8]);
    ck_assert_int_eq(recorded(&s), 39);
    ck_assert(!sprag_ode_was_offered(record_of(&s), box[8], floor));
    ck_assert(sprag_ode_was_offered(record_of(&s), box[9], floor));
    dSpaceDestroy(inner);
    ck_assert_int_eq(recorded(&s), 19);
    ck_assert(!sprag_ode_was_offered(record_of(&s), box[9], floor));
    int count;
    const ode_collision *call = sprag_ode_recorded(record_of(&s), &count);
    for (int i = 0; i < count; i++) {
        ck_assert_ptr_eq(call[i].a, box[2 * i + (i >= 4 ? 2 : 0)]);
        ck_assert(call[i].callback == touch && call[i].data == &s);
        ck_assert(sprag_ode_was_offered(record_of(&s), floor, call[i].a));
    }
    dGeomDestroy(floor);
    ck_assert_int_eq(recorded(&s), 0);
    ck_assert_int_eq(dWorldStep(s.world, 0.01), 1);
    for (int i = 1; i < 40 && !_i; i += 2) {
        dGeomDestroy(box[i]);
    }
    close_scene(&s);
}
END_TEST

START_TEST(methods_may_change)
{
    scene s = open_scene("method=ode");
    dGeomID floor = add_floor(s.space), box = add_box(&s, s.space, 0, gap);
    for (int i = 0; i < 4; i++) {
        ck_assert(sprag_world_configure(s.world, i % 2 ? "method=advance" : "method=stribeck"));
        collide(&s);
        ck_assert_int_eq(times_given(&s, box, floor), i % 2);
        ck_assert_int_eq(recorded(&s), i % 2);
        ck_assert_int_eq(dWorldStep(s.world, 1e-9), 1);
        ck_assert_int_eq(recorded(&s), 0);
    }
    close_scene(&s);
}
END_TEST

// The environment's method holds before the first step has made the world known.
START_TEST(the_first_frame_counts)
{
    setenv("SPRAG_OPTIONS", _i ? "method=advance" : "method=ode", 1);
    scene s = {.world = dWorldCreate(), .space = dSimpleSpaceCreate(NULL)};
    s.group = dJointGroupCreate(0);
    dGeomID floor = add_floor(s.space), box = add_box(&s, s.space, 0, gap);
    collide(&s);
    ck_assert_int_eq(times_given(&s, box, floor), _i);
    ck_assert_int_eq(s.contacts, 4 * _i);
    ck_assert_int_eq(dWorldStep(s.world, 0.01), 1);
    close_scene(&s);
}
END_TEST

// A program that is paused collides on, with new data every time; the record does not grow for
// ever.
START_TEST(collisions_without_steps_end)
{
    scene s = open_scene("method=advance");
    add_floor(s.space);
    add_box(&s, s.space, 0, gap);
    for (int i = 0; i < 10 * ODE_RECORD_DATA; i++) {
        queries = 0;
        dSpaceCollide(s.space, (void *)(uintptr_t)i, query);
        ck_assert_int_eq(queries, 1);
        ck_assert_int_le(recorded(&s), ODE_RECORD_DATA);
        int count;
        const ode_collision *call = sprag_ode_recorded(record_of(&s), &count);
        ck_assert_ptr_eq(call[count - 1].data, (void *)(uintptr_t)i);
    }
    close_scene(&s);
}
END_TEST

START_TEST(a_settled_scene_allocates_nothing)
{
    scene s = open_scene("method=advance");
    dSpaceDestroy(s.space);
    s.space = dSimpleSpaceCreate(NULL); // ODE's hash spaces allocate
    dSpaceID inner = dSimpleSpaceCreate(s.space);
    add_floor(s.space);
    for (int i = 0; i < 3; i++) {
        add_box(&s, i ? s.space : inner, 2 * i, gap);
    }
    s.declines = true; // ODE's joints are none of ours
    for (int frame = 0; frame < 10; frame++) {
        counting = frame > 3;
        collide(&s);
        counting = false;
        ck_assert_int_eq(s.contacts, 12);
        sprag_ode_record_clear(record_of(&s));
    }
    ck_assert_int_eq(allocations, 0);
    close_scene(&s);
}
END_TEST

static jmp_buf out;

static void jump(void *data, dGeomID a, dGeomID b)
{
    (void)data, (void)a, (void)b;
    longjmp(out, 1);
}

// Programs leave callbacks by exceptions.
START_TEST(callbacks_may_be_left_by_a_jump)
{
    scene s = open_scene("method=advance");
    dSpaceID space = dSimpleSpaceCreate(NULL);
    add_floor(space);
    dGeomID box = add_box(&s, space, 0, gap);
    for (int i = 0; i < 100; i++) {
        if (!setjmp(out)) {
            dSpaceCollide(space, NULL, jump);
            ck_abort_msg("the callback is not called");
        }
    }
    for (int i = 0; i < 2000; i++) { // nothing is left of them
        start_frame(&s);
        s.declines = true;
        counting = i > 10;
        dSpaceCollide(space, &s, touch);
        counting = false;
        ck_assert_int_eq(allocations, 0);
        ck_assert_int_eq(s.calls, 1);
        ck_assert_int_eq(s.contacts, 4);
    }
    ck_assert_int_eq(dWorldStep(s.world, 0.01), 1);
    dGeomDestroy(box);
    dSpaceDestroy(space);
    close_scene(&s);
}
END_TEST

// Worlds in threads of their own, and one geom after the other that comes and goes.
static void *collide_alone(void *data)
{
    long wrong = 0;
    dAllocateODEDataForThread((unsigned)dAllocateMaskAll);
    scene *s = data;
    dGeomID floor = add_floor(s->space);
    for (int frame = 0; frame < 200; frame++) {
        dGeomID box = add_box(s, s->space, 0, gap);
        dBodyID body = dGeomGetBody(box);
        collide(s);
        wrong += s->calls != 1 || s->contacts != 4 || recorded(s) != 1 ||
                 !sprag_ode_was_offered(record_of(s), box, floor) || !dWorldStep(s->world, 1e-9);
        dJointGroupEmpty(s->group);
        dGeomDestroy(box);
        dBodyDestroy(body);
    }
    return (void *)wrong;
}

START_TEST(threads_do_not_meet)
{
    scene s[3];
    pthread_t thread[3];
    for (int i = 0; i < 3; i++) {
        s[i] = open_scene("method=advance");
    }
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(pthread_create(&thread[i], NULL, collide_alone, &s[i]), 0);
    }
    for (int i = 0; i < 3; i++) {
        void *wrong;
        pthread_join(thread[i], &wrong);
        ck_assert_ptr_null(wrong);
        close_scene(&s[i]);
    }
}
END_TEST

// ---- asking in mid-step

static ode_geometry *geometry;
static sprag_scratch scratch;
static ode_pairs pairs;

// As a step does: the pairs that may meet, by the recorded calls.
static const ode_pair *find(const scene *s, dGeomID a, dGeomID b)
{
    int count;
    const ode_collision *call = sprag_ode_recorded(record_of(s), &count);
    sprag_scratch_reset(&scratch);
    ck_assert_int_eq(
        sprag_ode_find_pairs(geometry, call, count, NULL, NULL, 0.1, false, &scratch, &pairs),
        SPRAG_OK);
    for (int i = 0; i < pairs.count; i++) {
        dGeomID x = pairs.pair[i].side[0]->id, y = pairs.pair[i].side[1]->id;
        if ((x == a && y == b) || (x == b && y == a)) {
            return &pairs.pair[i];
        }
    }
    return NULL;
}

static void open_asking(void)
{
    geometry = sprag_ode_geometry_make();
    ck_assert_ptr_nonnull(geometry);
}

static void close_asking(void)
{
    sprag_ode_geometry_free(geometry);
    sprag_scratch_free(&scratch);
}

// A step that our caller calls begins; it is the frame of a function that counts.
__attribute__((noinline)) static void begin(step_guard *outer)
{
    ck_assert(step_guard_begin(outer, __builtin_frame_address(0)));
}

// Asks as if from inside such a step.
static int ask(scene *s, const ode_pair *pair, dJointID *first)
{
    step_guard outer;
    begin(&outer);
    int joints = collide_ask(world_find(s->world), pair, 0, first);
    step_guard_end(&outer, s->world);
    return joints;
}

START_TEST(asks_about_pairs_that_come_to_touch)
{
    scene s = open_scene("method=advance");
    dSpaceID inner = _i & 1 ? dSimpleSpaceCreate(s.space) : s.space;
    dGeomID floor = add_floor(s.space), box = add_box(&s, inner, 0, 0.01);
    dGeomID other = add_box(&s, _i & 4 ? s.space : inner, 3, gap); // touches already
    dJointID first;
    s.declines = _i & 2;
    collide(&s);
    ck_assert_int_eq(times_given(&s, box, floor), 0);
    const ode_pair *pair = find(&s, box, floor);
    ck_assert_ptr_nonnull(pair);
    start_frame(&s);
    ck_assert_int_eq(dBodyGetNumJoints(dGeomGetBody(box)), 0);
    dBodySetPosition(dGeomGetBody(box), 0, 0, 0.5 + gap);
    int joints = ask(&s, pair, &first);
    ck_assert_int_eq(times_given(&s, box, floor), 1);
    ck_assert_int_eq(times_given(&s, other, floor), 0);
    ck_assert_int_eq(joints, s.declines ? 0 : 4);
    if (s.declines) {
        ck_assert_ptr_null(first);
    } else {
        dSurfaceParameters room;
        const dContactGeom *geom = sprag_ode_contact_geom(first);
        ck_assert(sprag_ode_contact_surface(first, &room)->mu == 0.5);
        ck_assert(geom->g1 == box || geom->g2 == box);
        ck_assert_ptr_eq(first, dBodyGetJoint(dGeomGetBody(box), 3)); // the newest is 0
    }
    close_scene(&s);
}
END_TEST

START_TEST(asks_in_the_order_of_the_call)
{
    scene s = open_scene("method=advance");
    dGeomID g[2] = {add_floor(NULL), add_box(&s, NULL, 0, 0.01)};
    dJointID first;
    start_frame(&s);
    dSpaceCollide2(g[_i], g[!_i], &s, touch);
    ck_assert_int_eq(s.calls, 0);
    const ode_pair *pair = find(&s, g[0], g[1]);
    ck_assert_ptr_nonnull(pair);
    dBodySetPosition(dGeomGetBody(g[1]), 0, 0, 0.5 + gap);
    ck_assert_int_eq(ask(&s, pair, &first), 4);
    ck_assert_ptr_eq(s.given[0][0], g[_i]);
    ck_assert_ptr_eq(s.given[0][1], g[!_i]);
    dGeomDestroy(g[0]);
    dGeomDestroy(g[1]);
    close_scene(&s);
}
END_TEST

// A program may look at the same space for reasons of its own, before or after.
START_TEST(asks_until_a_callback_makes_contacts)
{
    scene s = open_scene("method=advance");
    dGeomID floor = add_floor(s.space), box = add_box(&s, s.space, 0, 0.01);
    dJointID first;
    queries = 0;
    start_frame(&s);
    if (_i) {
        dSpaceCollide(s.space, NULL, query);
    }
    dSpaceCollide(s.space, &s, touch);
    dSpaceCollide(s.space, NULL, query);
    ck_assert_int_eq(queries, 0);
    const ode_pair *pair = find(&s, box, floor);
    ck_assert_ptr_nonnull(pair);
    dBodySetPosition(dGeomGetBody(box), 0, 0, 0.5 + gap);
    ck_assert_int_eq(ask(&s, pair, &first), 4);
    ck_assert_int_eq(queries, _i);
    close_scene(&s);
}
END_TEST

typedef struct vandal {
    scene *scene;
    int stepped;
} vandal;

static void spoil(void *data, dGeomID a, dGeomID b)
{
    vandal *v = data;
    v->stepped += dWorldStep(v->scene->world, 0.01) + dWorldQuickStep(v->scene->world, 0.01) +
                  sprag_world_step(v->scene->world, 0.01);
    touch(v->scene, a, b);
    dGeomID box = dGeomGetBody(a) ? a : b;
    dBodyDestroy(dGeomGetBody(box));
    dGeomDestroy(box);
    dBodyDestroy(dGeomGetBody(box)); // still there, for this step
}

// A step in a step is refused, and what the step has in hand lives until its end.
START_TEST(callbacks_may_destroy_geoms_and_bodies)
{
    scene s = open_scene("method=advance");
    vandal v = {&s, 0};
    dGeomID floor = add_floor(s.space), box = add_box(&s, s.space, 0, 0.01);
    dBodyID body = dGeomGetBody(box);
    dJointID first;
    start_frame(&s);
    dSpaceCollide(s.space, &v, spoil);
    const ode_pair *pair = find(&s, box, floor);
    ck_assert_ptr_nonnull(pair);
    dBodySetPosition(body, 0, 0, 0.5 + gap);
    dMessageFunction *before = dGetMessageHandler();
    dSetMessageHandler(quiet);
    step_guard outer;
    begin(&outer);
    ck_assert_int_eq(collide_ask(world_find(s.world), pair, 0, &first), 0);
    ck_assert_int_eq(s.calls, 1);
    ck_assert_int_eq(v.stepped, 0);
    ck_assert_ptr_eq(dGeomGetBody(box), body); // both live
    ck_assert_double_eq_tol(dBodyGetPosition(body)[2], 0.5 + gap, 1e-15);
    ck_assert_int_eq(collide_ask(world_find(s.world), pair, 0, &first), 0);
    ck_assert_int_eq(s.calls, 1); // nobody is asked about them again
    step_guard_end(&outer, s.world);
    dSetMessageHandler(before);
    ck_assert_int_eq(dSpaceGetNumGeoms(s.space), 1);
    ck_assert_int_eq(dWorldStep(s.world, 0.01), 1);
    close_scene(&s);
}
END_TEST

static bool jumps;

static void jump_or_touch(void *data, dGeomID a, dGeomID b)
{
    if (jumps) {
        longjmp(out, 1);
    }
    touch(data, a, b);
}

// A callback that is left by a jump, in a step, does not stay in force.
START_TEST(asking_may_be_left_by_a_jump)
{
    scene s = open_scene("method=advance");
    dGeomID floor = add_floor(s.space), box = add_box(&s, s.space, 0, 0.01);
    dBodyID spare = dBodyCreate(s.world), body = dGeomGetBody(box);
    dJointID first;
    for (int i = 0; i < 3; i++) {
        dBodySetPosition(body, 0, 0, 0.51);
        jumps = false;
        start_frame(&s);
        dSpaceCollide(s.space, &s, jump_or_touch);
        const ode_pair *pair = find(&s, box, floor);
        ck_assert_ptr_nonnull(pair);
        dBodySetPosition(body, 0, 0, 0.5 + gap);
        jumps = true;
        if (!setjmp(out)) {
            ask(&s, pair, &first);
            ck_abort_msg("nobody is asked");
        }
        jumps = false;
        start_frame(&s);
        dSpaceCollide(s.space, &s, jump_or_touch);
        ck_assert_int_eq(s.contacts, 4);
        ck_assert_int_eq(dWorldStep(s.world, 1e-9), 1);
    }
    dGeomID more = add_box(&s, s.space, 9, 0);
    dGeomDestroy(more);
    ck_assert_int_eq(dSpaceGetNumGeoms(s.space), 2);
    dBodyDestroy(spare);
    close_scene(&s);
}
END_TEST

int __real_open(const char *name, int flags);
int __wrap_open(const char *name, int flags);

static bool stack_is_unknown; // to the system
static int opened;            // files

int __wrap_open(const char *name, int flags)
{
    opened++;
    return stack_is_unknown ? -1 : __real_open(name, flags);
}

#ifndef __SANITIZE_ADDRESS__
__attribute__((noinline)) static void collide_for_a_local(scene *s)
{
    volatile vandal gone = {s, 0};
    dSpaceCollide(s->space, (void *)(uintptr_t)&gone, spoil);
}

// Data on a stack frame that is no more must not be given to anybody.
START_TEST(data_on_a_left_stack_frame_is_not_used)
{
    scene s = open_scene("method=advance");
    dGeomID floor = add_floor(s.space), box = add_box(&s, s.space, 0, 0.01);
    dJointID first;
    start_frame(&s);
    collide_for_a_local(&s);
    const ode_pair *pair = find(&s, box, floor);
    ck_assert_ptr_nonnull(pair);
    dBodySetPosition(dGeomGetBody(box), 0, 0, 0.5 + gap);
    dSetMessageHandler(quiet);
    ck_assert_int_eq(ask(&s, pair, &first), -1);
    ck_assert_int_eq(s.calls, 0);
    ck_assert_int_eq(world_find(s.world)->settings.callbacks, CALLBACKS_BEFORE);
    close_scene(&s);
}
END_TEST

static void touch_by(void *data, dGeomID a, dGeomID b)
{
    touch(*(scene **)data, a, b);
}

__attribute__((noinline)) static void collide_by_a_local(scene *s)
{
    scene *volatile local = s;
    dSpaceCollide(s->space, (void *)(uintptr_t)&local, touch_by);
}

// That is seen before anything touches: nothing is let through.
START_TEST(data_on_a_left_stack_frame_is_noticed_in_time)
{
    stack_is_unknown = _i;
    scene s = open_scene("method=advance");
    add_floor(s.space);
    dBodyID body = dGeomGetBody(add_box(&s, s.space, 0, 0.2));
    double least = dInfinity;
    dWorldSetGravity(s.world, 0, 0, -9.81);
    dSetMessageHandler(quiet);
    for (int n = 0; n < 60; n++) {
        collide_by_a_local(&s);
        ck_assert_int_eq(dWorldStep(s.world, 0.01), 1);
        dJointGroupEmpty(s.group);
        least = fmin(least, dBodyGetPosition(body)[2] - 0.5);
    }
    ck_assert_int_eq(world_find(s.world)->settings.callbacks, CALLBACKS_BEFORE);
    ck_assert_double_gt(least, 0);
    ck_assert_double_lt(least, 1e-5);
    close_scene(&s);
}
END_TEST

__attribute__((noinline)) static void collide_far_down(scene *s)
{
    volatile char room[12 << 20]; // more than a stack usually has
    room[0] = 0;
    collide_by_a_local(s);
    room[sizeof room - 1] = 0;
}

// A stack may have grown, far, since it was looked up. Data elsewhere do not have it looked up anew
// in each step.
START_TEST(data_on_a_left_stack_frame_is_noticed_far_down)
{
    const struct rlimit deep = {64 << 20, 64 << 20};
    scene s = open_scene("method=advance");
    ck_assert_int_eq(setrlimit(RLIMIT_STACK, &deep), 0);
    scene **shared = malloc(sizeof *shared);
    *shared = &s;
    add_floor(s.space);
    add_box(&s, s.space, 0, 0.2);
    dSetMessageHandler(quiet);
    stack_is_unknown = _i;
    for (int n = 0; n < 5; n++) {
        opened = 0;
        dSpaceCollide(s.space, shared, touch_by);
        ck_assert_int_eq(dWorldStep(s.world, 0.01), 1);
        dJointGroupEmpty(s.group);
        ck_assert_int_le(opened, n == 0);
    }
    ck_assert_int_eq(world_find(s.world)->settings.callbacks, CALLBACKS_WITHIN);
    if (!stack_is_unknown) {
        collide_far_down(&s);
        ck_assert_int_eq(dWorldStep(s.world, 0.01), 1);
        ck_assert_int_eq(world_find(s.world)->settings.callbacks, CALLBACKS_BEFORE);
    }
    free(shared);
    close_scene(&s);
}
END_TEST
#endif

#ifdef __x86_64__
// A function that no file has, as bindings make them for a call, need not be there later.
START_TEST(code_made_at_run_time_is_asked_before_the_step)
{
    scene s = open_scene("method=advance");
    add_floor(s.space);
    add_box(&s, s.space, 0, 0.01);
    unsigned char *code =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(code, MAP_FAILED);
    memcpy(code, "\x48\xb8........\xff\xe0", 12); // mov rax, touch; jmp rax
    dNearCallback *to = touch;
    memcpy(code + 2, &to, sizeof to);
    dSetMessageHandler(quiet);
    start_frame(&s);
    dSpaceCollide(s.space, &s, touch);
    ck_assert_int_eq(world_find(s.world)->settings.callbacks, CALLBACKS_WITHIN);
    dSpaceCollide(s.space, &s, (dNearCallback *)(intptr_t)code);
    ck_assert_int_eq(world_find(s.world)->settings.callbacks, CALLBACKS_BEFORE);
    close_scene(&s);
    munmap(code, 4096);
}
END_TEST
#endif

// ---- surfaces

START_TEST(surfaces_turn_with_their_pair)
{
    scene s = open_scene("method=advance");
    dBodyID body[2] = {dBodyCreate(s.world), dBodyCreate(s.world)};
    dContact contact = {.surface = {.mode = dContactAxisDep | dContactFDir1 | dContactMotion1 |
                                            dContactMotion2 | dContactMotionN | dContactApprox1_1 |
                                            dContactBounce | dContactSoftCFM | dContactRolling,
                                    .mu = 0.5,
                                    .mu2 = 3,
                                    .rho = 0.1,
                                    .rho2 = 0.2,
                                    .rhoN = 0.3,
                                    .bounce = 0.6,
                                    .bounce_vel = 0.2,
                                    .soft_cfm = 1e-4,
                                    .motion1 = 0.7,
                                    .motion2 = 0.8,
                                    .motionN = 0.9},
                        .geom = {.normal = {0, 0, 1}},
                        .fdir1 = {0, 2, 1}};
    dJointID joint = dJointCreateContact(s.world, s.group, &contact);
    dJointAttach(joint, body[0], _i ? NULL : body[1]);
    sprag_surface as[2];
    sprag_ode_surface_of(&as[0], joint, s.world, body[0]);
    sprag_ode_surface_of(&as[1], joint, s.world, _i ? NULL : body[1]);
    for (int i = 0; i < 2; i++) {
        ck_assert(as[i].slide.coefficient[0] == 0.5 && as[i].slide.coefficient[1] == 3);
        ck_assert(!as[i].slide.force[0] && as[i].slide.force[1]);
        ck_assert(as[i].turning.roll.coefficient[0] == 0.1 &&
                  as[i].turning.roll.coefficient[1] == 0.2);
        ck_assert(as[i].turning.spin.coefficient[0] == 0.3);
        ck_assert(as[i].bounce == 0.6 && as[i].bounce_speed == 0.2);
        ck_assert(as[i].compliance == 1e-4 && as[i].velocity_normal == 0.9);
        ck_assert(as[i].direction[0] == 0 && as[i].direction[1] == 1 && as[i].direction[2] == 0);
        ck_assert(as[i].slide.velocity[0] == (i ? -0.7 : 0.7));
        ck_assert(as[i].slide.velocity[1] == 0.8); // about an axis that has turned itself
    }
    contact.surface.mode = dContactApprox1;
    joint = dJointCreateContact(s.world, s.group, &contact);
    dJointAttach(joint, body[0], NULL);
    sprag_ode_surface_of(&as[0], joint, s.world, body[0]);
    ck_assert(as[0].direction[0] == 0 && as[0].direction[1] == 0 && as[0].direction[2] == 0);
    ck_assert(as[0].bounce == 0 && as[0].slide.coefficient[1] == 0.5);
    close_scene(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("record");
    ADD_TESTS(suite, "records", {worlds_have_records_of_their_own, 1},
              {offers_pairs_in_the_order_of_ode, 3}, {geoms_without_size_are_not_offered, 3},
              {offered_pairs_are_on_record_until_the_step, 1},
              {destroyed_geoms_leave_the_record, 2}, {methods_may_change, 1},
              {the_first_frame_counts, 2}, {a_settled_scene_allocates_nothing, 1},
              {collisions_without_steps_end, 1}, {callbacks_may_be_left_by_a_jump, 1},
              {threads_do_not_meet, 1});
    ADD_TESTS_WITH(suite, "asks", open_asking, close_asking,
                   {asks_about_pairs_that_come_to_touch, 8}, {asks_in_the_order_of_the_call, 2},
                   {asks_until_a_callback_makes_contacts, 2},
                   {callbacks_may_destroy_geoms_and_bodies, 1}, {asking_may_be_left_by_a_jump, 1},
                   {surfaces_turn_with_their_pair, 2});
#ifndef __SANITIZE_ADDRESS__ // its stacks are others
    ADD_TESTS_WITH(suite, "left frames", open_asking, close_asking,
                   {data_on_a_left_stack_frame_is_not_used, 1},
                   {data_on_a_left_stack_frame_is_noticed_in_time, 2},
                   {data_on_a_left_stack_frame_is_noticed_far_down, 2});
#endif
#ifdef __x86_64__
    ADD_TESTS_WITH(suite, "machine code", open_asking, close_asking,
                   {code_made_at_run_time_is_asked_before_the_step, 1});
#endif
    return run_beside_stock(suite, CK_FORK);
}
