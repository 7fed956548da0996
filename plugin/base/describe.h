// Names of bodies, geoms and joints for messages, by properties that the program's author can find.
#ifndef SPRAG_DESCRIBE_H
#define SPRAG_DESCRIBE_H

#include <ode/ode.h>

enum { DESCRIPTION_MAX = 320 };

// Each writes to `text` and returns it.

// "body 3 (box, at (0, 0.5, 2), address 0x5581, data 0x7ffc)": 3 is its place in the order of
// creation among the bodies that its world has now. No data is printed if there is none. NULL: "the
// static environment".
const char *describe_body(char text[DESCRIPTION_MAX], dBodyID body);

// "the box of body 3 (...)" or "the static plane 0x5581, data 0x7ffc".
const char *describe_geom(char text[DESCRIPTION_MAX], dGeomID geom);

// "hinge joint 0x5581"
const char *describe_joint(char text[DESCRIPTION_MAX], dJointID joint);

#endif
