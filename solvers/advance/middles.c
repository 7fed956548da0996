// Bodies on joints have the velocities of the middle of the sub-step that they have gone (Verlet,
// leapfrog): a sub-step adds h a to them, and moves bodies by what comes of it. From a sub-step of
// length h to one of length k the middles are (h + k) / 2 apart, and not k. So the velocities are
// moved by a (h - k) / 2 before it, a being the accelerations at its start. An impact comes between
// both halves: it changes the velocities at its time, which are later by h / 2. Only events change
// the length much, and a frame that has some ends with the velocities that the program would see
// without them: those of the middle of a usual sub-step.
//
// Bodies in flight have exact velocities, those that touch something the ones that their contacts
// end with: none of them is moved. What comes to touch something and does not bounce goes on with
// the velocity of the middle of a usual sub-step, as it came: otherwise a touch would give it the
// speed of half a sub-step.
#include <math.h>
#include <string.h>

#include "advance_solve.h"
#include "linalg.h"

// Which bodies hang on joints? By their assemblies: none of its bodies touches anything that bore a
// load in the last sub-step, or turns far. false: none.
static bool find_hanging(const advance_run *run, bool *hangs)
{
    const sprag_frame *frame = run->frame;
    bool any = false;
    memset(hangs, 0, (size_t)frame->bodies * sizeof *hangs);
    for (int i = 0; i < run->rows.count; i++) {
        const sprag_row *row = &run->rows.row[i];
        for (int side = 0; side < 2; side++) {
            if (row->body[side] != SPRAG_STATIC && sprag_row_holds(row)) {
                hangs[run->assembly[row->body[side]]] = true;
            }
        }
    }
    for (int i = 0; i < run->points.closed; i++) {
        const int pair = run->points.point[i].pair;
        for (int side = 0; side < 2 && run->near[pair].active; side++) {
            const int b = advance_body_of(run, pair, side);
            if (b != SPRAG_STATIC) {
                hangs[run->assembly[b]] = false;
            }
        }
    }
    for (int i = 0; i < frame->contacts; i++) {
        for (int side = 0; side < 2; side++) {
            const int b = frame->contact[i].body[side];
            if (b != SPRAG_STATIC) {
                hangs[run->assembly[b]] = false;
            }
        }
    }
    for (int i = 0; i < frame->bodies; i++) {
        const sprag_mover *body = &frame->body[i];
        if (norm3(body->velocity + 3) * frame->step > advance_middle_turn || !(body->mass > 0)) {
            hangs[run->assembly[i]] = false;
        }
    }
    for (int i = 0; i < frame->bodies; i++) {
        any |= hangs[i];
    }
    return any;
}

// The row changes no rate. A motor holds its rate against forces, up to its own: it drives until
// its speed is reached, and not longer, so velocities would be moved beyond that speed, or beyond
// those before an impact. A stop holds what rests on it, and not what comes to it or leaves it.
static void keep_rate(const advance_run *run, const sprag_row *from, sprag_row *to)
{
    const bool stop = sprag_row_is_stop(from);
    const double rate = advance_row_rate(from, run->frame->body->velocity, sizeof(sprag_mover));
    if (!stop || fabs(rate) <= advance_touching_speed) {
        to->lo = from->lo;
        to->hi = from->hi;
    } else {
        to->lo = to->hi = 0;
    }
}

static sprag_result find_accelerations(advance_run *run)
{
    const int bodies = run->frame->bodies;
    advance_rates r;
    sprag_stats stats = {0};
    if (run->middles.known) {
        return SPRAG_OK;
    }
    run->middles.known = true;
    memset(run->middles.acceleration, 0, (size_t)bodies * sizeof *run->middles.acceleration);
    bool *hangs = run->work.moved;
    run->middles.off |= advance_event_work_is_spent(run) && !run->middles.moved;
    if (run->middles.off || !find_hanging(run, hangs)) {
        return SPRAG_OK;
    }
    run->middles.moved = true;
    const sprag_scratch before = *run->solving;
    if (!advance_take_rates(run, run->frame->contacts, &r)) {
        return SPRAG_NO_MEMORY;
    }
    advance_keep_rates(run, &r);
    for (int i = 0; i < r.problem.rows; i++) {
        keep_rate(run, &run->rows.row[i], &r.row[i]);
    }
    for (int i = 0; i < bodies; i++) {
        double *to = r.body[i].free_velocity, turn[3];
        if (hangs[run->assembly[i]]) {
            const sprag_mover *body = &run->before[i]; // without motors at stops
            mul33(run->inverse[i], body->force + 3, turn);
            add_scaled(to, r.problem.step / body->mass, body->force, 3);
            add_scaled(to + 3, r.problem.step, turn, 3);
        }
    }
    sprag_result result =
        advance_solve_contacts(run, &r.problem, false, ADVANCE_SWEEPS, NULL, &r.solution, &stats);
    for (int i = 0; i < bodies && result == SPRAG_OK; i++) {
        if (hangs[run->assembly[i]]) {
            add_scaled(run->middles.acceleration[i], 1 / r.problem.step, r.solution.velocity[i], 6);
        }
    }
    sprag_scratch_release(run->solving, &before);
    return result == SPRAG_NO_MEMORY ? result : SPRAG_OK;
}

// Moves the velocity of a body that hangs from where it is to the middle of a sub-step of `length`.
static void move_middle(advance_run *run, advance_problem *p, int body, double length)
{
    const double *acceleration = run->middles.acceleration[body];
    const double time = 0.5 * (run->middles.next[body] - length);
    if (dot6(acceleration, acceleration) > 0) {
        add_scaled(p->body[body].velocity, time, acceleration, 6);
        add_scaled(p->body[body].free_velocity, time, acceleration, 6);
        run->middles.next[body] = length;
    }
}

// Which assemblies come to touch something with which they go on?
static void find_touching(const advance_run *run, const advance_problem *p, bool *touches)
{
    memset(touches, 0, (size_t)run->frame->bodies * sizeof *touches);
    for (int i = 0; i < run->points.closed; i++) {
        if (advance_point_approach(run, p, i) <= -advance_touching_speed) {
            continue;
        }
        for (int side = 0; side < 2; side++) {
            const int b = advance_body_of(run, run->points.point[i].pair, side);
            if (b != SPRAG_STATIC) {
                touches[run->assembly[b]] = true;
            }
        }
    }
}

static bool are_alike(double a, double b)
{
    static const double slight = 1e-9;
    return fabs(a - b) <= slight * b;
}

void advance_start_middles(advance_run *run, double usual)
{
    run->middles.last = run->middles.usual = usual;
    for (int i = 0; i < run->frame->bodies; i++) {
        run->middles.of[i] = run->middles.next[i] = usual;
    }
}

void advance_keep_middles(advance_run *run)
{
    run->middles.last = run->attempt.length;
    run->middles.known = false;
    memcpy(run->middles.of, run->middles.next,
           (size_t)run->frame->bodies * sizeof *run->middles.of);
}

sprag_result advance_start_velocities(advance_run *run, advance_problem *p)
{
    const double step = p->problem.step, usual = run->middles.usual;
    const int bodies = run->frame->bodies;
    const bool bounces = advance_bounces(run, p);
    sprag_result result = SPRAG_OK;
    memcpy(run->middles.next, run->middles.of, (size_t)bodies * sizeof *run->middles.of);
    if (run->rows.count == 0 || run->options->error > 0 ||
        (!bounces && are_alike(step, run->middles.last) && are_alike(step, usual))) {
        return advance_impact(run, p, bounces);
    }
    result = find_accelerations(run);
    for (int i = 0; i < bodies && bounces; i++) {
        move_middle(run, p, i, 0);
    }
    result = result == SPRAG_OK ? advance_impact(run, p, bounces) : result;
    bool *touches = run->work.moved;
    find_touching(run, p, touches);
    for (int i = 0; i < bodies; i++) {
        move_middle(run, p, i, touches[run->assembly[i]] ? usual : step);
    }
    return result;
}

sprag_result advance_end_middles(advance_run *run)
{
    const double last = run->middles.last, usual = run->middles.usual;
    if (run->rows.count == 0 || run->options->error > 0 || are_alike(last, usual)) {
        return SPRAG_OK;
    }
    sprag_scratch_reset(run->solving);
    const sprag_result result = find_accelerations(run);
    for (int i = 0; i < run->frame->bodies; i++) {
        add_scaled(run->frame->body[i].velocity, 0.5 * (run->middles.of[i] - usual),
                   run->middles.acceleration[i], 6);
    }
    return result;
}
