#include "identities.h"

#include <stdlib.h>

#include "hash.h"

enum { FIRST_ROOM = 128 };

static const int64_t NEVER = -1; // steps count from 1

static int *slot_of(const identities *of, const void *object)
{
    int i = sprag_ode_hash_slot(sprag_ode_hash(0, (uintptr_t)object), of->mask);
    while (of->slot[i] && of->item[of->slot[i] - 1].object != object) {
        i = (i + 1) & of->mask;
    }
    return &of->slot[i];
}

// Half of the slots stay free, so that searches are short.
static bool reserve_one(identities *of)
{
    if (of->count < of->room) {
        return true;
    }
    int room = of->room ? 2 * of->room : FIRST_ROOM;
    identity *item = realloc(of->item, (size_t)room * sizeof *item);
    of->item = item ? item : of->item;
    int *slot = item ? calloc(2 * (size_t)room, sizeof *slot) : NULL;
    if (!slot) {
        return false;
    }
    free(of->slot);
    of->slot = slot;
    of->room = room;
    of->mask = 2 * room - 1;
    for (int i = 0; i < of->count; i++) {
        *slot_of(of, item[i].object) = i + 1;
    }
    return true;
}

identity *identities_find(const identities *of, const void *object)
{
    int place = of->slot && object ? *slot_of(of, object) : 0;
    return place ? &of->item[place - 1] : NULL;
}

// NULL: no memory.
static identity *find_or_add(identities *of, const void *object)
{
    identity *found = identities_find(of, object);
    if (!found && reserve_one(of)) {
        found = &of->item[of->count++];
        *found = (identity){.object = object, .seen = NEVER};
        *slot_of(of, object) = of->count;
    }
    return found;
}

identity *identities_see(identities *of, const void *object, uint32_t world, int64_t step,
                         bool *is_new)
{
    bool follows = of->after < of->count && of->item[of->after].object == object;
    identity *i = follows ? &of->item[of->after] : find_or_add(of, object);
    if (!i) {
        return NULL;
    }
    *is_new = i->seen == NEVER || i->world != world || (of->gap && i->seen + of->gap < step);
    if (*is_new) {
        *i = (identity){.object = object, .id = of->next++, .world = world};
    }
    i->seen = step;
    of->after = (int)(i - of->item) + 1 == of->count ? 0 : (int)(i - of->item) + 1;
    return i;
}

void identities_clear(identities *of)
{
    free(of->item);
    free(of->slot);
    *of = (identities){.gap = of->gap};
}
