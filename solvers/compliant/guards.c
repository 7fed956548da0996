// Pairs as guards: which pairs take part in the frame, their memories of earlier frames, the
// caller's answers about pairs without a surface, and events, which reach the caller when the frame
// is complete.
#include <math.h>
#include <string.h>

#include "compliant_run.h"

bool compliant_allocate_guards(compliant_run *run)
{
    sprag_scratch *s = run->scratch;
    compliant_guards *guards = &run->guards;
    compliant_events *events = &run->events;
    int bodies = run->frame->bodies, pairs = run->frame->pairs, most = pairs + run->stops;
    guards->pair = SPRAG_TAKE(s, pairs, int);
    guards->first_of_mesh = SPRAG_TAKE(s, pairs, int);
    guards->law = SPRAG_TAKE(s, pairs, compliant_law);
    guards->memory = SPRAG_TAKE(s, pairs, sprag_gap_memory);
    guards->gap = SPRAG_TAKE(s, pairs, double);
    guards->cost = SPRAG_TAKE(s, pairs, double);
    guards->label = SPRAG_TAKE(s, most, double);
    guards->known_label = SPRAG_TAKE(s, most, double);
    guards->band = SPRAG_TAKE(s, most, double);
    guards->overlap = SPRAG_TAKE(s, pairs, double);
    guards->two_way = SPRAG_TAKE(s, most, bool);
    guards->ends_integration = SPRAG_TAKE(s, most, bool);
    run->flight.touch = SPRAG_TAKE(s, pairs, compliant_touch);
    run->flight.velocity = SPRAG_TAKE_RAW(s, bodies, *run->flight.velocity);
    run->flight.since = SPRAG_TAKE_RAW(s, bodies, double);
    run->flight.way = SPRAG_TAKE_RAW(s, bodies, double);
    run->flight.first = SPRAG_TAKE_RAW(s, bodies + 1, int);
    run->flight.guard = SPRAG_TAKE_RAW(s, 2 * pairs, int);
    events->room = run->calls->event ? 64 + 16 * most : 0;
    events->event = SPRAG_TAKE_RAW(s, events->room, sprag_event);
    return !s->failed;
}

// ---- memories

void compliant_begin_memories(sprag_frame *frame)
{
    for (int i = 0; i < frame->pairs; i++) {
        sprag_compliant_memory *of = &frame->pair[i].memory->compliant;
        if (of->frame != frame->number) {
            of->start_points = of->frame + 1 == frame->number ? of->end_points : -1;
            of->end_points = 0;
            of->implicit_frames -= of->implicit_frames > 0;
            of->frame = frame->number;
        }
    }
}

// The series, with the frame that ended early, is twice as long every time, and half as long after
// a frame that came to its end: behind a single one the next is tried. Where contacts that hold
// have ended it, the next one may need less, so only many in a row count. Stiff springs do not.
void compliant_set_implicit_series(compliant_run *run, bool done)
{
    const int most = COMPLIANT_IMPLICIT_SERIES_MAX;
    const double touch = compliant_touch_distance(run);
    const bool by_held = !(run->hold_work > 0) || run->held.lost > 0;
    for (int g = 0; g < run->guards.pairs; g++) {
        sprag_compliant_memory *of = &compliant_pair(run, g)->memory->compliant;
        bool touches = run->guards.label[g] != 0 && compliant_acts(&run->guards.law[g]);
        touches |= compliant_is_rigid(run, g) && run->guards.gap[g] <= touch;
        if (!touches) {
            continue;
        }
        of->ended_early = done ? 0 : of->ended_early + 1;
        if (!done && by_held && of->ended_early <= COMPLIANT_TRIES) {
            continue;
        }
        int longer = of->implicit_series ? 2 * of->implicit_series : 1;
        of->implicit_series = done ? of->implicit_series / 2 : longer < most ? longer : most;
        of->implicit_frames = done ? 0 : of->implicit_series;
    }
}

// A pair overlaps deeply if it does so by more than a new pair can by its motion in a frame, and
// by more than its weight and a fall of two frames explain. What lies deeper was put there: its
// spring, whose stiffness is made up for one frame, would throw it out.
bool compliant_is_deep(compliant_run *run, int guard)
{
    const compliant_law *law = &run->guards.law[guard];
    sprag_compliant_memory *of = &compliant_pair(run, guard)->memory->compliant;
    compliant_contact contact;
    if (run->guards.gap[guard] > 0) {
        of->too_deep = false;
    }
    if (run->guards.gap[guard] > 0 || !compliant_acts(law) || law->hunt_crossley ||
        (of->start_points > 0 && !of->too_deep)) {
        return false;
    }
    compliant_find_contact(run, run->state.x, guard, COMPLIANT_FORCES, &contact);
    double h = run->frame->step, depth = -contact.gap.distance;
    double rate = sqrt(law->stiffness / law->effective_mass), change = run->sizes.change;
    double by_weight = change / (rate * rate * h) + 2 * change / rate; // at rest, and from a fall
    double by_motion = (fabs(contact.approach) + 2 * change) * h;
    bool is_new = of->start_points < 0 && !of->too_deep;
    of->too_deep = depth > COMPLIANT_DEEP_OVERLAP * by_weight && !(is_new && depth < by_motion);
    return of->too_deep;
}

// ---- pairs of the frame

static bool ask_caller(compliant_run *run, int guard, double gap)
{
    bool accepted = run->calls->ask_pair &&
                    run->calls->ask_pair(run->calls->data, run->guards.pair[guard], gap, run->time);
    compliant_pair(run, guard)->state = accepted ? SPRAG_PAIR_ACCEPTED : SPRAG_PAIR_DECLINED;
    return accepted;
}

static bool moves(const sprag_frame *frame, int pair)
{
    for (int side = 0; side < 2; side++) {
        int body = frame->collider[frame->pair[pair].collider[side]].body;
        if (body != SPRAG_STATIC && frame->body[body].mass > 0) {
            return true;
        }
    }
    return false;
}

static bool is_candidate(const sprag_frame *frame, int pair)
{
    return frame->pair[pair].state != SPRAG_PAIR_DECLINED && moves(frame, pair);
}

// Makes a pair guard g, until the next one takes its place.
static void set_pair(compliant_run *run, int g, int pair)
{
    run->guards.pair[g] = pair;
    const bool follows = g > 0 && sprag_pairs_of_mesh(run->frame, run->guards.pair[g - 1], pair);
    run->guards.first_of_mesh[g] = follows ? run->guards.first_of_mesh[g - 1] : g;
    run->guards.cost[g] = compliant_cost(run, g);
    run->guards.memory[g] = run->frame->pair[pair].memory->gap;
}

// Pairs that are known from earlier frames: when one overlaps and is for the implicit step, and
// none bounces, nothing else need be evaluated.
bool compliant_starts_implicit(compliant_run *run, sprag_compliant_reason *reason)
{
    const sprag_frame *frame = run->frame;
    const compliant_law *law = &run->guards.law[0];
    for (int i = 0; i < frame->pairs; i++) {
        if (frame->pair[i].state == SPRAG_PAIR_ACCEPTED &&
            compliant_bounces(&frame->pair[i].surface)) {
            return false;
        }
    }
    for (int i = 0; i < frame->pairs; i++) {
        if (!is_candidate(frame, i) || frame->pair[i].state != SPRAG_PAIR_ACCEPTED) {
            continue;
        }
        set_pair(run, 0, i);
        run->law_for_test = true;
        compliant_set_law(run, 0, false);
        run->law_for_test = false;
        bool implicit = law->status == COMPLIANT_IMPLICIT;
        bool in_series = frame->pair[i].memory->compliant.implicit_frames > 0;
        if (implicit || in_series) {
            compliant_contact contact;
            compliant_find_contact(run, run->state.x, 0, COMPLIANT_GAP, &contact);
            *reason = implicit ? law->reason : SPRAG_COMPLIANT_STEP_LIMIT;
            double touch = compliant_is_rigid(run, 0) ? compliant_touch_distance(run) : 0;
            if (contact.gap.distance <= touch) {
                return true;
            }
        }
    }
    return false;
}

// The integration ends at guards whose law is not known, or depends on the speed of impact.
static void set_ends_integration(compliant_run *run, int guard)
{
    const compliant_law *law = &run->guards.law[guard];
    const sprag_surface *surface = compliant_surface(run, guard);
    run->guards.ends_integration[guard] =
        law->status == COMPLIANT_UNKNOWN || law->status == COMPLIANT_IMPLICIT ||
        law->status == COMPLIANT_RIGID_PAIR ||
        (law->status == COMPLIANT_INTEGRATED &&
         (compliant_needs_speed(surface) || compliant_bounces(surface)));
}

static void add_guard(compliant_run *run, int pair)
{
    compliant_guards *guards = &run->guards;
    const sprag_pair *of = &run->frame->pair[pair];
    int g = guards->pairs;
    set_pair(run, g, pair);
    compliant_update_gap(run, g);
    bool unknown = of->state == SPRAG_PAIR_UNKNOWN, touches = guards->gap[g] <= 0;
    if (unknown && touches && !ask_caller(run, g, guards->gap[g])) {
        return;
    }
    bool bounces = compliant_bounces(&of->surface),
         needs_speed = compliant_needs_speed(&of->surface);
    bool rested = of->memory->compliant.start_points > 0;
    if (!touches && (unknown || needs_speed)) {
        guards->law[g] = (compliant_law){.status = COMPLIANT_UNKNOWN};
    } else {
        compliant_set_law(run, g, false);
    }
    if (bounces && !rested && !compliant_is_rigid(run, g)) {
        guards->law[g] = (compliant_law){.status = COMPLIANT_UNKNOWN};
    }
    set_ends_integration(run, g);
    guards->pairs++;
}

// Friction that the normal force does not bound acts as soon as a spring overlaps. What falls past
// a wall, which it overlaps by rounding, is not braked: pairs whose springs push with nothing yet
// count as apart.
static void set_rounding_apart(compliant_run *run, int guard)
{
    const compliant_law *law = &run->guards.law[guard];
    const sprag_friction *slide = &compliant_surface(run, guard)->slide;
    if (!compliant_acts(law) || !(law->stiffness > 0) || !(slide->force[0] || slide->force[1])) {
        return;
    }
    double least = COMPLIANT_IMPACT_SPEED_MIN * run->sizes.fastest; // m/s
    double depth = least * law->effective_mass / (law->stiffness * run->frame->step);
    if (fabs(run->guards.gap[guard]) <= depth) {
        run->guards.label[guard] = 0;
        run->guards.overlap[guard] = depth;
    }
}

// Asks the caller about pairs that overlap from the start; about others when they touch.
void compliant_find_guards(compliant_run *run)
{
    sprag_frame *frame = run->frame;
    compliant_guards *guards = &run->guards;
    compliant_set_reference(run);
    for (int i = 0; i < frame->pairs; i++) {
        sprag_pair *pair = &frame->pair[i];
        memset(pair->impulse, 0, sizeof pair->impulse);
        if (is_candidate(frame, i)) {
            add_guard(run, i);
        }
    }
    for (int g = 0; g < guards->pairs + run->stops; g++) {
        guards->label[g] = NAN;
        guards->two_way[g] = true;
    }
    for (int g = 0; g < guards->pairs; g++) {
        set_rounding_apart(run, g);
    }
    for (int s = 0; s < run->stops; s++) {
        guards->ends_integration[guards->pairs + s] = true;
    }
}

// ---- during the frame

void compliant_update_gaps(compliant_run *run)
{
    compliant_measure_motion(run, run->state.x);
    for (int g = 0; g < run->guards.pairs; g++) {
        run->guards.gap[g] = compliant_gap_bound(run, g);
        if (!(run->guards.gap[g] > 2 * run->guards.band[g])) {
            compliant_update_gap(run, g);
        }
    }
    compliant_set_reference(run);
}

bool compliant_resolve_pair(compliant_run *run, int guard, double gap, const sprag_ess_event *event)
{
    bool known = compliant_pair(run, guard)->state == SPRAG_PAIR_ACCEPTED;
    bool accepted = known || ask_caller(run, guard, gap);
    if (accepted) {
        compliant_set_law(run, guard, true);
        if (!compliant_is_rigid(run, guard) && compliant_rebounds(run, guard)) {
            run->guards.law[guard] = (compliant_law){.status = COMPLIANT_UNKNOWN};
        } else {
            compliant_record_event(run, run->state.x, event);
        }
    } else {
        run->guards.law[guard] = (compliant_law){.status = COMPLIANT_DECLINED};
    }
    set_ends_integration(run, guard);
    return accepted;
}

void compliant_set_known_labels(compliant_run *run)
{
    const compliant_guards *guards = &run->guards;
    for (int g = 0; g < guards->pairs; g++) {
        bool unset = isnan(guards->label[g]);
        guards->known_label[g] = unset ? guards->gap[g] <= 0 : guards->label[g];
    }
}

// ---- events

static void keep_event(compliant_run *run, const sprag_event *event)
{
    compliant_events *events = &run->events;
    if (events->count < events->room) {
        events->event[events->count++] = *event;
    }
}

void compliant_record_stop(compliant_run *run, const sprag_ess_event *event)
{
    run->stats->events++;
    run->stats->projected_events += event->projected;
    if (event->direction > 0) {
        run->stats->event_kinds[SPRAG_LIMIT_REACHED]++;
        keep_event(run, &(sprag_event){.kind = SPRAG_LIMIT_REACHED,
                                       .pair = -1,
                                       .stop = event->guard - run->guards.pairs,
                                       .time = event->time,
                                       .speed = fabs(event->rate)});
    }
}

// A triangle whose contact belongs to its neighbour is none.
static void record_contact(compliant_run *run, const double *x, const sprag_ess_event *event)
{
    compliant_contact contact;
    compliant_place_pair(run, x, event->guard);
    compliant_find_contact(run, x, event->guard, COMPLIANT_POINTS, &contact);
    if (contact.count == 0) {
        return;
    }
    sprag_event kept = {.kind = event->direction > 0 ? SPRAG_CONTACT_MADE : SPRAG_CONTACT_LOST,
                        .pair = run->guards.pair[event->guard],
                        .time = event->time,
                        .speed = fabs(event->rate)};
    run->stats->events++;
    run->stats->projected_events += event->projected;
    run->stats->event_kinds[kept.kind]++;
    if (!run->calls->event) {
        return;
    }
    memcpy(kept.point, contact.at[0], sizeof kept.point);
    memcpy(kept.normal, contact.gap.normal, sizeof kept.normal);
    keep_event(run, &kept);
}

void compliant_record_impact(compliant_run *run, int guard, double speed, bool made)
{
    record_contact(
        run, run->state.x,
        &(sprag_ess_event){
            .guard = guard, .time = run->time, .direction = made ? 1 : -1, .rate = speed});
}

void compliant_record_event(compliant_run *run, const double *x, const sprag_ess_event *event)
{
    if (event->guard >= run->guards.pairs) {
        compliant_record_stop(run, event);
        return;
    }
    switch (run->guards.law[event->guard].status) {
    case COMPLIANT_UNKNOWN: // recorded if the caller accepts the pair
        run->events.first_touch = *event;
        break;
    case COMPLIANT_DECLINED:
    case COMPLIANT_RIGID_PAIR: // recorded by its impact
        break;
    case COMPLIANT_INTEGRATED:
    case COMPLIANT_IMPLICIT:
        record_contact(run, x, event);
        break;
    }
}

void compliant_report_events(compliant_run *run)
{
    for (int i = 0; i < run->events.count; i++) {
        run->calls->event(run->calls->data, &run->events.event[i]);
    }
}
