// Errors that a step leaves, measured from outside by the same code for every stepper: from the
// contacts that the scene made (its own dJointCreateContact, by the linker's --wrap), from ODE's
// joint feedback and from the bodies' velocities before and after. A simulator with contacts of its
// own adds those, with their forces. Velocities are those of contact points at the end of the step,
// with the arms of its beginning: what the steppers solve for.
//
// A contact is loaded when its normal force is above a thousandth of the mean body's weight, and
// sticks when, besides, its friction is below nine tenths of the cone; whatever it slips then is an
// error; the mean is by load, since a touch may slip. The cone is Coulomb's, of this step's normal
// force; a normal force that pulls counts as being outside by as much. Momentum is linear;
// gyroscopic torque is left to the steppers.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"
#include "scene.h"

static const double least_load = 1e-3; // weights
static const double inside_cone = 0.9; // of its bound

typedef struct watched {
    residue_contact contact;
    dJointFeedback feedback; // of a joint's; else zero
} watched;

// Of a body: where and how fast it was, and what contacts did to it.
typedef struct balance {
    double position[3], velocity[3], force[3];
} balance;

// Of the scene that is being stepped.
static struct {
    const sprag_scene *scene;
    watched *contact;
    balance *body;
    long contacts, room;
    int bodies;
} watch;

static watched *watch_contact(const residue_contact *contact)
{
    if (watch.contacts == watch.room) { // the joints hold addresses of what is here
        fputs("bench: more contacts than there is room for\n", stderr);
        exit(EXIT_FAILURE);
    }
    watched *c = &watch.contact[watch.contacts++];
    *c = (watched){.contact = *contact};
    return c;
}

extern dJointID __real_dJointCreateContact(dWorldID world, dJointGroupID group,
                                           const dContact *contact);
dJointID __wrap_dJointCreateContact(dWorldID world, dJointGroupID group, const dContact *contact);

dJointID __wrap_dJointCreateContact(dWorldID world, dJointGroupID group, const dContact *contact)
{
    dJointID joint = __real_dJointCreateContact(world, group, contact);
    if (watch.scene) {
        const dContactGeom *g = &contact->geom;
        watched *c = watch_contact(&(residue_contact){
            .body = {dGeomGetBody(g->g1), dGeomGetBody(g->g2)},
            .point = {g->pos[0], g->pos[1], g->pos[2]},
            .normal = {g->normal[0], g->normal[1], g->normal[2]},
            .depth = g->depth,
            .friction = contact->surface.mu,
        });
        dJointSetFeedback(joint, &c->feedback);
    }
    return joint;
}

void residue_add(const residue_contact *contact)
{
    if (watch.scene) {
        watch_contact(contact);
    }
}

void residue_begin(const sprag_scene *scene)
{
    enum { CONTACTS_PER_BODY = 64 };
    if (watch.bodies < scene->bodies) {
        residue_free();
        watch.bodies = scene->bodies;
        watch.room = CONTACTS_PER_BODY * (long)scene->bodies;
        watch.contact = bench_allocate((size_t)watch.room, sizeof *watch.contact);
        watch.body = bench_allocate((size_t)watch.bodies, sizeof *watch.body);
    }
    watch.contacts = 0;
    watch.scene = scene;
    for (int i = 0; i < scene->bodies; i++) {
        const dReal *x = dBodyGetPosition(scene->body[i]);
        const dReal *v = dBodyGetLinearVel(scene->body[i]);
        watch.body[i] = (balance){.position = {x[0], x[1], x[2]}, .velocity = {v[0], v[1], v[2]}};
        dBodySetData(scene->body[i], &watch.body[i]);
    }
}

void residue_free(void)
{
    free(watch.contact);
    free(watch.body);
    watch.contact = NULL;
    watch.body = NULL;
    watch.room = watch.bodies = 0;
}

static void point_velocity(const residue_contact *c, double v[3])
{
    v[0] = v[1] = v[2] = 0;
    for (int side = 0; side < 2; side++) {
        if (c->body[side]) {
            const balance *before = dBodyGetData(c->body[side]);
            const dReal *linear = dBodyGetLinearVel(c->body[side]);
            dVector3 arm, turning;
            dSubtractVectors3(arm, c->point, before->position);
            dCalcVectorCross3(turning, dBodyGetAngularVel(c->body[side]), arm);
            for (int k = 0; k < 3; k++) {
                v[k] += (side ? -1 : 1) * (linear[k] + turning[k]);
            }
        }
    }
}

// N, into body 0, which may be the ground: ODE gives the force on the first body that there is.
static void contact_force(const watched *w, double force[3])
{
    const residue_contact *c = &w->contact;
    for (int k = 0; k < 3; k++) {
        force[k] = c->force[k] + (c->body[0] ? w->feedback.f1[k] : -w->feedback.f1[k]);
    }
    for (int side = 0; side < 2; side++) {
        balance *body = c->body[side] ? dBodyGetData(c->body[side]) : NULL;
        for (int k = 0; k < 3 && body; k++) {
            body->force[k] += side ? -force[k] : force[k];
        }
    }
}

// The length of what is left of a vector without its part along the normal.
static double across(const double a[3], const double *normal, double along)
{
    double b[3];
    for (int k = 0; k < 3; k++) {
        b[k] = a[k] - along * normal[k];
    }
    return dCalcVectorLength3(b);
}

static void judge_contact(residue *r, const watched *w, double weight)
{
    const residue_contact *c = &w->contact;
    const double *n = c->normal;
    double velocity[3], force[3];
    point_velocity(c, velocity);
    contact_force(w, force);
    double separating = dCalcVectorDot3(velocity, n), load = dCalcVectorDot3(force, n) / weight;
    double slip = across(velocity, n, separating);
    double friction = across(force, n, load * weight) / weight;
    double bound = c->friction * fmax(load, 0);
    double outside = fmax(friction - bound, 0) + fmax(-load, 0);
    double approach = fmax(-separating, 0);

    r->contacts++;
    r->depth += fmax(c->depth, 0);
    r->depth_max = fmax(r->depth_max, c->depth);
    r->cone += outside * outside;
    r->cone_max = fmax(r->cone_max, outside);
    r->approach += approach * approach;
    r->approach_max = fmax(r->approach_max, approach);
    if (load > least_load) {
        r->loaded++;
        if (friction <= inside_cone * bound) {
            r->sticking++;
            r->slip += load * slip * slip;
            r->held += load;
            r->slip_max = fmax(r->slip_max, slip);
        }
    }
}

static double unexplained(dBodyID id, const sprag_scene *scene, const dReal *gravity)
{
    const balance *before = dBodyGetData(id);
    const dReal *v = dBodyGetLinearVel(id);
    dMass m;
    dBodyGetMass(id, &m);
    double rest[3];
    for (int k = 0; k < 3; k++) {
        rest[k] =
            m.mass * ((v[k] - before->velocity[k]) / scene->step - gravity[k]) - before->force[k];
    }
    return dCalcVectorLength3(rest);
}

void residue_end(residue *r, double weight)
{
    const sprag_scene *scene = watch.scene;
    watch.scene = NULL;
    r->steps++;
    for (long i = 0; i < watch.contacts; i++) {
        judge_contact(r, &watch.contact[i], weight);
    }
    dVector3 gravity;
    dWorldGetGravity(scene->world, gravity);
    for (int i = 0; i < scene->bodies; i++) {
        r->momentum_max =
            fmax(r->momentum_max, unexplained(scene->body[i], scene, gravity) / weight);
    }
}

double residue_weight(const sprag_scene *scene)
{
    double sum = 0;
    for (int i = 0; i < scene->bodies; i++) {
        dMass m;
        dBodyGetMass(scene->body[i], &m);
        sum += m.mass;
    }
    return sum / scene->bodies * SPRAG_GRAVITY;
}

double residue_root_mean(double squares, double count)
{
    return count > 0 ? sqrt(squares / count) : 0;
}
