// Frames, movers and the contacts of pairs, without a method that steps them.
#include <math.h>
#include <string.h>

#include "chance.h"
#include "frame.h"
#include "mover.h"
#include "pair_contact.h"
#include "spin.h"
#include "spinners.h"
#include "suite.h"

static const double unit[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

// ---- frames

typedef struct scene {
    sprag_mover body[2];
    sprag_collider collider[6];
    sprag_pair pair[5];
    sprag_pair_memory memory[5];
    sprag_frame frame;
} scene;

// Two meshes of two triangles each, the second on body 0, and a box on each body.
static void make_scene(scene *s)
{
    static const double corner[3][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
    static const sprag_polytope triangle = {.vertices = 3, .vertex = corner};
    static const int mesh[2];
    const sprag_pose here = {.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    memset(s, 0, sizeof *s);
    for (int i = 0; i < 2; i++) {
        s->body[i] = (sprag_mover){.mass = 1, .pose = here};
        memcpy(s->body[i].inertia, unit, sizeof unit);
        s->collider[i] = (sprag_collider){.body = i, .shape.kind = SPRAG_BOX, .mount = here};
    }
    for (int i = 2; i < 6; i++) {
        s->collider[i] = (sprag_collider){.body = i < 4 ? SPRAG_STATIC : 0,
                                          .shape = {.kind = SPRAG_POLYTOPE, .polytope = &triangle},
                                          .mount = here,
                                          .mesh = &mesh[i / 4]};
    }
    s->frame = (sprag_frame){.step = 0.01,
                             .bodies = 2,
                             .colliders = 6,
                             .body = s->body,
                             .collider = s->collider,
                             .pair = s->pair};
}

static void add_pair(scene *s, int first, int second)
{
    const int i = s->frame.pairs++;
    s->pair[i] = (sprag_pair){.collider = {first, second}, .memory = &s->memory[i]};
}

START_TEST(each_number_of_a_mover_counts)
{
    scene s;
    make_scene(&s);
    double *number = &s.body[_i % 2].mass;
    const int numbers = (int)(offsetof(sprag_mover, gyroscopic) / sizeof *number);
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    ck_assert(sprag_frame_is_good(&s.frame));
    for (int i = 0; i < numbers; i++) {
        double kept = number[i];
        for (int k = 0; k < 3; k++) {
            number[i] = bad[k];
            ck_assert_msg(!sprag_frame_is_good(&s.frame), "number %d is %g", i, bad[k]);
        }
        number[i] = kept;
    }
    s.body[_i % 2].mass = 0;
    ck_assert(sprag_frame_is_good(&s.frame));
    s.body[_i % 2].mass = -1e-9;
    ck_assert(!sprag_frame_is_good(&s.frame));
}
END_TEST

START_TEST(steps_of_a_good_frame)
{
    static const double bad[] = {0, -0.01, INFINITY, NAN};
    scene s;
    make_scene(&s);
    for (int i = 0; i < COUNT(bad); i++) {
        s.frame.step = bad[i];
        ck_assert(!sprag_frame_is_good(&s.frame));
    }
}
END_TEST

START_TEST(colliders_of_a_good_frame)
{
    static const struct {
        int first, second;
        bool good;
    } at[] = {{0, 1, true},  {1, 5, true},  {0, 2, true},   {2, 0, false},
              {6, 0, false}, {0, 6, false}, {-1, 0, false}, {0, -1, false}};
    scene s;
    for (int i = 0; i < COUNT(at); i++) {
        make_scene(&s);
        add_pair(&s, 0, 1);
        add_pair(&s, at[i].first, at[i].second);
        ck_assert_msg(sprag_frame_is_good(&s.frame) == at[i].good, "pair %d", i);
    }
    for (int side = 0; side < 2; side++) {
        make_scene(&s);
        add_pair(&s, 0, 1);
        s.collider[side].body = 2;
        ck_assert(!sprag_frame_is_good(&s.frame));
    }
    make_scene(&s);
    add_pair(&s, 0, 1);
    s.pair[0].memory = NULL;
    ck_assert(!sprag_frame_is_good(&s.frame));
}
END_TEST

START_TEST(pairs_of_triangles)
{
    static const struct {
        int a[2], b[2];
        bool same;
    } at[] = {
        {{0, 2}, {0, 3}, true},                           // a box, and two triangles of one mesh
        {{0, 2}, {1, 3}, false},                          // two boxes
        {{1, 3}, {1, 4}, false},                          // triangles of two meshes
        {{4, 2}, {5, 3}, true},                           // two meshes
        {{4, 2}, {4, 1}, false},                          // a mesh, and a box
        {{1, 4}, {5, 1}, true},                           // from the other side
        {{4, 1}, {1, 5}, true},  {{0, 1}, {1, 0}, false}, // no triangles
    };
    scene s;
    make_scene(&s);
    for (int i = 0; i < COUNT(at); i++) {
        s.frame.pairs = 0;
        add_pair(&s, at[i].a[0], at[i].a[1]);
        add_pair(&s, at[i].b[0], at[i].b[1]);
        ck_assert_msg(sprag_pairs_of_mesh(&s.frame, 0, 1) == at[i].same, "pairs %d", i);
        ck_assert_msg(sprag_pairs_of_mesh(&s.frame, 1, 0) == at[i].same, "pairs %d", i);
    }
    s.frame.pairs = 0;
    add_pair(&s, 0, 2);
    add_pair(&s, 4, 1);
    add_pair(&s, 0, 1);
    add_pair(&s, 4, 2);
    static const int side[] = {1, 0, -1, -1};
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(sprag_pair_triangle(&s.frame, i), side[i]);
    }
}
END_TEST

START_TEST(corners_of_a_triangle_that_moves)
{
    const sprag_pose pose = {{1, 2, 3}, {0, -1, 0, 1, 0, 0, 0, 0, 1}}; // x to y, y to -x
    static const double right[3][3] = {{1, 2, 3}, {1, 3, 3}, {0, 2, 3}};
    double corner[3][3];
    scene s;
    make_scene(&s);
    sprag_triangle_corners(&s.collider[2], &pose, corner);
    ck_assert_mem_eq(corner, right, sizeof right);
}
END_TEST

// No point of a ball is farther than its radius from the body's centre; the box about the ball has
// corners at most that much farther.
START_TEST(radius_of_a_collider)
{
    for (int axis = 0; axis < 3; axis++) {
        for (int sign = -1; sign < 2; sign += 2) {
            sprag_collider ball = {.shape = {.kind = SPRAG_SPHERE, .radius = 0.5},
                                   .mount.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
            ball.mount.position[axis] = 2 * sign;
            double radius = sprag_collider_radius(&ball);
            ck_assert_double_ge(radius, 2.5);
            ck_assert_double_le(radius, 2 + 0.5 * sqrt(3));
        }
    }
}
END_TEST

// ---- movers

// A body of three moments, all axes aslant.
static void random_mover(sprag_mover *mover, chance *dice)
{
    *mover = (sprag_mover){.mass = chance_power(dice, -2, 2), .gyroscopic = true};
    chance_rotation(dice, mover->pose.rotation);
    const double m[3] = {chance_between(dice, 1, 2), chance_between(dice, 1, 2),
                         chance_between(dice, 1, 2)};
    const double moment[9] = {m[0], 0, 0, 0, m[1], 0, 0, 0, m[2]};
    turn33(mover->pose.rotation, moment, mover->inertia);
    chance_rotation(dice, mover->pose.rotation);
    for (int k = 0; k < 6; k++) {
        mover->velocity[k] = chance_between(dice, -5, 5);
        mover->force[k] = chance_between(dice, -5, 5);
    }
}

// With the torque a step ends at z where I (z - w) = step (I w) x z, whatever the step.
START_TEST(gyroscopic_torque_is_implicit)
{
    chance dice = {1000 + (unsigned)_i};
    static const double steps[] = {0.001, 0.01, 0.0167, 1};
    for (int i = 0; i < COUNT(steps); i++) {
        sprag_mover mover;
        double I[9], inverse[9] = {0}, L[3], torque[3], z[3], change[3], along[3];
        random_mover(&mover, &dice);
        sprag_mover_inertia(&mover, I);
        const double *w = mover.velocity + 3;
        mul33(I, w, L);
        invert33(I, inverse);
        sprag_gyroscopic_torque(I, w, steps[i], torque);
        mul33(inverse, torque, z);
        for (int k = 0; k < 3; k++) {
            z[k] = w[k] + steps[i] * z[k];
            change[k] = steps[i] * torque[k];
        }
        cross3(L, z, along);
        for (int k = 0; k < 3; k++) {
            ck_assert_double_eq_tol(change[k], steps[i] * along[k], 1e-12);
        }
        cross3(L, w, along);
        sprag_gyroscopic_torque(I, w, 0, torque);
        ck_assert_mem_eq(torque, along, sizeof along);
    }
}
END_TEST

START_TEST(gyroscopic_slope_is_the_derivative)
{
    static const double h = 1e-5, steps[] = {0.001, 0.01, 0.0167, 1};
    chance dice = {2000 + (unsigned)_i};
    sprag_mover mover;
    double I[9], slope[9], ahead[3], behind[3];
    random_mover(&mover, &dice);
    sprag_mover_inertia(&mover, I);
    sprag_gyroscopic_slope(I, mover.velocity + 3, steps[_i % 4], slope);
    for (int k = 0; k < 3; k++) {
        double w[3];
        memcpy(w, mover.velocity + 3, sizeof w);
        w[k] += h;
        sprag_gyroscopic_torque(I, w, steps[_i % 4], ahead);
        w[k] -= 2 * h;
        sprag_gyroscopic_torque(I, w, steps[_i % 4], behind);
        for (int i = 0; i < 3; i++) {
            ck_assert_double_eq_tol(slope[3 * i + k], (ahead[i] - behind[i]) / (2 * h), 1e-6);
        }
    }
}
END_TEST

// Newton's and Euler's laws over a step; a body without mass keeps its velocity.
START_TEST(free_velocity_of_a_mover)
{
    const double step = 0.01;
    chance dice = {3000 + (unsigned)_i};
    sprag_mover mover;
    sprag_body to;
    double I[9], change[3], moved[3], torque[3] = {0};
    memset(&to, 0, sizeof to);
    random_mover(&mover, &dice);
    mover.gyroscopic = _i % 2;
    sprag_mover_inertia(&mover, I);
    sprag_mover_body(&mover, I, step, &to);
    if (mover.gyroscopic) {
        sprag_gyroscopic_torque(I, mover.velocity + 3, step, torque);
    }
    ck_assert_mem_eq(to.velocity, mover.velocity, sizeof to.velocity);
    ck_assert(to.mass == mover.mass && to.by_angle);
    subtract3(to.free_velocity + 3, mover.velocity + 3, change);
    mul33(to.inertia, change, moved);
    for (int k = 0; k < 3; k++) {
        ck_assert_double_eq_tol(mover.mass * (to.free_velocity[k] - mover.velocity[k]),
                                step * mover.force[k], 1e-12);
        ck_assert_double_eq_tol(moved[k], step * (mover.force[3 + k] + torque[k]), 1e-12);
    }
    mover.mass = 0;
    sprag_mover_body(&mover, I, step, &to);
    ck_assert_mem_eq(to.free_velocity, mover.velocity, sizeof to.velocity);
    mover.mass = 1;
    memset(I, 0, sizeof I);
    sprag_mover_body(&mover, I, step, &to);
    ck_assert_mem_eq(to.free_velocity + 3, mover.velocity + 3, 3 * sizeof(double));
}
END_TEST

START_TEST(a_cap_slows_down)
{
    sprag_mover mover = {.capped = true, .cap = 2};
    double fast[3] = {3, -4, 12}, slow[3] = {1, -1, 1}, free[3] = {3, -4, 12};
    sprag_mover_cap(&mover, fast);
    sprag_mover_cap(&mover, slow);
    mover.capped = false;
    sprag_mover_cap(&mover, free);
    for (int k = 0; k < 3; k++) {
        ck_assert_double_eq_tol(fast[k], free[k] * 2 / 13, 1e-15);
    }
    ck_assert(slow[0] == 1 && slow[1] == -1 && slow[2] == 1);
    ck_assert(free[0] == 3 && free[1] == -4 && free[2] == 12);
}
END_TEST

// ---- contacts

// Right-handed; the first tangent leans as far towards the direction as the plane allows.
START_TEST(frames_of_contacts)
{
    chance dice = {4000 + (unsigned)_i};
    double normal[3], direction[3], frame[3][3], across[3];
    chance_unit(&dice, normal);
    chance_unit(&dice, direction);
    if (_i < 6) { // along an axis
        memset(normal, 0, sizeof normal);
        normal[_i / 2] = _i % 2 ? 1 : -1;
    }
    for (int i = 0; i < 3; i++) { // some direction, none, that of the normal
        static const double none[3];
        const double *along = i == 0 ? direction : i == 1 ? none : normal;
        sprag_contact_frame(normal, along, frame);
        cross3(frame[0], frame[1], across);
        for (int k = 0; k < 3; k++) {
            ck_assert(frame[0][k] == normal[k]);
            ck_assert_double_eq_tol(across[k], frame[2][k], 1e-14);
        }
        ck_assert_double_eq_tol(norm3(frame[1]), 1, 1e-14);
        ck_assert_double_eq_tol(norm3(frame[2]), 1, 1e-14);
        ck_assert_double_eq_tol(dot3(frame[1], normal), 0, 1e-14);
        if (i == 0) {
            ck_assert_double_eq_tol(dot3(frame[2], direction), 0, 1e-14);
            ck_assert_double_ge(dot3(frame[1], direction), 0);
        }
    }
}
END_TEST

// A point on a body and a static box: one arm, and the pair's surface.
START_TEST(contact_of_a_pair)
{
    static const double at[3] = {1, 2, 3}, normal[3] = {0, 0, 1};
    scene s;
    make_scene(&s);
    add_pair(&s, 1, 2);
    sprag_pair *pair = &s.pair[0];
    s.body[1].pose.position[0] = 5;
    pair->surface.stiction = 0.25;
    pair->surface.slide.coefficient[0] = 0.5;
    pair->surface.direction[1] = 1;
    sprag_contact contact;
    sprag_pair_contact(&s.frame, pair, at, normal, &contact);
    ck_assert(contact.body[0] == 1 && contact.body[1] == SPRAG_STATIC);
    ck_assert(contact.arm[0][0] == -4 && contact.arm[0][1] == 2 && contact.arm[0][2] == 3);
    ck_assert(norm3(contact.arm[1]) == 0);
    ck_assert(contact.softening == 1 && contact.stiction == 0.25 && contact.guess[0] < 0);
    ck_assert(contact.slide.coefficient[0] == 0.5 && !contact.turning);
    ck_assert(contact.frame[0][2] == 1 && contact.frame[1][1] == 1 && contact.frame[2][0] == -1);
    pair->surface.turning.spin.coefficient[0] = 0.1;
    sprag_pair_set_friction(pair, &contact);
    ck_assert_ptr_eq(contact.turning, &pair->surface.turning);
    const double wrench[2][6] = {{1, 2, 3, 4, 5, 6}, {-1, -2, -3, 0, 1, 2}};
    sprag_pair_add_impulse(pair, wrench, 0.5);
    sprag_pair_add_impulse(pair, wrench, 0.25);
    for (int k = 0; k < 6; k++) {
        ck_assert(pair->impulse[0][k] == 0.75 * wrench[0][k]);
        ck_assert(pair->impulse[1][k] == 0.75 * wrench[1][k]);
    }
}
END_TEST

// ---- what spins

// Below and above a twentieth of the radius of gyration, whose square is trace(I) / m.
START_TEST(a_hold_off_the_axis)
{
    static const double I[9] = {1, 0.3, 0, 0.3, 2, 0, 0, 0, 1}; // trace 4
    for (int sign = -1; sign < 2; sign += 2) {
        ck_assert(!sprag_spin_is_off_axis(4, I, 0.0499 * sign));
        ck_assert(sprag_spin_is_off_axis(4, I, 0.0501 * sign));
        ck_assert(!sprag_spin_is_off_axis(1, I, 0.0999 * sign));
        ck_assert(sprag_spin_is_off_axis(1, I, 0.1001 * sign));
    }
}
END_TEST

// Body 0 spins about z. A contact or row holds it, at the axis or off it, unless it holds only
// body 1, or has no linear part.
START_TEST(holds_of_what_spins)
{
    static const double axis[2][3] = {{0, 0, 1}, {0, 0, 0}};
    sprag_body body[2];
    memset(body, 0, sizeof body);
    for (int i = 0; i < 2; i++) {
        body[i].mass = 1;
        memcpy(body[i].inertia, unit, sizeof unit);
    }
    for (int side = 0; side < 2; side++) {
        for (int off = 0; off < 2; off++) {
            sprag_contact contact = {.body = {1, 1}, .frame = {{0, 1, 0}, {1, 0, 0}, {0, 0, -1}}};
            sprag_row row = {.body = {1, SPRAG_STATIC}};
            const sprag_problem problem = {
                .bodies = 2, .body = body, .contacts = 1, .contact = &contact};
            const sprag_problem by_row = {.bodies = 2, .body = body, .rows = 1, .row = &row};
            sprag_spin_hold of[2] = {{0}};
            contact.body[!side] = SPRAG_STATIC;
            sprag_spin_find_holds(&problem, axis, of);
            ck_assert(!of[0].held && !of[0].touched && !of[1].held);
            contact.body[side] = row.body[side] = 0;
            row.body[!side] = SPRAG_STATIC;
            contact.arm[side][0] = 0.2 * off;
            contact.arm[side][1] = 3; // along the normal
            sprag_spin_find_holds(&problem, axis, of);
            ck_assert(of[0].held && of[0].touched && of[0].off == off && !of[1].held);
            of[0] = (sprag_spin_hold){0};
            row.jacobian[side][5] = 0.2 * off;
            sprag_spin_find_holds(&by_row, axis, of);
            ck_assert(!of[0].held && !of[0].off);
            row.jacobian[side][1] = 1;
            sprag_spin_find_holds(&by_row, axis, of);
            ck_assert(of[0].held && !of[0].touched && of[0].off == off);
        }
    }
}
END_TEST

// A turn that ends in the pose of sprag_spin_turn: exp(step rate) is its quaternion.
START_TEST(rate_of_the_one_turn)
{
    chance dice = {5000 + (unsigned)_i};
    static const double steps[] = {0.001, 0.01, 0.0167};
    const double step = steps[_i % 3];
    double axis[3], w[3], same[3], turn[4], rate[3];
    chance_unit(&dice, axis);
    for (int k = 0; k < 3; k++) {
        w[k] = same[k] = (_i ? 50 * axis[k] + chance_between(&dice, -5, 5) : 0);
    }
    sprag_spin_turn(axis, step, same, turn);
    sprag_spin_rate(axis, step, w, rate);
    double angle = step * norm3(rate);
    ck_assert_double_eq_tol(turn[0], cos(angle / 2), 1e-14);
    for (int k = 0; k < 3; k++) {
        ck_assert(w[k] == same[k]);
        ck_assert_double_eq_tol(turn[1 + k],
                                angle > 0 ? sin(angle / 2) / angle * step * rate[k] : 0, 1e-14);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("movers");
    ADD_TESTS(suite, "frames", {each_number_of_a_mover_counts, 2}, {steps_of_a_good_frame, 1},
              {colliders_of_a_good_frame, 1}, {pairs_of_triangles, 1},
              {corners_of_a_triangle_that_moves, 1}, {radius_of_a_collider, 1});
    ADD_TESTS(suite, "movers", {gyroscopic_torque_is_implicit, 10},
              {gyroscopic_slope_is_the_derivative, 20}, {free_velocity_of_a_mover, 10},
              {a_cap_slows_down, 1});
    ADD_TESTS(suite, "contacts", {frames_of_contacts, 20}, {contact_of_a_pair, 1});
    ADD_TESTS(suite, "spin", {a_hold_off_the_axis, 1}, {holds_of_what_spins, 1},
              {rate_of_the_one_turn, 20});
    return run_suite(suite);
}
