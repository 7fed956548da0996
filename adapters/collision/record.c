// Calls and pairs of one world's frame, each in a set, so that what is repeated is there once.
#include "record.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// ---- sets

static int slot_of(const ode_set *set, const ode_key *key)
{
    uint64_t hash = 0;
    for (int i = 0; i < 4; i++) {
        hash = (hash ^ (uint64_t)(uintptr_t)key->part[i]) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    return (int)(hash >> 33) & (set->slots - 1);
}

// The slot of a key, or the free one where it belongs.
static int look_up(const ode_set *set, const ode_key *key)
{
    int at = slot_of(set, key);
    while (set->slot[at] && memcmp(&set->key[set->slot[at] - 1], key, sizeof *key) != 0) {
        at = (at + 1) & (set->slots - 1);
    }
    return at;
}

static void place(ode_set *set, int index)
{
    int at = look_up(set, &set->key[index]);
    set->slot[at] = index + 1;
    set->at[index] = at;
}

static bool grow(ode_set *set)
{
    int room = set->room ? 2 * set->room : 32;
    ode_key *key = realloc(set->key, (size_t)room * sizeof *key);
    set->key = key ? key : set->key;
    int *at = realloc(set->at, (size_t)room * sizeof *at);
    set->at = at ? at : set->at;
    int *slot = key && at ? calloc((size_t)room * 2, sizeof *slot) : NULL;
    if (!slot) {
        return false;
    }
    free(set->slot);
    set->slot = slot;
    set->room = room;
    set->slots = 2 * room;
    for (int i = 0; i < set->count; i++) {
        place(set, i);
    }
    return true;
}

ode_set_result sprag_ode_set_add(ode_set *set, ode_key key)
{
    if (sprag_ode_set_has(set, key)) {
        return ODE_SET_KNOWN;
    }
    if (set->count == set->room && !grow(set)) {
        return ODE_SET_NO_MEMORY;
    }
    set->key[set->count] = key;
    place(set, set->count++);
    return ODE_SET_NEW;
}

bool sprag_ode_set_has(const ode_set *set, ode_key key)
{
    return set->slots && set->slot[look_up(set, &key)];
}

void sprag_ode_set_clear(ode_set *set)
{
    for (int i = 0; i < set->count; i++) {
        set->slot[set->at[i]] = 0;
    }
    set->count = 0;
}

void sprag_ode_set_free(ode_set *set)
{
    free(set->key);
    free(set->slot);
    free(set->at);
    *set = (ode_set){0};
}

ode_key sprag_ode_pair_key(dGeomID a, dGeomID b, const void *third)
{
    bool swap = (uintptr_t)a > (uintptr_t)b;
    return (ode_key){{swap ? b : a, swap ? a : b, third, NULL}};
}

// ---- records

struct ode_record {
    pthread_mutex_t lock;
    ode_set asked;    // a, b, callback, data
    ode_set variants; // a, b, callback, number of the data
    ode_set offered;
    ode_collision *call; // as `asked`
    void **data;
    dNearCallback **callback;
    int room;
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
        sprag_ode_set_free(&r->asked);
        sprag_ode_set_free(&r->variants);
        sprag_ode_set_free(&r->offered);
        free(r->call);
        free(r->data);
        free(r->callback);
        pthread_mutex_destroy(&r->lock);
        free(r);
    }
}

static bool make_room(ode_record *r)
{
    if (r->asked.count < r->room) {
        return true;
    }
    int room = r->room ? 2 * r->room : 16;
    ode_collision *call = realloc(r->call, (size_t)room * sizeof *call);
    r->call = call ? call : r->call;
    void **data = realloc(r->data, (size_t)room * sizeof *data);
    r->data = data ? data : r->data;
    dNearCallback **callback = realloc(r->callback, (size_t)room * sizeof *callback);
    r->callback = callback ? callback : r->callback;
    if (!call || !data || !callback) {
        return false;
    }
    r->room = room;
    return true;
}

static void empty(ode_record *r)
{
    sprag_ode_set_clear(&r->asked);
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
    if (sprag_ode_set_has(&r->asked, key)) {
        return true;
    }
    ode_set_result result = add_variant(r, key);
    if (result == ODE_SET_KNOWN) {
        empty(r);
        result = add_variant(r, key);
    }
    return result == ODE_SET_NEW && make_room(r) &&
           sprag_ode_set_add(&r->asked, key) == ODE_SET_NEW;
}

bool sprag_ode_record_call(ode_record *r, ode_collision call, void *data, dNearCallback *callback)
{
    ode_key key = {{call.a, call.b, (const void *)(intptr_t)callback, data}};
    pthread_mutex_lock(&r->lock);
    int before = r->asked.count;
    bool done = add_call(r, key);
    int index = r->asked.count - 1;
    if (done && index != before - 1) { // it is new
        r->call[index] = call;
        r->data[index] = data;
        r->callback[index] = callback;
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

const ode_collision *sprag_ode_recorded(const ode_record *r, int *count)
{
    *count = r->asked.count;
    return r->call;
}

dNearCallback *sprag_ode_recorded_callback(const ode_record *r, int call, void **data)
{
    *data = r->data[call];
    return r->callback[call];
}

// ---- what goes

bool sprag_ode_is_within(dGeomID id, dGeomID outer)
{
    while (id && id != outer) {
        id = (dGeomID)dGeomGetSpace(id);
    }
    return id;
}

static bool names(const ode_key *key, dGeomID id, bool space)
{
    for (int i = 0; i < 2; i++) {
        dGeomID part = (dGeomID)(uintptr_t)key->part[i];
        if (part && (space ? sprag_ode_is_within(part, id) : part == id)) {
            return true;
        }
    }
    return false;
}

void sprag_ode_record_forget(ode_record *r, dGeomID id)
{
    bool space = dGeomIsSpace(id);
    pthread_mutex_lock(&r->lock);
    ode_set *const sets[] = {&r->asked, &r->variants, &r->offered};
    for (int which = 0; which < 3; which++) {
        ode_set *set = sets[which];
        int kept = 0, count = set->count;
        while (kept < count && !names(&set->key[kept], id, space)) {
            kept++;
        }
        if (kept == count) {
            continue;
        }
        sprag_ode_set_clear(set);
        for (int i = kept; i < count; i++) {
            if (!names(&set->key[i], id, space)) {
                set->key[kept] = set->key[i];
                if (!which) {
                    r->call[kept] = r->call[i];
                    r->data[kept] = r->data[i];
                    r->callback[kept] = r->callback[i];
                }
                kept++;
            }
        }
        for (int i = 0; i < kept; i++) {
            place(set, i);
        }
        set->count = kept;
    }
    pthread_mutex_unlock(&r->lock);
}

void sprag_ode_record_clear(ode_record *r)
{
    pthread_mutex_lock(&r->lock);
    empty(r);
    pthread_mutex_unlock(&r->lock);
}

void sprag_ode_record_lock(ode_record *r, bool hold)
{
    if (hold) {
        pthread_mutex_lock(&r->lock);
    } else {
        pthread_mutex_unlock(&r->lock);
    }
}

// ---- how ODE walks a call

// The geom of a space that is, or holds, this one; NULL: it is not in there.
static dGeomID child_of(dGeomID space, dGeomID id)
{
    while (id && (dGeomID)dGeomGetSpace(id) != space) {
        id = (dGeomID)dGeomGetSpace(id);
    }
    return id;
}

// Of two spaces on different levels dSpaceCollide2 opens the higher one, and hands on the other.
static bool is_opened(dGeomID id, dGeomID other)
{
    return dGeomIsSpace(id) && (!dGeomIsSpace(other) || dSpaceGetSublevel((dSpaceID)id) >=
                                                            dSpaceGetSublevel((dSpaceID)other));
}

bool sprag_ode_callback_pair(const ode_collision *call, dGeomID first, dGeomID second,
                             dGeomID given[2])
{
    const dGeomID of[2] = {first, second}, asked[2] = {call->a, call->b ? call->b : call->a};
    for (int i = 0; i < 2; i++) {
        if (!sprag_ode_is_within(of[i], asked[i])) {
            return false;
        }
        given[i] = is_opened(asked[i], asked[!i]) ? child_of(asked[i], of[i]) : asked[i];
        if (!given[i]) {
            return false;
        }
    }
    return given[0] != given[1];
}
