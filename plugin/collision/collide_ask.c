#include "collide_ask.h"

#include <ctype.h>
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <unistd.h>

#include "collide_destroy.h"
#include "collide_thread.h"
#include "warn.h"

void ask_before_step(world_state *w, const char *why)
{
    w->settings.callbacks = CALLBACKS_BEFORE;
    if (w->settings.method->keeps_distance && warn_first(w, WARN_CALLBACK)) {
        warn(w, NULL,
             "the collision callback cannot be called within a step, because %s. It is called "
             "before the step for all geoms that may touch, as under advance.callbacks=before.",
             why);
    }
}

// A piece of memory: from `lowest` up to `end`. Nothing else is mapped from `free` up to it, where
// a stack may grow.
typedef struct mapping {
    const char *free, *lowest, *end;
} mapping;

// The one that holds an address; where the system does not tell, the usual length of a stack below
// it. pthread_getattr_np takes memory, and crashes where there is none.
static mapping mapping_of(const void *address)
{
    enum { USUAL = 8 << 20 }; // bytes
    char text[1024];
    uintptr_t end[2] = {0}, below = 0;
    const char *usual = (const char *)address - USUAL;
    int number = 0, file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    ssize_t length = 0;
    bool is_found = false;
    while (file >= 0 && !is_found && (length = read(file, text, sizeof text)) > 0) {
        for (ssize_t i = 0; i < length && !is_found; i++) { // lines "start-end ..." in hexadecimal
            unsigned char c = (unsigned char)text[i];
            if (c == '\n') {
                number = 0;
                below = end[1];
                end[0] = end[1] = 0;
            } else if (number < 2 && isxdigit(c)) {
                end[number] =
                    16 * end[number] + (uintptr_t)(isdigit(c) ? c - '0' : tolower(c) - 'a' + 10);
            } else if (number < 2 && ++number == 2) {
                is_found = end[0] <= (uintptr_t)address && (uintptr_t)address < end[1];
            }
        }
    }
    if (file >= 0) {
        close(file);
    }
    return is_found ? (mapping){(const char *)below, (const char *)end[0], (const char *)end[1]}
                    : (mapping){usual, usual, (const char *)UINTPTR_MAX};
}

// Whether data is a local variable of a function that has returned: then it lies on the stack below
// the frame of the step. The stack is looked up once, and again when it may have grown, as that of
// the main thread does, or is another one.
static bool is_returned_local(const void *data)
{
    static _Thread_local mapping stack;
    const char *at = data, *frame = collide_now.step_frame;
    if (!is_frame_inside(data, frame)) {
        return false;
    }
    if (frame < stack.lowest || frame >= stack.end || (at >= stack.free && at < stack.lowest)) {
        stack = mapping_of(frame);
    }
    return at >= stack.lowest;
}

static void ask_before_returned_local(world_state *w)
{
    ask_before_step(w, "the data that the program gave to dSpaceCollide or dSpaceCollide2 is a "
                       "local variable of a function that has returned");
}

void collide_check_data(world_state *w)
{
    int calls = 0;
    const ode_collision *call = w->record ? sprag_ode_recorded(w->record, &calls) : NULL;
    for (int i = 0; call && i < calls && w->settings.callbacks == CALLBACKS_WITHIN; i++) {
        if (is_returned_local(call[i].data)) {
            ask_before_returned_local(w);
        }
    }
}

static bool is_contact_of(dJointID joint, const ode_pair *pair)
{
    if (dJointGetType(joint) != dJointTypeContact) {
        return false;
    }
    const dContactGeom *g = sprag_ode_contact_geom(joint);
    dGeomID a = pair->side[0]->named, b = pair->side[1]->named;
    return (g->g1 == a && g->g2 == b) || (g->g1 == b && g->g2 == a);
}

// Contacts of a pair among the newest joints of a body, which ODE lists first. Programs may read
// the feedback of each after the step, which only writes that of the first one, and only if forces
// act.
static int count_contacts(dBodyID body, int newest, const ode_pair *pair, dJointID *first)
{
    int count = 0;
    for (int i = 0; i < newest; i++) {
        dJointID joint = dBodyGetJoint(body, i);
        if (joint && !collide_will_destroy(joint) && is_contact_of(joint, pair)) {
            sprag_ode_feedback_clear(joint);
            *first = joint;
            count++;
        }
    }
    return count;
}

static bool is_destroyed(const ode_pair *pair)
{
    bool any = false;
    for (int side = 0; side < 2; side++) {
        any |= collide_will_destroy(pair->side[side]->id) ||
               collide_will_destroy(pair->side[side]->body);
    }
    return any;
}

// The geoms that the callback of a call gets for a pair. direct: only if they are the pair itself,
// not a space that contains one of it. false: the call does not concern the pair.
static bool concerns(const ode_collision *call, const ode_pair *pair, bool direct, dGeomID given[2])
{
    dGeomID id[2] = {pair->side[0]->id, pair->side[1]->id};
    int first = pair->first;
    if (!sprag_ode_callback_pair(call, id[first], id[!first], given) &&
        !sprag_ode_callback_pair(call, id[!first], id[first], given)) {
        return false;
    }
    bool bits = (dGeomGetCategoryBits(given[0]) & dGeomGetCollideBits(given[1])) ||
                (dGeomGetCategoryBits(given[1]) & dGeomGetCollideBits(given[0]));
    return bits && direct == (!dGeomIsSpace(given[0]) && !dGeomIsSpace(given[1]));
}

// Calls the callback of one recorded call. Returns the number of new contact joints of the pair.
static int ask(const ode_collision *call, const ode_pair *pair, const dGeomID given[2],
               dJointID *first)
{
    dBodyID body = pair->side[0]->body ? pair->side[0]->body : pair->side[1]->body;
    int before = dBodyGetNumJoints(body);
    collide_now.asked_pair = pair;
    collide_now.asked_frame = __builtin_frame_address(0);
    call->callback(call->data, given[0], given[1]);
    collide_now.asked_pair = NULL;
    return is_destroyed(pair) ? 0
                              : count_contacts(body, dBodyGetNumJoints(body) - before, pair, first);
}

int collide_ask(world_state *w, const ode_pair *pair, double gap, dJointID *first)
{
    int calls = 0, joints = -1;
    const ode_collision *call = w->record ? sprag_ode_recorded(w->record, &calls) : NULL;
    *first = NULL;
    if (is_destroyed(pair)) {
        return 0;
    }
    if (is_in_step_callback(__builtin_frame_address(0)) ||
        !(pair->side[0]->body || pair->side[1]->body)) {
        return -1;
    }
    collide_now.asked_gap = gap + 1e-6 * fabs(gap) + 1e-9;
    // Calls on the geoms themselves come first: the callback then need not descend into spaces.
    for (int direct = 1; direct >= 0 && joints < 0; direct--) {
        for (int i = 0; i < calls && joints <= 0 && !is_destroyed(pair); i++) {
            dGeomID given[2];
            if (!concerns(&call[i], pair, direct, given)) {
                continue;
            }
            if (is_returned_local(call[i].data)) {
                ask_before_returned_local(w);
                continue;
            }
            joints = ask(&call[i], pair, given, first);
        }
    }
    if (joints >= 0 && !sprag_ode_record_offer(w->record, pair->side[0]->id, pair->side[1]->id)) {
        warn_of_collide_memory();
    }
    return joints;
}
