// Time per pair of geoms, beside ODE's own dCollide on the same pair. Both compute the contacts of
// 64 pairs in turn, many times; times are medians, ratios are medians of paired measurements.
//
//   overlap   a millimetre deep, as ODE lets bodies rest; turned anyhow
//   touch     ours a micrometre apart, ODE's the same pair a micrometre deep: bodies that rest on
//             each other
//
//   faces     the same, face on face
//   apart     a tenth of a metre; ours with a reach of a centimetre, shorter than the distance
//
// Then whole spaces of boxes, balls, capsules in a heap: the pairs that ODE's hash space finds, and
// ours, with bodies that move a centimetre.
//
// ours: nothing remembered. warm: with the memory of the last query. gap: distance, normal and
// points alone, at any distance.
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "convex_cube.h"
#include "geom_pairs.h"
#include "linalg.h"

enum { PAIRS = 64, ROUNDS = 201, CONTACTS = 8, WAYS = 4, BALL = 60 };

typedef struct scene {
    dGeomID geom[PAIRS][2];  // for ODE, at its gap
    ode_geom side[PAIRS][2]; // for ours
    ode_pair pair[PAIRS];
    sprag_pair_memory memory[PAIRS];
    sprag_gap_query query;
} scene;

static double now_ns(void)
{
    return 1e3 * bench_cpu_us();
}

static unsigned long dice;

static double between(double low, double high)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (double)(dice >> 11) / 9007199254740992.0;
}

// ---- geoms

// A drum of BALL points: two polygons with BALL / 2 corners.
static dReal drum_points[3 * BALL], drum_planes[4 * (BALL / 2 + 2)];
static unsigned drum_faces[5 * (BALL / 2) + BALL + 2];

static void make_drum(void)
{
    int at = 0, n = BALL / 2;
    for (int i = 0; i < n; i++) {
        double turn = 2 * M_PI * i / n, middle = turn + M_PI / n;
        for (int top = 0; top < 2; top++) {
            dReal *p = &drum_points[3 * (2 * i + top)];
            p[0] = 0.5 * cos(turn), p[1] = 0.5 * sin(turn), p[2] = top - 0.5;
        }
        dReal *plane = &drum_planes[4 * i];
        plane[0] = cos(middle), plane[1] = sin(middle), plane[2] = 0,
        plane[3] = 0.5 * cos(M_PI / n);
        const unsigned j = (unsigned)((i + 1) % n), u = (unsigned)i;
        const unsigned face[5] = {4, 2 * u, 2 * j, 2 * j + 1, 2 * u + 1};
        memcpy(drum_faces + at, face, sizeof face);
        at += 5;
    }
    for (int top = 0; top < 2; top++) {
        dReal *plane = &drum_planes[4 * (n + top)];
        plane[2] = top ? 1 : -1, plane[3] = 0.5;
        drum_faces[at++] = (unsigned)n;
        for (int i = 0; i < n; i++) {
            drum_faces[at++] = (unsigned)(2 * (top ? i : n - 1 - i) + top);
        }
    }
}

// A globe of ROWS - 1 parallels with COLUMNS points each, and its poles: 994.
enum { ROWS = 32, COLUMNS = 32, GLOBE = (ROWS - 1) * COLUMNS + 2 };
static dReal globe_points[3 * GLOBE], globe_planes[4 * ROWS * COLUMNS];
static unsigned globe_faces[5 * ROWS * COLUMNS];

static void make_globe(void)
{
    int at = 0;
    for (int v = 0; v < GLOBE; v++) {
        int row = v == 0 ? 0 : v == GLOBE - 1 ? ROWS : 1 + (v - 1) / COLUMNS;
        double polar = M_PI * row / ROWS, turn = 2 * M_PI * ((v - 1) % COLUMNS) / COLUMNS;
        dReal *p = &globe_points[3 * v];
        p[0] = 0.5 * sin(polar) * cos(turn);
        p[1] = 0.5 * sin(polar) * sin(turn);
        p[2] = 0.5 * cos(polar);
    }
    for (int f = 0; f < ROWS * COLUMNS; f++) {
        int row = f / COLUMNS, here = f % COLUMNS, next = (here + 1) % COLUMNS;
        int up = 1 + (row - 1) * COLUMNS, down = 1 + row * COLUMNS;
        bool first = row == 0, last = row == ROWS - 1;
        unsigned *corners = &globe_faces[at++];
        globe_faces[at++] = (unsigned)(first ? 0 : up + here);
        globe_faces[at++] = (unsigned)(last ? GLOBE - 1 : down + here);
        if (!last) {
            globe_faces[at++] = (unsigned)(down + next);
        }
        if (!first) {
            globe_faces[at++] = (unsigned)(up + next);
        }
        *corners = (unsigned)(&globe_faces[at] - corners - 1);
        const dReal *p[3];
        double e[3], g[3], *plane = &globe_planes[4 * f];
        for (int i = 0; i < 3; i++) {
            p[i] = &globe_points[3 * corners[1 + i]];
        }
        subtract3(p[1], p[0], e);
        subtract3(p[2], p[0], g);
        cross3(e, g, plane);
        normalise3(plane);
        plane[3] = dot3(plane, p[0]);
    }
}

typedef enum kind { BALLS, BOX, CAPSULE, CYLINDER, CUBE, DRUM, PLANE, GLOBES, KINDS } kind;

static const char *const name[KINDS] = {"sphere", "box",      "capsule", "cylinder",
                                        "convex", "convex60", "plane",   "convex994"};

static dGeomID make(kind k)
{
    switch (k) {
    case BALLS:
        return dCreateSphere(NULL, 0.5);
    case BOX:
        return dCreateBox(NULL, 1, 0.9, 0.8);
    case CAPSULE:
        return dCreateCapsule(NULL, 0.3, 0.8);
    case CYLINDER:
        return dCreateCylinder(NULL, 0.4, 0.8);
    case CUBE:
        return dCreateConvex(NULL, cube_planes, 6, cube_points, 8, cube_faces);
    case DRUM:
        return dCreateConvex(NULL, drum_planes, BALL / 2 + 2, drum_points, BALL, drum_faces);
    case GLOBES:
        return dCreateConvex(NULL, globe_planes, ROWS * COLUMNS, globe_points, GLOBE, globe_faces);
    case PLANE:
    case KINDS:
        break;
    }
    return dCreatePlane(NULL, 0, 0, 1, 0);
}

// ---- pairs

static ode_geometry *geometry;

static void read_side(dGeomID id, ode_geom *side)
{
    if (!sprag_ode_geom_of(geometry, id, side)) {
        exit(EXIT_FAILURE);
    }
}

static ode_pair look(const dGeomID geom[2], ode_geom side[2])
{
    read_side(geom[0], &side[0]);
    read_side(geom[1], &side[1]);
    return (ode_pair){.side = {&side[0], &side[1]}};
}

// Lets the first geom down until the gap is what is wanted: so that bodies meet as falling ones do.
static void move_to(const dGeomID geom[2], double gap)
{
    const sprag_gap_query any = {INFINITY, 0};
    for (int i = 0; i < 100; i++) {
        ode_geom side[2];
        ode_pair pair = look(geom, side);
        sprag_gap found;
        sprag_ode_gap(&pair, &any, &found, NULL);
        double by = (gap - found.distance) / fmax(found.normal[2], 0.3);
        const dReal *at = dGeomGetPosition(geom[0]);
        dGeomSetPosition(geom[0], at[0], at[1], at[2] + by);
        if (fabs(by) < 1e-14) {
            break;
        }
    }
}

static void turn_anyhow(dGeomID geom, bool upright)
{
    dQuaternion q = {between(-1, 1), 0, 0, between(-1, 1)};
    if (!upright) {
        q[1] = between(-1, 1);
        q[2] = between(-1, 1);
    }
    dNormalize4(q);
    dGeomSetQuaternion(geom, q);
}

static void open_scene(scene *s, const kind kinds[2], double ours, double ode, bool faces,
                       double reach)
{
    dice = 1;
    s->query = (sprag_gap_query){reach, 1e-3};
    for (int i = 0; i < PAIRS; i++) {
        for (int side = 0; side < 2; side++) {
            s->geom[i][side] = make(kinds[side]);
            if (kinds[side] != PLANE) {
                turn_anyhow(s->geom[i][side], faces);
            }
        }
        double x = between(-0.3, 0.3), y = between(-0.3, 0.3);
        dGeomSetPosition(s->geom[i][0], x, y, 1.5);
        move_to(s->geom[i], ours);
        s->pair[i] = look(s->geom[i], s->side[i]);
        move_to(s->geom[i], ode);
        s->memory[i] = (sprag_pair_memory){.count = 0};
    }
}

static void close_scene(scene *s)
{
    for (int i = 0; i < PAIRS; i++) {
        dGeomDestroy(s->geom[i][0]);
        dGeomDestroy(s->geom[i][1]);
    }
}

// ---- measuring

static double median(double *value)
{
    qsort(value, ROUNDS, sizeof *value, bench_by_size);
    return value[ROUNDS / 2];
}

static void run(scene *s, int way, long *points)
{
    dContactGeom contact[CONTACTS];
    sprag_manifold manifold;
    sprag_gap gap;
    const sprag_gap_query any = {INFINITY, 0};
    *points = 0;
    for (int i = 0; i < PAIRS; i++) {
        ode_pair *pair = &s->pair[i];
        pair->memory = way == 2 ? &s->memory[i] : NULL;
        manifold.count = 0;
        if (way == 0) {
            *points += dCollide(s->geom[i][0], s->geom[i][1], CONTACTS, contact, sizeof *contact);
        } else if (way == 3) {
            sprag_ode_gap(pair, &any, &gap, NULL);
        } else {
            sprag_ode_gap(pair, &s->query, &gap, &manifold);
            *points += manifold.count;
        }
    }
}

static double least_points = INFINITY; // of ours per touching pair
static double largest_hull_ratio;      // of time to dCollide's, touching hulls of 994 vertices

static void bench_pairs(const char *state, const kind kinds[2], scene *s, line_fn *line)
{
    static double ns[WAYS][ROUNDS], ratio[WAYS][ROUNDS];
    long points[WAYS];
    for (int i = 0; i < WAYS; i++) {
        run(s, i, &points[i]); // so that something is remembered
    }
    for (int k = 0; k < ROUNDS; k++) {
        for (int turn = 0; turn < WAYS; turn++) {
            int i = (turn + k) % WAYS; // none is always the first
            double start = now_ns();
            run(s, i, &points[i]);
            ns[i][k] = (now_ns() - start) / PAIRS;
        }
        for (int i = 0; i < WAYS; i++) {
            ratio[i][k] = ns[i][k] / ns[0][k];
        }
    }
    line("%s-%s|%s| |%.1f|%.0f|%.1f|%.0f|%.2f|%.0f|%.2f|%.0f|%.2f", name[kinds[0]], name[kinds[1]],
         state, (double)points[0] / PAIRS, median(ns[0]), (double)points[1] / PAIRS, median(ns[1]),
         median(ratio[1]), median(ns[2]), median(ratio[2]), median(ns[3]), median(ratio[3]));
    if (!strcmp(state, "touch")) {
        least_points = fmin(least_points, (double)points[1] / PAIRS);
        if (kinds[0] == GLOBES) {
            largest_hull_ratio = fmax(largest_hull_ratio, median(ratio[1]));
        }
    }
}

// ---- all pairs of a space

static void count_pair(void *data, dGeomID a, dGeomID b)
{
    (void)a;
    (void)b;
    ++*(long *)data;
}

static bool move_a_little(void *data, dBodyID body, ode_motion *motion)
{
    (void)data;
    (void)body;
    motion->slack = 0.01;
    return true;
}

static void bench_space(int bodies, line_fn *line)
{
    enum { ROUNDS_OF_ALL = 31 };
    dWorldID world = dWorldCreate();
    dSpaceID space = dHashSpaceCreate(NULL);
    sprag_scratch scratch = {0};
    double side = cbrt(bodies), ns[2][ROUNDS], ratio[ROUNDS];
    long found[2] = {0, 0};
    dice = 2;
    dSpaceAdd(space, dCreatePlane(NULL, 0, 0, 1, 0));
    for (int i = 0; i < bodies; i++) {
        dGeomID geom = make((kind)(i % 3));
        dSpaceAdd(space, geom);
        dGeomSetBody(geom, dBodyCreate(world));
        dGeomSetPosition(geom, between(0, side), between(0, side), between(0, side));
        turn_anyhow(geom, false);
    }
    for (int k = 0; k < ROUNDS_OF_ALL; k++) {
        for (int i = 0; i < bodies; i++) { // as after a step: nothing is clean
            dBodyID body = dGeomGetBody(dSpaceGetGeom(space, i));
            if (body) {
                const dReal *at = dBodyGetPosition(body);
                dBodySetPosition(body, at[0], at[1], at[2]);
            }
        }
        for (int turn = 0; turn < 2; turn++) {
            double start = now_ns();
            if ((turn + k) % 2) {
                const ode_collision all = {.a = (dGeomID)space};
                ode_pairs pairs;
                sprag_scratch_reset(&scratch);
                sprag_ode_find_pairs(geometry, &all, 1, move_a_little, NULL, 0, false, &scratch,
                                     &pairs);
                found[1] = pairs.count;
            } else {
                found[0] = 0;
                dSpaceCollide(space, &found[0], count_pair);
            }
            ns[(turn + k) % 2][k] = now_ns() - start;
        }
        ratio[k] = ns[1][k] / ns[0][k];
    }
    qsort(ns[0], ROUNDS_OF_ALL, sizeof **ns, bench_by_size);
    qsort(ns[1], ROUNDS_OF_ALL, sizeof **ns, bench_by_size);
    qsort(ratio, ROUNDS_OF_ALL, sizeof *ratio, bench_by_size);
    line("%d bodies|space| |%ld|%.0f|%ld|%.0f|%.2f", bodies, found[0], ns[0][ROUNDS_OF_ALL / 2],
         found[1], ns[1][ROUNDS_OF_ALL / 2], ratio[ROUNDS_OF_ALL / 2]);
    sprag_scratch_free(&scratch);
    dSpaceDestroy(space);
    dWorldDestroy(world);
}

void bench_geometry(line_fn *line)
{
    static scene s;
    make_drum();
    make_globe();
    geometry = sprag_ode_geometry_make();
    line("pair|state| |points|dCollide/ns|points|ours/ns|/dCollide|warm/ns|/dCollide|gap/ns|"
         "/dCollide");
    for (int a = 0; a < PLANE; a++) {
        for (int b = a; b <= PLANE; b++) {
            const kind kinds[2] = {(kind)a, (kind)b};
            open_scene(&s, kinds, -1e-3, -1e-3, false, INFINITY);
            bench_pairs("overlap", kinds, &s, line);
            close_scene(&s);
            open_scene(&s, kinds, 1e-6, -1e-6, false, INFINITY);
            bench_pairs("touch", kinds, &s, line);
            close_scene(&s);
            if (a != BALLS && b != BALLS) {
                open_scene(&s, kinds, 1e-6, -1e-6, true, INFINITY);
                bench_pairs("faces", kinds, &s, line);
                close_scene(&s);
            }
            open_scene(&s, kinds, 0.1, 0.1, false, 0.01);
            bench_pairs("apart", kinds, &s, line);
            close_scene(&s);
        }
    }
    static const kind large[][2] = {{GLOBES, BOX}, {GLOBES, GLOBES}, {GLOBES, PLANE}};
    for (int i = 0; i < 3; i++) {
        open_scene(&s, large[i], 1e-6, -1e-6, false, INFINITY);
        bench_pairs("touch", large[i], &s, line);
        close_scene(&s);
        open_scene(&s, large[i], 0.1, 0.1, false, 0.01);
        bench_pairs("apart", large[i], &s, line);
        close_scene(&s);
    }
    line("space| | |pairs|ODE/ns|pairs|ours/ns|/ODE");
    for (int bodies = 10; bodies <= 10000; bodies *= 10) {
        bench_space(bodies, line);
    }
    bench_at_least("contact points of a touching pair, least mean", least_points, 1);
    bench_at_most("time of touching hulls of 994 vertices by dCollide's", largest_hull_ratio, 1);
    sprag_ode_geometry_free(geometry);
}
