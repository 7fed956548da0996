// The collision calls that a program has made since its last step, for each world: the calls with
// their callbacks, and the pairs of geoms that those callbacks were given. A step that finds a pair
// that is about to touch can ask the program about it again. Geoms without a body are recorded with
// their contacts: the step can tell whether the geom of a contact still exists.
//
// No entry may outlive a geom: the functions that stand in for dGeomDestroy and dSpaceDestroy call
// sprag_ode_record_forget before they call ODE's. sprag does not see geoms that a program destroys
// through a pointer from dlsym on ODE's own handle; it does not see that program's collision calls
// either.
#ifndef SPRAG_RECORD_H
#define SPRAG_RECORD_H

#include "sets.h"

// Every function may be called by several threads at once, except those that return pointers.
typedef struct ode_record ode_record;

ode_record *sprag_ode_record_make(void); // NULL: no memory
void sprag_ode_record_free(ode_record *record);

// Adds a call; one that the record has keeps its place. A call that comes with new data every time
// belongs to a program that collides without stepping: at ODE_RECORD_DATA different data the record
// is emptied first. Greater: such a program holds more dead calls; smaller: a program that collides
// a space with several data in one step loses the first of them. false: no memory.
enum { ODE_RECORD_DATA = 16 };
bool sprag_ode_record_call(ode_record *record, ode_collision call);

// Adds a pair of geoms, neither of them a space, that a callback is given. false: no memory.
bool sprag_ode_record_offer(ode_record *record, dGeomID a, dGeomID b);

bool sprag_ode_was_offered(const ode_record *record, dGeomID a, dGeomID b);

// Adds a geom without a body that has contacts. It stays until it is destroyed, as a program may
// keep its contacts for several steps. false: no memory.
bool sprag_ode_record_fixed(ode_record *record, dGeomID geom);

// false: it may have been destroyed; nothing is read from it.
bool sprag_ode_is_fixed(ode_record *record, dGeomID geom);

// The calls, for sprag_ode_find_pairs; valid until the next call, forget or clear.
const ode_collision *sprag_ode_recorded(const ode_record *record, int *count);

// Removes a geom that is about to be destroyed, or a space and all that is in it.
void sprag_ode_record_forget(ode_record *record, dGeomID id);

// Takes the lock for which every function above waits, or releases it; around a fork.
void sprag_ode_record_lock(ode_record *record, bool lock);

// Empties the record but for fixed geoms, at the end of a step.
void sprag_ode_record_clear(ode_record *record);

#endif
