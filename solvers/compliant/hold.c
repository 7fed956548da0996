// Rigid contacts that hold, in continuous time. A contact that touches, and neither approaches nor
// separates, is a constraint on the accelerations a, with friction within its cone. Its motion
// relative to what it shall be decays in a short time T, 1/3 of the frame, which a single step of
// the integrator resolves (as motors do, rows.c):
//
//     0 <= N  with  d(Jn v)/dt + (Jn v - w + CFM N) / T >= 0           w: ERP / h times the overlap
//     T = -mu N s / |s|, or, where that would turn the slip s within T,
//         |T| <= mu N  with  d(s)/dt + s / T = 0                       sticking
//
// These are the laws of an implicit Stribeck step of length T from the velocities of the moment,
// without its motion: v + T a are the velocities of its end. So one solve of that step gives the
// forces of all contacts, joint rows and stops at once, redundant ones too, and whether a contact
// sticks, slides or lets go needs no guard: forces change continuously with the state there. Points
// that touch are found by their gaps; a point that hits is an event (guards.c), with impulses
// (impact.c).
#include <math.h>
#include <string.h>

#include "compliant_joints.h"
#include "kinematics.h"
#include "linalg.h"
#include "mover.h"
#include "pair_contact.h"

typedef struct solve {
    compliant_run *run;
    const double *x;
    double span; // s, T
    int bodies, rows;
    int *local, *global; // body of the frame -> of the problem, and back
    sprag_body *body;
    sprag_row *row;
    sprag_solution solution;
} solve;

static double span_of(const compliant_run *run)
{
    return run->frame->step / COMPLIANT_CATCH_UP;
}

// ---- points

bool compliant_allocate_held(compliant_run *run)
{
    sprag_scratch *s = run->scratch;
    compliant_held *held = &run->held;
    size_t room = (size_t)run->frame->pairs * SPRAG_MANIFOLD_MAX;
    room = room < COMPLIANT_HELD_MAX ? room : COMPLIANT_HELD_MAX;
    held->contact = SPRAG_TAKE_RAW(s, room, sprag_contact);
    held->guard = SPRAG_TAKE_RAW(s, room, int);
    held->kept_guard = SPRAG_TAKE_RAW(s, room, int);
    held->kept_arm = SPRAG_TAKE_RAW(s, room, *held->kept_arm);
    held->of = SPRAG_TAKE_RAW(s, room, int);
    held->velocity = SPRAG_TAKE_RAW(s, room, *held->velocity);
    held->rate = SPRAG_TAKE_RAW(s, room, *held->rate);
    held->force = SPRAG_TAKE_RAW(s, room, *held->force);
    held->row_guess = SPRAG_TAKE_RAW(s, run->rows > 0 ? run->rows + run->stops : 0, double);
    held->pair = SPRAG_TAKE(s, run->frame->pairs, bool);
    held->end = SPRAG_TAKE_RAW(s, run->frame->bodies, *held->end);
    held->knows = SPRAG_TAKE(s, run->frame->bodies, bool);
    return !s->failed;
}

bool compliant_holds(const compliant_run *run)
{
    for (int g = 0; g < run->guards.pairs; g++) {
        if (compliant_is_rigid(run, g)) {
            return true;
        }
    }
    return false;
}

double compliant_rest_speed(const compliant_run *run)
{
    return COMPLIANT_REST_SPEED * run->sizes.fastest;
}

// Moves a pair so fast that its points and its normal may turn?
static bool moves(const solve *s, const sprag_contact *c, const double *u)
{
    const compliant_run *run = s->run;
    double fastest = norm3(u);
    for (int side = 0; side < 2; side++) {
        const double *v = compliant_velocity_of(s->x, c->body[side]);
        double turn = v ? run->sizes.radius[c->body[side]] * norm3(v + 3) : 0;
        fastest = fmax(fastest, turn);
    }
    return fastest > compliant_rest_speed(run);
}

// Expects the force of the nearest point of the last evaluation.
static void recall(const sprag_pair_memory *memory, sprag_contact *contact)
{
    double least = INFINITY;
    for (int i = 0; i < memory->count; i++) {
        double apart[3];
        subtract3(memory->point[i].at, contact->arm[0], apart);
        double square = dot3(apart, apart);
        for (int k = 0; k < 3 && square < least; k++) {
            contact->guess[k] = dot3(contact->frame[k], memory->point[i].force);
        }
        least = fmin(least, square);
    }
}

static void remember(sprag_pair_memory *memory, const sprag_contact *contact, const double *force,
                     bool first)
{
    memory->count = first ? 0 : memory->count;
    sprag_point_memory *point = &memory->point[memory->count++];
    *point = (sprag_point_memory){{0}, {0}};
    memcpy(point->at, contact->arm[0], sizeof point->at);
    for (int k = 0; k < 3; k++) {
        add_scaled(point->force, force[k], contact->frame[k], 3);
    }
}

static void keep(compliant_held *held, int guard, const double arm[3])
{
    held->kept_guard[held->kept] = guard;
    memcpy(held->kept_arm[held->kept++], arm, sizeof *held->kept_arm);
}

void compliant_keep_held(compliant_run *run)
{
    run->held.kept = 0;
    for (int i = 0; i < run->held.points; i++) {
        if (run->held.force[i][0] > 0) {
            keep(&run->held, run->held.guard[i], run->held.contact[i].arm[0]);
        }
    }
}

// Keeps the points that pushed at the end of the last frame.
static void recall_kept(compliant_run *run)
{
    compliant_held *held = &run->held;
    held->kept = 0;
    for (int g = 0; g < run->guards.pairs; g++) {
        const sprag_pair_memory *memory = compliant_pair(run, g)->memory;
        for (int i = 0; i < memory->count && held->kept < COMPLIANT_HELD_MAX; i++) {
            if (norm3(memory->point[i].force) > 0) {
                keep(held, g, memory->point[i].at);
            }
        }
    }
}

// Marks the points of a contact that are nearest to the kept ones of its pair, from `first` on.
static void find_kept(const compliant_run *run, int guard, int first, const compliant_contact *c,
                      bool *is_kept)
{
    const compliant_held *held = &run->held;
    const sprag_pose *pose = &run->state.pose[compliant_body(run, guard, 0)];
    memset(is_kept, 0, SPRAG_MANIFOLD_MAX * sizeof *is_kept);
    for (int k = first; k < held->kept && held->kept_guard[k] == guard && c->count > 0; k++) {
        double least = INFINITY, arm[3], apart[3];
        int nearest = 0;
        for (int i = 0; i < c->count; i++) {
            subtract3(c->at[i], pose->position, arm);
            subtract3(arm, held->kept_arm[k], apart);
            nearest = dot3(apart, apart) < least ? i : nearest;
            least = fmin(least, dot3(apart, apart));
        }
        is_kept[nearest] = true;
    }
}

// Limits of the points that hold.
typedef struct limits {
    double touch, reach;     // m, gap; of points that are kept
    double most, kept_speed; // m/s, of approach and separation; of points that are kept
    double settles;          // m/s, of separation: of points that stay within the touch distance
} limits;

// Adds the points of a pair that hold. kept: the first that it keeps.
static void add_points(const solve *s, int guard, int kept, const limits *limits)
{
    compliant_run *run = s->run;
    compliant_held *held = &run->held;
    const sprag_surface *surface = compliant_surface(run, guard);
    const compliant_law *law = &run->guards.law[guard];
    const int first = held->points;
    const bool bounces = compliant_rebounds(run, guard);
    compliant_contact c;
    bool rates = false, is_kept[SPRAG_MANIFOLD_MAX];
    compliant_find_points(run, s->x, guard, limits->reach, &c);
    find_kept(run, guard, kept, &c, is_kept);
    for (int i = 0; i < c.count && held->points < COMPLIANT_HELD_MAX; i++) {
        sprag_contact *to = &held->contact[held->points];
        if (!(c.depth[i] >= -(is_kept[i] ? limits->reach : limits->touch)) || !(c.share[i] > 0)) {
            continue;
        }
        sprag_pair_contact(run->frame, compliant_pair(run, guard), c.at[i], c.gap.normal, to);
        to->compliance = law->compliance / c.share[i];
        for (int side = 0; side < 2; side++) {
            if (to->body[side] != SPRAG_STATIC) {
                subtract3(c.at[i], run->state.pose[to->body[side]].position, to->arm[side]);
            }
        }
        double *u = held->velocity[held->points];
        double relative[3];
        compliant_velocity_at(run, s->x, guard, c.at[i], relative);
        for (int k = 0; k < 3; k++) {
            u[k] = dot3(to->frame[k], relative);
        }
        double wanted = fmin(law->recovery * c.depth[i], run->frame->recovery_speed);
        to->bias = wanted + surface->velocity_normal;
        const double most = is_kept[i] ? limits->kept_speed : limits->most;
        const double apart = u[0] - surface->velocity_normal;
        const double apart_most = bounces ? most : fmax(most, limits->settles);
        if (apart < -most - 2 * fabs(wanted) || apart > apart_most + 2 * fabs(wanted)) {
            continue;
        }
        rates = rates || moves(s, to, u);
        to->gap = -c.depth[i];
        recall(compliant_pair(run, guard)->memory, to);
        memset(held->rate[held->points], 0, sizeof *held->rate);
        held->of[held->points] = i;
        held->guard[held->points++] = guard;
    }
    if (rates) {
        compliant_set_held_rates(run, s->x, guard, &c, first);
    }
}

// all: of all pairs, at an event; else of those that hold. What pushes while it separates is not
// dropped where it ceases to touch, for its force would jump: it is followed as far as its speed
// leads until that has decayed. Likewise a point that an impact beside it makes separate, so slowly
// that it would still touch when its speed has decayed, holds: else bodies that lie on several
// others rattle between them, with an impact in each hundredth of a frame.
static void find_points(const solve *s, bool all)
{
    compliant_run *run = s->run;
    const compliant_held *held = &run->held;
    const double rest = compliant_rest_speed(run), between = COMPLIANT_REST_WIDENING * rest;
    limits limits = {.touch = compliant_touch_distance(run),
                     .most = all ? rest : between,
                     .kept_speed = all ? rest : INFINITY};
    limits.settles = limits.touch / s->span;
    run->held.points = 0;
    compliant_measure_motion(run, s->x);
    for (int g = 0, kept = 0; g < run->guards.pairs; g++) {
        while (kept < held->kept && held->kept_guard[kept] < g) {
            kept++;
        }
        bool keeps = kept < held->kept && held->kept_guard[kept] == g;
        limits.reach = limits.touch + (keeps ? between * s->span : 0);
        if (compliant_is_rigid(run, g) && (all || held->pair[g]) &&
            !(compliant_gap_bound(run, g) > limits.reach)) {
            add_points(s, g, kept, &limits);
        }
    }
}

// Sets the pairs that hold.
static void find_held(compliant_run *run)
{
    const solve s = {.run = run, .x = run->state.x, .span = span_of(run)};
    memset(run->held.pair, 0, (size_t)run->guards.pairs * sizeof *run->held.pair);
    run->held.points = 0;
    if (!compliant_holds(run)) {
        return;
    }
    if (run->time == 0) {
        recall_kept(run);
    }
    compliant_place(run, run->state.x);
    find_points(&s, true);
    run->held.kept = 0;
    for (int i = 0; i < run->held.points; i++) {
        run->held.pair[run->held.guard[i]] = true;
        keep(&run->held, run->held.guard[i], run->held.contact[i].arm[0]);
    }
}

// m, of the highest corner of a pair's triangle.
static double height_of(const compliant_run *run, int guard, const double *up)
{
    const int side = sprag_pair_triangle(run->frame, run->guards.pair[guard]);
    double corner[3][3], highest = -INFINITY;
    sprag_pose room;
    sprag_triangle_corners(compliant_collider(run, guard, side),
                           compliant_shape_pose(run, guard, side, &room), corner);
    for (int k = 0; k < 3; k++) {
        highest = fmax(highest, dot3(up, corner[k]));
    }
    return highest;
}

// Triangles of the same mesh onto which the body of a point, the first of its pair, rolls without
// an event: none above, for those are hit.
static void add_level(compliant_run *run, int i)
{
    const int guard = run->held.guard[i];
    const int side = sprag_pair_triangle(run->frame, run->guards.pair[guard]);
    double up[3];
    if (side < 0) {
        return;
    }
    for (int k = 0; k < 3; k++) {
        up[k] = (side ? 1 : -1) * run->held.contact[i].frame[0][k];
    }
    const double most = height_of(run, guard, up) + COMPLIANT_SHARED_POINT;
    for (int g = -1; (g = compliant_next_of_mesh(run, guard, g)) >= 0;) {
        bool *holds = &run->held.pair[g];
        *holds = *holds || (compliant_is_rigid(run, g) && height_of(run, g, up) <= most);
    }
}

void compliant_set_held_pairs(compliant_run *run)
{
    find_held(run);
    run->held.lost = 0;
    for (int i = 0; i < run->held.points; i++) {
        if (i == 0 || run->held.guard[i] != run->held.guard[i - 1]) {
            add_level(run, i);
        }
    }
}

// ---- the problem

// Friction that is bounded by the slip alone, and not by a creep.
static bool saturates(const sprag_friction *f)
{
    return isfinite(f->coefficient[0]) && isfinite(f->coefficient[1]) && f->slip[0] == 0 &&
           f->slip[1] == 0;
}

// The slip of the end of the step decides about sticking, that of the moment about the direction of
// sliding: it counts the more the faster it is.
static void set_slip(const solve *s, int i)
{
    const compliant_run *run = s->run;
    sprag_contact *c = &run->held.contact[i];
    const double *u = run->held.velocity[i], *rate = run->held.rate[i];
    double slow = run->sizes.change > 0 ? run->sizes.change : run->sizes.fastest;
    double slip[2] = {u[1] - c->slide.velocity[0], u[2] - c->slide.velocity[1]};
    double most = fmax(c->slide.coefficient[0], c->slide.coefficient[1]), square = 0;
    for (int k = 0; k < 2 && most > 0; k++) { // slip that nothing resists does not count
        double resisted = c->slide.coefficient[k] / most * slip[k];
        square += resisted * resisted;
    }
    double more = saturates(&c->slide) ? square / (slow * slow) : 0;
    for (int k = 0; k < 2; k++) {
        c->slide.velocity[k] -= s->span * rate[1 + k] + more * slip[k];
    }
}

static void set_contacts(const solve *s)
{
    compliant_run *run = s->run;
    compliant_held *held = &run->held;
    for (int i = 0; i < held->points; i++) {
        sprag_contact *c = &held->contact[i];
        double J[6], inverse_mass = 0;
        for (int side = 0; side < 2; side++) {
            int *b = &c->body[side];
            if (*b != SPRAG_STATIC) {
                point_jacobian(c->arm[side], c->frame[0], J);
                inverse_mass += compliant_body_inverse_mass(run, *b, J);
                *b = s->local[*b];
            }
        }
        c->bias -= s->span * held->rate[i][0];
        c->compliance += COMPLIANT_HELD_SOFTNESS * inverse_mass * s->span;
        set_slip(s, i);
    }
}

static void add_body(solve *s, int body)
{
    if (body != SPRAG_STATIC && s->local[body] < 0) {
        s->local[body] = s->bodies;
        s->global[s->bodies++] = body;
    }
}

// The bodies at the points; where there are joints, all. Their velocities at the end of the step
// without contacts are those by f. Expects those with contacts of the last evaluation: what sticks
// and what pushes is where it was by them, at any velocity of now.
static void set_bodies(solve *s, const double *f)
{
    compliant_run *run = s->run;
    for (int i = 0; i < run->frame->bodies; i++) {
        s->local[i] = -1;
    }
    for (int i = 0; run->rows > 0 && i < run->frame->bodies; i++) {
        add_body(s, i);
    }
    for (int i = 0; i < run->held.points; i++) {
        add_body(s, run->held.contact[i].body[0]);
        add_body(s, run->held.contact[i].body[1]);
    }
    for (int i = 0; i < s->bodies; i++) {
        int body = s->global[i];
        sprag_body *to = &s->body[i];
        *to = (sprag_body){.mass = run->frame->body[body].mass};
        turn33(run->state.pose[body].rotation, run->frame->body[body].inertia, to->inertia);
        memcpy(to->velocity, compliant_velocity_of(s->x, body), sizeof to->velocity);
        memcpy(to->free_velocity, to->velocity, sizeof to->velocity);
        const double *guess = run->held.knows[body] ? run->held.end[body] : to->velocity;
        memcpy(s->solution.velocity[i], guess, sizeof to->velocity);
        add_scaled(to->free_velocity, s->span, f + COMPLIANT_STATES * body + COMPLIANT_VELOCITY, 6);
    }
}

static void set_rows(solve *s)
{
    compliant_run *run = s->run;
    const compliant_joints *j = run->joints;
    for (int i = 0; i < s->rows; i++) {
        const compliant_active_row *active = &j->active.row[i];
        const sprag_row *from = &j->row[active->row];
        sprag_row *to = &s->row[i];
        *to = (sprag_row){.body = {from->body[0], from->body[1]},
                          .compliance = s->span * j->active.yield[i],
                          .lo = active->lo,
                          .hi = active->hi};
        for (int side = 0; side < 2; side++) {
            int *b = &to->body[side];
            add_scaled(to->jacobian[side], active->sign, from->jacobian[side], 6);
            *b = *b == SPRAG_STATIC ? *b : s->local[*b];
        }
        to->bias = sprag_row_rate(to, s->body->free_velocity, sizeof *s->body) +
                   s->span * j->active.right[i];
    }
}

// ---- the solution

static void take_forces(const solve *s, double *f)
{
    compliant_run *run = s->run;
    compliant_held *held = &run->held;
    for (int i = 0; i < s->bodies; i++) {
        double *to = f + COMPLIANT_STATES * s->global[i] + COMPLIANT_VELOCITY;
        for (int k = 0; k < 6; k++) {
            to[k] = (s->solution.velocity[i][k] - s->body[i].velocity[k]) / s->span;
        }
        if (!held->observed) {
            memcpy(held->end[s->global[i]], s->solution.velocity[i], sizeof *held->end);
            held->knows[s->global[i]] = true;
        }
    }
    for (int i = 0; i < s->rows; i++) {
        const compliant_active_row *active = &run->joints->active.row[i];
        run->joints->force[active->row] += active->sign * s->solution.row_force[i];
    }
    for (int i = 0; i < held->points; i++) {
        sprag_contact *c = &held->contact[i];
        memcpy(held->force[i], s->solution.contact_force[i], sizeof held->force[i]);
        if (!held->observed) {
            bool first = i == 0 || held->guard[i] != held->guard[i - 1];
            remember(compliant_pair(run, held->guard[i])->memory, c, held->force[i], first);
        }
        for (int side = 0; side < 2; side++) {
            c->body[side] = c->body[side] == SPRAG_STATIC ? SPRAG_STATIC : s->global[c->body[side]];
        }
    }
    held->row_guesses = held->observed ? held->row_guesses : s->rows;
    if (!held->observed && s->rows > 0) {
        memcpy(held->row_guess, s->solution.row_force, (size_t)s->rows * sizeof(double));
    }
}

static void set_guesses(const solve *s)
{
    const compliant_held *held = &s->run->held;
    for (int i = 0; i < held->points; i++) {
        const double *guess = held->contact[i].guess;
        if (guess[0] > 0) { // else it is not known
            memcpy(s->solution.contact_force[i], guess, sizeof held->contact[i].guess);
        }
    }
    if (s->rows > 0 && held->row_guesses == s->rows) {
        memcpy(s->solution.row_force, held->row_guess, (size_t)s->rows * sizeof *held->row_guess);
    }
}

static bool solve_forces(solve *s, double *f)
{
    compliant_run *run = s->run;
    sprag_scratch *scratch = run->solve_scratch;
    const sprag_frame *frame = run->frame;
    s->local = SPRAG_TAKE(scratch, frame->bodies, int);
    s->global = SPRAG_TAKE(scratch, frame->bodies, int);
    s->body = SPRAG_TAKE(scratch, frame->bodies, sprag_body);
    s->row = SPRAG_TAKE(scratch, s->rows, sprag_row);
    s->solution.velocity = SPRAG_TAKE(scratch, frame->bodies, *s->solution.velocity);
    s->solution.contact_force = SPRAG_TAKE(scratch, run->held.points, *s->solution.contact_force);
    s->solution.row_force = SPRAG_TAKE(scratch, s->rows, double);
    if (scratch->failed) {
        return false;
    }
    set_bodies(s, f);
    set_contacts(s);
    set_rows(s);
    sprag_stribeck_options options = sprag_stribeck_defaults();
    options.work_left = &run->hold_work;
    options.softness = 0; // contacts have their own
    options.row_softness = options.friction_softness = COMPLIANT_IMPACT_SOFTNESS;
    options.warm = true;
    options.tolerance = COMPLIANT_HELD_TOLERANCE * run->options->tolerance;
    options.stiction_tolerance = COMPLIANT_IMPACT_STICTION * run->sizes.fastest;
    sprag_problem problem = {.step = s->span,
                             .bodies = s->bodies,
                             .contacts = run->held.points,
                             .rows = s->rows,
                             .body = s->body,
                             .contact = run->held.contact,
                             .row = s->row};
    set_guesses(s);
    const double least = COMPLIANT_IMPACT_SPEED_MIN * run->sizes.fastest;
    sprag_result result = compliant_solve_pushing(compliant_island_forces, &problem, &options,
                                                  scratch, least, &s->solution);
    if (result == SPRAG_OK) {
        take_forces(s, f);
    }
    run->held.lost += result != SPRAG_OK && !run->held.observed;
    return result == SPRAG_OK;
}

bool compliant_hold(compliant_run *run, const double *x, const double *label, double *f)
{
    solve s = {.run = run, .x = x, .span = span_of(run)};
    const double work = run->budget.work;
    if (compliant_holds(run)) {
        find_points(&s, false);
    }
    run->hold_work -= COMPLIANT_PRODUCTS_PER_EVALUATION * (run->budget.work - work);
    if (run->held.points == 0) {
        return run->rows < 0 || compliant_constrain(run, x, label, f);
    }
    if (run->held.points == COMPLIANT_HELD_MAX) {
        return false;
    }
    if (run->rows > 0) {
        compliant_demand(run, x, label, f);
        run->joints->has_forces = false;
        s.rows = run->joints->active.count;
    }
    const sprag_scratch before = *run->solve_scratch;
    bool good = solve_forces(&s, f);
    sprag_scratch_release(run->solve_scratch, &before);
    return good;
}

// ---- others

void compliant_release_flying(compliant_run *run)
{
    find_held(run);
    for (int g = 0; g < run->guards.pairs; g++) {
        if (compliant_is_rigid(run, g) && compliant_rebounds(run, g) && !run->held.pair[g]) {
            run->guards.law[g] = (compliant_law){.status = COMPLIANT_UNKNOWN};
        }
    }
}

void compliant_add_held_impulses(compliant_run *run, double time)
{
    for (int i = 0; i < run->held.points; i++) {
        double wrench[2][6];
        sprag_contact_wrench(&run->held.contact[i], run->held.force[i], wrench);
        sprag_pair_add_impulse(compliant_pair(run, run->held.guard[i]), (const double(*)[6])wrench,
                               time);
    }
}
