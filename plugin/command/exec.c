// `sprag exec`: starts a program with libsprag.so in LD_PRELOAD. If that has no effect, the
// command prints a note before the program starts.
#define _GNU_SOURCE 1 // asprintf
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "arguments.h"
#include "cli.h"
#include "exec.h"
#include "recording_header.h"
#include "report.h"
#include "say.h"

#ifndef SPRAG_LIBDIR
#define SPRAG_LIBDIR "../lib" // absolute, or from the directory of the command
#endif

static const char help[] =
    "Usage: sprag exec [-m METHOD] [-o OPTIONS] [--stats FILE] [--record FILE] [-q] PROGRAM\n"
    "                  [ARGUMENTS...]\n"
    "\n"
    "Starts PROGRAM with libsprag.so in LD_PRELOAD, so that sprag takes over its dWorldStep and\n"
    "dWorldQuickStep. The same holds for programs that PROGRAM starts.\n"
    "\n"
    "  -m, --method METHOD   of `sprag list`\n"
    "  -o, --options OPTIONS name=value,... of `sprag options`, over those in SPRAG_OPTIONS\n"
    "      --stats FILE      appends a row per step to FILE, as CSV, as SPRAG_STATS does; %p in "
    "FILE\n"
    "                        stands for the process id\n"
    "      --record FILE     records every step to FILE, as SPRAG_RECORD does: bodies, contacts,\n"
    "                        forces, statistics; `sprag export` and `sprag report` read it\n"
    "  -q, --quiet           no notes on programs where sprag may have no effect\n"
    "  -h, --help            this text\n"
    "\n"
    "Exit code: that of PROGRAM; 127 not found, 126 cannot be executed, 2 wrong arguments, 1 "
    "failed.\n"
    "Example: sprag exec -m stribeck --stats steps.csv ./simulation\n";

// ---- Finding things

// Searches PATH as the shell does. Returns 0, EXIT_NOT_FOUND or EXIT_CANNOT_EXECUTE.
static int find_program(const char *name, char path[PATH_MAX])
{
    int code = EXIT_NOT_FOUND;
    const char *directories = getenv("PATH");
    const char *at = directories ? directories : "/bin:/usr/bin";
    for (bool more = *name; more;) {
        size_t length = strcspn(at, ":");
        struct stat is;
        int size = strchr(name, '/') ? snprintf(path, PATH_MAX, "%s", name)
                                     : snprintf(path, PATH_MAX, "%.*s%s%s", (int)length, at,
                                                length ? "/" : "./", name);
        if (size < PATH_MAX && stat(path, &is) == 0) {
            code = EXIT_CANNOT_EXECUTE;
            if (S_ISREG(is.st_mode) && access(path, X_OK) == 0) {
                return 0;
            }
        }
        more = !strchr(name, '/') && at[length];
        at += length + 1;
    }
    return code;
}

// The library beside the command, as in a build; or where both are installed.
static bool find_library(char path[PATH_MAX])
{
    static const char *const places[] = {".", "../lib", SPRAG_LIBDIR};
    char own[PATH_MAX], candidate[PATH_MAX + 64];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    own[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(own, '/');
    if (slash) {
        *slash = '\0';
    }
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        bool absolute = places[i][0] == '/';
        int size = snprintf(candidate, sizeof candidate, "%s%s%s/libsprag.so", absolute ? "" : own,
                            absolute ? "" : "/", places[i]);
        if (size < (int)sizeof candidate && realpath(candidate, path)) {
            return true;
        }
    }
    return false;
}

// ---- The program file

typedef struct image {
    const unsigned char *at;
    size_t size;
} image;

static image map_file(const char *path)
{
    image i = {0};
    struct stat is;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (fstat(descriptor, &is) == 0) { // an empty file has no map
        void *at = mmap(NULL, (size_t)is.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (at != MAP_FAILED) {
            i = (image){at, (size_t)is.st_size};
        }
    }
    if (descriptor >= 0) {
        close(descriptor);
    }
    return i;
}

static void unmap(image i)
{
    if (i.at) {
        munmap((void *)i.at, i.size);
    }
}

static bool is_elf(image i)
{
    return i.size >= sizeof(ElfW(Ehdr)) && memcmp(i.at, ELFMAG, SELFMAG) == 0;
}

// Class, byte order and machine: what must be the same of a program and a library.
static bool is_alike(image a, image b)
{
    ElfW(Ehdr) p, q;
    memcpy(&p, a.at, sizeof p);
    memcpy(&q, b.at, sizeof q);
    return p.e_ident[EI_CLASS] == q.e_ident[EI_CLASS] && p.e_ident[EI_DATA] == q.e_ident[EI_DATA] &&
           p.e_machine == q.e_machine;
}

// The dynamic linker that a program asks for: "" for none, so that nothing can be preloaded.
// Returns false for an image that makes no sense.
static bool read_linker(image i, char path[PATH_MAX])
{
    ElfW(Ehdr) head;
    memcpy(&head, i.at, sizeof head);
    path[0] = '\0';
    for (size_t k = 0; k < head.e_phnum; k++) {
        ElfW(Phdr) part;
        size_t at = head.e_phoff + k * sizeof part;
        if (head.e_phentsize != sizeof part || head.e_phoff > i.size || at + sizeof part > i.size) {
            return false;
        }
        memcpy(&part, i.at + at, sizeof part);
        if (part.p_type == PT_INTERP) {
            size_t size = part.p_filesz;
            if (!size || size > PATH_MAX || part.p_offset > i.size ||
                size > i.size - part.p_offset) {
                return false;
            }
            memcpy(path, i.at + part.p_offset, size);
            return path[size - 1] == '\0';
        }
    }
    return true;
}

// Whether the listing of a dynamic linker has a line like "libode.so.8 => /usr/lib/libode.so.8
// (0x..)".
static bool lists_ode(FILE *listing)
{
    char *line = NULL;
    size_t size = 0;
    bool found = false;
    while (getline(&line, &size, listing) > 0) {
        const char *name = line + strspn(line, " \t");
        const char *slash = memrchr(name, '/', strcspn(name, " \n"));
        found = found || strncmp(slash ? slash + 1 : name, "libode", 6) == 0;
    }
    free(line);
    return found;
}

// Asks the program's own dynamic linker, which alone knows all the places to look in. It maps the
// libraries and runs none of them.
static bool uses_ode(const char *linker, const char *program)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return true; // unknown: print no note
    }
    pid_t child = fork();
    if (child == 0) {
        int nothing = open("/dev/null", O_RDWR);
        unsetenv("LD_PRELOAD"); // may have a libode of its own
        dup2(nothing, STDIN_FILENO);
        dup2(ends[1], STDOUT_FILENO);
        dup2(nothing, STDERR_FILENO);
        execl(linker, linker, "--list", program, (char *)NULL);
        _exit(EXIT_NOT_FOUND);
    }
    close(ends[1]);
    FILE *listing = fdopen(ends[0], "r");
    bool found = listing && lists_ode(listing);
    int status = 0;
    if (listing) {
        fclose(listing);
    } else {
        close(ends[0]);
    }
    bool listed = child > 0 && waitpid(child, &status, 0) == child && status == 0;
    return found || !listed;
}

static void note(const char *program, const char *text)
{
    cli_note("%s %s", program, text);
}

static void inspect(const char *name, const char *path, const char *library)
{
    char linker[PATH_MAX];
    struct stat is;
    image program = map_file(path), ours = map_file(library);
    if (stat(path, &is) == 0 && (((is.st_mode & S_ISUID) && is.st_uid != getuid()) ||
                                 ((is.st_mode & S_ISGID) && is.st_gid != getgid()) ||
                                 getxattr(path, "security.capability", NULL, 0) > 0)) {
        note(name, "runs with rights of its own (setuid), and the system ignores LD_PRELOAD there: "
                   "sprag has no effect");
    } else if (!is_elf(program) || !is_elf(ours)) {
        // A script or an unreadable file: the programs that it starts are unknown.
    } else if (!is_alike(program, ours)) {
        note(name, "is built for another kind of machine than libsprag.so: sprag has no effect");
    } else if (!read_linker(program, linker)) {
        note(name, "has an ELF header that cannot be read: sprag may have no effect");
    } else if (!*linker) {
        note(name, "is statically linked, and LD_PRELOAD has no effect there: link it with "
                   "libsprag.a (see plugin/README.md, Static ODE)");
    } else if (!uses_ode(linker, path)) {
        note(name, "does not use a dynamic libode: sprag has no effect unless it loads one later "
                   "(with ODE linked in, see plugin/README.md, Static ODE)");
    }
    unmap(program);
    unmap(ours);
}

// ---- The environment of the program

// An entry of LD_PRELOAD ends at a space or colon.
static bool set_preload(const char *library)
{
    const char *before = getenv("LD_PRELOAD");
    char *value;
    if (strpbrk(library, " :\t\n")) {
        cli_fail(0,
                 "%s has a space or colon in its path, which LD_PRELOAD cannot take: move the "
                 "folder, or install sprag to another one (cmake --install build --prefix DIR)",
                 library);
        return false;
    }
    if (asprintf(&value, "%s%s%s", library, before && *before ? ":" : "", before ? before : "") <
        0) {
        cli_fail(0, "no memory");
        return false;
    }
    bool set = setenv("LD_PRELOAD", value, 1) == 0;
    free(value);
    return set || cli_fail(0, "no memory");
}

// Appends to SPRAG_OPTIONS: of two values for one option the later counts.
static bool set_options(const char *method_name, const char *options)
{
    const char *before = getenv("SPRAG_OPTIONS");
    char *value;
    if (!method_name && !options) {
        return true;
    }
    if (asprintf(&value, "%s%s%s%s%s%s", before ? before : "", before && *before ? "," : "",
                 method_name ? "method=" : "", method_name ? method_name : "",
                 method_name && options ? "," : "", options ? options : "") < 0) {
        cli_fail(0, "no memory");
        return false;
    }
    bool set = setenv("SPRAG_OPTIONS", value, 1) == 0;
    free(value);
    return set || cli_fail(0, "no memory");
}

// ---- The subcommand

int exec_program(char **arguments, const char *method_name, const char *options, bool quiet)
{
    char library[PATH_MAX], program[PATH_MAX];
    int code = find_program(arguments[0], program);
    if (code == EXIT_NOT_FOUND) {
        return cli_fail(code, "\"%s\" is not found", arguments[0]);
    }
    if (code != 0) {
        return cli_fail(code, "\"%s\" cannot be executed: %s", arguments[0], strerror(EACCES));
    }
    if (!find_library(library)) {
        return cli_fail(EXIT_FAILURE, "libsprag.so is neither beside this command nor in %s",
                        SPRAG_LIBDIR);
    }
    if (!quiet) {
        inspect(arguments[0], program, library);
    }
    if (!set_preload(library) || !set_options(method_name, options)) {
        return EXIT_FAILURE;
    }
    execvp(arguments[0], arguments);
    return cli_fail(EXIT_CANNOT_EXECUTE, "%s cannot be executed: %s%s", arguments[0],
                    strerror(errno), errno == ENOENT ? " (what it names as its interpreter)" : "");
}

int cli_exec(int argc, char **argv)
{
    const char *method_name = NULL, *options = NULL, *stats = NULL, *record = NULL;
    bool quiet = false;
    const argument all[] = {{"method", 'm', ARGUMENT_TEXT, .to = &method_name},
                            {"options", 'o', ARGUMENT_TEXT, .to = &options},
                            {"stats", 0, ARGUMENT_FILE, .to = &stats},
                            {"record", 0, ARGUMENT_FILE, .to = &record},
                            {"quiet", 'q', ARGUMENT_FLAG, .to = &quiet},
                            {0}};
    settings s;
    int code = arguments_read(all, argc, argv, help, true);
    if (code >= 0) {
        return code;
    }
    if (optind == argc) {
        return cli_fail(EXIT_USAGE, "the name of a program is missing; see sprag exec --help");
    }
    if (!cli_read_settings(&s, options, method_name) ||
        (method_name && !cli_read_method(&s, method_name, strlen(method_name)))) {
        return EXIT_USAGE;
    }
    if (!quiet) {
        cli_note_unheeded(options, &(const method *){s.method}, 1);
    }
    if ((stats && !cli_set_output("SPRAG_STATS", stats, STATISTICS_START)) ||
        (record && !cli_set_output("SPRAG_RECORD", record, RECORDING_START))) {
        return EXIT_FAILURE;
    }
    return exec_program(argv + optind, method_name, options, quiet);
}
