// Arrays on the heap that grow by one entry at a time.
#ifndef SPRAG_ARRAY_H
#define SPRAG_ARRAY_H

#include <stdlib.h>

// `array` with room for one more entry than the `count` in use. *room: entries; it doubles, from
// 64 on. NULL: no memory, and the array is as before.
static inline void *array_widen(void *array, int count, int *room, size_t size)
{
    if (count < *room) {
        return array;
    }
    int wider = *room ? 2 * *room : 64;
    void *all = realloc(array, (size_t)wider * size);
    *room = all ? wider : *room;
    return all;
}

#endif
