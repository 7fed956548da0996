#include "creep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "linalg.h"

static const double window = 0.1; // of the run so far

// false: no memory.
static bool note_places(world_state *w)
{
    world_way *way = &w->way;
    if (way->count == way->room) {
        int room = way->room ? 2 * way->room : 16;
        world_places *more = realloc(way->sample, (size_t)room * sizeof *more);
        if (!more) {
            return false;
        }
        way->sample = more;
        way->room = room;
    }
    world_places *to = &way->sample[way->count];
    *to = (world_places){.time = w->statistics.time};
    for (dBodyID b = sprag_ode_newest_body(w->id); b; b = sprag_ode_older_body(b)) {
        to->bodies++;
    }
    to->place = calloc((size_t)to->bodies + 1, sizeof *to->place);
    if (!to->place) {
        return false;
    }
    int i = 0;
    for (dBodyID b = sprag_ode_newest_body(w->id); b; b = sprag_ode_older_body(b), i++) {
        to->place[i].body = b;
        memcpy(to->place[i].position, dBodyGetPosition(b), sizeof to->place[i].position);
    }
    way->count++;
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
    memmove(way->sample, way->sample + old, (size_t)way->count * sizeof *way->sample);
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

void creep_measure(world_state *w, double value[SAMPLE_VALUES])
{
    const double now = w->statistics.time, start = (1 - window) * now;
    value[SAMPLE_CREEP] = value[SAMPLE_RESTING] = NAN;
    if (!note_places(w)) {
        return;
    }
    drop_older(&w->way, start);
    const world_places *from = &w->way.sample[0], *to = &w->way.sample[w->way.count - 1];
    if (from == to || from->time > start) {
        return;
    }
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
            double speed = norm3(way) / (now - from->time);
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
