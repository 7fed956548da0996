// Rows of joints.
#include "test/support.h"

const support_row support_joints[] = {
    {0},
};
