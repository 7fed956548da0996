// What the model files share: a model's script, and a few lines each to put a body into a scene.
#ifndef SPRAG_SCENE_H
#define SPRAG_SCENE_H

#include "models.h"

#include <stddef.h>

// What nobody would see: a thousandth of the smaller bodies here.
#define SPRAG_GOOD_LENGTH 1e-4 // m

#define SPRAG_GRAVITY 9.81        // m/s^2
#define SPRAG_DEGREE (M_PI / 180) // rad

struct sprag_script {
    size_t data;        // bytes that the model wants at scene->data, zeroed
    int contacts;       // most per pair of geoms; 0: nothing collides
    double friction;    // Coulomb coefficient, between any two geoms
    double penetration; // m, good up to this; 0: SPRAG_GOOD_LENGTH
    void (*open)(sprag_scene *);
    void (*surface)(const sprag_scene *, dGeomID, dGeomID, dSurfaceParameters *); // may be NULL
    void (*before_step)(sprag_scene *);                   // forces, motors; may be NULL
    void (*after_step)(sprag_scene *);                    // measuring; may be NULL
    int (*measure)(const sprag_scene *, sprag_measure *); // returns how many
};

// What ODE does not tell of a convex geom: the model keeps it as the data of the geom.
typedef struct sprag_hull {
    int points;
    const dReal *point; // m, three each, in the axes of the geom
} sprag_hull;

extern const sprag_script sprag_slope, sprag_push, sprag_slide, sprag_gripper;
extern const sprag_script sprag_stack, sprag_stack_geometric, sprag_stack_heavy_top, sprag_heavy;
extern const sprag_script sprag_bounce, sprag_wall, sprag_rolling, sprag_rolling_xy;
extern const sprag_script sprag_chain, sprag_chain_hinge, sprag_car, sprag_legs, sprag_pile;

// Bodies with one geom each, upright and at rest. On lack of memory the scene is marked as failed
// and the body is as good as any.
dBodyID sprag_scene_box(sprag_scene *, double mass, const double side[3], double x, double y,
                        double z);
dBodyID sprag_scene_cube(sprag_scene *, double mass, double side, double x, double y, double z);
dBodyID sprag_scene_ball(sprag_scene *, double mass, double radius, double x, double y, double z);

// The plane z = 0.
dGeomID sprag_scene_floor(sprag_scene *);

// s, since the scene was opened.
double sprag_scene_time(const sprag_scene *);

// 1 in the one step that ends at t, whatever the step; 0 before and after.
int sprag_scene_reaches(const sprag_scene *, double t);

// m, between two points.
double sprag_distance(const dReal *a, const dReal *b);

#endif
