// `sprag compare --tune`: stock's best parameters at the time of another method.
#ifndef SPRAG_TUNE_H
#define SPRAG_TUNE_H

#include "in_place.h"

// Adds the candidates behind the methods of the user, the last of which is the one to reach.
bool tune_add(comparison *c);

// Keeps the methods of the user, `count` of them, and the best candidate that takes no longer than
// the last of them.
void tune_keep_best(comparison *c, int count);

#endif
