// Recordings as files for other programs. *end is set to recording_end.
#ifndef SPRAG_EXPORT_H
#define SPRAG_EXPORT_H

#include "film.h"

// One CSV file for each table, in a directory that is made if it is not there. false: message says
// why.
bool export_csv(const char *recording, const char *directory, const char **end,
                char message[REPORT_MESSAGE]);

// glTF 2.0, binary: a node for each body and an animation of each world; several worlds stand side
// by side. false: message says why.
bool export_gltf(const char *recording, const char *file, const char **end,
                 char message[REPORT_MESSAGE]);

// The number of whole frames; -1: message says why.
long export_count(const char *recording, const char **end, char message[REPORT_MESSAGE]);

#endif
