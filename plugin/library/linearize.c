// Derivatives of a step of method stribeck by the implicit function theorem (derivative.h): the
// contact problem of the bodies is solved as in the step and its matrix factorised once; the
// residual's derivatives with respect to the state are known, or differences (linearize_ask.c).
#include "linearize.h"

#include <string.h>

#include "frame_methods.h"
#include "linalg.h"
#include "linearize_run.h"
#include "spin.h"
#include "traps.h"
#include "vectors.h"
#include "vectors6.h"

// ---- the matrices

// ODE turns a body by the quaternion (1, u) / |(1, u)|, u = h w / 2: by R / (1 + u^2). A turn
// before the step is turned with the body; a change of w adds h (I + [u]x) / (1 + u^2) of it.
static void find_turn(const component *c, int body, double R[9], double of_change[9])
{
    const double *w = c->pulled.solution.velocity[body] + 3;
    double u[3], square = 0;
    for (int k = 0; k < 3; k++) {
        u[k] = c->step * w[k] / 2;
        square += u[k] * u[k];
    }
    const double cross[9] = {0, -u[2], u[1], u[2], 0, -u[0], -u[1], u[0], 0};
    for (int i = 0; i < 9; i++) {
        double one = i % 4 == 0;
        R[i] = (one * (1 - square) + 2 * (u[i / 3] * u[i % 3] + cross[i])) / (1 + square);
        of_change[i] = c->step * (one + cross[i]) / (1 + square);
    }
}

// Numbers of a row of A and B: by states, then by forces. They are those of the solution of a body
// by the states of another.
typedef struct matrix_row {
    sprag_four a, b, c, force;
    sprag_two last;
} matrix_row;

// s = f x
static inline __attribute__((always_inline)) void set_row(matrix_row *s, double f, const double *x)
{
    const sprag_four *of = (const sprag_four *)x;
    s->a = f * of[0], s->b = f * of[1], s->c = f * of[2], s->force = f * of[3];
    s->last = f * *(const sprag_two *)(x + SPRAG_INVERSE + 4);
}

// s += f x
static inline __attribute__((always_inline)) void add_row(matrix_row *s, double f, const double *x)
{
    const sprag_four *of = (const sprag_four *)x;
    s->a += f * of[0], s->b += f * of[1], s->c += f * of[2], s->force += f * of[3];
    s->last += f * *(const sprag_two *)(x + SPRAG_INVERSE + 4);
}

// dv by forces needs -h of the residual's.
static inline __attribute__((always_inline)) void write_row(double *A, double *B, double step,
                                                            const matrix_row *s)
{
    sprag_four *to = (sprag_four *)A;
    to[0] = s->a, to[1] = s->b, to[2] = s->c;
    *(sprag_four *)B = step * s->force;
    *(sprag_two *)(B + 4) = step * s->last;
}

// The rows of a body: its way, turn, velocity, and angular velocity.
SPRAG_VECTORS
static void write_rows(const component *c, int body, const double turn[9], const sprag_columns *v,
                       double *A, double *B)
{
    const size_t states = (size_t)(STATES * c->user_bodies), forces = states / 2;
    A += (size_t)(STATES * c->of[body]->of_user) * states;
    B += (size_t)(STATES * c->of[body]->of_user) * forces;
    for (int j = 0; j < c->bodies; j++) {
        const double(*dv)[SPRAG_COLUMNS] = v[body * c->bodies + j];
        double *a = A + STATES * c->of[j]->of_user, *b = B + FORCES * c->of[j]->of_user;
        for (int k = 0; k < 3; k++, a += states, b += forces) {
            matrix_row row;
            set_row(&row, c->step, dv[k]);
            write_row(a, b, c->step, &row);
            set_row(&row, turn[3 * k], dv[3]);
            add_row(&row, turn[3 * k + 1], dv[4]);
            add_row(&row, turn[3 * k + 2], dv[5]);
            write_row(a + TURN * states, b + TURN * forces, c->step, &row);
            set_row(&row, 1, dv[k]);
            write_row(a + VELOCITY * states, b + VELOCITY * forces, c->step, &row);
            set_row(&row, 1, dv[3 + k]);
            write_row(a + SPIN * states, b + SPIN * forces, c->step, &row);
        }
    }
}

// To the rows of bodies that others do not act on.
static void clear_rows(const component *c, double *matrix, int width)
{
    const size_t columns = (size_t)(width * c->user_bodies);
    for (int i = 0; i < c->bodies && c->bodies < c->user_bodies; i++) {
        memset(matrix + (size_t)(STATES * c->of[i]->of_user) * columns, 0,
               STATES * columns * sizeof *matrix);
    }
}

static const char *write_matrices(component *c, double *A, double *B)
{
    const int width = STATES * c->user_bodies;
    sprag_columns *v = SPRAG_TAKE_RAW(c->scratch, c->bodies * c->bodies, sprag_columns);
    if (!v || sprag_derivative_solve(&c->derivative, (const sprag_columns *const *)c->X, c->slip, v,
                                     c->scratch) != SPRAG_OK) {
        return "no memory";
    }
    clear_rows(c, A, STATES);
    clear_rows(c, B, FORCES);
    for (int i = 0; i < c->bodies; i++) {
        const int own = STATES * c->of[i]->of_user;
        double R[9], turn[9];
        find_turn(c, i, R, turn);
        write_rows(c, i, turn, v, A, B);
        for (int k = 0; k < 3; k++) {
            double *row = A + (size_t)(own + k) * (size_t)width + own;
            row[k] += 1;
            add_scaled(row + TURN * width + TURN, 1, R + 3 * k, 3);
        }
    }
    return NULL;
}

static const char *differentiate(component *c, double *A, double *B)
{
    const char *why = linearize_solve(c);
    if (why) {
        return why;
    }
    for (int i = 0; i < c->bodies; i++) {
        double most = dBodyGetMaxAngularSpeed(c->body[i]);
        if (norm3(c->pulled.solution.velocity[i] + 3) >= most) {
            return "a body turns at its greatest angular speed";
        }
    }
    c->X = SPRAG_TAKE_RAW(c->scratch, c->bodies * c->bodies, *c->X);
    c->slip = SPRAG_TAKE(c->scratch, c->pulled.problem.rows, *c->slip);
    if (c->scratch->failed || !sprag_ode_index_bodies(&c->index, c->body, c->bodies, c->scratch)) {
        return "no memory";
    }
    why = linearize_ask(c);
    return why ? why : write_matrices(c, A, B);
}

// ---- all bodies

typedef struct whole {
    world_state *world;
    double step;
    subject *subject;
    int bodies;
    sprag_scratch *scratch, *component_scratch, *trial_scratch;
} whole;

static int leader_of(const whole *all, int i)
{
    while (all->subject[i].leader != i) {
        i = all->subject[i].leader;
    }
    return i;
}

// -1: none of them.
static int index_of(const whole *all, dBodyID body)
{
    for (int i = 0; i < all->bodies; i++) {
        if (all->subject[i].id == body) {
            return i;
        }
    }
    return -1;
}

static const char *check_body(const whole *all, int i)
{
    dBodyID body = all->subject[i].id;
    if (!body || dBodyGetWorld(body) != all->world->id) {
        return "a body is NULL, or not of this world";
    }
    if (index_of(all, body) != i) {
        return "a body is listed twice";
    }
    if (dBodyIsKinematic(body) || !dBodyIsEnabled(body)) {
        return "a body is kinematic or disabled";
    }
    if (dBodyGetLinearDamping(body) > 0 || dBodyGetAngularDamping(body) > 0 ||
        dBodyGetFiniteRotationMode(body)) {
        return "a body has damping, or finite rotation";
    }
    return NULL;
}

static bool tumbles(dBodyID id, double step)
{
    sprag_body body;
    const dVector3 none = {0};
    return dBodyGetGyroscopicMode(id) && sprag_ode_pull_body(&body, id, none, step) &&
           sprag_spin_tumbles(body.inertia, body.velocity + 3, step);
}

// Unites the bodies of joints.
static const char *unite_bodies(whole *all)
{
    for (int i = 0; i < all->bodies; i++) {
        dBodyID body = all->subject[i].id;
        int acting = 0;
        for (int j = 0; j < dBodyGetNumJoints(body); j++) {
            dJointID joint = dBodyGetJoint(body, j);
            if (!sprag_ode_joint_acts(joint)) {
                continue;
            }
            acting++;
            for (int side = 0; side < 2; side++) {
                dBodyID other = dJointGetBody(joint, side);
                int k = other ? index_of(all, other) : i;
                if (k < 0) {
                    return "a joint or contact joins a body to one that is not listed";
                }
                all->subject[leader_of(all, k)].leader = leader_of(all, i);
            }
        }
        if (acting == 0 && !all->world->settings.method->is_compliant && tumbles(body, all->step)) {
            return "a body without joints and contacts tumbles: its flight is exact, without a "
                   "contact problem";
        }
    }
    return NULL;
}

static void add_joint(component *c, dJointID joint)
{
    int found[2] = {-1, -1};
    for (int side = 0; side < 2; side++) {
        dBodyID body = dJointGetBody(joint, side);
        for (int i = 0; i < c->bodies && body; i++) {
            found[side] = c->body[i] == body ? i : found[side];
        }
    }
    if (found[0] >= 0 && found[1] >= 0) {
        c->adjacent[found[0] * c->bodies + found[1]] = true;
        c->adjacent[found[1] * c->bodies + found[0]] = true;
    }
    c->joint[c->joints++] = joint;
    if (dJointGetType(joint) == dJointTypeContact) {
        c->contact[c->contacts++] = (contact){.joint = joint, .body = {found[0], found[1]}};
    } else {
        c->link[c->links++] = (link){.joint = joint, .body = {found[0], found[1]}};
    }
}

static bool make_component(component *c, whole *all, int leader)
{
    sprag_scratch *scratch = all->component_scratch;
    int joints = 0;
    sprag_scratch_reset(scratch);
    *c = (component){.world = all->world,
                     .step = all->step,
                     .scratch = scratch,
                     .trial_scratch = all->trial_scratch,
                     .user_bodies = all->bodies};
    c->of = SPRAG_TAKE(scratch, all->bodies, subject *);
    c->body = SPRAG_TAKE(scratch, all->bodies, dBodyID);
    for (int i = 0; i < all->bodies && !scratch->failed; i++) {
        if (leader_of(all, i) == leader) {
            joints += dBodyGetNumJoints(all->subject[i].id);
            c->of[c->bodies] = &all->subject[i];
            c->body[c->bodies++] = all->subject[i].id;
        }
    }
    size_t n = (size_t)c->bodies;
    c->joint = SPRAG_TAKE(scratch, joints, dJointID);
    c->contact = SPRAG_TAKE(scratch, joints, contact);
    c->adjacent = SPRAG_TAKE(scratch, n * n, bool);
    c->asked = SPRAG_TAKE(scratch, n * n, bool);
    c->change = SPRAG_TAKE(scratch, n, double[6]);
    c->link = SPRAG_TAKE(scratch, joints, link);
    c->near_contact = SPRAG_TAKE_RAW(scratch, joints, sprag_contact);
    c->near_key = SPRAG_TAKE_RAW(scratch, joints, ode_warm_key);
    c->near_index = SPRAG_TAKE_RAW(scratch, joints, int);
    c->contact_body = SPRAG_TAKE_RAW(scratch, n, sprag_body);
    c->contact_body_of = SPRAG_TAKE_RAW(scratch, n, int);
    c->number_of = SPRAG_TAKE_RAW(scratch, n, int);
    return !scratch->failed;
}

static void add_joints(component *c)
{
    for (int i = 0; i < c->bodies; i++) {
        c->adjacent[i * c->bodies + i] = true;
        for (int j = 0; j < dBodyGetNumJoints(c->body[i]); j++) {
            dJointID joint = dBodyGetJoint(c->body[i], j);
            dBodyID second = dJointGetBody(joint, 1);
            bool again = second == c->body[i] && dJointGetBody(joint, 0);
            if (sprag_ode_joint_acts(joint) && !again) {
                add_joint(c, joint);
            }
        }
    }
}

static const char *read_component(component *c, whole *all, int leader)
{
    if (!make_component(c, all, leader)) {
        return "no memory";
    }
    add_joints(c);
    for (int i = 0; i < c->contacts; i++) {
        if (!linearize_read_contact(&c->contact[i])) {
            return "a contact is of a geom transform, or none that dCollide finds for its geoms";
        }
    }
    c->island = (ode_island){c->bodies, c->joints, c->body, c->joint};
    return NULL;
}

// ---- method=ess

// The components as islands.
static bool make_islands(whole *all, ode_islands *islands)
{
    int joints = 0, bodies = 0;
    for (int i = 0; i < all->bodies; i++) {
        joints += dBodyGetNumJoints(all->subject[i].id);
    }
    unsigned *sizes = SPRAG_TAKE(all->scratch, 2 * all->bodies, unsigned);
    dBodyID *body = SPRAG_TAKE(all->scratch, all->bodies, dBodyID);
    dJointID *joint = SPRAG_TAKE(all->scratch, joints, dJointID);
    *islands = (ode_islands){0, sizes, body, joint};
    for (int i = joints = 0; i < all->bodies && !all->scratch->failed; i++) {
        component c;
        if (leader_of(all, i) != i) {
            continue;
        }
        if (!make_component(&c, all, i)) {
            return false;
        }
        add_joints(&c);
        memcpy(body + bodies, c.body, (size_t)c.bodies * sizeof *body);
        memcpy(joint + joints, c.joint, (size_t)c.joints * sizeof *joint);
        bodies += c.bodies;
        joints += c.joints;
        sizes[2 * islands->count] = (unsigned)c.bodies;
        sizes[2 * islands->count++ + 1] = (unsigned)c.joints;
    }
    return !all->scratch->failed;
}

static const char *linearize_compliant(whole *all, const dBodyID *body, double *A, double *B)
{
    ode_islands islands;
    const step_context c = {.world = all->world, .step = all->step, .called = STOCK_STEP};
    return make_islands(all, &islands) ? linearize_frame(&c, &islands, body, all->bodies, A, B)
                                       : "no memory";
}

// ---- all components

static const char *linearize_all(whole *all, const dBodyID *body, double *A, double *B)
{
    const char *why = NULL;
    all->subject = SPRAG_TAKE(all->scratch, all->bodies, subject);
    if (!all->subject) {
        return "no memory";
    }
    for (int i = 0; i < all->bodies; i++) {
        all->subject[i] = (subject){.id = body[i], .leader = i, .of_user = i};
    }
    for (int i = 0; i < all->bodies && !why; i++) {
        why = check_body(all, i);
        if (!why) {
            linearize_save(&all->subject[i]);
        }
    }
    why = why ? why : unite_bodies(all);
    if (!why && all->world->settings.method->is_compliant) {
        return linearize_compliant(all, body, A, B);
    }
    for (int i = 0; i < all->bodies && !why; i++) {
        component c;
        if (leader_of(all, i) == i) {
            why = read_component(&c, all, i);
            why = why ? why : differentiate(&c, A, B);
        }
    }
    return why;
}

const char *linearize(world_state *world, dReal step, const dBodyID *body, int bodies, double *A,
                      double *B)
{
    if (!world->settings.method->ours) {
        return "the world is stepped by ODE's own stepper, which has no contact problem";
    }
    const bool compliant = world->settings.method->is_compliant;
    if (world->settings.method->keeps_distance && !compliant) {
        return "method=advance divides steps at contacts: use method=stribeck";
    }
    if (!compliant && world->settings.stribeck.scheme != SPRAG_TWO_WAY) {
        return "stribeck.scheme=one-way solves two problems a step";
    }
    if (!compliant && settings_speculate(&world->settings)) {
        return "stribeck.speculative=1 adds contacts as the step is solved";
    }
    sprag_scratch *scratch = world->linearize_scratch;
    whole all = {.world = world,
                 .step = step,
                 .bodies = bodies,
                 .scratch = &scratch[0],
                 .component_scratch = &scratch[1],
                 .trial_scratch = &scratch[2]};
    sprag_scratch_reset(all.scratch);
    const int traps = traps_hold();
    const char *why = linearize_all(&all, body, A, B);
    traps_release(traps);
    return why;
}
