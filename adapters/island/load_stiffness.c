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
// joints weld to the world has none.
//
// The rows of an island under load also look ahead: they keep the anchors together at the end of
// the way on the circle about the joint, not of that on its tangent. All by the same share, so that
// closed loops look ahead to a place that they can reach: else the bars of a parallelogram leave
// its branch at the dead points. load_energy.c sees to it that u and the look ahead bring no energy
// into the island. With `arcs`, the joints of all islands look ahead.
//
// A body that spins fast on one joint, to the world, goes with its anchor, a point of the axis. The
// joint looks ahead by all of the way from the tangent to the circle, at the turn before the step:
// else the anchor lags behind, the joint's force has a torque about the world's axis, and a
// gyroscope on a long arm sinks. The speed inwards is such that the speed along the circle after
// the turn is that before it. Along the circle the joint does not look ahead: where the axis
// nutates, the next turn has another direction, and that would win energy. So would errors of the
// way that are mended a few steps later: after the solve, with the turn of the step itself, the
// body is put to where its anchor stays (spin_step.c).
//
// Forces are those of the last step. Where they grow so much within the step that A is too small
// for them (a load falls into a chain), the step is solved again with A from its own forces. Then
// no row looks ahead: the bodies do not turn as before.
#include <math.h>
#include <string.h>

#include "island_constants.h"
#include "linalg.h"
#include "loads.h"
#include "vectors3.h"

// ---- anchors that bodies go with

static bool is_fixed(const ode_problem *pulled, int body)
{
    return body == SPRAG_STATIC || !(pulled->body[body].mass > 0);
}

static ode_spin *spin_of(const ode_problem *pulled, int body)
{
    ode_spin *of = pulled->spin, *end = of + pulled->spins;
    while (of < end && of->body != body) {
        of++;
    }
    return of < end ? of : NULL;
}

// Does no other joint hold a point of the body?
static bool is_alone(const ode_problem *pulled, const ode_loaded_joint *joint, int body)
{
    bool alone = true;
    for (int i = 0; i < pulled->loadeds && alone; i++) {
        const ode_loaded_joint *other = &pulled->loaded[i];
        alone = other == joint || other->rows == 0 ||
                (other->row->body[0] != body && other->row->body[1] != body);
    }
    return alone;
}

// Does any body go with its anchor?
static bool find_anchors(const ode_problem *pulled)
{
    bool any = false;
    for (int i = 0; i < pulled->spins; i++) {
        pulled->spin[i].follows = false;
    }
    for (int i = 0; i < pulled->loadeds && pulled->spins > 0; i++) {
        const ode_loaded_joint *joint = &pulled->loaded[i];
        const int *body = joint->row->body, side = is_fixed(pulled, body[1]) ? 0 : 1;
        ode_spin *of = joint->linear == 3 && is_fixed(pulled, body[!side])
                           ? spin_of(pulled, body[side])
                           : NULL;
        if (of && is_alone(pulled, joint, body[side])) {
            memset(of->anchor, 0, sizeof of->anchor);
            memset(of->ahead, 0, sizeof of->ahead);
            add_scaled(of->anchor, dot3(of->axis, joint->lever[side]), of->axis, 3);
            of->follows = any = true;
        }
    }
    return any;
}

// ---- rows that look ahead

// In a step h, a point at r from the centre goes by h (v + w x r + (sine - 1) w x r + inward w x (w
// x r)). The turn about w is by an angle whose sine is sine h |w|, and cosine 1 - inward h |w|^2:
// ODE does by Cayley's map, in its finite mode, and about the axis of a fast spin, by the
// exponential. axis: of a fast spin, which turns an anchor on it by the rest of w; NULL: none.
INLINE void set_turn(ode_turn *to, const double w[3], const double *axis, double step, bool finite)
{
    static const double least = 1e-3; // rad: the exponential is Cayley's map to 1e-7 of the turn
    to->turn[0] = w[0], to->turn[1] = w[1], to->turn[2] = w[2], to->turn[3] = 0;
    if (axis) {
        add_scaled(to->turn, -dot3(axis, w), axis, 3);
    }
    double square = step * step * dot3(to->turn, to->turn), sine = 1 / (1 + 0.25 * square);
    to->square = square;
    to->inward = 0.5 * step * sine;
    if (finite && square > least * least) {
        double angle = sqrt(square);
        sine = sin(angle) / angle;
        to->inward = step * (1 - cos(angle)) / square;
    }
    to->sine = sine - 1;
    to->follows = NULL;
}

// The way of an anchor, unless its axis turns too far to go with it.
static void set_way(ode_turn *to, ode_spin *spin, double step)
{
    static const double farthest = 1; // rad
    const double half = 0.5 * sqrt(to->square);
    spin->follows = spin->follows && 2 * half < farthest;
    if (spin->follows) {
        to->follows = spin;
        to->sine = 0;
        to->inward = 0.5 * step * (half > 0 ? tan(half) / half : 1);
    }
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

// share: of the way; 0: by share_of_way(), if joints look ahead without loads. Of the way of what
// goes with its anchor: all.
INLINE void look_ahead_of_joint(const ode_problem *pulled, ode_loaded_joint *joint, double share)
{
    const int *body = joint->row->body;
    vector3 way = {0}, all = {0};
    for (int side = 0; side < 2; side++) {
        if (body[side] != SPRAG_STATIC) {
            const ode_turn *of = &pulled->turn[body[side]];
            const double *lever = of->follows ? of->follows->anchor : joint->lever[side];
            vector3 across, in;
            cross_vectors3(&across, &CONST_VECTOR3(of->turn), &CONST_VECTOR3(lever));
            cross_vectors3(&in, &CONST_VECTOR3(of->turn), &across);
            const vector3 part = of->sine * across + of->inward * in;
            if (of->follows) {
                VECTOR3(of->follows->ahead) = part;
                all += side ? -part : part;
            } else {
                way += side ? -part : part;
            }
        }
    }
    if (!(share > 0) && pulled->arcs) {
        double of[3];
        store3(of, &way);
        share = share_of_way(pulled, joint, of);
    }
    way = -share * way - all;
    double *ahead = pulled->ahead + joint->at;
    for (int i = 0; i < joint->rows; i++) {
        sprag_row *row = &joint->row[i];
        const vector3 along = CONST_VECTOR3(row->jacobian[0]) * way;
        ahead[i] = joint->along_axes ? way[i] : sum3(&along);
        row->bias += ahead[i];
    }
}

// ---- the island

SPRAG_VECTORS
static void set_turns(const ode_problem *pulled)
{
    for (int i = 0, spin = 0; i < pulled->problem.bodies; i++) {
        bool spins = spin < pulled->spins && pulled->spin[spin].body == i;
        ode_spin *of = spins ? &pulled->spin[spin++] : NULL;
        const sprag_body *body = &pulled->body[i];
        set_turn(&pulled->turn[i], body->velocity + 3, of ? of->axis : NULL, pulled->problem.step,
                 body->by_angle);
        if (of) {
            set_way(&pulled->turn[i], of, pulled->problem.step);
        }
    }
}

static double mean_share(const ode_problem *pulled)
{
    lanes sum = zeros;
    for (int i = 0; i < pulled->stiffened_fours; i++) {
        sum += pulled->stiffened_four[i].share;
    }
    return sum_of(&sum) / fmax(1, pulled->stiffened_bodies);
}

SPRAG_VECTORS
static void look_ahead(const ode_problem *pulled)
{
    const double share = mean_share(pulled);
    for (int i = 0; i < pulled->loadeds; i++) {
        if (pulled->loaded[i].linear == 3) { // else it slides: the circle is not all of the way
            look_ahead_of_joint(pulled, &pulled->loaded[i], share);
        }
    }
}

// ---- derivatives

double sprag_ode_share_of_turning(const ode_problem *pulled)
{
    bool alone = pulled->stiffened_bodies > 0 && !pulled->arcs && !pulled->part && !pulled->loops &&
                 pulled->loose == 0 && pulled->distances == 0;
    for (int i = 0; i < pulled->loadeds && alone; i++) {
        const ode_loaded_joint *joint = &pulled->loaded[i];
        alone = joint->rows == 0 || (joint->rows == 3 && joint->row->holds_point);
    }
    return alone ? mean_share(pulled) : 0;
}

// The derivatives of e.way, way = sine h w x r + inward h w x (w x r) less that of the tangent, by
// a turn of r and by w, which turns the sine as -h^2 / 2 (1 + sine)^2 w, and inward as h / 2 of it.
static void slope_along(const ode_turn *of, double step, const double *r, const double *e,
                        double slope[6])
{
    const double *w = of->turn, s = 1 + of->sine, we = dot3(w, e), wr = dot3(w, r), re = dot3(r, e),
                 ww = dot3(w, w);
    double back[3], across[3];
    cross3(e, w, back);
    cross3(r, e, across);
    const double inward = we * wr - ww * re, // e.(w x (w x r))
        by = -0.5 * step * step * s * s * (dot3(across, w) + 0.5 * step * inward);
    for (int k = 0; k < 3; k++) {
        back[k] = of->sine * back[k] + of->inward * (we * w[k] - ww * e[k]);
        slope[3 + k] =
            of->sine * across[k] + by * w[k] + of->inward * (wr * e[k] + we * r[k] - 2 * re * w[k]);
    }
    cross3(r, back, slope);
}

int sprag_ode_ahead_slopes(const ode_problem *pulled, const ode_loaded_joint *joint, double share,
                           double (*slope)[2][6])
{
    for (int i = 0; i < 2 * joint->rows; i++) {
        const sprag_row *row = &joint->row[i / 2];
        const int side = i % 2, body = row->body[side];
        double along[6] = {0};
        if (body != SPRAG_STATIC) {
            slope_along(&pulled->turn[body], pulled->problem.step, joint->lever[side],
                        row->jacobian[0], along);
        }
        for (int k = 0; k < 6; k++) {
            slope[i / 2][side][k] = side ? share * along[k] : -share * along[k];
        }
    }
    return joint->rows;
}

// ---- what the program has opened

// Has the island been under load, in this step or before? What the program opens while it is not is
// mended later, too.
static bool was_loaded(const ode_problem *pulled)
{
    bool any = false;
    for (int i = 0; i < pulled->joint_rows && !any; i++) {
        any = !isnan(pulled->mending[i].expected);
    }
    return any;
}

void sprag_ode_stiffen(ode_problem *pulled, const ode_warm_start *warm_start,
                       sprag_scratch *scratch)
{
    sprag_ode_find_loads(pulled, scratch);
    sprag_ode_stiffen_bodies(pulled, warm_start, scratch);
    sprag_ode_set_targets(pulled, scratch);
    const bool finds = !pulled->knows_opened && was_loaded(pulled);
    const bool follows = find_anchors(pulled),
               ahead = pulled->stiffened_bodies > 0 || follows || pulled->arcs;
    const bool any = finds || ahead || pulled->distances > 0;
    if (any && !pulled->ahead) {
        pulled->ahead = SPRAG_TAKE(scratch, pulled->problem.rows + 2 * pulled->distances, double);
    }
    if (!any || scratch->failed) {
        return;
    }
    set_turns(pulled);
    if (finds) {
        sprag_ode_find_opened(pulled);
    }
    if (pulled->solve == ODE_WON) {
        sprag_ode_mend_nothing(pulled);
    } else if (pulled->solve == ODE_FIRST && ahead) {
        look_ahead(pulled);
    }
    if (pulled->distances > 0) {
        sprag_ode_stiffen_distances(pulled, warm_start, scratch);
    }
    pulled->knows_opened |= pulled->stiffened_bodies + pulled->stiffened_distances > 0;
}

// ---- loads that grow within the step

// The trace of the sum of r f', by the forces of the solution.
SPRAG_VECTORS
static void add_traces(const ode_problem *pulled, double *trace)
{
    for (int i = 0; i < pulled->loadeds; i++) {
        const ode_loaded_joint *joint = &pulled->loaded[i];
        const double *of = pulled->solution.row_force + joint->at;
        vector3 force = {0};
        if (joint->along_axes) {
            force = (vector3){of[0], of[1], of[2]};
        }
        for (int k = 0; k < joint->rows && !joint->along_axes; k++) {
            force += of[k] * CONST_VECTOR3(joint->row[k].jacobian[0]);
        }
        for (int side = 0; side < 2; side++, force = -force) {
            if (joint->part[side] >= 0) {
                const vector3 along = force * CONST_VECTOR3(joint->arm[side]);
                trace[joint->part[side]] += sum3(&along);
            }
        }
    }
}

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
    for (int i = 0; i < LANES * pulled->stiffened_fours && pulled->part && trace; i++) {
        const ode_stiffened_four *of = &pulled->stiffened_four[i / LANES];
        trace[sprag_ode_part(pulled, of->body[i % LANES])] -=
            load_growth * of->trace[i % LANES] / (2 * step * step);
    }
    if (trace) {
        add_traces(pulled, trace);
    }
    bool any = false;
    for (int i = 0; i < bodies && trace && !any; i++) {
        const double *I = pulled->part ? pulled->part[i + 1].inertia : pulled->body[i].inertia;
        any = 2 * step * step * trace[i] > load_growth * (I[0] + I[4] + I[8]) &&
              pulled->body[i].mass > 0 && sprag_ode_bears(&pulled->load[i]);
    }
    return any;
}

void sprag_ode_unstiffen(ode_problem *pulled)
{
    for (int i = 0; i < LANES * pulled->stiffened_fours; i++) {
        const ode_stiffened_four *of = &pulled->stiffened_four[i / LANES];
        const int l = i % LANES;
        sprag_body *body = &pulled->body[of->body[l]];
        if (of->trace[l] > 0) {
            double A[9];
            sprag_ode_added(of, l, A);
            add_scaled(body->inertia, -1, A, 9);
            for (int k = 0; k < 3; k++) {
                body->free_velocity[3 + k] = of->free[k][l];
            }
        }
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
        .row_force = sprag_scratch_take(scratch, most, sizeof *from->row_force),
        .row_rate = sprag_scratch_take(scratch, most, sizeof *from->row_rate)};
    if (scratch->failed) {
        return false;
    }
    memcpy(pulled->first.velocity, from->velocity, bodies * sizeof *from->velocity);
    memcpy(pulled->first.contact_force, from->contact_force,
           contacts * sizeof *from->contact_force);
    memcpy(pulled->first.row_force, from->row_force, rows * sizeof *from->row_force);
    memcpy(pulled->first.row_rate, from->row_rate, rows * sizeof *from->row_rate);
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
    pulled->stiffened_fours = pulled->stiffened_bodies = pulled->stiffened_distances = 0;
    pulled->problem.rows = pulled->joint_rows;
    pulled->solve = grown ? ODE_GROWN : ODE_WON;
    sprag_ode_stiffen(pulled, warm_start, scratch);
    return grown || sprag_ode_keep_solution(pulled, scratch);
}
