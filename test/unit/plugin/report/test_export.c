// Recordings as CSV and glTF: numbers come back as the same bits, and every view of the glTF lies
// in its buffer.
#define _GNU_SOURCE 1
#include <check.h>
#include <jansson.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "export.h"
#include "film.h"
#include "plugin_scene.h"

static char directory[] = "/tmp/sprag_export_XXXXXX";
static char recording[64];
static double last_height; // m, of the first body at the end

enum { STEPS = 25 };

static void setup_export(void)
{
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(recording, sizeof recording, "%s/run.sprec", directory);
    setup();
    setenv("SPRAG_RECORD", recording, 1);
    scene s = open_scene("method=stribeck");
    for (int k = 0; k < STEPS; k++) {
        step_scene(&s, dWorldStep);
    }
    last_height = dBodyGetPosition(s.body[0])[2];
    close_scene(&s);
}

static void teardown_export(void)
{
    char command[128];
    teardown();
    snprintf(command, sizeof command, "rm -rf %s", directory);
    ck_assert_int_eq(system(command), 0);
}

// Rows of a file of the directory, and its last row with `start` in front. Cut into cells by it.
static int rows_of(const char *name, const char *start, char row[4096])
{
    char path[128], line[4096];
    int rows = 0;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *from = fopen(path, "r");
    ck_assert_msg(from != NULL, "no %s", path);
    while (fgets(line, sizeof line, from)) {
        rows++;
        if (!strncmp(line, start, strlen(start))) {
            strcpy(row, line);
        }
    }
    fclose(from);
    return rows;
}

START_TEST(csv_has_every_number)
{
    char message[REPORT_MESSAGE], row[4096] = "";
    const char *end;
    ck_assert_msg(export_csv(recording, directory, &end, message), "%s", message);
    ck_assert_ptr_null(end);
    ck_assert_int_eq(rows_of("steps.csv", "", row), STEPS + 1);
    ck_assert_int_eq(rows_of("poses.csv", "1,25,0.25,0,", row), STEPS * SCENE_BODIES + 1);
    int cell = 0;
    for (char *rest = row, *text; (text = strsep(&rest, ",")); cell++) {
        if (cell == 7) { // world, step, time, body, flags, x, y, z
            ck_assert_double_eq(strtod(text, NULL), last_height);
        }
    }
    ck_assert_int_eq(cell, 3 + 2 + 13);
    ck_assert_int_eq(rows_of("joints.csv", "", row), 2 * STEPS + 1);
    ck_assert_int_eq(rows_of("shapes.csv", "", row), HEAP + 1 + 1); // and the plane
}
END_TEST

START_TEST(gltf_has_a_moving_node_for_each_body)
{
    char message[REPORT_MESSAGE], path[128];
    const char *end;
    uint32_t head[5];
    snprintf(path, sizeof path, "%s/run.glb", directory);
    ck_assert_msg(export_gltf(recording, path, &end, message), "%s", message);
    FILE *from = fopen(path, "rb");
    struct stat is;
    ck_assert(from && fstat(fileno(from), &is) == 0);
    ck_assert_uint_eq(fread(head, sizeof head, 1, from), 1);
    ck_assert_uint_eq(head[0], 0x46546c67); // glTF
    ck_assert_uint_eq(head[2], (uint32_t)is.st_size);
    ck_assert_uint_eq(head[4], 0x4e4f534a); // JSON
    char *text = malloc(head[3]);
    ck_assert_uint_eq(fread(text, 1, head[3], from), head[3]);
    json_error_t error;
    json_t *root = json_loadb(text, head[3], 0, &error), *view, *accessor;
    ck_assert_msg(root != NULL, "%s", error.text);
    size_t i;
    json_int_t size = json_integer_value(
        json_object_get(json_array_get(json_object_get(root, "buffers"), 0), "byteLength"));
    ck_assert_int_eq(size, is.st_size - 20 - 8 - (json_int_t)head[3]);
    json_array_foreach(json_object_get(root, "bufferViews"), i, view)
    {
        json_int_t start = json_integer_value(json_object_get(view, "byteOffset"));
        json_int_t length = json_integer_value(json_object_get(view, "byteLength"));
        ck_assert(start % 4 == 0 && length > 0 && start + length <= size);
    }
    size_t bounded = 0;
    json_array_foreach(json_object_get(root, "accessors"), i, accessor)
    {
        const char *type = json_string_value(json_object_get(accessor, "type"));
        const json_t *min = json_object_get(accessor, "min"),
                     *max = json_object_get(accessor, "max");
        size_t width = strcmp(type, "SCALAR") ? (size_t)(type[3] - '0') : 1; // VEC3, VEC4
        ck_assert((!min && !max) ||
                  (json_array_size(min) == width && json_array_size(max) == width));
        bounded += min != NULL;
        for (size_t k = 0; min && k < width; k++) {
            ck_assert_double_le(json_number_value(json_array_get(min, k)),
                                json_number_value(json_array_get(max, k)));
        }
    }
    ck_assert_uint_gt(bounded, 0);
    const json_t *animation = json_array_get(json_object_get(root, "animations"), 0);
    ck_assert_uint_eq(json_array_size(json_object_get(animation, "channels")), 2 * SCENE_BODIES);
    json_decref(root);
    free(text);
    fclose(from);
}
END_TEST

START_TEST(a_film_keeps_as_many_frames_as_it_may)
{
    char message[REPORT_MESSAGE];
    const char *end;
    film f;
    ck_assert_msg(film_load(&f, recording, 5, message), "%s", message);
    ck_assert_int_eq(f.worlds, 1);
    ck_assert_int_eq(f.world->steps, STEPS);
    ck_assert_int_eq(f.world->bodies, SCENE_BODIES);
    ck_assert(f.world->frames >= 5 && f.world->frames <= 5 + 1 + FILM_FIGURES);
    ck_assert_int_eq(f.world->frame[0].step, 0);
    ck_assert_int_eq(f.world->frame[f.world->frames - 1].step, STEPS - 1);
    // Heap, pendulum and flyer gain no energy.
    ck_assert_double_lt(f.world->step[STEPS - 1].energy, f.world->step[0].energy + 1e-6);
    film_free(&f);
    ck_assert(!film_load(&f, "/nonexistent", 5, message));
    ck_assert_str_eq(message, "/nonexistent does not exist");
    film_free(&f);
    ck_assert(!export_csv(recording, "/nonexistent/a", &end, message));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("export");
    ADD_TESTS_WITH(suite, "all", setup_export, teardown_export, {csv_has_every_number, 1},
                   {gltf_has_a_moving_node_for_each_body, 1},
                   {a_film_keeps_as_many_frames_as_it_may, 1});
    return run_suite_as(suite, CK_FORK);
}
