// One island of ODE -> a contact problem: its bodies, contacts and rows, read in stock's order.
#include <float.h>
#include <math.h>
#include <string.h>

#include "island.h"
#include "linalg.h"

// ---- bodies by address

bool sprag_ode_index_bodies(ode_index *index, dBodyID const *body, int bodies,
                            sprag_scratch *scratch)
{
    int slots = 2;
    while (slots < 2 * bodies) {
        slots *= 2;
    }
    index->mask = slots - 1;
    index->slot = SPRAG_TAKE(scratch, slots, ode_slot);
    if (scratch->failed) {
        return false;
    }
    for (int i = 0; i < bodies; i++) {
        *sprag_ode_slot_of(index, body[i]) = (ode_slot){body[i], i};
    }
    return true;
}

// ---- the island

enum { TOUCHES_OF_FEW = 16 }; // touches.c adds so many to an island of few contacts

static bool take_arrays(ode_problem *pulled, int rows, sprag_scratch *scratch)
{
    const ode_island *island = &pulled->island;
    rows += 2 * pulled->distances;
    const int contacts = pulled->room;
    pulled->body = SPRAG_TAKE_RAW(scratch, island->bodies, sprag_body);
    pulled->contact = SPRAG_TAKE_RAW(scratch, contacts, sprag_contact);
    pulled->row = SPRAG_TAKE_RAW(scratch, rows, sprag_row);
    pulled->contact_joint = SPRAG_TAKE_RAW(scratch, contacts, dJointID);
    pulled->warm_key = SPRAG_TAKE_RAW(scratch, contacts, ode_warm_key);
    pulled->row_joint = SPRAG_TAKE_RAW(scratch, rows, dJointID);
    pulled->mending = SPRAG_TAKE_RAW(scratch, rows, ode_mending);
    pulled->force = SPRAG_TAKE_RAW(scratch, island->bodies, double[6]);
    pulled->solution.velocity = SPRAG_TAKE_RAW(scratch, island->bodies, double[6]);
    pulled->solution.contact_force = SPRAG_TAKE_RAW(scratch, contacts, double[6]);
    pulled->solution.row_force = SPRAG_TAKE_RAW(scratch, rows, double);
    pulled->solution.row_rate = SPRAG_TAKE_RAW(scratch, rows, double);
    return !scratch->failed;
}

// contact: NULL if the joint is none.
static void ask_joint(ode_problem *pulled, int j, const ode_contact_view *contact)
{
    dJointID joint = pulled->island.joint[j];
    pulled->rows_of[j] = sprag_ode_joint_acts(joint) ? sprag_ode_count_rows(joint).rows : 0;
    const bool gap = contact && sprag_ode_is_gap(contact->geom);
    pulled->stock_rows += gap ? 0 : pulled->rows_of[j]; // ODE finds no contact there
}

enum { IS_CONTACT = -1 }; // in rows_of: a contact joint, whose rows have not been counted yet

// Counts the rows of every joint that is no contact. Returns their sum.
static int count_rows(ode_problem *pulled)
{
    for (int j = 0; j < pulled->island.joints; j++) {
        dJointType type = dJointGetType(pulled->island.joint[j]);
        pulled->distances += type == dJointTypeDBall || type == dJointTypeDHinge;
        if (type == dJointTypeContact) {
            pulled->rows_of[j] = IS_CONTACT;
        } else {
            ask_joint(pulled, j, NULL);
        }
    }
    return pulled->stock_rows;
}

static void note_surface_error(ode_problem *pulled, dJointID joint, const char *surface_error)
{
    if (surface_error && pulled->errors.invalid_surfaces++ == 0) {
        pulled->errors.invalid_surface = joint;
        pulled->errors.surface_error = surface_error;
    }
}

// Arguments that are the same for every joint of an island.
typedef struct context {
    dWorldID world;
    const ode_layout *layout;
    ode_setting setting;
    const ode_stiffness *stiffness; // of the world; NULL: ODE's own
    ode_index index;                // of the island's bodies
    ode_warm_start *warm_start;     // NULL: none
    sprag_scratch *scratch;
} context;

static void pull_contact(ode_problem *pulled, const ode_contact_view *view, const context *c)
{
    const char *surface_error;
    const dJointID joint = view->joint;
    int i = pulled->problem.contacts;
    sprag_contact *contact = &pulled->contact[i];
    ode_approach approach = {.body = pulled->body};
    *contact = (sprag_contact){0};
    if (!sprag_ode_pull_contact(contact, view, &c->setting, c->stiffness, &c->index,
                                pulled->approach ? &approach : NULL, c->scratch, &surface_error)) {
        pulled->errors.invalid_contact =
            pulled->errors.dropped_contacts++ ? pulled->errors.invalid_contact : joint;
        return;
    }
    note_surface_error(pulled, joint, surface_error);
    if (isinf(contact->compliance)) { // by an infinite CFM; no force, as in stock
        return;
    }
    if (-contact->gap > pulled->penetration) {
        pulled->penetration = -contact->gap;
    }
    pulled->contact_joint[i] = joint;
    sprag_ode_warm_key_set(&pulled->warm_key[i], view, contact);
    if (pulled->approach) {
        pulled->approach[i] = approach.taken;
    }
    pulled->problem.contacts++;
}

static void pull_rows(ode_problem *pulled, dJointID joint, int rows, const context *c)
{
    sprag_problem *problem = &pulled->problem;
    int more =
        sprag_ode_pull_rows(&pulled->row[problem->rows], joint, rows, c->world, c->setting.step,
                            &c->index, c->warm_start, &pulled->mending[problem->rows]);
    for (int k = 0; k < more; k++) {
        const ode_mending *mending = &pulled->mending[problem->rows];
        pulled->mends |= mending->opened != 0 || mending->stop_erp > 0;
        pulled->drives |= pulled->row[problem->rows].drives;
        pulled->row_joint[problem->rows++] = joint;
    }
}

// Reads a block of contact joints ahead, and the memory that their contacts go to.
static void fetch_contacts(const ode_problem *pulled, int j, const ode_layout *layout)
{
    int end = j + ODE_BLOCK < pulled->island.joints ? j + ODE_BLOCK : pulled->island.joints;
    sprag_contact *to = &pulled->contact[pulled->problem.contacts];
    sprag_ode_fetch(to, to + (end - j));
    for (; j < end; j++) {
        dJointID joint = pulled->island.joint[j];
        if (pulled->rows_of[j] == IS_CONTACT) {
            sprag_ode_fetch(joint, sprag_ode_at(joint, layout->direction));
        }
    }
}

// Reads all of a contact at once: contacts are many, and far apart in memory. Those of a face have
// one normal.
static void pull_joints(ode_problem *pulled, const context *c)
{
    const double(*axes)[3] = NULL;
    for (int j = 0; j < pulled->island.joints; j++) {
        dJointID joint = pulled->island.joint[j];
        if (j % ODE_BLOCK == 0) {
            fetch_contacts(pulled, j, c->layout);
        }
        ode_contact_view contact;
        bool is_contact = pulled->rows_of[j] == IS_CONTACT;
        if (is_contact) {
            sprag_ode_view_contact(c->layout, joint, &contact);
            ask_joint(pulled, j, &contact);
        }
        if (pulled->rows_of[j] == 0) { // dxJointNull's getInfo2 must never be called
            continue;
        }
        pulled->wants_feedback |= dJointGetFeedback(joint) != NULL;
        if (is_contact) {
            const int i = pulled->problem.contacts;
            contact.like = axes;
            pull_contact(pulled, &contact, c);
            const bool by_normal = !(contact.surface->mode & dContactFDir1);
            axes = by_normal && pulled->problem.contacts > i ? pulled->contact[i].frame : NULL;
        } else {
            pull_rows(pulled, joint, pulled->rows_of[j], c);
        }
    }
}

// The arrays beside the contacts follow those that stay.
static void keep(ode_problem *pulled, const int *kept, int left)
{
    for (int i = 0; kept && i < left; i++) {
        pulled->contact_joint[i] = pulled->contact_joint[kept[i]];
        pulled->warm_key[i] = pulled->warm_key[kept[i]];
        if (pulled->approach) {
            pulled->approach[i] = pulled->approach[kept[i]];
        }
    }
    pulled->problem.contacts = left;
}

static void reduce_contacts(ode_problem *pulled, sprag_scratch *scratch)
{
    int *kept;
    int left = sprag_reduce_contacts(pulled->contact, pulled->problem.contacts, &kept, scratch);
    keep(pulled, kept, left);
    left = sprag_ode_drop_edges(pulled, &kept, scratch);
    if (left < pulled->problem.contacts) {
        for (int i = 0; i < left; i++) {
            pulled->contact[i] = pulled->contact[kept[i]];
        }
        keep(pulled, kept, left);
    }
}

static void pull_body(ode_problem *pulled, int i, const dReal *gravity)
{
    dBodyID body = pulled->island.body[i];
    if (!sprag_ode_pull_body(&pulled->body[i], body, gravity, pulled->problem.step)) {
        pulled->errors.invalid_force =
            pulled->errors.invalid_forces++ ? pulled->errors.invalid_force : body;
        memset(pulled->force[i], 0, sizeof pulled->force[i]); // for stock too
        sprag_ode_empty_accumulators(body);
    }
}

// Reads all of a body at once. false: the state of one is not finite.
static bool pull_bodies(ode_problem *pulled, const dReal *gravity, ode_state *state)
{
    const ode_island *island = &pulled->island;
    for (int i = 0; i < island->bodies; i++) {
        if (i % ODE_BLOCK == 0) {
            sprag_ode_fetch_bodies(island->body, i, island->bodies);
        }
        if (!sprag_ode_body_is_finite(island->body[i])) {
            pulled->errors.nonfinite_body = island->body[i];
            return false;
        }
        const dReal *w = dBodyGetAngularVel(island->body[i]);
        pulled->fastest_turn = sprag_larger(pulled->fastest_turn, dot3(w, w));
        pulled->slowest_cap =
            sprag_smaller(pulled->slowest_cap, dBodyGetMaxAngularSpeed(island->body[i]));
        sprag_ode_read_accumulators(island->body[i], pulled->force[i]);
        pull_body(pulled, i, gravity);
        memcpy(state[i].position, dBodyGetPosition(island->body[i]), sizeof state[i].position);
        memcpy(state[i].velocity, pulled->body[i].velocity, sizeof state[i].velocity);
    }
    return true;
}

// getInfo2 of a powered motor at its stop adds a force to the accumulators of its bodies: these are
// read again.
static void pull_pushed_bodies(ode_problem *pulled, const dReal *gravity)
{
    for (int i = 0; i < pulled->island.bodies; i++) {
        dBodyID body = pulled->island.body[i];
        double now[6];
        sprag_ode_read_accumulators(body, now);
        if (memcmp(pulled->force[i], now, sizeof now) != 0) {
            pull_body(pulled, i, gravity);
        }
    }
}

// Is this a pair of bodies of the island? A callback may have attached the joint to others.
static bool bodies_are_good(const int body[2])
{
    return body[0] >= 0 && body[0] != body[1];
}

// Has sprag_problem_check nothing to find? Of contacts and rows, only entries are looked at that
// are not good by the way in which they are read.
static bool is_good(const sprag_problem *problem)
{
    const sprag_problem bodies = {
        .step = problem->step, .bodies = problem->bodies, .body = problem->body};
    bool good = sprag_problem_check(&bodies, NULL, 0) == SPRAG_OK;
    for (int i = 0; i < problem->contacts && good; i++) {
        const sprag_contact *contact = &problem->contact[i];
        const double *guess = contact->guess;
        good = bodies_are_good(contact->body) && contact->compliance <= DBL_MAX &&
               isfinite(guess[0] + guess[1] + guess[2]);
    }
    for (int i = 0; i < problem->rows && good; i++) {
        good = bodies_are_good(problem->row[i].body) && isfinite(problem->row[i].guess);
    }
    return good;
}

// Sets what is known once all contacts and rows have been read.
static sprag_result complete(ode_problem *pulled, const context *c)
{
    sprag_problem *problem = &pulled->problem;
    problem->body = pulled->body;
    problem->contact = pulled->contact;
    problem->row = pulled->row;
    sprag_ode_spin(pulled, c->scratch);
    for (int i = 0; i < problem->contacts; i++) {
        sprag_contact *contact = &pulled->contact[i];
        if (contact->gap > 0) {
            sprag_ode_wait_for_touch(contact, pulled->contact_joint[i], c->stiffness, problem,
                                     c->scratch);
        }
        sprag_contact_on_chords(contact, pulled->body, problem->step, false);
    }
    if (problem->rows > 0 && c->warm_start) {
        sprag_ode_stiffen(pulled, c->warm_start, c->scratch);
    }
    if (c->scratch->failed) {
        return SPRAG_NO_MEMORY;
    }
    problem->checked = is_good(problem);
    return problem->checked ? SPRAG_OK : SPRAG_BAD_PROBLEM;
}

sprag_result sprag_ode_pull(ode_problem *pulled, dWorldID world, const ode_island *island,
                            dReal step, const ode_stiffness *stiffness, ode_warm_start *warm_start,
                            sprag_scratch *scratch)
{
    *pulled = (ode_problem){.island = *island, .problem = {.step = step, .bodies = island->bodies}};
    context c = {.world = world,
                 .layout = sprag_ode_layout(),
                 .setting = sprag_ode_setting(world, step),
                 .stiffness = stiffness,
                 .warm_start = warm_start,
                 .scratch = scratch};
    dVector3 gravity;
    pulled->factor = 1;
    pulled->slowest_cap = dInfinity;
    pulled->erp = dWorldGetERP(world);
    const bool speculates = stiffness && stiffness->speculative && warm_start;
    dWorldGetGravity(world, gravity);
    pulled->room = island->joints + (speculates ? island->joints + TOUCHES_OF_FEW : 0);
    pulled->rows_of = SPRAG_TAKE_RAW(scratch, island->joints, int);
    c.index.state = SPRAG_TAKE_RAW(scratch, island->bodies, ode_state);
    if (scratch->failed ||
        !sprag_ode_index_bodies(&c.index, island->body, island->bodies, scratch) ||
        !take_arrays(pulled, count_rows(pulled), scratch)) {
        pulled->force = NULL; // nothing to restore
        return SPRAG_NO_MEMORY;
    }
    if (!pull_bodies(pulled, gravity, c.index.state)) {
        pulled->force = NULL;
        return SPRAG_BAD_PROBLEM;
    }
    if (speculates) {
        pulled->approach = SPRAG_TAKE_RAW(scratch, pulled->room, double);
    }
    pull_joints(pulled, &c);
    if (stiffness) {
        reduce_contacts(pulled, scratch);
    }
    if (scratch->failed) {
        return SPRAG_NO_MEMORY;
    }
    if (warm_start) {
        pulled->memory = sprag_ode_warm_start_island(warm_start, island->body[0]);
        sprag_ode_warm_start_contacts(warm_start, pulled->warm_key, pulled->contact,
                                      pulled->problem.contacts);
    }
    for (int i = 0; i < pulled->problem.contacts && pulled->approach; i++) {
        sprag_contact *contact = &pulled->contact[i];
        sprag_ode_rebound_from_stop(contact, pulled->contact_joint[i], c.setting.cfm, pulled->body,
                                    step, &pulled->warm_key[i].stop);
        pulled->approach[i] = contact->rebounds ? 0 : pulled->approach[i];
    }
    pulled->joint_rows = pulled->problem.rows;
    pulled->arcs = stiffness && stiffness->arcs && pulled->joint_rows > 0;
    if (pulled->problem.rows > 0) {
        pull_pushed_bodies(pulled, gravity);
    }
    return complete(pulled, &c);
}
