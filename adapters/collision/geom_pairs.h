// Pairs of ODE's geoms that may come near each other within a step, as convex shapes in poses for
// sprag_gap_find. The search follows ODE's rules of which geoms collide. It uses bounding boxes of
// its own, which are wider than ODE's by the motion in the step.
#ifndef SPRAG_GEOM_PAIRS_H
#define SPRAG_GEOM_PAIRS_H

#include "frame.h"
#include "gap.h"
#include "geoms.h"
#include "scratch.h"
#include "spaces.h"
#include "touch.h"

// Bounds of the motion of a body within the step; set by ode_motion_fn.
typedef struct ode_motion {
    double shift[3], turn[3]; // m, rad, by which its centre goes, and it turns, evenly, if nothing
                              // changes that
    double slack, swerve;     // m, rad, by which it may stray from there, in any direction
    int mover;                // its number, for the caller
} ode_motion;

// false: the body does not move in this step.
typedef bool ode_motion_fn(void *data, dBodyID body, ode_motion *motion);

// A pair; set by the search.
typedef struct ode_pair {
    const ode_geom *side[2];   // as they are at the time of the search; side 0 moves, if the pairs
                               // were found for a step
    sprag_pair_memory *memory; // from the last time that this pair was found; NULL: of no search
    int call;                  // index of the call that asks about it; of several, the last
    int first;                 // the side whose geom the program's callback gets first
} ode_pair;

typedef struct ode_pairs { // in scratch; set by the search
    int count, room;
    ode_pair *pair;
    int sides;            // numbers of their geoms and triangles are below this
    int unknown;          // geoms of classes that sprag has no shape for
    dGeomID unknown_geom; // the last of them
    dGeomID crowded[2];   // the first two with too many triangles: they have no pair; NULL: none
} ode_pairs;

// ---- pairs.c: the search

// All pairs whose boxes, each wider by margin / 2 (m), may overlap as the bodies move relative to
// each other; tilted planes have no box, their pairs are those that the other box may reach. The
// order follows from the program's calls and spaces. motion: NULL if nothing moves. again: the
// pairs of the last search are in use; it leaves their memories alone, and memory is NULL of a pair
// that the last search has not found. SPRAG_OK or SPRAG_NO_MEMORY.
sprag_result sprag_ode_find_pairs(ode_geometry *geometry, const ode_collision *calls, int count,
                                  ode_motion_fn *motion, void *data, double margin, bool again,
                                  sprag_scratch *scratch, ode_pairs *pairs);

// first, second: the geoms of a pair as the callback of the call would get them.
typedef void ode_met_fn(void *data, dGeomID first, dGeomID second);

// Widens the box (m) of a geom by its reach.
typedef void ode_reach_fn(void *data, dGeomID geom, double bounds[6]);

// Calls back for the pairs of one call, by ODE's bounding boxes widened by `reach`; the geoms are
// not read. apart: not for those whose own boxes overlap. false: no memory.
bool sprag_ode_meet(ode_geometry *geometry, const ode_collision *call, bool apart,
                    ode_reach_fn *reach, ode_met_fn *met, void *data, sprag_scratch *scratch);

// Reads two geoms, whatever their bits and bodies. SPRAG_BAD_PROBLEM: one has no shape, or ODE has
// no collider for the two.
sprag_result sprag_ode_two_geoms(ode_geometry *geometry, dGeomID a, dGeomID b, ode_geom geom[2]);

// The pair of such two; of a mesh, the pairs with triangles within `margin` (m) of the other geom.
// side[0] is of the first. No memories.
sprag_result sprag_ode_pairs_of_two(ode_geometry *geometry, dGeomID a, dGeomID b, double margin,
                                    sprag_scratch *scratch, ode_pairs *pairs);

// Takes the last search back: the next one finds the memories that it has found.
void sprag_ode_pair_memories_undo(ode_geometry *geometry);

// ---- mesh_sides.c

// sprag_gap_find for a pair. A shape that overlaps a triangle of a mesh is pushed out of the
// triangle's front.
sprag_result sprag_ode_gap(const ode_pair *pair, const sprag_gap_query *query, sprag_gap *gap,
                           sprag_manifold *manifold);

// ---- collide_within.c

// m, the largest side of the smaller bounding box; a plane's has no end.
double sprag_ode_size_of_smaller(dGeomID a, dGeomID b);

// The last step of two geoms: its contacts tell from which side a body has come to a triangle.
typedef struct ode_last_step {
    double length;               // s; 0: there was none
    const double (*normal)[3];   // unit, of the contacts, into the first geom
    const double (*position)[3]; // m, world axes
    int contacts;
} ode_last_step;

// m. Geoms touch at points up to `touching` apart: their depth is 0 where they do not overlap. Two
// shapes that had more contacts in the last step have gaps in their place, behind the others, at
// points up to `gaps` apart; their depth is negative.
typedef struct ode_reach {
    double touching, gaps;
    int points; // at most
} ode_reach;

// Work of searches for touches. Two geoms take no more than a quarter of what is left.
typedef struct ode_search {
    int left; // advances in time, each of a gap, that may still be made
    int end;  // of those, what two geoms have to leave
    long cut; // pairs of geoms for which these were not enough, so far
} ode_search;

// A step to come, for geoms that may meet in it.
typedef struct ode_ahead {
    double step;        // s
    double fall;        // m, by which weight alone may bring geoms nearer
    double rebound;     // m/s, that their bodies may gain where the last step has stopped them
    ode_search *search; // of triangles
} ode_ahead;

// dCollide with contacts at all points within reach and, unless ahead is NULL, those of
// sprag_ode_speculate() behind them. -1: stock is to answer, because a geom has no shape or the
// kernel cannot use its numbers.
int sprag_ode_collide_within(ode_geometry *geometry, sprag_scratch *scratch, dGeomID a, dGeomID b,
                             const ode_reach *reach, const ode_last_step *last,
                             const ode_ahead *ahead, int flags, dContactGeom *contact, int skip);

// ---- speculate.c

// dCollide for geoms where they do not overlap, but may within the next step: contacts as they are
// at its start. Their depth is negative, minus the way along the normal that is left. found: the
// contacts that are known; further ones are put behind them, up to `most`. Returns the number of
// these.
int sprag_ode_speculate(ode_geometry *geometry, sprag_scratch *scratch, dGeomID a, dGeomID b,
                        const ode_ahead *ahead, int most, dContactGeom *contact, int skip,
                        int found);

// Whether two geoms that turn, or that something has turned aside, get well into one another within
// a step (s) in which their bodies have these velocities (NULL: does not move), farther than when
// it starts. aside: their contacts do not keep them apart then (ODE_SIDE_ASIDE). false, too, where
// the search has not enough work to tell.
bool sprag_ode_touch_ahead(ode_geometry *geometry, sprag_scratch *scratch, const dGeomID geom[2],
                           const double *const velocity[2], double step, bool aside,
                           ode_search *search, ode_touch *touch);

// Widens a geom's box to where it may be in the step.
void sprag_ode_sweep_bounds(dGeomID geom, const ode_ahead *ahead, double bounds[6]);

#endif
