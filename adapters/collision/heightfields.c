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

void sprag_ode_field_triangles(dGeomID field, const double local[6], ode_triangle_fn *found,
                               void *data)
{
    dHeightfieldDataID id = dGeomHeightfieldGetHeightfieldData(field);
    const dx_heights *h = sprag_ode_heights(field);
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
