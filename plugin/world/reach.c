#include "reach.h"

#include <math.h>

#include "frame_state.h"
#include "plugin_constants.h"

double reach_look_ahead(const world_state *w, double fastest)
{
    dVector3 gravity;
    double h = w->statistics.step;
    if (w->settings.callbacks != CALLBACKS_BEFORE) {
        return 0;
    }
    dWorldGetGravity(w->id, gravity);
    double fall = sqrt(dCalcVectorDot3(gravity, gravity)) * h;
    return 2 * (LOOK_AHEAD_SPEED * fastest + LOOK_AHEAD_FALL * fall) * h;
}

static double look_ahead(const world_state *w)
{
    return w->frame ? w->frame->look_ahead : 0;
}

double reach_largest(const world_state *w)
{
    double distant = w->frame ? w->frame->farthest_distant : 0;
    return fmax(w->settings.advance.epsilon, fmax(distant, look_ahead(w)));
}

double reach_of_pair(const world_state *w, dGeomID a, dGeomID b)
{
    bool distant =
        w->frame && sprag_ode_set_find(&w->frame->distant, sprag_ode_pair_key(a, b, NULL)) >= 0;
    return fmax(w->settings.advance.epsilon, distant ? reach_largest(w) : look_ahead(w));
}
