#include "held_memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "ode.h"
#include "trial_memory.h"

// Bytes of each block: objects of ODE, and the arena of the islands, which takes 64 kB, or 32 bytes
// for each body and joint. More: first steps of larger worlds do not crash without memory; each
// first step takes longer.
static const dsizeint sizes[] = {256, 256, 256, 256, 1 << 20};
enum { BLOCKS = sizeof sizes / sizeof *sizes };

static struct {
    pthread_t thread;
    void *block[BLOCKS];             // NULL: taken
    _Atomic(dAllocFunction *) alloc; // sprag's (trial_memory.h); NULL: the C library's
} held;

static void *take(dsizeint size)
{
    dAllocFunction *alloc = held.alloc;
    void *taken = alloc ? alloc(size) : malloc(size);
    for (int i = 0; i < BLOCKS && !taken && pthread_equal(pthread_self(), held.thread); i++) {
        if (held.block[i] && size <= sizes[i]) {
            taken = held.block[i];
            held.block[i] = NULL;
        }
    }
    return taken;
}

static void give_back(void)
{
    for (int i = 0; i < BLOCKS; i++) {
        if (held.block[i]) {
            dFree(held.block[i], sizes[i]);
            held.block[i] = NULL;
        }
    }
    sprag_ode_lock_default(false);
}

bool sprag_ode_hold_memory(void)
{
    sprag_ode_lock_default(true);
    if (sprag_ode_program_allocates()) {
        return true;
    }
    for (int i = 0; i < BLOCKS; i++) {
        held.block[i] = dAlloc(sizes[i]);
        if (!held.block[i]) {
            give_back();
            return false;
        }
    }
    held.thread = pthread_self();
    held.alloc = dGetAllocHandler();
    dSetAllocHandler(take);
    return true;
}

void sprag_ode_release_memory(void)
{
    if (dGetAllocHandler() == take) {
        dSetAllocHandler(held.alloc);
    }
    give_back();
}
