// The check at start-up: is the running ODE laid out as sprag knows it? It asks a world of its own,
// whose bodies and joints have known answers.
#include "layout.h"
#include "symbols.h"
#include "trial_memory.h"

#include <stdint.h>
#include <string.h>

// A world of two bodies, a contact and a ball joint between them.
typedef struct trial {
    dWorldID world;
    dBodyID body[2];
    dJointID contact, ball;
    unsigned char
        made[sizeof(dContact)]; // that the contact was made from, as the family lays it out
    size_t size, surface_size;  // of it, in bytes
} trial;

static void set_contact(trial *t, const ode_family *family)
{
    dContact c;
    memset(&c, 0, sizeof c);
    c.surface.mode = dContactSlip2 | dContactFDir1;
    c.surface.mu = 0.3125;
    c.surface.slip2 = 0.0625;
    c.geom.depth = 0.4375;
    for (int k = 0; k < 3; k++) {
        c.geom.pos[k] = 3 + k;
        c.geom.normal[k] = k == 2;
        c.fdir1[k] = k == 0;
    }
    size_t rest = sizeof c - sizeof c.surface;
    t->surface_size = sprag_ode_write_surface(family, t->made, &c.surface);
    memcpy(t->made + t->surface_size, &c.geom, rest);
    t->size = t->surface_size + rest;
}

static trial open_trial(const ode_family *family)
{
    static const dWorldStepReserveInfo exact = {sizeof exact, 1, 0};
    static const dWorldStepMemoryFunctionsInfo memory = {
        sizeof memory, sprag_ode_trial_take, sprag_ode_trial_retake, sprag_ode_trial_give};
    trial t;
    memset(&t, 0, sizeof t);
    set_contact(&t, family);
    t.world = sprag_real_world_create()();
    dWorldSetStepMemoryReservationPolicy(t.world, &exact);
    dWorldSetStepMemoryManager(t.world, &memory);
    dWorldSetAutoDisableAverageSamplesCount(t.world, 0); // bodies would take memory by operator new
    for (int i = 0; i < 2; i++) {
        t.body[i] = sprag_real_body_create()(t.world);
        dBodySetPosition(t.body[i], i, 0, 0);
    }
    t.contact = sprag_real_contact_create()(t.world, NULL, (const dContact *)(const void *)t.made);
    t.ball = sprag_real_ball_create()(t.world, NULL);
    dJointAttach(t.contact, t.body[0], t.body[1]);
    dJointAttach(t.ball, t.body[0], t.body[1]);
    dJointSetBallAnchor(t.ball, 0, 0, 5);
    dJointSetBallParam(t.ball, sprag_ode_parameter(dParamCFM), 0.25);
    return t;
}

static bool has_virtual_functions(dJointID joint, count_fn *count, opaque_fn *rows)
{
    return sprag_ode_virtual_function(joint, ODE_GET_INFO1) == (void *)(intptr_t)count &&
           sprag_ode_virtual_function(joint, ODE_GET_INFO2) == (void *)(intptr_t)rows;
}

// A fork may have types of its own before 0.16's, and so other numbers.
static bool types_are_numbered(const trial *t)
{
    bool good =
        dJointGetType(t->contact) == dJointTypeContact && dJointGetType(t->ball) == dJointTypeBall;
    for (int i = 0; i < ODE_JOINT_TYPES && good; i++) {
        int type;
        dJointID joint = sprag_real_create_joint(i, t->world, &type);
        good = !joint || (int)dJointGetType(joint) == type;
        if (joint) {
            sprag_ode_joint_destroy(joint);
        }
    }
    return good;
}

enum { SIZE_MAX_KNOWN = 4096 };

// Bytes of a contact joint; 0: not known.
static size_t size_of_joint(dJointID contact)
{
    typedef size_t size_fn(dJointID);
    size_fn *size_of = (size_fn *)(intptr_t)sprag_ode_virtual_function(contact, ODE_SIZE);
    size_t size = size_of(contact);
    return size <= SIZE_MAX_KNOWN ? size : 0;
}

// Looks for the trial's contact in its joint, from the end: what lies before it is not all set. A
// surface alone would not tell what lies behind it.
static bool find_contact(const trial *t, ode_layout *layout)
{
    size_t size = size_of_joint(t->contact);
    size_t at = size > t->size ? size - t->size : 0;
    for (at -= at % sizeof(dReal);
         at > 0 && memcmp(sprag_ode_at(t->contact, at), t->made, t->size) != 0;
         at -= sizeof(dReal)) {
    }
    layout->surface = at;
    layout->geom = layout->surface + t->surface_size;
    layout->direction = layout->geom + sizeof(dContactGeom);
    return layout->surface;
}

// The offset of the first word of a joint that points there now and did not before, in bytes; 0:
// there is none. The first word points to the virtual functions.
static size_t find_pointer(dJointID contact, const void *before, const void *to)
{
    size_t size = size_of_joint(contact);
    for (size_t at = sizeof to; at + sizeof to <= size; at += sizeof to) {
        if (sprag_ode_pointer_at(contact, at) == to && sprag_ode_pointer_at(before, at) != to) {
            return at;
        }
    }
    return 0;
}

static bool find_joint_fields(const trial *t, ode_layout *layout)
{
    static dJointFeedback feedback;
    const void *before[SIZE_MAX_KNOWN / sizeof(void *)];
    dJointAttach(t->contact, NULL, NULL);
    memcpy(before, t->contact, size_of_joint(t->contact));
    dJointAttach(t->contact, t->body[0], t->body[1]);
    dJointSetFeedback(t->contact, &feedback);
    layout->feedback = find_pointer(t->contact, before, &feedback);
    dJointSetFeedback(t->contact, NULL);
    layout->body[0] = find_pointer(t->contact, before, t->body[0]);
    layout->body[1] = find_pointer(t->contact, before, t->body[1]);
    layout->contact_functions = sprag_ode_pointer_at(t->contact, 0);
    return layout->feedback && layout->body[0] && layout->body[1];
}

static bool is_one_of(const void *found, const void *a, const void *b)
{
    return found == a || found == b;
}

// ODE lists the islands of this world in the trial's memory, so a pointer in an unknown struct can
// be followed if it points there. If ODE's struct is longer than ode_islands, ODE writes into the
// bytes behind it.
static bool islands_are_laid_out(const trial *t)
{
    struct {
        ode_islands islands;
        char behind[256];
    } found;
    memset(&found, 0, sizeof found);
    static const char zero[sizeof found.behind];
    const ode_islands *is = &found.islands;
    return sprag_real_reallocate()(t->world, &found.islands, 0.01, sprag_real_quick_memory()) &&
           !memcmp(found.behind, zero, sizeof zero) && is->count == 1 &&
           sprag_ode_in_trial(is->sizes, 2 * sizeof *is->sizes) &&
           sprag_ode_in_trial(is->bodies, 2 * sizeof *is->bodies) &&
           sprag_ode_in_trial(is->joints, 2 * sizeof *is->joints) && is->sizes[0] == 2 &&
           is->sizes[1] == 2 && is_one_of(is->bodies[0], t->body[0], t->body[1]) &&
           is_one_of(is->bodies[1], t->body[0], t->body[1]) &&
           is_one_of(is->joints[0], t->contact, t->ball) &&
           is_one_of(is->joints[1], t->contact, t->ball);
}

static bool counts_are_laid_out(const trial *t)
{
    unsigned char count[2][64] = {{0}};
    static const unsigned char three[64] = {3, 3}, contact[64] = {3, 0};
    sprag_real_ball_count()(t->ball, (ode_row_count *)count[0]);
    sprag_real_contact_count()(t->contact, (ode_row_count *)count[1]);
    return !memcmp(count[0], three, sizeof three) && !memcmp(count[1], contact, sizeof contact);
}

// Entries that ODE must not write keep this value.
enum { ROOM = 64, LEFT = 7 };

// The rows of a joint, with room behind them.
typedef struct answer {
    dReal J[2][ROOM], rhs_cfm[ROOM], lo_hi[ROOM];
    int findex[ROOM];
} answer;

static void ask(answer *a, dJointID joint)
{
    enum { ROWS = 3 };
    for (int i = 0; i < ROOM; i++) {
        a->J[0][i] = a->J[1][i] = i < 6 * ROWS ? 0 : LEFT;
        a->rhs_cfm[i] = a->lo_hi[i] = LEFT;
        a->findex[i] = LEFT;
    }
    const ode_rows rows = {ROWS, a->J[0], a->J[1], a->rhs_cfm, a->lo_hi, a->findex};
    sprag_ode_count_rows(joint); // getInfo2 uses what getInfo1 has stored
    sprag_ode_get_rows(joint, 100, 0.5, &rows);
}

// The ball joint connects the bodies at (0, 0, 5): its rows are e, -[r]x and -e, [r]x.
static bool rows_are_laid_out(const trial *t)
{
    static const dReal J1[18] = {1, 0, 0, 0, 5, 0, 0, 1, 0, -5, 0, 0, 0, 0, 1, 0, 0, 0};
    static const dReal J2[18] = {-1, 0, 0, 0, -5, 0, 0, -1, 0, 5, 0, 1, 0, 0, -1, 0, -1, 0};
    answer a;
    ask(&a, t->ball);
    bool good = a.rhs_cfm[1] == 0.25; // the joint's own
    for (int i = 0; i < ROOM; i++) {
        bool is_cfm = i % 2;
        good &= a.J[0][i] == (i < 18 ? J1[i] : LEFT) && a.J[1][i] == (i < 18 ? J2[i] : LEFT);
        good &= a.rhs_cfm[i] == (i >= 6   ? LEFT
                                 : is_cfm ? 0.25
                                          : 0) ||
                (is_cfm && a.rhs_cfm[i] == LEFT);
        good &= a.lo_hi[i] == LEFT && a.findex[i] == LEFT;
    }
    return good;
}

// The contact's normal pushes only, along z at (3, 4, 5), and corrects half of the depth in a step;
// its friction is 0.3125 either way, and its second direction slips.
static bool contact_is_read(const trial *t)
{
    static const dReal bounds[6] = {0, dInfinity, -0.3125, 0.3125, -0.3125, 0.3125};
    static const dReal normal[6] = {0, 0, 1, 4, -3, 0}, along[6] = {1, 0, 0, 0, 5, -4};
    answer a;
    ask(&a, t->contact);
    return !memcmp(a.lo_hi, bounds, sizeof bounds) && !memcmp(a.J[0], normal, sizeof normal) &&
           !memcmp(a.J[0] + 6, along, sizeof along) && a.rhs_cfm[0] == 100 * 0.5 * 0.4375 &&
           a.rhs_cfm[5] == 0.0625;
}

static bool bodies_are_stepped(const trial *t)
{
    dBodySetLinearVel(t->body[1], 2, 0, 0);
    sprag_real_step_body()(t->body[1], 0.25);
    return dBodyGetPosition(t->body[1])[0] == 1.5;
}

// Does a threading implementation that is set appear in the head of the world, and the wait of its
// steps after the first search for islands?
static bool world_head_is_laid_out(dWorldID world)
{
    const sprag_symbol needed[] = {
        SPRAG_SYMBOL(sprag_real_self_threaded(), "dThreadingAllocateSelfThreadedImplementation"),
        SPRAG_SYMBOL(sprag_real_free_threads(), "dThreadingFreeImplementation"),
        SPRAG_SYMBOL(sprag_real_functions_of_threads(), "dThreadingImplementationGetFunctions"),
        SPRAG_SYMBOL(sprag_real_set_threads(), "dWorldSetStepThreadingImplementation"),
        SPRAG_SYMBOL(sprag_real_island_threads(), "dWorldGetStepIslandsProcessingMaxThreadCount"),
        SPRAG_SYMBOL(sprag_real_set_island_threads(),
                     "dWorldSetStepIslandsProcessingMaxThreadCount"),
    };
    if (sprag_first_missing(needed, sizeof needed / sizeof *needed)) {
        return false;
    }
    const ode_world_head *head = sprag_ode_world_head(world);
    dThreadingImplementationID alone = sprag_real_self_threaded()();
    const dThreadingFunctionsInfo *functions =
        alone ? sprag_real_functions_of_threads()(alone) : NULL;
    bool none = !head->functions && !head->implementation, known = false;
    if (functions) {
        ode_islands found;
        sprag_real_set_threads()(world, functions, alone);
        known = none && head->functions == functions && head->implementation == alone &&
                !head->wait && sprag_ode_find_islands(world, 1, &found) && head->wait;
        sprag_real_set_threads()(world, NULL, NULL);
    }
    sprag_real_free_threads()(alone);
    return known;
}

static void ignore_move(dBodyID body)
{
    (void)body;
}

static bool has_moved_callback(dBodyID body, size_t at, void (*callback)(dBodyID))
{
    return !memcmp(sprag_ode_at(body, at), &callback, sizeof callback);
}

// The offset of the moved callback in dxBody, in bytes; 0: unknown.
static size_t find_moved_callback(dBodyID body)
{
    static const size_t offsets[] = {704, 720}; // bytes; the second: of Webots' fork
    size_t found = 0;
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets && !found; i++) {
        bool none = has_moved_callback(body, offsets[i], NULL);
        sprag_real_set_moved_callback()(body, ignore_move);
        found = none && has_moved_callback(body, offsets[i], ignore_move) ? offsets[i] : 0;
        sprag_real_set_moved_callback()(body, NULL);
    }
    return found;
}

// The offset of the axis of a hinge in the world, in bytes; 0: unknown, or of unit length.
static size_t find_axis(const trial *t)
{
    enum { HINGE = 1 };
    static const dReal axis[] = {2, 3, 6};
    int type;
    dJointID hinge = sprag_real_create_joint(HINGE, t->world, &type);
    dJointAttach(hinge, t->body[0], NULL);
    dJointSetHingeAxis(hinge, axis[0], axis[1], axis[2]);
    size_t size = size_of_joint(hinge), at = size > sizeof axis ? size - sizeof axis : 0;
    for (at -= at % sizeof *axis; at > 0 && memcmp(sprag_ode_at(hinge, at), axis, sizeof axis) != 0;
         at -= sizeof *axis) {
    }
    sprag_ode_joint_destroy(hinge);
    return at;
}

// Does dWorldQuickStep draw random numbers for its first iteration?
static bool shuffles_first(dWorldID world)
{
    unsigned long seed = dRandGetSeed();
    ode_islands found;
    dWorldSetQuickStepNumIterations(world, 1);
    bool any = sprag_ode_find_islands(world, 0.01, &found);
    ode_island_walk walk = {.islands = &found};
    if (any && sprag_ode_next_island(&walk)) {
        sprag_ode_step_island(world, &walk.island, 0.01, true, false);
    }
    bool drawn = dRandGetSeed() != seed;
    dRandSetSeed(seed);
    return drawn;
}

// The first thing that is otherwise than in every build that sprag knows; NULL: *layout is found.
static const char *wrong_layout(const trial *t, ode_layout *layout)
{
    const ode_family *family = layout->family;
    if (!types_are_numbered(t)) {
        return "the known numbers of joint types";
    }
    if (!has_virtual_functions(t->contact, sprag_real_contact_count(), family->contact_rows()) ||
        !has_virtual_functions(t->ball, sprag_real_ball_count(), family->ball_rows())) {
        return "the known virtual functions of dxJoint";
    }
    if (!find_joint_fields(t, layout)) {
        return "the known layout of dxJoint";
    }
    if (!find_contact(t, layout)) {
        return "the known layout of dxJointContact";
    }
    sprag_ode_set_layout(layout);
    if (!islands_are_laid_out(t)) {
        return "the known layout of dxWorldProcessIslandsInfo";
    }
    if (!counts_are_laid_out(t)) {
        return "the known layout of dxJoint::Info1";
    }
    if (!rows_are_laid_out(t) || !contact_is_read(t)) {
        return "the known rows of getInfo2";
    }
    return bodies_are_stepped(t) ? NULL : "the known dxStepBody";
}

static const char *check_layout(const ode_family *family)
{
    ode_layout layout = {.family = family};
    sprag_ode_set_layout(&layout);
    sprag_ode_begin_trial();
    trial t = open_trial(family);
    const char *wrong = wrong_layout(&t, &layout);
    if (!wrong) {
        layout.world_head = world_head_is_laid_out(t.world);
        layout.moved_callback = find_moved_callback(t.body[0]);
        layout.axis = find_axis(&t);
        layout.shuffles_first = shuffles_first(t.world);
        sprag_ode_set_layout(&layout);
        sprag_ode_check_body_list(t.body[0], t.body[1]);
        sprag_ode_check_joint_list(t.contact, t.ball);
    }
    sprag_ode_world_destroy(t.world);
    sprag_ode_end_trial();
    return wrong;
}

static const char *unsupported; // the first thing that is missing; NULL: nothing

static void check(void)
{
    const ode_family *family = sprag_ode_find_family();
    unsupported = !sprag_real_is_configured() ? "dCheckConfiguration"
                  : !sprag_real_is_configured()("ODE_double_precision")
                      ? "double precision"
                      : sprag_ode_family_missing(family);
    if (!unsupported) {
        unsupported = check_layout(family);
    }
}

const char *sprag_ode_unsupported(void)
{
    static ode_once once;
    sprag_ode_once(&once, check);
    return unsupported;
}
