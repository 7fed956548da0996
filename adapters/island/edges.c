// Edges that a geom is kept off. A geom that sinks a little into soft ground meets the edge of the
// next box or triangle of it, which is flush, from the side: the contact with it is slanted or, of
// a ball, not below the centre, and throws the geom up. But the ground where the geom is sunk
// deepest keeps it above its tangent plane. So contacts at this plane or below it have no part in
// what holds the geom: none of a ball, which touches a plane at one point alone; of another convex
// geom those that are so near that the geom's surface turns in between by the angle of their
// normals, as that of something round. Other ones carry the far end of a line or a face. Neither is
// a wall left out whose lower points are at the floor.
#include "island.h"
#include "island_constants.h"
#include "linalg.h"

// A contact as one of its bodies sees it.
typedef struct touch {
    dGeomID geom; // of the body, convex; NULL: there is none
    bool ball;    // it is a ball
    double up[3]; // unit, towards the body
    double at[3]; // m, from the body's centre to the surface of the other geom
    double gap;   // m
    dGeomID of;   // the other geom
    int other;    // body
    bool off;     // another one keeps the geom off this edge
    // 1 + index, 0: last or none
    int next; // of the same two geoms
    int pair; // of a list's head: the head of the body's next list
} touch;

static bool is_convex(int class)
{
    return class == dSphereClass || class == dBoxClass || class == dCapsuleClass ||
           class == dCylinderClass || class == dConvexClass;
}

// Points of sprag's contacts are midway between both surfaces, those of balls are on the other one.
static touch touch_of(const ode_problem *pulled, int contact, int side)
{
    const sprag_contact *c = &pulled->contact[contact];
    const dContactGeom *of = sprag_ode_contact_geom(pulled->contact_joint[contact]);
    const dBodyID body = pulled->island.body[c->body[side]];
    touch to = {.gap = c->gap, .other = c->body[!side]};
    const dGeomID geom = of->g1 && sprag_ode_is_on(of->g1, body) ? of->g1 : of->g2;
    if (geom && sprag_ode_is_on(geom, body) && is_convex(dGeomGetClass(geom))) {
        to.geom = geom;
        to.of = geom == of->g1 ? of->g2 : of->g1;
        to.ball = dGeomGetClass(geom) == dSphereClass;
        for (int k = 0; k < 3; k++) {
            to.up[k] = side ? -c->frame[0][k] : c->frame[0][k];
            to.at[k] = c->arm[side][k] - (to.ball ? 0 : 0.5 * c->gap * to.up[k]);
        }
    }
    return to;
}

static bool is_round_between(const touch *by, const touch *of)
{
    double between[3], cosine = dot3(by->up, of->up);
    subtract3(of->at, by->at, between);
    return cosine < EDGE_SLANTED &&
           dot3(between, between) <= (1 - cosine * cosine) * dot3(by->at, by->at);
}

static bool is_level(const touch *by, const touch *of)
{
    return dot3(by->up, of->at) - dot3(by->up, by->at) <= EDGE_LEVEL * norm3(by->at);
}

static bool is_level_with_all(const touch *all, const touch *by, int pair)
{
    bool level = true;
    for (int k = pair; k && level; k = all[k - 1].next) {
        level = is_level(by, &all[k - 1]);
    }
    return level;
}

// Marks the contacts of two geoms that one contact of a body keeps it off: with one other body or
// with the static world, whose parts do not move apart.
static void mark_edges(touch *all, const touch *by, int pair)
{
    const touch *start = &all[pair - 1];
    bool known = false, keeps = by->other == start->other && by->geom == start->geom;
    for (int k = pair; k && keeps; k = all[k - 1].next) {
        touch *of = &all[k - 1];
        if (!of->off && by->gap < of->gap && (of->ball || is_round_between(by, of))) {
            keeps = known || is_level_with_all(all, by, pair);
            known = true;
            of->off = keeps;
        }
    }
}

static void add_touch(touch *all, int at, int *first)
{
    int k = *first;
    while (k && (all[k - 1].of != all[at].of || all[k - 1].geom != all[at].geom)) {
        k = all[k - 1].pair;
    }
    if (k) {
        all[at].next = all[k - 1].next;
        all[k - 1].next = at + 1;
    } else {
        all[at].pair = *first;
        *first = at + 1;
    }
}

// GROUND: two contacts of one geom may be with this body. SOLID: it is one convex geom, but no
// ball, and contacts that push it the same way are no edges.
typedef enum form { GROUND, SOLID, OTHER } form;

static form form_of(dBodyID body)
{
    const dGeomID geom = dBodyGetFirstGeom(body);
    if (!geom) {
        return OTHER;
    }
    const int class = dGeomGetClass(geom);
    return dBodyGetNextGeom(geom) || class == dTriMeshClass ? GROUND
           : is_convex(class) && class != dSphereClass      ? SOLID
                                                            : OTHER;
}

// Is a body of a contact sunk into ground that may have edges?
static bool is_on_ground(const sprag_contact *contact, int side, const form *form)
{
    const int body = contact->body[side], other = contact->body[!side];
    return body != SPRAG_STATIC && (other == SPRAG_STATIC || form[other] == GROUND) &&
           contact->gap <= 0;
}

// Do two contacts push their bodies the same way? 2 contact + side, of each.
static bool push_alike(const sprag_contact *contact, int a, int b)
{
    const double *of_a = contact[a / 2].frame[0], *of_b = contact[b / 2].frame[0];
    const double sign = (a ^ b) & 1 ? -1 : 1;
    return of_a[0] == sign * of_b[0] && of_a[1] == sign * of_b[1] && of_a[2] == sign * of_b[2];
}

// Sets of which bodies contacts may be edges. last: of each body, zero. Returns whether there are
// any.
static bool find_edged(const ode_problem *pulled, const form *form, int *last, bool *edged)
{
    const sprag_contact *contact = pulled->contact;
    bool any = false;
    for (int i = 0; i < 2 * pulled->problem.contacts; i++) {
        if (is_on_ground(&contact[i / 2], i % 2, form)) {
            const int body = contact[i / 2].body[i % 2];
            if (last[body] && !edged[body]) {
                any |= edged[body] = form[body] != SOLID || !push_alike(contact, last[body] - 1, i);
            }
            last[body] = i + 1;
        }
    }
    return any;
}

int sprag_ode_drop_edges(ode_problem *pulled, int **kept, sprag_scratch *scratch)
{
    const ode_island *island = &pulled->island;
    const sprag_contact *contact = pulled->contact;
    const int count = pulled->problem.contacts;
    form *form = SPRAG_TAKE_RAW(scratch, island->bodies, *form);
    bool *edged = SPRAG_TAKE(scratch, island->bodies, bool);
    int *first = SPRAG_TAKE(scratch, island->bodies, int); // 1 + index, 0: none
    if (scratch->failed) {
        return count;
    }
    for (int i = 0; i < island->bodies; i++) {
        form[i] = form_of(island->body[i]);
    }
    if (!find_edged(pulled, form, first, edged)) { // a contact keeps its body off another one
        return count;
    }
    touch *all = SPRAG_TAKE_RAW(scratch, 2 * (size_t)count, touch);
    int left = 0;
    *kept = SPRAG_TAKE_RAW(scratch, count, int);
    if (scratch->failed) {
        return count;
    }
    memset(first, 0, (size_t)island->bodies * sizeof *first);
    for (int i = 0; i < 2 * count; i++) {
        const int body = contact[i / 2].body[i % 2];
        all[i].geom = NULL;
        all[i].off = false;
        if (is_on_ground(&contact[i / 2], i % 2, form) && edged[body]) {
            all[i] = touch_of(pulled, i / 2, i % 2);
            if (all[i].geom) {
                add_touch(all, i, &first[body]);
            }
        }
    }
    for (int i = 0; i < 2 * count; i++) {
        const int start = all[i].geom ? first[contact[i / 2].body[i % 2]] : 0;
        for (int pair = start; pair; pair = all[pair - 1].pair) {
            mark_edges(all, &all[i], pair);
        }
    }
    for (int i = 0; i < count; i++) {
        if (!all[2 * i].off && !all[2 * i + 1].off) {
            (*kept)[left++] = i;
        }
    }
    return left;
}
