#include "snapshot.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct body_state {
    dVector3 position, velocity, turning, force, torque;
    dMatrix3 rotation;
    dQuaternion quaternion;
    bool enabled;
} body_state;

struct snapshot {
    int bodies;
    dBodyID const *body;
    body_state *state;
    unsigned long seed;
};

// ODE's functions return pointers into the body; those that set a rotation would round it.
static void put(const dReal *at, const dReal *value, size_t size)
{
    memcpy((dReal *)(uintptr_t)at, value, size);
}

static void take(body_state *to, dBodyID body)
{
    memcpy(to->position, dBodyGetPosition(body), sizeof to->position);
    memcpy(to->rotation, dBodyGetRotation(body), sizeof to->rotation);
    memcpy(to->quaternion, dBodyGetQuaternion(body), sizeof to->quaternion);
    memcpy(to->velocity, dBodyGetLinearVel(body), sizeof to->velocity);
    memcpy(to->turning, dBodyGetAngularVel(body), sizeof to->turning);
    memcpy(to->force, dBodyGetForce(body), sizeof to->force);
    memcpy(to->torque, dBodyGetTorque(body), sizeof to->torque);
    to->enabled = dBodyIsEnabled(body);
}

static void restore(const body_state *from, dBodyID body)
{
    put(dBodyGetRotation(body), from->rotation, sizeof from->rotation);
    put(dBodyGetQuaternion(body), from->quaternion, sizeof from->quaternion);
    put(dBodyGetLinearVel(body), from->velocity, sizeof from->velocity);
    put(dBodyGetAngularVel(body), from->turning, sizeof from->turning);
    put(dBodyGetForce(body), from->force, sizeof from->force);
    put(dBodyGetTorque(body), from->torque, sizeof from->torque);
    dBodySetPosition(body, from->position[0], from->position[1], from->position[2]); // moves geoms
    if (from->enabled && !dBodyIsEnabled(body)) {
        dBodyEnable(body);
    } else if (!from->enabled) {
        dBodyDisable(body);
    }
}

snapshot *snapshot_take(dBodyID const *body, int bodies)
{
    snapshot *s = malloc(sizeof *s);
    body_state *state = calloc((size_t)bodies, sizeof *state);
    if (!s || !state) {
        free(s);
        free(state);
        return NULL;
    }
    *s = (snapshot){bodies, body, state, dRandGetSeed()};
    for (int i = 0; i < bodies; i++) {
        take(&state[i], body[i]);
    }
    return s;
}

void snapshot_restore(const snapshot *s)
{
    for (int i = 0; i < s->bodies; i++) {
        restore(&s->state[i], s->body[i]);
    }
    dRandSetSeed(s->seed);
}

void snapshot_free(snapshot *s)
{
    if (s) {
        free(s->state);
        free(s);
    }
}
