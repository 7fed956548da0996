// Contact forces of the last step, found by the pair of geoms (of bodies, if a program makes
// contacts without geoms) and then by position: ODE makes its contact joints anew at every step.
#include "adapters/ode.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// Contacts of one pair that are looked at: all, but for pairs of meshes, whose thousands would cost
// their square.
enum { NEAREST_OF = 32 };

typedef struct remembered {
    uintptr_t pair[2];
    double position[3];
    double force;
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

static void pair_of(dJointID joint, uintptr_t pair[2])
{
    const dContactGeom *geom = &sprag_ode_contact_of(joint)->geom;
    pair[0] = geom->g1 ? (uintptr_t)geom->g1 : (uintptr_t)dJointGetBody(joint, 0);
    pair[1] = geom->g2 ? (uintptr_t)geom->g2 : (uintptr_t)dJointGetBody(joint, 1);
}

static int slot_of(const table *t, const uintptr_t pair[2])
{
    uint64_t hash = (pair[0] * 0x9e3779b97f4a7c15u) ^ (pair[1] * 0xc2b2ae3d27d4eb4fu);
    return (int)((hash >> 32) & (uint64_t)(t->slots - 1));
}

double sprag_ode_remembered_force(const ode_memory *memory, dJointID joint)
{
    const table *last = &memory->last;
    uintptr_t pair[2];
    pair_of(joint, pair);
    const dReal *position = sprag_ode_contact_of(joint)->geom.pos;
    double force = -1, nearest = dInfinity;
    if (!last->count) {
        return force;
    }
    int left = NEAREST_OF;
    for (int i = last->slot[slot_of(last, pair)]; i >= 0 && left > 0; i = last->entry[i].next) {
        const remembered *e = &last->entry[i];
        if (e->pair[0] == pair[0] && e->pair[1] == pair[1]) {
            double distance = 0;
            left--;
            for (int k = 0; k < 3; k++) {
                double d = e->position[k] - position[k];
                distance += d * d;
            }
            if (distance < nearest) {
                nearest = distance;
                force = e->force;
            }
        }
    }
    return force;
}

void sprag_ode_remember_force(ode_memory *memory, dJointID joint, double force)
{
    table *now = &memory->now;
    if (now->count == now->room) {
        int room = now->room ? 2 * now->room : 64;
        remembered *bigger = realloc(now->entry, (size_t)room * sizeof *bigger);
        if (!bigger) {
            return; // a guess less
        }
        now->entry = bigger;
        now->room = room;
    }
    remembered *e = &now->entry[now->count++];
    pair_of(joint, e->pair);
    memcpy(e->position, sprag_ode_contact_of(joint)->geom.pos, sizeof e->position);
    e->force = force;
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
        int *slot = &t->slot[slot_of(t, t->entry[i].pair)];
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
