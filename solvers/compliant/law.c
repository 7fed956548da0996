// Surface -> law of a pair's points, for frames of one length.
#include <math.h>

#include "compliant_run.h"
#include "linalg.h"

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

// Integral of v / (1 + D v) to v.
static double gone(double D, double v)
{
    double z = D * v;
    return fabs(z) < 1e-2 ? v * v * (1.0 / 2 - z / 3 + z * z / 4 - z * z * z / 5)
                          : v / D - log1p(z) / (D * D);
}

// A push a meanwhile changes v dv = (a - x (1 + D v)) dx, in units of the impact's, by
//
//     v1 = (1 - D e) / e  integral of -v / (x (1 + D v)^2) dv, from -e to 1
//
// times a, to first order: what would leave at e leaves at e - a v1.
static double taken_by_push(double D, double e)
{
    enum { POINTS = 32 };
    double middle = (1 - e) / 2, reach = (1 + e) / 2, sum = 0, all = gone(D, 1);
    for (int i = 0; i < POINTS; i++) {
        double angle = acos(-1) * ((i + 0.5) / POINTS - 0.5), v = middle + reach * sin(angle);
        double x = sqrt(fmax(1e-300, 2 * (all - gone(D, v)))), left = 1 + D * v;
        sum -= v * reach * cos(angle) / (x * left * left);
    }
    return (1 - D * e) / e * sum * acos(-1) / POINTS;
}

// The same where there is a push: it leaves at e all the same.
static double pushed_number(double e, double push)
{
    const double least = 0.2, most = 0.3; // where the first order will do
    double aim = e, number = dissipation_number(e);
    push = fmin(fmax(push, -most), most);
    for (int i = 0; i < 3 && e >= least && e < 1 && push != 0; i++) {
        aim = fmin(fmax(e + push * taken_by_push(number, aim), least), 1);
        number = dissipation_number(aim);
    }
    return number;
}

static bool is_any(const sprag_friction *f)
{
    return f->coefficient[0] > 0 || f->coefficient[1] > 0;
}

// Reduced, along the line of centres.
static double reduced_mass(const compliant_run *run, int guard)
{
    double sum = 0;
    for (int side = 0; side < 2; side++) {
        int body = compliant_body(run, guard, side);
        double mass = body == SPRAG_STATIC ? 0 : run->frame->body[body].mass;
        sum += mass > 0 ? 1 / mass : 0;
    }
    return sum > 0 ? 1 / sum : 0;
}

// m/s, how fast it was met; what touches since the last frame was so then.
static double speed_met(const compliant_run *run, int guard, bool now)
{
    sprag_pair_memory *memory = run->frame->pair[run->pair[guard]].memory;
    if (memory && memory->compliant.start_points > 0 && !now) {
        return memory->compliant.impact_speed;
    }
    compliant_contact contact;
    compliant_touch(run, run->x, guard, COMPLIANT_FORCES, &contact);
    if (memory) {
        memory->compliant.impact_speed = contact.approach;
    }
    return contact.approach;
}

// m/s^2, by which forces on its bodies push them together.
static double pushed_by(const compliant_run *run, int guard, const double *normal)
{
    double sum = 0;
    for (int side = 0; side < 2; side++) {
        int body = compliant_body(run, guard, side);
        double mass = body == SPRAG_STATIC ? 0 : run->frame->body[body].mass;
        sum -= mass > 0 ? (side ? -1 : 1) * dot3(normal, run->frame->body[body].force) / mass : 0;
    }
    return sum;
}

// What rests takes what forces do in a frame for its speed.
static void set_bounce(const compliant_run *run, int guard, double bounce, double speed)
{
    const double same = 0.02; // of how deep it goes: points that near touch together
    compliant_law *law = &run->law[guard];
    compliant_contact contact;
    speed = fmax(speed, fmax(run->change, 1e-9 * run->fastest));
    if (run->glancing || bounce >= 1) {
        law->dissipation = dissipation_number(bounce) / speed;
        return;
    }
    double deep = speed / sqrt(law->stiffness / law->effective);
    compliant_touch_near(run, run->x, guard, same * deep, &contact);
    double one = compliant_inverse_mass(run, guard, contact.at[0], contact.gap.normal);
    double weight = contact.count > 1 ? contact.count / law->effective : one;
    double rate = sqrt(law->stiffness * weight);
    double push = pushed_by(run, guard, contact.gap.normal) / (rate * speed);
    law->dissipation = pushed_number(bounce, isfinite(push) ? push : 0) / speed;
}

static void set_soft(compliant_law *law, const sprag_surface *surface, double step)
{
    double erp = fmin(surface->erp, 1), cfm = surface->compliance;
    law->compliance = cfm;
    if (cfm > 0) {
        law->stiffness = erp / (step * cfm);
        law->damping = (1 - erp) / cfm;
    } else {
        law->rigid = true;
        law->why = SPRAG_COMPLIANT_RIGID_CONTACT;
    }
}

static void refuse(compliant_law *law, sprag_compliant_reason why)
{
    law->why = law->rigid ? law->why : why;
    law->rigid = true;
}

// More than the steps that there may be?
static bool is_stiff(const compliant_run *run, const compliant_law *law)
{
    double h = run->frame->step, m = law->effective;
    double rate = sqrt(law->stiffness / m) + law->damping / m;
    return !(rate * h < run->options->steps);
}

void compliant_set_law(compliant_run *run, int guard, bool met_now)
{
    const sprag_surface *surface = &run->frame->pair[run->pair[guard]].surface;
    compliant_law *law = &run->law[guard];
    double h = run->frame->step;
    *law = (compliant_law){.effective = reduced_mass(run, guard)};
    if (!(law->effective > 0)) { // of two that nothing moves
        law->effective = 1;
    }
    double met = compliant_needs_speed(surface) ? speed_met(run, guard, met_now) : INFINITY;
    bool bouncing = surface->bounce > 0 && met > surface->bounce_speed;
    if (surface->stiffness > 0) {
        law->stiffness = surface->stiffness;
        law->dissipation = surface->dissipation;
        law->hunt_crossley = true;
        if (bouncing) {
            set_bounce(run, guard, surface->bounce, met);
        }
    } else if (bouncing) {
        double rate = acos(-1) / (compliant_bounce_time * h);
        law->stiffness = law->effective * rate * rate;
        set_bounce(run, guard, surface->bounce, met);
    } else {
        set_soft(law, surface, h);
    }
    if (!law->rigid && is_stiff(run, law)) {
        refuse(law, surface->stiffness > 0 ? SPRAG_COMPLIANT_STIFF : SPRAG_COMPLIANT_RIGID_CONTACT);
    }
    bool driven = bouncing && surface->velocity_normal != 0;
    if (is_any(&surface->turning.roll) || is_any(&surface->turning.spin) ||
        isinf(surface->slide.coefficient[0]) || isinf(surface->slide.coefficient[1]) || driven) {
        refuse(law, SPRAG_COMPLIANT_UNSUPPORTED_LAW);
    }
    double asked = surface->stiction > 0 ? surface->stiction : run->options->stiction;
    law->stiction = asked > 0 ? asked : fmax(5e-3 * run->fastest, 1e-12);
}
