// The collision calls and pairs of one world since its last step, each in a set: a call that the
// program repeats is in it once.
#include "record.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

struct ode_record {
    pthread_mutex_t lock;
    ode_set calls;
    ode_set variants; // a, b, callback: the number of data that came with these, an int64_t
    ode_set offered;  // pairs of geoms
    ode_set fixed;    // geoms; not only since the last step
};

ode_record *sprag_ode_record_make(void)
{
    ode_record *r = calloc(1, sizeof *r);
    if (r) {
        r->variants.size = sizeof(int64_t);
        pthread_mutex_init(&r->lock, NULL);
    }
    return r;
}

void sprag_ode_record_free(ode_record *r)
{
    if (r) {
        sprag_ode_set_free(&r->calls);
        sprag_ode_set_free(&r->variants);
        sprag_ode_set_free(&r->offered);
        sprag_ode_set_free(&r->fixed);
        pthread_mutex_destroy(&r->lock);
        free(r);
    }
}

static void empty(ode_record *r)
{
    sprag_ode_set_clear(&r->calls);
    sprag_ode_set_clear(&r->variants);
    sprag_ode_set_clear(&r->offered);
}

static bool add_call(ode_record *r, ode_key call)
{
    const ode_key variant = {{call.part[0], call.part[1], call.part[2]}};
    if (sprag_ode_set_find(&r->calls, call) >= 0) {
        return true;
    }
    const int known = r->variants.count, i = sprag_ode_set_add(&r->variants, variant);
    int64_t *count = sprag_ode_set_value(&r->variants, i);
    if (!count) {
        return false;
    }
    *count = i < known ? *count + 1 : 1;
    if (*count > ODE_RECORD_DATA) {
        empty(r);
        return add_call(r, call);
    }
    return sprag_ode_set_add(&r->calls, call) >= 0;
}

bool sprag_ode_record_call(ode_record *r, ode_collision call)
{
    pthread_mutex_lock(&r->lock);
    bool done = add_call(r, (ode_key){.call = call});
    pthread_mutex_unlock(&r->lock);
    return done;
}

static bool add(ode_record *r, ode_set *set, ode_key key)
{
    pthread_mutex_lock(&r->lock);
    bool done = sprag_ode_set_add(set, key) >= 0;
    pthread_mutex_unlock(&r->lock);
    return done;
}

bool sprag_ode_record_offer(ode_record *r, dGeomID a, dGeomID b)
{
    return add(r, &r->offered, sprag_ode_pair_key(a, b, NULL));
}

bool sprag_ode_was_offered(const ode_record *r, dGeomID a, dGeomID b)
{
    return sprag_ode_set_find(&r->offered, sprag_ode_pair_key(a, b, NULL)) >= 0;
}

bool sprag_ode_record_fixed(ode_record *r, dGeomID geom)
{
    return add(r, &r->fixed, (ode_key){{geom}});
}

bool sprag_ode_is_fixed(ode_record *r, dGeomID geom)
{
    pthread_mutex_lock(&r->lock);
    bool is = sprag_ode_set_find(&r->fixed, (ode_key){{geom}}) >= 0;
    pthread_mutex_unlock(&r->lock);
    return is;
}

_Static_assert(sizeof(ode_key) == sizeof(ode_collision), "keys are an array of calls, too");

const ode_collision *sprag_ode_recorded(const ode_record *r, int *count)
{
    *count = r->calls.count;
    return (const ode_collision *)r->calls.key;
}

typedef struct destroyed {
    dGeomID id;
    bool is_space;
} destroyed;

static bool survives(const ode_key *key, void *data)
{
    const destroyed *d = data;
    for (int i = 0; i < 2; i++) {
        dGeomID part = (dGeomID)(uintptr_t)key->part[i];
        if (part && (d->is_space ? sprag_ode_is_within(part, d->id) : part == d->id)) {
            return false;
        }
    }
    return true;
}

// A step of another thread may be reading the calls of its world, which this geom does not concern.
void sprag_ode_record_forget(ode_record *r, dGeomID id)
{
    destroyed d = {id, dGeomIsSpace(id)};
    pthread_mutex_lock(&r->lock);
    sprag_ode_set_filter(&r->calls, survives, &d);
    sprag_ode_set_filter(&r->variants, survives, &d);
    sprag_ode_set_filter(&r->offered, survives, &d);
    if (d.is_space || sprag_ode_set_find(&r->fixed, (ode_key){{id}}) >= 0) {
        sprag_ode_set_filter(&r->fixed, survives, &d);
    }
    pthread_mutex_unlock(&r->lock);
}

void sprag_ode_record_clear(ode_record *r)
{
    pthread_mutex_lock(&r->lock);
    empty(r);
    pthread_mutex_unlock(&r->lock);
}

void sprag_ode_record_lock(ode_record *r, bool lock)
{
    if (lock) {
        pthread_mutex_lock(&r->lock);
    } else {
        pthread_mutex_unlock(&r->lock);
    }
}
