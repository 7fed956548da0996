// Forces of a group -> joint feedback, and guesses for the next step.
#include "frame_run.h"
#include "linalg.h"

static void write_pair_feedback(const group *g)
{
    double rate = 1 / g->s->a->step;
    for (int i = 0; i < g->frame.pairs; i++) {
        const ode_pair *source = g->source[i];
        const ode_pair_answer *answer = sprag_ode_pair_answer_find(
            &g->s->answers, source->side[0]->geom, source->side[1]->geom);
        if (!answer || !answer->joint) {
            continue;
        }
        const sprag_pair *pair = &g->pair[i];
        double wrench[2][6] = {{0}};
        for (int side = 0; side < 2; side++) {
            add_scaled(wrench[side], rate, pair->impulse[side], 6);
        }
        sprag_ode_feedback_add_pair(answer->joint, source->side[0]->body,
                                    (const double(*)[6])wrench);
    }
}

// The feedback of a pair is that of its first contact joint; the others get zero.
static void clear_contacts(const group *g, const members *m, int leader)
{
    for (int i = 0; i < m->of[leader].joints; i++) {
        dJointID joint = g->s->a->islands->joints[m->joint[m->joint_at[leader] + i]];
        if (dJointGetType(joint) == dJointTypeContact) {
            sprag_ode_feedback_clear(joint);
        }
    }
}

static void write_feedback(const group *g)
{
    for (int j = 0; j < g->joints; j++) {
        sprag_ode_feedback_clear(g->joint[j]);
        sprag_ode_feedback_add(g->joint[j], (const double(*)[6])g->joint_wrench[j]);
    }
    for (int i = 0; i < g->frame.contacts; i++) {
        sprag_ode_feedback_clear(g->contact_joint[i]);
        sprag_ode_feedback_add(g->contact_joint[i], (const double(*)[6])g->contact_wrench[i]);
    }
    write_pair_feedback(g);
}

static void remember_rows(const group *g)
{
    for (int i = 0, row = 0; i < g->frame.rows; i++) {
        row = i == 0 || g->row_joint[i] != g->row_joint[i - 1] ? 0 : row + 1;
        sprag_ode_warm_start_store_row(g->s->a->memory, g->joint[g->row_joint[i]], row,
                                       g->row_force[i]);
    }
}

static void report_active_gaps(const group *g)
{
    const ode_advance *a = g->s->a;
    for (int i = 0; i < g->frame.pairs && a->held; i++) {
        const sprag_pair_memory *memory = g->pair[i].memory;
        if (memory->active && memory->reach > a->reach) {
            a->held(a->data, g->source[i], memory->reach);
        }
    }
}

void group_write_forces(const group *g, const members *m, int leader)
{
    report_active_gaps(g);
    clear_contacts(g, m, leader);
    write_feedback(g);
    remember_rows(g);
}
