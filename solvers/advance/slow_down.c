// Where nothing else keeps a pair apart, its bodies go slower along their paths: each only so much
// that it does not run into the other, and what comes behind it follows as it must. At no speed at
// all everything stays apart.
#include <math.h>
#include <string.h>

#include "advance_run.h"
#include "kinematics.h"

static void scale(advance_run *run, int body, double part, bool *moved)
{
    static const double least = 1e-3; // slower stands
    double share = run->share[body] * part;
    part = share < least ? 0 : part;
    run->share[body] = part > 0 ? share : 0;
    for (int k = 0; k < 6; k++) {
        run->motion[body].velocity[k] *= part;
    }
    moved[body] = true;
}

// m/s, of a body's part in the approach at a point, positive towards the other.
static double approach_of(const advance_near *near, int side, const double *at,
                          const double *normal)
{
    const sprag_motion *motion = near->carried[side].motion;
    double arm[3], u[3];
    if (!motion) {
        return 0;
    }
    subtract3(at, motion->pose.position, arm);
    point_velocity(motion->velocity, arm, u);
    return (side ? 1 : -1) * dot3(normal, u);
}

// What each must slow down to, that only what the gap allows is left.
static void parts_of(const advance_run *run, const advance_near *near, double part[2])
{
    static const double nearly = 0.9;
    const sprag_certificate *c = &near->certificate;
    double allowed = nearly * fmax(0, c->height - run->level) / run->trial, a[2];
    double both = 0.999 * c->time / run->trial; // certain, as far as others go
    part[0] = part[1] = both;
    if (c->side < 0) {
        return;
    }
    for (int side = 0; side < 2; side++) {
        a[side] = approach_of(near, side, c->point, c->normal);
    }
    for (int side = 0; side < 2; side++) {
        if (a[side] <= 0) {
            part[side] = 1;
        } else if (a[!side] > 0) {
            part[side] = allowed / (a[0] + a[1]);
        } else {
            part[side] = (allowed - a[!side]) / a[side];
        }
    }
    if (!(part[0] < 1 || part[1] < 1) || fmax(part[0], part[1]) < both) { // it curves
        part[0] = part[1] = both;
    }
}

static bool slow_pair(advance_run *run, int pair, bool stand, bool *moved)
{
    const sprag_frame *frame = run->frame;
    double part[2] = {0, 0};
    bool slower = false;
    if (!stand) {
        parts_of(run, &run->near[pair], part);
    }
    for (int side = 0; side < 2; side++) {
        int body = frame->collider[frame->pair[pair].collider[side]].body;
        if (body != SPRAG_STATIC && frame->body[body].mass > 0 && run->share[body] > 0 &&
            part[side] < 1) {
            scale(run, body, part[side], moved);
            slower = true;
        }
    }
    return slower;
}

void advance_slow(advance_run *run)
{
    enum { ROUNDS = 200, GENTLE = 60 };
    bool *moved = run->slowed;
    run->stood = run->blocking;
    for (int round = 0; round < ROUNDS && run->safe < run->trial; round++) {
        bool slower = false;
        memset(moved, 0, (size_t)run->frame->bodies * sizeof *moved);
        for (int i = 0; i < run->frame->pairs; i++) {
            if (run->near[i].certificate.time < run->trial) {
                slower |= slow_pair(run, i, round >= GENTLE, moved);
            }
        }
        if (!slower) {
            return;
        }
        advance_certify(run, run->trial, moved);
    }
}
