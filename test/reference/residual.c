#include "residual.h"

#include <math.h>
#include <string.h>

#include "kinematics.h"
#include "softness.h"

// The side of a contact or row: what moves there, and how readily.
typedef struct side {
    const double *v;   // NULL: static
    double mass;       // kg, 0: nothing moves it
    double inverse[9]; // inertia
} side;

static void set_side(side *to, const sprag_problem *problem, const sprag_solution *solution, int b)
{
    *to = (side){.v = b == SPRAG_STATIC ? NULL : solution->velocity[b]};
    if (b != SPRAG_STATIC && problem->body[b].mass > 0) {
        to->mass = problem->body[b].mass;
        invert33(problem->body[b].inertia, to->inverse);
    }
}

// kg, the lighter of two; 0: nothing moves either.
static double lighter(const side sides[2])
{
    double a = sides[0].mass, b = sides[1].mass;
    return a > 0 && (b == 0 || a < b) ? a : b;
}

// J M^-1 J' of one row.
static double inverse_mass(const side sides[2], const double J[2][6])
{
    double sum = 0;
    for (int k = 0; k < 2; k++) {
        if (sides[k].mass > 0) {
            sum += inverse_mass_along(1 / sides[k].mass, sides[k].inverse, J[k]);
        }
    }
    return sum;
}

static double rate(const side sides[2], const double J[2][6])
{
    double sum = 0;
    for (int k = 0; k < 2; k++) {
        sum += sides[k].v ? dot6(J[k], sides[k].v) : 0;
    }
    return sum;
}

// ---- momentum

// e = M (v - v*) - h J' f of one body; wrench: h J' f.
static double momentum_error(const sprag_body *body, const double v[6], const double wrench[6])
{
    double d[6], e[6], turned[3], inverse[9] = {0};
    for (int k = 0; k < 6; k++) {
        d[k] = v[k] - (body->mass > 0 ? body->free_velocity[k] : body->velocity[k]);
    }
    if (body->mass == 0) {
        return sqrt(dot6(d, d));
    }
    for (int k = 0; k < 3; k++) {
        e[k] = body->mass * d[k] - wrench[k];
    }
    mul33(body->inertia, d + 3, e + 3);
    add_scaled(e + 3, -1, wrench + 3, 3);
    invert33(body->inertia, inverse);
    mul33(inverse, e + 3, turned);
    return sqrt((dot3(e, e) / body->mass + dot3(e + 3, turned)) / body->mass);
}

// The impulses (N s, N m s) of all contacts and rows on each body.
static void add_wrenches(const sprag_problem *problem, const sprag_solution *solution,
                         double (*wrench)[6])
{
    for (int i = 0; i < problem->contacts; i++) {
        const int *body = problem->contact[i].body;
        double of[2][6];
        sprag_contact_wrench(&problem->contact[i], solution->contact_force[i], of);
        for (int k = 0; k < 2; k++) {
            if (body[k] != SPRAG_STATIC) {
                add_scaled(wrench[body[k]], problem->step, of[k], 6);
            }
        }
    }
    for (int i = 0; i < problem->rows; i++) {
        const sprag_row *row = &problem->row[i];
        for (int k = 0; k < 2; k++) {
            if (row->body[k] != SPRAG_STATIC) {
                add_scaled(wrench[row->body[k]], problem->step * solution->row_force[i],
                           row->jacobian[k], 6);
            }
        }
    }
}

// ---- contacts

// A contact as its local problem sees it: rows of its relative velocity in the order of its forces
// (normal, slide 0 1, roll 0 1, spin), their inverse masses and velocities.
typedef struct local {
    int rows;    // 3, or 6 with rolling
    double mass; // kg, the lighter body
    double w[6]; // J M^-1 J'
    double u[6]; // J v, m/s, rad/s
} local;

static local set_local(const sprag_problem *problem, const sprag_solution *solution,
                       const sprag_contact *contact)
{
    static const int axis[3] = {1, 2, 0}; // of the frame, that roll 0, roll 1 and spin turn about
    side sides[2];
    for (int k = 0; k < 2; k++) {
        set_side(&sides[k], problem, solution, contact->body[k]);
    }
    local l = {.rows = contact->turning ? 6 : 3, .mass = lighter(sides)};
    for (int r = 0; r < l.rows; r++) {
        double J[2][6] = {{0}};
        for (int k = 0; k < 2; k++) {
            if (r < 3) {
                point_jacobian(contact->arm[k], contact->frame[r], J[k]);
            } else {
                memcpy(J[k] + 3, contact->frame[axis[r - 3]], 3 * sizeof(double));
            }
            for (int j = 0; k == 1 && j < 6; j++) {
                J[k][j] = -J[k][j];
            }
        }
        l.w[r] = inverse_mass(sides, (const double(*)[6])J);
        l.u[r] = rate(sides, (const double(*)[6])J);
    }
    return l;
}

// The impulse of Hunt and Crossley's law in equilibrium with the velocity that it leaves, where
// `free` is the velocity without it: k (1 - d u)(x - h u) = p, u = free + w p.
static double spring_balance(const sprag_softness *soft, const sprag_contact *contact, double free,
                             double w)
{
    double step = soft->step, d = contact->dissipation;
    double k = step * sprag_contact_stiffness(soft, contact, w);
    double a = 1 - d * free, b = -contact->gap - step * free;
    if (a <= 0 || b <= 0) {
        return 0;
    }
    double A = k * d * w * step * w, B = 1 + k * (d * w * b + step * w * a);
    return 2 * k * a * b / (B + sqrt(fmax(0, B * B - 4 * A * k * a * b)));
}

static double normal_error(const sprag_softness *soft, const sprag_contact *contact, const local *l,
                           double p)
{
    double free = l->u[0] - contact->bias - l->w[0] * p;
    double wanted;
    if (contact->stiffness > 0) {
        wanted = spring_balance(soft, contact, l->u[0] - l->w[0] * p, l->w[0]);
    } else {
        double yield = sprag_contact_yield(soft, contact, l->w[0]);
        wanted = fmax(0, -free / (l->w[0] + yield));
    }
    return fabs(p - wanted) * sqrt(l->w[0] / l->mass);
}

// p less the projection of p - rho (s + yield p) to its bounds, with one rho for both axes of a
// cone, so that what slides against its impulse stays as it is. Axes that share slip and kind of
// bound form one elliptic cone, a circle in the coordinates p / bound, s bound; others are bounded
// one by one, as in ODE.
static double friction_error(const sprag_softness *soft, const sprag_contact *contact,
                             const local *l, const sprag_friction *f, int first, int axes,
                             const double *force)
{
    double p[2] = {0}, s[2] = {0}, bound[2] = {0}, stiffest[2] = {0}, sum = 0, square = 0;
    double normal = fmax(0, soft->step * force[0]);
    bool cone = axes == 2 && f->slip[0] == f->slip[1] && f->force[0] == f->force[1] &&
                !isinf(f->coefficient[0]) && !isinf(f->coefficient[1]);
    for (int k = 0; k < axes; k++) {
        double w = l->w[first + k], scale = cone ? f->coefficient[k] : 1;
        double yield = fmax(f->slip[k] / soft->step, soft->row * w);
        p[k] = soft->step * force[first + k];
        bound[k] = isinf(f->coefficient[k])
                       ? INFINITY
                       : f->coefficient[k] * (f->force[k] ? soft->step : normal);
        yield += contact->stiction > 0 && bound[k] > 0 ? contact->stiction / bound[k] : 0;
        s[k] = l->u[first + k] - f->velocity[k] + yield * p[k];
        stiffest[k] = scale * scale * (w + yield);
    }
    double most = fmax(stiffest[0], stiffest[1]);
    double wanted[2] = {0};
    for (int k = 0; k < axes; k++) {
        double scale = cone ? f->coefficient[k] : 1, rho = cone ? most : stiffest[k];
        wanted[k] = rho > 0 ? p[k] - scale * scale * s[k] / rho : 0;
        double share = bound[k] > 0 ? wanted[k] / bound[k] : 0;
        square += share * share;
    }
    double shrink = cone && square > 1 ? 1 / sqrt(square) : 1;
    for (int k = 0; k < axes; k++) {
        wanted[k] = fmin(fmax(shrink * wanted[k], -bound[k]), bound[k]);
        sum += (p[k] - wanted[k]) * (p[k] - wanted[k]) * l->w[first + k] / l->mass;
    }
    return sqrt(sum);
}

static double contact_error(const sprag_problem *problem, const sprag_solution *solution,
                            const sprag_softness *soft, int i, double *friction)
{
    const sprag_contact *contact = &problem->contact[i];
    const double *force = solution->contact_force[i];
    local l = set_local(problem, solution, contact);
    *friction = 0;
    if (l.mass == 0) {
        return 0; // between two that nothing moves
    }
    *friction = friction_error(soft, contact, &l, &contact->slide, 1, 2, force);
    if (contact->turning) {
        double roll = friction_error(soft, contact, &l, &contact->turning->roll, 3, 2, force);
        double spin = friction_error(soft, contact, &l, &contact->turning->spin, 5, 1, force);
        *friction = fmax(*friction, fmax(roll, spin));
    }
    return normal_error(soft, contact, &l, problem->step * force[0]);
}

// ---- rows

static double row_error(const sprag_problem *problem, const sprag_solution *solution,
                        const sprag_softness *soft, int i)
{
    const sprag_row *row = &problem->row[i];
    side sides[2];
    for (int k = 0; k < 2; k++) {
        set_side(&sides[k], problem, solution, row->body[k]);
    }
    double w = inverse_mass(sides, row->jacobian), mass = lighter(sides), step = problem->step;
    if (!(w > 0)) {
        return 0;
    }
    double p = step * solution->row_force[i], u = rate(sides, row->jacobian) - row->bias;
    double wanted = (w * p - u) / (w + sprag_row_yield(soft, row, w));
    wanted = fmin(fmax(wanted, step * row->lo), step * row->hi);
    return fabs(p - wanted) * sqrt(w / mass);
}

// ---- all

static void take_largest(double *largest, int *at, double error, int i, double *squares)
{
    error = isfinite(error) ? error : INFINITY;
    *squares += error * error;
    if (error > *largest) {
        *largest = error;
        *at = i;
    }
}

sprag_residual sprag_problem_residual(const sprag_problem *problem, const sprag_solution *solution,
                                      double softness, double row_softness, sprag_scratch *scratch)
{
    sprag_residual r = {
        .scale = sprag_problem_scale(problem), .body = -1, .contact = -1, .joint_row = -1};
    double squares = 0;
    sprag_softness soft = sprag_problem_softness(problem, softness, row_softness);
    double(*wrench)[6] = SPRAG_TAKE(scratch, problem->bodies, double[6]);
    if (!wrench) {
        r.momentum = INFINITY;
        return r;
    }
    add_wrenches(problem, solution, wrench);
    for (int b = 0; b < problem->bodies; b++) {
        double e = momentum_error(&problem->body[b], solution->velocity[b], wrench[b]);
        take_largest(&r.momentum, &r.body, e, b, &squares);
    }
    double largest = 0;
    for (int i = 0; i < problem->contacts; i++) {
        double friction, normal = contact_error(problem, solution, &soft, i, &friction);
        r.normal = fmax(r.normal, normal);
        r.friction = fmax(r.friction, friction);
        take_largest(&largest, &r.contact, fmax(normal, friction), i, &squares);
    }
    for (int i = 0; i < problem->rows; i++) {
        take_largest(&r.row, &r.joint_row, row_error(problem, solution, &soft, i), i, &squares);
    }
    int count = problem->bodies + problem->contacts + problem->rows;
    r.mean = count > 0 ? sqrt(squares / count) : 0;
    return r;
}

double sprag_residual_relative(const sprag_residual *r)
{
    return fmax(fmax(r->momentum, r->normal), fmax(r->friction, r->row)) / r->scale;
}
