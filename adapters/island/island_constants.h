// Numbers that tune the room's pull and push, all without unit unless they say one.
#ifndef SPRAG_ISLAND_CONSTANTS_H
#define SPRAG_ISLAND_CONSTANTS_H

// ---- edges.c

// Cosine: normals of a smaller angle are one. Greater: bodies at rest lose contacts by rounding;
// smaller: cylinders that roll over seams rise by 5e-6 m (1 - 1e-6).
static const double EDGE_SLANTED = 1 - 1e-9;

// Relative to the lever: edges so far above the tangent plane of a deeper contact are in it.
// Greater: geoms sink into shallow steps; smaller: rounding counts as a step.
static const double EDGE_LEVEL = 1e-9;

// ---- load_stiffness.c, load_energy.c. Measured on chains of 50 links under loads of 1 to 1000
// links, on hinged bridges under 10 to 10000 planks, on chains that jerk tight and on bolas, at 5
// to 17 ms.

// Most stiffness that counts, relative to the inertia, or across a distance to the mass: joints
// that contradict one another have forces without bound, and more of it is not solved together with
// them.
static const double load_most = 1e5;

// step^2 stiffness by the forces of the solution, relative to the inertia with the added one
// (across a distance, to the mass of its anchors with it), beyond which the island is solved again
// with inertia for these forces. A constant load has at most 1, 4 is unstable: a load that comes at
// once then wins 3.5 % of its fall. Less: more second solves (2: 33 in 300 steps of a bridge under
// 1000 planks instead of 11), and chains of light beads, whose tension comes and goes with their
// waves, lose 10 to 30 % of their energy in 10 s at 10 to 17 ms; no second solves: joints of that
// bridge open by 1.5 mm at 16.7 ms.
static const double load_growth = 3;

// m/s per N, compliance of the rows of a joint that welds: ODE's default CFM is 1e-7 at 1 ms.
// Larger: bodies on soft welds, which turn against each other, spin up (dFixed with a CFM of 0.3);
// smaller: loops of welds with some CFM lose their rotation.
static const double load_hard_weld = 1e-6;

// m/s per N, compliance of the rows of a joint that is a spring, whose work is its own: 1e6 N/m at
// 10 ms. Larger: such springs sink under load; smaller: ropes of distances in a world with a CFM of
// 1e-5, as many programs set, win energy as under stock.
static const double load_spring = 1e-4;

// Relative to the way on the circle, for joints of islands that are not under load: more wins
// energy, by errors of the way that are mended a few steps later (0.9: up to 1 % in 10 s in closed
// chains at 1 ms), less loses more.
static const double load_arc = 0.8;

// m/s, of which such joints take no notice, nor is an error that changes so fast opened by the
// program: at rest that is rounding.
static const double load_least_way = 1e-12;

// Most that a step may win beside what is in the account, as a share of the energy; bodies that
// open their joints by a length, and are thrown back, double theirs in a step. Less: more second
// solves (1e-7: in 40 to 50 % of the steps of ragdolls under load; 1e-3: 12 % more instructions of
// 12 ragdolls in 3 s, 4 % of two, 5 % of legs, 1 % of a chain); more: free chains with heavy ends
// win as much (1e-2: up to 0.8 % in 6 s).
static const double load_most_gain = 1e-2;

// Least share of targets and looks ahead: with none, what they would bring in is not known. Less:
// the share grows back later.
static const double load_least_share = 0.01;

#endif
