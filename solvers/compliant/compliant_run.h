// One frame of bodies with contacts that yield, as its parts see it (compliant.h): state.c
// bodies, scale.c what they are measured by, law.c what a pair's surface means,
// contact.c what that makes of a pair, guards.c which pairs there are, equations.c
// forces, guards and their derivatives, compliant_rows.h joints, switch.c what must not be
// integrated, integrate.c the integration, implicit_step.c the implicit step, compliant.c the
// frame.
#ifndef SPRAG_COMPLIANT_RUN_H
#define SPRAG_COMPLIANT_RUN_H

#include "compliant.h"
#include "ess.h"

// Of a body: position, quaternion, velocity, angular velocity, world axes.
// A bounce without another stiffness takes this part of the frame.
static const double compliant_bounce_time = 0.25;

// Behind all of them, where there are joints: the time, which motors go by.
enum {
    COMPLIANT_STATES = 13,
    COMPLIANT_QUATERNION = 3,
    COMPLIANT_VELOCITY = 7,
    COMPLIANT_SPIN = 10
};

typedef struct compliant_law {
    double stiffness, dissipation, damping; // N/m, s/m, N s/m, of a point
    double compliance;                      // m/s per N, of a rigid one, in the implicit step
    bool hunt_crossley;
    bool unknown;  // until it is touched, where the integration ends
    bool declined; // may overlap
    bool rigid;    // of the implicit step only, for that reason:
    sprag_compliant_reason why;
    double stiction;  // m/s
    double effective; // kg
} compliant_law;

typedef struct compliant_joints compliant_joints; // of rows.c

typedef struct compliant_run {
    sprag_frame *frame;
    const sprag_compliant_options *options;
    const sprag_frame_calls *calls;
    sprag_scratch *scratch, *solving;
    sprag_compliant_stats *stats;
    double time;           // s, since the start of the frame
    int guards;            // pairs that can touch
    int *pair;             // of the guards
    compliant_law *law;    // of the guards
    double *label, *side;  // of the guards; side: label, work
    double *eps;           // m
    double *cost;          // of the guards, of a look at a pair, in looks at two balls
    bool *two_way, *last;  // of the guards
    double *x, *f, *scale; // state; its rate
    double (*inverse)[9];  // bodies, of the inertia, in their axes
    double fastest;        // m/s, in the frame
    double change;         // m/s, that forces make in it
    double work;           // in looks at two balls, until now
    long steps, stepped;   // of the integrator in the frame: most, until now
    double expected;       // steps, by rates
    double *marked;        // state at which all pairs were looked at last
    double *radius;        // m, of bodies, of their shapes about their centres
    double *seen;          // m, guards, gaps then
    double *gone;          // m, bodies, since then, at most
    double reach;          // m, that no gap closes by in a step of the integrator
    sprag_ess_event first; // the last time that one of unknown law was touched
    sprag_event *told;     // to be told if the frame comes to its end
    int tells, tell_room;
    int rows; // of joints; -1: there are no joints
    int stops;
    int *met; // stops, which are guards behind those of pairs: how often
    compliant_joints *joints;
    bool glancing; // at what laws are about
    bool rested;   // the rest of the frame went by the implicit step
    // of the state that was last placed:
    sprag_pose *pose;         // bodies
    double (*wrench)[6];      // bodies
    sprag_gap_memory *memory; // guards: of the start of the integration, read only
} compliant_run;

static inline bool compliant_acts(const compliant_law *law)
{
    return !law->rigid && !law->unknown && !law->declined;
}

// Then its law is not known until it is met.
static inline bool compliant_needs_speed(const sprag_surface *surface)
{
    return surface->bounce > 0 && (surface->bounce_speed > 0 || surface->bounce < 1);
}

// state.c
void compliant_pack(compliant_run *run);                   // movers -> x
void compliant_unpack(compliant_run *run);                 // x -> movers
void compliant_place(compliant_run *run, const double *x); // poses
void compliant_place_body(compliant_run *run, const double *x, int body);
void compliant_multiply(const double *A, const double *B, double *C);
// Of a force and torque.
void compliant_accelerate(const compliant_run *run, int body, const double *wrench, double *a);
// J M^-1 J' of a body at its pose, J in world axes; 0 if its mass is 0.
double compliant_body_inverse_mass(const compliant_run *run, int body, const double J[6]);
// Entries of a row of Dh for a quaternion; lever: what is measured changes by, per rad/s.
void compliant_turn_row(const double *q, const double *lever, double sign, double value[4]);

// scale.c
void compliant_set_inertias(compliant_run *run);
void compliant_set_radii(compliant_run *run);
void compliant_set_scale(compliant_run *run);                  // speeds to measure errors by
double compliant_gyration(const compliant_run *run, int body); // m

// law.c: bodies have been placed.
void compliant_set_law(compliant_run *run, int guard, bool met_now);

// contact.c
typedef enum compliant_look {
    COMPLIANT_GAP,    // one point
    COMPLIANT_POINTS, // all that overlap
    COMPLIANT_FORCES,
    COMPLIANT_RATES,
} compliant_look;

typedef struct compliant_contact { // a pair where the bodies are
    sprag_gap gap;
    int count;                           // points that overlap, or the nearest ones
    double at[SPRAG_MANIFOLD_MAX][3];    // m
    double depth[SPRAG_MANIFOLD_MAX];    // m
    double force[SPRAG_MANIFOLD_MAX][3]; // N, on shape 0
    double deepest;                      // m, of the points
    double approach;                     // m/s, of the first point
    double rate, slip_rate; // 1/s, how fast f may change by forces along the normal, by friction
} compliant_contact;

int compliant_body(const compliant_run *run, int guard, int side);
// Bodies have been placed.
void compliant_touch(const compliant_run *run, const double *x, int guard, compliant_look look,
                     compliant_contact *contact);
// The points that are less than `margin` (m) apart count too; without forces.
void compliant_touch_near(const compliant_run *run, const double *x, int guard, double margin,
                          compliant_contact *contact);
// 1/kg, along a direction at a point.
double compliant_inverse_mass(const compliant_run *run, int guard, const double *at,
                              const double *along);
// Adds the contact's force and torque (N, N m) on the body of a side, which has been placed; static:
// nothing.
void compliant_add_wrench(const compliant_run *run, int guard, int side,
                          const compliant_contact *contact, double wrench[6]);
// false: there is no number. kept NULL: a copy, so that the same state has the same answer.
bool compliant_find_gap(const compliant_run *run, int guard, double reach, double margin,
                        sprag_gap_memory *kept, sprag_gap *gap, sprag_manifold *manifold);
// Where the movers are, and remembers the gap and where to look for it next.
void compliant_look_at(compliant_run *run, int guard, compliant_look look,
                       compliant_contact *contact);
void compliant_mark(compliant_run *run);                     // all pairs are looked at here
void compliant_measure(compliant_run *run, const double *x); // how far bodies have moved since then
double compliant_least_gap(const compliant_run *run, int guard); // m; a lower bound by that
void compliant_place_pair(compliant_run *run, const double *x, int guard);

// guards.c
void compliant_pass_time(sprag_frame *frame); // once a frame, however often it is tried
bool compliant_take_guards(compliant_run *run);
// Does something that is for the implicit step only touch from the start, by what is known? Then
// nothing else need be looked at.
bool compliant_starts_rigid(compliant_run *run, sprag_compliant_reason *why);
void compliant_find_guards(compliant_run *run);
bool compliant_is_deep(const compliant_run *run, int guard);
// What may have come near since the last look, and how far everything is at least.
void compliant_look_again(compliant_run *run);
// Asks about a pair that touches, or is about to. false: it is let through.
bool compliant_meet(compliant_run *run, int guard, double gap, const sprag_ess_event *event);
// What could not be integrated in one frame is not tried again in the next ones, in twice as many
// every time.
void compliant_wait_longer(compliant_run *run, bool done);

// equations.c
sprag_ess_problem compliant_problem(compliant_run *run);

// switch.c
double compliant_cost(const compliant_run *run, int guard);
bool compliant_is_enough(void *run, double time); // it takes too much work, or is about to
void compliant_set_sides(compliant_run *run);     // of pairs: run->side
// *rate: 1/s, of what is left to be integrated.
bool compliant_must_rest(compliant_run *run, double *rate, sprag_compliant_reason *why);

// integrate.c
void compliant_tell(compliant_run *run, const double *x, const sprag_ess_event *event);
void compliant_tell_stop(compliant_run *run, const sprag_ess_event *event);
sprag_result compliant_integrate(compliant_run *run, double rate, sprag_ess_stats *stats);

// rows.c: joints. false: they are none that can be integrated.
bool compliant_take_rows(compliant_run *run, sprag_compliant_reason *why);
// Asks for rows where bodies have been placed, which may also push them. false: something changed
// about them.
bool compliant_ask_rows(compliant_run *run, const double *x);
// Adds what those do to f. label: of the stops. false: rows depend on one another.
bool compliant_constrain(compliant_run *run, const double *x, const double *label, double *f);
// Tells the forces of rows at run->x, as a share of the frame's. side: of guards and stops. false:
// they are none.
bool compliant_tell_rows(compliant_run *run, const double *side, double share);
bool compliant_is_apart(
    compliant_run *run); // a row, too far for it to be the same all the way back
double compliant_row_speed(compliant_run *run); // m/s, that rows want of bodies at rest, at most

// stops.c
// Where bodies have been placed: how far past the stops (h of a guard), and the row of Dh.
bool compliant_past_stops(compliant_run *run, const double *x, const int *stop, int count,
                          double *h);
int compliant_stop_row(compliant_run *run, const double *x, int stop, int *column, double *value);
void compliant_set_band(compliant_run *run, double time); // s, before a stop
// Met at the state; label: of the stops, 0 afterwards of those that it parts. Row forces are
// impulses (N s) then.
bool compliant_meet_stop(compliant_run *run, int stop, double *label);
void compliant_leave_stop(compliant_run *run, int stop);
// As rows were asked last: at or past the stop, past it; the speed (of the row) of what has only
// just reached it and goes on, else 0.
bool compliant_is_at(const compliant_run *run, int stop);
bool compliant_is_past(const compliant_run *run, int stop);
double compliant_goes_on(const compliant_run *run, int stop);
// At the start of a frame: velocities that joints do not allow, and those that mend their errors,
// by impulses. label: of all guards.
bool compliant_start_rows(compliant_run *run, const double *label);

// implicit_step.c: the rest of the frame, in one implicit step.
sprag_result compliant_rest(compliant_run *run);

#endif
