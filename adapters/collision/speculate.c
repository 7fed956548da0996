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

#include "box.h"
#include "geometry_cache.h"
#include "motion.h"
#include "ode.h"
#include "speculate.h"

// ADVANCES_OF_MESH: that two geoms, one of them a mesh, bring in for what is asked after them.
enum { ADVANCES_MAX = 64, PASSING_ADVANCES_MAX = 256, ADVANCES_OF_MESH = 128, TOUCH_SHARE = 4 };

// m, gap that counts as a touch.
static const double touching = 1e-7;
// Relative to the smaller geom's size: overlaps up to this are left to the step in which they come.
// Less: balls that roll over flush boxes, and sink a little, are stopped by their edges.
static const double little = 0.02;
// Relative to the smaller geom's size: the way after the touch on which the first overlap is
// measured.
static const double first_way = 0.1;

// Relative to that size: geoms that come nearer by less than this do not pass, and contacts of the
// step's end do.
static const double fast_way = 0.5;
// Relative to the way that geoms may come nearer in the step: contacts of its end that are farther
// apart act seldom. More: more contacts to solve; less: other bodies push geoms into one another.
static const double near_way = 0.1;
// Relative to the smaller geom's size: less than this is what contacts at rest sink.
static const double sunk = 1e-4;

// The velocity of a body; NULL: it does not move.
static const double *velocity_of(dBodyID body, double velocity[6])
{
    if (!body || !dBodyIsEnabled(body)) {
        return NULL;
    }
    sprag_ode_read_velocity(body, velocity);
    return velocity;
}

static void read_velocities(const dGeomID geom[2], double room[2][6], const double *velocity[2])
{
    for (int k = 0; k < 2; k++) {
        velocity[k] = velocity_of(dGeomGetBody(geom[k]), room[k]);
    }
}

static void set_flyer(ode_flyer *f, const ode_geom *side, const double *velocity)
{
    static const sprag_pose own = {.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    double bounds[6], extent[2];
    sprag_shape_bounds(&side->shape, &own, bounds);
    sprag_box_sides(bounds, extent);
    f->start = side;
    f->moves = velocity;
    f->size = extent[0] / 2;
    f->spin = f->far = f->speed = 0;
    memset(f->velocity, 0, sizeof f->velocity);
    if (f->moves) {
        double off[3];
        memcpy(f->velocity, velocity, sizeof f->velocity);
        memcpy(f->centre, dBodyGetPosition(side->body), sizeof f->centre);
        subtract3(side->pose.position, f->centre, off);
        const bool centred = side->shape.kind == SPRAG_SPHERE && dot3(off, off) == 0;
        f->far = centred ? 0 : norm3(off) + sprag_box_farthest(bounds, own.position);
        f->spin = norm3(velocity + 3);
        f->speed = norm3(velocity) + f->spin * f->far;
    }
}

// The side at the time t (s).
static const ode_geom *side_at(ode_flyer *f, double t)
{
    if (t == 0 || !f->moves) {
        return f->start;
    }
    const double *w = f->velocity + 3, turn[3] = {t * w[0], t * w[1], t * w[2]};
    f->side = *f->start;
    sprag_turn_pose(&f->start->pose, f->centre, turn, &f->side.pose);
    add_scaled(f->side.pose.position, t, f->velocity, 3);
    return &f->side;
}

// reach, margin: m, as sprag_gap_query's. false: the kernel cannot tell.
static bool gap_at(ode_flyer f[2], double t, double reach, double margin, sprag_gap *gap,
                   sprag_manifold *manifold)
{
    const sprag_gap_query query = {reach, margin};
    const ode_pair pair = {.side = {side_at(&f[0], t), side_at(&f[1], t)}};
    sprag_result result = sprag_ode_gap(&pair, &query, gap, manifold);
    return result == SPRAG_OK || (result == SPRAG_NOT_CONVERGED && gap->error < touching);
}

// m/s, at which the gap may close at most: along the normal, or in any direction (NULL).
static double closing(const ode_flyer f[2], const double *normal)
{
    double between[3];
    subtract3(f[1].velocity, f[0].velocity, between);
    return (normal ? dot3(normal, between) : norm3(between)) + f[0].spin * f[0].far +
           f[1].spin * f[1].far;
}

// Finds a time in the step at which the gap is no more than `least` (m), by times at which it is
// more than `sure` (m) up to then. false: there is none, or none in so many advances, or in those
// that the search has left.
static bool find_gap(ode_flyer f[2], double step, double least, double sure, int advances,
                     ode_search *search, double *t, sprag_gap *gap, sprag_manifold *manifold)
{
    const double fastest = closing(f, NULL);
    *t = 0;
    for (; advances > 0 && search->left > search->end && *t < step; advances--, search->left--) {
        const double reach = fmax(fastest * (step - *t), touching);
        if (!gap_at(f, *t, reach, 2 * touching, gap, manifold) || gap->beyond) {
            return false;
        }
        if (gap->distance <= least) {
            return true;
        }
        double rate = closing(f, gap->normal);
        *t += rate > 0 ? (gap->distance - sure) / rate : INFINITY;
    }
    return false;
}

// A triangle has no size.
static double smaller(double a, double b)
{
    return a > 0 && b > 0 ? fmin(a, b) : fmax(a, b);
}

// Whether the geoms overlap by more than a little after their touch.
static bool overlaps_after(ode_flyer f[2], double touch, double step)
{
    double size = smaller(f[0].size, f[1].size), speed = f[0].speed + f[1].speed;
    // Two triangles have no size: what of the step is a first way tells nothing of them.
    double ahead = size > 0 ? first_way * size / speed : step / 64, t = touch;
    while (t < step) {
        sprag_gap gap;
        t = fmin(step, touch + ahead);
        ahead *= 2;
        if (gap_at(f, t, 0, 0, &gap, NULL) && gap.distance < -little * size) {
            return true;
        }
    }
    return false;
}

// The touch of two points at time t, `distance` (m) apart, as it is when the step starts.
static void set_touch(ode_touch *to, ode_flyer f[2], double t, const double normal[3],
                      double distance, const double point[2][3])
{
    to->left = distance;
    memcpy(to->normal, normal, sizeof to->normal);
    for (int side = 0; side < 2; side++) {
        const double *v = f[side].velocity;
        double *lever = to->lever[side], turning[3];
        memcpy(lever, point[side], sizeof to->lever[side]);
        if (f[side].moves) {
            subtract3(lever, f[side].centre, lever);
            add_scaled(lever, -t, v, 3);
            cross3(v + 3, lever, turning);
            to->left += (side ? 1 : -1) * t * (dot3(normal, v) + dot3(normal, turning));
        }
    }
    to->left = fmax(0, to->left);
}

// m, from the centre of a geom's body to the corners of its bounding box; 0: it is a ball about
// that centre.
static double farthest(dGeomID geom, const double box[6])
{
    const dReal *at = dBodyGetPosition(dGeomGetBody(geom));
    const double far = sprag_box_farthest(box, at);
    double off = 0;
    for (int k = 0; k < 3; k++) {
        off += fabs(box[k] + box[k + 3] - 2 * at[k]);
    }
    return dGeomGetClass(geom) == dSphereClass && !(off > 1e-9 * far) ? 0 : far;
}

// The way of a bounding box in a step.
typedef struct flight {
    double box[6];
    double shift[3], turn; // m
} flight;

// velocity: of its body, NULL: it does not move.
static void set_flight(flight *to, dGeomID geom, const double *velocity, double step)
{
    *to = (flight){.turn = 0};
    sprag_ode_read_bounds(geom, to->box);
    if (velocity) {
        double spin = norm3(velocity + 3);
        add_scaled(to->shift, step, velocity, 3);
        to->turn = spin > 0 ? step * spin * farthest(geom, to->box) : 0;
    }
}

// m, half of the shortest side of a box.
static double half_of(const double box[6])
{
    double side[2];
    sprag_box_sides(box, side);
    return side[0] / 2;
}

// Something may turn a fast geom aside, into any direction.
void sprag_ode_sweep_bounds(dGeomID geom, const ode_ahead *ahead, double bounds[6])
{
    double room[6];
    const double *velocity = velocity_of(dGeomGetBody(geom), room);
    flight f;
    set_flight(&f, geom, velocity, ahead->step);
    const double way = norm3(f.shift) + ahead->step * ahead->rebound;
    const double slack = velocity ? f.turn + ahead->fall : 0;
    if (way > fast_way * half_of(f.box)) {
        sprag_box_grow(bounds, way + slack);
    } else {
        sprag_box_sweep(bounds, f.shift, slack);
    }
}

// Sets the ways of two boxes, and that of the first one as the second one sees it. Returns how much
// nearer (m) the geoms may come in the step.
static double set_flights(flight f[2], const dGeomID geom[2], const double *const velocity[2],
                          double step, double between[3])
{
    for (int k = 0; k < 2; k++) {
        set_flight(&f[k], geom[k], velocity[k], step);
    }
    subtract3(f[0].shift, f[1].shift, between);
    return norm3(between) + f[0].turn + f[1].turn;
}

// ---- before a step

// A pair, and where its contacts go.
typedef struct question {
    ode_meeting *of;
    dContactGeom *contact;
    int skip, count, most;
} question;

static dContactGeom *contact_at(const question *q, int i)
{
    return (dContactGeom *)(void *)((char *)q->contact + (size_t)i * (size_t)q->skip);
}

// Writes a contact behind the others.
static dContactGeom *write(const question *q, const ode_touch *touch)
{
    const ode_flyer *first = &q->of->flyer[0];
    dContactGeom *to = contact_at(q, q->count);
    *to = (dContactGeom){.depth = -touch->left,
                         .g1 = first->start->named,
                         .g2 = q->of->flyer[1].start->named,
                         .side1 = -1,
                         .side2 = -1};
    memcpy(to->pos, touch->lever[0], sizeof touch->lever[0]);
    memcpy(to->normal, touch->normal, sizeof touch->normal);
    if (first->moves) {
        add_scaled(to->pos, 1, first->centre, 3);
    }
    return to;
}

// Is there a contact at this place?
static bool is_known(const question *q, int found, const double at[3])
{
    bool known = false;
    for (int i = 0; i < found && !known; i++) {
        double d[3];
        subtract3(contact_at(q, i)->pos, at, d);
        known = norm3(d) < 0.1 * q->of->size;
    }
    return known;
}

// Puts the points of a manifold at time t (s) where there is no contact yet.
static void put_points(question *q, double t, const double normal[3],
                       const sprag_manifold *manifold)
{
    const int found = q->count;
    for (int i = 0; i < manifold->count && q->count < q->most; i++) {
        ode_touch touch;
        set_touch(&touch, q->of->flyer, t, normal, manifold->gap[i], manifold->point[i]);
        q->count += !is_known(q, found, write(q, &touch)->pos);
    }
}

// Puts the contacts of the first touch, after which the geoms would overlap.
static bool put_touch(question *q, ode_search *search)
{
    ode_meeting *m = q->of;
    double t;
    sprag_gap gap;
    sprag_manifold manifold;
    if (!find_gap(m->flyer, m->step, touching, 0, ADVANCES_MAX, search, &t, &gap, &manifold) ||
        !overlaps_after(m->flyer, t, m->step)) {
        return false;
    }
    put_points(q, t, gap.normal, &manifold);
    return true;
}

// Puts the contacts of the step's end. Where the bodies go on as they do, these have no force,
// unless the geoms overlap then by more than contacts at rest do: however little a ball is sunk, it
// has no contact with the edge of the next flush box.
static void put_near(question *q)
{
    ode_meeting *m = q->of;
    sprag_gap gap;
    sprag_manifold manifold;
    if (gap_at(m->flyer, m->step, m->near, m->near, &gap, &manifold)) {
        for (int i = 0; i < manifold.count; i++) {
            double *distance = &manifold.gap[i];
            *distance += *distance < 0 && *distance > -sunk * m->size ? sunk * m->size : 0;
        }
        put_points(q, m->step, gap.normal, &manifold);
    }
}

// Puts one contact where geoms may be turned to one another, with too large a gap for any force:
// it is the surface of the contact that sprag_ode_touch_ahead() may find. start: their gap now.
static void put_aside(question *q, const sprag_gap *start)
{
    ode_touch touch;
    set_touch(&touch, q->of->flyer, 0, start->normal, 2 * q->of->aside, start->point);
    write(q, &touch)->side1 = ODE_SIDE_ASIDE;
    q->count++;
}

// m, by which something may turn geoms towards one another, or a rebound may throw them, if they
// are so fast that one may pass the other. 0: no. half: m, of their shortest extents; between: m,
// the way of the first one as the second one sees it.
static double way_aside(const dGeomID geom[2], const double half[2], const double between[3],
                        const ode_ahead *ahead)
{
    const double way = norm3(between) + ahead->step * ahead->rebound;
    const bool fast = !dGeomGetBody(geom[0])   ? way > fast_way * half[1]
                      : !dGeomGetBody(geom[1]) ? way > fast_way * half[0]
                                               : way > fmin(half[0], half[1]);
    return fast ? way + ahead->fall : 0;
}

static void set_meeting(ode_meeting *m, const ode_geom *const side[2],
                        const double *const velocity[2], const ode_ahead *ahead, double aside)
{
    for (int k = 0; k < 2; k++) {
        set_flyer(&m->flyer[k], side[k], velocity[k]);
    }
    m->step = ahead->step;
    m->size = smaller(m->flyer[0].size, m->flyer[1].size);
    m->reach = m->step * closing(m->flyer, NULL) + ahead->fall;
    m->near = near_way * fmin(m->reach, fast_way * m->size);
    m->aside = aside;
    m->within = fmax(m->reach - ahead->fall + m->near, aside);
}

void sprag_ode_set_meeting(ode_meeting *m, const ode_geom geom[2], const ode_ahead *ahead)
{
    double room[2][6], half[2], between[3] = {0};
    const ode_geom *const side[2] = {&geom[0], &geom[1]};
    const dGeomID id[2] = {geom[0].id, geom[1].id};
    const double *velocity[2];
    read_velocities(id, room, velocity);
    for (int k = 0; k < 2; k++) {
        double box[6];
        sprag_ode_read_bounds(id[k], box);
        half[k] = half_of(box);
        if (velocity[k]) {
            add_scaled(between, k ? -ahead->step : ahead->step, velocity[k], 3);
        }
    }
    set_meeting(m, side, velocity, ahead, way_aside(id, half, between, ahead));
}

// Geoms that touch at up to three points may have contacts beside these; balls have none.
static bool may_have_more(const question *q, bool ball)
{
    int touch = 0;
    for (int i = 0; i < q->count; i++) {
        touch += contact_at(q, i)->depth >= 0;
    }
    return q->count < q->most && (touch == 0 || (touch < 4 && !ball));
}

static bool moves_some(double reach)
{
    return reach > touching && reach < INFINITY;
}

// Along any direction, points of the geoms come nearer by no more than these move along it.
static bool may_come_near(const ode_meeting *m, const sprag_gap *start)
{
    return start->distance - m->step * closing(m->flyer, start->normal) <= m->near;
}

int sprag_ode_speculate_shapes(ode_meeting *m, const sprag_gap *start, bool open, int most,
                               dContactGeom *contact, int skip, int found)
{
    question q = {m, contact, skip, found, most};
    const bool ball = m->flyer[0].start->shape.kind == SPRAG_SPHERE ||
                      m->flyer[1].start->shape.kind == SPRAG_SPHERE;
    if (!moves_some(m->within) || !may_have_more(&q, ball)) {
        return 0;
    }
    sprag_gap gap;
    if (!start && found == 0 && gap_at(m->flyer, 0, m->within, 0, &gap, NULL)) {
        start = &gap;
    }
    if (start && start->beyond) {
        return 0;
    }
    const bool fast = found == 0 && m->reach > fast_way * m->size;
    const bool near = found > 0 ? open : !start || may_come_near(m, start);
    ode_search alone = {.left = ADVANCES_MAX};
    if (near && !(fast && put_touch(&q, &alone))) {
        put_near(&q);
    }
    if (m->aside > 0 && q.count == 0 && start && start->distance <= m->aside) {
        put_aside(&q, start);
    }
    return q.count - found;
}

// Do the boxes of a pair meet if its first one goes this way (m), and both turn by so much (m)?
static bool boxes_meet(const ode_pair *pair, const double way[3], double turn)
{
    double box[2][6];
    for (int k = 0; k < 2; k++) {
        sprag_shape_bounds(&pair->side[k]->shape, &pair->side[k]->pose, box[k]);
    }
    sprag_box_sweep(box[0], way, turn);
    return sprag_boxes_overlap(box[0], box[1]);
}

// Meshes have contacts of a first touch only, and none beside those that touch.
static int speculate_mesh(ode_geometry *geometry, sprag_scratch *scratch, const dGeomID geom[2],
                          const ode_ahead *ahead, question q)
{
    static const double nowhere[3];
    double room[2][6], between[3];
    const double *velocity[2];
    flight box[2];
    ode_pairs pairs;
    read_velocities(geom, room, velocity);
    const double reach = set_flights(box, geom, velocity, ahead->step, between) + ahead->fall;
    const double far = reach + ahead->step * ahead->rebound;
    const double half[2] = {half_of(box[0].box), half_of(box[1].box)};
    const double aside = way_aside(geom, half, between, ahead);
    const double margin = aside > 0 ? far : box[0].turn + box[1].turn + near_way * reach;
    const double *way = aside > 0 ? nowhere : between;
    sprag_box_sweep(box[0].box, way, margin);
    if (q.count > 0 || !sprag_boxes_overlap(box[0].box, box[1].box) || !moves_some(far) ||
        sprag_ode_pairs_of_two(geometry, geom[0], geom[1], 2 * far, scratch, &pairs)) {
        return 0;
    }
    ode_search *search = ahead->search;
    sprag_gap nearest = {.distance = INFINITY};
    const ode_pair *pair = pairs.pair, *end = pair + pairs.count, *closest = NULL;
    ode_meeting m;
    q.of = &m;
    search->left += ADVANCES_OF_MESH;
    search->end = search->left - search->left / TOUCH_SHARE;
    for (; pair < end && q.count < q.most && search->left > search->end; pair++) {
        sprag_gap gap;
        if (!boxes_meet(pair, way, margin)) {
            continue;
        }
        set_meeting(&m, pair->side, velocity, ahead, aside);
        search->left--;
        if (gap_at(m.flyer, 0, m.within, 0, &gap, NULL) && !gap.beyond) {
            if (may_come_near(&m, &gap)) {
                put_touch(&q, search);
            }
            closest = gap.distance < nearest.distance ? pair : closest;
            nearest = closest == pair ? gap : nearest;
        }
    }
    search->cut += search->left <= search->end;
    if (aside > 0 && q.count == 0 && nearest.distance <= aside) {
        set_meeting(&m, closest->side, velocity, ahead, aside);
        put_aside(&q, &nearest);
    }
    return q.count;
}

int sprag_ode_speculate(ode_geometry *geometry, sprag_scratch *scratch, dGeomID a, dGeomID b,
                        const ode_ahead *ahead, int most, dContactGeom *contact, int skip,
                        int found)
{
    const question q = {NULL, contact, skip, found, most};
    const dGeomID id[2] = {a, b};
    ode_geom geom[2];
    ode_meeting m;
    if (!may_have_more(&q, false) || sprag_ode_two_geoms(geometry, a, b, geom) != SPRAG_OK) {
        return 0;
    }
    if (geom[0].kind == ODE_GEOM_MESH || geom[1].kind == ODE_GEOM_MESH) {
        return speculate_mesh(geometry, scratch, id, ahead, q);
    }
    sprag_ode_set_meeting(&m, geom, ahead);
    return sprag_ode_speculate_shapes(&m, NULL, true, most, contact, skip, found);
}

// ---- after a solve

// Finds a time in the step at which geoms overlap by more than when it starts, by this share of the
// smaller size.
static bool find_passing(ode_flyer f[2], double step, double share, ode_search *search, double *t,
                         sprag_gap *gap)
{
    const double more = share * smaller(f[0].size, f[1].size);
    if (!gap_at(f, 0, closing(f, NULL) * step, 0, gap, NULL) || gap->beyond) {
        return false;
    }
    const double least = fmin(0, gap->distance) - more;
    return find_gap(f, step, least, least - more, PASSING_ADVANCES_MAX, search, t, gap, NULL);
}

// Contacts let nothing pass that does not turn.
static bool turns(double size, double turn, double share)
{
    return 2 * turn > share * size;
}

static bool is_mesh(dGeomID geom)
{
    const int class = dGeomGetClass(geom);
    return class == dTriMeshClass || class == dHeightfieldClass;
}

// m, of the way of geoms to one another in a step, the part in which no contact keeps them apart:
// that by which a solve has changed it, if they have none that would, and all of it over a mesh,
// whose triangles do not keep geoms off the next one.
static double way_unseen(const dGeomID geom[2], const double *const velocity[2], double step,
                         bool aside)
{
    const bool mesh = is_mesh(geom[0]) || is_mesh(geom[1]);
    double way[3] = {0};
    for (int k = 0; k < 2 && (aside || mesh); k++) {
        double before[6];
        if (velocity[k]) {
            sprag_ode_read_velocity(dGeomGetBody(geom[k]), before);
            add_scaled(way, k ? step : -step, velocity[k], 3);
            add_scaled(way, mesh ? 0 : k ? -step : step, before, 3);
        }
    }
    return norm3(way);
}

bool sprag_ode_touch_ahead(ode_geometry *geometry, sprag_scratch *scratch, const dGeomID geom[2],
                           const double *const velocity[2], double step, bool aside,
                           ode_search *search, ode_touch *touch)
{
    flight box[2];
    double between[3];
    const double reach = set_flights(box, geom, velocity, step, between);
    const double change = way_unseen(geom, velocity, step, aside);
    const double size = smaller(half_of(box[0].box), half_of(box[1].box));
    // Geoms that are turned aside have no contact yet: their touch is met, not only their passing.
    const double share = aside || turns(size, change, ode_passing) ? little : ode_passing;
    ode_pairs pairs;
    if (!turns(size, box[0].turn + box[1].turn + change, share) || !(reach < INFINITY) ||
        sprag_ode_pairs_of_two(geometry, geom[0], geom[1], 2 * reach, scratch, &pairs)) {
        return false;
    }
    const ode_pair *pair = pairs.pair, *end = pair + pairs.count;
    search->end = search->left - search->left / TOUCH_SHARE;
    for (; pair < end && search->left > search->end; pair++) {
        ode_flyer f[2];
        double turned = change, t;
        sprag_gap gap;
        if (!boxes_meet(pair, between, box[0].turn + box[1].turn)) {
            continue;
        }
        for (int k = 0; k < 2; k++) {
            set_flyer(&f[k], pair->side[k], velocity[k]);
            turned += step * f[k].spin * f[k].far;
        }
        if (turns(smaller(f[0].size, f[1].size), turned, share) &&
            find_passing(f, step, share, search, &t, &gap)) {
            set_touch(touch, f, t, gap.normal, gap.distance, gap.point);
            return true;
        }
    }
    search->cut += search->left <= search->end;
    return false;
}
