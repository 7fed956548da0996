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

#include <string.h>

#include "linalg.h"

// Reads the accumulators of all bodies.
static void begin_set(ode_fluids *f, dWorldID world)
{
    const ode_set old = f->last;
    f->last = f->now;
    f->now = old;
    f->now.size = sizeof(ode_fluid_body);
    sprag_ode_set_clear(&f->now);
    for (dBodyID b = sprag_ode_newest_body(world); b; b = sprag_ode_older_body(b)) {
        ode_fluid_body *now =
            sprag_ode_set_value(&f->now, sprag_ode_set_add(&f->now, (ode_key){{b}}));
        if (now) {
            *now = (ode_fluid_body){.id = b};
            sprag_ode_read_accumulators(b, now->force);
        }
    }
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
    begin_set(f, world);
    sprag_ode_begin_step(world, quick);
    for (int i = 0; i < f->now.count; i++) {
        ode_fluid_body *now = sprag_ode_set_value(&f->now, i);
        const ode_fluid_body *last =
            sprag_ode_set_value(&f->last, sprag_ode_set_find(&f->last, f->now.key[i]));
        double with[6];
        sprag_ode_read_accumulators(now->id, with);
        for (int k = 0; k < 6; k++) {
            now->force[k] = with[k] - now->force[k];
        }
        if (last) {
            add_missing(now, last);
        }
    }
}
