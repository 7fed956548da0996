// One island of an ODE world: read from ODE as a contact problem, and its solution written back.
#ifndef SPRAG_ISLAND_H
#define SPRAG_ISLAND_H

#include "frame.h"
#include "hash.h"
#include "layout.h"
#include "ode.h"
#include "problem.h"
#include "reduce.h"
#include "scratch.h"
#include "touch.h"
#include "warm_start.h"

// ---- surface.c: physical parameters of a contact, in fields of its surface that ODE does not use

// Bits of dSurfaceParameters.mode that ODE ignores. Behind each: the field that then holds the
// value, and the bit under which alone ODE reads that field.
enum {
    ODE_SURFACE_STIFFNESS = 0x10000,   // soft_cfm, N/m; ODE's: dContactSoftCFM
    ODE_SURFACE_DISSIPATION = 0x20000, // soft_erp, s/m; ODE's: dContactSoftERP
    ODE_SURFACE_STICTION = 0x40000,    // motionN, m/s; ODE's: dContactMotionN
};

// The normal law of contacts whose surface has neither such parameters nor an ERP or CFM of its
// own.
typedef struct ode_stiffness {
    double stiffness;   // N/m; 0: the world's ERP and CFM
    double dissipation; // s/m
    bool speculative;   // any negative depth is a gap that may close within the step
    int arcs;           // 1: joints move their bodies on arcs, in islands that are not loaded too
} ode_stiffness;

// A contact that is reached within the step, and rebounds in the next one.
typedef struct ode_approach {
    const sprag_body *body; // of the island
    double taken;           // ode_stop.alone of the next step; 0: no gap is left
} ode_approach;

// Sets stiffness, dissipation and stiction from a surface. Returns NULL, or a message: the error in
// the surface and its consequence.
const char *sprag_ode_pull_surface(sprag_contact *to, const dSurfaceParameters *surface,
                                   const ode_stiffness *of_world);

// ---- surface_ode.c: the parameters of a surface that are ODE's own

// Sets all but the direction.
void sprag_ode_read_surface(sprag_surface *to, const dSurfaceParameters *surface,
                            dReal cfm_of_world);

// The surface of a contact joint, for a pair whose side 0 is of the body side_0 (NULL: static). The
// direction is set wherever it makes a difference, to fdir1 or to what ODE would take.
void sprag_ode_surface_of(sprag_surface *to, dJointID joint, dWorldID world, dBodyID side_0);

// ---- contact_frame.c

// The axes of a contact joint: the unit normal into its body[0] and two tangents, the first one
// along fdir1 if that is set. false: the normal has no usable length; the frame is undefined.
bool sprag_ode_contact_frame(double frame[3][3], const ode_contact_view *contact);
void sprag_ode_contact_tangents(double tangent[2][3], const ode_contact_view *contact,
                                const double normal[3]);

// ---- pull.c, bodies.c, contacts.c, joints.c, push.c: one island

// Input that cannot be used as it is; set by sprag_ode_pull, for messages and statistics.
typedef struct ode_input_errors {
    int dropped_contacts;      // contacts without a usable normal, point or depth
    dJointID invalid_contact;  // the first of them
    int invalid_surfaces;      // contacts with an error in their physical parameters
    dJointID invalid_surface;  // the first of them
    const char *surface_error; // its error
    int invalid_forces;        // bodies whose force was not finite or too great, and taken as zero
    dBodyID invalid_force;     // the first of them
    dBodyID nonfinite_body;    // its state is not finite: the island cannot be stepped
} ode_input_errors;

// Defined in loads.h.
typedef struct ode_stiffened_four ode_stiffened_four;
typedef struct ode_stiffened_distance ode_stiffened_distance;
typedef struct ode_loaded_joint ode_loaded_joint;
typedef struct ode_load ode_load;
typedef struct ode_turn ode_turn;
typedef struct ode_part ode_part;

// A body that spins fast about a principal axis (spin_step.c).
typedef struct ode_spin {
    int body;         // of the island
    bool follows;     // goes with its anchor
    double axis[3];   // unit, world axes, at the start of the step
    double anchor[4]; // m, from its centre along the axis
    double ahead[4];  // m/s, that the joint looks ahead
} ode_spin;

// The parts of a problem that sprag_ode_add_touches changes.
typedef struct ode_parts {
    sprag_body *body;
    sprag_contact *contact;
    double (*spent)[6];
    double *spent_work, *spent_row;
} ode_parts;

// An island as a contact problem; all arrays are in scratch. sprag_ode_pull sets everything, except
// that the solver fills the arrays of the solution.
typedef struct ode_problem {
    sprag_problem problem; // a view of the arrays below
    sprag_solution solution;
    ode_island island;
    sprag_body *body;
    sprag_contact *contact;
    int room; // for contacts
    sprag_row *row;
    // The way of the solution back into ODE:
    dJointID *contact_joint; // of each contact
    ode_warm_key *warm_key;  // of each contact
    double *approach;        // J, ode_approach.taken of each contact; NULL: gaps are none
    dJointID *row_joint;     // of each row; a joint's rows follow one another
    int *rows_of;            // of each joint of the island: rows that stock would have solved
    sprag_memory memory;     // of the island's last solves
    bool wants_feedback;     // a joint with rows has a dJointFeedback
    bool drives;             // a row of a joint does
    double (*force)[6];      // N, N m, accumulators of each body before the pull; NULL: not read
    double fastest_turn;     // rad^2/s^2, of the bodies before the step
    double slowest_cap;      // rad/s, least of their greatest angular velocities
    ode_spin *spin;          // bodies that spin fast, in the order of the island
    int spins;
    ode_stiffened_four *stiffened_four; // in the order of the island
    int stiffened_fours, stiffened_bodies;
    ode_stiffened_distance *stiffened_distance; // in the order of their joints
    int stiffened_distances;
    int joint_rows;           // rows of joints: those of stiffened distances are behind them
    int distances;            // joints that hold a distance; each has room for two more rows
    ode_load *load;           // of each body; NULL: not known
    ode_turn *turn;           // of each body
    ode_loaded_joint *loaded; // all joints, by rows
    int loadeds;
    bool loops;           // joints form one
    int loose;            // groups that no joint ties to the world
    int *group;           // of the world and each body, see sprag_ode_group()
    ode_part *part;       // the world's, and one of each body; NULL: no joint makes any
    bool arcs;            // joints look ahead, whether the island is under load or not
    double *ahead;        // m/s, of each row: the part of its bias that looks ahead; NULL: none
    ode_mending *mending; // of each row of a joint
    bool mends;           // a row may mend what the program has opened, or is a stop's
    bool knows_opened;    // in this step
    double erp;           // of the world
    sprag_solution first; // the solution before sprag_ode_solve_again, or sprag_ode_add_touches
    double won, may_win;  // J, by that solution: more than that is taken back
    ode_parts before;     // of the problem before its forces were spent; body NULL: none were
    double (*spent)[6];   // N, N m, of each contact: forces before those of the solution
    double *spent_work;   // J, of each contact: what their normal forces have taken
    double *spent_row;    // N, N m, of each row
    double *rebound;      // m/s, that each body may gain in the next step
    int rebounds;         // bodies of which that is not 0; 0: `rebound` is not set
    double factor;        // of the shares of bodies and distances under load, in the next step
    enum { ODE_FIRST, ODE_GROWN, ODE_WON } solve; // of the solution: why it is another
    // For statistics:
    int stock_rows;     // sum of rows_of
    double penetration; // m, largest of the contacts
    ode_input_errors errors;
} ode_problem;

// Reads an island. Asks every joint once (getInfo1, getInfo2). stiffness: of the world; NULL for
// ODE's own, and all contacts (reduce.h). warm_start: NULL for none. SPRAG_OK, SPRAG_NO_MEMORY, or
// SPRAG_BAD_PROBLEM if the state of a body is not finite, or sprag_problem_check would find a
// fault.
sprag_result sprag_ode_pull(ode_problem *pulled, dWorldID world, const ode_island *island,
                            dReal step, const ode_stiffness *stiffness, ode_warm_start *warm_start,
                            sprag_scratch *scratch);

// The force of a joint that wants feedback, computed by sprag_ode_push_velocities.
typedef struct ode_feedback {
    dJointID joint;
    int body[2];         // of the island; -1: none
    double wrench[2][6]; // N, N m: on the joint's bodies, in the order of sprag_ode_joint_bodies
    // set by sprag_ode_push_feedback
    dJointFeedback *to;
    int sides; // of it that are written
    bool of_last_body[2];
} ode_feedback;

// The end of a step of an island, in this order:
//
// First: writes velocities, and stores forces for the warm start (NULL: does not). Several threads
// may do so at once, each for other islands. feedback: room for one of each joint; spin: room for
// one of each body. Returns the number of feedbacks; the spins are pulled->spins.
int sprag_ode_push_velocities(const ode_problem *pulled, ode_warm_start *warm_start,
                              ode_feedback *feedback, ode_spin *spin);
// Second: writes joint feedback. If several joints share a dJointFeedback, it has the force of the
// joint that stock writes last. quick: the stock stepper is dWorldQuickStep, otherwise dWorldStep.
void sprag_ode_push_feedback(ode_feedback *feedback, int count, bool quick);
// Third: integrates the bodies by ODE's own dxStepBody, which moves geoms and calls moved
// callbacks, and empties the accumulators. force: room for one of each body; a force that a
// callback adds to a body that moves later then acts on it. NULL: it is lost.
void sprag_ode_move(const ode_island *island, dReal step, double (*force)[6], const ode_spin *spin,
                    int spins);

// Sets the accumulators as they were before the pull, so that stock can take the step.
void sprag_ode_restore(const ode_problem *pulled);

// Steps a body that has no joints. *invalid_force: its accumulated force was not finite or too
// great, and was taken as zero. false: its state is not finite; nothing is done.
bool sprag_ode_step_free(dBodyID body, dWorldID world, dReal step, bool *invalid_force);

// Leaves the bodies where they are and empties their accumulators.
void sprag_ode_freeze(const ode_island *island);

// ---- feedback.c: the only writer of dJointFeedback. Joints without feedback are ignored.

void sprag_ode_feedback_clear(dJointID joint);
void sprag_ode_feedback_set(dJointID joint, const double (*wrench)[6]); // as ode_feedback's

// Sets the feedback of every joint of the island that has rows and wants it. Returns their number.
int sprag_ode_feedback_of_island(const ode_problem *pulled, ode_feedback *to);

// ---- body_state.c

void sprag_ode_set_velocity(dBodyID body, const double velocity[6]);
void sprag_ode_read_accumulators(dBodyID body, double force[6]);
void sprag_ode_set_accumulators(dBodyID body, const double force[6]);
void sprag_ode_empty_accumulators(dBodyID body);

// Adds the weight to the accumulator, as stock does: a moved callback may read it there.
void sprag_ode_add_weight(dBodyID body);

// ---- push.c, warm_start.c: parts of the above

// Adds to `velocity` of a body the effect, in a step, of forces that moved callbacks of other
// bodies have added to its accumulators since those were `before`. As in dWorldStep they change the
// velocity at once, without contacts and joints, and not the motion of the step. false: they are
// not finite or too great.
bool sprag_ode_apply_added_force(dBodyID body, const double before[6], dReal step,
                                 double velocity[6]);

void sprag_ode_warm_start_store(ode_warm_start *warm_start, const ode_problem *pulled);

// ---- spin_step.c

// Finds bodies that spin fast, and sets their free velocities in the frames that follow their axes.
// Out of memory: the scratch has failed.
void sprag_ode_spin(ode_problem *pulled, sprag_scratch *scratch);

// Moves a body to the end of the step, from its velocity in that frame. dxStepBody over no time
// is to follow, for geoms, the moved callback and damping. So it is for sprag_ode_fly.
void sprag_ode_turn_with_axis(dBodyID body, const ode_spin *spin, dReal step);

// Slows v down to the body's greatest angular velocity. false: it is no greater.
bool sprag_ode_cap_turn(dBodyID body, double v[6]);

// Moves a body without contacts and rows over the step. body: as it was pulled. false: it does not
// tumble, and nothing is done.
bool sprag_ode_fly(dBodyID id, const sprag_body *body, dReal step);

// ---- edges.c

// Lists the contacts (*kept) without those of balls with edges that deeper contacts keep them off.
// Returns their number. Out of memory: the scratch has failed.
int sprag_ode_drop_edges(ode_problem *pulled, int **kept, sprag_scratch *scratch);

// ---- loads (load_stiffness.c, load_joints.c, load_opened.c)

// Adds inertia to bodies under load, changes their free velocities accordingly, and lets the rows
// of their island's joints look ahead in the first solve of a step. Out of memory: the scratch has
// failed.
void sprag_ode_stiffen(ode_problem *pulled, const ode_warm_start *warm_start,
                       sprag_scratch *scratch);

// Whether joints that look ahead by a part, the whole or nothing in one do otherwise in the other
// state of the same bodies: there the step has no derivative.
bool sprag_ode_arcs_differ(const ode_problem *a, const ode_problem *b);

// The share that joints look ahead by in this step, if loads follow nothing of the bodies but how
// they are turned; else 0. Before the step is charged.
double sprag_ode_share_of_turning(const ode_problem *pulled);

// The load on a body, by the turn (rad) of the body itself, or of another one that carries axes of
// its joints, along an axis: derivatives.
typedef struct ode_turned_load {
    int body, by, axis;
    double torque[3];  // N m, of rows without linear parts
    double added[9];   // kg m^2, of the added inertia
    double balance[3]; // N m s, of (I + A) (w - free w) by A and its target, at the solution
} ode_turned_load;

// Sets `added` and `balance`, with such a share.
void sprag_ode_turn_loads(const ode_problem *pulled, ode_turned_load *turned, int count);

// Sets the derivatives of the biases of a joint's first rows, [row][side], by the turns and angular
// velocities of its bodies, with that share. Returns the number of rows.
int sprag_ode_ahead_slopes(const ode_problem *pulled, const ode_loaded_joint *joint, double share,
                           double (*slope)[2][6]);

// After a solve; charges it. true: loads have grown so much within the step that the added inertia
// is too small for them, or the step has won much. Then the problem now is one with inertia for
// these loads; if it has won much, its target is rest, and no row looks ahead or mends. It is to be
// solved, and this to be called again; if the solve fails, `first` is the solution.
bool sprag_ode_solve_again(ode_problem *pulled, const ode_warm_start *warm_start,
                           sprag_scratch *scratch);

// Keeps the solution as `first`, and guesses its forces, unless it has won much. false: no memory.
bool sprag_ode_keep_solution(ode_problem *pulled, sprag_scratch *scratch);

// Takes the added inertia and the looks ahead out of the problem: its energy is that of the bodies.
void sprag_ode_unstiffen(ode_problem *pulled);

// Sets what the rows are to mend in the next step, by the solution with which the bodies move. Caps
// its turns as ODE will.
void sprag_ode_expect_mending(ode_problem *pulled);

// ---- touches.c

// false: the program has destroyed the geom since, or has its contact act on another body.
bool sprag_ode_is_on(dGeomID geom, dBodyID body);

// Finds where two geoms get into one another with these velocities of their bodies (NULL: does not
// move). aside: their contact is one of ODE_SIDE_ASIDE.
typedef bool ode_touch_fn(void *data, const dGeomID geom[2], const double *const velocity[2],
                          double step, bool aside, ode_touch *touch);

enum { ODE_TOUCHES_MAX = 4 }; // times that this is done in a step, once for each solution

// Adds contacts to pairs, of the first so many contacts, that get into one another with the
// velocities of the solution, and keeps that solution. Returns their number; 0: none, or no memory.
//
// Bodies that rebound, and meet something else in the same step, go on from the velocities of the
// solution: its forces are spent.
int sprag_ode_add_touches(ode_problem *pulled, int contacts, ode_touch_fn *find, void *data,
                          sprag_scratch *scratch);

// Takes out the contacts that were added last, and goes back to the solution before them.
void sprag_ode_drop_touches(ode_problem *pulled, int added);

// Adds the forces that are spent to the solution, and gives rows their bounds and bias back.
void sprag_ode_add_spent(ode_problem *pulled);

// ---- pull.c, bodies.c, contacts.c, joints.c: parts of sprag_ode_pull

// Bodies and joints lie far apart in memory. They are read a block at a time before they are used,
// so that the processor waits for all their cache lines at once; of prefetch instructions it drops
// most. Larger blocks are out of the first-level cache before their use, smaller ones wait more
// often.
enum { ODE_BLOCK = 16 };

static inline void sprag_ode_fetch(const void *from, const void *end)
{
    enum { LINE = 64 }; // bytes
    for (const volatile char *p = from; p < (const volatile char *)end; p += LINE) {
        (void)*p;
    }
    (void)((const volatile char *)end)[-1];
}

// The bodies of the block that starts at i, up to the accumulators.
static inline void sprag_ode_fetch_bodies(dBodyID const *body, int i, int count)
{
    for (int k = i; k < count && k < i + ODE_BLOCK; k++) {
        sprag_ode_fetch(body[k], dBodyGetTorque(body[k]) + 3);
    }
}

// A parameter that must not be negative; ODE takes a negative mu as 0 as well.
static inline double positive(double x)
{
    return x > 0 ? x : 0;
}

// Are pose, velocity and, unless it is kinematic, mass and inertia of a body finite?
bool sprag_ode_body_is_finite(dBodyID id);

// 1/kg, that a row's impulse acts on.
double sprag_ode_inverse_mass(const sprag_body *bodies, const int body[2],
                              const double jacobian[2][6]);

// 1/kg, that an impulse along the normal of a contact acts on.
double sprag_ode_inverse_mass_of_contact(const sprag_body *bodies, const sprag_contact *contact);

// Reads a body for a frame: force (accumulators and gravity) and mass properties, in its own axes;
// the mass of a kinematic body is 0. false: its accumulated force was not finite or too great.
bool sprag_ode_pull_mover(sprag_mover *to, dBodyID id, const dReal *gravity);

// false: its accumulated force was not finite or too great, and was taken as zero.
bool sprag_ode_pull_body(sprag_body *to, dBodyID id, const dReal *gravity, dReal step);

// The index of the bodies of an island, or of a world: a hash table by the body's address.
typedef struct ode_slot {
    dBodyID body; // NULL: free
    int index;
} ode_slot;

// Read once for a body, for all its contacts.
typedef struct ode_state {
    double position[3]; // m
    double velocity[6]; // m/s, rad/s
} ode_state;

typedef struct ode_index {
    int mask; // slots less 1, a power of two less 1
    ode_slot *slot;
    ode_state *state; // of the bodies; NULL: read from ODE for each contact
} ode_index;

void sprag_ode_read_state(ode_state *to, dBodyID body);

static inline ode_slot *sprag_ode_slot_of(const ode_index *index, dBodyID body)
{
    int i = sprag_hash_slot(sprag_hash(0, (uintptr_t)body), index->mask);
    while (index->slot[i].body && index->slot[i].body != body) {
        i = (i + 1) & index->mask;
    }
    return &index->slot[i];
}

// false: no memory.
bool sprag_ode_index_bodies(ode_index *index, dBodyID const *body, int bodies,
                            sprag_scratch *scratch);

// SPRAG_STATIC for NULL, and for a body that is not in the index.
static inline int sprag_ode_index_of(const ode_index *index, dBodyID body)
{
    const ode_slot *slot = body ? sprag_ode_slot_of(index, body) : NULL;
    return slot && slot->body ? slot->index : SPRAG_STATIC;
}

// Parameters of a world for all its contacts in a step; set by sprag_ode_setting.
typedef struct ode_setting {
    dReal step, erp, cfm, surface_layer, correcting_velocity; // s, 1, m/s per N, m, m/s
} ode_setting;

ode_setting sprag_ode_setting(dWorldID world, dReal step);

// ode_approach.taken of a contact with a gap. speed: m/s, at which its bodies come nearer.
double sprag_ode_taken_by_stop(const sprag_body *bodies, const sprag_contact *contact, double step,
                               double speed);

// The rebound of a contact where contacts may have gaps, after what the last step has taken from
// it.
void sprag_ode_rebound_from_stop(sprag_contact *contact, dJointID joint, double cfm,
                                 const sprag_body *bodies, double step, const ode_stop *stop);

// Fills in one contact that is all zero. false: it has no usable normal, point or depth, and stays
// zero. approach: for contacts with gaps; NULL: a gap is none. *surface_error: NULL, or a message.
// Rolling friction is put into the scratch.
bool sprag_ode_pull_contact(sprag_contact *to, const ode_contact_view *view,
                            const ode_setting *setting, const ode_stiffness *stiffness,
                            const ode_index *index, ode_approach *approach, sprag_scratch *scratch,
                            const char **surface_error);

// m/s, at which contact i closes when the step starts.
double sprag_ode_closing_before(const ode_problem *pulled, int i);

// J, that a normal force (N) of contact i takes between the start of the step and the solution.
double sprag_ode_taken_by_force(const ode_problem *pulled, int i, double force);

// Stops take, too, what others have won in the same step, but for springs, beyond what rebounds may
// return: the share of what stops have taken that is left for their own rebounds.
double sprag_ode_share_of_stops(const ode_problem *pulled);

// By a solution: what the rebounds of the next step may add to the velocities of bodies.
void sprag_ode_expect_rebounds(ode_problem *pulled, sprag_scratch *scratch);

// By a solution: what the step has taken from contact i; zero if it has not stopped it at its gap.
ode_stop sprag_ode_stop_of(const ode_problem *pulled, int i, double share);

// Has sprag's dCollide found the contact where geoms do not overlap?
static inline bool sprag_ode_is_gap(const dContactGeom *geom)
{
    return geom->depth < 0 && geom->side1 == ODE_SIDE_OF_GAP;
}

// Leaves the friction of a contact with a gap that the normal force bounds.
void sprag_ode_bound_friction_ahead(sprag_friction *friction);

// Across a gap nothing holds: a body would stick to a wall that it passes. Friction that the normal
// force does not bound waits until the contact has pressed in a step, by the warm start, and would
// close in this one. Waiting until the gap is closed may take for ever: the edge about which a body
// tips goes up by its turn, w^2 r h^2 / 2, in each step of the length h. contact: with a gap.
void sprag_ode_wait_for_touch(sprag_contact *contact, dJointID joint,
                              const ode_stiffness *stiffness, const sprag_problem *problem,
                              sprag_scratch *scratch);

// Appends the rows of one joint; returns their number. mending: of each row, from the warm start;
// NULL: not wanted.
int sprag_ode_pull_rows(sprag_row *to, dJointID joint, int rows, dWorldID world, dReal step,
                        const ode_index *index, const ode_warm_start *warm_start,
                        ode_mending *mending);

#endif
