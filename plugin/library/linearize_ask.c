// Derivatives of the residual with respect to states. Some are known (linearize_known.c). Others
// are differences at the same velocities: bodies are displaced, ODE is asked again for a joint,
// contacts are found again. Where loads follow more than turns, or forces on bodies their joints,
// the whole problem is found again.
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

// Returns the change of its slip.
static double take_row(component *c, int i, const sprag_row *near)
{
    return rows_are_same(near, &c->pulled.row[i])
               ? 0
               : sprag_derivative_add_row(&c->derivative, i, near, c->change);
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

// Finds the rows of the joints of the bodies of a colour, which have another state.
static bool ask_links(component *c, int colour, int state)
{
    sprag_row row[ODE_ROWS_MAX];
    for (int j = 0; j < c->links && c->is_anew; j++) {
        const link *l = &c->link[j];
        bool here =
            linearize_is_of(c, l->body[0], colour) || linearize_is_of(c, l->body[1], colour);
        here &= state < VELOCITY || l->has_velocity;
        if (!here && !c->has_pushes) {
            continue;
        }
        if (!ask_link(c, l, row)) {
            return false;
        }
        memcpy(&c->near.row[l->row], row, (size_t)l->rows * sizeof *row);
    }
    return true;
}

// Adds what a load adds to a body.
static void add_inertia(const component *c, int i, int state)
{
    double *I = c->near.body[i].inertia;
    const double *loaded = c->pulled.body[i].inertia, *own = c->alone_body[i].inertia;
    for (int k = 0; k < 9; k++) {
        I[k] = state < VELOCITY ? I[k] + loaded[k] - own[k] : loaded[k];
    }
    if (state < VELOCITY) {
        add_scaled(I, DISPLACEMENT, c->turned[3 * i + state - TURN].added, 9);
    }
}

// Reads the bodies of a colour, which have another state: their place makes no difference. A motor
// at its stop pushes bodies when its rows are asked for.
static void ask_bodies(component *c, int colour, int state)
{
    dVector3 gravity;
    dWorldGetGravity(c->world->id, gravity);
    for (int i = 0; i < c->bodies; i++) {
        const bool here = linearize_is_of(c, i, colour) && c->of[i]->colour != KNOWN;
        if (c->has_pushes || (here && state >= TURN)) {
            sprag_ode_pull_body(&c->near.body[i], c->body[i], gravity, c->step);
            if (c->is_tight && !c->is_anew) {
                add_inertia(c, i, state);
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
    near->stiffened_four = none.stiffened_four;
    near->stiffened_fours = near->stiffened_bodies = 0;
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

// Adds the change of the residual by the problem near.
static const char *take_near(component *c, int colour, int state)
{
    ode_problem *near = &c->near;
    const char *why = c->is_tight ? add_loads(c) : NULL;
    for (int i = 0; i < c->bodies && !why; i++) {
        take_body(c, i, &near->body[i]);
    }
    for (int i = 0; i < near->problem.rows && !why; i++) {
        const double slip = take_row(c, i, &near->row[i]);
        for (int side = 0; side < 2; side++) {
            if (linearize_is_of(c, near->row[i].body[side], colour)) {
                c->slip[i][side][state] = slip / DISPLACEMENT;
            }
        }
    }
    return why;
}

// Takes displacements out of the problem near, and loads that are to be found anew.
static void reset_near(component *c)
{
    const sprag_body *from = c->is_anew ? c->alone_body : c->pulled.body;
    memcpy(c->near.body, from, (size_t)c->bodies * sizeof *c->near.body);
    if (c->is_anew) {
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

// Asks for the problem without displacement and loads.
static const char *ask_alone(component *c)
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

// Takes what loads have changed out of the rows and bodies.
static const char *find_alone(component *c)
{
    const ode_problem *pulled = &c->pulled;
    const size_t bodies = (size_t)c->bodies, rows = (size_t)pulled->joint_rows;
    find_rows(c);
    c->is_tight = pulled->stiffened_bodies > 0 || pulled->stiffened_distances > 0 || pulled->arcs;
    c->is_anew = c->has_pushes || (c->is_tight && !(c->turning > 0));
    c->alone_body = pulled->body;
    c->alone_row = pulled->row;
    c->near = *pulled;
    c->near.body = SPRAG_TAKE_RAW(c->scratch, bodies, sprag_body);
    c->index.state = SPRAG_TAKE_RAW(c->scratch, bodies, ode_state);
    if (c->is_tight && !c->is_anew) {
        ode_problem alone = *pulled;
        alone.body = c->alone_body = SPRAG_TAKE_RAW(c->scratch, bodies, sprag_body);
        alone.row = c->alone_row = SPRAG_TAKE_RAW(c->scratch, rows, sprag_row);
        alone.ahead = SPRAG_TAKE_RAW(c->scratch, rows, double);
        if (!c->scratch->failed) {
            memcpy(alone.body, pulled->body, bodies * sizeof *alone.body);
            memcpy(alone.row, pulled->row, rows * sizeof *alone.row);
            memcpy(alone.ahead, pulled->ahead, rows * sizeof *alone.ahead);
            sprag_ode_unstiffen(&alone);
        }
    }
    return c->scratch->failed ? linearize_not_pulled : NULL;
}

// ---- columns of X

// Takes the change of the residual at a body and its neighbours, by a state of the body, and sets
// it to 0.
static void take_column(component *c, int body, int state)
{
    for (int i = 0; i < c->bodies; i++) {
        for (int k = 0; k < 6 && c->asked[body * c->bodies + i]; k++) {
            linearize_entry(c, i, k, body)[state] -= c->change[i][k] / DISPLACEMENT;
            c->change[i][k] = 0;
        }
    }
}

// The columns of a state of the bodies of a colour.
static const char *ask_state(component *c, int colour, int state)
{
    double way[STATES] = {0};
    way[state] = DISPLACEMENT;
    for (int i = 0; i < c->bodies; i++) {
        if (linearize_is_of(c, i, colour)) {
            linearize_displace(c->of[i], way);
        }
    }
    reset_near(c);
    sprag_scratch_reset(c->trial_scratch);
    const char *why = ask_links(c, colour, state) ? NULL : comes_or_goes;
    ask_bodies(c, colour, state);
    why = why || !c->is_anew ? why : take_near(c, colour, state);
    if (!why && (state < VELOCITY || c->has_velocities || c->is_anew)) {
        why = linearize_add_contacts(c, colour);
    }
    for (int i = 0; i < c->bodies; i++) {
        if (linearize_is_of(c, i, colour)) {
            linearize_put_back(c->of[i]);
            take_column(c, i, state);
        }
    }
    return why;
}

// Finds which residuals the displaced bodies change: those of contacts, or all.
static void find_asked(component *c)
{
    const size_t n = (size_t)c->bodies;
    if (c->is_anew) {
        memcpy(c->asked, c->adjacent, n * n * sizeof *c->asked);
    }
    for (int i = 0; i < c->contacts; i++) {
        const int *body = c->contact[i].body;
        for (int k = 0; k < 4; k++) {
            if (body[k / 2] >= 0 && body[k % 2] >= 0) {
                c->asked[body[k / 2] * c->bodies + body[k % 2]] = true;
            }
        }
    }
}

// Do two bodies change the residual of the same one?
static bool mix(const component *c, int a, int b)
{
    for (int i = 0; i < c->bodies; i++) {
        if (c->asked[a * c->bodies + i] && c->asked[b * c->bodies + i]) {
            return true;
        }
    }
    return false;
}

// Bodies that have to be displaced get colours.
static int colour_bodies(component *c)
{
    int colours = 0;
    for (int i = 0; i < c->bodies; i++) {
        c->of[i]->colour = c->asked[i * c->bodies + i] ? 0 : KNOWN;
    }
    for (int i = 0; i < c->bodies; i++) {
        if (c->of[i]->colour == KNOWN) {
            continue;
        }
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

// Do the rows of a joint depend on velocities, which are others now?
static bool find_velocity(component *c, link *l, const sprag_row *alone)
{
    sprag_row row[ODE_ROWS_MAX];
    const bool good = ask_link(c, l, row);
    for (int i = 0; i < l->rows && good; i++) {
        l->has_velocity |= !rows_are_same(&row[i], &alone[i]);
    }
    c->has_velocities |= l->has_velocity;
    return good;
}

// Other velocities for the bodies that have to be displaced.
static void set_velocities(const component *c, int i)
{
    double way[STATES] = {0};
    for (int k = VELOCITY; k < STATES; k++) {
        way[k] = DISPLACEMENT * (1 + fmod(0.618 * (STATES * i + k), 1));
    }
    linearize_displace(c->of[i], way);
}

// Finds what depends on velocities: it is different for all bodies at once.
static const char *ask_velocities(component *c)
{
    reset_near(c);
    for (int i = 0; i < c->bodies; i++) {
        if (c->of[i]->colour != KNOWN) {
            set_velocities(c, i);
        }
    }
    ask_bodies(c, ALL, VELOCITY);
    const char *why = linearize_add_contacts(c, ALL);
    for (int j = 0; j < c->links && c->is_anew && !why; j++) {
        why = find_velocity(c, &c->link[j], c->alone_row + c->link[j].row) ? NULL : comes_or_goes;
    }
    for (int i = 0; i < c->bodies; i++) {
        for (int k = 0; k < 6; k++) {
            c->has_velocities |= c->change[i][k] != 0;
            c->change[i][k] = 0;
        }
        if (c->of[i]->colour == KNOWN) {
            continue;
        }
        linearize_put_back(c->of[i]);
        sprag_ode_set_accumulators(c->body[i], c->pulled.force[i]);
    }
    return why;
}

// ---- what is known

// A column of X by the change of a joint's rows.
static void take_change(component *c, const int *body, int by, int state)
{
    for (int of = 0; of < 2 && body[of] >= 0; of++) {
        for (int k = 0; k < 6; k++) {
            linearize_entry(c, body[of], k, body[by])[state] -=
                c->change[body[of]][k] / DISPLACEMENT;
        }
        memset(c->change[body[of]], 0, sizeof *c->change);
    }
}

// Adds the derivatives of a joint's rows by the states of its bodies, as differences. false: a row
// comes or goes.
static bool differ_link(component *c, link *l, sprag_row_slopes (*slopes)[2])
{
    sprag_row row[ODE_ROWS_MAX], alone[ODE_ROWS_MAX];
    const int *body = linearize_bodies_of(c, l);
    bool good = ask_link(c, l, alone);
    memset(slopes, 0, (size_t)l->rows * sizeof *slopes);
    for (int by = 0; by < 2 && body[by] >= 0; by++) {
        set_velocities(c, body[by]);
    }
    good = good && find_velocity(c, l, alone);
    for (int by = 0; by < 2 && body[by] >= 0; by++) {
        linearize_put_back(c->of[body[by]]);
    }
    const int states = l->has_velocity ? STATES : VELOCITY;
    for (int i = 0; i < 2 * states && good && body[i / states] >= 0; i++) {
        const int by = i / states, state = i % states;
        double way[STATES] = {0};
        way[state] = DISPLACEMENT;
        linearize_displace(c->of[body[by]], way);
        good = ask_link(c, l, row);
        linearize_put_back(c->of[body[by]]);
        for (int j = 0; j < l->rows && good; j++) {
            for (int k = 0; k < 12 && state < VELOCITY; k++) {
                const double gain = row[j].jacobian[k / 6][k % 6] - alone[j].jacobian[k / 6][k % 6];
                slopes[j][by].jacobian[k / 6][k % 6][state] = gain / DISPLACEMENT;
            }
            row[j].bias += c->pulled.row[l->row + j].bias - alone[j].bias; // as it looks ahead
            c->slip[l->row + j][by][state] += take_row(c, l->row + j, &row[j]) / DISPLACEMENT;
        }
        take_change(c, body, by, state);
    }
    return good;
}

// Adds the derivatives of the rows of joints by the states of their bodies.
static const char *add_links(component *c)
{
    const ode_loaded_joint *loaded = c->pulled.loaded; // those with rows
    sprag_row_slopes(*slopes)[2] = SPRAG_TAKE_RAW(c->scratch, ODE_ROWS_MAX, *slopes);
    for (int j = 0; j < c->links && !c->is_anew && slopes; j++) {
        link *l = &c->link[j];
        const bool known = sprag_ode_row_slopes(slopes, c->alone_row + l->row, l->rows, l->joint,
                                                c->world->id, c->step);
        if (!known && !differ_link(c, l, slopes)) {
            return comes_or_goes;
        }
        const ode_loaded_joint *joint = NULL;
        if (c->is_tight && l->rows > 0) {
            joint = loaded++;
            linearize_turn_axes(c, l, slopes);
            c->is_anew = !linearize_keeps_directions(slopes, joint->rows);
        }
        if (!known) { // the rest of it
            memset(slopes, 0, (size_t)l->rows * sizeof *slopes);
        }
        if (known || joint) {
            linearize_add_rows(c, l, joint, slopes);
        }
    }
    return slopes ? NULL : linearize_not_pulled;
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

// Makes X, which is 0 but for what the inverse is of. false: no memory.
static bool make_columns(component *c)
{
    if (c->is_anew) {
        join_parts(c);
    }
    for (int i = 0; i < c->bodies * c->bodies; i++) {
        c->X[i] = c->adjacent[i] ? SPRAG_TAKE(c->scratch, 1, sprag_columns) : NULL;
    }
    for (int i = 0; i < 6 * c->bodies && !c->scratch->failed; i++) {
        linearize_entry(c, i / 6, i % 6, i / 6)[SPRAG_INVERSE + i % 6] = 1;
    }
    return !c->scratch->failed;
}

// Adds what is known, and what a joint alone is asked for; nothing if the whole problem is to be
// asked for anew. NULL, or the reason why there are no derivatives.
static const char *add_known(component *c)
{
    c->turneds = c->is_tight ? 3 * c->bodies : 0;
    c->turned = SPRAG_TAKE(c->scratch, c->turneds + 6 * c->links, ode_turned_load);
    for (int i = 0; i < c->turneds && c->turned; i++) {
        c->turned[i].body = c->turned[i].by = i / 3;
        c->turned[i].axis = i % 3;
    }
    c->rate = c->is_tight ? SPRAG_TAKE(c->scratch, c->bodies, double[3][6]) : NULL;
    if (!make_columns(c)) {
        return linearize_not_pulled;
    }
    for (int i = 0; i < c->bodies && !c->is_anew; i++) {
        linearize_add_body(c, i);
    }
    const char *why = add_links(c);
    if (c->is_tight && !c->is_anew && !why) {
        linearize_add_loads(c);
    }
    if (c->is_anew) {
        memset(c->slip, 0, (size_t)c->pulled.problem.rows * sizeof *c->slip);
        c->has_velocities = false;
        return make_columns(c) ? ask_alone(c) : linearize_not_pulled;
    }
    return why;
}

const char *linearize_ask(component *c)
{
    const char *why = find_alone(c);
    why = why ? why : add_known(c);
    find_asked(c);
    const int colours = colour_bodies(c);
    why = why ? why : ask_velocities(c);
    for (int colour = 0; colour < colours && !why; colour++) {
        for (int state = 0; state < STATES && !why; state++) {
            const bool known = state >= VELOCITY && !c->has_velocities && !c->is_anew;
            why = known ? NULL : ask_state(c, colour, state);
        }
    }
    return why;
}
