// The B-derivative at a point rho where guards are crossed all at once:
//
//     A = {}, w = v
//     as long as guards are left: j with the least s_j = -(h_j + Dh_j w) / (Dh_j f_A),
//         w <- w - s_j (f_{A+j} - f_A), A <- A + j
//
// with all fields and rows at rho: an offset flows through the piecewise constant field f_A(rho),
// minus the nominal motion (Council, Revzen, Burden: J. Comput. Nonlinear Dyn. 17, 2022). For one
// guard it is the saltation matrix I + (f+ - f-) Dh / (Dh f-).
#include "corner.h"

#include <math.h>
#include <string.h>

bool sprag_corner_take(sprag_corner *corner, sprag_guards *set, int room, int directions,
                       long *field_values, sprag_scratch *scratch)
{
    int n = set->problem->states, m = set->count;
    *corner =
        (sprag_corner){.set = set,
                       .field_values = field_values,
                       .room = room,
                       .guard = SPRAG_TAKE(scratch, room, int),
                       .order = SPRAG_TAKE(scratch, room, int),
                       .taken = SPRAG_TAKE(scratch, room, bool),
                       .h = SPRAG_TAKE(scratch, room, double),
                       .x = SPRAG_TAKE(scratch, n, double),
                       .label = SPRAG_TAKE(scratch, m, double),
                       .now = SPRAG_TAKE(scratch, m, double),
                       .f = SPRAG_TAKE(scratch, ((size_t)room + 1) * (size_t)n, double),
                       .arrived = SPRAG_TAKE(scratch, (size_t)directions * (size_t)n, double)};
    return !scratch->failed;
}

void sprag_corner_move(sprag_corner *corner, const double *x, const double *label)
{
    memcpy(corner->x, x, (size_t)corner->set->problem->states * sizeof *x);
    memcpy(corner->label, label, (size_t)corner->set->count * sizeof *label);
    corner->guards = corner->known = 0;
}

static const double *field(sprag_corner *corner, int place)
{
    const sprag_ess_problem *p = corner->set->problem;
    double *f = corner->f + (size_t)place * (size_t)p->states;
    if (place >= corner->known) {
        p->field(p->user, corner->x, corner->now, f);
        ++*corner->field_values;
        corner->known = place + 1;
    }
    return f;
}

bool sprag_corner_map(sprag_corner *corner, double *w)
{
    sprag_guards *g = corner->set;
    int n = g->problem->states;
    memcpy(corner->now, corner->label, (size_t)g->count * sizeof *corner->now);
    memset(corner->taken, 0, (size_t)corner->guards * sizeof *corner->taken);
    for (int place = 0; place < corner->guards; place++) {
        const double *before = field(corner, place);
        double least = INFINITY;
        int next = SPRAG_ESS_NO_GUARD;
        for (int i = 0; i < corner->guards; i++) {
            int k = corner->guard[i];
            double up = corner->label[k] == 0 ? 1 : -1;
            double rate = up * (corner->taken[i] ? 0 : sprag_guards_rate(g, corner->x, k, before));
            if (rate > 0) {
                double s = -up * (corner->h[i] + sprag_guards_rate(g, corner->x, k, w)) / rate;
                if (s < least) {
                    least = s;
                    next = i;
                }
            }
        }
        if (next < 0) {
            return false;
        }
        if (corner->order[place] != next) {
            corner->known = place + 1;
        }
        corner->order[place] = next;
        corner->taken[next] = true;
        sprag_guards_relabel(g, corner->guard[next], corner->now);
        const double *after = field(corner, place + 1);
        for (int i = 0; i < n; i++) {
            w[i] += least * (before[i] - after[i]);
        }
    }
    return true;
}
