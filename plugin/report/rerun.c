#define _GNU_SOURCE 1 // chdir, environ
#include "rerun.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "say.h"

static void start(const char *own, const char *directory, char *const *arguments)
{
    size_t count = 0;
    while (arguments[count]) {
        count++;
    }
    char **all = calloc(count + 2, sizeof *all);
    int nothing = open("/dev/null", O_WRONLY);
    if (!all) {
        cli_fail(0, "no memory for the command");
    } else if (directory && chdir(directory) != 0) {
        cli_fail(0, "%s: %s", directory, strerror(errno));
    } else {
        all[0] = "sprag";
        memcpy(all + 1, arguments, count * sizeof *all);
        dup2(nothing, STDOUT_FILENO);
        execv(own, all);
        cli_fail(0, "%s: %s", own, strerror(errno));
    }
    _exit(EXIT_CANNOT_EXECUTE);
}

int rerun(const char *directory, char *const *arguments)
{
    char own[PATH_MAX];
    int status;
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    own[length > 0 ? length : 0] = '\0';
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        start(own, directory, arguments);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) {
        cli_fail(0, "cannot start a process: %s", strerror(errno));
        return -1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
