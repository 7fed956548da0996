// Numbers as text, with a decimal point in every locale that the program may have chosen.
#ifndef SPRAG_TEXT_H
#define SPRAG_TEXT_H

#include <stdbool.h>
#include <stddef.h>

// snprintf with a decimal point.
int text_print(char *to, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// A decimal number without blanks: nan, inf and hexadecimal numbers are refused. false: refused.
bool text_read_real(const char *text, double *value);

// Likewise a whole number. One that no long can hold is read as the nearest long.
bool text_read_integer(const char *text, double *value);

#endif
