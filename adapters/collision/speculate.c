// Speculative contacts: of two geoms that do not overlap yet, but will within the next step if
// their bodies go on as they do.
//
// Conservative advancement (Mirtich, Impulse-based Dynamic Simulation, 1996) finds the time of
// their first touch. A touch counts only if the geoms then overlap by more than a little: a ball
// that rolls over flush boxes touches the edge of each, and does not fall into it. The contact has
// the levers and the normal of the touch, at the places of the bodies at the start of the step, and
// its gap along the normal as negative depth: the way that the touch is off at the bodies'
// velocities.
#include <math.h>
#include <string.h>

#include "geom_pairs.h"
#include "linalg.h"
#include "motion.h"
#include "ode.h"

enum { CONTACTS_MASK = 0xffff, ADVANCES_MAX = 64, PASSING_ADVANCES_MAX = 256 };

// m, gap that counts as a touch.
static const double touching = 1e-7;
// Of the smaller geom's size: overlaps up to this are left to the step in which they come. Less:
// balls that roll over flush boxes, and sink a little, are stopped by their edges.
static const double little = 0.02;
// Of the smaller geom's size: the way after the touch on which the first overlap is measured.
static const double first_way = 0.1;

// A side of a pair on its way.
typedef struct flyer {
    sprag_motion motion;     // of the body
    sprag_carried carried;   // motion: NULL if it does not move
    double spin, far, speed; // rad/s; m, from the body's centre; m/s, of its fastest point
    double size;             // m, half of its shortest extent
} flyer;

static void set_size(flyer *f, const ode_side *side)
{
    double bounds[6], square = 0;
    sprag_shape_bounds(&side->shape, &side->pose, bounds);
    f->size = INFINITY;
    for (int k = 0; k < 3; k++) {
        double from = side->body ? dBodyGetPosition(side->body)[k] : side->pose.position[k];
        f->size = fmin(f->size, (bounds[3 + k] - bounds[k]) / 2);
        square += pow(fmax(fabs(bounds[k] - from), fabs(bounds[3 + k] - from)), 2);
    }
    f->far = side->body ? sqrt(square) : 0;
}

// The velocity of a body; NULL: it does not move.
static const double *velocity_of(dBodyID body, double velocity[6])
{
    if (!body || !dBodyIsEnabled(body)) {
        return NULL;
    }
    memcpy(velocity, dBodyGetLinearVel(body), 3 * sizeof *velocity);
    memcpy(velocity + 3, dBodyGetAngularVel(body), 3 * sizeof *velocity);
    return velocity;
}

static void set_flyer(flyer *f, const ode_side *side, const double *velocity)
{
    *f = (flyer){.carried = {.shape = &side->shape, .mount = side->pose}};
    set_size(f, side);
    if (!velocity) {
        return;
    }
    sprag_ode_read_pose(side->body, &f->motion.pose);
    memcpy(f->motion.velocity, velocity, sizeof f->motion.velocity);
    sprag_pose_in(&f->motion.pose, &side->pose, &f->carried.mount);
    bool centred = side->shape.kind == SPRAG_SPHERE && norm3(f->carried.mount.position) == 0;
    f->far = centred ? 0 : f->far;
    f->spin = norm3(f->motion.velocity + 3);
    f->speed = norm3(f->motion.velocity) + f->spin * f->far;
    f->carried.motion = &f->motion;
}

// false: the kernel cannot tell.
static bool gap_at(const ode_pair *pair, const flyer f[2], double t, sprag_gap *gap,
                   sprag_manifold *manifold)
{
    static const sprag_gap_query query = {INFINITY, 2e-7};
    ode_side side[2] = {*pair->side[0], *pair->side[1]};
    ode_pair moved = *pair;
    for (int k = 0; k < 2; k++) {
        sprag_carried_at(&f[k].carried, t, &side[k].pose);
        moved.side[k] = &side[k];
    }
    moved.memory = NULL;
    sprag_result result = sprag_ode_gap(&moved, &query, gap, manifold);
    return result == SPRAG_OK || (result == SPRAG_NOT_CONVERGED && gap->error < touching);
}

// m/s, at which the gap may close at most.
static double closing(const flyer f[2], const double normal[3])
{
    double rate = 0;
    for (int k = 0; k < 2; k++) {
        rate += (k ? 1 : -1) * dot3(normal, f[k].motion.velocity) + f[k].spin * f[k].far;
    }
    return rate;
}

static bool find_touch(const ode_pair *pair, const flyer f[2], double step, double *t,
                       sprag_gap *gap, sprag_manifold *manifold)
{
    *t = 0;
    for (int i = 0; i < ADVANCES_MAX; i++) {
        if (!gap_at(pair, f, *t, gap, manifold)) {
            return false;
        }
        if (gap->distance <= touching) {
            return true;
        }
        double rate = closing(f, gap->normal);
        *t += rate > 0 ? gap->distance / rate : INFINITY;
        if (!(*t < step)) {
            return false;
        }
    }
    return false;
}

// A triangle has no size.
static double smaller(double a, double b)
{
    return a > 0 && b > 0 ? fmin(a, b) : fmax(a, b);
}

// Whether the geoms overlap by more than a little after their touch.
static bool overlaps_after(const ode_pair *pair, const flyer f[2], double touch, double step)
{
    double size = smaller(f[0].size, f[1].size), speed = f[0].speed + f[1].speed;
    double ahead = first_way * size / speed, t = touch;
    while (t < step) {
        sprag_gap gap;
        t = fmin(step, touch + ahead);
        ahead *= 2;
        if (gap_at(pair, f, t, &gap, NULL) && gap.distance < -little * size) {
            return true;
        }
    }
    return false;
}

// The touch of two points at time t, as it is when the step starts.
static void set_touch(ode_touch *to, const flyer f[2], double t, const sprag_gap *gap,
                      const double point[2][3])
{
    to->left = gap->distance;
    memcpy(to->normal, gap->normal, sizeof to->normal);
    for (int side = 0; side < 2; side++) {
        const double *v = f[side].motion.velocity;
        double *lever = to->lever[side], turning[3];
        memcpy(lever, point[side], sizeof to->lever[side]);
        if (f[side].carried.motion) {
            subtract3(lever, f[side].motion.pose.position, lever);
            add_scaled(lever, -t, v, 3);
            cross3(v + 3, lever, turning);
            to->left += (side ? 1 : -1) * t * (dot3(gap->normal, v) + dot3(gap->normal, turning));
        }
    }
    to->left = fmax(0, to->left);
}

static void put(const ode_pair *pair, const flyer f[2], double t, const sprag_gap *gap,
                const double point[2][3], dContactGeom *to)
{
    ode_touch touch;
    set_touch(&touch, f, t, gap, point);
    *to = (dContactGeom){.depth = -touch.left,
                         .g1 = pair->side[0]->geom,
                         .g2 = pair->side[1]->geom,
                         .side1 = -1,
                         .side2 = -1};
    memcpy(to->pos, touch.lever[0], sizeof touch.lever[0]);
    memcpy(to->normal, touch.normal, sizeof touch.normal);
    if (f[0].carried.motion) {
        add_scaled(to->pos, 1, f[0].motion.pose.position, 3);
    }
}

static int put_all(const ode_pair *pair, const flyer f[2], double t, const sprag_gap *gap,
                   const sprag_manifold *manifold, int room, dContactGeom *contact, int skip)
{
    int count = 0;
    for (int i = 0; i < manifold->count && count < room; i++, count++) {
        put(pair, f, t, gap, manifold->point[i],
            (dContactGeom *)(void *)((char *)contact + (size_t)count * (size_t)skip));
    }
    if (manifold->count == 0 && room > 0) {
        put(pair, f, t, gap, gap->point, contact);
        count = 1;
    }
    return count;
}

// m, from the centre of a geom's body to the corners of its bounding box.
static double farthest(dGeomID geom)
{
    dReal box[6];
    double square = 0;
    const dReal *at = dBodyGetPosition(dGeomGetBody(geom));
    dGeomGetAABB(geom, box);
    for (int k = 0; k < 3; k++) {
        square += pow(fmax(fabs(box[2 * k] - at[k]), fabs(box[2 * k + 1] - at[k])), 2);
    }
    return sqrt(square);
}

static double way(dGeomID geom, const double *velocity, double step)
{
    return velocity ? step * (norm3(velocity) + norm3(velocity + 3) * farthest(geom)) : 0;
}

double sprag_ode_way(dGeomID geom, double step)
{
    double velocity[6];
    return way(geom, velocity_of(dGeomGetBody(geom), velocity), step);
}

int sprag_ode_speculate(ode_geometry *geometry, sprag_scratch *scratch, dGeomID a, dGeomID b,
                        double step, int flags, dContactGeom *contact, int skip)
{
    double reach = sprag_ode_way(a, step) + sprag_ode_way(b, step);
    int most = flags & CONTACTS_MASK, count = 0;
    ode_pairs pairs;
    if (!(reach > touching) || !(reach < INFINITY) ||
        sprag_ode_pairs_of_two(geometry, a, b, 2 * reach, scratch, &pairs) != SPRAG_OK) {
        return 0;
    }
    for (int i = 0; i < pairs.count && count < most; i++) {
        const ode_pair *pair = &pairs.pair[i];
        flyer f[2];
        double t;
        sprag_gap gap;
        sprag_manifold manifold = {0};
        double velocity[2][6];
        for (int k = 0; k < 2; k++) {
            set_flyer(&f[k], pair->side[k], velocity_of(pair->side[k]->body, velocity[k]));
        }
        if (find_touch(pair, f, step, &t, &gap, &manifold) && overlaps_after(pair, f, t, step)) {
            count += put_all(
                pair, f, t, &gap, &manifold, most - count,
                (dContactGeom *)(void *)((char *)contact + (size_t)count * (size_t)skip), skip);
        }
    }
    return count;
}

// ---- after a solve

// Of the smaller geom's size: overlaps from this on may end on the other side of it.
static const double passing = 0.25;

// Finds a time in the step at which geoms overlap by much more than when it starts.
static bool find_passing(const ode_pair *pair, const flyer f[2], double step, double *t,
                         sprag_gap *gap)
{
    double least = 0, most = 0; // m: too little; surely found
    *t = 0;
    for (int i = 0; i < PASSING_ADVANCES_MAX && *t < step; i++) {
        if (!gap_at(pair, f, *t, gap, NULL)) {
            return false;
        }
        if (i == 0) {
            double size = smaller(f[0].size, f[1].size);
            least = passing * size - fmin(0, gap->distance);
            most = least + passing * size;
        }
        if (gap->distance < -least) {
            return true;
        }
        double rate = closing(f, gap->normal);
        *t += rate > 0 ? (gap->distance + most) / rate : INFINITY;
    }
    return false;
}

// Contacts let nothing pass that does not turn.
static bool turns(const double size[2], const double way[2])
{
    return 2 * (way[0] + way[1]) > passing * smaller(size[0], size[1]);
}

// The same by the bounding boxes.
static bool may_pass(const dGeomID geom[2], const double *const velocity[2], double step)
{
    double size[2], way[2];
    for (int k = 0; k < 2; k++) {
        dReal box[6];
        dGeomGetAABB(geom[k], box);
        size[k] = fmin(fmin(box[1] - box[0], box[3] - box[2]), box[5] - box[4]) / 2;
        way[k] = velocity[k] ? step * norm3(velocity[k] + 3) * farthest(geom[k]) : 0;
    }
    return turns(size, way);
}

bool sprag_ode_touch_ahead(ode_geometry *geometry, sprag_scratch *scratch, const dGeomID geom[2],
                           const double *const velocity[2], double step, ode_touch *touch)
{
    double reach = way(geom[0], velocity[0], step) + way(geom[1], velocity[1], step);
    ode_pairs pairs;
    if (!may_pass(geom, velocity, step) || !(reach < INFINITY) ||
        sprag_ode_pairs_of_two(geometry, geom[0], geom[1], 2 * reach, scratch, &pairs) !=
            SPRAG_OK) {
        return false;
    }
    for (int i = 0; i < pairs.count; i++) {
        const ode_pair *pair = &pairs.pair[i];
        flyer f[2];
        double size[2], turned[2], t;
        sprag_gap gap;
        for (int k = 0; k < 2; k++) {
            set_flyer(&f[k], pair->side[k], velocity[k]);
            size[k] = f[k].size;
            turned[k] = step * f[k].spin * f[k].far;
        }
        if (turns(size, turned) && find_passing(pair, f, step, &t, &gap)) {
            set_touch(touch, f, t, &gap, gap.point);
            return true;
        }
    }
    return false;
}
