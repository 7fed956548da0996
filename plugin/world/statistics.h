// Statistics of a world. Every method fills in a part, a zeroed sprag_world_statistics with what it
// did in one step or one island; statistics_add is the only function that adds parts up.
#ifndef SPRAG_STATISTICS_H
#define SPRAG_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>

#include "sprag.h"

enum { STATISTICS_TEXT_MAX = 1536 }; // bytes of a row, or of all column names

// Clears what belongs to one step and counts a new step of `step` seconds.
void statistics_start_step(sprag_world_statistics *s, double step);

void statistics_add(sprag_world_statistics *to, const sprag_world_statistics *part);

// Adds a count to a total, and leaves zero. Several threads may do so at a time.
void statistics_count(long *total, long *count);

// The column names of a CSV row, and a row, each entry after a comma. all: false for a step of ODE,
// of which only the time, the length and the duration are known. Return the length.
size_t statistics_print_names(char text[STATISTICS_TEXT_MAX]);
size_t statistics_print_row(char text[STATISTICS_TEXT_MAX], const sprag_world_statistics *s,
                            bool all);

// The same row as numbers, one per column; NAN: not known. Returns how many.
enum { STATISTICS_MAX = 64 };
int statistics_numbers(double number[STATISTICS_MAX], const sprag_world_statistics *s, bool all);

#endif
