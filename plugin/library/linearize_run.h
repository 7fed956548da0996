// The bodies of a step that is differentiated, and the calls between the files of linearize.c.
#ifndef SPRAG_LINEARIZE_RUN_H
#define SPRAG_LINEARIZE_RUN_H

#include "derivative.h"
#include "island.h"
#include "world.h"

enum { STATES = 12, POSITION = 0, TURN = 3, VELOCITY = 6, SPIN = 9, FORCES = 6 };

typedef struct subject {
    dBodyID id;
    int leader;  // of its component, by union
    int colour;  // of those that are displaced together
    int of_user; // its index in the arguments
    dReal position[4], quaternion[4], rotation[12];
    double velocity[6];
} subject;

typedef struct contact {
    dJointID joint;
    int body[2];      // of the component; -1: none
    dContactGeom own; // of the joint
    dContactGeom at;  // of ODE's collision function, without displacement
} contact;

// A joint that is no contact.
typedef struct link {
    dJointID joint;
    int body[2];       // of the component; -1: none
    int row, rows;     // of the problem
    bool has_velocity; // its rows depend on velocities
} link;

// The bodies that joints and contacts connect.
typedef struct component {
    world_state *world;
    double step;
    sprag_scratch *scratch, *trial_scratch;
    int bodies, joints, contacts, links, user_bodies;
    subject **of; // bodies
    ode_island island;
    ode_index index; // of the bodies
    dBodyID *body;
    dJointID *joint;
    contact *contact;
    link *link;
    bool *adjacent; // bodies x bodies
    ode_problem pulled;
    sprag_derivative derivative;
    double (*change)[6]; // bodies, of the residual
    double *X;           // 6 rows a body, of columns(): the residual's derivatives, then dv
    // of a pair with contacts:
    int *pair_contact; // which of the problem's
    dJointID *pair_joint;
} component;

static inline int linearize_columns(const component *c)
{
    return (STATES + FORCES) * c->bodies;
}

static inline double *linearize_entry(double *matrix, int columns, int row, int column)
{
    return matrix + (size_t)row * (size_t)columns + (size_t)column;
}

// ---- linearize_displace.c

void linearize_save(subject *s);
// Moves a body from its saved state by `way`: m, rad, m/s, rad/s.
void linearize_displace(const subject *s, const double way[STATES]);
// Bit by bit; the calls tell ODE that geoms have moved.
void linearize_put_back(const subject *s);

// false: the contact is not one that the collision function finds.
bool linearize_read_contact(contact *c);
// To where the collision function finds it now. false: the contact has gone.
bool linearize_move_contact(const contact *c);
void linearize_restore_contact(const contact *c);

// ---- linearize_ask.c

// Sets the columns of X of all states to minus the derivatives of the residual. NULL, or the reason
// why there are none.
const char *linearize_ask(component *c);

#endif
