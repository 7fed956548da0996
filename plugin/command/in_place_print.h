// A comparison in place as a table and as JSON.
#ifndef SPRAG_IN_PLACE_PRINT_H
#define SPRAG_IN_PLACE_PRINT_H

#include <jansson.h>

#include "in_place.h"

#define IN_PLACE_JSON_START "{\n \"schema\":"

void in_place_print(const comparison *c);

json_t *in_place_json(const comparison *c); // NULL: no memory

// false: after printing why.
bool in_place_write_json(const comparison *c, const char *file);

#endif
