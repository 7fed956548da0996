#define _GNU_SOURCE 1 // uselocale
#include "text.h"

#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static locale_t point_begin(void)
{
    locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    return plain ? uselocale(plain) : (locale_t)0;
}

static void point_end(locale_t before)
{
    if (before) {
        freelocale(uselocale(before));
    }
}

int text_print_list(char *to, size_t size, const char *format, va_list arguments)
{
    locale_t before = point_begin();
    int length = vsnprintf(to, size, format, arguments);
    point_end(before);
    return length;
}

int text_print(char *to, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = text_print_list(to, size, format, arguments);
    va_end(arguments);
    return length;
}

bool text_read_real(const char *text, double *value)
{
    if (!*text || text[strspn(text, "0123456789+-.eE")]) {
        return false;
    }
    char *end;
    locale_t before = point_begin();
    *value = strtod(text, &end);
    point_end(before);
    return end != text && !*end;
}

bool text_read_integer(const char *text, double *value)
{
    if (!*text || text[strspn(text, "0123456789+-")]) {
        return false;
    }
    char *end;
    *value = (double)strtol(text, &end, 10);
    return end != text && !*end;
}

int text_sequence(const unsigned char *at)
{
    int length = at[0] < 0x80                     ? 1
                 : at[0] >= 0xc2 && at[0] < 0xe0  ? 2
                 : at[0] >= 0xe0 && at[0] < 0xf0  ? 3
                 : at[0] >= 0xf0 && at[0] <= 0xf4 ? 4
                                                  : 0;
    for (int i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    bool surrogate = at[0] == 0xed && at[1] >= 0xa0, too_long = at[0] == 0xe0 && at[1] < 0xa0;
    bool outside = (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] >= 0x90);
    return surrogate || too_long || outside ? 0 : length;
}

int text_edits_most(size_t length)
{
    return 1 + (int)(length < 30 ? length : 30) / 4;
}

int text_edits(const char *a, size_t a_length, const char *b)
{
    const size_t b_length = strlen(b);
    int row[3][TEXT_WORD_MAX + 1]; // i - 2, i - 1, i, in turn
    if (a_length > TEXT_WORD_MAX || b_length > TEXT_WORD_MAX) {
        return INT_MAX;
    }
    for (size_t j = 0; j <= b_length; j++) {
        row[0][j] = (int)j;
    }
    for (size_t i = 1; i <= a_length; i++) {
        int *now = row[i % 3];
        const int *last = row[(i + 2) % 3];
        now[0] = (int)i;
        for (size_t j = 1; j <= b_length; j++) {
            int best = last[j - 1] + (a[i - 1] != b[j - 1]);
            best = last[j] + 1 < best ? last[j] + 1 : best;
            best = now[j - 1] + 1 < best ? now[j - 1] + 1 : best;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                int swapped = row[(i + 1) % 3][j - 2] + 1;
                best = swapped < best ? swapped : best;
            }
            now[j] = best;
        }
    }
    return row[a_length % 3][b_length];
}
