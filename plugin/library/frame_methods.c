// method=advance: the state that it keeps of a world, and one step.
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "collide.h"
#include "frame_step.h"

_Static_assert((int)SPRAG_EVENT_KINDS == (int)SPRAG_STALLED + 1 &&
                   (int)SPRAG_EVENT_LIMIT_REACHED == (int)SPRAG_LIMIT_REACHED &&
                   (int)SPRAG_EVENT_SLIP_ENDS == (int)SPRAG_SLIP_ENDS,
               "the header and the solver name the same events");

struct advance_state {
    ode_geometry *geometry;
    sprag_scratch scratch[4];
    ode_set held;    // pairs that carry a force across more than epsilon
    double farthest; // m, of those
    double ahead;    // m, that the last step has looked ahead
    long steps;
    sprag_world_event *event;
    int events, room;
    int *stock_rows;                   // of the islands of the step under way
    size_t islands;                    // that there is room for
    sprag_compliant_options compliant; // of the step under way
};

void advance_free(advance_state *a)
{
    if (a) {
        sprag_ode_geometry_free(a->geometry);
        for (int i = 0; i < 4; i++) {
            sprag_scratch_free(&a->scratch[i]);
        }
        sprag_ode_set_free(&a->held);
        free(a->event);
        free(a->stock_rows);
        free(a);
    }
}

static advance_state *state_of(world_state *w)
{
    if (!w->advance) {
        advance_state *a = calloc(1, sizeof *a);
        if (a) {
            a->geometry = sprag_ode_geometry_make();
        }
        if (!a || !a->geometry) {
            advance_free(a);
            return NULL;
        }
        w->advance = a;
    }
    return w->advance;
}

// ---- how far apart is touching

// advance.callbacks=before: what may meet in the next step, if it is as long as the last one,
// counts as touching before it.
static double look_ahead(const world_state *w, double fastest)
{
    dVector3 gravity;
    double h = w->statistics.step;
    if (w->settings.callbacks != CALLBACKS_BEFORE) {
        return 0;
    }
    dWorldGetGravity(w->id, gravity);
    double fall = sqrt(dCalcVectorDot3(gravity, gravity)) * h;
    return 2 * (1.5 * fastest + 2 * fall) * h;
}

static double ahead(const world_state *w)
{
    return w->advance ? w->advance->ahead : 0;
}

double advance_farthest(const world_state *w)
{
    double held = w->advance ? w->advance->farthest : 0;
    return fmax(w->settings.advance.epsilon, fmax(held, ahead(w)));
}

double advance_reach(const world_state *w, dGeomID a, dGeomID b)
{
    bool held = w->advance && sprag_ode_set_has(&w->advance->held, sprag_ode_pair_key(a, b, NULL));
    return fmax(w->settings.advance.epsilon, held ? advance_farthest(w) : ahead(w));
}

static void hold_pair(void *data, const ode_pair *pair, double reach)
{
    advance_state *a = ((world_state *)data)->advance;
    const ode_side *const *side = pair->side;
    sprag_ode_set_add(&a->held, sprag_ode_pair_key(side[0]->geom, side[1]->geom, NULL));
    a->farthest = fmax(a->farthest, reach);
}

// ---- what the step asks and tells

// What is said once in a process, not of each world: games make one for each life.
enum { NO_GEOMETRY = SPRAG_COMPLIANT_REASONS, MESHES };

static bool is_news(int what)
{
    static atomic_uint told;
    return !(atomic_fetch_or(&told, 1u << what) & 1u << what);
}

static bool was_offered(void *data, dGeomID a, dGeomID b)
{
    return sprag_ode_was_offered(collide_record(data), a, b);
}

static dJointID ask(void *data, const ode_pair *pair, double gap)
{
    world_state *w = data;
    dJointID first = NULL;
    w->statistics.asked++;
    int joints = collide_ask(w, pair, gap, &first);
    return joints > 0 ? first : NULL;
}

static void note(void *data, const ode_event *event)
{
    advance_state *a = ((world_state *)data)->advance;
    if (a->events == a->room) {
        int room = a->room ? 2 * a->room : 64;
        sprag_world_event *wider = realloc(a->event, (size_t)room * sizeof *wider);
        if (!wider) {
            return; // counted all the same
        }
        a->event = wider;
        a->room = room;
    }
    sprag_world_event *to = &a->event[a->events++];
    *to = (sprag_world_event){.kind = (sprag_event_name)event->kind,
                              .joint = event->joint,
                              .time = event->time,
                              .speed = event->speed};
    memcpy(to->geom, event->geom, sizeof to->geom);
    memcpy(to->body, event->body, sizeof to->body);
    memcpy(to->position, event->position, sizeof to->position);
    memcpy(to->normal, event->normal, sizeof to->normal);
}

static void forget_events(void *data)
{
    ((world_state *)data)->advance->events = 0;
}

int sprag_world_events(dWorldID world, sprag_world_event *events, int room)
{
    const world_state *w = world_find(world);
    int count = w && w->advance ? w->advance->events : 0, copied = count < room ? count : room;
    if (events && copied > 0) {
        memcpy(events, w->advance->event, (size_t)copied * sizeof *events);
    }
    return count;
}

// ---- what it took

static void count(world_state *w, const ode_advance *step)
{
    sprag_world_statistics *s = &w->statistics;
    const sprag_advance_stats *a = &step->stats;
    s->bodies = step->bodies;
    s->islands = step->groups;
    s->contacts = step->contacts;
    s->rows = step->rows;
    s->dropped = step->dropped_contacts;
    s->strategy = a->solve.strategy;
    s->iterations = a->solve.iterations;
    s->factorizations = a->solve.factorizations;
    s->sweeps = a->solve.sweeps;
    s->residual = sprag_stats_error(&a->solve);
    s->penetration = step->penetration;
    s->substeps += a->substeps;
    s->limited += a->limited;
    s->changes += a->changes;
    s->overlaps += a->overlaps;
    s->squeezed += a->squeezed;
    s->stalled += a->stalled;
    if (isfinite(a->least_gap)) {
        s->least_gap = s->least_gap > 0 ? fmin(s->least_gap, a->least_gap) : a->least_gap;
    }
    s->largest_gap = fmax(s->largest_gap, a->largest_gap);
    for (int i = 0; i < SPRAG_EVENT_KINDS; i++) {
        s->events[i] += a->events[i];
    }
}

static void count_yielding(world_state *w, const ode_advance *step)
{
    sprag_world_statistics *s = &w->statistics;
    const sprag_compliant_stats *c = &step->compliant_stats;
    s->strategy = c->switched_frames ? c->implicit_step.strategy : SPRAG_STRATEGY_NONE;
    s->iterations = c->implicit_step.iterations;
    s->factorizations = c->implicit_step.factorizations;
    s->sweeps = c->implicit_step.sweeps;
    s->residual = sprag_stats_error(&c->implicit_step);
    s->penetration = fmax(s->penetration, c->penetration);
    s->ess_steps += c->steps;
    s->ess_events += c->events;
    s->ess_projected += c->projected_events;
    s->ess_left += c->declined_frames;
    s->ess_switched += c->switched_frames;
    for (int i = 0; i < SPRAG_EVENT_KINDS; i++) {
        s->events[i] += c->event_kinds[i];
    }
    for (int i = 0; i < SPRAG_COMPLIANT_REASONS; i++) {
        if (c->reason_count[i] && is_news(i)) {
            dBodyID body = step->left_body[i];
            report_once(
                "sprag: world %d, at %g s: method=ess leaves (part of) a step to the implicit "
                "Stribeck step: %s; first around body %p (data %p). Further ones are only counted.",
                w->number, s->time, sprag_compliant_reason_name((sprag_compliant_reason)i),
                (void *)body, body ? dBodyGetData(body) : NULL);
        }
    }
    if (step->untold) {
        report_once("sprag: world %d: joint %p, between bodies %p and %p, is a transmission or an "
                    "angular motor with stops, which cannot be asked within a step; under "
                    "method=ess bodies that hang together by it go by the implicit step.",
                    w->number, (void *)step->untold, (void *)dJointGetBody(step->untold, 0),
                    (void *)dJointGetBody(step->untold, 1));
    }
    if (step->without_distance && is_news(MESHES)) {
        report_once(
            "sprag: world %d: geom %p has no signed distance that is smooth (it is a mesh or "
            "a heightfield): under method=ess its contacts are those that the program "
            "reports.",
            w->number, (void *)step->without_distance);
    }
}

static const sprag_world_event *find_stall(const advance_state *a)
{
    for (int i = 0; i < a->events; i++) {
        if (a->event[i].kind == SPRAG_EVENT_STALLED) {
            return &a->event[i];
        }
    }
    return NULL;
}

static void *data_of(const sprag_world_event *event, int side)
{
    return event->body[side] ? dBodyGetData(event->body[side]) : NULL;
}

// What contacts are asked for and do not get.
static void warn_of_contacts(world_state *w, const ode_advance *step)
{
    const char *method = w->settings.method->name;
    double stiffness = w->settings.method->yields ? 0 : w->settings.stiffness.stiffness;
    if (stiffness > 0 && step->contacts > 0 && say_first(w, SAID_STIFF)) {
        report_once("sprag: world %d has stribeck.stiffness=%g: under method=%s all contacts are "
                    "rigid.",
                    w->number, stiffness, method);
    }
    if (step->soft && say_first(w, SAID_SOFT)) {
        report_once(
            "sprag: world %d: contacts have an ERP, CFM or stiffness of their own (first seen "
            "between bodies %p and %p); under method=%s all contacts are rigid.",
            w->number, (void *)dJointGetBody(step->soft, 0), (void *)dJointGetBody(step->soft, 1),
            method);
    }
    if (step->mixed && say_first(w, SAID_MIXED)) {
        const dContactGeom *geom = &sprag_ode_contact_of(step->mixed)->geom;
        report_once("sprag: world %d: contacts of geoms %p and %p have different surfaces; under "
                    "method=%s that of the first one counts for all.",
                    w->number, (void *)geom->g1, (void *)geom->g2, method);
    }
    if (step->turned && say_first(w, SAID_TURNED)) {
        const dContactGeom *geom = &sprag_ode_contact_of(step->turned)->geom;
        report_once("sprag: world %d: the contact of geoms %p and %p has another normal than the "
                    "geoms; under method=%s the geoms count.",
                    w->number, (void *)geom->g1, (void *)geom->g2, method);
    }
    if (step->invalid_surface) {
        warn_of_surface(w, step->invalid_surface, step->surface_error, 1);
    }
    if (step->invalid_contact) {
        warn_of_dropped(w, step->invalid_contact);
    }
}

// Others have a CFM of 1e-5 all the time; it is ODE's own in single precision.
static void warn_of_world(world_state *w, const ode_advance *step)
{
    double layer = dWorldGetContactSurfaceLayer(w->id);
    double cfm = w->settings.method->yields ? 0 : dWorldGetCFM(w->id);
    bool any = step->contacts > step->given;
    if (any && (layer > 0 || cfm > 1e-5) && say_first(w, SAID_RIGID)) {
        report_once("sprag: world %d has a contact surface layer of %g m and a CFM of %g: under "
                    "method=%s contacts of geoms that it keeps apart%s do not sink in by them.",
                    w->number, layer, dWorldGetCFM(w->id), w->settings.method->name,
                    w->settings.method->yields ? " by a stiffness" : "");
    }
}

static void warn_of_stall(world_state *w, double stalled)
{
    const sprag_world_event *e = find_stall(w->advance);
    if (e && e->body[0]) {
        report_once("sprag: world %d, at %g s: no sub-step could be certified for %g s, first "
                    "between bodies %p (data %p) and %p (data %p); what may meet them stood still. "
                    "Further times are only counted.",
                    w->number, w->statistics.time, stalled, (void *)e->body[0], data_of(e, 0),
                    (void *)e->body[1], data_of(e, 1));
    } else {
        report_once(
            "sprag: world %d, at %g s: no sub-step could be made for %g s, with no geoms in "
            "the way: joints contradict one another or their stops; what they join stood "
            "still. Further times are only counted.",
            w->number, w->statistics.time, stalled);
    }
}

static void warn(world_state *w, const ode_advance *step)
{
    warn_of_world(w, step);
    if (step->frozen_bodies) {
        hold_bodies(w, step->nonfinite_body, step->frozen_bodies);
    }
    if (step->invalid_forces) {
        ignore_forces(w, step->invalid_force, step->invalid_forces);
    }
    warn_of_contacts(w, step);
    if (step->stats.stalled > 0 && w->statistics.stalled == step->stats.stalled) {
        warn_of_stall(w, step->stats.stalled);
    }
    if (step->stats.overlaps > 0 && w->statistics.overlaps == step->stats.overlaps) {
        report_once(
            "sprag: world %d, at %g s: %ld pairs of geoms overlap at the start of a step "
            "(first geoms %p and %p); they are pushed apart, and kept apart from then on. "
            "(What comes to touch has depth 0: a callback that makes no contact of it lets it "
            "through.) Further ones are only counted.",
            w->number, w->statistics.time, step->stats.overlaps, (void *)step->overlap[0],
            (void *)step->overlap[1]);
    }
}

// ---- the step

// Without a collision call there is nothing to keep apart: contacts are what the program says.
static bool step_without_geometry(world_state *w, const ode_islands *islands, dReal step,
                                  stock called)
{
    bool any = islands->count > 0;
    if (any && w->statistics.without_geometry++ == 0 && is_news(NO_GEOMETRY)) {
        report_once("sprag: world %d, at %g s: the program has made no collision call before this "
                    "step, so distances are unknown; method=%s takes the contacts that it is "
                    "given, as method=stribeck does. Further steps are only counted.",
                    w->number, w->statistics.time, w->settings.method->name);
    }
    return step_each_island(w, islands, step, called);
}

// As stock will find them, that is before anything moves.
static bool count_stock_rows(advance_state *state, const ode_islands *islands)
{
    if (islands->count > state->islands) {
        int *rows = realloc(state->stock_rows, islands->count * sizeof *rows);
        if (!rows) {
            return false;
        }
        state->stock_rows = rows;
        state->islands = islands->count;
    }
    island_walk walk = {.islands = islands};
    while (walk_on(&walk)) {
        int *rows = &state->stock_rows[walk.next - 1];
        *rows = 0;
        for (int j = 0; j < walk.island.joints; j++) {
            *rows += sprag_ode_count_rows(walk.island.joint[j]).rows;
        }
    }
    return true;
}

// What is left over goes by stock or, under method=ess, by the implicit step, which draw random
// numbers themselves.
static bool step_left(world_state *w, const ode_advance *a, dReal step, stock called)
{
    island_walk walk = {.islands = a->islands};
    bool done = true;
    while (done && walk_on(&walk)) {
        const ode_island *island = &walk.island;
        if (a->stock[walk.next - 1]) {
            done = a->compliant ? step_any_island(w, island, step, called)
                                : step_by_stock_island(w, island, step, called, SPRAG_BAD_PROBLEM);
        } else if (called == STOCK_QUICK) {
            draw_as_quick_step(w->id, w->advance->stock_rows[walk.next - 1]);
        }
    }
    return done;
}

static ode_advance prepare(world_state *w, const ode_islands *islands, dReal step, stock called)
{
    advance_state *state = w->advance;
    for (int i = 0; i < 4; i++) {
        sprag_scratch_reset(&state->scratch[i]);
    }
    state->events = 0;
    sprag_ode_set_clear(&state->held);
    state->farthest = 0;
    state->compliant = w->settings.compliant;
    state->compliant.solver = w->settings.stribeck;
    state->compliant.stiction = w->settings.stribeck.stiction_tolerance;
    ode_advance a = {.world = w->id,
                     .step = step,
                     .quick = called == STOCK_QUICK,
                     .number = state->steps,
                     .islands = islands,
                     .geometry = state->geometry,
                     .memory = w->memory,
                     .data = w,
                     .offered = was_offered,
                     .reach = w->settings.advance.epsilon,
                     .foreseen = state->ahead,
                     .ask = w->settings.callbacks == CALLBACKS_WITHIN ? ask : NULL,
                     .event = note,
                     .anew = forget_events,
                     .held = hold_pair,
                     .options = w->settings.advance,
                     .compliant = w->settings.method->yields ? &state->compliant : NULL,
                     .stiffness = &w->settings.stiffness,
                     .scratch = state->scratch};
    a.calls = w->record ? sprag_ode_recorded(w->record, &a.call_count) : NULL;
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

bool advance_islands(world_state *w, const ode_islands *islands, dReal step, stock called)
{
    enum { WAKINGS = 3, COMPARED = 64 };
    // Under method=ess contacts that no pair stands for are the implicit step's anyway.
    if (!state_of(w) || (count_calls(w) == 0 && !w->settings.method->yields)) {
        return step_without_geometry(w, islands, step, called);
    }
    w->advance->steps++;
    collide_look_at_data(w);
    double start = now_us();
    ode_islands found = *islands;
    ode_advance a = {.sleepers = 1};
    sprag_result result = SPRAG_OK;
    for (int i = 0; result == SPRAG_OK && a.sleepers > 0; i++) {
        a = prepare(w, &found, step, called);
        a.compares = w->statistics.steps % COMPARED == 1;
        a.wakes = w->islands_are_ours && i < WAKINGS;
        result = called == STOCK_QUICK && !count_stock_rows(w->advance, &found)
                     ? SPRAG_NO_MEMORY
                     : sprag_ode_advance(&a);
        for (int k = 0; k < a.sleepers; k++) {
            dBodyEnable(a.sleeper[k]);
        }
        if (a.sleepers > 0 && !sprag_ode_find_islands(w->id, step, called == STOCK_QUICK, &found)) {
            return false;
        }
    }
    w->statistics.solve_us = now_us() - start;
    if (result != SPRAG_OK) {
        return step_each_island(w, &found, step, called);
    }
    w->advance->ahead = look_ahead(w, a.fastest);
    count(w, &a);
    if (a.compliant) {
        count_yielding(w, &a);
    }
    warn(w, &a);
    return step_left(w, &a, step, called);
}
