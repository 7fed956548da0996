// Pairs of geoms in ODE's hash spaces: their order, and those that ODE misses.
//
// A hash space sorts bounding boxes into cells as large as the larger box of a pair, and keeps
// cells in a table at the index 1000 level + 100 x + 10 y + z, modulo its size. ODE 0.16 takes the
// index of a column's lowest cell in unsigned numbers, and counts up from there. A negative one
// wraps around, and the cells above it end in other places of the table than for a box whose lowest
// cell in that column has an index from 0 on: ODE does not find the pair. So it is with boxes of
// 0.5 to 1 m near the origin, where one of the two reaches below z = 0, as what rests on the ground
// does.
#include "spaces.h"

#include <math.h>

#include "box.h"
#include "ode.h"
#include "symbols.h"

typedef struct box {
    dGeomID geom;
    int level; // its cells have the size 2^level m
    bool low;  // its lowest cells may wrap around
    double bounds[6];
} box;

// ---- whether the ODE at hand has the error

static bool misses;

static void note_pair(void *data, dGeomID a, dGeomID b)
{
    (void)data, (void)a, (void)b;
    misses = false;
}

static void try_pair(void)
{
    dSpaceID space = dHashSpaceCreate(NULL);
    dGeomSetPosition(dCreateBox(space, 0.6, 0.6, 0.6), 0.5, 0.5, 0.4);
    dGeomSetPosition(dCreateBox(space, 0.6, 0.6, 0.6), 0.5, 0.5, 0.2);
    misses = true;
    sprag_ode_space_collide(space, NULL, note_pair);
    sprag_ode_space_destroy(space);
}

// ---- ODE's cells

// The cell of a bound. side: m, of the cells of a level.
static double cell(const box *of, int bound, double side)
{
    return floor(of->bounds[bound] / side);
}

static bool wraps(int level, double x, double y, double lowest)
{
    return level >= 0 && x >= 0 && y >= 0 && 1000.0 * level + 100 * x + 10 * y < -lowest;
}

// Whether it does in any column at any level: those above have higher indices.
static bool may_wrap(const box *of)
{
    const int level = of->level > 0 ? of->level : 0;
    const double side = ldexp(1, level), lowest = cell(of, 2, side);
    return lowest < 0 && of->bounds[3] >= 0 && of->bounds[4] >= 0 &&
           wraps(level, fmax(0, cell(of, 0, side)), fmax(0, cell(of, 1, side)), lowest);
}

// levels: least and most of the space. One more than the most: the geom is not in the table.
static int level_of(const double bounds[6], const int levels[2])
{
    double side[2];
    int level;
    sprag_box_sides(bounds, side);
    frexp(side[1], &level);
    level = level > levels[0] ? level : levels[0];
    return isfinite(side[1]) && level <= levels[1] ? level : levels[1] + 1;
}

// false: the geom is not in the table.
static bool set_box(box *to, dGeomID geom, const int levels[2])
{
    if (!dGeomIsEnabled(geom)) {
        return false;
    }
    to->geom = geom;
    sprag_ode_read_bounds(geom, to->bounds);
    to->level = level_of(to->bounds, levels);
    to->low = may_wrap(to);
    return to->level <= levels[1];
}

// Each geom looks for others in the cells of its level and of those above it.
long sprag_ode_place_in(dSpaceID space, int index, dGeomID geom)
{
    double bounds[6];
    int levels[2];
    if (dSpaceGetClass(space) != dHashSpaceClass) {
        return index;
    }
    dHashSpaceGetLevels(space, &levels[0], &levels[1]);
    sprag_ode_read_bounds(geom, bounds);
    return (long)(level_of(bounds, levels) - levels[0]) * dSpaceGetNumGeoms(space) + index;
}

// Have two boxes that overlap no column in which they have the same cells?
static bool are_apart(const box *a, const box *b)
{
    const int level = a->level > b->level ? a->level : b->level;
    const double side = ldexp(1, level);
    const double last[2] = {fmin(cell(a, 3, side), cell(b, 3, side)),
                            fmin(cell(a, 4, side), cell(b, 4, side))};
    bool all = true;
    for (double x = fmax(cell(a, 0, side), cell(b, 0, side)); x <= last[0]; x++) {
        for (double y = fmax(cell(a, 1, side), cell(b, 1, side)); y <= last[1]; y++) {
            all &= wraps(level, x, y, cell(a, 2, side)) != wraps(level, x, y, cell(b, 2, side));
        }
    }
    return all;
}

// ODE's own test of two geoms, by their bodies and bits.
static bool may_collide(dGeomID a, dGeomID b)
{
    return (!dGeomGetBody(a) || dGeomGetBody(a) != dGeomGetBody(b)) &&
           sprag_ode_bits_match(dGeomGetCategoryBits(a), dGeomGetCollideBits(a),
                                dGeomGetCategoryBits(b), dGeomGetCollideBits(b));
}

bool sprag_ode_find_missed(dSpaceID space, dNearCallback *found, void *data, sprag_scratch *scratch)
{
    static ode_once tried;
    sprag_ode_once(&tried, try_pair);
    if (!misses || dSpaceGetClass(space) != dHashSpaceClass) {
        return true;
    }
    const int geoms = dSpaceGetNumGeoms(space);
    box *all = SPRAG_TAKE_RAW(scratch, geoms, box);
    int count = 0, levels[2];
    dHashSpaceGetLevels(space, &levels[0], &levels[1]);
    for (int i = 0; i < geoms && all; i++) {
        count += set_box(&all[count], dSpaceGetGeom(space, i), levels);
    }
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < count && all[i].low; k++) {
            if (k != i && sprag_boxes_overlap(all[i].bounds, all[k].bounds) &&
                are_apart(&all[i], &all[k]) && (k > i || !all[k].low) &&
                may_collide(all[i].geom, all[k].geom)) {
                found(data, all[i].geom, all[k].geom);
            }
        }
    }
    return all || geoms == 0;
}
