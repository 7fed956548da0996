// Energy of a sub-step: what its bodies gain beyond the work of their forces is taken back.
// Contacts that make up for a curved motion add speed, and bodies that the projection keeps apart
// are lifted without losing speed. Bodies that touch each other, or may, pay together: they all get
// slower by the same share, so that contacts stay closed; unless something that no force moves
// holds them, about the motion of their centre of mass. Where joints, kinematic bodies or moving
// surfaces do work, nothing of that is taken back, but what joints win by their chords (chords.c).
// The push that ends overlaps counts neither as speed nor as work.
#include <math.h>
#include <string.h>

#include "advance_run.h"
#include "linalg.h"
#include "mover.h"

static bool drives(const sprag_surface *s)
{
    return s->velocity_normal != 0 || s->slide.velocity[0] != 0 || s->slide.velocity[1] != 0 ||
           s->bounce > 1;
}

static advance_cluster *cluster_of(const advance_run *run, int body)
{
    return &run->energy.cluster[sprag_leader_of(run->energy.leader, body)];
}

// Two bodies touch, or a joint connects them. What no force moves connects nothing.
static void connect(advance_run *run, const int body[2], bool driven)
{
    for (int side = 0; side < 2; side++) {
        const int other = body[!side];
        if (body[side] != SPRAG_STATIC) {
            advance_cluster *c = &run->energy.cluster[body[side]];
            const bool holds = advance_stays(run, other);
            c->driven |= driven || (holds && !advance_stands_still(run->frame, other));
            c->held |= holds;
        }
    }
    if (!advance_stays(run, body[0]) && !advance_stays(run, body[1])) {
        sprag_unite(run->energy.leader, body[0], body[1]);
    }
}

static void connect_pair(advance_run *run, int pair)
{
    connect(run, run->near[pair].body, drives(&run->frame->pair[pair].surface));
}

void advance_set_clusters(advance_run *run)
{
    const sprag_frame *frame = run->frame;
    for (int i = 0; i < frame->bodies; i++) {
        run->energy.leader[i] = i;
        run->energy.cluster[i] = (advance_cluster){.gain = 0};
    }
    for (int i = 0; i < run->points.count; i++) {
        connect_pair(run, run->points.point[i].pair);
    }
    for (int i = 0; i < frame->pairs; i++) {
        if (run->near[i].slowed) {
            connect_pair(run, i);
        }
    }
    for (int i = 0; i < run->rows.count; i++) {
        connect(run, run->rows.row[i].body, true);
    }
    for (int i = 0; i < frame->contacts; i++) {
        connect(run, frame->contact[i].body, true);
    }
    for (int i = 0; i < frame->bodies; i++) {
        cluster_of(run, i)->driven |= run->energy.cluster[i].driven;
        cluster_of(run, i)->held |= run->energy.cluster[i].held;
    }
}

static double kinetic(const advance_run *run, int body, const double v[6])
{
    return 0.5 * advance_product(run, body, v, v);
}

// J, of the motion of a body in t, but for the push.
static double work_of(const advance_run *run, int i, double t)
{
    const double *force = run->frame->body[i].force;
    double power = dot6(force, run->attempt.motion[i].velocity);
    power -= run->push.acts ? dot6(force, run->push.velocity[i]) : 0;
    return t * power;
}

// J, that a body adds to the gain of its cluster: where something does work, what the joints of its
// assembly have won by chords.
static double gain_of(const advance_run *run, int i, bool driven, double after)
{
    const advance_chords *chords = &run->attempt.chords[i];
    return driven ? fmax(0, fmin(chords->work, chords->ahead)) : after - run->energy.before[i];
}

static void add_body(advance_run *run, int i)
{
    const sprag_mover *mover = &run->frame->body[i];
    advance_cluster *c = cluster_of(run, i);
    const double after = kinetic(run, i, mover->velocity);
    c->gain += gain_of(run, i, c->driven, after);
    c->energy += after;
    c->mass += mover->mass;
    add_scaled(c->momentum, mover->mass, mover->velocity, 3);
}

// J, of the motion of the centre of mass, which stays if nothing takes it.
static double energy_of_centre(const advance_cluster *c)
{
    return c->held || !(c->mass > 0) ? 0 : 0.5 * dot3(c->momentum, c->momentum) / c->mass;
}

void advance_note_energy(advance_run *run, double t)
{
    advance_set_clusters(run);
    for (int i = 0; i < run->frame->bodies; i++) {
        run->energy.before[i] = kinetic(run, i, run->frame->body[i].velocity) + work_of(run, i, t);
    }
}

bool advance_is_driven(const advance_run *run, int body)
{
    return cluster_of(run, body)->driven;
}

// All bodies of a cluster get slower by the same share.
static void take_gain(advance_run *run)
{
    static const double slight = 1e-14; // rounding of the energy
    for (int i = 0; i < run->frame->bodies; i++) {
        sprag_mover *mover = &run->frame->body[i];
        const advance_cluster *c = cluster_of(run, i);
        if (!(c->gain > slight * c->energy) || !(mover->mass > 0)) {
            continue;
        }
        double centre[3] = {0, 0, 0}, most = c->energy - energy_of_centre(c);
        add_scaled(centre, c->held ? 0 : 1 / c->mass, c->momentum, 3);
        double share = c->gain < most ? sqrt(1 - c->gain / most) : 0;
        for (int k = 0; k < 6; k++) {
            double still = k < 3 ? centre[k] : 0;
            mover->velocity[k] = still + share * (mover->velocity[k] - still);
        }
    }
}

void advance_limit_energy(advance_run *run)
{
    for (int i = 0; i < run->frame->bodies; i++) {
        sprag_mover_inertia(&run->frame->body[i], run->inertia[i]);
        add_body(run, i);
    }
    take_gain(run);
}
