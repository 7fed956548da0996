// Warnings of a step: each for its case alone, once in a world, and some once in a process.
#include <math.h>

#include "describe.h"
#include "frame_state.h"
#include "frame_warn.h"
#include "plugin_scene.h"
#include "reach.h"
#include "warn.h"
#include "world.h"

static int heard;
static char text[4096];

static void hear(int number, const char *format, va_list arguments)
{
    (void)number;
    vsnprintf(text, sizeof text, format, arguments);
    heard++;
}

static world_state *w;
static dBodyID body;
static dGeomID geom;
static dJointID contact, hinge;
static frame_state frame;

static void setup_warn(void)
{
    static dContact between = {.geom = {.normal = {0, 0, 1}}};
    setup();
    ck_assert_ptr_null(sprag_ode_unsupported()); // and its lists of bodies are known
    dSetMessageHandler(hear);
    body = dBodyCreate(world);
    geom = dCreateSphere(NULL, 1);
    between.geom.g1 = between.geom.g2 = geom;
    contact = dJointCreateContact(world, NULL, &between);
    hinge = dJointCreateHinge(world, NULL);
    dJointAttach(contact, body, NULL);
    dJointAttach(hinge, body, NULL);
    configure(world, "method=ess");
    w = world_find_or_make(world);
    w->frame = &frame;
    heard = 0;
}

static void teardown_warn(void)
{
    w->frame = NULL;
    dGeomDestroy(geom);
    teardown();
}

static void expect(const char *part)
{
    const char *expected = part ? part : "nothing";
    ck_assert_msg(heard == (part != NULL), "%d messages for %s: %s", heard, expected, text);
    ck_assert_msg(!part || strstr(text, expected), "%s: %s", expected, text);
    heard = 0;
}

// The same again, in this world, says nothing.
static void expect_of_frame(const ode_advance *step, const char *part)
{
    warn_of_frame(w, step);
    expect(part);
    warn_of_frame(w, step);
    expect(NULL);
}

START_TEST(islands_are_told_once)
{
    ode_island island = {.body = &body, .bodies = 1, .joints = 2};
    warn_of_fallback(w, &island, _i ? SPRAG_NO_MEMORY : SPRAG_NOT_CONVERGED);
    expect(_i ? "ODE's own stepper steps it instead. Further cases are only counted (fallbacks)."
              : "In this step its bodies move as if nothing touched or held them. Further");
    warn_of_fallback(w, &island, SPRAG_NOT_CONVERGED);
    expect(NULL);
    warn_of_one_way_stiffness(w, &island, 1);
    expect(NULL);
    warn_of_one_way_stiffness(w, &island, 1.5);
    expect("k / m is 1.5 in the island of body 1");
    warn_of_one_way_stiffness(w, &island, 2);
    expect(NULL);
    warn_of_no_collision_call(w);
    expect("sprag has seen no collision call");
    warn_of_no_collision_call(w);
    expect(NULL);
}
END_TEST

// Kinds of a world come up in each, kinds of a process in the first alone.
START_TEST(kinds_come_up_once)
{
    dWorldID second = dWorldCreate();
    configure(second, "method=ess");
    world_state *other = world_find_or_make(second);
    for (int kind = WARN_FALLBACK; kind <= WARN_IMPLICIT; kind++) {
        ck_assert(warn_first(w, (warning)kind));
        ck_assert(!warn_first(w, (warning)kind));
        ck_assert(warn_first(other, (warning)kind) == (kind < WARN_NO_COLLISION_CALL));
    }
    dWorldDestroy(second);
}
END_TEST

START_TEST(frames_tell_their_cases)
{
    ode_advance none = {.input = {0}}, step;
    expect_of_frame(&none, NULL);
    step = none;
    step.warnings.whole_step_joint = hinge;
    step.warnings.without_distance = geom;
    step.results.compliant_stats.reason_count[1] = 1;
    step.warnings.implicit_body[1] = body;
    expect_of_frame(&step, NULL); // of compliant steps
    step = none;
    step.input.compliant = &frame.compliant;
    step.warnings.whole_step_joint = hinge;
    expect_of_frame(&step, "cannot be evaluated within a step");
    step.warnings.whole_step_joint = NULL;
    step.warnings.without_distance = geom;
    expect_of_frame(&step, "has no signed distance from another mesh");
    step.warnings.without_distance = NULL;
    step.results.compliant_stats.reason_count[1] = 1;
    step.warnings.implicit_body[1] = body;
    expect_of_frame(&step, sprag_compliant_reason_name((sprag_compliant_reason)1));
    step = none;
    step.results.frozen_bodies = 3;
    step.warnings.nonfinite_body = body;
    expect_of_frame(&step, "The 3 bodies of its island do not move");
    step = none;
    step.results.invalid_forces = 1;
    step.warnings.invalid_force = body;
    expect_of_frame(&step, "the force or torque on body 1");
    step = none;
    step.warnings.soft = contact;
    expect_of_frame(&step, "ignores the ERP, CFM or stiffness of contact surfaces");
    step = none;
    step.warnings.other_surface = contact;
    expect_of_frame(&step, "have different surface parameters");
    step = none;
    step.warnings.other_normal = contact;
    expect_of_frame(&step, "have another normal than the geoms");
    step = none;
    step.warnings.invalid_surface = contact;
    step.warnings.surface_error = "has a strange surface";
    expect_of_frame(&step, "has a strange surface. Further");
    step = none;
    step.warnings.invalid_contact = contact;
    expect_of_frame(&step, "has no usable normal, point or depth");
    step = none;
    step.warnings.crowded[0] = step.warnings.crowded[1] = geom;
    expect_of_frame(&step, "have more pairs of triangles than method=ess keeps apart");
    step = none;
    step.results.stats.overlaps = 5;
    step.warnings.overlap[0] = step.warnings.overlap[1] = geom;
    expect_of_frame(&step, "(5 in all)");
}
END_TEST

// Of the events the first stall names two bodies.
START_TEST(stalls_name_what_is_in_the_way)
{
    sprag_world_event event[] = {{.kind = SPRAG_EVENT_CONTACT_LOST}, {.kind = SPRAG_EVENT_STALLED}};
    ode_advance step = {.results.stats.stalled = 0.25};
    frame.event = event;
    frame.events = _i == 0 ? 1 : 2;
    event[1].body[0] = _i == 2 ? body : NULL;
    expect_of_frame(&step, _i == 2 ? "was found for 0.25 s, first between body 1"
                                   : "for 0.25 s, although no geoms are in the way");
    frame.events = 0;
}
END_TEST

// Contacts of geoms that are kept apart have neither the world's layer nor its CFM; ess has no CFM.
START_TEST(ignored_parameters_are_told)
{
    ode_advance step = {.results = {.contacts = 2, .given_contacts = 2}};
    configure(world,
              _i % 2 ? "method=advance,stribeck.stiffness=7" : "method=ess,stribeck.stiffness=7");
    dWorldSetCFM(world, _i < 2 ? 1e-5 : 2e-5);
    dWorldSetContactSurfaceLayer(world, 0);
    expect_of_frame(&step, _i % 2 ? "ignores stribeck.stiffness=7 N/m" : NULL);
    step.results.contacts = 3;
    expect_of_frame(&step, _i == 3 ? "contact surface layer (0 m) and CFM (2e-05)" : NULL);
    dWorldSetContactSurfaceLayer(world, 0.001);
    expect_of_frame(&step, _i == 3  ? NULL
                           : _i % 2 ? "layer (0.001 m) and CFM"
                                    : "that it keeps apart by a stiffness");
}
END_TEST

// Pairs touch within epsilon, within what is looked ahead, and at a distance across which a force
// acts.
START_TEST(pairs_have_a_reach)
{
    dGeomID other = dCreateSphere(NULL, 1);
    configure(world, "method=advance,advance.epsilon=1e-4");
    ck_assert_double_eq(reach_largest(w), 1e-4);
    frame.look_ahead = 1e-5;
    ck_assert_double_eq(reach_of_pair(w, geom, other), 1e-4);
    frame.look_ahead = 1e-3;
    frame.farthest_distant = 1e-2;
    ck_assert_double_eq(reach_largest(w), 1e-2);
    ck_assert_double_eq(reach_of_pair(w, geom, other), 1e-3);
    sprag_ode_set_add(&frame.distant, sprag_ode_pair_key(geom, other, NULL));
    ck_assert_double_eq(reach_of_pair(w, other, geom), 1e-2);
    frame.look_ahead = 0.1;
    ck_assert_double_eq(reach_of_pair(w, other, geom), 0.1);
    w->frame = NULL;
    ck_assert_double_eq(reach_largest(w), 1e-4);
    ck_assert_double_eq(reach_of_pair(w, other, geom), 1e-4);
    // Before a step, twice the way of the fastest and of a fall; ess and advance within it: none.
    ck_assert_double_eq(reach_look_ahead(w, 3), 0);
    configure(world, "advance.callbacks=before");
    dWorldSetGravity(world, 3, 0, 4);
    w->statistics.step = 0.1;
    double still = reach_look_ahead(w, 0), fast = reach_look_ahead(w, 3);
    ck_assert_double_ge(still, 2 * 5 * 0.1 * 0.1);
    ck_assert_double_ge(fast - still, 2 * 3 * 0.1);
    ck_assert_double_eq_tol(reach_look_ahead(w, 6) - still, 2 * (fast - still), 1e-12);
    dWorldSetGravity(world, 6, 0, 8);
    ck_assert_double_eq_tol(reach_look_ahead(w, 0), 2 * still, 1e-12);
    w->statistics.step = 0.2;
    ck_assert_double_eq_tol(reach_look_ahead(w, 0), 8 * still, 1e-12);
    sprag_ode_set_free(&frame.distant);
    dGeomDestroy(other);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("warn");
    ADD_TESTS_WITH(suite, "all", setup_warn, teardown_warn, {islands_are_told_once, 2},
                   {kinds_come_up_once, 1}, {frames_tell_their_cases, 1},
                   {stalls_name_what_is_in_the_way, 3}, {ignored_parameters_are_told, 4},
                   {pairs_have_a_reach, 1});
    return run_suite_as(suite, CK_FORK);
}
