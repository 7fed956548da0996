// Boxes along the axes: lo[3], hi[3] (m).
#ifndef SPRAG_BOX_H
#define SPRAG_BOX_H

#include <stdbool.h>

#include "linalg.h"

// Boxes that touch overlap. All comparisons are made: which one fails first cannot be foretold.
static inline bool sprag_boxes_overlap(const double a[6], const double b[6])
{
    return (a[0] <= b[3]) & (b[0] <= a[3]) & (a[1] <= b[4]) & (b[1] <= a[4]) & (a[2] <= b[5]) &
           (b[2] <= a[5]);
}

static inline void sprag_box_grow(double box[6], double by)
{
    for (int k = 0; k < 3; k++) {
        box[k] -= by;
        box[k + 3] += by;
    }
}

// Grows a box to where it may be: on the way from its place to `shift` (m) from there, and no
// farther than `any` (m) off that way.
static inline void sprag_box_sweep(double box[6], const double shift[3], double any)
{
    for (int k = 0; k < 3; k++) {
        box[k] += sprag_smaller(shift[k], 0) - any;
        box[k + 3] += sprag_larger(shift[k], 0) + any;
    }
}

// m, of two boxes; of balls in them whose radii have this sum (0: none), exactly.
static inline double sprag_boxes_apart(const double a[6], const double b[6], double round)
{
    double apart[3];
    for (int k = 0; k < 3; k++) {
        const double gap = sprag_larger(a[k] - b[k + 3], b[k] - a[k + 3]) + round;
        apart[k] = sprag_larger(gap, 0);
    }
    return norm3(apart) - round;
}

// m, the least height above a plane n.x = d, of a box, or of a ball in it with this radius (0:
// none).
static inline double sprag_box_height(const double box[6], const double n[3], double d,
                                      double round)
{
    double height = -d - round;
    for (int k = 0; k < 3; k++) {
        const double half = round > 0 ? 0 : 0.5 * (box[k + 3] - box[k]);
        height += 0.5 * n[k] * (box[k] + box[k + 3]) - fabs(n[k]) * half;
    }
    return height;
}

// m, from a point to the farthest corner.
static inline double sprag_box_farthest(const double box[6], const double at[3])
{
    double far[3];
    for (int k = 0; k < 3; k++) {
        far[k] = sprag_larger(fabs(box[k] - at[k]), fabs(box[k + 3] - at[k]));
    }
    return norm3(far);
}

// m, its shortest and its longest side.
static inline void sprag_box_sides(const double box[6], double side[2])
{
    side[0] = side[1] = box[3] - box[0];
    for (int k = 1; k < 3; k++) {
        side[0] = sprag_smaller(side[0], box[k + 3] - box[k]);
        side[1] = sprag_larger(side[1], box[k + 3] - box[k]);
    }
}

static inline void sprag_triangle_box(const double corner[3][3], double box[6])
{
    for (int k = 0; k < 3; k++) {
        const double a = corner[0][k], b = corner[1][k], c = corner[2][k];
        box[k] = sprag_smaller(sprag_smaller(a, b), c);
        box[k + 3] = sprag_larger(sprag_larger(a, b), c);
    }
}

#endif
