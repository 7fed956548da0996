// What goes wrong in a step is said for the first island of a world, and counted for all.
#include "plugin.h"

bool say_first(world_state *w, enum said_bit what)
{
    bool first = !(w->said & what);
    w->said |= what;
    return first;
}

void warn_of_fallback(world_state *w, const ode_island *island, sprag_result result)
{
    if (w->statistics.fallbacks++ == 0) {
        report_once(
            "sprag: world %d, at %g s: the island of body %p (%d bodies, %d joints) could not be "
            "solved (%s); ODE's own stepper takes it. Further ones are only counted.",
            w->number, w->statistics.time, (void *)island->body[0], island->bodies, island->joints,
            sprag_result_name(result));
    }
}

void hold_bodies(world_state *w, dBodyID culprit, int bodies)
{
    if (w->statistics.held == 0) {
        report_once("sprag: world %d, at %g s: position or velocity of body %p (data %p) is not "
                    "finite; its island of %d bodies stays where it is. Further ones are only "
                    "counted.",
                    w->number, w->statistics.time, (void *)culprit, dBodyGetData(culprit), bodies);
    }
    w->statistics.held += bodies;
}

void ignore_forces(world_state *w, dBodyID culprit, int bodies)
{
    w->statistics.bad_forces += bodies;
    if (w->statistics.bad_forces == bodies) {
        report_once("sprag: world %d, at %g s: the force or torque on body %p (data %p) is not "
                    "finite, or too large; it is taken as zero. Further ones are only counted.",
                    w->number, w->statistics.time, (void *)culprit, dBodyGetData(culprit));
    }
}

static void report_contact(const world_state *w, dJointID contact, const char *what)
{
    dBodyID a = dJointGetBody(contact, 0), b = dJointGetBody(contact, 1);
    report_once("sprag: world %d, at %g s: the contact between bodies %p (data %p) and %p (data "
                "%p) %s. Further ones are only counted.",
                w->number, w->statistics.time, (void *)a, a ? dBodyGetData(a) : NULL, (void *)b,
                b ? dBodyGetData(b) : NULL, what);
}

void warn_of_surface(world_state *w, dJointID contact, const char *oddity, int contacts)
{
    if (w->statistics.odd_surfaces == 0) {
        report_contact(w, contact, oddity);
    }
    w->statistics.odd_surfaces += contacts;
}

void warn_of_dropped(world_state *w, dJointID contact)
{
    if (say_first(w, SAID_DROPPED)) {
        report_contact(w, contact, "has no usable normal, point or depth: it is left out");
    }
}

void warn_of_stiffness(world_state *w, const ode_island *island, double stiff_step)
{
    if (stiff_step > 1 && say_first(w, SAID_EXPLICIT)) {
        report_once(
            "sprag: world %d, at %g s: stribeck.scheme=one-way takes stiffness at the start "
            "of the step, and gains energy at steps as long as this one (step^2 k / m = %g "
            "in the island of body %p); shorter steps, less stiffness or two-way.",
            w->number, w->statistics.time, stiff_step, (void *)island->body[0]);
    }
}
