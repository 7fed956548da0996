// Chooses the length h of the sub-step. The velocities depend on h and the safe time depends on the
// velocities, so when an event ends the sub-step, h is found by the secant method.
#include <math.h>
#include <string.h>

#include "advance_run.h"
#include "linalg.h"

// A body that rolls from triangle to triangle would have friction on both at once, which brakes it:
// the sub-step ends where it comes to the next one, unless that is too soon.
static bool must_wait(const advance_run *run, int pair, double height)
{
    const sprag_certificate *c = &run->near[pair].certificate;
    return isfinite(height) && advance_triangle(run, pair) >= 0 && c->time > run->floor &&
           c->height > ADVANCE_FACET_BAND * run->options->epsilon;
}

// Makes speculative contacts of pairs that block from no higher than this (m), and increases the
// dips of points. false: nothing changed.
static bool capture_blocking(advance_run *run, double height)
{
    bool changed = false;
    for (int i = 0, at = 0; i < run->frame->pairs; i++) {
        const advance_near *near = &run->near[i];
        advance_skip_to_pair(run, i, &at);
        if (!(near->certificate.time < run->attempt.length)) {
            continue;
        }
        if (near->closed && advance_update_dips(run, i, &at)) {
            changed = true;
        } else if (near->certificate.height <= height && !must_wait(run, i, height)) {
            if (near->certificate.side < 0) {
                continue; // it turns too fast for a plane
            }
            if (advance_accepts(run, i)) { // a declined pair does not block any more
                advance_add_speculative(run, i);
            }
            changed = true;
        }
    }
    return changed;
}

// Ends the attempt where a joint reaches its stop.
static void stop_at_limit(advance_run *run)
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
// block from no higher than this (m) become speculative contacts, in some passes, as long as the
// safe time grows.
static sprag_result attempt(advance_run *run, double length, double horizon, double height)
{
    bool last = isinf(height); // nothing may end the sub-step any more
    const int most = last ? ADVANCE_LAST_PASSES : ADVANCE_PASSES;
    const int patience = last ? ADVANCE_LAST_PATIENCE : ADVANCE_PATIENCE;
    double before = 0;
    bool some = false; // only pairs that blocked before have been certified
    for (int pass = 0, since = 0; pass < most && since < patience; pass++, since++) {
        run->attempt.exactly = last && pass == ADVANCE_EXACT_PASS; // and on from there
        sprag_result result = advance_solve(run, length);
        if (result != SPRAG_OK) {
            return result;
        }
        some = pass > 0;
        if (some) {
            advance_certify_blocked(run, horizon);
        }
        if (!some || run->attempt.safe >= length) {
            advance_certify(run, horizon, NULL);
            some = false;
        }
        if (run->attempt.safe >= length || run->attempt.failed || advance_is_costly(run) ||
            !capture_blocking(run, height)) {
            break;
        }
        if (run->attempt.safe > advance_progress * before) {
            before = run->attempt.safe;
            since = 0;
        }
    }
    if (some) {
        advance_certify(run, horizon, NULL);
    }
    stop_at_limit(run);
    return SPRAG_OK;
}

// ---- a sub-step that no event ends

// Goes on from the last attempt, of the same length, with speculative contacts at any height.
static sprag_result attempt_to_end(advance_run *run)
{
    if (run->attempt.safe >= run->attempt.length || run->attempt.failed) {
        return SPRAG_OK;
    }
    capture_blocking(run, INFINITY);
    return attempt(run, run->attempt.length, run->attempt.length, INFINITY);
}

// ---- a sub-step that an event ends
//
// The length is sought at which the velocities solved for it reach the event at its end. The
// velocities are nearly linear in the length: between two lengths that have been solved, the event
// is found without a solve.

typedef struct trial {
    double length;
    double (*velocity)[6]; // m/s, rad/s, of the motion
} trial;

static void record_trial(const advance_run *run, trial *t)
{
    t->length = run->attempt.length;
    for (int i = 0; i < run->frame->bodies; i++) {
        memcpy(t->velocity[i], run->attempt.motion[i].velocity, sizeof t->velocity[i]);
    }
}

// At the start of the sub-step.
static void record_start(const advance_run *run, trial *t)
{
    t->length = 0;
    for (int i = 0; i < run->frame->bodies; i++) {
        memcpy(t->velocity[i], run->frame->body[i].velocity, sizeof t->velocity[i]);
    }
}

// Adds the pairs that block the attempt within `until`, with what they are blocked by now.
static void record_blocking(advance_run *run, double until)
{
    for (int i = 0; i < run->frame->pairs; i++) {
        const sprag_certificate *c = &run->near[i].certificate;
        if (c->time < until && c->side >= 0) {
            int *at = &run->near[i].awaited;
            *at = *at >= 0 ? *at : run->work.awaits++;
            run->work.awaited[*at] = (advance_awaited){i, *c};
        }
    }
}

// m, by which the lowest of them is above the level at which the sub-step is to end.
static double height_left(const advance_run *run, double t)
{
    double least = INFINITY;
    for (int i = 0; i < run->work.awaits; i++) {
        const advance_awaited *a = &run->work.awaited[i];
        least =
            fmin(least, sprag_certificate_height(run->near[a->pair].carried, &a->certificate, t));
    }
    return least - advance_event_height * run->options->epsilon;
}

static void interpolate(advance_run *run, const trial *a, const trial *b, double length)
{
    double part = (length - a->length) / (b->length - a->length);
    for (int i = 0; i < run->frame->bodies; i++) {
        for (int k = 0; k < 6; k++) {
            run->attempt.motion[i].velocity[k] =
                a->velocity[i][k] + part * (b->velocity[i][k] - a->velocity[i][k]);
        }
    }
}

// The length between low and high at which the first of the awaited pairs arrives: the Illinois
// variant of regula falsi on the height that is left.
static double find_event_length(advance_run *run, const trial *low, const trial *high)
{
    static const double close = advance_secant_tolerance;
    double a = low->length, b = high->length, fa, fb;
    interpolate(run, low, high, a);
    fa = height_left(run, a);
    interpolate(run, low, high, b);
    fb = height_left(run, b);
    for (int i = 0, before = 0; i < ADVANCE_SECANTS && b - a > close * b; i++) {
        double between = fa > 0 && fb < 0 ? (a * fb - b * fa) / (fb - fa) : 0.5 * (a + b);
        double length = fmin(fmax(between, a + 0.1 * close * b), b - 0.1 * close * b);
        interpolate(run, low, high, length);
        double f = height_left(run, length);
        int side = f >= 0 ? 1 : -1;
        *(side > 0 ? &a : &b) = length;
        *(side > 0 ? &fa : &fb) = f;
        *(side > 0 ? &fb : &fa) *= side == before ? 0.5 : 1;
        before = side;
        if (side > 0 && f <= advance_event_room * run->options->epsilon) {
            break;
        }
    }
    return a;
}

// Does the sub-step end so near the event that the next one starts with it?
static bool ends_at_event(const advance_run *run)
{
    double length = run->attempt.length, past = length - run->attempt.safe;
    return run->attempt.at_limit || past > 0
               ? fabs(past) <= 1e-6 * length
               : height_left(run, length) <= advance_event_height * run->options->epsilon;
}

// Solves for shorter lengths, because forces must not act for longer than bodies move.
static sprag_result shorten(advance_run *run, double low, double longest)
{
    const double length[] = {fmax(run->attempt.safe, run->floor), fmax(low, run->floor),
                             run->floor};
    for (int i = 0; i < 3 && run->attempt.length - run->attempt.safe >
                                 advance_idle_share * run->attempt.length;
         i++) {
        if (length[i] < run->attempt.length) {
            advance_begin_attempt(run, length[i]);
            sprag_result result =
                attempt(run, length[i], longest, ADVANCE_BAND * run->options->epsilon);
            if (result != SPRAG_OK || run->attempt.failed) {
                return result;
            }
        }
    }
    return run->attempt.length <= run->floor ? attempt_to_end(run) : SPRAG_OK;
}

static void begin_waiting(advance_run *run)
{
    run->work.awaits = 0;
    for (int i = 0; i < run->frame->pairs; i++) {
        run->near[i].awaited = -1;
    }
}

static sprag_result end_at_event(advance_run *run, double longest)
{
    double(*velocity)[6] = run->work.velocity;
    trial low = {.velocity = velocity}, high = {.velocity = velocity + run->frame->bodies};
    begin_waiting(run);
    record_start(run, &low);
    for (int i = 0; i < ADVANCE_LENGTHS && !advance_is_costly(run); i++) {
        bool high_one = run->attempt.safe < run->attempt.length, limit = run->attempt.at_limit;
        record_trial(run, high_one ? &high : &low);
        if (high_one) {
            record_blocking(run, run->attempt.length);
        }
        if (high.length <= run->floor) {
            return attempt_to_end(run);
        }
        double next = limit ? run->attempt.safe : find_event_length(run, &low, &high);
        next = fmax(next, run->floor);
        if (next <= low.length * (1 + 1e-9) || next >= high.length) {
            break;
        }
        advance_begin_attempt(run, next);
        sprag_result result =
            attempt(run, next, limit ? longest : next, ADVANCE_BAND * run->options->epsilon);
        if (result != SPRAG_OK || run->attempt.failed || ends_at_event(run)) {
            return result;
        }
    }
    advance_set_motion(run); // of the last solve, as certified
    return shorten(run, low.length, longest);
}

static sprag_result plan_once(advance_run *run, double longest, bool to_the_end)
{
    run->attempt.has_guess = false;
    advance_begin_attempt(run, longest);
    sprag_result result = attempt(run, longest, longest, ADVANCE_BAND * run->options->epsilon);
    if (result != SPRAG_OK || run->attempt.safe >= longest || run->attempt.failed) {
        return result;
    }
    return to_the_end || longest <= run->floor ? attempt_to_end(run) : end_at_event(run, longest);
}

// Only a joint's stop ends such a sub-step.
static sprag_result plan_coarse(advance_run *run, double longest)
{
    for (int i = 0; i < ADVANCE_PLANS && (i == 0 || !advance_is_spent(run)); i++) {
        sprag_result result = advance_plan_coarse(run, longest);
        if (result != SPRAG_OK) {
            return result;
        }
        if (advance_drop_costly(run, run->work.moved)) {
            advance_certify(run, run->attempt.length, run->work.moved);
        }
        if (run->attempt.safe < run->attempt.length) {
            advance_slow_down(run);
        }
        stop_at_limit(run);
        bool complete =
            run->attempt.length - run->attempt.safe <= advance_idle_share * run->attempt.length;
        if (!run->attempt.at_limit || complete || run->attempt.length <= run->floor) {
            break;
        }
        longest = fmax(run->attempt.safe, run->floor); // forces act for no longer than bodies move
    }
    return SPRAG_OK;
}

static sprag_result plan_exact(advance_run *run, double longest, bool to_the_end)
{
    sprag_result result = SPRAG_OK;
    for (int i = 0; i < ADVANCE_PLANS && result == SPRAG_OK && (i == 0 || !advance_is_costly(run));
         i++) {
        result = plan_once(run, longest, to_the_end);
        bool complete =
            run->attempt.length - run->attempt.safe <= advance_idle_share * run->attempt.length;
        if (complete || run->attempt.failed || run->attempt.length <= run->floor) {
            break;
        }
        longest = fmax(run->attempt.safe, run->floor); // forces act for no longer than bodies move
    }
    double least = fmin(run->options->shortest * run->frame->step, run->attempt.length);
    if (result == SPRAG_OK && run->attempt.safe < least && !run->attempt.at_limit) {
        advance_slow_down(run);
    }
    return result;
}

sprag_result advance_plan(advance_run *run, double longest, bool to_the_end)
{
    sprag_result result = advance_look(run, longest);
    if (result != SPRAG_OK) {
        return result;
    }
    if (!advance_is_coarse(run)) {
        result = plan_exact(run, longest, to_the_end);
        bool complete = run->attempt.safe >= run->attempt.length;
        if (result != SPRAG_OK || complete || !advance_is_coarse(run)) {
            return result;
        }
        longest = run->left; // all that is left is planned at once
        run->floor = advance_whole_share * longest;
        result = advance_look(run, longest);
        if (result != SPRAG_OK) {
            return result;
        }
    }
    return plan_coarse(run, longest);
}
