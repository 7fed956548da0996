// scene MODEL [STEPS] - steps a model through ODE's API alone, for the tools that preload something
// under it (fingerprint.sh). STEPS: at most that many.
#include <stdio.h>
#include <stdlib.h>

#include "models.h"

int main(int argc, char **argv)
{
    const sprag_model *model = argc > 1 ? sprag_model_find(argv[1]) : NULL;
    if (!model) {
        fprintf(stderr, "scene: no model is called '%s'\n", argc > 1 ? argv[1] : "");
        return 2;
    }
    long steps = (long)(model->seconds / model->step + 0.5);
    if (argc > 2 && atol(argv[2]) < steps) {
        steps = atol(argv[2]);
    }
    dInitODE2(0);
    sprag_scene scene;
    if (!sprag_scene_open(&scene, model, 0)) {
        fprintf(stderr, "scene: no memory for '%s'\n", argv[1]);
        return 1;
    }
    for (long i = 0; i < steps; i++) {
        sprag_scene_step(&scene);
    }
    sprag_scene_close(&scene);
    dCloseODE();
    return 0;
}
