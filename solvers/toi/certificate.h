// How long two moving convex shapes are certain to stay apart. A supporting plane of one shape,
// carried by its body, supports it for ever: only the heights of the other shape's vertices above
// it, known smooth functions of time, must stay above a level. Any plane will do; a bad one costs
// a shorter time and never a penetration. Where two edges cross, the plane turns with both.
#ifndef SPRAG_CERTIFICATE_H
#define SPRAG_CERTIFICATE_H

#include "gap.h"
#include "motion.h"

typedef struct sprag_certificate {
    double time; // s; the gap is at least `level` on [0, time]
    bool whole;  // time is the horizon
    int side;    // what blocks: a point of this shape, that comes down to a plane of the other; -1:
                 // that is not known, nothing has been looked at
    double point[3];  // m, where that point is at t = 0
    double normal[3]; // unit, of the plane at t = 0, into shape 0
    double height;    // m, of the point above the plane at t = 0
    double lowest;    // m, of the point above the plane, least on [0, horizon]; whole: some
                      // lower bound, and the point is that of the gap
} sprag_certificate;

// gap: of the pair at t = 0, as sprag_gap_find left it. level: m; if the gap is below it, the time
// is 0; where it gets so far, it ends up to a thousandth above. horizon: s; numbers that are not
// finite, or more than 1e3 rad within it: the time is 0.
void sprag_time_of_impact(const sprag_carried pair[2], const sprag_gap *gap, double level,
                          double horizon, sprag_certificate *certificate);

#endif
