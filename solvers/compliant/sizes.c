// Inverse inertias of bodies and radii of their shapes, constant during a frame.
#include <math.h>
#include <string.h>

#include "compliant_run.h"
#include "linalg.h"

double compliant_gyration(const compliant_run *run, int body)
{
    const sprag_mover *b = &run->frame->body[body];
    double inertia = fmax(b->inertia[0], fmax(b->inertia[4], b->inertia[8]));
    return b->mass > 0 ? sqrt(inertia / b->mass) : 1;
}

static void set_radii(compliant_run *run)
{
    const sprag_frame *frame = run->frame;
    double *radius = run->sizes.radius;
    for (int i = 0; i < frame->colliders; i++) {
        const sprag_collider *collider = &frame->collider[i];
        double bounds[6], corner[3];
        if (collider->body == SPRAG_STATIC) {
            continue;
        }
        sprag_shape_bounds(&collider->shape, &collider->mount, bounds);
        for (int k = 0; k < 3; k++) {
            corner[k] = fmax(fabs(bounds[k]), fabs(bounds[k + 3]));
        }
        radius[collider->body] = fmax(radius[collider->body], norm3(corner));
    }
}

void compliant_set_sizes(compliant_run *run)
{
    for (int i = 0; i < run->frame->bodies; i++) {
        double *inverse = run->sizes.inverse_inertia[i];
        if (invert33(run->frame->body[i].inertia, inverse) == 0) {
            memset(inverse, 0, sizeof run->sizes.inverse_inertia[i]);
        }
    }
    set_radii(run);
}
