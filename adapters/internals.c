// The exported internals of ODE 0.16, by their mangled names, and the check that they are what we
// know. Every reference is weak: another ODE leaves it NULL and is passed through untouched,
// instead of failing to load. One step is two calls of them: find the islands, step the islands.
#define _GNU_SOURCE
#include "adapters/ode.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#define WEAK(mangled) __asm__(mangled) __attribute__((weak))

typedef size_t estimate_fn(dBodyID const *, unsigned, dJointID const *, unsigned);
typedef bool process_fn(dWorldID, const ode_islands *, dReal, void *, void *);
typedef void count_fn(dJointID, ode_row_count *);
typedef void rows_fn(dJointID, dReal, dReal, int, dReal *, dReal *, int, dReal *, dReal *, int *);

#define PROCESS_ISLANDS                                                                            \
    "_Z16dxProcessIslandsP7dxWorldRK25dxWorldProcessIslandsInfodPFvPK30"                           \
    "dxStepperProcessingCallContextEPFjjjE"

extern bool reallocate(dWorldID, ode_islands *, dReal, estimate_fn *)
    WEAK("_Z31dxReallocateWorldProcessContextP7dxWorldR25dxWorldProcessIslandsInfodPFmPKP6dxBodyjPK"
         "P7dxJointjE");
extern void step_body(dBodyID, dReal) WEAK("_Z10dxStepBodyP6dxBodyd");
extern void step_island(void *) WEAK("_Z12dxStepIslandPK30dxStepperProcessingCallContext");
extern void quick_island(void *) WEAK("_Z17dxQuickStepIslandPK30dxStepperProcessingCallContext");
extern estimate_fn step_memory WEAK("_Z32dxEstimateStepMemoryRequirementsPKP6dxBodyjPKP7dxJointj");
extern estimate_fn
    quick_memory WEAK("_Z37dxEstimateQuickStepMemoryRequirementsPKP6dxBodyjPKP7dxJointj");
extern unsigned step_calls(unsigned, unsigned) WEAK("_Z26dxEstimateStepMaxCallCountjj");
extern unsigned quick_calls(unsigned, unsigned) WEAK("_Z31dxEstimateQuickStepMaxCallCountjj");
extern count_fn contact_count WEAK("_ZN14dxJointContact8getInfo1EPN7dxJoint5Info1E");
extern rows_fn contact_rows WEAK("_ZN14dxJointContact8getInfo2EddiPdS0_iS0_S0_Pi");
extern count_fn ball_count WEAK("_ZN11dxJointBall8getInfo1EPN7dxJoint5Info1E");
extern rows_fn ball_rows WEAK("_ZN11dxJointBall8getInfo2EddiPdS0_iS0_S0_Pi");

// ---- the real functions behind those that we stand in for

#ifdef SPRAG_WRAP // in the archive: __real_ is what the linker's --wrap names them, if it was asked
                  // to
#define REAL_SYMBOL(type, name, symbol)                                                            \
    extern type wrapped_##name WEAK("__real_" symbol);                                             \
    extern type plain_##name WEAK(symbol);                                                         \
    static type *real_##name(void)                                                                 \
    {                                                                                              \
        return wrapped_##name ? wrapped_##name : plain_##name;                                     \
    }
#else // preloaded or linked before ODE: the next one in the order of look-up
static void *next_symbol(const char *symbol)
{
    void *found = dlsym(RTLD_NEXT, symbol);
    if (!found) { // ODE may have been loaded with local scope, as Python does
        void *ode = dlopen("libode.so.8", RTLD_LAZY | RTLD_NOLOAD);
        found = ode ? dlsym(ode, symbol) : NULL;
        if (ode) {
            dlclose(ode);
        }
    }
    return found;
}

#define REAL_SYMBOL(type, name, symbol)                                                            \
    static type *real_##name(void)                                                                 \
    {                                                                                              \
        static _Atomic(void *) found;                                                              \
        if (!found) {                                                                              \
            found = next_symbol(symbol);                                                           \
        }                                                                                          \
        return (type *)(intptr_t)found;                                                            \
    }
#endif

typedef int world_step_fn(dWorldID, dReal);
typedef void world_fn(dWorldID);

REAL_SYMBOL(process_fn, process_islands, PROCESS_ISLANDS)
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

REAL_SYMBOL(world_create_fn, world_create, "dWorldCreate")
REAL_SYMBOL(body_create_fn, body_create, "dBodyCreate")
REAL_SYMBOL(contact_create_fn, contact_create, "dJointCreateContact")
REAL_SYMBOL(joint_create_fn, ball_create, "dJointCreateBall")

int sprag_ode_world_step(dWorldID world, dReal step, bool quick)
{
    return quick ? real_quick_step()(world, step) : real_world_step()(world, step);
}

void sprag_ode_world_destroy(dWorldID world)
{
    real_world_destroy()(world);
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

void sprag_ode_override_collider(int i, int j, dColliderFn *collider)
{
    if (i >= 0 && i < dGeomNumClasses && j >= 0 && j < dGeomNumClasses) {
        overridden[i] |= 1u << j;
        overridden[j] |= 1u << i;
    }
    real_override()(i, j, collider);
}

bool sprag_ode_is_overridden(dGeomID a, dGeomID b)
{
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
    return real_process_islands()(world, islands, step, stepper, max_calls);
}

bool sprag_ode_is_quick_stepper(void *stepper)
{
    return stepper == (void *)(intptr_t)quick_island;
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
    size_t quick = quick_memory(body, bodies, joint, joints);
    size_t dense = step_memory(body, bodies, joint, joints);
    return dense <= DENSE_MEMORY_MAX && dense > quick ? dense : quick;
}

bool sprag_ode_find_islands(dWorldID world, dReal step, bool quick, ode_islands *islands)
{
    *islands = (ode_islands){0};
    return reallocate(world, islands, step, quick ? quick_memory : fallback_memory);
}

bool sprag_ode_step_island(dWorldID world, const ode_island *island, dReal step, bool quick)
{
    unsigned sizes[2] = {(unsigned)island->bodies, (unsigned)island->joints};
    ode_islands one = {1, sizes, island->body, island->joint};
    bool dense =
        !quick && step_memory(island->body, sizes[0], island->joint, sizes[1]) <= DENSE_MEMORY_MAX;
    if (dense) {
        return sprag_ode_process_one(world, &one, step, (void *)(intptr_t)step_island,
                                     (void *)(intptr_t)step_calls);
    }
    unsigned long seed = dRandGetSeed();
    bool done = sprag_ode_process_one(world, &one, step, (void *)(intptr_t)quick_island,
                                      (void *)(intptr_t)quick_calls);
    if (!quick) { // dWorldStep draws no random numbers
        dRandSetSeed(seed);
    }
    return done;
}

void sprag_ode_step_body(dBodyID body, dReal step)
{
    step_body(body, step);
}

// ---- the check at start

static const char *missing_symbol(void)
{
    const struct {
        const void *address;
        const char *name;
    } needed[] = {
        {(void *)(intptr_t)real_world_step(), "dWorldStep"},
        {(void *)(intptr_t)real_quick_step(), "dWorldQuickStep"},
        {(void *)(intptr_t)real_world_destroy(), "dWorldDestroy"},
        {(void *)(intptr_t)real_process_islands(), "dxProcessIslands"},
        {(void *)(intptr_t)reallocate, "dxReallocateWorldProcessContext"},
        {(void *)(intptr_t)step_body, "dxStepBody"},
        {(void *)(intptr_t)step_island, "dxStepIsland"},
        {(void *)(intptr_t)quick_island, "dxQuickStepIsland"},
        {(void *)(intptr_t)step_memory, "dxEstimateStepMemoryRequirements"},
        {(void *)(intptr_t)quick_memory, "dxEstimateQuickStepMemoryRequirements"},
        {(void *)(intptr_t)step_calls, "dxEstimateStepMaxCallCount"},
        {(void *)(intptr_t)quick_calls, "dxEstimateQuickStepMaxCallCount"},
        {(void *)(intptr_t)contact_count, "dxJointContact::getInfo1"},
        {(void *)(intptr_t)contact_rows, "dxJointContact::getInfo2"},
        {(void *)(intptr_t)ball_count, "dxJointBall::getInfo1"},
        {(void *)(intptr_t)ball_rows, "dxJointBall::getInfo2"},
    };
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        if (!needed[i].address) {
            return needed[i].name;
        }
    }
    return NULL;
}

static bool virtual_functions_are(dJointID joint, count_fn *count, rows_fn *rows)
{
    return virtual_function(joint, GET_INFO1) == (void *)(intptr_t)count &&
           virtual_function(joint, GET_INFO2) == (void *)(intptr_t)rows;
}

static bool contact_is_at_its_place(dJointID joint, const dContact *contact)
{
    const dContact *kept = sprag_ode_contact_of(joint);
    return kept->surface.mode == contact->surface.mode && kept->surface.mu == contact->surface.mu &&
           kept->surface.slip2 == contact->surface.slip2 &&
           kept->geom.depth == contact->geom.depth &&
           !memcmp(kept->geom.pos, contact->geom.pos, 3 * sizeof(dReal)) &&
           !memcmp(kept->geom.normal, contact->geom.normal, 3 * sizeof(dReal)) &&
           !memcmp(kept->fdir1, contact->fdir1, 3 * sizeof(dReal));
}

static bool islands_are_laid_out(dWorldID world, const dBodyID body[2], const dJointID joint[2])
{
    ode_islands found = {0};
    return reallocate(world, &found, 0.01, quick_memory) && found.count == 1 &&
           found.sizes[0] == 2 && found.sizes[1] == 2 &&
           (found.bodies[0] == body[0] || found.bodies[0] == body[1]) &&
           (found.joints[0] == joint[0] || found.joints[0] == joint[1]);
}

static const char *wrong_layout(void)
{
    dContact contact;
    memset(&contact, 0, sizeof contact);
    contact.surface.mode = dContactSlip2 | dContactFDir1;
    contact.surface.mu = 0.3125;
    contact.surface.slip2 = 0.0625;
    contact.geom.depth = 0.4375;
    for (int k = 0; k < 3; k++) {
        contact.geom.pos[k] = 3 + k;
        contact.geom.normal[k] = 7 + k;
        contact.fdir1[k] = 11 + k;
    }
    dWorldID world = real_world_create()();
    dBodyID body[2] = {real_body_create()(world), real_body_create()(world)};
    dJointID joint[2] = {real_contact_create()(world, NULL, &contact),
                         real_ball_create()(world, NULL)};
    dJointAttach(joint[0], body[0], body[1]);
    dJointAttach(joint[1], body[0], body[1]);
    const char *wrong = NULL;
    if (!virtual_functions_are(joint[0], contact_count, contact_rows) ||
        !virtual_functions_are(joint[1], ball_count, ball_rows)) {
        wrong = "the known virtual functions of dxJoint";
    } else if (!contact_is_at_its_place(joint[0], &contact)) {
        wrong = "the known layout of dxJointContact";
    } else if (!islands_are_laid_out(world, body, joint)) {
        wrong = "the known layout of dxWorldProcessIslandsInfo";
    } else {
        sprag_ode_check_threads(world);
    }
    sprag_ode_world_destroy(world);
    return wrong;
}

static const char *unsupported;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void check(void)
{
    unsupported =
        !dCheckConfiguration("ODE_double_precision") ? "double precision" : missing_symbol();
    if (!unsupported) {
        unsupported = wrong_layout();
    }
}

const char *sprag_ode_unsupported(void)
{
    pthread_once(&once, check);
    return unsupported;
}
