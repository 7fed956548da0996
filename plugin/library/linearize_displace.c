// Bodies that are displaced a little for a moment, and their contacts, which move with their geoms.
#include <math.h>
#include <string.h>

#include "collide.h"
#include "linalg.h"
#include "linearize_run.h"

// Contacts of two geoms that a contact joint is looked for among, and how near it must be: m.
enum { CONTACTS_MAX = 64 };
static const double SAME_CONTACT = 1e-9;

void linearize_save(subject *s)
{
    memcpy(s->position, dBodyGetPosition(s->id), 3 * sizeof *s->position);
    memcpy(s->quaternion, dBodyGetQuaternion(s->id), sizeof s->quaternion);
    memcpy(s->rotation, dBodyGetRotation(s->id), sizeof s->rotation);
    sprag_ode_read_velocity(s->id, s->velocity);
}

void linearize_put_back(const subject *s)
{
    dBodySetPosition(s->id, s->position[0], s->position[1], s->position[2]);
    dBodySetQuaternion(s->id, s->quaternion);
    memcpy((dReal *)(uintptr_t)dBodyGetQuaternion(s->id), s->quaternion, sizeof s->quaternion);
    memcpy((dReal *)(uintptr_t)dBodyGetRotation(s->id), s->rotation, sizeof s->rotation);
    sprag_ode_set_velocity(s->id, s->velocity);
}

void linearize_displace(const subject *s, const double way[STATES])
{
    double velocity[6];
    memcpy(velocity, s->velocity, sizeof velocity);
    add_scaled(velocity, 1, way + VELOCITY, 6);
    dBodySetPosition(s->id, s->position[0] + way[0], s->position[1] + way[1],
                     s->position[2] + way[2]);
    if (way[TURN] != 0 || way[TURN + 1] != 0 || way[TURN + 2] != 0) {
        const dQuaternion turn = {1, way[TURN] / 2, way[TURN + 1] / 2, way[TURN + 2] / 2};
        dQuaternion turned;
        dQMultiply0(turned, turn, s->quaternion);
        dBodySetQuaternion(s->id, turned);
    }
    sprag_ode_set_velocity(s->id, velocity);
}

// ---- contacts

static dContactGeom *geom_of(dJointID joint)
{
    return (dContactGeom *)(uintptr_t)sprag_ode_contact_geom(joint);
}

static double distance_of(const dContactGeom *a, const dContactGeom *b)
{
    double way[3], turn[3];
    subtract3(a->pos, b->pos, way);
    subtract3(a->normal, b->normal, turn);
    return norm3(way) + norm3(turn);
}

// The contact of the collision function that is nearest to one that was there. false: none.
static bool find_contact(const dContactGeom *of, dContactGeom *found)
{
    dContactGeom all[CONTACTS_MAX];
    int count = collide_geoms(of->g1, of->g2, CONTACTS_MAX, all, sizeof all[0]), best = 0;
    for (int i = 1; i < count; i++) {
        best = distance_of(&all[i], of) < distance_of(&all[best], of) ? i : best;
    }
    *found = count > 0 ? all[best] : *found;
    return count > 0;
}

bool linearize_read_contact(contact *c)
{
    c->own = *geom_of(c->joint);
    return c->own.g1 && c->own.g2 && find_contact(&c->own, &c->at) &&
           distance_of(&c->own, &c->at) < SAME_CONTACT;
}

bool linearize_move_contact(const contact *c)
{
    dContactGeom now, *to = geom_of(c->joint);
    if (!find_contact(&c->at, &now)) {
        return false;
    }
    for (int k = 0; k < 3; k++) {
        to->pos[k] = c->own.pos[k] + (now.pos[k] - c->at.pos[k]);
        to->normal[k] = c->own.normal[k] + (now.normal[k] - c->at.normal[k]);
    }
    to->depth = c->own.depth + (now.depth - c->at.depth);
    return true;
}

void linearize_restore_contact(const contact *c)
{
    *geom_of(c->joint) = c->own;
}
