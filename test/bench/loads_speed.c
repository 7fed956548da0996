// Speculative contacts (stribeck.speculative=1): random shots at a rod that spins, and what they
// cost and change in shaken heaps.
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "loads_scenes.h"
#include "scene.h"

static const char speculative[] = "method=stribeck,stribeck.speculative=1";

// ---- shots

enum { SHOTS = 1000 };

static const double rod[] = {1, 0.05, 0.05}, rod_mass = 5; // m, kg

typedef struct shot {
    double turn, speed, radius, heading, at; // rad/s, m/s, m, rad, m from the rod's middle
    double angle, time;                      // rad, of the rod when it is hit; s, until then
    double bounce;
} shot;

typedef enum mount { HINGED, DRIVEN, LOOSE, MOUNTS } mount;

static const char *const mount_names[MOUNTS] = {"on a hinge", "driven", "loose"};

typedef struct range {
    dWorldID world;
    dSpaceID space;
    dJointGroupID contacts;
    double bounce;
} range;

static void touch(void *data, dGeomID a, dGeomID b)
{
    const range *r = data;
    dContact contact[8];
    int count = dCollide(a, b, 8, &contact[0].geom, sizeof *contact);
    for (int i = 0; i < count; i++) {
        contact[i].surface =
            (dSurfaceParameters){.mode = dContactApprox1 | (r->bounce > 0 ? dContactBounce : 0),
                                 .mu = 0.5,
                                 .bounce = r->bounce};
        dJointAttach(dJointCreateContact(r->world, r->contacts, &contact[i]), dGeomGetBody(a),
                     dGeomGetBody(b));
    }
}

static shot draw_shot(sprag_scene *random)
{
    return (shot){.turn = sprag_scene_draw(random, -18, 18),
                  .speed = sprag_scene_draw(random, 5, 100),
                  .radius = sprag_scene_draw(random, 0.02, 0.06),
                  .heading = sprag_scene_draw(random, 0, 2 * M_PI),
                  .at = sprag_scene_draw(random, -0.4, 0.4),
                  .angle = sprag_scene_draw(random, 0, 2 * M_PI),
                  .time = sprag_scene_draw(random, 0.03, 0.06),
                  .bounce = sprag_scene_draw(random, 0, 1) < 0.3 ? 0.5 : 0};
}

static dBodyID add(range *r, const dMass *mass, dGeomID geom, double x, double y)
{
    dBodyID body = dBodyCreate(r->world);
    dBodySetMass(body, mass);
    dGeomSetBody(geom, body);
    dBodySetPosition(body, x, y, 0);
    return body;
}

static dBodyID add_rod(range *r, const shot *s, mount how)
{
    dMass m;
    dMatrix3 turned;
    dMassSetBoxTotal(&m, rod_mass, rod[0], rod[1], rod[2]);
    dBodyID body = add(r, &m, dCreateBox(r->space, rod[0], rod[1], rod[2]), 0, 0);
    dRFromAxisAndAngle(turned, 0, 0, 1, s->angle - s->turn * s->time);
    dBodySetRotation(body, turned);
    dBodySetAngularVel(body, 0, 0, s->turn);
    if (how == HINGED) {
        dJointID hinge = dJointCreateHinge(r->world, 0);
        dJointAttach(hinge, body, 0);
        dJointSetHingeAnchor(hinge, 0, 0, 0);
        dJointSetHingeAxis(hinge, 0, 0, 1);
    } else if (how == DRIVEN) {
        dBodySetKinematic(body);
    }
    return body;
}

static dBodyID add_ball(range *r, const shot *s)
{
    dMass m;
    double way = s->speed * s->time, x = s->at * cos(s->angle), y = s->at * sin(s->angle);
    dMassSetSphereTotal(&m, 1, s->radius);
    dBodyID ball = add(r, &m, dCreateSphere(r->space, s->radius), x - way * cos(s->heading),
                       y - way * sin(s->heading));
    dBodySetLinearVel(ball, s->speed * cos(s->heading), s->speed * sin(s->heading), 0);
    return ball;
}

static void place(dBodyID of, dBodyID ball, dVector3 at)
{
    const dReal *p = dBodyGetPosition(ball);
    dBodyGetPosRelPoint(of, p[0], p[1], p[2], at);
}

// Does its centre change sides within the rod's length?
static bool passes(const char *options, const shot *s, mount how)
{
    range r = {dWorldCreate(), dHashSpaceCreate(0), dJointGroupCreate(0), s->bounce};
    dVector3 before, after;
    bool passed = false;
    bench_configure(r.world, options, 20);
    dBodyID target = add_rod(&r, s, how), ball = add_ball(&r, s);
    place(target, ball, before);
    for (int i = 0; i < 15 && fabs(before[1]) > s->radius; i++) { // else it begins there
        dSpaceCollide(r.space, &r, touch);
        dWorldStep(r.world, 0.01);
        dJointGroupEmpty(r.contacts);
        place(target, ball, after);
        double share = before[1] / (before[1] - after[1]);
        double x = before[0] + share * (after[0] - before[0]);
        passed |= before[1] * after[1] < 0 && fabs(x) < 0.4 * rod[0];
        dCopyVector3(before, after);
    }
    dJointGroupDestroy(r.contacts);
    dSpaceDestroy(r.space);
    dWorldDestroy(r.world);
    return passed;
}

static void judge_shots(line_fn *line)
{
    static const char *const options[] = {"method=ode-step", speculative};
    for (mount how = 0; how < MOUNTS; how++) {
        char figure[64];
        int passed[2] = {0};
        for (int k = 0; k < 2; k++) {
            sprag_scene random = {.random = 1};
            for (int i = 0; i < SHOTS; i++) {
                shot s = draw_shot(&random);
                passed[k] += passes(options[k], &s, how);
            }
            line("rod %s|%.1f|%s|balls that pass||%d|0", mount_names[how], 10.0,
                 k ? "speculative" : "ode-step", passed[k]);
        }
        snprintf(figure, sizeof figure, "balls of %d that pass a spinning rod %s", SHOTS,
                 mount_names[how]);
        bench_at_most(figure, passed[1], 0);
    }
}

// ---- shaken heaps: each method its own scene, from the same settled pile

typedef struct shaken {
    bench_scene of;
    double us, depth;
} shaken;

static void judge_heap(line_fn *line, long size)
{
    enum { WAYS = 3, STEPS = 200 };
    static const char *const options[WAYS] = {"method=ode-quick", "method=stribeck", speculative};
    static const char *const name[WAYS] = {"Q20", "stribeck", "speculative"};
    bench_scene settled;
    shaken way[WAYS] = {0};
    char figure[64];
    bench_settled_pile(&settled, size);
    for (int k = 0; k < WAYS; k++) {
        bench_open(&way[k].of, settled.scene.model, options[k], 20);
        bench_copy_state(&way[k].of.scene, &settled.scene);
    }
    for (int i = 0; i < STEPS; i++) {
        for (int k = 0; k < WAYS; k++) {
            shaken *w = &way[(i + k) % WAYS];
            bench_set_gravity(&w->of.scene, true);
            double start = bench_cpu_us();
            bench_step(&w->of);
            w->us += (bench_cpu_us() - start) / STEPS;
            w->depth += w->of.scene.mean_penetration / STEPS;
        }
    }
    for (int k = 0; k < WAYS; k++) {
        line("pile:%ld, shaken|%.1f|%s|step, collision included|us|%.1f|", size, 10.0, name[k],
             way[k].us);
        line("pile:%ld, shaken|%.1f|%s|mean depth|m|%.3g|0", size, 10.0, name[k], way[k].depth);
        sprag_scene_close(&way[k].of.scene);
    }
    snprintf(figure, sizeof figure, "pile:%ld, shaken: speculative step by stribeck's", size);
    bench_at_most(figure, way[2].us / way[1].us, 1.3);
    snprintf(figure, sizeof figure, "pile:%ld, shaken: mean depth by Q20's", size);
    bench_at_most(figure, way[2].depth / way[0].depth, 0.2);
    sprag_scene_close(&settled.scene);
}

void loads_judge_speed(line_fn *line)
{
    static const long size[] = {100, 300, 1000};
    judge_shots(line);
    for (int i = 0; i < 3; i++) {
        judge_heap(line, size[i]);
    }
}
