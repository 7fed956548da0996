// The tuning numbers of the geometry: each with its unit and the effect of a change. Lengths "of
// the size" are relative to the largest coordinate of the pair. Multiples of DBL_EPSILON stand in
// the code beside the sums whose rounding errors they bound.
#ifndef SPRAG_TOLERANCES_H
#define SPRAG_TOLERANCES_H

// ---- shape.c

// Square of a sine. Cross products of edges at smaller angles are orthogonalised once more. Larger:
// more normals pay for it; 0: normals of nearly parallel edges lose digits.
#define SPRAG_ACROSS_SQUARE 0.5

// Vertices. Support points of polytopes with at most FEW, or of at most SOME if no vertex is known
// to start from, are found by comparing all vertices; of others by climbing from neighbour to
// neighbour. Decides speed alone.
enum { SPRAG_SUPPORT_FEW = 16, SPRAG_SUPPORT_SOME = 128 };

// ---- polytope.c

// Relative to the size. A face whose plane has vertices on both sides by more makes the polytope
// one without faces. Larger: meshes that are not convex are taken for convex ones.
#define SPRAG_POLYTOPE_PLANAR 1e-6

// rad. Faces whose normals differ by less are one plane of a polytope. Larger: contact points of
// slightly bent faces leave the surface; smaller: pieces of one face give manifolds of their own.
#define SPRAG_POLYTOPE_FLAT 1e-9

// Square of a sine. A corner of an outline that turns by less is dropped. Larger: outlines lose
// corners.
#define SPRAG_OUTLINE_STRAIGHT 1e-24

// ---- tree.c

// Boxes in a leaf. Decides speed alone.
enum { SPRAG_TREE_LEAF = 4 };

// ---- gjk.c

// Iterations, and iterations when a core is a cylinder (whose support points converge slowly, so
// that cylinders.c takes over). More: slower where the search stalls; fewer: cores of many vertices
// end as SPRAG_GJK_NEAR.
enum { SPRAG_GJK_ITERATIONS = 64, SPRAG_GJK_CURVED = 12 };

// Iterations after the bounds of the distance agree to rounding, which improve the normal. Fewer:
// normals may be exact to half the digits only.
enum { SPRAG_GJK_TURNS = 4 };

// rad. A new vertex that turns the normal by less ends the search. Larger: less exact normals.
#define SPRAG_GJK_TURN 1e-13

// ---- epa.c

// Vertices of the polytope. Fewer: penetrations of round shapes keep a larger error.
enum { SPRAG_EPA_VERTICES = 256, SPRAG_EPA_FACETS = 2 * SPRAG_EPA_VERTICES };

// Relative to the size. A facet that is nearer to a curved surface is refined by cylinders.c.
// Larger: fewer facets, but Newton's method starts farther from its solution.
#define SPRAG_EPA_NEAR 1e-3

// Cosine between a facet's normal and the normals that this refinement may return. Smaller: it may
// find a maximum that belongs to another facet.
#define SPRAG_EPA_AROUND 0.97

// ---- cylinders.c, slab.c, slab_points.c

// Slabs kept as equally high; Newton steps; halvings of one step. Fewer: searches end without their
// maximum.
enum { SPRAG_SLABS_MAX = 256, SPRAG_SLAB_NEWTON = 48, SPRAG_SLAB_HALVINGS = 24 };

// Halved steps without progress that end a search, apart and inside EPA (which asks often and is
// not more exact itself). Fewer: faster, less exact.
enum { SPRAG_SLAB_STALLS = 6, SPRAG_SLAB_STALLS_INSIDE = 2 };

// New starts on the other side of a cylinder's axis; cutting planes. Fewer: more pairs fall back to
// GJK's and EPA's accuracy.
enum { SPRAG_SLAB_RESTARTS = 2, SPRAG_SLAB_CUTS = 32 };

// Cosine of the first guess with a cylinder's axis up to which its side is tried before its caps.
// Whichever is tried first, the search ends at the same slab.
#define SPRAG_SLAB_ACROSS 0.1

// rad from the axis of a cylinder. Normals that are nearer than NEAR_AXIS are tried across the
// axis, from CROSS down to CROSS_LEAST. A normal nearer than AT_AXIS is the axis: a cap's slab.
#define SPRAG_SLAB_NEAR_AXIS 1e-3
#define SPRAG_SLAB_CROSS 0.5
#define SPRAG_SLAB_CROSS_LEAST 1e-9
#define SPRAG_SLAB_AT_AXIS 1e-12

// rad. Newton steps that are shorter are taken although heights cannot tell progress from rounding.
// Larger: may drift off the maximum; smaller: normals keep half the digits.
#define SPRAG_SLAB_TRUSTED 1e-6

// ---- boxes.c

// Sine of the angle of two edges. Below, their separation is taken from the corners, because
// products of the rotations lose digits. Larger: slower; smaller: less exact.
#define SPRAG_BOXES_SHALLOW 1e-3

// ---- core_gap.c, gap.c: errors relative to size and distance

// An error above it makes the search try a second algorithm. Smaller: slower at no gain.
#define SPRAG_GAP_EXACT 1e-12

// An error above it is reported as SPRAG_NOT_CONVERGED; nearest points that miss by more are
// replaced. Larger: worse contact points are accepted silently.
#define SPRAG_GAP_TOLERABLE 1e-9

// Relative to the size. Overlaps smaller than SHALLOW may be left to cylinders.c (GJK may not have
// seen the overlap yet). Lower bounds below UNSURE send an unfinished GJK search to EPA. Faces
// whose gap is within SLACK of the distance may supply the nearest points.
#define SPRAG_GAP_SHALLOW 1e-7
#define SPRAG_GAP_UNSURE 1e-6
#define SPRAG_GAP_SLACK 1e-6

// Multiple of the size from which on bodies are far apart: the normal is then computed about the
// centres of the cores. Larger: normals of distant pairs lose digits.
#define SPRAG_GAP_FAR 4

// Units of sprag_gap.work in an iteration of GJK. Measured: 310 of the processor's cycles, a height
// of a slab 65 to 90. Larger: budgets of searches that end early are spent earlier.
enum { SPRAG_GAP_GJK_WORK = 4 };

// Cosine between the normal and a cylinder's axis from which on its cap, not its side, touches.
#define SPRAG_GAP_CAP 0.9

// ---- triangle_gap.c

// Newton steps along an edge. Fewer: more pairs need a search.
enum { SPRAG_RIM_STEPS = 32 };

// ---- manifold.c

// Corners of a face that are used (others are skipped evenly); points that stand for a rim. More:
// slower, finer manifolds of round or many-sided faces.
enum { SPRAG_FACE_CORNERS = 32, SPRAG_RIM_POINTS = 8 };

// rad. Edges at a smaller angle touch along a line (two points), at a larger one at their crossing.
#define SPRAG_EDGES_PARALLEL 0.05

// rad. A cylinder's axis that is nearer to the normal has no foremost rim point: its rim points
// start at the local x axis. Smaller: rounding turns the rim points.
#define SPRAG_RIM_UPRIGHT 1e-9

// Least cosine between the normal and that of the reference face. Smaller: heights above a steep
// face are exaggerated; larger: leaning faces lose their manifold.
#define SPRAG_FACE_UPRIGHT 0.02

// Relative to the width of a face. Corners that are nearer to each other are one.
#define SPRAG_CORNERS_TOGETHER 1e-9

// ---- triangle.c

// 1 - cosine. A gap whose normal is so near to that of the front stays as it is.
#define SPRAG_TRIANGLE_ALONG 1e-12

// Cosine and ratio of depths. A shape that leaves a triangle sideways (cosine above BACK) is left
// alone if the way out by the front is more than LONGER times as deep: it is over an edge, not
// behind the triangle. One that leaves it backwards may have come through a thin wall unless the
// way by the front is so long. Larger LONGER: shapes at the rim of a mesh are lifted onto it;
// smaller: more fast shapes pass thin walls.
#define SPRAG_TRIANGLE_BACK (-0.5)
#define SPRAG_TRIANGLE_LONGER 10

// Relative to its width, for the methods: a shape that lies on the back of a triangle reaches
// through it by less. Larger: shapes that are deep in a mesh, in front of its triangles, leave it
// by the back; smaller: those that a program places a little too deep on a back fall through.
#define SPRAG_TRIANGLE_LAID 0.05

// Sine. Triangles that rise above a plane by a smaller angle are in it. Greater: bodies that land
// roll away, and slide over edges that they should catch; smaller: rounding.
#define SPRAG_TRIANGLE_FLAT 1e-6

// Share of a triangle's area that those which it replaces may leave empty. Greater: what is
// certified goes over a hole; smaller: rounding.
#define SPRAG_TRIANGLE_FILLS 1e-9

#endif
