// Derivatives of the residual with respect to states, by differences: bodies are displaced, ODE is
// asked again for them and their joints, contacts are found again, and the residual of these
// changes at the same velocities. Loads of joints that draw an island tight are found again from
// the rows.
//
// Displaced bodies with a neighbour in common would mix in the residual; others are displaced
// together, so that the number of evaluations does not grow with the length of a chain (Curtis,
// Powell, Reid: On the Estimation of Sparse Jacobian Matrices, 1974).
#include <math.h>
#include <string.h>

#include "linearize_run.h"

// m, rad, m/s, rad/s: displacement of a difference. Larger: truncation errors; smaller: rounding.
static const double DISPLACEMENT = 1e-7;

static const char *const comes_or_goes =
    "a contact or a joint's row comes or goes with the slightest motion";
static const char *const contact_goes = "a contact goes with the slightest motion";
static const char *const not_pulled = "no memory, or a state that is not finite";

enum { ALL = -1 }; // in place of a colour

// ---- bodies and joints

static bool is_of(const component *c, int body, int colour)
{
    return colour == ALL || (body >= 0 && c->of[body]->colour == colour);
}

static bool rows_are_same(const sprag_row *a, const sprag_row *b)
{
    return memcmp(a->jacobian, b->jacobian, sizeof a->jacobian) == 0 && a->bias == b->bias &&
           a->compliance == b->compliance && a->lo == b->lo && a->hi == b->hi;
}

static bool bodies_are_same(const sprag_body *a, const sprag_body *b)
{
    return memcmp(a->inertia, b->inertia, sizeof a->inertia) == 0 &&
           memcmp(a->free_velocity, b->free_velocity, sizeof a->free_velocity) == 0;
}

// Adds the change of the residual by a body or row, unless it is as it was.
static void take_body(component *c, int i, const sprag_body *near)
{
    if (!bodies_are_same(near, &c->pulled.body[i])) {
        sprag_derivative_add_body(&c->derivative, i, near, c->change[i]);
    }
}

static void take_row(component *c, int i, const sprag_row *near)
{
    if (!rows_are_same(near, &c->pulled.row[i])) {
        sprag_derivative_add_row(&c->derivative, i, near, c->change);
    }
}

// false: the number of rows is another.
static bool ask_link(const component *c, const link *l, sprag_row row[ODE_ROWS_MAX])
{
    int rows = sprag_ode_count_rows(l->joint).rows;
    if (rows > ODE_ROWS_MAX) {
        return false;
    }
    rows = sprag_ode_pull_rows(row, l->joint, rows, c->world->id, c->step, &c->index, NULL, NULL);
    for (int i = 0; i < rows && rows == l->rows; i++) {
        row[i].guess = c->pulled.row[l->row + i].guess;
    }
    return rows == l->rows;
}

// Asks for the joints of the bodies of a colour, which have another state. Without loads each is
// taken alone.
static bool ask_links(component *c, int colour, int state)
{
    sprag_row row[ODE_ROWS_MAX];
    for (int j = 0; j < c->links; j++) {
        const link *l = &c->link[j];
        bool here = is_of(c, l->body[0], colour) || is_of(c, l->body[1], colour);
        here &= state < VELOCITY || l->has_velocity;
        if (!here && !c->has_pushes) {
            continue;
        }
        if (!ask_link(c, l, row)) {
            return false;
        }
        for (int i = 0; i < l->rows && !c->is_tight; i++) {
            take_row(c, l->row + i, &row[i]);
        }
        memcpy(c->near.row + l->row, row, (size_t)(c->is_tight ? l->rows : 0) * sizeof *row);
    }
    return true;
}

// Likewise for the bodies: their place makes no difference. A motor at its stop pushes bodies when
// its rows are asked for.
static void ask_bodies(component *c, int colour, int state)
{
    dVector3 gravity;
    dWorldGetGravity(c->world->id, gravity);
    for (int i = 0; i < c->bodies; i++) {
        if ((is_of(c, i, colour) && state >= TURN) || c->has_pushes) {
            sprag_body near;
            double now[6];
            sprag_ode_pull_body(&near, c->body[i], gravity, c->step);
            sprag_ode_read_accumulators(c->body[i], now);
            c->has_pushes |= memcmp(now, c->pulled.force[i], sizeof now) != 0;
            if (c->is_tight) {
                c->near.body[i] = near;
            } else {
                take_body(c, i, &near);
            }
        }
        sprag_ode_set_accumulators(c->body[i], c->pulled.force[i]);
    }
}

// Adds the loads of the problem near.
static const char *add_loads(component *c)
{
    ode_problem *near = &c->near;
    const ode_problem none = {0};
    near->problem.rows = near->joint_rows;
    near->part = NULL; // measured anew
    near->load = none.load, near->loaded = none.loaded, near->loadeds = 0;
    near->stiffened_body = none.stiffened_body, near->stiffened_bodies = 0;
    near->stiffened_distance = none.stiffened_distance, near->stiffened_distances = 0;
    sprag_ode_stiffen(near, c->world->warm_start, c->trial_scratch);
    if (c->trial_scratch->failed) {
        return not_pulled;
    }
    return near->problem.rows != c->pulled.problem.rows ? comes_or_goes
           : sprag_ode_arcs_differ(&c->pulled, near)
               ? "a joint's arc begins or ends with the slightest motion"
               : NULL;
}

// Adds the change of the residual by the problem near with its loads, and takes the displacement
// out of it.
static const char *take_near(component *c)
{
    ode_problem *near = &c->near;
    const char *why = add_loads(c);
    for (int i = 0; i < c->bodies && !why; i++) {
        take_body(c, i, &near->body[i]);
    }
    for (int i = 0; i < near->problem.rows && !why; i++) {
        take_row(c, i, &near->row[i]);
    }
    memcpy(near->body, c->alone_body, (size_t)c->bodies * sizeof *near->body);
    memcpy(near->row, c->alone_row, (size_t)near->joint_rows * sizeof *near->row);
    return why;
}

// Of each joint in the problem.
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

// Asks for all, without displacement.
static const char *ask_alone(component *c)
{
    const size_t bodies = (size_t)c->bodies, rows = (size_t)c->pulled.joint_rows,
                 most = rows + 2 * (size_t)c->pulled.distances;
    c->near = c->pulled;
    c->near.body = SPRAG_TAKE_RAW(c->scratch, bodies, sprag_body);
    c->near.row = SPRAG_TAKE_RAW(c->scratch, most, sprag_row);
    c->alone_body = SPRAG_TAKE_RAW(c->scratch, bodies, sprag_body);
    c->alone_row = SPRAG_TAKE_RAW(c->scratch, most, sprag_row);
    if (c->scratch->failed) {
        return not_pulled;
    }
    find_rows(c);
    c->is_tight = true; // keeps what is asked in the problem near
    if (!ask_links(c, ALL, POSITION)) {
        return comes_or_goes;
    }
    ask_bodies(c, ALL, TURN);
    memcpy(c->alone_body, c->near.body, bodies * sizeof *c->alone_body);
    memcpy(c->alone_row, c->near.row, rows * sizeof *c->alone_row);
    c->is_tight = c->pulled.problem.rows > c->pulled.joint_rows;
    for (size_t i = 0; i < bodies; i++) {
        c->is_tight |= !bodies_are_same(&c->alone_body[i], &c->pulled.body[i]);
    }
    for (size_t i = 0; i < rows; i++) {
        c->is_tight |= !rows_are_same(&c->alone_row[i], &c->pulled.row[i]);
    }
    return NULL;
}

// ---- contacts

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

// ---- columns of X

// Takes the change of the residual at a body and its neighbours, by a state of the body, and sets
// it to 0.
static void take_column(component *c, int body, int state)
{
    for (int i = 0; i < c->bodies; i++) {
        for (int k = 0; k < 6 && c->adjacent[body * c->bodies + i]; k++) {
            linearize_entry(c, i, k, body)[state] = -c->change[i][k] / DISPLACEMENT;
            c->change[i][k] = 0;
        }
    }
}

// Adds the change of the residual by the contacts of a colour.
static const char *add_contacts(component *c, int colour)
{
    const char *why = NULL;
    for (int i = 0; i < c->contacts && !why; i++) {
        const contact *of = &c->contact[i];
        bool here = is_of(c, of->body[0], colour) || is_of(c, of->body[1], colour);
        for (int k = 0; k < i && here; k++) { // once a pair
            here = !is_pair(c->contact[k].body, of->body);
        }
        why = here ? add_pair(c, of) : NULL;
    }
    for (int i = 0; i < c->contacts; i++) {
        linearize_restore_contact(&c->contact[i]);
    }
    return why;
}

// The columns of a state of the bodies of a colour.
static const char *ask_state(component *c, int colour, int state)
{
    double way[STATES] = {0};
    way[state] = DISPLACEMENT;
    for (int i = 0; i < c->bodies; i++) {
        if (is_of(c, i, colour)) {
            linearize_displace(c->of[i], way);
        }
    }
    sprag_scratch_reset(c->trial_scratch);
    const char *why = ask_links(c, colour, state) ? NULL : comes_or_goes;
    ask_bodies(c, colour, state);
    why = why || !c->is_tight ? why : take_near(c);
    if (!why && (state < VELOCITY || !c->is_plain)) {
        why = add_contacts(c, colour);
    }
    for (int i = 0; i < c->bodies; i++) {
        if (is_of(c, i, colour)) {
            linearize_put_back(c->of[i]);
            take_column(c, i, state);
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

// Finds what depends on velocities: it is different for all bodies at once.
static const char *ask_velocities(component *c)
{
    c->is_plain = !c->is_tight;
    for (int i = 0; i < c->bodies; i++) {
        double way[STATES] = {0};
        for (int k = VELOCITY; k < STATES; k++) {
            way[k] = DISPLACEMENT * (1 + fmod(0.618 * (STATES * i + k), 1));
        }
        linearize_displace(c->of[i], way);
    }
    const char *why = add_contacts(c, ALL);
    for (int j = 0; j < c->links && !why; j++) {
        link *l = &c->link[j];
        sprag_row row[ODE_ROWS_MAX];
        why = ask_link(c, l, row) ? NULL : comes_or_goes;
        for (int i = 0; i < l->rows && !why; i++) {
            l->has_velocity |= !rows_are_same(&row[i], &c->alone_row[l->row + i]);
        }
        c->is_plain &= !l->has_velocity;
    }
    for (int i = 0; i < c->bodies; i++) {
        for (int k = 0; k < 6; k++) {
            c->is_plain &= c->change[i][k] == 0;
            c->change[i][k] = 0;
        }
        linearize_put_back(c->of[i]);
        sprag_ode_set_accumulators(c->body[i], c->pulled.force[i]);
    }
    return why;
}

// The first of the bodies that what acts on one acts on all of: those that joints weld share the
// inertia of a load, those of a group that is not tied to the world the turn that it pulls them
// towards. -1: the world.
static int first_of(const component *c, int body)
{
    const int group = sprag_ode_group(&c->pulled, body);
    return group > 0 ? group - 1 : sprag_ode_part(&c->pulled, body);
}

static void join_parts(component *c)
{
    const int n = c->bodies;
    for (int round = 0; round < 2; round++) { // to the first bodies, and back
        for (int i = 0; i < n * n; i++) {
            const int a = first_of(c, i / n), b = first_of(c, i % n);
            if (a >= 0 && b >= 0) {
                bool *from = &c->adjacent[round ? a * n + b : i];
                c->adjacent[round ? i : a * n + b] |= *from;
            }
        }
    }
}

const char *linearize_ask(component *c)
{
    const char *why = ask_alone(c);
    why = why ? why : ask_velocities(c);
    if (c->is_tight) {
        join_parts(c);
    }
    const int colours = colour_bodies(c);
    for (int colour = 0; colour < colours && !why; colour++) {
        for (int state = 0; state < STATES && !why; state++) {
            bool is_known = c->is_plain && state >= VELOCITY && state < SPIN;
            why = is_known ? NULL : ask_state(c, colour, state);
        }
    }
    return why;
}
