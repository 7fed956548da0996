// The options of a subcommand, from a table.
#ifndef SPRAG_ARGUMENTS_H
#define SPRAG_ARGUMENTS_H

#include <getopt.h> // optind
#include <stdbool.h>

typedef enum argument_kind {
    ARGUMENT_FLAG,   // to: bool
    ARGUMENT_TEXT,   // to: const char *
    ARGUMENT_FILE,   // the same, not "" or "-"
    ARGUMENT_NUMBER, // to: double, from least to most
    ARGUMENT_COUNT,  // the same, a whole number
    ARGUMENT_REFUSED // of another subcommand: `why` is printed
} argument_kind;

typedef struct argument {
    const char *name; // behind "--"; NULL: the end of the table
    char letter;      // behind "-"; 0: none
    argument_kind kind;
    void *to;
    double least, most;
    const char *why;
} argument;

// Reads the options in argv, of which argv[0] is the subcommand, by a table of at most 16; -h and
// --help print the help. The arguments that are left begin at optind. leading: the options end at
// the first of them; otherwise they may stand behind. Returns -1, or the exit code if the command
// ends here.
int arguments_read(const argument *all, int argc, char **argv, const char *help, bool leading);

#endif
