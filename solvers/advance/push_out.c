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
static double separation_speed(const advance_run *run, const advance_point *point)
{
    if (point->speculative || advance_is_overlap(run, point) ||
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

// m/s per N, what a spring that opens a gap yields. Fully stretched it bears a share of the load of
// its contact, so that heavy bodies are lifted by light ones; without a load it opens the gap of
// two free bodies by a half.
static double spring_of(const advance_run *run, const advance_problem *p,
                        const sprag_contact *contact, double speed, double load)
{
    return fmin(advance_opening_yield * p->problem.step * advance_inverse_mass(run, p, contact),
                speed / (advance_opening_load * load));
}

// Does the contact bear a load that a joint could take over? Joints hold bodies where they are: a
// lift that they allow may lever others up, which then hang on a joint and press on what is below
// it. Overlaps are taken back nevertheless.
static bool keeps_load(const advance_run *run, const advance_problem *p, int contact)
{
    const advance_point *point = &run->points.point[contact - run->frame->contacts];
    return run->rows.count > 0 && !(run->push.speed > 0) &&
           point->normal_force > advance_rounding_force(p, &p->contact[contact]);
}

// The contact opens no faster than `speed` (m/s): one along the opposite normal.
static void limit_opening(const sprag_contact *contact, double speed, sprag_contact *to)
{
    *to = *contact;
    to->bias = -speed;
    for (int k = 0; k < 3; k++) {
        to->frame[0][k] *= -1;
        to->frame[1][k] *= -1;
    }
}

// Contacts without friction that do not close, and springs beside them where gaps are below the
// target: bodies that fill their place share the room that there is, and nothing else moves them.
// Returns the fastest separation, m/s.
static double set_contacts(advance_run *run, advance_problem *p)
{
    const int count = p->problem.contacts, given = run->frame->contacts;
    sprag_contact *contact = SPRAG_TAKE_RAW(run->solving, 3 * count, sprag_contact);
    double fastest = 0;
    run->push.deepest = 0;
    p->problem.contacts = 0;
    for (int i = 0; i < count && contact; i++) {
        const advance_point *point = i < given ? NULL : &run->points.point[i - given];
        double speed = point ? separation_speed(run, point) : 0;
        bool springs = speed > 0 && !advance_is_overlap(run, point);
        sprag_contact *pushed = &contact[p->problem.contacts++];
        run->push.deepest = speed > 0 ? fmax(run->push.deepest, -point->gap) : run->push.deepest;
        fastest = fmax(fastest, speed);
        *pushed = p->contact[i];
        pushed->bias = springs ? 0 : speed;
        pushed->compliance = pushed->stiffness = 0;
        pushed->guess[0] = 0;
        advance_remove_friction(pushed);
        if (springs) { // contacts of a pair follow each other
            sprag_contact *spring = &contact[p->problem.contacts++];
            *spring = *pushed;
            spring->bias = speed;
            spring->compliance = spring_of(run, p, spring, speed, point->normal_force);
        }
        if (point && keeps_load(run, p, i)) {
            limit_opening(pushed, speed, &contact[p->problem.contacts++]);
        }
    }
    p->problem.contact = contact;
    return fastest;
}

// Solves for the displacement. Contacts and joint rows that do not overlap keep it from pressing
// other bodies together.
sprag_result advance_push_out(advance_run *run, advance_problem *p)
{
    sprag_frame *frame = run->frame;
    sprag_row *row = SPRAG_TAKE(run->solving, run->rows.count, sprag_row);
    double fastest = set_contacts(run, p);
    p->solution.contact_force =
        SPRAG_TAKE(run->solving, p->problem.contacts, *p->solution.contact_force);
    sprag_stats stats = {0};
    if (run->solving->failed) {
        return SPRAG_NO_MEMORY;
    }
    for (int i = 0; i < frame->bodies; i++) {
        memset(p->body[i].velocity, 0, sizeof p->body[i].velocity);
        memset(p->body[i].free_velocity, 0, sizeof p->body[i].free_velocity);
    }
    for (int i = 0; i < run->rows.count; i++) {
        row[i] = run->rows.row[i];
        row[i].bias = row[i].guess = row[i].compliance = 0;
        row[i].lo = isinf(row[i].lo) ? row[i].lo : 0;
        row[i].hi = isinf(row[i].hi) ? row[i].hi : 0;
    }
    p->problem.row = row;
    // The error of sweeps would press overlapping bodies deeper into others, which nothing
    // certifies.
    sprag_result result = advance_solve_contacts(run, &p->problem, false, run->push.speed > 0, NULL,
                                                 &p->solution, &stats);
    double share = result == SPRAG_OK ? push_share(run, p, fastest) : 0;
    for (int i = 0; i < frame->bodies; i++) {
        for (int k = 0; k < 6; k++) {
            run->push.velocity[i][k] = share > 0 ? share * p->solution.velocity[i][k] : 0;
        }
    }
    return result == SPRAG_NO_MEMORY ? result : SPRAG_OK;
}
