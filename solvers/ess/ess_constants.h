// The tuning numbers of the integrator of event-selected systems: each with its unit and the effect
// of a change. Users' numbers are in sprag_ess_options.
#ifndef SPRAG_ESS_CONSTANTS_H
#define SPRAG_ESS_CONSTANTS_H

// ---- memory

// Events that one projection or step may resolve together, at most and at first; doubles for their
// kinks of many states, and the least number of events nevertheless. Fewer: more evaluations of f;
// more: memory.
enum { SPRAG_ESS_GROUP = 1024, SPRAG_ESS_GROUP_FIRST = 8 };
enum { SPRAG_ESS_GROUP_DOUBLES = 1 << 16, SPRAG_ESS_GROUP_LEAST = 8 };

// Guards of one corner of the B-derivative. A longer chain of events becomes several corners.
enum { SPRAG_ESS_CORNER = 128 };

// Samples within a step, most that options may ask for.
enum { SPRAG_ESS_SAMPLES = 8 };

// ---- bands

// Factor of eps. A band extends so far, so that a point found as the root of h = -eps is inside it.
// 1: rounding decides whether it is.
#define SPRAG_GUARDS_EDGE (1 + 1e-6)

// ---- the step-size controller (Hairer, Norsett, Wanner: Solving Ordinary Differential Equations
// I, section II.4): factor = SAFETY error^(-1/order), from SHRINK to GROW

#define SPRAG_ESS_SAFETY 0.9
#define SPRAG_ESS_SHRINK 0.2
#define SPRAG_ESS_GROW 10

// Error (1 is the tolerance) below which it has no more influence.
#define SPRAG_ESS_ERROR_LEAST 1e-10

// The first step where options leave it open: FIRST_PART |x| / |f| in units of the tolerance; if
// either is below FIRST_LEAST, FIRST_STEP s. Larger: rejected steps; smaller: more steps.
#define SPRAG_ESS_FIRST_PART 0.01
#define SPRAG_ESS_FIRST_LEAST 1e-5
#define SPRAG_ESS_FIRST_STEP 1e-6

// Relative to the step. A step that ends so near to the end of the integration is made to end
// there.
#define SPRAG_ESS_SLIVER 1e-6

// Multiple of the time to an event, and part of the step, that the next step has at least after an
// event that cut a step. Smaller: slow after single events; larger: rejected work where events are
// frequent.
#define SPRAG_ESS_AFTER_EVENT 4
#define SPRAG_ESS_AFTER_PART 0.2

// ---- the scan

// Part of the longest step. A shorter way does not tell the rates of guards: an earlier point is
// kept for that.
#define SPRAG_ESS_SHORT_WAY 0.1

// Multiple of the step. Guards that the flow reaches in this time at the rate of the way so far are
// looked at. Larger: slower; below 1: projections are missed.
#define SPRAG_ESS_LOOKAHEAD 1.25

// ---- projections and groups of events

// Guards that are looked at where one event is resolved at a time (their order is only an
// estimate), and the multiple of the first one's time after which no more are.
enum { SPRAG_ESS_SOME = 4 };
#define SPRAG_ESS_SOME_TIME 2

// Part of the rate. A projection whose rate changes by more is refused as grazing; a parabola's
// rate changes by 1/4 when its top is on the guard. Larger: less exact projections.
#define SPRAG_ESS_GRAZING_CHANGE (1.0 / 8)

// Candidates below which all are kept active; part of the mean rate below which one is always kept
// active. Decide speed alone.
enum { SPRAG_ESS_FEW = 12 };
#define SPRAG_ESS_SLOW_RATE 4

// Newton steps for the time of a further event of a group, and their tolerance as a part of the
// piece (they converge quadratically).
enum { SPRAG_ESS_REFINEMENTS = 4 };
#define SPRAG_ESS_REFINED 1e-6

// Parts of a piece, spans of difference quotients: for the velocity at its end, for the rate of an
// event. Larger: truncation errors; smaller: rounding errors.
#define SPRAG_ESS_SPAN_END 1e-4
#define SPRAG_ESS_SPAN_RATE 1e-5

// ---- roots within a step, in parts of the step

// Tolerances of roots. ROUGH: of events of a group other than the first, which are refined later.
#define SPRAG_ESS_EXACT 1e-9
#define SPRAG_ESS_ROUGH 1e-4

// Secants, then bisections. Fewer: slower at guards that are nearly linear; more: at those that jump.
enum { SPRAG_ESS_SECANTS = 12 };

// A root just behind the last event is searched from BEHIND on if h there is below JUST of its
// value at the other end: it is rounding at first.
#define SPRAG_ESS_BEHIND 1e-6
#define SPRAG_ESS_JUST 1e-9

// Secants end if the change is at most SETTLED of the last one, and the next one, predicted with a
// margin of MARGIN, is within the tolerance.
#define SPRAG_ESS_SETTLED 0.01
#define SPRAG_ESS_MARGIN 10

// Guards whose estimate is later than the first root by more are not solved if one event is
// resolved at a time.
#define SPRAG_ESS_LATER 0.01

// The search for a touch between samples: points, and levels of refinement. More: shorter touches
// are found, at more values of h.
enum { SPRAG_ESS_TOUCH_POINTS = 8, SPRAG_ESS_TOUCH_LEVELS = 6 };

// ---- guards with a bound on their speed

// Halvings of a step in the search for the first crossing, most. Fewer: crossings are missed that
// lead further beyond than the tolerance.
enum { SPRAG_ESS_HALVINGS = 64 };

#endif
