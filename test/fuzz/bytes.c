// Bytes as options, and as a recording that is read, exported and counted.
#define _GNU_SOURCE 1 // memfd_create
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "export.h"
#include "settings.h"
#include "sprag_recording.h"

// Options that are refused say why, and leave the settings as they were; others can be read again.
bool fuzz_options(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), message[MESSAGE_MAX] = "";
    settings s = settings_defaults(), before = s;
    bool fine = true;
    if (text) {
        memcpy(text, data, size);
        text[size] = '\0';
        if (settings_read(&s, text, message)) {
            settings again = s;
            fine = settings_read(&again, text, message) && !memcmp(&again, &s, sizeof s);
        } else {
            fine = *message && !memcmp(&before, &s, sizeof s);
        }
    }
    free(text);
    return fine;
}

static volatile double sum;

// Reads all that the frame has.
static void read_frame(const sprag_recording *r)
{
    for (uint32_t i = 0; i < r->poses; i++) {
        sum += r->pose[i].position[0] + r->pose[i].spin[2];
    }
    for (uint32_t i = 0; i < r->contacts; i++) {
        sum += (double)r->contact[i].position[0] + r->contact[i].state;
    }
    for (uint32_t i = 0; i < r->shapes; i++) {
        sum += r->shape[i].size[0];
    }
    for (uint32_t i = 0; i < r->statistics; i++) {
        sum += r->statistic[i];
    }
}

bool fuzz_recording(const uint8_t *data, size_t size)
{
    char name[64], folder[] = "/tmp/sprag_fuzz_XXXXXX", file[64], message[REPORT_MESSAGE] = "";
    const char *end;
    int descriptor = memfd_create("recording", 0);
    bool fine = descriptor >= 0 && write(descriptor, data, size) == (ssize_t)size;
    snprintf(name, sizeof name, "/proc/self/fd/%d", descriptor);
    sprag_recording r;
    if (fine && sprag_recording_open(&r, name)) {
        while (sprag_recording_next(&r)) {
            read_frame(&r);
        }
        sprag_recording_close(&r);
    } else if (fine) {
        fine = r.error && *r.error;
    }
    if (mkdtemp(folder)) {
        snprintf(file, sizeof file, "%s/film.glb", folder);
        fine &= export_gltf(name, file, &end, message) || *message;
        unlink(file);
        rmdir(folder);
    }
    close(descriptor);
    return fine;
}

#ifdef FUZZ_TARGET // libFuzzer's entry point: fuzz_options or fuzz_recording
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!FUZZ_TARGET(data, size)) {
        abort();
    }
    return 0;
}
#endif
