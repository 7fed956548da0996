// Search for pairs: collects the geoms of all spaces that the program's calls name, finds the boxes
// that overlap in one tree of all, and looks into meshes for the triangles near the other geom.
#include <math.h>

#include "geometry_cache.h"
#include "linalg.h"
#include "mesh_near.h"
#include "ode.h"
#include "spaces.h"
#include "tree.h"

// One way in which a call asks about a geom.
typedef struct member {
    int collision; // index of the call
    int part;      // dSpaceCollide2: side 0 or 1; dSpaceCollide: index of the space's geom
    dGeomID child; // that the call's space holds: the geom itself or a space around it
    long place;    // side, or place of the space's geom; -1: no pair has asked for it yet
    unsigned long category, collide; // bits of the child
    int next;                        // of the same item, -1: last
} member;

// A geom in the search.
typedef struct item {
    ode_geom geom;                   // a side of pairs, if it is one shape
    unsigned long category, collide; // bits of the geom itself
    int members;                     // the first, -1: none
    bool is_read; // all of geom is set; before only its id, body, bounds (by ODE) and moves are
    // set with the widened bounds, as geom.moves is:
    ode_motion motion;
    double reach; // m: no point of it strays farther from its way, with half the margin
} item;

// The state of one search. Set by the caller of find():
typedef struct finder {
    ode_geometry *geometry;
    const ode_collision *calls;
    ode_motion_fn *motion; // NULL: nothing moves
    ode_met_fn *met;       // gets the pairs of geoms; NULL: they are listed, as pairs of shapes
    ode_reach_fn *reach;   // with `met`
    bool apart;            // with `met`: only of geoms whose own boxes do not overlap
    void *data;            // of these three
    sprag_scratch *scratch;
    ode_pairs *pairs;
    // by flatten():
    ode_set geoms; // of the items
    item *item;
    member *member;
    int members, member_room;
    bool is_local;   // the call names one geom alone: items are only the geoms near it
    double local[6]; // m, box around that geom, widened
    double margin;   // m, of the search
    bool failed;     // no memory
    // by widen():
    double (*bounds)[6]; // m, of the items, with their motion
    // by are_asked(), of the two items that are being paired:
    int call;      // that asks about them
    int first;     // 0: its callback gets the first item first; 1: the second
    int begun;     // pairs of others, found before
    int triangles; // sides of pairs so far
    bool crowded;  // they have more than there is room for, and are left to stock
    int spare;     // pairs with triangles that the search may still find
    // of two items of which one has triangles, in the order of the search:
    int *size; // pairs with these; LEFT_OUT: they are left to stock
    int sizes, size_room;
    bool again; // `size` is that of a search before
} finder;

enum { LEFT_OUT = -1 };

// ---- flattening

static int geoms_in(dGeomID id)
{
    return id && dGeomIsSpace(id) ? dSpaceGetNumGeoms((dSpaceID)id) : 1;
}

// NULL: no memory.
static item *item_of(finder *f, dGeomID id)
{
    const int known = f->geoms.count, i = sprag_ode_set_add_key(&f->geoms, &(ode_key){{id}});
    item *begun = sprag_ode_set_value(&f->geoms, i);
    if (i == known) {
        begun->geom.id = id;
        begun->category = dGeomGetCategoryBits(id);
        begun->collide = dGeomGetCollideBits(id);
        begun->members = -1;
        begun->is_read = begun->geom.moves = false;
        begun->geom.body = dGeomGetBody(id);
        if (dGeomGetClass(id) == dTriMeshClass) {
            (void)sprag_ode_keep(f->geometry, id); // though this step may not read it
        }
        sprag_ode_read_bounds(id, begun->geom.bounds); // a geom is read when it is in a pair
    }
    return begun;
}

static bool is_near(const finder *f, dGeomID id)
{
    double bounds[6];
    sprag_ode_read_bounds(id, bounds);
    f->reach(f->data, id, bounds);
    return sprag_boxes_overlap(bounds, f->local);
}

// A call that names one geom alone needs only the geoms near it.
static void set_local(finder *f, const ode_collision *call)
{
    dGeomID alone = dGeomIsSpace(call->a) ? call->b : call->a;
    f->is_local = alone && !dGeomIsSpace(alone) && dGeomIsEnabled(alone);
    if (f->is_local) {
        sprag_ode_read_bounds(alone, f->local);
        f->reach(f->data, alone, f->local);
    }
}

static void add_members(finder *f, dGeomID id, const member *as)
{
    if (!id || !dGeomIsEnabled(id)) {
        return;
    }
    if (dGeomIsSpace(id)) {
        for (int i = 0, count = dSpaceGetNumGeoms((dSpaceID)id); i < count; i++) {
            add_members(f, sprag_ode_geom_in((dSpaceID)id, i), as);
        }
        return;
    }
    if ((f->is_local && !is_near(f, id)) || (f->met && !sprag_ode_has_size(id))) {
        return;
    }
    item *of = item_of(f, id);
    member *all =
        sprag_scratch_widen(f->scratch, f->member, f->members, &f->member_room, 16, sizeof *all);
    if (of && all) {
        f->member = all;
        all[f->members] = *as;
        all[f->members].next = of->members;
        of->members = f->members++;
    }
}

static bool is_within_one_space(const ode_collision *call)
{
    return !call->b || (call->a == call->b && dGeomIsSpace(call->a));
}

// Adds every geom in a side of dSpaceCollide2 or, if the side is -1, of dSpaceCollide, on its own:
// ODE tests the bits of each.
static void add_side(finder *f, dGeomID id, int collision, int side)
{
    const bool is_space = id && dGeomIsSpace(id);
    for (int i = 0, count = geoms_in(id); i < count; i++) {
        dGeomID child = is_space ? sprag_ode_geom_in((dSpaceID)id, i) : id;
        if (child) {
            const member as = {collision, side < 0 ? i : side,         child,
                               side,      dGeomGetCategoryBits(child), dGeomGetCollideBits(child),
                               -1};
            add_members(f, child, &as);
        }
    }
}

static void flatten(finder *f, int count)
{
    int geoms = 0; // but for those of spaces inside
    for (int c = 0; c < count; c++) {
        geoms += geoms_in(f->calls[c].a) + geoms_in(f->calls[c].b);
    }
    f->geoms = (ode_set){.scratch = f->scratch, .size = sizeof(item)};
    (void)sprag_ode_set_make_room(&f->geoms, geoms);
    f->member_room = geoms;
    f->member = SPRAG_TAKE_RAW(f->scratch, geoms, member);
    for (int c = 0; c < count && !f->scratch->failed; c++) {
        const ode_collision *call = &f->calls[c];
        const bool within = is_within_one_space(call);
        add_side(f, call->a, c, within ? -1 : 0);
        if (!within) {
            add_side(f, call->b, c, 1);
        }
    }
    f->item = f->geoms.value;
}

// ---- ODE's rules

static long place_of(const finder *f, member *m)
{
    dSpaceID space = (dSpaceID)f->calls[m->collision].a;
    m->place = m->place < 0 ? sprag_ode_place_in(space, m->part, m->child) : m->place;
    return m->place;
}

// Does a call ask about two items? The last one that does is taken, as members are linked the last
// one first.
static bool are_asked(finder *f, const item *a, const item *b)
{
    for (int i = a->members; i >= 0; i = f->member[i].next) {
        for (int j = b->members; j >= 0; j = f->member[j].next) {
            member *m = &f->member[i], *n = &f->member[j];
            if (m->collision == n->collision && m->part != n->part &&
                sprag_ode_bits_match(m->category, m->collide, n->category, n->collide)) {
                f->call = m->collision;
                f->first = place_of(f, m) > place_of(f, n);
                return true;
            }
        }
    }
    return false;
}

static bool has_collider(const ode_geom *a, const ode_geom *b)
{
    bool flat[2] = {a->kind == ODE_GEOM_SHAPE && a->shape.kind == SPRAG_PLANE,
                    b->kind == ODE_GEOM_SHAPE && b->shape.kind == SPRAG_PLANE};
    bool field[2] = {dGeomGetClass(a->geom) == dHeightfieldClass,
                     dGeomGetClass(b->geom) == dHeightfieldClass};
    return !((flat[0] || field[0]) && (flat[1] || field[1])) &&
           !sprag_ode_is_overridden(a->geom, b->geom);
}

// Reads the item when it is in a pair first. false: it has no shape.
static bool is_shaped(finder *f, item *i)
{
    const bool reads = !i->is_read;
    if (reads) {
        const ode_geom found = i->geom;
        f->failed |= !sprag_ode_geom_of(f->geometry, i->geom.id, &i->geom);
        i->geom.moves = found.moves;
        i->geom.mover = found.mover;
        i->geom.number = (int)(i - f->item);
        f->pairs->unknown += i->geom.kind == ODE_GEOM_UNKNOWN;
        f->pairs->unknown_geom =
            i->geom.kind == ODE_GEOM_UNKNOWN ? i->geom.id : f->pairs->unknown_geom;
        i->is_read = true;
    }
    const bool shaped = i->geom.kind == ODE_GEOM_SHAPE || i->geom.kind == ODE_GEOM_MESH;
    if (reads && shaped) {
        sprag_ode_set_bounds(&i->geom);
    }
    return shaped;
}

static bool may_collide(finder *f, const item *a, const item *b)
{
    const bool are_static = f->met && !a->geom.body && !b->geom.body; // as ODE offers them
    return (a->geom.body != b->geom.body || are_static) &&
           sprag_ode_bits_match(a->category, a->collide, b->category, b->collide) &&
           are_asked(f, a, b);
}

// ---- motion

static void widen(const finder *f, int i)
{
    item *of = &f->item[i];
    ode_geom *geom = &of->geom;
    double *b = f->bounds[i];
    memcpy(b, geom->bounds, 6 * sizeof *b);
    of->motion = (ode_motion){0};
    of->reach = f->margin / 2;
    if (geom->body && f->motion) {
        geom->moves = f->motion(f->data, geom->body, &of->motion);
        geom->mover = of->motion.mover;
        of->reach += of->motion.slack;
        const double turn = norm3(of->motion.turn) + of->motion.swerve;
        if (turn > 0) {
            const dReal *centre = dBodyGetPosition(geom->body);
            of->reach += fmin(turn, 2) * sprag_box_farthest(b, centre);
        }
    }
    sprag_box_sweep(b, of->motion.shift, of->reach);
    if (f->reach) {
        f->reach(f->data, geom->id, b);
    }
}

// Makes a box (m) of one item as long as its way past another one.
static void sweep_past(const item *of, const item *past, double box[6])
{
    double way[3];
    subtract3(of->motion.shift, past->motion.shift, way);
    sprag_box_sweep(box, way, of->reach + past->reach);
}

// ---- pairs

typedef struct triangle {
    ode_geom side;
    double vertex[3][3], normal[2][3];
    sprag_polytope polytope;
} triangle;

static const ode_geom *triangle_side(finder *f, const item *mesh, int number,
                                     const double corner[3][3])
{
    f->crowded |= f->pairs->count - f->begun >= f->spare;
    triangle *t = f->crowded ? NULL : SPRAG_TAKE(f->scratch, 1, triangle);
    if (!t) {
        return NULL;
    }
    memcpy(t->vertex, corner, sizeof t->vertex);
    t->polytope = sprag_triangle_make((const double(*)[3])t->vertex, t->normal);
    t->side = mesh->geom;
    t->side.triangle = number;
    t->side.number = f->geoms.count + f->triangles++;
    t->side.shape = (sprag_shape){.kind = SPRAG_POLYTOPE, .polytope = &t->polytope};
    return &t->side;
}

// a, b: in the order of the items that f->first is about.
static void add_pair(finder *f, const ode_geom *a, const ode_geom *b)
{
    ode_pairs *p = f->pairs;
    ode_pair *all = sprag_scratch_widen(f->scratch, p->pair, p->count, &p->room, 16, sizeof *all);
    if (!all) {
        return;
    }
    p->pair = all;
    bool reversed = f->motion && !a->moves;
    p->pair[p->count++] = (ode_pair){.side = {reversed ? b : a, reversed ? a : b},
                                     .call = f->call,
                                     .first = reversed ? !f->first : f->first};
}

// A mesh, against a shape or against one triangle of another mesh.
typedef struct mesh_search {
    finder *f;
    int i, j;              // items; i is the mesh whose triangles are searched
    bool swapped;          // i comes after j in the order that f->first is about
    const ode_geom *other; // of j
} mesh_search;

// The program's triangle callback, which ODE calls unless the other geom is a mesh too.
static dTriCallback *callback_of(const mesh_search *m)
{
    dGeomID mesh = m->f->item[m->i].geom.geom, other = m->f->item[m->j].geom.geom;
    return dGeomGetClass(mesh) == dTriMeshClass && dGeomGetClass(other) != dTriMeshClass
               ? dGeomTriMeshGetCallback(mesh)
               : NULL;
}

static bool accepts_triangle(const mesh_search *m, int number)
{
    const finder *f = m->f;
    dTriCallback *callback = callback_of(m);
    return !callback || callback(f->item[m->i].geom.geom, f->item[m->j].geom.geom, number);
}

static void add_triangle(void *data, int number, const double corner[3][3])
{
    mesh_search *m = data;
    const ode_geom *side =
        accepts_triangle(m, number) ? triangle_side(m->f, &m->f->item[m->i], number, corner) : NULL;
    if (side) {
        add_pair(m->f, m->swapped ? m->other : side, m->swapped ? side : m->other);
    }
}

// Pairs a shape with the triangles of a mesh that it may meet: those around the middle of its way.
// Returns how many they are, with or without room; INT_MAX: they are not counted.
static int add_near(mesh_search *m)
{
    finder *f = m->f;
    const item *mesh = &f->item[m->i], *other = &f->item[m->j];
    ode_geom middle = other->geom;
    ode_near near;
    double way[3];
    m->other = &other->geom;
    subtract3(other->motion.shift, mesh->motion.shift, way);
    const ode_near_mode mode = callback_of(m) ? ODE_NEAR_EACH : ODE_NEAR_MERGED;
    const double reach = mesh->reach + f->margin / 2 + other->motion.slack +
                         sprag_ode_move_half(&middle, way, &other->motion);
    f->crowded |= !sprag_ode_triangles_near(&mesh->geom, &middle, reach, mode, f->scratch, &near);
    const bool known = !f->crowded;
    for (int i = 0; i < near.count && !f->crowded; i++) {
        add_triangle(m, near.triangle[i].number, near.triangle[i].corner);
    }
    return known ? near.count : INT_MAX;
}

// Pairs a triangle of the first mesh with those of the second.
static void add_triangles_near(void *data, int number, const double corner[3][3])
{
    mesh_search *m = data;
    finder *f = m->f;
    const item *mesh = &f->item[m->i], *other = &f->item[m->j];
    mesh_search inner = {.f = f, .i = m->j, .j = m->i, .swapped = true};
    inner.other = triangle_side(f, mesh, number, corner);
    if (!inner.other) {
        return;
    }
    double reach[6];
    sprag_shape_bounds(&inner.other->shape, &inner.other->pose, reach);
    sweep_past(mesh, other, reach);
    f->crowded |=
        !sprag_ode_triangles(&other->geom, reach, ODE_MOST_TRIANGLES, add_triangle, &inner);
}

// The same of two meshes, of which too many are not counted.
static int add_meshes(finder *f, int i, int j)
{
    const item *a = &f->item[i], *b = &f->item[j];
    mesh_search m = {.f = f, .i = i, .j = j};
    double reach[6];
    memcpy(reach, b->geom.bounds, sizeof reach);
    sweep_past(b, a, reach);
    f->crowded |= !sprag_ode_triangles(&a->geom, reach, ODE_MOST_TRIANGLES, add_triangles_near, &m);
    return INT_MAX;
}

static void add_pairs(finder *f, int i, int j)
{
    const item *a = &f->item[i], *b = &f->item[j];
    const bool mesh[2] = {a->geom.kind == ODE_GEOM_MESH, b->geom.kind == ODE_GEOM_MESH};
    mesh_search m = {f, mesh[1] ? j : i, mesh[1] ? i : j, mesh[1], NULL};
    ode_pairs *p = f->pairs;
    if (!mesh[0] && !mesh[1]) {
        add_pair(f, &a->geom, &b->geom);
        return;
    }
    f->begun = p->count;
    f->crowded = f->again && f->size[f->sizes] == LEFT_OUT;
    int size = f->crowded ? LEFT_OUT : mesh[0] && mesh[1] ? add_meshes(f, i, j) : add_near(&m);
    if (f->crowded) {
        p->count = f->begun;
        p->crowded[1] = p->crowded[0] ? p->crowded[1] : b->geom.id;
        p->crowded[0] = p->crowded[0] ? p->crowded[0] : a->geom.id;
    } else {
        size = p->count - f->begun;
        f->spare -= size;
    }
    int *all = sprag_scratch_widen(f->scratch, f->size, f->sizes, &f->size_room, 16, sizeof *all);
    if (all) {
        f->size = all;
        f->size[f->sizes++] = size;
    }
}

// m, of a ball, or 0.
static double radius_of(const item *i)
{
    const double *b = i->geom.bounds;
    return dGeomGetClass(i->geom.id) == dSphereClass ? 0.5 * (b[3] - b[0]) : 0;
}

// Can their ways not lead them together? Their widened boxes overlap also where both pass at
// different times, and at corners; a plane that is tilted has no box.
static bool are_apart(const item *a, const item *b)
{
    const double round = radius_of(a) + radius_of(b), reach = a->reach + b->reach;
    const item *plane = dGeomGetClass(a->geom.id) == dPlaneClass ? a : b;
    const item *other = plane == a ? b : a;
    double between[3], box[6];
    subtract3(other->motion.shift, plane->motion.shift, between);
    memcpy(box, other->geom.bounds, sizeof box);
    if (dGeomGetClass(plane->geom.id) == dPlaneClass) {
        dVector4 p; // normal, distance from the origin
        dGeomPlaneGetParams(plane->geom.id, p);
        return sprag_box_height(box, p, p[3], round) + fmin(dot3(p, between), 0) > reach;
    }
    sprag_box_sweep(box, between, 0);
    return sprag_boxes_apart(box, plane->geom.bounds, round) > reach;
}

static void add_overlap(void *data, int i, int j)
{
    finder *f = data;
    item *a = &f->item[i], *b = &f->item[j];
    if ((f->apart && sprag_boxes_overlap(a->geom.bounds, b->geom.bounds)) || f->scratch->failed ||
        (!f->met && are_apart(a, b)) || !may_collide(f, a, b)) {
        return;
    }
    if (f->met) {
        f->met(f->data, (f->first ? b : a)->geom.id, (f->first ? a : b)->geom.id);
    } else if (is_shaped(f, a) && is_shaped(f, b) && has_collider(&a->geom, &b->geom)) {
        add_pairs(f, i, j);
    }
}

// Leaves out those with the most triangles, until all others have room. false: all others had it.
static bool leave_out(finder *f, int room)
{
    double sum = 0;
    bool more = false;
    for (int k = 0; k < f->sizes; k++) {
        sum += f->size[k];
    }
    while (sum > room) {
        int most = 0;
        for (int k = 1; k < f->sizes; k++) {
            most = f->size[k] >= f->size[most] ? k : most;
        }
        sum -= f->size[most];
        more |= f->size[most] <= room;
        f->size[most] = LEFT_OUT;
    }
    return more;
}

// false: no memory.
static bool find(finder *f, int count)
{
    flatten(f, count);
    const int items = f->geoms.count,
              room = ODE_MOST_PAIRS * (items > ODE_PAIRS_GEOMS ? items / ODE_PAIRS_GEOMS : 1);
    f->bounds = SPRAG_TAKE_RAW(f->scratch, items, *f->bounds);
    for (int i = 0; i < items && !f->scratch->failed; i++) {
        widen(f, i);
    }
    do {
        if (f->again) {
            f->pairs->crowded[0] = f->pairs->crowded[1] = NULL;
            f->pairs->count = f->triangles = f->sizes = 0;
        }
        f->spare = room;
        if (f->scratch->failed ||
            !sprag_overlaps((const double(*)[6])f->bounds, items, add_overlap, f, f->scratch) ||
            f->scratch->failed || f->failed) {
            return false;
        }
        f->again = !f->again && f->pairs && f->pairs->crowded[0] && leave_out(f, room);
    } while (f->again);
    return true;
}

sprag_result sprag_ode_find_pairs(ode_geometry *geometry, const ode_collision *calls, int count,
                                  ode_motion_fn *motion, void *data, double margin, bool again,
                                  sprag_scratch *scratch, ode_pairs *pairs)
{
    *pairs = (ode_pairs){0};
    finder f = {.geometry = geometry,
                .calls = calls,
                .motion = motion,
                .data = data,
                .margin = margin,
                .scratch = scratch,
                .pairs = pairs};
    if (!find(&f, count)) {
        return SPRAG_NO_MEMORY;
    }
    pairs->sides = f.geoms.count + f.triangles;
    if (again) {
        sprag_ode_known_memories(geometry, pairs);
        return SPRAG_OK;
    }
    return sprag_ode_pair_memories(geometry, pairs) ? SPRAG_OK : SPRAG_NO_MEMORY;
}

bool sprag_ode_meet(ode_geometry *geometry, const ode_collision *call, bool apart,
                    ode_reach_fn *reach, ode_met_fn *met, void *data, sprag_scratch *scratch)
{
    finder f = {.geometry = geometry,
                .calls = call,
                .met = met,
                .reach = reach,
                .apart = apart,
                .data = data,
                .scratch = scratch};
    sprag_ode_geometry_count_search(geometry);
    set_local(&f, call);
    return find(&f, 1);
}

sprag_result sprag_ode_two_geoms(ode_geometry *geometry, dGeomID a, dGeomID b, ode_geom geom[2])
{
    for (int i = 0; i < 2; i++) {
        if (!sprag_ode_geom_of(geometry, i ? b : a, &geom[i])) {
            return SPRAG_NO_MEMORY;
        }
        if (geom[i].kind != ODE_GEOM_SHAPE && geom[i].kind != ODE_GEOM_MESH) {
            return SPRAG_BAD_PROBLEM;
        }
    }
    return has_collider(&geom[0], &geom[1]) ? SPRAG_OK : SPRAG_BAD_PROBLEM;
}

sprag_result sprag_ode_pairs_of_two(ode_geometry *geometry, dGeomID a, dGeomID b, double margin,
                                    sprag_scratch *scratch, ode_pairs *pairs)
{
    *pairs = (ode_pairs){0};
    finder f = {.margin = margin, .spare = ODE_MOST_PAIRS, .scratch = scratch, .pairs = pairs};
    ode_geom geom[2];
    const sprag_result result = sprag_ode_two_geoms(geometry, a, b, geom);
    f.item = SPRAG_TAKE_RAW(scratch, 2, item);
    f.bounds = SPRAG_TAKE_RAW(scratch, 2, *f.bounds);
    if (result != SPRAG_OK || scratch->failed) {
        return result != SPRAG_OK ? result : SPRAG_NO_MEMORY;
    }
    const bool mesh[2] = {geom[0].kind == ODE_GEOM_MESH, geom[1].kind == ODE_GEOM_MESH};
    for (int i = 0; i < 2; i++) {
        f.item[i].geom = geom[i];
        if (mesh[0] || mesh[1]) {
            sprag_ode_set_bounds(&f.item[i].geom);
            widen(&f, i);
        }
    }
    if (!mesh[0] || !mesh[1] || sprag_boxes_overlap(f.bounds[0], f.bounds[1])) {
        add_pairs(&f, 0, 1);
    }
    return scratch->failed ? SPRAG_NO_MEMORY : SPRAG_OK;
}
