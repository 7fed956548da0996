// Penetration depth of two convex cores: minus the largest s(n) over all directions, the distance
// from the origin to the boundary of the difference { a - b }. A polytope inside the difference
// grows at its facet nearest to the origin: facets bound the depth from below, the supporting
// planes along their normals from above. van den Bergen: Proximity Queries and Penetration Depth
// Computation on 3D Game Objects (2001).
#ifndef SPRAG_EPA_H
#define SPRAG_EPA_H

#include "gjk.h"

typedef struct sprag_epa {
    double normal[3];   // unit, from core 1 to core 0: the shortest way out
    double bound;       // m, s(normal): minus the depth, an upper bound of it
    double error;       // m, the depth may be smaller by this
    double point[2][3]; // m, on the cores
    int work;           // heights tried and facets visited
} sprag_epa;

// EPA. simplex: GJK's last one. size: m, as GJK's. Cores that only touch have depth 0 and the
// normal of a facet at the touching point; a difference without volume (two crossing segments) has
// a normal of its plane.
void sprag_epa_find(const sprag_core core[2], const sprag_simplex *simplex, double size,
                    sprag_epa *epa);

#endif
