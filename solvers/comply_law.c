// Surface -> law of a pair's points, for frames of one length.
#include <math.h>

#include "solvers/comply_run.h"

// d v0 of springs k x (1 + d v), at the speed v of approach, from which what comes at v0 leaves at
// e v0, whatever its mass and however many they are: v dv / (1 + d v) = -k x dx / m.
static double dissipation_number(double e)
{
    const double most = 400;
    double lo = 0, hi = fmin(most, 1 / e);
    for (int i = 0; i < 60 && e < 1; i++) {
        double middle = (lo + hi) / 2, left = 1 - e * middle;
        *(log((1 + middle) / left) < middle * (1 + e) ? &lo : &hi) = middle;
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

// m/s, how fast it was met; what touches since the last frame was so then.
static double speed_met(const comply_run *run, int guard, bool now)
{
    sprag_pair_memory *memory = run->frame->pair[run->pair[guard]].memory;
    if (memory && memory->touched > 0 && !now) {
        return memory->met;
    }
    comply_contact contact;
    comply_touch(run, run->x, guard, COMPLY_FORCES, &contact);
    if (memory) {
        memory->met = contact.approach;
    }
    return contact.approach;
}

// What rests takes what forces do in a frame for its speed.
static void set_bounce(const comply_run *run, comply_law *law, double bounce, double speed)
{
    speed = fmax(speed, fmax(run->change, 1e-9 * run->fastest));
    law->dissipation = dissipation_number(bounce) / speed;
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

void comply_set_law(comply_run *run, int guard, bool met_now)
{
    const sprag_surface *surface = &run->frame->pair[run->pair[guard]].surface;
    comply_law *law = &run->law[guard];
    double h = run->frame->step;
    *law = (comply_law){.effective = reduced_mass(run, guard)};
    if (!(law->effective > 0)) { // of two that nothing moves
        law->effective = 1;
    }
    double met = comply_needs_speed(surface) ? speed_met(run, guard, met_now) : INFINITY;
    bool bouncing = surface->bounce > 0 && met > surface->bounce_speed;
    if (surface->stiffness > 0) {
        law->stiffness = surface->stiffness;
        law->dissipation = surface->dissipation;
        law->hunt_crossley = true;
        if (bouncing) {
            set_bounce(run, law, surface->bounce, met);
        }
    } else if (bouncing) {
        double rate = acos(-1) / (comply_bounce_time * h);
        law->stiffness = law->effective * rate * rate;
        set_bounce(run, law, surface->bounce, met);
    } else {
        set_soft(law, surface, h);
    }
    if (!law->rigid && is_stiff(run, law)) {
        refuse(law, surface->stiffness > 0 ? SPRAG_COMPLY_STIFF : SPRAG_COMPLY_RIGID);
    }
    bool driven = bouncing && surface->velocity_normal != 0;
    if (is_any(&surface->turning.roll) || is_any(&surface->turning.spin) ||
        isinf(surface->slide.coefficient[0]) || isinf(surface->slide.coefficient[1]) || driven) {
        refuse(law, SPRAG_COMPLY_LAW);
    }
    double asked = surface->stiction > 0 ? surface->stiction : run->options->stiction;
    law->stiction = asked > 0 ? asked : fmax(5e-3 * run->fastest, 1e-12);
}
