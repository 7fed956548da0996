// Forces of a group -> joint feedback, and guesses for the next step.
#include "frame_run.h"

#include "linalg.h"

// Two geoms may have several pairs, of triangles; their forces add up.
static void write_pair_feedback(const group *g)
{
    double rate = 1 / g->s->a->input.step;
    for (int i = 0; i < g->frame.pairs; i++) {
        if (!g->frame.pair[i].wants_impulse) {
            continue;
        }
        pair_answer *answer = step_answer_for(g->s, g->source[i]);
        dBodyID body[2];
        bool reversed;
        sprag_ode_joint_bodies(answer->joint, body, &reversed);
        bool swapped = body[0] != g->source[i]->side[0]->body;
        for (int side = 0; side < 2; side++) {
            add_scaled(answer->force[side], rate, g->frame.pair[i].impulse[side != swapped], 6);
        }
        sprag_ode_feedback_set(answer->joint, (const double(*)[6])answer->force);
    }
}

// The feedback of a pair is that of its first contact joint; the others get zero.
static void clear_contacts(const group *g, const members *m)
{
    const int *of = sorted_of(&m->joints, g->leader);
    for (int i = 0; i < sorted_count(&m->joints, g->leader); i++) {
        dJointID joint = g->s->a->input.islands->joints[of[i]];
        if (dJointGetType(joint) == dJointTypeContact) {
            sprag_ode_feedback_clear(joint);
        }
    }
}

// If several joints share a dJointFeedback, the last one that is written here remains.
static void write_feedback(const group *g)
{
    for (int j = 0; j < g->joints; j++) {
        sprag_ode_feedback_set(g->joint[j], (const double(*)[6])g->joint_wrench[j]);
    }
    for (int i = 0; i < g->frame.contacts; i++) {
        sprag_ode_feedback_set(g->contact_joint[i], (const double(*)[6])g->contact_wrench[i]);
    }
    write_pair_feedback(g);
}

// s, of one of its bodies that move.
static double lag_of(const group *g, dJointID joint)
{
    double lag = 0;
    for (int side = 0; side < 2; side++) {
        const body_state *b = step_body_of(g->s, dJointGetBody(joint, side));
        lag = b ? fmax(lag, g->frame.body[b->local].lag) : lag;
    }
    return lag;
}

static void remember_rows(const group *g)
{
    for (int j = 0; j < g->joints; j++) {
        const known_forces *known = &g->known[j];
        const double lag = lag_of(g, g->joint[j]);
        for (int row = 0; row < known->rows; row++) {
            sprag_ode_warm_start_store_row(g->s->a->input.warm_start, g->joint[j], row,
                                           known->force[row], lag);
        }
    }
}

static void remember_integrator_step(const group *g)
{
    double step = g->frame.integrator_step;
    if (step > 0) {
        sprag_ode_warm_start_store_integrator_step(g->s->a->input.warm_start, g->state[0]->id,
                                                   step);
    }
}

static void report_active_gaps(const group *g)
{
    const ode_advance *a = g->s->a;
    for (int i = 0; i < g->frame.pairs && a->calls.active_across_gap; i++) {
        const sprag_pair_memory *memory = g->frame.pair[i].memory;
        if (memory->active && memory->reach > a->input.reach) {
            a->calls.active_across_gap(a->calls.data, g->source[i], memory->reach);
        }
    }
}

void group_write_forces(const group *g, const members *m)
{
    report_active_gaps(g);
    clear_contacts(g, m);
    write_feedback(g);
    remember_rows(g);
    remember_integrator_step(g);
    sprag_ode_warm_start_store_group(g->s->a->input.warm_start, g->state[0]->id, &g->frame.memory);
}
