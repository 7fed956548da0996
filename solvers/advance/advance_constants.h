// Numbers that decide how much conservative advancement costs and how it approximates. Each says
// its unit and what a larger value does.
#ifndef SPRAG_ADVANCE_CONSTANTS_H
#define SPRAG_ADVANCE_CONSTANTS_H

// ---- budgets

// Work of a frame of one body, in products of 6x6 blocks, that locates events, and what each
// contact point at its start takes from that, because one exact solve of many contacts takes longer
// than all that a coarse plan does. Groups of n bodies have 1/n of it: of what bodies that collide
// with one another do, the events of the frame decide little, and each takes 2 to 4 solves of them
// all. Larger, and smaller: more impacts have their own sub-step, heaps that collapse take longer.
static const double ADVANCE_EXACT_WORK = 5e4, ADVANCE_POINT_WORK = 3e3;

// Sub-steps of a frame that are aimed at: this many divided by the number of bodies, bounded by the
// second. Larger: shorter sub-steps where many events come; more time.
enum { ADVANCE_SUBSTEPS_OF_BODIES = 200, ADVANCE_MOST_SUBSTEPS = 100 };

// Work of a frame of 20 bodies, on the same scale, before solves are a few sweeps; share of it that
// this may take, before what is left of the frame is left out as stalled. Larger: jammed bodies
// with many contacts cost more. Smaller: 3e5 makes dominoes stall for 0.5 % of the time.
static const double ADVANCE_WORK = 7e5, ADVANCE_EXTRA_WORK = 0.5;
enum { ADVANCE_WORK_BODIES = 20 };

// Share of a frame's work that goes to events, to a bound of the error, or to sub-steps that the
// options ask for. Larger: the rest of the frame, planned at once, has too little to keep bodies
// that touch apart, and they stand still.
static const double ADVANCE_FINE_WORK = 0.3;

// Work of a look at a pair, at its certificate and at an expansion in it, on the same scale. They
// decide only what share of the work is theirs.
static const double ADVANCE_LOOK_WORK = 1;
static const double ADVANCE_CERTIFICATE_WORK = 10, ADVANCE_EXPANSION_WORK = 12;

// The same of a gap and its points where a shape is a polytope, beside the searches: 850 ns between
// triangles, as measured. It counts only for what the frame may take in all. Smaller: frames of ten
// thousand triangles that joints swing take 0.2 s.
static const double ADVANCE_POLYTOPE_WORK = 20;

// Share of the sub-steps aimed at: a shorter one is not planned.
static const double advance_whole_share = 0.999;

// Stalled sub-steps of a frame, before the rest of the frame is left out. Larger: jammed bodies
// cost more.
enum { ADVANCE_MOST_STALLS = 3 };

// ---- contacts

// Epsilon: a pair that blocks from no higher than this many gets a speculative contact; a higher
// one ends the sub-step. Larger: fewer sub-steps, contacts earlier.
enum { ADVANCE_BAND = 20 };

// The same of triangles of meshes. Larger: fewer sub-steps, bodies that roll over fine meshes lose
// speed.
enum { ADVANCE_FACET_BAND = 2 };

// Share of the larger radius: contact points may be no farther apart than this, however fast an
// active pair turns. Larger: rolling bodies keep contacts across wider gaps.
static const double advance_rolling_reach = 0.02;

// Share of the approach along the nearest normal: a face counts as the contact's only if bodies
// approach it slower by this. Larger: more contacts on edges.
static const double advance_face_margin = 1e-3;

// Faces of a shape that are tried for that. Larger: polytopes of more faces slide across edges
// smoothly; more time.
enum { ADVANCE_MOST_FACES = 64 };

// The manifold margin as a multiple of the reach of contact. Larger: more points.
static const double advance_manifold_margin = 1.5;

// Share of the level: a gap below this is an overlap. Larger: rounding counts as overlap.
static const double advance_overlap_level = 0.025;

// Share of the level: certificates of bodies that fit tightly keep at least the first, which is
// more than what counts as overlap, and this much of the second below the gap. Larger: tight bodies
// jam; less room for rounding.
static const double advance_least_level = 0.05, advance_level_margin = 0.001;

// Share of the level: motion that curves by less within the sub-step is straight. Larger: dips of
// bodies that hardly turn are not seen.
static const double advance_straight = 1e-6;

// Share of the radius: a point of contact so near the lowest one of a rim is that one. Cosine: the
// lowest point of a rim may go so far along it in a sub-step, and is still met by the same contact.
// Smaller: fewer sub-steps; cylinders that rock are held up by the side that they leave.
static const double advance_rim_slack = 1e-7, advance_rim_ahead = 0.9;

// ---- swings (loads.c)

// rad within the sub-step, of the rate at which joints under load turn a body. At 2 chains gain
// energy. Larger: fewer sub-steps; smaller: more exact.
static const double advance_load_turn = 1.4;

// rad within the sub-step, that a body under load turns where its group settles and inertia takes
// the place of shorter sub-steps; share of its turn that this inertia keeps. Larger turn: fewer
// sub-steps, joints that open farther; larger share: small swings keep their energy (0.9: half of
// a degree under 500 times the weight loses 5 % in 20 s), bridges and nets come to rest later.
static const double advance_slow_turn = 0.03, advance_kept_turn = 0.9;

// rad within the frame: forces act on bodies that turn farther for the whole sub-step, and not up
// to its middle. Larger: forces that have changed by then.
static const double advance_middle_turn = 1;

// Relative to a body's inertia: no more is added. Joints that contradict one another have forces
// without bound, and more of it is not solved together with them.
static const double advance_most_added = 1e5;

// Share of the kinetic energy of an assembly: its joints keep the tangents where chords would win
// more. They do where joints contradict one another, as in a straight bridge, and what they move
// then cannot be taken back. Larger: such joints open; smaller: swings on taut joints lose energy.
static const double advance_chord_gain = 0.1;

// rad within the sub-step, of a body on a kinematic one that moves. At 0.3 capsules that topple on
// a fast ball are thrown twice as far. Larger: fewer sub-steps; smaller: more exact.
static const double advance_driven_turn = 0.15;

// ---- impacts (impact.c)

// Rounds of impacts at the start of a sub-step beyond one for each contact, which is what a row of
// elastic bodies takes to pass an impact on. Larger: impacts that go back and forth pass further.
enum { ADVANCE_IMPACT_ROUNDS = 20 };

// m/s: contacts that separate faster do not take part in an impact, and bodies that approach an
// edge more slowly are at rest. Larger: rounding of bodies at rest counts less, impacts gain more
// energy, slow bodies stop at steps of a tenth of a micrometre.
static const double advance_touching_speed = 1e-6;

// ---- one attempt (plan.c)

// Passes of solve, certify and new contacts, and passes without progress. Larger: fewer sub-steps
// that end early, more solves.
enum { ADVANCE_PASSES = 12, ADVANCE_PATIENCE = 3 };

// Factor that the safe time must grow by to count as progress.
static const double advance_progress = 1.1;

// Lengths that are tried for a sub-step that an event ends. Larger: the sub-step ends closer to the
// event.
enum { ADVANCE_LENGTHS = 6 };

// Epsilon: a sub-step that an event ends may end so much before it. Larger: fewer solves, contacts
// farther apart when they are made.
static const double advance_event_height = 0.1;

// Share of the safe time: a sub-step may end so much behind the stop of a joint.
static const double advance_past_stop = 1e-6;

// Share of the length: forces may act for so much longer than bodies move. Larger: stalls give
// bodies more speed.
static const double advance_idle_share = 1e-3;

// Plans of a sub-step, each as short as the last one was safe.
enum { ADVANCE_PLANS = 4 };

// ---- solve

// Friction over normal force: a point with more has friction without being pressed on, and loses
// it. Larger: bonds hold where bodies hardly touch.
static const double advance_steepest_friction = 1e3;

// Share of the momentum: an impulse below it is rounding. Larger: light touches have no friction.
static const double advance_rounding = 1e-10;

// Parts of the difference to the last force by which an expected force changes, in turn, and the
// share of the force up to which it changes by half. Larger parts: heaps at rest alternate between
// two states; smaller: forces at rest take longer to be exact. Larger share: the states differ by
// it.
static const double advance_bound_parts[2] = {0.7, 0.2}, advance_bound_error = 0.02;

// Rows that a body may get so as not to turn too fast. Larger: a cap on turning holds more exactly.
enum { ADVANCE_CAP_ROWS = 3 };

// Products of blocks by contact and row that a factorization may take where a coarse plan settles,
// and sweeps of a solve elsewhere; the projection of a motion takes half as many. Larger: more
// exact, slower.
static const double advance_settled_work = 10;
enum { ADVANCE_SWEEPS = 60 };

// Share of what contacts yield to the force that they expect, where their bodies move on one
// another: it is made up for by speed. At rest it is all, so that what is wedged does not creep.
// Larger: a force by which bodies that fill their place press on one another lasts longer (0.99999:
// a marble takes 15.4 instead of 14.3 s down a groove); smaller: bodies sink, and are lifted, more
// often.
static const double advance_kept_yield = 0.999;

// Inverse mass along a contact: what the spring that opens its gap yields; and share of the load of
// the contact that the spring bears where that is stiffer. Larger yield, smaller share: gaps open
// more slowly, and contacts under much larger loads overlap by rounding meanwhile. Smaller yield,
// larger share: bodies that fill their place tremble.
static const double advance_opening_yield = 1, advance_opening_load = 0.02;

// Share of the gap that contacts aim at: one that lacks less is left alone. Larger: fewer solves
// for the push, gaps of bodies at rest that differ more.
static const double advance_gap_tolerance = 0.1;

// Multiple of the fastest push: no body is pushed out of an overlap faster. Larger: bodies between
// fixed ones move farther.
static const double advance_push_limit = 4;

// ---- projection of the motion (coarse.c)

// Solves of a sub-step, rounds of projection after each, and the rounds in which sweeps are enough:
// where there are joints the others are exact. Larger: more contacts are found before bodies are
// slowed down; with all rounds by sweeps, loops of joints on wheels stand still now and then.
enum { ADVANCE_COARSE_SOLVES = 4, ADVANCE_ROUNDS = 12, ADVANCE_SWEPT_ROUNDS = 3 };

// Share of a gap below the target that a motion may close.
static const double advance_closing_share = 0.25;

// Epsilon: a body may be moved so much farther than the fastest of its group. Larger: bodies that
// cannot all stay apart are moved farther.
static const double advance_farther = 3;

// ---- slowing down (coarse.c)

// Rounds; what still blocks after them ends the sub-step.
enum { ADVANCE_SLOW_ROUNDS = 200 };

// Share of the path: bodies that would go less stop. Larger: fewer rounds.
static const double advance_least_share = 1e-3;

// Share of the safe time that both bodies may go.
static const double advance_time_share = 0.999;

// ---- meshes (mesh.c)

// m and 1: points and normals so near each other are one.
static const double advance_same_point = 1e-7, advance_same_normal = 1e-6;

// Cosine: two triangles that face each other by more can have passed through each other.
static const double advance_facing = 0.9;

// Points of a body and a mesh, of which no more are looked through for what is within an outline.
// Larger: more contacts.
enum { ADVANCE_MANY = 16 };

// ---- error control (error.c)

// Share of the rest of the frame: a suggested sub-step that is longer takes all of it.
static const double advance_nearly_all = 0.8;

// Share of the allowed error: below it the next sub-step is twice as long.
static const double advance_error_slack = 0.4;

#endif
