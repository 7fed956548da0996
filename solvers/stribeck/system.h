// A momentum balance with contacts, in the form that the solvers iterate on:
//
//     r(v) = M (v - v*) - sum J' g(J v) = 0        (N s)
//
// with the contact and row laws g (laws.h), the derivative of r, and the search along an update.
// The friction bounds are either coupled to the normal impulse at the same velocity, or frozen;
// frozen, r is the gradient of a strictly convex function. The layout of M and J is that of a
// space: bodies with 6x6 blocks (space6.h), or dense matrices in generalized coordinates (dense.h).
#ifndef SPRAG_SYSTEM_H
#define SPRAG_SYSTEM_H

#include <stdbool.h>

#include "result.h"
#include "scratch.h"

typedef struct sprag_system sprag_system;

// Friction along, or about, one axis or two. An infinite coefficient makes it linear:
// impulse = -slip / slip_yield. assemble.c (bodies) and general_system.c set all fields.
typedef struct sprag_cone {
    int first, axes;     // components of the contact's relative velocity
    double coefficient;  // of the normal impulse; of the step (s) if `force`
    double shape[2];     // coefficients of the axes, relative to the larger
    double slip_yield;   // m/s per N s
    bool creeps;         // the surface asks for creep: the impulse is proportional up to the bound
    bool linear;         // the surface sets the stiction tolerance: likewise up to that slip
    double of_stiction;  // its own tolerance over the stiction tolerance: 1, in rad/s 1/m; less
                         // where it holds (hold in assemble.c)
    double stiction;     // m/s, lower bound of the stiction tolerance (set_stiction in assemble.c)
    bool force;          // coefficient is a force: the normal impulse does not bound friction
    double inverse_mass; // 1/kg, a bound of the largest of all its directions, between bodies
    bool quadratic;      // the profile of arXiv 1909.05700, eq. 9, instead of the smooth one
    double softening;    // of the quadratic profile at rest, relative to the stiction tolerance
} sprag_cone;

// Components of a contact's relative velocity: along the rows of its frame, then about its tangents
// and its normal.
enum { SPRAG_NORMAL = 0, SPRAG_SLIDE = 1, SPRAG_ROLL = 3, SPRAG_SPIN = 5 };

typedef enum sprag_normal_law {
    SPRAG_SPRING,        // impulse = max(0, -vn / yield)
    SPRAG_GIVEN,         // impulse = given, whatever vn
    SPRAG_HUNT_CROSSLEY, // impulse = step k max(0, 1 - d vn) max(0, x - step vn)
} sprag_normal_law;

// A contact, set by assemble.c (bodies) and general_system.c. Its relative velocity is measured
// from the target velocity (offset); otherwise differences of stiff laws would lose digits.
typedef struct sprag_point {
    int dim;          // 3, or 6 if it resists rolling or spinning
    int cone, cones;  // first, number
    double offset[6]; // m/s, rad/s, velocity of kinematic bodies minus the target velocity
    sprag_normal_law law;
    double yield;                               // m/s per N s, of the spring
    double given;                               // N s
    double stiffness, dissipation, penetration; // N/m, s/m, m: Hunt and Crossley's
    double guess[3];                            // N s, expected impulse; normal < 0: unknown
    double inverse_mass;                        // 1/kg, of the normal direction
} sprag_point;

// A row: impulse = clamp(-rate / yield, lo, hi), rate = J v + offset. assemble.c sets all fields.
typedef struct sprag_equation {
    double offset;       // m/s (rad/s)
    double yield;        // m/s per N s
    double excess;       // of it, against rounding, beyond what the row itself yields
    double inverse_mass; // of its direction, 1/kg
    double lo, hi;       // N s
    double guess;        // N s, expected impulse
} sprag_equation;

// Operations that depend on the coordinates of a system. J has dim rows for each point and one for
// each equation.
typedef struct sprag_space {
    void (*momentum)(const sprag_system *, const double *v, double *p); // p = M v
    void (*velocities)(const sprag_system *, const double *v, double (*slip)[6],
                       double *rate);                      // += J v
    void (*gather)(const sprag_system *, double *impulse); // = J' (impulses of the system)
    // Cost of one factorisation in products of 6x6 blocks; < 0: no memory. NULL: unknown.
    double (*work)(sprag_system *);
    // The matrix: M, then J' G J of every point and J' slope J of every equation, then its factors.
    sprag_result (*begin)(sprag_system *, bool symmetric);
    void (*add_point)(sprag_system *, int i, const double G[6][6], bool symmetric);
    void (*add_equations)(sprag_system *, int first, int count, const double *slope,
                          bool symmetric); // slope: of each; 0: it carries nothing
    sprag_result (*factor)(sprag_system *, bool symmetric);
    void (*solve)(sprag_system *, bool symmetric, double *x);
    double (*orientation)(const sprag_system *); // sign of the determinant, of a general matrix
} sprag_space;

struct sprag_system {
    // The problem: set by assemble.c or general_system.c before the first evaluation
    const sprag_space *space;
    void *chart; // data of the space
    double step; // s
    int size;    // velocities
    int points, cones, equations;
    bool convex;          // no friction depends on a normal impulse
    bool bounded;         // some equation has a finite bound
    bool curved;          // some normal law is Hunt and Crossley's
    bool gyroscopic;      // some mass has gyroscopic terms, and is not symmetric
    double *start, *free; // size, m/s, rad/s: v0, v*
    double *weight;       // size: diag(M)^-1/2
    double momentum;      // |D M (v* - v0)|, N s / sqrt(kg), scale of residuals
    sprag_point *point;
    sprag_cone *cone;
    sprag_equation *equation;
    // Relative velocities at the present v: set by sprag_system_place and sprag_system_move
    double (*slip)[6]; // points, m/s, rad/s
    double *rate;      // equations, m/s, rad/s
    // Evaluation at the present v: set by sprag_system_residual
    double *residual;     // size, N s
    double (*impulse)[6]; // points, N s, N m s
    double *row_impulse;  // equations, N s, N m s
    // The last update: changes set by sprag_system_update, share by sprag_system_move
    double (*slip_change)[6]; // points
    double *rate_change;      // equations
    double moved;             // share of the update that was taken
    // The matrix: set by whoever factorizes it
    double *row_slope; // equations, N s per m/s
    bool symmetric;    // so are its factors
    // Scratch of single calls
    double *work, *momentum_change; // size
    double *line;                   // sprag_search_room
    sprag_scratch *scratch;
};

// Takes all arrays for the size and counts of *system from the scratch. SPRAG_NO_MEMORY.
sprag_result sprag_system_take(sprag_system *system, sprag_scratch *scratch);

// |D x|, D = diag(M)^-1/2
double sprag_system_weighed(const sprag_system *system, const double *x);

// Sets weight and momentum from free and the mass diagonal (size, kg). before: size, the velocity
// that momentum changes are measured from, which makes the residual independent of the frame of
// reference; NULL: 0.
void sprag_system_weigh(sprag_system *system, const double *mass_diagonal, const double *before);

// Sets the relative velocities of all points and equations at v.
void sprag_system_place(sprag_system *system, const double *v);

// v += alpha dv. Relative velocities are updated by their own changes: stiff laws would turn the
// rounding error of J v, unlike that of J dv, into impulses that no iteration can balance.
void sprag_system_move(sprag_system *system, double *v, double alpha, const double *dv);

// Work of a Newton update: the factorization, where it is known, and the search, in products of 6x6
// blocks.
double sprag_system_update_work(sprag_system *system);

// Takes impulses (points, equations; N s, N m s) that are not those of the laws.
void sprag_system_set_impulses(sprag_system *system, double (*impulse)[6],
                               const double *row_impulse);

// Sets the residual of the system's impulses at v, wherever they are from. Returns |D J' impulses|,
// or the momentum if that is more, N s / sqrt(kg).
double sprag_system_balance(sprag_system *system, const double *v);

// Sets the residual of other impulses at the velocity of the last balance.
void sprag_system_rebalance(sprag_system *system);

// Evaluates impulses and residual at v, where the system must have been placed or moved. stiction:
// m/s. bound: normal impulses (N s, one per point) that bound friction, frozen; NULL: coupled.
// Returns |D r|, relative to the larger of the external impulses and the contact and row impulses.
double sprag_system_residual(sprag_system *system, const double *v, double stiction,
                             const double *bound);

// Rows alone have a symmetric matrix.
static inline bool sprag_system_is_symmetric(const sprag_system *system)
{
    return system->points == 0 && !system->gyroscopic;
}

// Assembles and factorises the derivative of the residual at its last evaluation.
// symmetric: it is, or is to be taken so.
sprag_result sprag_system_factor(sprag_system *system, double stiction, const double *bound,
                                 bool symmetric);

// dv = -(dr/dv)^-1 r, and the changes of slip and rate that go with it.
void sprag_system_update(sprag_system *system, double *dv);

// Sets the changes of slip and rate that go with any dv.
void sprag_system_change(sprag_system *system, const double *dv);

// Counts the last update and adds it to the history.
void sprag_system_log(const sprag_system *system, double stiction, sprag_stats *stats);

// Returns whether a row reaches or leaves a bound along the update.
bool sprag_system_reaches_bound(const sprag_system *system);

// The exact minimum, for frozen bounds, along v + alpha dv, alpha in (0, 1] (search.c). The
// system must have been placed at v or moved there.
double sprag_system_search(sprag_system *system, const double *v, const double *dv, double stiction,
                           const double *bound);

// Number of doubles that a search needs.
size_t sprag_search_room(int points, int cones, int equations);

// The slip of a cone in the metric of its shape, at the last residual, its change, and the
// tolerance to measure them by. Returns false if the cone carries no force before nor after the
// update.
bool sprag_system_cone_slip(const sprag_system *system, int point, int cone, double stiction,
                            double slip[2], double change[2], double *tolerance);

#endif
