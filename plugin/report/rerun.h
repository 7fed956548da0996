// This command once more, as a child.
#ifndef SPRAG_RERUN_H
#define SPRAG_RERUN_H

// Runs `sprag ARGUMENTS` with standard output to /dev/null, in a directory (NULL: this one).
// arguments: the subcommand first; ends with NULL. Returns its exit code; -1 after printing why it
// cannot be started.
int rerun(const char *directory, char *const *arguments);

#endif
