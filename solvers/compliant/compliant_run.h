// State of one frame with compliant contacts (compliant.h), and the functions by which the parts of
// the method call one another. The files are listed in the order of their calls: a file calls those
// above it, and itself.
//
//     state.c          bodies as a state vector; inertias, radii; forces to accelerations
//     budget.c         work: cost, limit, progress
//     distance.c       gaps of pairs; triangles that share a point
//     contact.c        contact points of a pair and their forces
//     law.c            surface -> law of a pair's points
//     row_solver.c     bounded linear system (row_solver.h)
//     row_matrix.c     active rows and their matrix (compliant_joints.h)
//     row_laws.c       joint rows that move by laws
//     rows.c           joint rows: evaluation, motors, forces
//     scale.c          scales of errors, fastest motion
//     stops.c          stops of joints as guards, and impacts at them
//     held_rates.c     J' v at the points of contacts that hold
//     hold.c           rigid contacts that hold
//     forces.c         f
//     start.c          joint rows at the start and end of a frame; joints that are too far apart
//     guards.c         pairs as guards, and the caller's answers for them; events
//     impact.c         impulses of pairs that bounce
//     flight.c         flight from touch to touch
//     equations.c      the event-selected system: f, guards, rows of Dh
//     integrate.c      integration to the next event that ends it
//     given.c          contacts without a distance
//     switch.c         decision between integration and implicit step
//     implicit_step.c  the implicit step
//     compliant.c      the frame
//     tangent.c        its derivatives
#ifndef SPRAG_COMPLIANT_RUN_H
#define SPRAG_COMPLIANT_RUN_H

#include "compliant.h"
#include "compliant_constants.h"
#include "ess.h"
#include "linalg.h"

// State of a body: position, unit quaternion, velocity, angular velocity (world axes). Behind the
// bodies, where there are joints: the time since the start of the frame, which motors depend on.
// Where derivatives are wanted: that time, and forces of bodies, which do not change.
enum {
    COMPLIANT_STATES = 13,
    COMPLIANT_QUATERNION = 3,
    COMPLIANT_VELOCITY = 7,
    COMPLIANT_SPIN = 10
};

typedef enum compliant_status {
    COMPLIANT_INTEGRATED, // has forces within the integration
    COMPLIANT_UNKNOWN,    // apart, and the integration ends where it touches: its law is not known,
                          // or it bounces by impulses
    COMPLIANT_RIGID_PAIR, // impacts by impulses, and holds by constraints; its label is 0
    COMPLIANT_DECLINED,   // the caller lets the pair overlap
    COMPLIANT_IMPLICIT,   // for the implicit step alone, for `reason`
} compliant_status;

// Law of the points of a pair. Set by compliant_set_law, from the surface and the speed of impact.
typedef struct compliant_law {
    compliant_status status;
    sprag_compliant_reason reason; // with COMPLIANT_IMPLICIT
    bool hunt_crossley;            // the surface has a stiffness
    double stiffness;              // N/m, k
    double dissipation;            // s/m, d
    double damping;                // N s/m, c
    double compliance;             // m/s per N, of contacts that hold, and in the implicit step
                                   // where k and c are 0
    double recovery;               // 1/s, of their overlap
    double stiction;               // m/s, slip that counts as sticking
    double effective_mass;         // kg, reduced mass of the two bodies
} compliant_law;

// State of all bodies.
typedef struct compliant_state {
    double *x;           // state at run->time; by compliant_pack and by the integrator
    double *f;           // its rate, where compliant_field was called for it
    sprag_pose *pose;    // bodies; by compliant_place, of the state that was placed last
    double (*wrench)[6]; // bodies, N and N m; by compliant_field: without joint rows
    int *local;          // bodies, 0 at first: their numbers in impacts; by impact.c
} compliant_state;

// Sizes of a frame, constant during it. By state.c and scale.c.
typedef struct compliant_sizes {
    double (*inverse_inertia)[9]; // bodies, 1/(kg m^2), body axes
    double *radius;               // bodies, m, of their shapes about the centre of mass
    double *scale;                // states, their units: size to measure errors by
    double fastest;               // m/s, fastest motion within the frame
    double change;                // m/s, largest change of velocity by forces within the frame
    double step_range;            // m, no gap closes by more in a step of the integrator
} compliant_sizes;

// Guards: of pairs, then of stops. By guards.c, unless noted.
typedef struct compliant_guards {
    int pairs;                // number of the guards of pairs
    int *pair;                // pairs; index in frame->pair
    int *first_of_mesh;       // pairs; the first guard of a triangle of the same mesh near the same
                              // body, or of the same two meshes; these follow one another
    compliant_law *law;       // pairs; by law.c
    sprag_gap_memory *memory; // pairs; features where the gap is looked for first
    double *cost;             // pairs, evaluations
    double *gap;              // pairs, m, at bounds.x, or a lower bound there
    double *label;            // 1: overlapping, stop active; 0: not; NAN: by the sign of the guard;
                              // changed by the integrator and by stops.c
    double *known_label;      // the same without NAN; by compliant_set_known_labels
    double *band;             // m or rad, where events are projected; by switch.c and stops.c
    double *overlap;          // pairs, m, by which a pair may overlap that counts as apart
    bool *two_way;            // true for all
    bool *ends_integration;   // crossing it ends the integration
} compliant_guards;

// Lower bounds of gaps, by how far bodies have moved since all gaps were evaluated.
typedef struct compliant_bounds {
    double *x;     // state at that time; by compliant_set_reference
    double *moved; // bodies, m, motion of any of their points since; by compliant_measure_motion
} compliant_bounds;

// Work and steps of a frame.
typedef struct compliant_budget {
    double work;           // evaluations, so far
    long max_steps;        // of the integrator in the frame; by switch.c
    long steps;            // so far; by integrate.c and flight.c
    double expected_steps; // by the rates of the forces; by switch.c
} compliant_budget;

// Events, kept until it is certain that the frame counts.
typedef struct compliant_events {
    sprag_event *event;
    int count, room;
    sprag_ess_event first_touch; // the last event of a pair without a law
} compliant_events;

// Points of rigid contacts that held at the last evaluation of f. By hold.c.
typedef struct compliant_held {
    int points;
    sprag_contact *contact; // body: of the frame
    int *guard, *of;        // points: guard, and point of its contact
    bool *pair;             // guards: may hold; by compliant_set_held_pairs
    double (*velocity)[3];  // m/s, along the frame
    double (*rate)[3];      // m/s^2, of it without accelerations
    double (*force)[6];     // N, N m, as of sprag_solution
    int kept;               // points that hold until they push no more, in the order of guards; by
                            // compliant_set_held_pairs and compliant_keep_held
    int *kept_guard;        // kept points
    double (*kept_arm)[3];  // likewise: m, from the centre of the first body
    int row_guesses;        // active rows at the last evaluation
    double *row_guess;      // N, N m, their forces
    int lost;               // evaluations whose forces were not found, since the last event
    bool observed;          // evaluations leave no guesses: f must not depend on who looks at it
    bool *knows;            // bodies: have been in an evaluation, whose `end` is a guess
    double (*end)[6];       // bodies, m/s, rad/s, after T, by the last evaluation
} compliant_held;

// The next touch of a pair in flight.
typedef struct compliant_touch {
    double time;  // s, since the start of the frame; in the past: unknown
    double speed; // m/s, of approach
} compliant_touch;

// Flight from touch to touch. By flight.c.
typedef struct compliant_flight {
    bool begun;
    compliant_touch *touch; // guards of pairs
    double (*velocity)[6];  // bodies, where the last flight ended
    double *since;          // bodies, s: the time at which the frame has them
    double *way;            // bodies, m, in the rest of the frame, where the flight begins
    int *first, *guard;     // bodies + 1: the first of the guards of each
} compliant_flight;

typedef struct compliant_joints compliant_joints; // compliant_joints.h

typedef struct compliant_run {
    // given:
    sprag_frame *frame;
    const sprag_compliant_options *options;
    const sprag_frame_calls *calls;
    double work_left;                       // products of blocks, of impacts or the implicit step
    double hold_work;                       // the same of rigid contacts that hold
    sprag_scratch *scratch, *solve_scratch; // of the frame; of one integration or implicit step
    sprag_compliant_stats *stats;
    // set:
    double time; // s, since the start of the frame, that the integration has reached
    compliant_state state;
    compliant_sizes sizes;
    compliant_guards guards;
    compliant_bounds bounds;
    compliant_budget budget;
    compliant_events events;
    compliant_held held;
    compliant_flight flight;
    int rows;                 // joint rows; -1: no joints
    int stops;                // of joints
    compliant_joints *joints; // NULL: no joints
    bool law_for_test;        // laws are set to look at their status; a cheap dissipation will do
    bool rows_reported;       // with the forces of contacts that rest
    bool implicitly_finished; // the implicit step solved the rest of the frame
    bool has_settled;         // impacts have left pairs at rest
    bool has_forces;          // the state has forces that add to those of the bodies
    struct slopes *slopes;    // of f; by tangent.c
} compliant_run;

// The first of the forces in a state.
static inline int compliant_forces_at(const compliant_run *run)
{
    return run->frame->bodies * COMPLIANT_STATES + 1;
}

static inline int compliant_states(const compliant_run *run)
{
    int time = run->rows >= 0 || run->has_forces;
    return run->frame->bodies * (COMPLIANT_STATES + (run->has_forces ? 6 : 0)) + time;
}

static inline size_t compliant_state_bytes(const compliant_run *run)
{
    return ((size_t)run->frame->bodies * COMPLIANT_STATES + 1) * sizeof(double);
}

static inline sprag_pair *compliant_pair(const compliant_run *run, int guard)
{
    return &run->frame->pair[run->guards.pair[guard]];
}

static inline const sprag_collider *compliant_collider(const compliant_run *run, int guard,
                                                       int side)
{
    return &run->frame->collider[compliant_pair(run, guard)->collider[side]];
}

static inline int compliant_body(const compliant_run *run, int guard, int side)
{
    return compliant_collider(run, guard, side)->body;
}

static inline const sprag_surface *compliant_surface(const compliant_run *run, int guard)
{
    return &compliant_pair(run, guard)->surface;
}

// m/s and rad/s, by a state; NULL: static.
static inline const double *compliant_velocity_of(const double *x, int body)
{
    return body == SPRAG_STATIC ? NULL : x + COMPLIANT_STATES * body + COMPLIANT_VELOCITY;
}

// m/s, no point of a body moves faster by a velocity and spin; m/s^2 by accelerations.
static inline double compliant_fastest_point(const compliant_run *run, int body,
                                             const double velocity[6])
{
    return norm3(velocity) + run->sizes.radius[body] * norm3(velocity + 3);
}

static inline bool compliant_is_rigid(const compliant_run *run, int guard)
{
    return run->guards.law[guard].status == COMPLIANT_RIGID_PAIR;
}

static inline bool compliant_acts(const compliant_law *law)
{
    return law->status == COMPLIANT_INTEGRATED;
}

// Depends its law on the speed of impact?
static inline bool compliant_needs_speed(const sprag_surface *surface)
{
    return surface->stiffness > 0 && surface->bounce > 0 &&
           (surface->bounce_speed > 0 || surface->bounce < 1);
}

// Bounces it by impulses (impact.c)?
static inline bool compliant_bounces(const sprag_surface *surface)
{
    return !(surface->stiffness > 0) && surface->bounce > 0;
}

static inline bool compliant_rebounds(const compliant_run *run, int guard)
{
    return compliant_pair(run, guard)->state == SPRAG_PAIR_ACCEPTED &&
           compliant_bounces(compliant_surface(run, guard));
}

// Is it apart, as far as is known, and will bounce where it touches?
static inline bool compliant_flies(const compliant_run *run, int guard)
{
    return run->guards.law[guard].status == COMPLIANT_UNKNOWN && compliant_rebounds(run, guard);
}

// ---- state.c

void compliant_pack(compliant_run *run);                   // movers and time -> state.x
void compliant_pack_body(compliant_run *run, int body);    // without the time
void compliant_unpack(compliant_run *run);                 // state.x -> movers
void compliant_place(compliant_run *run, const double *x); // x -> state.pose
void compliant_place_body(compliant_run *run, const double *x, int body);
// a = M^-1 wrench of a body at its pose.
void compliant_accelerate(const compliant_run *run, int body, const double *wrench, double *a);
// J M^-1 J' of a body at its pose, J in world axes; 0 if its mass is 0.
double compliant_body_inverse_mass(const compliant_run *run, int body, const double J[6]);
// Entries of Dh for position and quaternion of a body, where h' = sign J . velocity. Returns 7.
int compliant_guard_row(const double *x, int body, const double J[6], double sign, int *column,
                        double *value);
void compliant_set_sizes(compliant_run *run);                  // inverse inertias and radii
double compliant_gyration(const compliant_run *run, int body); // m, largest radius of gyration

// ---- budget.c

double compliant_cost(const compliant_run *run, int guard); // evaluations, of a pair
double compliant_max_work(const compliant_run *run);        // evaluations, of a frame
bool compliant_is_over_budget(void *run, double time);
long compliant_step_limit(const compliant_run *run); // steps beyond mean chattering forces

// ---- distance.c: poses are those of the movers, or placed.

void compliant_place_pair(compliant_run *run, const double *x, int guard);
// Pose of a side's shape. room: memory for a pose that is not stored.
const sprag_pose *compliant_shape_pose(const compliant_run *run, int guard, int side,
                                       sprag_pose *room);
// false: there is no gap. memory NULL: uses a copy, so that the same state has the same answer.
bool compliant_find_gap(compliant_run *run, int guard, double reach, double margin,
                        sprag_gap_memory *memory, sprag_gap *gap, sprag_manifold *manifold);
void compliant_set_reference(compliant_run *run);                   // bounds.x
void compliant_measure_motion(compliant_run *run, const double *x); // bounds.moved
double compliant_gap_bound(const compliant_run *run, int guard);    // m, lower bound of the gap

// The guard behind `last` (-1: the first) of another triangle of the same mesh near the same body,
// or of the same two meshes; -1: none.
int compliant_next_of_mesh(const compliant_run *run, int guard, int last);

// Does the contact of a triangle with this gap belong to another one, that has its point, too? Then
// *depth is that one's, m. Bodies are placed at x.
bool compliant_belongs_to_neighbour(compliant_run *run, const double *x, int guard,
                                    const sprag_gap *gap, double *depth);

// ---- contact.c

typedef enum compliant_detail {
    COMPLIANT_GAP,        // the gap and one point
    COMPLIANT_OWN_POINTS, // all points, of triangles those of their neighbours, too
    COMPLIANT_POINTS,     // all points that overlap
    COMPLIANT_FORCES,     // and their forces
    COMPLIANT_RATES,      // and the rates of these
} compliant_detail;

// Contact of a pair at a state.
typedef struct compliant_contact {
    sprag_gap gap;
    int count;                           // points that overlap, or one, the nearest; 0: the contact
                                         // of a triangle that belongs to its neighbour, or a gap
                                         // beyond the margin
    double at[SPRAG_MANIFOLD_MAX][3];    // m
    double depth[SPRAG_MANIFOLD_MAX];    // m
    double share[SPRAG_MANIFOLD_MAX];    // of a point's force that each has
    double force[SPRAG_MANIFOLD_MAX][3]; // N, on side 0
    double deepest;                      // m, of the depths, or of the neighbour
    double approach;                     // m/s, of the first point, along the normal
    double rate, slip_rate;              // 1/s, of forces along the normal, of friction: how fast
                                         // they may change velocities
} compliant_contact;

// m/s, of the point of side 0 relative to that of side 1, of bodies that are placed.
void compliant_velocity_at(const compliant_run *run, const double *x, int guard, const double *at,
                           double u[3]);

// Bodies are placed at x.
void compliant_find_contact(compliant_run *run, const double *x, int guard, compliant_detail detail,
                            compliant_contact *contact);
// The forces at other velocities, bodies where the contact was found.
void compliant_update_forces(const compliant_run *run, const double *x, int guard,
                             compliant_contact *contact);
// All points with a gap below `margin` (m); without forces.
void compliant_find_points(compliant_run *run, const double *x, int guard, double margin,
                           compliant_contact *contact);
// All points of the pair, those that belong to a neighbour, too.
void compliant_find_own_points(compliant_run *run, const double *x, int guard,
                               compliant_contact *contact);
// Points that approach faster than `least` (m/s) pass one another: the gap closes no half as fast
// as the normal says while the bodies move on by a few times `touch` (m). An edge that meets
// another one has the normal of either face, so a box that slides from one box onto the next would
// hit its side. Bodies are placed at state.x.
bool compliant_passes(compliant_run *run, int guard, const compliant_contact *contact, double touch,
                      double least);
// At state.x: stores the gap, and the memory for the next ones.
void compliant_update_gap(compliant_run *run, int guard);
// 1/kg, of both bodies along a direction at a point.
double compliant_inverse_mass(const compliant_run *run, int guard, const double *at,
                              const double *along);
// Adds the contact's force and torque (N, N m) on the body of a side; none on a static one.
void compliant_add_wrench(const compliant_run *run, int guard, int side,
                          const compliant_contact *contact, double wrench[6]);
// Adds the impulses of a contact's forces over a time (s) to the pair.
void compliant_add_impulses(compliant_run *run, int guard, const compliant_contact *contact,
                            double time);

// ---- law.c

// Bodies are placed at state.x. touches_now: the speed of impact is that of now.
void compliant_set_law(compliant_run *run, int guard, bool touches_now);

typedef sprag_result compliant_solver(const sprag_problem *, const sprag_stribeck_options *,
                                      sprag_scratch *, sprag_solution *, sprag_stats *);

// Solves a problem. Friction that the normal force does not bound acts at points that push, only:
// what falls past a wall is not braked. least: m/s, by which a point that pushes changes
// velocities. The contacts of *problem are then those of the last solve.
sprag_result compliant_solve_pushing(compliant_solver *solve, sprag_problem *problem,
                                     const sprag_stribeck_options *options, sprag_scratch *scratch,
                                     double least, sprag_solution *solution);
// sprag_stribeck_forces of every island, until one has none: one that is hard to solve costs no
// updates of the others. A compliant_solver; *solution is undefined unless it returns SPRAG_OK.
sprag_result compliant_island_forces(const sprag_problem *problem,
                                     const sprag_stribeck_options *options, sprag_scratch *scratch,
                                     sprag_solution *solution, sprag_stats *stats);

// ---- scale.c

void compliant_set_scale(compliant_run *run);
double compliant_touch_distance(const compliant_run *run); // m, gap up to which pairs touch

// ---- held_rates.c

// Sets the rates of the held points from `first` on, all of a pair with this contact. Bodies are
// placed.
void compliant_set_held_rates(compliant_run *run, const double *x, int guard,
                              const compliant_contact *contact, int first);

// ---- hold.c

bool compliant_allocate_held(compliant_run *run);
bool compliant_holds(const compliant_run *run); // is any pair rigid?
// m/s: points of rigid contacts that approach or separate faster do not hold.
double compliant_rest_speed(const compliant_run *run);
// Adds the effect of rigid contacts that hold, and of joint rows, to f. false: there is none.
bool compliant_hold(compliant_run *run, const double *x, const double *label, double *f);
// Sets the pairs that hold at state.x: until the next event no other ones do, but triangles onto
// which the same body rolls from one of the same mesh.
void compliant_set_held_pairs(compliant_run *run);
// At the end of a step: keeps the points that pushed at the last evaluation of f.
void compliant_keep_held(compliant_run *run);
// Pairs that bounce, and do not hold at state.x, become unknown, as the implicit step needs them.
void compliant_release_flying(compliant_run *run);
// Adds the impulses over a time (s) of the points that held at the last evaluation of f.
void compliant_add_held_impulses(compliant_run *run, double time);

// ---- forces.c

// f at x, for labels; f[0] is NAN where there are no forces. Adds to state.wrench.
void compliant_field(void *run, const double *x, const double *label, double *f);
// The part of f of one body that is placed, by the forces of its contacts (N, N m, at its centre).
void compliant_body_field(compliant_run *run, const double *x, int body, const double *contacts,
                          double *f);
// Change of f where the label of a pair changes; without joints.
void compliant_jump(void *run, const double *x, const double *label, int guard, double *change);

// ---- guards.c

void compliant_begin_memories(sprag_frame *frame); // once a frame, however often it is tried
bool compliant_allocate_guards(compliant_run *run);
// Tests whether a pair that overlaps at the start of the frame is for the implicit step only.
bool compliant_starts_implicit(compliant_run *run, sprag_compliant_reason *reason);
void compliant_find_guards(compliant_run *run);
// Tests for an overlap that the pair's motion and weight do not explain.
bool compliant_is_deep(compliant_run *run, int guard);
void compliant_update_gaps(compliant_run *run); // of pairs that may be near
// Asks the caller about a pair without a law that touches. false: declined.
bool compliant_resolve_pair(compliant_run *run, int guard, double gap,
                            const sprag_ess_event *event);
void compliant_set_known_labels(compliant_run *run);
// done: the integration of the frame came to its end. Sets for how many frames the pairs that
// overlap skip the integration.
void compliant_set_implicit_series(compliant_run *run, bool done);
// Counts an event at x and keeps it for the caller.
void compliant_record_event(compliant_run *run, const double *x, const sprag_ess_event *event);
// A pair that bounces was hit at a speed (m/s), or has left.
void compliant_record_impact(compliant_run *run, int guard, double speed, bool made);
void compliant_record_stop(compliant_run *run, const sprag_ess_event *event);
void compliant_report_events(compliant_run *run); // to the caller

// ---- impact.c

// Impulses of the pairs that touch and approach at state.x, where one bounces; then sets the labels
// of those that bounce: apart or at rest. false: there is no solution.
bool compliant_impact(compliant_run *run);
// Impulses of a pair in flight that touches nothing else; its bodies are placed at state.x, which
// have them as the frame does. false: compliant_impact is to go on; earlier waves of impulses stay.
bool compliant_bounce(compliant_run *run, int guard);
// Tests whether a pair that bounces may touch within the frame, faster than it takes to rest.
bool compliant_will_impact(compliant_run *run);

// ---- flight.c

// Moves the bodies to the end of the frame, if nothing but constant forces can act on them. false:
// nothing is done. alone: of a frame without joints, in which bodies touch nothing.
bool compliant_fly(compliant_run *run);
bool compliant_fly_alone(sprag_frame *frame, sprag_compliant_stats *stats);
// Can the bodies fly to the next touch in closed form?
bool compliant_flies_to_touch(const compliant_run *run);
// To the end of the frame, or to the next touch that concerns more than two bodies, or makes one
// turn. As of sprag_ess_integrate. Where a body begins to turn: SPRAG_OK.
sprag_result compliant_fly_on(compliant_run *run, sprag_ess_stats *stats);

// ---- equations.c

sprag_ess_problem compliant_problem(compliant_run *run);

// ---- given.c

// Impulses of the given contacts at the start of the frame, if they push no more afterwards: the
// bodies have the velocities behind them. false: nothing is done.
bool compliant_leave_given(compliant_run *run, sprag_solution *impulses);

// ---- switch.c

void compliant_hold_spring(compliant_run *run, int guard);
// Tests whether the implicit step must solve the rest of the frame. *rate: 1/s, of the forces.
bool compliant_needs_implicit_step(compliant_run *run, double *rate,
                                   sprag_compliant_reason *reason);

// ---- integrate.c

// rate: 1/s, for the first step.
sprag_result compliant_integrate(compliant_run *run, double rate, sprag_ess_stats *stats);

// ---- implicit_step.c

sprag_result compliant_implicit_step(compliant_run *run); // the rest of the frame

// ---- compliant.c

bool compliant_allocate(compliant_run *run);

#endif
