// Memory for the checks at start-up, of sprag itself where the system or the program has none, and
// what is held for the first step.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "held_memory.h"
#include "start.h"
#include "suite.h"
#include "trial_memory.h"

enum { ROOM = 1 << 17, LINE = 64 };

static int calls;     // of the program's allocator
static bool is_empty; // it gives nothing

static void *take(dsizeint size)
{
    calls++;
    return is_empty ? NULL : malloc(size);
}

static void *retake(void *old, dsizeint old_size, dsizeint size)
{
    (void)old_size;
    calls++;
    return realloc(old, size);
}

static void give(void *block, dsizeint size)
{
    (void)size;
    calls++;
    free(block);
}

// Blocks are lines of the cache that follow one another, until there are no more.
START_TEST(static_memory_is_taken_in_lines)
{
    char *first = sprag_ode_trial_take(1), *next = sprag_ode_trial_take(65);
    ck_assert((uintptr_t)first % LINE == 0 && next == first + LINE);
    ck_assert_ptr_eq(sprag_ode_trial_take(LINE), next + 2 * LINE);
    ck_assert_ptr_eq(sprag_ode_trial_take(1), next + 3 * LINE);
    ck_assert(sprag_ode_in_trial(first, 5 * LINE) && !sprag_ode_in_trial(first, 5 * LINE + 1));
    ck_assert(sprag_ode_in_trial(first + 5 * LINE, 0) && !sprag_ode_in_trial(first + 5 * LINE, 1));
    ck_assert(!sprag_ode_in_trial(first + 5 * LINE + 1, 0) && !sprag_ode_in_trial(first - 1, 1));
    memcpy(next, "twelve bytes", 12);
    char *wider = sprag_ode_trial_retake(next, 12, 200);
    ck_assert(wider == first + 5 * LINE && !memcmp(wider, "twelve bytes", 12));
    char *narrower = sprag_ode_trial_retake(wider, 200, 6);
    ck_assert(!memcmp(narrower, "twelve", 6) && narrower[6] == 0);
    sprag_ode_trial_give(narrower, 6); // is not taken again
    ck_assert_ptr_null(sprag_ode_trial_take(ROOM + 1));
    ck_assert_ptr_null(sprag_ode_trial_take((dsizeint)-1));
    int left = ROOM / LINE - 5 - 4 - 1;
    ck_assert_ptr_null(sprag_ode_trial_take((dsizeint)(left * LINE + 1)));
    ck_assert_ptr_nonnull(sprag_ode_trial_take((dsizeint)(left * LINE)));
    ck_assert_ptr_null(sprag_ode_trial_take(1));
    ck_assert_ptr_null(sprag_ode_trial_retake(first, 1, 1));
}
END_TEST

// Between the two calls ODE's memory is the program's, while it has some.
START_TEST(the_program_goes_on_allocating)
{
    dSetAllocHandler(take);
    dSetReallocHandler(retake);
    dSetFreeHandler(give);
    ck_assert(sprag_ode_program_allocates());
    sprag_ode_begin_trial();
    ck_assert(sprag_ode_program_allocates());
    void *block = dRealloc(dAlloc(100), 100, 300);
    ck_assert(block && !sprag_ode_in_trial(block, 1));
    dFree(block, 300);
    ck_assert_int_eq(calls, 3);
    sprag_ode_end_trial();
    ck_assert(dGetAllocHandler() == take && dGetReallocHandler() == retake);
    ck_assert(dGetFreeHandler() == give);
}
END_TEST

// Where it has none, static memory serves, which nobody gives back: ODE may keep it.
START_TEST(static_memory_serves_without_another)
{
    dSetAllocHandler(take);
    dSetReallocHandler(retake);
    dSetFreeHandler(give);
    is_empty = true;
    sprag_ode_begin_trial();
    void *block = dAlloc(100), *wider = dRealloc(block, 100, 300);
    ck_assert(sprag_ode_in_trial(block, 100) && sprag_ode_in_trial(wider, 300));
    dFree(wider, 300);
    ck_assert_int_eq(calls, 1);
    sprag_ode_end_trial();
    ck_assert(dGetFreeHandler() != give && sprag_ode_program_allocates());
    dFree(block, 100);
    ck_assert_int_eq(calls, 1);
    ck_assert_ptr_null(dAlloc(100)); // no check runs
    ck_assert_int_eq(calls, 2);
    sprag_ode_begin_trial();
    ck_assert(sprag_ode_in_trial(dAlloc(1), 1));
    sprag_ode_end_trial();
    is_empty = false;
    block = dAlloc(10);
    ck_assert(block && !sprag_ode_in_trial(block, 1));
    dFree(block, 10);
    ck_assert_int_eq(calls, 5);
}
END_TEST

START_TEST(memory_is_held_and_released)
{
    static const size_t large = 1 << 20;
    ck_assert(!sprag_ode_program_allocates());
    start_ode();
    dAllocFunction *before = dGetAllocHandler();
    ck_assert(sprag_ode_hold_memory());
    ck_assert(dGetAllocHandler() != before);
    void *block = dAlloc(large);
    ck_assert_ptr_nonnull(block);
    dFree(block, large);
    sprag_ode_release_memory();
    ck_assert(dGetAllocHandler() == before);
    ck_assert(sprag_ode_hold_memory() && dGetAllocHandler() != before);
    sprag_ode_release_memory();
    dSetAllocHandler(take);
    ck_assert(sprag_ode_hold_memory() && dGetAllocHandler() == take); // the program's is left alone
    sprag_ode_release_memory();
    ck_assert(dGetAllocHandler() == take);
    dSetAllocHandler(NULL);
    dCloseODE();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("trial memory");
    ADD_TESTS(suite, "all", {static_memory_is_taken_in_lines, 1},
              {the_program_goes_on_allocating, 1}, {static_memory_serves_without_another, 1},
              {memory_is_held_and_released, 1});
    return run_suite_as(suite, CK_FORK);
}
