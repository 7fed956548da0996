// scene MODEL [STEPS] - steps a model through ODE's API alone, for the tools that preload something
// under it (fingerprint.sh). STEPS: at most that many.
#include <stdio.h>
#include <stdlib.h>

#include "models.h"

#ifdef WITHOUT_HINGE2_AXES // ODE before 0.15
void dJointSetHinge2Axes(dJointID joint, const dReal *first, const dReal *second)
{
    dJointSetHinge2Axis1(joint, first[0], first[1], first[2]);
    dJointSetHinge2Axis2(joint, second[0], second[1], second[2]);
}
#endif

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
