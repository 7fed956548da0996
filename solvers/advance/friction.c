// Friction that the normal force does not bound: by a force of its own, or by nothing. It acts in
// the solve whether bodies press on each other or not. Pairs with it therefore have friction only
// while they are pressed on each other: at first if they were so in the last solve, then if they
// are so without friction, once.
#include <math.h>

#include "advance_solve.h"
#include "linalg.h"
#include "pair_contact.h"

double advance_rounding_force(const advance_problem *p, const sprag_contact *contact)
{
    double least = INFINITY, speed = 0;
    for (int side = 0; side < 2; side++) {
        int b = contact->body[side];
        if (b != SPRAG_STATIC) {
            const sprag_body *body = &p->body[b];
            least = body->mass > 0 ? fmin(least, body->mass) : least;
            speed += norm3(body->free_velocity) +
                     norm3(body->free_velocity + 3) * norm3(contact->arm[side]);
        }
    }
    return isinf(least) ? 0 : advance_rounding * least * speed / p->problem.step;
}

bool advance_is_unbounded(const sprag_friction *f)
{
    return f->force[0] || f->force[1] || isinf(f->coefficient[0]) || isinf(f->coefficient[1]);
}

static bool is_unbounded(const advance_run *run, int pair)
{
    return advance_is_unbounded(&run->frame->pair[pair].surface.slide);
}

// Sums the forces of each such pair, or those that are expected. false: there is none.
static bool add_forces(advance_run *run, const advance_problem *p, bool expected)
{
    bool any = false;
    for (int i = 0; i < run->points.count; i++) {
        advance_near *near = &run->near[run->points.point[i].pair];
        near->normal_force = near->slide_force = 0;
        any |= is_unbounded(run, run->points.point[i].pair);
    }
    for (int i = 0; i < run->points.count && any; i++) {
        int c = run->frame->contacts + i;
        const double *force = expected ? p->contact[c].guess : p->solution.contact_force[c];
        const int pair = run->points.point[i].pair;
        advance_near *near = &run->near[pair];
        if (!is_unbounded(run, pair)) {
            continue;
        }
        if (force[0] > advance_rounding_force(p, &p->contact[c])) {
            near->normal_force += force[0];
        }
        near->slide_force += hypot(force[1], force[2]);
    }
    return any;
}

// Gives the contacts of such pairs the friction of their pair, or none.
static void set_friction(const advance_run *run, const advance_problem *p)
{
    for (int i = 0; i < run->points.count; i++) {
        const int pair = run->points.point[i].pair;
        sprag_contact *contact = &p->contact[run->frame->contacts + i];
        if (is_unbounded(run, pair) && run->near[pair].rubs) {
            sprag_pair_set_friction(&run->frame->pair[pair], contact);
            sprag_contact_slide_on_chords(contact, p->body, p->problem.step);
        } else if (is_unbounded(run, pair)) {
            advance_remove_friction(contact);
        }
    }
}

void advance_start_friction(advance_run *run, const advance_problem *p)
{
    const bool any = add_forces(run, p, true);
    for (int i = 0; i < run->points.count && any; i++) {
        advance_near *near = &run->near[run->points.point[i].pair];
        near->rubs = near->has_rubbed = near->normal_force > 0;
    }
    if (any) {
        set_friction(run, p);
    }
}

bool advance_choose_friction(advance_run *run, const advance_problem *p)
{
    bool any = false;
    const bool unbounded = add_forces(run, p, false);
    for (int i = 0; i < run->points.count && unbounded; i++) {
        advance_near *near = &run->near[run->points.point[i].pair];
        const bool idle = near->slide_force > advance_steepest_friction * near->normal_force;
        const bool begins = !near->has_rubbed && near->normal_force > 0;
        any |= begins || (near->rubs && idle);
        near->has_rubbed |= begins;
        near->rubs = begins || (near->rubs && !idle);
    }
    if (any) {
        set_friction(run, p);
    }
    return any;
}
