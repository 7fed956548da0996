#include "collide_destroy.h"

#include "array.h"
#include "collide_thread.h"
#include "ode.h"
#include "step_guard.h"
#include "world.h"

bool collide_will_destroy(const void *what)
{
    const collide_context *c = collide_context_if_made();
    for (int i = 0; what && c && i < c->destructions; i++) {
        if (c->destruction[i].what == what) {
            return true;
        }
    }
    return false;
}

// A moved callback may destroy a body that is still to be moved. Stock then moves freed memory, and
// a method that works within the step also moves bodies that stock has moved before.
static bool is_in_step(const void *frame)
{
    return is_in_step_callback(frame) ||
           (collide_now.within_step && is_frame_inside(frame, collide_now.step_frame));
}

static bool is_used(destroy_kind kind, const void *what, const void *frame)
{
    const world_state *w = kind == DESTROY_WORLD ? world_find((dWorldID)what) : NULL;
    return is_in_step(frame) || (w && step_guard_is_within(w, frame));
}

// false: no step uses it.
static bool put_off(destroy_kind kind, void *what)
{
    bool used = what && is_used(kind, what, __builtin_frame_address(0));
    collide_context *c = used ? collide_context_get() : NULL;
    if (!c || collide_will_destroy(what)) {
        return c;
    }
    if (kind == DESTROY_BODY) {
        dBodySetMovedCallback(what, NULL); // its user data may be gone
    }
    destruction *more =
        array_widen(c->destruction, c->destructions, &c->destruction_room, sizeof *more);
    if (!more) {
        warn_of_collide_memory();
        return true; // a leak is better than a crash of the step
    }
    c->destruction = more;
    c->destruction[c->destructions++] = (destruction){kind, what};
    return true;
}

static void forget_geom(dGeomID id)
{
    collide_context *c = collide_context_if_made();
    if (id && world_any_is_recorded()) {
        world_records_forget(id);
    }
    for (int i = 0; c && id && i < c->closes; i++) {
        for (int side = 0; side < 2; side++) {
            if (sprag_ode_is_within(c->close[i][side], id)) {
                c->close[i][side] = NULL;
            }
        }
    }
}

static _Atomic long destroyed_meshes; // by all threads

long collide_destroyed_meshes(void)
{
    return destroyed_meshes;
}

static bool may_be_mesh(dGeomID geom)
{
    const int class = geom ? dGeomGetClass(geom) : -1;
    return class == dTriMeshClass || class == dGeomTransformClass || (geom && dGeomIsSpace(geom));
}

// ODE destroys the parts by the functions of the program, and none of them waits.
static void destroy_world(dWorldID world)
{
    const collide_state now = collide_now;
    collide_now = (collide_state){0};
    world_forget(world);
    sprag_ode_world_destroy(world);
    collide_now = now;
}

static void destroy(const destruction *d)
{
    if (d->kind == DESTROY_GEOM || d->kind == DESTROY_SPACE) {
        forget_geom(d->what);
        destroyed_meshes += may_be_mesh(d->what);
    }
    switch (d->kind) {
    case DESTROY_BODY:
        sprag_ode_body_destroy(d->what);
        break;
    case DESTROY_GEOM:
        sprag_ode_geom_destroy(d->what);
        break;
    case DESTROY_SPACE:
        sprag_ode_space_destroy(d->what);
        break;
    case DESTROY_JOINT:
        sprag_ode_joint_destroy(d->what);
        break;
    case EMPTY_GROUP:
        sprag_ode_joint_group_empty(d->what);
        break;
    case DESTROY_GROUP:
        sprag_ode_joint_group_destroy(d->what);
        break;
    case DESTROY_WORLD:
        destroy_world(d->what);
        break;
    }
}

void collide_destroy(destroy_kind kind, void *what)
{
    if (!put_off(kind, what)) {
        destroy(&(destruction){kind, what});
    }
}

void collide_destroy_waiting(void)
{
    collide_context *c = collide_context_if_made();
    for (int i = 0; c && i < c->destructions; i++) {
        destruction one = c->destruction[i];
        destroy(&one);
    }
    if (c) {
        c->destructions = 0;
    }
}
