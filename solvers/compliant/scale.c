// What a frame is measured by: masses, sizes and speeds of its bodies.
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

// m/s, what a torque changes in the frame, about the axis that it is easiest to turn about.
static double spun(const compliant_run *run, const sprag_mover *b)
{
    double inertia = fmin(b->inertia[0], fmin(b->inertia[4], b->inertia[8]));
    double radius = sqrt(inertia / fmax(b->mass, 1e-300));
    return inertia > 0 ? radius * norm3(b->force + 3) / inertia * run->frame->step : 0;
}

// Speeds to measure errors by: of the fastest body, or what the frame changes.
void compliant_set_scale(compliant_run *run)
{
    const sprag_frame *frame = run->frame;
    double h = frame->step;
    run->scale[COMPLIANT_STATES * frame->bodies] = h;
    run->fastest = fmax(1e-9, run->rows > 0 ? compliant_row_speed(run) : 0);
    for (int i = 0; i < frame->bodies; i++) {
        const sprag_mover *b = &frame->body[i];
        double change = b->mass > 0 ? norm3(b->force) / b->mass * h : 0;
        run->change = fmax(run->change, change);
        run->fastest = fmax(run->fastest, norm3(b->velocity) + fmax(change, spun(run, b)));
    }
    for (int i = 0; i < frame->bodies; i++) {
        const sprag_mover *b = &frame->body[i];
        double *scale = run->scale + COMPLIANT_STATES * i, radius = compliant_gyration(run, i);
        double spin = fmax(run->fastest / fmax(radius, 1e-9), norm3(b->velocity + 3));
        for (int k = 0; k < 3; k++) {
            scale[k] = run->fastest * h;
            scale[COMPLIANT_VELOCITY + k] = run->fastest;
            scale[COMPLIANT_SPIN + k] = spin;
        }
        for (int k = 0; k < 4; k++) {
            scale[COMPLIANT_QUATERNION + k] = fmin(spin * h, 1);
        }
        double turning = 4 * radius * norm3(b->velocity + 3); // of a point far out
        run->reach = fmax(run->reach, 4 * h * (run->fastest + turning));
    }
}

void compliant_set_radii(compliant_run *run)
{
    const sprag_frame *frame = run->frame;
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
        run->radius[collider->body] = fmax(run->radius[collider->body], norm3(corner));
    }
}

void compliant_set_inertias(compliant_run *run)
{
    for (int i = 0; i < run->frame->bodies; i++) {
        if (invert33(run->frame->body[i].inertia, run->inverse[i]) == 0) {
            memset(run->inverse[i], 0, sizeof run->inverse[i]);
        }
    }
}
