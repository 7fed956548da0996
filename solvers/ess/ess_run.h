// One integration of an event-selected system under way. ess.c has the interface, start.c the
// start, loop.c the loop, run.c what they share, project.c projections, locate.c roots inside a
// step, bounded.c those of guards with a bound on their speed, queue.c their order, cross.c the
// crossing of guards, corner.c the B-derivative, guards.c labels and rates, scan.c the search for
// guards that a step may reach.
#ifndef SPRAG_ESS_RUN_H
#define SPRAG_ESS_RUN_H

#include "corner.h"
#include "ess_constants.h"
#include "ess_guards.h"

// A part of the trajectory: y(t) = y + t f + t^2 bend, t since `start`, or the dense output of a
// step. Behind event j, at t_j, the velocity changes by the jump J_j of the field: the sum over all
// events so far, t sum J_j - sum t_j J_j, is added to x. Such a change is called a kink.
struct sprag_ess_piece {
    int states, size;           // of x; of y, which is x and then the directions
    double start, length;       // s
    const double *y, *f;        // size: at the start
    const double *bend;         // size: half the second derivative; NULL: 0
    const sprag_smooth *smooth; // not NULL: y(t) is its dense output
    const double *room;         // of the dense output
    double step;                // s, of the dense output
    int kinks;                  // events that the piece has gone through
    const double *kink_time;    // s, t_j since the start
    const double *kink;         // 2 states: sum J_j and sum t_j J_j, after each event
    double *full;               // size, for y where only x is wanted
};

// A guard that a piece may cross. project.c or locate.c makes it, cross.c crosses it.
typedef struct sprag_ess_candidate {
    int guard, entries; // of its row of Dh
    double side;        // 1 or -1, as sprag_guards_side
    double time;        // s, since the start of the piece; INFINITY: refused
    double rate;        // per s, of h in the direction of crossing, at that time
    double value;       // projections: h in that direction at the start of the piece
    bool exact;         // located ones: the root has been solved to SPRAG_ESS_EXACT
} sprag_ess_candidate;

// A candidate with the changes by all kinks so far. cross.c updates it.
typedef struct sprag_ess_moved {
    int place;         // among the candidates
    double time, rate; // s, per s
} sprag_ess_moved;

// A guard that may be reached.
typedef struct sprag_ess_pending {
    double time;      // estimated: s (projections), or a part of the step
    int guard, place; // of its bracket
} sprag_ess_pending;

// A bracket of the first root of h + level, in parts of a step. locate.c makes it from samples.
typedef struct sprag_ess_bracket {
    int guard;
    bool edge;            // the root is that of the edge of the band: level = eps; else 0
    bool touch;           // found between samples that are all before the guard
    double low, at_low;   // part; h + level there, <= 0
    double high, at_high; // part; h + level there, > 0
    double guess, slope;  // part and slope of the first secant
} sprag_ess_bracket;

// A point of the trajectory and its guards.
typedef struct sprag_ess_point {
    double *y, *f;   // size: state and its derivative
    double *h;       // values of all guards
    sprag_scan scan; // the guards that are due
} sprag_ess_point;

// An earlier point: how fast guards approach is estimated from the change of h since.
typedef struct sprag_ess_before {
    double *h;
    double since; // s, from there to now; 0: there is no earlier point
} sprag_ess_before;

// Work vectors, of no meaning between calls. start.c takes them.
typedef struct sprag_ess_work {
    double *error, *point, *middle, *bend, *full; // size
    double *shifted;                              // 2 states, of difference quotients
    double *smooth;                               // of the method for smooth equations
    double *delay; // s, of directions at a guard that resets the state
    bool *marked;  // a guard each, false between calls
} sprag_ess_work;

// Guards at equal distances within the step just taken. loop.c fills it, locate.c reads it.
typedef struct sprag_ess_samples {
    double *h[SPRAG_ESS_SAMPLES + 2]; // of all guards: at the start, between, at the end
    int *reached, reached_count;      // guards that the step may reach
    double length;                    // s, of the step
    bool to_edges;                    // it ends where it enters a band
} sprag_ess_samples;

// Guards in the order in which they may be reached: a binary heap (queue.c).
typedef struct sprag_ess_queue {
    int count;
    sprag_ess_pending *entry;   // a heap, the earliest first
    sprag_ess_bracket *bracket; // of as many as the group has room for
} sprag_ess_queue;

// The events that one piece resolves together.
typedef struct sprag_ess_group {
    int room;                       // of candidates: 1 if the problem gives no jumps
    int target;                     // how many to try at once: grows and shrinks with the error
    int candidates;                 // the earliest `room` are kept
    sprag_ess_candidate *candidate; // in no order
    size_t row_room;                // entries of a row
    int *column;                    // room rows of Dh, of the candidates
    double *value;
    double *largest;          // states: largest |Dh| of each column among those waiting
    int *waiting;             // places of candidates by time, that cannot be next yet
    sprag_ess_moved *active;  // candidates that may be next
    sprag_ess_moved *crossed; // candidates in the order of crossing
    double *kink_time, *kink; // of the piece
    double *label;            // labels before the piece
} sprag_ess_group;

// Counts events, to find Zeno behaviour. cross.c updates it.
typedef struct sprag_ess_zeno {
    double *since;     // s, of each guard: when counting began
    int *count;        // of each guard: crossings since
    double last_event; // s, of any guard
} sprag_ess_zeno;

typedef struct sprag_ess_run {
    const sprag_ess_problem *problem; // from the caller, up to message_size
    const sprag_ess_options *options;
    const sprag_smooth *smooth;
    sprag_ess_output *output;
    sprag_ess_stats *stats;
    char *message;
    int message_size;

    int states, size;              // of x; of y, which is x and then the directions
    int directions;                // vectors that the B-derivative is applied to
    sprag_field field;             // f of y, for the method for smooth equations
    sprag_guards guards;           // labels, which guards can be crossed
    sprag_corner corner;           // the B-derivative at the last events; unused without directions
    const double *band;            // eps of every guard, also where nothing is projected
    const double *label_tolerance; // of every guard, units of h
    double *behind; // of guards that are crossed for good, units of h: how far before them their
                    // crossing left the flow

    double time, end; // s, reached; where to stop
    double step;      // s, to be tried next

    sprag_ess_point now;  // at `time`
    sprag_ess_point next; // where the step or projection under way leads
    sprag_ess_before before;
    sprag_ess_samples samples;
    sprag_ess_queue queue;
    sprag_ess_group group;
    sprag_ess_zeno zeno;
    sprag_ess_work work;
} sprag_ess_run;

// fmax of numbers that are not NAN, inline.
static inline double sprag_ess_larger(double a, double b)
{
    return a > b ? a : b;
}

// ---- start.c

// Memory of a run. false: no memory.
bool sprag_ess_take(sprag_ess_run *run, double *label, sprag_scratch *scratch);

// Sets the run to x (states) at run->time, chooses labels that are NAN, and the first step.
void sprag_ess_begin(sprag_ess_run *run, const double *x);

// ---- loop.c

// Integrates up to run->end, or to where the run is ended early.
void sprag_ess_loop(sprag_ess_run *run);

// ---- run.c

// Ends the run early, with a message; the first call counts.
void sprag_ess_end(sprag_ess_run *run, sprag_ess_stop stop, int guard, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

// Whether the run has not been ended early.
bool sprag_ess_is_running(const sprag_ess_run *run);
bool sprag_ess_is_stopped(sprag_ess_run *run); // asks the caller

// Weighted root of mean square of an error (size); 1 is the tolerance.
double sprag_ess_norm(const sprag_ess_run *run, const double *error);

bool sprag_ess_finite(const double *x, int count);

// f (size) of y (size): the field, and its derivative along each direction.
void sprag_ess_value(sprag_ess_run *run, const double *y, double *f);

// Step of a central difference from y (count) along v, which balances rounding against the third
// derivative.
double sprag_ess_difference(const double *y, const double *v, int count);

// Makes run->field call sprag_ess_value.
void sprag_ess_set_field(sprag_ess_run *run);

// The straight piece y + t f from now on. length: s.
sprag_ess_piece sprag_ess_line(const sprag_ess_run *run, double length);

// y (size) at t (s) since the start of the piece.
void sprag_ess_path(const sprag_ess_piece *piece, double t, double *y);

// Accepts a piece: run->time becomes its end, and the caller's outputs get it.
void sprag_ess_emit(sprag_ess_run *run, sprag_ess_piece *piece);

// The lookahead of a scan over a way of `way` (s); INFINITY: all guards in their bands are due.
double sprag_ess_lookahead(const sprag_ess_run *run, double way);

// Sets h and scan of run->next at the point y, `since` (s) after now.
void sprag_ess_scan_at(sprag_ess_run *run, const double *y, double since);

// Makes h and scan of run->next those of now, after y and f of now have been set `since` (s) later.
void sprag_ess_arrive(sprag_ess_run *run, double since);

// ---- queue.c

void sprag_ess_push(sprag_ess_run *run, sprag_ess_pending new);
sprag_ess_pending sprag_ess_pop(sprag_ess_run *run);

// ---- bounded.c

// h of a guard in the direction of its crossing, along a way: part 0 to 1.
typedef struct sprag_ess_way {
    sprag_ess_run *run;
    double (*at)(const void *data, double part);
    const void *data;
    double most;      // units of h: bound of the change of h from part 0 to part 1
    double tolerance; // units of h: crossings that lead less far beyond may be missed
    bool too_fast;    // out: the bound does not hold
} sprag_ess_way;

typedef struct sprag_ess_place {
    double part, s; // of a way; h there
} sprag_ess_place;

// The first crossing on a way, by values s[0..last] at equal distances: it is between low and
// beyond. fresh: a guard that is unseen. false: there is none, or the bound does not hold, or the
// caller has stopped the run.
bool sprag_ess_first_crossing(sprag_ess_way *way, const double *s, int last, bool fresh,
                              sprag_ess_place *low, sprag_ess_place *beyond);

// Appends to the `count` guards that a step (s) reaches those whose bounds allow it to. Returns
// their number. Problems with bounds only.
int sprag_ess_add_bounded(sprag_ess_run *run, double length, int count);

// Whether a projection crosses no guard with a bound but the one it leads to, and that once.
bool sprag_ess_is_clear(sprag_ess_run *run, const sprag_ess_piece *piece);

// Ends the run: the bound of a guard does not hold.
void sprag_ess_end_too_fast(sprag_ess_run *run, int guard);

// ---- reset_map.c

bool sprag_ess_has_map(const sprag_ess_run *run, int guard);

// Crosses a guard at next.y and resets the state there: next is the point behind it.
void sprag_ess_cross_and_map(sprag_ess_run *run, int guard);

// ---- cross.c

// Adds a candidate, with the guards' last row, if it is one of the earliest. time: s; rate: per s;
// value: of h in the direction of crossing, for projections.
void sprag_ess_add_candidate(sprag_ess_run *run, int guard, double time, double rate, double value);

// Goes along the piece through its candidates: one or, if the problem gives jumps, many. false: a
// projection did not reach its guard, or would cross another first; the run is as it was.
bool sprag_ess_cross(sprag_ess_run *run, sprag_ess_piece *piece, bool projected);

// ---- project.c

// Projects onto the guards that are due. true: time has advanced.
bool sprag_ess_project(sprag_ess_run *run);

// ---- locate.c

// Makes candidates of the guards that the step just taken (s) crosses. Returns the part of the step
// for which they are all: up to where a band is entered, or a guard is crossed that is left out.
double sprag_ess_locate(sprag_ess_run *run, double step);

#endif
