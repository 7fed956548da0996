// Edges that a ball is kept off. A ball that sinks a little into soft ground meets the edge of the
// next box or triangle of it, which is flush, from the side: the contact with it is slanted or not
// below the centre, and throws the ball up. But the ground where it is sunk deepest keeps the ball
// above its tangent plane, and a ball touches a plane at one point alone. So contacts at this plane
// or below it have no part in what holds the ball.
#include "island.h"
#include "island_constants.h"
#include "linalg.h"

// A contact whose lever is along its normal, as of a ball about the centre of its body.
typedef struct touch {
    double up[3]; // unit, towards the centre
    double low;   // m, from the centre down to the contact
    int contact, other, next;
} touch;

static bool is_round(const sprag_contact *c, int side, touch *to)
{
    const double *arm = c->arm[side];
    for (int k = 0; k < 3; k++) {
        to->up[k] = side ? -c->frame[0][k] : c->frame[0][k];
    }
    to->low = -dot3(to->up, arm);
    to->other = c->body[!side];
    return to->low > 0 && dot3(arm, arm) - to->low * to->low <= EDGE_ROUND * to->low * to->low;
}

static bool are_of_one_ball(const ode_problem *pulled, int body, int i, int j)
{
    const dContactGeom *a = sprag_ode_contact_geom(pulled->contact_joint[i]);
    const dContactGeom *b = sprag_ode_contact_geom(pulled->contact_joint[j]);
    dGeomID geom = a->g1 == b->g1 || a->g1 == b->g2 ? a->g1 : a->g2;
    return geom && (geom == b->g1 || geom == b->g2) &&
           sprag_ode_is_on(geom, pulled->island.body[body]) && dGeomGetClass(geom) == dSphereClass;
}

// Of one other body or of the static world, whose parts do not move apart.
static bool is_kept_off(const ode_problem *pulled, const touch *by, int i, int side)
{
    const sprag_contact *c = &pulled->contact[i];
    return by->other == c->body[!side] && c->gap <= 0 &&
           pulled->contact[by->contact].gap < c->gap &&
           dot3(by->up, c->arm[side]) <= -by->low * (1 - EDGE_LEVEL) &&
           are_of_one_ball(pulled, c->body[side], by->contact, i);
}

// May two contacts of one ball be with this body?
static bool has_edges(dBodyID body)
{
    dGeomID geom = dBodyGetFirstGeom(body);
    return geom && (dBodyGetNextGeom(geom) || dGeomGetClass(geom) == dTriMeshClass);
}

// The body on this side of a contact with ground that may have edges; SPRAG_STATIC: none.
static int body_on_ground(const sprag_contact *contact, int side, const bool *ground)
{
    const int other = contact->body[!side];
    return other == SPRAG_STATIC || ground[other] ? contact->body[side] : SPRAG_STATIC;
}

int sprag_ode_drop_edges(ode_problem *pulled, int **kept, sprag_scratch *scratch)
{
    const ode_island *island = &pulled->island;
    const sprag_contact *contact = pulled->contact;
    const int count = pulled->problem.contacts;
    bool *ground = SPRAG_TAKE_RAW(scratch, island->bodies, bool);
    int *last = SPRAG_TAKE(scratch, island->bodies, int); // 1 + index, 0: none
    touch *all = SPRAG_TAKE_RAW(scratch, 2 * (size_t)count, touch);
    int touches = 0, left = 0;
    *kept = SPRAG_TAKE_RAW(scratch, count, int);
    if (scratch->failed) {
        return count;
    }
    for (int i = 0; i < island->bodies; i++) {
        ground[i] = has_edges(island->body[i]);
    }
    for (int i = 0; i < count; i++) {
        for (int side = 0; side < 2; side++) {
            const int body = body_on_ground(&contact[i], side, ground);
            if (body != SPRAG_STATIC && contact[i].gap < 0 &&
                is_round(&contact[i], side, &all[touches])) {
                all[touches].contact = i;
                all[touches].next = last[body];
                last[body] = ++touches;
            }
        }
    }
    for (int i = 0; i < count && touches > 0; i++) {
        bool is_edge = false;
        for (int side = 0; side < 2; side++) {
            const int body = body_on_ground(&contact[i], side, ground);
            int k = body != SPRAG_STATIC ? last[body] : 0;
            for (; k && !is_edge; k = all[k - 1].next) {
                is_edge = is_kept_off(pulled, &all[k - 1], i, side);
            }
        }
        if (!is_edge) {
            (*kept)[left++] = i;
        }
    }
    return touches > 0 ? left : count;
}
