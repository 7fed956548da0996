// Memory that is held while ODE makes room for the first step of a world. ODE follows the pointers
// that these allocations return (dxReallocateWorldProcessContext), so they must not fail.
#ifndef SPRAG_HELD_MEMORY_H
#define SPRAG_HELD_MEMORY_H

#include <stdbool.h>

// From here on held blocks serve those allocations of this thread that fail; but none of a program
// with an allocator of its own, which ODE tells the size of what it frees: a held block is larger.
// false: there is no memory for them, and nothing has changed. Other threads that ask for the same
// wait.
bool sprag_ode_hold_memory(void);

// Ends that, and gives back what ODE has not taken.
void sprag_ode_release_memory(void);

#endif
