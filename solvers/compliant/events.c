// Events of a frame. They reach the caller when the frame is complete.
#include <math.h>
#include <string.h>

#include "compliant_run.h"

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
