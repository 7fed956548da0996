// The file of statistics. A row is one write() to a file opened for appending: rows of two threads,
// or of two processes that share a file, do not mix, a crash loses no row, and a forked child has
// no buffer with rows of its parent. The file is opened at the first step, because LD_PRELOAD loads
// sprag into every child process and most of them never step a world.
#include "report.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "message.h"
#include "output.h"
#include "plugin_constants.h"
#include "statistics.h"
#include "text.h"

enum { ROW_MAX = STATISTICS_TEXT_MAX + 128 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool wanted;                      // whether SPRAG_STATS is set; written by start() only
static output file = {.descriptor = -1}; // read and written under the lock

static void lock_for_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void unlock_after_fork(void)
{
    pthread_mutex_unlock(&lock);
}

static void start(void)
{
    wanted = output_wanted(&file, "SPRAG_STATS");
    // A child must not inherit the lock of a thread that it does not have.
    pthread_atfork(lock_for_fork, unlock_after_fork, unlock_after_fork);
}

static size_t print_names(char names[ROW_MAX])
{
    size_t length = sizeof STATISTICS_START - 1;
    memcpy(names, STATISTICS_START, length);
    length += statistics_print_names(names + length);
    names[length++] = '\n';
    names[length] = '\0';
    return length;
}

// May rows follow what the file holds? A name in /dev may lead to the output of the program.
static bool takes_rows(const char *names)
{
    return strncmp(file.name, "/dev/", 5) == 0 || output_is_ours(&file, names);
}

// An empty file gets the column names. The lock on the file keeps other processes from writing a
// row before them.
static bool open_file(void)
{
    char names[ROW_MAX];
    struct stat is = {0};
    size_t length = print_names(names);
    if (!output_open(&file, O_WRONLY | O_CREAT | O_APPEND)) {
        return false;
    }
    bool locked = output_lock(&file, LOCK_COMES);
    bool has_names = fstat(file.descriptor, &is) == 0 && is.st_size > 0;
    bool done = has_names ? takes_rows(names) : output_write(&file, names, length);
    if (locked) {
        output_unlock(&file);
    }
    return done;
}

static size_t print_row(char row[ROW_MAX], const world_state *world)
{
    int length = text_print(row, ROW_MAX, "%ld,%d,%s", (long)getpid(), world->number,
                            world->settings.method->name);
    size_t end = (size_t)length + statistics_print_row(row + length, &world->statistics,
                                                       world->settings.method->ours);
    row[end] = '\n';
    return end + 1;
}

void report_step(const world_state *world)
{
    char row[ROW_MAX];
    const char *failure = NULL;
    pthread_once(&once, start);
    if (!wanted || world->is_trial) {
        return;
    }
    pthread_mutex_lock(&lock);
    if (file.pattern) {
        size_t length = print_row(row, world);
        if (!(output_is_open(&file) || open_file()) || !output_write(&file, row, length)) {
            failure = file.failure;
            free(file.pattern);
            file.pattern = NULL; // do not try again
        }
    }
    pthread_mutex_unlock(&lock);
    if (failure) {
        message_once("sprag: cannot write the statistics to %s: %s. The program runs without them.",
                     file.name, failure);
    }
}
