// The exported internals of ODE 0.16, by their mangled names, and the check that they are what we
// know. None need be there: another ODE is passed through untouched, instead of failing to load.
// One step is two calls of them: find the islands, step the islands.
#include "ode.h"

#include <stdint.h>
#include <string.h>

typedef size_t estimate_fn(dBodyID const *, unsigned, dJointID const *, unsigned);
typedef bool reallocate_fn(dWorldID, ode_islands *, dReal, estimate_fn *);
typedef bool process_fn(dWorldID, const ode_islands *, dReal, void *, void *);
typedef void step_body_fn(dBodyID, dReal);
typedef void opaque_fn(void); // that only ODE itself calls
typedef void count_fn(dJointID, ode_row_count *);
typedef void rows_fn(dJointID, dReal, dReal, int, dReal *, dReal *, int, dReal *, dReal *, int *);
typedef dGeomID listed_geom_fn(dSpaceID, int);
typedef dReal height_fn(dHeightfieldDataID, int, int);

// ---- the program's ODE: its functions, those behind which we stand in included

#ifdef SPRAG_WRAP // in the archive: __real_ is what the linker's --wrap names them, if it was asked
                  // to
#define WEAK(symbol) __asm__(symbol) __attribute__((weak))
#define REAL_SYMBOL(type, name, symbol)                                                            \
    extern type wrapped_##name WEAK("__real_" symbol);                                             \
    extern type plain_##name WEAK(symbol);                                                         \
    static type *real_##name(void)                                                                 \
    {                                                                                              \
        return wrapped_##name ? wrapped_##name : plain_##name;                                     \
    }
#else // preloaded or linked before ODE
#define REAL_SYMBOL(type, name, symbol)                                                            \
    static type *real_##name(void)                                                                 \
    {                                                                                              \
        static _Atomic(void *) found;                                                              \
        static _Atomic(unsigned) of;                                                               \
        if (of != sprag_ode_runtime_number()) {                                                    \
            found = sprag_ode_runtime_symbol(symbol);                                              \
            of = sprag_ode_runtime_number();                                                       \
        }                                                                                          \
        return (type *)(intptr_t)found;                                                            \
    }
#endif

#define PROCESS_ISLANDS                                                                            \
    "_Z16dxProcessIslandsP7dxWorldRK25dxWorldProcessIslandsInfodPFvPK30"                           \
    "dxStepperProcessingCallContextEPFj"

REAL_SYMBOL(reallocate_fn, reallocate,
            "_Z31dxReallocateWorldProcessContextP7dxWorldR25dxWorldProcessIslandsInfodPFmPKP6dxBody"
            "jPKP7dxJointjE")
REAL_SYMBOL(process_fn, process_2, PROCESS_ISLANDS "jjE")
REAL_SYMBOL(process_fn, process_3, PROCESS_ISLANDS "jjjE") // of 0.16.6
REAL_SYMBOL(step_body_fn, step_body, "_Z10dxStepBodyP6dxBodyd")
REAL_SYMBOL(opaque_fn, step_island, "_Z12dxStepIslandPK30dxStepperProcessingCallContext")
REAL_SYMBOL(opaque_fn, quick_island, "_Z17dxQuickStepIslandPK30dxStepperProcessingCallContext")
REAL_SYMBOL(estimate_fn, step_memory, "_Z32dxEstimateStepMemoryRequirementsPKP6dxBodyjPKP7dxJointj")
REAL_SYMBOL(estimate_fn, quick_memory,
            "_Z37dxEstimateQuickStepMemoryRequirementsPKP6dxBodyjPKP7dxJointj")
REAL_SYMBOL(opaque_fn, step_calls_2, "_Z26dxEstimateStepMaxCallCountjj")
REAL_SYMBOL(opaque_fn, step_calls_3, "_Z26dxEstimateStepMaxCallCountjjj")
REAL_SYMBOL(opaque_fn, quick_calls_2, "_Z31dxEstimateQuickStepMaxCallCountjj")
REAL_SYMBOL(opaque_fn, quick_calls_3, "_Z31dxEstimateQuickStepMaxCallCountjjj")
REAL_SYMBOL(count_fn, contact_count, "_ZN14dxJointContact8getInfo1EPN7dxJoint5Info1E")
REAL_SYMBOL(rows_fn, contact_rows, "_ZN14dxJointContact8getInfo2EddiPdS0_iS0_S0_Pi")
REAL_SYMBOL(count_fn, ball_count, "_ZN11dxJointBall8getInfo1EPN7dxJoint5Info1E")
REAL_SYMBOL(rows_fn, ball_rows, "_ZN11dxJointBall8getInfo2EddiPdS0_iS0_S0_Pi")
REAL_SYMBOL(listed_geom_fn, listed_geom, "_ZN7dxSpace7getGeomEi")
REAL_SYMBOL(height_fn, height, "_ZN17dxHeightfieldData9GetHeightEii")

// Either of a pair of names: releases differ in the number of threads that are told.
static process_fn *process_islands(void)
{
    return real_process_2() ? real_process_2() : real_process_3();
}

static opaque_fn *step_calls(void)
{
    return real_process_2() ? real_step_calls_2() : real_step_calls_3();
}

static opaque_fn *quick_calls(void)
{
    return real_process_2() ? real_quick_calls_2() : real_quick_calls_3();
}

typedef int world_step_fn(dWorldID, dReal);
typedef void world_fn(dWorldID);

REAL_SYMBOL(world_step_fn, world_step, "dWorldStep")
REAL_SYMBOL(world_step_fn, quick_step, "dWorldQuickStep")
REAL_SYMBOL(world_fn, world_destroy, "dWorldDestroy")

typedef int collide_fn(dGeomID, dGeomID, int, dContactGeom *, int);
typedef void space_collide_fn(dSpaceID, void *, dNearCallback *);
typedef void space_collide2_fn(dGeomID, dGeomID, void *, dNearCallback *);
typedef void override_fn(int, int, dColliderFn *);
typedef void geom_fn(dGeomID);
typedef void space_fn(dSpaceID);
typedef void body_fn(dBodyID);
typedef void joint_fn(dJointID);
typedef void group_fn(dJointGroupID);
typedef void message_fn(int, const char *, ...);
typedef int configuration_fn(const char *);

REAL_SYMBOL(message_fn, message, "dMessage")
REAL_SYMBOL(configuration_fn, is_configured, "dCheckConfiguration")
REAL_SYMBOL(collide_fn, collide, "dCollide")
REAL_SYMBOL(space_collide_fn, space_collide, "dSpaceCollide")
REAL_SYMBOL(space_collide2_fn, space_collide2, "dSpaceCollide2")
REAL_SYMBOL(override_fn, override, "dSetColliderOverride")
REAL_SYMBOL(geom_fn, geom_destroy, "dGeomDestroy")
REAL_SYMBOL(space_fn, space_destroy, "dSpaceDestroy")
REAL_SYMBOL(body_fn, body_destroy, "dBodyDestroy")
REAL_SYMBOL(joint_fn, joint_destroy, "dJointDestroy")
REAL_SYMBOL(group_fn, group_empty, "dJointGroupEmpty")
REAL_SYMBOL(group_fn, group_destroy, "dJointGroupDestroy")

// For the world of the check at start, which other preloaded libraries need not see.
typedef dWorldID world_create_fn(void);
typedef dBodyID body_create_fn(dWorldID);
typedef dJointID contact_create_fn(dWorldID, dJointGroupID, const dContact *);
typedef dJointID joint_create_fn(dWorldID, dJointGroupID);
typedef void moved_fn(dBodyID, void (*)(dBodyID));

REAL_SYMBOL(world_create_fn, world_create, "dWorldCreate")
REAL_SYMBOL(body_create_fn, body_create, "dBodyCreate")
REAL_SYMBOL(contact_create_fn, contact_create, "dJointCreateContact")
REAL_SYMBOL(moved_fn, set_moved_callback, "dBodySetMovedCallback")
REAL_SYMBOL(joint_create_fn, ball_create, "dJointCreateBall")

int sprag_ode_world_step(dWorldID world, dReal step, bool quick)
{
    return quick ? real_quick_step()(world, step) : real_world_step()(world, step);
}

void sprag_ode_world_destroy(dWorldID world)
{
    real_world_destroy()(world);
}

void sprag_ode_message(const char *text)
{
    real_message()(0, "%s", text);
}

int sprag_ode_collide(dGeomID a, dGeomID b, int flags, dContactGeom *contact, int skip)
{
    return real_collide()(a, b, flags, contact, skip);
}

void sprag_ode_space_collide(dSpaceID space, void *data, dNearCallback *callback)
{
    real_space_collide()(space, data, callback);
}

void sprag_ode_space_collide2(dGeomID a, dGeomID b, void *data, dNearCallback *callback)
{
    real_space_collide2()(a, b, data, callback);
}

// Pairs of classes, by bits.
static _Atomic uint32_t overridden[dGeomNumClasses];
_Static_assert(dGeomNumClasses <= 32, "a bit for every class");

static ode_once none_yet;

static void forget_overrides(void)
{
    for (int i = 0; i < dGeomNumClasses; i++) {
        overridden[i] = 0;
    }
}

void sprag_ode_override_collider(int i, int j, dColliderFn *collider)
{
    sprag_ode_once(&none_yet, forget_overrides);
    if (i >= 0 && i < dGeomNumClasses && j >= 0 && j < dGeomNumClasses) {
        overridden[i] |= 1u << j;
        overridden[j] |= 1u << i;
    }
    real_override()(i, j, collider);
}

bool sprag_ode_is_overridden(dGeomID a, dGeomID b)
{
    sprag_ode_once(&none_yet, forget_overrides);
    return overridden[dGeomGetClass(a)] & 1u << dGeomGetClass(b);
}

void sprag_ode_geom_destroy(dGeomID geom)
{
    real_geom_destroy()(geom);
}

void sprag_ode_space_destroy(dSpaceID space)
{
    real_space_destroy()(space);
}

void sprag_ode_body_destroy(dBodyID body)
{
    real_body_destroy()(body);
}

void sprag_ode_joint_destroy(dJointID joint)
{
    real_joint_destroy()(joint);
}

void sprag_ode_joint_group_empty(dJointGroupID group)
{
    real_group_empty()(group);
}

void sprag_ode_joint_group_destroy(dJointGroupID group)
{
    real_group_destroy()(group);
}

bool sprag_ode_process_islands(dWorldID world, const ode_islands *islands, dReal step,
                               void *stepper, void *max_calls)
{
    return process_islands()(world, islands, step, stepper, max_calls);
}

bool sprag_ode_is_quick_stepper(void *stepper)
{
    return stepper == (void *)(intptr_t)real_quick_island();
}

// ---- joints: virtual functions of dxJoint (Itanium ABI): 0, 1 destructors, 2 getInfo1, 3 getInfo2

static void *virtual_function(dJointID joint, int slot)
{
    return (*(void ***)joint)[slot];
}

enum { GET_INFO1 = 2, GET_INFO2 = 3, CONTACT_OFFSET = 168 };

ode_row_count sprag_ode_count_rows(dJointID joint)
{
    ode_row_count count = {0, 0};
    ((count_fn *)(intptr_t)virtual_function(joint, GET_INFO1))(joint, &count);
    return count;
}

bool sprag_ode_joint_acts(dJointID joint)
{
    return dJointIsEnabled(joint) && (dJointGetBody(joint, 0) || dJointGetBody(joint, 1));
}

void sprag_ode_get_rows(dJointID joint, dReal rate, dReal erp, dReal *J1, dReal *J2, dReal *rhs_cfm,
                        dReal *lo_hi, int *findex)
{
    ((rows_fn *)(intptr_t)virtual_function(joint, GET_INFO2))(joint, rate, erp, 6, J1, J2, 2,
                                                              rhs_cfm, lo_hi, findex);
}

// The copy that ODE keeps: no table of ours can outlive or miss a joint, whoever made it and
// however it goes.
const dContact *sprag_ode_contact_of(dJointID joint)
{
    return (const dContact *)(const void *)((const char *)joint + CONTACT_OFFSET);
}

void sprag_ode_joint_bodies(dJointID joint, dBodyID body[2], bool *reversed)
{
    body[0] = dJointGetBody(joint, 0);
    body[1] = dJointGetBody(joint, 1);
    *reversed = !body[0];
    if (*reversed) {
        body[0] = body[1];
        body[1] = NULL;
    }
}

// ---- one step in parts

// Stock's dense matrix of a large island is not reserved: QuickStep takes such an island if it
// comes to that.
enum { DENSE_MEMORY_MAX = 1 << 28 };

static size_t fallback_memory(dBodyID const *body, unsigned bodies, dJointID const *joint,
                              unsigned joints)
{
    size_t quick = real_quick_memory()(body, bodies, joint, joints);
    size_t dense = real_step_memory()(body, bodies, joint, joints);
    return dense <= DENSE_MEMORY_MAX && dense > quick ? dense : quick;
}

bool sprag_ode_find_islands(dWorldID world, dReal step, bool quick, ode_islands *islands)
{
    *islands = (ode_islands){0};
    return real_reallocate()(world, islands, step, quick ? real_quick_memory() : fallback_memory);
}

bool sprag_ode_step_island(dWorldID world, const ode_island *island, dReal step, bool quick)
{
    unsigned sizes[2] = {(unsigned)island->bodies, (unsigned)island->joints};
    ode_islands one = {1, sizes, island->body, island->joint};
    bool dense = !quick && real_step_memory()(island->body, sizes[0], island->joint, sizes[1]) <=
                               DENSE_MEMORY_MAX;
    if (dense) {
        return sprag_ode_process_one(world, &one, step, (void *)(intptr_t)real_step_island(),
                                     (void *)(intptr_t)step_calls());
    }
    unsigned long seed = dRandGetSeed();
    bool done = sprag_ode_process_one(world, &one, step, (void *)(intptr_t)real_quick_island(),
                                      (void *)(intptr_t)quick_calls());
    if (!quick) { // dWorldStep draws no random numbers
        dRandSetSeed(seed);
    }
    return done;
}

void sprag_ode_step_body(dBodyID body, dReal step)
{
    real_step_body()(body, step);
}

// ---- the check at start

static const char *missing_symbol(void)
{
#define NEED(function, name)                                                                       \
    {                                                                                              \
        (void *)(intptr_t)(function), name                                                         \
    }
    const struct {
        const void *address;
        const char *name;
    } needed[] = {
        NEED(real_world_step(), "dWorldStep"),
        NEED(real_quick_step(), "dWorldQuickStep"),
        NEED(real_world_destroy(), "dWorldDestroy"),
        NEED(process_islands(), "dxProcessIslands"),
        NEED(real_reallocate(), "dxReallocateWorldProcessContext"),
        NEED(real_step_body(), "dxStepBody"),
        NEED(real_step_island(), "dxStepIsland"),
        NEED(real_quick_island(), "dxQuickStepIsland"),
        NEED(real_step_memory(), "dxEstimateStepMemoryRequirements"),
        NEED(real_quick_memory(), "dxEstimateQuickStepMemoryRequirements"),
        NEED(step_calls(), "dxEstimateStepMaxCallCount"),
        NEED(quick_calls(), "dxEstimateQuickStepMaxCallCount"),
        NEED(real_contact_count(), "dxJointContact::getInfo1"),
        NEED(real_contact_rows(), "dxJointContact::getInfo2"),
        NEED(real_ball_count(), "dxJointBall::getInfo1"),
        NEED(real_ball_rows(), "dxJointBall::getInfo2"),
    };
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        if (!needed[i].address) {
            return needed[i].name;
        }
    }
    return sprag_ode_runtime_missing();
}

// A world of two bodies, a contact and a ball joint between them.
typedef struct trial {
    dWorldID world;
    dBodyID body[2];
    dJointID contact, ball;
    dContact surface; // that the contact was made from
} trial;

// ODE takes the memory in which it lists islands from here, so that no pointer of an unknown struct
// need be followed anywhere else.
enum { POOL_ROOM = 1 << 16 };

static struct {
    _Alignas(64) char byte[POOL_ROOM];
    size_t used;
} pool;

static void *pool_take(dsizeint size)
{
    size_t at = pool.used;
    size_t more = (size + 63) / 64 * 64;
    if (size > POOL_ROOM || more > POOL_ROOM - at) {
        return NULL; // too much for so small a world
    }
    pool.used += more;
    return pool.byte + at;
}

static void *pool_retake(void *old, dsizeint old_size, dsizeint size)
{
    void *wider = pool_take(size);
    return wider ? memcpy(wider, old, old_size < size ? old_size : size) : NULL;
}

static void pool_give(void *block, dsizeint size)
{
    (void)block;
    (void)size;
}

static bool is_in_pool(const void *pointer, size_t size)
{
    uintptr_t at = (uintptr_t)pointer, start = (uintptr_t)pool.byte;
    return at >= start && at <= start + pool.used && size <= start + pool.used - at;
}

static trial open_trial(void)
{
    static const dWorldStepReserveInfo exact = {sizeof exact, 1, 0};
    static const dWorldStepMemoryFunctionsInfo memory = {sizeof memory, pool_take, pool_retake,
                                                         pool_give};
    trial t;
    memset(&t, 0, sizeof t);
    t.surface.surface.mode = dContactSlip2 | dContactFDir1;
    t.surface.surface.mu = 0.3125;
    t.surface.surface.slip2 = 0.0625;
    t.surface.geom.depth = 0.4375;
    for (int k = 0; k < 3; k++) {
        t.surface.geom.pos[k] = 3 + k;
        t.surface.geom.normal[k] = k == 2;
        t.surface.fdir1[k] = k == 0;
    }
    pool.used = 0;
    t.world = real_world_create()();
    dWorldSetStepMemoryReservationPolicy(t.world, &exact);
    dWorldSetStepMemoryManager(t.world, &memory);
    for (int i = 0; i < 2; i++) {
        t.body[i] = real_body_create()(t.world);
        dBodySetPosition(t.body[i], i, 0, 0);
    }
    t.contact = real_contact_create()(t.world, NULL, &t.surface);
    t.ball = real_ball_create()(t.world, NULL);
    dJointAttach(t.contact, t.body[0], t.body[1]);
    dJointAttach(t.ball, t.body[0], t.body[1]);
    dJointSetBallAnchor(t.ball, 0, 0, 5);
    dJointSetBallParam(t.ball, dParamCFM, 0.25);
    return t;
}

static bool virtual_functions_are(dJointID joint, count_fn *count, rows_fn *rows)
{
    return virtual_function(joint, GET_INFO1) == (void *)(intptr_t)count &&
           virtual_function(joint, GET_INFO2) == (void *)(intptr_t)rows;
}

static bool contact_is_at_its_place(const trial *t)
{
    const dContact *kept = sprag_ode_contact_of(t->contact), *made = &t->surface;
    return kept->surface.mode == made->surface.mode && kept->surface.mu == made->surface.mu &&
           kept->surface.slip2 == made->surface.slip2 && kept->geom.depth == made->geom.depth &&
           !memcmp(kept->geom.pos, made->geom.pos, 3 * sizeof(dReal)) &&
           !memcmp(kept->geom.normal, made->geom.normal, 3 * sizeof(dReal)) &&
           !memcmp(kept->fdir1, made->fdir1, 3 * sizeof(dReal));
}

static bool is_one_of(const void *found, const void *a, const void *b)
{
    return found == a || found == b;
}

// What is longer than we know is written into the room behind.
static bool islands_are_laid_out(const trial *t)
{
    struct {
        ode_islands islands;
        char behind[256];
    } found;
    memset(&found, 0, sizeof found);
    static const char zero[sizeof found.behind];
    const ode_islands *is = &found.islands;
    return real_reallocate()(t->world, &found.islands, 0.01, real_quick_memory()) &&
           !memcmp(found.behind, zero, sizeof zero) && is->count == 1 &&
           is_in_pool(is->sizes, 2 * sizeof *is->sizes) &&
           is_in_pool(is->bodies, 2 * sizeof *is->bodies) &&
           is_in_pool(is->joints, 2 * sizeof *is->joints) && is->sizes[0] == 2 &&
           is->sizes[1] == 2 && is_one_of(is->bodies[0], t->body[0], t->body[1]) &&
           is_one_of(is->bodies[1], t->body[0], t->body[1]) &&
           is_one_of(is->joints[0], t->contact, t->ball) &&
           is_one_of(is->joints[1], t->contact, t->ball);
}

static bool counts_are_laid_out(const trial *t)
{
    unsigned char count[2][64] = {{0}};
    static const unsigned char three[64] = {3, 3}, contact[64] = {3, 0};
    real_ball_count()(t->ball, (ode_row_count *)count[0]);
    real_contact_count()(t->contact, (ode_row_count *)count[1]);
    return !memcmp(count[0], three, sizeof three) && !memcmp(count[1], contact, sizeof contact);
}

// The ball joint holds the point (0, 0, 5) of both bodies: rows e, -[r]x and -e, [r]x.
static bool rows_are_laid_out(const trial *t)
{
    enum { ROOM = 64, LEFT = 7 }; // what must not be touched keeps its 7
    static const dReal J1[18] = {1, 0, 0, 0, 5, 0, 0, 1, 0, -5, 0, 0, 0, 0, 1, 0, 0, 0};
    static const dReal J2[18] = {-1, 0, 0, 0, -5, 0, 0, -1, 0, 5, 0, 1, 0, 0, -1, 0, -1, 0};
    dReal row[2][ROOM] = {{0}}, rhs_cfm[ROOM], lo_hi[ROOM];
    int findex[ROOM];
    for (int i = 0; i < ROOM; i++) {
        row[0][i] = row[1][i] = i < 18 ? 0 : LEFT;
        rhs_cfm[i] = lo_hi[i] = LEFT;
        findex[i] = LEFT;
    }
    sprag_ode_get_rows(t->ball, 100, 0.5, row[0], row[1], rhs_cfm, lo_hi, findex);
    bool good = rhs_cfm[1] == 0.25; // the joint's own
    for (int i = 0; i < ROOM; i++) {
        bool is_cfm = i < 6 && i % 2;
        good &= row[0][i] == (i < 18 ? J1[i] : LEFT) && row[1][i] == (i < 18 ? J2[i] : LEFT);
        good &= rhs_cfm[i] == (i >= 6 ? LEFT : is_cfm ? 0.25 : 0) || (is_cfm && rhs_cfm[i] == LEFT);
        good &= lo_hi[i] == LEFT && findex[i] == LEFT;
    }
    return good;
}

// The contact's normal pushes only; its friction is 0.3125 either way.
static bool bounds_are_laid_out(const trial *t)
{
    static const dReal known[6] = {0, dInfinity, -0.3125, 0.3125, -0.3125, 0.3125};
    dReal J[2][64], rhs_cfm[64], lo_hi[64] = {0};
    int findex[64];
    sprag_ode_count_rows(t->contact); // which getInfo2 goes by
    sprag_ode_get_rows(t->contact, 100, 0.5, J[0], J[1], rhs_cfm, lo_hi, findex);
    for (int i = 0; i < 6; i++) {
        if (lo_hi[i] != known[i]) {
            return false;
        }
    }
    return true;
}

static bool bodies_are_stepped(const trial *t)
{
    dBodySetLinearVel(t->body[1], 2, 0, 0);
    real_step_body()(t->body[1], 0.25);
    return dBodyGetPosition(t->body[1])[0] == 1.5;
}

static const char *wrong_layout(void)
{
    trial t = open_trial();
    const char *wrong = NULL;
    if (!virtual_functions_are(t.contact, real_contact_count(), real_contact_rows()) ||
        !virtual_functions_are(t.ball, real_ball_count(), real_ball_rows())) {
        wrong = "the known virtual functions of dxJoint";
    } else if (!contact_is_at_its_place(&t)) {
        wrong = "the known layout of dxJointContact";
    } else if (!islands_are_laid_out(&t)) {
        wrong = "the known layout of dxWorldProcessIslandsInfo";
    } else if (!counts_are_laid_out(&t)) {
        wrong = "the known layout of dxJoint::Info1";
    } else if (!rows_are_laid_out(&t) || !bounds_are_laid_out(&t)) {
        wrong = "the known rows of getInfo2";
    } else if (!bodies_are_stepped(&t)) {
        wrong = "the known dxStepBody";
    } else {
        sprag_ode_check_threads(t.world);
        sprag_ode_check_callback(t.body[0], real_set_moved_callback());
    }
    sprag_ode_world_destroy(t.world);
    return wrong;
}

static const char *unsupported;

static void check(void)
{
    unsupported = !real_is_configured()                           ? "dCheckConfiguration"
                  : !real_is_configured()("ODE_double_precision") ? "double precision"
                                                                  : missing_symbol();
    if (!unsupported) {
        unsupported = wrong_layout();
    }
}

const char *sprag_ode_unsupported(void)
{
    static ode_once once;
    sprag_ode_once(&once, check);
    return unsupported;
}

// ---- spaces and heightfields

dGeomID sprag_ode_listed_geom(dSpaceID space, int index)
{
    return real_listed_geom() ? real_listed_geom()(space, index) : NULL;
}

bool sprag_ode_has_heights(void)
{
    return real_height();
}

dReal sprag_ode_height(dHeightfieldDataID data, int x, int z)
{
    return real_height()(data, x, z);
}
