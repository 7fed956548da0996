// Movers and surfaces in the terms of a contact problem: what every method that steps a frame needs
// (advance.h, compliant.h).
#ifndef SPRAG_MOVER_H
#define SPRAG_MOVER_H

#include "frame.h"

// inertia: of the mover, world axes.
void sprag_mover_body(const sprag_mover *mover, const double inertia[9], double step,
                      sprag_body *to);

// Slows a turning (rad/s, world axes) down to the mover's cap.
void sprag_mover_cap(const sprag_mover *mover, double turning[3]);

// Normal and tangents, unit rows; the first tangent along `direction`, where that has one.
void sprag_contact_frame(const double normal[3], const double direction[3], double frame[3][3]);

#endif
