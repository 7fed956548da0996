// The rows that act, and the matrix of their forces, J M^-1 J' + CFM / h. It is kept within its
// envelope: that of a chain is narrow.
#include <math.h>
#include <string.h>

#include "compliant_joints.h"
#include "linalg.h"
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
    for (int side = 0; side < 2; side++) {
        int body = row->body[side];
        if (body != SPRAG_STATIC) {
            j->first_of_body[body] = j->first_of_body[body] < 0 ? i : j->first_of_body[body];
            s->first[i] =
                j->first_of_body[body] < s->first[i] ? j->first_of_body[body] : s->first[i];
        }
    }
    s->row[i] = added;
    s->has_bounds |= isfinite(added.lo) || isfinite(added.hi);
    s->start[i] = i == 0 ? 0 : s->start[i - 1] + (size_t)(i - 1 - s->first[i - 1] + 1);
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

// Sides of two active rows that act on the same body: with each side of the second, that of the
// first, or -1.
static void set_shared(compliant_joints *j, int i)
{
    const compliant_row_system *s = &j->active;
    const int *own = j->row[s->row[i].row].body;
    size_t at = s->start[i];
    for (int k = s->first[i]; k <= i; k++, at++) {
        const int *with = j->row[s->row[k].row].body;
        for (int b = 0; b < 2; b++) {
            j->shared[at][b] = (signed char)(with[b] == SPRAG_STATIC ? -1
                                             : own[0] == with[b]     ? 0
                                             : own[1] == with[b]     ? 1
                                                                     : -1);
        }
    }
}

void compliant_set_active_rows(compliant_run *run, const double *label, compliant_equations of)
{
    compliant_joints *j = run->joints;
    size_t size = (size_t)run->stops * sizeof *label;
    if (j->active_for_forces && of == COMPLIANT_FOR_FORCES &&
        memcmp(j->active_label, label, size) == 0) {
        return;
    }
    j->active_for_forces = of == COMPLIANT_FOR_FORCES;
    memcpy(j->active_label, label, size);
    j->active.count = 0;
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
        set_shared(j, i);
    }
}

// ---- the matrix

// Couplings of active row i with those before it and itself.
static void set_couplings(compliant_joints *j, int i)
{
    compliant_row_system *s = &j->active;
    const compliant_active_row *own = &s->row[i];
    const double(*J)[6] = j->row[own->row].jacobian;
    size_t at = s->start[i];
    for (int k = s->first[i]; k <= i; k++, at++) {
        const compliant_active_row *with = &s->row[k];
        const double(*response)[6] = (const double(*)[6])j->response[with->row];
        const signed char *shared = j->shared[at];
        double sum = shared[0] < 0 ? 0 : product6(J[shared[0]], response[0]);
        sum += shared[1] < 0 ? 0 : product6(J[shared[1]], response[1]);
        s->A[at] = own->sign * with->sign * sum;
    }
}

// 1/kg, as that of sprag_row_yield.
static double unit_of_softness(const compliant_joints *j, const sprag_row *row)
{
    double linear = 0, angular = 0;
    for (int side = 0; side < 2; side++) {
        if (row->body[side] != SPRAG_STATIC) {
            const double *J = row->jacobian[side], *I = j->inverse_inertia[row->body[side]];
            linear += j->inverse_mass[row->body[side]] * dot3(J, J);
            angular += (I[0] + I[4] + I[8]) / 3 * dot3(J + 3, J + 3);
        }
    }
    return linear > 0 ? linear : angular;
}

// Inverse mass and compliance of an active row, 1/kg. Bounded rows always yield a little: a motor
// that drives into its stop has the same Jacobian. *softness: of others. What the
// integrator does not resolve must not decide about their forces where rows depend on one another,
// as those of a parallelogram at its dead points. per_step: 1 / h
static double diagonal_compliance(const compliant_run *run, const compliant_active_row *row,
                                  double inverse_mass, double per_step, double time,
                                  double *softness)
{
    const compliant_joints *j = run->joints;
    const compliant_rule rule = row->stop < 0 ? j->rule[row->row] : COMPLIANT_ONE_SIDED;
    const bool bounded = isfinite(row->lo) || isfinite(row->hi);
    double yield = row->compliance * per_step;
    yield *= rule == COMPLIANT_MOTOR ? 1 + COMPLIANT_CATCH_UP * time * per_step : 1;
    if (j->as_if_rigid &&
        (rule == COMPLIANT_RIGID || (row->stop >= 0 && stop_hardly_yields(run, row->stop)))) {
        yield = 0;
    }
    inverse_mass *= row->yielding ? 2 : 1;
    double least = bounded ? COMPLIANT_BOUNDED_ROW_SOFTNESS * inverse_mass : 0;
    *softness = bounded ? 0 : COMPLIANT_RIGID_ROW_SOFTNESS * unit_of_softness(j, &j->row[row->row]);
    return inverse_mass + (yield > least ? yield : least) + *softness;
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

void compliant_set_responses(compliant_run *run)
{
    compliant_joints *j = run->joints;
    set_inverse_inertias(run);
    for (int i = 0; i < run->rows; i++) {
        for (int side = 0; side < 2; side++) {
            int body = j->row[i].body[side];
            double *response = j->response[i][side];
            if (body == SPRAG_STATIC || j->inverse_mass[body] == 0) {
                memset(response, 0, sizeof j->response[i][side]);
                continue;
            }
            for (int k = 0; k < 3; k++) {
                response[k] = j->row[i].jacobian[side][k] * j->inverse_mass[body];
            }
            mul33(j->inverse_inertia[body], j->row[i].jacobian[side] + 3, response + 3);
        }
    }
}

void compliant_set_matrix(compliant_run *run, double time)
{
    compliant_joints *j = run->joints;
    compliant_row_system *s = &j->active;
    const double per_step = 1 / run->frame->step;
    compliant_set_responses(run);
    for (int i = 0; i < s->count; i++) {
        const compliant_active_row *own = &s->row[i];
        run->budget.work += COMPLIANT_COST_ENTRY * (i - s->first[i] + 1);
        set_couplings(j, i);
        double *diagonal = compliant_entry(s, s->A, i, i);
        *diagonal = diagonal_compliance(run, own, *diagonal, per_step, time, &s->softness[i]);
    }
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
    bool solved = s->count == 0 || compliant_solve_rows(s);
    run->budget.work += s->count == 0 ? 0 : COMPLIANT_COST_EXCHANGE * s->exchanged;
    if (!solved) {
        return false;
    }
    for (int i = 0; i < s->count; i++) {
        double force = s->row[i].sign * s->solution[i];
        j->force[s->row[i].row] += force;
        compliant_apply_row(j, s->row[i].row, force, f);
    }
    return true;
}
