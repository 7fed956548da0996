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

// Sums the forces of each such pair, or those that are expected.
static void add_forces(advance_run *run, const advance_problem *p, bool expected)
{
    for (int i = 0; i < run->points.count; i++) {
        advance_near *near = &run->near[run->points.point[i].pair];
        near->normal_force = near->slide_force = 0;
    }
    for (int i = 0; i < run->points.count; i++) {
        int c = run->frame->contacts + i;
        const double *force = expected ? p->contact[c].guess : p->solution.contact_force[c];
        advance_near *near = &run->near[run->points.point[i].pair];
        if (!is_unbounded(run, run->points.point[i].pair)) {
            continue;
        }
        if (force[0] > advance_rounding_force(p, &p->contact[c])) {
            near->normal_force += force[0];
        }
        near->slide_force += hypot(force[1], force[2]);
    }
}

void advance_start_friction(advance_run *run, const advance_problem *p)
{
    add_forces(run, p, true);
    for (int i = 0; i < run->points.count; i++) {
        int pair = run->points.point[i].pair;
        advance_near *near = &run->near[pair];
        near->friction = !is_unbounded(run, pair) ? ADVANCE_BOUNDED
                         : near->normal_force > 0 ? ADVANCE_RUBS
                                                  : ADVANCE_WAITS;
        if (near->friction == ADVANCE_WAITS) {
            advance_remove_friction(&p->contact[run->frame->contacts + i]);
        }
    }
}

// Gives a contact the friction of its pair again.
static void restore_friction(const advance_problem *p, const sprag_pair *pair,
                             sprag_contact *contact)
{
    sprag_pair_set_friction(pair, contact);
    sprag_contact_slide_on_chords(contact, p->body, p->problem.step);
}

bool advance_choose_friction(advance_run *run, const advance_problem *p)
{
    bool any = false;
    add_forces(run, p, false);
    for (int i = 0; i < run->points.count; i++) {
        sprag_contact *contact = &p->contact[run->frame->contacts + i];
        const sprag_pair *pair = &run->frame->pair[run->points.point[i].pair];
        advance_near *near = &run->near[run->points.point[i].pair];
        bool idle = near->slide_force > advance_steepest_friction * near->normal_force;
        bool has = advance_is_unbounded(&contact->slide);
        if (near->friction == ADVANCE_WAITS && near->normal_force > 0) {
            near->friction = ADVANCE_RUBS;
            near->slide_force = 0; // of a solve without it
        } else if (near->friction == ADVANCE_RUBS && idle) {
            near->friction = ADVANCE_SLIDES_FREELY;
        }
        if (near->friction == ADVANCE_RUBS && !has) {
            restore_friction(p, pair, contact);
            any = true;
        } else if (near->friction == ADVANCE_SLIDES_FREELY && has) {
            advance_remove_friction(contact);
            any = true;
        }
    }
    return any;
}
