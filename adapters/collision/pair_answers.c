// A hash table of the program's answers, by the two geoms of a pair in either order.

#include "pair_answers.h"
#include "hash.h"

static int slot_of(const ode_pair_answers *t, dGeomID a, dGeomID b)
{
    uintptr_t low = (uintptr_t)a, high = (uintptr_t)b;
    if (low > high) {
        uintptr_t swap = low;
        low = high;
        high = swap;
    }
    uint64_t hash = sprag_hash(sprag_hash(0, low), high);
    return sprag_hash_slot(hash, t->slots - 1);
}

bool sprag_ode_pair_answers_make(ode_pair_answers *t, int expected, sprag_scratch *scratch)
{
    *t = (ode_pair_answers){.slots = 64, .room = expected + 64, .scratch = scratch};
    while (t->slots < 2 * expected) {
        t->slots *= 2;
    }
    t->slot = SPRAG_TAKE(scratch, t->slots, int);
    t->answer = SPRAG_TAKE_RAW(scratch, t->room, ode_pair_answer);
    return !scratch->failed;
}

ode_pair_answer *sprag_ode_pair_answer_find(const ode_pair_answers *t, dGeomID a, dGeomID b)
{
    for (int i = t->slot[slot_of(t, a, b)]; i > 0; i = t->answer[i - 1].next) {
        ode_pair_answer *answer = &t->answer[i - 1];
        if ((answer->geom[0] == a && answer->geom[1] == b) ||
            (answer->geom[0] == b && answer->geom[1] == a)) {
            return answer;
        }
    }
    return NULL;
}

ode_pair_answer *sprag_ode_pair_answer_add(ode_pair_answers *t, dGeomID a, dGeomID b)
{
    ode_pair_answer *known = sprag_ode_pair_answer_find(t, a, b);
    if (known) {
        return known;
    }
    ode_pair_answer *all =
        sprag_scratch_widen(t->scratch, t->answer, t->count, &t->room, t->room, sizeof *all);
    if (!all) {
        return NULL;
    }
    t->answer = all;
    int *slot = &t->slot[slot_of(t, a, b)];
    ode_pair_answer *answer = &t->answer[t->count++];
    *answer = (ode_pair_answer){.geom = {a, b}, .next = *slot};
    *slot = t->count;
    return answer;
}
