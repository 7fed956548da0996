// Contacts by the hundred between the same two bodies, of which a few stay and stand for the
// others.
#ifndef SPRAG_REDUCE_H
#define SPRAG_REDUCE_H

#include "problem.h"
#include "scratch.h"

// Contacts with one surface between the same two bodies: more than the first number are reduced to
// the second, or to those along 26 directions and the deepest. Less: fewer contacts, of which each
// stands for more.
enum { SPRAG_REDUCE_FROM = 100, SPRAG_REDUCE_TO = 40 };

// Contacts of all for each of their bodies, of which they have at least the second number: with
// more in all, each two bodies with one surface get an equal part, at least the third. Less: fewer
// contacts, as above; more: a step takes longer (advance: 3000 contacts of 30 bodies 0.14 s, 4500
// 0.19 s).
enum { SPRAG_REDUCE_OF_BODY = 100, SPRAG_REDUCE_BODIES = 20, SPRAG_REDUCE_LEAST = 6 };

// Lets a few contacts stand for all between the same two bodies with one surface, where these are
// by the hundred, or fewer where all contacts are by the thousand. Moves those to the front, in
// their order, and returns their number. *kept: their former indices; NULL if all stay. Out of
// memory: the scratch has failed.
int sprag_reduce_contacts(sprag_contact *contact, int count, int **kept, sprag_scratch *scratch);

// ---- outlines

// Points in one plane: those within their outline, or on it, carry nothing that its corners do not.
typedef struct sprag_outline_point {
    double at[3], normal[3]; // m, unit
    double gap;              // m, equal in one plane
    enum { SPRAG_UNSEEN, SPRAG_ON_PLANE, SPRAG_WITHIN, SPRAG_CORNER } state; // set by:
} sprag_outline_point;

typedef struct sprag_outline {
    double off;    // m, of a point from the plane of another one, and of gaps, in one plane
    double turned; // 1, by which the normals of points in one plane may differ
    double bend;   // m, of a corner from the line between its neighbours, more than this
} sprag_outline;

// Finds out which points are corners, in their planes, and which are within.
void sprag_find_corners(sprag_outline_point *point, int count, const sprag_outline *by);

#endif
