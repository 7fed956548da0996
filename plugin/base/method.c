#include "method.h"

#include <string.h>

#include "message.h"
#include "ode.h"

const method methods[] = {
    {"stribeck", "implicit Stribeck step: compliant contacts, Coulomb friction cone, coupled solve",
     .ours = true},
    {"advance", "conservative advancement: sub-steps end before bodies overlap", .ours = true,
     .keeps_distance = true},
    {"ess", "event-selected integrator: compliant contacts in continuous time", .ours = true,
     .keeps_distance = true, .is_compliant = true},
    {"ode", "ODE's own stepper, the one that the program calls", .stepper = STOCK_STEP},
    {"ode-step", "ODE's dWorldStep, also for programs that call dWorldQuickStep", .fixed = true},
    {"ode-quick", "ODE's dWorldQuickStep, also for programs that call dWorldStep", .fixed = true,
     .stepper = STOCK_QUICK},
    {0},
};

const method *method_find(const char *name, size_t length)
{
    for (const method *m = methods; m->name; m++) {
        if (strlen(m->name) == length && memcmp(m->name, name, length) == 0) {
            return m;
        }
    }
    return NULL;
}

bool method_is_possible(void)
{
    const char *missing = sprag_ode_unsupported();
    if (missing) {
        message_once(
            "sprag: this ODE lacks %s; all stepping is left to it. It seems to be %s; sprag "
            "serves ODE 0.12 to 0.16 and Webots' fork, in double precision.",
            missing, sprag_ode_seems_to_be());
    }
    return !missing;
}
