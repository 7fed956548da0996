// Runs of every joint type for the rows of joints in use.
#ifndef TEST_TABLE_JOINTS_USE_H
#define TEST_TABLE_JOINTS_USE_H

#include "support_joints.h"

static const double STEP = 0.01, G = 9.81; // s, m/s^2

// A run whose right values in continuous time are those that ever shorter steps tend to.
#define IN_TIME(name)                                                                              \
    static void name(support_run *run)                                                             \
    {                                                                                              \
        name##_sampled(run, 1);                                                                    \
    }                                                                                              \
    static void name##_in_time(support_run *run)                                                   \
    {                                                                                              \
        support_report_limit(run, name##_sampled);                                                 \
    }

// ---- all types

typedef void visit_fn(support_run *run, const support_scene *scene, pair *p, int pieces);

// The transmission, which is between wheels, has rows of its own.
static inline void each_type(support_run *run, int like, int pieces, visit_fn *visit)
{
    for (int i = 0; i < JOINT_KINDS; i++) {
        const joint_kind *kind = &joint_kinds[i];
        bool moved = kind->motors || !(like & (PAIR_MOTORS | PAIR_STOPS));
        if (moved && support_pair_can_be(kind, like) && kind->type != dJointTypeTransmission) {
            support_scene scene = support_scene_open(run, STEP);
            pair p;
            support_open_pair(&scene, &p, kind, like);
            visit(run, &scene, &p, pieces);
            support_scene_close(&scene);
        }
    }
}

static inline void report_motion(support_run *run, const support_scene *scene, pair *p, int pieces)
{
    support_load_and_step(scene, p, 15, pieces);
    dBodyID last = p->body[p->body[1] ? 1 : 0];
    support_report_vector(run, dBodyGetLinearVel(last));
    support_report_vector(run, dBodyGetAngularVel(last));
    support_report_vector(run, dBodyGetPosition(last));
}

// Under ess a PU is what its own row says.
static inline bool is_known(const pair *p)
{
    return dJointGetType(p->joint) != dJointTypePU;
}

// ---- one body held

static inline dBodyID held_body(const support_scene *scene, double x, double y, double z)
{
    dBodyID body = support_body(scene->world, x, y, z);
    support_scene_add(scene, body);
    return body;
}

static inline void steps(const support_scene *scene, int count)
{
    for (int i = 0; i < count; i++) {
        support_scene_step(scene);
    }
}

// At its middle, across gravity.
static inline dJointID hold(dWorldID world, int type, dBodyID body)
{
    dJointID joint = create_joint(world, type);
    dJointAttach(joint, body, NULL);
    switch (type) {
    case dJointTypeBall:
        dJointSetBallAnchor(joint, 0, 0, 0);
        break;
    case dJointTypeHinge:
        dJointSetHingeAnchor(joint, 0, 0, 0);
        break;
    case dJointTypeUniversal:
        dJointSetUniversalAnchor(joint, 0, 0, 0);
        break;
    case dJointTypeSlider:
        dJointSetSliderAxis(joint, 0, 1, 0);
        break;
    case dJointTypePiston:
        dJointSetPistonAnchor(joint, 0, 0, 0);
        dJointSetPistonAxis(joint, 0, 1, 0);
        break;
    case dJointTypeDBall:
        dJointSetDBallAnchor1(joint, 0, 0, 0);
        dJointSetDBallAnchor2(joint, -1, 0, 0);
        break;
    case dJointTypeDHinge:
        dJointSetDHingeAxis(joint, 0, 0, 1);
        dJointSetDHingeAnchor1(joint, 0, 0, 0);
        dJointSetDHingeAnchor2(joint, -1, 0, 0);
        break;
    default:
        dJointSetFixed(joint);
    }
    return joint;
}

// ---- joints with others

#define FLYING(to) NEAR(to, "bodies without joints fly exactly, " CIRCLES)
#define CONTINUOUS NEAR(1e-8, "in continuous time")
#define AS_IT_GOES(to) NEAR(to, "in continuous time; errors decay as in stock")

#endif
