// The methods that can step a world, by the names that the option `method` takes.
#ifndef SPRAG_METHOD_H
#define SPRAG_METHOD_H

#include <stdbool.h>
#include <stddef.h>

// The two steppers of ODE: dWorldStep and dWorldQuickStep.
typedef enum stock { STOCK_STEP, STOCK_QUICK } stock;

typedef struct method {
    const char *name;
    const char *summary;
    bool ours;           // a method of sprag; false: one of ODE's steppers
    bool fixed;          // ODE: always `stepper`; false: the stepper that the program calls
    stock stepper;       // ODE: the stepper
    bool keeps_distance; // ours: bodies stop before they overlap, so sprag also answers the
                         // program's collision calls, which ODE answers for overlapping geoms only
    bool is_compliant;   // ours: contacts have a stiffness
} method;

extern const method methods[]; // ends with one whose name is NULL

const method *method_find(const char *name, size_t length); // NULL: no method has this name

// Whether the running ODE has what the methods of sprag need. Prints one message if it does not.
bool method_is_possible(void);

#endif
