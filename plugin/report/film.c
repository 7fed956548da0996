#include "film.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "linalg.h"

// Figures whose worst steps are kept.
static const size_t figures[FILM_FIGURES] = {
    offsetof(film_step, cpu), offsetof(film_step, depth), offsetof(film_step, slip),
    offsetof(film_step, residual), offsetof(film_step, joint_gap)};

#define ADD(of, array, count, room)                                                                \
    __extension__({                                                                                \
        void *more_ = array_widen((of)->array, (of)->count, &(of)->room, sizeof *(of)->array);     \
        (of)->array = more_ ? more_ : (of)->array;                                                 \
        more_ ? memset(&(of)->array[(of)->count++], 0, sizeof *(of)->array) : NULL;                \
    })

static bool fail(char message[REPORT_MESSAGE], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool fail(char message[REPORT_MESSAGE], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, REPORT_MESSAGE, format, arguments);
    va_end(arguments);
    return false;
}

static film_world *world_of(film *f, const sprag_recorded_step *step)
{
    for (int i = 0; i < f->worlds; i++) {
        if (f->world[i].number == step->world) {
            return &f->world[i];
        }
    }
    film_world *w = ADD(f, world, worlds, world_room);
    if (w) {
        w->number = step->world;
        w->hash = 14695981039346656037u;
        memcpy(w->method, step->method, sizeof w->method - 1);
    }
    return w;
}

// ---- the figures of a step

// Bodies are numbered from the oldest on, so the list is sorted.
static film_body *find_body(const film_world *w, uint32_t body)
{
    int low = 0, high = w->bodies;
    while (low < high) {
        int middle = (low + high) / 2;
        if (w->body[middle].body < body) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < w->bodies && w->body[low].body == body ? &w->body[low] : NULL;
}

const film_body *film_body_of(const film_world *w, uint32_t body)
{
    return find_body(w, body);
}

// The inertia is in body axes: turns the spin into them.
static double energy_of(const film_body *b, const sprag_recorded_pose *p, const double gravity[3])
{
    const double *q = p->quaternion;
    double inverse[3] = {-q[1], -q[2], -q[3]}, turn[3], twice[3], spin[3], momentum[3];
    cross3(inverse, p->spin, turn);
    add_scaled(turn, q[0], p->spin, 3);
    cross3(inverse, turn, twice);
    for (int k = 0; k < 3; k++) {
        spin[k] = p->spin[k] + 2 * twice[k];
    }
    mul33(b->inertia, spin, momentum);
    return dot3(spin, momentum) / 2 + b->mass * dot3(p->velocity, p->velocity) / 2 -
           b->mass * dot3(gravity, p->position);
}

static double statistic(const film *f, const sprag_recording *r, const char *name)
{
    size_t i;
    json_t *column;
    json_array_foreach(json_object_get(f->header, "statistics"), i, column)
    {
        if (i < r->statistics && strcmp(json_string_value(column), name) == 0) {
            return r->statistic[i];
        }
    }
    return NAN;
}

static void measure_contacts(film_step *s, const sprag_recording *r)
{
    s->contacts = r->contacts;
    for (uint32_t i = 0; i < r->contacts; i++) {
        const sprag_recorded_contact *c = &r->contact[i];
        s->depth = fmax(s->depth, (double)c->depth);
        s->mean_depth += (double)c->depth / r->contacts;
        if (c->state == SPRAG_RECORDED_STICK) {
            s->slip = fmax(s->slip, (double)c->slip);
        }
    }
}

static double joint_gap(const sprag_recording *r)
{
    double most = r->joints ? 0 : NAN;
    for (uint32_t i = 0; i < r->joints; i++) {
        const sprag_recorded_joint *j = &r->joint[i];
        double away[3];
        for (int k = 0; k < 3; k++) {
            away[k] = (double)j->anchor[0][k] - (double)j->anchor[1][k];
        }
        most = fmax(most, norm3(away)); // a joint without anchors counts as closed
    }
    return most;
}

static bool add_step(film *f, film_world *w, const sprag_recording *r)
{
    film_step *s = ADD(w, step, steps, step_room);
    if (!s) {
        return false;
    }
    *s = (film_step){.time = r->step->time,
                     .step = r->step->step,
                     .cpu = r->step->cpu,
                     .joint_gap = joint_gap(r),
                     .residual = r->measures ? r->measures->residual : statistic(f, r, "residual"),
                     .iterations = statistic(f, r, "iterations"),
                     .strategy = statistic(f, r, "strategy"),
                     .fallbacks = statistic(f, r, "fallbacks")};
    measure_contacts(s, r);
    for (uint32_t i = 0; i < r->poses; i++) {
        const sprag_recorded_pose *p = &r->pose[i];
        film_body *b = find_body(w, p->body);
        if (b) {
            s->energy += b->mass > 0 && !(p->flags & SPRAG_RECORDED_KINEMATIC)
                             ? energy_of(b, p, r->step->gravity)
                             : 0;
            b->last = w->steps - 1;
        }
        const unsigned char *byte = (const unsigned char *)p;
        for (size_t k = offsetof(sprag_recorded_pose, position); k < sizeof *p; k++) {
            w->hash = (w->hash ^ byte[k]) * 1099511628211u;
        }
    }
    return true;
}

static bool add_objects(film_world *w, const sprag_recording *r)
{
    for (uint32_t i = 0; i < r->bodies; i++) {
        film_body *b = ADD(w, body, bodies, body_room);
        if (!b) {
            return false;
        }
        *b = (film_body){.body = r->body[i].body, .mass = r->body[i].mass, .first = w->steps};
        memcpy(b->inertia, r->body[i].inertia, sizeof b->inertia);
    }
    for (uint32_t i = 0; i < r->shapes; i++) {
        const sprag_recorded_shape *from = &r->shape[i];
        film_shape *s = ADD(w, shape, shapes, shape_room);
        if (!s) {
            return false;
        }
        *s = (film_shape){.shape = *from, .from = w->steps};
        if (from->triangles) {
            s->vertex = malloc(from->vertices * sizeof *s->vertex);
            s->triangle = malloc(from->triangles * sizeof *s->triangle);
            if (!s->vertex || !s->triangle) {
                return false;
            }
            memcpy(s->vertex, r->vertex + from->vertex, from->vertices * sizeof *s->vertex);
            memcpy(s->triangle, r->triangle + from->triangle,
                   from->triangles * sizeof *s->triangle);
        }
    }
    return true;
}

// Index of the worst step by one of the figures (offset in film_step); -1: none is known.
static int worst_step(const film_world *w, size_t figure)
{
    int worst = -1;
    double most = 0;
    for (int i = 0; i < w->steps; i++) {
        double value = *(const double *)(const void *)((const char *)&w->step[i] + figure);
        if (value > most) {
            most = value;
            worst = i;
        }
    }
    return worst;
}

const char *recording_end(const sprag_recording *r)
{
    return r->truncated ? "ends within a step, which is left out"
           : r->damaged ? "is damaged: steps from there on are left out"
                        : NULL;
}

// ---- two passes: the figures, then the frames that are kept

static bool read_figures(film *f, sprag_recording *r)
{
    while (sprag_recording_next(r)) {
        film_world *w = world_of(f, r->step);
        if (!w || !add_objects(w, r) || !add_step(f, w, r)) {
            return false;
        }
    }
    f->end = recording_end(r);
    return true;
}

// A mark for each step of a world that is kept. NULL: no memory.
static char *choose_frames(const film_world *w, int frames)
{
    int stride = (w->steps + frames - 1) / frames;
    char *kept = calloc((size_t)w->steps, 1);
    for (int k = 0; kept && k < w->steps; k++) {
        kept[k] = k % stride == 0 || k == w->steps - 1;
    }
    for (int i = 0; kept && i < FILM_FIGURES; i++) {
        int worst = worst_step(w, figures[i]);
        kept[worst < 0 ? 0 : worst] = 1;
    }
    return kept;
}

static bool add_frame(film_world *w, int step, const sprag_recording *r)
{
    film_frame *to = ADD(w, frame, frames, frame_room);
    if (!to) {
        return false;
    }
    *to = (film_frame){step, r->poses, r->contacts, NULL, NULL};
    to->pose = malloc(r->poses * sizeof *to->pose);
    to->contact = malloc(r->contacts * sizeof *to->contact);
    if (!to->pose || !to->contact) {
        return false;
    }
    if (r->poses) {
        memcpy(to->pose, r->pose, r->poses * sizeof *to->pose);
    }
    if (r->contacts) {
        memcpy(to->contact, r->contact, r->contacts * sizeof *to->contact);
    }
    return true;
}

static bool read_frames(film *f, sprag_recording *r, int frames)
{
    int *next = calloc((size_t)f->worlds, sizeof *next); // step of each world
    char **kept = calloc((size_t)f->worlds, sizeof *kept);
    bool done = next && kept;
    for (int i = 0; i < f->worlds && done; i++) {
        kept[i] = choose_frames(&f->world[i], frames);
        done = kept[i];
    }
    while (done && sprag_recording_next(r)) {
        film_world *w = world_of(f, r->step);
        int i = w ? (int)(w - f->world) : 0;
        done = w && next[i] < w->steps;
        if (done && kept[i][next[i]]) {
            done = add_frame(w, next[i], r);
        }
        next[i] += done;
    }
    done = done && recording_end(r) == f->end; // as before
    for (int i = 0; kept && i < f->worlds; i++) {
        free(kept[i]);
    }
    free(kept);
    free(next);
    return done;
}

static bool open_film(sprag_recording *r, const char *file, char message[REPORT_MESSAGE])
{
    return sprag_recording_open(r, file) || fail(message, "%s %s", file, r->error);
}

bool film_load(film *f, const char *file, int frames, char message[REPORT_MESSAGE])
{
    sprag_recording r;
    json_error_t error;
    *f = (film){0};
    if (!open_film(&r, file, message)) {
        return false;
    }
    snprintf(f->file, sizeof f->file, "%s", file);
    f->header = json_loadb(r.header, r.header_size, 0, &error);
    bool done = f->header ? read_figures(f, &r) || fail(message, "%s: no memory", file)
                          : fail(message, "%s: its first line is no JSON: %s", file, error.text);
    sprag_recording_close(&r);
    if (!done || f->worlds == 0 || frames <= 0) {
        return done && (f->worlds > 0 || fail(message, "%s has no step", file));
    }
    if (!open_film(&r, file, message)) {
        return false;
    }
    done = read_frames(f, &r, frames) || fail(message, "%s: no memory", file);
    sprag_recording_close(&r);
    return done;
}

void film_free(film *f)
{
    for (int i = 0; i < f->worlds; i++) {
        film_world *w = &f->world[i];
        for (int k = 0; k < w->shapes; k++) {
            free(w->shape[k].vertex);
            free(w->shape[k].triangle);
        }
        for (int k = 0; k < w->frames; k++) {
            free(w->frame[k].pose);
            free(w->frame[k].contact);
        }
        free(w->step);
        free(w->body);
        free(w->shape);
        free(w->frame);
    }
    free(f->world);
    json_decref(f->header);
    *f = (film){0};
}
