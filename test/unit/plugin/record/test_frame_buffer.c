// Frames in memory, and the numbers that objects of ODE have in a recording.
#include <stdlib.h>

#include "frame_buffer.h"
#include "identities.h"
#include "suite.h"

static const sprag_recorded_head *head_at(const frame_buffer *b, size_t at)
{
    return (const void *)(b->data + at);
}

static void add_frame(frame_buffer *b, size_t entries)
{
    frame_buffer_begin(b);
    frame_buffer_table(b, "NONE", 4);
    frame_buffer_table(b, "ODD ", 3);
    char *entry = frame_buffer_add(b, entries);
    ck_assert(!entries || entry);
    for (size_t i = 0; i < 3 * entries; i++) {
        entry[i] = (char)(i + 1);
    }
    frame_buffer_table(b, "LONG", 8);
    *(double *)frame_buffer_add(b, 1) = 0.5;
    ck_assert(frame_buffer_end(b));
    ck_assert_ptr_null(frame_buffer_add(b, 1)); // no table is open
}

// Tables without entries are left out; others begin at multiples of eight bytes.
START_TEST(frames_hold_tables)
{
    frame_buffer b = {0};
    size_t at = 0;
    for (size_t entries = 0; entries < 200; entries++) {
        size_t odd = entries ? 16 + (3 * entries + 7) / 8 * 8 : 0, size = odd + 16 + 8;
        add_frame(&b, entries);
        ck_assert_uint_eq(b.size, at + 16 + size);
        ck_assert(!memcmp(head_at(&b, at)->tag, "FRAM", 4) && head_at(&b, at)->entry == 0);
        ck_assert_uint_eq(head_at(&b, at)->count, size);
        at += 16;
        if (entries) {
            ck_assert(!memcmp(head_at(&b, at)->tag, "ODD ", 4) && head_at(&b, at)->entry == 3);
            ck_assert_uint_eq(head_at(&b, at)->count, entries);
            for (size_t i = 0; i < odd - 16; i++) {
                ck_assert(b.data[at + 16 + i] == (i < 3 * entries ? (char)(i + 1) : 0));
            }
        }
        at += odd;
        ck_assert(!memcmp(head_at(&b, at)->tag, "LONG", 4) && head_at(&b, at)->count == 1);
        ck_assert(*(const double *)(const void *)(b.data + at + 16) == 0.5);
        at += 16 + 8;
    }
    frame_buffer_empty(&b);
    ck_assert_uint_eq(b.size, 0);
    free(b.data);
}
END_TEST

// The bytes of whole frames among so many.
START_TEST(whole_frames_are_counted)
{
    frame_buffer b = {0};
    size_t end[4] = {0};
    for (size_t i = 0; i < 3; i++) {
        add_frame(&b, i);
        end[i + 1] = b.size;
    }
    for (size_t bytes = 0; bytes < b.size + 9; bytes++) {
        size_t whole = 0;
        for (int i = 1; i <= 3; i++) {
            whole = end[i] <= bytes ? end[i] : whole;
        }
        ck_assert_uint_eq(frame_buffer_whole(&b, bytes), whole);
    }
    b.failed = true; // the last frame goes
    ck_assert(!frame_buffer_end(&b));
    ck_assert_uint_eq(b.size, end[2]);
    free(b.data);
}
END_TEST

// Objects keep their number from step to step, in any order and world; those of a table with a gap
// lose it when a step is without them.
START_TEST(objects_keep_their_numbers)
{
    enum { OBJECTS = 300 };
    static char object[OBJECTS];
    identities all = {.gap = _i};
    bool is_new;
    ck_assert_uint_eq(identities_find(&all, object)->id, IDENTITY_NONE);
    for (int64_t step = 1; step < 5; step++) {
        for (int i = 0; i < OBJECTS; i++) {
            int k = step % 2 ? i : (i * 7) % OBJECTS;
            const identity *seen = identities_see(&all, &object[k], 3, step, &is_new);
            ck_assert(seen && is_new == (step == 1));
            ck_assert_uint_eq(seen->id, (uint32_t)k);
            ck_assert(seen->world == 3 && seen->seen == step && seen->object == &object[k]);
            ck_assert_ptr_eq(identities_find(&all, &object[k]), seen);
        }
    }
    const identity *seen = identities_see(&all, object, 3, 6, &is_new); // not in step 5
    ck_assert_uint_eq(seen->id, _i == 1 ? OBJECTS : 0);
    ck_assert(is_new == (_i == 1));
    seen = identities_see(&all, object + 1, 3, 7, &is_new); // in neither of two steps
    ck_assert(is_new == (_i > 0));
    ck_assert_uint_eq(seen->id, _i ? OBJECTS + (unsigned)(_i == 1) : 1);
    seen = identities_see(&all, object + 2, 4, 5, &is_new); // of another world
    ck_assert(is_new && seen->world == 4);
    ck_assert_uint_eq(seen->id, OBJECTS + (unsigned)(_i == 1 ? 2 : _i / 2));
    identities_clear(&all);
    ck_assert(all.gap == _i && all.count == 0);
    ck_assert_uint_eq(identities_see(&all, object + 2, 4, 9, &is_new)->id, 0);
    identities_clear(&all);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("frame buffer");
    ADD_TESTS(suite, "all", {frames_hold_tables, 1}, {whole_frames_are_counted, 1},
              {objects_keep_their_numbers, 3});
    return run_suite(suite);
}
