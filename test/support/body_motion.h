// What tests of motion measure: the angular momentum of a body, its kinetic energy, and by how much
// a joint has opened.
#ifndef BODY_MOTION_H
#define BODY_MOTION_H

#include <ode/ode.h>

// L = R I R' w (kg m^2/s), about the centre of mass, in world axes.
static inline void angular_momentum(dBodyID body, dVector3 L)
{
    dMass m;
    dVector3 own, turned;
    const dReal *w = dBodyGetAngularVel(body);
    dBodyGetMass(body, &m);
    dBodyVectorFromWorld(body, w[0], w[1], w[2], own);
    dMultiply0_331(turned, m.I, own);
    dBodyVectorToWorld(body, turned[0], turned[1], turned[2], L);
}

// (m v.v + w.L) / 2, J.
static inline double kinetic_energy(dBodyID body)
{
    dMass m;
    dVector3 L;
    const dReal *v = dBodyGetLinearVel(body);
    dBodyGetMass(body, &m);
    angular_momentum(body, L);
    return (m.mass * dCalcVectorDot3(v, v) + dCalcVectorDot3(dBodyGetAngularVel(body), L)) / 2;
}

// m, between the anchors of a ball, a hinge or a universal joint on their two bodies; 0 of others.
static inline double joint_gap(dJointID joint)
{
    dVector3 a = {0}, b = {0};
    switch ((int)dJointGetType(joint)) {
    case dJointTypeBall:
        dJointGetBallAnchor(joint, a);
        dJointGetBallAnchor2(joint, b);
        break;
    case dJointTypeHinge:
        dJointGetHingeAnchor(joint, a);
        dJointGetHingeAnchor2(joint, b);
        break;
    case dJointTypeUniversal:
        dJointGetUniversalAnchor(joint, a);
        dJointGetUniversalAnchor2(joint, b);
        break;
    }
    return dCalcPointsDistance3(a, b);
}

#endif
