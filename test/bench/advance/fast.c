// Bodies that would tunnel: they move farther in a frame than the wall is thick, or turn through
// it. Frames of stock end on either side of the wall.
#include <math.h>

#include "bench_advance.h"

static const double wall_at = 2; // m, its middle

static void wall(sprag_scene *scene, double thick)
{
    dWorldSetGravity(scene->world, 0, 0, 0);
    dGeomSetPosition(dCreateBox(scene->space, thick, 10, 10), wall_at, 0, 0);
}

static void cube_open(sprag_scene *scene)
{
    wall(scene, 0.01);
    dBodyID body = sprag_scene_cube(scene, 1, 0.1, 1, 0, 0);
    dBodySetLinearVel(body, 200, 0, 0);
    dBodySetAngularVel(body, 0, 200, 111.7);
}

// A rod beside the wall whose ends pass through it as it turns.
static void rod_open(sprag_scene *scene)
{
    wall(scene, 0.01);
    dBodyID body = sprag_scene_box(scene, 1, (const double[3]){0.02, 0.02, 1}, 1.7, 0, 0);
    dBodySetLinearVel(body, 1, 0, 0);
    dBodySetAngularVel(body, 0, 229, 0);
}

static void ball_open(sprag_scene *scene)
{
    wall(scene, 0.1);
    dBodySetLinearVel(sprag_scene_ball(scene, 1, 0.05, 0.5, 0, 0), 100, 0, 0);
}

static void throw(const char *name, void (*open)(sprag_scene *), const char *options)
{
    advance_world w;
    bool ours = options == advance_ours;
    double farthest = -INFINITY;
    advance_world_make(&w, open, 0.5, options);
    for (int k = 0; k < 100; k++) {
        advance_world_step(&w);
        farthest = fmax(farthest, dBodyGetPosition(w.of.scene.body[0])[0]);
    }
    row_scene("%s, %s", name, ours ? "ours" : "dWorldStep");
    if (ours) {
        row_at_most("farthest/m", farthest, wall_at);
        row_at_most("energy gained/J", w.of.scene.energy_gain,
                    1e-6 * fabs(w.of.scene.first_energy));
        row_world(&w);
    } else {
        row_report("farthest/m", farthest);
        row_report("least gap/m", w.least);
    }
    advance_world_close(&w);
}

void part_fast(bool full)
{
    (void)full;
    throw("cube 200 m/s", cube_open, advance_ours);
    throw("cube 200 m/s", cube_open, "method=ode-step");
    throw("rod 229 rad/s", rod_open, advance_ours);
    throw("rod 229 rad/s", rod_open, "method=ode-step");
    throw("ball 100 m/s", ball_open, advance_ours);
    throw("ball 100 m/s", ball_open, "method=ode-step");
}
