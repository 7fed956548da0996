// A momentum balance with contacts, in the form that the solvers iterate on:
//
//     r(v) = M (v - v*) - sum J' g(J v) = 0        (N s)
//
// with the contact and row laws g (laws.h), the derivative of r, and the search along an update.
// The friction bounds are either coupled to the normal impulse at the same velocity, or frozen;
// frozen, r is the gradient of a strictly convex function. What M and J look like is left to a
// space: bodies in an island with 6x6 blocks (assemble.h), or dense matrices in generalized
// coordinates (general.c).
#ifndef SPRAG_SYSTEM_H
#define SPRAG_SYSTEM_H

#include <stdbool.h>

#include "result.h"
#include "scratch.h"

typedef struct sprag_system sprag_system;

// Friction along, or about, one axis or two. An infinite coefficient makes it linear:
// impulse = -slip / slip_yield.
typedef struct sprag_cone {
    int first, axes;    // components of the contact's relative velocity
    double coefficient; // of the normal impulse; of the step (s) if `force`
    double shape[2];    // coefficients of the axes, relative to the larger
    double slip_yield;  // m/s per N s
    bool creeps;        // somebody asked for that: up to the bound the impulse is in proportion
    double per_length;  // 1 or 1/m: makes a speed (stiction tolerance) one of rolling
    double stiction;    // m/s, the least tolerance that this cone takes
    bool force;         // the normal impulse does not bound it
    bool quadratic;     // the profile of arXiv 1909.05700, eq. 9, instead of the smooth one
    double softening;   // of that one's slip speed at rest, relative to the stiction tolerance
} sprag_cone;

// Components of a contact's relative velocity: along the rows of its frame, then about its tangents
// and its normal.
enum { SPRAG_NORMAL = 0, SPRAG_SLIDE = 1, SPRAG_ROLL = 3, SPRAG_SPIN = 5 };

typedef enum sprag_normal_law {
    SPRAG_SPRING,        // impulse = max(0, -vn / yield)
    SPRAG_GIVEN,         // impulse = given, whatever vn
    SPRAG_HUNT_CROSSLEY, // impulse = step k max(0, 1 - d vn) max(0, x - step vn)
} sprag_normal_law;

// A contact. Its relative velocity is measured from the one that it drives to (offset): differences
// of stiff laws would lose their digits otherwise.
typedef struct sprag_point {
    int dim;          // 3, or 6 if it resists rolling or spinning
    int cone, cones;  // first, number
    double offset[6]; // what kinematic bodies bring, less what is driven to
    sprag_normal_law law;
    double yield;                               // m/s per N s, of the spring
    double given;                               // N s
    double stiffness, dissipation, penetration; // N/m, s/m, m: Hunt and Crossley's
    double guess[3];                            // N s, impulse expected; normal < 0: unknown
    double inverse_mass;                        // 1/kg, of the normal direction
} sprag_point;

typedef struct sprag_equation { // a row
    double offset, yield;
    double inverse_mass; // of its direction, 1/kg
    double lo, hi;       // N s
    double guess;        // N s, impulse expected
} sprag_equation;

// When sweeps end: as soon as what one changes is within tolerance; after `least` of them, when it
// is good; or after the most. Changes are in the metric and on the scale of sprag_system_residual.
typedef struct sprag_gauss_seidel_limits {
    double tolerance, good;
    int least, most;
} sprag_gauss_seidel_limits;

// What a system needs of its coordinates. J is that of all points (dim rows each) and equations.
typedef struct sprag_space {
    void (*momentum)(const sprag_system *, const double *v, double *p); // p = M v
    void (*velocities)(const sprag_system *, const double *v, double (*slip)[6],
                       double *rate);                      // += J v
    void (*gather)(const sprag_system *, double *impulse); // = J' (impulses of the system)
    // What one factorisation takes, in products of 6x6 blocks; < 0: no memory. NULL: nothing known.
    double (*work)(sprag_system *);
    // The matrix: M, then J' G J of every point and J' slope J of every equation, then its factors.
    sprag_result (*begin)(sprag_system *, bool symmetric);
    void (*add_point)(sprag_system *, int i, const double G[6][6], bool symmetric);
    void (*add_equation)(sprag_system *, int i, double slope, bool symmetric);
    sprag_result (*factor)(sprag_system *, bool symmetric);
    void (*solve)(sprag_system *, bool symmetric, double *x);
    // Gauss-Seidel from the impulses expected (guess), without a matrix. v: the velocity found; the
    // system has the impulses, as those expected from now on. stats->residual: what the last sweep
    // changed. SPRAG_OK whatever is left; SPRAG_NOT_CONVERGED if it is not finite; SPRAG_NO_MEMORY.
    // NULL: there is none.
    sprag_result (*gauss_seidel)(sprag_system *, const sprag_gauss_seidel_limits *, double stiction,
                                 double *v, sprag_stats *);
} sprag_space;

struct sprag_system {
    const sprag_space *space;
    void *chart; // of the space
    double step; // s
    int size;    // velocities
    int points, cones, equations;
    bool convex;          // no friction depends on a normal impulse
    bool bounded;         // some equation has a finite bound
    bool curved;          // some normal law is Hunt and Crossley's
    double *start, *free; // size: v0, v*
    double *weight;       // size: diag(M)^-1/2
    double momentum;      // |D M (v* - v0)|, N s / sqrt(kg), what residuals are measured by
    sprag_point *point;
    sprag_cone *cone;
    sprag_equation *equation;
    double (*slip)[6]; // relative velocity of the points
    double *rate;      // of the equations
    // of the last sprag_system_residual:
    double *residual;     // size
    double (*impulse)[6]; // of the points
    double *row_impulse;
    // along an update, and what part of it was last gone:
    double (*slip_change)[6];
    double *rate_change;
    double moved;
    double *work, *momentum_change; // size
    double *line;                   // sprag_search_room
    sprag_scratch *scratch;
};

// All arrays, for the sizes and counts that *system has. The space fills in the rest.
sprag_result sprag_system_take(sprag_system *system, sprag_scratch *scratch);

// |D x|, D = diag(M)^-1/2
double sprag_system_weighed(const sprag_system *system, const double *x);

// weight and momentum, when free and the mass diagonal are known. before: the velocity that
// momentum changes are measured from, so that convergence is judged alike in every frame of
// reference; NULL: rest.
void sprag_system_weigh(sprag_system *system, const double *mass_diagonal, const double *before);

// Goes to v: relative velocities of all points and equations.
void sprag_system_place(sprag_system *system, const double *v);

// Goes on from there: v += alpha dv. Relative velocities follow by their own changes: stiff laws
// would turn the rounding of J v, though not that of J dv, into impulses that no iteration can
// balance.
void sprag_system_move(sprag_system *system, double *v, double alpha, const double *dv);

// Evaluates impulses and residual at v, where the system has been placed or moved to. stiction:
// m/s. bound: normal impulses (N s, one per point) that bound friction, frozen; NULL: coupled.
// Returns |D r|, relative to the larger of the external impulses and the contact and row impulses.
double sprag_system_residual(sprag_system *system, const double *v, double stiction,
                             const double *bound);

// Assembles and factorises the derivative of the residual where it was last evaluated.
sprag_result sprag_system_factor(sprag_system *system, double stiction, const double *bound);

// dv = -(dr/dv)^-1 r, and the changes of slip and rate that go with it.
void sprag_system_update(sprag_system *system, const double *bound, double *dv);

// Counts the update that was last gone, and enters it in the history.
void sprag_system_log(const sprag_system *system, double stiction, sprag_stats *stats);

// Does a row reach or leave a bound along the update?
bool sprag_system_reaches_bound(const sprag_system *system);

// The exact minimum, for frozen bounds, along v + alpha dv, alpha in (0, 1] (search.c). v is where
// the system has been placed or moved to.
double sprag_system_search(sprag_system *system, const double *v, const double *dv, double stiction,
                           const double *bound);

// Numbers that a search needs room for.
size_t sprag_search_room(int points, int cones, int equations);

// The slip of a cone in the metric of its shape, at the last residual, its change, and the
// tolerance to measure them by. Returns false if the cone carries no force before nor after the
// update.
bool sprag_system_cone_slip(const sprag_system *system, int point, int cone, double stiction,
                            double slip[2], double change[2], double *tolerance);

#endif
