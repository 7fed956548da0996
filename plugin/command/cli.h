// The subcommands that have a file of their own. argv[0] is the name of the subcommand; the result
// is the exit code.
#ifndef SPRAG_CLI_H
#define SPRAG_CLI_H

int cli_exec(int argc, char **argv);     // exec.c
int cli_run(int argc, char **argv);      // compare.c
int cli_compare(int argc, char **argv);  // compare.c: of models; with "--", cli_in_place
int cli_in_place(int argc, char **argv); // in_place.c

extern const char compare_help[]; // compare.c

#endif
