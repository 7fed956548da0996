// The check at start-up: is the running ODE laid out as sprag knows it? It asks a world of its own,
// whose bodies and joints have known answers.
#include "layout.h"
#include "symbols.h"

#include <stdint.h>
#include <string.h>

// A world of two bodies, a contact and a ball joint between them.
typedef struct trial {
    dWorldID world;
    dBodyID body[2];
    dJointID contact, ball;
    dContact surface; // that the contact was made from
} trial;

// ODE lists the islands of this world in memory from here. So the check can tell whether a pointer
// in an unknown struct points to that list before it follows the pointer.
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
        return NULL; // more than so small a world needs
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
    t.world = sprag_real_world_create()();
    dWorldSetStepMemoryReservationPolicy(t.world, &exact);
    dWorldSetStepMemoryManager(t.world, &memory);
    for (int i = 0; i < 2; i++) {
        t.body[i] = sprag_real_body_create()(t.world);
        dBodySetPosition(t.body[i], i, 0, 0);
    }
    t.contact = sprag_real_contact_create()(t.world, NULL, &t.surface);
    t.ball = sprag_real_ball_create()(t.world, NULL);
    dJointAttach(t.contact, t.body[0], t.body[1]);
    dJointAttach(t.ball, t.body[0], t.body[1]);
    dJointSetBallAnchor(t.ball, 0, 0, 5);
    dJointSetBallParam(t.ball, dParamCFM, 0.25);
    return t;
}

static bool has_virtual_functions(dJointID joint, count_fn *count, rows_fn *rows)
{
    return sprag_ode_virtual_function(joint, ODE_GET_INFO1) == (void *)(intptr_t)count &&
           sprag_ode_virtual_function(joint, ODE_GET_INFO2) == (void *)(intptr_t)rows;
}

static bool contact_is_laid_out(const trial *t)
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

// If ODE's struct is longer than ode_islands, ODE writes into the bytes behind it.
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
    sprag_real_ball_count()(t->ball, (ode_row_count *)count[0]);
    sprag_real_contact_count()(t->contact, (ode_row_count *)count[1]);
    return !memcmp(count[0], three, sizeof three) && !memcmp(count[1], contact, sizeof contact);
}

// The ball joint connects the bodies at (0, 0, 5): its rows are e, -[r]x and -e, [r]x.
static bool rows_are_laid_out(const trial *t)
{
    enum { ROOM = 64, LEFT = 7 }; // LEFT: entries that ODE must not write keep this value
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
    sprag_ode_count_rows(t->contact); // getInfo2 uses what getInfo1 has stored
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
    sprag_real_step_body()(t->body[1], 0.25);
    return dBodyGetPosition(t->body[1])[0] == 1.5;
}

// Does a threading implementation that is set appear in the head of the world, and the wait of its
// steps after the first search for islands?
static bool world_head_is_laid_out(dWorldID world)
{
    const ode_world_head *head = sprag_ode_world_head(world);
    dThreadingImplementationID alone = dThreadingAllocateSelfThreadedImplementation();
    const dThreadingFunctionsInfo *functions =
        alone ? dThreadingImplementationGetFunctions(alone) : NULL;
    bool none = !head->functions && !head->implementation, known = false;
    if (functions) {
        ode_islands found;
        dWorldSetStepThreadingImplementation(world, functions, alone);
        known = none && head->functions == functions && head->implementation == alone &&
                !head->wait && sprag_ode_find_islands(world, 1, true, &found) && head->wait;
        dWorldSetStepThreadingImplementation(world, NULL, NULL);
    }
    dThreadingFreeImplementation(alone);
    return known;
}

static void ignore_move(dBodyID body)
{
    (void)body;
}

static bool moved_callback_is_laid_out(dBodyID body)
{
    bool none = !sprag_ode_moved_callback(body);
    sprag_real_set_moved_callback()(body, ignore_move);
    bool known = none && sprag_ode_moved_callback(body) == ignore_move;
    sprag_real_set_moved_callback()(body, NULL);
    return known;
}

static const char *wrong_layout(void)
{
    trial t = open_trial();
    const char *wrong = NULL;
    if (!has_virtual_functions(t.contact, sprag_real_contact_count(), sprag_real_contact_rows()) ||
        !has_virtual_functions(t.ball, sprag_real_ball_count(), sprag_real_ball_rows())) {
        wrong = "the known virtual functions of dxJoint";
    } else if (!contact_is_laid_out(&t)) {
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
        sprag_ode_set_known_layout(world_head_is_laid_out(t.world),
                                   moved_callback_is_laid_out(t.body[0]));
        sprag_ode_check_body_list(t.body[0], t.body[1]);
        sprag_ode_check_joint_list(t.contact, t.ball);
    }
    sprag_ode_world_destroy(t.world);
    return wrong;
}

static const char *unsupported; // the first thing that is missing; NULL: nothing

static void check(void)
{
    unsupported = !sprag_real_is_configured()                           ? "dCheckConfiguration"
                  : !sprag_real_is_configured()("ODE_double_precision") ? "double precision"
                                                                        : sprag_real_missing();
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
