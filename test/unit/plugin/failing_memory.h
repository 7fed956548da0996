// Allocations of a test's own objects that fail while `counting`. Its target needs
// -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc: libraries keep their malloc.
#ifndef TEST_FAILING_MEMORY_H
#define TEST_FAILING_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

static bool counting, from_there_on;
static long allocation, failing; // number of the last one; of the first that fails

static inline bool fails(void)
{
    allocation += counting;
    return counting && (from_there_on ? allocation >= failing : allocation == failing);
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails() ? NULL : __real_realloc(old, size);
}

#endif
