// Algorithm 1, step after step to the end of the frame. Broad phase, contacts and the contact solve
// are those of method=advance (pairs.c, contacts.c); the length of a step is the paper's.
#include "paper.h"

#include <math.h>
#include <string.h>

#include "advance_run.h"
#include "bounds.h"
#include "linalg.h"

typedef struct paper {
    advance_run run;
    double (*vertex[2])[3]; // m, room for those of any two shapes
} paper;

// ---- r(q, v)

static int vertices_of(const sprag_shape *shape)
{
    sprag_core core = {.shape = shape};
    return sprag_core_vertices(&core);
}

static bool is_polytopic(const sprag_shape *shape)
{
    return shape->kind == SPRAG_BOX || shape->kind == SPRAG_POLYTOPE || shape->kind == SPRAG_PLANE;
}

static void set_vertices(const paper *p, const advance_near *near, sprag_bound_plane *plane)
{
    for (int side = 0; side < 2; side++) {
        sprag_pose pose;
        sprag_core core = {.shape = near->carried[side]->shape, .rotation = pose.rotation};
        sprag_carried_at(near->carried[side], 0, &pose);
        memcpy(core.at, pose.position, sizeof core.at);
        plane->vertices[side] = vertices_of(core.shape);
        plane->vertex[side] = (const double(*)[3])p->vertex[side];
        for (int i = 0; i < plane->vertices[side]; i++) {
            sprag_core_vertex(&core, i, p->vertex[side][i]);
        }
    }
}

// The plane is halfway between the nearest points. If bodies overlap, vertices within the depth of
// the plane count as on it.
static double step_of_pair(const paper *p, int pair)
{
    static const double rest = 1e-6; // m/s
    const advance_run *run = &p->run;
    const advance_near *near = &run->near[pair];
    const sprag_gap *gap = &near->gap;
    sprag_bound_pair bound = {.distance = gap->distance,
                              .rest = rest,
                              .shortest = run->options->shortest * run->frame->step};
    memcpy(bound.plane.normal, gap->normal, sizeof gap->normal);
    bound.plane.offset =
        0.5 * (dot3(gap->normal, gap->point[0]) + dot3(gap->normal, gap->point[1]));
    bound.plane.touching = fmax(run->options->epsilon, -gap->distance);
    for (int side = 0; side < 2; side++) {
        const sprag_motion *motion = near->carried[side]->motion;
        bound.radius[side] = near->radius[side];
        if (motion) {
            memcpy(bound.centre[side], motion->pose.position, sizeof bound.centre[side]);
            memcpy(bound.velocity[side], motion->velocity, sizeof bound.velocity[side]);
        }
    }
    set_vertices(p, near, &bound.plane);
    return sprag_bound_step(&bound);
}

static double step_of(const paper *p)
{
    double least = INFINITY;
    for (int i = 0; i < p->run.frame->pairs; i++) {
        bool counts = p->run.frame->pair[i].state != SPRAG_PAIR_DECLINED;
        if (counts && p->run.near[i].fresh) {
            least = fmin(least, step_of_pair(p, i));
        }
    }
    return least;
}

// ---- a step

// The paper asks for the gap of every pair; a scan leaves out pairs that stay apart for its own
// shortest sub-step.
static void find_gap(advance_run *run, int pair)
{
    advance_near *near = &run->near[pair];
    const sprag_carried carried[2] = {*near->carried[0], *near->carried[1]};
    if (!near->fresh) {
        near->fresh = sprag_carried_gap(carried, 0, INFINITY, &near->gap) != SPRAG_BAD_PROBLEM;
    }
}

// Leaves overlaps as the paper does: nothing is pushed out or counted.
static void leave_overlaps(advance_run *run)
{
    run->stats->overlaps = run->stats->squeezed = 0;
    for (int i = 0; i < run->frame->pairs; i++) {
        sprag_pair *pair = &run->frame->pair[i];
        pair->overlapped = false;
        run->near[i].memory->active = false;
        if (pair->state == SPRAG_PAIR_DECLINED) {
            continue;
        }
        find_gap(run, i);
        if (run->near[i].fresh) {
            run->stats->least_gap = fmin(run->stats->least_gap, run->near[i].gap.distance);
        }
    }
}

static void look(advance_run *run)
{
    advance_look(run, run->left);
    leave_overlaps(run);
}

static void move(advance_run *run, double step)
{
    for (int i = 0; i < run->frame->bodies; i++) {
        sprag_mover *body = &run->frame->body[i];
        sprag_motion_at(&run->attempt.motion[i], step, &body->pose);
    }
    advance_move_pairs(run, step);
    run->stats->substeps++;
    run->stats->limited += step < run->left;
    run->stats->least_step = fmin(run->stats->least_step, step);
    run->time += step;
    run->left = step >= run->left ? 0 : run->left - step;
}

static void count_changes(advance_run *run)
{
    if (run->points.count != run->points.last_closed && run->points.count > 0) {
        run->stats->changes++;
    }
    run->points.last_closed = run->points.count > 0 ? run->points.count : run->points.last_closed;
}

// Forces and impulses that stop approaching contacts, whatever their gap.
static void accelerate(advance_run *run, double step)
{
    for (int i = 0; i < run->points.count; i++) {
        run->points.point[i].dip = fmax(0, run->points.point[i].gap - run->target);
    }
    run->attempt.length = step;
    advance_solve(run);
    if (run->result == SPRAG_OK) {
        count_changes(run);
        for (int i = 0; i < run->frame->bodies; i++) {
            memcpy(run->frame->body[i].velocity, run->attempt.velocity[i],
                   sizeof run->attempt.velocity[i]);
        }
        advance_keep_forces(run);
    }
}

static void simulate(paper *p)
{
    enum { MOST = 200000 };
    advance_run *run = &p->run;
    look(run);
    for (int i = 0; run->left > 0 && run->result == SPRAG_OK; i++) {
        double step = fmin(step_of(p), run->left);
        if (!(step > 0) || i == MOST) {
            run->result = SPRAG_BAD_PROBLEM; // speeds are not finite, or far too high
            return;
        }
        move(run, step);
        look(run);
        if (run->result == SPRAG_OK) {
            accelerate(run, step);
            advance_scan(run, run->left);
            leave_overlaps(run);
        }
    }
}

static sprag_result take_vertices(paper *p)
{
    const sprag_frame *frame = p->run.frame;
    int most = 0;
    for (int i = 0; i < frame->pairs; i++) {
        for (int side = 0; side < 2 && frame->pair[i].state != SPRAG_PAIR_DECLINED; side++) {
            const sprag_shape *shape = &frame->collider[frame->pair[i].collider[side]].shape;
            if (!is_polytopic(shape)) {
                return SPRAG_BAD_PROBLEM;
            }
            most = vertices_of(shape) > most ? vertices_of(shape) : most;
        }
    }
    for (int side = 0; side < 2; side++) {
        p->vertex[side] = SPRAG_TAKE(p->run.scratch, most, *p->vertex[side]);
    }
    return p->run.scratch->failed ? SPRAG_NO_MEMORY : SPRAG_OK;
}

sprag_result sprag_paper_simulate(sprag_frame *frame, const sprag_advance_options *options,
                                  const sprag_frame_calls *calls, sprag_scratch scratch[2],
                                  sprag_advance_stats *stats)
{
    static const sprag_frame_calls none;
    sprag_advance_options defaults = sprag_advance_defaults();
    sprag_advance_stats own = {0};
    options = options ? options : &defaults;
    paper p = {.run = {.frame = frame,
                       .options = options,
                       .calls = calls ? calls : &none,
                       .scratch = &scratch[0],
                       .solving = &scratch[1],
                       .stats = stats ? stats : &own,
                       .target = options->epsilon / 2}};
    if (!advance_open(&p.run)) {
        return p.run.result;
    }
    p.run.work_left = p.run.exact_left = 1e300; // as much as it takes
    p.run.result = take_vertices(&p);
    if (p.run.result == SPRAG_OK) {
        simulate(&p);
    }
    return advance_close(&p.run);
}
