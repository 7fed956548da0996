#include "creep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "linalg.h"

// Relative to the run so far: the window, and the distance of the places that are kept, 23 at most.
static const double window = 0.1, spacing = 0.005;

// place NULL: no memory.
static world_places places_now(const world_state *w)
{
    world_places now = {.time = w->statistics.time};
    for (dBodyID b = sprag_ode_newest_body(w->id); b; b = sprag_ode_older_body(b)) {
        now.bodies++;
    }
    now.place = calloc((size_t)now.bodies, sizeof *now.place);
    int i = 0;
    for (dBodyID b = sprag_ode_newest_body(w->id); b && now.place; b = sprag_ode_older_body(b)) {
        now.place[i].body = b;
        memcpy(now.place[i++].position, dBodyGetPosition(b), sizeof now.place->position);
    }
    return now;
}

// false: they are not kept.
static bool keep_places(world_way *way, const world_places *now)
{
    if (way->count > 0 && now->time < (1 + spacing) * way->sample[way->count - 1].time) {
        return false;
    }
    world_places *all = array_widen(way->sample, way->count, &way->room, sizeof *all);
    if (!all) {
        return false;
    }
    way->sample = all;
    way->sample[way->count++] = *now;
    return true;
}

// The last sample before the window becomes the first.
static void drop_older(world_way *way, double start)
{
    int old = 0;
    while (old + 1 < way->count && way->sample[old + 1].time <= start) {
        free(way->sample[old++].place);
    }
    way->count -= old;
    if (old > 0) {
        memmove(way->sample, way->sample + old, (size_t)way->count * sizeof *way->sample);
    }
}

// ODE's lists keep their order. From the oldest on: a new body may have the address of one that has
// been destroyed, but the place of that is passed once a younger one is found. NULL: the body is
// new.
static const world_place *find_place(const world_places *in, dBodyID body, int *next)
{
    for (int i = *next; i >= 0; i--) {
        if (in->place[i].body == body) {
            *next = i - 1;
            return &in->place[i];
        }
    }
    return NULL;
}

static void measure(const world_state *w, const world_places *from, const world_places *to,
                    double value[SAMPLE_VALUES])
{
    dVector3 gravity;
    dWorldGetGravity(w->id, gravity);
    const double falling = norm3(gravity) * w->statistics.step;
    double sum = 0;
    int moving = 0, resting = 0;
    for (int i = to->bodies - 1, next = from->bodies - 1; i >= 0; i--) {
        const world_place *before = find_place(from, to->place[i].body, &next);
        if (before && !dBodyIsKinematic(to->place[i].body)) {
            double way[3];
            subtract3(to->place[i].position, before->position, way);
            double speed = norm3(way) / (to->time - from->time);
            sum += speed < falling ? speed : 0;
            resting += speed < falling;
            moving++;
        }
    }
    if (moving > 0) {
        value[SAMPLE_RESTING] = (double)resting / moving;
    }
    if (resting > 0) {
        value[SAMPLE_CREEP] = sum / resting;
    }
}

void creep_measure(world_state *w, double value[SAMPLE_VALUES])
{
    const double start = (1 - window) * w->statistics.time;
    world_places now = places_now(w);
    value[SAMPLE_CREEP] = value[SAMPLE_RESTING] = NAN;
    drop_older(&w->way, start);
    if (now.place && w->way.count > 0 && w->way.sample[0].time <= start) {
        measure(w, &w->way.sample[0], &now, value);
    }
    if (!now.place || !keep_places(&w->way, &now)) {
        free(now.place);
    }
}
