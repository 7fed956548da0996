// glTF 2.0 in one binary file (.glb): a JSON chunk, and a chunk of numbers that it refers to. glTF
// has y upwards, ODE's programs mostly z: the node of a world is turned.
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "tessellate.h"
#include "write_guard.h"

// glTF's numbers for types of components and targets of views.
enum { FLOAT = 5126, UNSIGNED_INT = 5125, ARRAY = 34962, ELEMENTS = 34963 };
enum { FRAMES_MOST = 1 << 24, COLOURS = 6 };

typedef struct glb {
    json_t *nodes, *meshes, *accessors, *views, *channels, *samplers;
    FILE *binary; // to `data`, the binary chunk
    char *data;
    size_t size;
    bool failed; // no memory
} glb;

// ---- numbers

static int append(json_t *array, json_t *item, glb *g)
{
    g->failed |= !item || json_array_append_new(array, item) != 0;
    return (int)json_array_size(array) - 1;
}

static json_t *number(double value)
{
    return json_real(isfinite(value) ? value : 0);
}

// A view of four-byte numbers that are appended to the binary chunk. target: 0, none.
static int add_view(glb *g, const void *data, size_t size, int target)
{
    json_t *view = json_pack("{s:i, s:I, s:I}", "buffer", 0, "byteOffset",
                             (json_int_t)ftell(g->binary), "byteLength", (json_int_t)size);
    if (target) {
        json_object_set_new(view, "target", json_integer(target));
    }
    g->failed |= fwrite(data, 1, size, g->binary) < size;
    return append(g->views, view, g);
}

// Floats: a count of scalars, vectors or quaternions, by their width.
static int add_floats(glb *g, const float *data, int count, int width, int target)
{
    static const char *const types[] = {"", "SCALAR", "", "VEC3", "VEC4"};
    int view = add_view(g, data, (size_t)count * (size_t)width * sizeof *data, target);
    json_t *accessor = json_pack("{s:i, s:i, s:i, s:s}", "bufferView", view, "componentType", FLOAT,
                                 "count", count, "type", types[width]);
    json_t *min = json_array(), *max = json_array();
    for (int k = 0; k < width; k++) {
        float low = data[k], high = data[k];
        for (int i = 1; i < count; i++) {
            low = fminf(low, data[i * width + k]);
            high = fmaxf(high, data[i * width + k]);
        }
        json_array_append_new(min, number((double)low));
        json_array_append_new(max, number((double)high));
    }
    json_object_set_new(accessor, "min", min);
    json_object_set_new(accessor, "max", max);
    return append(g->accessors, accessor, g);
}

static json_t *numbers(const double *from, int count)
{
    json_t *array = json_array();
    for (int k = 0; k < count; k++) {
        json_array_append_new(array, number(from[k]));
    }
    return array;
}

// glTF has x y z w.
static void set_quaternion(double to[4], const double q[4])
{
    memcpy(to, q + 1, 3 * sizeof *q);
    to[3] = q[0];
}

// ---- meshes

// -1: the shape has no triangles.
static int add_mesh(glb *g, const film_shape *shape, double extent, int material)
{
    tessellation t = {0};
    tessellate(&t, shape, extent);
    g->failed |= t.failed;
    int mesh = -1;
    if (t.triangles > 0 && !t.failed) {
        int position = add_floats(g, &t.vertex[0][0], t.vertices, 3, ARRAY);
        int normal = add_floats(g, &t.normal[0][0], t.vertices, 3, ARRAY);
        int view = add_view(g, t.triangle, (size_t)t.triangles * sizeof *t.triangle, ELEMENTS);
        int index = append(g->accessors,
                           json_pack("{s:i, s:i, s:i, s:s}", "bufferView", view, "componentType",
                                     UNSIGNED_INT, "count", 3 * t.triangles, "type", "SCALAR"),
                           g);
        mesh = append(g->meshes,
                      json_pack("{s:[{s:{s:i, s:i}, s:i, s:i}]}", "primitives", "attributes",
                                "POSITION", position, "NORMAL", normal, "indices", index,
                                "material", material),
                      g);
    }
    tessellation_free(&t);
    return mesh;
}

// A node for a shape. A geom that changed is shown as it was first.
static int add_shape(glb *g, const film_shape *s, double extent, int material)
{
    double turn[4];
    int mesh = add_mesh(g, s, extent, material);
    if (mesh < 0) {
        return -1;
    }
    set_quaternion(turn, s->shape.quaternion);
    return append(g->nodes,
                  json_pack("{s:i, s:o, s:o}", "mesh", mesh, "translation",
                            numbers(s->shape.position, 3), "rotation", numbers(turn, 4)),
                  g);
}

static bool is_first_of_geom(const film_world *w, int i)
{
    for (int k = 0; k < i; k++) {
        if (w->shape[k].shape.geom == w->shape[i].shape.geom) {
            return false;
        }
    }
    return true;
}

// Nodes of the shapes of a body; or of those without one.
static json_t *add_shapes(glb *g, const film_world *w, uint32_t body, double extent)
{
    json_t *children = json_array();
    for (int i = 0; i < w->shapes; i++) {
        if (w->shape[i].shape.body == body && is_first_of_geom(w, i)) {
            int material = body == SPRAG_RECORDED_NONE ? COLOURS : (int)(body % COLOURS);
            int node = add_shape(g, &w->shape[i], extent, material);
            if (node >= 0) {
                append(children, json_integer(node), g);
            }
        }
    }
    return children;
}

// ---- motion

static const sprag_recorded_pose *pose_in(const film_frame *f, uint32_t body)
{
    for (uint32_t i = 0; i < f->poses; i++) {
        if (f->pose[i].body == body) {
            return &f->pose[i];
        }
    }
    return NULL;
}

static void add_channel(glb *g, int node, const char *path, int times, int values, bool steps)
{
    int sampler = append(g->samplers,
                         json_pack("{s:i, s:i, s:s}", "input", times, "output", values,
                                   "interpolation", steps ? "STEP" : "LINEAR"),
                         g);
    append(
        g->channels,
        json_pack("{s:i, s:{s:i, s:s}}", "sampler", sampler, "target", "node", node, "path", path),
        g);
}

// A body that is not there all the time has no size before and after.
static void add_presence(glb *g, const film_world *w, const film_body *b, int node)
{
    float time[3], scale[3][3] = {{0}};
    int keys = 0;
    if (b->first > 0) {
        time[keys++] = 0;
    }
    time[keys] = (float)w->step[b->first].time;
    scale[keys][0] = scale[keys][1] = scale[keys][2] = 1;
    keys++;
    if (b->last + 1 < w->steps) {
        time[keys++] = (float)w->step[b->last + 1].time;
    }
    if (keys > 1) {
        add_channel(g, node, "scale", add_floats(g, time, keys, 1, 0),
                    add_floats(g, &scale[0][0], keys, 3, 0), true);
    }
}

static void add_motion(glb *g, const film_world *w, const film_body *b, int node)
{
    const size_t room = (size_t)w->frames;
    float *time = malloc(8 * room * sizeof *time);
    float(*place)[3] = (void *)(time + room), (*turn)[4] = (void *)(time + 4 * room);
    int keys = 0;
    if (!time) {
        g->failed = true;
        return;
    }
    for (int i = 0; i < w->frames; i++) {
        const sprag_recorded_pose *p = pose_in(&w->frame[i], b->body);
        double q[4], along = 0;
        if (!p) {
            continue;
        }
        set_quaternion(q, p->quaternion);
        for (int k = 0; k < 4 && keys > 0; k++) {
            along += q[k] * (double)turn[keys - 1][k];
        }
        for (int k = 0; k < 4; k++) { // of q and -q, the nearer one
            turn[keys][k] = (float)(along < 0 ? -q[k] : q[k]);
        }
        for (int k = 0; k < 3; k++) {
            place[keys][k] = (float)(isfinite(p->position[k]) ? p->position[k] : 0);
        }
        time[keys++] = (float)w->step[w->frame[i].step].time;
    }
    if (keys > 0) {
        int times = add_floats(g, time, keys, 1, 0);
        add_channel(g, node, "translation", times, add_floats(g, &place[0][0], keys, 3, 0), false);
        add_channel(g, node, "rotation", times, add_floats(g, &turn[0][0], keys, 4, 0), false);
        add_presence(g, w, b, node);
    }
    free(time);
}

// ---- worlds

// m, how far bodies get from the middle.
static double extent_of(const film_world *w)
{
    double most = 1;
    for (int i = 0; i < w->frames; i++) {
        for (uint32_t k = 0; k < w->frame[i].poses; k++) {
            const double *at = w->frame[i].pose[k].position;
            most = fmax(most, fmax(fabs(at[0]), fabs(at[1])));
        }
    }
    return fmin(most + 1, 1000);
}

static int add_world(glb *g, const film_world *w, double aside)
{
    double extent = extent_of(w), place[3] = {aside + extent, 0, 0};
    json_t *children = add_shapes(g, w, SPRAG_RECORDED_NONE, extent);
    for (int i = 0; i < w->bodies; i++) {
        char name[32];
        snprintf(name, sizeof name, "body %u", w->body[i].body);
        json_t *node = json_pack("{s:s}", "name", name);
        json_t *shapes = add_shapes(g, w, w->body[i].body, extent);
        if (json_array_size(shapes) > 0) { // glTF has no empty lists
            json_object_set(node, "children", shapes);
        }
        json_decref(shapes);
        int number_of_node = append(g->nodes, node, g);
        append(children, json_integer(number_of_node), g);
        add_motion(g, w, &w->body[i], number_of_node);
    }
    json_t *node = json_pack("{s:s, s:o, s:[f, f, f, f]}", "name", w->method, "translation",
                             numbers(place, 3), "rotation", -M_SQRT1_2, 0.0, 0.0, M_SQRT1_2);
    if (json_array_size(children) > 0) {
        json_object_set(node, "children", children);
    }
    json_decref(children);
    return append(g->nodes, node, g);
}

static json_t *materials(void)
{
    static const double colour[COLOURS + 1][3] = {
        {0.85, 0.45, 0.2},  {0.2, 0.5, 0.8}, {0.3, 0.65, 0.35}, {0.75, 0.3, 0.45},
        {0.55, 0.45, 0.75}, {0.8, 0.7, 0.3}, {0.6, 0.6, 0.6}};
    json_t *all = json_array();
    for (int i = 0; i <= COLOURS; i++) {
        json_array_append_new(all,
                              json_pack("{s:{s:[f, f, f, f], s:f, s:f}}", "pbrMetallicRoughness",
                                        "baseColorFactor", colour[i][0], colour[i][1], colour[i][2],
                                        1.0, "metallicFactor", 0.0, "roughnessFactor", 0.8));
    }
    return all;
}

// ---- the file

static json_t *root_of(glb *g, json_t *roots, const char *version)
{
    json_t *root =
        json_pack("{s:{s:s, s:s}, s:i, s:[{s:O}], s:O, s:O, s:O, s:[{s:I}], s:o}", "asset",
                  "version", "2.0", "generator", version, "scene", 0, "scenes", "nodes", roots,
                  "nodes", g->nodes, "accessors", g->accessors, "bufferViews", g->views, "buffers",
                  "byteLength", (json_int_t)g->size, "materials", materials());
    if (json_array_size(g->meshes) > 0) {
        json_object_set(root, "meshes", g->meshes);
    }
    if (json_array_size(g->channels) > 0) {
        json_object_set_new(root, "animations",
                            json_pack("[{s:s, s:O, s:O}]", "name", "run", "channels", g->channels,
                                      "samplers", g->samplers));
    }
    return root;
}

static bool write_chunk(FILE *to, uint32_t type, const char *data, size_t size, char padding)
{
    uint32_t head[2] = {(uint32_t)((size + 3) / 4 * 4), type};
    bool done = fwrite(head, sizeof head, 1, to) == 1 && fwrite(data, 1, size, to) == size;
    for (; size % 4 && done; size++) {
        done = putc(padding, to) != EOF;
    }
    return done;
}

static bool write_file(const glb *g, const json_t *root, const char *file,
                       char message[REPORT_MESSAGE])
{
    write_guard guard;
    char *text = json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(9));
    write_guard_begin(&guard);
    FILE *to = text ? fopen(file, "wb") : NULL;
    size_t length = text ? (strlen(text) + 3) / 4 * 4 : 0;
    uint32_t head[3] = {0x46546c67, 2, (uint32_t)(12 + 8 + length + 8 + (g->size + 3) / 4 * 4)};
    bool done = to && fwrite(head, sizeof head, 1, to) == 1 &&
                write_chunk(to, 0x4e4f534a, text, strlen(text), ' ') &&
                write_chunk(to, 0x004e4942, g->data, g->size, '\0');
    int error = errno;
    if (to && fclose(to) != 0) {
        error = done ? errno : error;
        done = false;
    }
    write_guard_end(&guard);
    free(text);
    if (!done) {
        snprintf(message, REPORT_MESSAGE, "%s: %s", file, strerror(error));
    }
    return done;
}

static bool write_film(const film *f, const char *file, char message[REPORT_MESSAGE])
{
    glb g = {.nodes = json_array(),
             .meshes = json_array(),
             .accessors = json_array(),
             .views = json_array(),
             .channels = json_array(),
             .samplers = json_array()};
    json_t *roots = json_array();
    double aside = 0;
    char version[64];
    g.binary = open_memstream(&g.data, &g.size);
    for (int i = 0; i < f->worlds && g.binary; i++) {
        append(roots, json_integer(add_world(&g, &f->world[i], aside)), &g);
        aside += 2 * extent_of(&f->world[i]);
    }
    g.failed |= !g.binary || fclose(g.binary) != 0;
    snprintf(version, sizeof version, "sprag %s",
             json_string_value(json_object_get(f->header, "sprag")));
    json_t *root = root_of(&g, roots, version);
    bool done = root && !g.failed && g.size < UINT32_MAX - (1u << 28);
    if (done) {
        done = write_file(&g, root, file, message);
    } else {
        snprintf(message, REPORT_MESSAGE, "%s: the run is too long for one file", file);
    }
    json_t *const all[] = {g.nodes,    g.meshes,   g.accessors, g.views,
                           g.channels, g.samplers, roots,       root};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        json_decref(all[i]);
    }
    free(g.data);
    return done;
}

bool export_gltf(const char *recording, const char *file, const char **end,
                 char message[REPORT_MESSAGE])
{
    film f;
    bool done = film_load(&f, recording, FRAMES_MOST, message) && write_film(&f, file, message);
    *end = f.end;
    film_free(&f);
    return done;
}
