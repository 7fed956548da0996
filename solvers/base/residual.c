#include "residual.h"

#include <math.h>
#include <string.h>

#include "contact_lanes.h"
#include "kinematics.h"
#include "local_law.h"

// A body as its contacts and rows see it.
typedef struct mover {
    double inverse_mass, inverse[9]; // 1/kg; 1/(kg m^2), of the inertia; 0: nothing moves it
    double wrench[6];                // N s, N m s, of all contacts and rows
    double change;                   // m/s, by all impulses if they did not cancel
} mover;

typedef struct measured {
    const sprag_problem *problem;
    const sprag_solution *solution;
    sprag_softness soft;
    mover *of;            // bodies; before them, at SPRAG_STATIC, one for all that is static
    sprag_residual *laws; // takes the bounds of stiffness and damping
} measured;

// kg, the lighter of two; 0: nothing moves either.
static double lighter(const measured *m, const int body[2])
{
    double most = sprag_larger(m->of[body[0]].inverse_mass, m->of[body[1]].inverse_mass);
    return most > 0 ? 1 / most : 0;
}

// ---- momentum

// M (v - v*) - h J' f of one body, as the speed of the body.
static double momentum_error(const measured *m, int b)
{
    const sprag_body *body = &m->problem->body[b];
    const mover *of = &m->of[b];
    double d[6], e[6], turned[3];
    for (int k = 0; k < 6; k++) {
        d[k] = m->solution->velocity[b][k] -
               (body->mass > 0 ? body->free_velocity[k] : body->velocity[k]);
    }
    if (body->mass == 0) {
        return sqrt(dot6(d, d));
    }
    for (int k = 0; k < 3; k++) {
        e[k] = body->mass * d[k] - of->wrench[k];
    }
    mul33(body->inertia, d + 3, e + 3);
    add_scaled(e + 3, -1, of->wrench + 3, 3);
    mul33(of->inverse, e + 3, turned);
    return sqrt((dot3(e, e) / body->mass + dot3(e + 3, turned)) / body->mass);
}

static void add_impulse(mover *of, double impulse, const double along[6])
{
    if (of->inverse_mass > 0) {
        add_scaled(of->wrench, impulse, along, 6);
        of->change += fabs(impulse) * of->inverse_mass * norm3(along);
    }
}

// m/s, that the step changes of the spin without contacts and rows, or a hundredth of the spin.
static double change_of_spin(const sprag_body *body)
{
    double gain[3], L[3], spin[3];
    subtract3(body->free_velocity + 3, body->velocity + 3, gain);
    mul33(body->inertia, gain, L);
    mul33(body->inertia, body->velocity + 3, spin);
    return sqrt(sprag_larger(0, dot3(gain, L)) / body->mass) +
           SPRAG_FASTEST_SHARE * sqrt(sprag_larger(0, dot3(body->velocity + 3, spin)) / body->mass);
}

static void take_movers(measured *m)
{
    const sprag_problem *problem = m->problem;
    for (int b = 0; b < problem->bodies; b++) {
        const sprag_body *body = &problem->body[b];
        if (body->mass > 0) {
            m->of[b].inverse_mass = 1 / body->mass;
            invert33(body->inertia, m->of[b].inverse);
            m->of[b].change = change_of_spin(body);
        }
    }
    for (int i = 0; i < problem->contacts; i++) {
        const sprag_contact *contact = &problem->contact[i];
        double wrench[2][6];
        sprag_contact_wrench(contact, m->solution->contact_force[i], wrench);
        for (int k = 0; k < 2; k++) {
            add_impulse(&m->of[contact->body[k]], problem->step, wrench[k]);
        }
    }
    for (int i = 0; i < problem->rows; i++) {
        const sprag_row *row = &problem->row[i];
        double impulse = problem->step * m->solution->row_force[i];
        for (int k = 0; k < 2; k++) {
            add_impulse(&m->of[row->body[k]], impulse, row->jacobian[k]);
        }
    }
}

// ---- contacts

static void widen(double range[2], double x)
{
    range[0] = sprag_smaller(range[0], x);
    range[1] = sprag_larger(range[1], x);
}

// A spring that takes back erp x0 / step, x0 the overlap before the step and x after it:
//     f = (erp x0 / step - vn) / (step yield),  x0 = x + step vn
//       = erp / (step^2 yield) x - (1 - erp) / (step yield) vn
static void note_stiffness(const measured *m, const sprag_contact *contact, double w, double yield)
{
    if (contact->stiffness > 0) {
        double k = sprag_contact_stiffness(&m->soft, contact, w);
        widen(m->laws->stiffness, k);
        widen(m->laws->damping, k * contact->dissipation * sprag_larger(-contact->gap, 0));
    } else {
        double rate = 1 / m->soft.step, hard = rate / yield;
        widen(m->laws->stiffness, contact->erp * rate * hard);
        widen(m->laws->damping, contact->erp < 1 ? (1 - contact->erp) * hard : 0);
    }
}

// A contact as its local problem sees it: rows of its relative velocity in the order of its forces
// (normal, slide 0 1, roll 0 1, spin), their inverse masses and velocities.
typedef struct local {
    double mass; // kg, the lighter body
    double w[6]; // J M^-1 J'
    double u[6]; // J v, m/s, rad/s
} local;

static const double *velocity_of(const measured *m, int body)
{
    return body == SPRAG_STATIC ? NULL : m->solution->velocity[body];
}

static local set_local(const measured *m, const sprag_contact *contact)
{
    static const int axis[3] = {1, 2, 0}; // of the frame, that roll 0, roll 1 and spin turn about
    const double *v[2] = {velocity_of(m, contact->body[0]), velocity_of(m, contact->body[1])};
    local l = {.mass = lighter(m, contact->body)};
    double slip[3];
    relative_velocity(v, contact->arm, slip);
    for (int r = 0; r < 3; r++) {
        l.u[r] = dot3(contact->frame[r], slip);
    }
    for (int k = 0; k < 2; k++) {
        const mover *of = &m->of[contact->body[k]];
        double turned[3], lever[3];
        for (int r = 0; r < 3 && of->inverse_mass > 0; r++) {
            cross3(contact->arm[k], contact->frame[r], lever);
            mul33(of->inverse, lever, turned);
            l.w[r] += of->inverse_mass + dot3(lever, turned);
        }
        for (int r = 0; r < 3 && contact->turning; r++) {
            const double *about = contact->frame[axis[r]];
            mul33(of->inverse, about, turned);
            l.w[3 + r] += dot3(about, turned);
            l.u[3 + r] += v[k] ? (k ? -1 : 1) * dot3(about, v[k] + 3) : 0;
        }
    }
    return l;
}

// Errors of one contact: speeds of its normal and its friction (m/s), and its duality gap (J; at
// last the speed that the lighter body has with it).
typedef struct contact_error {
    double normal, friction, gap;
} contact_error;

static inline void take_friction(const measured *m, const local *l, const sprag_friction *f,
                                 int first, int axes, const sprag_contact *contact,
                                 const double *force, double yield, contact_error *to)
{
    double step = m->soft.step, p[2] = {0}, wanted[2] = {0}, sum = 0;
    sprag_local_axes of = {.axes = axes, .normal = sprag_larger(0, step * force[0])};
    double lever =
        first > 2 ? sprag_larger(norm3(contact->arm[0]), norm3(contact->arm[1])) : 1; // m, per rad
    of.stiction = contact->stiction / (lever > 0 ? lever : 1);
    for (int k = 0; k < axes; k++) {
        p[k] = step * force[first + k];
    }
    const double *w = l->w + first;
    const sprag_local_slip slip = sprag_local_slips(&m->soft, f, &of, w, l->u + first, p);
    sprag_local_friction(f, &of, &slip, w, p, wanted);
    for (int k = 0; k < axes; k++) {
        sum += (p[k] - wanted[k]) * (p[k] - wanted[k]) * w[k] / l->mass;
    }
    to->friction = sprag_larger(to->friction, sqrt(sum));
    to->gap += sprag_local_friction_gap(f, &of, &slip, w, p, yield);
}

// N s. A spring asks for its impulse at the velocity that this leaves. Others ask for an error of
// velocity over the inverse mass: over the yield, too, it would vanish in soft contacts.
static double normal_wanted(const measured *m, const sprag_contact *contact, const local *l,
                            double p, double yield)
{
    if (contact->stiffness > 0) {
        return sprag_local_spring(&m->soft, contact, l->u[0] - l->w[0] * p, l->w[0]);
    }
    return sprag_larger(0, p + (contact->bias - l->u[0] - yield * p) / l->w[0]);
}

// Zeros between two that nothing moves.
static contact_error error_of(const measured *m, int i)
{
    const sprag_contact *contact = &m->problem->contact[i];
    const double *force = m->solution->contact_force[i];
    local l = set_local(m, contact);
    contact_error e = {0};
    if (l.mass == 0) {
        return e;
    }
    double p = m->problem->step * force[0];
    double yield = sprag_contact_yield(&m->soft, contact, l.w[0]);
    note_stiffness(m, contact, l.w[0], yield);
    e.normal = fabs(p - normal_wanted(m, contact, &l, p, yield)) * sqrt(l.w[0] / l.mass);
    e.gap = sprag_local_normal_gap(&m->soft, contact, l.u[0], l.w[0], yield, p);
    take_friction(m, &l, &contact->slide, 1, 2, contact, force, yield, &e);
    if (contact->turning) {
        double share = yield / l.w[0]; // what turns yields by rad/s per N m s
        take_friction(m, &l, &contact->turning->roll, 3, 2, contact, force, share * l.w[3], &e);
        take_friction(m, &l, &contact->turning->spin, 5, 1, contact, force, share * l.w[5], &e);
    }
    e.gap = sqrt(2 * e.gap / l.mass);
    return e;
}

// ---- four contacts

// Do error_of_four's laws hold? Those of most contacts: no stiffness of its own, nothing against
// turning, and friction in one cone.
static bool is_plain(const sprag_contact *contact)
{
    return !(contact->stiffness > 0) && !contact->turning && sprag_local_is_cone(&contact->slide);
}

// Four bodies.
typedef struct four_movers {
    lanes inverse_mass, inverse[9], v[6];
} four_movers;

INLINE void load_movers(const measured *m, const int body[LANES], four_movers *of)
{
    static const double still[6];
    const void *mover[LANES], *velocity[LANES];
    lanes r[LANES], *I = of->inverse;
    for (int l = 0; l < LANES; l++) {
        const double *moves = velocity_of(m, body[l]);
        velocity[l] = moves ? moves : still;
        mover[l] = &m->of[body[l]];
    }
    load_four(mover, offsetof(struct mover, inverse_mass), r);
    load_four(mover, offsetof(struct mover, inverse) + 2 * sizeof(double), I + 2);
    load_four(mover, offsetof(struct mover, inverse) + 5 * sizeof(double), I + 5);
    I[0] = r[1], I[1] = r[2];
    of->inverse_mass = r[0];
    load_six(velocity, 0, of->v);
}

// Adds the velocity and the inverse masses of one side.
INLINE void add_side(const measured *m, const contact_lanes *c,
                     const sprag_contact *const of[LANES], int side, lanes slip[3], lanes w[3],
                     lanes *most)
{
    const int body[LANES] = {of[0]->body[side], of[1]->body[side], of[2]->body[side],
                             of[3]->body[side]};
    four_movers by;
    lanes u[3];
    load_movers(m, body, &by);
    *most = LARGER(*most, by.inverse_mass);
    cross(by.v + 3, c->arm[side], u);
    for (int k = 0; k < 3; k++) {
        lanes lever[3], sum;
        u[k] += by.v[k];
        slip[k] = side ? slip[k] - u[k] : slip[k] + u[k];
        cross(c->arm[side], c->frame[k], lever);
        weigh(by.inverse, lever, &sum);
        w[k] += by.inverse_mass + sum;
    }
}

// Velocities, inverse masses and impulses of the rows of four contacts.
typedef struct four {
    contact_lanes c;
    lanes mass, u[3], w[3], p[3];
    lane_mask moves;
} four;

// Error and gap of friction under the impulse of the normal.
INLINE void rub(const measured *m, const four *f, const sprag_contact *const of[LANES],
                lanes *friction, lanes *gap)
{
    const lanes *p = f->p, *w = f->w, normal = LARGER(zeros, p[0]);
    lanes bound[3], slip[3], scale[3], stiffest[3], wanted[3], force, square = zeros, sum = zeros;
    for (int l = 0; l < LANES; l++) {
        force[l] = of[l]->slide.force[0] ? m->soft.step : 0;
    }
    for (int k = 1; k < 3; k++) {
        const lanes least = ones * SPRAG_LEAST_FRICTION, coefficient = f->c.coefficient[k - 1];
        lanes yield = f->c.slip[k - 1] / m->soft.step, soft = m->soft.share.friction * w[k];
        scale[k] = SMALLER(coefficient, ones * 1e100);
        bound[k] = scale[k] * SELECT(force > 0, force, normal);
        bound[k] = SELECT(bound[k] > least, bound[k], zeros);
        lanes more = f->c.stiction / DIVISOR(bound[k] > 0, bound[k]);
        yield = LARGER(yield, soft) + SELECT(bound[k] > 0, more, zeros);
        slip[k] = f->u[k] - f->c.velocity[k - 1] + yield * p[k];
        stiffest[k] = scale[k] * scale[k] * (w[k] + yield);
        square += bound[k] * slip[k] * bound[k] * slip[k];
        sum += p[k] * slip[k];
    }
    root_of(&square);
    sum += square;
    *gap += LARGER(zeros, sum);
    const lanes rho = LARGER(stiffest[1], stiffest[2]);
    square = sum = zeros;
    for (int k = 1; k < 3; k++) {
        lanes share = p[k] - scale[k] * scale[k] * slip[k] / DIVISOR(rho > 0, rho);
        wanted[k] = SELECT(rho > 0, share, zeros);
        share = wanted[k] / DIVISOR(bound[k] > 0, bound[k]);
        share = SELECT(bound[k] > 0, share, zeros);
        square += share * share;
    }
    lanes size = DIVISOR(square > 1, square);
    root_of(&size);
    for (int k = 1; k < 3; k++) {
        lanes low = -bound[k], at = 1 / size * wanted[k];
        at = LARGER(at, low);
        at = p[k] - SMALLER(at, bound[k]);
        sum += at * at * w[k] / f->mass;
    }
    *friction = sum;
    root_of(friction);
}

// As error_of, of plain contacts.
SPRAG_VECTORS
static void error_of_four(const measured *m, const int at[LANES], contact_error e[LANES])
{
    const double step = m->soft.step, rate = 1 / step;
    const sprag_contact *of[LANES];
    const void *force[LANES];
    four f = {.u = {zeros}, .w = {zeros}};
    lanes slip[3] = {zeros}, p[LANES], most = zeros, yield, error, friction, gap;
    for (int l = 0; l < LANES; l++) {
        of[l] = &m->problem->contact[at[l]];
        force[l] = m->solution->contact_force[at[l]];
    }
    load_contacts(of, &f.c);
    load_four(force, 0, p);
    add_side(m, &f.c, of, 0, slip, f.w, &most);
    add_side(m, &f.c, of, 1, slip, f.w, &most);
    f.moves = most > 0;
    f.mass = 1 / DIVISOR(f.moves, most);
    for (int k = 0; k < 3; k++) {
        dot_of(f.c.frame[k], slip, &f.u[k]);
        f.w[k] = DIVISOR(f.moves, f.w[k]);
        f.p[k] = step * p[k];
    }
    const lanes compliance = f.c.compliance / step;
    yields_of(&m->soft, (const lanes(*)[3])f.c.arm, &compliance, &f.c.softening, &f.w[0], &yield);
    const lanes hard = rate / DIVISOR(f.moves, yield);
    const lanes stiffness = f.c.erp * rate * hard, fall = (1 - f.c.erp) * hard;
    const lanes damping = SELECT(f.c.erp < 1, fall, zeros);

    const lanes lack = f.c.bias - f.u[0], soft = yield * f.p[0];
    lanes wanted = f.p[0] + (lack - soft) / f.w[0], size = f.w[0] / f.mass;
    wanted = LARGER(zeros, wanted);
    root_of(&size);
    error = f.p[0] - wanted;
    error = ABS(error) * size;

    const lanes least = SPRAG_SOFT_LEAST * f.w[0], y = LARGER(yield, least);
    const lanes push = LARGER(zeros, f.p[0]), over = lack - y * push;
    const lanes open = push * (y * push / 2 - lack);
    gap = over * over / (2 * y);
    gap = SELECT(lack > 0, gap, open);
    rub(m, &f, of, &friction, &gap);
    gap = 2 * gap / f.mass;
    root_of(&gap);
    for (int l = 0; l < LANES; l++) {
        e[l] = (contact_error){0};
        if (f.moves[l]) {
            e[l] = (contact_error){error[l], friction[l], gap[l]};
            widen(m->laws->stiffness, stiffness[l]);
            widen(m->laws->damping, damping[l]);
        }
    }
}

// Sets the errors of the contacts from the i-th on. Returns their number, at most LANES.
static int errors_of(const measured *m, int i, contact_error e[LANES])
{
    const int left = m->problem->contacts - i, count = left < LANES ? left : LANES;
    int at[LANES];
    bool plain = true;
    for (int l = 0; l < LANES; l++) {
        at[l] = l < count ? i + l : i;
        plain = plain && is_plain(&m->problem->contact[at[l]]);
    }
    if (plain) {
        error_of_four(m, at, e);
        return count;
    }
    for (int l = 0; l < count; l++) {
        e[l] = error_of(m, i + l);
    }
    return count;
}

// ---- rows

// Velocities and inverse masses along four rows.
typedef struct four_rows {
    lanes u, most;
    row_lanes of;
} four_rows;

INLINE void move_rows(const measured *m, const sprag_row *const of[LANES], int side, four_rows *f)
{
    const int body[LANES] = {of[0]->body[side], of[1]->body[side], of[2]->body[side],
                             of[3]->body[side]};
    four_movers by;
    lanes J[6], linear, angular;
    load_movers(m, body, &by);
    f->most = LARGER(f->most, by.inverse_mass);
    add_side_of_rows(of, side, &by.inverse_mass, by.inverse, &f->of, J);
    dot_of(J, by.v, &linear);
    dot_of(J + 3, by.v + 3, &angular);
    f->u += linear + angular;
}

_Static_assert(offsetof(sprag_row, hi) == offsetof(sprag_row, bias) + 3 * sizeof(double), "hi");

SPRAG_VECTORS
static void row_errors_of_four(const measured *m, const int at[LANES], double errors[LANES])
{
    const double step = m->soft.step;
    const sprag_row *of[LANES];
    four_rows f = {.most = zeros};
    lanes r[LANES], p, yield;
    for (int l = 0; l < LANES; l++) {
        of[l] = &m->problem->row[at[l]];
        p[l] = step * m->solution->row_force[at[l]];
    }
    load_four((const void *const *)of, offsetof(sprag_row, bias), r);
    f.u = -r[0];
    move_rows(m, of, 0, &f);
    move_rows(m, of, 1, &f);
    const lanes compliance = r[1] / step;
    yields_of_rows(&m->soft, &f.of, &compliance, &yield);
    lane_mask moves = f.of.w > 0;
    const lanes w = DIVISOR(moves, f.of.w), mass = 1 / DIVISOR(moves, f.most);
    const lanes lo = step * r[2], hi = step * r[3];
    lanes wanted = p - (f.u + yield * p) / w, size = w / mass;
    wanted = LARGER(wanted, lo);
    wanted = SMALLER(wanted, hi);
    root_of(&size);
    lanes error = p - wanted;
    error = ABS(error) * size;
    const lanes rate = f.u + r[0];
    for (int l = 0; l < LANES; l++) {
        errors[l] = moves[l] ? error[l] : 0;
        if (m->solution->row_rate) {
            m->solution->row_rate[at[l]] = rate[l];
        }
    }
}

// ---- all

// m/s, that the step changes of the lighter side: of the free motion, or what impulses change.
static double change_of(const measured *m, const int body[2])
{
    return sprag_larger(m->soft.scale, sprag_larger(m->of[body[0]].change, m->of[body[1]].change));
}

static void take(sprag_residual *r, double error, double change, int i, int *at, double *largest)
{
    error = isfinite(error + change) ? error : INFINITY;
    r->mean += error * error;
    r->relative = sprag_larger(r->relative, isinf(error) ? error : error / change);
    if (error > *largest) {
        *largest = error;
        *at = i;
    }
}

sprag_residual sprag_problem_residual(const sprag_problem *problem, const sprag_solution *solution,
                                      sprag_shares soft, sprag_scratch *scratch)
{
    sprag_residual r = {.body = -1, .contact = -1, .joint_row = -1};
    measured m = {.problem = problem,
                  .solution = solution,
                  .laws = &r,
                  .soft = sprag_problem_softness(problem, soft)};
    mover *movers = SPRAG_TAKE(scratch, problem->bodies + 1, mover);
    double largest = 0;
    r.scale = m.soft.scale;
    if (!movers) {
        r.momentum = r.relative = r.gap = INFINITY;
        return r;
    }
    m.of = movers + 1;
    r.stiffness[0] = r.damping[0] = INFINITY;
    take_movers(&m);
    for (int b = 0; b < problem->bodies; b++) {
        const int body[2] = {b, SPRAG_STATIC};
        take(&r, momentum_error(&m, b), change_of(&m, body), b, &r.body, &r.momentum);
    }
    for (int i = 0, count; i < problem->contacts; i += count) {
        contact_error errors[LANES];
        count = errors_of(&m, i, errors);
        for (int l = 0; l < count; l++) {
            const contact_error *e = &errors[l];
            r.normal = sprag_larger(r.normal, e->normal);
            r.friction = sprag_larger(r.friction, e->friction);
            r.gap = sprag_larger(r.gap, e->gap);
            double error =
                isfinite(e->normal + e->friction) ? sprag_larger(e->normal, e->friction) : INFINITY;
            take(&r, error, change_of(&m, problem->contact[i + l].body), i + l, &r.contact,
                 &largest);
        }
    }
    for (int i = 0; i < problem->rows; i += LANES) {
        const int left = problem->rows - i, count = left < LANES ? left : LANES;
        const int at[LANES] = {i, count > 1 ? i + 1 : i, count > 2 ? i + 2 : i,
                               count > 3 ? i + 3 : i};
        double errors[LANES];
        row_errors_of_four(&m, at, errors);
        for (int l = 0; l < count; l++) {
            take(&r, errors[l], change_of(&m, problem->row[i + l].body), i + l, &r.joint_row,
                 &r.row);
        }
    }
    if (isinf(r.stiffness[0])) {
        r.stiffness[0] = r.damping[0] = 0;
    }
    int count = problem->bodies + problem->contacts + problem->rows;
    r.mean = count > 0 ? sqrt(r.mean / count) : 0;
    return r;
}
