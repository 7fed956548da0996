// Derivatives of the residual with respect to states. Those by bodies, and by the rows of most
// joints, are known (row_slopes.c). Others are differences: bodies are displaced, ODE is asked
// again for their joints, contacts are found again, and the residual of these changes at the same
// velocities. Loads of joints that draw an island tight are found again from the rows and bodies.
//
// Displaced bodies with a neighbour in common would mix in the residual; others are displaced
// together, so that the number of evaluations does not grow with the length of a chain (Curtis,
// Powell, Reid: On the Estimation of Sparse Jacobian Matrices, 1974).
#include <math.h>
#include <string.h>

#include "frame_step.h"
#include "linalg.h"
#include "linearize_run.h"
#include "loads.h"
#include "mover.h"

// m, rad, m/s, rad/s: displacement of a difference. Larger: truncation errors; smaller: rounding.
static const double DISPLACEMENT = 1e-7;

static const char *const comes_or_goes =
    "a contact or a joint's row comes or goes with the slightest motion";

// ---- bodies and joints

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

static void take_row(component *c, int i, const sprag_row *near, int colour, int state)
{
    if (rows_are_same(near, &c->pulled.row[i])) {
        return;
    }
    const double slip = sprag_derivative_add_row(&c->derivative, i, near, c->change);
    for (int side = 0; side < 2; side++) {
        if (linearize_is_of(c, near->body[side], colour)) {
            c->slip[i][side][state] = slip / DISPLACEMENT;
        }
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

// Finds the rows of the joints of the bodies of a colour, which have another state. Without loads
// each is taken alone.
static bool ask_links(component *c, int colour, int state)
{
    sprag_row row[ODE_ROWS_MAX];
    for (int j = 0; j < c->links; j++) {
        const link *l = &c->link[j];
        bool here =
            linearize_is_of(c, l->body[0], colour) || linearize_is_of(c, l->body[1], colour);
        here &= state < VELOCITY || l->has_velocity;
        if ((l->slopes && !c->has_loads) || (!here && !c->has_pushes)) {
            continue;
        }
        if (!ask_link(c, l, row)) {
            return false;
        }
        for (int i = 0; i < l->rows && !c->has_loads; i++) {
            if (c->is_tight) { // as the joint looks ahead
                row[i].bias += c->pulled.row[l->row + i].bias - c->alone_row[l->row + i].bias;
            }
            take_row(c, l->row + i, &row[i], colour, state);
        }
        for (int i = 0; i < l->rows && c->has_loads; i++) {
            c->near.row[l->row + i] = row[i];
        }
    }
    return true;
}

// Reads the bodies of a colour, which have another state: their place makes no difference. A motor
// at its stop pushes bodies when its rows are asked for.
static void ask_bodies(component *c, int colour, int state)
{
    dVector3 gravity;
    dWorldGetGravity(c->world->id, gravity);
    for (int i = 0; i < c->bodies; i++) {
        if ((linearize_is_of(c, i, colour) && state >= TURN) || c->has_pushes) {
            sprag_ode_pull_body(&c->near.body[i], c->body[i], gravity, c->step);
            if (c->has_pushes && !c->is_tight) {
                take_body(c, i, &c->near.body[i]);
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
    near->load = none.load, near->loaded = none.loaded, near->loadeds = 0, near->loops = false;
    near->stiffened_body = none.stiffened_body, near->stiffened_bodies = 0;
    near->stiffened_distance = none.stiffened_distance, near->stiffened_distances = 0;
    sprag_ode_stiffen(near, c->world->warm_start, c->trial_scratch);
    if (c->trial_scratch->failed) {
        return linearize_not_pulled;
    }
    return near->problem.rows != c->pulled.problem.rows ? comes_or_goes
           : sprag_ode_arcs_differ(&c->pulled, near)
               ? "a joint's arc begins or ends with the slightest motion"
               : NULL;
}

// Adds the change of the residual by the problem near with its loads.
static const char *take_near(component *c, int colour, int state)
{
    ode_problem *near = &c->near;
    const char *why = add_loads(c);
    for (int i = 0; i < c->bodies && !why; i++) {
        take_body(c, i, &near->body[i]);
    }
    for (int i = 0; i < near->problem.rows && !why; i++) {
        take_row(c, i, &near->row[i], colour, state);
    }
    return why;
}

// Takes displacements out of the problem near, and loads that are to be found anew.
static void reset_near(component *c)
{
    const sprag_body *from = c->has_loads ? c->alone_body : c->pulled.body;
    memcpy(c->near.body, from, (size_t)c->bodies * sizeof *c->near.body);
    if (c->has_loads) {
        memcpy(c->near.row, c->alone_row, (size_t)c->near.joint_rows * sizeof *c->near.row);
    }
}

// Finds the rows of each joint in the problem.
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

// Finds which rows have slopes that are known. Loads are by the forces of single rows, and so by
// how ODE turns the axes of a plane, of which slopes know the plane alone: with loads, they count
// for ways alone, if these leave the loads as they are. false: no memory.
static bool find_slopes(component *c)
{
    for (int j = 0; j < c->links && (!c->is_tight || c->turning > 0); j++) {
        link *l = &c->link[j];
        l->slopes = SPRAG_TAKE_RAW(c->scratch, l->rows, *l->slopes);
        if (!l->slopes) {
            return l->rows == 0;
        }
        if (!sprag_ode_row_slopes(l->slopes, c->alone_row + l->row, l->rows, l->joint, c->world->id,
                                  c->step)) {
            l->slopes = NULL;
        }
    }
    return true;
}

// Asks for what loads have changed, without displacement and loads.
static const char *ask_tight(component *c)
{
    const size_t bodies = (size_t)c->bodies, rows = (size_t)c->pulled.joint_rows,
                 most = rows + 2 * (size_t)c->pulled.distances;
    c->near.row = SPRAG_TAKE_RAW(c->scratch, most, sprag_row);
    c->alone_body = SPRAG_TAKE_RAW(c->scratch, bodies, sprag_body);
    c->alone_row = SPRAG_TAKE_RAW(c->scratch, most, sprag_row);
    if (c->scratch->failed) {
        return linearize_not_pulled;
    }
    if (!ask_links(c, ALL, POSITION)) {
        return comes_or_goes;
    }
    ask_bodies(c, ALL, TURN);
    memcpy(c->alone_body, c->near.body, bodies * sizeof *c->alone_body);
    memcpy(c->alone_row, c->near.row, rows * sizeof *c->alone_row);
    return NULL;
}

static const char *find_alone(component *c)
{
    const ode_problem *pulled = &c->pulled;
    find_rows(c);
    c->is_tight = pulled->stiffened_bodies > 0 || pulled->stiffened_distances > 0 || pulled->arcs;
    c->has_loads = c->is_tight;
    c->alone_body = pulled->body;
    c->alone_row = pulled->row;
    c->near = *pulled;
    c->near.body = SPRAG_TAKE_RAW(c->scratch, c->bodies, sprag_body);
    c->index.state = SPRAG_TAKE_RAW(c->scratch, c->bodies, ode_state);
    if (c->scratch->failed) {
        return linearize_not_pulled;
    }
    const char *why = c->is_tight ? ask_tight(c) : NULL;
    if (!why) {
        reset_near(c);
    }
    return why || find_slopes(c) ? why : linearize_not_pulled;
}

// ---- columns of X

// Takes the change of the residual at a body and its neighbours, by a state of the body, and sets
// it to 0.
static void take_column(component *c, const bool *asked, int body, int state)
{
    for (int i = 0; i < c->bodies; i++) {
        for (int k = 0; k < 6 && asked[body * c->bodies + i]; k++) {
            linearize_entry(c, i, k, body)[state] = -c->change[i][k] / DISPLACEMENT;
            c->change[i][k] = 0;
        }
    }
}

// The columns of a state of the bodies of a colour.
static const char *ask_state(component *c, int colour, int state)
{
    const bool *asked;
    bool any = false;
    double way[STATES] = {0};
    way[state] = DISPLACEMENT;
    c->has_loads = c->is_tight && (state >= TURN || !(c->turning > 0));
    asked = c->has_loads ? c->adjacent : c->asked;
    for (int i = 0; i < c->bodies; i++) {
        if (linearize_is_of(c, i, colour) && asked[i * c->bodies + i]) {
            linearize_displace(c->of[i], way);
            any = true;
        }
    }
    if (!any) {
        return NULL;
    }
    reset_near(c);
    sprag_scratch_reset(c->trial_scratch);
    const char *why = ask_links(c, colour, state) ? NULL : comes_or_goes;
    ask_bodies(c, colour, state);
    why = why || !c->has_loads ? why : take_near(c, colour, state);
    if (!why && (state < VELOCITY || !c->is_plain)) {
        why = linearize_add_contacts(c, colour);
    }
    for (int i = 0; i < c->bodies; i++) {
        if (linearize_is_of(c, i, colour) && asked[i * c->bodies + i]) {
            linearize_put_back(c->of[i]);
            take_column(c, asked, i, state);
        }
    }
    return why;
}

// Finds which residuals the displaced bodies change; of loads, those of all neighbours.
static void find_asked(component *c)
{
    const size_t n = (size_t)c->bodies;
    if ((c->is_tight && !(c->turning > 0)) || c->has_pushes) {
        memcpy(c->asked, c->adjacent, n * n * sizeof *c->asked);
    }
    for (int j = 0; j < c->links + c->contacts; j++) {
        const int *body = j < c->links ? c->link[j].body : c->contact[j - c->links].body;
        for (int by = 0; by < 2 && (j >= c->links || !c->link[j].slopes); by++) {
            for (int of = 0; of < 2 && body[by] >= 0; of++) {
                if (body[of] >= 0) {
                    c->asked[body[by] * c->bodies + body[of]] = true;
                }
            }
        }
    }
}

// Do two bodies change the residual of the same one?
static bool mix(const component *c, const bool *asked, int a, int b)
{
    for (int i = 0; i < c->bodies; i++) {
        if (asked[a * c->bodies + i] && asked[b * c->bodies + i]) {
            return true;
        }
    }
    return false;
}

// Bodies that have to be displaced get colours.
static int colour_bodies(component *c)
{
    const bool *asked = c->is_tight ? c->adjacent : c->asked;
    int colours = 0;
    for (int i = 0; i < c->bodies; i++) {
        c->of[i]->colour = asked[i * c->bodies + i] ? 0 : KNOWN;
    }
    for (int i = 0; i < c->bodies; i++) {
        if (c->of[i]->colour == KNOWN) {
            continue;
        }
        int colour = 0;
        for (int j = 0; j < i; j++) { // starts again with the next colour
            if (c->of[j]->colour == colour && mix(c, asked, i, j)) {
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
    c->is_plain = true;
    c->has_loads = false;
    reset_near(c);
    for (int i = 0; i < c->bodies; i++) {
        double way[STATES] = {0};
        if (c->of[i]->colour == KNOWN) {
            continue;
        }
        for (int k = VELOCITY; k < STATES; k++) {
            way[k] = DISPLACEMENT * (1 + fmod(0.618 * (STATES * i + k), 1));
        }
        linearize_displace(c->of[i], way);
    }
    ask_bodies(c, ALL, VELOCITY);
    const char *why = linearize_add_contacts(c, ALL);
    for (int j = 0; j < c->links && !why; j++) {
        link *l = &c->link[j];
        sprag_row row[ODE_ROWS_MAX];
        if (l->slopes) {
            continue;
        }
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
        if (c->of[i]->colour == KNOWN) {
            continue;
        }
        linearize_put_back(c->of[i]);
        sprag_ode_set_accumulators(c->body[i], c->pulled.force[i]);
    }
    c->is_plain &= !c->is_tight;
    return why;
}

// ---- what is known

// Adds the derivatives of a body's momentum balance, I (w - w0) - h torque(I, w0) but for constant
// terms, by its turn, with which I and the torque turn, and by its velocities.
static void add_body(component *c, int i)
{
    const sprag_body *body = &c->alone_body[i];
    const double *I = body->inertia, *w = c->of[i]->velocity + 3, h = c->step;
    double torque[3] = {0}, slope[9] = {0}, gain[3], balance[3];
    if (dBodyGetGyroscopicMode(c->body[i])) {
        sprag_gyroscopic_torque(I, w, h, torque);
        sprag_gyroscopic_slope(I, w, h, slope);
    }
    subtract3(c->pulled.solution.velocity[i] + 3, w, gain);
    mul33(I, gain, balance);
    add_scaled(balance, -h, torque, 3);
    for (int k = 0; k < 3; k++) {
        const double axis[3] = {k == 0, k == 1, k == 2};
        double turned[3], spun[3], of_gain[3], of_slope[3], of_balance[3];
        cross3(axis, gain, turned);
        cross3(axis, w, spun);
        cross3(axis, balance, of_balance);
        mul33(I, turned, of_gain);
        mul33(slope, spun, of_slope);
        linearize_entry(c, i, k, i)[VELOCITY + k] += body->mass;
        for (int j = 0; j < 3; j++) {
            double *entry = linearize_entry(c, i, 3 + j, i);
            entry[TURN + k] += of_gain[j] - of_balance[j] - h * of_slope[j];
            entry[SPIN + k] += I[3 * j + k] + h * slope[3 * j + k];
        }
    }
}

// Adds the derivatives of a row by six states of the body on a side, from `first` on.
static void add_slopes(component *c, int row, int by, const sprag_row_slopes *slopes, int first)
{
    const int *body = c->pulled.row[row].body;
    double *to[2] = {NULL};
    for (int of = 0; of < 2 && body[of] >= 0; of++) {
        to[of] = linearize_entry(c, body[of], 0, body[by]) + first;
    }
    double slip[6];
    sprag_derivative_take_row(&c->derivative, row, slopes, to, STATES * (size_t)c->bodies, slip);
    add_scaled(c->slip[row][by] + first, 1, slip, 6);
}

static void keep_ways(sprag_row_slopes *slopes)
{
    for (int i = 0; i < 12; i++) {
        memset(slopes->jacobian[i / 6][i % 6] + TURN, 0, 3 * sizeof(double));
    }
    memset(slopes->bias + TURN, 0, 3 * sizeof(double));
}

// Adds the derivatives of the rows of a joint by the poses of its bodies; by ways alone, where
// turns are displacements.
static void add_link(component *c, const link *l)
{
    for (int i = l->row; i < l->row + l->rows; i++) {
        for (int by = 0; by < 2 && c->pulled.row[i].body[by] >= 0; by++) {
            sprag_row_slopes *slopes = &l->slopes[i - l->row][by];
            if (c->is_tight) {
                keep_ways(slopes);
            }
            add_slopes(c, i, by, slopes, POSITION);
        }
    }
}

static void clear_columns(component *c)
{
    for (int i = 0; i < c->bodies; i++) {
        for (int by = 0; by < c->bodies; by++) {
            for (int k = 0; k < 6 && c->adjacent[by * c->bodies + i]; k++) {
                memset(linearize_entry(c, i, k, by), 0, STATES * sizeof *c->X);
            }
        }
    }
}

static void add_known(component *c)
{
    const bool known = !c->is_tight || c->turning > 0;
    for (int i = 0; i < c->bodies && !c->is_tight && !c->has_pushes; i++) {
        add_body(c, i);
    }
    for (int j = 0; j < c->links && known; j++) {
        if (c->link[j].slopes) {
            add_link(c, &c->link[j]);
        }
    }
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
    const char *why = find_alone(c);
    if (c->is_tight) {
        join_parts(c);
    }
    clear_columns(c);
    find_asked(c);
    const int colours = colour_bodies(c);
    why = why ? why : ask_velocities(c);
    for (int colour = 0; colour < colours && !why; colour++) {
        for (int state = 0; state < STATES && !why; state++) {
            bool is_known = c->is_plain && state >= VELOCITY && !c->has_pushes;
            why = is_known ? NULL : ask_state(c, colour, state);
        }
    }
    add_known(c);
    return why;
}
