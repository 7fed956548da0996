// Joint rows and stops that a caller describes without laws: one that only pushes, and calls that
// are refused.
#include <math.h>

#include "compliant.h"
#include "suite.h"

typedef struct scene {
    sprag_row row;
    sprag_stop stop;
    int asked, refused; // for rows; the first call that is, from 1; 0: none is
    bool has_law;
    double arm; // m, of the point that the law names
} scene;

// The row is the height of a body over the ground.
static int coordinates(void *data, const sprag_mover *body, double step, const sprag_row **row,
                       const sprag_stop **stop, int *stops)
{
    scene *s = data;
    (void)step;
    const bool refused = ++s->asked >= s->refused && s->refused;
    s->stop.inside = refused ? s->stop.inside : body->pose.position[2];
    *row = &s->row;
    *stop = &s->stop;
    *stops = s->stop.sign != 0;
    return refused ? -1 : 1;
}

static int rows(void *data, const sprag_mover *body, double step, const sprag_row **row)
{
    const sprag_stop *stop;
    int stops;
    return coordinates(data, body, step, row, &stop, &stops);
}

static bool point_law(void *data, int count, sprag_row_law *law)
{
    const scene *s = data;
    ck_assert_int_eq(count, 1);
    *law = (sprag_row_law){.kind = SPRAG_ROW_POINT, .carrier = -1, .vector = {{s->arm}}};
    return s->has_law;
}

static sprag_result run(scene *s, sprag_mover *body)
{
    sprag_frame frame = {.step = 0.01, .number = 1, .bodies = 1, .body = body};
    const sprag_frame_calls calls = {
        .data = s, .rows = rows, .coordinates = coordinates, .row_laws = point_law};
    sprag_compliant_options options = sprag_compliant_defaults();
    sprag_scratch scratch[2] = {{0}};
    sprag_compliant_stats stats = {0};
    sprag_compliant_reason reason;
    sprag_result result = sprag_compliant(&frame, &options, &calls, scratch, &stats, &reason);
    for (int i = 0; i < 2; i++) {
        sprag_scratch_free(&scratch[i]);
    }
    return result;
}

static scene upright(double lo, double hi)
{
    return (scene){.row = {.body = {0, SPRAG_STATIC}, .jacobian = {{0, 0, 1}}, .lo = lo, .hi = hi}};
}

static sprag_mover body_at(double height, double speed)
{
    return (sprag_mover){.mass = 2,
                         .inertia = {0.004, 0, 0, 0, 0.004, 0, 0, 0, 0.004},
                         .pose = {{0, 0, height}, {1, 0, 0, 0, 1, 0, 0, 0, 1}},
                         .velocity = {0, 0, speed},
                         .force = {0, 0, -20}};
}

// Bounds on either side, by a row that pushes up and one that pulls down.
START_TEST(rows_of_one_sign_hold)
{
    const double sign = _i ? -1 : 1;
    scene s = upright(_i ? -INFINITY : 0, _i ? 0 : INFINITY);
    sprag_mover body = body_at(1, 0);
    body.force[2] *= sign;
    ck_assert_int_eq(run(&s, &body), SPRAG_OK);
    ck_assert_double_eq_tol(body.velocity[2], 0, 1e-9);
    body.force[2] *= -1; // lets go
    ck_assert_int_eq(run(&s, &body), SPRAG_OK);
    ck_assert_double_eq_tol(body.velocity[2], sign * 0.1, 1e-9);
}
END_TEST

// A body falls on a stop. From whichever call on they are refused, the frame is, and the body stays
// where it is.
START_TEST(refused_rows_refuse_the_frame)
{
    static const int start = 7; // calls: then the frame ends without another one
    int calls = 0;
    for (int refused = 0; refused <= calls; refused++) {
        scene s = upright(0, 0);
        s.stop = (sprag_stop){.sign = 1, .erp = 0.2, .bounce = 0.5};
        s.refused = refused;
        sprag_mover body = body_at(0.005, -1);
        ck_assert_int_eq(run(&s, &body), refused ? SPRAG_NOT_CONVERGED : SPRAG_OK);
        if (refused) {
            ck_assert_double_eq(body.velocity[2], -1);
            ck_assert_double_eq(body.pose.position[2], 0.005);
            ck_assert(refused > start || s.asked == refused);
        } else {
            calls = s.asked;
            ck_assert_double_gt(body.velocity[2], 0.4); // half of what it had, and a little
        }
    }
}
END_TEST

// Laws are of no use where a stop is of a row that neither turns nor slides, nor where they do not
// give the row that there is, nor for a spring: the same to the bit.
START_TEST(laws_that_do_not_fit_are_not_used)
{
    sprag_mover body[3];
    int asked[3];
    for (int i = 0; i < 3; i++) {
        scene s = upright(_i == 2 ? -INFINITY : 0, _i == 2 ? INFINITY : 0);
        s.row.compliance = _i == 2; // a spring
        s.stop = (sprag_stop){.sign = _i == 1, .erp = 0.2, .bounce = 0.5};
        s.has_law = i > 0;
        s.arm = i == 2 ? 0.1 : 0;
        body[i] = body_at(0.005, -1);
        ck_assert_int_eq(run(&s, &body[i]), SPRAG_OK);
        asked[i] = s.asked;
    }
    ck_assert(asked[1] == asked[0] || _i == 0);
    ck_assert_int_eq(asked[2], asked[0]);
    for (int i = 1; i < 3; i++) {
        ck_assert_mem_eq(body[i].velocity, body[0].velocity, sizeof body[0].velocity);
    }
    ck_assert(_i != 1 || body[0].velocity[2] > 0.4);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rows");
    ADD_TESTS(suite, "all", {rows_of_one_sign_hold, 2}, {refused_rows_refuse_the_frame, 1},
              {laws_that_do_not_fit_are_not_used, 3});
    return run_suite(suite);
}
