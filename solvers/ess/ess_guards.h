// The guards of an event-selected system while it is integrated: labels, which of them can be
// crossed, in which direction, and their values and rates.
#ifndef SPRAG_ESS_GUARDS_H
#define SPRAG_ESS_GUARDS_H

#include "ess.h"

// The edge of a band has some width, so that what was found by a root is within.
#define SPRAG_GUARDS_EDGE (1 + 1e-6)

typedef struct sprag_guards {
    const sprag_ess_problem *problem;
    int count;
    double *label;     // the caller's
    const double *eps; // depth of the band
    bool *armed;       // can be crossed
    bool *fresh;       // armed, but not yet seen before the guard
    double *sign;      // h is watched for growing beyond 0: 1, for falling: -1; not watched: 0
    double *depth;     // eps of those watched; of others, no h is beyond it
    int *list, *place; // the fresh ones; where each is in it
    int listed;
    int *reset, *reset_start; // entries of problem->reset that crossing a guard brings about
    bool *final;              // one-way, and armed by no other: once crossed, it stays so
    bool any_final;
    int entries, *column; // the last row of Dh
    double *value, *point;
    long *passes, *values, *rows; // counts of the statistics
    int bad_row;                  // guard whose row cannot be; SPRAG_ESS_NO_GUARD: none
} sprag_guards;

// false: no memory. label and eps are used where they are.
bool sprag_guards_take(sprag_guards *guards, const sprag_ess_problem *problem, double *label,
                       const double *eps, sprag_ess_stats *stats, sprag_scratch *scratch);

enum { SPRAG_SCAN_BLOCK = 16 }; // of guards that are scanned at once

// How many values of h there must be room for: whole blocks of the scan.
int sprag_guards_room(int guards);

// Arms what labels say can be crossed.
void sprag_guards_arm_all(sprag_guards *guards);

// 1 or -1: the sign of h that is before the guard is the opposite.
static inline double sprag_guards_side(const sprag_guards *guards, int guard)
{
    const bool *two_way = guards->problem->two_way;
    return two_way && two_way[guard] && guards->label[guard] != 0 ? -1 : 1;
}

void sprag_guards_values(sprag_guards *guards, const double *x, double *h);
double sprag_guards_value(sprag_guards *guards, const double *x, int guard);

// Dh w of one guard.
double sprag_guards_rate(sprag_guards *guards, const double *x, int guard, const double *w);

// The row behind that rate, for more of them. Its entries: 0 where differences are all there is.
int sprag_guards_row(sprag_guards *guards, const double *x, int guard);

// Changes labels and arms or disarms. What is armed is fresh until sprag_guards_seen.
void sprag_guards_cross(sprag_guards *guards, int guard);
void sprag_guards_seen(sprag_guards *guards, int guard);
void sprag_guards_unseen(sprag_guards *guards, int guard);

// Labels after a crossing; nothing is armed.
void sprag_guards_relabel(const sprag_guards *guards, int guard, double *label);

// Which guards that are watched are worth a look; those whose values are not finite are. Lists have
// room for one more than there are guards.
typedef struct sprag_scan {
    double soon;           // so many times the way on which h is scanned; INFINITY: forever
    bool edges;            // of bands are to be reached; else the guards themselves
    int *near, nears;      // in their bands at the end, and crossed soon at the rate on that way
    int *reached, reaches; // on the way, with some margin
    long receding, far;    // others that are in their bands at the end
} sprag_scan;

// scan.c. middle NULL: none are reached.
void sprag_guards_scan(const sprag_guards *guards, const double *start, const double *middle,
                       const double *end, sprag_scan *scan);

#endif
