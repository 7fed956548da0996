// Bodies that are displaced a little for a moment, and their contacts, which move with their geoms.
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

// In place: dGeomMoved would change the order in which spaces list geoms and offer pairs of them.
static void place(dBodyID id, const dReal at[3], const dQuaternion q, const dReal *R)
{
    memcpy((dReal *)(uintptr_t)dBodyGetPosition(id), at, 3 * sizeof *at);
    memcpy((dReal *)(uintptr_t)dBodyGetQuaternion(id), q, sizeof(dQuaternion));
    memcpy((dReal *)(uintptr_t)dBodyGetRotation(id), R, sizeof(dMatrix3));
    for (dGeomID geom = dBodyGetFirstGeom(id); geom; geom = dBodyGetNextGeom(geom)) {
        if (dGeomIsOffset(geom)) { // others share the pose of the body
            dReal *centre = (dReal *)(uintptr_t)dGeomGetPosition(geom);
            dMultiply0_331(centre, R, dGeomGetOffsetPosition(geom));
            add_scaled(centre, 1, at, 3);
            dMultiply0_333((dReal *)(uintptr_t)dGeomGetRotation(geom), R,
                           dGeomGetOffsetRotation(geom));
        }
    }
}

void linearize_put_back(const subject *s)
{
    place(s->id, s->position, s->quaternion, s->rotation);
    sprag_ode_set_velocity(s->id, s->velocity);
}

void linearize_displace(const subject *s, const double way[STATES])
{
    const dReal *turn = way + TURN;
    dReal at[3];
    dQuaternion q;
    dMatrix3 R;
    double velocity[6];
    for (int k = 0; k < 3; k++) {
        at[k] = s->position[k] + way[k];
    }
    memcpy(q, s->quaternion, sizeof q);
    memcpy(R, s->rotation, sizeof R);
    if (turn[0] != 0 || turn[1] != 0 || turn[2] != 0) {
        dQMultiply0(q, (const dQuaternion){1, turn[0] / 2, turn[1] / 2, turn[2] / 2},
                    s->quaternion);
        dNormalize4(q);
        dRfromQ(R, q);
    }
    place(s->id, at, q, R);
    memcpy(velocity, s->velocity, sizeof velocity);
    add_scaled(velocity, 1, way + VELOCITY, 6);
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

// Geom transforms keep a pose of their own, which follows dGeomMoved alone.
static bool can_move(dGeomID geom)
{
    return geom && dGeomGetClass(geom) != dGeomTransformClass;
}

bool linearize_read_contact(contact *c)
{
    c->own = *geom_of(c->joint);
    return can_move(c->own.g1) && can_move(c->own.g2) && find_contact(&c->own, &c->at) &&
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
