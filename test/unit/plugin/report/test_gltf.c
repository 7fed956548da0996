// A recording as glTF: its numbers are those of the recording and of the shapes' triangles.
#define _GNU_SOURCE 1
#include "export.h"
#include "film.h"
#include "film_scene.h"
#include "tessellate.h"

static film f;
static json_t *root;
static char *file; // all bytes
static const char *numbers;

static const json_t *in(const char *list, size_t i)
{
    const json_t *item = json_array_get(json_object_get(root, list), i);
    ck_assert_msg(item != NULL, "no %zu in %s", i, list);
    return item;
}

static size_t integer(const json_t *object, const char *name)
{
    return (size_t)json_integer_value(json_object_get(object, name));
}

// The numbers of an accessor, of a width, and their count. Bounds, if it has them, are theirs.
static const void *read_numbers(size_t accessor, size_t width, size_t *count)
{
    static const char *const types[] = {"", "SCALAR", "", "VEC3", "VEC4"};
    const json_t *a = in("accessors", accessor),
                 *view = in("bufferViews", integer(a, "bufferView"));
    const json_t *min = json_object_get(a, "min"), *max = json_object_get(a, "max");
    const float *all = (const void *)(numbers + integer(view, "byteOffset"));
    *count = integer(a, "count");
    ck_assert_str_eq(json_string_value(json_object_get(a, "type")), types[width]);
    ck_assert_uint_eq(integer(view, "byteLength"), *count * width * 4);
    for (size_t k = 0; min && k < width; k++) {
        float low = INFINITY, high = -INFINITY;
        for (size_t i = 0; i < *count; i++) {
            low = fminf(low, all[i * width + k]);
            high = fmaxf(high, all[i * width + k]);
        }
        ck_assert((float)json_real_value(json_array_get(min, k)) == low);
        ck_assert((float)json_real_value(json_array_get(max, k)) == high);
    }
    return all;
}

static void read_file(void)
{
    char path[64], message[REPORT_MESSAGE];
    const char *end;
    uint32_t head[5];
    snprintf(path, sizeof path, "%s/run.glb", filmed.directory);
    ck_assert_msg(export_gltf(filmed.recording, path, &end, message), "%s", message);
    ck_assert_msg(film_load(&f, filmed.recording, 1000, message), "%s", message);
    FILE *from = fopen(path, "rb");
    ck_assert(from && fseek(from, 0, SEEK_END) == 0);
    size_t size = (size_t)ftell(from);
    file = malloc(size);
    rewind(from);
    ck_assert_uint_eq(fread(file, 1, size, from), size);
    fclose(from);
    memcpy(head, file, sizeof head);
    ck_assert(head[0] == 0x46546c67 && head[1] == 2 && head[2] == size && head[3] % 4 == 0);
    root = json_loadb(file + 20, head[3], 0, NULL);
    ck_assert_ptr_nonnull(root);
    memcpy(head, file + 20 + head[3], 8);
    ck_assert(head[1] == 0x004e4942);
    numbers = file + 20 + ((uint32_t *)(void *)file)[3] + 8;
    ck_assert_ptr_eq(numbers + head[0], file + size);
}

static void free_file(void)
{
    json_decref(root);
    free(file);
    film_free(&f);
}

// The node of a body, with its number.
static const json_t *node_of_body(const film_body *b, size_t *number)
{
    char name[32];
    size_t i;
    json_t *node;
    snprintf(name, sizeof name, "body %u", b->body);
    json_array_foreach(json_object_get(root, "nodes"), i, node)
    {
        const char *own = json_string_value(json_object_get(node, "name"));
        if (own && !strcmp(own, name)) {
            *number = i;
            return node;
        }
    }
    return NULL;
}

// Keys of a channel of a node: false if it has none.
static bool channel(size_t node, const char *path, const char *kind, size_t width,
                    const float **time, const float **value, size_t *keys)
{
    const json_t *run = in("animations", 0), *samplers = json_object_get(run, "samplers");
    size_t i, values;
    json_t *c;
    json_array_foreach(json_object_get(run, "channels"), i, c)
    {
        const json_t *target = json_object_get(c, "target");
        const json_t *s = json_array_get(samplers, integer(c, "sampler"));
        if (integer(target, "node") == node &&
            !strcmp(json_string_value(json_object_get(target, "path")), path)) {
            ck_assert_str_eq(json_string_value(json_object_get(s, "interpolation")), kind);
            *time = read_numbers(integer(s, "input"), 1, keys);
            ck_assert_ptr_nonnull(json_object_get(in("accessors", integer(s, "input")), "min"));
            *value = read_numbers(integer(s, "output"), width, &values);
            ck_assert_uint_eq(values, *keys);
            return true;
        }
    }
    return false;
}

START_TEST(bodies_move_as_recorded)
{
    read_file();
    const film_world *w = &f.world[0];
    for (int i = 0; i < w->bodies; i++) {
        const film_body *b = &w->body[i];
        const float *time, *place, *turn;
        size_t node, keys, turns, key = 0;
        ck_assert_ptr_nonnull(node_of_body(b, &node));
        ck_assert(channel(node, "translation", "LINEAR", 3, &time, &place, &keys));
        ck_assert(channel(node, "rotation", "LINEAR", 4, &time, &turn, &turns));
        ck_assert_uint_eq(keys, (unsigned)(b->last - b->first) + 1);
        ck_assert_uint_eq(turns, keys);
        for (int k = 0; k < w->frames; k++) {
            for (uint32_t p = 0; p < w->frame[k].poses; p++) {
                const sprag_recorded_pose *pose = &w->frame[k].pose[p];
                double along = 0, beside = 0;
                if (pose->body != b->body) {
                    continue;
                }
                ck_assert(time[key] == (float)w->step[w->frame[k].step].time);
                for (int n = 0; n < 4; n++) {
                    double x = (double)turn[4 * key + (size_t)n];
                    along += x * pose->quaternion[(n + 1) % 4];
                    beside += key ? x * (double)turn[4 * (key - 1) + (size_t)n] : 1;
                    ck_assert(n == 3 || place[3 * key + (size_t)n] == (float)pose->position[n]);
                }
                ck_assert_double_eq_tol(key ? fabs(along) : along, 1, 1e-6);
                ck_assert_double_gt(beside, 0.9); // no jump to the other of two quaternions
                key++;
            }
        }
        ck_assert_uint_eq(key, keys);
    }
    free_file();
}
END_TEST

// A body that comes has no size before, one that goes none after; others keep theirs.
START_TEST(bodies_are_seen_while_they_are_there)
{
    read_file();
    const film_world *w = &f.world[0];
    for (int i = 0; i < w->bodies; i++) {
        const float *time, *scale;
        size_t node, keys;
        node_of_body(&w->body[i], &node);
        bool has = channel(node, "scale", "STEP", 3, &time, &scale, &keys);
        ck_assert(has == (i == COMING || i == GOING));
        for (size_t k = 0; has && k < 6; k++) {
            ck_assert((double)scale[k] == (k >= 3) - (i == GOING) * ((k >= 3) - (k < 3)));
        }
        if (has) {
            double change = ((i == COMING ? COMES : GOES) + 1) * step,
                   first = i == GOING ? step : 0;
            ck_assert_uint_eq(keys, 2);
            ck_assert_double_eq_tol((double)time[0], first, 1e-7);
            ck_assert_double_eq_tol((double)time[1], change, 1e-7);
        }
    }
    free_file();
}
END_TEST

static void check_mesh(const json_t *node, const film_shape *s, double extent, size_t material)
{
    const json_t *part =
        json_array_get(json_object_get(in("meshes", integer(node, "mesh")), "primitives"), 0);
    const json_t *attributes = json_object_get(part, "attributes");
    const json_t *turn = json_object_get(node, "rotation");
    const json_t *place = json_object_get(node, "translation");
    size_t vertices, normals, indices;
    tessellation t = {0};
    tessellate(&t, s, extent);
    const float *at = read_numbers(integer(attributes, "POSITION"), 3, &vertices);
    const float *normal = read_numbers(integer(attributes, "NORMAL"), 3, &normals);
    const uint32_t *index = read_numbers(integer(part, "indices"), 1, &indices);
    ck_assert_ptr_nonnull(json_object_get(in("accessors", integer(attributes, "POSITION")), "max"));
    ck_assert_uint_eq(integer(part, "material"), material);
    ck_assert(vertices == (size_t)t.vertices && normals == vertices);
    ck_assert_uint_eq(indices, 3 * (size_t)t.triangles);
    ck_assert(!memcmp(at, t.vertex, vertices * sizeof *t.vertex));
    ck_assert(!memcmp(normal, t.normal, vertices * sizeof *t.normal));
    ck_assert(!memcmp(index, t.triangle, indices * sizeof *index));
    for (size_t k = 0; k < 4; k++) {
        ck_assert_double_eq_tol(json_real_value(json_array_get(turn, k)),
                                s->shape.quaternion[(k + 1) % 4], 1e-8);
        ck_assert(k == 3 || fabs(json_real_value(json_array_get(place, k)) - s->shape.position[k]) <
                                1e-8 + 1e-8 * fabs(s->shape.position[k]));
    }
    tessellation_free(&t);
}

// Geoms stand below the node of their body, as they were first, and those of none below the
// world's. Worlds stand side by side. A plane reaches a metre beyond the farthest body.
START_TEST(shapes_hang_below_their_bodies)
{
    read_file();
    const film_world *w = &f.world[0];
    const json_t *of_world = NULL;
    double extent = fabs(filmed.last_place[1]) + 1;
    size_t number, i, found = 0, fixed = 0;
    const json_t *roots = json_object_get(in("scenes", 0), "nodes");
    ck_assert_uint_eq(json_array_size(roots), 2);
    for (i = 0; i < 2; i++) {
        const json_t *node = in("nodes", (size_t)json_integer_value(json_array_get(roots, i)));
        const json_t *place = json_object_get(node, "translation"),
                     *turn = json_object_get(node, "rotation");
        of_world = i == 0 ? node : of_world;
        ck_assert_str_eq(json_string_value(json_object_get(node, "name")), "stribeck");
        ck_assert_double_eq_tol(json_number_value(json_array_get(place, 0)),
                                i ? 2 * extent + 1000 : extent, 1e-6);
        ck_assert_double_eq_tol(json_number_value(json_array_get(turn, 0)), -sqrt(0.5), 1e-8);
        ck_assert_double_eq_tol(json_number_value(json_array_get(turn, 3)), sqrt(0.5), 1e-8);
    }
    for (int k = 0; k < w->shapes; k++) {
        const film_shape *s = &w->shape[k];
        const film_body *b = film_body_of(w, s->shape.body);
        const json_t *parent = b ? node_of_body(b, &number) : of_world;
        const json_t *children = json_object_get(parent, "children");
        if (s->from == GROWS || (s->from == GOES && !b)) {
            continue; // a geom that has changed
        }
        const json_t *child = json_array_get(children, b ? 0 : fixed++);
        const json_t *node = in("nodes", (size_t)json_integer_value(child));
        ck_assert_uint_eq(json_array_size(children), b ? 1 : 3 + FILM_BODIES);
        check_mesh(node, s, extent, b ? b->body % 6 : 6);
        found++;
    }
    ck_assert_uint_eq(found, FILM_GEOMS);
    ck_assert_uint_eq(json_array_size(json_object_get(root, "materials")), 7);
    ck_assert_uint_eq(json_array_size(json_object_get(root, "meshes")), FILM_GEOMS);
    free_file();
}
END_TEST

// ---- worlds of one test each

static json_t *root_node(void)
{
    const json_t *roots = json_object_get(in("scenes", 0), "nodes");
    return json_array_get(json_object_get(root, "nodes"),
                          (size_t)json_integer_value(json_array_get(roots, 0)));
}

// However far it gets in one step of many, and whichever way.
START_TEST(worlds_have_room_for_the_farthest_body)
{
    static const double ways[][2] = {{5, 0}, {-5, 0}, {0, 5}, {0, -5}, {0.5, 0}, {3000, 0}};
    const double *way = ways[_i], most = fmax(fabs(way[0]), fabs(way[1]));
    dWorldID world = dWorldCreate();
    dBodyID body = dBodyCreate(world);
    configure(world, "method=stribeck");
    for (int k = 0; k < 40; k++) {
        dBodySetPosition(body, k == 38 ? way[0] : 0, k == 38 ? way[1] : 0, 9000);
        ck_assert_int_eq(dWorldStep(world, step), 1);
    }
    dWorldDestroy(world);
    read_file();
    const json_t *place = json_object_get(root_node(), "translation");
    ck_assert_double_eq_tol(json_number_value(json_array_get(place, 0)),
                            fmin(fmax(most, 1) + 1, 1000), 1e-6);
    free_file();
}
END_TEST

// glTF has no empty lists: a body without a geom, a ray, and a world without bodies.
START_TEST(what_is_not_there_has_no_list)
{
    dWorldID world = dWorldCreate();
    dSpaceID space = dSimpleSpaceCreate(0);
    for (int k = 0; k < _i; k++) {
        dBodySetPosition(dBodyCreate(world), k, 0, 0);
    }
    dCreateRay(space, 1);
    configure(world, "method=stribeck");
    ck_assert_int_eq(dWorldStep(world, step), 1);
    dSpaceDestroy(space);
    dWorldDestroy(world);
    read_file();
    size_t i;
    json_t *node;
    json_array_foreach(json_object_get(root, "nodes"), i, node)
    {
        ck_assert_uint_eq(json_array_size(json_object_get(node, "children")),
                          node == root_node() ? (size_t)_i : 0);
        ck_assert(json_object_get(node, "children") == NULL || node == root_node());
    }
    ck_assert_uint_eq(i, (size_t)_i + 1);
    ck_assert_ptr_null(json_object_get(root, "meshes"));
    ck_assert((json_object_get(root, "animations") != NULL) == (_i > 0));
    ck_assert((json_object_get(root_node(), "children") != NULL) == (_i > 0));
    free_file();
}
END_TEST

// Bodies and what has none differ in colour; a colour is between 0 and 1.
START_TEST(materials_have_colours_of_their_own)
{
    dWorldID world = dWorldCreate();
    configure(world, "method=stribeck");
    ck_assert_int_eq(dWorldStep(world, step), 1);
    dWorldDestroy(world);
    read_file();
    double colour[7][4];
    for (size_t i = 0; i < 7; i++) {
        const json_t *of = json_object_get(in("materials", i), "pbrMetallicRoughness");
        for (size_t k = 0; k < 4; k++) {
            colour[i][k] =
                json_number_value(json_array_get(json_object_get(of, "baseColorFactor"), k));
            ck_assert(k < 3 ? colour[i][k] > 0 && colour[i][k] < 1 : colour[i][k] == 1);
        }
        for (size_t k = 0; k < i; k++) {
            ck_assert(memcmp(colour[i], colour[k], sizeof colour[i]) != 0);
        }
    }
    free_file();
}
END_TEST

// The disk is full when the last bytes are written: the file is closed only then.
START_TEST(a_full_disk_is_told)
{
    char message[REPORT_MESSAGE];
    const char *end;
    dWorldID world = dWorldCreate();
    configure(world, "method=stribeck");
    ck_assert_int_eq(dWorldStep(world, step), 1);
    dWorldDestroy(world);
    ck_assert(!export_gltf(filmed.recording, "/dev/full", &end, message));
    ck_assert_str_eq(message, "/dev/full: No space left on device");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gltf");
    ADD_TESTS_WITH(suite, "lone", film_begin, film_teardown,
                   {worlds_have_room_for_the_farthest_body, 6}, {what_is_not_there_has_no_list, 3},
                   {materials_have_colours_of_their_own, 1}, {a_full_disk_is_told, 1});
    ADD_TESTS_WITH(suite, "all", film_setup, film_teardown, {bodies_move_as_recorded, 1},
                   {bodies_are_seen_while_they_are_there, 1}, {shapes_hang_below_their_bodies, 1});
    return run_suite_as(suite, CK_FORK);
}
