// Bodies on joints have velocities of some time ago, their lag, which is half of a usual sub-step
// (Verlet, leapfrog). A sub-step of length h moves bodies by the velocities of its middle, so that
// forces act for the lag and half of h before it; what the program sees goes on to half of the
// usual length of this frame before the end, or stays where that is earlier. So forces act for all
// the time that passes, whatever the lengths of sub-steps and of the program's steps. An impact
// comes after the lag: the forces act for it alone, which gives the velocities that the impact
// changes.
//
// Bodies in flight have exact velocities, those that touch something the ones that their contacts
// end with: forces act for h. What comes to touch something and does not bounce does so, too, from
// the velocity that it came with: otherwise a touch would give it the speed of half a sub-step.
#include <math.h>
#include <string.h>

#include "advance_solve.h"
#include "linalg.h"

static void mark(const advance_run *run, const int body[2], bool value, bool *of)
{
    for (int side = 0; side < 2; side++) {
        if (body[side] != SPRAG_STATIC) {
            of[run->middles.joined[body[side]]] = value;
        }
    }
}

// Marks what hangs on joints: of the bodies that joints and motors connect none touches anything
// that bore a load in the last sub-step, or turns far, which leaves its lag. A motor whose impulse
// acts for one time on one body must not act for another time on the other. false: nothing hangs.
static bool find_hanging(const advance_run *run, bool *hangs)
{
    const sprag_frame *frame = run->frame;
    bool any = false;
    memset(hangs, 0, (size_t)frame->bodies * sizeof *hangs);
    for (int i = 0; i < run->rows.count; i++) {
        if (sprag_row_holds(&run->rows.row[i])) {
            mark(run, run->rows.row[i].body, true, hangs);
        }
    }
    for (int i = 0; i < run->points.closed; i++) {
        if (run->near[run->points.point[i].pair].memory->active) {
            mark(run, run->near[run->points.point[i].pair].body, false, hangs);
        }
    }
    for (int i = 0; i < frame->contacts; i++) {
        mark(run, frame->contact[i].body, false, hangs);
    }
    for (int i = 0; i < frame->bodies; i++) {
        const sprag_mover *body = &frame->body[i];
        if (norm3(body->velocity + 3) * frame->step > advance_middle_turn || !(body->mass > 0)) {
            hangs[run->middles.joined[i]] = false;
            run->middles.next[run->middles.joined[i]] = run->middles.lag[i];
        }
    }
    for (int i = 0; i < frame->bodies; i++) {
        any |= hangs[i];
    }
    return any;
}

// Sets the lags: what joints connect has one. false: all are half of the sub-step, of this length.
static bool set_lags(advance_run *run, double length)
{
    static const double slight = 1e-9;
    double *lag = run->middles.lag;
    bool any = false;
    for (int i = 0; i < run->frame->bodies; i++) {
        const double known = run->frame->body[i].lag;
        lag[i] = known > 0 ? known : 0.5 * run->middles.usual;
        any |= fabs(lag[i] - 0.5 * length) > slight * length;
    }
    for (int i = 0; i < run->frame->bodies; i++) {
        lag[run->middles.joined[i]] = fmax(lag[run->middles.joined[i]], lag[i]);
    }
    for (int i = 0; i < run->frame->bodies; i++) {
        lag[i] = lag[run->middles.joined[i]];
        run->middles.next[i] = fmin(0.5 * run->middles.usual, lag[i] + length);
    }
    return any;
}

static void scale_forces(const advance_run *run, advance_problem *p)
{
    for (int i = 0; i < run->frame->bodies; i++) {
        sprag_body *body = &p->body[i];
        for (int k = 0; k < 6; k++) {
            body->free_velocity[k] +=
                (run->middles.ratio[i] - 1) * (body->free_velocity[k] - body->velocity[k]);
        }
    }
    for (int i = 0; i < run->rows.count; i++) {
        sprag_row *row = &p->row[i];
        const double ratio = run->middles.ratio[advance_body_of(run, row->body)];
        row->lo *= ratio;
        row->hi *= ratio;
        row->compliance /= ratio;
    }
}

// Sets the kick of the lag to the bodies that hang, by their forces and rows. Stops hold what rests
// on them, and not what comes to them or leaves them. A motor at a stop is a force of the body; one
// that drives it to the stop may have reached its speed, one that brakes it has not. The other
// bodies do not move.
static void find_kick(advance_run *run, double step, const bool *hangs)
{
    const sprag_scratch before = *run->solving;
    advance_problem r;
    if (!advance_take_rates(run, 0, &r)) {
        return;
    }
    r.problem.step = step;
    r.problem.rows = run->rows.count;
    memcpy(r.row, run->rows.row, (size_t)run->rows.count * sizeof *r.row);
    for (int i = 0; i < r.problem.rows; i++) {
        sprag_row *row = &r.row[i];
        const double rate = sprag_row_rate(row, run->frame->body->velocity, sizeof(sprag_mover));
        if (sprag_row_is_stop(row) && fabs(rate) > advance_touching_speed) {
            row->lo = row->hi = 0;
        }
    }
    for (int i = 0; i < r.problem.bodies; i++) {
        const double *v = run->frame->body[i].velocity, *all = run->frame->body[i].force;
        const double *given = run->before[i].force;
        const double *force = dot6(all, v) < dot6(given, v) ? all : given;
        double *free = r.body[i].free_velocity, turn[3];
        advance_start_rates(&r, i, v);
        if (hangs[run->middles.joined[i]]) {
            mul33(run->inverse[i], force + 3, turn);
            add_scaled(free, step / r.body[i].mass, force, 3);
            add_scaled(free + 3, step, turn, 3);
            run->middles.ratio[i] = run->middles.lag[i] / step;
        } else {
            r.body[i].mass = 0;
        }
    }
    scale_forces(run, &r);
    const bool solved = advance_solve_contacts(run, &r.problem, ADVANCE_SWEEPS, &r.solution, NULL);
    for (int i = 0; i < r.problem.bodies && solved; i++) {
        if (hangs[run->middles.joined[i]]) {
            add_scaled(run->middles.kick[i], 1, r.solution.velocity[i], 6);
            add_scaled(run->middles.kick[i], -1, r.body[i].velocity, 6);
        }
    }
    sprag_scratch_release(run->solving, &before);
}

static void kick(const advance_run *run, advance_problem *p, double sign)
{
    for (int i = 0; i < run->frame->bodies; i++) {
        add_scaled(p->body[i].velocity, sign, run->middles.kick[i], 6);
        add_scaled(p->body[i].free_velocity, sign, run->middles.kick[i], 6);
    }
}

// Forces act on those that hang, and come to nothing with which they go on and to no stop, up to
// the middle of the sub-step.
static void set_ratios(advance_run *run, const advance_problem *p, bool *hangs)
{
    for (int i = 0; i < run->points.count; i++) {
        if (advance_point_approach(run, p, i) > -advance_touching_speed) {
            mark(run, run->near[run->points.point[i].pair].body, false, hangs);
        }
    }
    for (int i = 0; i < run->rows.count; i++) {
        const sprag_row *row = &run->rows.row[i];
        const double rate = sprag_row_rate(row, p->body->velocity, sizeof *p->body);
        if (sprag_row_is_stop(row) && advance_stop_approach(row, rate) > advance_touching_speed) {
            mark(run, row->body, false, hangs);
        }
    }
    for (int i = 0; i < run->frame->bodies; i++) {
        if (hangs[run->middles.joined[i]]) {
            run->middles.ratio[i] = 0.5 + run->middles.lag[i] / p->problem.step;
        } else {
            run->middles.ratio[i] = 1;
        }
    }
}

void advance_start_velocities(advance_run *run, advance_problem *p)
{
    const double step = p->problem.step;
    const bool bounces = advance_bounces(run, p);
    bool *hangs = run->marked;
    for (int i = 0; i < run->frame->bodies; i++) {
        run->middles.ratio[i] = 1;
        memset(run->middles.kick[i], 0, sizeof run->middles.kick[i]);
    }
    const bool changes = run->rows.count > 0 && set_lags(run, step);
    run->middles.counts =
        run->rows.count > 0 && !(run->options->error > 0) && !advance_event_work_is_spent(run);
    if (!run->middles.counts || !(bounces || changes) || !find_hanging(run, hangs)) {
        advance_impact(run, p, bounces);
        return;
    }
    if (bounces) {
        find_kick(run, step, hangs);
        kick(run, p, 1);
    }
    advance_impact(run, p, bounces);
    set_ratios(run, p, hangs);
    kick(run, p, -1);
    scale_forces(run, p);
}

// Bodies that joints or forces have pressed together within the sub-step keep what they gave one
// another: the ratio would take its share from one of both alone.
static void keep_whole(advance_run *run)
{
    bool *loaded = run->marked;
    memset(loaded, 0, (size_t)run->frame->bodies * sizeof *loaded);
    for (int i = 0; i < run->points.count; i++) {
        if (run->points.point[i].normal_force > 0) {
            mark(run, run->near[run->points.point[i].pair].body, true, loaded);
        }
    }
    for (int i = 0; i < run->frame->bodies; i++) {
        run->middles.ratio[i] = loaded[run->middles.joined[i]] ? 1 : run->middles.ratio[i];
    }
}

void advance_keep_middles(advance_run *run, const advance_problem *p)
{
    const double step = p->problem.step;
    keep_whole(run);
    for (int i = 0; i < run->frame->bodies; i++) {
        const double ratio = run->middles.ratio[i],
                     more = (0.5 * step - run->middles.next[i]) / (ratio * step);
        for (int k = 0; k < 6 && ratio != 1; k++) {
            const double change = more * (run->attempt.velocity[i][k] - p->body[i].velocity[k]);
            run->attempt.velocity[i][k] += change;
            run->attempt.lag[i][k] += change;
        }
    }
    for (int i = 0; i < run->rows.count; i++) {
        run->rows.force[i] /= run->middles.ratio[advance_body_of(run, run->rows.row[i].body)];
    }
}
