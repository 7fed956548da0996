// The bodies of a step that is differentiated, and the calls between the files of linearize.c.
#ifndef SPRAG_LINEARIZE_RUN_H
#define SPRAG_LINEARIZE_RUN_H

#include "derivative.h"
#include "island.h"
#include "world.h"

enum { ALL = -1, KNOWN = -2 }; // in place of a colour
enum { STATES = 12, POSITION = 0, TURN = 3, VELOCITY = 6, SPIN = 9, FORCES = 6 };

typedef struct subject {
    dBodyID id;
    int leader;  // of its component, by union
    int colour;  // of those that are displaced together; KNOWN: never
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
    bool *asked;    // of these: by differences
    ode_problem pulled;
    sprag_derivative derivative;
    // of linearize_ask.c:
    ode_problem near;       // the problem of displaced bodies; rows: if is_anew
    sprag_body *alone_body; // as ODE gives them where nothing is displaced, before loads are known
    sprag_row *alone_row;
    bool is_tight;       // loads change bodies or rows
    double turning;      // sprag_ode_share_of_turning; > 0: how loads follow turns is known
    bool has_pushes;     // a motor pushes at its stop: the forces on bodies depend on their joints
    bool is_anew;        // the whole problem is asked for anew, with its loads
    bool has_velocities; // contacts or rows depend on the velocities before the step
    // Loads by turns along each axis, of each body itself, then of bodies beside it.
    ode_turned_load *turned;
    int turneds;
    double (*rate)[3][6]; // bodies, of w after the gyroscopic torque by turn and w; NULL: no loads
    double (*change)[6];  // bodies, of the residual
    double (*slip)[2][STATES]; // rows, of J v - bias by the states of its bodies
    sprag_columns **X; // as sprag_derivative_solve() has it: minus the derivatives of the residual
                       // by the states of a body, then its inverse's
    // of displaced contacts:
    sprag_contact *near_contact;
    ode_warm_key *near_key;
    int *near_index;                  // which of the problem's
    sprag_body *contact_body;         // bodies of these contacts
    int *contact_body_of, *number_of; // which of the problem's; of the problem's, or -1
} component;

// The residual of a body by the states of another.
static inline sprag_columns *linearize_block(const component *c, int body, int other)
{
    return c->X[other * c->bodies + body];
}

static inline double *linearize_entry(const component *c, int body, int k, int other)
{
    return (*linearize_block(c, body, other))[k];
}

// ---- linearize_solve.c

// Sets pulled and derivative. NULL, or the reason why there are no derivatives.
const char *linearize_solve(component *c);

// ---- linearize_displace.c

void linearize_save(subject *s);
// Moves a body from its saved state by `way`: m, rad, m/s, rad/s.
void linearize_displace(const subject *s, const double way[STATES]);
// Bit by bit.
void linearize_put_back(const subject *s);

// false: the contact is not one that the collision function finds.
bool linearize_read_contact(contact *c);
// To where the collision function finds it now. false: the contact has gone.
bool linearize_move_contact(const contact *c);
void linearize_restore_contact(const contact *c);

// ---- linearize_contacts.c

// Adds the change of the residual by the contacts of a colour, where they are now, and takes these
// back. NULL, or the reason why there are no derivatives.
const char *linearize_add_contacts(component *c, int colour);

// ---- linearize_known.c

// The bodies of a joint, in the order of its rows.
static inline const int *linearize_bodies_of(const component *c, const link *l)
{
    return l->rows > 0 ? c->pulled.row[l->row].body : l->body;
}

// Each adds to X. Of a body's own momentum; sets its rate.
void linearize_add_body(component *c, int body);
// By the states of a joint's bodies, with its look ahead, which is added to the slopes. joint:
// NULL: it does not.
void linearize_add_rows(component *c, const link *l, const ode_loaded_joint *joint,
                        sprag_row_slopes (*slopes)[2]);
// By the inertia and targets of bodies under load, where loads follow turns alone.
void linearize_add_loads(component *c);

// Lists how loads turn with the axes of a joint's rows without linear parts.
void linearize_turn_axes(component *c, const link *l, const sprag_row_slopes (*slopes)[2]);
// Do the linear parts of a joint's rows keep their directions?
bool linearize_keeps_directions(const sprag_row_slopes (*slopes)[2], int rows);

// ---- linearize_ask.c

static const char linearize_not_pulled[] = "no memory, or a state that is not finite";

static inline bool linearize_is_of(const component *c, int body, int colour)
{
    return colour == ALL || (body >= 0 && c->of[body]->colour == colour);
}

// Sets X; if the component is plain, without the columns of linear velocities. NULL, or the reason
// why there are no derivatives.
const char *linearize_ask(component *c);

#endif
