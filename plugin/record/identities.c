#include "identities.h"

#include <stdlib.h>

#include "hash.h"

enum { FIRST_SLOTS = 256 };

static identity *slot_of(const identities *of, const void *object)
{
    int i = sprag_ode_hash_slot(sprag_ode_hash(0, (uintptr_t)object), of->mask);
    while (of->slot[i].object && of->slot[i].object != object) {
        i = (i + 1) & of->mask;
    }
    return &of->slot[i];
}

// Half of the slots stay free, so that searches are short.
static bool reserve_one(identities *of)
{
    int slots = of->slot ? of->mask + 1 : 0;
    if (2 * of->count < slots) {
        return true;
    }
    identities wider = *of;
    wider.mask = (slots ? 2 * slots : FIRST_SLOTS) - 1;
    wider.slot = calloc((size_t)wider.mask + 1, sizeof *wider.slot);
    if (!wider.slot) {
        return false;
    }
    for (int i = 0; i < slots; i++) {
        if (of->slot[i].object) {
            *slot_of(&wider, of->slot[i].object) = of->slot[i];
        }
    }
    free(of->slot);
    *of = wider;
    return true;
}

identity *identities_find(const identities *of, const void *object)
{
    identity *found = of->slot && object ? slot_of(of, object) : NULL;
    return found && found->object ? found : NULL;
}

identity *identities_see(identities *of, const void *object, uint32_t world, int64_t step,
                         bool *is_new)
{
    if (!reserve_one(of)) {
        return NULL;
    }
    identity *i = slot_of(of, object);
    *is_new = !i->object || i->world != world || (of->gap && i->seen + of->gap < step);
    if (*is_new) {
        of->count += !i->object;
        *i = (identity){.object = object, .id = of->next++, .world = world};
    }
    i->seen = step;
    return i;
}

void identities_clear(identities *of)
{
    free(of->slot);
    *of = (identities){.gap = of->gap};
}
