// The tuning numbers of the time of impact: each with its unit and the effect of a change. A worse
// choice costs a shorter certified time, never a penetration.
#ifndef SPRAG_TOI_CONSTANTS_H
#define SPRAG_TOI_CONSTANTS_H

// rad within the horizon. A body that turns less counts as one that does not turn.
#define SPRAG_TOI_STILL 1e-12

// rad within the horizon. A pair that turns more gets the time 0: series would take too many parts.
#define SPRAG_TOI_TURN_MAX 1e3

// Relative to the level. Planes keep the gap so much above the level that the next query, with its
// rounding errors, finds it above. Larger: contacts stay farther apart; 0: they may start below the
// level.
#define SPRAG_TOI_MARGIN 1e-3

// Planes that are kept as candidates; faces of one shape among them; pairs of edges; edges of one
// shape, and the lowest vertices that they join. More: longer times for complex shapes, slower.
enum {
    SPRAG_TOI_PLANES = 16,
    SPRAG_TOI_FACES = 6,
    SPRAG_CROSSINGS = 8,
    SPRAG_TOI_EDGES = 6,
    SPRAG_TOI_LOWEST = 4
};

// Series expansions along one plane; planes that get more than the first one; planes in succession
// (the pair is looked at again where the first plane ends). More: longer times, slower.
enum { SPRAG_TOI_EXPANSIONS = 24, SPRAG_TOI_DEEPER = 3, SPRAG_TOI_LOOKS = 4 };

// Expansions of a plane on one shape that one of a plane across edges counts as, in the time.
enum { SPRAG_TOI_CROSSING_EXPANSIONS = 4 };

// Cosine with the normal that a face needs to be a candidate. If one shape is a triangle, faces of
// both need only TRIANGLE: a shape that slides over a mesh comes to the next triangle from its side
// but stays above the plane of it, or, where that is tilted, has it below its own face.
#define SPRAG_TOI_FACING 0.1
#define SPRAG_TOI_FACING_TRIANGLE (-0.1)

// Cosine scale. Preference for candidate planes: FACE of faces over the normal of the gap, SLOW of
// planes on slowly turning shapes (at equal cosines).
#define SPRAG_TOI_PREFER_FACE 1e-9
#define SPRAG_TOI_PREFER_SLOW 1e-6

// Relative to the time. Two planes whose times differ by less end together; that across edges is
// taken.
#define SPRAG_TOI_TOGETHER 1e-6

// Relative to the horizon. An expansion that gains less ends the search along its plane.
#define SPRAG_TOI_GAIN 1e-9

// Relative to the time, and to the horizon: the gap is tested so much later to see if the shapes
// meet where a plane ends. Larger: planes that end early are taken for impacts.
#define SPRAG_TOI_SOON 1e-3
#define SPRAG_TOI_SOON_LEAST 1e-6

// Relative to the horizon. A plane that lasts less ends the search.
#define SPRAG_TOI_PROGRESS 1e-8

// Multiple of the level. A gap below it is not worth another plane.
#define SPRAG_TOI_NEAR 1.5

// Relative to the size. Rounding that a vertex may be behind the plane of two edges.
#define SPRAG_TOI_SLACK 1e-13

// Sine of the angle of two edges. A plane across edges at a smaller angle is not tried; ROUND: if
// one of them is the axis of a round shape.
#define SPRAG_TOI_EDGES_ANGLE 1e-6
#define SPRAG_TOI_EDGES_ANGLE_ROUND 1e-2

// 1 - cosine. A plane across edges is along the normal of the gap: it is tried second.
#define SPRAG_TOI_EDGES_ALONG 1e-9

// Cosine between the normal of the gap and that of a plane across edges. Smaller: more planes that
// separate features which do not face each other.
#define SPRAG_TOI_EDGES_FACING 0.1

// Relative to the size, added to the drift of edges that are tested for passing each other.
#define SPRAG_TOI_DRIFT 1e-9

// A normal whose length differs from 1 by more is none: the time is 0.
#define SPRAG_TOI_UNIT 1e-6

// Cosine between a cylinder's axis and the normal: below, |m_xy|^2 is expanded as 1 - m_z^2, above
// as m_x^2 + m_y^2. Decides how far an expansion holds, not whether it is right.
#define SPRAG_TOI_ROOT_AXIS 0.8

// For a cylinder that nearly stands on a plane, the line that replaces the root |m_xy|: it starts
// at the root, but at least at LAST of the root at the end or ROOM of the height over the radius,
// whichever is less, plus LEAST of the latter. Decides how far an expansion holds.
#define SPRAG_TOI_FLAT_LAST 1e-2
#define SPRAG_TOI_FLAT_ROOM 0.1
#define SPRAG_TOI_FLAT_LEAST 1e-9

// Part of a root's first coefficient that must remain after subtracting all others. Smaller: bounds
// of the remainder get poor.
#define SPRAG_SERIES_ROOT 0.25

// Parts of the interval [0, 1]: zeros of series are found to FINEST plus RELATIVE times the zero.
// Larger: shorter times; smaller: rounding decides.
#define SPRAG_SERIES_FINEST 1e-15
#define SPRAG_SERIES_RELATIVE 1e-13

#endif
