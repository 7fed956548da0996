// The axes of a contact joint: normal and tangents, as dxJointContact::getInfo2 chooses them.
#include <math.h>
#include <string.h>

#include "island.h"
#include "linalg.h"

// Shorter normals and directions (ODE's are unit vectors) are treated as not given.
static const double LENGTH_MIN = 1e-6;

static bool has_direction(double length)
{
    return length > LENGTH_MIN && isfinite(length);
}

// The part of fdir1 along the surface, of unit length. false: fdir1 is not set, or has no such
// part.
static bool set_given_tangent(double t[3], const ode_contact_view *contact, const double n[3])
{
    if (!(contact->surface->mode & dContactFDir1)) {
        return false;
    }
    memcpy(t, sprag_ode_contact_direction(contact->joint), 3 * sizeof *t);
    add_scaled(t, -dot3(t, n), n, 3);
    double length = norm3(t);
    for (int k = 0; k < 3; k++) {
        t[k] /= length;
    }
    return has_direction(length);
}

void sprag_ode_contact_tangents(double tangent[2][3], const ode_contact_view *contact,
                                const double n[3])
{
    double *t = tangent[0], *s = tangent[1];
    if (set_given_tangent(t, contact, n)) {
        cross3(n, t, s);
    } else if (contact->like && memcmp(contact->like[0], n, sizeof contact->like[0]) == 0) {
        memcpy(tangent, contact->like + 1, 2 * sizeof *tangent);
    } else {
        dVector3 unit = {n[0], n[1], n[2]}, p, q;
        dPlaneSpace(unit, p, q);
        memcpy(t, p, 3 * sizeof *t);
        memcpy(s, q, 3 * sizeof *s);
    }
}

bool sprag_ode_contact_frame(double frame[3][3], const ode_contact_view *contact)
{
    const dReal *normal = contact->geom->normal;
    double *n = frame[0];
    double length = norm3(normal);
    if (!has_direction(length)) {
        return false;
    }
    for (int k = 0; k < 3; k++) {
        n[k] = (contact->reversed ? -1 : 1) * normal[k] / length;
    }
    sprag_ode_contact_tangents(frame + 1, contact, n);
    return true;
}
