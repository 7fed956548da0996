// Trials as JSON.
#ifndef SPRAG_JSON_H
#define SPRAG_JSON_H

#include <stdbool.h>

#include "trial.h"

typedef struct json_t json_t;

// judged: add a verdict against the first trial. NULL: no memory.
json_t *json_of_trials(const job *j, const trial *trials, int count, bool judged);

// Prints {"sprag": version, "options": options, "models": [...]} and frees the array. Returns an
// exit code.
int json_print(json_t *models, const char *options);

#endif
