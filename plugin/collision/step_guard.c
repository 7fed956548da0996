#include "step_guard.h"

#include "collide_destroy.h"
#include "collide_thread.h"
#include "message.h"
#include "traps.h"

bool step_guard_begin(step_guard *guard, const void *frame)
{
    const void *outer = collide_now.step_frame;
    if (is_in_step_callback(frame)) {
        message_once("sprag: a collision callback that a step has called, because two geoms touch, "
                     "asks for another step. That step is not taken.");
        return false;
    }
    outer = is_frame_inside(frame, outer) ? outer : NULL;
    *guard = (step_guard){outer, outer && collide_now.within_step, traps_hold()};
    collide_now.step_frame = outer ? outer : frame;
    collide_now.within_step = guard->within_step;
    return true;
}

bool step_guard_is_within(const world_state *world, const void *frame)
{
    return is_frame_inside(frame, world->step_frame);
}

void step_guard_end(const step_guard *guard, dWorldID world)
{
    collide_now.step_frame = guard->outer_frame;
    collide_now.within_step = guard->within_step;
    world_state *w = world && world_any_is_recorded() ? world_find(world) : NULL;
    if (w && w->record) {
        sprag_ode_record_clear(w->record);
    }
    if (!collide_now.step_frame) {
        collide_destroy_waiting();
    }
    traps_release(guard->traps);
}
