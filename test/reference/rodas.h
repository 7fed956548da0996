// A stiff method for the smooth parts of an event-selected system. It needs LAPACK, so it is not
// part of the product.
#ifndef SPRAG_RODAS_H
#define SPRAG_RODAS_H

#include "smooth.h"

extern const sprag_smooth sprag_rodas; // linearly implicit, L-stable, order 4(3)

#endif
