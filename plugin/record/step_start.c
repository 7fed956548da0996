#include "step_start.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"

bool step_start_set(step_start *start, dWorldID world)
{
    start->bodies = start->forces = 0;
    for (dBodyID b = sprag_ode_newest_body(world); b; b = sprag_ode_older_body(b)) {
        body_start *all = array_widen(start->body, start->bodies, &start->bodies_room, sizeof *all);
        if (!all) {
            return false;
        }
        start->body = all;
        body_start *to = &start->body[start->bodies++];
        to->body = b;
        memcpy(to->position, dBodyGetPosition(b), sizeof to->position);
    }
    return true;
}

const double *step_start_place(const step_start *start, dBodyID body, int *next)
{
    for (int k = *next; k < start->bodies; k++) {
        if (start->body[k].body == body) {
            *next = k + 1;
            return start->body[k].position;
        }
    }
    return dBodyGetPosition(body);
}

// false: there is too little room. Reads no second force: f2 and t2 stay what they were.
static bool lend(step_start *start, dWorldID world)
{
    const ode_layout *layout = sprag_ode_layout();
    start->forces = 0;
    for (dJointID j = sprag_ode_newest_joint(world); j; j = sprag_ode_older_joint(j)) {
        dJointFeedback **feedback = sprag_ode_feedback_of(layout, j);
        if (!*feedback) {
            if (start->forces == start->forces_room) {
                return false;
            }
            dJointFeedback *force = &start->force[start->forces++];
            memset(force->f1, 0, sizeof force->f1);
            memset(force->t1, 0, sizeof force->t1);
            *feedback = force;
        }
    }
    return true;
}

bool step_start_lend(step_start *start, dWorldID world)
{
    while (!lend(start, world)) {
        step_start_return(start, world);
        int room = start->forces_room ? 2 * start->forces_room : 256;
        free(start->force);
        start->force = calloc((size_t)room, sizeof *start->force);
        start->forces_room = start->force ? room : 0;
        start->forces = 0;
        if (!start->force) {
            return false;
        }
    }
    return true;
}

void step_start_return(const step_start *start, dWorldID world)
{
    static const dBodyID none[2];
    const ode_layout *layout = sprag_ode_layout();
    for (dJointID j = sprag_ode_newest_joint(world); j && start->forces;
         j = sprag_ode_older_joint(j)) {
        step_start_take(start, sprag_ode_feedback_of(layout, j), none);
    }
}
