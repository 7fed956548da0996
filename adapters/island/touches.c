// Contacts that a solution shows to be missing. A contact has the normal and the levers of one
// moment. Where one body turns fast, or is made to by the impact, its surface is elsewhere before
// the step ends, and the other may pass. Such a pair gets another contact, of the moment when both
// are well inside one another: with it the island is solved again.
#include <math.h>
#include <string.h>

#include "box.h"
#include "island.h"
#include "linalg.h"
#include "pair_contact.h"

// Along the tangents of contact `like` its surface moves: the new ones stay near to them. What the
// chord of `like` has added to that is left out, as it has another normal and other levers. first:
// the side of the contact that the first geom is on.
static void add(ode_problem *pulled, int like, int first, const ode_touch *touch)
{
    int i = pulled->problem.contacts++;
    sprag_contact *to = &pulled->contact[i];
    double normal[3] = {0};
    dSurfaceParameters room;
    sprag_surface read;
    *to = pulled->contact[like];
    sprag_ode_read_surface(&read, sprag_ode_contact_surface(pulled->contact_joint[like], &room), 0);
    memcpy(to->slide.velocity, read.slide.velocity, sizeof to->slide.velocity);
    sprag_ode_bound_friction_ahead(&to->slide);
    to->turning = NULL; // that of `like` acts
    to->on_chords = false;
    add_scaled(normal, first == 0 ? 1 : -1, touch->normal, 3);
    sprag_contact_frame(normal, pulled->contact[like].frame[1], to->frame);
    for (int side = 0; side < 2; side++) {
        if (to->body[side] != SPRAG_STATIC) {
            memcpy(to->arm[side], touch->lever[side ^ first], sizeof to->arm[side]);
        }
    }
    to->gap = touch->left;
    to->bias = -touch->left / pulled->problem.step;
    to->softening = to->stiffness = to->recovery = to->returns = 0;
    to->rebounds = false;
    to->guess[0] = 0, to->guess[1] = 0, to->guess[2] = 0;
    pulled->contact_joint[i] = pulled->contact_joint[like];
    pulled->warm_key[i] = pulled->warm_key[like];
    pulled->approach[i] = sprag_ode_taken_by_stop(pulled->body, to, pulled->problem.step,
                                                  sprag_ode_closing_before(pulled, i));
}

static bool is_first_of_pair(const ode_problem *pulled, int i)
{
    const ode_warm_key *key = &pulled->warm_key[i];
    return i == 0 || memcmp(key[0].key, key[-1].key, sizeof key->key) != 0;
}

bool sprag_ode_is_on(dGeomID geom, dBodyID body)
{
    dGeomID of_body = dBodyGetFirstGeom(body);
    while (of_body && of_body != geom) {
        of_body = dBodyGetNextGeom(of_body);
    }
    return of_body;
}

// *first: the side of contact i that the first geom is on.
static bool find_touch(const ode_problem *pulled, int i, ode_touch_fn *find, void *data, int *first,
                       ode_touch *touch)
{
    const sprag_contact *contact = &pulled->contact[i];
    const dContactGeom *geom = sprag_ode_contact_geom(pulled->contact_joint[i]);
    const double *velocity[2];
    if (!geom->g1 || !geom->g2) {
        return false;
    }
    const dGeomID pair[2] = {geom->g1, geom->g2};
    *first = sprag_ode_is_on(pair[0], pulled->island.body[contact->body[0]]) ? 0 : 1;
    for (int side = 0; side < 2; side++) {
        int body = contact->body[side ^ *first];
        if (body != SPRAG_STATIC && !sprag_ode_is_on(pair[side], pulled->island.body[body])) {
            return false;
        }
        velocity[side] = body == SPRAG_STATIC ? NULL : pulled->solution.velocity[body];
    }
    return find(data, pair, velocity, pulled->problem.step, geom->side1 == ODE_SIDE_ASIDE, touch);
}

// The geoms of a body.
typedef struct turning {
    double turn; // m, by which their farthest corner goes round in the step
    double size; // m, half of the least extent of their boxes
} turning;

static turning turning_of(const ode_problem *pulled, int body)
{
    const dBodyID id = pulled->island.body[body];
    const double spin = norm3(pulled->solution.velocity[body] + 3) * pulled->problem.step;
    turning all = {0, INFINITY};
    for (dGeomID geom = dBodyGetFirstGeom(id); geom; geom = dBodyGetNextGeom(geom)) {
        double box[6], side[2];
        sprag_ode_read_bounds(geom, box);
        sprag_box_sides(box, side);
        all.size = fmin(all.size, side[0] / 2);
        all.turn = fmax(all.turn, spin * sprag_box_farthest(box, dBodyGetPosition(id)));
    }
    return all;
}

// false: two bodies that move turn too little, whichever of their geoms meet.
static bool may_pass(const sprag_contact *contact, const turning *body)
{
    const int *b = contact->body;
    return b[1] == SPRAG_STATIC || 2 * (body[b[0]].turn + body[b[1]].turn) >
                                       ode_passing * fmin(body[b[0]].size, body[b[1]].size);
}

int sprag_ode_add_touches(ode_problem *pulled, int contacts, ode_touch_fn *find, void *data,
                          sprag_scratch *scratch)
{
    const int before = pulled->problem.contacts;
    turning *body = SPRAG_TAKE_RAW(scratch, pulled->island.bodies, turning);
    for (int i = 0; i < pulled->island.bodies && body; i++) {
        body[i] = turning_of(pulled, i);
    }
    for (int i = 0; i < contacts && body && pulled->problem.contacts < pulled->room; i++) {
        ode_touch touch;
        int first;
        if (is_first_of_pair(pulled, i) && may_pass(&pulled->contact[i], body) &&
            find_touch(pulled, i, find, data, &first, &touch)) {
            if (pulled->problem.contacts == before && !sprag_ode_keep_solution(pulled, scratch)) {
                return 0;
            }
            add(pulled, i, first, &touch);
        }
    }
    return pulled->problem.contacts - before;
}
