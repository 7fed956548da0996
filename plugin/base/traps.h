// Floating-point traps of the program (feenableexcept). sprag divides by zero and compares with
// infinity on purpose, in lanes of vectors that nobody reads; stock ODE does not.
#ifndef SPRAG_TRAPS_H
#define SPRAG_TRAPS_H

int traps_hold(void);         // switches traps off; returns those that were on
void traps_release(int held); // forgets what has happened since, and switches them on again

#endif
