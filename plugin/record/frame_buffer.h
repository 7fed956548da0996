// Frames of a recording: tables of fixed-size entries, put together one after the other.
#ifndef SPRAG_FRAME_BUFFER_H
#define SPRAG_FRAME_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

#include "sprag_recording.h"

typedef struct frame_buffer {
    char *data; // only grows
    size_t size, room;
    size_t frame; // where the last frame begins
    size_t table; // where the head of the open table is; 0: none is open
    size_t entry; // bytes of one of its entries
    bool failed;  // no memory; the last frame is worthless
} frame_buffer;

void frame_buffer_begin(frame_buffer *b); // a frame behind those that are there

// Opens a table. A table without entries is left out.
void frame_buffer_table(frame_buffer *b, const char *tag, size_t entry);

// false: no memory.
bool frame_buffer_grow(frame_buffer *b, size_t size);

// Room for `count` further entries of the open table, to be filled in by the caller. Valid until
// the next call. NULL: no memory.
static inline void *frame_buffer_add(frame_buffer *b, size_t count)
{
    size_t size = count * b->entry;
    if (!b->table || (b->size + size > b->room && !frame_buffer_grow(b, size))) {
        return NULL;
    }
    b->size += size;
    return b->data + b->size - size;
}

static inline void to_floats(float to[3], const double from[3])
{
    for (int k = 0; k < 3; k++) {
        to[k] = (float)from[k];
    }
}

// false: no memory for some entry. The frame is gone then.
bool frame_buffer_end(frame_buffer *b);

// Size of the frames, from the first one, that are whole within so many bytes.
size_t frame_buffer_whole(const frame_buffer *b, size_t bytes);

void frame_buffer_empty(frame_buffer *b); // forgets all frames

#endif
