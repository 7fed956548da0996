// The `sprag` command and its short subcommands.
#define _POSIX_C_SOURCE 200809L // unsetenv
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arguments.h"
#include "method.h"
#include "models.h"
#include "report_cli.h"
#include "say.h"
#include "sprag.h"

typedef struct subcommand {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} subcommand;

static int list(int argc, char **argv);
static int print_options(int argc, char **argv);

static const subcommand subcommands[] = {
    {"exec", cli_exec, "starts a program with its ODE steps taken over"},
    {"compare", cli_compare, "compares methods side by side, on models or on a program of yours"},
    {"run", cli_run, "runs a model under one method"},
    {"export", cli_export, "writes a recording as CSV or glTF"},
    {"report", cli_report, "writes a page with plots and a 3-D replay of recordings"},
    {"replay", cli_replay, "runs a recorded command again and compares the runs"},
    {"dump", cli_dump, "writes one contact solve to a file, for bug reports"},
    {"list", list, "names the models and the methods"},
    {"options", print_options, "names the options, their defaults and meaning"},
    {0},
};

static void print_help(FILE *to)
{
    fputs("Usage: sprag COMMAND [ARGUMENTS...]\n"
          "\n"
          "A better contact step for programs that use the Open Dynamics Engine.\n"
          "\n",
          to);
    for (const subcommand *s = subcommands; s->name; s++) {
        fprintf(to, "  %-9s %s\n", s->name, s->summary);
    }
    fputs("\n"
          "  --version    prints the version\n"
          "  -h, --help   prints this text; before or after a command: the text of that command\n"
          "\n"
          "Exit code: 0 done, 1 failed, 2 wrong arguments; of exec: that of the program.\n"
          "\n"
          "Examples: sprag compare slope\n"
          "          sprag compare -- ./simulation --its-own-options\n"
          "          sprag exec ./simulation --its-own-options\n",
          to);
}

// Subcommands without arguments. Returns -1, or the exit code if the command ends here.
static int read_nothing(int argc, char **argv, const char *help)
{
    static const argument none = {0};
    int code = arguments_read(&none, argc, argv, help, false);
    if (code >= 0) {
        return code;
    }
    return optind == argc ? -1
                          : cli_fail(EXIT_USAGE, "%s takes no arguments; see sprag %s --help",
                                     argv[0], argv[0]);
}

static int list(int argc, char **argv)
{
    int code = read_nothing(argc, argv,
                            "Usage: sprag list\n\n"
                            "Names the models, their step, length and content; and the methods.\n");
    if (code >= 0) {
        return code;
    }
    int width = 8;
    for (const sprag_model *m = sprag_models; m->name; m++) {
        int length = (int)strlen(m->name);
        width = length > width ? length : width;
    }
    printf("  %-*s  %6s  %6s  content\n", width, "model", "step/s", "time/s");
    for (const sprag_model *m = sprag_models; m->name; m++) {
        printf("  %-*s  %6g  %6g  %s\n", width, m->name, m->step, m->seconds, m->summary);
    }
    printf("\n  %-*s  summary\n", width, "method");
    for (const method *m = methods; m->name; m++) {
        printf("  %-*s  %s\n", width, m->name, m->summary);
    }
    return EXIT_SUCCESS;
}

static int print_options(int argc, char **argv)
{
    int code = read_nothing(argc, argv,
                            "Usage: sprag options\n\n"
                            "Names the options that -o, SPRAG_OPTIONS and sprag_world_configure() "
                            "take.\n");
    if (code < 0) {
        settings_help(stdout);
        code = EXIT_SUCCESS;
    }
    return code;
}

static const subcommand *find_subcommand(const char *name)
{
    const subcommand *s = subcommands;
    while (s->name && strcmp(s->name, name) != 0) {
        s++;
    }
    return s->name ? s : NULL;
}

static int run(int argc, char **argv)
{
    const char *name = argv[1];
    const subcommand *s = find_subcommand(name);
    bool version = strcmp(name, "--version") == 0 || strcmp(name, "version") == 0;
    bool asks = strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0;
    if (s) {
        return s->run(argc - 1, argv + 1);
    }
    if (!version && !asks) {
        return cli_fail(EXIT_USAGE, "\"%s\" is not a command; see sprag --help", name);
    }
    if (asks && argc == 3 && (s = find_subcommand(argv[2]))) {
        return s->run(2, (char *[]){argv[2], "--help", NULL});
    }
    if (argc > 2) {
        return cli_fail(EXIT_USAGE, "%s takes %s, not \"%s\"", name,
                        asks ? "one command of sprag" : "no arguments", argv[2]);
    }
    if (version) {
        printf("sprag %s\n", sprag_version());
    } else {
        print_help(stdout);
    }
    return EXIT_SUCCESS;
}

// With libsprag.so in LD_PRELOAD, method=ode of this command would be stepped by that library.
static void start_without_preload(char **argv)
{
    const char *preload = getenv("LD_PRELOAD");
    bool steps = argv[1] && strcmp(argv[1], "exec") != 0;
    if (steps && preload && strstr(preload, "libsprag.so")) {
        unsetenv("LD_PRELOAD");
        execv("/proc/self/exe", argv);
    }
}

int main(int argc, char **argv)
{
    start_without_preload(argv);
    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    opterr = 0;
    dInitODE();
    int code = run(argc, argv);
    dCloseODE();
    if (fflush(stdout) != 0 || ferror(stdout)) {
        code = code ? code : cli_fail(EXIT_FAILURE, "cannot write to standard output");
    }
    return code;
}
