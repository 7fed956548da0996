// picture - draws three models under dWorldStep, dWorldQuickStep and sprag as SVG on standard
// output. README.md shows the result, models/picture.svg. Every pose and number comes from a run of
// the model in this process, with its default step and length.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models.h"
#include "sprag.h"

enum { COLUMNS = 3, ROWS = 3, WIDTH = 250, HEIGHT = 210, LEFT = 158, TOP = 44, FACES_MAX = 512 };

typedef struct panel {
    const char *model;
    const char *title;
    const char *measure; // name of the measure in the caption
    const char *verb;    // the caption: verb, value, unit
    double centre[3];    // m, drawn in the middle of the panel
    double scale;        // pixels per m
    double after_loss;   // s, a run ends that long after the object was lost; 0: never
    double floor[2];     // m, half lengths of the patch drawn of a plane
} panel;

static const panel panels[COLUMNS] = {
    {"stack", "Ten boxes, 10 s", "stood for", "stood", {0.6, 0, 4.1}, 14.5, 0, {6, 3}},
    {"gripper",
     "Cube in two fingers, 30 s",
     "slip from 1 s on",
     "slipped",
     {0, 0, 0.97},
     560,
     0.12,
     {0, 0}},
    {"slope",
     "Box on a slope, 10 s",
     "drift from 1 s on",
     "slid",
     {0, 0, 0.04},
     620,
     0,
     {0.15, 0.09}},
};

static const struct {
    const char *label, *method;
} rows[ROWS] = {{"dWorldStep", "method=ode-step"},
                {"dWorldQuickStep", "method=ode-quick"},
                {"sprag", "method=stribeck"}};

static const double forward[3] = {-0.336, 0.886, -0.320}; // of the camera; unit
static const double right[3] = {0.935, 0.355, 0};
static const double upward[3] = {-0.1136, 0.2992, 0.9475}; // right x forward

// One side of a box, or a patch of a plane.
typedef struct face {
    double depth;        // m, along the camera
    double corner[4][2]; // pixels
    const char *style;
} face;

static face faces[FACES_MAX];
static int face_count;

static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static int by_depth(const void *a, const void *b)
{
    double p = ((const face *)a)->depth, q = ((const face *)b)->depth;
    return (p < q) - (p > q);
}

static void add_face(const panel *p, const double corner[4][3], double nearer, const char *style)
{
    if (face_count == FACES_MAX) {
        return;
    }
    face *f = &faces[face_count++];
    f->depth = -nearer;
    f->style = style;
    for (int i = 0; i < 4; i++) {
        const double from[3] = {corner[i][0] - p->centre[0], corner[i][1] - p->centre[1],
                                corner[i][2] - p->centre[2]};
        f->corner[i][0] = WIDTH / 2.0 + p->scale * dot(right, from);
        f->corner[i][1] = HEIGHT / 2.0 - p->scale * dot(upward, from);
        f->depth += dot(forward, corner[i]) / 4;
    }
}

// The sides of a box that face the camera.
static void add_box(const panel *p, const dReal *at, const dReal *turn, const dReal *side,
                    const char *style[3])
{
    for (int axis = 0; axis < 3; axis++) {
        double normal[3] = {turn[axis], turn[4 + axis], turn[8 + axis]};
        double sign = dot(normal, forward) < 0 ? 1 : -1;
        int u = (axis + 1) % 3, v = (axis + 2) % 3;
        double corner[4][3];
        for (int i = 0; i < 4; i++) {
            double a = i == 0 || i == 3 ? 0.5 : -0.5, b = i < 2 ? 0.5 : -0.5;
            for (int k = 0; k < 3; k++) {
                corner[i][k] = at[k] + sign * side[axis] / 2 * turn[4 * k + axis] +
                               a * side[u] * turn[4 * k + u] + b * side[v] * turn[4 * k + v];
            }
        }
        int shade = fabs(normal[2]) > 0.7 ? 0 : fabs(normal[1]) > 0.5 ? 1 : 2;
        add_face(p, corner, 0, style[shade]);
    }
}

static void add_plane(const panel *p, dGeomID geom)
{
    dVector4 plane;
    dGeomPlaneGetParams(geom, plane);
    double along[3] = {plane[2], 0, -plane[0]}, corner[4][3];
    for (int i = 0; i < 4; i++) {
        double a = i == 0 || i == 3 ? 1 : -1, b = i < 2 ? 1 : -1;
        for (int k = 0; k < 3; k++) {
            corner[i][k] = plane[3] * plane[k] + a * p->floor[0] * along[k];
        }
        corner[i][1] += b * p->floor[1];
    }
    add_face(p, corner, -100, "fl");
}

static void add_geoms(const panel *p, const sprag_scene *scene)
{
    static const char *shades[3] = {"b0", "b1", "b2"};
    for (int i = 0; i < dSpaceGetNumGeoms(scene->space); i++) {
        dGeomID geom = dSpaceGetGeom(scene->space, i);
        dVector3 side;
        if (dGeomGetClass(geom) == dPlaneClass) {
            add_plane(p, geom);
        } else if (dGeomGetClass(geom) == dBoxClass) {
            dGeomBoxGetLengths(geom, side);
            add_box(p, dGeomGetPosition(geom), dGeomGetRotation(geom), side, shades);
        }
    }
}

// Outlines where the first body stood at the start.
static void add_ghost(const panel *p, const dReal *at, const dReal *turn, const dReal *side)
{
    static const char *ghost[3] = {"gh", "gh", "gh"};
    int first = face_count;
    add_box(p, at, turn, side, ghost);
    for (int i = first; i < face_count; i++) {
        faces[i].depth = -1000; // in front
    }
}

static void draw_faces(void)
{
    qsort(faces, (size_t)face_count, sizeof *faces, by_depth);
    for (int i = 0; i < face_count; i++) {
        printf("<polygon class=\"%s\" points=\"", faces[i].style);
        for (int k = 0; k < 4; k++) {
            printf("%s%.1f,%.1f", k ? " " : "", faces[i].corner[k][0], faces[i].corner[k][1]);
        }
        puts("\"/>");
    }
    face_count = 0;
}

static double measured(const sprag_scene *scene, const char *name)
{
    sprag_measure measure[SPRAG_MEASURES_MAX];
    int count = sprag_scene_measure(scene, measure);
    for (int i = 0; i < count; i++) {
        if (!strcmp(measure[i].name, name)) {
            return measure[i].value;
        }
    }
    return NAN;
}

static void draw_caption(const panel *p, const sprag_scene *scene, double now)
{
    double held = measured(scene, "held for"), value = measured(scene, p->measure);
    printf("<text class=\"c\" x=\"%d\" y=\"%d\">", WIDTH / 2, HEIGHT - 8);
    if (held < now) {
        printf("lost at %.1f s", held);
    } else if (!strcmp(p->measure, "stood for")) {
        printf(value < now ? "first box falls at %.2f s" : "stands", value);
    } else if (value < 5e-5) {
        printf("%s less than 0.1 mm", p->verb);
    } else {
        printf("%s %.1f mm", p->verb, 1000 * value);
    }
    puts("</text>");
}

static int draw_panel(const panel *p, const char *method)
{
    const sprag_model *model = sprag_model_find(p->model);
    sprag_scene scene;
    dRandSetSeed(0);
    if (!model || !sprag_scene_open(&scene, model, 0) ||
        !sprag_world_configure(scene.world, method)) {
        return 0;
    }
    dVector3 side = {0}, at;
    dMatrix3 turn;
    dGeomBoxGetLengths(dBodyGetFirstGeom(scene.body[0]), side);
    dBodyCopyPosition(scene.body[0], at);
    dBodyCopyRotation(scene.body[0], turn);
    for (double now = 0; scene.steps_done < lround(model->seconds / model->step);) {
        sprag_scene_step(&scene);
        now = (double)scene.steps_done * model->step;
        if (p->after_loss > 0 && now - measured(&scene, "held for") > p->after_loss) {
            break;
        }
    }
    add_geoms(p, &scene);
    if (strcmp(p->model, "stack") != 0) {
        add_ghost(p, at, turn, side);
    }
    draw_faces();
    draw_caption(p, &scene, (double)scene.steps_done * model->step - 1e-9);
    sprag_scene_close(&scene);
    return 1;
}

static void ignore_message(int number, const char *format, va_list arguments)
{
    (void)number, (void)format, (void)arguments; // LCP errors, which `sprag compare` counts
}

int main(void)
{
    const int width = LEFT + COLUMNS * (WIDTH + 10), height = TOP + ROWS * (HEIGHT + 10);
    dInitODE2(0);
    dSetMessageHandler(ignore_message);
    printf("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d "
           "%d\">\n<style>text{font-family:sans-serif;font-size:15px;fill:#222}"
           ".c{text-anchor:middle}.h{font-weight:bold}"
           "polygon{stroke:#333;stroke-width:.7;stroke-linejoin:round}"
           ".b0{fill:#f3c56b}.b1{fill:#dd9a3a}.b2{fill:#a86d20}.fl{fill:#d5dbe0;stroke:none}"
           ".gh{fill:none;stroke:#c00;stroke-dasharray:4 3}</style>\n"
           "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
           width, height, width, height);
    for (int c = 0; c < COLUMNS; c++) {
        printf("<text class=\"c h\" x=\"%d\" y=\"28\">%s</text>\n",
               LEFT + c * (WIDTH + 10) + WIDTH / 2, panels[c].title);
    }
    for (int r = 0; r < ROWS; r++) {
        int top = TOP + r * (HEIGHT + 10);
        printf("<text class=\"h\" x=\"8\" y=\"%d\">%s</text>\n", top + HEIGHT / 2, rows[r].label);
        for (int c = 0; c < COLUMNS; c++) {
            printf("<svg x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\">"
                   "<rect width=\"100%%\" height=\"100%%\" fill=\"#f4f6f8\"/>\n",
                   LEFT + c * (WIDTH + 10), top, WIDTH, HEIGHT);
            if (!draw_panel(&panels[c], rows[r].method)) {
                fprintf(stderr, "picture: %s cannot be drawn\n", panels[c].model);
                return EXIT_FAILURE;
            }
            puts("</svg>");
        }
    }
    puts("</svg>");
    dCloseODE();
    return EXIT_SUCCESS;
}
