// Bodies that would still collide go slower along their paths, both by the share of the sub-step
// for which they stay apart, and bodies behind them follow. Bodies that joints hold together go
// slower by the same share, else a joint opens by the way of the other body. The rounds end,
// because bodies that stand stay apart.
#include <math.h>
#include <string.h>

#include "advance_run.h"

static void scale(advance_run *run, int body, double part, bool *moved)
{
    double share = run->attempt.share[body] * part;
    part = share < advance_least_share ? 0 : part;
    for (int i = 0; i < run->frame->bodies; i++) {
        if (run->assembly[i] == run->assembly[body]) {
            run->attempt.share[i] *= part;
            for (int k = 0; k < 6; k++) {
                run->attempt.motion[i].velocity[k] *= part;
            }
            moved[i] = true;
        }
    }
}

// Both bodies go for the time that is safe, unless other pairs block.
static bool slow_pair(advance_run *run, int pair, bool *moved)
{
    const double part = advance_time_share * run->near[pair].certificate.time / run->attempt.length;
    const int body[2] = {advance_body_of(run, pair, 0), advance_body_of(run, pair, 1)};
    const bool joined = body[0] != SPRAG_STATIC && body[1] != SPRAG_STATIC &&
                        run->assembly[body[0]] == run->assembly[body[1]];
    bool slower = false;
    for (int side = 0; side < (joined ? 1 : 2); side++) {
        const int b = body[side];
        if (b != SPRAG_STATIC && run->frame->body[b].mass > 0 && run->attempt.share[b] > 0) {
            scale(run, b, part, moved);
            slower = true;
        }
    }
    run->near[pair].slowed |= slower;
    return slower;
}

void advance_slow_down(advance_run *run)
{
    bool *moved = run->work.moved;
    run->attempt.slowed_pair = run->attempt.blocking;
    for (int round = 0; round < ADVANCE_SLOW_ROUNDS && run->attempt.safe < run->attempt.length;
         round++) {
        bool slower = false;
        memset(moved, 0, (size_t)run->frame->bodies * sizeof *moved);
        for (int i = 0; i < run->frame->pairs; i++) {
            if (run->near[i].certificate.time < run->attempt.length) {
                slower |= slow_pair(run, i, moved);
            }
        }
        if (!slower) {
            return;
        }
        advance_certify(run, run->attempt.length, moved);
    }
}
