// Closed forms of the distance of a triangle from a capsule, cylinder, box or polytope, for the
// pairs in which a bound shows that no other normal is better: the front or the back of the
// triangle, the face of a box, the cap or the side of a cylinder; and for the rim of a cylinder
// that is apart. What is left, edges that cross mostly, needs a search.
#include <float.h>
#include <math.h>
#include <string.h>

#include "core_gap.h"
#include "linalg.h"
#include "tolerances.h"

typedef struct triangle {
    double corner[3][3]; // m
    double front[3];     // unit
} triangle;

// Sets the gap of one core at a normal into it.
static void set_gap(double distance, const double into[3], int side, sprag_core_gap *a)
{
    a->distance = distance;
    for (int k = 0; k < 3; k++) {
        a->normal[k] = side ? -into[k] : into[k];
    }
}

// Is a point over the triangle, at least `inset` (m) from all edges?
static bool is_over(const triangle *t, const double at[3], double inset)
{
    for (int i = 0; i < 3; i++) {
        double edge[3], from[3], inwards[3];
        subtract3(t->corner[(i + 1) % 3], t->corner[i], edge);
        subtract3(at, t->corner[i], from);
        cross3(t->front, edge, inwards);
        const double in = dot3(inwards, from);
        if (!(in >= 0) || in * in < inset * inset * dot3(edge, edge)) {
            return false;
        }
    }
    return true;
}

// Is a point on or within the core, to rounding? A capsule's core has no inside.
static bool is_within(const sprag_core *core, const double at[3])
{
    const sprag_shape *shape = core->shape;
    const double rounding = SPRAG_GAP_EXACT * (norm3(at) + norm3(core->at));
    double from[3], local[3];
    bool within = shape->kind != SPRAG_CAPSULE;
    subtract3(at, core->at, from);
    mul33_transposed(core->rotation, from, local);
    if (shape->kind == SPRAG_CYLINDER) {
        return fabs(local[2]) <= shape->half[2] + rounding &&
               hypot(local[0], local[1]) <= shape->radius + rounding;
    }
    for (int k = 0; k < 3 && shape->kind == SPRAG_BOX; k++) {
        within &= fabs(local[k]) <= shape->half[k] + rounding;
    }
    if (shape->kind == SPRAG_POLYTOPE) {
        const sprag_polytope *p = shape->polytope;
        within = p->faces > 2;
        for (int f = 0; f < p->faces && within; f++) {
            subtract3(local, p->vertex[p->loop[p->start[f] + 1]], from);
            within = dot3(p->normal[f], from) <= rounding;
        }
    }
    return within;
}

// A face of the triangle and the foremost point of the core, at a height h along the face's normal.
// Apart (h > 0), h is the distance if that point is over the triangle. Overlapping by d = -h, it is
// so if the point is d from all edges, and the point 2 d above it belongs to the core, too: at an
// angle t from the normal, no slab is then higher than
//
//     -d |cos t| - d |sin t| <= -d
//
// true: the gap is set.
static bool try_side(const triangle *t, const double out[3], const sprag_core *core, int side,
                     double reach, sprag_core_gap *a)
{
    const double back[3] = {-out[0], -out[1], -out[2]};
    double from[3], above[3], *at = a->point[side];
    sprag_core_support(core, back, at);
    subtract3(at, t->corner[0], from);
    const double height = dot3(out, from), depth = fmax(0, -height);
    set_gap(height, out, side, a);
    if (height > reach) {
        a->beyond = true;
        return true;
    }
    memcpy(a->point[!side], at, sizeof a->point[0]);
    add_scaled(a->point[!side], -height, out, 3);
    memcpy(above, at, sizeof above);
    add_scaled(above, 2 * depth, out, 3);
    return is_over(t, at, depth) && (height >= 0 || is_within(core, above));
}

// The same for the face of a box, or the cap of a cylinder, that looks at the triangle: the corner
// that is foremost is over the face, and where it overlaps by d, it is d from the rim of the face
// and the core is 2 d thick.
static bool try_face(const triangle *t, const sprag_core *core, int side, double reach,
                     sprag_core_gap *a)
{
    const sprag_shape *shape = core->shape;
    const double *half = shape->half, *R = core->rotation;
    const bool box = shape->kind == SPRAG_BOX;
    double front[3], local[3][3], from[3];
    mul33_transposed(R, t->front, front);
    int i = 2, lowest = 0;
    for (int k = 0; k < 2 && box; k++) {
        i = fabs(front[k]) > fabs(front[i]) ? k : i;
    }
    const double sign = front[i] > 0 ? -1 : 1; // of the face, along axis i
    for (int c = 0; c < 3; c++) {
        subtract3(t->corner[c], core->at, from);
        mul33_transposed(R, from, local[c]);
        lowest = sign * local[c][i] < sign * local[lowest][i] ? c : lowest;
    }
    const double height = sign * local[lowest][i] - half[i], depth = fmax(0, -height);
    const double into[3] = {-sign * R[i], -sign * R[3 + i], -sign * R[6 + i]};
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    const double x = fabs(local[lowest][j]), y = fabs(local[lowest][k]);
    set_gap(height, into, side, a);
    if (height > reach) {
        a->beyond = true;
        return true;
    }
    memcpy(a->point[!side], t->corner[lowest], sizeof a->point[0]);
    memcpy(a->point[side], t->corner[lowest], sizeof a->point[0]);
    add_scaled(a->point[side], height, into, 3);
    return depth <= half[i] && (box ? x <= half[j] - depth && y <= half[k] - depth
                                    : hypot(x, y) <= shape->radius - depth);
}

typedef struct nearest { // of an axis and a triangle that it does not cross
    double on[2][3];     // m, the points
    double along;        // m, of the axis, from its first end
    int edge;            // of the triangle, with the point within it; -1: none
} nearest;

// The nearest points of a segment (from `end` along a unit vector) and a triangle. Returns their
// distance, m.
static double segment_to_triangle(const triangle *t, const double end[2][3], const double u[3],
                                  double length, nearest *found)
{
    double least = INFINITY;
    for (int i = 0; i < 5; i++) { // its ends, then the edges
        nearest n = {.along = i == 1 ? length : 0, .edge = -1};
        double between[3];
        if (i < 2) {
            memcpy(n.on[0], end[i], sizeof n.on[0]);
            sprag_triangle_nearest(t->corner, end[i], n.on[1]);
        } else {
            const double *corner = t->corner[i - 2];
            double edge[3], from[3];
            subtract3(t->corner[(i - 1) % 3], corner, edge);
            subtract3(end[0], corner, from);
            const double ue = dot3(u, edge), ee = dot3(edge, edge), uf = dot3(u, from);
            const double ef = dot3(edge, from), square = ee - ue * ue;
            const double s = square > 0 ? clamp((ue * ef - uf * ee) / square, 0, length) : 0;
            const double r = clamp((ue * s + ef) / ee, 0, 1);
            n.along = clamp(ue * r - uf, 0, length);
            n.edge = r > 0 && r < 1 ? i - 2 : -1;
            memcpy(n.on[0], end[0], sizeof n.on[0]);
            memcpy(n.on[1], corner, sizeof n.on[1]);
            add_scaled(n.on[0], n.along, u, 3);
            add_scaled(n.on[1], r, edge, 3);
        }
        subtract3(n.on[0], n.on[1], between);
        const double square = dot3(between, between);
        if (square < least) {
            least = square;
            *found = n;
        }
    }
    return sqrt(least);
}

// The unit normal between the nearest points: at right angles to the axis and the edge within which
// they are, to rounding.
static void set_normal(const triangle *t, const nearest *n, const double u[3], double length,
                       double into[3])
{
    double edge[3] = {0};
    if (n->edge >= 0) {
        subtract3(t->corner[(n->edge + 1) % 3], t->corner[n->edge], edge);
        normalise3(edge);
    }
    subtract3(n->on[0], n->on[1], into);
    for (int i = 0; i < 4; i++) {
        const double *of = i % 2 ? edge : u;
        add_scaled(into, i % 2 || (n->along > 0 && n->along < length) ? -dot3(of, into) : 0, of, 3);
    }
    normalise3(into);
}

static bool is_crossed(const triangle *t, const double end[2][3], const double u[3])
{
    double from[2][3], at[3];
    subtract3(end[0], t->corner[0], from[0]);
    subtract3(end[1], t->corner[0], from[1]);
    const double h0 = dot3(t->front, from[0]), h1 = dot3(t->front, from[1]);
    if (h0 * h1 > 0 || h0 == h1) {
        return false;
    }
    memcpy(at, end[0], sizeof at);
    add_scaled(at, -h0 / dot3(t->front, u), u, 3);
    return is_over(t, at, 0);
}

// The axis of a capsule or a cylinder, D from the triangle. A cylinder is within the capsule about
// its axis, so its distance is at least D - r. It is no more if the nearest point of the axis is
// inside it, and, where they overlap by d = r - D, at least d from both ends: at an angle t from
// the normal, no slab is higher than -d cos t - d sin t.
static bool try_axis(const triangle *t, const sprag_core *core, int side, double reach,
                     sprag_core_gap *a)
{
    const double radius = core->shape->kind == SPRAG_CYLINDER ? core->shape->radius : 0;
    const double length = 2 * core->shape->half[2];
    nearest found;
    double u[3], end[2][3], into[3];
    sprag_core_axis(core, u);
    for (int i = 0; i < 2; i++) {
        memcpy(end[i], core->at, sizeof end[i]);
        add_scaled(end[i], i ? length / 2 : -length / 2, u, 3);
    }
    if (is_crossed(t, (const double(*)[3])end, u)) {
        return false;
    }
    const double far = segment_to_triangle(t, (const double(*)[3])end, u, length, &found);
    if (!(far > SPRAG_GAP_SHALLOW * a->size)) {
        return false; // its direction is rounding
    }
    set_normal(t, &found, u, length, into);
    set_gap(far - radius, into, side, a);
    a->beyond = far - radius > reach;
    memcpy(a->point[side], found.on[0], sizeof found.on[0]);
    memcpy(a->point[!side], found.on[1], sizeof found.on[1]);
    add_scaled(a->point[side], -radius, into, 3);
    const double depth = fmax(0, radius - far), inside = fmin(found.along, length - found.along);
    return a->beyond || radius == 0 || (inside > 0 && inside >= depth);
}

// ---- the rim of a cylinder

typedef struct edge_point { // of an edge of the triangle, in the axes of a cylinder
    double at[3], along[3]; // m, and the edge
    bool within;            // it is not an end
    double out[2];          // m, above the caps, and off the side
    double slope, bend;     // m^2, of half the square of the distance, along the edge
} edge_point;

// m^2, square of the distance: of equal ones, to rounding, that from a cap or a side is least.
static double square_of(const edge_point *p)
{
    const double square = p->out[0] * p->out[0] + p->out[1] * p->out[1];
    return p->out[0] > 0 && p->out[1] > 0 ? square * (1 + 8 * DBL_EPSILON) : square;
}

static void go_to(const sprag_shape *cylinder, const double from[3], double share, edge_point *p)
{
    const double *along = p->along;
    for (int k = 0; k < 3; k++) {
        p->at[k] = from[k] + share * along[k];
    }
    const double off = sqrt(p->at[0] * p->at[0] + p->at[1] * p->at[1]);
    p->within = share > 0 && share < 1;
    p->out[0] = sprag_larger(fabs(p->at[2]) - cylinder->half[2], 0);
    p->out[1] = sprag_larger(off - cylinder->radius, 0);
    p->slope = p->bend = 0;
    if (p->out[0] > 0) {
        p->slope = copysign(p->out[0], p->at[2]) * along[2];
        p->bend = along[2] * along[2];
    }
    if (p->out[1] > 0) {
        const double rate = (p->at[0] * along[0] + p->at[1] * along[1]) / off,
                     across = along[0] * along[0] + along[1] * along[1] - rate * rate;
        p->slope += p->out[1] * rate;
        p->bend += rate * rate + p->out[1] * across / off;
    }
}

// The point of an edge that is nearest to a cylinder, by Newton's method between bounds: the square
// of the distance from a convex body is convex.
static void find_nearest(const sprag_shape *cylinder, const double from[3], edge_point *p)
{
    double low = 0, high = 1, share = 0, first;
    go_to(cylinder, from, 0, p);
    if (p->slope >= 0) {
        return;
    }
    first = p->slope;
    go_to(cylinder, from, 1, p);
    if (p->slope <= 0) {
        return;
    }
    double next = first / (first - p->slope);
    for (int i = 0; i < SPRAG_RIM_STEPS && fabs(next - share) > DBL_EPSILON; i++) {
        share = next;
        go_to(cylinder, from, share, p);
        *(p->slope < 0 ? &low : &high) = share;
        next = share - p->slope / p->bend;
        next = next >= low && next <= high ? next : (low + high) / 2;
    }
}

// The point of a cylinder that is nearest to that of an edge, which is so far (m) away, and the
// normal from there to it. On a rim that is at right angles to rim and edge, where these nearly
// touch. Returns the distance from which on the normal is exact.
static double set_rim_point(const sprag_shape *cylinder, const edge_point *p, double far,
                            double size, double on[3], double into[3])
{
    const double rim[3] = {-p->at[1], p->at[0], 0}, off = norm3(rim), *half = cylinder->half;
    const bool is_rim = p->out[0] > 0 && p->out[1] > 0;
    double across[3];
    on[2] = clamp(p->at[2], -half[2], half[2]);
    for (int k = 0; k < 2; k++) {
        on[k] = p->at[k] * (p->out[1] > 0 ? cylinder->radius / off : 1);
        into[k] = p->out[0] > 0 ? on[k] - p->at[k] : -p->at[k];
    }
    into[2] = on[2] - p->at[2];
    cross3(p->along, rim, across);
    const bool crosses =
        is_rim && p->within && norm3(across) * norm3(p->at) > off * norm3(p->along) * far;
    if (crosses) {
        scale3(dot3(across, into) < 0 ? -1 : 1, across, into);
    }
    normalise3(into);
    return (is_rim && !crosses ? SPRAG_GAP_SHALLOW : SPRAG_GAP_TOLERABLE) * size;
}

// A cylinder that is apart: as no face of either is between the two, the nearest point of the
// triangle is on an edge.
static bool try_rim(const triangle *t, const sprag_core *core, int side, double reach,
                    sprag_core_gap *a)
{
    const sprag_shape *shape = core->shape;
    double local[3][3], on[3], n[3], into[3], from[3], highest = -INFINITY, least = INFINITY;
    edge_point best = {.within = false};
    for (int i = 0; i < 3; i++) {
        subtract3(t->corner[i], core->at, from);
        mul33_transposed(core->rotation, from, local[i]);
    }
    for (int i = 0; i < 3; i++) {
        edge_point p;
        subtract3(local[(i + 1) % 3], local[i], p.along);
        find_nearest(shape, local[i], &p);
        if (square_of(&p) < least) {
            least = square_of(&p);
            best = p;
        }
        if (least == 0) {
            return false;
        }
    }
    const double far = sqrt(least);
    if (far <= reach && far > shape->radius + shape->half[2]) {
        return false; // a face between them cannot be told from its rim
    }
    if (!(far > set_rim_point(shape, &best, far, a->size, on, n))) {
        return false;
    }
    for (int i = 0; i < 3; i++) {
        highest = sprag_larger(highest, dot3(n, local[i]));
    }
    const double lowest = -shape->half[2] * fabs(n[2]) - shape->radius * hypot(n[0], n[1]);
    if (!(far - (lowest - highest) <= SPRAG_GAP_EXACT * a->size)) {
        return false;
    }
    mul33(core->rotation, n, into);
    subtract3(on, best.at, from);
    set_gap(dot3(n, from), into, side, a);
    a->beyond = far > reach;
    mul33(core->rotation, on, a->point[side]);
    mul33(core->rotation, best.at, a->point[!side]);
    add_scaled(a->point[side], 1, core->at, 3);
    add_scaled(a->point[!side], 1, core->at, 3);
    return true;
}

bool sprag_core_gap_triangle(const sprag_core core[2], double reach, sprag_core_gap *a)
{
    int side = -1; // of the shape
    for (int i = 0; i < 2; i++) {
        const sprag_shape *shape = core[i].shape;
        const sprag_polytope *p = shape->kind == SPRAG_POLYTOPE ? shape->polytope : NULL;
        side = p && p->vertices == 3 && p->faces == 2 ? !i : side;
    }
    if (side < 0) {
        return false;
    }
    triangle t;
    const sprag_core *one = &core[side], *other = &core[!side];
    const sprag_shape_kind kind = one->shape->kind;
    mul33(other->rotation, other->shape->polytope->normal[0], t.front);
    for (int i = 0; i < 3; i++) {
        sprag_core_vertex(other, i, t.corner[i]);
    }
    const double back[3] = {-t.front[0], -t.front[1], -t.front[2]};
    const bool round = kind == SPRAG_CAPSULE || kind == SPRAG_CYLINDER;
    const bool faced = kind == SPRAG_BOX || kind == SPRAG_CYLINDER;
    return try_side(&t, t.front, one, side, reach, a) || try_side(&t, back, one, side, reach, a) ||
           (faced && try_face(&t, one, side, reach, a)) ||
           (round && try_axis(&t, one, side, reach, a)) ||
           (kind == SPRAG_CYLINDER && try_rim(&t, one, side, reach, a));
}
