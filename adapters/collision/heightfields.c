// Heightfields: two triangles a cell, the y axis up.
#include "geometry_cache.h"

#include <math.h>

#include "geom_layout.h"
#include "ode.h"

void sprag_ode_field_bounds(dGeomID id, double bounds[6])
{
    const dx_heights *h = sprag_ode_heights(id);
    double x = h->wrapped ? INFINITY : h->half_width, z = h->wrapped ? INFINITY : h->half_depth;
    memcpy(bounds, (double[6]){-x, h->min, -z, x, h->max, z}, 6 * sizeof *bounds);
}

static int cell_at(double x, double half, double side, int cells, bool wrapped)
{
    double cell = floor((x + half) / side);
    if (!wrapped) {
        cell = cell < 0 ? 0 : cell > cells - 1 ? cells - 1 : cell;
    }
    return (int)fmax(-1e9, fmin(1e9, cell));
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
        found(data, (int)(number & INT32_MAX), (const double(*)[3])corner);
    }
}

// Around a cell, in its samples' order.
static bool skips_cell(ode_box_fn *skips, const void *data, const double at[4][3])
{
    const double lo = fmin(fmin(at[0][1], at[1][1]), fmin(at[2][1], at[3][1]));
    const double hi = fmax(fmax(at[0][1], at[1][1]), fmax(at[2][1], at[3][1]));
    const double box[6] = {at[0][0], lo, at[0][2], at[3][0], hi, at[3][2]};
    return skips && skips(data, box);
}

bool sprag_ode_field_triangles(dGeomID field, const double local[6], double most, ode_box_fn *skips,
                               ode_triangle_fn *found, void *data)
{
    dHeightfieldDataID id = dGeomHeightfieldGetHeightfieldData(field);
    const dx_heights *h = sprag_ode_heights(field);
    ode_height_fn *height = sprag_ode_height();
    bool wrapped = h->wrapped;
    int cells[2] = {h->width_samples - 1, h->depth_samples - 1};
    if (!wrapped && (local[0] > h->half_width || local[3] < -h->half_width ||
                     local[2] > h->half_depth || local[5] < -h->half_depth)) {
        return true;
    }
    int x0 = cell_at(local[0], h->half_width, h->sample_width, cells[0], wrapped);
    int x1 = cell_at(local[3], h->half_width, h->sample_width, cells[0], wrapped);
    int z0 = cell_at(local[2], h->half_depth, h->sample_depth, cells[1], wrapped);
    int z1 = cell_at(local[5], h->half_depth, h->sample_depth, cells[1], wrapped);
    if (2 * (x1 - x0 + 1.0) * (z1 - z0 + 1.0) > most) {
        return false;
    }
    for (int x = x0; x <= x1; x++) {
        double at[2][2][3] = {{{0}}}; // two samples on this side of the cell, two on the next
        for (int z = z0; z <= z1 + 1; z++) {
            memcpy(at[0], at[1], sizeof at[0]);
            for (int i = 0; i < 2; i++) {
                at[1][i][0] = (x + i) * h->sample_width - h->half_width;
                at[1][i][1] = height(id, x + i, z);
                at[1][i][2] = z * h->sample_depth - h->half_depth;
            }
            const bool passes = z > z0 && !skips_cell(skips, data, (const double(*)[3])at);
            for (int t = 0; t < 2 && passes; t++) {
                add_half((const double(*)[3])at, t, local, 2 * ((int64_t)x * cells[1] + z - 1) + t,
                         found, data);
            }
        }
    }
    return true;
}
