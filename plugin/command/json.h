// Trials as JSON.
#ifndef SPRAG_JSON_H
#define SPRAG_JSON_H

#include <stdbool.h>

#include "trial.h"

typedef struct json_t json_t;

enum { JSON_SCHEMA = 1 }; // grows when a member is removed or changes its meaning

json_t *json_number(double value);           // null if it is not finite
json_t *json_text_or_null(const char *text); // null for ""
// Takes the item over, as the array's last; NULL when either is.
json_t *json_appended(json_t *array, json_t *item);

// judged: add a verdict against the first trial. NULL: no memory.
json_t *json_of_trials(const job *j, const trial *trials, int count, bool judged);

// {"schema": 1, "sprag": version, "options": options, "models": [...]}; takes the array over. NULL:
// no memory.
json_t *json_root(json_t *models, const char *options);

int json_print(const json_t *root); // returns an exit code

#endif
