// Bodies: ODE -> masses, velocities and what they would be at the end of the step if nothing but
// the accumulated forces, gravity and gyroscopic torque acted, as stock computes it and in stock's
// order.
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "adapters/ode.h"
#include "solvers/linalg.h"

// ---- bodies by address

static int slot_of(const ode_index *index, dBodyID body)
{
    uint64_t hash = (uint64_t)(uintptr_t)body * 0x9e3779b97f4a7c15u;
    int slot = (int)((hash >> 32) & (uint64_t)index->mask);
    while (index->body[slot] && index->body[slot] != body) {
        slot = (slot + 1) & index->mask;
    }
    return slot;
}

int sprag_ode_index_of(const ode_index *index, dBodyID body)
{
    return body ? index->index[slot_of(index, body)] : SPRAG_STATIC;
}

static bool index_bodies(ode_index *index, const ode_island *island, sprag_scratch *scratch)
{
    int slots = 2;
    while (slots < 2 * island->bodies) {
        slots *= 2;
    }
    index->mask = slots - 1;
    index->body = SPRAG_TAKE(scratch, slots, dBodyID);
    index->index = SPRAG_TAKE(scratch, slots, int);
    if (scratch->failed) {
        return false;
    }
    for (int i = 0; i < island->bodies; i++) {
        int slot = slot_of(index, island->body[i]);
        index->body[slot] = island->body[i];
        index->index[slot] = i;
    }
    return true;
}

// ---- one body

static void pack(const dReal *rows_of_4, double *rows_of_3)
{
    for (int i = 0; i < 3; i++) {
        memcpy(rows_of_3 + 3 * i, rows_of_4 + 4 * i, 3 * sizeof *rows_of_3);
    }
}

static void unpack(const double *rows_of_3, dReal *rows_of_4)
{
    for (int i = 0; i < 3; i++) {
        memcpy(rows_of_4 + 4 * i, rows_of_3 + 3 * i, 3 * sizeof *rows_of_3);
        rows_of_4[4 * i + 3] = 0;
    }
}

// R A R'
static void turn(const dReal *R, const dReal *A, dReal *turned)
{
    dMatrix3 half;
    dMultiply2_333(half, A, R);
    dMultiply0_333(turned, R, half);
}

// Gyroscopic torque, implicitly (Lacoursiere: Stabilizing Gyroscopic Forces in Rigid Multibody
// Simulations, 2006): (I T^-1 - 1) L / h with T = I - h [L]x.
static void add_gyroscopic_torque(const dReal *inertia, const dReal *w, dReal step, dReal *torque)
{
    dVector3 L, tau;
    dMatrix3 T = {0};
    double packed[9], inverse[9];
    dMultiply0_331(L, inertia, w);
    dSetCrossMatrixMinus(T, L, 4);
    for (int i = 0; i < 12; i++) {
        T[i] = T[i] * step + inertia[i];
    }
    pack(T, packed);
    if (invert33(packed, inverse) == 0) {
        return;
    }
    dMatrix3 ratio;
    unpack(inverse, T);
    dMultiply0_333(ratio, inertia, T);
    for (int i = 0; i < 3; i++) {
        ratio[5 * i] -= 1;
        L[i] *= 1 / step;
    }
    dMultiply0_331(tau, ratio, L);
    for (int i = 0; i < 3; i++) {
        torque[i] += tau[i];
    }
}

static bool is_finite(const dReal *x, int n)
{
    dReal sum = 0;
    for (int i = 0; i < n; i++) {
        sum += x[i] * 0; // 0, or not a number
    }
    return sum == 0;
}

// Far beyond any scene, and small enough to be squared.
static bool is_moderate(const dReal *x, int n)
{
    for (int i = 0; i < n; i++) {
        if (!(fabs(x[i]) < 1e150)) {
            return false;
        }
    }
    return true;
}

// Accumulators and gravity; false if that is not finite.
static bool force_on(dBodyID id, const dMass *mass, const dReal *gravity, dReal *force,
                     dReal *torque)
{
    memcpy(force, dBodyGetForce(id), 3 * sizeof *force);
    memcpy(torque, dBodyGetTorque(id), 3 * sizeof *torque);
    bool good = is_finite(force, 3) && is_finite(torque, 3);
    for (int k = 0; k < 3; k++) {
        force[k] = good ? force[k] : 0;
        torque[k] = good ? torque[k] : 0;
        if (gravity[k] != 0 && dBodyGetGravityMode(id)) {
            force[k] += mass->mass * gravity[k];
        }
    }
    return good;
}

bool sprag_ode_pull_body(sprag_body *to, dBodyID id, const dReal *gravity, dReal step)
{
    dMass mass;
    dVector3 force, torque;
    const dReal *R = dBodyGetRotation(id), *v = dBodyGetLinearVel(id);
    const dReal *w = dBodyGetAngularVel(id);
    memcpy(to->velocity, v, 3 * sizeof *v);
    memcpy(to->velocity + 3, w, 3 * sizeof *w);
    memcpy(to->free_velocity, to->velocity, sizeof to->velocity);
    if (dBodyIsKinematic(id)) {
        to->mass = 0;
        return true;
    }
    dBodyGetMass(id, &mass);
    bool good = force_on(id, &mass, gravity, force, torque);
    dMatrix3 inertia, body_inverse, inverse;
    double packed[9], packed_inverse[9];
    pack(mass.I, packed);
    if (invert33(packed, packed_inverse) == 0) { // as dBodySetMass does
        memset(packed_inverse, 0, sizeof packed_inverse);
        packed_inverse[0] = packed_inverse[4] = packed_inverse[8] = 1;
        dMatrix3 identity = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
        memcpy(mass.I, identity, sizeof identity);
    }
    unpack(packed_inverse, body_inverse);
    turn(R, body_inverse, inverse);
    turn(R, mass.I, inertia);
    to->mass = mass.mass;
    pack(inertia, to->inertia);
    if (dBodyGetGyroscopicMode(id)) {
        add_gyroscopic_torque(inertia, w, step, torque);
    }
    double push = step * (1 / mass.mass);
    for (int k = 0; k < 3; k++) {
        to->free_velocity[k] += push * force[k];
        torque[k] *= step;
    }
    dMultiplyAdd0_331(to->free_velocity + 3, inverse, torque);
    if (!is_moderate(to->free_velocity, 6)) { // a force too large for the numbers
        memcpy(to->free_velocity, to->velocity, sizeof to->velocity);
        good = false;
    }
    return good;
}

bool sprag_ode_body_is_usable(dBodyID id)
{
    return is_finite(dBodyGetPosition(id), 3) && is_finite(dBodyGetQuaternion(id), 4) &&
           is_finite(dBodyGetLinearVel(id), 3) && is_finite(dBodyGetAngularVel(id), 3);
}

// ---- the island

static bool take_memory(ode_problem *pulled, const ode_island *island, int rows,
                        sprag_scratch *scratch, sprag_body **body, sprag_contact **contact,
                        sprag_row **row, dJointID **contact_joint, dJointID **row_joint)
{
    *body = SPRAG_TAKE(scratch, island->bodies, sprag_body);
    *contact = SPRAG_TAKE(scratch, island->joints, sprag_contact);
    *row = SPRAG_TAKE(scratch, rows, sprag_row);
    *contact_joint = SPRAG_TAKE(scratch, island->joints, dJointID);
    *row_joint = SPRAG_TAKE(scratch, rows, dJointID);
    pulled->force = SPRAG_TAKE(scratch, island->bodies, double[6]);
    pulled->solution.velocity = SPRAG_TAKE(scratch, island->bodies, double[6]);
    pulled->solution.contact_force = SPRAG_TAKE(scratch, island->joints, double[6]);
    pulled->solution.row_force = SPRAG_TAKE(scratch, rows, double);
    return !scratch->failed;
}

sprag_result sprag_ode_pull(ode_problem *pulled, dWorldID world, const ode_island *island,
                            dReal step, const ode_memory *memory, sprag_scratch *scratch)
{
    *pulled = (ode_problem){.island = *island};
    for (int i = 0; i < island->bodies; i++) {
        if (!sprag_ode_body_is_usable(island->body[i])) {
            pulled->unusable = island->body[i];
            return SPRAG_BAD_PROBLEM;
        }
    }
    int rows = 0;
    int *count = SPRAG_TAKE(scratch, island->joints, int);
    ode_index index;
    if (scratch->failed || !index_bodies(&index, island, scratch)) {
        return SPRAG_NO_MEMORY;
    }
    for (int j = 0; j < island->joints; j++) {
        count[j] = sprag_ode_count_rows(island->joint[j]).rows;
        pulled->stock_rows += count[j];
        rows += dJointGetType(island->joint[j]) == dJointTypeContact ? 0 : count[j];
    }
    sprag_body *body;
    sprag_contact *contact;
    sprag_row *row;
    dJointID *contact_joint, *row_joint;
    if (!take_memory(pulled, island, rows, scratch, &body, &contact, &row, &contact_joint,
                     &row_joint)) {
        return SPRAG_NO_MEMORY;
    }
    for (int i = 0; i < island->bodies; i++) {
        memcpy(pulled->force[i], dBodyGetForce(island->body[i]), 3 * sizeof(dReal));
        memcpy(pulled->force[i] + 3, dBodyGetTorque(island->body[i]), 3 * sizeof(dReal));
    }
    int contacts = 0;
    rows = 0;
    for (int j = 0; j < island->joints; j++) {
        dJointID joint = island->joint[j];
        if (dJointGetType(joint) == dJointTypeContact) {
            if (sprag_ode_pull_contact(&contact[contacts], joint, world, step, &index, memory)) {
                pulled->penetration = fmax(pulled->penetration, -contact[contacts].gap);
                contact_joint[contacts++] = joint;
            } else {
                pulled->dropped++;
            }
        } else if (count[j] > 0) { // dxJointNull's getInfo2 must never be called
            int more = sprag_ode_pull_rows(&row[rows], joint, count[j], world, step, &index);
            for (int k = 0; k < more; k++) {
                row_joint[rows++] = joint;
            }
        }
    }
    // After getInfo2: a powered motor at its stop adds to the accumulators there.
    dVector3 gravity;
    dWorldGetGravity(world, gravity);
    for (int i = 0; i < island->bodies; i++) {
        if (!sprag_ode_pull_body(&body[i], island->body[i], gravity, step)) {
            pulled->bad_force = pulled->bad_forces++ ? pulled->bad_force : island->body[i];
            memset(pulled->force[i], 0, sizeof pulled->force[i]); // nor shall stock meet it
        }
    }
    pulled->rows_of = count;
    pulled->contact_joint = contact_joint;
    pulled->row_joint = row_joint;
    pulled->problem = (sprag_problem){.step = step,
                                      .bodies = island->bodies,
                                      .contacts = contacts,
                                      .rows = rows,
                                      .body = body,
                                      .contact = contact,
                                      .row = row};
    return SPRAG_OK;
}
