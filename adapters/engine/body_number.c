// ODE's lists of the bodies and joints of a world, from the newest to the oldest, which no function
// of ODE reads; and the number of a body in the order of creation, to name it in messages.
#include "ode.h"

#include <stdatomic.h>

// dxBody and dxJoint start with dObject.
typedef struct body_head {
    const void *virtual_functions;
    dWorldID world;
    const struct body_head *next; // the next older one of the world; NULL: this is the oldest one
} body_head;

// A world points to its newest body and joint within so many words from its start.
enum { WORLD_WORDS = 16 };

static atomic_bool list_is_known;
static atomic_int newest_word, newest_joint_word; // of those pointers; 0: unknown

static const body_head *body_head_of(dBodyID body)
{
    return (const body_head *)(const void *)body;
}

int sprag_ode_body_number(dBodyID body)
{
    int number = 0;
    if (body && list_is_known) {
        for (const body_head *b = body_head_of(body); b; b = b->next) {
            number++;
        }
    }
    return number;
}

dBodyID sprag_ode_newest_body(dWorldID world)
{
    return newest_word ? ((dBodyID const *)(const void *)world)[newest_word] : NULL;
}

dBodyID sprag_ode_older_body(dBodyID body)
{
    return (dBodyID)(uintptr_t)body_head_of(body)->next;
}

dJointID sprag_ode_newest_joint(dWorldID world)
{
    return newest_joint_word ? ((dJointID const *)(const void *)world)[newest_joint_word] : NULL;
}

dJointID sprag_ode_older_joint(dJointID joint)
{
    return (dJointID)(uintptr_t)((const body_head *)(const void *)joint)->next;
}

bool sprag_ode_lists_are_known(void)
{
    return newest_word && newest_joint_word;
}

void sprag_ode_check_joint_list(dJointID older, dJointID newer)
{
    const body_head *a = (const body_head *)(const void *)older;
    const body_head *b = (const body_head *)(const void *)newer;
    bool known = a->world == b->world && b->next == a && !a->next;
    newest_joint_word = 0;
    for (int i = 1; i < WORLD_WORDS && known && !newest_joint_word; i++) {
        newest_joint_word = ((dJointID const *)(const void *)a->world)[i] == newer ? i : 0;
    }
}

void sprag_ode_check_body_list(dBodyID older, dBodyID newer)
{
    const body_head *a = body_head_of(older), *b = body_head_of(newer);
    dWorldID world = dBodyGetWorld(older);
    list_is_known = a->world == world && b->world == world && b->next == a && !a->next;
    newest_word = 0;
    for (int i = 1; i < WORLD_WORDS && list_is_known && !newest_word; i++) {
        newest_word = ((dBodyID const *)(const void *)world)[i] == newer ? i : 0;
    }
}
