// Impacts of pairs whose surface bounces, and has no stiffness of its own: impulses p at the moment
// of the impact, with u the velocity of separation and e the restitution,
//
//     u+ >= -e u-,  p >= 0,  one of both with equality;  friction under p at the slip that is left
//
// together with the impulses of joints, of active stops, and of contacts that hold (e = 0). One
// implicit Stribeck solve without forces has them all. Friction that is bounded by a force, or
// creeps by it, takes the impulse as a force over the frame, as in a step of ODE.
//
// - What an impact pushes against a further pair that touches hits that pair next: the impulses go
//   from pair to pair, in waves, as through a cradle of balls. A wave has the pairs that approach.
// - Restitution and friction together may add energy (Kane, Levinson: Dynamics, 1985). The
//   restitution of a wave is reduced until its impulses do no work on the bodies.
// - A rebound whose flight would last less than COMPLIANT_SHORTEST_FLIGHT of a frame is no flight:
//   the pair rests, with the law of a contact that does not bounce. So the infinite sequence of
//   bounces of e < 1 (Zeno) has an end.
#include <math.h>
#include <string.h>

#include "compliant_joints.h"
#include "kinematics.h"
#include "mover.h"
#include "pair_contact.h"

typedef struct impact {
    compliant_run *run;
    double touch; // m, gap up to which pairs touch
    // contact points that touch, in the order of their guards:
    int points;
    sprag_contact *point;
    int *guard;
    bool *bounces, *hit;
    // the problem of a wave:
    int bodies, rows, contacts;
    int *local, *global; // body of the frame -> of the problem, and back; what `global` does not
                         // confirm is of an impact before
    sprag_body *body;
    sprag_row *row; // of the active rows of the joints
    sprag_contact *contact;
    int *which;    // contacts: of the points
    double *speed; // contacts, m/s, of separation before, relative to the surface's own
    sprag_solution solution;
} impact;

// ---- points

static void add_points(impact *s, int guard, const compliant_contact *c)
{
    compliant_run *run = s->run;
    for (int i = 0; i < c->count; i++) {
        if (!(c->depth[i] >= -s->touch)) {
            continue;
        }
        sprag_contact *to = &s->point[s->points];
        sprag_pair_contact(run->frame, compliant_pair(run, guard), c->at[i], c->gap.normal, to);
        double w = compliant_inverse_mass(run, guard, c->at[i], c->gap.normal);
        to->compliance = COMPLIANT_IMPACT_SOFTNESS * w * run->frame->step;
        s->guard[s->points] = guard;
        s->bounces[s->points++] = compliant_bounces(compliant_surface(run, guard));
    }
}

static void set_apart(compliant_run *run, int guard, double depth)
{
    compliant_guards *guards = &run->guards;
    if (!compliant_is_rigid(run, guard)) {
        guards->law[guard] = (compliant_law){.status = COMPLIANT_UNKNOWN};
    }
    guards->label[guard] = 0;
    // Speeds and errors that do not count must not be impacts, nor what a contact yields under the
    // weight of all bodies in the frame.
    const compliant_law *law = &guards->law[guard];
    double slack = COMPLIANT_TOUCH_SLACK * run->sizes.fastest * run->frame->step;
    double yield = run->frame->bodies * law->compliance * law->effective_mass * run->sizes.change;
    guards->overlap[guard] =
        fmax(0, depth) + yield + (COMPLIANT_IMPACT_SPEED_MIN + run->options->tolerance) * slack;
}

// Pairs of contacts without a finite stiffness that touch.
static bool takes_part(const compliant_run *run, int guard)
{
    const compliant_law *law = &run->guards.law[guard];
    return compliant_flies(run, guard) || law->status == COMPLIANT_RIGID_PAIR ||
           (law->status == COMPLIANT_IMPLICIT && run->guards.known_label[guard] != 0);
}

// m/s: slower points do not approach. What holds in the integration has errors of it.
static double least_speed(const compliant_run *run, int guard)
{
    return compliant_is_rigid(run, guard) ? compliant_rest_speed(run)
                                          : COMPLIANT_IMPACT_SPEED_MIN * run->sizes.fastest;
}

// only: of a pair; SPRAG_ESS_NO_GUARD: of all that touch.
static bool find_points(impact *s, int only)
{
    compliant_run *run = s->run;
    sprag_scratch *scratch = run->solve_scratch;
    int *near = SPRAG_TAKE_RAW(scratch, run->guards.pairs, int), count = 0;
    if (scratch->failed) {
        return false;
    }
    if (only == SPRAG_ESS_NO_GUARD) {
        compliant_measure_motion(run, run->state.x);
    } else {
        near[count++] = only;
    }
    for (int g = 0; g < run->guards.pairs && only == SPRAG_ESS_NO_GUARD; g++) {
        if (takes_part(run, g) && !(compliant_gap_bound(run, g) > s->touch)) {
            near[count++] = g;
        }
    }
    int room = count * SPRAG_MANIFOLD_MAX;
    s->point = SPRAG_TAKE_RAW(scratch, room, sprag_contact);
    s->guard = SPRAG_TAKE(scratch, room, int);
    s->bounces = SPRAG_TAKE(scratch, room, bool);
    s->hit = SPRAG_TAKE(scratch, room, bool);
    s->contact = SPRAG_TAKE_RAW(scratch, room, sprag_contact);
    s->which = SPRAG_TAKE(scratch, room, int);
    s->speed = SPRAG_TAKE(scratch, room, double);
    s->solution.contact_force = SPRAG_TAKE(scratch, room, *s->solution.contact_force);
    for (int i = 0; i < count && !scratch->failed; i++) {
        compliant_contact c;
        compliant_find_points(run, run->state.x, near[i], s->touch, &c);
        if (compliant_passes(run, near[i], &c, s->touch, least_speed(run, near[i]))) {
            c.count = 0;
        }
        add_points(s, near[i], &c);
        if (c.count == 0 && !c.gap.beyond) {
            set_apart(run, near[i], fmax(c.deepest, -c.gap.distance));
        }
    }
    return !scratch->failed;
}

// m/s, relative to the surface's own.
static double separation(const impact *s, int point)
{
    const sprag_contact *c = &s->point[point];
    double u[3];
    sprag_contact_velocity(c, s->run->frame->body->velocity, sizeof(sprag_mover), u);
    return dot3(c->frame[0], u) - compliant_surface(s->run, s->guard[point])->velocity_normal;
}

// ---- bodies and rows

static void add_body(impact *s, int body)
{
    const bool moves = body != SPRAG_STATIC;
    if (moves && !(s->local[body] < s->bodies && s->global[s->local[body]] == body)) {
        s->local[body] = s->bodies;
        s->global[s->bodies++] = body;
    }
}

// The bodies at the points; where there are joints, all.
static void find_bodies(impact *s)
{
    for (int i = 0; i < s->run->frame->bodies && s->rows > 0; i++) {
        add_body(s, i);
    }
    for (int i = 0; i < s->points; i++) {
        add_body(s, s->point[i].body[0]);
        add_body(s, s->point[i].body[1]);
    }
}

// Rows that hold bodies keep them together, and stops do not give way. What mends a joint's error
// (start.c) ends here, and comes back within the step: in a loop with contacts that stick nothing
// could have it, and impulses that nothing but the softness bounds would win energy. Rows that
// drive keep their velocities.
static bool find_rows(impact *s)
{
    compliant_run *run = s->run;
    compliant_joints *j = run->joints;
    if (run->rows <= 0) {
        return true;
    }
    if (!compliant_evaluate_rows(run, run->state.x)) {
        return false;
    }
    compliant_set_active_rows(run, run->guards.known_label + run->guards.pairs,
                              COMPLIANT_FOR_IMPACT);
    s->rows = j->active.count;
    s->row = SPRAG_TAKE(run->solve_scratch, s->rows, sprag_row);
    s->solution.row_force = SPRAG_TAKE(run->solve_scratch, s->rows, double);
    for (int i = 0; i < s->rows && s->row; i++) {
        const compliant_active_row *active = &j->active.row[i];
        const sprag_row *from = &j->row[active->row];
        sprag_row *to = &s->row[i];
        *to = (sprag_row){.body = {from->body[0], from->body[1]},
                          .lo = active->stop >= 0 ? 0 : active->lo,
                          .hi = active->hi};
        for (int side = 0; side < 2; side++) {
            add_scaled(to->jacobian[side], active->sign, from->jacobian[side], 6);
        }
        const bool keeps = active->stop < 0 && from->drives;
        to->bias = keeps ? compliant_row_velocity(from, run->state.x) : 0;
    }
    j->has_forces = false;
    memset(j->force, 0, (size_t)run->rows * sizeof *j->force);
    return !run->solve_scratch->failed;
}

static bool prepare(impact *s, int only)
{
    compliant_run *run = s->run;
    sprag_scratch *scratch = run->solve_scratch;
    sprag_scratch_reset(scratch);
    s->local = run->state.local;
    s->global = SPRAG_TAKE_RAW(scratch, run->frame->bodies, int);
    if (scratch->failed || !find_points(s, only) || !find_rows(s)) {
        return false;
    }
    find_bodies(s);
    s->body = SPRAG_TAKE_RAW(scratch, s->bodies, sprag_body);
    s->solution.velocity = SPRAG_TAKE(scratch, s->bodies, *s->solution.velocity);
    if (scratch->failed) {
        return false;
    }
    for (int i = 0; i < s->rows; i++) {
        for (int side = 0; side < 2; side++) {
            int *b = &s->row[i].body[side];
            *b = *b == SPRAG_STATIC ? *b : s->local[*b];
        }
    }
    for (int i = 0; i < s->bodies; i++) {
        const sprag_mover *mover = &run->frame->body[s->global[i]];
        s->body[i] = (sprag_body){.mass = mover->mass};
        sprag_mover_inertia(mover, s->body[i].inertia);
    }
    return true;
}

// ---- waves

// m/s: the rebound of slower impacts would be no flight under the forces of the frame.
static double slow_impact(const compliant_run *run)
{
    return COMPLIANT_SHORTEST_FLIGHT * run->sizes.change / 2;
}

// Does a point at rest take part at once, not in the next wave? Its restitution is so low that
// little would come back.
static bool passes_on(const impact *s, int point, double speed)
{
    return compliant_is_rigid(s->run, s->guard[point]) && speed <= compliant_rest_speed(s->run) &&
           compliant_surface(s->run, s->guard[point])->bounce < COMPLIANT_WAVE_RESTITUTION;
}

// The points of a wave: those that hold, and those that approach and bounce; if `all` do not
// bounce, all.
static bool choose_points(impact *s, bool all)
{
    bool approaches = false;
    s->contacts = 0;
    for (int i = 0; i < s->points; i++) {
        double speed = separation(s, i), least = least_speed(s->run, s->guard[i]);
        approaches |= speed < -least;
        if (s->bounces[i] && !all && !(speed < -least) && !passes_on(s, i, speed)) {
            continue;
        }
        sprag_contact *to = &s->contact[s->contacts];
        *to = s->point[i];
        for (int side = 0; side < 2; side++) {
            int *b = &to->body[side];
            *b = *b == SPRAG_STATIC ? *b : s->local[*b];
        }
        s->speed[s->contacts] = speed;
        s->which[s->contacts++] = i;
    }
    return approaches;
}

static bool solve(impact *s, double restitution)
{
    compliant_run *run = s->run;
    for (int i = 0; i < s->contacts; i++) {
        const sprag_surface *surface = compliant_surface(run, s->guard[s->which[i]]);
        double bounce = -s->speed[i] > surface->bounce_speed ? fmin(surface->bounce, 1) : 0;
        double rebound = -restitution * bounce * s->speed[i];
        bool rests = compliant_is_rigid(run, s->guard[s->which[i]]) && rebound < slow_impact(run);
        rebound = rests ? 0 : rebound;
        s->contact[i].bias =
            surface->velocity_normal + (s->bounces[s->which[i]] ? fmax(0, rebound) : 0);
    }
    for (int i = 0; i < s->bodies; i++) {
        const double *v = run->frame->body[s->global[i]].velocity;
        memcpy(s->body[i].velocity, v, sizeof s->body[i].velocity);
        memcpy(s->body[i].free_velocity, v, sizeof s->body[i].free_velocity);
    }
    sprag_stribeck_options options = sprag_stribeck_defaults();
    options.work_left = &run->work_left;
    options.softness = 0; // contacts have their own
    options.row_softness = options.friction_softness = COMPLIANT_IMPACT_SOFTNESS;
    options.tolerance = COMPLIANT_IMPACT_TOLERANCE;
    options.stiction_tolerance = options.stiction_at_rest =
        COMPLIANT_IMPACT_STICTION * run->sizes.fastest;
    sprag_problem problem = {.step = run->frame->step,
                             .bodies = s->bodies,
                             .contacts = s->contacts,
                             .rows = s->rows,
                             .body = s->body,
                             .contact = s->contact,
                             .row = s->row};
    const sprag_scratch before = *run->solve_scratch;
    const double least = COMPLIANT_IMPACT_SPEED_MIN * run->sizes.fastest;
    sprag_result result = compliant_solve_pushing(sprag_stribeck_solve, &problem, &options,
                                                  run->solve_scratch, least, &s->solution);
    sprag_scratch_release(run->solve_scratch, &before);
    return result == SPRAG_OK;
}

// J, of the impulses of a contact, at the mean of the velocities before and after, relative to the
// surface's own motion.
static double work_of(const impact *s, int i, double *size)
{
    const sprag_contact *c = &s->contact[i];
    const sprag_surface *surface = compliant_surface(s->run, s->guard[s->which[i]]);
    const double *force = s->solution.contact_force[i];
    double mean[2][6] = {{0}}, turning[3], u[3], step = s->run->frame->step;
    const double *velocity[2] = {NULL, NULL};
    for (int side = 0; side < 2; side++) {
        for (int k = 0; k < 6 && c->body[side] != SPRAG_STATIC; k++) {
            velocity[side] = mean[side];
            mean[side][k] =
                (s->body[c->body[side]].velocity[k] + s->solution.velocity[c->body[side]][k]) / 2;
        }
    }
    relative_velocity(velocity, c->arm, u);
    subtract3(mean[0] + 3, mean[1] + 3, turning);
    const double along[6] = {dot3(c->frame[0], u) - surface->velocity_normal,
                             dot3(c->frame[1], u) - c->slide.velocity[0],
                             dot3(c->frame[2], u) - c->slide.velocity[1],
                             dot3(c->frame[1], turning) - surface->turning.roll.velocity[0],
                             dot3(c->frame[2], turning) - surface->turning.roll.velocity[1],
                             dot3(c->frame[0], turning) - surface->turning.spin.velocity[0]};
    *size += step * fabs(force[0] * s->speed[i]);
    return step * dot6(force, along);
}

static bool adds_energy(const impact *s)
{
    double work = 0, size = 0;
    for (int i = 0; i < s->contacts; i++) {
        work += work_of(s, i, &size);
    }
    return work > COMPLIANT_IMPACT_ENERGY * size;
}

// false: there is no solution.
static bool solve_wave(impact *s, bool bounces)
{
    double lo = 0, hi = bounces;
    if (!solve(s, hi)) {
        return false;
    }
    if (!adds_energy(s)) {
        return true;
    }
    for (int i = 0; i < COMPLIANT_IMPACT_HALVINGS && s->run->work_left > 0; i++) {
        double middle = (lo + hi) / 2;
        if (!solve(s, middle)) {
            return false;
        }
        *(adds_energy(s) ? &hi : &lo) = middle;
    }
    return solve(s, lo);
}

// Reports the pairs that are hit, and applies the impulses.
static void apply(impact *s)
{
    compliant_run *run = s->run;
    double step = run->frame->step, slow = slow_impact(run);
    for (int i = 0, last = -1; i < s->contacts; i++) {
        int p = s->which[i], guard = s->guard[p];
        bool impacts = s->bounces[p] || compliant_is_rigid(run, guard);
        bool hit = impacts && s->speed[i] < -slow;
        s->hit[p] |= hit;
        if (hit && guard != last) {
            compliant_record_impact(run, guard, -s->speed[i], true);
            last = guard;
        }
    }
    for (int i = 0; i < s->contacts; i++) {
        double wrench[2][6];
        sprag_contact_wrench(&s->contact[i], s->solution.contact_force[i], wrench);
        sprag_pair_add_impulse(compliant_pair(run, s->guard[s->which[i]]),
                               (const double(*)[6])wrench, step);
    }
    for (int i = 0; i < s->rows; i++) {
        const compliant_active_row *active = &run->joints->active.row[i];
        run->joints->force[active->row] += active->sign * step * s->solution.row_force[i];
    }
    for (int i = 0; i < s->bodies; i++) {
        sprag_mover *mover = &run->frame->body[s->global[i]];
        memcpy(mover->velocity, s->solution.velocity[i], sizeof mover->velocity);
    }
}

static bool apply_waves(impact *s)
{
    bool good = true, approaches = choose_points(s, false);
    for (int wave = 0; good && approaches; wave++) {
        bool last = wave == COMPLIANT_WAVES_MAX || !(s->run->work_left > 0);
        if (last) {
            choose_points(s, true);
        }
        good = solve_wave(s, !last);
        if (good) {
            apply(s);
        }
        approaches = !last && good && choose_points(s, false);
    }
    return good;
}

// ---- after the impact

// m/s^2, by which forces push a pair together at a point.
static double pressing(const impact *s, int point)
{
    const sprag_contact *c = &s->point[point];
    double a[3];
    sprag_contact_velocity(c, s->run->state.f + COMPLIANT_VELOCITY,
                           COMPLIANT_STATES * sizeof(double), a);
    return -dot3(c->frame[0], a);
}

// Does an implicit step hold a pair? Its forces are not in f.
static bool is_any_held(const compliant_run *run)
{
    bool held = false;
    for (int g = 0; g < run->guards.pairs; g++) {
        held |= run->guards.law[g].status == COMPLIANT_IMPLICIT && run->guards.known_label[g] != 0;
    }
    return held;
}

// Rests a point that is pushed together so? Acceleration that the integrator does not resolve does
// not count. A point that sinks slower than its surface recedes (motionN) never approaches: it gets
// a law, or each further overlap would be an impact without impulses.
static bool rests(const impact *s, int point, double pressed)
{
    const compliant_run *run = s->run;
    double h = run->frame->step, speed = separation(s, point);
    double depth = -run->guards.gap[s->guard[point]];
    if (speed + compliant_surface(run, s->guard[point])->velocity_normal <
        -least_speed(run, s->guard[point])) {
        return true;
    }
    if (depth <= s->touch && pressed * h <= 2 * run->options->tolerance * run->sizes.fastest) {
        return false;
    }
    return 2 * speed <= COMPLIANT_SHORTEST_FLIGHT * h * fmax(pressed, 0);
}

// Gives pairs that rest the law of a contact that does not bounce. Deep overlaps hold. Where an
// implicit step holds other pairs, f does not know how they are pushed: by `least` m/s^2, say.
static void settle_resting(impact *s, double least)
{
    compliant_run *run = s->run;
    for (int i = 0; i < s->points; i++) {
        int g = s->guard[i];
        if (s->bounces[i] && run->guards.label[g] == 0 && !compliant_is_rigid(run, g) &&
            rests(s, i, fmax(least, pressing(s, i)))) {
            compliant_set_law(run, g, false);
            if (compliant_is_deep(run, g)) {
                compliant_hold_spring(run, g);
                continue;
            }
            run->guards.label[g] = run->guards.known_label[g] = 1;
            run->guards.overlap[g] = 0;
            run->has_settled = true;
        }
    }
}

static void record_leaving(impact *s)
{
    compliant_run *run = s->run;
    for (int i = 0, last = -1; i < s->points; i++) {
        int g = s->guard[i];
        double speed = separation(s, i);
        bool leaves = !compliant_is_rigid(run, g) || speed > compliant_rest_speed(run);
        if (s->hit[i] && g != last && run->guards.label[g] == 0 && leaves) {
            last = g;
            compliant_record_impact(run, g, speed, false);
        }
    }
}

// Pairs that do not rest are apart, even where rounding has them overlap.
static bool settle(impact *s)
{
    compliant_run *run = s->run;
    bool may_rest = false;
    for (int i = 0; i < s->points; i++) {
        bool rigid = compliant_is_rigid(run, s->guard[i]);
        if (s->bounces[i] || rigid) {
            set_apart(run, s->guard[i], -run->guards.gap[s->guard[i]]);
        }
        may_rest |= s->bounces[i] && !rigid;
    }
    compliant_set_known_labels(run);
    if (may_rest) {
        compliant_set_held_pairs(run);
        compliant_field(run, run->state.x, run->guards.known_label, run->state.f);
        if (!isfinite(run->state.f[0])) {
            return false;
        }
        settle_resting(s, 0);
        if (is_any_held(run)) {
            settle_resting(s, run->sizes.change / run->frame->step);
        }
    }
    record_leaving(s);
    return true;
}

static bool any_rebounds(const compliant_run *run)
{
    for (int g = 0; g < run->guards.pairs; g++) {
        if (compliant_rebounds(run, g)) {
            return true;
        }
    }
    return false;
}

bool compliant_impact(compliant_run *run)
{
    impact s = {.run = run, .touch = compliant_touch_distance(run)};
    compliant_set_known_labels(run);
    if (!any_rebounds(run) && !compliant_holds(run)) {
        return true;
    }
    compliant_unpack(run);
    if (!prepare(&s, SPRAG_ESS_NO_GUARD)) {
        return false;
    }
    bool any_impacts = false;
    for (int i = 0; i < s.points; i++) {
        any_impacts |= s.bounces[i] || compliant_is_rigid(run, s.guard[i]);
    }
    if (!any_impacts) {
        return true;
    }
    for (int i = 0; i < s.points; i++) {
        compliant_update_gap(run, s.guard[i]);
    }
    if (!apply_waves(&s)) {
        return false;
    }
    compliant_pack(run);
    if (s.rows > 0) {
        compliant_hit_motors(run);
        compliant_report_rows(run, 1 / run->frame->step);
        compliant_release_separating(run, run->guards.label + run->guards.pairs);
    }
    return settle(&s);
}

bool compliant_bounce(compliant_run *run, int guard)
{
    impact s = {.run = run, .touch = compliant_touch_distance(run)};
    if (!prepare(&s, guard) || s.points == 0 || !apply_waves(&s)) {
        return false;
    }
    compliant_update_gap(run, guard);
    for (int i = 0; i < s.bodies; i++) {
        compliant_pack_body(run, s.global[i]);
    }
    set_apart(run, guard, -run->guards.gap[guard]);
    record_leaving(&s);
    return true;
}

// A pair that the caller has not been asked about is likely to bounce, too, if another one does.
bool compliant_will_impact(compliant_run *run)
{
    double h = run->frame->step, near = 2 * run->sizes.fastest * h;
    bool any = any_rebounds(run);
    for (int g = 0; g < run->guards.pairs && any; g++) {
        compliant_contact c;
        if (run->guards.law[g].status != COMPLIANT_UNKNOWN || compliant_gap_bound(run, g) > near) {
            continue;
        }
        compliant_find_contact(run, run->state.x, g, COMPLIANT_FORCES, &c);
        bool touches = c.gap.distance < (c.approach + run->sizes.change) * h;
        if (touches && c.approach > slow_impact(run)) {
            return true;
        }
    }
    return false;
}
