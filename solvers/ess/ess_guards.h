// The guards of an event-selected system during an integration: labels, which guards can be crossed
// and in which direction, their values and rates.
#ifndef SPRAG_ESS_GUARDS_H
#define SPRAG_ESS_GUARDS_H

#include "ess.h"
#include "ess_constants.h"

// The last row of Dh that was asked for. sprag_guards_row sets it.
typedef struct sprag_guard_row {
    int entries;   // 0: there is none, or rates are differences of h
    int *column;   // states
    double *value; // per unit of x
    int bad;       // a guard whose row was invalid; SPRAG_ESS_NO_GUARD: none was
} sprag_guard_row;

typedef struct sprag_guards {
    const sprag_ess_problem *problem;
    int count;         // guards
    double *label;     // the caller's: 0 or 1, changed by crossings
    const double *eps; // units of h, depth of the band of each guard
    bool *armed;       // can be crossed
    bool *unseen;      // armed, but h has not been seen before the guard since
    int *unseen_list, *unseen_place, unseen_count; // the unseen guards; the place of each there
    double *sign;  // of watched guards: 1 if h is to grow beyond 0, -1 if to fall; 0: not watched
    double *depth; // eps of watched guards; of others so low that no h is in the band
    int *reset, *reset_start; // problem->reset by crossed guard: its entries start at reset_start
    bool *permanent;          // one-way, and armed by no other guard: once crossed, stays so
    bool any_permanent;
    sprag_guard_row row;
    double *point;                // states: for difference quotients
    long *passes, *values, *rows; // counts of the statistics
} sprag_guards;

// Takes the memory. label and eps stay the caller's and must last. false: no memory.
bool sprag_guards_take(sprag_guards *guards, const sprag_ess_problem *problem, double *label,
                       const double *eps, sprag_ess_stats *stats, sprag_scratch *scratch);

enum { SPRAG_SCAN_BLOCK = 16 }; // guards that are scanned at once

// Values of h that an array must have room for: whole blocks of the scan.
int sprag_guards_room(int guards);

// Arms the guards that can be crossed according to their labels.
void sprag_guards_arm_all(sprag_guards *guards);

// 1 if the guard is crossed upwards next, -1 if downwards.
static inline double sprag_guards_side(const sprag_guards *guards, int guard)
{
    const bool *two_way = guards->problem->two_way;
    return two_way && two_way[guard] && guards->label[guard] != 0 ? -1 : 1;
}

// h of all guards, or of one.
void sprag_guards_values(sprag_guards *guards, const double *x, double *h);
double sprag_guards_value(sprag_guards *guards, const double *x, int guard);

// Dh w of one guard, by its row or by a difference of h. w: states.
double sprag_guards_rate(sprag_guards *guards, const double *x, int guard, const double *w);

// Evaluates the row of one guard into guards->row. Returns its entries; 0 without rows, and if the
// row is invalid.
int sprag_guards_row(sprag_guards *guards, const double *x, int guard);

// Crosses a guard: changes labels, arms and disarms. Guards that it arms are unseen until
// sprag_guards_seen.
void sprag_guards_cross(sprag_guards *guards, int guard);
void sprag_guards_seen(sprag_guards *guards, int guard);
void sprag_guards_unseen(sprag_guards *guards, int guard);

// Changes labels (count) as crossing the guard does; arms nothing.
void sprag_guards_relabel(const sprag_guards *guards, int guard, double *label);

// A search among the watched guards for those that may be crossed. Guards whose values are not
// finite are listed, too. Lists have room for one more than there are guards.
typedef struct sprag_scan {
    double lookahead;    // in: multiple of the way from start to end; INFINITY: all in their bands
    bool to_bands;       // in: `reached` counts the edges of bands; else the guards themselves
    int *due, due_count; // in their bands at the end, and beyond 0 within the lookahead
    int *reached, reached_count; // may be reached on the way, with a margin
    long receding, slow; // others in their bands at the end: leaving, approaching too slowly
} sprag_scan;

// scan.c: scans h (guards) at the start, the middle and the end of a way. middle NULL: the search
// is for due guards only.
void sprag_guards_scan(const sprag_guards *guards, const double *start, const double *middle,
                       const double *end, sprag_scan *scan);

#endif
