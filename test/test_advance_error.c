// Error control of sub-steps: the end converges as the tolerance falls, what rests is left alone,
// nothing that was tried and taken back leaves a trace.
#include <check.h>
#include <math.h>
#include <string.h>

#include "solvers/advance.h"
#include "test/chance.h"
#include "test/suite.h"

#define FRAME 0.01   // s
#define GRAVITY 9.81 // m/s^2

enum { BODIES = 6, PAIRS = BODIES * (BODIES + 1) / 2, EVENTS = 20000 };

typedef struct scene {
    int bodies, pairs;
    sprag_mover body[BODIES];
    sprag_collider collider[BODIES + 1]; // the last: the floor
    sprag_advance_pair pair[PAIRS];
    sprag_pair_memory memory[PAIRS];
    sprag_advance_options options;
    sprag_advance_calls calls;
    sprag_advance_stats stats;
    sprag_scratch scratch[2];
    sprag_result result;
    // what has been told
    int asked[PAIRS];
    int event_count, frame_events;
    sprag_event event[EVENTS];
    double share;          // of a frame, that forces have acted for
    double row_impulse[2]; // N s, of the rows
    sprag_row row[2];
    double anchor[3]; // m, in the axes of body 0, of a point that is held
    double held[3];   // m, where
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

static void acted(void *data, const double *row_force, const double (*contact_force)[6],
                  double share)
{
    scene *s = data;
    (void)contact_force;
    s->share += share;
    for (int i = 0; i < 2 && s->calls.rows; i++) {
        s->row_impulse[i] += row_force[i] * share * FRAME * s->row[i].jacobian[0][i];
    }
}

static void start(scene *s, double error)
{
    memset(s, 0, sizeof *s);
    s->options = sprag_advance_defaults();
    s->options.error = error;
    s->options.shortest = 1e-5;
    s->options.checks = 1;
    s->calls = (sprag_advance_calls){.data = s, .touch = touch, .event = heard, .carried = acted};
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
    *collider = (sprag_collider){s->bodies, {.kind = SPRAG_BOX}, {{0}, {1, 0, 0, 0, 1, 0, 0, 0, 1}}};
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
        SPRAG_STATIC, {.kind = SPRAG_PLANE}, {{0}, {1, 0, 0, 0, 1, 0, 0, 0, 1}}};
    for (int i = 0; i < s->bodies; i++) {
        for (int k = i + 1; k <= s->bodies; k++) {
            s->pair[s->pairs] =
                (sprag_advance_pair){.collider = {i, k}, .memory = &s->memory[s->pairs]};
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
        s->result = sprag_advance(&frame, &s->options, &s->calls, s->scratch, &s->stats);
        ck_assert_int_eq(s->result, SPRAG_OK);
        ck_assert_double_eq_tol(s->share, 1, 1e-9);
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

static void throw(scene *s)
{
    const double v[6] = {2, 1, -1, 5, -4, 3};
    sprag_mover *die = box(s, 0.3, 0.3, 0.3, 0.45);
    chance dice = {4};
    memcpy(die->velocity, v, sizeof v);
    chance_rotation(&dice, die->pose.rotation);
}

static void stack(scene *s)
{
    for (int i = 0; i < 5; i++) {
        box(s, 0.5, 0.5, 0.5, 0.5 * i + 0.25 + 5e-7 * (i + 1));
    }
}

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

// An error of a frame of that many metres, over so many frames.
static void converges(open_fn *open, int frames, double radius)
{
    static const double tolerance[] = {1e-4, 1e-5, 1e-6};
    sprag_mover reference, near;
    double off[3];
    long substeps = 0;
    play(&played, open, 0, FRAME / 2000, frames * 2000);
    near = played.body[0];
    end(&played);
    play(&played, open, 0, FRAME / 4000, frames * 4000);
    reference = played.body[0]; // the halves' difference is what is left, of the first order:
    for (int k = 0; k < 3; k++) {
        reference.pose.position[k] += reference.pose.position[k] - near.pose.position[k];
    }
    for (int k = 0; k < 9; k++) {
        reference.pose.rotation[k] += reference.pose.rotation[k] - near.pose.rotation[k];
    }
    end(&played);
    for (int i = 0; i < 3; i++) {
        play(&played, open, tolerance[i], FRAME, frames);
        off[i] = apart(&played.body[0], &reference, radius);
        printf("error %g: off %g, substeps %ld, least gap %g, most error %g\n", tolerance[i], off[i],
               played.stats.substeps, played.stats.least_gap, played.stats.error);
        ck_assert_double_ge(played.stats.least_gap, 0);
        ck_assert_int_gt(played.stats.substeps, substeps);
        ck_assert_double_gt(played.stats.error, 0);
        substeps = played.stats.substeps;
        end(&played);
    }
}

START_TEST(a_tumbling_body_converges)
{
    converges(tumble, 50, 0.31);
}
END_TEST

START_TEST(a_thrown_die_converges)
{
    converges(throw, 12, 0.26);
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("error control");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, a_tumbling_body_converges);
    tcase_add_test(tests, a_thrown_die_converges);
    suite_add_tcase(all, tests);
    return all;
}

int main(void)
{
    return run_suite(suite());
}
