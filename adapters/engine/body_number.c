// ODE's lists of the bodies and joints of a world, from the newest to the oldest, which no function
// of ODE reads; and the number of a body in the order of creation, to name it in messages.
#include "ode.h"

#include <stdatomic.h>

// dxBody and dxJoint start with dObject, which has virtual functions before these.
typedef struct object_link {
    dWorldID world;
    const void *next; // the next older one of the world; NULL: this is the oldest one
} object_link;

// Their places in bytes. In Webots' fork another world comes first.
static const size_t offsets[] = {8, 16};

// A world points to its newest body and joint within so many words from its start.
enum { WORLD_WORDS = 16 };

static _Atomic(size_t) offset;                    // of offsets; 0: unknown
static atomic_int newest_word, newest_joint_word; // of those pointers, from 1; 0: unknown

static const object_link *link_of(const void *object, size_t at)
{
    return (const object_link *)(const void *)((const char *)object + at);
}

// The word of a world that points to an object, from 1: the first one before 0.13, whose worlds
// have no virtual functions. 0: none.
static int word_of(dWorldID world, const void *object)
{
    int word = 0;
    while (word < WORLD_WORDS && ((void *const *)(const void *)world)[word] != object) {
        word++;
    }
    return word < WORLD_WORDS ? word + 1 : 0;
}

int sprag_ode_body_number(dBodyID body)
{
    int number = 0;
    if (offset) {
        for (const void *b = body; b; b = link_of(b, offset)->next) {
            number++;
        }
    }
    return number;
}

dBodyID sprag_ode_newest_body(dWorldID world)
{
    return newest_word ? ((dBodyID const *)(const void *)world)[newest_word - 1] : NULL;
}

dBodyID sprag_ode_older_body(dBodyID body)
{
    return (dBodyID)(uintptr_t)link_of(body, offset)->next;
}

dJointID sprag_ode_newest_joint(dWorldID world)
{
    return newest_joint_word ? ((dJointID const *)(const void *)world)[newest_joint_word - 1]
                             : NULL;
}

dJointID sprag_ode_older_joint(dJointID joint)
{
    return (dJointID)(uintptr_t)link_of(joint, offset)->next;
}

bool sprag_ode_lists_are_known(void)
{
    return newest_word && newest_joint_word;
}

void sprag_ode_check_joint_list(dJointID older, dJointID newer)
{
    newest_joint_word = 0;
    if (offset) {
        const object_link *a = link_of(older, offset), *b = link_of(newer, offset);
        bool known = a->world == b->world && b->next == older && !a->next;
        newest_joint_word = known ? word_of(a->world, newer) : 0;
    }
}

void sprag_ode_check_body_list(dBodyID older, dBodyID newer)
{
    dWorldID world = dBodyGetWorld(older);
    offset = 0;
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets && !offset; i++) {
        const object_link *a = link_of(older, offsets[i]), *b = link_of(newer, offsets[i]);
        bool known = a->world == world && b->world == world && b->next == older && !a->next;
        offset = known ? offsets[i] : 0;
    }
    newest_word = offset ? word_of(world, newer) : 0;
}
