// Continuation: the roots of the problem with a stiction tolerance exp(t) form a path. It begins
// where friction is negligible and the root is the only one, and ends at the root that is wanted.
// Where the path turns back, no smaller tolerance has a root nearby; so it is followed by its
// length, not by t (Allgower and Georg, Introduction to Numerical Continuation Methods, ch. 2, 6).
// It cannot return to its start nor leave through large velocities, as contacts do not add energy;
// so it ends at a root, unless two of its parts are taken for one another.
//
// It goes to smaller t where the determinant of the matrix is positive, and to larger t elsewhere.
// This holds behind kinks, too, where a contact opens or closes and the direction jumps.
#ifndef SPRAG_CONTINUATION_H
#define SPRAG_CONTINUATION_H

#include "newton.h"

// state->v: the root on return of SPRAG_OK. stiction: m/s. limits->iterations: most factorisations
// in *stats. SPRAG_NOT_CONVERGED, SPRAG_NO_MEMORY.
sprag_result sprag_continuation(sprag_system *system, const sprag_newton_limits *limits,
                                double stiction, sprag_newton_state *state, sprag_stats *stats);

#endif
