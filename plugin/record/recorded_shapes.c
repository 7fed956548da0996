// No geom is kept from step to step: the program may destroy it without sprag seeing it. The geoms
// of a step are those of its bodies, and those in spaces that a body's geom is in or that the
// program has collided since the last step.
#include "recorded_shapes.h"

#include <math.h>

#include "array.h"
#include "geom_layout.h"
#include "ode.h"
#include "spaces.h"

// An ODE without triangle meshes has no such function.
#pragma weak dGeomTriMeshGetData

// A wrapped heightfield has no end: so much of it is recorded on either side.
static const double far_away = 100; // m

// ---- roots

void shapes_add_root(shapes *s, dGeomID id)
{
    for (int i = 0; i < s->roots; i++) {
        if (s->root[i] == id) {
            return;
        }
    }
    dGeomID *all = array_widen(s->root, s->roots, &s->root_room, sizeof *all);
    if (!all) {
        s->failed = true;
        return;
    }
    s->root = all;
    s->root[s->roots++] = id;
}

// With the roots in it, if it is a space.
void shapes_forget_root(shapes *s, dGeomID id)
{
    for (int i = s->roots; i-- > 0;) {
        if (sprag_ode_is_within(s->root[i], id)) {
            s->root[i] = s->root[--s->roots];
        }
    }
    s->last = NULL;
}

// Most geoms are in the space of the one before.
static void add_root_of(shapes *s, dGeomID id)
{
    dSpaceID space = dGeomGetSpace(id), root = space;
    if (!space || space == s->last) {
        return;
    }
    for (dSpaceID outer = space; outer; outer = dGeomGetSpace((dGeomID)outer)) {
        root = outer;
    }
    shapes_add_root(s, (dGeomID)root);
    s->last = space;
}

// ---- has a geom changed?

// The place of a geom: none, the centre of its body, elsewhere on it, in the world.
enum { NO_PLACE, CENTRE, OFFSET, WORLD, PLACES };

static int place_of(dGeomID id, int class, bool on_body)
{
    if (on_body) {
        return dGeomIsOffset(id) ? OFFSET : CENTRE;
    }
    bool none = class == dPlaneClass || (class == dHeightfieldClass && !sprag_ode_is_placeable(id));
    return none ? NO_PLACE : WORLD;
}

// Numbers that change when the geom does: its size, or the address of its data; its place, on its
// body or in the world. Returns how many there are, which follows from the first.
static int describe(dGeomID id, bool on_body, double value[12])
{
    enum { SIZE = 1, PLACE = 5, TURN = 8, ALL = 12 };
    int class = dGeomGetClass(id), place = place_of(id, class, on_body);
    double *size = value + SIZE;
    value[0] = PLACES * (dGeomIsEnabled(id) ? class : -1) + place;
    memset(size, 0, (PLACE - SIZE) * sizeof *size);
    switch (class) {
    case dSphereClass:
        size[0] = dGeomSphereGetRadius(id);
        break;
    case dBoxClass: {
        dVector3 sides;
        dGeomBoxGetLengths(id, sides);
        memcpy(size, sides, 3 * sizeof *size);
        break;
    }
    case dCapsuleClass:
        dGeomCapsuleGetParams(id, &size[0], &size[1]);
        break;
    case dCylinderClass:
        dGeomCylinderGetParams(id, &size[0], &size[1]);
        break;
    case dPlaneClass:
        dGeomPlaneGetParams(id, size);
        break;
    case dTriMeshClass:
        size[0] = (double)(uintptr_t)dGeomTriMeshGetData(id);
        break;
    case dHeightfieldClass:
        size[0] = (double)(uintptr_t)dGeomHeightfieldGetHeightfieldData(id);
        break;
    default:
        break;
    }
    if (place < OFFSET) {
        return PLACE;
    }
    const dReal *at = on_body ? dGeomGetOffsetPosition(id) : dGeomGetPosition(id);
    const dReal *turn = on_body ? dGeomGetOffsetRotation(id) : dGeomGetRotation(id);
    const double turned[4] = {turn[0], turn[1], turn[4], turn[6]};
    memcpy(value + PLACE, at, 3 * sizeof *value);
    memcpy(value + TURN, turned, sizeof turned);
    return ALL;
}

// ---- meshes

typedef struct mesh {
    frame_buffer *to;
    bool corners; // false: triangles
    uint32_t count;
} mesh;

static void add_triangle(void *data, int number, const double corner[3][3])
{
    mesh *m = data;
    uint32_t first = 3 * m->count++;
    (void)number;
    if (m->corners) {
        sprag_recorded_vertex *v = frame_buffer_add(m->to, 3);
        for (int i = 0; v && i < 9; i++) {
            v[i / 3].at[i % 3] = (float)corner[i / 3][i % 3];
        }
    } else {
        sprag_recorded_triangle *t = frame_buffer_add(m->to, 1);
        if (t) {
            *t = (sprag_recorded_triangle){{first, first + 1, first + 2}};
        }
    }
}

static void add_polytope(const sprag_polytope *p, mesh *m)
{
    for (int f = 0; f < p->faces; f++) {
        const unsigned *loop = p->loop + p->start[f];
        for (unsigned k = 2; k < loop[0]; k++) {
            double corner[3][3];
            memcpy(corner[0], p->vertex[loop[1]], sizeof corner[0]);
            memcpy(corner[1], p->vertex[loop[k]], sizeof corner[1]);
            memcpy(corner[2], p->vertex[loop[k + 1]], sizeof corner[2]);
            add_triangle(m, 0, (const double(*)[3])corner);
        }
    }
}

static void add_mesh(ode_geom *geom, mesh *m)
{
    double bounds[6];
    if (geom->kind == ODE_GEOM_SHAPE) {
        add_polytope(geom->shape.polytope, m);
        return;
    }
    sprag_ode_set_bounds(geom);
    for (int k = 0; k < 3; k++) {
        bounds[k] = fmax(geom->bounds[k], geom->pose.position[k] - far_away);
        bounds[k + 3] = fmin(geom->bounds[k + 3], geom->pose.position[k] + far_away);
        bounds[k] = isinf(geom->bounds[k]) ? bounds[k] : geom->bounds[k];
        bounds[k + 3] = isinf(geom->bounds[k + 3]) ? bounds[k + 3] : geom->bounds[k + 3];
    }
    (void)sprag_ode_triangles(geom, bounds, INFINITY, add_triangle, m);
}

// ---- a geom as a shape

static void set_pose(sprag_recorded_shape *to, const sprag_pose *pose, dBodyID body)
{
    double local[3], turn[9];
    memcpy(local, pose->position, sizeof local);
    memcpy(turn, pose->rotation, sizeof turn);
    if (body) {
        sprag_pose of;
        sprag_ode_read_pose(body, &of);
        double away[3];
        for (int k = 0; k < 3; k++) {
            away[k] = pose->position[k] - of.position[k];
        }
        for (int i = 0; i < 3; i++) {
            local[i] = 0;
            for (int k = 0; k < 3; k++) {
                local[i] += of.rotation[3 * k + i] * away[k];
                turn[3 * i + k] = 0;
                for (int n = 0; n < 3; n++) {
                    turn[3 * i + k] += of.rotation[3 * n + i] * pose->rotation[3 * n + k];
                }
            }
        }
    }
    dMatrix3 R = {0};
    for (int i = 0; i < 9; i++) {
        R[4 * (i / 3) + i % 3] = turn[i];
    }
    memcpy(to->position, local, sizeof local);
    dQfromR(to->quaternion, R);
}

static void set_size(sprag_recorded_shape *to, const ode_geom *geom)
{
    static const uint32_t kinds[SPRAG_SHAPE_KINDS] = {
        [SPRAG_SPHERE] = SPRAG_RECORDED_SPHERE,     [SPRAG_CAPSULE] = SPRAG_RECORDED_CAPSULE,
        [SPRAG_CYLINDER] = SPRAG_RECORDED_CYLINDER, [SPRAG_BOX] = SPRAG_RECORDED_BOX,
        [SPRAG_POLYTOPE] = SPRAG_RECORDED_MESH,     [SPRAG_PLANE] = SPRAG_RECORDED_PLANE};
    const sprag_shape *shape = &geom->shape;
    if (geom->kind == ODE_GEOM_MESH) {
        to->kind = SPRAG_RECORDED_MESH;
    } else if (geom->kind == ODE_GEOM_SHAPE) {
        to->kind = kinds[shape->kind];
        to->size[0] = shape->kind == SPRAG_BOX ? 2 * shape->half[0] : shape->radius;
        to->size[1] = 2 * shape->half[shape->kind == SPRAG_BOX ? 1 : 2];
        to->size[2] = shape->kind == SPRAG_BOX ? 2 * shape->half[2] : 0;
    }
}

static bool get_geom(shapes *s, dGeomID id, ode_geom *geom)
{
    s->geometry = s->geometry ? s->geometry : sprag_ode_geometry_make();
    s->failed |= !s->geometry || !sprag_ode_geom_of(s->geometry, id, geom);
    return !s->failed;
}

static void add_fresh(shapes *s, dGeomID id, uint32_t number, uint32_t body, uint32_t world)
{
    fresh_shape *all = array_widen(s->fresh, s->fresh_count, &s->fresh_room, sizeof *all);
    if (!all) {
        s->failed = true;
        return;
    }
    s->fresh = all;
    fresh_shape *f = &s->fresh[s->fresh_count];
    *f = (fresh_shape){.shape = {.geom = number, .body = body, .world = world}};
    if (get_geom(s, id, &f->geom)) {
        set_size(&f->shape, &f->geom);
        set_pose(&f->shape, &f->geom.pose, f->geom.body);
        s->fresh_count++;
    }
}

static uint32_t see(shapes *s, dGeomID id, uint32_t body, uint32_t world, int64_t step)
{
    double value[12];
    bool is_new;
    identity *i = identities_see(&s->known, id, world, step, &is_new);
    size_t size = (size_t)describe(id, body != SPRAG_RECORDED_NONE, value) * sizeof *value;
    if (!i) {
        s->failed = true;
    } else if (is_new || i->body != body || memcmp(value, i->value, size) != 0) {
        memcpy(i->value, value, size);
        i->body = body;
        add_fresh(s, id, i->id, body, world);
    }
    return i ? i->id : SPRAG_RECORDED_NONE;
}

// ---- all geoms of a step

void shapes_see_body(shapes *s, dBodyID body, identity *of, int64_t step)
{
    dGeomID first = dBodyGetFirstGeom(body);
    of->first = first;
    of->geom = SPRAG_RECORDED_NONE;
    for (dGeomID g = first; g; g = dBodyGetNextGeom(g)) {
        add_root_of(s, g);
        uint32_t number = see(s, g, of->id, of->world, step);
        of->geom = g == first ? number : of->geom;
    }
}

static void see_static(shapes *s, dGeomID id, uint32_t world, int64_t step)
{
    if (dGeomGetBody(id)) {
        return;
    }
    if (!dGeomIsSpace(id)) {
        see(s, id, SPRAG_RECORDED_NONE, world, step);
        return;
    }
    int count = dSpaceGetNumGeoms((dSpaceID)id);
    for (int i = 0; i < count; i++) {
        dGeomID listed = sprag_ode_listed_geom((dSpaceID)id, i);
        if (!listed) {
            return;
        }
        see_static(s, listed, world, step);
    }
}

static void write_triangles(shapes *s, frame_buffer *to, bool corners)
{
    mesh m = {.to = to, .corners = corners};
    frame_buffer_table(to, corners ? "VERT" : "TRIA",
                       corners ? sizeof(sprag_recorded_vertex) : sizeof(sprag_recorded_triangle));
    uint32_t all = 0;
    for (int i = 0; i < s->fresh_count; i++) {
        sprag_recorded_shape *shape = &s->fresh[i].shape;
        m.count = 0;
        if (shape->kind == SPRAG_RECORDED_MESH) {
            add_mesh(&s->fresh[i].geom, &m);
        }
        shape->vertex = 3 * all;
        shape->vertices = 3 * m.count;
        shape->triangle = all;
        shape->triangles = m.count;
        all += m.count;
    }
}

void shapes_write(shapes *s, frame_buffer *to, uint32_t world, int64_t step)
{
    for (int i = 0; i < s->roots; i++) {
        see_static(s, s->root[i], world, step);
    }
    s->roots = 0;
    s->last = NULL;
    if (s->fresh_count > 0) {
        write_triangles(s, to, true);
        write_triangles(s, to, false);
        frame_buffer_table(to, "SHAP", sizeof(sprag_recorded_shape));
        sprag_recorded_shape *shape = frame_buffer_add(to, (size_t)s->fresh_count);
        for (int i = 0; shape && i < s->fresh_count; i++) {
            shape[i] = s->fresh[i].shape;
        }
        s->fresh_count = 0;
        sprag_ode_geometry_free(s->geometry);
        s->geometry = NULL;
    }
    to->failed |= s->failed;
}

uint32_t shapes_number(const shapes *s, dGeomID id)
{
    return identities_find(&s->known, id)->id;
}

void shapes_clear(shapes *s)
{
    identities_clear(&s->known);
}
