// Short worlds of every kind, whose states are hashed after every step.
#ifndef BITS_H
#define BITS_H

#include <stdbool.h>
#include <stdint.h>

#include <ode/ode.h>

#include "fnv.h"

enum { BITS_BODIES = 160, BITS_JOINTS = 64 };

// What of a world goes into the hash.
typedef struct bits_watch {
    dWorldID world;
    int bodies, joints;
    dBodyID body[BITS_BODIES];
    dJointFeedback feedback[BITS_JOINTS];
    uint64_t hash;
} bits_watch;

// ---- hash.c: FNV-1a

enum { BITS_CONTACTS = 1024 };

void bits_add(uint64_t *hash, const double *x, int n);

// After a step: bodies, feedback of joints, statistics but for times, events.
void bits_add_step(bits_watch *watch);

// In place of a step: A and B of all bodies, at most 16.
void bits_add_derivatives(bits_watch *watch, double step);

// ---- worlds.c

// Habits of programs; bits.
enum {
    BITS_PUSHES = 1,  // adds forces
    BITS_MEDDLES = 2, // moves, destroys and disables between steps
    BITS_GIVES = 4,   // makes contacts of its own
    BITS_ALTERS = 8,  // makes those of dCollide deeper, with other friction
    BITS_SHARES = 16, // one feedback of all contacts
    BITS_CALLS = 32,  // has moved callbacks
    BITS_THREADS = 64,
    BITS_BOUNCES = 128,  // all surfaces bounce
    BITS_DECLINES = 256, // has no contacts between bodies that a joint joins
    BITS_HABITS = 9,
    BITS_PLAIN = 512,   // no body is kinematic, disabled or damped
    BITS_LINEAR = 1024, // asks for derivatives in every third step
    BITS_SOFT = 2048,   // all contacts have a stiffness, and nothing else
    BITS_CALM = 4096,   // no habits are drawn
};

typedef struct bits_kind {
    const char *name;
    const char *floors; // one is drawn: p(lane), b(ox), m(esh), h(eightfield), n(one)
    const char *shapes; // s(phere), b(ox), c(apsule), y(linder), v: convex, x: several geoms,
                        // X: forty, t: mesh, g: in a geom transform
    int bodies[2];      // least, most
    double joints;      // a body
    double apart;       // m, between bodies
    double masses;      // decades
    double speed, spin; // m/s, rad/s; no speed: all upright
    int steps;
    int habits; // of all worlds; others are drawn
} bits_kind;

extern const bits_kind bits_stock;   // for ODE's own steppers
extern const bits_kind bits_kinds[]; // up to one without a name

// Hash of a world of the kind, made from a seed and stepped with the options. Where it has left the
// 1e3 m around the origin or is not finite, it is stepped no more.
uint64_t bits_run(const bits_kind *kind, unsigned seed, const char *options);

// ---- general.c

typedef struct bits_problem {
    const char *name;
    int family; // problems_general.h
    int velocities, contacts;
    bool one_way, hard;
    double step;
    int most;               // updates; 0, as below: the default
    double theta, stiction; // rad, m/s
} bits_problem;

extern const bits_problem bits_problems[]; // up to one without a name

// Hash of the solution of a random problem in generalized coordinates, and of the work for it.
uint64_t bits_solve(const bits_problem *problem, unsigned seed);

#endif
