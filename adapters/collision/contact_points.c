// Contact points of two geoms: those that coincide are one, and of many the outermost are kept.
#include "contact_points.h"

#include <math.h>
#include <string.h>

#include "linalg.h"
#include "ode.h"
#include "reduce.h"

// Two points are one contact where they coincide and their unit normals differ by less. Greater:
// contacts of two faces at one point merge; smaller: points on a common edge are counted twice.
static const double NORMAL_TOLERANCE = 1e-3;

// Depths that differ by less than this share of the distance from the middle of all points do not
// decide which points are kept. Greater: the deepest point may be left out; smaller: geoms at rest
// change their points by rounding.
static const double DEEPER = 1e-3;

// Relative to the distance from the first point: points so little out of a plane are in it.
// Greater: bumps of a face lose their contacts; smaller: bodies at rest change their points by
// rounding.
static const double LEVEL = 1e-4;

static bool is_same(const ode_points *all, const ode_point *a, const ode_point *b)
{
    double apart[3];
    for (int k = 0; k < 3; k++) {
        if (!(fabs(a->at[k] - b->at[k]) <= all->together)) {
            return false;
        }
    }
    subtract3(a->normal, b->normal, apart);
    return norm3(apart) <= NORMAL_TOLERANCE;
}

// A point that two triangles share gets the number that the program's merge callback chooses.
static void merge(const ode_points *all, ode_point *kept, const ode_point *new)
{
    for (int i = 0; i < 2; i++) {
        dGeomID mesh = all->geom[i];
        dTriTriMergeCallback *callback =
            kept->triangle[i] != new->triangle[i] && dGeomGetClass(mesh) == dTriMeshClass
                ? dGeomTriMeshGetTriMergeCallback(mesh)
                : NULL;
        if (callback) {
            kept->triangle[i] = callback(mesh, kept->triangle[i], new->triangle[i]);
        }
    }
}

static void add(ode_points *all, const ode_point *new)
{
    for (int i = 0; i < all->count; i++) {
        if (is_same(all, &all->point[i], new)) {
            merge(all, &all->point[i], new);
            return;
        }
    }
    ode_point *point = sprag_scratch_widen(all->scratch, all->point, all->count, &all->room,
                                           SPRAG_MANIFOLD_MAX, sizeof *point);
    if (point) {
        all->point = point;
        all->point[all->count++] = *new;
    }
}

void sprag_ode_add_points(ode_points *all, const sprag_gap *gap, const sprag_manifold *manifold,
                          const int triangle[2], ode_spot spot)
{
    for (int i = 0; i < (manifold->count ? manifold->count : 1); i++) {
        const double(*on)[3] = manifold->count ? manifold->point[i] : gap->point;
        ode_point new = {.gap = manifold->count ? manifold->gap[i] : gap->distance,
                         .triangle = {triangle[0], triangle[1]}};
        bool finite = isfinite(new.gap);
        for (int k = 0; k < 3; k++) {
            new.at[k] =
                spot == ODE_SPOT_BETWEEN ? (on[0][k] + on[1][k]) / 2 : on[spot == ODE_SPOT_ON_1][k];
            new.normal[k] = gap->normal[k];
            finite = finite && isfinite(new.at[k]) && isfinite(new.normal[k]);
        }
        if (finite && new.gap <= all->gaps) {
            add(all, &new);
        }
    }
}

// m/s, at which a gap opens or closes.
static double rate_of(const ode_points *all, const ode_point *point)
{
    double rate = 0;
    for (int side = 0; side < 2; side++) {
        dBodyID body = dGeomGetBody(all->geom[side]);
        dVector3 velocity = {0};
        if (body) {
            dBodyGetPointVel(body, point->at[0], point->at[1], point->at[2], velocity);
        }
        rate += (side ? -1 : 1) * dot3(point->normal, velocity);
    }
    return fabs(rate);
}

void sprag_ode_touching_first(ode_points *all, int most)
{
    static const double steps = 2; // in which a gap opens or closes
    int touching = 0, kept = 0;
    for (int i = 0; i < all->count; i++) {
        const ode_point point = all->point[i];
        int at = touching;
        if (point.gap <= all->reach) {
            touching++;
        } else if (point.gap > steps * all->last->length * rate_of(all, &point)) {
            continue;
        } else {
            while (at < kept && all->point[at].gap <= point.gap) {
                at++;
            }
        }
        if (at < i) {
            memmove(&all->point[at + 1], &all->point[at], (size_t)(kept - at) * sizeof point);
            all->point[at] = point;
        }
        kept++;
    }
    all->count = touching > most ? touching : kept < most ? kept : most;
}

static double distance_squared(const ode_point *a, const ode_point *b)
{
    double d[3];
    subtract3(a->at, b->at, d);
    return dot3(d, d);
}

static void swap(ode_point *a, ode_point *b)
{
    ode_point kept = *a;
    *a = *b;
    *b = kept;
}

void sprag_ode_keep_outlines(ode_points *all)
{
    double size = 0;
    int left = 0;
    sprag_outline_point *point = SPRAG_TAKE(all->scratch, all->count, sprag_outline_point);
    for (int i = 0; i < all->count && point; i++) {
        memcpy(point[i].at, all->point[i].at, sizeof point->at);
        memcpy(point[i].normal, all->point[i].normal, sizeof point->normal);
        size = fmax(size, sqrt(distance_squared(&all->point[i], &all->point[0])));
    }
    if (!point) {
        return;
    }
    const sprag_outline by = {LEVEL * size, NORMAL_TOLERANCE, DEEPER * size};
    sprag_find_corners(point, all->count, &by);
    for (int i = 0; i < all->count; i++) {
        if (point[i].state == SPRAG_CORNER) {
            all->point[left++] = all->point[i];
        }
    }
    all->count = left;
}

// First the deepest one, then each time the one that is farthest from those that are kept already.
// Where depths differ by less than DEEPER of the distance from the middle, the outermost one is
// first, so that geoms at rest keep their points.
void sprag_ode_choose_points(ode_points *all, int most)
{
    ode_point middle = {0};
    for (int i = 0; i < all->count; i++) {
        add_scaled(middle.at, 1.0 / all->count, all->point[i].at, 3);
    }
    for (int i = 0; i < all->count; i++) {
        ode_point *one = &all->point[i];
        one->far = DEEPER * sqrt(distance_squared(one, &middle)) - one->gap;
    }
    for (int kept = 0; kept < most; kept++) {
        int best = kept;
        for (int i = kept; i < all->count; i++) {
            best = all->point[i].far > all->point[best].far ? i : best;
        }
        swap(&all->point[kept], &all->point[best]);
        for (int i = kept; i < all->count; i++) {
            ode_point *one = &all->point[i];
            one->far = fmin(kept ? one->far : INFINITY, distance_squared(one, &all->point[kept]));
        }
    }
}

void sprag_ode_put_point(const ode_points *all, const ode_point *from, dContactGeom *to)
{
    const bool touches = from->gap <= all->reach;
    *to = (dContactGeom){.depth = touches ? fmax(0, -from->gap) : -from->gap,
                         .g1 = all->geom[0],
                         .g2 = all->geom[1],
                         .side1 = touches ? from->triangle[0] : ODE_SIDE_OF_GAP,
                         .side2 = from->triangle[1]};
    memcpy(to->pos, from->at, sizeof from->at);
    memcpy(to->normal, from->normal, sizeof from->normal);
}

int sprag_ode_named_triangle(dGeomID geom, int number)
{
    return number >= 0 && dGeomGetClass(geom) != dHeightfieldClass ? number : -1;
}
