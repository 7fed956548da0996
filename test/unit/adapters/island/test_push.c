// Solutions that are pushed into ODE: velocities, poses and feedback are those of a stock step.
#include <check.h>
#include <stdlib.h>

#include "islands.h"
#include "suite.h"
#include "worlds.h"

// ---- joints

static void assert_zero_force(dBodyID body)
{
    for (int k = 0; k < 3; k++) {
        ck_assert_double_eq(dBodyGetForce(body)[k], 0);
        ck_assert_double_eq(dBodyGetTorque(body)[k], 0);
    }
}

// ---- push

static void push(const pull *p, ode_warm_start *memory)
{
    ode_feedback *feedback = calloc((size_t)p->ode.island.joints + 1, sizeof *feedback);
    ode_spin *spin = calloc((size_t)p->ode.island.bodies + 1, sizeof *spin);
    ck_assert(feedback && spin);
    sprag_ode_push_feedback(feedback, sprag_ode_push_velocities(&p->ode, memory, feedback, spin),
                            false);
    sprag_ode_move(&p->ode.island, p->ode.problem.step, NULL, spin, p->ode.spins);
    free(feedback);
    free(spin);
}

typedef struct moves {
    int count;
    dBodyID last;
} moves;

static moves moved;

static void body_moved(dBodyID body)
{
    moved.count++;
    moved.last = body;
}

enum { DAMPED = 1, FINITE_FREE = 2, FINITE_AXIS = 4, CAPPED = 8, KINEMATIC = 16, PUSHES = 32 };

static dBodyID create_pushed(dWorldID world, int like)
{
    dBodyID body = create_flyer(world, GRAVITY | GYROSCOPIC | FORCES);
    dGeomID geom = dCreateBox(0, 1, 1, 1);
    dGeomSetBody(geom, body);
    dBodySetMovedCallback(body, body_moved);
    if (like & DAMPED) {
        dBodySetDamping(body, 0.05, 0.1);
        dBodySetLinearDampingThreshold(body, 0.01);
        dBodySetAngularDampingThreshold(body, 0.01);
    }
    dBodySetFiniteRotationMode(body, (like & (FINITE_FREE | FINITE_AXIS)) != 0);
    if (like & FINITE_AXIS) {
        dBodySetFiniteRotationAxis(body, 1, 0, 2);
    }
    if (like & CAPPED) {
        dBodySetMaxAngularSpeed(body, 2);
    }
    if (like & KINEMATIC) {
        dBodySetKinematic(body);
    }
    return body;
}

// Velocities of a solution, integrated by stock in a world without forces.
START_TEST(push_moves_bodies_as_stock)
{
    static const double v[6] = {1.25, -3.5, 0.75, 4, -5, 6};
    dWorldID world[2] = {dWorldCreate(), dWorldCreate()};
    dBodyID body[2] = {create_pushed(world[0], _i), create_pushed(world[1], _i)};
    pull p = pull_world(world[0]);
    memcpy(p.ode.solution.velocity[0], v, sizeof v);
    moved = (moves){0};
    push(&p, NULL);
    ck_assert_int_eq(moved.count, 1);
    ck_assert_ptr_eq(moved.last, body[0]);

    dWorldSetGravity(world[1], 0, 0, 0);
    dBodySetForce(body[1], 0, 0, 0);
    dBodySetTorque(body[1], 0, 0, 0);
    dBodySetGyroscopicMode(body[1], 0);
    dBodySetLinearVel(body[1], v[0], v[1], v[2]);
    dBodySetAngularVel(body[1], v[3], v[4], v[5]);
    dWorldStep(world[1], step);
    body_state ours = state_of(body[0]), stock = state_of(body[1]);
    assert_same_bits(&ours, &stock);
    ck_assert_mem_eq(dGeomGetPosition(dBodyGetFirstGeom(body[0])), ours.x, sizeof ours.x);
    assert_zero_force(body[0]);
    release(&p);
    for (int i = 0; i < 2; i++) {
        dGeomDestroy(dBodyGetFirstGeom(body[i]));
        dWorldDestroy(world[i]);
    }
}
END_TEST

// M^-1 g for one body.
static void yield_of(const sprag_body *b, const double g[6], double v[6])
{
    dMatrix3 I = {0}, inverse;
    for (int k = 0; k < 9; k++) {
        I[4 * (k / 3) + k % 3] = b->inertia[k];
    }
    memset(v, 0, sizeof(double[6]));
    if (b->mass > 0 && dInvertPDMatrix(I, inverse, 3)) {
        for (int k = 0; k < 3; k++) {
            v[k] = g[k] / b->mass;
        }
        dMultiply0_331(v + 3, inverse, g + 3);
    }
}

// (J M^-1 J' h + cfm) lambda = c - J v*: the joint's rows as equations, by elimination.
static void solve_rows(ode_problem *pulled)
{
    enum { ROWS = 6 };
    const sprag_problem *problem = &pulled->problem;
    int n = problem->rows;
    double A[ROWS][ROWS + 1] = {{0}}, yield[ROWS][2][6] = {{{0}}};
    for (int i = 0; i < n; i++) {
        const sprag_row *row = &problem->row[i];
        A[i][n] = row->bias;
        for (int side = 0; side < 2 && row->body[side] != SPRAG_STATIC; side++) {
            const sprag_body *b = &problem->body[row->body[side]];
            yield_of(b, row->jacobian[side], yield[i][side]);
            A[i][n] -= dot6(row->jacobian[side], b->free_velocity);
            for (int j = 0; j < n; j++) {
                A[j][i] += problem->step * dot6(problem->row[j].jacobian[side], yield[i][side]);
            }
        }
        A[i][i] += row->compliance;
    }
    for (int i = 0; i < n; i++) { // positive definite: no pivoting
        for (int j = 0; j < n; j++) {
            double factor = j == i ? 0 : A[j][i] / A[i][i];
            for (int k = i; k <= n && factor != 0; k++) {
                A[j][k] -= factor * A[i][k];
            }
        }
    }
    for (int i = 0; i < problem->bodies; i++) {
        memcpy(pulled->solution.velocity[i], problem->body[i].free_velocity, sizeof(double[6]));
    }
    for (int i = 0; i < n; i++) {
        double force = pulled->solution.row_force[i] = A[i][n] / A[i][i];
        for (int side = 0; side < 2 && problem->row[i].body[side] != SPRAG_STATIC; side++) {
            for (int k = 0; k < 6; k++) {
                pulled->solution.velocity[problem->row[i].body[side]][k] +=
                    problem->step * force * yield[i][side][k];
            }
        }
    }
}

// Joints that only hold: pulled, solved as equations and pushed, all is as after a stock step.
START_TEST(feedback_is_stock)
{
    static const int likes[] = {PAIR_PLAIN, PAIR_MOVED, PAIR_TO_WORLD | PAIR_MOVED,
                                PAIR_REVERSED | PAIR_MOVED | PAIR_SKEWED, PAIR_MOVED | PAIR_SKEWED};
    const joint_kind *kind = &joint_kinds[_i];
    for (size_t i = 0; i < sizeof likes / sizeof likes[0]; i++) {
        pair one, other;
        if (!kind_can_be(kind, likes[i])) {
            continue;
        }
        open_pair(&one, kind, likes[i]);
        open_pair(&other, kind, likes[i]);
        ask_feedback(&one);
        ask_feedback(&other);
        memset(&one.feedback, 0x40, sizeof one.feedback); // stays where stock leaves it alone
        memset(&other.feedback, 0x40, sizeof other.feedback);
        pull p = pull_world(one.world);
        solve_rows(&p.ode);
        push(&p, NULL);
        dWorldStep(other.world, step);
        const dReal *ours[4] = {one.feedback.f1, one.feedback.t1, one.feedback.f2, one.feedback.t2};
        const dReal *stock[4] = {other.feedback.f1, other.feedback.t1, other.feedback.f2,
                                 other.feedback.t2};
        double scale = 1e-6;
        for (int k = 0; k < 12; k++) {
            scale = fmax(scale, stock[k / 3][k % 3] < 10 ? fabs(stock[k / 3][k % 3]) : 1);
        }
        for (int k = 0; k < 12; k++) {
            ck_assert_msg(fabs(ours[k / 3][k % 3] - stock[k / 3][k % 3]) <= 1e-9 * fmax(1, scale),
                          "joint type %d, like %d, entry %d: %.17g, stock %.17g", kind->type,
                          likes[i], k, ours[k / 3][k % 3], stock[k / 3][k % 3]);
        }
        for (int k = 0; k < 2 && one.body[k]; k++) {
            body_state a = state_of(one.body[k]), b = state_of(other.body[k]);
            assert_vectors(a.v, b.v, 6, 1e-9);
            assert_vectors(a.x, b.x, 3, 1e-11);
            assert_zero_force(one.body[k]);
        }
        release(&p);
        close_pair(&one);
        close_pair(&other);
    }
}
END_TEST

// The feedback is the wrench of the contact force about each body's centre; the second body's is
// the reaction.
START_TEST(contact_feedback_is_the_force)
{
    touching t = open_touching();
    dContact c = oblique_contact(0);
    dJointFeedback feedback;
    memset(&feedback, 0x40, sizeof feedback);
    dJointID joint = attach(&t, &c, 0);
    dJointSetFeedback(joint, &feedback);
    ode_warm_start *memory = sprag_ode_warm_start_make();
    pull p = pull_world(t.world);
    const sprag_contact *pulled = &p.ode.problem.contact[0];
    const double local[6] = {10, 2, -3}; // no moment
    double force[3] = {0}, turn[3];
    memset(p.ode.solution.velocity, 0, (size_t)p.ode.problem.bodies * sizeof(double[6]));
    memcpy(p.ode.solution.contact_force[0], local, sizeof local);
    for (int i = 0; i < 9; i++) {
        force[i % 3] += local[i / 3] * pulled->frame[i / 3][i % 3];
    }
    push(&p, memory);
    assert_vectors(feedback.f1, force, 3, 1e-14);
    dCalcVectorCross3(turn, pulled->arm[0], force);
    assert_vectors(feedback.t1, turn, 3, 1e-14);
    for (int k = 0; k < 3; k++) {
        force[k] = -force[k];
    }
    assert_vectors(feedback.f2, force, 3, 1e-14);
    dCalcVectorCross3(turn, pulled->arm[1], force);
    assert_vectors(feedback.t2, turn, 3, 1e-14);
    sprag_ode_warm_start_next_step(memory);
    sprag_contact again = *pulled;
    recall_contacts(memory, &joint, &again, 1);
    assert_vectors(again.guess, local, 3, 1e-14);
    release(&p);
    sprag_ode_warm_start_free(memory);
    dWorldDestroy(t.world);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("push");
    ADD_TESTS_WITH(suite, "all", setup, dCloseODE, {push_moves_bodies_as_stock, PUSHES},
                   {feedback_is_stock, JOINT_KINDS}, {contact_feedback_is_the_force, 1});
    return run_suite(suite);
}
