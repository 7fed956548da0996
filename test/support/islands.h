// Islands of ODE worlds, pulled into contact problems, for the tests of adapters/island.
#ifndef TEST_ISLANDS_H
#define TEST_ISLANDS_H

#include <check.h>
#include <stdlib.h>

#include "start.h"
#include "suite.h"
#include "worlds.h"

static const dReal step = 0.01; // s

// ---- islands of a world, pulled

typedef struct pull {
    ode_islands islands;
    ode_island island;
    ode_problem ode;
    sprag_scratch scratch;
    sprag_result result;
} pull;

static inline ode_island island_at(const ode_islands *islands, size_t which)
{
    ode_island island = {.body = islands->bodies, .joint = islands->joints};
    ck_assert_uint_lt(which, islands->count);
    for (size_t i = 0;; i++) {
        island.bodies = (int)islands->sizes[2 * i];
        island.joints = (int)islands->sizes[2 * i + 1];
        if (i == which) {
            return island;
        }
        island.body += island.bodies;
        island.joint += island.joints;
    }
}

static inline pull pull_island(dWorldID world, size_t which, ode_warm_start *memory)
{
    pull p = {0};
    ck_assert(sprag_ode_find_islands(world, step, &p.islands));
    p.island = island_at(&p.islands, which);
    p.result = sprag_ode_pull(&p.ode, world, &p.island, step, NULL, memory, &p.scratch);
    return p;
}

static inline pull pull_world(dWorldID world)
{
    pull p = pull_island(world, 0, NULL);
    ck_assert_str_eq(sprag_result_name(p.result), "ok");
    return p;
}

static inline void release(pull *p)
{
    sprag_scratch_free(&p->scratch);
}

static inline void assert_vectors(const double *a, const double *b, int n, double tolerance)
{
    for (int k = 0; k < n; k++) {
        ck_assert_double_eq_tol(a[k], b[k], tolerance * fmax(1, fabs(b[k])));
    }
}

static inline void assert_same_bits(const body_state *a, const body_state *b)
{
    ck_assert_mem_eq(a->x, b->x, sizeof a->x);
    ck_assert_mem_eq(a->q, b->q, sizeof a->q);
    ck_assert_mem_eq(a->v, b->v, sizeof a->v);
}

// ---- bodies

enum { GRAVITY = 1, GYROSCOPIC = 2, FORCES = 4, FINITE = 8, FLOATS = 16, FLYERS = 32 };

static inline dBodyID create_flyer(dWorldID world, int like)
{
    dMatrix3 turn;
    dBodyID body = create_body(world, 2.5, 1, 2, 3);
    dMass m;
    dMassSetParameters(&m, 2.5, 0, 0, 0, 0.3, 0.5, 0.7, 0.02, -0.03, 0.01);
    dBodySetMass(body, &m);
    dRFromAxisAndAngle(turn, 1, 2, -3, 0.7);
    dBodySetRotation(body, turn);
    dBodySetLinearVel(body, 0.3, -2, 1.5);
    dBodySetAngularVel(body, 7, -11, 5);
    dWorldSetGravity(world, 0.1, like & GRAVITY ? -0.2 : 0, like & GRAVITY ? -9.81 : 0);
    dBodySetGyroscopicMode(body, like & GYROSCOPIC);
    dBodySetGravityMode(body, !(like & FLOATS));
    if (like & FORCES) {
        dBodyAddForceAtRelPos(body, 3, -5, 7, 0.1, 0.2, 0.3);
        dBodyAddRelTorque(body, -2, 1, 4);
    }
    if (like & FINITE) {
        dBodySetFiniteRotationMode(body, 1);
        dBodySetFiniteRotationAxis(body, 0, 0, 1);
    }
    return body;
}

// ---- contacts

typedef struct touching {
    dWorldID world;
    dBodyID body[2];
} touching;

static inline touching open_touching(void)
{
    touching t = {.world = dWorldCreate()};
    t.body[0] = create_body(t.world, 1, 0.1, 0.2, 0.3);
    t.body[1] = create_body(t.world, 2, -0.3, 0.1, -0.4);
    dBodySetLinearVel(t.body[0], 0.2, -0.3, -1.5);
    dBodySetAngularVel(t.body[0], 1, 2, -1);
    dBodySetLinearVel(t.body[1], 0.1, 0.4, 0.5);
    dBodySetAngularVel(t.body[1], -0.5, 0.3, 0.7);
    return t;
}

static inline dContact oblique_contact(int mode)
{
    dContact c;
    memset(&c, 0, sizeof c);
    c.surface = (dSurfaceParameters){.mode = mode,
                                     .mu = 0.5,
                                     .mu2 = 0.7,
                                     .rho = 0.01,
                                     .rho2 = 0.02,
                                     .rhoN = 0.03,
                                     .bounce = 0.6,
                                     .bounce_vel = 0.1,
                                     .soft_erp = 0.37,
                                     .soft_cfm = 1e-3,
                                     .motion1 = 0.3,
                                     .motion2 = -0.4,
                                     .motionN = 0.05,
                                     .slip1 = 2e-3,
                                     .slip2 = 3e-3};
    const double n[3] = {2.0 / 7, 3.0 / 7, 6.0 / 7}, t[3] = {6.0 / 7, 2.0 / 7, -3.0 / 7};
    for (int k = 0; k < 3; k++) {
        c.geom.pos[k] = 0.1 * k - 0.05;
        c.geom.normal[k] = n[k];
        c.fdir1[k] = t[k];
    }
    c.geom.depth = 0.003;
    return c;
}

static inline dJointID attach(const touching *t, const dContact *c, int how)
{
    dJointID joint = dJointCreateContact(t->world, 0, c);
    dJointAttach(joint, how == 2 ? NULL : t->body[0],
                 how == 0   ? t->body[1]
                 : how == 1 ? NULL
                            : t->body[0]);
    return joint;
}

// ---- warm start

// Guesses for contacts from the forces that are stored for their joints.
static inline void recall_contacts(ode_warm_start *memory, const dJointID *joint,
                                   sprag_contact *contact, int contacts)
{
    ode_warm_key *claim = calloc((size_t)contacts, sizeof *claim);
    ck_assert_ptr_nonnull(claim);
    for (int i = 0; i < contacts; i++) {
        ode_contact_view view;
        sprag_ode_view_contact(sprag_ode_layout(), joint[i], &view);
        sprag_ode_warm_key_set(&claim[i], &view, &contact[i]);
    }
    sprag_ode_warm_start_contacts(memory, claim, contact, contacts);
    free(claim);
}

// ---- islands

static inline void setup(void)
{
    dInitODE2(0);
    dAllocateODEDataForThread((unsigned)dAllocateMaskAll);
    dSetMessageHandler(quiet); // "inertia must be positive definite!"
}

#endif
