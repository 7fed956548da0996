// Contacts that a solution shows to be missing. A contact has the normal and the levers of one
// moment. Where one body turns fast, or is made to by the impact, its surface is elsewhere before
// the step ends, and the other may pass. Such a pair gets another contact, of the moment when both
// are well inside one another: with it the island is solved again.
//
// A body that rebounds and meets another one in the same step cannot do what both contacts ask for.
// So the rebound ends before the other contact acts: the forces of the first solution are spent,
// and the step is solved again from its velocities.
#include <math.h>
#include <string.h>

#include "box.h"
#include "island.h"
#include "linalg.h"
#include "loads.h"
#include "pair_contact.h"

// Along the tangents of contact `like` its surface moves: the new ones stay near to them. What the
// chord of `like` has added to that is left out, as it has another normal and other levers. first:
// the side of the contact that the first geom is on.
static void add(ode_problem *pulled, int like, int first, const ode_touch *touch)
{
    int i = pulled->problem.contacts++;
    sprag_contact *to = &pulled->contact[i];
    double normal[3] = {0};
    dSurfaceParameters room;
    sprag_surface read;
    *to = pulled->contact[like];
    sprag_ode_read_surface(&read, sprag_ode_contact_surface(pulled->contact_joint[like], &room), 0);
    memcpy(to->slide.velocity, read.slide.velocity, sizeof to->slide.velocity);
    sprag_ode_bound_friction_ahead(&to->slide);
    to->turning = NULL; // that of `like` acts
    to->on_chords = false;
    add_scaled(normal, first == 0 ? 1 : -1, touch->normal, 3);
    sprag_contact_frame(normal, pulled->contact[like].frame[1], to->frame);
    for (int side = 0; side < 2; side++) {
        if (to->body[side] != SPRAG_STATIC) {
            memcpy(to->arm[side], touch->lever[side ^ first], sizeof to->arm[side]);
        }
    }
    to->gap = touch->left;
    to->bias = -touch->left / pulled->problem.step;
    to->softening = to->stiffness = to->recovery = to->returns = 0;
    to->rebounds = false;
    to->guess[0] = 0, to->guess[1] = 0, to->guess[2] = 0;
    pulled->contact_joint[i] = pulled->contact_joint[like];
    pulled->warm_key[i] = pulled->warm_key[like];
    pulled->approach[i] = sprag_ode_taken_by_stop(pulled->body, to, pulled->problem.step,
                                                  sprag_ode_closing_before(pulled, i));
}

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
        velocity[side] = body == SPRAG_STATIC ? NULL : pulled->solution.velocity[body];
    }
    return find(data, pair, velocity, pulled->problem.step, geom->side1 == ODE_SIDE_ASIDE, touch);
}

// A body and its group: bodies that push one another, or that rows join.
typedef struct member {
    double turn; // m, by which the farthest corner of its geoms goes round in the step
    double size; // m, half of the least extent of their boxes
    int next;    // another one of the group, nearer to its head; itself: it is the head
    // of a head, whether a body of the group has
    bool misses;   // a contact that a solution has shown to be missing
    bool rebounds; // a contact that rebounds
    bool springs;  // a contact with a stiffness, or a load, which act for all of the step
} member;

static member member_of(const ode_problem *pulled, int body)
{
    const dBodyID id = pulled->island.body[body];
    const double spin = norm3(pulled->solution.velocity[body] + 3) * pulled->problem.step;
    member all = {.size = INFINITY, .next = body};
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

// ---- forces that are spent

// NULL: the body does not yield to forces.
static member *head_of(const ode_problem *pulled, int i, member *body)
{
    if (i == SPRAG_STATIC || !(pulled->body[i].mass > 0)) {
        return NULL;
    }
    while (body[i].next != i) {
        i = body[i].next = body[body[i].next].next;
    }
    return &body[i];
}

static void join(const ode_problem *pulled, const int of[2], member *body)
{
    member *one = head_of(pulled, of[0], body), *other = head_of(pulled, of[1], body);
    if (one && other) {
        one->next = (int)(other - body);
    }
}

// Groups the bodies by rows and by the first so many contacts.
static void find_groups(const ode_problem *pulled, int contacts, member *body)
{
    for (int i = 0; i < pulled->problem.rows; i++) {
        join(pulled, pulled->row[i].body, body);
    }
    for (int i = 0; i < contacts; i++) {
        const double *force = pulled->solution.contact_force[i];
        if (dot6(force, force) > 0) {
            join(pulled, pulled->contact[i].body, body);
        }
    }
    for (int i = 0; i < LANES * pulled->stiffened_fours; i++) {
        const ode_stiffened_four *of = &pulled->stiffened_four[i / LANES];
        if (of->trace[i % LANES] > 0) {
            head_of(pulled, of->body[i % LANES], body)->springs = true;
        }
    }
    for (int i = 0; i < contacts; i++) {
        const sprag_contact *contact = &pulled->contact[i];
        for (int side = 0; side < 2; side++) {
            member *head = head_of(pulled, contact->body[side], body);
            if (head) {
                head->rebounds |= contact->rebounds && pulled->solution.contact_force[i][0] > 0;
                head->springs |= contact->stiffness > 0;
            }
        }
    }
}

// Are the forces on a body spent?
static bool spends(const ode_problem *pulled, int i, member *body)
{
    const member *head = head_of(pulled, i, body);
    return head && head->misses && head->rebounds && !head->springs;
}

static bool any_spends(const ode_problem *pulled, const int of[2], member *body)
{
    return spends(pulled, of[0], body) || spends(pulled, of[1], body);
}

static void set_parts(ode_problem *pulled, const ode_parts *parts)
{
    pulled->problem.body = pulled->body = parts->body;
    pulled->problem.contact = pulled->contact = parts->contact;
    pulled->spent = parts->spent;
    pulled->spent_work = parts->spent_work;
    pulled->spent_row = parts->spent_row;
}

// The problem becomes a copy: sprag_ode_drop_touches goes back to what it was.
static bool copy_problem(ode_problem *pulled, sprag_scratch *scratch)
{
    const size_t contacts = (size_t)pulled->problem.contacts, rows = (size_t)pulled->problem.rows;
    const ode_parts now = {pulled->body, pulled->contact, pulled->spent, pulled->spent_work,
                           pulled->spent_row};
    const ode_parts copy = {SPRAG_TAKE_RAW(scratch, pulled->problem.bodies, sprag_body),
                            SPRAG_TAKE_RAW(scratch, pulled->room, sprag_contact),
                            SPRAG_TAKE(scratch, pulled->room, double[6]),
                            SPRAG_TAKE(scratch, pulled->room, double),
                            SPRAG_TAKE(scratch, rows, double)};
    if (scratch->failed) {
        return false;
    }
    memcpy(copy.body, now.body, (size_t)pulled->problem.bodies * sizeof *copy.body);
    memcpy(copy.contact, now.contact, contacts * sizeof *copy.contact);
    if (now.spent) {
        memcpy(copy.spent, now.spent, contacts * sizeof *copy.spent);
        memcpy(copy.spent_work, now.spent_work, contacts * sizeof *copy.spent_work);
        memcpy(copy.spent_row, now.spent_row, rows * sizeof *copy.spent_row);
    }
    pulled->before = now;
    set_parts(pulled, &copy);
    return true;
}

// Leaves of the contact what its force before has not done yet. Friction that is bounded by a force
// has that bound for the whole step, and a rebound has ended.
static void spend(sprag_contact *contact, const double force[6], double step)
{
    contact->bias -= contact->compliance * force[0];
    if (contact->rebounds) {
        contact->rebounds = false;
        contact->bias = -fmax(0, contact->gap) / step;
        sprag_ode_bound_friction_ahead(&contact->slide);
    }
    for (int axis = 0; axis < 2; axis++) {
        double *most = &contact->slide.coefficient[axis];
        *most = contact->slide.force[axis] ? fmax(0, *most - fabs(force[1 + axis])) : *most;
    }
    contact->recovery = fmax(0, fmin(contact->recovery, contact->bias));
    contact->guess[0] = 0, contact->guess[1] = 0, contact->guess[2] = 0;
}

static void spend_row(sprag_row *row, double force)
{
    row->bias -= row->compliance * force;
    row->lo -= force;
    row->hi -= force;
    row->guess = 0;
}

// Bodies that rebound, and meet something else, go on from the first solution with their groups.
// false: no memory.
static bool spend_forces(ode_problem *pulled, int contacts, member *body, sprag_scratch *scratch)
{
    bool any = false;
    pulled->before.body = NULL;
    for (int i = 0; i < pulled->problem.bodies && !any; i++) {
        any = spends(pulled, i, body);
    }
    if (!any || !copy_problem(pulled, scratch)) {
        return !any;
    }
    for (int i = 0; i < contacts; i++) {
        const double *force = pulled->first.contact_force[i];
        if (any_spends(pulled, pulled->contact[i].body, body)) {
            add_scaled(pulled->spent[i], 1, force, 6);
            pulled->spent_work[i] += sprag_ode_taken_by_force(pulled, i, force[0]);
            spend(&pulled->contact[i], force, pulled->problem.step);
        }
    }
    for (int i = 0; i < pulled->problem.rows; i++) {
        if (any_spends(pulled, pulled->row[i].body, body)) {
            pulled->spent_row[i] += pulled->first.row_force[i];
            spend_row(&pulled->row[i], pulled->first.row_force[i]);
        }
    }
    for (int i = 0; i < pulled->problem.bodies; i++) {
        sprag_body *to = &pulled->body[i];
        if (spends(pulled, i, body)) {
            add_scaled(to->velocity, 1, pulled->first.velocity[i], 6);
            add_scaled(to->velocity, -1, to->free_velocity, 6);
            memcpy(to->free_velocity, pulled->first.velocity[i], sizeof to->free_velocity);
        }
    }
    return true;
}

void sprag_ode_drop_touches(ode_problem *pulled, int added)
{
    pulled->problem.contacts -= added;
    pulled->solution = pulled->first;
    if (pulled->before.body) {
        const double *now = pulled->spent_row, *before = pulled->before.spent_row;
        for (int i = 0; i < pulled->problem.rows; i++) {
            spend_row(&pulled->row[i], (before ? before[i] : 0) - now[i]);
        }
        set_parts(pulled, &pulled->before);
    }
}

void sprag_ode_add_spent(ode_problem *pulled)
{
    for (int i = 0; i < pulled->problem.contacts && pulled->spent; i++) {
        add_scaled(pulled->solution.contact_force[i], 1, pulled->spent[i], 6);
    }
    for (int i = 0; i < pulled->problem.rows && pulled->spent; i++) {
        pulled->solution.row_force[i] += pulled->spent_row[i];
        spend_row(&pulled->row[i], -pulled->spent_row[i]);
    }
}

// A pair that gets another contact, and where.
typedef struct missing {
    int like, first;
    ode_touch touch;
} missing;

int sprag_ode_add_touches(ode_problem *pulled, int contacts, ode_touch_fn *find, void *data,
                          sprag_scratch *scratch)
{
    const int before = pulled->problem.contacts, room = pulled->room - before;
    member *body = SPRAG_TAKE_RAW(scratch, pulled->island.bodies, member);
    missing *found = SPRAG_TAKE_RAW(scratch, room, missing);
    int added = 0;
    for (int i = 0; i < pulled->island.bodies && body; i++) {
        body[i] = member_of(pulled, i);
    }
    for (int i = 0; i < contacts && body && found && added < room; i++) {
        missing *to = &found[added];
        to->like = i;
        added += is_first_of_pair(pulled, i) && may_pass(pulled, i, body) &&
                 find_touch(pulled, i, find, data, &to->first, &to->touch);
    }
    if (added == 0 || !sprag_ode_keep_solution(pulled, scratch)) {
        return 0;
    }
    find_groups(pulled, before, body);
    for (int i = 0; i < 2 * added; i++) {
        member *head = head_of(pulled, pulled->contact[found[i / 2].like].body[i % 2], body);
        if (head) {
            head->misses = true;
        }
    }
    if (!spend_forces(pulled, before, body, scratch)) {
        return 0;
    }
    for (int i = 0; i < added; i++) {
        add(pulled, found[i].like, found[i].first, &found[i].touch);
    }
    return added;
}
