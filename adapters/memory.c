// Forces of the last step, for the next one to start from. Those of contacts are found by the pair
// of geoms (of bodies, if a program makes contacts without geoms) and then by position: ODE makes
// its contact joints anew at every step. Those of rows by the joint and the row's number.
//
// Several threads may recall and remember at once, each other islands: what belongs to two of them
// never has the same key, and the order of entries between islands tells nothing.
#include "adapters/ode.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "solvers/linalg.h"

// Entries that are looked at for one contact. Pairs of more, of meshes mostly, would cost the
// square of their number: they start anew.
enum { NEAREST_OF = 64 };

enum { ROWS_MAX = 6 }; // of a joint

typedef struct remembered {
    uintptr_t key[3]; // two geoms and the lower body, which is in one island only; joint, row, 0
    double position[3];
    double force[3]; // on the first of the pair, world axes; of a row: its own, first
    double nearest;  // squared distance of heir, the contact that takes the force over
    dJointID heir;
    int next; // of the same slot, -1: last
} remembered;

typedef struct table {
    remembered *entry;
    int count, room;
    int *slot; // first entry
    int slots; // power of two, 0: none
} table;

struct ode_memory {
    table last, now;
    bool open;      // to several threads
    atomic_int end; // entries that they have taken so far
};

ode_memory *sprag_ode_memory_make(void)
{
    return calloc(1, sizeof(ode_memory));
}

static void free_table(table *t)
{
    free(t->entry);
    free(t->slot);
}

void sprag_ode_memory_free(ode_memory *memory)
{
    if (memory) {
        free_table(&memory->last);
        free_table(&memory->now);
        free(memory);
    }
}

// Programs name the two geoms of a pair in either order. Returns the sign that turns a force on
// body[0] into one on the first of the pair.
static double key_of_contact(dJointID joint, const sprag_contact *contact, uintptr_t key[3])
{
    const dContactGeom *geom = &sprag_ode_contact_of(joint)->geom;
    uintptr_t body[2] = {(uintptr_t)dJointGetBody(joint, 0), (uintptr_t)dJointGetBody(joint, 1)};
    uintptr_t first = geom->g1 ? (uintptr_t)geom->g1 : body[0];
    uintptr_t second = geom->g2 ? (uintptr_t)geom->g2 : body[1];
    bool swapped = first > second;
    key[0] = swapped ? second : first;
    key[1] = swapped ? first : second;
    key[2] = !body[1] || (body[0] && body[0] < body[1]) ? body[0] : body[1];
    bool reversed = dot3(geom->normal, contact->frame[0]) < 0; // it points into body[0]
    return swapped == reversed ? 1 : -1;
}

static int slot_of(const table *t, const uintptr_t key[3])
{
    uint64_t hash = (key[0] * 0x9e3779b97f4a7c15u) ^ (key[1] * 0xc2b2ae3d27d4eb4fu) ^
                    (key[2] * 0x165667b19e3779f9u);
    return (int)((hash >> 32) & (uint64_t)(t->slots - 1));
}

// The entries of a key, one after the other; NULL: no more, or, with *left < 0, too many. *left:
// NEAREST_OF at first.
static remembered *next_of(const table *last, const uintptr_t key[3], const remembered *e,
                           int *left)
{
    int i = e ? e->next : last->count ? last->slot[slot_of(last, key)] : -1;
    for (; i >= 0; i = last->entry[i].next) {
        remembered *found = &last->entry[i];
        if (!memcmp(found->key, key, sizeof found->key)) {
            return (*left)-- > 0 ? found : NULL;
        }
    }
    return NULL;
}

static bool make_room(table *now, long entries)
{
    long wanted = now->count + entries;
    if (wanted > now->room) {
        long twice = 2L * now->room, room = wanted > twice ? wanted : twice;
        room = room > 64 ? room : 64;
        remembered *bigger =
            room <= INT_MAX ? realloc(now->entry, (size_t)room * sizeof *bigger) : NULL;
        if (!bigger) {
            return false;
        }
        now->entry = bigger;
        now->room = (int)room;
    }
    return true;
}

// So many entries; NULL: no memory, guesses less.
static remembered *remember(ode_memory *memory, int entries)
{
    table *now = &memory->now;
    if (memory->open) {
        int first = atomic_fetch_add_explicit(&memory->end, entries, memory_order_relaxed);
        return &now->entry[first];
    }
    if (!make_room(now, entries)) {
        return NULL;
    }
    now->count += entries;
    return &now->entry[now->count - entries];
}

bool sprag_ode_memory_open(ode_memory *memory, long joints)
{
    memory->open = joints <= INT_MAX / ROWS_MAX && make_room(&memory->now, ROWS_MAX * joints);
    atomic_store_explicit(&memory->end, memory->now.count, memory_order_relaxed);
    return memory->open;
}

void sprag_ode_memory_close(ode_memory *memory)
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

// Every force goes to the contact that is nearest now, so that the force of a pair stays the same
// when its contacts come, go and double.
void sprag_ode_recall_contacts(ode_memory *memory, const dJointID *joint, sprag_contact *contact,
                               int contacts)
{
    table *last = &memory->last;
    uintptr_t key[3];
    for (int i = 0; i < contacts; i++) {
        int left = NEAREST_OF;
        const double *position = sprag_ode_contact_of(joint[i])->geom.pos;
        key_of_contact(joint[i], &contact[i], key);
        for (remembered *e = next_of(last, key, NULL, &left); e; e = next_of(last, key, e, &left)) {
            double distance = squared_distance(e->position, position);
            if (distance < e->nearest) {
                e->nearest = distance;
                e->heir = joint[i];
            }
        }
    }
    for (int i = 0; i < contacts; i++) {
        int left = NEAREST_OF;
        double force[3] = {0, 0, 0};
        bool known = false;
        double sign = key_of_contact(joint[i], &contact[i], key);
        for (remembered *e = next_of(last, key, NULL, &left); e; e = next_of(last, key, e, &left)) {
            add_scaled(force, e->heir == joint[i], e->force, 3);
            known = true;
        }
        for (int k = 0; k < 3; k++) {
            contact[i].guess[k] = sign * dot3(contact[i].frame[k], force);
        }
        bool all = left >= 0;
        contact[i].guess[0] = known && all ? fmax(0, contact[i].guess[0]) : -1;
    }
}

static void note_contact(remembered *e, dJointID joint, const sprag_contact *contact,
                         const double force[6])
{
    double sign = key_of_contact(joint, contact, e->key);
    memcpy(e->position, sprag_ode_contact_of(joint)->geom.pos, sizeof e->position);
    e->nearest = dInfinity;
    e->heir = NULL;
    memset(e->force, 0, sizeof e->force);
    for (int k = 0; k < 3; k++) {
        add_scaled(e->force, sign * force[k], contact->frame[k], 3);
    }
}

static void note_row(remembered *e, dJointID joint, int row, double force)
{
    *e = (remembered){.key = {(uintptr_t)joint, (uintptr_t)row}, .force = {force}};
}

void sprag_ode_remember_contact(ode_memory *memory, dJointID joint, const sprag_contact *contact,
                                const double force[6])
{
    remembered *e = remember(memory, 1);
    if (e) {
        note_contact(e, joint, contact, force);
    }
}

double sprag_ode_recall_row(const ode_memory *memory, dJointID joint, int row)
{
    int left = NEAREST_OF;
    const uintptr_t key[3] = {(uintptr_t)joint, (uintptr_t)row};
    const remembered *e = next_of(&memory->last, key, NULL, &left);
    return e ? e->force[0] : 0;
}

void sprag_ode_remember_row(ode_memory *memory, dJointID joint, int row, double force)
{
    remembered *e = remember(memory, 1);
    if (e) {
        note_row(e, joint, row, force);
    }
}

void sprag_ode_remember(ode_memory *memory, const ode_problem *pulled)
{
    const sprag_problem *problem = &pulled->problem;
    remembered *e = remember(memory, problem->contacts + problem->rows);
    for (int i = 0; e && i < problem->contacts; i++) {
        note_contact(e++, pulled->contact_joint[i], &problem->contact[i],
                     pulled->solution.contact_force[i]);
    }
    for (int i = 0, row = 0; e && i < problem->rows; i++) {
        bool first = i == 0 || pulled->row_joint[i] != pulled->row_joint[i - 1];
        row = first ? 0 : row + 1;
        note_row(e++, pulled->row_joint[i], row, pulled->solution.row_force[i]);
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
    for (int i = 0; i < t->count; i++) {
        int *slot = &t->slot[slot_of(t, t->entry[i].key)];
        t->entry[i].next = *slot;
        *slot = i;
    }
}

void sprag_ode_memory_turn(ode_memory *memory)
{
    table old = memory->last;
    memory->last = memory->now;
    memory->now = old;
    memory->now.count = 0;
    index_entries(&memory->last);
}
