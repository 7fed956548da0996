// Joint rows that are swept: those with bounds one by one, those of each wide mechanism at once.
// Only this room includes it.
#ifndef SPRAG_JOINT_ROWS_H
#define SPRAG_JOINT_ROWS_H

#include "sweeps_run.h"

// Sets all rows of joints but those of mechanisms that are not wide. Those of wide ones come last.
void joint_rows_set(sweeps *s);

// Rows of wide mechanisms. Returns the squares of what changed, as a sweep.
double joint_rows_sweep(sweeps *s);

#endif
