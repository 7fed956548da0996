// Integration of the frame up to its end or the next event that ends it. Events are recorded and
// contact forces added up to impulses on the way. Bodies that fly without touching anything move in
// closed form.
#include <math.h>
#include <string.h>

#include "compliant_joints.h"
#include "linalg.h"
#include "mover.h"

// ---- free flight

// Is the angular velocity of the body constant?
static bool turns_evenly(const sprag_mover *body)
{
    double w[3], torque[3], spin = dot3(body->velocity + 3, body->velocity + 3);
    bool turned = dot3(body->force + 3, body->force + 3) != 0;
    if (body->mass == 0 || turned || spin == 0 || !body->gyroscopic) {
        return body->mass == 0 || !turned;
    }
    mul33_transposed(body->pose.rotation, body->velocity + 3, w);
    sprag_gyroscopic_torque(body->inertia, w, 0, torque);
    double inertia = body->inertia[0] + body->inertia[4] + body->inertia[8];
    return norm3(torque) <= COMPLIANT_EVEN_TURN * inertia * spin;
}

// m, bound of the way of any point of a body in the rest of the frame.
static double way_of(const compliant_run *run, int which)
{
    const sprag_mover *body = &run->frame->body[which];
    double h = run->frame->step - run->time, change = sprag_mover_acceleration(body) * h;
    return h * (compliant_fastest_point(run, which, body->velocity) + change / 2);
}

// Touches no pair within the frame?
static bool is_alone(const compliant_run *run)
{
    for (int g = 0; g < run->guards.pairs; g++) {
        double way = 0;
        for (int side = 0; side < 2; side++) {
            int body = compliant_body(run, g, side);
            way += body == SPRAG_STATIC ? 0 : way_of(run, body);
        }
        if (!(run->guards.gap[g] > way)) {
            return false;
        }
    }
    return run->rows < 0;
}

// Along a parabola for a time (s), from where it is.
static void fly(const sprag_mover *body, double time, sprag_pose *pose)
{
    double change = body->mass > 0 ? time / body->mass : 0;
    sprag_motion motion = {.pose = body->pose};
    memcpy(motion.velocity, body->velocity, sizeof motion.velocity);
    sprag_mover_cap(body, motion.velocity + 3);
    add_scaled(motion.velocity, change / 2, body->force, 3);
    sprag_motion_at(&motion, time, pose);
}

static void accelerate(sprag_mover *body, double time)
{
    add_scaled(body->velocity, body->mass > 0 ? time / body->mass : 0, body->force, 3);
}

bool compliant_fly_alone(sprag_frame *frame, sprag_compliant_stats *stats)
{
    const double h = frame->step;
    for (int i = 0; i < frame->bodies; i++) {
        if (!turns_evenly(&frame->body[i])) {
            return false;
        }
    }
    for (int i = 0; i < frame->bodies; i++) {
        sprag_mover *body = &frame->body[i];
        fly(body, h, &body->pose);
        accelerate(body, h);
        body->strayed = body->mass > 0 ? h * h * norm3(body->force) / body->mass : 0;
        body->turn = h * norm3(body->velocity + 3);
        body->flown = h;
    }
    stats->steps++;
    return true;
}

bool compliant_fly(compliant_run *run)
{
    const bool flies = is_alone(run) && compliant_fly_alone(run->frame, run->stats);
    run->time = flies ? run->frame->step : run->time;
    return flies;
}

// ---- flight from touch to touch: balls, and bodies that do not turn, without forces of contacts

// Moves the shape without turning? A ball turns about its centre.
static bool is_translated(const compliant_run *run, int guard, int side)
{
    const sprag_collider *c = compliant_collider(run, guard, side);
    const double *w = c->body == SPRAG_STATIC ? NULL : run->frame->body[c->body].velocity + 3;
    bool centred = c->shape.kind == SPRAG_SPHERE && dot3(c->mount.position, c->mount.position) == 0;
    return !w || centred || dot3(w, w) == 0;
}

// m, of a pair after a time, with what it may overlap, and its rate (m/s).
static double gap_after(compliant_run *run, int guard, double time, double *rate)
{
    sprag_gap gap;
    for (int side = 0; side < 2; side++) {
        int body = compliant_body(run, guard, side);
        if (body != SPRAG_STATIC) {
            fly(&run->frame->body[body], time, &run->state.pose[body]);
        }
    }
    if (!compliant_find_gap(run, guard, INFINITY, 0, NULL, &gap, NULL)) {
        return NAN;
    }
    *rate = 0;
    for (int side = 0; side < 2; side++) {
        int body = compliant_body(run, guard, side);
        if (body != SPRAG_STATIC) {
            sprag_mover moved = run->frame->body[body];
            accelerate(&moved, time);
            *rate += (side ? -1 : 1) * dot3(gap.normal, moved.velocity);
        }
    }
    return gap.distance + run->guards.overlap[guard];
}

// m/s^2, of the bodies of a pair relative to one another.
static double relative_acceleration(const compliant_run *run, int guard)
{
    double a[3] = {0};
    for (int side = 0; side < 2; side++) {
        int body = compliant_body(run, guard, side);
        const sprag_mover *mover = body == SPRAG_STATIC ? NULL : &run->frame->body[body];
        if (mover && mover->mass > 0) {
            add_scaled(a, (side ? -1 : 1) / mover->mass, mover->force, 3);
        }
    }
    return norm3(a);
}

// s, until a pair touches, approaching; INFINITY: not within `left`. Distances of convex shapes are
// convex along a straight relative motion, so a parabola below the tangent is a lower bound.
static double time_of_touch(compliant_run *run, int guard, double left, double *speed)
{
    const double a = relative_acceleration(run, guard);
    double time = 0, rate = 0;
    for (int i = 0; i < COMPLIANT_FLIGHT_ITERATIONS; i++) {
        double gap = gap_after(run, guard, time, &rate);
        *speed = -rate;
        if (!(gap > COMPLIANT_BAND_MIN) && rate < 0) {
            return time;
        }
        gap = fmax(gap, 0);
        double root = sqrt(rate * rate + 2 * a * gap);
        double next = rate < 0 ? 2 * gap / (root - rate) : a > 0 ? (root + rate) / a : INFINITY;
        time += next;
        if (!(time <= left)) {
            return INFINITY;
        }
    }
    return time;
}

static bool flies_to_touch(const compliant_run *run)
{
    bool flies = run->rows < 0 && run->held.points == 0;
    for (int i = 0; i < run->frame->bodies && flies; i++) {
        flies = turns_evenly(&run->frame->body[i]);
    }
    for (int g = 0; g < run->guards.pairs && flies; g++) {
        compliant_status status = run->guards.law[g].status;
        bool known = status == COMPLIANT_UNKNOWN || status == COMPLIANT_RIGID_PAIR;
        bool shaped = is_translated(run, g, 0) && is_translated(run, g, 1);
        flies = status == COMPLIANT_DECLINED || (known && shaped);
    }
    return flies;
}

static double way_of_pair(const compliant_run *run, int guard, const double *way)
{
    double sum = 0;
    for (int side = 0; side < 2; side++) {
        int body = compliant_body(run, guard, side);
        sum += body == SPRAG_STATIC ? 0 : way[body];
    }
    return sum;
}

// Bodies that an impact has left as they flew will touch when they would have.
static bool flies_as_before(const compliant_run *run, int guard)
{
    bool same = run->flight.begun;
    for (int side = 0; side < 2 && same; side++) {
        int body = compliant_body(run, guard, side);
        same = body == SPRAG_STATIC ||
               memcmp(run->flight.velocity[body], run->frame->body[body].velocity,
                      sizeof run->flight.velocity[body]) == 0;
    }
    return same;
}

static int first_touch(compliant_run *run, const double *way)
{
    const double left = run->frame->step - run->time;
    double first = INFINITY;
    int guard = SPRAG_ESS_NO_GUARD;
    for (int g = 0; g < run->guards.pairs; g++) {
        compliant_touch *touch = &run->flight.touch[g];
        bool far = run->guards.gap[g] > way_of_pair(run, g, way);
        if (run->guards.law[g].status == COMPLIANT_DECLINED || far) {
            continue;
        }
        if (!(touch->time > run->time) || !flies_as_before(run, g)) {
            touch->time = run->time + time_of_touch(run, g, left, &touch->speed);
        }
        if (touch->time < first) {
            first = touch->time;
            guard = g;
        }
    }
    return guard;
}

// To the first touch, *guard, or to the end of the frame.
static void fly_to_touch(compliant_run *run, const double *way, int *guard)
{
    sprag_frame *frame = run->frame;
    *guard = first_touch(run, way);
    const compliant_touch *touch = &run->flight.touch[*guard < 0 ? 0 : *guard];
    double end = *guard < 0 ? frame->step : touch->time, first = end - run->time;
    for (int i = 0; i < frame->bodies; i++) {
        sprag_pose pose;
        fly(&frame->body[i], first, &pose);
        frame->body[i].pose = pose;
        accelerate(&frame->body[i], first);
        memcpy(run->flight.velocity[i], frame->body[i].velocity, sizeof run->flight.velocity[i]);
    }
    run->flight.begun = true;
    run->budget.work += COMPLIANT_COST_BOUND * run->guards.pairs + frame->bodies;
    run->time = end;
    compliant_pack(run);
    run->budget.steps++;
    run->stats->steps++;
    if (*guard >= 0) {
        run->guards.label[*guard] = 1;
        compliant_record_event(
            run, run->state.x,
            &(sprag_ess_event){
                .guard = *guard, .time = run->time, .direction = 1, .rate = touch->speed});
    }
}

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

// A flight in closed form to the next touch, as a stretch that an event ends.
static sprag_result fly_on(compliant_run *run, const double *way, sprag_ess_stats *stats)
{
    *stats = (sprag_ess_stats){.stop = SPRAG_ESS_MANY_STEPS};
    if (run->budget.steps >= compliant_step_limit(run) ||
        compliant_is_over_budget(run, run->time)) {
        return SPRAG_NOT_CONVERGED;
    }
    fly_to_touch(run, way, &stats->stop_guard);
    stats->stop = SPRAG_ESS_LAST_EVENT;
    return stats->stop_guard == SPRAG_ESS_NO_GUARD ? SPRAG_OK : SPRAG_NOT_CONVERGED;
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
    double *way = SPRAG_TAKE_RAW(scratch, run->frame->bodies, double);
    double *bound = SPRAG_TAKE_RAW(scratch, run->guards.pairs + run->stops, double);
    double *unseen = SPRAG_TAKE_RAW(scratch, run->guards.pairs + run->stops, double);
    if (scratch->failed) {
        return SPRAG_NO_MEMORY;
    }
    if (rest(run)) {
        return SPRAG_OK;
    }
    compliant_unpack(run);
    for (int i = 0; i < run->frame->bodies; i++) {
        way[i] = way_of(run, i);
    }
    if (flies_to_touch(run)) {
        return fly_on(run, way, stats);
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
