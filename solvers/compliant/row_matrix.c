// The rows that act, and the matrix of their forces, J M^-1 J' + CFM / h. It is kept within its
// envelope: that of a chain is narrow.
#include <math.h>
#include <string.h>

#include "compliant_joints.h"
#include "linalg.h"
#include "softness.h"
#include "vectors6.h"

double compliant_row_inverse_mass(const compliant_run *run, int row)
{
    const compliant_joints *j = run->joints;
    const double(*J)[6] = j->row[row].jacobian,
          (*response)[6] = (const double(*)[6])j->response[row];
    return product6(J[0], response[0]) + product6(J[1], response[1]);
}

bool compliant_hardly_yields(const compliant_run *run, int row, double compliance)
{
    return COMPLIANT_RESOLVED * compliance <=
           run->frame->step * compliant_row_inverse_mass(run, row);
}

double compliant_stop_bias(const compliant_run *run, const sprag_stop *stop)
{
    return -fmin(stop->erp, 1) / run->frame->step * stop->inside;
}

static bool stop_hardly_yields(const compliant_run *run, int which)
{
    const sprag_stop *stop = &run->joints->stop[which];
    return compliant_hardly_yields(run, stop->row, stop->compliance);
}

double compliant_active_bias(const compliant_run *run, const compliant_active_row *row)
{
    const compliant_joints *j = run->joints;
    return row->stop < 0                        ? j->row[row->row].bias
           : stop_hardly_yields(run, row->stop) ? j->separation_speed[row->stop]
                                                : compliant_stop_bias(run, &j->stop[row->stop]);
}

// ---- active rows

static void add_active(compliant_joints *j, compliant_active_row added)
{
    compliant_row_system *s = &j->active;
    const sprag_row *row = &j->row[added.row];
    int i = s->count++;
    s->first[i] = i;
    sprag_inverse inverse[2] = {{0}};
    for (int side = 0; side < 2; side++) {
        int body = row->body[side];
        if (body != SPRAG_STATIC) {
            inverse[side] = (sprag_inverse){j->inverse_mass[body], j->inverse_inertia[body]};
            j->first_of_body[body] = j->first_of_body[body] < 0 ? i : j->first_of_body[body];
            s->first[i] =
                j->first_of_body[body] < s->first[i] ? j->first_of_body[body] : s->first[i];
        }
    }
    bool bounded = isfinite(added.lo) || isfinite(added.hi);
    s->row[i] = added;
    s->has_bounds |= bounded;
    s->softness[i] = bounded ? 0 : COMPLIANT_RIGID_ROW_SOFTNESS * sprag_row_unit(row, inverse);
    s->start[i] = s->entries;
    s->entries += (size_t)(i - s->first[i] + 1);
}

static void add_stop(const compliant_run *run, int which)
{
    compliant_joints *j = run->joints;
    const sprag_stop *stop = &j->stop[which];
    add_active(j, (compliant_active_row){.row = stop->row,
                                         .stop = which,
                                         .sign = stop->sign,
                                         .compliance = stop->compliance,
                                         .lo = 0,
                                         .hi = INFINITY});
}

// at: its active stop, or NULL. Rows of bounded force have no impulses.
static bool is_active(const compliant_joints *j, int row, const sprag_stop *at,
                      compliant_equations of)
{
    const sprag_row *r = &j->row[row];
    bool acts = j->rule[row] == COMPLIANT_RIGID ||
                (j->rule[row] == COMPLIANT_ONE_SIDED && of != COMPLIANT_FOR_START) ||
                (j->rule[row] == COMPLIANT_MOTOR && of == COMPLIANT_FOR_FORCES);
    return acts && (r->lo != 0 || r->hi != 0) && (of == COMPLIANT_FOR_FORCES || !at);
}

// A motor that drives away from a stop has a share of its force (ODE's fudge factor) there. A motor
// of unbounded force that drives into a stop contradicts it: the motor is made to yield as much as
// its bodies.
static void add_row(compliant_joints *j, int row, const sprag_stop *at, compliant_equations of)
{
    const sprag_row *r = &j->row[row];
    bool away = at && at->sign * r->bias > 0;
    double share = away ? at->fudge : j->force_share[row];
    if (share > 0 && is_active(j, row, at, of)) {
        add_active(
            j, (compliant_active_row){.row = row,
                                      .stop = -1,
                                      .sign = 1,
                                      .compliance = r->compliance,
                                      .lo = share * r->lo,
                                      .hi = share * r->hi,
                                      .yielding = at && !away && j->rule[row] != COMPLIANT_MOTOR});
    }
}

// Products of active row i with itself and those before it, on the bodies that they share.
static void add_couplings(compliant_joints *j, int i)
{
    const compliant_row_system *s = &j->active;
    const compliant_active_row *own = &s->row[i];
    for (int k = s->first[i]; k <= i; k++) {
        const compliant_active_row *with = &s->row[k];
        for (int pair = 0; pair < 4; pair++) {
            int side = pair % 2, other = pair / 2, body = j->row[own->row].body[side];
            if (body != SPRAG_STATIC && body == j->row[with->row].body[other]) {
                j->coupling[j->couplings++] =
                    (compliant_coupling){.sign = own->sign * with->sign,
                                         .entry = (int)s->start[i] + k - s->first[i],
                                         .side = (short)side,
                                         .response = (short)(2 * with->row + other)};
            }
        }
    }
    j->end_of_couplings[i] = j->couplings;
}

void compliant_set_active_rows(compliant_run *run, const double *label, compliant_equations of)
{
    compliant_joints *j = run->joints;
    size_t size = (size_t)run->stops * sizeof *label;
    bool alike = of == COMPLIANT_FOR_FORCES || !j->active.has_bounds;
    if (j->active_for_forces && alike && memcmp(j->active_label, label, size) == 0) {
        return;
    }
    j->active_for_forces = of == COMPLIANT_FOR_FORCES;
    memcpy(j->active_label, label, size);
    j->active.count = j->couplings = 0;
    j->active.entries = 0;
    j->active.has_bounds = false;
    for (int i = 0; i < run->frame->bodies; i++) {
        j->first_of_body[i] = -1;
    }
    for (int i = 0, s = 0; i < run->rows; i++) {
        const sprag_stop *at = NULL;
        int first = s;
        for (; s < run->stops && j->stop[s].row == i; s++) {
            at = label[s] != 0 ? &j->stop[s] : at;
        }
        add_row(j, i, at, of);
        for (int k = first; k < s; k++) {
            if (label[k] != 0 && (of != COMPLIANT_FOR_START || stop_hardly_yields(run, k))) {
                add_stop(run, k);
            }
        }
    }
    for (int i = 0; i < j->active.count; i++) {
        j->active.line[i] = j->active.factor + j->active.start[i] - j->active.first[i];
        add_couplings(j, i);
    }
}

// ---- the matrix

// Compliance of an active row, 1/kg. Bounded rows always yield a little: a motor that drives into
// its stop has the same Jacobian. per_step: 1 / h
static double yield_of(const compliant_run *run, const compliant_active_row *row, double per_step,
                       double time)
{
    const compliant_joints *j = run->joints;
    const compliant_rule rule = row->stop < 0 ? j->rule[row->row] : COMPLIANT_ONE_SIDED;
    double yield = row->compliance * per_step;
    yield *= rule == COMPLIANT_MOTOR ? 1 + COMPLIANT_CATCH_UP * time * per_step : 1;
    if (j->as_if_rigid &&
        (rule == COMPLIANT_RIGID || (row->stop >= 0 && stop_hardly_yields(run, row->stop)))) {
        yield = 0;
    }
    const bool bounded = isfinite(row->lo) || isfinite(row->hi);
    double inverse_mass = bounded || row->yielding ? compliant_row_inverse_mass(run, row->row) : 0;
    yield = bounded ? fmax(yield, COMPLIANT_BOUNDED_ROW_SOFTNESS * inverse_mass) : yield;
    return row->yielding ? yield + inverse_mass : yield;
}

// R I^-1 R' of all bodies.
static void set_inverse_inertias(compliant_run *run)
{
    for (int i = 0; i < run->frame->bodies; i++) {
        const double *R = run->state.pose[i].rotation;
        double half[9], *to = run->joints->inverse_inertia[i];
        mul33_33(R, run->sizes.inverse_inertia[i], half);
        double xy = dot3(half, R + 3), xz = dot3(half, R + 6), yz = dot3(half + 3, R + 6);
        double xx = dot3(half, R), yy = dot3(half + 3, R + 3), zz = dot3(half + 6, R + 6);
        to[0] = xx, to[1] = xy, to[2] = xz;
        to[3] = xy, to[4] = yy, to[5] = yz;
        to[6] = xz, to[7] = yz, to[8] = zz;
    }
}

// M^-1 J' of a body; its inverse inertia I is symmetric.
static void respond(const double *J, double inverse_mass, const double *I, double *response)
{
    *(sprag_two *)response = inverse_mass * *(const sprag_two *)J;
    response[2] = inverse_mass * J[2];
    response[3] = I[0] * J[3] + I[3] * J[4] + I[6] * J[5];
    *(sprag_two *)(response + 4) = J[3] * *(const sprag_two *)(I + 1) +
                                   J[4] * *(const sprag_two *)(I + 4) +
                                   J[5] * *(const sprag_two *)(I + 7);
}

void compliant_set_responses(compliant_run *run)
{
    const compliant_joints *j = run->joints;
    const sprag_row *row = j->row, *end = row + run->rows;
    const double *inverse_mass = j->inverse_mass, (*I)[9] = (const double(*)[9])j->inverse_inertia;
    double(*response)[6] = j->response[0];
    set_inverse_inertias(run);
    for (; row < end; row++) {
        for (int side = 0; side < 2; side++, response++) {
            int body = row->body[side];
            if (body == SPRAG_STATIC || inverse_mass[body] == 0) {
                memset(*response, 0, sizeof *response);
            } else {
                respond(row->jacobian[side], inverse_mass[body], I[body], *response);
            }
        }
    }
}

void compliant_set_yields(compliant_run *run, double time)
{
    compliant_row_system *s = &run->joints->active;
    const double per_step = 1 / run->frame->step;
    compliant_set_responses(run);
    for (int i = 0; i < s->count; i++) {
        s->yield[i] = yield_of(run, &s->row[i], per_step, time);
    }
}

// Softness of what the integrator does not resolve: it must not decide about forces where rows
// depend on one another, as those of a parallelogram at its dead points.
static void set_matrix(compliant_run *run)
{
    compliant_joints *j = run->joints;
    compliant_row_system *s = &j->active;
    run->budget.work += COMPLIANT_COST_ENTRY * (double)s->entries;
    memset(s->A, 0, s->entries * sizeof *s->A);
    const double(*response)[6] = (const double(*)[6])j->response[0];
    const compliant_coupling *c = j->coupling;
    for (int i = 0; i < s->count; i++) {
        const double(*J)[6] = j->row[s->row[i].row].jacobian;
        for (const compliant_coupling *end = j->coupling + j->end_of_couplings[i]; c < end; c++) {
            s->A[c->entry] += c->sign * product6(J[c->side], response[c->response]);
        }
        *compliant_entry(s, s->A, i, i) += s->yield[i];
        *compliant_entry(s, s->A, i, i) += s->softness[i];
    }
}

bool compliant_solve_active(compliant_run *run)
{
    compliant_row_system *s = &run->joints->active;
    if (s->count == 0) {
        return true;
    }
    set_matrix(run);
    bool solved = compliant_solve_rows(s);
    run->budget.work += COMPLIANT_COST_EXCHANGE * s->exchanged;
    return solved;
}

// ---- their forces

void compliant_apply_row(const compliant_joints *j, int row, double force, double *f)
{
    for (int side = 0; side < 2; side++) {
        int body = j->row[row].body[side];
        if (body != SPRAG_STATIC) {
            double *to = f + COMPLIANT_STATES * body + COMPLIANT_VELOCITY;
            vector6 sum;
            load6(&sum, to);
            add6(&sum, force, j->response[row][side]);
            store6(to, &sum);
        }
    }
}

bool compliant_apply_rows(compliant_run *run, double *f)
{
    compliant_joints *j = run->joints;
    compliant_row_system *s = &j->active;
    if (!compliant_solve_active(run)) {
        return false;
    }
    for (int i = 0; i < s->count; i++) {
        double force = s->row[i].sign * s->solution[i];
        j->force[s->row[i].row] += force;
        compliant_apply_row(j, s->row[i].row, force, f);
    }
    return true;
}
