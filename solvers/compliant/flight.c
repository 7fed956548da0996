// Flight in closed form: of bodies that touch nothing, and from touch to touch of those whose gaps
// are known by their parabolas. There a touch of two bodies apart from all others concerns them
// alone: the others fly on, each from where its own flight began, so that an event among hundreds
// of bodies takes as much work as their neighbours do.
#include <math.h>
#include <string.h>

#include "compliant_run.h"
#include "linalg.h"
#include "mover.h"

// ---- flight without touches

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
        body->swerved = 0; // it turns evenly
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

// Is the gap of the pair known by the parabolas of its bodies?
static bool is_of_flight(const compliant_run *run, int guard)
{
    compliant_status status = run->guards.law[guard].status;
    bool known = status == COMPLIANT_UNKNOWN || status == COMPLIANT_RIGID_PAIR;
    bool shaped = is_translated(run, guard, 0) && is_translated(run, guard, 1);
    return status == COMPLIANT_DECLINED || (known && shaped);
}

bool compliant_flies_to_touch(const compliant_run *run)
{
    bool flies = run->rows < 0 && run->held.points == 0;
    for (int i = 0; i < run->frame->bodies && flies; i++) {
        flies = turns_evenly(&run->frame->body[i]);
    }
    for (int g = 0; g < run->guards.pairs && flies; g++) {
        flies = is_of_flight(run, g);
    }
    return flies;
}

// Moves a body to a time.
static void fly_body(compliant_run *run, int which, double time)
{
    sprag_mover *body = &run->frame->body[which];
    const double span = time - run->flight.since[which];
    if (span != 0) {
        sprag_pose pose;
        fly(body, span, &pose);
        body->pose = pose;
        accelerate(body, span);
        run->flight.since[which] = time;
    }
}

// m, of a pair at a time, where its bodies are placed, with what it may overlap, and its rate
// (m/s). *distance: without what it may overlap.
static double gap_at(compliant_run *run, int guard, double time, double *distance, double *rate)
{
    sprag_gap gap;
    for (int side = 0; side < 2; side++) {
        int body = compliant_body(run, guard, side);
        if (body != SPRAG_STATIC) {
            fly(&run->frame->body[body], time - run->flight.since[body], &run->state.pose[body]);
        }
    }
    if (!compliant_find_gap(run, guard, INFINITY, 0, NULL, &gap, NULL)) {
        return *distance = *rate = NAN;
    }
    *rate = 0;
    for (int side = 0; side < 2; side++) {
        int body = compliant_body(run, guard, side);
        if (body != SPRAG_STATIC) {
            sprag_mover moved = run->frame->body[body];
            accelerate(&moved, time - run->flight.since[body]);
            *rate += (side ? -1 : 1) * dot3(gap.normal, moved.velocity);
        }
    }
    *distance = gap.distance;
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

// m, a lower bound of the gap of two bodies within a time (s) from now on, by spheres around them.
// Of a body and what is static: -INFINITY.
static double least_gap(const compliant_run *run, int guard, double time)
{
    double apart[3] = {0}, v[3] = {0}, a[3] = {0}, radii = 0;
    for (int side = 0; side < 2; side++) {
        const int body = compliant_body(run, guard, side);
        if (body == SPRAG_STATIC) {
            return -INFINITY;
        }
        const sprag_mover *mover = &run->frame->body[body];
        const double sign = side ? -1 : 1, span = run->time - run->flight.since[body];
        const double change = mover->mass > 0 ? sign / mover->mass : 0;
        add_scaled(apart, sign, mover->pose.position, 3);
        add_scaled(apart, sign * span, mover->velocity, 3);
        add_scaled(apart, change * span * span / 2, mover->force, 3);
        add_scaled(v, sign, mover->velocity, 3);
        add_scaled(v, change * span, mover->force, 3);
        add_scaled(a, change, mover->force, 3);
        radii += run->sizes.radius[body];
    }
    const double square = dot3(v, v), nearest = square > 0 ? -dot3(apart, v) / square : 0;
    add_scaled(apart, fmax(0, fmin(time, nearest)), v, 3);
    return norm3(apart) - radii - norm3(a) * time * time / 2;
}

// Sets when a pair touches from now on, approaching; INFINITY: not within the frame. Distances of
// convex shapes are convex along a straight relative motion, so a parabola below the tangent is a
// lower bound.
static void find_touch(compliant_run *run, int guard)
{
    const double a = relative_acceleration(run, guard);
    compliant_touch *touch = &run->flight.touch[guard];
    const double left = run->frame->step - run->time;
    double rate = 0, distance = 0;
    touch->time = least_gap(run, guard, left) > 0 ? INFINITY : run->time;
    if (touch->time == INFINITY) {
        return;
    }
    for (int i = 0; i < COMPLIANT_FLIGHT_ITERATIONS; i++) {
        double gap = gap_at(run, guard, touch->time, &distance, &rate);
        touch->speed = -rate;
        if (!(gap > COMPLIANT_BAND_MIN) && rate < 0) {
            return;
        }
        gap = fmax(gap, 0);
        double root = sqrt(rate * rate + 2 * a * gap);
        double next = rate < 0 ? 2 * gap / (root - rate) : a > 0 ? (root + rate) / a : INFINITY;
        touch->time += next;
        if (!(touch->time <= run->frame->step)) {
            touch->time = INFINITY;
            return;
        }
    }
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

static double way_of_pair(const compliant_run *run, int guard)
{
    double sum = 0;
    for (int side = 0; side < 2; side++) {
        int body = compliant_body(run, guard, side);
        sum += body == SPRAG_STATIC ? 0 : run->flight.way[body];
    }
    return sum;
}

// Lists the guards of each body.
static void list_guards(compliant_run *run)
{
    compliant_flight *flight = &run->flight;
    memset(flight->first, 0, ((size_t)run->frame->bodies + 1) * sizeof *flight->first);
    for (int pass = 0; pass < 2; pass++) {
        for (int g = run->guards.pairs - 1; g >= 0; g--) {
            for (int side = 0; side < 2; side++) {
                int body = compliant_body(run, g, side);
                if (body != SPRAG_STATIC && pass == 0) {
                    flight->first[body]++;
                } else if (body != SPRAG_STATIC) {
                    flight->guard[--flight->first[body]] = g;
                }
            }
        }
        for (int i = 0; i < run->frame->bodies && pass == 0; i++) {
            flight->first[i + 1] += flight->first[i];
        }
    }
}

static void begin_flight(compliant_run *run)
{
    compliant_flight *flight = &run->flight;
    for (int i = 0; i < run->frame->bodies; i++) {
        flight->since[i] = run->time;
        flight->way[i] = way_of(run, i);
    }
    for (int g = 0; g < run->guards.pairs; g++) {
        if (run->guards.gap[g] > way_of_pair(run, g)) {
            flight->touch[g].time = INFINITY;
        } else if (!(flight->touch[g].time > run->time) || !flies_as_before(run, g)) {
            find_touch(run, g);
        }
    }
    if (!flight->begun) {
        list_guards(run);
    }
    flight->begun = true;
}

static int first_touch(const compliant_run *run)
{
    double first = INFINITY;
    int guard = SPRAG_ESS_NO_GUARD;
    for (int g = 0; g < run->guards.pairs; g++) {
        if (run->flight.touch[g].time < first && run->guards.law[g].status != COMPLIANT_DECLINED) {
            first = run->flight.touch[g].time;
            guard = g;
        }
    }
    return guard;
}

static void end_flight(compliant_run *run)
{
    for (int i = 0; i < run->frame->bodies; i++) {
        fly_body(run, i, run->time);
        memcpy(run->flight.velocity[i], run->frame->body[i].velocity,
               sizeof run->flight.velocity[i]);
    }
    compliant_pack(run);
}

// ---- touches of two bodies

// Calls a function for the other guards of both bodies of a pair, until it returns false.
static bool all_beside(compliant_run *run, int guard, bool (*is)(compliant_run *run, int beside))
{
    for (int side = 0; side < 2; side++) {
        int body = compliant_body(run, guard, side);
        int end = body == SPRAG_STATIC ? 0 : run->flight.first[body + 1];
        for (int i = body == SPRAG_STATIC ? 0 : run->flight.first[body]; i < end; i++) {
            int beside = run->flight.guard[i];
            if (beside != guard && !is(run, beside)) {
                return false;
            }
        }
    }
    return true;
}

static bool is_apart(compliant_run *run, int guard)
{
    const double touch = compliant_touch_distance(run);
    double distance = 0, rate = 0;
    if (run->guards.law[guard].status == COMPLIANT_DECLINED || least_gap(run, guard, 0) > touch) {
        return true;
    }
    gap_at(run, guard, run->time, &distance, &rate);
    return distance > touch;
}

static bool flies_on(compliant_run *run, int guard)
{
    if (!is_of_flight(run, guard)) {
        return false;
    }
    find_touch(run, guard);
    return true;
}

// m/s, relative: slower bodies may come to hold one another.
static double slow_speed(const compliant_run *run)
{
    return fmax(2 * COMPLIANT_SHORTEST_FLIGHT * run->sizes.change,
                COMPLIANT_REST_WIDENING * compliant_rest_speed(run));
}

static bool rebounds_fast(const compliant_run *run, int guard, double speed)
{
    const sprag_surface *surface = compliant_surface(run, guard);
    return compliant_rebounds(run, guard) && is_of_flight(run, guard) &&
           surface->velocity_normal == 0 && speed > surface->bounce_speed &&
           fmin(surface->bounce, 1) * speed > slow_speed(run);
}

// Fly both bodies of a pair on, apart from each other, so that others touch as they are known to?
static bool both_fly_on(compliant_run *run, int guard)
{
    double distance = 0, rate = 0;
    for (int side = 0; side < 2; side++) {
        int body = compliant_body(run, guard, side);
        if (body != SPRAG_STATIC && !turns_evenly(&run->frame->body[body])) {
            return false;
        }
    }
    gap_at(run, guard, run->time, &distance, &rate);
    return rate > slow_speed(run) && flies_on(run, guard) && all_beside(run, guard, flies_on);
}

typedef enum touched {
    TOUCHED_ALONE,       // the flight goes on
    TOUCHED_WITH_OTHERS, // nothing is done yet
    TOUCHED_TO_STAY,     // no flight goes on from here
} touched;

// The touch of a pair at run->time.
static touched touch(compliant_run *run, int guard, const sprag_ess_event *event)
{
    for (int side = 0; side < 2; side++) {
        int body = compliant_body(run, guard, side);
        if (body != SPRAG_STATIC) {
            fly_body(run, body, run->time);
            compliant_pack_body(run, body);
        }
    }
    run->guards.label[guard] = 1;
    compliant_record_event(run, run->state.x, event);
    if (!all_beside(run, guard, is_apart)) {
        return TOUCHED_WITH_OTHERS;
    }
    compliant_place_pair(run, run->state.x, guard);
    if (run->guards.law[guard].status == COMPLIANT_UNKNOWN &&
        !compliant_resolve_pair(run, guard, 0, event)) {
        return TOUCHED_ALONE;
    }
    if (!rebounds_fast(run, guard, event->rate) || !compliant_bounce(run, guard)) {
        return TOUCHED_WITH_OTHERS;
    }
    return both_fly_on(run, guard) ? TOUCHED_ALONE : TOUCHED_TO_STAY;
}

// The next touch of a flight. Rebounds of two bodies cost work alone: there may be hundreds in a
// frame of as many bodies.
static touched fly_to_touch(compliant_run *run, int *guard)
{
    *guard = first_touch(run);
    run->budget.work += COMPLIANT_COST_TOUCH * run->guards.pairs + COMPLIANT_COST_REBOUND;
    run->stats->steps++;
    if (*guard == SPRAG_ESS_NO_GUARD) {
        run->time = run->frame->step;
        return TOUCHED_TO_STAY;
    }
    const compliant_touch *next = &run->flight.touch[*guard];
    run->time = next->time;
    return touch(run, *guard,
                 &(sprag_ess_event){
                     .guard = *guard, .time = next->time, .direction = 1, .rate = next->speed});
}

sprag_result compliant_fly_on(compliant_run *run, sprag_ess_stats *stats)
{
    touched last = TOUCHED_ALONE;
    *stats = (sprag_ess_stats){.stop = SPRAG_ESS_MANY_STEPS, .stop_guard = SPRAG_ESS_NO_GUARD};
    if (run->budget.steps++ >= compliant_step_limit(run)) {
        return SPRAG_NOT_CONVERGED;
    }
    begin_flight(run);
    run->budget.work += run->frame->bodies;
    while (last == TOUCHED_ALONE && !compliant_is_over_budget(run, run->time)) {
        last = fly_to_touch(run, &stats->stop_guard);
    }
    end_flight(run);
    run->flight.begun = last != TOUCHED_TO_STAY; // else touches beside may not be known
    stats->stop = last == TOUCHED_WITH_OTHERS ? SPRAG_ESS_LAST_EVENT : stats->stop;
    return last == TOUCHED_TO_STAY ? SPRAG_OK : SPRAG_NOT_CONVERGED;
}
