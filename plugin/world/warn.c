#include "warn.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

#include "describe.h"
#include "message.h"

enum { TEXT_MAX = 1024 };

_Static_assert(WARN_IMPLICIT + (int)SPRAG_COMPLIANT_REASONS <= 32, "a bit for every warning");

bool warn_first(world_state *w, warning what)
{
    static atomic_uint warned_in_process;
    unsigned bit = 1u << what, before = w->warned;
    if (what >= WARN_NO_COLLISION_CALL) {
        before = atomic_fetch_or(&warned_in_process, bit);
    }
    w->warned |= bit;
    return !(before & bit);
}

void warn(const world_state *w, const char *counter, const char *format, ...)
{
    char text[TEXT_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    message_once("sprag: world %d, at %g s: %s%s%s%s", w->number, w->statistics.time, text,
                 counter ? " Further cases are only counted (" : "", counter ? counter : "",
                 counter ? ")." : "");
}

void warn_of_fallback(world_state *w, const ode_island *island, sprag_result result)
{
    char body[DESCRIPTION_MAX];
    if (warn_first(w, WARN_FALLBACK)) {
        warn(w, "fallbacks",
             "the island of %s (%d bodies, %d joints) could not be solved (%s). %s.",
             describe_body(body, island->body[0]), island->bodies, island->joints,
             sprag_result_name(result),
             result == SPRAG_NO_MEMORY
                 ? "ODE's own stepper steps it instead"
                 : "In this step its bodies move as if nothing touched or held them");
    }
}

void warn_of_nonfinite(world_state *w, dBodyID culprit, int island_bodies)
{
    char body[DESCRIPTION_MAX];
    if (warn_first(w, WARN_NOT_FINITE)) {
        warn(w, "frozen",
             "the position, velocity, mass or inertia of %s is not finite. The %d bodies of its "
             "island do not move until the program makes them finite.",
             describe_body(body, culprit), island_bodies);
    }
}

void warn_of_force(world_state *w, dBodyID culprit)
{
    char body[DESCRIPTION_MAX];
    if (warn_first(w, WARN_FORCE)) {
        warn(w, "invalid_forces",
             "the force or torque on %s is not finite, or too large. It is taken as zero in this "
             "step.",
             describe_body(body, culprit));
    }
}

static void warn_of_pair(const world_state *w, const char *counter, dJointID contact,
                         const char *what)
{
    char a[DESCRIPTION_MAX], b[DESCRIPTION_MAX];
    warn(w, counter, "the contact between %s and %s %s.",
         describe_body(a, dJointGetBody(contact, 0)), describe_body(b, dJointGetBody(contact, 1)),
         what);
}

void warn_of_surface(world_state *w, dJointID contact, const char *error)
{
    if (warn_first(w, WARN_SURFACE)) {
        warn_of_pair(w, "invalid_surfaces", contact, error);
    }
}

void warn_of_contact(world_state *w, dJointID contact)
{
    if (warn_first(w, WARN_CONTACT)) {
        warn_of_pair(w, "dropped", contact,
                     "has no usable normal, point or depth. The step ignores it");
    }
}

void warn_of_one_way_stiffness(world_state *w, const ode_island *island, double stiff_step)
{
    char body[DESCRIPTION_MAX];
    if (stiff_step > 1 && warn_first(w, WARN_ONE_WAY_STIFFNESS)) {
        warn(w, NULL,
             "stribeck.scheme=one-way computes contact forces from the start of the step and gains "
             "energy at steps as long as this one (step^2 k / m is %g in the island of %s). Use a "
             "shorter step, less stiffness, or stribeck.scheme=two-way.",
             stiff_step, describe_body(body, island->body[0]));
    }
}
