// The change of the residual by contacts whose bodies are displaced: they are found again, and read
// as contacts of the same law.
#include <string.h>

#include "linearize_run.h"

static const char *const contact_goes = "a contact goes with the slightest motion";

static bool moves(const component *c, const int *body, int colour)
{
    return linearize_is_of(c, body[0], colour) || linearize_is_of(c, body[1], colour);
}

// Numbers the bodies of a contact among those of displaced contacts.
static void number_bodies(component *c, sprag_contact *contact, int *bodies)
{
    for (int side = 0; side < 2; side++) {
        const int body = contact->body[side];
        if (body != SPRAG_STATIC && c->number_of[body] < 0) {
            c->contact_body[*bodies] = c->near.body[body];
            c->contact_body_of[*bodies] = body;
            c->number_of[body] = (*bodies)++;
        }
        contact->body[side] = body == SPRAG_STATIC ? SPRAG_STATIC : c->number_of[body];
    }
}

// Reads a contact of the problem again, as the next one of those displaced: its law is as it was.
// false: it has gone.
static bool pull_contact(component *c, int i, const ode_setting *setting, int next)
{
    ode_contact_view view;
    sprag_contact *to = &c->near_contact[next], now = {0};
    const char *surface_error;
    sprag_ode_view_contact(sprag_ode_layout(), c->pulled.contact_joint[i], &view);
    if (!sprag_ode_pull_contact(&now, &view, setting, &c->world->settings.stiffness, &c->index,
                                NULL, c->trial_scratch, &surface_error)) {
        return false;
    }
    *to = c->pulled.contact[i];
    memcpy(to->arm, now.arm, sizeof to->arm);
    memcpy(to->frame, now.frame, sizeof to->frame);
    to->gap = now.gap;
    sprag_contact_on_chords(&now, c->near.body, c->step, false);
    to->bias = now.bias;
    memcpy(to->slide.velocity, now.slide.velocity, sizeof to->slide.velocity);
    c->near_index[next] = i;
    sprag_ode_warm_key_set(&c->near_key[next], &view, to);
    return true;
}

// Adds the change of the residual by the contacts of a colour, where they are now.
static const char *add_moved_contacts(component *c, int colour)
{
    const ode_setting setting = sprag_ode_setting(c->world->id, c->step);
    sprag_problem near = {.step = c->step, .body = c->contact_body, .contact = c->near_contact};
    for (int i = 0; i < c->contacts; i++) {
        if (moves(c, c->contact[i].body, colour) && !linearize_move_contact(&c->contact[i])) {
            return contact_goes;
        }
    }
    sprag_scratch_reset(c->trial_scratch);
    for (int i = 0; i < c->bodies; i++) {
        sprag_ode_read_state(&c->index.state[i], c->body[i]);
        memcpy(c->index.state[i].velocity, c->near.body[i].velocity, 6 * sizeof(double));
        c->number_of[i] = -1;
    }
    for (int i = 0; i < c->pulled.problem.contacts; i++) {
        if (!moves(c, c->pulled.contact[i].body, colour)) {
            continue;
        }
        if (!pull_contact(c, i, &setting, near.contacts)) {
            return contact_goes;
        }
        number_bodies(c, &c->near_contact[near.contacts++], &near.bodies);
    }
    if (near.contacts == 0) {
        return NULL;
    }
    if (c->world->warm_start) {
        sprag_ode_warm_start_contacts(c->world->warm_start, c->near_key, c->near_contact,
                                      near.contacts);
    }
    return sprag_derivative_add_contacts(&c->derivative, &near, c->contact_body_of, c->near_index,
                                         c->trial_scratch, c->change) == SPRAG_OK
               ? NULL
               : linearize_not_pulled;
}

// Adds the change of the residual by the contacts of a colour.
const char *linearize_add_contacts(component *c, int colour)
{
    const char *why = add_moved_contacts(c, colour);
    for (int i = 0; i < c->contacts; i++) {
        linearize_restore_contact(&c->contact[i]);
    }
    return why;
}
