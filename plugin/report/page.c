// The page is a template (page_template.html, from the sources in page/) with the data as JSON in
// it. Poses and contacts are arrays of floats in base64.
#define _GNU_SOURCE 1 // getdelim
#include "page.h"
#include "write_guard.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "say.h"

// The template, as bytes.
__asm__(".section .rodata\n"
        ".globl page_template, page_template_end\n"
        ".hidden page_template, page_template_end\n"
        "page_template:\n"
        ".incbin \"" PAGE_TEMPLATE "\"\n"
        "page_template_end:\n"
        ".byte 0\n"
        ".previous\n");
extern const char page_template[], page_template_end[];

enum {
    FRAMES_MOST = 600,       // of each world, in the replay
    FLOATS_MOST = 3000000,   // of poses and contacts, in the whole page
    TRIANGLES_MOST = 200000, // of meshes, of a world
    POINTS_MOST = 20000,     // of a plot
    POSE = 7,                // floats: position, quaternion
    CONTACT = 11             // floats: point, normal, force, depth, state
};

// ---- JSON

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *base64(const float *data, size_t count)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *from = (const unsigned char *)data;
    size_t size = count * sizeof *data, length = (size + 2) / 3 * 4;
    char *text = malloc(length + 1), *to = text;
    for (size_t i = 0; text && i < size; i += 3) {
        unsigned more = i + 1 < size ? from[i + 1] : 0, last = i + 2 < size ? from[i + 2] : 0;
        unsigned bits = (unsigned)from[i] << 16 | more << 8 | last;
        *to++ = digit[bits >> 18];
        *to++ = digit[bits >> 12 & 63];
        *to++ = i + 1 < size ? digit[bits >> 6 & 63] : '=';
        *to++ = i + 2 < size ? digit[bits & 63] : '=';
    }
    json_t *string = text ? json_stringn(text, length) : NULL;
    free(text);
    return string;
}

// ---- figures by step

// If there are too many steps for a plot, the worst of several neighbours stands for them.
static json_t *series(const film_world *w, size_t figure, double unit)
{
    int stride = (w->steps + POINTS_MOST - 1) / POINTS_MOST;
    json_t *all = json_array();
    for (int i = 0; i < w->steps; i += stride) {
        double value = NAN;
        for (int k = i; k < w->steps && k < i + stride; k++) {
            value =
                fmax(value, *(const double *)(const void *)((const char *)&w->step[k] + figure));
        }
        json_array_append_new(all, number(value * unit));
    }
    return all;
}

static json_t *steps_of(const film_world *w)
{
    static const struct {
        const char *name;
        size_t figure;
        double unit;
    } all[] = {{"time", offsetof(film_step, time), 1},
               {"cpu", offsetof(film_step, cpu), 1e6},
               {"depth", offsetof(film_step, depth), 1},
               {"mean_depth", offsetof(film_step, mean_depth), 1},
               {"slip", offsetof(film_step, slip), 1},
               {"energy", offsetof(film_step, energy), 1},
               {"residual", offsetof(film_step, residual), 1},
               {"joint_gap", offsetof(film_step, joint_gap), 1},
               {"iterations", offsetof(film_step, iterations), 1},
               {"contacts", offsetof(film_step, contacts), 1},
               {"strategy", offsetof(film_step, strategy), 1},
               {"fallbacks", offsetof(film_step, fallbacks), 1}};
    json_t *object = json_object();
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        json_object_set_new(object, all[i].name, series(w, all[i].figure, all[i].unit));
    }
    return object;
}

// ---- shapes

static json_t *vertices_of(const film_shape *s, uint32_t *triangles)
{
    *triangles += s->shape.triangles;
    if (!s->shape.triangles || *triangles > TRIANGLES_MOST) {
        return json_null();
    }
    float *corner = malloc(9 * (size_t)s->shape.triangles * sizeof *corner);
    for (uint32_t i = 0; corner && i < 3 * s->shape.triangles; i++) {
        memcpy(corner + 3 * (size_t)i, s->vertex[s->triangle[i / 3].vertex[i % 3]].at,
               3 * sizeof *corner);
    }
    json_t *text = corner ? base64(corner, 9 * (size_t)s->shape.triangles) : NULL;
    free(corner);
    return text;
}

// The step from which another shape has taken the place of this one.
static int replaced_at(const film_world *w, int i)
{
    for (int k = i + 1; k < w->shapes; k++) {
        if (w->shape[k].shape.geom == w->shape[i].shape.geom) {
            return w->shape[k].from;
        }
    }
    return w->steps;
}

static json_t *numbers(const double *from, int count)
{
    json_t *array = json_array();
    for (int k = 0; k < count; k++) {
        json_array_append_new(array, number(from[k]));
    }
    return array;
}

// NULL: no memory.
static json_t *shapes_of(const film *f, const film_world *w)
{
    const json_t *kinds = json_object_get(f->header, "shapes");
    json_t *all = json_array();
    uint32_t triangles = 0;
    for (int i = 0; i < w->shapes; i++) {
        const sprag_recorded_shape *s = &w->shape[i].shape;
        const char *kind = json_string_value(json_array_get(kinds, s->kind));
        json_t *body = s->body == SPRAG_RECORDED_NONE ? json_null() : json_integer(s->body);
        if (s->body != SPRAG_RECORDED_NONE && !film_body_of(w, s->body)) {
            json_decref(body);
            continue;
        }
        json_t *shape = json_pack("{s:o, s:s, s:o, s:o, s:o, s:i, s:i, s:o}", "body", body, "kind",
                                  kind ? kind : "nothing", "size", numbers(s->size, 3), "position",
                                  numbers(s->position, 3), "quaternion", numbers(s->quaternion, 4),
                                  "from", w->shape[i].from, "until", replaced_at(w, i), "vertices",
                                  vertices_of(&w->shape[i], &triangles));
        if (json_array_append_new(all, shape) != 0) {
            json_decref(all);
            return NULL;
        }
    }
    return all;
}

// ---- the replay

static size_t floats_of(const film_world *w)
{
    size_t count = (size_t)w->frames * (size_t)w->bodies * POSE;
    for (int i = 0; i < w->frames; i++) {
        count += (size_t)w->frame[i].contacts * CONTACT;
    }
    return count;
}

static json_t *poses_of(const film_world *w)
{
    size_t count = (size_t)w->frames * (size_t)w->bodies * POSE;
    float *data = malloc(count * sizeof *data);
    for (size_t i = 0; data && i < count; i++) {
        data[i] = NAN; // of a body that is not there
    }
    for (int i = 0; data && i < w->frames; i++) {
        for (uint32_t k = 0; k < w->frame[i].poses; k++) {
            const sprag_recorded_pose *p = &w->frame[i].pose[k];
            const film_body *b = film_body_of(w, p->body);
            float *to = data + ((size_t)i * (size_t)w->bodies + (size_t)(b - w->body)) * POSE;
            for (int n = 0; b && n < POSE; n++) {
                to[n] = (float)(n < 3 ? p->position[n] : p->quaternion[n - 3]);
            }
        }
    }
    json_t *text = data ? base64(data, count) : NULL;
    free(data);
    return text;
}

static json_t *contacts_of(const film_world *w)
{
    size_t count = floats_of(w) - (size_t)w->frames * (size_t)w->bodies * POSE;
    float *data = malloc(count * sizeof *data), *to = data;
    for (int i = 0; data && i < w->frames; i++) {
        for (uint32_t k = 0; k < w->frame[i].contacts; k++, to += CONTACT) {
            const sprag_recorded_contact *c = &w->frame[i].contact[k];
            memcpy(to, c->position, sizeof c->position);
            memcpy(to + 3, c->normal, sizeof c->normal);
            memcpy(to + 6, c->force, sizeof c->force);
            to[9] = c->depth;
            to[10] = (float)(c->state > SPRAG_RECORDED_UNKNOWN ? SPRAG_RECORDED_UNKNOWN : c->state);
        }
    }
    json_t *text = data ? base64(data, count) : NULL;
    free(data);
    return text;
}

static json_t *frames_of(const film_world *w)
{
    json_t *step = json_array(), *time = json_array(), *contacts = json_array();
    for (int i = 0; i < w->frames; i++) {
        json_array_append_new(step, json_integer(w->frame[i].step));
        json_array_append_new(time, number(w->step[w->frame[i].step].time));
        json_array_append_new(contacts, json_integer(w->frame[i].contacts));
    }
    return json_pack("{s:o, s:o, s:o}", "step", step, "time", time, "contacts", contacts);
}

static json_t *header_of(const film *f)
{
    static const char *const kept[] = {"command", "directory",   "options", "started",
                                       "system",  "processor",   "sprag",   "ode",
                                       "library", "library_hash"};
    json_t *header = json_object();
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        json_object_set(header, kept[i], json_object_get(f->header, kept[i]));
    }
    return header;
}

static json_t *run_of(const film *f, const film_world *w)
{
    char hash[32];
    json_t *bodies = json_array();
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)w->hash);
    for (int i = 0; i < w->bodies; i++) {
        json_array_append_new(bodies, json_integer(w->body[i].body));
    }
    return json_pack("{s:s, s:s, s:i, s:o, s:s, s:b, s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "method",
                     w->method, "file", f->file, "world", (int)w->number, "header", header_of(f),
                     "hash", hash, "truncated", f->end != NULL, "total", w->steps, "steps",
                     steps_of(w), "bodies", bodies, "shapes", shapes_of(f, w), "frames",
                     frames_of(w), "poses", poses_of(w), "contacts", contacts_of(w));
}

// Names that tell the runs apart: the method, and a number from the second of one method on.
static void name_runs(json_t *runs)
{
    size_t i, k;
    json_t *run, *other;
    json_array_foreach(runs, i, run)
    {
        const char *method = json_string_value(json_object_get(run, "method"));
        char name[64];
        int before = 0;
        json_array_foreach(runs, k, other)
        {
            before += k < i && !strcmp(json_string_value(json_object_get(other, "method")), method);
        }
        snprintf(name, sizeof name, before ? "%s %d" : "%s", method, before + 1);
        json_object_set_new(run, "name", json_string(name));
    }
}

// Loads the recordings. Long runs, and runs of many bodies, get fewer frames.
static bool load(const page *p, film *films, char message[REPORT_MESSAGE])
{
    double room = (double)FLOATS_MOST, need = 0;
    for (int frames = FRAMES_MOST; frames > 0; frames = (int)(frames * room / need)) {
        need = 0;
        for (int i = 0; i < p->recordings; i++) {
            film_free(&films[i]);
            if (!film_load(&films[i], p->recording[i], frames, message)) {
                return false;
            }
            for (int k = 0; k < films[i].worlds; k++) {
                need += (double)floats_of(&films[i].world[k]);
            }
        }
        if (need <= room || frames < 10) {
            break;
        }
    }
    for (int i = 0; i < p->recordings && !p->passing; i++) {
        cli_note_end(p->recording[i], films[i].end);
    }
    return true;
}

static json_t *runs_of(const page *p, char message[REPORT_MESSAGE])
{
    film *films = calloc((size_t)p->recordings, sizeof *films);
    snprintf(message, REPORT_MESSAGE, "no memory for the page");
    json_t *runs = films && load(p, films, message) ? json_array() : NULL;
    for (int i = 0; runs && i < p->recordings; i++) {
        for (int k = 0; k < films[i].worlds; k++) {
            json_t *run = run_of(&films[i], &films[i].world[k]);
            if (p->passing) {
                json_object_del(run, "file");
            }
            if (json_array_append_new(runs, run) != 0) {
                snprintf(message, REPORT_MESSAGE, "no memory for %s", p->recording[i]);
                json_decref(runs);
                runs = NULL;
                break;
            }
        }
    }
    for (int i = 0; films && i < p->recordings; i++) {
        film_free(&films[i]);
    }
    free(films);
    if (runs) {
        name_runs(runs);
    }
    return runs;
}

// ---- the file

static json_t *own_command(void)
{
    FILE *from = fopen("/proc/self/cmdline", "rb");
    char *word = NULL;
    size_t room = 0;
    json_t *command = json_array();
    while (from && getdelim(&word, &room, '\0', from) > 0) {
        json_array_append_new(command, json_string(word));
    }
    free(word);
    if (from) {
        fclose(from);
    }
    return command;
}

static json_t *data_of(const page *p, char message[REPORT_MESSAGE])
{
    char made[64];
    time_t now = time(NULL);
    struct tm utc;
    json_t *runs = runs_of(p, message);
    if (!runs) {
        return NULL;
    }
    strftime(made, sizeof made, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    json_t *first = json_object_get(json_array_get(runs, 0), "header");
    json_t *data =
        json_pack("{s:s, s:s, s:O?, s:o, s:o}", "sprag", SPRAG_VERSION, "made", made, "library",
                  json_object_get(first, "library_hash"), "command", own_command(), "runs", runs);
    if (data && p->comparison) {
        json_object_set_new(data, "comparison", json_deep_copy(p->comparison));
    }
    return data;
}

// In a script of HTML no "<" may begin a tag.
static int write_text(const char *text, size_t size, void *to)
{
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '<') {
            fputs("\\u003c", to);
        } else {
            putc(text[i], to);
        }
    }
    return ferror((FILE *)to) ? -1 : 0;
}

bool page_write(const page *p, const char *file, char message[REPORT_MESSAGE])
{
    static const char marker[] = "@DATA@\n";
    const char *at = strstr(page_template, marker);
    json_t *data = data_of(p, message);
    write_guard guard;
    if (!data) {
        return false;
    }
    write_guard_begin(&guard);
    FILE *to = fopen(file, "w");
    bool done =
        to && fwrite(page_template, 1, (size_t)(at - page_template), to) > 0 &&
        json_dump_callback(data, write_text, to, JSON_COMPACT | JSON_REAL_PRECISION(9)) == 0 &&
        fputs(at + sizeof marker - 2, to) >= 0;
    int error = errno;
    if (to && fclose(to) != 0) {
        error = done ? errno : error;
        done = false;
    }
    write_guard_end(&guard);
    json_decref(data);
    if (!done) {
        snprintf(message, REPORT_MESSAGE, "%.400s: %s", file, strerror(error));
    }
    return done;
}
