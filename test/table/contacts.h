// Scenes for the rows of contacts.
#ifndef TEST_TABLE_CONTACTS_H
#define TEST_TABLE_CONTACTS_H

#include "linalg.h"
#include "sprag.h"
#include "support_scene.h"

static const double MU = 0.5;

static const char SOFT[] = "ignores the ERP, CFM or stiffness of contact surfaces";

// ---- contacts within a step

#define SMOOTH "friction is smooth"

#endif
