// A frame: integrated from event to event, or up to where the implicit step takes over.
#include <math.h>
#include <string.h>

#include "compliant_joints.h"
#include "linalg.h"
#include "mover.h"

sprag_compliant_options sprag_compliant_defaults(void)
{
    return (sprag_compliant_options){
        .tolerance = 1e-6, .steps = 500, .work = 1, .solver = sprag_stribeck_defaults()};
}

const char *sprag_compliant_reason_name(sprag_compliant_reason reason)
{
    switch (reason) {
    case SPRAG_COMPLIANT_JOINTS:
        return "more than 512 rows of joints, or joints with stops that cannot be evaluated within "
               "a step";
    case SPRAG_COMPLIANT_PROGRAM_CONTACTS:
        return "contacts without a signed distance";
    case SPRAG_COMPLIANT_UNSUPPORTED_LAW:
        return "rolling, spinning or unbounded friction, or motionN, of surfaces with a stiffness "
               "that bounce";
    case SPRAG_COMPLIANT_STIFF:
        return "stiff springs, or sticking friction on them, which would take more than "
               "ess.steps steps of the integrator";
    case SPRAG_COMPLIANT_JOINT_ERROR:
        return "a joint whose bodies are far out of place";
    case SPRAG_COMPLIANT_STEP_LIMIT:
        return "the integrator reached its limit of steps (ess.steps) or work";
    case SPRAG_COMPLIANT_INTEGRATOR_STOPPED:
        return "the integrator stopped, because contacts chattered or values were not finite";
    case SPRAG_COMPLIANT_REASONS:
        break;
    }
    return "unknown";
}

bool compliant_allocate(compliant_run *run)
{
    sprag_scratch *s = run->scratch;
    int bodies = run->frame->bodies;
    size_t states = (size_t)compliant_states(run) + 1;
    run->state.x = SPRAG_TAKE(s, states, double);
    run->state.f = SPRAG_TAKE(s, states, double);
    run->state.pose = SPRAG_TAKE(s, bodies, sprag_pose);
    run->state.wrench = SPRAG_TAKE(s, bodies, *run->state.wrench);
    run->state.local = SPRAG_TAKE(s, bodies, int);
    run->sizes.inverse_inertia = SPRAG_TAKE(s, bodies, *run->sizes.inverse_inertia);
    run->sizes.radius = SPRAG_TAKE(s, bodies, double);
    run->sizes.scale = SPRAG_TAKE(s, states, double);
    run->bounds.x = SPRAG_TAKE(s, states, double);
    run->bounds.moved = SPRAG_TAKE(s, bodies, double);
    return !s->failed;
}

// ---- from event to event

// Leaves the whole frame to the caller.
static sprag_result decline(compliant_run *run, sprag_compliant_reason reason)
{
    run->stats->declined_frames++;
    run->stats->reason_count[reason]++;
    return SPRAG_NOT_CONVERGED;
}

// The integration has moved all bodies as their forces do, in continuous time.
static void set_flown(compliant_run *run, double time)
{
    for (int i = 0; i < run->frame->bodies; i++) {
        run->frame->body[i].flown = time;
    }
}

static sprag_result switch_over(compliant_run *run, sprag_compliant_reason reason)
{
    run->stats->reason_count[reason]++;
    run->stats->switched_frames++;
    run->implicitly_finished = true;
    compliant_unpack(run);
    compliant_release_flying(run);
    set_flown(run, run->time);
    return compliant_implicit_step(run);
}

// A pair without a law touches, at this gap (m). Returns whether it impacts.
static bool resolve(compliant_run *run, int guard, double gap, const sprag_ess_event *event)
{
    return compliant_resolve_pair(run, guard, gap, event) &&
           (compliant_rebounds(run, guard) || compliant_is_rigid(run, guard));
}

// Pairs that touch at the same moment, like the legs of a table, have no event of their own. Those
// that are as near as the points of an impact, and approach, take part in it: a box that lands flat
// on several triangles or boxes is hit by all of them at once, although rounding has turned it.
static bool resolve_others(compliant_run *run)
{
    bool impacts = false;
    const double touch = compliant_touch_distance(run);
    compliant_measure_motion(run, run->state.x);
    for (int g = 0; g < run->guards.pairs; g++) {
        compliant_contact contact;
        if (run->guards.law[g].status != COMPLIANT_UNKNOWN ||
            compliant_pair(run, g)->state != SPRAG_PAIR_UNKNOWN ||
            compliant_gap_bound(run, g) > touch) {
            continue;
        }
        compliant_find_contact(run, run->state.x, g, COMPLIANT_FORCES, &contact);
        if (contact.count > 0 && contact.gap.distance <= touch && contact.approach > 0) {
            const sprag_ess_event event = {
                .guard = g, .time = run->time, .direction = 1, .rate = contact.approach};
            impacts |= resolve(run, g, fmax(0, contact.gap.distance), &event);
        }
    }
    return impacts;
}

// A guard that ends the integration was crossed: a stop, a pair without a law, or one whose law
// depends on the speed of impact. false: the integration cannot go on.
static bool on_guard(compliant_run *run, int guard)
{
    compliant_guards *guards = &run->guards;
    if (guard >= guards->pairs) {
        double *label = guards->label + guards->pairs;
        int stop = guard - guards->pairs;
        if (label[stop] == 0) {
            compliant_release_stop(run, stop);
            return true;
        }
        return compliant_hit_stop(run, stop, label);
    }
    bool impacts = compliant_is_rigid(run, guard);
    if (impacts) {
        ;
    } else if (guards->law[guard].status == COMPLIANT_UNKNOWN) {
        compliant_unpack(run);
        compliant_place(run, run->state.x);
        impacts = resolve(run, guard, 0, &run->events.first_touch);
        impacts |= resolve_others(run);
    } else if (guards->label[guard] != 0) { // another impact, at another speed
        compliant_place(run, run->state.x);
        compliant_set_law(run, guard, true);
    } else if (compliant_rebounds(run, guard)) {
        guards->law[guard] = (compliant_law){.status = COMPLIANT_UNKNOWN};
    }
    return !impacts || compliant_impact(run);
}

// Stops that were reached at the very end of the last frame have had no impact yet.
static bool start_rows(compliant_run *run)
{
    double *label = run->guards.known_label + run->guards.pairs;
    bool good = compliant_stop_guards(run, run->state.x, NULL, run->stops, label);
    compliant_set_known_labels(run);
    for (int s = 0; s < run->stops; s++) {
        label[s] = compliant_is_at_stop(run, s);
    }
    for (int s = 0; s < run->stops && good; s++) {
        double speed = compliant_hit_speed(run, s);
        if (speed > 0 && !compliant_is_past_stop(run, s)) { // not recorded in the last frame
            compliant_record_stop(
                run,
                &(sprag_ess_event){.guard = run->guards.pairs + s, .direction = 1, .rate = speed});
        }
        good = speed == 0 || compliant_hit_stop(run, s, label);
    }
    return good && compliant_start_rows(run, run->guards.known_label);
}

// false: declined, for *reason.
static bool start_joints(compliant_run *run, sprag_compliant_reason *reason)
{
    if (run->rows <= 0) {
        return true;
    }
    if (compliant_has_joint_error(run)) {
        *reason = SPRAG_COMPLIANT_JOINT_ERROR;
        return false;
    }
    compliant_place(run, run->state.x);
    if (!compliant_start_laws(run) || !start_rows(run)) {
        *reason = SPRAG_COMPLIANT_INTEGRATOR_STOPPED;
        return false;
    }
    return true;
}

// The integration ended early. After the limit of steps the implicit step takes over; but not with
// joints: rows that contradict one another give unbounded speeds, so all of the frame is declined.
static sprag_result give_up(compliant_run *run, sprag_ess_stop stop, sprag_compliant_reason *reason)
{
    const bool limit = stop == SPRAG_ESS_MANY_STEPS || !(run->hold_work > 0);
    compliant_set_implicit_series(run, false);
    *reason = limit ? SPRAG_COMPLIANT_STEP_LIMIT : SPRAG_COMPLIANT_INTEGRATOR_STOPPED;
    return limit && run->rows < 0 ? switch_over(run, *reason) : decline(run, *reason);
}

// Joints, and impacts of pairs that overlap already. false: declined, for *reason.
static bool start(compliant_run *run, sprag_compliant_reason *reason)
{
    if (!start_joints(run, reason)) {
        return false;
    }
    if (!compliant_impact(run)) {
        *reason = SPRAG_COMPLIANT_INTEGRATOR_STOPPED;
        return false;
    }
    return true;
}

static sprag_result advance(compliant_run *run, sprag_compliant_reason *reason)
{
    double rate = 0;
    for (bool begun = false; run->time < run->frame->step || !begun; begun = true) {
        bool implicit = compliant_needs_implicit_step(run, &rate, reason), impacts = begun;
        if (!begun) {
            impacts = compliant_will_impact(run);
            if ((implicit && !impacts) || !start(run, reason)) {
                return decline(run, *reason);
            }
            implicit |= run->has_settled && compliant_needs_implicit_step(run, &rate, reason);
        }
        if (implicit) { // the caller's step knows no impacts within it
            return impacts ? switch_over(run, *reason) : decline(run, *reason);
        }
        if (!compliant_plan_motors(run)) {
            return give_up(run, SPRAG_ESS_BAD_VALUE, reason);
        }
        sprag_ess_stats stats;
        sprag_result result = compliant_integrate(run, rate, &stats);
        if (result == SPRAG_NO_MEMORY) {
            return result;
        }
        if (result == SPRAG_OK) { // of the frame, or where a motor has its speed
            compliant_end_motors(run);
            continue;
        }
        if (stats.stop != SPRAG_ESS_LAST_EVENT || !on_guard(run, stats.stop_guard)) {
            return give_up(run, stats.stop, reason);
        }
    }
    compliant_set_implicit_series(run, true);
    compliant_unpack(run);
    set_flown(run, run->frame->step);
    return SPRAG_OK;
}

// ---- end of the frame

// Bounds of ways and turns, by the velocities at both ends.
static void set_paths(compliant_run *run, const sprag_mover *before)
{
    double h = run->frame->step;
    for (int i = 0; i < run->frame->bodies; i++) {
        sprag_mover *b = &run->frame->body[i];
        double change[3];
        subtract3(b->velocity, before[i].velocity, change);
        b->strayed = h * norm3(change);
        sprag_mover_stray(b, &before[i], h);
        b->swerved = 0;
        sprag_mover_swerve(b, &before[i], b->velocity + 3, h);
    }
}

static void set_gaps(compliant_run *run)
{
    const double touch = compliant_touch_distance(run);
    run->frame->touching = 0;
    for (int g = 0; g < run->guards.pairs; g++) {
        compliant_contact contact;
        sprag_pair *pair = compliant_pair(run, g);
        pair->memory->gap = run->guards.memory[g];
        if (compliant_gap_bound(run, g) > touch) {
            continue;
        }
        compliant_find_points(run, run->state.x, g, compliant_is_rigid(run, g) ? touch : 0,
                              &contact);
        if (contact.gap.distance < (compliant_is_rigid(run, g) ? touch : 0)) {
            if (!compliant_flies(run, g)) {
                pair->memory->compliant.end_points = contact.count;
            }
            run->stats->penetration = fmax(run->stats->penetration, -contact.gap.distance);
            run->frame->touching += contact.count;
        }
    }
}

static void finish(compliant_run *run, const sprag_mover *before)
{
    compliant_report_events(run);
    compliant_pack(run);
    compliant_place(run, run->state.x);
    compliant_measure_motion(run, run->state.x);
    set_paths(run, before);
    set_gaps(run);
}

// Moves the bodies. If this fails, step() restores them and the statistics of events.
static sprag_result move_bodies(compliant_run *run, sprag_compliant_reason *reason)
{
    compliant_set_sizes(run);
    compliant_pack(run);
    compliant_place(run, run->state.x);
    if (run->calls->rows && !compliant_start_joints(run, reason)) {
        return decline(run, *reason);
    }
    compliant_set_scale(run);
    if (!compliant_allocate_guards(run) || !compliant_allocate_held(run)) {
        return SPRAG_NO_MEMORY;
    }
    if (compliant_starts_implicit(run, reason)) {
        return decline(run, *reason);
    }
    compliant_place(run, run->state.x);
    compliant_find_guards(run);
    if (compliant_fly(run)) {
        return SPRAG_OK;
    }
    sprag_result result = advance(run, reason);
    if (result != SPRAG_OK || run->rows < 0 || run->implicitly_finished || run->rows_reported) {
        return result;
    }
    if (!compliant_has_forces(run, run->state.x, run->guards.label)) {
        compliant_pack(run); // with the time of the end, where labels are known
    }
    if (!compliant_report_row_forces(run, run->guards.label, 1)) {
        return SPRAG_NOT_CONVERGED;
    }
    compliant_unpack(run);
    return SPRAG_OK;
}

static sprag_result step(compliant_run *run, sprag_compliant_reason *reason)
{
    sprag_frame *frame = run->frame;
    sprag_mover *before = SPRAG_TAKE(run->scratch, frame->bodies, sprag_mover);
    if (!compliant_allocate(run) || !before) {
        return SPRAG_NO_MEMORY;
    }
    memcpy(before, frame->body, (size_t)frame->bodies * sizeof *before);
    const sprag_compliant_stats start = *run->stats;
    sprag_result result = move_bodies(run, reason);
    if (result != SPRAG_OK) { // its events have not happened
        run->stats->events = start.events;
        run->stats->projected_events = start.projected_events;
        memcpy(run->stats->event_kinds, start.event_kinds, sizeof start.event_kinds);
        memcpy(frame->body, before, (size_t)frame->bodies * sizeof *before);
        return run->scratch->failed ? SPRAG_NO_MEMORY : result;
    }
    finish(run, before);
    bool touched = frame->touching > 0 || run->stats->events > start.events;
    run->stats->whole_frames += touched && !run->implicitly_finished;
    return sprag_frame_is_good(frame) ? SPRAG_OK : SPRAG_BAD_PROBLEM;
}

// Contacts without a distance act at the start of the frame, if they push no more after that.
static sprag_result step_with_given(compliant_run *run, sprag_compliant_reason *reason)
{
    sprag_frame *frame = run->frame;
    sprag_solution impulses = {0};
    sprag_mover *before = SPRAG_TAKE(run->scratch, frame->bodies, sprag_mover);
    double(*force)[6] = SPRAG_TAKE(run->scratch, frame->contacts, *force);
    if (!before || !force) {
        return SPRAG_NO_MEMORY;
    }
    memcpy(before, frame->body, (size_t)frame->bodies * sizeof *before);
    if (!compliant_leave_given(run, &impulses)) {
        *reason = SPRAG_COMPLIANT_PROGRAM_CONTACTS;
        return decline(run, *reason);
    }
    memcpy(force, impulses.contact_force, (size_t)frame->contacts * sizeof *force);
    sprag_result result = step(run, reason);
    if (result != SPRAG_OK) {
        memcpy(frame->body, before, (size_t)frame->bodies * sizeof *before);
    } else if (run->calls->add_forces) {
        run->calls->add_forces(run->calls->data, NULL, NULL, (const double(*)[6])force, 1);
    }
    return result;
}

sprag_result sprag_compliant(sprag_frame *frame, const sprag_compliant_options *options,
                             const sprag_frame_calls *calls, sprag_scratch scratch[2],
                             sprag_compliant_stats *stats, sprag_compliant_reason *reason)
{
    static const sprag_frame_calls no_calls;
    sprag_compliant_options own;
    sprag_compliant_stats own_stats;
    sprag_compliant_reason own_reason;
    if (!options) {
        own = sprag_compliant_defaults();
        options = &own;
    }
    if (!stats) {
        own_stats = (sprag_compliant_stats){0};
        stats = &own_stats;
    }
    calls = calls ? calls : &no_calls;
    reason = reason ? reason : &own_reason;
    if (!sprag_frame_is_good(frame)) {
        return SPRAG_BAD_PROBLEM;
    }
    compliant_begin_memories(frame);
    frame->rows = 0;
    if (frame->contacts == 0 && frame->pairs == 0 && !calls->rows &&
        compliant_fly_alone(frame, stats)) { // without any memory
        return sprag_frame_is_good(frame) ? SPRAG_OK : SPRAG_BAD_PROBLEM;
    }
    compliant_run run = {.frame = frame,
                         .options = options,
                         .calls = calls,
                         .scratch = &scratch[0],
                         .solve_scratch = &scratch[1],
                         .stats = stats,
                         .rows = -1,
                         .work_left = options->work * COMPLIANT_SOLVE_WORK,
                         .hold_work = options->work * COMPLIANT_HELD_WORK};
    return frame->contacts > 0 ? step_with_given(&run, reason) : step(&run, reason);
}
