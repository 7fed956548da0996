// ODE worlds with a check after each step: positions as the program reads them, pairs as its
// callback would meet them.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_advance.h"
#include "sprag.h"

const char *const advance_ours = "method=advance";

// A pair that overlapped at the start.
typedef struct overlap {
    dGeomID geom[2];
    double depth; // m, then
    struct overlap *next;
} overlap;

static solid solid_of(dGeomID geom)
{
    solid s = {.kind = SOLID_PLANE};
    dVector4 plane;
    if (dGeomGetClass(geom) == dPlaneClass) {
        dGeomPlaneGetParams(geom, plane);
        for (int k = 0; k < 3; k++) {
            s.at[k] = plane[3] * plane[k];
            s.R[3 * k + 2] = plane[k];
        }
        return s;
    }
    const dReal *x = dGeomGetPosition(geom), *R = dGeomGetRotation(geom);
    for (int k = 0; k < 9; k++) {
        s.at[k / 3] = x[k / 3];
        s.R[k] = R[4 * (k / 3) + k % 3];
    }
    if (dGeomGetClass(geom) == dSphereClass) {
        s.kind = SOLID_BALL;
        s.radius = dGeomSphereGetRadius(geom);
    } else if (dGeomGetClass(geom) == dBoxClass) {
        dVector3 side;
        s.kind = SOLID_BOX;
        dGeomBoxGetLengths(geom, side);
        for (int k = 0; k < 3; k++) {
            s.half[k] = side[k] / 2;
        }
    } else {
        const sprag_hull *hull = dGeomGetData(geom);
        s.kind = SOLID_POINTS;
        s.points = hull->points;
        s.point = hull->point;
    }
    return s;
}

// The check knows planes, balls, boxes, and convex geoms and meshes that the scene gave a hull.
static bool is_known(dGeomID geom)
{
    int class = dGeomGetClass(geom);
    return class == dPlaneClass || class == dSphereClass || class == dBoxClass ||
           ((class == dTriMeshClass || class == dConvexClass) && dGeomGetData(geom));
}

static bool may_meet(dGeomID a, dGeomID b)
{
    dBodyID p = dGeomGetBody(a), q = dGeomGetBody(b);
    bool bits = (dGeomGetCategoryBits(a) & dGeomGetCollideBits(b)) ||
                (dGeomGetCategoryBits(b) & dGeomGetCollideBits(a));
    return bits && p != q && !(p && q && dAreConnectedExcluding(p, q, dJointTypeContact));
}

static overlap *find_overlap(const advance_world *w, dGeomID a, dGeomID b)
{
    overlap *o = w->overlap;
    while (o && (o->geom[0] != a || o->geom[1] != b) && (o->geom[0] != b || o->geom[1] != a)) {
        o = o->next;
    }
    return o;
}

static void note_overlap(advance_world *w, dGeomID a, dGeomID b, double gap)
{
    overlap *o = bench_allocate(1, sizeof *o);
    *o = (overlap){{a, b}, -gap, w->overlap};
    w->overlap = o;
    w->overlapping++;
}

static void check_pair(advance_world *w, dGeomID a, dGeomID b, double gap, bool first)
{
    if (first) {
        w->initial = fmin(w->initial, gap);
        if (gap < 0) {
            note_overlap(w, a, b, gap);
        }
        return;
    }
    overlap *o = find_overlap(w, a, b); // the space reorders its geoms
    if (o) {
        w->still = fmin(w->still, gap);
        w->deeper = fmax(w->deeper, -gap - o->depth);
    } else {
        w->least = fmin(w->least, gap);
    }
}

static bool near(const solid *a, const solid *b, double radii)
{
    double square = 0;
    for (int k = 0; k < 3; k++) {
        square += pow(a->at[k] - b->at[k], 2);
    }
    return square < pow(radii + 0.1, 2);
}

static void check(advance_world *w, bool first)
{
    w->still = 0;
    int geoms = w->of.scene.model->script->contacts ? dSpaceGetNumGeoms(w->of.scene.space) : 0;
    solid *all = bench_allocate((size_t)geoms + 1, sizeof *all);
    double *radius = bench_allocate((size_t)geoms + 1, sizeof *radius);
    dGeomID *geom = bench_allocate((size_t)geoms + 1, sizeof *geom);
    int known = 0;
    for (int i = 0; i < geoms; i++) {
        geom[known] = dSpaceGetGeom(w->of.scene.space, i);
        if (is_known(geom[known])) {
            all[known] = solid_of(geom[known]);
            radius[known] = solid_radius(&all[known]);
            known++;
        }
    }
    w->unknown = geoms - known;
    for (int i = 0; i < known; i++) {
        for (int k = i + 1; k < known; k++) {
            if (near(&all[i], &all[k], radius[i] + radius[k]) && may_meet(geom[i], geom[k])) {
                check_pair(w, geom[i], geom[k], solid_apart(&all[i], &all[k]), first);
            }
        }
    }
    free(all);
    free(radius);
    free(geom);
}

// ---- worlds

void advance_world_open(advance_world *w, const sprag_model *model, double step,
                        const char *options)
{
    w->initial = w->least = INFINITY;
    w->us = w->deeper = 0;
    w->groups = 0;
    w->overlapping = 0;
    w->unknown = 0;
    w->overlap = NULL;
    w->of = (bench_scene){0};
    dRandSetSeed(0);
    if (!sprag_scene_open(&w->of.scene, model, step)) {
        fprintf(stderr, "bench: no memory for %s\n", model->name);
        exit(EXIT_FAILURE);
    }
    w->of.seed = dRandGetSeed();
    bench_configure(w->of.scene.world, options, 100);
    check(w, true);
}

void advance_world_make(advance_world *w, void (*open)(sprag_scene *), double friction,
                        const char *options)
{
    w->script = (sprag_script){.contacts = 8, .friction = friction, .open = open};
    w->model = (sprag_model){.name = "world", .step = 0.01, .script = &w->script};
    advance_world_open(w, &w->model, 0, options);
}

void advance_world_step(advance_world *w)
{
    bench_step(&w->of);
    w->us += bench_stepper_us;
    sprag_world_statistics told = {.struct_size = sizeof told};
    w->groups += sprag_world_stats(w->of.scene.world, &told) ? told.islands : 0;
    if (w->of.scene.nonfinite) {
        w->least = -INFINITY;
    } else {
        check(w, false);
    }
}

void advance_world_run(advance_world *w, double seconds)
{
    for (long left = lround(seconds / w->of.scene.step); left > 0; left--) {
        advance_world_step(w);
    }
}

advance_counts advance_world_counts(const advance_world *w)
{
    sprag_world_statistics s = {.struct_size = sizeof s};
    advance_counts c = {.least_gap = NAN, .stalled = NAN};
    if (sprag_world_stats(w->of.scene.world, &s)) {
        c.penetration = s.penetration;
        c.substeps = s.substeps;
        c.limited = s.shortened;
        c.changes = s.contact_changes;
        c.overlaps = s.overlaps;
        c.least_gap = s.least_gap;
        c.stalled = s.stalled;
    }
    return c;
}

void advance_world_close(advance_world *w)
{
    for (overlap *o = w->overlap; o;) {
        overlap *next = o->next;
        free(o);
        o = next;
    }
    w->overlap = NULL;
    sprag_scene_close(&w->of.scene);
}

void row_world(const advance_world *w)
{
    advance_counts c = advance_world_counts(w);
    row_report("initial gap/m", w->initial);
    row_at_least("least gap/m, ours to check", w->least, 0);
    row_at_least("least gap/m, its own", c.least_gap, 0);
    if (w->unknown) {
        row_report("geoms that the check does not know", (double)w->unknown);
    }
    if (w->overlapping) {
        row_report("pairs that began overlapped", (double)w->overlapping);
        row_at_most("of these, deeper by/m", w->deeper, 1e-6);
        row_report("of these, gap in the end/m", w->still);
    }
    row_report("substeps/frame", (double)c.substeps / (double)w->of.scene.steps_done);
    row_at_most("stalled share", c.stalled / sprag_scene_time(&w->of.scene), 1e-3);
}

void row_changes(const advance_world *w, double most)
{
    advance_counts c = advance_world_counts(w);
    row_report("changes", (double)c.changes);
    double per_change = (double)c.limited / fmax((double)c.changes, 1);
    if (isinf(most)) {
        row_report("limited/change", per_change);
    } else {
        row_at_most("limited/change", per_change, most);
    }
}

void advance_place_turned(dBodyID body, double ax, double ay, double az, double angle)
{
    dMatrix3 R;
    dRFromAxisAndAngle(R, ax, ay, az, angle);
    dBodySetRotation(body, R);
}
