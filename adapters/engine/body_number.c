// The number of a body in the order of creation, to name it in messages. ODE lists the bodies of a
// world from the newest to the oldest and offers no function that reads the list.
#include "ode.h"

#include <stdatomic.h>

// dxBody starts with dObject.
typedef struct body_head {
    const void *virtual_functions;
    dWorldID world;
    const struct body_head *next; // the next older body of the world; NULL: this is the oldest one
} body_head;

static atomic_bool list_is_known;

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

void sprag_ode_check_body_list(dBodyID older, dBodyID newer)
{
    const body_head *a = body_head_of(older), *b = body_head_of(newer);
    dWorldID world = dBodyGetWorld(older);
    list_is_known = a->world == world && b->world == world && b->next == a && !a->next;
}
