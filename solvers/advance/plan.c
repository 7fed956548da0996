// Chooses the length of the sub-step, and solves it.
#include <math.h>
#include <string.h>

#include "advance_run.h"

// An event: a pair blocks from higher than the band, in which it becomes a speculative contact.
static bool is_event(const advance_run *run, int pair)
{
    const advance_near *near = &run->near[pair];
    return near->certificate.height > ADVANCE_BAND * run->options->epsilon &&
           near->certificate.side >= 0 && (!near->closed || advance_blocks_elsewhere(run, pair));
}

// s, from the start of the sub-step, of the first event that ends it.
static double first_event(const advance_run *run)
{
    double first = run->attempt.length;
    for (int i = 0; i < run->frame->pairs; i++) {
        const double time = run->near[i].certificate.time;
        first = time < first && is_event(run, i) ? time : first;
    }
    return first;
}

void advance_stop_at_limit(advance_run *run)
{
    run->attempt.at_limit = false;
    if (run->calls->next_limit) {
        double limit =
            run->calls->next_limit(run->calls->data, run->attempt.motion, run->attempt.safe);
        if (limit < run->attempt.safe && run->floor < run->attempt.safe) {
            run->attempt.safe =
                fmax(limit, run->floor); // its row pushes back what goes past the stop
            run->attempt.blocking = -1;
            run->attempt.at_limit = true;
        }
    }
}

// Solves for a length, and finds how long the velocities are safe, `horizon` at most. Pairs that
// block from within the band become speculative contacts, in some passes, as long as the safe time
// grows.
static void attempt(advance_run *run, double length, double horizon)
{
    const double band = ADVANCE_BAND * run->options->epsilon;
    double before = 0;
    advance_begin_attempt(run, length);
    for (int pass = 0, since = 0; pass < ADVANCE_PASSES && since < ADVANCE_PATIENCE;
         pass++, since++) {
        advance_solve(run);
        advance_certify(run, horizon, NULL, is_event);
        if (run->attempt.safe >= length || run->attempt.failed || run->result != SPRAG_OK ||
            advance_event_work_is_spent(run) ||
            !advance_meet_blocking(run, first_event(run), band, true)) {
            break;
        }
        if (run->attempt.safe > advance_progress * before) {
            before = run->attempt.safe;
            since = 0;
        }
    }
    advance_stop_at_limit(run);
}

// ---- a sub-step that an event ends
//
// The velocities v(h) that are solved for a length h are safe for a time s(h). The event is where
// s(h) = h. s hardly depends on h, so that s(h) is the next length to try, and then the secant of
// the last two.

typedef struct trial {
    double length, safe; // s
} trial;

// s, by which a sub-step may end before the event, where the pair that blocks is so high above it;
// at a joint's stop (negative) it ends as much behind, because the row of the stop acts from there.
static double room_of(const advance_run *run)
{
    const advance_attempt *a = &run->attempt;
    double height = a->blocking < 0 ? 0 : run->near[a->blocking].certificate.height;
    double share = advance_event_height * run->options->epsilon / height;
    return a->safe * (a->at_limit ? -advance_past_stop : fmin(0.5, share));
}

// Does the sub-step end so near the event that the next one starts with it?
static bool ends_at_event(const advance_run *run)
{
    double before = run->attempt.safe - run->attempt.length, room = room_of(run);
    return before >= fmin(0, room) && before <= fmax(0, room);
}

// The length at which the secant of the last two trials has half of the room left; if that is not
// between the bounds, their middle.
static double next_length(const trial *before, const trial *last, const trial *low,
                          const trial *high, double room)
{
    double slope =
        before->length > 0 ? (last->safe - before->safe) / (last->length - before->length) : 0;
    double next = (last->safe - slope * last->length) / (1 - slope) - 0.5 * room;
    bool inside = next > low->length && next < high->length;
    return inside ? next : 0.5 * (low->length + fmin(high->length, high->safe));
}

// Looks for the event that ends the sub-step. Returns the length (s) that a coarse plan is to take
// if the last attempt is not safe to its end.
static double plan_exact(advance_run *run, double horizon, bool to_the_end)
{
    double longest = horizon;
    trial low = {0, 0}, high = {horizon, horizon}, before = {0, 0};
    run->attempt.has_guess = false;
    attempt(run, horizon, horizon);
    for (int i = 0; i < ADVANCE_LENGTHS && !to_the_end; i++) {
        const trial last = {run->attempt.length, run->attempt.safe};
        *(last.safe < last.length ? &high : &low) = last;
        longest = fmax(low.length, run->floor);
        if (ends_at_event(run) || run->attempt.failed || high.length <= run->floor ||
            advance_event_work_is_spent(run) || run->result != SPRAG_OK) {
            break;
        }
        double next = fmax(next_length(&before, &last, &low, &high, room_of(run)), run->floor);
        before = last;
        attempt(run, next, horizon);
    }
    return longest;
}

void advance_plan(advance_run *run, double longest, bool to_the_end)
{
    advance_look(run, longest);
    run->longest = run->left;
    if (advance_is_controlled(run)) {
        longest = advance_choose_length(run);
        longest = advance_is_controlled(run) ? longest : run->left; // it has cost too much
        run->longest = longest;
        run->floor = fmin(run->floor, longest); // no speculative contacts of later events
    }
    longest = advance_part_of_swing(run, longest);
    run->longest = fmin(run->longest, longest);
    run->floor = fmin(run->floor, longest);
    run->middles.usual = run->time > 0 ? fmax(run->middles.usual, longest) : longest;
    if (!advance_is_coarse(run)) {
        longest = plan_exact(run, longest, to_the_end);
        if (run->attempt.safe >= run->attempt.length || ends_at_event(run)) {
            return;
        }
        if (advance_is_coarse(run)) { // all that is left is planned at once
            run->floor = advance_whole_share * run->left;
            longest = advance_part_of_swing(run, run->left);
            run->floor = fmin(run->floor, longest);
            advance_look(run, longest);
        }
    }
    advance_plan_coarse(run, longest);
}
