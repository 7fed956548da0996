#include "recorded_contacts.h"

#include <math.h>

#include "array.h"
#include "island.h"
#include "layout.h"
#include "linalg.h"
#include "record_constants.h"

// ---- the pair

// A geom that is not the first of its body, mostly of the environment, and its number.
typedef struct other_geom {
    dGeomID geom;
    uint32_t number;
} other_geom;

// No branch depends on the pair: it changes with most contacts.
static const identity *find_side(const contacts_of *of, dBodyID body, dGeomID geom,
                                 other_geom *other, uint32_t *geom_number)
{
    const identity *i = identities_find(of->bodies, body);
    bool is_first = i->first == geom;
    if (!is_first & (other->geom != geom)) {
        *other = (other_geom){geom, shapes_number(of->shapes, geom)};
    }
    *geom_number = is_first ? i->geom : other->number;
    return i;
}

// ---- friction

// false: there is no direction.
static bool set_normal(double normal[3], const ode_contact_view *contact)
{
    const dReal *given = contact->geom->normal;
    double square = dot3(given, given), scale = (contact->reversed ? -1 : 1) / sqrt(square);
    for (int k = 0; k < 3; k++) {
        normal[k] = scale * given[k];
    }
    return square > 0 && isfinite(square);
}

// Both tangents of a contact cost more than the rest of it. Most contacts do without them.
static void along_tangents(const ode_contact_view *contact, const double normal[3],
                           const double vector[3], double part[2])
{
    double tangent[2][3];
    sprag_ode_contact_tangents(tangent, contact, normal);
    part[0] = dot3(vector, tangent[0]);
    part[1] = dot3(vector, tangent[1]);
}

// m/s, of the first relative to the second body.
static double slip_speed(const identity *const side[2], const ode_contact_view *contact,
                         const double normal[3])
{
    int mode = contact->surface->mode;
    double motion[6], velocity[3], part[2];
    for (int k = 0; k < 6; k++) {
        motion[k] = side[0]->value[k] - side[1]->value[k];
    }
    cross3(motion + 3, contact->geom->pos, velocity);
    add_scaled(velocity, 1, motion, 3);
    if (!(mode & (dContactMotion1 | dContactMotion2))) {
        add_scaled(velocity, -dot3(velocity, normal), normal, 3);
        return norm3(velocity);
    }
    along_tangents(contact, normal, velocity, part);
    part[0] -= mode & dContactMotion1 ? contact->surface->motion1 : 0;
    part[1] -= mode & dContactMotion2 ? contact->surface->motion2 : 0;
    return sqrt(part[0] * part[0] + part[1] * part[1]);
}

// N, from which friction along a tangent counts as slipping.
static double slip_bound(double coefficient, bool of_normal, double normal)
{
    double bound = coefficient * (of_normal ? normal : 1);
    return bound > 0 ? SLIP_BOUND * bound : 0;
}

// Share of such a bound that is used.
static double share_of(double force, double bound)
{
    return bound > 0 ? fabs(force) / bound : INFINITY;
}

static bool is_at_either_bound(const contacts_of *of, const ode_contact_view *contact,
                               const double normal[3], const double force[3], double pressing)
{
    const dSurfaceParameters *s = contact->surface;
    double part[2], second = s->mode & dContactMu2 ? s->mu2 : s->mu;
    along_tangents(contact, normal, force, part);
    double along = share_of(part[0], slip_bound(s->mu, s->mode & dContactApprox1_1, pressing));
    double across = share_of(part[1], slip_bound(second, s->mode & dContactApprox1_2, pressing));
    return (of->ours ? along * along + across * across : fmax(along, across)) >= 1;
}

// The greater one of the squares of a force's parts along both tangents that dPlaneSpace gives,
// from the square of its part along the surface, and without the tangents.
static double greatest_square(const double n[3], const double force[3], double square)
{
    bool upright = fabs(n[2]) > M_SQRT1_2; // the first tangent is normal to x, otherwise to z
    double across = upright ? n[2] : n[0], force_across = upright ? force[2] : force[0];
    double side = n[1] * force_across - across * force[1];
    double first = side * side / (n[1] * n[1] + across * across), second = square - first;
    return first > second ? first : second;
}

// Both tangents together. sprag bounds friction by a cone, ODE along each tangent. No branch
// depends on the force: such a one is hard to predict.
static bool is_at_bound(const contacts_of *of, const ode_contact_view *contact,
                        const double normal[3], const double force[3], double pressing)
{
    enum { BOTH = dContactApprox1_1 | dContactApprox1_2 };
    const dSurfaceParameters *s = contact->surface;
    int of_normal = s->mode & BOTH;
    bool differ = (s->mode & dContactMu2 && s->mu2 != s->mu) || (of_normal && of_normal != BOTH);
    if (differ || (s->mode & dContactFDir1 && !of->ours)) {
        return is_at_either_bound(of, contact, normal, force, pressing);
    }
    double bound = slip_bound(s->mu, of_normal, pressing), least = bound * bound;
    double square = dot3(force, force) - pressing * pressing;
    double greatest = of->ours ? square : greatest_square(normal, force, square);
    return (greatest >= least) | (least <= 0);
}

static sprag_recorded_state state_of(const contacts_of *of, const ode_contact_view *contact,
                                     const double normal[3], const double force[3], double slip)
{
    double pressing = dot3(force, normal);
    bool presses = pressing > 0, slides = (of->falling > 0) & (slip > SLIP_SPEED * of->falling);
    bool slips = slides | is_at_bound(of, contact, normal, force, presses ? pressing : 1);
    return presses ? SPRAG_RECORDED_STICK + slips : SPRAG_RECORDED_OPEN;
}

// ---- the entry

static void write_contact(const contacts_of *of, const ode_contact_view *contact,
                          const dJointFeedback *feedback, other_geom *other, frame_buffer *to)
{
    const dContactGeom *given = contact->geom;
    bool swapped = contact->reversed;
    const dGeomID geom[2] = {swapped ? given->g2 : given->g1, swapped ? given->g1 : given->g2};
    double normal[3];
    if (!contact->body[0] || !set_normal(normal, contact)) {
        return;
    }
    sprag_recorded_contact *out = frame_buffer_add(to, 1);
    if (!out) {
        return;
    }
    const identity *side[2];
    for (int k = 0; k < 2; k++) {
        side[k] = find_side(of, contact->body[k], geom[k], other, &out->geom[k]);
        out->body[k] = side[k]->id;
    }
    double slip = slip_speed(side, contact, normal);
    to_floats(out->position, given->pos);
    to_floats(out->normal, normal);
    out->depth = (float)given->depth;
    out->friction = (float)contact->surface->mu;
    out->slip = (float)slip;
    if (feedback) {
        to_floats(out->force, feedback->f1);
        out->state = state_of(of, contact, normal, feedback->f1, slip);
    } else {
        out->force[0] = out->force[1] = out->force[2] = NAN;
        out->state = SPRAG_RECORDED_UNKNOWN;
    }
}

// ---- all contacts

static bool keep_joint(joint_list *list, dJointID joint)
{
    dJointID *all = array_widen(list->joint, list->count, &list->room, sizeof *all);
    if (!all) {
        return false;
    }
    list->joint = all;
    list->joint[list->count++] = joint;
    return true;
}

bool contacts_write(const contacts_of *of, joint_list *others, frame_buffer *to)
{
    const ode_layout *layout = sprag_ode_layout();
    other_geom other = {NULL, SPRAG_RECORDED_NONE};
    bool done = true;
    others->count = 0;
    frame_buffer_table(to, "CONT", sizeof(sprag_recorded_contact));
    for (dJointID j = sprag_ode_newest_joint(of->world); j; j = sprag_ode_older_joint(j)) {
        if (sprag_ode_is_contact(layout, j)) {
            ode_contact_view contact;
            sprag_ode_view_contact(layout, j, &contact);
            const dJointFeedback *force =
                step_start_take(of->start, sprag_ode_feedback_of(layout, j), contact.body);
            write_contact(of, &contact, force, &other, to);
        } else {
            done &= keep_joint(others, j);
        }
    }
    return done;
}
