// The contact problem of a sub-step: bodies, contacts and joint rows -> velocities at its end, and
// the forces that give them.
#include <math.h>
#include <string.h>

#include "advance_solve.h"
#include "linalg.h"
#include "mover.h"
#include "spinners.h"

bool advance_take_problem(advance_run *run, int contacts, int rows, advance_problem *p)
{
    const int bodies = run->frame->bodies;
    sprag_scratch *scratch = run->solving;
    *p = (advance_problem){.body = SPRAG_TAKE_RAW(scratch, bodies, sprag_body),
                           .contact = SPRAG_TAKE_RAW(scratch, contacts, sprag_contact),
                           .row = SPRAG_TAKE_RAW(scratch, rows, sprag_row)};
    p->solution = (sprag_solution){.velocity = SPRAG_TAKE_RAW(scratch, bodies, double[6]),
                                   .contact_force = SPRAG_TAKE_RAW(scratch, contacts, double[6]),
                                   .row_force = SPRAG_TAKE_RAW(scratch, rows, double)};
    p->problem = (sprag_problem){.step = run->attempt.length,
                                 .bodies = bodies,
                                 .body = p->body,
                                 .contact = p->contact,
                                 .row = p->row};
    return advance_has_memory(run);
}

// Takes that of the sub-step, with room for the rows that caps on turning may add.
static bool take_problem(advance_run *run, advance_problem *p)
{
    const sprag_frame *frame = run->frame;
    const int contacts = frame->contacts + run->points.count,
              rows = run->rows.count + ADVANCE_CAP_ROWS * frame->bodies;
    sprag_scratch_reset(run->solving);
    const bool taken = advance_take_problem(run, contacts, rows, p);
    if (taken && run->rows.count) {
        memcpy(p->row, run->rows.row, (size_t)run->rows.count * sizeof *p->row);
    }
    p->problem.contacts = contacts;
    p->problem.rows = run->rows.count;
    return taken;
}

bool advance_solve_contacts(advance_run *run, const sprag_problem *problem, int sweeps,
                            sprag_solution *solution, sprag_stats *stats)
{
    bool coarse = advance_event_work_is_spent(run) && sweeps > 0;
    const double given = run->work_left - (coarse || sweeps == 0 ? 0 : advance_reserved_work(run));
    double left = given;
    sprag_stribeck_options options = run->options->solver;
    options.warm = stats && run->attempt.has_guess;
    options.work_left = &left;
    options.memory = stats ? &run->frame->memory : NULL;
    if (coarse) {
        options.exact = false;
        options.sweeps = sweeps;
        // The next round of projection takes the approach that fewer sweeps leave.
        options.direct_work = sweeps < ADVANCE_SWEEPS ? 0 : options.direct_work;
    }
    if (coarse && run->settling && stats) { // changes of the motion have no friction
        options.settled_work = advance_settled_work;
    }
    const sprag_result result =
        sprag_stribeck_solve(problem, &options, run->solving, solution, stats);
    advance_spend(run, given - left);
    run->result = result == SPRAG_NO_MEMORY ? result : run->result;
    return result == SPRAG_OK;
}

double advance_product(const advance_run *run, int i, const double *a, const double *b)
{
    double turned[3];
    mul33(run->inertia[i], b + 3, turned);
    return run->frame->body[i].mass * dot3(a, b) + dot3(a + 3, turned);
}

// The force that the next solve expects, relative to that of this one: a part of the way from what
// this one has expected to it, at most twofold. Where friction bounds follow from the last forces,
// as where a group settles, a force answers to a change of its bound by up to k times as much
// against it. With one part a for all frames, errors fall by 1 - a (1 + k): half way, heaps
// alternate between two states for ever. Two parts in turn (Richardson's iteration with the steps
// of Chebyshev) let errors fall for all k from 0 to 5. Small errors fall half way, which is faster
// for most.
static double expected_share(const advance_run *run, const sprag_contact *contact, double force)
{
    double error = contact->guess[0] / force - 1;
    double part =
        fabs(error) > advance_bound_error ? advance_bound_parts[run->frame->number % 2] : 0.5;
    return contact->guess[0] >= 0 && force > 0 ? fmin(2, 1 + (1 - part) * error) : 1;
}

static void keep_solution(advance_run *run, const advance_problem *p)
{
    int given = run->frame->contacts;
    run->attempt.has_guess = !run->attempt.failed;
    memcpy(run->attempt.velocity, p->solution.velocity,
           (size_t)run->frame->bodies * sizeof *run->attempt.velocity);
    run->rows.force = p->solution.row_force;
    run->rows.given_force = p->solution.contact_force;
    for (int i = 0; i < run->points.count; i++) {
        advance_point *point = &run->points.point[i];
        const sprag_contact *contact = &p->contact[given + i];
        const double *force = p->solution.contact_force[given + i];
        sprag_contact_wrench(contact, force, point->wrench);
        point->normal_force = force[0];
        point->expected = expected_share(run, contact, force[0]);
        point->has_guess = !run->attempt.failed;
    }
}

static void add_impacts(advance_run *run, const advance_problem *p)
{
    for (int i = 0; i < run->rows.count && p->impact.acts; i++) {
        run->rows.force[i] += p->impact.row_force[i];
    }
    for (int i = 0; i < run->frame->contacts && p->impact.acts; i++) {
        add_scaled(run->rows.given_force[i], 1, p->impact.given_force[i], 6);
    }
}

void advance_motion_of(const advance_run *run, int body, double v[6])
{
    memcpy(v, run->attempt.velocity[body], sizeof run->attempt.velocity[body]);
    add_scaled(v, -1, run->attempt.lag[body], 6);
    if (run->push.acts) {
        add_scaled(v, 1, run->push.velocity[body], 6);
    }
}

static bool has_rows(const advance_run *run, int body)
{
    for (int i = 0; i < run->rows.count; i++) {
        if (run->rows.row[i].body[0] == body || run->rows.row[i].body[1] == body) {
            return true;
        }
    }
    return false;
}

// Slows down bodies that turn faster than their cap: at first through the free velocity, which is
// exact for bodies that nothing touches, then by a row about the axis of turning. Bodies with joint
// rows are slowed down afterwards only, as in ODE: against a joint that turns the body, the row
// would accelerate both. false: no body turns too fast.
static bool cap_turning(const advance_run *run, advance_problem *p, bool by_rows)
{
    static const double slight = 1e-9;
    bool any = false;
    for (int i = 0; i < run->frame->bodies; i++) {
        const sprag_mover *mover = &run->frame->body[i];
        const double *w = p->solution.velocity[i] + 3;
        double turn = norm3(w);
        if (!mover->capped || !(mover->mass > 0) || turn <= mover->cap * (1 + slight) ||
            has_rows(run, i)) {
            continue;
        }
        any = true;
        if (by_rows) {
            sprag_row *row = &p->row[p->problem.rows++];
            *row = (sprag_row){.body = {i, SPRAG_STATIC}, .bias = mover->cap, .lo = -INFINITY};
            add_scaled(row->jacobian[0] + 3, 1 / turn, w, 3);
        } else {
            add_scaled(p->body[i].free_velocity + 3, mover->cap / turn - 1, w, 3);
        }
    }
    return any;
}

// Scales down the turning that is still above the caps.
static void scale_turning(const advance_run *run, double (*velocity)[6])
{
    for (int i = 0; i < run->frame->bodies; i++) {
        if (run->frame->body[i].mass > 0) {
            sprag_mover_cap(&run->frame->body[i], velocity[i] + 3);
        }
    }
}

static bool solve_once(advance_run *run, advance_problem *p, sprag_stats *stats)
{
    if (run->attempt.has_guess) {
        memcpy(p->solution.velocity, run->attempt.velocity,
               (size_t)run->frame->bodies * sizeof *run->attempt.velocity);
    }
    run->stats->solves++;
    return advance_solve_contacts(run, &p->problem, ADVANCE_SWEEPS, &p->solution, stats);
}

static bool solve_capped(advance_run *run, advance_problem *p)
{
    const int rows = p->problem.rows;
    sprag_stats stats = {0};
    bool solved = solve_once(run, p, &stats);
    // A pair changes at most twice.
    while (solved && run->work_left > 0 && advance_choose_friction(run, p)) {
        solved = solve_once(run, p, &stats);
    }
    for (int i = 0; i <= ADVANCE_CAP_ROWS && solved && cap_turning(run, p, i > 0); i++) {
        solved = solve_once(run, p, &stats);
    }
    p->problem.rows = rows;
    if (solved) {
        scale_turning(run, p->solution.velocity);
    }
    run->stats->solve = stats;
    return solved;
}

// Without a solution, bodies keep their velocities. In flight it is one body that has none.
static void fail(advance_run *run, advance_problem *p)
{
    const bool flight = p->problem.contacts == 0 && p->problem.rows == 0;
    run->stats->failed++;
    for (int i = 0; i < run->frame->bodies; i++) {
        const double *free = p->body[i].free_velocity;
        memcpy(p->solution.velocity[i],
               flight && isfinite(dot6(free, free)) ? free : p->body[i].velocity,
               sizeof p->body[i].velocity);
    }
    memset(p->solution.row_force, 0, (size_t)run->rows.count * sizeof(double));
    memset(p->solution.contact_force, 0,
           (size_t)p->problem.contacts * sizeof *p->solution.contact_force);
}

static void set_problem(advance_run *run, advance_problem *p)
{
    const sprag_frame *frame = run->frame;
    for (int i = 0; i < frame->bodies; i++) {
        sprag_mover_body(&frame->body[i], run->inertia[i], p->problem.step, &p->body[i]);
    }
    p->soft = sprag_problem_softness(&p->problem,
                                     (sprag_shares){.normal = run->options->solver.softness});
    if (frame->contacts) {
        memcpy(p->contact, frame->contact, (size_t)frame->contacts * sizeof *p->contact);
    }
    for (int i = 0; i < run->points.count; i++) {
        advance_set_contact(run, &run->points.point[i], p, &p->contact[frame->contacts + i]);
    }
}

// A body that spins fast, held near its axis (../frame/spinners.h), is certified by the one turn,
// about one axis, that ends in the same pose; the angular velocity at the end follows the axis.
static void turn_with_axes(advance_run *run)
{
    for (int i = 0; i < run->frame->bodies; i++) {
        double rate[3], *end = run->attempt.velocity[i] + 3, *lag = run->attempt.lag[i] + 3;
        if (advance_spins(run, i) && !run->attempt.flies[i] && !run->attempt.failed) {
            sprag_spin_rate(run->attempt.axis[i], run->attempt.length, end, rate);
            subtract3(end, rate, lag);
        }
    }
}

void advance_solve(advance_run *run)
{
    const double step = run->attempt.length;
    advance_problem p;
    run->attempt.slowed_pair = -1;
    for (int i = 0; i < run->frame->bodies; i++) {
        run->attempt.share[i] = 1;
    }
    run->push.acts = false;
    if (!take_problem(run, &p)) {
        return;
    }
    set_problem(run, &p);
    advance_start_velocities(run, &p);
    for (int i = 0; i < p.problem.contacts; i++) { // of the motion behind the impacts
        sprag_contact_on_chords(&p.contact[i], p.body, step, true);
    }
    sprag_spin_held(run->frame->body, run->frame->step, &p.problem, p.body, run->attempt.axis,
                    run->solving);
    advance_hold_on_chords(run, &p);
    advance_hold_loads(run, &p);
    advance_start_friction(run, &p);
    do {
        run->attempt.failed = !solve_capped(run, &p);
        if (run->attempt.failed) {
            fail(run, &p);
        }
        advance_weigh_chords(run, &p);
    } while (!run->attempt.failed && run->work_left > 0 && advance_drop_chords(run, &p));
    keep_solution(run, &p);
    advance_set_flight(run, &p);
    turn_with_axes(run);
    advance_keep_middles(run, &p);
    add_impacts(run, &p);
    if (run->calls->disturb) {
        run->calls->disturb(run->calls->data, run->frame->bodies, run->attempt.velocity);
    }
    if (run->push.asked) {
        // The push depends on the points, and hardly on the length of the sub-step. A coarse plan
        // keeps the opening of gaps from speculative contacts by its projection.
        bool projected = advance_is_coarse(run) && !(run->push.speed > 0);
        bool speculative = run->points.count > run->points.closed && !projected;
        long points = speculative ? run->points.added : 0;
        if (run->push.solved_for != points) {
            advance_push_out(run, &p);
        }
        run->push.solved_for = points;
        run->push.acts = true;
    }
    for (int i = 0; i < run->frame->bodies; i++) {
        run->attempt.motion[i].pose = run->frame->body[i].pose;
        advance_motion_of(run, i, run->attempt.motion[i].velocity);
    }
}
