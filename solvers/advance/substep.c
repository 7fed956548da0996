// A sub-step: the look at its start, and the motion of bodies and pairs when it is made.
#include <math.h>
#include <string.h>

#include "advance_run.h"
#include "linalg.h"
#include "mover.h"
#include "pair_contact.h"

void advance_keep_forces(advance_run *run)
{
    for (int i = 0; i < run->frame->pairs; i++) {
        sprag_pair_memory *memory = run->near[i].memory;
        memory->count = 0;
        memory->closed = run->near[i].closed ? run->near[i].points : 0;
        memory->active = false;
    }
    for (int i = 0; i < run->points.count; i++) {
        const advance_point *point = &run->points.point[i];
        sprag_pair *pair = &run->frame->pair[point->pair];
        const sprag_mover *body = &run->frame->body[run->near[point->pair].body[0]];
        pair->memory->active |= point->normal_force > 0;
        sprag_pair_add_impulse(pair, (const double(*)[6])point->wrench, run->attempt.length);
        sprag_pair_add_impulse(pair, (const double(*)[6])point->impact, run->attempt.length);
        if (pair->memory->count < SPRAG_MANIFOLD_MAX) {
            sprag_point_memory *to = &pair->memory->point[pair->memory->count++];
            subtract3(point->at[0], body->pose.position, to->at);
            scale3(point->expected, point->wrench[0], to->force);
        }
    }
    advance_share_active(run);
    run->frame->touching = run->points.count;
    run->frame->rows = run->rows.count;
    if (run->calls->add_forces) {
        run->calls->add_forces(run->calls->data, run->rows.row, run->rows.force,
                               (const double(*)[6])run->rows.given_force,
                               run->attempt.length / run->frame->step);
    }
}

// Does the push move the body far enough that it must not fall asleep? Overlaps within rounding of
// flush placement do not count.
static bool is_pushed(const advance_run *run, int i, double t)
{
    const double *v = run->push.velocity[i], epsilon = run->options->epsilon; // m, rad
    return run->push.acts && run->push.deepest > run->level &&
           fmax(norm3(v), norm3(v + 3)) * t > 0.01 * epsilon;
}

// Moves the bodies for `distance` s of a sub-step that takes `clock` s: a sub-step that is not safe
// to its end stalls for the difference. Forces of the time in which a body stands still must not
// become speed.
static void move_bodies(advance_run *run, double distance, double clock)
{
    for (int i = 0; i < run->frame->bodies; i++) {
        sprag_mover *mover = &run->frame->body[i];
        bool kinematic = !(mover->mass > 0);
        double t = kinematic ? clock : distance;
        sprag_motion_at(&run->attempt.motion[i], t, &mover->pose);
        sprag_mover_stray(mover, &run->before[i], run->time + distance);
        sprag_mover_stray(mover, &run->before[i], run->time + clock);
        sprag_mover_swerve(mover, &run->before[i], run->attempt.motion[i].velocity + 3, t);
        mover->flown += run->attempt.flies[i] ? t : 0;
        mover->pushed |= is_pushed(run, i, t);
        mover->lag = run->middles.counts ? run->middles.next[run->middles.joined[i]] : mover->lag;
        double share = distance < clock ? 0 : run->attempt.share[i], *v = run->attempt.velocity[i];
        double idle = 1 - distance / run->attempt.length; // forces of flight act while bodies move
        add_scaled(v, -2 * idle, run->attempt.lag[i], 6);
        const bool whole = kinematic || share == 1 || !advance_is_driven(run, i) ||
                           advance_product(run, i, v, v) <=
                               advance_product(run, i, mover->velocity, mover->velocity);
        for (int k = 0; k < 6; k++) {
            mover->velocity[k] =
                whole ? v[k] : mover->velocity[k] + share * (v[k] - mover->velocity[k]);
        }
    }
}

void advance_move(advance_run *run)
{
    double distance = fmin(run->attempt.safe, run->attempt.length), clock = distance;
    double least = fmin(run->options->shortest * run->frame->step, run->longest);
    bool stalls = distance < least;
    advance_compare_contacts(run);
    if (run->options->checks) {
        advance_check_gaps(run, distance);
    }
    if (stalls) { // jammed bodies stand still for the rest of the frame
        bool jammed = ++run->stalls > ADVANCE_MOST_STALLS || !(run->work_left > 0);
        clock = jammed ? run->left : least;
        advance_stall(run, clock - distance, run->attempt.blocking);
    }
    double missed = 0; // bodies
    for (int i = 0; i < run->frame->bodies && run->attempt.slowed_pair >= 0; i++) {
        missed += 1 - run->attempt.share[i];
    }
    if (missed > 0 && !stalls) {
        advance_stall(run, clock * missed / run->frame->bodies, run->attempt.slowed_pair);
    }
    if (run->attempt.at_limit && distance == run->attempt.safe) {
        advance_report(run, SPRAG_LIMIT_REACHED, clock, -1, NULL, NULL, 0);
    }
    advance_keep_forces(run);
    advance_move_pairs(run, distance);
    advance_note_energy(run, distance);
    move_bodies(run, distance, clock);
    advance_limit_energy(run);
    run->stats->substeps++;
    run->stats->limited += clock < run->longest;
    run->stats->least_step = fmin(run->stats->least_step, clock);
    run->time += clock;
    run->left -= clock;
    run->left = run->left > 1e-9 * run->frame->step ? run->left : 0;
}

// Bodies that a row holds by any force move as one.
static void set_assemblies(advance_run *run)
{
    int *joined = run->middles.joined;
    for (int i = 0; i < run->frame->bodies; i++) {
        run->assembly[i] = joined[i] = i;
    }
    for (int i = 0; i < run->rows.count; i++) {
        const sprag_row *row = &run->rows.row[i];
        const int *body = row->body;
        if (!advance_stays(run, body[0]) && !advance_stays(run, body[1])) {
            sprag_unite(joined, body[0], body[1]);
            if (isinf(row->lo) || isinf(row->hi)) { // no motor
                sprag_unite(run->assembly, body[0], body[1]);
            }
        }
    }
    for (int i = 0; i < run->frame->bodies; i++) {
        run->assembly[i] = sprag_leader_of(run->assembly, i);
        joined[i] = sprag_leader_of(joined, i);
    }
}

void advance_look(advance_run *run, double longest)
{
    const sprag_frame_calls *calls = run->calls;
    for (int i = 0; i < run->frame->bodies; i++) {
        run->attempt.motion[i].pose = run->frame->body[i].pose;
        memcpy(run->attempt.motion[i].velocity, run->frame->body[i].velocity,
               sizeof run->attempt.motion[i].velocity);
        sprag_mover_cap(&run->frame->body[i], run->attempt.motion[i].velocity + 3);
        sprag_mover_inertia(&run->frame->body[i], run->inertia[i]);
        invert33(run->inertia[i], run->inverse[i]);
    }
    run->rows.count =
        calls->rows ? calls->rows(calls->data, run->frame->body, run->frame->step, &run->rows.row)
                    : 0;
    if (run->rows.count < 0) {
        run->result = SPRAG_NO_MEMORY;
        run->rows.count = 0;
    }
    set_assemblies(run);
    advance_find_loads(run);
    const double left = run->work_left;
    advance_scan(run, longest);
    run->look_work = left - run->work_left;
}
