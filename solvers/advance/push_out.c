// Overlaps, and gaps below the target: a share of each overlap is taken back in a frame, and a gap
// is opened in a sub-step, by a displacement that does not become speed.
#include <math.h>
#include <string.h>

#include "advance_solve.h"
#include "linalg.h"

// m/s, separation speed that takes back a share of the overlap at a point; 0: no overlap.
static double overlap_speed(const advance_run *run, const advance_point *point)
{
    const sprag_frame *frame = run->frame;
    if (!advance_is_overlap(run, point)) {
        return 0;
    }
    return fmin(frame->recovery * (run->target - point->gap) / frame->step, frame->recovery_speed);
}

// m/s, separation speed of a point: of an overlap, or of a gap that is much below the target.
// Groups that are planned coarsely while they move fast open their gaps by projection alone.
static double separation_speed(const advance_run *run, const advance_point *point)
{
    bool fast = advance_is_coarse(run) && !run->settling;
    if (fast || point->speculative || advance_is_overlap(run, point) ||
        point->gap >= (1 - advance_gap_tolerance) * run->target) {
        return overlap_speed(run, point);
    }
    double shortest = run->options->shortest * run->frame->step;
    return (run->target - point->gap) / fmax(run->attempt.length, shortest);
}

double advance_push_speed(const advance_run *run)
{
    double most = 0;
    for (int i = 0; i < run->points.count; i++) {
        most = fmax(most, overlap_speed(run, &run->points.point[i]));
    }
    return most;
}

bool advance_must_push(const advance_run *run)
{
    for (int i = 0; i < run->points.count; i++) {
        if (separation_speed(run, &run->points.point[i]) > 0) {
            return true;
        }
    }
    return false;
}

// Share of the push that bodies make: between fixed bodies the only way out may be a long one, so
// no body is pushed much faster than the fastest separation asked for.
static double push_share(const advance_run *run, const advance_problem *p, double fastest)
{
    const double most = advance_push_limit * fastest;
    double speed = 0;
    for (int i = 0; i < run->frame->bodies; i++) {
        speed = fmax(speed, norm3(p->solution.velocity[i]));
    }
    return speed > most ? most / speed : 1;
}

// Share of what the points ask for that the push gives them: 1 where there is room, hardly any
// where bodies fill their place.
static double given_share(const advance_problem *p)
{
    double given = 0, asked = 0;
    for (int i = 0; i < p->problem.contacts; i++) {
        const sprag_contact *contact = &p->contact[i];
        double u[3];
        advance_velocity_at(p, contact, ADVANCE_AFTER, u);
        given += contact->bias * fmin(dot3(contact->frame[0], u), contact->bias);
        asked += contact->bias * contact->bias;
    }
    return asked > 0 ? clamp(given / asked, 0, 1) : 0;
}

// Solves the same contacts without friction for the displacement. Contacts and joint rows that do
// not overlap keep it from pressing other bodies together.
sprag_result advance_push_out(advance_run *run, advance_problem *p)
{
    sprag_frame *frame = run->frame;
    sprag_row *row = SPRAG_TAKE(run->solving, run->rows.count, sprag_row);
    sprag_stats stats = {0};
    double fastest = 0;
    if (run->solving->failed) {
        return SPRAG_NO_MEMORY;
    }
    for (int i = 0; i < frame->bodies; i++) {
        memset(p->body[i].velocity, 0, sizeof p->body[i].velocity);
        memset(p->body[i].free_velocity, 0, sizeof p->body[i].free_velocity);
    }
    run->push.deepest = 0;
    for (int i = 0; i < run->rows.count; i++) {
        row[i] = run->rows.row[i];
        row[i].bias = row[i].guess = 0;
        row[i].lo = isinf(row[i].lo) ? row[i].lo : 0;
        row[i].hi = isinf(row[i].hi) ? row[i].hi : 0;
    }
    p->problem.row = row;
    for (int i = 0; i < p->problem.contacts; i++) {
        sprag_contact *contact = &p->contact[i];
        const advance_point *point =
            i < frame->contacts ? NULL : &run->points.point[i - frame->contacts];
        contact->bias = point ? separation_speed(run, point) : 0;
        run->push.deepest =
            contact->bias > 0 ? fmax(run->push.deepest, -point->gap) : run->push.deepest;
        fastest = fmax(fastest, contact->bias);
        contact->compliance = 0;
        contact->guess[0] = 0;
        contact->stiffness = 0;
        advance_remove_friction(contact);
    }
    // The error of sweeps would press overlapping bodies deeper into others, which nothing
    // certifies.
    bool exactly = run->stats->solve.strategy != SPRAG_STRATEGY_FROZEN_FRICTION;
    sprag_result result =
        advance_solve_contacts(run, &p->problem, false, exactly, NULL, &p->solution, &stats);
    if (result == SPRAG_OK) {
        double share = push_share(run, p, fastest) * pow(given_share(p), advance_room_power);
        for (int i = 0; i < frame->bodies; i++) {
            for (int k = 0; k < 6; k++) {
                run->push.velocity[i][k] = share * p->solution.velocity[i][k];
            }
        }
    } else {
        memset(run->push.velocity, 0, (size_t)frame->bodies * sizeof *run->push.velocity);
    }
    return result == SPRAG_NO_MEMORY ? result : SPRAG_OK;
}
