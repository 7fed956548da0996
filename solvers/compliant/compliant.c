// The frame, from event to event to its end.
#include <math.h>
#include <string.h>

#include "compliant_run.h"
#include "linalg.h"

sprag_compliant_options sprag_compliant_defaults(void)
{
    return (sprag_compliant_options){
        .tolerance = 1e-9, .steps = 500, .solver = sprag_stribeck_defaults()};
}

const char *sprag_compliant_reason_name(sprag_compliant_reason reason)
{
    switch (reason) {
    case SPRAG_COMPLIANT_JOINTS:
        return "more than 512 rows of joints, or joints with stops that cannot be evaluated within "
               "a step";
    case SPRAG_COMPLIANT_PROGRAM_CONTACTS:
        return "contacts without a signed distance";
    case SPRAG_COMPLIANT_RIGID_CONTACT:
        return "contacts without a stiffness that the step can resolve";
    case SPRAG_COMPLIANT_UNSUPPORTED_LAW:
        return "rolling, spinning or unbounded friction, or a bounce with motionN";
    case SPRAG_COMPLIANT_STIFF:
        return "stiff forces, sticking friction or many contacts, which would take more than "
               "ess.steps steps of the integrator";
    case SPRAG_COMPLIANT_DEEP_OVERLAP:
        return "bodies that overlap at the start of the step, without a stiffness of their own";
    case SPRAG_COMPLIANT_JOINT_ERROR:
        return "a joint whose bodies are far out of place";
    case SPRAG_COMPLIANT_AT_REST:
        return "bodies at rest";
    case SPRAG_COMPLIANT_STEP_LIMIT:
        return "the integrator reached its limit of steps or work (ess.steps)";
    case SPRAG_COMPLIANT_INTEGRATOR_STOPPED:
        return "the integrator stopped, because contacts chattered or values were not finite";
    case SPRAG_COMPLIANT_REASONS:
        break;
    }
    return "unknown";
}

static bool take(compliant_run *run)
{
    sprag_scratch *s = run->scratch;
    int bodies = run->frame->bodies;
    size_t states = (size_t)bodies * COMPLIANT_STATES + 1;
    run->x = SPRAG_TAKE(s, states, double);
    run->scale = SPRAG_TAKE(s, states, double);
    run->marked = SPRAG_TAKE(s, states, double);
    run->f = SPRAG_TAKE(s, states, double);
    run->radius = SPRAG_TAKE(s, bodies, double);
    run->gone = SPRAG_TAKE(s, bodies, double);
    run->inverse = SPRAG_TAKE(s, bodies, *run->inverse);
    run->pose = SPRAG_TAKE(s, bodies, sprag_pose);
    run->wrench = SPRAG_TAKE(s, bodies, *run->wrench);
    return !s->failed;
}

// ---- from event to event

static sprag_result leave(compliant_run *run, sprag_compliant_reason why)
{
    run->stats->declined_frames++;
    run->stats->reason_count[why]++;
    return SPRAG_NOT_CONVERGED;
}

static sprag_result rest(compliant_run *run, sprag_compliant_reason why)
{
    run->stats->reason_count[why]++;
    run->stats->switched_frames++;
    run->rested = true;
    compliant_unpack(run);
    return compliant_rest(run);
}

static bool meet_stop(compliant_run *run, int stop, double *label)
{
    enum { OFTEN = 40 };
    return run->met[stop] <= OFTEN && compliant_meet_stop(run, stop, label);
}

// A pair is touched that nobody has been asked about, or that cannot be integrated; or a stop.
static bool meet(compliant_run *run, int guard)
{
    if (guard >= run->guards) {
        double *label = run->label + run->guards;
        int stop = guard - run->guards;
        if (label[stop] == 0) {
            compliant_leave_stop(run, stop);
            return true;
        }
        return meet_stop(run, stop, label);
    }
    if (run->law[guard].unknown) {
        compliant_unpack(run);
        compliant_meet(run, guard, 0, &run->first);
    } else if (run->label[guard] != 0) { // once more, at another speed
        compliant_place(run, run->x);
        compliant_set_law(run, guard, true);
    }
    return true;
}

// Stops that bodies are at and still move on against: met at the very end of the last frame.
static bool start_rows(compliant_run *run)
{
    double *label = run->side + run->guards;
    bool good = compliant_past_stops(run, run->x, NULL, run->stops, label);
    compliant_set_sides(run);
    for (int s = 0; s < run->stops; s++) {
        label[s] = compliant_is_at(run, s);
    }
    for (int s = 0; s < run->stops && good; s++) {
        double speed = compliant_goes_on(run, s);
        if (speed > 0 && !compliant_is_past(run, s)) { // not told yet
            compliant_tell_stop(
                run, &(sprag_ess_event){.guard = run->guards + s, .direction = 1, .rate = speed});
        }
        good = speed == 0 || meet_stop(run, s, label);
    }
    return good && compliant_start_rows(run, run->side);
}

static sprag_result go(compliant_run *run, sprag_compliant_reason *why)
{
    double rate = 0;
    bool begun = false;
    while (run->time < run->frame->step || !begun) {
        if (compliant_must_rest(run, &rate, why)) {
            if (begun) {
                return rest(run, *why);
            }
            return leave(run, *why);
        }
        sprag_ess_stats stats;
        if (!begun && run->rows > 0 && compliant_is_apart(run)) {
            *why = SPRAG_COMPLIANT_JOINT_ERROR;
            return leave(run, *why);
        }
        if (!begun && run->rows > 0 && !start_rows(run)) {
            *why = SPRAG_COMPLIANT_INTEGRATOR_STOPPED;
            return leave(run, *why);
        }
        run->stats->integrated_frames += !begun;
        begun = true;
        sprag_result result = compliant_integrate(run, rate, &stats);
        if (result == SPRAG_NO_MEMORY) {
            return result;
        }
        if (result == SPRAG_OK) {
            break;
        }
        bool met = stats.stop == SPRAG_ESS_LAST_EVENT && meet(run, stats.stop_guard);
        if (!met) {
            compliant_wait_longer(run, false);
            *why = stats.stop == SPRAG_ESS_MANY_STEPS ? SPRAG_COMPLIANT_STEP_LIMIT
                                                      : SPRAG_COMPLIANT_INTEGRATOR_STOPPED;
            // Joints that contradict one another make speeds without end: then none of it counts.
            bool good = stats.stop == SPRAG_ESS_MANY_STEPS && run->rows < 0;
            return good ? rest(run, *why) : leave(run, *why);
        }
    }
    compliant_wait_longer(run, true);
    compliant_unpack(run);
    return SPRAG_OK;
}

// ---- at the end

// How far everything has gone, by its speeds at both ends; how deep it is.
static void sum_up(compliant_run *run, const sprag_mover *before)
{
    double h = run->frame->step;
    compliant_pack(run);
    compliant_place(run, run->x);
    compliant_measure(run, run->x);
    for (int i = 0; i < run->frame->bodies; i++) {
        sprag_mover *b = &run->frame->body[i];
        double apart[3];
        subtract3(b->pose.position, before[i].pose.position, apart);
        b->path = fmax(norm3(apart), h * fmax(norm3(b->velocity), norm3(before[i].velocity)));
        b->turn = h * fmax(norm3(b->velocity + 3), norm3(before[i].velocity + 3));
    }
    run->frame->touching = 0;
    for (int g = 0; g < run->guards; g++) {
        compliant_contact contact;
        sprag_pair *pair = &run->frame->pair[run->pair[g]];
        if (pair->memory) {
            pair->memory->gap = run->memory[g];
        }
        pair->gap = compliant_least_gap(run, g);
        if (pair->gap > 0) {
            continue;
        }
        compliant_touch(run, run->x, g, COMPLIANT_POINTS, &contact);
        pair->gap = contact.gap.distance;
        if (contact.gap.distance < 0) {
            if (pair->memory) {
                pair->memory->compliant.end_points = contact.count;
            }
            run->stats->penetration = fmax(run->stats->penetration, -contact.gap.distance);
            run->frame->touching += contact.count;
        }
    }
}

// Forces of rows at the end of the frame.
static sprag_result tell_rows(compliant_run *run)
{
    compliant_pack(run);
    if (!compliant_tell_rows(run, run->label, 1)) {
        return SPRAG_NOT_CONVERGED;
    }
    compliant_unpack(run);
    return SPRAG_OK;
}

// Everything but what is told and undone.
static sprag_result pass(compliant_run *run, sprag_compliant_reason *why)
{
    compliant_set_inertias(run);
    compliant_set_radii(run);
    compliant_pack(run);
    compliant_place(run, run->x);
    bool taken = !run->calls->rows || compliant_take_rows(run, why);
    compliant_set_scale(run);
    if (!taken) {
        return leave(run, *why);
    }
    if (!compliant_take_guards(run)) {
        return SPRAG_NO_MEMORY;
    }
    if (compliant_starts_rigid(run, why)) {
        return leave(run, *why);
    }
    compliant_place(run, run->x);
    compliant_find_guards(run);
    sprag_result result = go(run, why);
    return result == SPRAG_OK && run->rows >= 0 && !run->rested ? tell_rows(run) : result;
}

sprag_result sprag_compliant(sprag_frame *frame, const sprag_compliant_options *options,
                             const sprag_frame_calls *calls, sprag_scratch scratch[2],
                             sprag_compliant_stats *stats, sprag_compliant_reason *why)
{
    static const sprag_frame_calls nobody;
    sprag_compliant_options own = options ? *options : sprag_compliant_defaults();
    sprag_compliant_stats unwanted = {0};
    sprag_compliant_reason because;
    compliant_run run = {.frame = frame,
                         .options = &own,
                         .calls = calls ? calls : &nobody,
                         .scratch = &scratch[0],
                         .solving = &scratch[1],
                         .stats = stats ? stats : &unwanted};
    why = why ? why : &because;
    if (!sprag_frame_is_good(frame)) {
        return SPRAG_BAD_PROBLEM;
    }
    compliant_pass_time(frame);
    if (frame->contacts > 0) {
        *why = SPRAG_COMPLIANT_PROGRAM_CONTACTS;
        return leave(&run, *why);
    }
    sprag_mover *before = SPRAG_TAKE(run.scratch, frame->bodies, sprag_mover);
    if (!take(&run) || !before) {
        return SPRAG_NO_MEMORY;
    }
    memcpy(before, frame->body, (size_t)frame->bodies * sizeof *before);
    const sprag_compliant_stats events = *run.stats; // so far
    run.rows = -1;
    frame->rows = 0;
    sprag_result result = pass(&run, why);
    if (result != SPRAG_OK) {
        run.stats->events = events.events;
        run.stats->projected_events = events.projected_events;
        memcpy(run.stats->event_kinds, events.event_kinds, sizeof events.event_kinds);
        memcpy(frame->body, before, (size_t)frame->bodies * sizeof *before);
        return run.scratch->failed ? SPRAG_NO_MEMORY : result;
    }
    for (int i = 0; i < run.tells; i++) {
        run.calls->event(run.calls->data, &run.told[i]);
    }
    sum_up(&run, before);
    return sprag_frame_is_good(frame) ? SPRAG_OK : SPRAG_BAD_PROBLEM;
}
