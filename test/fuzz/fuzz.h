// Hostile input: worlds, options, recordings. Nothing of it may end the program.
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// ---- worlds (worlds.c)

// What a run of a world has done, told by its process through a file.
typedef struct fuzz_run {
    int steps;       // taken
    int nonfinite;   // number of the first step that left a state that is not finite; 0: none
    long fallbacks;  // islands that stock had to step
    double worst_ms; // thread CPU time of the slowest step
    double began_ms; // thread CPU time when the step under way began; 0: none is
    double energy, most_energy; // J, kinetic, at the end and at any time
    double gain;                // J, largest of kinetic and potential energy since the start, less
                                // what motors may have done
    uint64_t hash;              // of all poses and velocities at the end
    bool done;                  // all steps
} fuzz_run;

enum { FUZZ_STEPS = 60 };

typedef struct fuzz_kind {
    bool closed; // nothing gives the world energy, no forces, motors, moving surfaces, nor jumps
    bool formed; // it has meshes, convex solids and heightfields
} fuzz_kind;

// Makes the world of a seed and steps it under a method. Writes *to step by step.
void fuzz_world(uint64_t seed, const char *method, fuzz_kind kind, volatile fuzz_run *to);

// ---- bytes (bytes.c). true: nothing was wrong.

bool fuzz_options(const uint8_t *data, size_t size);
bool fuzz_recording(const uint8_t *data, size_t size);

#endif
