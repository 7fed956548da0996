// The file of statistics that the environment variable SPRAG_STATS names.
#ifndef SPRAG_REPORT_H
#define SPRAG_REPORT_H

#include "world.h"

#define STATISTICS_START "process,world,method" // of a file

// Appends a row with the statistics of the last step; does nothing when SPRAG_STATS is not set. A
// new or empty file gets the column names first. When the file cannot be written, one message is
// printed and no further row is tried.
void report_step(const world_state *world);

#endif
