// The collision calls and pairs of one world since its last step, each in a set: a call that the
// program repeats is in it once.
#include "record.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

struct ode_record {
    pthread_mutex_t lock;
    ode_set calls;       // a, b, callback, data
    ode_set variants;    // a, b, callback, number of the data: counts the data of a call
    ode_set offered;     // pairs of geoms
    ode_set fixed;       // geoms; not only since the last step
    ode_collision *call; // a, b of `calls`
    int room;            // for `call`
};

ode_record *sprag_ode_record_make(void)
{
    ode_record *r = calloc(1, sizeof *r);
    if (r) {
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
        free(r->call);
        pthread_mutex_destroy(&r->lock);
        free(r);
    }
}

static bool make_room(ode_record *r)
{
    if (r->calls.count < r->room) {
        return true;
    }
    int room = r->room ? 2 * r->room : 16;
    ode_collision *call = realloc(r->call, (size_t)room * sizeof *call);
    r->call = call ? call : r->call;
    if (!call) {
        return false;
    }
    r->room = room;
    return true;
}

static void empty(ode_record *r)
{
    sprag_ode_set_clear(&r->calls);
    sprag_ode_set_clear(&r->variants);
    sprag_ode_set_clear(&r->offered);
}

static ode_set_result add_variant(ode_record *r, ode_key key)
{
    ode_set_result result = ODE_SET_KNOWN;
    for (uintptr_t i = 0; i < ODE_RECORD_DATA && result == ODE_SET_KNOWN; i++) {
        key.part[3] = (const void *)i;
        result = sprag_ode_set_add(&r->variants, key);
    }
    return result;
}

static bool add_call(ode_record *r, ode_key key)
{
    if (sprag_ode_set_has(&r->calls, key)) {
        return true;
    }
    ode_set_result result = add_variant(r, key);
    if (result == ODE_SET_KNOWN) {
        empty(r);
        result = add_variant(r, key);
    }
    return result == ODE_SET_NEW && make_room(r) &&
           sprag_ode_set_add(&r->calls, key) == ODE_SET_NEW;
}

bool sprag_ode_record_call(ode_record *r, ode_collision call, void *data, dNearCallback *callback)
{
    ode_key key = {{call.a, call.b, (const void *)(intptr_t)callback, data}};
    pthread_mutex_lock(&r->lock);
    int before = r->calls.count;
    bool done = add_call(r, key);
    int index = r->calls.count - 1;
    if (done && index != before - 1) { // new
        r->call[index] = call;
    }
    pthread_mutex_unlock(&r->lock);
    return done;
}

bool sprag_ode_record_offer(ode_record *r, dGeomID a, dGeomID b)
{
    pthread_mutex_lock(&r->lock);
    ode_set_result result = sprag_ode_set_add(&r->offered, sprag_ode_pair_key(a, b, NULL));
    pthread_mutex_unlock(&r->lock);
    return result != ODE_SET_NO_MEMORY;
}

bool sprag_ode_was_offered(const ode_record *r, dGeomID a, dGeomID b)
{
    return sprag_ode_set_has(&r->offered, sprag_ode_pair_key(a, b, NULL));
}

bool sprag_ode_record_fixed(ode_record *r, dGeomID geom)
{
    pthread_mutex_lock(&r->lock);
    ode_set_result result = sprag_ode_set_add(&r->fixed, (ode_key){{geom}});
    pthread_mutex_unlock(&r->lock);
    return result != ODE_SET_NO_MEMORY;
}

bool sprag_ode_is_fixed(ode_record *r, dGeomID geom)
{
    pthread_mutex_lock(&r->lock);
    bool is = sprag_ode_set_has(&r->fixed, (ode_key){{geom}});
    pthread_mutex_unlock(&r->lock);
    return is;
}

const ode_collision *sprag_ode_recorded(const ode_record *r, int *count)
{
    *count = r->calls.count;
    return r->call;
}

dNearCallback *sprag_ode_recorded_callback(const ode_record *r, int call, void **data)
{
    const ode_key *key = &r->calls.key[call];
    *data = (void *)(uintptr_t)key->part[3];
    return (dNearCallback *)(intptr_t)key->part[2];
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
    int calls = r->calls.count;
    sprag_ode_set_filter(&r->calls, survives, &d);
    sprag_ode_set_filter(&r->variants, survives, &d);
    sprag_ode_set_filter(&r->offered, survives, &d);
    if (d.is_space || sprag_ode_set_has(&r->fixed, (ode_key){{id}})) {
        sprag_ode_set_filter(&r->fixed, survives, &d);
    }
    for (int i = 0; r->calls.count < calls && i < r->calls.count; i++) {
        const ode_key *key = &r->calls.key[i];
        r->call[i] =
            (ode_collision){(dGeomID)(uintptr_t)key->part[0], (dGeomID)(uintptr_t)key->part[1]};
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
