// The loop over the sub-steps of a frame.
#include "advance.h"

#include <math.h>
#include <string.h>

#include "advance_run.h"
#include "linalg.h"

sprag_advance_options sprag_advance_defaults(void)
{
    sprag_stribeck_options solver = sprag_stribeck_defaults();
    solver.softness = 1e-6;
    // Contacts do not yield from step to step. Joints that do leave them the turn that both could
    // bear: fingers then hold by one edge.
    solver.row_softness = 1e-10;
    solver.sweeps = 100;
    return (sprag_advance_options){
        .epsilon = 1e-6, .shortest = 0.01, .work = ADVANCE_WORK, .solver = solver};
}

static void take_scratch(advance_run *run)
{
    const sprag_frame *frame = run->frame;
    sprag_scratch *scratch = run->scratch;
    run->before = SPRAG_TAKE_RAW(scratch, frame->bodies, sprag_mover);
    run->near = SPRAG_TAKE(scratch, frame->pairs, advance_near);
    run->side = SPRAG_TAKE_RAW(scratch, frame->colliders, advance_side);
    run->attempt.motion = SPRAG_TAKE_RAW(scratch, frame->bodies, sprag_motion);
    run->inertia = SPRAG_TAKE_RAW(scratch, frame->bodies, *run->inertia);
    run->inverse = SPRAG_TAKE(scratch, frame->bodies, *run->inverse);
    run->assembly = SPRAG_TAKE_RAW(scratch, frame->bodies, int);
    run->attempt.velocity = SPRAG_TAKE_RAW(scratch, frame->bodies, *run->attempt.velocity);
    run->attempt.flies = SPRAG_TAKE_RAW(scratch, frame->bodies, bool);
    run->attempt.lag = SPRAG_TAKE_RAW(scratch, frame->bodies, *run->attempt.lag);
    run->attempt.chords = SPRAG_TAKE_RAW(scratch, frame->bodies, advance_chords);
    run->attempt.axis = SPRAG_TAKE_RAW(scratch, frame->bodies, *run->attempt.axis);
    run->push.velocity = SPRAG_TAKE_RAW(scratch, frame->bodies, *run->push.velocity);
    run->listed = SPRAG_TAKE_RAW(scratch, frame->pairs, int);
    run->attempt.share = SPRAG_TAKE_RAW(scratch, frame->bodies, double);
    run->load = SPRAG_TAKE_RAW(scratch, frame->bodies, advance_load);
    run->middles.kick = SPRAG_TAKE_RAW(scratch, frame->bodies, *run->middles.kick);
    run->middles.joined = SPRAG_TAKE_RAW(scratch, frame->bodies, int);
    run->middles.lag = SPRAG_TAKE_RAW(scratch, frame->bodies, double);
    run->middles.next = SPRAG_TAKE_RAW(scratch, frame->bodies, double);
    run->middles.ratio = SPRAG_TAKE_RAW(scratch, frame->bodies, double);
    run->marked = SPRAG_TAKE_RAW(scratch, frame->bodies, bool);
    run->half = SPRAG_TAKE_RAW(scratch, frame->bodies, *run->half);
    run->energy.leader = SPRAG_TAKE_RAW(scratch, frame->bodies, int);
    run->energy.before = SPRAG_TAKE_RAW(scratch, frame->bodies, double);
    run->energy.cluster = SPRAG_TAKE_RAW(scratch, frame->bodies, *run->energy.cluster);
}

bool advance_stands_still(const sprag_frame *frame, int body)
{
    const sprag_mover *b = body == SPRAG_STATIC ? NULL : &frame->body[body];
    return !b || (!(b->mass > 0) && dot6(b->velocity, b->velocity) == 0);
}

static void set_sides(advance_run *run)
{
    const sprag_frame *frame = run->frame;
    for (int i = 0; i < frame->colliders; i++) {
        const sprag_collider *c = &frame->collider[i];
        const sprag_motion *motion = c->body == SPRAG_STATIC ? NULL : &run->attempt.motion[c->body];
        run->side[i].carried = (sprag_carried){&c->shape, c->mount, motion};
        run->side[i].radius = advance_stands_still(frame, c->body) ? 0 : sprag_collider_radius(c);
    }
}

static void set_pairs(advance_run *run)
{
    const sprag_frame *frame = run->frame;
    for (int i = 0; i < frame->pairs; i++) {
        sprag_pair *pair = &frame->pair[i];
        advance_near *near = &run->near[i];
        for (int side = 0; side < 2; side++) {
            const int c = pair->collider[side];
            near->body[side] = frame->collider[c].body;
            near->carried[side] = &run->side[c].carried;
            near->shape[side] = &frame->collider[c].shape;
            near->pose[side] = &run->side[c].pose;
            near->radius[side] = run->side[c].radius;
        }
        near->triangle = sprag_pair_triangle(frame, i);
        near->mesh = i > 0 && sprag_pairs_of_mesh(frame, i - 1, i) ? near[-1].mesh : i;
        run->near[near->mesh].mesh_end = i + 1;
        near->clear = -INFINITY;
        pair->overlapped = pair->began_deep = false;
        near->memory = pair->memory;
        run->points.last_closed += near->memory->closed;
        memcpy(near->gap.normal, near->memory->normal, sizeof near->gap.normal);
        memset(pair->impulse, 0, sizeof pair->impulse);
    }
}

static int substeps_of(const advance_run *run)
{
    const int asked = run->options->substeps;
    const int aim = ADVANCE_SUBSTEPS_OF_BODIES / (run->frame->bodies > 0 ? run->frame->bodies : 1);
    return asked > 0                     ? asked
           : advance_is_coarse(run)      ? 1
           : aim > ADVANCE_MOST_SUBSTEPS ? ADVANCE_MOST_SUBSTEPS
                                         : aim;
}

static void run_frame(advance_run *run)
{
    int most = substeps_of(run);
    for (int i = 0; run->left > 0 && run->result == SPRAG_OK;) {
        bool asked = run->options->substeps > 0 && run->work_left > advance_reserved_work(run);
        most = advance_event_work_is_spent(run) && !asked && most > i ? i + 1 : most;
        double even = i < most ? run->left / (most - i) : run->left;
        run->floor = fmax(run->options->shortest * run->frame->step, advance_whole_share * even);
        long limited = run->stats->limited;
        advance_plan(run, advance_is_coarse(run) ? even : run->left, i >= most);
        if (run->result == SPRAG_OK) {
            advance_move(run);
        }
        // Sub-steps that the error control shortens do not count.
        i += advance_is_controlled(run) ? (int)(run->stats->limited - limited) : 1;
        if (advance_is_spent(run, run->look_work) && run->left > 0) {
            advance_stall(run, run->left, run->attempt.blocking);
            run->left = 0;
        }
    }
}

// The group settles if the mean speed is below what forces add in a frame, as at rest. An exact
// solve of bodies that are faster takes too long, and impacts change their contacts anyway.
static void set_speeds(advance_run *run)
{
    double energy = 0, mass = 0;
    for (int i = 0; i < run->frame->bodies; i++) {
        const sprag_mover *mover = &run->frame->body[i];
        const double *v = mover->velocity, *I = mover->inertia;
        if (mover->mass > 0) {
            double spin = dot3(v + 3, v + 3) * fmax(I[0], fmax(I[4], I[8]));
            run->acceleration = fmax(run->acceleration, norm3(mover->force) / mover->mass);
            energy += mover->mass * dot3(v, v) + spin;
            mass += mover->mass;
        }
    }
    const double slow = run->acceleration * run->frame->step;
    run->settling = energy <= mass * slow * slow;
}

static void set_work(advance_run *run)
{
    const sprag_frame *frame = run->frame;
    run->work_given = run->options->work * fmax(1, (double)frame->bodies / ADVANCE_WORK_BODIES);
    run->work_left = run->work_given;
    double exact = ADVANCE_EXACT_WORK - ADVANCE_POINT_WORK * run->points.last_closed;
    exact /= fmax(1, frame->bodies);
    const double most = run->work_given - advance_reserved_work(run);
    run->exact_left = run->options->error > 0 ? most : fmin(most, exact);
}

bool advance_open(advance_run *run)
{
    sprag_frame *frame = run->frame;
    sprag_advance_stats *stats = run->stats;
    if (!sprag_frame_is_good(frame)) {
        run->result = SPRAG_BAD_PROBLEM;
        return false;
    }
    if (stats->frames == 0) {
        stats->least_step = stats->least_gap = INFINITY;
    }
    run->left = run->suggested = frame->step;
    run->attempt.blocking = -1;
    take_scratch(run);
    if (!advance_has_memory(run)) {
        return false;
    }
    if (frame->bodies > 0) {
        memcpy(run->before, frame->body, (size_t)frame->bodies * sizeof *run->before);
    }
    for (int i = 0; i < frame->bodies; i++) {
        frame->body[i].strayed = frame->body[i].swerved = frame->body[i].flown = 0;
        frame->body[i].pushed = false;
    }
    set_sides(run);
    set_pairs(run);
    set_speeds(run);
    set_work(run);
    return true;
}

sprag_result advance_close(advance_run *run)
{
    sprag_frame *frame = run->frame;
    if (run->result != SPRAG_OK && frame->bodies > 0) {
        memcpy(frame->body, run->before, (size_t)frame->bodies * sizeof *run->before);
    }
    run->stats->frames++;
    run->stats->work = fmax(run->stats->work, 1 - run->work_left / run->work_given);
    return run->result;
}

sprag_result sprag_advance(sprag_frame *frame, const sprag_advance_options *options,
                           const sprag_frame_calls *calls, sprag_scratch scratch[2],
                           sprag_advance_stats *stats)
{
    advance_run run = {.frame = frame,
                       .options = options,
                       .calls = calls,
                       .scratch = &scratch[0],
                       .solving = &scratch[1],
                       .stats = stats,
                       .level = options->epsilon / 50,
                       .target = options->epsilon / 2};
    if (!advance_open(&run)) {
        return run.result;
    }
    run_frame(&run);
    return advance_close(&run);
}
