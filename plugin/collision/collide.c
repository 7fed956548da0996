// The program's collision calls under a method that keeps distance. ODE finds nothing where geoms
// do not overlap, so dSpaceCollide, dSpaceCollide2 and dCollide answer by sprag's own geometry.
//
// dSpaceCollide first runs as ODE's and notes every pair that it offers to the callback. Then it
// offers the pairs that ODE misses, and those within reach that it has left out because their
// bounding boxes do not overlap. A space within a space is offered as a whole, as ODE does; the
// callback then calls dSpaceCollide2. For speculative contacts alone, in one space, the second
// search stands in for ODE's: its boxes contain ODE's.
//
// A call is recorded in every world that has a body in the geoms. Worlds may be collided and
// stepped in any order and thread, several of them by one call.
#define _GNU_SOURCE 1 // dladdr
#include "collide.h"

#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "array.h"
#include "box.h"
#include "collide_ask.h"
#include "collide_destroy.h"
#include "collide_thread.h"
#include "plugin_constants.h"
#include "reach.h"
#include "statistics.h"
#include "world.h"

// The world that two geoms belong to. NULL: none, different ones, or ODE answers for it.
static world_state *world_of(dBodyID a, dBodyID b)
{
    dWorldID of_a = a ? dBodyGetWorld(a) : NULL, of_b = b ? dBodyGetWorld(b) : NULL;
    if (of_a && of_b && of_a != of_b) {
        return NULL;
    }
    return of_a || of_b ? world_that_collides(of_a ? of_a : of_b) : NULL;
}

// Whether a callback belongs to bindings of a scripting language: such callbacks get objects, as
// PyODE's tuples, that live as long as the call. The same may hold for functions that a run-time
// system has made for the call, which are in no file.
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

// ---- dSpaceCollide, dSpaceCollide2

// A dSpaceCollide or dSpaceCollide2 call under way.
typedef struct space_call {
    ode_collision call; // as the program made it; b: NULL for dSpaceCollide
    collide_context *context;
    const void *number; // of the call, unique in its thread
    // set by record_call:
    double reach;    // m, the largest of the worlds concerned that keep distance
    ode_ahead ahead; // of worlds with speculative contacts; otherwise 0
    bool instead;    // the search for pairs that are near stands in for ODE's
    bool failed;     // it had no memory
} space_call;

// The worlds of the bodies in the geoms of a call.
typedef struct world_list {
    space_call *of;
    dWorldID last; // world of the last body
    bool any;      // a world that is recorded is among them
    bool others;   // geoms that ODE pairs by rules of their own, worlds that need no near pairs
} world_list;

// A contact that comes after the step does not act in it, so a first step may be taken as too long.
static ode_ahead ahead_of(const world_state *w)
{
    const double step = w->statistics.step > 0 ? w->statistics.step : 1 / 30.0;
    dVector3 gravity;
    dWorldGetGravity(w->id, gravity);
    return (ode_ahead){step, dCalcVectorLength3(gravity) * step * step,
                       sprag_ode_warm_start_rebound(w->warm_start, NULL), NULL};
}

// most: of all bodies.
static double rebound_of(dGeomID geom, double most)
{
    const world_state *w = most > 0 ? world_of(dGeomGetBody(geom), NULL) : NULL;
    return w ? sprag_ode_warm_start_rebound(w->warm_start, dGeomGetBody(geom)) : 0;
}

static ode_ahead ahead_of_pair(const world_state *w, dGeomID a, dGeomID b)
{
    collide_context *d = collide_context_get();
    ode_ahead ahead = ahead_of(w);
    ahead.rebound = rebound_of(a, ahead.rebound) + rebound_of(b, ahead.rebound);
    ahead.search = d ? &d->search : NULL;
    return ahead;
}

static void add_body(world_list *l, dBodyID body)
{
    dWorldID world = body ? dBodyGetWorld(body) : NULL;
    if (!world || world == l->last) {
        return;
    }
    l->last = world;
    world_state *w = world_that_collides(world);
    w = w && w->record ? w : NULL;
    l->others |= !w || !settings_record(&w->settings);
    if (w) {
        l->any = true;
        if (settings_speculate(&w->settings)) {
            ode_ahead ahead = ahead_of(w);
            l->of->ahead.step = fmax(l->of->ahead.step, ahead.step);
            l->of->ahead.fall = fmax(l->of->ahead.fall, ahead.fall);
            l->of->ahead.rebound = fmax(l->of->ahead.rebound, ahead.rebound);
        }
        if (w->settings.method->keeps_distance) {
            l->of->reach = fmax(l->of->reach, reach_largest(w));
        }
        if (w->settings.callbacks == CALLBACKS_WITHIN && is_of_bindings(l->of->call.callback)) {
            ask_before_step(w, "the data that bindings of a scripting language give to "
                               "dSpaceCollide or dSpaceCollide2 may not exist any more then");
        }
        if (!sprag_ode_record_call(w->record, l->of->call)) {
            warn_of_collide_memory();
        }
    }
}

static void add_worlds(world_list *l, dGeomID id)
{
    if (!dGeomIsSpace(id)) {
        l->others |= dGeomGetClass(id) >= dFirstUserClass; // they may have a test of boxes
        add_body(l, dGeomGetBody(id));
        return;
    }
    l->others |= id != l->of->call.a;
    for (int i = 0; i < dSpaceGetNumGeoms((dSpaceID)id); i++) {
        dGeomID child = sprag_ode_geom_in((dSpaceID)id, i);
        if (child) {
            add_worlds(l, child);
        }
    }
}

// Does the space offer pairs in an order that sprag_ode_place_in knows?
static bool has_known_order(dGeomID space)
{
    const int kind = dSpaceGetClass((dSpaceID)space);
    return kind == dSimpleSpaceClass || kind == dHashSpaceClass;
}

// Records the call in the worlds of its bodies. false: ODE answers for all of them.
static bool record_call(space_call *c)
{
    world_list l = {.of = c};
    add_worlds(&l, c->call.a);
    if (c->call.b && c->call.b != c->call.a) {
        add_worlds(&l, c->call.b);
    }
    c->instead = !c->call.b && !l.others && has_known_order(c->call.a);
    return l.any;
}

static void offer(const space_call *c, dGeomID a, dGeomID b)
{
    const world_state *w = world_of(dGeomGetBody(a), dGeomGetBody(b));
    bool noted = c->instead || // of one space, each pair is found once
                 sprag_ode_set_add(&c->context->offered, sprag_ode_pair_key(a, b, c->number)) >= 0;
    if (w && w->record && !settings_speculate(&w->settings)) {
        noted &= sprag_ode_record_offer(w->record, a, b);
    }
    if (!noted) {
        warn_of_collide_memory();
    }
    c->call.callback(c->call.data, a, b);
}

static void offer_from_stock(void *data, dGeomID a, dGeomID b)
{
    offer(data, a, b);
}

// Adds a pair to those that the call has to offer.
static void add_close(void *data, dGeomID first, dGeomID second)
{
    space_call *c = data;
    collide_context *d = c->context;
    dGeomID(*close)[2] = array_widen(d->close, d->closes, &d->close_room, sizeof *close);
    if (!close) {
        c->failed = true;
        return;
    }
    d->close = close;
    d->close[d->closes][0] = first;
    d->close[d->closes++][1] = second;
}

// The same, unless it has been offered.
static void add_new(space_call *c, dGeomID first, dGeomID second)
{
    ode_set *offered = &c->context->offered;
    const int known = offered->count,
              added = sprag_ode_set_add(offered, sprag_ode_pair_key(first, second, c->number));
    c->failed |= added < 0;
    if (added == known) {
        add_close(c, first, second);
    }
}

static void add_reach(void *data, dGeomID geom, double bounds[6])
{
    const space_call *c = data;
    ode_ahead ahead = c->ahead;
    sprag_box_grow(bounds, c->reach / 2);
    if (ahead.step > 0) {
        ahead.rebound = rebound_of(geom, ahead.rebound);
        sprag_ode_sweep_bounds(geom, &ahead, bounds);
    }
}

// Adds a pair, unless it has been offered: the callback's dCollide looks at the geoms.
static void meet_new(void *data, dGeomID first, dGeomID second)
{
    space_call *c = data;
    const world_state *w = world_of(dGeomGetBody(first), dGeomGetBody(second));
    bool ahead = w && (w->settings.method->keeps_distance || settings_speculate(&w->settings));
    dGeomID given[2];
    if (ahead && sprag_ode_callback_pair(&c->call, first, second, given)) {
        add_new(c, given[0], given[1]);
    }
}

static void add_missed(void *data, dGeomID first, dGeomID second)
{
    if (world_of(dGeomGetBody(first), dGeomGetBody(second))) {
        add_close(data, first, second);
    }
}

// Forgets the pairs from `first` on.
static void offer_all(const space_call *c, int first, void *data, dNearCallback *callback)
{
    collide_context *d = c->context;
    for (int i = first; i < d->closes; i++) {
        if (d->close[i][0] && d->close[i][1]) { // NULL: a callback has destroyed the geom
            callback(data, d->close[i][0], d->close[i][1]);
        }
    }
    d->closes = first;
}

// With the pairs that ODE misses.
static void collide_by_ode(space_call *c, void *data, dNearCallback *callback)
{
    if (c->call.b) {
        sprag_ode_space_collide2(c->call.a, c->call.b, data, callback);
        return;
    }
    sprag_ode_space_collide((dSpaceID)c->call.a, data, callback);
    if (c->context) {
        int first = c->context->closes;
        collide_begin(c->context);
        c->failed |=
            !sprag_ode_find_missed((dSpaceID)c->call.a, add_missed, c, &c->context->scratch);
        collide_end(c->context);
        if (c->failed) {
            warn_of_collide_memory();
        }
        offer_all(c, first, data, callback);
    }
}

// Finds all pairs before it offers the first one: callbacks move bodies and make collision calls.
static void offer_close(space_call *c)
{
    collide_context *d = c->context;
    if (!(c->reach > 0 || c->ahead.step > 0)) { // recorded for a comparison only
        return;
    }
    int first = d->closes;
    collide_begin(d);
    c->failed = !sprag_ode_meet(d->geometry, &c->call, !c->instead, add_reach,
                                c->instead ? add_close : meet_new, c, &d->scratch) ||
                c->failed;
    collide_end(d);
    if (c->failed) {
        warn_of_collide_memory();
    }
    if (c->failed && c->instead) { // without it ODE's pairs would be lost
        d->closes = first;
        collide_by_ode(c, c, offer_from_stock);
    }
    offer_all(c, first, c, offer_from_stock);
}

// While a step asks for contacts of a pair, a call on spaces that contain the pair offers this pair
// only. false: the call does not concern the pair.
static bool offer_asked_pair(const ode_collision *call)
{
    for (int turned = 0; turned < 2; turned++) {
        dGeomID given[2];
        if (sprag_ode_callback_pair(call, collide_now.asked_pair->side[turned]->id,
                                    collide_now.asked_pair->side[!turned]->id, given)) {
            call->callback(call->data, given[0], given[1]);
            return true;
        }
    }
    return false;
}

static bool is_ray(dGeomID id)
{
    return dGeomGetClass(id) == dRayClass;
}

// Calls that were left by a jump out of their callback are over.
static void enter(collide_context *d, const void *frame)
{
    if (d->level > 0 && !is_frame_inside(frame, d->outermost)) {
        d->level = 0;
        d->closes = 0;
        sprag_ode_set_clear(&d->offered);
    }
    if (d->level++ == 0) {
        d->outermost = frame;
    }
}

static void leave(collide_context *d)
{
    if (--d->level == 0) {
        sprag_ode_set_clear(&d->offered);
    }
}

static void collide(space_call *c, const void *frame)
{
    if (is_in_step_callback(frame) && offer_asked_pair(&c->call)) {
        return;
    }
    bool rays = is_ray(c->call.a) || (c->call.b && is_ray(c->call.b));
    collide_context *d = rays || is_in_step_callback(frame) ? NULL : collide_context_get();
    if (!d || d->busy) {
        collide_by_ode(c, c->call.data, c->call.callback);
        return;
    }
    c->context = d;
    c->number = (const void *)++d->calls;
    enter(d, frame);
    if (d->level == 1) {
        sprag_ode_geometry_look_again(d->geometry);
    }
    if (!world_any_is_recorded() || !record_call(c)) {
        collide_by_ode(c, c->call.data, c->call.callback);
    } else {
        if (c->instead) {
            dSpaceClean((dSpaceID)c->call.a); // as in dSpaceCollide: what moves next goes first
        } else {
            collide_by_ode(c, c, offer_from_stock);
        }
        offer_close(c);
    }
    leave(d);
}

void collide_space(dSpaceID space, void *data, dNearCallback *callback)
{
    space_call c = {.call = {(dGeomID)space, NULL, callback, data}};
    if (!world_any_collides() || collide_now.stock_depth || !space || !callback ||
        !dGeomIsSpace((dGeomID)space)) {
        sprag_ode_space_collide(space, data, callback);
    } else {
        collide(&c, __builtin_frame_address(0));
    }
}

void collide_two(dGeomID a, dGeomID b, void *data, dNearCallback *callback)
{
    space_call c = {.call = {a, b, callback, data}};
    if (!world_any_is_recorded() || collide_now.stock_depth || !a || !b || !callback) {
        sprag_ode_space_collide2(a, b, data, callback);
    } else {
        collide(&c, __builtin_frame_address(0));
    }
}

// ---- dCollide

// Under stribeck.contacts=sprag: the most points of a pair, and, relative to the smaller geom, the
// gap up to which geoms touch, so that faces that were placed on one another do, and that up to
// which a contact stays that has opened. Smaller: a light part in a gripper is let go for a step
// where a point opens, and tilts.
enum { POINTS_MAX = 8 };
static const double ROUNDING = 1e-9, GAPS = 0.005;

static bool is_asked_pair(dGeomID a, dGeomID b)
{
    const ode_geom *of = collide_now.asked_pair->side[0], *with = collide_now.asked_pair->side[1];
    return (of->id == a && with->id == b) || (of->id == b && with->id == a) ||
           (of->named == a && with->named == b) || (of->named == b && with->named == a);
}

// dGeomTransform is deprecated, but programs use it.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static int class_of(dGeomID id)
{
    while (id && dGeomGetClass(id) == dGeomTransformClass) {
        id = dGeomTransformGetGeom(id);
    }
    return id ? dGeomGetClass(id) : -1;
}

#pragma GCC diagnostic pop

static bool is_ball(dGeomID id)
{
    return class_of(id) == dSphereClass;
}

// Heightfields have no back.
static bool has_back(dGeomID id)
{
    return class_of(id) == dTriMeshClass;
}

// Kinds of classes, as ODE's dCollide tells them apart.
enum { ROUND = 1, PLANE = 2, BOX_LIKE = 4, MESH = 8, FIELD = 16, HARD = 32, BY_ODE_ALONE = 0 };

static unsigned kind_of(int class)
{
    switch (class) {
    case dSphereClass:
        return ROUND;
    case dPlaneClass:
        return PLANE;
    case dBoxClass:
    case dCapsuleClass:
        return BOX_LIKE;
    case dTriMeshClass:
        return MESH;
    case dHeightfieldClass:
        return FIELD;
    case dCylinderClass:
    case dConvexClass:
        return HARD;
    default:
        return BY_ODE_ALONE;
    }
}

// ODE finds too few points of cylinders and lying capsules. Those of boxes come and go from step to
// step, bodies that land on meshes and heightfields win energy, balls are slowed down by edges
// within a mesh, blocks of triangles fall off one another, and for some convex pairs it ends the
// program.
static bool is_done_badly(dGeomID a, dGeomID b)
{
    const unsigned one = kind_of(class_of(a)), other = kind_of(class_of(b)), both = one | other;
    return one && other &&
           (both & HARD || both == BOX_LIKE || both == MESH || both == (MESH | FIELD) ||
            (both & (ROUND | BOX_LIKE) && both & (MESH | FIELD)));
}

// Has the program told ODE to merge the contacts of a ball with this mesh?
static bool are_merged(dGeomID ball, dGeomID mesh)
{
    int how = 0, size = sizeof how;
    return is_ball(ball) && dGeomGetClass(mesh) == dTriMeshClass &&
           dGeomLowLevelControl(mesh, dGeomColliderControlClass,
                                dGeomColliderGetMergeSphereContactsControlCode, &how, &size) &&
           how > dGeomColliderMergeContactsValue_None;
}

// Has meshes compared with what is known of them: after a step, and after the program has destroyed
// one. dSpaceCollide does so, too.
static void look_at_meshes(collide_context *d, const world_state *w)
{
    const long steps = w->statistics.steps, destroyed = collide_destroyed_meshes();
    if (d->asked != w || d->asked_steps != steps || d->asked_destroyed != destroyed) {
        d->asked = w;
        d->asked_steps = steps;
        d->asked_destroyed = destroyed;
        d->search.left = MESH_ADVANCES;
        sprag_ode_geometry_look_again(d->geometry);
    }
}

// ahead: NULL without speculative contacts. -1: ODE answers.
static int answer(const world_state *w, dGeomID a, dGeomID b, const ode_ahead *ahead, int flags,
                  dContactGeom *contact, int skip)
{
    bool all = w->settings.method->keeps_distance;
    bool ours = all || (settings_collide_some(&w->settings) && is_done_badly(a, b) &&
                        !are_merged(a, b) && !are_merged(b, a));
    collide_context *d = ours ? collide_context_get() : NULL;
    if (!d || d->busy) {
        return -1;
    }
    const double size = all ? 0 : sprag_ode_size_of_smaller(a, b);
    ode_reach reach = {all ? reach_of_pair(w, a, b) : ROUNDING * size, GAPS * size,
                       all ? INT_MAX : POINTS_MAX};
    if (is_in_step_callback(__builtin_frame_address(0)) && is_asked_pair(a, b)) {
        reach.touching = fmax(reach.touching, collide_now.asked_gap);
    }
    collide_begin(d);
    look_at_meshes(d, w);
    double normal[2 * POINTS_MAX][3], position[2 * POINTS_MAX][3];
    ode_last_step last = {.length = w->statistics.step,
                          .normal = (const double(*)[3])normal,
                          .position = (const double(*)[3])position};
    if (!all || has_back(a) || has_back(b)) {
        last.contacts =
            sprag_ode_warm_start_of_pair(w->warm_start, a, b, 2 * POINTS_MAX, normal, position);
    }
    int count = sprag_ode_collide_within(d->geometry, &d->scratch, a, b, &reach, &last, ahead,
                                         flags, contact, skip);
    collide_end(d);
    return count;
}

static int answer_as_ode(dGeomID a, dGeomID b, int flags, dContactGeom *contact, int skip)
{
    collide_now.stock_depth++;
    int count = sprag_ode_collide(a, b, flags, contact, skip);
    collide_now.stock_depth--;
    return count;
}

// Contacts where geoms do not overlap, behind those that ODE has found; balls that touch have none.
// Returns their number.
static int speculate(const world_state *w, dGeomID a, dGeomID b, const ode_ahead *ahead, int flags,
                     dContactGeom *contact, int skip, int found)
{
    bool any = found == 0 || !(is_ball(a) || is_ball(b));
    collide_context *d = any ? collide_context_get() : NULL;
    if (!d || d->busy) {
        return 0;
    }
    collide_begin(d);
    look_at_meshes(d, w);
    int count = sprag_ode_speculate(d->geometry, &d->scratch, a, b, ahead, flags & 0xffff, contact,
                                    skip, found);
    collide_end(d);
    return count;
}

// The second solve of a step reads the geoms of contacts. Those of bodies it finds by their body.
static void record_fixed(const world_state *w, dGeomID a, dGeomID b)
{
    dGeomID fixed = !dGeomGetBody(a) ? a : !dGeomGetBody(b) ? b : NULL;
    if (fixed && w->record && !sprag_ode_record_fixed(w->record, fixed)) {
        warn_of_collide_memory();
    }
}

int collide_geoms(dGeomID a, dGeomID b, int flags, dContactGeom *contact, int skip)
{
    if (!world_any_collides() || collide_now.stock_depth) {
        return sprag_ode_collide(a, b, flags, contact, skip);
    }
    bool is_question = a && b && a != b && contact && (flags & 0xffff) &&
                       skip >= (int)sizeof *contact && !dGeomIsSpace(a) && !dGeomIsSpace(b);
    dBodyID body[2] = {is_question ? dGeomGetBody(a) : NULL, is_question ? dGeomGetBody(b) : NULL};
    world_state *w = body[0] == body[1] ? NULL : world_of(body[0], body[1]);
    if (!w) {
        return answer_as_ode(a, b, flags, contact, skip);
    }
    const bool speculates = settings_speculate(&w->settings);
    const ode_ahead ahead = speculates ? ahead_of_pair(w, a, b) : (ode_ahead){0};
    int count = answer(w, a, b, speculates ? &ahead : NULL, flags, contact, skip);
    if (count < 0) {
        count = answer_as_ode(a, b, flags, contact, skip);
        count += speculates ? speculate(w, a, b, &ahead, flags, contact, skip, count) : 0;
    }
    if (ahead.search && ahead.search->cut > 0) {
        statistics_count(&w->statistics.unsearched, &ahead.search->cut);
    }
    if (speculates && count > 0) {
        record_fixed(w, a, b);
    }
    return count;
}
