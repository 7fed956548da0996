// Forces of the last step, for the next one to start from. Those of contacts are found by the pair
// of geoms (of bodies, if a program makes contacts without geoms) and then by position: ODE makes
// its contact joints anew at every step. Those of rows by the joint and the row's number.
//
// Several threads may recall and remember at once, each other islands: what belongs to two of them
// never has the same key, and the order of entries between islands tells nothing.
#include "island.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "linalg.h"

// Entries that are looked at for one contact. Pairs of more, of meshes mostly, would cost the
// square of their number: they start anew.
enum { NEAREST_OF = 64 };

enum { ROWS_MAX = 6 }; // of a joint

typedef struct remembered {
    double position[3];
    double force[3]; // on the first of the pair, world axes; of a row: its own, first
    double nearest;  // squared distance of heir, the contact that takes the force over
    dJointID heir;
} remembered;

// Entries of one key that follow one another.
typedef struct run {
    uintptr_t key[3]; // two geoms and the lower body, which is in one island only; joint, row, 0
    int count;
    int next; // of the same slot, older, -1: last
} run;

typedef struct table {
    remembered *entry;
    run *run; // by its first entry
    int count, room;
    int *slot; // newest run
    int slots; // power of two, 0: none
} table;

struct ode_warm_start {
    table last, now;
    bool open;      // to several threads
    atomic_int end; // entries that they have taken so far
};

ode_warm_start *sprag_ode_warm_start_make(void)
{
    return calloc(1, sizeof(ode_warm_start));
}

static void free_table(table *t)
{
    free(t->entry);
    free(t->run);
    free(t->slot);
}

void sprag_ode_warm_start_free(ode_warm_start *memory)
{
    if (memory) {
        free_table(&memory->last);
        free_table(&memory->now);
        free(memory);
    }
}

static bool is_same_key(const uintptr_t a[3], const uintptr_t b[3])
{
    return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
}

// Programs name the two geoms of a pair in either order: the sign turns a force on body[0] into one
// on the first of the pair.
void sprag_ode_warm_key_set(ode_warm_key *claim, dJointID joint, const sprag_contact *contact)
{
    const dContactGeom *geom = &sprag_ode_contact_of(joint)->geom;
    uintptr_t body[2] = {(uintptr_t)dJointGetBody(joint, 0), (uintptr_t)dJointGetBody(joint, 1)};
    uintptr_t first = geom->g1 ? (uintptr_t)geom->g1 : body[0];
    uintptr_t second = geom->g2 ? (uintptr_t)geom->g2 : body[1];
    bool swapped = first > second;
    claim->key[0] = swapped ? second : first;
    claim->key[1] = swapped ? first : second;
    claim->key[2] = !body[1] || (body[0] && body[0] < body[1]) ? body[0] : body[1];
    bool reversed = dot3(geom->normal, contact->frame[0]) < 0; // it points into body[0]
    claim->sign = swapped == reversed ? 1 : -1;
    memcpy(claim->position, geom->pos, sizeof claim->position);
}

static int slot_of(const table *t, const uintptr_t key[3])
{
    uint64_t hash = sprag_ode_hash(sprag_ode_hash(sprag_ode_hash(0, key[0]), key[1]), key[2]);
    return sprag_ode_hash_slot(hash, t->slots - 1);
}

// The first run of a key among i and those after it; -1: none.
static int find_run(const table *t, int i, const uintptr_t key[3])
{
    while (i >= 0 && !is_same_key(t->run[i].key, key)) {
        i = t->run[i].next;
    }
    return i;
}

static int newest_run(const table *t, const uintptr_t key[3])
{
    return t->count ? find_run(t, t->slot[slot_of(t, key)], key) : -1;
}

// Where one is among the entries of a key.
typedef struct walk {
    int run, seen; // of its entries
    int left;      // that are still looked at; -1: there are more
} walk;

static walk walk_from(int run)
{
    return (walk){.run = run, .left = NEAREST_OF};
}

// The entries of a key, newest first; NULL: no more, or too many.
static remembered *next_of(const table *t, walk *w)
{
    if (w->run >= 0 && w->seen == t->run[w->run].count) {
        w->run = find_run(t, t->run[w->run].next, t->run[w->run].key);
        w->seen = 0;
    }
    if (w->run < 0 || w->left-- <= 0) {
        return NULL;
    }
    return &t->entry[w->run + t->run[w->run].count - ++w->seen];
}

static bool make_room(table *now, long entries)
{
    long wanted = now->count + entries;
    if (wanted > now->room) {
        long twice = 2L * now->room, room = wanted > twice ? wanted : twice;
        room = room > 64 ? room : 64;
        if (room > INT_MAX) {
            return false;
        }
        remembered *entry = realloc(now->entry, (size_t)room * sizeof *entry);
        now->entry = entry ? entry : now->entry;
        run *runs = entry ? realloc(now->run, (size_t)room * sizeof *runs) : NULL;
        if (!runs) {
            return false;
        }
        now->run = runs;
        now->room = (int)room;
    }
    return true;
}

// The first of so many entries; -1: no memory, guesses less.
static int reserve(ode_warm_start *memory, int entries)
{
    table *now = &memory->now;
    if (memory->open) {
        return atomic_fetch_add_explicit(&memory->end, entries, memory_order_relaxed);
    }
    if (!make_room(now, entries)) {
        return -1;
    }
    now->count += entries;
    return now->count - entries;
}

bool sprag_ode_warm_start_begin_threads(ode_warm_start *memory, long joints)
{
    memory->open = joints <= INT_MAX / ROWS_MAX && make_room(&memory->now, ROWS_MAX * joints);
    atomic_store_explicit(&memory->end, memory->now.count, memory_order_relaxed);
    return memory->open;
}

void sprag_ode_warm_start_end_threads(ode_warm_start *memory)
{
    if (memory->open) {
        memory->now.count = atomic_load_explicit(&memory->end, memory_order_relaxed);
        memory->open = false;
    }
}

static double squared_distance(const double *a, const double *b)
{
    double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    return dot3(d, d);
}

// What is remembered of the pairs, asked for at once: it has left the caches since the last step.
static void find_pairs(const table *last, ode_warm_key *claim, int contacts)
{
    for (int i = 0; i < contacts; i++) {
        claim[i].run = last->count ? last->slot[slot_of(last, claim[i].key)] : -1;
        if (claim[i].run >= 0) {
            __builtin_prefetch(&last->run[claim[i].run]);
        }
    }
    for (int i = 0; i < contacts; i++) {
        if (i > 0 && is_same_key(claim[i].key, claim[i - 1].key)) {
            claim[i].run = claim[i - 1].run;
            continue;
        }
        claim[i].run = find_run(last, claim[i].run, claim[i].key);
        for (int k = 0; claim[i].run >= 0 && k < last->run[claim[i].run].count; k++) {
            __builtin_prefetch(&last->entry[claim[i].run + k], 1);
        }
    }
}

// Every force goes to the contact that is nearest now, so that the force of a pair stays the same
// when its contacts come, go and double.
static void find_heirs(table *last, const ode_warm_key *claim, const dJointID *joint, int contacts)
{
    for (int i = 0; i < contacts; i++) {
        walk w = walk_from(claim[i].run);
        for (remembered *e; (e = next_of(last, &w));) {
            double distance = squared_distance(e->position, claim[i].position);
            if (distance < e->nearest) {
                e->nearest = distance;
                e->heir = joint[i];
            }
        }
    }
}

void sprag_ode_warm_start_contacts(ode_warm_start *memory, ode_warm_key *claim,
                                   const dJointID *joint, sprag_contact *contact, int contacts)
{
    find_pairs(&memory->last, claim, contacts);
    find_heirs(&memory->last, claim, joint, contacts);
    for (int i = 0; i < contacts; i++) {
        double force[3] = {0, 0, 0};
        walk w = walk_from(claim[i].run);
        for (const remembered *e; (e = next_of(&memory->last, &w));) {
            add_scaled(force, e->heir == joint[i], e->force, 3);
        }
        for (int k = 0; k < 3; k++) {
            contact[i].guess[k] = claim[i].sign * dot3(contact[i].frame[k], force);
        }
        bool known = claim[i].run >= 0 && w.left >= 0;
        contact[i].guess[0] = known ? fmax(0, contact[i].guess[0]) : -1;
    }
}

// Entry i, of the same run as the one before it if the key is.
static void note(table *now, int i, int *first, const uintptr_t key[3], const remembered *what)
{
    now->entry[i] = *what;
    if (*first >= 0 && is_same_key(now->run[*first].key, key)) {
        now->run[*first].count++;
        return;
    }
    *first = i;
    now->run[i] = (run){.key = {key[0], key[1], key[2]}, .count = 1};
}

static void note_contact(table *now, int i, int *first, const ode_warm_key *claim,
                         const sprag_contact *contact, const double force[6])
{
    remembered e = {.nearest = dInfinity};
    memcpy(e.position, claim->position, sizeof e.position);
    for (int k = 0; k < 3; k++) {
        add_scaled(e.force, claim->sign * force[k], contact->frame[k], 3);
    }
    note(now, i, first, claim->key, &e);
}

static void note_row(table *now, int i, int *first, dJointID joint, int row, double force)
{
    const uintptr_t key[3] = {(uintptr_t)joint, (uintptr_t)row};
    note(now, i, first, key, &(remembered){.force = {force}});
}

double sprag_ode_warm_start_row(const ode_warm_start *memory, dJointID joint, int row)
{
    const uintptr_t key[3] = {(uintptr_t)joint, (uintptr_t)row};
    walk w = walk_from(newest_run(&memory->last, key));
    const remembered *e = next_of(&memory->last, &w);
    return e ? e->force[0] : 0;
}

void sprag_ode_warm_start_store_row(ode_warm_start *memory, dJointID joint, int row, double force)
{
    int i = reserve(memory, 1), first = -1;
    if (i >= 0) {
        note_row(&memory->now, i, &first, joint, row, force);
    }
}

void sprag_ode_warm_start_store(ode_warm_start *memory, const ode_problem *pulled)
{
    const sprag_problem *problem = &pulled->problem;
    int at = reserve(memory, problem->contacts + problem->rows), first = -1;
    for (int i = 0; at >= 0 && i < problem->contacts; i++) {
        note_contact(&memory->now, at++, &first, &pulled->claim[i], &problem->contact[i],
                     pulled->solution.contact_force[i]);
    }
    for (int i = 0, row = 0; at >= 0 && i < problem->rows; i++) {
        bool same = i > 0 && pulled->row_joint[i] == pulled->row_joint[i - 1];
        row = same ? row + 1 : 0;
        note_row(&memory->now, at++, &first, pulled->row_joint[i], row,
                 pulled->solution.row_force[i]);
    }
}

static void index_entries(table *t)
{
    int slots = 64;
    while (slots < t->count) {
        slots *= 2;
    }
    if (slots > t->slots) {
        int *bigger = realloc(t->slot, (size_t)slots * sizeof *bigger);
        if (!bigger) {
            t->count = 0;
            return;
        }
        t->slot = bigger;
        t->slots = slots;
    }
    for (int i = 0; i < t->slots; i++) {
        t->slot[i] = -1;
    }
    for (int i = 0; i < t->count; i += t->run[i].count) {
        int *slot = &t->slot[slot_of(t, t->run[i].key)];
        t->run[i].next = *slot;
        *slot = i;
    }
}

void sprag_ode_warm_start_next_step(ode_warm_start *memory)
{
    table old = memory->last;
    memory->last = memory->now;
    memory->now = old;
    memory->now.count = 0;
    index_entries(&memory->last);
}
