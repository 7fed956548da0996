// Recorded contacts of every kind of surface: their slip follows from the recorded motion, and what
// sticks and what slips from the recorded force, by the definitions.
#define _GNU_SOURCE 1
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "chance.h"
#include "plugin_scene.h"
#include "sprag_recording.h"

enum { MANY = 80 };

static char file[] = "/tmp/sprag_contacts_XXXXXX";
static const double slips_from = 0.99, slides_from = 0.1; // of the bound, of the speed of falling

static dContact made[MANY];
static dBodyID touching[MANY][2];
static double place[MANY][2][3]; // at the start

static void setup_contacts(void)
{
    close(mkstemp(file));
    setup();
    setenv("SPRAG_RECORD", file, 1);
}

static void teardown_contacts(void)
{
    teardown();
    unlink(file);
}

// A contact of a body, or of two, that forces press together and aside, and that may slide.
static void make_contact(chance *by, dJointGroupID group, int i)
{
    static const int bits[] = {dContactMu2,       dContactFDir1,   dContactApprox1_1,
                               dContactApprox1_2, dContactMotion1, dContactMotion2};
    dContact *c = &made[i];
    double n[3], aside[3], press = chance_between(by, 1, 20), push = chance_between(by, 0, 25);
    *c = (dContact){.surface = {.mu = chance_between(by, 0.2, 1)}};
    chance_unit(by, n);
    chance_unit(by, aside);
    add_scaled(aside, -dot3(aside, n), n, 3);
    normalise3(aside);
    for (int k = 0; k < COUNT(bits); k++) {
        c->surface.mode |= chance_fraction(by) < 0.4 ? bits[k] : 0;
    }
    c->surface.mode = i % 8 ? c->surface.mode : dContactApprox1;
    c->surface.mu *= c->surface.mode & dContactApprox1_1 ? 1 : 10; // N
    c->surface.mu = i % 10 == 7 ? 0 : i % 10 == 8 ? dInfinity : c->surface.mu;
    c->surface.mu2 = chance_between(by, 0.2, 8);
    c->surface.motion1 = chance_between(by, -2, 2);
    c->surface.motion2 = chance_between(by, -2, 2);
    memcpy(c->geom.normal, n, sizeof n);
    memcpy(c->fdir1, aside, sizeof aside);
    c->geom.depth = 0.001;
    for (int k = 0; k < 3; k++) {
        c->geom.pos[k] = 10 * (k == 0) * i + chance_between(by, -0.1, 0.1);
    }
    bool reversed = i % 3 == 1, both = i % 3 == 2;
    dBodyID body = create_body(world, 1, 10 * i, 0, 0),
            other = both ? create_body(world, 2, 10 * i, 0.3, 0) : NULL;
    dJointID joint = dJointCreateContact(world, group, c);
    dJointAttach(joint, reversed ? NULL : body, reversed ? body : other);
    touching[i][0] = body;
    touching[i][1] = other;
    double sign = reversed ? 1 : -1, fast = i % 5 ? 0 : chance_between(by, -2, 2);
    dBodyAddForceAtPos(body, sign * press * n[0] + push * aside[0],
                       sign * press * n[1] + push * aside[1], sign * press * n[2] + push * aside[2],
                       c->geom.pos[0], c->geom.pos[1], c->geom.pos[2]);
    dBodySetLinearVel(body, fast * aside[0], fast * aside[1], fast * aside[2]);
    dBodySetAngularVel(body, chance_between(by, -1, 1) * fast, 0, fast);
    for (int k = 0; k < 2; k++) {
        memcpy(place[i][k], touching[i][k] ? dBodyGetPosition(touching[i][k]) : n,
               sizeof place[i][k]);
    }
}

// m/s at the point of the contact, of a body with the recorded motion.
static void velocity_of(const sprag_recording *r, uint32_t body, const double at[3],
                        const double centre[3], double velocity[3])
{
    double arm[3];
    memset(velocity, 0, 3 * sizeof *velocity);
    for (uint32_t i = 0; i < r->poses; i++) {
        if (r->pose[i].body == body) {
            for (int k = 0; k < 3; k++) {
                arm[k] = at[k] - centre[k];
            }
            cross3(r->pose[i].spin, arm, velocity);
            add_scaled(velocity, 1, r->pose[i].velocity, 3);
        }
    }
}

static double share(double force, double coefficient, bool of_normal, double pressing)
{
    double bound = slips_from * coefficient * (of_normal ? pressing : 1);
    return bound > 0 ? fabs(force) / bound : INFINITY;
}

static void check_contact(const sprag_recording *r, const sprag_recorded_contact *c, int i,
                          bool ours, double falling, int seen[4])
{
    const dContact *of = &made[i];
    const int mode = of->surface.mode;
    double velocity[2][3], force[3], tangent[2][3] = {{0}}, part[2], used[2];
    dVector3 n, p, q;
    for (int k = 0; k < 3; k++) {
        n[k] = (i % 3 == 1 ? -1 : 1) * of->geom.normal[k];
        force[k] = (double)c->force[k];
        ck_assert_double_eq_tol((double)c->normal[k], n[k], 1e-6);
        ck_assert((double)c->position[k] == (double)(float)of->geom.pos[k]);
    }
    for (int k = 0; k < 2; k++) {
        velocity_of(r, c->body[k], of->geom.pos, place[i][k], velocity[k]);
    }
    add_scaled(velocity[0], -1, velocity[1], 3);
    if (mode & dContactFDir1) {
        memcpy(tangent[0], of->fdir1, sizeof tangent[0]);
        cross3(n, tangent[0], tangent[1]);
    } else {
        dPlaneSpace(n, p, q);
        memcpy(tangent[0], p, sizeof tangent[0]);
        memcpy(tangent[1], q, sizeof tangent[1]);
    }
    for (int k = 0; k < 2; k++) {
        bool moves = mode & (k ? dContactMotion2 : dContactMotion1);
        part[k] = dot3(tangent[k], velocity[0]) -
                  (moves ? k ? of->surface.motion2 : of->surface.motion1 : 0);
    }
    double slip = hypot(part[0], part[1]);
    ck_assert_double_eq_tol((double)c->slip, slip, 1e-6 * (1 + slip));
    double pressing = dot3(force, n),
           second = mode & dContactMu2 ? of->surface.mu2 : of->surface.mu;
    used[0] = share(dot3(tangent[0], force), of->surface.mu, mode & dContactApprox1_1, pressing);
    used[1] = share(dot3(tangent[1], force), second, mode & dContactApprox1_2, pressing);
    double most = ours ? hypot(used[0], used[1]) : fmax(used[0], used[1]);
    // Not where rounding decides.
    bool clear = fabs(most - 1) > 1e-4 && fabs(slip / falling - slides_from) > 1e-4;
    if (pressing < -1e-6 || pressing == 0 || (pressing > 1e-6 && clear)) {
        bool slips = most >= 1 || slip > slides_from * falling;
        uint32_t state = pressing <= 0 ? SPRAG_RECORDED_OPEN
                         : slips       ? SPRAG_RECORDED_SLIP
                                       : SPRAG_RECORDED_STICK;
        ck_assert_msg(c->state == state, "contact %d: %u, not %u", i, c->state, state);
        seen[state]++;
    }
}

START_TEST(contacts_tell_how_they_slip)
{
    static const char *const methods[] = {"stribeck", "ode-step", "ode-quick"};
    char options[32];
    int seen[4] = {0};
    chance by = {.state = 7};
    double falling = 3.7 * step;
    dJointGroupID group = dJointGroupCreate(0);
    snprintf(options, sizeof options, "method=%s", methods[_i]);
    dWorldSetGravity(world, 0, 3.7, 0);
    configure(world, options);
    for (int i = 0; i < MANY; i++) {
        make_contact(&by, group, i);
    }
    ck_assert(dWorldStep(world, step));
    dWorldDestroy(dWorldCreate()); // before a world goes, all steps are written
    sprag_recording r;
    ck_assert(sprag_recording_open(&r, file) && sprag_recording_next(&r));
    ck_assert_uint_eq(r.contacts, MANY);
    for (int i = 0; i < MANY; i++) { // from the newest on
        check_contact(&r, &r.contact[MANY - 1 - i], i, _i == 0, falling, seen);
    }
    ck_assert(seen[SPRAG_RECORDED_STICK] > 9 && seen[SPRAG_RECORDED_SLIP] > 9);
    sprag_recording_close(&r);
    dJointGroupDestroy(group);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recorded contacts");
    ADD_TESTS_WITH(suite, "all", setup_contacts, teardown_contacts,
                   {contacts_tell_how_they_slip, 3});
    return run_suite_as(suite, CK_FORK);
}
