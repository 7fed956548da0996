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
// look ahead bring no energy into the island. With `arcs`, all joints look ahead.
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
    double stiffness[9]; // N m, K; of a body that is `tight`
    double bound;        // N m, no eigenvalue of K is above it
    bool tight;          // step^2 K may exceed the inertia
    bool stiffened;      // inertia is added to the body
    // of the turn within the step, by look_ahead():
    const double *axis;  // about which it spins fast; NULL: it does not
    double w[3];         // rad/s, its angular velocity, without such a spin
    double sine, inward; // see turn_of_step
} load;

// A joint with a lever: its rows have two linear parts or more, or hold a distance.
typedef struct ode_loaded_joint {
    sprag_row *row;
    int rows, linear;   // all, and those with a linear part
    double lever[2][3]; // m, centre of the body to the anchor; 0 of the world's
    double length[2];   // m, of the levers
    double force[3];    // N, on body[0]
} loaded_joint;

// ---- one joint

static int rows_of_joint(const ode_problem *pulled, int first)
{
    int end = first + 1;
    while (end < pulled->joint_rows && pulled->row_joint[end] == pulled->row_joint[first]) {
        end++;
    }
    return end - first;
}

static bool is_linear(const double e[3])
{
    return e[0] != 0 || e[1] != 0 || e[2] != 0;
}

void sprag_ode_lever_of_rows(const double (*const *jacobian)[6], int rows, int side, double r[3])
{
    double x = 0, y = 0, z = 0;
    for (int i = 0; i < rows; i++) {
        const double *e = jacobian[i][side], *m = e + 3;
        x += e[1] * m[2] - e[2] * m[1];
        y += e[2] * m[0] - e[0] * m[2];
        z += e[0] * m[1] - e[1] * m[0];
    }
    r[0] = 0.5 * x, r[1] = 0.5 * y, r[2] = 0.5 * z;
}

// The linear parts of a joint's rows are unit vectors e at right angles to one another. The sum of
// e x (r x e) is 2 r for three of them, and r + (n.r) n for two of normal n. Of a single one the
// lever is not known along it, and nothing else counts: ODE knows it of joints that hold a
// distance, others have none.
static bool find_levers(const ode_problem *pulled, int first, loaded_joint *joint)
{
    const double(*linear[ODE_ROWS_MAX])[6];
    int count = 0;
    for (int i = 0; i < joint->rows; i++) {
        if (is_linear(joint->row[i].jacobian[0])) {
            linear[count++] = joint->row[i].jacobian;
        }
    }
    joint->linear = count;
    bool any = count > 1;
    for (int side = 0; side < 2; side++) {
        double *r = joint->lever[side], normal[3];
        sprag_ode_lever_of_rows(linear, count, side, r);
        if (count == 2) {
            cross3(linear[0][side], linear[1][side], normal);
            add_scaled(r, 1, r, 3);
            add_scaled(r, -0.5 * dot3(normal, r), normal, 3);
        } else if (count == 1) {
            memset(r, 0, 3 * sizeof *r);
            any |= sprag_ode_lever_of_distance(pulled, first, side, r);
        }
        joint->length[side] = norm3(r);
    }
    return any;
}

// By Newton's third law the second body has the opposite one.
static void find_force(const ode_problem *pulled, loaded_joint *joint, const double *row_force)
{
    const double *of = row_force + (joint->row - pulled->row);
    double x = 0, y = 0, z = 0;
    for (int i = 0; i < joint->rows; i++) {
        const double *e = joint->row[i].jacobian[0];
        x += of[i] * e[0], y += of[i] * e[1], z += of[i] * e[2];
    }
    joint->force[0] = x, joint->force[1] = y, joint->force[2] = z;
}

// K of one joint, on its body of a side.
static void add_stiffness(load *to, const loaded_joint *joint, int side)
{
    const double *r = joint->lever[side], *f = joint->force;
    double sign = side ? -1 : 1, half = -0.5 * sign, *K = to->stiffness;
    double along[3] = {sign * r[0] * f[0], sign * r[1] * f[1], sign * r[2] * f[2]};
    double yz = half * (r[1] * f[2] + r[2] * f[1]);
    double zx = half * (r[2] * f[0] + r[0] * f[2]);
    double xy = half * (r[0] * f[1] + r[1] * f[0]);
    K[0] += along[1] + along[2], K[1] += xy, K[2] += zx;
    K[3] += xy, K[4] += along[0] + along[2], K[5] += yz;
    K[6] += zx, K[7] += yz, K[8] += along[0] + along[1];
}

// ---- one body

// A = the positive part of step^2 K - I, with the inertia I: then I + A is no less than step^2 K,
// up to what counts about each of its axes. Returns its trace.
static double excess(const double *inertia, const double *K, double step, double A[9])
{
    double I[9], over[9], value[3], u[9], trace = 0;
    memcpy(I, inertia, sizeof I);
    sprag_symmetrise3(I, 3);
    for (int i = 0; i < 9; i++) {
        over[i] = step * step * K[i] - I[i];
    }
    memset(A, 0, 9 * sizeof *A);
    sprag_eigen3(over, value, u);
    for (int k = 0; k < 3; k++) {
        const double *axis = u + 3 * k;
        double along[3], added = value[k];
        if (added > 0) {
            mul33(I, axis, along);
            double most = load_most * dot3(axis, along);
            added = added < most ? added : most;
            for (int i = 0; i < 3; i++) {
                add_scaled(A + 3 * i, added * axis[i], axis, 3);
            }
            trace += added;
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

// added_before: trace of A in the last step; 0: A holds on to rest. false: the body is not loaded
// so much.
static bool stiffen(sprag_body *body, const double *K, double added_before, double step,
                    ode_tight *tight)
{
    double sum[9], inverse[9], part[3], pull[3], *free = body->free_velocity + 3;
    tight->trace = excess(body->inertia, K, step, tight->added);
    for (int i = 0; i < 9; i++) {
        sum[i] = body->inertia[i] + tight->added[i];
    }
    if (!(tight->trace > 0) || invert33(sum, inverse) == 0) {
        return false;
    }
    memcpy(tight->inertia, body->inertia, sizeof tight->inertia);
    memcpy(tight->free, free, sizeof tight->free);
    double share = added_before < tight->trace ? sqrt(added_before / tight->trace) : 1;
    for (int k = 0; k < 3; k++) {
        tight->hold[k] = share * body->velocity[3 + k];
    }
    subtract3(tight->hold, free, part);
    mul33(tight->added, part, pull);
    mul33(inverse, pull, part);
    add_scaled(free, 1, part, 3);
    memcpy(body->inertia, sum, sizeof sum);
    return true;
}

void sprag_ode_release(sprag_body *body, const ode_tight *tight)
{
    double inverse[9], part[3], pull[3];
    if (invert33(body->inertia, inverse) == 0) {
        return;
    }
    mul33(tight->added, tight->hold, part);
    mul33(inverse, part, pull);
    add_scaled(body->free_velocity + 3, -1, pull, 3);
}

// ---- rows that look ahead

// A step turns a body about w by an angle whose sine is sine step |w|, and cosine
// 1 - inward step |w|^2: ODE does by Cayley's map, in its finite mode, and about the axis of a fast
// spin, by the exponential.
static void turn_of_step(load *to, double step, bool finite)
{
    double square = step * step * dot3(to->w, to->w);
    to->sine = 1 / (1 + 0.25 * square);
    to->inward = 0.5 * step * to->sine;
    if (finite && square > 1e-6) {
        double angle = sqrt(square);
        to->sine = sin(angle) / angle;
        to->inward = step * (1 - cos(angle)) / square;
    }
}

// In a step an anchor goes by step (v + w x r), and by the rest of the turn of r. Adds that,
// divided by the step. A body that spins fast turns its anchor on the axis by the rest of w.
static void add_way(const load *of, const double r[3], double sign, double way[3])
{
    const double *w = of->w, rest = sign * (of->sine - 1), inward = sign * of->inward;
    const double along = inward * dot3(w, r), back = -inward * dot3(w, w);
    double velocity[3];
    cross3(w, r, velocity);
    for (int k = 0; k < 3; k++) {
        way[k] += rest * velocity[k] + along * w[k] + back * r[k];
    }
}

// m/s, at which the anchors part, without what mends their gap.
static void find_rate(const ode_problem *pulled, const loaded_joint *joint, double rate[3])
{
    for (int i = 0; i < joint->rows; i++) {
        const sprag_row *row = &joint->row[i];
        double sum = -row->bias;
        for (int side = 0; side < 2; side++) {
            if (row->body[side] != SPRAG_STATIC) {
                sum += dot6(row->jacobian[side], pulled->body[row->body[side]].velocity);
            }
        }
        add_scaled(rate, sum, row->jacobian[0], 3);
    }
}

// load_energy.c does not watch islands where nothing is under load. Joints that are not go a share
// of their way, and no farther than their anchors part at the start, as those of bodies on a circle
// do after a step on its tangent.
static double share_of_way(const ode_problem *pulled, const loaded_joint *joint,
                           const double way[3])
{
    double rate[3] = {0}, square = dot3(way, way);
    find_rate(pulled, joint, rate);
    double along = dot3(rate, way);
    return along > load_arc * square ? load_arc : along > 0 ? along / square : 0;
}

static void look_ahead_of_joint(const ode_problem *pulled, const loaded_joint *joint)
{
    const int *body = joint->row->body;
    const load *loads = pulled->load;
    double way[3] = {0};
    bool tight = false, slides = joint->linear < 3; // then the circle is not all of the way
    for (int side = 0; side < 2; side++) {
        tight |= body[side] != SPRAG_STATIC && loads[body[side]].stiffened;
    }
    if (slides || !(tight || pulled->arcs)) {
        return;
    }
    for (int side = 0; side < 2; side++) {
        if (body[side] != SPRAG_STATIC) {
            add_way(&loads[body[side]], joint->lever[side], side ? -1 : 1, way);
        }
    }
    double share = tight ? 1 : share_of_way(pulled, joint, way);
    double *ahead = pulled->ahead + (joint->row - pulled->row);
    for (int i = 0; i < joint->rows; i++) {
        ahead[i] = -share * dot3(joint->row[i].jacobian[0], way);
        joint->row[i].bias += ahead[i];
    }
}

// ---- the island

// false: no memory.
static bool find_joints(ode_problem *pulled, sprag_scratch *scratch)
{
    int joints = 0;
    for (int i = 0; i < pulled->joint_rows; i++) {
        joints += i == 0 || pulled->row_joint[i] != pulled->row_joint[i - 1];
    }
    pulled->loaded = SPRAG_TAKE_RAW(scratch, joints, loaded_joint);
    for (int i = 0, rows; i < pulled->joint_rows && pulled->loaded; i += rows) {
        rows = rows_of_joint(pulled, i);
        loaded_joint *joint = &pulled->loaded[pulled->loadeds];
        joint->row = &pulled->row[i];
        joint->rows = rows;
        pulled->loadeds += find_levers(pulled, i, joint);
    }
    return pulled->loaded;
}

// row_force: N, N m, of each row.
static void find_bounds(const ode_problem *pulled, const double *row_force, load *loads)
{
    for (int i = 0; i < pulled->problem.bodies; i++) {
        loads[i].bound = 0;
    }
    for (int i = 0; i < pulled->loadeds; i++) {
        loaded_joint *joint = &pulled->loaded[i];
        find_force(pulled, joint, row_force);
        double size = norm3(joint->force);
        for (int side = 0; side < 2; side++) {
            if (joint->row->body[side] != SPRAG_STATIC) {
                loads[joint->row->body[side]].bound += size * joint->length[side];
            }
        }
    }
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
        loads[i].stiffened = false;
        any |= loads[i].tight;
    }
    return any;
}

static bool is_tight(const load *loads, int body)
{
    return body != SPRAG_STATIC && loads[body].tight;
}

// Adds up the stiffness of such bodies.
static void add_loads(const ode_problem *pulled, load *loads)
{
    for (int i = 0; i < pulled->problem.bodies; i++) {
        if (loads[i].tight) {
            memset(loads[i].stiffness, 0, sizeof loads[i].stiffness);
        }
    }
    for (int i = 0; i < pulled->loadeds; i++) {
        const loaded_joint *joint = &pulled->loaded[i];
        const int *body = joint->row->body;
        for (int side = 0; side < 2; side++) {
            if (is_tight(loads, body[side])) {
                add_stiffness(&loads[body[side]], joint, side);
            }
        }
    }
}

static void stiffen_bodies(ode_problem *pulled, const ode_warm_start *warm_start, load *loads)
{
    double added;
    for (int i = 0; i < pulled->problem.bodies; i++) {
        if (loads[i].tight) {
            ode_tight *tight = &pulled->tight[pulled->tights];
            tight->body = i;
            sprag_ode_warm_start_added(warm_start, pulled->island.body[i], &added, &tight->stored);
            loads[i].stiffened = stiffen(&pulled->body[i], loads[i].stiffness,
                                         pulled->grown ? 0 : added, pulled->problem.step, tight);
            pulled->tights += loads[i].stiffened;
        }
    }
}

static void look_ahead(ode_problem *pulled)
{
    for (int i = 0; i < pulled->problem.bodies; i++) {
        pulled->load[i].axis = NULL;
    }
    for (int i = 0; i < pulled->spins; i++) {
        pulled->load[pulled->spin[i].body].axis = pulled->spin[i].axis;
    }
    for (int i = 0; i < pulled->problem.bodies; i++) {
        load *to = &pulled->load[i];
        memcpy(to->w, pulled->body[i].velocity + 3, sizeof to->w);
        if (to->axis) {
            add_scaled(to->w, -dot3(to->axis, to->w), to->axis, 3);
        }
        bool finite = to->axis || dBodyGetFiniteRotationMode(pulled->island.body[i]);
        turn_of_step(to, pulled->problem.step, finite);
    }
    for (int i = 0; i < pulled->loadeds; i++) {
        look_ahead_of_joint(pulled, &pulled->loaded[i]);
    }
}

void sprag_ode_stiffen(ode_problem *pulled, const ode_warm_start *warm_start,
                       sprag_scratch *scratch)
{
    load *loads = SPRAG_TAKE_RAW(scratch, pulled->problem.bodies, load);
    double *force = SPRAG_TAKE_RAW(scratch, pulled->joint_rows, double);
    if (!loads || !force || (!pulled->loaded && !find_joints(pulled, scratch))) {
        return;
    }
    for (int i = 0; i < pulled->joint_rows; i++) {
        force[i] = pulled->row[i].guess;
    }
    pulled->load = loads;
    pulled->ahead = SPRAG_TAKE(scratch, pulled->problem.rows + 2 * pulled->distances, double);
    if (scratch->failed) {
        return;
    }
    find_bounds(pulled, force, loads);
    bool any = mark_bodies(pulled, loads);
    if (any) {
        pulled->tight = SPRAG_TAKE_RAW(scratch, pulled->problem.bodies, ode_tight);
        if (scratch->failed) {
            return;
        }
        add_loads(pulled, loads);
        stiffen_bodies(pulled, warm_start, loads);
    }
    if ((any || pulled->arcs) && !pulled->grown) {
        look_ahead(pulled);
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
    load *loads = pulled->load ? SPRAG_TAKE_RAW(scratch, pulled->problem.bodies, load) : NULL;
    if (!loads) {
        return false;
    }
    find_bounds(pulled, force, loads);
    if (!mark_grown_bodies(pulled, loads)) {
        return false;
    }
    add_loads(pulled, loads);
    double square = pulled->problem.step * pulled->problem.step;
    bool any = false;
    for (int i = 0; i < pulled->problem.bodies && !any; i++) {
        const double *K = loads[i].stiffness, *I = pulled->body[i].inertia;
        any = loads[i].tight && square * (K[0] + K[4] + K[8]) > load_growth * (I[0] + I[4] + I[8]);
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
