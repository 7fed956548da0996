// The families of ODE builds that sprag serves, and which of them the running ODE is of.
#ifndef SPRAG_FAMILY_H
#define SPRAG_FAMILY_H

#include "symbols.h"

// ODE's private interfaces differ from release to release and from fork to fork; in a family they
// are the same. The mangled names of functions hold the types of their arguments, so the names that
// a build has tell its family.
typedef struct ode_family {
    const char *name;                 // for messages
    opaque_fn *(*contact_rows)(void); // dxJointContact::getInfo2, with the arguments of this family
    opaque_fn *(*ball_rows)(void);    // dxJointBall::getInfo2
    void (*get_rows)(opaque_fn *get_info2, dJointID joint, dReal rate, dReal erp,
                     const ode_rows *rows);
    bool in_arena; // steppers get an arena of memory, as before 0.13; otherwise a call context
    bool of_12; // dSurfaceParameters lacks rho, rho2 and rhoN; there is no dParamLoVel, dParamHiVel
} ode_family;

extern const ode_family sprag_ode_families[]; // the first one is of 0.16

// The family whose functions the running ODE has; if there is none, the nearest.
const ode_family *sprag_ode_find_family(void);

// The first function that sprag needs and the running ODE lacks; NULL: it has them all.
const char *sprag_ode_family_missing(const ode_family *family);

#endif
