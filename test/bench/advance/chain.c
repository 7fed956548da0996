// A chain of 100 links and 100 m, held at one end 0.1 mm higher than it is long, let go level and
// swinging over a floor that it does not touch: no contact changes, so nothing but the frame may
// end a step.
#include <math.h>

#include "bench_advance.h"

enum { LINKS = 100 };

static const double high = 100.0001, thick = 0.01; // m
static const unsigned long of_links = 2, of_floor = 4;

static void chain_open(sprag_scene *scene)
{
    dGeomID floor = sprag_scene_floor(scene);
    dGeomSetCategoryBits(floor, of_floor);
    dGeomSetCollideBits(floor, of_links);
    for (int i = 0; i < LINKS; i++) {
        dBodyID body =
            sprag_scene_box(scene, 1, (const double[3]){1, thick, thick}, i + 0.5, 0, high);
        dGeomSetCategoryBits(dBodyGetFirstGeom(body), of_links);
        dGeomSetCollideBits(dBodyGetFirstGeom(body), of_floor);
        dJointID joint = dJointCreateBall(scene->world, 0);
        dJointAttach(joint, body, i > 0 ? scene->body[i - 1] : 0);
        dJointSetBallAnchor(joint, i, 0, high);
    }
}

// m, largest between the ends of a joint.
static double parted(const sprag_scene *scene)
{
    double most = 0;
    for (int i = 0; i < scene->bodies; i++) {
        dVector3 a, b;
        dJointID joint = dBodyGetJoint(scene->body[i], 0);
        for (int k = 0; k < dBodyGetNumJoints(scene->body[i]); k++) {
            joint = dBodyGetJoint(scene->body[i], k);
            if (dJointGetType(joint) == dJointTypeBall) {
                dJointGetBallAnchor(joint, a);
                dJointGetBallAnchor2(joint, b);
                most = fmax(most, sprag_distance(a, b));
            }
        }
    }
    return most;
}

static double tip_speed(const sprag_scene *scene)
{
    dVector3 v;
    dBodyGetRelPointVel(scene->body[LINKS - 1], 0.5, 0, 0, v);
    return v[2];
}

// Until the tip rises, that is, just after the chain was nearest to the floor.
static void swing(advance_world *w, double *error, double *shortest)
{
    const double longest = 12; // s
    long before = 0;
    bool fell = false;
    while (sprag_scene_time(&w->of.scene) < longest && !(fell && tip_speed(&w->of.scene) > 0)) {
        advance_world_step(w);
        fell = fell || tip_speed(&w->of.scene) < -1;
        *error = fmax(*error, parted(&w->of.scene));
        long substeps = advance_world_counts(w).substeps;
        *shortest = fmin(*shortest, w->of.scene.step / (double)(substeps - before));
        before = substeps;
    }
}

static void swing_chain(void)
{
    advance_world w;
    double error = 0, shortest = INFINITY;
    advance_world_make(&w, chain_open, 0.5, advance_ours);
    swing(&w, &error, &shortest);
    advance_counts c = advance_world_counts(&w);
    double time = sprag_scene_time(&w.of.scene);
    row_scene("chain of %d", LINKS);
    row_report("swung for/s", time);
    row_at_least("mean substep/s", time / (double)c.substeps, 6.5e-3); // the paper's, and its least
    row_at_least("least substep/s, mean of a frame", shortest, 6.17e-4);
    row_at_most("limited substeps", (double)c.limited, 0);
    row_at_most("changes of contacts", (double)c.changes, 0);
    row_report("joint error/m", error);
    row_world(&w);
    advance_world_close(&w);
}

void part_chain(bool full)
{
    (void)full;
    swing_chain();
}
