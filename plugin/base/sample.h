// One step of one method from one state, as a comparison measures it (plugin/compare), and the row
// in which the program hands it to the command.
#ifndef SPRAG_SAMPLE_H
#define SPRAG_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>

#include "sprag_strategy.h"

typedef enum sample_value {
    SAMPLE_DEPTH_LARGEST,
    SAMPLE_DEPTH_MEAN,
    SAMPLE_APPROACH,
    SAMPLE_SLIP,
    SAMPLE_SLIP_LARGEST,
    SAMPLE_CONE,
    SAMPLE_JOINT_GAP,
    SAMPLE_JOINT_TURN,
    SAMPLE_ENERGY_MADE,
    SAMPLE_MOMENTUM,
    SAMPLE_RESIDUAL,
    SAMPLE_ENERGY,
    SAMPLE_SPEED,
    SAMPLE_RESTING,
    SAMPLE_CREEP,
    SAMPLE_LCP_ERRORS,
    SAMPLE_FALLBACKS,
    SAMPLE_ITERATIONS,
    SAMPLE_US,
    SAMPLE_VALUES
} sample_value;

// The values of the states of a run make one figure.
typedef enum sample_sum {
    SAMPLE_WORST,
    SAMPLE_AVERAGE,
    SAMPLE_TOTAL,
    SAMPLE_MEDIAN,
    SAMPLE_LAST // mean of the last values of all worlds
} sample_sum;

typedef struct sample_kind {
    const char *name;  // "depth_largest", in files
    const char *label; // "largest depth", in tables
    const char *unit;
    double right; // the right value; NAN: none is known
    double fine;  // values nearer to the right one than this are as good as it
    sample_sum sum;
} sample_kind;

extern const sample_kind sample_kinds[SAMPLE_VALUES];

typedef enum sample_outcome {
    SAMPLE_TAKEN,
    SAMPLE_HUNG,   // the child took longer than the plan's patience, and was killed
    SAMPLE_DIED,   // the child died, or ODE ended it
    SAMPLE_NO_FORK // the program cannot fork
} sample_outcome;

typedef struct sample {
    sample_outcome outcome;
    sprag_strategy strategy;
    double value[SAMPLE_VALUES]; // NAN: not known
} sample;

// A state of a world.
typedef struct sample_state {
    long process;
    int world;     // its number in the process
    long step;     // steps that the world has made before
    double time;   // s, simulated before
    double length; // s, of the step
    int bodies, contacts, joint_rows;
} sample_state;

enum { SAMPLE_ROW_MAX = 1024 };

// A line of numbers, with its end. choice: number of the method in the plan. Returns its length.
size_t sample_print(char row[SAMPLE_ROW_MAX], const sample_state *state, int choice,
                    const sample *s);
bool sample_read(const char *row, sample_state *state, int *choice, sample *s);

const char *sample_outcome_name(sample_outcome outcome);

#endif
