// The settings of a world, and the option strings "name=value,name=value" that change them.
#ifndef SPRAG_SETTINGS_H
#define SPRAG_SETTINGS_H

#include <stdbool.h>
#include <stdio.h>

#include "advance.h"
#include "compliant.h"
#include "island.h"
#include "method.h"
#include "stribeck.h"

// When sprag calls the program's collision callback for bodies that will touch during the step: at
// the time of the touch, or before the step for all bodies that may touch.
typedef enum callback_time { CALLBACKS_WITHIN, CALLBACKS_BEFORE } callback_time;

// Work that method=stribeck may spend on an island. AUTO: FAST in dWorldQuickStep, BALANCED in
// dWorldStep. Where a few Newton updates do not solve it, FAST takes as many Gauss-Seidel sweeps as
// the world has QuickStep iterations, and BALANCED takes BALANCED_SWEEPS. EXACT works until the
// tolerance is met.
typedef enum effort { EFFORT_AUTO, EFFORT_FAST, EFFORT_BALANCED, EFFORT_EXACT } effort;

// The source of contacts under method=stribeck, apart from pairs that ODE's dCollide does well.
// AUTO: ODE until sprag steps the world, so that preloading alone changes nothing, then sprag.
typedef enum contact_source { CONTACTS_AUTO, CONTACTS_ODE, CONTACTS_SPRAG } contact_source;

// Parameters of ODE's own steppers, in place of those that the program has set; 0: the program's.
typedef struct stock_parameters {
    int iterations; // of QuickStep
    double erp, cfm;
} stock_parameters;

// Every field is set by settings_defaults and changed by settings_read only, except `callbacks`:
// the collision code changes it to CALLBACKS_BEFORE where a callback cannot be called in mid-step.
typedef struct settings {
    const method *method;
    stock_parameters stock;
    int effort;      // an effort
    int contacts;    // a contact_source
    int speculative; // 1: geoms that will touch within the step have contacts before
    sprag_stribeck_options stribeck;
    ode_stiffness stiffness; // of contacts whose surface has neither ERP nor CFM
    sprag_advance_options advance;
    sprag_compliant_options compliant; // its solver and its stiction are taken from `stribeck`
    int callbacks;                     // a callback_time
} settings;

enum { MESSAGE_MAX = 256 }; // bytes of a message of settings_read

settings settings_defaults(void);

// Whether the program's searches for pairs offer more than ODE's, and are recorded: of methods that
// keep distance, and with speculative contacts.
bool settings_record(const settings *s);
// Whether sprag, not ODE, answers collision calls of the program: these searches, or dCollide for
// some pairs of geoms.
bool settings_collide(const settings *s);
// Whether it does so even before it has stepped the world or been told its settings.
bool settings_collide_at_once(const settings *s);
// Whether it answers them for some pairs only.
bool settings_collide_some(const settings *s);
// Whether geoms that do not overlap have contacts if they will within the next step.
bool settings_speculate(const settings *s);

// Applies an option string to *s. On an error it returns false, leaves *s as it was, and writes to
// message (MESSAGE_MAX bytes) which name or value is wrong and which ones are allowed.
bool settings_read(settings *s, const char *string, char *message);

// Whether each option of a string that settings_read takes has an effect under one of the methods.
// If not, it writes to message (MESSAGE_MAX bytes) which one has none, and which methods heed it.
bool settings_are_heeded(const char *string, const method *const m[], int count, char *message);

// Prints the table of options: name, default, range, unit, meaning; and the methods.
void settings_help(FILE *to);

#endif
