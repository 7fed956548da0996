// Writes a solution into ODE: velocities, then poses by ODE's own dxStepBody, which empties the
// accumulators.
#include <string.h>

#include "island.h"

// Forces that the moved callback adds are lost, as in stock. spin: of the body; NULL: ODE's
// own dxStepBody turns it.
static void integrate(dBodyID body, dReal step, const ode_spin *spin)
{
    if (spin) {
        sprag_ode_turn_with_axis(body, spin, step);
    }
    sprag_ode_step_body(body, spin ? 0 : step);
    sprag_ode_empty_accumulators(body);
}

// A moved callback finds the weight in the accumulator, as in stock.
static void integrate_with_weight(dBodyID body, dReal step, const ode_spin *spin)
{
    if (sprag_ode_calls_back(body)) {
        sprag_ode_add_weight(body);
    }
    integrate(body, step, spin);
}

int sprag_ode_push_velocities(const ode_problem *pulled, ode_warm_start *warm_start,
                              ode_feedback *feedback, ode_spin *spin)
{
    const ode_island *island = &pulled->island;
    if (warm_start) {
        sprag_ode_warm_start_store(warm_start, pulled);
    }
    for (int i = 0; i < island->bodies; i++) {
        sprag_ode_set_velocity(island->body[i], pulled->solution.velocity[i]);
    }
    for (int i = 0; i < pulled->spins; i++) {
        spin[i] = pulled->spin[i];
    }
    return pulled->wants_feedback ? sprag_ode_feedback_of_island(pulled, feedback) : 0;
}

bool sprag_ode_apply_added_force(dBodyID body, const double before[6], dReal step,
                                 double velocity[6])
{
    double with[6], added[6];
    bool any = false, good = true;
    sprag_ode_read_accumulators(body, with);
    for (int k = 0; k < 6; k++) {
        added[k] = with[k] - before[k];
        any |= added[k] != 0;
    }
    if (any) {
        const dVector3 no_gravity = {0};
        const int gyroscopic = dBodyGetGyroscopicMode(body);
        double own[6];
        sprag_body pushed;
        sprag_ode_read_velocity(body, own);
        sprag_ode_set_velocity(body, velocity);
        sprag_ode_set_accumulators(body, added);
        dBodySetGyroscopicMode(body, 0);
        good = sprag_ode_pull_body(&pushed, body, no_gravity, step);
        memcpy(velocity, pushed.free_velocity, sizeof pushed.free_velocity);
        dBodySetGyroscopicMode(body, gyroscopic);
        sprag_ode_set_accumulators(body, with);
        sprag_ode_set_velocity(body, own);
    }
    return good;
}

// Reads the geoms that the bodies of a block will mark as moved.
static void fetch_geoms(const ode_island *island, int i)
{
    enum { READ = 96 }; // bytes
    for (int k = i; k < island->bodies && k < i + ODE_BLOCK; k++) {
        const char *geom = (const char *)dBodyGetFirstGeom(island->body[k]);
        if (geom) {
            sprag_ode_fetch(geom, geom + READ);
        }
    }
}

void sprag_ode_move(const ode_island *island, dReal step, double (*force)[6], const ode_spin *spin,
                    int spins)
{
    const ode_spin *end = spin + spins;
    for (int i = 0; force && i < island->bodies; i++) {
        sprag_ode_add_weight(island->body[i]);
        sprag_ode_read_accumulators(island->body[i], force[i]);
    }
    for (int i = 0; i < island->bodies; i++) {
        if (i % ODE_BLOCK == 0) {
            sprag_ode_fetch_bodies(island->body, i, island->bodies);
            fetch_geoms(island, i);
        }
        const ode_spin *of = spin < end && spin->body == i ? spin++ : NULL;
        if (force) {
            double velocity[6];
            sprag_ode_read_velocity(island->body[i], velocity);
            sprag_ode_apply_added_force(island->body[i], force[i], step, velocity);
            sprag_ode_set_velocity(island->body[i], velocity);
            integrate(island->body[i], step, of);
        } else {
            integrate_with_weight(island->body[i], step, of);
        }
    }
}

bool sprag_ode_step_free(dBodyID id, dWorldID world, dReal step, bool *invalid_force)
{
    if (!sprag_ode_body_is_finite(id)) {
        return false;
    }
    sprag_body body;
    dVector3 gravity;
    dWorldGetGravity(world, gravity);
    *invalid_force = !sprag_ode_pull_body(&body, id, gravity, step);
    bool flown = sprag_ode_fly(id, &body, step);
    if (!flown) {
        sprag_ode_set_velocity(id, body.free_velocity);
    }
    integrate_with_weight(id, flown ? 0 : step, NULL);
    return true;
}

void sprag_ode_restore(const ode_problem *pulled)
{
    for (int i = 0; pulled->force && i < pulled->island.bodies; i++) {
        sprag_ode_set_accumulators(pulled->island.body[i], pulled->force[i]);
    }
}

void sprag_ode_freeze(const ode_island *island)
{
    for (int i = 0; i < island->bodies; i++) {
        sprag_ode_empty_accumulators(island->body[i]);
    }
}
