// The integration from here to the next event that ends it; events and impulses told on the way.
#include <math.h>
#include <string.h>

#include "compliant_run.h"
#include "linalg.h"
#include "pair_contact.h"

typedef struct listener {
    compliant_run *run;
    sprag_ess_event *event;
    int room, told;
    const sprag_ess_stats *stats;
    double *x;
} listener;

static void keep(compliant_run *run, const sprag_event *event)
{
    if (run->tells < run->tell_room) {
        run->told[run->tells++] = *event;
    }
}

void compliant_tell_stop(compliant_run *run, const sprag_ess_event *event)
{
    run->stats->events++;
    run->stats->projected_events += event->projected;
    if (event->direction > 0) {
        run->stats->event_kinds[SPRAG_LIMIT_REACHED]++;
        keep(run, &(sprag_event){.kind = SPRAG_LIMIT_REACHED,
                                 .pair = -1,
                                 .stop = event->guard - run->guards,
                                 .time = event->time,
                                 .speed = fabs(event->rate)});
    }
}

void compliant_tell(compliant_run *run, const double *x, const sprag_ess_event *event)
{
    if (event->guard >= run->guards) {
        compliant_tell_stop(run, event);
        return;
    }
    compliant_contact contact;
    bool made = event->direction > 0;
    if (run->law[event->guard].unknown) { // told when it is known whether it counts
        run->first = *event;
        return;
    }
    if (run->law[event->guard].declined) {
        return;
    }
    run->stats->events++;
    run->stats->projected_events += event->projected;
    run->stats->event_kinds[made ? SPRAG_CONTACT_MADE : SPRAG_CONTACT_LOST]++;
    if (!run->calls->event) {
        return;
    }
    compliant_place(run, x);
    compliant_touch(run, x, event->guard, COMPLIANT_POINTS, &contact);
    sprag_event told = {.kind = made ? SPRAG_CONTACT_MADE : SPRAG_CONTACT_LOST,
                        .pair = run->pair[event->guard],
                        .time = event->time,
                        .speed = fabs(event->rate)};
    memcpy(told.point, contact.at[0], sizeof told.point);
    memcpy(told.normal, contact.gap.normal, sizeof told.normal);
    keep(run, &told);
}

static void add_impulse(compliant_run *run, int guard, const compliant_contact *c, double time)
{
    double wrench[2][6] = {{0}};
    for (int side = 0; side < 2; side++) {
        compliant_add_wrench(run, guard, side, c, wrench[side]);
    }
    sprag_pair_add_impulse(&run->frame->pair[run->pair[guard]], (const double(*)[6])wrench, time);
}

// Gauss's rule of three points.
static void add_impulses(listener *l, double start, double end, const sprag_ess_piece *piece)
{
    static const double at[3] = {0.1127016653792583, 0.5, 0.8872983346207417},
                        weight[3] = {5.0 / 18, 8.0 / 18, 5.0 / 18};
    compliant_run *run = l->run;
    for (int k = 0; k < 3; k++) {
        bool placed = false;
        for (int g = 0; g < run->guards; g++) {
            if (!run->frame->pair[run->pair[g]].wants_impulse || !compliant_acts(&run->law[g])) {
                continue;
            }
            if (!placed) {
                sprag_ess_piece_at(piece, start + at[k] * (end - start), l->x);
                compliant_place(run, l->x);
                placed = true;
            }
            compliant_contact contact;
            compliant_touch(run, l->x, g, COMPLIANT_FORCES, &contact);
            if (contact.gap.distance < 0) {
                add_impulse(run, g, &contact, weight[k] * (end - start));
            }
        }
    }
}

static void observe(void *user, double start, double end, const sprag_ess_piece *piece)
{
    listener *l = user;
    add_impulses(l, start, end, piece);
    for (; l->told < l->stats->events && l->told < l->room; l->told++) {
        sprag_ess_piece_at(piece, fmin(l->event[l->told].time, end), l->x);
        compliant_tell(l->run, l->x, &l->event[l->told]);
    }
}

// What takes more than is to be expected meets forces that jump, again and again.
static long enough_steps(const compliant_run *run)
{
    double turn = 0;
    for (int i = 0; i < run->frame->bodies; i++) {
        turn = fmax(turn, norm3(run->x + COMPLIANT_STATES * i + COMPLIANT_SPIN));
    }
    return (long)fmin(1e6, run->options->steps / 2 + 4 * run->expected + 4 * run->guards +
                               40 * run->stops + 10 * turn * run->frame->step);
}

sprag_result compliant_integrate(compliant_run *run, double rate, sprag_ess_stats *stats)
{
    sprag_scratch *scratch = run->solving;
    double h = run->frame->step, left = h - run->time;
    sprag_scratch_reset(scratch);
    int room = 32 + 16 * (run->guards + run->stops);
    listener l = {
        .run = run,
        .event = SPRAG_TAKE(scratch, room, sprag_ess_event),
        .room = room,
        .stats = stats,
        .x = SPRAG_TAKE(scratch, (size_t)run->frame->bodies * COMPLIANT_STATES + 1, double)};
    if (scratch->failed) {
        return SPRAG_NO_MEMORY;
    }
    sprag_ess_options options = sprag_ess_defaults(left);
    options.adaptive = true;
    options.first_step = rate * left > 1 ? 1 / rate : left;
    options.relative_tolerance = 0;
    options.absolute_tolerance = run->options->tolerance;
    options.scale = run->scale;
    long most = run->steps < enough_steps(run) ? run->steps : enough_steps(run);
    options.max_steps = most > run->stepped ? most - run->stepped : 1;
    sprag_ess_output output = {
        .event = l.event, .event_room = room, .user = &l, .observe = observe};
    sprag_ess_problem problem = compliant_problem(run);
    sprag_result result = sprag_ess_integrate(&problem, &options, run->time, h, run->x, run->label,
                                              &output, scratch, stats, NULL, 0);
    run->time = stats->time;
    run->stats->steps += stats->steps;
    run->stepped += stats->steps;
    run->stats->rejected_steps += stats->rejected;
    run->stats->field_evaluations += stats->field_values;
    return result;
}
