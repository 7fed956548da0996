// One contact solve, the problem and its options, as a file of JSON that `build/bench solve` runs
// again. SPRAG_DUMP names the file; `sprag dump` sets it.
#ifndef SPRAG_SOLVE_FILE_H
#define SPRAG_SOLVE_FILE_H

#include "stribeck.h"
#include "world.h"

#define SOLVE_START "{\"format\":\"sprag solve\"" // of the files of every version
#define SOLVE_END "]}\n"

typedef enum solve_type { SOLVE_REAL, SOLVE_INT, SOLVE_BOOL } solve_type;

// A member of a struct, or an array of them.
typedef struct solve_field {
    const char *name; // NULL: the end of the table
    size_t offset;
    solve_type type;
    int count;
} solve_field;

extern const solve_field solve_options_fields[]; // of sprag_stribeck_options
extern const solve_field solve_body_fields[];    // of sprag_body
extern const solve_field solve_contact_fields[]; // of sprag_contact, but for `turning`
extern const solve_field solve_turning_fields[]; // of sprag_turning
extern const solve_field solve_row_fields[];     // of sprag_row

// To be called after a solve. Writes the first one that has failed; or of the step that
// SPRAG_DUMP_STEP numbers the one with the most contacts and rows.
void solve_file_offer(const world_state *w, const sprag_problem *problem,
                      const sprag_stribeck_options *options, sprag_result result,
                      const sprag_stats *stats);

#endif
