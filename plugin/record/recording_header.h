// The first line of a recording: its tables, and the run that made it.
#ifndef SPRAG_RECORDING_HEADER_H
#define SPRAG_RECORDING_HEADER_H

#include <stddef.h>

#define RECORDING_START "{\"format\":\"sprag recording\"" // of every version

// A line of JSON as long as a multiple of 8 bytes, allocated. NULL: no memory.
char *recording_header_make(size_t *size);

#endif
