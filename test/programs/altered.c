// Another ODE: preloaded before the real one, it stands between the real one's callers and callees,
// so that all steps as ever while the struct or function that ALTERED names is not what sprag
// knows. Where that would need ODE's own code to be other, ODE finds what it expects and everyone
// else what is altered. Without ALTERED: nothing is.
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <ode/ode.h>

typedef struct islands { // dxWorldProcessIslandsInfo
    size_t count;
    const void *sizes, *bodies, *joints;
} islands;

typedef struct islands_turned {
    const void *joints, *sizes, *bodies;
    size_t count;
} islands_turned;

enum { SLOTS = 8, COUNT = 2, ROWS = 3, SURE_MAX = 4, CONTACT_OFFSET = 168, ROWS_MAX = 6 };

typedef void count_fn(dJointID, unsigned char *);
typedef void sure_max_fn(dJointID, void *);
typedef void rows_fn(dJointID, dReal, dReal, int, dReal *, dReal *, int, dReal *, dReal *, int *);
typedef void step_body_fn(dBodyID, dReal);
typedef bool reallocate_fn(dWorldID, islands *, dReal, void *);
typedef bool process_fn(dWorldID, const islands *, dReal, void *, void *);
typedef dJointID contact_fn(dWorldID, dJointGroupID, const dContact *);
typedef dJointID ball_fn(dWorldID, dJointGroupID);

#define CONTACT_COUNT "_ZN14dxJointContact8getInfo1EPN7dxJoint5Info1E"
#define CONTACT_ROWS "_ZN14dxJointContact8getInfo2EddiPdS0_iS0_S0_Pi"
#define CONTACT_SURE_MAX "_ZN14dxJointContact14getSureMaxInfoEPN7dxJoint11SureMaxInfoE"
#define BALL_COUNT "_ZN11dxJointBall8getInfo1EPN7dxJoint5Info1E"
#define BALL_ROWS "_ZN11dxJointBall8getInfo2EddiPdS0_iS0_S0_Pi"
#define STEP_BODY "_Z10dxStepBodyP6dxBodyd"
#define REALLOCATE                                                                                 \
    "_Z31dxReallocateWorldProcessContextP7dxWorldR25dxWorldProcessIslandsInfodPFmPKP6dxBodyjPKP7"  \
    "dxJointjE"
#define PROCESS                                                                                    \
    "_Z16dxProcessIslandsP7dxWorldRK25dxWorldProcessIslandsInfodPFvPK30"                           \
    "dxStepperProcessingCallContextEPFjjjE"

count_fn contact_count __asm__(CONTACT_COUNT), ball_count __asm__(BALL_COUNT);
rows_fn contact_rows __asm__(CONTACT_ROWS), ball_rows __asm__(BALL_ROWS);
step_body_fn step_body __asm__(STEP_BODY);
reallocate_fn reallocate __asm__(REALLOCATE);
process_fn process __asm__(PROCESS);

#define ODE_OWN(type, symbol) ((type *)(intptr_t)dlsym(RTLD_NEXT, symbol))

static bool is_altered(const char *what)
{
    const char *named = getenv("ALTERED");
    return named && strcmp(named, what) == 0;
}

static bool is_ode(const void *caller)
{
    Dl_info at, ode;
    return dladdr(caller, &at) && dladdr(dlsym(RTLD_NEXT, "dWorldStep"), &ode) &&
           at.dli_fbase == ode.dli_fbase;
}

#define ALTERED_FOR_OTHERS(what) (is_altered(what) && !is_ode(__builtin_return_address(0)))

// ---- contact joints: the dContact within, 8 bytes further on

static void turn_contact(dJointID joint, int by)
{
    char *contact = (char *)joint + CONTACT_OFFSET, was[sizeof(dContact)];
    if (is_altered("contact")) {
        memcpy(was, contact, sizeof was);
        for (int i = 0; i < (int)sizeof was; i++) {
            contact[(i + by + (int)sizeof was) % (int)sizeof was] = was[i];
        }
    }
}

// ---- dxJoint::Info1: its two numbers, the other way round

static void turn_count(unsigned char *count)
{
    unsigned char first = count[0];
    count[0] = count[1];
    count[1] = first;
}

void contact_count(dJointID joint, unsigned char *count)
{
    turn_contact(joint, -8);
    ODE_OWN(count_fn, CONTACT_COUNT)(joint, count);
    turn_contact(joint, 8);
    if (ALTERED_FOR_OTHERS("counts")) {
        turn_count(count);
    }
}

void ball_count(dJointID joint, unsigned char *count)
{
    ODE_OWN(count_fn, BALL_COUNT)(joint, count);
    if (ALTERED_FOR_OTHERS("counts")) {
        turn_count(count);
    }
}

static void contact_sure_max(dJointID joint, void *info)
{
    turn_contact(joint, -8);
    ODE_OWN(sure_max_fn, CONTACT_SURE_MAX)(joint, info);
    turn_contact(joint, 8);
}

// ---- getInfo2

static void turn_pairs(dReal *pair, int skip, int rows)
{
    for (int i = 0; i < rows; i++) {
        dReal first = pair[i * skip];
        pair[i * skip] = pair[i * skip + 1];
        pair[i * skip + 1] = first;
    }
}

static void turn_halves(dReal *J, int skip, int rows)
{
    for (int i = 0; i < rows; i++) {
        dReal linear[3];
        memcpy(linear, J + i * skip, sizeof linear);
        memcpy(J + i * skip, J + i * skip + 3, sizeof linear);
        memcpy(J + i * skip + 3, linear, sizeof linear);
    }
}

void contact_rows(dJointID joint, dReal rate, dReal erp, int J_skip, dReal *J1, dReal *J2,
                  int pair_skip, dReal *rhs_cfm, dReal *lo_hi, int *findex)
{
    unsigned char count[8] = {0};
    turn_contact(joint, -8);
    ODE_OWN(count_fn, CONTACT_COUNT)(joint, count);
    ODE_OWN(rows_fn, CONTACT_ROWS)
    (joint, rate, erp, J_skip, J1, J2, pair_skip, rhs_cfm, lo_hi, findex);
    turn_contact(joint, 8);
    if (ALTERED_FOR_OTHERS("bounds")) {
        turn_pairs(lo_hi, pair_skip, count[0]);
    }
}

void ball_rows(dJointID joint, dReal rate, dReal erp, int J_skip, dReal *J1, dReal *J2,
               int pair_skip, dReal *rhs_cfm, dReal *lo_hi, int *findex)
{
    ODE_OWN(rows_fn, BALL_ROWS)
    (joint, rate, erp, J_skip, J1, J2, pair_skip, rhs_cfm, lo_hi, findex);
    if (ALTERED_FOR_OTHERS("right hand sides")) {
        turn_pairs(rhs_cfm, pair_skip, 3);
    } else if (ALTERED_FOR_OTHERS("jacobians")) {
        turn_halves(J1, J_skip, 3);
        turn_halves(J2, J_skip, 3);
    } else if (ALTERED_FOR_OTHERS("second jacobians")) {
        turn_halves(J2, J_skip, 3);
    } else if (ALTERED_FOR_OTHERS("one softness")) {
        rhs_cfm[pair_skip + 1] = 0;
    } else if (ALTERED_FOR_OTHERS("indices")) {
        findex[0] = 0;
    }
}

// ---- joint types: one more before the contact, as in Gazebo's fork

dJointType dJointGetType(dJointID joint)
{
    typedef dJointType type_fn(dJointID);
    dJointType type = ODE_OWN(type_fn, "dJointGetType")(joint);
    return type >= dJointTypeSlider && ALTERED_FOR_OTHERS("joint types") ? type + 1 : type;
}

// ---- virtual functions: ours, wherever ODE's own were bound; altered: another getInfo1

static void another_count(dJointID joint, unsigned char *count)
{
    contact_count(joint, count);
}

static dJointID give_functions(dJointID joint, const void **ours, count_fn *count, rows_fn *rows,
                               sure_max_fn *sure_max)
{
    const void ***functions = (const void ***)(void *)joint;
    memcpy(ours, *functions - 2, (2 + SLOTS) * sizeof *ours); // with what is before the first
    ours[2 + COUNT] = (const void *)(intptr_t)count;
    ours[2 + ROWS] = (const void *)(intptr_t)rows;
    if (sure_max) {
        ours[2 + SURE_MAX] = (const void *)(intptr_t)sure_max;
    }
    *functions = ours + 2;
    return joint;
}

dJointID dJointCreateContact(dWorldID world, dJointGroupID group, const dContact *contact)
{
    static const void *ours[2 + SLOTS];
    dJointID joint = ODE_OWN(contact_fn, "dJointCreateContact")(world, group, contact);
    turn_contact(joint, 8);
    return give_functions(joint, ours,
                          is_altered("virtual functions") ? another_count : contact_count,
                          contact_rows, contact_sure_max);
}

dJointID dJointCreateBall(dWorldID world, dJointGroupID group)
{
    static const void *ours[2 + SLOTS];
    return give_functions(ODE_OWN(ball_fn, "dJointCreateBall")(world, group), ours, ball_count,
                          ball_rows, NULL);
}

// ---- islands, and what moves bodies: in milliseconds

bool reallocate(dWorldID world, islands *found, dReal step, void *estimate)
{
    bool done = ODE_OWN(reallocate_fn, REALLOCATE)(world, found, step, estimate);
    if (is_altered("islands")) {
        islands_turned turned = {found->joints, found->sizes, found->bodies, found->count};
        memcpy(found, &turned, sizeof turned);
    }
    return done && !ALTERED_FOR_OTHERS("search for islands");
}

bool process(dWorldID world, const islands *found, dReal step, void *stepper, void *max_calls)
{
    islands_turned turned;
    memcpy(&turned, found, sizeof turned);
    islands straight = {turned.count, turned.sizes, turned.bodies, turned.joints};
    return ODE_OWN(process_fn, PROCESS)(world, is_altered("islands") ? &straight : found, step,
                                        stepper, max_calls);
}

void step_body(dBodyID body, dReal step)
{
    ODE_OWN(step_body_fn, STEP_BODY)(body, ALTERED_FOR_OTHERS("dxStepBody") ? step / 1000 : step);
}
