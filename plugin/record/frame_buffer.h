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
    size_t table; // where the head of the open table is
    bool failed;  // no memory; the last frame is worthless
} frame_buffer;

void frame_buffer_begin(frame_buffer *b); // a frame behind those that are there

// Opens a table. A table without entries is left out.
void frame_buffer_table(frame_buffer *b, const char *tag, size_t entry);

// Room for `count` further entries of the open table, to be filled in by the caller. Valid until
// the next call. NULL: no memory.
void *frame_buffer_add(frame_buffer *b, size_t count);

// false: no memory for some entry. The frame is gone then.
bool frame_buffer_end(frame_buffer *b);

// Size of the frames, from the first one, that are whole within so many bytes.
size_t frame_buffer_whole(const frame_buffer *b, size_t bytes);

void frame_buffer_empty(frame_buffer *b); // forgets all frames

#endif
