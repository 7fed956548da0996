// A recorded shape as triangles, for formats that know no spheres.
#ifndef SPRAG_TESSELLATE_H
#define SPRAG_TESSELLATE_H

#include "film.h"

typedef struct tessellation {
    float (*vertex)[3], (*normal)[3]; // m; unit, outwards
    uint32_t (*triangle)[3];
    int vertices, triangles, vertex_room, normal_room, triangle_room;
    bool failed; // no memory
} tessellation;

// extent: m, half the side of the square that stands for a plane.
void tessellate(tessellation *t, const film_shape *shape, double extent);
void tessellation_free(tessellation *t);

#endif
