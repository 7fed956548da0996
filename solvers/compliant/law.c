// Law of a pair's points, from its surface and, where it has a stiffness and bounces, the speed of
// impact. Surfaces without a stiffness bounce by impulses (impact.c); here is their law at rest.
#include <math.h>

#include "compliant_run.h"
#include "linalg.h"

// 1/kg; 0 of a side that no force moves.
static double inverse_mass_of(const compliant_run *run, int guard, int side)
{
    int body = compliant_body(run, guard, side);
    double mass = body == SPRAG_STATIC ? 0 : run->frame->body[body].mass;
    return mass > 0 ? 1 / mass : 0;
}

// Speed of impact, m/s. Of a pair that overlapped at the end of the last frame it is that of its
// first touch, unless it touches now.
static double impact_speed(compliant_run *run, int guard, bool touches_now)
{
    sprag_pair_memory *memory = compliant_pair(run, guard)->memory;
    if (memory && memory->compliant.start_points > 0 && !touches_now) {
        return memory->compliant.impact_speed;
    }
    compliant_contact contact;
    compliant_find_contact(run, run->state.x, guard, COMPLIANT_FORCES, &contact);
    if (memory) {
        memory->compliant.impact_speed = contact.approach;
    }
    return contact.approach;
}

// m/s^2, by which forces on its bodies push them together.
static double push_along(const compliant_run *run, int guard, const double *normal)
{
    double sum = 0;
    for (int side = 0; side < 2; side++) {
        int body = compliant_body(run, guard, side);
        double mass = body == SPRAG_STATIC ? 0 : run->frame->body[body].mass;
        sum -= mass > 0 ? (side ? -1 : 1) * dot3(normal, run->frame->body[body].force) / mass : 0;
    }
    return sum;
}

// Dissipation for a rebound of restitution `bounce` from an impact at `speed`. A body at rest
// counts as impacting at the speed that forces give it in a frame.
static void set_bounce(compliant_run *run, int guard, double bounce, double speed)
{
    compliant_law *law = &run->guards.law[guard];
    compliant_contact contact;
    speed = fmax(speed, fmax(run->sizes.change, 1e-9 * run->sizes.fastest));
    if (run->law_for_test || bounce >= 1) {
        law->dissipation = compliant_dissipation_number(bounce) / speed;
        return;
    }
    double depth = speed / sqrt(law->stiffness / law->effective_mass);
    compliant_find_points(run, run->state.x, guard, COMPLIANT_SAME_TIME_DEPTH * depth, &contact);
    double one = compliant_inverse_mass(run, guard, contact.at[0], contact.gap.normal);
    double weight = contact.count > 1 ? contact.count / law->effective_mass : one;
    double rate = sqrt(law->stiffness * weight);
    double push = push_along(run, guard, contact.gap.normal) / (rate * speed);
    law->dissipation =
        compliant_pushed_dissipation_number(bounce, isfinite(push) ? push : 0) / speed;
}

// ODE's ERP and CFM as a spring and damper.
static void set_soft(compliant_law *law, const sprag_surface *surface, double step)
{
    double erp = fmin(surface->erp, 1), cfm = surface->compliance;
    law->compliance = cfm;
    law->recovery = erp / step;
    if (cfm > 0) {
        law->stiffness = erp / (step * cfm);
        law->damping = (1 - erp) / cfm;
    }
}

// Would explicit integration at the rate of the law need more steps than allowed? Of a law without
// a stiffness, too.
static bool is_stiff(const compliant_run *run, const compliant_law *law)
{
    double h = run->frame->step, m = law->effective_mass;
    double rate = sqrt(law->stiffness / m) + law->damping / m;
    return !(law->stiffness > 0 && rate * h < run->options->steps);
}

// Shapes other than balls meet several triangles of a mesh at once, at points that come and go:
// forces of springs would jump.
static bool is_faceted(const compliant_run *run, int guard)
{
    int side = sprag_pair_triangle(run->frame, run->guards.pair[guard]);
    return side >= 0 && compliant_collider(run, guard, !side)->shape.kind != SPRAG_SPHERE;
}

static bool has_friction(const sprag_friction *f)
{
    return f->coefficient[0] > 0 || f->coefficient[1] > 0;
}

// Laws that springs within the integration do not have.
static bool is_unsupported(const sprag_surface *surface, bool bounces)
{
    return has_friction(&surface->turning.roll) || has_friction(&surface->turning.spin) ||
           isinf(surface->slide.coefficient[0]) || isinf(surface->slide.coefficient[1]) ||
           (bounces && surface->velocity_normal != 0);
}

void compliant_set_law(compliant_run *run, int guard, bool touches_now)
{
    const sprag_surface *surface = compliant_surface(run, guard);
    compliant_law *law = &run->guards.law[guard];
    double h = run->frame->step;
    double inverse_mass = inverse_mass_of(run, guard, 0) + inverse_mass_of(run, guard, 1);
    *law = (compliant_law){.effective_mass = inverse_mass > 0 ? 1 / inverse_mass : 1};
    double speed =
        compliant_needs_speed(surface) ? impact_speed(run, guard, touches_now) : INFINITY;
    bool bounces = surface->bounce > 0 && speed > surface->bounce_speed;
    if (surface->stiffness > 0) {
        law->stiffness = surface->stiffness;
        law->dissipation = surface->dissipation;
        law->compliance = 1 / (h * surface->stiffness);
        law->recovery = 1 / h;
        law->hunt_crossley = true;
        if (bounces) {
            set_bounce(run, guard, surface->bounce, speed);
        }
    } else {
        set_soft(law, surface, h);
    }
    bool unsupported = is_unsupported(surface, bounces && surface->stiffness > 0);
    if (unsupported || is_stiff(run, law) || is_faceted(run, guard)) {
        law->status = law->hunt_crossley && bounces ? COMPLIANT_IMPLICIT : COMPLIANT_RIGID_PAIR;
        law->reason = unsupported ? SPRAG_COMPLIANT_UNSUPPORTED_LAW : SPRAG_COMPLIANT_STIFF;
    }
    double given = surface->stiction > 0 ? surface->stiction : run->options->stiction;
    law->stiction = given > 0 ? given : fmax(COMPLIANT_STICTION * run->sizes.fastest, 1e-12);
}
