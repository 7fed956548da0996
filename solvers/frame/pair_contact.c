// A contact of a pair: from its point and the pair's surface to a sprag_contact, and from its force
// to the impulses of the pair.
#include "pair_contact.h"

#include <math.h>
#include <string.h>

#include "linalg.h"

// Less of a direction along the surface than this share is rounding: it lies along the normal.
static const double least_along = 1e-6;

void sprag_contact_frame(const double normal[3], const double direction[3], double frame[3][3])
{
    double along[3];
    memcpy(frame[0], normal, sizeof frame[0]);
    memcpy(along, direction, sizeof along);
    add_scaled(along, -dot3(direction, normal), normal, 3);
    if (!(norm3(along) > least_along * norm3(direction)) || !normalise3(along)) {
        int least = fabs(normal[0]) < fabs(normal[1]) ? 0 : 1;
        least = fabs(normal[2]) < fabs(normal[least]) ? 2 : least;
        const double axis[3] = {least == 0, least == 1, least == 2};
        cross3(axis, normal, along);
        normalise3(along);
    }
    memcpy(frame[1], along, sizeof along);
    cross3(normal, along, frame[2]);
}

void sprag_pair_set_friction(const sprag_pair *pair, sprag_contact *contact)
{
    const sprag_turning *turning = &pair->surface.turning;
    contact->slide = pair->surface.slide;
    contact->turning = sprag_turning_acts(turning) ? turning : NULL;
}

void sprag_pair_contact(const sprag_frame *frame, const sprag_pair *pair, const double at[3],
                        const double normal[3], sprag_contact *contact)
{
    const sprag_surface *surface = &pair->surface;
    *contact = (sprag_contact){.softening = 1, .stiction = surface->stiction, .guess = {-1}};
    sprag_pair_set_friction(pair, contact);
    for (int side = 0; side < 2; side++) {
        int body = contact->body[side] = frame->collider[pair->collider[side]].body;
        if (body != SPRAG_STATIC) {
            subtract3(at, frame->body[body].pose.position, contact->arm[side]);
        }
    }
    sprag_contact_frame(normal, surface->direction, contact->frame);
}

void sprag_pair_add_impulse(sprag_pair *pair, const double wrench[2][6], double duration)
{
    add_scaled(*pair->impulse, duration, *wrench, 12);
}
