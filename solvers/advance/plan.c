// How long the next sub-step is. Its velocities depend on its length, and how far they may be gone
// on the velocities: where something ends it, the length is found by secants.
#include <math.h>
#include <string.h>

#include "advance_run.h"
#include "linalg.h"

enum { LENGTHS = 6 };

// Holds off all that blocks from no higher than this (m). false: nothing does.
static bool hold_off(advance_run *run, double height)
{
    bool changed = false;
    for (int i = 0, at = 0; i < run->frame->pairs; i++) {
        const advance_near *near = &run->near[i];
        advance_skip_points(run, i, &at);
        if (!(near->certificate.time < run->trial)) {
            continue;
        }
        if (near->closed && advance_correct(run, i, &at)) {
            changed = true;
        } else if (near->certificate.height <= height) {
            if (near->certificate.side < 0) {
                continue; // it turns too fast to tell
            }
            if (advance_accepts(run, i)) { // or it does not block any more
                advance_capture(run, i);
            }
            changed = true;
        }
    }
    return changed;
}

// No farther than to where a joint meets its stop.
static void meet_limit(advance_run *run)
{
    run->at_limit = false;
    if (run->calls->next_limit) {
        double limit = run->calls->next_limit(run->calls->data, run->motion, run->safe);
        if (limit < run->safe && run->floor < run->safe) {
            run->safe = fmax(limit, run->floor); // a joint that is past its stop is pushed back
            run->blocking = -1;
            run->at_limit = true;
        }
    }
}

// Solves for a length, and tells for how long the velocities would do, `horizon` at most. What
// blocks from no higher than this (m) is held off, in some passes, while that helps.
static sprag_result attempt(advance_run *run, double length, double horizon, double height)
{
    static const double progress = 1.1;
    bool any_height = isinf(height); // there is nothing else that helps
    const int most = any_height ? 20 : 12, patience = any_height ? 6 : 3;
    double before = 0;
    bool some = false; // only pairs that were blocked before have been looked at
    for (int pass = 0, since = 0; pass < most && since < patience; pass++, since++) {
        run->exactly = any_height && pass == 3; // and on from there
        sprag_result result = advance_solve(run, length);
        if (result != SPRAG_OK) {
            return result;
        }
        some = pass > 0;
        if (some) {
            advance_certify_blocked(run, horizon);
        }
        if (!some || run->safe >= length) {
            advance_certify(run, horizon, NULL);
            some = false;
        }
        if (run->safe >= length || run->failed || !hold_off(run, height)) {
            break;
        }
        if (run->safe > progress * before) {
            before = run->safe;
            since = 0;
        }
    }
    if (some) {
        advance_certify(run, horizon, NULL);
    }
    meet_limit(run);
    return SPRAG_OK;
}

// ---- a sub-step in which what comes is met beforehand

// From where an attempt of that length has come.
static sprag_result capture(advance_run *run)
{
    if (run->safe >= run->trial || run->failed) {
        return SPRAG_OK;
    }
    hold_off(run, INFINITY);
    return attempt(run, run->trial, run->trial, INFINITY);
}

// ---- a sub-step that an event ends
//
// The length is sought at which the velocities that go with it meet the event just then. Those are
// all but linear in the length: between two that are solved for, the event is found without a
// solve.

typedef struct trial {
    double length, safe;
    double (*velocity)[6];
} trial;

static void note(const advance_run *run, trial *t)
{
    t->length = run->trial;
    t->safe = run->safe;
    memcpy(t->velocity, run->solved, (size_t)run->frame->bodies * sizeof *t->velocity);
}

static void go_between(advance_run *run, const trial *a, const trial *b, double length)
{
    double part = (length - a->length) / (b->length - a->length);
    for (int i = 0; i < run->frame->bodies; i++) {
        for (int k = 0; k < 6; k++) {
            double v = a->velocity[i][k] + part * (b->velocity[i][k] - a->velocity[i][k]);
            run->motion[i].velocity[k] = v + (run->pushes ? run->pushed[i][k] : 0);
        }
    }
}

// The longest length that is safe, of those between: low is, high is not. By regula falsi on what
// each is safe for beyond its length, after Illinois.
static double meet(advance_run *run, const trial *low, const trial *high, const int *pair,
                   int pairs)
{
    enum { TRIES = 40 };
    static const double close = 1e-9;
    double a = low->length, b = high->length, fa = low->safe - a, fb = high->safe - b;
    for (int i = 0, before = 0; i < TRIES && b - a > close * b; i++) {
        double between = fa > 0 && fb < 0 ? (a * fb - b * fa) / (fb - fa) : 0.5 * (a + b);
        double length = fmin(fmax(between, a + 0.1 * close * b), b - 0.1 * close * b);
        go_between(run, low, high, length);
        double f = advance_safe(run, pair, pairs, high->length) - length;
        int side = f >= 0 ? 1 : -1;
        *(side > 0 ? &a : &b) = length;
        *(side > 0 ? &fa : &fb) = f;
        *(side > 0 ? &fb : &fa) *= side == before ? 0.5 : 1;
        before = side;
        if (side > 0 && f <= close * b) {
            break;
        }
    }
    return a;
}

// Near enough to the event to meet it in the next sub-step.
static bool arrives(const advance_run *run)
{
    if (run->safe < run->trial) {
        return run->trial - run->safe <= 1e-6 * run->trial;
    }
    if (run->blocking < 0) {
        return run->at_limit && run->safe - run->trial <= 1e-6 * run->trial;
    }
    double speed = fabs(run->near[run->blocking].certificate.height) / run->safe;
    return (run->safe - run->trial) * speed <= 0.5 * run->options->epsilon;
}

// Forces must not act for longer than bodies move: what was solved for a longer time than is safe
// is solved for a shorter one.
static sprag_result retreat(advance_run *run, double low, double longest)
{
    const double length[] = {fmax(run->safe, run->floor), fmax(low, run->floor), run->floor};
    for (int i = 0; i < 3 && run->trial - run->safe > 1e-3 * run->trial; i++) {
        if (length[i] < run->trial) {
            advance_begin(run, length[i]);
            sprag_result result =
                attempt(run, length[i], longest, ADVANCE_BAND * run->options->epsilon);
            if (result != SPRAG_OK || run->failed) {
                return result;
            }
        }
    }
    return run->trial <= run->floor ? capture(run) : SPRAG_OK;
}

static sprag_result end_at_event(advance_run *run, double longest)
{
    double(*velocity)[6] = run->trial_velocity;
    trial low = {.velocity = velocity}, high = {.velocity = velocity + run->frame->bodies};
    int *pair = run->blocked, pairs = 0;
    for (int i = 0; i < run->frame->pairs; i++) {
        if (run->near[i].certificate.time < longest) {
            pair[pairs++] = i;
        }
    }
    note(run, &high);
    double next = fmax(run->safe, run->floor);
    for (int i = 0; i < LENGTHS; i++) {
        advance_begin(run, next);
        sprag_result result = attempt(run, next, longest, ADVANCE_BAND * run->options->epsilon);
        if (result != SPRAG_OK || run->failed || arrives(run)) {
            return result;
        }
        note(run, run->safe < run->trial ? &high : &low);
        if (high.length <= run->floor) {
            return capture(run);
        }
        if (low.length == 0) {
            next = fmax(0.5 * next, run->floor);
        } else {
            next = run->at_limit ? run->safe : meet(run, &low, &high, pair, pairs);
        }
        if (next <= low.length * (1 + 1e-9) || next >= high.length) {
            break;
        }
    }
    advance_set_motion(run); // as certified
    return retreat(run, low.length, longest);
}

// ---- energy

static double energy_between(const advance_run *run, double (*a)[6], double (*b)[6])
{
    double sum = 0;
    for (int i = 0; i < run->frame->bodies; i++) {
        sum += 0.5 * advance_product(run, i, a[i], b[i]);
    }
    return sum;
}

// The share of `more` that `calm` can take and have no more energy than that.
static double share_of(const advance_run *run, double (*calm)[6], double (*more)[6], double most)
{
    double own = energy_between(run, calm, calm), both = energy_between(run, calm, more);
    double square = energy_between(run, more, more);
    double left = most - own;
    if (!(square > 0) || !(left > 0)) {
        return 0;
    }
    double root = sqrt(both * both + square * left);
    double share = both > 0 ? left / (both + root) : (root - both) / square;
    return share < 1 ? share : 1;
}

// To make up for what a motion curves, contacts ask for speed. Together they must not add more
// energy than is lost elsewhere in the frame: rather than that, the sub-step ends early.
static sprag_result spare(advance_run *run)
{
    static const double slight = 1e-9;
    double most = run->free_energy + run->credit, safe = run->safe;
    if (run->failed || run->energy <= most + slight * run->free_energy) {
        return SPRAG_OK;
    }
    int bodies = run->frame->bodies;
    for (int i = 0; i < bodies; i++) {
        if (!(run->frame->body[i].mass > 0)) {
            return SPRAG_OK; // kinematic: what it does is work
        }
    }
    double(*more)[6] = run->trial_velocity, length = run->trial;
    memcpy(more, run->solved, (size_t)bodies * sizeof *more);
    run->calm = true;
    sprag_result result = advance_solve(run, length);
    run->calm = false;
    if (result != SPRAG_OK) {
        return result;
    }
    most = fmax(most, run->energy);
    for (int i = 0; i < bodies; i++) {
        add_scaled(more[i], -1, run->solved[i], 6);
    }
    double share = run->failed ? 0 : share_of(run, run->solved, more, most);
    for (int i = 0; i < bodies; i++) {
        add_scaled(run->solved[i], share, more[i], 6);
    }
    run->energy = energy_between(run, run->solved, run->solved);
    advance_set_motion(run);
    advance_certify(run, fmax(safe, length), NULL);
    meet_limit(run);
    return SPRAG_OK;
}

static sprag_result plan(advance_run *run, double longest, bool to_the_end)
{
    run->tried = false;
    advance_begin(run, longest);
    sprag_result result = attempt(run, longest, longest, ADVANCE_BAND * run->options->epsilon);
    if (result != SPRAG_OK || run->safe >= longest || run->failed) {
        return result;
    }
    return to_the_end || longest <= run->floor ? capture(run) : end_at_event(run, longest);
}

static sprag_result plan_heap(advance_run *run, double longest)
{
    enum { TRIES = 4 };
    for (int i = 0; i < TRIES; i++) {
        sprag_result result = advance_settle(run, longest);
        if (result != SPRAG_OK) {
            return result;
        }
        if (run->safe < run->trial) {
            advance_slow(run);
        }
        meet_limit(run);
        if (!run->at_limit || run->trial - run->safe <= 1e-3 * run->trial ||
            run->trial <= run->floor) {
            break;
        }
        longest = fmax(run->safe, run->floor); // forces act for no longer than bodies move
    }
    return SPRAG_OK;
}

sprag_result advance_plan(advance_run *run, double longest, bool to_the_end)
{
    enum { TRIES = 4 };
    sprag_result result = SPRAG_OK;
    if (advance_is_heap(run)) {
        return plan_heap(run, longest);
    }
    for (int i = 0; i < TRIES && result == SPRAG_OK; i++) {
        result = plan(run, longest, to_the_end);
        if (result == SPRAG_OK) {
            result = spare(run);
        }
        bool gone = run->trial - run->safe <= 1e-3 * run->trial;
        if (gone || run->failed || run->trial <= run->floor) {
            break;
        }
        longest = fmax(run->safe, run->floor); // forces act for no longer than bodies move
    }
    double least = fmin(run->options->shortest * run->frame->step, run->trial);
    if (result == SPRAG_OK && run->safe < least && !run->at_limit) {
        advance_slow(run);
    }
    if (result == SPRAG_OK) {
        run->credit = fmax(0, run->credit + run->free_energy - run->energy);
    }
    return result;
}
