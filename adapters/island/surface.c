// Physical parameters of a contact: stiffness, dissipation, stiction tolerance. They are in the
// surface of the contact joint, so that they live as long as the joint: ODE copies the whole
// surface, ignores sprag's bits, and reads the fields under its own bits only.
//
// If a surface has both sprag's bit and ODE's, the program has set ODE's later, because sprag's
// setters clear it: ODE's parameter is used.
#include <math.h>

#include "island.h"

typedef struct parameter {
    int ours, odes; // bits
    const char *both, *invalid;
} parameter;

static const parameter stiffness = {
    ODE_SURFACE_STIFFNESS, dContactSoftERP | dContactSoftCFM,
    "has a stiffness, and dContactSoftERP or dContactSoftCFM: ODE's parameters are used",
    "has a stiffness that is negative or not finite: it is ignored"};

static const parameter dissipation = {
    ODE_SURFACE_DISSIPATION, dContactSoftERP | dContactSoftCFM,
    "has a dissipation, and dContactSoftERP or dContactSoftCFM: ODE's parameters are used",
    "has a dissipation that is negative or not finite: it is ignored"};

static const parameter stiction = {
    ODE_SURFACE_STICTION, dContactMotionN,
    "has a stiction tolerance, and dContactMotionN: the motion is used",
    "has a stiction tolerance that is negative or not finite: it is ignored"};

// The value of the field if the surface sets it without error, or else `otherwise`.
static double value_of(const parameter *p, int mode, double field, double otherwise,
                       const char **surface_error)
{
    if (!(mode & p->ours)) {
        return otherwise;
    }
    if (mode & p->odes) {
        *surface_error = p->both;
        return otherwise;
    }
    if (!(field >= 0) || !isfinite(field)) {
        *surface_error = p->invalid;
        return otherwise;
    }
    return field;
}

const char *sprag_ode_pull_surface(sprag_contact *to, const dSurfaceParameters *surface,
                                   const ode_stiffness *of_world)
{
    static const ode_stiffness none;
    int mode = surface->mode;
    const char *surface_error = NULL;
    if (!(mode & (ODE_SURFACE_STIFFNESS | ODE_SURFACE_DISSIPATION | ODE_SURFACE_STICTION)) &&
        !(of_world && of_world->stiffness > 0)) {
        return NULL; // most surfaces
    }
    if (!of_world || mode & (dContactSoftERP | dContactSoftCFM)) {
        of_world = &none;
    }
    to->stiction = value_of(&stiction, mode, surface->motionN, 0, &surface_error);
    to->dissipation =
        value_of(&dissipation, mode, surface->soft_erp, of_world->dissipation, &surface_error);
    to->stiffness =
        value_of(&stiffness, mode, surface->soft_cfm, of_world->stiffness, &surface_error);
    if (!surface_error && to->stiffness == 0 && mode & ODE_SURFACE_DISSIPATION &&
        to->dissipation > 0) {
        surface_error = "has a dissipation without a stiffness: it has no effect";
    }
    return surface_error;
}
