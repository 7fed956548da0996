// Contacts that are pulled from ODE, against the rows that stock ODE makes of the same joints.
#include <check.h>

#include "islands.h"
#include "suite.h"

// ---- contacts

enum { CONTACT_ROWS = 6 };

// Rows of the contact joint by ODE's getInfo1 and getInfo2.
typedef struct oracle {
    int rows, unbounded;
    double J[2][CONTACT_ROWS][6], rhs_cfm[CONTACT_ROWS][2], bound[CONTACT_ROWS][2];
    int findex[CONTACT_ROWS];
} oracle;

static oracle ask_contact(dJointID joint, dWorldID world)
{
    oracle o;
    memset(&o, 0, sizeof o);
    for (int k = 0; k < CONTACT_ROWS; k++) {
        o.rhs_cfm[k][1] = dWorldGetCFM(world);
        o.bound[k][0] = -dInfinity;
        o.bound[k][1] = dInfinity;
        o.findex[k] = -1;
    }
    ode_row_count count = sprag_ode_count_rows(joint);
    o.rows = count.rows;
    o.unbounded = count.unbounded;
    const ode_rows rows = {o.rows, o.J[0][0], o.J[1][0], o.rhs_cfm[0], o.bound[0], o.findex};
    sprag_ode_get_rows(joint, 1 / step, dWorldGetERP(world), &rows);
    return o;
}

static bool close_to(double a, double b)
{
    return a == b || fabs(a - b) <= 1e-13 * fmax(1, fmax(fabs(a), fabs(b)));
}

// Is the oracle's row a push along an axis through the contact point?
static bool is_slide(const sprag_contact *c, const double axis[3], const oracle *o, int row)
{
    for (int side = 0; side < 2; side++) {
        double sign = side ? -1 : 1, turn[3];
        dCalcVectorCross3(turn, c->arm[side], axis);
        for (int k = 0; k < 3 && c->body[side] != SPRAG_STATIC; k++) {
            if (!close_to(o->J[side][row][k], sign * axis[k]) ||
                !close_to(o->J[side][row][3 + k], sign * turn[k])) {
                return false;
            }
        }
    }
    return true;
}

// A torque about an axis?
static bool is_roll(const sprag_contact *c, const double axis[3], const oracle *o, int row)
{
    for (int side = 0; side < 2; side++) {
        double sign = side ? -1 : 1;
        for (int k = 0; k < 3 && c->body[side] != SPRAG_STATIC; k++) {
            if (o->J[side][row][k] != 0 || !close_to(o->J[side][row][3 + k], sign * axis[k])) {
                return false;
            }
        }
    }
    return true;
}

// Of one axis.
static bool friction_is(const sprag_friction *f, int i, const oracle *o, int row)
{
    return f->coefficient[i] == o->bound[row][1] && -f->coefficient[i] == o->bound[row][0] &&
           f->force[i] == (o->findex[row] < 0) && f->velocity[i] == o->rhs_cfm[row][0];
}

// NULL, or what of the contact is not as the oracle has it.
static const char *difference(const sprag_contact *c, const oracle *o, int mode)
{
    const double *n = c->frame[0];
    if (!is_slide(c, n, o, 0)) {
        return "normal";
    }
    if (!close_to(c->bias, o->rhs_cfm[0][0])) {
        return "bias";
    }
    if (c->compliance != o->rhs_cfm[0][1]) {
        return "compliance";
    }
    int row = 1;
    for (int i = 0; i < 2; i++) {
        if (c->slide.coefficient[i] > 0) {
            int slips = mode & (i ? dContactSlip2 : dContactSlip1);
            if (row >= o->rows || !is_slide(c, c->frame[1 + i], o, row)) {
                return "tangent";
            }
            if (!friction_is(&c->slide, i, o, row)) {
                return "friction";
            }
            if (c->slide.slip[i] != (slips ? o->rhs_cfm[row][1] : 0)) {
                return "slip";
            }
            row++;
        }
    }
    static const sprag_turning free_to_turn;
    const sprag_turning *turning = c->turning ? c->turning : &free_to_turn;
    for (int i = 0; i < 3; i++) {
        const sprag_friction *f = i < 2 ? &turning->roll : &turning->spin;
        if (f->coefficient[i % 2] > 0) {
            if (row >= o->rows || !is_roll(c, c->frame[(i + 1) % 3], o, row)) {
                return "rolling axis";
            }
            if (!friction_is(f, i % 2, o, row)) {
                return "rolling friction";
            }
            row++;
        }
    }
    for (; row < o->rows; row++) { // getInfo1 counts rows that getInfo2 leaves empty
        for (int k = 0; k < 6; k++) {
            if (o->J[0][row][k] != 0 || o->J[1][row][k] != 0) {
                return "number of rows";
            }
        }
    }
    return NULL;
}

// ODE adds its gyroscopic torque to the step; here it acts before rebounds are measured.
static touching open_without_gyroscope(void)
{
    touching t = open_touching();
    for (int i = 0; i < 2; i++) {
        dBodySetGyroscopicMode(t.body[i], 0);
    }
    return t;
}

static void compare_contact(const touching *t, const dContact *c, int how)
{
    dJointID joint = attach(t, c, how);
    pull p = pull_island(t->world, how == 0 ? 0 : t->body[0] == NULL, NULL);
    if (p.ode.problem.contacts == 0) { // the island of the other body
        release(&p);
        p = pull_island(t->world, 1, NULL);
    }
    oracle o = ask_contact(joint, t->world);
    ck_assert_int_eq(p.ode.problem.contacts, 1);
    ck_assert_int_eq(p.ode.stock_rows, o.rows);
    const sprag_contact *pulled = &p.ode.problem.contact[0];
    const char *different = difference(pulled, &o, c->surface.mode);
    ck_assert_msg(different == NULL, "mode %#x, attached %d, mu %g: %s", (unsigned)c->surface.mode,
                  how, c->surface.mu, different);
    ck_assert(pulled->gap == -c->geom.depth && pulled->guess[0] < 0);
    ck_assert(p.island.body[pulled->body[0]] == t->body[0]);
    release(&p);
    dJointDestroy(joint);
}

static const int mode_bits[] = {
    dContactAxisDep, dContactFDir1,     dContactBounce,    dContactSoftERP,   dContactSoftCFM,
    dContactMotion1, dContactMotion2,   dContactMotionN,   dContactSlip1,     dContactSlip2,
    dContactRolling, dContactApprox1_1, dContactApprox1_2, dContactApprox1_N,
};

enum { MODE_BITS = sizeof mode_bits / sizeof mode_bits[0] };

// Every combination of the bits, between two bodies, with the world and reversed.
START_TEST(contacts_agree_with_the_rows_of_stock)
{
    touching t = open_without_gyroscope();
    for (int bits = 0; bits < 1 << MODE_BITS; bits++) {
        int mode = 0;
        for (int i = 0; i < MODE_BITS; i++) {
            mode |= bits >> i & 1 ? mode_bits[i] : 0;
        }
        dContact c = oblique_contact(mode);
        compare_contact(&t, &c, _i);
    }
    dWorldDestroy(t.world);
}
END_TEST

// Depth, layer, correcting velocity, ERP, CFM, and the speed at which bodies meet.
START_TEST(bias_is_that_of_the_world)
{
    static const double depth[] = {-0.01, 0, 1e-4, 0.003, 0.5};
    static const double layer[] = {0, 1e-3}, most[] = {dInfinity, 0.2, 0};
    static const double meeting[] = {-5, -0.12, -0.03, 0, 3};
    static const int modes[] = {0, dContactBounce, dContactBounce | dContactMotionN,
                                dContactSoftERP | dContactSoftCFM, dContactMotionN};
    touching t = open_without_gyroscope();
    for (int i = 0; i < 5 * 2 * 3 * 5 * 5 * 3; i++) {
        dContact c = oblique_contact(modes[i % 5]);
        double speed = meeting[i / 5 % 5];
        c.geom.depth = depth[i / 25 % 5];
        dWorldSetContactSurfaceLayer(t.world, layer[i / 125 % 2]);
        dWorldSetContactMaxCorrectingVel(t.world, most[i / 250 % 3]);
        dWorldSetERP(t.world, 0.1 + 0.1 * (i % 7));
        dWorldSetCFM(t.world, 1e-6 * (i % 3));
        dBodySetLinearVel(t.body[0], speed * 2 / 7, speed * 3 / 7, speed * 6 / 7);
        dBodySetAngularVel(t.body[0], 0, 0, 0);
        compare_contact(&t, &c, i / 750 % 3);
    }
    dWorldDestroy(t.world);
}
END_TEST

// Bounce begins above bounce_vel, never with a negative one.
START_TEST(bounces_above_the_threshold)
{
    static const double threshold[] = {0, 0.999, 1.001, 5, -1};
    static const double expected[] = {0.6, 0.6, 0, 0, 0};
    touching t = open_touching();
    dContact c = oblique_contact(dContactBounce);
    c.geom.depth = 0;
    c.surface.bounce_vel = threshold[_i];
    dBodySetLinearVel(t.body[0], -2.0 / 7, -3.0 / 7, -6.0 / 7);
    dBodySetAngularVel(t.body[0], 0, 0, 0);
    dBodyDestroy(t.body[1]);
    attach(&t, &c, 1);
    pull p = pull_world(t.world);
    ck_assert_double_eq_tol(p.ode.problem.contact[0].bias, expected[_i], 1e-15);
    ck_assert_double_eq(p.ode.problem.contact[0].softening == 0, expected[_i] > 0);
    release(&p);
    dWorldDestroy(t.world);
}
END_TEST

// Infinite, no, negative coefficients, of sliding and of rolling.
START_TEST(coefficients_are_those_of_the_rows)
{
    static const double value[] = {0, 0.3, dInfinity, -1};
    static const int modes[] = {0, dContactAxisDep, dContactRolling,
                                dContactRolling | dContactAxisDep | dContactApprox1};
    touching t = open_touching();
    for (int i = 0; i < 4 * 4 * 4 * 4 * 4 * 4; i++) {
        dContact c = oblique_contact(modes[i % 4]);
        c.surface.mu = value[i / 4 % 4];
        c.surface.mu2 = value[i / 16 % 4];
        c.surface.rho = value[i / 64 % 4];
        c.surface.rho2 = value[i / 256 % 4];
        c.surface.rhoN = value[i / 1024 % 4];
        dJointID joint = attach(&t, &c, 0);
        pull p = pull_world(t.world);
        oracle o = ask_contact(joint, t.world);
        ck_assert_int_eq(p.ode.problem.contacts, 1);
        const char *different = difference(&p.ode.problem.contact[0], &o, c.surface.mode);
        ck_assert_msg(different == NULL, "mode %#x mu %g %g rho %g %g %g: %s (%d rows)",
                      (unsigned)c.surface.mode, c.surface.mu, c.surface.mu2, c.surface.rho,
                      c.surface.rho2, c.surface.rhoN, different, o.rows);
        release(&p);
        dJointDestroy(joint);
    }
    dWorldDestroy(t.world);
}
END_TEST

static void assert_orthonormal(const sprag_contact *c)
{
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            ck_assert_double_eq_tol(dCalcVectorDot3(c->frame[i], c->frame[j]), i == j, 1e-14);
        }
    }
}

// A first direction that is not along the surface, of no length, or not a number, still gives a
// frame, and where it has a part along the surface the first tangent lies along that.
START_TEST(frame_is_orthonormal)
{
    static const double direction[][3] = {{1, 0, 0},   {3, 4, 12},   {0, 0, 0},  {2, 3, 6},
                                          {1e9, 0, 1}, {1e-3, 0, 0}, {NAN, 0, 0}};
    touching t = open_touching();
    dContact c = oblique_contact(dContactFDir1);
    for (int k = 0; k < 3; k++) {
        c.fdir1[k] = direction[_i][k];
        c.geom.normal[k] *= _i % 2 ? 1 : 1.5; // nor need the normal be of unit length
    }
    attach(&t, &c, 0);
    pull p = pull_world(t.world);
    ck_assert_int_eq(p.ode.problem.contacts, 1);
    const sprag_contact *pulled = &p.ode.problem.contact[0];
    assert_orthonormal(pulled);
    double length = sqrt(dCalcVectorDot3(c.fdir1, c.fdir1));
    double along = dCalcVectorDot3(c.fdir1, pulled->frame[0]);
    if (length > 0 && fabs(along) < 0.999 * length) { // t1 is fdir1 less its normal part
        double rest = sqrt(length * length - along * along);
        ck_assert_double_eq_tol(dCalcVectorDot3(c.fdir1, pulled->frame[1]) / rest, 1, 1e-12);
    }
    release(&p);
    dWorldDestroy(t.world);
}
END_TEST

// The first island, which has one contact.
static pull pull_one(dWorldID world, const ode_stiffness *stiffness, ode_warm_start *memory)
{
    pull p = {0};
    ck_assert(sprag_ode_find_islands(world, step, &p.islands));
    p.island = island_at(&p.islands, 0);
    ck_assert_int_eq(sprag_ode_pull(&p.ode, world, &p.island, step, stiffness, memory, &p.scratch),
                     SPRAG_OK);
    ck_assert_int_eq(p.ode.problem.contacts, 1);
    return p;
}

// The arm of the second body of a contact whose gap closes within the step leads to where its point
// is then, at gap = t (rate + t slant). The first body's velocity less the second's is
// (0.5, 0, -rate) m/s; where the second turns by w about y, slant = -w / 2. Gaps that have closed,
// never do, or do not close yet have the arms of now. Seen from either end of the joint.
START_TEST(levers_meet_where_the_gap_closes)
{
    static const struct {
        double rate, w, gap; // m/s, rad/s, m
        bool closes;
    } is[] = {{2, 0, 0x1p-7, true},    {2, 0, 0x1p-5, true},     {2, 255, 0x1p-7, true},
              {2, 256, 0x1p-7, false}, {2, 300, 0x1p-7, false},  {2, -192, 0x1p-7, true},
              {2, -1e3, 0x1p-7, true}, {0, -256, 0x1p-7, false}, {-1, -256, 0x1p-7, false},
              {2, 8, 0x1p-20, true}};
    for (int i = 0; i < 2 * COUNT(is); i++) {
        const bool two = i % 2;
        const int second = two;
        const double w = is[i / 2].w, rate = is[i / 2].rate, gap = is[i / 2].gap;
        const double closing = 2 * gap / (rate + sqrt(rate * rate - 2 * w * gap));
        const double time = is[i / 2].closes ? fmin(step, closing) : 0;
        touching t = {.world = dWorldCreate()};
        ode_warm_start *memory = sprag_ode_warm_start_make();
        const ode_stiffness stiffness = {.speculative = true};
        dContact c = {.surface.mu = 0.5, .geom = {.normal = {0, 0, 1}, .depth = -gap}};
        t.body[0] = create_body(t.world, 1, 0, 0, two ? 1 : -1);
        t.body[1] = two ? create_body(t.world, 1, 0, 0, -1) : NULL;
        dBodySetLinearVel(t.body[0], two ? 0.25 : -0.5, 0, two ? -rate / 2 : rate);
        if (two) {
            dBodySetLinearVel(t.body[1], -0.25, 0, rate / 2);
        }
        dBodySetAngularVel(t.body[second], 0, w, 0);
        attach(&t, &c, two ? 0 : 2);
        pull p = pull_one(t.world, &stiffness, memory);
        const double *arm = p.ode.problem.contact[0].arm[second];
        ck_assert_double_eq_tol(arm[0], 0.5 * time, 1e-15);
        ck_assert_double_eq(arm[1], 0);
        ck_assert_double_eq_tol(arm[2], 1 - rate * time, 1e-15);
        release(&p);
        sprag_ode_warm_start_free(memory);
        dWorldDestroy(t.world);
    }
}
END_TEST

// Across a gap, of a point that has opened or with the option, the surface pushes nothing: bodies
// that it drives apart hovered above it. One that recedes does so. Nor has friction a bound of its
// own.
START_TEST(surfaces_push_nothing_across_a_gap)
{
    static const double motions[] = {0.5, -0.5}, gap = 0x1p-10; // m/s, m
    for (int i = 0; i < 8; i++) {
        const double motion = motions[i % 2];
        const ode_stiffness stiffness = {.speculative = i / 2 % 2, .stiffness = i / 4 ? 1e4 : 0};
        const bool spring = stiffness.stiffness > 0 && !stiffness.speculative;
        touching t = {.world = dWorldCreate()};
        ode_warm_start *memory = sprag_ode_warm_start_make();
        dContact c = {.surface = {.mode = dContactMotionN, .mu = 0.5, .motionN = motion},
                      .geom = {.normal = {0, 0, 1}, .depth = -gap}};
        c.geom.side1 = stiffness.speculative ? -1 : ODE_SIDE_OF_GAP;
        t.body[0] = create_body(t.world, 1, 0, 0, 1);
        attach(&t, &c, 2);
        pull p = pull_one(t.world, &stiffness, memory);
        const sprag_contact *pulled = &p.ode.problem.contact[0];
        ck_assert_double_eq_tol(pulled->bias, fmin(motion, 0) - (spring ? 0 : gap / step), 1e-15);
        ck_assert_double_eq(pulled->slide.coefficient[0], 0);
        release(&p);
        sprag_ode_warm_start_free(memory);
        dWorldDestroy(t.world);
    }
}
END_TEST

// Infinite friction lets go of bodies deep inside one another, where the world wants them to part
// slowly.
START_TEST(crushed_bodies_slide_apart)
{
    static const struct {
        double depth, fastest, friction;
    } is[] = {{0.9, 0.1, 0.3}, {0.9, dInfinity, dInfinity}, {1e-3, 1e-6, dInfinity}};
    touching t = open_touching();
    dContact c = oblique_contact(0);
    c.surface.mu = dInfinity;
    c.geom.depth = is[_i].depth;
    dWorldSetContactMaxCorrectingVel(t.world, is[_i].fastest);
    attach(&t, &c, 0);
    pull p = pull_world(t.world);
    ck_assert(p.ode.problem.contact[0].slide.coefficient[0] == is[_i].friction);
    ck_assert_int_eq(p.ode.problem.contact[0].slide.force[0], isinf(is[_i].friction));
    release(&p);
    dWorldDestroy(t.world);
}
END_TEST

// The surface of a pair whose first body is the joint's second: slip along the first tangent is
// seen from the other body, and along the second, which turned too, it is what it was.
START_TEST(surfaces_are_seen_from_either_body)
{
    touching t = open_touching();
    dContact c = oblique_contact(dContactFDir1 | dContactMotion1 | dContactMotion2);
    sprag_surface of[2];
    c.surface.motion1 = (dReal)0.3;
    c.surface.motion2 = (dReal)-0.7;
    dJointID joint = attach(&t, &c, 0);
    for (int side = 0; side < 2; side++) {
        sprag_ode_surface_of(&of[side], joint, t.world, t.body[side]);
        ck_assert_double_eq(of[side].slide.velocity[0], side ? -0.3 : 0.3);
        ck_assert_double_eq(of[side].slide.velocity[1], -0.7);
    }
    ck_assert_mem_eq(of[0].direction, of[1].direction, sizeof of[0].direction);
    dWorldDestroy(t.world);
}
END_TEST

// A surface has directions where its axes differ, or where it moves along one of them.
START_TEST(surfaces_have_directions_where_axes_differ)
{
    enum { CASES = 12 };
    static const int modes = dContactFDir1 | dContactMu2 | dContactApprox1 | dContactMotion1 |
                             dContactMotion2 | dContactSlip1 | dContactSlip2 | dContactRolling;
    touching t = open_touching();
    for (int i = 0; i < CASES; i++) {
        dContact c = oblique_contact(modes);
        dReal *field[] = {&c.surface.mu,    &c.surface.mu2,  &c.surface.slip1,
                          &c.surface.slip2, &c.surface.rho,  &c.surface.motion2,
                          &c.surface.rho2,  &c.surface.rhoN, &c.surface.motion1};
        for (int k = 0; k < 9; k++) {
            *field[k] = 0;
        }
        if (i < 9) {
            *field[i] = 1;
        } else if (i == 9) {
            c.surface.mode &= ~dContactApprox1_1;
        } else if (i == 10) {
            c.surface.motion1 = c.surface.motion2 = 1;
        }
        sprag_surface of;
        sprag_ode_surface_of(&of, attach(&t, &c, 0), t.world, t.body[0]);
        const bool directed = i != 7 && i != 11; // the spin has one axis
        ck_assert_msg(directed == (norm3(of.direction) > 0.5), "%d", i);
    }
    dWorldDestroy(t.world);
}
END_TEST

// A body that nothing can stop takes no energy from one that it reaches.
START_TEST(a_stop_between_immovable_bodies_takes_nothing)
{
    sprag_body body[2] = {{.velocity = {1}, .free_velocity = {1}},
                          {.velocity = {-1}, .free_velocity = {-1}}};
    const sprag_contact contact = {.body = {0, 1}, .gap = 0.01, .frame = {{-1}, {0, 1}, {0, 0, 1}}};
    ck_assert_double_eq(sprag_ode_taken_by_stop(body, &contact, 0.01, 2), 0);
    body[0].mass = 2; // kg; at rest after half of its speed
    for (int k = 0; k < 3; k++) {
        body[0].inertia[4 * k] = 1;
    }
    ck_assert_double_eq_tol(sprag_ode_taken_by_stop(body, &contact, 0.01, 2), 2 * (4 - 1), 1e-12);
    ck_assert_double_eq(sprag_ode_taken_by_stop(body, &contact, 0.01, 0.5), 0);
}
END_TEST

// Meaningless parameters of a surface count as not given; the contact still holds.
START_TEST(odd_surfaces_still_hold)
{
    touching t = open_touching();
    dContact c =
        oblique_contact(dContactSlip1 | dContactMotion1 | dContactSoftCFM | dContactMotionN);
    c.surface.mu = (dReal)NAN;
    c.surface.slip1 = -1;
    c.surface.motion1 = (dReal)NAN;
    c.surface.motionN = (dReal)INFINITY;
    c.surface.soft_cfm = (dReal)NAN;
    attach(&t, &c, 0);
    pull p = pull_world(t.world);
    ck_assert_int_eq(p.ode.errors.dropped_contacts, 0);
    const sprag_contact *contact = &p.ode.problem.contact[0];
    ck_assert_double_eq(contact->slide.coefficient[0], 0);
    ck_assert_double_eq(contact->slide.slip[0], 0);
    ck_assert_double_eq(contact->slide.velocity[0], 0);
    ck_assert_double_eq(contact->compliance, 0);
    ck_assert(isfinite(contact->bias) && contact->bias >= 0);
    release(&p);
    dWorldDestroy(t.world);
}
END_TEST

// The other contacts and joints stay.
START_TEST(drops_invalid_contacts)
{
    enum { DEGENERATE = 6 };
    touching t = open_touching();
    for (int i = 0; i < DEGENERATE; i++) {
        dContact c = oblique_contact(dContactSlip1 | dContactMotion1 | dContactSoftCFM);
        switch (i) {
        case 0:
            memset(c.geom.normal, 0, sizeof c.geom.normal);
            break;
        case 1:
            c.geom.normal[1] = (dReal)NAN;
            break;
        case 2:
            c.geom.normal[2] = (dReal)INFINITY;
            break;
        case 3:
            c.geom.pos[0] = (dReal)NAN;
            break;
        case 4:
            c.geom.pos[2] = (dReal)INFINITY;
            break;
        default:
            c.geom.depth = (dReal)NAN;
            break;
        }
        attach(&t, &c, 0);
    }
    dContact good = oblique_contact(0);
    dJointID joint = attach(&t, &good, 0);
    dJointID ball = dJointCreateBall(t.world, 0);
    dJointAttach(ball, t.body[0], t.body[1]);
    pull p = pull_world(t.world);
    ck_assert_int_eq(p.ode.errors.dropped_contacts, DEGENERATE);
    ck_assert_int_eq(p.ode.problem.contacts, 1);
    ck_assert_ptr_eq(p.ode.contact_joint[0], joint);
    ck_assert_int_eq(p.ode.problem.rows, 3);
    ck_assert_double_eq(p.ode.penetration, good.geom.depth);
    ck_assert_int_eq(sprag_problem_check(&p.ode.problem, NULL, 0), SPRAG_OK);
    release(&p);
    dWorldDestroy(t.world);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("contacts");
    ADD_TESTS_WITH(suite, "all", setup, dCloseODE, {contacts_agree_with_the_rows_of_stock, 3},
                   {bias_is_that_of_the_world, 1}, {bounces_above_the_threshold, 5},
                   {coefficients_are_those_of_the_rows, 1}, {frame_is_orthonormal, 7},
                   {crushed_bodies_slide_apart, 3}, {levers_meet_where_the_gap_closes, 1},
                   {surfaces_push_nothing_across_a_gap, 1}, {surfaces_are_seen_from_either_body, 1},
                   {odd_surfaces_still_hold, 1}, {drops_invalid_contacts, 1},
                   {surfaces_have_directions_where_axes_differ, 1},
                   {a_stop_between_immovable_bodies_takes_nothing, 1});
    return run_suite(suite);
}
