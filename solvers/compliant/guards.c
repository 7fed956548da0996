// Pairs as guards of a frame: which there are, what is known of them from frames before, and who is
// asked about them.
#include <math.h>
#include <string.h>

#include "compliant_run.h"

bool compliant_take_guards(compliant_run *run)
{
    sprag_scratch *s = run->scratch;
    int pairs = run->frame->pairs, most = pairs + run->stops;
    run->pair = SPRAG_TAKE(s, pairs, int);
    run->law = SPRAG_TAKE(s, pairs, compliant_law);
    run->memory = SPRAG_TAKE(s, pairs, sprag_gap_memory);
    run->seen = SPRAG_TAKE(s, pairs, double);
    run->label = SPRAG_TAKE(s, most, double);
    run->side = SPRAG_TAKE(s, most, double);
    run->eps = SPRAG_TAKE(s, most, double);
    run->cost = SPRAG_TAKE(s, pairs, double);
    run->two_way = SPRAG_TAKE(s, most, bool);
    run->last = SPRAG_TAKE(s, most, bool);
    run->tell_room = run->calls->event ? 64 + 16 * most : 0;
    run->told = SPRAG_TAKE(s, run->tell_room, sprag_event);
    return !s->failed;
}

static bool ask(compliant_run *run, int guard, double gap)
{
    return run->calls->ask_pair &&
           run->calls->ask_pair(run->calls->data, run->pair[guard], gap, run->time);
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

static bool counts(const sprag_frame *frame, int pair)
{
    return frame->pair[pair].state != SPRAG_PAIR_DECLINED && moves(frame, pair);
}

// Makes pair i guard g, for now.
static void try_guard(compliant_run *run, int g, int i)
{
    const sprag_pair *pair = &run->frame->pair[i];
    run->pair[g] = i;
    run->cost[g] = compliant_cost(run, g);
    run->memory[g] = pair->memory ? pair->memory->gap : (sprag_gap_memory){.count = 0};
}

void compliant_pass_time(sprag_frame *frame)
{
    for (int i = 0; i < frame->pairs; i++) {
        sprag_pair_memory *memory = frame->pair[i].memory;
        if (memory && memory->compliant.frame != frame->number) {
            memory->compliant.start_points =
                memory->compliant.frame + 1 == frame->number ? memory->compliant.end_points : -1;
            memory->compliant.end_points = 0;
            memory->compliant.implicit_frames -= memory->compliant.implicit_frames > 0;
            memory->compliant.frame = frame->number;
        }
    }
}

void compliant_wait_longer(compliant_run *run, bool done)
{
    enum { LONGEST = 64 };
    for (int g = 0; g < run->guards; g++) {
        sprag_pair_memory *memory = run->frame->pair[run->pair[g]].memory;
        if (!memory || !(run->label[g] != 0) || !compliant_acts(&run->law[g])) {
            continue;
        }
        int longer = memory->compliant.implicit_series ? 2 * memory->compliant.implicit_series : 1;
        memory->compliant.implicit_series = done ? memory->compliant.implicit_series / 2
                                            : longer < LONGEST ? longer
                                                               : LONGEST;
        memory->compliant.implicit_frames = done ? 0 : memory->compliant.implicit_series + 1;
    }
}

// Does it overlap since an implicit step, or by more than a pair that has just been found can by
// its motion? By a stiffness that is made up for a frame it would be thrown out, many times faster
// than ODE takes an overlap back.
bool compliant_is_deep(const compliant_run *run, int guard)
{
    const double odd = 1.5;
    const compliant_law *law = &run->law[guard];
    sprag_pair_memory *memory = run->frame->pair[run->pair[guard]].memory;
    compliant_contact contact;
    if (!memory || law->rigid || law->hunt_crossley || memory->compliant.start_points > 0) {
        return false;
    }
    compliant_touch(run, run->x, guard, COMPLIANT_FORCES, &contact);
    double h = run->frame->step, depth = -contact.gap.distance;
    double rate = sqrt(law->stiffness / law->effective);
    double sags = run->change / (rate * h); // of its weight, as a speed
    double speed = fabs(contact.approach) + 2 * run->change;
    bool found =
        memory->compliant.start_points < 0 && !memory->compliant.too_deep && depth < speed * h;
    memory->compliant.too_deep = !found && depth * rate > odd * (speed + sags);
    return memory->compliant.too_deep;
}

bool compliant_starts_rigid(compliant_run *run, sprag_compliant_reason *why)
{
    const sprag_frame *frame = run->frame;
    for (int i = 0; i < frame->pairs; i++) {
        if (!counts(frame, i) || frame->pair[i].state != SPRAG_PAIR_ACCEPTED) {
            continue;
        }
        try_guard(run, 0, i);
        run->glancing = true;
        compliant_set_law(run, 0, false);
        run->glancing = false;
        const sprag_pair_memory *memory = frame->pair[i].memory;
        bool waits = memory && memory->compliant.implicit_frames > 0, rigid = run->law[0].rigid;
        bool fresh = !memory || memory->compliant.start_points <= 0;
        if (rigid || waits || (fresh && !run->law[0].hunt_crossley)) {
            compliant_contact contact;
            compliant_touch(run, run->x, 0, COMPLIANT_GAP, &contact);
            double gap = contact.gap.distance;
            *why = rigid   ? run->law[0].why
                   : waits ? SPRAG_COMPLIANT_STEP_LIMIT
                           : SPRAG_COMPLIANT_DEEP_OVERLAP;
            if (gap <= 0 && (rigid || waits || compliant_is_deep(run, 0))) {
                return true;
            }
        }
    }
    return false;
}

// Guards at which the integration ends, to look at what is there.
static void set_last(compliant_run *run, int guard)
{
    const compliant_law *law = &run->law[guard];
    bool known = !law->unknown && !law->declined;
    run->last[guard] =
        law->unknown || law->rigid ||
        (known && compliant_needs_speed(&run->frame->pair[run->pair[guard]].surface));
}

// What touches from the start is asked about now, the others when they touch.
void compliant_find_guards(compliant_run *run)
{
    sprag_frame *frame = run->frame;
    compliant_mark(run);
    for (int i = 0; i < frame->pairs; i++) {
        sprag_pair *pair = &frame->pair[i];
        memset(pair->impulse, 0, sizeof pair->impulse);
        if (!counts(frame, i)) {
            continue;
        }
        int g = run->guards;
        compliant_contact contact;
        try_guard(run, g, i);
        compliant_look_at(run, g, COMPLIANT_GAP, &contact);
        bool unknown = pair->state == SPRAG_PAIR_UNKNOWN, touching = run->seen[g] <= 0;
        if (unknown && touching && !ask(run, g, run->seen[g])) {
            continue;
        }
        if ((unknown || compliant_needs_speed(&pair->surface)) && !touching) {
            run->law[g] = (compliant_law){.unknown = true};
        } else {
            compliant_set_law(run, g, false);
        }
        run->label[g] = NAN;
        run->two_way[g] = true;
        set_last(run, g);
        run->guards++;
    }
    for (int i = 0; i < run->stops; i++) {
        run->label[run->guards + i] = NAN;
        run->two_way[run->guards + i] = true;
        run->last[run->guards + i] = true;
    }
}

void compliant_look_again(compliant_run *run)
{
    compliant_measure(run, run->x);
    for (int g = 0; g < run->guards; g++) {
        compliant_contact contact;
        run->seen[g] = compliant_least_gap(run, g);
        if (!(run->seen[g] > 2 * run->eps[g])) {
            compliant_look_at(run, g, COMPLIANT_GAP, &contact);
        }
    }
    compliant_mark(run);
}

bool compliant_meet(compliant_run *run, int guard, double gap, const sprag_ess_event *event)
{
    compliant_law *law = &run->law[guard];
    bool known = run->frame->pair[run->pair[guard]].state == SPRAG_PAIR_ACCEPTED;
    bool wanted = known || ask(run, guard, gap);
    if (wanted) {
        compliant_set_law(run, guard, true);
        compliant_tell(run, run->x, event);
    } else {
        *law = (compliant_law){.declined = true};
    }
    set_last(run, guard);
    return wanted;
}
