// Faces, clipping in the plane across the normal, and back.
#include "solvers/manifold.h"

#include <math.h>

#include "solvers/linalg.h"

enum { CORNERS_MAX = 32, CLIPPED_MAX = 2 * CORNERS_MAX, RIM_POINTS = 8 };

// What a body turns towards the other: a face, or where count < 3 an edge, a point.
typedef struct face {
    int count;
    double point[CORNERS_MAX][3]; // in order round the face
    double normal[3];             // unit; not set if count < 3
} face;

typedef struct corner { // in the plane across the normal
    double x, y;
    double gap; // above the face that clips
} corner;

// ---- faces

static void box_face(const sprag_core *core, const double towards[3], face *f)
{
    const double *half = core->shape->half, *R = core->rotation;
    double local[3];
    mul33_transposed(R, towards, local);
    double x = fabs(local[0]), y = fabs(local[1]), z = fabs(local[2]);
    int i = x >= y && x >= z ? 0 : y >= z ? 1 : 2, j = (i + 1) % 3, k = (i + 2) % 3;
    double sign = local[i] > 0 ? 1 : -1;
    f->count = 4;
    for (int c = 0; c < 3; c++) {
        f->normal[c] = sign * R[3 * c + i];
        double middle = core->at[c] + half[i] * f->normal[c];
        double u = half[j] * R[3 * c + j], v = half[k] * R[3 * c + k];
        f->point[0][c] = middle - u - v;
        f->point[1][c] = middle + u - v;
        f->point[2][c] = middle + u + v;
        f->point[3][c] = middle - u + v;
    }
}

static void polytope_face(const sprag_core *core, const double towards[3], face *f)
{
    const sprag_polytope *p = core->shape->polytope;
    double local[3], most = -INFINITY;
    int best = 0;
    mul33_transposed(core->rotation, towards, local);
    for (int i = 0; i < p->faces; i++) {
        double along = dot3(p->normal[i], local);
        if (along > most) {
            most = along;
            best = i;
        }
    }
    const unsigned *loop = p->loop + p->start[best];
    unsigned count = *loop++, every = (count + CORNERS_MAX - 1) / CORNERS_MAX;
    for (unsigned i = 0; i < count; i += every) {
        sprag_core_vertex(core, (int)loop[i], f->point[f->count++]);
    }
    mul33(core->rotation, p->normal[best], f->normal);
}

// A cap, as the polygon of some points on its rim, the foremost first; or the side, as the line
// that is foremost.
static void cylinder_face(const sprag_core *core, const double towards[3], face *f)
{
    double axis[3], p[3], q[3], radius = core->shape->radius, half = core->shape->half[2];
    sprag_core_axis(core, axis);
    double along = dot3(axis, towards);
    memcpy(p, towards, sizeof p);
    add_scaled(p, -along, axis, 3);
    if (!(norm3(p) > 1e-9)) {
        for (int k = 0; k < 3; k++) {
            p[k] = core->rotation[3 * k];
        }
    }
    normalise3(p);
    cross3(axis, p, q);
    bool cap = fabs(along) > M_SQRT1_2;
    f->count = cap ? RIM_POINTS : 2;
    for (int i = 0; i < f->count; i++) {
        double turn = cap ? i * 2 * M_PI / RIM_POINTS : 0;
        double z = cap ? copysign(half, along) : i ? half : -half;
        memcpy(f->point[i], core->at, sizeof f->point[i]);
        add_scaled(f->point[i], z, axis, 3);
        add_scaled(f->point[i], radius * cos(turn), p, 3);
        add_scaled(f->point[i], radius * sin(turn), q, 3);
    }
    for (int k = 0; k < 3; k++) {
        f->normal[k] = copysign(1, along) * axis[k];
    }
}

static void face_towards(const sprag_core *core, const double towards[3], face *f)
{
    f->count = 0;
    switch (core->shape->kind) {
    case SPRAG_BOX:
        box_face(core, towards, f);
        break;
    case SPRAG_POLYTOPE:
        if (core->shape->polytope->faces) {
            polytope_face(core, towards, f);
        }
        break;
    case SPRAG_CYLINDER:
        cylinder_face(core, towards, f);
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

// ---- pairs of points

static void keep(sprag_manifold *m, double most, const double *on0, const double *on1, double gap)
{
    if (gap <= most && m->count < SPRAG_MANIFOLD_MAX) {
        memcpy(m->point[m->count][0], on0, sizeof m->point[0][0]);
        memcpy(m->point[m->count][1], on1, sizeof m->point[0][1]);
        m->gap[m->count++] = gap;
    }
}

static void on_plane(const sprag_core *plane, const face *f, int side, const double n[3],
                     double most, sprag_manifold *m)
{
    for (int i = 0; i < f->count; i++) {
        double on[3], from[3];
        subtract3(f->point[i], plane->at, from);
        double gap = side ? dot3(n, from) : -dot3(n, from);
        memcpy(on, f->point[i], sizeof on);
        add_scaled(on, side ? -gap : gap, n, 3);
        keep(m, most, side ? f->point[i] : on, side ? on : f->point[i], gap);
    }
}

// Two edges: what they have in common, if they run side by side.
static void along_edges(const face f[2], const double n[3], double most, sprag_manifold *m)
{
    static const double parallel = 0.05; // rad
    double e[2][3], length[2], across[3], range[2] = {0, 1};
    for (int side = 0; side < 2; side++) {
        subtract3(f[side].point[1], f[side].point[0], e[side]);
        add_scaled(e[side], -dot3(n, e[side]), n, 3);
        length[side] = norm3(e[side]);
    }
    cross3(e[0], e[1], across);
    if (!(norm3(across) < parallel * length[0] * length[1])) {
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
        keep(m, most, on[0], on[1], dot3(n, between));
    }
}

static int project(const face *f, const double basis[2][3], corner *c)
{
    for (int i = 0; i < f->count; i++) {
        c[i] = (corner){dot3(basis[0], f->point[i]), dot3(basis[1], f->point[i]), 0};
    }
    return f->count;
}

// Keeps what is left of the line from p to q (right: turn -1). Returns how many that are, in out,
// or all of c if *whole.
static int clip(const corner *c, int count, const corner *p, const corner *q, double turn,
                corner *out, bool *whole)
{
    int left = 0;
    double dx = turn * (q->x - p->x), dy = turn * (q->y - p->y), inside[CLIPPED_MAX];
    *whole = true;
    for (int i = 0; i < count; i++) {
        inside[i] = dx * (c[i].y - p->y) - dy * (c[i].x - p->x);
        *whole &= inside[i] >= 0;
    }
    if (*whole) {
        return count;
    }
    for (int i = 0; i < count; i++) {
        int j = i + 1 < count ? i + 1 : 0;
        if (inside[i] >= 0 && left < CLIPPED_MAX) {
            out[left++] = c[i];
        }
        bool crosses = (inside[i] < 0) != (inside[j] < 0) && (j || count > 2);
        if (crosses && left < CLIPPED_MAX) {
            double t = inside[i] / (inside[i] - inside[j]);
            out[left++] = (corner){c[i].x + t * (c[j].x - c[i].x), c[i].y + t * (c[j].y - c[i].y),
                                   c[i].gap + t * (c[j].gap - c[i].gap)};
        }
    }
    return left;
}

static double twice_area(const corner *c, int count)
{
    double sum = 0;
    for (int i = 1; i + 1 < count; i++) {
        sum +=
            (c[i].x - c[0].x) * (c[i + 1].y - c[0].y) - (c[i].y - c[0].y) * (c[i + 1].x - c[0].x);
    }
    return sum;
}

// Drops corners, those first that the area misses least.
static int thin_out(corner *c, int count)
{
    while (count > SPRAG_MANIFOLD_MAX) {
        int gone = 0;
        double least = INFINITY;
        for (int i = 0; i < count; i++) {
            const corner three[3] = {c[(i + count - 1) % count], c[i], c[(i + 1) % count]};
            double area = fabs(twice_area(three, 3));
            if (area < least) {
                least = area;
                gone = i;
            }
        }
        count--;
        memmove(c + gone, c + gone + 1, (size_t)(count - gone) * sizeof *c);
    }
    return count;
}

void sprag_manifold_clip(const sprag_core core[2], const double normal[3], double most,
                         sprag_manifold *m)
{
    static const double upright = 0.02; // least cosine of a face that heights are taken from
    const double against[3] = {-normal[0], -normal[1], -normal[2]};
    face f[2];
    m->count = 0;
    face_towards(&core[0], against, &f[0]);
    face_towards(&core[1], normal, &f[1]);
    for (int side = 0; side < 2; side++) {
        if (core[!side].shape->kind == SPRAG_PLANE) {
            on_plane(&core[!side], &f[side], !side, normal, most, m);
            return;
        }
    }
    double cosine[2] = {f[0].count > 2 ? -dot3(f[0].normal, normal) : 0,
                        f[1].count > 2 ? dot3(f[1].normal, normal) : 0};
    int frame = cosine[1] > cosine[0]; // the other is clipped by it
    if (!(cosine[frame] > upright)) {
        if (f[0].count == 2 && f[1].count == 2) {
            along_edges(f, normal, most, m);
        }
        return;
    }
    double basis[2][3];
    subtract3(f[frame].point[1], f[frame].point[0], basis[0]);
    add_scaled(basis[0], -dot3(basis[0], normal), normal, 3);
    normalise3(basis[0]);
    cross3(normal, basis[0], basis[1]);

    corner by[CORNERS_MAX], c[2][CLIPPED_MAX], *all = c[0];
    int edges = project(&f[frame], (const double(*)[3])basis, by);
    int count = project(&f[!frame], (const double(*)[3])basis, all);
    const double *on = f[frame].point[0], *tilt = f[frame].normal;
    double up = dot3(tilt, normal), sign = frame ? 1 : -1, nearest = INFINITY;
    for (int i = 0; i < count; i++) { // along the normal, to the plane of the frame
        double from[3];
        subtract3(f[!frame].point[i], on, from);
        all[i].gap = sign * dot3(tilt, from) / up;
        nearest = all[i].gap < nearest ? all[i].gap : nearest;
    }
    if (nearest > most) {
        return;
    }
    double turn = twice_area(by, 3) < 0 ? -1 : 1;
    for (int i = 0; i < edges && count; i++) {
        bool whole;
        corner *out = all == c[0] ? c[1] : c[0];
        count = clip(all, count, &by[i], &by[i + 1 < edges ? i + 1 : 0], turn, out, &whole);
        all = whole ? all : out;
    }
    int kept = 0;
    for (int i = 0; i < count; i++) {
        if (all[i].gap <= most) {
            all[kept++] = all[i];
        }
    }
    kept = thin_out(all, kept);
    double gx = -dot3(tilt, basis[0]) / up, gy = -dot3(tilt, basis[1]) / up;
    double height = dot3(normal, on);
    for (int i = 0; i < kept; i++) {
        double h = height + gx * (all[i].x - by[0].x) + gy * (all[i].y - by[0].y), at[2][3];
        for (int k = 0; k < 3; k++) {
            at[frame][k] = all[i].x * basis[0][k] + all[i].y * basis[1][k] + h * normal[k];
            at[!frame][k] = at[frame][k] + sign * all[i].gap * normal[k];
        }
        keep(m, most, at[0], at[1], all[i].gap);
    }
}
