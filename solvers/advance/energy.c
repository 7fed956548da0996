// Energy of a sub-step: what its bodies gain beyond the work of their forces is taken back.
// Contacts that make up for a curved motion add speed, joints by mending their errors, and bodies
// that the projection keeps apart are lifted without losing speed. Bodies that are connected by
// contacts, which may close within the sub-step, or by joints, pay together: they all get slower by
// the same share, so that contacts stay closed; unless something static holds them, about the
// motion of their centre of mass. Motors, springs and what the program opens (sprag_row.drives)
// bring in their work. Where kinematic bodies or moving surfaces do work, and of joints in a
// frame without contact points, which moves as under stock, nothing is taken back. The push that
// ends overlaps counts neither as speed nor as work.
//
// On a joint a force does work along the mean of the velocities before and after: the energy of a
// pendulum, with the weight along the velocity after, swings by the first order of the sub-step,
// and what falls would be lost whenever it rises again.
#include <math.h>
#include <string.h>

#include "advance_run.h"
#include "linalg.h"
#include "mover.h"

struct advance_cluster { // of bodies that are connected
    double gain;         // J
    double energy;       // J, kinetic
    double mass, momentum[3];
    double lift; // m, farthest that a body goes against its forces by the projection
    int bodies;
    bool driven, held, jointed; // something does work; something static holds; there are joints
};

typedef struct advance_cluster cluster;

static bool drives(const sprag_surface *s)
{
    return s->velocity_normal != 0 || s->slide.velocity[0] != 0 || s->slide.velocity[1] != 0 ||
           s->bounce > 1;
}

// Bodies that are connected get one cluster, and then what acts on it: `by`.
static void connect(advance_run *run, const int body[2], const cluster *by, bool marks)
{
    if (!marks) {
        advance_unite(run->energy.leader, body);
    }
    for (int side = 0; side < 2 && marks; side++) {
        if (body[side] != SPRAG_STATIC) {
            cluster *c = &run->energy.cluster[advance_first_of(run->energy.leader, body[side])];
            c->driven |= by->driven;
            c->jointed |= by->jointed;
            c->held |= body[!side] == SPRAG_STATIC;
        }
    }
}

static void connect_pair(advance_run *run, int i, bool marks)
{
    const sprag_pair *pair = &run->frame->pair[i];
    const cluster by = {.driven = drives(&pair->surface)};
    int body[2];
    for (int side = 0; side < 2; side++) {
        body[side] = run->frame->collider[pair->collider[side]].body;
    }
    connect(run, body, &by, marks);
}

static void connect_all(advance_run *run, bool marks)
{
    static const cluster joint = {.jointed = true}, given = {.driven = true};
    const sprag_frame *frame = run->frame;
    for (int i = 0; i < run->points.count; i++) {
        connect_pair(run, run->points.point[i].pair, marks);
    }
    for (int i = 0; i < frame->pairs; i++) {
        if (run->near[i].slowed) {
            connect_pair(run, i, marks);
        }
    }
    for (int i = 0; i < run->rows.count; i++) {
        connect(run, run->rows.row[i].body, &joint, marks);
    }
    for (int i = 0; i < frame->contacts; i++) {
        connect(run, frame->contact[i].body, &given, marks);
    }
}

// Does a row bring in energy of its own? A spring does that the sub-step resolves: of a stiffer one
// the compliance decides nothing, and what moves its bodies is the error that it mends.
static bool brings_energy(const advance_run *run, const sprag_row *row)
{
    double yields = 0; // m/s per N, rad/s per N m
    for (int side = 0; side < 2 && !row->drives; side++) {
        const double *J = row->jacobian[side];
        int b = row->body[side];
        double mass = b == SPRAG_STATIC ? 0 : run->frame->body[b].mass, turned[3];
        if (mass > 0) {
            mul33(run->inverse[b], J + 3, turned);
            yields += run->attempt.length * (dot3(J, J) / mass + dot3(J + 3, turned));
        }
    }
    return row->drives || row->compliance > advance_spring_share * yields;
}

// Takes the work of motors and springs from the gain.
static void add_rows(advance_run *run)
{
    for (int i = 0; i < run->rows.count; i++) {
        const sprag_row *row = &run->rows.row[i];
        if (brings_energy(run, row)) {
            cluster *c = &run->energy.cluster[advance_first_of(run->energy.leader, row->body[0])];
            double rate = 0; // in the middle of the sub-step
            for (int side = 0; side < 2; side++) {
                int b = row->body[side];
                rate += b == SPRAG_STATIC
                            ? 0
                            : 0.5 * (dot6(row->jacobian[side], run->frame->body[b].velocity) +
                                     dot6(row->jacobian[side], run->attempt.velocity[b]));
            }
            c->gain -= run->attempt.length * run->rows.force[i] * rate;
        }
    }
}

static void set_clusters(advance_run *run)
{
    const sprag_frame *frame = run->frame;
    for (int i = 0; i < frame->bodies; i++) {
        run->energy.leader[i] = i;
        memset(&run->energy.cluster[i], 0, sizeof run->energy.cluster[i]);
    }
    connect_all(run, false);
    connect_all(run, true);
    for (int i = 0; i < frame->bodies; i++) {
        const double *v = frame->body[i].velocity;
        bool moves = !(frame->body[i].mass > 0) && dot6(v, v) > 0;
        cluster *c = &run->energy.cluster[advance_first_of(run->energy.leader, i)];
        c->driven |= moves || (c->jointed && run->points.count == 0);
    }
    add_rows(run);
}

static double kinetic(const advance_run *run, int body, const double v[6])
{
    return 0.5 * advance_product(run, body, v, v);
}

// J, of the forces on a body in t, but for the push.
static double work_of(const advance_run *run, int i, double t)
{
    const double *force = run->frame->body[i].force;
    double power = dot6(force, run->attempt.motion[i].velocity);
    power -= run->push.acts ? dot6(force, run->push.velocity[i]) : 0;
    if (run->energy.cluster[advance_first_of(run->energy.leader, i)].jointed) {
        const double *before = run->frame->body[i].velocity, *after = run->attempt.velocity[i];
        power +=
            0.5 * (dot6(force, before) - dot6(force, after)) + dot6(force, run->attempt.lag[i]);
    }
    return t * power;
}

static void add_body(advance_run *run, int i, const double v[6], double after, double before)
{
    const sprag_mover *mover = &run->frame->body[i];
    cluster *c = &run->energy.cluster[advance_first_of(run->energy.leader, i)];
    c->gain += after - before;
    c->energy += after;
    c->mass += mover->mass;
    c->bodies++;
    add_scaled(c->momentum, mover->mass, v, 3);
}

// J, of the motion of the centre of mass, which stays if nothing static takes it.
static double energy_of_centre(const cluster *c)
{
    return c->held || !(c->mass > 0) ? 0 : 0.5 * dot3(c->momentum, c->momentum) / c->mass;
}

bool advance_take_energy(advance_run *run)
{
    int bodies = run->frame->bodies;
    run->energy.leader = SPRAG_TAKE(run->scratch, bodies, int);
    run->energy.before = SPRAG_TAKE(run->scratch, bodies, double);
    run->energy.cluster = SPRAG_TAKE(run->scratch, bodies, cluster);
    return !run->scratch->failed;
}

bool advance_find_costly(advance_run *run, bool *costly)
{
    bool any = false;
    set_clusters(run);
    for (int i = 0; i < run->frame->bodies; i++) {
        const sprag_mover *mover = &run->frame->body[i];
        const double *v = run->attempt.velocity[i];
        double before = kinetic(run, i, mover->velocity);
        double work = work_of(run, i, run->attempt.length), force = norm3(mover->force);
        add_body(run, i, v, kinetic(run, i, v), before + work);
        cluster *c = &run->energy.cluster[advance_first_of(run->energy.leader, i)];
        double given =
            run->attempt.length * (dot6(mover->force, v) - dot6(mover->force, run->attempt.lag[i]));
        c->lift = fmax(c->lift, force > 0 ? (given - work) / force : 0);
    }
    for (int i = 0; i < run->frame->bodies; i++) {
        const cluster *c = &run->energy.cluster[advance_first_of(run->energy.leader, i)];
        costly[i] = !c->driven && c->gain > c->energy - energy_of_centre(c) &&
                    c->lift > c->bodies * run->target;
        any |= costly[i];
    }
    return any;
}

void advance_note_energy(advance_run *run, double t)
{
    set_clusters(run);
    for (int i = 0; i < run->frame->bodies; i++) {
        run->energy.before[i] = kinetic(run, i, run->frame->body[i].velocity) + work_of(run, i, t);
    }
}

bool advance_is_driven(const advance_run *run, int body)
{
    return run->energy.cluster[advance_first_of(run->energy.leader, body)].driven;
}

void advance_limit_energy(advance_run *run)
{
    static const double slight = 1e-14; // rounding of the energy
    for (int i = 0; i < run->frame->bodies; i++) {
        const sprag_mover *mover = &run->frame->body[i];
        sprag_mover_inertia(mover, run->inertia[i]);
        add_body(run, i, mover->velocity, kinetic(run, i, mover->velocity), run->energy.before[i]);
    }
    for (int i = 0; i < run->frame->bodies; i++) {
        sprag_mover *mover = &run->frame->body[i];
        const cluster *c = &run->energy.cluster[advance_first_of(run->energy.leader, i)];
        if (c->driven || !(c->gain > slight * c->energy) || !(mover->mass > 0)) {
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
