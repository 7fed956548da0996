// Contact that lasts: stacks, inclines, boxes that rock, and the contacts that have no face.
#include <math.h>
#include <string.h>

#include "bench_advance.h"

static const double hair = 5e-7; // m, between what rests on each other

enum { TALL = 10 };

// ---- stacks

static void aligned_open(sprag_scene *scene)
{
    sprag_scene_floor(scene);
    for (int i = 0; i < TALL; i++) {
        sprag_scene_cube(scene, 1, 1, 0, 0, i + 0.5 + (i + 1) * hair);
    }
}

static void staggered_open(sprag_scene *scene)
{
    sprag_scene_floor(scene);
    for (int i = 0; i < TALL; i++) {
        sprag_scene_cube(scene, 1, 1, 0.02 * i, 0, i + 0.5 + (i + 1) * 1e-3);
    }
}

static void thousand_open(sprag_scene *scene)
{
    sprag_scene_floor(scene);
    sprag_scene_cube(scene, 1, 1, 0, 0, 0.5 + hair);
    sprag_scene_cube(scene, 1000, 1, 0, 0, 1.5 + 2 * hair);
}

static void geometric_open(sprag_scene *scene)
{
    aligned_open(scene);
    for (int i = 0; i < TALL; i++) {
        dMass m;
        dMassSetBoxTotal(&m, pow(1000, i / (TALL - 1.0)), 1, 1, 1);
        dBodySetMass(scene->body[i], &m);
    }
}

static void note_places(const sprag_scene *scene, dVector3 *place)
{
    for (int i = 0; i < scene->bodies; i++) {
        dCopyVector3(place[i], dBodyGetPosition(scene->body[i]));
    }
}

static double drift(const sprag_scene *scene, dVector3 *place)
{
    double most = 0;
    for (int i = 0; i < scene->bodies; i++) {
        most = fmax(most, sprag_distance(dBodyGetPosition(scene->body[i]), place[i]));
    }
    return most;
}

static void stand(const char *name, void (*open)(sprag_scene *), double seconds)
{
    advance_world w;
    dVector3 first[TALL], settled[TALL];
    advance_world_make(&w, open, 0.5, advance_ours);
    note_places(&w.of.scene, first);
    advance_world_run(&w, 1);
    note_places(&w.of.scene, settled);
    advance_world_run(&w, seconds - 1);
    advance_counts c = advance_world_counts(&w);
    row_scene("%s", name);
    row_at_most("off its place/m", drift(&w.of.scene, first), 0.02);
    row_at_most("drift from 1 s on/m", drift(&w.of.scene, settled), 1e-5);
    row_at_most("substeps/frame, target", (double)c.substeps / (double)w.of.scene.steps_done, 1.01);
    row_world(&w);
    row_report("us/frame", w.us / (double)w.of.scene.steps_done);
    advance_world_close(&w);
}

// ---- inclines

static double slope; // rad

static void incline_open(sprag_scene *scene)
{
    double s = sin(slope), c = cos(slope), up = 0.25 + hair;
    dCreatePlane(scene->space, -s, 0, c, 0);
    dBodyID body = sprag_scene_box(scene, 1, (const double[3]){1, 0.5, 0.5}, -s * up, 0, c * up);
    advance_place_turned(body, 0, 1, 0, -slope);
}

static void incline(const char *name, double degrees)
{
    const double mu = 0.5, seconds = 4;
    advance_world w;
    dVector3 first[1];
    slope = degrees * SPRAG_DEGREE;
    advance_world_make(&w, incline_open, mu, advance_ours);
    note_places(&w.of.scene, first);
    advance_world_run(&w, seconds);
    double pull = SPRAG_GRAVITY * (sin(slope) - mu * cos(slope));
    double speed = pull > 0 ? pull * seconds : 0;
    row_scene("incline, %s", name);
    row_near("speed/(m/s)", dCalcVectorLength3(dBodyGetLinearVel(w.of.scene.body[0])), speed,
             1e-3 * fmax(speed, 1));
    row_near("way/m", drift(&w.of.scene, first), speed * seconds / 2,
             pull > 0 ? 1e-3 * speed * seconds / 2 + speed * 0.01 : 1e-3); // or Euler's, a step's
    row_world(&w);
    advance_world_close(&w);
}

// ---- rocking, edges, corners

static const double tilt = 0.3; // rad

// On its lower edge above `floor`.
static void tilted_box(sprag_scene *scene, double floor)
{
    const double half[2] = {0.25, 0.5};
    double z = floor + half[0] * sin(tilt) + half[1] * cos(tilt) + hair;
    dBodyID body = sprag_scene_box(scene, 1, (const double[3]){0.5, 0.5, 1}, 0, 0, z);
    advance_place_turned(body, 0, 1, 0, tilt);
}

static void rock_plane_open(sprag_scene *scene)
{
    sprag_scene_floor(scene);
    tilted_box(scene, 0);
}

static void rock_fixed_open(sprag_scene *scene)
{
    dGeomSetPosition(dCreateBox(scene->space, 4, 4, 1), 0, 0, 0.5);
    tilted_box(scene, 1);
}

static void rock_free_open(sprag_scene *scene)
{
    sprag_scene_floor(scene);
    sprag_scene_box(scene, 10, (const double[3]){2, 2, 0.5}, 0, 0, 0.25 + hair);
    tilted_box(scene, 0.5 + hair);
}

static const double edge_high = 0.70710678118654752 / 2; // m, of a beam 0.5 m thick on its edge

static void beam_above(sprag_scene *scene, double floor)
{
    dBodyID body = sprag_scene_box(scene, 1, (const double[3]){0.5, 2, 0.5}, 0.01, 0.02,
                                   floor + edge_high + 0.01);
    advance_place_turned(body, 0, 1, 0, M_PI / 4);
}

static void crossed_fixed_open(sprag_scene *scene)
{
    dMatrix3 R;
    dGeomID beam = dCreateBox(scene->space, 2, 0.5, 0.5);
    sprag_scene_floor(scene);
    dRFromAxisAndAngle(R, 1, 0, 0, M_PI / 4);
    dGeomSetPosition(beam, 0, 0, edge_high + 0.3);
    dGeomSetRotation(beam, R);
    beam_above(scene, 2 * edge_high + 0.3);
}

static void crossed_free_open(sprag_scene *scene)
{
    sprag_scene_floor(scene);
    dBodyID beam =
        sprag_scene_box(scene, 1, (const double[3]){2, 0.5, 0.5}, 0, 0, edge_high + hair);
    advance_place_turned(beam, 1, 0, 0, M_PI / 4);
    beam_above(scene, 2 * edge_high + hair);
}

// Turns a cube onto its corner.
static void corner_up(dMatrix3 R)
{
    dRFromAxisAndAngle(R, 1, -1, 0, acos(1 / sqrt(3)));
}

static void corners_open(sprag_scene *scene)
{
    dMatrix3 R;
    const double corner = 0.5 * sqrt(3) / 2; // m, of a cube of 0.5 m
    dGeomID lower = dCreateBox(scene->space, 0.5, 0.5, 0.5);
    sprag_scene_floor(scene);
    corner_up(R);
    dGeomSetPosition(lower, 0, 0, 1);
    dGeomSetRotation(lower, R);
    dBodyID body = sprag_scene_cube(scene, 1, 0.5, 0, 0, 1 + 2 * corner + 0.01);
    dBodySetRotation(body, R);
}

static void move(const char *name, void (*open)(sprag_scene *))
{
    advance_world w;
    advance_world_make(&w, open, 0.5, advance_ours);
    advance_world_run(&w, 4);
    row_scene("%s", name);
    row_world(&w);
    row_changes(&w, INFINITY);
    row_at_most("energy gained/J", w.of.scene.energy_gain, 1e-6 * fabs(w.of.scene.first_energy));
    advance_world_close(&w);
}

void part_rest(bool full)
{
    (void)full;
    stand("stack, aligned", aligned_open, 30);
    stand("stack, staggered", staggered_open, 30);
    stand("1:1000", thousand_open, 10);
    stand("10 boxes, 1:1000", geometric_open, 10);
    incline("held, 20 deg", 20);
    incline("sliding, 40 deg", 40);
    move("rocking on plane", rock_plane_open);
    move("rocking on fixed box", rock_fixed_open);
    move("rocking on free box", rock_free_open);
    move("crossed, one fixed", crossed_fixed_open);
    move("crossed, both free", crossed_free_open);
    move("vertex on vertex", corners_open);
}
