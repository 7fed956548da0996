// Frames of a few steps are one write() to the file: calls of the system would take longer than the
// rest of the recording. A pipe gets each frame at once. The file is opened at the first step. A
// process that was forked while its parent recorded writes nothing, unless "%p" in the name gives
// it a file of its own.
#define _GNU_SOURCE 1 // fallocate
#include "recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "capture.h"
#include "message.h"
#include "output.h"
#include "record_constants.h"
#include "recording_header.h"
#include "statistics.h"
#include "write_guard.h"

struct recorded_step {
    step_start begun;
    int64_t number; // of the step
    double cpu;     // s, thread CPU time at the start; after recorder_taken: of the step
    recorded_step *next;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool wanted; // SPRAG_RECORD is set, and writing has not failed
static bool residuals;     // SPRAG_RECORD_RESIDUAL is set

// Under the lock.
static output file = {.descriptor = -1};
static off_t written;  // bytes of whole frames
static off_t reserved; // bytes on the disk that the file has or will have
static double last;    // s, when the last frames were written
static capture all = {.bodies.gap = 1, .joints.gap = 1};
static frame_buffer frames;  // not written yet
static bool has_forked;      // this process, from one that has recorded
static bool has_ended;       // the program: what it still steps is written at once
static recorded_step *spare; // that no step uses
static const char *failure;  // the reason why the recording has ended; NULL: told, or none

static void lock_for_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void unlock_after_fork(void)
{
    pthread_mutex_unlock(&lock);
}

static void enter_child(void)
{
    frame_buffer_empty(&frames); // the parent writes them
    has_forked = true;
    pthread_mutex_unlock(&lock);
}

static void start(void)
{
    atomic_store(&wanted, output_wanted(&file, "SPRAG_RECORD"));
    const char *value = secure_getenv("SPRAG_RECORD_RESIDUAL");
    residuals = value && *value;
    // A child must not inherit the lock of a thread that it does not have.
    pthread_atfork(lock_for_fork, unlock_after_fork, enter_child);
}

static bool is_on(void)
{
    pthread_once(&once, start);
    return atomic_load_explicit(&wanted, memory_order_relaxed);
}

// ---- the file

static void fail(const char *why)
{
    atomic_store(&wanted, false);
    failure = why;
}

static void begin_locked(void)
{
    pthread_mutex_lock(&lock);
}

// Prints without the lock: the program's message handler may do anything.
static void end_locked(void)
{
    char name[PATH_MAX];
    const char *why = failure;
    failure = NULL;
    memcpy(name, file.name, why ? sizeof name : 1);
    pthread_mutex_unlock(&lock);
    if (why) {
        message_once("sprag: cannot record to %s: %s. The program runs on without it.", name, why);
    }
}

static bool write_header(void)
{
    size_t size;
    char *header = recording_header_make(&size);
    bool done = header && output_write(&file, header, size);
    if (!header) {
        file.failure = strerror(ENOMEM);
    }
    free(header);
    written = reserved = done ? (off_t)size : 0;
    return done;
}

static bool empty_file(void)
{
    bool done = !file.regular || ftruncate(file.descriptor, 0) == 0;
    file.failure = done ? NULL : strerror(errno);
    return done;
}

// A file that is not ours stays as it is.
static void leave_file(void)
{
    if (file.descriptor >= 0) {
        close(file.descriptor);
        file.descriptor = -1;
    }
}

// Another process that records to the file holds its lock. A recording replaces an older one.
static bool open_file(void)
{
    capture_clear(&all);
    if (!output_open(&file, O_WRONLY | O_CREAT) || !output_lock(&file, 0) ||
        !output_is_ours(&file, RECORDING_START) || !empty_file() || !write_header()) {
        fail(file.failure);
        leave_file();
    }
    return is_on();
}

// May this process write frames? A forked child may only to a file of its own.
static bool is_ready(void)
{
    bool moves = has_forked && output_is_per_process(&file);
    has_forked &= !moves;
    if (file.descriptor < 0 || moves) {
        return open_file();
    }
    if (has_forked) {
        atomic_store(&wanted, false);
    }
    return is_on();
}

// No part of a frame stays behind the whole ones, and no space that was set aside.
static void end_file(void)
{
    if (file.regular && ftruncate(file.descriptor, written) != 0) {
        reserved = written; // the reader leaves the part out
    }
}

// Cuts off the part of a frame that fitted where the rest could not be written.
static void cut_last_frame(void)
{
    off_t end = lseek(file.descriptor, 0, SEEK_CUR) - written;
    written += (off_t)frame_buffer_whole(&frames, end > 0 ? (size_t)end : 0);
    end_file();
}

// Space that the file system has set aside takes half as long to write. It is no part of the file.
static void reserve_space(off_t end)
{
    if (file.regular && end > reserved && !has_ended) {
        write_guard guard;
        write_guard_begin(&guard);
        reserved = end + RESERVE_SIZE;
        if (fallocate(file.descriptor, FALLOC_FL_KEEP_SIZE, written, reserved - written) != 0) {
            reserved = INT64_MAX; // other file systems, a full disk: the write itself tells
        }
        write_guard_end(&guard);
    }
}

static bool write_all(void)
{
    reserve_space(written + (off_t)frames.size);
    return output_write(&file, frames.data, frames.size);
}

static void write_frames(void)
{
    if (!output_is_open(&file)) {
        fail("the program has closed the file");
    } else if (write_all()) {
        written += (off_t)frames.size;
    } else {
        cut_last_frame();
        fail(file.failure);
    }
    frame_buffer_empty(&frames);
}

static double seconds_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void end_frame(void)
{
    double now = seconds_of(CLOCK_MONOTONIC);
    if (!frame_buffer_end(&frames)) {
        fail("no memory");
    }
    if (frames.size >= WRITE_SIZE || now > last + WRITE_TIME || !file.regular || has_ended) {
        write_frames();
        last = now;
    }
}

// The program exits. A thread that still records has the lock, and ODE may be gone.
__attribute__((destructor)) static void write_rest(void)
{
    if (pthread_mutex_trylock(&lock) == 0) {
        if (frames.size > 0 && !has_forked) {
            write_frames();
        }
        has_ended = true;
        if (!has_forked && output_is_open(&file)) {
            end_file();
        }
        if (failure) {
            char text[PATH_MAX + 256];
            write_guard guard;
            snprintf(text, sizeof text, "sprag: cannot record to %s: %s.", file.name, failure);
            message_make_plain(text);
            write_guard_begin(&guard);
            fprintf(stderr, "%s\n", text);
            write_guard_end(&guard);
        }
        failure = NULL;
        pthread_mutex_unlock(&lock);
    }
}

// ---- a step

static recorded_step *take_spare(void)
{
    recorded_step *step = spare;
    if (step) {
        spare = step->next;
        return step;
    }
    return calloc(1, sizeof *step);
}

recorded_step *recorder_begin(const world_state *w, bool lends_feedback)
{
    // ODE has to be one whose structs are known, also under its own methods.
    bool possible = is_on() && method_is_possible() && sprag_ode_lists_are_known();
    if (!is_on()) {
        return NULL;
    }
    begin_locked();
    if (!possible) {
        fail("the bodies of this ODE cannot be listed");
    }
    recorded_step *step = possible && is_ready() ? take_spare() : NULL;
    if (step) {
        step->number = w->statistics.steps + 1;
    }
    end_locked();
    if (step) {
        step_start_set(&step->begun, w->id);
        if (lends_feedback) {
            step_start_lend(&step->begun, w->id);
        }
        step->cpu = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    }
    return step;
}

bool recorder_wants_residual(void)
{
    return is_on() && residuals;
}

bool recorder_has_failed(void)
{
    return file.pattern && !is_on();
}

void recorder_taken(recorded_step *step)
{
    if (step) {
        step->cpu = seconds_of(CLOCK_THREAD_CPUTIME_ID) - step->cpu;
    }
}

static void write_step(const recorded_step *step, const world_state *w, stock called)
{
    frame_buffer_table(&frames, "STEP", sizeof(sprag_recorded_step));
    sprag_recorded_step *s = frame_buffer_add(&frames, 1);
    if (s) {
        dVector3 gravity;
        dWorldGetGravity(w->id, gravity);
        *s = (sprag_recorded_step){.world = (uint32_t)w->number,
                                   .quick = called == STOCK_QUICK,
                                   .number = step->number,
                                   .time = w->statistics.time,
                                   .step = w->statistics.step,
                                   .gravity = {gravity[0], gravity[1], gravity[2]},
                                   .cpu = step->cpu};
        strncpy(s->method, w->settings.method->name, sizeof s->method - 1);
    }
}

static void write_statistics(const world_state *w)
{
    double number[STATISTICS_MAX];
    int count = statistics_numbers(number, &w->statistics, w->settings.method->ours);
    frame_buffer_table(&frames, "STAT", sizeof *number);
    double *to = frame_buffer_add(&frames, (size_t)count);
    if (to) {
        memcpy(to, number, (size_t)count * sizeof *to);
    }
}

static void write_residual(double residual)
{
    frame_buffer_table(&frames, "MEAS", sizeof(sprag_recorded_measures));
    sprag_recorded_measures *m = frame_buffer_add(&frames, 1);
    if (m) {
        m->residual = residual;
    }
}

void recorder_end(recorded_step *step, const world_state *w, stock called, bool taken,
                  const double *residual)
{
    if (!step) {
        return;
    }
    begin_locked();
    if (taken && is_on() && is_ready()) {
        frame_buffer_begin(&frames);
        write_step(step, w, called);
        write_statistics(w);
        if (residual && residuals) {
            write_residual(*residual);
        }
        capture_write(&all, w, step->number, &step->begun, &frames);
        end_frame();
    } else {
        step_start_return(&step->begun, w->id);
    }
    step->next = spare;
    spare = step;
    end_locked();
}

void recorder_collides(dGeomID id)
{
    if (is_on()) {
        pthread_mutex_lock(&lock);
        shapes_add_root(&all.shapes, id);
        pthread_mutex_unlock(&lock);
    }
}

void recorder_destroys(dGeomID id)
{
    if (is_on()) {
        pthread_mutex_lock(&lock);
        shapes_forget_root(&all.shapes, id);
        pthread_mutex_unlock(&lock);
    }
}

void recorder_write(void)
{
    if (is_on()) {
        begin_locked();
        if (frames.size > 0 && is_ready()) {
            write_frames();
        }
        end_locked();
    }
}
