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

static void add_candidate(candidates *c, const sprag_plane *plane, double worth)
{
    int at = sprag_insert(c->worth, &c->count, SPRAG_TOI_PLANES, worth, c->plane, sizeof *c->plane);
    if (at < SPRAG_TOI_PLANES) {
        c->plane[at] = *plane;
    }
}

// Adds the supporting plane of one shape along a normal. Of equal planes, that of the slower
// turning shape comes first.
static void add_carried(const sprag_approach *a, int carrier, const double normal[3], double worth,
                        candidates *c)
{
    const sprag_side *side = &a->side[carrier];
    sprag_plane plane = {.carrier = carrier};
    double local[3], sign = carrier ? 1 : -1, spin = norm3(side->velocity + 3);
    memcpy(plane.normal, normal, sizeof plane.normal);
    if (side->shape->kind != SPRAG_SPHERE || norm3(side->origin) > 0) {
        memcpy(plane.spin, side->velocity + 3, sizeof plane.spin);
    }
    mul33_transposed(side->start_rotation, normal, local);
    for (int k = 0; k < 3; k++) {
        local[k] *= sign;
    }
    sprag_side_support(side, local, plane.point[carrier]);
    plane.support = dot3(plane.point[carrier], local);
    add_candidate(c, &plane, worth - (a->spin > 0 ? SPRAG_TOI_PREFER_SLOW * spin / a->spin : 0));
}

// Adds the faces of one shape that look along the normal. true: one of them is along it exactly.
static bool add_faces(const sprag_approach *a, int b, const double normal[3], candidates *c)
{
    const sprag_side *side = &a->side[b];
    const sprag_shape *shape = side->shape;
    double local[3], best[SPRAG_TOI_FACES], outwards[SPRAG_TOI_FACES][3], sign = b ? 1 : -1;
    int count = 0;
    mul33_transposed(side->start_rotation, normal, local);
    bool axes = shape->kind == SPRAG_BOX || shape->kind == SPRAG_CYLINDER;
    int faces = axes ? 3 : shape->kind == SPRAG_POLYTOPE ? shape->polytope->faces : 0;
    double least = !axes && faces == 2 ? SPRAG_TOI_FACING_TRIANGLE : SPRAG_TOI_FACING;
    for (int i = shape->kind == SPRAG_CYLINDER ? 2 : 0; i < faces; i++) {
        double axis[3] = {i == 0, i == 1, i == 2}, along = axes ? sign * local[i] : 0;
        if (axes) {
            axis[i] = copysign(1, along);
            along = fabs(along);
        } else {
            memcpy(axis, shape->polytope->normal[i], sizeof axis);
            along = sign * dot3(axis, local);
        }
        int at = along < least ? SPRAG_TOI_FACES
                               : sprag_insert(best, &count, SPRAG_TOI_FACES, along, outwards,
                                              sizeof *outwards);
        if (at < SPRAG_TOI_FACES) {
            memcpy(outwards[at], axis, sizeof axis);
        }
    }
    for (int i = 0; i < count; i++) {
        double n[3];
        mul33(side->start_rotation, outwards[i], n);
        for (int k = 0; k < 3; k++) {
            n[k] *= sign;
        }
        add_carried(a, b, n, best[i] + SPRAG_TOI_PREFER_FACE, c);
    }
    return count > 0 && best[0] > 1 - SPRAG_TOI_FACE_ALONG;
}

static bool is_round(const sprag_shape *shape)
{
    return shape->kind == SPRAG_SPHERE || shape->kind == SPRAG_CAPSULE ||
           shape->kind == SPRAG_CYLINDER;
}

static void find_planes(const sprag_approach *a, const double normal[3], candidates *c)
{
    c->count = 0;
    for (int b = 0; b < 2; b++) {
        if (a->side[b].shape->kind == SPRAG_PLANE) {
            double n[3];
            for (int k = 0; k < 3; k++) {
                n[k] = (b ? 1 : -1) * a->side[b].rotation[3 * k + 2];
            }
            add_carried(a, b, n, 1, c);
            return;
        }
    }
    for (int b = 0; b < 2; b++) {
        if (!add_faces(a, b, normal, c)) {
            add_carried(a, b, normal, 1, c);
        }
    }
    if (is_round(a->side[0].shape) && is_round(a->side[1].shape)) {
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
    return a->side[0].shape->kind == SPRAG_CYLINDER || a->side[1].shape->kind == SPRAG_CYLINDER;
}

// Continues along a plane whose expansion ended early by its own remainder: the next expansion
// starts where it ended.
static void extend(sprag_approach *a, sprag_plane *plane, double longest)
{
    bool rim = has_rim(a);
    double try = longest;
    for (int i = 0; i < SPRAG_TOI_EXPANSIONS && plane->time < a->horizon; i++) {
        double left = a->horizon - plane->time, length = fmin(fmin(left, longest), try);
        double u = safe_part(a, plane, plane->time, length), gain = u * length;
        if (u >= 1) {
            plane->time = length == left ? a->horizon : plane->time + length;
            try = 4 * length;
            continue;
        }
        plane->time += gain;
        try = rim ? fmax(2 * gain, length / 8) : longest;
        if (gain < (rim ? SPRAG_TOI_GAIN_RIM : SPRAG_TOI_GAIN) * a->horizon &&
            (!rim || length < SPRAG_TOI_SHORT * a->horizon)) {
            break;
        }
    }
}

static double longest_of(const sprag_approach *a)
{
    return a->spin * a->horizon > 1 ? 1 / a->spin : a->horizon;
}

static bool first_expansion(sprag_approach *a, sprag_plane *plane, double longest)
{
    double u = safe_part(a, plane, 0, longest);
    plane->time = u >= 1 && longest == a->horizon ? a->horizon : u * longest;
    return plane->time >= a->horizon;
}

// The plane across edges tells the time more exactly, where two end together.
static double merit(const sprag_plane *plane)
{
    return plane->crossing ? plane->time * (1 + SPRAG_TOI_TOGETHER) : plane->time;
}

static void sort_by_time(sprag_plane *plane[], int count)
{
    for (int i = 1; i < count; i++) {
        sprag_plane *p = plane[i];
        int at = i;
        for (; at > 0 && merit(plane[at - 1]) < merit(p); at--) {
            plane[at] = plane[at - 1];
        }
        plane[at] = p;
    }
}

// Whether the gap is below the level soon after t: then no plane lasts longer.
static bool closes_at(const sprag_approach *a, double t)
{
    double after = fmin(t * (1 + SPRAG_TOI_SOON) + SPRAG_TOI_SOON_LEAST * a->horizon, a->horizon);
    sprag_gap gap;
    return sprag_carried_gap(a->pair, after, a->level, &gap) == SPRAG_OK && !gap.beyond &&
           gap.distance < a->level;
}

typedef struct ranking { // planes that have been followed
    int count;
    sprag_plane *plane[SPRAG_TOI_PLANES + SPRAG_CROSSINGS]; // after sort_by_time, the longest first
} ranking;

// Follows a plane by one expansion. true: it separates the shapes up to the horizon.
static bool try_plane(sprag_approach *a, sprag_plane *plane, ranking *r)
{
    r->plane[r->count++] = plane;
    return first_expansion(a, plane, longest_of(a));
}

// ---- the plane of an earlier certificate

static void keep_plane(const sprag_approach *a, const sprag_plane *plane, sprag_kept_plane *kept)
{
    *kept = (sprag_kept_plane){.kind = SPRAG_NO_PLANE};
    if (plane->crossing) {
        kept->kind = SPRAG_EDGES_PLANE;
        kept->sign = plane->sign;
        memcpy(kept->end, plane->end, sizeof kept->end);
    } else if (plane->carrier >= 0 && a->side[plane->carrier].shape->kind != SPRAG_PLANE) {
        kept->kind = SPRAG_CARRIED_PLANE;
        kept->carrier = plane->carrier;
        mul33_transposed(a->side[plane->carrier].start_rotation, plane->normal, kept->normal);
    }
}

static bool find_kept(const sprag_approach *a, const sprag_kept_plane *kept, sprag_plane *plane)
{
    if (kept->kind == SPRAG_CARRIED_PLANE) {
        double normal[3];
        candidates c = {.count = 0};
        mul33(a->side[kept->carrier].start_rotation, kept->normal, normal);
        add_carried(a, kept->carrier, normal, 1, &c);
        *plane = c.plane[0];
        return true;
    }
    *plane = (sprag_plane){.crossing = true, .carrier = -1, .sign = kept->sign};
    memcpy(plane->end, kept->end, sizeof kept->end);
    return kept->kind == SPRAG_EDGES_PLANE && sprag_crossing_place(a, plane);
}

// Does the kept plane last up to the horizon, or end when the shapes meet?
static bool follow_kept(sprag_approach *a, const sprag_kept_plane *kept, sprag_plane *plane)
{
    double longest = longest_of(a);
    if (!find_kept(a, kept, plane)) {
        return false;
    }
    if (first_expansion(a, plane, longest)) {
        return true;
    }
    if (plane->time > 0) {
        extend(a, plane, longest);
    }
    return plane->time >= a->horizon || (plane->time > 0 && closes_at(a, plane->time));
}

// Tries the likeliest plane, then the edges across the normal, then the other planes. Returns the
// first that lasts up to the horizon or ends when the shapes meet, else the one that lasts longest;
// NULL: no plane separates the shapes.
static const sprag_plane *best_of(sprag_approach *a, const double normal[3], candidates *c,
                                  sprag_plane crossing[SPRAG_CROSSINGS])
{
    ranking r = {.count = 0};
    double longest = longest_of(a);
    int tried = 0, crossed = 0;
    if (c->count > 0 && try_plane(a, &c->plane[tried++], &r)) {
        return &c->plane[0];
    }
    sprag_approach_at(a, 0, longest);
    int crossings = sprag_crossings_find(a, normal, crossing);
    if (crossings > 0 && dot3(crossing[0].normal, normal) > 1 - SPRAG_TOI_EDGES_ALONG &&
        try_plane(a, &crossing[crossed++], &r)) {
        return &crossing[0];
    }
    sort_by_time(r.plane, r.count);
    if (r.count > 0 && r.plane[0]->time > 0 && closes_at(a, r.plane[0]->time)) {
        extend(a, r.plane[0], longest);
        return r.plane[0];
    }
    while (tried < c->count) {
        if (try_plane(a, &c->plane[tried++], &r)) {
            return r.plane[r.count - 1];
        }
    }
    while (crossed < crossings) {
        if (try_plane(a, &crossing[crossed++], &r)) {
            return r.plane[r.count - 1];
        }
    }
    sort_by_time(r.plane, r.count);
    int deeper = r.count < SPRAG_TOI_DEEPER ? r.count : SPRAG_TOI_DEEPER;
    for (int i = 0; i < deeper && (r.plane[i]->time > 0 || has_rim(a)); i++) {
        extend(a, r.plane[i], longest);
        if (r.plane[i]->time >= a->horizon) {
            return r.plane[i];
        }
    }
    sort_by_time(r.plane, deeper);
    return r.count > 0 ? r.plane[0] : NULL;
}

static bool best_plane(sprag_approach *a, const double normal[3], sprag_plane *best)
{
    candidates c;
    sprag_plane crossing[SPRAG_CROSSINGS];
    find_planes(a, normal, &c);
    const sprag_plane *found = best_of(a, normal, &c, crossing);
    if (found) {
        *best = *found;
    }
    return found;
}

// ---- far apart

// Whether the shapes stay apart along the normal of the gap however they turn: the bound of
// Mirtich, distance over closing speed plus spin times reach.
static bool is_far(const sprag_approach *a, const double normal_found[3], double distance)
{
    double room = distance - a->level, closing = 0, across[3], sum = 0, normal[3];
    memcpy(normal, normal_found, sizeof normal);
    for (int b = 0; b < 2; b++) { // a half-space has only its own normal
        if (a->side[b].shape->kind == SPRAG_PLANE) {
            for (int k = 0; k < 3; k++) {
                normal[k] = (b ? 1 : -1) * a->side[b].rotation[3 * k + 2];
            }
        }
    }
    for (int b = 0; b < 2; b++) {
        closing -= (b ? -1 : 1) * dot3(normal, a->side[b].velocity);
    }
    if (!(room > a->horizon * closing) || !(room > 0)) {
        return false;
    }
    for (int b = 0; b < 2; b++) {
        const sprag_side *side = &a->side[b];
        double r[3], local[3], sign = b ? 1 : -1;
        cross3(side->velocity + 3, normal, across);
        double rate = norm3(across);
        mul33_transposed(side->rotation, normal, local);
        if (side->shape->kind == SPRAG_PLANE && rate > 0) {
            return false;
        }
        for (int k = 0; k < 3; k++) {
            local[k] *= sign;
        }
        sprag_side_support(side, local, r);
        sum -= side->margin + dot3(r, local) + sign * dot3(normal, side->x);
        closing += rate * side->reach;
    }
    return sum - a->level > a->horizon * closing;
}

// ---- the blocking point

static void point_at(const sprag_side *side, const double local[3], double t, double point[3])
{
    double r[3];
    mul33(side->start_rotation, local, r);
    sprag_turned(side->velocity + 3, t, r, point);
    add_scaled(point, 1, side->start, 3);
    add_scaled(point, t, side->velocity, 3);
}

// The point of a rim is followed as if the cylinder did not spin about its axis: that moves the
// shape as the spin does, while a point that spins is near the plane for a moment only. The safe
// time is that of the points themselves.
static void blocking_point_at(const sprag_approach *a, const sprag_plane *plane, int b, double t,
                              double point[3])
{
    const sprag_side *side = &a->side[b];
    double r[3];
    memcpy(r, plane->point[b], sizeof r);
    if (side->shape->kind == SPRAG_CYLINDER && b != plane->carrier) {
        const double *R = side->start_rotation, axis[3] = {R[2], R[5], R[8]};
        const double spin[3] = {0, 0, dot3(axis, side->velocity + 3)};
        double from[3];
        subtract3(plane->point[b], side->origin, from);
        sprag_turned(spin, plane->time - t, from, r);
        add_scaled(r, 1, side->origin, 3);
    }
    point_at(side, r, t, point);
}

static bool crossing_normal(const sprag_approach *a, const sprag_plane *plane, double t,
                            double normal[3])
{
    double e[2][3];
    for (int b = 0; b < 2; b++) {
        const sprag_side *side = &a->side[b];
        double from[3], to[3] = {0, 0, 1};
        if (plane->end[b][0] != SPRAG_NO_VERTEX) {
            sprag_side_vertex(side, plane->end[b][0], from);
            sprag_side_vertex(side, plane->end[b][1], to);
            subtract3(to, from, to);
        }
        mul33(side->start_rotation, to, from);
        sprag_turned(side->velocity + 3, t, from, e[b]);
    }
    if (!sprag_across(e[0], e[1], normal)) {
        return false;
    }
    for (int k = 0; k < 3; k++) {
        normal[k] *= plane->sign;
    }
    return true;
}

// Height (m) of the blocking point above its plane at any time (s, from t = 0). normal: the plane's
// then; NULL if not wanted.
static double plane_height(const sprag_approach *a, const sprag_plane *plane, double t,
                           double normal[3])
{
    double n[3], point[2][3], between[3];
    if (!plane->crossing || !crossing_normal(a, plane, t, n)) {
        sprag_turned(plane->spin, t, plane->normal, n);
    }
    double radii = 0;
    for (int b = 0; b < 2; b++) {
        blocking_point_at(a, plane, b, t, point[b]);
        bool axis = plane->crossing && a->side[b].shape->kind == SPRAG_CYLINDER;
        radii += axis ? a->side[b].shape->radius : a->side[b].margin;
    }
    if (normal) {
        memcpy(normal, n, sizeof n);
    }
    subtract3(point[0], point[1], between);
    return dot3(n, between) - radii;
}

static double lowest_height(const sprag_approach *a, const sprag_plane *plane, double from,
                            double to)
{
    enum { SAMPLES = 8 };
    double h[SAMPLES + 1], least = INFINITY, step = (to - from) / SAMPLES;
    int at = 0;
    for (int i = 0; i <= SAMPLES; i++) {
        h[i] = plane_height(a, plane, i == SAMPLES ? to : from + i * step, NULL);
        if (h[i] < least) {
            least = h[i];
            at = i;
        }
    }
    if (at > 0 && at < SAMPLES) {
        double bend = h[at + 1] - 2 * h[at] + h[at - 1];
        double off = bend > 0 ? (h[at - 1] - h[at + 1]) / (2 * bend) : 0;
        if (fabs(off) <= 1) {
            least = fmin(least, plane_height(a, plane, from + (at + off) * step, NULL));
        }
    }
    return least;
}

// Sets what the plane reports. passed: s, from the start of the certificate to that of the
// approach.
static void set_certificate(const sprag_approach *a, const sprag_plane *plane, double passed,
                            double horizon, sprag_certificate *c)
{
    const sprag_side *side = &a->side[plane->side];
    c->side = plane->side;
    c->height = plane_height(a, plane, -passed, c->normal);
    c->lowest = lowest_height(a, plane, -passed, horizon - passed);
    blocking_point_at(a, plane, plane->side, -passed, c->point);
    bool axis = plane->crossing && side->shape->kind == SPRAG_CYLINDER;
    add_scaled(c->point, (plane->side ? 1 : -1) * (axis ? side->shape->radius : side->margin),
               c->normal, 3);
}

// ---- the certificate

static double sum_of(const sprag_carried *carried)
{
    double sum = 0;
    for (int i = 0; i < 9; i++) {
        sum += carried->mount.rotation[i] + (i < 3 ? carried->mount.position[i] : 0);
    }
    for (int i = 0; carried->motion && i < 9; i++) {
        const sprag_motion *m = carried->motion;
        sum +=
            m->pose.rotation[i] + (i < 3 ? m->pose.position[i] : 0) + (i < 6 ? m->velocity[i] : 0);
    }
    return sum;
}

static bool is_valid(const sprag_carried pair[2], const sprag_gap *gap, double level,
                     double horizon)
{
    double sum = sum_of(&pair[0]) + sum_of(&pair[1]) + level + horizon + gap->distance, turn = 0;
    for (int b = 0; b < 2; b++) {
        turn += pair[b].motion ? norm3(pair[b].motion->velocity + 3) * horizon : 0;
        if (!gap->beyond) {
            sum += dot3(gap->point[b], gap->point[b]);
        }
    }
    double length = norm3(gap->normal);
    return isfinite(sum) && isfinite(turn) && turn < SPRAG_TOI_TURN_MAX && horizon >= 0 &&
           level >= 0 && fabs(length - 1) < SPRAG_TOI_UNIT && gap->distance >= level &&
           !(pair[0].shape->kind == SPRAG_PLANE && pair[1].shape->kind == SPRAG_PLANE);
}

static void set_approach(const sprag_carried pair[2], const sprag_gap *gap, double level,
                         double horizon, sprag_approach *a)
{
    for (int b = 0; b < 2; b++) {
        sprag_side_make(&pair[b], gap->beyond ? NULL : gap->point[b], horizon, &a->side[b]);
    }
    a->pair = pair;
    a->level = level + fmin(SPRAG_TOI_MARGIN * level, (gap->distance - level) / 2);
    a->horizon = horizon;
    a->spin = norm3(a->side[0].velocity + 3) + norm3(a->side[1].velocity + 3);
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
    certificate->plane.kind = SPRAG_NO_PLANE;
    sprag_time_of_impact_again(pair, gap, level, horizon, certificate);
}

void sprag_time_of_impact_again(const sprag_carried pair[2], const sprag_gap *gap, double level,
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
        bool far = is_far(&a, seen.normal, seen.distance);
        bool kept = !far && i == 0 && follow_kept(&a, &certificate->plane, &plane);
        bool found = !far && (kept || best_plane(&a, seen.normal, &plane));
        if (found && (i == 0 || plane.time > 0)) {
            keep_plane(&a, &plane, &certificate->plane);
        }
        expansions += a.expansions;
        certificate->expansions = expansions;
        if (!far && !found) {
            break;
        }
        if (far || plane.time >= a.horizon) {
            *certificate = (sprag_certificate){horizon, true, .expansions = expansions,
                                               .plane = certificate->plane};
            certificate->height = gap->distance;
            certificate->lowest = level;
            memcpy(certificate->normal, gap->normal, sizeof certificate->normal);
            if (!gap->beyond) {
                memcpy(certificate->point, gap->point[0], sizeof certificate->point);
            }
            return;
        }
        if (i == 0 || plane.time > 0) {
            set_certificate(&a, &plane, passed, horizon, certificate);
        }
        passed += plane.time;
        certificate->time = passed;
        if (!(plane.time > SPRAG_TOI_PROGRESS * horizon) ||
            !restart_at(pair, passed, motion, now, &seen) ||
            seen.distance < SPRAG_TOI_NEAR * level) {
            break;
        }
    }
}
