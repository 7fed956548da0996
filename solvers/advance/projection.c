// The nearest motion that keeps the constraints, in the metric of the masses: by Gauss-Seidel from
// a queue of those that are violated, or, where there are joints, by the solver of contacts.
#include "projection.h"

#include <math.h>
#include <string.h>

#include "linalg.h"
#include "pair_contact.h"
#include "stribeck.h"

double advance_constraint_rate(const advance_projection *p, const advance_constraint *l)
{
    double sum = 0;
    for (int side = 0; side < 2; side++) {
        if (l->body[side] != SPRAG_STATIC) {
            sum += dot6(l->jacobian[side], p->run->attempt.motion[l->body[side]].velocity);
        }
    }
    return sum;
}

// The force with which the constraint alone would have the rate that it is to have.
static double force_of(const advance_constraint *l, double rate)
{
    return clamp(l->force + (l->wanted - rate) / l->inverse_mass, l->lo, l->hi);
}

static bool is_violated(const advance_projection *p, const advance_constraint *l)
{
    double rate = advance_constraint_rate(p, l), change = force_of(l, rate) - l->force;
    bool falls_short = rate < l->target - l->short_by && l->force < l->hi;
    return falls_short || fabs(change) * l->inverse_mass > l->off_by;
}

void advance_constraint_queue(advance_projection *p, int i)
{
    advance_constraint *l = &p->constraint[i];
    if (!l->queued && l->inverse_mass > 0 && is_violated(p, l)) {
        l->queued = true;
        p->queue[(p->head + p->waiting++) % p->room] = i;
    }
}

static void queue_body(advance_projection *p, int body)
{
    for (int i = p->first[body]; i >= 0;) {
        const advance_constraint *l = &p->constraint[i];
        advance_constraint_queue(p, i);
        p->rates++;
        i = l->next[l->body[0] != body];
    }
}

// Does the motion change?
static bool relax(advance_projection *p, advance_constraint *l)
{
    double change = force_of(l, advance_constraint_rate(p, l)) - l->force;
    l->force += change;
    for (int side = 0; side < 2 && change != 0; side++) {
        int body = l->body[side];
        if (body != SPRAG_STATIC && p->run->frame->body[body].mass > 0) {
            add_scaled(p->run->attempt.motion[body].velocity, change, l->response[side], 6);
            p->moved[body] = true;
        }
    }
    return change != 0;
}

static void relax_queue(advance_projection *p)
{
    for (; p->waiting > 0; p->waiting--) {
        advance_constraint *l = &p->constraint[p->queue[p->head]];
        p->head = (p->head + 1) % p->room;
        l->queued = false;
        if (p->rates < p->budget) {
            p->rates += 2;
            p->waiting--;
            bool changes = relax(p, l);
            for (int side = 0; side < 2 && changes; side++) {
                if (l->body[side] != SPRAG_STATIC) {
                    queue_body(p, l->body[side]);
                }
            }
            p->waiting++;
        }
    }
}

advance_constraint *advance_constraint_add(advance_projection *p, int body0, int body1)
{
    if (p->constraints == p->room) {
        return NULL;
    }
    advance_constraint *l = &p->constraint[p->constraints++];
    *l = (advance_constraint){.body = {body0, body1},
                              .hi = INFINITY,
                              .short_by = p->tolerance,
                              .off_by = p->tolerance + p->excess};
    return l;
}

void advance_constraint_attach(advance_projection *p, advance_constraint *l)
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
            mul33(p->run->inverse[body], l->jacobian[side] + 3, l->response[side] + 3);
            l->inverse_mass += dot6(l->jacobian[side], l->response[side]);
        }
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
// moved no farther than it, or a body that it touches, would have moved. Joints pass motion on: of
// bodies that they join the fastest counts, and all are restrained by the same share.
static void set_farthest(advance_projection *p)
{
    const advance_run *run = p->run;
    const int *assembly = run->assembly;
    double *speed = p->speed;
    for (int i = 0; i < run->frame->bodies; i++) {
        memcpy(p->solved[i], run->attempt.motion[i].velocity, sizeof p->solved[i]);
        speed[assembly[i]] = fmax(speed[assembly[i]], energy_speed(run, i, p->solved[i]));
    }
    for (int i = 0; i < run->frame->bodies; i++) {
        p->farthest[i] = speed[i] + advance_farther * (p->tolerance + p->excess);
    }
    for (int i = 0; i < p->constraints; i++) {
        const int *body = p->constraint[i].body;
        for (int side = 0; side < 2 && body[!side] != SPRAG_STATIC; side++) {
            if (body[side] != SPRAG_STATIC) {
                double *farthest = &p->farthest[assembly[body[side]]];
                *farthest = fmax(*farthest, speed[assembly[body[!side]]]);
            }
        }
    }
}

static void restrain(advance_projection *p)
{
    const advance_run *run = p->run;
    const int bodies = run->frame->bodies, *assembly = run->assembly;
    double *share = p->share;
    for (int i = 0; i < bodies; i++) {
        share[i] = 1;
    }
    for (int i = 0; i < bodies; i++) {
        double change[6], most = p->farthest[assembly[i]];
        memcpy(change, run->attempt.motion[i].velocity, sizeof change);
        add_scaled(change, -1, p->solved[i], 6);
        double size = energy_speed(run, i, change);
        share[assembly[i]] = fmin(share[assembly[i]], size > most ? most / size : 1);
    }
    for (int i = 0; i < bodies; i++) {
        double part = share[assembly[i]], *v = run->attempt.motion[i].velocity;
        for (int k = 0; part < 1 && k < 6; k++) {
            v[k] = p->solved[i][k] + part * (v[k] - p->solved[i][k]);
        }
        p->moved[i] |= part < 1;
    }
}

// ---- the projection

bool advance_projection_take(advance_projection *p)
{
    const advance_run *run = p->run;
    const sprag_frame *frame = run->frame;
    sprag_scratch *scratch = run->solving;
    p->constraint = SPRAG_TAKE_RAW(scratch, p->room, advance_constraint);
    p->queue = SPRAG_TAKE_RAW(scratch, p->room, int);
    p->of_point = SPRAG_TAKE_RAW(scratch, p->room, int);
    p->first = SPRAG_TAKE_RAW(scratch, frame->bodies, int);
    p->moved = SPRAG_TAKE(scratch, frame->bodies, bool);
    p->speed = SPRAG_TAKE(scratch, frame->bodies, double);
    p->share = SPRAG_TAKE_RAW(scratch, frame->bodies, double);
    p->solved = SPRAG_TAKE_RAW(scratch, frame->bodies, *p->solved);
    p->farthest = SPRAG_TAKE_RAW(scratch, frame->bodies, double);
    if (scratch->failed) {
        return false;
    }
    for (int i = 0; i < frame->bodies; i++) {
        p->first[i] = -1;
    }
    return true;
}

void advance_projection_begin(advance_projection *p)
{
    set_farthest(p);
    p->rates = 0;
    p->budget = (long)ADVANCE_RATES * p->constraints + ADVANCE_LEAST_RATES;
    for (int i = 0; i < p->constraints; i++) {
        advance_constraint_queue(p, i);
    }
}

// The contact, without friction, of a constraint along a normal.
static sprag_contact contact_of(const advance_constraint *l)
{
    static const double any[3] = {0};
    sprag_contact contact = {.body = {l->body[0], l->body[1]}, .bias = l->wanted, .softening = 1};
    for (int side = 0; side < 2; side++) {
        cross3(l->jacobian[side], l->jacobian[side] + 3, contact.arm[side]);
    }
    sprag_contact_frame(l->jacobian[0], any, contact.frame);
    return contact;
}

static sprag_row row_of(const advance_constraint *l)
{
    sprag_row row = {.body = {l->body[0], l->body[1]}, .bias = l->wanted, .lo = l->lo, .hi = l->hi};
    memcpy(row.jacobian, l->jacobian, sizeof row.jacobian);
    return row;
}

// All constraints at once, from the motion before the projection and no forces: from those of the
// round before, which lack the new constraints, Newton's method mostly ends without a root. Those
// along normals are contacts: the solver brings rows of one sign to a root only where they are few.
// false: it has failed, and nothing is changed.
static bool solve_directly(advance_projection *p)
{
    advance_run *run = p->run;
    sprag_scratch *scratch = run->solving;
    const int bodies = run->frame->bodies;
    const double step = run->attempt.length;
    sprag_body *body = SPRAG_TAKE(scratch, bodies, sprag_body);
    sprag_row *row = SPRAG_TAKE_RAW(scratch, p->constraints, sprag_row);
    sprag_contact *contact = SPRAG_TAKE_RAW(scratch, p->constraints, sprag_contact);
    sprag_solution to = {.velocity = SPRAG_TAKE(scratch, bodies, double[6]),
                         .contact_force = SPRAG_TAKE(scratch, p->constraints, double[6]),
                         .row_force = SPRAG_TAKE(scratch, p->constraints, double)};
    double left = run->work_left;
    sprag_stribeck_options options = run->options->solver;
    options.work_left = &left;
    if (scratch->failed) {
        return false;
    }
    for (int i = 0; i < bodies; i++) {
        body[i].mass = run->frame->body[i].mass;
        memcpy(body[i].inertia, run->inertia[i], sizeof body[i].inertia);
        memcpy(body[i].velocity, p->solved[i], sizeof body[i].velocity);
        memcpy(body[i].free_velocity, p->solved[i], sizeof body[i].free_velocity);
    }
    sprag_problem problem = {
        .step = step, .bodies = bodies, .body = body, .contact = contact, .row = row};
    for (int i = 0; i < p->constraints; i++) {
        const advance_constraint *l = &p->constraint[i];
        if (l->presses) {
            contact[problem.contacts++] = contact_of(l);
        } else {
            row[problem.rows++] = row_of(l);
        }
    }
    sprag_result result = sprag_stribeck_solve(&problem, &options, scratch, &to, NULL);
    advance_spend(run, run->work_left - left);
    if (result != SPRAG_OK) {
        return false;
    }
    for (int i = 0; i < bodies; i++) {
        double *v = run->attempt.motion[i].velocity;
        p->moved[i] |= memcmp(v, to.velocity[i], sizeof to.velocity[i]) != 0;
        memcpy(v, to.velocity[i], sizeof to.velocity[i]);
    }
    for (int i = 0, contacts = 0, rows = 0; i < p->constraints; i++) {
        advance_constraint *l = &p->constraint[i];
        l->force = step * (l->presses ? to.contact_force[contacts++][0] : to.row_force[rows++]);
        l->queued = false;
    }
    p->waiting = 0;
    return true;
}

// Along chains and round loops of joints relaxation takes too long, and what its tolerance leaves
// adds up.
void advance_project(advance_projection *p)
{
    bool jointed = p->run->rows.count > 0;
    const sprag_scratch before = *p->run->solving;
    bool solved = jointed && solve_directly(p);
    sprag_scratch_release(p->run->solving, &before);
    if (!solved) {
        relax_queue(p);
    }
    restrain(p);
    advance_spend(p->run, ADVANCE_RATE_WORK * (double)p->rates);
    p->budget -= p->rates;
    p->rates = 0;
}
