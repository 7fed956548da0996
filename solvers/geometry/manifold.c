// Faces, clipping in the plane of the reference face, and pairs of points.
#include "manifold.h"

#include <float.h>
#include <math.h>

#include "linalg.h"
#include "tolerances.h"

enum { CLIPPED_MAX = 2 * SPRAG_FACE_CORNERS };

// The face of a core that looks towards the other; with count < 3, an edge or a point.
typedef struct face {
    const sprag_core *core; // the core whose face it is
    int count;              // corners
    double normal[3];       // unit, outwards; set if count > 2, as is all that follows but `point`
    double origin[3], x[3], y[3]; // m, of coordinates in its plane; x and y are unit vectors in it
    const int
        *outline;    // of a polytope: the vertices of the face, of which every `every`-th is used
    int every, axis; // axis: of a box, the one along the normal
    double half[2];  // m, of a box, half lengths along x and y
    double point[2][3]; // m, if count < 3
} face;

typedef struct corner { // in the plane of the reference face
    double x, y;        // m
    double gap;         // m, height above that plane along the normal
} corner;

// ---- faces

static void box_face(const double towards[3], face *f)
{
    const double *half = f->core->shape->half, *R = f->core->rotation;
    double local[3];
    mul33_transposed(R, towards, local);
    double x = fabs(local[0]), y = fabs(local[1]), z = fabs(local[2]);
    int i = x >= y && x >= z ? 0 : y >= z ? 1 : 2, j = i < 2 ? i + 1 : 0, k = j < 2 ? j + 1 : 0;
    double sign = local[i] > 0 ? 1 : -1;
    f->count = 4;
    f->axis = i;
    f->half[0] = half[j];
    f->half[1] = half[k];
    for (int c = 0; c < 3; c++) {
        f->normal[c] = sign * R[3 * c + i];
        f->origin[c] = f->core->at[c] + half[i] * f->normal[c];
        f->x[c] = R[3 * c + j];
        f->y[c] = R[3 * c + k];
    }
}

// With links, only the faces round the foremost vertex are compared.
static int foremost_face(const sprag_core *core, const double towards[3])
{
    const sprag_polytope *p = core->shape->polytope;
    double local[3], most = -INFINITY, point[3];
    int best = 0;
    mul33_transposed(core->rotation, towards, local);
    const int *number = NULL;
    int count = p->faces;
    if (p->links.first) {
        int vertex = sprag_core_support(core, towards, point);
        number = p->links.side + p->links.first[vertex];
        count = p->links.first[vertex + 1] - p->links.first[vertex];
    }
    for (int i = 0; i < count; i++) {
        int n = number ? number[i] : i;
        double along = dot3(p->normal[n], local);
        if (along > most) {
            most = along;
            best = n;
        }
    }
    return best;
}

static void polytope_face(const double towards[3], face *f)
{
    const sprag_polytope *p = f->core->shape->polytope;
    double along[3], local[3];
    int best = foremost_face(f->core, towards);
    const int *outline = p->links.first ? p->links.outline + p->links.outline_start[best]
                                        : (const int *)(p->loop + p->start[best]);
    int corners = *outline++;
    f->outline = outline;
    f->every = (corners + SPRAG_FACE_CORNERS - 1) / SPRAG_FACE_CORNERS;
    f->count = (corners + f->every - 1) / f->every;
    mul33(f->core->rotation, p->normal[best], f->normal);
    sprag_core_vertex(f->core, outline[0], f->origin);
    subtract3(p->vertex[outline[1]], p->vertex[outline[0]], local);
    mul33(f->core->rotation, local, along);
    for (int i = 0; i < 2; i++) {
        add_scaled(along, -dot3(along, f->normal), f->normal, 3);
        normalise3(along);
    }
    memcpy(f->x, along, sizeof along);
    cross3(f->normal, f->x, f->y);
}

// A cap, as the polygon of points on its rim, the foremost first; or the side, as its foremost
// line.
static void cylinder_face(const double towards[3], face *f)
{
    const double *R = f->core->rotation;
    double axis[3], local[3], p[3], radius = f->core->shape->radius;
    double half = f->core->shape->half[2];
    sprag_core_axis(f->core, axis);
    mul33_transposed(R, towards, local);
    double along = local[2], length = sqrt(local[0] * local[0] + local[1] * local[1]);
    double c = length > SPRAG_RIM_UPRIGHT ? local[0] / length : 1,
           s = length > SPRAG_RIM_UPRIGHT ? local[1] / length : 0;
    for (int k = 0; k < 3; k++) {
        p[k] = c * R[3 * k] + s * R[3 * k + 1];
    }
    f->count = 2;
    if (fabs(along) > M_SQRT1_2) {
        f->count = SPRAG_RIM_POINTS;
        for (int k = 0; k < 3; k++) {
            f->normal[k] = copysign(1, along) * axis[k];
            f->origin[k] = f->core->at[k] + half * f->normal[k];
        }
        memcpy(f->x, p, sizeof p);
        cross3(axis, p, f->y);
        return;
    }
    for (int i = 0; i < 2; i++) {
        memcpy(f->point[i], f->core->at, sizeof f->point[i]);
        add_scaled(f->point[i], i ? half : -half, axis, 3);
        add_scaled(f->point[i], radius, p, 3);
    }
}

static void face_towards(const sprag_core *core, const double towards[3], face *f)
{
    f->core = core;
    f->count = 0;
    switch (core->shape->kind) {
    case SPRAG_BOX:
        box_face(towards, f);
        break;
    case SPRAG_POLYTOPE:
        if (core->shape->polytope->faces) {
            polytope_face(towards, f);
        }
        break;
    case SPRAG_CYLINDER:
        cylinder_face(towards, f);
        break;
    case SPRAG_SPHERE:
    case SPRAG_CAPSULE:
        f->count = sprag_core_vertices(core);
        for (int i = 0; i < f->count; i++) {
            sprag_core_vertex(core, i, f->point[i]);
            add_scaled(f->point[i], core->shape->radius, towards, 3);
        }
        break;
    case SPRAG_PLANE:
    case SPRAG_SHAPE_KINDS:
        break;
    }
}

// The corners (m), in order round the face.
static void corners_of(const face *f, double point[SPRAG_FACE_CORNERS][3])
{
    static const double rim[SPRAG_RIM_POINTS][2] = {
        {1, 0},  {M_SQRT1_2, M_SQRT1_2},   {0, 1},  {-M_SQRT1_2, M_SQRT1_2},
        {-1, 0}, {-M_SQRT1_2, -M_SQRT1_2}, {0, -1}, {M_SQRT1_2, -M_SQRT1_2}};
    const sprag_core *core = f->core;
    if (f->count < 3) {
        memcpy(point, f->point, sizeof f->point);
    } else if (core->shape->kind == SPRAG_BOX) {
        for (int k = 0; k < 3; k++) {
            double u = f->half[0] * f->x[k], v = f->half[1] * f->y[k];
            point[0][k] = f->origin[k] - u - v;
            point[1][k] = f->origin[k] + u - v;
            point[2][k] = f->origin[k] + u + v;
            point[3][k] = f->origin[k] - u + v;
        }
    } else if (core->shape->kind == SPRAG_CYLINDER) {
        double radius = core->shape->radius;
        for (int i = 0; i < SPRAG_RIM_POINTS; i++) {
            for (int k = 0; k < 3; k++) {
                point[i][k] = f->origin[k] + radius * (rim[i][0] * f->x[k] + rim[i][1] * f->y[k]);
            }
        }
    } else {
        const double(*vertex)[3] = core->shape->polytope->vertex;
        for (int i = 0; i < f->count; i++) {
            mul33(core->rotation, vertex[f->outline[i * f->every]], point[i]);
            add_scaled(point[i], 1, core->at, 3);
        }
    }
}

// ---- pairs of points

static void add_pair(sprag_manifold *m, double most, const double *on0, const double *on1,
                     double gap)
{
    if (gap <= most && m->count < SPRAG_MANIFOLD_MAX) {
        memcpy(m->point[m->count][0], on0, sizeof m->point[0][0]);
        memcpy(m->point[m->count][1], on1, sizeof m->point[0][1]);
        m->gap[m->count++] = gap;
    }
}

// Two edges that are nearly parallel: the ends of their overlap.
static void along_edges(const face f[2], const double n[3], double most, sprag_manifold *m)
{
    double e[2][3], length[2], across[3], range[2] = {0, 1};
    for (int side = 0; side < 2; side++) {
        subtract3(f[side].point[1], f[side].point[0], e[side]);
        add_scaled(e[side], -dot3(n, e[side]), n, 3);
        length[side] = norm3(e[side]);
    }
    cross3(e[0], e[1], across);
    if (!(norm3(across) < SPRAG_EDGES_PARALLEL * length[0] * length[1])) {
        return;
    }
    subtract3(f[1].point[1], f[1].point[0], e[1]);
    subtract3(f[0].point[1], f[0].point[0], e[0]);
    double ee = dot3(e[0], e[0]), t[2];
    for (int i = 0; i < 2; i++) {
        double from[3];
        subtract3(f[1].point[i], f[0].point[0], from);
        t[i] = dot3(from, e[0]) / ee;
    }
    range[0] = fmax(0, fmin(t[0], t[1]));
    range[1] = fmin(1, fmax(t[0], t[1]));
    for (int i = 0; i < 2 && range[0] <= range[1]; i++) {
        double on[2][3], between[3];
        memcpy(on[0], f[0].point[0], sizeof on[0]);
        memcpy(on[1], f[1].point[0], sizeof on[1]);
        add_scaled(on[0], range[i], e[0], 3);
        add_scaled(on[1], fmin(1, fmax(0, (range[i] - t[0]) / (t[1] - t[0]))), e[1], 3);
        subtract3(on[0], on[1], between);
        add_pair(m, most, on[0], on[1], dot3(n, between));
    }
}

static double twice_area(const corner *p, const corner *q, const corner *r)
{
    return (q->x - p->x) * (r->y - p->y) - (q->y - p->y) * (r->x - p->x);
}

// -1: clockwise, 1: counter-clockwise.
static double winding(const corner *c, int count)
{
    double sum = 0;
    for (int i = 1; i + 1 < count; i++) {
        sum += twice_area(&c[0], &c[i], &c[i + 1]);
    }
    return sum < 0 ? -1 : 1;
}

// The corners of the reference face in its own plane.
static void reference_corners(const face *f, corner *c)
{
    if (f->core->shape->kind == SPRAG_BOX) {
        double u = f->half[0], v = f->half[1];
        c[0] = (corner){-u, -v, 0}, c[1] = (corner){u, -v, 0};
        c[2] = (corner){u, v, 0}, c[3] = (corner){-u, v, 0};
        return;
    }
    double point[SPRAG_FACE_CORNERS][3], from[3];
    corners_of(f, point);
    for (int i = 0; i < f->count; i++) {
        subtract3(point[i], f->origin, from);
        c[i] = (corner){dot3(f->x, from), dot3(f->y, from), 0};
    }
}

// Projects the corners of the incident face along n to the plane of the reference face. sign: 1 if
// the reference face is that of core 1, else -1. Returns the least gap, m.
static double cast_corners(const face *f, const face *reference, const double n[3], double sign,
                           corner *c)
{
    double point[SPRAG_FACE_CORNERS][3], from[3], nearest = INFINITY;
    double nx = dot3(reference->x, n), ny = dot3(reference->y, n),
           per = 1 / dot3(reference->normal, n);
    corners_of(f, point);
    for (int i = 0; i < f->count; i++) {
        subtract3(point[i], reference->origin, from);
        double g = per * dot3(reference->normal, from);
        c[i] = (corner){dot3(reference->x, from) - g * nx, dot3(reference->y, from) - g * ny,
                        sign * g};
        nearest = sprag_smaller(c[i].gap, nearest);
    }
    return nearest;
}

// A convex polygon, or a line there and back, as a linked list: clipping changes only the corners
// at the cuts.
typedef struct ring {
    int used, at; // corners in c, those cut off too; one of those in the list
    corner c[CLIPPED_MAX];
    int next[CLIPPED_MAX], previous[CLIPPED_MAX];
} ring;

static void close_ring(ring *r, int count)
{
    for (int i = 0; i < count; i++) {
        r->next[i] = i + 1;
        r->previous[i] = i - 1;
    }
    r->next[count - 1] = 0;
    r->previous[0] = count - 1;
    r->used = count;
    r->at = 0;
}

static corner between(const corner *p, double inside, const corner *q, double outside)
{
    double t = inside / (inside - outside);
    return (corner){p->x + t * (q->x - p->x), p->y + t * (q->y - p->y),
                    p->gap + t * (q->gap - p->gap)};
}

typedef struct line {
    double dx, dy;
    corner from;
} line;

static double inside(const line *l, const corner *c)
{
    return l->dx * (c->y - l->from.y) - l->dy * (c->x - l->from.x);
}

// Clips the polygon by the line from p to q; keeps its left (turn 1) or right (turn -1) side.
// false: nothing remains. The lines come in order round their polygon, so the corner that is
// farthest outside is near that of the last line.
static bool clip(ring *r, const corner *p, const corner *q, double turn)
{
    const line l = {turn * (q->x - p->x), turn * (q->y - p->y), *p};
    int at = r->at, start = at; // corners may coincide: equal ones do not end the search
    double here = inside(&l, &r->c[at]), there;
    while (there = inside(&l, &r->c[r->next[at]]), there <= here && r->next[at] != start) {
        at = r->next[at];
        here = there;
    }
    start = at;
    while (there = inside(&l, &r->c[r->previous[at]]), there <= here && r->previous[at] != start) {
        at = r->previous[at];
        here = there;
    }
    r->at = at;
    if (here >= 0) {
        return true;
    }
    int low = at, high = at, before, after; // the first and the last corner outside
    double low_inside = here, high_inside = here, before_inside, after_inside;
    while (before = r->previous[low], (before_inside = inside(&l, &r->c[before])) < 0) {
        if (before == at) {
            return false;
        }
        low = before;
        low_inside = before_inside;
    }
    while (after = r->next[high], (after_inside = inside(&l, &r->c[after])) < 0) {
        high = after;
        high_inside = after_inside;
    }
    corner c[2] = {between(&r->c[before], before_inside, &r->c[low], low_inside),
                   between(&r->c[after], after_inside, &r->c[high], high_inside)};
    int second = low != high ? high : r->used < CLIPPED_MAX ? r->used++ : low;
    r->c[low] = c[0];
    r->c[second] = c[1];
    r->next[low] = second;
    r->previous[second] = low;
    r->next[second] = after;
    r->previous[after] = second;
    r->at = second;
    return true;
}

// Lists the corners that remain, without those that coincide or whose gap is too large.
static int list_corners(const ring *r, double most, double tiny, corner *c)
{
    int count = 0, i = r->at;
    do {
        const corner *new = &r->c[i];
        i = r->next[i];
        if (new->gap <= most) {
            corner *last = count ? &c[count - 1] : NULL;
            if (last && fabs(new->x - last->x) + fabs(new->y - last->y) <= tiny) {
                *last = new->gap < last->gap ? *new : *last;
            } else {
                c[count++] = *new;
            }
        }
    } while (i != r->at);
    if (count > 1 && fabs(c[0].x - c[count - 1].x) + fabs(c[0].y - c[count - 1].y) <= tiny) {
        c[0] = c[count - 1].gap < c[0].gap ? c[count - 1] : c[0];
        count--;
    }
    return count;
}

// Place of the least value. Four independent searches run in parallel.
static int least_of(const double *value, int count)
{
    int place[4] = {0, 0, 0, 0}, i = 0;
    double least[4] = {INFINITY, INFINITY, INFINITY, INFINITY};
    for (; i + 4 <= count; i += 4) {
        for (int k = 0; k < 4; k++) {
            place[k] = value[i + k] < least[k] ? i + k : place[k];
            least[k] = value[i + k] < least[k] ? value[i + k] : least[k];
        }
    }
    for (; i < count; i++) {
        place[0] = value[i] < least[0] ? i : place[0];
        least[0] = value[i] < least[0] ? value[i] : least[0];
    }
    for (int k = 1; k < 4; k++) {
        place[0] = least[k] < least[0] ? place[k] : place[0];
        least[0] = least[k] < least[0] ? least[k] : least[0];
    }
    return place[0];
}

// In the order of the areas of triangles with their neighbours: of corners that overlap they are
// positive, of others negative.
static double loss_of(const corner *c, int before, int i, int after)
{
    double area = fabs(twice_area(&c[before], &c[i], &c[after]));
    return c[i].gap < 0 ? area : -1 / fmax(area, DBL_MIN);
}

// Lists at most SPRAG_MANIFOLD_MAX corners to keep. In each round the one is dropped that reduces
// the area least, those that overlap last. Returns their number.
static int thin_out(const corner *c, int count, int kept[SPRAG_MANIFOLD_MAX])
{
    double loss[CLIPPED_MAX];
    int next[CLIPPED_MAX], previous[CLIPPED_MAX], left = 0;
    bool all = count <= SPRAG_MANIFOLD_MAX;
    for (int i = 0; i < count && !all; i++) {
        previous[i] = i ? i - 1 : count - 1;
        next[i] = i + 1 < count ? i + 1 : 0;
        loss[i] = loss_of(c, previous[i], i, next[i]);
    }
    for (int drops = count - SPRAG_MANIFOLD_MAX; drops > 0; drops--) {
        int dropped = least_of(loss, count), around[2] = {previous[dropped], next[dropped]};
        loss[dropped] = INFINITY;
        next[around[0]] = around[1];
        previous[around[1]] = around[0];
        for (int k = 0; k < 2; k++) {
            int i = around[k];
            loss[i] = loss_of(c, previous[i], i, next[i]);
        }
    }
    for (int i = 0; i < count; i++) {
        if (all || loss[i] < INFINITY) {
            kept[left++] = i;
        }
    }
    return left;
}

static void on_plane(const sprag_core *plane, const face *f, int side, const double n[3],
                     double most, sprag_manifold *m)
{
    double point[SPRAG_FACE_CORNERS][3];
    corner c[SPRAG_FACE_CORNERS];
    int near[SPRAG_FACE_CORNERS], kept[SPRAG_MANIFOLD_MAX], count = 0;
    corners_of(f, point);
    memset(c, 0, (size_t)f->count * sizeof *c);
    if (f->count > SPRAG_MANIFOLD_MAX) { // for thin_out
        reference_corners(f, c);
    }
    for (int i = 0; i < f->count; i++) {
        double from[3];
        subtract3(point[i], plane->at, from);
        double gap = side ? dot3(n, from) : -dot3(n, from);
        if (gap <= most) {
            c[count] = (corner){c[i].x, c[i].y, gap};
            near[count++] = i;
        }
    }
    count = thin_out(c, count, kept);
    for (int k = 0; k < count; k++) {
        const double *at = point[near[kept[k]]], gap = c[kept[k]].gap;
        double on[3];
        memcpy(on, at, sizeof on);
        add_scaled(on, side ? -gap : gap, n, 3);
        add_pair(m, most, side ? at : on, side ? on : at, gap);
    }
}

void sprag_manifold_clip(const sprag_core core[2], const double normal[3], double most,
                         sprag_manifold *m)
{
    const double against[3] = {-normal[0], -normal[1], -normal[2]};
    face f[2];
    m->count = 0;
    for (int side = 0; side < 2; side++) {
        face_towards(&core[side], side ? normal : against, &f[side]);
        if (core[!side].shape->kind == SPRAG_PLANE) {
            on_plane(&core[!side], &f[side], !side, normal, most, m);
            return;
        }
    }
    double cosine[2] = {f[0].count > 2 ? -dot3(f[0].normal, normal) : 0,
                        f[1].count > 2 ? dot3(f[1].normal, normal) : 0};
    int reference = cosine[1] > cosine[0]; // the side whose face clips that of the other
    if (!(cosine[reference] > SPRAG_FACE_UPRIGHT)) {
        if (f[0].count == 2 && f[1].count == 2) {
            along_edges(f, normal, most, m);
        }
        return;
    }
    corner by[SPRAG_FACE_CORNERS], c[CLIPPED_MAX];
    ring all;
    const face *plane = &f[reference];
    double sign = reference ? 1 : -1;
    int edges = plane->count, count = f[!reference].count;
    if (count == 0 || !(cast_corners(&f[!reference], plane, normal, sign, all.c) <= most)) {
        return;
    }
    reference_corners(plane, by);
    close_ring(&all, count);
    double turn = winding(by, edges);
    for (int i = 0; i < edges; i++) {
        if (!clip(&all, &by[i], &by[i + 1 < edges ? i + 1 : 0], turn)) {
            return;
        }
    }
    double wide = fabs(by[0].x - by[2].x) + fabs(by[0].y - by[2].y);
    int kept[SPRAG_MANIFOLD_MAX];
    m->count = thin_out(c, list_corners(&all, most, SPRAG_CORNERS_TOGETHER * wide, c), kept);
    for (int i = 0; i < m->count; i++) {
        const corner *from = &c[kept[i]];
        double(*at)[3] = m->point[i];
        for (int k = 0; k < 3; k++) {
            at[reference][k] = plane->origin[k] + from->x * plane->x[k] + from->y * plane->y[k];
            at[!reference][k] = at[reference][k] + sign * from->gap * normal[k];
        }
        m->gap[i] = from->gap;
    }
}
