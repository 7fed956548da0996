// Approach, slip, friction cone and depth of the contacts that the program had made.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "linalg.h"
#include "yardstick_parts.h"

static const double least_load = 1e-3; // of the mean normal force
static const double inside_cone = 0.9; // share of the cone
enum { POINTS_MAX = 64 };              // that ODE finds for a pair of geoms

// A contact after the step, along its frame: velocity (m/s) of the point, less that of the surface,
// and force (N) on body[0].
typedef struct point {
    double velocity[3], force[3];
} point;

static point point_of(const yardstick *y, int i)
{
    const sprag_contact *c = &y->pulled.contact[i];
    const dJointFeedback *feedback = yardstick_forces(y->pulled.contact_joint[i]);
    double u[3];
    sprag_contact_velocity(c, *y->velocity, sizeof *y->velocity, u);
    point p;
    for (int k = 0; k < 3; k++) {
        p.velocity[k] = dot3(c->frame[k], u) - (k ? c->slide.velocity[k - 1] : 0);
        p.force[k] = dot3(c->frame[k], feedback->f1);
    }
    return p;
}

// Friction as a share of its bound. NAN: the bound is zero, as is the friction.
static double share_of_cone(const sprag_friction *slide, const double force[3])
{
    double square = 0;
    for (int k = 0; k < 2; k++) {
        double bound = slide->coefficient[k] * (slide->force[k] ? 1 : force[0]);
        double share = bound > 0 ? force[1 + k] / bound : force[1 + k] == 0 ? 0 : INFINITY;
        square += share * share;
    }
    return sqrt(square);
}

typedef struct sums {
    double approach, load, slip, largest_slip, cone; // squares; N; N m^2/s^2; m/s; 1
} sums;

static void add_contact(sums *s, const yardstick *y, int i, const point *p, double mean_force)
{
    const sprag_contact *c = &y->pulled.contact[i];
    double approach = fmax(0, -p->velocity[0] - fmax(0, c->gap) / y->step);
    s->approach += approach * approach;
    if (!(p->force[0] > least_load * mean_force)) {
        return;
    }
    double share = share_of_cone(&c->slide, p->force);
    s->cone = fmax(s->cone, share);
    bool yields = c->slide.slip[0] > 0 || c->slide.slip[1] > 0; // slips as the program asks
    if (share <= inside_cone && !yields) {
        double slip = hypot(p->velocity[1], p->velocity[2]);
        s->load += p->force[0];
        s->slip += p->force[0] * slip * slip;
        s->largest_slip = fmax(s->largest_slip, slip);
    }
}

void yardstick_contacts(const yardstick *y, double value[SAMPLE_VALUES])
{
    int contacts = y->pulled.problem.contacts, counted = 0, pushing = 0;
    point *all = calloc((size_t)contacts, sizeof *all);
    double force = 0;
    sums s = {0};
    for (int i = 0; all && i < contacts; i++) {
        all[i] = point_of(y, i);
        force += fmax(0, all[i].force[0]);
        pushing += all[i].force[0] > 0;
    }
    for (int i = 0; all && i < contacts; i++) {
        const int *body = y->pulled.contact[i].body;
        if (yardstick_is_moved(y, body[0]) || yardstick_is_moved(y, body[1])) {
            add_contact(&s, y, i, &all[i], pushing ? force / pushing : 0);
            counted++;
        }
    }
    if (all && counted > 0) {
        value[SAMPLE_APPROACH] = sqrt(s.approach / counted);
        value[SAMPLE_CONE] = s.cone;
        value[SAMPLE_SLIP] = s.load > 0 ? sqrt(s.slip / s.load) : 0;
        value[SAMPLE_SLIP_LARGEST] = s.largest_slip;
    }
    free(all);
}

// ---- depth

typedef struct pair {
    dGeomID geom[2];
} pair;

static int by_geoms(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(pair));
}

// Pairs of geoms in contact, each once. Returns their number.
static int list_pairs(const yardstick *y, pair *to)
{
    int count = 0, kept = 0;
    for (int i = 0; i < y->pulled.problem.contacts; i++) {
        const dContactGeom *g = sprag_ode_contact_geom(y->pulled.contact_joint[i]);
        if (g->g1 && g->g2) {
            to[count++] = (pair){{g->g1, g->g2}};
        }
    }
    qsort(to, (size_t)count, sizeof *to, by_geoms);
    for (int i = 0; i < count; i++) {
        if (i == 0 || by_geoms(&to[i], &to[kept - 1]) != 0) {
            to[kept++] = to[i];
        }
    }
    return kept;
}

void yardstick_depth(yardstick *y, double value[SAMPLE_VALUES])
{
    dContactGeom found[POINTS_MAX];
    double largest = 0, sum = 0;
    int points = 0;
    pair *pairs = calloc((size_t)y->pulled.problem.contacts, sizeof *pairs);
    int count = pairs ? list_pairs(y, pairs) : 0;
    for (int i = 0; i < count; i++) {
        int n =
            sprag_ode_collide(pairs[i].geom[0], pairs[i].geom[1], POINTS_MAX, found, sizeof *found);
        for (int k = 0; k < n; k++) {
            largest = fmax(largest, found[k].depth);
            sum += found[k].depth;
        }
        points += n;
    }
    if (pairs && count > 0) {
        value[SAMPLE_DEPTH_LARGEST] = largest;
        value[SAMPLE_DEPTH_MEAN] = points ? sum / points : 0;
    }
    free(pairs);
}
