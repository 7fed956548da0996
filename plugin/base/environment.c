#define _GNU_SOURCE 1 // secure_getenv
#include "environment.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct {
    pthread_once_t once;
    settings settings;
    bool help_asked, failed;
    char message[MESSAGE_MAX];
} environment = {.once = PTHREAD_ONCE_INIT};

// A setuid program ignores the variable: its caller must not change its behaviour.
static const char *option_string(void)
{
    return secure_getenv("SPRAG_OPTIONS");
}

static bool asks_for_help(const char *string)
{
    static const char blanks[] = " \t\n\v\f\r", word[] = "help";
    size_t length = sizeof word - 1;
    string += strspn(string, blanks);
    return !strncmp(string, word, length) && !string[length + strspn(string + length, blanks)];
}

static void read_environment(void)
{
    const char *string = option_string();
    environment.settings = settings_defaults();
    if (!string) {
        return;
    }
    if (asks_for_help(string)) {
        environment.help_asked = true;
        return;
    }
    environment.failed = !settings_read(&environment.settings, string, environment.message);
}

static void print_help(void)
{
    settings_help(stdout);
}

const settings *environment_settings(void)
{
    static pthread_once_t printed = PTHREAD_ONCE_INIT;
    pthread_once(&environment.once, read_environment);
    // After pthread_once has returned: exit handlers, and an error handler that jumps, may call
    // this function again.
    if (environment.help_asked) {
        pthread_once(&printed, print_help);
        exit(EXIT_SUCCESS);
    }
    if (environment.failed) {
        dError(0, "sprag: SPRAG_OPTIONS cannot be read: %s", environment.message);
    }
    return &environment.settings;
}

const settings *environment_readable_settings(void)
{
    pthread_once(&environment.once, read_environment);
    return environment.help_asked || environment.failed ? NULL : &environment.settings;
}
