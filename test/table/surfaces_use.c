// Rows of contact surfaces: feedback, kinematic bodies, contacts that the program makes by hand,
// sprag's own parameters.
#include "surfaces.h"

// ---- sprag's own parameters

static void own_stiffness(support_run *run)
{
    static const double stiffness[] = {1e4, 1e6};
    for (int i = 0; i < 2; i++) {
        scene *s = scene_open(run, NULL);
        sprag_surface_set_stiffness(&s->contact.surface, stiffness[i]);
        sprag_surface_set_dissipation(&s->contact.surface, 10);
        support_report(run, sunk(s) * 1e3);
    }
}

static void own_stiffness_expected(support_run *run)
{
    support_report(run, MASS * G / 1e4 * 1e3);
    support_report(run, MASS * G / 1e6 * 1e3);
}

// ---- feedback

static void report_feedback(support_run *run, const scene *s)
{
    double sum[4][3] = {{0}};
    for (int i = 0; i < s->joints; i++) {
        const dJointFeedback *f = &s->feedback[i];
        const dReal *of[] = {f->f1, f->t1, f->f2, f->t2};
        for (int k = 0; k < 4; k++) {
            for (int axis = 0; axis < 3; axis++) {
                sum[k][axis] += of[k][axis];
            }
        }
    }
    for (int k = 0; k < 4; k++) {
        support_report_vector(run, sum[k]);
    }
}

// Sums over the contacts: of a block on a plane, attached either way, and pushed; of one on
// another.
static void feedback(support_run *run)
{
    for (int turned = 0; turned < 2; turned++) {
        scene *s = scene_open(run, NULL);
        dGeomID box = dCreateBox(s->space, 0.4, 0.4, 0.2);
        dBodyID block = scene_free_body(s, box, 0, 0, 0.1 - 1e-8);
        dCreatePlane(s->space, 0, 0, 1, 0);
        s->turned = turned;
        s->contact.surface.mu = MU;
        for (int n = 0; n < STEPS; n++) {
            push(block, 5, angle[1]);
            scene_step(s);
        }
        report_feedback(run, s);
        scene_close(s);
    }
}

static void feedback_expected(support_run *run)
{
    const double x = 5 * cos(angle[1]), y = 5 * sin(angle[1]);
    for (int turned = 0; turned < 2; turned++) {
        dVector3 f = {-x, -y, MASS * G}, none = {0};
        support_report_vector(run, f);
        for (int k = 0; k < 3; k++) {
            support_report_vector(run, none);
        }
    }
}

// ---- between which bodies

// On a body that the program moves, up and along; attached either way.
static void kinematic(support_run *run)
{
    for (int turned = 0; turned < 2; turned++) {
        scene *s = scene_open(run, NULL);
        dGeomID box = dCreateBox(s->space, 4, 4, 0.2);
        dBodyID block = scene_block(s, 0, 0), belt = dBodyCreate(s->world);
        dBodySetKinematic(belt);
        dGeomSetBody(box, belt);
        dBodySetPosition(belt, 0, 0, -0.1);
        dBodySetLinearVel(belt, 1, 0, 0.3);
        dBodySetLinearVel(block, 0, 0, 0.3);
        s->turned = turned;
        s->contact.surface.mu = MU;
        scene_run(s, 10);
        support_report_vector(run, dBodyGetLinearVel(block));
        scene_run(s, 40);
        support_report_vector(run, dBodyGetLinearVel(block));
        support_report(run, dBodyGetPosition(block)[2]);
        scene_close(s);
    }
}

static void kinematic_expected(support_run *run)
{
    for (int turned = 0; turned < 2; turned++) {
        dVector3 start = {MU * G * 10 * H, 0, 0.3}, end = {1, 0, 0.3};
        support_report_vector(run, start);
        support_report_vector(run, end);
        support_report(run, 0.1 + 0.3 * 0.5);
    }
}

// One block slides over another, which slides over the ground; motion1 between them.
static void two_bodies(support_run *run)
{
    for (int i = 0; i < 4; i++) {
        scene *s = scene_open(run, NULL);
        dBodyID lower = scene_block_on_plane(s), upper = scene_block(s, 0, 0);
        dBodySetPosition(upper, 0, 0, 0.3 - 2e-8);
        dWorldSetGravity(s->world, 0, 0, 0);
        s->turned = i & 1;
        s->contact.surface.mode |= dContactFDir1 | (i & 2 ? dContactMotion1 : 0);
        s->contact.surface.mu = MU;
        s->contact.surface.motion1 = 0.5;
        s->contact.fdir1[0] = 1;
        dBodySetLinearVel(upper, i & 2 ? 0 : 2, 0, 0);
        for (int n = 0; n < 20; n++) {
            dBodyAddForce(upper, 0, 0, -MASS * G);
            dBodyAddForce(lower, 0, 0, -MASS * G);
            scene_step(s);
        }
        support_report_vector(run, dBodyGetLinearVel(upper));
        support_report_vector(run, dBodyGetLinearVel(lower));
        scene_close(s);
    }
}

// ---- contacts that the program makes by hand

static void put_contacts(scene *s, dBodyID block, double depth)
{
    const dReal *at = dBodyGetPosition(block);
    for (int i = 0; i < 4; i++) {
        dContact contact = s->contact;
        contact.geom = (dContactGeom){.normal = {0, 0, 1}, .depth = depth};
        contact.geom.pos[0] = at[0] + (i & 1 ? 0.2 : -0.2);
        contact.geom.pos[1] = at[1] + (i & 2 ? 0.2 : -0.2);
        dJointID joint = dJointCreateContact(s->world, s->group, &contact);
        dJointAttach(joint, block, NULL);
    }
}

// With geoms elsewhere, that the program collides, or without any.
static void by_hand(support_run *run, bool geoms)
{
    static const double depth[] = {0, -0.01, 1e-8};
    for (int i = 0; i < 3; i++) {
        scene *s = scene_open(run, NULL);
        dBodyID block = scene_body(s, NULL, 0, 0, 0.1);
        s->contact.surface.mu = MU;
        if (geoms) {
            scene_body(s, dCreateSphere(s->space, 0.1), 0, 0, 10);
            dCreatePlane(s->space, 0, 0, 1, 5);
        }
        dBodySetLinearVel(block, 2, 0, 0);
        for (int n = 0; n < 20; n++) {
            scene_empty(s);
            if (geoms) {
                dSpaceCollide(s->space, s, scene_near);
            }
            put_contacts(s, block, depth[i]);
            dWorldStep(s->world, H);
        }
        support_report_vector(run, dBodyGetLinearVel(block));
        scene_close(s);
    }
}

static void by_hand_expected(support_run *run)
{
    for (int i = 0; i < 3; i++) {
        dVector3 v = {2 - MU * G * 20 * H, 0, 0};
        support_report_vector(run, v);
    }
}

static void without_geoms(support_run *run)
{
    by_hand(run, false);
}

static void beside_geoms(support_run *run)
{
    by_hand(run, true);
}

// The group is not emptied, the contacts of the first step stay.
static void kept(support_run *run)
{
    for (int collide = 0; collide < 2; collide++) {
        scene *s = scene_open(run, NULL);
        dBodyID block = scene_block_on_plane(s);
        s->contact.surface.mu = MU;
        dBodySetLinearVel(block, 2, 0, 0);
        scene_step(s);
        for (int n = 1; n < 20; n++) {
            if (collide) {
                dSpaceCollide(s->space, s, scene_ignore);
            }
            dWorldStep(s->world, H);
        }
        support_report_vector(run, dBodyGetLinearVel(block));
        scene_close(s);
    }
}

static void kept_expected(support_run *run)
{
    for (int i = 0; i < 2; i++) {
        dVector3 v = {2 - MU * G * 20 * H, 0, 0};
        support_report_vector(run, v);
    }
}

static void disabled(support_run *run)
{
    scene *s = scene_open(run, NULL);
    dBodyID block = scene_block_on_plane(s);
    s->disabled = true;
    scene_run(s, 20);
    support_report_vector(run, dBodyGetLinearVel(block));
    scene_close(s);
}

static void disabled_expected(support_run *run)
{
    dVector3 v = {0, 0, -G * 20 * H};
    support_report_vector(run, v);
}

// Every contact several times.
static void redundant(support_run *run)
{
    static const int times[] = {2, 8};
    for (int i = 0; i < 2; i++) {
        scene *s = scene_open(run, NULL);
        dBodyID block = scene_block_on_plane(s);
        s->contact.surface.mu = MU;
        s->times = is_stock(run) ? 1 : times[i];
        dBodySetLinearVel(block, 2, 0, 0);
        scene_run(s, 20);
        support_report_vector(run, dBodyGetLinearVel(block));
        scene_close(s);
    }
}

// Half of the corners on ice.
static void ice(scene *s, dContact *contact)
{
    (void)s;
    contact->surface.mu = contact->geom.pos[0] * contact->geom.pos[1] > 0 ? 0 : MU;
}

static void several_surfaces(support_run *run)
{
    scene *s = scene_open(run, NULL);
    dBodyID block = scene_block_on_plane(s);
    s->alter = ice;
    dBodySetLinearVel(block, 1, 0, 0);
    scene_run(s, 10);
    support_report_vector(run, dBodyGetLinearVel(block));
    scene_close(s);
}

static void several_soft_surfaces(support_run *run)
{
    scene *s = scene_open(run, NULL);
    dBodyID block = scene_block_on_plane(s);
    soften(s);
    s->alter = ice;
    dBodySetPosition(block, 0, 0, 0.1 - MASS * G / 4e5);
    dBodySetLinearVel(block, 1, 0, 0);
    scene_run(s, 10);
    support_report_vector(run, dBodyGetLinearVel(block));
    scene_close(s);
}

static void several_surfaces_expected(support_run *run)
{
    dVector3 v = {1 - MU / 2 * G * 10 * H, 0, 0};
    support_report_vector(run, v);
}

// A plane that acts as a slope of 3 in 4, without friction.
static void tilt(scene *s, dContact *contact)
{
    (void)s;
    contact->geom.normal[0] = -0.6;
    contact->geom.normal[2] = 0.8;
}

static void own_normal(support_run *run)
{
    scene *s = scene_open(run, NULL);
    dBodyID block = scene_block_on_plane(s);
    s->alter = tilt;
    scene_step(s);
    support_report_vector(run, dBodyGetLinearVel(block));
    scene_close(s);
}

static void own_normal_expected(support_run *run)
{
    dVector3 v = {-G * H * 0.6 * 0.8, 0, -G * H * 0.6 * 0.6};
    support_report_vector(run, v);
}

// No normal, or no numbers: the good ones beside them hold. Stock, which such end, is spared them.
static void spoil(scene *s, dContact *contact)
{
    switch (s->data ? s->joints % 4 : 0) {
    case 1:
        memset(contact->geom.normal, 0, sizeof contact->geom.normal);
        break;
    case 2:
        contact->geom.normal[s->joints % 3] = NAN;
        break;
    case 3:
        contact->geom.depth = INFINITY;
        break;
    default:
        contact->surface.mode |= s->data ? dContactFDir1 : 0;
        contact->fdir1[0] = s->joints % 8 ? INFINITY : NAN;
    }
}

static void bad_contacts(support_run *run)
{
    scene *s = scene_open(run, NULL);
    dBodyID block = scene_block_on_plane(s);
    s->alter = spoil;
    s->times = is_stock(run) ? 1 : 4;
    s->data = is_stock(run) ? NULL : s;
    s->contact.surface.mu = MU;
    dBodySetLinearVel(block, 2, 0, 0);
    scene_run(s, 20);
    support_report_vector(run, dBodyGetLinearVel(block));
    scene_close(s);
}

static void bad_contacts_expected(support_run *run)
{
    dVector3 v = {2 - MU * G * 20 * H, 0, 0};
    support_report_vector(run, v);
}

// sprag's stiffness and ODE's at once: ODE's counts; stiffness that is no number: does not count.
static void odd_stiffness(support_run *run)
{
    for (int i = 0; i < 2; i++) {
        scene *s = scene_open(run, NULL);
        s->contact.surface.soft_erp = 0.5;
        sprag_surface_set_stiffness(&s->contact.surface, i ? -1 : 1e4);
        s->contact.surface.mode |= i ? 0 : dContactSoftCFM;
        s->contact.surface.soft_cfm = i ? -1 : 1e-3;
        support_report(run, sunk(s) * 1e3);
    }
}

static void odd_stiffness_expected(support_run *run)
{
    support_report(run, MASS * G * H * 1e-3 / 0.2 * 1e3);
    support_report(run, 0);
}

// The contact's own and the world's; the surface moves up, which dissipation takes for approach.
static void motion_on_stiffness(support_run *run)
{
    for (int of_world = 0; of_world < 2; of_world++) {
        scene *s =
            scene_open(run, of_world ? "stribeck.stiffness=4e3,stribeck.dissipation=10" : NULL);
        if (!of_world) {
            sprag_surface_set_stiffness(&s->contact.surface, 4e3);
            sprag_surface_set_dissipation(&s->contact.surface, 10);
        }
        s->contact.surface.mode |= dContactMotionN;
        s->contact.surface.motionN = 0.02;
        support_report(run, sunk(s) * 1e3);
    }
}

static void motion_on_stiffness_expected(support_run *run)
{
    double x = MASS * G / 4e3 / (1 + 10 * 0.02);
    support_report_pairs(run, 1, x * 1e3, x * 1e3);
}

const support_row support_surface_uses[] = {
    {"Joint feedback: sums over the contacts, attached either way",
     feedback,
     feedback_expected,
     {NEAR(2e-8, SMOOTH), EXACT, EXACT}},
    {"Two bodies, attached either way, with motion",
     two_bodies,
     NULL,
     {NEAR(2e-4, SMOOTH), NEAR(2e-07, HELD), NEAR(2e-6, SMOOTH)}},
    {"A kinematic body carries up and along",
     kinematic,
     kinematic_expected,
     {NEAR(5e-6, SMOOTH), NEAR(1e-07, HELD), NEAR(1e-6, APART)}},
    {"Contacts made by hand, no geoms, depth 0, negative and positive",
     without_geoms,
     by_hand_expected,
     {NEAR(5e-5, FLOOR), NEAR_SAYING(5e-5, FLOOR ", with a message", GIVEN), AS_STRIBECK(NO_CALL)}},
    {"Contacts made by hand beside those of geoms",
     beside_geoms,
     by_hand_expected,
     {NEAR(5e-5, FLOOR), NEAR_SAYING(5e-5, FLOOR ", with a message", GIVEN), NEAR(5e-7, SMOOTH)}},
    {"Contacts kept for several steps",
     kept,
     kept_expected,
     {NEAR(5e-5, FLOOR), NEAR_SAYING(5e-5, HELD ", with a message", GIVEN),
      NEAR_SAYING(5e-5, "as they are, without a collision call, with a message", NO_CALL)}},
    {"Contact joints that are disabled", disabled, disabled_expected, {EXACT, EXACT, EXACT}},
    {"Every contact 2 or 8 times",
     redundant,
     kept_expected,
     {NEAR(5e-7, SMOOTH), NEAR(1e-08, HELD), NEAR(2e-8, SMOOTH)}},
    {"Contacts of two geoms with different surfaces",
     several_surfaces,
     several_surfaces_expected,
     {NEAR(5e-6, SMOOTH), REFUSED("the first surface is used", "have different surface parameters"),
      REFUSED("the first surface is used", "have different surface parameters")}},
    {"the same where contacts are soft",
     several_soft_surfaces,
     several_surfaces_expected,
     {NEAR(5e-9, SMOOTH), REFUSED("the first surface is used", "have different surface parameters"),
      REFUSED("the first surface is used", "have different surface parameters")}},
    {"Contacts with a normal of the program's",
     own_normal,
     own_normal_expected,
     {NEAR(5e-5, FLOOR), REFUSED("the geoms' normal is used", "another normal than the geoms"),
      REFUSED("the geoms' normal is used", "another normal than the geoms")}},
    {"Contacts without a normal, or with numbers that are not finite, beside good ones",
     bad_contacts,
     bad_contacts_expected,
     {NEAR_SAYING(1e-6, "left out, with a message", "no usable normal, point or depth"),
      NEAR(1e-08, HELD), NEAR(2e-8, "the geoms' normal is used")}},
    {"sprag's stiffness, dissipation",
     own_stiffness,
     own_stiffness_expected,
     {NEAR(1e-6, "first order in the step"), EXACT, REFUSED("rigid", SOFT)}},
    {"sprag's stiffness beside ODE's softness, which counts, and below 0",
     odd_stiffness,
     odd_stiffness_expected,
     {NEAR_SAYING(0.005, FLOOR ", with a message", "ODE's parameters are used"),
      NEAR_SAYING(5e-7, HELD ", with a message", "ODE's parameters are used"),
      REFUSED("rigid", SOFT)}},
    {"`dContactMotionN` on sprag's stiffness",
     motion_on_stiffness,
     motion_on_stiffness_expected,
     {NEAR(0.06, "first order in the step"), EXACT, REFUSED("rigid", SOFT)}},
    {0},
};
