// Event-selected systems: x' = f(x, b), where label b_k tells on which side of guard h_k(x) = 0 the
// flow is. f is smooth for constant labels and jumps where a label changes; x is continuous, but
// where the problem gives a guard a reset map.
// Contacts that are made and broken are such guards, many at nearly the same time.
//
// Labels change at events only, never because of the sign of a rounded h. Between events a method
// for smooth equations steps (smooth.h). An event is reached
// - by projection: once -eps <= h_k < 0, along x + t f to where h_k + t Dh_k f = 0 (Anderson,
//   Revzen: Rapid Integrator for a Class of Multi-Contact Systems, arXiv 2402.00279, section 3,
//   figure 2 and the listing there), or, of third order, along the parabola through f at half that
//   time;
// - by location: as a root of h_k on the dense output of a step. Projections that are refused end
//   there, too.
//
// Directions are carried along by the B-derivative of the flow, for one guard the saltation matrix
// (Burden, Sastry, Koditschek, Revzen: SIAM J. Appl. Dyn. Syst. 15, 2016; Council, Revzen, Burden:
// J. Comput. Nonlinear Dyn. 17, 2022).
//
// Units: x, h and time may have any; "s" stands for that of time. Arrays are the caller's: n is the
// number of states, m that of guards; matrices are row by row. Callbacks report an error by a value
// that is not finite: the integration then ends with SPRAG_BAD_PROBLEM. No function prints, keeps
// global state or ends the program; threads may integrate at once, each with a scratch of its own.
//
// For very many weak contacts, and without derivatives, an ordinary adaptive integrator that
// ignores events is a good choice, too.
#ifndef SPRAG_ESS_H
#define SPRAG_ESS_H

#include <stdbool.h>

#include "result.h"
#include "scratch.h"
#include "smooth.h"

SPRAG_BEGIN_C

// An entry of the reset matrix: crossing guard `crossed` arms `guard` (it can be crossed from now
// on; its label becomes 0, that of a two-way guard stays) or disarms it (it cannot be crossed, its
// label stays).
typedef struct sprag_ess_reset {
    int crossed, guard;
    bool arm;
} sprag_ess_reset;

enum { SPRAG_ESS_RANGES = 2 };

// An event-selected system of n states and m guards; the caller fills it. Callbacks get `user`,
// have no side effects and return the same for the same arguments; x is always finite.
typedef struct sprag_ess_problem {
    int states, guards; // n, m
    void *user;

    // The field f (n) for labels (m) of 0 and 1, units of x per s (section 2.1, f(x, b)).
    void (*field)(void *user, const double *x, const double *label, double *f);

    // Values of `count` guards: h[i] is that of guard which[i]; with which NULL, of all m in order.
    // All are asked for twice a step; for a guard that is farther than a step leads, any value of
    // the right sign and that size will do. has_bounds: values asked for all guards may be nearer
    // to 0 than h is wherever h is beyond twice its band; guards that a step reaches are then asked
    // for again, one by one.
    void (*guard)(void *user, const double *x, const int *which, int count, double *h);
    bool has_bounds;

    // The entries of x that one guard reads, in ranges: entries range[2 i] to range[2 i + 1] - 1.
    // Returns the number of ranges, at most SPRAG_ESS_RANGES. Give it if a guard reads few of many
    // states: where one guard is asked for, the others are not set. NULL: all are read.
    int (*reads)(void *user, int guard, int *range);

    // The row of Dh of one guard: columns and values (units of h per unit of x) of its entries that
    // are not 0. Returns their number, at most row_entries (0: n, which takes much memory if n is
    // large). NULL: differences of h.
    int (*row)(void *user, const double *x, int guard, int *column, double *value);
    int row_entries;

    // Df (n) = D_x f(x, label) v, for directions and for stiff methods. NULL: differences of f.
    void (*tangent)(void *user, const double *x, const double *label, const double *v, double *Df);

    // change (n) = f(x, label with `guard` crossed) - f(x, label), units of x per s. Give it if it
    // costs much less than f: all events of a step are then resolved together, within the
    // tolerance, and the cost of a step is linear in m. NULL: events are resolved one by one.
    void (*jump)(void *user, const double *x, const double *label, int guard, double *change);

    const double *eps; // m, units of h: depth of the band before each guard; NULL: options' eps

    // m, units of h: how far h may be on the other side of a guard than its label says; NULL:
    // options' label_tolerance.
    const double *label_tolerance;

    // m, units of h per s: bounds of |dh/dt| along the flow, for all labels; INFINITY: not known.
    // NULL: none is known. No crossing of a guard with a bound is lost, however long a step is and
    // however fast h varies, but those that lead less than the label's tolerance beyond the guard
    // and back. Events are then resolved one by one. A bound that does not hold is a bad value.
    const double *rate_bound;

    // m: a two-way guard is crossed upwards, then downwards, and so on; its label is 1 above. NULL:
    // none is. Other guards are crossed upwards, once, until another guard arms them again.
    const bool *two_way;

    const sprag_ess_reset *reset; // the reset matrix, by its entries
    int resets;

    // x_after (n) = R(x): the state behind `guard`, which the flow reaches at x; label: before it.
    // It must be on the sides of the other guards that their labels say. Events are then resolved
    // one by one. A ball that bounces has a one-way guard with a reset that arms the guard itself;
    // a two-way guard is mapped at each crossing, upwards and downwards. NULL: x is continuous at
    // all guards.
    void (*reset_map)(void *user, const double *x, const double *label, int guard, double *x_after);
    const bool *is_mapped; // m: guards with a reset map; NULL: all, if there is one

    // DRv (n) = D_x R(x) v, for directions. NULL: differences of the reset map.
    void (*reset_tangent)(void *user, const double *x, const double *label, int guard,
                          const double *v, double *DRv);

    // m: crossing one of these ends the integration, just behind it. NULL: none does.
    const bool *terminal;

    // Asked before every step, rejected ones too, and for each value of a guard with a rate_bound.
    // true ends the integration as max_steps does.
    // NULL: never.
    bool (*should_stop)(void *user, double time);
} sprag_ess_problem;

typedef enum sprag_ess_mode {
    SPRAG_ESS_MIDPOINT, // project along a parabola: error O(eps^3)
    SPRAG_ESS_FIRST,    // project along a line: O(eps^2)
    SPRAG_ESS_LOCATE,   // locate every event, project none
} sprag_ess_mode;

// Options, set by the caller; sprag_ess_defaults has the defaults.
typedef struct sprag_ess_options {
    sprag_ess_mode mode;
    const sprag_smooth *smooth; // method for smooth equations; NULL: dopri5
    bool adaptive;              // steps are chosen by the tolerance; else all are `step` long
    double step;                // s, the longest step: of guards without a rate_bound, at most a
                                // quarter of the time between two crossings of one
    double first_step;          // s, the first step if adaptive; 0: estimated from x and f
    double relative_tolerance;  // of a step and of a projection: 1 is the root of mean square of
    double absolute_tolerance;  // error_i / (absolute scale_i + relative |x_i|)
    const double *scale;        // n, units of x; NULL: 1
    double eps;                 // units of h, depth of the bands if problem.eps is NULL
    bool trust_eps;             // project from h = -eps on even if the tolerance is not met
    bool strict; // section 2.1, requirement 4 (Dh f > 0 in the band): end the integration if a
                 // one-way guard recedes in its band: at a point, or from sample to sample. In all
                 // modes; steps then end where they enter a band
    double label_tolerance; // units of h, if problem.label_tolerance is NULL; INFINITY: labels
                            // are not checked. A guard that is crossed for good may also be as
                            // far before h = 0 as its own crossing left it
    int samples;            // 1 to 8 inside a step; more find guards crossed forth and back
    double corner_time;     // s, events within this time are one corner to directions
    int zeno_events;        // crossings of one guard within zeno_time; more end the integration
    double zeno_time;       // s; 0: one step
    long max_steps;         // of steps and projections; more end the integration
} sprag_ess_options;

// Mode midpoint, dopri5, fixed steps of `step` (s), tolerances 1e-6 and 1e-9, eps 0.01, labels'
// tolerance 1e-6, 1 sample, corner time 1e-10 s, 100 events in the time of a step, 1e9 steps.
SPRAG_SOLVER_API sprag_ess_options sprag_ess_defaults(double step);

typedef struct sprag_ess_event {
    double time; // s
    int guard;
    int direction;  // 1 upwards, -1 downwards
    double rate;    // Dh f before the event, units of h per s; has the sign of direction
    bool projected; // reached by projection, not by location
} sprag_ess_event;

// A part of the trajectory that has one formula.
typedef struct sprag_ess_piece sprag_ess_piece;

// State x (n) at a time (s) within the piece.
SPRAG_SOLVER_API void sprag_ess_piece_at(const sprag_ess_piece *piece, double time, double *x);

// Further results; the caller owns the arrays. NULL or 0: not wanted.
typedef struct sprag_ess_output {
    const double *time; // s, ascending, from start to end
    int times;
    double *state; // times x n: the states at these times
    int reached;   // out: how many of these times were reached

    sprag_ess_event *event; // out: the first event_room events
    double *event_state;    // out: event_room x n, the states there
    int event_room;

    // Dense output: called for every piece as it is accepted. The piece is valid during the call.
    void *user;
    void (*observe)(void *user, double start, double end, const sprag_ess_piece *piece);

    // Vectors that the B-derivative of the flow is applied to: v' = D_x f v between events, the map
    // of sprag_ess_corner at them. With any, events are resolved one by one. The n unit vectors
    // become the columns of the state transition matrix, if the flow is differentiable: where
    // several guards are crossed at once it is so by direction alone, and stats->corners > 0.
    int directions;
    double *direction; // directions x n, units of x: in at the start, out at the end
} sprag_ess_output;

// Reasons why a projection was refused; an ordinary step was taken instead.
typedef enum sprag_ess_refusal {
    SPRAG_ESS_RECEDING,   // the flow leads away from the guard
    SPRAG_ESS_GRAZING,    // the rate changes too much on the way
    SPRAG_ESS_TOO_LONG,   // longer than a step
    SPRAG_ESS_INACCURATE, // not within the tolerance
    SPRAG_ESS_PAST_END,   // it would end after the end of the integration
    SPRAG_ESS_NOT_FIRST,  // a guard outside its band would be crossed first
    SPRAG_ESS_REFUSALS,
} sprag_ess_refusal;

typedef enum sprag_ess_stop {
    SPRAG_ESS_DONE,      // the end was reached
    SPRAG_ESS_SLIDING,   // f points at a guard from both sides
    SPRAG_ESS_ZENO,      // a guard is crossed again and again
    SPRAG_ESS_MISMATCH,  // the flow is below a guard that is labelled as crossed for good, or above
                         // one that is not crossed
    SPRAG_ESS_NOT_LIVE,  // a guard recedes in its band, and options are strict
    SPRAG_ESS_TINY_STEP, // the tolerance is not met by any step, or values are not finite
    SPRAG_ESS_MANY_STEPS, // max_steps were taken, or should_stop returned true
    SPRAG_ESS_BAD_VALUE,  // a callback returned an invalid value
    SPRAG_ESS_LAST_EVENT, // a terminal guard was crossed
} sprag_ess_stop;

SPRAG_SOLVER_API const char *sprag_ess_stop_name(sprag_ess_stop stop); // "done", "sliding", ...

// Statistics of one integration, set by sprag_ess_integrate.
typedef struct sprag_ess_stats {
    sprag_ess_stop stop;
    int stop_guard;       // the guard that ended it; SPRAG_ESS_NO_GUARD: none in particular
    double time;          // s, reached
    double next_step;     // s, the step that would come next
    long steps, rejected; // accepted and rejected steps
    long field_values;    // calls of field
    long guard_passes;    // calls of guard for all guards
    long guard_values;    // calls of guard for one guard
    long rows;            // calls of row
    long events, projected, located;
    long overdue; // located ones that were crossed at once: the flow was already behind the guard
    long largest_group;               // most events that one step or projection resolved
    long touches;                     // guards crossed forth and back between two samples
    long refused[SPRAG_ESS_REFUSALS]; // projections, by reason
    long corners;                     // groups of events within corner_time of one another
    double smallest_gap;              // s, between two events
} sprag_ess_stats;

enum { SPRAG_ESS_NO_GUARD = -1 };

// Integrates from start to end (s). x (n): in, at the start; out, at time stats->time. label (m):
// in and out; NAN asks for the side of the guard that x is on. options: `step` has no default.
// output, stats: NULL if not wanted. message (size bytes; NULL: not wanted): describes a bad
// problem or an early end; it is empty otherwise.
//
// Returns SPRAG_OK at the end; SPRAG_NOT_CONVERGED if it ended early, for the reason stats->stop:
// the results up to there are valid; SPRAG_BAD_PROBLEM if an argument is invalid (nothing was done)
// or a callback returned an invalid value; SPRAG_NO_MEMORY.
SPRAG_SOLVER_API sprag_result sprag_ess_integrate(const sprag_ess_problem *problem,
                                                  const sprag_ess_options *options, double start,
                                                  double end, double *x, double *label,
                                                  sprag_ess_output *output, sprag_scratch *scratch,
                                                  sprag_ess_stats *stats, char *message, int size);

// The B-derivative of the flow through `guards` that are all crossed at x: an offset v (n, units of
// x) before them becomes w (n) behind them, both at the time of the nominal crossing:
//
//     A = {}, w = v; as long as guards are left: j with the least s_j = -Dh_j w / (Dh_j f_A),
//     w <- w - s_j (f_{A+j} - f_A), A <- A + j
//
// (Council, Revzen, Burden 2022, the algorithm of section 2; Burden et al. 2016). It is piecewise
// linear in v, continuous and positively homogeneous; linear if all offsets cross the guards in one
// order.
//
// label (m): before the guards. order (guards; NULL if not wanted): the order in which v crosses
// them. affine: the guards need not be at h = 0 at x; v is then a finite offset, and the fields are
// those at x. Returns SPRAG_OK, SPRAG_BAD_PROBLEM, SPRAG_NO_MEMORY, or SPRAG_NOT_CONVERGED if the
// flow approaches none of the guards that are left; message as above.
SPRAG_SOLVER_API sprag_result sprag_ess_corner(const sprag_ess_problem *problem, const double *x,
                                               const double *label, const int *guard, int guards,
                                               bool affine, const double *v, double *w, int *order,
                                               sprag_scratch *scratch, char *message, int size);

SPRAG_END_C

#endif
