// Tuning constants of the sweeps. The comment of each says what happens when it is changed.
#ifndef SWEEPS_CONSTANTS_H
#define SWEEPS_CONSTANTS_H

// Rows of contacts and bounded rows at one mechanism up to which its joints are exact: each sweep
// costs the square of them. Larger: long chains on the ground take longer and hold better.
enum { SWEEPS_PORT_ROWS = 400 };

#endif
