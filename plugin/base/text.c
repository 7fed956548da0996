#define _GNU_SOURCE 1 // uselocale
#include "text.h"

#include <locale.h>
#include <stdarg.h>
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

int text_print(char *to, size_t size, const char *format, ...)
{
    locale_t before = point_begin();
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(to, size, format, arguments);
    va_end(arguments);
    point_end(before);
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
