// What a program asked ODE's collision for since its last step, per world: the calls, with their
// callbacks, and the pairs of geoms that those callbacks were given. A step that finds a pair about
// to touch can ask about it again.
//
// Nothing in it may outlive a geom: whoever stands in for dGeomDestroy and dSpaceDestroy says so
// before the real one runs (forget). What a program destroys behind our back (by dlsym on ODE's own
// handle) is not seen; such a program's collision calls are not seen either.
#ifndef SPRAG_RECORD_H
#define SPRAG_RECORD_H

#include <stdbool.h>

#include <ode/ode.h>

#include "gaps.h"

// ---- sets of up to four pointers each, in the order in which they came

typedef struct ode_key {
    const void *part[4];
} ode_key;

typedef struct ode_set { // all zero: empty
    int count, room, slots;
    ode_key *key;
    int *slot; // 1 + index of a key, 0: free
    int *at;   // of the keys: their slot
} ode_set;

typedef enum ode_set_result { ODE_SET_NEW, ODE_SET_KNOWN, ODE_SET_NO_MEMORY } ode_set_result;

ode_set_result sprag_ode_set_add(ode_set *set, ode_key key);
bool sprag_ode_set_has(const ode_set *set, ode_key key);
void sprag_ode_set_clear(ode_set *set); // keeps its memory
void sprag_ode_set_free(ode_set *set);

// The same for (a, b) and (b, a).
ode_key sprag_ode_pair_key(dGeomID a, dGeomID b, const void *third);

// ---- records. Every function may be called by several threads at once, but for the views.

typedef struct ode_record ode_record;

ode_record *sprag_ode_record_make(void); // NULL: no memory
void sprag_ode_record_free(ode_record *record);

// A call that is already there stays where it was. One with ever other data is a program that
// collides without stepping: from ODE_RECORD_DATA on the record starts anew. false: no memory.
enum { ODE_RECORD_DATA = 16 };
bool sprag_ode_record_call(ode_record *record, ode_collision call, void *data,
                           dNearCallback *callback);

// That a callback is given two geoms, neither of them a space. false: no memory.
bool sprag_ode_record_offer(ode_record *record, dGeomID a, dGeomID b);

bool sprag_ode_was_offered(const ode_record *record, dGeomID a, dGeomID b);

// The calls, as sprag_ode_find_pairs wants them; good until the next call, forget or turn.
const ode_collision *sprag_ode_recorded(const ode_record *record, int *count);

// Whom a call calls back, with what.
dNearCallback *sprag_ode_recorded_callback(const ode_record *record, int call, void **data);

// A geom is about to be destroyed, or a space and all that is in it.
void sprag_ode_record_forget(ode_record *record, dGeomID id);

// Holds what every function above waits for, and lets go of it; around a fork.
void sprag_ode_record_lock(ode_record *record, bool hold);

// The step that it was for is done: empties it.
void sprag_ode_record_clear(ode_record *record);

// ---- how ODE walks a call

// What a call's callback is given for two geoms of a pair, in the order of its arguments: the geoms
// themselves or a space that holds one of them. first: the one on the call's first side. false: the
// call does not ask about them.
bool sprag_ode_callback_pair(const ode_collision *call, dGeomID first, dGeomID second,
                             dGeomID given[2]);

// Is a geom the other one, or somewhere in it?
bool sprag_ode_is_within(dGeomID id, dGeomID outer);

// ---- answers.c: what dCollide says of geoms that do not overlap

// As dCollide, with contacts of all points up to `reach` (m) apart; their depth is then 0. -1:
// stock is to answer, for geoms that we have no shape for or numbers that the kernel cannot use.
int sprag_ode_collide_within(ode_geometry *geometry, sprag_scratch *scratch, dGeomID a, dGeomID b,
                             double reach, int flags, dContactGeom *contact, int skip);

// Are they up to `reach` apart?
bool sprag_ode_are_close(const ode_pair *pair, double reach);

#endif
