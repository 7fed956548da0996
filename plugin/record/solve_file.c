#define _GNU_SOURCE 1 // secure_getenv
#include "solve_file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "message.h"
#include "output.h"
#include "text.h"

#define FIELD(struct, member, type, count)                                                         \
    {                                                                                              \
#member, offsetof(struct, member), type, count                                             \
    }
#define OPTION(member, type) FIELD(sprag_stribeck_options, member, type, 1)
#define CONTACT(member, type, count) FIELD(sprag_contact, member, type, count)
#define FRICTION(struct, member)                                                                   \
    FIELD(struct, member.coefficient, SOLVE_REAL, 2),                                              \
        FIELD(struct, member.velocity, SOLVE_REAL, 2), FIELD(struct, member.slip, SOLVE_REAL, 2),  \
        FIELD(struct, member.force, SOLVE_BOOL, 2)

const solve_field solve_options_fields[] = {OPTION(scheme, SOLVE_INT),
                                            OPTION(stiction_tolerance, SOLVE_REAL),
                                            OPTION(stiction_at_rest, SOLVE_REAL),
                                            OPTION(softness, SOLVE_REAL),
                                            OPTION(row_softness, SOLVE_REAL),
                                            OPTION(friction_softness, SOLVE_REAL),
                                            OPTION(exact, SOLVE_BOOL),
                                            OPTION(sweeps, SOLVE_INT),
                                            OPTION(sweep_change, SOLVE_REAL),
                                            OPTION(hard_in_motion, SOLVE_REAL),
                                            OPTION(tolerance, SOLVE_REAL),
                                            OPTION(max_iterations, SOLVE_INT),
                                            OPTION(max_continuation, SOLVE_INT),
                                            OPTION(direct_work, SOLVE_REAL),
                                            OPTION(settled_work, SOLVE_REAL),
                                            OPTION(warm, SOLVE_BOOL),
                                            {0}};

const solve_field solve_body_fields[] = {
    FIELD(sprag_body, mass, SOLVE_REAL, 1),     FIELD(sprag_body, inertia, SOLVE_REAL, 9),
    FIELD(sprag_body, velocity, SOLVE_REAL, 6), FIELD(sprag_body, free_velocity, SOLVE_REAL, 6),
    FIELD(sprag_body, by_angle, SOLVE_BOOL, 1), {0}};

const solve_field solve_contact_fields[] = {
    CONTACT(body, SOLVE_INT, 2),       CONTACT(arm, SOLVE_REAL, 6),
    CONTACT(frame, SOLVE_REAL, 9),     CONTACT(gap, SOLVE_REAL, 1),
    CONTACT(bias, SOLVE_REAL, 1),      CONTACT(compliance, SOLVE_REAL, 1),
    CONTACT(softening, SOLVE_REAL, 1), CONTACT(erp, SOLVE_REAL, 1),
    CONTACT(stiffness, SOLVE_REAL, 1), CONTACT(dissipation, SOLVE_REAL, 1),
    CONTACT(stiction, SOLVE_REAL, 1),  FRICTION(sprag_contact, slide),
    CONTACT(recovery, SOLVE_REAL, 1),  CONTACT(rebounds, SOLVE_BOOL, 1),
    CONTACT(returns, SOLVE_REAL, 1),   CONTACT(on_chords, SOLVE_BOOL, 1),
    CONTACT(guess, SOLVE_REAL, 3),     {0}};

const solve_field solve_turning_fields[] = {
    FRICTION(sprag_turning, roll), FRICTION(sprag_turning, spin), {0}};

const solve_field solve_row_fields[] = {
    FIELD(sprag_row, body, SOLVE_INT, 2),         FIELD(sprag_row, jacobian, SOLVE_REAL, 12),
    FIELD(sprag_row, bias, SOLVE_REAL, 1),        FIELD(sprag_row, compliance, SOLVE_REAL, 1),
    FIELD(sprag_row, lo, SOLVE_REAL, 1),          FIELD(sprag_row, hi, SOLVE_REAL, 1),
    FIELD(sprag_row, guess, SOLVE_REAL, 1),       FIELD(sprag_row, bounce, SOLVE_REAL, 1),
    FIELD(sprag_row, length, SOLVE_REAL, 1),      FIELD(sprag_row, drives, SOLVE_BOOL, 1),
    FIELD(sprag_row, holds_point, SOLVE_BOOL, 1), {0}};

// ---- JSON

// JSON has no infinity: strings stand for what is not finite.
static void print_real(FILE *to, double value)
{
    char text[64];
    text_print(text, sizeof text, isfinite(value) ? "%.17g" : "\"%g\"", value);
    fputs(text, to);
}

static void print_value(FILE *to, const solve_field *f, const char *at, int i)
{
    switch (f->type) {
    case SOLVE_REAL:
        print_real(to, ((const double *)(const void *)at)[i]);
        break;
    case SOLVE_INT:
        fprintf(to, "%d", ((const int *)(const void *)at)[i]);
        break;
    case SOLVE_BOOL:
        fputs(((const bool *)at)[i] ? "true" : "false", to);
        break;
    }
}

static void print_fields(FILE *to, const solve_field *fields, const void *of)
{
    for (const solve_field *f = fields; f->name; f++) {
        fprintf(to, "%s\"%s\":%s", f == fields ? "" : ",", f->name, f->count > 1 ? "[" : "");
        for (int i = 0; i < f->count; i++) {
            fputs(i ? "," : "", to);
            print_value(to, f, (const char *)of + f->offset, i);
        }
        fputs(f->count > 1 ? "]" : "", to);
    }
}

static void print_struct(FILE *to, const solve_field *fields, const void *of, bool last)
{
    putc('{', to);
    print_fields(to, fields, of);
    fputs(last ? "}\n" : "},\n", to);
}

static void print_contact(FILE *to, const sprag_contact *c, bool last)
{
    putc('{', to);
    print_fields(to, solve_contact_fields, c);
    if (c->turning) {
        fputs(",\"turning\":{", to);
        print_fields(to, solve_turning_fields, c->turning);
        putc('}', to);
    }
    fputs(last ? "}\n" : "},\n", to);
}

static void print_solve(FILE *to, const world_state *w, const sprag_problem *p,
                        const sprag_stribeck_options *options, sprag_result result,
                        const sprag_stats *stats)
{
    fprintf(to,
            SOLVE_START
            ",\"version\":1,\"sprag\":\"%s\",\n"
            "\"world\":%d,\"number\":%ld,\"result\":\"%s\",\"strategy\":\"%s\",\"residual\":",
            SPRAG_VERSION, w->number, w->statistics.steps, sprag_result_name(result),
            sprag_strategy_name(stats->strategy));
    print_real(to, stats->residual);
    fputs(",\n\"step\":", to);
    print_real(to, p->step);
    fputs(",\n\"options\":", to);
    print_struct(to, solve_options_fields, options, false);
    fputs("\"bodies\":[\n", to);
    for (int i = 0; i < p->bodies; i++) {
        print_struct(to, solve_body_fields, &p->body[i], i + 1 == p->bodies);
    }
    fputs("],\"contacts\":[\n", to);
    for (int i = 0; i < p->contacts; i++) {
        print_contact(to, &p->contact[i], i + 1 == p->contacts);
    }
    fputs("],\"rows\":[\n", to);
    for (int i = 0; i < p->rows; i++) {
        print_struct(to, solve_row_fields, &p->row[i], i + 1 == p->rows);
    }
    fputs(SOLVE_END, to);
}

// ---- which solve

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool wanted;
static output file = {.descriptor = -1}; // under the lock
static long step;                        // number of the step; 0: of the first failure
static int largest = -1; // contacts and rows of the solve in the file; under the lock

static void lock_for_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void unlock_after_fork(void)
{
    pthread_mutex_unlock(&lock);
}

// A setuid program ignores the variables: its caller must not choose a file that it writes.
static void start(void)
{
    const char *number = secure_getenv("SPRAG_DUMP_STEP");
    step = number ? strtol(number, NULL, 10) : 0;
    wanted = output_wanted(&file, "SPRAG_DUMP");
    pthread_atfork(lock_for_fork, unlock_after_fork, unlock_after_fork);
}

static bool is_asked_for(const world_state *w, sprag_result result)
{
    return step > 0 ? w->statistics.steps == step : result != SPRAG_OK;
}

static bool write_text(const char *text, size_t size)
{
    bool done = output_open(&file, O_WRONLY | O_CREAT) && output_is_ours(&file, SOLVE_START);
    if (done && file.regular && ftruncate(file.descriptor, 0) != 0) {
        file.failure = strerror(errno);
        done = false;
    }
    done = done && output_write(&file, text, size);
    if (file.descriptor >= 0) {
        close(file.descriptor);
        file.descriptor = -1;
    }
    return done;
}

void solve_file_offer(const world_state *w, const sprag_problem *p,
                      const sprag_stribeck_options *options, sprag_result result,
                      const sprag_stats *stats)
{
    const char *failure = NULL;
    pthread_once(&once, start);
    if (!atomic_load_explicit(&wanted, memory_order_relaxed) || !is_asked_for(w, result)) {
        return;
    }
    pthread_mutex_lock(&lock);
    if (step > 0 ? p->contacts + p->rows > largest : largest < 0) {
        char *text = NULL;
        size_t size = 0;
        FILE *to = open_memstream(&text, &size);
        if (to) {
            print_solve(to, w, p, options, result, stats);
        }
        bool printed = to && fclose(to) == 0;
        failure = !printed ? strerror(ENOMEM) : write_text(text, size) ? NULL : file.failure;
        free(text);
        largest = p->contacts + p->rows;
    }
    pthread_mutex_unlock(&lock);
    if (failure) {
        message_once("sprag: cannot write the solve to %s: %s. The program runs on without it.",
                     file.name, failure);
    }
}
