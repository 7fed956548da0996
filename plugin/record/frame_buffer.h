// A frame of a recording while it is put together: tables of fixed-size entries.
#ifndef SPRAG_FRAME_BUFFER_H
#define SPRAG_FRAME_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

#include "sprag_recording.h"

typedef struct frame_buffer {
    char *data; // only grows
    size_t size, room;
    size_t table; // where the head of the open table is
    bool failed;  // no memory; the frame is worthless
} frame_buffer;

void frame_buffer_begin(frame_buffer *b);

// Opens a table. A table without entries is left out.
void frame_buffer_table(frame_buffer *b, const char *tag, size_t entry);

// Room for `count` further entries of the open table, to be filled in by the caller. Valid until
// the next call. NULL: no memory.
void *frame_buffer_add(frame_buffer *b, size_t count);

// false: no memory for some entry.
bool frame_buffer_end(frame_buffer *b);

#endif
