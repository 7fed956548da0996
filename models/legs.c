// A quadruped that trots: a trunk and four legs of three hinges each (out, hip, knee), 18 degrees
// of freedom in all. Its motors follow a gait that is given in advance, with the feet in diagonal
// pairs; it has no other control of balance. The feet are polytopes of 1000 vertices, nearly balls:
// each rolls over many edges in every stance.
#include "scene.h"

#include <math.h>

enum {
    LEGS = 4,
    PARTS = 3,
    TRUNK = 0
}; // parts of a leg: hip, thigh, shank; their body is 1 + 3 leg + part
enum { RINGS = 25, SEGMENTS = 40, CORNERS = RINGS * SEGMENTS, FACES = (RINGS - 1) * SEGMENTS + 2 };
enum { LOOPS = 5 * (RINGS - 1) * SEGMENTS + 2 * (1 + SEGMENTS) };

static const double limb = 0.2, foot_radius = 0.03;                   // m; thigh and shank alike
static const double hip_along = 0.2, hip_out = 0.11, foot_out = 0.15; // m
static const double reach = 0.34;                                     // m, hip to foot in stance
static const double period = 0.4, stride = 0.1, lift = 0.04;          // s, m, m
static const double stance = 0.55;                                    // of the period
static const double stands_until = 0.5, ramp = 1;                     // s
static const double gain = 30, torque = 40;                           // 1/s, N m, of a motor
static const double fallen = 0.2;                                     // m, height of the trunk

typedef struct legs {
    dReal corner[CORNERS * 3], plane[FACES * 4];
    unsigned loop[LOOPS];
    sprag_hull foot;
    dJointID joint[LEGS][PARTS];
    double first[PARTS]; // rad, angles of the parts when the hinges were made
    double from, until;  // m, of the trunk along x, at model->settled and now
    double fell;         // s, time of its fall, 0 while it walks
    double error;        // m, largest distance between the anchors of a joint
} legs;

// ---- the foot

// Vertices on rings about the y axis, the middle one through the lowest point.
static void foot_corners(legs *l)
{
    for (int i = 0; i < RINGS; i++) {
        double polar = M_PI * (i + 0.5) / RINGS;
        for (int k = 0; k < SEGMENTS; k++) {
            double turn = 2 * M_PI * k / SEGMENTS;
            dReal *p = &l->corner[3 * (SEGMENTS * i + k)];
            p[0] = foot_radius * sin(polar) * sin(turn);
            p[1] = foot_radius * cos(polar);
            p[2] = foot_radius * sin(polar) * cos(turn);
        }
    }
}

// Plane through three points of a convex body that contains the origin.
static void plane_of(const legs *l, const unsigned *loop, dReal plane[4])
{
    const dReal *a = &l->corner[3 * loop[0]], *b = &l->corner[3 * loop[1]];
    const dReal *c = &l->corner[3 * loop[2]];
    dVector3 ab = {b[0] - a[0], b[1] - a[1], b[2] - a[2]};
    dVector3 ac = {c[0] - a[0], c[1] - a[1], c[2] - a[2]};
    dCalcVectorCross3(plane, ab, ac);
    dNormalize3(plane);
    plane[3] = dCalcVectorDot3(plane, a);
}

static unsigned corner_at(int ring, int segment)
{
    return (unsigned)(SEGMENTS * ring + segment % SEGMENTS);
}

static void foot_faces(legs *l)
{
    unsigned *at = l->loop;
    dReal *plane = l->plane;
    for (int i = 0; i + 1 < RINGS; i++) {
        for (int k = 0; k < SEGMENTS; k++, at += 5, plane += 4) {
            at[0] = 4;
            at[1] = corner_at(i, k);
            at[2] = corner_at(i + 1, k);
            at[3] = corner_at(i + 1, k + 1);
            at[4] = corner_at(i, k + 1);
            plane_of(l, at + 1, plane);
        }
    }
    for (int end = 0; end < 2; end++, plane += 4) {
        *at++ = SEGMENTS;
        for (int k = 0; k < SEGMENTS; k++) {
            at[k] = corner_at(end ? RINGS - 1 : 0, end ? SEGMENTS - k : k);
        }
        plane_of(l, at, plane);
        at += SEGMENTS;
    }
}

// ---- the body

// Inverse kinematics: angles of thigh and shank from straight down, positive forwards. Both have
// the same length, so that they lean by the same angle to either side of the line from hip to foot.
static void lean(double x, double down, double angle[PARTS])
{
    double bend = acos(fmin(hypot(x, down) / (2 * limb), 1)), line = atan2(x, down);
    angle[1] = line + bend;
    angle[2] = line - bend;
}

static void turn_part(dBodyID body, double angle)
{
    dMatrix3 R;
    dRFromAxisAndAngle(R, 0, -1, 0, angle);
    dBodySetRotation(body, R);
}

static dJointID add_hinge(sprag_scene *scene, dBodyID body, dBodyID parent, const dVector3 anchor,
                          int forwards)
{
    dJointID joint = dJointCreateHinge(scene->world, 0);
    dJointAttach(joint, body, parent);
    dJointSetHingeAnchor(joint, anchor[0], anchor[1], anchor[2]);
    dJointSetHingeAxis(joint, forwards, forwards ? 0 : -1, 0);
    dJointSetHingeParam(joint, dParamFMax, torque);
    return joint;
}

static void add_foot(sprag_scene *scene, dBodyID shank)
{
    legs *l = scene->data;
    dGeomID foot = dCreateConvex(scene->space, l->plane, FACES, l->corner, CORNERS, l->loop);
    dGeomSetData(foot, &l->foot);
    dGeomSetBody(foot, shank);
    dGeomSetOffsetPosition(foot, 0, 0, -limb / 2);
}

static void add_leg(sprag_scene *scene, int leg)
{
    static const double hip_side[3] = {0.06, 0.03, 0.06}, part_side[3] = {0.02, 0.02, 0.2};
    legs *l = scene->data;
    double x = leg < 2 ? hip_along : -hip_along, out = leg % 2 ? 1 : -1;
    double y = out * foot_out, z = reach + foot_radius;
    const double *angle = l->first;
    double knee_x = x + limb * sin(angle[1]), knee_z = z - limb * cos(angle[1]);
    dBodyID hip = sprag_scene_box(scene, 0.5, hip_side, x, out * hip_out, z);
    dBodyID thigh = sprag_scene_box(scene, 0.5, part_side, (x + knee_x) / 2, y, (z + knee_z) / 2);
    dBodyID shank = sprag_scene_box(scene, 0.3, part_side, knee_x + limb / 2 * sin(angle[2]), y,
                                    knee_z - limb / 2 * cos(angle[2]));
    turn_part(thigh, angle[1]);
    turn_part(shank, angle[2]);
    l->joint[leg][0] =
        add_hinge(scene, hip, scene->body[TRUNK], (dVector3){x, out * hip_out, z}, 1);
    l->joint[leg][1] = add_hinge(scene, thigh, hip, (dVector3){x, y, z}, 0);
    l->joint[leg][2] = add_hinge(scene, shank, thigh, (dVector3){knee_x, y, knee_z}, 0);
    add_foot(scene, shank);
}

static void legs_open(sprag_scene *scene)
{
    legs *l = scene->data;
    l->foot = (sprag_hull){CORNERS, l->corner};
    foot_corners(l);
    foot_faces(l);
    lean(0, reach, l->first);
    sprag_scene_floor(scene);
    sprag_scene_box(scene, 8, (const double[3]){0.5, 0.16, 0.1}, 0, 0, reach + foot_radius);
    for (int i = 0; i < LEGS; i++) {
        add_leg(scene, i);
    }
}

// ---- the gait

// Wanted position of the foot from its hip, at a time (s) since the robot began to walk.
static void footstep(int leg, double time, double *x, double *down)
{
    double grown = fmin(fmax(time / ramp, 0), 1), whole;
    int pair = leg == 0 || leg == 3;
    double phase = modf(fmax(time, 0) / period + (pair ? 0.5 : 0) + stance / 2, &whole);
    double swing = (phase - stance) / (1 - stance);
    if (phase < stance) {
        *x = grown * stride * (0.5 - phase / stance);
        *down = reach;
    } else {
        *x = grown * stride * (0.5 * -cos(M_PI * swing));
        *down = reach - grown * lift * sin(M_PI * swing);
    }
}

static void drive(dJointID joint, double angle)
{
    dJointSetHingeParam(joint, dParamVel, gain * (angle - dJointGetHingeAngle(joint)));
}

static void legs_before_step(sprag_scene *scene)
{
    legs *l = scene->data;
    for (int i = 0; i < LEGS; i++) {
        double x, down, angle[PARTS];
        footstep(i, sprag_scene_time(scene) - stands_until, &x, &down);
        lean(x, down, angle);
        double thigh = angle[1] - l->first[1], shank = angle[2] - l->first[2];
        drive(l->joint[i][0], 0);
        drive(l->joint[i][1], thigh);
        drive(l->joint[i][2], shank - thigh);
    }
}

static double joint_error(dJointID joint)
{
    dVector3 a, b;
    dJointGetHingeAnchor(joint, a);
    dJointGetHingeAnchor2(joint, b);
    return sprag_distance(a, b);
}

static void legs_after_step(sprag_scene *scene)
{
    legs *l = scene->data;
    const dReal *x = dBodyGetPosition(scene->body[TRUNK]);
    const dReal *up = dBodyGetRotation(scene->body[TRUNK]);
    if (l->fell == 0 && (x[2] < fallen || up[10] < 0.7)) {
        l->fell = sprag_scene_time(scene);
    }
    if (sprag_scene_reaches(scene, scene->model->settled)) {
        l->from = x[0];
    }
    l->until = x[0];
    for (int i = 0; i < LEGS * PARTS; i++) {
        l->error = fmax(l->error, joint_error(l->joint[i / PARTS][i % PARTS]));
    }
}

static int legs_measure(const sprag_scene *scene, sprag_measure *measures)
{
    const legs *l = scene->data;
    double time = sprag_scene_time(scene), walked = time - scene->model->settled;
    double fastest = stride / (stance * period);
    measures[0] =
        (sprag_measure){"walked for", "s", l->fell > 0 ? l->fell : time, time, scene->step / 2};
    measures[1] = (sprag_measure){"speed", "m/s", walked > 0 ? (l->until - l->from) / walked : NAN,
                                  fastest, 0.2 * fastest};
    measures[2] = (sprag_measure){"joint error", "m", l->error, 0, NAN};
    return 3;
}

const sprag_script sprag_legs = {
    .data = sizeof(legs),
    .contacts = 8,
    .friction = 0.8,
    .penetration = 0.008, // of a foot that lands at 0.8 m/s, after 10 ms
    .open = legs_open,
    .before_step = legs_before_step,
    .after_step = legs_after_step,
    .measure = legs_measure,
};
