// Certified time of impact: a lower bound of the time during which two moving convex shapes stay
// apart. A supporting plane of one shape, carried by its body, supports it at all times; only the
// heights of the other shape's vertices above it, smooth functions of time, must stay above a
// level. Any plane is valid: a bad one costs a shorter time, never a penetration. For crossing
// edges the plane turns with both.
#ifndef SPRAG_CERTIFICATE_H
#define SPRAG_CERTIFICATE_H

#include "gap.h"
#include "motion.h"

// A separating plane, stored in the axes of its shape, so that it can be tried again after the
// shapes have moved.
typedef struct sprag_kept_plane {
    enum { SPRAG_NO_PLANE, SPRAG_CARRIED_PLANE, SPRAG_EDGES_PLANE } kind;
    int carrier;      // CARRIED: the shape that carries it
    double normal[3]; // CARRIED: unit, into shape 0, in the axes of the carrier
    int end[2][2];    // EDGES: the vertices of the two edges; an axis has none
    double sign;      // EDGES: 1 or -1, of their product as normal into shape 0
} sprag_kept_plane;

typedef struct sprag_certificate {
    double time; // s; the gap is at least `level` on [0, time]
    bool whole;  // time is the horizon; what follows is of no plane then, but for the last two
    int side;    // the shape whose point comes down to a plane of the other; -1: no plane was found
    double point[3];  // m, world: that point at t = 0
    double normal[3]; // unit, into shape 0: of the plane at t = 0
    double height;    // m, of the point above the plane at t = 0; it may be negative
    double lowest;    // m, least height of the point above the plane on [time, horizon]
    long expansions;  // of planes into series, which take the time; across edges they count more
    sprag_kept_plane plane; // that was followed last
} sprag_certificate;

// Bound of the time of impact of two shapes at constant twist. pair: shapes and motions. gap: of
// the pair at t = 0, from sprag_gap_find, with its points. level (m, >= 0): gap to keep; motions
// that reach it end up to a thousandth above it. horizon: s, >= 0. certificate: an earlier one of
// the pair, whose plane is followed first, as at other velocities, or some time later, it mostly is
// the right one; or all zero. The time is 0 if the gap is below the level, if numbers are not
// finite, and if the bodies turn by more than 1e3 rad within the horizon.
void sprag_time_of_impact(const sprag_carried pair[2], const sprag_gap *gap, double level,
                          double horizon, sprag_certificate *certificate);

// Is it certain, by a bound of second order, that the pair stays farther apart than the level (m)
// up to the horizon (s), on the sides of a plane? pose: of the shapes at t = 0. normal: of the
// plane then, unit, into shape 0, any; 0: false. It takes a tenth of the time of a certificate.
bool sprag_stay_apart(const sprag_carried pair[2], const sprag_pose *const pose[2],
                      const double normal[3], double level, double horizon);

// The gap of the pair at the time t (s); farther shapes than `reach` (m) are beyond.
sprag_result sprag_carried_gap(const sprag_carried pair[2], double t, double reach, sprag_gap *gap);

#endif
