// Geometric stiffness: joints under load stay together at any step.
//
// A joint's force f acts on a body at the lever r. The step keeps its direction, so a turn of the
// body changes its torque by [f][r] x turn: the body is on a spring of the stiffness
//     K = (f.r) 1 - r f', its symmetric part, summed over the joints of the body,
// that the step treats explicitly, and a spring with step^2 K > 4 I gains energy. So, where step^2
// K exceeds the inertia I, the excess A is added to it:
//     (I + A) w = I w* + A p + J' impulse,
// w* the free angular velocity, p the one that A holds on to (Tournier et al., Stable Constrained
// Dynamics, 2015; Andrews, Teichmann, Kovecses, Geometric Stiffness for Real-time Constrained
// Multibody Dynamics, 2017). p = 0 is the implicit spring, but it damps the swing of a whole chain.
// p = w before the step, w0, keeps the energy of everything as long as A is constant. So p is w0,
// scaled down by the root of the growth of A: its energy stays the same then. Inertia that is new
// holds on to rest, as links do that a rope jerks tight.
//
// The rows of such a joint also look ahead: they keep the anchors together at the end of the way on
// the circle about the joint, not of that on its tangent. load_energy.c sees to it that p and the
// look ahead bring no energy into the island.
//
// Forces are those of the last step. Where they grow so much within the step that A does not hold
// what they draw at (a load falls into a chain), the step is solved again with A from its own
// forces. Rows alone give the levers, whatever the joint: the angular part of a row is r x e, with
// its linear part e.
#include <math.h>
#include <string.h>

#include "island.h"
#include "island_constants.h"
#include "linalg.h"
#include "symmetric3.h"

typedef struct ode_load {
    double stiffness[9]; // N m, K
    double bound;        // N m, no eigenvalue of K is above it
    bool tight;          // step^2 K may exceed the inertia
    bool stiffened;      // inertia is added to the body
} load;

// A joint of bodies that may be drawn tight.
typedef struct tight_joint {
    sprag_row *row;
    const double *force; // N, N m, of each row
    int rows, linear;    // all, and those with a linear part
    double lever[2][3];  // m, centre of the body to the anchor
    bool distance;       // a single one, of a joint that holds a distance
} tight_joint;

// ---- one joint

static int rows_of_joint(const ode_problem *pulled, int first)
{
    int end = first + 1;
    while (end < pulled->joint_rows && pulled->row_joint[end] == pulled->row_joint[first]) {
        end++;
    }
    return end - first;
}

// The linear parts of a joint's rows are unit vectors e at right angles to one another. Of a single
// one the lever is not known along it, and nothing else counts: ODE knows it of joints that hold a
// distance, others are left out.

// Adds |f| |r|: each part of r is in all of r x e but one.
static void add_bounds(const ode_problem *pulled, load *loads, int first, const double *row_force,
                       int rows)
{
    const sprag_row *row = &pulled->row[first];
    double force[3] = {0}, square[2] = {0}, lever[3];
    int linear = 0;
    for (int i = 0; i < rows; i++) {
        const double(*J)[6] = row[i].jacobian;
        if (dot3(J[0], J[0]) > 0) {
            add_scaled(force, row_force[i], J[0], 3);
            square[0] += dot3(J[0] + 3, J[0] + 3);
            square[1] += dot3(J[1] + 3, J[1] + 3);
            linear++;
        }
    }
    double scale = linear > 0 ? dot3(force, force) / fmax(1, linear - 1) : 0;
    for (int side = 0; side < 2 && linear == 1 && scale > 0; side++) {
        square[side] =
            sprag_ode_lever_of_distance(pulled, first, side, lever) ? dot3(lever, lever) : 0;
    }
    for (int side = 0; side < 2 && scale > 0; side++) {
        if (row->body[side] != SPRAG_STATIC) {
            loads[row->body[side]].bound += sqrt(scale * square[side]);
        }
    }
}

// sum e x (r x e) is 2 r for three rows, and r + (n.r) n for two of normal n.
static void find_lever(const ode_problem *pulled, tight_joint *joint, int side)
{
    double *r = joint->lever[side], normal[3] = {0}, part[3];
    const double *before = NULL;
    int linear = 0;
    for (int i = 0; i < joint->rows; i++) {
        const double *e = joint->row[i].jacobian[side];
        if (dot3(e, e) > 0) {
            cross3(e, e + 3, part);
            add_scaled(r, 1, part, 3);
            if (linear++ == 1) {
                cross3(before, e, normal);
            }
            before = e;
        }
    }
    double share = linear == 2 ? 0.5 * dot3(normal, r) : 0;
    for (int k = 0; k < 3; k++) {
        r[k] = linear == 2 ? r[k] - share * normal[k] : 0.5 * r[k];
    }
    if (linear == 1) {
        joint->distance =
            sprag_ode_lever_of_distance(pulled, (int)(joint->row - pulled->row), side, r);
    }
    joint->linear = linear;
}

static bool has_lever(const tight_joint *joint)
{
    return joint->linear > 1 || joint->distance;
}

static void add_stiffness(load *to, const tight_joint *joint, int side)
{
    const double *lever = joint->lever[side];
    double force[3] = {0};
    for (int i = 0; i < joint->rows; i++) {
        add_scaled(force, joint->force[i], joint->row[i].jacobian[side], 3);
    }
    double along = dot3(force, lever);
    for (int i = 0; i < 3; i++) {
        to->stiffness[4 * i] += along;
        for (int k = 0; k < 3; k++) {
            to->stiffness[3 * i + k] -= 0.5 * (lever[i] * force[k] + force[i] * lever[k]);
        }
    }
}

// ---- one body

// A = sum of (mu - 1)(L u)(L u)' over the eigenpairs mu > 1 of L^-1 S L^-T, with
// S = step^2 K and the inertia L L'. Returns its trace.
static double excess(const double *inertia, const double *S, double A[9])
{
    double I[9], L[9], inverse[9], half[9], scaled[9], mu[3], u[9], trace = 0;
    memset(A, 0, 9 * sizeof *A);
    memcpy(I, inertia, sizeof I);
    sprag_symmetrise3(I, 3);
    for (int i = 0; i < 9; i++) {
        scaled[i] = I[i] - S[i];
    }
    if (sprag_cholesky3(scaled, L) || !sprag_cholesky3(I, L) || invert33(L, inverse) == 0) {
        return 0; // all mu < 1
    }
    for (int i = 0; i < 3; i++) { // rows of L^-1 S, which are columns of S L^-T
        mul33(S, inverse + 3 * i, half + 3 * i);
    }
    for (int i = 0; i < 9; i++) {
        scaled[i] = dot3(inverse + i / 3 * 3, half + i % 3 * 3);
    }
    sprag_eigen3(scaled, mu, u);
    for (int k = 0; k < 3; k++) {
        double x[3], over = fmin(mu[k], load_most) - 1;
        if (over > 0) {
            mul33(L, u + 3 * k, x);
            for (int i = 0; i < 3; i++) {
                add_scaled(A + 3 * i, over * x[i], x, 3);
            }
            trace += over * dot3(x, x);
        }
    }
    return trace;
}

// No eigenvalue is below it.
static double least_moment(const double *I)
{
    double minors =
        I[0] * I[4] - I[1] * I[3] + I[0] * I[8] - I[2] * I[6] + I[4] * I[8] - I[5] * I[7];
    double det = I[0] * (I[4] * I[8] - I[5] * I[7]) - I[1] * (I[3] * I[8] - I[5] * I[6]) +
                 I[2] * (I[3] * I[7] - I[4] * I[6]);
    return det / minors;
}

// A turn of a radian a step says nothing about the next one.
static double fade(const double w[3], double step)
{
    return fmax(0, 1 - step * step * dot3(w, w));
}

// added_before: trace of A in the last step; 0: A holds on to rest. false: the body is not loaded
// so much.
static bool stiffen(sprag_body *body, const double *S, double added_before, double step,
                    ode_tight *tight)
{
    double sum[9], inverse[9], part[3], *free = body->free_velocity + 3;
    tight->trace = excess(body->inertia, S, tight->added);
    for (int i = 0; i < 9; i++) {
        sum[i] = body->inertia[i] + tight->added[i];
    }
    if (!(tight->trace > 0) || invert33(sum, inverse) == 0) {
        return false;
    }
    memcpy(tight->inertia, body->inertia, sizeof tight->inertia);
    memcpy(tight->free, free, sizeof tight->free);
    double share = sqrt(fmin(1, added_before / tight->trace)) * fade(body->velocity + 3, step);
    for (int k = 0; k < 3; k++) {
        tight->hold[k] = share * body->velocity[3 + k];
    }
    mul33(body->inertia, free, part);
    mul33(inverse, part, tight->released);
    mul33(tight->added, tight->hold, part);
    mul33(inverse, part, free);
    add_scaled(free, 1, tight->released, 3);
    memcpy(body->inertia, sum, sizeof sum);
    return true;
}

// ---- rows that look ahead

// In a step an anchor goes by step (v + w x r) + step^2/2 w x (w x r).
static void look_ahead(const ode_problem *pulled, const tight_joint *joint, int side,
                       const double *w)
{
    double velocity[3], acceleration[3];
    cross3(w, joint->lever[side], velocity);
    cross3(w, velocity, acceleration);
    double step = pulled->problem.step, half = 0.5 * step * fade(w, step);
    for (int i = 0; i < joint->rows; i++) {
        sprag_row *row = &joint->row[i];
        double ahead = -half * dot3(row->jacobian[side], acceleration);
        pulled->ahead[row - pulled->row] += ahead;
        row->bias += ahead;
    }
}

static void look_ahead_of_joint(const ode_problem *pulled, const load *loads,
                                const tight_joint *joint)
{
    const int *body = joint->row->body;
    bool tight = false, slides = joint->linear < 3; // then the circle is not all of the way
    for (int side = 0; side < 2 && !slides; side++) {
        tight |= body[side] != SPRAG_STATIC && loads[body[side]].stiffened;
    }
    for (int side = 0; side < 2 && tight; side++) {
        if (body[side] != SPRAG_STATIC) {
            look_ahead(pulled, joint, side, pulled->body[body[side]].velocity + 3);
        }
    }
}

// ---- the island

// force: N, N m, of each row. Returns the number of joints.
static int find_bounds(const ode_problem *pulled, const double *force, load *loads)
{
    int joints = 0;
    for (int i = 0, rows; i < pulled->joint_rows; i += rows, joints++) {
        rows = rows_of_joint(pulled, i);
        add_bounds(pulled, loads, i, force + i, rows);
    }
    return joints;
}

// Returns whether a body may be drawn tight.
static bool mark_bodies(const ode_problem *pulled, load *loads)
{
    double square = pulled->problem.step * pulled->problem.step;
    bool any = false;
    for (int i = 0; i < pulled->problem.bodies; i++) {
        const sprag_body *body = &pulled->body[i];
        loads[i].tight = body->mass > 0 && loads[i].bound > 0 &&
                         square * loads[i].bound > least_moment(body->inertia);
        any |= loads[i].tight;
    }
    return any;
}

static bool is_tight(const load *loads, int body)
{
    return body != SPRAG_STATIC && loads[body].tight;
}

// Lists the joints of such bodies, and adds up their stiffness. Returns their number.
static int add_loads(const ode_problem *pulled, const double *force, load *loads,
                     tight_joint *joint)
{
    int count = 0;
    for (int i = 0, rows; i < pulled->joint_rows; i += rows) {
        const int *body = pulled->row[i].body;
        rows = rows_of_joint(pulled, i);
        joint[count] = (tight_joint){.row = &pulled->row[i], .force = force + i, .rows = rows};
        if (is_tight(loads, body[0]) || is_tight(loads, body[1])) {
            for (int side = 0; side < 2; side++) {
                if (body[side] != SPRAG_STATIC) {
                    find_lever(pulled, &joint[count], side);
                }
                if (is_tight(loads, body[side]) && has_lever(&joint[count])) {
                    add_stiffness(&loads[body[side]], &joint[count], side);
                }
            }
            count += has_lever(&joint[count]);
        }
    }
    return count;
}

static void stiffen_bodies(ode_problem *pulled, const ode_warm_start *warm_start, load *loads)
{
    double square = pulled->problem.step * pulled->problem.step, added;
    for (int i = 0; i < pulled->problem.bodies; i++) {
        if (loads[i].tight) {
            ode_tight *tight = &pulled->tight[pulled->tights];
            tight->body = i;
            for (int k = 0; k < 9; k++) {
                loads[i].stiffness[k] *= square;
            }
            sprag_ode_warm_start_added(warm_start, pulled->island.body[i], &added, &tight->stored);
            loads[i].stiffened = stiffen(&pulled->body[i], loads[i].stiffness,
                                         pulled->grown ? 0 : added, pulled->problem.step, tight);
            pulled->tights += loads[i].stiffened;
        }
    }
}

void sprag_ode_stiffen(ode_problem *pulled, const ode_warm_start *warm_start,
                       sprag_scratch *scratch)
{
    load *loads = SPRAG_TAKE(scratch, pulled->problem.bodies, load);
    double *force = SPRAG_TAKE_RAW(scratch, pulled->problem.rows, double);
    for (int i = 0; force && i < pulled->problem.rows; i++) {
        force[i] = pulled->row[i].guess;
    }
    if (!loads || !force) {
        return;
    }
    pulled->load = loads;
    pulled->ahead = SPRAG_TAKE(scratch, pulled->problem.rows + 2 * pulled->distances, double);
    int joints = find_bounds(pulled, force, loads);
    if (mark_bodies(pulled, loads)) {
        tight_joint *joint = SPRAG_TAKE_RAW(scratch, joints + 1, tight_joint);
        pulled->tight = SPRAG_TAKE_RAW(scratch, pulled->problem.bodies, ode_tight);
        if (scratch->failed) {
            return;
        }
        joints = add_loads(pulled, force, loads, joint);
        stiffen_bodies(pulled, warm_start, loads);
        for (int i = 0; i < joints && pulled->tights > 0 && !pulled->grown; i++) {
            look_ahead_of_joint(pulled, loads, &joint[i]);
        }
    }
    if (pulled->distances > 0) {
        sprag_ode_hold_distances(pulled, warm_start, scratch);
    }
}

// ---- loads that grow within the step

// Bodies whose stiffness may exceed `load_growth` of their inertia. A body that nothing has drawn
// at in the last step is left out: its joints are new, and what they mend first are errors.
static bool mark_grown_bodies(const ode_problem *pulled, load *loads)
{
    double square = pulled->problem.step * pulled->problem.step;
    bool any = false;
    for (int i = 0; i < pulled->problem.bodies; i++) {
        const sprag_body *body = &pulled->body[i];
        const double *I = body->inertia;
        loads[i].tight = body->mass > 0 && pulled->load[i].bound > 0 &&
                         2 * square * loads[i].bound > load_growth * (I[0] + I[4] + I[8]);
        any |= loads[i].tight;
    }
    return any;
}

bool sprag_ode_loads_have_grown(const ode_problem *pulled, sprag_scratch *scratch)
{
    const double *force = pulled->solution.row_force;
    if (sprag_ode_distances_have_grown(pulled)) {
        return true;
    }
    load *loads = pulled->load ? SPRAG_TAKE(scratch, pulled->problem.bodies, load) : NULL;
    int joints = loads ? find_bounds(pulled, force, loads) : 0;
    if (!loads || !mark_grown_bodies(pulled, loads)) {
        return false;
    }
    tight_joint *joint = SPRAG_TAKE_RAW(scratch, joints + 1, tight_joint);
    if (!joint) {
        return false;
    }
    add_loads(pulled, force, loads, joint);
    double square = pulled->problem.step * pulled->problem.step;
    bool any = false;
    for (int i = 0; i < pulled->problem.bodies && !any; i++) {
        const double *K = loads[i].stiffness, *I = pulled->body[i].inertia;
        any = square * (K[0] + K[4] + K[8]) > load_growth * (I[0] + I[4] + I[8]);
    }
    return any;
}

void sprag_ode_stiffen_again(ode_problem *pulled, const ode_warm_start *warm_start,
                             sprag_scratch *scratch)
{
    for (int i = 0; i < pulled->tights; i++) {
        const ode_tight *tight = &pulled->tight[i];
        sprag_body *body = &pulled->body[tight->body];
        memcpy(body->inertia, tight->inertia, sizeof body->inertia);
        memcpy(body->free_velocity + 3, tight->free, sizeof tight->free);
    }
    for (int i = 0; i < pulled->joint_rows; i++) {
        pulled->row[i].bias -= pulled->ahead[i];
    }
    pulled->tights = pulled->tauts = 0;
    pulled->problem.rows = pulled->joint_rows;
    pulled->grown = true;
    sprag_ode_stiffen(pulled, warm_start, scratch);
}
