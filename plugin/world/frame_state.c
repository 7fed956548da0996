#include "frame_state.h"

#include <stdlib.h>

frame_state *frame_state_make(void)
{
    frame_state *state = calloc(1, sizeof *state);
    if (state) {
        state->geometry = sprag_ode_geometry_make();
    }
    if (!state || !state->geometry) {
        frame_state_free(state);
        return NULL;
    }
    return state;
}

void frame_state_free(frame_state *state)
{
    if (state) {
        sprag_ode_geometry_free(state->geometry);
        for (int i = 0; i < 4; i++) {
            sprag_scratch_free(&state->scratch[i]);
        }
        sprag_ode_set_free(&state->distant);
        sprag_ode_set_free(&state->fluids.now);
        sprag_ode_set_free(&state->fluids.last);
        free(state->event);
        free(state->stock_rows);
        free(state);
    }
}
