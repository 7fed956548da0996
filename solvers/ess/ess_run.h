// What the parts of the integrator of event-selected systems share: one integration under way. A
// part each: ess.c the interface, run.c the loop, project.c projections, locate.c roots inside
// a step, queue.c which of them come first, cross.c the crossing itself, corner.c what it does to
// directions, guards.c labels and rates, scan.c which guards a step may reach.
#ifndef SPRAG_ESS_RUN_H
#define SPRAG_ESS_RUN_H

#include "corner.h"
#include "ess_guards.h"

enum { SPRAG_ESS_GROUP = 1024, SPRAG_ESS_CORNER = 128, SPRAG_ESS_SAMPLES = 8 };

// y(t), t since start: y + t f + t^2 bend, or the dense output of a step; then, behind each event
// that it went through, (t - t_j) J_j of all so far: t sum J_j - sum t_j J_j.
struct sprag_ess_piece {
    int states, size; // y is x, then directions
    double start, length;
    const double *y, *f, *bend; // bend NULL: 0
    const sprag_smooth *smooth; // not NULL: dense output
    const double *room;
    double step;
    int kinks;
    const double *kink_time, *kink; // t_j; both sums, after each
    double *full;                   // size
};

// A guard that a piece may cross.
typedef struct sprag_ess_candidate {
    int guard, entries; // of its row
    double side;        // 1 or -1, as sprag_guards_side
    double time;        // since the start of the piece; INFINITY: not any more
    double rate;        // of h in the direction of crossing, then
    double reach;       // of projections: h where the piece starts
    bool exact;         // of those located: the time
} sprag_ess_candidate;

// One as kinks have moved it since.
typedef struct sprag_ess_moved {
    int place; // among the candidates
    double time, rate;
} sprag_ess_moved;

// A guard that may be reached.
typedef struct sprag_ess_ahead {
    double time;
    int guard, place; // of its bracket
} sprag_ess_ahead;

typedef struct sprag_ess_bracket { // where a guard is first reached, in parts of a step
    int guard;
    bool edge;  // of its band; else the guard itself
    bool touch; // found between samples
    double low, at_low, high, at_high, guess, slope;
} sprag_ess_bracket;

typedef struct sprag_ess_run {
    const sprag_ess_problem *problem;
    const sprag_ess_options *options;
    const sprag_smooth *smooth;
    sprag_ess_output *output;
    sprag_ess_stats *stats;
    char *message;
    int message_size;

    int states, size; // of x; of y, which is x and then the directions
    sprag_field field;
    sprag_guards guards;
    double time, end, step; // step: to be tried next
    double last_error;      // of the last accepted step, for the controller

    double *y, *f, *h;  // at time
    sprag_scan here;    // what is near then
    sprag_scan next;    // where the step or projection under way leads
    double *h_before;   // at the start of the step that led here
    double step_before; // 0: no step did

    double *y1, *f1, *error, *point, *middle, *bend, *full, *room;
    double *shifted;                         // twice the states
    double *h_sample[SPRAG_ESS_SAMPLES + 2]; // start, between, end of the step just taken
    double *h_end;
    int *reached, reaches; // guards to look at in it
    bool *marked;
    const double *band; // eps of every guard, whatever the mode

    int aheads; // not yet candidates
    sprag_ess_ahead *ahead;
    sprag_ess_bracket *bracket; // of the first room_for
    int candidates, room_for;   // the earliest room_for are kept
    sprag_ess_candidate *candidate;
    size_t row_room;
    int *column; // room_for rows of Dh, row_room each
    double *value;
    double *steep;            // n: the largest of each column
    int *line;                // places of candidates by time
    sprag_ess_moved *active;  // those of them that may be next
    sprag_ess_moved *crossed; // as they were
    double *kink_time, *kink;
    double last_event;
    double *label; // before
    int group;     // how many events to try at once

    double *zeno_since; // per guard
    int *zeno_count;

    sprag_corner corner; // of the directions
    int directions;
} sprag_ess_run;

// fmax of numbers, which is a call.
static inline double sprag_ess_larger(double a, double b)
{
    return a > b ? a : b;
}

// run.c
bool sprag_ess_take(sprag_ess_run *run, double *label, sprag_scratch *scratch);
void sprag_ess_begin(sprag_ess_run *run, const double *x);
void sprag_ess_loop(sprag_ess_run *run);
void sprag_ess_end(sprag_ess_run *run, sprag_ess_stop stop, int guard, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
bool sprag_ess_going(const sprag_ess_run *run);
double sprag_ess_norm(const sprag_ess_run *run, const double *error); // 1 is the tolerance
bool sprag_ess_finite(const double *x, int count);
void sprag_ess_value(sprag_ess_run *run, const double *y, double *f);
sprag_ess_piece sprag_ess_line(const sprag_ess_run *run, double length); // y + t f, from here on
void sprag_ess_path(const sprag_ess_piece *piece, double t, double *y);
void sprag_ess_emit(sprag_ess_run *run, sprag_ess_piece *piece);

// At a point, some time since the last: h_end, and what is near. Then, where y and f are of there,
// to be there.
void sprag_ess_look(sprag_ess_run *run, const double *y, double since);
void sprag_ess_arrive(sprag_ess_run *run, double since);

// queue.c
void sprag_ess_push(sprag_ess_run *run, sprag_ess_ahead new);
sprag_ess_ahead sprag_ess_pop(sprag_ess_run *run);

// cross.c: keeps a candidate, with the guards' last row, if it is one of the earliest.
void sprag_ess_offer(sprag_ess_run *run, int guard, double time, double rate, double reach);
// Goes along the piece through its candidates, one or, where the problem knows jumps, many. false:
// a projection that did not reach its guard, or another first; nothing was done.
bool sprag_ess_cross(sprag_ess_run *run, sprag_ess_piece *piece, bool projected);

// project.c: true if time went on.
bool sprag_ess_project(sprag_ess_run *run);

// locate.c: guards that are crossed in the step just taken become candidates. Returns the part of
// the step for which that is all: where a band is entered, or a guard is crossed that is left out.
double sprag_ess_locate(sprag_ess_run *run, double step);

#endif
