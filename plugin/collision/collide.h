// The program's collision calls, for worlds whose method keeps distance. Calls for other worlds,
// and calls that ODE's collision code makes itself, go to ODE.
#ifndef SPRAG_COLLIDE_H
#define SPRAG_COLLIDE_H

#include <ode/ode.h>

int collide_geoms(dGeomID a, dGeomID b, int flags, dContactGeom *contact, int skip); // dCollide
void collide_space(dSpaceID space, void *data, dNearCallback *callback);     // dSpaceCollide
void collide_two(dGeomID a, dGeomID b, void *data, dNearCallback *callback); // dSpaceCollide2

#endif
