// Bodies that would still collide go slower along their paths: each by as much as keeps it from the
// other one, and bodies behind them follow. Bodies that joints hold together go slower by the same
// share, else a joint opens by the way of the other body. The rounds end, because bodies that stand
// stay apart.
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

// The shares of their speed that leave the bodies only the approach that the gap allows.
static void parts_of(const advance_run *run, const advance_near *near, double part[2])
{
    const sprag_certificate *c = &near->certificate;
    double a[2];
    double allowed = advance_gap_share * fmax(0, c->height - run->level) / run->attempt.length;
    double both =
        advance_time_share * c->time / run->attempt.length; // safe, unless other pairs block
    part[0] = part[1] = both;
    if (c->side < 0) {
        return;
    }
    for (int side = 0; side < 2; side++) {
        a[side] = advance_approach(near, side, c->point, c->normal);
    }
    for (int side = 0; side < 2; side++) {
        if (a[side] <= 0) {
            part[side] = 1;
        } else if (a[!side] > 0) {
            part[side] = allowed / (a[0] + a[1]);
        } else {
            part[side] = (allowed - a[!side]) / a[side];
        }
    }
    if (!(part[0] < 1 || part[1] < 1) || fmax(part[0], part[1]) < both) { // the motion curves
        part[0] = part[1] = both;
    }
}

static bool slow_pair(advance_run *run, int pair, bool *moved)
{
    const sprag_frame *frame = run->frame;
    const int body[2] = {advance_body_of(run, pair, 0), advance_body_of(run, pair, 1)};
    const bool joined = body[0] != SPRAG_STATIC && body[1] != SPRAG_STATIC &&
                        run->assembly[body[0]] == run->assembly[body[1]];
    double part[2];
    bool slower = false;
    parts_of(run, &run->near[pair], part);
    part[0] = joined ? fmin(part[0], part[1]) : part[0];
    for (int side = 0; side < (joined ? 1 : 2); side++) {
        const int b = body[side];
        if (b != SPRAG_STATIC && frame->body[b].mass > 0 && run->attempt.share[b] > 0 &&
            part[side] < 1) {
            scale(run, b, part[side], moved);
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
