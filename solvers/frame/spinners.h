// Bodies that spin fast while contacts or rows near the axis hold them, as a top: their step is
// solved in the frame that follows the axis (spin.h).
#ifndef SPRAG_SPINNERS_H
#define SPRAG_SPINNERS_H

#include "frame.h"
#include "scratch.h"

// The hold of rows and contacts on a body that spins about an axis.
typedef struct sprag_spin_hold {
    bool held;    // by a row with a linear part, or a contact
    bool touched; // by a contact
    bool off;     // held at a point off the axis: the body swings or tips
} sprag_spin_hold;

// axis: unit, world axes; 0: of the bodies that do not spin. of: of each body, all false before.
void sprag_spin_find_holds(const sprag_problem *problem, const double (*axis)[3],
                           sprag_spin_hold *of);

// Finds such bodies, sets their axes (unit, world axes; 0: of the others), and makes their inertia
// and free velocity those of the step in that frame. body: of the problem, from sprag_mover_body.
// frame_step: s. No memory: the scratch has failed.
void sprag_spin_held(const sprag_mover *mover, double frame_step, const sprag_problem *problem,
                     sprag_body *body, double (*axis)[3], sprag_scratch *scratch);

// Whether what acts on a body with a torque about an axis, of so much (N m) for each N, holds it
// off the axis: the body swings or tips.
bool sprag_spin_is_off_axis(double mass, const double I[9], double torque);

// After the solve: the rate (rad/s) of the one turn, about one axis, that ends the step in the same
// pose; makes w, of the solution, the angular velocity at the end in world axes.
void sprag_spin_rate(const double axis[3], double step, double w[3], double rate[3]);

#endif
