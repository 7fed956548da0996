// Tuning constants of the compliant method: unit, meaning, and the effect of a change.
// "Evaluations" are units of work: the evaluation of one pair of balls.
#ifndef SPRAG_COMPLIANT_CONSTANTS_H
#define SPRAG_COMPLIANT_CONSTANTS_H

// ---- laws (law.c, contact.c)

// Relative to the fastest motion: slip that counts as sticking where neither options nor surface
// give one. Larger: friction creeps faster. Smaller: friction is stiffer, more frames switch to the
// implicit step.
static const double COMPLIANT_STICTION = 5e-3;

// Relative to inertia times spin squared: smaller gyroscopic torque is rounding. Larger: spin that
// is kept though it changes.
static const double COMPLIANT_EVEN_TURN = 1e-14;

// Largest dissipation number d u that the search for a restitution tries. Larger: a restitution
// below 1 / 400 is matched too.
static const double COMPLIANT_DISSIPATION_MAX = 400;

// Range in which a constant push corrects the restitution to first order: least restitution, and
// largest push relative to the force of the impact. Wider: corrections where first order is wrong.
static const double COMPLIANT_PUSH_RESTITUTION_MIN = 0.2, COMPLIANT_PUSH_MAX = 0.3;

// Relative to the depth of a bounce: points this near to one another touch together and share the
// mass. Larger: points that touch later count too, and rebounds of uneven contacts are less
// accurate.
static const double COMPLIANT_SAME_TIME_DEPTH = 0.02;

// Relative to the deepest point of a contact: depth from which a point has its full damping force.
// Larger: smoother forces, less damping. Smaller: forces jump more, the integrator takes more
// steps.
static const double COMPLIANT_FULL_DAMPING_DEPTH = 0.1;

// Relative to the width of a contact: points nearer together share the force of one. Larger: softer
// contacts of faces with short edges. Smaller: forces change faster when faces turn against each
// other.
static const double COMPLIANT_POINTS_TOGETHER = 0.1;

// Sine of the angle that the boundary of a contact turns at a corner which has the force of a
// point. Larger: softer contacts of faces with many corners. Smaller: forces change faster when
// faces turn against each other.
static const double COMPLIANT_FULL_CORNER = 0.7;

// Turn of a body over the length of the chord between its unit quaternions, an upper bound (2 to
// first order). Smaller than 2: gaps are overestimated and touches missed. Larger: more
// evaluations.
static const double COMPLIANT_TURN_PER_CHORD = 2.1;

// m: a point this near to a triangle is on it (distance.c). Larger: corners of small triangles
// share what is apart. Smaller: points on a shared edge have two contacts by rounding.
static const double COMPLIANT_SHARED_POINT = 1e-9;

// Cosine by which the normal of a contact may differ from that of a triangle's front. Larger: edges
// in a plane are felt.
static const double COMPLIANT_ON_FRONT = 1e-9;

// ---- rigid contacts that hold (hold.c)

// Relative to the fastest motion: a point that approaches or separates faster does not hold.
// Larger: rebounds that are lost. Smaller: contacts that errors of the integration break.
static const double COMPLIANT_REST_SPEED = 1e-4;

// Times this speed: points of pairs that hold may approach or separate so fast between two events.
// Larger: points that land have forces before they touch. Smaller: forces that jump.
static const double COMPLIANT_REST_WIDENING = 100;

// Times the tolerance: speeds of bodies at rest, relative to the fastest motion. Larger: slower
// motions end. Smaller: bodies at rest cost steps of the integrator.
static const double COMPLIANT_RESTING_ERRORS = 10;

// Points that hold at once. More: frames with large heaps take longer before the implicit step.
enum { COMPLIANT_HELD_MAX = 256 };

// Relative to the inverse mass, times T: yield of a point that holds. Larger: bodies at rest sink
// deeper (at 1e-5 by 1e-9 m). Smaller: Newton's method takes more updates to find the points that
// push.
static const double COMPLIANT_HELD_SOFTNESS = 1e-7;

// Relative to the impulses, and to the tolerance: residual of the solve for their forces. Smaller:
// more updates (at 1e-4 a sixth more work). Larger: the integrator takes small steps for their
// noise.
static const double COMPLIANT_HELD_TOLERANCE = 1e-2;

// Products of 6x6 blocks for the forces of points that hold in a frame. Larger: slower frames
// before the implicit step takes over.
static const double COMPLIANT_HELD_WORK = 4e5;

// Evaluations from an event on for which forces are not found, after which the integration ends.
// More: more work in frames that meet a state without forces. Fewer: more frames are left to the
// implicit step.
enum { COMPLIANT_LOST_MAX = 4 };

// ---- impacts (impact.c)

// Frames: a rebound that would last less is none, so that the pair rests. Longer: bouncing ends
// earlier. Shorter: more events before the end of bouncing.
static const double COMPLIANT_SHORTEST_FLIGHT = 0.01;

// Relative to the fastest motion: slower points do not approach. Larger: impacts that are left
// over. Smaller: more waves.
static const double COMPLIANT_IMPACT_SPEED_MIN = 1e-8;

// Times what the least speed and the tolerance are in a frame: pairs that have touched overlap by
// so much until they impact again. Larger: later impacts. Smaller: impacts by rounding errors.
static const double COMPLIANT_TOUCH_SLACK = 10;

// Times the distance at which pairs touch: motion that must close a gap as its normal says, else
// there is no impact. Larger: grazing impacts are lost. Smaller: edges that are level are hit.
static const double COMPLIANT_PASSING = 3;

// Times the way of two bodies that nothing touches: bound of how fast their gap may change. Larger:
// more evaluations for shapes that are thin and fast. Smaller: frames of joints that whip fail.
static const double COMPLIANT_RATE_MARGIN = 2;

// Relative to the width of a pair that may pass through one another between two samples: an overlap
// that the search for it may miss. Larger: edges that are hit in passing are missed. Smaller:
// evaluations, by its inverse, of gaps that stay near 0.
static const double COMPLIANT_UNSEEN = 0.01;

// Relative to the inverse mass: yield of contacts and rows in an impact. Larger: a rebound that is
// too slow. Smaller: impulses on many points at once cannot be solved.
static const double COMPLIANT_IMPACT_SOFTNESS = 1e-10;

// Relative to the impulses: residual of the solve. Relative to the fastest motion: slip that counts
// as sticking. Smaller: more iterations.
static const double COMPLIANT_IMPACT_TOLERANCE = 1e-10, COMPLIANT_IMPACT_STICTION = 1e-6;

// Relative to the work of impulses without restitution: work beyond is energy from nothing. And
// halvings of the range of the restitution without it. Larger, or fewer: less exact energy.
static const double COMPLIANT_IMPACT_ENERGY = 1e-7;
enum { COMPLIANT_IMPACT_HALVINGS = 30 };

// Evaluations of a gap for the time of a touch in flight. More: grazing touches that take longer.
enum { COMPLIANT_FLIGHT_ITERATIONS = 60 };

// Restitution below which a pair at rest passes an impulse on at once. Larger: rows of bodies that
// bounce less well. Smaller: impacts on stacks take hundreds of waves.
static const double COMPLIANT_WAVE_RESTITUTION = 0.5;

// Waves of an impact, after which nothing bounces any more. Larger: more work in an impact of many.
enum { COMPLIANT_WAVES_MAX = 1000 };

// ---- implicit steps (implicit_step.c)

// Parts of an implicit step, which impacts end; beyond, nothing bounces. And solves for the length
// of a part. More: work in frames with many impacts beside contacts at rest.
enum { COMPLIANT_PARTS_MAX = 50, COMPLIANT_PART_SOLVES = 10 };

// ---- guards (guards.c, stops.c, switch.c)

// Frames in a row that contacts that hold have ended early and behind which the next is tried.
// More: work in heaps that are never integrated. Fewer: frames that would be integrated go to the
// implicit step.
enum { COMPLIANT_TRIES = 12 };

// Frames: longest series that goes to the implicit step untried, after an integration reached its
// limit. Longer: less work lost on stiff contacts, a later return to the integrator.
enum { COMPLIANT_IMPLICIT_SERIES_MAX = 64 };

// Relative to the overlap that the weight explains: a spring that begins beyond holds instead.
// Larger: made-up stiffnesses throw bodies out faster. Smaller: more springs hold.
static const double COMPLIANT_DEEP_OVERLAP = 1.5;

// Relative to sqrt(tolerance) times the motion left in the frame: depth of the band before a guard
// in which events are found by projection. Larger: more projections are refused. Smaller: more root
// finding.
static const double COMPLIANT_BAND = 0.5;
static const double COMPLIANT_BAND_MIN = 1e-12; // m or rad, least depth; guards against 0

// Relative to tolerance times the motion of a stop's coordinate in the frame, m or rad: an active
// stop counts as reached by so much earlier. Smaller: errors of the integration release resting
// stops.
static const double COMPLIANT_STOP_HYSTERESIS = 10;
static const double COMPLIANT_STOP_HYSTERESIS_MIN = 1e-11; // m or rad

// Relative to the band: a stop this near is reached at the start of a frame; within
// COMPLIANT_STOP_CONTACT it takes part in the impacts of others. Larger: impacts at a distance.
// Smaller: missed ones.
static const double COMPLIANT_STOP_REACHED = 0.01, COMPLIANT_STOP_CONTACT = 0.5;

// Relative to the hysteresis of a stop: a separation that rises less high in the frame is no
// separation. Larger: slow separations are lost. Smaller: stops are left and reached over and over.
static const double COMPLIANT_STOP_FLIGHT = 1e-4;

// Hits of a stop in a frame: beyond the first number it does not bounce, beyond the second the
// frame is declined. Larger: more work in frames with chattering stops.
enum { COMPLIANT_BOUNCES_MAX = 20, COMPLIANT_STOP_HITS_MAX = 40 };

// ---- joint rows (rows.c, row_matrix.c, row_solver.c, start.c)

// Rows and stops of a frame. Larger: the matrix, and the work a step, may grow with the square.
enum { COMPLIANT_ROWS_MAX = 512 };

// 1/frames: rate at which a motor returns to its planned speed. Larger: steps of the integrator get
// unstable.
enum { COMPLIANT_CATCH_UP = 3 };

// Frames: a motor that was hit takes so long at least to its speed. Longer: strong motors lose way.
// Shorter: forces change faster, quadrupeds that trot are integrated whole half as often (at 1e-3).
static const double COMPLIANT_SHORTEST_PULL = 0.1;

// Frames: a motor that has its speed so shortly before the end has it there. Larger: it lags.
// Smaller: steps of the integrator for nothing.
static const double COMPLIANT_PULL_SLIVER = 1e-3;

// Relative to a motor's speeds: a smaller difference from its target is no hit. Larger: weak hits
// are made good over a step. Smaller: rounding.
static const double COMPLIANT_MOTOR_HIT = 1e-9;

// 1/frames: rate up to which the integrator resolves a row's own spring and damper. Larger: more
// steps; smaller: springs that carry what stands on contacts yield too little.
enum { COMPLIANT_RESOLVED = 30 };

// Difference of a normal from that of a face that counts as none. Larger: rates of contacts that
// roll off a face are wrong by so much.
static const double COMPLIANT_SAME_NORMAL = 1e-9;

// Frames: half width of the central difference for rates of rows. Larger: truncation error grows
// with its square. Smaller: rounding error grows with its inverse.
static const double COMPLIANT_ROW_DIFFERENCE = 2e-4;

// Relative to a row's largest entry: a Jacobian by a law is that of the caller; otherwise the
// caller gives rows at every state. Larger: laws that do not hold.
static const double COMPLIANT_SAME_JACOBIAN = 1e-9;

// Relative to the diagonal: compliance of bounded rows at least. Smaller: nearly dependent rows
// cannot be solved. Larger: motors give way.
static const double COMPLIANT_BOUNDED_ROW_SOFTNESS = 1e-10;

// Relative to the diagonal: softness of rows without bounds, which counts where they depend on one
// another. Smaller: parallelograms leave their dead points crossed. Larger: at 1e-6, 1000 kg on a
// chain of 10 links of 1 kg lose 9e-5 of their energy in 3 s, instead of 2e-5.
static const double COMPLIANT_RIGID_ROW_SOFTNESS = 3e-7;

// Relative to the diagonal: smaller pivots mean dependent rows. Larger: solvable frames are
// declined.
static const double COMPLIANT_PIVOT_MIN = 1e-13;

// Relative to the diagonal: with larger pivots the softness of rows does not count, and takes no
// second solution. Larger: more systems take one. Smaller: forces jump where one begins (at 1e-2 by
// 1e-9).
static const double COMPLIANT_HARD_PIVOT_MIN = 1e-2;

// Relative to the right side: excess of a row at its bound that is rounding. Larger: rows stay at
// bounds that they should leave. Smaller: forces of 0 are pivoted without end.
static const double COMPLIANT_EXCESS_ROUNDING = 1e-14;

// Passes of block pivoting without progress before it exchanges rows one by one. Larger: faster on
// average, longer cycles.
enum { COMPLIANT_BLOCK_TRIES = 3 };

// Times the tolerance, of the fastest motion: yields of rows below are errors. And ratio of yields
// beyond which rows contradict one another, so that CFM alone holds them: of rows that hardly
// yield, and, times what they yield by, of those that do. Larger: rows that contradict get forces
// without a bound. Smaller: springs at long levers yield too little.
static const double COMPLIANT_YIELD_MIN = 1e-2, COMPLIANT_CONTRADICTION = 3,
                    COMPLIANT_LEVERAGE = 1e4;

// Share of its response that a row keeps on the way back from its error, else the joint counts as
// too far apart. Larger: more frames are declined.
static const double COMPLIANT_SAME_ROW = 0.9;

// rad: turns of a body below are never too far; a stop that is passed by more is an angle that has
// wrapped around.
static const double COMPLIANT_SMALL_TURN = 0.02, COMPLIANT_WRAPPED_TURN = 0.3;

// ---- work and switching (budget.c, switch.c)

// Evaluations: cost of the evaluation of a shape of flat faces or of a cylinder, of a box or
// capsule (the cost of a pair is the product of both; a ball or plane costs 1). Measured; larger:
// frames with such shapes reach their limit of work earlier.
static const double COMPLIANT_COST_HULL = 10, COMPLIANT_COST_BOX = 3;

// Evaluations: a lower bound of a gap; the gap without forces over that with them; the evaluation
// of a joint row; a body whose rows the caller is asked for; an entry of the matrix, and the same
// factorized again for other bounds (8 to 16 ns); a pair too far apart to touch in the frame; the
// time of a touch that another may precede; a rebound in flight (10 us).
static const double COMPLIANT_COST_BOUND = 0.05, COMPLIANT_COST_GAP = 0.5, COMPLIANT_COST_ROW = 2,
                    COMPLIANT_COST_ASKED = 20, COMPLIANT_COST_ENTRY = 0.1,
                    COMPLIANT_COST_EXCHANGE = 0.25, COMPLIANT_COST_FAR_PAIR = 0.1,
                    COMPLIANT_COST_TOUCH = 0.02, COMPLIANT_COST_REBOUND = 100;

// Products of blocks for an evaluation (25 ns to 50 ns), for the gaps within an implicit step and
// of points that hold, which share the work of the solves. Larger: frames with many impacts beside
// contacts at rest bounce less.
static const double COMPLIANT_PRODUCTS_PER_EVALUATION = 2;

// Evaluations for each of ess.steps: limit of the work of a frame. Larger: slower frames before the
// implicit step takes over.
static const double COMPLIANT_WORK_PER_STEP = 4000;

// Products of 6x6 blocks: work of the solves of a frame's implicit step with its impacts, before a
// few sweeps take over, and as much of the impacts in an integration, before that ends. 50 to 150
// ns each: of a step of 200 ms, a quarter for either. Larger: frames with hundreds of contacts that
// Newton's method cannot solve, and those that rebound without end, take longer.
static const double COMPLIANT_SOLVE_WORK = 3e5;

// Share of the work of the integration from which progress is judged; and progress (share of the
// frame a share of the work) below which the integration ends. Larger: stiff frames end later. The
// work of points that hold tells nothing about what is left: after an impact the first steps are
// short, and one solve in fifty takes as much as 25 others.
static const double COMPLIANT_JUDGED_FROM = 0.1, COMPLIANT_SLOW = 0.25;

// Share of the limit of work that a frame may be expected to take. Larger: more large groups are
// integrated, and more of them reach the limit.
static const double COMPLIANT_PLANNED_WORK = 0.5;

// Evaluations of f and passes over the guards in an integrator step; steps below which a frame with
// contacts is not worth the integration.
enum { COMPLIANT_FIELDS_PER_STEP = 7, COMPLIANT_PASSES_PER_STEP = 3, COMPLIANT_STEPS_MIN = 20 };

// Times ess.steps: limit of the steps for friction within short bounces.
static const double COMPLIANT_BOUNCE_STEPS = 20;

// Times the length of a stretch: a next step of the integrator that is longer is not one by the
// error of the stretch (it grows tenfold at most). Smaller: frames after an event in flight start
// with steps of free flight, which forces reject. Larger: with steps that a short stretch allows.
static const double COMPLIANT_UNLIMITED_GROWTH = 9;

// Explicit steps are stable up to this number over the rate of the forces.
static const double COMPLIANT_STABLE_STEP = 3;

// Relative to the velocity that forces change in the frame: slower than the first is at rest,
// contacts approach faster than the second in an impact.
static const double COMPLIANT_STILL = 0.01, COMPLIANT_IMPACT = 2;

// Steps that bodies at rest may need before the implicit step is cheaper.
static const double COMPLIANT_RESTING_STEPS = 5;

// Limit of integrator steps: for each step by rates, each pair, each stop, each rad of turn; at
// most. Integrations beyond the sum have forces that jump. Larger: chatter is noticed later.
static const double COMPLIANT_STEPS_PER_EXPECTED = 4, COMPLIANT_STEPS_PER_PAIR = 4,
                    COMPLIANT_STEPS_PER_STOP = 40, COMPLIANT_STEPS_PER_RADIAN = 10,
                    COMPLIANT_STEPS_MAX = 1e6;

#endif
