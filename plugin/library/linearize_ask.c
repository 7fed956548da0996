// Derivatives of the residual with respect to states, by differences: a body is displaced, ODE is
// asked again for its joints alone, its contacts and what it does free, and the residual of these
// changes at the same velocities.
//
// More depends on a body than these in an island that joints draw tight: ODE is asked for it as a
// whole. Displaced bodies with a neighbour in common would mix in the residual;
// others are displaced together, so that the number of evaluations does not grow with the length of
// a chain (Curtis, Powell, Reid: On the Estimation of Sparse Jacobian Matrices, 1974).
#include <math.h>
#include <string.h>

#include "linearize_run.h"

// m, rad, m/s, rad/s: displacement of a difference. Larger: truncation errors; smaller: rounding.
static const double DISPLACEMENT = 1e-7;

static void displace_along(const subject *s, int state)
{
    double way[STATES] = {0};
    way[state] = DISPLACEMENT;
    linearize_displace(s, way);
}

// Takes the change of the residual at a body and its neighbours, by a state of the body, and sets
// it to 0.
static void take_column(component *c, int body, int state)
{
    for (int i = 0; i < c->bodies; i++) {
        if (!c->adjacent[body * c->bodies + i]) {
            continue;
        }
        for (int k = 0; k < 6; k++) {
            *linearize_entry(c->X, linearize_columns(c), 6 * i + k, STATES * body + state) =
                -c->change[i][k] / DISPLACEMENT;
            c->change[i][k] = 0;
        }
    }
}

// ---- bodies, joints and contacts, each alone

static const char *const comes_or_goes =
    "a contact or a joint's row comes or goes with the slightest motion";
static const char *const contact_goes = "a contact goes with the slightest motion";
static const char *const not_pulled = "no memory, or a state that is not finite";

// Asks for the rows of a joint. false: their number is another.
static bool ask_link(const component *c, const link *l, sprag_row *row)
{
    int rows = sprag_ode_count_rows(l->joint).rows;
    if (rows > ODE_ROWS_MAX) {
        return false;
    }
    rows = sprag_ode_pull_rows(row, l->joint, rows, c->world->id, c->step, &c->index, NULL);
    for (int side = 0; side < 2; side++) { // a motor at its stop has pushed them
        if (l->body[side] >= 0) {
            sprag_ode_set_accumulators(c->body[l->body[side]], c->pulled.force[l->body[side]]);
        }
    }
    return rows == l->rows;
}

static bool rows_are_same(const sprag_row *a, const sprag_row *b)
{
    return memcmp(a->jacobian, b->jacobian, sizeof a->jacobian) == 0 && a->bias == b->bias &&
           a->compliance == b->compliance && a->lo == b->lo && a->hi == b->hi;
}

// Are the rows of a joint, asked for now, those of the problem?
static bool is_same_link(const component *c, const link *l)
{
    sprag_row row[ODE_ROWS_MAX];
    bool same = ask_link(c, l, row);
    for (int i = 0; i < l->rows && same; i++) {
        same = rows_are_same(&row[i], &c->pulled.row[l->row + i]);
    }
    return same;
}

static void ask_body(const component *c, int i, sprag_body *body)
{
    dVector3 gravity;
    dWorldGetGravity(c->world->id, gravity);
    sprag_ode_pull_body(body, c->body[i], gravity, c->step);
}

static bool is_same_body(const component *c, int i)
{
    sprag_body body;
    ask_body(c, i, &body);
    return memcmp(body.inertia, c->pulled.body[i].inertia, sizeof body.inertia) == 0 &&
           memcmp(body.free_velocity, c->pulled.body[i].free_velocity, sizeof body.free_velocity) ==
               0;
}

// Are all bodies and joints, asked for alone, those of the island?
static bool stand_alone(const component *c)
{
    bool alone = !c->pulled.arcs && !c->world->settings.stiffness.speculative &&
                 c->pulled.problem.rows == c->pulled.joint_rows;
    for (int i = 0; i < c->bodies && alone; i++) {
        alone = is_same_body(c, i);
    }
    for (int j = 0; j < c->links && alone; j++) {
        alone = is_same_link(c, &c->link[j]);
    }
    return alone;
}

// The rows of each joint in the problem.
static void find_rows(component *c)
{
    for (int j = 0, row = 0; j < c->links; j++) {
        link *l = &c->link[j];
        l->row = row;
        while (row < c->pulled.joint_rows && c->pulled.row_joint[row] == l->joint) {
            row++;
        }
        l->rows = row - l->row;
    }
}

// Finds the joints whose rows depend on velocities: these are different for all bodies at once.
static void find_velocity_links(component *c)
{
    for (int i = 0; i < c->bodies; i++) {
        double way[STATES] = {0};
        for (int k = VELOCITY; k < STATES; k++) {
            way[k] = DISPLACEMENT * (1 + fmod(0.618 * (STATES * i + k), 1));
        }
        linearize_displace(c->of[i], way);
    }
    for (int j = 0; j < c->links; j++) {
        c->link[j].has_velocity = !is_same_link(c, &c->link[j]);
    }
    for (int i = 0; i < c->bodies; i++) {
        linearize_put_back(c->of[i]);
    }
}

static const char *add_link(component *c, const link *l)
{
    sprag_row row[ODE_ROWS_MAX];
    if (!ask_link(c, l, row)) {
        return comes_or_goes;
    }
    for (int i = 0; i < l->rows; i++) {
        sprag_derivative_add_row(&c->derivative, l->row + i, &row[i], c->change);
    }
    return NULL;
}

static bool is_pair(const int *a, const int *b)
{
    return (a[0] == b[0] && a[1] == b[1]) || (a[0] == b[1] && a[1] == b[0]);
}

// The contacts of a pair as an island of their own.
static ode_island island_of_pair(component *c, const contact *of, int index[2], dBodyID body[2])
{
    ode_island island = {.body = body, .joint = c->pair_joint};
    for (int side = 0; side < 2; side++) {
        if (of->body[side] >= 0) {
            index[island.bodies] = of->body[side];
            body[island.bodies++] = c->body[of->body[side]];
        }
    }
    for (int i = 0; i < c->contacts; i++) {
        if (is_pair(c->contact[i].body, of->body)) {
            c->pair_joint[island.joints++] = c->contact[i].joint;
        }
    }
    return island;
}

// Finds which contacts of the problem those of a pair are. false: they are others.
static bool find_pair_contacts(component *c, const ode_problem *trial)
{
    int found = 0;
    for (int i = 0; i < c->pulled.problem.contacts; i++) {
        bool is_here = found < trial->problem.contacts &&
                       trial->contact_joint[found] == c->pulled.contact_joint[i];
        if (is_here) {
            c->pair_contact[found++] = i;
        }
    }
    return found == trial->problem.contacts;
}

static const char *add_pair(component *c, const contact *of)
{
    ode_problem trial;
    const world_state *w = c->world;
    int index[2];
    dBodyID body[2];
    const ode_island island = island_of_pair(c, of, index, body);
    for (int i = 0; i < c->contacts; i++) {
        if (is_pair(c->contact[i].body, of->body) && !linearize_move_contact(&c->contact[i])) {
            return contact_goes;
        }
    }
    sprag_scratch_reset(c->trial_scratch);
    sprag_result result = sprag_ode_pull(&trial, w->id, &island, c->step, &w->settings.stiffness,
                                         w->warm_start, c->trial_scratch);
    if (result == SPRAG_OK && !find_pair_contacts(c, &trial)) {
        return comes_or_goes;
    }
    if (result == SPRAG_OK) {
        result = sprag_derivative_add_contacts(&c->derivative, &trial.problem, index,
                                               c->pair_contact, c->trial_scratch, c->change);
    }
    return result == SPRAG_OK ? NULL : not_pulled;
}

// The change of the residual by a body that is displaced.
static const char *add_all_of(component *c, int body, int state)
{
    const char *why = NULL;
    sprag_body near = c->pulled.body[body];
    if (state >= VELOCITY && state < SPIN) {
        near.free_velocity[state - VELOCITY] += DISPLACEMENT;
    } else if (state >= TURN) {
        ask_body(c, body, &near);
    }
    if (state >= TURN) {
        sprag_derivative_add_body(&c->derivative, body, &near, c->change[body]);
    }
    for (int j = 0; j < c->links && !why; j++) {
        const link *l = &c->link[j];
        bool here = l->body[0] == body || l->body[1] == body;
        why = here && (state < VELOCITY || l->has_velocity) ? add_link(c, l) : NULL;
    }
    for (int i = 0; i < c->contacts && !why; i++) {
        const contact *of = &c->contact[i];
        bool here = of->body[0] == body || of->body[1] == body;
        for (int k = 0; k < i && here; k++) { // once a pair
            here = !is_pair(c->contact[k].body, of->body);
        }
        why = here ? add_pair(c, of) : NULL;
    }
    return why;
}

static void restore_contacts(component *c)
{
    for (int i = 0; i < c->contacts; i++) {
        linearize_restore_contact(&c->contact[i]);
    }
}

static const char *ask_each(component *c)
{
    const char *why = NULL;
    find_velocity_links(c);
    for (int body = 0; body < c->bodies; body++) {
        for (int state = 0; state < STATES && !why; state++) {
            displace_along(c->of[body], state);
            why = add_all_of(c, body, state);
            linearize_put_back(c->of[body]);
            restore_contacts(c);
            take_column(c, body, state);
        }
    }
    return why;
}

// ---- the island as a whole

// Of the residual, by what is displaced now.
static const char *change_of(component *c)
{
    ode_problem trial;
    const world_state *w = c->world;
    sprag_scratch_reset(c->trial_scratch);
    sprag_result result = sprag_ode_pull(&trial, w->id, &c->island, c->step, &w->settings.stiffness,
                                         w->warm_start, c->trial_scratch);
    sprag_ode_restore(&trial);
    const sprag_problem *problem = &trial.problem;
    if (result == SPRAG_OK && (problem->contacts != c->pulled.problem.contacts ||
                               problem->rows != c->pulled.problem.rows)) {
        return comes_or_goes;
    }
    if (result == SPRAG_OK && sprag_ode_arcs_differ(&c->pulled, &trial)) {
        return "a joint's arc begins or ends with the slightest motion";
    }
    memset(c->change, 0, (size_t)c->bodies * sizeof *c->change);
    int most = problem->contacts > c->bodies ? problem->contacts : c->bodies;
    int *same = SPRAG_TAKE_RAW(c->trial_scratch, most, int);
    if (result != SPRAG_OK || !same) {
        return not_pulled;
    }
    for (int i = 0; i < most; i++) {
        same[i] = i;
    }
    for (int i = 0; i < c->bodies; i++) {
        sprag_derivative_add_body(&c->derivative, i, &problem->body[i], c->change[i]);
    }
    for (int i = 0; i < problem->rows; i++) {
        sprag_derivative_add_row(&c->derivative, i, &problem->row[i], c->change);
    }
    result = sprag_derivative_add_contacts(&c->derivative, problem, same, same, c->trial_scratch,
                                           c->change);
    return result == SPRAG_OK ? NULL : "no memory";
}

// The change of the residual with bodies of a colour displaced along a state.
static const char *displaced_change(component *c, int colour, int state)
{
    const char *why = NULL;
    for (int i = 0; i < c->bodies; i++) {
        if (c->of[i]->colour == colour) {
            displace_along(c->of[i], state);
        }
    }
    for (int i = 0; i < c->contacts && state < VELOCITY && !why; i++) {
        bool moved = false;
        for (int side = 0; side < 2; side++) {
            int b = c->contact[i].body[side];
            moved |= b >= 0 && c->of[b]->colour == colour;
        }
        if (moved && !linearize_move_contact(&c->contact[i])) {
            why = contact_goes;
        }
    }
    why = why ? why : change_of(c);
    restore_contacts(c);
    for (int i = 0; i < c->bodies; i++) {
        if (c->of[i]->colour == colour) {
            linearize_put_back(c->of[i]);
        }
    }
    return why;
}

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

static const char *ask_whole(component *c)
{
    const char *why = NULL;
    int colours = colour_bodies(c);
    for (int colour = 0; colour < colours; colour++) {
        for (int state = 0; state < STATES && !why; state++) {
            why = displaced_change(c, colour, state);
            for (int i = 0; i < c->bodies && !why; i++) {
                if (c->of[i]->colour == colour) {
                    take_column(c, i, state);
                }
            }
        }
    }
    return why;
}

const char *linearize_ask(component *c)
{
    find_rows(c);
    return stand_alone(c) ? ask_each(c) : ask_whole(c);
}
