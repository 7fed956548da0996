// The angular momentum of a body about its centre of mass, world axes.
#ifndef ANGULAR_MOMENTUM_H
#define ANGULAR_MOMENTUM_H

#include <ode/ode.h>

// L = R I R' w (kg m^2/s).
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

#endif
