// Threads: islands in the program's own pool change no bit of what a step does and tells, and cost
// no allocation; worlds are stepped, made and destroyed in several threads at once; what the
// program says about ODE's working memory holds.
#define _GNU_SOURCE 1
#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "allocations.h"
#include "fnv.h"
#include "program_world.h"
#include "sprag.h"
#include "start.h"
#include "suite.h"
#include "workers.h"
#include "world.h"
#include "worlds.h"

static const dReal step = 0.01; // s

typedef int step_fn(dWorldID, dReal);

// ---- a field: towers, doors with motors at their stops, flyers; and, when asked for, what no
// solver can take

#ifdef SANITIZED // which takes its time
enum { FEWER = 8 };
#else
enum { FEWER = 1 };
#endif

enum {
    TOWERS_MAX = 70,
    HEIGHT = 4,
    DOORS = 8,
    FLYERS = 8,
    ODD = 5,
    BODIES_MAX = TOWERS_MAX * HEIGHT + DOORS + FLYERS + ODD,
    CONTACTS_MAX = 8,
    LISTENER = 5, // the tower whose bodies have moved callbacks
};

typedef struct field {
    dWorldID world;
    dSpaceID space;
    dJointGroupID contacts;
    dBodyID body[BODIES_MAX];
    dJointFeedback feedback[DOORS];
    dJointFeedback shared; // by all contacts with the ground
    int bodies, odd;       // odd: the first of those
    uint64_t moved;
    pthread_t thread;
    bool elsewhere; // a moved callback was called in another thread
    unsigned long seed;
    char said[4096];
} field;

static field *speaking, *fields[16];

static int number_of(dBodyID body)
{
    return (int)(intptr_t)dBodyGetData(body) - 1;
}

static int top_of(int tower)
{
    return (tower + 1) * HEIGHT - 1;
}

// Towers that are stepped before this one and after it.
static void push_others(const field *f)
{
    for (int i = -1; i <= 1; i += 2) {
        dBodyAddForce(f->body[top_of(LISTENER + i)], 0.5, 0.1 * i, 0);
    }
}

// The order counts, and the state then.
static void note_move(dBodyID body)
{
    field *f = NULL;
    for (int i = 0; i < 16 && !f; i++) {
        f = fields[i] && fields[i]->world == dBodyGetWorld(body) ? fields[i] : NULL;
    }
    body_state s = state_of(body);
    fnv_add(&f->moved, &s, sizeof s);
    f->moved += (uint64_t)number_of(body);
    f->elsewhere |= !pthread_equal(pthread_self(), f->thread) && number_of(body) < f->odd;
    if (number_of(body) == top_of(LISTENER)) {
        push_others(f);
    }
}

static dBodyID add_body(field *f, double mass, double x, double y, double z)
{
    dBodyID body = create_body(f->world, mass, x, y, z);
    f->body[f->bodies++] = body;
    dBodySetData(body, (void *)(intptr_t)f->bodies);
    dBodySetMovedCallback(body, note_move);
    return body;
}

static void add_tower(field *f, int n)
{
    dSpaceID space = dSimpleSpaceCreate(f->space);
    dCreatePlane(space, 0, 0, 1, 0);
    for (int i = 0; i < HEIGHT; i++) {
        dBodyID body = add_body(f, 1 + 0.1 * (n % 7), 3 * (n % 10) + 0.03 * ((i * n) % 3),
                                3 * (n / 10), 0.1 + 0.2002 * i + 0.01 * (n % 4));
        dGeomSetBody(i == HEIGHT - 1 && n % 5 == 0 ? dCreateSphere(space, 0.1)
                                                   : dCreateBox(space, 0.3, 0.4, 0.2),
                     body);
        dBodySetLinearVel(body, 0, 0, n % 3 ? 0 : -0.5);
        dBodySetMovedCallback(body, n == LISTENER ? note_move : NULL);
    }
}

static void add_door(field *f, int n)
{
    dBodyID body = add_body(f, 2, -5 - n, 0, 1);
    dJointID hinge = dJointCreateHinge(f->world, 0);
    dJointAttach(hinge, body, 0);
    dJointSetHingeAnchor(hinge, -5.2 - n, 0, 1);
    dJointSetHingeAxis(hinge, 0, 1, 0);
    dJointSetHingeParam(hinge, dParamLoStop, -0.01 * n);
    dJointSetHingeParam(hinge, dParamHiStop, 0.2);
    dJointSetHingeParam(hinge, dParamVel, n % 2 ? 5 : -5);
    dJointSetHingeParam(hinge, dParamFMax, 30);
    dJointSetFeedback(hinge, &f->feedback[n]);
}

static void open_field(field *f, int towers, const char *options)
{
    memset(f, 0, sizeof *f);
    f->world = dWorldCreate();
    f->space = dSimpleSpaceCreate(0);
    f->contacts = dJointGroupCreate(0);
    f->thread = pthread_self();
    f->seed = 7;
    dWorldSetGravity(f->world, 0, 0, -9.81);
    ck_assert_msg(sprag_world_configure(f->world, options), "%s", sprag_error());
    for (int i = 0; i < towers; i++) {
        add_tower(f, i);
    }
    for (int i = 0; i < DOORS; i++) {
        add_door(f, i);
    }
    for (int i = 0; i < FLYERS; i++) {
        dBodySetAngularVel(add_body(f, 1, -5, 5 + i, 50), 1, 2 + i, 3);
    }
    f->odd = f->bodies;
    for (int i = 0; i < ODD; i++) {
        add_body(f, 1, 40 + i, 40, 0);
    }
    for (int i = 0; i < 16; i++) {
        if (!fields[i]) {
            fields[i] = f;
            return;
        }
    }
}

static void close_field(field *f)
{
    for (int i = 0; i < 16; i++) {
        fields[i] = fields[i] == f ? NULL : fields[i];
    }
    destroy_world(f->world, f->space, f->contacts);
}

static void open_fields(field *f, int count)
{
    for (int i = 0; i < count; i++) {
        open_field(&f[i], TOWERS_MAX, "method=stribeck");
    }
}

static void close_fields(field *f, int count)
{
    for (int i = 0; i < count; i++) {
        close_field(&f[i]);
    }
}

// feedback: of contacts with what stands still
static void join(dWorldID world, dJointGroupID group, dGeomID a, dGeomID b, int mode,
                 dJointFeedback *feedback)
{
    dContact contact[CONTACTS_MAX];
    memset(contact, 0, sizeof contact);
    int count = dCollide(a, b, CONTACTS_MAX, &contact[0].geom, sizeof contact[0]);
    for (int i = 0; i < count; i++) {
        contact[i].surface.mode = mode;
        contact[i].surface.mu = 0.5;
        dJointID joint = dJointCreateContact(world, group, &contact[i]);
        dJointAttach(joint, dGeomGetBody(a), dGeomGetBody(b));
        if (!dGeomGetBody(a) || !dGeomGetBody(b)) {
            dJointSetFeedback(joint, feedback);
        }
    }
}

static void touch(void *data, dGeomID a, dGeomID b)
{
    field *f = data;
    join(f->world, f->contacts, a, b, dContactApprox1, &f->shared);
}

static void collide_field(field *f)
{
    for (int i = 0; i < dSpaceGetNumGeoms(f->space); i++) {
        dSpaceCollide((dSpaceID)dSpaceGetGeom(f->space, i), f, touch);
    }
}

static void go_wrong(field *f, int n)
{
    for (int i = 0; i < 2; i++) {
        dBodyID body = f->body[f->odd + i];
        dBodySetPosition(body, 40 + i, 40, 0);
        dBodySetLinearVel(body, 0, 0, 0);
        dBodySetAngularVel(body, 0, 0, 0);
        if (n % 50 == 20) { // nobody can solve it
            touch_impossibly(f->world, f->contacts, body);
        }
    }
    if (n % 50 == 30) {
        dSurfaceParameters both = {.mu = 1};
        sprag_surface_set_stiffness(&both, 1e4);
        both.mode |= dContactSoftCFM;
        touch_at_body(f->world, f->contacts, f->body[f->odd + 2], both);
        dBodyAddForce(f->body[f->odd + 2], NAN, 0, 0);
    }
    if (n == 100) {
        dSurfaceParameters plain = {.mu = 1};
        dBodySetLinearVel(f->body[f->odd + 3], NAN, 0, 0);
        touch_at_body(f->world, f->contacts, f->body[f->odd + 3], plain);
    }
}

static void step_field(field *f, step_fn *stepper)
{
    speaking = f;
    dRandSetSeed(f->seed);
    ck_assert_int_eq(stepper(f->world, step), 1);
    f->seed = dRandGetSeed();
    dJointGroupEmpty(f->contacts);
}

// Of pointers the data alone, and not the number of the world: those differ.
static void listen(int number, const char *format, va_list arguments)
{
    (void)number;
    char text[1024], *to = speaking->said + strlen(speaking->said);
    vsnprintf(text, sizeof text, format, arguments);
    if (strstr(text, "method=ess leaves")) { // once in a process, whatever the world
        return;
    }
    const char *from = strchr(text, ',');
    while (from && *from && to < speaking->said + sizeof speaking->said - 2) {
        if (!strncmp(from, "0x", 2) && strncmp(from - 5, "data ", 5)) {
            from += 2 + strspn(from + 2, "0123456789abcdef");
        } else {
            *to++ = *from++;
        }
    }
    *to++ = '\n';
    *to = '\0';
}

// All that a program can see, but for the times that it took.
static void assert_same_field(const field *a, const field *b, int n)
{
    ck_assert_int_eq(a->bodies, b->bodies);
    for (int i = 0; i < a->bodies; i++) {
        body_state x = state_of(a->body[i]), y = state_of(b->body[i]);
        ck_assert_msg(!memcmp(&x, &y, sizeof x), "body %d in step %d", i, n);
        ck_assert(!memcmp(dBodyGetForce(a->body[i]), dBodyGetForce(b->body[i]), 24));
    }
    sprag_world_statistics s = {.struct_size = sizeof s}, t = s;
    ck_assert_int_eq(sprag_world_stats(a->world, &s), 1);
    ck_assert_int_eq(sprag_world_stats(b->world, &t), 1);
    ck_assert(s.pull_us >= 0 && s.solve_us >= 0 && s.push_us >= 0);
    s.pull_us = s.solve_us = s.push_us = t.pull_us = t.solve_us = t.push_us = 0;
    ck_assert_msg(!memcmp(&s, &t, sizeof s), "statistics of step %d", n);
    ck_assert(!memcmp(a->feedback, b->feedback, sizeof a->feedback));
    ck_assert_msg(!memcmp(&a->shared, &b->shared, sizeof a->shared), "shared in step %d", n);
    ck_assert_uint_eq(a->seed, b->seed);
    ck_assert_uint_eq(a->moved, b->moved);
    ck_assert_str_eq(a->said, b->said);
    ck_assert(!a->elsewhere && !b->elsewhere);
}

// ---- threading implementations

// ODE's own, but calls are counted, and may be refused.
static const dThreadingFunctionsInfo *built_in;
static atomic_int posted;
static bool refusing;

static void count_call(dThreadingImplementationID threads, int *fault, dCallReleaseeID *releasee,
                       ddependencycount_t count, dCallReleaseeID dependent, dCallWaitID wait,
                       dThreadedCallFunction *function, void *context, dcallindex_t index,
                       const char *name)
{
    atomic_fetch_add(&posted, 1);
    built_in->post_call(threads, fault, releasee, count, dependent, wait, function, context, index,
                        name);
}

static int refuse_calls(dThreadingImplementationID threads, ddependencycount_t count)
{
    return refusing ? 0 : built_in->preallocate_resources_for_calls(threads, count);
}

typedef struct crowd {
    dThreadingImplementationID threading;
    dThreadingThreadPoolID pool;
    dThreadingFunctionsInfo functions;
} crowd;

// threads: 0, those of the caller alone.
static void give_threads(crowd *c, dWorldID world, unsigned threads, unsigned limit)
{
    c->pool = NULL;
    c->threading = threads ? dThreadingAllocateMultiThreadedImplementation()
                           : dThreadingAllocateSelfThreadedImplementation();
    if (threads) {
        c->pool = dThreadingAllocateThreadPool(threads, 0, (unsigned)dAllocateMaskAll, NULL);
        dThreadingThreadPoolServeMultiThreadedImplementation(c->pool, c->threading);
    }
    built_in = dThreadingImplementationGetFunctions(c->threading);
    c->functions = *built_in;
    c->functions.post_call = count_call;
    c->functions.preallocate_resources_for_calls = refuse_calls;
    dWorldSetStepThreadingImplementation(world, &c->functions, c->threading);
    dWorldSetStepIslandsProcessingMaxThreadCount(world, limit);
}

static void take_threads(crowd *c, dWorldID world)
{
    dWorldSetStepThreadingImplementation(world, NULL, NULL);
    if (c->pool) {
        dThreadingImplementationShutdownProcessing(c->threading);
        dThreadingFreeThreadPool(c->pool);
    }
    dThreadingFreeImplementation(c->threading);
}

// ---- a pool

static const struct {
    const char *options;
    int towers, steps;
    bool posts;
    bool listens; // every body has a moved callback: nothing can be solved ahead
} pooled[] = {
    {"method=stribeck", TOWERS_MAX, 120, true, false},
    {"method=stribeck", TOWERS_MAX, 30, false, true},
    {"method=stribeck,stribeck.direct_work=0,stribeck.sweeps=5", TOWERS_MAX, 60, true, false},
    {"method=stribeck,stribeck.scheme=one-way", TOWERS_MAX, 60, true, false},
    {"method=advance", LISTENER + 2, 30, false, false},
    {"method=ess", LISTENER + 2, 30, false, false},
};

enum { POOLED = sizeof pooled / sizeof pooled[0] };

START_TEST(a_pool_changes_no_bit)
{
    enum { KINDS = 5 };
    static field f[KINDS];
    static const struct {
        unsigned threads, limit;
    } kind[KINDS] = {{0, 0}, {0, 0}, {2, 0}, {5, 3}, {3, 1}}; // the first: none is set
    step_fn *stepper = _i / POOLED ? dWorldQuickStep : dWorldStep;
    // Enough for the first force of go_wrong() under each stepper, and for all of them under one.
    int which = _i % POOLED;
    int steps = FEWER > 1 || stepper == dWorldQuickStep ? 22 : pooled[which].steps;
    crowd c[KINDS];
    int posts[KINDS] = {0};
    dSetMessageHandler(listen);
    for (int i = 0; i < KINDS; i++) {
        open_field(&f[i], pooled[which].towers, pooled[which].options);
        for (int k = 0; pooled[which].listens && k < f[i].bodies; k++) {
            dBodySetMovedCallback(f[i].body[k], note_move);
        }
        if (i) {
            give_threads(&c[i], f[i].world, kind[i].threads, kind[i].limit);
        }
    }
    for (int n = 0; n < steps; n++) {
        for (int i = 0; i < KINDS; i++) {
            collide_field(&f[i]);
            if (pooled[which].posts) {
                go_wrong(&f[i], n);
            }
            posted = 0;
            step_field(&f[i], stepper);
            posts[i] += n % 50 != 20 && posted > 0; // then stock posts too
            assert_same_field(&f[i], &f[0], n);
        }
    }
    sprag_world_statistics s = {.struct_size = sizeof s};
    sprag_world_stats(f[0].world, &s);
    if (pooled[which].posts && steps > 50) {
        ck_assert_int_ge(s.fallbacks, 2);
        ck_assert_int_ge(s.invalid_forces, 1);
        ck_assert_int_ge(s.invalid_surfaces, 1);
        ck_assert(steps <= 100 || s.frozen > 0);
        ck_assert_ptr_nonnull(strstr(f[0].said, "could not be solved"));
    }
    for (int i = 0; i < KINDS; i++) {
        bool shall = pooled[which].posts && kind[i].threads > 1 && kind[i].limit != 1;
        ck_assert_int_ge(posts[i], shall ? steps / 2 : 0);
        ck_assert(shall || posts[i] == 0);
        if (i) {
            take_threads(&c[i], f[i].world);
        }
        close_field(&f[i]);
    }
}
END_TEST

// Few islands, or a threading implementation that has no room: the caller's own thread.
START_TEST(few_islands_wake_no_thread)
{
    static field f;
    crowd c;
    open_field(&f, LISTENER + 2, "method=stribeck");
    give_threads(&c, f.world, 3, 0);
    for (int n = 0; n < 50; n++) {
        collide_field(&f);
        posted = 0;
        step_field(&f, dWorldStep);
        ck_assert_int_eq(posted, 0);
    }
    take_threads(&c, f.world);
    close_field(&f);
}
END_TEST

START_TEST(calls_that_are_refused_change_nothing)
{
    static field f[2];
    crowd c;
    open_fields(f, 2);
    give_threads(&c, f[0].world, 2, 0);
    for (int n = 0; n < 60; n++) {
        refusing = n % 3 == 1;
        for (int i = 0; i < 2; i++) {
            posted = 0;
            collide_field(&f[i]);
            step_field(&f[i], dWorldStep);
            ck_assert(n < 10 || (posted > 0) == (i == 0 && !refusing));
        }
        assert_same_field(&f[0], &f[1], n);
    }
    take_threads(&c, f[0].world);
    close_fields(f, 2);
}
END_TEST

// The pool comes, changes and goes between steps.
START_TEST(a_pool_may_change_between_steps)
{
    static field f[2];
    crowd c;
    open_fields(f, 2);
    for (int n = 0; n < 60; n++) {
        if (n % 10 == 0) {
            give_threads(&c, f[0].world, 1 + (unsigned)n / 10 % 4, 0);
        }
        for (int i = 0; i < 2; i++) {
            collide_field(&f[i]);
            step_field(&f[i], n % 2 ? dWorldStep : dWorldQuickStep);
        }
        assert_same_field(&f[0], &f[1], n);
        if (n % 10 == 8) {
            take_threads(&c, f[0].world);
        }
    }
    close_fields(f, 2);
}
END_TEST

// But when a scratch is too small for what happens for the first time, as in one thread.
START_TEST(a_settled_pool_allocates_nothing)
{
    static field f[2];
    crowd c;
    int settled = 0;
    open_fields(f, 2);
    give_threads(&c, f[0].world, 3, 0);
    const workers *alone = world_find(f[1].world)->workers;
    for (int n = 0, grew = 0; n < 400 / FEWER; n++) {
        long before = workers_scratch(alone)->allocations;
        for (int i = 1; i >= 0; i--) {
            collide_field(&f[i]);
            counting = i == 0;
            allocations = 0;
            dWorldStep(f[i].world, step);
            counting = false;
            dJointGroupEmpty(f[i].contacts);
        }
        grew = workers_scratch(alone)->allocations != before ? n : grew;
        if (n > 100 && n > grew + 5) {
            settled++;
            ck_assert_msg(allocations == 0, "%ld in step %d", allocations, n);
        }
    }
    ck_assert(FEWER > 1 || settled >= 200);
    take_threads(&c, f[0].world);
    close_fields(f, 2);
}
END_TEST

// ---- worlds in several threads

enum { THREADS = 4, ROUNDS = 6, STEPS = 25 };

static const char *const methods_of_all[] = {"method=stribeck", "method=advance",
                                             "method=ess",      "method=ode",
                                             "method=ode-step", "method=ode-quick"};

enum { METHODS = sizeof methods_of_all / sizeof methods_of_all[0], OURS = 3 };

typedef struct heap {
    dWorldID world;
    dSpaceID space;
    dJointGroupID contacts;
    dBodyID body[4];
} heap;

static void touch_heap(void *data, dGeomID a, dGeomID b)
{
    heap *h = data;
    join(h->world, h->contacts, a, b, 0, NULL);
}

// One world from its making to its end. falls: it has a contact that falls to stock.
static void live(const char *options, bool falls, body_state end[4])
{
    heap h = {.world = dWorldCreate(), .space = dHashSpaceCreate(0)};
    h.contacts = dJointGroupCreate(0);
    // ODE's default serves one thread only, as a program finds out that steps worlds by stock.
    dThreadingImplementationID own =
        strstr(options, "ode") ? dThreadingAllocateSelfThreadedImplementation() : NULL;
    if (own) {
        dWorldSetStepThreadingImplementation(h.world, dThreadingImplementationGetFunctions(own),
                                             own);
    }
    ck_assert_int_eq(sprag_world_configure(h.world, options), 1);
    dWorldSetGravity(h.world, 0, 0, -9.81);
    dGeomID ground = dCreatePlane(h.space, 0, 0, 1, 0);
    for (int i = 0; i < 4; i++) {
        h.body[i] =
            create_body(h.world, 1 + 0.5 * i, 0.05 * (i % 3), 0.04 * (i % 2), 0.11 + 0.25 * i);
        dGeomSetBody(i == 3 ? dCreateSphere(h.space, 0.12) : dCreateBox(h.space, 0.3, 0.4, 0.2),
                     h.body[i]);
    }
    for (int n = 0; n < STEPS; n++) {
        dSpaceCollide(h.space, &h, touch_heap);
        if (falls && n % 5 == 4) {
            touch_impossibly(h.world, h.contacts, h.body[3]);
        }
        ck_assert_int_eq((n % 2 ? dWorldStep : dWorldQuickStep)(h.world, step), 1);
        dJointGroupEmpty(h.contacts);
        sprag_world_statistics s = {.struct_size = sizeof s};
        ck_assert_int_eq(sprag_world_stats(h.world, &s), 1);
        ck_assert_int_eq(s.steps, n + 1);
        if (falls && n % 5 == 4) {
            ck_assert_int_ge(s.fallbacks, 1);
            dBodySetPosition(h.body[3], 0.05, 0, 1);
            dBodySetLinearVel(h.body[3], 0, 0, 0);
            dBodySetAngularVel(h.body[3], 0, 0, 0);
        }
    }
    for (int i = 0; i < 4; i++) {
        end[i] = state_of(h.body[i]);
    }
    dGeomDestroy(ground);
    destroy_world(h.world, h.space, h.contacts);
    dThreadingFreeImplementation(own);
}

typedef struct life {
    const char *options;
    bool falls;
    body_state end[ROUNDS][4];
    pthread_t thread;
} life;

static void *live_again(void *data)
{
    life *l = data;
    dAllocateODEDataForThread((unsigned)dAllocateMaskAll);
    for (int i = 0; i < ROUNDS; i++) {
        live(l->options, l->falls, l->end[i]);
    }
    dCleanupODEAllDataForThread();
    return NULL;
}

static void live_at_once(life l[THREADS])
{
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&l[i].thread, NULL, live_again, &l[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(l[i].thread, NULL);
    }
}

// QuickStep's order is drawn from one generator for all threads.
static bool is_reproducible(const char *options)
{
    return !strstr(options, "ode") || strstr(options, "ode-step");
}

START_TEST(worlds_come_and_go_in_threads)
{
    static life l[THREADS];
    body_state alone[4];
    live(methods_of_all[_i], false, alone);
    for (int i = 0; i < THREADS; i++) {
        l[i] = (life){.options = methods_of_all[_i]};
    }
    live_at_once(l);
    for (int i = 0; i < THREADS && is_reproducible(methods_of_all[_i]); i++) {
        for (int k = 0; k < ROUNDS; k++) {
            ck_assert(!memcmp(l[i].end[k], alone, sizeof alone));
        }
    }
}
END_TEST

// Another method in every thread; stock takes islands of ours.
START_TEST(methods_live_side_by_side)
{
    static life l[THREADS];
    body_state alone[THREADS][4];
    static const char *const options[THREADS] = {"method=stribeck", "method=ess", "method=advance",
                                                 "method=ode"};
    dSetMessageHandler(quiet);
    for (int i = 0; i < THREADS; i++) {
        live(options[i], i == 0, alone[i]);
        l[i] = (life){.options = options[i], .falls = i == 0};
    }
    live_at_once(l);
    for (int i = 1; i < OURS; i++) {
        for (int k = 0; k < ROUNDS; k++) {
            ck_assert(!memcmp(l[i].end[k], alone[i], sizeof alone[i]));
        }
    }
}
END_TEST

// Two threads at once are one too many for what ODE shares between worlds by default.
START_TEST(stock_takes_islands_in_threads)
{
    static life l[THREADS];
    dSetMessageHandler(quiet);
    for (int i = 0; i < THREADS; i++) {
        l[i] = (life){.options = "method=stribeck", .falls = true};
    }
    live_at_once(l);
}
END_TEST

// Worlds that have pools, stepped in threads.
static void *step_with_pool(void *data)
{
    field *f = data;
    dAllocateODEDataForThread((unsigned)dAllocateMaskAll);
    f->thread = pthread_self();
    for (int n = 0; n < 40; n++) {
        collide_field(f);
        dWorldStep(f->world, step);
        dJointGroupEmpty(f->contacts);
    }
    return NULL;
}

START_TEST(worlds_with_pools_in_threads)
{
    enum { WORLDS = 3 };
    static field f[WORLDS + 1];
    crowd c[WORLDS];
    pthread_t thread[WORLDS];
    open_fields(f, WORLDS + 1);
    for (int i = 0; i < WORLDS; i++) {
        give_threads(&c[i], f[i].world, 2, 0);
    }
    for (int i = 0; i < WORLDS; i++) {
        ck_assert_int_eq(pthread_create(&thread[i], NULL, step_with_pool, &f[i]), 0);
    }
    for (int i = 0; i < WORLDS; i++) {
        pthread_join(thread[i], NULL);
    }
    step_with_pool(&f[WORLDS]);
    for (int i = 0; i <= WORLDS; i++) {
        assert_same_field(&f[i], &f[WORLDS], 40);
    }
    for (int i = 0; i < WORLDS; i++) {
        take_threads(&c[i], f[i].world);
    }
    close_fields(f, WORLDS + 1);
}
END_TEST

// ---- ODE's working memory

START_TEST(worlds_may_share_working_memory)
{
    static field f[4]; // the last two share
    crowd c[2];
    open_fields(f, 4);
    ck_assert_int_eq(dWorldUseSharedWorkingMemory(f[3].world, f[2].world), 1);
    for (int i = 0; _i && i < 2; i++) {
        give_threads(&c[i], f[2 + i].world, 2, 0);
    }
    for (int n = 0; n < 80; n++) {
        if (n == 40) {
            dWorldCleanupWorkingMemory(f[3].world);
        }
        for (int i = 0; i < 4; i++) {
            collide_field(&f[i]);
            if (n > 20) {
                go_wrong(&f[i], n);
            }
            step_field(&f[i], i % 2 ? dWorldStep : dWorldQuickStep);
        }
        assert_same_field(&f[2], &f[0], n);
        assert_same_field(&f[3], &f[1], n);
    }
    for (int i = 0; _i && i < 2; i++) {
        take_threads(&c[i], f[2 + i].world);
    }
    close_fields(f, 4);
}
END_TEST

static long blocks, largest, had;
static bool out_of_memory; // but for the islands

static void *take_block(dsizeint size)
{
    if (out_of_memory && blocks > 0) {
        return NULL;
    }
    blocks++;
    had++;
    largest = (long)size > largest ? (long)size : largest;
    return malloc(size);
}

static void *shrink_block(void *block, dsizeint size, dsizeint smaller)
{
    (void)size;
    return realloc(block, smaller);
}

static void free_block(void *block, dsizeint size)
{
    (void)size;
    blocks--;
    free(block);
}

static const dWorldStepMemoryFunctionsInfo manager = {sizeof manager, take_block, shrink_block,
                                                      free_block};

START_TEST(the_memory_manager_is_the_programs)
{
    enum { RESERVE = 1 << 22 };
    static field f[2];
    crowd c;
    const dWorldStepReserveInfo reserve = {sizeof reserve, 1.5f, RESERVE};
    open_fields(f, 2);
    ck_assert_int_eq(dWorldSetStepMemoryManager(f[0].world, &manager), 1);
    ck_assert_int_eq(dWorldSetStepMemoryReservationPolicy(f[0].world, &reserve), 1);
    if (_i) {
        give_threads(&c, f[0].world, 2, 0);
    }
    for (int n = 0; n < 60; n++) {
        long before = had;
        if (n == 30) {
            dWorldCleanupWorkingMemory(f[0].world);
            ck_assert_int_eq(blocks, 0);
        }
        for (int i = 0; i < 2; i++) {
            collide_field(&f[i]);
            go_wrong(&f[i], n);
            if (n == 30 && i == 0) {
                out_of_memory = true;
                ck_assert_int_eq(dWorldStep(f[0].world, step), 0);
                ck_assert_int_eq(blocks, 1);
                out_of_memory = false;
            }
            step_field(&f[i], dWorldStep);
        }
        assert_same_field(&f[0], &f[1], n);
        // Islands, and as much for a step of each thread, at once: none later.
        ck_assert_int_eq(had - before, n % 30 ? 0 : 2 + _i);
        ck_assert_int_ge(largest, RESERVE);
    }
    if (_i) {
        take_threads(&c, f[0].world);
    }
    close_fields(f, 2);
    ck_assert_int_eq(blocks, 0);
}
END_TEST

static void setup(void)
{
    start_ode();
    dSetMessageHandler(quiet);
}

int main(void)
{
    Suite *suite = suite_create("threads");
    ADD_TESTS_WITH(suite, "pool", setup, dCloseODE, {a_pool_changes_no_bit, 2 * POOLED},
                   {few_islands_wake_no_thread, 1}, {calls_that_are_refused_change_nothing, 1},
                   {a_pool_may_change_between_steps, 1}, {a_settled_pool_allocates_nothing, 1});
    ADD_TESTS_WITH(suite, "worlds", setup, dCloseODE, {worlds_come_and_go_in_threads, METHODS},
                   {methods_live_side_by_side, 1}, {stock_takes_islands_in_threads, 1},
                   {worlds_with_pools_in_threads, 1});
    ADD_TESTS_WITH(suite, "memory", setup, dCloseODE, {worlds_may_share_working_memory, 2},
                   {the_memory_manager_is_the_programs, 2});
    return run_suite_as(suite, CK_FORK); // sprag prints at most 64 texts a process
}
