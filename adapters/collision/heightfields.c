// Heightfields: two triangles a cell, the y axis up.
#include "geometry_cache.h"

#include <math.h>

#include "geom_layout.h"
#include "linalg.h"
#include "ode.h"

void sprag_ode_field_bounds(dGeomID id, double bounds[6])
{
    const dx_heights *h = sprag_ode_heights(id);
    double x = h->wrapped ? INFINITY : h->half_width, z = h->wrapped ? INFINITY : h->half_depth;
    memcpy(bounds, (double[6]){-x, h->min, -z, x, h->max, z}, 6 * sizeof *bounds);
}

static int cell_at(double x, double half, double side, int cells, bool wrapped)
{
    const double cell = floor((x + half) / side);
    const double least = wrapped ? -1e9 : 0, most = wrapped ? 1e9 : cells - 1;
    return (int)(!(cell > least) ? least : cell > most ? most : cell);
}

// One of the two triangles of a cell, from its four samples.
static void add_half(const double at[4][3], int half, const double local[6], int64_t number,
                     ode_triangle_fn *found, void *data)
{
    static const int upper[2][3] = {{0, 2, 1}, {3, 1, 2}};
    double corner[3][3];
    bool above = true, below = true;
    for (int i = 0; i < 3; i++) {
        memcpy(corner[i], at[upper[half][i]], sizeof corner[i]);
        above &= corner[i][1] > local[4];
        below &= corner[i][1] < local[1];
    }
    if (!above && !below) {
        // below ODE_PATCH, also where a wrapped field has negative numbers
        found(data, (int)(number & (ODE_PATCH >> 1)), (const double(*)[3])corner);
    }
}

// Around a cell, in its samples' order.
static bool skips_cell(ode_box_fn *skips, const void *data, const double at[4][3])
{
    const double lo =
        sprag_smaller(sprag_smaller(at[0][1], at[1][1]), sprag_smaller(at[2][1], at[3][1]));
    const double hi =
        sprag_larger(sprag_larger(at[0][1], at[1][1]), sprag_larger(at[2][1], at[3][1]));
    const double box[6] = {at[0][0], lo, at[0][2], at[3][0], hi, at[3][2]};
    return skips && skips(data, box);
}

typedef struct cells { // of a field, that a box is over
    dHeightfieldDataID id;
    const dx_heights *h;
    ode_height_fn *height;
    int first[2], count[2]; // along x and z
} cells;

static void sample(const cells *c, int x, int z, double at[3])
{
    at[0] = x * c->h->sample_width - c->h->half_width;
    at[1] = c->height(c->id, x, z);
    at[2] = z * c->h->sample_depth - c->h->half_depth;
}

// Are all samples, as far as the box goes, in one plane, up to so much (m)? corner: a triangle of
// it. meets: it may pass through the box.
static bool is_flat(const cells *c, const double box[6], double most, double corner[3][3],
                    bool *meets)
{
    const dx_heights *h = c->h;
    const int x0 = c->first[0], z0 = c->first[1];
    if (!h->wrapped && (box[0] < -h->half_width || box[3] > h->half_width ||
                        box[2] < -h->half_depth || box[5] > h->half_depth)) {
        return false;
    }
    sample(c, x0, z0, corner[0]);
    sample(c, x0, z0 + 1, corner[1]);
    sample(c, x0 + 1, z0, corner[2]);
    const double across = corner[2][1] - corner[0][1], along = corner[1][1] - corner[0][1];
    const double rise[2] = {c->count[0] * across, c->count[1] * along};
    *meets =
        corner[0][1] + sprag_smaller(rise[0], 0) + sprag_smaller(rise[1], 0) <= box[4] + most &&
        corner[0][1] + sprag_larger(rise[0], 0) + sprag_larger(rise[1], 0) >= box[1] - most;
    for (int x = c->count[0]; x >= 0; x--) { // the farthest one tells most
        for (int z = c->count[1]; z >= 0; z--) {
            const double level = corner[0][1] + x * across + z * along;
            if (!(fabs(c->height(c->id, x0 + x, z0 + z) - level) <= most)) {
                return false;
            }
        }
    }
    return true;
}

bool sprag_ode_field_triangles(dGeomID field, const double local[6], double most, double flat,
                               ode_box_fn *skips, ode_triangle_fn *found, void *data)
{
    const dx_heights *h = sprag_ode_heights(field);
    const double side[2] = {h->sample_width, h->sample_depth},
                 half[2] = {h->half_width, h->half_depth};
    const int all[2] = {h->width_samples - 1, h->depth_samples - 1};
    cells c = {.id = dGeomHeightfieldGetHeightfieldData(field), .h = h};
    double corner[3][3];
    bool meets;
    c.height = sprag_ode_height();
    for (int i = 0; i < 2; i++) {
        const double *at = local + 2 * i;
        if (!h->wrapped && (at[0] > half[i] || at[3] < -half[i])) {
            return true;
        }
        c.first[i] = cell_at(at[0], half[i], side[i], all[i], h->wrapped);
        c.count[i] = cell_at(at[3], half[i], side[i], all[i], h->wrapped) - c.first[i] + 1;
    }
    if (2.0 * c.count[0] * c.count[1] > most) {
        return false;
    }
    if (flat > 0 && is_flat(&c, local, flat, corner, &meets)) {
        if (meets) {
            found(data, ODE_PATCH, (const double(*)[3])corner);
        }
        return true;
    }
    for (int x = c.first[0]; x < c.first[0] + c.count[0]; x++) {
        double at[2][2][3] = {{{0}}}; // two samples on this side of the cell, two on the next
        for (int z = c.first[1]; z <= c.first[1] + c.count[1]; z++) {
            memcpy(at[0], at[1], sizeof at[0]);
            sample(&c, x, z, at[1][0]);
            sample(&c, x + 1, z, at[1][1]);
            const bool passes = z > c.first[1] && !skips_cell(skips, data, (const double(*)[3])at);
            for (int t = 0; t < 2 && passes; t++) {
                const int64_t number = 2 * ((int64_t)x * all[1] + z - 1) + t;
                add_half((const double(*)[3])at, t, local, number, found, data);
            }
        }
    }
    return true;
}
