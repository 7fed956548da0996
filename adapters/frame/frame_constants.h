// Numbers of a step that works within a frame: its unit, and what a larger value does.
#ifndef SPRAG_FRAME_CONSTANTS_H
#define SPRAG_FRAME_CONSTANTS_H

// ---- reach: how far a body may move in the step, which pairs are searched for by

// Shares of the speed, of the angular velocity, and of what forces add to them in a step, by which
// a body may stray from the way that these lead. Larger: more pairs are searched; smaller: more
// steps start again, because a body strayed farther.
static const double frame_stray_speed = 1, frame_swerve = 0.5, frame_reach_force = 2;

// Epsilon, added to the reach.
static const double frame_reach_margin = 10;

// Factor on the reach of a body that strayed farther, for the next attempt.
static const double frame_reach_growth = 2;

// Attempts of a step. After the last one, a group with a body that strayed farther stands still.
enum { FRAME_ATTEMPTS = 5 };

// Share of the work of a step: attempts share it, and each may take so much at least. Larger: fast
// bodies that jam cost more; smaller: they stand still for longer.
static const double frame_least_work = 0.2;

// Epsilon: pairs whose boxes are so near each other are found.
static const double frame_pair_margin = 4;

// Share of its speed by which a body may reach a sleeping one in the step. Larger: bodies wake
// earlier.
static const double frame_waking_speed = 1.1;

// ---- contacts of the program

// Share of the reach: geoms nearer to each other than this touched when the program was offered
// them, though their gap was then computed in another way. Larger: rounding declines contacts;
// smaller: the program is asked about pairs that it wants no contact for.
static const double frame_surely_near = 0.9;

// Multiples of the reach, and cosine: the normal of a contact joint is compared with that of geoms
// so near each other, and counts as another normal beyond 6 degrees.
static const double frame_normal_reach = 10, frame_same_normal = 0.995;

#endif
