// Bodies as a state vector and back; their sizes; accelerations by forces; rows of guards.
#include <math.h>
#include <string.h>

#include "compliant_run.h"
#include "kinematics.h"

// Shepperd's method: divides by the largest of the four.
static void quaternion_of(const double R[9], double q[4])
{
    double trace = R[0] + R[4] + R[8];
    const double size[4] = {trace, R[0], R[4], R[8]};
    int k = 0;
    for (int i = 1; i < 4; i++) {
        k = size[i] > size[k] ? i : k;
    }
    if (k == 0) {
        double s = 2 * sqrt(1 + trace);
        q[0] = s / 4;
        q[1] = (R[7] - R[5]) / s, q[2] = (R[2] - R[6]) / s, q[3] = (R[3] - R[1]) / s;
        return;
    }
    int a = k - 1, b = (a + 1) % 3, c = (a + 2) % 3;
    double s = 2 * sqrt(fmax(0, 1 + R[4 * a] - R[4 * b] - R[4 * c]));
    q[0] = (R[3 * c + b] - R[3 * b + c]) / s;
    q[1 + a] = s / 4;
    q[1 + b] = (R[3 * b + a] + R[3 * a + b]) / s;
    q[1 + c] = (R[3 * c + a] + R[3 * a + c]) / s;
}

// The rotation of a quaternion of any length.
static void rotation_of(const double q[4], double R[9])
{
    double n = q[0] * q[0] + dot3(q + 1, q + 1), s = n > 0 ? 2 / n : 0;
    double w = q[0], x = q[1], y = q[2], z = q[3];
    R[0] = 1 - s * (y * y + z * z), R[1] = s * (x * y - w * z), R[2] = s * (x * z + w * y);
    R[3] = s * (x * y + w * z), R[4] = 1 - s * (x * x + z * z), R[5] = s * (y * z - w * x);
    R[6] = s * (x * z - w * y), R[7] = s * (y * z + w * x), R[8] = 1 - s * (x * x + y * y);
}

void compliant_pack_body(compliant_run *run, int body)
{
    const sprag_mover *mover = &run->frame->body[body];
    double *x = run->state.x + COMPLIANT_STATES * body;
    memcpy(x, mover->pose.position, 3 * sizeof *x);
    quaternion_of(mover->pose.rotation, x + COMPLIANT_QUATERNION);
    memcpy(x + COMPLIANT_VELOCITY, mover->velocity, 6 * sizeof *x);
}

void compliant_pack(compliant_run *run)
{
    for (int i = 0; i < run->frame->bodies; i++) {
        compliant_pack_body(run, i);
    }
    run->state.x[COMPLIANT_STATES * run->frame->bodies] = run->time;
}

void compliant_place_body(compliant_run *run, const double *x, int body)
{
    const double *at = x + COMPLIANT_STATES * body;
    memcpy(run->state.pose[body].position, at, 3 * sizeof *at);
    rotation_of(at + COMPLIANT_QUATERNION, run->state.pose[body].rotation);
}

void compliant_place(compliant_run *run, const double *x)
{
    for (int i = 0; i < run->frame->bodies; i++) {
        compliant_place_body(run, x, i);
    }
}

void compliant_unpack(compliant_run *run)
{
    compliant_place(run, run->state.x);
    for (int i = 0; i < run->frame->bodies; i++) {
        sprag_mover *body = &run->frame->body[i];
        body->pose = run->state.pose[i];
        memcpy(body->velocity, run->state.x + COMPLIANT_STATES * i + COMPLIANT_VELOCITY,
               sizeof body->velocity);
    }
}

void compliant_accelerate(const compliant_run *run, int body, const double *wrench, double *a)
{
    double own[3], turned[3];
    const double *R = run->state.pose[body].rotation, mass = run->frame->body[body].mass;
    if (mass == 0) {
        memset(a, 0, 6 * sizeof *a);
        return;
    }
    for (int k = 0; k < 3; k++) {
        a[k] = wrench[k] / mass;
    }
    mul33_transposed(R, wrench + 3, own);
    mul33(run->sizes.inverse_inertia[body], own, turned);
    mul33(R, turned, a + 3);
}

double compliant_body_inverse_mass(const compliant_run *run, int body, const double J[6])
{
    double mass = run->frame->body[body].mass, own[6];
    if (mass == 0) {
        return 0;
    }
    memcpy(own, J, 3 * sizeof *own);
    mul33_transposed(run->state.pose[body].rotation, J + 3, own + 3);
    return inverse_mass_along(1 / mass, run->sizes.inverse_inertia[body], own);
}

// A change dq of the quaternion turns by twice the vector part of dq conj(q) / |q|^2.
int compliant_guard_row(const double *x, int body, const double J[6], double sign, int *column,
                        double *value)
{
    enum { ENTRIES = 7 };
    const double *q = x + COMPLIANT_STATES * body + COMPLIANT_QUATERNION;
    double across[3], scale = 2 * sign / (q[0] * q[0] + dot3(q + 1, q + 1));
    cross3(q + 1, J + 3, across);
    for (int k = 0; k < ENTRIES; k++) {
        column[k] = COMPLIANT_STATES * body + k;
    }
    for (int k = 0; k < 3; k++) {
        value[k] = sign * J[k];
    }
    value[COMPLIANT_QUATERNION] = -scale * dot3(J + 3, q + 1);
    for (int k = 0; k < 3; k++) {
        value[COMPLIANT_QUATERNION + 1 + k] = scale * (q[0] * J[3 + k] - across[k]);
    }
    return ENTRIES;
}

// ---- sizes, constant during a frame

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
        if (collider->body != SPRAG_STATIC) {
            double own = sprag_collider_radius(collider);
            radius[collider->body] = fmax(radius[collider->body], own);
        }
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
