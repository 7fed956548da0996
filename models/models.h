// Scenes built with ODE's public API alone. They do not depend on sprag: they call dWorldStep,
// which stock ODE or sprag implements, so that stock ODE and every method of sprag run the same
// code. The tests, the bench and the command line use them.
#ifndef SPRAG_MODELS_H
#define SPRAG_MODELS_H

#include <stdint.h>

#include <ode/ode.h>

enum { SPRAG_MEASURES_MAX = 8 };

// One physical figure of a scene.
typedef struct sprag_measure {
    const char *name; // "drift from 1 s on"
    const char *unit; // "m", "" for a ratio
    double value;     // NAN if it cannot be measured
    double exact;     // the exact answer, NAN if none is known
    double good;      // |value - exact| (or |value| if exact is NAN) up to this is a good result;
                      // NAN if there is no judgement
} sprag_measure;

// Functions and parameters of a model (scene.h).
typedef struct sprag_script sprag_script;

typedef struct sprag_model {
    const char *name;           // "slope"; for the command line
    const char *summary;        // one line
    double step;                // s, default
    double seconds;             // default length
    double settled;             // s, end of the transients, which are not judged
    int driven;                 // 1: forces, motors or elastic impacts do work: energy may grow
    int size;                   // number of bodies, if it can be chosen; else 0
    const sprag_script *script; // NULL in the last row
    unsigned seed;              // of what is random, "name:size:seed"
} sprag_model;

// A running scene.
typedef struct sprag_scene {
    const sprag_model *model;
    dWorldID world;
    dSpaceID space;
    dJointGroupID contacts;
    dBodyID *body; // all moving bodies, in order of creation
    int bodies;
    double step; // s
    long steps_done;
    int touching;             // number of contacts in the last step
    double penetration;       // m, largest contact depth in the last step
    double mean_penetration;  // m, over its contacts
    double worst_penetration; // m, largest since model->settled
    double energy;            // J, kinetic and potential of all bodies now
    double first_energy;      // J, before the first step
    double energy_gain;       // J, largest rise above first_energy so far
    long nonfinite;  // bodies whose state was not finite; the scene then takes no more steps
    int failed;      // out of memory while it was opened
    uint64_t random; // state of sprag_scene_draw
    void *data;      // of the model
} sprag_scene;

// All models, in the order of `sprag list`; the name of the last row is NULL.
extern const sprag_model sprag_models[];

// NULL if no model has that name. Models with a size accept another one after a colon, and the seed
// of their random numbers after a second colon: "pile:500:2". Not thread-safe.
const sprag_model *sprag_model_find(const char *name);

// The largest size that a model with a size accepts.
int sprag_model_size_max(const sprag_model *);

// Makes the world, space and bodies. step: s; 0: the default of the model. Returns 1, or 0 without
// memory. Call dInitODE2 before.
int sprag_scene_open(sprag_scene *, const sprag_model *, double step);

// One step: forces of the model, collision, dWorldStep, measurements.
void sprag_scene_step(sprag_scene *);

// Measures so far: those of the model, then penetration and energy growth. Returns their number;
// measures has room for SPRAG_MEASURES_MAX.
int sprag_scene_measure(const sprag_scene *, sprag_measure *measures);

void sprag_scene_close(sprag_scene *);

#endif
