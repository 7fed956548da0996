// A sub-step that no event ends. Where an exact solve of its contacts would cost too much, sweeps
// leave velocities at which pairs still approach by a little more than their gaps allow. The motion
// is projected (projection.c), so that all points stay apart; the velocities stay as they were
// solved. Pairs that block the projected motion get speculative contacts, and the contacts are
// solved once more with them.
#include <math.h>

#include "advance_run.h"

bool advance_is_coarse(const advance_run *run)
{
    bool jammed = run->push.speed > 0; // an overlap has no event to wait for
    return advance_event_work_is_spent(run) || (jammed && !advance_is_controlled(run));
}

// Rounds of projection, certificates and points of what blocks. as_solved: the motion is first
// certified as it was solved. *again: another solve comes first, with contacts that this has found,
// or, of what settles, with friction bounds of better forces.
static void project(advance_run *run, bool as_solved, bool *again)
{
    const int points = run->points.count;
    bool *moved = run->work.moved;
    *again = false;
    for (int round = 0; round < ADVANCE_ROUNDS; round++) {
        if (!as_solved) {
            advance_project(run, moved);
        }
        advance_certify(run, run->attempt.length, round == 0 ? NULL : moved);
        bool falls_short = as_solved && advance_falls_short(run);
        bool apart = run->attempt.safe >= run->attempt.length && !falls_short;
        if (apart || advance_is_spent(run) || run->result != SPRAG_OK ||
            !(advance_meet_blocking(run, run->attempt.length, INFINITY) || falls_short)) {
            break;
        }
        if (as_solved && (run->settling || run->points.count > points) && run->work_left > 0) {
            *again = true;
            break;
        }
        as_solved = false;
    }
}

void advance_plan_coarse(advance_run *run, double longest)
{
    run->attempt.has_guess = false;
    advance_begin_attempt(run, longest);
    for (int pass = 0; pass < ADVANCE_COARSE_SOLVES && (pass == 0 || run->work_left > 0); pass++) {
        int points = run->points.count;
        bool again = false;
        run->attempt.ignore_dips = true;
        advance_solve(run, longest);
        run->attempt.ignore_dips = false;
        project(run, pass == 0, &again);
        bool more = run->points.count > points, apart = run->attempt.safe >= longest;
        // Bodies that cannot pay for the projection are solved again with the contacts found.
        if (!again && (!more || (apart && !advance_find_costly(run, run->work.moved)))) {
            break;
        }
    }
}
