#include "frame_buffer.h"

enum { ALIGNMENT = 8 };

bool frame_buffer_grow(frame_buffer *b, size_t size)
{
    size_t room = 2 * (b->size + size);
    char *data = realloc(b->data, room);
    if (!data) {
        b->failed = true;
        return false;
    }
    b->data = data;
    b->room = room;
    return true;
}

static void *take(frame_buffer *b, size_t size)
{
    if (b->size + size > b->room && !frame_buffer_grow(b, size)) {
        return NULL;
    }
    void *at = b->data + b->size;
    b->size += size;
    return at;
}

static sprag_recorded_head *head_at(const frame_buffer *b, size_t at)
{
    return (sprag_recorded_head *)(void *)(b->data + at);
}

static void add_head(frame_buffer *b, const char *tag, size_t entry)
{
    sprag_recorded_head *head = take(b, sizeof *head);
    if (head) {
        *head = (sprag_recorded_head){.entry = (uint32_t)entry};
        memcpy(head->tag, tag, sizeof head->tag);
    }
}

static void close_table(frame_buffer *b)
{
    size_t odd = b->size % ALIGNMENT, begun = b->table + sizeof(sprag_recorded_head);
    if (!b->failed && b->table && b->size == begun) {
        b->size = b->table;
    } else if (!b->failed && b->table) {
        head_at(b, b->table)->count = (b->size - begun) / b->entry;
        char *padding = odd ? take(b, ALIGNMENT - odd) : NULL;
        if (padding) {
            memset(padding, 0, ALIGNMENT - odd);
        }
    }
    b->table = 0;
}

void frame_buffer_begin(frame_buffer *b)
{
    b->frame = b->size;
    b->table = 0;
    b->failed = false;
    add_head(b, "FRAM", 0);
}

void frame_buffer_table(frame_buffer *b, const char *tag, size_t entry)
{
    close_table(b);
    size_t at = b->size;
    add_head(b, tag, entry);
    b->table = b->failed ? 0 : at;
    b->entry = entry;
}

bool frame_buffer_end(frame_buffer *b)
{
    close_table(b);
    if (b->failed) {
        b->size = b->frame;
    } else {
        head_at(b, b->frame)->count = b->size - b->frame - sizeof(sprag_recorded_head);
    }
    return !b->failed;
}

size_t frame_buffer_whole(const frame_buffer *b, size_t bytes)
{
    size_t whole = 0, next = 0;
    while (next <= bytes && next < b->size) {
        whole = next;
        next += sizeof(sprag_recorded_head) + head_at(b, next)->count;
    }
    return next <= bytes ? next : whole;
}

void frame_buffer_empty(frame_buffer *b)
{
    b->size = b->frame = b->table = 0;
}
