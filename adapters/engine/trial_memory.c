#include "trial_memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 1 << 17 }; // bytes; the checks take half of it

// Other threads of the program may take memory from ODE while a check runs.
static struct {
    _Alignas(64) char byte[ROOM];
    atomic_size_t used;
    atomic_bool is_kept; // ODE keeps some of it
    atomic_bool runs;    // a check, in `thread`
    pthread_t thread;
    _Atomic(dAllocFunction *) alloc; // of the program; NULL: the C library's
    _Atomic(dReallocFunction *) realloc;
    _Atomic(dFreeFunction *) free;
} trial;

void *sprag_ode_trial_take(dsizeint size)
{
    size_t at = trial.used;
    size_t more = (size + 63) / 64 * 64;
    if (size > ROOM || more > ROOM - at) {
        return NULL; // more than the checks need
    }
    trial.used += more;
    return trial.byte + at;
}

void *sprag_ode_trial_retake(void *old, dsizeint old_size, dsizeint size)
{
    void *wider = sprag_ode_trial_take(size);
    return wider ? memcpy(wider, old, old_size < size ? old_size : size) : NULL;
}

void sprag_ode_trial_give(void *block, dsizeint size)
{
    (void)block;
    (void)size;
}

bool sprag_ode_in_trial(const void *pointer, size_t size)
{
    uintptr_t at = (uintptr_t)pointer, start = (uintptr_t)trial.byte;
    return at >= start && at <= start + trial.used && size <= start + trial.used - at;
}

// ---- while a check runs

static void *take(dsizeint size)
{
    dAllocFunction *alloc = trial.alloc;
    void *taken = alloc ? alloc(size) : malloc(size);
    if (!taken && trial.runs && pthread_equal(pthread_self(), trial.thread)) {
        taken = sprag_ode_trial_take(size);
        trial.is_kept = true;
    }
    return taken;
}

static void *retake(void *old, dsizeint old_size, dsizeint size)
{
    if (sprag_ode_in_trial(old, 1)) {
        return sprag_ode_trial_retake(old, old_size, size);
    }
    dReallocFunction *other = trial.realloc;
    return other ? other(old, old_size, size) : realloc(old, size);
}

static void give(void *block, dsizeint size)
{
    if (sprag_ode_in_trial(block, 1)) {
        return;
    }
    dFreeFunction *other = trial.free;
    if (other) {
        other(block, size);
    } else {
        free(block);
    }
}

void sprag_ode_begin_trial(void)
{
    trial.thread = pthread_self();
    trial.runs = true;
    if (!trial.is_kept) {
        trial.used = 0;
        trial.alloc = dGetAllocHandler();
        trial.realloc = dGetReallocHandler();
        trial.free = dGetFreeHandler();
        dSetFreeHandler(give);
        dSetReallocHandler(retake);
        dSetAllocHandler(take);
    }
}

bool sprag_ode_program_allocates(void)
{
    dAllocFunction *alloc = dGetAllocHandler();
    return alloc == take ? trial.alloc != NULL : alloc != NULL;
}

// ODE's own threads keep their job records. Where these are static, `give` must stay.
void sprag_ode_end_trial(void)
{
    trial.runs = false;
    if (!trial.is_kept) {
        dSetAllocHandler(trial.alloc);
        dSetReallocHandler(trial.realloc);
        dSetFreeHandler(trial.free);
    }
}
