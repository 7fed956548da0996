// Certificates: safe for whatever pair and motion, by the gap query and, for boxes, by a separating
// axis test of its own; exact where the time is known; whole where touching bodies keep their gap.
#include <check.h>
#include <float.h>
#include <math.h>

#include "bounds.h"
#include "certificate.h"
#include "chain.h"
#include "chance.h"
#include "suite.h"

#define LEVEL 2e-8 // m
#define TOUCH 5e-7 // m
#define STEP 0.01  // s
#define ENDS (LEVEL * 1.001)

static chance dice;

// ---- bodies

static const sprag_pose nowhere = {{0}, {1, 0, 0, 0, 1, 0, 0, 0, 1}};

typedef struct pair {
    sprag_shape shape[2];
    sprag_motion motion[2];
    sprag_carried carried[2];
} pair;

static void body(pair *p, int b, sprag_shape shape, const double at[3], const double turn[3],
                 const double velocity[6])
{
    sprag_motion turning = {.pose = nowhere};
    p->shape[b] = shape;
    memcpy(turning.velocity + 3, turn, 3 * sizeof *turn);
    sprag_motion_at(&turning, 1, &p->motion[b].pose);
    memcpy(p->motion[b].pose.position, at, 3 * sizeof *at);
    p->carried[b] = (sprag_carried){&p->shape[b], nowhere, NULL};
    if (velocity) {
        memcpy(p->motion[b].velocity, velocity, sizeof p->motion[b].velocity);
        p->carried[b].motion = &p->motion[b];
    } else {
        p->carried[b].mount = p->motion[b].pose;
    }
}

static double gap_at(const pair *p, double t, sprag_gap *gap)
{
    sprag_pose pose[2];
    sprag_carried_at(&p->carried[0], t, &pose[0]);
    sprag_carried_at(&p->carried[1], t, &pose[1]);
    const sprag_shape *const shape[2] = {&p->shape[0], &p->shape[1]};
    const sprag_pose *const where[2] = {&pose[0], &pose[1]};
    const sprag_gap_query query = {.reach = INFINITY};
    ck_assert_int_ne(sprag_gap_find(shape, where, &query, NULL, gap, NULL), SPRAG_BAD_PROBLEM);
    return gap->distance;
}

static sprag_certificate certify(const pair *p, double horizon)
{
    sprag_gap gap;
    sprag_certificate c = {0};
    gap_at(p, 0, &gap);
    sprag_time_of_impact(p->carried, &gap, LEVEL, horizon, &c);
    ck_assert(isfinite(c.time + c.height + c.lowest + dot3(c.point, c.point)));
    ck_assert_double_eq_tol(norm3(c.normal), 1, 1e-9);
    ck_assert(c.time >= 0 && c.time <= horizon);
    ck_assert_int_eq(c.whole, c.time >= horizon);
    return c;
}

static void assert_whole(const pair *p, double horizon)
{
    sprag_gap gap;
    sprag_certificate c = certify(p, horizon);
    ck_assert_msg(c.whole, "%g of %g, height %g, lowest %g", c.time, horizon, c.height, c.lowest);
    for (int i = 0; i <= 50; i++) {
        ck_assert_double_ge(gap_at(p, horizon * i / 50, &gap), LEVEL - 1e-13);
    }
}

static const double none[3], still[6];

static sprag_shape box_of(double x, double y, double z)
{
    return (sprag_shape){.kind = SPRAG_BOX, .half = {x, y, z}};
}

static sprag_shape ball_of(double radius)
{
    return (sprag_shape){.kind = SPRAG_SPHERE, .radius = radius};
}

static sprag_shape long_of(sprag_shape_kind kind, double radius, double half)
{
    return (sprag_shape){.kind = kind, .radius = radius, .half = {0, 0, half}};
}

static const sprag_shape ground = {.kind = SPRAG_PLANE};

// ---- motion

START_TEST(motion_is_the_exponential_of_the_twist)
{
    dice.state = 3;
    for (int i = 0; i < 2000; i++) {
        sprag_motion m = {.pose.position = {1, 2, 3}, .velocity = {0.1, -0.2, 0.3}}, half;
        sprag_pose once, twice;
        double spin = chance_power(&dice, -300, 2);
        chance_rotation(&dice, m.pose.rotation);
        chance_unit(&dice, m.velocity + 3);
        for (int k = 0; k < 3; k++) {
            m.velocity[3 + k] *= spin;
        }
        sprag_motion_at(&m, 0.4, &once);
        half = m;
        sprag_motion_at(&m, 0.1, &half.pose);
        sprag_motion_at(&half, 0.3, &twice);
        double turned = 0;
        for (int k = 0; k < 9; k++) {
            ck_assert_double_eq_tol(once.rotation[k], twice.rotation[k], 1e-13);
            turned += m.pose.rotation[k] * once.rotation[k];
        }
        // trace: 1 + 2 cos
        ck_assert_double_eq_tol(turned, 1 + 2 * cos(0.4 * spin), 1e-12);
        for (int k = 0; k < 3; k++) {
            ck_assert_double_eq_tol(once.position[k], m.pose.position[k] + 0.4 * m.velocity[k],
                                    1e-15);
            // what is along the spin stays, by the right hand
            double along = 0, was = 0;
            for (int j = 0; j < 3; j++) {
                along += m.velocity[3 + j] / spin * once.rotation[3 * j + k];
                was += m.velocity[3 + j] / spin * m.pose.rotation[3 * j + k];
            }
            ck_assert_double_eq_tol(along, was, 1e-13);
        }
    }
    sprag_motion quarter = {.pose = nowhere, .velocity = {0, 0, 0, 0, 0, M_PI / 2}};
    sprag_pose pose;
    sprag_motion_at(&quarter, 1, &pose);
    ck_assert_double_eq_tol(pose.rotation[3], 1, 1e-15); // x goes to y
}
END_TEST

START_TEST(axes_stay_orthonormal)
{
    sprag_motion m = {.pose = nowhere, .velocity = {0, 0, 0, 3, -7, 11}};
    for (int i = 0; i < 100000; i++) {
        sprag_motion_at(&m, 1e-3, &m.pose);
    }
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            double d = dot3(m.pose.rotation + 3 * i, m.pose.rotation + 3 * j);
            ck_assert_double_eq_tol(d, i == j, 4 * DBL_EPSILON);
        }
    }
}
END_TEST

// ---- any pair

enum { VERTICES = 40 };
static double cloud[VERTICES][3], triangle_normal[2][3];
static sprag_polytope cloud_polytope, triangle;

static void make_shapes(void)
{
    dice.state = 1;
    for (int i = 0; i < VERTICES; i++) {
        chance_unit(&dice, cloud[i]);
    }
    cloud_polytope = (sprag_polytope){.vertices = VERTICES, .vertex = (const double(*)[3])cloud};
    triangle = sprag_triangle_make((const double(*)[3])cloud, triangle_normal);
}

static void random_shape(sprag_shape *shape)
{
    *shape = (sprag_shape){.kind = (sprag_shape_kind)(SPRAG_SHAPE_KINDS * chance_fraction(&dice))};
    shape->radius = chance_between(&dice, 0.05, 1);
    for (int k = 0; k < 3; k++) {
        shape->half[k] = chance_between(&dice, 0.05, 1);
    }
    shape->polytope = chance_fraction(&dice) < 0.5 ? &triangle : &cloud_polytope;
}

static void move_apart(pair *p, double by, const double normal[3])
{
    double *position =
        p->carried[0].motion ? p->motion[0].pose.position : p->carried[0].mount.position;
    add_scaled(position, by, normal, 3);
}

// Any kinds but two planes, any poses, `gap` apart.
static void random_pair(pair *p, double gap)
{
    double spin = chance_power(&dice, -2, 2), speed = chance_power(&dice, -2, 1);
    do {
        random_shape(&p->shape[0]);
        random_shape(&p->shape[1]);
    } while (p->shape[0].kind == SPRAG_PLANE && p->shape[1].kind == SPRAG_PLANE);
    for (int b = 0; b < 2; b++) {
        sprag_motion *m = &p->motion[b];
        sprag_carried *c = &p->carried[b];
        double turns = chance_fraction(&dice) < 0.2 ? 0 : spin;
        *c = (sprag_carried){&p->shape[b], nowhere, chance_fraction(&dice) < 0.3 ? NULL : m};
        chance_rotation(&dice, m->pose.rotation);
        chance_rotation(&dice, c->mount.rotation);
        chance_unit(&dice, m->velocity);
        chance_unit(&dice, m->velocity + 3);
        double off = chance_fraction(&dice) < 0.5 ? 0 : 0.5;
        for (int k = 0; k < 3; k++) {
            m->velocity[k] *= speed;
            m->velocity[3 + k] *= turns;
            m->pose.position[k] = chance_between(&dice, -3, 3);
            c->mount.position[k] = off * chance_between(&dice, -1, 1);
            c->mount.position[k] += c->motion ? 0 : m->pose.position[k];
        }
    }
    for (int i = 0; i < 3; i++) {
        sprag_gap found;
        double distance = gap_at(p, 0, &found);
        move_apart(p, gap - distance, found.normal);
    }
}

START_TEST(nothing_gets_below_the_level)
{
    int whole = 0, ended = 0, tried = 0;
    dice.state = 11;
    for (int i = 0; i < 12000; i++) {
        pair p;
        sprag_gap gap;
        random_pair(&p, chance_power(&dice, -8, 0));
        if (gap_at(&p, 0, &gap) < LEVEL) {
            continue;
        }
        sprag_certificate c = certify(&p, chance_power(&dice, -3, -1));
        whole += c.whole;
        ended += !c.whole && c.time > 0;
        tried++;
        for (int s = 1; s <= 25 && c.time > 0; s++) {
            ck_assert_double_ge(gap_at(&p, c.time * s / 25, &gap), LEVEL - 1e-12);
        }
    }
    ck_assert_int_gt(tried, 10000);
    ck_assert_int_gt(whole, tried / 3);
    ck_assert_int_gt(ended, tried / 10);
}
END_TEST

// Separation of two boxes: the widest of the 15 directions, in long double.
static double box_separation(const pair *p, double t)
{
    typedef long double real;
    sprag_pose pose[2];
    real axis[15][3], widest = -INFINITY;
    int count = 0;
    for (int b = 0; b < 2; b++) {
        sprag_carried_at(&p->carried[b], t, &pose[b]);
        for (int k = 0; k < 3; k++, count++) {
            for (int i = 0; i < 3; i++) {
                axis[count][i] = pose[b].rotation[3 * i + k];
            }
        }
    }
    for (int i = 0; i < 3; i++) {
        for (int j = 3; j < 6; j++, count++) {
            for (int k = 0; k < 3; k++) {
                int l = (k + 1) % 3, m = (k + 2) % 3;
                axis[count][k] = axis[i][l] * axis[j][m] - axis[i][m] * axis[j][l];
            }
        }
    }
    for (int i = 0; i < count; i++) {
        real length = 0, along = 0, reach = 0;
        for (int k = 0; k < 3; k++) {
            length += axis[i][k] * axis[i][k];
            along += axis[i][k] * (pose[0].position[k] - (real)pose[1].position[k]);
        }
        for (int b = 0; b < 2; b++) {
            for (int k = 0; k < 3; k++) {
                real part = 0;
                for (int j = 0; j < 3; j++) {
                    part += axis[i][j] * pose[b].rotation[3 * j + k];
                }
                reach += fabsl(part) * p->shape[b].half[k];
            }
        }
        if (length > 1e-12L) {
            real apart = (fabsl(along) - reach) / sqrtl(length);
            widest = apart > widest ? apart : widest;
        }
    }
    return (double)widest;
}

START_TEST(boxes_never_overlap_by_another_test)
{
    int tried = 0;
    dice.state = 12;
    while (tried < 3000) {
        pair p;
        sprag_gap gap;
        random_pair(&p, chance_power(&dice, -7, -1));
        if (p.shape[0].kind != SPRAG_BOX || p.shape[1].kind != SPRAG_BOX ||
            gap_at(&p, 0, &gap) < LEVEL) {
            continue;
        }
        tried++;
        sprag_certificate c = certify(&p, 0.05);
        for (int s = 0; s <= 50 && c.time > 0; s++) {
            ck_assert_double_gt(box_separation(&p, c.time * s / 50), 0);
        }
    }
}
END_TEST

// Longer by 1 % of the step or of the time, and something is below the level: of nearly all pairs.
START_TEST(hardly_any_is_early)
{
    int ended = 0, early = 0;
    dice.state = 13;
    for (int i = 0; i < 10000; i++) {
        pair p;
        sprag_gap gap;
        random_pair(&p, chance_power(&dice, -7, 0));
        sprag_certificate c = certify(&p, STEP);
        if (c.whole) {
            continue;
        }
        double later = fmin(STEP, c.time + fmax(1e-2 * STEP, 1e-2 * c.time)), least = INFINITY;
        for (int s = 0; s <= 20; s++) {
            least = fmin(least, gap_at(&p, later * s / 20, &gap));
        }
        ended++;
        early += least >= LEVEL;
    }
    ck_assert_int_gt(ended, 1000);
    ck_assert_msg(early * 50 < ended, "%d of %d", early, ended);
}
END_TEST

// ---- known times

// early by at most 1e-10 of it
static void assert_ends_at(const pair *p, double horizon, double expected)
{
    sprag_certificate c = certify(p, horizon);
    ck_assert(!c.whole);
    ck_assert_double_le(c.time, expected * (1 + 1e-12));
    ck_assert_double_ge(c.time, expected * (1 - 1e-10));
    ck_assert_double_lt(c.lowest, LEVEL);
    ck_assert_double_ge(c.height, LEVEL);
}

START_TEST(falling_bodies_arrive_on_time)
{
    pair p;
    const double falls[6] = {1, 0, -5, 0, 0, 0}, spins[6] = {1, 0, -5, 3, 1, 7};
    body(&p, 1, ground, none, none, NULL);
    body(&p, 0, ball_of(0.5), (double[3]){0, 0, 1}, none, spins);
    assert_ends_at(&p, 1, (0.5 - ENDS) / 5);
    body(&p, 0, box_of(0.1, 0.2, 0.3), (double[3]){0, 0, 1}, none, falls);
    assert_ends_at(&p, 1, (0.7 - ENDS) / 5);
    body(&p, 0, long_of(SPRAG_CAPSULE, 0.1, 0.3), (double[3]){0, 0, 1}, none, falls);
    assert_ends_at(&p, 1, (0.6 - ENDS) / 5);
    body(&p, 0, long_of(SPRAG_CYLINDER, 0.1, 0.3), (double[3]){0, 0, 1}, none, falls);
    assert_ends_at(&p, 1, (0.7 - ENDS) / 5);
    body(&p, 1, ball_of(0.25), none, none, still);
    body(&p, 0, ball_of(0.5), (double[3]){0, 0, 1}, none, (double[6]){0, 0, -5, 2, 3, 4e6});
    assert_ends_at(&p, 1, (0.25 - ENDS) / 5);
}
END_TEST

// An expansion follows a plane for a radian at most.
START_TEST(expansions_are_counted)
{
    pair p;
    body(&p, 1, ground, none, none, NULL);
    body(&p, 0, box_of(0.1, 0.2, 0.3), (double[3]){0, 0, 1}, none, (double[6]){0, 0, -1, 30, 0, 0});
    sprag_certificate c = certify(&p, 1);
    ck_assert(!c.whole);
    ck_assert_double_gt(c.time, 0.5);
    ck_assert_double_ge((double)c.expansions, 30 * c.time);
}
END_TEST

// A vertex at length l below an axis at height H, that swings from the side: it is at H - l cos.
START_TEST(swinging_bodies_arrive_on_time)
{
    pair p;
    double l = 0.6, H = 0.59, w = 3, first = 1;
    double when = (first - acos((H - ENDS) / l)) / w;
    body(&p, 1, ground, none, none, NULL);
    body(&p, 0, ball_of(0), (double[3]){0, 0, H}, (double[3]){0, -first, 0},
         (double[6]){0, 0, 0, 0, w, 0});
    p.carried[0].mount.position[2] = -l;
    assert_ends_at(&p, 1, when);
    body(&p, 0, long_of(SPRAG_CAPSULE, 0, l), (double[3]){0, 0, H}, (double[3]){0, first, 0},
         (double[6]){0, 0, 0, 0, -w, 0});
    assert_ends_at(&p, 1, when); // a rod that spins about its middle
    body(&p, 0, box_of(1e-9, 1e-9, l), (double[3]){0, 0, H}, (double[3]){0, first, 0},
         (double[6]){0, 0, 0, 0, -w, 0});
    sprag_certificate c = certify(&p, 1);
    ck_assert_double_eq_tol(c.time, when, 1e-8);
}
END_TEST

// A ball of a thousand vertices rolls on: the time ends when the next vertex arrives.
START_TEST(the_next_vertex_of_a_rolling_ball_is_awaited)
{
    enum { MANY = 1000 };
    static double vertex[MANY][3];
    for (int i = 0; i < MANY; i++) { // a spiral
        double z = 1 - (2 * i + 1.0) / MANY, r = sqrt(1 - z * z), turn = M_PI * (3 - sqrt(5)) * i;
        vertex[i][0] = r * cos(turn), vertex[i][1] = r * sin(turn), vertex[i][2] = z;
    }
    sprag_polytope many = {.vertices = MANY, .vertex = (const double(*)[3])vertex};
    sprag_shape shape = {.kind = SPRAG_POLYTOPE, .polytope = &many};
    int ended = 0;
    dice.state = 5;
    for (int trial = 0; trial < 200; trial++) {
        pair p;
        sprag_gap gap;
        double turn[3];
        chance_unit(&dice, turn);
        body(&p, 1, ground, none, none, NULL);
        body(&p, 0, shape, (double[3]){0, 0, 2}, turn, (double[6]){2, 0, 0, 0, 2, 0});
        double distance = gap_at(&p, 0, &gap);
        p.motion[0].pose.position[2] += TOUCH - distance;
        // turns about the vertex that touches, so that this one does not move
        double from[3], w[3] = {0, 2, 0};
        subtract3(p.motion[0].pose.position, gap.point[0], from);
        from[2] += TOUCH - distance;
        cross3(w, from, p.motion[0].velocity);
        sprag_certificate c = certify(&p, 0.2);
        double low = 0, high = 0.2;
        for (double t = 0; t < 0.2; t += 1e-4) { // by what is found from time to time
            if (gap_at(&p, t, &gap) < ENDS) {
                high = t;
                break;
            }
            low = t;
        }
        for (int i = 0; i < 45 && high < 0.2; i++) {
            double middle = (low + high) / 2;
            *(gap_at(&p, middle, &gap) < ENDS ? &high : &low) = middle;
        }
        ended += high < 0.2;
        ck_assert_double_eq_tol(c.time, high, 1e-11);
    }
    ck_assert_int_gt(ended, 20);
}
END_TEST

// ---- touching, and it stays so

START_TEST(boxes_rest_slide_and_pivot_on)
{
    pair p;
    const sprag_shape box = box_of(0.5, 0.5, 0.5);
    const double up[3] = {0, 0, 0.5 + TOUCH}, down[3] = {0, 0, -0.5};
    const double rests[6] = {0, 0, 1e-6, 1e-5, 2e-5, 0}, slides[6] = {1, 2, 0, 0, 0, 0.5},
                 tips[6] = {0.25, 0, 0.2501, 0, 0.5, 0}, fast[6] = {2.5, 0, 2.501, 0, 5, 0};
    const double *moves[] = {rests, slides, tips, fast};
    for (int i = 0; i < 4; i++) {
        body(&p, 0, box, up, none, moves[i]);
        body(&p, 1, ground, none, none, NULL);
        assert_whole(&p, STEP);
        body(&p, 1, box_of(5, 5, 0.5), down, none, NULL);
        assert_whole(&p, STEP);
        body(&p, 1, box, down, none, (double[6]){0.3, 0, 0, 0, 0, -0.2});
        assert_whole(&p, STEP);
        body(&p, 1, box, down, none, (double[6]){0, 0, -1e-6, 1e-6, 1e-5, 0});
        assert_whole(&p, STEP);
    }
}
END_TEST

START_TEST(two_that_turn_together_stay_together)
{
    pair p;
    body(&p, 0, box_of(0.5, 0.5, 0.5), (double[3]){0, 0, 0.5 + TOUCH}, none,
         (double[6]){0, 0, 0, 0, 0, 40});
    body(&p, 1, box_of(0.5, 0.5, 0.5), (double[3]){0, 0, -0.5}, none,
         (double[6]){0, 0, 0, 0, 0, 40});
    assert_whole(&p, STEP);
}
END_TEST

START_TEST(wheels_and_balls_roll_on)
{
    pair p;
    const double up[3] = {0, 0, 0.5 + TOUCH}, across[3] = {M_PI / 2, 0, 0};
    for (int i = 0; i < 3; i++) {
        double w = i == 0 ? 2 : i == 1 ? 20 : 100;
        const double rolls[6] = {w / 2, 0, 0, 0, w, 0};
        const sprag_shape rolling[] = {ball_of(0.5), long_of(SPRAG_CAPSULE, 0.5, 0.2),
                                       long_of(SPRAG_CYLINDER, 0.5, 0.2)};
        for (int k = 0; k < 3; k++) {
            body(&p, 0, rolling[k], up, across, rolls);
            body(&p, 1, ground, none, none, NULL);
            assert_whole(&p, STEP);
            body(&p, 1, box_of(5, 5, 0.5), (double[3]){0, 0, -0.5}, none, NULL);
            assert_whole(&p, STEP);
            body(&p, 1, box_of(5, 5, 0.5), (double[3]){0, 0, -0.5}, none,
                 (double[6]){-1, 0, 0, 0, 0, 0.1});
            assert_whole(&p, STEP);
        }
    }
}
END_TEST

START_TEST(logs_roll_on_each_other)
{
    pair p;
    const double across[3] = {M_PI / 2, 0, 0}, along[3] = {0, M_PI / 2, 0};
    const sprag_shape log[] = {long_of(SPRAG_CAPSULE, 0.2, 0.5), long_of(SPRAG_CYLINDER, 0.2, 0.5)};
    for (int i = 0; i < 4; i++) {
        body(&p, 0, log[i % 2], (double[3]){0, 0, 0.4 + TOUCH}, across,
             (double[6]){0, 0, 0, 0, 20, 0});
        body(&p, 1, log[i / 2], none, across, (double[6]){0, 0, 0, 0, -20, 0});
        assert_whole(&p, STEP);
        body(&p, 1, log[i / 2], none, along, (double[6]){0.5, 0.5, 0, -20, 0, 0}); // crossed
        assert_whole(&p, STEP);
    }
}
END_TEST

START_TEST(cylinders_stand_rock_and_spin)
{
    pair p;
    const sprag_shape cylinder = long_of(SPRAG_CYLINDER, 0.5, 0.5);
    const double moves[][6] = {{0, 0, 0, 0, 0, 0},
                               {0.3, 0, 0, 0, 0, 5},
                               {0, 0, 1e-6, 1e-5, 2e-5, 0},
                               {0, 0, 5.1e-6, 1e-5, 0, 30},
                               {0, 0.5 * 0.3, 0.5 * 0.3 + 2e-3, -0.3, 0, 0}};
    for (int i = 0; i < 5; i++) {
        body(&p, 0, cylinder, (double[3]){0, 0, 0.5 + TOUCH}, none, moves[i]);
        body(&p, 1, ground, none, none, NULL);
        assert_whole(&p, STEP);
        body(&p, 1, box_of(1, 1, 0.5), (double[3]){0, 0, -0.5}, none, NULL);
        assert_whole(&p, STEP);
        body(&p, 1, cylinder, (double[3]){0.1, 0, -0.5}, none, still);
        assert_whole(&p, STEP);
    }
    // slightly tilted, and on its way down to the flat: just in time
    body(&p, 1, ground, none, none, NULL);
    body(&p, 0, cylinder, (double[3]){0, 0, 0.5 + 1e-6}, (double[3]){1e-6, 0, 0},
         (double[6]){0, 0, -2e-5, -1e-4, 0, 0});
    assert_whole(&p, STEP);
}
END_TEST

static void cross_edges(pair *p, const double upper[6], const double lower[6])
{
    body(p, 0, box_of(0.5, 0.5, 0.5), (double[3]){0.1, 0.05, M_SQRT1_2 + TOUCH},
         (double[3]){M_PI / 4, 0, 0}, upper);
    body(p, 1, box_of(0.5, 0.5, 0.5), (double[3]){0, 0, -M_SQRT1_2}, (double[3]){0, M_PI / 4, 0},
         lower);
}

START_TEST(crossed_edges_keep_their_gap)
{
    pair p;
    cross_edges(&p, (double[6]){0.3, 0.2, 1e-6, 0, 0, 0}, NULL);
    assert_whole(&p, STEP);
    cross_edges(&p, (double[6]){0.3, 0.2, 1e-6, 0, 0, 1}, (double[6]){0, 0, 0, 0, 0, -2});
    assert_whole(&p, STEP);
    // tips along its own edge: that the crossing stays where it is, the centre has to follow; what
    // bends down within the step is made up for
    double w = 0.5, bend = 0.5 * w * w * M_SQRT1_2 * STEP;
    cross_edges(&p, (double[6]){0, -w * M_SQRT1_2, -bend + 0.002, w, 0, 0}, still);
    assert_whole(&p, STEP);
    cross_edges(&p, (double[6]){0, -w * M_SQRT1_2, 0.001, w, 0, 0},
                (double[6]){0, 0, 0, 0, 0.01, 0.2});
    assert_whole(&p, STEP);
}
END_TEST

START_TEST(crossed_edges_meet_on_time)
{
    pair p;
    cross_edges(&p, (double[6]){0.3, 0.2, -0.01, 0, 0, 0}, (double[6]){[5] = 0.5 * _i});
    sprag_motion_at(&p.motion[1], 1, &p.motion[1].pose);
    p.motion[1].velocity[5] = 0;
    sprag_certificate c = certify(&p, STEP);
    double expected = (TOUCH - ENDS) / 0.01; // a gap of rounded poses
    ck_assert_double_eq_tol(c.time, expected, 1e-9 * expected + 1e-13);
    ck_assert_double_eq_tol(c.height, TOUCH, 1e-14);
    ck_assert_double_eq_tol(c.lowest, TOUCH - 0.01 * STEP, 1e-12);
    ck_assert_double_eq_tol(c.normal[2], 1, 1e-12);
    double meets = -tan(0.5 * _i) * (0.05 + 0.2 * c.time); // which of its edge will be there
    ck_assert_double_eq_tol(c.point[0], meets - 0.3 * c.time, 1e-12);
    ck_assert_double_eq_tol(c.point[1], 0.05, 1e-12);
}
END_TEST

START_TEST(corners_pass_on_corners)
{
    pair p;
    const double corner[3] = {0.3, 0.5, 0.2};
    int whole = 0;
    dice.state = 21;
    for (int i = 0; i < 300; i++) {
        sprag_gap gap;
        double spin[6];
        body(&p, 0, box_of(0.5, 0.5, 0.5), (double[3]){0, 0, 2}, corner, still);
        chance_unit(&dice, spin);
        chance_unit(&dice, spin + 3);
        // corner above corner
        double low[3] = {0, 0, 0}, best = INFINITY;
        for (int v = 0; v < 8; v++) {
            double at[3] = {v & 1 ? 0.5 : -0.5, v & 2 ? 0.5 : -0.5, v & 4 ? 0.5 : -0.5}, r[3];
            mul33(p.motion[0].pose.rotation, at, r);
            if (r[2] < best) {
                best = r[2];
                memcpy(low, r, sizeof low);
            }
        }
        const double above[3] = {-low[0], -low[1], -low[2] + TOUCH};
        body(&p, 0, box_of(0.5, 0.5, 0.5), above, corner, spin);
        body(&p, 1, box_of(0.5, 0.5, 0.5), low, corner, still);
        // at that corner nothing moves but away
        double arm[3] = {low[0], low[1], low[2]}, turn[3];
        cross3(spin + 3, arm, turn);
        for (int k = 0; k < 3; k++) {
            p.motion[0].velocity[k] = -turn[k] + (k == 2 ? 0.02 : 0);
        }
        ck_assert_double_ge(gap_at(&p, 0, &gap), LEVEL);
        sprag_certificate c = certify(&p, STEP);
        whole += c.whole;
        for (int s = 0; s <= 50 && c.time > 0; s++) {
            ck_assert_double_ge(gap_at(&p, c.time * s / 50, &gap), LEVEL - 1e-12);
        }
    }
    ck_assert_int_eq(whole, 300);
}
END_TEST

// Time can go on after the pair has met: forward by ever shorter steps, backward at once.
START_TEST(bodies_that_have_met_can_separate)
{
    int met = 0;
    dice.state = 61;
    for (int i = 0; i < 3000; i++) {
        pair p;
        sprag_gap gap;
        random_pair(&p, 1e-5);
        if (!p.carried[0].motion) {
            continue;
        }
        for (int b = 0; b < 2; b++) {
            memset(p.motion[b].velocity, 0, sizeof p.motion[b].velocity);
        }
        gap_at(&p, 0, &gap);
        add_scaled(p.motion[0].velocity, -1, gap.normal, 3);
        for (int again = 0; again < 4; again++) {
            sprag_certificate c = certify(&p, STEP);
            ck_assert(!c.whole && c.time > 0);
            sprag_motion_at(&p.motion[0], c.time, &p.motion[0].pose);
            if (p.carried[1].motion) {
                sprag_motion_at(&p.motion[1], c.time, &p.motion[1].pose);
            }
            ck_assert_double_ge(gap_at(&p, 0, &gap), LEVEL);
        }
        ck_assert_double_lt(gap_at(&p, 0, &gap), 2 * LEVEL);
        for (int k = 0; k < 3; k++) {
            p.motion[0].velocity[k] = gap.normal[k];
        }
        assert_whole(&p, STEP);
        met++;
    }
    ck_assert_int_gt(met, 1000);
}
END_TEST

// ---- reported errors

START_TEST(blocking_contacts_can_be_corrected)
{
    int corrected = 0, tried = 0;
    dice.state = 31;
    for (int i = 0; i < 4000; i++) {
        pair p;
        random_pair(&p, 1e-3);
        sprag_certificate c = certify(&p, STEP);
        if (c.whole || !p.carried[0].motion) {
            continue;
        }
        tried++;
        ck_assert_double_lt(c.lowest, LEVEL + 1e-9);
        ck_assert_double_ge(c.height, c.lowest);
        for (int k = 0; k < 3; k++) {
            p.motion[0].velocity[k] += (1e-6 - c.lowest) / STEP * c.normal[k];
        }
        sprag_certificate again = certify(&p, STEP);
        corrected += again.time > 1.2 * c.time;
    }
    ck_assert_int_gt(tried, 100);
    ck_assert_msg(corrected > tried * 9 / 10, "%d of %d", corrected, tried);
}
END_TEST

START_TEST(nonsense_gets_no_time)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY, 1e300};
    pair p;
    sprag_gap gap;
    body(&p, 1, box_of(1, 1, 1), (double[3]){0, 0, -1}, none, still);
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < 6; k++) {
            for (int b = 0; b < 2; b++) {
                body(&p, 0, box_of(1, 1, 1), (double[3]){0, 0, 1.1}, none, still);
                gap_at(&p, 0, &gap);
                p.motion[b].velocity[k] = bad[i];
                sprag_certificate c = {0};
                sprag_time_of_impact(p.carried, &gap, LEVEL, STEP, &c);
                ck_assert(isfinite(c.time + c.height + c.lowest + dot3(c.normal, c.normal)));
                ck_assert(c.time == 0 || i == 3);
                p.motion[b].velocity[k] = 0;
            }
        }
        sprag_certificate c = {0};
        sprag_time_of_impact(p.carried, &gap, bad[i], STEP, &c);
        ck_assert(c.time == 0 && !c.whole);
        sprag_time_of_impact(p.carried, &gap, LEVEL, bad[i], &c);
        ck_assert((c.time == 0 && !c.whole) || i == 3);
        gap.normal[1] = bad[i];
        sprag_time_of_impact(p.carried, &gap, LEVEL, STEP, &c);
        ck_assert(c.time == 0 && !c.whole);
    }
    gap_at(&p, 0, &gap);
    sprag_certificate c = {0};
    sprag_time_of_impact(p.carried, &gap, 1, STEP, &c); // nearer than the level
    ck_assert(c.time == 0 && !c.whole);
    sprag_time_of_impact(p.carried, &gap, -LEVEL, STEP, &c);
    ck_assert(c.time == 0 && !c.whole);
    sprag_time_of_impact(p.carried, &gap, LEVEL, -STEP, &c);
    ck_assert(c.time == 0 && !c.whole);
    sprag_time_of_impact(p.carried, &gap, 0, STEP, &c);
    ck_assert(c.whole);
    sprag_time_of_impact(p.carried, &gap, LEVEL, 0, &c);
    ck_assert(c.time == 0 && c.whole);
    for (int i = 0; i < 2; i++) { // half of the rounding that a unit normal may have, and twice
        gap.normal[2] = 1 + (i ? 2e-6 : 5e-7);
        sprag_time_of_impact(p.carried, &gap, LEVEL, STEP, &c);
        ck_assert(c.whole == !i);
    }
    // whatever normal is given, it is no promise
    dice.state = 7;
    for (int i = 0; i < 2000; i++) {
        random_pair(&p, 1e-3);
        gap_at(&p, 0, &gap);
        chance_unit(&dice, gap.normal);
        c = (sprag_certificate){0}; // of another pair
        sprag_time_of_impact(p.carried, &gap, LEVEL, STEP, &c);
        for (int s = 1; s <= 10 && c.time > 0; s++) {
            ck_assert_double_ge(gap_at(&p, c.time * s / 10, &gap), LEVEL - 1e-12);
        }
    }
}
END_TEST

// ---- the paper's bounds

static double farthest(const sprag_shape *box)
{
    return norm3(box->half);
}

START_TEST(free_bodies_keep_to_equation_4)
{
    double most = 0;
    dice.state = 41;
    for (int i = 0; i < 100000; i++) {
        sprag_shape box = box_of(chance_power(&dice, -2, 0), chance_power(&dice, -2, 0), 0.1);
        double velocity[2][6], radius[2] = {farthest(&box), farthest(&box)}, n[3], moved = 0;
        double t = chance_power(&dice, -4, 0);
        chance_unit(&dice, n);
        for (int b = 0; b < 2; b++) {
            chance_unit(&dice, velocity[b]);
            chance_unit(&dice, velocity[b] + 3);
            double spin = chance_power(&dice, -2, 2);
            for (int k = 0; k < 3; k++) {
                velocity[b][3 + k] *= spin;
            }
            sprag_motion m = {.pose = nowhere};
            sprag_pose pose;
            double to[3], from[3];
            chance_rotation(&dice, m.pose.rotation);
            memcpy(m.velocity, velocity[b], sizeof m.velocity);
            sprag_motion_at(&m, t, &pose);
            mul33(pose.rotation, box.half, to);
            add_scaled(to, 1, pose.position, 3);
            mul33(m.pose.rotation, box.half, from);
            subtract3(to, from, to);
            moved += (b ? -1 : 1) * dot3(n, to);
        }
        double bound = sprag_bound_apart(1, n, (const double(*)[6])velocity, radius);
        most = fmax(most, fabs(moved) * bound / t);
    }
    ck_assert_double_le(most, 1 + 1e-12);
    ck_assert_double_gt(most, 0.9);
}
END_TEST

START_TEST(links_keep_to_equations_11_to_14)
{
    double most = 0;
    for (uint64_t i = 0; i < 100000; i++) {
        most = fmax(most, chain_trial(i));
    }
    ck_assert_double_le(most, 1 + 1e-12);
    ck_assert_double_gt(most, 0.5);
}
END_TEST

// A cube that pivots about the corner it stands on, which is at rest: by Equations 7 and 8 a step
// is safe in which that corner goes below the plane. The certificate ends before.
START_TEST(pivoting_breaks_equations_7_and_8)
{
    double deepest = 0;
    int below = 0;
    dice.state = 51;
    for (int trial = 0; trial < 20000; trial++) {
        double vertex[8][3], arm[3], turn[3], turns[3];
        pair p;
        body(&p, 0, box_of(0.5, 0.5, 0.5), none, none, still);
        body(&p, 1, ground, none, none, NULL);
        chance_rotation(&dice, p.motion[0].pose.rotation);
        chance_unit(&dice, turns);
        int lowest = 0;
        for (int i = 0; i < 8; i++) {
            double at[3] = {i & 1 ? 0.5 : -0.5, i & 2 ? 0.5 : -0.5, i & 4 ? 0.5 : -0.5};
            mul33(p.motion[0].pose.rotation, at, vertex[i]);
            lowest = vertex[i][2] < vertex[lowest][2] ? i : lowest;
        }
        memcpy(arm, vertex[lowest], sizeof arm);
        for (int i = 0; i < 8; i++) {
            vertex[i][2] -= arm[2];
        }
        sprag_bound_pair bound = {.plane = {.normal = {0, 0, 1},
                                            .vertices = {8, 0},
                                            .vertex = {(const double(*)[3])vertex},
                                            .touching = 1e-9},
                                  .centre = {{0, 0, -arm[2]}},
                                  .radius = {sqrt(0.75), 0},
                                  .rest = 1e-9,
                                  .shortest = 1e-6};
        double *velocity = p.motion[0].velocity;
        for (int k = 0; k < 3; k++) {
            velocity[3 + k] = 10 * turns[k];
        }
        cross3(arm, velocity + 3, turn);
        memcpy(velocity, turn, sizeof turn);
        memcpy(bound.velocity[0], velocity, sizeof bound.velocity[0]);
        p.motion[0].pose.position[2] = TOUCH - arm[2];
        double step = fmin(sprag_bound_step(&bound), STEP), least = 0;
        sprag_certificate c = certify(&p, step);
        sprag_gap gap;
        for (int i = 1; i <= 10; i++) {
            least = fmin(least, gap_at(&p, step * i / 10, &gap) - TOUCH);
            ck_assert_double_ge(gap_at(&p, c.time * i / 10, &gap), c.time > 0 ? LEVEL - 1e-13 : 0);
        }
        ck_assert(!c.whole || least >= LEVEL - TOUCH - 1e-13);
        below += least < -1e-6;
        deepest = fmin(deepest, least);
    }
    ck_assert_int_gt(below, 100);
    ck_assert_double_lt(deepest, -1e-4);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("certify");
    ADD_TESTS(suite, "motion", {motion_is_the_exponential_of_the_twist, 1},
              {axes_stay_orthonormal, 1});
    TCase *certificates = ADD_TESTS(
        suite, "certificates", {nothing_gets_below_the_level, 1},
        {boxes_never_overlap_by_another_test, 1}, {hardly_any_is_early, 1},
        {falling_bodies_arrive_on_time, 1}, {expansions_are_counted, 1},
        {swinging_bodies_arrive_on_time, 1}, {the_next_vertex_of_a_rolling_ball_is_awaited, 1},
        {boxes_rest_slide_and_pivot_on, 1}, {two_that_turn_together_stay_together, 1},
        {wheels_and_balls_roll_on, 1}, {logs_roll_on_each_other, 1},
        {cylinders_stand_rock_and_spin, 1}, {crossed_edges_keep_their_gap, 1},
        {crossed_edges_meet_on_time, 3}, {corners_pass_on_corners, 1},
        {bodies_that_have_met_can_separate, 1}, {blocking_contacts_can_be_corrected, 1},
        {nonsense_gets_no_time, 1});
    tcase_add_unchecked_fixture(certificates, make_shapes, NULL);
    ADD_TESTS(suite, "bounds", {free_bodies_keep_to_equation_4, 1},
              {links_keep_to_equations_11_to_14, 1}, {pivoting_breaks_equations_7_and_8, 1});
    return run_suite(suite);
}
