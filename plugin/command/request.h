// The arguments of `sprag run` and `sprag compare`.
#ifndef SPRAG_REQUEST_H
#define SPRAG_REQUEST_H

#include <stdbool.h>

#include "models.h"
#include "say.h"

enum { METHODS_MAX = 8, CHOICE_NAME = METHOD_NAME };

// A method as the user names it: "stribeck", or "ode-quick:100" with a number of iterations.
typedef struct choice {
    const method *method;
    char name[CHOICE_NAME]; // value of the option `method`
} choice;

typedef struct request {
    const sprag_model **model;
    int models;
    choice method[METHODS_MAX];
    int methods;
    const char *options;  // "" for none
    const char *report;   // file of the page; NULL: none
    double step, seconds; // s; 0: the model's own
    bool json;
} request;

// Returns -1, or the exit code if the command ends here; call request_free in either case.
// default_methods: NULL for the method of the options.
int request_read(request *r, int argc, char **argv, const char *help, const char *default_methods);
void request_free(request *r);

// sprag_model_find. NULL: after printing why.
const sprag_model *request_find_model(const char *name);

// Adds the methods of a list "ode-quick:100,stribeck" to the choices, which have room for
// METHODS_MAX. false: after printing why.
bool choices_add(choice *choices, int *count, const char *names);

// cli_note_unheeded for the methods of choices and one more (NULL: none).
void choices_note_unheeded(const choice *choices, int count, const method *under,
                           const char *options);

#endif
