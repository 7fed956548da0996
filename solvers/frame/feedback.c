// The impulse of a pair over a frame, for joint feedback.
#include "frame.h"

#include "linalg.h"

void sprag_pair_add_impulse(sprag_pair *pair, const double at[3], const double *const centre[2],
                            const double impulse[3], const double turning[3])
{
    add_scaled(pair->impulse, 1, impulse, 3);
    for (int side = 0; side < 2; side++) {
        double arm[3], moment[3], sign = side ? -1 : 1;
        if (centre[side]) {
            subtract3(at, centre[side], arm);
            cross3(arm, impulse, moment);
            add_scaled(pair->moment[side], sign, moment, 3);
            add_scaled(pair->moment[side], sign, turning, 3);
        }
    }
}
