#include "frame_methods.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "clock.h"
#include "collide_ask.h"
#include "collide_thread.h"
#include "frame_state.h"
#include "frame_warn.h"
#include "island_step.h"
#include "island_threads.h"
#include "plugin_constants.h"
#include "reach.h"
#include "statistics.h"

_Static_assert((int)SPRAG_EVENT_KINDS == (int)SPRAG_STALLED + 1 &&
                   (int)SPRAG_EVENT_LIMIT_REACHED == (int)SPRAG_LIMIT_REACHED &&
                   (int)SPRAG_EVENT_SLIP_ENDS == (int)SPRAG_SLIP_ENDS,
               "the header and the solver name the same events");
_Static_assert((int)SPRAG_ESS_REASONS == (int)SPRAG_COMPLIANT_REASONS &&
                   (int)SPRAG_ESS_JOINT_ERROR == (int)SPRAG_COMPLIANT_JOINT_ERROR,
               "the header and the solver name the same reasons");

// ---- callbacks of sprag_ode_advance; data is the world_state

static void add_distant_pair(void *data, const ode_pair *pair, double gap)
{
    frame_state *frame = ((world_state *)data)->frame;
    const ode_geom *const *side = pair->side;
    sprag_ode_set_add(&frame->distant, sprag_ode_pair_key(side[0]->named, side[1]->named, NULL));
    frame->farthest_distant = fmax(frame->farthest_distant, gap);
}

static bool was_offered(void *data, dGeomID a, dGeomID b)
{
    return sprag_ode_was_offered(world_record(data), a, b);
}

static dJointID ask(void *data, const ode_pair *pair, double gap)
{
    dJointID first = NULL;
    world_state *w = data;
    w->statistics.callbacks++;
    return collide_ask(w, pair, gap, &first) > 0 ? first : NULL;
}

static void add_event(void *data, const ode_event *event)
{
    frame_state *frame = ((world_state *)data)->frame;
    sprag_world_event *all =
        array_widen(frame->event, frame->events, &frame->event_room, sizeof *all);
    if (!all) {
        return; // the statistics count it all the same
    }
    frame->event = all;
    sprag_world_event *to = &frame->event[frame->events++];
    *to = (sprag_world_event){.kind = (sprag_event_name)event->kind,
                              .joint = event->joint,
                              .time = event->time,
                              .speed = event->speed};
    memcpy(to->geom, event->geom, sizeof to->geom);
    memcpy(to->body, event->body, sizeof to->body);
    memcpy(to->position, event->position, sizeof to->position);
    memcpy(to->normal, event->normal, sizeof to->normal);
}

static void clear_events(void *data)
{
    ((world_state *)data)->frame->events = 0;
}

// ---- statistics

static void set_solve(sprag_world_statistics *part, const sprag_stats *solve)
{
    part->strategy = solve->strategy;
    part->iterations = solve->iterations;
    part->factorizations = solve->factorizations;
    part->sweeps = solve->sweeps;
    part->residual = solve->residual;
}

static void set_compliant(sprag_world_statistics *part, const sprag_compliant_stats *c)
{
    const sprag_stats none = {0};
    set_solve(part, c->switched_frames ? &c->implicit_step : &none);
    part->penetration = fmax(part->penetration, c->penetration);
    part->ess_steps = c->steps;
    part->ess_events = c->events;
    part->ess_projected = c->projected_events;
    part->ess_declined = c->declined_frames;
    part->ess_switched = c->switched_frames;
    part->ess_whole = c->whole_frames;
    for (int i = 0; i < SPRAG_ESS_REASONS; i++) {
        part->ess_left[i] = c->reason_count[i];
    }
    for (int i = 0; i < SPRAG_EVENT_KINDS; i++) {
        part->events[i] += c->event_kinds[i];
    }
}

static sprag_world_statistics statistics_of(const ode_advance *step)
{
    const sprag_advance_stats *a = &step->results.stats;
    sprag_world_statistics part = {.bodies = step->results.bodies,
                                   .islands = step->results.groups,
                                   .contacts = step->results.contacts,
                                   .rows = step->results.rows,
                                   .dropped = step->results.dropped_contacts,
                                   .invalid_forces = step->results.invalid_forces,
                                   .frozen = step->results.frozen_bodies,
                                   .invalid_surfaces = step->warnings.invalid_surface != NULL,
                                   .penetration = step->results.penetration,
                                   .substeps = a->substeps,
                                   .shortened = a->limited,
                                   .contact_changes = a->changes,
                                   .overlaps = a->overlaps,
                                   .squeezed = a->squeezed,
                                   .least_gap = isfinite(a->least_gap) ? a->least_gap : 0,
                                   .largest_gap = a->largest_gap,
                                   .stalled = a->stalled};
    for (int i = 0; i < SPRAG_EVENT_KINDS; i++) {
        part.events[i] = a->events[i];
    }
    set_solve(&part, &a->solve);
    if (step->input.compliant) {
        set_compliant(&part, &step->results.compliant_stats);
    }
    return part;
}

// ---- the step

// Without collision calls there is no geometry to keep apart: the step takes the contacts that the
// program has made.
static bool step_without_geometry(const step_context *c, const ode_islands *islands)
{
    if (islands->count > 0) {
        warn_of_no_collision_call(c->world);
        c->world->statistics.without_geometry++;
    }
    return step_all_islands(c, islands);
}

// Counts them before anything moves, as ODE's step does.
static bool count_stock_rows(frame_state *frame, const ode_islands *islands)
{
    if (islands->count > frame->stock_rows_room) {
        int *rows = realloc(frame->stock_rows, islands->count * sizeof *rows);
        if (!rows) {
            return false;
        }
        frame->stock_rows = rows;
        frame->stock_rows_room = islands->count;
    }
    ode_island_walk walk = {.islands = islands};
    while (sprag_ode_next_island(&walk)) {
        int *rows = &frame->stock_rows[walk.next - 1];
        *rows = 0;
        for (int j = 0; j < walk.island.joints; j++) {
            *rows += sprag_ode_count_rows(walk.island.joint[j]).rows;
        }
    }
    return true;
}

// Steps the islands that the method has not stepped by the implicit step. These draw their random
// numbers themselves.
static bool step_remaining_islands(const step_context *c, const ode_advance *a)
{
    ode_island_walk walk = {.islands = a->input.islands};
    bool done = true;
    while (done && sprag_ode_next_island(&walk)) {
        const ode_island *island = &walk.island;
        if (a->results.remaining[walk.next - 1]) {
            done = step_island(c, island);
        } else if (c->called == STOCK_QUICK) {
            draw_as_quick_step(c->world->id, c->world->frame->stock_rows[walk.next - 1]);
        }
    }
    return done;
}

static ode_advance prepare(const step_context *c, const ode_islands *islands)
{
    world_state *w = c->world;
    frame_state *frame = w->frame;
    for (int i = 0; i < 4; i++) {
        sprag_scratch_reset(&frame->scratch[i]);
    }
    frame->compliant = w->settings.compliant;
    frame->compliant.solver = w->settings.stribeck;
    frame->compliant.stiction = w->settings.stribeck.stiction_tolerance;
    ode_advance a = {
        .input = {.world = w->id,
                  .step = c->step,
                  .quick = c->called == STOCK_QUICK,
                  .number = frame->steps,
                  .islands = islands,
                  .geometry = frame->geometry,
                  .fluids = &frame->fluids,
                  .warm_start = w->warm_start,
                  .options = w->settings.advance,
                  .compliant = w->settings.method->is_compliant ? &frame->compliant : NULL,
                  .stiffness = &w->settings.stiffness,
                  .scratch = frame->scratch,
                  .reach = w->settings.advance.epsilon,
                  .look_ahead = frame->look_ahead},
        .calls = {.data = w,
                  .was_offered = was_offered,
                  .ask = w->settings.callbacks == CALLBACKS_WITHIN ? ask : NULL,
                  .event = add_event,
                  .restart = clear_events,
                  .active_across_gap = add_distant_pair},
    };
    if (w->record) {
        a.input.collision = sprag_ode_recorded(w->record, &a.input.collision_calls);
    }
    return a;
}

static int count_calls(const world_state *w)
{
    int calls = 0;
    if (w->record) {
        sprag_ode_recorded(w->record, &calls);
    }
    return calls;
}

// Takes the step; starts again where disabled bodies are in the way, after enabling them. *found:
// the islands, none if ODE has no memory for them. false: no memory, and nothing has moved.
static bool take_step(const step_context *c, ode_islands *found, ode_advance *a)
{
    world_state *w = c->world;
    bool quick = c->called == STOCK_QUICK;
    for (int round = 0; round == 0 || a->results.sleepers > 0; round++) {
        clear_events(w);
        sprag_ode_set_clear(&w->frame->distant);
        w->frame->farthest_distant = 0;
        *a = prepare(c, found);
        a->input.compares_normals = w->statistics.steps % NORMALS_COMPARED_EVERY == 1;
        a->input.finds_sleepers = w->can_find_islands && round < ENABLE_ROUNDS_MAX;
        if ((quick && !count_stock_rows(w->frame, found)) || sprag_ode_advance(a) != SPRAG_OK) {
            return false;
        }
        if (a->results.sleepers > 0 && !reserve_for_world(w)) {
            return false;
        }
        for (int k = 0; k < a->results.sleepers; k++) {
            dBodyEnable(a->results.sleeper[k]);
        }
        if (a->results.sleepers > 0 && !sprag_ode_find_islands(w->id, c->step, found)) {
            return false; // with no islands
        }
    }
    return true;
}

void begin_frame(world_state *w, stock called)
{
    const bool quick = called == STOCK_QUICK;
    if (sprag_ode_has_fluids(quick)) {
        w->frame = w->frame ? w->frame : frame_state_make();
    }
    if (sprag_ode_has_fluids(quick) && w->frame) {
        sprag_ode_fluids_begin_step(&w->frame->fluids, w->id, quick);
        return;
    }
    if (w->frame) {
        sprag_ode_set_clear(&w->frame->fluids.now);
    }
    sprag_ode_begin_step(w->id, quick);
}

bool step_frame(const step_context *c, const ode_islands *islands)
{
    world_state *w = c->world;
    w->frame = w->frame ? w->frame : frame_state_make();
    // method=ess takes contacts without geometry itself, by its implicit step.
    if (!w->frame || (count_calls(w) == 0 && !w->settings.method->is_compliant)) {
        return step_without_geometry(c, islands);
    }
    w->frame->steps++;
    collide_check_data(w);
    double start = now_us();
    ode_islands found = *islands;
    ode_advance a;
    bool taken = take_step(c, &found, &a);
    sprag_world_statistics part = {0};
    if (taken) {
        part = statistics_of(&a);
        w->frame->look_ahead = reach_look_ahead(w, a.results.fastest);
        warn_of_frame(w, &a);
    }
    part.solve_us = now_us() - start;
    statistics_add(&w->statistics, &part);
    return taken ? step_remaining_islands(c, &a) : found.count > 0 && step_all_islands(c, &found);
}

// ---- derivatives

typedef struct asking {
    world_state *world;
    bool asked;
} asking;

static bool asking_was_offered(void *data, dGeomID a, dGeomID b)
{
    return was_offered(((asking *)data)->world, a, b);
}

// A step would call the near callback, which makes a contact joint: here nothing changes.
static dJointID ask_nobody(void *data, const ode_pair *pair, double gap)
{
    (void)pair, (void)gap;
    ((asking *)data)->asked = true;
    return NULL;
}

const char *linearize_frame(const step_context *c, const ode_islands *islands, const dBodyID *body,
                            int bodies, double *A, double *B)
{
    world_state *w = c->world;
    asking asking = {.world = w};
    w->frame = w->frame ? w->frame : frame_state_make();
    if (!w->frame) {
        return "no memory";
    }
    ode_advance a = prepare(c, islands);
    a.input.fluids = NULL;
    a.input.number = w->frame->steps + 1;
    a.calls = (ode_advance_calls){
        .data = &asking, .was_offered = asking_was_offered, .ask = a.calls.ask ? ask_nobody : NULL};
    const char *why = sprag_ode_differentiate(&a, body, bodies, A, B);
    return why || !asking.asked ? why : "geoms may touch that have no contact joint yet";
}
