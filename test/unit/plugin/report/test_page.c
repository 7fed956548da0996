// The data of a report page: figures, shapes, poses and contacts are those of the film.
#define _GNU_SOURCE 1
#include "film.h"
#include "film_scene.h"
#include "page.h"

enum { POSE = 7, CONTACT = 11 }; // floats

static film f;
static json_t *root;

static void write_page(bool passing)
{
    static const char start[] = "id=\"data\">\n", end[] = "\n</script>";
    char file[64], message[REPORT_MESSAGE], *text = NULL;
    const char *const recordings[] = {filmed.recording, filmed.recording};
    size_t room = 0;
    snprintf(file, sizeof file, "%s/page.html", filmed.directory);
    page p = {.recording = recordings, .recordings = 2, .passing = passing};
    ck_assert_msg(page_write(&p, file, message), "%s", message);
    ck_assert_msg(film_load(&f, filmed.recording, 600, message), "%s", message);
    FILE *from = fopen(file, "r");
    ck_assert(from && getdelim(&text, &room, '\0', from) > 0);
    fclose(from);
    const char *at = strstr(text, start) + sizeof start - 1;
    ck_assert(!strchr(at, '<') || strchr(at, '<') > strstr(at, end));
    root = json_loadb(at, (size_t)(strstr(at, end) - at), 0, NULL);
    ck_assert_ptr_nonnull(root);
    ck_assert_ptr_nonnull(strstr(strstr(at, end), "</html>"));
    free(text);
}

static void free_page(void)
{
    json_decref(root);
    film_free(&f);
}

// Floats in base64, as RFC 4648 has it.
static float *floats_of(const json_t *run, const char *name, size_t *count)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const json_t *text = json_object_get(run, name);
    const char *at = json_string_value(text);
    size_t length = json_string_length(text), size = 0;
    unsigned char *bytes = malloc(length + 1);
    unsigned bits = 0;
    ck_assert_uint_eq(length % 4, 0);
    for (size_t i = 0; i < length && at[i] != '='; i++) {
        bits = bits << 6 | (unsigned)(strchr(digit, at[i]) - digit);
        if (i % 4) {
            bytes[size++] = (unsigned char)(bits >> (6 - 2 * (i % 4)));
        }
    }
    ck_assert_uint_eq(size % sizeof(float), 0);
    ck_assert_uint_eq(length, (size + 2) / 3 * 4);
    *count = size / sizeof(float);
    return (float *)(void *)bytes;
}

static const json_t *run_of(size_t i)
{
    return json_array_get(json_object_get(root, "runs"), i);
}

static double number_in(const json_t *object, const char *list, size_t i)
{
    const json_t *value = json_array_get(json_object_get(object, list), i);
    return json_is_null(value) ? NAN : json_number_value(value);
}

static bool same(double a, double b)
{
    return fabs(a - b) <= 1e-8 * fabs(b) || (isnan(a) && isnan(b));
}

START_TEST(runs_have_names_and_figures)
{
    static const char *const names[] = {"stribeck", "stribeck 2", "stribeck 3", "stribeck 4"};
    static const struct {
        const char *name;
        size_t figure;
        double unit;
    } all[] = {{"time", offsetof(film_step, time), 1},
               {"cpu", offsetof(film_step, cpu), 1e6},
               {"depth", offsetof(film_step, depth), 1},
               {"mean_depth", offsetof(film_step, mean_depth), 1},
               {"slip", offsetof(film_step, slip), 1},
               {"residual", offsetof(film_step, residual), 1},
               {"iterations", offsetof(film_step, iterations), 1},
               {"strategy", offsetof(film_step, strategy), 1},
               {"fallbacks", offsetof(film_step, fallbacks), 1},
               {"energy", offsetof(film_step, energy), 1},
               {"joint_gap", offsetof(film_step, joint_gap), 1},
               {"contacts", offsetof(film_step, contacts), 1}};
    write_page(_i);
    const film_world *w = &f.world[0];
    ck_assert_uint_eq(json_array_size(json_object_get(root, "runs")), 4);
    for (size_t i = 0; i < 4; i++) {
        const json_t *run = run_of(i);
        ck_assert_str_eq(json_string_value(json_object_get(run, "name")), names[i]);
        ck_assert(!json_object_get(run, "file") == (_i == 1));
        ck_assert_int_eq(json_integer_value(json_object_get(run, "total")), i % 2 ? 1 : FILM_STEPS);
        ck_assert(json_is_false(json_object_get(run, "truncated")));
    }
    const json_t *steps = json_object_get(run_of(0), "steps");
    for (int i = 0; i < COUNT(all); i++) {
        ck_assert_uint_eq(json_array_size(json_object_get(steps, all[i].name)), FILM_STEPS);
        for (size_t k = 0; k < FILM_STEPS; k++) {
            const char *at = (const char *)&w->step[k] + all[i].figure;
            ck_assert(same(number_in(steps, all[i].name, k),
                           *(const double *)(const void *)at * all[i].unit));
        }
    }
    free_page();
}
END_TEST

START_TEST(frames_hold_poses_and_contacts)
{
    size_t poses, contacts;
    write_page(false);
    const film_world *w = &f.world[0];
    const json_t *run = run_of(0), *frames = json_object_get(run, "frames");
    float *pose = floats_of(run, "poses", &poses), *contact = floats_of(run, "contacts", &contacts);
    const float *next = contact;
    ck_assert_uint_eq(poses, FILM_STEPS * FILM_BODIES * POSE);
    for (int i = 0; i < w->frames; i++) {
        const film_frame *frame = &w->frame[i];
        const float *row = pose + i * FILM_BODIES * POSE;
        ck_assert(number_in(frames, "step", (size_t)i) == frame->step);
        ck_assert(same(number_in(frames, "time", (size_t)i), w->step[frame->step].time));
        ck_assert(number_in(frames, "contacts", (size_t)i) == frame->contacts);
        ck_assert(isnan(row[COMING * POSE]) == (i < COMES));
        ck_assert(isnan(row[GOING * POSE + 6]) == (i >= GOES));
        for (uint32_t k = 0; k < frame->poses; k++) {
            const sprag_recorded_pose *p = &frame->pose[k];
            const float *at = row + (film_body_of(w, p->body) - w->body) * POSE;
            for (int n = 0; n < 3; n++) {
                ck_assert(at[n] == (float)p->position[n]);
            }
            for (int n = 0; n < 4; n++) {
                ck_assert(at[3 + n] == (float)p->quaternion[n]);
            }
        }
        for (uint32_t k = 0; k < frame->contacts; k++, next += CONTACT) {
            const sprag_recorded_contact *c = &frame->contact[k];
            ck_assert(!memcmp(next, c->position, 12) && !memcmp(next + 3, c->normal, 12));
            ck_assert(!memcmp(next + 6, c->force, 12) && next[9] == c->depth);
            ck_assert(next[10] == (float)c->state);
        }
    }
    ck_assert_ptr_eq(next, contact + contacts);
    free(pose);
    free(contact);
    free_page();
}
END_TEST

// Later shapes of a geom take its place.
START_TEST(shapes_have_their_steps)
{
    write_page(false);
    const film_world *w = &f.world[0];
    const json_t *run = run_of(0), *shapes = json_object_get(run, "shapes");
    ck_assert_uint_eq(json_array_size(shapes), (size_t)w->shapes);
    ck_assert_uint_eq(json_array_size(json_object_get(run, "bodies")), FILM_BODIES);
    for (size_t i = 0; i < json_array_size(shapes); i++) {
        const sprag_recorded_shape *s = &w->shape[i].shape;
        const json_t *shape = json_array_get(shapes, i), *body = json_object_get(shape, "body");
        const char *kind = json_string_value(json_object_get(shape, "kind"));
        bool fixed = s->body == SPRAG_RECORDED_NONE;
        int until = FILM_STEPS;
        size_t corners;
        ck_assert(json_is_null(body) == fixed);
        ck_assert(fixed || json_integer_value(body) == s->body);
        until = s->body == w->body[TUMBLES].body && s->size[0] < 0.25 ? GROWS : until;
        until = s->body == w->body[GOING].body ? GOES : until;
        ck_assert_int_eq(json_integer_value(json_object_get(shape, "until")), until);
        ck_assert_int_eq(json_integer_value(json_object_get(shape, "from")), w->shape[i].from);
        ck_assert(s->kind != SPRAG_RECORDED_CAPSULE || !strcmp(kind, "capsule"));
        if (s->kind == SPRAG_RECORDED_MESH) {
            float *corner = floats_of(shape, "vertices", &corners);
            ck_assert_uint_eq(corners, 12 * 9);
            for (uint32_t k = 0; k < 36; k++) {
                const uint32_t *of = w->shape[i].triangle[k / 3].vertex;
                ck_assert(!memcmp(corner + 3 * k, w->shape[i].vertex[of[k % 3]].at, 12));
            }
            free(corner);
        } else {
            ck_assert(json_is_null(json_object_get(shape, "vertices")));
        }
        for (size_t k = 0; k < 4; k++) {
            ck_assert(k == 3 || same(number_in(shape, "size", k), s->size[k]));
            ck_assert(k == 3 || same(number_in(shape, "position", k), s->position[k]));
            ck_assert(same(number_in(shape, "quaternion", k), s->quaternion[k]));
        }
    }
    free_page();
}
END_TEST

// A plot has as many points as a screen can show: each is the worst of two neighbouring steps, but
// for runs that fit. The last one has no neighbour; all are below zero.
START_TEST(long_runs_show_the_worst_of_neighbours)
{
    enum { MOST = 20000 };
    const int all = MOST + _i, stride = 1 + _i;
    dWorldID world = dWorldCreate();
    dBodyID body = dBodyCreate(world);
    configure(world, "method=stribeck");
    dWorldSetGravity(world, 0, 0, -10);
    for (int k = 0; k < all; k++) {
        dBodySetPosition(body, 0, 0, -2 - k % 3);
        dBodySetLinearVel(body, 0, 0, 0);
        ck_assert_int_eq(dWorldStep(world, 1e-6), 1);
    }
    dWorldDestroy(world);
    write_page(false);
    const json_t *steps = json_object_get(run_of(0), "steps");
    ck_assert_int_eq(f.world->steps, all);
    ck_assert_uint_eq(json_array_size(json_object_get(steps, "energy")),
                      (size_t)(_i ? MOST / 2 + 1 : MOST));
    for (int i = 0; i < all; i += stride) {
        const int other = i + stride - 1 < all ? i + stride - 1 : i;
        ck_assert_double_eq_tol(number_in(steps, "energy", (size_t)(i / stride)),
                                -20 - 10 * fmin(i % 3, other % 3), 1e-3);
    }
    free_page();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("page");
    ADD_TESTS_WITH(suite, "long", film_begin, film_teardown,
                   {long_runs_show_the_worst_of_neighbours, 2});
    ADD_TESTS_WITH(suite, "all", film_setup, film_teardown, {runs_have_names_and_figures, 2},
                   {frames_hold_poses_and_contacts, 1}, {shapes_have_their_steps, 1});
    return run_suite_as(suite, CK_FORK);
}
