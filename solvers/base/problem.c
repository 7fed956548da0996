// Checks every entry of a contact problem; computes wrenches of contact forces, and what rests.
#include "problem.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "kinematics.h"
#include "linalg.h"
#include "vectors6.h"

static inline bool finite_all(const double *x, int n)
{
    sprag_two sum = {n % 2 ? 0 * x[n - 1] : 0, 0}; // 0, or not a number
    for (int i = 0; i + 1 < n; i += 2) {
        sum += 0 * *(const sprag_two *)(x + i);
    }
    return sum[0] + sum[1] == 0;
}

static bool is_size(double x)
{
    return x >= 0 && x <= DBL_MAX;
}

static bool bodies_exist(const int body[2], int bodies)
{
    return body[0] >= 0 && body[0] < bodies && body[1] >= SPRAG_STATIC && body[1] < bodies &&
           body[0] != body[1];
}

static const char *body_fault(const sprag_body *body)
{
    const double *I = body->inertia;
    if (!finite_all(body->velocity, 6) || !finite_all(body->free_velocity, 6)) {
        return "its velocity is not finite";
    }
    if (!(body->mass >= 0) || !isfinite(body->mass)) {
        return "its mass is not a finite number >= 0";
    }
    if (body->mass > 0) {
        // Sylvester's criterion: a matrix is positive definite if its leading minors are positive
        double minor = I[0] * I[4] - I[1] * I[3];
        double det =
            I[2] * (I[3] * I[7] - I[4] * I[6]) - I[5] * (I[0] * I[7] - I[1] * I[6]) + I[8] * minor;
        if (!finite_all(I, 9) || !(I[0] > 0) || !(minor > 0) || !(det > 0)) {
            return "its inertia is not positive definite";
        }
    }
    return NULL;
}

static bool friction_is_good(const sprag_friction *f)
{
    for (int i = 0; i < 2; i++) {
        if (!(f->coefficient[i] >= 0) || !isfinite(f->velocity[i]) || !(f->slip[i] >= 0) ||
            !isfinite(f->slip[i])) {
            return false;
        }
    }
    return true;
}

static const char *contact_fault(const sprag_contact *contact, int bodies)
{
    if (!bodies_exist(contact->body, bodies)) {
        return "its two bodies do not exist or are the same";
    }
    if (!finite_all(contact->arm[0], 6) || !finite_all(contact->frame[0], 9)) {
        return "its arms or its frame are not finite";
    }
    for (int i = 0; i < 3; i++) {
        if (!(fabs(dot3(contact->frame[i], contact->frame[i]) - 1) < 1e-6)) {
            return "its frame does not consist of unit vectors";
        }
    }
    if (!isfinite(contact->gap) || !isfinite(contact->bias) ||
        !isfinite(dot3(contact->guess, contact->guess))) {
        return "its gap, bias or force guess is not finite";
    }
    if (!(contact->compliance >= 0) || !isfinite(contact->compliance)) {
        return "its compliance is not a finite number >= 0";
    }
    if (!(contact->softening >= 0) || !(contact->softening <= 1)) {
        return "its softening is not between 0 and 1";
    }
    if (!is_size(contact->erp)) {
        return "its erp is not a finite number >= 0";
    }
    if (!is_size(contact->stiffness) || !is_size(contact->dissipation)) {
        return "its stiffness or dissipation is not a finite number >= 0";
    }
    if (!is_size(contact->stiction)) {
        return "its stiction tolerance is not a finite number >= 0";
    }
    const sprag_turning *turning = contact->turning;
    if (!friction_is_good(&contact->slide) ||
        (turning && (!friction_is_good(&turning->roll) || !friction_is_good(&turning->spin)))) {
        return "its friction has a negative or non-finite entry";
    }
    return NULL;
}

static const char *row_fault(const sprag_row *row, int bodies)
{
    if (!bodies_exist(row->body, bodies)) {
        return "its two bodies do not exist or are the same";
    }
    if (!finite_all(row->jacobian[0], 12) || !isfinite(row->bias)) {
        return "its jacobian or bias is not finite";
    }
    if (!(row->compliance >= 0) || !isfinite(row->compliance)) {
        return "its compliance is not a finite number >= 0";
    }
    if (!isfinite(row->guess)) {
        return "its force guess is not finite";
    }
    if (!(row->lo <= row->hi)) {
        return "its lower bound is above its upper bound, or one is NaN";
    }
    if (row->lo == INFINITY || row->hi == -INFINITY) {
        return "its bounds leave no finite force";
    }
    return NULL;
}

sprag_result sprag_problem_check(const sprag_problem *problem, char *message, int size)
{
    if (!(problem->step > 0) || !isfinite(problem->step)) {
        return sprag_bad_problem(message, size, "step is %g s, it must be positive", problem->step);
    }
    if (problem->bodies < 0 || problem->contacts < 0 || problem->rows < 0) {
        return sprag_bad_problem(message, size, "negative number of bodies, contacts or rows");
    }
    const char *fault = NULL;
    if (problem->checked) {
        return SPRAG_OK;
    }
    for (int i = 0; i < problem->bodies; i++) {
        if ((fault = body_fault(&problem->body[i]))) {
            return sprag_bad_problem(message, size, "body %d: %s", i, fault);
        }
    }
    for (int i = 0; i < problem->contacts; i++) {
        if ((fault = contact_fault(&problem->contact[i], problem->bodies))) {
            return sprag_bad_problem(message, size, "contact %d: %s", i, fault);
        }
    }
    for (int i = 0; i < problem->rows; i++) {
        if ((fault = row_fault(&problem->row[i], problem->bodies))) {
            return sprag_bad_problem(message, size, "row %d: %s", i, fault);
        }
    }
    return SPRAG_OK;
}

// The torque of rolling and spinning friction on body[0], N m, world axes.
static void turning_torque(const sprag_contact *contact, const double force[6], double torque[3])
{
    static const int axis[3] = {2, 0, 1}; // torque component 3 + axis[i] acts about frame row i
    memset(torque, 0, 3 * sizeof *torque);
    for (int i = 0; i < 3; i++) {
        if (force[3 + axis[i]] != 0) {
            add_scaled(torque, force[3 + axis[i]], contact->frame[i], 3);
        }
    }
}

void sprag_contact_wrench(const sprag_contact *contact, const double force[6], double wrench[2][6])
{
    double linear[3] = {0}, angular[3];
    for (int i = 0; i < 3; i++) {
        add_scaled(linear, force[i], contact->frame[i], 3);
    }
    turning_torque(contact, force, angular);
    for (int side = 0; side < 2; side++) {
        double sign = side ? -1 : 1;
        double moment[3];
        cross3(contact->arm[side], linear, moment);
        for (int k = 0; k < 3; k++) {
            wrench[side][k] = sign * linear[k];
            wrench[side][3 + k] = sign * (moment[k] + angular[k]);
        }
    }
}

void sprag_contact_velocity(const sprag_contact *contact, const double *velocity, size_t bytes,
                            double u[3])
{
    const double *v[2] = {NULL, NULL};
    for (int side = 0; side < 2; side++) {
        const int b = contact->body[side];
        v[side] =
            b == SPRAG_STATIC ? NULL : (const void *)((const char *)velocity + (size_t)b * bytes);
    }
    relative_velocity(v, contact->arm, u);
}

double sprag_contact_rate(const sprag_contact *contact, const double *velocity, size_t bytes)
{
    double u[3];
    sprag_contact_velocity(contact, velocity, bytes, u);
    return dot3(contact->frame[0], u);
}

double sprag_row_rate(const sprag_row *row, const double *velocity, size_t bytes)
{
    double sum = 0;
    for (int side = 0; side < 2; side++) {
        if (row->body[side] != SPRAG_STATIC) {
            const char *of = (const char *)velocity + (size_t)row->body[side] * bytes;
            sum += product6(row->jacobian[side], (const void *)of);
        }
    }
    return sum;
}

bool sprag_contact_rests(const sprag_problem *problem, const sprag_contact *contact, double most)
{
    double slip[3], turning[3] = {0}, rolled[3], along[2], speed;
    for (int side = 0; side < 2; side++) {
        if (contact->body[side] != SPRAG_STATIC) {
            const double *v = problem->body[contact->body[side]].velocity;
            add_scaled(turning, side ? -1 : 1, v + 3, 3);
        }
    }
    sprag_contact_velocity(contact, problem->body->velocity, sizeof *problem->body, slip);
    for (int k = 0; k < 2; k++) {
        along[k] = dot3(contact->frame[1 + k], slip) - contact->slide.velocity[k];
    }
    speed = sqrt(along[0] * along[0] + along[1] * along[1]);
    for (int side = 0; side < 2; side++) {
        cross3(turning, contact->arm[side], rolled);
        speed = contact->body[side] == SPRAG_STATIC ? speed : sprag_larger(norm3(rolled), speed);
    }
    return speed < most;
}

// The turn (rad/s) that two bodies have in common: the faster one's, as far as the other turns with
// it. false: none, or one whose fourth power is no number.
static bool common_turn(const double w0[3], const double w1[3], double turn[3])
{
    const double *faster = dot3(w1, w1) > dot3(w0, w0) ? w1 : w0;
    const double both = dot3(w0, w1), square = dot3(faster, faster);
    const bool any = both > 0 && isfinite(square * square);
    for (int k = 0; k < 3 && any; k++) {
        turn[k] = both / square * faster[k];
    }
    return any;
}

// The way of body 1 round body 0 in a step, as far as they turn together.
typedef struct chord {
    double turned[3]; // m/s, at which the common turn leads body 1, seen from body 0: the tangent
    double bend[3];   // m/s, the chord less the tangent
} chord;

// A step that turns bodies by the angle h w leads a point at r from the centre by h (a w x r + b h
// w x (w x r)), a = sin(h w) / (h w), b = (1 - cos(h w)) / (h w)^2; by Cayley's map, as ODE turns
// bodies, a = 1 / (1 + (h w / 2)^2), b = a / 2.
void sprag_bend(const double w[3], const double arm[3], double step, bool by_angle, double bend[3])
{
    double turned[3];
    const double square = 0.25 * step * step * dot3(w, w), half = sqrt(square);
    const double sine = by_angle && half > 0 ? sin(half) / half : 1;
    const double share = by_angle ? 1 : 1 / (1 + square); // of both terms below
    const double inwards = by_angle ? 0.5 * step * sine * sine : 0.5 * step;
    const double lost = by_angle ? 1 - sine * cos(half) : square;
    if (!isfinite(square * square)) { // such a turn ends anywhere
        memset(bend, 0, 3 * sizeof *bend);
        return;
    }
    cross3(w, arm, turned);
    cross3(w, turned, bend);
    for (int k = 0; k < 3; k++) {
        bend[k] = share * (inwards * bend[k] - lost * turned[k]);
    }
}

// Makes an angular velocity, by which Cayley's map turns a body, that of the same turn by its
// angle.
static void make_angle(double w[3], double step)
{
    const double half = 0.5 * step * norm3(w), share = half > 0 ? atan(half) / half : 1;
    for (int k = 0; k < 3; k++) {
        w[k] *= share;
    }
}

// The turn w by its angle is one of w tan(h w / 2) / (h w / 2) by Cayley's map.
static void add_cayley(const double w[3], const double arm[3], int side, double step,
                       double bend[3])
{
    const double half = 0.5 * step * norm3(w), more = half > 0 ? tan(half) / half - 1 : 0;
    double turned[3];
    cross3(w, arm, turned);
    add_scaled(bend, side ? more : -more, turned, 3);
}

static bool chord_of(const sprag_contact *contact, const sprag_body *body, double step, chord *c)
{
    double w[3], between[3], own[2][3];
    if (contact->body[0] == SPRAG_STATIC || contact->body[1] == SPRAG_STATIC) {
        return false;
    }
    const sprag_body *of[2] = {&body[contact->body[0]], &body[contact->body[1]]};
    const bool mixed = of[0]->by_angle != of[1]->by_angle;
    const int cayley = of[0]->by_angle; // the side of both, if they are mixed
    memcpy(own[0], of[0]->velocity + 3, sizeof own[0]);
    memcpy(own[1], of[1]->velocity + 3, sizeof own[1]);
    if (mixed) {
        make_angle(own[cayley], step);
    }
    if (!common_turn(own[0], own[1], w)) {
        return false;
    }
    subtract3(contact->arm[0], contact->arm[1], between);
    cross3(w, between, c->turned);
    sprag_bend(w, between, step, mixed || of[0]->by_angle, c->bend);
    if (mixed) {
        add_cayley(w, contact->arm[cayley], cayley, step, c->bend);
    }
    return true;
}

static void slide_on(sprag_contact *contact, const chord *c)
{
    contact->on_chords = contact->slide.velocity[0] == 0 && contact->slide.velocity[1] == 0;
    for (int k = 0; k < 2; k++) {
        contact->slide.velocity[k] -= dot3(contact->frame[1 + k], c->bend);
    }
}

void sprag_contact_slide_on_chords(sprag_contact *contact, const sprag_body *body, double step)
{
    chord c;
    if (chord_of(contact, body, step, &c)) {
        slide_on(contact, &c);
    }
}

// The share of the chord that acts along the normal: 1 for what goes round with the other body, 0
// for what slides on it, or goes past it, as fast as that: wheels that rub, a roller that a drum
// turns under itself. Before the first step on a chord, bodies go along tangents, by the bend apart
// from it.
static double share_of_turn(const sprag_contact *contact, const sprag_body *body, const chord *c)
{
    const double *v[2] = {body[contact->body[0]].velocity, body[contact->body[1]].velocity};
    const double way = norm3(c->turned);
    double slip[3], past[3];
    sprag_contact_velocity(contact, body->velocity, sizeof *body, slip);
    for (int k = 0; k < 3; k++) {
        past[k] = v[0][k] - v[1][k] + c->turned[k];
    }
    const double apart = fmax(norm3(slip), norm3(past)) - norm3(c->bend);
    return way > 0 ? clamp(1 - apart / way, 0, 1) : 0;
}

void sprag_contact_on_chords(sprag_contact *contact, const sprag_body *body, double step,
                             bool gaps_count)
{
    chord c;
    if (!chord_of(contact, body, step, &c)) {
        return;
    }
    slide_on(contact, &c);
    if (!contact->rebounds) {
        const bool drives = contact->bias > contact->recovery;
        const double opens = dot3(contact->frame[0], c.bend) * share_of_turn(contact, body, &c);
        contact->bias -= gaps_count ? fmax(0, opens) : opens;
        contact->recovery = drives ? contact->recovery : fmax(0, contact->bias);
    }
}

// The matrix of r x is the sum of (r x e) e' over three rows. The sum of e x (r x e) over two of
// the normal n is r + (n.r) n.
void sprag_rows_lever(const sprag_row *row, int rows, int side, double lever[3])
{
    double x = 0, y = 0, z = 0, part[3], normal[3];
    for (int i = 0; i < rows && rows == 3; i++) {
        const double *e = row[i].jacobian[side], *m = e + 3;
        x += e[1] * m[2], y += e[2] * m[0], z += e[0] * m[1];
    }
    lever[0] = x, lever[1] = y, lever[2] = z;
    if (rows == 2) {
        const double *a = row[0].jacobian[side], *b = row[1].jacobian[side];
        cross3(a, a + 3, lever);
        cross3(b, b + 3, part);
        add_scaled(lever, 1, part, 3);
        cross3(a, b, normal);
        add_scaled(lever, -0.5 * dot3(normal, lever), normal, 3);
    }
}

int sprag_problem_moving(const sprag_problem *problem)
{
    int moving = 0;
    for (int b = 0; b < problem->bodies; b++) {
        moving += problem->body[b].mass > 0;
    }
    return moving;
}

bool sprag_problem_is_trees(const sprag_problem *problem)
{
    int edges = 0, last[2] = {SPRAG_STATIC, SPRAG_STATIC};
    for (int i = 0; i < problem->contacts; i++) {
        const int *body = problem->contact[i].body;
        bool joins = body[1] != SPRAG_STATIC && problem->body[body[0]].mass > 0 &&
                     problem->body[body[1]].mass > 0;
        edges += joins && (body[0] != last[0] || body[1] != last[1]);
        last[0] = body[0], last[1] = body[1];
    }
    return edges < sprag_problem_moving(problem);
}

bool sprag_problem_is_stiff(const sprag_problem *problem)
{
    for (int i = 0; i < problem->contacts; i++) {
        if (problem->contact[i].stiffness > 0) {
            return true;
        }
    }
    return false;
}
