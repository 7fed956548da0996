// Finds candidate planes, follows the best of them, and starts again where it ends.
#include "certificate.h"

#include "toi_constants.h"
#include "toi_pair.h"

// ---- candidate planes

typedef struct candidates {
    int count;
    sprag_plane plane[SPRAG_TOI_PLANES]; // the best first
    double worth[SPRAG_TOI_PLANES];      // cosine of the normal with that of the gap, preferences
} candidates;
_Static_assert(2 * (SPRAG_TOI_FACES + 1) + 1 <= SPRAG_TOI_PLANES, "room for all candidates");

static void add_candidate(candidates *c, const sprag_plane *plane, double worth)
{
    const int at =
        sprag_insert(c->worth, &c->count, SPRAG_TOI_PLANES, worth, c->plane, sizeof *c->plane);
    c->plane[at] = *plane;
}

// The point r of one side that reaches farthest towards the other one along a normal, at t = 0.
// Returns how far (m).
static double support_along(const sprag_approach *a, int b, const double normal[3], double r[3])
{
    const sprag_side *side = &a->side[b];
    double local[3];
    mul33_transposed(side->motion.pose.rotation, normal, local);
    scale3(b ? 1 : -1, local, local);
    memcpy(r, side->core.at, sizeof side->core.at); // of a half-space
    sprag_core_support(&side->core, local, r);
    return dot3(r, local);
}

// The supporting plane of one shape along a normal.
static void set_carried(const sprag_approach *a, int carrier, const double normal[3],
                        sprag_plane *plane)
{
    const sprag_side *side = &a->side[carrier];
    *plane = (sprag_plane){.carrier = carrier};
    memcpy(plane->normal, normal, sizeof plane->normal);
    if (side->core.shape->kind != SPRAG_SPHERE || norm3(side->core.at) > 0) {
        memcpy(plane->spin, side->motion.velocity + 3, sizeof plane->spin);
    }
    plane->support = support_along(a, carrier, normal, plane->point[carrier]);
}

// Between equal planes, that of the slower turning shape comes first.
static void add_carried(const sprag_approach *a, int carrier, const double normal[3], double worth,
                        candidates *c)
{
    const double spin = norm3(a->side[carrier].motion.velocity + 3);
    sprag_plane plane;
    set_carried(a, carrier, normal, &plane);
    add_candidate(c, &plane, worth - (a->spin > 0 ? SPRAG_TOI_PREFER_SLOW * spin / a->spin : 0));
}

static bool is_triangle(const sprag_shape *shape)
{
    return shape->kind == SPRAG_POLYTOPE && shape->polytope->faces == 2;
}

// Adds the faces of one shape that look along the normal.
static void add_faces(const sprag_approach *a, int b, const double normal[3], candidates *c)
{
    const sprag_side *side = &a->side[b];
    const sprag_shape *shape = side->core.shape;
    const bool triangle = is_triangle(shape) || is_triangle(a->side[!b].core.shape);
    const double least = triangle ? SPRAG_TOI_FACING_TRIANGLE : SPRAG_TOI_FACING, sign = b ? 1 : -1;
    double local[3], best[SPRAG_TOI_FACES], outwards[SPRAG_TOI_FACES][3], axis[3];
    int count = 0;
    mul33_transposed(side->motion.pose.rotation, normal, local);
    for (int i = 0; sprag_shape_face(shape, i, axis); i++) {
        const double along = sign * dot3(axis, local);
        int at = along < least ? SPRAG_TOI_FACES
                               : sprag_insert(best, &count, SPRAG_TOI_FACES, along, outwards,
                                              sizeof *outwards);
        if (at < SPRAG_TOI_FACES) {
            memcpy(outwards[at], axis, sizeof axis);
        }
    }
    for (int i = 0; i < count; i++) {
        double n[3];
        mul33(side->motion.pose.rotation, outwards[i], n);
        scale3(sign, n, n);
        add_carried(a, b, n, best[i] + SPRAG_TOI_PREFER_FACE, c);
    }
}

static bool is_round(const sprag_shape *shape)
{
    return shape->kind == SPRAG_SPHERE || shape->kind == SPRAG_CAPSULE ||
           shape->kind == SPRAG_CYLINDER;
}

// normal: of the gap. A half-space has no plane but its own.
static void find_planes(const sprag_approach *a, const double normal[3], candidates *c)
{
    c->count = 0;
    for (int b = 0; b < 2; b++) {
        if (a->side[b].core.shape->kind == SPRAG_PLANE) {
            const double *R = a->side[b].motion.pose.rotation, sign = b ? 1 : -1;
            add_carried(a, b, (double[3]){sign * R[2], sign * R[5], sign * R[8]}, 1, c);
            return;
        }
    }
    for (int b = 0; b < 2; b++) {
        add_faces(a, b, normal, c);
        add_carried(a, b, normal, 1, c);
    }
    if (is_round(a->side[0].core.shape) && is_round(a->side[1].core.shape)) {
        sprag_plane plane = {.carrier = -1};
        memcpy(plane.normal, normal, sizeof plane.normal);
        add_candidate(c, &plane, 2);
    }
}

// ---- following planes

static double safe_part(sprag_approach *a, sprag_plane *plane, double begin, double length)
{
    sprag_approach_at(a, begin, length);
    a->expansions += plane->crossing ? SPRAG_TOI_CROSSING_EXPANSIONS : 1;
    return plane->crossing ? sprag_crossing_safe_part(a, plane) : sprag_plane_safe_part(a, plane);
}

static bool has_rim(const sprag_approach *a)
{
    return a->side[0].core.shape->kind == SPRAG_CYLINDER ||
           a->side[1].core.shape->kind == SPRAG_CYLINDER;
}

static double longest_of(const sprag_approach *a)
{
    return a->spin * a->horizon > 1 ? 1 / a->spin : a->horizon;
}

// Continues along a plane by so many expansions: the next one starts where the remainder of the one
// before has ended it. true: it separates the shapes up to the horizon.
static bool follow(sprag_approach *a, sprag_plane *plane, int expansions)
{
    const bool rim = has_rim(a);
    const double longest = longest_of(a);
    double try = longest;
    for (int i = 0; i < expansions && plane->time < a->horizon; i++) {
        double left = a->horizon - plane->time, length = fmin(fmin(left, longest), try);
        double u = safe_part(a, plane, plane->time, length), gain = u * length;
        if (u >= 1) {
            plane->time = length == left ? a->horizon : plane->time + length;
            try = longest;
            continue;
        }
        plane->time += gain;
        try = rim ? fmax(2 * gain, length / 8) : longest;
        if (gain < SPRAG_TOI_GAIN * a->horizon) {
            break;
        }
    }
    return plane->time >= a->horizon;
}

// The plane across edges tells the time more exactly, where two end together.
static double merit(const sprag_plane *plane)
{
    return plane->crossing ? plane->time * (1 + SPRAG_TOI_TOGETHER) : plane->time;
}

// Whether the gap is below the level soon after t: then no plane lasts longer.
static bool closes_at(const sprag_approach *a, double t)
{
    double after = fmin(t * (1 + SPRAG_TOI_SOON) + SPRAG_TOI_SOON_LEAST * a->horizon, a->horizon);
    sprag_gap gap;
    return sprag_carried_gap(a->pair, after, a->level, &gap) == SPRAG_OK && gap.distance < a->level;
}

enum { TRIED_MOST = SPRAG_TOI_PLANES + SPRAG_CROSSINGS };

typedef struct ranking { // planes that have been followed, by merit, the longest first
    int count;
    sprag_plane *plane[TRIED_MOST];
    double merit[TRIED_MOST];
} ranking;

// Follows a plane by one expansion. true: it separates the shapes up to the horizon.
static bool try_plane(sprag_approach *a, sprag_plane *plane, ranking *r)
{
    const bool lasts = follow(a, plane, 1);
    const int at =
        sprag_insert(r->merit, &r->count, TRIED_MOST, merit(plane), r->plane, sizeof *r->plane);
    r->plane[at] = plane;
    return lasts;
}

// ---- the plane of an earlier certificate

static void keep_plane(const sprag_approach *a, const sprag_plane *plane, sprag_kept_plane *kept)
{
    *kept = (sprag_kept_plane){.kind = SPRAG_NO_PLANE};
    if (plane->crossing) {
        kept->kind = SPRAG_EDGES_PLANE;
        kept->sign = plane->sign;
        memcpy(kept->end, plane->end, sizeof kept->end);
    } else if (plane->carrier >= 0 && a->side[plane->carrier].core.shape->kind != SPRAG_PLANE) {
        kept->kind = SPRAG_CARRIED_PLANE;
        kept->carrier = plane->carrier;
        mul33_transposed(a->side[plane->carrier].motion.pose.rotation, plane->normal, kept->normal);
    }
}

static bool find_kept(const sprag_approach *a, const sprag_kept_plane *kept, sprag_plane *plane)
{
    if (kept->kind == SPRAG_CARRIED_PLANE) {
        double normal[3];
        mul33(a->side[kept->carrier].motion.pose.rotation, kept->normal, normal);
        set_carried(a, kept->carrier, normal, plane);
        return true;
    }
    *plane = (sprag_plane){.crossing = true, .carrier = -1, .sign = kept->sign};
    memcpy(plane->end, kept->end, sizeof kept->end);
    return kept->kind == SPRAG_EDGES_PLANE && sprag_crossing_normal(a, plane, plane->normal);
}

// Does the kept plane last up to the horizon, or end when the shapes meet?
static bool follow_kept(sprag_approach *a, const sprag_kept_plane *kept, sprag_plane *plane)
{
    return find_kept(a, kept, plane) &&
           (follow(a, plane, 1) || (plane->time > 0 && (follow(a, plane, SPRAG_TOI_EXPANSIONS) ||
                                                        closes_at(a, plane->time))));
}

// Tries the likeliest plane, then the edges across the normal, then the other planes. Returns the
// first that lasts up to the horizon or ends when the shapes meet, else the one that lasts longest.
static const sprag_plane *best_of(sprag_approach *a, const double normal[3], candidates *c,
                                  sprag_plane crossing[SPRAG_CROSSINGS])
{
    ranking r = {.count = 0};
    if (try_plane(a, &c->plane[0], &r)) {
        return &c->plane[0];
    }
    sprag_approach_at(a, 0, longest_of(a));
    const int crossings = sprag_crossings_find(a, normal, crossing);
    const bool along =
        crossings > 0 && dot3(crossing[0].normal, normal) > 1 - SPRAG_TOI_EDGES_ALONG;
    if (along && try_plane(a, &crossing[0], &r)) {
        return &crossing[0];
    }
    if (r.plane[0]->time > 0 && closes_at(a, r.plane[0]->time)) {
        follow(a, r.plane[0], SPRAG_TOI_EXPANSIONS);
        return r.plane[0];
    }
    for (int i = 1; i < c->count + crossings - along; i++) {
        sprag_plane *plane = i < c->count ? &c->plane[i] : &crossing[i - c->count + along];
        if (try_plane(a, plane, &r)) {
            return plane;
        }
    }
    const sprag_plane *best = r.plane[0];
    int deeper = r.count < SPRAG_TOI_DEEPER ? r.count : SPRAG_TOI_DEEPER;
    for (int i = 0; i < deeper && (r.plane[i]->time > 0 || has_rim(a)); i++) {
        if (follow(a, r.plane[i], SPRAG_TOI_EXPANSIONS)) {
            return r.plane[i];
        }
        best = merit(r.plane[i]) > merit(best) ? r.plane[i] : best;
    }
    return best;
}

static void best_plane(sprag_approach *a, const double normal[3], sprag_plane *best)
{
    candidates c;
    sprag_plane crossing[SPRAG_CROSSINGS];
    find_planes(a, normal, &c);
    *best = *best_of(a, normal, &c, crossing);
}

// ---- the blocking point

typedef struct blocking {          // of two shapes, at a time
    double normal[3], point[2][3]; // of the plane; m, on it and on what comes down to it
    double height;                 // m, of the latter
} blocking;

// The point of a rim is followed as if the cylinder did not spin about its axis: that moves the
// shape as the spin does, while a point that spins is near the plane for a moment only. The safe
// time is that of the points themselves.
static void unspin(const sprag_side *side, double time, double r[3])
{
    const double *R = side->motion.pose.rotation, axis[3] = {R[2], R[5], R[8]};
    const double spin[3] = {0, 0, dot3(axis, side->motion.velocity + 3)};
    double from[3];
    subtract3(r, side->core.at, from);
    sprag_turned(spin, time, from, r);
    add_scaled(r, 1, side->core.at, 3);
}

// At any time (s, from t = 0).
static blocking blocking_at(const sprag_approach *a, const sprag_plane *plane, double t)
{
    sprag_approach then = *a;
    blocking at;
    double between[3];
    sprag_approach_at(&then, t, 0);
    // Edges that have been parallel in between have the opposite normal.
    if (!plane->crossing || !sprag_crossing_normal(&then, plane, at.normal) ||
        dot3(at.normal, plane->normal) < 0) {
        sprag_turned(plane->spin, t, plane->normal, at.normal);
    }
    for (int b = 0; b < 2; b++) {
        const sprag_side *side = &then.side[b];
        const bool rim = side->core.shape->kind == SPRAG_CYLINDER;
        const double radius = rim && plane->crossing ? side->core.shape->radius : side->margin;
        double r[3];
        memcpy(r, plane->point[b], sizeof r);
        if (rim && b != plane->carrier) {
            unspin(side, plane->time - t, r);
        }
        sprag_pose_world(&side->now, r, at.point[b]);
        add_scaled(at.point[b], b ? radius : -radius, at.normal, 3);
    }
    subtract3(at.point[0], at.point[1], between);
    at.height = dot3(at.normal, between);
    return at;
}

// From the time on at which the point has come down to the plane: one that a later look has found
// may not separate the shapes before.
static double lowest_height(const sprag_approach *a, const sprag_plane *plane, double to)
{
    enum { SAMPLES = 4 };
    const double from = fmin(plane->time, to), step = (to - from) / SAMPLES;
    double h[SAMPLES + 1], least = INFINITY;
    int at = 0;
    for (int i = 0; i <= SAMPLES; i++) {
        h[i] = blocking_at(a, plane, i == SAMPLES ? to : from + i * step).height;
        if (h[i] < least) {
            least = h[i];
            at = i;
        }
    }
    at = at < 1 ? 1 : at > SAMPLES - 1 ? SAMPLES - 1 : at;
    const double bend = h[at + 1] - 2 * h[at] + h[at - 1], off = (h[at - 1] - h[at + 1]) / 2;
    if (bend > 0 && fabs(off) < bend) { // the lowest point of a parabola
        least = fmin(least, blocking_at(a, plane, from + (at + off / bend) * step).height);
    }
    return least;
}

// Sets what the plane reports. passed: s, from the start of the certificate to that of the
// approach.
static void set_certificate(const sprag_approach *a, const sprag_plane *plane, double passed,
                            double horizon, sprag_certificate *c)
{
    const blocking now = blocking_at(a, plane, -passed);
    c->side = plane->side;
    c->height = now.height;
    c->lowest = lowest_height(a, plane, horizon - passed);
    memcpy(c->normal, now.normal, sizeof c->normal);
    memcpy(c->point, now.point[plane->side], sizeof c->point);
}

// ---- the certificate

static bool is_valid(const sprag_carried pair[2], const sprag_gap *gap, double level,
                     double horizon)
{
    double sum = level + horizon + gap->distance, turn = 0;
    for (int b = 0; b < 2; b++) {
        const double *v = pair[b].motion ? pair[b].motion->velocity : NULL;
        turn += sprag_carried_spin(&pair[b]) * horizon;
        sum += (v ? dot6(v, v) : 0) + dot3(gap->point[b], gap->point[b]);
    }
    double length = norm3(gap->normal);
    return isfinite(sum) && turn < SPRAG_TOI_TURN_MAX && horizon >= 0 && level >= 0 &&
           fabs(length - 1) < SPRAG_TOI_UNIT && gap->distance >= level &&
           !(pair[0].shape->kind == SPRAG_PLANE && pair[1].shape->kind == SPRAG_PLANE);
}

static void set_approach(const sprag_carried pair[2], const sprag_gap *gap, double level,
                         double horizon, sprag_approach *a)
{
    for (int b = 0; b < 2; b++) {
        sprag_side_make(&pair[b], gap->point[b], horizon, &a->side[b]);
    }
    a->pair = pair;
    a->level = level + fmin(SPRAG_TOI_MARGIN * level, (gap->distance - level) / 2);
    a->horizon = horizon;
    a->spin = norm3(a->side[0].motion.velocity + 3) + norm3(a->side[1].motion.velocity + 3);
    a->begin = 0;
    a->length = horizon;
    a->expansions = 0;
}

// The motions and the gap of the pair from time t on. false: the gap is not known.
static bool restart_at(const sprag_carried pair[2], double t, sprag_motion motion[2],
                       sprag_carried now[2], sprag_gap *gap)
{
    for (int b = 0; b < 2; b++) {
        now[b] = pair[b];
        if (pair[b].motion) {
            motion[b] = *pair[b].motion;
            sprag_motion_at(pair[b].motion, t, &motion[b].pose);
            now[b].motion = &motion[b];
        }
    }
    return sprag_carried_gap(now, 0, INFINITY, gap) == SPRAG_OK;
}

void sprag_time_of_impact(const sprag_carried pair[2], const sprag_gap *gap, double level,
                          double horizon, sprag_certificate *certificate)
{
    sprag_approach a;
    sprag_plane plane;
    *certificate = (sprag_certificate){.side = -1, .normal = {1}, .plane = certificate->plane};
    if (!is_valid(pair, gap, level, horizon)) {
        return;
    }
    sprag_motion motion[2];
    sprag_carried now[2] = {pair[0], pair[1]};
    sprag_gap seen = *gap;
    double passed = 0;
    long expansions = 0;
    memcpy(certificate->normal, gap->normal, sizeof certificate->normal);
    for (int i = 0; i < SPRAG_TOI_LOOKS; i++) {
        set_approach(now, &seen, level, horizon - passed, &a);
        if (!(i == 0 && follow_kept(&a, &certificate->plane, &plane))) {
            best_plane(&a, seen.normal, &plane);
        }
        keep_plane(&a, &plane, &certificate->plane);
        expansions += a.expansions;
        certificate->expansions = expansions;
        if (plane.time >= a.horizon) {
            certificate->time = horizon;
            certificate->whole = true;
            return;
        }
        certificate->time = passed + plane.time;
        if (i + 1 == SPRAG_TOI_LOOKS || !(plane.time > SPRAG_TOI_PROGRESS * horizon) ||
            !restart_at(pair, certificate->time, motion, now, &seen) ||
            seen.distance < SPRAG_TOI_NEAR * level) {
            set_certificate(&a, &plane, passed, horizon, certificate);
            break;
        }
        passed = certificate->time;
    }
}
