// What the files of the `sprag` command share.
#ifndef SPRAG_CLI_H
#define SPRAG_CLI_H

#include <getopt.h>
#include <stdbool.h>

#include "clock.h"
#include "models.h"
#include "settings.h"
#include "sprag.h"

// How the command ends, next to EXIT_SUCCESS and EXIT_FAILURE.
enum { EXIT_USAGE = 2, EXIT_CANNOT_EXECUTE = 126, EXIT_NOT_FOUND = 127 };

// ---- The subcommands. argv[0] is the subcommand's name; what is returned is the exit code.

int cli_exec(int argc, char **argv);    // exec.c
int cli_run(int argc, char **argv);     // compare.c
int cli_compare(int argc, char **argv); // compare.c

// ---- cli.c

// One line on stderr, with "sprag: " before it. Returns code.
int cli_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Says what getopt_long did not like; its option string begins with ':' or "+:". EXIT_USAGE.
int cli_bad_option(int found, char *const *argv);

// Reads SPRAG_OPTIONS, then options (NULL for none) over the defaults. "help" prints the options
// and ends the program. Returns false, and has said why, when one of the two cannot be read.
bool cli_read_settings(settings *s, const char *options);

// ---- request.c: what run and compare are asked for

enum { METHODS_MAX = 8, CHOICE_NAME = 32 };

// A method as it is asked for: "stribeck", or "ode-quick:100" with a number of iterations.
typedef struct choice {
    const method *method;
    int iterations; // of QuickStep; 0: ODE's own
    char name[CHOICE_NAME];
} choice;

typedef struct request {
    const sprag_model **model;
    int models;
    choice method[METHODS_MAX];
    int methods;
    const char *options;  // "" for none
    double step, seconds; // s; 0: the model's own
    bool json;
} request;

// Returns -1, or the exit code when there is nothing more to do. request_free in either case.
// default_methods: NULL for the one that the options give.
int request_read(request *r, int argc, char **argv, const char *help, const char *default_methods);
void request_free(request *r);

// The method of that name; or NULL, and has said which there are.
const method *cli_find_method(const char *name, size_t length);

// ---- trial.c: models under methods, step by step

// One model of a request.
typedef struct job {
    const sprag_model *model;
    double step; // s
    long steps;
    const char *options;
} job;

typedef struct trial {
    const choice *choice;
    const method *method; // its
    sprag_scene scene;
    dThreadingImplementationID threading;
    unsigned long seed; // of ODE's random numbers
    double *us;         // microseconds of some steps, evenly chosen
    long samples;       // of them
    double median_us, p99_us;
    long lcp_errors;         // messages of ODE's stock solver
    long iterations;         // of ours, all steps
    sprag_strategy strategy; // of ours, the worst
    long fallbacks, frozen;  // of ours
    int measures;
    sprag_measure measure[SPRAG_MEASURES_MAX];
    bool failed;       // so that ODE would have ended the program
    char failure[160]; // ODE's last words
} trial;

// Whether the state stayed finite, and ODE alive.
bool trial_finished(const trial *t);

// Steps a scene under each trial's method. Returns false, and has said why, when the scenes cannot
// be made. trials_free in either case.
bool trials_run(trial *trials, int count, const job *j);
void trials_free(trial *trials, int count);

// ---- judge.c: what a measure is worth

typedef enum verdict { NO_VERDICT, BETTER, SAME, WORSE } verdict;

double measure_error(const sprag_measure *m); // |value - exact|
bool measure_is_good(const sprag_measure *m);

// Measure i of a trial against that of the reference.
verdict trial_judge(const trial *reference, const trial *t, int i);
const char *verdict_name(verdict v); // "better"; "" for none

// ---- json.c

typedef struct json_t json_t;

// judged: against the first trial. NULL: no memory.
json_t *json_of_trials(const job *j, const trial *trials, int count, bool judged);

// Prints {"sprag": version, "options": options, "models": [...]}; takes the array over. An exit
// code.
int json_print(json_t *models, const char *options);

// ---- table.c: columns as wide as they need to be

enum { TABLE_ROWS = 32, TABLE_COLUMNS = 12, TABLE_CELL = 64 };

typedef struct table {
    int rows;
    int left; // so many columns are flush left, the others flush right
    char cell[TABLE_ROWS][TABLE_COLUMNS][TABLE_CELL];
} table;

void table_row(table *t); // begins a row
void table_set(table *t, int column, const char *format, ...)
    __attribute__((format(printf, 3, 4))); // a cell of it
void table_print(const table *t, FILE *to);

#endif
