// The program's collision calls under a method that collides; and asking it again in mid-step.
//
// dSpaceCollide runs as stock's, each pair that it offers noted; then those pairs are offered that
// are within reach and that stock left out, because their boxes do not overlap. A space inside a
// space is offered whole, as stock does, so that the program's own way down is taken: its
// callback's dSpaceCollide2 is a call of its own.
//
// Calls are recorded per world, in every world that has a body in the geoms asked about. Worlds may
// be collided and stepped in any order and thread, several by one call. What a call needs to work
// with belongs to its thread.
#define _GNU_SOURCE 1 // dladdr, pthread_getattr_np
#include "collide.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

// ---- what a thread works with

typedef struct doomed {
    doomed_kind kind;
    void *what;
} doomed;

typedef struct desk {
    ode_geometry *geometry;
    sprag_scratch scratch;
    ode_set offered;       // to the calls that are under way: two geoms, number of the call
    uintptr_t calls;       // numbers given out
    int level;             // calls under way
    const void *outermost; // frame of the first of them
    bool busy;           // geometry and scratch are in use: what a geom's own callback asks then is
                         // stock's
    dGeomID (*close)[2]; // to be offered by the calls under way
    int closes, close_room;
    doomed *doomed; // to be destroyed when the step is over
    int dooms, doom_room;
} desk;

static _Thread_local desk *own_desk;

static _Thread_local struct {
    int in_stock;         // dCollide
    const void *frame;    // of the call of ours that steps; NULL: none
    const ode_pair *pair; // that the program is being asked about
    double gap;           // m, a little more than theirs
    const void *asked_at; // from this frame
} now;

// Is the call of us that has the frame `from` made from inside the one that had `frame`? Programs
// leave callbacks by exceptions and longjmp too: then it is not.
static bool is_inside(const void *from, const void *frame)
{
    return frame && (const char *)from < (const char *)frame;
}

static bool is_asking(const void *from)
{
    if (now.pair && !is_inside(from, now.asked_at)) {
        now.pair = NULL;
    }
    return now.pair;
}

static pthread_key_t key;
static bool has_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void free_desk(void *data)
{
    desk *d = data;
    if (d) {
        sprag_ode_geometry_free(d->geometry);
        sprag_scratch_free(&d->scratch);
        sprag_ode_set_free(&d->offered);
        free(d->close);
        free(d->doomed);
        free(d);
    }
    own_desk = NULL;
}

static void make_key(void)
{
    has_key = pthread_key_create(&key, free_desk) == 0;
}

// NULL: no memory.
static desk *desk_of_thread(void)
{
    if (!own_desk) {
        pthread_once(&once, make_key);
        desk *d = calloc(1, sizeof *d);
        if (d) {
            d->geometry = sprag_ode_geometry_make();
        }
        if (!d || !d->geometry || !has_key || pthread_setspecific(key, d) != 0) {
            free_desk(d);
            return NULL;
        }
        own_desk = d;
    }
    return own_desk;
}

static void *widened(void *array, int count, int *room, size_t size)
{
    if (count < *room) {
        return array;
    }
    int wider = *room ? 2 * *room : 64;
    void *made = realloc(array, (size_t)wider * size);
    *room = made ? wider : *room;
    return made;
}

static void say_no_memory(void)
{
    report_once("sprag: no memory to collide with; contacts may be missed.");
}

// ---- which world

ode_record *collide_record(const world_state *w)
{
    return w && method_answers_collisions(w->settings.method) ? w->record : NULL;
}

// The one that two geoms are to be answered for, NULL: none, or stock does.
static world_state *world_of(dBodyID a, dBodyID b)
{
    dWorldID of_a = a ? dBodyGetWorld(a) : NULL, of_b = b ? dBodyGetWorld(b) : NULL;
    if (of_a && of_b && of_a != of_b) {
        return NULL;
    }
    return of_a || of_b ? world_that_collides(of_a ? of_a : of_b) : NULL;
}

// ---- what does not last until the step

// Bindings give callbacks objects that live as long as the call: PyODE a tuple. So may functions
// that a run time has made for the call, which are in no file.
static bool is_of_bindings(dNearCallback *callback)
{
    static _Thread_local dNearCallback *known;
    static _Thread_local bool is;
    Dl_info in = {0};
    if (callback == known) {
        return is;
    }
    known = callback;
    is = !dladdr((void *)(intptr_t)callback, &in) || !in.dli_fname;
    if (!is) {
        char init[128];
        const char *slash = strrchr(in.dli_fname, '/'), *name = slash ? slash + 1 : in.dli_fname;
        snprintf(init, sizeof init, "PyInit_%.*s", (int)strcspn(name, "."), name);
        void *module = dlopen(in.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
        is = module && dlsym(module, init);
        if (module) {
            dlclose(module);
        }
    }
    return is;
}

static void ask_before(world_state *w, const char *why)
{
    w->settings.callbacks = CALLBACKS_BEFORE;
    report_once("sprag: world %d: %s: its callback cannot be asked about what touches within a "
                "step, and is asked before it, as by advance.callbacks=before.",
                w->number, why);
}

// ---- dSpaceCollide, dSpaceCollide2

typedef struct asking {
    ode_collision call; // b: NULL for one space
    dNearCallback *callback;
    void *data;
    desk *desk;
    const void *number; // of the call
    double reach;       // m, of the worlds that it is about
} asking;

typedef struct listing {
    asking *as;
    dWorldID last;
    bool any;
} listing;

static void list_body(listing *l, dBodyID body)
{
    dWorldID world = body ? dBodyGetWorld(body) : NULL;
    if (!world || world == l->last) {
        return;
    }
    l->last = world;
    world_state *w = world_that_collides(world);
    if (w) {
        l->any = true;
        l->as->reach = fmax(l->as->reach, advance_farthest(w));
        if (w->settings.callbacks == CALLBACKS_WITHIN && is_of_bindings(l->as->callback)) {
            ask_before(w, "what a scripting language's bindings give to dSpaceCollide or "
                          "dSpaceCollide2 may not outlive the call");
        }
        if (!sprag_ode_record_call(w->record, l->as->call, l->as->data, l->as->callback)) {
            say_no_memory();
        }
    }
}

static void list_worlds(listing *l, dGeomID id)
{
    if (!dGeomIsSpace(id)) {
        list_body(l, dGeomGetBody(id));
        return;
    }
    for (int i = 0; i < dSpaceGetNumGeoms((dSpaceID)id); i++) {
        dGeomID child = sprag_ode_geom_in((dSpaceID)id, i);
        if (child) {
            list_worlds(l, child);
        }
    }
}

// Notes the call in the worlds of its bodies. false: none of them is ours to answer for.
static bool record(asking *as)
{
    listing l = {.as = as};
    list_worlds(&l, as->call.a);
    if (as->call.b && as->call.b != as->call.a) {
        list_worlds(&l, as->call.b);
    }
    return l.any;
}

static void offer(const asking *as, dGeomID a, dGeomID b)
{
    bool noted = sprag_ode_set_add(&as->desk->offered, sprag_ode_pair_key(a, b, as->number)) !=
                 ODE_SET_NO_MEMORY;
    if (!dGeomIsSpace(a) && !dGeomIsSpace(b)) {
        world_state *w = world_of(dGeomGetBody(a), dGeomGetBody(b));
        noted &= !w || sprag_ode_record_offer(w->record, a, b);
    }
    if (!noted) {
        say_no_memory();
    }
    as->callback(as->data, a, b);
}

static void offer_from_stock(void *data, dGeomID a, dGeomID b)
{
    offer(data, a, b);
}

// Puts a pair on the desk unless it has been offered by this call.
static void consider(const asking *as, const ode_pair *pair)
{
    desk *d = as->desk;
    dGeomID given[2];
    world_state *w = world_of(pair->side[0]->body, pair->side[1]->body);
    if (!w || !sprag_ode_callback_pair(&as->call, pair->side[pair->first]->id,
                                       pair->side[!pair->first]->id, given)) {
        return;
    }
    ode_key key_of_pair = sprag_ode_pair_key(given[0], given[1], as->number);
    if (sprag_ode_set_has(&d->offered, key_of_pair) ||
        !sprag_ode_are_close(pair, advance_reach(w, pair->side[0]->geom, pair->side[1]->geom))) {
        return;
    }
    dGeomID(*close)[2] = widened(d->close, d->closes, &d->close_room, sizeof *close);
    if (!close || sprag_ode_set_add(&d->offered, key_of_pair) == ODE_SET_NO_MEMORY) {
        d->close = close ? close : d->close;
        say_no_memory();
        return;
    }
    d->close = close;
    d->close[d->closes][0] = given[0];
    d->close[d->closes++][1] = given[1];
}

static bool is_new(void *data, dGeomID first, dGeomID second)
{
    const asking *as = data;
    dGeomID given[2];
    return sprag_ode_callback_pair(&as->call, first, second, given) &&
           !sprag_ode_set_has(&as->desk->offered,
                              sprag_ode_pair_key(given[0], given[1], as->number));
}

// All are found before the first is offered: callbacks move things, and collide.
static void offer_close(asking *as)
{
    desk *d = as->desk;
    ode_pairs pairs;
    int first = d->closes;
    d->busy = true;
    sprag_scratch_reset(&d->scratch);
    if (sprag_ode_find_wanted(d->geometry, &as->call, 2 * as->reach, is_new, as, &d->scratch,
                              &pairs) == SPRAG_OK) {
        for (int i = 0; i < pairs.count; i++) {
            consider(as, &pairs.pair[i]);
        }
    } else {
        say_no_memory();
    }
    d->busy = false;
    for (int i = first; i < d->closes; i++) {
        if (d->close[i][0] && d->close[i][1]) { // or it is destroyed by now
            offer(as, d->close[i][0], d->close[i][1]);
        }
    }
    d->closes = first;
}

// While the program is asked about a pair, a call on spaces that hold it leads to it alone. false:
// the call is about something else.
static bool follow(const ode_collision *call, void *data, dNearCallback *callback)
{
    for (int turned = 0; turned < 2; turned++) {
        dGeomID given[2];
        if (sprag_ode_callback_pair(call, now.pair->side[turned]->id, now.pair->side[!turned]->id,
                                    given)) {
            callback(data, given[0], given[1]);
            return true;
        }
    }
    return false;
}

static void ask_stock(const asking *as, void *data, dNearCallback *callback)
{
    if (as->call.b) {
        sprag_ode_space_collide2(as->call.a, as->call.b, data, callback);
    } else {
        sprag_ode_space_collide((dSpaceID)as->call.a, data, callback);
    }
}

static bool is_ray(dGeomID id)
{
    return dGeomGetClass(id) == dRayClass;
}

// What a callback has left by a jump is over.
static void enter(desk *d, const void *frame)
{
    if (d->level > 0 && !is_inside(frame, d->outermost)) {
        d->level = 0;
        d->closes = 0;
        sprag_ode_set_clear(&d->offered);
    }
    if (d->level++ == 0) {
        d->outermost = frame;
    }
}

static void leave(desk *d)
{
    if (--d->level == 0) {
        sprag_ode_set_clear(&d->offered);
    }
}

static void collide(asking *as, const void *frame)
{
    if (is_asking(frame) && follow(&as->call, as->data, as->callback)) {
        return;
    }
    bool rays = is_ray(as->call.a) || (as->call.b && is_ray(as->call.b));
    desk *d = rays || is_asking(frame) ? NULL : desk_of_thread();
    if (!d || d->busy || !record(as)) {
        ask_stock(as, as->data, as->callback);
        return;
    }
    as->desk = d;
    as->number = (const void *)++d->calls;
    enter(d, frame);
    ask_stock(as, as, offer_from_stock);
    offer_close(as);
    leave(d);
}

void collide_space(dSpaceID space, void *data, dNearCallback *callback)
{
    asking as = {.call = {(dGeomID)space, NULL}, .callback = callback, .data = data};
    if (!world_any_collides() || now.in_stock || !space || !callback ||
        !dGeomIsSpace((dGeomID)space)) {
        sprag_ode_space_collide(space, data, callback);
    } else {
        collide(&as, __builtin_frame_address(0));
    }
}

void collide_two(dGeomID a, dGeomID b, void *data, dNearCallback *callback)
{
    asking as = {.call = {a, b}, .callback = callback, .data = data};
    if (!world_any_collides() || now.in_stock || !a || !b || !callback) {
        sprag_ode_space_collide2(a, b, data, callback);
    } else {
        collide(&as, __builtin_frame_address(0));
    }
}

// ---- dCollide

static bool is_asked_about(dGeomID a, dGeomID b)
{
    const ode_side *const *side = now.pair->side;
    return (side[0]->id == a && side[1]->id == b) || (side[0]->id == b && side[1]->id == a) ||
           (side[0]->geom == a && side[1]->geom == b) || (side[0]->geom == b && side[1]->geom == a);
}

// ODE calls transforms deprecated; programs have them.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static bool is_mesh(dGeomID id)
{
    while (id && dGeomGetClass(id) == dGeomTransformClass) {
        id = dGeomTransformGetGeom(id);
    }
    return id && (dGeomGetClass(id) == dTriMeshClass || dGeomGetClass(id) == dHeightfieldClass);
}

#pragma GCC diagnostic pop

static int answer(dGeomID a, dGeomID b, int flags, dContactGeom *contact, int skip)
{
    bool askable = a && b && a != b && contact && (flags & 0xffff) &&
                   skip >= (int)sizeof *contact && !dGeomIsSpace(a) && !dGeomIsSpace(b);
    if (!askable || (dGeomGetBody(a) && dGeomGetBody(a) == dGeomGetBody(b))) {
        return -1;
    }
    world_state *w = world_of(dGeomGetBody(a), dGeomGetBody(b));
    // What is left to the implicit step has the contacts that this step has under any method.
    bool left = w && w->settings.method->yields && (is_mesh(a) || is_mesh(b));
    desk *d = w && !left ? desk_of_thread() : NULL;
    if (!d || d->busy) {
        return -1;
    }
    double reach = advance_reach(w, a, b);
    if (is_asking(__builtin_frame_address(0)) && is_asked_about(a, b)) {
        reach = fmax(reach, now.gap);
    }
    d->busy = true;
    sprag_scratch_reset(&d->scratch);
    int count =
        sprag_ode_collide_within(d->geometry, &d->scratch, a, b, reach, flags, contact, skip);
    d->busy = false;
    return count;
}

int collide_geoms(dGeomID a, dGeomID b, int flags, dContactGeom *contact, int skip)
{
    if (!world_any_collides()) {
        return sprag_ode_collide(a, b, flags, contact, skip);
    }
    int count = now.in_stock ? -1 : answer(a, b, flags, contact, skip);
    if (count < 0) {
        now.in_stock++;
        count = sprag_ode_collide(a, b, flags, contact, skip);
        now.in_stock--;
    }
    return count;
}

// ---- what goes

static bool is_doomed(const void *what)
{
    for (int i = 0; what && own_desk && i < own_desk->dooms; i++) {
        if (own_desk->doomed[i].what == what) {
            return true;
        }
    }
    return false;
}

// The step under way still has it in hand. false: it can go at once.
static bool put_off(doomed_kind kind, void *what)
{
    desk *d = now.pair && what && is_asking(__builtin_frame_address(0)) ? desk_of_thread() : NULL;
    if (!d || is_doomed(what)) {
        return d;
    }
    doomed *wider = widened(d->doomed, d->dooms, &d->doom_room, sizeof *wider);
    if (!wider) {
        say_no_memory();
        return true; // never, rather than too early
    }
    d->doomed = wider;
    d->doomed[d->dooms++] = (doomed){kind, what};
    return true;
}

static void forget(dGeomID id)
{
    if (!id || !world_any_collides()) {
        return;
    }
    world_records_forget(id);
    for (int i = 0; own_desk && i < own_desk->closes; i++) {
        for (int side = 0; side < 2; side++) {
            if (sprag_ode_is_within(own_desk->close[i][side], id)) {
                own_desk->close[i][side] = NULL;
            }
        }
    }
}

static void destroy(const doomed *d)
{
    if (d->kind == DOOMED_GEOM || d->kind == DOOMED_SPACE) {
        forget(d->what);
    }
    switch (d->kind) {
    case DOOMED_BODY:
        sprag_ode_body_destroy(d->what);
        break;
    case DOOMED_GEOM:
        sprag_ode_geom_destroy(d->what);
        break;
    case DOOMED_SPACE:
        sprag_ode_space_destroy(d->what);
        break;
    case DOOMED_JOINT:
        sprag_ode_joint_destroy(d->what);
        break;
    case DOOMED_GROUP_EMPTY:
        sprag_ode_joint_group_empty(d->what);
        break;
    case DOOMED_GROUP:
        sprag_ode_joint_group_destroy(d->what);
        break;
    }
}

void collide_destroy(doomed_kind kind, void *what)
{
    if (!put_off(kind, what)) {
        destroy(&(doomed){kind, what});
    }
}

// ---- steps

bool collide_begin_step(collide_step *outer, const void *frame)
{
    if (is_asking(frame)) {
        report_once("sprag: a collision callback, called in the middle of a step because two geoms "
                    "touch, calls for another step: that one is left out.");
        return false;
    }
    *outer = (collide_step){is_inside(frame, now.frame) ? now.frame : NULL};
    now.frame = outer->frame ? outer->frame : frame;
    return true;
}

void collide_end_step(const collide_step *outer, dWorldID world)
{
    now.frame = outer->frame;
    world_state *w = world && world_any_collides() ? world_find(world) : NULL;
    if (w && w->record) {
        sprag_ode_record_clear(w->record);
    }
    desk *d = now.frame ? NULL : own_desk;
    for (int i = 0; d && i < d->dooms; i++) {
        doomed one = d->doomed[i];
        destroy(&one);
    }
    if (d) {
        d->dooms = 0;
    }
}

// ---- asking in mid-step

// Local variables of functions that have returned, given as data, are on the stack below the call
// of us that steps.
static bool is_gone(const void *data)
{
    static _Thread_local const char *lowest;
    if (!lowest) {
        pthread_attr_t attributes;
        void *at;
        size_t size;
        if (pthread_getattr_np(pthread_self(), &attributes) != 0) {
            return false;
        }
        if (pthread_attr_getstack(&attributes, &at, &size) == 0) {
            lowest = at;
        }
        pthread_attr_destroy(&attributes);
    }
    return lowest && now.frame && (const char *)data >= lowest &&
           (const char *)data < (const char *)now.frame;
}

static void ask_before_as_gone(world_state *w)
{
    ask_before(w, "the data that the program gave to dSpaceCollide or dSpaceCollide2 is a local "
                  "variable of a function that has returned");
}

void collide_look_at_data(world_state *w)
{
    int calls = 0;
    const ode_collision *call = w->record ? sprag_ode_recorded(w->record, &calls) : NULL;
    for (int i = 0; call && i < calls && w->settings.callbacks == CALLBACKS_WITHIN; i++) {
        void *data;
        sprag_ode_recorded_callback(w->record, i, &data);
        if (is_gone(data)) {
            ask_before_as_gone(w);
        }
    }
}

static bool is_contact_of(dJointID joint, const ode_pair *pair)
{
    if (dJointGetType(joint) != dJointTypeContact) {
        return false;
    }
    const dContactGeom *g = &sprag_ode_contact_of(joint)->geom;
    dGeomID a = pair->side[0]->geom, b = pair->side[1]->geom;
    return (g->g1 == a && g->g2 == b) || (g->g1 == b && g->g2 == a);
}

// Of the newest joints of a body, which come first.
static int count_contacts(dBodyID body, int newest, const ode_pair *pair, dJointID *first)
{
    int count = 0;
    for (int i = 0; i < newest; i++) {
        dJointID joint = dBodyGetJoint(body, i);
        if (joint && !is_doomed(joint) && is_contact_of(joint, pair)) {
            *first = joint;
            count++;
        }
    }
    return count;
}

static bool is_lost(const ode_pair *pair)
{
    bool lost = false;
    for (int side = 0; side < 2; side++) {
        lost |= is_doomed(pair->side[side]->id) || is_doomed(pair->side[side]->body);
    }
    return lost;
}

// What the callback of a call is given for a pair; direct: the two themselves. false: nothing.
static bool gives(const ode_collision *call, const ode_pair *pair, bool direct, dGeomID given[2])
{
    dGeomID id[2] = {pair->side[0]->id, pair->side[1]->id};
    int first = pair->first;
    if (!sprag_ode_callback_pair(call, id[first], id[!first], given) &&
        !sprag_ode_callback_pair(call, id[!first], id[first], given)) {
        return false;
    }
    bool bits = (dGeomGetCategoryBits(given[0]) & dGeomGetCollideBits(given[1])) ||
                (dGeomGetCategoryBits(given[1]) & dGeomGetCollideBits(given[0]));
    return bits && direct == (!dGeomIsSpace(given[0]) && !dGeomIsSpace(given[1]));
}

// Asks by one call; the number of new contact joints.
static int ask(world_state *w, int call, const ode_pair *pair, const dGeomID given[2],
               dJointID *first)
{
    void *data;
    dNearCallback *callback = sprag_ode_recorded_callback(w->record, call, &data);
    dBodyID body = pair->side[0]->body ? pair->side[0]->body : pair->side[1]->body;
    int before = dBodyGetNumJoints(body);
    now.pair = pair;
    now.asked_at = __builtin_frame_address(0);
    callback(data, given[0], given[1]);
    now.pair = NULL;
    return is_lost(pair) ? 0 : count_contacts(body, dBodyGetNumJoints(body) - before, pair, first);
}

int collide_ask(world_state *w, const ode_pair *pair, double gap, dJointID *first)
{
    int calls = 0, joints = -1;
    const ode_collision *call = w->record ? sprag_ode_recorded(w->record, &calls) : NULL;
    *first = NULL;
    if (is_lost(pair)) {
        return 0;
    }
    if (is_asking(__builtin_frame_address(0)) || !(pair->side[0]->body || pair->side[1]->body)) {
        return -1;
    }
    now.gap = gap + 1e-6 * fabs(gap) + 1e-9;
    // Where the program has gone down into spaces this frame, its way down need not be taken again.
    for (int direct = 1; direct >= 0 && joints < 0; direct--) {
        for (int i = 0; i < calls && joints <= 0 && !is_lost(pair); i++) {
            dGeomID given[2];
            void *data;
            if (!gives(&call[i], pair, direct, given)) {
                continue;
            }
            sprag_ode_recorded_callback(w->record, i, &data);
            if (is_gone(data)) {
                ask_before_as_gone(w);
                continue;
            }
            joints = ask(w, i, pair, given, first);
        }
    }
    if (joints >= 0 && !sprag_ode_record_offer(w->record, pair->side[0]->id, pair->side[1]->id)) {
        say_no_memory();
    }
    return joints;
}
