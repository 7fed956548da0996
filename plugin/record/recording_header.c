#define _GNU_SOURCE 1 // open_memstream, dladdr
#include "recording_header.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <ode/ode.h>

#include "sprag.h"
#include "sprag_recording.h"
#include "statistics.h"
#include "text.h"

// The columns of each table: "name type count unit", separated by commas.
static const struct {
    const char *tag;
    size_t size;
    const char *columns;
} tables[] = {
    {"STEP", sizeof(sprag_recorded_step),
     "world u4 1,quick u4 1,method S16 1,number i8 1,time f8 1 s,step f8 1 s,gravity f8 3 m/s^2,"
     "cpu f8 1 s"},
    {"BODY", sizeof(sprag_recorded_body), "body u4 1,world u4 1,mass f8 1 kg,inertia f8 9 kg m^2"},
    {"SHAP", sizeof(sprag_recorded_shape),
     "geom u4 1,body u4 1,kind u4 1,world u4 1,vertex u4 1,vertices u4 1,triangle u4 1,"
     "triangles u4 1,size f8 3 m,position f8 3 m,quaternion f8 4"},
    {"VERT", sizeof(sprag_recorded_vertex), "at f4 3 m"},
    {"TRIA", sizeof(sprag_recorded_triangle), "vertex u4 3"},
    {"POSE", sizeof(sprag_recorded_pose),
     "body u4 1,flags u4 1,position f8 3 m,quaternion f8 4,velocity f8 3 m/s,spin f8 3 rad/s"},
    {"CONT", sizeof(sprag_recorded_contact),
     "body u4 2,geom u4 2,position f4 3 m,normal f4 3,depth f4 1 m,force f4 3 N,slip f4 1 m/s,"
     "friction f4 1,state u4 1"},
    {"JOIN", sizeof(sprag_recorded_joint),
     "joint u4 1,type u4 1,body u4 2,anchor f4 6 m,force f4 3 N,torque f4 3 N m"},
    {"EVNT", sizeof(sprag_recorded_event),
     "kind u4 1,body u4 2,geom u4 2,joint u4 1,time f8 1 s,position f4 3 m,normal f4 3,"
     "speed f4 1 m/s,unused f4 1"},
    {"STAT", sizeof(double), "value f8 1"},
    {"MEAS", sizeof(sprag_recorded_measures), "residual f8 1"},
};

static const char *const shape_kinds[] = {"nothing",  "sphere", "box", "capsule",
                                          "cylinder", "plane",  "mesh"};
static const char *const states[] = {"open", "stick", "slip", "unknown"};
static const char *const event_kinds[] = {"contact made", "contact lost", "limit reached",
                                          "slip begins",  "slip ends",    "stalled"};
_Static_assert(sizeof event_kinds / sizeof *event_kinds == SPRAG_EVENT_KINDS, "a name for each");

// ---- JSON

// A byte that is no UTF-8 becomes the character of that number.
static void print_string(FILE *to, const char *text)
{
    putc('"', to);
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        int length = text_sequence(at);
        if (!length || *at < 0x20 || *at == '"' || *at == '\\') {
            fprintf(to, "\\u%04x", *at++);
        } else {
            fwrite(at, 1, (size_t)length, to);
            at += length;
        }
    }
    putc('"', to);
}

static void print_names(FILE *to, const char *key, const char *const *name, int count)
{
    fprintf(to, ",\"%s\":[", key);
    for (int i = 0; i < count; i++) {
        fputs(i ? "," : "", to);
        print_string(to, name[i]);
    }
    putc(']', to);
}

// Each piece between separators as a string.
static void print_split(FILE *to, const char *text, const char *separators)
{
    putc('[', to);
    for (bool first = true; *text; first = false) {
        size_t length = strcspn(text, separators);
        fprintf(to, "%s\"%.*s\"", first ? "" : ",", (int)length, text);
        text += length + (text[length] != '\0');
    }
    putc(']', to);
}

static void print_tables(FILE *to)
{
    fputs(",\"tables\":{", to);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        fprintf(to, "%s\"%s\":{\"bytes\":%zu,\"columns\":", i ? "," : "", tables[i].tag,
                tables[i].size);
        print_split(to, tables[i].columns, ",");
        putc('}', to);
    }
    putc('}', to);
}

// ---- the run

static void print_arguments(FILE *to)
{
    FILE *from = fopen("/proc/self/cmdline", "rb");
    char *argument = NULL;
    size_t room = 0;
    fputs(",\"command\":[", to);
    for (int i = 0; from && getdelim(&argument, &room, '\0', from) > 0; i++) {
        fputs(i ? "," : "", to);
        print_string(to, argument);
    }
    putc(']', to);
    free(argument);
    if (from) {
        fclose(from);
    }
}

static void print_processor(FILE *to)
{
    FILE *from = fopen("/proc/cpuinfo", "r");
    char row[256], *name = NULL;
    while (from && !name && fgets(row, sizeof row, from)) {
        name = !strncmp(row, "model name", 10) ? strstr(row, ": ") : NULL;
    }
    fputs(",\"processor\":", to);
    if (name) {
        name[strcspn(name, "\n")] = '\0';
    }
    print_string(to, name ? name + 2 : "");
    if (from) {
        fclose(from);
    }
}

static void print_variable(FILE *to, const char *key, const char *value)
{
    fprintf(to, ",\"%s\":", key);
    print_string(to, value ? value : "");
}

// The file that this code is in, libsprag.so or the program, and a hash of it (FNV-1a).
static void print_library(FILE *to)
{
    Dl_info at = {0};
    uint64_t hash = 14695981039346656037u;
    char text[32] = "", buffer[1 << 14]; // without memory stdio would read byte by byte
    bool found = dladdr((const void *)(uintptr_t)print_library, &at) && strstr(at.dli_fname, ".so");
    const char *name = found ? at.dli_fname : "/proc/self/exe";
    FILE *from = fopen(name, "rb");
    if (from) {
        setvbuf(from, buffer, _IOFBF, sizeof buffer);
    }
    for (int c; from && (c = getc_unlocked(from)) != EOF;) {
        hash = (hash ^ (unsigned char)c) * 1099511628211u;
    }
    if (from) {
        fclose(from);
        snprintf(text, sizeof text, "%016llx", (unsigned long long)hash);
    }
    print_variable(to, "library", found ? name : "");
    print_variable(to, "library_hash", text);
}

static void print_run(FILE *to)
{
    char text[4096] = "";
    struct utsname system = {0};
    time_t now = time(NULL);
    struct tm utc;
    print_arguments(to);
    print_variable(to, "directory", getcwd(text, sizeof text) ? text : "");
    print_variable(to, "options", getenv("SPRAG_OPTIONS"));
    print_variable(to, "preload", getenv("LD_PRELOAD"));
    ssize_t length = readlink("/proc/self/exe", text, sizeof text - 1);
    text[length > 0 ? length : 0] = '\0';
    print_variable(to, "program", text);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    print_variable(to, "started", text);
    if (uname(&system) == 0) {
        print_variable(to, "host", system.nodename);
        snprintf(text, sizeof text, "%s %s %s", system.sysname, system.release, system.machine);
        print_variable(to, "system", text);
    }
    print_processor(to);
    print_variable(to, "sprag", SPRAG_VERSION);
    print_library(to);
    print_variable(to, "ode", dGetConfiguration());
}

static void print_header(FILE *to)
{
    char names[STATISTICS_TEXT_MAX];
    const char *strategy[SPRAG_STRATEGIES];
    for (int i = 0; i < SPRAG_STRATEGIES; i++) {
        strategy[i] = sprag_strategy_name((sprag_strategy)i);
    }
    statistics_print_names(names);
    fputs(RECORDING_START ",\"version\":1,\"byte_order\":\"little\"", to);
    print_tables(to);
    fputs(",\"statistics\":", to);
    print_split(to, names + 1, ","); // behind the first comma
    print_names(to, "strategies", strategy, SPRAG_STRATEGIES);
    print_names(to, "shapes", shape_kinds, sizeof shape_kinds / sizeof *shape_kinds);
    print_names(to, "states", states, sizeof states / sizeof *states);
    print_names(to, "events", event_kinds, sizeof event_kinds / sizeof *event_kinds);
    print_run(to);
    putc('}', to);
}

char *recording_header_make(size_t *size)
{
    char *text = NULL;
    FILE *to = open_memstream(&text, size);
    if (!to) {
        return NULL;
    }
    print_header(to);
    for (long length = ftell(to); length % 8 != 7; length++) {
        putc(' ', to);
    }
    putc('\n', to);
    bool failed = ferror(to);
    if (fclose(to) != 0 || failed) {
        free(text);
        return NULL;
    }
    return text;
}
