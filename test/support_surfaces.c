// Rows of surfaces.
#include "test/support.h"

const support_row support_surfaces[] = {
    {0},
};
