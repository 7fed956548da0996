// Forces of fluids. They depend on place and velocity, but hold for a step: F(n) is of its start.
// Under the implicit step v(n+1) = v(n) + h F(n) / m and x(n+1) = x(n) + h v(n+1), which keeps the
// energy of a floating body. A body that moves along a parabola under F(n) has
// x(n+1) = x(n) + h (v(n) + v(n+1)) / 2 instead, and a buoyancy that holds for a step would give it
// energy in each: its speed at the end lacks the change of the force. By the trapezoidal rule
//
//     v(n+1) = v(n) + h (F(n) + F(n+1)) / (2 m),
//
// and as F(n+1) is known at the start of the next step only, that step begins with the missing
// h (F(n+1) - F(n)) / (2 m): places and velocities are those of velocity Verlet (Swope et al.,
// 1982).
#include "fluids.h"

#include <stdlib.h>
#include <string.h>

#include "linalg.h"

void sprag_ode_fluids_free(ode_fluids *fluids)
{
    free(fluids->body[0]);
    free(fluids->body[1]);
    *fluids = (ode_fluids){0};
}

// Swaps the two lists, and reads the accumulators into the new one. Returns the bodies of the old
// one, or -1: no memory.
static int begin_list(ode_fluids *f, dWorldID world)
{
    int bodies = 0, old = f->bodies, room = f->room[1];
    for (dBodyID b = sprag_ode_newest_body(world); b; b = sprag_ode_older_body(b)) {
        bodies++;
    }
    if (bodies > room) {
        ode_fluid_body *more = realloc(f->body[1], 2 * (size_t)bodies * sizeof *more);
        if (!more) {
            f->bodies = 0;
            return -1;
        }
        f->body[1] = more;
        room = 2 * bodies;
    }
    ode_fluid_body *now = f->body[1];
    f->body[1] = f->body[0];
    f->room[1] = f->room[0];
    f->body[0] = now;
    f->room[0] = room;
    f->bodies = bodies;
    for (dBodyID b = sprag_ode_newest_body(world); b; b = sprag_ode_older_body(b)) {
        *now = (ode_fluid_body){.id = b};
        sprag_ode_read_accumulators(b, now++->force);
    }
    return old;
}

// ODE's lists keep their order: a body is the next of the last step's, but for those that are new
// or have been destroyed. NULL: new.
static const ode_fluid_body *find_last(const ode_fluids *f, int old, dBodyID id, int *next)
{
    for (int i = 0; i < old; i++) {
        const ode_fluid_body *last = &f->body[1][(*next + i) % old];
        if (last->id == id) {
            *next = (*next + i + 1) % old;
            return last;
        }
    }
    return NULL;
}

// A program that has set the velocity means what it has set.
static void add_missing(const ode_fluid_body *now, const ode_fluid_body *last)
{
    double v[6], before[6];
    sprag_ode_read_velocity(now->id, v);
    if (dBodyIsKinematic(now->id) || !(last->flown > 0) ||
        memcmp(v, last->velocity, sizeof v) != 0) {
        return;
    }
    sprag_ode_read_accumulators(now->id, before);
    add_scaled(before, -1, now->force, 6);
    add_scaled(before, 1, last->force, 6);
    sprag_ode_apply_added_force(now->id, before, last->flown / 2, v);
    sprag_ode_set_velocity(now->id, v);
}

void sprag_ode_fluids_begin_step(ode_fluids *f, dWorldID world, bool quick)
{
    const int old = begin_list(f, world);
    sprag_ode_begin_step(world, quick);
    for (int i = 0, next = 0; i < f->bodies; i++) {
        ode_fluid_body *now = &f->body[0][i];
        double with[6];
        sprag_ode_read_accumulators(now->id, with);
        for (int k = 0; k < 6; k++) {
            now->force[k] = with[k] - now->force[k];
        }
        const ode_fluid_body *last = find_last(f, old, now->id, &next);
        if (last) {
            add_missing(now, last);
        }
    }
}

void sprag_ode_fluids_end_body(ode_fluid_body *body, double flown)
{
    body->flown = flown;
    sprag_ode_read_velocity(body->id, body->velocity);
}
