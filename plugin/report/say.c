#define _GNU_SOURCE 1 // vasprintf
#include "say.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "text.h"

// So many bytes of a longer message are shown at either end: the arguments of the user are in it.
enum { SHOWN = 500, START_MAX = 64 };

// Nothing that a terminal would act on, and no further line.
static bool is_plain(const unsigned char *at, int length)
{
    bool control = at[0] < 0x20 || at[0] == 0x7f || (at[0] == 0xc2 && at[1] < 0xa0);
    return length > 0 && !control;
}

static void print_escaped(const char *text, const char *end)
{
    for (const unsigned char *at = (const unsigned char *)text; (const char *)at < end;) {
        int length = text_sequence(at);
        if (*at == '\n') {
            fputs("\\n", stderr);
            at++;
        } else if (is_plain(at, length)) {
            fwrite(at, 1, (size_t)length, stderr);
            at += length;
        } else {
            fprintf(stderr, "\\x%02x", *at++);
        }
    }
}

static void print_line(const char *start, const char *format, va_list arguments)
{
    char *text = NULL;
    int size = vasprintf(&text, format, arguments);
    fputs(start, stderr);
    if (size > 2 * SHOWN) {
        print_escaped(text, text + SHOWN);
        fprintf(stderr, "[... %d bytes ...]", size - 2 * SHOWN);
        print_escaped(text + size - SHOWN, text + size);
    } else if (size >= 0) {
        print_escaped(text, text + size);
    }
    fputc('\n', stderr);
    if (size >= 0) {
        free(text);
    }
}

int cli_fail(int code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line("sprag: ", format, arguments);
    va_end(arguments);
    return code;
}

void cli_note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line("sprag: note: ", format, arguments);
    va_end(arguments);
}

void cli_note_end(const char *recording, const char *end)
{
    if (end) {
        cli_note("%s %s", recording, end);
    }
}

bool cli_names_file(const char *option, const char *name)
{
    bool is_named = !name || (*name && strcmp(name, "-") != 0);
    if (!is_named) {
        cli_fail(0, "--%s needs the name of a file%s", option,
                 *name ? ", such as /dev/stderr; ./- is a file called \"-\"" : "");
    }
    return is_named;
}

// Without the 0 at the end. Returns the length.
static size_t copy_name(char *to, const char *name, bool literal)
{
    size_t length = 0;
    for (const char *at = name; *at; at++) {
        to[length++] = *at;
        if (literal && *at == '%') {
            to[length++] = '%';
        }
    }
    return length;
}

bool cli_set_file(const char *variable, const char *name, bool literal)
{
    char directory[PATH_MAX] = "", value[4 * PATH_MAX + 2];
    if (strlen(name) >= PATH_MAX) {
        cli_fail(0, "the name %s is too long", name);
        return false;
    }
    if (*name != '/' && !getcwd(directory, sizeof directory)) {
        cli_fail(0, "cannot tell the current directory: %s", strerror(errno));
        return false;
    }
    size_t length = copy_name(value, directory, true);
    if (*directory) {
        value[length++] = '/';
    }
    length += copy_name(value + length, name, literal);
    value[length] = '\0';
    return setenv(variable, value, 1) == 0 || cli_fail(0, "no memory");
}

bool cli_can_read_again(const char *name)
{
    struct stat is;
    bool is_pipe = stat(name, &is) == 0 && S_ISFIFO(is.st_mode);
    if (is_pipe) {
        cli_fail(0, "%s is a pipe, and is read more than once: write it to a file first", name);
    }
    return !is_pipe;
}

// A name in /dev may lead to the output of the command.
static bool holds_something_else(const char *name, const char *start)
{
    char text[START_MAX] = "";
    FILE *from = strncmp(name, "/dev/", 5) != 0 ? fopen(name, "rb") : NULL;
    size_t length = from ? fread(text, 1, strlen(start), from) : 0;
    if (from) {
        fclose(from);
    }
    return length > 0 && strncmp(text, start, strlen(start)) != 0;
}

// Does not open a pipe, whose reader would see its end, and removes the file that it has made.
bool cli_can_write(const char *name, const char *start)
{
    struct stat is;
    bool is_new = lstat(name, &is) != 0;
    if (!is_new && stat(name, &is) == 0 && S_ISFIFO(is.st_mode)) {
        return true;
    }
    int descriptor = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor < 0) {
        cli_fail(0, "cannot write to %s: %s", name, strerror(errno));
        return false;
    }
    close(descriptor);
    if (holds_something_else(name, start)) {
        cli_fail(0, "%s is to be written, but holds something else: it is left alone", name);
        return false;
    }
    return !is_new || unlink(name) == 0;
}

bool cli_set_output(const char *variable, const char *name, const char *start)
{
    return (strchr(name, '%') || cli_can_write(name, start)) && cli_set_file(variable, name, false);
}

static bool read_over(settings *s, const char *options, const char *where)
{
    char message[MESSAGE_MAX];
    if (options && strcmp(options, "help") == 0) {
        settings_help(stdout);
        exit(EXIT_SUCCESS);
    }
    if (options && !settings_read(s, options, message)) {
        cli_fail(0, "%s: %s", where, message);
        return false;
    }
    return true;
}

bool cli_read_settings(settings *s, const char *options, bool has_method)
{
    *s = settings_defaults();
    if (!read_over(s, getenv("SPRAG_OPTIONS"), "SPRAG_OPTIONS")) {
        return false;
    }
    const method *before = s->method;
    s->method = NULL;
    if (!read_over(s, options, "-o")) {
        return false;
    }
    if (s->method && has_method) {
        cli_fail(0, "give the method by -m only, not in -o");
        return false;
    }
    s->method = s->method ? s->method : before;
    return true;
}

void cli_note_unheeded(const char *options, const method *const m[], int count)
{
    char message[MESSAGE_MAX];
    if (options && !settings_are_heeded(options, m, count, message)) {
        cli_note("%s", message);
    }
}

bool cli_read_method(settings *s, const char *name, size_t length)
{
    char option[METHOD_NAME + 16], message[MESSAGE_MAX];
    snprintf(option, sizeof option, "method=%.*s", (int)length, name);
    if (length >= METHOD_NAME || !settings_read(s, option, message)) {
        cli_fail(0, "%s", length >= METHOD_NAME ? "-m: the name is too long" : message);
        return false;
    }
    return true;
}
