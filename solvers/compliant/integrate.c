// Integration of the frame up to its end or the next event that ends it. Events are recorded and
// contact forces added up to impulses on the way.
#include <math.h>
#include <string.h>

#include "compliant_joints.h"
#include "linalg.h"
#include "mover.h"

// ---- rest

// Rigid contacts hold bodies so still that the integrator could not tell their motion from an
// error. rate: velocities, or accelerations times `span`.
static bool rests(const compliant_run *run, const double *rate, double span)
{
    const double still = COMPLIANT_RESTING_ERRORS * run->options->tolerance;
    const int n = COMPLIANT_STATES * run->frame->bodies;
    for (int i = 0; i < n; i++) {
        bool is_rate = i % COMPLIANT_STATES >= COMPLIANT_VELOCITY;
        if (is_rate && !(fabs(span * rate[i]) <= still * run->sizes.scale[i])) {
            return false;
        }
    }
    return isfinite(rate[0]);
}

// To the end of the frame by one evaluation of f: what moves still comes to rest. Poses follow the
// velocities of the end: with those of the beginning, bodies on springs would swing for ever.
static bool rest(compliant_run *run)
{
    const double h = run->frame->step, left = h - run->time;
    if (!compliant_holds(run) || !rests(run, run->state.x, 1)) {
        return false;
    }
    compliant_set_known_labels(run);
    compliant_field(run, run->state.x, run->guards.known_label, run->state.f);
    if (run->held.points == 0 || !rests(run, run->state.f, h / COMPLIANT_CATCH_UP)) {
        return false;
    }
    compliant_unpack(run);
    for (int i = 0; i < run->frame->bodies; i++) {
        sprag_mover *body = &run->frame->body[i];
        sprag_motion motion = {.pose = body->pose};
        add_scaled(body->velocity, fmin(left, h / COMPLIANT_CATCH_UP),
                   compliant_velocity_of(run->state.f, i), 6);
        memcpy(motion.velocity, body->velocity, sizeof motion.velocity);
        sprag_motion_at(&motion, left, &body->pose);
    }
    compliant_add_held_impulses(run, left);
    if (run->rows > 0) {
        compliant_report_rows(run, 1);
        run->rows_reported = true;
    }
    run->time = h;
    compliant_pack(run);
    run->stats->steps++;
    run->budget.steps++;
    return true;
}

// ---- thin shapes

// m, bound of the way of any point of a shape in the rest of the frame. Turning about its own axis
// does not move a round one.
static double way_of_shape(compliant_run *run, int guard, int side)
{
    const sprag_collider *c = compliant_collider(run, guard, side);
    if (c->body == SPRAG_STATIC) {
        return 0;
    }
    sprag_pose room;
    sprag_collider own = *c;
    const sprag_mover *body = &run->frame->body[c->body];
    const double *w = body->velocity + 3, h = run->frame->step - run->time;
    const sprag_pose *pose = compliant_shape_pose(run, guard, side, &room);
    double arm[3], centre[3], turn[3] = {w[0], w[1], w[2]};
    subtract3(pose->position, body->pose.position, arm);
    cross3(w, arm, centre);
    add_scaled(centre, 1, body->velocity, 3);
    if (c->shape.kind == SPRAG_CYLINDER || c->shape.kind == SPRAG_CAPSULE) {
        const double *R = pose->rotation, axis[3] = {R[2], R[5], R[8]};
        add_scaled(turn, -dot3(w, axis), axis, 3);
    }
    memset(own.mount.position, 0, sizeof own.mount.position);
    double radius = c->shape.kind == SPRAG_SPHERE ? 0 : sprag_collider_radius(&own);
    double change = sprag_mover_acceleration(body) * h;
    return h * (norm3(centre) + radius * norm3(turn) + change / 2);
}

// m, of both shapes; up to `most`, of the one that is known first.
static double width_of_pair(const compliant_run *run, int guard, double most)
{
    const sprag_shape *shape[2];
    for (int side = 0; side < 2; side++) {
        shape[side] = &compliant_collider(run, guard, side)->shape;
    }
    const int first = shape[0]->kind == SPRAG_POLYTOPE;
    const double width = sprag_shape_width(shape[first]);
    return width < most ? width + sprag_shape_width(shape[!first]) : width;
}

// Bounds the rates of pairs that may pass through one another between two samples of a step, and
// sets how far they overlap unseen. false: none may.
static bool set_rate_bounds(compliant_run *run, double *bound, double *unseen)
{
    bool any = false;
    const double left = run->frame->step - run->time, touch = compliant_touch_distance(run);
    for (int g = 0; g < run->guards.pairs + run->stops; g++) {
        bound[g] = INFINITY;
        if (g >= run->guards.pairs || run->guards.known_label[g] != 0 ||
            run->guards.gap[g] <= touch) {
            continue;
        }
        double path = way_of_shape(run, g, 0) + way_of_shape(run, g, 1);
        double most = COMPLIANT_RATE_MARGIN * path;
        if (run->guards.gap[g] > most) {
            continue;
        }
        double width = width_of_pair(run, g, path);
        if (path > width) {
            bound[g] = most / left;
            unseen[g] = fmax(unseen[g], COMPLIANT_UNSEEN * width);
            any = true;
        }
    }
    return any;
}

// ---- integration

typedef struct listener {
    compliant_run *run;
    const sprag_ess_event *event;
    int room, recorded;           // events
    const sprag_ess_stats *stats; // of the integration under way
    double *x;                    // state within a piece
} listener;

static bool needs_impulse(const compliant_run *run, int guard)
{
    return compliant_pair(run, guard)->wants_impulse && compliant_acts(&run->guards.law[guard]);
}

static bool any_held(const compliant_run *run)
{
    bool any = false;
    for (int g = 0; g < run->guards.pairs && !any; g++) {
        any = run->held.pair[g];
    }
    return any;
}

static bool any_held_wants_impulse(const compliant_run *run)
{
    for (int g = 0; g < run->guards.pairs; g++) {
        if (compliant_is_rigid(run, g) && compliant_pair(run, g)->wants_impulse) {
            return true;
        }
    }
    return false;
}

// Gauss-Legendre quadrature with three points.
static void add_impulses(listener *l, double start, double end, const sprag_ess_piece *piece)
{
    static const double at[3] = {0.1127016653792583, 0.5, 0.8872983346207417},
                        weight[3] = {5.0 / 18, 8.0 / 18, 5.0 / 18};
    compliant_run *run = l->run;
    for (int k = 0; k < 3 && any_held_wants_impulse(run); k++) {
        sprag_ess_piece_at(piece, start + at[k] * (end - start), l->x);
        run->held.observed = true;
        compliant_field(run, l->x, run->guards.label, run->state.f);
        run->held.observed = false;
        compliant_add_held_impulses(run, weight[k] * (end - start));
    }
    for (int k = 0; k < 3; k++) {
        bool placed = false;
        for (int g = 0; g < run->guards.pairs; g++) {
            if (!needs_impulse(run, g)) {
                continue;
            }
            if (!placed) {
                sprag_ess_piece_at(piece, start + at[k] * (end - start), l->x);
                compliant_place(run, l->x);
                placed = true;
            }
            compliant_contact contact;
            compliant_find_contact(run, l->x, g, COMPLIANT_FORCES, &contact);
            if (contact.gap.distance < 0) {
                compliant_add_impulses(run, g, &contact, weight[k] * (end - start));
            }
        }
    }
}

static void observe(void *user, double start, double end, const sprag_ess_piece *piece)
{
    listener *l = user;
    compliant_keep_held(l->run);
    add_impulses(l, start, end, piece);
    for (; l->recorded < l->stats->events && l->recorded < l->room; l->recorded++) {
        const sprag_ess_event *event = &l->event[l->recorded];
        sprag_ess_piece_at(piece, fmin(event->time, end), l->x);
        compliant_record_event(l->run, l->x, event);
    }
}

static sprag_ess_options options_of(const compliant_run *run, double rate, double left)
{
    sprag_ess_options options = sprag_ess_defaults(left);
    const double known = run->frame->integrator_step;
    const long most = compliant_step_limit(run);
    options.adaptive = true;
    options.step = run->frame->step;
    // The forces of contacts that hold have kinks, and the noise of their solves.
    options.smooth = any_held(run) ? &sprag_dopri5 : &sprag_tsit5;
    options.first_step = known > 0 ? fmin(known, left) : rate * left > 1 ? 1 / rate : left;
    options.relative_tolerance = 0;
    options.absolute_tolerance = run->options->tolerance;
    options.scale = run->sizes.scale;
    options.max_steps = most > run->budget.steps ? most - run->budget.steps : 1;
    return options;
}

sprag_result compliant_integrate(compliant_run *run, double rate, sprag_ess_stats *stats)
{
    sprag_scratch *scratch = run->solve_scratch;
    double h = run->frame->step, end = fmin(h, compliant_next_motor(run)), left = end - run->time;
    sprag_scratch_reset(scratch);
    compliant_set_held_pairs(run);
    int room = 32 + 16 * (run->guards.pairs + run->stops);
    sprag_ess_event *event = SPRAG_TAKE_RAW(scratch, room, sprag_ess_event);
    double *x = SPRAG_TAKE(scratch, (size_t)run->frame->bodies * COMPLIANT_STATES + 1, double);
    double *bound = SPRAG_TAKE_RAW(scratch, run->guards.pairs + run->stops, double);
    double *unseen = SPRAG_TAKE_RAW(scratch, run->guards.pairs + run->stops, double);
    if (scratch->failed) {
        return SPRAG_NO_MEMORY;
    }
    if (rest(run)) {
        return SPRAG_OK;
    }
    compliant_unpack(run);
    if (compliant_flies_to_touch(run)) {
        return compliant_fly_on(run, stats);
    }
    listener l = {.run = run, .event = event, .room = room, .stats = stats, .x = x};
    sprag_ess_options options = options_of(run, rate, left);
    sprag_ess_output output = {.event = event, .event_room = room, .user = &l, .observe = observe};
    sprag_ess_problem problem = compliant_problem(run);
    compliant_set_known_labels(run);
    for (int g = 0; g < problem.guards; g++) {
        unseen[g] = options.label_tolerance;
    }
    if (set_rate_bounds(run, bound, unseen)) {
        problem.rate_bound = bound;
        problem.label_tolerance = unseen;
    }
    sprag_result result = sprag_ess_integrate(&problem, &options, run->time, end, run->state.x,
                                              run->guards.label, &output, scratch, stats, NULL, 0);
    // A stretch that was cut so short that its error is nothing tells no more than that the step
    // may be longer.
    bool cut = stats->next_step >= COMPLIANT_UNLIMITED_GROWTH * left;
    double *step = &run->frame->integrator_step;
    *step = cut ? fmax(*step, stats->next_step) : stats->next_step;
    run->time = stats->time;
    run->budget.steps += stats->steps;
    run->stats->steps += stats->steps;
    run->stats->field_evaluations += stats->field_values;
    return result;
}
