#include "message.h"

#include <ctype.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "ode.h"
#include "text.h"
#include "write_guard.h"

enum { TEXTS_MAX = 64, TEXT_ROOM = PATH_MAX + 1024 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t printed[TEXTS_MAX]; // hashes of the texts so far; under the lock
static int printed_count;

static void lock_for_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void unlock_after_fork(void)
{
    pthread_mutex_unlock(&lock);
}

// A child process must not inherit the lock of a thread that it does not have.
static void prepare_for_fork(void)
{
    pthread_atfork(lock_for_fork, unlock_after_fork, unlock_after_fork);
}

// FNV-1a, 64 bits.
static uint64_t hash_of(const char *text)
{
    uint64_t hash = 14695981039346656037u;
    for (; *text; text++) {
        hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    }
    return hash;
}

// Adds a text to those printed. Returns whether it is new. *last: no further text has room.
static bool is_new(const char *text, bool *last)
{
    uint64_t hash = hash_of(text);
    pthread_mutex_lock(&lock);
    bool is = printed_count < TEXTS_MAX;
    for (int i = 0; i < printed_count && is; i++) {
        is = printed[i] != hash;
    }
    if (is) {
        printed[printed_count++] = hash;
    }
    *last = is && printed_count == TEXTS_MAX;
    pthread_mutex_unlock(&lock);
    return is;
}

// Standard error may be a pipe without a reader. A handler of the program keeps the program's
// signals: it may leave by longjmp.
static void print(const char *text)
{
    write_guard guard;
    bool is_handled = dGetMessageHandler();
    if (!is_handled) {
        write_guard_begin(&guard);
    }
    sprag_ode_message(text);
    if (!is_handled) {
        write_guard_end(&guard);
    }
}

void message_make_plain(char *text)
{
    for (; *text; text++) {
        *text = (char)(iscntrl((unsigned char)*text) ? '?' : *text);
    }
}

void message_once(const char *format, ...)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    char text[TEXT_ROOM];
    bool last;
    va_list arguments;
    pthread_once(&once, prepare_for_fork);
    va_start(arguments, format);
    text_print_list(text, sizeof text, format, arguments);
    va_end(arguments);
    message_make_plain(text);
    if (is_new(text, &last)) {
        if (last) {
            strncat(text, " (sprag prints no further messages)", sizeof text - strlen(text) - 1);
        }
        print(text);
    }
}
