// Numbers and letters in texts of users, and messages that are printed once.
#define _GNU_SOURCE 1
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <ode/ode.h>

#include "message.h"
#include "suite.h"
#include "text.h"

START_TEST(numbers_are_read_whole)
{
    static const char *const bad[] = {"",     " 1", "1 ", "0x10", "nan", "inf", "1,5",
                                      "1.5x", "e",  "-",  "+",    ".",   "1e",  "1.5.5"};
    double value;
    ck_assert(text_read_real("-1.5e-3", &value) && value == -1.5e-3);
    ck_assert(text_read_real(".5", &value) && value == 0.5);
    ck_assert(text_read_real("+7", &value) && value == 7);
    ck_assert(text_read_integer("-12", &value) && value == -12);
    ck_assert(text_read_integer("+0", &value) && value == 0);
    ck_assert(!text_read_integer("1.0", &value) && !text_read_integer("1e3", &value));
    for (int i = 0; i < COUNT(bad); i++) {
        ck_assert_msg(!text_read_real(bad[i], &value), "%s", bad[i]);
        ck_assert_msg(!text_read_integer(bad[i], &value), "%s", bad[i]);
    }
}
END_TEST

// UTF-8 of every code point, as RFC 3629 has it; surrogates have none.
START_TEST(sequences_are_code_points)
{
    for (unsigned code = 1; code < 0x120000; code++) {
        unsigned char at[5] = {0};
        int length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
        for (int i = length - 1; i > 0; i--) {
            at[i] = (unsigned char)(0x80 | (code >> (6 * (length - 1 - i)) & 0x3f));
        }
        static const unsigned char head[] = {0, 0, 0xc0, 0xe0, 0xf0};
        at[0] = (unsigned char)(head[length] | code >> (6 * (length - 1)));
        bool is_letter = code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
        ck_assert_msg(text_sequence(at) == (is_letter ? length : 0), "%x", code);
    }
}
END_TEST

// Too long for what they say, cut, or without a head.
START_TEST(other_bytes_are_no_sequence)
{
    static const char *const bad[] = {"\x80",
                                      "\xbf",
                                      "\xc0\x80",
                                      "\xc1\xbf",
                                      "\xc2",
                                      "\xc2\x41",
                                      "\xe0\x80\x80",
                                      "\xe0\x9f\xbf",
                                      "\xe1\x80",
                                      "\xe1\x80\xc0",
                                      "\xf0\x80\x80\x80",
                                      "\xf0\x8f\xbf\xbf",
                                      "\xf1\x80\x80",
                                      "\xf5\x80\x80\x80",
                                      "\xff"};
    for (int i = 0; i < COUNT(bad); i++) {
        ck_assert_int_eq(text_sequence((const unsigned char *)bad[i]), 0);
    }
}
END_TEST

// ---- messages

enum { DISTINCT = 64 };

static int heard;
static char last_text[2048];

static void hear(int number, const char *format, va_list arguments)
{
    (void)number;
    vsnprintf(last_text, sizeof last_text, format, arguments);
    heard++;
}

// A text is printed once; behind the 64th there is no further one, which it says.
START_TEST(messages_are_printed_once)
{
    dSetMessageHandler(hear);
    for (int i = 0; i < DISTINCT + 5; i++) {
        for (int k = 0; k < 2; k++) {
            message_once("text %d\nwith a tab\t", i);
        }
        ck_assert_int_eq(heard, i < DISTINCT ? i + 1 : DISTINCT);
        bool ends = strstr(last_text, "no further messages") != NULL;
        ck_assert(ends == (i >= DISTINCT - 1));
        ck_assert_ptr_null(strpbrk(last_text, "\n\t"));
    }
    message_once("text %d\nwith a tab\t", 0);
    ck_assert_int_eq(heard, DISTINCT);
    ck_assert_ptr_nonnull(strstr(last_text, "text 63?with a tab?"));
    dSetMessageHandler(NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("text");
    ADD_TESTS(suite, "all", {numbers_are_read_whole, 1}, {sequences_are_code_points, 1},
              {other_bytes_are_no_sequence, 1}, {messages_are_printed_once, 1});
    return run_suite(suite);
}
