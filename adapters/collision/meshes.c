// Triangle meshes: their triangles in the axes of the geom, in a tree.
#include "geometry_cache.h"

#include <math.h>
#include <stdlib.h>

#include "hash.h"
#include "motion.h"
#include "ode.h"

// An ODE without triangle meshes has no such function either.
#pragma weak dGeomTriMeshGetTriangle

// Changes that programs have told ODE, in all threads: the number of the last one of the data with
// a hash. Fewer: meshes are read anew when others change.
enum { CHANGES_KEPT = 4096 };
static _Atomic long changes, last_change[CHANGES_KEPT];

static _Atomic long *last_change_of(dTriMeshDataID data)
{
    return &last_change[sprag_hash_slot(sprag_hash(0, (uintptr_t)data), CHANGES_KEPT - 1)];
}

void sprag_ode_mesh_changed(dTriMeshDataID data)
{
    *last_change_of(data) = ++changes;
}

// Triangles that are compared to find out whether the program has deformed a mesh and not told ODE.
// More: every step takes longer; fewer: a mesh that is deformed in one place is more easily taken
// for the old one.
enum { SAMPLES = 32 };

// The corners (m) of a triangle in the axes of the geom.
static void read_triangle(dGeomID id, int number, double local[3][3])
{
    dVector3 corner[3];
    sprag_pose pose;
    sprag_ode_set_pose(&pose, dGeomGetPosition(id), dGeomGetRotation(id));
    dGeomTriMeshGetTriangle(id, number, &corner[0], &corner[1], &corner[2]);
    for (int c = 0; c < 3; c++) {
        sprag_pose_local(&pose, corner[c], local[c]);
    }
}

// Hash of these triangles, which are spread evenly over the mesh.
static uint64_t sample_mesh(dGeomID id, int count)
{
    const void *data = dGeomTriMeshGetData(id);
    uint64_t content = sprag_hash((uint64_t)count, (uintptr_t)data);
    for (int i = 0; i < SAMPLES && i < count; i++) {
        double corner[3][3];
        read_triangle(id, count <= SAMPLES ? i : (int)((long)i * (count - 1) / (SAMPLES - 1)),
                      corner);
        for (int c = 0; c < 9; c++) { // rounded to 1e-6 m, so that the pose does not matter
            const long rounded = (long)floor(corner[c / 3][c % 3] * 1e6 + 0.5);
            content = sprag_hash(content, (uint64_t)rounded);
        }
    }
    return content;
}

static bool make_room(ode_mesh *m, int count)
{
    if (count > m->room) {
        const size_t size = sizeof *m->corner + 3 * sizeof *m->box + sizeof *m->tree.order;
        free(m->corner);
        m->corner = malloc((size_t)count * size);
        m->room = m->corner ? count : 0;
        m->box = (double(*)[6])(void *)(m->corner + m->room);
        m->tree.bounds = m->box + m->room;
        m->tree.order = (int *)(void *)(m->tree.bounds + 2 * (size_t)m->room);
    }
    return count <= m->room;
}

// Areas of a closed surface add up to zero but for this share. Greater: bowls and caps count as
// closed; smaller: meshes with gaps at their seams do not.
static const double OPEN = 1e-3;

// The sign of the volume within tells: the sum of six times the tetrahedra from a corner to each
// triangle.
static bool is_inside_out(const ode_mesh *m)
{
    double area[3] = {0}, all = 0, volume = 0;
    for (int i = 0; i < m->count; i++) {
        double edge[2][3], normal[3], from[3];
        subtract3(m->corner[i][1], m->corner[i][0], edge[0]);
        subtract3(m->corner[i][2], m->corner[i][0], edge[1]);
        subtract3(m->corner[i][0], m->corner[0][0], from);
        cross3(edge[0], edge[1], normal);
        add_scaled(area, 1, normal, 3);
        all += norm3(normal);
        volume += dot3(from, normal);
    }
    return volume < 0 && norm3(area) < OPEN * all;
}

static void read_mesh(ode_mesh *m, dGeomID id, int count)
{
    for (int i = 0; i < count; i++) {
        read_triangle(id, i, m->corner[i]);
        sprag_triangle_box((const double(*)[3])m->corner[i], m->box[i]);
    }
    m->tree.count = count;
    sprag_tree_build(&m->tree, (const double(*)[6])m->box);
    m->inside_out = is_inside_out(m);
}

const ode_mesh *sprag_ode_mesh_of(ode_geometry *g, dGeomID id)
{
    const int count = dGeomTriMeshGetTriangleCount(id);
    const dTriMeshDataID data = dGeomTriMeshGetData(id);
    ode_kept *kept = sprag_ode_keep(g, id);
    if (!kept) {
        return NULL;
    }
    ode_mesh *m = &kept->mesh;
    const long change = *last_change_of(data);
    const bool told = !m->corner || m->change != change;
    if (!told && g->looks > 0 && m->looked == g->looks && m->data == data && m->count == count) {
        return m;
    }
    const uint64_t content = sample_mesh(id, count);
    m->looked = g->looks;
    if (!told && kept->content == content) {
        return m;
    }
    kept->content = 0;
    if (!make_room(m, count)) {
        return NULL;
    }
    kept->content = content;
    m->change = change;
    m->data = data;
    m->count = count;
    read_mesh(m, id, count);
    return m;
}

typedef struct mesh_call {
    const ode_mesh *mesh;
    const double *bounds;
    bool turned;
    ode_box_fn *skips;
    ode_triangle_fn *found;
    void *data;
} mesh_call;

static bool pass_over(const void *data, const double box[6])
{
    const mesh_call *call = data;
    return call->skips && call->skips(call->data, box);
}

static void pass_on(void *data, int number)
{
    const mesh_call *call = data;
    if (sprag_boxes_overlap(call->mesh->box[number], call->bounds)) {
        const double(*corner)[3] = (const double(*)[3])call->mesh->corner[number];
        double turned[3][3];
        for (int c = 0; c < 3 && call->turned; c++) {
            memcpy(turned[c], corner[2 - c], sizeof turned[c]);
        }
        call->found(call->data, number, call->turned ? (const double(*)[3])turned : corner);
    }
}

void sprag_ode_mesh_bounds(const ode_mesh *m, double bounds[6])
{
    memcpy(bounds, m->tree.count ? m->tree.bounds[0] : (double[6]){0}, 6 * sizeof *bounds);
}

void sprag_ode_mesh_triangles(const ode_mesh *m, const double bounds[6], bool turned,
                              ode_box_fn *skips, ode_triangle_fn *found, void *data)
{
    mesh_call call = {m, bounds, turned, skips, found, data};
    sprag_tree_find(&m->tree, bounds, pass_over, pass_on, &call);
}
