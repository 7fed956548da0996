// Tuning constants of the contact solve: every number that a paper or a unit does not fix. The
// comment of each says what happens when it is changed.
#ifndef STRIBECK_CONSTANTS_H
#define STRIBECK_CONSTANTS_H

// ---- Friction of what sticks (laws.c)

// Share of its bound up to which friction holds without slip. Smaller: what is about to slide
// creeps (0.9: a box of a pile by 28 um in 10 s instead of 17 nm); 1: the slip that holds it is
// infinite.
static const double STRIBECK_STUCK = 0.999;

// Relative to the stiction tolerance, where contacts hold by the friction of the last step: so
// small that softness alone decides what they yield, and the friction does not change with the
// normal force. Larger: loads that come and go let friction grow without a push (1: 0.999 of its
// bound in 2 s).
static const double STRIBECK_HELD_TOLERANCE = 0.01;

// ---- Acceptance (strategy.c)

// Residual (residual.h, relative) at which no further strategy is tried: 1 is that of no solution.
static const double STRIBECK_ACCEPTED = 1;

// ---- Friction that contradicts (oneway.c)

// Relative to the kinetic energy before and after the step: work of the forces at the velocities
// that contacts miss. Larger: balls pass walls with a mu of 2; smaller: heaps that sweeps have not
// quite solved are solved three times.
static const double STRIBECK_CONTRADICTION = 0.01;

// ---- The limit of energy (limit_energy.c)

// Relative to the energy of the velocities that all impulses add: gain of a step that is rounding,
// or that of a solution within the tolerance. Larger: small gains stay; smaller: more solves of no
// use.
static const double STRIBECK_LEAST_GAIN = 1e-4;
// Likewise, of the energy of the velocities that external forces add, where no contact rebounds.
// Larger: a heap may win more in a step; smaller: stacks that overlap a little are solved twice,
// and recover more slowly.
static const double STRIBECK_LEAST_GAIN_OF_FALL = 0.3;
// Relative to the inverse mass: yield (compliance over step) from which on a contact or a row is a
// spring that the step resolves, and may return what it has stored. Larger: hard springs lose
// energy.
static const double STRIBECK_RESOLVED_SPRING = 1;

// ---- The momentum residual (system.c)

// Relative to the momentum itself: least scale of the residual. Smaller: fast bodies without forces
// cannot converge for rounding.
static const double STRIBECK_MOMENTUM_ROUNDING = 1e-6;
// Relative to the sum of all impulses before they cancel: least scale of the residual. Smaller:
// opposed rows under a large load cannot converge.
static const double STRIBECK_IMPULSE_ROUNDING = 1e-8;
// Share of a Newton update below which the search counts as stopped by a kink of a stiff law. Then
// the mean slope over the last move replaces the slope at its end.
static const double STRIBECK_STOPPED_LENGTH = 0.01;

// ---- Runs of points (assemble.c)

// Relative to their arms: by how much the centres of two bodies may be farther apart for one
// contact than for the next, so that both are of one run. Larger: torques that are not quite
// opposite; smaller: rounding of positions far from the origin divides runs, which takes longer.
static const double STRIBECK_SAME_SHIFT = 1e-9;

// ---- Search along an update (search.c)

// Relative to the slope at its start: slope at which the search ends. Smaller: more evaluations,
// hardly fewer updates.
static const double STRIBECK_SEARCH_SLOPE = 1e-3;
// Share of the update below which an interval is not divided further; most evaluations.
static const double STRIBECK_SEARCH_INTERVAL = 1e-14;
enum { STRIBECK_SEARCH_EVALUATIONS = 100 };

// ---- Newton's method (strategy.c)

// The limiter's `small`: slips below this share of the tolerance are at rest (the relative
// tolerance of arXiv 1909.05700).
static const double STRIBECK_LIMITER_SMALL = 1e-2;
// The limiter's largest turn of a slip in an update, rad (the paper's theta_max). Larger: Newton
// may cycle.
static const double STRIBECK_LIMITER_TURN = 3.14159265358979323846 / 3;
// Updates without a new least residual before Newton's method is given up.
enum { STRIBECK_PATIENCE = 25 };
// The same where Gauss-Seidel can take over: this over the number of velocities, at least so many,
// and not more than the contacts and rows, of which an update may change a single one.
// Larger: more time in islands that Newton does not solve.
static const double STRIBECK_BRIEF_PATIENCE = 1800;
// Less than four: sweeps solve islands of few contacts, to 1e-7 instead of 1e-9 (support table).
enum { STRIBECK_BRIEF_PATIENCE_LEAST = 4 };
// Updates of that patience, as a share of the contacts and rows, from which on Newton's method
// follows sweeps. Smaller: of 38 solves with less (a car among 40 crates, heaps of ragdolls,
// dominoes) none ended at a root, and they make the longest steps 1.4 times as long; larger: legs
// on the ground creep (of 85 solves of joints with more 80 end).
static const double STRIBECK_NEWTON_SHARE = 0.2;
// There, an update counts as progress only if it brings the residual below this share of the least.
static const double STRIBECK_BRIEF_PROGRESS = 0.5;
// Momentum residual of rows without excess yield that is rounding. Smaller: under tolerances of
// 1e-12 rows of chains under load yield in some steps and not in others.
static const double STRIBECK_HARDENED = 1e-9;
// Impulses of rows, before they cancel and relative to what the step changes, from which they are
// opposed loads, whose rounding may be larger than the tolerance (it is from 2e4 on). Larger: what
// rows contradict is not balanced; smaller: chains under load are evaluated once more in a step.
static const double STRIBECK_OPPOSED = 1e3;

// An update that leaves more than this share of a small residual has reached rounding.
static const double STRIBECK_ROUNDING_PROGRESS = 0.5;

// Failures of known forces that count, in what is stacked and is likely to rest, and in other
// heaps. Each halves the share of the work of the others that they may take. More: less is lost to
// failures, and walls and leaning planks (5: 7 of 24 do not), or heaps, find rest later; fewer:
// heaps at rest that cannot be solved take longer (2: 1.3 times).
enum { STRIBECK_MOST_FAILURES = 2, STRIBECK_MOST_FAILURES_OF_HEAPS = 6 };
// Least number of sweeps near rest, where a smaller one would leave a wall of 30 bricks trembling
// at 3e-2 m/s for ever. Larger: heaps that cannot rest, as of balls, take longer.
enum { STRIBECK_REST_SWEEPS = 50 };
// Times as many sweeps where bodies touch in trees: a push goes up a tower by a body a sweep or so.
// Fewer: towers that rock win energy (1: ten cubes that lean by 0.03 rad, 16.7 ms, effort=fast:
// 0.38 J become 1.2 J in 8 s; 4: 0.09 J); more: heaps in motion take longer (1: pile:30 35.1
// instead of 39.8 M instructions).
enum { STRIBECK_SWEEPS_OF_TREES = 4 };
// Work in sweeps up to which the direct strategies go on where contacts form loops, or bodies move.
// Smaller: stacks of ten on each other drift by micrometres before they rest; larger: ragdolls take
// longer.
enum { STRIBECK_AFFORDABLE_SWEEPS = 300 };
// Gap of the sweeps' solution (stats.gap) from which an island near rest is hard for them. In heaps
// of balls and boxes it is below 0.3, in walls under 15 to 100 times a brick 0.8 to 50.
// Smaller: towers take longer; larger: walls tremble at 1e-2 m/s for ever.
static const double STRIBECK_HARD = 0.5;
// In motion, the gap up to which the interior-point method sees what bears a load at all. Larger
// (infinite): a cube under 1e300 kg leaves the world (test_step).
static const double STRIBECK_LOST_IN_MOTION = 1e4;
// Relative to the sweeps' work: what the interior-point method may take where it does not
// pay, for a gap of STRIBECK_HARD; in proportion to the gap, and at most all. Larger: towers that
// fall take longer (jenga 3.1 and 3.8 instead of 2.7 and 3.3 times Q20 with 0.2); smaller: walls
// and leaning planks find rest later (0.1: 5 of 24 not in 600 steps).
static const double STRIBECK_GAP_SHARE = 0.15;
// Work of an update up to which what joints and contacts hold together in the air is solved to a
// root, whatever the effort, and pays for no failures: an arm of seven hinges with a gripper of
// three fingers that carries a part takes 900. Smaller: grippers at long arms lose parts (400: at
// four and more hinges); larger: figures that fall on each other take longer.
static const double STRIBECK_SMALL_GRASP = 1000;
// Solves that the interior-point method may owe: a tower of 54 blocks is at rest after 60. Fewer:
// it trembles for ever; more: what a ball is about to hit takes longer.
static const double STRIBECK_LONGEST_RUN = 100;

// ---- Continuation (strategy.c)

// Residual of all stages but the last. Smaller: more updates a stage.
static const double STRIBECK_STAGE_TOLERANCE = 1e-2;
// Share of the path below which a stage is not shortened further: the path is given up.
static const double STRIBECK_SHORTEST_STAGE = 2e-3;
// Factor of the stage length after failure.
static const double STRIBECK_STAGE_SHRINK = 0.5;
// Share of the path that the first stage covers.
static const double STRIBECK_FIRST_STAGE = 1.0 / 3;

// ---- The interior-point method (interior.c)

// Relative to the impulse that stops what the step changes: normal impulses at the start.
static const double STRIBECK_INTERIOR_START = 3;
// Relative to the scale of the step: normal velocity of a dual at the start.
static const double STRIBECK_INTERIOR_DUAL = 0.1;
// Share of both where the last step's impulses are known, and how far friction may go to its bound
// there. Smaller: fewer updates, more solves that stall. 1 takes half as many updates again. Near
// its bound (0.9) the first updates of a tower that lands are short, and it takes a fifth more.
static const double STRIBECK_INTERIOR_WARM = 0.03, STRIBECK_INTERIOR_INSIDE = 0.5;
// The first share after sweeps that end near rest. Smaller: towers that land take more updates (48
// of six towers with 0.03, 36 with 0.3, 37 with 1). In motion less: a wall that a ball hits at 60
// times the speed that a step changes takes 30 updates instead of 5, and none ends.
static const double STRIBECK_INTERIOR_SWEPT = 0.3;
// Share of the way to the boundary that an update may go.
static const double STRIBECK_INTERIOR_SHARE = 0.98;

// Error at which it ends, relative to the scale of the step: a share of the momentum before the
// step, no less than a limit. The first share, and the upper limit, are of solves whose sweeps end
// at STRIBECK_SWEEP_TOLERANCE (effort=exact, advance). Larger: Newton's method
// in the forces cannot go on from there; smaller: more updates in what moves.
static const double STRIBECK_INTERIOR_OF_MOTION = 1e-2, STRIBECK_INTERIOR_FINEST = 1e-6,
                    STRIBECK_INTERIOR_COARSEST = 1e-3;
// The share of other solves; and the error with which it counts as a solution after all updates, as
// the lag of what slides converges slowly. Smaller: walls in which bricks slip do not come to rest,
// and what moves takes more updates (with the share and limit of exact solves jenga takes 1.2 times
// the time and comes to rest after as many solves; with this as a limit, too, what falls out of a
// wall at ten times the speed that a step changes takes 27 and 30 updates, not 9 to 18).
static const double STRIBECK_INTERIOR_ENOUGH = 0.1;
// Updates after which it ends where they do not halve the error: the lag, or rounding, does not let
// them.
enum { STRIBECK_INTERIOR_STALLED = 5 };
// Likewise, where they leave more than this share of the first residual: what hits a wall at 60
// times the speed that a step changes stays out of reach for all updates (it leaves 0.996 to 0.999,
// loads that land 0.88 to 0.92). Larger: such a step takes six times as long; smaller: stacks are
// thrown out below heavy loads.
static const double STRIBECK_INTERIOR_LOST = 0.99;
// Most updates, and those for which there must be work before it begins: it takes 7 to 20, under
// loads of 1e6 times what bears them 28.
enum { STRIBECK_INTERIOR_UPDATES = 30, STRIBECK_INTERIOR_LEAST = 12 };

// ---- Frozen friction (strategy.c, frozen_friction.c)

// Number of contacts that are assumed to share the approach of a body, for the first bounds.
static const double STRIBECK_CONTACTS_SHARING = 4;
// Most updates of one stage. Larger: the worst step of a heap in motion takes longer under advance;
// smaller: stages end before they converge.
enum { STRIBECK_FROZEN_FRICTION_ITERATIONS = 15 };
// Share of the stiction tolerance of moving contacts at which islands that settle are solved.
// Larger: a house of cards creeps by 1e-6 m/s; smaller: more stages.
static const double STRIBECK_SETTLED_STICTION = 1e-2;
// Updates with it from the velocities before the step, before the stages begin: what rests takes
// one or two, a slope at half the limit of friction four.
enum { STRIBECK_SETTLED_UPDATES = 5 };
// Error of the bounds above which sweeps follow in such an island, and the better of both is kept.
// Larger: a rope slips on a drum by 0.12 m in a second (without it); smaller: more heaps that
// settle are solved both ways (0.05: 1.1 times the time of 20 boxes).
static const double STRIBECK_BOUND_ERROR = 0.2;
// Full steps in a row that do not lower the residual, after which rounding is reached.
enum { STRIBECK_STALL = 3 };
// Factor from one stiction tolerance to the next, and residual of these stages.
static const double STRIBECK_FROZEN_STAGE = 0.2, STRIBECK_FROZEN_STAGE_TOLERANCE = 0.1;

// ---- Gauss-Seidel (stribeck.c)

// Change at which sweeps end at once at rest, and in motion where solves are exact. Smaller: less
// creep at rest, more sweeps.
static const double STRIBECK_SWEEP_TOLERANCE = 1e-5;
// Change at which they may end in motion if they move nothing. Smaller: shaken heaps take more
// sweeps, without an end that is better (none: those of 30 bodies 1.25 times as many with
// balanced); larger: with fast, residuals of 1.4 times the size for 3 % fewer sweeps (0.01).
static const double STRIBECK_SWEEP_ENOUGH = 1e-3;

// ---- Choice of strategies (stribeck.c)

// Contacts per body from which an island counts as stacked: it is likely to rest.
static const double STRIBECK_STACKED_CONTACTS = 5;

// ---- Work that several solves share (stribeck.c), in products of blocks

// A Newton update of one contact or row, with the search along it; a sweep over it counts as one.
// It decides only what share of the work updates take.
static const double STRIBECK_UPDATE_WORK = 10;
// Sweeps of a solve when no work is left. More: less creep and overlap then, longer steps.
enum { STRIBECK_POOR_SWEEPS = 20 };

// ---- Newton's method in the forces (forces.c)

// Updates; and updates without progress (half the error) after which
// rounding is reached, or every other one is taken half. More: forces that are found later.
enum { STRIBECK_FORCE_UPDATES = 20, STRIBECK_FORCE_STALLED = 2 };

// Error of known forces, relative to the impulses, from which the first update leads nowhere: 1 is
// that of none. Between two solutions it grows to 0.1 and more, as what lets go has no slope. From
// there updates have to come back to the error at the start, each by the same factor, or they come
// back too late. Smaller: known forces are found in fewer steps (the error at the start: 1.3 to 4
// times the work of walls and towers that come to rest; 1: 7 of 1463 solves are given up in towers
// that come to rest, with 2 two); larger: failures take more updates.
static const double STRIBECK_FORCE_LOST = 2;
// Updates of known forces without progress after which they are given up. Fewer: likewise (3: 1.2
// to 1.7 times the work); more: likewise.
enum { STRIBECK_FORCE_PATIENCE = 5 };

// Iterates that an update is compared with, and the least part of it that is taken. More, smaller:
// updates that stay at a kink, whose parts lead nowhere (at 1e-2 twice as many forces are not
// found, in more updates); fewer, larger: forces that are not found.
enum { STRIBECK_FORCE_MEMORY = 5 };
static const double STRIBECK_FORCE_SHARE = 0.25;

// Updates without progress (half the distance to the laws) after which laws are rounded. More:
// updates that go round in a cycle; fewer: laws that are rounded for nothing (3: in 13 of 200 steps
// legs under ess find no forces).
enum { STRIBECK_FORCE_TRIES = 6 };

// Times the tolerance: error with which forces count that no update improves. Larger: less exact
// forces of ess where contacts jam; smaller: more frames that the implicit step takes.
static const double STRIBECK_FORCE_ENOUGH = 100;

// Laws that are rounded: stiction, relative to the rounding of the normals (both in m/s). Larger,
// smaller: more paths that turn back. Factor from a stage to the next; larger: more updates.
// The first rounding, by the distance from the laws of what has no forces; smaller: forces that are
// not found (at 1 twice as many where motors jam bodies); larger: more updates. And the least
// rounding, relative to the first; larger: forces that jump to the laws.
static const double STRIBECK_ROUNDED_STICTION = 3, STRIBECK_ROUNDED_STAGE = 0.3,
                    STRIBECK_ROUNDED_FIRST = 10, STRIBECK_ROUNDED_LEAST = 1e-9;
// Updates of a stage, beyond which it begins anew and shorter, and those below which the next is
// longer again; and of all stages. And the factor of the shortest stage. More, larger: more work
// where there are no forces.
enum { STRIBECK_ROUNDED_UPDATES = 12, STRIBECK_ROUNDED_FEW = 4, STRIBECK_ROUNDED_MOST = 80 };
static const double STRIBECK_ROUNDED_SHORTEST = 0.98;

// Share of the tolerance at which known forces hold without an update, and at which Newton's method
// on contacts, and known forces of exact solves, end. Larger: heaps at rest creep.
static const double STRIBECK_FORCE_KNOWN = 1e-2;

// Error, relative to the impulses, that is rounding where updates make no more progress. Larger:
// forces that are no smooth function of the problem.
static const double STRIBECK_FORCE_ROUNDING = 1e-8;

// Iterations for the point of a friction law, and the relative change that ends them: they leave
// about its square, which is rounding.
enum { STRIBECK_LAW_ITERATIONS = 60 };
static const double STRIBECK_LAW_CHANGE = 1e-7;
// The iterations start at the edge of the cone where that is further away than this share of what
// the cone has to spare. Larger: more iterations at the edge (infinite: up to 23 instead of 11, and
// mostly 12 to 19 where a shaken box hardly holds); smaller: a root more for what holds.
static const double STRIBECK_LAW_EDGE = 1e-3;

#endif
