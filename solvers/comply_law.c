// Surface -> law of a pair's points, for frames of one length.
#include <math.h>

#include "solvers/comply_run.h"

// Restitution of a spring and a damper that do not pull, of damping ratio z (Schwager, Poeschel:
// Coefficient of restitution and linear-dashpot model revisited, Granular Matter 9, 2007).
static double restitution(double z)
{
    if (z > 1) {
        double s = sqrt(z * z - 1);
        return exp(-z / s * 2 * log(z + s));
    }
    double w = sqrt(1 - z * z), angle = atan2(2 * z * w, 2 * z * z - 1); // pi .. 0
    return w > 0 ? exp(-z / w * angle) : exp(-2);
}

static double damping_ratio(double e)
{
    double lo = 0, hi = 10; // 0.0025
    for (int i = 0; i < 60 && e < 1; i++) {
        double middle = (lo + hi) / 2;
        *(restitution(middle) > e ? &lo : &hi) = middle;
    }
    return e < 1 ? lo : 0;
}

static bool is_any(const sprag_friction *f)
{
    return f->coefficient[0] > 0 || f->coefficient[1] > 0;
}

// Reduced, along the line of centres.
static double reduced_mass(const comply_run *run, int guard)
{
    double sum = 0;
    for (int side = 0; side < 2; side++) {
        int body = comply_body(run, guard, side);
        double mass = body == SPRAG_STATIC ? 0 : run->frame->body[body].mass;
        sum += mass > 0 ? 1 / mass : 0;
    }
    return sum > 0 ? 1 / sum : 0;
}

// Was it met fast enough? What touches since the last frame was judged when it met.
static bool bounces(const comply_run *run, int guard)
{
    const sprag_advance_pair *pair = &run->frame->pair[run->pair[guard]];
    sprag_pair_memory *memory = pair->memory;
    if (!comply_is_bounded(&pair->surface) || !memory) {
        return pair->surface.bounce > 0;
    }
    if (memory->touched <= 0) {
        comply_contact contact;
        comply_touch(run, run->x, guard, COMPLY_FORCES, &contact);
        memory->gentle = !(contact.approach > pair->surface.bounce_speed);
    }
    return !memory->gentle;
}

static void set_bounce(comply_law *law, const sprag_surface *surface)
{
    law->dissipation = 0;
    law->damping = 2 * damping_ratio(surface->bounce) * sqrt(law->stiffness * law->effective);
}

static void set_soft(comply_law *law, const sprag_surface *surface, double step)
{
    double erp = fmin(surface->erp, 1), cfm = surface->compliance;
    law->compliance = cfm;
    if (cfm > 0) {
        law->stiffness = erp / (step * cfm);
        law->damping = (1 - erp) / cfm;
    } else {
        law->rigid = true;
        law->why = SPRAG_COMPLY_RIGID;
    }
}

static void refuse(comply_law *law, sprag_comply_reason why)
{
    law->why = law->rigid ? law->why : why;
    law->rigid = true;
}

// More than the steps that there may be?
static bool is_stiff(const comply_run *run, const comply_law *law)
{
    double h = run->frame->step, m = law->effective;
    double rate = sqrt(law->stiffness / m) + law->damping / m;
    return !(rate * h < run->options->steps);
}

void comply_set_law(comply_run *run, int guard)
{
    const sprag_surface *surface = &run->frame->pair[run->pair[guard]].surface;
    comply_law *law = &run->law[guard];
    double h = run->frame->step;
    *law = (comply_law){.effective = reduced_mass(run, guard)};
    if (!(law->effective > 0)) { // of two that nothing moves
        law->effective = 1;
    }
    bool bouncing = bounces(run, guard);
    if (surface->stiffness > 0) {
        law->stiffness = surface->stiffness;
        law->dissipation = surface->dissipation;
        law->hunt_crossley = true;
        if (bouncing) {
            set_bounce(law, surface);
        }
    } else if (bouncing) {
        double rate = acos(-1) / (comply_bounce_time * h);
        law->stiffness = law->effective * rate * rate;
        set_bounce(law, surface);
    } else {
        set_soft(law, surface, h);
    }
    if (!law->rigid && is_stiff(run, law)) {
        refuse(law, surface->stiffness > 0 ? SPRAG_COMPLY_STIFF : SPRAG_COMPLY_RIGID);
    }
    if (is_any(&surface->roll) || is_any(&surface->spin) || isinf(surface->slide.coefficient[0]) ||
        isinf(surface->slide.coefficient[1])) {
        refuse(law, SPRAG_COMPLY_LAW);
    }
    double asked = surface->stiction > 0 ? surface->stiction : run->options->stiction;
    law->stiction = asked > 0 ? asked : fmax(5e-3 * run->fastest, 1e-12);
}
