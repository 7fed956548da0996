// Distances under load (DBall, DHinge): load_stiffness.c for joints whose two anchors are apart.
//
// Under the tension T a distance d is a spring of T/d across, between its anchors. Where step^2 T/d
// exceeds the mass 1/w that the anchors have against each other, the excess
//     a = step^2 T/d - 1/w
// is added to it: two rows t across the distance with the impulse a (u - t v), u their velocity
// before the step, scaled as in load_stiffness.c. As rows they are soft: lambda = (u - t v) / (step
// / a). The levers of the anchors on their bodies have the stiffness of load_stiffness.c besides.
#include <math.h>

#include "island_constants.h"
#include "linalg.h"
#include "loads.h"

// m, shorter ones have no direction.
static const double shortest = 1e-9;

bool sprag_ode_lever_of_distance(const ode_problem *pulled, int row, int side, double lever[3])
{
    dVector3 anchor[2];
    int body = pulled->row[row].body[side];
    if (body == SPRAG_STATIC || !sprag_ode_distance_anchors(pulled->row_joint[row], anchor)) {
        return false;
    }
    subtract3(anchor[side], dBodyGetPosition(pulled->island.body[body]), lever);
    return true;
}

double sprag_ode_swing_of_distance(const ode_problem *pulled, int row)
{
    dVector3 anchor[2];
    double between[3], across[3] = {0};
    if (!sprag_ode_distance_anchors(pulled->row_joint[row], anchor)) {
        return 0;
    }
    for (int side = 0; side < 2; side++) {
        const int body = pulled->row[row].body[side];
        if (body != SPRAG_STATIC) {
            const double *v = pulled->body[body].velocity;
            double lever[3], turned[3];
            subtract3(anchor[side], dBodyGetPosition(pulled->island.body[body]), lever);
            cross3(v + 3, lever, turned);
            add_scaled(across, side ? -1 : 1, v, 3);
            add_scaled(across, side ? -1 : 1, turned, 3);
        }
    }
    subtract3(anchor[0], anchor[1], between);
    return dot3(across, across) / fmax(shortest, norm3(between));
}

// With the inertia that is added to its bodies.
static double inverse_mass(const ode_problem *pulled, const sprag_row *row)
{
    return sprag_ode_inverse_mass(pulled->body, row->body, (const double(*)[6])row->jacobian);
}

// A row along a unit vector t between the anchors of a joint.
static sprag_row row_across(const ode_problem *pulled, int of, dVector3 anchor[2],
                            const double t[3])
{
    const sprag_row *joint = &pulled->row[of];
    sprag_row row = {.body = {joint->body[0], joint->body[1]}, .lo = -INFINITY, .hi = INFINITY};
    for (int side = 0; side < 2; side++) {
        if (row.body[side] != SPRAG_STATIC) {
            double lever[3], *J = row.jacobian[side];
            subtract3(anchor[side], dBodyGetPosition(pulled->island.body[row.body[side]]), lever);
            add_scaled(J, side ? -1 : 1, t, 3);
            cross3(lever, J, J + 3);
        }
    }
    return row;
}

// The length of a distance, its anchors, and two directions across it; 0: none.
static double find_distance(const ode_problem *pulled, int of, dVector3 anchor[2], double t[2][3])
{
    double u[3];
    if (!sprag_ode_distance_anchors(pulled->row_joint[of], anchor)) {
        return 0;
    }
    subtract3(anchor[0], anchor[1], u);
    const double length = norm3(u), axis[3] = {fabs(u[0]) < fabs(u[1]), fabs(u[0]) >= fabs(u[1])};
    if (!(length > shortest)) {
        return 0;
    }
    normalise3(u);
    cross3(u, axis, t[0]);
    normalise3(t[0]);
    cross3(u, t[0], t[1]);
    return length;
}

// In a step the distance grows by step u.v and by (step across)^2 / 2 d, and the anchors turn with
// their bodies.
static void look_ahead(ode_problem *pulled, int of, dVector3 anchor[2], double length,
                       double square)
{
    sprag_row *row = &pulled->row[of];
    double step = pulled->problem.step, most = step * step * square / (length * length);
    double acceleration = square / length;
    for (int side = 0; side < 2; side++) {
        if (row->body[side] != SPRAG_STATIC) {
            const double *w = pulled->body[row->body[side]].velocity + 3;
            double lever[3], part[3], turned[3];
            subtract3(anchor[side], dBodyGetPosition(pulled->island.body[row->body[side]]), lever);
            cross3(w, lever, part);
            cross3(w, part, turned);
            acceleration += dot3(row->jacobian[side], turned);
            most = fmax(most, step * step * dot3(w, w));
        }
    }
    double ahead = -0.5 * step * acceleration * fmax(0, 1 - most);
    pulled->ahead[of] = ahead;
    row->bias += ahead;
}

static void stiffen_distance(ode_problem *pulled, const ode_warm_start *warm_start, int of, int *at)
{
    dVector3 anchor[2];
    double t[2][3], tension = -pulled->row[of].guess, step = pulled->problem.step;
    double length = find_distance(pulled, of, anchor, t), square = 0;
    if (length == 0) {
        return;
    }
    sprag_row *row = &pulled->row[pulled->problem.rows];
    for (int k = 0; k < 2; k++) {
        row[k] = row_across(pulled, of, anchor, t[k]);
    }
    double w = 0.5 * (inverse_mass(pulled, &row[0]) + inverse_mass(pulled, &row[1]));
    double stiffness = w * step * step * tension / length; // relative to the mass 1 / w
    double added = (fmin(stiffness, load_most) - 1) / w;
    if (!(added > 0)) {
        return;
    }
    ode_stiffened_distance *to = &pulled->stiffened_distance[pulled->stiffened_distances++];
    *to = (ode_stiffened_distance){
        .joint = pulled->row_joint[of], .row = pulled->problem.rows, .added = added};
    const double *before = sprag_ode_warm_start_added(warm_start, to->joint, at);
    to->stored = before[1], to->share = before[2];
    double share = pulled->solve == ODE_WON ? 0 : to->share * sqrt(sqrt(before[0] / added));
    for (int k = 0; k < 2; k++) {
        double v = sprag_ode_rate(pulled, &row[k], NULL);
        square += v * v;
        to->target[k] = share * v;
        row[k].bias = to->target[k];
        row[k].compliance = step / added;
        pulled->row_joint[pulled->problem.rows++] = NULL;
    }
    if (pulled->solve == ODE_FIRST) {
        look_ahead(pulled, of, anchor, length, square);
    }
}

void sprag_ode_stiffen_distances(ode_problem *pulled, const ode_warm_start *warm_start,
                                 sprag_scratch *scratch)
{
    pulled->stiffened_distance = SPRAG_TAKE_RAW(scratch, pulled->distances, ode_stiffened_distance);
    for (int i = 0, at = 0; i < pulled->joint_rows && !scratch->failed; i++) {
        if (i == 0 || pulled->row_joint[i] != pulled->row_joint[i - 1]) {
            stiffen_distance(pulled, warm_start, i, &at);
        }
    }
}

// Whether the tension of a row's joint is beyond what its anchors' mass, and the added one, hold.
static bool has_grown(const ode_problem *pulled, int of, double added)
{
    dVector3 anchor[2];
    double t[2][3], tension = -pulled->solution.row_force[of], step = pulled->problem.step;
    double length = find_distance(pulled, of, anchor, t);
    if (pulled->row[of].guess == 0 || length == 0) {
        return false;
    }
    const sprag_row row = row_across(pulled, of, anchor, t[0]);
    double w = inverse_mass(pulled, &row);
    return step * step * tension / length > load_growth * (1 / w + added);
}

bool sprag_ode_distances_have_grown(const ode_problem *pulled)
{
    bool any = false;
    for (int i = 0, at = 0; i < pulled->joint_rows && pulled->distances > 0 && !any; i++) {
        if (i == 0 || pulled->row_joint[i] != pulled->row_joint[i - 1]) {
            const ode_stiffened_distance *next = &pulled->stiffened_distance[at];
            bool is_next = at < pulled->stiffened_distances && next->joint == pulled->row_joint[i];
            any = has_grown(pulled, i, is_next ? next->added : 0);
            at += is_next;
        }
    }
    return any;
}
