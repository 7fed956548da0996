// Warnings about a step of a world. Each kind is printed for the first case. The message names
// the statistic that counts all cases, if there is one.
#ifndef SPRAG_WARN_H
#define SPRAG_WARN_H

#include "island.h"
#include "world.h"

typedef enum warning {
    // printed once per world
    WARN_FALLBACK,
    WARN_NOT_FINITE,
    WARN_FORCE,
    WARN_SURFACE,
    WARN_CONTACT,
    WARN_ONE_WAY_STIFFNESS,
    WARN_WORLD_STIFFNESS,
    WARN_CONTACT_STIFFNESS,
    WARN_SURFACES_DIFFER,
    WARN_NORMALS_DIFFER,
    WARN_SURFACE_LAYER,
    WARN_STALL,
    WARN_OVERLAP,
    WARN_CROWDED,
    WARN_JOINT,
    WARN_CALLBACK,
    // printed once per process, because games make a new world for every level or life
    WARN_NO_COLLISION_CALL,
    WARN_NO_DISTANCE,
    WARN_IMPLICIT // and the numbers that follow, one per sprag_compliant_reason
} warning;

// Whether this kind comes up for the first time; notes that it has come up.
bool warn_first(world_state *w, warning what);

// Prints "sprag: world 1, at 0.5 s: " and the text. counter: the statistic that counts further
// cases; NULL: none does.
void warn(const world_state *w, const char *counter, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void warn_of_fallback(world_state *w, const ode_island *island, sprag_result result);
void warn_of_nonfinite(world_state *w, dBodyID body, int island_bodies);
void warn_of_force(world_state *w, dBodyID body);
void warn_of_surface(world_state *w, dJointID contact, const char *error);
void warn_of_contact(world_state *w, dJointID contact);
void warn_of_one_way_stiffness(world_state *w, const ode_island *island, double stiff_step);

#endif
