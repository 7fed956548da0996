// Points that touch -> contacts -> velocities at the end of a sub-step.
#include <math.h>
#include <string.h>

#include "advance_run.h"
#include "linalg.h"
#include "mover.h"

static int body_of(const advance_run *run, int pair, int side)
{
    return run->frame->collider[run->frame->pair[pair].collider[side]].body;
}

// ---- contacts

static double speed_along(const sprag_contact *contact, const double *direction, const double *v0,
                          const double *v1)
{
    const double *v[2] = {v0, v1};
    double sum = 0;
    for (int side = 0; side < 2; side++) {
        if (v[side]) {
            double turned[3];
            cross3(v[side] + 3, contact->arm[side], turned);
            sum += (side ? -1 : 1) * (dot3(direction, v[side]) + dot3(direction, turned));
        }
    }
    return sum;
}

static double velocity_along(const advance_run *run, const sprag_contact *contact, int row,
                             bool after)
{
    const double *v[2] = {NULL, NULL};
    for (int side = 0; side < 2; side++) {
        int b = contact->body[side];
        if (b != SPRAG_STATIC) {
            v[side] = after ? run->solved[b] : run->frame->body[b].velocity;
        }
    }
    return speed_along(contact, contact->frame[row], v[0], v[1]);
}

// force: N, on shape 0.
static void expect(sprag_contact *contact, const double force[3], bool swapped)
{
    for (int k = 0; k < 3; k++) {
        contact->guess[k] = (swapped ? -1 : 1) * dot3(contact->frame[k], force);
    }
    contact->guess[0] = fmax(0, contact->guess[0]);
}

// Force that the last solve, or the last sub-step, had nearest to there.
static void recall(const advance_run *run, const advance_point *point, sprag_contact *contact)
{
    const sprag_pair_memory *memory = run->frame->pair[point->pair].memory;
    int body = body_of(run, point->pair, 0), best = 0;
    bool swapped = body == SPRAG_STATIC;
    contact->guess[0] = -1;
    if (point->tried) {
        expect(contact, point->force, swapped);
        return;
    }
    if (!memory || memory->count == 0) {
        return;
    }
    double nearest = INFINITY, from[3];
    memcpy(from, point->at[0], sizeof from);
    if (!swapped) {
        subtract3(point->at[0], run->frame->body[body].pose.position, from);
    }
    for (int i = 0; i < memory->count; i++) {
        double d[3];
        subtract3(memory->point[i], from, d);
        if (dot3(d, d) < nearest) {
            nearest = dot3(d, d);
            best = i;
        }
    }
    expect(contact, memory->force[best], swapped);
}

// What the normal velocity is to be at least: the gap goes to the target within the sub-step, less
// what the motion will curve; or the contact bounces, faster than what rests is pressed on by
// forces within the shortest sub-steps. Forces act on while it leaves: without them every bounce
// would gain what they take in a sub-step, and small ones never end.
static double bias_of(advance_run *run, const advance_point *point, const sprag_contact *contact,
                      const sprag_body *body, double step)
{
    const sprag_surface *surface = &run->frame->pair[point->pair].surface;
    double missing = run->target - point->gap + point->dip;
    // In what is left of a frame, however short, no gap is made up for with a jerk; sub-steps that
    // the error shortens are all as short as that.
    double shortest = run->control ? 1 : run->options->shortest;
    double time = missing > 0 ? fmax(step, shortest * run->frame->step) : step;
    double bias = missing / time;
    if (run->calm) {
        double most = advance_are_many(run) && run->settles ? INFINITY : 0;
        bias = fmin((run->target - point->gap) / time, most);
    }
    bool overlaps = run->frame->pair[point->pair].overlapped && point->gap < run->target;
    if (overlaps) {
        bias = 0; // what overlaps is pushed out without speed
    }
    double motion = surface->velocity_normal;
    double approach = motion - velocity_along(run, contact, 0, false);
    double least = fmax(surface->bounce_speed, 2 * run->acceleration * run->floor);
    bool meets = !point->captured || point->gap <= approach * step;    // not in mid-air
    bool sunk = overlaps && -point->gap > approach * run->frame->step; // not by this approach
    if (surface->bounce > 0 && approach > least && meets && !sunk) {
        const double *v[2] = {NULL, NULL};
        for (int side = 0; side < 2; side++) {
            int b = contact->body[side];
            v[side] = b == SPRAG_STATIC ? NULL : body[b].free_velocity;
        }
        double forced = speed_along(contact, contact->frame[0], v[0], v[1]) + approach - motion;
        bias = fmax(bias, surface->bounce * approach + motion + fmin(forced, 0));
        run->bounces = true;
    }
    return motion != 0 ? fmax(bias, motion) : bias;
}

static void set_contact(advance_run *run, const advance_point *point, const sprag_body *body,
                        double step, sprag_contact *to)
{
    const sprag_surface *surface = &run->frame->pair[point->pair].surface;
    bool swapped = body_of(run, point->pair, 0) == SPRAG_STATIC;
    double normal[3];
    memset(to, 0, sizeof *to);
    for (int k = 0; k < 3; k++) {
        normal[k] = swapped ? -point->normal[k] : point->normal[k];
    }
    for (int side = 0; side < 2; side++) {
        to->body[side] = body_of(run, point->pair, swapped ? !side : side);
        if (to->body[side] != SPRAG_STATIC) {
            const double *centre = run->frame->body[to->body[side]].pose.position;
            for (int k = 0; k < 3; k++) {
                to->arm[side][k] = 0.5 * (point->at[0][k] + point->at[1][k]) - centre[k];
            }
        }
    }
    sprag_contact_frame(normal, surface->direction, to->frame);
    to->gap = fmax(point->gap, 0);
    to->softening = 1;
    to->compliance = surface->compliance;
    to->slide = surface->slide;
    to->slide.velocity[0] *= swapped ? -1 : 1;
    to->turning = &surface->turning;
    to->bias = bias_of(run, point, to, body, step);
    recall(run, point, to);
}

// ---- the solve

typedef struct solve {
    sprag_problem problem;
    sprag_solution solution;
    sprag_body *body;
    sprag_contact *contact;
    sprag_row *row; // the run's, and room for more; NULL: there are no more
} solve;

enum { CAPS = 3 }; // rows that a body may get so as not to turn too fast

static bool take(advance_run *run, double step, solve *s)
{
    const sprag_frame *frame = run->frame;
    int contacts = frame->contacts + run->points, rows = run->rows;
    sprag_scratch *scratch = run->solving;
    for (int i = 0; i < frame->bodies; i++) {
        rows += frame->body[i].capped ? CAPS : 0;
    }
    sprag_scratch_reset(scratch);
    s->body = SPRAG_TAKE(scratch, frame->bodies, sprag_body);
    s->contact = SPRAG_TAKE(scratch, contacts, sprag_contact);
    s->solution.velocity = SPRAG_TAKE(scratch, frame->bodies, *s->solution.velocity);
    s->solution.contact_force = SPRAG_TAKE(scratch, contacts, *s->solution.contact_force);
    s->solution.row_force = SPRAG_TAKE(scratch, rows, double);
    s->row = rows > run->rows ? SPRAG_TAKE(scratch, rows, sprag_row) : NULL;
    if (scratch->failed) {
        return false;
    }
    if (s->row && run->rows) {
        memcpy(s->row, run->row, (size_t)run->rows * sizeof *s->row);
    }
    s->problem = (sprag_problem){.step = step,
                                 .bodies = frame->bodies,
                                 .contacts = contacts,
                                 .rows = run->rows,
                                 .body = s->body,
                                 .contact = s->contact,
                                 .row = s->row ? s->row : run->row};
    return true;
}

// Of many bodies: exactly where they settle and that costs little more than sweeps; by sweeps
// elsewhere.
static sprag_stribeck_options many_options(const advance_run *run)
{
    static const double cheap = 10; // products of blocks, by contact
    sprag_stribeck_options options = run->options->solver;
    options.central = run->settles ? 30 : 0;
    options.central_work = cheap;
    options.direct_work = 0;
    options.lagged_passes = 0;
    options.sweeps = 6;
    options.sweeps_least = 60;
    return options;
}

static double energy(const sprag_problem *problem, bool after, double (*velocity)[6])
{
    double sum = 0;
    for (int i = 0; i < problem->bodies; i++) {
        const sprag_body *body = &problem->body[i];
        const double *v = after ? velocity[i] : body->free_velocity;
        double turned[3];
        mul33(body->inertia, v + 3, turned);
        sum += 0.5 * (body->mass * dot3(v, v) + dot3(v + 3, turned));
    }
    return sum;
}

// J, of joint rows, motors among them.
static double work_of_rows(const solve *s)
{
    double sum = 0;
    for (int i = 0; i < s->problem.rows; i++) {
        const sprag_row *row = &s->problem.row[i];
        for (int side = 0; side < 2; side++) {
            int b = row->body[side];
            if (b != SPRAG_STATIC) {
                sum += s->solution.row_force[i] *
                       (dot6(row->jacobian[side], s->body[b].free_velocity) +
                        dot6(row->jacobian[side], s->solution.velocity[b]));
            }
        }
    }
    return 0.5 * s->problem.step * sum;
}

// Nothing but contacts at rest acts: no solve may add energy.
static bool must_not_gain(const advance_run *run, const solve *s)
{
    bool alone = run->rows == 0 && run->frame->contacts == 0 && !run->bounces;
    for (int i = 0; i < s->problem.bodies && alone; i++) {
        alone = s->problem.body[i].mass > 0;
    }
    for (int i = 0; i < s->problem.contacts && alone; i++) {
        alone = s->contact[i].bias <= 0;
    }
    return alone;
}

static void keep(advance_run *run, const solve *s)
{
    int given = run->frame->contacts;
    memcpy(run->solved, s->solution.velocity, (size_t)run->frame->bodies * sizeof *run->solved);
    if (run->rows) {
        memcpy(run->row_force, s->solution.row_force, (size_t)run->rows * sizeof(double));
    }
    if (given) {
        memcpy(run->given_force, s->solution.contact_force,
               (size_t)given * sizeof *run->given_force);
    }
    for (int i = 0; i < run->points; i++) {
        advance_point *point = &run->point[i];
        const sprag_contact *contact = &s->contact[given + i];
        const double *force = s->solution.contact_force[given + i];
        double sign = body_of(run, point->pair, 0) == SPRAG_STATIC ? -1 : 1;
        memset(point->force, 0, sizeof point->force);
        for (int k = 0; k < 3; k++) {
            add_scaled(point->force, sign * force[k], contact->frame[k], 3);
        }
        sprag_contact_torque(contact, force, point->torque);
        for (int k = 0; k < 3; k++) {
            point->torque[k] *= sign;
        }
        point->normal_force = force[0];
        point->tried = !run->failed;
        point->approach = -velocity_along(run, contact, 0, false);
        for (int after = 0; after < 2; after++) {
            point->slip[after] = hypot(velocity_along(run, contact, 1, after),
                                       velocity_along(run, contact, 2, after));
        }
    }
}

// ---- overlaps

// m/s, that a point goes apart with to take back a share of its overlap; 0: it has none.
static double speed_out(const advance_run *run, const advance_point *point)
{
    const sprag_frame *frame = run->frame;
    if (!frame->pair[point->pair].overlapped || point->gap >= run->target) {
        return 0;
    }
    return fmin(frame->recovery * (run->target - point->gap) / frame->step, frame->recovery_speed);
}

double advance_push_speed(const advance_run *run)
{
    double most = 0;
    for (int i = 0; i < run->points; i++) {
        most = fmax(most, speed_out(run, &run->point[i]));
    }
    return most;
}

static bool any_overlap(const advance_run *run)
{
    for (int i = 0; i < run->points; i++) {
        const advance_point *point = &run->point[i];
        if (run->frame->pair[point->pair].overlapped && point->gap < run->target) {
            return true;
        }
    }
    return false;
}

// Between bodies that do not give way there may be no way out but a long one: nothing goes much
// faster than it is to be pushed.
static double push_share(const advance_run *run, const solve *s, double fastest)
{
    const double most = 4 * fastest;
    double speed = 0;
    for (int i = 0; i < run->frame->bodies; i++) {
        speed = fmax(speed, norm3(s->solution.velocity[i]));
    }
    return speed > most ? most / speed : 1;
}

// A share of each overlap, as a displacement of its own: it does not become speed. What touches
// besides, or is near, is not pressed together.
static sprag_result push_out(advance_run *run, solve *s)
{
    sprag_frame *frame = run->frame;
    sprag_row *row = SPRAG_TAKE(run->solving, run->rows, sprag_row);
    sprag_stats stats = {0};
    bool exact = run->stats->solve.strategy == SPRAG_STRATEGY_INTERIOR_POINT;
    double fastest = 0;
    if (run->solving->failed) {
        return SPRAG_NO_MEMORY;
    }
    for (int i = 0; i < frame->bodies; i++) {
        memset(s->body[i].velocity, 0, sizeof s->body[i].velocity);
        memset(s->body[i].free_velocity, 0, sizeof s->body[i].free_velocity);
    }
    run->deepest = 0;
    for (int i = 0; i < run->rows; i++) {
        row[i] = run->row[i];
        row[i].bias = row[i].guess = 0;
        row[i].lo = isinf(row[i].lo) ? row[i].lo : 0;
        row[i].hi = isinf(row[i].hi) ? row[i].hi : 0;
    }
    s->problem.row = row;
    for (int i = 0; i < s->problem.contacts; i++) {
        sprag_contact *contact = &s->contact[i];
        const advance_point *point = i < frame->contacts ? NULL : &run->point[i - frame->contacts];
        contact->bias = point ? speed_out(run, point) : 0;
        run->deepest = contact->bias > 0 ? fmax(run->deepest, -point->gap) : run->deepest;
        fastest = fmax(fastest, contact->bias);
        contact->compliance = 0;
        contact->guess[0] = 0; // and no friction
        contact->stiffness = 0;
        contact->slide = (sprag_friction){{0, 0}, .slip = {0, 0}};
        contact->turning = NULL;
    }
    sprag_stribeck_options options = exact ? many_options(run) : run->options->solver;
    sprag_result result =
        sprag_stribeck_solve(&s->problem, &options, run->solving, &s->solution, &stats);
    if (result == SPRAG_OK) {
        double share = push_share(run, s, fastest);
        for (int i = 0; i < frame->bodies; i++) {
            for (int k = 0; k < 6; k++) {
                run->pushed[i][k] = share * s->solution.velocity[i][k];
            }
        }
    } else {
        memset(run->pushed, 0, (size_t)frame->bodies * sizeof *run->pushed);
    }
    return result == SPRAG_NO_MEMORY ? result : SPRAG_OK;
}

void advance_set_motion(advance_run *run)
{
    for (int i = 0; i < run->frame->bodies; i++) {
        run->motion[i].pose = run->frame->body[i].pose;
        memcpy(run->motion[i].velocity, run->solved[i], sizeof run->solved[i]);
        if (run->pushes) {
            add_scaled(run->motion[i].velocity, 1, run->pushed[i], 6);
        }
    }
}

static bool has_rows(const advance_run *run, int body)
{
    for (int i = 0; i < run->rows; i++) {
        if (run->row[i].body[0] == body || run->row[i].body[1] == body) {
            return true;
        }
    }
    return false;
}

// What the solution has turn too fast is slowed down: first by as much, as if nothing held it
// (which is right where nothing does), then by a row about that axis. What joints hold is slowed
// down afterwards only, as by ODE: against a joint that is to turn it, the row would throw both.
// false: nothing turns too fast.
static bool cap_turns(const advance_run *run, solve *s, bool by_rows)
{
    static const double slight = 1e-9;
    bool any = false;
    for (int i = 0; i < run->frame->bodies; i++) {
        const sprag_mover *mover = &run->frame->body[i];
        const double *w = s->solution.velocity[i] + 3;
        double turn = norm3(w);
        if (!mover->capped || !(mover->mass > 0) || turn <= mover->cap * (1 + slight) ||
            has_rows(run, i)) {
            continue;
        }
        any = true;
        if (by_rows) {
            sprag_row *row = &s->row[s->problem.rows++];
            *row = (sprag_row){.body = {i, SPRAG_STATIC}, .bias = mover->cap, .lo = -INFINITY};
            add_scaled(row->jacobian[0] + 3, 1 / turn, w, 3);
        } else {
            add_scaled(s->body[i].free_velocity + 3, mover->cap / turn - 1, w, 3);
        }
    }
    return any;
}

// What is left of it.
static void scale_turns(const advance_run *run, double (*velocity)[6])
{
    for (int i = 0; i < run->frame->bodies; i++) {
        if (run->frame->body[i].mass > 0) {
            sprag_mover_cap(&run->frame->body[i], velocity[i] + 3);
        }
    }
}

// Velocities of the solution, by sweeps or as exactly as they come.
static sprag_result solve_once(advance_run *run, solve *s, sprag_stats *stats)
{
    sprag_stribeck_options options = run->options->solver;
    options.warm = run->tried;
    if (run->tried) {
        memcpy(s->solution.velocity, run->solved, (size_t)run->frame->bodies * sizeof *run->solved);
    }
    bool many = advance_are_many(run) && !run->exactly;
    sprag_result result = SPRAG_NOT_CONVERGED;
    if (many) { // what is not exact costs sub-steps, and nothing else
        sprag_stribeck_options swept = many_options(run);
        result = sprag_stribeck_solve(&s->problem, &swept, run->solving, &s->solution, stats);
    }
    if (result != SPRAG_OK && result != SPRAG_NO_MEMORY) {
        result = sprag_stribeck_solve(&s->problem, &options, run->solving, &s->solution, stats);
    }
    run->stats->solves++;
    return result;
}

static sprag_result solve_capped(advance_run *run, solve *s)
{
    sprag_stats stats = {0};
    sprag_result result = solve_once(run, s, &stats);
    for (int i = 0; i <= CAPS && s->row && result == SPRAG_OK && cap_turns(run, s, i > 0); i++) {
        result = solve_once(run, s, &stats);
    }
    s->problem.row = run->row;
    s->problem.rows = run->rows;
    if (result == SPRAG_OK && s->row) {
        scale_turns(run, s->solution.velocity);
    }
    run->stats->solve = stats;
    return result;
}

// Energies; where there is no solution, bodies go on as they did.
static void judge(advance_run *run, solve *s, sprag_result result)
{
    run->failed = result != SPRAG_OK;
    run->tried = !run->failed;
    run->free_energy = run->energy = energy(&s->problem, false, NULL);
    if (!run->failed) {
        run->energy = energy(&s->problem, true, s->solution.velocity);
        run->free_energy += fmax(0, work_of_rows(s));
        if (must_not_gain(run, s)) {
            run->stats->energy_gain = fmax(run->stats->energy_gain, run->energy - run->free_energy);
        }
        return;
    }
    run->stats->failed++;
    for (int i = 0; i < run->frame->bodies; i++) {
        memcpy(s->solution.velocity[i], s->body[i].velocity, sizeof s->body[i].velocity);
    }
    memset(s->solution.row_force, 0, (size_t)run->rows * sizeof(double));
    memset(s->solution.contact_force, 0,
           (size_t)s->problem.contacts * sizeof *s->solution.contact_force);
}

sprag_result advance_solve(advance_run *run, double step)
{
    solve s;
    run->stood = -1;
    for (int i = 0; i < run->frame->bodies; i++) {
        run->share[i] = 1;
    }
    run->trial = step;
    run->pushes = run->bounces = false;
    if (!take(run, step, &s)) {
        return SPRAG_NO_MEMORY;
    }
    for (int i = 0; i < run->frame->bodies; i++) {
        sprag_mover_body(&run->frame->body[i], run->inertia[i], step, &s.body[i]);
    }
    if (run->frame->contacts) {
        memcpy(s.contact, run->frame->contact, (size_t)run->frame->contacts * sizeof *s.contact);
    }
    for (int i = 0; i < run->points; i++) {
        set_contact(run, &run->point[i], s.body, step, &s.contact[run->frame->contacts + i]);
    }
    sprag_result result = solve_capped(run, &s);
    if (result == SPRAG_NO_MEMORY) {
        return result;
    }
    judge(run, &s, result);
    keep(run, &s);
    if (run->calls->disturb) {
        run->calls->disturb(run->calls->data, run->frame->bodies, run->solved);
    }
    if (any_overlap(run)) {
        // The way out depends on the points alone, but hardly on the length of the sub-step.
        long points = run->points > run->closed_points ? run->added : 0;
        result = run->pushed_for == points ? SPRAG_OK : push_out(run, &s);
        if (result != SPRAG_OK) {
            return result;
        }
        run->pushed_for = points;
        run->pushes = true;
    }
    advance_set_motion(run);
    return SPRAG_OK;
}
