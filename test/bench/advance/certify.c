// Certificates alone, without a solver: pairs at any gap and any velocity, whole families of them
// aligned so that faces, edges and corners meet. No pair may touch within its certified time. The
// certified share of the time until the pair touches shows how much shorter sub-steps become.
#include <math.h>
#include <string.h>

#include "bench_advance.h"
#include "certificate.h"

enum { TRIALS = 10000, LOOKS = 12, FINE = 400 };

static const double level = 2e-8, horizon = 0.01; // m, s

typedef struct couple {
    sprag_shape shape[2];
    sprag_motion motion[2];
    sprag_carried carried[2];
    sprag_gap gap;
} couple;

typedef enum family { ANYHOW, UPRIGHT, ALIGNED, CORNERS, ON_PLANE, FOOT, FAMILIES } family;

static const char *const names[FAMILIES] = {"boxes, anyhow",   "boxes, edges",
                                            "boxes, faces",    "boxes, corners",
                                            "box, half-space", "1000 corners, half-space"};

// As the feet of models/legs.c.
enum { RINGS = 25, SEGMENTS = 40, CORNERS_OF_FOOT = RINGS * SEGMENTS };

static double foot_corner[CORNERS_OF_FOOT][3];
static const sprag_polytope foot = {.vertices = CORNERS_OF_FOOT, .vertex = foot_corner};

static void make_foot(void)
{
    for (int i = 0; i < CORNERS_OF_FOOT; i++) {
        double polar = M_PI * (i / SEGMENTS + 0.5) / RINGS,
               turn = 2 * M_PI * (i % SEGMENTS) / SEGMENTS;
        foot_corner[i][0] = 0.03 * sin(polar) * sin(turn);
        foot_corner[i][1] = 0.03 * cos(polar);
        foot_corner[i][2] = 0.03 * sin(polar) * cos(turn);
    }
}

static void place(chance *c, family f, sprag_motion *m, int side)
{
    const double unit[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, r = sqrt(0.5);
    const double corner[9] = {r,
                              -r,
                              0,
                              r / sqrt(3),
                              r / sqrt(3),
                              -2 * r / sqrt(3),
                              sqrt(1 / 3.0),
                              sqrt(1 / 3.0),
                              sqrt(1 / 3.0)};
    const double edge[2][9] = {{1, 0, 0, 0, r, -r, 0, r, r}, {r, 0, r, 0, 1, 0, -r, 0, r}};
    const double *turn = f == CORNERS ? corner : f == UPRIGHT ? edge[side] : unit;
    memcpy(m->pose.rotation, turn, sizeof unit);
    if (f == ANYHOW || f == ON_PLANE || f == FOOT) {
        chance_turn(c, m->pose.rotation);
    }
    for (int k = 0; k < 3; k++) {
        bool stacked = f == CORNERS || f == UPRIGHT || f == ALIGNED;
        double wide = stacked && k < 2 ? (f == CORNERS ? 0 : 0.2) : 1;
        m->pose.position[k] = side * chance_between(c, -wide, wide);
    }
    m->pose.position[2] = side ? -3 : 0;
}

static void look(couple *p)
{
    const sprag_shape *shape[2] = {&p->shape[0], &p->shape[1]};
    sprag_pose pose[2];
    const sprag_pose *at[2] = {&pose[0], &pose[1]};
    const sprag_gap_query query = {.reach = INFINITY, .margin = 0};
    sprag_carried_at(&p->carried[0], 0, &pose[0]);
    sprag_carried_at(&p->carried[1], 0, &pose[1]);
    sprag_gap_find(shape, at, &query, NULL, &p->gap, NULL);
}

static void move(chance *c, sprag_motion *m)
{
    double speed = pow(10, chance_between(c, -3, 2));
    for (int k = 0; k < 6; k++) {
        m->velocity[k] = chance_between(c, -speed, speed) / (k < 3 ? 10 : 1);
    }
}

static void make(chance *c, family f, couple *p)
{
    *p = (couple){0};
    for (int i = 0; i < 2; i++) {
        bool half_space = (f == ON_PLANE || f == FOOT) && i == 1;
        p->shape[i].kind = half_space ? SPRAG_PLANE : f == FOOT ? SPRAG_POLYTOPE : SPRAG_BOX;
        p->shape[i].polytope = f == FOOT && i == 0 ? &foot : NULL;
        place(c, f, &p->motion[i], i);
        move(c, &p->motion[i]);
        for (int k = 0; k < 3; k++) {
            p->shape[i].half[k] = f == CORNERS ? 0.5 : chance_between(c, 0.1, 1);
        }
        if (half_space) {
            p->motion[i] = (sprag_motion){.pose = {{0, 0, -3}, {1, 0, 0, 0, 1, 0, 0, 0, 1}}};
        }
        p->carried[i] = (sprag_carried){&p->shape[i], {{0}, {1, 0, 0, 0, 1, 0, 0, 0, 1}}, NULL};
        p->carried[i].motion = &p->motion[i];
        if (half_space || (i == 1 && chance_between(c, 0, 1) < 0.3)) { // does not move
            p->carried[i].mount = p->motion[i].pose;
            p->carried[i].motion = NULL;
        }
    }
    double wanted = level * pow(10, chance_between(c, 0.1, 6));
    double closing = chance_between(c, 0, 1) < 0.5 ? 0 : pow(10, chance_between(c, -3, 1));
    look(p);
    for (int k = 0; k < 3; k++) {
        p->motion[0].pose.position[k] -= p->gap.normal[k] * (p->gap.distance - wanted);
        p->motion[0].velocity[k] -= p->gap.normal[k] * closing;
    }
    look(p);
}

static double apart_at(const couple *p, double t)
{
    solid s[2] = {{0}};
    for (int i = 0; i < 2; i++) {
        sprag_pose pose;
        sprag_carried_at(&p->carried[i], t, &pose);
        s[i].kind = p->shape[i].kind == SPRAG_PLANE ? SOLID_PLANE
                    : p->shape[i].kind == SPRAG_BOX ? SOLID_BOX
                                                    : SOLID_POINTS;
        s[i].points = CORNERS_OF_FOOT;
        s[i].point = foot_corner[0];
        memcpy(s[i].half, p->shape[i].half, sizeof s[i].half);
        memcpy(s[i].at, pose.position, sizeof s[i].at);
        memcpy(s[i].R, pose.rotation, sizeof s[i].R);
    }
    double apart = solid_apart(&s[0], &s[1]);
    return apart > 0 && apart < level && s[1].kind == SOLID_BOX ? solid_boxes_distance(&s[0], &s[1])
                                                                : apart;
}

// s, until the pair is nearer than the level, or the horizon.
static double touching_time(const couple *p)
{
    int k = 1;
    while (k <= FINE && apart_at(p, horizon * k / FINE) >= level) {
        k++;
    }
    double apart = horizon * (k - 1) / FINE, near = horizon * k / FINE;
    for (int i = 0; i < 40 && k <= FINE; i++) {
        double middle = (apart + near) / 2;
        *(apart_at(p, middle) >= level ? &apart : &near) = middle;
    }
    return fmin(near, horizon);
}

static void try_family(family f)
{
    const int trials = f == FOOT ? TRIALS / 10 : TRIALS;
    chance c = {21};
    double share[TRIALS], least = INFINITY, us = 0;
    long deep = 0, low = 0, whole = 0, count = 0;
    for (int n = 0; n < trials; n++) {
        couple p;
        sprag_certificate certificate = {0};
        make(&c, f, &p);
        double start = bench_cpu_us();
        sprag_time_of_impact(p.carried, &p.gap, level, horizon, &certificate);
        us += bench_cpu_us() - start;
        double worst = INFINITY;
        for (int k = 0; k <= LOOKS; k++) {
            worst = fmin(worst, apart_at(&p, certificate.time * k / LOOKS));
        }
        deep += !(worst >= 0);
        low += worst < level * (1 - 1e-4);
        least = fmin(least, worst);
        double real = touching_time(&p);
        whole += real >= horizon && certificate.whole;
        if (real < horizon) {
            share[count++] = certificate.time / real;
        }
    }
    row_scene("%s", names[f]);
    row_at_most("certified, and overlap", (double)deep, 0);
    row_at_most("certified, and below the level", (double)low, 0);
    row_report("least gap/m", least);
    row_report("of", trials);
    row_report("touch within the horizon", (double)count);
    row_at_least("apart, and certified whole, share", (double)whole / (double)(trials - count),
                 0.9);
    row_at_least("certified / time to touch, median", bench_median(share, count), 0.9);
    row_report("the same, of the worst hundredth", count ? share[count / 100] : NAN);
    row_report("us", us / trials);
}

void part_certify(bool full)
{
    (void)full;
    make_foot();
    for (int f = 0; f < FAMILIES; f++) {
        try_family((family)f);
    }
}
