// Candidate planes, the best of them, and another look from where that ends.
#include "certificate.h"

#include "toi_pair.h"

static const double still = 1e-12; // rad within the horizon: goes straight
static const double absurd = 1e3;  // rad
static const double spare = 1e-3;  // of the level: shapes end so much above it that rounding, when
                                   // they are asked next, leaves them there, free to part

enum { PLANES = 16, FACES = 6, EXPANSIONS = 24, DEEPER = 3, LOOKS = 4 };

// ---- sides

void sprag_turned(const double w[3], double t, const double a[3], double out[3])
{
    double rate = norm3(w), half = rate > 0 ? sin(rate * t / 2) / rate : t / 2;
    double sine = rate > 0 ? sin(rate * t) / rate : t, wa[3], wwa[3];
    cross3(w, a, wa);
    cross3(w, wa, wwa);
    for (int k = 0; k < 3; k++) {
        out[k] = a[k] + sine * wa[k] + 2 * half * half * wwa[k];
    }
}

void sprag_approach_at(sprag_approach *a, double begin, double length)
{
    for (int b = 0; b < 2 && begin != a->begin; b++) {
        sprag_side *side = &a->side[b];
        sprag_motion motion = {.pose.position = {0}};
        sprag_pose pose;
        memcpy(motion.pose.position, side->start, sizeof side->start);
        memcpy(motion.pose.rotation, side->start_rotation, sizeof side->start_rotation);
        memcpy(motion.velocity, side->velocity, sizeof side->velocity);
        if (begin == 0) {
            pose = motion.pose;
        } else {
            sprag_motion_at(&motion, begin, &pose);
        }
        memcpy(side->x, pose.position, sizeof side->x);
        memcpy(side->rotation, pose.rotation, sizeof side->rotation);
    }
    a->begin = begin;
    a->length = length;
}

void sprag_side_vertex(const sprag_side *side, int vertex, double r[3])
{
    static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    sprag_core core = {
        side->shape, identity, {side->origin[0], side->origin[1], side->origin[2]}, NULL};
    if (vertex == SPRAG_NO_VERTEX) {
        memcpy(r, side->origin, sizeof side->origin);
        return;
    }
    sprag_core_vertex(&core, vertex, r);
}

int sprag_side_support(const sprag_side *side, const double direction[3], double r[3])
{
    static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    sprag_core core = {
        side->shape, identity, {side->origin[0], side->origin[1], side->origin[2]}, NULL};
    if (side->shape->kind == SPRAG_PLANE) {
        memcpy(r, side->origin, 3 * sizeof *r);
        return SPRAG_NO_VERTEX;
    }
    return sprag_core_support(&core, direction, r);
}

static double reach_of(const sprag_side *side)
{
    const sprag_shape *shape = side->shape;
    double own = 0, most = 0;
    switch (shape->kind) {
    case SPRAG_CAPSULE:
        own = shape->half[2];
        break;
    case SPRAG_CYLINDER:
        own = hypot(shape->half[2], shape->radius);
        break;
    case SPRAG_BOX:
        own = norm3(shape->half);
        break;
    case SPRAG_POLYTOPE:
        for (int i = 0; i < shape->polytope->vertices; i++) {
            double r[3] = {side->origin[0], side->origin[1], side->origin[2]};
            add_scaled(r, 1, shape->polytope->vertex[i], 3);
            double square = dot3(r, r);
            most = square > most ? square : most;
        }
        return sqrt(most);
    case SPRAG_SPHERE:
    case SPRAG_PLANE:
    case SPRAG_SHAPE_KINDS:
        break;
    }
    return norm3(side->origin) + own;
}

// near: some point by the other shape, to refer to if the body does not turn.
static void make_side(const sprag_carried *carried, const double *near, double horizon,
                      sprag_side *side)
{
    sprag_pose pose;
    double from[3];
    memset(side->velocity, 0, sizeof side->velocity);
    side->shape = carried->shape;
    if (carried->motion) {
        const double *R = carried->motion->pose.rotation;
        memcpy(side->velocity, carried->motion->velocity, sizeof side->velocity);
        mul33(R, carried->mount.position, pose.position);
        add_scaled(pose.position, 1, carried->motion->pose.position, 3);
        for (int i = 0; i < 9; i++) {
            const double *column = carried->mount.rotation + i % 3;
            pose.rotation[i] = R[i - i % 3] * column[0] + R[i - i % 3 + 1] * column[3] +
                               R[i - i % 3 + 2] * column[6];
        }
    } else {
        pose = carried->mount;
    }
    bool turns = norm3(side->velocity + 3) * horizon >= still;
    if (turns) {
        memcpy(side->start, carried->motion->pose.position, sizeof side->start);
    } else {
        memset(side->velocity + 3, 0, 3 * sizeof *side->velocity);
        memcpy(side->start, near ? near : pose.position, sizeof side->start);
    }
    memcpy(side->start_rotation, pose.rotation, sizeof pose.rotation);
    memcpy(side->x, side->start, sizeof side->x);
    memcpy(side->rotation, pose.rotation, sizeof pose.rotation);
    subtract3(pose.position, side->start, from);
    mul33_transposed(pose.rotation, from, side->origin);
    sprag_core core = {.shape = side->shape};
    side->margin = sprag_core_margin(&core);
    side->reach = reach_of(side);
}

// ---- planes

typedef struct candidates {
    int count;
    sprag_plane plane[PLANES];
    double worth[PLANES];
} candidates;

static void add(candidates *c, const sprag_plane *plane, double worth)
{
    int at = c->count < PLANES ? c->count++ : PLANES;
    for (; at > 0 && c->worth[at - 1] < worth; at--) {
        if (at < PLANES) {
            c->worth[at] = c->worth[at - 1];
            c->plane[at] = c->plane[at - 1];
        }
    }
    if (at < PLANES) {
        c->worth[at] = worth;
        c->plane[at] = *plane;
    }
}

// A plane that the holder carries; of equal ones the slower first.
static void add_carried(const sprag_approach *a, int holder, const double normal[3], double worth,
                        candidates *c)
{
    const sprag_side *side = &a->side[holder];
    sprag_plane plane = {.holder = holder};
    double local[3], sign = holder ? 1 : -1, spin = norm3(side->velocity + 3);
    memcpy(plane.normal, normal, sizeof plane.normal);
    if (side->shape->kind != SPRAG_SPHERE || norm3(side->origin) > 0) {
        memcpy(plane.spin, side->velocity + 3, sizeof plane.spin);
    }
    mul33_transposed(side->start_rotation, normal, local);
    for (int k = 0; k < 3; k++) {
        local[k] *= sign;
    }
    sprag_side_support(side, local, plane.point[holder]);
    plane.support = dot3(plane.point[holder], local);
    add(c, &plane, worth - (a->angle > 0 ? 1e-6 * spin / a->angle : 0));
}

// Faces of a side that look along the normal, as the side sees it. true: one of them exactly so.
static bool add_faces(const sprag_approach *a, int b, const double normal[3], candidates *c)
{
    const sprag_side *side = &a->side[b];
    const sprag_shape *shape = side->shape;
    double local[3], best[FACES], outwards[FACES][3], sign = b ? 1 : -1;
    int count = 0;
    mul33_transposed(side->start_rotation, normal, local);
    bool axes = shape->kind == SPRAG_BOX || shape->kind == SPRAG_CYLINDER;
    int faces = axes ? 3 : shape->kind == SPRAG_POLYTOPE ? shape->polytope->faces : 0;
    // What slides over a mesh comes to the next triangle from its side, but stays above its plane.
    double least = !axes && faces == 2 ? -0.1 : 0.1;
    for (int i = shape->kind == SPRAG_CYLINDER ? 2 : 0; i < faces; i++) {
        double axis[3] = {i == 0, i == 1, i == 2}, along = axes ? sign * local[i] : 0;
        if (axes) {
            axis[i] = copysign(1, along);
            along = fabs(along);
        } else {
            memcpy(axis, shape->polytope->normal[i], sizeof axis);
            along = sign * dot3(axis, local);
        }
        if (along < least || (count == FACES && along <= best[FACES - 1])) {
            continue;
        }
        int at = count < FACES ? count++ : FACES - 1;
        for (; at > 0 && best[at - 1] < along; at--) {
            best[at] = best[at - 1];
            memcpy(outwards[at], outwards[at - 1], sizeof outwards[at]);
        }
        best[at] = along;
        memcpy(outwards[at], axis, sizeof axis);
    }
    for (int i = 0; i < count; i++) {
        double n[3];
        mul33(side->start_rotation, outwards[i], n);
        for (int k = 0; k < 3; k++) {
            n[k] *= sign;
        }
        add_carried(a, b, n, best[i] + 1e-9, c);
    }
    return count > 0 && best[0] > 1 - 1e-15;
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
        sprag_plane plane = {.holder = -1};
        memcpy(plane.normal, normal, sizeof plane.normal);
        add(c, &plane, 2);
    }
}

// ---- following them

static double follow(sprag_approach *a, sprag_plane *plane, double begin, double length)
{
    sprag_approach_at(a, begin, length);
    return plane->crossing ? sprag_crossing_follow(a, plane) : sprag_plane_follow(a, plane);
}

static bool has_rim(const sprag_approach *a)
{
    return a->side[0].shape->kind == SPRAG_CYLINDER || a->side[1].shape->kind == SPRAG_CYLINDER;
}

// An expansion's own rest ends it early: then there is more to be had from where it ends.
static void follow_on(sprag_approach *a, sprag_plane *plane, double longest)
{
    bool rims = has_rim(a);
    double try = longest;
    for (int i = 0; i < EXPANSIONS && plane->time < a->horizon; i++) {
        double left = a->horizon - plane->time, length = fmin(fmin(left, longest), try);
        double u = follow(a, plane, plane->time, length), gain = u * length;
        if (u >= 1) {
            plane->time = length == left ? a->horizon : plane->time + length;
            try = 4 * length;
            continue;
        }
        plane->time += gain;
        try = rims ? fmax(2 * gain, length / 8) : longest;
        if (gain < (rims ? 1e-12 : 1e-9) * a->horizon && (!rims || length < 1e-6 * a->horizon)) {
            break;
        }
    }
}

static double longest_of(const sprag_approach *a)
{
    return a->angle * a->horizon > 1 ? 1 / a->angle : a->horizon;
}

static bool first_look(sprag_approach *a, sprag_plane *plane, double longest)
{
    double u = follow(a, plane, 0, longest);
    plane->time = u >= 1 && longest == a->horizon ? a->horizon : u * longest;
    return plane->time >= a->horizon;
}

// Of two that end together, that of the edges tells better where.
static double merit(const sprag_plane *plane)
{
    return plane->crossing ? plane->time * (1 + 1e-6) : plane->time;
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

// Whether the shapes are too near soon after t: then no plane lasts longer.
static bool closes_at(const sprag_approach *a, double t)
{
    static const double soon = 1e-3;
    double after = fmin(t * (1 + soon) + 1e-6 * a->horizon, a->horizon);
    const sprag_shape *const shape[2] = {a->side[0].shape, a->side[1].shape};
    const sprag_gap_query query = {.reach = a->level};
    sprag_approach then = *a;
    sprag_pose pose[2];
    sprag_gap gap;
    sprag_approach_at(&then, after, 0);
    for (int b = 0; b < 2; b++) {
        const sprag_side *side = &then.side[b];
        memcpy(pose[b].rotation, side->rotation, sizeof side->rotation);
        mul33(side->rotation, side->origin, pose[b].position);
        add_scaled(pose[b].position, 1, side->x, 3);
    }
    const sprag_pose *const where[2] = {&pose[0], &pose[1]};
    return sprag_gap_find(shape, where, &query, NULL, &gap, NULL) == SPRAG_OK && !gap.beyond &&
           gap.distance < a->level;
}

typedef struct ranking {
    int count;
    sprag_plane *plane[PLANES + SPRAG_CROSSINGS];
} ranking;

// true: it lasts.
static bool try_plane(sprag_approach *a, sprag_plane *plane, ranking *r)
{
    r->plane[r->count++] = plane;
    return first_look(a, plane, longest_of(a));
}

// Looks at the likeliest plane, then at the edges that the normal is across, then at what is left.
// Returns the first that lasts, or that ends when the shapes meet; else the one that lasts longest;
// NULL: none separates them.
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
    if (crossings > 0 && dot3(crossing[0].normal, normal) > 1 - 1e-9 &&
        try_plane(a, &crossing[crossed++], &r)) {
        return &crossing[0];
    }
    sort_by_time(r.plane, r.count);
    if (r.count > 0 && r.plane[0]->time > 0 && closes_at(a, r.plane[0]->time)) {
        follow_on(a, r.plane[0], longest);
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
    int deeper = r.count < DEEPER ? r.count : DEEPER;
    for (int i = 0; i < deeper && (r.plane[i]->time > 0 || has_rim(a)); i++) {
        follow_on(a, r.plane[i], longest);
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

// ---- far apart: a normal that stays, and how fast anything moves along it (Mirtich's)
static bool stay_far(const sprag_approach *a, const double normal_found[3], double distance)
{
    double room = distance - a->level, closing = 0, across[3], sum = 0, normal[3];
    memcpy(normal, normal_found, sizeof normal);
    for (int b = 0; b < 2; b++) { // a half-space has one normal alone
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

// ---- what blocks

static void point_at(const sprag_side *side, const double local[3], double t, double point[3])
{
    double r[3];
    mul33(side->start_rotation, local, r);
    sprag_turned(side->velocity + 3, t, r, point);
    add_scaled(point, 1, side->start, 3);
    add_scaled(point, t, side->velocity, 3);
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

double sprag_plane_height(const sprag_approach *a, const sprag_plane *plane, double t,
                          double normal[3])
{
    double n[3], point[2][3], between[3];
    if (!plane->crossing || !crossing_normal(a, plane, t, n)) {
        sprag_turned(plane->spin, t, plane->normal, n);
    }
    double radii = 0;
    for (int b = 0; b < 2; b++) {
        point_at(&a->side[b], plane->point[b], t, point[b]);
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
        h[i] = sprag_plane_height(a, plane, i == SAMPLES ? to : from + i * step, NULL);
        if (h[i] < least) {
            least = h[i];
            at = i;
        }
    }
    if (at > 0 && at < SAMPLES) {
        double bend = h[at + 1] - 2 * h[at] + h[at - 1];
        double off = bend > 0 ? (h[at - 1] - h[at + 1]) / (2 * bend) : 0;
        if (fabs(off) <= 1) {
            least = fmin(least, sprag_plane_height(a, plane, from + (at + off) * step, NULL));
        }
    }
    return least;
}

// passed: s, from the certificate's start to that of the approach
static void report(const sprag_approach *a, const sprag_plane *plane, double passed, double horizon,
                   sprag_certificate *c)
{
    const sprag_side *side = &a->side[plane->side];
    c->side = plane->side;
    c->height = sprag_plane_height(a, plane, -passed, c->normal);
    c->lowest = lowest_height(a, plane, -passed, horizon - passed);
    point_at(side, plane->point[plane->side], -passed, c->point);
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

static bool makes_sense(const sprag_carried pair[2], const sprag_gap *gap, double level,
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
    return isfinite(sum) && isfinite(turn) && turn < absurd && horizon >= 0 && level >= 0 &&
           fabs(length - 1) < 1e-6 && gap->distance >= level &&
           !(pair[0].shape->kind == SPRAG_PLANE && pair[1].shape->kind == SPRAG_PLANE);
}

static void look(const sprag_carried pair[2], const sprag_gap *gap, double level, double horizon,
                 sprag_approach *a)
{
    for (int b = 0; b < 2; b++) {
        make_side(&pair[b], gap->beyond ? NULL : gap->point[b], horizon, &a->side[b]);
    }
    a->level = level + fmin(spare * level, (gap->distance - level) / 2);
    a->horizon = horizon;
    a->angle = norm3(a->side[0].velocity + 3) + norm3(a->side[1].velocity + 3);
    a->begin = 0;
    a->length = horizon;
}

// The pair as it is at t.
static bool go_on(const sprag_carried pair[2], double t, sprag_motion motion[2],
                  sprag_carried now[2], sprag_gap *gap)
{
    sprag_pose pose[2];
    for (int b = 0; b < 2; b++) {
        now[b] = pair[b];
        if (pair[b].motion) {
            motion[b] = *pair[b].motion;
            sprag_motion_at(pair[b].motion, t, &motion[b].pose);
            now[b].motion = &motion[b];
        }
        sprag_carried_at(&now[b], 0, &pose[b]);
    }
    const sprag_shape *const shape[2] = {pair[0].shape, pair[1].shape};
    const sprag_pose *const where[2] = {&pose[0], &pose[1]};
    sprag_gap_query query = {.reach = INFINITY};
    return sprag_gap_find(shape, where, &query, NULL, gap, NULL) == SPRAG_OK;
}

void sprag_time_of_impact(const sprag_carried pair[2], const sprag_gap *gap, double level,
                          double horizon, sprag_certificate *certificate)
{
    sprag_approach a;
    sprag_plane plane;
    *certificate = (sprag_certificate){.side = -1, .normal = {1}};
    if (!makes_sense(pair, gap, level, horizon)) {
        return;
    }
    sprag_motion motion[2];
    sprag_carried now[2] = {pair[0], pair[1]};
    sprag_gap seen = *gap;
    double passed = 0;
    memcpy(certificate->normal, gap->normal, sizeof certificate->normal);
    for (int i = 0; i < LOOKS; i++) {
        look(now, &seen, level, horizon - passed, &a);
        bool far = stay_far(&a, seen.normal, seen.distance);
        if (!far && !best_plane(&a, seen.normal, &plane)) {
            break;
        }
        if (far || plane.time >= a.horizon) {
            *certificate = (sprag_certificate){.time = horizon, .whole = true};
            certificate->height = gap->distance;
            certificate->lowest = level;
            memcpy(certificate->normal, gap->normal, sizeof certificate->normal);
            if (!gap->beyond) {
                memcpy(certificate->point, gap->point[0], sizeof certificate->point);
            }
            return;
        }
        if (i == 0 || plane.time > 0) {
            report(&a, &plane, passed, horizon, certificate);
        }
        passed += plane.time;
        certificate->time = passed;
        if (!(plane.time > 1e-8 * horizon) || !go_on(pair, passed, motion, now, &seen) ||
            seen.distance < 1.5 * level) {
            break;
        }
    }
}
