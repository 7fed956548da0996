// Rows of worlds.
#include "test/support.h"

const support_row support_worlds[] = {
    {0},
};
