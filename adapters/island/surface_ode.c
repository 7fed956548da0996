// The friction, softness and restitution of a contact's surface, with the meaning that
// dxJointContact::getInfo2 gives to every parameter; for one contact of a joint, and for all
// contacts of a pair of geoms.
#include <math.h>
#include <string.h>

#include "island.h"
#include "linalg.h"

static double finite_or_zero(double x)
{
    return isfinite(x) ? x : 0;
}

// One axis of friction. bit: of dContactApprox1, whether the normal force bounds it.
static void set_axis(sprag_friction *f, int axis, double coefficient, int mode, int bit)
{
    f->coefficient[axis] = positive(coefficient);
    f->force[axis] = !(mode & bit);
}

void sprag_ode_read_surface(sprag_surface *to, const dSurfaceParameters *surface,
                            dReal cfm_of_world)
{
    int mode = surface->mode;
    bool by_axis = mode & dContactAxisDep;
    memset(to, 0, sizeof *to); // its gaps, too: surfaces are compared
    set_axis(&to->slide, 0, surface->mu, mode, dContactApprox1_1);
    set_axis(&to->slide, 1, by_axis ? surface->mu2 : surface->mu, mode, dContactApprox1_2);
    to->slide.velocity[0] = mode & dContactMotion1 ? finite_or_zero(surface->motion1) : 0;
    to->slide.velocity[1] = mode & dContactMotion2 ? finite_or_zero(surface->motion2) : 0;
    to->slide.slip[0] = mode & dContactSlip1 ? positive(finite_or_zero(surface->slip1)) : 0;
    to->slide.slip[1] = mode & dContactSlip2 ? positive(finite_or_zero(surface->slip2)) : 0;
    if (mode & dContactRolling) {
        double rho = surface->rho;
        set_axis(&to->turning.roll, 0, rho, mode, dContactApprox1_1);
        set_axis(&to->turning.roll, 1, by_axis ? surface->rho2 : rho, mode, dContactApprox1_2);
        set_axis(&to->turning.spin, 0, by_axis ? surface->rhoN : rho, mode, dContactApprox1_N);
    }
    to->compliance =
        positive(mode & dContactSoftCFM ? finite_or_zero(surface->soft_cfm) : cfm_of_world);
    to->velocity_normal = mode & dContactMotionN ? finite_or_zero(surface->motionN) : 0;
    if (mode & dContactBounce && surface->bounce_vel >= 0) {
        to->bounce = positive(finite_or_zero(surface->bounce));
        to->bounce_speed = surface->bounce_vel;
    }
}

static bool differ(const sprag_friction *f)
{
    return f->coefficient[0] != f->coefficient[1] || f->force[0] != f->force[1] ||
           f->velocity[0] != f->velocity[1] || f->slip[0] != f->slip[1] || f->velocity[0] != 0;
}

void sprag_ode_surface_of(sprag_surface *to, dJointID joint, dWorldID world, dBodyID side_0)
{
    ode_contact_view contact;
    double frame[3][3];
    sprag_ode_view_contact(sprag_ode_layout(), joint, &contact);
    sprag_ode_read_surface(to, contact.surface, dWorldGetCFM(world));
    if (!(differ(&to->slide) || differ(&to->turning.roll)) ||
        !sprag_ode_contact_frame(frame, &contact)) {
        return;
    }
    memcpy(to->direction, frame[1], sizeof to->direction);
    // Seen from the other body, slip and normal change sign; the first tangent stays, so the second
    // (normal x first) changes sign too, and the slip along it keeps its own.
    if (contact.body[0] != side_0) {
        to->slide.velocity[0] = -to->slide.velocity[0];
    }
}
