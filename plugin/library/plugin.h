// What the files of this folder share.
#ifndef SPRAG_PLUGIN_H
#define SPRAG_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "advance.h"
#include "compliant.h"
#include "geom_pairs.h"
#include "island.h"
#include "record.h"
#include "sprag.h"
#include "stribeck.h"

// The stock stepper that the program called.
typedef enum stock { STOCK_STEP, STOCK_QUICK } stock;

typedef struct settings settings;
typedef struct world_state world_state;
typedef struct advance_state advance_state;
typedef struct crew crew;

// ---- step.c

// One row per method: what `method=` takes, and which of the two kinds it is.
typedef struct method {
    const char *name;
    const char *summary;
    bool ours;   // our solver; otherwise a stock stepper
    bool forced; // stock: `stock` whatever the program called
    stock stepper;
    bool collides; // looks ahead: the program's collision calls are ours to answer too
    bool yields;   // collides, and contacts have a stiffness
} method;

// The last one's name is NULL.
extern const method methods[];

// NULL if there is none of that name, of which only the first length bytes count.
const method *method_find(const char *name, size_t length);

bool method_answers_collisions(const method *method);

// ---- options.c

// When the program is asked about what touches within a step: then, or never; then surfaces of what
// comes within reach are asked for before it.
typedef enum callback_time { CALLBACKS_WITHIN, CALLBACKS_BEFORE } callback_time;

struct settings {
    const method *method;
    sprag_stribeck_options stribeck;
    ode_stiffness stiffness;
    sprag_advance_options advance;
    sprag_compliant_options compliant; // its solver and stiction are those of stribeck
    int callbacks;                     // callback_time
};

enum { MESSAGE_MAX = 256 };

settings settings_defaults(void);

// Reads "name=value,..." over *s. Returns false and leaves *s as it was when it cannot; message
// (MESSAGE_MAX bytes) then says which name or value, and what would do.
bool settings_read(settings *s, const char *string, char *message);

// snprintf that writes a decimal point whatever locale the program has chosen.
int print_point(char *to, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// Table of options: name, default, unit, meaning. For `sprag options` and SPRAG_OPTIONS=help.
void settings_help(FILE *to);

// Settings in the environment, read once per process. Ends the program through dError if
// SPRAG_OPTIONS cannot be read: a run under other settings than asked for is worse than none.
const settings *settings_of_environment(void);

// Does the environment ask for a method that collides? Never ends the program.
bool environment_collides(void);

// ---- report.c

// Appends a row to the file that SPRAG_STATS names; does nothing when it is unset. A new or empty
// file gets the column names first. A file that cannot be written is said once (dMessage).
void report_step(const world_state *world);

// Says something once per process and text, through dMessage.
void report_once(const char *format, ...) __attribute__((format(printf, 1, 2)));

// ---- world.c

// What has been told of a world.
enum said_bit {
    SAID_DROPPED = 1,
    SAID_MIXED = 2,
    SAID_SOFT = 4,
    SAID_RIGID = 8,
    SAID_TURNED = 16,
    SAID_EXPLICIT = 32,
    SAID_STIFF = 64
};

struct world_state {
    dWorldID id;
    int number; // 1 for the first world that the process stepped or collided for a method of ours,
                // and so on; names it in reports
    settings settings;
    crew *crew;
    bool islands_are_ours;  // they can be found anew in mid-step
    unsigned said;          // said_bit
    ode_warm_start *memory; // contact forces of the last step
    advance_state *advance; // of method=advance, NULL: not stepped by it yet
    ode_record *record;     // what the program asked since then; NULL until its method collides
    sprag_world_statistics statistics;
    UT_hash_handle hh;
};

// State of a world, made with the settings of the environment when it is first asked for. NULL when
// there is no memory. Worlds may be stepped and made in several threads at once, each world by one.
world_state *world_find_or_make(dWorldID id);
world_state *world_find(dWorldID id);
void world_forget(dWorldID id);

// To be called when the method of a world may have changed. false: no memory.
bool world_set_record(world_state *world);

// Is there, or may there come, a world whose method collides? A load and a comparison.
bool world_any_collides(void);

// The state of such a world, found quickly when it is asked for again, and made for the first frame
// if the environment asks for such a method; NULL: of other worlds, or if ODE or memory lack.
world_state *world_that_collides(dWorldID id);

// A geom, or a space, is about to be destroyed: no record may name it.
void world_records_forget(dGeomID id);

// ---- step.c

double now_us(void); // microseconds of a clock that never jumps

// Steps the world by its method in place of `called`. 1 or 0, as dWorldStep. frame: of the function
// that the program called (__builtin_frame_address).
int step_world(dWorldID id, dReal step, stock called, const void *frame);

// The second half of that, when ODE has found the islands already.
bool step_islands(world_state *world, const ode_islands *islands, dReal step, stock called);

// ---- islands.c

// What the threads that step a world's islands work with. NULL: no memory.
crew *crew_make(void);
void crew_free(crew *crew);
const sprag_scratch *crew_scratch(const crew *crew); // of the thread that calls for the step

// The islands of a step one after the other, from {.islands = ...} on.
typedef struct island_walk {
    const ode_islands *islands;
    size_t next; // of them
    ode_island island;
} island_walk;

bool walk_on(island_walk *walk); // to the next one; false: there is none

// All islands by the implicit Stribeck method, those where it fails by stock; one by stock. false:
// no memory.
bool step_each_island(world_state *w, const ode_islands *islands, dReal step, stock called);
bool step_by_stock_island(world_state *w, const ode_island *island, dReal step, stock called,
                          sprag_result why);

// Stock QuickStep shuffles its rows every eighth iteration. Programs that draw from ODE's generator
// get the numbers that they would get without us.
void draw_as_quick_step(dWorldID id, int rows);

// One island, with joints or without, by the implicit Stribeck method. false: no memory.
bool step_any_island(world_state *w, const ode_island *island, dReal step, stock called);

// ---- warn.c: what goes wrong is said for the first island of a world, and counted for all

// Notes that it is said now. Returns whether that is for the first time.
bool say_first(world_state *w, enum said_bit what);

void hold_bodies(world_state *w, dBodyID culprit, int bodies);
void ignore_forces(world_state *w, dBodyID culprit, int bodies);
void warn_of_fallback(world_state *w, const ode_island *island, sprag_result result);
void warn_of_surface(world_state *w, dJointID contact, const char *oddity, int contacts);
void warn_of_dropped(world_state *w, dJointID contact);
void warn_of_stiffness(world_state *w, const ode_island *island, double stiff_step);

// ---- advance.c: method=advance and method=ess

// All islands of a world. false: no memory.
bool advance_islands(world_state *w, const ode_islands *islands, dReal step, stock called);
void advance_free(advance_state *advance);

// How far apart two geoms are said to touch when the program collides them, m.
double advance_reach(const world_state *w, dGeomID a, dGeomID b);
double advance_farthest(const world_state *w); // any two

// Does the running ODE have what a method of ours needs? If not, says once what it lacks.
bool method_is_possible(void);

#endif
