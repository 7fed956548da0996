// Scales of a frame: the fastest motion that may occur, and by it the sizes that errors are
// measured by.
#include <math.h>

#include "compliant_joints.h"
#include "linalg.h"
#include "mover.h"

// m/s, of the bodies of a row that has to change its velocity by `speed`, by no more than `force`.
static double body_speed(const compliant_run *run, int row, double speed, double force)
{
    const int *body = run->joints->row[row].body;
    const double sum = compliant_row_inverse_mass(run, row);
    const double impulse = sum > 0 ? fmin(speed / sum, force * run->frame->step) : 0;
    double fastest = 0;
    for (int side = 0; side < 2; side++) {
        const double *response = run->joints->response[row][side];
        double turned = body[side] == SPRAG_STATIC
                            ? 0
                            : compliant_gyration(run, body[side]) * norm3(response + 3);
        fastest = fmax(fastest, impulse * (norm3(response) + turned));
    }
    return fastest;
}

// m/s, largest speed that rows and stops give to bodies at rest.
static double row_speed(const compliant_run *run)
{
    const compliant_joints *j = run->joints;
    double fastest = 0;
    for (int i = 0; i < run->rows; i++) {
        const sprag_row *row = &j->row[i];
        double wanted = fabs(row->bias - compliant_row_velocity(row, run->state.x));
        double force = fmax(-row->lo, row->hi);
        fastest = fmax(fastest, body_speed(run, i, wanted, force));
    }
    for (int s = 0; s < run->stops; s++) {
        double bias = compliant_stop_bias(run, &j->stop[s]);
        fastest = fmax(fastest, body_speed(run, j->stop[s].row, bias, INFINITY));
    }
    return fastest;
}

// m/s at the least radius of gyration, change by the torque on a body within the frame.
static double turning_change(const compliant_run *run, const sprag_mover *b)
{
    double inertia = fmin(b->inertia[0], fmin(b->inertia[4], b->inertia[8]));
    double radius = sqrt(inertia / fmax(b->mass, 1e-300));
    return inertia > 0 ? radius * norm3(b->force + 3) / inertia * run->frame->step : 0;
}

static void set_fastest(compliant_run *run)
{
    compliant_sizes *sizes = &run->sizes;
    sizes->fastest = fmax(1e-9, row_speed(run));
    for (int i = 0; i < run->frame->bodies; i++) {
        const sprag_mover *b = &run->frame->body[i];
        double change = sprag_mover_acceleration(b) * run->frame->step;
        sizes->change = fmax(sizes->change, change);
        double turning = compliant_gyration(run, i) * norm3(b->velocity + 3);
        double moving = norm3(b->velocity) + fmax(change, turning_change(run, b));
        sizes->fastest = fmax(sizes->fastest, fmax(moving, turning));
    }
}

void compliant_set_scale(compliant_run *run)
{
    const sprag_frame *frame = run->frame;
    compliant_sizes *sizes = &run->sizes;
    double h = frame->step;
    set_fastest(run);
    sizes->scale[COMPLIANT_STATES * frame->bodies] = h;
    for (int i = 0; i < frame->bodies; i++) {
        const sprag_mover *b = &frame->body[i];
        double *scale = sizes->scale + COMPLIANT_STATES * i, radius = compliant_gyration(run, i);
        double spin = sizes->fastest / fmax(radius, 1e-9);
        for (int k = 0; k < 3; k++) {
            scale[k] = sizes->fastest * h;
            scale[COMPLIANT_VELOCITY + k] = sizes->fastest;
            scale[COMPLIANT_SPIN + k] = spin;
        }
        for (int k = 0; k < 4; k++) {
            scale[COMPLIANT_QUATERNION + k] = fmin(spin * h, 1);
        }
        // Two bodies, each of which may get twice as fast, and turns a point far from its centre.
        double turning = 4 * radius * norm3(b->velocity + 3);
        sizes->step_range = fmax(sizes->step_range, 4 * h * (sizes->fastest + turning));
    }
}

double compliant_touch_distance(const compliant_run *run)
{
    double band = COMPLIANT_BAND * sqrt(run->options->tolerance);
    return fmax(COMPLIANT_BAND_MIN, band * run->sizes.fastest * run->frame->step);
}
