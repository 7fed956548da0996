// The space of bodies: each node has six velocities and a mass block; contacts and rows act on one
// node or two. The matrix is block-sparse (blocks.h).
#ifndef SPRAG_SPACE6_H
#define SPRAG_SPACE6_H

#include <string.h>

#include "blocks.h"
#include "softness.h"
#include "system.h"

enum { SPRAG_NOWHERE = -1 }; // the node of an immovable body

typedef struct sprag_stencil {
    int node[2];
    int block; // off-diagonal block of the two nodes
    // Points of the same two nodes that follow each other are a run. They act on the relative twist
    // at the centre of its near side by the rows of that side.
    int first, run;  // first point, number of points
    int near;        // side that moves
    double shift[3]; // m, from the centre of the other side to that of the near one
} sprag_stencil;

typedef struct sprag_row_stencil {
    int node[2];
    int block;
    double jacobian[2][1][6];
} sprag_row_stencil;

typedef struct sprag_space6 {
    int nodes;
    bool rigid; // each mass block is that of a body: a mass and an inertia
    double (*mass)[36];
    double (*inverse)[10]; // 1/kg, and of the inertia, world axes
    sprag_stencil *point;
    double (*jacobian[2])[3][6]; // of each side, points: along their frames
    sprag_row_stencil *equation;
    sprag_blocks blocks;
    bool analysed;
    double sum[36]; // of J' G J over the points of a run so far
    bool summed;    // there are some
} sprag_space6;

// Sets *space as the space of a system with known numbers of points and equations. The masses
// and inverses are zero, the caller sets all other arrays. SPRAG_NO_MEMORY.
sprag_result sprag_space6_take(sprag_space6 *space, sprag_system *system, int nodes,
                               sprag_scratch *scratch);

// The memory of the matrix has been released: there are no factors, and the next one takes it anew.
static inline void sprag_space6_forget(sprag_system *system)
{
    sprag_space6 *space = system->chart;
    space->blocks.diagonal = NULL;
    memset(system->row_slope, 0, (size_t)system->equations * sizeof *system->row_slope);
}

// The sides of a row. SPRAG_NOWHERE: nothing moves it.
static inline void sprag_space6_inverse(const sprag_space6 *space, const int node[2],
                                        sprag_inverse of[2])
{
    for (int side = 0; side < 2; side++) {
        const int n = node[side];
        of[side] = n == SPRAG_NOWHERE
                       ? (sprag_inverse){0}
                       : (sprag_inverse){space->inverse[n][0], space->inverse[n] + 1};
    }
}

// Row i of a point. What resists turning has rows about its frame, too, which are not kept. room:
// for one of these.
static inline const double *sprag_space6_row(const sprag_space6 *space, int p, int side, int i,
                                             double room[6])
{
    static const int along[3] = {SPRAG_SLIDE, SPRAG_SLIDE + 1, SPRAG_NORMAL};
    const double(*kept)[6] = (const double(*)[6])space->jacobian[side][p];
    if (i < SPRAG_ROLL) {
        return kept[i];
    }
    memset(room, 0, 3 * sizeof *room);
    memcpy(room + 3, kept[along[i - SPRAG_ROLL]], 3 * sizeof *room);
    return room;
}

// x = M^-1 x: momenta of all bodies on entry, velocities on return.
void sprag_space6_divide_by_mass(const sprag_space6 *space, double *x);

#endif
