// Scenes built through ODE's public API alone. They know nothing of sprag: the stepper they call is
// dWorldStep, and whoever stands in for it steps them, so stock ODE and every method of ours run
// the very same code. Used by the tests, the bench and the command line.
#ifndef SPRAG_MODELS_H
#define SPRAG_MODELS_H

#include <ode/ode.h>

enum { SPRAG_MEASURES_MAX = 8 };

// One physical figure of a scene.
typedef struct sprag_measure {
    const char *name; // "drift from 1 s on"
    const char *unit; // "m", "" for a ratio
    double value;     // NAN when it cannot be told
    double exact;     // the exact answer, NAN if none is known
    double good;      // |value - exact| (or |value| if exact is NAN) up to this is a good result;
                      // NAN when there is nothing to judge
} sprag_measure;

// What a model does; the files of this folder fill it in, see scene.h.
typedef struct sprag_script sprag_script;

typedef struct sprag_model {
    const char *name;           // "slope"; what the command line takes
    const char *summary;        // one line
    double step;                // s, default
    double seconds;             // default length
    double settled;             // s, transients before this are not judged
    int driven;                 // 1: forces or motors do work, so energy may grow
    int size;                   // bodies, where a model lets one choose; else 0
    const sprag_script *script; // NULL in the last row
} sprag_model;

// A running scene.
typedef struct sprag_scene {
    const sprag_model *model;
    dWorldID world;
    dSpaceID space;
    dJointGroupID contacts;
    dBodyID *body; // all that move, in the order of their making
    int bodies;
    double step; // s
    long steps_done;
    int touching;             // contacts, in the last step
    double penetration;       // m, largest contact depth seen in the last step
    double mean_penetration;  // m, over its contacts
    double worst_penetration; // m, largest since model->settled
    double energy;            // J, kinetic and potential of all bodies now
    double first_energy;      // J, before the first step
    double energy_gain;       // J, largest rise above first_energy so far
    long nonfinite; // bodies whose state was not finite; from then on the scene stands still
    int failed;     // out of memory while it was made
    void *data;     // the model's own
} sprag_scene;

// All models, in the order of `sprag list`; the last one's name is NULL.
extern const sprag_model sprag_models[];

// NULL if there is none of that name. "pile" takes a size behind a colon: "pile:500". Not for two
// threads at once.
const sprag_model *sprag_model_find(const char *name);

// Makes the world, space and bodies. step: s, or 0 for the model's own. Returns 1, or 0 when there
// is no memory. dInitODE2 must have been called.
int sprag_scene_open(sprag_scene *, const sprag_model *, double step);

// One step: the model's forces, collision, dWorldStep, measuring.
void sprag_scene_step(sprag_scene *);

// Figures so far, the model's own first, then penetration and energy growth. Returns how many;
// measures has room for SPRAG_MEASURES_MAX.
int sprag_scene_measure(const sprag_scene *, sprag_measure *measures);

void sprag_scene_close(sprag_scene *);

#endif
