// A line of the file is a word, a blank and a value; an empty line ends the plan:
//
//   every 10
//   patience 10
//   method=stribeck,stribeck.tolerance=1e-8      options of a method to compare, over SPRAG_OPTIONS
#define _GNU_SOURCE 1 // secure_getenv
#include "plan.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "text.h"

static plan the_plan;
static bool is_read;

static bool read_number(const char *line, plan *p)
{
    const struct {
        const char *word;
        double *to;
    } numbers[] = {{"steps ", &p->steps},
                   {"seconds ", &p->seconds},
                   {"all_steps ", &p->all_steps},
                   {"patience ", &p->patience}};
    double number;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        size_t length = strlen(numbers[i].word);
        if (strncmp(line, numbers[i].word, length) == 0) {
            return text_read_real(line + length, numbers[i].to);
        }
    }
    if (strncmp(line, "every ", 6) == 0 && text_read_integer(line + 6, &number) && number >= 1) {
        p->every = (int)number;
        return true;
    }
    p->whole |= strcmp(line, "whole") == 0;
    return p->whole;
}

static bool read_line(const char *line, plan *p, char *message)
{
    if (strncmp(line, "method=", 7) != 0) {
        snprintf(message, MESSAGE_MAX, "no such line: %.100s", line);
        return read_number(line, p);
    }
    settings *s = &p->choice[p->choices];
    const char *base = secure_getenv("SPRAG_OPTIONS");
    *s = settings_defaults();
    if (p->choices == PLAN_CHOICES_MAX || (base && !settings_read(s, base, message)) ||
        !settings_read(s, line, message)) {
        return false;
    }
    p->choices++;
    return true;
}

static bool read_plan(FILE *file, plan *p, char *message)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    bool good = true;
    while (good && (length = getline(&line, &room, file)) > 1) {
        line[length - 1] = '\0'; // of the newline
        good = read_line(line, p, message);
    }
    free(line);
    return good;
}

static void start(void)
{
    char message[MESSAGE_MAX] = "";
    // A setuid program ignores the variable: its caller must not choose a file that it writes.
    const char *name = secure_getenv("SPRAG_COMPARE");
    FILE *file = name && *name ? fopen(name, "re") : NULL;
    the_plan = (plan){.every = 1, .patience = 10};
    the_plan.file = file ? strdup(name) : NULL;
    is_read = the_plan.file && read_plan(file, &the_plan, message);
    if (name && *name && !is_read) {
        message_once("sprag: SPRAG_COMPARE=%s cannot be read: %s. Nothing is compared.", name,
                     file ? message : strerror(errno));
    }
    if (file) {
        fclose(file);
    }
}

const plan *plan_get(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start);
    return is_read ? &the_plan : NULL;
}

bool plan_records(void)
{
    const plan *p = plan_get();
    for (int i = 0; p && !p->whole && i < p->choices; i++) {
        if (settings_record(&p->choice[i])) {
            return true;
        }
    }
    return false;
}
