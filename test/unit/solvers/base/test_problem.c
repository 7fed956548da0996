// The problem itself: what its check refuses and names, the wrench of a contact, the names of
// results; and the scratch memory that all solvers take from.
#include <check.h>
#include <fenv.h>
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include "linalg.h"
#include "problems.h"
#include "scratch.h"
#include "suite.h"

static scene s;
static sprag_scratch scratch;

// Two free bodies and a kinematic one; a contact and a row of each kind of partner. All entries are
// good.
static void good_scene(void)
{
    open_scene(&s);
    add_cube(&s, 1);
    add_cube(&s, 2);
    add_cube(&s, 0);
    add_ground(&s, 0, 0.5);
    add_contact(&s, 1, 0, (double[]){0.6, 0, 0.8});
    for (int i = 0; i < 2; i++) {
        turning_of(&s, &s.contact[i]);
    }
    add_axis_row(&s, 1, 2);
    add_row(&s, 0, 2)->jacobian[1][5] = 1;
    fall(&s);
}

static void free_scratch(void)
{
    sprag_scratch_free(&scratch);
}

// ---- check

static const char *message_of_check(void)
{
    static char message[128];
    message[0] = '\0';
    sprag_result result = sprag_problem_check(&s.problem, message, sizeof message);
    return result == SPRAG_BAD_PROBLEM ? message : sprag_result_name(result);
}

START_TEST(accepts_a_good_problem)
{
    good_scene();
    ck_assert_str_eq(message_of_check(), "ok");
    ck_assert_int_eq(sprag_problem_check(&s.problem, NULL, 0), SPRAG_OK);
}
END_TEST

START_TEST(accepts_a_problem_of_nothing)
{
    sprag_problem nothing = {.step = 1e-3};
    ck_assert_int_eq(sprag_problem_check(&nothing, NULL, 0), SPRAG_OK);
}
END_TEST

typedef struct fault {
    const char *what;
    size_t where; // of a double of the scene
    double value;
} fault;

#define AT(entry) offsetof(scene, entry)

#define VELOCITY "its velocity is not finite"
#define MASS "its mass is not a finite number >= 0"
#define INERTIA "its inertia is not positive definite"
#define GEOMETRY "its arms or its frame are not finite"
#define UNIT "its frame does not consist of unit vectors"
#define GAP "its gap, bias or force guess is not finite"
#define COMPLIANCE "its compliance is not a finite number >= 0"
#define SOFTENING "its softening is not between 0 and 1"
#define ERP "its erp is not a finite number >= 0"
#define STIFFNESS "its stiffness or dissipation is not a finite number >= 0"
#define STICTION "its stiction tolerance is not a finite number >= 0"
#define FRICTION "its friction has a negative or non-finite entry"
#define JACOBIAN "its jacobian or bias is not finite"
#define BOUNDS "its lower bound is above its upper bound, or one is NaN"

static const fault faults[] = {
    {"step is 0 s, it must be positive", AT(problem.step), 0},
    {"step is -0.5 s, it must be positive", AT(problem.step), -0.5},
    {"step is inf s, it must be positive", AT(problem.step), INFINITY},
    {"step is nan s, it must be positive", AT(problem.step), NAN},
    {"body 0: " VELOCITY, AT(body[0].velocity[0]), NAN},
    {"body 2: " VELOCITY, AT(body[2].velocity[5]), INFINITY},
    {"body 1: " VELOCITY, AT(body[1].free_velocity[0]), -INFINITY},
    {"body 1: " VELOCITY, AT(body[1].free_velocity[5]), NAN},
    {"body 0: " MASS, AT(body[0].mass), -1},
    {"body 1: " MASS, AT(body[1].mass), NAN},
    {"body 2: " MASS, AT(body[2].mass), INFINITY},
    {"body 0: " INERTIA, AT(body[0].inertia[0]), 0},
    {"body 0: " INERTIA, AT(body[0].inertia[4]), -1},
    {"body 0: " INERTIA, AT(body[0].inertia[8]), -1e-9},
    {"body 1: " INERTIA, AT(body[1].inertia[8]), INFINITY},
    {"body 1: " INERTIA, AT(body[1].inertia[3]), NAN},
    {"contact 0: " GEOMETRY, AT(contact[0].arm[0][0]), NAN},
    {"contact 1: " GEOMETRY, AT(contact[1].arm[1][2]), INFINITY},
    {"contact 0: " GEOMETRY, AT(contact[0].frame[2][2]), NAN},
    {"contact 1: " UNIT, AT(contact[1].frame[0][0]), 0.7},
    {"contact 1: " UNIT, AT(contact[1].frame[1][1]), 0.1},
    {"contact 0: " UNIT, AT(contact[0].frame[2][1]), 0},
    {"contact 0: " GAP, AT(contact[0].gap), NAN},
    {"contact 0: " GAP, AT(contact[0].gap), -INFINITY},
    {"contact 1: " GAP, AT(contact[1].bias), INFINITY},
    {"contact 1: " GAP, AT(contact[1].guess[0]), NAN},
    {"contact 0: " COMPLIANCE, AT(contact[0].compliance), -1e-9},
    {"contact 0: " COMPLIANCE, AT(contact[0].compliance), INFINITY},
    {"contact 0: " COMPLIANCE, AT(contact[0].compliance), NAN},
    {"contact 1: " SOFTENING, AT(contact[1].softening), -0.1},
    {"contact 1: " SOFTENING, AT(contact[1].softening), 1.1},
    {"contact 1: " SOFTENING, AT(contact[1].softening), NAN},
    {"contact 0: " ERP, AT(contact[0].erp), -0.2},
    {"contact 1: " ERP, AT(contact[1].erp), NAN},
    {"contact 0: " STIFFNESS, AT(contact[0].stiffness), -1e6},
    {"contact 1: " STIFFNESS, AT(contact[1].stiffness), INFINITY},
    {"contact 0: " STIFFNESS, AT(contact[0].dissipation), -0.1},
    {"contact 1: " STIFFNESS, AT(contact[1].dissipation), NAN},
    {"contact 0: " STICTION, AT(contact[0].stiction), -1e-4},
    {"contact 1: " STICTION, AT(contact[1].stiction), INFINITY},
    {"contact 0: " FRICTION, AT(contact[0].slide.coefficient[0]), -0.1},
    {"contact 0: " FRICTION, AT(contact[0].slide.coefficient[1]), NAN},
    {"contact 0: " FRICTION, AT(contact[0].slide.velocity[1]), INFINITY},
    {"contact 1: " FRICTION, AT(contact[1].slide.slip[0]), -1},
    {"contact 1: " FRICTION, AT(contact[1].slide.slip[1]), INFINITY},
    {"contact 1: " FRICTION, AT(turning[1].roll.coefficient[1]), -1},
    {"contact 1: " FRICTION, AT(turning[1].roll.velocity[0]), NAN},
    {"contact 1: " FRICTION, AT(turning[1].roll.slip[1]), NAN},
    {"contact 0: " FRICTION, AT(turning[0].spin.coefficient[0]), NAN},
    {"contact 0: " FRICTION, AT(turning[0].spin.velocity[0]), NAN},
    {"contact 0: " FRICTION, AT(turning[0].spin.slip[0]), -1},
    {"row 0: " JACOBIAN, AT(row[0].jacobian[0][2]), NAN},
    {"row 1: " JACOBIAN, AT(row[1].jacobian[1][5]), INFINITY},
    {"row 1: " JACOBIAN, AT(row[1].bias), NAN},
    {"row 0: " COMPLIANCE, AT(row[0].compliance), -1e-9},
    {"row 0: " COMPLIANCE, AT(row[0].compliance), INFINITY},
    {"row 1: " BOUNDS, AT(row[1].lo), INFINITY},
    {"row 1: " BOUNDS, AT(row[1].hi), -INFINITY},
    {"row 1: " BOUNDS, AT(row[1].hi), NAN},
    {"row 0: " BOUNDS, AT(row[0].lo), NAN},
};

START_TEST(names_a_bad_number)
{
    const fault *f = &faults[_i];
    good_scene();
    if (strstr(f->what, BOUNDS)) { // so that one infinity of the wrong side is enough
        s.row[1].lo = s.row[0].lo = -1;
        s.row[1].hi = s.row[0].hi = 1;
    }
    memcpy((char *)&s + f->where, &f->value, sizeof f->value);
    ck_assert_str_eq(message_of_check(), f->what);
}
END_TEST

static const struct {
    const char *what;
    size_t where; // of an int of the scene
    int value;
} bad_counts[] = {
    {"negative number of bodies, contacts or rows", AT(problem.bodies), -1},
    {"negative number of bodies, contacts or rows", AT(problem.contacts), -1},
    {"negative number of bodies, contacts or rows", AT(problem.rows), -1},
    {"contact 0: its two bodies do not exist or are the same", AT(contact[0].body[0]),
     SPRAG_STATIC},
    {"contact 0: its two bodies do not exist or are the same", AT(contact[0].body[0]), 3},
    {"contact 0: its two bodies do not exist or are the same", AT(contact[0].body[1]), -2},
    {"contact 1: its two bodies do not exist or are the same", AT(contact[1].body[1]), 3},
    {"contact 1: its two bodies do not exist or are the same", AT(contact[1].body[1]), 1},
    {"row 0: its two bodies do not exist or are the same", AT(row[0].body[0]), SPRAG_STATIC},
    {"row 1: its two bodies do not exist or are the same", AT(row[1].body[0]), 3},
    {"row 1: its two bodies do not exist or are the same", AT(row[1].body[1]), 3},
    {"row 1: its two bodies do not exist or are the same", AT(row[1].body[1]), 0},
};

START_TEST(names_a_bad_number_of_things)
{
    good_scene();
    memcpy((char *)&s + bad_counts[_i].where, &bad_counts[_i].value, sizeof(int));
    ck_assert_str_eq(message_of_check(), bad_counts[_i].what);
}
END_TEST

static const fault limits[] = {
    {"massless", AT(body[0].mass), 0},
    {"inertia of a body that keeps its velocity", AT(body[2].inertia[0]), -1},
    {"overlap", AT(contact[0].gap), -10},
    {"no force expected", AT(contact[0].guess[0]), 0},
    {"compliant", AT(contact[0].compliance), 1e9},
    {"rigid", AT(contact[0].softening), 0},
    {"stiff", AT(contact[0].stiffness), 1e12},
    {"dissipative", AT(contact[0].dissipation), 1e3},
    {"sticky", AT(contact[0].stiction), 1},
    {"lifted at once", AT(contact[0].erp), 1},
    {"never slips", AT(contact[0].slide.coefficient[0]), INFINITY},
    {"never rolls", AT(turning[0].roll.coefficient[1]), INFINITY},
    {"frame as a float has it", AT(contact[1].frame[0][0]), (double)0.6f},
    {"one-sided", AT(row[0].lo), 0},
    {"one-sided", AT(row[0].hi), -3},
};

START_TEST(accepts_values_at_the_limit)
{
    good_scene();
    memcpy((char *)&s + limits[_i].where, &limits[_i].value, sizeof(double));
    ck_assert_msg(strcmp(message_of_check(), "ok") == 0, "%s: %s", limits[_i].what,
                  message_of_check());
}
END_TEST

START_TEST(accepts_a_row_of_one_force)
{
    good_scene();
    s.row[0].lo = s.row[0].hi = 3;
    ck_assert_str_eq(message_of_check(), "ok");
}
END_TEST

// Its determinant is positive, and so is its first entry.
START_TEST(refuses_an_inertia_with_two_negative_moments)
{
    good_scene();
    s.body[1].inertia[4] = s.body[1].inertia[8] = -1;
    ck_assert_str_eq(message_of_check(), "body 1: " INERTIA);
}
END_TEST

START_TEST(names_the_first_fault)
{
    good_scene();
    s.row[0].bias = s.contact[1].bias = s.body[1].mass = NAN;
    ck_assert_str_eq(message_of_check(), "body 1: " MASS);
    s.body[1].mass = 1;
    ck_assert_str_eq(message_of_check(), "contact 1: " GAP);
}
END_TEST

START_TEST(keeps_to_the_size_of_the_message)
{
    char message[16] = "###############";
    good_scene();
    s.body[1].mass = -1;
    ck_assert_int_eq(sprag_problem_check(&s.problem, message, 9), SPRAG_BAD_PROBLEM);
    ck_assert_str_eq(message, "body 1: ");
    ck_assert_str_eq(message + 9, "######");
    ck_assert_int_eq(sprag_problem_check(&s.problem, message, 0), SPRAG_BAD_PROBLEM);
    ck_assert_str_eq(message, "body 1: ");
    ck_assert_int_eq(sprag_problem_check(&s.problem, NULL, 0), SPRAG_BAD_PROBLEM);
}
END_TEST

// ---- wrench

// 1 m along x from the centre, a push along z turns about -y; torques come as they are.
START_TEST(wrench_of_a_contact_by_hand)
{
    static const double force[6] = {2, 3, 5, 7, 11, 13};
    // normal z, tangents x and y
    static const double expected[2][6] = {{3, 5, 2, 7, 11 - 2, 13 + 5},
                                          {-3, -5, -2, -7 - 4 * 2, -11, -13 + 4 * 3}};
    double wrench[2][6];
    good_scene();
    memcpy(s.contact[0].arm[0], (double[]){1, 0, 0}, sizeof s.contact[0].arm[0]);
    memcpy(s.contact[0].arm[1], (double[]){0, 4, 0}, sizeof s.contact[0].arm[1]);
    sprag_contact_wrench(&s.contact[0], force, wrench);
    for (int side = 0; side < 2; side++) {
        for (int k = 0; k < 6; k++) {
            ck_assert_double_eq_tol(wrench[side][k], expected[side][k], 1e-12);
        }
    }
}
END_TEST

// d'Alembert: the wrench works on the bodies as the force does on the relative velocity.
START_TEST(wrench_has_the_power_of_the_force)
{
    chance c = {(uint64_t)_i};
    double n[3], force[6], wrench[2][6], v[2][6], slip[6];
    random_direction(&c, n);
    open_scene(&s);
    add_cube(&s, 1);
    add_cube(&s, 1);
    sprag_contact *contact = add_contact(&s, 1, 0, n);
    for (int k = 0; k < 6; k++) {
        contact->arm[k / 3][k % 3] = uniform(&c, -1, 1);
        force[k] = uniform(&c, -1, 1);
        v[0][k] = uniform(&c, -1, 1);
        v[1][k] = uniform(&c, -1, 1);
    }
    contact_velocity(&s, 0, (const double(*)[6])v, slip);
    sprag_contact_wrench(contact, force, wrench);
    double power = dot(wrench[0], v[1], 6) + dot(wrench[1], v[0], 6);
    ck_assert_double_eq_tol(power, dot(force, slip, 6), 1e-13);
}
END_TEST

// ---- rest

// Of a ball of 1 m on the ground, or on another one, both with these velocities along x and about
// y.
static const struct {
    double velocity[2][2]; // m/s, rad/s
    double belt;           // m/s
    bool rests;
} motions[] = {
    {{{0}}, 0, true},
    {{{0.9}}, 0, true},
    {{{1.1}}, 0, false},           // slides
    {{{2, 2}}, 0, false},          // rolls
    {{{3}}, 3, true},              // on a belt
    {{{-3}}, 3, false},            // against it
    {{{0, 2}, {-4, 2}}, 0, true},  // two of them as one body
    {{{0, 2}, {0, -2}}, 0, false}, // one rolls on the other
};

START_TEST(what_does_not_move_on_another_rests)
{
    const bool alone = motions[_i].velocity[1][0] == 0 && motions[_i].velocity[1][1] == 0;
    open_scene(&s);
    for (int b = 0; b < 2; b++) {
        add_cube(&s, 1);
        s.body[b].velocity[0] = motions[_i].velocity[b][0];
        s.body[b].velocity[4] = motions[_i].velocity[b][1];
    }
    sprag_contact contact = {.body = {0, alone ? SPRAG_STATIC : 1},
                             .arm = {{0, 0, -1}, {0, 0, 1}},
                             .frame = {{0, 0, 1}, {1, 0, 0}, {0, 1, 0}},
                             .slide.velocity = {motions[_i].belt, 0}};
    ck_assert(sprag_contact_rests(&s.problem, &contact, 1) == motions[_i].rests);
}
END_TEST

// ---- chords

// Body 0 on body 1, 1 m apart along the normal, both with the turn w across it. What goes with body
// 1 moves away from it by the bend of its way, and may come as much nearer; what it goes past as
// fast as it turns, as wheels that rub, stays as it is. Inside of body 1, as in a drum, it moves
// towards the wall by as much, and parts from it, without a drive; a roller there does not. Where
// gaps count what closes, nothing parts.
START_TEST(a_turn_opens_contacts_of_what_goes_with_it)
{
    static const double w = 2, step = 0.01;
    static const double along[] = {1, 0.5, 0}; // of the way that goes with body 1
    for (int i = 0; i < 6; i++) {
        const double inside = i < 3 ? 1 : -1, moves = along[i % 3];
        open_scene(&s);
        add_cube(&s, 1);
        add_cube(&s, 1);
        sprag_contact *contact = add_contact(&s, 0, 1, (double[]){0, 0, 1});
        contact->arm[0][2] = -0.5 * inside, contact->arm[1][2] = 0.5 * inside;
        s.body[0].velocity[4] = s.body[1].velocity[4] = w;
        s.body[0].velocity[0] = moves * w * inside;
        sprag_contact_on_chords(contact, s.body, step, false);
        ck_assert_double_eq_tol(contact->bias, -moves * inside * 0.5 * step * w * w, 2e-4);
        ck_assert_double_eq(contact->recovery, fmax(0, contact->bias));
        contact->bias = contact->recovery = 0;
        sprag_contact_on_chords(contact, s.body, step, true);
        ck_assert_double_eq_tol(contact->bias, -moves * fmax(0, inside) * 0.5 * step * w * w, 2e-4);
        contact->bias = contact->recovery = 0;
        contact->rebounds = true;
        sprag_contact_on_chords(contact, s.body, step, true);
        ck_assert_double_eq(contact->bias, 0);
    }
}
END_TEST

// By angle and by Cayley's map, against quaternions of both.
START_TEST(a_bend_ends_on_the_circle)
{
    const double step = 0.01, w[3] = {30, -70, 40}, arm[3] = {0.2, 0.5, -0.3};
    const double half = 0.5 * step * norm3(w);
    for (int by_angle = 0; by_angle < 2; by_angle++) {
        const double angle = by_angle ? half : atan(half);
        double bend[3], turned[3], twice[3], q[3] = {0, 0, 0};
        add_scaled(q, sin(angle) / norm3(w), w, 3);
        cross3(q, arm, turned); // arm + 2 cos(angle) q x arm + 2 q x (q x arm)
        cross3(q, turned, twice);
        sprag_bend(w, arm, step, by_angle, bend);
        double tangent[3];
        cross3(w, arm, tangent);
        for (int k = 0; k < 3; k++) {
            double way = 2 * cos(angle) * turned[k] + 2 * twice[k];
            ck_assert_double_eq_tol(step * (tangent[k] + bend[k]), way, 1e-14);
        }
    }
    double bend[3];
    sprag_bend((double[]){1e200, 0, 0}, arm, step, true, bend);
    ck_assert_double_eq(norm3(bend), 0);
}
END_TEST

START_TEST(three_rows_have_a_lever)
{
    static const double e[3][3] = {{0.6, 0, 0.8}, {0, 1, 0}, {-0.8, 0, 0.6}}, r[3] = {2, -3, 5};
    sprag_row row[3] = {{.bias = 0}};
    double lever[3];
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < 3; i++) {
            add_scaled(row[i].jacobian[side], side ? -1 : 1, e[i], 3);
            cross3(r, row[i].jacobian[side], row[i].jacobian[side] + 3);
        }
        sprag_rows_lever(row, 3, side, lever);
        for (int k = 0; k < 3; k++) {
            ck_assert_double_eq_tol(lever[k], r[k], 1e-14);
        }
    }
}
END_TEST

// Of bodies whose centres are as good as one, too, and of turns of any speed.
START_TEST(chords_are_finite)
{
    for (int i = -160; i <= 0; i += 20) {
        for (int k = -160; k <= 140; k += 20) {
            open_scene(&s);
            add_cube(&s, 1);
            add_cube(&s, 1);
            sprag_contact *contact = add_contact(&s, 0, 1, (double[]){0, 0, 1});
            contact->arm[0][2] = -pow(10, i), contact->arm[1][2] = 0;
            s.body[0].velocity[4] = s.body[1].velocity[4] = pow(10, k);
            s.body[0].by_angle = i % 40 == 0, s.body[1].by_angle = k % 40 == 0;
            sprag_contact_on_chords(contact, s.body, 0.01, false);
            ck_assert(isfinite(contact->bias) && isfinite(contact->slide.velocity[0]));
        }
    }
}
END_TEST

// Bodies at rest, bodies that turn about the normal, and turns whose common part is none in double,
// whatever maps turn them. Programs may trap invalid operations.
START_TEST(contacts_without_a_chord_stay)
{
    static const double turn[][2][3] = {{{0, 0, 0}, {0, 0, 0}},
                                        {{0, 0, 3}, {0, 0, 2}},
                                        {{0, 3, 0}, {0, 0, 0}},
                                        {{1e-320, 0, 0}, {1e10, 0, 0}}};
    const int maps = _i % 4;
    open_scene(&s);
    for (int b = 0; b < 2; b++) {
        add_cube(&s, 1);
        memcpy(s.body[b].velocity + 3, turn[_i / 4][b], sizeof turn[0][0]);
        s.body[b].by_angle = maps >> b & 1;
    }
    sprag_contact *contact = add_contact(&s, 0, 1, (double[]){0, 0, 1});
    contact->arm[0][2] = -0.5, contact->arm[1][2] = 0.5;
    feclearexcept(FE_ALL_EXCEPT);
    sprag_contact_on_chords(contact, s.body, STEP, false);
    sprag_contact_slide_on_chords(contact, s.body, STEP);
    ck_assert_int_eq(fetestexcept(FE_INVALID | FE_DIVBYZERO), 0);
    ck_assert_double_eq(contact->bias, 0);
    ck_assert_double_eq(contact->recovery, 0);
    ck_assert_double_eq(contact->slide.velocity[0], 0);
    ck_assert_double_eq(contact->slide.velocity[1], 0);
}
END_TEST

// ---- results

START_TEST(every_result_has_a_name)
{
    static const char *const names[] = {"ok", "not converged", "singular", "bad problem",
                                        "no memory"};
    for (int i = SPRAG_OK; i <= SPRAG_NO_MEMORY; i++) {
        ck_assert_str_eq(sprag_result_name((sprag_result)i), names[i]);
    }
}
END_TEST

// ---- scratch

START_TEST(scratch_is_aligned_zeroed_and_apart)
{
    char *taken[100];
    for (int round = 0; round < 2;
         round++) { // the second round gets memory that the first has written to
        for (size_t i = 0; i < 100; i++) {
            size_t bytes = 1 + 37 * i;
            taken[i] = sprag_scratch_take(&scratch, bytes, 1);
            ck_assert_uint_eq((uintptr_t)taken[i] % 64, 0);
            for (size_t k = 0; k < bytes; k++) {
                ck_assert_int_eq(taken[i][k], 0);
            }
            memset(taken[i], (int)i + 1, bytes);
        }
        for (size_t i = 0; i < 100; i++) {
            for (size_t k = 0; k < 1 + 37 * i; k++) {
                ck_assert_int_eq(taken[i][k], (int)i + 1);
            }
        }
        sprag_scratch_reset(&scratch);
    }
    ck_assert(!scratch.failed);
}
END_TEST

START_TEST(scratch_keeps_its_chunks_and_stops_growing)
{
    long after_first = 0;
    double *at[41] = {NULL};
    for (int round = 0; round < 4; round++) {
        for (int i = 1; i <= 40; i++) {
            double *taken = SPRAG_TAKE(&scratch, 1000 * i, double);
            ck_assert_ptr_nonnull(taken);
            ck_assert(round == 0 || taken == at[i]);
            at[i] = taken;
        }
        const size_t taken = scratch.taken;
        ck_assert_uint_ge(taken, 8 * 1000 * 40 * 41 / 2);
        if (round == 0) {
            ck_assert_int_gt(scratch.allocations, 1);
        }
        sprag_scratch_reset(&scratch);
        ck_assert_uint_eq(scratch.taken, 0);
        ck_assert_uint_eq(scratch.peak, taken);
        if (round == 0) {
            after_first = scratch.allocations;
        }
    }
    ck_assert_int_eq(scratch.allocations, after_first);
}
END_TEST

START_TEST(scratch_keeps_what_was_taken_when_it_grows)
{
    int *first = SPRAG_TAKE(&scratch, 4, int);
    memcpy(first, (int[]){1, 2, 3, 4}, 4 * sizeof(int));
    long before = scratch.allocations;
    ck_assert_ptr_nonnull(SPRAG_TAKE(&scratch, 1 << 20, double));
    ck_assert_int_gt(scratch.allocations, before);
    ck_assert_mem_eq(first, ((int[]){1, 2, 3, 4}), 4 * sizeof(int));
}
END_TEST

START_TEST(scratch_takes_again_what_it_has_released)
{
    int *first = SPRAG_TAKE(&scratch, 4, int);
    memcpy(first, (int[]){1, 2, 3, 4}, 4 * sizeof(int));
    const sprag_scratch before = scratch;
    const double *small = SPRAG_TAKE(&scratch, 8, double);
    const double *large = SPRAG_TAKE(&scratch, 1 << 20, double);
    const long allocations = scratch.allocations;
    for (int i = 0; i < 3; i++) {
        sprag_scratch_release(&scratch, &before);
        ck_assert_uint_eq(scratch.taken, before.taken);
        ck_assert_ptr_eq(SPRAG_TAKE(&scratch, 8, double), small);
        ck_assert_ptr_eq(SPRAG_TAKE(&scratch, 1 << 20, double), large);
    }
    ck_assert_int_eq(scratch.allocations, allocations);
    ck_assert_mem_eq(first, ((int[]){1, 2, 3, 4}), 4 * sizeof(int));
}
END_TEST

START_TEST(scratch_gives_nothing_of_something)
{
    ck_assert_ptr_nonnull(sprag_scratch_take(&scratch, 0, 8));
    ck_assert_ptr_nonnull(sprag_scratch_take(&scratch, 8, 0));
    ck_assert(!scratch.failed);
    ck_assert_uint_eq(scratch.taken, 0);
}
END_TEST

static const size_t huge[][2] = {
    {SIZE_MAX, 1}, {SIZE_MAX, 8}, {SIZE_MAX / 8 + 1, 8}, {SIZE_MAX / 2 + 1, 2}, {SIZE_MAX - 64, 1}};

START_TEST(scratch_fails_on_a_size_that_overflows)
{
    ck_assert_ptr_nonnull(sprag_scratch_take(&scratch, 10, 8));
    ck_assert_ptr_null(sprag_scratch_take(&scratch, huge[_i][0], huge[_i][1]));
    ck_assert(scratch.failed);
    ck_assert_ptr_nonnull(sprag_scratch_take(&scratch, 10, 8));
    ck_assert_msg(scratch.failed, "a later take must not hide the failure");
    sprag_scratch_reset(&scratch);
    ck_assert(!scratch.failed);
}
END_TEST

START_TEST(scratch_fails_on_a_negative_count)
{
    int count = -1;
    ck_assert_ptr_null(SPRAG_TAKE(&scratch, count, double));
    ck_assert(scratch.failed);
}
END_TEST

START_TEST(scratch_begins_anew_after_free)
{
    ck_assert_ptr_nonnull(SPRAG_TAKE(&scratch, 1000, double));
    sprag_scratch_free(&scratch);
    ck_assert_ptr_null(scratch.chunk);
    ck_assert_int_eq(scratch.allocations, 0);
    ck_assert_ptr_nonnull(SPRAG_TAKE(&scratch, 1000, double));
    sprag_scratch_reset(&scratch);
}
END_TEST

// One number behind an array, which is then freed in one of three ways.
START_TEST(scratch_aborts_where_guards_are_overwritten)
{
    const pid_t child = fork();
    if (child == 0) {
        const sprag_scratch before = scratch;
        int *three = SPRAG_TAKE(&scratch, 3, int);
        three[3] = 0;
        SPRAG_TAKE(&scratch, 3, int);
        if (_i == 0) {
            sprag_scratch_release(&scratch, &before);
        } else if (_i == 1) {
            sprag_scratch_reset(&scratch);
        } else {
            sprag_scratch_free(&scratch);
        }
        _exit(0);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, SPRAG_GUARDED);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("problem");
    ADD_TESTS(suite, "check", {accepts_a_good_problem, 1}, {accepts_a_problem_of_nothing, 1},
              {names_a_bad_number, COUNT(faults)},
              {names_a_bad_number_of_things, COUNT(bad_counts)},
              {accepts_values_at_the_limit, COUNT(limits)}, {accepts_a_row_of_one_force, 1},
              {refuses_an_inertia_with_two_negative_moments, 1}, {names_the_first_fault, 1},
              {keeps_to_the_size_of_the_message, 1}, {every_result_has_a_name, 1});
    ADD_TESTS(suite, "wrench", {wrench_of_a_contact_by_hand, 1},
              {wrench_has_the_power_of_the_force, 10});
    ADD_TESTS(suite, "rest", {what_does_not_move_on_another_rests, COUNT(motions)});
    ADD_TESTS(suite, "chords", {a_turn_opens_contacts_of_what_goes_with_it, 1},
              {chords_are_finite, 1}, {contacts_without_a_chord_stay, 16},
              {a_bend_ends_on_the_circle, 1}, {three_rows_have_a_lever, 1});
    ADD_TESTS_WITH(suite, "scratch", NULL, free_scratch, {scratch_is_aligned_zeroed_and_apart, 1},
                   {scratch_keeps_its_chunks_and_stops_growing, 1},
                   {scratch_keeps_what_was_taken_when_it_grows, 1},
                   {scratch_takes_again_what_it_has_released, 1},
                   {scratch_gives_nothing_of_something, 1},
                   {scratch_fails_on_a_size_that_overflows, COUNT(huge)},
                   {scratch_fails_on_a_negative_count, 1}, {scratch_begins_anew_after_free, 1},
                   {scratch_aborts_where_guards_are_overwritten, 3});
    return run_suite(suite);
}
