// Tuning constants of the general solver. The comment of each says what happens when it is changed.
#ifndef GENERAL_CONSTANTS_H
#define GENERAL_CONSTANTS_H

// ---- Acceptance (general.c, general_residual.c)

// Largest residual of a solution, relative to what the step changes. Larger: forces and momentum of
// fast or badly scaled problems need not agree.
static const double GENERAL_ACCEPTED = 1e-6;
// Relative to the momentum itself: least scale of the residual. Smaller: fast bodies that nothing
// touches cannot converge for rounding.
static const double GENERAL_CHANGE_LEAST = 0.01;
// Updates of the impulse that one contact asks for, and their relative tolerance.
enum { GENERAL_LOCAL_UPDATES = 50 };
static const double GENERAL_LOCAL_TOLERANCE = 1e-12;

// ---- Newton's method (general.c)

// Newton's method is given up after so many updates that do not bring the residual below this share
// of the least so far. Larger: more is lost where the path has to be followed after all.
enum { GENERAL_NEWTON_PATIENCE = 40 };
static const double GENERAL_NEWTON_PROGRESS = 0.9;
// Momentum residual that is accepted when updates do not lower it further: the first at ordinary
// speeds, the second for each unit of speed / stiction tolerance, the third at most.
static const double GENERAL_ROUNDING = 1e-9, GENERAL_ROUNDING_SPEED = 4e-16,
                    GENERAL_ROUNDING_MOST = 1e-8;

// ---- Continuation (continuation.c)

// First stiction tolerance, as a multiple of the fastest slip. Smaller: friction may matter from
// the start, and the start may not be the only root.
static const double GENERAL_SOFTEST = 1e3;
// Most updates of the first point of the path.
enum { GENERAL_FIRST_UPDATES = 100 };
// First stride along the path, in units of the logarithm of the tolerance; shortest one.
static const double GENERAL_STRIDE = 0.5, GENERAL_STRIDE_LEAST = 1e-9;
// Momentum residual of a point of the path. Larger: the path may be lost for another one.
static const double GENERAL_PATH_TOLERANCE = 1e-5;
// Updates of a point of the path. Larger: strides are longer, and may reach another path.
enum { GENERAL_CORRECTIONS = 4 };
// Factors of the stride after a point that took at most GENERAL_EASY updates, after one that took
// more, and after a failure. Other shrink factors than 0.25 to 0.4 lose the path at kinks.
enum { GENERAL_EASY = 2 };
static const double GENERAL_GROWTH = 2, GENERAL_SLOW_GROWTH = 1.3, GENERAL_SHRINK = 0.4;
// Cosine of two directions below which there is a kink between them.
static const double GENERAL_KINK = 0.5;
// Updates at the end of the path, of which so many without progress.
enum { GENERAL_LAST_UPDATES = 30, GENERAL_LAST_PATIENCE = 15 };
// Share of the factorisations that are left after which a path counts as lost, unless that is less
// than the second number; then it is followed once more from its start, and this factor makes its
// points more exact.
enum { GENERAL_SHARE = 4, GENERAL_SHARE_LEAST = 100 };
static const double GENERAL_CARE = 0.1;
// Logarithm of the stiction tolerance above its start at which the path is lost.
static const double GENERAL_LOST = 20;

#endif
