// The step: bodies from ODE, pairs, the frame of each group, and back into ODE.
#include "frame_run.h"

#include <math.h>
#include <string.h>

// After the last attempt a group whose bodies move farther than their reach stands still.
static void stand_still(group *g)
{
    for (int i = 0; i < g->frame.bodies; i++) {
        g->frame.body[i] = g->state[i]->start;
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
        for (int side = 0; side < 2 && g->frame.pair[i].began_deep; side++) {
            a->warnings.overlap[side] = g->source[i]->side[side]->named;
        }
    }
}

// Has a body moved farther than pairs were searched for, and has its group, by the ways of all
// bodies, pairs that were not found? Then pairs are to be searched for farther away. Joints and
// impacts make bodies faster. outrun: set for the islands that lead such groups.
static bool outruns(step *s, bool *outrun)
{
    bool farther = false, more = false;
    for (int i = 0; i < s->bodies; i++) {
        body_state *b = &s->body[i];
        b->sought = b->reach;
        b->reach = b->frozen ? 0 : body_strayed(s, b);
        farther |= b->reach > b->sought;
    }
    if (farther) {
        more = step_meets_more(s, outrun);
    }
    for (int i = 0; i < s->bodies && more; i++) {
        body_state *b = &s->body[i];
        const bool grows = outrun[sprag_leader_of(s->leader, b->island)];
        b->reach = fmax(b->reach, b->sought) * (grows ? frame_reach_growth : 1);
    }
    return more;
}

// By one of the two methods. work: share of that of the step.
static sprag_result run_method(group *g, double work)
{
    ode_advance *a = g->s->a;
    const sprag_frame_calls calls = group_calls(g);
    sprag_scratch *scratch = a->input.scratch + 2;
    sprag_scratch_reset(scratch);
    if (a->input.compliant) {
        sprag_compliant_options options = *a->input.compliant;
        sprag_compliant_reason reason;
        options.work *= work;
        return sprag_compliant(&g->frame, &options, &calls, scratch, &a->results.compliant_stats,
                               &reason);
    }
    sprag_advance_options options = a->input.options;
    options.work *= work;
    return sprag_advance(&g->frame, &options, &calls, scratch, &a->results.stats);
}

static void advance_group(step *s, const members *m, int leader, double work, group *g)
{
    ode_advance *a = s->a;
    if (!group_make(g, s, m, leader)) {
        s->failed = true;
        return;
    }
    long before[SPRAG_COMPLIANT_REASONS];
    memcpy(before, a->results.compliant_stats.reason_count, sizeof before);
    g->result = run_method(g, work);
    s->failed |= g->result == SPRAG_NO_MEMORY;
    record_first(g, before);
    for (int i = 0; i < g->frame.bodies; i++) {
        g->state[i]->mover = &g->frame.body[i];
    }
}

static void end_group(const group *g, const members *m)
{
    ode_advance *a = g->s->a;
    if (g->result == SPRAG_OK) {
        group_write_forces(g, m);
        a->results.contacts += g->frame.touching + g->frame.contacts;
        a->results.rows += g->frame.rows;
        a->results.given_contacts += g->frame.contacts;
        return;
    }
    for (int i = 0; i < (int)a->input.islands->count; i++) {
        a->results.remaining[i] |= sprag_leader_of(g->s->leader, i) == g->leader;
    }
}

// *left: share of the work of the step, before and after. *again: the step is to start again,
// unless this attempt is the last.
static bool advance_groups(step *s, bool last, double *left, bool *again)
{
    members m;
    const double work = fmax(*left, frame_least_work);
    const int islands = (int)s->a->input.islands->count;
    group *of = SPRAG_TAKE_RAW(s->scratch, islands, group);
    bool *outrun = SPRAG_TAKE(s->scratch, islands, bool);
    int *groups = &s->a->results.groups;
    if (!step_sort_members(s, &m)) {
        return false;
    }
    *groups = 0;
    sprag_scratch_reset(s->a->input.scratch + 1);
    for (int i = 0; i < islands && !s->failed; i++) {
        if (step_leads(s, &m, i)) {
            advance_group(s, &m, i, work, &of[(*groups)++]);
        }
    }
    *again = !s->failed && outruns(s, outrun);
    for (int i = 0; i < *groups && !s->failed && (last || !*again); i++) {
        if (outrun[of[i].leader]) {
            stand_still(&of[i]);
        } else {
            end_group(&of[i], &m);
        }
    }
    *left = s->a->input.compliant ? 0 : *left - s->a->results.stats.work * work;
    return !s->failed;
}

static bool run(step *s)
{
    ode_advance_results *results = &s->a->results;
    double left = 1;
    bool again = true;
    if (!step_pull_bodies(s) || !step_pull_answers(s)) {
        return false;
    }
    const ode_advance_results before = *results;
    for (int i = 0; i < FRAME_ATTEMPTS && again; i++) {
        if (i > 0) {
            step_restore(s);
            sprag_ode_pair_memories_undo(s->a->input.geometry);
            *results = before;
            memset(results->remaining, 0, s->a->input.islands->count * sizeof *results->remaining);
        }
        results->stats.work = 0;
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
        if (!advance_groups(s, i + 1 == FRAME_ATTEMPTS, &left, &again)) {
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
