// Tuning constants of the sweeps. The comment of each says what happens when it is changed.
#ifndef SWEEPS_CONSTANTS_H
#define SWEEPS_CONSTANTS_H

// Rows of contacts and bounded rows at one mechanism up to which they act on all of it: each sweep
// costs the square of them. Larger: long chains on the ground take longer and need fewer sweeps.
enum { SWEEPS_PORT_ROWS = 400 };

// Products of 6x6 blocks (25 ns) that count as the work of a sweep: for a row of a contact that
// goes alone (others take one a contact), and an entry of the matrix of a mechanism's ports; and
// for such an entry when the matrix is made. Measured in hostile worlds. Larger: callers with a
// budget end earlier.
static const double SWEEPS_SINGLE_ROW_WORK = 0.85, SWEEPS_PORT_ENTRY_WORK = 1 / 216.0,
                    SWEEPS_COUPLING_WORK = 0.5;

// Sweeps and change of the last one, relative to the momentum of the step, from which on a solve
// may end because it stagnates. Fewer, larger: what would still converge is left earlier (16:
// houses of 40 and 96 cards tremble at 1e-2 m/s for ever. Their change hardly falls at first and
// hides an error of a hundred times its size, which momentum removes once it has grown).
enum { SWEEPS_STAGNATION_FIRST = 32 };
static const double SWEEPS_STAGNATION_RESIDUAL = 1e-3;

// Each so many sweeps, once the change is enough for the caller, it is asked whether they have
// moved nothing: no more than this share of the tolerance. Larger share: shaken heaps of 30 bodies
// have a larger residual (1: 1.2 times, and take 0.9 of the sweeps).
enum { SWEEPS_STILL_SPAN = 8 };
static const double SWEEPS_STILL = 0.3;

// Share of its range that a motor keeps from its bounds if it is inside. Smaller: rounding; larger:
// motors near their bounds are swept (0.3: legs walk at 0.38 instead of 0.46 m/s).
static const double SWEEPS_INSIDE = 1e-6;
// Solves of an island in which motors that have left their bounds are swept and the others hold. In
// the last one all are swept. Fewer: what a gripper closes on moves; more: steps in which motors
// give way one after the other take longer.
enum { SWEEPS_SOLVES_OF_MOTORS = 3 };
// Last change, relative to the momentum of the step, from which on sweeps have not converged, and
// motors no longer hold: feet that slide jam between motors that do not give way (Painlevé's
// paradox). Larger (none): robots with four legs among crates have twice the residual; smaller
// (0.01): more solves, of no use where contacts alone keep sweeps from converging.
static const double SWEEPS_JAMMED = 0.1;

#endif
