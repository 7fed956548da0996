#include "frame_warn.h"

#include "describe.h"
#include "frame_state.h"
#include "warn.h"

static void warn_of_implicit_frames(world_state *w, const ode_advance *step)
{
    const sprag_compliant_stats *c = &step->results.compliant_stats;
    char body[DESCRIPTION_MAX];
    for (int i = 0; i < SPRAG_COMPLIANT_REASONS; i++) {
        if (c->reason_count[i] && warn_first(w, WARN_IMPLICIT + (warning)i)) {
            warn(w, "ess_declined, ess_switched",
                 "method=ess leaves (part of) a step to the implicit Stribeck step. Reason: %s. "
                 "The first body is %s.",
                 sprag_compliant_reason_name((sprag_compliant_reason)i),
                 describe_body(body, step->warnings.implicit_body[i]));
        }
    }
}

static void warn_of_compliant(world_state *w, const ode_advance *step)
{
    char a[DESCRIPTION_MAX], b[DESCRIPTION_MAX], joint[DESCRIPTION_MAX];
    warn_of_implicit_frames(w, step);
    if (step->warnings.whole_step_joint && warn_first(w, WARN_JOINT)) {
        warn(
            w, NULL,
            "%s between %s and %s cannot be evaluated within a step. Under method=ess the implicit "
            "step moves these bodies and those that are joined to them.",
            describe_joint(joint, step->warnings.whole_step_joint),
            describe_body(a, dJointGetBody(step->warnings.whole_step_joint, 0)),
            describe_body(b, dJointGetBody(step->warnings.whole_step_joint, 1)));
    }
    if (step->warnings.without_distance && warn_first(w, WARN_NO_DISTANCE)) {
        warn(w, NULL,
             "%s has no signed distance from another mesh. Under method=ess their contacts are "
             "those that the program makes before the step.",
             describe_geom(a, step->warnings.without_distance));
    }
}

static void warn_of_two_geoms(const world_state *w, dJointID contact, const char *what)
{
    char a[DESCRIPTION_MAX], b[DESCRIPTION_MAX];
    const dContactGeom *geom = sprag_ode_contact_geom(contact);
    warn(w, NULL, "the contacts between %s and %s %s", describe_geom(a, geom->g1),
         describe_geom(b, geom->g2), what);
}

static void warn_of_stiffness(world_state *w, const ode_advance *step)
{
    char a[DESCRIPTION_MAX], b[DESCRIPTION_MAX];
    const char *method = w->settings.method->name;
    double stiffness = w->settings.method->is_compliant ? 0 : w->settings.stiffness.stiffness;
    if (stiffness > 0 && step->results.contacts > 0 && warn_first(w, WARN_WORLD_STIFFNESS)) {
        warn(w, NULL,
             "method=%s treats all contacts as rigid and ignores stribeck.stiffness=%g N/m.",
             method, stiffness);
    }
    if (step->warnings.soft && warn_first(w, WARN_CONTACT_STIFFNESS)) {
        warn(w, NULL,
             "method=%s treats all contacts as rigid and ignores the ERP, CFM or stiffness of "
             "contact surfaces, first between %s and %s.",
             method, describe_body(a, dJointGetBody(step->warnings.soft, 0)),
             describe_body(b, dJointGetBody(step->warnings.soft, 1)));
    }
}

static void warn_of_contacts(world_state *w, const ode_advance *step)
{
    warn_of_stiffness(w, step);
    if (step->warnings.other_surface && warn_first(w, WARN_SURFACES_DIFFER)) {
        warn_of_two_geoms(w, step->warnings.other_surface,
                          "have different surface parameters. Those of the first contact are used "
                          "for all of them.");
    }
    if (step->warnings.other_normal && warn_first(w, WARN_NORMALS_DIFFER)) {
        warn_of_two_geoms(w, step->warnings.other_normal,
                          "have another normal than the geoms. The normal of the geoms is used.");
    }
    if (step->warnings.invalid_surface) {
        warn_of_surface(w, step->warnings.invalid_surface, step->warnings.surface_error);
    }
    if (step->warnings.invalid_contact) {
        warn_of_contact(w, step->warnings.invalid_contact);
    }
}

// ODE's own CFM is 1e-5 in single precision, and many programs set it.
static void warn_of_surface_layer(world_state *w, const ode_advance *step)
{
    double layer = dWorldGetContactSurfaceLayer(w->id);
    bool is_compliant = w->settings.method->is_compliant;
    double cfm = is_compliant ? 0 : dWorldGetCFM(w->id);
    bool any = step->results.contacts > step->results.given_contacts;
    if (any && (layer > 0 || cfm > 1e-5) && warn_first(w, WARN_SURFACE_LAYER)) {
        warn(w, NULL,
             "method=%s ignores the world's contact surface layer (%g m) and CFM (%g) at contacts "
             "of geoms that it keeps apart%s.",
             w->settings.method->name, layer, dWorldGetCFM(w->id),
             is_compliant ? " by a stiffness" : "");
    }
}

static const sprag_world_event *find_stall(const frame_state *frame)
{
    for (int i = 0; i < frame->events; i++) {
        if (frame->event[i].kind == SPRAG_EVENT_STALLED) {
            return &frame->event[i];
        }
    }
    return NULL;
}

static void warn_of_stall(world_state *w, const sprag_advance_stats *stats)
{
    char a[DESCRIPTION_MAX], b[DESCRIPTION_MAX];
    const double stalled = stats->stalled;
    const sprag_world_event *e = find_stall(w->frame);
    if (e && e->body[0]) {
        warn(w, "stalled",
             "no sub-step without overlap was found for %g s, first between %s and %s. The bodies "
             "that may touch them did not move in that time.",
             stalled, describe_body(a, e->body[0]), describe_body(b, e->body[1]));
    } else if (stats->work > 1) {
        warn(w, "stalled",
             "the work that a step may take was spent for the last %g s of it: more geoms, or "
             "triangles, are near each other than it is enough for. Their bodies did not move in "
             "that time.",
             stalled);
    } else {
        warn(w, "stalled",
             "no sub-step was found for %g s, although no geoms are in the way: joints contradict "
             "each other or their stops. The bodies that they join did not move in that time.",
             stalled);
    }
}

void warn_of_frame(world_state *w, const ode_advance *step)
{
    char a[DESCRIPTION_MAX], b[DESCRIPTION_MAX];
    if (step->input.compliant) {
        warn_of_compliant(w, step);
    }
    warn_of_surface_layer(w, step);
    if (step->results.frozen_bodies) {
        warn_of_nonfinite(w, step->warnings.nonfinite_body, step->results.frozen_bodies);
    }
    if (step->results.invalid_forces) {
        warn_of_force(w, step->warnings.invalid_force);
    }
    warn_of_contacts(w, step);
    if (step->results.stats.stalled > 0 && warn_first(w, WARN_STALL)) {
        warn_of_stall(w, &step->results.stats);
    }
    if (step->warnings.crowded[0] && warn_first(w, WARN_CROWDED)) {
        warn(w, NULL,
             "%s and %s have more pairs of triangles than method=%s keeps apart in a step. Their "
             "contacts are those that the program makes before the step.",
             describe_geom(a, step->warnings.crowded[0]),
             describe_geom(b, step->warnings.crowded[1]), w->settings.method->name);
    }
    if (step->results.stats.overlaps > 0 && warn_first(w, WARN_OVERLAP)) {
        warn(w, "overlaps",
             "geoms overlap at the start of a step, first %s and %s (%ld in all). The step pushes "
             "them apart and keeps them apart from then on. Either the program has placed them so, "
             "or its callback makes no contact where the depth is 0, as it is where geoms begin to "
             "touch.",
             describe_geom(a, step->warnings.overlap[0]),
             describe_geom(b, step->warnings.overlap[1]), step->results.stats.overlaps);
    }
}

void warn_of_no_collision_call(world_state *w)
{
    if (warn_first(w, WARN_NO_COLLISION_CALL)) {
        warn(w, "without_geometry",
             "sprag has seen no collision call on geoms before this step, and knows no distances. "
             "method=%s takes the contacts of the program, as method=stribeck does. Calls through "
             "dlopen or ctypes are not seen.",
             w->settings.method->name);
    }
}
