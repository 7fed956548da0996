// Contacts of a pair in the terms of a contact problem, and their forces in those of the frame:
// what both methods that step a frame need (advance.h, compliant.h).
#ifndef SPRAG_PAIR_CONTACT_H
#define SPRAG_PAIR_CONTACT_H

#include "frame.h"

// Normal and tangents, unit rows; the first tangent along `direction`, where that has one.
void sprag_contact_frame(const double normal[3], const double direction[3], double frame[3][3]);

// The contact at a point (m, world axes) of a pair, of the pair's surface, with the bodies where
// they are in the frame. Gap, bias and normal force law are for the caller to set; the force is
// unknown.
void sprag_pair_contact(const sprag_frame *frame, const sprag_pair *pair, const double at[3],
                        const double normal[3], sprag_contact *contact);

// Gives such a contact the friction of the pair's surface.
void sprag_pair_set_friction(const sprag_pair *pair, sprag_contact *contact);

// Adds the forces on both bodies (sprag_contact_wrench) that acted for a duration (s).
void sprag_pair_add_impulse(sprag_pair *pair, const double wrench[2][6], double duration);

#endif
