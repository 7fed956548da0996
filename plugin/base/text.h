// Text: numbers with a decimal point in every locale that the program may have chosen, and UTF-8.
#ifndef SPRAG_TEXT_H
#define SPRAG_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

// snprintf with a decimal point.
int text_print(char *to, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int text_print_list(char *to, size_t size, const char *format, va_list arguments);

// A decimal number without blanks: nan, inf and hexadecimal numbers are refused. false: refused.
bool text_read_real(const char *text, double *value);

// Likewise a whole number. One that no long can hold is read as the nearest long.
bool text_read_integer(const char *text, double *value);

// Bytes of the UTF-8 sequence at `at`; 0: it is none.
int text_sequence(const unsigned char *at);

enum { TEXT_WORD_MAX = 40 };

// The number of edits (insert, remove, replace a letter, swap neighbours) that turn a, of so many
// letters, into b; INT_MAX: one of both has more than TEXT_WORD_MAX.
int text_edits(const char *a, size_t a_length, const char *b);
int text_edits_most(size_t length); // of a misspelt word; more edits: another word

#endif
