// Joint rows of a frame: state, and the calls between their files (order: compliant_run.h).
#ifndef SPRAG_COMPLIANT_JOINTS_H
#define SPRAG_COMPLIANT_JOINTS_H

#include "compliant_run.h"
#include "row_solver.h"

// Rules of rows in continuous time. By rows.c, at the start of the frame.
typedef enum compliant_rule {
    COMPLIANT_ONE_SIDED, // hardly yields, one bound: follows (bias - J v) / h
    COMPLIANT_RIGID,     // hardly yields, no bound: keeps target_speed
    COMPLIANT_SPRING,    // yields: an explicit spring and damper
    COMPLIANT_MOTOR      // two bounds: follows target_speed + target_rate t
} compliant_rule;

typedef struct compliant_moving_row compliant_moving_row; // row_laws.c

// A body that two active rows share: the product of the Jacobian of the later one, of this side,
// with a response of the other is a part of an entry of their matrix.
typedef struct compliant_coupling {
    double sign; // -1: one of them is of a stop that acts along -J
    int entry;
    short side, response; // response: twice the row, plus the side
} compliant_coupling;

struct compliant_joints {
    // at the last evaluation, of the caller, or moved by their laws:
    const sprag_row *row;
    const sprag_stop *stop;
    // by row_laws.c, where all rows have laws:
    bool has_laws;
    compliant_moving_row *moving; // rows
    sprag_row *moved_row;
    sprag_stop *moved_stop;
    double *first_inside; // stops, rad or m, at the start of the frame
    bool has_moved;
    double *moved_x; // the last state that rows were evaluated for
    // along the motion; by compliant_evaluate_row_rates:
    double *jacobian_rate; // rows, J' v, m/s^2 or rad/s^2
    double *bias_rate;     // rows, m/s^2 or rad/s^2
    // what rows follow; by set_rules, compliant_set_motors, start.c:
    compliant_rule *rule;
    double *target_speed; // rows, m/s or rad/s; of a motor: extrapolated to the start of the frame
    double *target_rate;  // rows, m/s^2 or rad/s^2, of motors
    double *target_end;   // rows, s: when a motor that was hit has its speed again; else INFINITY
    bool *was_hit;        // rows: motors whose target is to be set again
    double *force_share;  // rows, share of its force that a motor has in this frame
    double *yield_speed;  // rows, then stops, m/s or rad/s: CFM times their force at the start
    // of stops; by stops.c and start.c:
    double *hysteresis;       // m or rad, by which an active stop counts as reached earlier
    double *separation_speed; // m/s or rad/s, that a stop that hardly yields pushes to
    int *hits;                // impacts in this frame
    // the equations for their forces; by row_matrix.c:
    double (*response)[2][6];     // rows, M^-1 J' of both bodies
    double *inverse_mass;         // bodies, 1/kg; by rows.c
    double (*inverse_inertia)[9]; // bodies, 1/(kg m^2), world axes
    compliant_row_system active;
    compliant_coupling *coupling;     // of its matrix; by compliant_set_active_rows
    int couplings, *end_of_couplings; // of each active row
    bool active_for_forces; // `active` is for forces and the labels of stops in active_label, and
    double *active_label;   // may be taken again
    int *first_of_body;     // bodies: first active row of each, -1: none
    bool as_if_rigid;       // without the CFM of rows and stops that hardly yield
    double *force;          // rows, N, N m (impulses in impacts); by rows.c
    bool has_forces;     // `force` belongs to the rows of moved_x and the labels in force_label; by
                         // compliant_constrain
    double *force_label; // of all guards
};

// ---- row_matrix.c

// From the last evaluation, with bodies placed there.
void compliant_set_responses(compliant_run *run);
// 1/kg, 1/(kg m^2), with the responses.
double compliant_row_inverse_mass(const compliant_run *run, int row);
// Less than the integrator could resolve: such rows are constraints, others springs.
bool compliant_hardly_yields(const compliant_run *run, int row, double compliance);
// m/s or rad/s, ERP / h times what a stop is passed by.
double compliant_stop_bias(const compliant_run *run, const sprag_stop *stop);

// m/s or rad/s, target of sign J v of an active row.
double compliant_active_bias(const compliant_run *run, const compliant_active_row *row);

typedef enum compliant_equations {
    COMPLIANT_FOR_FORCES, // within the integration
    COMPLIANT_FOR_IMPACT, // rows without motors, stops
    COMPLIANT_FOR_START   // rigid rows, stops that hardly yield
} compliant_equations;

// label: of the stops.
void compliant_set_active_rows(compliant_run *run, const double *label, compliant_equations of);
// Responses of all rows, and what the active ones yield by. time: s, since the start of the frame
void compliant_set_yields(compliant_run *run, double time);
bool compliant_solve_active(compliant_run *run); // for `right`. false: rows depend on one another
// Solves the active rows for `right`, and adds lambda to `force` and its effect to f: rates for
// forces, the state for impulses. false: rows depend on one another.
bool compliant_apply_rows(compliant_run *run, double *f);
void compliant_apply_row(const compliant_joints *joints, int row, double force, double *f);

// ---- row_laws.c

// Bodies are placed at state.x, for which the caller has just been asked for rows. Asks for their
// laws; without, rows are asked for at every state. false: no memory.
bool compliant_start_laws(compliant_run *run);
// Rows, and J' v; stops. All rows have laws, and bodies are placed at x.
void compliant_move_rows(compliant_run *run, const double *x);
void compliant_move_stops(compliant_run *run, const double *x);

// ---- rows.c

// false: the frame cannot be integrated, for *reason.
bool compliant_start_joints(compliant_run *run, sprag_compliant_reason *reason);
// Asks the caller for rows and stops where bodies are placed, moved on by t (s) with the velocities
// in x. false: their number has changed.
bool compliant_ask_rows(compliant_run *run, const double *x, double t);
// Evaluates rows and stops where bodies are placed. false: as of compliant_ask_rows.
bool compliant_evaluate_rows(compliant_run *run, const double *x);
bool compliant_evaluate_row_rates(compliant_run *run, const double *x); // and rows at t = 0
// J v, with the velocities in a state or the accelerations in its rate.
double compliant_row_velocity(const sprag_row *row, const double *x);
void compliant_set_motors(compliant_run *run); // target speeds and rates, from the current speeds
// The same after an impact, of the motors that it has made faster or slower.
void compliant_hit_motors(compliant_run *run);
// Motors that were hit pull with all their force until they have their speed. false: there are no
// forces.
bool compliant_plan_motors(compliant_run *run);
double compliant_next_motor(const compliant_run *run); // s, when the next one has its speed
// Motors that have their speed now keep it.
void compliant_end_motors(compliant_run *run);
// The equations of the rows that act, with the accelerations in f that they have without; adds the
// effect of springs to f. label: of all guards.
void compliant_demand(compliant_run *run, const double *x, const double *label, double *f);
// Adds the effect of the rows' forces to f. label: of all guards. false: there are none.
bool compliant_constrain(compliant_run *run, const double *x, const double *label, double *f);
// Was the last evaluation of rows and their forces that of x and the labels of all guards?
bool compliant_has_forces(const compliant_run *run, const double *x, const double *label);
// Reports forces of rows, times a share of the frame, to the caller.
void compliant_report_rows(compliant_run *run, double share);

// ---- stops.c

// Guard functions, and a row of Dh, of bodies that are placed.
bool compliant_stop_guards(compliant_run *run, const double *x, const int *stop, int count,
                           double *h);
int compliant_stop_row(compliant_run *run, const double *x, int stop, int *column, double *value);
void compliant_set_stop_bands(compliant_run *run, double time); // s, width of the bands
double compliant_stop_hysteresis(const compliant_run *run, int stop);
// Impact at a stop. label: of the stops; becomes 0 for those that separate. Row forces are impulses
// (N s) then. false: there are none.
bool compliant_hit_stop(compliant_run *run, int stop, double *label);
void compliant_release_stop(compliant_run *run, int stop);
// Releases active stops that separate, after an impact. label: of the stops. Returns whether others
// separate too slowly for that.
bool compliant_release_separating(compliant_run *run, double *label);
// At the last evaluation: at or past the stop; past it; the speed, m/s or rad/s, of a coordinate
// that has just reached the stop and moves on, else 0.
bool compliant_is_at_stop(const compliant_run *run, int stop);
bool compliant_is_past_stop(const compliant_run *run, int stop);
double compliant_hit_speed(const compliant_run *run, int stop);
double compliant_stop_velocity(const compliant_run *run, int stop); // away from it
bool compliant_apply_impulses(compliant_run *run);                  // of the active rows

// ---- start.c

// Tests whether a row changes on the way back from its error, so that it may not be integrated.
bool compliant_has_joint_error(compliant_run *run);

// Impulses at the start of the frame that make velocities those of ODE's step: they remove
// velocities that joints do not allow, and correct errors. label: of all guards.
bool compliant_start_rows(compliant_run *run, const double *label);
// Reports the forces of rows at state.x. label: of all guards. false: there are none.
bool compliant_report_row_forces(compliant_run *run, const double *label, double share);

#endif
