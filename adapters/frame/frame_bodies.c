// The bodies of a step: out of ODE, and back.
#include "frame_run.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "linalg.h"

rider *step_rider_of(const step *s, dBodyID body)
{
    int i = sprag_ode_index_of(&s->index, body);
    return i == SPRAG_STATIC || s->rider[i].held ? NULL : &s->rider[i];
}

static void note_bad_force(ode_advance *a, dBodyID id)
{
    a->invalid_force = a->invalid_forces++ ? a->invalid_force : id;
}

static void pull_rider(step *s, int i, dBodyID id, int island, const dReal *gravity)
{
    rider *r = &s->rider[i];
    ode_advance *a = s->a;
    *r = (rider){.id = id, .island = island, .alone = true};
    if (!sprag_ode_pull_mover(&r->start, id, gravity)) {
        note_bad_force(a, id);
        sprag_ode_empty_accumulators(id);
    }
    sprag_ode_read_accumulators(id, r->force);
    sprag_ode_empty_accumulators(id); // what the callbacks of the step add is for the next one
    double acceleration = r->start.mass > 0 ? norm3(r->start.force) / r->start.mass : 0;
    double h = a->step, spin = 0, turned[3], inverse[9];
    if (r->start.mass > 0 && invert33(r->start.inertia, inverse) != 0) {
        mul33(inverse, r->start.force + 3, turned); // size, whatever the axes
        spin = 2 * norm3(turned) * h;
    }
    r->reach =
        (1.5 * norm3(r->start.velocity) + 2 * acceleration * h) * h + 10 * a->options.epsilon;
    r->turn = 1.5 * (norm3(r->start.velocity + 3) + spin) * h;
}

// An island with a body whose state is not finite stays where it is.
static bool is_usable(ode_advance *a, dBodyID const *body, int bodies)
{
    for (int i = 0; i < bodies; i++) {
        if (!sprag_ode_body_is_finite(body[i])) {
            a->nonfinite_body = a->frozen_bodies ? a->nonfinite_body : body[i];
            a->frozen_bodies += bodies;
            return false;
        }
    }
    return true;
}

bool step_pull_bodies(step *s)
{
    const ode_islands *islands = s->a->islands;
    dVector3 gravity;
    dWorldGetGravity(s->a->world, gravity);
    int n = 0;
    for (size_t i = 0; i < islands->count; i++) {
        n += (int)islands->sizes[2 * i];
    }
    s->riders = s->a->bodies = n;
    s->rider = SPRAG_TAKE(s->scratch, n, rider);
    s->leader = SPRAG_TAKE(s->scratch, islands->count, int);
    if (s->scratch->failed || !sprag_ode_index_bodies(&s->index, islands->bodies, n, s->scratch)) {
        return false;
    }
    for (int island = 0, b = 0; island < (int)islands->count; island++) {
        int bodies = (int)islands->sizes[2 * island];
        bool usable = is_usable(s->a, islands->bodies + b, bodies);
        for (int k = 0; k < bodies; k++, b++) {
            if (usable) {
                pull_rider(s, b, islands->bodies[b], island, gravity);
            } else {
                s->rider[b] = (rider){.id = islands->bodies[b], .island = island, .held = true};
            }
        }
    }
    return true;
}

static bool is_at(dBodyID id, const sprag_pose *pose)
{
    sprag_pose now;
    sprag_ode_read_pose(id, &now);
    return memcmp(&now, pose, sizeof now) == 0;
}

// Of the two quaternions of a rotation the one that goes on from where the body was, as stock's
// does: programs interpolate between them.
void step_place(dBodyID id, const sprag_pose *pose)
{
    dMatrix3 R;
    dQuaternion before;
    memcpy(before, dBodyGetQuaternion(id), sizeof before);
    for (int i = 0; i < 3; i++) {
        memcpy(R + 4 * i, pose->rotation + 3 * i, 3 * sizeof *R);
        R[4 * i + 3] = 0;
    }
    dBodySetPosition(id, pose->position[0], pose->position[1], pose->position[2]);
    dBodySetRotation(id, R);
    dReal *q = (dReal *)(uintptr_t)dBodyGetQuaternion(id); // in place: R keeps its bits
    if (q[0] * before[0] + q[1] * before[1] + q[2] * before[2] + q[3] * before[3] < 0) {
        for (int k = 0; k < 4; k++) {
            q[k] = -q[k];
        }
    }
}

void step_put_back(dBodyID id, const sprag_pose *pose)
{
    if (!is_at(id, pose)) {
        step_place(id, pose);
    }
}

double rider_radius(dBodyID body)
{
    const dReal *centre = dBodyGetPosition(body);
    double radius = 0;
    for (dGeomID geom = dBodyGetFirstGeom(body); geom; geom = dBodyGetNextGeom(geom)) {
        dReal box[6];
        double corner[3];
        dGeomGetAABB(geom, box);
        for (int k = 0; k < 3; k++) {
            corner[k] = fmax(fabs(box[2 * k] - centre[k]), fabs(box[2 * k + 1] - centre[k]));
        }
        radius = fmax(radius, norm3(corner));
    }
    return radius;
}

bool rider_outruns(rider *r, const sprag_mover *moved)
{
    double turned = fmin(moved->turn, 2) - fmin(r->turn, 2); // a point goes no farther than across
    double gone = moved->path + (turned > 0 ? turned * rider_radius(r->id) : 0);
    if (gone > r->reach) {
        r->reach = 2 * gone;
        return true;
    }
    return false;
}

void step_restore(const step *s)
{
    for (int i = 0; i < s->riders; i++) {
        const rider *r = &s->rider[i];
        if (!r->held) {
            step_place(r->id, &r->start.pose);
            sprag_ode_set_velocity(r->id, r->start.velocity);
        }
    }
}

static void give_back(const rider *r)
{
    double force[6];
    sprag_ode_read_accumulators(r->id, force);
    add_scaled(force, 1, r->force, 6);
    sprag_ode_set_accumulators(r->id, force);
}

void step_give_back(const step *s)
{
    for (int i = 0; i < s->riders; i++) {
        if (!s->rider[i].held) {
            give_back(&s->rider[i]);
        }
    }
}

void rider_show(const rider *r, const sprag_mover *as)
{
    step_place(r->id, &as->pose);
    sprag_ode_set_velocity(r->id, as->velocity);
}

void rider_note(rider *r, const sprag_mover *shown)
{
    double now[6];
    sprag_ode_read_velocity(r->id, now);
    for (int part = 0; part < 2; part++) {
        size_t size = 3 * sizeof *now;
        if (memcmp(now + 3 * part, shown->velocity + 3 * part, size) != 0) {
            memcpy(r->given + 3 * part, now + 3 * part, size);
            r->driven[part] = true;
        }
    }
}

static void drive(const rider *r)
{
    double v[6];
    if (!r->driven[0] && !r->driven[1]) {
        return;
    }
    sprag_ode_read_velocity(r->id, v);
    for (int part = 0; part < 2; part++) {
        memcpy(v + 3 * part, (r->driven[part] ? r->given : v) + 3 * part, 3 * sizeof *v);
    }
    sprag_ode_set_velocity(r->id, v);
}

static void show_velocity(rider *r, const double v[6])
{
    memcpy(r->seen, v, sizeof r->seen);
    sprag_ode_set_velocity(r->id, v);
}

// What it was before the step, for who steps it otherwise and for moved callbacks of others.
static void show_start(rider *r)
{
    step_put_back(r->id, &r->start.pose);
    sprag_ode_read_pose(r->id, &r->at); // ODE may have rounded it
    show_velocity(r, r->start.velocity);
}

// In place of what is kept for the next step, those of this one.
static void show_forces(const step *s, rider *r)
{
    if (s->a->stock[r->island] && !r->held) {
        give_back(r);
        return;
    }
    sprag_ode_read_accumulators(r->id, r->kept);
    memcpy(r->shown, r->force, sizeof r->shown);
    sprag_ode_set_accumulators(r->id, r->shown);
}

// As stock does for all of an island, before any of its moved callbacks.
static void show_weight(rider *r)
{
    sprag_ode_set_accumulators(r->id, r->shown);
    sprag_ode_add_weight(r->id);
    sprag_ode_read_accumulators(r->id, r->shown);
}

// A velocity that moved callbacks of others have given it takes the place of the one it had.
static void take_velocity(rider *r)
{
    double now[6];
    sprag_ode_read_velocity(r->id, now);
    for (int k = 0; k < 6; k++) {
        r->mover.velocity[k] += now[k] - r->seen[k];
    }
    memcpy(r->seen, now, sizeof now);
}

static void apply_added_force(const step *s, rider *r)
{
    if (!sprag_ode_apply_added_force(r->id, r->shown, s->a->step, r->mover.velocity)) {
        note_bad_force(s->a, r->id);
    }
}

// ODE's own dxStepBody, over no time: geoms, moved callback, damping. What a moved callback has put
// elsewhere goes on from there. What is pushed out of an overlap has no speed by that; it does not
// rest.
static void push_rider(const step *s, rider *r, bool called)
{
    bool elsewhere = called && !is_at(r->id, &r->at);
    if (r->mover.pushed && dBodyGetAutoDisableFlag(r->id) && dBodyIsEnabled(r->id)) {
        dBodyEnable(r->id); // counts anew
    }
    if (!elsewhere) {
        step_place(r->id, &r->mover.pose);
    }
    sprag_ode_set_velocity(r->id, r->mover.velocity);
    sprag_ode_step_body(r->id, elsewhere ? s->a->step : 0);
    sprag_ode_set_accumulators(r->id, r->kept); // as in stock without what its own callback adds
    drive(r);
    double turning = norm3(r->mover.velocity + 3) * r->radius;
    s->a->fastest = fmax(s->a->fastest, norm3(r->mover.velocity) + turning);
}

// As in stock: before the first of their callbacks all have their weight and, under QuickStep,
// their new velocity; what a callback adds there to forces within the island is lost.
static void push_island(const step *s, rider *first, int bodies, bool called)
{
    for (rider *r = first; r < first + bodies && called; r++) {
        take_velocity(r);
        apply_added_force(s, r);
        show_weight(r);
        if (s->a->quick) {
            show_velocity(r, r->mover.velocity);
        }
    }
    for (rider *r = first; r < first + bodies; r++) {
        if (called) {
            take_velocity(r);
        }
        if (called && !s->a->quick) {
            apply_added_force(s, r);
        }
        push_rider(s, r, called);
    }
}

static bool any_calls_back(const step *s)
{
    bool any = false;
    for (int i = 0; i < s->riders && !any; i++) {
        any = sprag_ode_calls_back(s->rider[i].id);
    }
    return any;
}

void step_push(const step *s)
{
    const bool called = any_calls_back(s);
    for (int i = 0; i < s->riders; i++) {
        rider *r = &s->rider[i];
        if (!r->held && (called || s->a->stock[r->island])) {
            show_start(r);
        }
        show_forces(s, r);
    }
    for (int i = 0, bodies; i < s->riders; i += bodies) {
        rider *first = &s->rider[i];
        bodies = (int)s->a->islands->sizes[2 * first->island];
        for (int k = 0; k < bodies && s->a->stock[first->island]; k++) {
            drive(&first[k]);
        }
        if (!first->held && !s->a->stock[first->island]) {
            push_island(s, first, bodies, called);
        }
    }
}
