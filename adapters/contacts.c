// Contact joints -> contacts, with the meaning that dxJointContact::getInfo2 gives to every surface
// parameter; only the friction bound is a cone (an ellipse) where ODE has a pyramid.
#include <math.h>
#include <string.h>

#include "adapters/ode.h"
#include "solvers/linalg.h"

// false: there is no usable normal. ODE's own normals are of unit length; a program's may be less
// exact.
static bool set_frame(sprag_contact *to, const dContact *contact, bool reversed)
{
    double *n = to->frame[0], *t = to->frame[1], *s = to->frame[2];
    double length = norm3(contact->geom.normal);
    if (!(length > 1e-6) || !isfinite(length)) {
        return false;
    }
    for (int k = 0; k < 3; k++) {
        n[k] = (reversed ? -1 : 1) * contact->geom.normal[k] / length;
    }
    double along = 0;
    if (contact->surface.mode & dContactFDir1) {
        memcpy(t, contact->fdir1, 3 * sizeof *t);
        add_scaled(t, -dot3(t, n), n, 3);
        along = norm3(t);
    }
    if (along > 1e-6 && isfinite(along)) {
        for (int k = 0; k < 3; k++) {
            t[k] /= along;
        }
        cross3(n, t, s);
    } else {
        dVector3 normal = {n[0], n[1], n[2]}, p, q;
        dPlaneSpace(normal, p, q);
        memcpy(t, p, 3 * sizeof *t);
        memcpy(s, q, 3 * sizeof *s);
    }
    return true;
}

// Velocity of separation before the step.
static double separation(const sprag_contact *to, const dBodyID body[2])
{
    double sum = 0;
    for (int side = 0; side < 2 && body[side]; side++) {
        double turning[3];
        cross3(dBodyGetAngularVel(body[side]), to->arm[side], turning);
        double v = dot3(to->frame[0], dBodyGetLinearVel(body[side])) + dot3(to->frame[0], turning);
        sum += side ? -v : v;
    }
    return sum;
}

static void set_normal_law(sprag_contact *to, const dSurfaceParameters *surface, dWorldID world,
                           dReal step, double separating)
{
    int mode = surface->mode;
    double erp = mode & dContactSoftERP ? surface->soft_erp : dWorldGetERP(world);
    // The sinking that softness brings is lifted by ERP; 0.2 is ODE's own.
    to->softening = fmin(fmax(0, erp / 0.2), 1);
    double depth = fmax(0, -to->gap - dWorldGetContactSurfaceLayer(world));
    double motion = mode & dContactMotionN ? surface->motionN : 0;
    to->bias = fmin(erp / step * depth + motion, dWorldGetContactMaxCorrectingVel(world));
    to->compliance = mode & dContactSoftCFM ? surface->soft_cfm : dWorldGetCFM(world);
    if (mode & dContactBounce && surface->bounce_vel >= 0) {
        double approach = motion - separating;
        double rebound = surface->bounce * approach + motion;
        if (approach > surface->bounce_vel && rebound > to->bias) {
            to->bias = rebound;
            to->softening = 0; // a rebound falls short by as much
        }
    }
}

static void set_friction(sprag_contact *to, const dSurfaceParameters *surface)
{
    int mode = surface->mode;
    bool by_axis = mode & dContactAxisDep;
    to->slide =
        (sprag_friction){.coefficient = {surface->mu, by_axis ? surface->mu2 : surface->mu},
                         .velocity = {mode & dContactMotion1 ? surface->motion1 : 0,
                                      mode & dContactMotion2 ? surface->motion2 : 0},
                         .slip = {mode & dContactSlip1 ? surface->slip1 : 0,
                                  mode & dContactSlip2 ? surface->slip2 : 0},
                         .force = {!(mode & dContactApprox1_1), !(mode & dContactApprox1_2)}};
    bool slides = to->slide.coefficient[0] > 0 || to->slide.coefficient[1] > 0;
    if (mode & dContactRolling && slides) { // without friction ODE has none of rolling either
        double rho = surface->rho;
        to->roll = (sprag_friction){.coefficient = {rho, by_axis ? surface->rho2 : rho},
                                    .force = {to->slide.force[0], to->slide.force[1]}};
        to->spin = (sprag_friction){.coefficient = {by_axis ? surface->rhoN : rho},
                                    .force = {!(mode & dContactApprox1_N)}};
    }
}

static bool good_number(double x)
{
    return x >= 0; // infinite is good
}

static bool surface_is_good(const sprag_contact *to)
{
    const sprag_friction *all[3] = {&to->slide, &to->roll, &to->spin};
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 2; k++) {
            if (!good_number(all[i]->coefficient[k]) || !good_number(all[i]->slip[k]) ||
                !isfinite(all[i]->slip[k]) || !isfinite(all[i]->velocity[k])) {
                return false;
            }
        }
    }
    return isfinite(to->bias) && good_number(to->compliance) &&
           isfinite(to->compliance);
}

bool sprag_ode_pull_contact(sprag_contact *to, dJointID joint, dWorldID world, dReal step,
                            const ode_index *index, const ode_memory *memory)
{
    const dContact *contact = sprag_ode_contact_of(joint);
    dBodyID body[2];
    bool reversed;
    sprag_ode_joint_bodies(joint, body, &reversed);
    *to = (sprag_contact){.gap = -contact->geom.depth};
    for (int side = 0; side < 2; side++) {
        to->body[side] = sprag_ode_index_of(index, body[side]);
        const dReal *centre = body[side] ? dBodyGetPosition(body[side]) : NULL;
        for (int k = 0; centre && k < 3; k++) {
            to->arm[side][k] = contact->geom.pos[k] - centre[k];
        }
    }
    if (!set_frame(to, contact, reversed) || !isfinite(to->gap) ||
        !isfinite(dot3(contact->geom.pos, contact->geom.pos))) {
        return false;
    }
    set_normal_law(to, &contact->surface, world, step, separation(to, body));
    set_friction(to, &contact->surface);
    to->force_guess = memory ? sprag_ode_remembered_force(memory, joint) : -1;
    return surface_is_good(to);
}
