// Velocities of four contacts' bodies at once. Only kernels include it.
#ifndef SPRAG_BATCH_LANES_H
#define SPRAG_BATCH_LANES_H

#include "batches.h"

enum { NUMBERS = BATCH_NUMBERS };

// Velocities of four nodes, component by component.
INLINE void load(const batch_velocity *v, const int32_t node[LANES], lanes r[NUMBERS])
{
    for (int l = 0; l < LANES; l++) {
        const lanes *from = (const lanes *)v[node[l]];
        r[l] = from[0];
        r[LANES + l] = from[1];
    }
    transpose(r);
    transpose(r + LANES);
}

INLINE void store(batch_velocity *v, const int32_t node[LANES], lanes r[NUMBERS])
{
    transpose(r);
    transpose(r + LANES);
    for (int l = 0; l < LANES; l++) {
        lanes *to = (lanes *)v[node[l]];
        to[0] = r[l];
        to[1] = r[LANES + l];
    }
}

// y = I x
INLINE void turn(const lanes I[6], const lanes x[3], lanes y[3])
{
    y[0] = I[0] * x[0] + I[3] * x[1] + I[4] * x[2];
    y[1] = I[3] * x[0] + I[1] * x[1] + I[5] * x[2];
    y[2] = I[4] * x[0] + I[5] * x[1] + I[2] * x[2];
}

// Relative velocities in the frames of the contacts, with the offsets; v: of the nodes. sides: that
// may move, the first or both.
INLINE void slip_of(const batch *c, const int sides, const lanes v[2][NUMBERS], lanes slip[3])
{
    lanes u[3], by_turn[3];
    for (int side = 0; side < sides; side++) {
        cross(v[side] + 4, c->arm[side], by_turn);
        for (int k = 0; k < 3; k++) {
            const lanes at = v[side][k] + by_turn[k];
            u[k] = side ? u[k] - at : at;
        }
    }
    for (int k = 0; k < 3; k++) {
        const lanes *f = c->frame[k];
        slip[k] = c->offset[k] + (f[0] * u[0] + f[1] * u[1] + f[2] * u[2]);
    }
}

#endif
