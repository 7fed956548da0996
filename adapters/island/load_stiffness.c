// Geometric stiffness: joints under load stay together at any step.
//
// A joint's force f acts on a body at the lever r. The step keeps its direction, so a turn of the
// body changes its torque by [f][r] x turn: the body is on a spring of the stiffness
//     K = (f.r) 1 - r f', its symmetric part, summed over the joints of the body,
// that the step treats explicitly, and a spring with step^2 K > 4 I gains energy. The forces are
// those in balance: with what turns a thin body, A would couple its turns about its lever, to which
// no joint exerts a torque, with those across, and it would spin up. So, where step^2 K exceeds the
// inertia I, the excess A is added to it:
//     (I + A) w = I w* + A u + J' impulse,
// w* the free angular velocity, u the target velocity of A (Tournier et al., Stable Constrained
// Dynamics, 2015; Andrews, Teichmann, Kovecses, Geometric Stiffness for Real-time Constrained
// Multibody Dynamics, 2017). u = 0 is the implicit spring, but it damps the swing of a whole chain.
// u = w before the step, w0, keeps the energy of everything as long as A is constant. Where A
// grows or shrinks, u is w0 by the fourth root of that: a wave of a slowly changing stiffness keeps
// its energy by its frequency, A w^2 by the root of A. The target of new inertia is rest, as for
// links that a rope jerks tight; of bodies that no joint ties to the world, it is their common turn
// (load_inertia.c), which no load of their own can brake.
//
// Bodies that joints weld turn as one part (load_parts.c): the forces within it turn with it and
// have no stiffness, K is that of the part about its centre, and each body takes a share of A. What
// joints weld to the world has none. Joints between the same two parts (two hinges of a door) act
// as one, at the place of the first: what they pull against one another is a stiffness of +K for
// one part and -K for the other, which turn as one, and the positive part alone would brake both.
// About the axis that is left to them all places on it are the same.
//
// In an island in which joints form a loop, each joint holds both its bodies at one point, as its
// anchors may stay apart.
//
// The rows of an island under load also look ahead: they keep the anchors together at the end of
// the way on the circle about the joint, not of that on its tangent. All by the same share, so that
// closed loops look ahead to a place that they can reach: else the bars of a parallelogram leave
// its branch at the dead points. load_energy.c sees to it that u and the look ahead bring no energy
// into the island. With `arcs`, the joints of all islands look ahead.
//
// Forces are those of the last step. Where they grow so much within the step that A is too small
// for them (a load falls into a chain), the step is solved again with A from its own forces. Then
// no row looks ahead: the bodies do not turn as before. Rows alone give the levers, whatever the
// joint: the angular part of a row is r x e, with its linear part e.
#include <math.h>
#include <string.h>

#include "island_constants.h"
#include "linalg.h"
#include "loads.h"

// ---- one joint

static bool is_zero(const double e[3])
{
    return e[0] == 0 && e[1] == 0 && e[2] == 0;
}

// Finds the rows of a joint with linear parts, from its first row on. Returns the number of all. A
// row that holds a point is the first of three.
static int find_rows(const ode_problem *pulled, int first, ode_loaded_joint *joint)
{
    const dJointID *id = &pulled->row_joint[first];
    const sprag_row *row = &pulled->row[first];
    const int most = pulled->joint_rows - first;
    int rows = row->holds_point ? 3 : 0, linear = rows, from = 0, end = rows;
    joint->turn = joint->turn_end = first;
    for (; rows < most && id[rows] == *id; rows++) {
        if (sprag_ode_turns(&row[rows])) {
            joint->turn = joint->turn_end == first ? first + rows : joint->turn;
            joint->turn_end = first + rows + 1;
        } else {
            from = linear == 0 ? rows : from;
            linear += rows == from + linear;
            end = rows + 1;
        }
    }
    joint->first = first, joint->end = first + rows;
    joint->row = &pulled->row[first + from];
    joint->rows = end - from;
    joint->linear = linear;
    joint->arc = NO_ARC;
    return rows;
}

// The linear parts are unit vectors e at right angles to one another. Of a single one the lever is
// not known along it, and nothing else counts: ODE knows it of joints that hold a distance, others
// have none.
static bool find_levers(const ode_problem *pulled, ode_loaded_joint *joint)
{
    const sprag_row *row = joint->row;
    bool any = joint->linear > 1;
    for (int side = 0; side < 2; side++) {
        double *r = joint->lever[side];
        if (joint->linear > 1) {
            sprag_rows_lever(row, joint->linear, side, r);
        } else {
            memset(r, 0, sizeof joint->lever[side]);
            any |= joint->linear == 1 &&
                   sprag_ode_lever_of_distance(pulled, (int)(row - pulled->row), side, r);
        }
    }
    joint->rows = any ? joint->rows : 0;
    joint->linear = any ? joint->linear : 0;
    return any;
}

// N, on the first body of a joint. row_force: of all rows; NULL: those of the last step.
static void find_force(const ode_problem *pulled, const ode_loaded_joint *joint,
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

// Whether its bodies move as one.
static bool welds(const sprag_row *row, int rows)
{
    int hard = 0;
    for (; rows > 0; row++, rows--) {
        hard += sprag_row_holds(row) && row->compliance <= load_hard_weld;
    }
    return hard == 6;
}

// ---- joints in loops

// Puts the bodies of a joint into one group. true: they were in one, the joint closes a loop. The
// world, and what the program moves, is one place.
static bool join_groups(const ode_problem *pulled, const int body[2])
{
    int at[2];
    for (int side = 0; side < 2; side++) {
        const bool stays = body[side] == SPRAG_STATIC || !(pulled->body[body[side]].mass > 0);
        at[side] = sprag_ode_group(pulled, stays ? SPRAG_STATIC : body[side]);
    }
    sprag_unite(pulled->group, at[0], at[1]);
    return at[0] == at[1];
}

// Joints that contradict each other stay open, and pull with all their might. With each body held
// at its own anchor their forces are a torque on both together, which brakes every turn of the
// whole; so both act at the middle between their anchors. (To mend the way between these as ODE
// does, by its turn before the step as well, wins energy.)
static void hold_in_the_middle(const ode_problem *pulled, ode_loaded_joint *joint)
{
    const int *body = joint->row->body;
    if (joint->linear == 3 && body[1] != SPRAG_STATIC) {
        double half[3], part[3];
        subtract3(dBodyGetPosition(pulled->island.body[body[0]]),
                  dBodyGetPosition(pulled->island.body[body[1]]), half);
        for (int k = 0; k < 3; k++) {
            half[k] = 0.5 * (half[k] + joint->lever[0][k] - joint->lever[1][k]);
            joint->lever[0][k] -= half[k];
            joint->lever[1][k] += half[k];
        }
        for (int i = 0; i < joint->rows; i++) {
            double(*J)[6] = joint->row[i].jacobian;
            cross3(half, J[0], part);
            add_scaled(J[0] + 3, -1, part, 3);
            add_scaled(J[1] + 3, -1, part, 3);
        }
    }
}

// ---- rows that look ahead

// In a step h, a point at r from the centre goes by h (v + w x r + (sine - 1) w x r + inward w x (w
// x r)). The turn about w is by an angle whose sine is sine h |w|, and cosine 1 - inward h |w|^2:
// ODE does by Cayley's map, in its finite mode, and about the axis of a fast spin, by the
// exponential. axis: of a fast spin, which turns an anchor on it by the rest of w; NULL: none.
static void set_turn(ode_load *to, const double w[3], const double *axis, double step, bool finite)
{
    static const double least = 1e-3; // rad: the exponential is Cayley's map to 1e-7 of the turn
    memcpy(to->turn, w, sizeof to->turn);
    if (axis) {
        add_scaled(to->turn, -dot3(axis, w), axis, 3);
    }
    double square = step * step * dot3(to->turn, to->turn), sine = 1 / (1 + 0.25 * square);
    to->inward = 0.5 * step * sine;
    if (finite && square > least * least) {
        double angle = sqrt(square);
        sine = sin(angle) / angle;
        to->inward = step * (1 - cos(angle)) / square;
    }
    to->sine = sine - 1;
}

// m/s, at which the anchors part, without what mends their gap.
static void find_rate(const ode_problem *pulled, const ode_loaded_joint *joint, double rate[3])
{
    for (int i = 0; i < joint->rows; i++) {
        const sprag_row *row = &joint->row[i];
        if (!sprag_ode_turns(row)) {
            double apart = sprag_ode_rate(pulled, row, NULL) - row->bias;
            add_scaled(rate, apart, row->jacobian[0], 3);
        }
    }
}

// In islands without loads, joints go a share of their way, and no farther than their anchors part
// at the start, as those of bodies on a circle do after a step on its tangent. The whole way would
// win energy, which load_energy.c does not watch there.
static double share_of_way(const ode_problem *pulled, ode_loaded_joint *joint, const double way[3])
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

// share: of the way; 0: by share_of_way().
static void look_ahead_of_joint(const ode_problem *pulled, ode_loaded_joint *joint, double share)
{
    const int *body = joint->row->body;
    double way[3] = {0};
    for (int side = 0; side < 2; side++) {
        if (body[side] != SPRAG_STATIC) {
            const ode_load *of = &pulled->load[body[side]];
            double across[3], in[3];
            cross3(of->turn, joint->lever[side], across);
            cross3(of->turn, across, in);
            add_scaled(way, side ? -of->sine : of->sine, across, 3);
            add_scaled(way, side ? -of->inward : of->inward, in, 3);
        }
    }
    share = share > 0 ? share : share_of_way(pulled, joint, way);
    double *ahead = pulled->ahead + (joint->row - pulled->row);
    for (int i = 0; i < joint->rows; i++) {
        ahead[i] = -share * dot3(joint->row[i].jacobian[0], way);
        joint->row[i].bias += ahead[i];
    }
}

// ---- the island

// Finds what the joint's force loads, and where: at the anchor of the first joint between the same
// two parts. A distance has two anchors, and is alone. newest: of the joints in the list of each
// part; NULL: no loops, and no two joints between the same parts. A joint is in the list of its
// later part, as a body of many joints mostly comes before those it holds.
static void find_arms(const ode_problem *pulled, int at, int *newest)
{
    ode_loaded_joint *joint = &pulled->loaded[at];
    int *part = joint->part;
    for (int side = 0; side < 2; side++) {
        const int body = joint->row->body[side];
        part[side] = sprag_ode_part(pulled, body);
        memcpy(joint->arm[side], joint->lever[side], sizeof joint->arm[side]);
        if (pulled->part && part[side] >= 0) {
            double way[3];
            subtract3(dBodyGetPosition(pulled->island.body[body]),
                      pulled->part[part[side] + 1].centre, way);
            add_scaled(joint->arm[side], 1, way, 3);
        }
    }
    if (part[0] == part[1]) {
        part[0] = part[1] = -1;
    } else if (newest && joint->linear > 1) {
        int *list = &newest[part[0] > part[1] ? part[0] : part[1]];
        for (int i = *list; i >= 0; i = pulled->loaded[i].older) {
            const ode_loaded_joint *other = &pulled->loaded[i];
            bool same = other->part[0] == part[0] && other->part[1] == part[1];
            if (same || (other->part[0] == part[1] && other->part[1] == part[0])) {
                memcpy(joint->arm[0], other->arm[!same], sizeof joint->arm[0]);
                memcpy(joint->arm[1], other->arm[same], sizeof joint->arm[1]);
                break;
            }
        }
        joint->older = *list;
        *list = at;
    }
}

// false: no memory.
static bool find_joints(ode_problem *pulled, sprag_scratch *scratch)
{
    pulled->group = SPRAG_TAKE_RAW(scratch, pulled->problem.bodies + 1, int);
    pulled->loaded = SPRAG_TAKE_RAW(scratch, pulled->joint_rows, ode_loaded_joint);
    for (int i = 0; i <= pulled->problem.bodies && pulled->group; i++) {
        pulled->group[i] = i;
    }
    bool loops = false;
    for (int i = 0, rows; i < pulled->joint_rows && !scratch->failed; i += rows) {
        ode_loaded_joint *joint = &pulled->loaded[pulled->loadeds];
        rows = find_rows(pulled, i, joint);
        loops |= find_levers(pulled, joint) && join_groups(pulled, joint->row->body);
        pulled->loadeds++;
        if (welds(&pulled->row[i], rows) &&
            !sprag_ode_join_parts(pulled, joint->row->body, scratch)) {
            return false;
        }
    }
    int *newest = NULL;
    if (loops) {
        newest = SPRAG_TAKE_RAW(scratch, pulled->problem.bodies, int);
        for (int i = 0; i < pulled->problem.bodies && newest; i++) {
            newest[i] = -1;
        }
    }
    sprag_ode_measure_parts(pulled);
    for (int i = 0; i < pulled->loadeds && !scratch->failed; i++) {
        if (loops) {
            hold_in_the_middle(pulled, &pulled->loaded[i]);
        }
        find_arms(pulled, i, newest);
    }
    return !scratch->failed;
}

// sign: by Newton's third law.
static void add_force(ode_load *to, double sign, const double r[3], const double force[3])
{
    const double x = sign * r[0], y = sign * r[1], z = sign * r[2];
    const double xy = x * force[1], xz = x * force[2], yz = y * force[2];
    const double yx = y * force[0], zx = z * force[0], zy = z * force[1];
    double *moment = to->moment, *torque = to->torque;
    moment[0] += x * force[0], moment[1] += y * force[1], moment[2] += z * force[2];
    moment[3] += 0.5 * (xy + yx), moment[4] += 0.5 * (xz + zx), moment[5] += 0.5 * (yz + zy);
    torque[0] += yz - zy, torque[1] += zx - xz, torque[2] += xy - yx;
    to->known = true;
}

static void add_torques(const ode_problem *pulled, const ode_loaded_joint *joint, ode_load *loads)
{
    for (int i = joint->turn; i < joint->turn_end; i++) {
        const sprag_row *row = &pulled->row[i];
        if (!sprag_ode_turns(row)) {
            continue;
        }
        for (int side = 0; side < 2; side++) {
            const int part = sprag_ode_part(pulled, row->body[side]);
            if (part >= 0) {
                add_scaled(loads[part].torque, row->guess, row->jacobian[side] + 3, 3);
            }
        }
    }
}

// Adds up the stiffness of each part by the forces of the last step.
static void find_loads(const ode_problem *pulled, ode_load *loads)
{
    memset(loads, 0, (size_t)pulled->problem.bodies * sizeof *loads);
    for (int i = 0; i < pulled->loadeds; i++) {
        const ode_loaded_joint *joint = &pulled->loaded[i];
        double force[3];
        find_force(pulled, joint, NULL, force);
        for (int side = 0; side < 2 && !is_zero(force); side++) {
            if (joint->part[side] >= 0) {
                add_force(&loads[joint->part[side]], side ? -1 : 1, joint->arm[side], force);
            }
        }
        add_torques(pulled, joint, loads);
    }
}

static void look_ahead(ode_problem *pulled)
{
    double share = 0;
    for (int i = 0; i < pulled->stiffened_bodies; i++) {
        share += pulled->stiffened_body[i].share;
    }
    share /= fmax(1, pulled->stiffened_bodies);
    for (int i = 0, spin = 0; i < pulled->problem.bodies; i++) {
        bool spins = spin < pulled->spins && pulled->spin[spin].body == i;
        const double *axis = spins ? pulled->spin[spin++].axis : NULL;
        const sprag_body *body = &pulled->body[i];
        set_turn(&pulled->load[i], body->velocity + 3, axis, pulled->problem.step, body->by_angle);
    }
    for (int i = 0; i < pulled->loadeds; i++) {
        if (pulled->loaded[i].linear == 3) { // else it slides: the circle is not all of the way
            look_ahead_of_joint(pulled, &pulled->loaded[i], share);
        }
    }
}

// ---- what the program has opened

// Has the island been under load, in this step or before? What the program opens while it is not is
// mended later, too.
static bool was_loaded(const ode_problem *pulled)
{
    return !isnan(pulled->mending[pulled->loaded[0].row - pulled->row].expected);
}

void sprag_ode_stiffen(ode_problem *pulled, const ode_warm_start *warm_start,
                       sprag_scratch *scratch)
{
    ode_load *loads = SPRAG_TAKE_RAW(scratch, pulled->problem.bodies, ode_load);
    if (!loads || (!pulled->loaded && !find_joints(pulled, scratch))) {
        return;
    }
    pulled->load = loads;
    pulled->stiffened_body = SPRAG_TAKE_RAW(scratch, pulled->problem.bodies, ode_stiffened_body);
    pulled->ahead = SPRAG_TAKE(scratch, pulled->problem.rows + 2 * pulled->distances, double);
    if (scratch->failed) {
        return;
    }
    find_loads(pulled, loads);
    sprag_ode_stiffen_bodies(pulled, warm_start, scratch);
    sprag_ode_set_targets(pulled, scratch);
    if (pulled->solve == ODE_WON) {
        sprag_ode_mend_nothing(pulled);
    } else if (pulled->solve == ODE_FIRST && (pulled->stiffened_bodies > 0 || pulled->arcs)) {
        look_ahead(pulled);
    }
    if (pulled->distances > 0) {
        sprag_ode_stiffen_distances(pulled, warm_start, scratch);
    }
    if (!pulled->knows_opened &&
        (pulled->stiffened_bodies + pulled->stiffened_distances > 0 || was_loaded(pulled))) {
        sprag_ode_find_opened(pulled);
    }
}

// ---- loads that grow within the step

// Whether the loads of the solution are so much larger than those of the last step that the added
// inertia is too small for them. Bodies whose last forces are not known do not count: their joints
// are new, and what they mend first are errors.
static bool loads_have_grown(const ode_problem *pulled, sprag_scratch *scratch)
{
    if (sprag_ode_distances_have_grown(pulled)) {
        return true;
    }
    const int bodies = pulled->problem.bodies;
    const double step = pulled->problem.step;
    double *trace = pulled->load ? SPRAG_TAKE(scratch, bodies, double) : NULL; // N m, half K's
    for (int i = 0; i < pulled->stiffened_bodies && pulled->part && trace; i++) {
        const ode_stiffened_body *of = &pulled->stiffened_body[i];
        trace[sprag_ode_part(pulled, of->body)] -= load_growth * of->trace / (2 * step * step);
    }
    for (int i = 0; i < pulled->loadeds && trace; i++) {
        const ode_loaded_joint *joint = &pulled->loaded[i];
        double force[3];
        find_force(pulled, joint, pulled->solution.row_force, force);
        for (int side = 0; side < 2; side++) {
            if (joint->part[side] >= 0) {
                trace[joint->part[side]] += (side ? -1 : 1) * dot3(force, joint->arm[side]);
            }
        }
    }
    bool any = false;
    for (int i = 0; i < bodies && trace && !any; i++) {
        const double *I = pulled->part ? pulled->part[i + 1].inertia : pulled->body[i].inertia;
        any = pulled->load[i].known && pulled->body[i].mass > 0 &&
              2 * step * step * trace[i] > load_growth * (I[0] + I[4] + I[8]);
    }
    return any;
}

void sprag_ode_unstiffen(ode_problem *pulled)
{
    for (int i = 0; i < pulled->stiffened_bodies; i++) {
        const ode_stiffened_body *stiffened = &pulled->stiffened_body[i];
        sprag_body *body = &pulled->body[stiffened->body];
        add_scaled(body->inertia, -1, stiffened->added, 9);
        memcpy(body->free_velocity + 3, stiffened->free, sizeof stiffened->free);
    }
    for (int i = 0; i < pulled->joint_rows && pulled->ahead; i++) {
        pulled->row[i].bias -= pulled->ahead[i];
        pulled->ahead[i] = 0;
    }
}

bool sprag_ode_keep_solution(ode_problem *pulled, sprag_scratch *scratch)
{
    const sprag_solution *from = &pulled->solution;
    size_t bodies = (size_t)pulled->problem.bodies, contacts = (size_t)pulled->problem.contacts;
    size_t rows = (size_t)pulled->problem.rows;
    size_t most = (size_t)(pulled->joint_rows + 2 * pulled->distances); // of the second problem
    pulled->first = (sprag_solution){
        .velocity = sprag_scratch_take_raw(scratch, bodies, sizeof *from->velocity),
        .contact_force =
            sprag_scratch_take_raw(scratch, (size_t)pulled->room, sizeof *from->contact_force),
        .row_force = sprag_scratch_take(scratch, most, sizeof *from->row_force)};
    if (scratch->failed) {
        return false;
    }
    memcpy(pulled->first.velocity, from->velocity, bodies * sizeof *from->velocity);
    memcpy(pulled->first.contact_force, from->contact_force,
           contacts * sizeof *from->contact_force);
    memcpy(pulled->first.row_force, from->row_force, rows * sizeof *from->row_force);
    // Rows that are to mend nothing have forces as in the last step, rather.
    const bool guesses = pulled->solve != ODE_WON;
    for (size_t i = 0; i < rows && guesses; i++) {
        pulled->row[i].guess = from->row_force[i];
    }
    for (size_t i = 0; i < contacts && guesses; i++) {
        memcpy(pulled->contact[i].guess, from->contact_force[i], sizeof pulled->contact[i].guess);
    }
    return true;
}

bool sprag_ode_solve_again(ode_problem *pulled, const ode_warm_start *warm_start,
                           sprag_scratch *scratch)
{
    // The inertia is by the guesses: those of this solution, if it has to be for its loads.
    const bool grown = pulled->solve == ODE_FIRST && loads_have_grown(pulled, scratch);
    if (grown ? !sprag_ode_keep_solution(pulled, scratch) : sprag_ode_charge_loads(pulled)) {
        return false;
    }
    sprag_ode_unstiffen(pulled);
    pulled->stiffened_bodies = pulled->stiffened_distances = 0;
    pulled->problem.rows = pulled->joint_rows;
    pulled->solve = grown ? ODE_GROWN : ODE_WON;
    sprag_ode_stiffen(pulled, warm_start, scratch);
    return grown || sprag_ode_keep_solution(pulled, scratch);
}
