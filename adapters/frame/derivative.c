// Derivatives of a step of compliant contacts: its groups are made as for the step, each is
// differentiated, and the bodies get their forces back.
#include "frame_run.h"

#include <string.h>

#include "linalg.h"

typedef struct matrices {
    const dBodyID *body; // of the caller
    int bodies;
    double *A, *B; // of all bodies
} matrices;

// -1: none of them.
static int index_of(const matrices *m, dBodyID body)
{
    for (int i = 0; i < m->bodies; i++) {
        if (m->body[i] == body) {
            return i;
        }
    }
    return -1;
}

// Columns of a group's matrix (`width` a body) -> those of all.
static void scatter(const matrices *m, const group *g, const double *from, int width, double *to)
{
    const int states = 12, n = g->frame.bodies;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            int row = states * index_of(m, g->state[i]->id),
                column = width * index_of(m, g->state[j]->id);
            for (int k = 0; k < states; k++) {
                memcpy(to + (size_t)(row + k) * (size_t)(width * m->bodies) + column,
                       from + (size_t)(states * i + k) * (size_t)(width * n) + width * j,
                       (size_t)width * sizeof *to);
            }
        }
    }
}

// Moves it, though it is none of the bodies of the step?
static bool is_foreign(const step *s, dBodyID body)
{
    if (!body || step_body_of(s, body)) {
        return false;
    }
    const dReal *v = dBodyGetLinearVel(body), *w = dBodyGetAngularVel(body);
    bool still = dot3(v, v) == 0 && dot3(w, w) == 0;
    return !dBodyIsKinematic(body) || !still;
}

// The derivatives, by forces, of a body whose forces act at once: they are velocities at the start.
// W T turns with the body, the torque T does not: d(W T) = d x W T - W (d x T) for a turn d.
static void differ_by_kick(const group *g, int body, dReal step, double *A, double *B)
{
    const body_state *b = g->state[body];
    const double *T = b->force + 3;
    const size_t n = (size_t)g->frame.bodies;
    double W[9], spin[3], by_turn[3][3];
    if (!b->kicked || !body_kick_of_torque(b, step, W)) {
        return;
    }
    mul33(W, T, spin);
    for (int k = 0; k < 3; k++) {
        const double turn[3] = {k == 0, k == 1, k == 2};
        double moved[3], part[3];
        cross3(turn, T, moved);
        mul33(W, moved, part);
        cross3(turn, spin, by_turn[k]);
        add_scaled(by_turn[k], -1, part, 3);
    }
    for (size_t row = 0; row < 12 * n; row++) {
        double *by_state = A + 12 * n * row + 12 * body, *to = B + 6 * n * row + 6 * body;
        for (int k = 0; k < 3; k++) {
            by_state[3 + k] += dot3(by_state + 9, by_turn[k]);
            to[k] = step / b->start.mass * by_state[6 + k];
        }
        mul33(W, by_state + 9, to + 3);
    }
}

static const char *differentiate_group(step *s, const members *of, int leader, const matrices *m)
{
    group g;
    ode_advance *a = s->a;
    if (!group_make(&g, s, of, leader)) {
        return "no memory";
    }
    for (int i = 0; i < g.frame.pairs; i++) {
        if (is_foreign(s, g.source[i]->side[0]->body) ||
            is_foreign(s, g.source[i]->side[1]->body)) {
            return "a body may touch one in the step that moves, or sleeps, and is not listed";
        }
    }
    const size_t n = (size_t)g.frame.bodies;
    double *A = SPRAG_TAKE_RAW(a->input.scratch + 1, 144 * n * n, double),
           *B = SPRAG_TAKE_RAW(a->input.scratch + 1, 72 * n * n, double);
    if (!A || !B) {
        return "no memory";
    }
    const sprag_frame_calls calls = group_calls(&g);
    sprag_scratch_reset(a->input.scratch + 2);
    const char *why = sprag_compliant_differentiate(&g.frame, a->input.compliant, &calls,
                                                    a->input.scratch + 2, A, B);
    if (!why) {
        for (int i = 0; i < g.frame.bodies; i++) {
            differ_by_kick(&g, i, a->input.step, A, B);
        }
        scatter(m, &g, A, 12, m->A);
        scatter(m, &g, B, 6, m->B);
    }
    return s->failed ? "no memory" : why;
}

static const char *differentiate(step *s, const matrices *m)
{
    members of;
    const char *why = NULL;
    if (!step_pull_bodies(s) || !step_pull_answers(s) || !step_find_pairs(s) ||
        !step_sort_members(s, &of)) {
        return "no memory";
    }
    memset(m->A, 0, 144 * (size_t)m->bodies * (size_t)m->bodies * sizeof *m->A);
    memset(m->B, 0, 72 * (size_t)m->bodies * (size_t)m->bodies * sizeof *m->B);
    for (int i = 0; i < (int)s->a->input.islands->count && !why; i++) {
        if (step_leads(s, &of, i)) {
            why = differentiate_group(s, &of, i, m);
        }
    }
    return why;
}

const char *sprag_ode_differentiate(ode_advance *a, const dBodyID *body, int bodies, double *A,
                                    double *B)
{
    step s = {.a = a, .scratch = &a->input.scratch[0]};
    const matrices m = {body, bodies, A, B};
    const char *why = differentiate(&s, &m);
    if (s.body && s.index.slot) {
        step_return_forces(&s);
    }
    sprag_ode_pair_memories_undo(a->input.geometry);
    return why;
}
