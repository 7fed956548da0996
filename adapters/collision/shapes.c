// One geom -> a shape, or a mesh of triangles. Public functions say what spheres, boxes, capsules,
// cylinders, planes and triangle meshes are. Of convex geoms and heightfields ODE keeps to itself
// what they are made of: that is read from its own structs, whose layout is looked at once, with
// geoms of known content; if it is another, such geoms are of an unknown shape.
#include "gaps.h"
#include "ode.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "linalg.h"
#include "tree.h"

// An ODE without triangle meshes has no such function either.
#pragma weak dGeomTriMeshGetTriangle

// ---- ODE's own structs

enum { GEOM_FLAGS = 12, PLACEABLE = 8, GEOM_END = 160 };

typedef struct dx_convex { // behind dxGeom
    const dReal *planes, *points;
    const unsigned *polygons;
    unsigned plane_count, point_count;
} dx_convex;

typedef struct dx_heights { // dxHeightfieldData
    dReal width, depth, sample_width, sample_depth, aspect, per_width, per_depth;
    dReal half_width, half_depth, min, max, thickness, scale, offset;
    int width_samples, depth_samples, copied, wrapped, mode;
} dx_heights;

static const dx_convex *convex_of(dGeomID id)
{
    return (const dx_convex *)(const void *)((const char *)id + GEOM_END);
}

static const dx_heights *heights_of(dHeightfieldDataID id)
{
    return (const dx_heights *)(const void *)id;
}

static bool is_placeable(dGeomID id)
{
    int flags;
    memcpy(&flags, (const char *)id + GEOM_FLAGS, sizeof flags);
    return flags & PLACEABLE;
}

static bool convex_known, heights_known;

static void look_at_layouts(void)
{
    static const dReal planes[] = {0, 0, 1, 0}, points[] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
    static const unsigned polygons[] = {3, 0, 1, 2};
    static const double heights[] = {1, 2, 3, 4, 5, 6};
    if (!dCheckConfiguration("ODE_double_precision")) {
        return;
    }
    dGeomID convex = dCreateConvex(NULL, planes, 1, points, 3, polygons);
    dGeomID plane = dCreatePlane(NULL, 0, 0, 1, 0);
    const dx_convex *c = convex_of(convex);
    bool flags = is_placeable(convex) && !is_placeable(plane);
    convex_known = flags && c->planes == planes && c->points == points && c->polygons == polygons &&
                   c->plane_count == 1 && c->point_count == 3;
    dGeomDestroy(convex);
    dGeomDestroy(plane);

    dHeightfieldDataID data = dGeomHeightfieldDataCreate();
    dGeomHeightfieldDataBuildDouble(data, heights, 0, 4, 10, 3, 2, 2, 0.5, 0.25, 1);
    const dx_heights *h = heights_of(data);
    heights_known = flags && sprag_ode_has_heights() && h->width == 4 && h->depth == 10 &&
                    h->sample_width == 2 && h->sample_depth == 10 && h->half_width == 2 &&
                    h->half_depth == 5 && h->thickness == 0.25 && h->scale == 2 &&
                    h->offset == 0.5 && h->width_samples == 3 && h->depth_samples == 2 &&
                    h->wrapped == 1 && sprag_ode_height(data, 1, 0) == 4.5;
    dGeomHeightfieldDataDestroy(data);
}

// ---- what is kept

typedef struct hull {
    dGeomID geom; // key
    long used;    // at which turn
    uint64_t content;
    int faces; // room
    int *start;
    double (*normal)[3];
    int *links;
    sprag_polytope polytope;
    UT_hash_handle hh;
} hull;

typedef struct mesh {
    dGeomID geom; // key
    long used;    // at which turn
    dTriMeshDataID data;
    uint64_t content;
    int room;               // triangles
    double (*corner)[3][3]; // in the axes of the geom
    double (*box)[6];
    sprag_tree tree;
    UT_hash_handle hh;
} mesh;

typedef struct known {
    dGeomID geom[2]; // NULL: a free slot
    int triangle[2];
    sprag_pair_memory memory;
} known;

typedef struct table {
    known *slot;
    int slots; // power of two, 0: none
    int room;
} table;

enum { KEPT_TURNS = 1000 }; // what has not been used for so long is gone

struct ode_geometry {
    hull *hulls;
    mesh *meshes;
    table last, now;
    long turn;
};

ode_geometry *sprag_ode_geometry_make(void)
{
    return calloc(1, sizeof(ode_geometry));
}

static void free_hull(ode_geometry *g, hull *h)
{
    HASH_DEL(g->hulls, h);
    free(h->start);
    free(h->normal);
    free(h->links);
    free(h);
}

static void free_mesh(ode_geometry *g, mesh *m)
{
    HASH_DEL(g->meshes, m);
    free(m->corner);
    free(m->box);
    free(m->tree.order);
    free(m->tree.bounds);
    free(m);
}

void sprag_ode_geometry_free(ode_geometry *g)
{
    if (g) {
        hull *h, *next_hull;
        mesh *m, *next_mesh;
        HASH_ITER(hh, g->hulls, h, next_hull)
        {
            free_hull(g, h);
        }
        HASH_ITER(hh, g->meshes, m, next_mesh)
        {
            free_mesh(g, m);
        }
        free(g->last.slot);
        free(g->now.slot);
        free(g);
    }
}

static uint64_t mix(uint64_t hash, const void *data, size_t size)
{
    const unsigned char *byte = data;
    for (; size >= 8; size -= 8, byte += 8) {
        uint64_t word;
        memcpy(&word, byte, 8);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    for (; size; size--) {
        hash = (hash ^ *byte++) * 0x100000001b3u;
    }
    return hash;
}

// ---- convex geoms

static const sprag_polytope *polytope_of(ode_geometry *g, dGeomID id)
{
    const dx_convex *c = convex_of(id);
    const double(*vertex)[3] = (const double(*)[3])(const void *)c->points;
    int faces = c->polygons ? (int)c->plane_count : 0, loops = 0;
    for (int i = 0; i < faces; i++) {
        loops += 1 + (int)c->polygons[loops];
    }
    uint64_t content = mix(c->point_count, c->points, 3 * sizeof(dReal) * c->point_count);
    content = mix(content, c->polygons, sizeof(unsigned) * (size_t)loops);
    content = mix(content, &c->polygons, sizeof c->polygons);
    hull *h;
    HASH_FIND_PTR(g->hulls, &id, h);
    if (h) {
        h->used = g->turn;
    }
    if (h && h->content == content && h->polytope.vertex == vertex) {
        return &h->polytope;
    }
    if (h && h->faces < faces) {
        free_hull(g, h);
        h = NULL;
    }
    if (!h) {
        h = calloc(1, sizeof *h);
        if (!h) {
            return NULL;
        }
        h->geom = id;
        h->used = g->turn;
        h->faces = faces;
        h->start = malloc((size_t)(faces + 1) * sizeof *h->start);
        h->normal = malloc((size_t)(faces + 1) * sizeof *h->normal);
        HASH_ADD_PTR(g->hulls, geom, h);
        if (!h->start || !h->normal) {
            free_hull(g, h);
            return NULL;
        }
    }
    h->content = content;
    h->polytope =
        sprag_polytope_make(vertex, (int)c->point_count, c->polygons, faces, h->start, h->normal);
    int *links = realloc(h->links, (size_t)sprag_polytope_links(&h->polytope) * sizeof *links);
    h->links = links ? links : h->links;
    if (links) {
        sprag_polytope_link(&h->polytope, links);
    }
    return &h->polytope;
}

// ---- triangle meshes

// A few triangles, for a mesh that a program deforms; dGeomTriMeshDataUpdate is for all of them.
static uint64_t sample_mesh(dGeomID id, int count)
{
    enum { SAMPLES = 32 };
    const void *data = dGeomTriMeshGetData(id);
    uint64_t content = mix((uint64_t)count, &data, sizeof data);
    const dReal *at = dGeomGetPosition(id), *R = dGeomGetRotation(id);
    for (int i = 0; i < SAMPLES && i < count; i++) {
        dVector3 corner[3];
        int number = count <= SAMPLES ? i : (int)((long)i * (count - 1) / (SAMPLES - 1));
        dGeomTriMeshGetTriangle(id, number, &corner[0], &corner[1], &corner[2]);
        for (int c = 0; c < 3; c++) { // to single precision, that poses do not matter
            for (int k = 0; k < 3; k++) {
                double local = 0;
                for (int j = 0; j < 3; j++) {
                    local += R[4 * j + k] * (corner[c][j] - at[j]);
                }
                long rounded = lround(local * 1e6);
                content = mix(content, &rounded, sizeof rounded);
            }
        }
    }
    return content;
}

static bool make_room(mesh *m, int count)
{
    if (count <= m->room) {
        return true;
    }
    size_t n = (size_t)count;
    double(*corner)[3][3] = realloc(m->corner, n * sizeof *corner);
    m->corner = corner ? corner : m->corner;
    double(*box)[6] = realloc(m->box, n * sizeof *box);
    m->box = box ? box : m->box;
    int *order = realloc(m->tree.order, n * sizeof *order);
    m->tree.order = order ? order : m->tree.order;
    double(*bounds)[6] = realloc(m->tree.bounds, 2 * n * sizeof *bounds);
    m->tree.bounds = bounds ? bounds : m->tree.bounds;
    if (!corner || !box || !order || !bounds) {
        return false;
    }
    m->room = count;
    return true;
}

static void read_mesh(mesh *m, dGeomID id, int count)
{
    const dReal *at = dGeomGetPosition(id), *R = dGeomGetRotation(id);
    for (int i = 0; i < count; i++) {
        dVector3 corner[3];
        dGeomTriMeshGetTriangle(id, i, &corner[0], &corner[1], &corner[2]);
        for (int k = 0; k < 3; k++) {
            for (int c = 0; c < 3; c++) {
                m->corner[i][c][k] = 0;
                for (int j = 0; j < 3; j++) {
                    m->corner[i][c][k] += R[4 * j + k] * (corner[c][j] - at[j]);
                }
            }
            double x = m->corner[i][0][k], y = m->corner[i][1][k], z = m->corner[i][2][k];
            m->box[i][k] = fmin(x, fmin(y, z));
            m->box[i][k + 3] = fmax(x, fmax(y, z));
        }
    }
    m->tree.count = count;
    sprag_tree_build(&m->tree, (const double(*)[6])m->box);
}

void sprag_ode_keep_mesh(ode_geometry *g, dGeomID id)
{
    mesh *m;
    HASH_FIND_PTR(g->meshes, &id, m);
    if (m) {
        m->used = g->turn;
    }
}

static const mesh *mesh_of(ode_geometry *g, dGeomID id)
{
    int count = dGeomTriMeshGetTriangleCount(id);
    uint64_t content = sample_mesh(id, count);
    mesh *m;
    HASH_FIND_PTR(g->meshes, &id, m);
    if (m) {
        m->used = g->turn;
    }
    if (m && m->content == content) {
        return m;
    }
    if (!m) {
        m = calloc(1, sizeof *m);
        if (!m) {
            return NULL;
        }
        m->geom = id;
        m->used = g->turn;
        HASH_ADD_PTR(g->meshes, geom, m);
    }
    if (!make_room(m, count)) {
        free_mesh(g, m);
        return NULL;
    }
    m->content = content;
    read_mesh(m, id, count);
    return m;
}

typedef struct mesh_call {
    const mesh *mesh;
    ode_triangle_fn *found;
    void *data;
} mesh_call;

static void hand_on(void *data, int number)
{
    const mesh_call *call = data;
    call->found(call->data, number, (const double(*)[3])call->mesh->corner[number]);
}

// ---- heightfields: two triangles a cell, y up

static int cell_at(double x, double half, double side, int cells, bool wrapped)
{
    double cell = floor((x + half) / side);
    if (!wrapped) {
        cell = cell < 0 ? 0 : cell > cells - 1 ? cells - 1 : cell;
    }
    return (int)fmax(-1e9, fmin(1e9, cell));
}

static void field_triangles(const ode_geom *field, const double local[6], ode_triangle_fn *found,
                            void *data)
{
    dHeightfieldDataID id = dGeomHeightfieldGetHeightfieldData(field->geom);
    const dx_heights *h = heights_of(id);
    bool wrapped = h->wrapped;
    int cells[2] = {h->width_samples - 1, h->depth_samples - 1};
    if (!wrapped && (local[0] > h->half_width || local[3] < -h->half_width ||
                     local[2] > h->half_depth || local[5] < -h->half_depth)) {
        return;
    }
    int x0 = cell_at(local[0], h->half_width, h->sample_width, cells[0], wrapped);
    int x1 = cell_at(local[3], h->half_width, h->sample_width, cells[0], wrapped);
    int z0 = cell_at(local[2], h->half_depth, h->sample_depth, cells[1], wrapped);
    int z1 = cell_at(local[5], h->half_depth, h->sample_depth, cells[1], wrapped);
    for (int x = x0; x <= x1; x++) {
        for (int z = z0; z <= z1; z++) {
            double at[4][3]; // a b on this side, c d on the next
            for (int i = 0; i < 4; i++) {
                at[i][0] = (x + (i & 1)) * h->sample_width - h->half_width;
                at[i][1] = sprag_ode_height(id, x + (i & 1), z + (i >> 1));
                at[i][2] = (z + (i >> 1)) * h->sample_depth - h->half_depth;
            }
            static const int upper[2][3] = {{0, 2, 1}, {3, 1, 2}};
            for (int t = 0; t < 2; t++) {
                double corner[3][3], lo = INFINITY, hi = -INFINITY;
                for (int c = 0; c < 3; c++) {
                    memcpy(corner[c], at[upper[t][c]], sizeof corner[c]);
                    lo = fmin(lo, corner[c][1]);
                    hi = fmax(hi, corner[c][1]);
                }
                if (lo <= local[4] && hi >= local[1]) {
                    int64_t number = 2 * ((int64_t)x * cells[1] + z) + t;
                    found(data, (int)(number & INT32_MAX), (const double(*)[3])corner);
                }
            }
        }
    }
}

void sprag_ode_triangles(const ode_geom *geom, const double bounds[6], ode_triangle_fn *found,
                         void *data)
{
    double local[6];
    for (int k = 0; k < 3; k++) { // a box around the box, in the axes of the mesh
        double middle = 0, half = 0;
        for (int j = 0; j < 3; j++) {
            double r = geom->pose.rotation[3 * j + k];
            double m = (bounds[j] + bounds[j + 3]) / 2 - geom->pose.position[j];
            middle += isfinite(m) && r != 0 ? r * m : 0;
            half += r == 0 ? 0 : isfinite(m) ? fabs(r) * (bounds[j + 3] - bounds[j]) / 2 : INFINITY;
        }
        double rounding = 1e-12 * (fabs(middle) + half);
        local[k] = middle - half - rounding;
        local[k + 3] = middle + half + rounding;
    }
    if (dGeomGetClass(geom->geom) == dHeightfieldClass) {
        field_triangles(geom, local, found, data);
    } else {
        mesh_call call = {geom->mesh, found, data};
        sprag_tree_find(&call.mesh->tree, local, hand_on, &call);
    }
}

// ---- any geom

// The z axis along a unit normal.
static void set_plane_pose(sprag_pose *pose, const dVector4 p)
{
    dVector3 normal = {p[0], p[1], p[2]}, x, y;
    dPlaneSpace(normal, x, y);
    for (int k = 0; k < 3; k++) {
        pose->position[k] = p[k] * p[3];
        pose->rotation[3 * k] = x[k];
        pose->rotation[3 * k + 1] = y[k];
        pose->rotation[3 * k + 2] = p[k];
    }
}

static void inside(const sprag_pose *outer, sprag_pose *pose)
{
    sprag_pose inner = *pose;
    mul33(outer->rotation, inner.position, pose->position);
    add_scaled(pose->position, 1, outer->position, 3);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            pose->rotation[3 * i + j] = 0;
            for (int k = 0; k < 3; k++) {
                pose->rotation[3 * i + j] += outer->rotation[3 * i + k] * inner.rotation[3 * k + j];
            }
        }
    }
}

// What the shape is; false: no memory.
static bool set_shape(ode_geometry *g, dGeomID id, ode_geom *geom)
{
    sprag_shape *s = &geom->shape;
    dVector4 plane;
    dVector3 sides;
    dReal length = 1;
    geom->kind = ODE_GEOM_SHAPE;
    switch (dGeomGetClass(id)) {
    case dSphereClass:
        *s = (sprag_shape){.kind = SPRAG_SPHERE, .radius = dGeomSphereGetRadius(id)};
        geom->kind = s->radius > 0 ? ODE_GEOM_SHAPE : ODE_GEOM_NONE;
        return true;
    case dBoxClass:
        dGeomBoxGetLengths(id, sides);
        *s = (sprag_shape){.kind = SPRAG_BOX, .half = {sides[0] / 2, sides[1] / 2, sides[2] / 2}};
        geom->kind = sides[0] > 0 && sides[1] > 0 && sides[2] > 0 ? ODE_GEOM_SHAPE : ODE_GEOM_NONE;
        return true;
    case dCapsuleClass:
        *s = (sprag_shape){.kind = SPRAG_CAPSULE};
        dGeomCapsuleGetParams(id, &s->radius, &length);
        s->half[2] = length / 2;
        geom->kind = s->radius > 0 ? ODE_GEOM_SHAPE : ODE_GEOM_NONE;
        return true;
    case dCylinderClass:
        *s = (sprag_shape){.kind = SPRAG_CYLINDER};
        dGeomCylinderGetParams(id, &s->radius, &length);
        s->half[2] = length / 2;
        geom->kind = s->radius > 0 && length > 0 ? ODE_GEOM_SHAPE : ODE_GEOM_NONE;
        return true;
    case dPlaneClass:
        *s = (sprag_shape){.kind = SPRAG_PLANE};
        dGeomPlaneGetParams(id, plane);
        set_plane_pose(&geom->pose, plane);
        return true;
    case dConvexClass:
        *s = (sprag_shape){.kind = SPRAG_POLYTOPE};
        if (!convex_known || convex_of(id)->point_count == 0) {
            geom->kind = ODE_GEOM_UNKNOWN;
            return true;
        }
        s->polytope = polytope_of(g, id);
        return s->polytope;
    case dTriMeshClass:
        geom->kind = ODE_GEOM_MESH;
        geom->mesh = mesh_of(g, id);
        return geom->mesh;
    case dHeightfieldClass:
        geom->kind = heights_known && dGeomHeightfieldGetHeightfieldData(id) ? ODE_GEOM_MESH
                                                                             : ODE_GEOM_UNKNOWN;
        return true;
    case dRayClass:
        geom->kind = ODE_GEOM_NONE;
        return true;
    default:
        geom->kind = ODE_GEOM_UNKNOWN;
        return true;
    }
}

static void set_bounds(ode_geom *geom)
{
    if (geom->kind == ODE_GEOM_SHAPE) {
        sprag_shape_bounds(&geom->shape, &geom->pose, geom->bounds);
        return;
    }
    double local[6]; // of a mesh
    if (dGeomGetClass(geom->geom) == dHeightfieldClass) {
        const dx_heights *h = heights_of(dGeomHeightfieldGetHeightfieldData(geom->geom));
        double x = h->wrapped ? INFINITY : h->half_width, z = h->wrapped ? INFINITY : h->half_depth;
        memcpy(local, (double[6]){-x, h->min, -z, x, h->max, z}, sizeof local);
    } else {
        const mesh *m = geom->mesh;
        memcpy(local, m->tree.count ? m->tree.bounds[0] : (double[6]){0}, sizeof local);
    }
    for (int k = 0; k < 3; k++) {
        double lo = geom->pose.position[k], hi = lo;
        for (int j = 0; j < 3; j++) {
            double r = geom->pose.rotation[3 * k + j];
            if (r != 0) {
                lo += fmin(r * local[j], r * local[j + 3]);
                hi += fmax(r * local[j], r * local[j + 3]);
            }
        }
        geom->bounds[k] = lo;
        geom->bounds[k + 3] = hi;
    }
}

// ODE calls transforms deprecated; programs have them.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static dGeomID inside_transform(dGeomID id, bool *names_itself)
{
    *names_itself = dGeomTransformGetInfo(id);
    return dGeomTransformGetGeom(id);
}

#pragma GCC diagnostic pop

bool sprag_ode_geom_of(ode_geometry *g, dGeomID id, ode_geom *geom)
{
    static const sprag_pose still = {{0, 0, 0}, {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    static ode_once once;
    sprag_ode_once(&once, look_at_layouts);
    *geom = (ode_geom){.geom = id, .named = id, .body = dGeomGetBody(id), .pose = still};
    if (!dGeomIsEnabled(id)) {
        return true;
    }
    sprag_pose outer = still;
    while (dGeomGetClass(geom->geom) == dGeomTransformClass) {
        sprag_pose pose;
        sprag_ode_set_pose(&pose, dGeomGetPosition(geom->geom), dGeomGetRotation(geom->geom));
        inside(&outer, &pose);
        outer = pose;
        bool names_itself;
        geom->geom = inside_transform(geom->geom, &names_itself);
        if (!geom->geom) {
            return true;
        }
        geom->named = names_itself ? geom->named : geom->geom;
    }
    int class = dGeomGetClass(geom->geom);
    bool placed = class != dPlaneClass && (class != dHeightfieldClass || is_placeable(geom->geom));
    if (placed) {
        sprag_ode_set_pose(&geom->pose, dGeomGetPosition(geom->geom), dGeomGetRotation(geom->geom));
        inside(&outer, &geom->pose);
    }
    if (!set_shape(g, geom->geom, geom)) {
        return false;
    }
    if (geom->kind == ODE_GEOM_SHAPE || geom->kind == ODE_GEOM_MESH) {
        set_bounds(geom);
    }
    return true;
}

// ---- spaces

// Quadtree spaces end the program when they are asked for a geom; the list that all spaces have
// knows theirs too.
dGeomID sprag_ode_geom_in(dSpaceID space, int index)
{
    if (dSpaceGetClass(space) != dQuadTreeSpaceClass) {
        return dSpaceGetGeom(space, index);
    }
    return sprag_ode_listed_geom(space, index);
}

// ---- memories of pairs

static int slot_of(const table *t, const ode_pair *pair)
{
    uint64_t hash = 1;
    for (int i = 0; i < 2; i++) {
        hash = mix(hash, &pair->side[i]->geom, sizeof pair->side[i]->geom);
        hash = mix(hash, &pair->side[i]->triangle, sizeof pair->side[i]->triangle);
    }
    return (int)((hash >> 20) & (uint64_t)(t->slots - 1));
}

// The slot of a pair, or the free one where it belongs; NULL: the table has none.
static known *look_up(const table *t, const ode_pair *pair)
{
    if (!t->slots) {
        return NULL;
    }
    for (int i = slot_of(t, pair);; i = (i + 1) & (t->slots - 1)) {
        known *k = &t->slot[i];
        if (!k->geom[0] ||
            (k->geom[0] == pair->side[0]->geom && k->geom[1] == pair->side[1]->geom &&
             k->triangle[0] == pair->side[0]->triangle &&
             k->triangle[1] == pair->side[1]->triangle)) {
            return k;
        }
    }
}

// Geoms go without a word to us.
static void drop_unused(ode_geometry *g)
{
    hull *h, *next_hull;
    mesh *m, *next_mesh;
    HASH_ITER(hh, g->hulls, h, next_hull)
    {
        if (h->used < g->turn - KEPT_TURNS) {
            free_hull(g, h);
        }
    }
    HASH_ITER(hh, g->meshes, m, next_mesh)
    {
        if (m->used < g->turn - KEPT_TURNS) {
            free_mesh(g, m);
        }
    }
}

bool sprag_ode_pair_memories_next_step(ode_geometry *g, int pairs)
{
    if (++g->turn % KEPT_TURNS == 0) {
        drop_unused(g);
    }
    table spare = g->last;
    g->last = g->now;
    int slots = 16;
    while (slots < 2 * pairs) {
        slots *= 2;
    }
    if (spare.room < slots) {
        free(spare.slot);
        spare.slot = malloc((size_t)slots * sizeof *spare.slot);
        spare.room = spare.slot ? slots : 0;
    }
    spare.slots = spare.slot ? slots : 0;
    g->now = spare;
    if (g->now.slots) {
        memset(g->now.slot, 0, (size_t)g->now.slots * sizeof *g->now.slot);
    }
    return g->now.slots;
}

void sprag_ode_pair_memories_undo_step(ode_geometry *g)
{
    table now = g->now;
    g->now = g->last;
    g->last = now;
}

static void swap_sides(ode_pair *pair)
{
    const ode_side *first = pair->side[0];
    pair->side[0] = pair->side[1];
    pair->side[1] = first;
    pair->first = !pair->first;
}

sprag_pair_memory *sprag_ode_pair_memory(ode_geometry *g, ode_pair *pair)
{
    known *last = look_up(&g->last, pair);
    if (last && !last->geom[0] && pair->side[0]->moves == pair->side[1]->moves) {
        swap_sides(pair);
        last = look_up(&g->last, pair);
        if (!last->geom[0]) {
            swap_sides(pair);
        }
    }
    known *now = look_up(&g->now, pair);
    if (!now->geom[0]) {
        for (int i = 0; i < 2; i++) {
            now->geom[i] = pair->side[i]->geom;
            now->triangle[i] = pair->side[i]->triangle;
        }
        if (last && last->geom[0]) {
            now->memory = last->memory;
        }
    }
    return &now->memory;
}
