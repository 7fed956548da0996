// The hash of a world's state.
#include "bits.h"

#include <stdlib.h>
#include <string.h>

#include "sprag.h"

enum { EVENTS_MAX = 64, STATE = 12, FORCE = 6, LINEARIZED_MAX = 16 };

void bits_add(uint64_t *hash, const double *x, int n)
{
    fnv_add(hash, x, (size_t)n * sizeof *x);
}

static void add_bodies(bits_watch *watch)
{
    for (int i = 0; i < watch->bodies; i++) {
        dBodyID body = watch->body[i];
        double enabled = dBodyIsEnabled(body);
        bits_add(&watch->hash, dBodyGetPosition(body), 3);
        bits_add(&watch->hash, dBodyGetQuaternion(body), 4);
        bits_add(&watch->hash, dBodyGetLinearVel(body), 3);
        bits_add(&watch->hash, dBodyGetAngularVel(body), 3);
        bits_add(&watch->hash, &enabled, 1);
    }
}

static void add_feedback(bits_watch *watch)
{
    for (int i = 0; i < watch->joints; i++) {
        const dJointFeedback *f = &watch->feedback[i];
        bits_add(&watch->hash, f->f1, 3);
        bits_add(&watch->hash, f->t1, 3);
        bits_add(&watch->hash, f->f2, 3);
        bits_add(&watch->hash, f->t2, 3);
    }
}

static void add_statistics(bits_watch *watch)
{
    sprag_world_statistics s;
    memset(&s, 0, sizeof s); // padding, too
    s.struct_size = sizeof s;
    if (sprag_world_stats(watch->world, &s)) {
        s.pull_us = s.solve_us = s.push_us = 0;
        fnv_add(&watch->hash, &s, sizeof s);
    }
}

// Geoms, bodies and joints are addresses, and only counted.
static void add_events(bits_watch *watch)
{
    sprag_world_event event[EVENTS_MAX];
    int count = sprag_world_events(watch->world, event, EVENTS_MAX);
    for (int i = 0; i < count && i < EVENTS_MAX; i++) {
        double what[4] = {event[i].kind, event[i].time, event[i].speed, !!event[i].joint};
        bits_add(&watch->hash, what, 4);
        bits_add(&watch->hash, event[i].position, 3);
        bits_add(&watch->hash, event[i].normal, 3);
    }
}

void bits_add_step(bits_watch *watch)
{
    add_bodies(watch);
    add_feedback(watch);
    add_statistics(watch);
    add_events(watch);
}

void bits_add_derivatives(bits_watch *watch, double step)
{
    static double A[STATE * LINEARIZED_MAX * STATE * LINEARIZED_MAX];
    static double B[STATE * LINEARIZED_MAX * FORCE * LINEARIZED_MAX];
    const int bodies = watch->bodies;
    if (bodies > LINEARIZED_MAX) {
        abort();
    }
    double done = sprag_world_linearize(watch->world, step, watch->body, bodies, A, B);
    bits_add(&watch->hash, &done, 1);
    if (done > 0) {
        bits_add(&watch->hash, A, STATE * bodies * STATE * bodies);
        bits_add(&watch->hash, B, STATE * bodies * FORCE * bodies);
    }
}
