// Rows of geoms.
#include "test/support.h"

const support_row support_geoms[] = {
    {0},
};
