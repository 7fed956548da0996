// The frame: sub-step after sub-step, until its time is over.
#include "advance.h"

#include <math.h>
#include <string.h>

#include "advance_run.h"
#include "linalg.h"
#include "mover.h"
#include "pair_contact.h"

sprag_advance_options sprag_advance_defaults(void)
{
    sprag_stribeck_options solver = sprag_stribeck_defaults();
    solver.softness = 1e-6;
    return (sprag_advance_options){.epsilon = 1e-6, .shortest = 0.01, .solver = solver};
}

// ---- the start

double advance_radius(const sprag_collider *collider)
{
    double bounds[6], corner[3];
    if (collider->body == SPRAG_STATIC) {
        return 0;
    }
    sprag_shape_bounds(&collider->shape, &collider->mount, bounds);
    for (int k = 0; k < 3; k++) {
        corner[k] = fmax(fabs(bounds[k]), fabs(bounds[k + 3]));
    }
    return norm3(corner);
}

static bool take(advance_run *run)
{
    const sprag_frame *frame = run->frame;
    sprag_scratch *scratch = run->scratch;
    run->near = SPRAG_TAKE(scratch, frame->pairs, advance_near);
    run->pose = SPRAG_TAKE(scratch, frame->colliders, sprag_pose);
    run->motion = SPRAG_TAKE(scratch, frame->bodies, sprag_motion);
    run->inertia = SPRAG_TAKE(scratch, frame->bodies, *run->inertia);
    run->solved = SPRAG_TAKE(scratch, frame->bodies, *run->solved);
    run->pushed = SPRAG_TAKE(scratch, frame->bodies, *run->pushed);
    run->trial_velocity = SPRAG_TAKE(scratch, 2 * frame->bodies, *run->trial_velocity);
    run->blocked = SPRAG_TAKE(scratch, frame->pairs, int);
    run->share = SPRAG_TAKE(scratch, frame->bodies, double);
    run->slowed = SPRAG_TAKE(scratch, frame->bodies, bool);
    run->given_force = SPRAG_TAKE(scratch, frame->contacts, *run->given_force);
    return !scratch->failed;
}

static void set_pairs(advance_run *run)
{
    const sprag_frame *frame = run->frame;
    for (int i = 0; i < frame->pairs; i++) {
        sprag_pair *pair = &frame->pair[i];
        advance_near *near = &run->near[i];
        for (int side = 0; side < 2; side++) {
            const sprag_collider *c = &frame->collider[pair->collider[side]];
            near->carried[side] = (sprag_carried){
                &c->shape, c->mount, c->body == SPRAG_STATIC ? NULL : &run->motion[c->body]};
            near->radius[side] = advance_radius(c);
        }
        near->clear = -INFINITY;
        pair->overlapped = false;
        near->was_closed = pair->memory && pair->memory->closed > 0;
        run->last_points += pair->memory ? pair->memory->closed : 0;
        near->slips = pair->memory && pair->memory->slips;
        near->held = pair->memory && pair->memory->held;
        memset(pair->impulse, 0, sizeof pair->impulse);
    }
}

static void set_acceleration(advance_run *run)
{
    for (int i = 0; i < run->frame->bodies; i++) {
        const sprag_mover *mover = &run->frame->body[i];
        if (mover->mass > 0) {
            run->acceleration = fmax(run->acceleration, norm3(mover->force) / mover->mass);
        }
    }
}

// ---- a sub-step, gone

static void tell(advance_run *run, sprag_event_kind kind, int pair, const double *point,
                 const double *normal, double speed)
{
    sprag_event event = {.kind = kind, .pair = pair, .time = run->time, .speed = speed};
    run->stats->events[kind]++;
    if (point) {
        memcpy(event.point, point, sizeof event.point);
        memcpy(event.normal, normal, sizeof event.normal);
    }
    if (run->told) {
        run->told[run->tellings++] = event;
    } else if (run->calls->event) {
        run->calls->event(run->calls->data, &event);
    }
}

// m/s; slower is sticking.
static double stiction_of(const advance_run *run)
{
    return fmax(1e-6, 2 * run->stats->solve.stiction);
}

// When a slip that ends within the sub-step has done so. Full friction ends it before the sub-step
// does, by the share of it that was used.
static double end_of_slip(const advance_run *run, const advance_point *point)
{
    const sprag_friction *slide = &run->frame->pair[point->pair].surface.slide;
    double mu = fmin(slide->coefficient[0], slide->coefficient[1]), along[3];
    double most = mu * point->normal_force;
    if (!(most > 0) || isinf(most) || slide->force[0] || slide->force[1]) {
        return run->trial;
    }
    memcpy(along, point->wrench[0], sizeof along);
    add_scaled(along, -dot3(along, point->normal), point->normal, 3);
    return run->trial * fmin(1, norm3(along) / most);
}

// The point of the pair that carries most.
static const advance_point *strongest(const advance_run *run, int pair, int *from)
{
    const advance_point *best = NULL;
    for (; *from < run->closed_points && run->point[*from].pair == pair; ++*from) {
        const advance_point *p = &run->point[*from];
        if (!best || p->normal_force > best->normal_force) {
            best = p;
        }
    }
    return best;
}

static void tell_slip(advance_run *run, const advance_point *point, bool slips)
{
    double start = run->time;
    run->time += slips ? 0 : end_of_slip(run, point);
    tell(run, slips ? SPRAG_SLIP_BEGINS : SPRAG_SLIP_ENDS, point->pair, point->at[0], point->normal,
         point->slip[slips]);
    run->time = start;
}

// Pairs from first to end are one, or triangles of one mesh.
static void compare_contact(advance_run *run, int first, int end, int *at)
{
    const advance_point *best = NULL;
    bool was = false, is = false, slipped = false;
    int gone = first;
    for (int i = first; i < end; i++) {
        const advance_near *near = &run->near[i];
        const advance_point *point = strongest(run, i, at);
        if (near->closed && point && (!best || point->normal_force > best->normal_force)) {
            best = point;
        }
        is |= near->closed;
        was |= near->was_closed;
        slipped |= near->slips;
        gone = near->was_closed ? i : gone;
    }
    if (best && !was) {
        tell(run, SPRAG_CONTACT_MADE, best->pair, best->at[0], best->normal, best->approach);
    } else if (!is && was) {
        const sprag_gap *gap = &run->near[gone].gap;
        tell(run, SPRAG_CONTACT_LOST, gone, gap->point[0], gap->normal, 0);
    }
    if (best) {
        bool slips = best->slip[1] > stiction_of(run);
        if (was && slips != slipped && best->normal_force > 0) {
            tell_slip(run, best, slips);
        }
        for (int i = first; i < end; i++) {
            run->near[i].slips = slips;
        }
    }
}

// Contacts made and lost, slip that begins and ends: what this sub-step was solved for, against the
// last one.
static void compare(advance_run *run)
{
    int points = run->closed_points, at = 0;
    if (points != run->last_points && points > 0) {
        run->stats->changes++;
    }
    run->last_points = points > 0 ? points : run->last_points;
    for (int first = 0, end; first < run->frame->pairs; first = end) {
        end = advance_mesh_end(run, first);
        compare_contact(run, first, end, &at);
    }
}

void advance_remember(advance_run *run)
{
    for (int i = 0; i < run->frame->pairs; i++) {
        sprag_pair_memory *memory = run->frame->pair[i].memory;
        if (memory) {
            memory->count = 0;
            memory->closed = run->near[i].closed ? run->near[i].points : 0;
            memory->slips = run->near[i].slips;
        }
        run->near[i].held = false;
    }
    for (int i = 0; i < run->points; i++) {
        const advance_point *point = &run->point[i];
        sprag_pair *pair = &run->frame->pair[point->pair];
        const sprag_mover *body = &run->frame->body[run->frame->collider[pair->collider[0]].body];
        run->near[point->pair].held |= point->normal_force > 0;
        sprag_pair_add_impulse(pair, (const double(*)[6])point->wrench, run->trial);
        if (pair->memory && pair->memory->count < SPRAG_MANIFOLD_MAX) {
            int n = pair->memory->count++;
            subtract3(point->at[0], body->pose.position, pair->memory->point[n]);
            memcpy(pair->memory->force[n], point->wrench[0], 3 * sizeof(double));
        }
    }
    advance_share_held(run);
    for (int i = 0; i < run->frame->pairs; i++) {
        if (run->frame->pair[i].memory) {
            run->frame->pair[i].memory->held = run->near[i].held;
        }
    }
    run->frame->touching = run->points;
    run->frame->rows = run->rows;
    if (run->calls->carried && !run->told) {
        run->calls->carried(run->calls->data, run->row_force, (const double(*)[6])run->given_force,
                            run->trial / run->frame->step);
    }
}

double advance_product(const advance_run *run, int i, const double *a, const double *b)
{
    double turned[3];
    mul33(run->inertia[i], b + 3, turned);
    return run->frame->body[i].mass * dot3(a, b) + dot3(a + 3, turned);
}

static double kinetic_energy(const advance_run *run, int i, const double *v)
{
    return 0.5 * advance_product(run, i, v, v);
}

// Out of an overlap that is more than being put down flush, and far enough to be worth going on
// with the frame after.
static bool is_pushed(const advance_run *run, int i, double t)
{
    const double *v = run->pushed[i], epsilon = run->options->epsilon; // m, rad
    return run->pushes && run->deepest > 0.25 * epsilon &&
           fmax(norm3(v), norm3(v + 3)) * t > 0.01 * epsilon;
}

// Where a sub-step could not be certified to its end, bodies go only so far; forces of the time in
// which they stand still must not become speed.
static void move_bodies(advance_run *run, double distance, double clock)
{
    for (int i = 0; i < run->frame->bodies; i++) {
        sprag_mover *mover = &run->frame->body[i];
        bool kinematic = !(mover->mass > 0);
        double t = kinematic ? clock : distance;
        sprag_motion_at(&run->motion[i], t, &mover->pose);
        mover->path += norm3(run->motion[i].velocity) * t;
        mover->turn += norm3(run->motion[i].velocity + 3) * t;
        mover->pushed |= is_pushed(run, i, t);
        double share = distance < clock ? 0 : run->share[i];
        bool loses =
            kinetic_energy(run, i, run->solved[i]) <= kinetic_energy(run, i, mover->velocity);
        for (int k = 0; k < 6; k++) {
            double change = run->solved[i][k] - mover->velocity[k];
            mover->velocity[k] = kinematic || loses || share == 1
                                     ? run->solved[i][k]
                                     : mover->velocity[k] + share * change;
        }
    }
}

static void check_gaps(advance_run *run, double distance)
{
    for (int i = 1; i <= 3; i++) {
        double least = advance_least_gap(run, distance * i / 3);
        run->stats->least_gap = fmin(run->stats->least_gap, least);
    }
}

void advance_go(advance_run *run)
{
    enum { STALLS = 3 };
    double distance = fmin(run->safe, run->trial), clock = distance;
    double least = fmin(run->options->shortest * run->frame->step, run->longest);
    bool stalls = distance < least;
    compare(run);
    if (run->options->checks) {
        check_gaps(run, distance);
    }
    if (stalls) { // where nothing helps, not even time, the rest of the frame is left out
        bool jammed = ++run->stalls > STALLS;
        clock = jammed ? run->left : least;
        run->stats->stalled += clock - distance;
        tell(run, SPRAG_STALLED, run->blocking, NULL, NULL, 0);
    }
    double missed = 0; // bodies
    for (int i = 0; i < run->frame->bodies && run->stood >= 0; i++) {
        missed += 1 - run->share[i];
    }
    if (missed > 0 && !stalls) {
        run->stats->stalled += clock * missed / run->frame->bodies;
        tell(run, SPRAG_STALLED, run->stood, NULL, NULL, 0);
    }
    if (run->at_limit && distance == run->safe) {
        run->time += clock;
        tell(run, SPRAG_LIMIT_REACHED, -1, NULL, NULL, 0);
        run->time -= clock;
    }
    advance_remember(run);
    advance_move_pairs(run, distance);
    move_bodies(run, distance, clock);
    run->stats->substeps++;
    run->stats->limited += clock < run->longest;
    run->stats->least_step = fmin(run->stats->least_step, clock);
    run->clock = clock;
    run->time += clock;
    run->left -= clock;
    run->left = run->left > 1e-9 * run->frame->step ? run->left : 0;
}

sprag_result advance_look(advance_run *run, double longest)
{
    const sprag_frame_calls *calls = run->calls;
    run->longest = run->control ? longest : run->left;
    for (int i = 0; i < run->frame->bodies; i++) {
        run->motion[i].pose = run->frame->body[i].pose;
        memcpy(run->motion[i].velocity, run->frame->body[i].velocity,
               sizeof run->motion[i].velocity);
        sprag_mover_cap(&run->frame->body[i], run->motion[i].velocity + 3);
        sprag_mover_inertia(&run->frame->body[i], run->inertia[i]);
    }
    run->rows =
        calls->rows ? calls->rows(calls->data, run->frame->body, run->frame->step, &run->row) : 0;
    if (run->rows < 0) {
        return SPRAG_NO_MEMORY;
    }
    if (run->rows > run->row_room) {
        run->row_force = SPRAG_TAKE(run->scratch, run->rows, double);
        run->row_room = run->rows;
    }
    if (run->scratch->failed) {
        return SPRAG_NO_MEMORY;
    }
    return advance_scan(run, longest);
}

sprag_result advance_substep(advance_run *run, double longest, bool to_the_end)
{
    sprag_result result = advance_look(run, longest);
    return result == SPRAG_OK ? advance_plan(run, longest, to_the_end) : result;
}

static bool is_good(const sprag_frame *frame)
{
    double sum = frame->step * 0;
    for (int i = 0; i < frame->bodies; i++) {
        const sprag_mover *m = &frame->body[i];
        sum += m->mass * 0;
        for (int k = 0; k < 9; k++) {
            sum += m->inertia[k] * 0 + m->pose.rotation[k] * 0;
        }
        for (int k = 0; k < 6; k++) {
            sum += m->velocity[k] * 0 + m->force[k] * 0;
        }
        for (int k = 0; k < 3; k++) {
            sum += m->pose.position[k] * 0;
        }
    }
    for (int i = 0; i < frame->pairs; i++) {
        for (int side = 0; side < 2; side++) {
            int c = frame->pair[i].collider[side];
            int least = side == 0 ? 0 : SPRAG_STATIC;
            if (c < 0 || c >= frame->colliders || frame->collider[c].body < least ||
                frame->collider[c].body >= frame->bodies) {
                return false;
            }
        }
    }
    return sum == 0 && frame->step > 0;
}

static int substeps_of(const advance_run *run)
{
    int aim = run->options->substeps;
    if (aim <= 0) {
        aim = run->frame->bodies > 0 ? 200 / run->frame->bodies : 100;
        aim = aim > 100 ? 100 : advance_is_heap(run) ? 1 : aim;
    }
    return aim;
}

// On the whole not much faster than what forces make of a frame. What lands faster is shaken
// through anyway, and takes an exact solve too long.
static bool settles(const advance_run *run)
{
    const double slow = 40 * run->acceleration * run->frame->step;
    double energy = 0, mass = 0;
    for (int i = 0; i < run->frame->bodies; i++) {
        const sprag_mover *mover = &run->frame->body[i];
        const double *v = mover->velocity, *I = mover->inertia;
        if (mover->mass > 0) {
            double spin = dot3(v + 3, v + 3) * fmax(I[0], fmax(I[4], I[8]));
            energy += mover->mass * dot3(v, v) + spin;
            mass += mover->mass;
        }
    }
    return energy <= mass * slow * slow;
}

static sprag_result run_frame(advance_run *run)
{
    enum {
        MORE = 200, // sub-steps than aimed at
        EACH = 1    // solves, of those aimed at: that many are enough
    };
    sprag_result result = SPRAG_OK;
    run->settles = settles(run);
    int most = substeps_of(run);
    long enough = run->stats->solves + EACH * most;
    for (int i = 0; run->left > 0 && result == SPRAG_OK;) {
        run->hurries = run->stats->solves > enough;
        most = run->hurries && most > i ? i + 1 : most;
        double even = i < most ? run->left / (most - i) : run->left;
        run->floor = fmax(run->options->shortest * run->frame->step, 0.999 * even);
        if (run->control) { // of those that it shortens there may be any number
            long limited = run->stats->limited;
            result = advance_controlled(run, i >= most);
            i += (int)(run->stats->limited - limited);
        } else {
            double longest = advance_is_heap(run) ? fmin(run->left, even) : run->left;
            result = advance_substep(run, longest, i >= most);
            if (result == SPRAG_OK) {
                advance_go(run);
            }
            i++;
        }
        if (i > most + MORE + 1 && run->left > 0) {
            run->stats->stalled += run->left;
            tell(run, SPRAG_STALLED, run->blocking, NULL, NULL, 0);
            run->left = 0;
        }
    }
    return result;
}

sprag_result advance_open(advance_run *run)
{
    sprag_frame *frame = run->frame;
    sprag_advance_stats *stats = run->stats;
    if (!is_good(frame)) {
        return SPRAG_BAD_PROBLEM;
    }
    if (stats->frames == 0) {
        stats->least_step = stats->least_gap = INFINITY;
    }
    run->left = frame->step;
    run->before = SPRAG_TAKE(run->scratch, frame->bodies, sprag_mover);
    if (!run->before || !take(run)) {
        return SPRAG_NO_MEMORY;
    }
    if (frame->bodies > 0) {
        memcpy(run->before, frame->body, (size_t)frame->bodies * sizeof *run->before);
    }
    for (int i = 0; i < frame->bodies; i++) {
        frame->body[i].path = frame->body[i].turn = 0;
        frame->body[i].pushed = false;
    }
    set_pairs(run);
    set_acceleration(run);
    return SPRAG_OK;
}

sprag_result advance_close(advance_run *run, sprag_result result)
{
    sprag_frame *frame = run->frame;
    if (result != SPRAG_OK && frame->bodies > 0) {
        memcpy(frame->body, run->before, (size_t)frame->bodies * sizeof *run->before);
    }
    run->stats->frames++;
    return result;
}

sprag_result sprag_advance(sprag_frame *frame, const sprag_advance_options *options,
                           const sprag_frame_calls *calls, sprag_scratch scratch[2],
                           sprag_advance_stats *stats)
{
    static const sprag_frame_calls none;
    sprag_advance_options defaults = sprag_advance_defaults();
    sprag_advance_stats own = {0};
    options = options ? options : &defaults;
    advance_run run = {.frame = frame,
                       .options = options,
                       .calls = calls ? calls : &none,
                       .scratch = &scratch[0],
                       .solving = &scratch[1],
                       .stats = stats ? stats : &own,
                       .level = options->epsilon / 50,
                       .target = options->epsilon / 2};
    sprag_result result = advance_open(&run);
    if (result != SPRAG_OK) {
        return result;
    }
    if (options->error > 0 && !advance_take_control(&run)) {
        return advance_close(&run, SPRAG_NO_MEMORY);
    }
    return advance_close(&run, run_frame(&run));
}
