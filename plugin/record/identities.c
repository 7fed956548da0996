#include "identities.h"

#include <stdlib.h>

// SLOTS: of the table for each object. Fewer: searches meet other objects more often, and each is a
// branch that is not predicted.
enum { FIRST_ROOM = 128, SLOTS = 8 };

static const int64_t NEVER = -1; // steps count from 1

const identity identities_none = {.id = IDENTITY_NONE, .geom = IDENTITY_NONE};

static bool reserve_one(identities *of)
{
    if (of->count < of->room) {
        return true;
    }
    int room = of->room ? 2 * of->room : FIRST_ROOM;
    identity *item = realloc(of->item, (size_t)room * sizeof *item);
    of->item = item ? item : of->item;
    int *slot = item ? calloc(SLOTS * (size_t)room, sizeof *slot) : NULL;
    if (!slot) {
        return false;
    }
    free(of->slot);
    of->slot = slot;
    of->room = room;
    of->mask = SLOTS * room - 1;
    for (int i = 1; i < of->count; i++) {
        *identities_slot(of, item[i].object) = i;
    }
    item[0] = identities_none;
    of->count = of->count ? of->count : 1;
    return true;
}

// NULL: no memory.
static identity *find_or_add(identities *of, const void *object)
{
    int place = of->slot ? *identities_slot(of, object) : 0;
    if (!place && reserve_one(of)) {
        place = of->count++;
        of->item[place] = (identity){.object = object, .seen = NEVER};
        *identities_slot(of, object) = place;
    }
    return place ? &of->item[place] : NULL;
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
    int next = (int)(i - of->item) + 1;
    of->after = next < of->count ? next : 1;
    return i;
}

void identities_clear(identities *of)
{
    free(of->item);
    free(of->slot);
    *of = (identities){.gap = of->gap};
}
