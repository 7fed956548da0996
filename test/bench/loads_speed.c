// Speculative contacts (stribeck.speculative=1): random shots at a rod that spins, shots at walls
// and meshes, ground without bumps, and what they cost and change in shaken heaps.
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "join_contacts.h"
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
    double bounce, friction;
} range;

static void touch(void *data, dGeomID a, dGeomID b)
{
    const range *r = data;
    const dSurfaceParameters surface = {.mode =
                                            dContactApprox1 | (r->bounce > 0 ? dContactBounce : 0),
                                        .mu = r->friction,
                                        .bounce = r->bounce};
    join_contacts(r->world, r->contacts, a, b, 8, surface, NULL);
}

static range open_range(const char *options, double gravity, double bounce)
{
    range r = {dWorldCreate(), dHashSpaceCreate(0), dJointGroupCreate(0), bounce, 0.5};
    bench_configure(r.world, options, 20);
    dWorldSetGravity(r.world, 0, 0, -gravity);
    return r;
}

static void close_range(range *r)
{
    dJointGroupDestroy(r->contacts);
    dSpaceDestroy(r->space);
    dWorldDestroy(r->world);
}

static void step_range(range *r, int steps)
{
    for (int i = 0; i < steps; i++) {
        dSpaceCollide(r->space, r, touch);
        dWorldStep(r->world, 0.01);
        dJointGroupEmpty(r->contacts);
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
    range r = open_range(options, 0, s->bounce);
    dVector3 before, after;
    bool passed = false;
    dBodyID target = add_rod(&r, s, how), ball = add_ball(&r, s);
    place(target, ball, before);
    for (int i = 0; i < 15 && fabs(before[1]) > s->radius; i++) { // else it begins there
        step_range(&r, 1);
        place(target, ball, after);
        double share = before[1] / (before[1] - after[1]);
        double x = before[0] + share * (after[0] - before[0]);
        passed |= before[1] * after[1] < 0 && fabs(x) < 0.4 * rod[0];
        dCopyVector3(before, after);
    }
    close_range(&r);
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

// ---- walls, meshes, and ground without bumps

static dBodyID add_round(range *r, double radius, const double at[3], const double velocity[3])
{
    dMass m;
    dMassSetSphereTotal(&m, 1, radius);
    dBodyID ball = add(r, &m, dCreateSphere(r->space, radius), at[0], at[1]);
    dBodySetPosition(ball, at[0], at[1], at[2]);
    dBodySetLinearVel(ball, velocity[0], velocity[1], velocity[2]);
    return ball;
}

// Balls of 5 to 100 m/s against a wall of 10 cm.
static void judge_walls(void)
{
    enum { SPEEDS = 29, PLACES = 7 };
    static const double bounce = 0.7;
    int passed = 0;
    double off = 0;
    for (int i = 0; i < SPEEDS * PLACES * 2; i++) {
        const double speed = 5 * pow(20, (double)(i % SPEEDS) / (SPEEDS - 1));
        const int place = i / SPEEDS % PLACES;
        range r = open_range(speculative, 0, i < SPEEDS * PLACES ? 0 : bounce);
        dGeomSetPosition(dCreateBox(r.space, 0.1, 2, 2), 0.2 + 0.13 * place, 0, 0);
        dBodyID ball = add_round(&r, 0.05, (const double[3]){0}, (const double[3]){speed});
        step_range(&r, 60);
        passed += dBodyGetPosition(ball)[0] > 0.2 + 0.13 * place;
        off = fmax(off, fabs(dBodyGetLinearVel(ball)[0] / speed + r.bounce));
        close_range(&r);
    }
    bench_at_most("balls of 5 to 100 m/s that pass a wall of 10 cm", passed, 0);
    bench_at_most("speed after the wall by that before: off by", off, 1e-3);
}

// Elastic balls of 5 to 100 m/s that fly to and fro between two walls, up to 1 m apart, for 20
// steps; then one wall goes.
static void judge_rooms(void)
{
    enum { BALLS = 300, STEPS = 20 };
    sprag_scene random = {.random = 1};
    int passed = 0;
    double off = 0;
    for (int i = 0; i < BALLS; i++) {
        const double radius = sprag_scene_draw(&random, 0.01, 0.05);
        const double half = radius + pow(10, sprag_scene_draw(&random, -2, 0)) / 2;
        const double speed = 5 * pow(20, sprag_scene_draw(&random, 0, 1));
        range r = open_range(speculative, 0, 1);
        dGeomID wall[2];
        r.friction = 0;
        for (int side = 0; side < 2; side++) {
            wall[side] = dCreateBox(r.space, 0.1, 100, 100);
            dGeomSetPosition(wall[side], (side ? 1 : -1) * (half + 0.05), 0, 0);
        }
        dBodyID ball = add_round(&r, radius, (const double[3]){0}, (const double[3]){speed});
        const dReal *v = dBodyGetLinearVel(ball);
        double farthest = 0;
        for (int k = 0; k < STEPS; k++) {
            step_range(&r, 1);
            farthest = fmax(farthest, fabs(dBodyGetPosition(ball)[0]));
        }
        passed += farthest > half;
        dGeomDestroy(wall[v[0] > 0 ? 0 : 1]);
        step_range(&r, STEPS);
        off = fmax(off, farthest > half ? 0 : fabs(fabs(v[0]) / speed - 1));
        close_range(&r);
    }
    bench_at_most("elastic balls of 300 that pass one of two near walls", passed, 0);
    bench_at_most("their speed after 20 steps by that before: off by", off, 1e-3);
}

enum { TILES = 100 };

typedef enum ground { FLUSH, MESH, LONG } ground;

// 50 m along x.
static dTriMeshDataID add_ground(range *r, ground what)
{
    static dReal vertex[2 * TILES + 2][3];
    static dTriIndex index[2 * TILES][3];
    dTriMeshDataID data = dGeomTriMeshDataCreate();
    for (unsigned i = 0; i <= TILES; i++) {
        for (unsigned k = 0; k < 2; k++) {
            vertex[2 * i + k][0] = 0.5 * i;
            vertex[2 * i + k][1] = k ? 0.6 : -0.4;
        }
        const dTriIndex v = 2 * i, corner[2][3] = {{v, v + 2, v + 1}, {v + 1, v + 2, v + 3}};
        if (i < TILES) {
            memcpy(index[2 * i], corner, sizeof corner);
        }
        if (what == FLUSH && i < TILES) {
            dGeomSetPosition(dCreateBox(r->space, 0.5, 1, 1), 0.5 * i + 0.25, 0.1, -0.5);
        }
    }
    if (what == LONG) {
        dGeomSetPosition(dCreateBox(r->space, 0.5 * TILES, 1, 1), 0.25 * TILES, 0.1, -0.5);
    } else if (what == MESH) {
        dGeomTriMeshDataBuildDouble(data, vertex, sizeof *vertex, 2 * TILES + 2, index, 6 * TILES,
                                    sizeof *index);
        dCreateTriMesh(r->space, data, NULL, NULL, NULL);
    }
    return data;
}

static void judge_marbles(void)
{
    static const double speed[] = {5, 20, 40, 80}, radius = 0.02;
    int passed = 0;
    for (int i = 0; i < 32; i++) {
        range r = open_range(speculative, 0, 0);
        dTriMeshDataID data = add_ground(&r, MESH);
        const double at[3] = {1 + 0.13 * (i / 4), 0.07 * (i / 4), 0.41};
        dBodyID ball = add_round(&r, radius, at, (const double[3]){0, 0, -speed[i % 4]});
        step_range(&r, 30);
        passed += !(dBodyGetPosition(ball)[2] > 0.9 * radius);
        close_range(&r);
        dGeomTriMeshDataDestroy(data);
    }
    bench_at_most("marbles of 5 to 80 m/s that pass a mesh", passed, 0);
}

// m, the way of a ball in 9 s.
static double roll(const char *options, ground on, double radius)
{
    range r = open_range(options, 9.81, 0);
    dTriMeshDataID data = add_ground(&r, on);
    dBodyID ball =
        add_round(&r, radius, (const double[3]){0.3, 0, radius - 1e-6}, (const double[3]){4.93});
    dBodySetAngularVel(ball, 0, 4.93 / radius, 0);
    step_range(&r, 900);
    double at = dBodyGetPosition(ball)[0];
    close_range(&r);
    dGeomTriMeshDataDestroy(data);
    return at;
}

// Balls of 10, 5 and 2 cm, sunk by 1 um. Against one long box under the same options: the softness
// of contacts is in both. ODE's contacts of meshes are in single precision.
static void judge_bumps(line_fn *line)
{
    static const char *const name[] = {"100 flush boxes", "a flat mesh"};
    static const char *const options[] = {"method=ode-step", "method=stribeck", speculative};
    static const double apart[] = {1e-3, 1e-5, 1e-6}, radius[] = {0.1, 0.05, 0.02};
    double aside = 0;
    for (int k = 0; k < 3; k++) {
        for (ground on = FLUSH; on < LONG; on++) {
            char figure[64];
            double off = 0;
            for (int i = 0; i < 3; i++) {
                const double flat = roll(options[k], LONG, radius[i]);
                off = fmax(off, fabs(roll(options[k], on, radius[i]) - flat));
            }
            line("ball over %s|10.0|%s|way lost|m|%.3g|0", name[on], options[k], off);
            snprintf(figure, sizeof figure, "m, lost over %s%s", name[on],
                     k == 2 ? ", speculative" : "");
            if (k > 0) {
                bench_at_most(figure, off, 1e-6);
            }
        }
    }
    for (int i = 0; i < 3; i++) {
        dMass m;
        range r = open_range(speculative, 9.81, 0);
        dCreatePlane(r.space, 0, 0, 1, 0);
        dMassSetBoxTotal(&m, 1, 0.2, 0.2, 0.1);
        dGeomSetPosition(dCreateBox(r.space, 2, 1, 1), 5, 0.6 + apart[i], 0.5);
        dBodyID puck = add(&r, &m, dCreateBox(r.space, 0.2, 0.2, 0.1), 0, 0);
        dBodySetPosition(puck, 0, 0, 0.05);
        dBodySetLinearVel(puck, 10, 0, 0);
        r.friction = 0;
        step_range(&r, 100);
        const dReal *at = dBodyGetPosition(puck);
        aside = fmax(aside, fmax(fabs(at[0] - 10), fabs(at[1])));
        close_range(&r);
    }
    bench_at_most("m, a puck past a wall 1 mm to 1 um away: off by", aside, 1e-6);
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
    judge_walls();
    judge_rooms();
    judge_marbles();
    judge_bumps(line);
    for (int i = 0; i < 3; i++) {
        judge_heap(line, size[i]);
    }
}
