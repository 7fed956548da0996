// bits [-r | -1] [PATTERN...] - hashes of short worlds of every kind after each step of each
// method, beside those in bits.txt. Prints the lines that differ; exit code 1 if one does. A change
// that should not alter results alters none. With -1 it ends at the first. One that should records
// its own:
//
//   build/bits -r >test/bits/bits.txt
//
// PATTERN: part of a line's name. The bits are those of one libm and one ODE. Lines of worlds that
// ODE's own steppers step tell which: where these differ, nothing is compared, and the exit code is
// 77. A line is "KIND:OPTIONS HASH...", a hash a world
// or a problem of the general solver.
#include "bits.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "start.h"

enum { SKIPPED = 77, LINE_MAX_LENGTH = 512 };

// Named options and the worlds of each kind that are stepped with them.
typedef struct options_set {
    const char *name, *options;
    int worlds;
} options_set;

static const options_set stock[] = {
    {"step", "method=ode-step", 12},
    {"quick", "method=ode-quick", 12},
};

static const options_set own[] = {
    {"stribeck", "method=stribeck", 14},
    {"exact", "effort=exact,stribeck.contacts=sprag", 20},
    {"fast", "effort=fast,stribeck.contacts=ode", 8},
    {"one-way", "stribeck.scheme=one-way", 4},
    {"speculative", "stribeck.speculative=1,stribeck.contacts=sprag", 8},
    {"arcs", "stribeck.arcs=1", 8},
    {"stiff", "stribeck.stiffness=1e5,stribeck.dissipation=0.3", 8},
    {"sweeps", "effort=exact,stribeck.direct_work=0", 4},
    {"advance", "method=advance", 5},
    {"halved", "method=advance,advance.error=1e-4,advance.checks=1", 1},
    {"before", "method=advance,advance.callbacks=before", 2},
    {"coarse", "method=advance,advance.substeps=3,advance.shortest=0.2", 2},
    {"ess", "method=ess", 6},
    {"springs", "method=ess,stribeck.stiffness=1e4,stribeck.dissipation=0.1", 6},
    {"thrifty", "method=ess,ess.steps=20,ess.tolerance=1e-4", 2},
};

typedef struct comparison {
    bool records, ends_early;
    char **patterns;
    char *recorded; // the file
    int lines, different;
} comparison;

static char *read_file(const char *path)
{
    enum { ROOM = 1 << 16 };
    char *text = calloc(ROOM, 1);
    FILE *file = fopen(path, "r");
    if (!text || !file || fread(text, 1, ROOM - 1, file) == ROOM - 1) {
        fprintf(stderr, "bits: cannot read %s\n", path);
        exit(1);
    }
    fclose(file);
    return text;
}

static bool is_asked_for(const comparison *c, const char *name)
{
    bool any = !*c->patterns;
    for (char **pattern = c->patterns; *pattern; pattern++) {
        any = any || strstr(name, *pattern);
    }
    return any;
}

// Length of the recorded line of the name, which starts at *line; 0: there is none.
static size_t find_recorded(const comparison *c, const char *name, const char **line)
{
    const size_t length = strlen(name);
    for (const char *at = c->recorded; *at; at += strcspn(at, "\n") + 1) {
        if (strncmp(at, name, length) == 0 && at[length] == ' ') {
            *line = at;
            return strcspn(at, "\n");
        }
    }
    *line = "";
    return 0;
}

static void compare(comparison *c, const char *name, const char *line)
{
    const char *recorded;
    const size_t length = find_recorded(c, name, &recorded);
    c->lines++;
    if (c->records) {
        puts(line);
    } else if (length != strlen(line) || strncmp(recorded, line, length) != 0) {
        c->different++;
        printf("was: %.*s\nis:  %s\n", (int)length, recorded, line);
    }
    fflush(stdout);
}

static void append(char *line, uint64_t hash)
{
    const size_t length = strlen(line);
    snprintf(line + length, LINE_MAX_LENGTH - length, " %08x", (unsigned)(hash ^ hash >> 32));
}

// Worlds of a kind have seeds of their own under each set.
static void run_line(comparison *c, const bits_kind *kind, const options_set *set, unsigned first)
{
    char name[LINE_MAX_LENGTH], line[LINE_MAX_LENGTH];
    snprintf(name, sizeof name, "%s:%s", kind->name, set->name);
    if (!is_asked_for(c, name) || (c->ends_early && c->different)) {
        return;
    }
    memcpy(line, name, sizeof line);
    for (int i = 0; i < set->worlds; i++) {
        append(line, bits_run(kind, first + (unsigned)i, set->options));
    }
    compare(c, name, line);
}

// libm's functions, whose last bits are its own.
static uint64_t hash_libm(void)
{
    uint64_t hash = fnv_of_nothing;
    for (int i = 1; i < 2000; i++) {
        const volatile double of = 1e-3 * i * i / 7; // compilers have functions of their own
        const double x = of;
        const double y[] = {
            sin(x),   cos(x),  tan(x),      atan2(x, 3),  acos(1 / (1 + x)), cbrt(x),    log(x),
            log1p(x), exp(-x), pow(x, 0.3), fmod(x, 0.7), asin(x / (1 + x)), hypot(x, 2)};
        bits_add(&hash, y, sizeof y / sizeof *y);
    }
    return hash;
}

static void run_stock(comparison *c)
{
    char line[LINE_MAX_LENGTH] = "stock:libm";
    append(line, hash_libm());
    compare(c, "stock:libm", line);
    for (size_t k = 0; k < sizeof stock / sizeof *stock; k++) {
        run_line(c, &bits_stock, &stock[k], 100 * (unsigned)k);
    }
}

// Solves problems of the general solver, where there is one.
static void run_general(comparison *c)
{
#ifdef BITS_GENERAL
    enum { PROBLEMS = 40 };
    for (const bits_problem *problem = bits_problems; problem->name; problem++) {
        char name[LINE_MAX_LENGTH], line[LINE_MAX_LENGTH];
        snprintf(name, sizeof name, "general:%s", problem->name);
        if (is_asked_for(c, name) && !(c->ends_early && c->different)) {
            memcpy(line, name, sizeof line);
            for (unsigned i = 0; i < PROBLEMS; i++) {
                append(line, bits_solve(problem, i + 1));
            }
            compare(c, name, line);
        }
    }
#else
    (void)c;
#endif
}

static void run_own(comparison *c)
{
    for (const bits_kind *kind = bits_kinds; kind->name; kind++) {
        for (size_t k = 0; k < sizeof own / sizeof *own; k++) {
            run_line(c, kind, &own[k], 100 * (unsigned)k);
        }
    }
}

int main(int argc, char **argv)
{
    comparison c = {.records = argc > 1 && strcmp(argv[1], "-r") == 0,
                    .ends_early = argc > 1 && strcmp(argv[1], "-1") == 0};
    c.patterns = argv + 1 + (c.records || c.ends_early);
    c.recorded = c.records ? calloc(1, 1) : read_file(RECORDED);
    start_ode();
    dSetMessageHandler(quiet);
    dSetErrorHandler(quiet);
    run_stock(&c);
    if (c.different) {
        puts("bits: another libm or ODE; nothing is compared");
        return SKIPPED;
    }
    run_general(&c);
    run_own(&c);
    if (!c.records) {
        printf("%d of %d lines differ\n", c.different, c.lines);
    }
    free(c.recorded);
    return c.different ? 1 : 0;
}
