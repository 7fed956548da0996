// Shared by the files of models: the script of a model, and functions that add bodies to a scene.
#ifndef SPRAG_SCENE_H
#define SPRAG_SCENE_H

#include "models.h"

#include <stddef.h>

// Invisible: a thousandth of the smaller bodies of the models.
#define SPRAG_GOOD_LENGTH 1e-4 // m

#define SPRAG_GRAVITY 9.81        // m/s^2
#define SPRAG_DEGREE (M_PI / 180) // rad

struct sprag_script {
    size_t data;        // bytes of scene->data, zeroed
    int contacts;       // limit for a pair of geoms; 0: no collisions
    double friction;    // Coulomb coefficient, between any two geoms
    double penetration; // m, largest good result; 0: SPRAG_GOOD_LENGTH
    int size_max;       // largest model size; 0: 100000
    void (*open)(sprag_scene *);
    void (*surface)(const sprag_scene *, dGeomID, dGeomID, dSurfaceParameters *); // may be NULL
    void (*before_step)(sprag_scene *);                   // forces, motors; may be NULL
    void (*after_step)(sprag_scene *);                    // measuring; may be NULL
    int (*measure)(const sprag_scene *, sprag_measure *); // returns how many
};

// Points of a convex geom, which ODE has no function for: the data of the geom refers to it.
typedef struct sprag_hull {
    int points;
    const dReal *point; // m, three each, in the axes of the geom
} sprag_hull;

extern const sprag_script sprag_slope, sprag_push, sprag_slide, sprag_gripper;
extern const sprag_script sprag_stack, sprag_stack_geometric, sprag_stack_heavy_top, sprag_heavy;
extern const sprag_script sprag_bounce, sprag_wall, sprag_rolling, sprag_rolling_xy;
extern const sprag_script sprag_chain, sprag_chain_hinge, sprag_car, sprag_legs, sprag_pile;
extern const sprag_script sprag_bowl, sprag_dominoes, sprag_jenga, sprag_wreck, sprag_ragdolls;
extern const sprag_script sprag_yard, sprag_rope, sprag_bridge, sprag_crane, sprag_gyroscope;
extern const sprag_script sprag_top, sprag_bouncing, sprag_666, sprag_elastic_666, sprag_kapla;
extern const sprag_script sprag_balance, sprag_arch, sprag_cannon, sprag_peg;

extern const double sprag_balance_gain[4]; // N/m, N/rad, N s/m, N s/rad (control.c)

// Add a body with one geom, upright and at rest. Without memory they mark the scene as failed and
// return a body all the same.
dBodyID sprag_scene_box(sprag_scene *, double mass, const double side[3], double x, double y,
                        double z);
dBodyID sprag_scene_cube(sprag_scene *, double mass, double side, double x, double y, double z);
dBodyID sprag_scene_ball(sprag_scene *, double mass, double radius, double x, double y, double z);

dBodyID sprag_scene_capsule(sprag_scene *, double mass, double radius, double length, double x,
                            double y, double z); // along z; length without the caps

dBodyID sprag_scene_cylinder(sprag_scene *, double mass, double radius, double length, double x,
                             double y, double z); // along z

// A wheel under a chassis: a hinge2 that steers about z, rolls about y, and is sprung along z (N/m,
// N s/m).
dJointID sprag_scene_wheel(sprag_scene *, dBodyID chassis, dBodyID wheel, double spring,
                           double damper);

// A number in [low, high) from the scene's seed, the same on every machine.
double sprag_scene_draw(sprag_scene *, double low, double high);

// m, between the two ends of a joint; of a hinge2 only across its suspension, which may move. NAN:
// the type of joint has no anchors.
double sprag_joint_error(dJointID joint);

// The plane z = 0.
dGeomID sprag_scene_floor(sprag_scene *);

// s, since the scene was opened.
double sprag_scene_time(const sprag_scene *);

// 1 at the end of the step nearest to time t (s), else 0.
int sprag_scene_reaches(const sprag_scene *, double t);

// m, between two points.
double sprag_distance(const dReal *a, const dReal *b);

#endif
