// Events of a sub-step: contacts made and lost, slip that begins and ends.
#include <math.h>
#include <string.h>

#include "advance_run.h"
#include "kinematics.h"
#include "linalg.h"

void advance_report(advance_run *run, sprag_event_kind kind, double after, int pair,
                    const double *at, const double *normal, double speed)
{
    sprag_event event = {.kind = kind, .pair = pair, .time = run->time + after, .speed = speed};
    run->stats->events[kind]++;
    if (at) {
        memcpy(event.point, at, sizeof event.point);
        memcpy(event.normal, normal, sizeof event.normal);
    }
    if (run->calls->event) {
        run->calls->event(run->calls->data, &event);
    }
}

void advance_stall(advance_run *run, double time, int pair)
{
    run->stats->stalled += time;
    advance_report(run, SPRAG_STALLED, 0, pair, NULL, NULL, 0);
}

// s, from the start of the sub-step, at which a slip that ends within it does so: full friction
// would have ended it before the end, by the share of it that was used.
static double slip_duration(const advance_run *run, const advance_point *point)
{
    const sprag_friction *slide = &run->frame->pair[point->pair].surface.slide;
    double mu = fmin(slide->coefficient[0], slide->coefficient[1]), along[3];
    double most = mu * point->normal_force;
    if (!(most > 0) || isinf(most) || slide->force[0] || slide->force[1]) {
        return run->attempt.length;
    }
    memcpy(along, point->wrench[0], sizeof along);
    add_scaled(along, -dot3(along, point->normal), point->normal, 3);
    return run->attempt.length * fmin(1, norm3(along) / most);
}

// m/s, along the surface, of a point by the velocities of the bodies; *approach: at which they come
// nearer.
static double slip_of(const advance_run *run, const advance_point *point, const double *velocity,
                      size_t bytes, double *approach)
{
    double slip[3] = {0}, arm[3], own[3];
    for (int side = 0; side < 2; side++) {
        const int body = run->near[point->pair].body[side];
        if (body != SPRAG_STATIC) {
            subtract3(point->at[side], run->frame->body[body].pose.position, arm);
            point_velocity((const void *)((const char *)velocity + (size_t)body * bytes), arm, own);
            add_scaled(slip, side ? -1 : 1, own, 3);
        }
    }
    *approach = -dot3(point->normal, slip);
    add_scaled(slip, *approach, point->normal, 3);
    return norm3(slip);
}

// Compares the pairs from first to end: one pair, or the triangles of one mesh.
static void compare_pair(advance_run *run, int first, int end, int *at)
{
    const advance_point *best = NULL; // the point with the largest force
    bool was = false, is = false, slipped = false;
    int lost = first;
    for (int i = first; i < end; i++) {
        const advance_near *near = &run->near[i];
        is |= near->closed;
        was |= near->memory->closed > 0;
        slipped |= near->memory->slips;
        lost = near->memory->closed ? i : lost;
    }
    for (; *at < run->points.closed && run->points.point[*at].pair < end; ++*at) {
        const advance_point *point = &run->points.point[*at];
        if (run->near[point->pair].closed && (!best || point->normal_force > best->normal_force)) {
            best = point;
        }
    }
    double slip[2] = {0, 0}, approach[2] = {0, 0}; // before and after
    if (best) {
        slip[0] = slip_of(run, best, run->frame->body->velocity, sizeof(sprag_mover), approach);
        slip[1] =
            slip_of(run, best, *run->attempt.velocity, sizeof *run->attempt.velocity, approach + 1);
    }
    if (best && !was) {
        advance_report(run, SPRAG_CONTACT_MADE, 0, best->pair, best->at[0], best->normal,
                       approach[0]);
    } else if (!is && was) {
        const sprag_gap *gap = &run->near[lost].gap;
        advance_report(run, SPRAG_CONTACT_LOST, 0, lost, gap->point[0], gap->normal, 0);
    }
    if (best) {
        const double slow = fmax(1e-6, 2 * run->stats->solve.stiction); // m/s: sticks
        const bool slips = slip[1] > slow;
        if (was && slips != slipped && best->normal_force > 0) {
            advance_report(run, slips ? SPRAG_SLIP_BEGINS : SPRAG_SLIP_ENDS,
                           slips ? 0 : slip_duration(run, best), best->pair, best->at[0],
                           best->normal, slip[slips]);
        }
        for (int i = first; i < end; i++) {
            run->near[i].memory->slips = slips;
        }
    }
}

void advance_compare_contacts(advance_run *run)
{
    int points = run->points.closed, at = 0;
    if (points != run->points.last_closed && points > 0) {
        run->stats->changes++;
    }
    run->points.last_closed = points > 0 ? points : run->points.last_closed;
    for (int first = 0, end; first < run->frame->pairs; first = end) {
        end = run->near[first].mesh_end;
        compare_pair(run, first, end, &at);
    }
}
