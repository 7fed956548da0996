// Changes of a motion that do not become speed: the push, which takes back a share of each overlap
// and opens gaps below the target, and the projection of a coarse plan, which keeps all points
// apart. Either is the least change, in the metric of the masses, at which points have their wanted
// rates, and joint rows and given contacts keep theirs.
#include <math.h>
#include <string.h>

#include "advance_solve.h"
#include "linalg.h"

// ---- problems of rates

bool advance_take_rates(advance_run *run, int contacts, advance_problem *r)
{
    const bool taken = advance_take_problem(run, contacts, run->rows.count, r);
    for (int i = 0; i < run->frame->bodies && taken; i++) {
        r->body[i] = (sprag_body){.mass = run->frame->body[i].mass};
        memcpy(r->body[i].inertia, run->inertia[i], sizeof r->body[i].inertia);
    }
    return taken;
}

void advance_start_rates(advance_problem *r, int body, const double v[6])
{
    memcpy(r->body[body].velocity, v, sizeof r->body[body].velocity);
    memcpy(r->body[body].free_velocity, v, sizeof r->body[body].free_velocity);
}

void advance_keep_rates(const advance_run *run, const bool *wanted, advance_problem *r)
{
    const double yields = r->problem.step / run->frame->step; // to impulses, whatever the sub-step
    r->problem.contacts = r->problem.rows = 0;
    for (int i = 0; i < run->frame->contacts; i++) {
        sprag_contact *contact = &r->contact[r->problem.contacts++];
        *contact = run->frame->contact[i];
        contact->bias = fmin(0, sprag_contact_rate(contact, r->body->velocity, sizeof *r->body));
        contact->compliance = contact->stiffness = contact->guess[0] = 0;
        advance_remove_friction(contact);
    }
    for (int i = 0; i < run->rows.count; i++) {
        if (wanted && !wanted[advance_body_of(run, run->rows.row[i].body)]) {
            continue;
        }
        sprag_row *row = &r->row[r->problem.rows++];
        *row = run->rows.row[i];
        row->guess = 0;
        row->compliance *= yields;
        row->bias = sprag_row_rate(row, r->body->velocity, sizeof *r->body);
        row->lo = isinf(row->lo) ? row->lo : 0;
        row->hi = isinf(row->hi) ? row->hi : 0;
    }
}

// A contact without friction that gives a point a rate.
static sprag_contact *add_rate(const advance_run *run, const advance_point *point, double rate,
                               advance_problem *r)
{
    sprag_contact *contact = &r->contact[r->problem.contacts++];
    advance_place_contact(run, point, contact);
    contact->bias = rate;
    contact->guess[0] = 0;
    advance_remove_friction(contact);
    return contact;
}

// m/s, of a body with the same energy that does not turn.
static double energy_speed(const advance_run *run, int body, const double v[6])
{
    double mass = run->frame->body[body].mass;
    return mass > 0 ? sqrt(advance_product(run, body, v, v) / mass) : norm3(v);
}

// Solves for the changes. If the points cannot all have their rates, bodies would go without end:
// none goes farther than `farthest` (m/s). Bodies that joints connect are restrained by the same
// share.
static bool solve_changes(advance_run *run, advance_problem *r, int sweeps, double farthest)
{
    const int bodies = run->frame->bodies, *assembly = run->assembly;
    double *share = SPRAG_TAKE_RAW(run->solving, bodies, double);
    if (!advance_has_memory(run)) {
        return false;
    }
    const bool solved = advance_solve_contacts(run, &r->problem, sweeps, &r->solution, NULL);
    for (int i = 0; i < bodies; i++) {
        share[i] = solved;
    }
    for (int i = 0; i < bodies; i++) {
        double *change = r->solution.velocity[i];
        add_scaled(change, -1, r->body[i].velocity, 6);
        double size = energy_speed(run, i, change), *of = &share[assembly[i]];
        *of = size > farthest ? fmin(*of, farthest / size) : *of;
    }
    for (int i = 0; i < bodies; i++) {
        for (int k = 0; k < 6; k++) {
            double *change = &r->solution.velocity[i][k];
            *change = share[assembly[i]] > 0 ? share[assembly[i]] * *change : 0;
        }
    }
    return true;
}

// ---- the push

// m/s, separation speed that takes back a share of the overlap at a point; 0: no overlap.
static double overlap_speed(const advance_run *run, const advance_point *point)
{
    const sprag_frame *frame = run->frame;
    const double back = frame->recovery * (run->target - point->gap) / frame->step;
    return advance_is_overlap(run, point) ? fmin(back, frame->recovery_speed) : 0;
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

void advance_find_push(advance_run *run)
{
    run->push.speed = 0;
    run->push.asked = false;
    for (int i = 0; i < run->points.count; i++) {
        run->push.speed = fmax(run->push.speed, overlap_speed(run, &run->points.point[i]));
        run->push.asked |= separation_speed(run, &run->points.point[i]) > 0;
    }
    run->push.solved_for = -1;
}

// m/s per N, what a spring that opens a gap yields. Fully stretched it bears a share of the load of
// its contact, so that heavy bodies are lifted by light ones; without a load it opens the gap of
// two free bodies by a half.
static double spring_of(const advance_run *run, const advance_problem *r,
                        const sprag_contact *contact, double speed, double load)
{
    return fmin(advance_opening_yield * r->problem.step *
                    advance_inverse_mass(run, r->body, contact),
                speed / (advance_opening_load * load));
}

// Does the contact of a point bear a load that a joint could take over? Joints hold bodies where
// they are: a lift that they allow may lever others up, which then hang on a joint and press on
// what is below it. Overlaps are taken back nevertheless.
static bool keeps_load(const advance_run *run, const advance_problem *p, const advance_point *point,
                       const sprag_contact *contact)
{
    return run->rows.count > 0 && !(run->push.speed > 0) &&
           point->normal_force > advance_rounding_force(p, contact);
}

// A point opens no faster than `speed` (m/s), by a contact along the opposite normal.
static void limit_opening(const advance_run *run, const advance_point *point, double speed,
                          advance_problem *r)
{
    sprag_contact *contact = add_rate(run, point, -speed, r);
    for (int k = 0; k < 3; k++) {
        contact->frame[0][k] *= -1;
        contact->frame[1][k] *= -1;
    }
}

void advance_push_out(advance_run *run, const advance_problem *p)
{
    advance_problem r;
    double fastest = 0;
    if (!advance_take_rates(run, run->frame->contacts + 3 * run->points.count, &r)) {
        return;
    }
    advance_keep_rates(run, NULL, &r);
    for (int i = 0; i < r.problem.rows; i++) {
        r.row[i].compliance = 0;
    }
    run->push.deepest = 0;
    // Beside contacts that do not close, springs open gaps below the target: bodies that fill their
    // place share the room that there is, and nothing else moves them.
    for (int i = 0; i < run->points.count; i++) {
        const advance_point *point = &run->points.point[i];
        double speed = separation_speed(run, point);
        bool springs = speed > 0 && !advance_is_overlap(run, point);
        run->push.deepest = speed > 0 ? fmax(run->push.deepest, -point->gap) : run->push.deepest;
        fastest = fmax(fastest, speed);
        const sprag_contact *pushed = add_rate(run, point, springs ? 0 : speed, &r);
        if (springs) { // contacts of a pair follow each other
            sprag_contact *spring = add_rate(run, point, speed, &r);
            spring->compliance = spring_of(run, &r, spring, speed, point->normal_force);
        }
        if (keeps_load(run, p, point, pushed)) {
            limit_opening(run, point, speed, &r);
        }
    }
    // The error of sweeps would press overlapping bodies deeper into others, which nothing
    // certifies.
    if (solve_changes(run, &r, run->push.speed > 0 ? 0 : ADVANCE_SWEEPS,
                      advance_push_limit * fastest)) {
        memcpy(run->push.velocity, r.solution.velocity,
               (size_t)run->frame->bodies * sizeof *run->push.velocity);
    }
}

// ---- the projection

// m/s, by which the push opens the gap of a point.
static double pushed_rate(const advance_run *run, const advance_point *point)
{
    sprag_contact contact;
    if (!run->push.acts) {
        return 0;
    }
    advance_place_contact(run, point, &contact);
    return fmax(sprag_contact_rate(&contact, *run->push.velocity, sizeof(double[6])), 0);
}

typedef struct rates { // m/s, of a point: that it is to have, and that it has enough with
    double target, least;
} rates;

// A gap below the target is opened as the push does, and is not to close otherwise.
static rates rates_of(const advance_run *run, const advance_point *point)
{
    double missing = run->target - point->gap, step = run->attempt.length;
    double target = (fmin(missing, 0) + point->dip) / step;
    if (!advance_is_overlap(run, point) && missing > advance_gap_tolerance * run->target) {
        target += pushed_rate(run, point);
        return (rates){target, target - advance_closing_share * fmax(point->gap, 0) / step};
    }
    return (rates){target, target - 0.5 * run->target / step};
}

static double rate_of(const advance_run *run, const advance_point *point)
{
    return advance_rate(&run->near[point->pair], (const double(*)[3])point->at, point->normal);
}

bool advance_find_short(advance_run *run, bool *shorts)
{
    bool any = false;
    advance_set_clusters(run);
    memset(shorts, 0, (size_t)run->frame->bodies * sizeof *shorts);
    for (int i = 0; i < run->points.count; i++) {
        const advance_point *point = &run->points.point[i];
        if (rate_of(run, point) < rates_of(run, point).least) {
            const int body = advance_body_of(run, run->near[point->pair].body);
            shorts[sprag_leader_of(run->energy.leader, body)] = any = true;
        }
    }
    for (int i = 0; i < run->frame->bodies && any; i++) {
        shorts[i] = shorts[sprag_leader_of(run->energy.leader, i)];
    }
    return any;
}

// The plane of a point may separate the shapes only later: now it has no gap but that of the pair.
void advance_raise_dip(advance_run *run, advance_point *point, double lowest)
{
    const double gap = point->gap > 0 ? point->gap : run->near[point->pair].gap.distance;
    double step = run->attempt.length, deficit = fmin(run->target, gap) - lowest;
    double rate = fmax(rates_of(run, point).target, rate_of(run, point) + fmax(deficit, 0) / step);
    point->dip = fmax(0, rate * step - fmin(run->target - point->gap, 0));
}

void advance_project(advance_run *run, int sweeps, bool *moved)
{
    const int bodies = run->frame->bodies;
    const sprag_scratch before = *run->solving;
    advance_problem r;
    double farthest = 0, v[6];
    if (!advance_find_short(run, moved) ||
        !advance_take_rates(run, run->frame->contacts + run->points.count, &r)) {
        return;
    }
    for (int i = 0; i < bodies; i++) {
        advance_motion_of(run, i, v);
        advance_start_rates(&r, i, v);
        farthest = fmax(farthest, energy_speed(run, i, v));
    }
    advance_keep_rates(run, moved, &r);
    const int given = r.problem.contacts;
    for (int i = 0; i < run->points.count; i++) {
        const advance_point *point = &run->points.point[i];
        if (moved[advance_body_of(run, run->near[point->pair].body)]) {
            add_rate(run, point, rates_of(run, point).target, &r)->guess[0] = point->restraint;
        }
    }
    farthest += advance_farther * run->options->epsilon / run->attempt.length;
    const bool solved = solve_changes(run, &r, sweeps, farthest);
    for (int i = 0, at = given; i < run->points.count && solved; i++) {
        advance_point *point = &run->points.point[i];
        if (moved[advance_body_of(run, run->near[point->pair].body)]) {
            point->restraint = r.solution.contact_force[at++][0];
        }
    }
    for (int i = 0; i < bodies; i++) {
        double *to = run->attempt.motion[i].velocity, *found = r.solution.velocity[i];
        add_scaled(found, 1, r.body[i].velocity, 6);
        moved[i] = moved[i] && solved && memcmp(to, found, sizeof v) != 0;
        if (moved[i]) {
            memcpy(to, found, sizeof v);
        }
    }
    sprag_scratch_release(run->solving, &before);
}
