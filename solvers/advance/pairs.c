// Gaps, contact points and safe times of the pairs.
#include <math.h>
#include <string.h>

#include "advance_run.h"
#include "kinematics.h"

// m, gap up to which a pair is closed. The straight path of the centre lifts the contact point of a
// turning body off, by w^2 r t^2 / 2 in a sub-step. A pair that has just had a force stays closed
// up to that height: otherwise it would fall back and land again and again, an event each time.
static double reach_of_contact(const advance_run *run, int pair)
{
    const advance_near *near = &run->near[pair];
    double rise = 0;
    for (int side = 0; side < 2 && near->memory->active; side++) {
        const sprag_motion *motion = near->carried[side]->motion;
        if (motion) {
            rise += dot3(motion->velocity + 3, motion->velocity + 3) * near->radius[side];
        }
    }
    rise *= run->left * run->left; // twice the height
    return fmax(run->options->epsilon,
                fmin(rise, advance_rolling_reach * fmax(near->radius[0], near->radius[1])));
}

advance_point *advance_add_point(advance_run *run)
{
    advance_point *all = sprag_scratch_widen(run->scratch, run->points.point, run->points.count,
                                             &run->points.room, 64, sizeof *all);
    if (!all) {
        run->result = SPRAG_NO_MEMORY;
        return NULL;
    }
    run->points.point = all;
    advance_point *p = &run->points.point[run->points.count++];
    memset(p, 0, sizeof *p);
    run->points.added++;
    return p;
}

bool advance_accepts(advance_run *run, int pair)
{
    sprag_pair *p = &run->frame->pair[pair];
    if (p->state == SPRAG_PAIR_UNKNOWN) {
        const sprag_frame_calls *calls = run->calls;
        bool accepted = calls->ask_pair &&
                        calls->ask_pair(calls->data, pair, run->near[pair].gap.distance, run->time);
        p->state = accepted ? SPRAG_PAIR_ACCEPTED : SPRAG_PAIR_DECLINED;
    }
    return p->state == SPRAG_PAIR_ACCEPTED;
}

// m, by which the gap of a pair can close in t, whatever the direction, at the velocities of the
// motions (the denominator of Eq. 4).
static double closing(const advance_run *run, int pair, double t)
{
    const advance_near *near = &run->near[pair];
    double difference[3] = {0}, speed = 0;
    for (int side = 0; side < 2; side++) {
        const sprag_motion *motion = near->carried[side]->motion;
        if (motion) {
            const double turn = sprag_carried_spin(near->carried[side]);
            add_scaled(difference, side ? -1 : 1, motion->velocity, 3);
            speed += turn > 0 ? turn * near->radius[side] : 0;
        }
    }
    return (norm3(difference) + speed) * t;
}

static sprag_result find_gap(advance_run *run, int pair, double reach, double margin,
                             sprag_manifold *manifold)
{
    advance_near *near = &run->near[pair];
    const sprag_gap_query query = {reach, margin};
    sprag_result result =
        sprag_gap_find(near->shape, near->pose, &query, &near->memory->gap, &near->gap, manifold);
    const bool polytope =
        near->shape[0]->kind == SPRAG_POLYTOPE || near->shape[1]->kind == SPRAG_POLYTOPE;
    advance_spend(run, near->gap.work);
    run->work_left -= polytope ? ADVANCE_POLYTOPE_WORK : 0;
    const bool overlaps =
        result != SPRAG_BAD_PROBLEM && !near->gap.beyond && near->gap.distance < 0;
    if (overlaps && near->triangle >= 0 && !advance_lies_behind(run, pair)) {
        sprag_gap_by_front(near->shape, near->pose, near->triangle, false, margin, &near->gap,
                           manifold);
    }
    if (result != SPRAG_BAD_PROBLEM && advance_is_through(run, pair)) {
        near->gap.distance = -near->gap.distance;
        sprag_gap_by_front(near->shape, near->pose, 1, true, margin, &near->gap, manifold);
    }
    memcpy(near->memory->normal, near->gap.normal, sizeof near->gap.normal);
    near->fresh = result != SPRAG_BAD_PROBLEM && !near->gap.beyond;
    near->clear = result == SPRAG_BAD_PROBLEM ? 0 : near->gap.distance;
    return result;
}

double advance_rate(const advance_near *near, const double at[2][3], const double *normal)
{
    double rate = 0, arm[3], u[3];
    for (int side = 0; side < 2; side++) {
        const sprag_motion *motion = near->carried[side]->motion;
        if (motion) {
            subtract3(at[side], motion->pose.position, arm);
            point_velocity(motion->velocity, arm, u);
            rate += (side ? -1 : 1) * dot3(normal, u);
        }
    }
    return rate;
}

// m/s, along a normal, of the nearest points.
static double approach_along(const advance_near *near, const double *normal)
{
    return -advance_rate(near, (const double(*)[3])near->gap.point, normal);
}

// m, least gap of a face that a contact may be with instead of the nearest points. A gap below the
// target is opened: of bodies at rest, whose approach is rounding, no face has less than the gap.
static double least_face_gap(const advance_run *run, const advance_near *near)
{
    return approach_along(near, near->gap.normal) > advance_touching_speed
               ? run->level
               : (1 - advance_gap_tolerance) * fmin(near->gap.distance, run->target);
}

// A body that slides over the edge between two triangles or boxes is nearest to that edge when it
// arrives, and would collide with it. If a face separates the two shapes, and they approach it more
// slowly than the edge, the contact is with that face. false: no such face.
static bool face_between(const advance_run *run, int pair, double normal[3], double *gap)
{
    const advance_near *near = &run->near[pair];
    const double lowest = least_face_gap(run, near);
    double least = approach_along(near, near->gap.normal);
    double local[3], towards[3], n[3];
    bool found = false;
    least -= advance_face_margin * fabs(least);
    for (int side = 0; side < 2; side++) {
        const sprag_shape *shape = near->shape[side];
        const double *R = near->pose[side]->rotation, sign = side ? 1 : -1;
        mul33_transposed(R, near->gap.normal, towards);
        for (int i = 0; shape->kind != SPRAG_CYLINDER && i < ADVANCE_MOST_FACES &&
                        sprag_shape_face(shape, i, local);
             i++) {
            if (!(sign * dot3(local, towards) * near->gap.distance > lowest)) { // the gap, at most
                continue;
            }
            mul33(R, local, n);
            scale3(sign, n, n);
            if (!(approach_along(near, n) < least)) {
                continue;
            }
            double apart = sprag_gap_along(near->shape, near->pose, n);
            if (apart > lowest) {
                least = approach_along(near, n);
                memcpy(normal, n, sizeof n);
                *gap = apart;
                found = true;
            }
        }
    }
    return found;
}

// surface: the normal of the contact, of the gap or of a mesh. margin: m, points farther apart are
// left out.
static void add_points(advance_run *run, int pair, const double surface[3], double margin,
                       const sprag_manifold *manifold)
{
    advance_near *near = &run->near[pair];
    double face[3], apart = 0;
    bool own = memcmp(surface, near->gap.normal, sizeof near->gap.normal) == 0;
    bool on_face = own && near->gap.distance > run->level &&
                   approach_along(near, near->gap.normal) > 0 &&
                   face_between(run, pair, face, &apart);
    const double *normal = on_face ? face : surface;
    for (int i = 0; i < manifold->count; i++) {
        const double(*at)[3] = manifold->point[i];
        if (manifold->gap[i] > margin || advance_has_point(run, pair, at, normal)) {
            continue;
        }
        advance_point *point = advance_add_point(run);
        if (!point) {
            return;
        }
        near->points++;
        point->pair = pair;
        point->gap = on_face ? apart : manifold->gap[i];
        memcpy(point->at, at, sizeof point->at);
        memcpy(point->normal, normal, sizeof point->normal);
    }
}

// Is the gap an overlap? Rounding alone does not bring it so far below the level.
static bool overlaps_at(const advance_run *run, double gap)
{
    return gap < advance_overlap_level * run->level;
}

// Sets and counts overlaps. Bodies that a program has placed flush are separated like overlapping
// ones, but not counted. What the frame starts with needs more room not to be an overlap: between
// less than that and an overlap nothing could move.
static void update_overlap(advance_run *run, int pair)
{
    sprag_pair *p = &run->frame->pair[pair];
    double gap = run->near[pair].gap.distance;
    const bool starts = run->time == 0;
    bool overlaps =
        starts || p->overlapped ? gap < advance_least_level * run->level : overlaps_at(run, gap);
    if (overlaps && !p->overlapped) {
        bool deep = starts && gap < -run->options->epsilon;
        run->stats->squeezed += !starts;
        run->stats->overlaps += deep;
        p->began_deep |= deep;
    }
    p->overlapped = overlaps;
}

// A shape that touches a mesh only at a seam has no contact there; one that overlaps the mesh there
// is pushed out of the front. At a seam in a plane the shape has the contacts of the plane, if it
// is in front of that. normal: in, out.
static bool is_contact(advance_run *run, int pair, double margin, sprag_manifold *manifold,
                       double normal[3])
{
    advance_near *near = &run->near[pair];
    const int triangle = near->triangle;
    const advance_seam seam = advance_find_seam(run, pair);
    memcpy(normal, near->gap.normal, sizeof near->gap.normal);
    if (seam == ADVANCE_NO_SEAM) {
        return true;
    }
    if (overlaps_at(run, near->gap.distance)) {
        if (!advance_lies_behind(run, pair)) {
            sprag_gap_by_front(near->shape, near->pose, triangle, true, margin, &near->gap,
                               manifold);
        }
        near->clear = near->gap.distance;
        memcpy(normal, near->gap.normal, sizeof near->gap.normal);
        return true;
    }
    return seam == ADVANCE_LEVEL_SEAM &&
           sprag_triangle_manifold(near->shape, near->pose, triangle, margin, normal, manifold) &&
           !overlaps_at(run, sprag_gap_along(near->shape, near->pose, normal));
}

static void scan_pair(advance_run *run, int pair, double reach)
{
    advance_near *near = &run->near[pair];
    double touching = reach_of_contact(run, pair);
    near->memory->reach = touching;
    // A body that is pushed out of an overlap gets contacts with bodies that it may be pushed to.
    bool accepted = run->frame->pair[pair].state == SPRAG_PAIR_ACCEPTED;
    double band = accepted ? 2 * run->push.speed * run->left : 0;
    double most = 2 * closing(run, pair, reach) + touching + band;
    near->fresh = near->closed = near->slowed = false;
    near->points = 0;
    if (near->clear > most) {
        return;
    }
    sprag_manifold manifold;
    double normal[3];
    const double gained = run->acceleration * run->floor; // m/s, in the shortest sub-step
    const double closes = fmax(touching, closing(run, pair, run->floor) + gained * run->floor);
    if (!near->memory->closed) {
        const double apart = sprag_gap_along(near->shape, near->pose, near->gap.normal); // the last
        if (apart > closes + band) {
            near->clear = fmax(near->clear, apart);
            return;
        }
    }
    if (find_gap(run, pair, most, advance_manifold_margin * (closes + band), &manifold) ==
        SPRAG_BAD_PROBLEM) {
        run->result = SPRAG_BAD_PROBLEM;
        return;
    }
    if (near->gap.beyond) {
        return;
    }
    // All points that close as far as the nearest one may: what lands flat is hit at all corners.
    touching = fmax(touching, (approach_along(near, near->gap.normal) + gained) * run->floor);
    const double margin = advance_manifold_margin * (touching + band);
    if (near->gap.distance <= touching + band && is_contact(run, pair, margin, &manifold, normal) &&
        advance_accepts(run, pair)) {
        update_overlap(run, pair);
        if (run->frame->pair[pair].overlapped && advance_is_far_side(run, pair)) {
            return;
        }
        near->closed = near->gap.distance <= touching;
        add_points(run, pair, normal, margin, &manifold);
    }
}

void advance_scan(advance_run *run, double reach)
{
    const sprag_frame *frame = run->frame;
    advance_spend(run, ADVANCE_LOOK_WORK * frame->pairs);
    run->points.count = 0;
    run->crossing_first = -1;
    for (int i = 0; i < frame->colliders; i++) {
        sprag_carried_at(&run->side[i].carried, 0, &run->side[i].pose);
    }
    for (int i = 0; i < frame->pairs && run->result == SPRAG_OK; i++) {
        if (frame->pair[i].state != SPRAG_PAIR_DECLINED) {
            scan_pair(run, i, reach);
        }
        const advance_near *near = &run->near[i];
        bool certified = near->fresh && !frame->pair[i].overlapped &&
                         frame->pair[i].state != SPRAG_PAIR_DECLINED;
        if (certified) {
            run->stats->least_gap = fmin(run->stats->least_gap, near->gap.distance);
        }
        if (certified && near->closed && near->memory->active) {
            run->stats->largest_gap = fmax(run->stats->largest_gap, near->gap.distance);
        }
    }
    sprag_scratch_reset(run->solving);
    advance_thin_out(run);
    run->points.closed = run->points.count;
    advance_find_push(run);
}

// m, that the certified gap does not fall below: the level, or half the gap of bodies that fit more
// tightly, and never what counts as an overlap: the pair would be let through.
static double level_of(const advance_run *run, double gap)
{
    double margin = advance_level_margin * run->level;
    double least = fmin(advance_least_level * run->level, gap - margin);
    double open = fmin(advance_overlap_level * run->level + margin, gap);
    return fmin(run->level, fmax(fmax(least, open), 0.5 * gap));
}

static bool stays_apart(const advance_run *run, int pair, double horizon)
{
    const advance_near *near = &run->near[pair];
    const sprag_carried carried[2] = {*near->carried[0], *near->carried[1]};
    const double level = near->fresh ? level_of(run, near->gap.distance) : run->level;
    return sprag_stay_apart(carried, near->pose, near->gap.normal, level, horizon);
}

static void find_impact(advance_run *run, int pair, double horizon)
{
    advance_near *near = &run->near[pair];
    const sprag_carried carried[2] = {*near->carried[0], *near->carried[1]};
    sprag_time_of_impact(carried, &near->gap, level_of(run, near->gap.distance), horizon,
                         &near->certificate);
    advance_spend(run, ADVANCE_EXPANSION_WORK * (double)near->certificate.expansions);
}

// A triangle may block a shape in a coarse plan by its side, as seen from far, although the shape
// passes over it, or meets others first. Then another plane between the two is followed, if it asks
// for less change of the motion; if it blocks, too, the contact is with it. Where events are
// located, they tell when the others are met.
static void pass_over(advance_run *run, int pair, double horizon)
{
    advance_near *near = &run->near[pair];
    sprag_certificate *c = &near->certificate;
    double plane[3];
    const bool asks = !c->whole && advance_is_coarse(run);
    const int carrier = asks ? advance_other_plane(run, pair, horizon, plane) : -1;
    if (carrier < 0) {
        return;
    }
    const double height = sprag_gap_along(near->shape, near->pose, plane),
                 lowest = advance_lowest_along(run, pair, plane, height, horizon);
    if (lowest > advance_lowest_along(run, pair, c->normal, c->height, horizon)) {
        c->plane = (sprag_kept_plane){SPRAG_CARRIED_PLANE, .carrier = carrier};
        mul33_transposed(near->pose[carrier]->rotation, plane, c->plane.normal);
        find_impact(run, pair, horizon);
        memcpy(c->normal, plane, sizeof plane);
        c->height = height;
        c->lowest = fmin(lowest, run->level); // where it blocks
    }
}

static void certify_pair(advance_run *run, int pair, double horizon)
{
    advance_near *near = &run->near[pair];
    const sprag_pair *p = &run->frame->pair[pair];
    near->certificate.time = INFINITY;
    near->certificate.side = -1;
    if (p->state == SPRAG_PAIR_DECLINED || p->overlapped) {
        return;
    }
    double most = closing(run, pair, horizon);
    if (near->clear - most > run->level || stays_apart(run, pair, horizon)) {
        return;
    }
    advance_spend(run, ADVANCE_CERTIFICATE_WORK);
    if (advance_is_spent(run, 0)) { // it stands
        near->certificate.time = most > 0 ? 0 : INFINITY;
        return;
    }
    if (!near->fresh) {
        find_gap(run, pair, 2 * most + run->options->epsilon, 0, NULL);
        if (!near->fresh) {
            near->certificate.time = near->gap.beyond ? INFINITY : 0;
            return;
        }
        if (stays_apart(run, pair, horizon)) {
            return;
        }
    }
    find_impact(run, pair, horizon);
    pass_over(run, pair, horizon);
    if (near->certificate.whole) {
        near->certificate.time = INFINITY;
    }
}

static bool has_moved(const advance_run *run, int pair, const bool *moved)
{
    const int *body = run->near[pair].body;
    return moved[body[0]] || (body[1] != SPRAG_STATIC && moved[body[1]]);
}

void advance_certify(advance_run *run, double horizon, const bool *moved, advance_ends_fn *ends)
{
    const int last = run->attempt.blocking; // it is likely to block again
    double until = horizon;
    advance_spend(run, ADVANCE_LOOK_WORK * run->frame->pairs);
    run->attempt.safe = horizon;
    run->attempt.blocking = -1;
    for (int k = -1; k < run->frame->pairs; k++) {
        const int i = k < 0 ? last : k;
        if (k == last) {
            continue;
        }
        const double *time = &run->near[i].certificate.time;
        if (!moved || has_moved(run, i, moved)) {
            certify_pair(run, i, until);
        }
        if (*time < run->attempt.safe) {
            run->attempt.safe = *time;
            run->attempt.blocking = i;
        }
        if (ends && *time < until && ends(run, i)) {
            until = *time;
        }
    }
}

void advance_move_pairs(advance_run *run, double t)
{
    for (int i = 0; i < run->frame->pairs; i++) {
        run->near[i].clear -= closing(run, i, t);
    }
}

void advance_check_gaps(advance_run *run, double t)
{
    for (int i = 0; i < 3 * run->frame->pairs; i++) {
        const sprag_pair *pair = &run->frame->pair[i / 3];
        const advance_near *near = &run->near[i / 3];
        const sprag_carried carried[2] = {*near->carried[0], *near->carried[1]};
        sprag_gap gap;
        if (pair->state != SPRAG_PAIR_DECLINED && !pair->overlapped &&
            sprag_carried_gap(carried, t * (i % 3 + 1) / 3, run->options->epsilon, &gap) !=
                SPRAG_BAD_PROBLEM) {
            run->stats->least_gap = fmin(run->stats->least_gap, gap.distance);
        }
    }
}
