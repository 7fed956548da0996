// Speculative contacts: of geoms where they do not overlap yet, but may within the next step.
//
// Fast geoms: conservative advancement (Mirtich, Impulse-based Dynamic Simulation, 1996) finds the
// time of their first touch, if their bodies go on as they do. A touch counts only if the geoms
// then overlap by more than a little: a ball that rolls over flush boxes touches the edge of each,
// and does not fall into it. Other geoms: the end of the step is taken in its place.
//
// The contact has the levers and the normal of that time, at the places of the bodies at the start
// of the step, and as negative depth the way that these levers may come nearer: so it has no force
// where the bodies go on as they do and do not meet.
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

// Of it: geoms that come nearer by less than this do not pass, and contacts of the step's end do.
static const double fast_way = 0.5;
// Of the way that geoms may come nearer in the step: contacts of its end that are farther apart
// seldom act.
static const double near_way = 0.5;
// Of the smaller geom's size: less than this is what contacts at rest sink.
static const double sunk = 1e-4;
static const sprag_gap_query at_touch = {INFINITY, 2e-7};

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
static bool gap_at(const ode_pair *pair, const flyer f[2], double t, const sprag_gap_query *query,
                   sprag_gap *gap, sprag_manifold *manifold)
{
    ode_side side[2] = {*pair->side[0], *pair->side[1]};
    ode_pair moved = *pair;
    for (int k = 0; k < 2; k++) {
        if (f[k].far > 0 || !f[k].carried.motion) {
            sprag_carried_at(&f[k].carried, t, &side[k].pose);
        } else {
            add_scaled(side[k].pose.position, t, f[k].motion.velocity, 3);
        }
        moved.side[k] = &side[k];
    }
    moved.memory = NULL;
    sprag_result result = sprag_ode_gap(&moved, query, gap, manifold);
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
        if (!gap_at(pair, f, *t, &at_touch, gap, manifold)) {
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
        if (gap_at(pair, f, t, &at_touch, &gap, NULL) && gap.distance < -little * size) {
            return true;
        }
    }
    return false;
}

// The touch of two points at time t, as it is when the step starts.
static void set_touch(ode_touch *to, const flyer f[2], double t, const sprag_gap *gap,
                      const double point[2][3])
{
    double size = smaller(f[0].size, f[1].size), distance = gap->distance;
    to->left = distance > 0 || distance < -sunk * size ? distance : 0;
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

// m, in the step.
static double way(dGeomID geom, const double *velocity, double step)
{
    return velocity ? step * (norm3(velocity) + norm3(velocity + 3) * farthest(geom)) : 0;
}

double sprag_ode_way(dGeomID geom, const ode_ahead *ahead)
{
    double room[6];
    const double *velocity = velocity_of(dGeomGetBody(geom), room);
    return velocity ? way(geom, velocity, ahead->step) + ahead->fall : 0;
}

double sprag_ode_approach(dGeomID a, dGeomID b, const ode_ahead *ahead)
{
    double room[2][6], between[3] = {0}, turning = 0;
    for (int k = 0; k < 2; k++) {
        dGeomID geom = k ? b : a;
        const double *velocity = velocity_of(dGeomGetBody(geom), room[k]);
        if (velocity) {
            add_scaled(between, k ? -1 : 1, velocity, 3);
            turning += norm3(velocity + 3) * farthest(geom);
        }
    }
    return ahead->step * (norm3(between) + turning) + ahead->fall;
}

// ---- before a step

// A pair, and where its contacts go.
typedef struct question {
    const ode_pair *pair;
    flyer flyer[2];
    double size;  // m, of the smaller geom
    double reach; // m, by which the geoms may come nearer in the step
    double step;  // s
    dContactGeom *contact;
    int skip, count, most;
} question;

static dContactGeom *contact_at(const question *q, int i)
{
    return (dContactGeom *)(void *)((char *)q->contact + (size_t)i * (size_t)q->skip);
}

static void put(question *q, const ode_touch *touch)
{
    const flyer *first = &q->flyer[0];
    dContactGeom *to = contact_at(q, q->count++);
    *to = (dContactGeom){.depth = -touch->left,
                         .g1 = q->pair->side[0]->geom,
                         .g2 = q->pair->side[1]->geom,
                         .side1 = -1,
                         .side2 = -1};
    memcpy(to->pos, touch->lever[0], sizeof touch->lever[0]);
    memcpy(to->normal, touch->normal, sizeof touch->normal);
    if (first->carried.motion) {
        add_scaled(to->pos, 1, first->motion.pose.position, 3);
    }
}

// Those of the first touch, after which the geoms would overlap.
static bool put_touch(question *q)
{
    double t;
    sprag_gap gap;
    sprag_manifold manifold = {0};
    if (!find_touch(q->pair, q->flyer, q->step, &t, &gap, &manifold) ||
        !overlaps_after(q->pair, q->flyer, t, q->step)) {
        return false;
    }
    const int points = manifold.count > 0 ? manifold.count : 1;
    for (int i = 0; i < points && q->count < q->most; i++) {
        ode_touch touch;
        set_touch(&touch, q->flyer, t, &gap, manifold.count > 0 ? manifold.point[i] : gap.point);
        put(q, &touch);
    }
    return true;
}

// Is there a contact at this place, or does the point overlap as the known ones do?
static bool is_known(const question *q, int found, const ode_touch *touch)
{
    bool known = found > 0 && touch->left <= touching;
    for (int i = 0; i < found && !known; i++) {
        const double *v = q->flyer[0].motion.pose.position;
        double d[3];
        subtract3(contact_at(q, i)->pos, touch->lever[0], d);
        if (q->flyer[0].carried.motion) {
            add_scaled(d, -1, v, 3);
        }
        known = norm3(d) < 0.1 * q->size;
    }
    return known;
}

// Those of the step's end. Where the bodies go on as they do they have no force, unless the geoms
// overlap then by more than contacts at rest do.
static void put_near(question *q)
{
    const double near = near_way * q->reach;
    const sprag_gap_query query = {near, near};
    const int found = q->count;
    sprag_gap gap;
    sprag_manifold manifold = {0};
    if (!gap_at(q->pair, q->flyer, q->step, &query, &gap, &manifold) || gap.beyond ||
        gap.distance > near) {
        return;
    }
    const int points = manifold.count > 0 ? manifold.count : 1;
    for (int i = 0; i < points && q->count < q->most; i++) {
        ode_touch touch;
        set_touch(&touch, q->flyer, q->step, &gap,
                  manifold.count > 0 ? manifold.point[i] : gap.point);
        if (!is_known(q, found, &touch)) {
            put(q, &touch);
        }
    }
}

int sprag_ode_speculate(ode_geometry *geometry, sprag_scratch *scratch, dGeomID a, dGeomID b,
                        const ode_ahead *ahead, int flags, dContactGeom *contact, int skip,
                        int found)
{
    question q = {.reach = sprag_ode_approach(a, b, ahead),
                  .step = ahead->step,
                  .contact = contact,
                  .skip = skip,
                  .count = found,
                  .most = flags & CONTACTS_MASK};
    ode_pairs pairs;
    if (!(q.reach > touching) || !(q.reach < INFINITY) ||
        sprag_ode_pairs_of_two(geometry, a, b, 2 * q.reach, scratch, &pairs) != SPRAG_OK) {
        return 0;
    }
    for (int i = 0; i < pairs.count && q.count < q.most; i++) {
        double velocity[2][6];
        bool is_mesh = false;
        q.pair = &pairs.pair[i];
        for (int k = 0; k < 2; k++) {
            const ode_side *side = q.pair->side[k];
            set_flyer(&q.flyer[k], side, velocity_of(side->body, velocity[k]));
            is_mesh |= side->triangle >= 0;
        }
        q.size = smaller(q.flyer[0].size, q.flyer[1].size);
        bool fast = is_mesh || q.reach > fast_way * q.size;
        if (!(found == 0 && fast && put_touch(&q)) && !is_mesh) {
            q.reach = fmin(q.reach, fast_way * q.size);
            put_near(&q);
        }
    }
    return q.count - found;
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
        if (!gap_at(pair, f, *t, &at_touch, gap, NULL)) {
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
