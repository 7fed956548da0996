// The frame: laws, what must not be integrated, the integration, events and impulses told.
#include <math.h>
#include <string.h>

#include "solvers/comply_run.h"
#include "solvers/linalg.h"

sprag_comply_options sprag_comply_defaults(void)
{
    return (sprag_comply_options){
        .tolerance = 1e-9, .steps = 500, .solver = sprag_stribeck_defaults()};
}

const char *sprag_comply_reason_name(sprag_comply_reason reason)
{
    switch (reason) {
    case SPRAG_COMPLY_JOINTS:
        return "very many joints, or one that is for whole steps only";
    case SPRAG_COMPLY_GIVEN:
        return "contacts without a signed distance";
    case SPRAG_COMPLY_RIGID:
        return "contacts without a stiffness that the step can resolve";
    case SPRAG_COMPLY_LAW:
        return "rolling, spinning or unbounded friction, or a bounce with motionN";
    case SPRAG_COMPLY_STIFF:
        return "stiff forces, sticking friction or a large heap";
    case SPRAG_COMPLY_DEEP:
        return "an overlap from the start, without a stiffness of its own";
    case SPRAG_COMPLY_RESTING:
        return "bodies at rest";
    case SPRAG_COMPLY_STEPS:
        return "more steps than ess.steps";
    case SPRAG_COMPLY_STOPPED:
        return "the integrator stopped";
    case SPRAG_COMPLY_REASONS:
        break;
    }
    return "unknown";
}

// ---- what there is

static bool moves(const sprag_frame *frame, int pair)
{
    for (int side = 0; side < 2; side++) {
        int body = frame->collider[frame->pair[pair].collider[side]].body;
        if (body != SPRAG_STATIC && frame->body[body].mass > 0) {
            return true;
        }
    }
    return false;
}

static bool is_good(const sprag_frame *frame)
{
    double sum = 0;
    for (int i = 0; i < frame->bodies; i++) {
        const sprag_mover *b = &frame->body[i];
        for (int k = 0; k < 6; k++) {
            sum += 0 * b->velocity[k] + 0 * b->force[k];
        }
        for (int k = 0; k < 9; k++) {
            sum += 0 * b->pose.rotation[k] + 0 * b->inertia[k];
        }
        for (int k = 0; k < 3; k++) {
            sum += 0 * b->pose.position[k];
        }
        if (!(b->mass >= 0) || !isfinite(b->mass)) {
            return false;
        }
    }
    return sum == 0 && frame->step > 0 && isfinite(frame->step);
}

static bool take(comply_run *run)
{
    sprag_scratch *s = run->scratch;
    int bodies = run->frame->bodies;
    run->x = SPRAG_TAKE(s, (size_t)bodies * COMPLY_STATES, double);
    run->scale = SPRAG_TAKE(s, (size_t)bodies * COMPLY_STATES, double);
    run->marked = SPRAG_TAKE(s, (size_t)bodies * COMPLY_STATES, double);
    run->f = SPRAG_TAKE(s, (size_t)bodies * COMPLY_STATES, double);
    run->radius = SPRAG_TAKE(s, bodies, double);
    run->inverse = SPRAG_TAKE(s, bodies, *run->inverse);
    run->pose = SPRAG_TAKE(s, bodies, sprag_pose);
    run->wrench = SPRAG_TAKE(s, bodies, *run->wrench);
    return !s->failed;
}

static bool take_guards(comply_run *run)
{
    sprag_scratch *s = run->scratch;
    int pairs = run->frame->pairs, most = pairs + run->stops;
    run->pair = SPRAG_TAKE(s, pairs, int);
    run->law = SPRAG_TAKE(s, pairs, comply_law);
    run->memory = SPRAG_TAKE(s, pairs, sprag_pair_memory);
    run->seen = SPRAG_TAKE(s, pairs, double);
    run->label = SPRAG_TAKE(s, most, double);
    run->side = SPRAG_TAKE(s, most, double);
    run->eps = SPRAG_TAKE(s, most, double);
    run->two_way = SPRAG_TAKE(s, most, bool);
    run->last = SPRAG_TAKE(s, most, bool);
    run->tell_room = run->calls->event ? 64 + 16 * most : 0;
    run->told = SPRAG_TAKE(s, run->tell_room, sprag_event);
    return !s->failed;
}

double comply_gyration(const comply_run *run, int body)
{
    const sprag_mover *b = &run->frame->body[body];
    double inertia = fmax(b->inertia[0], fmax(b->inertia[4], b->inertia[8]));
    return b->mass > 0 ? sqrt(inertia / b->mass) : 1;
}

// m/s, what a torque changes in the frame, about the axis that it is easiest to turn about.
static double spun(const comply_run *run, const sprag_mover *b)
{
    double inertia = fmin(b->inertia[0], fmin(b->inertia[4], b->inertia[8]));
    double radius = sqrt(inertia / fmax(b->mass, 1e-300));
    return inertia > 0 ? radius * norm3(b->force + 3) / inertia * run->frame->step : 0;
}

// Speeds to measure errors by: of the fastest body, or what the frame changes.
static void set_scale(comply_run *run)
{
    const sprag_frame *frame = run->frame;
    double h = frame->step;
    run->fastest = fmax(1e-9, run->rows > 0 ? comply_row_speed(run) : 0);
    for (int i = 0; i < frame->bodies; i++) {
        const sprag_mover *b = &frame->body[i];
        double change = b->mass > 0 ? norm3(b->force) / b->mass * h : 0;
        run->change = fmax(run->change, change);
        run->fastest = fmax(run->fastest, norm3(b->velocity) + fmax(change, spun(run, b)));
    }
    for (int i = 0; i < frame->bodies; i++) {
        const sprag_mover *b = &frame->body[i];
        double *scale = run->scale + COMPLY_STATES * i, radius = comply_gyration(run, i);
        double spin = fmax(run->fastest / fmax(radius, 1e-9), norm3(b->velocity + 3));
        for (int k = 0; k < 3; k++) {
            scale[k] = run->fastest * h;
            scale[COMPLY_VELOCITY + k] = run->fastest;
            scale[COMPLY_SPIN + k] = spin;
        }
        for (int k = 0; k < 4; k++) {
            scale[COMPLY_QUATERNION + k] = fmin(spin * h, 1);
        }
        double turning = 4 * radius * norm3(b->velocity + 3); // of a point far out
        run->reach = fmax(run->reach, 4 * h * (run->fastest + turning));
    }
}

static bool ask(comply_run *run, int guard, double gap)
{
    return run->calls->touch &&
           run->calls->touch(run->calls->data, run->pair[guard], gap, run->time);
}

static void set_radii(comply_run *run)
{
    const sprag_frame *frame = run->frame;
    for (int i = 0; i < frame->colliders; i++) {
        const sprag_collider *collider = &frame->collider[i];
        double bounds[6], corner[3];
        if (collider->body == SPRAG_STATIC) {
            continue;
        }
        sprag_shape_bounds(&collider->shape, &collider->mount, bounds);
        for (int k = 0; k < 3; k++) {
            corner[k] = fmax(fabs(bounds[k]), fabs(bounds[k + 3]));
        }
        run->radius[collider->body] = fmax(run->radius[collider->body], norm3(corner));
    }
}

static bool counts(const sprag_frame *frame, int pair)
{
    return frame->pair[pair].state != SPRAG_PAIR_DECLINED && moves(frame, pair);
}

// Makes pair i guard g, for now.
static void try_guard(comply_run *run, int g, int i)
{
    const sprag_advance_pair *pair = &run->frame->pair[i];
    run->pair[g] = i;
    run->memory[g] = pair->memory ? *pair->memory : (sprag_pair_memory){.count = 0};
}

// Does it overlap since an implicit step, or by more than a pair that has just been found can by
// its motion? By a stiffness that is made up for a frame it would be thrown out, many times faster
// than ODE takes an overlap back.
static bool is_deep(const comply_run *run, int guard)
{
    const double odd = 1.5;
    const comply_law *law = &run->law[guard];
    sprag_pair_memory *memory = run->frame->pair[run->pair[guard]].memory;
    comply_contact contact;
    if (!memory || law->rigid || law->hunt_crossley || memory->touched > 0) {
        return false;
    }
    comply_touch(run, run->x, guard, COMPLY_FORCES, &contact);
    double h = run->frame->step, depth = -contact.gap.distance;
    double rate = sqrt(law->stiffness / law->effective);
    double sags = run->change / (rate * h); // of its weight, as a speed
    double speed = fabs(contact.approach) + 2 * run->change;
    bool found = memory->touched < 0 && !memory->deep && depth < speed * h;
    memory->deep = !found && depth * rate > odd * (speed + sags);
    return memory->deep;
}

// Does something that is for the implicit step only touch from the start, by what is known? Then
// nothing else need be looked at.
static bool starts_rigid(comply_run *run, sprag_comply_reason *why)
{
    const sprag_frame *frame = run->frame;
    for (int i = 0; i < frame->pairs; i++) {
        if (!counts(frame, i) || frame->pair[i].state != SPRAG_PAIR_ACCEPTED) {
            continue;
        }
        try_guard(run, 0, i);
        comply_set_law(run, 0);
        bool waits = run->memory[0].wait > 0, rigid = run->law[0].rigid;
        if (rigid || waits || (run->memory[0].touched <= 0 && !run->law[0].hunt_crossley)) {
            comply_contact contact;
            comply_touch(run, run->x, 0, COMPLY_GAP, &contact);
            double gap = contact.gap.distance;
            *why = rigid ? run->law[0].why : waits ? SPRAG_COMPLY_STEPS : SPRAG_COMPLY_DEEP;
            if (gap <= 0 && (rigid || waits || is_deep(run, 0))) {
                return true;
            }
        }
    }
    return false;
}

// What could not be integrated in one frame is not tried again in the next ones, in twice as many
// every time.
static void wait_longer(comply_run *run, bool done)
{
    enum { LONGEST = 64 };
    for (int g = 0; g < run->guards; g++) {
        sprag_pair_memory *memory = run->frame->pair[run->pair[g]].memory;
        if (!memory || !(run->label[g] != 0) || !comply_acts(&run->law[g])) {
            continue;
        }
        int longer = memory->waited ? 2 * memory->waited : 1;
        memory->waited = done ? memory->waited / 2 : longer < LONGEST ? longer : LONGEST;
        memory->wait = done ? 0 : memory->waited + 1;
    }
}

// Once, however often a frame is tried.
static void pass_time(sprag_frame *frame)
{
    for (int i = 0; i < frame->pairs; i++) {
        sprag_pair_memory *memory = frame->pair[i].memory;
        if (memory && memory->frame != frame->number) {
            memory->touched = memory->frame + 1 == frame->number ? memory->ended : -1;
            memory->ended = 0;
            memory->wait -= memory->wait > 0;
            memory->frame = frame->number;
        }
    }
}

// What touches from the start is asked about now, the others when they touch.
static void find_guards(comply_run *run)
{
    sprag_frame *frame = run->frame;
    comply_mark(run);
    for (int i = 0; i < frame->pairs; i++) {
        sprag_advance_pair *pair = &frame->pair[i];
        memset(pair->impulse, 0, sizeof pair->impulse);
        if (!counts(frame, i)) {
            continue;
        }
        int g = run->guards;
        comply_contact contact;
        try_guard(run, g, i);
        comply_look_at(run, g, COMPLY_GAP, &contact);
        bool unknown = pair->state == SPRAG_PAIR_UNKNOWN, touching = run->seen[g] <= 0;
        if (unknown && touching && !ask(run, g, run->seen[g])) {
            continue;
        }
        if ((unknown || comply_needs_speed(&pair->surface)) && !touching) {
            run->law[g] = (comply_law){.unknown = true};
        } else {
            comply_set_law(run, g);
        }
        run->label[g] = NAN;
        run->two_way[g] = true;
        run->last[g] = run->law[g].unknown || run->law[g].rigid;
        run->guards++;
    }
    for (int i = 0; i < run->stops; i++) {
        run->label[run->guards + i] = NAN;
        run->two_way[run->guards + i] = true;
        run->last[run->guards + i] = true;
    }
}

static void set_inertias(comply_run *run)
{
    for (int i = 0; i < run->frame->bodies; i++) {
        if (invert33(run->frame->body[i].inertia, run->inverse[i]) == 0) {
            memset(run->inverse[i], 0, sizeof run->inverse[i]);
        }
    }
}

// ---- what cannot be integrated from here

// Steps that a pair which touches may ask for: explicit ones are stable up to 3 / rate. Of a bounce
// friction only lasts as long as that.
static double steps_for(const comply_run *run, int guard, const comply_contact *c, double left)
{
    const comply_law *law = &run->law[guard];
    bool bounces = fabs(c->approach) > 2 * run->change;
    double bounce = acos(-1) * sqrt(law->effective / fmax(law->stiffness, 1e-300));
    return (c->rate * left + c->slip_rate * (bounces ? fmin(left, bounce) : left)) / 3;
}

// Of one look at a pair, in looks at two balls: hulls that overlap take long.
static double cost_of(const comply_run *run, int guard)
{
    const sprag_frame *frame = run->frame;
    const sprag_advance_pair *pair = &frame->pair[run->pair[guard]];
    double cost = 1;
    for (int side = 0; side < 2; side++) {
        sprag_shape_kind kind = frame->collider[pair->collider[side]].shape.kind;
        cost *= kind == SPRAG_POLYTOPE || kind == SPRAG_CYLINDER ? 7
                : kind == SPRAG_BOX || kind == SPRAG_CAPSULE     ? 2
                                                                 : 1;
    }
    return cost;
}

// Heaps are integrated in fewer steps, or not at all: an implicit step is sooner there.
static bool is_heap(comply_run *run, double field_cost, double guard_cost, double steps)
{
    enum { FIELDS = 7, PASSES = 3, FEWEST = 20 }; // of a step
    double most = run->options->steps + run->guards;
    double share = 1000.0 * run->options->steps / (FIELDS * field_cost + PASSES * guard_cost + 1);
    run->steps = (long)fmax(FEWEST, fmin(most, share));
    return field_cost > 0 && (share < FEWEST || steps > fmin(share, run->options->steps));
}

static double fastest_point(const comply_run *run, const double *rates, int body)
{
    const double *at = rates + COMPLY_STATES * body;
    return norm3(at + COMPLY_VELOCITY) + run->radius[body] * norm3(at + COMPLY_SPIN);
}

// Nothing moves, and by its forces nothing will, against what gravity makes of a frame. What an
// explicit method needs many steps for, an implicit one has in one.
static bool is_resting(comply_run *run, double steps)
{
    const double still = 0.01 * run->change, few = 5, left = run->frame->step - run->time;
    bool rests = steps > few && run->stops == 0;
    for (int i = 0; i < run->frame->bodies && rests; i++) {
        rests = fastest_point(run, run->x, i) <= still;
    }
    if (rests) {
        for (int g = 0; g < run->guards; g++) {
            run->side[g] = isnan(run->label[g]) ? run->seen[g] <= 0 : run->label[g];
        }
        comply_problem(run).field(run, run->x, run->side, run->f);
        rests = isfinite(run->f[0]);
    }
    for (int i = 0; i < run->frame->bodies && rests; i++) {
        rests = left * fastest_point(run, run->f, i) <= still;
    }
    return rests;
}

// What may have come near since the last look, and how far everything is at least.
static void look_again(comply_run *run)
{
    for (int g = 0; g < run->guards; g++) {
        comply_contact contact;
        run->seen[g] = comply_least_gap(run, run->x, g);
        if (!(run->seen[g] > 2 * run->eps[g])) {
            comply_look_at(run, g, COMPLY_GAP, &contact);
        }
    }
    comply_mark(run);
}

static bool must_rest(comply_run *run, double *rate, sprag_comply_reason *why)
{
    const double glance = 0.1; // at a pair that is still far enough apart
    double left = run->frame->step - run->time, fastest = 0, steps = 0, cost[2] = {0, 0};
    double band = 0.5 * sqrt(run->options->tolerance); // from where a projection is good
    comply_place(run, run->x);
    if (run->time > 0) {
        look_again(run);
    }
    for (int g = 0; g < run->guards; g++) {
        const comply_law *law = &run->law[g];
        if (run->time == 0 && run->seen[g] <= 0 && is_deep(run, g)) {
            *why = SPRAG_COMPLY_DEEP;
            return true;
        }
        if (isnan(run->seen[g])) {
            *why = SPRAG_COMPLY_STOPPED;
            return true;
        }
        run->eps[g] = fmax(1e-12, band * run->fastest * left);
        bool touching = isnan(run->label[g]) ? run->seen[g] <= 0 : run->label[g] != 0;
        cost[1] += run->seen[g] > run->fastest * left ? glance : cost_of(run, g);
        if (touching && law->rigid) {
            *why = law->why;
            return true;
        }
        if (touching && comply_acts(law)) {
            comply_contact contact;
            comply_touch(run, run->x, g, COMPLY_RATES, &contact);
            cost[0] += cost_of(run, g);
            fastest = fmax(fastest, contact.rate + contact.slip_rate);
            steps = fmax(steps, steps_for(run, g, &contact, left));
            run->stats->stiffness = fmax(run->stats->stiffness, law->stiffness);
        }
    }
    *rate = fastest;
    run->expected = steps;
    *why = SPRAG_COMPLY_RESTING;
    if (is_resting(run, steps)) {
        return true;
    }
    comply_set_band(run, band * left);
    *why = SPRAG_COMPLY_STIFF;
    return is_heap(run, cost[0], cost[1], steps);
}

// ---- events and impulses

typedef struct listener {
    comply_run *run;
    sprag_ess_event *event;
    int room, told;
    const sprag_ess_stats *stats;
    double *x;
} listener;

static void keep(comply_run *run, const sprag_event *event)
{
    if (run->tells < run->tell_room) {
        run->told[run->tells++] = *event;
    }
}

static void tell_stop(comply_run *run, const sprag_ess_event *event)
{
    run->stats->events++;
    run->stats->projected += event->projected;
    if (event->direction > 0) {
        run->stats->kinds[SPRAG_LIMIT_REACHED]++;
        keep(run, &(sprag_event){.kind = SPRAG_LIMIT_REACHED,
                                 .pair = -1,
                                 .stop = event->guard - run->guards,
                                 .time = event->time,
                                 .speed = fabs(event->rate)});
    }
}

static void tell(comply_run *run, const double *x, const sprag_ess_event *event)
{
    if (event->guard >= run->guards) {
        tell_stop(run, event);
        return;
    }
    comply_contact contact;
    bool made = event->direction > 0;
    if (run->law[event->guard].unknown) { // told when it is known whether it counts
        run->first = *event;
        return;
    }
    if (run->law[event->guard].declined) {
        return;
    }
    run->stats->events++;
    run->stats->projected += event->projected;
    run->stats->kinds[made ? SPRAG_CONTACT_MADE : SPRAG_CONTACT_LOST]++;
    if (!run->calls->event) {
        return;
    }
    comply_place(run, x);
    comply_touch(run, x, event->guard, COMPLY_POINTS, &contact);
    sprag_event told = {.kind = made ? SPRAG_CONTACT_MADE : SPRAG_CONTACT_LOST,
                        .pair = run->pair[event->guard],
                        .time = event->time,
                        .speed = fabs(event->rate)};
    memcpy(told.point, contact.at[0], sizeof told.point);
    memcpy(told.normal, contact.gap.normal, sizeof told.normal);
    keep(run, &told);
}

static void add_impulse(comply_run *run, int guard, const comply_contact *c, double time)
{
    sprag_advance_pair *pair = &run->frame->pair[run->pair[guard]];
    int body = comply_body(run, guard, 0);
    for (int i = 0; i < c->count; i++) {
        double arm[3], torque[3];
        memcpy(arm, c->at[i], sizeof arm);
        if (body != SPRAG_STATIC) {
            subtract3(c->at[i], run->start[body].pose.position, arm);
        }
        cross3(arm, c->force[i], torque);
        add_scaled(pair->impulse, time, c->force[i], 3);
        add_scaled(pair->impulse + 3, time, torque, 3);
    }
}

// Gauss's rule of three points.
static void add_impulses(listener *l, double start, double end, const sprag_ess_piece *piece)
{
    static const double at[3] = {0.1127016653792583, 0.5, 0.8872983346207417},
                        weight[3] = {5.0 / 18, 8.0 / 18, 5.0 / 18};
    comply_run *run = l->run;
    for (int k = 0; k < 3; k++) {
        bool placed = false;
        for (int g = 0; g < run->guards; g++) {
            if (!run->frame->pair[run->pair[g]].asked || !comply_acts(&run->law[g])) {
                continue;
            }
            if (!placed) {
                sprag_ess_piece_at(piece, start + at[k] * (end - start), l->x);
                comply_place(run, l->x);
                placed = true;
            }
            comply_contact contact;
            comply_touch(run, l->x, g, COMPLY_FORCES, &contact);
            if (contact.gap.distance < 0) {
                add_impulse(run, g, &contact, weight[k] * (end - start));
            }
        }
    }
}

static void observe(void *user, double start, double end, const sprag_ess_piece *piece)
{
    listener *l = user;
    add_impulses(l, start, end, piece);
    for (; l->told < l->stats->events && l->told < l->room; l->told++) {
        sprag_ess_piece_at(piece, fmin(l->event[l->told].time, end), l->x);
        tell(l->run, l->x, &l->event[l->told]);
    }
}

// ---- the integration

// What takes more than is to be expected meets forces that jump, again and again.
static long enough_steps(const comply_run *run)
{
    double turn = 0;
    for (int i = 0; i < run->frame->bodies; i++) {
        turn = fmax(turn, norm3(run->x + COMPLY_STATES * i + COMPLY_SPIN));
    }
    return (long)fmin(1e6, run->options->steps / 2 + 4 * run->expected + 4 * run->guards +
                               40 * run->stops + 10 * turn * run->frame->step);
}

static sprag_result integrate(comply_run *run, double rate, sprag_ess_stats *stats)
{
    sprag_scratch *scratch = run->solving;
    double h = run->frame->step, left = h - run->time;
    sprag_scratch_reset(scratch);
    int room = 32 + 16 * (run->guards + run->stops);
    listener l = {.run = run,
                  .event = SPRAG_TAKE(scratch, room, sprag_ess_event),
                  .room = room,
                  .stats = stats,
                  .x = SPRAG_TAKE(scratch, (size_t)run->frame->bodies * COMPLY_STATES, double)};
    if (scratch->failed) {
        return SPRAG_NO_MEMORY;
    }
    sprag_ess_options options = sprag_ess_defaults(left);
    options.adaptive = true;
    options.first_step = rate * left > 1 ? 1 / rate : left;
    options.relative_tolerance = 0;
    options.absolute_tolerance = run->options->tolerance;
    options.scale = run->scale;
    options.max_steps = run->steps < enough_steps(run) ? run->steps : enough_steps(run);
    sprag_ess_output output = {
        .event = l.event, .event_room = room, .user = &l, .observe = observe};
    sprag_ess_problem problem = comply_problem(run);
    sprag_result result = sprag_ess_integrate(&problem, &options, run->time, h, run->x, run->label,
                                              &output, scratch, stats, NULL, 0);
    run->time = stats->time;
    run->stats->steps += stats->steps;
    run->stats->rejected += stats->rejected;
    run->stats->fields += stats->field_values;
    return result;
}

static sprag_result leave(comply_run *run, sprag_comply_reason why)
{
    run->stats->left++;
    run->stats->because[why]++;
    return SPRAG_NOT_CONVERGED;
}

static sprag_result rest(comply_run *run, sprag_comply_reason why)
{
    run->stats->because[why]++;
    run->stats->rests++;
    run->rested = true;
    comply_unpack(run);
    return comply_rest(run);
}

bool comply_meet(comply_run *run, int guard, double gap, const sprag_ess_event *event)
{
    comply_law *law = &run->law[guard];
    bool known = run->frame->pair[run->pair[guard]].state == SPRAG_PAIR_ACCEPTED;
    bool wanted = known || ask(run, guard, gap);
    if (wanted) {
        comply_set_law(run, guard);
        tell(run, run->x, event);
    } else {
        *law = (comply_law){.declined = true};
    }
    run->last[guard] = law->rigid;
    return wanted;
}

// Its impulses are told as forces over the frame.
static bool meet_stop(comply_run *run, int stop, const double *label)
{
    enum { OFTEN = 100 };
    double share = 1 / run->frame->step;
    if (run->met[stop] > OFTEN || !comply_meet_stop(run, stop, label)) {
        return false;
    }
    run->frame->rows = run->rows;
    if (run->calls->carried) {
        run->calls->carried(run->calls->data, comply_row_forces(run), NULL, share);
    }
    return true;
}

// A pair is touched that nobody has been asked about, or that cannot be integrated; or a stop.
static bool meet(comply_run *run, int guard)
{
    if (guard >= run->guards) {
        const double *label = run->label + run->guards;
        int stop = guard - run->guards;
        return label[stop] == 0 || meet_stop(run, stop, label);
    }
    if (run->law[guard].unknown) {
        comply_unpack(run);
        comply_meet(run, guard, 0, &run->first);
    }
    return true;
}

// Those that bodies are at and still move on against: met at the very end of the last frame.
static bool meet_first(comply_run *run)
{
    double *label = run->side + run->guards;
    bool good = comply_past_stops(run, run->x, NULL, run->stops, label);
    for (int s = 0; s < run->stops; s++) {
        label[s] = label[s] >= 0;
    }
    for (int s = 0; s < run->stops && good; s++) {
        good = !comply_at_stop(run, s) || meet_stop(run, s, label);
    }
    return good;
}

static sprag_result go(comply_run *run, sprag_comply_reason *why)
{
    double rate = 0;
    bool begun = false;
    while (run->time < run->frame->step || !begun) {
        if (must_rest(run, &rate, why)) {
            if (begun) {
                return rest(run, *why);
            }
            return leave(run, *why);
        }
        sprag_ess_stats stats;
        if (!begun && run->stops > 0 && !meet_first(run)) {
            *why = SPRAG_COMPLY_STOPPED;
            return leave(run, *why);
        }
        run->stats->frames += !begun;
        begun = true;
        sprag_result result = integrate(run, rate, &stats);
        if (result == SPRAG_NO_MEMORY) {
            return result;
        }
        if (result == SPRAG_OK) {
            break;
        }
        bool met = stats.stop == SPRAG_ESS_LAST_EVENT && meet(run, stats.stop_guard);
        if (!met) {
            wait_longer(run, false);
            *why = stats.stop == SPRAG_ESS_MANY_STEPS ? SPRAG_COMPLY_STEPS : SPRAG_COMPLY_STOPPED;
            // Joints that contradict one another make speeds without end: then none of it counts.
            bool good = stats.stop == SPRAG_ESS_MANY_STEPS && run->rows < 0;
            return good ? rest(run, *why) : leave(run, *why);
        }
    }
    wait_longer(run, true);
    comply_unpack(run);
    return SPRAG_OK;
}

// How far everything has gone, by its speeds at both ends; how deep it is.
static void sum_up(comply_run *run, const sprag_mover *before)
{
    double h = run->frame->step;
    comply_pack(run);
    comply_place(run, run->x);
    for (int i = 0; i < run->frame->bodies; i++) {
        sprag_mover *b = &run->frame->body[i];
        double apart[3];
        subtract3(b->pose.position, before[i].pose.position, apart);
        b->path = fmax(norm3(apart), h * fmax(norm3(b->velocity), norm3(before[i].velocity)));
        b->turn = h * fmax(norm3(b->velocity + 3), norm3(before[i].velocity + 3));
    }
    run->frame->touching = 0;
    for (int g = 0; g < run->guards; g++) {
        comply_contact contact;
        sprag_advance_pair *pair = &run->frame->pair[run->pair[g]];
        if (pair->memory) {
            pair->memory->gap = run->memory[g].gap;
        }
        pair->gap = comply_least_gap(run, run->x, g);
        if (pair->gap > 0) {
            continue;
        }
        comply_touch(run, run->x, g, COMPLY_POINTS, &contact);
        pair->gap = contact.gap.distance;
        if (contact.gap.distance < 0) {
            if (pair->memory) {
                pair->memory->ended = contact.count;
            }
            run->stats->penetration = fmax(run->stats->penetration, -contact.gap.distance);
            run->frame->touching += contact.count;
        }
    }
}

// Forces of rows at the end of the frame.
static sprag_result tell_rows(comply_run *run)
{
    comply_pack(run);
    comply_problem(run).field(run, run->x, run->label, run->f);
    if (!isfinite(run->f[0])) {
        return SPRAG_NOT_CONVERGED;
    }
    comply_unpack(run);
    run->frame->rows = run->rows;
    if (run->calls->carried) {
        run->calls->carried(run->calls->data, comply_row_forces(run), NULL, 1);
    }
    return SPRAG_OK;
}

sprag_result sprag_comply(sprag_frame *frame, const sprag_comply_options *options,
                          const sprag_advance_calls *calls, sprag_scratch scratch[2],
                          sprag_comply_stats *stats, sprag_comply_reason *why)
{
    static const sprag_advance_calls nobody;
    sprag_comply_options own = options ? *options : sprag_comply_defaults();
    sprag_comply_stats unwanted = {0};
    sprag_comply_reason because;
    comply_run run = {.frame = frame,
                      .options = &own,
                      .calls = calls ? calls : &nobody,
                      .scratch = &scratch[0],
                      .solving = &scratch[1],
                      .stats = stats ? stats : &unwanted};
    why = why ? why : &because;
    if (!is_good(frame)) {
        return SPRAG_BAD_PROBLEM;
    }
    pass_time(frame);
    if (frame->contacts > 0) {
        *why = SPRAG_COMPLY_GIVEN;
        return leave(&run, *why);
    }
    sprag_mover *before = SPRAG_TAKE(run.scratch, frame->bodies, sprag_mover);
    if (!take(&run) || !before) {
        return SPRAG_NO_MEMORY;
    }
    memcpy(before, frame->body, (size_t)frame->bodies * sizeof *before);
    const sprag_comply_stats events = *run.stats; // so far
    run.start = before;
    run.rows = -1;
    frame->rows = 0;
    set_inertias(&run);
    set_radii(&run);
    comply_pack(&run);
    comply_place(&run, run.x);
    sprag_result result = SPRAG_NOT_CONVERGED;
    bool taken = !run.calls->rows || comply_take_rows(&run, why);
    set_scale(&run);
    if (!taken) {
        leave(&run, *why);
    } else if (!take_guards(&run)) {
        result = SPRAG_NO_MEMORY;
    } else if (starts_rigid(&run, why)) {
        leave(&run, *why);
    } else {
        comply_place(&run, run.x);
        find_guards(&run);
        result = go(&run, why);
    }
    if (result == SPRAG_OK && run.rows >= 0 && !run.rested) {
        result = tell_rows(&run);
    }
    if (result != SPRAG_OK) {
        run.stats->events = events.events;
        run.stats->projected = events.projected;
        memcpy(run.stats->kinds, events.kinds, sizeof events.kinds);
        memcpy(frame->body, before, (size_t)frame->bodies * sizeof *before);
        return run.scratch->failed ? SPRAG_NO_MEMORY : result;
    }
    for (int i = 0; i < run.tells; i++) {
        run.calls->event(run.calls->data, &run.told[i]);
    }
    sum_up(&run, before);
    return is_good(frame) ? SPRAG_OK : SPRAG_BAD_PROBLEM;
}
