#include "singles.h"

#include <math.h>
#include <string.h>

#include "kinematics.h"
#include "local_law.h"
#include "rows.h"

// Axes of the frame that roll 0, roll 1 and spin turn about.
static const int about[3] = {1, 2, 0};

static bool is_single(const sweeps *s, const sprag_contact *contact)
{
    const sprag_friction *f = &contact->slide;
    bool cone = f->slip[0] == f->slip[1] && f->force[0] == f->force[1] &&
                isinf(f->coefficient[0]) == isinf(f->coefficient[1]) &&
                (f->coefficient[0] > 0) == (f->coefficient[1] > 0);
    return contact->turning || contact->stiffness > 0 || !cone ||
           s->spin[node_of(s, contact->body[0])] > 0 || s->spin[node_of(s, contact->body[1])] > 0;
}

static int rows_of(const sprag_contact *contact)
{
    return contact->turning ? 6 : 3;
}

bool singles_find(sweeps *s, sprag_scratch *scratch)
{
    const sprag_problem *problem = s->problem;
    s->is_single = SPRAG_TAKE_RAW(scratch, problem->contacts, bool);
    for (int i = 0; i < problem->contacts && s->is_single; i++) {
        s->is_single[i] = is_single(s, &problem->contact[i]);
        s->singles += s->is_single[i];
    }
    s->single = SPRAG_TAKE(scratch, s->singles, sweeps_single);
    for (int i = 0, next = 0; i < problem->contacts && !scratch->failed; i++) {
        if (s->is_single[i]) {
            s->single[next++] = (sweeps_single){.contact = i, .row = s->single_rows};
            s->single_rows += rows_of(&problem->contact[i]);
        }
    }
    return !scratch->failed;
}

void singles_set_rows(sweeps *s)
{
    for (int i = 0; i < s->singles; i++) {
        sweeps_single *one = &s->single[i];
        const sprag_contact *contact = &s->problem->contact[one->contact];
        one->row += s->rows;
        one->lever = fmax(norm3(contact->arm[0]), norm3(contact->arm[1]));
        one->lever = one->lever > 0 ? one->lever : 1;
        for (int r = 0; r < rows_of(contact); r++) {
            double J[2][6] = {{0}};
            bool known = r < 3 && contact->guess[0] > 0;
            for (int side = 0; side < 2; side++) {
                if (r < 3) {
                    point_jacobian(contact->arm[side], contact->frame[r], J[side]);
                } else {
                    memcpy(J[side] + 3, contact->frame[about[r - 3]], 3 * sizeof(double));
                }
                for (int k = 0; k < 6 && side; k++) {
                    J[side][k] = -J[side][k];
                }
            }
            batch_row *row = &s->row[one->row + r];
            *row = (batch_row){.row = -1};
            sweeps_set_row(s, row, contact->body, (const double(*)[6])J,
                           known ? contact->guess[r] * s->problem->step : 0);
        }
    }
}

// J M^-1 J' of two rows at the nodes that they share, without mechanisms.
static double coupling(const batch_row *a, const batch_row *b)
{
    return dot6(a->jacobian[0], b->turn[0]) + dot6(a->jacobian[1], b->turn[1]);
}

// J v of a row at these velocities of the nodes, with the offset.
static double rate_at(const sweeps *s, const batch_row *row, const batch_velocity *v)
{
    double rate = row->offset;
    for (int side = 0; side < 2; side++) {
        const double *of = v[row->node[side]], *J = row->jacobian[side];
        rate += dot3(J, of) + dot3(J + 3, of + 4);
        for (int k = 0; row->port[side] >= 0 && k < 2; k++) {
            const sweeps_port *port = &s->port[row->port[side]];
            const double *J = port->jacobian[k][0];
            const double *of = port->node[k] >= 0 ? v[port->node[k]] : NULL;
            rate += of ? dot3(J, of) + dot3(J + 3, of + 4) : 0;
        }
    }
    return rate;
}

void singles_prepare(sweeps *s, const batch_velocity *start, batch_slips *slips)
{
    for (int i = 0; i < s->singles; i++) {
        sweeps_single *one = &s->single[i];
        const sprag_contact *contact = &s->problem->contact[one->contact];
        batch_row *row = &s->row[one->row];
        double bare = 0, slip[2];
        for (int r = 0; r < rows_of(contact); r++) {
            double w = sweeps_add_mechanisms(s, &row[r]);
            bare = r == 0 ? w : bare;
            if (!(row[r].inverse_mass > 0)) {
                s->x.row_impulse[one->row + r] = 0;
            }
        }
        one->yield = sprag_contact_yield(&s->soft, contact, bare);
        one->coupling[0] = fabs(coupling(&row[1], &row[2]));
        one->coupling[1] = contact->turning ? fabs(coupling(&row[3], &row[4])) : 0;
        for (int k = 0; k < 2; k++) {
            slip[k] = rate_at(s, &row[1 + k], start) - contact->slide.velocity[k];
        }
        one->slip = hypot(slip[0], slip[1]);
        slips->fastest = fmax(slips->fastest, one->slip);
    }
}

void singles_set_stiction(sweeps *s, const sprag_stiction *stiction, batch_slips *slips)
{
    for (int i = 0; i < s->singles; i++) {
        sweeps_single *one = &s->single[i];
        one->stiction = sprag_stiction_tolerance(
            stiction, s->problem->contact[one->contact].stiction, one->slip, slips->fastest);
        slips->least = fmin(slips->least, one->stiction);
        slips->most = fmax(slips->most, one->stiction);
    }
}

// Friction of one or two axes, of which the first has the row `first` of the contact.
INLINE double relax_axes(const sweeps *s, const sweeps_single *one, const sprag_friction *f,
                         int first, sprag_local_axes of)
{
    const batch_row *row = &s->row[one->row + first];
    double *p = &s->x.row_impulse[one->row + first], w[2], swept[2], u[2], wanted[2], sum = 0;
    for (int k = 0; k < of.axes; k++) {
        w[k] = row[k].inverse_mass;
        swept[k] = w[k] + row[k].spin_mass;
        u[k] = rate_of(s, &row[k]);
    }
    const sprag_local_slip slip = sprag_local_slips(&s->soft, f, &of, w, u, p);
    sprag_local_friction(f, &of, &slip, swept, p, wanted);
    for (int k = 0; k < of.axes; k++) {
        sum += set_impulse(s, &row[k], wanted[k], &p[k]);
    }
    return sum;
}

INLINE double relax_pair(const sweeps *s, const sweeps_single *one, const sprag_friction *f,
                         int first, double normal)
{
    sprag_local_axes of = {.axes = 2,
                           .normal = normal,
                           .stiction = first == 1 ? one->stiction : one->stiction / one->lever,
                           .coupling = one->coupling[first > 1]};
    if (sprag_local_is_cone(f)) {
        return relax_axes(s, one, f, first, of);
    }
    of.axes = 1;
    of.coupling = 0;
    double sum = relax_axes(s, one, f, first, of);
    of.first = 1;
    return sum + relax_axes(s, one, f, first + 1, of);
}

INLINE double relax(const sweeps *s, const sweeps_single *one)
{
    const sprag_contact *contact = &s->problem->contact[one->contact];
    const batch_row *row = &s->row[one->row];
    double *p = &s->x.row_impulse[one->row], w = row->inverse_mass + row->spin_mass;
    if (!(w > 0)) {
        return 0;
    }
    double free = rate_of(s, row) - w * *p;
    double normal = sprag_local_normal(&s->soft, contact, free, w, one->yield);
    double sum = set_impulse(s, row, normal, p);
    sum += relax_pair(s, one, &contact->slide, 1, normal);
    if (contact->turning) {
        const sprag_local_axes spin = {
            .axes = 1, .normal = normal, .stiction = one->stiction / one->lever};
        sum += relax_pair(s, one, &contact->turning->roll, 3, normal);
        sum += relax_axes(s, one, &contact->turning->spin, 5, spin);
    }
    return sum;
}

SPRAG_VECTORS
static void sweep(const sweeps *s, double *squares)
{
    *squares = 0;
    for (int i = 0; i < s->singles; i++) {
        *squares += relax(s, &s->single[i]);
    }
}

double singles_sweep(sweeps *s)
{
    double squares;
    sweep(s, &squares);
    return squares;
}

void singles_write(const sweeps *s, sprag_solution *solution)
{
    for (int i = 0; i < s->singles; i++) {
        const sweeps_single *one = &s->single[i];
        double *force = solution->contact_force[one->contact];
        for (int r = 0; r < 6; r++) {
            bool has = r < rows_of(&s->problem->contact[one->contact]);
            force[r] = has ? s->x.row_impulse[one->row + r] / s->problem->step : 0;
        }
    }
}
