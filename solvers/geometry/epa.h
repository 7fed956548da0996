// Penetration depth of two convex cores: the least s(n) over all directions is that of the boundary
// point of { a - b } nearest to the origin. A polytope inside the difference grows where it is
// nearest: its facets bound the depth from below, the supporting planes along their normals from
// above. van den Bergen: Proximity Queries and Penetration Depth Computation on 3D Game Objects
// (2001).
#ifndef SPRAG_EPA_H
#define SPRAG_EPA_H

#include "gjk.h"

typedef struct sprag_epa {
    double normal[3];   // unit, from core 1 to core 0: the shortest way out
    double bound;       // m, s(normal): minus the depth
    double error;       // m, what the depth may be smaller
    double point[2][3]; // m, on the cores
} sprag_epa;

// simplex: GJK's last; size: m, as GJK's. Bodies that only touch have depth 0 and the normal of a
// facet there; a difference without volume (two crossing segments) the normal of what it spans.
void sprag_epa_find(const sprag_core core[2], const sprag_simplex *simplex, double size,
                    sprag_epa *epa);

#endif
