// Chance from a seed, the same everywhere.
#ifndef TEST_CHANCE_H
#define TEST_CHANCE_H

#include <stdint.h>

#include "linalg.h"
#include "motion.h"

typedef struct chance {
    uint64_t state;
} chance;

static inline double chance_fraction(chance *c) // [0, 1)
{
    c->state = c->state * 6364136223846793005u + 1442695040888963407u;
    uint64_t x = (c->state ^ c->state >> 32) * 0x9e3779b97f4a7c15u;
    return (double)(x >> 11) / 9007199254740992.0;
}

static inline double chance_between(chance *c, double low, double high)
{
    return low + (high - low) * chance_fraction(c);
}

static inline double chance_power(chance *c, double low, double high) // of ten
{
    return pow(10, chance_between(c, low, high));
}

static inline void chance_unit(chance *c, double n[3])
{
    do {
        for (int k = 0; k < 3; k++) {
            n[k] = chance_between(c, -1, 1);
        }
    } while (dot3(n, n) > 1 || dot3(n, n) < 0.01);
    normalise3(n);
}

static inline void chance_rotation(chance *c, double R[9])
{
    sprag_motion turn = {.pose.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    sprag_pose pose;
    chance_unit(c, turn.velocity + 3);
    sprag_motion_at(&turn, chance_between(c, 0, 3.14), &pose);
    memcpy(R, pose.rotation, sizeof pose.rotation);
}

#endif
