// Error control of sub-steps: the end converges as the tolerance falls, what rests is left alone,
// nothing that was tried and taken back leaves a trace.
#include <check.h>
#include <math.h>
#include <string.h>

#include "advance.h"
#include "chance.h"
#include "suite.h"

#define FRAME 0.01   // s
#define GRAVITY 9.81 // m/s^2

enum { BODIES = 6, PAIRS = BODIES * (BODIES + 1) / 2, EVENTS = 20000 };

typedef struct scene {
    int bodies, pairs;
    sprag_mover body[BODIES];
    sprag_collider collider[BODIES + 1]; // the last: the floor
    sprag_pair pair[PAIRS];
    sprag_pair_memory memory[PAIRS];
    sprag_advance_options options;
    sprag_frame_calls calls;
    sprag_advance_stats stats;
    sprag_scratch scratch[2];
    sprag_result result;
    chance *spoilt;
    // by the calls of the frame:
    int asked[PAIRS];
    int event_count, frame_events;
    sprag_event event[EVENTS];
    double share;          // of a frame, that forces have acted for
    double row_impulse[3]; // N s, of the rows, in a frame
    sprag_row row[3];
    double hung[3]; // m, a corner of body 0 hangs there
    double seen[3]; // m, where body 0 was when rows were asked for last
    double last[3]; // m, and where when forces were reported last
} scene;

static bool touch(void *data, int pair, double gap, double time)
{
    scene *s = data;
    (void)gap;
    (void)time;
    s->asked[pair]++;
    s->pair[pair].surface = (sprag_surface){.slide = {.coefficient = {0.5, 0.5}}};
    return true;
}

static void heard(void *data, const sprag_event *event)
{
    scene *s = data;
    ck_assert_int_lt(s->event_count, EVENTS);
    s->event[s->event_count++] = *event;
}

static void acted(void *data, const sprag_row *row, const double *row_force,
                  const double (*contact_force)[6], double share)
{
    (void)row;
    scene *s = data;
    (void)contact_force;
    s->share += share;
    for (int i = 0; i < 3 && s->calls.rows; i++) {
        s->row_impulse[i] += row_force[i] * share * FRAME;
    }
    if (s->calls.rows) { // rows are those of another place each time
        ck_assert_int_ne(memcmp(s->seen, s->last, sizeof s->seen), 0);
        memcpy(s->last, s->seen, sizeof s->seen);
    }
}

// A corner of body 0 stays where it is.
static int hang(void *data, const sprag_mover *body, double step, const sprag_row **row)
{
    scene *s = data;
    double arm[3];
    mul33(body->pose.rotation, s->collider[0].shape.half, arm);
    memcpy(s->seen, body->pose.position, sizeof s->seen);
    for (int k = 0; k < 3; k++) {
        double unit[3] = {k == 0, k == 1, k == 2};
        s->row[k] = (sprag_row){.body = {0, SPRAG_STATIC}, .lo = -INFINITY, .hi = INFINITY};
        memcpy(s->row[k].jacobian[0], unit, sizeof unit);
        cross3(arm, unit, s->row[k].jacobian[0] + 3);
        s->row[k].bias = 0.2 * (s->hung[k] - body->pose.position[k] - arm[k]) / step;
    }
    *row = s->row;
    return 3;
}

static void start(scene *s, double error)
{
    memset(s, 0, sizeof *s);
    s->options = sprag_advance_defaults();
    s->options.error = error;
    s->options.shortest = 1e-6;
    s->options.checks = 1;
    s->calls =
        (sprag_frame_calls){.data = s, .ask_pair = touch, .event = heard, .add_forces = acted};
}

static sprag_mover *box(scene *s, double x, double y, double z, double height)
{
    const double side[3] = {x, y, z};
    sprag_mover *body = &s->body[s->bodies];
    sprag_collider *collider = &s->collider[s->bodies];
    double mass = 1000 * x * y * z;
    *body = (sprag_mover){.mass = mass,
                          .pose = {{0, 0, height}, {1, 0, 0, 0, 1, 0, 0, 0, 1}},
                          .force = {0, 0, -mass * GRAVITY},
                          .gyroscopic = true};
    *collider =
        (sprag_collider){s->bodies, {.kind = SPRAG_BOX}, {{0}, {1, 0, 0, 0, 1, 0, 0, 0, 1}}, NULL};
    for (int k = 0; k < 3; k++) {
        double p = side[(k + 1) % 3], q = side[(k + 2) % 3];
        collider->shape.half[k] = side[k] / 2;
        body->inertia[4 * k] = mass * (p * p + q * q) / 12;
    }
    s->bodies++;
    return body;
}

static void close_up(scene *s)
{
    s->collider[s->bodies] = (sprag_collider){
        SPRAG_STATIC, {.kind = SPRAG_PLANE}, {{0}, {1, 0, 0, 0, 1, 0, 0, 0, 1}}, NULL};
    for (int i = 0; i < s->bodies; i++) {
        for (int k = i + 1; k <= s->bodies; k++) {
            s->pair[s->pairs] = (sprag_pair){.collider = {i, k}, .memory = &s->memory[s->pairs]};
            s->pairs++;
        }
    }
}

static void run(scene *s, double step, int frames)
{
    sprag_frame frame = {.step = step,
                         .bodies = s->bodies,
                         .colliders = s->bodies + 1,
                         .pairs = s->pairs,
                         .body = s->body,
                         .collider = s->collider,
                         .pair = s->pair};
    for (int i = 0; i < frames && s->result == SPRAG_OK; i++) {
        sprag_scratch_reset(&s->scratch[0]);
        s->share = 0;
        memset(s->row_impulse, 0, sizeof s->row_impulse);
        s->result = sprag_advance(&frame, &s->options, &s->calls, s->scratch, &s->stats);
        ck_assert_int_eq(s->result, SPRAG_OK);
        ck_assert(s->spoilt || fabs(s->share - 1) < 1e-3);
    }
}

static void end(scene *s)
{
    sprag_scratch_free(&s->scratch[0]);
    sprag_scratch_free(&s->scratch[1]);
}

// m, of any point within `radius` of the centre, at most.
static double apart(const sprag_mover *a, const sprag_mover *b, double radius)
{
    double d[3], sum = 0;
    subtract3(a->pose.position, b->pose.position, d);
    for (int k = 0; k < 9; k++) {
        sum += pow(a->pose.rotation[k] - b->pose.rotation[k], 2);
    }
    return norm3(d) + radius * 2 * asin(fmin(1, sqrt(sum / 8)));
}

// ---- scenes

static void tumble(scene *s)
{
    const double v[6] = {1, 0.5, 3, 0.3, 6, 0.2}; // about its middle axis: it turns over
    memcpy(box(s, 0.2, 0.3, 0.5, 10)->velocity, v, sizeof v);
}

static void throw(scene * s)
{
    const double v[6] = {2, 1, -1, 5, -4, 3};
    sprag_mover *die = box(s, 0.3, 0.3, 0.3, 0.45);
    chance dice = {4};
    memcpy(die->velocity, v, sizeof v);
    chance_rotation(&dice, die->pose.rotation);
}

// The same, with a corner near the floor.
static void land(scene *s)
{
    throw(s);
    s->body[0].pose.position[2] = 0.32;
    s->options.epsilon = 1e-8; // the impact takes one sub-step as long as that is more than it goes
}

static void stack(scene *s)
{
    for (int i = 0; i < 5; i++) {
        box(s, 0.5, 0.5, 0.5, 0.5 * i + 0.25 + 5e-7 * (i + 1));
    }
}

static void pendulum(scene *s)
{
    box(s, 0.2, 0.2, 0.6, 3);
    for (int k = 0; k < 3; k++) {
        s->hung[k] = s->body[0].pose.position[k] + s->collider[0].shape.half[k];
    }
    s->calls.rows = hang;
}

typedef void open_fn(scene *);

typedef void open_fn(scene *);

static void play(scene *s, open_fn *open, double error, double step, int frames)
{
    start(s, error);
    open(s);
    close_up(s);
    run(s, step, frames);
}

static scene played, again;

// ---- convergence

// Richardson extrapolation: errors of the first order cancel.
static sprag_mover reference_of(open_fn *open, int frames, int finer)
{
    sprag_mover near, reference;
    play(&played, open, 0, FRAME / finer, frames * finer);
    near = played.body[0];
    end(&played);
    play(&played, open, 0, FRAME / (2 * finer), frames * 2 * finer);
    reference = played.body[0];
    end(&played);
    for (int k = 0; k < 3; k++) {
        reference.pose.position[k] += reference.pose.position[k] - near.pose.position[k];
    }
    for (int k = 0; k < 9; k++) {
        reference.pose.rotation[k] += reference.pose.rotation[k] - near.pose.rotation[k];
    }
    return reference;
}

// As fast as the tolerance, but for a factor 2 as steps are halved; and as good as is promised, so
// much in every frame, unless the motion itself spreads what has come before by `spread`.
static void converges_to(sprag_mover reference, open_fn *open, int frames, double radius,
                         double spread)
{
    static const double tolerance[] = {1e-4, 1e-5, 1e-6};
    double off[3];
    long substeps = 0;
    for (int i = 0; i < 3; i++) {
        play(&played, open, tolerance[i], FRAME, frames);
        off[i] = apart(&played.body[0], &reference, radius);
        ck_assert_double_le(off[i], spread * frames * tolerance[i]);
        ck_assert_double_le(off[i], 2 * off[0] * tolerance[i] / tolerance[0]);
        ck_assert_double_ge(played.stats.least_gap, 0);
        ck_assert_int_gt(played.stats.substeps, substeps);
        ck_assert_double_gt(played.stats.error, 0);
        ck_assert_double_le(played.stats.error, tolerance[i]);
        substeps = played.stats.substeps;
        end(&played);
    }
}

static void converges(open_fn *open, int frames, double radius, double spread)
{
    converges_to(reference_of(open, frames, 2000), open, frames, radius, spread);
}

// Flight needs no error control: the turn over of the first body amplifies the error of the Runge
// and Kutta steps of spin.c.
static void flies_exactly(open_fn *open, int frames, double radius, double within)
{
    sprag_mover reference = reference_of(open, frames, 200);
    play(&played, open, 0, FRAME, frames);
    ck_assert_double_le(apart(&played.body[0], &reference, radius), within);
    ck_assert_int_eq(played.stats.substeps, frames);
    end(&played);
}

START_TEST(flight_is_exact)
{
    flies_exactly(tumble, 50, 0.31, 2e-6);
    flies_exactly(throw, 12, 0.26, 1e-10);
}
END_TEST

START_TEST(a_landing_die_converges)
{
    play(&played, land, 2e-7, FRAME, 12);
    sprag_mover reference = played.body[0];
    end(&played);
    converges_to(reference, land, 12, 0.26, 2);
    ck_assert_int_gt(played.stats.events[SPRAG_CONTACT_MADE], 0);
}
END_TEST

START_TEST(a_pendulum_converges)
{
    converges(pendulum, 20, 0.35, 2);
}
END_TEST

// ---- conserved quantities

// The reported impulses are those that act, whatever attempts the frame has discarded.
static void balances(open_fn *open, int frames)
{
    start(&played, 1e-5);
    open(&played);
    close_up(&played);
    for (int i = 0; i < frames; i++) {
        sprag_mover before = played.body[0];
        run(&played, FRAME, 1);
        for (int k = 0; k < 3; k++) {
            double told = before.force[k] * FRAME + played.row_impulse[k];
            for (int p = 0; p < played.pairs; p++) {
                int side = played.pair[p].collider[0] == 0 ? 1 : 0;
                told += side * played.pair[p].impulse[0][k];
            }
            double gained = before.mass * (played.body[0].velocity[k] - before.velocity[k]);
            ck_assert_double_eq_tol(gained, told,
                                    1e-6 * (before.mass * GRAVITY * FRAME + fabs(told)));
        }
    }
    end(&played);
}

START_TEST(impulses_balance)
{
    balances(land, 60);
    ck_assert_int_gt(played.stats.events[SPRAG_CONTACT_MADE], 0);
    balances(stack, 20);
    balances(pendulum, 20);
}
END_TEST

// Contacts are made and lost in turns, times go on, nobody is asked twice, all are counted.
START_TEST(no_event_is_reported_twice)
{
    start(&played, 1e-5);
    land(&played);
    close_up(&played);
    int made[PAIRS] = {0};
    for (int i = 0; i < 100; i++) {
        played.event_count = 0;
        long counted = 0, before = 0;
        for (int k = 0; k <= SPRAG_STALLED; k++) {
            before += played.stats.events[k];
        }
        run(&played, FRAME, 1);
        for (int k = 0; k <= SPRAG_STALLED; k++) {
            counted += played.stats.events[k];
        }
        ck_assert_int_eq(counted - before, played.event_count);
        for (int k = 0; k < played.event_count; k++) {
            const sprag_event *e = &played.event[k];
            ck_assert(e->time >= 0 && e->time <= FRAME * (1 + 1e-9));
            if (e->kind == SPRAG_CONTACT_MADE || e->kind == SPRAG_CONTACT_LOST) {
                ck_assert_int_eq(made[e->pair], e->kind == SPRAG_CONTACT_LOST);
                made[e->pair] = !made[e->pair];
            }
        }
    }
    for (int p = 0; p < played.pairs; p++) {
        ck_assert_int_le(played.asked[p], 1);
    }
    ck_assert_int_gt(played.stats.events[SPRAG_CONTACT_MADE], 0);
    ck_assert_double_ge(played.stats.least_gap, 0);
    end(&played);
}
END_TEST

// Two halves a frame, whatever is asked for, and it stays where it is.
START_TEST(bodies_at_rest_are_not_refined)
{
    static const double tolerance[] = {1e-4, 1e-5, 1e-6};
    for (int i = 0; i < 3; i++) {
        play(&played, stack, tolerance[i], FRAME, 100);
        ck_assert_int_le(played.stats.substeps, 2 * 100 + 2);
        ck_assert_double_ge(played.stats.least_gap, 0);
        for (int k = 0; k < played.bodies; k++) {
            ck_assert_double_eq_tol(played.body[k].pose.position[2], 0.5 * k + 0.25, 1e-5);
        }
        end(&played);
    }
}
END_TEST

START_TEST(the_same_bits_twice)
{
    play(&played, land, 1e-5, FRAME, 60);
    play(&again, land, 1e-5, FRAME, 60);
    ck_assert_int_eq(memcmp(played.body, again.body, sizeof played.body), 0);
    ck_assert_int_eq(played.event_count, again.event_count);
    end(&played);
    end(&again);
}
END_TEST

// A tolerance that would need sub-steps below the shortest allowed still ends.
START_TEST(no_shorter_than_the_shortest)
{
    start(&played, 1e-12);
    played.options.shortest = 0.05;
    pendulum(&played);
    close_up(&played);
    run(&played, FRAME, 10);
    ck_assert_double_ge(played.stats.least_step, 0.05 * FRAME / 4);
    ck_assert_double_gt(played.stats.error, 1e-12);
    end(&played);
}
END_TEST

static void spoil(void *data, int bodies, double (*velocity)[6])
{
    chance *dice = ((scene *)data)->spoilt;
    for (int i = 0; i < bodies; i++) {
        for (int k = 0; k < 6; k++) {
            velocity[i][k] += chance_between(dice, -1, 1);
        }
    }
}

// Whatever the solve returns, and whether or not it stalls: the frame ends, nothing
// interpenetrates.
START_TEST(nothing_interpenetrates)
{
    chance dice = {6};
    start(&played, 1e-4);
    played.options.shortest = 0.01;
    played.spoilt = &dice;
    played.calls.disturb = spoil;
    stack(&played);
    close_up(&played);
    for (int i = 0; i < 20; i++) {
        run(&played, FRAME, 1);
    }
    ck_assert_double_ge(played.stats.least_gap, 0);
    ck_assert_int_gt(played.stats.substeps, 20 * 2);
    end(&played);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("error control");
    ADD_TESTS(suite, "all", {flight_is_exact, 1}, {a_landing_die_converges, 1},
              {a_pendulum_converges, 1}, {impulses_balance, 1}, {no_event_is_reported_twice, 1},
              {bodies_at_rest_are_not_refined, 1}, {the_same_bits_twice, 1},
              {no_shorter_than_the_shortest, 1}, {nothing_interpenetrates, 1});
    return run_suite(suite);
}
