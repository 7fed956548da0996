// Derivatives of a step of method stribeck by the implicit function theorem (derivative.h): the
// contact problem of the bodies is solved once and its matrix factorised once. The residual's
// derivatives with respect to the state are differences: bodies are displaced, ODE's collision
// function and joints are asked again, and the residual is evaluated at the same velocities.
// Displaced bodies with a neighbour in common would mix in the residual; others are displaced
// together, so that the number of evaluations does not grow with the length of a chain (Curtis,
// Powell, Reid: On the Estimation of Sparse Jacobian Matrices, 1974).
#include "linearize.h"

#include <math.h>
#include <string.h>

#include "collide.h"
#include "derivative.h"
#include "island.h"
#include "island_step.h"
#include "linalg.h"
#include "spin.h"
#include "workers.h"

enum { STATES = 12, POSITION = 0, TURN = 3, VELOCITY = 6, SPIN = 9, FORCES = 6 };

// m, rad, m/s, rad/s: displacement of a difference. Larger: truncation errors; smaller: rounding.
static const double DISPLACEMENT = 1e-7;

// Of the impulses: residual of the solve that is differentiated.
static const double TOLERANCE = 1e-10;

// Contacts of two geoms that a contact joint is looked for among, and how near it must be: m.
enum { CONTACTS_MAX = 64 };
static const double SAME_CONTACT = 1e-9;

typedef struct subject {
    dBodyID id;
    int leader;  // of its component, by union
    int colour;  // of those that are displaced together
    int of_user; // its index in the arguments
    dReal position[4], quaternion[4], rotation[12];
    double velocity[6];
} subject;

typedef struct contact {
    dJointID joint;
    int body[2];      // of the component; -1: none
    dContactGeom own; // of the joint
    dContactGeom at;  // of ODE's collision function, without displacement
} contact;

// The bodies that joints and contacts connect.
typedef struct component {
    world_state *world;
    double step;
    sprag_scratch *scratch, *trial_scratch;
    int bodies, joints, contacts, user_bodies;
    subject **of; // bodies
    ode_island island;
    dBodyID *body;
    dJointID *joint;
    contact *contact;
    bool *adjacent; // bodies x bodies
    ode_problem pulled;
    sprag_derivative derivative;
    double (*change)[6]; // bodies, of the residual
    double (*column)[6]; // bodies
} component;

// ---- displaced bodies

static void save(subject *s)
{
    memcpy(s->position, dBodyGetPosition(s->id), 3 * sizeof *s->position);
    memcpy(s->quaternion, dBodyGetQuaternion(s->id), sizeof s->quaternion);
    memcpy(s->rotation, dBodyGetRotation(s->id), sizeof s->rotation);
    sprag_ode_read_velocity(s->id, s->velocity);
}

// Bit by bit; the calls tell ODE that geoms have moved.
static void put_back(const subject *s)
{
    dBodySetPosition(s->id, s->position[0], s->position[1], s->position[2]);
    dBodySetQuaternion(s->id, s->quaternion);
    memcpy((dReal *)(uintptr_t)dBodyGetQuaternion(s->id), s->quaternion, sizeof s->quaternion);
    memcpy((dReal *)(uintptr_t)dBodyGetRotation(s->id), s->rotation, sizeof s->rotation);
    sprag_ode_set_velocity(s->id, s->velocity);
}

static void displace(const subject *s, int state)
{
    double way[STATES] = {0}, velocity[6];
    way[state] = DISPLACEMENT;
    memcpy(velocity, s->velocity, sizeof velocity);
    add_scaled(velocity, 1, way + VELOCITY, 6);
    if (state < TURN) {
        dBodySetPosition(s->id, s->position[0] + way[0], s->position[1] + way[1],
                         s->position[2] + way[2]);
    } else if (state < VELOCITY) {
        const dQuaternion turn = {1, way[TURN] / 2, way[TURN + 1] / 2, way[TURN + 2] / 2};
        dQuaternion turned;
        dQMultiply0(turned, turn, s->quaternion);
        dBodySetQuaternion(s->id, turned);
    } else {
        sprag_ode_set_velocity(s->id, velocity);
    }
}

// ---- contacts

static dContactGeom *geom_of(dJointID joint)
{
    return (dContactGeom *)(uintptr_t)sprag_ode_contact_geom(joint);
}

static double distance_of(const dContactGeom *a, const dContactGeom *b)
{
    double way[3], turn[3];
    subtract3(a->pos, b->pos, way);
    subtract3(a->normal, b->normal, turn);
    return norm3(way) + norm3(turn);
}

// The contact of the collision function that is nearest to one that was there. false: none.
static bool find_contact(const dContactGeom *of, dContactGeom *found)
{
    dContactGeom all[CONTACTS_MAX];
    int count = collide_geoms(of->g1, of->g2, CONTACTS_MAX, all, sizeof all[0]), best = 0;
    for (int i = 1; i < count; i++) {
        best = distance_of(&all[i], of) < distance_of(&all[best], of) ? i : best;
    }
    *found = count > 0 ? all[best] : *found;
    return count > 0;
}

static bool read_contact(contact *c)
{
    c->own = *geom_of(c->joint);
    return c->own.g1 && c->own.g2 && find_contact(&c->own, &c->at) &&
           distance_of(&c->own, &c->at) < SAME_CONTACT;
}

// false: the contact has gone.
static bool move_contact(const contact *c)
{
    dContactGeom now, *to = geom_of(c->joint);
    if (!find_contact(&c->at, &now)) {
        return false;
    }
    for (int k = 0; k < 3; k++) {
        to->pos[k] = c->own.pos[k] + (now.pos[k] - c->at.pos[k]);
        to->normal[k] = c->own.normal[k] + (now.normal[k] - c->at.normal[k]);
    }
    to->depth = c->own.depth + (now.depth - c->at.depth);
    return true;
}

// ---- a component

static const char *solve(component *c)
{
    world_state *w = c->world;
    ode_problem *pulled = &c->pulled;
    sprag_result result = sprag_ode_pull(pulled, w->id, &c->island, c->step, &w->settings.stiffness,
                                         w->warm_start, c->scratch);
    sprag_ode_restore(pulled);
    if (result != SPRAG_OK) {
        return result == SPRAG_NO_MEMORY ? "no memory" : "the state of a body is not finite";
    }
    if (pulled->spins > 0) {
        return "a body spins so fast that its step follows its axis";
    }
    sprag_stribeck_options options = w->settings.stribeck;
    options.softness = island_softness(w, &pulled->problem);
    options.tolerance = fmin(options.tolerance, TOLERANCE);
    sprag_stats stats = {0};
    result =
        sprag_stribeck_solve(&pulled->problem, &options, c->scratch, &pulled->solution, &stats);
    if (result == SPRAG_OK && pulled->problem.rows > 0 &&
        sprag_ode_solve_again(pulled, w->warm_start, c->scratch)) {
        return "joints draw a body so much tighter than in the last step that the step is the mean "
               "of two solutions";
    }
    if (result == SPRAG_OK) {
        result = sprag_derivative_open(&c->derivative, &pulled->problem, &options,
                                       &pulled->solution, c->scratch);
    }
    switch (result) {
    case SPRAG_OK:
        return NULL;
    case SPRAG_NO_MEMORY:
        return "no memory";
    case SPRAG_SINGULAR:
        return "the matrix of the contact problem is singular";
    default:
        return "the contact problem has not been solved exactly";
    }
}

// Of the residual, by what is displaced now.
static const char *change_of(component *c)
{
    ode_problem trial;
    const world_state *w = c->world;
    sprag_scratch_reset(c->trial_scratch);
    sprag_result result = sprag_ode_pull(&trial, w->id, &c->island, c->step, &w->settings.stiffness,
                                         w->warm_start, c->trial_scratch);
    sprag_ode_restore(&trial);
    if (result == SPRAG_OK && (trial.problem.contacts != c->pulled.problem.contacts ||
                               trial.problem.rows != c->pulled.problem.rows)) {
        return "a contact or a joint's row comes or goes with the slightest motion";
    }
    if (result == SPRAG_OK && sprag_ode_arcs_differ(&c->pulled, &trial)) {
        return "a joint's arc begins or ends with the slightest motion";
    }
    if (result == SPRAG_OK) {
        result =
            sprag_derivative_change(&c->derivative, &trial.problem, c->trial_scratch, c->change);
    }
    return result == SPRAG_OK ? NULL : "no memory, or a state that is not finite";
}

// The change of the residual with bodies of a colour displaced along a state.
static const char *displaced_change(component *c, int colour, int state)
{
    const char *why = NULL;
    for (int i = 0; i < c->bodies; i++) {
        if (c->of[i]->colour == colour) {
            displace(c->of[i], state);
        }
    }
    for (int i = 0; i < c->contacts && state < VELOCITY && !why; i++) {
        bool moved = false;
        for (int side = 0; side < 2; side++) {
            int b = c->contact[i].body[side];
            moved |= b >= 0 && c->of[b]->colour == colour;
        }
        if (moved && !move_contact(&c->contact[i])) {
            why = "a contact goes with the slightest motion";
        }
    }
    why = why ? why : change_of(c);
    for (int i = 0; i < c->contacts; i++) {
        *geom_of(c->contact[i].joint) = c->contact[i].own;
    }
    for (int i = 0; i < c->bodies; i++) {
        if (c->of[i]->colour == colour) {
            put_back(c->of[i]);
        }
    }
    return why;
}

// ---- the matrices

static double *entry(double *matrix, int columns, int row, int column)
{
    return matrix + (size_t)row * (size_t)columns + (size_t)column;
}

// ODE turns a body by the quaternion (1, u) / |(1, u)|, u = h w / 2. A turn before the step is
// turned with the body; a change of w adds h (I + [u]x) / (1 + u^2) of it.
static void add_turn(const component *c, int body, const double *change, const double *turn,
                     double *out)
{
    const double *w = c->pulled.solution.velocity[body] + 3;
    double u[3], across[3], R[9], turned[3] = {0}, square = 0;
    for (int k = 0; k < 3; k++) {
        u[k] = c->step * w[k] / 2;
        square += u[k] * u[k];
    }
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            R[3 * i + j] = (i == j ? 1 - square : 0) + 2 * u[i] * u[j];
        }
    }
    R[1] -= 2 * u[2], R[2] += 2 * u[1], R[3] += 2 * u[2];
    R[5] -= 2 * u[0], R[6] -= 2 * u[1], R[7] += 2 * u[0];
    mul33(R, turn, turned);
    cross3(u, change, across);
    for (int k = 0; k < 3; k++) {
        out[k] = (turned[k] + c->step * (change[k] + across[k])) / (1 + square);
    }
}

// Writes a column of A or B: `change` of the velocities at the end. own, state: the body and its
// state that the column is of; -1: a force.
static void write_column(const component *c, double *matrix, int columns, int column,
                         const double (*change)[6], int own, int state)
{
    for (int i = 0; i < c->bodies; i++) {
        double before[STATES] = {0}, after[STATES];
        if (i == own && state >= 0) {
            before[state] = 1;
        }
        for (int k = 0; k < 3; k++) {
            after[POSITION + k] = before[POSITION + k] + c->step * change[i][k];
        }
        add_turn(c, i, change[i] + 3, before + TURN, after + TURN);
        memcpy(after + VELOCITY, change[i], sizeof change[i]);
        for (int k = 0; k < STATES; k++) {
            *entry(matrix, columns, STATES * c->of[i]->of_user + k, column) = after[k];
        }
    }
}

static void write_B(component *c, double *B)
{
    for (int i = 0; i < c->bodies; i++) {
        for (int k = 0; k < FORCES; k++) {
            memset(c->column, 0, (size_t)c->bodies * sizeof *c->column);
            c->column[i][k] = c->step;
            sprag_derivative_solve(&c->derivative, c->column);
            write_column(c, B, FORCES * c->user_bodies, FORCES * c->of[i]->of_user + k,
                         (const double(*)[6])c->column, i, -1);
        }
    }
}

// A column of A from the change of the residual at a body and its neighbours. (The inverse of K
// times these would not do: rows are so stiff that its rounding errors count.)
static void write_A_column(component *c, double *A, int body, int state)
{
    memset(c->column, 0, (size_t)c->bodies * sizeof *c->column);
    for (int i = 0; i < c->bodies; i++) {
        if (c->adjacent[body * c->bodies + i]) {
            add_scaled(c->column[i], -1 / DISPLACEMENT, c->change[i], 6);
        }
    }
    sprag_derivative_solve(&c->derivative, c->column);
    write_column(c, A, STATES * c->user_bodies, STATES * c->of[body]->of_user + state,
                 (const double(*)[6])c->column, body, state);
}

// ---- colours

// Have two bodies a neighbour in common, or are they neighbours?
static bool mix(const component *c, int a, int b)
{
    for (int i = 0; i < c->bodies; i++) {
        if (c->adjacent[a * c->bodies + i] && c->adjacent[b * c->bodies + i]) {
            return true;
        }
    }
    return false;
}

static int colour_bodies(component *c)
{
    int colours = 0;
    for (int i = 0; i < c->bodies; i++) {
        int colour = 0;
        for (int j = 0; j < i; j++) { // starts again with the next colour
            if (c->of[j]->colour == colour && mix(c, i, j)) {
                colour++;
                j = -1;
            }
        }
        c->of[i]->colour = colour;
        colours = colour >= colours ? colour + 1 : colours;
    }
    return colours;
}

static const char *differentiate(component *c, double *A, double *B)
{
    const char *why = solve(c);
    if (why) {
        return why;
    }
    for (int i = 0; i < c->bodies; i++) {
        double most = dBodyGetMaxAngularSpeed(c->body[i]);
        if (norm3(c->pulled.solution.velocity[i] + 3) >= most) {
            return "a body turns at its greatest angular speed";
        }
    }
    write_B(c, B);
    int colours = colour_bodies(c);
    for (int colour = 0; colour < colours; colour++) {
        for (int state = 0; state < STATES; state++) {
            why = displaced_change(c, colour, state);
            if (why) {
                return why;
            }
            for (int i = 0; i < c->bodies; i++) {
                if (c->of[i]->colour == colour) {
                    write_A_column(c, A, i, state);
                }
            }
        }
    }
    return NULL;
}

// ---- all bodies

typedef struct whole {
    world_state *world;
    double step;
    subject *subject;
    int bodies;
    sprag_scratch scratch, component_scratch, trial_scratch;
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
        if (acting == 0 && tumbles(body, all->step)) {
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
    }
}

static bool make_component(component *c, whole *all, int leader)
{
    sprag_scratch *scratch = &all->component_scratch;
    int joints = 0;
    sprag_scratch_reset(scratch);
    *c = (component){.world = all->world,
                     .step = all->step,
                     .scratch = scratch,
                     .trial_scratch = &all->trial_scratch,
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
    c->change = SPRAG_TAKE(scratch, n, double[6]);
    c->column = SPRAG_TAKE(scratch, n, double[6]);
    return !scratch->failed;
}

static const char *read_component(component *c, whole *all, int leader)
{
    if (!make_component(c, all, leader)) {
        return "no memory";
    }
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
    for (int i = 0; i < c->contacts; i++) {
        if (!read_contact(&c->contact[i])) {
            return "a contact is not one that dCollide finds for its geoms";
        }
    }
    c->island = (ode_island){c->bodies, c->joints, c->body, c->joint};
    return NULL;
}

static const char *linearize_all(whole *all, const dBodyID *body, double *A, double *B)
{
    const char *why = NULL;
    size_t n = (size_t)all->bodies;
    all->subject = SPRAG_TAKE(&all->scratch, all->bodies, subject);
    if (!all->subject) {
        return "no memory";
    }
    for (int i = 0; i < all->bodies; i++) {
        all->subject[i] = (subject){.id = body[i], .leader = i, .of_user = i};
    }
    for (int i = 0; i < all->bodies && !why; i++) {
        why = check_body(all, i);
        if (!why) {
            save(&all->subject[i]);
        }
    }
    why = why ? why : unite_bodies(all);
    memset(A, 0, STATES * STATES * n * n * sizeof *A);
    memset(B, 0, STATES * FORCES * n * n * sizeof *B);
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
    if (world->settings.method->keeps_distance) {
        return world->settings.method->is_compliant
                   ? "method=ess integrates within the step and has no contact problem of a step: "
                     "use method=stribeck"
                   : "method=advance divides steps at contacts: use method=stribeck";
    }
    if (world->settings.stribeck.scheme != SPRAG_TWO_WAY) {
        return "stribeck.scheme=one-way solves two problems a step";
    }
    whole all = {.world = world, .step = step, .bodies = bodies};
    const char *why = linearize_all(&all, body, A, B);
    sprag_scratch_free(&all.scratch);
    sprag_scratch_free(&all.component_scratch);
    sprag_scratch_free(&all.trial_scratch);
    return why;
}
