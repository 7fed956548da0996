#include "pair_answers.h"

ode_pair_answer *sprag_ode_pair_answer_find(const ode_pair_answers *t, dGeomID a, dGeomID b)
{
    const int i = sprag_ode_set_find(&t->pairs, sprag_ode_pair_key(a, b, NULL));
    return i < 0 ? NULL : &t->answer[i];
}

ode_pair_answer *sprag_ode_pair_answer_add(ode_pair_answers *t, dGeomID a, dGeomID b)
{
    ode_pair_answer *known = sprag_ode_pair_answer_find(t, a, b);
    if (known) {
        return known;
    }
    ode_pair_answer *all =
        sprag_scratch_widen(t->pairs.scratch, t->answer, t->pairs.count, &t->room, 64, sizeof *all);
    t->answer = all ? all : t->answer;
    const int i = all ? sprag_ode_set_add(&t->pairs, sprag_ode_pair_key(a, b, NULL)) : -1;
    if (i < 0) {
        return NULL;
    }
    all[i] = (ode_pair_answer){.joint = NULL};
    return &all[i];
}
