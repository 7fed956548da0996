// A sub-step that no event ends. Where an exact solve of its contacts would cost too much, sweeps
// leave velocities at which pairs still approach by a little more than their gaps allow. The motion
// is projected (projection.c), so that all points stay apart; the velocities stay as they were
// solved. Pairs that block the projected motion get speculative contacts, and the contacts are
// solved once more with them.
#include <math.h>
#include <string.h>

#include "advance_run.h"

bool advance_is_coarse(const advance_run *run)
{
    bool jammed = run->push.speed > 0; // an overlap has no event to wait for
    return advance_event_work_is_spent(run) || (jammed && !advance_is_controlled(run));
}

// Rounds of projection, certificates and points of what blocks. as_solved: the motion is first
// certified as it was solved. true: another solve comes first, with contacts that this has found,
// or, of what settles, with friction bounds of better forces.
static bool project(advance_run *run, bool as_solved)
{
    const int points = run->points.count;
    bool *moved = run->marked;
    for (int round = 0; round < ADVANCE_ROUNDS; round++) {
        if (!as_solved) {
            const bool exact = run->rows.count > 0 && round >= ADVANCE_SWEPT_ROUNDS;
            advance_project(run, exact ? 0 : ADVANCE_SWEEPS / 2, moved);
        }
        advance_certify(run, run->attempt.length, round == 0 ? NULL : moved, NULL);
        bool falls_short = as_solved && advance_find_short(run, moved);
        bool apart = run->attempt.safe >= run->attempt.length && !falls_short;
        if (apart || advance_is_spent(run, 0) || run->result != SPRAG_OK ||
            !(advance_meet_blocking(run, run->attempt.length, INFINITY, as_solved) ||
              falls_short)) {
            return false;
        }
        if (as_solved && (run->settling || run->points.count > points) && run->work_left > 0) {
            return true;
        }
        as_solved = false;
    }
    return false;
}

// Solves, then takes the approach that is left out of the motion.
static void solve_projected(advance_run *run, double longest)
{
    bool again = true;
    run->attempt.has_guess = false;
    advance_begin_attempt(run, longest);
    for (int pass = 0; again && pass < ADVANCE_COARSE_SOLVES && (pass == 0 || run->work_left > 0);
         pass++) {
        const int points = run->points.count;
        run->attempt.ignore_dips = true;
        advance_solve(run);
        run->attempt.ignore_dips = false;
        again =
            project(run, pass == 0) || (run->points.count > points && run->attempt.safe < longest);
    }
}

// ---- slowing down
//
// Bodies that would still collide go slower along their paths, both by the share of the sub-step
// for which they stay apart, and bodies behind them follow. Bodies that joints hold together go
// slower by the same share, else a joint opens by the way of the other body. The rounds end,
// because bodies that stand stay apart.

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
    const int *body = run->near[pair].body;
    const bool joined = body[1] != SPRAG_STATIC && run->assembly[body[0]] == run->assembly[body[1]];
    bool slower = false;
    for (int side = 0; side < (joined ? 1 : 2); side++) {
        const int b = body[side];
        if (!advance_stays(run, b) && run->attempt.share[b] > 0) {
            scale(run, b, part, moved);
            slower = true;
        }
    }
    run->near[pair].slowed |= slower;
    return slower;
}

static void slow_down(advance_run *run)
{
    bool *moved = run->marked;
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
        advance_certify(run, run->attempt.length, moved, NULL);
    }
}

// Only a joint's stop ends such a sub-step.
void advance_plan_coarse(advance_run *run, double longest)
{
    for (int i = 0; i < ADVANCE_PLANS && (i == 0 || run->work_left > 0); i++) {
        solve_projected(run, longest);
        if (run->attempt.safe < run->attempt.length) {
            slow_down(run);
        }
        advance_stop_at_limit(run);
        bool complete =
            run->attempt.length - run->attempt.safe <= advance_idle_share * run->attempt.length;
        if (!run->attempt.at_limit || complete || run->attempt.length <= run->floor) {
            break;
        }
        longest = fmax(run->attempt.safe, run->floor); // forces act for no longer than bodies move
    }
}
