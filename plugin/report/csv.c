// Every table of a recording as CSV, by the columns that its header names: tables and columns of
// later versions too. Rows of a step have the world, the step and the time in front. Numbers read
// back as the same bits; what is not known, and the number of no body, is an empty cell.
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "export.h"
#include "write_guard.h"

enum { TABLES_MAX = 32, COLUMNS_MAX = 64, NAME_MAX_LENGTH = 64 };

typedef struct column {
    char name[NAME_MAX_LENGTH], type[8];
    int count;
    size_t size;         // bytes of one number
    const json_t *names; // of its values; NULL: numbers
} column;

typedef struct table {
    char tag[5];
    column column[COLUMNS_MAX];
    int columns;
    FILE *file;
} table;

typedef struct csv {
    json_t *header;
    table table[TABLES_MAX];
    int tables;
    char *message;
} csv;

static bool fail(csv *c, const char *file, const char *why)
{
    snprintf(c->message, REPORT_MESSAGE, "%.400s: %s", file, why);
    return false;
}

// ---- columns

static const struct {
    const char *tag, *column, *names;
} words[] = {{"CONT", "state", "states"}, {"SHAP", "kind", "shapes"}, {"EVNT", "kind", "events"}};

static bool read_column(csv *c, table *t, const char *text)
{
    column *to = &t->column[t->columns];
    if (t->columns == COLUMNS_MAX ||
        sscanf(text, "%63s %7s %d", to->name, to->type, &to->count) != 3 || to->count < 1) {
        return fail(c, t->tag, "the header has a column that this version cannot read");
    }
    to->size = (size_t)strtol(to->type + 1, NULL, 10);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!strcmp(t->tag, words[i].tag) && !strcmp(to->name, words[i].column)) {
            to->names = json_object_get(c->header, words[i].names);
        }
    }
    t->columns++;
    return to->size > 0;
}

static void print_column_names(const table *t)
{
    static const char *const three[] = {"x", "y", "z"}, *const four[] = {"w", "x", "y", "z"};
    for (int i = 0; i < t->columns; i++) {
        const column *c = &t->column[i];
        for (int k = 0; k < c->count; k++) {
            fprintf(t->file, i || k ? "," : "");
            if (c->count == 1) {
                fprintf(t->file, "%s", c->name);
            } else if (c->count == 3 || c->count == 4) {
                fprintf(t->file, "%s_%s", c->name, c->count == 3 ? three[k] : four[k]);
            } else {
                fprintf(t->file, "%s_%d", c->name, k);
            }
        }
    }
}

static void print_statistics_names(const csv *c, FILE *to)
{
    size_t i;
    json_t *name;
    json_array_foreach(json_object_get(c->header, "statistics"), i, name)
    {
        if (strcmp(json_string_value(name), "time") && strcmp(json_string_value(name), "step")) {
            fprintf(to, ",%s", json_string_value(name));
        }
    }
}

static const char *file_name(const char *tag)
{
    static const char *const names[][2] = {
        {"STEP", "steps"},  {"BODY", "bodies"},   {"SHAP", "shapes"}, {"VERT", "vertices"},
        {"POSE", "poses"},  {"CONT", "contacts"}, {"JOIN", "joints"}, {"TRIA", "triangles"},
        {"EVNT", "events"}, {"MEAS", "measures"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!strcmp(tag, names[i][0])) {
            return names[i][1];
        }
    }
    return tag;
}

static bool open_table(csv *c, const char *directory, const char *tag, const json_t *of)
{
    char path[4096];
    size_t i;
    json_t *text;
    table *t = &c->table[c->tables];
    if (strcmp(tag, "STAT") == 0) { // part of the steps
        return true;
    }
    if (c->tables == TABLES_MAX || strlen(tag) != 4 || strchr(tag, '/')) {
        return fail(c, tag, "the header has a table that this version cannot read");
    }
    memcpy(t->tag, tag, sizeof t->tag);
    json_array_foreach(json_object_get(of, "columns"), i, text)
    {
        if (!json_is_string(text) || !read_column(c, t, json_string_value(text))) {
            return fail(c, tag, "the header has a column that this version cannot read");
        }
    }
    bool fits =
        snprintf(path, sizeof path, "%s/%s.csv", directory, file_name(tag)) < (int)sizeof path;
    t->file = fits ? fopen(path, "w") : NULL;
    if (!t->file) {
        return fail(c, path, strerror(fits ? errno : ENAMETOOLONG));
    }
    c->tables++;
    if (strcmp(tag, "STEP") != 0) {
        fputs("at_world,at_step,at_time,", t->file);
    }
    print_column_names(t);
    if (strcmp(tag, "STEP") == 0) {
        print_statistics_names(c, t->file);
    }
    putc('\n', t->file);
    return true;
}

// ---- rows

static void print_number(FILE *to, const column *c, const char *at)
{
    uint32_t u;
    int64_t i;
    float f;
    double d;
    if (!strcmp(c->type, "u4")) {
        memcpy(&u, at, sizeof u);
        const char *name = json_string_value(json_array_get(c->names, u));
        if (name) {
            fputs(name, to);
        } else if (u != SPRAG_RECORDED_NONE) {
            fprintf(to, "%u", u);
        }
    } else if (!strcmp(c->type, "i8")) {
        memcpy(&i, at, sizeof i);
        fprintf(to, "%lld", (long long)i);
    } else if (!strcmp(c->type, "f4")) {
        memcpy(&f, at, sizeof f);
        if (isfinite(f)) {
            fprintf(to, "%.9g", (double)f);
        }
    } else if (!strcmp(c->type, "f8")) {
        memcpy(&d, at, sizeof d);
        if (isfinite(d)) {
            fprintf(to, "%.17g", d);
        }
    } else if (*c->type == 'S') {
        fprintf(to, "%.*s", (int)c->size, at);
    }
}

static void print_statistics(const csv *c, const sprag_recording *r, FILE *to)
{
    static const column number = {.type = "f8"};
    size_t i;
    json_t *name;
    json_array_foreach(json_object_get(c->header, "statistics"), i, name)
    {
        const char *text = json_string_value(name);
        if (!strcmp(text, "time") || !strcmp(text, "step")) {
            continue;
        }
        putc(',', to);
        if (i < r->statistics && !strcmp(text, "strategy") && r->statistic[i] >= 0) {
            const json_t *names = json_object_get(c->header, "strategies");
            const char *word = json_string_value(json_array_get(names, (size_t)r->statistic[i]));
            fputs(word ? word : "", to);
        } else if (i < r->statistics) {
            print_number(to, &number, (const char *)&r->statistic[i]);
        }
    }
}

static void print_entry(const csv *c, const table *t, const char *entry, const sprag_recording *r)
{
    bool is_step = !strcmp(t->tag, "STEP");
    if (!is_step) {
        fprintf(t->file, "%u,%lld,%.9g,", r->step->world, (long long)r->step->number,
                r->step->time);
    }
    for (int i = 0; i < t->columns; i++) {
        for (int k = 0; k < t->column[i].count; k++, entry += t->column[i].size) {
            fputs(i || k ? "," : "", t->file);
            print_number(t->file, &t->column[i], entry);
        }
    }
    if (is_step) {
        print_statistics(c, r, t->file);
    }
    putc('\n', t->file);
}

static size_t entry_size(const table *t)
{
    size_t size = 0;
    for (int i = 0; i < t->columns; i++) {
        size += t->column[i].size * (size_t)t->column[i].count;
    }
    return size;
}

static void print_frame(const csv *c, const sprag_recording *r)
{
    for (uint64_t at = 0; at < r->frame_size;) {
        const sprag_recorded_head *head = (const void *)(r->frame + at);
        for (int k = 0; k < c->tables; k++) {
            const table *t = &c->table[k];
            size_t size = entry_size(t);
            for (uint64_t i = 0;
                 i < head->count && !memcmp(head->tag, t->tag, 4) && size == head->entry; i++) {
                print_entry(c, t, (const char *)(head + 1) + i * size, r);
            }
        }
        at += (sizeof *head + head->count * head->entry + 7) / 8 * 8;
    }
}

static bool close_tables(csv *c, bool done, const char *directory)
{
    for (int i = 0; i < c->tables; i++) {
        bool failed = ferror(c->table[i].file);
        if ((fclose(c->table[i].file) != 0 || failed) && done) {
            done = fail(c, directory, "a file in it cannot be written");
        }
    }
    json_decref(c->header);
    return done;
}

bool export_csv(const char *recording, const char *directory, const char **end,
                char message[REPORT_MESSAGE])
{
    csv c = {.message = message};
    sprag_recording r;
    const char *tag;
    json_t *of;
    json_error_t error;
    write_guard guard;
    bool done = true;
    if (!sprag_recording_open(&r, recording)) {
        snprintf(message, REPORT_MESSAGE, "%.400s %s", recording, r.error);
        return false;
    }
    write_guard_begin(&guard);
    c.header = json_loadb(r.header, r.header_size, 0, &error);
    if (!c.header) {
        done = fail(&c, recording, "its first line is no JSON");
    } else if (mkdir(directory, 0777) != 0 && errno != EEXIST) {
        done = fail(&c, directory, strerror(errno));
    }
    json_object_foreach(json_object_get(c.header, "tables"), tag, of)
    {
        done = done && open_table(&c, directory, tag, of);
    }
    while (done && sprag_recording_next(&r)) {
        print_frame(&c, &r);
    }
    *end = recording_end(&r);
    sprag_recording_close(&r);
    done = close_tables(&c, done, directory);
    write_guard_end(&guard);
    return done;
}

long export_count(const char *recording, const char **end, char message[REPORT_MESSAGE])
{
    sprag_recording r;
    long count = 0;
    if (!sprag_recording_open(&r, recording)) {
        snprintf(message, REPORT_MESSAGE, "%s %s", recording, r.error);
        return -1;
    }
    while (sprag_recording_next(&r)) {
        count++;
    }
    *end = recording_end(&r);
    sprag_recording_close(&r);
    return count;
}
