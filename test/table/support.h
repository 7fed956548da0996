// The support table: for each feature of ODE a small world, what it must come to, and what each
// method of ours makes of it. test_support holds every cell against stock's answer or the right
// one, and the table of plugin/COMPATIBILITY.md against the cells.
#ifndef TEST_SUPPORT_H
#define TEST_SUPPORT_H

#include <stdbool.h>

#include <ode/ode.h>

enum { SUPPORT_METHODS = 3, SUPPORT_VALUES = 256 };

// ---- a run of one row under one method

typedef struct support_run {
    const char *method; // "ode", "stribeck", ...
    double value[SUPPORT_VALUES];
    int values;
    double error[SUPPORT_VALUES]; // of what is better the smaller it is
    int errors;
    char messages[4096]; // that the run printed on stderr
} support_run;

// A world under the method of the run, with more options ("ess.steps=100"; NULL: none). Gravity is
// ODE's default, none.
dWorldID support_world(const support_run *run, const char *options);

// A 2 kg box of 0.2 x 0.3 x 0.4 m, no geom.
dBodyID support_body(dWorldID world, double x, double y, double z);

// The same with a ball of 1 cm, whose contacts no callback makes, and a step of such bodies after a
// collision call. (Without one `advance` steps as `stribeck` does.)
dBodyID support_solid(dWorldID world, double x, double y, double z);
void support_look(void); // the call
void support_step(dWorldID world, dReal step);

// A value that must come out, of any unit. All values of a row are compared relative to the
// largest of them (to 1 if that is less): report values of one size.
void support_report(support_run *run, double value);
void support_report_vector(support_run *run, const dReal *value); // of 3
void support_report_body(support_run *run, dBodyID body); // velocities, position, quaternion

// An error (m, rad, ...) that must not be larger than stock's.
void support_report_error(support_run *run, double error);

// ---- rows

typedef enum support_kind {
    SUPPORT_AS_STOCK,
    SUPPORT_EXACT,
    SUPPORT_NEAR,
    SUPPORT_NEARER,
    SUPPORT_AS_STRIBECK,
    SUPPORT_REFUSED,
} support_kind;

typedef struct support_cell {
    support_kind kind;
    double within;
    const char *how;  // in the table
    const char *says; // a piece of the message; NULL: no message
} support_cell;

// Stock's values, to 1e-9.
#define AS_STOCK                                                                                   \
    {                                                                                              \
        .kind = SUPPORT_AS_STOCK                                                                   \
    }
// The same, and a message with this piece.
#define AS_STOCK_SAYING(piece)                                                                     \
    {                                                                                              \
        .kind = SUPPORT_AS_STOCK, .says = (piece)                                                  \
    }
// The right values, to 1e-9; for rows that have them.
#define EXACT                                                                                      \
    {                                                                                              \
        .kind = SUPPORT_EXACT                                                                      \
    }
#define EXACT_SAYING(words, piece)                                                                 \
    {                                                                                              \
        .kind = SUPPORT_EXACT, .how = (words), .says = (piece)                                     \
    }
// Within that of the right values, where a row has them, or of stock's.
#define NEAR(to, words)                                                                            \
    {                                                                                              \
        .kind = SUPPORT_NEAR, .within = (to), .how = (words)                                       \
    }
#define NEAR_SAYING(to, words, piece)                                                              \
    {                                                                                              \
        .kind = SUPPORT_NEAR, .within = (to), .how = (words), .says = (piece)                      \
    }
// Within that of the right values, and nearer to them than stock's; for rows that have them.
#define NEARER(to, words)                                                                          \
    {                                                                                              \
        .kind = SUPPORT_NEARER, .within = (to), .how = (words)                                     \
    }
// The implicit step's values to 1e-9, and a message with this piece.
#define AS_STRIBECK(piece)                                                                         \
    {                                                                                              \
        .kind = SUPPORT_AS_STRIBECK, .says = (piece)                                               \
    }
// Left out, with a message.
#define REFUSED(words, piece)                                                                      \
    {                                                                                              \
        .kind = SUPPORT_REFUSED, .how = (words), .says = (piece)                                   \
    }

typedef struct support_row {
    const char *feature;                // of the table, NULL: the end
    void (*run)(support_run *);         // builds, steps, reports, destroys
    void (*expected)(support_run *);    // reports the right values; NULL: stock's are right
    support_cell cell[SUPPORT_METHODS]; // stribeck, ess, advance
} support_row;

extern const support_row support_joints[], support_joint_axes[], support_joint_uses[],
    support_joint_changes[], support_joint_parameters[], support_surfaces[], support_surface_uses[],
    support_contacts[], support_contact_uses[], support_bodies[], support_body_callbacks[],
    support_worlds[], support_geoms[], support_program_geoms[], support_shapes[];

#endif
