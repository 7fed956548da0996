#include "softness.h"

#include <math.h>

#include "linalg.h"

double sprag_problem_scale(const sprag_problem *problem)
{
    double fastest = 0, change = 0; // squares
    for (int i = 0; i < problem->bodies; i++) {
        const sprag_body *body = &problem->body[i];
        double gain[3];
        subtract3(body->free_velocity, body->velocity, gain);
        fastest = sprag_larger(dot3(body->velocity, body->velocity), fastest);
        change = sprag_larger(body->mass > 0 ? dot3(gain, gain) : 0, change);
    }
    double scale = sprag_larger(sqrt(change), SPRAG_FASTEST_SHARE * sqrt(fastest));
    return scale > 0 ? scale : 1;
}

double sprag_softness_in_motion(double normal, const sprag_problem *problem)
{
    double fastest = 0; // square
    for (int i = 0; i < problem->bodies; i++) {
        const double *v = problem->body[i].velocity;
        fastest = sprag_larger(dot3(v, v), fastest);
    }
    const double share = fmin(1, sqrt(fastest) / sprag_problem_scale(problem));
    return normal > 0 ? sprag_larger(normal * share, SPRAG_SOFT_LEAST) : 0;
}

sprag_softness sprag_problem_softness(const sprag_problem *problem, sprag_shares share)
{
    sprag_softness s = {
        .step = problem->step, .scale = sprag_problem_scale(problem), .share = share};
    s.fall = s.scale * s.step;
    for (int i = 0; i < problem->bodies; i++) {
        s.heaviest = sprag_larger(problem->body[i].mass, s.heaviest);
    }
    return s;
}

double sprag_softness_for_sweeps(double normal, const sprag_problem *problem)
{
    const int moving = sprag_problem_moving(problem);
    if (moving <= SPRAG_SOFT_BODIES) { // most islands
        return normal;
    }
    double path = cbrt(moving / SPRAG_SOFT_BODIES);
    return normal * fmin(path * path, SPRAG_SOFT_GROWTH);
}

// Sinking grows with the load and with the square of the step: the heaviest body of the island
// bounds the one, and what a body falls in a step, relative to its size, the other.
static double unit(const sprag_softness *s, double w)
{
    return sprag_smaller(w, SPRAG_SOFT_HEAVIEST / s->heaviest);
}

double sprag_contact_yield(const sprag_softness *s, const sprag_contact *contact, double w)
{
    if (!(w > 0)) {
        return INFINITY;
    }
    double lever = sqrt(sprag_larger(dot3(contact->arm[0], contact->arm[0]),
                                     dot3(contact->arm[1], contact->arm[1])));
    double share = contact->softening;
    if (lever > 0) {
        share *= sprag_smaller(1, SPRAG_SOFT_FALL * lever / s->fall);
    }
    double soft = s->share.normal > 0
                      ? sprag_larger(s->share.normal * share, SPRAG_SOFT_LEAST) * unit(s, w)
                      : 0;
    return sprag_larger(contact->compliance / s->step, soft);
}

double sprag_contact_stiffness(const sprag_softness *s, const sprag_contact *contact, double w)
{
    double soft = SPRAG_SOFT_LEAST * unit(s, w);
    return fmin(contact->stiffness, soft > 0 ? 1 / (s->step * s->step * soft) : 0);
}

double sprag_row_unit(const sprag_row *row, const sprag_inverse of[2])
{
    double linear = 0, angular = 0;
    for (int side = 0; side < 2; side++) {
        const double *J = row->jacobian[side];
        linear += of[side].mass > 0 ? dot3(J, J) * of[side].mass : 0;
    }
    for (int side = 0; side < 2 && !(linear > 0); side++) {
        const double *J = row->jacobian[side] + 3, *I = of[side].inertia;
        angular += of[side].mass > 0 ? dot3(J, J) * (I[0] + I[4] + I[8]) / 3 : 0;
    }
    return linear > 0 ? linear : angular;
}

double sprag_row_yield(const sprag_softness *s, const sprag_row *row, const sprag_inverse of[2])
{
    const double unit = sprag_row_unit(row, of);
    return unit > 0 ? sprag_larger(row->compliance / s->step, s->share.row * unit) : INFINITY;
}
