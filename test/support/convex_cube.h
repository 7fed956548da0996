// A cube of 1 m as ODE's convex geoms and meshes take it. Points 0 to 7: x, y, z by the bits of 1, 2, 4.
#ifndef CONVEX_CUBE_H
#define CONVEX_CUBE_H

#include <ode/ode.h>

static const dReal cube_points[24] = {-0.5, -0.5, -0.5, 0.5,  -0.5, -0.5, -0.5, 0.5,
                                      -0.5, 0.5,  0.5,  -0.5, -0.5, -0.5, 0.5,  0.5,
                                      -0.5, 0.5,  -0.5, 0.5,  0.5,  0.5,  0.5,  0.5};
static const dReal cube_planes[24] = {-1, 0, 0, 0.5, 1, 0, 0,  0.5, 0, -1, 0, 0.5,
                                      0,  1, 0, 0.5, 0, 0, -1, 0.5, 0, 0,  1, 0.5};
static const unsigned cube_faces[30] = {4, 0, 4, 6, 2, 4, 1, 3, 7, 5, 4, 0, 1, 5, 4,
                                        4, 2, 6, 7, 3, 4, 0, 2, 3, 1, 4, 4, 5, 7, 6};
// Of a mesh; they look outwards.
static const dTriIndex cube_triangles[36] = {0, 4, 6, 0, 6, 2, 1, 3, 7, 1, 7, 5, 0, 1, 5, 0, 5, 4,
                                             2, 6, 7, 2, 7, 3, 0, 2, 3, 0, 3, 1, 4, 5, 7, 4, 7, 6};

#endif
