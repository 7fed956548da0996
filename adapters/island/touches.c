// The ways of bodies in a step. Contacts have the normals and the levers of one moment, and ask for
// velocities. A body that turns fast, or that something turns aside, or that rebounds, may meet
// what no contact keeps it off, and pass before the step ends. Then the motion of the step is not
// that at the velocities of the solution, but the nearest one, as the masses weigh it, that ends
// where the bodies meet. They keep their velocities, and touch in the next step.
#include <math.h>
#include <string.h>

#include "box.h"
#include "island.h"
#include "linalg.h"
#include "pair_contact.h"

static bool is_first_of_pair(const ode_problem *pulled, int i)
{
    const ode_warm_key *key = &pulled->warm_key[i];
    return i == 0 || memcmp(key[0].key, key[-1].key, sizeof key->key) != 0;
}

bool sprag_ode_is_on(dGeomID geom, dBodyID body)
{
    dGeomID of_body = dBodyGetFirstGeom(body);
    while (of_body && of_body != geom) {
        of_body = dBodyGetNextGeom(of_body);
    }
    return of_body;
}

// *first: the side of contact i that the first geom is on.
static bool find_touch(const ode_problem *pulled, int i, ode_touch_fn *find, void *data, int *first,
                       ode_touch *touch)
{
    const sprag_contact *contact = &pulled->contact[i];
    const dContactGeom *geom = sprag_ode_contact_geom(pulled->contact_joint[i]);
    const double *velocity[2];
    if (!geom->g1 || !geom->g2) {
        return false;
    }
    const dGeomID pair[2] = {geom->g1, geom->g2};
    *first = sprag_ode_is_on(pair[0], pulled->island.body[contact->body[0]]) ? 0 : 1;
    for (int side = 0; side < 2; side++) {
        int body = contact->body[side ^ *first];
        if (body != SPRAG_STATIC && !sprag_ode_is_on(pair[side], pulled->island.body[body])) {
            return false;
        }
        velocity[side] = body == SPRAG_STATIC ? NULL : pulled->way.solution.velocity[body];
    }
    return find(data, pair, velocity, pulled->problem.step, geom->side1 == ODE_SIDE_ASIDE, touch);
}

typedef struct member {
    double turn; // m, by which the farthest corner of its geoms goes round in the step
    double size; // m, half of the least extent of their boxes
} member;

static member member_of(const ode_problem *pulled, int body)
{
    const dBodyID id = pulled->island.body[body];
    const double spin = norm3(pulled->way.solution.velocity[body] + 3) * pulled->problem.step;
    member all = {.size = INFINITY};
    for (dGeomID geom = dBodyGetFirstGeom(id); geom; geom = dBodyGetNextGeom(geom)) {
        double box[6], side[2];
        sprag_ode_read_bounds(geom, box);
        sprag_box_sides(box, side);
        all.size = fmin(all.size, side[0] / 2);
        all.turn = fmax(all.turn, spin * sprag_box_farthest(box, dBodyGetPosition(id)));
    }
    return all;
}

// false: two bodies that move turn too little, whichever of their geoms meet.
static bool may_pass(const ode_problem *pulled, int i, const member *body)
{
    const int *b = pulled->contact[i].body;
    return b[1] == SPRAG_STATIC ||
           2 * (body[b[0]].turn + body[b[1]].turn) >
               ode_passing * fmin(body[b[0]].size, body[b[1]].size) ||
           sprag_ode_contact_geom(pulled->contact_joint[i])->side1 == ODE_SIDE_ASIDE;
}

// ---- ways

enum { TOUCHES_OF_FEW = 16 }; // as many are added to an island of few contacts

// Share of a way by which a solution may be off.
static const double ROUNDING = 1e-3;

// m/s, normal velocity that a contact asks for, but for rebounds and recovery.
static double asked_of(const ode_problem *pulled, int i)
{
    const sprag_contact *of = &pulled->contact[i];
    return fmin(of->bias, -fmax(0, of->gap) / pulled->problem.step) -
           of->compliance * pulled->solution.contact_force[i][0];
}

static double rate_of(const ode_problem *pulled, int i)
{
    return sprag_contact_rate(&pulled->contact[i], *pulled->solution.velocity,
                              sizeof *pulled->solution.velocity);
}

// Does the solution let the bodies of a contact pass? It may where friction wedges them, and where
// rebounds win energy. Springs yield.
static bool is_missed(const ode_problem *pulled, int i, const member *body)
{
    const sprag_contact *of = &pulled->contact[i];
    const double one = body[of->body[0]].size;
    const double least = of->body[1] == SPRAG_STATIC ? one : fmin(one, body[of->body[1]].size);
    return !(of->stiffness > 0) &&
           pulled->problem.step * (asked_of(pulled, i) - rate_of(pulled, i)) > ode_passing * least;
}

// A contact that friction holds slips in the motion as in the solution.
static void hold_slip(const ode_problem *pulled, int i, sprag_contact *to)
{
    const sprag_friction *of = &pulled->contact[i].slide;
    const double *force = pulled->solution.contact_force[i];
    double u[3];
    sprag_contact_velocity(to, *pulled->solution.velocity, sizeof *pulled->solution.velocity, u);
    to->slide = (sprag_friction){.slip = {0}};
    for (int axis = 0; axis < 2; axis++) {
        const double most = of->coefficient[axis] * (of->force[axis] ? 1 : force[0]);
        if (!to->rebounds && to->gap <= 0 && force[0] > 0 &&
            fabs(force[1 + axis]) < (1 - ROUNDING) * most) {
            to->slide.coefficient[axis] = INFINITY;
            to->slide.velocity[axis] = dot3(to->frame[1 + axis], u);
        }
    }
}

static void hold_contact(const ode_problem *pulled, int i, const member *body, sprag_contact *to)
{
    *to = pulled->contact[i];
    to->bias = is_missed(pulled, i, body)
                   ? asked_of(pulled, i)
                   : fmin(rate_of(pulled, i), -fmax(0, to->gap) / pulled->problem.step);
    to->compliance = to->stiffness = to->recovery = to->returns = 0;
    hold_slip(pulled, i, to);
    to->turning = NULL;
    to->rebounds = to->on_chords = false;
    to->guess[0] = to->guess[1] = to->guess[2] = 0;
}

static void hold_row(sprag_row *to, const sprag_solution *solution)
{
    to->bias = sprag_row_rate(to, *solution->velocity, sizeof *solution->velocity);
    if (!sprag_row_holds(to) && !sprag_row_is_stop(to)) {
        to->lo = to->hi = 0;
    }
    to->guess = 0;
}

// The problem of the motion. false: no memory.
static bool make_ways(ode_problem *pulled, const member *all, sprag_scratch *scratch)
{
    ode_ways *way = &pulled->way;
    const sprag_problem *of = &pulled->problem;
    sprag_body *body = SPRAG_TAKE_RAW(scratch, of->bodies, sprag_body);
    sprag_row *row = SPRAG_TAKE_RAW(scratch, of->rows, sprag_row);
    way->room = 2 * of->contacts + TOUCHES_OF_FEW;
    way->contact = SPRAG_TAKE_RAW(scratch, way->room, sprag_contact);
    way->like = SPRAG_TAKE_RAW(scratch, way->room, int);
    const sprag_solution solution = {.velocity = SPRAG_TAKE_RAW(scratch, of->bodies, double[6]),
                                     .contact_force = SPRAG_TAKE(scratch, way->room, double[6]),
                                     .row_force = SPRAG_TAKE_RAW(scratch, of->rows, double)};
    if (scratch->failed) {
        return false;
    }
    way->solution = solution;
    for (int i = 0; i < of->bodies; i++) {
        const double *v = pulled->solution.velocity[i];
        body[i] = of->body[i];
        memcpy(body[i].velocity, v, sizeof body[i].velocity);
        memcpy(body[i].free_velocity, v, sizeof body[i].free_velocity);
        memcpy(way->solution.velocity[i], v, sizeof body[i].velocity);
    }
    for (int i = 0; i < of->contacts; i++) {
        hold_contact(pulled, i, all, &way->contact[i]);
    }
    for (int i = 0; i < of->rows; i++) {
        row[i] = of->row[i];
        hold_row(&row[i], &pulled->solution);
    }
    way->problem = *of;
    way->problem.body = body;
    way->problem.contact = way->contact;
    way->problem.row = row;
    return true;
}

// Makes the problem of the motion, unless there is one. false: it has no room for another contact.
static bool has_room(ode_problem *pulled, const member *body, sprag_scratch *scratch)
{
    const ode_ways *way = &pulled->way;
    return (way->problem.body || make_ways(pulled, body, scratch)) &&
           way->problem.contacts < way->room;
}

// first: the side of contact `like` that the first geom is on.
static void add(ode_problem *pulled, int like, int first, const ode_touch *touch)
{
    ode_ways *way = &pulled->way;
    way->like[way->problem.contacts] = like;
    sprag_contact *to = &way->contact[way->problem.contacts++];
    double normal[3] = {0};
    *to = way->contact[like];
    add_scaled(normal, first == 0 ? 1 : -1, touch->normal, 3);
    sprag_contact_frame(normal, way->contact[like].frame[1], to->frame);
    for (int side = 0; side < 2; side++) {
        if (to->body[side] != SPRAG_STATIC) {
            memcpy(to->arm[side], touch->lever[side ^ first], sizeof to->arm[side]);
        }
    }
    to->gap = touch->left;
    to->bias = -touch->left / way->problem.step;
    to->softening = 0;
}

// m, of a body's way, that its contacts have been looked for.
static double reach_of(const ode_problem *pulled, const ode_warm_start *warm_start, int body,
                       double size)
{
    const sprag_body *of = &pulled->body[body];
    const double speed = fmax(norm3(of->velocity), norm3(of->free_velocity));
    const double more = sprag_ode_warm_start_rebound(warm_start, pulled->island.body[body]);
    return fmax(ode_fast_way * size, pulled->problem.step * (speed + more));
}

// A contact ahead of a body, with nothing, at the end of its reach (m).
static void hold_body(ode_problem *pulled, int body, double reach)
{
    ode_ways *way = &pulled->way;
    const double *v = way->solution.velocity[body];
    double normal[3] = {0};
    way->like[way->problem.contacts] = -1;
    sprag_contact *to = &way->contact[way->problem.contacts++];
    *to = (sprag_contact){
        .body = {body, SPRAG_STATIC}, .gap = reach, .bias = -reach / way->problem.step};
    add_scaled(normal, -1 / norm3(v), v, 3);
    sprag_contact_frame(normal, normal, to->frame);
}

// Bodies that others push farther than their contacts have been looked for are held there. driven:
// m, ways of kinematic bodies, which nothing holds.
static void hold_bodies(ode_problem *pulled, const ode_warm_start *warm_start, const member *body,
                        double driven, sprag_scratch *scratch)
{
    for (int i = 0; i < pulled->problem.bodies; i++) {
        const double way = pulled->problem.step * norm3(pulled->way.solution.velocity[i]);
        if (pulled->body[i].mass > 0 && way > ode_fast_way * body[i].size) {
            const double reach = driven + reach_of(pulled, warm_start, i, body[i].size);
            if (way > (1 + ROUNDING) * reach && has_room(pulled, body, scratch)) {
                hold_body(pulled, i, reach);
            }
        }
    }
}

bool sprag_ode_add_touches(ode_problem *pulled, const ode_warm_start *warm_start,
                           ode_touch_fn *find, void *data, sprag_scratch *scratch)
{
    const int bodies = pulled->problem.bodies, contacts = pulled->problem.contacts;
    const int before = pulled->way.problem.contacts;
    member *body = SPRAG_TAKE_RAW(scratch, bodies, member);
    double driven = 0;
    if (!body) {
        return false;
    }
    if (!pulled->way.problem.body) {
        pulled->way.solution = pulled->solution;
    }
    for (int i = 0; i < bodies; i++) {
        const double *v = pulled->body[i].velocity;
        body[i] = member_of(pulled, i);
        driven += pulled->body[i].mass > 0 ? 0 : pulled->problem.step * norm3(v) + body[i].turn;
    }
    for (int i = 0; i < contacts; i++) {
        ode_touch touch;
        int first;
        if (before == 0 && is_missed(pulled, i, body)) {
            (void)has_room(pulled, body, scratch);
        }
        if (is_first_of_pair(pulled, i) && may_pass(pulled, i, body) &&
            find_touch(pulled, i, find, data, &first, &touch) && has_room(pulled, body, scratch)) {
            add(pulled, i, first, &touch);
        }
    }
    hold_bodies(pulled, warm_start, body, driven, scratch);
    return pulled->way.problem.contacts > before;
}

// Adds the effect of a force (N, along its frame) of a contact to the velocities.
static void push(ode_problem *pulled, const sprag_contact *at, const double force[6])
{
    double wrench[2][6], inverse[9] = {0}, turned[3];
    sprag_contact_wrench(at, force, wrench);
    for (int side = 0; side < 2; side++) {
        const int b = at->body[side];
        if (b != SPRAG_STATIC && pulled->body[b].mass > 0) {
            double *v = pulled->solution.velocity[b];
            invert33(pulled->body[b].inertia, inverse);
            mul33(inverse, wrench[side] + 3, turned);
            add_scaled(v, pulled->problem.step / pulled->body[b].mass, wrench[side], 3);
            add_scaled(v + 3, pulled->problem.step, turned, 3);
        }
    }
}

// m/s, by which free forces open the gap of a contact in the step.
static double fall_of(const ode_problem *pulled, const sprag_contact *at)
{
    return sprag_contact_rate(at, pulled->body->free_velocity, sizeof *pulled->body) -
           sprag_contact_rate(at, pulled->body->velocity, sizeof *pulled->body);
}

// The touches of a motion take the work that free forces would have done on the rest of the way,
// and no more: where they jam a body, their forces have no bound.
static double share_of_claims(const ode_problem *pulled)
{
    const ode_ways *way = &pulled->way;
    double claimed = 0, work = 0; // J
    for (int k = pulled->problem.contacts; k < way->problem.contacts; k++) {
        const double held = pulled->problem.step * way->solution.contact_force[k][0];
        claimed += way->like[k] < 0 ? 0 : fabs(held * fall_of(pulled, &way->contact[k]));
    }
    for (int i = 0; i < pulled->problem.bodies && claimed > 0; i++) {
        const sprag_body *of = &pulled->body[i];
        double gain[6], rest[6], turned[3];
        for (int k = 0; k < 6; k++) {
            gain[k] = of->free_velocity[k] - of->velocity[k];
            rest[k] = way->problem.body[i].velocity[k] - way->solution.velocity[i][k];
        }
        mul33(of->inertia, rest + 3, turned);
        work += of->mass > 0 ? fabs(of->mass * dot3(gain, rest) + dot3(gain + 3, turned)) : 0;
    }
    return claimed > work ? work / claimed : 1;
}

void sprag_ode_charge_ways(ode_problem *pulled)
{
    const ode_ways *way = &pulled->way;
    const double step = pulled->problem.step, share = share_of_claims(pulled);
    for (int k = pulled->problem.contacts; k < way->problem.contacts; k++) {
        double *force = way->solution.contact_force[k], held = share * step * force[0];
        memset(force, 0, sizeof(double[6]));
        if (way->like[k] < 0 || !(held > 0)) {
            continue;
        }
        const sprag_contact *like = &pulled->contact[way->like[k]];
        sprag_contact at = way->contact[k];
        const double fall = fall_of(pulled, &at);
        memcpy(at.arm, like->arm, sizeof at.arm);
        const double w = sprag_ode_inverse_mass_of_contact(pulled->body, &at);
        const double rate =
            sprag_contact_rate(&at, *pulled->solution.velocity, sizeof *pulled->solution.velocity);
        const double slower = sqrt(fmax(0, rate * rate + 2 * held * fall * w)) + rate;
        for (int r = 0; r < 3 && w > 0 && rate < 0; r++) {
            force[r] = -slower / w / step * dot3(like->frame[r], at.frame[0]);
        }
        push(pulled, like, force);
    }
}

// A body that turns about another axis than its spin's would win or lose energy.
static void keep_energy(const ode_problem *pulled, int i, const dQuaternion turn)
{
    const double *spin = pulled->solution.velocity[i] + 3, *inertia = pulled->body[i].inertia;
    double momentum[3];
    dMatrix3 rotation;
    dVector3 back;
    dQtoR(turn, rotation);
    dMultiply1_331(back, rotation, spin);
    mul33(inertia, back, momentum);
    const double turned = dot3(back, momentum);
    mul33(inertia, spin, momentum);
    const double share = turned > 0 ? sqrt(dot3(spin, momentum) / turned) : 1;
    dBodySetAngularVel(pulled->island.body[i], share * spin[0], share * spin[1], share * spin[2]);
}

void sprag_ode_go_ways(const ode_problem *pulled)
{
    const ode_ways *way = &pulled->way;
    for (int k = pulled->problem.contacts; k < way->problem.contacts; k++) {
        if (way->like[k] >= 0) {
            add_scaled(pulled->solution.contact_force[way->like[k]], 1,
                       way->solution.contact_force[k], 3);
        }
    }
    for (int i = 0; i < pulled->problem.bodies && way->problem.body; i++) {
        double change[6], turn[4];
        dQuaternion after;
        const double *v = pulled->solution.velocity[i], *to = way->solution.velocity[i];
        dReal *at = (dReal *)(uintptr_t)dBodyGetPosition(pulled->island.body[i]);
        dReal *q = (dReal *)(uintptr_t)dBodyGetQuaternion(pulled->island.body[i]);
        for (int k = 0; k < 6; k++) {
            change[k] = pulled->problem.step * (to[k] - v[k]);
        }
        const double angle = norm3(change + 3);
        add_scaled(at, 1, change, 3);
        if (angle > 0) {
            turn[0] = cos(angle / 2);
            for (int k = 0; k < 3; k++) {
                turn[1 + k] = sin(angle / 2) * change[3 + k] / angle;
            }
            dQMultiply0(after, turn, q);
            memcpy(q, after, sizeof after); // ODE's step computes the rotation
            keep_energy(pulled, i, turn);
        }
    }
}
