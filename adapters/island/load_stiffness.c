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
// the circle about the joint, not of that on its tangent. So do, by a part, the other joints of the
// island: a light body that a load swings opens its own. load_energy.c sees to it that p and the
// look ahead bring no energy into the island. With `arcs`, the joints of all islands look ahead.
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
    double moment[9];   // N m, the sum of r f': K = its trace less its symmetric part
    bool drawn;         // a joint has drawn at the body in the last step
    bool stiffened;     // inertia is added to the body
    const double *axis; // about which it spins fast; NULL: it does not
    double turn[9];     // 1/s, of the turn within the step: turn_of_step()
} load;

// A joint with a lever: its rows have two linear parts or more, or hold a distance.
typedef struct ode_loaded_joint {
    sprag_row *row;
    int rows, linear;               // all, and those with a linear part
    double lever[2][3];             // m, centre of the body to the anchor; 0 of the world's
    enum { NO_ARC, PART, ARC } arc; // how far it looks ahead
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

void sprag_ode_lever_of_rows(const sprag_row *row, int side, double r[3])
{
    double x = 0, y = 0, z = 0;
    for (int i = 0; i < 3; i++) {
        const double *e = row[i].jacobian[side], *m = e + 3;
        x += e[1] * m[2], y += e[2] * m[0], z += e[0] * m[1];
    }
    r[0] = x, r[1] = y, r[2] = z;
}

// The sum of e x (r x e) is r + (n.r) n for two of normal n.
static void find_lever_of_two(const double *a, const double *b, double r[3])
{
    double part[3], normal[3];
    cross3(a, a + 3, r);
    cross3(b, b + 3, part);
    add_scaled(r, 1, part, 3);
    cross3(a, b, normal);
    add_scaled(r, -0.5 * dot3(normal, r), normal, 3);
}

// The rows of a joint that have linear parts follow one another. The parts are unit vectors e at
// right angles to one another. Of a single one the lever is not known along it, and nothing else
// counts: ODE knows it of joints that hold a distance, others have none.
static bool find_levers(const ode_problem *pulled, int first, loaded_joint *joint)
{
    const sprag_row *row = joint->row, *end = row + joint->rows;
    int linear = 0;
    while (row < end && !is_linear(row->jacobian[0])) {
        row++;
    }
    while (row + linear < end && is_linear(row[linear].jacobian[0])) {
        linear++;
    }
    joint->linear = linear;
    bool any = linear > 1;
    for (int side = 0; side < 2; side++) {
        double *r = joint->lever[side];
        if (linear == 3) {
            sprag_ode_lever_of_rows(row, side, r);
        } else if (linear == 2) {
            find_lever_of_two(row[0].jacobian[side], row[1].jacobian[side], r);
        } else {
            memset(r, 0, 3 * sizeof *r);
            any |= linear == 1 && sprag_ode_lever_of_distance(pulled, first, side, r);
        }
    }
    return any;
}

// N, on the first body of a joint. row_force: of all rows; NULL: those of the last step.
static void find_force(const ode_problem *pulled, const loaded_joint *joint,
                       const double *row_force, double force[3])
{
    const double *of = row_force ? row_force + (joint->row - pulled->row) : NULL;
    double x = 0, y = 0, z = 0;
    for (int i = 0; i < joint->rows; i++) {
        const double *e = joint->row[i].jacobian[0], f = of ? of[i] : joint->row[i].guess;
        x += f * e[0], y += f * e[1], z += f * e[2];
    }
    force[0] = x, force[1] = y, force[2] = z;
}

// ---- one body

// No eigenvalue is below it.
static double least_moment(const double *I)
{
    double minors =
        I[0] * I[4] - I[1] * I[3] + I[0] * I[8] - I[2] * I[6] + I[4] * I[8] - I[5] * I[7];
    double det = I[0] * (I[4] * I[8] - I[5] * I[7]) - I[1] * (I[3] * I[8] - I[5] * I[6]) +
                 I[2] * (I[3] * I[7] - I[4] * I[6]);
    return det / minors;
}

// Whether an eigenvalue of square K may exceed `least`. Those of K are sums of two of the moment's
// symmetric part.
static bool may_exceed(const double *moment, double square, double least)
{
    double sum = 0;
    for (int i = 0; i < 9; i++) {
        sum += moment[i] * moment[i];
    }
    return 2 * sum * square * square > least * least;
}

// A = the positive part of square K - I, with the inertia I: then I + A is no less than square K,
// up to what counts about each of its axes. Returns its trace.
static double excess(const double *I, double least, const double *moment, double square,
                     double A[9])
{
    double over[9], value[3], u[9], trace = 0;
    const double all = moment[0] + moment[4] + moment[8];
    for (int i = 0; i < 3; i++) {
        over[4 * i] = square * (all - moment[4 * i]) - I[4 * i];
    }
    over[1] = -0.5 * (square * (moment[1] + moment[3]) + I[1] + I[3]);
    over[2] = -0.5 * (square * (moment[2] + moment[6]) + I[2] + I[6]);
    over[5] = -0.5 * (square * (moment[5] + moment[7]) + I[5] + I[7]);
    memset(A, 0, 9 * sizeof *A);
    sprag_eigen3(over, value, u);
    for (int k = 0; k < 3; k++) {
        const double *axis = u + 3 * k;
        double along[3], added = value[k];
        if (added > load_most * least) {
            mul33(I, axis, along);
            added = fmin(added, load_most * dot3(axis, along));
        }
        if (added > 0) {
            for (int i = 0; i < 3; i++) {
                add_scaled(A + 3 * i, added * axis[i], axis, 3);
            }
            trace += added;
        }
    }
    return trace;
}

// added_before: trace of A in the last step; 0: A holds on to rest. false: the body is not loaded
// so much.
static bool stiffen(sprag_body *body, double least, const double *moment, double square,
                    double added_before, ode_tight *tight)
{
    double sum[9], inverse[9], part[3], pull[3], *free = body->free_velocity + 3;
    tight->trace = excess(body->inertia, least, moment, square, tight->added);
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

// In a step h, a point at r from the centre goes by h (v + w x r + W r). The turn about w is by an
// angle whose sine is sine h |w|, and cosine 1 - inward h |w|^2: ODE does by Cayley's map, in its
// finite mode, and about the axis of a fast spin, by the exponential. A body that spins fast turns
// its anchor on the axis by the rest of w.
static void turn_of_step(load *to, const double *velocity, double step, bool finite)
{
    double w[3] = {velocity[0], velocity[1], velocity[2]};
    if (to->axis) {
        add_scaled(w, -dot3(to->axis, w), to->axis, 3);
    }
    double speed = dot3(w, w), square = step * step * speed, *W = to->turn;
    double sine = 1 / (1 + 0.25 * square), inward = 0.5 * step * sine;
    if (finite && square > 1e-6) {
        double angle = sqrt(square);
        sine = sin(angle) / angle;
        inward = step * (1 - cos(angle)) / square;
    }
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) {
            W[3 * i + k] = inward * w[i] * w[k];
        }
        W[4 * i] -= inward * speed;
    }
    double x = (sine - 1) * w[0], y = (sine - 1) * w[1], z = (sine - 1) * w[2];
    W[1] -= z, W[2] += y, W[5] -= x, W[3] += z, W[6] -= y, W[7] += x;
}

// m/s, at which the anchors part, without what mends their gap.
static void find_rate(const ode_problem *pulled, const loaded_joint *joint, double rate[3])
{
    for (int i = 0; i < joint->rows; i++) {
        const sprag_row *row = &joint->row[i];
        double sum = -row->bias;
        for (int side = 0; side < 2 && is_linear(row->jacobian[0]); side++) {
            if (row->body[side] != SPRAG_STATIC) {
                sum += dot6(row->jacobian[side], pulled->body[row->body[side]].velocity);
            }
        }
        add_scaled(rate, sum, row->jacobian[0], 3);
    }
}

// Joints that are not under load go a share of their way, and no farther than their anchors part at
// the start, as those of bodies on a circle do after a step on its tangent. The whole way would win
// energy: load_energy.c allows what mends errors, and does not watch islands without loads.
static double share_of_way(const ode_problem *pulled, loaded_joint *joint, const double way[3])
{
    double rate[3] = {0}, square = dot3(way, way);
    find_rate(pulled, joint, rate);
    double along = dot3(rate, way);
    bool counts = square > load_least_way * load_least_way && along > 0;
    joint->arc = !counts ? NO_ARC : along < load_arc * square ? PART : ARC;
    return joint->arc == PART ? along / square : joint->arc == ARC ? load_arc : 0;
}

bool sprag_ode_arcs_differ(const ode_problem *a, const ode_problem *b)
{
    bool any = false;
    for (int i = 0; i < a->loadeds && !any; i++) {
        any = a->loaded[i].arc != b->loaded[i].arc;
    }
    return any;
}

static void look_ahead_of_joint(const ode_problem *pulled, loaded_joint *joint)
{
    const int *body = joint->row->body;
    double way[3] = {0};
    bool tight = false;
    for (int side = 0; side < 2; side++) {
        if (body[side] != SPRAG_STATIC) {
            const load *of = &pulled->load[body[side]];
            double turned[3];
            mul33(of->turn, joint->lever[side], turned);
            add_scaled(way, side ? -1 : 1, turned, 3);
            tight |= of->stiffened;
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
        joint->arc = NO_ARC;
        pulled->loadeds += find_levers(pulled, i, joint);
    }
    return pulled->loaded;
}

// Adds up the stiffness of each body by the forces of the last step.
static void find_loads(const ode_problem *pulled, load *loads)
{
    memset(loads, 0, (size_t)pulled->problem.bodies * sizeof *loads);
    for (int i = 0; i < pulled->loadeds; i++) {
        const loaded_joint *joint = &pulled->loaded[i];
        const int *body = joint->row->body;
        double force[3];
        find_force(pulled, joint, NULL, force);
        for (int side = 0; side < 2 && is_linear(force); side++) {
            if (body[side] != SPRAG_STATIC) {
                load *of = &loads[body[side]];
                for (int k = 0; k < 3; k++) { // by Newton's third law
                    const double *r = joint->lever[side];
                    add_scaled(of->moment + 3 * k, side ? -r[k] : r[k], force, 3);
                }
                of->drawn = true;
            }
        }
    }
}

// Adds inertia to the bodies that need it.
static void stiffen_bodies(ode_problem *pulled, const ode_warm_start *warm_start,
                           sprag_scratch *scratch)
{
    const double step = pulled->problem.step, square = step * step;
    int run = 0; // of the body before in the warm start
    for (int i = 0; i < pulled->problem.bodies; i++) {
        sprag_body *body = &pulled->body[i];
        load *of = &pulled->load[i];
        double added, least = of->drawn && body->mass > 0 ? least_moment(body->inertia) : INFINITY;
        if (!may_exceed(of->moment, square, least)) {
            continue;
        }
        pulled->tight = pulled->tight ? pulled->tight
                                      : SPRAG_TAKE_RAW(scratch, pulled->problem.bodies, ode_tight);
        if (!pulled->tight) {
            return;
        }
        ode_tight *tight = &pulled->tight[pulled->tights];
        tight->body = i;
        sprag_ode_warm_start_added(warm_start, pulled->island.body[i], &run, &added,
                                   &tight->stored);
        of->stiffened = stiffen(body, least, of->moment, square, pulled->grown ? 0 : added, tight);
        pulled->tights += of->stiffened;
    }
}

static void look_ahead(ode_problem *pulled)
{
    for (int i = 0; i < pulled->spins; i++) {
        pulled->load[pulled->spin[i].body].axis = pulled->spin[i].axis;
    }
    for (int i = 0; i < pulled->problem.bodies; i++) {
        load *of = &pulled->load[i];
        bool finite = of->axis || dBodyGetFiniteRotationMode(pulled->island.body[i]);
        turn_of_step(of, pulled->body[i].velocity + 3, pulled->problem.step, finite);
    }
    for (int i = 0; i < pulled->loadeds; i++) {
        if (pulled->loaded[i].linear == 3) { // else it slides: the circle is not all of the way
            look_ahead_of_joint(pulled, &pulled->loaded[i]);
        }
    }
}

void sprag_ode_stiffen(ode_problem *pulled, const ode_warm_start *warm_start,
                       sprag_scratch *scratch)
{
    load *loads = SPRAG_TAKE_RAW(scratch, pulled->problem.bodies, load);
    if (!loads || (!pulled->loaded && !find_joints(pulled, scratch))) {
        return;
    }
    pulled->load = loads;
    pulled->ahead = SPRAG_TAKE(scratch, pulled->problem.rows + 2 * pulled->distances, double);
    if (scratch->failed) {
        return;
    }
    find_loads(pulled, loads);
    stiffen_bodies(pulled, warm_start, scratch);
    if ((pulled->tights > 0 || pulled->arcs) && !pulled->grown) {
        look_ahead(pulled);
    }
    if (pulled->distances > 0) {
        sprag_ode_hold_distances(pulled, warm_start, scratch);
    }
}

// ---- loads that grow within the step

// Of a body that nothing has drawn at in the last step nothing counts: its joints are new, and what
// they mend first are errors.
bool sprag_ode_loads_have_grown(const ode_problem *pulled, sprag_scratch *scratch)
{
    if (sprag_ode_distances_have_grown(pulled)) {
        return true;
    }
    const int bodies = pulled->problem.bodies;
    double *trace = pulled->load ? SPRAG_TAKE(scratch, bodies, double) : NULL; // N m, half K's
    for (int i = 0; i < pulled->loadeds && trace; i++) {
        const loaded_joint *joint = &pulled->loaded[i];
        const int *body = joint->row->body;
        double force[3];
        find_force(pulled, joint, pulled->solution.row_force, force);
        for (int side = 0; side < 2; side++) {
            if (body[side] != SPRAG_STATIC) {
                trace[body[side]] += (side ? -1 : 1) * dot3(force, joint->lever[side]);
            }
        }
    }
    bool any = false;
    for (int i = 0; i < bodies && trace && !any; i++) {
        const double *I = pulled->body[i].inertia, step = pulled->problem.step;
        any = pulled->load[i].drawn && pulled->body[i].mass > 0 &&
              2 * step * step * trace[i] > load_growth * (I[0] + I[4] + I[8]);
    }
    return any;
}

void sprag_ode_unstiffen(ode_problem *pulled)
{
    for (int i = 0; i < pulled->tights; i++) {
        const ode_tight *tight = &pulled->tight[i];
        sprag_body *body = &pulled->body[tight->body];
        memcpy(body->inertia, tight->inertia, sizeof body->inertia);
        memcpy(body->free_velocity + 3, tight->free, sizeof tight->free);
    }
    for (int i = 0; i < pulled->joint_rows && pulled->ahead; i++) {
        pulled->row[i].bias -= pulled->ahead[i];
    }
}

void sprag_ode_stiffen_again(ode_problem *pulled, const ode_warm_start *warm_start,
                             sprag_scratch *scratch)
{
    sprag_ode_unstiffen(pulled);
    pulled->tights = pulled->tauts = 0;
    pulled->problem.rows = pulled->joint_rows;
    pulled->grown = true;
    sprag_ode_stiffen(pulled, warm_start, scratch);
}
