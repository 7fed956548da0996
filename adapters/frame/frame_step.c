// The step: bodies from ODE, pairs, the frame of each group, and back into ODE.
#include "frame_run.h"

#include <math.h>
#include <string.h>

// After the last attempt a group whose bodies move farther than their reach stands still.
static void stand_still(group *g)
{
    for (int i = 0; i < g->frame.bodies; i++) {
        g->state[i]->mover = g->state[i]->start;
    }
    g->s->a->results.stats.stalled += g->s->a->input.step;
}

// Names the first bodies and geoms that a warning is about. before: counts of the reasons.
static void record_first(const group *g, const long *before)
{
    ode_advance *a = g->s->a;
    for (int i = 0; i < SPRAG_COMPLIANT_REASONS; i++) {
        if (a->results.compliant_stats.reason_count[i] > before[i] &&
            !a->warnings.implicit_body[i]) {
            a->warnings.implicit_body[i] = g->state[0]->id;
        }
    }
    for (int i = 0; i < g->frame.pairs && !a->warnings.overlap[0]; i++) {
        for (int side = 0; side < 2 && g->pair[i].began_deep; side++) {
            a->warnings.overlap[side] = g->source[i]->side[side]->named;
        }
    }
}

// Options of an attempt: of one of the two methods.
typedef struct method {
    sprag_advance_options advance;
    sprag_compliant_options compliant;
    bool is_compliant, is_last;
} method;

// left: share of the work of the step.
static method method_of(const ode_advance *a, int attempt, double left)
{
    const double work = fmax(left, frame_least_work);
    method m = {.advance = a->input.options,
                .is_compliant = a->input.compliant != NULL,
                .is_last = attempt + 1 == FRAME_ATTEMPTS};
    m.advance.work *= work;
    if (m.is_compliant) {
        m.compliant = *a->input.compliant;
        m.compliant.work *= work;
    }
    return m;
}

// Has a body moved farther than pairs were searched for, and has the group, by the ways of all its
// bodies, pairs that were not found? Then pairs are to be searched for farther away. Joints and
// impacts make bodies faster.
static bool outruns(const group *g)
{
    bool farther = false;
    for (int i = 0; i < g->frame.bodies; i++) {
        g->state[i]->mover = g->body[i];
        farther |= body_strayed(g->s, g->state[i]) > g->state[i]->reach;
    }
    if (!farther) {
        return false;
    }
    for (int i = 0; i < g->frame.bodies; i++) {
        body_state *b = g->state[i];
        b->sought = b->reach;
        b->reach = body_strayed(g->s, b);
    }
    const bool more = step_meets_more(g->s);
    for (int i = 0; i < g->frame.bodies; i++) {
        body_state *b = g->state[i];
        b->reach = fmax(b->reach, b->sought) * (more ? frame_reach_growth : 1);
    }
    return more;
}

static void advance_group(step *s, const members *m, int leader, const method *by, bool *again)
{
    group g;
    ode_advance *a = s->a;
    if (!group_make(&g, s, m, leader)) {
        s->failed = true;
        return;
    }
    const sprag_frame_calls calls = group_calls(&g);
    long before[SPRAG_COMPLIANT_REASONS];
    memcpy(before, a->results.compliant_stats.reason_count, sizeof before);
    sprag_compliant_reason reason;
    sprag_scratch_reset(a->input.scratch + 2);
    sprag_result result =
        by->is_compliant ? sprag_compliant(&g.frame, &by->compliant, &calls, a->input.scratch + 2,
                                           &a->results.compliant_stats, &reason)
                         : sprag_advance(&g.frame, &by->advance, &calls, a->input.scratch + 2,
                                         &a->results.stats);
    if (result == SPRAG_NO_MEMORY || s->failed) {
        s->failed = true;
        return;
    }
    record_first(&g, before);
    const bool outrun = outruns(&g);
    if (s->failed) {
        return;
    }
    *again |= outrun;
    if (outrun && by->is_last) {
        stand_still(&g);
    } else if (result != SPRAG_OK) {
        for (int i = 0; i < (int)a->input.islands->count; i++) {
            a->results.remaining[i] |= sprag_leader_of(s->leader, i) == leader;
        }
    } else if (by->is_last || !*again) {
        group_write_forces(&g, m, leader);
        a->results.contacts += g.frame.touching + g.frame.contacts;
        a->results.rows += g.frame.rows;
        a->results.given_contacts += g.frame.contacts;
    }
}

// *left: share of the work of the step, before and after.
static bool advance_groups(step *s, int attempt, double *left, bool *again)
{
    members m;
    const method by = method_of(s->a, attempt, *left);
    if (!step_sort_members(s, &m)) {
        return false;
    }
    s->a->results.groups = 0;
    for (int i = 0; i < (int)s->a->input.islands->count && !s->failed; i++) {
        if (step_leads(s, &m, i)) {
            s->a->results.groups++;
            advance_group(s, &m, i, &by, again);
        }
    }
    *left = by.is_compliant ? 0 : *left - s->a->results.stats.work * fmax(*left, frame_least_work);
    return !s->failed;
}

static bool run(step *s)
{
    ode_advance_results *results = &s->a->results;
    sprag_advance_stats before = results->stats;
    sprag_compliant_stats compliant_before = results->compliant_stats;
    double left = 1;
    bool again = true;
    if (!step_pull_bodies(s) || !step_pull_answers(s)) {
        return false;
    }
    for (int i = 0; i < FRAME_ATTEMPTS && again; i++) {
        if (i > 0) {
            step_restore(s);
            sprag_ode_pair_memories_undo(s->a->input.geometry);
        }
        again = false;
        results->stats = before;
        results->stats.work = 0;
        results->compliant_stats = compliant_before;
        results->contacts = results->rows = results->given_contacts = 0;
        results->dropped_contacts = 0;
        memset(results->remaining, 0, s->a->input.islands->count * sizeof *results->remaining);
        if (i > 0 && s->a->calls.restart) {
            s->a->calls.restart(s->a->calls.data);
        }
        if (!step_find_pairs(s) ||
            (i == 0 && s->a->input.finds_sleepers && !step_find_sleepers(s))) {
            return false;
        }
        if (results->sleepers > 0) {
            return true;
        }
        if (!advance_groups(s, i, &left, &again)) {
            return false;
        }
    }
    return true;
}

sprag_result sprag_ode_advance(ode_advance *a)
{
    step s = {.a = a, .scratch = &a->input.scratch[0]};
    a->results.remaining = SPRAG_TAKE(s.scratch, a->input.islands->count, bool);
    if (!a->results.remaining || !run(&s)) {
        if (s.body && s.index.slot) {
            step_restore(&s);
            step_return_forces(&s);
        }
        return SPRAG_NO_MEMORY;
    }
    if (a->results.sleepers == 0) {
        step_push(&s);
    } else {
        step_return_forces(&s);
    }
    return SPRAG_OK;
}
