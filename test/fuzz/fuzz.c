// build/fuzz: hostile worlds, options and recordings, by seed. Each world runs in a process of its
// own. A world fails where sprag ends the program or leaves a state that is not finite, and stock,
// stepping the same world, does not; where a second run has other bits; or where a step takes 2 s
// of CPU time. Steps of more than 200 ms are told. A world is ended after 10 s.
#define _GNU_SOURCE 1 // MAP_ANONYMOUS
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <ode/ode.h>

#include "fuzz.h"
#include "settings.h"
#include "text.h"

static const char help[] =
    "Usage: build/fuzz [-s SECONDS] [-f SEED] [-n WORLDS] [-m METHOD] [-c FILE] [-e] [-g] [-w] "
    "[-v]\n"
    "\n"
    "Steps hostile worlds under all methods, and reads hostile options and recordings.\n"
    "\n"
    "  -s SECONDS  ends after so many seconds; default: 60\n"
    "  -f SEED     the first seed; default: 1\n"
    "  -n WORLDS   ends after so many worlds of each method\n"
    "  -m METHOD   this method alone, with its options: advance,advance.epsilon=1e-5\n"
    "  -c FILE     runs the seeds in FILE first, in which every island has a solution; a line is\n"
    "              a seed, a method and maybe -e: then no world may be an outlier;\n"
    "              or -g\n"
    "  -e          worlds alone, to which nothing gives energy: without forces, motors, moving\n"
    "              surfaces, recovery of overlaps; an outlier is one that gains ten times as much\n"
    "              as under stock\n"
    "  -g          worlds alone, with meshes, convex solids and heightfields; without it one in\n"
    "              five has them\n"
    "  -w          worlds alone\n"
    "  -v          prints each world\n"
    "\n"
    "Exit code: 0 nothing failed, 1 something did, 2 wrong arguments. A failure is printed with\n"
    "what repeats it.\n";

enum { CPU_LIMIT = 10, SECOND_RUN_EVERY = 8, METHODS_MAX = 8, SLOW_MS = 200, TOO_SLOW_MS = 2000 };

// An outlier ends with so many times the kinetic energy that the world had at any time under stock.
// What stock does not finish tells nothing.
static const double outlier = 10, outlier_least = 1e3; // J
static const double rounding = 1e-3;                   // of the kinetic energy: no gain

typedef struct totals {
    const char *method;
    long worlds, steps, failures, stock_too, fallbacks, slow, ended, outliers;
    double worst_ms;
} totals;

static bool verbose;
static fuzz_kind kind;
static volatile fuzz_run *shared;

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// ---- worlds

static void quiet(int number, const char *format, va_list arguments)
{
    (void)number;
    (void)format;
    (void)arguments;
}

// NULL: nothing is wrong with the run.
static const char too_long[] = "too long";

static const char *run_world(uint64_t seed, const char *method, fuzz_run *run)
{
    static char text[64];
    int status;
    memset((void *)shared, 0, sizeof *shared);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        char options[256];
        const struct rlimit cpu = {CPU_LIMIT, CPU_LIMIT}, core = {0, 0};
        setrlimit(RLIMIT_CPU, &cpu);
        setrlimit(RLIMIT_CORE, &core);
        dSetMessageHandler(quiet);
        if (!verbose && (!freopen("/dev/null", "w", stderr))) {
            _exit(1);
        }
        snprintf(options, sizeof options, "method=%s", method);
        fuzz_world(seed, options, kind, shared);
        dCloseODE();
        exit(0);
    }
    waitpid(child, &status, 0);
    *run = *(fuzz_run *)(uintptr_t)shared;
    if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL)) {
        double last_ms = run->began_ms > 0 ? 1e3 * CPU_LIMIT - run->began_ms : 0;
        run->worst_ms = fmax(run->worst_ms, last_ms);
        return too_long;
    } else if (WIFSIGNALED(status)) {
        snprintf(text, sizeof text, "%s, step %d", strsignal(WTERMSIG(status)), run->steps + 1);
    } else if (!run->done || WEXITSTATUS(status) != 0) {
        snprintf(text, sizeof text, "exit code %d, step %d", WEXITSTATUS(status), run->steps + 1);
    } else if (run->nonfinite) {
        snprintf(text, sizeof text, "not finite, step %d", run->nonfinite);
    } else {
        return NULL;
    }
    return text;
}

static void fail(totals *t, uint64_t seed, const char *why)
{
    t->failures++;
    printf("FAILED: %s: build/fuzz -w%s%s -f %llu -n 1 -m %s\n", why, kind.closed ? " -e" : "",
           kind.formed ? " -g" : "", (unsigned long long)seed, t->method);
}

static void try_world(totals *t, uint64_t seed)
{
    fuzz_run run, stock, again;
    const char *why = run_world(seed, t->method, &run);
    char text[64] = "";
    if (why == too_long) {
        t->ended++;
        why = NULL;
        run.done = false;
    }
    snprintf(text, sizeof text, "%s", why ? why : "");
    bool stock_fails = false;
    double most_energy = INFINITY;
    if (why || kind.closed || run.energy > outlier_least) {
        stock_fails = run_world(seed, "ode", &stock);
        most_energy = stock_fails ? INFINITY : stock.most_energy;
    }
    bool is_outlier = run.energy > fmax(outlier_least, outlier * most_energy);
    if (kind.closed) {
        is_outlier = !stock_fails && run.gain > outlier * fmax(stock.gain, rounding * most_energy);
    }
    t->worlds++;
    t->steps += run.steps;
    t->fallbacks += run.fallbacks;
    t->slow += run.worst_ms > SLOW_MS;
    t->worst_ms = fmax(t->worst_ms, run.worst_ms);
    t->stock_too += why && stock_fails;
    t->outliers += is_outlier;
    if (run.worst_ms > TOO_SLOW_MS) {
        fail(t, seed, "a step takes too long");
    } else if (why && !stock_fails) {
        fail(t, seed, text);
    } else if (run.done && seed % SECOND_RUN_EVERY == 0 &&
               (run_world(seed, t->method, &again) || again.hash != run.hash)) {
        fail(t, seed, "a second run has other bits");
    }
    if (verbose) {
        printf("%llu %s: %d steps, %ld fallbacks, worst %.1f ms, %.3g J (stock: at most %.3g) %s\n",
               (unsigned long long)seed, t->method, run.steps, run.fallbacks, run.worst_ms,
               run.energy, most_energy, text);
        if (kind.closed) {
            printf("    gained %.3g J, stock %.3g J%s\n", run.gain, stock.gain,
                   is_outlier ? ": OUTLIER" : "");
        }
    }
}

// A file of seeds and methods. Read before any child runs, which would move the place in the file
// as it exits. false: the file cannot be read.
static bool run_corpus(const char *file, long *failures)
{
    const fuzz_kind all = kind;
    enum { SEEDS_MAX = 1000 };
    static struct {
        unsigned long long seed;
        char method[64], option[64];
    } of[SEEDS_MAX];
    FILE *from = fopen(file, "r");
    char line[512];
    int count = 0;
    while (from && count < SEEDS_MAX && fgets(line, sizeof line, from)) {
        count += line[0] != '#' && sscanf(line, "%llu %63s %63s", &of[count].seed, of[count].method,
                                          of[count].option) >= 2;
    }
    if (from) {
        fclose(from);
    }
    for (int i = 0; i < count; i++) {
        totals t = {.method = of[i].method};
        kind.closed = !strcmp(of[i].option, "-e");
        kind.formed = !strcmp(of[i].option, "-g");
        try_world(&t, of[i].seed);
        if (kind.closed && t.outliers > 0) {
            fail(&t, of[i].seed, "energy from nothing");
        }
        if (t.fallbacks > 0) {
            fail(&t, of[i].seed, "an island without a solution");
        }
        *failures += t.failures;
    }
    kind = all;
    return from;
}

// ---- bytes

static uint64_t dice;

static uint32_t draw(uint32_t count)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((dice >> 33) % count);
}

static size_t mutate(uint8_t *data, size_t size, size_t room)
{
    for (uint32_t n = 1 + draw(8); n > 0 && size > 0; n--) {
        size_t at = draw((uint32_t)size);
        switch (draw(5)) {
        case 0:
            data[at] ^= (uint8_t)(1u << draw(8));
            break;
        case 1:
            data[at] = (uint8_t)draw(256);
            break;
        case 2: // an extreme number
            for (size_t k = at; k < at + 4 && k < size; k++) {
                data[k] = draw(2) ? 0xff : 0;
            }
            break;
        case 3:
            size = at;
            break;
        default:
            if (size + 8 < room) {
                memmove(data + at + 8, data + at, size - at);
                size += 8;
            }
            break;
        }
    }
    return size;
}

static bool make_recording(char name[])
{
    int status, descriptor = mkstemp(name);
    pid_t child = descriptor >= 0 ? fork() : -1;
    if (child == 0) {
        setenv("SPRAG_RECORD", name, 1);
        fuzz_world(1, "method=advance", (fuzz_kind){false}, shared);
        exit(0);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

// Bytes of each kind, in a process of their own. Returns failures.
static long try_bytes(double seconds, uint64_t seed)
{
    enum { ROOM = 1 << 20 };
    static const char *const options[] = {
        "method=stribeck,stribeck.softness=1e-6,effort=fast", "advance.epsilon=1e-5,method=advance",
        "method=ode-quick:20,ode.erp=0.3,ode.cfm=1e-5", "help", "ess.tolerance=1e-3,method=ess"};
    char name[] = "/tmp/sprag_fuzz_XXXXXX";
    uint8_t *recording = malloc(ROOM), *data = malloc(ROOM);
    FILE *from = make_recording(name) ? fopen(name, "rb") : NULL;
    size_t size = from && recording ? fread(recording, 1, ROOM / 2, from) : 0;
    if (from) {
        fclose(from);
    }
    unlink(name);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        long count[2] = {0};
        dice = seed;
        bool fine = size > 0 && data;
        for (double end = seconds_now() + seconds; fine && seconds_now() < end; seed++) {
            const char *text = options[draw(5)];
            dice = seed * 7919 + 1;
            draw(2);
            bool is_recording = seed % 2;
            memcpy(data, is_recording ? recording : (const uint8_t *)text,
                   is_recording ? size : strlen(text));
            size_t length = mutate(data, is_recording ? size : strlen(text), ROOM);
            fine = is_recording ? fuzz_recording(data, length) : fuzz_options(data, length);
            count[is_recording]++;
            shared->steps = (int)seed;
        }
        printf("%ld options, %ld recordings\n", count[0], count[1]);
        fflush(stdout);
        _exit(!fine);
    }
    int status = 0;
    waitpid(child, &status, 0);
    free(recording);
    free(data);
    if (status != 0) {
        printf("FAILED: bytes of seed %d: status %d\n", shared->steps, status);
    }
    return status != 0;
}

// ---- the command

static long try_worlds(totals *t, int count, double seconds, uint64_t seed, long most)
{
    enum { FORMED_EVERY = 4 };
    const bool formed = kind.formed;
    double end = seconds_now() + seconds;
    long failures = 0;
    for (long n = 0; seconds_now() < end && (most == 0 || n < most); n++) {
        for (int i = 0; i < count; i++) {
            try_world(&t[i], seed + (uint64_t)n);
        }
        kind.formed = true;
        for (int i = 0; i < count && !formed && n % FORMED_EVERY == FORMED_EVERY - 1; i++) {
            try_world(&t[i], seed + (uint64_t)n);
        }
        kind.formed = formed;
    }
    printf("%-12s %7s %8s %9s %9s %10s %9s %9s %7s %9s\n", "method", "worlds", "steps", "failures",
           "as stock", "fallbacks", "worst/ms", "> 200 ms", "> 10 s", "outliers");
    for (int i = 0; i < count; i++) {
        printf("%-12s %7ld %8ld %9ld %9ld %10ld %9.1f %9ld %7ld %9ld\n", t[i].method, t[i].worlds,
               t[i].steps, t[i].failures, t[i].stock_too, t[i].fallbacks, t[i].worst_ms, t[i].slow,
               t[i].ended, t[i].outliers);
        failures += t[i].failures;
    }
    return failures;
}

// Ends the program if it is none.
static double number_of(int option, const char *text)
{
    double number;
    if (!text_read_real(text, &number) || !(number >= 0)) {
        fprintf(stderr, "fuzz: -%c needs a number, not %s\n", option, text);
        exit(2);
    }
    return number;
}

// A world that is configured would read the environment before a recording is asked for there.
static bool is_method(const char *options)
{
    char text[256], message[MESSAGE_MAX];
    settings s = settings_defaults();
    snprintf(text, sizeof text, "method=%s", options);
    bool is = settings_read(&s, text, message);
    if (!is) {
        fprintf(stderr, "fuzz: -m: %s\n", message);
    }
    return is;
}

int main(int argc, char **argv)
{
    totals t[METHODS_MAX] = {{.method = "stribeck"}, {.method = "advance"}, {.method = "ess"}};
    int count = 3;
    double seconds = 60;
    uint64_t seed = 1;
    long most = 0, failures = 0;
    bool worlds_alone = false;
    const char *corpus = NULL;
    for (int found; (found = getopt(argc, argv, "s:f:n:m:c:egwvh")) != -1;) {
        switch (found) {
        case 's':
            seconds = number_of(found, optarg);
            break;
        case 'f':
            seed = (uint64_t)number_of(found, optarg);
            break;
        case 'n':
            most = (long)number_of(found, optarg);
            break;
        case 'm':
            t[0].method = optarg;
            count = 1;
            break;
        case 'c':
            corpus = optarg;
            break;
        case 'e':
            kind.closed = worlds_alone = true;
            break;
        case 'g':
            kind.formed = worlds_alone = true;
            break;
        case 'w':
            worlds_alone = true;
            break;
        case 'v':
            verbose = true;
            break;
        default:
            fputs(help, found == 'h' ? stdout : stderr);
            return found == 'h' ? 0 : 2;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "fuzz: %s is no option\n", argv[optind]);
        return 2;
    }
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        perror("fuzz");
        return 2;
    }
    dInitODE2(0);
    dAllocateODEDataForThread((unsigned)dAllocateMaskAll);
    for (int i = 0; i < count; i++) {
        if (!is_method(t[i].method)) {
            return 2;
        }
    }
    if (corpus && !run_corpus(corpus, &failures)) {
        fprintf(stderr, "fuzz: no file %s\n", corpus);
        return 2;
    }
    failures += worlds_alone ? 0 : try_bytes(seconds / 5, seed);
    failures += try_worlds(t, count, worlds_alone ? seconds : 4 * seconds / 5, seed, most);
    return failures > 0;
}
