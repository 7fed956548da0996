// The page of `--report FILE`: what this process, or one that it starts, steps after report_begin
// is recorded for it, unless the user has named a recording.
#ifndef SPRAG_REPORT_PAGE_H
#define SPRAG_REPORT_PAGE_H

#include <jansson.h>
#include <stdbool.h>

#define PAGE_START "<!DOCTYPE html>"

// Before a run. false, after printing why, if it cannot be recorded.
bool report_begin(void);

// Further runs are not recorded.
void report_pause(void);

// comparison: as --json prints it. Returns the exit code, after printing what failed.
int report_end(const char *file, const json_t *comparison);

#endif
