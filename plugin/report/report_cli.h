// The subcommands on recordings and solves. argv[0] is the name of the subcommand; the result is
// the exit code.
#ifndef SPRAG_REPORT_CLI_H
#define SPRAG_REPORT_CLI_H

int cli_export(int argc, char **argv); // export_command.c
int cli_report(int argc, char **argv); // report_command.c
int cli_replay(int argc, char **argv); // replay.c
int cli_dump(int argc, char **argv);   // dump.c

#endif
