// A sub-step of a large group. An exact solve of its contacts would cost too much, so sweeps leave
// velocities at which pairs still approach by a little more than their gaps allow. The motion is
// projected: changed by as little as possible, in the metric of the masses, so that all points stay
// apart; the velocities stay as they were solved. The projection is Gauss-Seidel over a queue of
// violated constraints, so that it costs little where little is violated. Pairs that block the
// projected motion get speculative contacts, and the contacts are solved once more with them.
#include <math.h>
#include <string.h>

#include "advance_run.h"
#include "kinematics.h"

// A constraint on the motion, of a point, a given contact or a joint row: its rate is to be at
// least (with lo < 0: exactly) the target, by a force between lo and hi.
typedef struct constraint {
    int body[2]; // SPRAG_STATIC: none
    double jacobian[2][6];
    double response[2][6]; // inverse mass times jacobian
    double inverse_mass;   // along the jacobian, 1/kg or 1/(kg m^2)
    double target;         // m/s, rad/s
    double lo, hi;
    double force;
    int next[2]; // constraint of the same body, -1: none
    bool queued;
} constraint;

typedef struct projection { // in the scratch of the solve
    advance_run *run;
    constraint *constraint;
    int constraints, room;
    int *of_point;             // points: their constraints
    int points;                // that have one
    int *first;                // bodies: the first of their constraints
    bool *moved;               // bodies: their motion has changed since their pairs were certified
    double (*inverse)[9];      // 1/(kg m^2), bodies, inverse inertia, world axes
    int *queue, head, waiting; // constraints to be relaxed, a ring
    long budget;               // relaxations that are left
    double tolerance, excess;  // m/s, of violations; that points are separated by beyond the target
    double *before, *push;     // velocities and forces of the last sweep; their momentum
    double (*solved)[6];       // m/s, rad/s, bodies: the motion before the projection
    double *farthest;          // m/s, bodies: that the projection may change the motion by
} projection;

bool advance_is_coarse(const advance_run *run)
{
    bool jammed = run->push.speed > 0; // an overlap has no event to wait for
    return (advance_is_large_group(run) || jammed || run->over_budget) && !run->control;
}

// ---- constraints

static double rate(const projection *p, const constraint *l)
{
    double sum = 0;
    for (int side = 0; side < 2; side++) {
        if (l->body[side] != SPRAG_STATIC) {
            sum += dot6(l->jacobian[side], p->run->attempt.motion[l->body[side]].velocity);
        }
    }
    return sum;
}

static bool is_violated(const projection *p, const constraint *l)
{
    double above = rate(p, l) - l->target;
    return (above < -p->tolerance && l->force < l->hi) ||
           (above > p->tolerance + 2 * p->excess && l->force > l->lo);
}

static void queue_if_violated(projection *p, int i)
{
    constraint *l = &p->constraint[i];
    if (!l->queued && l->inverse_mass > 0 && is_violated(p, l)) {
        l->queued = true;
        p->queue[(p->head + p->waiting++) % p->room] = i;
    }
}

static void queue_body(projection *p, int body)
{
    for (int i = p->first[body]; i >= 0;) {
        const constraint *l = &p->constraint[i];
        queue_if_violated(p, i);
        i = l->next[l->body[0] != body];
    }
}

// Returns the square of the change of the motion, in the metric of energy.
static double relax(projection *p, constraint *l)
{
    double excess = l->lo == 0 && l->force >= 0 ? p->excess : 0;
    double force = l->force + (l->target + excess - rate(p, l)) / l->inverse_mass;
    force = clamp(force, l->lo, l->hi);
    double change = force - l->force;
    l->force = force;
    for (int side = 0; side < 2 && change != 0; side++) {
        int body = l->body[side];
        if (body != SPRAG_STATIC && p->run->frame->body[body].mass > 0) {
            add_scaled(p->run->attempt.motion[body].velocity, change, l->response[side], 6);
            p->moved[body] = true;
        }
    }
    return l->inverse_mass * change * change;
}

static void accelerate(projection *p, double part)
{
    double *before = p->before, *push = p->push;
    for (int i = 0; i < p->run->frame->bodies; i++, before += 6, push += 6) {
        double *v = p->run->attempt.motion[i].velocity;
        for (int k = 0; k < 6; k++) {
            push[k] = part * (push[k] + v[k] - before[k]);
            v[k] += push[k];
            before[k] = v[k];
            p->moved[i] |= push[k] != 0;
        }
    }
    for (int i = 0; i < p->constraints; i++, before++, push++) {
        *push = part * (*push + p->constraint[i].force - *before);
        p->constraint[i].force += *push;
        *before = p->constraint[i].force;
    }
}

static int count_violated(const projection *p)
{
    int violated = 0;
    for (int i = 0; i < p->constraints; i++) {
        violated += p->constraint[i].inverse_mass > 0 && is_violated(p, &p->constraint[i]);
    }
    return violated;
}

// Relaxes all constraints in turn, with Nesterov's momentum (gauss_seidel.h), if many are violated.
static void sweep(projection *p)
{
    double last = INFINITY;
    if (p->waiting < ADVANCE_FEW_VIOLATED) {
        return;
    }
    accelerate(p, 0);
    for (int it = 1, since = 1; it <= ADVANCE_PROJECTION_SWEEPS; it++, since++) {
        double change = 0;
        for (int i = 0; i < p->constraints; i++) {
            constraint *l = &p->constraint[i];
            bool idle = l->force == l->lo && rate(p, l) >= l->target - p->tolerance;
            change += idle || !(l->inverse_mass > 0) ? 0 : relax(p, l);
        }
        if (it % ADVANCE_COUNT_EVERY == 0 && count_violated(p) < ADVANCE_FEW_VIOLATED) {
            break;
        }
        since = change > last ? 1 : since;
        last = change;
        accelerate(p, (since - 1.0) / (since + 2.0));
    }
    for (; p->waiting > 0; p->waiting--) {
        p->constraint[p->queue[p->head]].queued = false;
        p->head = (p->head + 1) % p->room;
    }
    for (int i = 0; i < p->constraints; i++) {
        constraint *l = &p->constraint[i];
        l->force = clamp(l->force, l->lo, l->hi);
        queue_if_violated(p, i);
    }
}

static void project(projection *p)
{
    sweep(p);
    for (; p->waiting > 0; p->waiting--) {
        constraint *l = &p->constraint[p->queue[p->head]];
        p->head = (p->head + 1) % p->room;
        l->queued = false;
        if (p->budget > 0) {
            p->budget--;
            p->waiting--;
            bool changes = relax(p, l) > 0;
            for (int side = 0; side < 2 && changes; side++) {
                if (l->body[side] != SPRAG_STATIC) {
                    queue_body(p, l->body[side]);
                }
            }
            p->waiting++;
        }
    }
}

// NULL: no room. The caller sets the jacobian, then attaches the constraint to its bodies.
static constraint *new_constraint(projection *p, int body0, int body1)
{
    if (p->constraints == p->room) {
        return NULL;
    }
    constraint *l = &p->constraint[p->constraints++];
    *l = (constraint){.body = {body0, body1}, .hi = INFINITY};
    return l;
}

static void attach(projection *p, constraint *l)
{
    int i = (int)(l - p->constraint);
    for (int side = 0; side < 2; side++) {
        int body = l->body[side];
        if (body == SPRAG_STATIC) {
            continue;
        }
        l->next[side] = p->first[body];
        p->first[body] = i;
        double mass = p->run->frame->body[body].mass;
        if (mass > 0) {
            add_scaled(l->response[side], 1 / mass, l->jacobian[side], 3);
            mul33(p->inverse[body], l->jacobian[side] + 3, l->response[side] + 3);
            l->inverse_mass += dot6(l->jacobian[side], l->response[side]);
        }
    }
}

// ---- points

static double target_rate(const projection *p, const advance_point *point, double rate)
{
    const advance_run *run = p->run;
    if (run->frame->pair[point->pair].overlapped && point->gap < run->target) {
        return fmin(rate, 0); // push_out.c separates it
    }
    return (run->target - point->gap + point->dip) / run->attempt.length;
}

static void set_normal(constraint *l, int side, const double normal[3], const double arm[3])
{
    double J[6];
    point_jacobian(arm, normal, J);
    add_scaled(l->jacobian[side], side ? -1 : 1, J, 6);
}

static void add_point(projection *p, int i)
{
    const advance_run *run = p->run;
    const advance_point *point = &run->points.point[i];
    const int *collider = run->frame->pair[point->pair].collider;
    constraint *l = new_constraint(p, run->frame->collider[collider[0]].body,
                                   run->frame->collider[collider[1]].body);
    p->of_point[i] = l ? (int)(l - p->constraint) : -1;
    for (int side = 0; side < 2 && l; side++) {
        if (l->body[side] != SPRAG_STATIC) {
            double arm[3];
            subtract3(point->at[side], run->frame->body[l->body[side]].pose.position, arm);
            set_normal(l, side, point->normal, arm);
        }
    }
    if (l) {
        attach(p, l);
        l->target = target_rate(p, point, rate(p, l));
    }
}

static void update_point(projection *p, int i)
{
    int known = p->of_point[i];
    if (known >= 0) {
        p->constraint[known].target =
            target_rate(p, &p->run->points.point[i], p->constraint[known].target);
        queue_if_violated(p, known);
    }
}

// Raises the target by the gap deficit at the end of the sub-step.
static void raise_target(projection *p, int i, double lowest)
{
    advance_point *point = &p->run->points.point[i];
    double step = p->run->attempt.length, target = p->run->target;
    constraint *l = p->of_point[i] < 0 ? NULL : &p->constraint[p->of_point[i]];
    if (l) {
        l->target = fmax(l->target, rate(p, l) + fmax(target - lowest, 0) / step);
        point->dip = fmax(0, l->target * step - target + point->gap);
        queue_if_violated(p, p->of_point[i]);
    }
}

// ---- given contacts and joint rows, which keep their rates

static void add_given(projection *p, const sprag_contact *contact)
{
    constraint *l = new_constraint(p, contact->body[0], contact->body[1]);
    for (int side = 0; side < 2 && l; side++) {
        if (l->body[side] != SPRAG_STATIC) {
            set_normal(l, side, contact->frame[0], contact->arm[side]);
        }
    }
    if (l) {
        attach(p, l);
        l->target = fmin(0, rate(p, l));
    }
}

static void add_row(projection *p, const sprag_row *row)
{
    constraint *l =
        isinf(row->lo) || isinf(row->hi) ? new_constraint(p, row->body[0], row->body[1]) : NULL;
    if (l) {
        memcpy(l->jacobian, row->jacobian, sizeof l->jacobian);
        l->lo = isinf(row->lo) ? row->lo : 0;
        l->hi = isinf(row->hi) ? row->hi : 0;
        attach(p, l);
        l->target = rate(p, l);
    }
}

// ---- limits of the change

// m/s, of a body with the same energy that does not turn.
static double energy_speed(const advance_run *run, int body, const double v[6])
{
    double mass = run->frame->body[body].mass;
    return mass > 0 ? sqrt(advance_product(run, body, v, v) / mass) : norm3(v);
}

// If the points cannot all stay apart, the projection would move bodies without end: a body may be
// moved no farther than it, or a body that it touches, would have moved.
static void set_farthest(projection *p)
{
    const advance_run *run = p->run;
    double *speed = p->before;
    for (int i = 0; i < run->frame->bodies; i++) {
        memcpy(p->solved[i], run->attempt.motion[i].velocity, sizeof p->solved[i]);
        speed[i] = energy_speed(run, i, p->solved[i]);
        p->farthest[i] = speed[i] + advance_farther * (p->tolerance + p->excess);
    }
    for (int i = 0; i < p->constraints; i++) {
        const int *body = p->constraint[i].body;
        for (int side = 0; side < 2 && body[!side] != SPRAG_STATIC; side++) {
            if (body[side] != SPRAG_STATIC) {
                p->farthest[body[side]] = fmax(p->farthest[body[side]], speed[body[!side]]);
            }
        }
    }
}

static void restrain(projection *p)
{
    for (int i = 0; i < p->run->frame->bodies; i++) {
        double *v = p->run->attempt.motion[i].velocity, change[6];
        for (int k = 0; k < 6; k++) {
            change[k] = v[k] - p->solved[i][k];
        }
        double most = p->farthest[i], size = energy_speed(p->run, i, change);
        for (int k = 0; size > most && k < 6; k++) {
            v[k] = p->solved[i][k] + most / size * change[k];
        }
        p->moved[i] |= size > most;
    }
}

// ---- rounds of projection

static bool start(projection *p, advance_run *run)
{
    const sprag_frame *frame = run->frame;
    sprag_scratch *scratch = run->solving;
    bool exact = run->stats->solve.strategy == SPRAG_STRATEGY_INTERIOR_POINT;
    *p = (projection){.run = run,
                      .tolerance = 0.5 * run->target / run->attempt.length,
                      .excess = (exact ? advance_exact_excess : advance_rough_excess) *
                                run->options->epsilon / run->attempt.length};
    int points = 2 * run->points.count + 256;
    p->room = points + frame->contacts + run->rows.count;
    p->constraint = SPRAG_TAKE(scratch, p->room, constraint);
    p->queue = SPRAG_TAKE(scratch, p->room, int);
    p->of_point = SPRAG_TAKE(scratch, p->room, int);
    p->first = SPRAG_TAKE(scratch, frame->bodies, int);
    p->moved = SPRAG_TAKE(scratch, frame->bodies, bool);
    p->inverse = SPRAG_TAKE(scratch, frame->bodies, *p->inverse);
    p->before = SPRAG_TAKE(scratch, 6 * frame->bodies + p->room, double);
    p->push = SPRAG_TAKE(scratch, 6 * frame->bodies + p->room, double);
    p->solved = SPRAG_TAKE(scratch, frame->bodies, *p->solved);
    p->farthest = SPRAG_TAKE(scratch, frame->bodies, double);
    if (scratch->failed) {
        return false;
    }
    for (int i = 0; i < frame->bodies; i++) {
        p->first[i] = -1;
        invert33(run->inertia[i], p->inverse[i]);
    }
    for (int i = 0; i < run->rows.count; i++) {
        add_row(p, &run->rows.row[i]);
    }
    for (int i = 0; i < frame->contacts; i++) {
        add_given(p, &frame->contact[i]);
    }
    for (; p->points < run->points.count; p->points++) {
        add_point(p, p->points);
    }
    set_farthest(p);
    p->budget = (long)ADVANCE_RELAXATIONS * p->constraints + ADVANCE_LEAST_RELAXATIONS;
    for (int i = 0; i < p->constraints; i++) {
        queue_if_violated(p, i);
    }
    return true;
}

static void add_speculative_point(projection *p, int pair)
{
    int point = advance_add_speculative(p->run, pair);
    for (; p->points < p->run->points.count; p->points++) {
        add_point(p, p->points);
    }
    if (point >= 0) {
        raise_target(p, point, p->run->near[pair].certificate.lowest);
    }
}

// Adds speculative contacts of pairs that block, or raises targets. false: nothing changed.
static bool add_blocking(projection *p)
{
    advance_run *run = p->run;
    bool declined = false;
    for (int i = 0, at = 0; i < run->frame->pairs; i++) {
        const advance_near *near = &run->near[i];
        advance_skip_to_pair(run, i, &at);
        if (!(near->certificate.time < run->attempt.length)) {
            continue;
        }
        int first = at, waiting = p->waiting;
        for (bool curves = near->closed && advance_update_dips(run, i, &at);
             curves && first < at;) {
            update_point(p, first++);
        }
        if (!advance_accepts(run, i)) {
            run->near[i].certificate.time = INFINITY;
            declined = true;
        } else if (p->waiting == waiting && near->certificate.side >= 0 &&
                   p->constraints < p->room) {
            add_speculative_point(p, i);
        }
    }
    return p->waiting > 0 || declined;
}

sprag_result advance_plan_coarse(advance_run *run, double longest)
{
    run->attempt.has_guess = false;
    advance_begin_attempt(run, longest);
    for (int pass = 0; pass < ADVANCE_COARSE_SOLVES; pass++) {
        projection p;
        int points = run->points.count;
        run->attempt.ignore_dips = true;
        sprag_result result = advance_solve(run, longest);
        run->attempt.ignore_dips = false;
        if (result == SPRAG_OK && !start(&p, run)) {
            result = SPRAG_NO_MEMORY;
        }
        if (result != SPRAG_OK) {
            return result;
        }
        for (int round = 0; round < (pass == 0 ? 1 : ADVANCE_ROUNDS); round++) {
            if (pass > 0) { // the first pass only finds points
                project(&p);
                restrain(&p);
            }
            advance_certify(run, longest, round == 0 ? NULL : p.moved);
            memset(p.moved, 0, (size_t)run->frame->bodies * sizeof *p.moved);
            if (run->attempt.safe >= longest || p.budget <= 0 || !add_blocking(&p)) {
                break;
            }
        }
        bool done = run->attempt.safe >= longest && p.waiting == 0;
        if (done || (pass > 0 && (run->attempt.safe >= longest || run->points.count == points))) {
            break;
        }
    }
    return SPRAG_OK;
}
