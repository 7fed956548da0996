// Shared by the files of the soak.
#ifndef SOAK_H
#define SOAK_H

#include "models.h"

// NULL: there is no such scene.
const sprag_model *soak_scene(const char *name);

#endif
