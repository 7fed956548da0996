// Event-selected systems: x' = f(x, b), where label b_k tells on which side of guard h_k(x) = 0 the
// flow is. f is smooth for fixed labels and jumps where a label changes; x does not. Contacts that
// are made and broken are such guards, many at nearly the same time.
//
// Labels are frozen: they change at events only, never because of the sign of a rounded h. Between
// events a method for smooth equations steps (smooth.h). An event is reached
// - by projection: once -eps <= h_k < 0, along x + t f to where h_k + t Dh_k f = 0 (Anderson,
//   Revzen: Rapid Integrator for a Class of Multi-Contact Systems, listing 1), or, of third order,
//   along the parabola through f at half that time;
// - by location: as root of h_k on the dense output of a step. Projections that are refused end
//   there too.
// Directions are carried along: the B-derivative of the flow (Burden, Sastry, Koditschek, Revzen:
// SIAM J. Appl. Dyn. Syst. 15, 2016; Council, Revzen, Burden: J. Comput. Nonlinear Dyn. 17, 2022).
//
// For very many weak contacts, and no derivative wanted, an ordinary adaptive integrator that
// ignores events is a fine choice too.
#ifndef SPRAG_ESS_H
#define SPRAG_ESS_H

#include <stdbool.h>

#include "result.h"
#include "scratch.h"
#include "smooth.h"

// Crossing a guard arms another (it can be crossed from now on; its label is 0, that of a two-way
// guard stays) or disarms it (it cannot be crossed, its label stays).
typedef struct sprag_ess_reset {
    int crossed, guard;
    bool arm;
} sprag_ess_reset;

// n states, m guards. Callbacks get user, change nothing else and give the same for the same; x is
// always finite.
typedef struct sprag_ess_problem {
    int states, guards; // n, m
    void *user;

    // f (n) for labels (m) of 0 and 1.
    void (*field)(void *user, const double *x, const double *label, double *f);

    // h of count guards: h[i] = h of guard which[i]; which NULL: all m, in their order. That is
    // asked for twice a step; far before a guard, farther than a step leads, any value there will
    // do.
    void (*guard)(void *user, const double *x, const int *which, int count, double *h);

    // Row of Dh of one guard: columns and values of its entries that are not zero. Returns their
    // number, row_entries at most (0: n, which takes room where n is large). NULL: differences of
    // h.
    int (*row)(void *user, const double *x, int guard, int *column, double *value);
    int row_entries;

    // Df (n) = D_x f(x, label) v. For directions and for stiff methods. NULL: differences of f.
    void (*tangent)(void *user, const double *x, const double *label, const double *v, double *Df);

    // change (n) = f(x, label with `guard` crossed) - f(x, label). Where it costs much less than f,
    // give it: all events of a step are then resolved together, within the tolerance, and the cost
    // of a step is linear in m. NULL: events are resolved one by one.
    void (*jump)(void *user, const double *x, const double *label, int guard, double *change);

    const double *eps; // m, in units of h, depth of the band before each guard; NULL: options' eps

    // m. A two-way guard is crossed upwards, then downwards, and so on; its label is 1 above. NULL:
    // none is. Others are crossed upwards, once, until another guard arms them again.
    const bool *two_way;

    const sprag_ess_reset *reset; // the reset matrix, by its entries
    int resets;

    const bool *last; // m. Crossing one of these ends the integration, behind it. NULL: none does

    // Asked before every step, rejected ones too: true ends the integration as max_steps does.
    // NULL: never.
    bool (*enough)(void *user, double time);
} sprag_ess_problem;

typedef enum sprag_ess_mode {
    SPRAG_ESS_MIDPOINT, // project along a parabola: error O(eps^3)
    SPRAG_ESS_FIRST,    // project along a line: O(eps^2)
    SPRAG_ESS_LOCATE,   // no projection
} sprag_ess_mode;

typedef struct sprag_ess_options {
    sprag_ess_mode mode;
    const sprag_smooth *smooth; // NULL: dopri5
    bool adaptive;              // steps by the tolerance; else all as long as `step`
    double step;                // s, the longest
    double first_step;          // s, if adaptive; 0: chosen
    double relative_tolerance;  // of a step and of a projection, root of mean square of
    double absolute_tolerance;  //   error_i / (absolute scale_i + relative |x_i|)
    const double *scale;        // n; NULL: 1
    double eps;                 // of guards, where problem.eps is NULL
    bool trust_eps;             // project from h = -eps on whatever the tolerance says
    bool strict;                // end where a one-way guard in its band recedes
    int samples;                // 1..8, of all guards inside a step, lest a touch be missed
    double corner_time;         // s, events this near to each other are one corner to directions
    int zeno_events;            // of one guard in zeno_time: more of them end the integration
    double zeno_time;           // s; 0: one step
    long max_steps;
} sprag_ess_options;

// Midpoint, dopri5, fixed steps of `step`, tolerances 1e-6 and 1e-9, eps 0.01, 1 sample, corner
// time 1e-10, zeno 100 events in a step, 1e9 steps.
sprag_ess_options sprag_ess_defaults(double step);

typedef struct sprag_ess_event {
    double time; // s
    int guard;
    int direction;  // 1 upwards, -1 downwards
    double rate;    // Dh f before it, units of h per s; its sign is that of direction
    bool projected; // not located
} sprag_ess_event;

// A part of the trajectory with a formula of its own.
typedef struct sprag_ess_piece sprag_ess_piece;

// State x (n) at a time within the piece.
void sprag_ess_piece_at(const sprag_ess_piece *piece, double time, double *x);

// What else is wanted; all of the caller. NULL or zero: not.
typedef struct sprag_ess_output {
    const double *time; // s, ascending
    int times;
    double *state; // times x n
    int reached;   // times that there is a state for

    sprag_ess_event *event; // the first event_room of them
    double *event_state;    // event_room x n
    int event_room;

    void *user; // for dense output: every piece, as it is accepted; valid during the call
    void (*observe)(void *user, double start, double end, const sprag_ess_piece *piece);

    int directions;
    double *direction; // directions x n; on entry at the start, on return at the end. With any,
                       // events are resolved one by one, jumps or not
} sprag_ess_output;

// Why a projection was not done; an ordinary step was.
typedef enum sprag_ess_refusal {
    SPRAG_ESS_RECEDING,   // the flow leads away from the guard
    SPRAG_ESS_GRAZING,    // the rate changes too much on the way
    SPRAG_ESS_TOO_LONG,   // longer than a step
    SPRAG_ESS_INACCURATE, // not within the tolerance
    SPRAG_ESS_PAST_END,   // the end of the integration comes first
    SPRAG_ESS_NOT_FIRST,  // so does a guard outside its band
    SPRAG_ESS_REFUSALS,
} sprag_ess_refusal;

typedef enum sprag_ess_stop {
    SPRAG_ESS_DONE,
    SPRAG_ESS_SLIDING,    // f points at the guard from both sides
    SPRAG_ESS_ZENO,       // a guard is crossed again and again
    SPRAG_ESS_MISMATCH,   // below a guard that counts as crossed, or above one that does not
    SPRAG_ESS_NOT_LIVE,   // a guard recedes, and options are strict
    SPRAG_ESS_TINY_STEP,  // the tolerance cannot be had, or values are not finite
    SPRAG_ESS_MANY_STEPS, // max_steps, or `enough`
    SPRAG_ESS_BAD_VALUE,  // a callback gave what cannot be
    SPRAG_ESS_LAST_EVENT, // a guard that ends the integration was crossed
} sprag_ess_stop;

const char *sprag_ess_stop_name(sprag_ess_stop stop); // "done", "sliding", ...

typedef struct sprag_ess_stats {
    sprag_ess_stop stop;
    int stop_guard;   // SPRAG_ESS_NO_GUARD: none in particular
    double time;      // s, reached
    double next_step; // s, that would come next
    long steps, rejected;
    long field_values, guard_passes, guard_values, rows; // calls; passes are of all guards
    long events, projected, located, overdue; // overdue: crossed at once, the flow was behind
    long largest_group;                       // events that one step or projection resolved
    long touches;                             // found between samples
    long refused[SPRAG_ESS_REFUSALS];
    long corners;        // groups of events within corner_time of one another
    double smallest_gap; // s, between two events
} sprag_ess_stats;

enum { SPRAG_ESS_NO_GUARD = -1 };

// Integrates from start to end (s). x (n): at the start on entry, at time stats->time on return.
// label (m): in and out; a NAN asks for the side of the guard that x is on. options: step is the
// one without a default. output, stats: NULL for none. message (size bytes, NULL for none) tells
// what a bad problem or an early end is about.
//
// SPRAG_NOT_CONVERGED: ended early, stats->stop tells why; what was reached is valid.
// SPRAG_BAD_PROBLEM: nothing was done, or a callback gave what cannot be.
sprag_result sprag_ess_integrate(const sprag_ess_problem *problem, const sprag_ess_options *options,
                                 double start, double end, double *x, double *label,
                                 sprag_ess_output *output, sprag_scratch *scratch,
                                 sprag_ess_stats *stats, char *message, int size);

// B-derivative of the flow through `guards` that are crossed at x all at once: where an offset v
// (n) before them leads, w (n), both referred to the instant of the nominal crossing. Piecewise
// linear in v, continuous, positively homogeneous; linear if one order of crossing is left.
// label (m): before. order (guards; NULL for none): as v crosses them.
// affine: guards need not be at h = 0 at x. v is then an offset of that size, not infinitesimal,
// and the flow is that of the fields at x.
sprag_result sprag_ess_corner(const sprag_ess_problem *problem, const double *x,
                              const double *label, const int *guard, int guards, bool affine,
                              const double *v, double *w, int *order, sprag_scratch *scratch,
                              char *message, int size);

#endif
